//! Live keys out of a stream of versions.
//!
//! The merged stream below holds every version of every key, newest first within a key. This
//! module shows one entry per live key: the newest version that the snapshot sees, unless it is
//! a deletion. Versions newer than the snapshot are passed over.
//!
//! Going forward, the stream stands at the entry that is shown; finding the next one passes over
//! the remaining versions. Going backward, the newest version of a key is met last, so the
//! iterator walks through all versions of the key, remembers the newest one (pinned, not copied),
//! and leaves the stream before the key. A change of direction seeks once.
//!
//! Invariants: I1, going forward and valid, the stream's entry is the one shown. I2, going
//! backward, the stream's entry (if any) is before `user_key`. I3, `user_key` is the key shown, or
//! the last one passed over. I4, after an error nothing is shown until a seek succeeds.

use std::cmp::Ordering;
use std::path::PathBuf;

use super::{Direction, InternalIterator};
use crate::entry::{Entry, unsupported};
use crate::error::{Error, Result};
use crate::key::{InternalKey, InternalOrder, ValueType};

/// The live keys of a stream of internal keys, in both directions.
pub(crate) struct LiveKeys<'a, S: InternalIterator> {
    order: &'a InternalOrder,
    stream: S,
    /// Newest sequence number that is visible.
    snapshot: u64,
    direction: Direction,
    valid: bool,
    user_key: Vec<u8>,
    /// The value shown going backward.
    saved: Option<S::Pinned>,
    /// Seek target, kept for its allocation.
    target: Vec<u8>,
}

/// The newest visible version of a key, as far as a backward walk has seen it.
enum Newest<V> {
    /// No version yet.
    Unknown,
    Value(V),
    Deleted,
    /// A version that this reader cannot turn into a value, and the file it is in.
    Unsupported(ValueType, PathBuf),
}

impl<V> Newest<V> {
    /// What the key's value is, if it has one.
    fn into_value(self, user_key: &[u8]) -> Result<Option<V>> {
        match self {
            Self::Value(value) => Ok(Some(value)),
            Self::Unknown | Self::Deleted => Ok(None),
            Self::Unsupported(value_type, file) => Err(unsupported(value_type, user_key, &file)),
        }
    }
}

impl<'a, S: InternalIterator> LiveKeys<'a, S> {
    /// Shows what `snapshot` sees of `stream`; positioned nowhere.
    pub(crate) fn new(order: &'a InternalOrder, stream: S, snapshot: u64) -> Self {
        Self {
            order,
            stream,
            snapshot,
            direction: Direction::Forward,
            valid: false,
            user_key: Vec::new(),
            saved: None,
            target: Vec::new(),
        }
    }

    /// Whether an entry is shown.
    #[inline]
    pub(crate) fn valid(&self) -> bool {
        self.valid
    }

    /// The key shown; empty if the iterator is not valid.
    #[inline]
    pub(crate) fn key(&self) -> &[u8] {
        if self.valid { &self.user_key } else { &[] }
    }

    /// The value shown; empty if the iterator is not valid.
    #[inline]
    pub(crate) fn value(&self) -> &[u8] {
        match (&self.saved, self.valid) {
            (_, false) => &[],
            (Some(saved), true) => saved,
            (None, true) => self.stream.value(),
        }
    }

    /// The value shown, with a pin on its block: it outlives the iterator's next step. `None` if
    /// the iterator is not valid.
    pub(crate) fn pinned_value(&self) -> Option<S::Pinned> {
        match (&self.saved, self.valid) {
            (_, false) => None,
            (Some(saved), true) => Some(saved.clone()),
            (None, true) => self.stream.pinned_value(),
        }
    }

    /// Goes to the first key.
    pub(crate) fn seek_to_first(&mut self) -> Result<()> {
        self.valid = false;
        self.stream.seek_to_first()?;
        self.find_forward(false)
    }

    /// Goes to the last key.
    pub(crate) fn seek_to_last(&mut self) -> Result<()> {
        self.valid = false;
        self.stream.seek_to_last()?;
        self.find_backward()
    }

    /// Goes to the first key that is not before `key`.
    pub(crate) fn seek(&mut self, key: &[u8]) -> Result<()> {
        self.valid = false;
        self.set_target(key, u64::MAX);
        self.stream.seek(&self.target)?;
        self.find_forward(false)
    }

