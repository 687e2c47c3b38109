//! The slots of a shard: handed out, taken back, and their memory given back when most of it is unused.
//!
//! Slots come from a free list, or from the end of the arena when the list is empty. When a table holds far fewer entries than
//! it has slots, a *drain* empties the upper part of the arena, in bounded steps by the threads that erase, evict and insert:
//! free slots above a limit are *parked* instead of handed out, entries above it move to slots below. A chunk of slots that are
//! all parked is given back to the system: its memory reads as zero from then on, which is what stray lookups may see.
//!
//! P1. Everything but [`Pool::take`], [`Pool::give`] and the looks is called by the thread that reshapes the table, one at a time.
//! P2. A slot is parked by its owner, and counted in its chunk. Nobody owns a parked slot but the thread that reshapes.
//! P3. A chunk whose slots are all parked has no entry, no owner and no place in a list; what its words hold does not matter.
//!
//! A slot that is referenced stays where it is, and its chunk with it, until a later drain.

use super::arena::{Arena, Element, FreeList, OutOfMemory};
use super::slot::Slot;
use crate::primitive::{Atomic64, MODEL};

/// Slots that are given back together: a whole number of pages of 4 KiB.
pub(super) const CHUNK: u32 = if MODEL { 4 } else { 512 };
/// Slots that a step of a drain looks at.
const STEP: u32 = if MODEL { 4 } else { 16 };
/// Chunks that one call looks at to find one with parked slots, or takes off the end.
const CHUNKS: u32 = 64;
/// Takes from the free list that may meet a slot above the limit.
const ATTEMPTS: u32 = 4;
const NO_LIMIT: u32 = u32::MAX;

/// See the module documentation.
#[derive(Debug)]
pub(crate) struct Pool {
    slots: Arena<Slot>,
    chunks: Arena<Chunk>,
    drain: Drain,
}

/// What is known of a drain; the first two are also read by `take`.
#[derive(Debug)]
#[repr(align(64))]
struct Drain {
    /// Slots from here on are not handed out.
    limit: Atomic64,
    /// Slots that `take` met above the limit.
    far: FreeList,
    /// The head of the rest of the free list as it was when the drain began: an index + 1, or 0.
    unsorted: Atomic64,
    /// Slots from here on were visited.
    cursor: Atomic64,
    /// All parked slots.
    parked: Atomic64,
    /// Calls to wait before another drain, after one that was stopped by references.
    pause: Atomic64,
}

#[derive(Debug)]
struct Chunk {
    /// Parked slots.
    parked: Atomic64,
    /// Whether the memory went back to the system.
    given_back: Atomic64,
}

/// What became of a slot that a drain wants to be empty.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Vacated {
    /// The caller owns it.
    Yes,
    /// It is held, or someone else's at the moment.
    No,
    /// Its entry could move, but no slot is free.
    Full,
}

// SAFETY: atomic words, for which zero is a value, and which need no drop.
unsafe impl Element for Chunk {
    #[cfg(any(loom, shuttle))]
    fn zero() -> Self {
        Self { parked: Atomic64::new(0), given_back: Atomic64::new(0) }
    }

    #[cfg(any(loom, shuttle))]
    fn clear(&self) {
        self.parked.store_relaxed(0);
        self.given_back.store_relaxed(0);
    }

    /// Chunks are not handed out.
    fn link(&self) -> &Atomic64 {
        &self.given_back
    }
}

// SAFETY: all fields of a slot are atomic words and pointers, for which zero is a value, and need no drop.
unsafe impl Element for Slot {
    #[cfg(any(loom, shuttle))]
    fn zero() -> Self {
        Self::empty()
    }

    #[cfg(any(loom, shuttle))]
    fn clear(&self) {
        Self::clear(self);
    }

    fn link(&self) -> &Atomic64 {
        Self::link(self)
    }
}

impl Pool {
    pub(super) fn new() -> Self {
        Self {
            slots: Arena::new(),
            chunks: Arena::new(),
            drain: Drain {
                limit: Atomic64::new(u64::from(NO_LIMIT)),
                far: FreeList::new(),
                unsorted: Atomic64::new(0),
                cursor: Atomic64::new(0),
                parked: Atomic64::new(0),
                pause: Atomic64::new(0),
            },
        }
    }

    #[inline]
    pub(super) fn get(&self, index: u32) -> &Slot {
        self.slots.get(index)
    }

    /// The slot at `index`, or none where memory was never reserved.
    pub(super) fn try_get(&self, index: u32) -> Option<&Slot> {
        self.slots.try_get(index)
    }

    /// Some slots in a row; see [`Arena::row`].
    #[inline]
    pub(super) fn row(&self, first: u32, count: u32) -> Option<&[Slot]> {
        self.slots.row(first, count)
    }

    /// Slots in use, free or parked: those below this index.
    pub(super) fn len(&self) -> u32 {
        self.slots.len()
    }

