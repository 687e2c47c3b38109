//! Measured reads: the sample of keys, and what a workload cost the cache and the disk.

use hyperclock::{Role, Stats};
use hyperclock_bench::memory;
use hyperclock_bench::random::Random;
use hyperclock_bench::table::Table;
use serde::Serialize;
use serde_json::{Map, Value, json};

use super::Session;
use super::session::Reads;
use crate::failure::Result;
use crate::progress::Progress;
use crate::sample::{RankedKeys, Reservoir};
use crate::sizes::{show_count, show_latency, show_rate, show_size};
use crate::workload::{Measured, Workload, ratio};

/// The roles under which the reader keeps blocks.
const ROLES: [Role; 5] =
    [Role::DATA_BLOCK, Role::INDEX_BLOCK, Role::FILTER_BLOCK, Role::FILTER_META_BLOCK, Role::OTHER_BLOCK];

/// Keys between two reports of progress.
const STEP: u64 = 1024;

/// Samples the keys of the session's families, by one scan that does not fill the cache.
pub(crate) fn sample(session: &Session, capacity: usize, random: &mut Random) -> Result<Reservoir> {
    let progress = Progress::open("sampling", "keys");
    let mut reservoir = Reservoir::new(capacity);
    for (index, family) in session.families().iter().enumerate() {
        let mut rows = session.rows(family, false)?;
        rows.seek_to_first()?;
        while rows.valid() {
            reservoir.offer(index as u32, rows.key(), random);
            if reservoir.offered().is_multiple_of(STEP) {
                progress.add(STEP);
            }
            rows.next()?;
        }
    }
    Ok(reservoir)
}

/// A workload's outcome, with what it asked of the cache and the disk.
pub(crate) struct Measurement {
    pub(crate) measured: Measured,
    /// Lookups that hit and missed, by role; roles without lookups are left out.
    pub(crate) roles: Vec<RoleHits>,
    pub(crate) reads: Reads,
    pub(crate) cache_usage: usize,
    pub(crate) cache_capacity: usize,
    pub(crate) resident_memory: Option<u64>,
}

pub(crate) struct RoleHits {
    pub(crate) role: Role,
    pub(crate) hits: u64,
    pub(crate) misses: u64,
}

impl RoleHits {
    pub(crate) fn hit_ratio(&self) -> f64 {
        ratio(self.hits as f64, (self.hits + self.misses) as f64)
    }
}

impl Measurement {
    /// Runs the workload on the session's database.
    pub(crate) fn of(session: &Session, keys: &RankedKeys, workload: &Workload, doing: &'static str) -> Result<Self> {
        let families = session.families();
        let (stats, reads) = (session.cache().stats(), session.reads());
        let measured = workload.run(keys, doing, |family, key| {
            Ok(session.get(&families[family as usize], key)?.map(|value| value.len()))
        })?;
        Ok(Self {
            measured,
            roles: roles_since(&stats, &session.cache().stats()),
            reads: session.reads().since(reads),
            cache_usage: session.cache().usage(),
            cache_capacity: session.cache().capacity(),
            resident_memory: memory::resident_bytes(),
        })
    }

    /// Hits of all roles as a share of their lookups.
    pub(crate) fn hit_ratio(&self) -> f64 {
        let hits: u64 = self.roles.iter().map(|role| role.hits).sum();
        let misses: u64 = self.roles.iter().map(|role| role.misses).sum();
        ratio(hits as f64, (hits + misses) as f64)
    }

    pub(crate) fn report(&self) -> Report {
        let latencies = &self.measured.latencies;
        let roles = self.roles.iter().map(|role| {
            let figures = json!({
                "hits": role.hits,
                "misses": role.misses,
                "hit_ratio": role.hit_ratio(),
            });
            (role.role.name().replace('-', "_"), figures)
        });
        Report {
            reads: self.measured.reads,
            elapsed_seconds: self.measured.elapsed.as_secs_f64(),
            reads_per_second: self.measured.reads_per_second(),
            found: self.measured.found,
            found_ratio: self.measured.found_ratio(),
            hit_ratio: self.hit_ratio(),
            hit_ratio_by_role: roles.collect(),
            latency_p50_ns: latencies.quantile(0.5),
            latency_p99_ns: latencies.quantile(0.99),
            latency_p99_9_ns: latencies.quantile(0.999),
            latency_max_ns: latencies.longest(),
            block_reads_from_disk: self.reads.blocks,
            bytes_read: self.reads.bytes,
            bytes_returned: self.measured.bytes_returned,
            cache_usage_bytes: self.cache_usage,
            cache_capacity_bytes: self.cache_capacity,
            resident_memory_bytes: self.resident_memory,
        }
    }

    /// Adds a line for each figure.
    pub(crate) fn add_to(&self, table: &mut Table) {
        let latencies = &self.measured.latencies;
        table.row([
            "reads".to_owned(),
            show_count(self.measured.reads),
            format!("in {:.2} s", self.measured.elapsed.as_secs_f64()),
        ]);
        table.row(["reads per second".to_owned(), show_rate(self.measured.reads_per_second())]);
        table.row(["found".to_owned(), percent(self.measured.found_ratio())]);
        table.row(["latency p50".to_owned(), show_latency(latencies.quantile(0.5))]);
        table.row(["latency p99".to_owned(), show_latency(latencies.quantile(0.99))]);
        table.row(["latency p99.9".to_owned(), show_latency(latencies.quantile(0.999))]);
        table.row(["latency max".to_owned(), show_latency(latencies.longest())]);
        table.row(["cache hits".to_owned(), percent(self.hit_ratio())]);
        for role in &self.roles {
            table.row([
                format!("  {}", role.role.name()),
                percent(role.hit_ratio()),
                format!("of {}", show_count(role.hits + role.misses)),
            ]);
        }
        table.row(["blocks read from disk".to_owned(), show_count(self.reads.blocks), show_size(self.reads.bytes)]);
        table.row(["bytes returned".to_owned(), show_size(self.measured.bytes_returned)]);
        table.row([
            "cache usage".to_owned(),
            show_size(self.cache_usage as u64),
            format!("of {}", show_size(self.cache_capacity as u64)),
        ]);
        if let Some(resident) = self.resident_memory {
            table.row(["memory of the process".to_owned(), show_size(resident), "with the sampled keys".to_owned()]);
        }
    }
}

/// The figures of a measurement for programs.
#[derive(Serialize)]
pub(crate) struct Report {
    reads: u64,
    elapsed_seconds: f64,
    reads_per_second: f64,
    found: u64,
    found_ratio: f64,
    hit_ratio: f64,
    hit_ratio_by_role: Map<String, Value>,
    latency_p50_ns: u64,
    latency_p99_ns: u64,
    latency_p99_9_ns: u64,
    latency_max_ns: u64,
    /// Blocks of any kind.
    block_reads_from_disk: u64,
    /// Of those blocks, as stored.
    bytes_read: u64,
    /// Of the values found.
    bytes_returned: u64,
    cache_usage_bytes: usize,
    cache_capacity_bytes: usize,
    /// Null where the system does not tell.
    resident_memory_bytes: Option<u64>,
}

/// A share for a person.
pub(crate) fn percent(share: f64) -> String {
    format!("{:.2} %", share * 100.0)
}

fn roles_since(before: &Stats, after: &Stats) -> Vec<RoleHits> {
    ROLES
        .into_iter()
        .map(|role| RoleHits {
            role,
            hits: after.role(role).hits - before.role(role).hits,
            misses: after.role(role).misses - before.role(role).misses,
        })
        .filter(|role| role.hits + role.misses > 0)
        .collect()
}
