//! What a cache and its pins share: shards, charges, and the freeing of entries.
//!
//! C1. A pin owns one reference of its slot. While it does, the slot's memory is valid: the core is alive, or it is
//!     closed and counts this slot as outstanding.
//! C2. `outstanding` counts, once the cache is dropped, the slots that are still referenced or still owned by a last
//!     holder. Whoever brings it to zero frees the core: the closing thread by its addition, or a holder by its
//!     subtraction. Holders may subtract before the closing thread adds; the word is read as a signed number.
//! C3. A charge is given back by a guard until the entry takes it over, so a destructor that panics during an eviction
//!     leaves the account straight.

use super::pin::ClockPin;
use super::slot::{Meta, Slot};
use super::standalone::Standalone;
use super::sweep::{Goal, Spare};
use super::table::{Lookup, Table};
use crate::CacheKey;
use crate::budget::Budget;
use crate::key::{HashedKey, KeyMixer};
use crate::kind::ErasedValue;
use crate::primary::{Attributes, Insertion, Observer};
use crate::primitive::{Arc, Atomic64, AtomicPtr};
use std::ptr::NonNull;

/// Everything that pins may outlive the cache with.
#[derive(Debug)]
pub(super) struct Core {
    pub(super) shards: Box<[AtomicPtr<Table>]>,
    pub(super) shard_bits: u32,
    pub(super) mixer: KeyMixer,
    pub(super) metadata_charge: u64,
    pub(super) effort_cap: u64,
    /// Of each shard.
    pub(super) expected_entries: u64,
    pub(super) budget: Arc<Budget>,
    pub(super) outstanding: Atomic64,
    pub(super) life: Life,
}

/// Passes without a result that a strict cache makes before it refuses, while other threads use or change what could be
/// evicted.
const STRICT_PASSES: u32 = 8;

/// Bytes that were added to the usage for an entry; taken off again if it comes to nothing, also by a panic.
pub(super) struct Charge<'a> {
    budget: &'a Budget,
    cost: u64,
}

impl Charge<'_> {
    /// The entry took the charge over.
    pub(super) fn keep(self) -> u64 {
        std::mem::ManuallyDrop::new(self).cost
    }
}

impl Drop for Charge<'_> {
    fn drop(&mut self) {
        self.budget.refund(self.cost);
    }
}

/// Bytes of evicted entries that were not taken off the usage yet.
pub(super) struct Freed<'a> {
    budget: &'a Budget,
    bytes: u64,
}

impl<'a> Freed<'a> {
    /// Bytes that are taken off at once, so that others see the room of a large eviction.
    const LARGE: u64 = 1 << 20;

    pub(super) fn new(budget: &'a Budget) -> Self {
        Self { budget, bytes: 0 }
    }

    fn add(&mut self, bytes: u64) {
        self.bytes = self.bytes.saturating_add(bytes);
        if self.bytes >= Self::LARGE {
            self.settle();
        }
    }

    /// Hands them to the caller, to be taken off.
    fn take(&mut self) -> u64 {
        std::mem::take(&mut self.bytes)
    }

    fn settle(&mut self) {
        let bytes = self.take();
        if bytes > 0 {
            self.budget.refund(bytes);
        }
    }
}

impl Drop for Freed<'_> {
    fn drop(&mut self) {
        self.settle();
    }
}

