//! Hits only: every lookup finds its key, takes what keeps the value alive, and drops it.
//!
//! The cache is filled with all keys, in shuffled order, so that popular entries are not neighbours in memory; its capacity is
//! twice what they need, so that a cache that divides its capacity among shards evicts nothing. Then keys are drawn by their
//! popularity. The value is not read, unless asked for: its cache line is the same cost for every cache.
//!
//! The memory of the process before and after the fill gives what an entry costs beside its value. Everything that the
//! benchmark itself needs, the drawn ranks and the order of the fill, is allocated before.

use std::hint::black_box;

use serde::Serialize;

use crate::block::Block;
use crate::cache::{CacheSettings, ReadCache};
use crate::draws::{Draws, key_of, shuffled};
use crate::memory::resident_bytes;
use crate::random::Random;
use crate::report::{PlanSettings, Report};
use crate::runner::{Plan, Probe, Tally, Workload, measure};
use crate::zipf::Distribution;

/// What an entry may be charged beside its value.
const METADATA: usize = 64;

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
    pub fn run<C: ReadCache>(&self) -> Report<Settings> {
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

        let figures = measure(&cache, &lookups, &self.plan);
        Report {
            workload: "hits",
            figures,
            entries: resident,
            rss_bytes: resident_bytes(),
            rss_bytes_per_entry: before
                .zip(after)
                .filter(|_| resident > 0)
                .map(|(before, after)| (after as f64 - before as f64) / resident as f64 - self.value_bytes as f64),
            settings: Settings {
                plan: (&self.plan).into(),
                entries: self.entries,
                value_bytes: self.value_bytes,
                distribution: self.distribution.to_string(),
                read_values: self.read_values,
                capacity_bytes: settings.capacity,
            },
        }
    }
}
