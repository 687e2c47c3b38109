//! `bench`: the loops of the `hyperclock-bench` crate on a cache of this project.
//!
//! [`on_cache`] is the one place that turns a cache's name into its type: a new cache has a name in `args` and an arm here,
//! and every workload runs on it.

use hyperclock_bench::churn::Churn;
use hyperclock_bench::hits::Hits;
use hyperclock_bench::hot::{Hot, OTHERS};
use hyperclock_bench::instances::{Instances, InstancesReport};
use hyperclock_bench::kudu::{Kudu, KuduReport};
use hyperclock_bench::memory;
use hyperclock_bench::mixed::{Mixed, Percentages};
use hyperclock_bench::report::Report;
use hyperclock_bench::runner::Figures;
use hyperclock_bench::table::Table;
use hyperclock_bench::{Buffer, Cache, HyperClock, Inline};
use serde::Serialize;

use crate::args::{BenchCommand, CacheChoice, CacheName};
use crate::db::percent;
use crate::failure::{Failure, Result, Verdict};
use crate::output::Output;
use crate::progress::Waiting;
use crate::sizes::{show_count, show_latency, show_rate, show_size};

/// Values of this size are kept in one piece; all others in a buffer of their own.
const INLINE: usize = 64;

/// Memory of an entry beyond its value, roughly.
const ENTRY: u64 = 64;

/// What is measured, whatever the cache.
trait Measure {
    type Report: Serialize;

    fn on<C: Cache>(&self) -> Result<Self::Report>;

    /// The figures for a person.
    fn show(report: &Self::Report, table: &mut Table);
}

pub(crate) fn run(command: &BenchCommand, output: &mut Output) -> Result<Verdict> {
    match command {
        BenchCommand::Cache(args) => {
            let percentages = Percentages::from(args.percentages);
            if percentages.sum() != 100 {
                return Err(Failure::usage(format!(
                    "the percentages of the five operations sum to {}, not to 100",
                    percentages.sum()
                )));
            }
            require_memory(args.cache_size as u64, "--cache-size")?;
            let mixed = Mixed {
                plan: args.run.plan(),
                cache_bytes: args.cache_size,
                value_bytes: args.value_bytes,
                resident_ratio: args.resident_ratio,
                pinned_ratio: args.pinned_ratio,
                skew: args.skew,
                degenerate_hash_bits: args.degenerate_hash_bits,
                percentages,
                lean: args.lean,
                populate: !args.unpopulated,
                charge_metadata: !args.charge.uncharged_metadata,
            };
            on_cache(args.run.cache, args.value_bytes, &mixed, output)
        }
        BenchCommand::Kudu(args) => {
            require_memory(args.cache_size as u64, "--cache-size")?;
            let kudu = Kudu {
                plan: args.run.plan(),
                cache_bytes: args.cache_size,
                value_bytes: args.value_bytes,
                charge_metadata: !args.charge.uncharged_metadata,
            };
            on_cache(args.run.cache, args.value_bytes, &kudu, output)
        }
        BenchCommand::Hits(args) => {
            require_memory_of(args.entries, args.value_bytes)?;
            let hits = Hits {
                plan: args.run.plan(),
                entries: args.entries,
                value_bytes: args.value_bytes,
                distribution: args.distribution,
                read_values: args.read_values,
            };
            on_cache(args.run.cache, args.value_bytes, &hits, output)
        }
        BenchCommand::Hot(args) => {
            require_memory((OTHERS + 1).saturating_mul(args.value_bytes as u64), "--value-bytes")?;
            let hot = Hot { plan: args.run.plan(), value_bytes: args.value_bytes, scoped: args.scoped };
            on_cache(args.run.cache, args.value_bytes, &hot, output)
        }
        BenchCommand::Churn(args) => {
            require_memory_of(args.entries, args.value_bytes)?;
            let churn = Churn {
                plan: args.run.plan(),
                entries: args.entries,
                value_bytes: args.value_bytes,
                lookups: args.lookups,
                charge_metadata: !args.charge.uncharged_metadata,
            };
            on_cache(args.run.cache, args.value_bytes, &churn, output)
        }
        BenchCommand::Instances(args) => {
            let instances = Instances { sizes: args.sizes.clone(), count: args.instances };
            on_cache(args.cache, INLINE, &instances, output)
        }
    }
}

/// Refuses what fills more memory than the machine has.
fn require_memory(bytes: u64, options: &str) -> Result<()> {
    match memory::physical_bytes() {
        Some(physical) if bytes > physical => Err(Failure::usage(format!(
            "{} are more than the {} of this machine's memory: lower {options}",
            show_size(bytes),
            show_size(physical)
        ))),
        _ => Ok(()),
    }
}

fn require_memory_of(entries: u32, value_bytes: usize) -> Result<()> {
    let bytes = u64::from(entries).saturating_mul(value_bytes as u64 + ENTRY);
    require_memory(bytes, "--entries or --value-bytes")
}

