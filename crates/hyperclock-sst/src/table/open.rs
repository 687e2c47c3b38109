//! Opening a table: footer, metaindex, properties, and what to refuse.

use std::path::Path;
use std::sync::Arc;

use hyperclock::{BlockCache, Primary};

use super::source::BlockSource;
use super::{FilterLayout, Inner, TableOptions, Views};
use crate::block::{Block, BlockIter, PlainEntries};
use crate::cache_key::FileKey;
use crate::cached::IndexBlock;
use crate::counters::BlockKind;
use crate::error::{Defect, Error, Result};
use crate::file::RandomAccessFile;
use crate::filter::{FilterBlock, METADATA_LEN};
use crate::footer::{BlockHandle, FOOTER_SIZE, Footer};
use crate::index::{IndexFormat, handle_value};
use crate::key::{Comparator, InternalOrder, TIMESTAMP_SUFFIX};
use crate::properties::{GLOBAL_SEQUENCE_PROPERTY, IndexType, Properties};

/// The policy name under which all filters of RocksDB itself are stored.
const BUILT_IN_POLICY: &str = "rocksdb.BuiltinBloomFilter";

pub(super) fn open<P: Primary>(
    file: Arc<dyn RandomAccessFile>,
    path: &Path,
    file_number: u64,
    comparator: &Arc<dyn Comparator>,
    cache: &BlockCache<P>,
    options: &TableOptions,
) -> Result<Inner<P>> {
    let file_size = file.size().map_err(|e| Error::io(path, e))?;
    let tail_len = file_size.min(FOOTER_SIZE as u64);
    let mut tail = vec![0; tail_len as usize];
    let tail_offset = file_size - tail_len;
    file.read_exact_at(tail_offset, &mut tail).map_err(|e| Error::read(path, tail_offset, tail.len(), e))?;
    let footer = Footer::parse(&tail, file_size).map_err(|d| d.at(path, file_size - tail_len, "footer"))?;
    let source = BlockSource::new(file, path.into(), &footer, Arc::clone(&options.counters));

    let blocks = Metaindex::read(&source, footer.metaindex)?;
    let missing = |name: &str| {
        let defect = Defect::corrupt(format!("no entry for {name}"));
        source.error(footer.metaindex, BlockKind::Metaindex, defect)
    };
    let properties_at = blocks.properties.ok_or_else(|| missing("rocksdb.properties"))?;
    let properties = read_properties(&source, properties_at)?;
    let refuse = |defect: Defect| source.error(properties_at, BlockKind::Properties, defect);

    check_comparator(&properties, comparator.as_ref(), path)?;
    if !properties.timestamps_persisted {
        return Err(refuse(Defect::unsupported("user-defined timestamps that are not persisted")));
    }
    properties.check_compression_manager().map_err(refuse)?;
    let global_sequence = global_sequence(&properties, options).map_err(refuse)?;
    if let Some(handle) = blocks.range_deletions {
        check_no_range_deletions(&source, handle)?;
    }

    let index_type =
        properties.index_type.ok_or_else(|| refuse(Defect::corrupt("no property for the type of the index")))?;
    let index_format = IndexFormat {
        user_keys: properties.index_key_is_user_key,
        delta_values: properties.index_value_is_delta_encoded,
        first_keys: index_type == IndexType::BinarySearchWithFirstKey,
    };
    let filter_index_format = IndexFormat { first_keys: false, ..index_format };
    let index = match footer.index {
        Some(handle) => handle,
        None => blocks.index.ok_or_else(|| missing("rocksdb.index"))?,
    };
    let (filter, unknown_filter) = choose_filter(&source, &blocks, &properties, filter_index_format)?;
    if unknown_filter {
        options.counters.count_unknown_filter();
    }

    Ok(Inner {
        views: Views::new(cache),
        key: properties.unique_id().map_or_else(FileKey::random, |id| FileKey::stable(id, file_size, &tail)),
        order: InternalOrder::new(comparator),
        file_number,
        file_size,
        format_version: footer.format_version,
        index,
        two_level: index_type == IndexType::TwoLevel,
        index_format,
        filter_index_format,
        filter,
        unknown_filter,
        dictionary: blocks.dictionary,
        global_sequence,
        properties,
        source,
    })
}

