//! Tables put together by hand, so that each oddity of the format can be had alone.

use std::collections::BTreeMap;
use std::ops::ControlFlow;

use hyperclock::BlockCache;

use super::*;
use crate::checksum::{ChecksumType, context_modifier};
use crate::coding::{put_fixed32, put_fixed64, put_varint32, put_varint64};
use crate::footer::BLOCK_BASED_MAGIC;
use crate::key::{BytewiseComparator, InternalKey, MAX_SEQUENCE, ValueType, encode_seek_key};

type Entries = Vec<(Vec<u8>, Vec<u8>)>;

/// What a test table is made of.
struct Recipe {
    format_version: u32,
    checksum: ChecksumType,
    /// Internal keys and values, block by block.
    blocks: Vec<Entries>,
    properties: BTreeMap<String, Vec<u8>>,
    /// Further blocks, by the name that the metaindex gives them.
    extra: BTreeMap<String, Vec<u8>>,
    two_level: bool,
    /// Bytes between data blocks.
    padding: usize,
}

fn internal(user_key: &[u8], sequence: u64) -> Vec<u8> {
    InternalKey { user_key, sequence, value_type: ValueType::Value }.encode()
}

fn seek_key(user_key: &[u8], sequence: u64) -> Vec<u8> {
    let mut out = Vec::new();
    encode_seek_key(&mut out, user_key, sequence);
    out
}

fn plain_block(entries: &[(Vec<u8>, Vec<u8>)]) -> Vec<u8> {
    let mut out = Vec::new();
    let mut restarts = Vec::new();
    for (key, value) in entries {
        restarts.push(out.len() as u32);
        put_varint32(&mut out, 0);
        put_varint32(&mut out, key.len() as u32);
        put_varint32(&mut out, value.len() as u32);
        out.extend_from_slice(key);
        out.extend_from_slice(value);
    }
    for &restart in &restarts {
        put_fixed32(&mut out, restart);
    }
    put_fixed32(&mut out, restarts.len() as u32);
    out
}

fn encode_handle(handle: BlockHandle) -> Vec<u8> {
    let mut out = Vec::new();
    put_varint64(&mut out, handle.offset);
    put_varint64(&mut out, handle.size);
    out
}

impl Recipe {
    /// Keys `k00` to `k39`, sequence number 5, five to a block.
    fn new(format_version: u32) -> Self {
        let entry = |i: usize| (internal(format!("k{i:02}").as_bytes(), 5), format!("v{i}").into_bytes());
        let blocks = (0..8).map(|b| (0..5).map(|i| entry(b * 5 + i)).collect()).collect();
        let properties = [
            ("rocksdb.block.based.table.index.type", vec![0, 0, 0, 0]),
            ("rocksdb.comparator", b"leveldb.BytewiseComparator".to_vec()),
            ("rocksdb.creating.db.identity", b"db".to_vec()),
            ("rocksdb.creating.session.identity", b"RQHYZN4YMTGFI6GWRNXW".to_vec()),
            ("rocksdb.original.file.number", vec![9]),
        ];
        Self {
            format_version,
            checksum: ChecksumType::Xxh3,
            blocks,
            properties: properties.into_iter().map(|(k, v)| (k.to_owned(), v)).collect(),
            extra: BTreeMap::new(),
            two_level: false,
            padding: 0,
        }
    }

    fn property(mut self, name: &str, value: &[u8]) -> Self {
        self.properties.insert(name.to_owned(), value.to_vec());
        self
    }

    fn base(&self) -> u32 {
        if self.format_version >= 6 { 0x1234_5678 } else { 0 }
    }

    fn put_block(&self, file: &mut Vec<u8>, body: &[u8]) -> BlockHandle {
        let offset = file.len() as u64;
        file.extend_from_slice(body);
        file.push(0);
        let checksum = self.checksum.compute(body, 0).wrapping_add(context_modifier(self.base(), offset));
        put_fixed32(file, checksum);
        BlockHandle { offset, size: body.len() as u64 }
    }

