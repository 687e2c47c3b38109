//! A mix of operations with handles kept, after RocksDB's `cache_bench`.
//!
//! Keys are drawn with a skew: the least of `skew + 1` even draws over as many keys as would fill `1 / resident_ratio` caches.
//! Each operation is one of five, by percentages: a lookup that inserts on a miss, an insert that keeps a handle, one that
//! keeps none, a lookup alone, an erase. Handles are not dropped at once but kept in a queue of each thread, so that a share
//! of the capacity is pinned at any time; the oldest goes when the queue is over its length.
//!
//! A latency is that of a whole operation, with the making of the value, and with its reading unless the run is lean, as
//! `cache_bench` has it. Names and defaults are its too, but for the number of threads and the length of a run.

use std::collections::VecDeque;
use std::fmt;
use std::hint::black_box;

use hyperclock::CacheKey;
use serde::Serialize;

use crate::block::Block;
use crate::cache::{Cache, CacheSettings};
use crate::draws::key_of;
use crate::memory::resident_bytes;
use crate::random::Random;
use crate::report::{PlanSettings, Report};
use crate::runner::{Plan, Probe, Tally, Workload, measure};
use crate::start::CannotStart;

/// The stream of the fill.
const FILLING: u64 = u64::MAX;

/// The fill ends when so many drawn keys in a row were resident.
const RESIDENT_IN_A_ROW: u32 = 100;

/// How often each operation is made, in percent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Percentages {
    /// Lookup, and insert on a miss.
    pub lookup_insert_percent: u8,
    /// Insert, keeping a handle.
    pub insert_percent: u8,
    /// Insert, keeping none.
    pub blind_insert_percent: u8,
    /// Lookup alone.
    pub lookup_percent: u8,
    /// Erase.
    pub erase_percent: u8,
}

impl Default for Percentages {
    fn default() -> Self {
        Self {
            lookup_insert_percent: 82,
            insert_percent: 2,
            blind_insert_percent: 5,
            lookup_percent: 10,
            erase_percent: 1,
        }
    }
}

impl Percentages {
    /// In the order of the fields.
    fn all(self) -> [u8; 5] {
        [
            self.lookup_insert_percent,
            self.insert_percent,
            self.blind_insert_percent,
            self.lookup_percent,
            self.erase_percent,
        ]
    }

    /// Their sum, which must be 100.
    pub fn sum(self) -> u32 {
        self.all().into_iter().map(u32::from).sum()
    }
}

/// The benchmark.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Mixed {
    /// Who runs.
    pub plan: Plan,
    /// Capacity of the cache.
    pub cache_bytes: usize,
    /// Bytes of each value, at least 1.
    pub value_bytes: usize,
    /// The share of all keys that fits, above 0.
    pub resident_ratio: f64,
    /// The share of the capacity that handles pin, over all threads.
    pub pinned_ratio: f64,
    /// Even draws of which the least is taken, less one.
    pub skew: u32,
    /// If not 0, keys have only so many bits of different places in hyperclock's tables, to see what collisions cost.
    pub degenerate_hash_bits: u32,
    /// How often each operation is made.
    pub percentages: Percentages,
    /// Whether values that were found are left unread.
    pub lean: bool,
    /// Whether the cache is filled before.
    pub populate: bool,
    /// Whether entries are charged for the cache's own memory.
    pub charge_metadata: bool,
}

/// The settings as the report shows them.
#[derive(Clone, Debug, Serialize)]
pub struct Settings {
    #[serde(flatten)]
    plan: PlanSettings,
    cache_bytes: usize,
    value_bytes: usize,
    resident_ratio: f64,
    pinned_ratio: f64,
    skew: u32,
    degenerate_hash_bits: u32,
    #[serde(flatten)]
    percentages: Percentages,
    lean: bool,
    populate: bool,
    charge_metadata: bool,
    keys: u64,
    pinned_handles: u64,
}

/// The workload, with what follows from the settings.
struct Mix {
    keys: u64,
    skew: u32,
    degenerate_hash_bits: u32,
    seed: u64,
    value_bytes: usize,
    lean: bool,
    threads: u64,
    pinned_handles: u64,
    /// The percentages added up, in their order: an operation is the first whose sum is above a draw below 100.
    sums: [u64; 5],
}

/// What a thread keeps.
struct Worker<H> {
    random: Random,
    pinned: VecDeque<H>,
    pinned_most: usize,
}

impl<H> fmt::Debug for Worker<H> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Worker").field("pinned", &self.pinned.len()).finish_non_exhaustive()
    }
}

