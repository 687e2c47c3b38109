//! One open database serves many threads, and several databases share one cache.

mod support;

use std::thread;

use hyperclock_sst::{Db, DbOptions, ReadOptions};
use support::{cache, fixture, fixtures, scan};

#[test]
fn a_database_is_send_and_sync() {
    fn check<T: Send + Sync>() {}
    check::<Db>();
    check::<DbOptions>();
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