    fn build(&self) -> Vec<u8> {
        let mut file = Vec::new();
        let mut index: Entries = Vec::new();
        for entries in &self.blocks {
            let handle = self.put_block(&mut file, &plain_block(entries));
            index.push((entries.last().unwrap().0.clone(), encode_handle(handle)));
            file.extend(std::iter::repeat_n(0xaa, self.padding));
        }
        let mut properties = self.properties.clone();
        if self.two_level {
            properties.insert("rocksdb.block.based.table.index.type".to_owned(), vec![2, 0, 0, 0]);
            index = index
                .chunks(3)
                .map(|part| {
                    let handle = self.put_block(&mut file, &plain_block(part));
                    (part.last().unwrap().0.clone(), encode_handle(handle))
                })
                .collect();
        }
        let index = self.put_block(&mut file, &plain_block(&index));
        let mut metaindex = BTreeMap::new();
        for (name, body) in &self.extra {
            metaindex.insert(name.clone().into_bytes(), encode_handle(self.put_block(&mut file, body)));
        }
        let properties: Entries = properties.into_iter().map(|(k, v)| (k.into_bytes(), v)).collect();
        let properties = self.put_block(&mut file, &plain_block(&properties));
        metaindex.insert(b"rocksdb.properties".to_vec(), encode_handle(properties));
        if self.format_version >= 6 {
            metaindex.insert(b"rocksdb.index".to_vec(), encode_handle(index));
        }
        let metaindex: Entries = metaindex.into_iter().collect();
        let metaindex = self.put_block(&mut file, &plain_block(&metaindex));
        self.put_footer(&mut file, metaindex, index);
        file
    }

    fn put_footer(&self, file: &mut Vec<u8>, metaindex: BlockHandle, index: BlockHandle) {
        let at = file.len();
        file.push(self.checksum.as_u8());
        if self.format_version < 6 {
            file.extend(encode_handle(metaindex));
            file.extend(encode_handle(index));
        } else {
            file.extend([0x3e, 0, 0x7a, 0, 0, 0, 0, 0]);
            put_fixed32(file, self.base());
            put_fixed32(file, metaindex.size as u32);
        }
        file.resize(at + 41, 0);
        put_fixed32(file, self.format_version);
        put_fixed64(file, BLOCK_BASED_MAGIC);
        if self.format_version >= 6 {
            let modifier = context_modifier(self.base(), at as u64);
            let checksum = self.checksum.compute_all(&file[at..]).wrapping_add(modifier);
            file[at + 5..at + 9].copy_from_slice(&checksum.to_le_bytes());
        }
    }
}

fn cache() -> BlockCache {
    BlockCache::builder().capacity(1 << 20).build().unwrap()
}

fn open_with(bytes: Vec<u8>, cache: &BlockCache, options: &TableOptions) -> Result<Table> {
    let comparator: Arc<dyn Comparator> = Arc::new(BytewiseComparator);
    Table::open(Arc::new(bytes), Path::new("000009.sst"), 9, &comparator, cache, options)
}

fn open(recipe: &Recipe) -> Result<Table> {
    open_with(recipe.build(), &cache(), &TableOptions::default())
}

fn lookup(table: &Table, user_key: &[u8], sequence: u64) -> Option<(u64, Vec<u8>)> {
    let mut found = None;
    table
        .get(&seek_key(user_key, sequence), &ReadOptions::default(), &mut |key, value| {
            found = Some((key.sequence, value.to_vec()));
            ControlFlow::Break(())
        })
        .unwrap();
    found
}

fn scan(table: &Table) -> Entries {
    let mut iter = table.iter(&ReadOptions::default());
    let mut out = Vec::new();
    iter.seek_to_first().unwrap();
    while iter.valid() {
        out.push((iter.key().to_vec(), iter.value().to_vec()));
        iter.next().unwrap();
    }
    out
}

#[track_caller]
fn assert_unsupported(recipe: &Recipe, word: &str) {
    match open(recipe) {
        Err(Error::Unsupported { file, feature }) => {
            assert_eq!(file, Path::new("000009.sst"));
            assert!(feature.contains(word), "{feature}");
        }
        other => panic!("{word}: {other:?}"),
    }
}

