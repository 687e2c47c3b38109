//! `--from`, `--to`, `--limit` and `--reverse` cut the rows of a scan in the comparator's order, in all three output forms.

mod common;

use common::{expected, fixture, hyperclock};

/// Rows of one family as `KEYHEX TAB VALUEHEX`.
fn rows_of(name: &str, family: &str) -> Vec<String> {
    let prefix = format!("{family}\t");
    expected(name).iter().filter_map(|row| row.strip_prefix(&prefix)).map(str::to_owned).collect()
}

fn scan_hex(db: &str, more: &[&str]) -> Vec<String> {
    let run = hyperclock(["db", "scan", "--db", db, "--hex"].iter().chain(more)).exits(0);
    run.stdout().lines().map(str::to_owned).collect()
}

fn as_ldb(row: &str) -> String {
    let (key, value) = row.split_once('\t').unwrap();
    format!("0x{key} : 0x{value}")
}

#[test]
fn hex_rows_are_those_of_ldb() {
    let rows = rows_of("v1190_default", "default");
    let shown = scan_hex(&fixture("v1190_default"), &[]);
    assert_eq!(shown, rows.iter().map(|row| as_ldb(row)).collect::<Vec<_>>());
}

#[test]
fn a_range_begins_with_from_and_ends_before_to() {
    for (name, family) in [("v1190_default", "default"), ("v783_column_families", "reversed")] {
        let db = fixture(name);
        let rows: Vec<_> = rows_of(name, family).iter().map(|row| as_ldb(row)).collect();
        let key = |row: usize| rows[row].split(" : ").next().unwrap().to_owned();
        // Bounds that are keys, and bounds that lie just after one in bytewise order.
        let (from, to) = (key(10), key(50));
        let bounds = ["--cf", family, "--from", &from, "--to", &to];
        assert_eq!(scan_hex(&db, &bounds), rows[10..50], "{name}");

        let mut backwards = rows[10..50].to_vec();
        backwards.reverse();
        let reverse: Vec<_> = bounds.iter().copied().chain(["--reverse"]).collect();
        assert_eq!(scan_hex(&db, &reverse), backwards, "{name}");

        let limited: Vec<_> = reverse.iter().copied().chain(["--limit", "7"]).collect();
        assert_eq!(scan_hex(&db, &limited), backwards[..7], "{name}");

        // The same range the wrong way round is empty.
        assert!(scan_hex(&db, &["--cf", family, "--from", &to, "--to", &from]).is_empty());
        assert!(scan_hex(&db, &["--cf", family, "--from", &to, "--to", &from, "--reverse"]).is_empty());
    }
}

#[test]
fn bounds_need_not_be_keys() {
    let db = fixture("v1190_default");
    let rows: Vec<_> = rows_of("v1190_default", "default").iter().map(|row| as_ldb(row)).collect();
    let after = |row: usize| format!("{}00", rows[row].split(" : ").next().unwrap());
    let (from, to) = (after(3), after(8));
    assert_eq!(scan_hex(&db, &["--from", &from, "--to", &to]), rows[4..9]);
    let mut backwards = rows[4..9].to_vec();
    backwards.reverse();
    assert_eq!(scan_hex(&db, &["--from", &from, "--to", &to, "--reverse"]), backwards);
    // Beyond the ends.
    assert_eq!(scan_hex(&db, &["--from", "0x00", "--to", "0xFFFFFFFF"]).len(), rows.len());
    assert!(scan_hex(&db, &["--from", "0xFFFFFFFF"]).is_empty());
    assert!(scan_hex(&db, &["--to", "0x00", "--reverse"]).is_empty());
}

#[test]
fn plain_rows_are_text_with_escapes() {
    let run = hyperclock(["db", "scan", "--db", &fixture("v783_tiny_fv5")]).exits(0);
    let rows: Vec<_> = run.stdout().lines().collect();
    let expected = rows_of("v783_tiny_fv5", "default");
    assert_eq!(rows.len(), expected.len());
    for row in rows {
        assert!(row.contains(" : "), "{row}");
    }
    // One line a row, whatever bytes the rows hold.
    let odd = hyperclock(["db", "scan", "--db", &fixture("v783_odd_sizes")]).exits(0);
    assert_eq!(odd.stdout().lines().count(), rows_of("v783_odd_sizes", "default").len());
    assert!(odd.stdout().contains("\\x00 : "), "{}", &odd.stdout()[..200]);
}

#[test]
fn all_families_are_told_apart() {
    let run = hyperclock(["db", "scan", "--db", &fixture("v783_column_families"), "--all-cf", "--hex", "--limit", "2"])
        .exits(0);
    let families: Vec<_> = run.stdout().lines().map(|row| row.split('\t').next().unwrap()).collect();
    assert_eq!(families, ["default", "default", "reversed", "reversed", "plain", "plain"]);
}
