//! Growth and shrinking of a shard, in steps of a few chains and slots by the threads that insert, erase and evict.
//!
//! One thread at a time reshapes a shard; the others leave it to later calls. Growth splits the next chain of the linear hash
//! (Litwin), shrinking merges the last one into the one it came from. Between the two bounds lies a factor of almost two, so
//! that a number of entries that goes up and down reshapes nothing. Slots are emptied from the top (see `pool`): an entry without
//! references moves to a lower slot.
//!
//! R1. Lookups find an entry at every instant of a split, a merge and a move (B2, S6, T4).
//! R2. A walk over all slots and a move of an entry do not overlap, so a walk meets each entry once. A walk waits for a move that
//!     has begun, which is a bounded number of steps; a move is not begun during a walk.
//! R3. Merged buckets from `dead_from` on are all-zero or were never used; those from the table's length to there are locked.

use super::arena::OutOfMemory;
use super::bucket::{Cell, MAX_VERSION, Spins, Tag};
use super::pool::{CHUNK, Vacated};
use super::slot::Slot;
use super::state::Word;
use super::table::{Chain, Extent, Table};
use crate::primitive::{Atomic64, MODEL};
use std::ptr::NonNull;

/// Entries per bucket, in quarters, beyond which the index grows. A chain that waits for its split has up to twice the
/// entries of one that was split, so the mean must leave room.
const GROW_QUARTERS: u64 = if MODEL { 5 } else { 17 };
/// Entries per bucket, in quarters, below which the index shrinks.
const SHRINK_QUARTERS: u64 = if MODEL { 2 } else { 9 };
/// Chains that one call splits or merges at most.
const CHAINS_PER_CALL: u32 = 2;
/// Buckets that are given back together: a whole number of pages of 4 KiB.
const BUCKET_CHUNK: u32 = if MODEL { 2 } else { 256 };

/// What the reshaping thread needs to know.
#[derive(Debug)]
#[repr(align(64))]
pub(super) struct Reshaping {
    /// Taken by the thread that reshapes.
    busy: Atomic64,
    /// Walks under way, and [`MOVING`].
    movement: Atomic64,
    /// The index never has fewer buckets.
    min_length: u32,
    /// R3.
    dead_from: Atomic64,
    /// No lookup has seen a higher version in a bucket from `dead_from` on.
    version_floor: Atomic64,
}

/// Entries are being moved between slots.
const MOVING: u64 = 1 << 63;

impl Reshaping {
    pub(super) fn new(length: u32) -> Self {
        Self {
            busy: Atomic64::new(0),
            movement: Atomic64::new(0),
            min_length: length,
            dead_from: Atomic64::new(u64::from(length)),
            version_floor: Atomic64::new(0),
        }
    }
}

/// A walk over all slots; no entry moves meanwhile.
pub(super) struct Walk<'t>(&'t Reshaping);

impl Drop for Walk<'_> {
    fn drop(&mut self) {
        // Relaxed: a walk changes nothing.
        self.0.movement.sub_relaxed(1);
    }
}

/// The buckets that hold so many entries without growth.
pub(super) const fn index_for(entries: u64) -> u32 {
    let buckets = (entries * 4).div_ceil(GROW_QUARTERS);
    if buckets < Extent::MAX as u64 { buckets as u32 } else { Extent::MAX }
}

/// The bucket whose chain a bucket was split from.
const fn parent_of(bucket: u32) -> u32 {
    bucket & !(1 << bucket.ilog2())
}

impl Table {
    /// Buckets that are chains, or were and were not given back.
    pub(super) fn used_buckets(&self) -> usize {
        self.reshaping.dead_from.load_relaxed() as usize
    }

