//! A growing array whose elements never move and whose memory is never given to another purpose while it lives.
//!
//! Segments double in size: segment 0 and 1 have [`FIRST`] elements, segment k has `FIRST << (k - 1)`. An index is
//! turned into an address by its highest bit, which names the segment, and one addition. Fresh memory is zeroed, and all-zero is a valid,
//! empty element; where the platform hands out zero pages, elements that were never touched cost nothing.
//!
//! A1. The pointer of a segment goes from null to its memory once; the memory stays until the arena is dropped. Pages of
//!     elements that nobody owns may be given back in between: they stay where they are and read as zero.
//! A2. An index that was handed out has its segment.
//! A3. The address of every element fits into [`ADDRESS_BITS`] bits, and no segment's origin is null. Where the system gives
//!     other memory, which none does unless asked, it is given back and counts as no memory.

use super::memory;
use crate::primitive::{Atomic64, AtomicPtr, MODEL};
use std::ptr::NonNull;

/// Elements of the first segment.
pub(crate) const FIRST: usize = if MODEL { 4 } else { 64 };
/// Bits of an element's address that may be set; the rest of a word is free for others to use.
pub(crate) const ADDRESS_BITS: u32 = if usize::BITS > 48 { 48 } else { usize::BITS };
/// Enough segments for 2^32 elements.
const SEGMENTS: usize = if MODEL { 4 } else { 27 };

/// An element type of an [`Arena`].
///
/// # Safety
/// All-zero bytes are a valid value, and dropping a value does nothing.
pub(crate) unsafe trait Element: Sized + Sync {
    /// The all-zero element, for model checkers, whose atomics are not plain memory.
    #[cfg(any(loom, shuttle))]
    fn zero() -> Self;
    /// Makes the element all-zero, as if its page had been given back.
    #[cfg(any(loom, shuttle))]
    fn clear(&self);
    /// The word that links free elements; any thread may overwrite it while the element is free.
    fn link(&self) -> &Atomic64;
}

/// See the module documentation.
#[derive(Debug)]
pub(crate) struct Arena<T: Element> {
    /// Where element 0 would be if all elements lay in a row with those of this segment; null without memory. Read by every
    /// lookup, written a few times in a table's life: on lines of their own.
    segments: [AtomicPtr<T>; SEGMENTS],
    writers: Writers,
}

/// What inserts and evictions write.
#[derive(Debug)]
#[repr(align(64))]
struct Writers {
    /// Elements handed out by `fresh`.
    used: Atomic64,
    free: FreeList,
}

/// The memory for another segment could not be had.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct OutOfMemory;

/// The segment of an index: by its highest bit, and 0 for all below [`FIRST`].
#[inline]
const fn segment_of(index: u32) -> usize {
    ((index | (FIRST as u32 - 1)).ilog2() - (FIRST as u32 - 1).ilog2()) as usize
}

const fn segment_start(segment: usize) -> usize {
    if segment == 0 { 0 } else { FIRST << (segment - 1) }
}

const fn segment_len(segment: usize) -> usize {
    if segment == 0 { FIRST } else { FIRST << (segment - 1) }
}

impl<T: Element> Arena<T> {
    pub(crate) fn new() -> Self {
        Self {
            segments: std::array::from_fn(|_| AtomicPtr::null()),
            writers: Writers { used: Atomic64::new(0), free: FreeList::new() },
        }
    }

    /// The element at `index`.
    ///
    /// # Panics
    /// When no segment covers `index`.
    #[inline]
    pub(crate) fn get(&self, index: u32) -> &T {
        // Acquire pairs with `reserve`: the segment's memory is zeroed.
        let origin = NonNull::new(self.segments[segment_of(index)].load_acquire());
        let origin = origin.expect("an index that was handed out has its segment");
        // SAFETY: by A1 the segment's memory has the element, at this distance from the origin.
        unsafe { &*origin.as_ptr().wrapping_add(index as usize) }
    }

    /// Some elements in a row, which lie in one segment: those of a multiple of `count`, a power of two up to [`FIRST`]. None
    /// where memory was never reserved.
    #[inline]
    pub(crate) fn row(&self, first: u32, count: u32) -> Option<&[T]> {
        debug_assert!(count.is_power_of_two() && count as usize <= FIRST && first.is_multiple_of(count));
        let origin = NonNull::new(self.segments.get(segment_of(first))?.load_acquire())?;
        // SAFETY: as in `get`; segments begin and end at multiples of FIRST.
        Some(unsafe { std::slice::from_raw_parts(origin.as_ptr().wrapping_add(first as usize), count as usize) })
    }

