//! The properties of a table: how its blocks are to be read, who made it, and statistics.
//!
//! The properties block is an ordinary block of names and values. Numbers are varints, but for a
//! few that are fixed-width or the digits `0` and `1`. A property that is missing has the default
//! of files written before it existed; unknown ones are skipped.

use crate::block::{Block, BlockIter, PlainEntries};
use crate::coding::Reader;
use crate::error::Defect;

/// How the index of a table is built.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
#[non_exhaustive]
pub enum IndexType {
    /// One block, searched by halving. Also read where a hash of prefixes could be used instead.
    BinarySearch,
    /// A hash of prefixes beside [`IndexType::BinarySearch`].
    HashSearch,
    /// Partitions under a top-level block.
    TwoLevel,
    /// One block whose entries hold the first key of each data block too.
    BinarySearchWithFirstKey,
}

/// The properties of a table that are understood. Sizes are in bytes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
#[expect(clippy::struct_excessive_bools, reason = "each is a property of its own on disk")]
pub struct Properties {
    /// Missing only in files that no version this crate reads wrote.
    pub index_type: Option<IndexType>,
    /// Whether separators in the index are user keys.
    pub index_key_is_user_key: bool,
    /// Whether handles in the index are delta-encoded.
    pub index_value_is_delta_encoded: bool,
    /// Whether whole keys were added to the filter.
    pub whole_key_filtering: bool,
    /// Whether prefixes of keys were added to the filter.
    pub prefix_filtering: bool,
    /// Name of the comparator; empty if not recorded.
    pub comparator: String,
    /// Name of the merge operator; empty if none.
    pub merge_operator: String,
    /// Name of the prefix extractor; empty if none.
    pub prefix_extractor: String,
    /// Name of the filter policy; empty if none.
    pub filter_policy: String,
    /// Name of the column family; empty if not recorded.
    pub column_family_name: String,
    /// Id of the column family; 0x7fffffff if the file was written outside of a database.
    pub column_family_id: u64,
    /// Compression, as the writer spelled it.
    pub compression: String,
    /// Id of the database that wrote the file.
    pub db_id: String,
    /// Id of the session that wrote the file.
    pub db_session_id: String,
    /// Number of the file when it was written; 0 if not recorded.
    pub original_file_number: u64,
    /// Data blocks, as stored.
    pub data_size: u64,
    /// Index blocks, as stored.
    pub index_size: u64,
    /// Partitions of the index, if it has two levels.
    pub index_partitions: u64,
    /// The top level of the index, if it has two.
    pub top_level_index_size: u64,
    /// Filters, as stored.
    pub filter_size: u64,
    /// Keys, before anything.
    pub raw_key_size: u64,
    /// Values, before anything.
    pub raw_value_size: u64,
    /// Number of data blocks.
    pub num_data_blocks: u64,
    /// Number of entries, tombstones of keys and ranges included.
    pub num_entries: u64,
    /// Number of keys and prefixes that were added to the filter.
    pub num_filter_entries: u64,
    /// Number of tombstones of keys and ranges.
    pub num_deletions: u64,
    /// Number of merge operands.
    pub num_merge_operands: u64,
    /// Number of range tombstones.
    pub num_range_deletions: u64,
    /// Seconds since 1970.
    pub creation_time: u64,
    /// 1 or 2 if the file was made to be ingested.
    pub external_file_version: Option<u32>,
    /// The sequence number of every key, if the file was made to be ingested and it is recorded
    /// here; 0 if it is not.
    pub global_sequence: u64,
    /// False if user-defined timestamps were stripped from the keys.
    pub timestamps_persisted: bool,
    /// Whether blob records lie between the blocks.
    pub has_embedded_blobs: bool,
}

/// The property that some versions of RocksDB patched in place when they ingested a file.
pub(crate) const GLOBAL_SEQUENCE_PROPERTY: &[u8] = b"rocksdb.external_sst_file.global_seqno";

