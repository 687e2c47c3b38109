//! The end of a cache: marks every slot, drops what is unreferenced, and leaves the rest to its holders (C2).

use super::shared::Core;
use std::ptr::NonNull;

/// How far the end has come.
pub(super) struct Closing {
    core: NonNull<Core>,
    shard: usize,
    index: u32,
    outstanding: u64,
}

impl Closing {
    /// Of a core that only its pins will use from now on.
    pub(super) fn new(core: NonNull<Core>) -> Self {
        Self { core, shard: 0, index: 0, outstanding: 0 }
    }

    pub(super) fn run(self) {
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
