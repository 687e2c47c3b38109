//! Makes a database of any size, the same for everyone who gives the same options.
//!
//! Measuring a reader needs databases that are larger than memory, and a way to say which one was used. [`fill`] writes
//! row `n` of `num` under a key that is the number itself and a value that depends only on `n` and the seed, and puts
//! the tables in the bottom level, as a full compaction leaves them. Every byte follows from the options: times are
//! "unknown", and database and session id are a hash of the options, so that two databases share cache keys only if
//! they hold the same blocks.
//!
//! ```
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! use hyperclock_sst::fill::{FillOptions, fill};
//!
//! # let parent = tempfile::tempdir()?;
//! # let directory = parent.path().join("db");
//! let options = FillOptions { num: 10_000, ..FillOptions::default() };
//! let report = fill(&directory, &options, |progress| {
//!     eprintln!("{} of {} rows", progress.entries, progress.total_entries);
//! })?;
//! assert_eq!(report.entries, 10_000);
//! # Ok(())
//! # }
//! ```
//!
//! Invariants: I1 CURRENT is written last, so the directory is a database only when it is complete. I2 whatever an error
//! interrupts is removed again. I3 files hold ascending, disjoint ranges of keys.

mod identity;
mod new_directory;
mod rows;

use std::path::Path;

pub use rows::Rows;

use self::identity::Identity;
use self::new_directory::NewDirectory;
use crate::compression::CompressionType;
use crate::error::{Error, Result};
use crate::key::{BytewiseComparator, Comparator, MAX_SEQUENCE};
use crate::writer::manifest_writer::{DatabaseSnapshot, PlacedTable};
use crate::writer::{SstWriter, WriterOptions};

/// The level that a full compaction of a database with RocksDB's default of seven levels ends in.
const BOTTOM_LEVEL: u32 = 6;
const MANIFEST_NUMBER: u64 = 1;
/// Rows between two calls of the progress callback.
const PROGRESS_STEP: u64 = 1 << 14;

/// What [`fill`] writes.
#[derive(Clone, Debug)]
pub struct FillOptions {
    /// Rows. Default: 1,000,000.
    pub num: u64,
    /// Bytes of a key: the row's number in eight bytes, big-endian, then `0` characters. A smaller size keeps the low
    /// bytes of the number and must hold the last one. Default: 16.
    pub key_size: usize,
    /// Bytes of a value. Default: 100.
    pub value_size: usize,
    /// What is left of a value when it is compressed alone, as a share of its size, 0 to 1. Default: 0.5.
    pub value_compressibility: f64,
    /// The codec of the tables. Default: Snappy.
    pub compression: CompressionType,
    /// Bits of Bloom filter a key, 1 to 100, or none. Default: 10.
    pub bloom_bits_per_key: Option<f64>,
    /// Bytes of a data block before compression. Default: 4096.
    pub block_size: usize,
    /// A table ends when its data blocks take this many bytes. Default: 64 MiB.
    pub target_file_size: u64,
    /// Changes all values and the database's identity. Default: 0.
    pub seed: u64,
}

impl Default for FillOptions {
    fn default() -> Self {
        Self {
            num: 1_000_000,
            key_size: 16,
            value_size: 100,
            value_compressibility: 0.5,
            compression: CompressionType::Snappy,
            bloom_bits_per_key: Some(10.0),
            block_size: 4096,
            target_file_size: 64 << 20,
            seed: 0,
        }
    }
}

impl FillOptions {
    fn validate(&self) -> Result<()> {
        let refuse = |message: String| Err(Error::InvalidArgument(message));
        if self.num > MAX_SEQUENCE {
            return refuse(format!(
                "{} rows are more than the {MAX_SEQUENCE} sequence numbers of a database",
                self.num
            ));
        }
        if self.key_size == 0 {
            return refuse("key size 0: a key needs at least 1 byte".to_owned());
        }
        if self.key_size < 8 && self.num.saturating_sub(1) >> (self.key_size * 8) != 0 {
            return refuse(format!(
                "key size {}: that many bytes number {} rows, not {}; take a larger key or fewer rows",
                self.key_size,
                1_u64 << (self.key_size * 8),
                self.num
            ));
        }
        if !(0.0..=1.0).contains(&self.value_compressibility) {
            return refuse(format!("value compressibility {} is not in 0 ..= 1", self.value_compressibility));
        }
        if self.target_file_size == 0 {
            return refuse("target file size 0: a table needs room for a block".to_owned());
        }
        Ok(())
    }
}

