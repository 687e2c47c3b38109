//! Iterators over internal keys, and the one over a column family's keys that they make.
//!
//! [`MergingIterator`] merges the files of level 0 and one [`LevelIterator`] per deeper level;
//! `LiveKeys` turns the merged versions into what [`DbIter`] shows. They share [`InternalIterator`], whose
//! contract is: after any movement the iterator is either valid, and `key` and `value` are those of
//! the entry it stands at, or not, at either end or after an error. Moving an iterator that is not
//! valid by `next` or `prev` does nothing.

mod database;
mod level;
mod live_keys;
mod merging;
mod table_cursor;
#[cfg(test)]
mod test_support;

use std::ops::Deref;
use std::path::Path;

pub use database::DbIter;
pub(crate) use database::Source;
pub(crate) use level::LevelIterator;
pub(crate) use merging::MergingIterator;
pub(crate) use table_cursor::TableCursor;

use crate::error::Result;

/// Which way an iterator goes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Direction {
    Forward,
    Backward,
}

/// A movable position in an ordered sequence of internal keys.
pub(crate) trait InternalIterator {
    /// A value that outlives the iterator's next step.
    type Pinned: Clone + Deref<Target = [u8]>;

    fn valid(&self) -> bool;
    fn seek_to_first(&mut self) -> Result<()>;
    fn seek_to_last(&mut self) -> Result<()>;
    /// Goes to the first entry that is not before `target`.
    fn seek(&mut self, target: &[u8]) -> Result<()>;
    /// Goes to the last entry that is not after `target`.
    fn seek_for_prev(&mut self, target: &[u8]) -> Result<()>;
    fn next(&mut self) -> Result<()>;
    fn prev(&mut self) -> Result<()>;
    /// The internal key; empty if the iterator is not valid.
    fn key(&self) -> &[u8];
    /// The value; empty if the iterator is not valid.
    fn value(&self) -> &[u8];
    /// The value with a pin on its block; `None` if the iterator is not valid.
    fn pinned_value(&self) -> Option<Self::Pinned>;
    /// The file that holds the entry, for errors.
    fn file(&self) -> &Path;
}
