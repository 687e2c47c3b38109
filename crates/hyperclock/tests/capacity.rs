//! What is charged, what is evicted, and what is refused.

use hyperclock::{BlockCache, CacheKey, CacheValue, Handle, InsertError, MetadataCharge, Priority, Role};
use std::panic::{AssertUnwindSafe, catch_unwind};

#[derive(Debug)]
struct Bytes(usize);

impl CacheValue for Bytes {
    fn charge(&self) -> usize {
        self.0
    }
}

/// Panics when dropped, if told to.
struct Grenade(bool);

impl Drop for Grenade {
    fn drop(&mut self) {
        assert!(!self.0, "a destructor that panics");
    }
}

impl CacheValue for Grenade {
    fn charge(&self) -> usize {
        100
    }
}

fn key(n: u64) -> CacheKey {
    CacheKey::new(1, n)
}

fn cache(capacity: usize, strict: bool) -> BlockCache {
    BlockCache::builder().capacity(capacity).strict_capacity(strict).shards(1).build().expect("valid")
}

#[test]
fn a_destructor_that_panics_during_eviction_leaves_the_cache_whole() {
    for standalone in [false, true] {
        let cache = cache(164, false);
        let view = cache.view::<Grenade>(Role::MISC);
        drop(view.insert(key(1), Grenade(true)));
        let outcome = catch_unwind(AssertUnwindSafe(|| {
            if standalone {
                drop(view.standalone(Grenade(false)));
            } else {
                drop(view.insert(key(2), Grenade(false)));
            }
        }));
        assert!(outcome.is_err());
        cache.validate().expect("whole");
        assert_eq!(cache.usage(), 0);
    }
}

#[test]
fn the_resident_entry_wins_whatever_the_value_and_the_room() {
    let strict = cache(164, true);
    let view = strict.view::<Bytes>(Role::MISC);
    let pinned = view.insert(key(1), Bytes(100)).expect("room");
    assert_eq!(view.insert(key(1), Bytes(99)).expect("resident").0, 100);
    let other = strict.view::<Grenade>(Role::MISC);
    assert!(matches!(other.insert(key(1), Grenade(false)), Err(InsertError::Type { .. })));
    drop(pinned);
    let loose = cache(1000, false);
    let view = loose.view::<Bytes>(Role::MISC);
    for n in 0..6 {
        view.insert(key(n), Bytes(100)).expect("not strict");
    }
    let before = loose.occupancy();
    assert_eq!(view.insert(key(5), Bytes(10_000)).expect("resident").0, 100);
    assert_eq!(loose.occupancy(), before, "nothing is evicted for a value that is dropped");
    assert_eq!(loose.stats().total().redundant_inserts, 1);
}

#[test]
fn what_cannot_fit_evicts_nothing() {
    let cache = cache(16_400, false);
    let view = cache.view::<Bytes>(Role::MISC);
    for n in 0..100 {
        view.insert(key(n), Bytes(100)).expect("not strict");
    }
    let large = view.insert(key(1000), Bytes(1 << 40)).expect("not strict");
    assert_eq!(cache.occupancy(), 100);
    assert!(cache.usage() > 1 << 40, "it is charged while it is held");
    assert!(!cache.contains(&key(1000)));
    drop(large);
    cache.validate().expect("whole");
    assert_eq!(cache.usage(), 16_400);
}

#[test]
fn br_070_absurd_charges_and_capacities_keep_the_account_straight() {
    for strict in [false, true] {
        for capacity in [0, 1, 1 << 40, usize::MAX] {
            let cache = cache(capacity, strict);
            let view = cache.view::<Bytes>(Role::MISC);
            let small = view.insert(key(1), Bytes(100));
            let large: Vec<_> = (0..4).map(|n| view.insert(key(2 + n), Bytes(usize::MAX))).collect();
            let alone = view.standalone(Bytes(usize::MAX));
            assert!(strict || cache.usage() > 1 << 40, "what is held is visible");
            assert!(!strict || cache.usage() <= capacity);
            assert!(cache.pinned_usage() <= cache.usage());
            drop((small, large, alone));
            cache.validate().expect("whole");
            for n in 0..6 {
                cache.erase(&key(n));
            }
            assert_eq!(cache.usage(), 0);
        }
    }
}

