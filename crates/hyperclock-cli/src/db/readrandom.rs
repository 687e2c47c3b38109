//! `db readrandom`: random point reads on keys that exist, measured.

use std::time::Instant;

use hyperclock_bench::random::Random;
use hyperclock_bench::table::Table;
use serde::Serialize;

use super::measure::Report as MeasureReport;
use super::{Measurement, Session, sample};
use crate::args::ReadRandomArgs;
use crate::failure::{Failure, Result, Verdict};
use crate::output::Output;
use crate::sizes::show_count;
use crate::workload::{End, Workload};

/// Reads where neither a number nor a duration is given.
const DEFAULT_READS: u64 = 1_000_000;

/// The stream of the seed that samples and ranks keys; threads take those from 0.
const SAMPLING_STREAM: u64 = u64::MAX;

#[derive(Serialize)]
struct Report<'a> {
    column_families: Vec<&'a str>,
    distribution: String,
    seed: u64,
    threads: u16,
    missing_percent: f64,
    sampled_keys: usize,
    scanned_keys: u64,
    sampling_seconds: f64,
    #[serde(flatten)]
    measured: MeasureReport,
}

pub(super) fn run(args: &ReadRandomArgs, output: &mut Output) -> Result<Verdict> {
    let session = Session::open(&args.target)?;
    let begun = Instant::now();
    let mut random = Random::stream(args.seed, SAMPLING_STREAM);
    let capacity = usize::try_from(args.keys)
        .map_err(|_| Failure::usage("--keys does not fit into this machine's address space"))?;
    let reservoir = sample(&session, capacity, &mut random)?;
    let scanned_keys = reservoir.offered();
    let keys = reservoir.into_ranked(&mut random);
    let sampling_seconds = begun.elapsed().as_secs_f64();

    let workload = Workload {
        distribution: args.distribution,
        missing_percent: args.missing,
        end: args.duration.map_or(End::Reads(args.reads.unwrap_or(DEFAULT_READS)), End::After),
        threads: args.threads,
        seed: args.seed,
    };
    let measurement = Measurement::of(&session, &keys, &workload, "reading")?;

    if output.json() {
        output.object(&Report {
            column_families: session.families().iter().map(|family| family.name.as_str()).collect(),
            distribution: args.distribution.to_string(),
            seed: args.seed,
            threads: args.threads,
            missing_percent: args.missing,
            sampled_keys: keys.len(),
            scanned_keys,
            sampling_seconds,
            measured: measurement.report(),
        })?;
    } else {
        let mut table = Table::default();
        table.row([
            "keys".to_owned(),
            show_count(keys.len() as u64),
            format!("of {}, sampled in {sampling_seconds:.2} s", show_count(scanned_keys)),
        ]);
        table.row(["distribution".to_owned(), args.distribution.to_string()]);
        table.row(["threads".to_owned(), args.threads.to_string()]);
        measurement.add_to(&mut table);
        table.write(output.rows())?;
    }
    Ok(Verdict::Done)
}
