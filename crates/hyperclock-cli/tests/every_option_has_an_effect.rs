//! An option that is accepted and does nothing misleads whoever measures with it. What an option sets can be read back from
//! the report, or seen in what was written. (The options of `db scan` have a test file of their own.)

mod common;

use common::{fixture, hyperclock, text};
use serde_json::{Value, json};

fn readrandom(more: &[&str]) -> Value {
    let db = fixture("v783_column_families");
    hyperclock(["db", "readrandom", "--json", "--db", &db, "--reads", "64"].iter().chain(more)).exits(0).object()
}

#[test]
fn br_071_every_option_of_readrandom_is_in_its_report() {
    let defaults = readrandom(&[]);
    for (options, name, value) in [
        (&["--cf", "plain"][..], "column_families", json!(["plain"])),
        (&["--all-cf"], "column_families", json!(["default", "reversed", "plain"])),
        (&["--cache-size", "3MiB"], "cache_capacity_bytes", json!(3 << 20)),
        (&["--threads", "3"], "threads", json!(3)),
        (&["--keys", "7"], "sampled_keys", json!(7)),
        (&["--distribution", "uniform"], "distribution", json!("uniform")),
        (&["--distribution", "zipf:0.5"], "distribution", json!("zipf:0.5")),
        (&["--missing", "12.5"], "missing_percent", json!(12.5)),
        (&["--seed", "7"], "seed", json!(7)),
    ] {
        assert_ne!(defaults[name], value, "{name} has another default");
        assert_eq!(readrandom(options)[name], value, "{options:?}");
    }
    assert_eq!(defaults["reads"], 64);
}

#[test]
fn br_071_commands_refuse_options_that_they_do_not_use() {
    let db = fixture("v1190_default");
    for (command, option) in [
        (&["stats"][..], ["--threads", "4"]),
        (&["stats"], ["--cache-size", "1B"]),
        (&["get", "key000001"], ["--threads", "4"]),
    ] {
        let run = hyperclock(["db"].iter().chain(command).chain(&["--db", &db]).chain(&option)).exits(2);
        assert!(run.stderr().contains(option[0]), "{}", run.stderr());
    }
}

#[test]
fn br_071_every_option_of_fill_shows_in_what_it_makes() {
    let folder = tempfile::tempdir().unwrap();
    let fill = |name: &str, more: &[&str]| {
        let db = folder.path().join(name);
        let arguments = ["db", "fill", "--json", "--num", "500", "--db", text(&db)];
        let report = hyperclock(arguments.iter().chain(more)).exits(0).object();
        let rows = hyperclock(["db", "scan", "--hex", "--db", text(&db)]).exits(0).stdout().to_owned();
        (report["raw_bytes"].as_u64().unwrap(), report["file_bytes"].as_u64().unwrap(), rows)
    };
    let defaults = fill("defaults", &[]);
    assert_eq!(defaults.0, 500 * 116);
    assert_eq!(fill("key-size", &["--key-size", "24"]).0, 500 * 124);
    assert_eq!(fill("value-size", &["--value-size", "1KiB"]).0, 500 * 1040);

    let raw = fill("compression", &["--compression", "none"]);
    assert!(raw.1 > defaults.1, "{} bytes are no more than {}", raw.1, defaults.1);
    assert_eq!(raw.2, defaults.2, "the rows do not depend on the codec");
    let stiff = fill("compressibility", &["--value-compressibility", "1"]);
    assert!(stiff.1 > defaults.1 && stiff.0 == defaults.0);
    let seeded = fill("seed", &["--seed", "1"]);
    assert_ne!(seeded.2, defaults.2);
    let column = |rows: &str| rows.lines().map(|row| row.split(" : ").next().unwrap().to_owned()).collect::<Vec<_>>();
    assert_eq!(column(&seeded.2), column(&defaults.2));
}
