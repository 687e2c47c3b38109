//! Churn: a full cache in which every insert evicts.
//!
//! Without lookups, every operation inserts a key that nobody had before: the cost of a scan that fills the cache, which is a
//! clock's weak side. With lookups, every operation looks a key up that is drawn evenly from twice as many as fit, and
//! inserts it on a miss, so that about half of them miss; then latencies are those of the lookups alone, beside threads that
//! evict.
//!
//! Before figures are taken the cache is turned over once, by as many operations for every cache: by then what the fill left
//! is gone, and the hit ratio is the policy's own.
//!
//! Making the value is part of the operation, as loading it would be, but not of a latency.

use std::fmt;
use std::hint::black_box;

use hyperclock::CacheKey;
use serde::Serialize;

use crate::block::Block;
use crate::cache::{Cache, CacheSettings};
use crate::draws::{key_of, shuffled};
use crate::memory::resident_bytes;
use crate::random::Random;
use crate::report::{PlanSettings, Report};
use crate::runner::{Figures, Length, Plan, Probe, Tally, Turn, Workload, measure, pass};
use crate::start::CannotStart;

/// The stream that orders the fill.
const FILLING: u64 = u64::MAX;

/// The benchmark.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Churn {
    /// Who runs.
    pub plan: Plan,
    /// Entries that fit.
    pub entries: u32,
    /// Bytes of each value.
    pub value_bytes: usize,
    /// Whether each operation looks its key up first.
    pub lookups: bool,
    /// Whether entries are charged for the cache's own memory.
    pub charge_metadata: bool,
}

/// The settings as the report shows them.
#[derive(Clone, Debug, Serialize)]
pub struct Settings {
    #[serde(flatten)]
    plan: PlanSettings,
    entries: u32,
    value_bytes: usize,
    lookups: bool,
    charge_metadata: bool,
    capacity_bytes: usize,
}

/// A thread that inserts: its keys are the blocks of a file of its own.
#[derive(Debug)]
struct Inserter {
    file: u64,
    block: u64,
}

struct Inserts {
    value_bytes: usize,
}

impl<C: Cache> Workload<C> for Inserts {
    type Thread = Inserter;

    fn thread(&self, _cache: &C, _stream: u64, mut random: Random) -> Inserter {
        Inserter { file: random.next_u64(), block: 0 }
    }

    #[inline]
    fn step<P: Probe>(&self, cache: &C, thread: &mut Inserter, _tally: &mut Tally, mut probe: P) {
        thread.block += 1;
        let key = CacheKey::new(thread.file, thread.block);
        let block = C::Block::new(key, self.value_bytes);
        probe.time(|| cache.put(key, block));
    }
}

struct LookupsAndInserts {
    keys: u64,
    value_bytes: usize,
}

impl<C: Cache> Workload<C> for LookupsAndInserts {
    type Thread = Random;

    fn thread(&self, _cache: &C, _stream: u64, random: Random) -> Random {
        random
    }

    #[inline]
    fn step<P: Probe>(&self, cache: &C, random: &mut Random, tally: &mut Tally, mut probe: P) {
        let key = key_of(random.below(self.keys));
        let hit = probe.time(|| match cache.get(key) {
            Some(handle) => {
                debug_assert!(handle.is_of(key));
                drop(black_box(handle));
                true
            }
            None => false,
        });
        tally.lookup(hit);
        if !hit {
            cache.put(key, C::Block::new(key, self.value_bytes));
        }
    }
}

impl Churn {
    /// Fills a cache and measures it.
    ///
    /// # Errors
    /// When the system refuses a thread.
    pub fn run<C: Cache>(&self) -> Result<Report<Settings>, CannotStart> {
        self.fill::<C>()?.measure(&self.plan)
    }

    /// Fills a cache and turns it over.
    ///
    /// # Errors
    /// When the system refuses a thread.
    pub fn fill<C: Cache>(&self) -> Result<Filled<C>, CannotStart> {
        let entries = self.entries as usize;
        let mut settings = CacheSettings {
            capacity: 0,
            entries,
            value_bytes: self.value_bytes,
            charge_metadata: self.charge_metadata,
            presize: true,
            seed: self.plan.seed,
        };
        settings.capacity = entries.saturating_mul(self.value_bytes.saturating_add(settings.metadata_charge()));
        let mut cache = C::build(&settings);
        for &rank in &shuffled(self.entries, &mut Random::stream(self.plan.seed, FILLING)) {
            let key = key_of(u64::from(rank));
            cache.fill(key, C::Block::new(key, self.value_bytes));
        }
        // Half of the lookups insert.
        let turnover = u64::from(self.entries) * if self.lookups { 2 } else { 1 };
        let length = Length::Operations(turnover.div_ceil(u64::from(self.plan.threads)));
        let plan = Plan { length, ..self.plan };
        if self.lookups {
            pass(&cache, &self.lookups_and_inserts(), &plan, Turn::WarmUp)?;
        } else {
            pass(&cache, &self.inserts(), &plan, Turn::WarmUp)?;
        }
        cache.settle();
        Ok(Filled { churn: *self, cache, capacity: settings.capacity })
    }

    fn inserts(&self) -> Inserts {
        Inserts { value_bytes: self.value_bytes }
    }

    fn lookups_and_inserts(&self) -> LookupsAndInserts {
        LookupsAndInserts { keys: u64::from(self.entries) * 2, value_bytes: self.value_bytes }
    }
}

/// A cache that was filled and turned over, which can be measured several times.
pub struct Filled<C> {
    churn: Churn,
    cache: C,
    capacity: usize,
}

impl<C> fmt::Debug for Filled<C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Filled").field("churn", &self.churn).finish_non_exhaustive()
    }
}

impl<C: Cache> Filled<C> {
    /// Measures it. Each plan on one cache needs a seed of its own, because a seed's new keys are new only once; the seed of
    /// the fill may be used once more.
    ///
    /// # Errors
    /// When the system refuses a thread.
    pub fn measure(&self, plan: &Plan) -> Result<Report<Settings>, CannotStart> {
        let churn = &self.churn;
        let figures: Figures = if churn.lookups {
            measure(&self.cache, &churn.lookups_and_inserts(), plan)?
        } else {
            measure(&self.cache, &churn.inserts(), plan)?
        };
        Ok(Report {
            workload: "churn",
            figures,
            entries: self.cache.entries(),
            rss_bytes: resident_bytes(),
            rss_bytes_per_entry: None,
            settings: Settings {
                plan: plan.into(),
                entries: churn.entries,
                value_bytes: churn.value_bytes,
                lookups: churn.lookups,
                charge_metadata: churn.charge_metadata,
                capacity_bytes: self.capacity,
            },
        })
    }
}
