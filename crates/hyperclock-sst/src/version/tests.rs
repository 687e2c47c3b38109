use super::*;
use crate::key::{InternalKey, MAX_SEQUENCE, ValueType};

fn key(user_key: &[u8], sequence: u64) -> Vec<u8> {
    InternalKey { user_key, sequence, value_type: ValueType::Value }.encode()
}

fn file(number: u64, smallest: &[u8], largest: &[u8], sequences: (u64, u64)) -> FileMetadata {
    FileMetadata {
        number,
        size: 1000,
        smallest: key(smallest, sequences.1),
        largest: key(largest, sequences.0),
        smallest_sequence: sequences.0,
        largest_sequence: sequences.1,
        timestamps_persisted: true,
        ..FileMetadata::default()
    }
}

/// The edit that every MANIFEST begins with, in effect.
fn totals() -> VersionEdit {
    VersionEdit { log_number: Some(3), next_file_number: Some(100), last_sequence: Some(50), ..VersionEdit::default() }
}

fn add(level: u32, files: impl IntoIterator<Item = FileMetadata>) -> VersionEdit {
    VersionEdit { new_files: files.into_iter().map(|file| (level, file)).collect(), ..VersionEdit::default() }
}

fn build(edits: impl IntoIterator<Item = VersionEdit>) -> Result<Version> {
    let mut builder = VersionBuilder::new();
    builder.apply(totals())?;
    for edit in edits {
        builder.apply(edit)?;
    }
    builder.finish()
}

fn numbers(version: &Version, family: usize) -> Vec<(u32, Vec<u64>)> {
    let levels = &version.families[family].levels;
    levels.iter().map(|l| (l.level, l.files.iter().map(|f| f.number).collect())).collect()
}

fn message(outcome: Result<Version>) -> String {
    match outcome {
        Err(Defect::Corrupt(what) | Defect::Unsupported(what)) => what.into_owned(),
        Ok(_) => panic!("this should be refused"),
    }
}

#[test]
fn a_moved_file_is_deleted_before_it_is_added() {
    let mut moved = add(6, [file(9, b"a", b"c", (1, 5))]);
    moved.deleted_files = vec![(0, 9)];
    let version = build([add(0, [file(9, b"a", b"c", (1, 5))]), moved]).ok().unwrap();
    assert_eq!(numbers(&version, 0), [(6, vec![9])]);
    assert_eq!(version.last_sequence, 50);
}

#[test]
fn level_0_goes_by_epoch_only_if_all_files_of_the_family_have_one() {
    let with_epoch =
        |number, epoch_number, sequences| FileMetadata { epoch_number, ..file(number, b"a", b"z", sequences) };
    let newest_by_epoch = || [with_epoch(11, 9, (1, 2)), with_epoch(12, 8, (3, 9))];
    let version = build([add(0, newest_by_epoch())]).ok().unwrap();
    assert_eq!(numbers(&version, 0), [(0, vec![11, 12])]);
    let without = add(3, [file(13, b"a", b"z", (0, 0))]);
    let version = build([add(0, newest_by_epoch()), without]).ok().unwrap();
    assert_eq!(numbers(&version, 0), [(0, vec![12, 11]), (3, vec![13])]);
}

#[test]
fn level_0_ties_go_by_sequences_and_then_by_number() {
    let files = [
        file(1, b"a", b"b", (4, 9)),
        file(2, b"a", b"b", (5, 9)),
        file(3, b"a", b"b", (5, 9)),
        file(4, b"a", b"b", (1, 3)),
    ];
    let version = build([add(0, files)]).ok().unwrap();
    assert_eq!(numbers(&version, 0), [(0, vec![3, 2, 1, 4])]);
}

#[test]
fn deeper_levels_are_sorted_and_must_not_overlap() {
    let apart = [file(1, b"m", b"p", (0, 0)), file(2, b"a", b"c", (0, 0))];
    assert_eq!(numbers(&build([add(1, apart)]).ok().unwrap(), 0), [(1, vec![2, 1])]);
    // One key's versions may end one file and begin the next.
    let split = [file(1, b"a", b"k", (9, 9)), file(2, b"k", b"z", (4, 4))];
    assert_eq!(numbers(&build([add(1, split)]).ok().unwrap(), 0), [(1, vec![1, 2])]);
    let overlapping = [file(1, b"a", b"m", (0, 0)), file(2, b"k", b"z", (0, 0))];
    assert_eq!(message(build([add(1, overlapping)])), "files 1 and 2 of level 1 overlap");
}