#[test]
fn br_069_capacity_zero_keeps_nothing() {
    for metadata in [MetadataCharge::Full, MetadataCharge::None] {
        let cache = BlockCache::builder().capacity(0).metadata_charge(metadata).build().expect("valid");
        let view = cache.view::<Bytes>(Role::MISC);
        for n in 0..1000 {
            let handle = view.get_or_load(&key(n), || Ok::<_, ()>(Bytes((n % 2) as usize))).expect("loads");
            assert_eq!(handle.0, (n % 2) as usize);
        }
        assert_eq!((cache.occupancy(), cache.usage()), (0, 0));
    }
}

/// Everything pinned: usage shows it; after the last release, the next insert brings it back below the capacity.
#[test]
fn br_001_usage_shows_pins_and_comes_back() {
    let capacity = 16 << 20;
    let cache = cache(capacity, false);
    let view = cache.view::<Bytes>(Role::FILTER_BLOCK);
    let mut handles: Vec<Handle<Bytes>> =
        (0..104).map(|n| view.insert(key(n), Bytes(1 << 20)).expect("not strict")).collect();
    assert!(cache.usage() >= 104 << 20);
    assert_eq!(cache.pinned_usage(), cache.usage());
    while !handles.is_empty() {
        handles.swap_remove(handles.len() * 7 / 13);
    }
    assert_eq!(cache.pinned_usage(), 0);
    view.insert(key(1000), Bytes(1 << 20)).expect("not strict");
    assert!(cache.usage() <= capacity);
    cache.validate().expect("whole");
}

/// Strict and full of pins: refused, with the value; one release later it succeeds. Reads never fail.
#[test]
fn a_strict_cache_refuses_while_all_is_pinned_and_not_longer() {
    let cache = cache(10 * 164, true);
    let view = cache.view::<Bytes>(Role::MISC).with_priority(Priority::High);
    let mut handles: Vec<_> = (0..10).map(|n| view.insert(key(n), Bytes(100)).expect("room")).collect();
    let refused = view.insert(key(50), Bytes(100)).expect_err("all is pinned");
    assert!(refused.to_string().contains("strict cache of 1640 bytes"));
    assert_eq!(refused.into_value().0, 100);
    let uncharged = view.get_or_load(&key(51), || Ok::<_, ()>(Bytes(77))).expect("a read never fails");
    assert_eq!((uncharged.0, cache.usage(), cache.contains(&key(51))), (77, 1640, false));
    assert_eq!(cache.stats().total().uncharged, 1);
    handles.pop();
    view.insert(key(50), Bytes(100)).expect("room again");
    drop((handles, uncharged));
    cache.validate().expect("whole");
}

/// With nearly nothing to evict, an insert into a cache that is not strict gives up early.
#[test]
fn br_028_pins_bound_the_effort_of_an_insert() {
    for erased in [false, true] {
        let cache = cache(256 * 4096, false);
        let view = cache.view::<Bytes>(Role::DATA_BLOCK);
        let pinned: Vec<_> = (0..5000).map(|n| view.insert(key(n), Bytes(4096)).expect("not strict")).collect();
        for n in 0..5000 {
            assert!(!erased || cache.erase(&key(n)));
        }
        for n in 10_000..60_000 {
            view.insert(key(n), Bytes(4096)).expect("not strict");
        }
        drop(pinned);
        view.insert(key(u64::MAX), Bytes(4096)).expect("not strict");
        assert!(cache.usage() <= cache.capacity());
        cache.validate().expect("whole");
    }
}

/// The same, counted: by default the hand gives up before it comes to what could be evicted, and does not with a large cap.
#[test]
fn br_028_an_insert_gives_up_after_its_share_of_pins() {
    const INSERTS: u64 = 20;
    let evictions = |effort_cap: Option<u32>| {
        let builder = BlockCache::builder().capacity(256 * 4096).shards(1);
        let builder = effort_cap.into_iter().fold(builder, hyperclock::Builder::effort_cap);
        let cache = builder.build().expect("valid");
        let view = cache.view::<Bytes>(Role::DATA_BLOCK).with_priority(Priority::Bottom);
        let pinned: Vec<_> = (0..1000).map(|n| view.insert(key(n), Bytes(4096)).expect("not strict")).collect();
        for n in 0..INSERTS {
            view.insert(key(10_000 + n), Bytes(4096)).expect("not strict");
        }
        assert_eq!(cache.occupancy() as u64, 1000 + INSERTS - cache.stats().total().evictions);
        drop(pinned);
        cache.stats().total().evictions
    };
    // Each of them would have to pass a thousand pins to find the one that was inserted before it.
    assert!(evictions(Some(u32::MAX)) >= INSERTS - 1);
    assert!(evictions(None) <= INSERTS / 4, "{} of {INSERTS} inserts looked further", evictions(None));
}

