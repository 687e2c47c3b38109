//! Handles: how an engine holds on to what it found.

use crate::CacheValue;
use crate::primary::sealed::{Engine, Pin};
use crate::primary::{Clock, Primary};
use std::fmt;
use std::marker::PhantomData;
use std::ops::Deref;

/// Keeps a value alive and gives access to it.
///
/// A handle is a counted reference to one entry: taking one is one atomic add on that entry, dropping it another, and
/// handles to different entries share nothing. While any handle to it exists, an entry is not evicted and stays charged.
/// A handle can be sent to other threads, stored anywhere, and outlive the cache.
///
/// ```
/// # use hyperclock::{BlockCache, CacheKey, CacheValue, Role};
/// # struct Block(Vec<u8>);
/// # impl CacheValue for Block { fn charge(&self) -> usize { size_of::<Self>() + self.0.capacity() } }
/// let cache = BlockCache::new(1 << 20);
/// let blocks = cache.view::<Block>(Role::DATA_BLOCK);
/// let handle = blocks.insert(CacheKey::new(1, 0), Block(vec![7; 100])).unwrap();
/// drop((cache, blocks));
/// assert_eq!(handle.0[99], 7);
/// ```
pub struct Handle<V, P: Primary = Clock> {
    pin: <P as Engine>::Pin,
    value: PhantomData<fn() -> V>,
}

impl<V: CacheValue, P: Primary> Handle<V, P> {
    /// Wraps a pin whose kind was found to be that of `V`.
    #[inline]
    pub(crate) fn new(pin: <P as Engine>::Pin) -> Self {
        debug_assert_eq!(pin.kind().name(), std::any::type_name::<V>());
        Self { pin, value: PhantomData }
    }

    /// What the entry is charged with, in bytes, without the metadata charge.
    pub fn charge(&self) -> usize {
        self.pin.charge()
    }

    /// Another handle to the same entry, or `None` when it has 2^22 of them already.
    ///
    /// One atomic add.
    pub fn try_clone(&self) -> Option<Self> {
        Some(Self { pin: self.pin.try_clone()?, value: PhantomData })
    }

    /// Drops the handle as if the entry had not been used: for a reader, such as a bulk scan, that tells nothing about
    /// whether the block will be wanted again.
    ///
    /// One atomic subtraction.
    pub fn release_unused(self) {
        self.pin.release_unused();
    }
}

impl<V: CacheValue, P: Primary> Deref for Handle<V, P> {
    type Target = V;

    #[inline]
    fn deref(&self) -> &V {
        // SAFETY: a pin keeps its value alive and unchanged, and handles are made only for pins whose kind is that of V.
        unsafe { &*self.pin.value().cast::<V>() }
    }
}

impl<V: CacheValue, P: Primary> Clone for Handle<V, P> {
    /// Another handle to the same entry. One atomic add.
    ///
    /// # Panics
    /// When the entry has 2^22 handles already; see [`Handle::try_clone`].
    fn clone(&self) -> Self {
        self.try_clone().expect("an entry can have at most 2^22 handles: drop some, or share one behind an Arc")
    }
}

impl<V: CacheValue + fmt::Debug, P: Primary> fmt::Debug for Handle<V, P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Handle").field(&**self).finish()
    }
}
