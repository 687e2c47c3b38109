//! How many blocks of each kind a table has.

use hyperclock::Primary;

use super::{FilterLayout, Inner, ReadOptions, Table};
use crate::block::BlockIter;
use crate::counters::BlockKind;
use crate::error::{Defect, Result};
use crate::footer::BlockHandle;

impl<P: Primary> Table<P> {
    /// The number of blocks of each kind, in the order of [`BlockKind::ALL`]. A filter that lookups
    /// do not ask is not counted.
    ///
    /// Data and index blocks are counted by the properties; partitions of a filter by the index
    /// over them, which is read for that, past the cache if it is not there.
    pub fn block_counts(&self) -> Result<[(BlockKind, u64); BlockKind::ALL.len()]> {
        let table = &self.0;
        let (filters, filter_indexes) = match table.filter {
            FilterLayout::None => (0, 0),
            FilterLayout::Full(_) => (1, 0),
            FilterLayout::Partitioned(handle) => (table.count_filter_partitions(handle)?, 1),
        };
        let count = |kind| match kind {
            BlockKind::Data => table.properties.num_data_blocks,
            BlockKind::Index if table.two_level => table.properties.index_partitions.saturating_add(1),
            BlockKind::Index | BlockKind::Metaindex | BlockKind::Properties => 1,
            BlockKind::Filter => filters,
            BlockKind::FilterPartitionIndex => filter_indexes,
            BlockKind::Dictionary => u64::from(table.dictionary.is_some()),
            // Tables with range tombstones are refused.
            BlockKind::RangeDeletion => 0,
        };
        Ok(BlockKind::ALL.map(|kind| (kind, count(kind))))
    }
}

impl<P: Primary> Inner<P> {
    fn count_filter_partitions(&self, handle: BlockHandle) -> Result<u64> {
        if handle.size == 0 {
            return Ok(0);
        }
        let read = ReadOptions { fill_cache: false, ..ReadOptions::default() };
        let block = self.filter_index_block(handle, read)?;
        let mut iter = BlockIter::new(&*block, self.filter_index_format);
        let mut walk = || {
            let mut partitions = 0;
            iter.seek_to_first()?;
            while iter.valid() {
                partitions += 1;
                iter.next()?;
            }
            Ok(partitions)
        };
        let kind = BlockKind::FilterPartitionIndex;
        walk().map_err(|defect: Defect| self.source.error(handle, kind, defect))
    }
}
