//! One operation, repeated on several threads, for the rate and for the latencies.
//!
//! The rate comes from a pass that looks at no clock but at its beginning and end. Latencies come from a second pass that
//! times one operation in 64: two calls of the clock cost as much as a hit, and in every operation they would measure
//! themselves. A latency holds the cost of one pair of clock calls, some 20 to 40 ns. Which of 64 is timed is drawn anew for each
//! batch: a cache that does its maintenance every so many operations, and moka does it every 64, would else have it in every
//! latency or in none.
//!
//! Threads start together behind a gate, each with a stream of random numbers of its own. A pass ends after so many
//! operations of each thread, or after so long: then a flag is raised that threads look at between batches of 64, and the
//! rate is operations over the time from the first thread's beginning to the last one's end. Nothing else is shared.

use std::hint::black_box;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use serde::Serialize;

use crate::latency::Latencies;
use crate::random::Random;
use crate::start::{CannotStart, Gate, start_all};

/// One operation in so many is timed, at a place that is drawn; also how many run between two looks at the flag.
pub const BATCH: u64 = 64;

/// When a pass ends.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Length {
    /// After so many operations of each thread.
    Operations(u64),
    /// After so long.
    Time(Duration),
}

/// Who runs, and for how long.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Plan {
    /// Threads, at least 1.
    pub threads: u16,
    /// Of each pass.
    pub length: Length,
    /// Seed of everything that is drawn.
    pub seed: u64,
}

/// Times what it is given, or does not.
pub trait Probe {
    /// Runs `operation`, which is the part of an operation that the user waits for.
    fn time<R>(&mut self, operation: impl FnOnce() -> R) -> R;
}

/// Looks at no clock.
#[derive(Clone, Copy, Debug)]
pub struct Untimed;

impl Probe for Untimed {
    #[inline(always)]
    #[expect(clippy::inline_always, reason = "the untimed pass must not pay for the timed one")]
    fn time<R>(&mut self, operation: impl FnOnce() -> R) -> R {
        operation()
    }
}

impl Probe for &mut Latencies {
    #[inline]
    fn time<R>(&mut self, operation: impl FnOnce() -> R) -> R {
        let begun = Instant::now();
        let result = black_box(operation());
        self.record(begun.elapsed());
        result
    }
}

/// What operations found, counted by the thread that made them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Lookups.
    pub lookups: u64,
    /// Lookups that found their key.
    pub hits: u64,
}

impl Tally {
    /// Counts a lookup.
    #[inline]
    pub fn lookup(&mut self, hit: bool) {
        self.lookups += 1;
        self.hits += u64::from(hit);
    }

    /// Hits among lookups; `None` without lookups.
    pub fn hit_ratio(&self) -> Option<f64> {
        (self.lookups > 0).then(|| self.hits as f64 / self.lookups as f64)
    }
}

/// One kind of operation on a cache `C`.
pub trait Workload<C>: Sync {
    /// What a thread keeps between its operations.
    type Thread;

    /// Prepares a thread, before the clock starts. `stream` numbers the threads of all passes, `random` is its own.
    fn thread(&self, cache: &C, stream: u64, random: Random) -> Self::Thread;

    /// Makes one operation.
    fn step<P: Probe>(&self, cache: &C, thread: &mut Self::Thread, tally: &mut Tally, probe: P);
}

/// What a pass amounted to.
#[derive(Clone, Debug)]
pub struct Pass {
    /// Operations of all threads.
    pub operations: u64,
    /// From the first thread's beginning to the last one's end.
    pub elapsed: Duration,
    /// What they found.
    pub tally: Tally,
    /// Empty where nothing was timed.
    pub latencies: Latencies,
}

impl Pass {
    /// Operations of all threads by the second.
    pub fn ops_per_sec(&self) -> f64 {
        let seconds = self.elapsed.as_secs_f64();
        if seconds > 0.0 { self.operations as f64 / seconds } else { 0.0 }
    }
}