/// Measures the cache of a name, with values of a size.
fn on_cache<M: Measure>(cache: CacheChoice, value_bytes: usize, measure: &M, output: &mut Output) -> Result<Verdict> {
    let name = cache.name;
    let report = {
        let _waiting = Waiting::new("measuring");
        match (name, value_bytes) {
            (CacheName::Clock, INLINE) => measure.on::<HyperClock<Inline<INLINE>>>()?,
            (CacheName::Clock, _) => measure.on::<HyperClock<Buffer>>()?,
            (CacheName::ClockFixed, INLINE) => measure.on::<HyperClock<Inline<INLINE>, true>>()?,
            (CacheName::ClockFixed, _) => measure.on::<HyperClock<Buffer, true>>()?,
        }
    };
    write::<M>(name, &report, output)
}

/// Prints a report in the form asked for.
fn write<M: Measure>(name: CacheName, report: &M::Report, output: &mut Output) -> Result<Verdict> {
    #[derive(Serialize)]
    struct Named<'a, R> {
        cache: &'static str,
        #[serde(flatten)]
        report: &'a R,
    }
    if output.json() {
        output.object(&Named { cache: name.name(), report })?;
    } else {
        let mut table = Table::default();
        M::show(report, &mut table);
        table.write(output.rows())?;
    }
    Ok(Verdict::Done)
}

/// Adds a line for each figure of a run.
fn show_figures(figures: &Figures, table: &mut Table) {
    table.row([
        "operations".to_owned(),
        show_count(figures.operations),
        format!("in {:.2} s", figures.elapsed_seconds),
    ]);
    table.row(["operations per second".to_owned(), show_rate(figures.ops_per_sec)]);
    if let Some(ratio) = figures.hit_ratio {
        table.row(["hits".to_owned(), percent(ratio)]);
    }
    for (name, nanoseconds) in [
        ("latency p50", figures.p50_ns),
        ("latency p99", figures.p99_ns),
        ("latency p99.9", figures.p999_ns),
        ("latency max", figures.max_ns),
    ] {
        table.row([name.to_owned(), show_latency(nanoseconds)]);
    }
}

fn show_memory(resident: Option<u64>, table: &mut Table) {
    if let Some(resident) = resident {
        table.row(["memory of the process".to_owned(), show_size(resident)]);
    }
}

fn show_report<S>(report: &Report<S>, table: &mut Table) {
    show_figures(&report.figures, table);
    table.row(["entries".to_owned(), show_count(report.entries)]);
    show_memory(report.rss_bytes, table);
    if let Some(bytes) = report.rss_bytes_per_entry {
        table.row(["memory of an entry beyond its value".to_owned(), format!("{bytes:.1} B")]);
    }
}

impl Measure for Mixed {
    type Report = Report<hyperclock_bench::mixed::Settings>;

    fn on<C: Cache>(&self) -> Result<Self::Report> {
        Ok(self.run::<C>()?)
    }

    fn show(report: &Self::Report, table: &mut Table) {
        show_report(report, table);
    }
}

impl Measure for Hits {
    type Report = Report<hyperclock_bench::hits::Settings>;

    fn on<C: Cache>(&self) -> Result<Self::Report> {
        Ok(self.run::<C>()?)
    }

    fn show(report: &Self::Report, table: &mut Table) {
        show_report(report, table);
    }
}

impl Measure for Hot {
    type Report = Report<hyperclock_bench::hot::Settings>;

    fn on<C: Cache>(&self) -> Result<Self::Report> {
        Ok(self.run::<C>()?)
    }

    fn show(report: &Self::Report, table: &mut Table) {
        show_report(report, table);
    }
}

impl Measure for Churn {
    type Report = Report<hyperclock_bench::churn::Settings>;

    fn on<C: Cache>(&self) -> Result<Self::Report> {
        Ok(self.run::<C>()?)
    }

    fn show(report: &Self::Report, table: &mut Table) {
        show_report(report, table);
    }
}

impl Measure for Kudu {
    type Report = KuduReport;

    fn on<C: Cache>(&self) -> Result<Self::Report> {
        Ok(self.run::<C>()?)
    }

    fn show(report: &Self::Report, table: &mut Table) {
        table.row(["pattern", "data/cache", "operations/s", "hits", "p50", "p99", "p99.9", "max"]);
        for run in &report.runs {
            let figures = &run.figures;
            table.row([
                run.pattern.name().to_owned(),
                run.ratio.to_string(),
                show_rate(figures.ops_per_sec),
                figures.hit_ratio.map(percent).unwrap_or_default(),
                show_latency(figures.p50_ns),
                show_latency(figures.p99_ns),
                show_latency(figures.p999_ns),
                show_latency(figures.max_ns),
            ]);
        }
        show_memory(report.rss_bytes, table);
    }
}

impl Measure for Instances {
    type Report = InstancesReport;

    fn on<C: Cache>(&self) -> Result<Self::Report> {
        Ok(self.run::<C>())
    }

    fn show(report: &Self::Report, table: &mut Table) {
        table.row(["capacity", "create", "drop", "memory of each"]);
        for size in &report.sizes {
            table.row([
                show_size(size.size_bytes as u64),
                format!("{:.2} us", size.create_us),
                format!("{:.2} us", size.drop_us),
                size.rss_bytes_each.map(|bytes| format!("{bytes:.0} B")).unwrap_or_default(),
            ]);
        }
    }
}
