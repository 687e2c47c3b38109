//! How a command ends: its verdict or its failure, and the exit code of each.
//!
//! | code | meaning |
//! |---|---|
//! | 0 | done |
//! | 1 | the answer is no: a key is absent, damage was found |
//! | 2 | usage: an option or an argument is wrong |
//! | 3 | something cannot be read or written |
//!
//! A reader that closes the pipe early, as `head` does, has what it wanted: that is 0, and not a word on standard error.

use std::io;
use std::path::Path;
use std::process::ExitCode;

use hyperclock_bench::start::CannotStart;
use serde::Serialize;

/// What a command that ran to its end found out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    Done,
    /// The answer to the question asked is no.
    No,
}

impl From<Verdict> for ExitCode {
    fn from(verdict: Verdict) -> Self {
        match verdict {
            Verdict::Done => Self::SUCCESS,
            Verdict::No => Self::from(1),
        }
    }
}

/// Why a command did not run to its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Kind {
    /// Bytes on disk are not what their checksum or their format says.
    Damage,
    /// An option or an argument is wrong.
    Usage,
    /// A file or a device cannot be read or written, or holds what this reader does not know.
    Unavailable,
}

/// A failure with the message for the user: what, where, and the way out.
#[derive(Debug)]
pub(crate) enum Failure {
    Said {
        kind: Kind,
        message: String,
    },
    /// Whoever reads standard output has left.
    BrokenPipe,
}

pub(crate) type Result<T> = std::result::Result<T, Failure>;

impl Failure {
    pub(crate) fn usage(message: impl Into<String>) -> Self {
        Self::Said { kind: Kind::Usage, message: message.into() }
    }

    pub(crate) fn unavailable(message: impl Into<String>) -> Self {
        Self::Said { kind: Kind::Unavailable, message: message.into() }
    }

    /// An io error on a file or folder that the user named or owns.
    pub(crate) fn on_path(doing: &str, path: &Path, error: &io::Error) -> Self {
        Self::unavailable(format!("cannot {doing} {}: {error}", path.display()))
    }

    pub(crate) fn exit_code(&self) -> ExitCode {
        match self {
            Self::BrokenPipe => ExitCode::SUCCESS,
            Self::Said { kind: Kind::Damage, .. } => ExitCode::from(1),
            Self::Said { kind: Kind::Usage, .. } => ExitCode::from(2),
            Self::Said { kind: Kind::Unavailable, .. } => ExitCode::from(3),
        }
    }
}

impl From<CannotStart> for Failure {
    fn from(error: CannotStart) -> Self {
        Self::unavailable(error.to_string())
    }
}

/// Errors of standard output; files have [`Failure::on_path`].
impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        if error.kind() == io::ErrorKind::BrokenPipe {
            Self::BrokenPipe
        } else {
            Self::unavailable(format!("cannot write to standard output: {error}"))
        }
    }
}
