//! Counters per role: hits, misses, loads, inserts, evictions.
//!
//! A hit must not write a word that another thread writes, so each thread counts in a block of its own for each cache,
//! with plain loads and stores. A snapshot adds the blocks up: it costs threads x roles, not entries. When a thread ends,
//! its block is added to the cache's totals.
//!
//! R1. `CURRENT` of a thread is empty, or names a cache and a block that this thread's `LOCAL` owns. Whoever takes an entry
//!     out of `LOCAL` empties `CURRENT` first. The entry's `Weak` keeps the cache's address from being reused meanwhile.

use crate::Role;
use std::cell::{Cell, RefCell};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};

/// Counts of one role since the cache was made. Exact when no call is in flight.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct RoleStats {
    /// Lookups that found their key.
    pub hits: u64,
    /// Lookups that did not.
    pub misses: u64,
    /// Values that were put into the cache.
    pub inserts: u64,
    /// Inserts that found their key resident; their value was dropped.
    pub redundant_inserts: u64,
    /// Entries that were evicted to make room.
    pub evictions: u64,
    /// Loaders that ran in `get_or_load`.
    pub loads: u64,
    /// Calls of `get_or_load` that waited for another caller's load instead of loading.
    pub coalesced_loads: u64,
    /// Values that were handed out without being charged, because a strict cache had no room.
    pub uncharged: u64,
    /// Lookups that found their key but could not count another reference.
    pub saturated: u64,
}

impl RoleStats {
    /// Hits among lookups; `None` before the first.
    #[must_use]
    pub fn hit_ratio(&self) -> Option<f64> {
        let lookups = self.hits + self.misses;
        (lookups > 0).then(|| self.hits as f64 / lookups as f64)
    }

    fn add(&mut self, other: &Self) {
        self.hits += other.hits;
        self.misses += other.misses;
        self.inserts += other.inserts;
        self.redundant_inserts += other.redundant_inserts;
        self.evictions += other.evictions;
        self.loads += other.loads;
        self.coalesced_loads += other.coalesced_loads;
        self.uncharged += other.uncharged;
        self.saturated += other.saturated;
    }
}

/// A snapshot of a cache's counters.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Stats {
    roles: [RoleStats; Role::COUNT],
    /// Bytes of the cache's own tables, beside the values.
    pub table_bytes: usize,
}

impl Stats {
    /// The counts of one role.
    #[must_use]
    pub fn role(&self, role: Role) -> &RoleStats {
        &self.roles[role.index()]
    }

    /// The sum over all roles.
    #[must_use]
    pub fn total(&self) -> RoleStats {
        let mut total = RoleStats::default();
        self.roles.iter().for_each(|role| total.add(role));
        total
    }
}

/// What is counted.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Event {
    Hit,
    Miss,
    Insert,
    RedundantInsert,
    Eviction,
    Load,
    CoalescedLoad,
    Uncharged,
    Saturated,
}

const EVENTS: usize = Event::Saturated as usize + 1;

/// One thread's counts for one cache.
#[derive(Debug)]
struct Block([[AtomicU64; EVENTS]; Role::COUNT]);

impl Block {
    fn new() -> Self {
        Self(std::array::from_fn(|_| std::array::from_fn(|_| AtomicU64::new(0))))
    }

    /// Counts, on the only thread that writes the block: a load and a store.
    #[inline]
    fn count(&self, role: Role, event: Event) {
        let counter = &self.0[role.index()][event as usize];
        counter.store(counter.load(Ordering::Relaxed).wrapping_add(1), Ordering::Relaxed);
    }

    fn add_to(&self, roles: &mut [RoleStats; Role::COUNT]) {
        for (counters, role) in self.0.iter().zip(roles) {
            let get = |event: Event| counters[event as usize].load(Ordering::Relaxed);
            role.add(&RoleStats {
                hits: get(Event::Hit),
                misses: get(Event::Miss),
                inserts: get(Event::Insert),
                redundant_inserts: get(Event::RedundantInsert),
                evictions: get(Event::Eviction),
                loads: get(Event::Load),
                coalesced_loads: get(Event::CoalescedLoad),
                uncharged: get(Event::Uncharged),
                saturated: get(Event::Saturated),
            });
        }
    }
}

/// The counters of one cache.
#[derive(Debug)]
pub(crate) struct Recorder {
    shared: Arc<Shared>,
}

#[derive(Debug, Default)]
struct Shared {
    state: Mutex<Totals>,
}

#[derive(Debug, Default)]
struct Totals {
    /// Of threads that ended, once there are any.
    ended: Option<Box<[RoleStats; Role::COUNT]>>,
    /// Of threads that may still count.
    blocks: Vec<Arc<Block>>,
}

