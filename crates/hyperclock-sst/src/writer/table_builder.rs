//! Writes the bytes of one table of format version 5, front to back.
//!
//! ```text
//! data blocks | filter | index | properties | metaindex | footer (53 bytes)
//! ```
//!
//! Entries arrive in internal-key order and fill one data block at a time, so memory holds that block, a hash a key for
//! the filter and a separator a block for the index: about 8 bytes a key and 60 bytes a block. A block ends before the
//! entry that would take it past `block_size`; its separator is chosen when the next entry is known.
//!
//! Invariants: I1 internal keys strictly increase. I2 nothing is written behind an error: the first one ends the table.
//! I3 a block is at most 1 GiB, which readers accept: `block_size` and an entry are, and a block larger than `block_size`
//! has one entry.

use std::cmp::Ordering;
use std::io::Write;
use std::path::Path;

use super::block_builder::BlockBuilder;
use super::block_writer::BlockWriter;
use super::bloom_builder::BloomBuilder;
use super::index_builder::IndexBuilder;
use super::properties_builder::PropertiesBuilder;
use super::{SstInfo, WriterOptions};
use crate::coding::{put_fixed32, put_fixed64};
use crate::compression::MAX_BLOCK_SIZE;
use crate::error::{Error, Result};
use crate::filter::xxph3::xxph3_64;
use crate::footer::{BLOCK_BASED_MAGIC, BLOCK_TRAILER_LEN, BlockHandle, FOOTER_SIZE};
use crate::key::{InternalOrder, MAX_SEQUENCE, ValueType, pack_trailer, split_internal_key};

const FORMAT_VERSION: u32 = 5;
/// Bytes of a key and its value, less what frames them in a block that readers accept.
const MAX_ENTRY: usize = MAX_BLOCK_SIZE - 64;

/// Refuses a key and a value of these sizes if a table cannot hold them.
pub(crate) fn check_sizes(key: usize, value: usize) -> Result<()> {
    if key.saturating_add(value) > MAX_ENTRY {
        let message = format!("a key of {key} bytes with a value of {value} bytes: together at most {MAX_ENTRY}");
        return Err(Error::InvalidArgument(message));
    }
    Ok(())
}

/// What is counted while entries pass.
#[derive(Debug, Default)]
struct Counts {
    entries: u64,
    deletions: u64,
    merge_operands: u64,
    raw_key_size: u64,
    raw_value_size: u64,
    smallest_sequence: u64,
    largest_sequence: u64,
}

#[derive(Debug)]
pub(super) struct TableBuilder<W> {
    options: WriterOptions,
    order: InternalOrder,
    out: BlockWriter<W>,
    block: BlockBuilder,
    /// The block that was written last and has no separator yet.
    unindexed: Option<BlockHandle>,
    index: IndexBuilder,
    filter: Option<BloomBuilder>,
    first_key: Vec<u8>,
    /// The internal key of the last entry; empty before the first.
    last_key: Vec<u8>,
    scratch: Vec<u8>,
    counts: Counts,
    /// Set by a failed write (I2).
    failed: bool,
}

impl<W: Write> TableBuilder<W> {
    pub(super) fn new(sink: W, path: &Path, options: WriterOptions) -> Result<Self> {
        options.validate()?;
        let order = InternalOrder::new(&options.comparator);
        Ok(Self {
            out: BlockWriter::new(sink, path, options.checksum, options.compression),
            block: BlockBuilder::new(options.restart_interval),
            unindexed: None,
            index: IndexBuilder::new(matches!(order, InternalOrder::Bytewise)),
            filter: options.bloom_bits_per_key.map(BloomBuilder::new),
            first_key: Vec::new(),
            last_key: Vec::new(),
            scratch: Vec::new(),
            counts: Counts { smallest_sequence: u64::MAX, ..Counts::default() },
            failed: false,
            order,
            options,
        })
    }