/// The blocks that the metaindex names.
#[derive(Default)]
struct Metaindex {
    properties: Option<BlockHandle>,
    index: Option<BlockHandle>,
    dictionary: Option<BlockHandle>,
    range_deletions: Option<BlockHandle>,
    full_filter: Option<BlockHandle>,
    partitioned_filter: Option<BlockHandle>,
    /// A filter of a policy or form that is not known.
    other_filter: bool,
}

impl Metaindex {
    fn read(source: &BlockSource, handle: BlockHandle) -> Result<Self> {
        const KIND: BlockKind = BlockKind::Metaindex;
        let stored = source.read(handle, KIND, true)?;
        let bytes = source.unpack(handle, KIND, stored, None)?;
        Self::parse(bytes).map_err(|d| source.error(handle, KIND, d))
    }

    fn parse(bytes: Box<[u8]>) -> Result<Self, Defect> {
        let block = Block::parse(bytes)?;
        let mut found = Self::default();
        let mut iter = BlockIter::new(&block, PlainEntries);
        iter.seek_to_first()?;
        while iter.valid() {
            let name = iter.key();
            let handle = || {
                handle_value(block.slice(iter.value()))
                    .map(Some)
                    .ok_or_else(|| Defect::corrupt(format!("bad handle of {}", name.escape_ascii())))
            };
            match std::str::from_utf8(name).unwrap_or_default() {
                "rocksdb.properties" => found.properties = handle()?,
                "rocksdb.index" => found.index = handle()?,
                "rocksdb.compression_dict" => found.dictionary = handle()?,
                "rocksdb.range_del" => found.range_deletions = handle()?,
                other => match other.split_once('.') {
                    Some(("fullfilter", BUILT_IN_POLICY)) => found.full_filter = handle()?,
                    Some(("partitionedfilter", BUILT_IN_POLICY)) => {
                        found.partitioned_filter = handle()?;
                    }
                    Some(("fullfilter" | "partitionedfilter" | "filter", _)) => {
                        found.other_filter = true;
                    }
                    _ => {}
                },
            }
            iter.next()?;
        }
        Ok(found)
    }
}

/// Reads the properties. Some versions of RocksDB patched the sequence number into an ingested
/// file without a new checksum: if the checksum fails, it must hold with that number zeroed.
fn read_properties(source: &BlockSource, handle: BlockHandle) -> Result<Properties> {
    const KIND: BlockKind = BlockKind::Properties;
    let mut stored = source.read(handle, KIND, false)?;
    let verified = source.verify(handle, KIND, &stored);
    let block = source
        .unpack(handle, KIND, stored.clone(), None)
        .and_then(|bytes| Block::parse(bytes).map_err(|d| source.error(handle, KIND, d)));
    if let Err(mismatch) = verified {
        let patched = block.as_ref().ok().and_then(patched_range);
        let Some(bytes) = patched.and_then(|range| stored.covered_mut().get_mut(range)) else {
            return Err(mismatch);
        };
        bytes.fill(0);
        source.verify(handle, KIND, &stored).map_err(|_| mismatch)?;
    }
    Properties::parse(&block?).map_err(|d| source.error(handle, KIND, d))
}

/// Where the block holds the sequence number that may have been patched.
fn patched_range(block: &Block) -> Option<std::ops::Range<usize>> {
    let mut iter = BlockIter::new(block, PlainEntries);
    iter.seek_to_first().ok()?;
    while iter.valid() && iter.key() != GLOBAL_SEQUENCE_PROPERTY {
        iter.next().ok()?;
    }
    let range = iter.valid().then(|| iter.value())?;
    (range.len() == size_of::<u64>()).then_some(range.start as usize..range.end as usize)
}

fn check_comparator(properties: &Properties, comparator: &dyn Comparator, path: &Path) -> Result<()> {
    let (recorded, given) = (properties.comparator.as_str(), comparator.name());
    if recorded.ends_with(TIMESTAMP_SUFFIX) || given.ends_with(TIMESTAMP_SUFFIX) {
        let name = if recorded.is_empty() { given } else { recorded };
        return Err(Error::unsupported(path, format!("user-defined timestamps (comparator {name})")));
    }
    if recorded.is_empty() || recorded == given {
        return Ok(());
    }
    Err(Error::InvalidArgument(format!(
        "{}: the file is ordered by comparator {recorded}, not by {given}",
        path.display()
    )))
}

