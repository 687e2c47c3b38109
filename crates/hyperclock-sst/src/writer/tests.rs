//! What is written here is read back by the other half of the crate.

use std::path::Path;
use std::sync::Arc;

use super::manifest_writer::{DatabaseSnapshot, PlacedTable};
use super::*;
use crate::file::RandomAccessFile;
use crate::key::{InternalKey, MAX_SEQUENCE, ReverseBytewiseComparator};
use crate::log::{LogReader, Strictness};
use crate::manifest::VersionEdit;
use crate::version::{Version, VersionBuilder};

struct Bytes(Vec<u8>);

impl RandomAccessFile for Bytes {
    fn read_exact_at(&self, offset: u64, buf: &mut [u8]) -> std::io::Result<()> {
        let start = offset as usize;
        buf.copy_from_slice(&self.0[start..start + buf.len()]);
        Ok(())
    }

    fn size(&self) -> std::io::Result<u64> {
        Ok(self.0.len() as u64)
    }
}

fn version_of(manifest: Vec<u8>) -> Version {
    let file = Arc::new(Bytes(manifest));
    let mut log = LogReader::new(file, Path::new("MANIFEST-000001"), 1, Strictness::Manifest).unwrap();
    let mut builder = VersionBuilder::new();
    while let Some(record) = log.next_record().unwrap() {
        builder.apply(VersionEdit::decode(record.payload).unwrap()).unwrap();
    }
    builder.finish().unwrap()
}

fn placed(number: u64, smallest: &[u8], largest: &[u8]) -> PlacedTable {
    let key = |user_key| InternalKey { user_key, sequence: 0, value_type: ValueType::Value }.encode();
    PlacedTable {
        level: 6,
        number,
        info: SstInfo {
            file_size: 1000 + number,
            data_size: 500,
            num_entries: 10,
            num_deletions: 0,
            num_data_blocks: 1,
            smallest_key: key(smallest),
            largest_key: key(largest),
            smallest_sequence: 0,
            largest_sequence: 0,
        },
        unique_id: [number, !number],
        creation_time: 0,
    }
}

#[test]
fn a_manifest_is_read_as_it_was_meant() {
    // Long keys, so that the record of the files is cut into fragments.
    let tables: Vec<_> = (0..40u64)
        .map(|n| placed(n + 2, &[&[n as u8][..], &[0; 2000]].concat(), &[&[n as u8][..], &[9; 2000]].concat()))
        .collect();
    let snapshot = DatabaseSnapshot {
        db_id: "some id",
        comparator: "leveldb.BytewiseComparator",
        next_file_number: 42,
        last_sequence: 1 << 40,
        tables: &tables,
    };
    let version = version_of(snapshot.to_manifest());
    assert_eq!(version.database_id.as_deref(), Some("some id"));
    assert_eq!(version.last_sequence, 1 << 40);
    let [family] = &version.families[..] else { panic!("one family") };
    assert_eq!((family.id, family.name.as_str()), (0, "default"));
    let [level] = &family.levels[..] else { panic!("one level") };
    assert_eq!(level.level, 6);
    assert_eq!(level.files.len(), 40);
    for (file, table) in level.files.iter().zip(&tables) {
        assert_eq!(file.number, table.number);
        assert_eq!(file.size, table.info.file_size);
        assert_eq!(file.smallest, table.info.smallest_key);
        assert_eq!(file.largest, table.info.largest_key);
        assert_eq!(file.unique_id, Some(table.unique_id));
        assert_eq!(file.epoch_number, 1);
    }
}

fn table_at(directory: &Path) -> SstWriter {
    SstWriter::create(&directory.join("000007.sst"), WriterOptions::default()).unwrap()
}

#[test]
fn entries_out_of_order_are_refused_and_change_nothing() {
    let directory = tempfile::tempdir().unwrap();
    let mut table = table_at(directory.path());
    table.put(b"b", 5, b"1").unwrap();
    for (key, sequence) in [(&b"a"[..], 9), (b"b", 5), (b"b", 6), (b"", 1)] {
        let error = table.put(key, sequence, b"2").unwrap_err();
        assert!(matches!(&error, Error::InvalidArgument(what) if what.contains("0x62 with 5")), "{error}");
    }
    table.delete(b"b", 4).unwrap();
    assert!(table.put(b"c", MAX_SEQUENCE + 1, b"").is_err());
    table.put(b"c", MAX_SEQUENCE, b"").unwrap();
    let info = table.finish().unwrap();
    assert_eq!((info.num_entries, info.num_deletions), (3, 1));
    assert_eq!((info.smallest_sequence, info.largest_sequence), (4, MAX_SEQUENCE));
    assert_eq!(InternalKey::parse(&info.smallest_key).unwrap().user_key, b"b");
    assert_eq!(InternalKey::parse(&info.largest_key).unwrap().user_key, b"c");
}

#[test]
fn the_reverse_comparator_wants_descending_keys() {
    let directory = tempfile::tempdir().unwrap();
    let options = WriterOptions { comparator: Arc::new(ReverseBytewiseComparator), ..WriterOptions::default() };
    let mut table = SstWriter::create(&directory.path().join("a.sst"), options).unwrap();
    table.put(b"b", 1, b"").unwrap();
    assert!(table.put(b"c", 1, b"").is_err());
    table.put(b"a", 1, b"").unwrap();
    table.finish().unwrap();
}

#[test]
fn an_abandoned_table_leaves_no_file() {
    let directory = tempfile::tempdir().unwrap();
    let mut table = table_at(directory.path());
    for n in 0..10_000u32 {
        table.put(&n.to_be_bytes(), 0, &[7; 100]).unwrap();
    }
    assert!(table.written() > 0);
    drop(table);
    assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 0);
}

#[test]
fn options_out_of_range_are_refused_before_a_file_is_made() {
    let directory = tempfile::tempdir().unwrap();
    let base = WriterOptions::default;
    for (options, says) in [
        (WriterOptions { block_size: 63, ..base() }, "block size 63"),
        (WriterOptions { restart_interval: 0, ..base() }, "restart interval 0"),
        (WriterOptions { bloom_bits_per_key: Some(0.5), ..base() }, "0.5 bits"),
        (WriterOptions { bloom_bits_per_key: Some(f64::NAN), ..base() }, "NaN bits"),
        (WriterOptions { compression: CompressionType::Other(3), ..base() }, "BZip2"),
    ] {
        let error = SstWriter::create(&directory.path().join("a.sst"), options).unwrap_err();
        assert!(matches!(&error, Error::InvalidArgument(what) if what.contains(says)), "{error}");
    }
    assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 0);
}

/// A disk with room for some bytes.
struct SmallDisk(usize);

impl std::io::Write for SmallDisk {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0 = self.0.checked_sub(bytes.len()).ok_or(std::io::ErrorKind::StorageFull)?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

#[test]
fn after_a_failed_write_a_table_takes_no_more() {
    let mut table = TableBuilder::new(SmallDisk(10_000), Path::new("x.sst"), WriterOptions::default()).unwrap();
    let mut add = |n: u32| table.add(&n.to_be_bytes(), 0, ValueType::Value, &n.to_be_bytes().repeat(25));
    let failed = (0..).find_map(|n| add(n).err()).unwrap();
    assert!(matches!(&failed, Error::Io { path, .. } if path == Path::new("x.sst")), "{failed}");
    assert!(matches!(add(u32::MAX), Err(Error::InvalidArgument(_))));
    assert!(matches!(table.finish(), Err(Error::InvalidArgument(_))));
}
