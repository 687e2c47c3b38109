//! A bucket: one cache line with the places of up to seven entries, and a chain of further lines when it is full.
//!
//! A *cell* is one word: the address of the slot that holds the entry and, in the bits that no address uses (A3), 16 bits of
//! the key's hash, the tag. A lookup reads the line, and goes to a slot only where the tag fits, so a hit touches one bucket
//! line and one slot.
//!
//! The *control* word of a chain's first bucket:
//!
//! ```text
//!  63 .. 32          31 .. 7     6 .. 1   0
//! +-----------------+-----------+--------+------+
//! | overflow bucket |  version  | depth  | LOCK |
//! +-----------------+-----------+--------+------+
//! ```
//!
//! B1. Only the holder of LOCK changes cells, control words, and the state of linked slots from visible to anything.
//! B2. An entry of a chain sits in one cell until it is unlinked. The exceptions, a split or a merge that moves it to another
//!     chain and a move from an overflow bucket into a hole, go in this order: write the copy, change the control word
//!     (depth or version), clear the original. An entry that moves to another slot is found by its old cell until the new
//!     content is there, and the control word changes before the old slot becomes something else. A bucket that a chain loses is used for something else only after the control
//!     word changed. Each step is a release and a reader loads everything with acquire; so a reader
//!     that misses the entry because it read the new place too early and the old one too late sees another control word
//!     afterwards than before, and looks again.
//! B3. `depth` says how many bits of the hash (beyond [`INITIAL_DEPTH`]) all entries of the chain share. Buckets beyond the
//!     table's length are no chains: their depth is 0, which no hash that leads to them has. Those that were one stay locked
//!     until they are given back to the system, as all-zero memory, or become chains again; their version goes on from where
//!     any lookup may have seen it.
//! B4. A cell in use holds the address of a slot of the table's arena, which stays a slot as long as the table lives.

use super::arena::{ADDRESS_BITS, Element};
use super::slot::Slot;
use crate::primitive::{Atomic64, AtomicPtr, MODEL, prefetch, yield_now};
use std::ptr::NonNull;

/// Cells of a bucket: with the control word they fill a cache line.
pub(crate) const CELLS: usize = if MODEL { 2 } else { 7 };
/// log2 of the number of buckets that a table starts with.
pub(crate) const INITIAL_DEPTH: u32 = if MODEL { 0 } else { 4 };

const LOCK: u64 = 1;
const DEPTH_SHIFT: u32 = 1;
const DEPTH_MASK: u64 = 0x3f << DEPTH_SHIFT;
const VERSION_SHIFT: u32 = 7;
const VERSION_ONE: u64 = 1 << VERSION_SHIFT;
const VERSION_MASK: u64 = 0x1ff_ffff << VERSION_SHIFT;
/// The largest version.
pub(crate) const MAX_VERSION: u64 = VERSION_MASK >> VERSION_SHIFT;
const OVERFLOW_SHIFT: u32 = 32;

/// One cache line of cells.
#[derive(Debug)]
#[repr(C, align(64))]
pub(crate) struct Bucket {
    control: Atomic64,
    cells: [AtomicPtr<Slot>; CELLS],
}

// SAFETY: all fields are atomic words and pointers, for which zero is a value, and need no drop.
unsafe impl Element for Bucket {
    #[cfg(any(loom, shuttle))]
    fn zero() -> Self {
        Self { control: Atomic64::new(0), cells: std::array::from_fn(|_| AtomicPtr::null()) }
    }

    #[cfg(any(loom, shuttle))]
    fn clear(&self) {
        // As strong as what the system does to give pages back.
        self.control.overwrite_release(0);
        self.cells.iter().for_each(|cell| cell.store_relaxed(std::ptr::null_mut()));
    }

    /// The control word links free overflow buckets: a reader that still looks at one finds no overflow in its upper
    /// half, and empty cells.
    fn link(&self) -> &Atomic64 {
        &self.control
    }
}

/// A value of the control word.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Control(u64);

impl Control {
    /// Bits of the hash that place the chain's entries (B3).
    #[inline]
    pub(crate) const fn depth(self) -> u32 {
        ((self.0 & DEPTH_MASK) >> DEPTH_SHIFT) as u32 + INITIAL_DEPTH
    }

