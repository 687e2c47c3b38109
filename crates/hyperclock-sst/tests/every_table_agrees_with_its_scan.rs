//! Each table of the fixtures, on its own: what a forward scan shows, the backward scan, seeks, single lookups and
//! batches show too, through a cache of any size.

use std::fs;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use hyperclock::BlockCache;
use hyperclock_sst::{
    Error, FileSystem, InternalKey, ReadOptions, StdFileSystem, Table, TableOptions, comparator_by_name,
};

type Rows = Vec<(Vec<u8>, Vec<u8>)>;

fn tables() -> Vec<PathBuf> {
    let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures");
    let mut found = Vec::new();
    for directory in fs::read_dir(fixtures).unwrap().map(|e| e.unwrap().path()).filter(|p| p.is_dir()) {
        found.extend(
            fs::read_dir(directory)
                .unwrap()
                .map(|e| e.unwrap().path())
                .filter(|p| p.extension().is_some_and(|e| e == "sst")),
        );
    }
    found.sort();
    found
}

fn open(path: &Path, cache: &BlockCache) -> Table {
    let file = StdFileSystem.open(path).unwrap();
    for name in ["leveldb.BytewiseComparator", "rocksdb.ReverseBytewiseComparator"] {
        let comparator = comparator_by_name(name).unwrap();
        match Table::open(file.clone(), path, 1, &comparator, cache, &TableOptions::default()) {
            Ok(table) => return table,
            Err(Error::InvalidArgument(_)) => {}
            Err(e) => panic!("{e}"),
        }
    }
    panic!("{}: no comparator fits", path.display());
}

fn scan(table: &Table, read: ReadOptions) -> Result<Rows, Error> {
    let mut rows = Vec::new();
    let mut iter = table.iter(&read);
    iter.seek_to_first()?;
    while iter.valid() {
        rows.push((iter.key().to_vec(), iter.value().to_vec()));
        iter.next()?;
    }
    Ok(rows)
}

fn user_key(row: &(Vec<u8>, Vec<u8>)) -> &[u8] {
    InternalKey::parse(&row.0).unwrap().user_key
}

fn check(table: &Table, rows: &Rows) {
    let read = ReadOptions::default();
    let mut iter = table.iter(&read);
    iter.seek_to_last().unwrap();
    for (key, value) in rows.iter().rev() {
        assert_eq!((iter.key(), iter.value()), (&key[..], &value[..]));
        iter.prev().unwrap();
    }
    assert!(!iter.valid());

    for (i, row) in rows.iter().enumerate() {
        let (key, value) = row;
        iter.seek(key).unwrap();
        assert_eq!((iter.key(), iter.value()), (&key[..], &value[..]));
        iter.seek_for_prev(key).unwrap();
        assert_eq!((iter.key(), &*iter.pinned_value()), (&key[..], &value[..]));

        // A lookup visits this version and the older ones, and nothing else.
        let versions = rows[i..].iter().take_while(|other| user_key(other) == user_key(row)).count();
        let mut seen = 0;
        table
            .get(key, &read, &mut |key, value| {
                let expected = &rows[i + seen];
                assert_eq!((key.encode(), &*value), (expected.0.clone(), &expected.1[..]));
                seen += 1;
                ControlFlow::Continue(())
            })
            .unwrap();
        assert_eq!(seen, versions);

        // The key with a byte appended is in none of the fixtures.
        let absent = InternalKey { user_key: &[user_key(row), b"\x01"].concat(), ..InternalKey::parse(key).unwrap() };
        table.get(&absent.encode(), &read, &mut |key, _| panic!("found {key:?}")).unwrap();
    }

    let targets: Vec<&[u8]> = rows.iter().map(|(key, _)| &key[..]).collect();
    let mut found = vec![false; rows.len()];
    table
        .multi_get(&targets, &read, &mut |i, _, value| {
            assert_eq!(*value, *rows[i].1);
            found[i] = true;
            ControlFlow::Break(())
        })
        .unwrap();
    assert!(found.iter().all(|&found| found));
}

#[test]
fn with_all_blocks_cached_and_with_hardly_any() {
    let tables = tables();
    assert!(tables.len() > 20, "{} tables", tables.len());
    for path in tables {
        let cache = BlockCache::new(64 << 20);
        let table = open(&path, &cache);
        let private = ReadOptions::new().fill_cache(false);
        let rows = match scan(&table, private) {
            Ok(rows) => rows,
            #[cfg(not(feature = "zstd"))]
            Err(Error::Unsupported { .. }) => continue,
            Err(e) => panic!("{e}"),
        };
        assert_eq!(rows.len() as u64, table.properties().num_entries, "{}", path.display());
        assert_eq!(cache.occupancy(), 0);
        check(&table, &rows);
        assert_eq!(scan(&table, ReadOptions::default()).unwrap(), rows);
        assert_eq!(cache.pinned_usage(), 0);

        let tiny = BlockCache::new(4 << 10);
        // A sample: nearly every step reads from disk.
        let sample: Rows = rows.iter().take(60).cloned().collect();
        let table = open(&path, &tiny);
        for (key, value) in &sample {
            let mut found = None;
            table
                .get(key, &ReadOptions::default(), &mut |_, value| {
                    found = Some(value.pin());
                    ControlFlow::Break(())
                })
                .unwrap();
            assert_eq!(found.as_deref(), Some(&value[..]));
        }
    }
}