/// Lets the model checker see that nobody uses the core after it is freed; nothing in other builds.
#[derive(Debug, Default)]
pub(super) struct Life(#[cfg(loom)] loom::cell::UnsafeCell<()>);

#[cfg_attr(not(loom), expect(clippy::unused_self, reason = "only the model checker looks"))]
impl Life {
    pub(super) fn used(&self) {
        #[cfg(loom)]
        self.0.with(|_| ());
    }

    pub(super) fn ended(&self) {
        #[cfg(loom)]
        self.0.with_mut(|_| ());
    }
}

impl Drop for Core {
    fn drop(&mut self) {
        self.life.ended();
        for shard in &self.shards {
            // Relaxed: C2 orders everything before.
            if let Some(table) = NonNull::new(shard.load_relaxed()) {
                // SAFETY: the pointer came from a box in `table_or_create`, and nobody else can reach it any more.
                drop(unsafe { Box::from_raw(table.as_ptr()) });
            }
        }
    }
}

impl Core {
    #[inline]
    pub(super) fn shard_of(&self, key: HashedKey) -> usize {
        // Two shifts, because one by 64 bits is none at all.
        (key.0 >> 1 >> (u64::BITS - 1 - self.shard_bits)) as usize
    }

    #[inline]
    pub(super) fn table(&self, shard: usize) -> Option<&Table> {
        // Acquire pairs with `table_or_create`.
        let table = NonNull::new(self.shards[shard].load_acquire())?;
        // SAFETY: set once, to a leaked box that lives until the core is dropped.
        Some(unsafe { table.as_ref() })
    }

    pub(super) fn table_or_create(&self, shard: usize) -> Option<&Table> {
        if let Some(table) = self.table(shard) {
            return Some(table);
        }
        let table = Box::into_raw(Box::new(Table::new(self.expected_entries).ok()?));
        if self.shards[shard].set_once(table).is_err() {
            // SAFETY: the box was made above, and nobody else has seen it.
            drop(unsafe { Box::from_raw(table) });
        }
        self.table(shard)
    }

    /// Finds an entry and takes a reference.
    pub(super) fn find(&self, key: CacheKey) -> Lookup<'_> {
        let key = self.mixer.hash(key);
        match self.table(self.shard_of(key)) {
            Some(table) => table.lookup(key, |slot| self.gone(table, slot)),
            None => Lookup::Miss,
        }
    }

    pub(super) fn tables(&self) -> impl Iterator<Item = &Table> {
        (0..self.shards.len()).filter_map(|shard| self.table(shard))
    }

    /// What an entry costs the budget. A charge beyond what an entry can record counts as that.
    pub(super) fn cost(&self, charge: usize) -> u64 {
        (charge.min(Meta::MAX_CHARGE) as u64).saturating_add(self.metadata_charge)
    }

    /// Makes room by evicting, first from the shard of the entry that needs it.
    pub(super) fn evict(
        &self,
        first: usize,
        goal: &mut Goal,
        spare: &mut Spare<'_>,
        freed: &mut Freed<'_>,
        observer: &impl Observer,
    ) {
        for shard in (first..self.shards.len()).chain(0..first) {
            let Some(table) = self.table(shard) else { continue };
            table.sweep(goal, spare, |evicted| {
                let cost = self.cost(evicted.meta.charge());
                freed.add(cost);
                observer.evicted(evicted.meta.role());
                drop(evicted.value);
                cost
            });
            if goal.is_met() || goal.is_hopeless() {
                return;
            }
        }
    }

    /// Charges `cost`, evicting as needed. `None` when the cache is strict and a whole pass found nothing to evict.
    ///
    /// What is larger than the cache evicts nothing: it could not be kept anyway.
    pub(super) fn charge(
        &self,
        cost: u64,
        first: usize,
        spare: &mut Spare<'_>,
        observer: &impl Observer,
    ) -> Option<Charge<'_>> {
        let possible = cost <= self.budget.capacity();
        let mut freed = Freed::new(&self.budget);
        if !self.budget.is_strict() {
            let mut missing = if possible { self.budget.missing(cost) } else { 0 };
            let mut goal = Goal::new(missing, self.effort_cap);
            if missing > 0 {
                self.evict(first, &mut goal, spare, &mut freed, observer);
            }
            missing = self.budget.exchange(cost, freed.take());
            let charge = Charge { budget: &self.budget, cost };
            if missing > 0 && possible && goal.is_met() {
                // Others charged at the same time.
                goal = Goal::new(missing, self.effort_cap);
                self.evict(first, &mut goal, spare, &mut freed, observer);
            }
            return Some(charge);
        }
        let mut passes = if possible { STRICT_PASSES } else { 0 };
        loop {
            let Err(missing) = self.budget.try_charge(cost) else {
                return Some(Charge { budget: &self.budget, cost });
            };
            passes = passes.checked_sub(1)?;
            let mut goal = Goal::new(missing, u64::MAX);
            self.evict(first, &mut goal, spare, &mut freed, observer);
            freed.settle();
            if goal.freed > 0 {
                passes = STRICT_PASSES;
            } else if goal.aged == 0 {
                // Nothing can be evicted. One last look at what others may have released meanwhile.
                passes = 0;
            }
        }
    }

    /// An insert of what cannot be found later.
    pub(super) fn insert_standalone(
        &self,
        value: ErasedValue,
        attributes: Attributes,
        first: usize,
        observer: &impl Observer,
    ) -> Insertion<ClockPin> {
        match self.charge(self.cost(attributes.charge), first, &mut Spare::unwanted(), observer) {
            Some(charge) => Insertion::Standalone(self.pin_standalone(value, meta(attributes), charge.keep())),
            None => Insertion::Refused(value),
        }
    }

    pub(super) fn pin_standalone(&self, value: ErasedValue, meta: Meta, charged: u64) -> ClockPin {
        ClockPin { slot: Standalone::create(value, meta, self.budget.clone(), charged), core: None }
    }

    /// Frees an unlinked entry without references, for its owner by S2, and leaves the slot reclaimable. With `closed`,
    /// or if the cache is dropped meanwhile, gives up the slot's share in the core.
    ///
    /// # Safety
    /// `core` and `slot` are valid, and the caller owns the slot of an entry that was published.
    pub(super) unsafe fn free_owned(core: NonNull<Self>, slot: NonNull<Slot>, closed: bool) {
        let (value, closed) = {
            // SAFETY: valid until `leave_reclaimable`, or until `depart` if closed (C1).
            let (this, slot) = unsafe { (core.as_ref(), slot.as_ref()) };
            let charge = slot.meta().charge();
            let shard = this.shard_of(slot.key());
            // SAFETY: the caller owns the slot, and this is the one place that frees it.
            let value = unsafe { slot.take_value() };
            this.budget.refund(this.cost(charge));
            let closed = closed || {
                if let Some(table) = this.table(shard) {
                    table.counters.reclaimable.add_relaxed(1);
                }
                slot.state.leave_reclaimable()
            };
            (value, closed)
        };
        if closed {
            // SAFETY: this slot was counted by `close`, and is not used any more.
            unsafe { Self::depart(core) };
        }
        // Last, because it is the user's code (W1).
        drop(value);
    }

    /// Gives up one outstanding slot; the last one frees the core.
    ///
    /// # Safety
    /// `close` counted, or will count, a slot that is not used any more by the caller.
    pub(super) unsafe fn depart(core: NonNull<Self>) {
        // SAFETY: valid by C2: our slot is still counted.
        let this = unsafe { core.as_ref() };
        this.life.used();
        // Release: our use of the core happens before its end. Acquire: so does everybody else's.
        let before = this.outstanding.add_acq_rel(u64::MAX);
        if before == 1 {
            // SAFETY: C2: the count reached zero after the closing thread added its part, so nobody is left.
            drop(unsafe { Box::from_raw(core.as_ptr()) });
        }
    }

    /// Frees a slot of `table` that became the caller's to free during a lookup, a walk or an erase (S2).
    #[cold]
    pub(super) fn gone(&self, table: &Table, slot: &Slot) {
        // The core is alive during a call of the cache, so the slot can go to the free list.
        slot.state.own();
        let charge = slot.meta().charge();
        // SAFETY: the caller owns the slot of an entry that was published (S2).
        let value = unsafe { slot.take_value() };
        self.budget.refund(self.cost(charge));
        slot.state.reset();
        table.slots.give_slot(slot);
        // Last, because it is the user's code (W1).
        drop(value);
    }
}

/// What a slot records of an entry.
pub(super) fn meta(attributes: Attributes) -> Meta {
    Meta::new(attributes.role, attributes.priority, attributes.kind, attributes.charge)
}
