//! What many threads do at once leaves the cache whole: the reports of broken caches that concern races and pins.

use hyperclock::{BlockCache, CacheKey, CacheValue, Handle, LoadError, Role};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Barrier};
use std::thread;

/// Long runs are for release builds; sanitizers and debug builds take a part of them.
const SCALE: usize = if cfg!(debug_assertions) || cfg!(hyperclock_stress) { 1 } else { 10 };

struct Counted {
    key: u64,
    charge: usize,
    alive: Arc<AtomicUsize>,
}

impl Counted {
    fn new(key: u64, charge: usize, alive: &Arc<AtomicUsize>) -> Self {
        alive.fetch_add(1, Ordering::Relaxed);
        Self { key, charge, alive: alive.clone() }
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.alive.fetch_sub(1, Ordering::Relaxed);
    }
}

impl CacheValue for Counted {
    fn charge(&self) -> usize {
        self.charge
    }
}

fn key(n: u64) -> CacheKey {
    CacheKey::new(1, n)
}

fn random(state: &mut u64) -> u64 {
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    *state >> 11
}

/// Eight threads, room for about a hundred entries, a thousand keys.
#[test]
fn br_010_entries_are_not_touched_after_their_release() {
    let alive = Arc::new(AtomicUsize::new(0));
    let cache = BlockCache::builder().capacity(100 * 164).build().expect("valid");
    thread::scope(|scope| {
        for seed in 0..8_u64 {
            let (view, alive) = (cache.view::<Counted>(Role::DATA_BLOCK), &alive);
            scope.spawn(move || {
                let mut state = seed + 1;
                for _ in 0..20_000 * SCALE {
                    let n = random(&mut state) % 1000;
                    let handle = match view.get(&key(n)).expect("one type") {
                        Some(handle) => handle,
                        None => view.insert(key(n), Counted::new(n, 100, alive)).expect("not strict"),
                    };
                    assert_eq!(handle.key, n);
                }
            });
        }
    });
    cache.validate().expect("whole");
    assert_eq!(alive.load(Ordering::Relaxed), cache.occupancy());
    assert!(cache.usage() <= cache.capacity());
    drop(cache);
    assert_eq!(alive.load(Ordering::Relaxed), 0);
}

/// Walks over all entries beside inserts, lookups and erases.
#[test]
fn br_011_walking_all_entries_keeps_every_count() {
    let alive = Arc::new(AtomicUsize::new(0));
    let cache = BlockCache::builder().capacity(400 * 164).build().expect("valid");
    let stop = AtomicBool::new(false);
    thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                while !stop.load(Ordering::Relaxed) {
                    cache.for_each(|entry| assert_eq!(entry.charge, 100));
                    cache.pinned_usage();
                }
            });
        }
        let workers: Vec<_> = (0..6_u64)
            .map(|seed| {
                let (view, alive) = (cache.view::<Counted>(Role::DATA_BLOCK), &alive);
                scope.spawn(move || {
                    let mut state = seed + 7;
                    let mut held: Vec<Handle<Counted>> = Vec::new();
                    for _ in 0..15_000 * SCALE {
                        let n = random(&mut state) % 1000;
                        match random(&mut state) % 4 {
                            0 => {
                                view.erase(&key(n));
                            }
                            1 => {
                                held.push(view.insert(key(n), Counted::new(n, 100, alive)).expect("not strict"));
                            }
                            _ => drop(view.get(&key(n)).expect("one type")),
                        }
                        if held.len() > 8 {
                            held.swap_remove(random(&mut state) as usize % 8);
                        }
                    }
                })
            })
            .collect();
        for worker in workers {
            worker.join().expect("no panic");
        }
        stop.store(true, Ordering::Relaxed);
    });
    cache.validate().expect("whole");
    for n in 0..1000 {
        cache.erase(&key(n));
    }
    cache.validate().expect("whole");
    assert_eq!((cache.occupancy(), cache.pinned_usage(), cache.usage()), (0, 0, 0));
    assert_eq!(alive.load(Ordering::Relaxed), 0);
}

/// Growth from the smallest size, by many threads.
#[test]
fn br_012_concurrent_growth_loses_nothing() {
    let alive = Arc::new(AtomicUsize::new(0));
    let count = 20_000 * SCALE as u64;
    for shards in [1, 8] {
        let cache = BlockCache::builder().capacity(usize::MAX).shards(shards).build().expect("valid");
        thread::scope(|scope| {
            for part in 0..32 {
                let (view, alive) = (cache.view::<Counted>(Role::DATA_BLOCK), &alive);
                scope.spawn(move || {
                    for n in (part..count).step_by(32) {
                        view.insert(key(n), Counted::new(n, 1, alive)).expect("not strict");
                        assert!(view.get(&key(n)).expect("one type").is_some());
                    }
                });
            }
        });
        cache.validate().expect("whole");
        assert_eq!(cache.occupancy() as u64, count);
        let view = cache.view::<Counted>(Role::DATA_BLOCK);
        assert!((0..count).all(|n| view.get(&key(n)).expect("one type").is_some_and(|v| v.key == n)));
    }
}

