//! The body of a block: prefix-compressed entries, restart points, and an iterator.
//!
//! ```text
//! entry* | values | restart[n]: fixed32 | hash index | values offset | footer word
//! entry  = shared, non_shared, value_len: varint32 | key delta | value
//! ```
//!
//! An entry's key is the first `shared` bytes of the key before it, and its delta. At a restart
//! point nothing is shared, so keys there are slices of the block and can be searched by halving;
//! from the restart point below the target a search goes entry by entry. The footer word holds
//! the number of restart points and flags: bit 31 says that a hash index follows the restarts (it
//! only speeds up what the search does anyway and is skipped), bit 28 that values are kept apart
//! from keys, bit 29 is a hint. What an entry's header and value look like differs by kind of
//! block and is told by an [`EntryFormat`].
//!
//! Invariants, checked once when a block is parsed:
//!
//! - I1: entries end where the values or the restarts begin, within the block.
//! - I2: restart points ascend strictly, begin at 0 and lie before the end of the entries; a
//!   block without entries has none.
//!
//! Entries themselves are checked when they are read, and that a walk meets every restart point and
//! finds a whole key there: walks in either direction and searches see the same entries, or fail.
//! An entry takes at least 2 bytes, so walks end, whatever the bytes say. Parsing costs one pass over
//! the restarts and no copy.

use std::cmp::Ordering;
use std::ops::Deref;

use crate::coding::{Reader, fixed32_at};
use crate::error::Defect;

const HASH_INDEX_FLAG: u32 = 1 << 31;
const RESERVED_FLAG: u32 = 1 << 30;
const UNIFORM_KEYS_FLAG: u32 = 1 << 29;
const SEPARATED_VALUES_FLAG: u32 = 1 << 28;
const RESTARTS_MASK: u32 = SEPARATED_VALUES_FLAG - 1;

/// A block body whose outline has been checked.
#[derive(Debug)]
pub(crate) struct Block {
    bytes: Box<[u8]>,
    /// Where entries end.
    entries_end: u32,
    /// Where values end: `entries_end`, unless values are kept apart.
    values_end: u32,
    /// Where the restart array begins.
    restarts: u32,
    num_restarts: u32,
    separated_values: bool,
}

impl Block {
    /// Checks the outline of a block body.
    pub(crate) fn parse(bytes: Box<[u8]>) -> Result<Self, Defect> {
        let outline = || Defect::corrupt("the block is too short for what its last word declares");
        if u32::try_from(bytes.len()).is_err() {
            return Err(Defect::corrupt("the block is larger than 4 GiB"));
        }
        let mut end = bytes.len();
        let mut step_back = |n: usize| {
            end = end.checked_sub(n)?;
            Some(end)
        };
        let word = step_back(4).and_then(|at| fixed32_at(&bytes, at)).ok_or_else(outline)?;
        if word & RESERVED_FLAG != 0 {
            return Err(Defect::unsupported(
                "bit 30 of the block's last word: the file was written by a newer RocksDB",
            ));
        }
        let separated_values = word & SEPARATED_VALUES_FLAG != 0;
        let values_offset = if separated_values {
            let at = step_back(4).ok_or_else(outline)?;
            Some(fixed32_at(&bytes, at).ok_or_else(outline)?)
        } else {
            None
        };
        if word & HASH_INDEX_FLAG != 0 {
            let at = step_back(2).ok_or_else(outline)?;
            let buckets = bytes.get(at..).and_then(|b| Reader::new(b).fixed16());
            step_back(usize::from(buckets.ok_or_else(outline)?)).ok_or_else(outline)?;
        }
        let num_restarts = word & RESTARTS_MASK;
        debug_assert_eq!(word & !RESTARTS_MASK & !(HASH_INDEX_FLAG | UNIFORM_KEYS_FLAG | SEPARATED_VALUES_FLAG), 0);
        let restarts = (num_restarts as usize).checked_mul(4).and_then(step_back).ok_or_else(outline)? as u32;
        let entries_end = values_offset.unwrap_or(restarts);
        if entries_end > restarts {
            return Err(Defect::corrupt("values begin after the restart points"));
        }
        let mut block = Self { bytes, entries_end, values_end: restarts, restarts, num_restarts, separated_values };
        block.check_restarts()?;
        Ok(block)
    }

