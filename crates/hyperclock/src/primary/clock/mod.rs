//! The clock primary: a lock-free-to-read table with clock eviction, in the tradition of RocksDB's HyperClockCache.
//!
//! [`docs/clock.md`](https://github.com/hyperclock/hyperclock/blob/main/docs/clock.md) is the essay; the modules, from the
//! inside out: `state` (one slot's state word), `slot`, `arena` (memory of slots and buckets), `bucket` (cells and chain
//! locks), `table` (one shard's index), `pool` (its slots), `reshape` (growth and shrinking), `policy` and `sweep` (eviction),
//! `shared` (shards and charges), `pin`, `closing` (the end of a cache's life), and this one, which is the boundary to the cache.

mod arena;
mod bucket;
mod closing;
mod memory;
mod pin;
mod policy;
mod pool;
mod reshape;
mod shared;
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

use super::sealed::Engine;
use super::{Attributes, Census, EntryInfo, Found, Insertion, Observer, Primary, Settings};
use crate::CacheKey;
use crate::key::KeyMixer;
use crate::kind::ErasedValue;
use crate::primitive::{Atomic64, AtomicPtr};
use closing::Closing;
use pin::ClockPin;
use shared::{Charge, Core, Life, meta};
use slot::Slot;
use state::{Acquired, Word};
use std::ptr::NonNull;
use sweep::Spare;
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
        Closing::new(self.core).run();
    }
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use super::*;
    use crate::budget::Budget;
    use crate::kind::Kind;
    use crate::primitive::Arc;

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
