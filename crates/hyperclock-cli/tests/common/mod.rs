//! Runs the command as a user does, on the databases that RocksDB wrote.
#![allow(dead_code, unreachable_pub, reason = "each test file uses some of it")]

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::Value;

/// The command with these arguments, run to its end.
pub fn hyperclock<I: IntoIterator<Item: AsRef<std::ffi::OsStr>>>(arguments: I) -> Run {
    let output = command().args(arguments).output().expect("the binary runs");
    Run { output }
}

/// The command, to be run in another way.
pub fn command() -> Command {
    Command::new(env!("CARGO_BIN_EXE_hyperclock"))
}

pub struct Run {
    output: Output,
}

impl Run {
    pub fn code(&self) -> i32 {
        self.output.status.code().expect("not ended by a signal")
    }

    pub fn stdout(&self) -> &str {
        std::str::from_utf8(&self.output.stdout).expect("output is UTF-8")
    }

    pub fn stderr(&self) -> &str {
        std::str::from_utf8(&self.output.stderr).expect("messages are UTF-8")
    }

    /// Asserts the exit code, with the messages where it is another one.
    pub fn exits(self, code: i32) -> Self {
        assert_eq!(self.code(), code, "stdout: {}\nstderr: {}", self.stdout(), self.stderr());
        self
    }

    /// Standard output as exactly one JSON object.
    pub fn object(&self) -> Value {
        let value: Value = serde_json::from_str(self.stdout())
            .unwrap_or_else(|error| panic!("not one object: {error}: {}", self.stdout()));
        assert!(value.is_object(), "{value}");
        value
    }
}

/// The folder of the databases that RocksDB wrote.
pub fn fixtures() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../hyperclock-sst/tests/fixtures")
}

/// The path of one of them.
pub fn fixture(name: &str) -> String {
    let path = fixtures().join(name);
    assert!(path.is_dir(), "{} is missing", path.display());
    path.to_str().expect("paths here are UTF-8").to_owned()
}

/// What RocksDB returned for it, as lines of `family TAB KEYHEX TAB VALUEHEX`.
pub fn expected(name: &str) -> Vec<String> {
    let path = fixtures().join(format!("{name}.expected.txt"));
    let text = std::fs::read_to_string(&path).expect("the expected rows are readable");
    text.lines().filter(|line| !line.starts_with('#')).map(str::to_owned).collect()
}

/// Every fixture's name.
pub fn fixture_names() -> Vec<String> {
    let mut names: Vec<_> = std::fs::read_dir(fixtures())
        .expect("the fixtures are readable")
        .filter_map(|entry| entry.expect("an entry").file_name().into_string().ok())
        .filter_map(|name| name.strip_suffix(".expected.txt").map(str::to_owned))
        .collect();
    names.sort();
    names
}

/// A copy of a fixture, to be damaged.
pub fn copy_of(name: &str) -> tempfile::TempDir {
    let copy = tempfile::tempdir().expect("a temporary folder");
    for entry in std::fs::read_dir(fixtures().join(name)).expect("the fixture is readable") {
        let path = entry.expect("an entry").path();
        let target = copy.path().join(path.file_name().expect("a name"));
        std::fs::copy(&path, target).expect("a copy");
    }
    copy
}

pub fn text(path: &Path) -> &str {
    path.to_str().expect("paths here are UTF-8")
}
