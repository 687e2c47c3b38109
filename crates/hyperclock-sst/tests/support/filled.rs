//! Databases that are made on the spot.

use hyperclock_sst::fill::{FillOptions, Rows as FilledRows, fill};
use hyperclock_sst::{CompressionType, Db, DbOptions};
use tempfile::TempDir;

use super::Rows;

/// A database in a folder of its own, and its rows.
pub(crate) struct Filled {
    pub(crate) directory: TempDir,
    pub(crate) rows: Rows,
}

/// Rows of 100 bytes without compression, in blocks of `block_size` bytes.
pub(crate) fn options(num: u64, block_size: usize) -> FillOptions {
    FillOptions { num, block_size, compression: CompressionType::None, ..FillOptions::default() }
}

pub(crate) fn filled(options: &FillOptions) -> Filled {
    let directory = tempfile::tempdir().unwrap();
    fill(directory.path(), options, |_| ()).unwrap();
    Filled { directory, rows: rows(options) }
}

pub(crate) fn rows(options: &FillOptions) -> Rows {
    let mut source = FilledRows::new(options);
    let row = |number| {
        let (key, value) = source.row(number);
        (key.to_vec(), value.to_vec())
    };
    (0..options.num).map(row).collect()
}

impl Filled {
    pub(crate) fn open(&self, cache: &hyperclock::BlockCache) -> Db {
        Db::open_read_only(self.directory.path(), &DbOptions::new(cache.clone())).unwrap()
    }
}
