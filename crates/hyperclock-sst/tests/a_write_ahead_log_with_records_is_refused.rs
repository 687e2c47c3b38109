//! Logs are not replayed: one that holds a write which is in no table must not go unnoticed.

mod support;

use std::fs;
use std::path::Path;

use hyperclock_sst::{DEFAULT_COLUMN_FAMILY, Db, DbOptions, Error};
use support::{copy, files, fixture, log_record, open, scan};

/// One put of "k" = "v".
const BATCH: &[u8] = b"\x09\0\0\0\0\0\0\0\x01\0\0\0\x01\x01k\x01v";

fn assert_refused(outcome: hyperclock_sst::Result<Db>, log: &Path) {
    match outcome {
        Err(Error::Unsupported { file, feature }) => {
            assert_eq!(file, log);
            assert!(feature.contains("write-ahead log replay"), "{feature}");
        }
        Err(error) => panic!("{error}"),
        Ok(_) => panic!("opened in spite of {}", log.display()),
    }
}

#[test]
fn a_record_in_a_live_log_is_an_error() {
    let dir = copy(&fixture("v783_default").path);
    let log = files(dir.path(), "log").pop().unwrap();
    for bytes in [
        log_record(1, BATCH),
        [log_record(2, &BATCH[..5]), log_record(4, &BATCH[5..])].concat(),
        [log_record(9, &[7, 0, 0, 0]), log_record(1, BATCH)].concat(),
    ] {
        fs::write(&log, bytes).unwrap();
        assert_refused(open(dir.path()), &log);
    }
}

#[test]
fn a_log_without_a_whole_record_is_empty() {
    let dir = copy(&fixture("v783_default").path);
    let rows = &fixture("v783_default").families[0].1;
    let log = files(dir.path(), "log").pop().unwrap();
    let record = log_record(1, BATCH);
    for bytes in [
        Vec::new(),
        vec![0; 100],
        vec![0; 100_000],
        record[..record.len() - 1].to_vec(),
        record[..5].to_vec(),
        log_record(9, &[7, 0, 0, 0]),
        log_record(130, &[0; 24]),
    ] {
        fs::write(&log, bytes).unwrap();
        let db = open(dir.path()).unwrap();
        assert!(scan(&db, DEFAULT_COLUMN_FAMILY).unwrap() == *rows);
    }
}

#[test]
fn a_log_that_no_family_needs_may_hold_anything() {
    let dir = copy(&fixture("v783_default").path);
    fs::write(dir.path().join("000001.log"), log_record(1, BATCH)).unwrap();
    assert!(open(dir.path()).is_ok());
}

#[test]
fn logs_in_another_directory_are_found() {
    let dir = copy(&fixture("v783_default").path);
    let elsewhere = tempfile::tempdir().unwrap();
    let log = elsewhere.path().join("000900.log");
    fs::write(&log, log_record(1, BATCH)).unwrap();

    let options = DbOptions::new(support::cache(1 << 20)).log_directory(elsewhere.path());
    assert_refused(Db::open_read_only(dir.path(), &options), &log);

    assert!(open(dir.path()).is_ok());
    let text = format!("[DBOptions]\n  wal_dir={}\n", elsewhere.path().display());
    fs::write(dir.path().join("OPTIONS-000999"), text).unwrap();
    assert_refused(open(dir.path()), &log);

    // A directory that is not here may hold anything.
    drop(elsewhere);
    let error = open(dir.path()).unwrap_err();
    assert!(matches!(error, Error::Unsupported { .. }) && error.to_string().contains("wal_dir"), "{error}");
    let options = options.log_directory(dir.path());
    assert!(Db::open_read_only(dir.path(), &options).is_ok());
}
