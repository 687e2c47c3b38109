//! One turn of one cache: what a child process does, and how it is told and answers.
//!
//! A process of its own gives each turn a fresh heap: no cache finds memory that another one has torn into pieces, none runs
//! beside threads or deferred garbage of another, and the memory of the process is the cache's alone. The job is a JSON
//! argument, the answer a JSON array on standard output.
//!
//! The cache is built once for all numbers of threads where the workload leaves it in the state it was in (`hits`, `churn`,
//! `kudu`); `hot` and `cache` build one for each. The seed is the round's: it gives the hash, the keys and their order.

use std::process::{Command, Stdio};
use std::time::Duration;

use hyperclock_bench::churn::Churn;
use hyperclock_bench::hits::Hits;
use hyperclock_bench::hot::Hot;
use hyperclock_bench::instances::Instances;
use hyperclock_bench::kudu::{Kudu, RUNS};
use hyperclock_bench::mixed::{Mixed, Percentages};
use hyperclock_bench::random::Random;
use hyperclock_bench::runner::{Figures, Length, Plan};
use hyperclock_bench::zipf::Distribution;
use hyperclock_bench::{Block, Buffer, Cache, Inline, ReadCache};
use serde::{Deserialize, Serialize};

use crate::caches::{CacheName, OnCache, OnReadCache};
use crate::failure::{Failure, Result};
use crate::workload::{Metric, Workload, size};

/// Values of this size are kept in one piece with what keeps them; all others in a buffer of their own.
const INLINE: usize = 64;

/// Capacity is charged for values alone: the caches hold as many entries, and `memory` tells what these cost.
const CHARGE_METADATA: bool = false;

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Job {
    pub(crate) cache: CacheName,
    pub(crate) workload: Workload,
    pub(crate) threads: Vec<u16>,
    pub(crate) seconds: f64,
    pub(crate) seed: u64,
}

/// What was measured at once.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Sample {
    /// What tells it from other samples of the workload, beside the threads.
    pub(crate) case: String,
    pub(crate) threads: Option<u16>,
    pub(crate) values: Vec<(Metric, f64)>,
}

impl Job {
    /// Makes the measurement in a child process.
    pub(crate) fn run_in_child(&self) -> Result<Vec<Sample>> {
        let failed =
            |what: String| Failure::unavailable(format!("{} of {}: {what}", self.workload.name(), self.cache.name()));
        let program = std::env::current_exe().map_err(|error| failed(format!("cannot find this program: {error}")))?;
        let job = serde_json::to_string(self).map_err(|error| failed(error.to_string()))?;
        let child = Command::new(program)
            .args(["job", &job])
            .stdin(Stdio::null())
            .output()
            .map_err(|error| failed(format!("cannot start a process: {error}")))?;
        if !child.status.success() {
            let words = String::from_utf8_lossy(&child.stderr);
            return Err(failed(format!("{}: {}", child.status, words.trim())));
        }
        serde_json::from_slice(&child.stdout).map_err(|error| failed(format!("the answer makes no sense: {error}")))
    }

    /// Makes the measurement here.
    pub(crate) fn run(&self) -> Result<Vec<Sample>> {
        let value_bytes = match &self.workload {
            Workload::Hits(options) => options.value_bytes,
            Workload::Hot(options) => options.value_bytes,
            Workload::Churn(options) => options.value_bytes,
            Workload::Kudu(options) => options.value_bytes,
            Workload::Cache(options) => options.value_bytes,
            Workload::Memory(options) => options.value_bytes,
            Workload::Instances(_) => INLINE,
        };
        if value_bytes == INLINE { self.run_with::<Inline<INLINE>>() } else { self.run_with::<Buffer>() }
    }

    fn run_with<V: Block>(&self) -> Result<Vec<Sample>> {
        let samples = match self.workload {
            Workload::Churn(_) | Workload::Kudu(_) | Workload::Cache(_) => self.cache.change::<V, _>(&Changing(self)),
            _ => Some(self.cache.read::<V, _>(&Reading(self))),
        };
        samples.unwrap_or_else(|| Err(Failure::usage(format!("{} does not evict", self.cache.name()))))
    }

    /// The plan for a number of threads, with a seed of its own.
    fn plan(&self, threads: u16) -> Plan {
        let seed = Random::stream(self.seed, u64::from(threads)).next_u64();
        Plan { threads, length: Length::Time(Duration::from_secs_f64(self.seconds)), seed }
    }

    /// The plan of a fill.
    fn filling(&self) -> Plan {
        Plan { seed: self.seed, ..self.plan(self.threads.iter().copied().max().unwrap_or(1)) }
    }

    /// Measures by each number of threads.
    fn each(&self, case: &str, measure: impl Fn(Plan) -> Result<Figures>) -> Result<Vec<Sample>> {
        let measured = |threads| Ok(sample(case.to_owned(), threads, &measure(self.plan(threads))?));
        self.threads.iter().map(|&threads| measured(threads)).collect()
    }
}

fn sample(case: String, threads: u16, figures: &Figures) -> Sample {
    let mut values = vec![
        (Metric::OpsPerSec, figures.ops_per_sec),
        (Metric::P50Ns, figures.p50_ns as f64),
        (Metric::P99Ns, figures.p99_ns as f64),
        (Metric::P999Ns, figures.p999_ns as f64),
    ];
    values.extend(figures.hit_ratio.map(|ratio| (Metric::HitRatio, ratio)));
    Sample { case, threads: Some(threads), values }
}

fn distribution(theta: f64) -> Distribution {
    if theta == 0.0 { Distribution::Uniform } else { Distribution::Zipf(theta) }
}

