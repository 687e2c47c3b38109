//! The cache: one budget, many types of blocks, reached through typed views.

use crate::budget::Budget;
use crate::builder::Builder;
use crate::primary::sealed::{Engine, Pin};
use crate::primary::{Clock, EntryInfo, Observer, Primary};
use crate::primitive::Arc;
use crate::single_flight::SingleFlight;
use crate::stats::{Event, Recorder, Stats};
use crate::view::{CacheValue, View};
use crate::{CacheKey, Role};
use std::fmt;
use std::sync::Arc as StdArc;

/// A block cache with a capacity in bytes. Cheap to clone; clones are the same cache.
///
/// See the [crate documentation](crate) for an example.
pub struct BlockCache<P: Primary = Clock> {
    inner: StdArc<Inner<P>>,
}

struct Inner<P: Primary> {
    engine: P,
    flights: SingleFlight<<P as Engine>::Pin>,
    recorder: Recorder,
    budget: Arc<Budget>,
    metadata_charge: u64,
}

impl<P: Primary> Clone for BlockCache<P> {
    fn clone(&self) -> Self {
        Self { inner: self.inner.clone() }
    }
}

impl<P: Primary> fmt::Debug for BlockCache<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BlockCache")
            .field("capacity", &self.capacity())
            .field("usage", &self.usage())
            .field("occupancy", &self.occupancy())
            .field("strict_capacity", &self.is_strict())
            .finish_non_exhaustive()
    }
}

impl Observer for Recorder {
    fn evicted(&self, role: Role) {
        self.count(role, Event::Eviction);
    }
}

impl BlockCache {
    /// A cache of `capacity` bytes with all defaults; [`BlockCache::builder`] has the options.
    ///
    /// Allocates a few hundred bytes; tables are made on first use.
    #[must_use]
    pub fn new(capacity: usize) -> Self {
        Builder::new().capacity(capacity).assemble()
    }

    /// Starts to build a cache.
    pub fn builder() -> Builder {
        Builder::new()
    }
}

impl<P: Primary> BlockCache<P> {
    pub(crate) fn assemble(engine: P, budget: Arc<Budget>, metadata_charge: u64) -> Self {
        let inner = Inner { engine, flights: SingleFlight::new(), recorder: Recorder::new(), budget, metadata_charge };
        Self { inner: StdArc::new(inner) }
    }

    pub(crate) fn engine(&self) -> &P {
        &self.inner.engine
    }

    pub(crate) fn flights(&self) -> &SingleFlight<<P as Engine>::Pin> {
        &self.inner.flights
    }

    pub(crate) fn recorder(&self) -> &Recorder {
        &self.inner.recorder
    }

    /// A typed window on the cache, inserting under `role` with [`Priority::Low`](crate::Priority::Low).
    ///
    /// # Panics
    /// When the process already stores 4,096 other types in its caches.
    pub fn view<V: CacheValue>(&self, role: Role) -> View<V, P> {
        View::new(self.clone(), role)
    }

    /// The capacity in bytes.
    pub fn capacity(&self) -> usize {
        usize::try_from(self.inner.budget.capacity()).unwrap_or(usize::MAX)
    }

    /// Whether the capacity is strict: no insert takes the usage above it.
    pub fn is_strict(&self) -> bool {
        self.inner.budget.is_strict()
    }

    /// The bytes that each entry is charged with beside its value's charge.
    pub fn metadata_charge(&self) -> usize {
        self.inner.metadata_charge as usize
    }

    /// Bytes charged: all entries, erased ones that are still held, and standalone ones, each with its metadata charge.
    /// Exact when no call is in flight. One load.
    pub fn usage(&self) -> usize {
        usize::try_from(self.inner.budget.usage()).unwrap_or(usize::MAX)
    }

    /// The part of [`BlockCache::usage`] that handles hold. A walk over the table.
    pub fn pinned_usage(&self) -> usize {
        let pinned = self.engine().census().pinned_bytes.saturating_add(self.inner.budget.standalone());
        usize::try_from(pinned).unwrap_or(usize::MAX)
    }

    /// Entries that lookups can find. Exact when no call is in flight; costs one load per shard.
    pub fn occupancy(&self) -> usize {
        usize::try_from(self.engine().occupancy()).unwrap_or(usize::MAX)
    }

    /// Counters by role. Exact when no call is in flight; costs threads x roles loads.
    pub fn stats(&self) -> Stats {
        self.recorder().snapshot(self.engine().table_bytes())
    }

    /// Whether a key is resident. Not counted as a use, nor in the statistics.
    pub fn contains(&self, key: &CacheKey) -> bool {
        match self.engine().lookup(*key) {
            crate::primary::Found::Hit(pin) => {
                pin.release_unused();
                true
            }
            crate::primary::Found::Saturated => true,
            crate::primary::Found::Miss => false,
        }
    }

    /// Removes a key; false if it was not resident. Handles to its value stay valid, and it stays charged until the last
    /// of them is dropped.
    pub fn erase(&self, key: &CacheKey) -> bool {
        self.engine().erase(*key)
    }

    /// Shows every entry that is in the cache during the whole call, and perhaps others. A walk over the table; no lock is
    /// held while `visit` runs, which may use the cache. Not counted as a use.
    pub fn for_each(&self, mut visit: impl FnMut(EntryInfo)) {
        self.engine().for_each(&mut visit);
    }

    /// Checks every invariant of the cache and describes the first that does not hold. Only meaningful while no other call
    /// is in flight; a walk over everything.
    pub fn validate(&self) -> Result<(), String> {
        let entries = self.engine().validate()?;
        let standalone = self.inner.budget.standalone();
        let usage = self.inner.budget.usage();
        if usage != entries.wrapping_add(standalone) {
            return Err(format!("usage is {usage}, entries are charged {entries}, standalone ones {standalone}"));
        }
        if !self.inner.flights.is_empty() {
            return Err("a load is registered, but none is running".to_owned());
        }
        Ok(())
    }
}