#[track_caller]
fn assert_corrupt<T: fmt::Debug>(result: Result<T>, word: &str) {
    match result {
        Err(Error::Corruption { what, .. }) => assert!(what.contains(word), "{what}"),
        other => panic!("{word}: {other:?}"),
    }
}

#[test]
fn versions_and_checksums_and_index_levels_read_alike() {
    let checksums =
        [ChecksumType::None, ChecksumType::Crc32c, ChecksumType::XxHash32, ChecksumType::XxHash64, ChecksumType::Xxh3];
    for format_version in 2..=7 {
        for checksum in checksums {
            for two_level in [false, true] {
                let recipe = Recipe { checksum, two_level, padding: 7, ..Recipe::new(format_version) };
                let table = open(&recipe).unwrap();
                assert_eq!(table.format_version(), format_version);
                assert_eq!(table.checksum_type(), checksum);
                assert_eq!(scan(&table), recipe.blocks.concat());
                assert_eq!(lookup(&table, b"k17", MAX_SEQUENCE), Some((5, b"v17".to_vec())));
                assert_eq!(lookup(&table, b"k17", 4), None);
                assert_eq!(lookup(&table, b"k17x", MAX_SEQUENCE), None);
                assert_eq!(lookup(&table, b"z", MAX_SEQUENCE), None);
            }
        }
    }
}

#[test]
fn iterators_seek_both_ways() {
    for two_level in [false, true] {
        let table = open(&Recipe { two_level, ..Recipe::new(5) }).unwrap();
        let mut iter = table.iter(&ReadOptions::default());
        iter.seek(&seek_key(b"k14x", 9)).unwrap();
        assert_eq!(iter.key(), internal(b"k15", 5));
        iter.prev().unwrap();
        assert_eq!(iter.key(), internal(b"k14", 5));
        iter.seek_for_prev(&seek_key(b"k14x", 9)).unwrap();
        assert_eq!(iter.value(), b"v14");
        iter.seek_for_prev(&seek_key(b"zz", 9)).unwrap();
        assert_eq!(iter.value(), b"v39");
        iter.seek_for_prev(&internal(b"k00", 5)).unwrap();
        assert_eq!(iter.value(), b"v0");
        iter.seek_for_prev(&internal(b"k00", 6)).unwrap();
        assert!(!iter.valid());
        iter.seek(&seek_key(b"zz", 9)).unwrap();
        assert!(!iter.valid() && iter.key().is_empty() && iter.value().is_empty());
        iter.seek_to_last().unwrap();
        let pinned = iter.pinned_value();
        for i in (0..40).rev() {
            assert_eq!(iter.value(), format!("v{i}").as_bytes());
            iter.prev().unwrap();
        }
        assert!(!iter.valid());
        assert_eq!(&*pinned, b"v39");
        assert!(matches!(iter.seek(b"short"), Err(Error::InvalidArgument(_))));
    }
}

#[test]
fn versions_of_a_key_go_on_in_the_next_blocks() {
    let mut recipe = Recipe::new(5);
    let version = |sequence| (internal(b"key", sequence), sequence.to_string().into_bytes());
    recipe.blocks = vec![
        vec![(internal(b"a", 1), b"a".to_vec()), version(9)],
        vec![version(8), version(7)],
        vec![version(6), (internal(b"z", 1), b"z".to_vec())],
    ];
    let table = open(&recipe).unwrap();
    let visit = |from: u64| {
        let mut seen = Vec::new();
        let read = ReadOptions::default();
        table
            .get(&seek_key(b"key", from), &read, &mut |key, value| {
                assert_eq!(*value, *key.sequence.to_string().as_bytes());
                seen.push(key.sequence);
                ControlFlow::Continue(())
            })
            .unwrap();
        seen
    };
    assert_eq!(visit(MAX_SEQUENCE), [9, 8, 7, 6]);
    assert_eq!(visit(8), [8, 7, 6]);
    assert_eq!(visit(6), [6]);
    assert_eq!(visit(5), [0; 0]);
}

