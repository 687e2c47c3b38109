//! One open database serves many threads, and several databases share one cache.

mod support;

use std::sync::Barrier;
use std::thread;

use hyperclock_sst::{Db, DbIter, DbOptions, PinnedSlice, ReadOptions};
use support::{cache, fixture, fixtures, scan};

#[test]
fn a_database_is_send_and_sync() {
    fn check<T: Send + Sync>() {}
    check::<Db>();
    check::<DbOptions>();
    check::<DbIter<'_>>();
    check::<PinnedSlice>();
}

#[test]
fn threads_read_through_one_instance() {
    let fixture = fixture("v783_levels");
    // Far too small for the database, so that blocks come and go.
    let db = Db::open_read_only(&fixture.path, &DbOptions::new(cache(64 << 10))).unwrap();
    let rows = &fixture.families[0].1;
    thread::scope(|scope| {
        for first in 0..4 {
            let db = &db;
            scope.spawn(move || {
                for (key, value) in rows.iter().skip(first).step_by(3) {
                    assert_eq!(db.get(0, key).unwrap().as_deref(), Some(value.as_slice()));
                }
                let mut iter = db.iter(0, &ReadOptions::default()).unwrap();
                iter.seek_to_last().unwrap();
                for (key, value) in rows.iter().rev() {
                    assert_eq!((iter.key(), iter.value()), (key.as_slice(), value.as_slice()));
                    iter.prev().unwrap();
                }
                assert!(!iter.valid());
            });
        }
    });
}

#[test]
fn br_105_databases_in_one_cache_see_their_own_blocks() {
    let fixtures = fixtures();
    let cache = cache(64 << 20);
    let databases: Vec<Db> = fixtures
        .iter()
        .map(|fixture| Db::open_read_only(&fixture.path, &DbOptions::new(cache.clone())).unwrap())
        .collect();
    for number in 0..300 {
        for (fixture, db) in fixtures.iter().zip(&databases) {
            for (name, rows) in &fixture.families {
                let Some((key, value)) = rows.get(number * 5) else { continue };
                let id = db.column_family(name).unwrap().id;
                let found = db.get(id, key).unwrap();
                assert_eq!(found.as_deref(), Some(value.as_slice()), "{} {key:?}", fixture.name);
            }
        }
    }
    for (fixture, db) in fixtures.iter().zip(&databases) {
        for (name, rows) in &fixture.families {
            let id = db.column_family(name).unwrap().id;
            assert!(scan(db, id).unwrap() == *rows, "{}", fixture.name);
        }
    }
}

#[test]
fn br_098_a_block_that_many_threads_miss_is_read_once() {
    let fixture = fixture("v783_fv4_lz4_xxhash64_idx8");
    let (key, value) = &fixture.families[0].1[100];
    for _ in 0..20 {
        let db = Db::open_read_only(&fixture.path, &DbOptions::new(cache(8 << 20))).unwrap();
        let barrier = Barrier::new(16);
        thread::scope(|scope| {
            for _ in 0..16 {
                scope.spawn(|| {
                    barrier.wait();
                    assert_eq!(db.get(0, key).unwrap().as_deref(), Some(value.as_slice()));
                });
            }
        });
        assert_eq!(db.counters().reads_after_open().blocks, 3, "filter, index, data");
    }
}

#[test]
fn br_027_iterators_pin_one_block_a_source_however_far_they_go() {
    let fixture = fixture("v783_two_level_index");
    let rows = &fixture.families[0].1;
    let cache = cache(64 << 20);
    let db = Db::open_read_only(&fixture.path, &DbOptions::new(cache.clone())).unwrap();
    let mut iterators: Vec<_> = (0..100).map(|_| db.iter(0, &ReadOptions::default()).unwrap()).collect();
    let references = || {
        let mut sum = 0;
        cache.for_each(|entry| sum += entry.references);
        sum
    };
    for (number, iter) in iterators.iter_mut().enumerate() {
        iter.seek(&rows[number * 31 % rows.len()].0).unwrap();
    }
    // Top level of the index, partition, data block.
    assert!(references() <= 300, "{}", references());
    for distance in [1, 10, 1000] {
        for iter in &mut iterators {
            for _ in 0..distance {
                if distance % 10 == 0 { iter.next() } else { iter.prev() }.unwrap();
            }
        }
        assert!(references() <= 400, "{} after {distance} steps", references());
    }
    drop(iterators);
    assert_eq!((references(), cache.pinned_usage()), (0, 0));
}

#[test]
fn a_value_outlives_its_database_and_its_cache() {
    let fixture = fixture("v783_default");
    let (key, value) = &fixture.families[0].1[0];
    let db = Db::open_read_only(&fixture.path, &DbOptions::new(cache(1 << 20))).unwrap();
    let found = db.get(0, key).unwrap().unwrap();
    let mut iter = db.iter(0, &ReadOptions::default()).unwrap();
    iter.seek(key).unwrap();
    let shown = iter.pinned_value().unwrap();
    iter.next().unwrap();
    drop(iter);
    drop(db);
    assert_eq!(&*found, value.as_slice());
    assert_eq!(&*shown, value.as_slice());
}
