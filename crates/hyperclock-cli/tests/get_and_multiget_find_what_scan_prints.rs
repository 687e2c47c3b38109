//! `db get` and `db multiget` find the rows that a scan prints, and exit with 1 when a key is absent.

mod common;

use common::{expected, fixture, hyperclock};

#[test]
fn get_prints_the_value_in_three_forms() {
    let db = fixture("v1190_default");
    for row in expected("v1190_default").iter().step_by(97) {
        let mut cells = row.split('\t').skip(1);
        let (key, value) = (cells.next().unwrap(), cells.next().unwrap());
        let key = format!("0x{key}");
        let hex = hyperclock(["db", "get", &key, "--db", &db, "--hex"]).exits(0);
        assert_eq!(hex.stdout(), format!("0x{value}\n"));
        let json = hyperclock(["db", "get", "--json", "--hex", "--db", &db, &key]).exits(0).object();
        assert_eq!(json, serde_json::json!({ "found": true, "value_hex": value }));
    }
    let plain = hyperclock(["db", "get", "key000001", "--db", &db]).exits(0);
    assert_eq!(plain.stdout(), "new1:juliet foxtrot echo india juliet de\n");
}

#[test]
fn an_absent_key_is_exit_code_1_and_no_output() {
    let db = fixture("v1190_default");
    // key000000 was deleted after its table was written.
    for key in ["key000000", "nothing", ""] {
        let run = hyperclock(["db", "get", key, "--db", &db]).exits(1);
        assert_eq!(run.stdout(), "");
        assert_eq!(run.stderr(), format!("not found: {key}\n"));
        let json = hyperclock(["db", "get", key, "--db", &db, "--json"]).exits(1).object();
        assert_eq!(json, serde_json::json!({ "found": false, "value_hex": null }));
    }
}

#[test]
fn get_reads_the_family_that_was_asked_for() {
    let db = fixture("v783_column_families");
    let row = expected("v783_column_families").into_iter().find(|row| row.starts_with("plain\t")).unwrap();
    let cells: Vec<_> = row.split('\t').collect();
    let key = format!("0x{}", cells[1]);
    let run = hyperclock(["db", "get", &key, "--hex", "--db", &db, "--cf", "plain"]).exits(0);
    assert_eq!(run.stdout(), format!("0x{}\n", cells[2]));

    let all = hyperclock(["db", "get", &key, "--hex", "--db", &db, "--all-cf"]).exits(0);
    assert!(all.stdout().contains(&format!("plain\t0x{}\n", cells[2])), "{}", all.stdout());
    let json = hyperclock(["db", "get", &key, "--hex", "--db", &db, "--all-cf", "--json"]).exits(0).object();
    assert_eq!(json["found"], true);
    assert_eq!(json["column_families"].as_array().unwrap().len(), 3);
    assert_eq!(json["column_families"][2]["value_hex"], cells[2]);
}

#[test]
fn multiget_answers_in_the_order_of_the_keys() {
    let db = fixture("v1190_default");
    let rows: Vec<_> = expected("v1190_default").into_iter().step_by(13).take(60).collect();
    let cells: Vec<Vec<&str>> = rows.iter().map(|row| row.split('\t').collect()).collect();
    let keys: Vec<_> = cells.iter().map(|cells| format!("0x{}", cells[1])).rev().collect();
    for threads in ["1", "4"] {
        let options = ["db", "multiget", "--hex", "--db", &db, "--threads", threads];
        let run = hyperclock(options.iter().copied().chain(keys.iter().map(String::as_str))).exits(0);
        let shown: Vec<_> = cells.iter().rev().map(|cells| format!("0x{} : 0x{}", cells[1], cells[2])).collect();
        assert_eq!(run.stdout().lines().collect::<Vec<_>>(), shown);
    }
}

#[test]
fn multiget_tells_which_keys_are_absent() {
    let db = fixture("v1190_default");
    let keys = ["key000001", "key000000", "key000002", "key000001"];
    let run = hyperclock(["db", "multiget", "--db", &db].iter().chain(&keys)).exits(1);
    assert_eq!(run.stdout().lines().count(), 3);
    assert_eq!(run.stderr(), "not found: key000000\n");

    let json = hyperclock(["db", "multiget", "--json", "--db", &db].iter().chain(&keys)).exits(1).object();
    let results = json["results"].as_array().unwrap();
    let found: Vec<_> = results.iter().map(|result| result["found"].as_bool().unwrap()).collect();
    assert_eq!(found, [true, false, true, true]);
    assert_eq!(results[1]["key_hex"], "6B6579303030303030");
    assert!(results[1]["value_hex"].is_null());
    assert_eq!(results[0]["value_hex"], results[3]["value_hex"]);
}