impl Mix {
    fn new(settings: &Mixed) -> Self {
        let mut sum = 0;
        let threads = u64::from(settings.plan.threads);
        Self {
            keys: settings.keys(),
            skew: settings.skew,
            degenerate_hash_bits: settings.degenerate_hash_bits,
            seed: settings.plan.seed,
            value_bytes: settings.value_bytes,
            lean: settings.lean,
            threads,
            pinned_handles: settings.pinned_handles(),
            sums: settings.percentages.all().map(|percent| {
                sum += u64::from(percent);
                sum
            }),
        }
    }

    #[inline]
    fn draw(&self, random: &mut Random) -> CacheKey {
        let least = (0..self.skew).fold(random.next_u64(), |least, _| least.min(random.next_u64()));
        self.key(((u128::from(least) * u128::from(self.keys)) >> 64) as u64)
    }

    #[inline]
    fn key(&self, rank: u64) -> CacheKey {
        if self.degenerate_hash_bits == 0 {
            return key_of(rank);
        }
        // As many places as wanted, spread over shards and buckets by any odd constant.
        let place = rank & ((1 << self.degenerate_hash_bits.min(63)) - 1);
        CacheKey::with_hash(self.seed, place.wrapping_mul(0x9E37_79B9_7F4A_7C15), rank)
    }

    fn block<B: Block>(&self, key: CacheKey) -> B {
        B::new(key, self.value_bytes)
    }

    /// Looks up and reads.
    #[inline]
    fn lookup<C: Cache>(&self, cache: &C, key: CacheKey, tally: &mut Tally) -> Option<C::Handle> {
        let found = cache.get(key);
        tally.lookup(found.is_some());
        if let Some(handle) = &found {
            debug_assert!(handle.is_of(key));
            if !self.lean {
                black_box(handle.sum());
            }
        }
        found
    }

    /// Fills a cache with keys as they will be drawn, until they are mostly resident or the capacity was inserted.
    fn populate<C: Cache>(&self, cache: &C, capacity: usize, mut random: Random) {
        let mut inserted = 0_usize;
        let mut resident_in_a_row = 0;
        while resident_in_a_row < RESIDENT_IN_A_ROW && inserted < capacity {
            let key = self.draw(&mut random);
            if cache.get(key).is_some() {
                resident_in_a_row += 1;
            } else {
                resident_in_a_row = 0;
                cache.put(key, self.block(key));
                inserted = inserted.saturating_add(self.value_bytes);
            }
        }
    }
}

impl<C: Cache> Workload<C> for Mix {
    type Thread = Worker<C::Handle>;

    fn thread(&self, _cache: &C, stream: u64, random: Random) -> Self::Thread {
        // The handles in equal parts, the first threads taking what is left over.
        let (share, rest) = (self.pinned_handles / self.threads, self.pinned_handles % self.threads);
        let pinned_most = (share + u64::from(stream % self.threads < rest)) as usize;
        Worker { random, pinned: VecDeque::new(), pinned_most }
    }

    #[inline]
    fn step<P: Probe>(&self, cache: &C, worker: &mut Self::Thread, tally: &mut Tally, mut probe: P) {
        let key = self.draw(&mut worker.random);
        let draw = worker.random.below(100);
        let handle = probe.time(|| match self.sums.iter().position(|&sum| draw < sum) {
            Some(0) => Some(self.lookup(cache, key, tally).unwrap_or_else(|| cache.insert(key, self.block(key)))),
            Some(1) => Some(cache.insert(key, self.block(key))),
            Some(2) => {
                cache.put(key, self.block(key));
                None
            }
            Some(3) => self.lookup(cache, key, tally),
            _ => {
                cache.erase(key);
                None
            }
        });
        worker.pinned.extend(handle);
        while worker.pinned.len() > worker.pinned_most {
            worker.pinned.pop_front();
        }
    }
}

impl Mixed {
    /// Keys that are drawn from: at least 1.
    fn keys(&self) -> u64 {
        let fitting = self.cache_bytes as f64 / self.value_bytes.max(1) as f64;
        #[expect(clippy::cast_sign_loss, reason = "sizes and ratios are not negative")]
        let keys = (fitting / self.resident_ratio) as u64;
        keys.max(1)
    }

    /// Handles kept over all threads.
    fn pinned_handles(&self) -> u64 {
        let pinned = self.cache_bytes as f64 * self.pinned_ratio / self.value_bytes.max(1) as f64;
        #[expect(clippy::cast_sign_loss, reason = "sizes and ratios are not negative")]
        let handles = pinned.ceil() as u64;
        handles
    }

