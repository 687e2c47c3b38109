//! The public iterator over a column family, and the stream of versions it reads.

use std::fmt;
use std::path::Path;

use hyperclock::{Clock, Primary};

use super::live_keys::LiveKeys;
use super::{InternalIterator, LevelIterator, MergingIterator, TableCursor};
use crate::cached::PinnedSlice;
use crate::error::{Error, Result};
use crate::key::InternalOrder;

/// One source of versions: a file of level 0, or a deeper level.
pub(crate) enum Source<'a, P: Primary> {
    File(TableCursor<'a, P>),
    Level(LevelIterator<'a, P>),
}

/// All versions of all keys of a column family.
pub(crate) type FamilyStream<'a, P> = MergingIterator<Source<'a, P>>;

/// Runs the same call on either kind of source.
macro_rules! either {
    ($source:expr, $inner:ident => $call:expr) => {
        match $source {
            Source::File($inner) => $call,
            Source::Level($inner) => $call,
        }
    };
}

impl<P: Primary> InternalIterator for Source<'_, P> {
    type Pinned = PinnedSlice<P>;

    fn valid(&self) -> bool {
        either!(self, source => source.valid())
    }

    fn seek_to_first(&mut self) -> Result<()> {
        either!(self, source => source.seek_to_first())
    }

    fn seek_to_last(&mut self) -> Result<()> {
        either!(self, source => source.seek_to_last())
    }

    fn seek(&mut self, target: &[u8]) -> Result<()> {
        either!(self, source => source.seek(target))
    }

    fn seek_for_prev(&mut self, target: &[u8]) -> Result<()> {
        either!(self, source => source.seek_for_prev(target))
    }

    fn next(&mut self) -> Result<()> {
        either!(self, source => source.next())
    }

    fn prev(&mut self) -> Result<()> {
        either!(self, source => source.prev())
    }

    fn key(&self) -> &[u8] {
        either!(self, source => source.key())
    }

    fn value(&self) -> &[u8] {
        either!(self, source => source.value())
    }

    fn pinned_value(&self) -> Option<PinnedSlice<P>> {
        either!(self, source => source.pinned_value())
    }

    fn file(&self) -> &Path {
        either!(self, source => source.file())
    }
}

/// Iterates the live keys of one column family in its comparator's order, both ways.
///
/// A new iterator is positioned nowhere: begin with one of the seeks. Every movement returns an
/// error where the data cannot be read, which [`status`](Self::status) repeats; the iterator then
/// shows nothing until a seek succeeds.
///
/// ```no_run
/// # fn scan(db: &hyperclock_sst::Db) -> hyperclock_sst::Result<()> {
/// use hyperclock_sst::{DEFAULT_COLUMN_FAMILY, ReadOptions};
///
/// let mut iter = db.iter(DEFAULT_COLUMN_FAMILY, &ReadOptions::default())?;
/// iter.seek_to_first()?;
/// while iter.valid() {
///     println!("{:?} = {:?}", iter.key(), iter.value());
///     iter.next()?;
/// }
/// # Ok(())
/// # }
/// ```
///
/// A step costs one step of a source per stored version passed, each with a logarithmic number of
/// comparisons in the number of sources; a seek or a change of direction costs one seek in each
/// source (every file of level 0, and one file of every deeper level).
pub struct DbIter<'a, P: Primary = Clock> {
    keys: LiveKeys<'a, FamilyStream<'a, P>>,
    /// The error of the last movement.
    failure: Option<Error>,
}

impl<'a, P: Primary> DbIter<'a, P> {
    pub(crate) fn new(order: &'a InternalOrder, sources: Vec<Source<'a, P>>, snapshot: u64) -> Self {
        let stream = MergingIterator::new(order.clone(), sources);
        Self { keys: LiveKeys::new(order, stream, snapshot), failure: None }
    }

    /// Whether an entry is shown.
    #[inline]
    pub fn valid(&self) -> bool {
        self.keys.valid()
    }

    /// The key shown; empty if the iterator is not valid.
    #[inline]
    pub fn key(&self) -> &[u8] {
        self.keys.key()
    }

    /// The value shown; empty if the iterator is not valid.
    #[inline]
    pub fn value(&self) -> &[u8] {
        self.keys.value()
    }

    /// The value shown, with a pin on its block: it outlives the iterator's next step. `None` if
    /// the iterator is not valid.
    pub fn pinned_value(&self) -> Option<PinnedSlice<P>> {
        self.keys.pinned_value()
    }

    /// The error of the last movement, if it had one.
    pub fn status(&self) -> Result<()> {
        self.failure.clone().map_or(Ok(()), Err)
    }

    fn note(&mut self, outcome: Result<()>) -> Result<()> {
        self.failure = outcome.as_ref().err().cloned();
        outcome
    }

    /// Goes to the first key.
    pub fn seek_to_first(&mut self) -> Result<()> {
        let outcome = self.keys.seek_to_first();
        self.note(outcome)
    }

    /// Goes to the last key.
    pub fn seek_to_last(&mut self) -> Result<()> {
        let outcome = self.keys.seek_to_last();
        self.note(outcome)
    }

    /// Goes to the first key that is not before `key`.
    pub fn seek(&mut self, key: &[u8]) -> Result<()> {
        let outcome = self.keys.seek(key);
        self.note(outcome)
    }

    /// Goes to the last key that is not after `key`.
    pub fn seek_for_prev(&mut self, key: &[u8]) -> Result<()> {
        let outcome = self.keys.seek_for_prev(key);
        self.note(outcome)
    }

    /// Goes to the next key; does nothing if the iterator is not valid.
    #[expect(clippy::should_implement_trait, reason = "goes both ways, and RocksDB names it so")]
    pub fn next(&mut self) -> Result<()> {
        if !self.valid() {
            return Ok(());
        }
        let outcome = self.keys.next();
        self.note(outcome)
    }

    /// Goes to the previous key; does nothing if the iterator is not valid.
    pub fn prev(&mut self) -> Result<()> {
        if !self.valid() {
            return Ok(());
        }
        let outcome = self.keys.prev();
        self.note(outcome)
    }
}

impl<P: Primary> fmt::Debug for DbIter<'_, P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DbIter")
            .field("valid", &self.valid())
            .field("key", &self.key().escape_ascii().to_string())
            .finish_non_exhaustive()
    }
}