impl Properties {
    /// Reads a properties block.
    pub(crate) fn parse(block: &Block) -> Result<Self, Defect> {
        let mut properties =
            Self { whole_key_filtering: true, prefix_filtering: true, timestamps_persisted: true, ..Self::default() };
        let mut iter = BlockIter::new(block, PlainEntries);
        let mut previous = Vec::new();
        iter.seek_to_first()?;
        while iter.valid() {
            let name = iter.key();
            if !previous.is_empty() && previous.as_slice() >= name {
                return Err(Defect::corrupt("names are not in order"));
            }
            properties
                .set(name, block.slice(iter.value()))
                .ok_or_else(|| Defect::corrupt(format!("bad value of property {}", name.escape_ascii())))?;
            previous.clear();
            previous.extend_from_slice(name);
            iter.next()?;
        }
        Ok(properties)
    }

    fn set(&mut self, name: &[u8], value: &[u8]) -> Option<()> {
        let Some(name) = name.strip_prefix(b"rocksdb.").and_then(|n| std::str::from_utf8(n).ok()) else {
            return Some(());
        };
        match name {
            "block.based.table.index.type" => {
                self.index_type = Some(match Reader::new(value).fixed32()? {
                    0 => IndexType::BinarySearch,
                    1 => IndexType::HashSearch,
                    2 => IndexType::TwoLevel,
                    3 => IndexType::BinarySearchWithFirstKey,
                    _ => return None,
                });
            }
            "block.based.table.whole.key.filtering" => self.whole_key_filtering = digit(value)?,
            "block.based.table.prefix.filtering" => self.prefix_filtering = digit(value)?,
            "index.key.is.user.key" => self.index_key_is_user_key = number(value)? != 0,
            "index.value.is.delta.encoded" => {
                self.index_value_is_delta_encoded = number(value)? != 0;
            }
            "comparator" => self.comparator = text(value),
            "merge.operator" => self.merge_operator = text(value),
            "prefix.extractor.name" => self.prefix_extractor = text(value),
            "filter.policy" => self.filter_policy = text(value),
            "column.family.name" => self.column_family_name = text(value),
            "column.family.id" => self.column_family_id = number(value)?,
            "compression" => self.compression = text(value),
            "creating.db.identity" => self.db_id = text(value),
            "creating.session.identity" => self.db_session_id = text(value),
            "original.file.number" => self.original_file_number = number(value)?,
            "data.size" => self.data_size = number(value)?,
            "index.size" => self.index_size = number(value)?,
            "index.partitions" => self.index_partitions = number(value)?,
            "top-level.index.size" => self.top_level_index_size = number(value)?,
            "filter.size" => self.filter_size = number(value)?,
            "raw.key.size" => self.raw_key_size = number(value)?,
            "raw.value.size" => self.raw_value_size = number(value)?,
            "num.data.blocks" => self.num_data_blocks = number(value)?,
            "num.entries" => self.num_entries = number(value)?,
            "num.filter_entries" => self.num_filter_entries = number(value)?,
            "deleted.keys" => self.num_deletions = number(value)?,
            "merge.operands" => self.num_merge_operands = number(value)?,
            "num.range-deletions" => self.num_range_deletions = number(value)?,
            "creation.time" => self.creation_time = number(value)?,
            "external_sst_file.version" => {
                self.external_file_version = Some(Reader::new(value).fixed32()?);
            }
            "external_sst_file.global_seqno" => {
                self.global_sequence = Reader::new(value).fixed64()?;
            }
            "user.defined.timestamps.persisted" => self.timestamps_persisted = number(value)? != 0,
            "embedded.blob.stats" => self.has_embedded_blobs = true,
            _ => {}
        }
        Some(())
    }

    /// The id of the file in a MANIFEST, if the file says who made it.
    pub fn unique_id(&self) -> Option<[u64; 2]> {
        if self.db_session_id.is_empty() || self.original_file_number == 0 {
            return None;
        }
        Some(crate::cache_key::internal_unique_id(&self.db_id, &self.db_session_id, self.original_file_number))
    }

