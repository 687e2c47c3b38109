//! Lookup of many keys at once.
//!
//! The keys are sorted once; each level then hands its files runs of neighbouring keys, so that a
//! table looks up a block once for all adjacent keys that fall into it. The results are those of
//! a loop of [`Db::get`], key by key: an unreadable block fails the keys that needed it and no
//! others. Values of one block share one pin of it, which goes with the last of them.
//!
//! Invariants: I1, `pending` holds the numbers of the keys without an outcome, in the
//! comparator's order. I2, a key leaves `pending` only between files of level 0 or between
//! levels, so the run of a file is a slice of it.

use std::cmp::Ordering;
use std::ops::{ControlFlow, Range};

use hyperclock::Primary;

use super::{Db, Found, Level, LiveFile};
use crate::cached::PinnedSlice;
use crate::error::Result;
use crate::key::{InternalOrder, encode_seek_key};
use crate::table::ReadOptions;

/// A lookup in progress.
struct Batch<'a, P: Primary> {
    order: &'a InternalOrder,
    read: ReadOptions,
    keys: &'a [&'a [u8]],
    /// Internal keys to seek, beside `keys`.
    targets: Vec<Vec<u8>>,
    /// Beside `keys`.
    outcomes: Vec<Option<Result<Option<PinnedSlice<P>>>>>,
    pending: Vec<usize>,
}

impl<P: Primary> Db<P> {
    /// The values of `keys`, in their order; like a loop of [`get`](Self::get), and cheaper where
    /// keys are close together.
    ///
    /// ```
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # use hyperclock_sst::{DEFAULT_COLUMN_FAMILY, Db, DbOptions, hyperclock::BlockCache};
    /// # let directory = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/v783_default");
    /// # let db = Db::open_read_only(directory, &DbOptions::new(BlockCache::new(1 << 20)))?;
    /// for value in db.multi_get(DEFAULT_COLUMN_FAMILY, &["key000002", "key000004", "nokey"])? {
    ///     match value? {
    ///         Some(value) => println!("{} bytes", value.len()),
    ///         None => println!("absent"),
    ///     }
    /// }
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// The call fails if there is no such column family. Each key has an outcome of its own.
    pub fn multi_get(
        &self,
        column_family: u32,
        keys: &[impl AsRef<[u8]>],
    ) -> Result<Vec<Result<Option<PinnedSlice<P>>>>> {
        self.multi_get_with(column_family, keys, &ReadOptions::default())
    }

    /// [`multi_get`](Self::multi_get) with options.
    pub fn multi_get_with(
        &self,
        column_family: u32,
        keys: &[impl AsRef<[u8]>],
        read: &ReadOptions,
    ) -> Result<Vec<Result<Option<PinnedSlice<P>>>>> {
        let family = self.family(column_family)?;
        let keys: Vec<&[u8]> = keys.iter().map(AsRef::as_ref).collect();
        let mut batch = Batch::new(&family.order, *read, &keys, self.last_sequence);
        for level in &family.levels {
            if level.level == 0 {
                for file in &level.files {
                    batch.search_overlapping(file);
                }
            } else {
                batch.search_sorted(level);
            }
        }
        Ok(batch.outcomes.into_iter().map(|outcome| outcome.unwrap_or(Ok(None))).collect())
    }
}

impl<'a, P: Primary> Batch<'a, P> {
    fn new(order: &'a InternalOrder, read: ReadOptions, keys: &'a [&'a [u8]], snapshot: u64) -> Self {
        let target = |key: &&[u8]| {
            let mut target = Vec::new();
            encode_seek_key(&mut target, key, snapshot);
            target
        };
        let mut pending: Vec<usize> = (0..keys.len()).collect();
        let key = |number: usize| keys.get(number).copied().unwrap_or_default();
        pending.sort_by(|&a, &b| order.compare_user(key(a), key(b)));
        Self {
            order,
            read,
            keys,
            targets: keys.iter().map(target).collect(),
            outcomes: vec![None; keys.len()],
            pending,
        }
    }

    fn key(&self, number: usize) -> &'a [u8] {
        self.keys.get(number).copied().unwrap_or_default()
    }