/// Small entries, then larger ones: the budget holds at every step.
#[test]
fn br_030_eviction_keeps_up_with_larger_entries() {
    let cache = cache(1 << 20, false);
    let view = cache.view::<Bytes>(Role::DATA_BLOCK);
    for n in 0..2048 {
        view.insert(key(n), Bytes(512)).expect("not strict");
    }
    for n in 10_000..10_256 {
        view.insert(key(n), Bytes(16 << 10)).expect("not strict");
        assert!(cache.usage() <= cache.capacity() + (16 << 10) + 64);
    }
    assert!(cache.usage() <= cache.capacity());
    cache.validate().expect("whole");
}

/// Every priority alone fills the cache, and one more entry finds room.
#[test]
fn br_029_every_priority_alone_can_be_evicted() {
    for priority in [Priority::High, Priority::Low, Priority::Bottom] {
        for strict in [false, true] {
            let cache = cache(100 * 164, strict);
            let view = cache.view::<Bytes>(Role::DATA_BLOCK).with_priority(priority);
            for n in 0..300 {
                view.insert(key(n), Bytes(100)).expect("nothing is pinned");
                drop(view.get(&key(n)));
            }
            assert!(cache.usage() <= cache.capacity());
            assert_eq!(cache.occupancy(), 100);
            assert_eq!(cache.stats().total().evictions, 200);
        }
    }
}

/// Whatever shares of the priorities fill the cache, read or not, entries of each find room.
#[test]
fn br_029_shares_of_several_priorities_can_be_evicted() {
    const PRIORITIES: [Priority; 3] = [Priority::High, Priority::Low, Priority::Bottom];
    for shares in [[1, 1, 0], [1, 0, 1], [0, 1, 1], [1, 1, 1], [98, 1, 1], [1, 98, 1], [1, 1, 98]] {
        for (strict, reads) in [(false, 0), (false, 5), (true, 0), (true, 5)] {
            let cache = cache(100 * 164, strict);
            let views = PRIORITIES.map(|priority| cache.view::<Bytes>(Role::DATA_BLOCK).with_priority(priority));
            // Which priority the nth entry has: as many of each hundred as its share says.
            let of = |n: u64| {
                let mut place = n * 37 % shares.iter().sum::<u64>();
                shares.iter().position(|&share| place.checked_sub(share).map(|left| place = left).is_none())
            };
            for n in 0..300 {
                let view = &views[of(n).expect("within the sum of the shares")];
                view.insert(key(n), Bytes(100)).expect("nothing is pinned");
                for _ in 0..reads {
                    drop(view.get(&key(n)));
                }
            }
            for (n, view) in (1000..).zip(&views) {
                view.insert(key(n), Bytes(100)).expect("nothing is pinned");
                assert!(cache.contains(&key(n)));
            }
            assert!(cache.usage() <= cache.capacity());
            let (held, evicted) = (cache.occupancy() as u64, cache.stats().total().evictions);
            assert_eq!(held + evicted, 303, "{shares:?}, {reads} reads");
            // A step of the hand may free more than was asked for.
            assert!((90..=100).contains(&held), "{held} held with {shares:?}, {reads} reads");
            cache.validate().expect("whole");
        }
    }
}

/// The charge of what was pinned is part of the usage, not added to it.
#[test]
fn br_078_pinned_usage_is_part_of_usage() {
    let cache = cache(64 << 20, false);
    let view = cache.view::<Bytes>(Role::DATA_BLOCK);
    let mut handles: Vec<_> = (0..10).map(|n| view.insert(key(n), Bytes(1 << 20)).expect("room")).collect();
    handles.truncate(4);
    assert_eq!(cache.usage(), 10 * ((1 << 20) + 64));
    assert_eq!(cache.pinned_usage(), 4 * ((1 << 20) + 64));
}
