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
//! `args` has every option; `db` the commands on databases, one a module; `demo` the demonstration. `output`, `text`, `sizes` and
//! `progress` are about what a person or a program reads; `random`, `zipf` and `sample` about what a benchmark draws.

#![forbid(unsafe_code)]

mod args;
mod failure;
mod latency;
mod memory;
mod output;
mod parallel;
mod progress;
mod random;
mod sample;
mod sizes;
mod text;
mod workload;
mod zipf;

use std::process::ExitCode;

fn main() -> ExitCode {
    ExitCode::SUCCESS
}
