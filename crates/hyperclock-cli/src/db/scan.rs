//! `db scan`: the rows of a database, or with `--json` their number.
//!
//! Each column family is one part of the work; with several threads, families are read ahead of what is printed. Blocks are
//! read through the cache but do not fill it: a scan reads each block once.

use std::borrow::Cow;
use std::cmp::Ordering;
use std::io::{self, IsTerminal, Write};

use serde::Serialize;

use super::Session;
use super::session::Family;
use crate::args::ScanArgs;
use crate::failure::{Failure, Result, Verdict};
use crate::output::Output;
use crate::parallel;
use crate::progress::Progress;
use crate::text::{Form, write_hex, write_tsv_value};

/// Rows between two reports of progress.
const STEP: u64 = 1024;

/// What to print of a column family.
struct Range<'a> {
    from: Option<Cow<'a, [u8]>>,
    to: Option<Cow<'a, [u8]>>,
    limit: u64,
    reverse: bool,
}

impl<'a> Range<'a> {
    fn read(args: &'a ScanArgs, form: Form) -> Result<Self> {
        let key =
            |text: &'a Option<String>| text.as_deref().map(|text| form.read(text)).transpose().map_err(Failure::usage);
        Ok(Self {
            from: key(&args.from)?,
            to: key(&args.to)?,
            limit: args.limit.unwrap_or(u64::MAX),
            reverse: args.reverse,
        })
    }
}

#[derive(Serialize)]
struct Report {
    rows: u64,
    /// Of keys and values.
    bytes: u64,
    column_families: Vec<FamilyReport>,
}

#[derive(Serialize)]
struct FamilyReport {
    name: String,
    rows: u64,
    bytes: u64,
}

pub(super) fn run(args: &ScanArgs, output: &mut Output) -> Result<Verdict> {
    let form = Form::new(args.hex);
    let range = Range::read(args, form)?;
    let session = Session::open(&args.target)?;
    let families = session.families();
    // Rows that scroll by are progress enough.
    let progress = (output.json() || !io::stdout().is_terminal()).then(|| Progress::open("scanning", "rows"));

    if output.json() {
        let counted = parallel::map(families.len(), args.threads, |part| {
            scan(&session, &families[part], &range, progress.as_ref(), |_, _| Ok(()))
        })?;
        output.object(&Report {
            rows: counted.iter().map(|family| family.rows).sum(),
            bytes: counted.iter().map(|family| family.bytes).sum(),
            column_families: counted,
        })?;
        return Ok(Verdict::Done);
    }

    let named = args.target.all_cf;
    let out = output.rows();
    parallel::stream(
        families.len(),
        args.threads,
        |part, chunks| {
            let family = &families[part];
            let write = |key: &[u8], value: &[u8]| {
                let row = chunks.row();
                if args.tsv {
                    row.extend_from_slice(family.name.as_bytes());
                    row.push(b'\t');
                    write_hex(row, key)?;
                    row.push(b'\t');
                    write_tsv_value(row, value)?;
                } else {
                    if named {
                        row.extend_from_slice(family.name.as_bytes());
                        row.push(b'\t');
                    }
                    form.write(row, key)?;
                    row.extend_from_slice(b" : ");
                    form.write(row, value)?;
                }
                row.push(b'\n');
                chunks.row_done()
            };
            scan(&session, family, &range, progress.as_ref(), write)?;
            Ok(())
        },
        |chunk| Ok(out.write_all(chunk)?),
    )?;
    Ok(Verdict::Done)
}

/// Visits the rows of a range, and counts them.
fn scan(
    session: &Session,
    family: &Family,
    range: &Range<'_>,
    progress: Option<&Progress>,
    mut visit: impl FnMut(&[u8], &[u8]) -> Result<()>,
) -> Result<FamilyReport> {
    let before = |key: &[u8], bound: &[u8]| family.comparator.compare(key, bound) == Ordering::Less;
    let mut rows = session.rows(family, false)?;
    match (range.reverse, &range.from, &range.to) {
        (false, Some(from), _) => rows.seek(from)?,
        (false, None, _) => rows.seek_to_first()?,
        (true, _, None) => rows.seek_to_last()?,
        (true, _, Some(to)) => {
            rows.seek_for_prev(to)?;
            // The end of the range is not part of it.
            if rows.valid() && !before(rows.key(), to) {
                rows.prev()?;
            }
        }
    }
    let mut report = FamilyReport { name: family.name.clone(), rows: 0, bytes: 0 };
    while rows.valid() && report.rows < range.limit {
        let key = rows.key();
        let past = match (range.reverse, &range.from, &range.to) {
            (false, _, Some(to)) => !before(key, to),
            (true, Some(from), _) => before(key, from),
            _ => false,
        };
        if past {
            break;
        }
        let value = rows.value();
        visit(key, value)?;
        report.rows += 1;
        report.bytes += (key.len() + value.len()) as u64;
        if report.rows.is_multiple_of(STEP)
            && let Some(progress) = progress
        {
            progress.add(STEP);
        }
        if range.reverse {
            rows.prev()?;
        } else {
            rows.next()?;
        }
    }
    Ok(report)
}