    #[inline]
    pub(crate) const fn overflow(self) -> Option<u32> {
        ((self.0 >> OVERFLOW_SHIFT) as u32).checked_sub(1)
    }

    /// Whether the chain was rearranged between two looks (B2).
    #[inline]
    pub(crate) const fn same_chain(self, later: Self) -> bool {
        (self.0 ^ later.0) & !LOCK == 0
    }

    /// The version as a number.
    pub(crate) const fn version(self) -> u64 {
        (self.0 & VERSION_MASK) >> VERSION_SHIFT
    }

    const fn bump(self) -> Self {
        Self(self.0 & !VERSION_MASK | self.0.wrapping_add(VERSION_ONE) & VERSION_MASK)
    }

    pub(crate) const fn with_depth(self, depth: u32) -> Self {
        Self(self.0 & !DEPTH_MASK | (depth.saturating_sub(INITIAL_DEPTH) as u64) << DEPTH_SHIFT).bump()
    }

    pub(crate) const fn with_overflow(self, bucket: Option<u32>) -> Self {
        let link = match bucket {
            Some(index) => index as u64 + 1,
            None => 0,
        };
        Self(self.0 & !(u64::MAX << OVERFLOW_SHIFT) | link << OVERFLOW_SHIFT).bump()
    }

    /// The same chain, with another version: something moved inside it.
    pub(crate) const fn moved(self) -> Self {
        self.bump()
    }
}

/// A cell's content.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Cell(*mut Slot);

/// The part of a hash that a cell keeps. On targets whose addresses fill the word there is none, and a lookup asks every
/// slot of its bucket.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Tag(usize);

impl Tag {
    const BITS: u32 = usize::BITS - ADDRESS_BITS;

    /// The tag of a hash; where there are tags, it is not zero, so that no empty cell has it.
    #[inline]
    pub(crate) const fn of(hash: u64) -> Self {
        if Self::BITS == 0 { Self(0) } else { Self((hash >> (u64::BITS - Self::BITS)) as usize | 1) }
    }
}

impl Cell {
    pub(crate) const EMPTY: Self = Self(std::ptr::null_mut());

    /// A cell in use.
    pub(crate) fn new(tag: Tag, slot: &Slot) -> Self {
        let slot = std::ptr::from_ref(slot).cast_mut();
        Self(if Tag::BITS == 0 { slot } else { slot.map_addr(|address| address | tag.0 << ADDRESS_BITS) })
    }

    /// The slot, if the cell is in use.
    #[inline]
    pub(crate) fn slot(self) -> Option<NonNull<Slot>> {
        NonNull::new(if Tag::BITS == 0 {
            self.0
        } else {
            self.0.map_addr(|address| address & ((1 << ADDRESS_BITS) - 1))
        })
    }

    #[inline]
    pub(crate) fn tag(self) -> Tag {
        Tag(self.0.addr().checked_shr(ADDRESS_BITS).unwrap_or(0))
    }
}

/// How a thread waits for a lock bit.
#[derive(Debug, Default)]
pub(crate) struct Spins(u32);

impl Spins {
    /// Waits a little, and now and then lets other threads run.
    pub(crate) fn wait(&mut self) {
        self.0 = self.0.wrapping_add(1);
        if MODEL || self.0.is_multiple_of(32) {
            yield_now();
        } else {
            std::hint::spin_loop();
        }
    }
}

impl Bucket {
    /// A reader's look at the control word.
    #[inline]
    pub(crate) fn control(&self) -> Control {
        // Acquire pairs with `set_control`: a depth comes with the length of the table that explains it.
        Control(self.control.load_acquire())
    }

    /// A reader's look at a cell.
    #[inline]
    pub(crate) fn cell(&self, index: usize) -> Cell {
        // Acquire pairs with `set_cell` (B2).
        Cell(self.cells[index].load_acquire())
    }

    /// The cells that have a tag, as a set of positions: the lowest bit is the first cell. No branch, because which cell it is
    /// cannot be foreseen.
    #[inline]
    pub(crate) fn tagged(&self, tag: Tag) -> u32 {
        let mut found = 0;
        for position in 0..CELLS {
            let cell = self.cell(position);
            found |= u32::from(if Tag::BITS == 0 { cell != Cell::EMPTY } else { cell.tag() == tag }) << position;
        }
        found
    }