/// A million-byte cache, many threads, mostly inserts of skewed keys: no key is resident twice.
#[test]
fn br_013_a_key_is_never_resident_twice() {
    let alive = Arc::new(AtomicUsize::new(0));
    for round in 0..20 * SCALE as u64 {
        let cache = BlockCache::new(1_000_000);
        thread::scope(|scope| {
            for seed in 0..16_u64 {
                let (view, alive) = (cache.view::<Counted>(Role::DATA_BLOCK), &alive);
                scope.spawn(move || {
                    let mut state = seed + 1 + round * 100;
                    for _ in 0..100 {
                        let n = random(&mut state) % 30 * (random(&mut state) % 3);
                        if random(&mut state).is_multiple_of(8) {
                            drop(view.get(&key(n)).expect("one type"));
                        } else {
                            view.insert(key(n), Counted::new(n, 3000, alive)).expect("not strict");
                        }
                    }
                });
            }
        });
        cache.validate().expect("whole");
        let mut seen = std::collections::HashSet::new();
        cache.for_each(|entry| assert!(seen.insert(entry.key)));
    }
}

/// A plain insert and a load of the same key.
#[test]
fn br_019_an_insert_beside_a_load_leaves_one_value() {
    let alive = Arc::new(AtomicUsize::new(0));
    let cache = BlockCache::new(1 << 20);
    for _ in 0..200 * SCALE {
        let barrier = Barrier::new(4);
        thread::scope(|scope| {
            for _ in 0..3 {
                scope.spawn(|| {
                    let view = cache.view::<Counted>(Role::DATA_BLOCK);
                    barrier.wait();
                    let handle = view.get_or_load(&key(0), || Ok::<_, String>(Counted::new(0, 1, &alive)));
                    assert_eq!(handle.expect("loads").key, 0);
                });
            }
            scope.spawn(|| {
                let view = cache.view::<Counted>(Role::DATA_BLOCK);
                barrier.wait();
                assert_eq!(view.insert(key(0), Counted::new(0, 2, &alive)).expect("not strict").key, 0);
            });
        });
        assert_eq!(cache.occupancy(), 1);
        cache.erase(&key(0));
    }
    cache.validate().expect("whole");
    assert_eq!(alive.load(Ordering::Relaxed), 0);
}

/// Many threads insert into a cache that holds a few entries, half of them keeping their handles.
#[test]
fn br_020_a_burst_of_inserts_at_full_capacity_ends() {
    let alive = Arc::new(AtomicUsize::new(0));
    for _ in 0..20 * SCALE {
        let cache = BlockCache::builder().capacity(64 * 164).shards(1).build().expect("valid");
        let barrier = Barrier::new(64);
        let handles: Vec<Option<Handle<Counted>>> = thread::scope(|scope| {
            let spawned: Vec<_> = (0..64_u64)
                .map(|n| {
                    let (view, alive, barrier) = (cache.view::<Counted>(Role::DATA_BLOCK), &alive, &barrier);
                    scope.spawn(move || {
                        barrier.wait();
                        let handle = view.insert(key(n), Counted::new(n, 200, alive)).expect("not strict");
                        (n % 2 == 0).then_some(handle)
                    })
                })
                .collect();
            spawned.into_iter().map(|thread| thread.join().expect("no panic")).collect()
        });
        cache.validate().expect("whole");
        assert!(alive.load(Ordering::Relaxed) >= 32);
        drop(handles);
        drop(cache);
        assert_eq!(alive.load(Ordering::Relaxed), 0);
    }
}

/// A cache that goes away right after it grew.
#[test]
fn br_026_dropping_right_after_growth_drops_every_value() {
    let alive = Arc::new(AtomicUsize::new(0));
    for _ in 0..20 * SCALE {
        let cache = BlockCache::new(usize::MAX);
        thread::scope(|scope| {
            for part in 0..16_u64 {
                let (view, alive) = (cache.view::<Counted>(Role::DATA_BLOCK), &alive);
                scope.spawn(move || {
                    for n in 0..200 {
                        view.insert(key(part * 1000 + n), Counted::new(n, 1, alive)).expect("not strict");
                    }
                });
            }
        });
        assert_eq!(alive.load(Ordering::Relaxed), 3200);
        drop(cache);
        assert_eq!(alive.load(Ordering::Relaxed), 0);
    }
}

