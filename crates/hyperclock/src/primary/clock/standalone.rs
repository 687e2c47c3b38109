//! Entries outside the table: too large for the cache, refused a place, or meant for one reader only.
//!
//! A standalone entry is a boxed slot in the state *erased*, so a handle does not care which sort it points to. No lookup
//! can reach it; its last holder frees it, told by its own release.

use super::slot::{Meta, Slot};
use super::state::{State, Word};
use crate::budget::Budget;
use crate::key::HashedKey;
use crate::kind::ErasedValue;
use crate::primitive::Arc;
use std::ptr::NonNull;

/// A slot with what its last holder needs to account for it.
#[derive(Debug)]
#[repr(C)]
pub(super) struct Standalone {
    slot: Slot,
    budget: Arc<Budget>,
    charged: u64,
}

impl Standalone {
    /// Boxes an entry with one reference; `charged` bytes were charged for it.
    pub(super) fn create(value: ErasedValue, meta: Meta, budget: Arc<Budget>, charged: u64) -> NonNull<Slot> {
        let slot = Slot::with_state(State::with(Word::standalone()));
        slot.fill(HashedKey(0, 0), value, meta);
        budget.note_standalone(charged);
        NonNull::from(Box::leak(Box::new(Self { slot, budget, charged }))).cast()
    }

    /// Frees the entry and its charge.
    ///
    /// # Safety
    /// `slot` came from [`Standalone::create`], and the caller's release was the last.
    pub(super) unsafe fn free(slot: NonNull<Slot>) {
        // SAFETY: `slot` is the first field of a `#[repr(C)]` box, the pointer has the box's provenance, and nobody else
        // refers to it, by the caller's promise.
        let standalone = unsafe { Box::from_raw(slot.cast::<Self>().as_ptr()) };
        standalone.budget.refund_standalone(standalone.charged);
        // SAFETY: the caller is the owner, and the box goes away here.
        drop(unsafe { standalone.slot.take_value() });
    }
}
