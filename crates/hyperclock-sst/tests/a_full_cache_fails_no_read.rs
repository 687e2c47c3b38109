//! A strict cache that pins have filled has no room for a block; reads do without it.

mod support;

use hyperclock::{BlockCache, CacheKey, CacheValue, Handle, Role};
use hyperclock_sst::{Db, DbOptions, ReadOptions};
use support::filled::{filled, options};
use support::{scan, scan_backward};

struct Ballast(usize);

impl CacheValue for Ballast {
    fn charge(&self) -> usize {
        self.0
    }
}

fn strict(capacity: usize) -> BlockCache {
    BlockCache::builder().capacity(capacity).strict_capacity(true).shards(1).build().unwrap()
}

/// Pins `bytes` of the cache until the handles are dropped.
fn pin(cache: &BlockCache, bytes: usize) -> Vec<Handle<Ballast>> {
    let view = cache.view::<Ballast>(Role::MISC);
    let charge = 4096 - cache.metadata_charge();
    (0..bytes / 4096).map(|n| view.insert(CacheKey::new(1, n as u64), Ballast(charge)).ok().unwrap()).collect()
}

#[test]
fn br_007_single_and_batch_reads_obey_the_strict_limit_alike() {
    let filled = filled(&options(400, 4096));
    let cache = strict(64 << 10);
    let pins = pin(&cache, 60 << 10);
    let db = filled.open(&cache);
    let chosen: Vec<_> = filled.rows.iter().step_by(40).take(8).collect();
    let keys: Vec<&[u8]> = chosen.iter().map(|(key, _)| key.as_slice()).collect();

    let mut held = Vec::new();
    for (key, value) in &chosen {
        let found = db.get(0, key).unwrap();
        assert_eq!(found.as_deref(), Some(value.as_slice()));
        assert!(cache.usage() <= cache.capacity());
        held.push(found);
    }
    let batch = db.multi_get(0, &keys).unwrap();
    assert!(cache.usage() <= cache.capacity());
    for (found, (_, value)) in batch.into_iter().zip(&chosen) {
        assert_eq!(found.unwrap().as_deref(), Some(value.as_slice()));
    }
    drop((held, pins));
    assert_eq!(cache.pinned_usage(), 0);
    cache.validate().unwrap();
}

#[test]
fn br_008_a_cache_full_of_pins_shortens_no_result() {
    let filled = filled(&options(3000, 4096));
    let cache = strict(1 << 20);
    let pins = pin(&cache, 1 << 20);
    let db = filled.open(&cache);
    let check = || {
        for (key, value) in filled.rows.iter().step_by(97) {
            assert_eq!(db.get(0, key).unwrap().as_deref(), Some(value.as_slice()));
            assert!(db.get(0, &[key, &b"x"[..]].concat()).unwrap().is_none());
        }
        assert!(scan(&db, 0).unwrap() == filled.rows);
        assert!(scan_backward(&db, 0).unwrap().into_iter().rev().eq(filled.rows.iter().cloned()));
        assert!(cache.usage() <= cache.capacity());
    };
    check();
    assert!(cache.stats().total().uncharged > 0);
    drop(pins);
    check();
    let filled_by_reads = cache.occupancy();
    assert!(filled_by_reads > 0);
    cache.validate().unwrap();
}

#[test]
fn br_109_partitions_pinned_cached_and_read_directly_are_the_same() {
    let fixture = support::fixture("v783_two_level_index");
    let rows = &fixture.families[0].1;
    let cache = strict(64 << 10);
    let db = Db::open_read_only(&fixture.path, &DbOptions::new(cache.clone())).unwrap();
    // Iterators pin the partitions that they stand in, others are cached, and when ballast has
    // taken the rest of the cache, the remaining ones are read directly.
    let mut standing = Vec::new();
    for part in 0..3 {
        let mut iter = db.iter(0, &ReadOptions::default()).unwrap();
        iter.seek(&rows[part * rows.len() / 6].0).unwrap();
        standing.push(iter);
    }
    for part in 3..5 {
        assert!(db.get(0, &rows[part * rows.len() / 6].0).unwrap().is_some());
    }
    let room = cache.capacity().saturating_sub(cache.pinned_usage());
    let pins = pin(&cache, room.saturating_sub(12 << 10));
    for number in 0..2000 {
        let (key, value) = &rows[number * 7919 % rows.len()];
        assert_eq!(db.get(0, key).unwrap().as_deref(), Some(value.as_slice()));
    }
    assert!(scan(&db, 0).unwrap() == *rows);
    for (part, iter) in standing.iter_mut().enumerate() {
        let at = part * rows.len() / 6;
        for (key, value) in &rows[at..] {
            assert_eq!((iter.key(), iter.value()), (key.as_slice(), value.as_slice()));
            iter.next().unwrap();
        }
        assert!(!iter.valid());
    }
    drop((standing, pins));
    assert_eq!(cache.pinned_usage(), 0);
}
