//! The clock primary: a lock-free-to-read table with clock eviction, in the tradition of RocksDB's HyperClockCache.
//!
//! [`docs/clock.md`](https://github.com/hyperclock/hyperclock/blob/main/docs/clock.md) is the essay; the modules, from the
//! inside out: `state` (one slot's state word), `slot`, `arena` (memory of slots and buckets), `bucket` (cells and chain
//! locks), `table` (one shard's index), `policy` and `sweep` (eviction), and this one, which adds shards, charges, pins
//! and the end of a cache's life.
//!
//! C1. A pin owns one reference of its slot. While it does, the slot's memory is valid: the core is alive, or it is
//!     closed and counts this slot as outstanding.
//! C2. `outstanding` counts, once the cache is dropped, the slots that are still referenced or still owned by a last
//!     holder. Whoever brings it to zero frees the core: the closing thread by its addition, or a holder by its
//!     subtraction. Holders may subtract before the closing thread adds; the word is read as a signed number.

mod arena;
mod bucket;
mod memory;
mod policy;
mod pool;
mod reshape;
mod slot;
mod standalone;
mod state;
mod sweep;
mod table;
mod validate;

#[cfg(all(test, loom))]
mod loom_tests;
#[cfg(all(test, shuttle))]
mod shuttle_tests;

use super::sealed::{Engine, Pin};
use super::{Attributes, Census, EntryInfo, Found, Insertion, Observer, Primary, Settings};
use crate::CacheKey;
use crate::budget::Budget;
use crate::key::{HashedKey, KeyMixer};
use crate::kind::{ErasedValue, Kind};
use crate::primitive::{Arc, Atomic64, AtomicPtr};
use slot::{Meta, Slot};
use standalone::Standalone;
use state::{Acquired, Released, Word};
use std::ptr::NonNull;
use sweep::{Goal, Spare};
use table::{Linked, Lookup, Table};

/// The clock table as the primary of a cache: hits and releases are one atomic add each, on the entry's own line.
#[derive(Debug)]
pub struct Clock {
    core: NonNull<Core>,
}

// SAFETY: the core is Sync, values are Send and Sync (`CacheValue`), and only the last owner frees it (C2).
unsafe impl Send for Clock {}
// SAFETY: as above.
unsafe impl Sync for Clock {}

impl Primary for Clock {}

/// Everything that pins may outlive the cache with.
#[derive(Debug)]
struct Core {
    shards: Box<[AtomicPtr<Table>]>,
    shard_bits: u32,
    mixer: KeyMixer,
    metadata_charge: u64,
    effort_cap: u64,
    /// Of each shard.
    expected_entries: u64,
    budget: Arc<Budget>,
    outstanding: Atomic64,
    life: Life,
}

/// Passes without a result that a strict cache makes before it refuses, while other threads use or change what could be
/// evicted.
const STRICT_PASSES: u32 = 8;

/// Bytes that were added to the usage for an entry; taken off again if it comes to nothing, also by a panic.
struct Charge<'a> {
    budget: &'a Budget,
    cost: u64,
}

impl Charge<'_> {
    /// The entry took the charge over.
    fn keep(self) -> u64 {
        std::mem::ManuallyDrop::new(self).cost
    }
}

impl Drop for Charge<'_> {
    fn drop(&mut self) {
        self.budget.refund(self.cost);
    }
}

/// Bytes of evicted entries that were not taken off the usage yet.
struct Freed<'a> {
    budget: &'a Budget,
    bytes: u64,
}

impl<'a> Freed<'a> {
    /// Bytes that are taken off at once, so that others see the room of a large eviction.
    const LARGE: u64 = 1 << 20;

