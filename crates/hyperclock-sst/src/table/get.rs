//! Point lookups.
//!
//! A lookup visits the versions of one user key in a table, newest first, from a sequence number
//! on: the caller, who knows about snapshots, tombstones and other tables, says when to stop.
//!
//! Versions of a key may go on in the next block. They can only if this block's separator has that
//! very user key, since a separator is at least the last key of its block and less than the first
//! of the next; so an absent key costs one data block, not two.

use std::cell::Cell;
use std::ops::{ControlFlow, Deref};
use std::sync::Arc;

use hyperclock::{Clock, Handle, Primary};

use super::index_cursor::IndexCursor;
use super::{FilterLayout, Inner, ReadOptions, Table};
use crate::block::{BlockIter, ByteRange, PlainEntries};
use crate::cached::{DataBlock, DictionaryBlock, IndexBlock, PinnedSlice};
use crate::counters::BlockKind;
use crate::error::{Defect, Error, Result};
use crate::filter::FilterBlock;
use crate::footer::BlockHandle;
use crate::index::SeekTarget;
use crate::key::InternalKey;

/// The value of an entry, while its block is visited.
pub struct ValueRef<'a, P: Primary = Clock> {
    block: &'a Handle<DataBlock, P>,
    range: ByteRange,
}

impl<P: Primary> Clone for ValueRef<'_, P> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<P: Primary> Copy for ValueRef<'_, P> {}

impl<P: Primary> ValueRef<'_, P> {
    /// The value for as long as the caller wants, by pinning its block: no copy.
    pub fn pin(&self) -> PinnedSlice<P> {
        PinnedSlice::in_block(self.block, self.range)
    }

    /// [`Self::pin`], with one pin for all values in a row that lie in one block: `last` is what
    /// the value before was pinned by, which keeps that block's address from being another's.
    pub(crate) fn pin_shared(&self, last: &mut Option<Arc<Handle<DataBlock, P>>>) -> PinnedSlice<P> {
        let block = match last {
            Some(block) if std::ptr::eq(&raw const ***block, &raw const **self.block) => &*block,
            last => match self.block.try_clone() {
                Some(block) => &*last.insert(Arc::new(block)),
                None => return PinnedSlice::copied(self.block, self.range),
            },
        };
        PinnedSlice::in_shared_block(Arc::clone(block), self.range)
    }
}

impl<P: Primary> Deref for ValueRef<'_, P> {
    type Target = [u8];

    #[inline]
    fn deref(&self) -> &[u8] {
        (**self.block).as_ref().slice(self.range)
    }
}

impl<P: Primary> std::fmt::Debug for ValueRef<'_, P> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "ValueRef(\"{}\")", self.escape_ascii())
    }
}

thread_local! {
    /// Room for keys that share a prefix with the one before, kept from lookup to lookup.
    static KEY_BUFFER: Cell<Vec<u8>> = const { Cell::new(Vec::new()) };
}

/// A buffer larger than this is not kept.
const KEPT_KEY_BUFFER: usize = 64 << 10;

/// What lookups of several keys share.
struct Lookup<P: Primary> {
    index: Option<IndexCursor<P>>,
    /// Whether `index` is where the last target put it.
    index_in_place: bool,
    block: Option<(BlockHandle, Handle<DataBlock, P>)>,
    filter_index: Option<Handle<IndexBlock, P>>,
    filter: Option<(BlockHandle, Handle<FilterBlock, P>)>,
    dictionary: Option<Handle<DictionaryBlock, P>>,
    buffer: Vec<u8>,
}

impl<P: Primary> Lookup<P> {
    fn new() -> Self {
        Self {
            index: None,
            index_in_place: false,
            block: None,
            filter_index: None,
            filter: None,
            dictionary: None,
            buffer: KEY_BUFFER.take(),
        }
    }
}

impl<P: Primary> Drop for Lookup<P> {
    fn drop(&mut self) {
        if self.buffer.capacity() <= KEPT_KEY_BUFFER {
            KEY_BUFFER.set(std::mem::take(&mut self.buffer));
        }
    }
}

