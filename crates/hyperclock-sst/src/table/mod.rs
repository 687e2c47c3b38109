//! A table: an immutable, sorted file of keys and values, read through the block cache.
//!
//! ```text
//! get(key) -> filter: can it hold the key? -> index: which block? -> data block: the entries
//! ```
//!
//! Opening a table reads its footer, metaindex and properties, and of the filter the last bytes, which
//! say of what kind it is. Every block, index and filter too, is looked up in the cache under the table's key and its offset,
//! and read, verified, decompressed and parsed on a miss, once however many threads ask for it.
//! A table holds no blocks: what it may keep in memory is the cache's decision alone.
//!
//! A lookup walks at most: the filter, or the index over its partitions and one partition; the
//! index, or its top level and one partition; one data block, and the next one while versions of
//! the key continue there. Warm, that is one cache lookup each and no allocation.
//!
//! What cannot be read rightly is refused when the table is opened, by name: formats older and
//! newer, range tombstones, user-defined timestamps, foreign compression. A filter that is not
//! known only costs speed, so the table is read without it, and counted.

mod block_counts;
mod get;
mod index_cursor;
mod iter;
mod open;
mod source;

use std::fmt;
use std::path::Path;
use std::sync::Arc;

use hyperclock::{BlockCache, CacheValue, Clock, Handle, LoadError, Primary, Priority, Role, View};

pub use get::ValueRef;
pub use iter::TableIter;

use crate::cache_key::FileKey;
use crate::cached::{DataBlock, DictionaryBlock, IndexBlock};
use crate::checksum::ChecksumType;
use crate::compression::{CompressionType, Dictionary};
use crate::counters::{BlockKind, TableCounters};
use crate::error::{Defect, Error, Result};
use crate::file::RandomAccessFile;
use crate::filter::FilterBlock;
use crate::footer::BlockHandle;
use crate::index::IndexFormat;
use crate::key::{Comparator, InternalOrder};
use crate::properties::Properties;
use source::BlockSource;

/// How a table is opened.
///
/// ```
/// let options = hyperclock_sst::TableOptions::new().largest_sequence(1031);
/// assert_eq!(options.largest_sequence, Some(1031));
/// ```
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct TableOptions {
    /// Where to count; tables may share it.
    pub counters: Arc<TableCounters>,
    /// The largest sequence number in the file, as the MANIFEST has it. Files that were ingested
    /// need it: all their keys have this number, and they are refused without it.
    pub largest_sequence: Option<u64>,
}

impl TableOptions {
    /// Counters of its own, and no sequence number.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// The same with [`counters`](Self::counters).
    #[must_use]
    pub fn counters(self, counters: Arc<TableCounters>) -> Self {
        Self { counters, ..self }
    }

    /// The same with [`largest_sequence`](Self::largest_sequence).
    #[must_use]
    pub fn largest_sequence(self, sequence: u64) -> Self {
        Self { largest_sequence: Some(sequence), ..self }
    }
}

/// How blocks are read.
///
/// ```
/// use hyperclock_sst::ReadOptions;
///
/// let scan = ReadOptions::new().fill_cache(false);
/// assert!(!scan.fill_cache && scan.verify_checksums);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ReadOptions {
    /// Whether blocks that are not in the cache are put there. Without it the cache is still
    /// looked up, and what is not there is read privately.
    pub fill_cache: bool,
    /// Whether checksums of blocks read from disk are compared.
    pub verify_checksums: bool,
}

impl ReadOptions {
    /// Fills the cache and verifies checksums.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// The same with [`fill_cache`](Self::fill_cache).
    #[must_use]
    pub fn fill_cache(self, fill_cache: bool) -> Self {
        Self { fill_cache, ..self }
    }

    /// The same with [`verify_checksums`](Self::verify_checksums).
    #[must_use]
    pub fn verify_checksums(self, verify_checksums: bool) -> Self {
        Self { verify_checksums, ..self }
    }
}

impl Default for ReadOptions {
    fn default() -> Self {
        Self { fill_cache: true, verify_checksums: true }
    }
}

/// Which filter a table is read with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum FilterLayout {
    /// None, or one that cannot be used.
    None,
    /// A single block.
    Full(BlockHandle),
    /// An index over partitions.
    Partitioned(BlockHandle),
}

/// Typed windows on the cache, one per kind of block.
struct Views<P: Primary> {
    data: View<DataBlock, P>,
    index: View<IndexBlock, P>,
    filter: View<FilterBlock, P>,
    filter_index: View<IndexBlock, P>,
    dictionary: View<DictionaryBlock, P>,
}

