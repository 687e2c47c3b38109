//! One shard of the clock table: a linear-hashing index of buckets over an arena of slots.
//!
//! The index grows by splitting one chain at a time and shrinks by merging two (see `reshape`), so no operation ever moves more
//! than a few chains; an entry stays in its slot while it is referenced. With `len` buckets, 2^s the largest power of two in `len` and `h`
//! the hash, an entry belongs to bucket `h mod 2^(s+1)` if that bucket exists, else to `h mod 2^s` (Litwin's linear
//! hashing).
//!
//! T1. A visible entry is in exactly one cell of the chain that its hash belongs to (two during a move, see `bucket`).
//! T2. A slot is in at most one of: a chain, a list of the pool, the hands of one owner, the states *reclaimable* and *parked*.
//! T3. A lookup misses only if the entry was in no chain at some instant of the lookup: it reads the control word before
//!     and after, and looks again if the chain was rearranged in between. It never waits: what makes it look again is a
//!     completed step of another thread on this one chain.
//! T4. The length grows before the depth of the chain that was split, so that who sees the depth sees the new bucket; when it
//!     shrinks, the merged chain has all entries and its lower depth before, and the other says that it is no chain after.
//!
//! Cost: a hit reads one bucket line, one slot, and does one atomic add. An insert locks one chain (one atomic or, one
//! atomic and), and splits at most two chains.

use super::arena::{Arena, OutOfMemory};
use super::bucket::{Bucket, CELLS, Cell, Control, INITIAL_DEPTH, Spins, Tag};
use super::pool::Pool;
use super::reshape::{Reshaping, index_for};
use super::slot::Slot;
use super::state::{Acquired, Word};
use crate::key::HashedKey;
use crate::primitive::Atomic64;
use std::ptr::NonNull;

/// Entries that an index is made for in advance, at most: about 60 MiB.
const MAX_EXPECTED: u64 = 1 << 22;
/// See the module documentation.
#[derive(Debug)]
pub(crate) struct Table {
    /// [`Extent`].
    pub(super) extent: Atomic64,
    pub(super) buckets: Arena<Bucket>,
    pub(super) overflow: Arena<Bucket>,
    pub(super) slots: Pool,
    pub(super) counters: Counters,
    pub(super) reshaping: Reshaping,
}

/// Words that inserts, evictions and erases write.
#[derive(Debug)]
#[repr(align(64))]
pub(super) struct Counters {
    /// Linked entries.
    entries: Atomic64,
    /// Slots that the clock hand has passed.
    pub(super) hand: Atomic64,
    /// Slots left behind by last holders of erased entries.
    pub(super) reclaimable: Atomic64,
    /// Hits in the first bucket of a chain.
    #[cfg(all(test, not(any(loom, shuttle))))]
    pub(super) fast_hits: Atomic64,
}

/// What a lookup found.
#[derive(Debug)]
pub(crate) enum Lookup<'t> {
    /// The entry, with a reference for the caller.
    Hit(&'t Slot),
    /// No entry has the key.
    Miss,
    /// The entry exists, but has too many references.
    Saturated,
}

/// What a link attempt did.
#[derive(Debug)]
pub(crate) enum Linked<'t> {
    /// The slot is linked and published.
    New,
    /// The key was there already; the caller has a reference to that entry and keeps its own slot.
    Resident(&'t Slot),
    /// The key was there already, with too many references; the caller keeps its own slot.
    Saturated,
    /// No memory for another overflow bucket; the caller keeps its own slot.
    OutOfMemory,
}

/// Why a key cannot be linked.
enum Occupied<'t> {
    /// It is there already.
    By(&'t Slot),
    /// The chain is full and cannot become longer.
    NoMemory,
}

/// A locked chain; unlocked when dropped.
pub(super) struct Chain<'t> {
    pub(super) table: &'t Table,
    pub(super) head: &'t Bucket,
}

impl Drop for Chain<'_> {
    fn drop(&mut self) {
        self.head.unlock();
    }
}

/// A cell of a locked chain: its bucket and position.
#[derive(Clone, Copy)]
pub(super) struct Place<'t> {
    pub(super) bucket: &'t Bucket,
    pub(super) position: usize,
}

/// The bucket of `hash` among those whose entries share `depth` bits.
#[inline]
const fn home_at(hash: u64, depth: u32) -> u32 {
    (hash & ((1 << depth) - 1)) as u32
}

