//! `fill_cache = false` is honoured by everything that a read touches: index and filter
//! partitions and dictionaries too. What is in the cache already is used.

mod support;

use hyperclock::BlockCache;
use hyperclock_sst::{Db, DbOptions, ReadOptions};
use support::{Fixture, cache, fixtures};

fn no_fill() -> ReadOptions {
    ReadOptions::new().fill_cache(false)
}

fn open(fixture: &Fixture, cache: &BlockCache) -> Db {
    Db::open_read_only(&fixture.path, &DbOptions::new(cache.clone())).unwrap()
}

#[test]
fn br_095_no_insert_by_scan_seek_get_and_batch() {
    for fixture in fixtures() {
        let cache = cache(8 << 20);
        let db = open(&fixture, &cache);
        for (name, rows) in &fixture.families {
            let id = db.column_family(name).unwrap().id;
            let mut iter = db.iter(id, &no_fill()).unwrap();
            iter.seek_to_first().unwrap();
            for (key, value) in rows {
                assert_eq!((iter.key(), iter.value()), (key.as_slice(), value.as_slice()));
                iter.next().unwrap();
            }
            // Dropped half-way.
            iter.seek(&rows[rows.len() / 2].0).unwrap();
            iter.prev().unwrap();
            drop(iter);
            let keys: Vec<&[u8]> = rows.iter().step_by(9).map(|(key, _)| key.as_slice()).collect();
            for key in &keys {
                assert!(db.get_with(id, key, &no_fill()).unwrap().is_some());
            }
            let batch = db.multi_get_with(id, &keys, &no_fill()).unwrap();
            assert!(batch.into_iter().all(|found| found.unwrap().is_some()));
        }
        db.stats().unwrap();
        let total = cache.stats().total();
        assert_eq!((total.inserts, cache.occupancy(), cache.usage()), (0, 0, 0), "{}", fixture.name);
    }
}

#[test]
fn blocks_in_the_cache_are_used() {
    let fixture = support::fixture("v783_partitioned_bloom");
    let cache = cache(8 << 20);
    let db = open(&fixture, &cache);
    support::scan(&db, 0).unwrap();
    let reads = db.counters().reads_after_open();
    let mut iter = db.iter(0, &no_fill()).unwrap();
    iter.seek_to_first().unwrap();
    while iter.valid() {
        iter.next().unwrap();
    }
    assert_eq!(db.counters().reads_after_open(), reads);
}
