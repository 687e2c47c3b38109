//! `stats` sums up the live files by family and level.

mod support;

use std::collections::BTreeMap;

use hyperclock_sst::{BlockKind, LevelStats};
use support::{fixture, open};

fn levels(name: &str, family: usize) -> Vec<LevelStats> {
    let db = open(&fixture(name).path).unwrap();
    db.stats().unwrap().families.swap_remove(family).levels
}

fn blocks(level: &LevelStats) -> BTreeMap<&'static str, u64> {
    level.blocks.iter().map(|&(kind, count)| (kind.name(), count)).collect()
}

#[test]
fn files_entries_and_bytes_by_level() {
    let path = fixture("v783_levels").path;
    let levels = levels("v783_levels", 0);
    assert_eq!(levels.iter().map(|level| level.level).collect::<Vec<_>>(), [0, 1, 2, 6]);
    let bytes: u64 = levels.iter().map(|level| level.bytes).sum();
    let on_disk: u64 = support::files(&path, "sst").iter().map(|file| file.metadata().unwrap().len()).sum();
    assert!(bytes <= on_disk && bytes > 0);
    for level in &levels {
        assert!(level.files > 0 && level.entries > 0);
        assert_eq!(level.format_versions, BTreeMap::from([(5, level.files)]));
        assert_eq!(level.unknown_filters, 0);
    }
}

#[test]
fn families_come_in_id_order() {
    let fixture = fixture("v783_column_families");
    let db = open(&fixture.path).unwrap();
    let stats = db.stats().unwrap();
    let of_stats: Vec<_> = stats.families.iter().map(|family| (family.id, family.name.as_str())).collect();
    let of_db: Vec<_> = db.column_families().iter().map(|family| (family.id, family.name.as_str())).collect();
    assert_eq!(of_stats, of_db);
    assert!(of_db.is_sorted());
}

#[test]
fn blocks_by_kind_include_partitions() {
    let bottom = levels("v783_partitioned_bloom", 0).pop().unwrap();
    let blocks = blocks(&bottom);
    assert!(blocks["data"] > 8, "{blocks:?}");
    assert_eq!(blocks["filter"] + 1, blocks["index"], "{blocks:?}");
    assert_eq!(blocks["filter_partition_index"], 1, "{blocks:?}");
    assert!(bottom.blocks.iter().all(|&(kind, _)| kind != BlockKind::RangeDeletion));
}

#[test]
fn what_is_counted_is_what_a_scan_reads() {
    let fixture = fixture("v783_two_level_index");
    let db = open(&fixture.path).unwrap();
    support::scan(&db, 0).unwrap();
    let levels = db.stats().unwrap().families.swap_remove(0).levels;
    for kind in [BlockKind::Data, BlockKind::Index] {
        let counted: u64 = levels.iter().map(|level| blocks(level)[kind.name()]).sum();
        assert_eq!(db.counters().reads(kind).blocks, counted, "{kind:?}");
    }
}