    fn target(&self, number: usize) -> &[u8] {
        self.targets.get(number).map(Vec::as_slice).unwrap_or_default()
    }

    fn is_pending(&self, number: usize) -> bool {
        self.outcomes.get(number).is_some_and(Option::is_none)
    }

    fn compare(&self, number: usize, user_key: &[u8]) -> Ordering {
        self.order.compare_user(self.key(number), user_key)
    }

    /// Searches a file of level 0 for the keys within its bounds.
    fn search_overlapping(&mut self, file: &LiveFile<P>) {
        let (smallest, largest) = (file.smallest_user_key(), file.largest_user_key());
        let from = self.pending.partition_point(|&n| self.compare(n, smallest).is_lt());
        let to = self.pending.partition_point(|&n| self.compare(n, largest).is_le());
        self.search(file, from..to);
        self.drop_settled();
    }

    /// Searches a deeper level, each key in the file whose bounds include it, and where versions
    /// of a key may go on in the next file, in that one too.
    fn search_sorted(&mut self, level: &Level<P>) {
        let mut from = 0;
        while let Some(&first) = self.pending.get(from) {
            let number = level.find(self.order, self.target(first));
            let Some(file) = level.files.get(number) else { break };
            let largest = file.largest_user_key();
            let run = self.pending.get(from..).unwrap_or_default();
            let to = from + run.partition_point(|&n| self.compare(n, largest).is_le());
            // `find` has put `first` at or before the file's largest key.
            let to = to.max(from + 1);
            let run = self.pending.get(from..to).unwrap_or_default();
            let smallest = file.smallest_user_key();
            let first_inside = run.partition_point(|&n| self.compare(n, smallest).is_lt());
            let first_at_end = run.partition_point(|&n| self.compare(n, largest).is_lt());
            self.search(file, from + first_inside..to);

            let spilled = from + first_at_end..to;
            for next in level.files.get(number + 1..).unwrap_or_default() {
                if self.order.compare_user(next.smallest_user_key(), largest) != Ordering::Equal {
                    break;
                }
                self.search(next, spilled.clone());
            }
            from = to;
        }
        self.drop_settled();
    }

    /// Looks the pending keys among those up in one file.
    fn search(&mut self, file: &LiveFile<P>, range: Range<usize>) {
        let range = self.pending.get(range).unwrap_or_default();
        let batch: Vec<usize> = range.iter().copied().filter(|&n| self.is_pending(n)).collect();
        let targets: Vec<&[u8]> = batch.iter().map(|&n| self.target(n)).collect();
        let mut found = Vec::with_capacity(batch.len());
        let mut last_pin = None;
        let searched = file.table.multi_get(&targets, &self.read, &mut |position, key, value| {
            found.push((position, Found::new(key, file, || value.pin_shared(&mut last_pin))));
            ControlFlow::Break(())
        });
        for (position, outcome) in found {
            self.settle(batch.get(position).copied(), outcome);
        }
        if searched.is_err() {
            // Some block cannot be read. Only the keys that need it fail.
            for number in batch {
                if self.is_pending(number) {
                    match file.search(self.target(number), self.read) {
                        Ok(None) => {}
                        Ok(Some(found)) => self.settle(Some(number), Ok(found)),
                        Err(error) => self.settle(Some(number), Err(error)),
                    }
                }
            }
        }
    }

    fn settle(&mut self, number: Option<usize>, outcome: Result<Found<P>>) {
        if let Some(slot) = number.and_then(|number| self.outcomes.get_mut(number)) {
            *slot = Some(outcome.map(Found::into_value));
        }
    }

    fn drop_settled(&mut self) {
        let outcomes = &self.outcomes;
        self.pending.retain(|&number| outcomes.get(number).is_some_and(Option::is_none));
    }
}
