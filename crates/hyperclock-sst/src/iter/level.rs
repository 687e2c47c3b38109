//! The files of one level as one stream.
//!
//! Below level 0 the files of a level do not overlap, so their concatenation is ordered. Only the
//! file that the iterator stands in is iterated; stepping off its end moves on to the next file
//! that has an entry. A seek finds its file by binary search over the files' largest keys, and
//! keeps the file's iterator when it is the one already in hand.

use std::cmp::Ordering;
use std::path::Path;

use hyperclock::Primary;

use super::{InternalIterator, TableCursor};
use crate::cached::PinnedSlice;
use crate::db::LiveFile;
use crate::error::Result;
use crate::key::InternalOrder;
use crate::table::ReadOptions;

/// Concatenates the files of a level without overlaps.
pub(crate) struct LevelIterator<'a, P: Primary> {
    order: &'a InternalOrder,
    files: &'a [LiveFile<P>],
    read: ReadOptions,
    /// The file in hand and its number in `files`.
    open: Option<(usize, TableCursor<'a, P>)>,
}

impl<'a, P: Primary> LevelIterator<'a, P> {
    /// Iterates `files`, which are ordered and disjoint; positioned nowhere.
    pub(crate) fn new(order: &'a InternalOrder, files: &'a [LiveFile<P>], read: ReadOptions) -> Self {
        Self { order, files, read, open: None }
    }

    /// Takes file `number` in hand; nothing is in hand if there is no such file.
    fn open(&mut self, number: usize) -> Option<&mut TableCursor<'a, P>> {
        if self.open.as_ref().is_none_or(|&(open, _)| open != number) {
            let file = self.files.get(number);
            self.open = file.map(|file| (number, TableCursor::new(file, self.read)));
        }
        self.open.as_mut().map(|(_, cursor)| cursor)
    }

    /// From an exhausted file, goes to the first entry of the files after it.
    fn skip_forward(&mut self) -> Result<()> {
        while let Some((number, cursor)) = &self.open {
            if cursor.valid() {
                break;
            }
            if let Some(cursor) = self.open(number + 1) {
                cursor.seek_to_first()?;
            }
        }
        Ok(())
    }

    /// From an exhausted file, goes to the last entry of the files before it.
    fn skip_backward(&mut self) -> Result<()> {
        while let Some((number, cursor)) = &self.open {
            if cursor.valid() {
                break;
            }
            match number.checked_sub(1) {
                Some(before) => {
                    if let Some(cursor) = self.open(before) {
                        cursor.seek_to_last()?;
                    }
                }
                None => self.open = None,
            }
        }
        Ok(())
    }

    /// Number of the first file whose largest key is not before `target`.
    fn find(&self, target: &[u8]) -> usize {
        self.files.partition_point(|file| self.order.compare(&file.metadata().largest, target) == Ordering::Less)
    }
}

impl<P: Primary> InternalIterator for LevelIterator<'_, P> {
    type Pinned = PinnedSlice<P>;

    fn valid(&self) -> bool {
        self.open.as_ref().is_some_and(|(_, cursor)| cursor.valid())
    }

    fn seek_to_first(&mut self) -> Result<()> {
        if let Some(cursor) = self.open(0) {
            cursor.seek_to_first()?;
        }
        self.skip_forward()
    }

    fn seek_to_last(&mut self) -> Result<()> {
        if let Some(cursor) = self.files.len().checked_sub(1).and_then(|last| self.open(last)) {
            cursor.seek_to_last()?;
        }
        self.skip_backward()
    }

    fn seek(&mut self, target: &[u8]) -> Result<()> {
        if let Some(cursor) = self.open(self.find(target)) {
            cursor.seek(target)?;
        }
        self.skip_forward()
    }

    fn seek_for_prev(&mut self, target: &[u8]) -> Result<()> {
        let file = self.find(target);
        if file == self.files.len() {
            return self.seek_to_last();
        }
        if let Some(cursor) = self.open(file) {
            cursor.seek_for_prev(target)?;
        }
        self.skip_backward()
    }

    fn next(&mut self) -> Result<()> {
        if let Some((_, cursor)) = &mut self.open {
            cursor.next()?;
        }
        self.skip_forward()
    }

    fn prev(&mut self) -> Result<()> {
        if let Some((_, cursor)) = &mut self.open {
            cursor.prev()?;
        }
        self.skip_backward()
    }

    fn key(&self) -> &[u8] {
        self.open.as_ref().map_or(&[], |(_, cursor)| cursor.key())
    }

    fn value(&self) -> &[u8] {
        self.open.as_ref().map_or(&[], |(_, cursor)| cursor.value())
    }

    fn pinned_value(&self) -> Option<PinnedSlice<P>> {
        self.open.as_ref().and_then(|(_, cursor)| cursor.pinned_value())
    }

    fn file(&self) -> &Path {
        self.open.as_ref().map_or(Path::new(""), |(_, cursor)| cursor.file())
    }
}
