//! `db scan --all-cf --tsv` prints exactly the rows that RocksDB's own iterator returned, for every database that RocksDB
//! wrote, whatever the number of threads and however small the cache.

mod common;

use common::{expected, fixture, fixture_names, hyperclock};

fn compare(name: &str, more: &[&str]) {
    let db = fixture(name);
    let run = hyperclock(["db", "scan", "--db", &db, "--all-cf", "--tsv"].iter().chain(more)).exits(0);
    let expected = expected(name);
    for (number, (line, expected)) in run.stdout().lines().zip(&expected).enumerate() {
        assert_eq!(line, expected, "{name}, row {number}");
    }
    assert_eq!(run.stdout().lines().count(), expected.len(), "{name}");
    assert!(run.stderr().is_empty(), "{name}: {}", run.stderr());
}

#[test]
fn every_fixture_gives_its_rows() {
    let names = fixture_names();
    assert!(names.len() > 10, "{names:?}");
    for name in names {
        compare(&name, &[]);
    }
}

#[test]
fn threads_and_cache_size_change_nothing() {
    for more in [["--threads", "3"], ["--cache-size", "4KiB"], ["--cache-size", "0"]] {
        compare("v783_column_families", &more);
        compare("v1190_default", &more);
    }
}

#[test]
fn json_counts_the_same_rows() {
    let rows = expected("v783_column_families");
    for threads in ["1", "4"] {
        let run = hyperclock([
            "--json",
            "db",
            "scan",
            "--db",
            &fixture("v783_column_families"),
            "--all-cf",
            "--threads",
            threads,
        ])
        .exits(0);
        let object = run.object();
        assert_eq!(object["rows"], rows.len());
        let families = object["column_families"].as_array().unwrap();
        let names: Vec<_> = families.iter().map(|family| family["name"].as_str().unwrap()).collect();
        let mut in_order: Vec<_> = rows.iter().map(|row| row.split('\t').next().unwrap()).collect();
        in_order.dedup();
        assert_eq!(names, in_order);
        for family in families {
            let prefix = format!("{}\t", family["name"].as_str().unwrap());
            let bytes: usize = rows
                .iter()
                .filter(|row| row.starts_with(&prefix))
                .map(|row| row[prefix.len()..].replace('\t', "").len() / 2)
                .sum();
            assert_eq!(family["rows"], rows.iter().filter(|row| row.starts_with(&prefix)).count());
            assert_eq!(family["bytes"], bytes);
        }
    }
}
