//! What was left out when a database was opened, because RocksDB leaves it out too.
//!
//! RocksDB opens a database whose MANIFEST or log was cut off, with the rows that are left: after a power failure that is what
//! was durable. The same bytes are left by a copy that went wrong, and then rows are missing. An open database cannot tell
//! the two apart, so it says what it saw.

use std::fmt;
use std::path::PathBuf;

/// What kind of thing a [`Warning`] is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum WarningKind {
    /// The MANIFEST's last edits are incomplete and were left out.
    IncompleteManifest,
    /// There are tables that the MANIFEST never named: a running RocksDB is writing them, or the MANIFEST is an older one.
    UnknownTables,
    /// A write-ahead log that is needed has bytes, and no readable record.
    UnreadableLog,
    /// The `IDENTITY` file, which the MANIFEST does not stand in for, cannot be read.
    UnreadableIdentity,
}

impl WarningKind {
    /// The kind in `snake_case`, for reports.
    pub fn name(self) -> &'static str {
        match self {
            Self::IncompleteManifest => "incomplete_manifest",
            Self::UnknownTables => "unknown_tables",
            Self::UnreadableLog => "unreadable_log",
            Self::UnreadableIdentity => "unreadable_identity",
        }
    }
}

/// Something that was left out of an open database; from [`Db::warnings`](super::Db::warnings).
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Warning {
    /// What kind of thing it is.
    pub kind: WarningKind,
    /// The file.
    pub file: PathBuf,
    /// Where what was left out begins, in bytes from the start of the file, if it is a place in it.
    pub offset: Option<u64>,
    /// What was left out, and why.
    pub what: String,
}

impl fmt::Display for Warning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: ", self.file.display())?;
        if let Some(offset) = self.offset {
            write!(f, "at offset {offset}: ")?;
        }
        f.write_str(&self.what)
    }
}