    fn check_restarts(&mut self) -> Result<(), Defect> {
        if self.entries_end == 0 || self.num_restarts == 0 {
            self.num_restarts = 0;
            self.entries_end = 0;
            return Ok(());
        }
        let array = self
            .bytes
            .get(self.restarts as usize..)
            .and_then(|b| b.get(..self.num_restarts as usize * 4))
            .ok_or_else(|| Defect::corrupt("the restart points do not fit"))?;
        let mut next_allowed = 0;
        for (i, point) in array.chunks_exact(4).enumerate() {
            let point = Reader::new(point).fixed32().unwrap_or(u32::MAX);
            if point < next_allowed || point >= self.entries_end || (i == 0 && point != 0) {
                return Err(Defect::corrupt(format!("restart point {i} is out of order")));
            }
            next_allowed = point + 1;
        }
        Ok(())
    }

    /// Bytes of the body, all of which the block owns.
    pub(crate) fn len(&self) -> usize {
        self.bytes.len()
    }

    pub(crate) fn has_separated_values(&self) -> bool {
        self.separated_values
    }

    /// The bytes from `start` to `end`; none if they are not in the block, which a range that an
    /// iterator gave always is.
    #[inline]
    pub(crate) fn slice(&self, range: ByteRange) -> &[u8] {
        self.bytes.get(range.start as usize..range.end as usize).unwrap_or_default()
    }

    #[inline]
    fn restart_point(&self, index: u32) -> Option<u32> {
        if index >= self.num_restarts {
            return None;
        }
        fixed32_at(&self.bytes, self.restarts as usize + index as usize * 4)
    }

    /// A cursor over the entries that begin at `offset`.
    #[inline]
    fn entries_from(&self, offset: u32) -> Reader<'_> {
        Reader::new(self.bytes.get(offset as usize..self.entries_end as usize).unwrap_or_default())
    }

    /// The offset in the block at which `reader`, a cursor over entries, stands.
    #[inline]
    fn offset_of(&self, reader: &Reader<'_>) -> u32 {
        self.entries_end - reader.len() as u32
    }
}

/// A piece of a block.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct ByteRange {
    pub(crate) start: u32,
    pub(crate) end: u32,
}

impl ByteRange {
    #[inline]
    pub(crate) const fn len(self) -> usize {
        (self.end - self.start) as usize
    }
}

/// What is read of an entry, the key's shared part aside.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Entry<V> {
    shared: u32,
    key_delta: ByteRange,
    value: V,
    next: u32,
}

/// How the entries of a kind of block are laid out.
pub(crate) trait EntryFormat: Copy {
    /// What an iterator keeps of a value. The default stands before the first entry.
    type Value: Copy + Default;

    /// Reads the entry at `offset`. `previous` is the value of the entry before it;
    /// `at_restart` says whether a restart point is there.
    fn read(self, block: &Block, offset: u32, at_restart: bool, previous: &Self::Value) -> Option<Entry<Self::Value>>;

    /// The key of the entry at a restart point, without a look at its value.
    fn key_at_restart(self, block: &Block, offset: u32) -> Option<&[u8]>;
}

/// Entries with their values' lengths: data blocks, the metaindex, properties.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PlainEntries;

impl EntryFormat for PlainEntries {
    type Value = ByteRange;

    #[inline]
    fn read(self, block: &Block, offset: u32, at_restart: bool, previous: &ByteRange) -> Option<Entry<ByteRange>> {
        let mut reader = block.entries_from(offset);
        let shared = reader.varint32()?;
        let non_shared = reader.varint32()?;
        let value_len = reader.varint32()?;
        let value_start = match (block.separated_values, at_restart) {
            (false, _) => None,
            (true, false) => Some(previous.end),
            (true, true) => Some(block.entries_end.checked_add(reader.varint32()?)?),
        };
        let delta_start = block.offset_of(&reader);
        reader.take(non_shared as usize)?;
        let delta_end = block.offset_of(&reader);
        let (start, limit) = match value_start {
            None => (delta_end, block.entries_end),
            Some(start) => (start, block.values_end),
        };
        let end = start.checked_add(value_len).filter(|&end| end <= limit)?;
        Some(Entry {
            shared,
            key_delta: ByteRange { start: delta_start, end: delta_end },
            value: ByteRange { start, end },
            next: if value_start.is_none() { end } else { delta_end },
        })
    }

    #[inline]
    fn key_at_restart(self, block: &Block, offset: u32) -> Option<&[u8]> {
        whole_key(block, offset, 1 + usize::from(block.separated_values))
    }
}

