//! The options of `bench`.

use std::time::Duration;

use clap::{Args, Subcommand, ValueEnum};
use hyperclock_bench::mixed::Percentages;
use hyperclock_bench::runner::{Length, Plan};
use hyperclock_bench::zipf::Distribution;

use super::DEFAULT_SEED;
use crate::sizes::{number, parse_memory_size, parse_seconds, parse_share, parse_share_above_zero, parse_value_size};

/// The caches that can be measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum CacheName {
    /// The clock table, growing by itself.
    Clock,
    /// The clock table, made in advance for entries of the value's size.
    ClockFixed,
}

impl CacheName {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Clock => "clock",
            Self::ClockFixed => "clock-fixed",
        }
    }
}

#[derive(Debug, Subcommand)]
pub(crate) enum BenchCommand {
    Cache(CacheArgs),
    Kudu(KuduArgs),
    Hits(HitsArgs),
    Hot(HotArgs),
    Churn(ChurnArgs),
    Instances(InstancesArgs),
}

/// What is measured, by how many, and for how long.
#[derive(Args, Debug)]
pub(crate) struct RunArgs {
    #[command(flatten)]
    pub(crate) cache: CacheChoice,

    /// Threads that work at once.
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = number(1..=1024_u16))]
    pub(crate) threads: u16,

    /// Seconds of each pass: one for the rate, one for the latencies.
    #[arg(long, value_name = "SECONDS", default_value = "2", value_parser = parse_seconds)]
    pub(crate) duration: Duration,

    /// Operations of each thread in each pass, instead of a duration.
    #[arg(long, value_name = "N", conflicts_with = "duration", value_parser = number(1..=u64::MAX))]
    pub(crate) ops_per_thread: Option<u64>,

    /// Seed of everything that is drawn.
    #[arg(long, value_name = "N", default_value_t = DEFAULT_SEED, value_parser = number(0..=u64::MAX))]
    pub(crate) seed: u64,
}

impl RunArgs {
    pub(crate) fn plan(&self) -> Plan {
        let length = self.ops_per_thread.map_or(Length::Time(self.duration), Length::Operations);
        Plan { threads: self.threads, length, seed: self.seed }
    }
}

/// Which cache is measured.
#[derive(Args, Clone, Copy, Debug)]
pub(crate) struct CacheChoice {
    /// The cache to measure.
    #[arg(id = "cache", long = "cache", value_name = "NAME", default_value = "clock")]
    pub(crate) name: CacheName,
}

/// Whether a block cache's own memory counts.
#[derive(Args, Clone, Copy, Debug)]
pub(crate) struct ChargeArgs {
    /// Charge entries for their values alone, not for the cache's own memory.
    #[arg(long)]
    pub(crate) uncharged_metadata: bool,
}

/// Measure a mix of lookups, inserts and erases with handles kept, after RocksDB's `cache_bench`.
///
/// The least of --skew + 1 even draws chooses the key. Latencies are those of whole operations, with the making of a value on
/// a miss and the reading of it on a hit. The percentages must sum to 100.
#[derive(Args, Debug)]
#[command(after_help = "Example:\n  hyperclock bench cache --threads 16 --ops-per-thread 2000000")]
pub(crate) struct CacheArgs {
    #[command(flatten)]
    pub(crate) run: RunArgs,

    /// Capacity of the cache, such as 64MiB; a plain number is bytes.
    #[arg(long, value_name = "SIZE", default_value = "1GiB", value_parser = parse_memory_size)]
    pub(crate) cache_size: usize,

    /// Bytes of a value.
    #[arg(long, value_name = "SIZE", default_value = "8KiB", value_parser = parse_value_size)]
    pub(crate) value_bytes: usize,

    /// Share of the keys that fits into the cache.
    #[arg(long, value_name = "SHARE", default_value = "0.25", value_parser = parse_share_above_zero)]
    pub(crate) resident_ratio: f64,

    /// Share of the capacity that handles pin, over all threads.
    #[arg(long, value_name = "SHARE", default_value = "0.25", value_parser = parse_share)]
    pub(crate) pinned_ratio: f64,

    /// How much more low keys are drawn; 0 is not at all.
    #[arg(long, value_name = "N", default_value_t = 5, value_parser = number(0..=1000_u32))]
    pub(crate) skew: u32,

    /// Give keys only so many bits of different places in the table, to see what collisions cost; 0 for none of that.
    #[arg(long, value_name = "BITS", default_value_t = 0, value_parser = number(0..=32_u32))]
    pub(crate) degenerate_hash_bits: u32,

    #[command(flatten)]
    pub(crate) percentages: PercentageArgs,

    /// Do not read the values that are found.
    #[arg(long)]
    pub(crate) lean: bool,

    /// Begin with an empty cache.
    #[arg(long)]
    pub(crate) unpopulated: bool,

    #[command(flatten)]
    pub(crate) charge: ChargeArgs,
}

/// How often each operation is made.
#[derive(Args, Clone, Copy, Debug)]
#[expect(clippy::struct_field_names, reason = "fields are options, and options have their unit in the name")]
pub(crate) struct PercentageArgs {
    /// Percentage of lookups that insert on a miss.
    #[arg(long, value_name = "PERCENT", default_value_t = 82, value_parser = number(0..=100_u8))]
    lookup_insert_percent: u8,