    /// Goes to the last key that is not after `key`.
    pub(crate) fn seek_for_prev(&mut self, key: &[u8]) -> Result<()> {
        self.valid = false;
        self.set_target(key, 0);
        self.stream.seek_for_prev(&self.target)?;
        self.find_backward()
    }

    /// Goes to the next key; does nothing if the iterator is not valid.
    pub(crate) fn next(&mut self) -> Result<()> {
        if !std::mem::take(&mut self.valid) {
            return Ok(());
        }
        match self.direction {
            Direction::Forward => self.stream.next()?,
            Direction::Backward => {
                self.set_shown_as_target();
                self.stream.seek(&self.target)?;
            }
        }
        self.find_forward(true)
    }

    /// Goes to the previous key; does nothing if the iterator is not valid.
    pub(crate) fn prev(&mut self) -> Result<()> {
        if !std::mem::take(&mut self.valid) {
            return Ok(());
        }
        if self.direction == Direction::Forward {
            // No entry has this trailer, so the stream stops before all versions of the key.
            self.set_shown_as_target();
            self.stream.seek_for_prev(&self.target)?;
        }
        self.find_backward()
    }

    fn set_target(&mut self, user_key: &[u8], trailer: u64) {
        self.target.clear();
        self.target.extend_from_slice(user_key);
        self.target.extend_from_slice(&trailer.to_le_bytes());
    }

    fn set_shown_as_target(&mut self) {
        self.target.clear();
        self.target.extend_from_slice(&self.user_key);
        self.target.extend_from_slice(&u64::MAX.to_le_bytes());
    }

    /// From the stream's entry on, shows the first live key; with `skip`, one after `user_key`.
    fn find_forward(&mut self, mut skip: bool) -> Result<()> {
        self.direction = Direction::Forward;
        self.saved = None;
        while self.stream.valid() {
            let key = parse(&self.stream)?;
            let passed = key.sequence > self.snapshot
                || (skip && self.order.compare_user(key.user_key, &self.user_key) == Ordering::Equal);
            if !passed {
                self.user_key.clear();
                self.user_key.extend_from_slice(key.user_key);
                match Entry::of(key.value_type) {
                    Entry::Value => {
                        self.valid = true;
                        return Ok(());
                    }
                    Entry::Deletion => skip = true,
                    Entry::Unsupported => {
                        return Err(unsupported(key.value_type, &self.user_key, self.stream.file()));
                    }
                }
            }
            self.stream.next()?;
        }
        Ok(())
    }

    /// From the stream's entry backwards, shows the first live key.
    fn find_backward(&mut self) -> Result<()> {
        self.direction = Direction::Backward;
        self.saved = None;
        let mut newest = Newest::Unknown;
        let mut in_key = false;
        while self.stream.valid() {
            let key = parse(&self.stream)?;
            let new_key = !in_key || self.order.compare_user(key.user_key, &self.user_key) != Ordering::Equal;
            if new_key {
                let passed = std::mem::replace(&mut newest, Newest::Unknown);
                if let Some(value) = passed.into_value(&self.user_key)? {
                    self.saved = Some(value);
                    self.valid = true;
                    return Ok(());
                }
                in_key = true;
                self.user_key.clear();
                self.user_key.extend_from_slice(key.user_key);
            }
            if key.sequence <= self.snapshot {
                newest = match Entry::of(key.value_type) {
                    Entry::Value => match self.stream.pinned_value() {
                        Some(value) => Newest::Value(value),
                        None => Newest::Unknown,
                    },
                    Entry::Deletion => Newest::Deleted,
                    Entry::Unsupported => Newest::Unsupported(key.value_type, self.stream.file().to_owned()),
                };
            }
            self.stream.prev()?;
        }
        self.saved = newest.into_value(&self.user_key)?;
        self.valid = self.saved.is_some();
        Ok(())
    }
}

/// The stream's key in its parts.
fn parse<S: InternalIterator>(stream: &S) -> Result<InternalKey<'_>> {
    InternalKey::parse(stream.key())
        .ok_or_else(|| Error::corruption(stream.file(), 0, "data block: key is too short for an internal key"))
}

#[cfg(test)]
mod tests;
