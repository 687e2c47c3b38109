//! Models: every interleaving of two or three threads on a tiny table, with at most a few preemptions.
//!
//! Values hold a cell that the model checker watches, written when a value is made and when it is dropped and read by
//! every holder. So a missing happens-before edge between publication, reads and drop is reported, whatever the words of
//! the slot say. `ci/weaken.sh` runs these with one ordering at a time weakened, and expects a failure each time.

use super::shared::Freed;
use super::sweep::Goal;
use super::*;
use crate::budget::Budget;
use crate::kind::Kind;
use crate::primary::sealed::Pin;
use crate::primitive::Arc;
use crate::{CacheValue, Priority, Role};
use loom::cell::UnsafeCell;
use loom::sync::Arc as LoomArc;
use loom::thread;
use std::cell::Cell;

std::thread_local! {
    /// The threads of a model are coroutines on the test's own thread.
    static ALIVE: Cell<usize> = const { Cell::new(0) };
}

struct Watched {
    content: UnsafeCell<u64>,
}

// SAFETY: the cell is written only by the maker and by the drop; the model checker verifies that.
unsafe impl Sync for Watched {}

impl Watched {
    fn new(content: u64) -> Self {
        ALIVE.set(ALIVE.get() + 1);
        Self { content: UnsafeCell::new(content) }
    }

    fn read(&self) -> u64 {
        // SAFETY: as above.
        self.content.with(|content| unsafe { *content })
    }
}

impl Drop for Watched {
    fn drop(&mut self) {
        // SAFETY: as above.
        self.content.with_mut(|content| unsafe { *content = u64::MAX });
        ALIVE.set(ALIVE.get() - 1);
    }
}

impl CacheValue for Watched {
    fn charge(&self) -> usize {
        1
    }
}

struct Silent;

impl Observer for Silent {
    fn evicted(&self, _: Role) {}
}

fn clock(capacity: usize) -> LoomArc<Clock> {
    LoomArc::new(Clock::create(Settings {
        budget: Arc::new(Budget::new(capacity, false)),
        shard_bits: 0,
        seed: 1,
        metadata_charge: 0,
        effort_cap: 30,
        expected_entries: 0,
    }))
}

fn attributes(priority: Priority) -> Attributes {
    Attributes { role: Role::MISC, priority, kind: Kind::of::<Watched>(), charge: 1 }
}

fn key(n: u64) -> CacheKey {
    CacheKey::new(0, n)
}

fn insert(clock: &Clock, n: u64) -> Option<ClockPin> {
    let value = ErasedValue::new(Watched::new(n), Kind::of::<Watched>());
    match clock.insert(key(n), value, attributes(Priority::Bottom), &Silent) {
        Insertion::Inserted(pin) | Insertion::Resident(pin, _) => Some(pin),
        Insertion::Standalone(_) | Insertion::Refused(_) => None,
    }
}

fn get(clock: &Clock, n: u64) -> Option<ClockPin> {
    match clock.lookup(key(n)) {
        Found::Hit(pin) => {
            assert_eq!(read(&pin), n, "another key's value");
            Some(pin)
        }
        Found::Miss | Found::Saturated => None,
    }
}

fn read(pin: &ClockPin) -> u64 {
    // SAFETY: all values here are of this type, and the pin keeps its value alive.
    unsafe { &*pin.value().cast::<Watched>() }.read()
}

/// Evicts everything that is not pinned.
fn sweep(clock: &Clock) {
    let core = clock.core();
    let mut freed = Freed::new(&core.budget);
    core.evict(0, &mut Goal::new(u64::MAX, u64::MAX), &mut Spare::unwanted(), &mut freed, &Silent);
}

fn model(preemptions: usize, run: impl Fn() + Sync + Send + 'static) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(preemptions);
    builder.max_branches = 100_000;
    builder.check(move || {
        ALIVE.set(0);
        run();
        assert_eq!(ALIVE.get(), 0, "every value is dropped once");
    });
}

fn check(clock: &Clock) {
    clock.validate().unwrap_or_else(|fault| panic!("{fault}"));
}

#[test]
fn lookup_beside_insert() {
    model(3, || {
        let clock = clock(100);
        let other = clock.clone();
        let inserter = thread::spawn(move || drop(insert(&other, 1)));
        drop(get(&clock, 1));
        inserter.join().unwrap();
        assert!(get(&clock, 1).is_some());
        check(&clock);
    });
}

