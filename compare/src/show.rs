//! What is printed: tables for people, tables in Markdown for documents, or one JSON object.

use std::collections::BTreeMap;
use std::io::{self, Write};

use hyperclock_bench::table::Table;
use serde::Serialize;

use crate::caches::CacheName;
use crate::machine::Machine;
use crate::rounds::{Group, Line, Measured, REFERENCES, Spread};
use crate::workload::{Metric, Workload};

/// The form of the output.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    Text,
    Markdown,
    Json,
}

/// Prints all figures.
pub(crate) fn write(
    form: Form,
    command: &str,
    machine: &Machine,
    measured: &[Measured],
    out: &mut impl Write,
) -> io::Result<()> {
    if form == Form::Json {
        serde_json::to_writer_pretty(&mut *out, &Report::new(command, machine, measured))?;
        return writeln!(out);
    }
    if form == Form::Markdown {
        writeln!(out, "`{command}` on {machine}.\n")?;
    } else {
        writeln!(out, "{machine}\n")?;
    }
    for of_workload in measured {
        let Measured { workload, rounds, seconds, groups } = of_workload;
        let passes = if workload.has_threads() { format!(", passes of {seconds} s") } else { String::new() };
        let title = workload.name();
        let rounds = if *rounds == 1 { "one round".to_owned() } else { format!("medians of {rounds} rounds") };
        let settings = format!("{}; {rounds}{passes}.", capitalized(&workload.describe()));
        match form {
            Form::Markdown => writeln!(out, "### `{title}`\n\n{settings}\n")?,
            _ => writeln!(out, "{title}: {settings}\n")?,
        }
        for group in groups {
            write_group(form, workload, group, out)?;
        }
    }
    Ok(())
}

fn write_group(form: Form, workload: &Workload, group: &Group, out: &mut impl Write) -> io::Result<()> {
    let mut rows = vec![header(workload, group)];
    rows.extend(group.lines.iter().map(|line| cells(workload, group, line)));
    if form == Form::Markdown {
        for (number, row) in rows.iter().enumerate() {
            writeln!(out, "| {} |", row.join(" | "))?;
            if number == 0 {
                writeln!(out, "|---|{}", "--:|".repeat(row.len() - 1))?;
            }
        }
    } else {
        let mut table = Table::default();
        for row in rows {
            table.row(row);
        }
        table.write(out)?;
    }
    writeln!(out)
}

/// The names of the columns. The first cell says what the table is about.
fn header(workload: &Workload, group: &Group) -> Vec<String> {
    let threads = group.threads.map(|threads| match threads {
        1 => "1 thread".to_owned(),
        _ => format!("{threads} threads"),
    });
    let about: Vec<_> =
        [Some(group.case.clone()).filter(|case| !case.is_empty()), threads].into_iter().flatten().collect();
    let mut cells = vec![if about.is_empty() { "cache".to_owned() } else { about.join(", ") }];
    for (number, metric) in workload.metrics().iter().enumerate() {
        cells.push(metric.title().to_owned());
        if number == 0 {
            let compared = |cache: &_| group.lines.iter().any(|line| line.cache == *cache);
            cells.extend(REFERENCES.iter().filter(|cache| compared(cache)).map(|cache| format!("/ {}", cache.name())));
        }
    }
    cells
}

fn cells(workload: &Workload, group: &Group, line: &Line) -> Vec<String> {
    let mut cells = vec![line.cache.name().to_owned()];
    for (number, &metric) in workload.metrics().iter().enumerate() {
        cells.push(line.median(metric).map(|value| metric.show(value)).unwrap_or_default());
        if number == 0 {
            let compared = |cache: &_| group.lines.iter().any(|line| line.cache == *cache);
            cells.extend(
                REFERENCES.iter().filter(|cache| compared(cache)).map(|&cache| {
                    group.ratio(line, cache, metric).map(|ratio| format!("{ratio:.2}")).unwrap_or_default()
                }),
            );
        }
    }
    cells
}

fn capitalized(text: &str) -> String {
    let mut characters = text.chars();
    characters.next().map(|first| first.to_uppercase().chain(characters).collect()).unwrap_or_default()
}

/// The JSON object.
#[derive(Serialize)]
struct Report<'a> {
    command: &'a str,
    machine: &'a Machine,
    workloads: Vec<ReportedWorkload<'a>>,
}

