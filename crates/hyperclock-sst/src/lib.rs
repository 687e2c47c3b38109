//! RocksDB-format tables and a read-only database, read through a `hyperclock` block cache.
#![forbid(unsafe_code)]

mod checksum;
mod coding;
mod compression;
mod error;
mod file;
mod key;

pub use checksum::ChecksumType;
pub use compression::CompressionType;
pub use error::{Error, Result};
pub use file::{FileSystem, RandomAccessFile, StdFile, StdFileSystem};
pub use key::{
    BytewiseComparator, Comparator, InternalKey, MAX_SEQUENCE, ReverseBytewiseComparator,
    ValueType, comparator_by_name, encode_seek_key,
};
