//! One load per key, however many callers miss it at once.
//!
//! The first caller that misses a key *leads*: it registers a flight, runs its loader outside every lock, and publishes
//! the outcome. Others that come meanwhile *wait* and share it: a value, or an error behind an `Arc`. When a leader
//! panics, or its outcome is of a type that a waiter cannot use, the waiter starts again and may lead itself.
//!
//! F1. A key has at most one flight in the registry; the leader removes it before it wakes the waiters.
//! F2. A flight ends exactly once, also when the loader panics (the leader's guard sees to it).
//!
//! Only misses come here; the registry is split into a few mutexes by key.

use crate::CacheKey;
use crate::primitive::{Arc, Condvar, Mutex, ThreadId, thread};
use std::any::Any;
use std::collections::HashMap;
use std::sync::{Arc as StdArc, OnceLock};

const STRIPES: usize = 16;

/// What a flight ended with.
enum Outcome<T> {
    /// Still loading.
    Pending,
    /// The pinned value.
    Value(T),
    /// The loader's error, of the leader's type.
    Error(StdArc<dyn Any + Send + Sync>),
    /// The leader gave no outcome.
    Abandoned,
}

struct Flight<T> {
    leader: ThreadId,
    outcome: Mutex<Outcome<T>>,
    ended: Condvar,
}

/// Flights by key.
type Stripe<T> = Mutex<HashMap<CacheKey, Arc<Flight<T>>>>;

/// The registry of flights; its stripes are made for the first one.
pub(crate) struct SingleFlight<T> {
    stripes: OnceLock<Box<[Stripe<T>; STRIPES]>>,
}

/// What a caller that missed has to do.
pub(crate) enum Turn<'f, T> {
    /// Load, then call [`Lead::finish_value`] or [`Lead::finish_error`].
    Lead(Lead<'f, T>),
    /// The value that another caller loaded.
    Value(T),
    /// The error that another caller's loader returned.
    Error(StdArc<dyn Any + Send + Sync>),
    /// Nothing came of it: look again.
    Again,
    /// This thread is loading this very key.
    Reentrant,
}

/// The leader's duty; ends the flight without an outcome if dropped before it has one.
pub(crate) struct Lead<'f, T> {
    registry: &'f SingleFlight<T>,
    key: CacheKey,
    flight: Arc<Flight<T>>,
    outcome: Outcome<T>,
}

fn lock<T>(mutex: &Mutex<T>) -> impl std::ops::DerefMut<Target = T> + '_ {
    // A panic under these locks can only come from the allocator; the maps stay usable.
    mutex.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}

impl<T> std::fmt::Debug for SingleFlight<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SingleFlight").finish_non_exhaustive()
    }
}

impl<T> SingleFlight<T> {
    pub(crate) fn new() -> Self {
        Self { stripes: OnceLock::new() }
    }

    fn stripe(&self, key: CacheKey) -> &Stripe<T> {
        let stripes = self.stripes.get_or_init(|| Box::new(std::array::from_fn(|_| Mutex::new(HashMap::new()))));
        let mixed = (key.file() ^ key.block().rotate_left(32)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        &stripes[(mixed >> 60) as usize]
    }

    /// Joins the flight of `key`, or leads one. Waits while another thread loads. `share` makes a waiter's copy of the
    /// value.
    pub(crate) fn join(&self, key: CacheKey, share: impl Fn(&T) -> Option<T>) -> Turn<'_, T> {
        let me = thread::current().id();
        let flight = {
            let mut stripe = lock(self.stripe(key));
            match stripe.get(&key) {
                Some(flight) if flight.leader == me => return Turn::Reentrant,
                Some(flight) => flight.clone(),
                None => {
                    let flight =
                        Arc::new(Flight { leader: me, outcome: Mutex::new(Outcome::Pending), ended: Condvar::new() });
                    stripe.insert(key, flight.clone());
                    return Turn::Lead(Lead { registry: self, key, flight, outcome: Outcome::Abandoned });
                }
            }
        };
        let mut outcome = flight.outcome.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        loop {
            match &*outcome {
                Outcome::Pending => {
                    outcome = flight.ended.wait(outcome).unwrap_or_else(std::sync::PoisonError::into_inner);
                }
                Outcome::Value(value) => return share(value).map_or(Turn::Again, Turn::Value),
                Outcome::Error(error) => return Turn::Error(error.clone()),
                Outcome::Abandoned => return Turn::Again,
            }
        }
    }

    /// Whether no load is in flight.
    pub(crate) fn is_empty(&self) -> bool {
        self.stripes.get().is_none_or(|stripes| stripes.iter().all(|stripe| lock(stripe).is_empty()))
    }
}

