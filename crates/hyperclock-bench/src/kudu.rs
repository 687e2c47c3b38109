//! The access patterns of Kudu's cache benchmark: look up, insert on a miss, drop what keeps the value alive.
//!
//! Two distributions, each over a data set as large as the cache and one three times as large. The even one draws any key alike.
//! The one called zipfian draws a power of two first, each up to the number of keys alike, and then a key below it: half of
//! all lookups are for some thousandth of the keys.
//!
//! Each pattern has a cache of its own, which so many operations without figures fill: as many for every cache, because a slow
//! one would be measured half empty after a given time. A value of the workload's size is made on each miss, as part of the
//! operation. A latency is that of the lookup, with the insert where it missed.

use std::fmt;
use std::hint::black_box;

use serde::Serialize;

use crate::block::Block;
use crate::cache::{Cache, CacheSettings};
use crate::draws::key_of;
use crate::memory::resident_bytes;
use crate::random::Random;
use crate::report::PlanSettings;
use crate::runner::{Figures, Length, Plan, Probe, Tally, Turn, Workload, measure, pass};
use crate::start::CannotStart;

/// How keys are drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Pattern {
    /// A few keys get most lookups.
    Zipfian,
    /// All keys get as many.
    Uniform,
}

impl Pattern {
    /// As reports have it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Zipfian => "zipfian",
            Self::Uniform => "uniform",
        }
    }
}

/// All runs, in order: the pattern, and the data set's size in cache sizes.
pub const RUNS: [(Pattern, f64); 4] =
    [(Pattern::Zipfian, 1.0), (Pattern::Zipfian, 3.0), (Pattern::Uniform, 1.0), (Pattern::Uniform, 3.0)];

/// Operations that fill a cache, for each entry that fits: 98 % of the keys are drawn at least once where all fit.
const FILLING: u64 = 4;

/// The benchmark.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Kudu {
    /// Who runs.
    pub plan: Plan,
    /// Capacity of the cache.
    pub cache_bytes: usize,
    /// Bytes of each value, at least 1.
    pub value_bytes: usize,
    /// Whether entries are charged for the cache's own memory.
    pub charge_metadata: bool,
}

/// The report of all runs.
#[derive(Clone, Debug, Serialize)]
pub struct KuduReport {
    /// The workload's name.
    pub workload: &'static str,
    /// One for each pattern and ratio.
    pub runs: Vec<Run>,
    /// The most memory of the process at the end of a run; null where the system does not tell.
    pub rss_bytes: Option<u64>,
    /// The workload's settings.
    pub settings: Settings,
}

/// One pattern over one data set.
#[derive(Clone, Debug, Serialize)]
pub struct Run {
    /// How keys were drawn.
    pub pattern: Pattern,
    /// The data set's size in cache sizes.
    pub ratio: f64,
    /// Rate and latencies.
    #[serde(flatten)]
    pub figures: Figures,
}

/// The settings as the report shows them.
#[derive(Clone, Debug, Serialize)]
pub struct Settings {
    #[serde(flatten)]
    plan: PlanSettings,
    cache_bytes: usize,
    value_bytes: usize,
    charge_metadata: bool,
}

struct Queries {
    pattern: Pattern,
    keys: u64,
    value_bytes: usize,
}

impl Queries {
    #[inline]
    fn draw(&self, random: &mut Random) -> u64 {
        match self.pattern {
            Pattern::Uniform => random.below(self.keys),
            Pattern::Zipfian => {
                let bits = random.below(u64::from(self.keys.ilog2()) + 1);
                random.below(1 << bits)
            }
        }
    }
}

impl<C: Cache> Workload<C> for Queries {
    type Thread = Random;

    fn thread(&self, _cache: &C, _stream: u64, random: Random) -> Random {
        random
    }

    #[inline]
    fn step<P: Probe>(&self, cache: &C, random: &mut Random, tally: &mut Tally, mut probe: P) {
        let key = key_of(self.draw(random));
        let hit = probe.time(|| {
            let found = cache.get(key);
            let hit = found.is_some();
            let handle = found.unwrap_or_else(|| cache.insert(key, C::Block::new(key, self.value_bytes)));
            debug_assert!(handle.is_of(key));
            drop(black_box(handle));
            hit
        });
        tally.lookup(hit);
    }
}

