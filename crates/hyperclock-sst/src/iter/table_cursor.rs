//! A position in one live file.

use std::path::Path;

use hyperclock::Primary;

use super::InternalIterator;
use crate::cached::PinnedSlice;
use crate::db::LiveFile;
use crate::error::Result;
use crate::table::{ReadOptions, TableIter};

/// Iterates a live file's table.
pub(crate) struct TableCursor<'a, P: Primary> {
    iter: TableIter<P>,
    path: &'a Path,
}

impl<'a, P: Primary> TableCursor<'a, P> {
    /// A cursor over `file`; positioned nowhere.
    pub(crate) fn new(file: &'a LiveFile<P>, read: ReadOptions) -> Self {
        Self { iter: file.table().iter(&read), path: file.path() }
    }
}

impl<P: Primary> InternalIterator for TableCursor<'_, P> {
    type Pinned = PinnedSlice<P>;

    fn valid(&self) -> bool {
        self.iter.valid()
    }

    fn seek_to_first(&mut self) -> Result<()> {
        self.iter.seek_to_first()
    }

    fn seek_to_last(&mut self) -> Result<()> {
        self.iter.seek_to_last()
    }

    fn seek(&mut self, target: &[u8]) -> Result<()> {
        self.iter.seek(target)
    }

    fn seek_for_prev(&mut self, target: &[u8]) -> Result<()> {
        self.iter.seek_for_prev(target)
    }

    fn next(&mut self) -> Result<()> {
        self.iter.next()
    }

    fn prev(&mut self) -> Result<()> {
        self.iter.prev()
    }

    fn key(&self) -> &[u8] {
        self.iter.key()
    }

    fn value(&self) -> &[u8] {
        self.iter.value()
    }

    fn pinned_value(&self) -> Option<PinnedSlice<P>> {
        self.valid().then(|| self.iter.pinned_value())
    }

    fn file(&self) -> &Path {
        self.path
    }
}
