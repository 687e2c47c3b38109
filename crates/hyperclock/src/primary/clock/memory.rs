//! Zeroed, lazily touched memory for an arena's segments.
//!
//! On Linux, segments of 16 KiB and more are mappings of their own: untouched pages cost nothing, and pages can
//! be given back while other threads may still look at them, which makes them read as zero. Smaller segments, and all segments
//! elsewhere, come from the allocator, and their memory stays until the arena is dropped.

#[cfg(any(loom, shuttle))]
pub(super) use modelled::{allocate, free, give_back};
#[cfg(not(any(loom, shuttle)))]
pub(super) use real::{allocate, free, give_back};

#[cfg(not(any(loom, shuttle)))]
mod real {
    use super::super::arena::Element;
    use std::ptr::NonNull;

    fn bytes<T>(len: usize) -> Option<usize> {
        len.checked_mul(size_of::<T>())
    }

    /// Memory for `len` elements, all zero.
    pub(in super::super) fn allocate<T: Element>(len: usize) -> Option<NonNull<T>> {
        match bytes::<T>(len)? {
            bytes if pages::are_used(bytes) => pages::map(bytes).map(NonNull::cast),
            _ => heap::allocate(len),
        }
    }

    /// Frees memory.
    ///
    /// # Safety
    /// `memory` came from `allocate` with the same `len` and is not used any more.
    pub(in super::super) unsafe fn free<T: Element>(memory: NonNull<T>, len: usize) {
        match bytes::<T>(len) {
            // SAFETY: the caller's promise, and the same decision as in `allocate`.
            Some(bytes) if pages::are_used(bytes) => unsafe { pages::unmap(memory.cast(), bytes) },
            // SAFETY: as above.
            _ => unsafe { heap::free(memory, len) },
        }
    }

    /// Gives the pages of elements back, which then are all zero; false if that cannot be done.
    ///
    /// # Safety
    /// `memory` came from `allocate` with the same `len`; `offset + count` is at most `len`; other threads access the elements
    /// only by atomic operations, and nobody relies on what is in them.
    pub(in super::super) unsafe fn give_back<T: Element>(
        memory: NonNull<T>,
        len: usize,
        offset: usize,
        count: usize,
    ) -> bool {
        let (Some(all), Some(before), Some(given)) = (bytes::<T>(len), bytes::<T>(offset), bytes::<T>(count)) else {
            return false;
        };
        // SAFETY: the caller's promise.
        pages::are_used(all) && unsafe { pages::discard(memory.cast(), before, given) }
    }

    /// Mappings.
    #[cfg(all(target_os = "linux", not(miri)))]
    mod pages {
        use rustix::mm::{Advice, MapFlags, ProtFlags, madvise, mmap_anonymous, munmap};
        use std::ptr::NonNull;

        /// Segments of so many bytes are mappings.
        const MAPPED_FROM: usize = 16 << 10;

        pub(super) const fn are_used(bytes: usize) -> bool {
            bytes >= MAPPED_FROM
        }

        pub(super) fn map(bytes: usize) -> Option<NonNull<u8>> {
            let protection = ProtFlags::READ | ProtFlags::WRITE;
            // SAFETY: a new mapping at an address of the system's choice.
            let memory = unsafe { mmap_anonymous(std::ptr::null_mut(), bytes, protection, MapFlags::PRIVATE) };
            memory.ok().and_then(|memory| NonNull::new(memory.cast()))
        }

        /// # Safety
        /// `memory` came from `map` with the same length and is not used any more.
        pub(super) unsafe fn unmap(memory: NonNull<u8>, bytes: usize) {
            // SAFETY: the caller's promise. It fails only for a range that is no mapping; then there is nothing to do.
            let _ = unsafe { munmap(memory.as_ptr().cast(), bytes) };
        }

        /// # Safety
        /// The range is inside a mapping of `map`, and nobody relies on its contents.
        pub(super) unsafe fn discard(memory: NonNull<u8>, from: usize, bytes: usize) -> bool {
            let page = rustix::param::page_size();
            // SAFETY: inside the mapping.
            let start = unsafe { memory.add(from) };
            if !from.is_multiple_of(page) || !bytes.is_multiple_of(page) {
                return false;
            }
            // SAFETY: whole pages of a private anonymous mapping of our own, which read as zero afterwards.
            unsafe { madvise(start.as_ptr().cast(), bytes, Advice::LinuxDontNeed) }.is_ok()
        }
    }