impl Kudu {
    /// Runs all patterns.
    ///
    /// # Errors
    /// When the system refuses a thread.
    pub fn run<C: Cache>(&self) -> Result<KuduReport, CannotStart> {
        let mut rss_bytes = None;
        let runs = RUNS
            .into_iter()
            .map(|(pattern, ratio)| {
                let (run, rss) = self.run_one::<C>(pattern, ratio)?;
                rss_bytes = rss_bytes.max(rss);
                Ok(run)
            })
            .collect::<Result<_, CannotStart>>()?;
        Ok(KuduReport {
            workload: "kudu",
            runs,
            rss_bytes,
            settings: Settings {
                plan: (&self.plan).into(),
                cache_bytes: self.cache_bytes,
                value_bytes: self.value_bytes,
                charge_metadata: self.charge_metadata,
            },
        })
    }

    /// Runs one pattern on a new cache; also returns the memory of the process at its end.
    ///
    /// # Errors
    /// When the system refuses a thread.
    pub fn run_one<C: Cache>(&self, pattern: Pattern, ratio: f64) -> Result<(Run, Option<u64>), CannotStart> {
        let run = self.fill::<C>(pattern, ratio)?.measure(&self.plan)?;
        Ok((run, resident_bytes()))
    }

    /// Fills a new cache by one pattern.
    ///
    /// # Errors
    /// When the system refuses a thread.
    pub fn fill<C: Cache>(&self, pattern: Pattern, ratio: f64) -> Result<Filled<C>, CannotStart> {
        let fitting = self.cache_bytes / self.value_bytes.max(1);
        #[expect(clippy::cast_sign_loss, reason = "sizes and ratios are not negative")]
        let keys = ((fitting as f64 * ratio) as u64).max(1);
        let queries = Queries { pattern, keys, value_bytes: self.value_bytes };
        let mut cache = C::build(&CacheSettings {
            capacity: self.cache_bytes,
            entries: fitting,
            value_bytes: self.value_bytes,
            charge_metadata: self.charge_metadata,
            presize: true,
            seed: self.plan.seed,
        });
        let operations = (fitting as u64).saturating_mul(FILLING).div_ceil(u64::from(self.plan.threads));
        pass(&cache, &queries, &Plan { length: Length::Operations(operations), ..self.plan }, Turn::WarmUp)?;
        cache.settle();
        Ok(Filled { cache, queries, ratio })
    }
}

/// A filled cache, which can be measured several times.
pub struct Filled<C> {
    cache: C,
    queries: Queries,
    ratio: f64,
}

impl<C> fmt::Debug for Filled<C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Queries { pattern, keys, .. } = self.queries;
        f.debug_struct("Filled").field("pattern", &pattern).field("keys", &keys).finish_non_exhaustive()
    }
}

impl<C: Cache> Filled<C> {
    /// Measures it.
    ///
    /// # Errors
    /// When the system refuses a thread.
    pub fn measure(&self, plan: &Plan) -> Result<Run, CannotStart> {
        let figures = measure(&self.cache, &self.queries, plan)?;
        Ok(Run { pattern: self.queries.pattern, ratio: self.ratio, figures })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_zipfian_pattern_draws_each_power_of_two_alike() {
        let queries = Queries { pattern: Pattern::Zipfian, keys: 1 << 10, value_bytes: 1 };
        let mut random = Random::new(5);
        let draws: Vec<_> = (0..11_000).map(|_| queries.draw(&mut random)).collect();
        assert!(draws.iter().all(|&key| key < 1 << 10));
        // Half of one draw in eleven is in the upper half.
        let upper = draws.iter().filter(|&&key| key >= 1 << 9).count();
        assert!((420..580).contains(&upper), "{upper}");
        let zero = draws.iter().filter(|&&key| key == 0).count();
        assert!((1800..2200).contains(&zero), "{zero}");
    }

    #[test]
    fn the_uniform_pattern_covers_all_keys() {
        let queries = Queries { pattern: Pattern::Uniform, keys: 100, value_bytes: 1 };
        let mut random = Random::new(5);
        let seen: std::collections::HashSet<_> = (0..5000).map(|_| queries.draw(&mut random)).collect();
        assert_eq!(seen.len(), 100);
    }
}