#[test]
fn two_inserts_of_one_key() {
    model(3, || {
        let clock = clock(100);
        let other = clock.clone();
        let inserter = thread::spawn(move || insert(&other, 1).map(|pin| read(&pin)));
        assert_eq!(insert(&clock, 1).map(|pin| read(&pin)), Some(1));
        assert_eq!(inserter.join().unwrap(), Some(1));
        assert_eq!(clock.occupancy(), 1);
        check(&clock);
    });
}

#[test]
fn lookup_beside_evict() {
    model(3, || {
        let clock = clock(100);
        drop(insert(&clock, 1));
        let other = clock.clone();
        let evictor = thread::spawn(move || sweep(&other));
        drop(get(&clock, 1));
        evictor.join().unwrap();
        check(&clock);
    });
}

#[test]
fn lookup_beside_evict_and_reuse_of_the_slot() {
    model(3, || {
        let clock = clock(100);
        drop(insert(&clock, 1));
        let other = clock.clone();
        let evictor = thread::spawn(move || {
            sweep(&other);
            drop(insert(&other, 2));
        });
        drop(get(&clock, 1));
        evictor.join().unwrap();
        assert!(get(&clock, 2).is_some());
        check(&clock);
    });
}

#[test]
fn lookup_beside_erase() {
    model(3, || {
        let clock = clock(100);
        drop(insert(&clock, 1));
        let other = clock.clone();
        let eraser = thread::spawn(move || assert!(other.erase(key(1))));
        let pin = get(&clock, 1);
        eraser.join().unwrap();
        assert!(get(&clock, 1).is_none());
        assert!(pin.is_none_or(|pin| read(&pin) == 1));
        check(&clock);
    });
}

#[test]
fn two_holders_of_an_erased_entry_let_go() {
    model(3, || {
        let clock = clock(100);
        let first = insert(&clock, 1).unwrap();
        let second = first.try_clone().unwrap();
        clock.erase(key(1));
        let holder = thread::spawn(move || assert_eq!(read(&first), 1));
        assert_eq!(read(&second), 1);
        drop(second);
        holder.join().unwrap();
        check(&clock);
        assert_eq!(clock.core().budget.usage(), 0);
    });
}

#[test]
fn a_holder_and_a_lookup_of_an_entry_that_is_erased() {
    model(3, || {
        let clock = clock(100);
        let pin = insert(&clock, 1).unwrap();
        let (eraser, looker) = (clock.clone(), clock.clone());
        let eraser = thread::spawn(move || assert!(eraser.erase(key(1))));
        let looker = thread::spawn(move || drop(get(&looker, 1)));
        drop(pin);
        eraser.join().unwrap();
        looker.join().unwrap();
        check(&clock);
        assert_eq!(clock.core().budget.usage(), 0);
    });
}

#[test]
fn erase_beside_evict() {
    model(3, || {
        let clock = clock(100);
        drop(insert(&clock, 1));
        let other = clock.clone();
        let evictor = thread::spawn(move || sweep(&other));
        clock.erase(key(1));
        evictor.join().unwrap();
        check(&clock);
        assert_eq!((clock.occupancy(), clock.core().budget.usage()), (0, 0));
    });
}

#[test]
fn a_slot_left_by_its_last_holder_is_used_again() {
    model(3, || {
        let clock = clock(100);
        let pin = insert(&clock, 1).unwrap();
        clock.erase(key(1));
        let other = clock.clone();
        let inserter = thread::spawn(move || drop(insert(&other, 2)));
        drop(pin);
        inserter.join().unwrap();
        drop(insert(&clock, 3));
        assert!(get(&clock, 2).is_some() && get(&clock, 3).is_some());
        check(&clock);
    });
}

#[test]
fn an_insert_that_evicts_beside_a_lookup() {
    model(3, || {
        let clock = clock(1);
        drop(insert(&clock, 1));
        let other = clock.clone();
        let inserter = thread::spawn(move || drop(insert(&other, 2)));
        drop(get(&clock, 1));
        inserter.join().unwrap();
        check(&clock);
    });
}

/// Growth: entries that are there all the time are found all the time, whether the split moves them or not.
#[test]
fn lookups_beside_a_split() {
    for looked_up in 0..2 {
        model(3, move || {
            let clock = clock(100);
            // Two entries of bucket 0, which the third insert splits into 0 and 2.
            let keys = [key_with_low_bits(&clock, 0b00), key_with_low_bits(&clock, 0b10)];
            for n in keys {
                drop(insert(&clock, n));
            }
            assert_eq!(clock.core().table(0).unwrap().extent_now().length(), 2);
            let other = clock.clone();
            let third = key_with_low_bits(&clock, 0b01);
            let looker = thread::spawn(move || assert!(get(&other, keys[looked_up]).is_some()));
            drop(insert(&clock, third));
            looker.join().unwrap();
            assert_eq!(clock.core().table(0).unwrap().extent_now().length(), 3, "the model reaches a split");
            assert!(keys.into_iter().chain([third]).all(|n| get(&clock, n).is_some()));
            check(&clock);
        });
    }
}

