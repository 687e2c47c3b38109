//! Tables from `SstWriter` hold what was put into them, whatever the options, keys and versions.

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::sync::Arc;

use hyperclock::BlockCache;
use hyperclock_sst::writer::{SstInfo, SstWriter, WriterOptions};
use hyperclock_sst::{
    BytewiseComparator, ChecksumType, Comparator, CompressionType, InternalKey, MAX_SEQUENCE, ReadOptions,
    ReverseBytewiseComparator, StdFile, Table, TableOptions, ValueType, encode_seek_key,
};
use proptest::prelude::*;

/// Versions of a key: sequence number to value, or to `None` for a tombstone.
type Versions = BTreeMap<u64, Option<Vec<u8>>>;
type Keys = BTreeMap<Vec<u8>, Versions>;

fn keys() -> impl Strategy<Value = Keys> {
    let key = prop_oneof![
        3 => "key[0-9]{1,4}".prop_map(String::into_bytes),
        1 => prop::collection::vec(any::<u8>(), 0..12),
        1 => prop::collection::vec(prop_oneof![Just(0u8), Just(0xff), Just(b'k')], 0..40),
    ];
    let value = prop::option::weighted(
        0.9,
        prop_oneof![
            4 => prop::collection::vec(any::<u8>(), 0..30),
            1 => (any::<u8>(), 0..3000usize).prop_map(|(byte, length)| vec![byte; length]),
        ],
    );
    let versions = prop_oneof![
        6 => prop::collection::btree_map(0..1000u64, value.clone(), 1..2),
        1 => prop::collection::btree_map(0..=MAX_SEQUENCE, value, 1..30),
    ];
    prop::collection::btree_map(key, versions, 0..150)
}

fn options() -> impl Strategy<Value = WriterOptions> {
    (
        any::<bool>(),
        prop_oneof![Just(64usize), Just(300), Just(4096), Just(40_000)],
        prop_oneof![Just(1u32), Just(2), Just(16)],
        prop_oneof![
            Just(CompressionType::None),
            Just(CompressionType::Snappy),
            Just(CompressionType::Lz4),
            Just(CompressionType::Zstd),
            Just(CompressionType::Zlib),
        ],
        prop_oneof![
            Just(ChecksumType::None),
            Just(ChecksumType::Crc32c),
            Just(ChecksumType::XxHash32),
            Just(ChecksumType::XxHash64),
            Just(ChecksumType::Xxh3),
        ],
        prop::option::of(1.0..40.0f64),
    )
        .prop_map(|(reverse, block_size, restart_interval, compression, checksum, bloom_bits_per_key)| {
            WriterOptions {
                comparator: if reverse { Arc::new(ReverseBytewiseComparator) } else { Arc::new(BytewiseComparator) },
                block_size,
                restart_interval,
                compression,
                checksum,
                bloom_bits_per_key,
                db_id: "1ddeee86-80ad-45ab-bea0-64304d0fe9b7".to_owned(),
                session_id: "RQHYZN4YMTGFI6GWRNXW".to_owned(),
                file_number: 9,
                ..WriterOptions::default()
            }
        })
}

/// Entries in the order in which a table holds them.
fn entries(keys: &Keys, comparator: &dyn Comparator) -> Vec<(Vec<u8>, Vec<u8>)> {
    let mut order: Vec<_> = keys.iter().collect();
    order.sort_by(|(a, _), (b, _)| comparator.compare(a, b));
    let mut entries = Vec::new();
    for (user_key, versions) in order {
        for (&sequence, value) in versions.iter().rev() {
            let value_type = if value.is_some() { ValueType::Value } else { ValueType::Deletion };
            let key = InternalKey { user_key, sequence, value_type }.encode();
            entries.push((key, value.clone().unwrap_or_default()));
        }
    }
    entries
}

fn write(path: &std::path::Path, options: &WriterOptions, entries: &[(Vec<u8>, Vec<u8>)]) -> SstInfo {
    let mut table = SstWriter::create(path, options.clone()).unwrap();
    for (key, value) in entries {
        let key = InternalKey::parse(key).unwrap();
        match key.value_type {
            ValueType::Value => table.put(key.user_key, key.sequence, value).unwrap(),
            _ => table.delete(key.user_key, key.sequence).unwrap(),
        }
    }
    table.finish().unwrap()
}

