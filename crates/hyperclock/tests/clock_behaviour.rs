//! What a user of a clock cache counts on: who stays, who goes, and what a pin, a use or an effort cap changes.

use hyperclock::{BlockCache, CacheKey, CacheValue, MetadataCharge, Priority, Role, View};

struct Unit;

impl CacheValue for Unit {
    fn charge(&self) -> usize {
        1
    }
}

fn key(n: u64) -> CacheKey {
    CacheKey::new(1, n)
}

/// A cache that counts entries, in one shard, so that the hand's order is one order.
fn cache(entries: usize) -> (BlockCache, View<Unit>) {
    let builder = BlockCache::builder().capacity(entries).metadata_charge(MetadataCharge::None).shards(1);
    let cache = builder.build().expect("valid");
    let view = cache.view::<Unit>(Role::DATA_BLOCK);
    (cache, view)
}

fn fill(view: &View<Unit>, range: std::ops::Range<u64>) {
    for n in range {
        view.insert(key(n), Unit).expect("not strict");
    }
}

fn resident(cache: &BlockCache, range: std::ops::Range<u64>) -> usize {
    range.filter(|&n| cache.contains(&key(n))).count()
}

/// Each pass of the hand takes one use from everything it sees, so priorities leave in their order.
#[test]
fn bottom_leaves_before_low_and_low_before_high() {
    let (cache, view) = cache(3000);
    let priorities = [Priority::High, Priority::Low, Priority::Bottom];
    for n in 0..3000 {
        view.clone().with_priority(priorities[n as usize % 3]).insert(key(n), Unit).expect("not strict");
    }
    let left = |priority: usize| (0..3000).filter(|&n| n % 3 == priority as u64 && cache.contains(&key(n))).count();
    let bottom = view.with_priority(Priority::Bottom);
    fill(&bottom, 10_000..10_600);
    assert!(left(0) == 1000 && left(1) == 1000 && left(2) < 500, "{} {} {}", left(0), left(1), left(2));
    // Newcomers that nobody reads leave first; then the rest by what they started with.
    fill(&bottom, 20_000..23_000);
    assert!(left(0) >= left(1) && left(1) >= left(2), "{} {} {}", left(0), left(1), left(2));
    assert_eq!(cache.occupancy(), 3000);
}

#[test]
fn a_use_keeps_an_entry_and_an_unused_release_does_not() {
    let (cache, view) = cache(1000);
    let bottom = view.with_priority(Priority::Bottom);
    fill(&bottom, 0..1000);
    for n in 0..300 {
        drop(bottom.get(&key(n)).unwrap());
        drop(bottom.get(&key(n)).unwrap());
    }
    for n in 300..600 {
        for _ in 0..5 {
            bottom.get(&key(n)).unwrap().expect("resident").release_unused();
        }
    }
    fill(&bottom, 10_000..10_700);
    assert_eq!(resident(&cache, 0..300), 300, "read twice");
    assert!(resident(&cache, 300..1000) < 100, "never of use: {}", resident(&cache, 300..1000));
}

#[test]
fn a_key_that_is_read_all_the_time_stays_and_an_idle_one_goes() {
    let (cache, view) = cache(1000);
    fill(&view, 0..2);
    for n in 0..5000 {
        fill(&view, 1000 + n..1001 + n);
        assert!(view.get(&key(0)).unwrap().is_some());
    }
    assert!(cache.contains(&key(0)) && !cache.contains(&key(1)));
}

#[test]
fn handles_keep_entries_through_a_hundred_times_the_capacity() {
    let (cache, view) = cache(100);
    let held: Vec<_> = (0..50).map(|n| view.insert(key(n), Unit).expect("not strict")).collect();
    fill(&view, 1000..11_000);
    assert_eq!((resident(&cache, 0..50), held.len()), (50, 50));
    assert!(cache.usage() <= 100 + 50);
    drop(held);
    fill(&view, 20_000..20_500);
    assert_eq!(resident(&cache, 0..50), 0);
    assert!(cache.usage() <= 100);
}

