//! `db stats`: files, entries, bytes, format versions and blocks by column family and level.

mod common;

use common::{fixture, hyperclock};

#[test]
fn levels_have_the_files_that_rocksdb_lists() {
    let report = hyperclock(["db", "stats", "--json", "--db", &fixture("v1190_default")]).exits(0).object();
    let families = report["column_families"].as_array().unwrap();
    assert_eq!(families.len(), 1);
    assert_eq!(families[0]["name"], "default");
    let levels = families[0]["levels"].as_array().unwrap();
    let figures: Vec<_> = levels
        .iter()
        .map(|level| {
            (level["level"].as_u64(), level["files"].as_u64(), level["entries"].as_u64(), level["bytes"].as_u64())
        })
        .collect();
    assert_eq!(figures, [(Some(0), Some(1), Some(440), Some(5569)), (Some(6), Some(1), Some(2000), Some(67_002))]);
    for level in levels {
        assert!(level["format_versions"].as_object().is_some_and(|versions| !versions.is_empty()), "{level}");
        assert!(level["blocks_by_kind"]["data"].as_u64().unwrap() > 0, "{level}");
        assert!(level["unknown_filters"].is_u64());
    }
}

#[test]
fn all_families_or_one() {
    let db = fixture("v783_column_families");
    let names = |more: &[&str]| {
        let report = hyperclock(["db", "stats", "--json", "--db", &db].iter().chain(more)).exits(0).object();
        let families = report["column_families"].as_array().unwrap().clone();
        families.iter().map(|family| family["name"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(names(&["--all-cf"]), ["default", "reversed", "plain"]);
    assert_eq!(names(&[]), ["default", "reversed", "plain"]);
    assert_eq!(names(&["--cf", "reversed"]), ["reversed"]);
}

#[test]
fn the_table_for_people_names_family_and_level() {
    let run = hyperclock(["db", "stats", "--db", &fixture("v1190_default")]).exits(0);
    for part in ["default", "level", "files", "entries", " 2 files, 2,440 entries, "] {
        assert!(run.stdout().contains(part), "{part} is not in:\n{}", run.stdout());
    }
    let one = hyperclock(["db", "stats", "--db", &fixture("v1190_tiny_fv7")]).exits(0);
    assert!(one.stdout().contains(" 1 file, "), "{}", one.stdout());
}
