//! hyperclock behind the benchmark's traits.

use hyperclock::{BlockCache, CacheKey, Handle, MetadataCharge, Role, View};

use crate::block::Block;
use crate::cache::{Cache, CacheSettings, ReadCache};

/// A block cache with the clock table, read through one view: `PRESIZED` for the entries that are expected, or growing by itself.
#[derive(Debug)]
pub struct HyperClock<V: Block, const PRESIZED: bool = false> {
    blocks: View<V>,
}

impl<V: Block, const PRESIZED: bool> ReadCache for HyperClock<V, PRESIZED> {
    type Block = V;
    type Handle = Handle<V>;

    fn build(settings: &CacheSettings) -> Self {
        let metadata = if settings.charge_metadata { MetadataCharge::Full } else { MetadataCharge::None };
        let mut builder =
            BlockCache::builder().capacity(settings.capacity).metadata_charge(metadata).seed(settings.seed);
        if PRESIZED {
            builder = builder.estimated_entry_charge(settings.value_bytes);
        }
        let cache =
            builder.build().unwrap_or_else(|error| unreachable!("every capacity and seed is accepted: {error}"));
        Self { blocks: cache.view(Role::DATA_BLOCK) }
    }

    fn fill(&mut self, key: CacheKey, block: V) {
        self.put(key, block);
    }

    #[inline]
    fn get(&self, key: CacheKey) -> Option<Handle<V>> {
        // A benchmark's cache has values of one type only.
        self.blocks.get(&key).ok().flatten()
    }

    #[inline]
    fn read(&self, key: CacheKey, using: impl FnOnce(&V)) -> bool {
        self.blocks.read(&key, using).ok().flatten().is_some()
    }

    fn entries(&self) -> u64 {
        self.blocks.cache().occupancy() as u64
    }
}

impl<V: Block, const PRESIZED: bool> Cache for HyperClock<V, PRESIZED> {
    #[inline]
    fn insert(&self, key: CacheKey, block: V) -> Handle<V> {
        // The capacity is not strict, so that an insert does not fail.
        self.blocks.insert(key, block).unwrap_or_else(|error| self.blocks.standalone(error.into_value()))
    }

    #[inline]
    fn erase(&self, key: CacheKey) {
        self.blocks.erase(&key);
    }
}
