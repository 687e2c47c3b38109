//! The `hyperclock` command: databases on disk, read through the block cache of the `hyperclock` crate.
//!
//! # The contract with the user
//!
//! - `--json` puts exactly one JSON object on standard output, in `snake_case` with units in the names, and nothing else. A
//!   failure is an object with an `error` in it.
//! - Progress and messages go to standard error, progress only on a terminal and for work that takes over a second.
//! - Exit codes are those of the `failure` module: 0 done, 1 the answer is no, 2 usage, 3 cannot read or write.
//! - A reader of standard output that leaves early ends the command quietly.
//! - Databases are opened without their lock and never written. `db fill` and `demo` write only into the folder they are given,
//!   and only if it is new or empty.
//! - What is drawn at random is drawn from `--seed`, which has a fixed default.
//!
//! # Where things are
//!
//! `args` has every option; `db` the commands on databases, one a module; `demo` the demonstration; `bench` the benchmarks of the
//! cache alone, whose loops are the `hyperclock-bench` crate's. `output`, `text`, `sizes` and `progress` are about what a person or
//! a program reads; `workload` and `sample` about what `db readrandom` does.

#![forbid(unsafe_code)]

mod args;
mod bench;
mod db;
mod demo;
mod failure;
mod output;
mod parallel;
mod progress;
mod sample;
mod sizes;
mod text;
mod workload;

use std::process::ExitCode;

use clap::Parser;
use clap::error::ErrorKind;

use crate::args::{Cli, Command};
use crate::failure::{Failure, Kind, Result, Verdict};
use crate::output::Output;

fn main() -> ExitCode {
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => return explain(&error),
    };
    let mut output = Output::new(cli.json);
    match run(&cli, &mut output) {
        Ok(verdict) => verdict.into(),
        Err(failure) => {
            if let Failure::Said { kind, message } = &failure {
                Output::failure(cli.json, *kind, message);
            }
            failure.exit_code()
        }
    }
}

fn run(cli: &Cli, output: &mut Output) -> Result<Verdict> {
    let verdict = match &cli.command {
        Command::Bench(command) => bench::run(command, output),
        Command::Db(command) => db::run(command, output),
        Command::Demo(args) => demo::run(args, output),
    };
    // Rows that were made before a failure are worth having.
    let flushed = output.flush();
    let verdict = verdict?;
    flushed?;
    Ok(verdict)
}

/// Prints a help text, or what is wrong with the command line.
fn explain(error: &clap::Error) -> ExitCode {
    let asked_for = matches!(error.kind(), ErrorKind::DisplayHelp | ErrorKind::DisplayVersion);
    if !asked_for && std::env::args_os().any(|argument| argument == "--json") {
        let rendered = error.render().to_string();
        let message = rendered.strip_prefix("error: ").unwrap_or(&rendered);
        Output::failure(true, Kind::Usage, message.trim_end());
    } else if error.print().is_err() {
        // Nobody is there to read it.
    }
    ExitCode::from(if asked_for { 0 } else { 2 })
}