/// A count of entries: it is below zero while an insert that was overtaken by the erase of its entry has not counted yet.
const fn not_negative(count: u64) -> u64 {
    if count.cast_signed() < 0 { 0 } else { count }
}

/// The number of buckets, below a mask of the bits that place an entry in a chain that was split in this round.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Extent(pub(super) u64);

impl Extent {
    /// The largest number of buckets.
    pub(super) const MAX: u32 = 1 << 30;

    pub(super) const fn new(length: u32) -> Self {
        let mask = (2 << length.ilog2()) - 1;
        Self(mask << u32::BITS | length as u64)
    }

    pub(super) const fn length(self) -> u32 {
        self.0 as u32
    }

    /// Bits of the hash that place an entry in a chain that was not split in this round.
    pub(super) const fn depth(self) -> u32 {
        self.length().ilog2()
    }

    /// The bucket of `hash`.
    #[inline]
    pub(super) const fn home(self, hash: u64) -> u32 {
        let mask = self.0 >> u32::BITS;
        let split = (hash & mask) as u32;
        if split < self.length() { split } else { (hash & mask >> 1) as u32 }
    }
}

impl Table {
    /// An empty table whose index has room for so many entries, or for 4 million if that is less.
    pub(crate) fn new(entries: u64) -> Result<Self, OutOfMemory> {
        let length = index_for(entries.min(MAX_EXPECTED)).max(1 << INITIAL_DEPTH);
        let table = Self {
            extent: Atomic64::new(Extent::new(length).0),
            buckets: Arena::new(),
            overflow: Arena::new(),
            slots: Pool::new(),
            counters: Counters {
                entries: Atomic64::new(0),
                hand: Atomic64::new(0),
                reclaimable: Atomic64::new(0),
                #[cfg(all(test, not(any(loom, shuttle))))]
                fast_hits: Atomic64::new(0),
            },
            reshaping: Reshaping::new(length),
        };
        table.buckets.reserve_all(length)?;
        let depth = table.extent().depth();
        for index in 0..length {
            let is_split = index < length - (1 << depth) || index >= 1 << depth;
            table.buckets.get(index).set_depth(depth + u32::from(is_split));
        }
        Ok(table)
    }

    /// Linked entries.
    pub(crate) fn entries(&self) -> u64 {
        not_negative(self.counters.entries.load_relaxed())
    }

    /// Bytes of buckets and slots that were used and not given back. What was reserved but never touched takes no memory.
    pub(crate) fn bytes(&self) -> usize {
        let buckets = self.used_buckets() + self.overflow.len() as usize;
        size_of::<Self>() + buckets * size_of::<Bucket>() + self.slots.bytes()
    }

    #[inline]
    fn extent(&self) -> Extent {
        // Acquire pairs with the store in `split`: the new bucket is filled.
        Extent(self.extent.load_acquire())
    }

    /// The slot that a cell names.
    #[inline]
    #[expect(clippy::unused_self, reason = "it bounds the lifetime")]
    pub(super) fn slot(&self, cell: NonNull<Slot>) -> &Slot {
        // SAFETY: B4; the table lives as long as the reference.
        unsafe { cell.as_ref() }
    }

    /// The size of the index, for `validate`.
    pub(super) fn extent_now(&self) -> Extent {
        self.extent()
    }

    /// The buckets of a chain, for `validate`.
    pub(super) fn chain_at(&self, index: u32) -> Vec<&Bucket> {
        // Not locked: nobody else is there, and it is not unlocked either.
        std::mem::ManuallyDrop::new(Chain { table: self, head: self.buckets.get(index) }).buckets().collect()
    }

    /// Overflow buckets in the free list, for `validate`.
    pub(super) fn overflow_free(&self) -> usize {
        self.overflow.free_indices().len()
    }

    /// Overflow buckets ever used, for `validate`.
    pub(super) fn overflow_len(&self) -> usize {
        self.overflow.len() as usize
    }

