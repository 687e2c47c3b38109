//! `db fill`: a database of any size, for measurements.

use std::path::Path;
use std::time::Instant;

use hyperclock_bench::table::Table;
use hyperclock_sst::CompressionType;
use hyperclock_sst::fill::{FillOptions, FillReport};
use serde::Serialize;

use crate::args::{CompressionName, FillArgs};
use crate::failure::{Failure, Result, Verdict};
use crate::output::Output;
use crate::progress::Progress;
use crate::sizes::{show_count, show_size};

/// What was made, for programs.
#[derive(Serialize)]
pub(crate) struct FillSummary {
    pub(crate) path: String,
    pub(crate) rows: u64,
    pub(crate) files: u64,
    /// Of all tables.
    pub(crate) file_bytes: u64,
    /// Of keys and values before compression.
    pub(crate) raw_bytes: u64,
    pub(crate) elapsed_seconds: f64,
}

/// Fills the database and shows progress.
pub(crate) fn fill(directory: &Path, options: &FillOptions) -> Result<FillSummary> {
    let begun = Instant::now();
    let progress = Progress::of("filling", "rows", options.num);
    let report: FillReport = hyperclock_sst::fill::fill(directory, options, |done| progress.set(done.entries))?;
    Ok(FillSummary {
        path: directory.display().to_string(),
        rows: report.entries,
        files: report.files,
        file_bytes: report.file_bytes,
        raw_bytes: report.raw_bytes,
        elapsed_seconds: begun.elapsed().as_secs_f64(),
    })
}

pub(super) fn run(args: &FillArgs, output: &mut Output) -> Result<Verdict> {
    let size = |name: &str, bytes: u64| {
        usize::try_from(bytes)
            .map_err(|_| Failure::usage(format!("--{name} does not fit into this machine's address space")))
    };
    let options = FillOptions {
        num: args.num,
        key_size: size("key-size", args.key_size)?,
        value_size: size("value-size", args.value_size)?,
        value_compressibility: args.value_compressibility,
        compression: args.compression.into(),
        seed: args.seed,
        ..FillOptions::default()
    };
    let summary = fill(&args.db, &options)?;
    if output.json() {
        output.object(&summary)?;
    } else {
        let mut table = Table::default();
        table.row(["rows".to_owned(), show_count(summary.rows)]);
        table.row(["tables".to_owned(), show_count(summary.files)]);
        table.row(["keys and values".to_owned(), show_size(summary.raw_bytes)]);
        table.row(["on disk".to_owned(), show_size(summary.file_bytes)]);
        table.row(["time".to_owned(), format!("{:.2} s", summary.elapsed_seconds)]);
        table.write(output.rows())?;
    }
    Ok(Verdict::Done)
}

impl From<CompressionName> for CompressionType {
    fn from(name: CompressionName) -> Self {
        match name {
            CompressionName::None => Self::None,
            CompressionName::Snappy => Self::Snappy,
            CompressionName::Zlib => Self::Zlib,
            CompressionName::Lz4 => Self::Lz4,
            CompressionName::Zstd => Self::Zstd,
        }
    }
}
