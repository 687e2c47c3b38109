//! Standard output: rows for people and programs, or exactly one JSON object.
//!
//! Everything on standard output goes through [`Output`], which buffers and turns a closed pipe into a quiet end. With
//! `--json` a command calls [`Output::object`] once, at its end, and nothing else; a failure is an object too, so that a program
//! that reads the output always finds one.

use std::io::{self, BufWriter, Stdout, Write};

use serde::Serialize;

use crate::failure::{Kind, Result};

/// Large enough that a scan makes few system calls, small enough to stay in the processor's cache.
const BUFFER: usize = 64 << 10;

pub(crate) struct Output {
    json: bool,
    out: BufWriter<Stdout>,
}

impl Output {
    pub(crate) fn new(json: bool) -> Self {
        Self { json, out: BufWriter::with_capacity(BUFFER, io::stdout()) }
    }

    /// Whether the user asked for one JSON object.
    pub(crate) fn json(&self) -> bool {
        self.json
    }

    /// Where rows and tables go; not for use with `--json`.
    pub(crate) fn rows(&mut self) -> &mut impl Write {
        debug_assert!(!self.json, "with --json, standard output holds one object");
        &mut self.out
    }

    /// Writes the command's one object.
    pub(crate) fn object(&mut self, object: &impl Serialize) -> Result<()> {
        serde_json::to_writer_pretty(&mut self.out, object).map_err(io::Error::from)?;
        self.out.write_all(b"\n")?;
        Ok(())
    }

    pub(crate) fn flush(&mut self) -> Result<()> {
        Ok(self.out.flush()?)
    }

    /// Tells the user of a failure: on standard error, and as an object where one was promised.
    pub(crate) fn failure(json: bool, kind: Kind, message: &str) {
        #[derive(Serialize)]
        struct Report<'a> {
            error: Detail<'a>,
        }
        #[derive(Serialize)]
        struct Detail<'a> {
            kind: Kind,
            message: &'a str,
        }
        // Rows that were printed before the failure are in the way of nothing; an object can only follow none.
        if json {
            let mut output = Self::new(true);
            let written = output.object(&Report { error: Detail { kind, message } }).and_then(|()| output.flush());
            // The exit code tells what could not be written.
            drop(written);
        }
        note(&format!("error: {message}"));
    }
}

/// Tells the user something on standard error; if nobody listens, so be it.
pub(crate) fn note(message: &str) {
    let _ = writeln!(io::stderr(), "{message}");
}