#[test]
fn batches_find_what_single_lookups_find_in_any_order() {
    for two_level in [false, true] {
        let recipe = Recipe { two_level, ..Recipe::new(5) };
        let options = TableOptions::default();
        let table = open_with(recipe.build(), &cache(), &options).unwrap();
        let mut keys: Vec<Vec<u8>> = (0..50)
            .flat_map(|i| [format!("k{i:02}"), format!("k{i:02}x")])
            .map(|k| seek_key(k.as_bytes(), 7))
            .collect();
        for shuffled in [false, true] {
            if shuffled {
                keys.sort_by_key(|key| xxhash_rust::xxh3::xxh3_64(key));
            }
            let targets: Vec<&[u8]> = keys.iter().map(Vec::as_slice).collect();
            let mut found = vec![None; keys.len()];
            let read = ReadOptions::default();
            table
                .multi_get(&targets, &read, &mut |i, _, value| {
                    found[i] = Some(value.pin());
                    ControlFlow::Break(())
                })
                .unwrap();
            for (key, found) in keys.iter().zip(&found) {
                let (user_key, _) = key.split_at(key.len() - 8);
                let single = lookup(&table, user_key, 7).map(|(_, value)| value);
                assert_eq!(found.as_deref(), single.as_deref());
            }
        }
        assert_eq!(options.counters.reads(BlockKind::Data).blocks, 8);
    }
}

#[test]
fn blocks_are_cached_by_role_and_found_again_when_the_table_is_reopened() {
    let recipe = Recipe { two_level: true, ..Recipe::new(5) };
    let cache = cache();
    let options = TableOptions::default();
    let table = open_with(recipe.build(), &cache, &options).unwrap();
    assert!(table.has_stable_cache_keys());
    assert_eq!(cache.occupancy(), 0);
    assert_eq!(options.counters.reads_after_open().blocks, 0);

    let private = ReadOptions { fill_cache: false, ..ReadOptions::default() };
    let mut iter = table.iter(&private);
    iter.seek_to_first().unwrap();
    assert!(iter.valid());
    drop(iter);
    assert_eq!(cache.occupancy(), 0);

    assert_eq!(scan(&table).len(), 40);
    assert_eq!(cache.occupancy(), 12);
    let reads = options.counters.reads_after_open();
    // Top level, 3 partitions, 8 data blocks; and privately, one of each.
    assert_eq!(reads.blocks, 12 + 3);
    drop(table);
    let table = open_with(recipe.build(), &cache, &options).unwrap();
    assert_eq!(scan(&table).len(), 40);
    assert_eq!(options.counters.reads_after_open(), reads);

    // Without an identity nothing is found again.
    let mut nameless = recipe;
    nameless.properties.remove("rocksdb.creating.session.identity");
    for _ in 0..2 {
        let before = options.counters.reads_after_open().blocks;
        let table = open_with(nameless.build(), &cache, &options).unwrap();
        assert!(!table.has_stable_cache_keys());
        assert_eq!(scan(&table).len(), 40);
        assert_eq!(options.counters.reads_after_open().blocks, before + 12);
    }
}

#[test]
fn what_would_give_wrong_answers_is_refused_by_name() {
    let property = |name: &str, value: &[u8]| Recipe::new(7).property(name, value);
    assert_unsupported(&property("rocksdb.comparator", b"leveldb.BytewiseComparator.u64ts"), "timestamps");
    assert_unsupported(&property("rocksdb.user.defined.timestamps.persisted", &[0]), "timestamps");
    assert_unsupported(&property("rocksdb.compression", b"MyManager;80;"), "MyManager");
    assert_unsupported(&property("rocksdb.external_sst_file.version", &[2, 0, 0, 0]), "ingested");

    let mut recipe = Recipe::new(5);
    let tombstone = InternalKey { user_key: b"a", sequence: 3, value_type: ValueType::RangeDeletion };
    recipe.extra.insert("rocksdb.range_del".to_owned(), plain_block(&[(tombstone.encode(), b"c".to_vec())]));
    assert_unsupported(&recipe, "range tombstones");
    recipe.extra.insert("rocksdb.range_del".to_owned(), plain_block(&[]));
    assert!(open(&recipe).is_ok());

    let other_order = property("rocksdb.comparator", b"rocksdb.ReverseBytewiseComparator");
    assert!(matches!(open(&other_order), Err(Error::InvalidArgument(_))));
    for benign in ["", ";;", "BuiltinV2;0407;", "ZSTD"] {
        assert!(open(&property("rocksdb.compression", benign.as_bytes())).is_ok());
    }
}

