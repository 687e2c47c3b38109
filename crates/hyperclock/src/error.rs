//! The errors of the cache, one small type per surface.

use std::error::Error;
use std::fmt;
use std::sync::Arc;

/// A key holds a value of another type than the view's: two parts of an engine use one key for two things.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct TypeMismatch {
    /// The Rust name of the type that the caller asked for.
    pub expected: &'static str,
    /// The Rust name of the type that the key holds.
    pub found: &'static str,
}

impl fmt::Display for TypeMismatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "the key holds a value of type {}, not of type {}; give each type keys of its own",
            self.found, self.expected
        )
    }
}

impl Error for TypeMismatch {}

/// Why a value was not inserted. The value comes back.
#[non_exhaustive]
pub enum InsertError<V> {
    /// The cache has a strict capacity, and everything in it that could make room is pinned; or the value is larger than
    /// the capacity.
    Full {
        /// The value that was to be inserted.
        value: V,
        /// Its charge and the metadata charge, in bytes.
        charge: usize,
        /// The capacity in bytes.
        capacity: usize,
    },
    /// The key holds a value of another type.
    Type {
        /// The value that was to be inserted.
        value: V,
        /// Both types.
        mismatch: TypeMismatch,
    },
}

impl<V> InsertError<V> {
    /// The value that was to be inserted.
    pub fn into_value(self) -> V {
        match self {
            Self::Full { value, .. } | Self::Type { value, .. } => value,
        }
    }
}

impl<V> fmt::Display for InsertError<V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Full { charge, capacity, .. } => write!(
                f,
                "no room for {charge} bytes in a strict cache of {capacity} bytes: release handles or raise the capacity"
            ),
            Self::Type { mismatch, .. } => mismatch.fmt(f),
        }
    }
}

impl<V> fmt::Debug for InsertError<V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Full { charge, capacity, .. } => {
                f.debug_struct("Full").field("charge", charge).field("capacity", capacity).finish_non_exhaustive()
            }
            Self::Type { mismatch, .. } => f.debug_tuple("Type").field(mismatch).finish(),
        }
    }
}

impl<V> Error for InsertError<V> {}

/// Why `get_or_load` has no value.
#[non_exhaustive]
pub enum LoadError<E> {
    /// The loader failed: this caller's, or that of the caller whose load this one waited for.
    Load(Arc<E>),
    /// The key holds a value of another type.
    Type(TypeMismatch),
    /// The loader, on this thread, asked for the key that it is loading.
    Reentrant,
}

impl<E> Clone for LoadError<E> {
    fn clone(&self) -> Self {
        match self {
            Self::Load(error) => Self::Load(error.clone()),
            Self::Type(mismatch) => Self::Type(*mismatch),
            Self::Reentrant => Self::Reentrant,
        }
    }
}

impl<E: fmt::Debug> fmt::Debug for LoadError<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Load(error) => f.debug_tuple("Load").field(error).finish(),
            Self::Type(mismatch) => f.debug_tuple("Type").field(mismatch).finish(),
            Self::Reentrant => f.write_str("Reentrant"),
        }
    }
}

impl<E: fmt::Display> fmt::Display for LoadError<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Load(error) => error.fmt(f),
            Self::Type(mismatch) => mismatch.fmt(f),
            Self::Reentrant => f.write_str("the loader asked for the key that it is loading"),
        }
    }
}

impl<E: Error + 'static> Error for LoadError<E> {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            Self::Load(error) => Some(error.as_ref()),
            Self::Type(mismatch) => Some(mismatch),
            Self::Reentrant => None,
        }
    }
}

/// Why a cache could not be built.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum BuildError {
    /// `shards` is not a power of two, or too large.
    Shards {
        /// The number that was asked for.
        shards: usize,
        /// The largest allowed.
        max: usize,
    },
    /// The effort cap is zero.
    EffortCap,
}

impl fmt::Display for BuildError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Shards { shards, max } => write!(f, "shards is {shards}; use a power of two from 1 to {max}"),
            Self::EffortCap => f.write_str("effort_cap is 0; use at least 1"),
        }
    }
}

impl Error for BuildError {}