impl<P: Primary> Table<P> {
    /// Visits the entries with the user key of `target`, an encoded internal key, from `target` on,
    /// newest first, until `visit` breaks.
    ///
    /// # Errors
    ///
    /// [`Error::InvalidArgument`] if `target` is shorter than 8 bytes; otherwise what reading a
    /// block gives.
    pub fn get(
        &self,
        target: &[u8],
        read: &ReadOptions,
        visit: &mut dyn FnMut(InternalKey<'_>, ValueRef<'_, P>) -> ControlFlow<()>,
    ) -> Result<()> {
        let target = seek_target(target)?;
        self.0.lookup(target, *read, &mut Lookup::new(), visit)
    }

    /// As [`Self::get`] for many targets: `visit` is also given the position of the target. Targets
    /// in order share what they have in common: the index is searched once and a data block looked
    /// up once for all neighbours in it. In another order they are right, and slower.
    ///
    /// Breaking ends the visit of that target only.
    #[expect(clippy::type_complexity, reason = "an alias would hide what a visitor is given")]
    pub fn multi_get(
        &self,
        targets: &[impl AsRef<[u8]>],
        read: &ReadOptions,
        visit: &mut dyn FnMut(usize, InternalKey<'_>, ValueRef<'_, P>) -> ControlFlow<()>,
    ) -> Result<()> {
        let mut lookup = Lookup::new();
        let mut previous: Option<SeekTarget<'_>> = None;
        for (i, encoded) in targets.iter().enumerate() {
            let target = seek_target(encoded.as_ref())?;
            let ascending = previous.is_some_and(|p| target.order_of(p.encoded, &self.0.order).is_le());
            lookup.index_in_place &= ascending;
            self.0.lookup(target, *read, &mut lookup, &mut |key, value| visit(i, key, value))?;
            previous = Some(target);
        }
        Ok(())
    }

    /// Whether the filter allows that the table holds `user_key`; true without a filter.
    pub fn may_contain(&self, user_key: &[u8], read: &ReadOptions) -> Result<bool> {
        let mut encoded = Vec::new();
        crate::key::encode_seek_key(&mut encoded, user_key, crate::key::MAX_SEQUENCE);
        self.0.key_may_match(seek_target(&encoded)?, *read, &mut Lookup::new())
    }
}

fn seek_target(encoded: &[u8]) -> Result<SeekTarget<'_>> {
    SeekTarget::new(encoded)
        .ok_or_else(|| Error::InvalidArgument(format!("an internal key of {} bytes is too short", encoded.len())))
}

impl<P: Primary> Inner<P> {
    /// Asks the filter for a key.
    #[inline]
    fn key_may_match(&self, target: SeekTarget<'_>, read: ReadOptions, lookup: &mut Lookup<P>) -> Result<bool> {
        let handle = match self.filter {
            FilterLayout::None => return Ok(true),
            FilterLayout::Full(handle) => handle,
            FilterLayout::Partitioned(handle) => match self.filter_partition(handle, target, read, lookup)? {
                Some(partition) => partition,
                None => return Ok(true),
            },
        };
        let filter = match &mut lookup.filter {
            Some((at, filter)) if *at == handle => &*filter,
            filter => &filter.insert((handle, self.filter_block(handle, read)?)).1,
        };
        let may_match = filter.may_match(target.user_key);
        if !may_match {
            self.source.counters().count_filter_negative();
        }
        Ok(may_match)
    }

    /// The partition that a key was added to if it was added. `None` if there are no partitions,
    /// which says nothing about any key.
    fn filter_partition(
        &self,
        handle: BlockHandle,
        target: SeekTarget<'_>,
        read: ReadOptions,
        lookup: &mut Lookup<P>,
    ) -> Result<Option<BlockHandle>> {
        if handle.size == 0 {
            return Ok(None);
        }
        let format = self.filter_index_format;
        let block = match &mut lookup.filter_index {
            Some(block) => &*block,
            block => &*block.insert(self.filter_index_block(handle, read)?),
        };
        let mut iter = BlockIter::new(&**block, format);
        let mut find = || {
            iter.seek(|key| target.order_of_separator(key, format, &self.order))?;
            if !iter.valid() {
                iter.seek_to_last()?;
            }
            Ok(iter.valid().then(|| iter.value().handle))
        };
        find().map_err(|d: Defect| self.source.error(handle, BlockKind::FilterPartitionIndex, d))
    }

