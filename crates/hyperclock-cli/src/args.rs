//! The command line: commands, options, their defaults, and an example for each.

mod bench;

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Parser, Subcommand, ValueEnum};
use hyperclock_bench::zipf::Distribution;

use crate::sizes::{parse_memory_size, parse_percent, parse_seconds, parse_share, parse_size};

pub(crate) use self::bench::{BenchCommand, CacheChoice, CacheName};

/// Read, scan, fill and benchmark RocksDB databases through a hyperclock block cache.
#[derive(Debug, Parser)]
#[command(
    name = "hyperclock",
    version,
    disable_help_subcommand = true,
    after_help = "Exit codes: 0 done; 1 the answer is no (key absent, damage found); 2 usage; 3 cannot read or write.\n\
                  Sizes are a whole number with B, KiB, MiB or GiB, or plain bytes.\n\n\
                  Example:\n  hyperclock demo"
)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Command,

    /// Print exactly one JSON object on standard output.
    #[arg(long, global = true)]
    pub(crate) json: bool,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Work with a RocksDB database on disk; it is opened without its lock and never written, except by `fill`.
    #[command(
        subcommand,
        disable_help_subcommand = true,
        after_help = "Example:\n  hyperclock db stats --db /var/lib/app/db"
    )]
    Db(DbCommand),
    /// Measure the block cache by itself: rates, latencies, hits, memory.
    #[command(
        subcommand,
        disable_help_subcommand = true,
        after_help = "Each figure comes with --json too. Rates come from a pass that looks at no clock, latencies from a second \
                      pass that times one operation in 64.\n\n\
                      Example:\n  hyperclock bench hits --threads 2"
    )]
    Bench(BenchCommand),
    Demo(DemoArgs),
}

#[derive(Debug, Subcommand)]
pub(crate) enum DbCommand {
    Scan(ScanArgs),
    Get(GetArgs),
    #[command(name = "multiget")]
    MultiGet(MultiGetArgs),
    Stats(StatsArgs),
    #[command(name = "readrandom")]
    ReadRandom(ReadRandomArgs),
    Fill(FillArgs),
}

/// Which database, what of it, and the cache that it is read through.
#[derive(Args, Debug)]
pub(crate) struct Target {
    /// Folder of the database.
    #[arg(long, value_name = "DIR")]
    pub(crate) db: PathBuf,

    /// Column family to read [default: `default`].
    #[arg(long, value_name = "NAME")]
    pub(crate) cf: Option<String>,

    /// Read every column family, in the order of their ids.
    #[arg(long, conflicts_with = "cf")]
    pub(crate) all_cf: bool,

    /// Capacity of the block cache, such as 64MiB; a plain number is bytes.
    #[arg(long, value_name = "SIZE", default_value = "32MiB", value_parser = parse_memory_size)]
    pub(crate) cache_size: usize,
}

/// Print the rows of a database in its comparator's order.
///
/// Rows are `KEY : VALUE`. Bytes that are no printable UTF-8 are escaped; --hex is exact. With --json no row is printed but
/// the number of rows and bytes, counted by up to --threads threads, a column family each.
#[derive(Args, Debug)]
#[command(after_help = "Example:\n  hyperclock db scan --db /var/lib/app/db --from user:100 --limit 20")]
pub(crate) struct ScanArgs {
    #[command(flatten)]
    pub(crate) target: Target,

    /// Threads that read ahead, a column family each; the order of the rows does not depend on it.
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub(crate) threads: u16,

    /// First key to print; where there is none, the next one in order.
    #[arg(long, value_name = "KEY")]
    pub(crate) from: Option<String>,

    /// Key to stop before.
    #[arg(long, value_name = "KEY")]
    pub(crate) to: Option<String>,

    /// Rows to print at most, in each column family.
    #[arg(long, value_name = "N")]
    pub(crate) limit: Option<u64>,

    /// From the last row of the range to its first.
    #[arg(long)]
    pub(crate) reverse: bool,

    /// Keys and values are 0xHEX, on the command line and in the output.
    #[arg(long)]
    pub(crate) hex: bool,

    /// Rows are FAMILY, KEYHEX and VALUEHEX between tabs; values of one repeated byte over 4096 bytes are len:N:byte:HH.
    #[arg(long, conflicts_with_all = ["hex", "json"])]
    pub(crate) tsv: bool,
}

