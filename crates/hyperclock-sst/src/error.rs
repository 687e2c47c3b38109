//! What can go wrong when a table or a database is read or written.
//!
//! One small enum for the crate. Every variant that concerns a file names it, and where a place in
//! the file is known, the offset. Errors are [`Clone`], because a block that several threads wait
//! for is loaded once and its failure goes to all of them.

use std::borrow::Cow;
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The result of an operation of this crate.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Why a table or a database could not be read or written.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Error {
    /// The operating system refused.
    Io {
        /// The file or directory.
        path: PathBuf,
        /// The error as the system gave it.
        source: Arc<io::Error>,
    },
    /// The bytes on disk contradict their checksum or the format.
    Corruption {
        /// The file.
        file: PathBuf,
        /// Where the damaged block, record or field begins, in bytes from the start of the file.
        offset: u64,
        /// Which block or field, and what is wrong with it.
        what: String,
    },
    /// The file uses something that this version cannot read without the risk of a wrong answer.
    Unsupported {
        /// The file.
        file: PathBuf,
        /// The feature, and a way out where there is one.
        feature: String,
    },
    /// Files of a database kept vanishing between being named and being opened: a running RocksDB
    /// replaces them. Later, or on a checkpoint, the same call may succeed.
    InUse {
        /// The directory of the database.
        directory: PathBuf,
        /// The file that vanished last.
        vanished: PathBuf,
    },
    /// The caller asked for something that cannot be.
    InvalidArgument(String),
    /// The block cache refused a lookup or an insert.
    Cache {
        /// The file whose block was asked for.
        file: PathBuf,
        /// What the cache said.
        what: String,
    },
}

impl Error {
    /// An error of the operating system on `path`.
    pub(crate) fn io(path: impl Into<PathBuf>, source: io::Error) -> Self {
        Self::Io { path: path.into(), source: Arc::new(source) }
    }

    /// Damage in `file` at `offset`.
    pub(crate) fn corruption(file: impl Into<PathBuf>, offset: u64, what: impl Into<String>) -> Self {
        Self::Corruption { file: file.into(), offset, what: what.into() }
    }

    /// A feature of `file` that cannot be read.
    pub(crate) fn unsupported(file: impl Into<PathBuf>, feature: impl Into<String>) -> Self {
        Self::Unsupported { file: file.into(), feature: feature.into() }
    }

    /// The file that the error is about, if it is about one.
    pub fn path(&self) -> Option<&Path> {
        match self {
            Self::Io { path: file, .. }
            | Self::Corruption { file, .. }
            | Self::Unsupported { file, .. }
            | Self::InUse { vanished: file, .. }
            | Self::Cache { file, .. } => Some(file),
            Self::InvalidArgument(_) => None,
        }
    }

    /// Whether the file was not there.
    pub fn is_not_found(&self) -> bool {
        matches!(self, Self::Io { source, .. } if source.kind() == io::ErrorKind::NotFound)
    }
}

/// What is wrong with bytes whose file and offset only the caller knows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Defect {
    /// They contradict the format.
    Corrupt(Cow<'static, str>),
    /// They use a feature that cannot be read.
    Unsupported(Cow<'static, str>),
}

impl Defect {
    pub(crate) fn corrupt(what: impl Into<Cow<'static, str>>) -> Self {
        Self::Corrupt(what.into())
    }

    pub(crate) fn unsupported(feature: impl Into<Cow<'static, str>>) -> Self {
        Self::Unsupported(feature.into())
    }

    /// The error for these bytes: `part` names the block or record that begins at `offset`.
    #[cold]
    pub(crate) fn at(self, file: &Path, offset: u64, part: &str) -> Error {
        match self {
            Self::Corrupt(what) => Error::corruption(file, offset, format!("{part}: {what}")),
            Self::Unsupported(feature) => Error::unsupported(file, format!("{feature} ({part} at offset {offset})")),
        }
    }
}

impl fmt::Display for Defect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Corrupt(what) => f.write_str(what),
            Self::Unsupported(feature) => write!(f, "not supported: {feature}"),
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Io { path, source } => write!(f, "{}: {source}", path.display()),
            Self::Corruption { file, offset, what } => {
                write!(f, "{}: corrupt at offset {offset}: {what}", file.display())
            }
            Self::Unsupported { file, feature } => {
                write!(f, "{}: not supported: {feature}", file.display())
            }
            Self::InUse { directory, vanished } => write!(
                f,
                "{}: the database is in use: {} vanished while it was opened; try again, or open a \
                 checkpoint",
                directory.display(),
                vanished.display()
            ),
            Self::InvalidArgument(what) => write!(f, "invalid argument: {what}"),
            Self::Cache { file, what } => write!(f, "{}: block cache: {what}", file.display()),
        }
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            // The message has the system's own: its error is this one, not the cause of it.
            Self::Io { source, .. } => source.source(),
            _ => None,
        }
    }
}

/// The whole error, with the kind of the system's where there is one, else
/// [`InvalidData`](io::ErrorKind::InvalidData) for damage, [`Unsupported`](io::ErrorKind::Unsupported),
/// [`InvalidInput`](io::ErrorKind::InvalidInput) and [`ResourceBusy`](io::ErrorKind::ResourceBusy).
impl From<Error> for io::Error {
    fn from(error: Error) -> Self {
        let kind = match &error {
            Error::Io { source, .. } => source.kind(),
            Error::Corruption { .. } => io::ErrorKind::InvalidData,
            Error::Unsupported { .. } => io::ErrorKind::Unsupported,
            Error::InUse { .. } => io::ErrorKind::ResourceBusy,
            Error::InvalidArgument(_) => io::ErrorKind::InvalidInput,
            Error::Cache { .. } => io::ErrorKind::Other,
        };
        Self::new(kind, error)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::error::Error as _;

    #[test]
    fn messages_name_file_and_offset() {
        let e = Error::corruption("a/000009.sst", 96, "filter block: bad checksum");
        assert_eq!(e.to_string(), "a/000009.sst: corrupt at offset 96: filter block: bad checksum");
        assert_eq!(e.path(), Some(Path::new("a/000009.sst")));
    }

    #[test]
    fn io_errors_keep_the_systems_error_and_tell_it_once() {
        let e = Error::io("x", io::Error::from(io::ErrorKind::NotFound));
        assert!(e.is_not_found());
        assert!(matches!(&e, Error::Io { source, .. } if source.kind() == io::ErrorKind::NotFound));
        assert_eq!(e.to_string(), format!("x: {}", io::Error::from(io::ErrorKind::NotFound)));
        assert!(e.source().is_none());
    }

    #[test]
    fn as_an_io_error_it_has_a_kind_and_its_own_message() {
        for (error, kind) in [
            (Error::io("x", io::ErrorKind::PermissionDenied.into()), io::ErrorKind::PermissionDenied),
            (Error::corruption("x", 7, "bad checksum"), io::ErrorKind::InvalidData),
            (Error::unsupported("x", "merge operands"), io::ErrorKind::Unsupported),
            (Error::InUse { directory: "x".into(), vanished: "y".into() }, io::ErrorKind::ResourceBusy),
            (Error::InvalidArgument("no such thing".to_owned()), io::ErrorKind::InvalidInput),
        ] {
            let message = error.to_string();
            let error = io::Error::from(error);
            assert_eq!((error.kind(), error.to_string()), (kind, message));
        }
    }
}
