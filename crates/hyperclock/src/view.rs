//! Typed views: how an engine reads and fills the cache.

use crate::block_cache::BlockCache;
use crate::error::{InsertError, LoadError, TypeMismatch};
use crate::handle::Handle;
use crate::kind::{ErasedValue, Kind};
use crate::primary::sealed::{Engine, Pin};
use crate::primary::{Attributes, Clock, Found, Insertion, Primary};
use crate::single_flight::Turn;
use crate::stats::Event;
use crate::{CacheKey, Priority, Role};
use std::any::Any;
use std::convert::Infallible;
use std::fmt;
use std::marker::PhantomData;
use std::sync::Arc;

/// A type whose values can live in a cache.
///
/// Implemented for buffers of bytes; an engine's own types state what they keep alive:
///
/// ```
/// use hyperclock::CacheValue;
///
/// struct IndexBlock {
///     bytes: Box<[u8]>,
///     restarts: Vec<u32>,
/// }
///
/// impl CacheValue for IndexBlock {
///     fn charge(&self) -> usize {
///         size_of::<Self>() + self.bytes.len() + self.restarts.capacity() * size_of::<u32>()
///     }
/// }
/// ```
#[diagnostic::on_unimplemented(
    message = "values of type `{Self}` cannot live in a block cache",
    note = "implement `CacheValue` for it: `charge` returns the bytes that a value keeps alive, itself included",
    note = "a foreign type needs a type of your own around it: `struct Block(Foreign);`",
    note = "`Vec<u8>`, `Box<[u8]>` and `Arc<[u8]>` can be used as they are"
)]
pub trait CacheValue: Send + Sync + 'static {
    /// The bytes that the value keeps alive, itself included. It must not change while the value is in the cache.
    ///
    /// There is no default: a cache is as honest about memory as this number.
    fn charge(&self) -> usize;
}

/// Charged for its capacity, not for its length.
impl CacheValue for Vec<u8> {
    fn charge(&self) -> usize {
        size_of::<Self>() + self.capacity()
    }
}

impl CacheValue for Box<[u8]> {
    fn charge(&self) -> usize {
        size_of::<Self>() + self.len()
    }
}

/// Charged in full, with the two counters beside the bytes, whoever else holds it: the cache cannot know whether it is the
/// last one.
impl CacheValue for Arc<[u8]> {
    fn charge(&self) -> usize {
        size_of::<Self>() + 2 * size_of::<usize>() + self.len()
    }
}

/// A window on a cache for values of one type, under one role and priority.
///
/// Made by [`BlockCache::view`]; cheap to clone, and meant to be kept beside what reads through it. Views of several types
/// share the cache; a key belongs to one type.
pub struct View<V, P: Primary = Clock> {
    cache: BlockCache<P>,
    kind: Kind,
    role: Role,
    priority: Priority,
    value: PhantomData<fn(V) -> V>,
}

impl<V, P: Primary> Clone for View<V, P> {
    fn clone(&self) -> Self {
        Self { cache: self.cache.clone(), value: PhantomData, ..*self }
    }
}

impl<V, P: Primary> fmt::Debug for View<V, P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("View")
            .field("type", &std::any::type_name::<V>())
            .field("role", &self.role)
            .field("priority", &self.priority)
            .finish_non_exhaustive()
    }
}

impl<V: CacheValue, P: Primary> View<V, P> {
    pub(crate) fn new(cache: BlockCache<P>, role: Role) -> Self {
        Self { cache, kind: Kind::of::<V>(), role, priority: Priority::default(), value: PhantomData }
    }

    /// The same view, inserting with `priority`.
    #[must_use]
    pub fn with_priority(mut self, priority: Priority) -> Self {
        self.priority = priority;
        self
    }

    /// The role under which this view inserts and counts.
    pub fn role(&self) -> Role {
        self.role
    }

    /// The priority with which this view inserts.
    pub fn priority(&self) -> Priority {
        self.priority
    }

    /// The cache.
    pub fn cache(&self) -> &BlockCache<P> {
        &self.cache
    }

    /// Looks a key up.
    ///
    /// Never waits for another thread. A hit costs one atomic add, and another one when the handle is dropped. An entry
    /// that has 2^22 handles already is a miss, counted as `saturated`.
    #[inline]
    pub fn get(&self, key: &CacheKey) -> Result<Option<Handle<V, P>>, TypeMismatch> {
        match self.cache.engine().lookup(*key) {
            Found::Hit(pin) => {
                self.count(Event::Hit);
                self.typed(pin).map(Some)
            }
            Found::Miss => {
                self.count(Event::Miss);
                Ok(None)
            }
            Found::Saturated => {
                self.count_saturated();
                Ok(None)
            }
        }
    }

    #[cold]
    fn count_saturated(&self) {
        self.count(Event::Miss);
        self.count(Event::Saturated);
    }