#[test]
fn keys_of_an_ingested_file_have_the_sequence_number_of_the_manifest() {
    let mut recipe = Recipe::new(5).property("rocksdb.external_sst_file.version", &[2, 0, 0, 0]);
    recipe.blocks = vec![vec![(internal(b"a", 0), b"1".to_vec())], vec![(internal(b"b", 0), b"2".to_vec())]];
    let open_at = |recipe: &Recipe, sequence| {
        let options = TableOptions { largest_sequence: Some(sequence), ..TableOptions::default() };
        open_with(recipe.build(), &cache(), &options)
    };
    let table = open_at(&recipe, 77).unwrap();
    assert_eq!(scan(&table), [(internal(b"a", 77), b"1".to_vec()), (internal(b"b", 77), b"2".to_vec())]);
    assert_eq!(lookup(&table, b"b", 77), Some((77, b"2".to_vec())));
    assert_eq!(lookup(&table, b"b", 76), None);
    let mut iter = table.iter(&ReadOptions::default());
    iter.seek(&seek_key(b"a", 76)).unwrap();
    assert_eq!(iter.key(), internal(b"b", 77));
    iter.seek_for_prev(&seek_key(b"b", 77)).unwrap();
    assert_eq!(iter.key(), internal(b"a", 77));
    iter.seek_for_prev(&seek_key(b"b", 76)).unwrap();
    assert_eq!(iter.key(), internal(b"b", 77));

    let recorded = recipe.property("rocksdb.external_sst_file.global_seqno", &77u64.to_le_bytes());
    assert_eq!(lookup(&open_at(&recorded, 77).unwrap(), b"a", 77), Some((77, b"1".to_vec())));
    assert_corrupt(open_at(&recorded, 78), "global sequence number");
}

#[test]
fn a_sequence_number_patched_into_the_properties_passes_their_checksum() {
    let recipe = Recipe::new(5)
        .property("rocksdb.external_sst_file.version", &[2, 0, 0, 0])
        .property("rocksdb.external_sst_file.global_seqno", &[0; 8]);
    let bytes = recipe.build();
    let name = b"global_seqno";
    let at = bytes.windows(name.len()).position(|w| w == name).unwrap() + name.len();
    let options = TableOptions { largest_sequence: Some(258), ..TableOptions::default() };
    let mut patched = bytes.clone();
    patched[at..at + 2].copy_from_slice(&[2, 1]);
    let table = open_with(patched, &cache(), &options).unwrap();
    assert_eq!(lookup(&table, b"k00", 258).unwrap().0, 258);
    // Elsewhere in the block it is damage.
    let mut damaged = bytes;
    damaged[at - 1] ^= 1;
    assert_corrupt(open_with(damaged, &cache(), &options), "checksum");
}

#[test]
fn unknown_filters_are_counted_and_not_read() {
    let mut ribbon = vec![0x5a; 640];
    ribbon.extend([0xfe, 3, 5, 0, 0]);
    for (name, body) in [
        ("fullfilter.rocksdb.BuiltinBloomFilter", ribbon.clone()),
        ("fullfilter.MyPolicy", ribbon.clone()),
        ("filter.rocksdb.BuiltinBloomFilter", ribbon),
    ] {
        let mut recipe = Recipe::new(5);
        recipe.extra.insert(name.to_owned(), body);
        let options = TableOptions::default();
        let table = open_with(recipe.build(), &cache(), &options).unwrap();
        assert!(table.has_unknown_filter() && !table.has_filter());
        assert_eq!(options.counters.unknown_filters(), 1);
        assert!(lookup(&table, b"k20", 9).is_some());
        assert_eq!(options.counters.reads(BlockKind::Filter).blocks, 0);
    }
}