fn key_with_low_bits(clock: &Clock, bits: u64) -> u64 {
    (0..).find(|&n| clock.core().mixer.hash(key(n)).0 & 3 == bits).unwrap()
}

#[test]
fn two_inserts_that_both_split() {
    model(3, || {
        let clock = clock(100);
        drop(insert(&clock, 0));
        let other = clock.clone();
        let inserter = thread::spawn(move || drop(insert(&other, 1)));
        drop(insert(&clock, 2));
        inserter.join().unwrap();
        assert!((0..3).all(|n| get(&clock, n).is_some()));
        check(&clock);
    });
}

#[test]
fn an_unused_release_beside_evict() {
    model(3, || {
        let clock = clock(100);
        drop(insert(&clock, 1));
        let other = clock.clone();
        let evictor = thread::spawn(move || sweep(&other));
        if let Some(pin) = get(&clock, 1) {
            pin.release_unused();
        }
        evictor.join().unwrap();
        check(&clock);
    });
}

#[test]
fn the_free_list_gives_each_element_to_one_taker() {
    model(3, || {
        let arena = LoomArc::new(arena::Arena::<Slot>::new());
        for expected in 0..3 {
            assert_eq!(arena.fresh(), Ok(expected));
        }
        arena.give(0);
        arena.give(1);
        let other = arena.clone();
        let taker = thread::spawn(move || {
            let taken = other.take();
            other.give(2);
            taken
        });
        let mut mine: Vec<u32> = [arena.take(), arena.take()].into_iter().flatten().collect();
        mine.extend(taker.join().unwrap());
        mine.extend(std::iter::from_fn(|| arena.take()));
        mine.sort_unstable();
        assert_eq!(mine, [0, 1, 2]);
    });
}

/// An entry moves from an overflow bucket into the hole that another leaves.
#[test]
fn lookup_beside_a_move_within_the_chain() {
    model(3, || {
        let clock = clock(100);
        let keys = keys_of_one_chain(&clock);
        for &n in &keys {
            drop(insert(&clock, n));
        }
        assert!(clock.core().table(0).unwrap().overflow_len() > 0, "the model reaches an overflow bucket");
        let other = clock.clone();
        let first = keys[0];
        let eraser = thread::spawn(move || assert!(other.erase(key(first))));
        assert!(get(&clock, keys[2]).is_some());
        eraser.join().unwrap();
        check(&clock);
    });
}

/// Three keys that stay in one chain while the table grows to hold them.
fn keys_of_one_chain(clock: &Clock) -> [u64; 3] {
    let home = |n: &u64| clock.core().mixer.hash(key(*n)).0 & 3 == 0;
    let mut keys = (0..).filter(home);
    std::array::from_fn(|_| keys.next().unwrap())
}

#[test]
fn the_cache_is_dropped_beside_a_release() {
    model(3, || {
        let clock = clock(100);
        let first = insert(&clock, 1).unwrap();
        let second = insert(&clock, 2).unwrap();
        let holder = thread::spawn(move || {
            assert_eq!(read(&first), 1);
            drop(first);
            drop(second);
        });
        drop(clock);
        holder.join().unwrap();
    });
}

#[test]
fn the_cache_is_dropped_beside_two_holders() {
    model(3, || {
        let clock = clock(100);
        let first = insert(&clock, 1).unwrap();
        let second = first.try_clone().unwrap();
        let holders = [first, second].map(|pin| thread::spawn(move || assert_eq!(read(&pin), 1)));
        drop(clock);
        for holder in holders {
            holder.join().unwrap();
        }
    });
}

#[test]
fn the_cache_is_dropped_beside_the_last_holder_of_an_erased_entry() {
    model(3, || {
        let clock = clock(100);
        let pin = insert(&clock, 1).unwrap();
        clock.erase(key(1));
        let holder = thread::spawn(move || assert_eq!(read(&pin), 1));
        drop(clock);
        holder.join().unwrap();
    });
}

#[test]
fn a_walk_beside_an_erase() {
    model(3, || {
        let clock = clock(100);
        drop(insert(&clock, 1));
        let other = clock.clone();
        let eraser = thread::spawn(move || assert!(other.erase(key(1))));
        clock.for_each(&mut |entry| assert_eq!(entry.key, key(1)));
        eraser.join().unwrap();
        check(&clock);
        assert_eq!(clock.core().budget.usage(), 0);
    });
}