    /// Percentage of inserts that keep a handle.
    #[arg(long, value_name = "PERCENT", default_value_t = 2, value_parser = number(0..=100_u8))]
    insert_percent: u8,

    /// Percentage of inserts that keep none.
    #[arg(long, value_name = "PERCENT", default_value_t = 5, value_parser = number(0..=100_u8))]
    blind_insert_percent: u8,

    /// Percentage of lookups that insert nothing.
    #[arg(long, value_name = "PERCENT", default_value_t = 10, value_parser = number(0..=100_u8))]
    lookup_percent: u8,

    /// Percentage of erases.
    #[arg(long, value_name = "PERCENT", default_value_t = 1, value_parser = number(0..=100_u8))]
    erase_percent: u8,
}

impl From<PercentageArgs> for Percentages {
    fn from(args: PercentageArgs) -> Self {
        Self {
            lookup_insert_percent: args.lookup_insert_percent,
            insert_percent: args.insert_percent,
            blind_insert_percent: args.blind_insert_percent,
            lookup_percent: args.lookup_percent,
            erase_percent: args.erase_percent,
        }
    }
}

/// Measure Kudu's patterns: few popular keys or all alike, over data as large as the cache and three times as large.
///
/// Each operation looks a key up and inserts it on a miss. Each of the four patterns has a cache of its own, which operations
/// without figures fill, four for each entry that fits.
#[derive(Args, Debug)]
#[command(after_help = "Example:\n  hyperclock bench kudu --threads 16 --duration 1")]
pub(crate) struct KuduArgs {
    #[command(flatten)]
    pub(crate) run: RunArgs,

    /// Capacity of the cache, such as 64MiB; a plain number is bytes.
    #[arg(long, value_name = "SIZE", default_value = "1GiB", value_parser = parse_memory_size)]
    pub(crate) cache_size: usize,

    /// Bytes of a value.
    #[arg(long, value_name = "SIZE", default_value = "4KiB", value_parser = parse_value_size)]
    pub(crate) value_bytes: usize,

    #[command(flatten)]
    pub(crate) charge: ChargeArgs,
}

/// Measure lookups that all hit, and the memory of an entry.
///
/// The handle is taken and dropped. `rss_bytes_per_entry` is the memory that the fill added to the process, by entries, less a
/// value's bytes.
#[derive(Args, Debug)]
#[command(after_help = "Example:\n  hyperclock bench hits --threads 2 --json")]
pub(crate) struct HitsArgs {
    #[command(flatten)]
    pub(crate) run: RunArgs,

    /// Keys, all of them resident.
    #[arg(long, value_name = "N", default_value_t = 1_000_000, value_parser = number(1..=1_000_000_000_u32))]
    pub(crate) entries: u32,

    /// Bytes of a value.
    #[arg(long, value_name = "SIZE", default_value = "64", value_parser = parse_value_size)]
    pub(crate) value_bytes: usize,

    /// How keys are drawn: `uniform` or `zipf:THETA`.
    #[arg(long, value_name = "NAME", default_value = "zipf:0.99")]
    pub(crate) distribution: Distribution,

    /// Read each value that is found.
    #[arg(long)]
    pub(crate) read_values: bool,
}

/// Measure lookups of one key by all threads.
#[derive(Args, Debug)]
#[command(after_help = "Example:\n  hyperclock bench hot --threads 2 --scoped")]
pub(crate) struct HotArgs {
    #[command(flatten)]
    pub(crate) run: RunArgs,

    /// Bytes of a value.
    #[arg(long, value_name = "SIZE", default_value = "64", value_parser = parse_value_size)]
    pub(crate) value_bytes: usize,

    /// Use the value through `View::read`, which takes and drops a handle itself today.
    #[arg(long)]
    pub(crate) scoped: bool,
}

/// Measure inserts into a full cache, each of which evicts.
///
/// With --lookups each operation looks up one of twice as many keys as fit, and inserts it on a miss, which is every other
/// time; latencies are then those of the lookups.
#[derive(Args, Debug)]
#[command(after_help = "Example:\n  hyperclock bench churn --threads 2 --lookups")]
pub(crate) struct ChurnArgs {
    #[command(flatten)]
    pub(crate) run: RunArgs,

    /// Entries that fit.
    #[arg(long, value_name = "N", default_value_t = 1_000_000, value_parser = number(1..=1_000_000_000_u32))]
    pub(crate) entries: u32,

    /// Bytes of a value.
    #[arg(long, value_name = "SIZE", default_value = "64", value_parser = parse_value_size)]
    pub(crate) value_bytes: usize,

    /// Look each key up, and insert on a miss.
    #[arg(long)]
    pub(crate) lookups: bool,

    #[command(flatten)]
    pub(crate) charge: ChargeArgs,
}

/// Measure what it costs to make, to have and to drop an empty cache.
#[derive(Args, Debug)]
#[command(after_help = "Example:\n  hyperclock bench instances --sizes 32MiB,1GiB")]
pub(crate) struct InstancesArgs {
    #[command(flatten)]
    pub(crate) cache: CacheChoice,

    /// Capacities.
    #[arg(long, value_name = "SIZE", value_delimiter = ',', default_value = "32MiB,1GiB", value_parser = parse_memory_size)]
    pub(crate) sizes: Vec<usize>,

    /// Caches of each capacity.
    #[arg(long, value_name = "N", default_value_t = 1000, value_parser = number(1..=10_000_000_u32))]
    pub(crate) instances: u32,
}
