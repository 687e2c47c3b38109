//! Writes tables (SST files) that RocksDB and this crate read.
//!
//! [`SstWriter`] makes one table of format version 5: a binary-search index, an optional Bloom filter, one codec. Keys are
//! appended in the comparator's order. The file gets its name only when it is complete and durable, so a failed or
//! abandoned write leaves nothing behind.
//!
//! ```
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! use hyperclock_sst::writer::{SstWriter, WriterOptions};
//!
//! # let directory = tempfile::tempdir()?;
//! # let path = directory.path().join("000007.sst");
//! let mut table = SstWriter::create(&path, WriterOptions::default())?;
//! table.put(b"apple", 2, b"green")?;
//! table.put(b"banana", 1, b"yellow")?;
//! table.delete(b"cherry", 3)?;
//! let info = table.finish()?;
//! assert_eq!(info.num_entries, 3);
//! # Ok(())
//! # }
//! ```
//!
//! A table becomes part of a database when a MANIFEST names it: see [`crate::fill`].

mod atomic_file;
pub(crate) mod block_builder;
mod block_writer;
pub(crate) mod bloom_builder;
pub(crate) mod index_builder;
pub(crate) mod log_writer;
pub(crate) mod manifest_writer;
pub(crate) mod properties_builder;
mod table_builder;

use std::path::{Path, PathBuf};
use std::sync::Arc;

pub(crate) use atomic_file::AtomicFile;
use table_builder::TableBuilder;
pub(crate) use table_builder::check_sizes;

use crate::checksum::ChecksumType;
use crate::compression::{CompressionType, compress};
use crate::error::{Error, Result};
use crate::key::{BytewiseComparator, Comparator, ValueType};

/// How a table is written. The defaults are those of RocksDB 7.8, with a Bloom filter.
#[derive(Clone)]
pub struct WriterOptions {
    /// The order of the user keys. Default: bytewise.
    pub comparator: Arc<dyn Comparator>,
    /// Bytes of a data block before compression, 64 or more; a block with one entry may be larger. Default: 4096.
    pub block_size: usize,
    /// Entries from one whole key to the next in a data block, 1 or more. Default: 16.
    pub restart_interval: u32,
    /// The codec of data and index blocks: none, Snappy, LZ4, ZSTD or zlib. Default: Snappy.
    pub compression: CompressionType,
    /// The checksum of every block. Default: XXH3.
    pub checksum: ChecksumType,
    /// Bits of Bloom filter a key, 1 to 100; `None` writes no filter. Default: 10, about 1 % false positives.
    pub bloom_bits_per_key: Option<f64>,
    /// The column family that the table belongs to. Default: 0.
    pub column_family_id: u32,
    /// Its name. Default: `default`.
    pub column_family_name: String,
    /// Id of the database that the table is made for. With the session id and the file number it is the table's stable
    /// identity, from which cache keys derive; without them a reader falls back to keys that last for one open.
    pub db_id: String,
    /// Id of the session that makes the table: 20 base-36 digits, see [`crate::fill`].
    pub session_id: String,
    /// The number in the file's name, 1 or more if the table has an identity.
    pub file_number: u64,
    /// Seconds since 1970; 0 stands for unknown. Default: 0, so that equal input makes equal bytes.
    pub creation_time: u64,
}

impl Default for WriterOptions {
    fn default() -> Self {
        Self {
            comparator: Arc::new(BytewiseComparator),
            block_size: 4096,
            restart_interval: 16,
            compression: CompressionType::Snappy,
            checksum: ChecksumType::Xxh3,
            bloom_bits_per_key: Some(10.0),
            column_family_id: 0,
            column_family_name: "default".to_owned(),
            db_id: String::new(),
            session_id: String::new(),
            file_number: 0,
            creation_time: 0,
        }
    }
}

