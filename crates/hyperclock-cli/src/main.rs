//! The `hyperclock` command: databases on disk, read through the block cache of the `hyperclock` crate.
//!
//! # The contract with the user
//!
//! - `--json` puts exactly one JSON object on standard output, in `snake_case` with units in the names, and nothing else. A
//!   failure is an object with an `error` in it. `--help` and `--version` print text.
//! - What was left out when a database was opened is a warning on standard error and in the `warnings` of its object.
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

use std::ffi::OsString;
use std::process::ExitCode;

use clap::error::ErrorKind;

use crate::args::{Cli, Command};
use crate::failure::{Failure, Result, Verdict};
use crate::output::Output;

fn main() -> ExitCode {
    let cli = match Cli::read(std::env::args_os()) {
        Ok(cli) => cli,
        Err(error) => return explain(&error),
    };
    let mut output = Output::new(cli.json);
    match run(&cli, &mut output) {
        Ok(verdict) => verdict.into(),
        Err(failure) => fail(cli.json, &failure),
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
    if matches!(error.kind(), ErrorKind::DisplayHelp | ErrorKind::DisplayVersion) {
        return match error.print().map_err(Failure::from) {
            Ok(()) => ExitCode::SUCCESS,
            Err(failure) => fail(false, &failure),
        };
    }
    let json = std::env::args_os().any(|argument| argument == "--json");
    let message = match error.kind() {
        ErrorKind::InvalidUtf8 => not_utf8(std::env::args_os()),
        _ if json => None,
        _ => {
            // If nobody is there to read it, the exit code says enough.
            let _ = error.print();
            return ExitCode::from(2);
        }
    };
    let message = message.unwrap_or_else(|| {
        let rendered = error.render().to_string();
        rendered.strip_prefix("error: ").unwrap_or(&rendered).trim_end().to_owned()
    });
    fail(json, &Failure::usage(message))
}

fn fail(json: bool, failure: &Failure) -> ExitCode {
    if let Failure::Said { kind, message } = failure {
        Output::failure(json, *kind, message);
    }
    failure.exit_code()
}

/// Which argument is not UTF-8 and must be, and how to write it.
fn not_utf8(arguments: impl Iterator<Item = OsString>) -> Option<String> {
    // Paths may be anything.
    const PATHS: [&str; 2] = ["--db", "--out"];
    let mut after_path = false;
    for (number, argument) in arguments.enumerate().skip(1) {
        let is_path = after_path || PATHS.iter().any(|path| argument.as_encoded_bytes().starts_with(path.as_bytes()));
        if argument.to_str().is_none() && !is_path {
            let shown = argument.display();
            return Some(format!(
                "argument {number}, `{shown}`, is not UTF-8: a key can be given as 0x and two digits a byte, with --hex"
            ));
        }
        after_path = PATHS.iter().any(|path| argument == *path);
    }
    None
}
