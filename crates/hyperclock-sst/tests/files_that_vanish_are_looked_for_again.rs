//! A running RocksDB deletes files that its MANIFEST no longer names. Whoever opens the database
//! meanwhile starts over; a file that is gone for good is damage.

mod support;

use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use hyperclock_sst::{DEFAULT_COLUMN_FAMILY, Error, FileSystem, RandomAccessFile, StdFileSystem};
use support::{cache, copy, files, fixture, log_record, open, open_with, scan};

/// Tables are missing for the first `failures` opens; each time the MANIFEST grows by a record.
struct Busy {
    manifest: PathBuf,
    failures: AtomicU32,
    attempts: AtomicU32,
}

impl FileSystem for Busy {
    fn open(&self, path: &Path) -> io::Result<Arc<dyn RandomAccessFile>> {
        if path.extension().is_some_and(|extension| extension == "sst") {
            self.attempts.fetch_add(1, Ordering::Relaxed);
            let fails = self.failures.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| left.checked_sub(1));
            if fails.is_ok() {
                let mut manifest = OpenOptions::new().append(true).open(&self.manifest)?;
                manifest.write_all(&log_record(1, b""))?;
                return Err(io::ErrorKind::NotFound.into());
            }
        }
        StdFileSystem.open(path)
    }

    fn list(&self, directory: &Path) -> io::Result<Vec<PathBuf>> {
        StdFileSystem.list(directory)
    }
}

fn busy(directory: &Path, failures: u32) -> Arc<Busy> {
    let current = fs::read_to_string(directory.join("CURRENT")).unwrap();
    Arc::new(Busy {
        manifest: directory.join(current.trim_end()),
        failures: AtomicU32::new(failures),
        attempts: AtomicU32::new(0),
    })
}

#[test]
fn three_times_it_starts_over() {
    let fixture = fixture("v783_default");
    for failures in 0..=3 {
        let dir = copy(&fixture.path);
        let db = open_with(dir.path(), busy(dir.path(), failures), cache(1 << 20)).unwrap();
        assert!(scan(&db, DEFAULT_COLUMN_FAMILY).unwrap() == fixture.families[0].1);
    }
}

#[test]
fn then_it_says_that_the_database_is_in_use() {
    let dir = copy(&fixture("v783_default").path);
    let file_system = busy(dir.path(), u32::MAX);
    let error = open_with(dir.path(), file_system.clone(), cache(1 << 20)).err().unwrap();
    assert!(matches!(error, Error::InUse { .. }), "{error}");
    assert!(error.to_string().contains("in use"), "{error}");
    assert_eq!(file_system.attempts.load(Ordering::Relaxed), 4);
}

#[test]
fn a_missing_table_of_a_database_at_rest_is_damage() {
    let dir = copy(&fixture("v783_default").path);
    let table = files(dir.path(), "sst").pop().unwrap();
    fs::remove_file(&table).unwrap();
    let error = open(dir.path()).err().unwrap();
    assert!(matches!(error, Error::Missing { .. }), "{error}");
    let message = error.to_string();
    assert!(message.contains("named by MANIFEST-") && !message.contains("offset"), "{message}");
    assert!(message.contains(table.file_name().unwrap().to_str().unwrap()), "{message}");
}

#[test]
fn open_files_stay_readable_after_they_are_deleted() {
    let fixture = fixture("v783_default");
    let dir = copy(&fixture.path);
    let db = open(dir.path()).unwrap();
    drop(dir);
    assert!(scan(&db, DEFAULT_COLUMN_FAMILY).unwrap() == fixture.families[0].1);
}
