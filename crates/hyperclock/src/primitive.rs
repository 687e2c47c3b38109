//! The atomics that the cache is built from: std's, or the model checker's under `--cfg loom` and `--cfg shuttle`.
//!
//! Every method carries its ordering in its name, so that an algorithm shows at each step what it publishes and what
//! it sees; what a non-relaxed access pairs with is said where it is used. No fence is used: ThreadSanitizer does not
//! understand fences, and every edge here hangs on one word anyway.
//!
//! Under loom, the environment variable `HYPERCLOCK_WEAKEN=FILE:LINE` turns the non-relaxed access at that line into a
//! relaxed one; `ci/weaken.sh` uses it to show that each ordering is needed by some model.

#[cfg(loom)]
pub(crate) use loom::{
    sync::{Arc, Condvar, Mutex},
    thread::{self, ThreadId},
};
#[cfg(shuttle)]
pub(crate) use shuttle::{
    sync::{Arc, Condvar, Mutex},
    thread::{self, ThreadId},
};
#[cfg(not(any(loom, shuttle)))]
pub(crate) use std::{
    sync::{Arc, Condvar, Mutex},
    thread::{self, ThreadId},
};

#[cfg(loom)]
use loom::sync::atomic as imp;
#[cfg(shuttle)]
use shuttle::sync::atomic as imp;
#[cfg(not(any(loom, shuttle)))]
use std::sync::atomic as imp;
use std::sync::atomic::Ordering;

/// Whether a model checker replaces the atomics: tables are then tiny, so that all interleavings can be explored.
pub(crate) const MODEL: bool = cfg!(any(loom, shuttle));

/// The ordering to use: `ordering` itself, unless a model run weakens the caller's line.
#[inline]
#[cfg(not(loom))]
fn at(ordering: Ordering) -> Ordering {
    ordering
}

#[cfg(loom)]
#[track_caller]
fn at(ordering: Ordering) -> Ordering {
    use std::sync::OnceLock;
    static WEAKENED: OnceLock<Option<String>> = OnceLock::new();
    let caller = std::panic::Location::caller();
    match WEAKENED.get_or_init(|| std::env::var("HYPERCLOCK_WEAKEN").ok()) {
        Some(site) if format!("{}:{}", caller.file(), caller.line()).ends_with(site.as_str()) => Ordering::Relaxed,
        _ => ordering,
    }
}

