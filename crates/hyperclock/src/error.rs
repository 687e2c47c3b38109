//! The errors of the cache, one small type per surface.

use std::error::Error;
use std::fmt;
use std::io;
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

impl<E> LoadError<E> {
    /// The loader's error, if that is what it is.
    ///
    /// ```
    /// # use hyperclock::{BlockCache, CacheKey, Role};
    /// # use std::io::{Error, ErrorKind};
    /// # let blocks = BlockCache::new(1 << 20).view::<Vec<u8>>(Role::DATA_BLOCK);
    /// let failed = blocks.get_or_load(&CacheKey::new(1, 0), || Err(Error::from(ErrorKind::NotFound))).unwrap_err();
    /// assert_eq!(failed.load_error().map(Error::kind), Some(ErrorKind::NotFound));
    /// ```
    pub fn load_error(&self) -> Option<&E> {
        match self {
            Self::Load(error) => Some(error),
            Self::Type(_) | Self::Reentrant => None,
        }
    }
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
            // The message is the loader's own: its error is this one, not the cause of it.
            Self::Load(error) => error.source(),
            Self::Type(_) | Self::Reentrant => None,
        }
    }
}

/// The loader's error, as it was where nobody shares it or the operating system gave it, and otherwise one of its kind with
/// its message. A key of another type is [`InvalidInput`](io::ErrorKind::InvalidInput), a loader that asks for its own key
/// [`Deadlock`](io::ErrorKind::Deadlock).
impl From<LoadError<io::Error>> for io::Error {
    fn from(error: LoadError<io::Error>) -> Self {
        match error {
            LoadError::Load(shared) => match Arc::try_unwrap(shared) {
                Ok(own) => own,
                Err(shared) => match shared.raw_os_error() {
                    Some(code) => Self::from_raw_os_error(code),
                    None => Self::new(shared.kind(), LoadError::Load(shared)),
                },
            },
            LoadError::Type(mismatch) => Self::new(io::ErrorKind::InvalidInput, mismatch),
            LoadError::Reentrant => Self::new(io::ErrorKind::Deadlock, error),
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

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use super::*;

    #[derive(Debug)]
    struct BlockError(io::Error);

    impl fmt::Display for BlockError {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("cannot read block 7")
        }
    }

    impl Error for BlockError {
        fn source(&self) -> Option<&(dyn Error + 'static)> {
            Some(&self.0)
        }
    }

    /// The messages of an error and of its causes.
    fn chain(error: &dyn Error) -> Vec<String> {
        let mut messages = vec![error.to_string()];
        let mut cause = error.source();
        while let Some(error) = cause {
            messages.push(error.to_string());
            cause = error.source();
        }
        messages
    }

    const MISMATCH: TypeMismatch = TypeMismatch { expected: "Wanted", found: "Other" };

    #[test]
    fn each_cause_is_told_once() {
        let error = LoadError::Load(Arc::new(BlockError(io::Error::other("disk on fire"))));
        assert_eq!(chain(&error), ["cannot read block 7", "disk on fire"]);
        assert_eq!(chain(&LoadError::<BlockError>::Type(MISMATCH)).len(), 1);
        assert_eq!(chain(&LoadError::<BlockError>::Reentrant).len(), 1);
    }

    #[test]
    fn the_loaders_error_can_be_looked_at() {
        let error = LoadError::Load(Arc::new(7));
        assert_eq!(error.load_error(), Some(&7));
        assert_eq!(LoadError::<i32>::Type(MISMATCH).load_error(), None);
        assert_eq!(LoadError::<i32>::Reentrant.load_error(), None);
    }

    #[test]
    fn an_io_error_comes_back_as_one() {
        let own = LoadError::Load(Arc::new(io::Error::new(io::ErrorKind::TimedOut, "late")));
        let shared = own.clone();
        for error in [shared, own] {
            let error = io::Error::from(error);
            assert_eq!(error.kind(), io::ErrorKind::TimedOut);
            assert_eq!(chain(&error), ["late"]);
        }
        let system = LoadError::Load(Arc::new(io::Error::from_raw_os_error(2)));
        let kept = system.clone();
        assert_eq!(io::Error::from(system).raw_os_error(), Some(2));
        assert_eq!(io::Error::from(kept).raw_os_error(), Some(2));
        assert_eq!(io::Error::from(LoadError::Type(MISMATCH)).kind(), io::ErrorKind::InvalidInput);
        assert_eq!(io::Error::from(LoadError::Reentrant).kind(), io::ErrorKind::Deadlock);
    }
}
