//! RocksDB-format tables and a read-only database, read through a `hyperclock` block cache.
//!
//! - [`Db`] opens a directory that RocksDB wrote, without its lock and without writing to it: column
//!   families, point lookups, batches, iterators.
//! - [`Table`] is one file of it: block-based, format versions 2 to 7.
//! - [`writer`] makes such files, and [`fill`] whole databases that RocksDB reads too.
//!
//! Every block that a lookup needs, of index and filter too, lives in the one [`BlockCache`] that the
//! database was opened with: that cache's capacity is all the memory that blocks take.
//!
//! ```
//! use hyperclock::BlockCache;
//! use hyperclock_sst::{DEFAULT_COLUMN_FAMILY, Db, DbOptions};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let directory = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/v783_default");
//! let cache = BlockCache::new(64 << 20);
//! let db = Db::open_read_only(directory, &DbOptions::new(cache))?;
//! let value = db.get(DEFAULT_COLUMN_FAMILY, b"key000002")?;
//! assert!(value.is_some_and(|value| value.starts_with(b"v2:")));
//! # Ok(())
//! # }
//! ```
//!
//! Files are untrusted: whatever their bytes, the outcome is the right answer or an [`Error`] that
//! names the file and the place, and no allocation is larger than the file or a block's limit of 1 GiB.
//! What is in a file but cannot be read yet is an error too ([`Error::Unsupported`]), never left out.
//!
//! [`BlockCache`]: hyperclock::BlockCache
#![forbid(unsafe_code)]

mod block;
mod cache_key;
mod cached;
mod checksum;
mod coding;
mod compression;
mod counters;
mod db;
mod entry;
mod error;
mod file;
pub mod fill;
mod filter;
mod footer;
#[cfg(any(test, fuzzing))]
#[doc(hidden)]
pub mod fuzzing;
mod index;
mod iter;
mod key;
mod log;
mod manifest;
mod options_file;
mod properties;
mod table;
mod version;
pub mod writer;

/// The cache, for users who need no other version of it than this crate's.
pub use hyperclock;

pub use cached::PinnedSlice;
pub use checksum::ChecksumType;
pub use compression::CompressionType;
pub use counters::{BlockKind, BlockReads, TableCounters};
pub use db::{ColumnFamily, DEFAULT_COLUMN_FAMILY, Db, DbOptions, DbStats, FamilyStats, LevelStats};
pub use error::{Error, Result};
pub use file::{FileSystem, RandomAccessFile, StdFile, StdFileSystem};
pub use iter::DbIter;
pub use key::{
    BytewiseComparator, Comparator, InternalKey, MAX_SEQUENCE, ReverseBytewiseComparator, ValueType,
    comparator_by_name, encode_seek_key,
};
pub use properties::{IndexType, Properties};
pub use table::{ReadOptions, Table, TableIter, TableOptions, ValueRef};

/// Compiles the example of the README with the tests.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct ReadmeExamples;
