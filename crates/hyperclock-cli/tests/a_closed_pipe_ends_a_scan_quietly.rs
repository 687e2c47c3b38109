//! A reader that leaves early, as `head` does, ends a scan without a panic, a message or a failure.

mod common;

use std::io::{BufRead, BufReader, Read};
use std::process::Stdio;

use common::{command, hyperclock, text};

#[test]
fn head_gets_its_row_and_the_scan_ends() {
    let folder = tempfile::tempdir().unwrap();
    let db = folder.path().join("db");
    hyperclock(["db", "fill", "--db", text(&db), "--num", "20000"]).exits(0);
    for threads in ["1", "3"] {
        let mut child = command()
            .args(["db", "scan", "--hex", "--db", text(&db), "--threads", threads])
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut row = String::new();
        // Rows of 20,000 times 240 bytes do not fit into a pipe: the scan is still writing when the reader leaves.
        let mut reader = BufReader::new(child.stdout.take().unwrap());
        reader.read_line(&mut row).unwrap();
        drop(reader);
        assert!(row.starts_with("0x0000000000000000303030303030"), "{row}");
        let mut messages = String::new();
        child.stderr.take().unwrap().read_to_string(&mut messages).unwrap();
        let status = child.wait().unwrap();
        assert_eq!((status.code(), messages.as_str()), (Some(0), ""));
    }
}
