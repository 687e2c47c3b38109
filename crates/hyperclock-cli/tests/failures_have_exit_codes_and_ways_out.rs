//! Exit codes 1, 2 and 3, messages that name the file or option and what to do, and an object with the error where `--json`
//! promised one.

mod common;

use common::{Run, copy_of, fixture, hyperclock, text};

/// Runs with and without `--json`: the same code, a message, and nothing but an error object on standard output.
fn fails(arguments: &[&str], code: i32, kind: &str, parts: &[&str]) {
    let plain = hyperclock(arguments).exits(code);
    assert_eq!(plain.stdout(), "");
    let json = hyperclock(arguments.iter().copied().chain(["--json"])).exits(code);
    let object = json.object();
    assert_eq!(object["error"]["kind"], kind);
    for part in parts {
        assert!(plain.stderr().contains(part), "`{part}` is not in: {}", plain.stderr());
        let message = object["error"]["message"].as_str().unwrap();
        assert!(message.contains(part), "`{part}` is not in: {message}");
    }
}

#[test]
fn usage_is_2() {
    let db = fixture("v1190_default");
    fails(&["db", "scan"], 2, "usage", &["--db"]);
    fails(&["db", "scan", "--db", &db, "--cache-size", "10M"], 2, "usage", &["--cache-size", "10M", "64MiB"]);
    fails(&["db", "scan", "--db", &db, "--threads", "0"], 2, "usage", &["--threads"]);
    fails(&["db", "scan", "--db", &db, "--cf", "nope"], 2, "usage", &["nope", "default", "--all-cf"]);
    fails(&["db", "scan", "--db", &db, "--hex", "--from", "6B"], 2, "usage", &["6B", "0x"]);
    fails(&["db", "get", "--db", &db], 2, "usage", &["KEY"]);
    fails(&["db", "get", "k", "--db", &db, "--cf", "default", "--all-cf"], 2, "usage", &["--all-cf"]);
    fails(&["db", "readrandom", "--db", &db, "--distribution", "zipf"], 2, "usage", &["zipf:0.99"]);
    fails(&["db", "readrandom", "--db", &db, "--missing", "101"], 2, "usage", &["--missing"]);
    fails(&["db", "readrandom", "--db", &db, "--reads", "1", "--duration", "1"], 2, "usage", &["--duration"]);
    fails(&["db", "verify", "--db", &db], 2, "usage", &["verify"]);
    fails(&["db", "fill", "--db", &db], 2, "usage", &["v1190_default"]);
    let new = tempfile::tempdir().unwrap();
    let number_rows = ["db", "fill", "--db", text(new.path()), "--key-size", "2"];
    fails(&number_rows, 2, "usage", &["key size 2", "65536 rows", "larger key"]);
    fails(&["demo", "--out", &db], 2, "usage", &["--out", "empty"]);
}

#[test]
fn what_cannot_be_read_is_3() {
    let empty = tempfile::tempdir().unwrap();
    let missing = empty.path().join("missing");
    for command in ["scan", "stats", "readrandom"] {
        fails(&["db", command, "--db", text(&missing)], 3, "unavailable", &[text(&missing), "--db"]);
        fails(&["db", command, "--db", text(empty.path())], 3, "unavailable", &["CURRENT", "--db"]);
    }
    fails(&["db", "get", "k", "--db", text(&missing)], 3, "unavailable", &[text(&missing)]);
}

#[test]
fn a_table_that_is_lost_is_damage() {
    let copy = copy_of("v1190_default");
    std::fs::remove_file(copy.path().join("000010.sst")).unwrap();
    fails(&["db", "scan", "--db", text(copy.path())], 1, "damage", &["000010.sst"]);
}

#[test]
fn damage_is_1_and_named() {
    let copy = copy_of("v1190_default");
    let table = copy.path().join("000010.sst");
    let mut bytes = std::fs::read(&table).unwrap();
    bytes[1000] ^= 1;
    std::fs::write(&table, bytes).unwrap();
    // Rows before the damage are printed, and none that is wrong.
    let run = hyperclock(["db", "scan", "--db", text(copy.path())]).exits(1);
    assert!(run.stderr().contains("000010.sst") && run.stderr().contains("offset"), "{}", run.stderr());
    let json = hyperclock(["db", "scan", "--json", "--db", text(copy.path())]).exits(1).object();
    assert_eq!(json["error"]["kind"], "damage");

    // An absent key is 1 too; with --json the two are told apart.
    let absent: Run = hyperclock(["db", "get", "zzz", "--json", "--db", text(copy.path())]).exits(1);
    assert_eq!(absent.object()["found"], false);
    let damaged = hyperclock(["db", "get", "key000001", "--json", "--db", text(copy.path())]);
    assert!(damaged.code() == 0 || damaged.object()["error"]["kind"] == "damage");
}

#[test]
fn a_damaged_manifest_is_1() {
    let copy = copy_of("v1190_default");
    let manifest = copy.path().join("MANIFEST-000005");
    let mut bytes = std::fs::read(&manifest).unwrap();
    bytes[20] ^= 0x40;
    std::fs::write(&manifest, bytes).unwrap();
    fails(&["db", "scan", "--db", text(copy.path())], 1, "damage", &["MANIFEST-000005"]);
}

#[test]
fn help_and_version_are_0() {
    for arguments in
        [&["--help"][..], &["db", "--help"], &["db", "scan", "--help"], &["demo", "--help"], &["--version"]]
    {
        let run = hyperclock(arguments).exits(0);
        assert!(run.stderr().is_empty());
        assert!(arguments == ["--version"] || run.stdout().contains("Example:"), "{arguments:?}");
    }
}