/// The key of an entry that begins at `offset` and should share nothing with the one before, with
/// `lengths` varints after the first two and before the key.
#[inline]
pub(crate) fn whole_key(block: &Block, offset: u32, lengths: usize) -> Option<&[u8]> {
    let (mut reader, shared, non_shared) = begin_entry(block, offset)?;
    for _ in 0..lengths {
        reader.varint32()?;
    }
    (shared == 0).then(|| reader.take(non_shared as usize)).flatten()
}

impl<V> Entry<V> {
    /// An entry of another format, whose key delta and value have been read off `reader`.
    pub(crate) fn new(block: &Block, shared: u32, key_delta: ByteRange, value: V, reader: &Reader<'_>) -> Self {
        Self { shared, key_delta, value, next: block.offset_of(reader) }
    }
}

/// The shared and non-shared lengths and what follows them, for formats other than
/// [`PlainEntries`].
#[inline]
pub(crate) fn begin_entry(block: &Block, offset: u32) -> Option<(Reader<'_>, u32, u32)> {
    let mut reader = block.entries_from(offset);
    let shared = reader.varint32()?;
    let non_shared = reader.varint32()?;
    Some((reader, shared, non_shared))
}

/// Takes `len` bytes off `reader` as a range of the block.
#[inline]
pub(crate) fn take_range(block: &Block, reader: &mut Reader<'_>, len: u32) -> Option<ByteRange> {
    let start = block.offset_of(reader);
    reader.take(len as usize)?;
    Some(ByteRange { start, end: start + len })
}

/// The key of the current entry: a slice of the block where nothing is shared, else put together
/// in a buffer that is kept from entry to entry.
#[derive(Debug, Default)]
struct CurrentKey {
    buffer: Vec<u8>,
    in_block: Option<ByteRange>,
}

impl CurrentKey {
    #[inline]
    fn get<'a>(&'a self, block: &'a Block) -> &'a [u8] {
        match self.in_block {
            Some(range) => block.slice(range),
            None => &self.buffer,
        }
    }

    /// Replaces the key by its first `shared` bytes and the delta. `None` if it is shorter.
    #[inline]
    fn advance(&mut self, block: &Block, shared: u32, delta: ByteRange) -> Option<()> {
        if shared == 0 {
            self.in_block = Some(delta);
            return Some(());
        }
        if let Some(range) = self.in_block.take() {
            let kept = block.slice(range).get(..shared as usize)?;
            self.buffer.clear();
            self.buffer.extend_from_slice(kept);
        } else {
            if shared as usize > self.buffer.len() {
                return None;
            }
            self.buffer.truncate(shared as usize);
        }
        self.buffer.extend_from_slice(block.slice(delta));
        Some(())
    }
}

/// Walks the entries of a block, which it borrows or holds by a handle.
///
/// The moving methods fail on damage, after which the iterator is not valid.
#[derive(Debug)]
pub(crate) struct BlockIter<B, F: EntryFormat> {
    block: B,
    format: F,
    /// Where the current entry begins; meaningful while `valid`.
    current: u32,
    /// Where the entry after it begins.
    next: u32,
    /// The restart point at or before the current entry.
    restart: u32,
    /// Where the restart point after that is; past every entry if there is none.
    next_restart: u32,
    key: CurrentKey,
    value: F::Value,
    valid: bool,
}

impl<B: Deref<Target: AsRef<Block>>, F: EntryFormat> BlockIter<B, F> {
    /// An iterator that is not on any entry yet.
    pub(crate) fn new(block: B, format: F) -> Self {
        Self::with_buffer(block, format, Vec::new())
    }

    /// As [`Self::new`], with a buffer for keys that comes back by [`Self::into_buffer`].
    pub(crate) fn with_buffer(block: B, format: F, buffer: Vec<u8>) -> Self {
        Self {
            block,
            format,
            current: 0,
            next: 0,
            restart: 0,
            next_restart: u32::MAX,
            key: CurrentKey { buffer, in_block: None },
            value: F::Value::default(),
            valid: false,
        }
    }

    pub(crate) fn into_buffer(self) -> Vec<u8> {
        self.key.buffer
    }

    #[inline]
    pub(crate) fn block(&self) -> &B {
        &self.block
    }

    #[inline]
    pub(crate) fn valid(&self) -> bool {
        self.valid
    }

    /// The key of the current entry; meaningful while [`Self::valid`].
    #[inline]
    pub(crate) fn key(&self) -> &[u8] {
        self.key.get(self.block.as_ref())
    }

    /// The value of the current entry; meaningful while [`Self::valid`].
    #[inline]
    pub(crate) fn value(&self) -> F::Value {
        self.value
    }

