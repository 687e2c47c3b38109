//! Databases of random shape, read in every way, give what an ordered map gives.
//!
//! A history of puts and deletes is cut into files: the oldest writes go to the deepest level, the
//! newest to level 0, and a level's files may part the versions of one key. The snapshot is
//! somewhere in the history.

mod support;

use std::collections::BTreeMap;

use hyperclock_sst::{Db, ReadOptions, comparator_by_name};
use support::tree::{Files, Version, write};
use support::{Rows, open, scan, scan_backward};

const BYTEWISE: &str = "leveldb.BytewiseComparator";
const REVERSE: &str = "rocksdb.ReverseBytewiseComparator";

/// The generator of Marsaglia's xorshift64.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % limit
    }
}

fn key(number: u64) -> Vec<u8> {
    // Some keys are prefixes of others.
    let digits = format!("k{number:03}");
    digits.as_bytes()[..if number.is_multiple_of(10) { 3 } else { 4 }].to_vec()
}

struct Tree {
    comparator: &'static str,
    levels: Vec<(u32, Files)>,
    snapshot: u64,
    rows: Rows,
}

fn tree(seed: u64) -> Tree {
    let mut random = Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
    let comparator = if seed.is_multiple_of(3) { REVERSE } else { BYTEWISE };
    let keys = 1 + random.below(60);
    let history: Vec<Version> = (1..=random.below(300))
        .map(|sequence| Version {
            key: key(random.below(keys)),
            sequence,
            value: (random.below(4) > 0)
                .then(|| sequence.to_string().repeat(1 + random.below(8) as usize).into_bytes()),
        })
        .collect();
    let snapshot = random.below(history.len() as u64 + 2);
    let mut live = BTreeMap::new();
    for version in history.iter().filter(|version| version.sequence <= snapshot) {
        match &version.value {
            Some(value) => live.insert(version.key.clone(), value.clone()),
            None => live.remove(&version.key),
        };
    }
    let mut rows: Rows = live.into_iter().collect();
    if comparator == REVERSE {
        rows.reverse();
    }

    let mut levels = Vec::new();
    let mut rest = history.as_slice();
    for (level, last) in [(6, false), (4, false), (1, false), (0, false), (0, false), (0, true)] {
        let part = if last { rest.len() } else { random.below(rest.len() as u64 + 1) as usize };
        let (part, newer) = rest.split_at(part);
        rest = newer;
        let files = cut(part.to_vec(), comparator, level, &mut random);
        if !files.is_empty() {
            levels.push((level, files));
        }
    }
    Tree { comparator, levels, snapshot, rows }
}

/// Sorts versions and cuts them into files anywhere, if the level is not the top one.
fn cut(mut versions: Vec<Version>, comparator: &str, level: u32, random: &mut Random) -> Files {
    let comparator = comparator_by_name(comparator).unwrap();
    versions.sort_by(|a, b| comparator.compare(&a.key, &b.key).then(b.sequence.cmp(&a.sequence)));
    let mut files: Files = Vec::new();
    for version in versions {
        if files.is_empty() || (level > 0 && random.below(6) == 0) {
            files.push(Vec::new());
        }
        files.last_mut().unwrap().push(version);
    }
    files
}

fn check(db: &Db, tree: &Tree, seed: u64) {
    assert!(scan(db, 0).unwrap() == tree.rows, "seed {seed}");
    let mut backward = scan_backward(db, 0).unwrap();
    backward.reverse();
    assert!(backward == tree.rows, "seed {seed}");

    let values: BTreeMap<_, _> = tree.rows.iter().cloned().collect();
    let keys: Vec<Vec<u8>> = (0..64).map(key).collect();
    let order = comparator_by_name(tree.comparator).unwrap();
    let mut iter = db.iter(0, &ReadOptions::default()).unwrap();
    for key in &keys {
        assert_eq!(db.get(0, key).unwrap().as_deref(), values.get(key).map(Vec::as_slice), "{key:?}");
        iter.seek(key).unwrap();
        let next = tree.rows.iter().find(|(row, _)| order.compare(row, key).is_ge());
        assert_eq!(iter.valid().then(|| iter.key()), next.map(|(row, _)| row.as_slice()));
        iter.seek_for_prev(key).unwrap();
        let previous = tree.rows.iter().rfind(|(row, _)| order.compare(row, key).is_le());
        assert_eq!(iter.valid().then(|| iter.value()), previous.map(|(_, value)| value.as_slice()));
    }
    for size in [1, 5, 64] {
        for batch in keys.chunks(size) {
            let batch: Vec<&[u8]> = batch.iter().rev().map(Vec::as_slice).collect();
            for (key, found) in batch.iter().zip(db.multi_get(0, &batch).unwrap()) {
                assert_eq!(found.unwrap().as_deref(), values.get(*key).map(Vec::as_slice), "{key:?}");
            }
        }
    }
}

#[test]
fn every_shape_and_snapshot() {
    for seed in 0..24 {
        let tree = tree(seed);
        let directory = tempfile::tempdir().unwrap();
        write(directory.path(), tree.comparator, &tree.levels, tree.snapshot);
        let db = open(directory.path()).unwrap_or_else(|error| panic!("seed {seed}: {error}"));
        check(&db, &tree, seed);
    }
}

#[test]
fn versions_of_one_key_in_two_files_of_a_level() {
    let version = |key: &[u8], sequence, value: Option<&[u8]>| Version {
        key: key.to_vec(),
        sequence,
        value: value.map(<[u8]>::to_vec),
    };
    let left = vec![version(b"a", 2, Some(b"a")), version(b"k", 9, Some(b"new"))];
    let right = vec![version(b"k", 4, Some(b"old")), version(b"z", 3, Some(b"z"))];
    for (snapshot, expected) in [(9, Some(&b"new"[..])), (8, Some(b"old")), (4, Some(b"old")), (3, None)] {
        let directory = tempfile::tempdir().unwrap();
        write(directory.path(), BYTEWISE, &[(1, vec![left.clone(), right.clone()])], snapshot);
        let db = open(directory.path()).unwrap();
        assert_eq!(db.get(0, b"k").unwrap().as_deref(), expected);
        // The batch comes to the left file by way of its first key.
        let found = db.multi_get(0, &[b"z", b"a", b"k"]).unwrap();
        assert_eq!(found[2].as_ref().unwrap().as_deref(), expected);
        let rows = scan(&db, 0).unwrap();
        assert_eq!(rows.iter().find(|(key, _)| key == b"k").map(|(_, value)| value.as_slice()), expected);
    }
}
