//! The commands on a database, one a module, and what they share: a [`Session`] with the database, its cache, and the column
//! families that were asked for.

mod fill;
mod get;
mod measure;
mod multiget;
mod readrandom;
mod scan;
mod session;
mod stats;

pub(crate) use fill::{FillSummary, fill};
pub(crate) use measure::{Measurement, Report as MeasurementReport, percent, sample};
pub(crate) use session::{Session, WarningReport};

use crate::args::DbCommand;
use crate::failure::{Result, Verdict};
use crate::output::Output;

pub(crate) fn run(command: &DbCommand, output: &mut Output) -> Result<Verdict> {
    match command {
        DbCommand::Scan(args) => scan::run(args, output),
        DbCommand::Get(args) => get::run(args, output),
        DbCommand::MultiGet(args) => multiget::run(args, output),
        DbCommand::Stats(args) => stats::run(args, output),
        DbCommand::ReadRandom(args) => readrandom::run(args, output),
        DbCommand::Fill(args) => fill::run(args, output),
    }
}
