//! `demo`: what this is about, on real data, in a few seconds.
//!
//! A database that RocksDB wrote is part of the program: it is unpacked and read, and the number of its rows is compared with
//! what RocksDB itself returned. A larger one is filled here, and the same random reads are made twice through one cache: the
//! first time it is empty, the second time it holds the blocks. The databases stay in the folder, for the commands that the
//! demonstration ends with.

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use hyperclock_bench::random::Random;
use hyperclock_bench::table::Table;
use hyperclock_bench::zipf::Distribution;
use hyperclock_sst::fill::FillOptions;
use serde::Serialize;

use crate::args::DemoArgs;
use crate::db::{FillSummary, Measurement, MeasurementReport, Session, fill, percent, sample};
use crate::failure::{Failure, Kind, Result, Verdict};
use crate::output::Output;
use crate::sizes::{show_count, show_latencies, show_rate, show_size};
use crate::workload::{End, Workload};

/// A database written by RocksDB 11.9 with all its defaults: 2,440 entries in two tables, some of them deletes.
const ROCKSDB_NAME: &str = "rocksdb-11.9";
const ROCKSDB_FILES: [(&str, &[u8]); 5] = [
    ("000010.sst", include_bytes!("../assets/rocksdb-11.9/000010.sst")),
    ("000012.sst", include_bytes!("../assets/rocksdb-11.9/000012.sst")),
    ("MANIFEST-000005", include_bytes!("../assets/rocksdb-11.9/MANIFEST-000005")),
    ("IDENTITY", include_bytes!("../assets/rocksdb-11.9/IDENTITY")),
    ("CURRENT", include_bytes!("../assets/rocksdb-11.9/CURRENT")),
];

/// Rows that RocksDB's own iterator returned for it.
const ROCKSDB_ROWS: u64 = 1600;

const FILLED_NAME: &str = "filled";

/// Holds the filled database's blocks, so that the second round needs no disk.
const CACHE_SIZE: usize = 128 << 20;

/// Rows for each read: enough reads to touch nearly every block.
const ROWS_A_READ: u64 = 2;

const SAMPLED_KEYS: usize = 100_000;

/// What the comparison does and does not show.
const ABOUT_COLD: &str = "   \
   Only the block cache is cold: the files were just written and are in the operating system's memory, so a read \"from\n   \
   disk\" here is a system call, a checksum and a decompression. The cold round misses each block once and then finds it,\n   \
   hence its high hit ratio.";

#[derive(Serialize)]
struct Report {
    out_path: String,
    rocksdb: RocksDbReport,
    filled: FillSummary,
    cold: MeasurementReport,
    warm: MeasurementReport,
    next_commands: Vec<String>,
    elapsed_seconds: f64,
}

#[derive(Serialize)]
struct RocksDbReport {
    path: String,
    rows: u64,
    rows_by_rocksdb: u64,
    first_key: String,
    elapsed_seconds: f64,
}

pub(crate) fn run(args: &DemoArgs, output: &mut Output) -> Result<Verdict> {
    let begun = Instant::now();
    let out = prepare(args.out.as_deref())?;
    let say = |output: &mut Output, line: String| -> Result<()> {
        if !output.json() {
            writeln!(output.rows(), "{line}")?;
            output.flush()?;
        }
        Ok(())
    };
    say(output, format!("Databases go to {}\n", out.display()))?;

    let rocksdb = read_rocksdb(&out)?;
    if rocksdb.rows != rocksdb.rows_by_rocksdb {
        return Err(Failure::Said {
            kind: Kind::Damage,
            message: format!("{} has {} rows, RocksDB read {}", rocksdb.path, rocksdb.rows, rocksdb.rows_by_rocksdb),
        });
    }
    say(
        output,
        format!(
            "1. A database written by RocksDB 11.9: {} rows read in {}, as many as RocksDB itself reads.",
            show_count(rocksdb.rows),
            milliseconds(rocksdb.elapsed_seconds),
        ),
    )?;

    let filled =
        fill(&out.join(FILLED_NAME), &FillOptions { num: args.num, seed: args.seed, ..FillOptions::default() })?;
    say(
        output,
        format!(
            "2. A database filled here: {} rows, {} of keys and values, {} on disk, in {}.",
            show_count(filled.rows),
            show_size(filled.raw_bytes),
            show_size(filled.file_bytes),
            milliseconds(filled.elapsed_seconds),
        ),
    )?;

    let reads = args.num.div_ceil(ROWS_A_READ);
    let (cold, warm, threads) = read_twice(&out.join(FILLED_NAME), reads, args.seed)?;
    let commands = next_commands(&out);
    if output.json() {
        output.object(&Report {
            out_path: out.display().to_string(),
            rocksdb,
            filled,
            cold: cold.report(),
            warm: warm.report(),
            next_commands: commands,
            elapsed_seconds: begun.elapsed().as_secs_f64(),
        })?;
        return Ok(Verdict::Done);
    }
    say(
        output,
        format!(
            "3. The same {} random reads twice, by {threads} thread{}, through a block cache of {}: first empty, then\n   \
             holding what the first round read.\n",
            show_count(reads),
            if threads == 1 { "" } else { "s" },
            show_size(CACHE_SIZE as u64),
        ),
    )?;
    compare(&cold, &warm).write(output.rows())?;
    say(output, format!("\n{ABOUT_COLD}"))?;
    say(output, "\nTry next:".to_owned())?;
    for command in commands {
        say(output, format!("  {command}"))?;
    }
    say(output, format!("\nThe databases stay in {} until you remove it.", out.display()))?;
    Ok(Verdict::Done)
}

