//! foyer's memory cache with four of its policies: an intrusive container in each shard, behind a lock, and counted records.
//!
//! Values are kept in foyer's own records, and its entry handle is the handle.

use std::marker::PhantomData;

use ahash::RandomState;
use foyer_memory::{
    Cache as Inner, CacheBuilder, CacheEntry, EvictionConfig, LfuConfig, LruConfig, S3FifoConfig, SieveConfig,
};
use hyperclock::CacheKey;
use hyperclock_bench::{Block, Cache, CacheSettings, ReadCache};

/// A policy, with its default parameters.
pub(crate) trait Policy: Send + Sync + 'static {
    fn config() -> EvictionConfig;
}

macro_rules! policies {
    ($($policy:ident, $config:ty, $alias:ident;)+) => {$(
        pub(crate) struct $policy;

        impl Policy for $policy {
            fn config() -> EvictionConfig {
                <$config>::default().into()
            }
        }

        pub(crate) type $alias<V> = Foyer<V, $policy>;
    )+};
}

policies! {
    Lru, LruConfig, FoyerLru;
    Lfu, LfuConfig, FoyerLfu;
    S3Fifo, S3FifoConfig, FoyerS3Fifo;
    Sieve, SieveConfig, FoyerSieve;
}

pub(crate) struct Foyer<V: Block, P> {
    cache: Inner<CacheKey, V, RandomState>,
    policy: PhantomData<P>,
}

impl<V: Block, P: Policy> ReadCache for Foyer<V, P> {
    type Block = V;
    type Handle = CacheEntry<CacheKey, V, RandomState>;

    fn build(settings: &CacheSettings) -> Self {
        let metadata = settings.metadata_charge();
        let cache = CacheBuilder::new(settings.capacity)
            .with_shards(super::shards())
            .with_eviction_config(P::config())
            .with_hash_builder(super::hasher(settings))
            .with_weighter(move |_: &CacheKey, block: &V| block.charge() + metadata)
            .build();
        Self { cache, policy: PhantomData }
    }

    fn fill(&mut self, key: CacheKey, block: V) {
        self.put(key, block);
    }

    #[inline]
    fn get(&self, key: CacheKey) -> Option<Self::Handle> {
        self.cache.get(&key)
    }

    fn entries(&self) -> u64 {
        self.cache.entries() as u64
    }
}

impl<V: Block, P: Policy> Cache for Foyer<V, P> {
    #[inline]
    fn insert(&self, key: CacheKey, block: V) -> Self::Handle {
        self.cache.insert(key, block)
    }

    #[inline]
    fn erase(&self, key: CacheKey) {
        self.cache.remove(&key);
    }
}
