//! Databases with chosen files in chosen levels, under a MANIFEST made by hand.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use hyperclock_sst::comparator_by_name;
use hyperclock_sst::writer::{SstInfo, SstWriter, WriterOptions};

use super::log_record;

/// One version of a key; a deletion without a value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Version {
    pub(crate) key: Vec<u8>,
    pub(crate) sequence: u64,
    pub(crate) value: Option<Vec<u8>>,
}

/// The files of a level, each with its versions in the order of internal keys.
pub(crate) type Files = Vec<Vec<Version>>;

fn varint(out: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

fn slice(out: &mut Vec<u8>, bytes: &[u8]) {
    varint(out, bytes.len() as u64);
    out.extend(bytes);
}

/// Writes a database whose default family has `levels`, seen at `last_sequence`.
pub(crate) fn write(directory: &Path, comparator: &str, levels: &[(u32, Files)], last_sequence: u64) {
    let mut edit = Vec::new();
    varint(&mut edit, 1);
    slice(&mut edit, comparator.as_bytes());
    for (tag, value) in [(2, 0), (3, 1000), (4, last_sequence)] {
        varint(&mut edit, tag);
        varint(&mut edit, value);
    }
    let mut number = 10;
    for (level, files) in levels {
        for file in files {
            let info = write_table(directory, comparator, number, file);
            for value in [100, u64::from(*level), number, info.file_size] {
                varint(&mut edit, value);
            }
            slice(&mut edit, &info.smallest_key);
            slice(&mut edit, &info.largest_key);
            varint(&mut edit, info.smallest_sequence);
            varint(&mut edit, info.largest_sequence);
            number += 1;
        }
    }
    fs::write(directory.join("MANIFEST-000005"), log_record(1, &edit)).unwrap();
    fs::write(directory.join("CURRENT"), b"MANIFEST-000005\n").unwrap();
}

fn write_table(directory: &Path, comparator: &str, number: u64, versions: &[Version]) -> SstInfo {
    let options = WriterOptions {
        comparator: Arc::clone(&comparator_by_name(comparator).unwrap()),
        block_size: 96,
        restart_interval: 3,
        file_number: number,
        ..WriterOptions::default()
    };
    let mut table = SstWriter::create(&directory.join(format!("{number:06}.sst")), options).unwrap();
    for Version { key, sequence, value } in versions {
        match value {
            Some(value) => table.put(key, *sequence, value).unwrap(),
            None => table.delete(key, *sequence).unwrap(),
        }
    }
    table.finish().unwrap()
}
