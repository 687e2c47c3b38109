//! The clock hand: eviction in steps of a few slots, in slot order, by as many inserters as need room.
//!
//! Each step takes [`STEP`] slots by one atomic add on the hand, so sweepers never contend for a slot except after a lap.
//! Slots lie in memory in the order of the hand. A step first judges its slots and has the chains of its victims fetched, then
//! evicts them: the misses of several victims overlap. It evicts them all, even if fewer would do, where that is less than one
//! entry in a hundred: otherwise the hand would age the others without need. A sweep ends when enough was freed, when it made [`LAPS`] laps or one
//! that changed nothing, or, if told so, when it saw too many pinned entries for what it freed (the effort cap).
//!
//! W1. A value is dropped after its chain was unlocked and its slot given back or kept for the caller, so a destructor may use
//!     the cache, and one that panics leaves it whole.

use super::policy::{MAX_USES, Verdict, judge};
use super::slot::{Meta, Slot};
use super::state::Word;
use super::table::Table;
use crate::kind::ErasedValue;

/// Slots of one step.
const STEP: u32 = 4;
/// One entry of so many may be evicted beyond the goal.
const ENTRIES_PER_EXTRA: u64 = 128;
/// Laps after which every unreferenced entry that nobody used meanwhile is gone: its uses, and the eviction.
const LAPS: u64 = MAX_USES + 1;
/// Steps that a search for reclaimable slots looks at.
const COLLECT_STEPS: u64 = 16;

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

/// A free slot that is kept out of the free list for an insert; given there if it is not used.
#[derive(Debug)]
pub(crate) struct Spare<'t> {
    table: Option<&'t Table>,
    slot: Option<u32>,
}

impl<'t> Spare<'t> {
    /// For an insert into `table`.
    pub(crate) fn of(table: &'t Table) -> Self {
        Self { table: Some(table), slot: None }
    }

    /// For a charge that needs no slot.
    pub(crate) fn unwanted() -> Self {
        Self { table: None, slot: None }
    }

    pub(crate) fn take(&mut self) -> Option<u32> {
        self.slot.take()
    }

    /// Keeps a slot of `table`, or gives it to the free list.
    fn keep(&mut self, table: &Table, slot: u32) {
        if self.slot.is_none() && self.table.is_some_and(|wanted| std::ptr::eq(wanted, table)) {
            self.slot = Some(slot);
        } else {
            table.slots.give(slot);
        }
    }
}

impl Drop for Spare<'_> {
    fn drop(&mut self) {
        if let (Some(table), Some(slot)) = (self.table, self.slot) {
            table.slots.give(slot);
        }
    }
}

/// Counts evicted entries out of their table, also if a destructor panics.
struct Tally<'t> {
    table: &'t Table,
    evicted: u64,
}

impl Drop for Tally<'_> {
    fn drop(&mut self) {
        if self.evicted > 0 {
            self.table.count_out(self.evicted);
        }
    }
}

impl Table {
    /// Evicts until the goal is met or hopeless, or the hand went around [`LAPS`] times. `spare` gets the first slot that
    /// becomes free, if it is this table's; `sink` gets each entry and says what its eviction freed, outside every lock.
    pub(crate) fn sweep(&self, goal: &mut Goal, spare: &mut Spare<'_>, mut sink: impl FnMut(Evicted) -> u64) {
        let steps = u64::from(self.slots.len().div_ceil(STEP));
        let mut tally = Tally { table: self, evicted: 0 };
        let mut progress = goal.progress();
        for step in 1..=steps * LAPS {
            // Relaxed: the hand only spreads the sweepers.
            let ticket = self.counters.hand.add_relaxed(1);
            let first = (ticket % steps) as u32 * STEP;
            let Some(row) = self.slots.row(first, STEP) else { continue };
            // Another slot comes first in each lap, so that none is always left over.
            let begin = (ticket / steps) as u32 % STEP;
            self.step(first, begin, row, goal, &mut tally, spare, &mut sink);
            if goal.is_met() || goal.is_hopeless() {
                break;
            }
            if step.is_multiple_of(steps) {
                if progress == goal.progress() {
                    // A lap for nothing: the next one would be the same.
                    break;
                }
                progress = goal.progress();
            }
        }
        let evicted = tally.evicted;
        drop(tally);
        // Not in between: an entry that moves from before the hand to behind it escapes.
        self.shrink(evicted);
    }

    #[expect(clippy::too_many_arguments, reason = "it is the body of the loop above")]
    fn step(
        &self,
        first: u32,
        begin: u32,
        row: &[Slot],
        goal: &mut Goal,
        tally: &mut Tally<'_>,
        spare: &mut Spare<'_>,
        sink: &mut impl FnMut(Evicted) -> u64,
    ) {
        let mut victims = 0_u32;
        for (position, slot) in (0..).zip(row) {
            let word = slot.state.peek();
            if word.is_visible() && word.references() == 0 {
                match judge(word) {
                    Verdict::Age(uses) => {
                        // If it fails, the entry was just used, or aged by another sweeper.
                        slot.state.age(word, uses);
                        goal.aged += 1;
                    }
                    Verdict::Evict => {
                        victims |= 1 << position;
                        self.prefetch_chain(slot.key().0);
                        slot.prefetch_value();
                    }
                }
            } else {
                self.pass_over(first + position, slot, word, goal);
            }
        }
        let mut extra = self.entries() / ENTRIES_PER_EXTRA;
        while victims != 0 {
            if goal.is_met() {
                let Some(left) = extra.checked_sub(1) else { break };
                extra = left;
            }
            let next = victims & u32::MAX << begin;
            let position = if next == 0 { victims } else { next }.trailing_zeros();
            victims &= !(1 << position);
            let slot = &row[position as usize];
            let word = slot.state.peek();
            let ripe = word.is_visible() && word.references() == 0 && judge(word) == Verdict::Evict;
            if !ripe || !self.evict(slot, word) {
                goal.aged += 1;
                continue;
            }
            tally.evicted += 1;
            let meta = slot.meta();
            // SAFETY: `evict` made this thread the owner of a published entry.
            let value = unsafe { slot.take_value() };
            slot.state.reset();
            spare.keep(self, first + position);
            goal.evicted += 1;
            goal.freed += sink(Evicted { meta, value });
        }
    }

    /// A slot that the hand cannot evict.
    #[inline]
    fn pass_over(&self, index: u32, slot: &Slot, word: Word, goal: &mut Goal) {
        if word.is_reclaimable() {
            if slot.state.collect(word) {
                self.counters.reclaimable.sub_relaxed(1);
                self.slots.give(index);
            }
        } else if !word.is_empty() && !word.is_parked() {
            // Also erased entries that are still held.
            goal.pinned += 1;
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
        let steps = u64::from(self.slots.len().div_ceil(STEP));
        let from = self.counters.hand.add_relaxed(COLLECT_STEPS);
        for ticket in from..from.wrapping_add(COLLECT_STEPS.min(steps)) {
            let first = (ticket % steps) as u32 * STEP;
            let row = self.slots.row(first, STEP).unwrap_or_default();
            let collected = |(_, slot): &(u32, &Slot)| slot.state.collect(slot.state.peek());
            if let Some((position, _)) = (0..).zip(row).find(collected) {
                self.counters.reclaimable.sub_relaxed(1);
                return Some(first + position);
            }
        }
        None
    }
}