#[test]
fn erase_beside_insert() {
    model(3, || {
        let clock = clock(100);
        let other = clock.clone();
        let eraser = thread::spawn(move || {
            other.erase(key(1));
        });
        drop(insert(&clock, 1));
        eraser.join().unwrap();
        check(&clock);
    });
}

/// Five keys that share a chain for as long as these models grow the table.
fn five_keys(clock: &Clock, low_bits: u64) -> [u64; 5] {
    let mut keys = (0..).filter(|n| clock.core().mixer.hash(key(*n)).0 & 63 == low_bits);
    std::array::from_fn(|_| keys.next().unwrap())
}

/// Three buckets in one chain; the first overflow bucket is given back while a lookup passes through it.
#[test]
fn lookup_beside_the_removal_of_a_bucket() {
    model(3, || {
        let clock = clock(100);
        let keys = five_keys(&clock, 0);
        for n in keys {
            drop(insert(&clock, n));
        }
        assert_eq!(clock.core().table(0).unwrap().overflow_len(), 2);
        let other = clock.clone();
        let eraser = thread::spawn(move || assert!(other.erase(key(keys[4]))));
        assert!(get(&clock, keys[2]).is_some());
        eraser.join().unwrap();
        check(&clock);
    });
}

/// As above, and the bucket goes to another chain, whose link says that nothing follows.
#[test]
fn lookup_beside_the_reuse_of_a_bucket() {
    model(2, || {
        let clock = clock(100);
        let (keys, others) = (five_keys(&clock, 0), five_keys(&clock, 1));
        for &n in keys.iter().chain(&others[..2]) {
            drop(insert(&clock, n));
        }
        let other = clock.clone();
        let eraser = thread::spawn(move || {
            assert!(other.erase(key(keys[4])));
            drop(insert(&other, others[2]));
        });
        assert!(get(&clock, keys[2]).is_some());
        eraser.join().unwrap();
        check(&clock);
    });
}

/// Moves the entry of a key to a fresh slot, if nobody holds it, and parks the old one.
fn relocate(clock: &Clock, n: u64) -> bool {
    let table = clock.core().table(0).unwrap();
    let from = (0..table.slots.len()).find(|&index| {
        let slot = table.slots.get(index);
        slot.state.peek().is_visible() && clock.core().mixer.key(slot.key()) == key(n)
    });
    let Some(from) = from else { return false };
    let slot = table.slots.get(from);
    let word = slot.state.peek();
    let target = table.slots.fresh().unwrap();
    let moved = word.is_visible() && word.references() == 0 && table.relocate(slot, word, target);
    if moved {
        slot.state.park();
        slot.state.reset();
        table.slots.give(from);
    } else {
        table.slots.give(target);
    }
    moved
}

/// An entry that moves to another slot is found at every instant, and the slot that it left serves another entry.
#[test]
fn lookup_beside_a_move_to_another_slot() {
    for reused in [false, true] {
        model(3, move || {
            let clock = clock(100);
            drop(insert(&clock, 1));
            let other = clock.clone();
            let mover = thread::spawn(move || {
                relocate(&other, 1);
                if reused {
                    drop(insert(&other, 2));
                }
            });
            assert!(get(&clock, 1).is_some());
            mover.join().unwrap();
            assert!(get(&clock, 1).is_some());
            check(&clock);
        });
    }
}

/// Two lookups and a mover: whoever comes first admits the entry to its new slot.
#[test]
fn two_lookups_beside_a_move_to_another_slot() {
    model(2, || {
        let clock = clock(100);
        drop(insert(&clock, 1));
        let (mover, looker) = (clock.clone(), clock.clone());
        let mover = thread::spawn(move || relocate(&mover, 1));
        let looker = thread::spawn(move || assert!(get(&looker, 1).is_some()));
        assert!(get(&clock, 1).is_some());
        mover.join().unwrap();
        looker.join().unwrap();
        check(&clock);
    });
}

/// What held the entry before it moved happens before its value is dropped afterwards.
#[test]
fn a_release_before_a_move_and_an_erase_after_it() {
    model(3, || {
        let clock = clock(100);
        let pin = insert(&clock, 1).unwrap();
        let other = clock.clone();
        let holder = thread::spawn(move || {
            assert_eq!(read(&pin), 1);
            drop(pin);
        });
        let mover = thread::spawn(move || relocate(&other, 1));
        clock.erase(key(1));
        holder.join().unwrap();
        mover.join().unwrap();
        check(&clock);
        assert_eq!(clock.core().budget.usage(), 0);
    });
}