/// How far [`fill`] is.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct FillProgress {
    /// Rows written.
    pub entries: u64,
    /// Rows to write.
    pub total_entries: u64,
    /// Bytes of keys and values written, before compression.
    pub raw_bytes: u64,
}

/// What [`fill`] made.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct FillReport {
    /// Rows.
    pub entries: u64,
    /// Tables.
    pub files: u64,
    /// Bytes of all tables.
    pub file_bytes: u64,
    /// Bytes of keys and values before compression.
    pub raw_bytes: u64,
}

/// Makes a database in `directory`, which must not exist or be empty.
///
/// `progress` is called every few thousand rows and once at the end.
///
/// # Errors
///
/// [`Error::InvalidArgument`] for options out of range and for a directory with something in it; [`Error::Io`] when a
/// file cannot be written. Files made before an error are removed.
pub fn fill(directory: &Path, options: &FillOptions, mut progress: impl FnMut(FillProgress)) -> Result<FillReport> {
    options.validate()?;
    let identity = Identity::of(options);
    let mut directory = NewDirectory::create(directory)?;
    let mut rows = Rows::new(options);

    let mut report = FillReport { entries: 0, files: 0, file_bytes: 0, raw_bytes: 0 };
    let mut tables = Vec::new();
    let mut next_file_number = MANIFEST_NUMBER + 1;
    let mut open: Option<SstWriter> = None;
    for number in 0..options.num {
        let mut table = match open.take() {
            Some(table) => table,
            None => start_table(&directory, next_file_number, options, &identity)?,
        };
        let (key, value) = rows.row(number);
        // Sequence number 0, as compaction leaves keys that no snapshot needs to tell apart.
        table.put(key, 0, value)?;
        report.entries += 1;
        report.raw_bytes += (key.len() + value.len()) as u64;
        if table.written() >= options.target_file_size || number + 1 == options.num {
            tables.push(finish_table(&mut directory, table, next_file_number, &identity)?);
            next_file_number += 1;
        } else {
            open = Some(table);
        }
        if report.entries.is_multiple_of(PROGRESS_STEP) || report.entries == options.num {
            let FillReport { entries, raw_bytes, .. } = report;
            progress(FillProgress { entries, total_entries: options.num, raw_bytes });
        }
    }

    report.files = tables.len() as u64;
    report.file_bytes = tables.iter().map(|table| table.info.file_size).sum();
    let snapshot = DatabaseSnapshot {
        db_id: &identity.db_id,
        comparator: BytewiseComparator.name(),
        next_file_number,
        last_sequence: options.num,
        tables: &tables,
    };
    directory.install(&snapshot, MANIFEST_NUMBER)?;
    Ok(report)
}

fn start_table(directory: &NewDirectory, number: u64, options: &FillOptions, identity: &Identity) -> Result<SstWriter> {
    let writer_options = WriterOptions {
        block_size: options.block_size,
        compression: options.compression,
        bloom_bits_per_key: options.bloom_bits_per_key,
        db_id: identity.db_id.clone(),
        session_id: identity.session_id.clone(),
        file_number: number,
        ..WriterOptions::default()
    };
    SstWriter::create(&directory.path().join(format!("{number:06}.sst")), writer_options)
}

fn finish_table(
    directory: &mut NewDirectory,
    table: SstWriter,
    number: u64,
    identity: &Identity,
) -> Result<PlacedTable> {
    let path = table.path().to_path_buf();
    let info = table.finish()?;
    directory.made(path);
    Ok(PlacedTable { level: BOTTOM_LEVEL, number, info, unique_id: identity.unique_id(number), creation_time: 0 })
}

#[cfg(test)]
mod tests;
