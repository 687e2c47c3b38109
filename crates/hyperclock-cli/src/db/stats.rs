//! `db stats`: what a database consists of.

use std::collections::BTreeMap;
use std::io::Write;

use hyperclock_bench::table::Table;
use hyperclock_sst::{FamilyStats, LevelStats};
use serde::Serialize;

use super::Session;
use crate::args::StatsArgs;
use crate::failure::{Result, Verdict};
use crate::output::Output;
use crate::progress::Waiting;
use crate::sizes::{show_count, show_number, show_size};

#[derive(Serialize)]
struct Report {
    path: String,
    /// Where the MANIFEST records one.
    database_id: Option<String>,
    last_sequence: u64,
    files: u64,
    entries: u64,
    bytes: u64,
    column_families: Vec<FamilyReport>,
}

#[derive(Serialize)]
struct FamilyReport {
    id: u32,
    name: String,
    levels: Vec<LevelReport>,
}

#[derive(Serialize)]
struct LevelReport {
    level: u32,
    files: u64,
    /// Deletes and overwritten versions included.
    entries: u64,
    /// Of the files.
    bytes: u64,
    /// Files by format version.
    format_versions: BTreeMap<u32, u64>,
    blocks_by_kind: BTreeMap<&'static str, u64>,
    /// Files whose filter is not used because its kind is not known.
    unknown_filters: u64,
}

impl From<&FamilyStats> for FamilyReport {
    fn from(family: &FamilyStats) -> Self {
        Self { id: family.id, name: family.name.clone(), levels: family.levels.iter().map(Into::into).collect() }
    }
}

impl From<&LevelStats> for LevelReport {
    fn from(level: &LevelStats) -> Self {
        Self {
            level: level.level,
            files: level.files,
            entries: level.entries,
            bytes: level.bytes,
            format_versions: level.format_versions.clone(),
            blocks_by_kind: level.blocks.iter().map(|&(kind, count)| (kind.name(), count)).collect(),
            unknown_filters: level.unknown_filters,
        }
    }
}

pub(super) fn run(args: &StatsArgs, output: &mut Output) -> Result<Verdict> {
    let session = Session::open_all_unless_named(&args.db, args.cf.as_deref())?;
    let db = session.db();
    let waiting = Waiting::new("counting blocks");
    let stats = db.stats()?;
    drop(waiting);
    let families: Vec<FamilyReport> = stats
        .families
        .iter()
        .filter(|family| session.families().iter().any(|chosen| chosen.name == family.name))
        .map(Into::into)
        .collect();
    let levels = || families.iter().flat_map(|family| &family.levels);
    let report = Report {
        path: db.path().display().to_string(),
        database_id: db.database_id().map(str::to_owned),
        last_sequence: db.last_sequence(),
        files: levels().map(|level| level.files).sum(),
        entries: levels().map(|level| level.entries).sum(),
        bytes: levels().map(|level| level.bytes).sum(),
        column_families: families,
    };
    if output.json() {
        output.object(&report)?;
    } else {
        show(&report, output.rows())?;
    }
    Ok(Verdict::Done)
}

fn show(report: &Report, out: &mut impl Write) -> Result<()> {
    writeln!(out, "database       {}", report.path)?;
    if let Some(id) = &report.database_id {
        writeln!(out, "id             {id}")?;
    }
    writeln!(out, "last sequence  {}", report.last_sequence)?;
    writeln!(
        out,
        "tables         {}, {}, {}",
        show_number(report.files, "file", "files"),
        show_number(report.entries, "entry", "entries"),
        show_size(report.bytes)
    )?;
    for family in &report.column_families {
        writeln!(out, "\ncolumn family {} (id {})", family.name, family.id)?;
        let mut table = Table::default();
        table.row(["level", "files", "entries", "size", "format", "unknown filters", "blocks"]);
        for level in &family.levels {
            table.row([
                level.level.to_string(),
                show_count(level.files),
                show_count(level.entries),
                show_size(level.bytes),
                versions(&level.format_versions),
                show_count(level.unknown_filters),
                kinds(&level.blocks_by_kind),
            ]);
        }
        table.write(out)?;
    }
    Ok(())
}

/// `6`, or `5 x3, 6 x1` where there are several.
fn versions(versions: &BTreeMap<u32, u64>) -> String {
    let named: Vec<_> = match versions.len() {
        0 | 1 => versions.keys().map(u32::to_string).collect(),
        _ => versions.iter().map(|(version, files)| format!("{version} x{files}")).collect(),
    };
    named.join(", ")
}

fn kinds(kinds: &BTreeMap<&'static str, u64>) -> String {
    let named: Vec<_> = kinds.iter().map(|(kind, count)| format!("{} {kind}", show_count(*count))).collect();
    named.join(", ")
}
