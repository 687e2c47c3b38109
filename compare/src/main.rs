//! `hyperclock-compare`: hyperclock beside other caches, by the loops of `hyperclock-bench`.
//!
//! # The problem
//!
//! Figures of caches that were measured by different programs, on different machines or on different days say little about the
//! caches. And a machine that is shared changes its speed by more than the caches differ.
//!
//! # The idea
//!
//! One program runs one loop for each workload on every cache, in rounds: every cache has its turn in each round, in a process of
//! its own, and ratios are taken within rounds. Losses are printed as wins are.
//!
//! # Where things are
//!
//! `caches` has the table of the caches and their settings; `workload` what is measured; `job` one turn of one cache, in its own
//! process; `rounds` the turns and what follows from them; `show` the output; `machine` the shape of the machine; `args` the options;
//! `failure` the exit codes. The loops are `hyperclock-bench`'s. `docs/benchmarks.md` has the method and the figures.

#![forbid(unsafe_code)]

mod args;
mod caches;
mod failure;
mod job;
mod machine;
mod rounds;
mod show;
mod workload;

use std::io::{self, BufWriter, Write};
use std::process::ExitCode;

use clap::Parser;
use clap::error::ErrorKind;
use serde_json::json;

use crate::args::{Cli, Command};
use crate::failure::{Failure, Kind, Result};
use crate::job::Job;
use crate::machine::Machine;
use crate::show::Form;

fn main() -> ExitCode {
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => return explain(&error),
    };
    match run(&cli) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            if let Failure::Said { kind, message } = &failure {
                tell(cli.json, *kind, message);
            }
            failure.exit_code()
        }
    }
}

fn run(cli: &Cli) -> Result<()> {
    let mut out = BufWriter::new(io::stdout());
    if let Command::Job { job } = &cli.command {
        let job: Job = serde_json::from_str(job).map_err(|error| Failure::usage(format!("no job: {error}")))?;
        serde_json::to_writer(&mut out, &job.run()?).map_err(io::Error::from)?;
        return Ok(out.flush()?);
    }
    let form = match (cli.json, cli.markdown) {
        (true, _) => Form::Json,
        (_, true) => Form::Markdown,
        _ => Form::Text,
    };
    let measured =
        cli.command.workloads().iter().map(|workload| rounds::run(workload, &cli.run)).collect::<Result<Vec<_>>>()?;
    show::write(form, &command_line(), &Machine::here(), &measured, &mut out)?;
    Ok(out.flush()?)
}

/// The command as it was typed, without the folder of the program.
fn command_line() -> String {
    let arguments = std::env::args().skip(1);
    std::iter::once("hyperclock-compare".to_owned()).chain(arguments).collect::<Vec<_>>().join(" ")
}

/// Tells of a failure: on standard error, and as an object where one was promised.
fn tell(json: bool, kind: Kind, message: &str) {
    // The exit code tells what cannot be written.
    if json {
        let object = json!({ "error": { "kind": kind, "message": message } });
        let _ = writeln!(io::stdout(), "{object:#}");
    }
    let _ = writeln!(io::stderr(), "error: {message}");
}

/// Prints a help text, or what is wrong with the command line.
fn explain(error: &clap::Error) -> ExitCode {
    if matches!(error.kind(), ErrorKind::DisplayHelp | ErrorKind::DisplayVersion) {
        let _ = error.print();
        return ExitCode::SUCCESS;
    }
    if std::env::args_os().any(|argument| argument == "--json") {
        let rendered = error.render().to_string();
        tell(true, Kind::Usage, rendered.strip_prefix("error: ").unwrap_or(&rendered).trim_end());
    } else {
        let _ = error.print();
    }
    ExitCode::from(2)
}