    /// Appends an entry. One that is refused as an invalid argument leaves the table as it was.
    pub(super) fn add(&mut self, user_key: &[u8], sequence: u64, kind: ValueType, value: &[u8]) -> Result<()> {
        if self.failed {
            return Err(Error::InvalidArgument("the table had a failed write before: start it again".to_owned()));
        }
        self.check_entry(user_key, sequence, value)?;

        let trailer = pack_trailer(sequence, kind.as_u8());
        let added = user_key.len() + value.len() + 24;
        if !self.block.is_empty() && self.block.size() + added > self.options.block_size {
            self.failed = true;
            self.end_block()?;
            self.failed = false;
        }
        self.index_pending(Some(user_key));

        self.scratch.clear();
        self.scratch.extend_from_slice(user_key);
        put_fixed64(&mut self.scratch, trailer);
        self.block.add(&self.scratch, value);
        if let Some(filter) = &mut self.filter {
            filter.add(xxph3_64(user_key));
        }
        std::mem::swap(&mut self.last_key, &mut self.scratch);
        if self.counts.entries == 0 {
            self.first_key.clone_from(&self.last_key);
        }

        let counts = &mut self.counts;
        counts.entries += 1;
        match kind {
            ValueType::Deletion | ValueType::SingleDeletion => counts.deletions += 1,
            ValueType::Merge => counts.merge_operands += 1,
            _ => {}
        }
        counts.raw_key_size += self.last_key.len() as u64;
        counts.raw_value_size += value.len() as u64;
        counts.smallest_sequence = counts.smallest_sequence.min(sequence);
        counts.largest_sequence = counts.largest_sequence.max(sequence);
        Ok(())
    }

    /// Bytes that went to the sink so far: all finished blocks.
    pub(super) fn written(&self) -> u64 {
        self.out.offset()
    }

    pub(super) fn num_entries(&self) -> u64 {
        self.counts.entries
    }

    /// Writes what follows the data blocks, and returns the sink, which the caller must flush.
    pub(super) fn finish(mut self) -> Result<(W, SstInfo)> {
        if self.failed {
            return Err(Error::InvalidArgument("the table had a failed write: start it again".to_owned()));
        }
        if !self.block.is_empty() {
            self.end_block()?;
        }
        self.index_pending(None);
        let data_size = self.out.offset();

        let mut metaindex = BlockBuilder::new(1);
        let mut filter_size = 0;
        let mut filter_entries = 0;
        if let Some(filter) = self.filter.take() {
            filter_entries = filter.num_entries();
            let handle = self.out.write(&filter.finish())?;
            filter_size = handle.size;
            metaindex.add(b"fullfilter.rocksdb.BuiltinBloomFilter", &encoded(handle));
        }

        let index = self.index.finish();
        if index.len() > MAX_BLOCK_SIZE {
            return Err(Error::InvalidArgument(
                "the table is too large for one index block: use larger blocks".to_owned(),
            ));
        }
        let index_handle = self.out.write_compressed(&index)?;

        let mut properties = self.properties(data_size);
        properties
            .number("rocksdb.filter.size", filter_size)
            .number("rocksdb.num.filter_entries", filter_entries)
            .number("rocksdb.index.size", index_handle.size + BLOCK_TRAILER_LEN as u64);
        if filter_size > 0 {
            properties.text("rocksdb.filter.policy", "bloomfilter");
        }
        let properties_handle = self.out.write(&properties.finish())?;
        metaindex.add(b"rocksdb.properties", &encoded(properties_handle));
        let metaindex_handle = self.out.write(metaindex.finish())?;

        let mut footer = vec![self.options.checksum.as_u8()];
        footer.extend_from_slice(&encoded(metaindex_handle));
        footer.extend_from_slice(&encoded(index_handle));
        footer.resize(FOOTER_SIZE - 12, 0);
        put_fixed32(&mut footer, FORMAT_VERSION);
        put_fixed64(&mut footer, BLOCK_BASED_MAGIC);
        self.out.write_unframed(&footer)?;

        let info = SstInfo {
            file_size: self.out.offset(),
            data_size,
            num_entries: self.counts.entries,
            num_deletions: self.counts.deletions,
            num_data_blocks: self.index.len() as u64,
            smallest_key: self.first_key,
            largest_key: self.last_key,
            smallest_sequence: if self.counts.entries == 0 { 0 } else { self.counts.smallest_sequence },
            largest_sequence: self.counts.largest_sequence,
        };
        Ok((self.out.into_sink(), info))
    }