/// Print the value of a key.
///
/// Exit code 1 and no output when the key is absent. With --all-cf the key is looked up in every column family.
#[derive(Args, Debug)]
#[command(after_help = "Example:\n  hyperclock db get --db /var/lib/app/db --hex 0x6B6579")]
pub(crate) struct GetArgs {
    /// The key.
    #[arg(value_name = "KEY", allow_hyphen_values = true)]
    pub(crate) key: String,

    #[command(flatten)]
    pub(crate) target: Target,

    /// Keys and values are 0xHEX, on the command line and in the output.
    #[arg(long)]
    pub(crate) hex: bool,
}

/// Print the values of several keys, read as one batch.
///
/// Found keys are printed as `KEY : VALUE` in the order given, absent ones are named on standard error. Exit code 1 when a
/// key is absent. The batch is split over --threads threads.
#[derive(Args, Debug)]
#[command(after_help = "Example:\n  hyperclock db multiget --db /var/lib/app/db user:1 user:2 user:3")]
pub(crate) struct MultiGetArgs {
    /// The keys.
    #[arg(value_name = "KEY", required = true)]
    pub(crate) keys: Vec<String>,

    #[command(flatten)]
    pub(crate) target: Target,

    /// Threads that look keys up, each a part of the batch; the order of what is printed does not depend on it.
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub(crate) threads: u16,

    /// Keys and values are 0xHEX, on the command line and in the output.
    #[arg(long)]
    pub(crate) hex: bool,
}

/// Print what a database consists of: files, entries, bytes, format versions and blocks by column family and level.
#[derive(Args, Debug)]
#[command(after_help = "Example:\n  hyperclock db stats --db /var/lib/app/db --all-cf")]
pub(crate) struct StatsArgs {
    /// Folder of the database.
    #[arg(long, value_name = "DIR")]
    pub(crate) db: PathBuf,

    /// Column family to describe [default: all].
    #[arg(long, value_name = "NAME")]
    pub(crate) cf: Option<String>,

    /// Describe every column family, as without --cf.
    #[arg(long, conflicts_with = "cf")]
    pub(crate) all_cf: bool,
}

/// Measure random point reads on keys that exist.
///
/// One scan that does not fill the cache draws a sample of the keys, each key with the same chance; reads then draw from the
/// sample. With a zipf distribution the ranks are given to the sampled keys in an order shuffled by --seed.
#[derive(Args, Debug)]
#[command(
    after_help = "Example:\n  hyperclock db readrandom --db /var/lib/app/db --cache-size 256MiB --threads 2 --duration 10"
)]
pub(crate) struct ReadRandomArgs {
    #[command(flatten)]
    pub(crate) target: Target,

    /// Threads that read at once, through one cache.
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub(crate) threads: u16,

    /// Keys to sample from the database.
    #[arg(long, value_name = "N", default_value_t = 1_000_000, value_parser = clap::value_parser!(u64).range(1..=1_000_000_000))]
    pub(crate) keys: u64,

    /// How keys are drawn: `uniform` or `zipf:THETA`.
    #[arg(long, value_name = "NAME", default_value = "zipf:0.99")]
    pub(crate) distribution: Distribution,

    /// Percentage of reads for a key with one byte appended, which is normally absent.
    #[arg(long, value_name = "PERCENT", default_value = "0", value_parser = parse_percent)]
    pub(crate) missing: f64,

    /// Reads over all threads [default: 1000000].
    #[arg(long, value_name = "N", conflicts_with = "duration", value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) reads: Option<u64>,

    /// Seconds to read for, instead of a number of reads.
    #[arg(long, value_name = "SECONDS", value_parser = parse_seconds)]
    pub(crate) duration: Option<Duration>,

    /// Seed of everything that is drawn.
    #[arg(long, value_name = "N", default_value_t = DEFAULT_SEED)]
    pub(crate) seed: u64,
}

/// The seed where none is given: results can be compared from run to run.
pub(crate) const DEFAULT_SEED: u64 = 42;

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum CompressionName {
    None,
    Snappy,
    Zlib,
    Lz4,
    Zstd,
}

