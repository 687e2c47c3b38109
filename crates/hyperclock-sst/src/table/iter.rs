//! Iterators over a table.
//!
//! An iterator holds the index block and the data block that it is in, each by a handle that keeps
//! it alive, whatever the cache evicts meanwhile. It moves within the data block until that is
//! used up, then the index to the neighbour.

use hyperclock::{Clock, Handle, Primary};

use super::index_cursor::IndexCursor;
use super::{ReadOptions, Table};
use crate::block::{BlockIter, PlainEntries};
use crate::cached::{DataBlock, DictionaryBlock, PinnedSlice};
use crate::counters::BlockKind;
use crate::error::{Defect, Error, Result};
use crate::footer::BlockHandle;
use crate::index::SeekTarget;
use crate::key::{TRAILER_LEN, pack_trailer, split_internal_key};

type DataIter<P> = BlockIter<Handle<DataBlock, P>, PlainEntries>;

/// Walks the internal keys of a table in both directions.
///
/// The moving methods fail on damage and on errors of the file; the iterator is on no entry then
/// and can be moved to another place.
pub struct TableIter<P: Primary = Clock> {
    table: Table<P>,
    read: ReadOptions,
    index: Option<IndexCursor<P>>,
    data: Option<DataIter<P>>,
    dictionary: Option<Handle<DictionaryBlock, P>>,
    /// Where the block of `data` is.
    data_at: BlockHandle,
    /// The key with the sequence number that an ingested file's keys have.
    patched: Vec<u8>,
}

impl<P: Primary> TableIter<P> {
    pub(super) fn new(table: Table<P>, read: ReadOptions) -> Self {
        Self {
            table,
            read,
            index: None,
            data: None,
            dictionary: None,
            data_at: BlockHandle::default(),
            patched: Vec::new(),
        }
    }

    /// Whether the iterator is on an entry.
    #[inline]
    pub fn valid(&self) -> bool {
        self.data.as_ref().is_some_and(BlockIter::valid)
    }

    /// The encoded internal key of the entry, at least 8 bytes; empty if there is none.
    #[inline]
    pub fn key(&self) -> &[u8] {
        match &self.data {
            Some(data) if data.valid() => {
                if self.table.0.global_sequence.is_some() {
                    &self.patched
                } else {
                    data.key()
                }
            }
            _ => &[],
        }
    }

    /// The value of the entry; empty if there is none.
    #[inline]
    pub fn value(&self) -> &[u8] {
        match &self.data {
            Some(data) if data.valid() => (**data.block()).as_ref().slice(data.value()),
            _ => &[],
        }
    }

    /// The value of the entry for as long as the caller wants, by pinning its block.
    pub fn pinned_value(&self) -> PinnedSlice<P> {
        match &self.data {
            Some(data) if data.valid() => PinnedSlice::in_block(data.block(), data.value()),
            _ => PinnedSlice::from(Vec::new()),
        }
    }

    /// To the first entry.
    pub fn seek_to_first(&mut self) -> Result<()> {
        self.attempt(|iter| {
            iter.move_index(|index, table, read| index.seek_to_first(&table.0, read))?;
            iter.enter(BlockIter::seek_to_first)?;
            iter.skip_forward()
        })
    }

    /// To the last entry.
    pub fn seek_to_last(&mut self) -> Result<()> {
        self.attempt(|iter| {
            iter.move_index(|index, table, read| index.seek_to_last(&table.0, read))?;
            iter.enter(BlockIter::seek_to_last)?;
            iter.skip_backward()
        })
    }

    /// To the first entry that is not before `target`, an encoded internal key.
    pub fn seek(&mut self, target: &[u8]) -> Result<()> {
        self.attempt(|iter| iter.seek_inner(target))
    }

    /// To the last entry that is not after `target`, an encoded internal key.
    pub fn seek_for_prev(&mut self, target: &[u8]) -> Result<()> {
        self.attempt(|iter| {
            iter.seek_inner(target)?;
            if !iter.valid() {
                return iter.seek_to_last();
            }
            if iter.table.0.order.compare(iter.key(), target).is_gt() {
                return iter.prev();
            }
            Ok(())
        })
    }

    /// To the next entry. No effect without a current one.
    #[inline]
    #[expect(clippy::should_implement_trait, reason = "an entry is borrowed from the iterator, which can go back")]
    pub fn next(&mut self) -> Result<()> {
        self.attempt(|iter| {
            iter.move_data(BlockIter::next)?;
            iter.skip_forward()
        })
    }

