//! What a benchmark needs of a cache: two traits, and what it is built from.
//!
//! [`ReadCache`] is enough for workloads that fill once and then look up, so that a plain map can take part in them;
//! [`Cache`] adds what changes entries while other threads read. To add a cache, implement them on a newtype and name it where
//! names are turned into types: nothing else knows which caches exist.

use std::ops::Deref;

use hyperclock::CacheKey;

use crate::block::Block;

/// What an entry is charged beside its value, where the cache's own memory is charged: what hyperclock charges.
pub const METADATA: usize = 64;

/// What a cache is built from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CacheSettings {
    /// Capacity in bytes of values, and of metadata where it is charged.
    pub capacity: usize,
    /// Entries that the capacity holds, for caches that want to know in advance.
    pub entries: usize,
    /// Bytes of each value.
    pub value_bytes: usize,
    /// Whether entries are charged for the cache's own memory: [`METADATA`] bytes each, whatever the cache, so that all
    /// caches of a capacity hold as many.
    pub charge_metadata: bool,
    /// Whether room for the entries may be made in advance: not where the cost of an empty cache is measured.
    pub presize: bool,
    /// Seed of the cache's hash, where it can be set.
    pub seed: u64,
}

impl CacheSettings {
    /// What an entry is charged beside its value.
    pub fn metadata_charge(&self) -> usize {
        if self.charge_metadata { METADATA } else { 0 }
    }
}

/// A cache that can be filled and read.
pub trait ReadCache: Sync + Sized {
    /// The values.
    type Block: Block;
    /// What keeps a value alive: taken on a hit, dropped by the reader.
    type Handle: Deref<Target = Self::Block>;

    /// An empty cache.
    fn build(settings: &CacheSettings) -> Self;

    /// Puts a value in while nobody reads.
    fn fill(&mut self, key: CacheKey, block: Self::Block);

    /// Ends the work that a fill left for later, where the cache puts work off.
    fn settle(&mut self) {}

    /// Looks a key up.
    fn get(&self, key: CacheKey) -> Option<Self::Handle>;

    /// Looks a key up and uses the value without keeping it; false on a miss. Caches with a cheaper way than a handle use it.
    fn read(&self, key: CacheKey, using: impl FnOnce(&Self::Block)) -> bool {
        match self.get(key) {
            Some(handle) => {
                using(&handle);
                true
            }
            None => false,
        }
    }

    /// Entries, exact while no call runs, as far as the cache can tell.
    fn entries(&self) -> u64;
}

/// A cache whose entries change while it is read.
pub trait Cache: ReadCache {
    /// Puts a value in and keeps a handle to it, or to the value that was there.
    fn insert(&self, key: CacheKey, block: Self::Block) -> Self::Handle;

    /// Puts a value in and keeps nothing.
    fn put(&self, key: CacheKey, block: Self::Block) {
        drop(self.insert(key, block));
    }

    /// Removes a key. Not every cache tells whether it was there, and one that had to find out would look it up twice.
    fn erase(&self, key: CacheKey);
}