    /// Finds the entry and takes a reference. `gone` is called with each slot that became the caller's to free on the
    /// way (S2).
    #[inline]
    pub(crate) fn lookup(&self, key: HashedKey, mut gone: impl FnMut(&Slot)) -> Lookup<'_> {
        let index = self.extent().home(key.0);
        let head = self.buckets.get(index);
        let control = head.control();
        if let Some(found) = self.scan(head, key, &mut gone) {
            #[cfg(all(test, not(any(loom, shuttle))))]
            self.counters.fast_hits.add_relaxed(1);
            return found;
        }
        // Most chains are one bucket, and nothing moved.
        if control.overflow().is_none() && Self::is_conclusive(key, index, control, head) {
            return Lookup::Miss;
        }
        self.lookup_chain(key, &mut gone)
    }

    /// The whole of a lookup, chain and all.
    #[cold]
    fn lookup_chain(&self, key: HashedKey, gone: &mut impl FnMut(&Slot)) -> Lookup<'_> {
        loop {
            let index = self.extent().home(key.0);
            let head = self.buckets.get(index);
            let control = head.control();
            let mut bucket = head;
            let mut next = control.overflow();
            // No chain is longer than there are overflow buckets: a reader that counts so many strayed into a chain that
            // reused a bucket under its eyes.
            for _ in 0..=self.overflow.len() {
                if let Some(found) = self.scan(bucket, key, gone) {
                    return found;
                }
                let Some(overflow) = next else { break };
                bucket = self.overflow.get(overflow);
                next = bucket.control().overflow();
            }
            if Self::is_conclusive(key, index, control, head) {
                return Lookup::Miss;
            }
        }
    }

    /// Whether a chain that was read after `control` and did not have the key says that there is no entry (T3, B2). A
    /// depth beyond what the length said means that the entry may be in a bucket that we did not know.
    #[inline]
    fn is_conclusive(key: HashedKey, index: u32, control: Control, head: &Bucket) -> bool {
        let after = head.control();
        control.same_chain(after) && home_at(key.0, after.depth()) == index
    }

    /// Looks for the key in one bucket.
    #[inline]
    fn scan(&self, bucket: &Bucket, key: HashedKey, gone: &mut impl FnMut(&Slot)) -> Option<Lookup<'_>> {
        let mut tagged = bucket.tagged(Tag::of(key.0));
        while tagged != 0 {
            let position = tagged.trailing_zeros() as usize;
            tagged &= tagged - 1;
            // It may be another cell by now, and then another entry.
            let Some(slot) = bucket.cell(position).slot() else { continue };
            let mut slot = self.slot(slot);
            let mut acquired = slot.state.acquire();
            while let Acquired::Moved(target) = acquired {
                slot = self.slots.get(target);
                slot.state.admit();
                acquired = slot.state.acquire();
            }
            match acquired {
                Acquired::Reference if slot.key() == key => return Some(Lookup::Hit(slot)),
                // Another entry by now, or one with the same tag.
                Acquired::Reference => {
                    if slot.state.undo_acquire() {
                        gone(slot);
                    }
                }
                Acquired::Gone { ours } => {
                    if ours {
                        gone(slot);
                    }
                }
                // Without a reference the key may change under our eyes; if it does, this is a miss that was one.
                Acquired::Saturated if slot.key() == key => return Some(Lookup::Saturated),
                Acquired::Saturated | Acquired::Moved(_) => {}
            }
        }
        None
    }

    /// Locks the chain of `hash`.
    pub(super) fn lock_chain(&self, hash: u64) -> Chain<'_> {
        let mut spins = Spins::default();
        loop {
            // Read again each time: the bucket of a chain that was merged stays locked.
            let index = self.extent().home(hash);
            let head = self.buckets.get(index);
            if let Some(control) = head.try_lock() {
                let chain = Chain { table: self, head };
                // The chain may have been split after we read the length.
                if home_at(hash, control.depth()) == index {
                    return chain;
                }
            }
            spins.wait();
        }
    }

    /// Locks the chain of `hash` unless another thread has it.
    pub(super) fn try_lock_chain(&self, hash: u64) -> Option<Chain<'_>> {
        let index = self.extent().home(hash);
        let head = self.buckets.get(index);
        let control = head.try_lock()?;
        let chain = Chain { table: self, head };
        (home_at(hash, control.depth()) == index).then_some(chain)
    }

    /// Links a slot that the caller owns and filled with `key`, and publishes it as `word`; unless the key is resident.
    pub(crate) fn link(&self, key: HashedKey, slot: u32, word: Word) -> Linked<'_> {
        {
            let slot = self.slots.get(slot);
            let chain = self.lock_chain(key.0);
            let place = match chain.find_or_vacant(key) {
                Ok(place) => place,
                Err(Occupied::By(resident)) => {
                    return match resident.state.acquire() {
                        Acquired::Reference => Linked::Resident(resident),
                        Acquired::Gone { .. } | Acquired::Moved(_) | Acquired::Saturated => Linked::Saturated,
                    };
                }
                Err(Occupied::NoMemory) => return Linked::OutOfMemory,
            };
            slot.state.publish(word);
            place.bucket.set_cell(place.position, Cell::new(Tag::of(key.0), slot));
        }
        // An erase may count first; the number wraps around and back.
        self.grow(not_negative(self.counters.entries.add_relaxed(1).wrapping_add(1)));
        Linked::New
    }

    /// Has the chain of a hash fetched.
    #[inline]
    pub(super) fn prefetch_chain(&self, hash: u64) {
        self.buckets.get(self.extent().home(hash)).prefetch();
    }

    /// Unlinks the entry of `key`. The slot comes back if it is the caller's to free; otherwise its last holder will.
    pub(crate) fn erase(&self, key: HashedKey) -> Option<Erased<'_>> {
        let chain = self.lock_chain(key.0);
        let (place, slot) = chain.find(key)?;
        let ours = slot.state.unlink();
        chain.remove(place);
        drop(chain);
        self.count_out(1);
        self.shrink(1);
        Some(Erased { slot, ours })
    }

    /// Takes an unreferenced entry out, if its state is still `seen` and its chain is not locked. The caller owns the
    /// slot afterwards, and counts the entry out.
    pub(super) fn evict(&self, slot: &Slot, seen: Word) -> bool {
        // The key may belong to another entry by now; then the cell is not found in its chain.
        let Some(chain) = self.try_lock_chain(slot.key().0) else { return false };
        let Some(place) = chain.find_slot(slot) else { return false };
        if !slot.state.claim(seen) {
            return false;
        }
        chain.remove(place);
        true
    }

    /// Entries were evicted.
    pub(super) fn count_out(&self, entries: u64) {
        self.counters.entries.sub_relaxed(entries);
    }
}