    #[cold]
    fn damaged(&mut self) -> Defect {
        self.valid = false;
        Defect::corrupt(format!("the entry at {} of the block is damaged", self.next))
    }

    /// Stands before the entry of a restart point.
    fn go_to_restart(&mut self, index: u32) {
        let block = self.block.as_ref();
        let (here, after) = (block.restart_point(index), block.restart_point(index + 1));
        self.next = here.unwrap_or(block.entries_end);
        self.next_restart = after.unwrap_or(u32::MAX);
        self.restart = index;
        self.key.buffer.clear();
        self.key.in_block = None;
        self.value = F::Value::default();
        self.valid = false;
    }

    /// To the next entry, from wherever the iterator stands.
    #[inline]
    fn step(&mut self) -> Result<(), Defect> {
        let block = self.block.as_ref();
        if self.next > self.next_restart {
            // The last entry reaches over a restart point: from there other entries are seen.
            return Err(self.damaged());
        }
        if self.next >= block.entries_end {
            self.valid = false;
            return Ok(());
        }
        let crosses_restart = self.next == self.next_restart;
        if crosses_restart {
            self.restart += 1;
            self.next_restart = block.restart_point(self.restart + 1).unwrap_or(u32::MAX);
        }
        let at_restart = block.separated_values && self.is_restart(block, self.next);
        let read = self
            .format
            .read(block, self.next, at_restart, &self.value)
            .filter(|entry| entry.shared == 0 || !crosses_restart)
            .and_then(|entry| {
                self.key.advance(block, entry.shared, entry.key_delta)?;
                Some(entry)
            });
        let Some(entry) = read else {
            return Err(self.damaged());
        };
        self.value = entry.value;
        self.current = self.next;
        self.next = entry.next;
        self.valid = true;
        Ok(())
    }

    #[inline]
    fn is_restart(&self, block: &Block, offset: u32) -> bool {
        block.restart_point(self.restart) == Some(offset)
    }

    /// To the first entry.
    pub(crate) fn seek_to_first(&mut self) -> Result<(), Defect> {
        self.go_to_restart(0);
        self.step()
    }

    /// To the last entry. Costs a walk over the last restart interval.
    pub(crate) fn seek_to_last(&mut self) -> Result<(), Defect> {
        let Some(last) = self.block.as_ref().num_restarts.checked_sub(1) else {
            self.valid = false;
            return Ok(());
        };
        self.go_to_restart(last);
        let end = self.block.as_ref().entries_end;
        while self.next < end {
            self.step()?;
        }
        Ok(())
    }

    /// To the next entry. No effect if the iterator is not on one.
    #[inline]
    pub(crate) fn next(&mut self) -> Result<(), Defect> {
        if self.valid { self.step() } else { Ok(()) }
    }

    /// To the entry before. Costs a walk over half a restart interval on average.
    pub(crate) fn prev(&mut self) -> Result<(), Defect> {
        if !self.valid {
            return Ok(());
        }
        let target = self.current;
        let mut restart = self.restart;
        if self.is_restart(self.block.as_ref(), target) {
            let Some(before) = restart.checked_sub(1) else {
                self.valid = false;
                return Ok(());
            };
            restart = before;
        }
        self.go_to_restart(restart);
        while self.next < target {
            self.step()?;
        }
        Ok(())
    }

    /// To the first entry whose key is not less than a target: `order` compares a key with it.
    ///
    /// Costs a halving search over the restart points and a walk over one restart interval.
    #[inline]
    pub(crate) fn seek(&mut self, order: impl Fn(&[u8]) -> Ordering) -> Result<(), Defect> {
        let (mut low, mut high) = (0, self.block.as_ref().num_restarts);
        // The key at `low` is less than the target, or `low` is 0; those from `high` on are not.
        while low + 1 < high {
            let middle = low + (high - low) / 2;
            let Some(key) = self.restart_key(middle) else {
                self.next = self.block.as_ref().restart_point(middle).unwrap_or(0);
                return Err(self.damaged());
            };
            if order(key) == Ordering::Less {
                low = middle;
            } else {
                high = middle;
            }
        }
        self.go_to_restart(low);
        self.step()?;
        while self.valid && order(self.key()) == Ordering::Less {
            self.step()?;
        }
        Ok(())
    }

    #[inline]
    fn restart_key(&self, index: u32) -> Option<&[u8]> {
        let block = self.block.as_ref();
        let offset = block.restart_point(index)?;
        self.format.key_at_restart(block, offset)
    }
}

#[cfg(test)]
mod tests;
