//! An iterator over entries in memory, for the tests of the iterators above it.

use std::path::Path;

use super::InternalIterator;
use crate::error::{Error, Result};
use crate::key::{InternalKey, InternalOrder, ValueType};

/// One stored version.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Version {
    pub(super) user_key: Vec<u8>,
    pub(super) sequence: u64,
    pub(super) value_type: ValueType,
    pub(super) value: Vec<u8>,
}

impl Version {
    pub(super) fn internal_key(&self) -> Vec<u8> {
        let Self { user_key, sequence, value_type, .. } = self;
        InternalKey { user_key, sequence: *sequence, value_type: *value_type }.encode()
    }
}

/// Iterates sorted entries; fails on the movement chosen.
pub(super) struct VecIterator {
    order: InternalOrder,
    entries: Vec<(Vec<u8>, Vec<u8>)>,
    /// Index of the entry, if it is in range.
    position: usize,
    /// Movements left before one fails.
    pub(super) fail_after: Option<usize>,
}

impl VecIterator {
    pub(super) fn new(order: &InternalOrder, versions: &[Version]) -> Self {
        let mut entries: Vec<_> = versions.iter().map(|v| (v.internal_key(), v.value.clone())).collect();
        entries.sort_by(|a, b| order.compare(&a.0, &b.0));
        Self { order: order.clone(), entries, position: usize::MAX, fail_after: None }
    }

    fn go(&mut self, position: usize) -> Result<()> {
        self.position = position;
        match &mut self.fail_after {
            Some(0) => {
                self.fail_after = None;
                self.position = usize::MAX;
                Err(Error::corruption("memory", 0, "planted"))
            }
            Some(left) => {
                *left -= 1;
                Ok(())
            }
            None => Ok(()),
        }
    }

    /// Index of the first entry not before `target`.
    fn find(&self, target: &[u8]) -> usize {
        self.entries.partition_point(|(key, _)| self.order.compare(key, target).is_lt())
    }
}

impl InternalIterator for VecIterator {
    type Pinned = Vec<u8>;

    fn valid(&self) -> bool {
        self.position < self.entries.len()
    }

    fn seek_to_first(&mut self) -> Result<()> {
        self.go(0)
    }

    fn seek_to_last(&mut self) -> Result<()> {
        self.go(self.entries.len().wrapping_sub(1))
    }

    fn seek(&mut self, target: &[u8]) -> Result<()> {
        self.go(self.find(target))
    }

    fn seek_for_prev(&mut self, target: &[u8]) -> Result<()> {
        let position = self.entries.partition_point(|(key, _)| self.order.compare(key, target).is_le());
        self.go(position.wrapping_sub(1))
    }

    fn next(&mut self) -> Result<()> {
        if self.valid() { self.go(self.position + 1) } else { Ok(()) }
    }

    fn prev(&mut self) -> Result<()> {
        if self.valid() { self.go(self.position.wrapping_sub(1)) } else { Ok(()) }
    }

    fn key(&self) -> &[u8] {
        self.entries.get(self.position).map_or(&[], |(key, _)| key)
    }

    fn value(&self) -> &[u8] {
        self.entries.get(self.position).map_or(&[], |(_, value)| value)
    }

    fn pinned_value(&self) -> Option<Vec<u8>> {
        self.valid().then(|| self.value().to_vec())
    }

    fn file(&self) -> &Path {
        Path::new("memory")
    }
}