/// An entry that `erase` unlinked.
#[derive(Debug)]
pub(crate) struct Erased<'t> {
    /// Its slot.
    pub(crate) slot: &'t Slot,
    /// The entry had no references: the caller frees it.
    pub(crate) ours: bool,
}

impl Place<'_> {
    pub(super) fn cell(self) -> Cell {
        self.bucket.cell_locked(self.position)
    }
}

impl<'t> Chain<'t> {
    /// The buckets of the chain, first to last.
    fn buckets(&self) -> impl Iterator<Item = &'t Bucket> + use<'t> {
        let table = self.table;
        std::iter::successors(Some(self.head), move |bucket| {
            bucket.control_locked().overflow().map(|next| table.overflow.get(next))
        })
    }

    pub(super) fn places(&self) -> impl Iterator<Item = Place<'t>> + use<'t> {
        self.buckets().flat_map(|bucket| (0..CELLS).map(move |position| Place { bucket, position }))
    }

    /// The bucket after `bucket`.
    fn next(&self, bucket: &Bucket) -> Option<&'t Bucket> {
        bucket.control_locked().overflow().map(|next| self.table.overflow.get(next))
    }

    fn find(&self, key: HashedKey) -> Option<(Place<'t>, &'t Slot)> {
        let mut bucket = self.head;
        loop {
            let mut tagged = bucket.tagged(Tag::of(key.0));
            while tagged != 0 {
                let position = tagged.trailing_zeros() as usize;
                tagged &= tagged - 1;
                if let Some(slot) = bucket.cell_locked(position).slot().map(|slot| self.table.slot(slot))
                    && slot.key() == key
                {
                    return Some((Place { bucket, position }, slot));
                }
            }
            bucket = self.next(bucket)?;
        }
    }

    pub(super) fn find_slot(&self, slot: &Slot) -> Option<Place<'t>> {
        let mut bucket = self.head;
        loop {
            let is_it = |&position: &usize| bucket.cell_locked(position).slot() == Some(NonNull::from(slot));
            if let Some(position) = (0..CELLS).find(is_it) {
                return Some(Place { bucket, position });
            }
            bucket = self.next(bucket)?;
        }
    }

    fn find_or_vacant(&self, key: HashedKey) -> Result<Place<'t>, Occupied<'t>> {
        match self.find(key) {
            Some((_, slot)) => Err(Occupied::By(slot)),
            None => self.vacant().map_err(|OutOfMemory| Occupied::NoMemory),
        }
    }

    /// An empty cell, in a new overflow bucket if there is none.
    pub(super) fn vacant(&self) -> Result<Place<'t>, OutOfMemory> {
        let mut bucket = self.head;
        loop {
            if let Some(position) = (0..CELLS).find(|&position| bucket.cell_locked(position) == Cell::EMPTY) {
                return Ok(Place { bucket, position });
            }
            match self.next(bucket) {
                Some(next) => bucket = next,
                None => return self.lengthen(),
            }
        }
    }

    /// Adds an overflow bucket, and returns its first cell.
    #[cold]
    fn lengthen(&self) -> Result<Place<'t>, OutOfMemory> {
        let overflow = &self.table.overflow;
        let index = overflow.take().map_or_else(|| overflow.fresh(), Ok)?;
        let bucket = overflow.get(index);
        let control = self.head.control_locked();
        bucket.prepare_overflow(control.overflow());
        self.head.set_control(control.with_overflow(Some(index)));
        Ok(Place { bucket, position: 0 })
    }

    /// Clears the cell of an entry that was unlinked or claimed, or moves an entry of the first overflow bucket there.
    fn remove(&self, place: Place<'t>) {
        match self.next(self.head) {
            None => place.bucket.set_cell(place.position, Cell::EMPTY),
            Some(overflow) => self.replace(place, overflow),
        }
    }

    #[cold]
    fn replace(&self, place: Place<'t>, overflow: &'t Bucket) {
        let full = |&position: &usize| overflow.cell_locked(position) != Cell::EMPTY;
        let last = match (0..CELLS).rev().find(full) {
            Some(last) if !std::ptr::eq(overflow, place.bucket) => {
                // In the order of B2.
                place.bucket.set_cell(place.position, overflow.cell_locked(last));
                self.head.set_control(self.head.control_locked().moved());
                last
            }
            _ => place.position,
        };
        overflow.set_cell(last, Cell::EMPTY);
        if (0..CELLS).any(|position| full(&position)) {
            return;
        }
        self.drop_first_overflow();
    }

    /// Takes the first overflow bucket, which is empty, out of the chain.
    fn drop_first_overflow(&self) {
        let control = self.head.control_locked();
        if let Some(index) = control.overflow() {
            let next = self.table.overflow.get(index).control_locked().overflow();
            self.head.set_control(control.with_overflow(next));
            self.table.overflow.give(index);
        }
    }

    /// Moves entries from the first overflow bucket into holes of the others, and gives it back when it is empty.
    pub(super) fn compact(&self) {
        if self.head.control_locked().overflow().is_some() {
            self.compact_overflow();
        }
    }

    #[cold]
    fn compact_overflow(&self) {
        while let Some(index) = self.head.control_locked().overflow() {
            let bucket = self.table.overflow.get(index);
            let holes = self.places().filter(|p| !std::ptr::eq(p.bucket, bucket) && p.cell() == Cell::EMPTY);
            let full = (0..CELLS).filter(|&position| bucket.cell_locked(position) != Cell::EMPTY);
            let moves: ([Option<(usize, Place<'t>)>; CELLS], usize) = {
                let left = full.clone().count();
                let mut pairs = full.zip(holes);
                let moves = std::array::from_fn(|_| pairs.next());
                let count = moves.iter().flatten().count();
                (moves, left - count)
            };
            let (moves, left) = moves;
            for (position, hole) in moves.iter().flatten() {
                hole.bucket.set_cell(hole.position, bucket.cell_locked(*position));
            }
            if moves.iter().any(Option::is_some) {
                self.head.set_control(self.head.control_locked().moved());
            }
            for (position, _) in moves.iter().flatten() {
                bucket.set_cell(*position, Cell::EMPTY);
            }
            if left > 0 {
                return;
            }
            self.drop_first_overflow();
        }
    }

    /// Empties a chain that nobody else can reach, and gives its overflow buckets back.
    pub(super) fn abandon(&self) {
        for place in self.places() {
            place.bucket.set_cell(place.position, Cell::EMPTY);
        }
        self.compact();
    }
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use super::*;

    #[test]
    fn home_doubles_evenly() {
        for length in 16..200 {
            for hash in 0..1000 {
                let now = Extent::new(length).home(hash);
                assert!(now < length);
                let next = Extent::new(length + 1).home(hash);
                assert!(next == now || next == length, "only entries of the split chain move");
            }
        }
    }
}
