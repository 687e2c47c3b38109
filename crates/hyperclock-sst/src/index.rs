//! Index entries: from a separator key to the handle of a block.
//!
//! One layout serves the index, both levels of a two-level index, and the index over filter
//! partitions. Two properties of the file choose among its forms:
//!
//! - separators are internal keys, or user keys when no two neighbouring blocks share one;
//! - handles are all given in full after a value length, or, *delta-encoded*, only where a key
//!   shares nothing with the one before; elsewhere the block is taken to follow its predecessor
//!   directly and just the difference of the sizes is stored. What decides is `shared == 0`, not
//!   whether a restart point is there: padding before a block makes the writer share nothing.
//!
//! Indexes of type 3 have the first internal key of the block after the handle.

use std::cmp::Ordering;

use crate::block::{Block, ByteRange, Entry, EntryFormat, begin_entry, take_range, whole_key};
use crate::coding::Reader;
use crate::footer::{BLOCK_TRAILER_LEN, BlockHandle};
use crate::key::{InternalOrder, split_internal_key, user_key_of};

/// The form of the index entries of a file.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct IndexFormat {
    /// Separators are user keys.
    pub(crate) user_keys: bool,
    /// Handles are delta-encoded and have no length before them.
    pub(crate) delta_values: bool,
    /// The first internal key of the block follows the handle.
    pub(crate) first_keys: bool,
}

/// The value of an index entry.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct IndexValue {
    pub(crate) handle: BlockHandle,
    /// The first internal key of the block, where the format has it; else empty.
    pub(crate) first_key: ByteRange,
}

impl EntryFormat for IndexFormat {
    type Value = IndexValue;

    #[inline]
    fn read(self, block: &Block, offset: u32, _at_restart: bool, previous: &IndexValue) -> Option<Entry<IndexValue>> {
        let (mut reader, shared, non_shared) = begin_entry(block, offset)?;
        let value_len = if self.delta_values { None } else { Some(reader.varint32()?) };
        let key_delta = take_range(block, &mut reader, non_shared)?;
        let before_value = reader.len();
        let handle = if self.delta_values && shared != 0 {
            next_handle(previous.handle, reader.varsigned64()?)?
        } else {
            BlockHandle::read(&mut reader)?
        };
        let first_key = if self.first_keys {
            let len = reader.varint32()?;
            take_range(block, &mut reader, len)?
        } else {
            ByteRange::default()
        };
        if let Some(len) = value_len {
            // What a later version may put after the handle is skipped.
            reader.take((len as usize).checked_sub(before_value - reader.len())?)?;
        }
        let value = IndexValue { handle, first_key };
        Some(Entry::new(block, shared, key_delta, value, &reader))
    }

    #[inline]
    fn key_at_restart(self, block: &Block, offset: u32) -> Option<&[u8]> {
        whole_key(block, offset, usize::from(!self.delta_values))
    }
}

/// The handle of the block right after `previous`, whose size differs by `delta`.
fn next_handle(previous: BlockHandle, delta: i64) -> Option<BlockHandle> {
    Some(BlockHandle {
        offset: previous.offset.checked_add(previous.size)?.checked_add(BLOCK_TRAILER_LEN as u64)?,
        size: previous.size.checked_add_signed(delta)?,
    })
}

/// A key to be sought, in both forms that separators have.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SeekTarget<'a> {
    pub(crate) encoded: &'a [u8],
    pub(crate) user_key: &'a [u8],
    trailer: u64,
}

impl<'a> SeekTarget<'a> {
    /// `None` if `encoded` is too short for an internal key.
    pub(crate) fn new(encoded: &'a [u8]) -> Option<Self> {
        let (user_key, trailer) = split_internal_key(encoded)?;
        Some(Self { encoded, user_key, trailer })
    }

    pub(crate) fn sequence(&self) -> u64 {
        self.trailer >> 8
    }

    /// The order of an internal key and this.
    #[inline]
    pub(crate) fn order_of(&self, key: &[u8], order: &InternalOrder) -> Ordering {
        match split_internal_key(key) {
            Some((user_key, trailer)) => {
                order.compare_user(user_key, self.user_key).then_with(|| self.trailer.cmp(&trailer))
            }
            None => order.compare(key, self.encoded),
        }
    }

    /// The order of a separator and this.
    #[inline]
    pub(crate) fn order_of_separator(&self, separator: &[u8], format: IndexFormat, order: &InternalOrder) -> Ordering {
        if format.user_keys { order.compare_user(separator, self.user_key) } else { self.order_of(separator, order) }
    }
}

