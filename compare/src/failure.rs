//! How the command fails, and the exit code of each way: 2 for usage, 3 for what cannot be run, read or written.

use std::io;
use std::process::ExitCode;

use hyperclock_bench::start::CannotStart;
use serde::Serialize;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Kind {
    /// An option is wrong.
    Usage,
    /// A measurement failed, or its figures are void, or the output cannot be written.
    Unavailable,
}

#[derive(Debug)]
pub(crate) enum Failure {
    Said {
        kind: Kind,
        message: String,
    },
    /// Whoever reads standard output has left, and had what it wanted.
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

    pub(crate) fn exit_code(&self) -> ExitCode {
        match self {
            Self::BrokenPipe => ExitCode::SUCCESS,
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

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        if error.kind() == io::ErrorKind::BrokenPipe {
            Self::BrokenPipe
        } else {
            Self::unavailable(format!("cannot write to standard output: {error}"))
        }
    }
}