    /// Asks the processor to have the bucket at hand soon.
    #[inline]
    pub(crate) fn prefetch(&self) {
        prefetch(&raw const self.control);
    }

    /// The control word, under the lock.
    pub(crate) fn control_locked(&self) -> Control {
        Control(self.control.load_relaxed())
    }

    /// A cell, under the lock.
    pub(crate) fn cell_locked(&self, index: usize) -> Cell {
        Cell(self.cells[index].load_relaxed())
    }

    /// Writes a cell, under the lock.
    pub(crate) fn set_cell(&self, index: usize, cell: Cell) {
        // Release: a copy before the control word that announces it, the control word before the clearing (B2).
        self.cells[index].store_release(cell.0);
    }

    /// Changes the control word, under the lock.
    pub(crate) fn set_control(&self, control: Control) {
        // Release: as in `set_cell`. A plain store is enough: while the lock is held, others only set LOCK again.
        self.control.overwrite_release(control.0);
    }

    /// Makes an empty chain, in a table that nobody else has seen.
    pub(crate) fn set_depth(&self, depth: u32) {
        self.control.store_relaxed(Control(0).with_depth(depth).0);
    }

    /// Makes a chain of a bucket that is none, which the caller has locked or left locked, and filled; its version is beyond
    /// `floor`.
    pub(crate) fn begin_chain(&self, depth: u32, floor: u64) {
        let now = self.control_locked();
        let version = now.version().max(floor) << VERSION_SHIFT;
        self.set_control(Control(now.0 & !VERSION_MASK | version & VERSION_MASK).with_depth(depth));
    }

    /// Ends a chain whose entries are elsewhere: no hash belongs here any more (B2). The bucket stays locked.
    pub(crate) fn end_chain(&self) {
        self.set_control(self.control_locked().with_depth(INITIAL_DEPTH));
    }

    /// Prepares an overflow bucket that only the caller can reach.
    pub(crate) fn prepare_overflow(&self, next: Option<u32>) {
        // Release: a reader of the bucket's old chain that sees this must see how that chain lost it (B2).
        self.control.store_release(Control(0).with_overflow(next).0);
    }

    /// Sets LOCK if it was clear, and returns the control word.
    pub(crate) fn try_lock(&self) -> Option<Control> {
        // Acquire pairs with `unlock`: what earlier holders wrote.
        let before = self.control.or_acquire(LOCK);
        (before & LOCK == 0).then_some(Control(before | LOCK))
    }

    /// Waits for LOCK. Holders do a bounded amount of work and never run a user's code.
    pub(crate) fn lock(&self) -> Control {
        let mut spins = Spins::default();
        loop {
            if let Some(control) = self.try_lock() {
                return control;
            }
            spins.wait();
        }
    }

    pub(crate) fn unlock(&self) {
        // Release pairs with `try_lock`. A plain store is enough: while the lock is held, others only set LOCK again.
        self.control.overwrite_release(self.control.load_relaxed() & !LOCK);
    }

    pub(crate) fn is_locked(&self) -> bool {
        self.control.load_relaxed() & LOCK != 0
    }
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use super::*;

    #[test]
    fn a_bucket_is_one_cache_line() {
        assert_eq!((size_of::<Bucket>(), align_of::<Bucket>()), (64, 64));
    }

    #[test]
    fn control_fields_do_not_touch_each_other() {
        let control = Control(LOCK).with_depth(37).with_overflow(Some(u32::MAX - 1));
        assert_eq!((control.depth(), control.overflow(), control.0 & LOCK), (37, Some(u32::MAX - 1), LOCK));
        let mut bumped = control;
        for _ in 0..(1 << 25) {
            bumped = bumped.moved();
            assert!(!control.same_chain(bumped) || bumped == control);
        }
        assert_eq!(bumped, control, "the version wraps around within its field");
        assert_eq!(control.with_overflow(None).overflow(), None);
        assert!(Control(0).same_chain(Control(LOCK)));
    }
}
