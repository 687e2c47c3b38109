//! What cannot be read is an error of the keys that need it, with the class of the cause; nothing
//! of it stays behind.

mod support;

use std::io;
use std::sync::Arc;

use hyperclock::BlockCache;
use hyperclock_sst::{Db, Error, ReadOptions};
use support::faulty::FaultyFiles;
use support::filled::{Filled, filled, options};
use support::{cache, open_with, scan};

const KINDS: [io::ErrorKind; 3] =
    [io::ErrorKind::Unsupported, io::ErrorKind::UnexpectedEof, io::ErrorKind::PermissionDenied];

fn open(filled: &Filled, cache: &BlockCache) -> (Db, FaultyFiles) {
    let files = FaultyFiles::default();
    let db = open_with(filled.directory.path(), Arc::new(files.clone()), cache.clone()).unwrap();
    (db, files)
}

/// The class of an error: a file that ends too early is damage.
fn is_io<T>(outcome: &hyperclock_sst::Result<T>, expected: io::ErrorKind) -> bool {
    match outcome {
        Err(Error::Io { source, .. }) => source.kind() == expected,
        Err(Error::Corruption { offset, what, .. }) => {
            expected == io::ErrorKind::UnexpectedEof && *offset < 1 << 20 && what.contains("bytes")
        }
        _ => false,
    }
}

fn erase_everything(cache: &BlockCache) {
    let mut keys = Vec::new();
    cache.for_each(|entry| keys.push(entry.key));
    for key in keys {
        cache.erase(&key);
    }
}

#[test]
fn br_065_an_index_that_cannot_be_read_again() {
    let filled = filled(&options(1000, 4096));
    let cache = cache(1 << 20);
    let (db, files) = open(&filled, &cache);
    let keys: Vec<&[u8]> = filled.rows.iter().step_by(60).take(16).map(|(key, _)| key.as_slice()).collect();
    let mut iter = db.iter(0, &ReadOptions::default()).unwrap();
    iter.seek(keys[3]).unwrap();
    assert!(db.multi_get(0, &keys).unwrap().iter().all(Result::is_ok));
    for kind in KINDS {
        erase_everything(&cache);
        files.fail(0..u64::MAX, kind);
        let batch = db.multi_get(0, &keys).unwrap();
        assert_eq!(batch.len(), keys.len());
        assert!(batch.iter().all(|outcome| is_io(outcome, kind)));
        assert!(is_io(&db.get(0, keys[0]), kind));
        let mut fresh = db.iter(0, &ReadOptions::default()).unwrap();
        assert!(is_io(&fresh.seek(keys[5]), kind));
        for _ in 0..3 {
            assert!(!fresh.valid() && fresh.next().is_ok() && fresh.prev().is_ok());
            assert!(is_io(&fresh.status(), kind));
        }
        files.heal();
        fresh.seek(keys[5]).unwrap();
        assert_eq!((fresh.key(), fresh.status().is_ok()), (keys[5], true));
    }
    assert!(db.multi_get(0, &keys).unwrap().iter().all(Result::is_ok));
}

#[test]
fn br_063_one_unreadable_block_fails_its_keys_with_the_error_of_the_file() {
    let filled = filled(&options(1000, 4096));
    let cache = cache(1 << 20);
    let (db, files) = open(&filled, &cache);
    let keys: Vec<&[u8]> = filled.rows.iter().map(|(key, _)| key.as_slice()).collect();
    for kind in KINDS {
        erase_everything(&cache);
        // The second data block, roughly.
        files.fail(6000..6001, kind);
        let batch = db.multi_get(0, &keys).unwrap();
        let failed: Vec<usize> = (0..keys.len()).filter(|&number| batch[number].is_err()).collect();
        assert!(failed.len() > 10 && failed.len() < 100, "{} keys", failed.len());
        assert!(failed.windows(2).all(|pair| pair[1] == pair[0] + 1));
        for (number, (outcome, (_, value))) in batch.iter().zip(&filled.rows).enumerate() {
            match outcome {
                Ok(found) => assert_eq!(found.as_deref(), Some(value.as_slice())),
                Err(_) => assert!(is_io(outcome, kind)),
            }
            assert_eq!(db.get(0, keys[number]).is_err(), outcome.is_err());
        }
        assert!(is_io(&scan(&db, 0), kind));
        // Beyond the block, iteration goes on.
        let mut iter = db.iter(0, &ReadOptions::default()).unwrap();
        let beyond = failed[failed.len() - 1] + 1;
        iter.seek(keys[beyond]).unwrap();
        assert_eq!(iter.key(), keys[beyond]);
        assert!(is_io(&iter.prev(), kind));
        files.heal();
        assert!(scan(&db, 0).unwrap() == filled.rows);
    }
    assert_eq!(cache.pinned_usage(), 0);
}