/// Handles that are dropped by other threads while the cache is dropped, erased entries among them.
#[test]
fn handles_and_their_cache_may_go_away_at_once() {
    let alive = Arc::new(AtomicUsize::new(0));
    for round in 0..200 * SCALE as u64 {
        let cache = BlockCache::new(1 << 20);
        let view = cache.view::<Counted>(Role::DATA_BLOCK);
        let handles: Vec<_> =
            (0..64).map(|n| view.insert(key(n), Counted::new(n, 10, &alive)).expect("not strict")).collect();
        for n in (0..64).step_by(2) {
            cache.erase(&key(n));
        }
        let barrier = Barrier::new(4);
        thread::scope(|scope| {
            let mut parts = handles.into_iter();
            for _ in 0..3 {
                let part: Vec<_> = parts.by_ref().take(20 + round as usize % 3).collect();
                let barrier = &barrier;
                scope.spawn(move || {
                    barrier.wait();
                    for handle in part {
                        drop(handle.clone());
                    }
                });
            }
            let barrier = &barrier;
            scope.spawn(move || {
                barrier.wait();
                drop((view, cache));
            });
        });
        assert_eq!(alive.load(Ordering::Relaxed), 0, "round {round}");
    }
}

/// More clones than can be counted are refused, and do no harm.
#[test]
fn two_to_the_25_forgotten_clones_do_no_harm() {
    let alive = Arc::new(AtomicUsize::new(0));
    let cache = BlockCache::new(1 << 20);
    let view = cache.view::<Counted>(Role::DATA_BLOCK);
    let first = view.insert(key(1), Counted::new(1, 10, &alive)).expect("room");
    let other = view.insert(key(2), Counted::new(2, 10, &alive)).expect("room");
    let mut taken = 1_u32;
    for n in 0..1_u32 << 25 {
        let clone = if n % 2 == 0 { first.try_clone() } else { view.get(&key(1)).expect("one type") };
        if let Some(clone) = clone {
            assert_eq!(clone.key, 1);
            std::mem::forget(clone);
            taken += 1;
        }
    }
    assert_eq!(taken, 1 << 22);
    assert_eq!(view.get(&key(1)).expect("one type").map(|h| h.key), None);
    assert!(std::panic::catch_unwind(|| first.clone()).is_err());
    assert_eq!((first.key, other.key), (1, 2));
    assert!(cache.stats().role(Role::DATA_BLOCK).saturated > 0);
    assert!(cache.erase(&key(1)));
    assert_eq!(view.get(&key(2)).expect("one type").map(|h| h.key), Some(2));
    drop((first, other, view, cache));
    assert_eq!(alive.load(Ordering::Relaxed), 1, "the forgotten value is never dropped");
}

/// One loader runs, however many callers miss at once; also when it fails.
#[test]
fn br_098_br_099_one_load_per_key() {
    let cache = BlockCache::new(64 << 20);
    let alive = Arc::new(AtomicUsize::new(0));
    for round in 0..20 * SCALE as u64 {
        let loads = AtomicUsize::new(0);
        let barrier = Barrier::new(64);
        thread::scope(|scope| {
            for _ in 0..64 {
                scope.spawn(|| {
                    let view = cache.view::<Counted>(Role::FILTER_BLOCK);
                    barrier.wait();
                    let handle = view.get_or_load(&key(round), || {
                        loads.fetch_add(1, Ordering::Relaxed);
                        thread::yield_now();
                        Ok::<_, String>(Counted::new(round, 8 << 20, &alive))
                    });
                    assert_eq!(handle.expect("loads").key, round);
                });
            }
        });
        assert_eq!(loads.load(Ordering::Relaxed), 1);
    }
    let stats = *cache.stats().role(Role::FILTER_BLOCK);
    assert_eq!(stats.loads, 20 * SCALE as u64);
    assert_eq!(stats.hits + stats.misses, 64 * stats.loads);
    assert!(stats.coalesced_loads <= stats.misses - stats.loads);
}