    fn new(budget: &'a Budget) -> Self {
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
struct Life(#[cfg(loom)] loom::cell::UnsafeCell<()>);

#[cfg_attr(not(loom), expect(clippy::unused_self, reason = "only the model checker looks"))]
impl Life {
    fn used(&self) {
        #[cfg(loom)]
        self.0.with(|_| ());
    }

    fn ended(&self) {
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
    fn shard_of(&self, key: HashedKey) -> usize {
        // Two shifts, because one by 64 bits is none at all.
        (key.0 >> 1 >> (u64::BITS - 1 - self.shard_bits)) as usize
    }

    #[inline]
    fn table(&self, shard: usize) -> Option<&Table> {
        // Acquire pairs with `table_or_create`.
        let table = NonNull::new(self.shards[shard].load_acquire())?;
        // SAFETY: set once, to a leaked box that lives until the core is dropped.
        Some(unsafe { table.as_ref() })
    }

    fn table_or_create(&self, shard: usize) -> Option<&Table> {
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
    fn find(&self, key: CacheKey) -> Lookup<'_> {
        let key = self.mixer.hash(key);
        match self.table(self.shard_of(key)) {
            Some(table) => table.lookup(key, |slot| self.gone(table, slot)),
            None => Lookup::Miss,
        }
    }

    fn tables(&self) -> impl Iterator<Item = &Table> {
        (0..self.shards.len()).filter_map(|shard| self.table(shard))
    }

    /// What an entry costs the budget. A charge beyond what an entry can record counts as that.
    fn cost(&self, charge: usize) -> u64 {
        (charge.min(Meta::MAX_CHARGE) as u64).saturating_add(self.metadata_charge)
    }

    /// Makes room by evicting, first from the shard of the entry that needs it.
    fn evict(
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
    fn charge(&self, cost: u64, first: usize, spare: &mut Spare<'_>, observer: &impl Observer) -> Option<Charge<'_>> {
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
    fn insert_standalone(
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

    fn pin_standalone(&self, value: ErasedValue, meta: Meta, charged: u64) -> ClockPin {
        ClockPin { slot: Standalone::create(value, meta, self.budget.clone(), charged), core: None }
    }

    /// Frees an unlinked entry without references, for its owner by S2, and leaves the slot reclaimable. With `closed`,
    /// or if the cache is dropped meanwhile, gives up the slot's share in the core.
    ///
    /// # Safety
    /// `core` and `slot` are valid, and the caller owns the slot of an entry that was published.
    unsafe fn free_owned(core: NonNull<Self>, slot: NonNull<Slot>, closed: bool) {
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
    unsafe fn depart(core: NonNull<Self>) {
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
    fn gone(&self, table: &Table, slot: &Slot) {
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

/// A reference to an entry of a clock table, or to a standalone one.
#[derive(Debug)]
pub struct ClockPin {
    slot: NonNull<Slot>,
    /// `None` for a standalone entry.
    core: Option<NonNull<Core>>,
}

// SAFETY: a pin gives shared access to a value that is Send and Sync (`CacheValue`), and its counts are atomic.
unsafe impl Send for ClockPin {}
// SAFETY: as above.
unsafe impl Sync for ClockPin {}

impl ClockPin {
    #[inline]
    fn slot(&self) -> &Slot {
        // SAFETY: C1.
        unsafe { self.slot.as_ref() }
    }

    #[cold]
    fn free(&self, closed: bool) {
        // SAFETY: the release of this pin was the last, so the caller is the owner (S2, S4).
        unsafe {
            match self.core {
                Some(core) => Core::free_owned(core, self.slot, closed),
                None => Standalone::free(self.slot),
            }
        }
    }
}

impl Drop for ClockPin {
    #[inline]
    fn drop(&mut self) {
        if let Released::Last { closed } = self.slot().state.release() {
            self.free(closed);
        }
    }
}

// SAFETY: L2, L3: a referenced entry's value stays as published.
unsafe impl Pin for ClockPin {
    #[inline]
    fn value(&self) -> *const () {
        self.slot().value()
    }

    #[inline]
    fn kind(&self) -> Kind {
        self.slot().meta().kind()
    }

    fn charge(&self) -> usize {
        self.slot().meta().charge()
    }

    fn try_clone(&self) -> Option<Self> {
        // Lazily: a pin that is made is a reference that is dropped.
        self.slot().state.acquire_more().then(|| Self { slot: self.slot, core: self.core })
    }

    fn release_unused(self) {
        let this = std::mem::ManuallyDrop::new(self);
        if let Released::Last { closed } = this.slot().state.release_unused() {
            this.free(closed);
        }
    }
}

impl Clock {
    #[inline]
    fn core(&self) -> &Core {
        // SAFETY: the core lives at least as long as this owner.
        unsafe { self.core.as_ref() }
    }

    #[inline]
    fn pin(&self, slot: &Slot) -> ClockPin {
        ClockPin { slot: NonNull::from(slot), core: Some(self.core) }
    }
}

fn meta(attributes: Attributes) -> Meta {
    Meta::new(attributes.role, attributes.priority, attributes.kind, attributes.charge)
}

impl Engine for Clock {
    type Pin = ClockPin;

    fn create(settings: Settings) -> Self {
        let shards = (0..1_usize << settings.shard_bits).map(|_| AtomicPtr::null()).collect();
        let core = Core {
            shards,
            shard_bits: settings.shard_bits,
            mixer: KeyMixer::with_seed(settings.seed),
            metadata_charge: settings.metadata_charge,
            effort_cap: settings.effort_cap,
            expected_entries: settings.expected_entries >> settings.shard_bits,
            budget: settings.budget,
            outstanding: Atomic64::new(0),
            life: Life::default(),
        };
        Self { core: NonNull::from(Box::leak(Box::new(core))) }
    }

    #[inline]
    fn lookup(&self, key: CacheKey) -> Found<ClockPin> {
        match self.core().find(key) {
            Lookup::Hit(slot) => Found::Hit(self.pin(slot)),
            Lookup::Miss => Found::Miss,
            Lookup::Saturated => Found::Saturated,
        }
    }

    fn insert(
        &self,
        key: CacheKey,
        value: ErasedValue,
        attributes: Attributes,
        observer: &impl Observer,
    ) -> Insertion<ClockPin> {
        let core = self.core();
        let key = core.mixer.hash(key);
        let shard = core.shard_of(key);
        let cost = core.cost(attributes.charge);
        let meta = meta(attributes);
        let fits = core.budget.capacity() > 0 && cost <= core.budget.capacity();
        let Some(table) = core.table_or_create(shard) else {
            return core.insert_standalone(value, attributes, shard, observer);
        };
        // The resident entry wins, before anything is evicted for a value that will be dropped.
        let saturated = match table.lookup(key, |slot| core.gone(table, slot)) {
            Lookup::Hit(resident) => return Insertion::Resident(self.pin(resident), value),
            Lookup::Saturated => true,
            Lookup::Miss => false,
        };
        if saturated || !fits {
            return core.insert_standalone(value, attributes, shard, observer);
        }
        let mut spare = Spare::of(table);
        let Some(charge) = core.charge(cost, shard, &mut spare, observer) else { return Insertion::Refused(value) };
        let Some(index) = spare.take().or_else(|| table.take_slot()) else {
            return Insertion::Standalone(core.pin_standalone(value, meta, charge.keep()));
        };
        let slot = table.slots.get(index);
        slot.fill(key, value, meta);
        let uses = policy::initial_uses(attributes.priority);
        let linked = table.link(key, index, Word::visible_referenced(uses));
        if let Linked::New = linked {
            charge.keep();
            return Insertion::Inserted(self.pin(slot));
        }
        // SAFETY: the slot was filled above and not published, so this thread owns it and the value.
        let value = unsafe { slot.take_value() };
        table.slots.give(index);
        match linked {
            Linked::Resident(resident) => Insertion::Resident(self.pin(resident), value),
            Linked::New | Linked::Saturated | Linked::OutOfMemory => {
                Insertion::Standalone(core.pin_standalone(value, meta, charge.keep()))
            }
        }
    }

    fn standalone(&self, value: ErasedValue, attributes: Attributes, observer: &impl Observer) -> (ClockPin, bool) {
        let core = self.core();
        let charge = core.charge(core.cost(attributes.charge), 0, &mut Spare::unwanted(), observer);
        let charged = charge.is_some();
        (core.pin_standalone(value, meta(attributes), charge.map_or(0, Charge::keep)), charged)
    }

    fn erase(&self, key: CacheKey) -> bool {
        let core = self.core();
        let key = core.mixer.hash(key);
        let Some(table) = core.table(core.shard_of(key)) else { return false };
        let Some(erased) = table.erase(key) else { return false };
        if erased.ours {
            core.gone(table, erased.slot);
        }
        true
    }

    fn occupancy(&self) -> u64 {
        self.core().tables().map(Table::entries).sum()
    }

    fn table_bytes(&self) -> usize {
        let core = self.core();
        size_of::<Core>() + size_of_val(&*core.shards) + core.tables().map(Table::bytes).sum::<usize>()
    }

    fn for_each(&self, visit: &mut dyn FnMut(EntryInfo)) {
        let core = self.core();
        for table in core.tables() {
            let _walk = table.walk();
            for index in 0..table.slots.len() {
                let Some(slot) = table.slots.try_get(index) else { continue };
                if !slot.state.peek().is_visible() {
                    continue;
                }
                match slot.state.acquire() {
                    Acquired::Reference => {
                        let meta = slot.meta();
                        let entry = EntryInfo {
                            key: core.mixer.key(slot.key()),
                            role: meta.role(),
                            priority: meta.priority(),
                            charge: meta.charge(),
                            type_name: meta.kind().name(),
                            references: slot.state.peek().references().saturating_sub(1),
                        };
                        // Given back first, so that a panicking visitor leaves nothing behind.
                        if slot.state.undo_acquire() {
                            core.gone(table, slot);
                        }
                        visit(entry);
                    }
                    Acquired::Gone { ours: true } => core.gone(table, slot),
                    Acquired::Gone { ours: false } | Acquired::Moved(_) | Acquired::Saturated => {}
                }
            }
        }
    }

    fn census(&self) -> Census {
        let core = self.core();
        let mut census = Census::default();
        for table in core.tables() {
            let _walk = table.walk();
            for index in 0..table.slots.len() {
                let Some(slot) = table.slots.try_get(index) else { continue };
                let word = slot.state.peek();
                census.entries += u64::from(word.is_visible());
                if (word.is_visible() || word.is_erased()) && word.references() > 0 {
                    census.pinned += 1;
                    census.pinned_bytes += core.cost(slot.meta().charge());
                }
            }
        }
        census
    }

    fn validate(&self) -> Result<u64, String> {
        validate::validate(self.core())
    }
}

impl Drop for Clock {
    fn drop(&mut self) {
        Closing { core: self.core, shard: 0, index: 0, outstanding: 0 }.run();
    }
}

/// The end of a cache: marks every slot, drops what is unreferenced, and leaves the rest to its holders.
struct Closing {
    core: NonNull<Core>,
    shard: usize,
    index: u32,
    outstanding: u64,
}

impl Closing {
    fn run(self) {
        // All work is in `drop`, which goes on when a value's destructor panics.
        drop(self);
    }

    fn close_rest(&mut self) {
        // SAFETY: not freed before `outstanding` is settled (C2).
        let core = unsafe { self.core.as_ref() };
        while self.shard < core.shards.len() {
            let Some(table) = core.table(self.shard) else {
                self.shard += 1;
                continue;
            };
            while self.index < table.slots.len() {
                let slot = table.slots.try_get(self.index);
                self.index += 1;
                let Some(slot) = slot else { continue };
                let word = slot.state.close();
                if word.is_visible() && word.references() == 0 {
                    core.budget.refund(core.cost(slot.meta().charge()));
                    // SAFETY: an unreferenced entry of a cache that nobody can look into any more is ours.
                    drop(unsafe { slot.take_value() });
                } else if word.is_visible() || word.is_erased() {
                    self.outstanding += 1;
                }
            }
            self.index = 0;
            self.shard += 1;
        }
    }
}

impl Drop for Closing {
    fn drop(&mut self) {
        /// Goes on after a panic, and settles the count at last.
        struct Rest<'a>(&'a mut Closing);
        impl Drop for Rest<'_> {
            fn drop(&mut self) {
                self.0.close_rest();
                let count = self.0.outstanding;
                // SAFETY: valid until the count is settled by the next line (C2).
                let core = unsafe { self.0.core.as_ref() };
                core.life.used();
                // As in `depart`.
                if core.outstanding.add_acq_rel(count).wrapping_add(count) == 0 {
                    // SAFETY: C2: no slot is referenced.
                    drop(unsafe { Box::from_raw(self.0.core.as_ptr()) });
                }
            }
        }
        Rest(self).0.close_rest();
    }
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use super::*;

    struct Number;

    impl crate::CacheValue for Number {
        fn charge(&self) -> usize {
            1
        }
    }

    struct Silent;

    impl Observer for Silent {
        fn evicted(&self, _: crate::Role) {}
    }

    fn filled(entries: u64) -> Clock {
        let clock = Clock::create(Settings {
            budget: Arc::new(Budget::new(usize::MAX, false)),
            shard_bits: 0,
            seed: 1,
            metadata_charge: 0,
            effort_cap: 30,
            expected_entries: 0,
        });
        let kind = Kind::of::<Number>();
        let attributes = Attributes { role: crate::Role::MISC, priority: crate::Priority::Low, kind, charge: 1 };
        for n in 0..entries {
            drop(clock.insert(CacheKey::new(1, n), ErasedValue::new(Number, kind), attributes, &Silent));
        }
        clock
    }

    /// Hits that the first bucket of a chain answers, with so many entries in one table.
    fn share_of_fast_hits(entries: u64) -> f64 {
        let clock = filled(entries);
        let table = clock.core().table(0).unwrap();
        let before = table.counters.fast_hits.load_relaxed();
        for n in 0..entries {
            assert!(matches!(clock.lookup(CacheKey::new(1, n)), Found::Hit(_)));
        }
        (table.counters.fast_hits.load_relaxed() - before) as f64 / entries as f64
    }

    /// Through a whole round of splits, from one doubling of the index to the next.
    #[test]
    fn br_117_the_first_bucket_answers_nine_hits_in_ten() {
        let (round, mut worst) = (70_000_u64, 1.0_f64);
        for step in 0..8 {
            let share = share_of_fast_hits(round + round * step / 8);
            assert!(share > 0.9, "{share} of the hits of {} entries", round + round * step / 8);
            worst = worst.min(share);
        }
        println!("{worst:.3} in the worst case");
    }

    /// Chains that wait for their split are twice as full as those that had it: they must stay short all the same.
    #[test]
    fn br_035_chains_stay_short_in_every_phase_of_growth() {
        for step in 0..8 {
            let entries = 70_000 + 70_000 * step / 8;
            let clock = filled(entries);
            let table = clock.core().table(0).unwrap();
            let lengths = (0..table.extent_now().length()).map(|index| table.chain_at(index).len());
            let (chains, buckets, longest) =
                lengths.fold((0, 0, 0), |(n, sum, max), len| (n + 1, sum + len, max.max(len)));
            let mean = buckets as f64 / f64::from(chains);
            assert!(mean < 1.5 && longest <= 6, "{entries} entries: {mean} buckets a chain, {longest} at most");
        }
    }
}
