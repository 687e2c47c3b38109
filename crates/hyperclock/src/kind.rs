//! Values of many types in one table: a value is a thin pointer and the number of its type.
//!
//! Each type that is ever stored gets a number once per process, so that the check on a hit compares two small integers
//! and an entry needs 12 bits for its type. What is needed to drop a value or to name its type is in a table indexed by
//! that number.
//!
//! K1. A number is given to one type, for ever; its row is written before the number is handed out.
//! K2. An [`ErasedValue`] owns a `Box` of the type that its kind numbers, and is consumed once.

use crate::CacheValue;
use std::any::{TypeId, type_name};
use std::collections::HashMap;
use std::ptr::NonNull;
use std::sync::{Mutex, OnceLock, PoisonError};

/// Types that one process can store in caches.
pub(crate) const MAX_KINDS: usize = 4096;

/// The number of a value type.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Kind(u16);

struct Row {
    name: &'static str,
    drop: unsafe fn(NonNull<()>),
}

static ROWS: [OnceLock<Row>; MAX_KINDS] = [const { OnceLock::new() }; MAX_KINDS];
static NUMBERS: Mutex<Option<HashMap<TypeId, u16>>> = Mutex::new(None);

impl Kind {
    /// The number of `V`.
    ///
    /// # Panics
    /// When the process already stores [`MAX_KINDS`] other types.
    pub(crate) fn of<V: CacheValue>() -> Self {
        let mut numbers = NUMBERS.lock().unwrap_or_else(PoisonError::into_inner);
        let numbers = numbers.get_or_insert_with(HashMap::new);
        let next = numbers.len();
        let number = *numbers.entry(TypeId::of::<V>()).or_insert_with(|| {
            assert!(next < MAX_KINDS, "a process can store values of at most {MAX_KINDS} types in its caches");
            let _ = ROWS[next].set(Row { name: type_name::<V>(), drop: drop_box::<V> });
            next as u16
        });
        Self(number)
    }

    pub(crate) const fn index(self) -> u16 {
        self.0
    }

    pub(crate) const fn from_index(index: u16) -> Self {
        Self(index % MAX_KINDS as u16)
    }

    /// The Rust name of the type.
    pub(crate) fn name(self) -> &'static str {
        ROWS[usize::from(self.0)].get().map_or("unknown", |row| row.name)
    }
}

/// # Safety
/// `value` came from `Box::<V>::into_raw` and is not used any more.
unsafe fn drop_box<V>(value: NonNull<()>) {
    // SAFETY: the caller's promise.
    drop(unsafe { Box::from_raw(value.cast::<V>().as_ptr()) });
}

/// A boxed value whose type only its kind tells.
#[derive(Debug)]
pub struct ErasedValue {
    value: NonNull<()>,
    kind: Kind,
}

// SAFETY: K2: it owns a value of a `CacheValue` type, which is Send and Sync.
unsafe impl Send for ErasedValue {}

impl ErasedValue {
    pub(crate) fn new<V: CacheValue>(value: V, kind: Kind) -> Self {
        debug_assert_eq!(kind, Kind::of::<V>());
        Self { value: NonNull::from(Box::leak(Box::new(value))).cast(), kind }
    }

    /// Gives the pointer away; `from_raw` takes it back.
    pub(crate) fn into_raw(self) -> NonNull<()> {
        let value = self.value;
        std::mem::forget(self);
        value
    }

    /// Takes a pointer back that `into_raw` gave, with its kind.
    ///
    /// # Safety
    /// `value` came from `into_raw` of a value of `kind`, which was not taken back yet.
    pub(crate) unsafe fn from_raw(value: NonNull<()>, kind: Kind) -> Self {
        Self { value, kind }
    }

    /// The value.
    ///
    /// # Safety
    /// It was made by `new::<V>`.
    pub(crate) unsafe fn into_value<V: CacheValue>(self) -> V {
        let value = self.value.cast::<V>().as_ptr();
        std::mem::forget(self);
        // SAFETY: K2 and the caller's promise.
        *unsafe { Box::from_raw(value) }
    }
}

impl Drop for ErasedValue {
    fn drop(&mut self) {
        if let Some(row) = ROWS[usize::from(self.kind.0)].get() {
            // SAFETY: K1 and K2: the row is that of the value's type, and this is the one use that consumes it.
            unsafe { (row.drop)(self.value) };
        }
    }
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use super::*;
    use std::sync::Arc;

    struct Counted(#[expect(dead_code, reason = "only its drop is observed")] Arc<()>);
    impl CacheValue for Counted {
        fn charge(&self) -> usize {
            1
        }
    }
    impl CacheValue for u64 {
        fn charge(&self) -> usize {
            8
        }
    }

    #[test]
    fn a_kind_is_its_type() {
        assert_eq!(Kind::of::<u64>(), Kind::of::<u64>());
        assert_ne!(Kind::of::<u64>(), Kind::of::<Counted>());
        assert_eq!(Kind::of::<u64>().name(), "u64");
    }

    #[test]
    fn an_erased_value_is_dropped_once() {
        let alive = Arc::new(());
        let kind = Kind::of::<Counted>();
        drop(ErasedValue::new(Counted(alive.clone()), kind));
        assert_eq!(Arc::strong_count(&alive), 1);
        let raw = ErasedValue::new(Counted(alive.clone()), kind).into_raw();
        assert_eq!(Arc::strong_count(&alive), 2);
        // SAFETY: the pointer came from `into_raw` just now.
        let value: Counted = unsafe { ErasedValue::from_raw(raw, kind).into_value() };
        drop(value);
        assert_eq!(Arc::strong_count(&alive), 1);
    }
}