    /// Bytes of slots that were used and not given back.
    pub(super) fn bytes(&self) -> usize {
        let given_back = |&chunk: &u32| self.chunks.try_get(chunk).is_some_and(|c| c.given_back.load_relaxed() != 0);
        let given_back = self.chunk_indices().filter(given_back).count() * CHUNK as usize;
        (self.len() as usize).saturating_sub(given_back) * size_of::<Slot>()
    }

    /// Takes a free slot; the caller becomes its owner.
    pub(super) fn take(&self) -> Option<u32> {
        for _ in 0..ATTEMPTS {
            let index = self.slots.take()?;
            // A slot that is handed out a moment too late moves on later.
            if self.is_near(index) {
                return Some(index);
            }
            self.drain.far.push(&self.slots, index);
        }
        None
    }

    /// Takes a slot that was never used; the caller becomes its owner.
    pub(super) fn fresh(&self) -> Result<u32, OutOfMemory> {
        let index = self.slots.fresh()?;
        let slot = self.slots.get(index);
        // Left by a drain whose memory could not be given back.
        if slot.state.peek().is_parked() {
            slot.state.reset();
        }
        Ok(index)
    }

    /// Gives a slot to the free list; the caller must own it.
    pub(super) fn give(&self, index: u32) {
        self.slots.give(index);
    }

    /// Gives a slot to the free list whose index the caller does not know; the caller must own it.
    pub(super) fn give_slot(&self, slot: &Slot) {
        // Every slot of a table has an index; without one, it would only be lost.
        if let Some(index) = self.slots.index_of(slot) {
            self.give(index);
        }
    }

    /// Whether [`Pool::refill`] may find something.
    pub(super) fn has_reserve(&self) -> bool {
        self.drain.parked.load_relaxed() > 0 || self.has_unsorted()
    }

    fn has_unsorted(&self) -> bool {
        self.drain.unsorted.load_relaxed() != 0 || !self.drain.far.is_empty()
    }

    /// Whether a drain is on its way.
    pub(super) fn is_draining(&self) -> bool {
        self.limit() != NO_LIMIT
    }

    /// Whether a slot is below the limit of the drain.
    pub(super) fn is_near(&self, index: u32) -> bool {
        index < self.limit()
    }

    fn limit(&self) -> u32 {
        // Relaxed: see `take`.
        self.drain.limit.load_relaxed() as u32
    }

    fn chunk_indices(&self) -> std::ops::Range<u32> {
        0..self.len().div_ceil(CHUNK)
    }

    fn parked_in(&self, chunk: u32) -> u32 {
        self.chunks.try_get(chunk).map_or(0, |chunk| chunk.parked.load_relaxed() as u32)
    }

    fn is_all_parked(&self, chunk: u32) -> bool {
        self.parked_in(chunk) == CHUNK
    }

    /// Whether the slot is parked, as far as can be told from its chunk.
    pub(super) fn is_parked(&self, index: u32) -> bool {
        self.is_all_parked(index / CHUNK) || self.get(index).state.peek().is_parked()
    }

    /// Makes slots available to `take` again, when there are entries for them: unsorted ones, then parked ones.
    pub(super) fn refill(&self) {
        for _ in 0..2 * STEP {
            let Some(index) = self.next_unsorted() else { break };
            self.sort(index);
        }
        if self.is_draining() {
            if self.has_unsorted() {
                return;
            }
            // The table grows again.
            self.end_drain();
        }
        let candidates = self.chunk_indices().filter(|&chunk| self.parked_in(chunk) > 0);
        if self.drain.parked.load_relaxed() > 0
            && let Some(chunk) = candidates.min()
        {
            self.unpark(chunk);
        }
    }

    /// Begins to empty the slots from `limit` on.
    pub(super) fn begin_drain(&self, limit: u32) -> Result<(), OutOfMemory> {
        debug_assert!(limit.is_multiple_of(CHUNK) && !self.is_draining() && self.drain.unsorted.load_relaxed() == 0);
        self.chunks.reserve_all(self.len().div_ceil(CHUNK))?;
        // The last chunk becomes whole.
        for _ in 0..CHUNK {
            if self.len().is_multiple_of(CHUNK) {
                break;
            }
            self.park(self.fresh()?);
        }
        // Others may have taken slots meanwhile, and begun another chunk.
        self.chunks.reserve_all(self.len().div_ceil(CHUNK))?;
        self.drain.cursor.store_relaxed(u64::from(self.len()));
        self.drain.limit.store_relaxed(u64::from(limit));
        self.drain.unsorted.store_relaxed(self.slots.take_all().map_or(0, |first| u64::from(first) + 1));
        Ok(())
    }

