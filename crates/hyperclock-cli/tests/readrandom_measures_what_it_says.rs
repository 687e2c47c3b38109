//! `db readrandom` and `db fill`: figures that must hold whatever the speed of the machine.

mod common;

use common::{fixture, hyperclock, text};
use serde_json::Value;

fn filled(folder: &tempfile::TempDir, rows: &str) -> String {
    let db = folder.path().join("db");
    let report = hyperclock(["db", "fill", "--json", "--db", text(&db), "--num", rows]).exits(0).object();
    assert_eq!(report["rows"].as_u64().unwrap().to_string(), rows);
    assert!(report["file_bytes"].as_u64().unwrap() < report["raw_bytes"].as_u64().unwrap());
    text(&db).to_owned()
}

fn read(db: &str, more: &[&str]) -> Value {
    hyperclock(["db", "readrandom", "--json", "--db", db].iter().chain(more)).exits(0).object()
}

#[test]
fn a_filled_database_has_the_rows_asked_for() {
    let folder = tempfile::tempdir().unwrap();
    let db = filled(&folder, "3000");
    let run = hyperclock(["db", "scan", "--hex", "--db", &db]).exits(0);
    let keys: Vec<_> = run.stdout().lines().map(|row| row.split(" : ").next().unwrap()).collect();
    let numbered: Vec<_> = (0..3000).map(|n| format!("0x{n:016X}3030303030303030")).collect();
    assert_eq!(keys, numbered);
    assert!(run.stdout().lines().all(|row| row.len() == 2 + 32 + 3 + 2 + 200));
}

#[test]
fn every_read_is_found_and_every_miss_is_a_read_from_disk() {
    let folder = tempfile::tempdir().unwrap();
    let db = filled(&folder, "20000");
    let report = read(&db, &["--reads", "30000", "--threads", "2", "--keys", "5000"]);
    assert_eq!(report["reads"], 30_000);
    assert_eq!((&report["found"], &report["found_ratio"]), (&30_000.into(), &1.0.into()));
    assert_eq!((&report["sampled_keys"], &report["scanned_keys"]), (&5000.into(), &20_000.into()));
    assert_eq!(report["bytes_returned"], 3_000_000);
    assert_eq!(report["distribution"], "zipf:0.99");
    for latency in ["latency_p50_ns", "latency_p99_ns", "latency_p99_9_ns"] {
        assert!(report[latency].as_u64().unwrap() <= report["latency_max_ns"].as_u64().unwrap());
    }
    let ratio = report["hit_ratio"].as_f64().unwrap();
    assert!((0.5..1.0).contains(&ratio), "everything fits, and something was read once: {ratio}");
    assert!(report["block_reads_from_disk"].as_u64().unwrap() > 0);
    assert!(report["bytes_read"].as_u64().unwrap() > 0);
    assert!(report["cache_usage_bytes"].as_u64().unwrap() <= report["cache_capacity_bytes"].as_u64().unwrap());
    assert!(report["reads_per_second"].as_f64().unwrap() > 0.0);
    #[cfg(target_os = "linux")]
    assert!(report["resident_memory_bytes"].as_u64().unwrap() > 0);
}

#[test]
fn hits_and_misses_of_data_blocks_add_up_to_the_reads_that_needed_one() {
    let folder = tempfile::tempdir().unwrap();
    let db = filled(&folder, "20000");
    let report = read(&db, &["--reads", "10000", "--distribution", "uniform"]);
    let roles = report["hit_ratio_by_role"].as_object().unwrap();
    let lookups: u64 =
        roles.values().map(|role| role["hits"].as_u64().unwrap() + role["misses"].as_u64().unwrap()).sum();
    let misses: u64 = roles.values().map(|role| role["misses"].as_u64().unwrap()).sum();
    assert!(lookups >= 10_000, "{report}");
    assert_eq!(report["block_reads_from_disk"], misses, "{report}");
}

#[test]
fn missing_keys_are_not_found() {
    let folder = tempfile::tempdir().unwrap();
    let db = filled(&folder, "5000");
    let report = read(&db, &["--reads", "10000", "--missing", "40"]);
    let found = report["found_ratio"].as_f64().unwrap();
    assert!((0.57..0.63).contains(&found), "{found}");
    let report = read(&db, &["--reads", "1000", "--missing", "100"]);
    assert_eq!(report["found"], 0);
}

#[test]
fn a_seed_gives_the_same_reads() {
    let db = fixture("v1190_default");
    let run = |seed: &str| {
        let report = read(&db, &["--reads", "500", "--seed", seed, "--distribution", "zipf:1.2"]);
        (report["bytes_returned"].clone(), report["block_reads_from_disk"].clone())
    };
    assert_eq!(run("1"), run("1"));
    assert_ne!(run("1").0, run("2").0, "values of different lengths were read");
}

#[test]
fn a_duration_is_kept() {
    let db = fixture("v1190_default");
    let report = read(&db, &["--duration", "0.2", "--threads", "2"]);
    let elapsed = report["elapsed_seconds"].as_f64().unwrap();
    assert!((0.2..5.0).contains(&elapsed), "{elapsed}");
}

#[test]
fn all_families_are_read() {
    let report = read(&fixture("v783_column_families"), &["--all-cf", "--reads", "2000"]);
    assert_eq!(report["scanned_keys"], 401);
    assert_eq!(report["found"], 2000);
}

#[test]
fn the_table_for_people_has_the_same_figures() {
    let run = hyperclock(["db", "readrandom", "--db", &fixture("v1190_default"), "--reads", "100"]).exits(0);
    for name in ["reads per second", "found", "latency p99.9", "cache hits", "blocks read from disk", "cache usage"] {
        assert!(run.stdout().contains(name), "{name} is not in:\n{}", run.stdout());
    }
    assert!(run.stderr().is_empty(), "{}", run.stderr());
}