    /// Begins a walk over all slots (R2).
    pub(super) fn walk(&self) -> Walk<'_> {
        let mut spins = Spins::default();
        // Relaxed: a mover that comes later sees it in its exchange, and the loop sees one that came before.
        self.reshaping.movement.add_relaxed(1);
        let walk = Walk(&self.reshaping);
        // Acquire pairs with the end of the moves.
        while self.reshaping.movement.load_acquire() & MOVING != 0 {
            spins.wait();
        }
        walk
    }

    /// Runs `step` unless another thread reshapes this shard.
    pub(super) fn reshape(&self, step: impl FnOnce()) -> bool {
        // Acquire pairs with the store below: what earlier reshapers did.
        let taken = self.reshaping.busy.cas_acquire(0, 1);
        if taken {
            step();
            self.reshaping.busy.store_release(0);
        }
        taken
    }

    /// Splits chains while there are too many entries for the index, at most two of them.
    pub(super) fn grow(&self, entries: u64) {
        for _ in 0..CHAINS_PER_CALL {
            let mut split = false;
            if self.has_too_few_buckets(entries) {
                // Another thread may have split before it is our turn.
                self.reshape(|| split = self.has_too_few_buckets(entries) && self.split().is_ok());
            }
            if !split {
                return;
            }
        }
    }

    fn has_too_few_buckets(&self, entries: u64) -> bool {
        let length = Extent(self.extent.load_relaxed()).length();
        entries * 4 > u64::from(length) * GROW_QUARTERS && length < Extent::MAX
    }

    /// After `left` entries left: merges chains while there are too few entries for the index, and goes on with emptying the
    /// slots that are too many; two chains and one step of slots for each entry at most.
    pub(super) fn shrink(&self, left: u64) {
        for _ in 0..left {
            let entries = self.entries();
            let merging = (0..CHAINS_PER_CALL).all(|_| self.try_merge(entries));
            let draining = self.slots.is_draining() || self.slots.can_shorten() || self.has_too_many_slots(entries);
            if draining {
                self.reshape(|| self.drain(entries));
            }
            if !merging && !draining {
                return;
            }
        }
    }

    fn has_too_many_buckets(&self, entries: u64) -> bool {
        let length = Extent(self.extent.load_relaxed()).length();
        entries * 4 < u64::from(length) * SHRINK_QUARTERS && length > self.reshaping.min_length
    }

    fn try_merge(&self, entries: u64) -> bool {
        let mut merged = false;
        if self.has_too_many_buckets(entries) {
            // Another thread may have merged before it is our turn.
            self.reshape(|| merged = self.has_too_many_buckets(entries) && self.merge().is_ok());
        }
        merged
    }

    /// Splits the next chain.
    pub(super) fn split(&self) -> Result<(), OutOfMemory> {
        let extent = Extent(self.extent.load_relaxed());
        let (new_index, depth) = (extent.length(), extent.depth());
        self.buckets.reserve(new_index)?;
        let old = self.buckets.get(parent_of(new_index));
        old.lock();
        let old = Chain { table: self, head: old };
        let new = self.buckets.get(new_index);
        let dead_from = self.reshaping.dead_from.load_relaxed();
        if u64::from(new_index) >= dead_from {
            // Stray writers may hold it for a moment.
            new.lock();
            self.reshaping.dead_from.store_relaxed(u64::from(new_index) + 1);
        }
        let new = Chain { table: self, head: new };
        let moving = |slot: NonNull<Slot>| self.slot(slot).key().0 >> depth & 1 == 1;
        for place in old.places() {
            let cell = place.cell();
            if cell.slot().is_some_and(moving) {
                let Ok(vacant) = new.vacant() else {
                    new.abandon();
                    // As after a merge (R3).
                    std::mem::forget(new);
                    return Err(OutOfMemory);
                };
                vacant.bucket.set_cell(vacant.position, cell);
            }
        }
        // After it is filled: a lookup may come here that read the length before the bucket's last chain ended.
        new.head.begin_chain(depth + 1, self.reshaping.version_floor.load_relaxed());
        // Release: with the length, the filled bucket (T4).
        self.extent.store_release(Extent::new(new_index + 1).0);
        old.head.set_control(old.head.control_locked().with_depth(depth + 1));
        for place in old.places() {
            if place.cell().slot().is_some_and(moving) {
                place.bucket.set_cell(place.position, Cell::EMPTY);
            }
        }
        old.compact();
        Ok(())
    }

    /// Merges the last chain into the one that it was split from.
    pub(super) fn merge(&self) -> Result<(), OutOfMemory> {
        let index = Extent(self.extent.load_relaxed()).length() - 1;
        let shorter = Extent::new(index);
        let (kept, ended) = (self.buckets.get(parent_of(index)), self.buckets.get(index));
        // In this order, and only here two at a time.
        kept.lock();
        let kept = Chain { table: self, head: kept };
        ended.lock();
        let ended = Chain { table: self, head: ended };
        let moving = |slot: NonNull<Slot>| self.slot(slot).key().0 >> shorter.depth() & 1 == 1;
        for place in ended.places() {
            let cell = place.cell();
            if cell == Cell::EMPTY {
                continue;
            }
            let Ok(vacant) = kept.vacant() else {
                kept.places().filter(|p| p.cell().slot().is_some_and(moving)).for_each(|p| {
                    p.bucket.set_cell(p.position, Cell::EMPTY);
                });
                kept.compact();
                return Err(OutOfMemory);
            };
            vacant.bucket.set_cell(vacant.position, cell);
        }
        kept.head.set_control(kept.head.control_locked().with_depth(shorter.depth()));
        // Release: with the length, the merged chain (T4).
        self.extent.store_release(shorter.0);
        ended.head.end_chain();
        ended.abandon();
        // It stays locked (R3).
        std::mem::forget(ended);
        drop(kept);
        self.give_back_buckets(index);
        Ok(())
    }

    /// Gives a chunk of merged buckets back, one chunk behind the length, so that a length that goes up and down costs nothing.
    fn give_back_buckets(&self, length: u32) {
        let first = length + BUCKET_CHUNK;
        let dead_from = self.reshaping.dead_from.load_relaxed();
        // The last chunk that is not given back: if one could not be, those below stay as well (R3).
        if !length.is_multiple_of(BUCKET_CHUNK)
            || (dead_from - 1) / u64::from(BUCKET_CHUNK) != u64::from(first / BUCKET_CHUNK)
        {
            return;
        }
        let seen = (first..first + BUCKET_CHUNK).map(|index| self.buckets.get(index).control_locked().version());
        let floor = seen.max().unwrap_or(0).max(self.reshaping.version_floor.load_relaxed()) + 1;
        if floor < MAX_VERSION && self.buckets.give_back(first, BUCKET_CHUNK) {
            self.reshaping.version_floor.store_relaxed(floor);
            self.reshaping.dead_from.store_relaxed(u64::from(first));
        }
    }

    /// Slots that so many entries should have.
    fn slots_for(entries: u64) -> u64 {
        (entries + entries / 8 + u64::from(CHUNK / 2)).next_multiple_of(u64::from(CHUNK))
    }

    fn has_too_many_slots(&self, entries: u64) -> bool {
        // So that with the slack of `slots_for` and the index it stays below twice what a fresh table would have.
        u64::from(self.slots.len()) * 3 > Self::slots_for(entries) * 4
    }

    /// A step of emptying slots.
    fn drain(&self, entries: u64) {
        if self.slots.can_shorten() {
            self.slots.shorten();
        }
        if !self.slots.is_draining() {
            if !self.has_too_many_slots(entries) || !self.slots.may_drain() {
                return;
            }
            let Ok(limit) = u32::try_from(Self::slots_for(entries)) else { return };
            if self.slots.begin_drain(limit).is_err() {
                return;
            }
        }
        self.while_nobody_walks(|| self.slots.drain_step(|slot| self.vacate(slot)));
    }

    /// Runs `step` unless a walk is under way, and keeps walks waiting meanwhile (R2).
    pub(super) fn while_nobody_walks(&self, step: impl FnOnce()) {
        // Relaxed: a walk changes nothing.
        if self.reshaping.movement.cas_relaxed(0, MOVING) {
            step();
            // Release pairs with `walk`.
            self.reshaping.movement.and_release(!MOVING);
        }
    }

    /// Empties a slot, if it can be.
    fn vacate(&self, slot: &Slot) -> Vacated {
        let word = slot.state.peek();
        if slot.state.collect(word) {
            self.counters.reclaimable.sub_relaxed(1);
            return Vacated::Yes;
        }
        if !word.is_visible() || word.references() > 0 {
            return Vacated::No;
        }
        match self.slots.take().or_else(|| self.collect_slot()) {
            Some(target) if self.slots.is_near(target) && self.relocate(slot, word, target) => Vacated::Yes,
            Some(target) => {
                self.slots.give(target);
                Vacated::No
            }
            None => Vacated::Full,
        }
    }

    /// Moves an unreferenced entry to a slot that the caller owns; fails if its state is not `seen` or its chain is locked. The
    /// caller owns the slot that is left over.
    pub(super) fn relocate(&self, slot: &Slot, seen: Word, index: u32) -> bool {
        let target = self.slots.get(index);
        let moved = (|| {
            // The key may belong to another entry by now; then the cell is not found in its chain.
            let chain = self.try_lock_chain(slot.key().0)?;
            let place = chain.find_slot(slot)?;
            target.copy_from(slot);
            target.state.expect(seen);
            if !slot.state.forward(seen, index) {
                return None;
            }
            target.state.admit();
            place.bucket.set_cell(place.position, Cell::new(Tag::of(target.key().0), target));
            chain.head.set_control(chain.head.control_locked().moved());
            Some(())
        })();
        if moved.is_none() {
            target.state.reset();
        }
        moved.is_some()
    }
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use super::*;

    #[test]
    fn a_bucket_is_merged_into_the_one_it_was_split_from() {
        for length in 16..5000 {
            let (shorter, longer) = (Extent::new(length), Extent::new(length + 1));
            assert_eq!(parent_of(length), length - (1 << shorter.depth()));
            for hash in 0..500 {
                if longer.home(hash) == length {
                    assert_eq!(shorter.home(hash), parent_of(length));
                }
            }
        }
    }
}