    /// I1, and lengths and sequence numbers that the format can hold.
    fn check_entry(&self, user_key: &[u8], sequence: u64, value: &[u8]) -> Result<()> {
        check_sizes(user_key.len(), value.len())?;
        if sequence > MAX_SEQUENCE {
            return Err(Error::InvalidArgument(format!("sequence number {sequence} is above {MAX_SEQUENCE}")));
        }
        let Some((last_user_key, last_trailer)) = split_internal_key(&self.last_key) else {
            return Ok(());
        };
        let ordered = match self.order.compare_user(last_user_key, user_key) {
            Ordering::Less => true,
            // Newer versions come first.
            Ordering::Equal => sequence < last_trailer >> 8,
            Ordering::Greater => false,
        };
        if ordered {
            Ok(())
        } else {
            let message = format!(
                "key 0x{} with sequence number {sequence} does not follow the one before it, 0x{} with {}",
                hex(user_key),
                hex(last_user_key),
                last_trailer >> 8
            );
            Err(Error::InvalidArgument(message))
        }
    }

    fn end_block(&mut self) -> Result<()> {
        let handle = self.out.write_compressed(self.block.finish())?;
        self.block.reset();
        self.unindexed = Some(handle);
        Ok(())
    }

    /// Gives the block that was written last its separator, now that the key behind it is known.
    fn index_pending(&mut self, next_user_key: Option<&[u8]>) {
        if let (Some(handle), Some((user_key, trailer))) = (self.unindexed.take(), split_internal_key(&self.last_key)) {
            self.index.add(user_key, trailer, next_user_key, handle);
        }
    }

    fn properties(&self, data_size: u64) -> PropertiesBuilder {
        let options = &self.options;
        let counts = &self.counts;
        let mut properties = PropertiesBuilder::default();
        properties
            .bytes("rocksdb.block.based.table.index.type", &0u32.to_le_bytes())
            .text("rocksdb.block.based.table.prefix.filtering", "0")
            .text("rocksdb.block.based.table.whole.key.filtering", "1")
            .number("rocksdb.column.family.id", u64::from(options.column_family_id))
            .text("rocksdb.column.family.name", &options.column_family_name)
            .text("rocksdb.comparator", options.comparator.name())
            .text("rocksdb.compression", options.compression.name())
            .text("rocksdb.creating.db.identity", &options.db_id)
            .text("rocksdb.creating.session.identity", &options.session_id)
            .number("rocksdb.creation.time", options.creation_time)
            .number("rocksdb.data.size", data_size)
            .number("rocksdb.deleted.keys", counts.deletions)
            .number("rocksdb.file.creation.time", options.creation_time)
            .number("rocksdb.fixed.key.length", 0)
            .number("rocksdb.format.version", u64::from(FORMAT_VERSION))
            .number("rocksdb.index.key.is.user.key", u64::from(self.index.keys_are_user_keys()))
            .number("rocksdb.index.value.is.delta.encoded", 1)
            .number("rocksdb.key.largest.seqno", counts.largest_sequence)
            .number("rocksdb.key.smallest.seqno", if counts.entries == 0 { 0 } else { counts.smallest_sequence })
            .number("rocksdb.merge.operands", counts.merge_operands)
            .text("rocksdb.merge.operator", "nullptr")
            .number("rocksdb.num.data.blocks", self.index.len() as u64)
            .number("rocksdb.num.entries", counts.entries)
            .number("rocksdb.num.range-deletions", 0)
            .number("rocksdb.oldest.key.time", options.creation_time)
            .number("rocksdb.original.file.number", options.file_number)
            .text("rocksdb.prefix.extractor.name", "nullptr")
            .text("rocksdb.property.collectors", "[]")
            .number("rocksdb.raw.key.size", counts.raw_key_size)
            .number("rocksdb.raw.value.size", counts.raw_value_size)
            .number("rocksdb.tail.start.offset", data_size);
        properties
    }
}

fn encoded(handle: BlockHandle) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(20);
    handle.put(&mut bytes);
    bytes
}

fn hex(bytes: &[u8]) -> String {
    use std::fmt::Write as _;
    bytes.iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02X}");
        text
    })
}
