//! Reads a database in every way and compares what comes back.

use std::path::Path;
use std::sync::Arc;

use hyperclock::BlockCache;
use hyperclock_sst::{DEFAULT_COLUMN_FAMILY, Db, DbOptions, Error, ReadOptions};

use crate::expected::Rows;
use crate::memory::{DIRECTORY, MemoryFiles};

/// How a read of a whole database ended when no answer was wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// Everything was as expected.
    Right,
    /// Some read gave an error. Holds the first message.
    Refused(String),
}

/// Opens the database with a fresh cache, scans it in both directions, and looks up keys that exist and keys that do
/// not. `Err` describes a wrong answer: a row that differs, that is missing without an error, or that never existed.
pub(crate) fn probe(files: &MemoryFiles, rows: &Rows) -> Result<Outcome, String> {
    let cache = BlockCache::builder().capacity(1 << 20).build().map_err(|error| format!("cache: {error}"))?;
    let options = DbOptions::new(cache).file_system(Arc::new(files.clone()));
    let mut reader = match Db::open_read_only(Path::new(DIRECTORY), &options) {
        Ok(db) => Reader { db, rows, refused: None },
        Err(error) => return refused(&error),
    };
    reader.scan_forward()?;
    reader.scan_backward()?;
    reader.look_up()?;
    Ok(reader.refused.map_or(Outcome::Right, Outcome::Refused))
}

/// Every error must say which file it is about.
fn refused(error: &Error) -> Result<Outcome, String> {
    match error.path() {
        Some(path) if path.starts_with(DIRECTORY) => Ok(Outcome::Refused(error.to_string())),
        _ => Err(format!("an error that names no file of the database: {error}")),
    }
}

struct Reader<'a> {
    db: Db,
    rows: &'a Rows,
    refused: Option<String>,
}

impl Reader<'_> {
    fn note(&mut self, error: &Error) -> Result<(), String> {
        if let Outcome::Refused(message) = refused(error)? {
            self.refused.get_or_insert(message);
        }
        Ok(())
    }

    fn scan_forward(&mut self) -> Result<(), String> {
        let mut seen = 0;
        let outcome = self.db.iter(DEFAULT_COLUMN_FAMILY, &ReadOptions::default()).and_then(|mut iter| {
            iter.seek_to_first()?;
            while iter.valid() {
                if self.rows.get(seen).is_none_or(|(key, value)| key != iter.key() || value != iter.value()) {
                    return Ok(Some(format!("forward scan: row {seen} is {:?}", iter.key())));
                }
                seen += 1;
                iter.next()?;
            }
            Ok((seen != self.rows.len()).then(|| format!("forward scan: ends after {seen} rows")))
        });
        self.conclude(outcome)
    }

    fn scan_backward(&mut self) -> Result<(), String> {
        let mut left = self.rows.len();
        let outcome = self.db.iter(DEFAULT_COLUMN_FAMILY, &ReadOptions::default()).and_then(|mut iter| {
            iter.seek_to_last()?;
            while iter.valid() {
                let row = left.checked_sub(1).and_then(|last| self.rows.get(last));
                if row.is_none_or(|(key, value)| key != iter.key() || value != iter.value()) {
                    return Ok(Some(format!("backward scan: {left} rows before the end is {:?}", iter.key())));
                }
                left -= 1;
                iter.prev()?;
            }
            Ok((left != 0).then(|| format!("backward scan: {left} rows are missing")))
        });
        self.conclude(outcome)
    }

    fn look_up(&mut self) -> Result<(), String> {
        for (key, value) in self.rows {
            let mut longer = key.clone();
            longer.push(0x80);
            for (key, value) in [(key, Some(value)), (&longer, None)] {
                let outcome = self.db.get(DEFAULT_COLUMN_FAMILY, key).map(|found| {
                    let right = found.as_deref() == value.map(Vec::as_slice);
                    (!right).then(|| format!("get {key:?}: found {found:?}"))
                });
                self.conclude(outcome)?;
            }
        }
        Ok(())
    }

    /// Ends one read: with a wrong answer, an error, or neither.
    fn conclude(&mut self, outcome: Result<Option<String>, Error>) -> Result<(), String> {
        match outcome {
            Ok(None) => Ok(()),
            Ok(Some(wrong)) => Err(wrong),
            Err(error) => self.note(&error),
        }
    }
}