    /// Refuses compression managers that are not built in. From format version 7 on the property
    /// reads `manager;types;`, before it names a codec, which is of no use here: each block says
    /// how it is stored.
    pub(crate) fn check_compression_manager(&self) -> Result<(), Defect> {
        match self.compression.split_once(';') {
            None | Some(("" | "BuiltinV2", _)) => Ok(()),
            Some((manager, _)) => Err(Defect::unsupported(format!(
                "compression manager {manager:?}; rewrite the file with built-in compression"
            ))),
        }
    }
}

fn number(value: &[u8]) -> Option<u64> {
    Reader::new(value).varint64()
}

fn digit(value: &[u8]) -> Option<bool> {
    match value {
        b"0" => Some(false),
        b"1" => Some(true),
        _ => None,
    }
}

/// Names are ASCII; `nullptr` stands for none.
fn text(value: &[u8]) -> String {
    match value {
        b"nullptr" => String::new(),
        _ => String::from_utf8_lossy(value).into_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::coding::{put_fixed32, put_varint32};

    fn parse(entries: &[(&str, &[u8])]) -> Result<Properties, Defect> {
        let mut out = Vec::new();
        for (name, value) in entries {
            put_varint32(&mut out, 0);
            put_varint32(&mut out, name.len() as u32);
            put_varint32(&mut out, value.len() as u32);
            out.extend_from_slice(name.as_bytes());
            out.extend_from_slice(value);
        }
        put_fixed32(&mut out, 0);
        put_fixed32(&mut out, 1);
        Properties::parse(&Block::parse(out.into()).unwrap())
    }

    #[test]
    fn missing_properties_have_the_defaults_of_old_files() {
        let properties = parse(&[]).unwrap();
        assert!(properties.whole_key_filtering && properties.timestamps_persisted);
        assert!(!properties.index_key_is_user_key && !properties.index_value_is_delta_encoded);
        assert_eq!(properties.index_type, None);
        assert_eq!(properties.unique_id(), None);
    }

    #[test]
    fn each_encoding_is_read() {
        let properties = parse(&[
            ("rocksdb.block.based.table.index.type", &[3, 0, 0, 0]),
            ("rocksdb.block.based.table.whole.key.filtering", b"0"),
            ("rocksdb.creating.session.identity", b"RQHYZN4YMTGFI6GWRNXW"),
            ("rocksdb.data.size", &[0x80, 0x01]),
            ("rocksdb.external_sst_file.global_seqno", &[1, 2, 0, 0, 0, 0, 0, 0]),
            ("rocksdb.merge.operator", b"nullptr"),
            ("rocksdb.original.file.number", &[9]),
            ("rocksdb.something.new", b"\xff\xff"),
            ("user.collected", b""),
        ])
        .unwrap();
        assert_eq!(properties.index_type, Some(IndexType::BinarySearchWithFirstKey));
        assert!(!properties.whole_key_filtering);
        assert_eq!(properties.data_size, 128);
        assert_eq!(properties.global_sequence, 0x201);
        assert_eq!(properties.merge_operator, "");
        assert!(properties.unique_id().is_some());
    }

    #[test]
    fn bad_values_and_disorder_are_damage() {
        for (name, value) in [
            ("rocksdb.block.based.table.index.type", &[4u8, 0, 0, 0][..]),
            ("rocksdb.block.based.table.index.type", &[0]),
            ("rocksdb.block.based.table.whole.key.filtering", b"yes"),
            ("rocksdb.num.entries", &[0x80]),
        ] {
            let Err(Defect::Corrupt(what)) = parse(&[(name, value)]) else { panic!("{name} was taken") };
            assert!(what.contains(name), "{what}");
        }
        assert!(parse(&[("b", b""), ("a", b"")]).is_err());
        assert!(parse(&[("a", b""), ("a", b"")]).is_err());
    }
}
