//! A database from `fill` holds the rows that its options promise, in order, and no others.

use hyperclock::BlockCache;
use hyperclock_sst::fill::{FillOptions, Rows, fill};
use hyperclock_sst::{CompressionType, DEFAULT_COLUMN_FAMILY, Db, DbOptions, ReadOptions};

fn check(options: &FillOptions) {
    let directory = tempfile::tempdir().unwrap();
    let report = fill(directory.path(), options, |_| ()).unwrap();
    let cache = BlockCache::builder().capacity(4 << 20).build().unwrap();
    let db = Db::open_read_only(directory.path(), &DbOptions::new(cache)).unwrap();
    assert_eq!(db.last_sequence(), options.num);

    let mut rows = Rows::new(options);
    let mut iter = db.iter(DEFAULT_COLUMN_FAMILY, &ReadOptions::default()).unwrap();
    iter.seek_to_first().unwrap();
    for number in 0..options.num {
        assert!(iter.valid(), "row {number} is missing");
        assert_eq!((iter.key(), iter.value()), rows.row(number));
        iter.next().unwrap();
    }
    assert!(!iter.valid());

    for number in (0..options.num).step_by(7) {
        let (key, value) = rows.row(number);
        assert_eq!(db.get(DEFAULT_COLUMN_FAMILY, key).unwrap().as_deref(), Some(value));
        let absent = [key, b"x"].concat();
        assert!(db.get(DEFAULT_COLUMN_FAMILY, &absent).unwrap().is_none());
    }

    let stats = db.stats().unwrap();
    let levels: Vec<_> = stats.families.iter().flat_map(|family| &family.levels).collect();
    assert_eq!(levels.iter().map(|level| level.files).sum::<u64>(), report.files);
    assert_eq!(levels.iter().map(|level| level.entries).sum::<u64>(), options.num);
    assert!(levels.iter().all(|level| level.level == 6));
}

#[test]
fn of_every_codec_in_several_files() {
    for compression in [
        CompressionType::None,
        CompressionType::Snappy,
        CompressionType::Lz4,
        CompressionType::Zstd,
        CompressionType::Zlib,
    ] {
        check(&FillOptions { num: 2_000, compression, target_file_size: 50_000, ..FillOptions::default() });
    }
}

#[test]
fn of_odd_shapes() {
    let base = FillOptions::default();
    check(&FillOptions { num: 0, ..base.clone() });
    check(&FillOptions { num: 1, ..base.clone() });
    check(&FillOptions { num: 256, key_size: 1, value_size: 0, ..base.clone() });
    check(&FillOptions { num: 3_000, key_size: 8, bloom_bits_per_key: None, ..base.clone() });
    check(&FillOptions { num: 50, key_size: 300, value_size: 20_000, value_compressibility: 1.0, ..base });
}
