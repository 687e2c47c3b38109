//! The options.

use clap::{Args, Parser, Subcommand};
use serde::{Deserialize, Serialize};

use crate::caches::CacheName;
use crate::workload::Workload;

/// Compare hyperclock with other caches, by the same loops.
///
/// Caches take turns in rounds; each turn is a process of its own. Figures are medians over the rounds, and ratios are medians of
/// the ratios within each round. Progress goes to standard error. Exit codes: 0 done, 2 usage, 3 a measurement failed or its
/// hit ratio cannot be right.
#[derive(Debug, Parser)]
#[command(
    name = "hyperclock-compare",
    after_help = "Example:\n  hyperclock-compare hits --threads 1,2 --caches clock,quick_cache,moka"
)]
pub(crate) struct Cli {
    #[command(flatten)]
    pub(crate) run: RunArgs,

    /// Print one JSON object.
    #[arg(long, global = true)]
    pub(crate) json: bool,

    /// Print tables in Markdown.
    #[arg(long, global = true, conflicts_with = "json")]
    pub(crate) markdown: bool,

    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Args, Clone, Debug)]
pub(crate) struct RunArgs {
    /// Numbers of threads; not for memory and instances.
    #[arg(long, global = true, value_name = "N", value_delimiter = ',', default_value = "1,2", value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub(crate) threads: Vec<u16>,

    /// Rounds, of which the median is taken.
    #[arg(long, global = true, value_name = "N", default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub(crate) rounds: u32,

    /// Seconds of each pass, of which there are two for each cache, number of threads and round [default: 0.15 for kudu, 0.3 for
    /// all others].
    #[arg(long, global = true, value_name = "SECONDS", value_parser = parse_seconds)]
    pub(crate) seconds: Option<f64>,

    /// Caches [default: all that the workload is for].
    #[arg(long, global = true, value_name = "NAME", value_delimiter = ',')]
    pub(crate) caches: Vec<CacheName>,

    /// Seed of the first round; each round has the next one.
    #[arg(long, global = true, value_name = "N", default_value_t = 1)]
    pub(crate) seed: u64,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Lookups that all hit.
    #[command(after_help = "Example:\n  hyperclock-compare hits --threads 2 --read-values")]
    Hits(HitsOptions),
    /// Lookups of one key by all threads.
    #[command(after_help = "Example:\n  hyperclock-compare hot --scoped")]
    Hot(HotOptions),
    /// A full cache, in which every insert evicts.
    #[command(after_help = "Example:\n  hyperclock-compare churn --lookups --threads 2")]
    Churn(ChurnOptions),
    /// Kudu's patterns: lookups that insert on a miss, over data as large as the cache and three times as large.
    #[command(after_help = "Example:\n  hyperclock-compare kudu --cache-size 1GiB --threads 16 --seconds 1")]
    Kudu(KuduOptions),
    /// The mix of RocksDB's `cache_bench`, with handles kept.
    #[command(after_help = "Example:\n  hyperclock-compare cache --threads 2 --json")]
    Cache(CacheOptions),
    /// Memory of an entry beyond its value.
    #[command(after_help = "Example:\n  hyperclock-compare memory --entries 4000000")]
    Memory(MemoryOptions),
    /// What an empty cache costs to make, to drop and to have.
    #[command(after_help = "Example:\n  hyperclock-compare instances --sizes 32MiB,1GiB")]
    Instances(InstancesOptions),
    /// All of them, hits also with values read and churn also with lookups.
    #[command(after_help = "Example:\n  hyperclock-compare all --markdown > tables.md")]
    All(AllOptions),
    /// Makes one measurement for another process.
    #[command(hide = true)]
    Job { job: String },
}

#[derive(Args, Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct HitsOptions {
    /// Keys, all of them resident.
    #[arg(long, value_name = "N", default_value_t = 1_000_000, value_parser = clap::value_parser!(u32).range(1..=100_000_000))]
    pub(crate) entries: u32,

    /// Bytes of a value.
    #[arg(long, value_name = "SIZE", default_value = "64", value_parser = parse_size)]
    pub(crate) value_bytes: usize,

    /// Exponent of the zipf distribution by which keys are drawn; 0 draws all alike.
    #[arg(long, value_name = "EXPONENT", default_value_t = 0.99, value_parser = parse_exponent)]
    pub(crate) theta: f64,

    /// Read each value that is found.
    #[arg(long)]
    pub(crate) read_values: bool,
}

#[derive(Args, Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct HotOptions {
    /// Bytes of a value.
    #[arg(long, value_name = "SIZE", default_value = "64", value_parser = parse_size)]
    pub(crate) value_bytes: usize,

    /// Use the value in a scoped read, where the cache has one that is cheaper than a handle.
    #[arg(long)]
    pub(crate) scoped: bool,
}

#[derive(Args, Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct ChurnOptions {
    /// Entries that fit.
    #[arg(long, value_name = "N", default_value_t = 1_000_000, value_parser = clap::value_parser!(u32).range(1000..=100_000_000))]
    pub(crate) entries: u32,

    /// Bytes of a value.
    #[arg(long, value_name = "SIZE", default_value = "64", value_parser = parse_size)]
    pub(crate) value_bytes: usize,

    /// Look up one of twice as many keys as fit, and insert it on a miss.
    #[arg(long)]
    pub(crate) lookups: bool,
}

#[derive(Args, Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct KuduOptions {
    /// Capacity of the cache.
    #[arg(long, value_name = "SIZE", default_value = "256MiB", value_parser = parse_size)]
    pub(crate) cache_size: usize,

    /// Bytes of a value.
    #[arg(long, value_name = "SIZE", default_value = "4KiB", value_parser = parse_size)]
    pub(crate) value_bytes: usize,
}