    /// Runs `f` on the value of a key; `None` on a miss.
    ///
    /// The entry cannot be evicted meanwhile. Costs as much as [`View::get`]: a handle is taken and dropped.
    pub fn read<R>(&self, key: &CacheKey, f: impl FnOnce(&V) -> R) -> Result<Option<R>, TypeMismatch> {
        let Some(handle) = self.get(key)? else { return Ok(None) };
        let result = f(&handle);
        // Before the result is handed over: were it done on the way out, a destructor that panics would leak it.
        drop(handle);
        Ok(Some(result))
    }

    /// Puts a value into the cache, unless the key is resident: then the resident value wins, and `value` is dropped.
    ///
    /// Evicts as much as the value needs, on this thread. If the cache is not strict, the insert succeeds; a value larger
    /// than the whole cache evicts nothing, is charged and handed back in a handle, but no lookup finds it.
    pub fn insert(&self, key: CacheKey, value: V) -> Result<Handle<V, P>, InsertError<V>> {
        match self.insert_erased(key, value) {
            Insertion::Inserted(pin) | Insertion::Standalone(pin) => Ok(Handle::new(pin)),
            Insertion::Resident(pin, value) if pin.kind() == self.kind => {
                // While the pin is a variable: if the value's destructor panics, a result that is already made would not be
                // dropped, and the pin would be lost.
                drop(value);
                Ok(Handle::new(pin))
            }
            Insertion::Resident(pin, value) => {
                let mismatch = Self::mismatch(&pin);
                drop(pin);
                // SAFETY: the value that comes back is the one that `insert_erased` made of a V.
                Err(InsertError::Type { value: unsafe { value.into_value() }, mismatch })
            }
            Insertion::Refused(value) => {
                // SAFETY: as above.
                let value: V = unsafe { value.into_value() };
                let charge = value.charge().saturating_add(self.cache.metadata_charge());
                Err(InsertError::Full { value, charge, capacity: self.cache.capacity() })
            }
        }
    }

