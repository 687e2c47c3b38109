//! How a cache is configured.

use crate::block_cache::BlockCache;
use crate::budget::Budget;
use crate::error::BuildError;
use crate::key::KeyMixer;
use crate::primary::sealed::Engine;
use crate::primary::{Clock, Settings};
use crate::primitive::Arc;
use std::sync::OnceLock;

/// What an entry is charged with beside its value: its slot, its share of the index, and its part of their slack.
const METADATA_BYTES: u64 = 64;
/// The largest number of shards.
const MAX_SHARDS: usize = 1 << 10;
/// The smallest capacity that an automatically chosen shard stands for.
const SHARD_CAPACITY: usize = 4 << 20;
/// Shards per processor that are chosen automatically: enough that two threads seldom meet in one.
const SHARDS_PER_PROCESSOR: usize = 4;

/// Whether entries are charged for what the cache itself needs for them.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum MetadataCharge {
    /// Each entry is charged 64 bytes beside its value's charge. The default.
    #[default]
    Full,
    /// Only the value's charge counts: for replays, and for charges that are not in bytes.
    None,
}

/// Configures a [`BlockCache`].
///
/// | option | default |
/// |---|---|
/// | [`capacity`](Builder::capacity) | 32 MiB |
/// | [`strict_capacity`](Builder::strict_capacity) | `false` |
/// | [`metadata_charge`](Builder::metadata_charge) | [`MetadataCharge::Full`] |
/// | [`shards`](Builder::shards) | one per 4 MiB, at most 4 per processor, at most 1,024 |
/// | [`seed`](Builder::seed) | random |
/// | [`effort_cap`](Builder::effort_cap) | 30 |
/// | [`estimated_entry_charge`](Builder::estimated_entry_charge) | none: tables start small |
///
/// ```
/// use hyperclock::BlockCache;
///
/// let cache = BlockCache::builder().capacity(64 << 20).strict_capacity(true).build()?;
/// assert_eq!((cache.capacity(), cache.is_strict()), (64 << 20, true));
/// # Ok::<(), hyperclock::BuildError>(())
/// ```
#[derive(Clone, Debug)]
#[must_use]
pub struct Builder {
    capacity: usize,
    strict: bool,
    metadata_charge: MetadataCharge,
    shards: Option<usize>,
    seed: Option<u64>,
    effort_cap: u32,
    estimated_entry_charge: Option<usize>,
}

impl Builder {
    pub(crate) fn new() -> Self {
        Self {
            capacity: 32 << 20,
            strict: false,
            metadata_charge: MetadataCharge::default(),
            shards: None,
            seed: None,
            effort_cap: 30,
            estimated_entry_charge: None,
        }
    }

    /// The capacity in bytes. Nothing is allocated for it in advance. With 0, nothing is kept. Entries that cost nothing,
    /// by a charge of 0 without a metadata charge, are bounded by no capacity.
    pub fn capacity(mut self, bytes: usize) -> Self {
        self.capacity = bytes;
        self
    }

    /// With `true`, an insert that would take the usage above the capacity fails and gives the value back. With `false`,
    /// inserts always succeed; when too much is pinned, the usage goes above the capacity until later inserts bring it
    /// back.
    pub fn strict_capacity(mut self, strict: bool) -> Self {
        self.strict = strict;
        self
    }

    /// Whether entries are charged for the cache's own memory.
    pub fn metadata_charge(mut self, charge: MetadataCharge) -> Self {
        self.metadata_charge = charge;
        self
    }

    /// The number of tables that the entries are spread over: a power of two up to 1,024. Capacity is not divided among
    /// them.
    pub fn shards(mut self, shards: usize) -> Self {
        self.shards = Some(shards);
        self
    }

    /// Fixes the seed of the key hash, so that two runs place the same keys alike. With the default, each cache has its
    /// own, and keys cannot be chosen to collide.
    pub fn seed(mut self, seed: u64) -> Self {
        self.seed = Some(seed);
        self
    }