impl std::fmt::Debug for WriterOptions {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("WriterOptions")
            .field("comparator", &self.comparator.name())
            .field("block_size", &self.block_size)
            .field("restart_interval", &self.restart_interval)
            .field("compression", &self.compression)
            .field("checksum", &self.checksum)
            .field("bloom_bits_per_key", &self.bloom_bits_per_key)
            .field("file_number", &self.file_number)
            .finish_non_exhaustive()
    }
}

impl WriterOptions {
    fn validate(&self) -> Result<()> {
        let refuse = |message: String| Err(Error::InvalidArgument(message));
        if !(64..=1 << 30).contains(&self.block_size) {
            return refuse(format!("block size {} is not in 64 ..= {}", self.block_size, 1 << 30));
        }
        if self.restart_interval == 0 {
            return refuse("restart interval 0: a block needs a restart every 1 or more entries".to_owned());
        }
        // Finds out about codecs that are only read, or not built in.
        compress(self.compression, None, &[], &mut Vec::new())
            .map_err(|error| Error::InvalidArgument(error.to_string()))?;
        if let Some(bits) = self.bloom_bits_per_key
            && !(1.0..=100.0).contains(&bits)
        {
            return refuse(format!("{bits} bits of Bloom filter a key are not in 1 ..= 100"));
        }
        Ok(())
    }
}

/// What a finished table holds.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct SstInfo {
    /// Bytes of the file.
    pub file_size: u64,
    /// Bytes of its data blocks as stored; what follows is filter, index and properties.
    pub data_size: u64,
    /// Entries of every type.
    pub num_entries: u64,
    /// Those of them that delete a key.
    pub num_deletions: u64,
    /// Data blocks.
    pub num_data_blocks: u64,
    /// The first internal key: user key, then eight bytes of sequence number and type. Empty if there are no entries.
    pub smallest_key: Vec<u8>,
    /// The last internal key.
    pub largest_key: Vec<u8>,
    /// The lowest sequence number, 0 if there are no entries.
    pub smallest_sequence: u64,
    /// The highest sequence number.
    pub largest_sequence: u64,
}

/// Writes one table. See the [module documentation](self).
///
/// Memory: one data block, 8 bytes a key with a filter, and about 60 bytes and a key for every data block.
#[derive(Debug)]
pub struct SstWriter {
    path: PathBuf,
    builder: TableBuilder<AtomicFile>,
}

impl SstWriter {
    /// Starts a table that will be `path`. The file must not exist; until [`finish`](Self::finish) its bytes are in
    /// `PATH.dbtmp`, which a drop removes.
    pub fn create(path: &Path, options: WriterOptions) -> Result<Self> {
        options.validate()?;
        let builder = TableBuilder::new(AtomicFile::create(path)?, path, options)?;
        Ok(Self { path: path.to_path_buf(), builder })
    }

    /// Appends a value. User keys ascend in the comparator's order; versions of one key follow each other, newest
    /// (highest sequence number) first. An entry out of order is an [`Error::InvalidArgument`] and changes nothing.
    pub fn put(&mut self, user_key: &[u8], sequence: u64, value: &[u8]) -> Result<()> {
        self.builder.add(user_key, sequence, ValueType::Value, value)
    }

    /// Appends a tombstone: the key is absent from here to the next newer version.
    pub fn delete(&mut self, user_key: &[u8], sequence: u64) -> Result<()> {
        self.builder.add(user_key, sequence, ValueType::Deletion, &[])
    }

    /// Bytes of all finished data blocks: what to compare with a target file size.
    pub fn written(&self) -> u64 {
        self.builder.written()
    }

    /// Entries appended so far.
    pub fn num_entries(&self) -> u64 {
        self.builder.num_entries()
    }

    /// Completes the table, makes it durable and gives it its name. Costs a sync of the file and of its directory.
    pub fn finish(self) -> Result<SstInfo> {
        let (file, info) = self.builder.finish()?;
        file.commit()?;
        Ok(info)
    }

    /// Where the finished table will be.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

#[cfg(test)]
mod tests;
