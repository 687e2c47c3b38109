//! RocksDB-format tables and a read-only database, read through a `hyperclock` block cache.
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