fn collect(table: &Table) -> Vec<(Vec<u8>, Vec<u8>)> {
    let mut iter = table.iter(&ReadOptions::default());
    let mut found = Vec::new();
    iter.seek_to_first().unwrap();
    while iter.valid() {
        found.push((iter.key().to_vec(), iter.value().to_vec()));
        iter.next().unwrap();
    }
    found
}

fn versions_of(table: &Table, user_key: &[u8], sequence: u64) -> Versions {
    let mut target = Vec::new();
    encode_seek_key(&mut target, user_key, sequence);
    let mut found = Versions::new();
    table
        .get(&target, &ReadOptions::default(), &mut |key, value| {
            assert_eq!(key.user_key, user_key);
            let value = (key.value_type == ValueType::Value).then(|| value.to_vec());
            assert!(found.insert(key.sequence, value).is_none());
            ControlFlow::Continue(())
        })
        .unwrap();
    found
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(150))]

    #[test]
    fn a_table_holds_what_was_put_into_it(keys in keys(), options in options(), absent in prop::collection::vec(any::<u8>(), 0..6)) {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("000009.sst");
        let entries = entries(&keys, &*options.comparator);
        let info = write(&path, &options, &entries);
        prop_assert_eq!(info.num_entries, entries.len() as u64);
        prop_assert_eq!(info.file_size, std::fs::metadata(&path).unwrap().len());
        prop_assert_eq!(entries.first().map_or(&[][..], |(key, _)| key), &info.smallest_key[..]);
        prop_assert_eq!(entries.last().map_or(&[][..], |(key, _)| key), &info.largest_key[..]);

        let cache = BlockCache::builder().capacity(8 << 20).build().unwrap();
        let file = Arc::new(StdFile::open(&path).unwrap());
        let table = Table::open(file, &path, 9, &options.comparator, &cache, &TableOptions::default()).unwrap();
        prop_assert_eq!(table.format_version(), 5);
        prop_assert_eq!(table.checksum_type(), options.checksum);
        prop_assert!(table.has_stable_cache_keys());
        prop_assert!(!table.has_unknown_filter());
        let properties = table.properties();
        prop_assert_eq!(properties.num_entries, info.num_entries);
        prop_assert_eq!(properties.num_deletions, info.num_deletions);
        prop_assert_eq!(properties.num_data_blocks, info.num_data_blocks);
        prop_assert_eq!(properties.data_size, info.data_size);
        prop_assert_eq!(properties.unique_id(), Some([0xa9ae_2173_226b_f1f4, 0xdd10_94c1_c984_1455]));

        prop_assert_eq!(collect(&table), entries);
        for (user_key, versions) in &keys {
            prop_assert_eq!(&versions_of(&table, user_key, MAX_SEQUENCE), versions);
            let middle = *versions.keys().nth(versions.len() / 2).unwrap();
            let visible: Versions = versions.range(..=middle).map(|(s, v)| (*s, v.clone())).collect();
            prop_assert_eq!(versions_of(&table, user_key, middle), visible);
        }
        if !keys.contains_key(&absent) {
            prop_assert!(versions_of(&table, &absent, MAX_SEQUENCE).is_empty());
        }
    }
}

#[test]
fn a_filter_of_ten_bits_errs_about_once_in_a_hundred() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("000009.sst");
    let options = WriterOptions::default();
    let mut writer = SstWriter::create(&path, options.clone()).unwrap();
    for n in 0..20_000u64 {
        writer.put(&(n * 2).to_be_bytes(), 1, b"").unwrap();
    }
    writer.finish().unwrap();
    let cache = BlockCache::builder().capacity(8 << 20).build().unwrap();
    let file = Arc::new(StdFile::open(&path).unwrap());
    let table = Table::open(file, &path, 9, &options.comparator, &cache, &TableOptions::default()).unwrap();
    assert!(table.has_filter());
    let read = ReadOptions::default();
    let passed = (0..20_000u64).filter(|n| table.may_contain(&(n * 2 + 1).to_be_bytes(), &read).unwrap()).count();
    assert!((50..400).contains(&passed), "{passed} of 20,000");
    assert!((0..20_000u64).all(|n| table.may_contain(&(n * 2).to_be_bytes(), &read).unwrap()));
}