impl<P: Primary> Views<P> {
    fn new(cache: &BlockCache<P>) -> Self {
        Self {
            data: cache.view(Role::DATA_BLOCK),
            index: cache.view(Role::INDEX_BLOCK).with_priority(Priority::High),
            filter: cache.view(Role::FILTER_BLOCK).with_priority(Priority::High),
            filter_index: cache.view(Role::FILTER_META_BLOCK).with_priority(Priority::High),
            dictionary: cache.view(Role::OTHER_BLOCK).with_priority(Priority::High),
        }
    }
}

/// An open table. Cheap to clone; clones share everything.
pub struct Table<P: Primary = Clock>(Arc<Inner<P>>);

struct Inner<P: Primary> {
    source: BlockSource,
    views: Views<P>,
    key: FileKey,
    order: InternalOrder,
    properties: Properties,
    file_number: u64,
    file_size: u64,
    format_version: u32,
    index: BlockHandle,
    two_level: bool,
    /// Of the index, at both levels if there are two.
    index_format: IndexFormat,
    filter_index_format: IndexFormat,
    filter: FilterLayout,
    unknown_filter: bool,
    dictionary: Option<BlockHandle>,
    /// The sequence number of every key of an ingested file.
    global_sequence: Option<u64>,
}

impl<P: Primary> Clone for Table<P> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<P: Primary> Table<P> {
    /// Opens a table. `path` and `file_number` are what errors and cache keys go by; the bytes come
    /// from `file`.
    ///
    /// Costs four to six small reads: footer, metaindex, properties, and the end of the filter.
    ///
    /// # Errors
    ///
    /// [`Error::Corruption`] if what was read is damaged, [`Error::Unsupported`] if the file needs
    /// a feature that would give wrong answers if ignored, [`Error::InvalidArgument`] if the file's
    /// comparator is another one.
    pub fn open(
        file: Arc<dyn RandomAccessFile>,
        path: &Path,
        file_number: u64,
        comparator: &Arc<dyn Comparator>,
        cache: &BlockCache<P>,
        options: &TableOptions,
    ) -> Result<Self> {
        let inner = open::open(file, path, file_number, comparator, cache, options)?;
        Ok(Self(Arc::new(inner)))
    }

    /// What the file says of itself.
    pub fn properties(&self) -> &Properties {
        &self.0.properties
    }

    /// The format version, 2 to 7, from the footer.
    pub fn format_version(&self) -> u32 {
        self.0.format_version
    }

    /// The kind of checksum that the blocks have.
    pub fn checksum_type(&self) -> ChecksumType {
        self.0.source.checksum_type()
    }

    /// The number that the table was opened with.
    pub fn file_number(&self) -> u64 {
        self.0.file_number
    }

    /// Bytes of the file.
    pub fn file_size(&self) -> u64 {
        self.0.file_size
    }

    /// Where the file is.
    pub fn path(&self) -> &Path {
        self.0.source.path()
    }

    /// Whether the table has a filter of a kind that is not known, and is read without.
    pub fn has_unknown_filter(&self) -> bool {
        self.0.unknown_filter
    }

    /// Whether lookups of whole keys ask a filter.
    pub fn has_filter(&self) -> bool {
        self.0.filter != FilterLayout::None
    }

    /// Whether the keys of the table's blocks in the cache are the same each time it is opened.
    pub fn has_stable_cache_keys(&self) -> bool {
        self.0.key.is_stable()
    }

    /// The word that the keys of all blocks of this table share in the cache.
    pub fn cache_file_id(&self) -> u64 {
        self.0.key.block(0).file()
    }

    /// An iterator over the internal keys of the table. It is not on any of them yet.
    #[expect(clippy::iter_not_returning_iterator, reason = "it moves both ways, and lends keys")]
    pub fn iter(&self, read: &ReadOptions) -> TableIter<P> {
        TableIter::new(self.clone(), *read)
    }
}

impl<P: Primary> fmt::Debug for Table<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Table")
            .field("path", &self.path())
            .field("format_version", &self.0.format_version)
            .field("filter", &self.0.filter)
            .finish_non_exhaustive()
    }
}

