//! The clock hand: eviction in steps of a few slots, in slot order, by as many inserters as need room.
//!
//! Each step takes four slots by one atomic add on the hand, so sweepers never contend for a slot except after a lap.
//! Slots lie in memory in the order of the hand. A sweep ends when enough was freed, when it made
//! [`LAPS`] laps or one that changed nothing, or, if told so, when it saw too many pinned entries for what it freed (the effort
//! cap).
//!
//! W1. A value is dropped after its chain was unlocked and its slot given back, so a destructor may use the cache, and
//!     one that panics leaves it whole.

use super::policy::{MAX_USES, Verdict, judge};
use super::slot::Meta;
use super::table::Table;
use crate::kind::ErasedValue;

/// Slots of one step.
const STEP: u64 = 4;
/// Laps after which every unreferenced entry that nobody used meanwhile is gone: its uses, and the eviction.
const LAPS: u64 = MAX_USES + 1;
/// Slots that a search for reclaimable ones looks at.
const COLLECT_SLOTS: u64 = 64;

/// An entry that was evicted; its slot is free again.
#[derive(Debug)]
pub(crate) struct Evicted {
    pub(crate) meta: Meta,
    pub(crate) value: ErasedValue,
}

/// What a sweep has still to do, over all tables that it visits.
#[derive(Debug)]
pub(crate) struct Goal {
    /// Bytes still to free.
    pub(crate) wanted: u64,
    /// Bytes freed.
    pub(crate) freed: u64,
    /// Entries freed.
    pub(crate) evicted: u64,
    /// Slots seen that hold something that cannot be evicted.
    pub(crate) pinned: u64,
    /// Entries aged, or just changed by another thread: another pass may do more.
    pub(crate) aged: u64,
    /// Stop when this many pinned slots were seen for each entry freed, plus one.
    pub(crate) effort_cap: u64,
}

impl Goal {
    pub(crate) fn new(wanted: u64, effort_cap: u64) -> Self {
        Self { wanted, freed: 0, evicted: 0, pinned: 0, aged: 0, effort_cap }
    }

    /// Enough was freed.
    pub(crate) fn is_met(&self) -> bool {
        self.freed >= self.wanted
    }

    /// Too many held slots were met for what was freed.
    pub(crate) fn is_hopeless(&self) -> bool {
        self.pinned >= (self.evicted + 1).saturating_mul(self.effort_cap)
    }

    /// Goes up with everything that brings the goal nearer.
    fn progress(&self) -> u64 {
        self.evicted + self.aged
    }
}

impl Table {
    /// Evicts until the goal is met or hopeless, or the hand went around [`LAPS`] times. `cost` tells what an entry's
    /// eviction frees; `sink` gets each entry, outside every lock.
    pub(crate) fn sweep(&self, goal: &mut Goal, cost: impl Fn(Meta) -> u64, mut sink: impl FnMut(Evicted)) {
        let slots = u64::from(self.slots.len());
        let lap = slots.div_ceil(STEP);
        let evicted_before = goal.evicted;
        let mut progress = goal.progress();
        for step in 1..=lap * LAPS {
            if goal.is_met() || goal.is_hopeless() {
                break;
            }
            // Relaxed: the hand only spreads the sweepers.
            let from = self.counters.hand.add_relaxed(STEP);
            for ticket in from..from.wrapping_add(STEP) {
                if let Some(evicted) = self.visit((ticket % slots) as u32, goal) {
                    goal.freed += cost(evicted.meta);
                    goal.evicted += 1;
                    sink(evicted);
                }
            }
            if step.is_multiple_of(lap) && std::mem::replace(&mut progress, goal.progress()) == goal.progress() {
                // A lap for nothing: the next one would be the same.
                break;
            }
        }
        // Not in between: an entry that moves from before the hand to behind it escapes.
        for _ in evicted_before..goal.evicted {
            self.shrink(self.entries());
        }
    }

    fn visit(&self, index: u32, goal: &mut Goal) -> Option<Evicted> {
        let slot = self.slots.try_get(index)?;
        let word = slot.state.peek();
        if word.is_reclaimable() {
            if slot.state.collect(word) {
                self.counters.reclaimable.sub_relaxed(1);
                self.slots.give(index);
            }
            return None;
        }
        if word.is_empty() || word.is_parked() {
            return None;
        }
        // Also erased entries that are still held.
        if !word.is_visible() || word.references() > 0 {
            goal.pinned += 1;
            return None;
        }
        match judge(word) {
            Verdict::Age(uses) => {
                // If it fails, the entry was just used, or aged by another sweeper.
                slot.state.age(word, uses);
                goal.aged += 1;
                None
            }
            Verdict::Evict => {
                if !self.evict(slot, word) {
                    goal.aged += 1;
                    return None;
                }
                let meta = slot.meta();
                // SAFETY: `evict` made this thread the owner of a published entry.
                let value = unsafe { slot.take_value() };
                slot.state.reset();
                self.slots.give(index);
                Some(Evicted { meta, value })
            }
        }
    }

    /// A slot for a new entry, owned by the caller: a free one, one left by a last holder, one that was put aside, or a fresh
    /// one.
    pub(crate) fn take_slot(&self) -> Option<u32> {
        if let Some(index) = self.slots.take().or_else(|| self.collect_slot()) {
            return Some(index);
        }
        if self.slots.has_reserve()
            && self.reshape(|| self.slots.refill())
            && let Some(index) = self.slots.take()
        {
            return Some(index);
        }
        self.slots.fresh().ok()
    }

    /// A slot left by a last holder, if there is one among the next few.
    pub(super) fn collect_slot(&self) -> Option<u32> {
        if self.counters.reclaimable.load_relaxed() == 0 {
            return None;
        }
        let slots = u64::from(self.slots.len());
        let from = self.counters.hand.add_relaxed(COLLECT_SLOTS);
        (from..from.wrapping_add(COLLECT_SLOTS.min(slots))).map(|ticket| (ticket % slots) as u32).find(|&index| {
            let slot = self.slots.try_get(index);
            let collected = slot.is_some_and(|slot| slot.state.collect(slot.state.peek()));
            if collected {
                self.counters.reclaimable.sub_relaxed(1);
            }
            collected
        })
    }
}
