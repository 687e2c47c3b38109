//! Growth and shrinking: memory comes back, nothing gets lost on the way, and a walk sees every entry once.

use hyperclock::{BlockCache, CacheKey, CacheValue, Role};
use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};

struct Number(u64);

impl CacheValue for Number {
    fn charge(&self) -> usize {
        size_of::<Self>()
    }
}

fn key(n: u64) -> CacheKey {
    CacheKey::new(7, n)
}

fn cache() -> BlockCache {
    BlockCache::builder().capacity(1 << 30).shards(2).build().expect("valid")
}

fn fill(cache: &BlockCache, range: std::ops::Range<u64>) {
    let view = cache.view::<Number>(Role::MISC);
    for n in range {
        view.insert(key(n), Number(n)).expect("not strict");
    }
}

fn table_bytes(cache: &BlockCache) -> usize {
    cache.stats().table_bytes
}

#[test]
fn ten_times_fewer_entries_need_at_most_twice_the_memory_of_a_fresh_table() {
    const ENTRIES: u64 = 200_000;
    let (fresh, full) = (cache(), cache());
    fill(&fresh, 0..ENTRIES / 10);
    fill(&full, 0..ENTRIES);
    let before = table_bytes(&full);
    for n in 0..ENTRIES {
        if n % 10 != 3 {
            assert!(full.erase(&key(n)));
        }
    }
    full.validate().expect("whole");
    let after = table_bytes(&full);
    // Pages can be given back on Linux; elsewhere only reused.
    if cfg!(target_os = "linux") {
        assert!(after <= 2 * table_bytes(&fresh), "{before} bytes, then {after}; fresh: {}", table_bytes(&fresh));
    }
    let view = full.view::<Number>(Role::MISC);
    for n in 0..ENTRIES {
        assert_eq!(view.get(&key(n)).unwrap().map(|number| number.0), (n % 10 == 3).then_some(n));
    }
    // And up again.
    fill(&full, 0..ENTRIES);
    full.validate().expect("whole");
    assert!(table_bytes(&full) <= before + before / 4, "{before} bytes, then {}", table_bytes(&full));
    assert!((0..ENTRIES).all(|n| view.get(&key(n)).unwrap().is_some_and(|number| number.0 == n)));
}

#[test]
fn handles_keep_their_slots_while_everything_around_them_moves() {
    let cache = cache();
    let view = cache.view::<Number>(Role::MISC);
    fill(&cache, 0..50_000);
    let held: Vec<_> = (0..50_000).step_by(997).map(|n| (n, view.get(&key(n)).unwrap().expect("resident"))).collect();
    for n in 0..50_000 {
        if n % 50 != 0 && n % 997 != 0 {
            cache.erase(&key(n));
        }
    }
    cache.validate().expect("whole");
    let with_pins = table_bytes(&cache);
    assert!(held.iter().all(|(n, number)| number.0 == *n));
    // Some of the held ones are erased while they are held.
    for (n, _) in held.iter().step_by(2) {
        assert!(cache.erase(&key(*n)));
    }
    drop(held);
    cache.validate().expect("whole");
    // What the handles kept in place is cleared away by what follows.
    for n in 0..20_000 {
        drop(view.insert(key(1_000_000 + n % 100), Number(n)));
        cache.erase(&key(1_000_000 + n % 100));
    }
    cache.validate().expect("whole");
    assert!(table_bytes(&cache) <= with_pins);
}

/// Invariant 3 on a table that grows and shrinks all the time.
#[test]
fn entries_that_stay_are_found_while_the_table_grows_and_shrinks() {
    let cache = cache();
    let view = cache.view::<Number>(Role::MISC);
    fill(&cache, 0..1000);
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        for thread in 0..2 {
            let (view, done) = (view.clone(), &done);
            scope.spawn(move || {
                let mut n = thread * 500;
                while !done.load(Ordering::Relaxed) {
                    n = (n + 1) % 1000;
                    let number = view.get(&key(n)).unwrap().expect("an entry that nobody erased");
                    assert_eq!(number.0, n);
                }
            });
        }
        for round in 0..8 {
            for n in 0..20_000 {
                drop(view.insert(key(10_000 + n), Number(n)));
            }
            for n in 0..20_000 {
                assert!(cache.erase(&key(10_000 + n)), "round {round}");
            }
        }
        done.store(true, Ordering::Relaxed);
    });
    cache.validate().expect("whole");
    assert_eq!(cache.occupancy(), 1000);
}

#[test]
fn a_walk_sees_what_stays_exactly_once_while_the_table_is_reshaped() {
    let cache = cache();
    let view = cache.view::<Number>(Role::MISC);
    let done = AtomicBool::new(false);
    fill(&cache, 0..30_000);
    // The ones that stay are spread over all slots, and move down.
    for n in 0..30_000 {
        if n % 31 != 0 {
            cache.erase(&key(n));
        }
    }
    std::thread::scope(|scope| {
        let (other, done) = (view.clone(), &done);
        scope.spawn(move || {
            while !done.load(Ordering::Relaxed) {
                for n in 0..10_000 {
                    drop(other.insert(key(100_000 + n), Number(n)));
                }
                for n in 0..10_000 {
                    other.erase(&key(100_000 + n));
                }
            }
        });
        for _ in 0..100 {
            let mut seen = HashMap::new();
            cache.for_each(|entry| *seen.entry(entry.key.block()).or_insert(0_u32) += 1);
            for n in (0..30_000).step_by(31) {
                assert_eq!(seen.get(&n), Some(&1), "entry {n}");
            }
        }
        done.store(true, Ordering::Relaxed);
    });
    cache.validate().expect("whole");
}

/// A visitor may do anything, also what makes the table want to move entries.
#[test]
fn a_walk_whose_visitor_erases() {
    let cache = cache();
    fill(&cache, 0..20_000);
    let mut seen = 0;
    cache.for_each(|entry| {
        seen += 1;
        assert!(cache.erase(&entry.key));
    });
    assert_eq!((seen, cache.occupancy(), cache.usage()), (20_000, 0, 0));
    cache.validate().expect("whole");
}

/// A table that was made for its entries does not grow, and one that was made for too few does.
#[test]
fn an_index_made_in_advance() {
    struct Kilobyte;
    impl CacheValue for Kilobyte {
        fn charge(&self) -> usize {
            1000
        }
    }
    let fill = |charge: usize| {
        let cache = BlockCache::builder().capacity(50_000 * 1064).shards(4).estimated_entry_charge(charge).build();
        let cache = cache.expect("valid");
        let view = cache.view::<Kilobyte>(Role::MISC);
        for n in 0..60_000 {
            view.insert(key(n), Kilobyte).expect("not strict");
            assert!(n % 5000 != 0 || cache.validate().is_ok());
        }
        cache.validate().expect("whole");
        assert!(cache.occupancy() > 49_900, "{}", cache.occupancy());
        cache
    };
    for charge in [100, 1000, 10_000, 1 << 40] {
        let cache = fill(charge);
        assert!((0..60_000).filter(|n| cache.contains(&key(*n))).count() == cache.occupancy());
    }
}
