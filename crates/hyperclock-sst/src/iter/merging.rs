//! One ordered stream out of several.
//!
//! The children are ordered from the newest source to the oldest: the files of level 0, then one
//! concatenation per deeper level. The merged order is that of internal keys, and where two
//! children hold the same internal key, that of the children: going forward the newer comes first.
//!
//! A binary heap of child numbers keeps the next entry at its top. The heap is ordered by the
//! direction of travel, so a change of direction repositions every child but the current one to
//! its side of the current entry and rebuilds the heap.
//!
//! Invariants: I1, the heap holds exactly the valid children. I2, going forward every child
//! stands at its first entry not before the current one, going backward at its last entry not
//! after it. I3, after an error nothing is valid until the next seek.
//!
//! Cost: a step is one step of one child and O(log children) comparisons.

use std::cmp::Ordering;
use std::path::Path;

use super::{Direction, InternalIterator};
use crate::error::Result;
use crate::key::InternalOrder;

/// Merges iterators over internal keys.
pub(crate) struct MergingIterator<I> {
    order: InternalOrder,
    children: Vec<I>,
    /// Numbers of the valid children; the next entry's child is first.
    heap: Vec<usize>,
    direction: Direction,
}

impl<I: InternalIterator> MergingIterator<I> {
    /// Merges `children`, newest first; positioned nowhere.
    pub(crate) fn new(order: InternalOrder, children: Vec<I>) -> Self {
        let heap = Vec::with_capacity(children.len());
        Self { order, children, heap, direction: Direction::Forward }
    }

    fn current(&self) -> Option<&I> {
        self.heap.first().and_then(|&child| self.children.get(child))
    }

    /// Moves every child by `position` and rebuilds the heap.
    fn reposition(
        &mut self,
        direction: Direction,
        mut position: impl FnMut(usize, &mut I) -> Result<()>,
    ) -> Result<()> {
        self.direction = direction;
        self.heap.clear();
        let mut outcome = Ok(());
        for (number, child) in self.children.iter_mut().enumerate() {
            outcome = position(number, child);
            if outcome.is_err() {
                break;
            }
            if child.valid() {
                self.heap.push(number);
            }
        }
        if outcome.is_err() {
            self.heap.clear();
            return outcome;
        }
        let order = HeapOrder { keys: &self.order, children: &self.children, direction };
        for root in (0..self.heap.len() / 2).rev() {
            sift_down(&mut self.heap, root, &order);
        }
        Ok(())
    }

    /// Turns around: every child but the current one goes to its other side.
    fn turn(&mut self, direction: Direction) -> Result<()> {
        let Some(&turning_point) = self.heap.first() else {
            return Ok(());
        };
        let key = self.key().to_vec();
        let order = self.order.clone();
        self.reposition(direction, |number, child| {
            if number == turning_point {
                return Ok(());
            }
            // Entries with the very same key lie before the current one in newer children and
            // after it in older ones.
            let newer = number < turning_point;
            match direction {
                Direction::Forward => {
                    child.seek(&key)?;
                    if newer && child.valid() && order.compare(child.key(), &key) == Ordering::Equal {
                        child.next()?;
                    }
                }
                Direction::Backward => {
                    child.seek_for_prev(&key)?;
                    if !newer && child.valid() && order.compare(child.key(), &key) == Ordering::Equal {
                        child.prev()?;
                    }
                }
            }
            Ok(())
        })
    }

    /// Steps the current child and restores the heap.
    fn step(&mut self, direction: Direction) -> Result<()> {
        if self.direction != direction {
            self.turn(direction)?;
        }
        let Some(&current) = self.heap.first() else {
            return Ok(());
        };
        let Some(child) = self.children.get_mut(current) else {
            return Ok(());
        };
        let outcome = match direction {
            Direction::Forward => child.next(),
            Direction::Backward => child.prev(),
        };
        if outcome.is_err() {
            self.heap.clear();
            return outcome;
        }
        if !child.valid() {
            self.heap.swap_remove(0);
        }
        let order = HeapOrder { keys: &self.order, children: &self.children, direction };
        sift_down(&mut self.heap, 0, &order);
        Ok(())
    }
}

impl<I: InternalIterator> InternalIterator for MergingIterator<I> {
    type Pinned = I::Pinned;

    fn valid(&self) -> bool {
        !self.heap.is_empty()
    }

    fn seek_to_first(&mut self) -> Result<()> {
        self.reposition(Direction::Forward, |_, child| child.seek_to_first())
    }

    fn seek_to_last(&mut self) -> Result<()> {
        self.reposition(Direction::Backward, |_, child| child.seek_to_last())
    }

    fn seek(&mut self, target: &[u8]) -> Result<()> {
        self.reposition(Direction::Forward, |_, child| child.seek(target))
    }

    fn seek_for_prev(&mut self, target: &[u8]) -> Result<()> {
        self.reposition(Direction::Backward, |_, child| child.seek_for_prev(target))
    }

    fn next(&mut self) -> Result<()> {
        self.step(Direction::Forward)
    }

    fn prev(&mut self) -> Result<()> {
        self.step(Direction::Backward)
    }

    fn key(&self) -> &[u8] {
        self.current().map_or(&[], InternalIterator::key)
    }

    fn value(&self) -> &[u8] {
        self.current().map_or(&[], InternalIterator::value)
    }

    fn pinned_value(&self) -> Option<I::Pinned> {
        self.current().and_then(InternalIterator::pinned_value)
    }

    fn file(&self) -> &Path {
        self.current().map_or(Path::new(""), InternalIterator::file)
    }
}

/// The heap's order: by the children's current keys, in the direction of travel.
struct HeapOrder<'a, I> {
    keys: &'a InternalOrder,
    children: &'a [I],
    direction: Direction,
}

impl<I: InternalIterator> HeapOrder<'_, I> {
    fn before(&self, left: usize, right: usize) -> bool {
        let key = |child: usize| self.children.get(child).map_or(&[][..], InternalIterator::key);
        let order = self.keys.compare(key(left), key(right)).then(left.cmp(&right));
        match self.direction {
            Direction::Forward => order == Ordering::Less,
            Direction::Backward => order == Ordering::Greater,
        }
    }
}

/// Moves the element at `root` down until no child of it comes first.
fn sift_down<I: InternalIterator>(heap: &mut [usize], mut root: usize, order: &HeapOrder<'_, I>) {
    loop {
        let left = 2 * root + 1;
        let mut first = root;
        for candidate in [left, left + 1] {
            if let (Some(&child), Some(&best)) = (heap.get(candidate), heap.get(first))
                && order.before(child, best)
            {
                first = candidate;
            }
        }
        if first == root {
            return;
        }
        heap.swap(root, first);
        root = first;
    }
}

#[cfg(test)]
mod tests;