impl<T> Lead<'_, T> {
    /// Ends the flight with a value. `share` is called if another caller waits for it; one that comes later looks into
    /// the cache again.
    pub(crate) fn finish_value(mut self, share: impl FnOnce() -> Option<T>) {
        self.leave_registry();
        if Arc::strong_count(&self.flight) > 1
            && let Some(value) = share()
        {
            self.outcome = Outcome::Value(value);
        }
    }

    /// Ends the flight with the loader's error.
    pub(crate) fn finish_error(mut self, error: StdArc<dyn Any + Send + Sync>) {
        self.outcome = Outcome::Error(error);
    }

    fn leave_registry(&self) {
        let mut stripe = lock(self.registry.stripe(self.key));
        if stripe.get(&self.key).is_some_and(|flight| Arc::ptr_eq(flight, &self.flight)) {
            stripe.remove(&self.key);
        }
    }
}

impl<T> Drop for Lead<'_, T> {
    fn drop(&mut self) {
        self.leave_registry();
        let outcome = std::mem::replace(&mut self.outcome, Outcome::Abandoned);
        *lock(&self.flight.outcome) = outcome;
        self.flight.ended.notify_all();
    }
}

#[cfg(all(test, shuttle))]
mod shuttle_tests {
    use super::*;
    use shuttle::sync::atomic::{AtomicUsize, Ordering};
    use shuttle::thread;

    fn schedules(run: impl Fn() + Send + Sync + 'static) {
        let iterations =
            std::env::var("HYPERCLOCK_SHUTTLE_ITERATIONS").ok().and_then(|n| n.parse().ok()).unwrap_or(500);
        shuttle::check_random(run, iterations);
    }

    const KEY: CacheKey = CacheKey::new(1, 1);

    /// A cache of one key: what `View::get_or_load` does around a flight.
    fn load(flights: &SingleFlight<u32>, cached: &Mutex<Option<u32>>, loads: &AtomicUsize, fail: bool) -> Option<u32> {
        loop {
            if let Some(value) = *lock(cached) {
                return Some(value);
            }
            match flights.join(KEY, |value| Some(*value)) {
                Turn::Lead(lead) => {
                    let resident = *lock(cached);
                    if let Some(value) = resident {
                        lead.finish_value(|| Some(value));
                        return Some(value);
                    }
                    loads.fetch_add(1, Ordering::SeqCst);
                    thread::yield_now();
                    if fail {
                        lead.finish_error(StdArc::new("failed"));
                        return None;
                    }
                    *lock(cached) = Some(7);
                    lead.finish_value(|| Some(7));
                    return Some(7);
                }
                Turn::Value(value) => return Some(value),
                Turn::Error(_) => return None,
                Turn::Again => {}
                Turn::Reentrant => unreachable!("no loader asks again"),
            }
        }
    }

    #[test]
    fn one_load_serves_all() {
        schedules(|| {
            let shared = Arc::new((SingleFlight::new(), Mutex::new(None), AtomicUsize::new(0)));
            let threads: Vec<_> = (0..4)
                .map(|_| {
                    let shared = shared.clone();
                    thread::spawn(move || load(&shared.0, &shared.1, &shared.2, false))
                })
                .collect();
            for thread in threads {
                assert_eq!(thread.join().unwrap(), Some(7));
            }
            assert_eq!(shared.2.load(Ordering::SeqCst), 1);
            assert!(shared.0.is_empty());
        });
    }

    #[test]
    fn failures_are_shared_and_not_kept() {
        schedules(|| {
            let shared = Arc::new((SingleFlight::new(), Mutex::new(None), AtomicUsize::new(0)));
            let threads: Vec<_> = (0..3)
                .map(|n| {
                    let shared = shared.clone();
                    thread::spawn(move || load(&shared.0, &shared.1, &shared.2, n == 0))
                })
                .collect();
            for thread in threads {
                thread.join().unwrap();
            }
            assert!(shared.0.is_empty());
            assert_eq!(load(&shared.0, &shared.1, &shared.2, false), Some(7));
        });
    }

    #[test]
    fn a_leader_that_gives_up_wakes_its_waiters() {
        schedules(|| {
            let flights = Arc::new(SingleFlight::<u32>::new());
            let Turn::Lead(lead) = flights.join(KEY, |value| Some(*value)) else { unreachable!("nobody else is here") };
            let waiter = {
                let flights = flights.clone();
                thread::spawn(move || match flights.join(KEY, |value| Some(*value)) {
                    Turn::Lead(lead) => lead.finish_value(|| None),
                    Turn::Again => {}
                    Turn::Value(_) | Turn::Error(_) | Turn::Reentrant => unreachable!("the leader gave nothing"),
                })
            };
            drop(lead);
            waiter.join().unwrap();
            assert!(flights.is_empty());
        });
    }
}
