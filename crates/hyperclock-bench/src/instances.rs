//! Empty caches: what it costs to make one, to drop one, and to have one.
//!
//! A process with a cache for each of its thousand databases pays this for each. Many are made, kept, and dropped, so that
//! one costs more than a call of the clock and more than a page of memory.

use std::time::Instant;

use serde::Serialize;

use crate::cache::{CacheSettings, ReadCache};
use crate::memory::resident_bytes;

/// Bytes of a block in engines; caches that must know their entries beforehand are told of such blocks. Those that need not
/// know make no room in advance.
const BLOCK: usize = 4 << 10;

/// The benchmark.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Instances {
    /// Capacities.
    pub sizes: Vec<usize>,
    /// Caches of each, at least 1.
    pub count: u32,
}

/// The report of all sizes.
#[derive(Clone, Debug, Serialize)]
pub struct InstancesReport {
    /// The workload's name.
    pub workload: &'static str,
    /// One for each size.
    pub sizes: Vec<Size>,
    /// Memory of the process at the end; null where the system does not tell.
    pub rss_bytes: Option<u64>,
    /// The workload's settings.
    pub settings: Settings,
}

/// Caches of one size.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Size {
    /// Capacity of each.
    pub size_bytes: usize,
    /// Mean time to make one, in microseconds.
    pub create_us: f64,
    /// Mean time to drop one, in microseconds.
    pub drop_us: f64,
    /// Memory of the process that each costs; null where the system does not tell.
    pub rss_bytes_each: Option<f64>,
}

/// The settings as the report shows them.
#[derive(Clone, Debug, Serialize)]
pub struct Settings {
    instances: u32,
    sizes_bytes: Vec<usize>,
}

impl Instances {
    /// Makes and drops caches.
    pub fn run<C: ReadCache>(&self) -> InstancesReport {
        let sizes = self.sizes.iter().map(|&size| self.run_one::<C>(size)).collect();
        InstancesReport {
            workload: "instances",
            sizes,
            rss_bytes: resident_bytes(),
            settings: Settings { instances: self.count, sizes_bytes: self.sizes.clone() },
        }
    }

    /// Makes and drops caches of one size.
    pub fn run_one<C: ReadCache>(&self, capacity: usize) -> Size {
        let settings = |seed: u32| CacheSettings {
            capacity,
            entries: capacity / BLOCK,
            value_bytes: BLOCK,
            charge_metadata: true,
            presize: false,
            seed: u64::from(seed),
        };
        // What is made once for a process and kept is not an instance's.
        drop(C::build(&settings(0)));
        let mut caches = Vec::with_capacity(self.count as usize);
        let before = resident_bytes();
        let begun = Instant::now();
        caches.extend((0..self.count).map(|seed| C::build(&settings(seed))));
        let created = begun.elapsed();
        let after = resident_bytes();
        let begun = Instant::now();
        drop(caches);
        let dropped = begun.elapsed();
        let count = f64::from(self.count.max(1));
        Size {
            size_bytes: capacity,
            create_us: created.as_secs_f64() * 1e6 / count,
            drop_us: dropped.as_secs_f64() * 1e6 / count,
            rss_bytes_each: before.zip(after).map(|(before, after)| (after as f64 - before as f64) / count),
        }
    }
}
