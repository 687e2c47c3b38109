//! One budget for the whole cache: what is charged, and what may be.
//!
//! Shards have no capacity of their own, so one large block can use the room of all of them. The word is exact at rest:
//! a charge is added before its entry is linked and taken off when the entry's value is given up.
//!
//! G1. usage = charges and metadata of all entries with a value + charged standalone entries, at rest.
//! G2. With a strict limit no charge takes usage above the capacity.

use crate::primitive::Atomic64;

/// See the module documentation.
#[derive(Debug)]
pub(crate) struct Budget {
    usage: Atomic64,
    standalone: Atomic64,
    capacity: u64,
    strict: bool,
}

impl Budget {
    pub(crate) fn new(capacity: usize, strict: bool) -> Self {
        Self { usage: Atomic64::new(0), standalone: Atomic64::new(0), capacity: capacity as u64, strict }
    }

    pub(crate) fn capacity(&self) -> u64 {
        self.capacity
    }

    pub(crate) fn is_strict(&self) -> bool {
        self.strict
    }

    pub(crate) fn usage(&self) -> u64 {
        self.usage.load_relaxed()
    }

    /// Usage by standalone entries.
    pub(crate) fn standalone(&self) -> u64 {
        self.standalone.load_relaxed()
    }

    /// Adds a charge and takes off what was freed for it; returns by how much usage is above the capacity now.
    pub(crate) fn exchange(&self, charged: u64, freed: u64) -> u64 {
        let change = charged.wrapping_sub(freed);
        self.usage.add_relaxed(change).wrapping_add(change).saturating_sub(self.capacity)
    }

    /// How much must be freed before a charge fits.
    pub(crate) fn missing(&self, bytes: u64) -> u64 {
        self.usage().saturating_add(bytes).saturating_sub(self.capacity)
    }

    /// Adds a charge if usage stays within the capacity; otherwise returns how much room is missing.
    pub(crate) fn try_charge(&self, bytes: u64) -> Result<(), u64> {
        loop {
            let usage = self.usage.load_relaxed();
            let after = usage.checked_add(bytes).filter(|&after| after <= self.capacity);
            let Some(after) = after else { return Err(usage.saturating_add(bytes).saturating_sub(self.capacity)) };
            if self.usage.cas_relaxed(usage, after) {
                return Ok(());
            }
        }
    }

    pub(crate) fn refund(&self, bytes: u64) {
        self.usage.sub_relaxed(bytes);
    }

    /// Notes that `bytes` of the usage belong to standalone entries.
    pub(crate) fn note_standalone(&self, bytes: u64) {
        self.standalone.add_relaxed(bytes);
    }

    pub(crate) fn refund_standalone(&self, bytes: u64) {
        self.standalone.sub_relaxed(bytes);
        self.refund(bytes);
    }
}
