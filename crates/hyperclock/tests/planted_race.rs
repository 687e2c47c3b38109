//! A data race on purpose, so that a run under ThreadSanitizer can show that it would see one.
//!
//! It runs only when asked for by the environment variable `HYPERCLOCK_PLANT_RACE`; `ci/safety.sh` asks, and fails if the
//! sanitizer says nothing.

use hyperclock::{BlockCache, CacheKey, CacheValue, Role};
use std::cell::UnsafeCell;
use std::sync::Barrier;

struct Racy(UnsafeCell<u64>);

// SAFETY: it is not, and that is the point: two threads write through a shared handle.
unsafe impl Sync for Racy {}

impl CacheValue for Racy {
    fn charge(&self) -> usize {
        8
    }
}

#[test]
fn a_planted_race_is_a_race() {
    if std::env::var_os("HYPERCLOCK_PLANT_RACE").is_none() {
        return;
    }
    let cache = BlockCache::new(1 << 20);
    let view = cache.view::<Racy>(Role::MISC);
    let handle = view.insert(CacheKey::new(1, 1), Racy(UnsafeCell::new(0))).expect("room");
    let start = Barrier::new(2);
    std::thread::scope(|scope| {
        for n in 1..3 {
            let (start, handle) = (&start, handle.clone());
            scope.spawn(move || {
                start.wait();
                for _ in 0..100_000 {
                    // SAFETY: none; see above.
                    unsafe { *handle.0.get() += n };
                }
            });
        }
    });
    // SAFETY: the threads have ended.
    assert_ne!(unsafe { *handle.0.get() }, 0);
}