#[derive(Serialize)]
struct ReportedWorkload<'a> {
    name: &'static str,
    settings: &'a Workload,
    rounds: u32,
    seconds: f64,
    results: Vec<ReportedLine<'a>>,
}

#[derive(Serialize)]
struct ReportedLine<'a> {
    cache: &'static str,
    #[serde(skip_serializing_if = "str::is_empty")]
    case: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    threads: Option<u16>,
    /// Of the workload's first figure.
    ratio_to: BTreeMap<&'static str, f64>,
    #[serde(flatten)]
    figures: BTreeMap<Metric, Spread<'a>>,
}

impl<'a> Report<'a> {
    fn new(command: &'a str, machine: &'a Machine, measured: &'a [Measured]) -> Self {
        let workloads = measured
            .iter()
            .map(|measured| ReportedWorkload {
                name: measured.workload.name(),
                settings: &measured.workload,
                rounds: measured.rounds,
                seconds: measured.seconds,
                results: measured
                    .groups
                    .iter()
                    .flat_map(|group| group.lines.iter().map(move |line| (group, line)))
                    .map(|(group, line)| ReportedLine::new(&measured.workload, group, line))
                    .collect(),
            })
            .collect();
        Self { command, machine, workloads }
    }
}

impl<'a> ReportedLine<'a> {
    fn new(workload: &Workload, group: &'a Group, line: &'a Line) -> Self {
        let metric = workload.metrics()[0];
        let ratio = |cache| Some((CacheName::name(cache), group.ratio(line, cache, metric)?));
        Self {
            cache: line.cache.name(),
            case: &group.case,
            threads: group.threads,
            ratio_to: REFERENCES.into_iter().filter_map(ratio).collect(),
            figures: line.spreads().collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::args::HotOptions;

    fn measured() -> Measured {
        let line = |cache, rate: f64| Line {
            cache,
            figures: vec![(Metric::OpsPerSec, vec![rate]), (Metric::P50Ns, vec![50.0])],
        };
        Measured {
            workload: Workload::Hot(HotOptions { value_bytes: 64, scoped: false }),
            rounds: 1,
            seconds: 0.3,
            groups: vec![Group {
                case: String::new(),
                threads: Some(2),
                lines: vec![line(CacheName::Clock, 3e6), line(CacheName::QuickCache, 2e6)],
            }],
        }
    }

    fn written(form: Form) -> String {
        let machine = Machine {
            processors: 2,
            cpu_model: Some("CPU".to_owned()),
            kernel: Some("6.1".to_owned()),
            system: "linux",
        };
        let mut out = Vec::new();
        write(form, "hyperclock-compare hot", &machine, &[measured()], &mut out).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn markdown_has_rows_of_one_length() {
        let text = written(Form::Markdown);
        assert!(text.starts_with("`hyperclock-compare hot` on 2 processors, CPU, linux 6.1.\n\n### `hot`\n"), "{text}");
        assert!(text.contains("| 2 threads | M ops/s | / quick_cache | / clock | p50 | p99 | p99.9 |\n|---|--:|--:|"));
        assert!(text.contains("| clock | 3.00 | 1.50 | 1.00 | 50 ns |  |  |\n"), "{text}");
        let bars: Vec<_> =
            text.lines().filter(|line| line.starts_with('|')).map(|line| line.matches('|').count()).collect();
        assert_eq!(bars, [8, 8, 8, 8]);
    }

    #[test]
    fn json_has_medians_rounds_and_ratios() {
        let object: serde_json::Value = serde_json::from_str(&written(Form::Json)).unwrap();
        let result = &object["workloads"][0]["results"][1];
        assert_eq!((result["cache"].as_str(), result["threads"].as_u64()), (Some("quick_cache"), Some(2)));
        assert_eq!(result["ops_per_sec"]["rounds"][0].as_f64(), Some(2e6));
        assert_eq!(result["ratio_to"]["clock"].as_f64(), Some(2.0 / 3.0));
        assert_eq!(object["workloads"][0]["settings"]["workload"].as_str(), Some("hot"));
    }

    #[test]
    fn text_has_the_machine_and_the_settings() {
        let text = written(Form::Text);
        assert!(text.contains("hot: One of 1024 entries of 64 bytes; one round, passes of 0.3 s."), "{text}");
    }
}
