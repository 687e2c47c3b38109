//! A database that was cut is read as RocksDB reads it: each command says on standard error and in its report what was left
//! out, and the rows on standard output are the same.

mod common;

use common::{copy_of, fixture, hyperclock, text};

#[test]
fn every_command_tells_of_a_cut_manifest() {
    let copy = copy_of("v1190_default");
    let manifest = copy.path().join("MANIFEST-000005");
    let whole = std::fs::read(&manifest).unwrap();
    std::fs::write(&manifest, &whole[..whole.len() - 3]).unwrap();
    let db = text(copy.path());
    for (arguments, code) in [
        (&["db", "scan", "--db", db][..], 0),
        (&["db", "stats", "--db", db], 0),
        (&["db", "get", "key000001", "--db", db], 1),
        (&["db", "multiget", "key000001", "zzz", "--db", db], 1),
        (&["db", "readrandom", "--reads", "10", "--db", db], 0),
    ] {
        let run = hyperclock(arguments);
        assert!(
            run.stderr().contains("warning: ") && run.stderr().contains("MANIFEST-000005: at offset "),
            "{arguments:?}"
        );
        assert!(run.code() == 0 || run.code() == code);
        let run = hyperclock(arguments.iter().copied().chain(["--json"]));
        let warnings = run.object()["warnings"].clone();
        assert_eq!(warnings[0]["kind"], "incomplete_manifest", "{arguments:?}");
        assert!(warnings[0]["offset"].is_u64() && warnings[0]["path"].as_str().unwrap().ends_with("MANIFEST-000005"));
    }
    assert!(hyperclock(["db", "stats", "--db", db]).stdout().contains("warning        "));
    assert!(!hyperclock(["db", "scan", "--tsv", "--db", db]).stdout().contains("warning"));
}

#[test]
fn a_whole_database_has_an_empty_list() {
    let db = fixture("v1190_default");
    let run = hyperclock(["db", "scan", "--json", "--db", &db]).exits(0);
    assert_eq!(run.object()["warnings"], serde_json::json!([]));
    assert_eq!(run.stderr(), "");
}
