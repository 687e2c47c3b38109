//! The boundary between the cache and the structure that holds its entries in memory.
//!
//! `BlockCache<P>` is generic over [`Primary`]; a hit runs through no trait object. Today's primary is [`Clock`].

pub(crate) mod clock;

pub use clock::Clock;

use crate::CacheKey;
use crate::budget::Budget;
use crate::kind::{ErasedValue, Kind};
use crate::primitive::Arc;
use crate::{Priority, Role};

/// A structure that can hold the entries of a [`BlockCache`](crate::BlockCache). Implemented by this crate's primaries
/// only.
pub trait Primary: sealed::Engine {}

/// What a primary is built from.
#[derive(Debug)]
pub struct Settings {
    pub(crate) budget: Arc<Budget>,
    pub(crate) shard_bits: u32,
    pub(crate) seed: u64,
    pub(crate) metadata_charge: u64,
    pub(crate) effort_cap: u64,
    /// Entries that tables should have room for from the beginning; 0 if they should start small.
    pub(crate) expected_entries: u64,
}

/// What is known of an entry beside its key and value.
#[derive(Clone, Copy, Debug)]
pub struct Attributes {
    pub(crate) role: Role,
    pub(crate) priority: Priority,
    pub(crate) kind: Kind,
    pub(crate) charge: usize,
}

/// What became of a lookup.
#[derive(Debug)]
pub enum Found<T> {
    /// The entry, with a reference for the caller.
    Hit(T),
    /// No entry has the key.
    Miss,
    /// The entry has as many references as it can count.
    Saturated,
}

/// What became of an insert.
#[derive(Debug)]
pub enum Insertion<T> {
    /// The value is in the cache.
    Inserted(T),
    /// The key was resident; the value comes back.
    Resident(T, ErasedValue),
    /// The value is charged, but no lookup will find it: it is larger than the cache, or the table has no place.
    Standalone(T),
    /// A strict cache has no room; the value comes back.
    Refused(ErasedValue),
}

/// Told about entries that leave, and about other events that are counted.
pub trait Observer {
    /// An entry of this role was evicted.
    fn evicted(&self, role: Role);
}

/// An entry as an iteration shows it.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct EntryInfo {
    /// The key.
    pub key: CacheKey,
    /// The role under which it was inserted.
    pub role: Role,
    /// The priority with which it was inserted.
    pub priority: Priority,
    /// The value's charge in bytes, without the metadata charge.
    pub charge: usize,
    /// The Rust name of the value's type.
    pub type_name: &'static str,
    /// References by handles and by lookups in flight.
    pub references: u64,
}

/// What a primary holds, counted by a walk.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Census {
    pub(crate) entries: u64,
    pub(crate) pinned: u64,
    pub(crate) pinned_bytes: u64,
}

pub(crate) mod sealed {
    use super::{Attributes, CacheKey, Census, EntryInfo, ErasedValue, Found, Insertion, Observer, Settings};
    use crate::kind::Kind;
    use std::fmt::Debug;

    /// A counted reference to an entry of some type; dropping it gives the reference back. It stays valid when the cache
    /// is dropped.
    ///
    /// # Safety
    /// While a pin exists, `value` points to a live value of the type of `kind`, which does not change.
    pub unsafe trait Pin: Sized + Send + Sync + Debug {
        /// The value.
        fn value(&self) -> *const ();
        /// Its type.
        fn kind(&self) -> Kind;
        /// Its charge in bytes.
        fn charge(&self) -> usize;
        /// Another reference; `None` when there are too many.
        fn try_clone(&self) -> Option<Self>;
        /// Gives the reference back as if the entry had not been used.
        fn release_unused(self);
    }

    /// The operations of a primary.
    pub trait Engine: Sized + Send + Sync + Debug + 'static {
        /// References to entries.
        type Pin: Pin + 'static;

        /// An empty primary. Allocates nothing of size before the first insert.
        fn create(settings: Settings) -> Self;
        /// Finds an entry and pins it.
        fn lookup(&self, key: CacheKey) -> Found<Self::Pin>;
        /// Charges and links a value unless its key is resident.
        fn insert(
            &self,
            key: CacheKey,
            value: ErasedValue,
            attributes: Attributes,
            observer: &impl Observer,
        ) -> Insertion<Self::Pin>;
        /// A value that no lookup finds. Charged, unless the cache is strict and has no room; the flag tells.
        fn standalone(&self, value: ErasedValue, attributes: Attributes, observer: &impl Observer)
        -> (Self::Pin, bool);
        /// Makes a key unreachable; false if it was not resident. The value lives until its last pin is dropped.
        fn erase(&self, key: CacheKey) -> bool;
        /// Entries that lookups can find.
        fn occupancy(&self) -> u64;
        /// Bytes of the table itself.
        fn table_bytes(&self) -> usize;
        /// Shows each entry that is in the cache during the whole call; others perhaps.
        fn for_each(&self, visit: &mut dyn FnMut(EntryInfo));
        /// Counts entries and pins by a walk.
        fn census(&self) -> Census;
        /// Checks all invariants of the structure while no other call is in flight; returns the bytes of all entries.
        fn validate(&self) -> Result<u64, String>;
    }
}