/// A strict cache uses every byte it has; without a limit, the effort cap decides how far above it pins drive it.
#[test]
fn a_higher_effort_cap_stays_nearer_to_the_capacity() {
    const CAPACITY: usize = 1000;
    let mut occupancies = Vec::new();
    for cap in [1, 10, 100, 1000] {
        let cache = BlockCache::builder()
            .capacity(CAPACITY)
            .metadata_charge(MetadataCharge::None)
            .shards(1)
            .effort_cap(cap)
            .build()
            .expect("valid");
        let view = cache.view::<Unit>(Role::MISC);
        let pinned: Vec<_> = (0..CAPACITY as u64).map(|n| view.insert(key(n), Unit).expect("not strict")).collect();
        fill(&view, 10_000..20_000);
        occupancies.push(cache.occupancy());
        drop(pinned);
        fill(&view, 30_000..31_000);
        assert!(cache.occupancy() <= CAPACITY);
    }
    assert!(occupancies.is_sorted_by(|a, b| a >= b), "{occupancies:?}");
    // What is not pinned shares the hand's way with what is: about 1 + 1.4 / (cap + 1) of the pinned entries in all.
    for (cap, occupancy) in [1.0, 10.0, 100.0, 1000.0].into_iter().zip(&occupancies) {
        let (expected, margin) =
            (CAPACITY as f64 * (1.0 + 1.4 / (cap + 1.0)), CAPACITY as f64 * 1.2 / (cap + 1.0) + 2.0);
        assert!(
            (*occupancy as f64 - expected).abs() <= margin,
            "cap {cap}: {occupancy}, expected {expected} +- {margin}"
        );
    }
    let strict = BlockCache::builder()
        .capacity(CAPACITY)
        .metadata_charge(MetadataCharge::None)
        .strict_capacity(true)
        .build()
        .expect("valid");
    let view = strict.view::<Unit>(Role::MISC);
    let pinned: Vec<_> = (0..CAPACITY as u64).map(|n| view.insert(key(n), Unit).expect("room")).collect();
    assert!(view.insert(key(1 << 40), Unit).is_err());
    assert_eq!((strict.occupancy(), pinned.len()), (CAPACITY, CAPACITY));
}

/// Erased while held: invisible at once, alive until the last handle, and the key free for another value.
#[test]
fn an_erased_entry_lives_until_its_last_handle() {
    let (cache, view) = cache(100);
    let first = view.insert(key(1), Unit).expect("room");
    let second = view.get(&key(1)).unwrap().expect("resident");
    assert!(cache.erase(&key(1)));
    assert!(!cache.erase(&key(1)), "erased once");
    assert!(view.get(&key(1)).unwrap().is_none());
    assert_eq!((cache.occupancy(), cache.usage()), (0, 1), "charged while held");
    let again = view.insert(key(1), Unit).expect("room");
    assert_eq!((cache.occupancy(), cache.usage()), (1, 2));
    drop((first, second, again));
    assert_eq!((cache.occupancy(), cache.usage()), (1, 1));
}

/// Capacity 2, three keys and replacements by erase and insert, from several threads: nothing is left over.
#[test]
fn br_018_a_tiny_cache_is_empty_after_everything_is_erased() {
    let (cache, view) = cache(2);
    std::thread::scope(|scope| {
        for thread in 0..4 {
            let (cache, view) = (&cache, &view);
            scope.spawn(move || {
                for n in 0..20_000_u64 {
                    let key = key((n * 7 + thread) % 3);
                    drop(view.insert(key, Unit).expect("not strict"));
                    if n % 5 == thread {
                        cache.erase(&key);
                    }
                }
            });
        }
    });
    for n in 0..3 {
        cache.erase(&key(n));
    }
    assert_eq!((cache.occupancy(), cache.usage(), cache.pinned_usage()), (0, 0, 0));
    cache.validate().expect("whole");
}

/// A process with little address space: nothing is reserved for a large capacity, and a table that cannot grow makes entries
/// that no lookup finds, instead of an end of the process.
#[test]
#[cfg(target_os = "linux")]
fn br_116_little_address_space() {
    const LIMITED: &str = "HYPERCLOCK_TEST_LIMITED";
    if std::env::var_os(LIMITED).is_some() {
        for capacity in [64 << 20, 64 << 30] {
            let cache = BlockCache::new(capacity);
            let view = cache.view::<Unit>(Role::MISC);
            fill(&view, 0..200_000);
            assert_eq!(cache.occupancy(), 200_000);
            cache.validate().expect("whole");
        }
        return;
    }
    let exe = std::env::current_exe().expect("a path");
    let status = std::process::Command::new("sh")
        .args(["-c", "ulimit -v 524288 && exec \"$0\" --exact br_116_little_address_space --test-threads 1"])
        .arg(exe)
        .env(LIMITED, "1")
        .stdout(std::process::Stdio::null())
        .status()
        .expect("a shell");
    assert!(status.success());
}