    /// Makes sure that `index` has its segment.
    pub(crate) fn reserve(&self, index: u32) -> Result<(), OutOfMemory> {
        let segment = segment_of(index);
        let slot = self.segments.get(segment).ok_or(OutOfMemory)?;
        // Relaxed: `get` acquires what it uses.
        if !slot.load_relaxed().is_null() {
            return Ok(());
        }
        let memory = memory::allocate::<T>(segment_len(segment)).ok_or(OutOfMemory)?;
        let end = memory.addr().get() + segment_len(segment) * size_of::<T>();
        if end.checked_shr(ADDRESS_BITS).unwrap_or(0) != 0
            || memory.as_ptr().wrapping_sub(segment_start(segment)).is_null()
        {
            // SAFETY: allocated above with this length, and nobody else has seen it.
            unsafe { memory::free(memory, segment_len(segment)) };
            return Err(OutOfMemory);
        }
        let origin = memory.as_ptr().wrapping_sub(segment_start(segment));
        if slot.set_once(origin).is_err() {
            // SAFETY: this call allocated it with this length, and nobody else has seen it.
            unsafe { memory::free(memory, segment_len(segment)) };
        }
        Ok(())
    }

    /// Makes sure that all elements below `length` have their segments.
    pub(crate) fn reserve_all(&self, length: u32) -> Result<(), OutOfMemory> {
        let Some(last) = length.checked_sub(1) else { return Ok(()) };
        let last = segment_of(last);
        (0..=last).try_for_each(|segment| self.reserve(segment_start(segment) as u32))
    }

    /// Takes a free element; the caller becomes its owner.
    pub(crate) fn take(&self) -> Option<u32> {
        self.writers.free.pop(self)
    }

    /// Takes all free elements, which stay linked: the first one.
    pub(crate) fn take_all(&self) -> Option<u32> {
        self.writers.free.take_all()
    }

    /// The element that follows in the list of [`Arena::take_all`].
    pub(crate) fn following(&self, index: u32) -> Option<u32> {
        decode(self.get(index).link().load_relaxed())
    }

    /// Counts the last `count` elements, which the caller owns, as never used; false if another was handed out since
    /// the arena had `len`.
    pub(crate) fn retract(&self, len: u32, count: u32) -> bool {
        // Release pairs with `fresh`.
        self.writers.used.cas_release(u64::from(len), u64::from(len - count)).is_ok()
    }

    /// Gives the memory of elements back to the system, which makes them all-zero; false where that cannot be done. The
    /// caller owns them all, and they lie in one segment.
    pub(crate) fn give_back(&self, first: u32, count: u32) -> bool {
        let segment = segment_of(first);
        let offset = first as usize - segment_start(segment);
        let inside = offset + count as usize <= segment_len(segment);
        let Some(memory) = self.memory(segment) else { return false };
        // SAFETY: the range is inside the segment, which `memory::allocate` made with this length.
        inside && unsafe { memory::give_back(memory, segment_len(segment), offset, count as usize) }
    }

    /// What was allocated for a segment.
    fn memory(&self, segment: usize) -> Option<NonNull<T>> {
        let origin = NonNull::new(self.segments[segment].load_acquire())?;
        NonNull::new(origin.as_ptr().wrapping_add(segment_start(segment)))
    }

    /// Takes an element that was never used; the caller becomes its owner.
    pub(crate) fn fresh(&self) -> Result<u32, OutOfMemory> {
        // Acquire pairs with `retract`: what happened to the element before. The first `reserve` keeps a failing allocation from
        // using indices up; one that is lost to a failure in between costs an element, not correctness.
        self.reserve(self.len())?;
        // The free list stores index + 1.
        let index =
            u32::try_from(self.writers.used.add_acquire(1)).ok().filter(|&i| i < u32::MAX).ok_or(OutOfMemory)?;
        self.reserve(index)?;
        Ok(index)
    }

    /// Gives an element to the free list; the caller must own it.
    pub(crate) fn give(&self, index: u32) {
        self.writers.free.push(self, index);
    }

    /// The index of one of this arena's elements. Costs a look at each segment.
    pub(crate) fn index_of(&self, element: &T) -> Option<u32> {
        let address = std::ptr::from_ref(element).addr();
        (0..SEGMENTS).rev().find_map(|segment| {
            let base = self.memory(segment)?.addr().get();
            let offset = address.checked_sub(base)? / size_of::<T>();
            (offset < segment_len(segment)).then_some((segment_start(segment) + offset) as u32)
        })
    }

    /// Elements handed out, but for those that were retracted.
    pub(crate) fn len(&self) -> u32 {
        u32::try_from(self.writers.used.load_relaxed()).unwrap_or(u32::MAX)
    }

    /// The element at `index`, or none where memory was never reserved.
    pub(crate) fn try_get(&self, index: u32) -> Option<&T> {
        // Relaxed: `get` acquires what it uses.
        (!self.segments.get(segment_of(index))?.load_relaxed().is_null()).then(|| self.get(index))
    }

    /// Walks the free list; only when no other thread uses the arena.
    pub(crate) fn free_indices(&self) -> Vec<u32> {
        self.writers.free.indices(self)
    }