    fn lookup(
        &self,
        target: SeekTarget<'_>,
        read: ReadOptions,
        lookup: &mut Lookup<P>,
        visit: &mut dyn FnMut(InternalKey<'_>, ValueRef<'_, P>) -> ControlFlow<()>,
    ) -> Result<()> {
        if !self.key_may_match(target, read, lookup)? {
            return Ok(());
        }
        let Lookup { index, index_in_place, block, dictionary, buffer, .. } = lookup;
        let index = match index {
            Some(index) => index,
            empty => empty.insert(IndexCursor::new(self, read)?),
        };
        let still_there = *index_in_place
            && index.current(self).is_some_and(|(separator, _)| {
                target.order_of_separator(separator, self.index_format, &self.order).is_ge()
            });
        if !still_there {
            *index_in_place = false;
            index.seek(self, read, target)?;
            *index_in_place = true;
        }
        let mut seek = true;
        while let Some((separator, handle)) = index.current(self) {
            let may_continue = self.index_format.user_key_of(separator) == target.user_key;
            let data = match block {
                Some((at, data)) if *at == handle => &*data,
                _ => &block.insert((handle, self.data_block(handle, read, dictionary)?)).1,
            };
            let mut iter = BlockIter::with_buffer(&**data, PlainEntries, std::mem::take(buffer));
            let outcome = self.visit_block(&mut iter, data, target, seek, visit);
            *buffer = iter.into_buffer();
            let outcome = outcome.map_err(|d| self.source.error(handle, BlockKind::Data, d))?;
            if outcome.is_break() || !may_continue {
                break;
            }
            seek = false;
            *index_in_place = false;
            index.next(self, read)?;
        }
        Ok(())
    }

    /// Visits what one block has of a key. Continues if that goes up to the end of the block.
    #[inline]
    fn visit_block(
        &self,
        iter: &mut BlockIter<&DataBlock, PlainEntries>,
        block: &Handle<DataBlock, P>,
        target: SeekTarget<'_>,
        seek: bool,
        visit: &mut dyn FnMut(InternalKey<'_>, ValueRef<'_, P>) -> ControlFlow<()>,
    ) -> Result<ControlFlow<()>, Defect> {
        if seek {
            iter.seek(|key| target.order_of(key, &self.order))?;
        } else {
            iter.seek_to_first()?;
        }
        while iter.valid() {
            let mut key = InternalKey::parse(iter.key()).ok_or_else(|| Defect::corrupt("a key is too short"))?;
            if key.user_key != target.user_key {
                return Ok(ControlFlow::Break(()));
            }
            if let Some(sequence) = self.global_sequence {
                key.sequence = sequence;
            }
            let value = ValueRef { block, range: iter.value() };
            if key.sequence <= target.sequence() && visit(key, value).is_break() {
                return Ok(ControlFlow::Break(()));
            }
            iter.next()?;
        }
        Ok(ControlFlow::Continue(()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use hyperclock::{BlockCache, CacheKey, Role};

    #[test]
    fn a_value_of_a_block_without_room_for_handles_is_copied() {
        let mut bytes = b"value of a block".to_vec();
        let range = ByteRange { start: 0, end: 5 };
        bytes.extend_from_slice(&[0, 0, 0, 0, 1, 0, 0, 0]);
        let blocks = BlockCache::new(1 << 20).view::<DataBlock>(Role::DATA_BLOCK);
        let block = blocks.insert(CacheKey::new(1, 0), DataBlock::parse(bytes.into()).unwrap()).unwrap();
        let value = ValueRef { block: &block, range };

        let mut last = None;
        assert_eq!(&*value.pin_shared(&mut last), b"value");
        assert!(last.take().is_some());
        let mut handles: Vec<_> = std::iter::from_fn(|| block.try_clone()).collect();
        assert!(handles.len() >= 1 << 20, "{} handles", handles.len());
        for _ in 0..2 {
            assert_eq!(&*value.pin_shared(&mut last), b"value");
            assert!(last.is_none());
            assert_eq!(&*value.pin(), b"value");
        }
        drop(handles.pop());
        assert_eq!(&*value.pin_shared(&mut last), b"value");
        assert!(last.is_some());
    }
}