/// The figures that every workload reports: the rate of an untimed pass, the latencies of a timed one.
#[derive(Clone, Debug, Serialize)]
pub struct Figures {
    /// Operations of the untimed pass over all threads.
    pub operations: u64,
    /// The untimed pass's length.
    pub elapsed_seconds: f64,
    /// Operations by the second over all threads.
    pub ops_per_sec: f64,
    /// Hits among the lookups of the untimed pass; null without lookups.
    pub hit_ratio: Option<f64>,
    /// Operations of the timed pass that were timed.
    pub timed_operations: u64,
    /// Median latency.
    pub p50_ns: u64,
    /// Latency that 99 % of the timed operations did not exceed.
    pub p99_ns: u64,
    /// Latency that 99.9 % of the timed operations did not exceed.
    pub p999_ns: u64,
    /// The longest latency.
    pub max_ns: u64,
}

/// The number of a pass, which gives its threads streams of their own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Turn {
    /// Before the figures are taken, where a workload wants that.
    WarmUp,
    /// For the rate.
    Untimed,
    /// For the latencies.
    Timed,
}

/// Runs the untimed and the timed pass.
///
/// # Errors
/// When the system refuses a thread.
pub fn measure<C: Sync, W: Workload<C>>(cache: &C, workload: &W, plan: &Plan) -> Result<Figures, CannotStart> {
    let rate = pass(cache, workload, plan, Turn::Untimed)?;
    let timed = pass(cache, workload, plan, Turn::Timed)?;
    Ok(Figures {
        operations: rate.operations,
        elapsed_seconds: rate.elapsed.as_secs_f64(),
        ops_per_sec: rate.ops_per_sec(),
        hit_ratio: rate.tally.hit_ratio(),
        timed_operations: timed.latencies.count(),
        p50_ns: timed.latencies.quantile(0.5),
        p99_ns: timed.latencies.quantile(0.99),
        p999_ns: timed.latencies.quantile(0.999),
        max_ns: timed.latencies.longest(),
    })
}

/// Runs one pass.
///
/// # Errors
/// When the system refuses a thread.
///
/// # Panics
/// When an operation panics: then the other threads end, and the panic goes on here.
pub fn pass<C: Sync, W: Workload<C>>(cache: &C, workload: &W, plan: &Plan, turn: Turn) -> Result<Pass, CannotStart> {
    let stop = AtomicBool::new(false);
    let waiting = usize::from(plan.threads) + 1;
    let (started, begin) = (Gate::new(waiting), Gate::new(waiting));
    let work = |index: u16| {
        let _guard = begin.cancel_on_panic();
        let stream = turn as u64 * u64::from(plan.threads) + u64::from(index);
        let mut state = workload.thread(cache, stream, Random::stream(plan.seed, stream));
        let places = (turn == Turn::Timed).then(|| Random::stream(!plan.seed, stream));
        begin.wait().then(|| repeat(cache, workload, plan.length, places, &stop, &mut state))
    };
    let reports = thread::scope(|scope| {
        let handles = start_all(scope, &started, plan.threads, &work)?;
        if begin.wait()
            && let Length::Time(time) = plan.length
        {
            thread::sleep(time);
            stop.store(true, Ordering::Relaxed);
        }
        let mut reports = Vec::with_capacity(handles.len());
        for handle in handles {
            let report = handle.join().unwrap_or_else(|panic| {
                stop.store(true, Ordering::Relaxed);
                std::panic::resume_unwind(panic)
            });
            // A thread without a report gave way to one that panicked.
            reports.extend(report.flatten());
        }
        Ok(reports)
    })?;
    let mut total =
        Pass { operations: 0, elapsed: Duration::ZERO, tally: Tally::default(), latencies: Latencies::new() };
    for report in &reports {
        total.operations += report.operations;
        total.tally.lookups += report.tally.lookups;
        total.tally.hits += report.tally.hits;
        total.latencies.merge(&report.latencies);
    }
    let first = reports.iter().map(|report| report.begun).min();
    let last = reports.iter().map(|report| report.ended).max();
    if let (Some(first), Some(last)) = (first, last) {
        total.elapsed = last.duration_since(first);
    }
    Ok(total)
}

