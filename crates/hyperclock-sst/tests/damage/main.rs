//! Damaged files give an error or the right answer: never a wrong answer, a panic or a hang.
//!
//! Each case changes one byte of one file (8 bit flips, 0x00, 0xFF) or cuts the file short, opens the database with a
//! fresh cache, scans it in both directions and looks up every key and an absent one beside it. What a case may do:
//!
//! * answer everything right, because the byte is not used (padding, a statistic) or does not matter;
//! * give an error that names a file of the database, at open or at the read that meets the damage.
//!
//! The tables are a kilobyte or two. By default a run tries every damage of the smallest tables and a regular sample of
//! the others. The long form tries all of them, and larger tables too (some minutes, best in release mode):
//!
//! ```text
//! HYPERCLOCK_DAMAGE=all cargo test --release -p hyperclock-sst --test damage
//! ```

mod campaign;
mod damage;
mod expected;
mod memory;
mod probe;

use std::path::{Path, PathBuf};

use campaign::{Tally, run};
use damage::{Damage, all};
use expected::Rows;
use hyperclock_sst::CompressionType;
use hyperclock_sst::fill::{FillOptions, Rows as FilledRows, fill};
use memory::MemoryFiles;
use probe::{Outcome, probe};

fn fixtures() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures")
}

fn load(name: &str) -> (MemoryFiles, Rows) {
    let files = MemoryFiles::load(&fixtures().join(name));
    let rows = expected::load(&fixtures().join(format!("{name}.expected.txt")));
    assert_eq!(probe(&files, &rows), Ok(Outcome::Right), "{name} undamaged");
    (files, rows)
}

/// `stride`, or 1 in the long form.
fn sampled(stride: usize) -> usize {
    if std::env::var_os("HYPERCLOCK_DAMAGE").is_some_and(|value| value == "all") { 1 } else { stride }
}

/// Damages `file` of a database whose rows must survive or be refused.
fn damage_file(name: &str, files: MemoryFiles, rows: Rows, file: &str, stride: usize) -> Tally {
    let bytes = files.bytes(file);
    let damages = all(&bytes, sampled(stride));
    let file = file.to_owned();
    run(name, damages, move |damage| probe(&files.with(&file, &damage.apply(&bytes)), &rows))
}

/// Damages the only table of a fixture.
fn damage_table(name: &str, stride: usize) {
    let (files, rows) = load(name);
    let table = files.find(".sst");
    let tally = damage_file(name, files, rows, &table, stride);
    // Unused bytes exist, but most of a table is under a checksum.
    assert!(tally.refused > 4 * tally.right, "{name}: {tally:?}");
}

#[test]
fn a_table_of_format_version_2() {
    damage_table("v783_tiny_fv2", 1);
}

#[test]
fn a_table_of_format_version_5() {
    damage_table("v783_tiny_fv5", 3);
}

#[test]
fn a_table_of_format_version_7() {
    damage_table("v1190_tiny_fv7", 1);
}

#[test]
fn a_table_with_partitioned_index_and_filter() {
    damage_table("v783_tiny_partitioned", 3);
}

#[test]
fn a_table_with_a_two_level_index_and_snappy() {
    damage_table("v783_two_level_index", 301);
}

#[test]
fn a_table_with_a_compression_dictionary() {
    damage_table("v783_zstd_dictionary", 301);
}

#[test]
fn a_table_of_format_version_6_among_others() {
    let (files, rows) = load("v1042_fv6");
    let tally = damage_file("v1042_fv6", files, rows, "000013.sst", 101);
    assert!(tally.refused > 4 * tally.right, "{tally:?}");
}

#[test]
fn a_table_that_was_written_here() {
    let parent = tempfile::tempdir().unwrap();
    let directory = parent.path().join("db");
    let options = FillOptions {
        num: 12,
        value_size: 40,
        block_size: 128,
        compression: CompressionType::Lz4,
        ..FillOptions::default()
    };
    fill(&directory, &options, |_| ()).unwrap();
    let mut source = FilledRows::new(&options);
    let row = |n| {
        let (key, value) = source.row(n);
        (key.to_vec(), value.to_vec())
    };
    let rows: Rows = (0..options.num).map(row).collect();
    let files = MemoryFiles::load(&directory);
    assert_eq!(probe(&files, &rows), Ok(Outcome::Right));
    let table = files.find(".sst");
    let tally = damage_file("filled", files, rows, &table, 3);
    assert!(tally.refused > 4 * tally.right, "{tally:?}");
}

/// A MANIFEST that ends between two records is that of an older state; here only the empty one.
fn damage_manifest(name: &'static str) {
    let (files, rows) = load(name);
    let manifest = files.find("MANIFEST-");
    let bytes = files.bytes(&manifest);
    run(name, all(&bytes, 1), move |damage| {
        let damaged = files.with(&manifest, &damage.apply(&bytes));
        match (damage, probe(&damaged, &rows)) {
            (Damage::Truncate { .. }, Err(_)) => probe(&damaged, &Rows::new()),
            (_, outcome) => outcome,
        }
    });
}

#[test]
fn a_manifest_of_an_old_release() {
    damage_manifest("v783_tiny_fv2");
}

#[test]
fn a_manifest_of_a_new_release() {
    damage_manifest("v1190_tiny_fv7");
}

#[test]
fn a_manifest_of_many_files() {
    let (files, rows) = load("v783_levels");
    let manifest = files.find("MANIFEST-");
    let bytes = files.bytes(&manifest);
    let changes = all(&bytes, sampled(31)).into_iter().filter(|damage| matches!(damage, Damage::Set { .. })).collect();
    run("v783_levels", changes, move |damage| probe(&files.with(&manifest, &damage.apply(&bytes)), &rows));
}

#[test]
fn a_current_file() {
    let (files, rows) = load("v783_tiny_fv5");
    let tally = damage_file("CURRENT", files, rows, "CURRENT", 1);
    assert_eq!(tally.right, 0, "every byte of CURRENT matters: {tally:?}");
}

#[test]
fn an_identity_file() {
    let (files, rows) = load("v783_tiny_fv5");
    damage_file("IDENTITY", files, rows, "IDENTITY", 1);
}
