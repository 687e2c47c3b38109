//! What the fuzz targets run: each parser on arbitrary bytes, behind one function.
//!
//! Not part of the interface: it exists under `cfg(fuzzing)`, which cargo-fuzz sets, and in unit tests, which run every
//! function over the fixtures so that the targets cannot rot. A function panics where a parser breaks one of its own
//! promises; everything else the parsers must turn into errors.
//!
//! Checksums stop a fuzzer before it gets anywhere. So the targets begin behind them, and whole tables are fed with the
//! checksum type "none", which the format allows.

use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Arc;

use hyperclock::BlockCache;

use crate::block::{Block, BlockIter, EntryFormat, PlainEntries};
use crate::coding::Reader;
use crate::compression::MAX_BLOCK_SIZE;
use crate::file::RandomAccessFile;
use crate::filter::FilterBlock;
use crate::footer::Footer;
use crate::index::IndexFormat;
use crate::key::{BytewiseComparator, Comparator};
use crate::log::{LogReader, Strictness};
use crate::manifest::VersionEdit;
use crate::properties::Properties;
use crate::table::{ReadOptions, Table, TableOptions};
use crate::version::VersionBuilder;

/// A file in memory.
struct Bytes(Vec<u8>);

impl RandomAccessFile for Bytes {
    fn read_exact_at(&self, offset: u64, buf: &mut [u8]) -> std::io::Result<()> {
        let range = usize::try_from(offset).ok().and_then(|start| Some(start..start.checked_add(buf.len())?));
        let bytes = range.and_then(|range| self.0.get(range)).ok_or(std::io::ErrorKind::UnexpectedEof)?;
        buf.copy_from_slice(bytes);
        Ok(())
    }

    fn size(&self) -> std::io::Result<u64> {
        Ok(self.0.len() as u64)
    }
}

/// A data block.
pub fn block(data: &[u8]) {
    walk(data, PlainEntries);
}

/// An index block; the first byte chooses the form of its entries.
pub fn index(data: &[u8]) {
    let Some((&form, body)) = data.split_first() else { return };
    let format = IndexFormat { user_keys: form & 1 != 0, delta_values: form & 2 != 0, first_keys: form & 4 != 0 };
    walk(body, format);
}

/// Reads a block forward, backward and by seeks. Forward and backward must show the same keys.
fn walk<F: EntryFormat>(body: &[u8], format: F) {
    let Ok(block) = Block::parse(body.into()) else { return };
    let mut iter = BlockIter::new(&block, format);
    let mut keys = Vec::new();
    let mut outcome = iter.seek_to_first();
    while outcome.is_ok() && iter.valid() {
        keys.push(iter.key().to_vec());
        assert!(keys.len() <= body.len(), "more entries than bytes");
        outcome = iter.next();
    }
    let whole = outcome.is_ok();

    let mut left = keys.len();
    outcome = iter.seek_to_last();
    while outcome.is_ok() && iter.valid() && left > 0 {
        left -= 1;
        if whole {
            assert_eq!(iter.key(), keys[left], "backward and forward differ");
        }
        outcome = iter.prev();
    }
    if whole && outcome.is_ok() {
        assert_eq!((left, iter.valid()), (0, false), "backward and forward differ in length");
    }

    let sorted = whole && keys.is_sorted();
    for target in &keys {
        let outcome = iter.seek(|key| key.cmp(target));
        if sorted && outcome.is_ok() {
            assert_eq!(iter.key(), target, "a key is not found where it is");
        }
    }
}

/// A filter block, asked for a key: its length in one byte, the key, the filter.
pub fn filter(data: &[u8]) {
    let mut reader = Reader::new(data);
    let Some(key) = reader.u8().and_then(|length| reader.take(length.into())) else {
        return;
    };
    let bytes = reader.rest();
    let matches = FilterBlock::parse(bytes.into()).may_match(key);
    if let Some((_, &metadata)) = bytes.split_last_chunk() {
        assert!(matches || !FilterBlock::is_unknown(bytes.len(), metadata));
    }
}

