//! A slot: where an entry lives from its insert until its value is dropped.
//!
//! Slots are type-stable: their memory holds slots, and nothing else, until the cache and all its handles are gone. So
//! a lookup may touch any slot at any time, and needs no guard: it takes a reference by the state word, then looks at
//! the key, which cannot change while it holds the reference. Every field is atomic because a thread may look at a slot
//! that another thread is filling; what it reads then, it throws away.
//!
//! L1. `key`, `value` and `meta` are written only by the owner of the slot (see `state`), before it is published.
//! L2. A holder of a reference reads what was published with the entry.
//! L3. `value` of a published entry points to a value of the type that `meta` names, made by `Value::new`, until the
//!     owner takes it; it is taken once. An entry that moves to another slot takes its value with it: the slot that it leaves
//!     never gives it out again.
//!
//! 40 bytes: with its share of the buckets and of the allocator, an entry costs what `docs/clock.md` says.

use super::state::State;
use crate::key::HashedKey;
use crate::kind::{ErasedValue, Kind};
use crate::primitive::{Atomic64, AtomicPtr, prefetch};
use crate::{Priority, Role};
use std::ptr::NonNull;

/// One entry of the table, or a standalone one.
#[derive(Debug)]
#[repr(C)]
pub(crate) struct Slot {
    pub(crate) state: State,
    key: [Atomic64; 2],
    value: AtomicPtr<()>,
    /// [`Meta`]; while the slot is free, the free list's link.
    meta: Atomic64,
}

/// What an entry is, beside its key and value.
///
/// ```text
///  63 .. 59   58 57      56 .. 45   44 .. 0
/// +---------+----------+----------+-----------------+
/// |  role   | priority |   kind   | charge in bytes |
/// +---------+----------+----------+-----------------+
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Meta(u64);

impl Meta {
    const CHARGE_BITS: u32 = 45;
    /// The largest charge of one entry: 32 TiB.
    pub(crate) const MAX_CHARGE: usize =
        if usize::BITS > Self::CHARGE_BITS { (1 << Self::CHARGE_BITS) - 1 } else { usize::MAX };

    /// Packs what is known of an entry; a charge over [`Meta::MAX_CHARGE`] is cut to it.
    pub(crate) fn new(role: Role, priority: Priority, kind: Kind, charge: usize) -> Self {
        Self(
            (role.index() as u64) << 59
                | (priority as u64) << 57
                | u64::from(kind.index()) << Self::CHARGE_BITS
                | charge.min(Self::MAX_CHARGE) as u64,
        )
    }

    pub(crate) fn role(self) -> Role {
        Role::from_index((self.0 >> 59) as u8)
    }

    pub(crate) fn priority(self) -> Priority {
        match self.0 >> 57 & 3 {
            0 => Priority::High,
            1 => Priority::Low,
            _ => Priority::Bottom,
        }
    }

    #[inline]
    pub(crate) fn kind(self) -> Kind {
        Kind::from_index((self.0 >> Self::CHARGE_BITS & 0xfff) as u16)
    }

    pub(crate) fn charge(self) -> usize {
        (self.0 & ((1 << Self::CHARGE_BITS) - 1)) as usize
    }
}

impl Slot {
    #[cfg(any(loom, shuttle))]
    pub(crate) fn empty() -> Self {
        Self::with_state(State::empty())
    }

    pub(crate) fn with_state(state: State) -> Self {
        Self { state, key: [Atomic64::new(0), Atomic64::new(0)], value: AtomicPtr::null(), meta: Atomic64::new(0) }
    }

    /// Fills the slot, for its owner, before the publication (L1).
    pub(crate) fn fill(&self, key: HashedKey, value: ErasedValue, meta: Meta) {
        self.key[0].store_relaxed(key.0);
        self.key[1].store_relaxed(key.1);
        self.value.store_relaxed(value.into_raw().as_ptr());
        self.meta.store_relaxed(meta.0);
    }

    /// Takes over what another slot holds, for its owner, while the chain that links `other` is locked (L1).
    pub(crate) fn copy_from(&self, other: &Self) {
        let key = other.key();
        self.key[0].store_relaxed(key.0);
        self.key[1].store_relaxed(key.1);
        self.value.store_relaxed(other.value());
        self.meta.store_relaxed(other.meta().0);
    }

    #[cfg(any(loom, shuttle))]
    pub(crate) fn clear(&self) {
        self.state.clear();
        self.key[0].store_relaxed(0);
        self.key[1].store_relaxed(0);
        self.value.store_relaxed(std::ptr::null_mut());
        self.meta.store_relaxed(0);
    }

    /// The key; only meaningful to a holder, an owner, or under the lock of the chain that links the slot.
    #[inline]
    pub(crate) fn key(&self) -> HashedKey {
        HashedKey(self.key[0].load_relaxed(), self.key[1].load_relaxed())
    }

    #[inline]
    pub(crate) fn meta(&self) -> Meta {
        Meta(self.meta.load_relaxed())
    }

    /// The value of a published entry (L3), for a holder.
    #[inline]
    pub(crate) fn value(&self) -> *mut () {
        self.value.load_relaxed()
    }

    /// Has the value fetched.
    #[inline]
    pub(crate) fn prefetch_value(&self) {
        prefetch(self.value());
    }

    /// Takes the value out.
    ///
    /// # Safety
    /// The caller owns the slot of an entry that was published (L3), and calls this once for it.
    pub(crate) unsafe fn take_value(&self) -> ErasedValue {
        let value = NonNull::new(self.value.load_relaxed()).expect("a published entry has a value");
        // SAFETY: L3 and the caller's promise.
        unsafe { ErasedValue::from_raw(value, self.meta().kind()) }
    }

    /// The link of the free list.
    pub(crate) fn link(&self) -> &Atomic64 {
        &self.meta
    }
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use super::*;

    #[test]
    fn a_slot_has_the_documented_size() {
        assert_eq!(size_of::<Slot>(), 40);
    }

    #[test]
    fn meta_gives_back_what_it_was_made_of() {
        for role in 0..32 {
            for priority in [Priority::High, Priority::Low, Priority::Bottom] {
                for (kind, charge) in [(0, 0), (1, 1), (4095, Meta::MAX_CHARGE), (77, 4096)] {
                    let meta = Meta::new(Role::from_index(role), priority, Kind::from_index(kind), charge);
                    assert_eq!(meta.role().index(), usize::from(role));
                    assert_eq!(meta.priority(), priority);
                    assert_eq!(meta.kind().index(), kind);
                    assert_eq!(meta.charge(), charge);
                }
            }
        }
        let cut = Meta::new(Role::MISC, Priority::Low, Kind::from_index(9), usize::MAX);
        assert_eq!((cut.charge(), cut.kind().index()), (Meta::MAX_CHARGE, 9));
    }
}