/// A loader that panics or fails poisons nothing.
#[test]
fn br_041_a_panicking_or_failing_loader_leaves_the_key_loadable() {
    let cache = BlockCache::new(1 << 20);
    let alive = Arc::new(AtomicUsize::new(0));
    let view = cache.view::<Counted>(Role::DATA_BLOCK);
    let barrier = Barrier::new(11);
    let outcomes: Vec<bool> = thread::scope(|scope| {
        let leader = scope.spawn(|| {
            let view = cache.view::<Counted>(Role::DATA_BLOCK);
            let loader = || -> Result<Counted, String> {
                barrier.wait();
                panic!("the device is on fire");
            };
            std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| view.get_or_load(&key(1), loader).is_ok()))
        });
        let waiters: Vec<_> = (0..10)
            .map(|_| {
                scope.spawn(|| {
                    let view = cache.view::<Counted>(Role::DATA_BLOCK);
                    barrier.wait();
                    view.get_or_load(&key(1), || Ok::<_, String>(Counted::new(1, 1, &alive))).is_ok()
                })
            })
            .collect();
        assert!(leader.join().expect("caught").is_err());
        waiters.into_iter().map(|waiter| waiter.join().expect("no panic")).collect()
    });
    assert!(outcomes.iter().all(|&ok| ok));
    assert_eq!(view.get(&key(1)).expect("one type").map(|h| h.key), Some(1));
    let failed = view.get_or_load(&key(2), || Err("no such block".to_owned()));
    assert!(matches!(failed, Err(LoadError::Load(error)) if *error == "no such block"));
    assert!(view.get_or_load(&key(2), || Ok::<_, String>(Counted::new(2, 1, &alive))).is_ok());
    let nested = view.get_or_load(&key(3), || {
        let inner = view.get_or_load(&key(3), || Ok::<_, String>(Counted::new(3, 1, &alive)));
        assert!(matches!(inner, Err(LoadError::Reentrant)));
        Ok::<_, String>(Counted::new(3, 1, &alive))
    });
    assert_eq!(nested.expect("loads").key, 3);
    cache.validate().expect("whole");
}

/// A slow loader on one key does not keep others from being inserted and evicted.
#[test]
fn br_032_a_slow_loader_blocks_no_other_key() {
    let cache = BlockCache::builder().capacity(50_000).shards(1).build().expect("valid");
    let alive = Arc::new(AtomicUsize::new(0));
    let (started, done) = (Barrier::new(2), AtomicBool::new(false));
    thread::scope(|scope| {
        scope.spawn(|| {
            let view = cache.view::<Counted>(Role::DATA_BLOCK);
            let loaded = view.get_or_load(&key(u64::MAX), || {
                started.wait();
                while !done.load(Ordering::Acquire) {
                    thread::yield_now();
                }
                Ok::<_, String>(Counted::new(0, 100, &alive))
            });
            assert!(loaded.is_ok());
        });
        let view = cache.view::<Counted>(Role::DATA_BLOCK);
        started.wait();
        for n in 0..5000 * SCALE as u64 {
            view.insert(key(n), Counted::new(n, 100, &alive)).expect("not strict");
        }
        assert!(cache.usage() <= cache.capacity());
        done.store(true, Ordering::Release);
    });
    cache.validate().expect("whole");
}

/// Hundreds of threads look up, then insert, the same key, each keeping its handle.
#[test]
fn br_037_one_absent_key_takes_one_slot() {
    let alive = Arc::new(AtomicUsize::new(0));
    let cache = BlockCache::new(1 << 20);
    for round in 0..10 * SCALE as u64 {
        let barrier = Barrier::new(100);
        let handles: Vec<_> = thread::scope(|scope| {
            let threads: Vec<_> = (0..100)
                .map(|_| {
                    scope.spawn(|| {
                        let view = cache.view::<Counted>(Role::DATA_BLOCK);
                        barrier.wait();
                        view.get(&key(round)).expect("one type").unwrap_or_else(|| {
                            view.insert(key(round), Counted::new(round, 1, &alive)).expect("not strict")
                        })
                    })
                })
                .collect();
            threads.into_iter().map(|t| t.join().expect("no panic")).collect()
        });
        let first: *const Counted = &raw const *handles[0];
        assert!(handles.iter().all(|h| std::ptr::eq(first, &raw const **h)), "all share one entry");
        assert_eq!(cache.occupancy() as u64, round + 1);
    }
    cache.validate().expect("whole");
}

/// A destructor that panics while an insert gives way to the resident value leaves no pin behind.
#[test]
fn a_panicking_destructor_of_a_rejected_value_leaves_no_pin() {
    struct Bomb(bool);
    impl CacheValue for Bomb {
        fn charge(&self) -> usize {
            100
        }
    }
    impl Drop for Bomb {
        fn drop(&mut self) {
            assert!(!self.0, "bomb");
        }
    }
    let cache = BlockCache::new(1 << 20);
    let view = cache.view::<Bomb>(Role::MISC);
    drop(view.insert(CacheKey::new(1, 1), Bomb(false)).expect("room"));
    let outcome = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        drop(view.insert(CacheKey::new(1, 1), Bomb(true)));
    }));
    assert!(outcome.is_err());
    assert_eq!(cache.pinned_usage(), 0);
    assert!(cache.erase(&CacheKey::new(1, 1)));
    assert_eq!(cache.usage(), 0);
    cache.validate().expect("whole");
}
