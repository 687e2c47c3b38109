//! A database whose MANIFEST or log was cut is opened with what is left, as RocksDB does, but never without a warning.

mod support;

use std::fs::{self, OpenOptions};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use hyperclock_sst::{DEFAULT_COLUMN_FAMILY, Error, Warning, WarningKind};
use support::{copy, files, fixture, fixtures, log_record, open, scan};

fn manifest(directory: &Path) -> PathBuf {
    directory.join(fs::read_to_string(directory.join("CURRENT")).unwrap().trim())
}

fn kinds(warnings: &[Warning]) -> Vec<WarningKind> {
    warnings.iter().map(|warning| warning.kind).collect()
}

/// Makes a file larger by a hole, which takes no room on the disk.
fn extend(path: &Path, size: u64) {
    OpenOptions::new().write(true).open(path).unwrap().set_len(size).unwrap();
}

/// Lengths at the ends of records, and around them.
fn cuts(manifest: &[u8]) -> Vec<usize> {
    let mut cuts = Vec::new();
    let mut at = 0;
    while at < manifest.len() {
        let next = at + 7 + usize::from(u16::from_le_bytes([manifest[at + 4], manifest[at + 5]]));
        cuts.extend([at, at + 1, at + 6, at + 7, at.midpoint(next), next - 1]);
        at = next;
    }
    cuts
}

#[test]
fn a_whole_database_has_no_warnings() {
    for fixture in fixtures() {
        if let Ok(db) = open(&fixture.path) {
            assert_eq!(db.warnings(), [], "{}", fixture.name);
        }
    }
}

#[test]
fn a_manifest_cut_anywhere_is_damage_or_told_of() {
    for name in ["v783_default", "v1190_default", "v783_column_families"] {
        let fixture = fixture(name);
        let dir = copy(&fixture.path);
        let path = manifest(dir.path());
        let whole = fs::read(&path).unwrap();
        let (mut torn, mut between) = (0, 0);
        for end in cuts(&whole) {
            fs::write(&path, &whole[..end]).unwrap();
            let Ok(db) = open(dir.path()) else { continue };
            let kinds = kinds(db.warnings());
            if kinds.contains(&WarningKind::IncompleteManifest) {
                torn += 1;
                let warning = &db.warnings()[0];
                assert!(warning.file == path && warning.offset.is_some_and(|offset| offset < end as u64));
                assert!(warning.to_string().contains("at offset "), "{warning}");
            } else {
                between += 1;
                let rows = scan(&db, DEFAULT_COLUMN_FAMILY);
                let complete = rows.is_ok_and(|rows| rows == fixture.families[0].1);
                assert!(complete || kinds == [WarningKind::UnknownTables], "{name} cut at {end}: {kinds:?}");
            }
        }
        assert!(torn > 10 && between > 0, "{name}: {torn}, {between}");
    }
}

#[test]
fn tables_that_the_manifest_never_named_are_told_of() {
    let dir = copy(&fixture("v783_default").path);
    let table = files(dir.path(), "sst").pop().unwrap();
    for number in [3, 900_000, 900_001, 900_002, 900_003] {
        fs::copy(&table, dir.path().join(format!("{number:06}.sst"))).unwrap();
    }
    fs::write(dir.path().join("000901.sst.dbtmp"), b"").unwrap();
    let db = open(dir.path()).unwrap();
    assert_eq!(kinds(db.warnings()), [WarningKind::UnknownTables]);
    let warning = db.warnings()[0].to_string();
    for part in ["MANIFEST-", "000003.sst", "900000.sst", "2 more", "4 of them newer"] {
        assert!(warning.contains(part), "`{part}` is not in: {warning}");
    }
}

#[test]
fn a_log_of_which_nothing_can_be_read_is_told_of() {
    let dir = copy(&fixture("v783_default").path);
    let log = files(dir.path(), "log").pop().unwrap();
    let record = log_record(1, b"\x09\0\0\0\0\0\0\0\x01\0\0\0\x01\x01k\x01v");
    let mut damaged = record.clone();
    damaged[1] ^= 1;
    for (bytes, told) in [
        (damaged.clone(), true),
        ([damaged.clone(), record.clone()].concat(), true),
        (record[..record.len() - 1].to_vec(), true),
        (record[..5].to_vec(), true),
        ([log_record(9, &[7, 0, 0, 0]), damaged].concat(), true),
        (log_record(9, &[7, 0, 0, 0]), false),
        (vec![0; 5], false),
        (vec![0; 100_000], false),
        (Vec::new(), false),
    ] {
        fs::write(&log, &bytes).unwrap();
        let db = open(dir.path()).unwrap();
        let expected: &[WarningKind] = if told { &[WarningKind::UnreadableLog] } else { &[] };
        assert_eq!(kinds(db.warnings()), expected, "{bytes:?}");
        assert!(db.warnings().iter().all(|warning| warning.file == log && warning.what.contains("bytes")));
    }
}

#[test]
fn zeros_without_end_end_a_log() {
    let fixture = fixture("v783_default");
    let dir = copy(&fixture.path);
    let log = files(dir.path(), "log").pop().unwrap();
    let begun = Instant::now();
    extend(&manifest(dir.path()), 1 << 42);
    extend(&log, 1 << 42);
    let db = open(dir.path()).unwrap();
    assert!(begun.elapsed() < Duration::from_secs(20));
    assert_eq!(kinds(db.warnings()), [WarningKind::IncompleteManifest, WarningKind::UnreadableLog]);
    assert!(scan(&db, DEFAULT_COLUMN_FAMILY).unwrap() == fixture.families[0].1);
}

#[test]
#[cfg(unix)]
fn a_fifo_in_the_place_of_a_file_is_refused_at_once() {
    let fixture = fixture("v783_default");
    for name in ["CURRENT", "MANIFEST-", "OPTIONS-", ".log", ".sst"] {
        let dir = copy(&fixture.path);
        fs::write(dir.path().join("OPTIONS-000900"), "[DBOptions]\n").unwrap();
        let mut paths = fs::read_dir(dir.path()).unwrap().map(|entry| entry.unwrap().path());
        let path = paths.find(|path| path.to_str().unwrap().contains(name)).unwrap();
        fs::remove_file(&path).unwrap();
        assert!(std::process::Command::new("mkfifo").arg(&path).status().unwrap().success());
        let error = open(dir.path()).err().unwrap();
        assert!(matches!(error, Error::Io { .. }), "{error}");
        assert_eq!(error.path(), Some(path.as_path()));
        assert!(error.to_string().contains("is not a regular file"), "{error}");
    }
    // Reads do not depend on the identity.
    let dir = copy(&fixture.path);
    let _ = fs::remove_file(dir.path().join("IDENTITY"));
    assert!(std::process::Command::new("mkfifo").arg(dir.path().join("IDENTITY")).status().unwrap().success());
    let db = open(dir.path()).unwrap();
    assert!(db.warnings().iter().all(|warning| warning.kind == WarningKind::UnreadableIdentity));
}

#[test]
fn a_table_that_is_cut_while_it_is_open_is_damage() {
    let dir = copy(&fixture("v783_default").path);
    let db = open(dir.path()).unwrap();
    for table in files(dir.path(), "sst") {
        OpenOptions::new().write(true).open(table).unwrap().set_len(10).unwrap();
    }
    let error = scan(&db, DEFAULT_COLUMN_FAMILY).unwrap_err();
    assert!(matches!(error, Error::Corruption { .. }), "{error}");
    assert!(error.to_string().contains("bytes here: it was cut after it was opened"), "{error}");
}
