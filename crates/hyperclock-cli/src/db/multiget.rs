//! `db multiget`: the values of several keys, read as batches, one a thread.

use std::io::Write;

use serde::Serialize;

use super::Session;
use crate::args::MultiGetArgs;
use crate::failure::{Failure, Result, Verdict};
use crate::output::{Output, note};
use crate::parallel;
use crate::text::{Form, hex};

#[derive(Serialize)]
struct Report {
    results: Vec<KeyReport>,
}

#[derive(Serialize)]
struct KeyReport {
    column_family: String,
    key_hex: String,
    found: bool,
    value_hex: Option<String>,
}

pub(super) fn run(args: &MultiGetArgs, output: &mut Output) -> Result<Verdict> {
    let form = Form::new(args.hex);
    let keys = args
        .keys
        .iter()
        .map(|key| form.read(key))
        .collect::<std::result::Result<Vec<_>, _>>()
        .map_err(Failure::usage)?;
    let session = Session::open(&args.target)?;

    let batch = keys.len().div_ceil(usize::from(args.threads)).max(1);
    let batches: Vec<(usize, Vec<&[u8]>)> = (0..session.families().len())
        .flat_map(|family| keys.chunks(batch).map(move |keys| (family, keys.iter().map(AsRef::as_ref).collect())))
        .collect();
    let values = parallel::map(batches.len(), args.threads, |part| {
        let (family, keys) = &batches[part];
        session.multi_get(&session.families()[*family], keys)
    })?;

    let mut found = vec![false; keys.len()];
    let mut report = Report { results: Vec::new() };
    let mut values = batches.iter().zip(values).flat_map(|((_, keys), values)| keys.iter().zip(values));
    for family in session.families() {
        for (found, (key, value)) in found.iter_mut().zip(values.by_ref()) {
            *found |= value.is_some();
            if output.json() {
                report.results.push(KeyReport {
                    column_family: family.name.clone(),
                    key_hex: hex(key),
                    found: value.is_some(),
                    value_hex: value.as_deref().map(hex),
                });
            } else if let Some(value) = &value {
                let out = output.rows();
                if args.target.all_cf {
                    write!(out, "{}\t", family.name)?;
                }
                form.write(out, key)?;
                out.write_all(b" : ")?;
                form.write(out, value)?;
                out.write_all(b"\n")?;
            }
        }
    }
    if output.json() {
        output.object(&report)?;
    }
    for (key, _) in keys.iter().zip(&found).filter(|(_, found)| !**found) {
        note(&format!("not found: {}", form.show(key)));
    }
    Ok(if found.iter().all(|found| *found) { Verdict::Done } else { Verdict::No })
}
