//! Walks the entries of an index of one level or two.
//!
//! With two levels, the top block's entries name partitions, each an index block of its own. The
//! cursor keeps the partition it is in and moves to the neighbour when that is used up. Moving
//! costs a cache lookup per partition, none within one.

use hyperclock::{Handle, Primary};

use super::{Inner, ReadOptions};
use crate::block::BlockIter;
use crate::cached::IndexBlock;
use crate::counters::BlockKind;
use crate::error::{Defect, Result};
use crate::footer::BlockHandle;
use crate::index::{IndexFormat, SeekTarget};

type IndexIter<P> = BlockIter<Handle<IndexBlock, P>, IndexFormat>;

/// An iterator over one index block, and where that is.
struct Level<P: Primary> {
    at: BlockHandle,
    iter: IndexIter<P>,
}

impl<P: Primary> Level<P> {
    fn run(&mut self, table: &Inner<P>, step: impl FnOnce(&mut IndexIter<P>) -> Result<(), Defect>) -> Result<()> {
        step(&mut self.iter).map_err(|d| table.source.error(self.at, BlockKind::Index, d))
    }
}

/// A place in the index of a table. Methods take the table that it was made for.
pub(super) struct IndexCursor<P: Primary> {
    top: Level<P>,
    /// The partition that `top` is on, with two levels and while `top` is on one.
    partition: Option<Level<P>>,
}

/// Where to begin in a block.
#[derive(Clone, Copy)]
enum Start<'a> {
    First,
    Last,
    Seek(SeekTarget<'a>),
}

impl<P: Primary> IndexCursor<P> {
    /// A cursor that is not on any entry yet.
    pub(super) fn new(table: &Inner<P>, read: ReadOptions) -> Result<Self> {
        let block = table.index_block(table.index, read)?;
        Ok(Self { top: Level { at: table.index, iter: BlockIter::new(block, table.index_format) }, partition: None })
    }

    #[inline]
    fn leaf(&self, table: &Inner<P>) -> Option<&IndexIter<P>> {
        let level = if table.two_level { self.partition.as_ref()? } else { &self.top };
        level.iter.valid().then_some(&level.iter)
    }

    /// The separator and the data block of the current entry, if the cursor is on one.
    #[inline]
    pub(super) fn current(&self, table: &Inner<P>) -> Option<(&[u8], BlockHandle)> {
        let leaf = self.leaf(table)?;
        Some((leaf.key(), leaf.value().handle))
    }

    pub(super) fn seek_to_first(&mut self, table: &Inner<P>, read: ReadOptions) -> Result<()> {
        self.start(table, read, Start::First)
    }

    pub(super) fn seek_to_last(&mut self, table: &Inner<P>, read: ReadOptions) -> Result<()> {
        self.start(table, read, Start::Last)
    }

    /// To the first entry whose separator is not less than `target`: the only block that can hold
    /// the first key from there on, unless that begins the next one.
    #[inline]
    pub(super) fn seek(&mut self, table: &Inner<P>, read: ReadOptions, target: SeekTarget<'_>) -> Result<()> {
        self.start(table, read, Start::Seek(target))
    }

    #[inline]
    fn start(&mut self, table: &Inner<P>, read: ReadOptions, start: Start<'_>) -> Result<()> {
        self.top.run(table, |iter| begin(iter, table, start))?;
        if !table.two_level {
            return Ok(());
        }
        self.enter(table, read, start)?;
        // A partition without entries is legal, and a separator may promise more than is there.
        match start {
            Start::Last => self.skip_empty_backward(table, read),
            Start::First | Start::Seek(_) => self.skip_empty_forward(table, read),
        }
    }

    /// Goes into the partition that the top level is on.
    fn enter(&mut self, table: &Inner<P>, read: ReadOptions, start: Start<'_>) -> Result<()> {
        if !self.top.iter.valid() {
            self.partition = None;
            return Ok(());
        }
        let at = self.top.iter.value().handle;
        let partition = match &mut self.partition {
            Some(partition) if partition.at == at => partition,
            other => {
                let block = table.index_block(at, read)?;
                other.insert(Level { at, iter: BlockIter::new(block, table.index_format) })
            }
        };
        partition.run(table, |iter| begin(iter, table, start))
    }

    fn at_end_of_partition(&self) -> bool {
        self.partition.as_ref().is_some_and(|p| !p.iter.valid())
    }

    fn skip_empty_forward(&mut self, table: &Inner<P>, read: ReadOptions) -> Result<()> {
        while self.at_end_of_partition() {
            self.top.run(table, BlockIter::next)?;
            self.enter(table, read, Start::First)?;
        }
        Ok(())
    }

    fn skip_empty_backward(&mut self, table: &Inner<P>, read: ReadOptions) -> Result<()> {
        while self.at_end_of_partition() {
            self.top.run(table, BlockIter::prev)?;
            self.enter(table, read, Start::Last)?;
        }
        Ok(())
    }

    pub(super) fn next(&mut self, table: &Inner<P>, read: ReadOptions) -> Result<()> {
        if !table.two_level {
            return self.top.run(table, BlockIter::next);
        }
        if let Some(partition) = &mut self.partition {
            partition.run(table, BlockIter::next)?;
        }
        self.skip_empty_forward(table, read)
    }

    pub(super) fn prev(&mut self, table: &Inner<P>, read: ReadOptions) -> Result<()> {
        if !table.two_level {
            return self.top.run(table, BlockIter::prev);
        }
        if let Some(partition) = &mut self.partition {
            partition.run(table, BlockIter::prev)?;
        }
        self.skip_empty_backward(table, read)
    }
}

#[inline]
fn begin<P: Primary>(iter: &mut IndexIter<P>, table: &Inner<P>, start: Start<'_>) -> Result<(), Defect> {
    match start {
        Start::First => iter.seek_to_first(),
        Start::Last => iter.seek_to_last(),
        Start::Seek(target) => iter.seek(|key| target.order_of_separator(key, table.index_format, &table.order)),
    }
}