/// The workloads that fill and read.
struct Reading<'a>(&'a Job);

impl OnReadCache for Reading<'_> {
    type Output = Result<Vec<Sample>>;

    fn run<C: ReadCache>(&self) -> Result<Vec<Sample>> {
        let job = self.0;
        match &job.workload {
            Workload::Hits(options) => {
                let filled = Hits {
                    plan: job.filling(),
                    entries: options.entries,
                    value_bytes: options.value_bytes,
                    distribution: distribution(options.theta),
                    read_values: options.read_values,
                }
                .fill::<C>();
                job.each("", |plan| Ok(filled.measure(&plan)?.figures))
            }
            Workload::Hot(options) => job.each("", |plan| {
                Ok(Hot { plan, value_bytes: options.value_bytes, scoped: options.scoped }.run::<C>()?.figures)
            }),
            Workload::Memory(options) => {
                let filled = Hits {
                    plan: job.filling(),
                    entries: options.entries,
                    value_bytes: options.value_bytes,
                    distribution: Distribution::Uniform,
                    read_values: false,
                }
                .fill::<C>();
                let values = filled.rss_bytes_per_entry().map(|bytes| (Metric::RssBytesPerEntry, bytes));
                Ok(vec![Sample { case: String::new(), threads: None, values: values.into_iter().collect() }])
            }
            Workload::Instances(options) => {
                let report = Instances { sizes: options.sizes.clone(), count: options.instances }.run::<C>();
                let of_size = |of: &hyperclock_bench::instances::Size| Sample {
                    case: size(of.size_bytes),
                    threads: None,
                    values: [
                        Some((Metric::CreateAndDropUs, of.create_us + of.drop_us)),
                        Some((Metric::CreateUs, of.create_us)),
                        Some((Metric::DropUs, of.drop_us)),
                        of.rss_bytes_each.map(|bytes| (Metric::RssBytesEach, bytes)),
                    ]
                    .into_iter()
                    .flatten()
                    .collect(),
                };
                Ok(report.sizes.iter().map(of_size).collect())
            }
            Workload::Churn(_) | Workload::Kudu(_) | Workload::Cache(_) => Ok(Vec::new()),
        }
    }
}

/// The workloads that evict.
struct Changing<'a>(&'a Job);

impl OnCache for Changing<'_> {
    type Output = Result<Vec<Sample>>;

    fn run<C: Cache>(&self) -> Result<Vec<Sample>> {
        let job = self.0;
        match &job.workload {
            Workload::Churn(options) => {
                let filled = Churn {
                    plan: job.filling(),
                    entries: options.entries,
                    value_bytes: options.value_bytes,
                    lookups: options.lookups,
                    charge_metadata: CHARGE_METADATA,
                }
                .fill::<C>()?;
                job.each("", |plan| Ok(filled.measure(&plan)?.figures))
            }
            Workload::Kudu(options) => {
                let kudu = Kudu {
                    plan: job.filling(),
                    cache_bytes: options.cache_size,
                    value_bytes: options.value_bytes,
                    charge_metadata: CHARGE_METADATA,
                };
                let mut samples = Vec::new();
                for (pattern, ratio) in RUNS {
                    let filled = kudu.fill::<C>(pattern, ratio)?;
                    let case = format!("{}, {ratio}x", pattern.name());
                    samples.extend(job.each(&case, |plan| Ok(filled.measure(&plan)?.figures))?);
                }
                Ok(samples)
            }
            Workload::Cache(options) => job.each("", |plan| {
                let mixed = Mixed {
                    plan,
                    cache_bytes: options.cache_size,
                    value_bytes: options.value_bytes,
                    resident_ratio: 0.25,
                    pinned_ratio: 0.25,
                    skew: 5,
                    degenerate_hash_bits: 0,
                    percentages: Percentages::default(),
                    lean: options.lean,
                    populate: true,
                    charge_metadata: CHARGE_METADATA,
                };
                Ok(mixed.run::<C>()?.figures)
            }),
            Workload::Hits(_) | Workload::Hot(_) | Workload::Memory(_) | Workload::Instances(_) => Ok(Vec::new()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::args::{ChurnOptions, HitsOptions, KuduOptions};

    fn job(cache: CacheName, workload: Workload) -> Job {
        Job { cache, workload, threads: vec![1, 2], seconds: 0.01, seed: 1 }
    }

    #[test]
    fn a_job_survives_its_journey() {
        let options = HitsOptions { entries: 1000, value_bytes: 64, theta: 0.99, read_values: true };
        let job = job(CacheName::QuickCache, Workload::Hits(options));
        let text = serde_json::to_string(&job).unwrap();
        assert_eq!(serde_json::from_str::<Job>(&text).unwrap(), job);
        let samples = job.run().unwrap();
        assert_eq!(samples.iter().map(|sample| sample.threads).collect::<Vec<_>>(), [Some(1), Some(2)]);
        let text = serde_json::to_string(&samples).unwrap();
        assert_eq!(serde_json::from_str::<Vec<Sample>>(&text).unwrap(), samples);
    }

    #[test]
    fn every_case_of_a_workload_has_samples() {
        let options = KuduOptions { cache_size: 1 << 20, value_bytes: 1 << 10 };
        let samples = job(CacheName::Clock, Workload::Kudu(options)).run().unwrap();
        assert_eq!(samples.len(), 8);
        assert_eq!(samples[7].case, "uniform, 3x");
    }

    #[test]
    fn a_map_cannot_churn() {
        let options = ChurnOptions { entries: 1000, value_bytes: 64, lookups: false };
        assert!(job(CacheName::DashMap, Workload::Churn(options)).run().is_err());
    }
}
