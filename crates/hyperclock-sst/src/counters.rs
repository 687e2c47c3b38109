//! What readers of tables count: blocks and bytes from disk by kind of block, and filters.
//!
//! One [`TableCounters`] is shared by all tables of a database. Reads from disk are slow beside an
//! addition, so they go to plain atomics; answers of filters come on every lookup and go to one of
//! several cache lines, chosen by thread.

use std::cell::Cell;
use std::fmt;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

/// The kinds of block in a table.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
#[non_exhaustive]
pub enum BlockKind {
    /// Keys and values.
    Data,
    /// The index, or a level of it.
    Index,
    /// A filter, or a partition of one.
    Filter,
    /// The index over the partitions of a filter.
    FilterPartitionIndex,
    /// The compression dictionary.
    Dictionary,
    /// Names and handles of the blocks other than data. Read when a table is opened.
    Metaindex,
    /// The properties. Read when a table is opened.
    Properties,
    /// Range tombstones. Read when a table is opened.
    RangeDeletion,
}

impl BlockKind {
    /// All kinds.
    pub const ALL: [Self; 8] = [
        Self::Data,
        Self::Index,
        Self::Filter,
        Self::FilterPartitionIndex,
        Self::Dictionary,
        Self::Metaindex,
        Self::Properties,
        Self::RangeDeletion,
    ];

    /// The kind in `snake_case`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Data => "data",
            Self::Index => "index",
            Self::Filter => "filter",
            Self::FilterPartitionIndex => "filter_partition_index",
            Self::Dictionary => "dictionary",
            Self::Metaindex => "metaindex",
            Self::Properties => "properties",
            Self::RangeDeletion => "range_deletion",
        }
    }

    /// Whether blocks of the kind are read only while a table is opened.
    pub const fn is_read_at_open(self) -> bool {
        matches!(self, Self::Metaindex | Self::Properties | Self::RangeDeletion)
    }

    /// The words that an error uses.
    pub(crate) const fn described(self) -> &'static str {
        match self {
            Self::Data => "data block",
            Self::Index => "index block",
            Self::Filter => "filter block",
            Self::FilterPartitionIndex => "filter partition index block",
            Self::Dictionary => "compression dictionary block",
            Self::Metaindex => "metaindex block",
            Self::Properties => "properties block",
            Self::RangeDeletion => "range deletion block",
        }
    }
}

/// Counts of one kind of block.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BlockReads {
    /// Blocks read from disk.
    pub blocks: u64,
    /// Their bytes on disk, trailers included.
    pub bytes: u64,
}

#[derive(Debug, Default)]
struct AtomicBlockReads {
    blocks: AtomicU64,
    bytes: AtomicU64,
}

const STRIPES: usize = 16;

/// A count that many threads add to: one cache line per stripe.
#[derive(Debug, Default)]
struct Striped([Stripe; STRIPES]);

#[derive(Debug, Default)]
#[repr(align(128))]
struct Stripe(AtomicU64);

impl Striped {
    fn add(&self, n: u64) {
        static NEXT: AtomicUsize = AtomicUsize::new(0);
        thread_local! {
            static MINE: Cell<usize> = const { Cell::new(usize::MAX) };
        }
        let mine = MINE.with(|cell| {
            if cell.get() == usize::MAX {
                cell.set(NEXT.fetch_add(1, Ordering::Relaxed) % STRIPES);
            }
            cell.get()
        });
        if let Some(stripe) = self.0.get(mine) {
            stripe.0.fetch_add(n, Ordering::Relaxed);
        }
    }

    fn sum(&self) -> u64 {
        self.0.iter().map(|s| s.0.load(Ordering::Relaxed)).sum()
    }
}

/// Counts since they were made. Exact when no call is in flight.
#[derive(Default)]
pub struct TableCounters {
    reads: [AtomicBlockReads; BlockKind::ALL.len()],
    unknown_filters: AtomicU64,
    filter_negatives: Striped,
}

impl TableCounters {
    /// What was read of one kind of block.
    pub fn reads(&self, kind: BlockKind) -> BlockReads {
        self.reads.get(kind as usize).map_or(BlockReads::default(), |r| BlockReads {
            blocks: r.blocks.load(Ordering::Relaxed),
            bytes: r.bytes.load(Ordering::Relaxed),
        })
    }

    /// Blocks of any kind read after their tables were opened, and their bytes on disk.
    pub fn reads_after_open(&self) -> BlockReads {
        BlockKind::ALL.into_iter().filter(|kind| !kind.is_read_at_open()).map(|kind| self.reads(kind)).fold(
            BlockReads::default(),
            |sum, r| BlockReads { blocks: sum.blocks + r.blocks, bytes: sum.bytes + r.bytes },
        )
    }

    /// Tables opened whose filter is of a kind that is not known: they are read without it.
    pub fn unknown_filters(&self) -> u64 {
        self.unknown_filters.load(Ordering::Relaxed)
    }

    /// Lookups in a table that its filter answered.
    pub fn filter_negatives(&self) -> u64 {
        self.filter_negatives.sum()
    }

    pub(crate) fn count_read(&self, kind: BlockKind, bytes: u64) {
        if let Some(reads) = self.reads.get(kind as usize) {
            reads.blocks.fetch_add(1, Ordering::Relaxed);
            reads.bytes.fetch_add(bytes, Ordering::Relaxed);
        }
    }

    pub(crate) fn count_unknown_filter(&self) {
        self.unknown_filters.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn count_filter_negative(&self) {
        self.filter_negatives.add(1);
    }
}

impl fmt::Debug for TableCounters {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut s = f.debug_struct("TableCounters");
        for kind in BlockKind::ALL {
            s.field(kind.name(), &self.reads(kind));
        }
        s.field("unknown_filters", &self.unknown_filters()).field("filter_negatives", &self.filter_negatives()).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_index_their_counters() {
        let counters = TableCounters::default();
        for (i, kind) in BlockKind::ALL.into_iter().enumerate() {
            assert_eq!(kind as usize, i);
            counters.count_read(kind, 10 + i as u64);
        }
        for (i, kind) in BlockKind::ALL.into_iter().enumerate() {
            let expected = BlockReads { blocks: 1, bytes: 10 + i as u64 };
            assert_eq!(counters.reads(kind), expected);
        }
        assert_eq!(counters.reads_after_open().blocks, 5);
    }

    #[test]
    fn threads_add_up() {
        let counters = TableCounters::default();
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| (0..100).for_each(|_| counters.count_filter_negative()));
            }
        });
        assert_eq!(counters.filter_negatives(), 400);
    }
}
