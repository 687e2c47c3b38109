//! Runs every fuzz function over seeds and simple mutations of them, and writes the seeds out for the fuzzer:
//!
//! ```text
//! HYPERCLOCK_FUZZ_CORPUS=fuzz/corpus cargo test -p hyperclock-sst --lib -- fuzzing
//! ```

use std::fs;
use std::path::{Path, PathBuf};

use super::*;
use crate::filter::xxph3::xxph3_64;
use crate::writer::seeds;

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
    let entries = |directory: &Path| -> Vec<PathBuf> { fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path()).collect() };
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

#[test]
fn blocks() {
    check("block", block, [1, 2, 16].map(|interval| seed(format!("{interval}"), seeds::data_block(interval))).into());
}