/// The blocks of one thread.
struct Local {
    blocks: Vec<(Weak<Shared>, Arc<Block>)>,
}

impl Drop for Local {
    fn drop(&mut self) {
        CURRENT.set(Current::NONE);
        for (shared, block) in self.blocks.drain(..) {
            let Some(shared) = shared.upgrade() else { continue };
            let mut totals = shared.lock();
            totals.blocks.retain(|other| !Arc::ptr_eq(other, &block));
            block.add_to(totals.ended.get_or_insert_default());
        }
    }
}

/// The block that a thread used last, without the cost of a thread-local with a destructor.
#[derive(Clone, Copy)]
struct Current {
    cache: *const Shared,
    block: *const Block,
}

impl Current {
    const NONE: Self = Self { cache: std::ptr::null(), block: std::ptr::null() };
}

thread_local! {
    static CURRENT: Cell<Current> = const { Cell::new(Current::NONE) };
    static LOCAL: RefCell<Local> = const { RefCell::new(Local { blocks: Vec::new() }) };
}

impl Shared {
    fn lock(&self) -> std::sync::MutexGuard<'_, Totals> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Recorder {
    pub(crate) fn new() -> Self {
        Self { shared: Arc::default() }
    }

    /// Counts one event.
    #[inline]
    pub(crate) fn count(&self, role: Role, event: Event) {
        let current = CURRENT.get();
        if std::ptr::eq(current.cache, Arc::as_ptr(&self.shared)) {
            // SAFETY: R1: this thread owns the block, and nothing in between can end that.
            unsafe { &*current.block }.count(role, event);
        } else {
            self.count_slow(role, event);
        }
    }

    #[cold]
    fn count_slow(&self, role: Role, event: Event) {
        let counted = LOCAL.try_with(|local| {
            let Ok(mut local) = local.try_borrow_mut() else { return false };
            let block = self.block(&mut local);
            CURRENT.set(Current { cache: Arc::as_ptr(&self.shared), block: std::ptr::from_ref(block) });
            block.count(role, event);
            true
        });
        if counted != Ok(true) {
            self.count_shared(role, event);
        }
    }

    /// This thread's block for this cache, made if needed.
    fn block<'l>(&self, local: &'l mut Local) -> &'l Block {
        let ours = |(shared, _): &(Weak<Shared>, Arc<Block>)| std::ptr::eq(shared.as_ptr(), Arc::as_ptr(&self.shared));
        let found = local.blocks.iter().position(ours).unwrap_or_else(|| {
            // Blocks of caches that are gone are given up here (R1).
            CURRENT.set(Current::NONE);
            local.blocks.retain(|(shared, _)| shared.strong_count() > 0);
            let block = Arc::new(Block::new());
            self.shared.lock().blocks.push(block.clone());
            local.blocks.push((Arc::downgrade(&self.shared), block));
            local.blocks.len() - 1
        });
        &local.blocks[found].1
    }

    /// Counts on a thread whose thread-local storage is being torn down.
    #[cold]
    fn count_shared(&self, role: Role, event: Event) {
        let block = Block::new();
        block.count(role, event);
        block.add_to(self.shared.lock().ended.get_or_insert_default());
    }

    pub(crate) fn snapshot(&self, table_bytes: usize) -> Stats {
        let totals = self.shared.lock();
        let mut roles = totals.ended.as_deref().copied().unwrap_or_default();
        totals.blocks.iter().for_each(|block| block.add_to(&mut roles));
        Stats { roles, table_bytes }
    }
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use super::*;

    #[test]
    fn counts_of_ended_and_living_threads_add_up() {
        let (a, b) = (Recorder::new(), Recorder::new());
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    for n in 0..1000 {
                        a.count(Role::DATA_BLOCK, Event::Hit);
                        if n % 10 == 0 {
                            b.count(Role::MISC, Event::Miss);
                        }
                    }
                });
            }
        });
        a.count(Role::DATA_BLOCK, Event::Miss);
        let stats = a.snapshot(0);
        assert_eq!((stats.role(Role::DATA_BLOCK).hits, stats.total().misses), (4000, 1));
        assert_eq!(stats.role(Role::DATA_BLOCK).hit_ratio(), Some(4000.0 / 4001.0));
        assert_eq!(b.snapshot(0).total(), RoleStats { misses: 400, ..RoleStats::default() });
        assert_eq!(b.snapshot(0).role(Role::DATA_BLOCK).hit_ratio(), None);
    }
}