    /// Walks elements that are linked like a free list; stops where it goes in circles.
    pub(crate) fn linked_from(&self, first: Option<u32>) -> Vec<u32> {
        std::iter::successors(first, |&index| self.following(index)).take(self.len() as usize + 1).collect()
    }
}

impl<T: Element> Drop for Arena<T> {
    fn drop(&mut self) {
        for segment in 0..SEGMENTS {
            if let Some(memory) = self.memory(segment) {
                // SAFETY: A1: allocated by `reserve` with this length, and nobody can use the arena any more.
                unsafe { memory::free(memory, segment_len(segment)) };
            }
        }
    }
}

/// A lock-free stack of free elements (Treiber's), with a counter against reuse in between (ABA).
///
/// A pop reads the link of an element that another thread may have taken meanwhile; elements are type-stable, so that
/// is a stale number, and the counter makes the exchange fail.
#[derive(Debug)]
pub(crate) struct FreeList(Atomic64);

/// `count << 32 | (index + 1)`, 0 for the end.
#[derive(Clone, Copy)]
struct Head(u64);

impl Head {
    fn index(self) -> Option<u32> {
        decode(self.0 & u64::from(u32::MAX))
    }

    fn following(self, link: u64) -> Self {
        Self((self.0 >> 32).wrapping_add(1) << 32 | link)
    }
}

fn decode(link: u64) -> Option<u32> {
    (link as u32).checked_sub(1)
}

impl FreeList {
    pub(crate) fn new() -> Self {
        Self(Atomic64::new(0))
    }

    /// Puts an element that the caller owns on the list.
    pub(crate) fn push<T: Element>(&self, arena: &Arena<T>, index: u32) {
        let mut head = self.0.load_relaxed();
        loop {
            // Release: the freeing of an element is a step that a reader of its old use may come to see (`bucket`, B2).
            arena.get(index).link().store_release(head & u64::from(u32::MAX));
            // Release pairs with the acquire in `pop`: the link, and what the last owner did with the element.
            match self.0.cas_release(head, Head(head).following(u64::from(index) + 1).0) {
                Ok(_) => return,
                Err(found) => head = found,
            }
        }
    }

    /// Whether the list was empty a moment ago.
    pub(crate) fn is_empty(&self) -> bool {
        Head(self.0.load_relaxed()).index().is_none()
    }

    /// Walks the list; only when no other thread uses it.
    pub(crate) fn indices<T: Element>(&self, arena: &Arena<T>) -> Vec<u32> {
        arena.linked_from(Head(self.0.load_relaxed()).index())
    }

    /// Empties the list and returns its first element; the caller owns all of them.
    pub(crate) fn take_all(&self) -> Option<u32> {
        loop {
            // Acquire pairs with `push`, as in `pop`.
            let head = Head(self.0.load_acquire());
            let index = head.index()?;
            if self.0.cas_relaxed(head.0, head.following(0).0) {
                return Some(index);
            }
        }
    }

    /// Takes an element from the list.
    pub(crate) fn pop<T: Element>(&self, arena: &Arena<T>) -> Option<u32> {
        loop {
            // Acquire pairs with `push`: the link of the first element, and the end of its last owner's use. The exchange
            // below need not repeat it: the counter makes sure that it finds the word of this very push.
            let head = self.0.load_acquire();
            let index = Head(head).index()?;
            let link = arena.get(index).link().load_relaxed() & u64::from(u32::MAX);
            if self.0.cas_relaxed(head, Head(head).following(link).0) {
                return Some(index);
            }
        }
    }
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use super::*;

    #[test]
    fn memory_is_aligned_and_zero() {
        #[repr(align(64))]
        struct Line([Atomic64; 8]);
        // SAFETY: plain atomic words.
        unsafe impl Element for Line {
            fn link(&self) -> &Atomic64 {
                &self.0[0]
            }
        }
        let arena = Arena::<Line>::new();
        for n in 0..1000 {
            let index = arena.fresh().expect("memory");
            assert_eq!(index, n);
            let line = arena.get(index);
            assert!(std::ptr::from_ref(line).is_aligned());
            assert!(line.0.iter().all(|word| word.load_relaxed() == 0));
            line.0[7].store_relaxed(1);
        }
        arena.give(5);
        arena.give(7);
        assert_eq!((arena.take(), arena.free_indices(), arena.take(), arena.take()), (Some(7), vec![5], Some(5), None));
        assert!(arena.try_get(u32::MAX - 1).is_none());
    }

    #[test]
    fn every_index_has_its_own_place() {
        let mut expected = 0;
        for segment in 0..20 {
            for offset in [0, segment_len(segment) - 1] {
                assert_eq!(segment_of((expected + offset) as u32), segment);
                assert_eq!(expected, segment_start(segment));
            }
            expected += segment_len(segment);
        }
        assert!(segment_of(u32::MAX) < SEGMENTS);
    }
}