    /// Looks a key up and, on a miss, loads its value: one load per key, however many threads miss it at once.
    ///
    /// The first caller that misses runs `loader`, outside every lock; the others wait and get the same value, or the same
    /// error. A failed load is not remembered: the next call loads again. If a loader panics, one of the waiters runs its
    /// own. A full strict cache does not fail a read: the value comes back in a handle that no lookup finds, uncharged,
    /// and `uncharged` counts it.
    ///
    /// # Errors
    /// [`LoadError::Reentrant`] if the loader, on this thread, asks for the key that it is loading. Two loaders on two
    /// threads that ask for each other's keys wait for each other: a loader, or a destructor that its insert runs, must not depend on
    /// a key that may depend on its own.
    pub fn get_or_load<E: Send + Sync + 'static>(
        &self,
        key: &CacheKey,
        loader: impl FnOnce() -> Result<V, E>,
    ) -> Result<Handle<V, P>, LoadError<E>> {
        if let Some(handle) = self.get(key).map_err(LoadError::Type)? {
            return Ok(handle);
        }
        self.load(*key, loader)
    }

    /// [`View::get_or_load`] for a value that can always be made.
    ///
    /// ```
    /// use hyperclock::{BlockCache, CacheKey, Role};
    ///
    /// let squares = BlockCache::new(1 << 20).view::<Vec<u8>>(Role::MISC);
    /// let square = squares.get_or_insert_with(&CacheKey::new(1, 12), || (144_u64).to_le_bytes().to_vec())?;
    /// assert_eq!(square[0], 144);
    /// # Ok::<(), hyperclock::LoadError<std::convert::Infallible>>(())
    /// ```
    ///
    /// # Errors
    /// [`LoadError::Type`] and [`LoadError::Reentrant`]; never [`LoadError::Load`].
    pub fn get_or_insert_with(
        &self,
        key: &CacheKey,
        make: impl FnOnce() -> V,
    ) -> Result<Handle<V, P>, LoadError<Infallible>> {
        self.get_or_load(key, || Ok(make()))
    }

    #[cold]
    fn load<E: Send + Sync + 'static>(
        &self,
        key: CacheKey,
        loader: impl FnOnce() -> Result<V, E>,
    ) -> Result<Handle<V, P>, LoadError<E>> {
        let lead = loop {
            match self.cache.flights().join(key, Pin::try_clone) {
                Turn::Lead(lead) => break lead,
                Turn::Value(pin) => {
                    self.count(Event::CoalescedLoad);
                    return self.typed(pin).map_err(LoadError::Type);
                }
                Turn::Error(error) => {
                    // A waiter with another error type cannot share it, and loads for itself.
                    if let Ok(error) = error.downcast::<E>() {
                        self.count(Event::CoalescedLoad);
                        return Err(LoadError::Load(error));
                    }
                }
                Turn::Again => {}
                Turn::Reentrant => return Err(LoadError::Reentrant),
            }
        };
        // Between the miss and the lead, another load may have ended. Not counted: the caller's miss was.
        if let Found::Hit(pin) = self.cache.engine().lookup(key) {
            lead.finish_value(|| pin.try_clone());
            return self.typed(pin).map_err(LoadError::Type);
        }
        self.count(Event::Load);
        let value = match loader() {
            Ok(value) => value,
            Err(error) => {
                let error = Arc::new(error);
                lead.finish_error(error.clone() as Arc<dyn Any + Send + Sync>);
                return Err(LoadError::Load(error));
            }
        };
        let pin = match self.insert_erased(key, value) {
            Insertion::Inserted(pin) | Insertion::Standalone(pin) => pin,
            Insertion::Resident(pin, loaded) => {
                drop(loaded);
                pin
            }
            Insertion::Refused(value) => self.standalone_erased(value),
        };
        lead.finish_value(|| pin.try_clone());
        self.typed(pin).map_err(LoadError::Type)
    }

    /// Wraps a value in a handle that no lookup finds: for a read that must not fill the cache.
    ///
    /// The value is charged while handles to it exist. In a strict cache without room it is not, and `uncharged` counts it.
    pub fn standalone(&self, value: V) -> Handle<V, P> {
        let charge = value.charge();
        Handle::new(self.standalone_charged(ErasedValue::new(value, self.kind), charge))
    }

    /// Removes a key from the cache; false if it was not resident. Handles to its value stay valid.
    pub fn erase(&self, key: &CacheKey) -> bool {
        self.cache.erase(key)
    }

    #[inline]
    fn count(&self, event: Event) {
        self.cache.recorder().count(self.role, event);
    }

    #[inline]
    fn typed(&self, pin: <P as Engine>::Pin) -> Result<Handle<V, P>, TypeMismatch> {
        if pin.kind() == self.kind { Ok(Handle::new(pin)) } else { Err(Self::mismatch(&pin)) }
    }

    #[cold]
    fn mismatch(pin: &<P as Engine>::Pin) -> TypeMismatch {
        TypeMismatch { expected: std::any::type_name::<V>(), found: pin.kind().name() }
    }

    fn attributes(&self, charge: usize) -> Attributes {
        Attributes { role: self.role, priority: self.priority, kind: self.kind, charge }
    }

    fn insert_erased(&self, key: CacheKey, value: V) -> Insertion<<P as Engine>::Pin> {
        let attributes = self.attributes(value.charge());
        let value = ErasedValue::new(value, self.kind);
        let insertion = self.cache.engine().insert(key, value, attributes, self.cache.recorder());
        match insertion {
            Insertion::Inserted(_) => self.count(Event::Insert),
            Insertion::Resident(..) => self.count(Event::RedundantInsert),
            Insertion::Standalone(_) | Insertion::Refused(_) => {}
        }
        insertion
    }

    fn standalone_erased(&self, value: ErasedValue) -> <P as Engine>::Pin {
        // SAFETY: callers pass what `insert_erased` made of a V and gave back.
        let value: V = unsafe { value.into_value() };
        let charge = value.charge();
        self.standalone_charged(ErasedValue::new(value, self.kind), charge)
    }

    fn standalone_charged(&self, value: ErasedValue, charge: usize) -> <P as Engine>::Pin {
        let (pin, charged) = self.cache.engine().standalone(value, self.attributes(charge), self.cache.recorder());
        if !charged {
            self.count(Event::Uncharged);
        }
        pin
    }
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use super::*;

    #[test]
    fn buffers_are_charged_for_what_they_keep_alive() {
        let mut bytes = Vec::with_capacity(4096);
        bytes.extend_from_slice(&[7; 100]);
        assert_eq!(bytes.charge(), 4096 + size_of::<Vec<u8>>());
        let boxed: Box<[u8]> = vec![7; 100].into();
        assert_eq!(boxed.charge(), 100 + size_of::<Box<[u8]>>());
        let shared: Arc<[u8]> = vec![7; 100].into();
        assert_eq!(shared.charge(), 100 + 4 * size_of::<usize>());
    }

    #[test]
    fn a_value_that_cannot_fail_is_made_once() {
        let blocks = BlockCache::new(1 << 20).view::<Vec<u8>>(Role::MISC);
        let key = CacheKey::new(1, 1);
        for made in [true, false] {
            let mut called = false;
            let handle = blocks.get_or_insert_with(&key, || {
                called = true;
                vec![7]
            });
            assert_eq!((&**handle.expect("a value"), called), (&[7][..], made));
        }
        let others = blocks.cache().view::<Box<[u8]>>(Role::MISC);
        let refused = others.get_or_insert_with(&key, || unreachable!("the key is resident"));
        assert!(matches!(refused, Err(LoadError::Type(_))));
    }
}
