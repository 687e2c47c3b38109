//! quick_cache: a Clock-PRO relative in shards, each behind a reader-writer lock.

use std::sync::Arc;

use ahash::RandomState;
use hyperclock::CacheKey;
use hyperclock_bench::{Block, Cache, CacheSettings, ReadCache};
use quick_cache::sync::{Cache as Inner, DefaultLifecycle};
use quick_cache::{OptionsBuilder, Weighter};

/// Weighs a value by its bytes.
#[derive(Clone)]
struct Bytes {
    metadata: usize,
}

impl<V: Block> Weighter<CacheKey, Arc<V>> for Bytes {
    fn weight(&self, _key: &CacheKey, block: &Arc<V>) -> u64 {
        (block.charge() + self.metadata) as u64
    }
}

pub(crate) struct QuickCache<V: Block>(Inner<CacheKey, Arc<V>, Bytes, RandomState>);

impl<V: Block> ReadCache for QuickCache<V> {
    type Block = V;
    type Handle = Arc<V>;

    fn build(settings: &CacheSettings) -> Self {
        let options = OptionsBuilder::new()
            .estimated_items_capacity(settings.entries)
            .weight_capacity(settings.capacity as u64)
            .build()
            .unwrap_or_else(|error| unreachable!("both capacities are set: {error}"));
        let weighter = Bytes { metadata: settings.metadata_charge() };
        Self(Inner::with_options(options, weighter, super::hasher(settings), DefaultLifecycle::default()))
    }

    fn fill(&mut self, key: CacheKey, block: V) {
        self.put(key, block);
    }

    #[inline]
    fn get(&self, key: CacheKey) -> Option<Arc<V>> {
        self.0.get(&key)
    }

    fn entries(&self) -> u64 {
        self.0.len() as u64
    }
}

impl<V: Block> Cache for QuickCache<V> {
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
        self.0.remove(&key);
    }
}
