//! Maps that evict nothing: what a lookup costs where nothing bounds the memory.
//!
//! A scoped read borrows the value from the map, under dashmap's lock or papaya's guard, and clones no `Arc`.

use std::sync::Arc;

use ahash::RandomState;
use hyperclock::CacheKey;
use hyperclock_bench::{Block, CacheSettings, ReadCache};

/// dashmap: shards of a hash table, each behind a reader-writer lock.
pub(crate) struct DashMap<V: Block>(dashmap::DashMap<CacheKey, Arc<V>, RandomState>);

impl<V: Block> ReadCache for DashMap<V> {
    type Block = V;
    type Handle = Arc<V>;

    fn build(settings: &CacheSettings) -> Self {
        Self(dashmap::DashMap::with_capacity_and_hasher(super::presized(settings), super::hasher(settings)))
    }

    fn fill(&mut self, key: CacheKey, block: V) {
        self.0.insert(key, Arc::new(block));
    }

    #[inline]
    fn get(&self, key: CacheKey) -> Option<Arc<V>> {
        self.0.get(&key).map(|entry| Arc::clone(&entry))
    }

    #[inline]
    fn read(&self, key: CacheKey, using: impl FnOnce(&V)) -> bool {
        self.0.view(&key, |_, block| using(block)).is_some()
    }

    fn entries(&self) -> u64 {
        self.0.len() as u64
    }
}

/// papaya: a lock-free hash table with deferred reclamation.
pub(crate) struct Papaya<V: Block>(papaya::HashMap<CacheKey, Arc<V>, RandomState>);

impl<V: Block> ReadCache for Papaya<V> {
    type Block = V;
    type Handle = Arc<V>;

    fn build(settings: &CacheSettings) -> Self {
        Self(papaya::HashMap::builder().capacity(super::presized(settings)).hasher(super::hasher(settings)).build())
    }

    fn fill(&mut self, key: CacheKey, block: V) {
        self.0.pin().insert(key, Arc::new(block));
    }

    #[inline]
    fn get(&self, key: CacheKey) -> Option<Arc<V>> {
        self.0.pin().get(&key).map(Arc::clone)
    }

    #[inline]
    fn read(&self, key: CacheKey, using: impl FnOnce(&V)) -> bool {
        self.0.pin().get(&key).map(|block| using(block)).is_some()
    }

    fn entries(&self) -> u64 {
        self.0.len() as u64
    }
}

/// The hash table alone, which only one thread could change.
pub(crate) struct HashMap<V: Block>(hashbrown::HashMap<CacheKey, Arc<V>, RandomState>);

impl<V: Block> ReadCache for HashMap<V> {
    type Block = V;
    type Handle = Arc<V>;

    fn build(settings: &CacheSettings) -> Self {
        Self(hashbrown::HashMap::with_capacity_and_hasher(super::presized(settings), super::hasher(settings)))
    }

    fn fill(&mut self, key: CacheKey, block: V) {
        self.0.insert(key, Arc::new(block));
    }

    #[inline]
    fn get(&self, key: CacheKey) -> Option<Arc<V>> {
        self.0.get(&key).map(Arc::clone)
    }

    #[inline]
    fn read(&self, key: CacheKey, using: impl FnOnce(&V)) -> bool {
        self.0.get(&key).map(|block| using(block)).is_some()
    }

    fn entries(&self) -> u64 {
        self.0.len() as u64
    }
}
