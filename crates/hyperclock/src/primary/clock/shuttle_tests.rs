//! Long random schedules over a whole small clock: more threads and operations than can be explored one by one.
//!
//! Shuttle sees everything as sequentially consistent: these look for wrong protocols, the models of `loom_tests` for
//! weak orderings. `HYPERCLOCK_SHUTTLE_ITERATIONS` sets the number of schedules of each test.

use super::*;
use crate::budget::Budget;
use crate::kind::Kind;
use crate::primary::Attributes;
use crate::primary::sealed::Pin;
use crate::primitive::Arc;
use crate::{CacheValue, Priority, Role};
use shuttle::rand::{Rng, thread_rng};
use shuttle::thread;
use std::cell::Cell;

std::thread_local! {
    /// The threads of a schedule are coroutines on the test's own thread.
    static ALIVE: Cell<usize> = const { Cell::new(0) };
}

struct Counted(u64);

impl Counted {
    fn new(key: u64) -> Self {
        ALIVE.set(ALIVE.get() + 1);
        Self(key)
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        assert_ne!(std::mem::replace(&mut self.0, u64::MAX), u64::MAX, "dropped twice");
        ALIVE.set(ALIVE.get() - 1);
    }
}

impl CacheValue for Counted {
    fn charge(&self) -> usize {
        1
    }
}

struct Silent;

impl Observer for Silent {
    fn evicted(&self, _: Role) {}
}

fn clock(capacity: usize, strict: bool) -> Arc<Clock> {
    Arc::new(Clock::create(Settings {
        budget: Arc::new(Budget::new(capacity, strict)),
        shard_bits: 1,
        seed: 1,
        metadata_charge: 0,
        effort_cap: 30,
        expected_entries: 0,
    }))
}

fn key(n: u64) -> CacheKey {
    CacheKey::new(n, n)
}

fn insert(clock: &Clock, n: u64) -> Option<ClockPin> {
    let kind = Kind::of::<Counted>();
    let attributes = Attributes { role: Role::MISC, priority: Priority::Bottom, kind, charge: 1 };
    match clock.insert(key(n), ErasedValue::new(Counted::new(n), kind), attributes, &Silent) {
        Insertion::Inserted(pin) | Insertion::Resident(pin, _) | Insertion::Standalone(pin) => Some(pin),
        Insertion::Refused(_) => None,
    }
}

fn get(clock: &Clock, n: u64) -> Option<ClockPin> {
    match clock.lookup(key(n)) {
        Found::Hit(pin) => Some(pin),
        Found::Miss | Found::Saturated => None,
    }
}

fn assert_value(pin: &ClockPin, n: u64) {
    // SAFETY: all values here are of this type, and the pin keeps its value alive.
    assert_eq!(unsafe { &*pin.value().cast::<Counted>() }.0, n);
}

fn schedules(run: impl Fn() + Send + Sync + 'static) {
    let iterations = std::env::var("HYPERCLOCK_SHUTTLE_ITERATIONS").ok().and_then(|n| n.parse().ok()).unwrap_or(500);
    shuttle::check_random(
        move || {
            ALIVE.set(0);
            run();
            assert_eq!(ALIVE.get(), 0, "every value is dropped once");
        },
        iterations,
    );
}

fn anything(clock: &Clock, keys: u64, steps: usize) {
    let mut held = Vec::new();
    for _ in 0..steps {
        let n = thread_rng().gen_range(0..keys);
        match thread_rng().gen_range(0..8) {
            0..=2 => {
                if let Some(pin) = get(clock, n) {
                    assert_value(&pin, n);
                    held.push(pin);
                }
            }
            3..=4 => {
                if let Some(pin) = insert(clock, n) {
                    assert_value(&pin, n);
                    held.push(pin);
                }
            }
            5 => {
                clock.erase(key(n));
            }
            6 => {
                if let Some(pin) = held.pop() {
                    pin.release_unused();
                }
            }
            _ => held.truncate(1),
        }
    }
}

#[test]
fn anything_by_four_threads_leaves_the_clock_whole() {
    schedules(|| {
        let clock = clock(6, false);
        let threads: Vec<_> = (0..4)
            .map(|_| {
                let clock = clock.clone();
                thread::spawn(move || anything(&clock, 10, 8))
            })
            .collect();
        for thread in threads {
            thread.join().unwrap();
        }
        clock.validate().unwrap_or_else(|fault| panic!("{fault}"));
    });
}

#[test]
fn a_strict_clock_never_goes_above_its_capacity() {
    schedules(|| {
        let clock = clock(4, true);
        let threads: Vec<_> = (0..3)
            .map(|_| {
                let clock = clock.clone();
                thread::spawn(move || anything(&clock, 10, 6))
            })
            .collect();
        for _ in 0..10 {
            assert!(clock.core().budget.usage() <= 4);
            thread::yield_now();
        }
        for thread in threads {
            thread.join().unwrap();
        }
        assert!(clock.core().budget.usage() <= 4);
        clock.validate().unwrap_or_else(|fault| panic!("{fault}"));
    });
}

#[test]
fn entries_survive_growth_by_three_threads() {
    schedules(|| {
        let clock = clock(100, false);
        let threads: Vec<_> = (0..3_u64)
            .map(|t| {
                let clock = clock.clone();
                thread::spawn(move || {
                    for n in (t..9).step_by(3) {
                        drop(insert(&clock, n));
                        assert!(get(&clock, n).is_some(), "an entry is lost while the table grows");
                    }
                    assert!(get(&clock, t).is_some());
                })
            })
            .collect();
        for thread in threads {
            thread.join().unwrap();
        }
        assert!((0..9).all(|n| get(&clock, n).is_some()));
        clock.validate().unwrap_or_else(|fault| panic!("{fault}"));
    });
}

#[test]
fn handles_are_dropped_while_the_clock_is() {
    schedules(|| {
        let clock = clock(100, false);
        let pins: Vec<_> = (0..4).filter_map(|n| insert(&clock, n)).collect();
        clock.erase(key(1));
        clock.erase(key(2));
        let threads: Vec<_> = pins.into_iter().map(|pin| thread::spawn(move || drop(pin.try_clone()))).collect();
        drop(clock);
        for thread in threads {
            thread.join().unwrap();
        }
    });
}