    /// To the entry before. No effect without a current one.
    pub fn prev(&mut self) -> Result<()> {
        self.attempt(|iter| {
            iter.move_data(BlockIter::prev)?;
            iter.skip_backward()
        })
    }

    /// Runs a movement. If it fails, the iterator is on no entry.
    #[inline]
    fn attempt(&mut self, movement: impl FnOnce(&mut Self) -> Result<()>) -> Result<()> {
        let moved = movement(self).and_then(|()| self.check_key());
        if moved.is_err() {
            self.data = None;
        }
        moved
    }

    fn seek_inner(&mut self, target: &[u8]) -> Result<()> {
        let seek = SeekTarget::new(target)
            .ok_or_else(|| Error::InvalidArgument(format!("an internal key of {} bytes is too short", target.len())))?;
        let order = self.table.0.order.clone();
        self.move_index(|index, table, read| index.seek(&table.0, read, seek))?;
        self.enter(|data| data.seek(|key| seek.order_of(key, &order)))?;
        self.skip_forward()?;
        if self.table.0.global_sequence.is_some() {
            // Keys are stored with sequence number 0, so the search stops no later than it must.
            self.check_key()?;
            while self.valid() && order.compare(self.key(), target).is_lt() {
                self.next()?;
            }
        }
        Ok(())
    }

    fn move_index(
        &mut self,
        movement: impl FnOnce(&mut IndexCursor<P>, &Table<P>, ReadOptions) -> Result<()>,
    ) -> Result<()> {
        let index = match &mut self.index {
            Some(index) => index,
            empty => empty.insert(IndexCursor::new(&self.table.0, self.read)?),
        };
        movement(index, &self.table, self.read)
    }

    /// Goes into the data block that the index is on, to where `start` puts the iterator.
    fn enter(&mut self, start: impl FnOnce(&mut DataIter<P>) -> Result<(), Defect>) -> Result<()> {
        let table = &self.table.0;
        let Some((_, handle)) = self.index.as_ref().and_then(|index| index.current(table)) else {
            self.data = None;
            return Ok(());
        };
        if self.data.is_none() || self.data_at != handle {
            let block = table.data_block(handle, self.read, &mut self.dictionary)?;
            // Keys go on in the buffer that they had.
            let buffer = self.data.take().map_or_else(Vec::new, BlockIter::into_buffer);
            self.data = Some(BlockIter::with_buffer(block, PlainEntries, buffer));
            self.data_at = handle;
        }
        self.move_data(start)
    }

    #[inline]
    fn move_data(&mut self, movement: impl FnOnce(&mut DataIter<P>) -> Result<(), Defect>) -> Result<()> {
        match &mut self.data {
            None => Ok(()),
            Some(data) => movement(data).map_err(|d| self.table.0.source.error(self.data_at, BlockKind::Data, d)),
        }
    }

    #[inline]
    fn skip_forward(&mut self) -> Result<()> {
        while self.data.as_ref().is_some_and(|data| !data.valid()) {
            self.move_index(|index, table, read| index.next(&table.0, read))?;
            self.enter(BlockIter::seek_to_first)?;
        }
        Ok(())
    }

    #[inline]
    fn skip_backward(&mut self) -> Result<()> {
        while self.data.as_ref().is_some_and(|data| !data.valid()) {
            self.move_index(|index, table, read| index.prev(&table.0, read))?;
            self.enter(BlockIter::seek_to_last)?;
        }
        Ok(())
    }

    /// Checks that the key has a trailer, and gives it its sequence number in an ingested file.
    #[inline]
    fn check_key(&mut self) -> Result<()> {
        let Some(data) = self.data.as_ref().filter(|data| data.valid()) else {
            return Ok(());
        };
        let Some((user_key, trailer)) = split_internal_key(data.key()) else {
            let defect = Defect::corrupt("a key is too short");
            return Err(self.table.0.source.error(self.data_at, BlockKind::Data, defect));
        };
        if let Some(sequence) = self.table.0.global_sequence {
            self.patched.clear();
            self.patched.reserve(user_key.len() + TRAILER_LEN);
            self.patched.extend_from_slice(user_key);
            let trailer = pack_trailer(sequence, trailer as u8);
            self.patched.extend_from_slice(&trailer.to_le_bytes());
        }
        Ok(())
    }
}

impl<P: Primary> std::fmt::Debug for TableIter<P> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("TableIter")
            .field("table", &self.table)
            .field("key", &self.key().escape_ascii().to_string())
            .finish_non_exhaustive()
    }
}
