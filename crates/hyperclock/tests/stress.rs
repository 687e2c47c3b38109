//! Everything at once, for as long as one likes: inserts, lookups, loads, erases, walks, growth, eviction, handles that
//! wander between threads, and caches that are dropped while handles are out.
//!
//! `HYPERCLOCK_STRESS_SECONDS` sets the duration (default: 2 seconds; `ci/stress.sh --long` runs ten minutes). The test is
//! written for ThreadSanitizer with an uninstrumented standard library: threads are joined, and what they share beside the
//! cache are plain atomics, so that nothing but the cache can be the cause of a report.

use hyperclock::{BlockCache, CacheKey, CacheValue, Handle, Priority, Role, View};
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

static ALIVE: AtomicUsize = AtomicUsize::new(0);
static POCKETS: [Pocket; 8] = [const { Pocket::new() }; 8];
static STOP: AtomicBool = AtomicBool::new(false);

struct Counted {
    key: u64,
    payload: Box<[u8]>,
}

impl Counted {
    fn new(key: u64, len: usize) -> Self {
        ALIVE.fetch_add(1, Ordering::Relaxed);
        Self { key, payload: vec![key as u8; len].into() }
    }

    fn check(&self, key: u64) {
        assert_eq!(self.key, key);
        assert!(self.payload.iter().all(|&byte| byte == key as u8), "the value of {key} was overwritten");
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.check(self.key);
        ALIVE.fetch_sub(1, Ordering::Relaxed);
    }
}

impl CacheValue for Counted {
    fn charge(&self) -> usize {
        size_of::<Self>() + self.payload.len()
    }
}

/// A place through which handles wander from thread to thread.
struct Pocket(AtomicPtr<Handle<Counted>>);

impl Pocket {
    const fn new() -> Self {
        Self(AtomicPtr::new(std::ptr::null_mut()))
    }

    fn exchange(&self, handle: Option<Handle<Counted>>) -> Option<Handle<Counted>> {
        let new = handle.map_or(std::ptr::null_mut(), |handle| Box::into_raw(Box::new(handle)));
        let old = self.0.swap(new, Ordering::AcqRel);
        // SAFETY: every pointer in the pocket came from `into_raw`, and a swap gives it to one thread.
        (!old.is_null()).then(|| *unsafe { Box::from_raw(old) })
    }
}

fn random(state: &mut u64) -> u64 {
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    *state >> 11
}

fn key(n: u64) -> CacheKey {
    CacheKey::new(n / 64, n)
}

/// Many entries come and go, so that the table grows and shrinks again.
fn tide(view: &View<Counted>, state: &mut u64, keys: u64) {
    let first = keys + random(state) % 100_000;
    let count = 1 + random(state) % 4000;
    for n in first..first + count {
        drop(view.insert(key(n), Counted::new(n, 1)));
    }
    for n in first..first + count {
        view.erase(&key(n));
    }
}

fn work(view: &View<Counted>, pockets: &[Pocket], seed: u64, steps: u32, keys: u64) {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let mut held: Vec<Handle<Counted>> = Vec::new();
    for _ in 0..steps {
        let n = random(&mut state) % keys;
        let n = n.min(random(&mut state) % keys);
        match random(&mut state) % 16 {
            0..=6 => {
                if let Some(handle) = view.get(&key(n)).expect("one type") {
                    handle.check(n);
                    match random(&mut state) % 4 {
                        0 => held.push(handle),
                        1 => handle.release_unused(),
                        2 => drop(handle.clone()),
                        _ => {}
                    }
                }
            }
            7..=9 => {
                if let Ok(handle) = view.insert(key(n), Counted::new(n, (random(&mut state) % 200) as usize)) {
                    handle.check(n);
                }
            }
            10 => {
                let handle = view.get_or_load(&key(n), || Ok::<_, ()>(Counted::new(n, 50)));
                handle.expect("the loader succeeds").check(n);
            }
            11 => {
                view.erase(&key(n));
            }
            12 => {
                let pocket = &pockets[random(&mut state) as usize % pockets.len()];
                let mine = held.pop();
                held.extend(pocket.exchange(mine));
            }
            13 => drop(view.standalone(Counted::new(n, 10))),
            14 => {
                if random(&mut state).is_multiple_of(64) {
                    view.cache().for_each(|entry| assert!(entry.charge >= size_of::<Counted>()));
                    view.cache().pinned_usage();
                }
            }
            _ if random(&mut state).is_multiple_of(256) => tide(view, &mut state, keys),
            _ => held.truncate(random(&mut state) as usize % 8),
        }
    }
}

fn round(number: u64, steps: u32) {
    let strict = number % 3 == 1;
    let capacity = [20_000, 200_000, 5_000_000][number as usize % 3];
    let cache = BlockCache::builder()
        .capacity(capacity)
        .strict_capacity(strict)
        .shards(1 << (number % 4))
        .build()
        .expect("valid options");
    let view = cache.view::<Counted>(Role::DATA_BLOCK);
    STOP.store(false, Ordering::Relaxed);
    let threads: Vec<_> = (0..4_u64)
        .map(|t| {
            let priority = [Priority::High, Priority::Low, Priority::Bottom][t as usize % 3];
            let view = view.clone().with_priority(priority);
            {
                let keys = [100, 2000, 30_000][number as usize % 3];
                thread::spawn(move || work(&view, &POCKETS, number * 8 + t, steps, keys))
            }
        })
        .collect();
    let watcher = strict.then(|| {
        let cache = cache.clone();
        thread::spawn(move || {
            while !STOP.load(Ordering::Relaxed) {
                assert!(cache.usage() <= cache.capacity(), "a strict cache went above its capacity");
            }
        })
    });
    for thread in threads {
        thread.join().expect("no panic");
    }
    STOP.store(true, Ordering::Relaxed);
    if let Some(watcher) = watcher {
        watcher.join().expect("no panic");
    }
    cache.validate().unwrap_or_else(|fault| panic!("round {number}: {fault}"));
    // The cache goes away while other threads drop the handles that are left.
    let handles: Vec<_> = POCKETS.iter().filter_map(|pocket| pocket.exchange(None)).collect();
    let droppers: Vec<_> =
        handles.into_iter().map(|handle| thread::spawn(move || drop((handle.clone(), handle)))).collect();
    drop((view, cache));
    for dropper in droppers {
        dropper.join().expect("no panic");
    }
    assert_eq!(ALIVE.load(Ordering::Relaxed), 0, "round {number}: every value is dropped once");
}

#[test]
fn everything_at_once() {
    let seconds = std::env::var("HYPERCLOCK_STRESS_SECONDS").ok().and_then(|s| s.parse().ok()).unwrap_or(2);
    let steps = if cfg!(debug_assertions) { 3000 } else { 20_000 };
    let start = Instant::now();
    let mut number = 0;
    while number < 12 || start.elapsed() < Duration::from_secs(seconds) {
        round(number, steps);
        number += 1;
    }
    println!("{number} rounds");
}