impl<P: Primary> Inner<P> {
    /// A block, from the cache or else by `load`, which reads it.
    #[inline]
    fn load<V: CacheValue>(
        &self,
        view: &View<V, P>,
        handle: BlockHandle,
        kind: BlockKind,
        read: ReadOptions,
        load: impl FnOnce() -> Result<V>,
    ) -> Result<Handle<V, P>> {
        let key = self.key.block(handle.offset);
        if read.fill_cache {
            return view.get_or_load(&key, load).map_err(|e| self.load_error(handle, kind, e));
        }
        match view.get(&key) {
            Ok(Some(block)) => Ok(block),
            Ok(None) => Ok(view.standalone(load()?)),
            Err(mismatch) => Err(self.load_error(handle, kind, LoadError::Type(mismatch))),
        }
    }

    #[cold]
    fn load_error(&self, handle: BlockHandle, kind: BlockKind, e: LoadError<Error>) -> Error {
        match e {
            LoadError::Load(shared) => Arc::try_unwrap(shared).unwrap_or_else(|e| (*e).clone()),
            // Offsets are keys: two kinds of block at one offset, or a block that is its own dictionary.
            LoadError::Type(e) => {
                self.source.error(handle, kind, Defect::corrupt(format!("another block is here too: {e}")))
            }
            LoadError::Reentrant => self.source.error(handle, kind, Defect::corrupt("the block needs itself")),
            other => Error::Cache {
                file: self.source.path().to_owned(),
                what: format!("{} at {}: {other}", kind.described(), handle.offset),
            },
        }
    }

    /// Reads a block that is compressed without the dictionary.
    fn read<V>(
        &self,
        handle: BlockHandle,
        kind: BlockKind,
        read: ReadOptions,
        parse: impl FnOnce(Box<[u8]>) -> Result<V, Defect>,
    ) -> Result<V> {
        let stored = self.source.read(handle, kind, read.verify_checksums)?;
        let bytes = self.source.unpack(handle, kind, stored, None)?;
        parse(bytes).map_err(|d| self.source.error(handle, kind, d))
    }

    /// A data block. Who reads several keeps the dictionary, if there is one, in `dictionary`: past
    /// the cache it would be read and digested for each.
    #[inline]
    fn data_block(
        &self,
        handle: BlockHandle,
        read: ReadOptions,
        dictionary: &mut Option<Handle<DictionaryBlock, P>>,
    ) -> Result<Handle<DataBlock, P>> {
        self.load(&self.views.data, handle, BlockKind::Data, read, || self.read_data(handle, read, dictionary))
    }

    fn read_data(
        &self,
        handle: BlockHandle,
        read: ReadOptions,
        dictionary: &mut Option<Handle<DictionaryBlock, P>>,
    ) -> Result<DataBlock> {
        const KIND: BlockKind = BlockKind::Data;
        let stored = self.source.read(handle, KIND, read.verify_checksums)?;
        if let (Some(at), None) = (self.dictionary, &*dictionary)
            && uses_dictionary(stored.codec)
        {
            let block = self.load(&self.views.dictionary, at, BlockKind::Dictionary, read, || {
                self.read(at, BlockKind::Dictionary, read, |bytes| Dictionary::new(bytes).map(DictionaryBlock))
            })?;
            *dictionary = Some(block);
        }
        let bytes = self.source.unpack(handle, KIND, stored, dictionary.as_ref().map(|block| &block.0))?;
        DataBlock::parse(bytes).map_err(|d| self.source.error(handle, KIND, d))
    }

    #[inline]
    fn index_block(&self, handle: BlockHandle, read: ReadOptions) -> Result<Handle<IndexBlock, P>> {
        const KIND: BlockKind = BlockKind::Index;
        self.load(&self.views.index, handle, KIND, read, || self.read(handle, KIND, read, IndexBlock::parse))
    }

    #[inline]
    fn filter_block(&self, handle: BlockHandle, read: ReadOptions) -> Result<Handle<FilterBlock, P>> {
        const KIND: BlockKind = BlockKind::Filter;
        self.load(&self.views.filter, handle, KIND, read, || {
            self.read(handle, KIND, read, |bytes| Ok(FilterBlock::parse(bytes)))
        })
    }

    #[inline]
    fn filter_index_block(&self, handle: BlockHandle, read: ReadOptions) -> Result<Handle<IndexBlock, P>> {
        const KIND: BlockKind = BlockKind::FilterPartitionIndex;
        self.load(&self.views.filter_index, handle, KIND, read, || self.read(handle, KIND, read, IndexBlock::parse))
    }
}

/// Whether blocks of a codec are compressed with the file's dictionary, if it has one.
fn uses_dictionary(codec: CompressionType) -> bool {
    matches!(codec, CompressionType::Zlib | CompressionType::Lz4 | CompressionType::Lz4hc | CompressionType::Zstd)
}

#[cfg(test)]
mod tests;