macro_rules! methods {
    ($($(#[$doc:meta])* $name:ident($op:ident $(, $arg:ident: $ty:ty)*) -> $ret:ty, $ordering:ident;)*) => {
        $($(#[$doc])*
        #[inline]
        #[cfg_attr(loom, track_caller)]
        pub(crate) fn $name(&self $(, $arg: $ty)*) -> $ret {
            self.0.$op($($arg,)* at(Ordering::$ordering))
        })*
    };
}

/// A 64-bit atomic word.
#[derive(Debug, Default)]
#[repr(transparent)]
pub(crate) struct Atomic64(imp::AtomicU64);

impl Atomic64 {
    #[cfg(not(loom))]
    pub(crate) const fn new(value: u64) -> Self {
        Self(imp::AtomicU64::new(value))
    }

    #[cfg(loom)]
    pub(crate) fn new(value: u64) -> Self {
        Self(imp::AtomicU64::new(value))
    }

    methods! {
        load_relaxed(load) -> u64, Relaxed;
        load_acquire(load) -> u64, Acquire;
        store_relaxed(store, value: u64) -> (), Relaxed;
        store_release(store, value: u64) -> (), Release;
        swap_acquire(swap, value: u64) -> u64, Acquire;
        swap_release(swap, value: u64) -> u64, Release;
        add_relaxed(fetch_add, value: u64) -> u64, Relaxed;
        add_acquire(fetch_add, value: u64) -> u64, Acquire;
        add_release(fetch_add, value: u64) -> u64, Release;
        add_acq_rel(fetch_add, value: u64) -> u64, AcqRel;
        sub_relaxed(fetch_sub, value: u64) -> u64, Relaxed;
        sub_release(fetch_sub, value: u64) -> u64, Release;
        or_acquire(fetch_or, bits: u64) -> u64, Acquire;
        or_acq_rel(fetch_or, bits: u64) -> u64, AcqRel;
        and_release(fetch_and, bits: u64) -> u64, Release;
        and_relaxed(fetch_and, bits: u64) -> u64, Relaxed;
    }

    /// A relaxed store to a word that other threads may be adding to; whatever they add is lost.
    #[inline]
    pub(crate) fn overwrite_relaxed(&self, value: u64) {
        self.overwrite(value, Ordering::Relaxed);
    }

    /// As [`Atomic64::overwrite_relaxed`], publishing what this thread wrote.
    #[inline]
    #[cfg_attr(loom, track_caller)]
    pub(crate) fn overwrite_release(&self, value: u64) {
        self.overwrite(value, at(Ordering::Release));
    }

    #[inline]
    fn overwrite(&self, value: u64, ordering: Ordering) {
        // Loom lets an add that read the word before the store come after it, which no machine does: an add reads the
        // write just before its own. An exchange cannot be misplaced like that.
        if cfg!(loom) {
            self.0.swap(value, ordering);
        } else {
            self.0.store(value, ordering);
        }
    }

    /// Replaces `current` by `new`; true when it did.
    #[inline]
    pub(crate) fn cas_relaxed(&self, current: u64, new: u64) -> bool {
        self.0.compare_exchange(current, new, Ordering::Relaxed, Ordering::Relaxed).is_ok()
    }

    /// Replaces `current` by `new`, taking over what earlier releases on this word published; true when it did.
    #[inline]
    #[cfg_attr(loom, track_caller)]
    pub(crate) fn cas_acquire(&self, current: u64, new: u64) -> bool {
        self.0.compare_exchange(current, new, at(Ordering::Acquire), Ordering::Relaxed).is_ok()
    }

    /// Replaces `current` by `new`, taking over what earlier releases published and publishing what this thread wrote; true
    /// when it did.
    #[inline]
    #[cfg_attr(loom, track_caller)]
    pub(crate) fn cas_acq_rel(&self, current: u64, new: u64) -> bool {
        self.0.compare_exchange(current, new, at(Ordering::AcqRel), Ordering::Relaxed).is_ok()
    }

    /// Replaces `current` by `new`, publishing what this thread wrote; on failure returns the word found.
    #[inline]
    #[cfg_attr(loom, track_caller)]
    pub(crate) fn cas_release(&self, current: u64, new: u64) -> Result<u64, u64> {
        self.0.compare_exchange(current, new, at(Ordering::Release), Ordering::Relaxed)
    }
}

/// An atomic pointer.
#[derive(Debug)]
#[repr(transparent)]
pub(crate) struct AtomicPtr<T>(imp::AtomicPtr<T>);

impl<T> AtomicPtr<T> {
    pub(crate) fn null() -> Self {
        Self(imp::AtomicPtr::new(std::ptr::null_mut()))
    }

    methods! {
        load_relaxed(load) -> *mut T, Relaxed;
        load_acquire(load) -> *mut T, Acquire;
        store_relaxed(store, value: *mut T) -> (), Relaxed;
        store_release(store, value: *mut T) -> (), Release;
    }

    /// Sets the pointer if it is null, publishing what it points to; otherwise returns the pointer found, acquired.
    #[inline]
    #[cfg_attr(loom, track_caller)]
    pub(crate) fn set_once(&self, value: *mut T) -> Result<(), *mut T> {
        self.0.compare_exchange(std::ptr::null_mut(), value, at(Ordering::AcqRel), at(Ordering::Acquire)).map(|_| ())
    }
}

/// Asks the processor to fetch the cache line of `target`; nothing where that cannot be asked.
#[inline]
pub(crate) fn prefetch<T>(target: *const T) {
    #[cfg(all(target_arch = "x86_64", not(any(loom, shuttle, miri))))]
    // SAFETY: a prefetch accesses nothing, whatever the address.
    unsafe {
        std::arch::x86_64::_mm_prefetch::<{ std::arch::x86_64::_MM_HINT_T0 }>(target.cast());
    }
    #[cfg(not(all(target_arch = "x86_64", not(any(loom, shuttle, miri)))))]
    let _ = target;
}

/// Lets another thread run: the reaction to a lock bit that stays set.
pub(crate) fn yield_now() {
    thread::yield_now();
}