    /// Fills a cache and measures it.
    ///
    /// # Errors
    /// When the system refuses a thread.
    pub fn run<C: Cache>(&self) -> Result<Report<Settings>, CannotStart> {
        let mix = Mix::new(self);
        let mut cache = C::build(&CacheSettings {
            capacity: self.cache_bytes,
            entries: self.cache_bytes / self.value_bytes.max(1),
            value_bytes: self.value_bytes,
            charge_metadata: self.charge_metadata,
            presize: true,
            seed: self.plan.seed,
        });
        if self.populate {
            mix.populate(&cache, self.cache_bytes, Random::stream(self.plan.seed, FILLING));
            cache.settle();
        }
        let figures = measure(&cache, &mix, &self.plan)?;
        Ok(Report {
            workload: "cache",
            figures,
            entries: cache.entries(),
            rss_bytes: resident_bytes(),
            rss_bytes_per_entry: None,
            settings: Settings {
                plan: (&self.plan).into(),
                cache_bytes: self.cache_bytes,
                value_bytes: self.value_bytes,
                resident_ratio: self.resident_ratio,
                pinned_ratio: self.pinned_ratio,
                skew: self.skew,
                degenerate_hash_bits: self.degenerate_hash_bits,
                percentages: self.percentages,
                lean: self.lean,
                populate: self.populate,
                charge_metadata: self.charge_metadata,
                keys: mix.keys,
                pinned_handles: mix.pinned_handles,
            },
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::block::Buffer;
    use crate::cache::ReadCache;
    use crate::clock::HyperClock;
    use crate::runner::Length;
    use std::collections::HashSet;

    fn mixed() -> Mixed {
        Mixed {
            plan: Plan { threads: 2, length: Length::Operations(2000), seed: 3 },
            cache_bytes: 1 << 20,
            value_bytes: 1000,
            resident_ratio: 0.25,
            pinned_ratio: 0.25,
            skew: 5,
            degenerate_hash_bits: 0,
            percentages: Percentages::default(),
            lean: false,
            populate: true,
            charge_metadata: true,
        }
    }

    #[test]
    fn the_default_percentages_are_a_whole() {
        assert_eq!(Percentages::default().sum(), 100);
    }

    #[test]
    fn draws_lean_to_low_keys_and_cover_the_rest() {
        let mix = Mix { keys: 100, ..Mix::new(&mixed()) };
        let rank_of: std::collections::HashMap<_, _> = (0..100).map(|rank| (key_of(rank), rank)).collect();
        let mut random = Random::new(1);
        let mut sum = 0;
        for _ in 0..10_000 {
            sum += rank_of[&mix.draw(&mut random)];
        }
        // The least of 6 even draws has its mean at a seventh.
        assert!((130_000..147_000).contains(&sum), "{sum}");
    }

    #[test]
    fn pinned_handles_are_shared_out() {
        let mixed = Mixed { cache_bytes: 100_000, plan: Plan { threads: 4, ..mixed().plan }, ..mixed() };
        assert_eq!((mixed.keys(), mixed.pinned_handles()), (400, 25));
        let mix = Mix::new(&mixed);
        let cache = HyperClock::<Buffer>::build(&CacheSettings {
            capacity: 1000,
            entries: 1,
            value_bytes: 1000,
            charge_metadata: true,
            presize: true,
            seed: 0,
        });
        let most: Vec<_> = (0..8).map(|stream| mix.thread(&cache, stream, Random::new(0)).pinned_most).collect();
        assert_eq!(most, [7, 6, 6, 6, 7, 6, 6, 6]);
    }

    #[test]
    fn a_run_looks_up_as_often_as_the_percentages_say() {
        let report = mixed().run::<HyperClock<Buffer>>().unwrap();
        let figures = &report.figures;
        assert_eq!(figures.operations, 4000);
        assert!(figures.hit_ratio.is_some_and(|ratio| (0.4..0.95).contains(&ratio)), "{figures:?}");
        let only =
            Percentages { lookup_insert_percent: 0, lookup_percent: 0, erase_percent: 93, ..Percentages::default() };
        let report = Mixed { percentages: only, ..mixed() }.run::<HyperClock<Buffer>>().unwrap();
        assert_eq!(report.figures.hit_ratio, None);
    }

    #[test]
    fn degenerate_keys_differ_and_collide() {
        let mix = Mix::new(&Mixed { degenerate_hash_bits: 3, ..mixed() });
        let keys: HashSet<_> = (0..1000).map(|rank| mix.key(rank)).collect();
        assert_eq!(keys.len(), 1000);
        let cache = hyperclock::BlockCache::builder().seed(mix.seed).build().unwrap();
        let view = cache.view::<crate::Inline<64>>(hyperclock::Role::MISC);
        for &key in &keys {
            view.insert(key, crate::Inline::new(key, 64)).unwrap();
        }
        cache.validate().unwrap();
        assert!(keys.iter().all(|key| view.get(key).unwrap().is_some()));
    }
}