    #[cfg(not(all(target_os = "linux", not(miri))))]
    mod pages {
        use std::ptr::NonNull;

        pub(super) const fn are_used(_bytes: usize) -> bool {
            false
        }

        pub(super) fn map(_bytes: usize) -> Option<NonNull<u8>> {
            None
        }

        pub(super) unsafe fn unmap(_memory: NonNull<u8>, _bytes: usize) {}

        pub(super) unsafe fn discard(_memory: NonNull<u8>, _from: usize, _bytes: usize) -> bool {
            false
        }
    }

    /// The allocator.
    ///
    /// `alloc_zeroed` gets untouched zero pages from the system only for small alignments; for larger ones the standard
    /// library clears the memory by hand, which would make every segment resident at once. So a block is asked for with
    /// a small alignment and some room, and the elements start at the first aligned address after a header that remembers
    /// the block.
    mod heap {
        use super::super::super::arena::Element;
        use std::alloc::{Layout, alloc_zeroed, dealloc};
        use std::ptr::NonNull;

        const HEADER: usize = size_of::<*mut u8>();

        fn layout<T>(len: usize) -> Option<Layout> {
            let elements = Layout::array::<T>(len).ok()?;
            let size = elements.size().checked_add(HEADER)?.checked_add(elements.align())?;
            Layout::from_size_align(size, align_of::<*mut u8>()).ok()
        }

        pub(super) fn allocate<T: Element>(len: usize) -> Option<NonNull<T>> {
            // SAFETY: the layout has a header's size at least.
            let block = NonNull::new(unsafe { alloc_zeroed(layout::<T>(len)?) })?;
            let unaligned = block.addr().get() + HEADER;
            let offset = unaligned.next_multiple_of(align_of::<T>()) - block.addr().get();
            // SAFETY: the layout has room for a header, for the elements, and for aligning them; the header's place is a
            // pointer's size before an address with at least a pointer's alignment. `Element` says that zeroed memory is a
            // valid array of T.
            unsafe {
                let elements = block.add(offset);
                elements.cast::<NonNull<u8>>().sub(1).write(block);
                Some(elements.cast())
            }
        }

        /// # Safety
        /// `memory` came from `allocate` with the same `len` and is not used any more.
        pub(super) unsafe fn free<T: Element>(memory: NonNull<T>, len: usize) {
            if let Some(layout) = layout::<T>(len) {
                // SAFETY: the caller's promise; `allocate` put the block's address before the elements.
                unsafe { dealloc(memory.cast::<NonNull<u8>>().sub(1).read().as_ptr(), layout) };
            }
        }
    }
}

/// For model checkers, whose atomics are not plain memory.
#[cfg(any(loom, shuttle))]
mod modelled {
    use super::super::arena::Element;
    use std::ptr::NonNull;

    pub(in super::super) fn allocate<T: Element>(len: usize) -> Option<NonNull<T>> {
        let boxed: Box<[T]> = (0..len).map(|_| T::zero()).collect();
        NonNull::new(Box::into_raw(boxed).cast())
    }

    /// # Safety
    /// `memory` came from `allocate` with the same `len` and is not used any more.
    pub(in super::super) unsafe fn free<T: Element>(memory: NonNull<T>, len: usize) {
        // SAFETY: the caller's promise: this is the box of `allocate`.
        drop(unsafe { Box::from_raw(std::ptr::slice_from_raw_parts_mut(memory.as_ptr(), len)) });
    }

    /// # Safety
    /// As in the real one.
    pub(in super::super) unsafe fn give_back<T: Element>(
        memory: NonNull<T>,
        _len: usize,
        offset: usize,
        count: usize,
    ) -> bool {
        // SAFETY: the caller's promise.
        (offset..offset + count).for_each(|index| unsafe { memory.add(index).as_ref() }.clear());
        true
    }
}