#[test]
fn evict_beside_a_move_to_another_slot() {
    model(2, || {
        let clock = clock(100);
        drop(insert(&clock, 1));
        let other = clock.clone();
        let evictor = thread::spawn(move || sweep(&other));
        relocate(&clock, 1);
        evictor.join().unwrap();
        sweep(&clock);
        check(&clock);
        assert_eq!(clock.core().budget.usage(), 0);
    });
}

/// A lookup that found the entry moved is late: the entry has moved once more, and its first new slot serves another.
#[test]
fn lookup_beside_two_moves() {
    model(2, || {
        let clock = clock(100);
        drop(insert(&clock, 1));
        let other = clock.clone();
        let mover = thread::spawn(move || {
            relocate(&other, 1);
            relocate(&other, 1);
        });
        assert!(get(&clock, 1).is_some());
        mover.join().unwrap();
        check(&clock);
    });
}

/// Shrinking: entries that are there all the time are found all the time, whether the merge moves them or not.
#[test]
fn lookups_beside_a_merge() {
    for looked_up in 0..2 {
        model(3, move || {
            let (clock, keys) = three_buckets();
            let other = clock.clone();
            let looker = thread::spawn(move || assert!(get(&other, keys[looked_up]).is_some()));
            merge(&clock);
            looker.join().unwrap();
            assert!(keys.into_iter().all(|n| get(&clock, n).is_some()));
            check(&clock);
        });
    }
}

/// As above, and the bucket becomes a chain again.
#[test]
fn lookups_beside_a_merge_and_a_split() {
    for looked_up in 0..2 {
        model(2, move || {
            let (clock, keys) = three_buckets();
            let other = clock.clone();
            let looker = thread::spawn(move || assert!(get(&other, keys[looked_up]).is_some()));
            merge(&clock);
            let table = clock.core().table(0).unwrap();
            assert!(table.reshape(|| table.split().unwrap()));
            looker.join().unwrap();
            assert!(keys.into_iter().all(|n| get(&clock, n).is_some()));
            check(&clock);
        });
    }
}

#[test]
fn an_insert_and_an_erase_beside_a_merge() {
    model(2, || {
        let (clock, keys) = three_buckets();
        let other = clock.clone();
        let writer = thread::spawn(move || {
            assert!(other.erase(key(keys[1])));
            drop(insert(&other, keys[1]));
        });
        merge(&clock);
        writer.join().unwrap();
        assert!(keys.into_iter().all(|n| get(&clock, n).is_some()));
        check(&clock);
    });
}

/// A table of three buckets with an entry in 0 and one in 2, which a merge brings together.
fn three_buckets() -> (LoomArc<Clock>, [u64; 2]) {
    let clock = clock(100);
    let keys = [key_with_low_bits(&clock, 0b00), key_with_low_bits(&clock, 0b10)];
    let third = key_with_low_bits(&clock, 0b01);
    for n in keys.into_iter().chain([third]) {
        drop(insert(&clock, n));
    }
    assert_eq!(clock.core().table(0).unwrap().extent_now().length(), 3);
    (clock, keys)
}

fn merge(clock: &Clock) {
    let table = clock.core().table(0).unwrap();
    let mut merged = false;
    // Another thread may be reshaping at this moment.
    table.reshape(|| merged = table.merge().is_ok());
    assert!(merged || table.extent_now().length() != 3);
}

/// Both find too many buckets before the first has merged: the second must look again.
#[test]
fn two_erases_that_both_merge() {
    model(2, || {
        let clock = clock(100);
        drop(insert(&clock, 1));
        drop(insert(&clock, 2));
        assert_eq!(clock.core().table(0).unwrap().extent_now().length(), 2);
        let other = clock.clone();
        let eraser = thread::spawn(move || assert!(other.erase(key(1))));
        assert!(clock.erase(key(2)));
        eraser.join().unwrap();
        assert_eq!(clock.core().table(0).unwrap().extent_now().length(), 1);
        check(&clock);
    });
}

/// A walk meets an entry once, wherever it is.
#[test]
fn a_walk_beside_moves() {
    model(3, || {
        let clock = clock(100);
        drop(insert(&clock, 1));
        let other = clock.clone();
        let mover = thread::spawn(move || {
            let table = other.core().table(0).unwrap();
            table.while_nobody_walks(|| {
                relocate(&other, 1);
            });
        });
        let mut seen = 0;
        clock.for_each(&mut |_| seen += 1);
        assert_eq!(seen, 1);
        mover.join().unwrap();
        check(&clock);
    });
}