struct ThreadReport {
    operations: u64,
    begun: Instant,
    ended: Instant,
    tally: Tally,
    latencies: Latencies,
}

/// The loop. `places` draws which operation of a batch is timed; without it none is.
fn repeat<C, W: Workload<C>>(
    cache: &C,
    workload: &W,
    length: Length,
    mut places: Option<Random>,
    stop: &AtomicBool,
    state: &mut W::Thread,
) -> ThreadReport {
    let mut tally = Tally::default();
    let mut latencies = Latencies::new();
    let mut operations = 0;
    let most = match length {
        Length::Operations(count) => count,
        Length::Time(_) => u64::MAX,
    };
    let begun = Instant::now();
    while operations < most && !stop.load(Ordering::Relaxed) {
        let batch = BATCH.min(most - operations);
        let mut untimed = batch;
        if let Some(random) = &mut places {
            let before = random.below(batch);
            untimed -= before + 1;
            for _ in 0..before {
                workload.step(cache, state, &mut tally, Untimed);
            }
            workload.step(cache, state, &mut tally, &mut latencies);
        }
        for _ in 0..untimed {
            workload.step(cache, state, &mut tally, Untimed);
        }
        operations += batch;
    }
    ThreadReport { operations, begun, ended: Instant::now(), tally, latencies }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::AtomicU64;

    struct Count(AtomicU64);

    impl Workload<()> for Count {
        type Thread = Random;

        fn thread(&self, (): &(), _stream: u64, random: Random) -> Random {
            random
        }

        fn step<P: Probe>(&self, (): &(), random: &mut Random, tally: &mut Tally, mut probe: P) {
            probe.time(|| self.0.fetch_add(1, Ordering::Relaxed));
            tally.lookup(random.below(4) == 0);
        }
    }

    fn plan(length: Length) -> Plan {
        Plan { threads: 3, length, seed: 1 }
    }

    #[test]
    fn every_operation_is_made_once_and_one_in_64_is_timed() {
        let count = Count(AtomicU64::new(0));
        let untimed = pass(&(), &count, &plan(Length::Operations(1000)), Turn::Untimed).unwrap();
        assert_eq!((untimed.operations, untimed.tally.lookups, untimed.latencies.count()), (3000, 3000, 0));
        let ratio = untimed.tally.hit_ratio().unwrap();
        assert!((0.2..0.3).contains(&ratio), "{ratio}");
        let timed = pass(&(), &count, &plan(Length::Operations(1000)), Turn::Timed).unwrap();
        assert_eq!((timed.operations, timed.latencies.count()), (3000, 3 * 16));
        assert_ne!(timed.tally, untimed.tally, "each pass has streams of its own");
        assert_eq!(count.0.into_inner(), 6000);
    }

    #[test]
    fn time_ends_a_pass() {
        let count = Count(AtomicU64::new(0));
        let pass = pass(&(), &count, &plan(Length::Time(Duration::from_millis(20))), Turn::Untimed).unwrap();
        assert!(pass.elapsed >= Duration::from_millis(15));
        assert_eq!(pass.operations, count.0.into_inner());
        assert!(pass.ops_per_sec() > 0.0);
    }

    #[test]
    fn figures_come_from_both_passes() {
        let count = Count(AtomicU64::new(0));
        let figures = measure(&(), &count, &plan(Length::Operations(640))).unwrap();
        assert_eq!((figures.operations, figures.timed_operations), (1920, 30));
        assert!(figures.p50_ns <= figures.p99_ns && figures.p99_ns <= figures.p999_ns);
        assert!(figures.p999_ns <= figures.max_ns);
    }
}
