//! What is more than the machine has, or more than makes sense, is an error with a way out: not a panic, an abort, a wait
//! without end, or gigabytes of memory.
#![cfg(target_os = "linux")]

mod common;

use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use common::{fixture, hyperclock, text};
use serde_json::Value;

/// Runs with little address space, and fails if that takes long.
fn limited(arguments: &[&str]) -> (i32, Value, String) {
    let script = "ulimit -v 600000; exec \"$0\" \"$@\"";
    let mut child = Command::new("sh")
        .args(["-c", script, env!("CARGO_BIN_EXE_hyperclock")])
        .args(arguments)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let begun = Instant::now();
    while child.try_wait().unwrap().is_none() {
        if begun.elapsed() > Duration::from_secs(30) {
            child.kill().unwrap();
            panic!("{arguments:?} does not end");
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    let output = child.wait_with_output().unwrap();
    let messages = String::from_utf8(output.stderr).unwrap();
    let code = output.status.code().unwrap_or_else(|| panic!("{arguments:?} was ended by a signal: {messages}"));
    let object = serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{arguments:?}: {messages}"));
    (code, object, messages)
}

#[test]
fn threads_that_cannot_be_started_are_a_failure() {
    let db = fixture("v783_column_families");
    for arguments in [
        &["db", "readrandom", "--db", &db, "--reads", "5000", "--threads", "1000", "--json"][..],
        &["bench", "hot", "--threads", "1000", "--ops-per-thread", "10", "--json"],
        &["bench", "cache", "--threads", "1000", "--ops-per-thread", "10", "--cache-size", "1MiB", "--json"],
        &["bench", "kudu", "--threads", "1000", "--ops-per-thread", "10", "--cache-size", "1MiB", "--json"],
    ] {
        let (code, object, messages) = limited(arguments);
        assert_eq!((code, &object["error"]["kind"]), (3, &Value::from("unavailable")), "{messages}");
        assert!(messages.contains("cannot start 1000 threads: lower --threads"), "{messages}");
        assert!(!messages.contains("panicked"), "{messages}");
    }
}

#[test]
fn rows_of_any_size_are_refused_before_they_are_made() {
    let folder = tempfile::tempdir().unwrap();
    let db = folder.path().join("db");
    for (option, size) in [
        ("--value-size", "16000000000GiB"),
        ("--value-size", "4GiB"),
        ("--key-size", "999999GiB"),
        ("--key-size", "4GiB"),
    ] {
        let (code, object, messages) = limited(&["db", "fill", "--db", text(&db), option, size, "--json"]);
        assert_eq!((code, &object["error"]["kind"]), (2, &Value::from("usage")), "{messages}");
        assert!(messages.contains("together at most 1073741760"), "{messages}");
        assert!(!db.exists());
    }
}

#[test]
fn benchmarks_fit_the_machine() {
    for command in ["cache", "kudu", "hits", "hot", "churn"] {
        for size in ["65MiB", "16000000000GiB", "999999GiB"] {
            let run = hyperclock(["bench", command, "--value-bytes", size]).exits(2);
            assert!(run.stderr().contains("--value-bytes") && run.stderr().contains("64MiB"), "{}", run.stderr());
        }
    }
    for arguments in [
        &["bench", "cache", "--cache-size", "16777215GiB"][..],
        &["bench", "kudu", "--cache-size", "16777215GiB"],
        &["bench", "hits", "--entries", "1000000000", "--value-bytes", "64MiB"],
        &["bench", "churn", "--entries", "1000000000", "--value-bytes", "64MiB"],
    ] {
        let run = hyperclock(arguments).exits(2);
        assert!(run.stderr().contains("this machine's memory: lower --"), "{}", run.stderr());
    }
}

#[test]
fn output_that_is_lost_is_3() {
    let db = fixture("v1190_default");
    for arguments in [
        &["--help"][..],
        &["--version"],
        &["db", "scan", "--help"],
        &["db", "scan", "--db", &db],
        &["db", "stats", "--db", &db],
    ] {
        let full = std::fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
        let run = common::command().args(arguments).stdout(full).output().unwrap();
        assert_eq!(run.status.code(), Some(3), "{arguments:?}");
        assert!(String::from_utf8(run.stderr).unwrap().contains("standard output"), "{arguments:?}");
    }
}