#[derive(Args, Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct CacheOptions {
    /// Capacity of the cache.
    #[arg(long, value_name = "SIZE", default_value = "1GiB", value_parser = parse_size)]
    pub(crate) cache_size: usize,

    /// Bytes of a value.
    #[arg(long, value_name = "SIZE", default_value = "8KiB", value_parser = parse_size)]
    pub(crate) value_bytes: usize,

    /// Do not read the values that are found.
    #[arg(long)]
    pub(crate) lean: bool,
}

#[derive(Args, Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct MemoryOptions {
    /// Entries.
    #[arg(long, value_name = "N", default_value_t = 1_000_000, value_parser = clap::value_parser!(u32).range(1000..=100_000_000))]
    pub(crate) entries: u32,

    /// Bytes of a value.
    #[arg(long, value_name = "SIZE", default_value = "64", value_parser = parse_size)]
    pub(crate) value_bytes: usize,
}

#[derive(Args, Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct InstancesOptions {
    /// Capacities.
    #[arg(long, value_name = "SIZE", value_delimiter = ',', default_value = "32MiB,1GiB", value_parser = parse_size)]
    pub(crate) sizes: Vec<usize>,

    /// Caches of each capacity.
    #[arg(long, value_name = "N", default_value_t = 1000, value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    pub(crate) instances: u32,
}

#[derive(Args, Clone, Debug, PartialEq)]
pub(crate) struct AllOptions {
    /// Entries of hits, churn and memory.
    #[arg(long, value_name = "N", default_value_t = 1_000_000, value_parser = clap::value_parser!(u32).range(1000..=100_000_000))]
    entries: u32,

    /// Capacity of kudu's and cache's caches [default: 256MiB and 1GiB].
    #[arg(long, value_name = "SIZE", value_parser = parse_size)]
    cache_size: Option<usize>,

    /// Caches of each capacity in instances.
    #[arg(long, value_name = "N", default_value_t = 1000, value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    instances: u32,
}

impl AllOptions {
    fn workloads(&self) -> Vec<Workload> {
        let entries = self.entries;
        let hits = |read_values| Workload::Hits(HitsOptions { entries, value_bytes: 64, theta: 0.99, read_values });
        let churn = |lookups| Workload::Churn(ChurnOptions { entries, value_bytes: 64, lookups });
        let kudu = KuduOptions { cache_size: self.cache_size.unwrap_or(256 << 20), value_bytes: 4 << 10 };
        let cache = CacheOptions { cache_size: self.cache_size.unwrap_or(1 << 30), value_bytes: 8 << 10, lean: false };
        vec![
            hits(false),
            hits(true),
            Workload::Hot(HotOptions { value_bytes: 64, scoped: false }),
            churn(false),
            churn(true),
            Workload::Kudu(kudu),
            Workload::Cache(cache),
            Workload::Memory(MemoryOptions { entries, value_bytes: 64 }),
            Workload::Instances(InstancesOptions { sizes: vec![32 << 20, 1 << 30], instances: self.instances }),
        ]
    }
}

impl Command {
    /// What is to be measured.
    pub(crate) fn workloads(&self) -> Vec<Workload> {
        vec![match self {
            Self::Hits(options) => Workload::Hits(options.clone()),
            Self::Hot(options) => Workload::Hot(options.clone()),
            Self::Churn(options) => Workload::Churn(options.clone()),
            Self::Kudu(options) => Workload::Kudu(options.clone()),
            Self::Cache(options) => Workload::Cache(options.clone()),
            Self::Memory(options) => Workload::Memory(options.clone()),
            Self::Instances(options) => Workload::Instances(options.clone()),
            Self::All(options) => return options.workloads(),
            Self::Job { .. } => return Vec::new(),
        }]
    }
}

/// Parses a size of at least a byte: a whole number with or without `KiB`, `MiB` or `GiB`.
fn parse_size(text: &str) -> Result<usize, String> {
    const UNITS: [(&str, usize); 3] = [("KiB", 1 << 10), ("MiB", 1 << 20), ("GiB", 1 << 30)];
    let (digits, unit) =
        UNITS.iter().find_map(|&(name, unit)| text.strip_suffix(name).map(|d| (d, unit))).unwrap_or((text, 1));
    match digits.trim_end().parse::<usize>().ok().and_then(|count| count.checked_mul(unit)) {
        Some(size @ 1..) => Ok(size),
        _ => Err(format!("`{text}` is no size: write a whole number and KiB, MiB or GiB, for example 64MiB")),
    }
}

fn parse_seconds(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(seconds) if seconds > 0.0 && seconds <= 3600.0 => Ok(seconds),
        _ => Err(format!("`{text}` is no duration: write seconds above 0 and up to 3600, for example 0.5")),
    }
}

fn parse_exponent(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(exponent) if (0.0..=10.0).contains(&exponent) => Ok(exponent),
        _ => Err(format!("`{text}` is no exponent from 0 to 10, for example 0.99")),
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn the_command_line_is_sound() {
        Cli::command().debug_assert();
        assert_eq!((parse_size("64"), parse_size("2KiB")), (Ok(64), Ok(2048)));
        assert!(parse_size("0").is_err() && parse_size("1MB").is_err() && parse_size("-1").is_err());
        assert!(parse_seconds("0").is_err() && parse_exponent("nan").is_err());
    }

    #[test]
    fn options_of_a_run_may_follow_the_workload() {
        let cli =
            Cli::try_parse_from(["hyperclock-compare", "hits", "--threads", "1,4", "--caches", "clock,mini-moka"])
                .unwrap();
        assert_eq!(cli.run.threads, [1, 4]);
        assert_eq!(cli.run.caches, [CacheName::Clock, CacheName::MiniMoka]);
        assert_eq!(cli.command.workloads().len(), 1);
    }
}