impl IndexFormat {
    /// The user key of a separator.
    pub(crate) fn user_key_of(self, separator: &[u8]) -> &[u8] {
        if self.user_keys { separator } else { user_key_of(separator) }
    }
}

/// Reads a block handle that is a value of the metaindex.
pub(crate) fn handle_value(value: &[u8]) -> Option<BlockHandle> {
    BlockHandle::read(&mut Reader::new(value))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::block::BlockIter;
    use crate::coding::put_varsigned64;
    use crate::coding::{put_fixed32, put_length_prefixed, put_varint32, put_varint64};

    /// An index block over `(separator, handle)` pairs, sharing prefixes except at restarts and
    /// where the handle does not follow its predecessor.
    fn build(format: IndexFormat, interval: usize, entries: &[(&[u8], BlockHandle)]) -> Block {
        let mut out = Vec::new();
        let mut restarts = Vec::new();
        let mut last: (&[u8], BlockHandle) = (b"", BlockHandle::default());
        for (i, &(key, handle)) in entries.iter().enumerate() {
            let follows = handle.offset == last.1.offset + last.1.size + 5;
            let mut shared = 0;
            if i % interval == 0 {
                restarts.push(out.len() as u32);
            } else if follows {
                shared = key.iter().zip(last.0).take_while(|(a, b)| a == b).count();
            }
            let mut value = Vec::new();
            if format.delta_values && shared > 0 {
                let delta = handle.size.cast_signed() - last.1.size.cast_signed();
                put_varsigned64(&mut value, delta);
            } else {
                put_varint64(&mut value, handle.offset);
                put_varint64(&mut value, handle.size);
            }
            if format.first_keys {
                put_length_prefixed(&mut value, key);
            }
            put_varint32(&mut out, shared as u32);
            put_varint32(&mut out, (key.len() - shared) as u32);
            if !format.delta_values {
                put_varint32(&mut out, value.len() as u32);
            }
            out.extend_from_slice(&key[shared..]);
            out.extend_from_slice(&value);
            last = (key, handle);
        }
        for &restart in &restarts {
            put_fixed32(&mut out, restart);
        }
        put_fixed32(&mut out, restarts.len() as u32);
        Block::parse(out.into()).unwrap()
    }

    #[test]
    fn all_forms_give_the_same_handles() {
        let handle = |offset, size| BlockHandle { offset, size };
        let entries: Vec<(&[u8], BlockHandle)> = vec![
            (b"apple", handle(0, 91)),
            (b"apricot", handle(96, 80)),
            (b"banana", handle(181, 4000)),
            // Padding: does not follow.
            (b"bandana", handle(8192, 1)),
            (b"bandito", handle(8198, 77)),
        ];
        for bits in 0..4 {
            let format = IndexFormat { user_keys: true, delta_values: bits & 1 != 0, first_keys: bits & 2 != 0 };
            for interval in [1, 2, 16] {
                let block = build(format, interval, &entries);
                let mut iter = BlockIter::new(&block, format);
                iter.seek_to_first().unwrap();
                for (key, handle) in &entries {
                    assert!(iter.valid());
                    assert_eq!(iter.key(), *key);
                    assert_eq!(iter.value().handle, *handle);
                    if format.first_keys {
                        assert_eq!(block.slice(iter.value().first_key), *key);
                    }
                    iter.next().unwrap();
                }
                assert!(!iter.valid());
                iter.seek(|key| key.cmp(b"bananas")).unwrap();
                assert_eq!(iter.value().handle, handle(8192, 1));
                iter.prev().unwrap();
                assert_eq!(iter.value().handle, handle(181, 4000));
                iter.seek_to_last().unwrap();
                assert_eq!(iter.value().handle, handle(8198, 77));
            }
        }
    }

    #[test]
    fn the_worked_example_parses() {
        let bytes = b"\x00\x06cherry\x00\x5b\0\0\0\0\x01\0\0\0";
        let block = Block::parse(bytes.to_vec().into()).unwrap();
        let format = IndexFormat { user_keys: true, delta_values: true, first_keys: false };
        let mut iter = BlockIter::new(&block, format);
        iter.seek_to_first().unwrap();
        assert_eq!(iter.key(), b"cherry");
        let handle = BlockHandle { offset: 0, size: 91 };
        assert_eq!(iter.value().handle, handle);
    }

    #[test]
    fn handles_that_overflow_are_damage() {
        assert_eq!(next_handle(BlockHandle { offset: u64::MAX, size: 1 }, 0), None);
        assert_eq!(next_handle(BlockHandle { offset: 0, size: 5 }, -6), None);
    }
}
