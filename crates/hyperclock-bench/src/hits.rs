//! Hits only: every lookup finds its key, takes what keeps the value alive, and drops it.
//!
//! The cache is filled with all keys, in shuffled order, so that popular entries are not neighbours in memory; its capacity is
//! twice what they need, so that a cache that divides its capacity among shards evicts nothing. Then keys are drawn by their
//! popularity. The value is not read, unless asked for. That is to the good of a cache that counts references beside its
//! index and not beside the value, as an `Arc` does: the value's first cache line is then never touched. Reading the values
//! takes this away.
//!
//! The memory of the process before and after the fill gives what an entry costs beside its value. Everything that the
//! benchmark itself needs, the drawn ranks and the order of the fill, is allocated before.

use std::fmt;
use std::hint::black_box;

use serde::Serialize;

use crate::block::Block;
use crate::cache::{CacheSettings, METADATA, ReadCache};
use crate::draws::{Draws, key_of, shuffled};
use crate::memory::resident_bytes;
use crate::random::Random;
use crate::report::{PlanSettings, Report};
use crate::runner::{Plan, Probe, Tally, Workload, measure};
use crate::start::CannotStart;
use crate::zipf::Distribution;

/// The stream that draws ranks and shuffles the fill; threads take those from 0.
const DRAWING: u64 = u64::MAX;

/// The benchmark.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Hits {
    /// Who runs.
    pub plan: Plan,
    /// Keys, all of them resident.
    pub entries: u32,
    /// Bytes of each value.
    pub value_bytes: usize,
    /// How keys are drawn.
    pub distribution: Distribution,
    /// Whether each value is read whole.
    pub read_values: bool,
}

/// The settings as the report shows them.
#[derive(Clone, Debug, Serialize)]
pub struct Settings {
    #[serde(flatten)]
    plan: PlanSettings,
    entries: u32,
    value_bytes: usize,
    distribution: String,
    read_values: bool,
    capacity_bytes: usize,
}

struct Lookups {
    draws: Draws,
    read_values: bool,
}

impl<C: ReadCache> Workload<C> for Lookups {
    type Thread = usize;

    fn thread(&self, _cache: &C, _stream: u64, mut random: Random) -> usize {
        self.draws.start(&mut random)
    }

    #[inline]
    fn step<P: Probe>(&self, cache: &C, place: &mut usize, tally: &mut Tally, mut probe: P) {
        let key = key_of(self.draws.next(place));
        let hit = probe.time(|| match cache.get(key) {
            Some(handle) => {
                debug_assert!(handle.is_of(key));
                if self.read_values {
                    black_box(handle.sum());
                }
                drop(black_box(handle));
                true
            }
            None => false,
        });
        tally.lookup(hit);
    }
}

impl Hits {
    /// Fills a cache and measures it.
    ///
    /// # Errors
    /// When the system refuses a thread.
    pub fn run<C: ReadCache>(&self) -> Result<Report<Settings>, CannotStart> {
        self.fill::<C>().measure(&self.plan)
    }

    /// Fills a cache.
    pub fn fill<C: ReadCache>(&self) -> Filled<C> {
        let mut random = Random::stream(self.plan.seed, DRAWING);
        let lookups =
            Lookups { draws: Draws::new(self.distribution, self.entries, &mut random), read_values: self.read_values };
        let order = shuffled(self.entries, &mut random);
        let entries = self.entries as usize;
        let settings = CacheSettings {
            capacity: entries.saturating_mul(self.value_bytes.saturating_add(METADATA)).saturating_mul(2),
            entries,
            value_bytes: self.value_bytes,
            charge_metadata: true,
            presize: true,
            seed: self.plan.seed,
        };

        let before = resident_bytes();
        let mut cache = C::build(&settings);
        for &rank in &order {
            let key = key_of(u64::from(rank));
            cache.fill(key, C::Block::new(key, self.value_bytes));
        }
        cache.settle();
        let after = resident_bytes();
        let resident = cache.entries();
        Filled {
            hits: *self,
            cache,
            lookups,
            capacity: settings.capacity,
            resident,
            rss_bytes_per_entry: before
                .zip(after)
                .filter(|_| resident > 0)
                .map(|(before, after)| (after as f64 - before as f64) / resident as f64 - self.value_bytes as f64),
        }
    }
}

/// A filled cache, which can be measured several times: lookups change nothing but what a policy remembers of them.
pub struct Filled<C> {
    hits: Hits,
    cache: C,
    lookups: Lookups,
    capacity: usize,
    resident: u64,
    rss_bytes_per_entry: Option<f64>,
}

impl<C> fmt::Debug for Filled<C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Filled").field("hits", &self.hits).field("resident", &self.resident).finish_non_exhaustive()
    }
}

impl<C: ReadCache> Filled<C> {
    /// Memory of the process that the fill cost for each entry beyond its value's bytes; `None` where the system does not tell.
    pub fn rss_bytes_per_entry(&self) -> Option<f64> {
        self.rss_bytes_per_entry
    }

    /// Entries that the fill left in the cache.
    pub fn entries(&self) -> u64 {
        self.resident
    }

    /// Measures it.
    ///
    /// # Errors
    /// When the system refuses a thread.
    pub fn measure(&self, plan: &Plan) -> Result<Report<Settings>, CannotStart> {
        let figures = measure(&self.cache, &self.lookups, plan)?;
        Ok(Report {
            workload: "hits",
            figures,
            entries: self.resident,
            rss_bytes: resident_bytes(),
            rss_bytes_per_entry: self.rss_bytes_per_entry,
            settings: Settings {
                plan: plan.into(),
                entries: self.hits.entries,
                value_bytes: self.hits.value_bytes,
                distribution: self.hits.distribution.to_string(),
                read_values: self.hits.read_values,
                capacity_bytes: self.capacity,
            },
        })
    }
}