#[test]
fn a_file_whose_bounds_are_swapped_is_refused() {
    let swapped = add(0, [file(4, b"z", b"a", (1, 1))]);
    assert_eq!(message(build([swapped])), "smallest key of file 4 is above its largest");
}

#[test]
fn a_tombstone_end_may_touch_the_next_file() {
    let mut left = file(1, b"a", b"k", (0, 0));
    left.largest =
        InternalKey { user_key: b"k", sequence: MAX_SEQUENCE, value_type: ValueType::RangeDeletion }.encode();
    assert!(build([add(1, [left, file(2, b"k", b"z", (4, 4))])]).is_ok());
}

#[test]
fn deletions_and_additions_must_fit_the_state() {
    let unknown = VersionEdit { deleted_files: vec![(1, 7)], ..VersionEdit::default() };
    assert_eq!(message(build([unknown])), "file 7 is deleted from level 1, where it is not");
    let twice = [add(0, [file(7, b"a", b"b", (1, 1))]), add(1, [file(7, b"a", b"b", (1, 1))])];
    assert_eq!(message(build(twice)), "file 7 is added to level 1 and is live in level 0");
}

fn family(id: u32, name: Option<&str>) -> VersionEdit {
    VersionEdit { column_family: id, add_column_family: name.map(str::to_owned), ..VersionEdit::default() }
}

#[test]
fn column_families_come_and_go() {
    let reverse = VersionEdit {
        comparator: Some("rocksdb.ReverseBytewiseComparator".to_owned()),
        log_number: Some(17),
        ..family(2, Some("reverse"))
    };
    let dropped = VersionEdit { drop_column_family: true, ..family(1, None) };
    let filled = VersionEdit { column_family: 2, ..add(4, [file(1, b"m", b"b", (0, 0)), file(2, b"z", b"p", (0, 0))]) };
    let version = build([family(1, Some("gone")), reverse, dropped, filled]).ok().unwrap();
    let names: Vec<_> = version.families.iter().map(|f| (f.id, f.name.as_str())).collect();
    assert_eq!(names, [(0, "default"), (2, "reverse")]);
    assert_eq!(version.families[1].log_number, 17);
    assert_eq!(numbers(&version, 1), [(4, vec![2, 1])]);
}

#[test]
fn families_that_contradict_each_other_are_refused() {
    let drop_default = VersionEdit { drop_column_family: true, ..VersionEdit::default() };
    let named = |name: &str| VersionEdit { comparator: Some(name.to_owned()), ..VersionEdit::default() };
    let cases = [
        (vec![drop_default], "column family 0 cannot be dropped"),
        (vec![family(5, None)], "column family 5 does not exist"),
        (vec![family(1, Some("a")), family(1, Some("b"))], "column family 1 (b) is added a second time"),
        (vec![family(1, Some("default"))], "two column families are named default"),
        (vec![named("one"), named("two")], "column family 0 changes its comparator from one to two"),
        (vec![named("mine")], "comparator mine of column family default"),
        (
            vec![named("leveldb.BytewiseComparator.u64ts")],
            "user-defined timestamps, comparator leveldb.BytewiseComparator.u64ts of column family \
             default",
        ),
    ];
    for (edits, expected) in cases {
        assert_eq!(message(build(edits)), expected);
    }
}

#[test]
fn an_atomic_group_is_applied_whole_or_not_at_all() {
    let part = |remaining, number| VersionEdit {
        remaining_in_group: Some(remaining),
        ..add(0, [file(number, b"a", b"b", (number, number))])
    };
    let version = build([part(1, 1), part(0, 2), part(1, 3)]).ok().unwrap();
    assert_eq!(numbers(&version, 0), [(0, vec![2, 1])]);
    for broken in [vec![part(2, 1), part(0, 2)], vec![part(1, 1), totals()]] {
        assert!(message(build(broken)).starts_with("atomic group"));
    }
}

#[test]
fn the_totals_must_be_there() {
    for (missing, expected) in [
        (VersionEdit { log_number: None, ..totals() }, "log number"),
        (VersionEdit { next_file_number: None, ..totals() }, "next file number"),
        (VersionEdit { last_sequence: None, ..totals() }, "last sequence number"),
    ] {
        let mut builder = VersionBuilder::new();
        assert!(builder.apply(missing).is_ok());
        assert!(message(builder.finish()).ends_with(expected));
    }
}
