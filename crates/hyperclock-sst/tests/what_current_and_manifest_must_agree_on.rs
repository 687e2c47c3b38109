//! `CURRENT` names a MANIFEST, the MANIFEST names the tables and their sizes; where they disagree
//! the error names both.

mod support;

use std::fs::{self, OpenOptions};
use std::io::Write;
use std::path::Path;

use hyperclock_sst::{DEFAULT_COLUMN_FAMILY, Error};
use support::{copy, files, fixture, log_record, open, scan};

fn message(directory: &Path) -> String {
    match open(directory) {
        Ok(_) => panic!("opened"),
        Err(error) => {
            assert!(matches!(error, Error::Corruption { .. } | Error::Missing { .. }), "{error:?}");
            error.to_string()
        }
    }
}

fn append_to_manifest(directory: &Path, bytes: &[u8]) {
    let manifest = directory.join(fs::read_to_string(directory.join("CURRENT")).unwrap().trim());
    OpenOptions::new().append(true).open(manifest).unwrap().write_all(bytes).unwrap();
}

#[test]
fn current_ends_with_a_newline_and_holds_a_name() {
    let dir = copy(&fixture("v783_default").path);
    let current = dir.path().join("CURRENT");
    let whole = fs::read(&current).unwrap();
    fs::write(&current, &whole[..whole.len() - 1]).unwrap();
    assert!(message(dir.path()).contains("newline"));
    for bytes in [&b"\n"[..], b"MANIFEST-\n", b"../MANIFEST-000005\n", b"MANIFEST-5\n\n", b"\xff\n"] {
        fs::write(&current, bytes).unwrap();
        assert!(message(dir.path()).contains("name of a MANIFEST"));
    }
    fs::write(&current, vec![b'x'; 1 << 20]).unwrap();
    assert!(message(dir.path()).contains("CURRENT"));
    fs::write(&current, b"MANIFEST-999999\n").unwrap();
    let missing = message(dir.path());
    assert!(missing.contains("MANIFEST-999999: named by CURRENT, does not exist"), "{missing}");
    fs::remove_file(&current).unwrap();
    assert!(open(dir.path()).err().unwrap().is_not_found());
}

#[test]
fn a_table_has_the_size_that_the_manifest_says() {
    let dir = copy(&fixture("v783_default").path);
    let table = files(dir.path(), "sst").pop().unwrap();
    let size = fs::metadata(&table).unwrap().len();
    OpenOptions::new().append(true).open(&table).unwrap().write_all(b"x").unwrap();
    let message = message(dir.path());
    assert!(message.contains(table.file_name().unwrap().to_str().unwrap()), "{message}");
    assert!(message.contains("MANIFEST-"), "{message}");
    assert!(message.contains(&size.to_string()), "{message}");
    assert!(message.contains(&(size + 1).to_string()), "{message}");
}

#[test]
fn a_table_has_the_id_that_the_manifest_says() {
    let dir = copy(&fixture("v783_tiny_fv5").path);
    let current = fs::read_to_string(dir.path().join("CURRENT")).unwrap();
    let manifest = dir.path().join(current.trim());
    let bytes = fs::read(&manifest).unwrap();
    let mut rewritten = Vec::new();
    let mut rest = bytes.as_slice();
    while let [_, _, _, _, low, high, _, tail @ ..] = rest {
        let (payload, after) = tail.split_at(usize::from(u16::from_le_bytes([*low, *high])));
        let mut payload = payload.to_vec();
        // Custom field 12 of 16 bytes, before the end of the custom fields.
        if let Some(at) = payload.windows(19).position(|w| w.starts_with(&[12, 16]) && w[18] == 1) {
            payload[at + 2] ^= 1;
        }
        rewritten.extend(log_record(1, &payload));
        rest = after;
    }
    assert_ne!(rewritten, bytes);
    fs::write(&manifest, rewritten).unwrap();
    let message = message(dir.path());
    assert!(message.contains("another one"), "{message}");
}

#[test]
fn a_torn_last_record_is_ignored() {
    let fixture = fixture("v783_default");
    let dir = copy(&fixture.path);
    let record = log_record(1, b"\x04\xff\x7f");
    append_to_manifest(dir.path(), &record[..record.len() - 1]);
    let db = open(dir.path()).unwrap();
    assert!(scan(&db, DEFAULT_COLUMN_FAMILY).unwrap() == fixture.families[0].1);
}

#[test]
fn records_that_contradict_the_state_are_damage() {
    for (record, expected) in [
        // Deletes file 99 from level 3.
        (&b"\x06\x03\x63"[..], "file 99 is deleted from level 3, where it is not"),
        // For column family 7.
        (b"\xc8\x01\x07\x02\x09", "column family 7 does not exist"),
        // A new file whose smallest key is shorter than a trailer.
        (b"\x67\x00\x09\x05\x01x", "internal key has at least 8"),
        // Ends in the middle of a length.
        (b"\x01\xff", "comparator is cut short"),
    ] {
        let dir = copy(&fixture("v783_default").path);
        append_to_manifest(dir.path(), &log_record(1, record));
        let message = message(dir.path());
        assert!(message.contains(expected), "{message}");
    }
}

#[test]
fn what_would_make_any_answer_wrong_is_refused() {
    let trailer = b"\x01\x05\0\0\0\0\0\0";
    let key = [&b"\x09a"[..], trailer].concat();
    let file = |custom: &[u8]| [&b"\x67\x06\x63\x64"[..], &key, &key, b"\x05\x05", custom, b"\x01"].concat();
    let reverse = b"\x01\x21rocksdb.ReverseBytewiseComparator";
    for (record, expected) in [
        (file(b"\x41\x01\x01"), "path id 1"),
        (file(b"\x10\x01\x00"), "timestamps"),
        (file(b"\x42\x01\x00"), "custom field 66"),
        (b"\x63\x00".to_vec(), "tag 99"),
        (b"\xc8\x01\x01\xc9\x01\x01n\x01\x04mine".to_vec(), "comparator mine"),
    ] {
        let dir = copy(&fixture("v783_default").path);
        append_to_manifest(dir.path(), &log_record(1, &record));
        let error = open(dir.path()).err().unwrap();
        assert!(matches!(error, Error::Unsupported { .. }), "{error}");
        assert!(error.to_string().contains(expected), "{error}");
    }
    let dir = copy(&fixture("v783_default").path);
    append_to_manifest(dir.path(), &log_record(1, reverse));
    assert!(message(dir.path()).contains("changes its comparator"));
}
