//! `demo` reads RocksDB's rows, compares cold with warm, and writes nowhere but in its folder.

mod common;

use common::{command, hyperclock, text};

/// What names the folder for temporary files, by platform.
const TEMPORARY: [&str; 3] = ["TMPDIR", "TMP", "TEMP"];

#[test]
fn a_given_folder_gets_everything() {
    let folder = tempfile::tempdir().unwrap();
    let (out, temporary) = (folder.path().join("out"), folder.path().join("tmp"));
    let home = folder.path().join("home");
    std::fs::create_dir(&temporary).unwrap();
    std::fs::create_dir(&home).unwrap();
    let output = command()
        .args(["demo", "--json", "--num", "30000", "--out", text(&out)])
        .envs(TEMPORARY.map(|name| (name, &temporary)))
        .current_dir(&home)
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    let report: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(report["out_path"], text(&out));
    assert_eq!(report["rocksdb"]["rows"], 1600);
    assert_eq!(report["filled"]["rows"], 30_000);
    assert_eq!(report["cold"]["found_ratio"], 1.0);
    assert!(report["cold"]["block_reads_from_disk"].as_u64().unwrap() > 100);
    assert_eq!(report["warm"]["block_reads_from_disk"], 0);
    assert_eq!(report["warm"]["hit_ratio"], 1.0);
    assert_eq!(report["next_commands"].as_array().unwrap().len(), 3);
    let mut made: Vec<_> = std::fs::read_dir(&out).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    made.sort();
    assert_eq!(made, ["filled", "rocksdb-11.9"]);
    for untouched in [&temporary, &home] {
        assert_eq!(std::fs::read_dir(untouched).unwrap().count(), 0, "{}", untouched.display());
    }
}

#[test]
fn without_one_it_makes_a_temporary_folder_and_says_where() {
    let temporary = tempfile::tempdir().unwrap();
    let output = command()
        .args(["demo", "--num", "5000"])
        .envs(TEMPORARY.map(|name| (name, temporary.path())))
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    let shown = String::from_utf8(output.stdout).unwrap();
    let made: Vec<_> = std::fs::read_dir(temporary.path()).unwrap().map(|entry| entry.unwrap().path()).collect();
    assert_eq!(made.len(), 1);
    assert!(shown.starts_with(&format!("Databases go to {}\n", made[0].display())), "{shown}");
    for part in [
        "cold cache",
        "warm cache",
        "reads per second",
        "hit ratio.",
        "Try next:",
        "db stats",
        "db scan",
        "db readrandom",
    ] {
        assert!(shown.contains(part), "{part} is not in:\n{shown}");
    }
    // The commands that it ends with work.
    for line in shown.lines().filter(|line| line.trim_start().contains(" db ")) {
        let words: Vec<_> = line.split_whitespace().skip(1).map(|word| if word == "5" { "1" } else { word }).collect();
        hyperclock(words).exits(0);
    }
}