#[test]
fn a_filter_without_keys_answers_every_lookup() {
    for whole_keys in [true, false] {
        let mut recipe = Recipe::new(5);
        recipe.extra.insert("fullfilter.rocksdb.BuiltinBloomFilter".to_owned(), Vec::new());
        if !whole_keys {
            recipe = recipe.property("rocksdb.block.based.table.whole.key.filtering", b"0");
        }
        let options = TableOptions::default();
        let table = open_with(recipe.build(), &cache(), &options).unwrap();
        assert_eq!(table.has_filter(), whole_keys);
        assert_eq!(lookup(&table, b"k20", 9).is_some(), !whole_keys);
        assert_eq!(table.may_contain(b"k20", &ReadOptions::default()).unwrap(), !whole_keys);
        assert_eq!(options.counters.filter_negatives(), if whole_keys { 2 } else { 0 });
    }
}

#[test]
fn handles_that_lead_astray_are_damage() {
    let recipe = Recipe { checksum: ChecksumType::None, ..Recipe::new(5) };
    let bytes = recipe.build();
    let table = open(&recipe).unwrap();
    let index = table.0.index;
    let handles = |table: &Table| {
        let mut index = index_cursor::IndexCursor::new(&table.0, ReadOptions::default()).unwrap();
        index.seek_to_first(&table.0, ReadOptions::default()).unwrap();
        index.current(&table.0).unwrap().1
    };
    assert_eq!(handles(&table).offset, 0);

    // The index's first handle is one byte of offset and one of size, after a header of 3 and a key of 11.
    let at = index.offset as usize + 3 + 11;
    let redirect = |offset: u8, size: u8| {
        let mut bytes = bytes.clone();
        bytes[at] = offset;
        bytes[at + 1] = size;
        let table = open_with(bytes, &cache(), &TableOptions::default()).unwrap();
        let mut iter = table.iter(&ReadOptions::default());
        let outcome = iter.seek_to_first();
        assert!(!iter.valid());
        outcome
    };
    for (offset, size) in [(0, 0), (0, 1), (1, 50), (0, 127)] {
        assert!(redirect(offset, size).is_err(), "{size} bytes at {offset}");
    }

    // A handle to a block of another kind is found out where both are cached.
    let cache = cache();
    let table = open_with(bytes, &cache, &TableOptions::default()).unwrap();
    table.0.index_block(index, ReadOptions::default()).unwrap();
    assert_corrupt(table.0.data_block(index, ReadOptions::default()).map(|_| ()), "another block");
    let beyond = BlockHandle { offset: u64::MAX - 3, size: u64::MAX - 9 };
    assert_corrupt(table.0.data_block(beyond, ReadOptions::default()).map(|_| ()), "footer");
}

#[test]
fn blocks_of_the_first_byte_to_the_last_are_verified() {
    for format_version in [5, 7] {
        let recipe = Recipe::new(format_version);
        let bytes = recipe.build();
        let rows = recipe.blocks.concat();
        for at in 0..bytes.len() {
            let mut damaged = bytes.clone();
            damaged[at] ^= 0x10;
            let Ok(table) = open_with(damaged, &cache(), &TableOptions::default()) else { continue };
            let mut iter = table.iter(&ReadOptions::default());
            let mut seen = 0;
            let mut outcome = iter.seek_to_first();
            while outcome.is_ok() && iter.valid() {
                assert_eq!((iter.key(), iter.value()), (&rows[seen].0[..], &rows[seen].1[..]));
                seen += 1;
                outcome = iter.next();
            }
            assert!(outcome.is_err() || seen == rows.len(), "byte {at}");
        }
    }
}
