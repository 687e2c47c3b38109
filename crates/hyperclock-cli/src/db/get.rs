//! `db get`: the value of one key.

use std::io::Write;

use serde::Serialize;

use super::Session;
use crate::args::GetArgs;
use crate::failure::{Failure, Result, Verdict};
use crate::output::{Output, note};
use crate::text::{Form, hex};

#[derive(Serialize)]
struct Report {
    found: bool,
    /// Of the first column family that has the key.
    value_hex: Option<String>,
    /// With `--all-cf`: every column family.
    #[serde(skip_serializing_if = "Option::is_none")]
    column_families: Option<Vec<FamilyReport>>,
}

#[derive(Clone, Serialize)]
struct FamilyReport {
    name: String,
    found: bool,
    value_hex: Option<String>,
}

pub(super) fn run(args: &GetArgs, output: &mut Output) -> Result<Verdict> {
    let form = Form::new(args.hex);
    let key = form.read(&args.key).map_err(Failure::usage)?;
    let session = Session::open(&args.target)?;
    let families = session.families();
    let values = families.iter().map(|family| session.get(family, &key)).collect::<Result<Vec<_>>>()?;
    let found = values.iter().any(Option::is_some);

    if output.json() {
        let reports: Vec<_> = families
            .iter()
            .zip(&values)
            .map(|(family, value)| FamilyReport {
                name: family.name.clone(),
                found: value.is_some(),
                value_hex: value.as_deref().map(hex),
            })
            .collect();
        output.object(&Report {
            found,
            value_hex: reports.iter().find_map(|report| report.value_hex.clone()),
            column_families: args.target.all_cf.then_some(reports),
        })?;
    } else {
        let out = output.rows();
        for (family, value) in families.iter().zip(&values) {
            let Some(value) = value else { continue };
            if args.target.all_cf {
                write!(out, "{}\t", family.name)?;
            }
            form.write(out, value)?;
            out.write_all(b"\n")?;
        }
    }
    if found {
        Ok(Verdict::Done)
    } else {
        note(&format!("not found: {}", form.show(&key)));
        Ok(Verdict::No)
    }
}