/// The sequence number that all keys of an ingested file have; they are stored with 0.
fn global_sequence(properties: &Properties, options: &TableOptions) -> Result<Option<u64>, Defect> {
    if properties.external_file_version.is_none_or(|v| v < 2) {
        return Ok(None);
    }
    match (properties.global_sequence, options.largest_sequence) {
        (0, Some(sequence)) => Ok(Some(sequence)),
        (recorded, Some(sequence)) if recorded != sequence => {
            Err(Defect::corrupt(format!("global sequence number {recorded}, but {sequence} in the MANIFEST")))
        }
        (recorded @ 1.., _) => Ok(Some(recorded)),
        (0, None) => Err(Defect::unsupported("an ingested file without the sequence number that a MANIFEST gives it")),
    }
}

/// Range tombstones hide keys in other files: without them, deleted keys would come back.
fn check_no_range_deletions(source: &BlockSource, handle: BlockHandle) -> Result<()> {
    const KIND: BlockKind = BlockKind::RangeDeletion;
    let stored = source.read(handle, KIND, true)?;
    let bytes = source.unpack(handle, KIND, stored, None)?;
    let has_entries = Block::parse(bytes).and_then(|block| {
        let mut iter = BlockIter::new(&block, PlainEntries);
        iter.seek_to_first()?;
        Ok(iter.valid())
    });
    match has_entries {
        Ok(false) => Ok(()),
        Ok(true) => Err(source.error(handle, KIND, Defect::unsupported("range tombstones (DeleteRange)"))),
        Err(defect) => Err(source.error(handle, KIND, defect)),
    }
}

/// Which filter to read the table with, and whether there is one of a kind that is not known.
///
/// Looks at the last bytes of the filter, or of its first partition, to know the kind, so that a
/// filter that answers nothing takes no place in the cache. These bytes are not verified: taken
/// for unknown by mistake they cost speed, taken for known they are verified before use.
fn choose_filter(
    source: &BlockSource,
    blocks: &Metaindex,
    properties: &Properties,
    format: IndexFormat,
) -> Result<(FilterLayout, bool)> {
    let (layout, sample) = match (blocks.full_filter, blocks.partitioned_filter) {
        (Some(handle), _) => (FilterLayout::Full(handle), Some(handle)),
        (None, Some(handle)) => (FilterLayout::Partitioned(handle), first_partition(source, handle, format)?),
        (None, None) => return Ok((FilterLayout::None, blocks.other_filter)),
    };
    let metadata = match sample {
        Some(handle) => {
            source.peek_end::<METADATA_LEN>(handle, BlockKind::Filter)?.map(|metadata| (handle.size as usize, metadata))
        }
        None => None,
    };
    if metadata.is_some_and(|(len, metadata)| FilterBlock::is_unknown(len, metadata)) {
        return Ok((FilterLayout::None, true));
    }
    // Of prefixes alone it says nothing about whole keys.
    if !properties.whole_key_filtering {
        return Ok((FilterLayout::None, blocks.other_filter));
    }
    Ok((layout, blocks.other_filter))
}

fn first_partition(source: &BlockSource, handle: BlockHandle, format: IndexFormat) -> Result<Option<BlockHandle>> {
    const KIND: BlockKind = BlockKind::FilterPartitionIndex;
    if handle.size == 0 {
        return Ok(None);
    }
    let stored = source.read_unverified(handle, KIND)?;
    source.verify(handle, KIND, &stored)?;
    let bytes = source.unpack(handle, KIND, stored, None)?;
    let first = IndexBlock::parse(bytes).and_then(|block| {
        let mut iter = BlockIter::new(&block, format);
        iter.seek_to_first()?;
        Ok(iter.valid().then(|| iter.value().handle))
    });
    first.map_err(|d| source.error(handle, KIND, d))
}
