//! Pins: references to entries that own nothing but a count in the entry's slot.

use super::shared::Core;
use super::slot::Slot;
use super::standalone::Standalone;
use super::state::Released;
use crate::kind::Kind;
use crate::primary::sealed::Pin;
use std::ptr::NonNull;

/// A reference to an entry of a clock table, or to a standalone one.
#[derive(Debug)]
pub struct ClockPin {
    pub(super) slot: NonNull<Slot>,
    /// `None` for a standalone entry.
    pub(super) core: Option<NonNull<Core>>,
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