    /// How hard an insert into a cache that is not strict looks for something to evict: it stops when it has seen this many
    /// pinned entries for each evicted one. At least 1.
    pub fn effort_cap(mut self, cap: u32) -> Self {
        self.effort_cap = cap;
        self
    }

    /// Makes each shard's index, on its first use, as large as the capacity would need for entries of this charge, so that it
    /// does not grow while the cache fills, nor shrink below that size. An estimate that is wrong costs memory or growth,
    /// nothing else: about 15 bytes for each entry expected. With 0, the metadata charge alone is the estimate.
    pub fn estimated_entry_charge(mut self, bytes: usize) -> Self {
        self.estimated_entry_charge = Some(bytes);
        self
    }

    /// Builds the cache. Costs an allocation of a few hundred bytes.
    pub fn build(self) -> Result<BlockCache, BuildError> {
        if let Some(shards) = self.shards
            && (!shards.is_power_of_two() || shards > MAX_SHARDS)
        {
            return Err(BuildError::Shards { shards, max: MAX_SHARDS });
        }
        if self.effort_cap == 0 {
            return Err(BuildError::EffortCap);
        }
        Ok(self.assemble())
    }

    /// Builds with options that are known to be good.
    pub(crate) fn assemble(self) -> BlockCache {
        let shards = self.shards.unwrap_or_else(|| automatic_shards(self.capacity));
        let metadata_charge = match self.metadata_charge {
            MetadataCharge::Full => METADATA_BYTES,
            MetadataCharge::None => 0,
        };
        let expected_entries = self
            .estimated_entry_charge
            .map_or(0, |charge| self.capacity as u64 / (charge as u64).saturating_add(metadata_charge).max(1));
        let budget = Arc::new(Budget::new(self.capacity, self.strict));
        let engine = Clock::create(Settings {
            budget: budget.clone(),
            shard_bits: shards.ilog2(),
            seed: self.seed.unwrap_or_else(KeyMixer::random_seed),
            metadata_charge,
            effort_cap: u64::from(self.effort_cap),
            expected_entries,
        });
        BlockCache::assemble(engine, budget, metadata_charge)
    }
}

fn automatic_shards(capacity: usize) -> usize {
    // Asked once: the answer costs tens of microseconds.
    static PROCESSORS: OnceLock<usize> = OnceLock::new();
    let processors = *PROCESSORS.get_or_init(|| std::thread::available_parallelism().map_or(1, usize::from));
    let most = processors.saturating_mul(SHARDS_PER_PROCESSOR).min(MAX_SHARDS);
    1 << (capacity / SHARD_CAPACITY).clamp(1, most).ilog2()
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use super::*;

    #[test]
    fn br_112_any_capacity_and_shard_count_gives_an_index_in_range() {
        for capacity in [0, 1, 4095, 4096, 4 << 20, 1 << 30, usize::MAX] {
            assert!(automatic_shards(capacity).is_power_of_two());
        }
        for shards in [1, 2, 32, 1024] {
            let cache = BlockCache::builder().shards(shards).build().expect("a power of two");
            cache.validate().expect("an empty cache");
        }
        for shards in [0, 3, 63, 65, 2048, usize::MAX] {
            let error = BlockCache::builder().shards(shards).build().expect_err("not a power of two up to 1,024");
            assert_eq!(error, BuildError::Shards { shards, max: 1024 });
        }
        for (capacity, charge) in [(0, 0), (1 << 20, 0), (1 << 20, usize::MAX), (usize::MAX, 1 << 60)] {
            let cache =
                BlockCache::builder().capacity(capacity).estimated_entry_charge(charge).build().expect("any estimate");
            cache.validate().expect("an empty cache");
        }
        assert_eq!(BlockCache::builder().effort_cap(0).build().err(), Some(BuildError::EffortCap));
    }
}