/// A properties block.
pub fn properties(data: &[u8]) {
    if let Ok(block) = Block::parse(data.into())
        && let Ok(properties) = Properties::parse(&block)
    {
        let _ = properties.unique_id();
    }
}

/// The end of a table.
pub fn footer(data: &[u8]) {
    for size in [data.len() as u64, 53, 1 << 40, u64::MAX] {
        let tail = data.get(data.len().saturating_sub(53)..).unwrap_or_default();
        if let Ok(footer) = Footer::parse(tail, size) {
            assert!((2..=7).contains(&footer.format_version));
            assert!(footer.offset < size);
        }
    }
}

/// Steps of a scan that a fuzz function takes: damaged indexes may name one block any number of times.
const MAX_STEPS: usize = 4096;

/// A whole table: opened, scanned both ways, asked for some of its keys.
pub fn table(data: &[u8]) {
    let cache = BlockCache::builder().capacity(1 << 20).build().expect("a small cache");
    let comparator: Arc<dyn Comparator> = Arc::new(BytewiseComparator);
    let file = Arc::new(Bytes(data.to_vec()));
    let options = TableOptions { largest_sequence: Some(9), ..TableOptions::default() };
    let Ok(table) = Table::open(file, Path::new("table"), 7, &comparator, &cache, &options) else { return };

    let read = ReadOptions::default();
    let mut targets = vec![b"key\xff\xff\xff\xff\xff\xff\xff\xff".to_vec()];
    let mut iter = table.iter(&read);
    let mut outcome = iter.seek_to_first();
    for _ in 0..MAX_STEPS {
        if outcome.is_err() || !iter.valid() {
            break;
        }
        assert!(iter.key().len() >= 8, "an internal key without its trailer");
        if targets.len() < 16 {
            targets.push(iter.key().to_vec());
        }
        outcome = iter.next();
    }
    outcome = iter.seek_to_last();
    for _ in 0..MAX_STEPS {
        if outcome.is_err() || !iter.valid() {
            break;
        }
        outcome = iter.prev();
    }
    for target in &targets {
        let _ = iter.seek(target);
        let _ = iter.seek_for_prev(target);
        let mut versions = 0;
        let _ = table.get(target, &read, &mut |_, value| {
            versions += 1;
            assert!(value.len() <= MAX_BLOCK_SIZE);
            if versions < MAX_STEPS { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
        });
    }
    let targets: Vec<&[u8]> = targets.iter().map(Vec::as_slice).collect();
    let _ = table.multi_get(&targets, &read, &mut |_, _, _| ControlFlow::Break(()));
}

/// A MANIFEST or write-ahead log with its framing.
pub fn log(data: &[u8]) {
    for strictness in [Strictness::Manifest, Strictness::WriteAheadLog] {
        let file = Arc::new(Bytes(data.to_vec()));
        let mut log = LogReader::new(file, Path::new("log"), 8, strictness).expect("memory has a size");
        let mut payload = 0;
        while let Ok(Some(record)) = log.next_record() {
            payload += record.payload.len() + 7;
            assert!(payload <= data.len(), "more records than bytes");
        }
    }
}

/// Version edits, each behind its length in one byte, applied in order.
pub fn manifest(data: &[u8]) {
    let mut reader = Reader::new(data);
    let mut version = VersionBuilder::new();
    while let Some(edit) = reader.u8().and_then(|length| reader.take(length.into())) {
        let Ok(edit) = VersionEdit::decode(edit) else { return };
        if version.apply(edit).is_err() {
            return;
        }
    }
    if let Ok(version) = version.finish() {
        for level in version.families.iter().flat_map(|family| &family.levels) {
            assert!(!level.files.is_empty(), "level {} without files", level.level);
        }
    }
}

#[cfg(test)]
mod tests;