/// Make a database of any size that this reader and RocksDB read.
///
/// Keys are the numbers 0 to N - 1 as 8 big-endian bytes, padded with the digit `0`. A smaller key keeps the low bytes, which
/// must be enough to number all rows. Values compress to the share asked for.
#[derive(Args, Debug)]
#[command(after_help = "Example:\n  hyperclock db fill --db /tmp/filled --num 1000000")]
pub(crate) struct FillArgs {
    /// Folder to make; it must be new or empty.
    #[arg(long, value_name = "DIR")]
    pub(crate) db: PathBuf,

    /// Number of keys.
    #[arg(long, value_name = "N", default_value_t = 1_000_000)]
    pub(crate) num: u64,

    /// Bytes of a key.
    #[arg(long, value_name = "SIZE", default_value = "16", value_parser = parse_size)]
    pub(crate) key_size: u64,

    /// Bytes of a value.
    #[arg(long, value_name = "SIZE", default_value = "100", value_parser = parse_size)]
    pub(crate) value_size: u64,

    /// Share of its size that a value compresses to, from 0 to 1.
    #[arg(long, value_name = "SHARE", default_value = "0.5", value_parser = parse_share)]
    pub(crate) value_compressibility: f64,

    /// Compression of the blocks.
    #[arg(long, value_name = "NAME", default_value = "snappy")]
    pub(crate) compression: CompressionName,

    /// Seed of the values.
    #[arg(long, value_name = "N", default_value_t = DEFAULT_SEED)]
    pub(crate) seed: u64,
}

/// See it work, in under 20 seconds: a real RocksDB database, one filled here, and reads with a cold and a warm cache.
///
/// Nothing is written outside --out.
#[derive(Args, Debug)]
#[command(after_help = "Example:\n  hyperclock demo --out /tmp/hyperclock-demo")]
pub(crate) struct DemoArgs {
    /// Folder for the databases of the demonstration, new or empty [default: a temporary folder, whose path is printed].
    #[arg(long, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,

    /// Rows of the database that is filled; at most 800000, so that its blocks fit into the cache.
    #[arg(long, value_name = "N", default_value_t = 400_000, value_parser = clap::value_parser!(u64).range(1..=800_000))]
    pub(crate) num: u64,

    /// Seed of everything that is drawn.
    #[arg(long, value_name = "N", default_value_t = DEFAULT_SEED)]
    pub(crate) seed: u64,
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    fn each(command: &mut clap::Command, visit: &mut dyn FnMut(&mut clap::Command)) {
        visit(command);
        for child in command.get_subcommands_mut() {
            each(child, visit);
        }
    }

    #[test]
    fn the_definition_is_consistent() {
        Cli::command().debug_assert();
    }

    #[test]
    fn every_help_has_an_example() {
        let mut seen = 0;
        each(&mut Cli::command(), &mut |command| {
            let help = command.render_long_help().to_string();
            assert!(help.contains("Example:\n  hyperclock "), "{} has no example:\n{help}", command.get_name());
            seen += 1;
        });
        assert_eq!(seen, 16, "hyperclock, db, its six commands, bench, its six, demo");
    }

    #[test]
    fn every_example_is_understood() {
        each(&mut Cli::command(), &mut |command| {
            let help = command.render_long_help().to_string();
            let example = help.split("Example:\n").nth(1).and_then(|rest| rest.lines().next());
            let words = example.unwrap_or_default().split_whitespace();
            Cli::try_parse_from(words).unwrap_or_else(|error| panic!("{}: {error}", command.get_name()));
        });
    }

    #[test]
    fn defaults_are_those_of_the_documents() {
        let cli = Cli::try_parse_from(["hyperclock", "db", "fill", "--db", "x"]).unwrap();
        let Command::Db(DbCommand::Fill(fill)) = cli.command else { panic!("not fill") };
        assert_eq!((fill.num, fill.key_size, fill.value_size), (1_000_000, 16, 100));
        assert_eq!((fill.value_compressibility, fill.compression), (0.5, CompressionName::Snappy));

        let cli = Cli::try_parse_from(["hyperclock", "db", "readrandom", "--db", "x"]).unwrap();
        let Command::Db(DbCommand::ReadRandom(read)) = cli.command else { panic!("not readrandom") };
        assert_eq!((read.keys, read.distribution), (1_000_000, Distribution::Zipf(0.99)));
        assert_eq!((read.target.cf, read.target.cache_size), (None, 32 << 20));
    }
}
