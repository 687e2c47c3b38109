//! moka and mini-moka: W-TinyLFU behind concurrent maps, with maintenance that is put off and done in batches.
//!
//! Their entry counts lag behind; `settle` does what is pending.

use std::sync::Arc;

use ahash::RandomState;
use hyperclock::CacheKey;
use hyperclock_bench::{Block, Cache, CacheSettings, ReadCache};
use mini_moka::sync::ConcurrentCacheExt;

/// Weighs a value by its bytes. Weights have 32 bits.
fn weigher<V: Block>(settings: &CacheSettings) -> impl Fn(&CacheKey, &Arc<V>) -> u32 + Send + Sync + 'static {
    let metadata = settings.metadata_charge();
    move |_, block| u32::try_from(block.charge() + metadata).unwrap_or(u32::MAX)
}

pub(crate) struct Moka<V: Block>(moka::sync::Cache<CacheKey, Arc<V>, RandomState>);

impl<V: Block> ReadCache for Moka<V> {
    type Block = V;
    type Handle = Arc<V>;

    fn build(settings: &CacheSettings) -> Self {
        Self(
            moka::sync::Cache::builder()
                .max_capacity(settings.capacity as u64)
                .initial_capacity(super::presized(settings))
                .weigher(weigher(settings))
                .build_with_hasher(super::hasher(settings)),
        )
    }

    fn fill(&mut self, key: CacheKey, block: V) {
        self.put(key, block);
    }

    fn settle(&mut self) {
        self.0.run_pending_tasks();
    }

    #[inline]
    fn get(&self, key: CacheKey) -> Option<Arc<V>> {
        self.0.get(&key)
    }

    fn entries(&self) -> u64 {
        self.0.entry_count()
    }
}

impl<V: Block> Cache for Moka<V> {
    #[inline]
    fn insert(&self, key: CacheKey, block: V) -> Arc<V> {
        let block = Arc::new(block);
        self.0.insert(key, Arc::clone(&block));
        block
    }

    #[inline]
    fn put(&self, key: CacheKey, block: V) {
        self.0.insert(key, Arc::new(block));
    }

    #[inline]
    fn erase(&self, key: CacheKey) {
        self.0.invalidate(&key);
    }
}

pub(crate) struct MiniMoka<V: Block>(mini_moka::sync::Cache<CacheKey, Arc<V>, RandomState>);

impl<V: Block> ReadCache for MiniMoka<V> {
    type Block = V;
    type Handle = Arc<V>;

    fn build(settings: &CacheSettings) -> Self {
        Self(
            mini_moka::sync::Cache::builder()
                .max_capacity(settings.capacity as u64)
                .initial_capacity(super::presized(settings))
                .weigher(weigher(settings))
                .build_with_hasher(super::hasher(settings)),
        )
    }

    fn fill(&mut self, key: CacheKey, block: V) {
        self.put(key, block);
    }

    fn settle(&mut self) {
        self.0.sync();
    }

    #[inline]
    fn get(&self, key: CacheKey) -> Option<Arc<V>> {
        self.0.get(&key)
    }

    fn entries(&self) -> u64 {
        self.0.entry_count()
    }
}

impl<V: Block> Cache for MiniMoka<V> {
    #[inline]
    fn insert(&self, key: CacheKey, block: V) -> Arc<V> {
        let block = Arc::new(block);
        self.0.insert(key, Arc::clone(&block));
        block
    }

    #[inline]
    fn put(&self, key: CacheKey, block: V) {
        self.0.insert(key, Arc::new(block));
    }

    #[inline]
    fn erase(&self, key: CacheKey) {
        self.0.invalidate(&key);
    }
}
