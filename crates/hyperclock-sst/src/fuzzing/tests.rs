//! Runs every fuzz function over seeds and simple mutations of them, and writes the seeds out for the fuzzer:
//!
//! ```text
//! HYPERCLOCK_FUZZ_CORPUS=fuzz/corpus cargo test -p hyperclock-sst --lib -- fuzzing
//! ```

use std::fs;
use std::path::{Path, PathBuf};

use super::*;
use crate::filter::xxph3::xxph3_64;
use crate::footer::BlockHandle;
use crate::key::{InternalKey, ValueType};
use crate::writer::block_builder::BlockBuilder;
use crate::writer::bloom_builder::BloomBuilder;
use crate::writer::index_builder::IndexBuilder;
use crate::writer::properties_builder::PropertiesBuilder;

/// One input of a target.
struct Seed {
    name: String,
    bytes: Vec<u8>,
}

fn seed(name: impl Into<String>, bytes: Vec<u8>) -> Seed {
    Seed { name: name.into(), bytes }
}

/// Files of the fixtures whose database and file names begin so.
fn fixture_files(database: &str, file: &str) -> Vec<(String, Vec<u8>)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures");
    let entries = |directory: &Path| -> Vec<PathBuf> {
        fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path()).collect()
    };
    let mut found = Vec::new();
    for directory in entries(&root) {
        let name = directory.file_name().unwrap().to_str().unwrap().to_owned();
        if !directory.is_dir() || !name.contains(database) {
            continue;
        }
        for path in entries(&directory) {
            if path.file_name().unwrap().to_str().unwrap().contains(file) {
                found.push((name.clone(), fs::read(path).unwrap()));
            }
        }
    }
    found.sort();
    assert!(!found.is_empty());
    found
}

fn check(target: &str, run: fn(&[u8]), seeds: Vec<Seed>) {
    if let Some(corpus) = std::env::var_os("HYPERCLOCK_FUZZ_CORPUS") {
        let directory = Path::new(&corpus).join(target);
        fs::create_dir_all(&directory).unwrap();
        for seed in &seeds {
            fs::write(directory.join(format!("seed-{}", seed.name)), &seed.bytes).unwrap();
        }
    }
    for mut seed in seeds {
        run(&seed.bytes);
        for at in 0..seed.bytes.len().min(300) {
            let old = seed.bytes[at];
            for byte in [old ^ 1, old ^ 0x80, 0, 0xff] {
                seed.bytes[at] = byte;
                run(&seed.bytes);
            }
            seed.bytes[at] = old;
            run(&seed.bytes[..at]);
        }
    }
}

/// A data block with a restart every `interval` entries.
fn data_block(interval: u32) -> Vec<u8> {
    let mut block = BlockBuilder::new(interval);
    for n in 0..12u64 {
        let key =
            InternalKey { user_key: format!("key{:03}", n * n).as_bytes(), sequence: 9, value_type: ValueType::Value }
                .encode();
        block.add(&key, &vec![b'v'; n as usize]);
    }
    block.finish().to_vec()
}

#[test]
fn blocks() {
    let seeds = [1, 2, 16].map(|interval| seed(format!("{interval}"), data_block(interval)));
    check("block", block, seeds.into());
}

#[test]
fn indexes() {
    let mut seeds = Vec::new();
    for (name, next) in [("user_keys", b"cherry"), ("internal_keys", b"banana")] {
        let mut builder = IndexBuilder::new(true);
        builder.add(b"apple", 0x501, Some(b"banana"), BlockHandle { offset: 0, size: 91 });
        builder.add(b"banana", 0x401, Some(next), BlockHandle { offset: 96, size: 80 });
        builder.add(b"cherry", 0x301, None, BlockHandle { offset: 181, size: 4000 });
        let form = 2 | u8::from(builder.keys_are_user_keys());
        seeds.push(seed(name, [&[form][..], &builder.finish()].concat()));
    }
    // Plain handles, then handles with the first key behind them.
    for form in [0, 1, 4] {
        let mut builder = BlockBuilder::new(2);
        for (key, offset) in [("apple", 0u8), ("apricot", 20), ("banana", 40)] {
            let mut value = vec![offset, 15];
            if form & 4 != 0 {
                value.push(key.len() as u8);
                value.extend_from_slice(key.as_bytes());
            }
            builder.add(key.as_bytes(), &value);
        }
        seeds.push(seed(format!("form{form}"), [&[form][..], builder.finish()].concat()));
    }
    check("index", index, seeds);
}

#[test]
fn filters() {
    let mut bloom = BloomBuilder::new(10.0);
    let mut legacy = vec![0xa5; 128];
    for n in 0..20u8 {
        bloom.add(xxph3_64(&[n, 1, 2, 3]));
    }
    legacy.extend_from_slice(&[6, 2, 0, 0, 0]);
    let key = [4, 7, 1, 2, 3];
    let seeds = vec![seed("bloom", [&key[..], &bloom.finish()].concat()), seed("legacy", [&key[..], &legacy].concat())];
    check("filter", filter, seeds);
}

#[test]
fn property_blocks() {
    let mut builder = PropertiesBuilder::default();
    builder
        .bytes("rocksdb.block.based.table.index.type", &[2, 0, 0, 0])
        .bytes("rocksdb.external_sst_file.global_seqno", &[9, 0, 0, 0, 0, 0, 0, 0])
        .text("rocksdb.block.based.table.whole.key.filtering", "1")
        .text("rocksdb.creating.session.identity", "RQHYZN4YMTGFI6GWRNXW")
        .number("rocksdb.original.file.number", 9)
        .number("rocksdb.num.entries", 1 << 40);
    check("properties", properties, vec![seed("some", builder.finish())]);
}

#[test]
fn footers() {
    let seeds =
        fixture_files("", ".sst").into_iter().map(|(name, table)| seed(name, table[table.len() - 53..].to_vec()));
    check("footer", footer, seeds.collect());
}

#[test]
fn logs() {
    let seeds = fixture_files("", "MANIFEST-").into_iter().map(|(name, manifest)| seed(name, manifest));
    check("log", log, seeds.collect());
}

#[test]
fn manifests() {
    let mut seeds = Vec::new();
    for (name, bytes) in fixture_files("", "MANIFEST-") {
        let file = Arc::new(Bytes(bytes));
        let mut log = LogReader::new(file, Path::new("MANIFEST"), 1, Strictness::Manifest).unwrap();
        let mut edits = Vec::new();
        while let Some(record) = log.next_record().unwrap() {
            if let Ok(length) = u8::try_from(record.payload.len()) {
                edits.push(length);
                edits.extend_from_slice(record.payload);
            }
        }
        seeds.push(seed(name, edits));
    }
    check("manifest", manifest, seeds);
}

/// Tables without a checksum in force: the first byte of the footer is its type.
fn unchecked(mut table: Vec<u8>) -> Vec<u8> {
    let footer = table.len() - 53;
    table[footer] = 0;
    table
}

#[test]
fn tables() {
    let seeds = fixture_files("tiny", ".sst").into_iter().map(|(name, bytes)| seed(name, unchecked(bytes)));
    check("table", table, seeds.collect());
}
