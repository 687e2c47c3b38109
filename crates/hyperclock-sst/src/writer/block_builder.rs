//! Builds the body of one block: entries that share prefixes, then the restart array.
//!
//! ```text
//! entry*                                  shared, non_shared, value length (varints), key delta, value
//! restart offset: fixed32, one a restart  each the offset of an entry that stores its whole key
//! number of restarts: fixed32
//! ```
//!
//! A reader finds its place by binary search over the restarts, then decodes forward, so every `restart_interval`
//! entries one key is stored whole. Data blocks use 16; blocks whose entries are searched, never scanned, use 1; the
//! properties block is always read whole and has a single restart.
//!
//! Invariants: I1 keys are added in the order in which the block is searched (the caller's comparator; the builder only
//! needs the bytes of the last key). I2 the first entry is a restart. I3 every restart offset fits 32 bits, which the
//! caller ensures by starting a new block before `size` reaches 4 GiB.

use crate::coding::{put_fixed32, put_varint32};

/// The restart interval of a block with a single restart, at its first entry.
pub(crate) const ONE_RESTART: u32 = u32::MAX;

#[derive(Debug)]
pub(crate) struct BlockBuilder {
    buffer: Vec<u8>,
    restarts: Vec<u32>,
    restart_interval: u32,
    entries_since_restart: u32,
    last_key: Vec<u8>,
}

impl BlockBuilder {
    pub(crate) fn new(restart_interval: u32) -> Self {
        Self {
            buffer: Vec::new(),
            restarts: Vec::new(),
            restart_interval: restart_interval.max(1),
            entries_since_restart: 0,
            last_key: Vec::new(),
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.buffer.is_empty()
    }

    /// Bytes of the block if it were finished now.
    pub(crate) fn size(&self) -> usize {
        self.buffer.len() + (self.restarts.len().max(1) + 1) * size_of::<u32>()
    }

    /// Appends an entry; `key` and `value` are shorter than 4 GiB.
    pub(crate) fn add(&mut self, key: &[u8], value: &[u8]) {
        let shared = self.begin_entry(key);
        put_varint32(&mut self.buffer, shared as u32);
        put_varint32(&mut self.buffer, (key.len() - shared) as u32);
        put_varint32(&mut self.buffer, value.len() as u32);
        self.buffer.extend_from_slice(&key[shared..]);
        self.buffer.extend_from_slice(value);
    }

    /// Appends an entry of an index with delta-encoded values: it has no value length, because a handle ends itself.
    /// The value must be a full handle, so the entry must be a restart.
    pub(crate) fn add_full_handle(&mut self, key: &[u8], handle: &[u8]) {
        debug_assert_eq!(self.restart_interval, 1);
        let shared = self.begin_entry(key);
        put_varint32(&mut self.buffer, shared as u32);
        put_varint32(&mut self.buffer, (key.len() - shared) as u32);
        self.buffer.extend_from_slice(&key[shared..]);
        self.buffer.extend_from_slice(handle);
    }

    /// Completes the block and hands out its bytes. [`reset`](Self::reset) makes room for the next one.
    pub(crate) fn finish(&mut self) -> &[u8] {
        if self.restarts.is_empty() {
            // A block without entries still has one restart, at offset 0.
            self.restarts.push(0);
        }
        for &restart in &self.restarts {
            put_fixed32(&mut self.buffer, restart);
        }
        put_fixed32(&mut self.buffer, self.restarts.len() as u32);
        &self.buffer
    }

    /// Empties the builder and keeps its allocations.
    pub(crate) fn reset(&mut self) {
        self.buffer.clear();
        self.restarts.clear();
        self.entries_since_restart = 0;
        self.last_key.clear();
    }

    /// Notes a restart where one is due, and returns how many leading bytes the entry shares with the one before.
    fn begin_entry(&mut self, key: &[u8]) -> usize {
        let shared = if self.buffer.is_empty() || self.entries_since_restart >= self.restart_interval {
            self.restarts.push(self.buffer.len() as u32);
            self.entries_since_restart = 0;
            0
        } else {
            common_prefix(&self.last_key, key)
        };
        self.entries_since_restart += 1;
        self.last_key.truncate(shared);
        self.last_key.extend_from_slice(&key[shared..]);
        shared
    }
}

/// Number of leading bytes that `a` and `b` have in common.
pub(crate) fn common_prefix(a: &[u8], b: &[u8]) -> usize {
    a.iter().zip(b).take_while(|(x, y)| x == y).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_empty_block_has_one_restart() {
        let mut block = BlockBuilder::new(16);
        assert!(block.is_empty());
        assert_eq!(block.size(), 8);
        assert_eq!(block.finish(), [0, 0, 0, 0, 1, 0, 0, 0]);
    }

    #[test]
    fn entries_share_prefixes_between_restarts() {
        let mut block = BlockBuilder::new(2);
        block.add(b"apple", b"1");
        block.add(b"apply", b"");
        block.add(b"apt", b"3");
        let size = block.size();
        let expected = [
            &[0, 5, 1][..],
            b"apple1",
            &[4, 1, 0],
            b"y",
            &[0, 3, 1],
            b"apt3",
            &[0, 0, 0, 0],
            &[13, 0, 0, 0],
            &[2, 0, 0, 0],
        ]
        .concat();
        assert_eq!(block.finish(), expected);
        assert_eq!(size, expected.len());
    }

    #[test]
    fn a_reset_builder_starts_over() {
        let mut block = BlockBuilder::new(ONE_RESTART);
        block.add(b"a", b"x");
        block.add(b"ab", b"y");
        block.finish();
        block.reset();
        block.add(b"ab", b"y");
        assert_eq!(block.finish(), [&[0, 2, 1][..], b"aby", &[0, 0, 0, 0, 1, 0, 0, 0]].concat());
    }

    #[test]
    fn an_index_entry_has_no_value_length() {
        let mut block = BlockBuilder::new(1);
        block.add_full_handle(b"cherry", &[0, 0x5b]);
        assert_eq!(block.finish(), [&[0, 6][..], b"cherry", &[0, 0x5b, 0, 0, 0, 0, 1, 0, 0, 0]].concat());
    }
}
