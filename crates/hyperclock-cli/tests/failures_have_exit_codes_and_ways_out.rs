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
fn a_number_that_is_none_is_named_with_its_bounds() {
    let db = fixture("v1190_default");
    for wrong in ["-1", "-10", "two", "1025"] {
        fails(&["db", "scan", "--db", &db, "--threads", wrong], 2, "usage", &["--threads", wrong, "from 1 to 1024"]);
    }
    fails(&["db", "scan", "--db", &db, "--cache-size", "-1MiB"], 2, "usage", &["--cache-size", "-1MiB", "64MiB"]);
    fails(&["db", "scan", "--db", &db, "--limit", "-5"], 2, "usage", &["--limit", "-5", "whole number"]);
    fails(&["db", "readrandom", "--db", &db, "--seed", "x"], 2, "usage", &["--seed", "whole number"]);
    fails(&["db", "readrandom", "--db", &db, "--missing", "-1"], 2, "usage", &["--missing", "0 to 100"]);
    fails(&["db", "readrandom", "--db", &db, "--duration", "-1"], 2, "usage", &["--duration", "seconds"]);
    fails(&["bench", "cache", "--lookup-percent", "101"], 2, "usage", &["--lookup-percent", "0 to 100"]);
    hyperclock(["db", "scan", "--db", &db, "--from", "-5", "--limit", "1"]).exits(0);
}

#[test]
#[cfg(unix)]
fn an_argument_that_is_not_utf8_is_named() {
    use std::os::unix::ffi::OsStrExt;
    let db = fixture("v1190_default");
    let key = std::ffi::OsStr::from_bytes(b"k\xff");
    let run = common::command().args(["db", "get", "--db", &db]).arg(key).output().unwrap();
    assert_eq!(run.status.code(), Some(2));
    let message = String::from_utf8(run.stderr).unwrap();
    assert!(message.contains("argument 5") && message.contains("--hex"), "{message}");
}

#[test]
#[cfg(unix)]
fn what_is_no_regular_file_is_3() {
    for name in ["CURRENT", "MANIFEST-000005", "000010.sst"] {
        let copy = copy_of("v1190_default");
        let path = copy.path().join(name);
        std::fs::remove_file(&path).unwrap();
        assert!(std::process::Command::new("mkfifo").arg(&path).status().unwrap().success());
        let db = text(copy.path());
        fails(&["db", "scan", "--db", db], 3, "unavailable", &[name, "is not a regular file", "FIFO"]);
        std::fs::remove_file(&path).unwrap();
        std::fs::create_dir(&path).unwrap();
        fails(&["db", "scan", "--db", db], 3, "unavailable", &[name, "is not a regular file", "directory"]);
        std::fs::remove_dir(&path).unwrap();
        std::os::unix::fs::symlink("nowhere", &path).unwrap();
        fails(&["db", "scan", "--db", db], 3, "unavailable", &[name, "link to nowhere"]);
    }
}

#[test]
fn an_empty_database_has_nothing_to_read() {
    let folder = tempfile::tempdir().unwrap();
    let db = folder.path().join("db");
    hyperclock(["db", "fill", "--num", "0", "--db", text(&db)]).exits(0);
    fails(&["db", "readrandom", "--db", text(&db)], 3, "unavailable", &[text(&db), "no key"]);
}

#[test]
fn a_fill_that_was_killed_can_be_deleted() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("000002.sst.dbtmp"), b"").unwrap();
    fails(&["db", "fill", "--db", text(folder.path())], 2, "usage", &["000002.sst.dbtmp", "delete it"]);
}

#[test]
#[cfg(unix)]
fn a_demonstration_without_a_folder_names_out() {
    let demo = |folder: &str| common::command().args(["demo", "--num", "1"]).env("TMPDIR", folder).output().unwrap();
    let bad = demo("/nowhere/at/all");
    assert_eq!(bad.status.code(), Some(3));
    assert!(String::from_utf8(bad.stderr).unwrap().contains("--out"));
    let unset = demo("");
    assert_eq!(unset.status.code(), Some(0));
    let shown = String::from_utf8(unset.stdout).unwrap();
    let folder = shown.lines().next().and_then(|line| line.strip_prefix("Databases go to ")).unwrap();
    assert!(folder.starts_with("/tmp/"), "{folder}");
    std::fs::remove_dir_all(folder).unwrap();
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
