//! The workloads: their settings, what each measures, and which hit ratios are believable.

use std::fmt::Write as _;
use std::ops::RangeInclusive;

use serde::{Deserialize, Serialize};

use crate::args::{CacheOptions, ChurnOptions, HitsOptions, HotOptions, InstancesOptions, KuduOptions, MemoryOptions};
use crate::caches::{CacheName, Kind};

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "workload", rename_all = "snake_case")]
pub(crate) enum Workload {
    Hits(HitsOptions),
    Hot(HotOptions),
    Churn(ChurnOptions),
    Kudu(KuduOptions),
    Cache(CacheOptions),
    Memory(MemoryOptions),
    Instances(InstancesOptions),
}

/// One kind of figure.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Metric {
    OpsPerSec,
    HitRatio,
    P50Ns,
    P99Ns,
    P999Ns,
    RssBytesPerEntry,
    CreateAndDropUs,
    CreateUs,
    DropUs,
    RssBytesEach,
}

impl Metric {
    pub(crate) fn title(self) -> &'static str {
        match self {
            Self::OpsPerSec => "M ops/s",
            Self::HitRatio => "hit ratio",
            Self::P50Ns => "p50",
            Self::P99Ns => "p99",
            Self::P999Ns => "p99.9",
            Self::RssBytesPerEntry => "bytes",
            Self::CreateAndDropUs => "both, us",
            Self::CreateUs => "create, us",
            Self::DropUs => "drop, us",
            Self::RssBytesEach => "memory",
        }
    }

    pub(crate) fn show(self, value: f64) -> String {
        match self {
            Self::OpsPerSec => format!("{:.2}", value / 1e6),
            Self::HitRatio => format!("{value:.3}"),
            Self::P50Ns | Self::P99Ns | Self::P999Ns if value < 1e4 => format!("{value:.0} ns"),
            Self::P50Ns | Self::P99Ns | Self::P999Ns if value < 1e7 => format!("{:.1} us", value / 1e3),
            Self::P50Ns | Self::P99Ns | Self::P999Ns => format!("{:.1} ms", value / 1e6),
            Self::RssBytesPerEntry => format!("{value:.1}"),
            Self::CreateAndDropUs | Self::CreateUs | Self::DropUs => format!("{value:.2}"),
            Self::RssBytesEach if value < 1e4 => format!("{value:.0} B"),
            Self::RssBytesEach => format!("{:.1} KiB", value / 1024.0),
        }
    }
}

const RATE: &[Metric] = &[Metric::OpsPerSec, Metric::P50Ns, Metric::P99Ns, Metric::P999Ns];
const RATE_AND_HITS: &[Metric] = &[Metric::OpsPerSec, Metric::HitRatio, Metric::P50Ns, Metric::P99Ns, Metric::P999Ns];

impl Workload {
    pub(crate) fn name(&self) -> &'static str {
        match self {
            Self::Hits(HitsOptions { read_values: false, .. }) => "hits",
            Self::Hits(_) => "hits --read-values",
            Self::Hot(HotOptions { scoped: false, .. }) => "hot",
            Self::Hot(_) => "hot --scoped",
            Self::Churn(ChurnOptions { lookups: false, .. }) => "churn",
            Self::Churn(_) => "churn --lookups",
            Self::Kudu(_) => "kudu",
            Self::Cache(CacheOptions { lean: false, .. }) => "cache",
            Self::Cache(_) => "cache --lean",
            Self::Memory(_) => "memory",
            Self::Instances(_) => "instances",
        }
    }

    /// The settings in words.
    pub(crate) fn describe(&self) -> String {
        let mut text = String::new();
        let _ = match self {
            Self::Hits(options) => {
                write!(text, "{} entries of {}, zipf {}", options.entries, size(options.value_bytes), options.theta)
            }
            Self::Hot(options) => write!(text, "one of 1024 entries of {}", size(options.value_bytes)),
            Self::Churn(options) => write!(text, "{} entries of {}", options.entries, size(options.value_bytes)),
            Self::Kudu(KuduOptions { cache_size, value_bytes })
            | Self::Cache(CacheOptions { cache_size, value_bytes, .. }) => {
                write!(text, "a cache of {}, values of {}", size(*cache_size), size(*value_bytes))
            }
            Self::Memory(options) => {
                write!(text, "{} entries of {}; lower is better", options.entries, size(options.value_bytes))
            }
            Self::Instances(options) => {
                write!(text, "{} caches of each capacity; lower is better", options.instances)
            }
        };
        text
    }

    /// The figures of its tables; the first is the one that ratios are about.
    pub(crate) fn metrics(&self) -> &'static [Metric] {
        match self {
            Self::Hits(_) | Self::Hot(_) | Self::Churn(ChurnOptions { lookups: false, .. }) => RATE,
            Self::Churn(_) | Self::Kudu(_) | Self::Cache(_) => RATE_AND_HITS,
            Self::Memory(_) => &[Metric::RssBytesPerEntry],
            Self::Instances(_) => &[Metric::CreateAndDropUs, Metric::CreateUs, Metric::DropUs, Metric::RssBytesEach],
        }
    }

    /// Whether it is run by several numbers of threads.
    pub(crate) fn has_threads(&self) -> bool {
        !matches!(self, Self::Memory(_) | Self::Instances(_))
    }

    /// Whether a cache takes part, and with which of the numbers of threads.
    pub(crate) fn threads(&self, cache: CacheName, threads: &[u16]) -> Option<Vec<u16>> {
        let changes = matches!(self, Self::Churn(_) | Self::Kudu(_) | Self::Cache(_));
        match cache.kind() {
            Kind::Evicting => Some(threads.to_vec()),
            _ if changes => None,
            Kind::Growing => Some(threads.to_vec()),
            Kind::Single if !self.has_threads() => Some(threads.to_vec()),
            Kind::Single => threads.contains(&1).then(|| vec![1]),
        }
    }

    /// Seconds of a pass: so that all rounds take three minutes at most.
    pub(crate) fn default_seconds(&self) -> f64 {
        if matches!(self, Self::Kudu(_)) { 0.15 } else { 0.3 }
    }

    /// Hit ratios that a cache which works can have, whatever its policy. Others make the figures void.
    pub(crate) fn believable_hits(&self, case: &str) -> Option<RangeInclusive<f64>> {
        match self {
            Self::Hits(_) | Self::Hot(_) => Some(0.9999..=1.0),
            // Half of the keys fit.
            Self::Churn(options) => options.lookups.then_some(0.4..=0.7),
            // The ends are those of a cache that keeps nothing useful and of one that knows the future.
            Self::Cache(_) => Some(0.5..=0.9),
            Self::Kudu(_) => Some(match case {
                "uniform, 1x" => 0.85..=1.0,
                "uniform, 3x" => 0.25..=0.4,
                "zipfian, 3x" => 0.8..=0.99,
                _ => 0.9..=1.0,
            }),
            Self::Memory(_) | Self::Instances(_) => None,
        }
    }
}

/// A size for a person, exact.
pub(crate) fn size(bytes: usize) -> String {
    for (name, unit) in [("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10)] {
        if bytes >= unit && bytes.is_multiple_of(unit) {
            return format!("{} {name}", bytes / unit);
        }
    }
    format!("{bytes} bytes")
}
