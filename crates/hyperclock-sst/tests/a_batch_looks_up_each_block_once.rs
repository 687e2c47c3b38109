//! `multi_get` takes one reference to a block for all the keys that lie in it.

mod support;

use std::sync::Barrier;
use std::thread;

use hyperclock::BlockCache;
use support::cache;
use support::filled::{filled, options};

fn lookups(cache: &BlockCache) -> u64 {
    let total = cache.stats().total();
    total.hits + total.misses
}

#[test]
fn br_100_a_batch_in_one_block() {
    let filled = filled(&options(200, 64 << 10));
    let cache = cache(8 << 20);
    let db = filled.open(&cache);
    let keys: Vec<&[u8]> = filled.rows.iter().map(|(key, _)| key.as_slice()).collect();
    let blocks: u64 = db.stats().unwrap().families[0].levels[0]
        .blocks
        .iter()
        .filter(|(kind, _)| !kind.is_read_at_open())
        .map(|(_, count)| count)
        .sum();
    assert_eq!(blocks, 3, "data, index, filter");
    db.multi_get(0, &keys).unwrap();

    let threads = 8;
    let before = lookups(&cache);
    let barrier = Barrier::new(threads);
    let results: Vec<_> = thread::scope(|scope| {
        let batch = || {
            barrier.wait();
            db.multi_get(0, &keys).unwrap()
        };
        let handles: Vec<_> = (0..threads).map(|_| scope.spawn(batch)).collect();
        handles.into_iter().map(|handle| handle.join().unwrap()).collect()
    });
    assert!(lookups(&cache) - before <= threads as u64 * (blocks + 1));

    let mut references = 0;
    cache.for_each(|entry| references += entry.references);
    assert_eq!(references, threads as u64, "one a batch");
    let pinned = cache.pinned_usage();
    assert!(pinned > 0);
    thread::scope(|scope| {
        for batch in results {
            let rows = &filled.rows;
            let cache = &cache;
            scope.spawn(move || {
                for (found, (_, value)) in batch.into_iter().zip(rows) {
                    assert_eq!(cache.pinned_usage(), pinned);
                    assert_eq!(found.unwrap().as_deref(), Some(value.as_slice()));
                }
            });
        }
    });
    assert_eq!(cache.pinned_usage(), 0);
}

#[test]
fn br_024_a_batch_that_begins_with_an_absent_key() {
    let filled = filled(&options(6, 64 << 10));
    let cache = cache(1 << 20);
    let db = filled.open(&cache);
    let absent = |row: usize| [filled.rows[row].0.as_slice(), b"x"].concat();
    let (first_absent, second_absent) = (absent(0), absent(2));
    let present = |row: usize| filled.rows[row].0.as_slice();
    let batch = [&first_absent, present(1), &second_absent, present(3), present(5)];
    let results: Vec<_> = db.multi_get(0, &batch).unwrap().into_iter().map(Result::unwrap).collect();

    let pinned = cache.pinned_usage();
    let mut entries = Vec::new();
    cache.for_each(|entry| entries.push(entry));
    assert_eq!(entries.iter().map(|entry| entry.references).sum::<u64>(), 1);
    for entry in entries {
        assert!(cache.erase(&entry.key));
    }
    assert_eq!(cache.pinned_usage(), pinned, "an erased block is charged while it is held");
    let values: Vec<_> = results.iter().map(|value| value.as_deref()).collect();
    let expected = |row: usize| Some(filled.rows[row].1.as_slice());
    assert_eq!(values, [None, expected(1), None, expected(3), expected(5)]);
    drop(results);
    assert_eq!((cache.pinned_usage(), cache.usage()), (0, 0));
}