    /// Goes on with a drain: sorts free slots, and then shows `vacate` the next ones above the limit.
    pub(super) fn drain_step(&self, mut vacate: impl FnMut(&Slot) -> Vacated) {
        for _ in 0..STEP {
            let Some(index) = self.next_unsorted() else { break };
            self.sort(index);
        }
        if self.has_unsorted() {
            // Entries can only move when it is known which free slots are below the limit.
            return;
        }
        let limit = self.limit();
        let mut cursor = self.drain.cursor.load_relaxed() as u32;
        for _ in 0..STEP {
            if cursor <= limit {
                break;
            }
            cursor -= 1;
            if self.is_parked(cursor) {
                continue;
            }
            match vacate(self.get(cursor)) {
                Vacated::Yes => self.park(cursor),
                Vacated::No => {}
                Vacated::Full => cursor = limit,
            }
        }
        self.drain.cursor.store_relaxed(u64::from(cursor));
        if cursor <= limit {
            self.end_drain();
        }
    }

    fn end_drain(&self) {
        self.drain.limit.store_relaxed(u64::from(NO_LIMIT));
        let left = self.chunk_indices().rev().find(|&chunk| !self.is_all_parked(chunk)).map_or(0, |chunk| chunk + 1);
        // What is held or being filled stops a drain; another one now would find the same.
        self.drain.pause.store_relaxed(u64::from(left * CHUNK / STEP));
    }

    /// Counts one call down after a drain; true when there may be another.
    pub(super) fn may_drain(&self) -> bool {
        match self.drain.pause.load_relaxed().checked_sub(1) {
            Some(left) => {
                self.drain.pause.store_relaxed(left);
                false
            }
            None => true,
        }
    }

    /// Takes chunks that were given back off the end of the arena.
    pub(super) fn shorten(&self) {
        for _ in 0..CHUNKS {
            let len = self.len();
            let Some(last) = (len / CHUNK).checked_sub(1) else { return };
            if !len.is_multiple_of(CHUNK) || !self.is_all_parked(last) || !self.slots.retract(len, CHUNK) {
                return;
            }
            self.forget(last);
            self.drain.parked.sub_relaxed(u64::from(CHUNK));
        }
    }

    /// Whether [`Pool::shorten`] would do something.
    pub(super) fn can_shorten(&self) -> bool {
        let len = self.len();
        len.is_multiple_of(CHUNK) && (len / CHUNK).checked_sub(1).is_some_and(|last| self.is_all_parked(last))
    }

    /// A free slot that was not sorted yet.
    fn next_unsorted(&self) -> Option<u32> {
        let Some(index) = (self.drain.unsorted.load_relaxed() as u32).checked_sub(1) else {
            return self.drain.far.pop(&self.slots);
        };
        let next = self.slots.following(index).map_or(0, |next| u64::from(next) + 1);
        self.drain.unsorted.store_relaxed(next);
        Some(index)
    }

    /// Parks a free slot above the limit; gives others to the free list.
    fn sort(&self, index: u32) {
        if index < self.limit() { self.slots.give(index) } else { self.park(index) }
    }

    /// Parks a slot (P2).
    fn park(&self, index: u32) {
        let Some(chunk) = self.chunks.try_get(index / CHUNK) else {
            // It came into being after the drain began.
            self.slots.give(index);
            return;
        };
        self.slots.get(index).state.park();
        self.drain.parked.add_relaxed(1);
        if chunk.parked.add_relaxed(1) + 1 == u64::from(CHUNK) {
            // P3. Where it cannot be given back, it costs memory and is used again when needed.
            chunk.given_back.store_relaxed(u64::from(self.slots.give_back(index / CHUNK * CHUNK, CHUNK)));
        }
    }

    fn unpark(&self, chunk: u32) {
        let all = self.is_all_parked(chunk);
        let mut taken = 0;
        for index in chunk * CHUNK..(chunk + 1) * CHUNK {
            let slot = self.slots.get(index);
            if all || slot.state.peek().is_parked() {
                slot.state.reset();
                self.slots.give(index);
                taken += 1;
            }
        }
        self.forget(chunk);
        self.drain.parked.sub_relaxed(taken);
    }

    /// The chunk has no parked slots any more.
    fn forget(&self, chunk: u32) {
        let chunk = self.chunks.get(chunk);
        chunk.parked.store_relaxed(0);
        chunk.given_back.store_relaxed(0);
    }

    /// All free slots, for `validate`.
    pub(super) fn free_indices(&self) -> Vec<u32> {
        let mut free = self.slots.free_indices();
        free.extend(self.drain.far.indices(&self.slots));
        free.extend(self.slots.linked_from((self.drain.unsorted.load_relaxed() as u32).checked_sub(1)));
        free
    }

    /// Compares the counts of parked slots with the slots, for `validate`; returns how many there are.
    pub(super) fn count_parked(&self) -> Result<usize, String> {
        let mut total = 0;
        for chunk in self.chunk_indices() {
            let counted = self.parked_in(chunk);
            let slots = chunk * CHUNK..((chunk + 1) * CHUNK).min(self.len());
            let found = slots.filter(|&index| self.is_parked(index)).count();
            if found != counted as usize {
                return Err(format!("chunk {chunk} has {found} parked slots and counts {counted}"));
            }
            total += found;
        }
        if total as u64 != self.drain.parked.load_relaxed() {
            return Err(format!("{total} slots are parked, {:?} are counted", self.drain.parked));
        }
        Ok(total)
    }
}