/// Makes the folder; refuses one with something in it.
fn prepare(out: Option<&Path>) -> Result<PathBuf> {
    let Some(out) = out else {
        return temporary_folder();
    };
    let cannot = |error: &io::Error| Failure::on_path("make the folder", out, error);
    fs::create_dir_all(out).map_err(|error| cannot(&error))?;
    if fs::read_dir(out).map_err(|error| cannot(&error))?.next().is_some() {
        return Err(Failure::usage(format!("--out {} is not empty: give a new or an empty folder", out.display())));
    }
    Ok(out.to_owned())
}

/// A new folder under the system's folder for temporary files.
fn temporary_folder() -> Result<PathBuf> {
    let parent = std::env::temp_dir();
    let process = std::process::id();
    let mut attempt = 0_u32;
    loop {
        let folder = parent.join(format!("hyperclock-demo-{process}-{attempt}"));
        match fs::create_dir(&folder) {
            Ok(()) => return Ok(folder),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists && attempt < 100 => {
                attempt += 1;
            }
            Err(error) => return Err(Failure::on_path("make the folder", &folder, &error)),
        }
    }
}

/// Unpacks RocksDB's database and reads all of it.
fn read_rocksdb(out: &Path) -> Result<RocksDbReport> {
    let folder = out.join(ROCKSDB_NAME);
    fs::create_dir(&folder).map_err(|error| Failure::on_path("make the folder", &folder, &error))?;
    for (name, bytes) in ROCKSDB_FILES {
        let path = folder.join(name);
        fs::write(&path, bytes).map_err(|error| Failure::on_path("write", &path, &error))?;
    }
    let begun = Instant::now();
    let session = Session::open_default(&folder, CACHE_SIZE)?;
    let mut rows = session.rows(&session.families()[0], true)?;
    rows.seek_to_first()?;
    let first_key = String::from_utf8_lossy(rows.key()).into_owned();
    let mut count = 0;
    while rows.valid() {
        count += 1;
        rows.next()?;
    }
    Ok(RocksDbReport {
        path: folder.display().to_string(),
        rows: count,
        rows_by_rocksdb: ROCKSDB_ROWS,
        first_key,
        elapsed_seconds: begun.elapsed().as_secs_f64(),
    })
}

/// The same reads with an empty cache and with the cache that they filled.
fn read_twice(folder: &Path, reads: u64, seed: u64) -> Result<(Measurement, Measurement, u16)> {
    let session = Session::open_default(folder, CACHE_SIZE)?;
    let mut random = Random::new(seed);
    let keys = sample(&session, SAMPLED_KEYS, &mut random)?.into_ranked(&mut random);
    let threads = std::thread::available_parallelism().map_or(1, |threads| threads.get().min(2)) as u16;
    let workload =
        Workload { distribution: Distribution::Uniform, missing_percent: 0.0, end: End::Reads(reads), threads, seed };
    let cold = Measurement::of(&session, &keys, &workload, "reading, cold")?;
    let warm = Measurement::of(&session, &keys, &workload, "reading, warm")?;
    Ok((cold, warm, threads))
}

fn compare(cold: &Measurement, warm: &Measurement) -> Table {
    let mut table = Table::default();
    table.row(["", "cold cache", "warm cache"]);
    table.row([
        "reads per second".to_owned(),
        show_rate(cold.measured.reads_per_second()),
        show_rate(warm.measured.reads_per_second()),
    ]);
    for (name, quantile) in [("half of the reads took at most", 0.5), ("99 of 100 took at most", 0.99)] {
        let [cold, warm] = show_latencies([cold, warm].map(|m| m.measured.latencies.quantile(quantile)));
        table.row([name.to_owned(), cold, warm]);
    }
    let mut line = |name: &str, show: &dyn Fn(&Measurement) -> String| {
        table.row([name.to_owned(), show(cold), show(warm)]);
    };
    line("blocks found in the cache (hit ratio)", &|m| percent(m.hit_ratio()));
    line("blocks read from disk", &|m| show_count(m.reads.blocks));
    line("bytes read from disk", &|m| show_size(m.reads.bytes));
    line("memory that the cache holds", &|m| show_size(m.cache_usage as u64));
    table
}

fn next_commands(out: &Path) -> Vec<String> {
    let program =
        std::env::args_os().next().map_or_else(|| "hyperclock".to_owned(), |name| quote(&name.to_string_lossy()));
    let path = |name: &str| quote(&out.join(name).display().to_string());
    vec![
        format!("{program} db stats --db {}", path(ROCKSDB_NAME)),
        format!("{program} db scan --db {} --from key0001 --limit 5", path(ROCKSDB_NAME)),
        format!("{program} db readrandom --db {} --cache-size 8MiB --threads 2 --duration 5", path(FILLED_NAME)),
    ]
}

/// A word that a shell takes as one.
fn quote(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "/._-+=:,@%\\".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', "'\\''"))
    }
}

fn milliseconds(seconds: f64) -> String {
    let time = Duration::from_secs_f64(seconds);
    if time < Duration::from_secs(1) { format!("{:.1} ms", seconds * 1e3) } else { format!("{seconds:.2} s") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_quoted_where_a_shell_would_split_them() {
        assert_eq!(quote("/tmp/a-b_c.d"), "/tmp/a-b_c.d");
        assert_eq!(quote("/tmp/my db"), "'/tmp/my db'");
        assert_eq!(quote("it's"), "'it'\\''s'");
        assert_eq!(quote(""), "''");
    }

    #[test]
    fn a_folder_with_something_in_it_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        assert!(prepare(Some(folder.path())).is_ok());
        assert!(prepare(Some(&folder.path().join("new/nested"))).is_ok());
        assert!(matches!(prepare(Some(folder.path())), Err(Failure::Said { kind: Kind::Usage, .. })));
    }
}
