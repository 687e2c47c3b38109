//! Random point reads by several threads, timed one by one.
//!
//! Reads are drawn in batches before they are timed, so that a latency holds the read and nothing else. Within a batch the end
//! of one read is the beginning of the next: one clock call a read. The rate counts everything, drawing included.
//!
//! Each thread has its own stream of random numbers and its own histogram; nothing is shared while reads run but the keys,
//! which do not change, and one counter for progress, written once a batch.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use hyperclock_bench::latency::Latencies;
use hyperclock_bench::random::Random;
use hyperclock_bench::start::{Gate, start_all};
use hyperclock_bench::zipf::{Distribution, RankSampler};

use crate::failure::{Failure, Result};
use crate::progress::Progress;
use crate::sample::RankedKeys;

/// Reads drawn at once: few enough to stay in the first-level cache.
const BATCH: usize = 64;

/// How often progress is looked at.
const POLL: Duration = Duration::from_millis(100);

/// What is appended to a key to make one that is normally absent.
const MISSING_SUFFIX: u8 = 0;

/// When the reads end.
#[derive(Clone, Copy, Debug)]
pub(crate) enum End {
    /// After so many reads over all threads.
    Reads(u64),
    /// After so long; a read that runs then is finished.
    After(Duration),
}

/// What is read, how, and by how many.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Workload {
    pub(crate) distribution: Distribution,
    /// Percentage of reads for an absent key.
    pub(crate) missing_percent: f64,
    pub(crate) end: End,
    pub(crate) threads: u16,
    pub(crate) seed: u64,
}

/// What the reads amounted to.
pub(crate) struct Measured {
    pub(crate) reads: u64,
    pub(crate) found: u64,
    /// Bytes of the values found.
    pub(crate) bytes_returned: u64,
    /// From the first thread's first read to the last thread's last.
    pub(crate) elapsed: Duration,
    pub(crate) latencies: Latencies,
}

impl Measured {
    pub(crate) fn reads_per_second(&self) -> f64 {
        ratio(self.reads as f64, self.elapsed.as_secs_f64())
    }

    pub(crate) fn found_ratio(&self) -> f64 {
        ratio(self.found as f64, self.reads as f64)
    }
}

/// A ratio that is 0 where there is nothing to divide by.
pub(crate) fn ratio(part: f64, whole: f64) -> f64 {
    if whole > 0.0 { part / whole } else { 0.0 }
}

impl Workload {
    /// Runs the reads. `read` gets the family and the key, and returns the length of the value found.
    ///
    /// The first failure of a read ends all threads and is returned.
    pub(crate) fn run<F>(&self, keys: &RankedKeys, doing: &'static str, read: F) -> Result<Measured>
    where
        F: Fn(u32, &[u8]) -> Result<Option<usize>> + Sync,
    {
        if keys.is_empty() {
            return Err(Failure::unavailable("there is no key to read: the column family is empty"));
        }
        let sampler = RankSampler::new(self.distribution, keys.len() as u64);
        let shared = Shared {
            workload: self,
            keys,
            sampler,
            begin: Gate::new(usize::from(self.threads)),
            done: AtomicU64::new(0),
            failed: AtomicBool::new(false),
            main: thread::current(),
        };
        let begun = Instant::now();
        let started = Gate::new(usize::from(self.threads) + 1);
        let work = |index| shared.thread(index, &read);
        let reports = thread::scope(|scope| {
            let handles = start_all(scope, &started, self.threads, &work)?;
            let progress = match self.end {
                End::Reads(reads) => Progress::of(doing, "reads", reads),
                End::After(_) => Progress::open(doing, "reads"),
            };
            while !handles.iter().all(thread::ScopedJoinHandle::is_finished) {
                thread::park_timeout(POLL);
                progress.set(shared.done.load(Ordering::Relaxed));
            }
            let mut reports = Vec::with_capacity(handles.len());
            for handle in handles {
                // A thread without a report gave way to one that panicked.
                let report = handle.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
                reports.extend(report.flatten());
            }
            Ok::<_, Failure>(reports)
        })?;
        let mut total =
            Measured { reads: 0, found: 0, bytes_returned: 0, elapsed: Duration::ZERO, latencies: Latencies::new() };
        let (mut first, mut last) = (None, begun);
        for report in reports {
            let report = report?;
            total.reads += report.latencies.count();
            total.found += report.found;
            total.bytes_returned += report.bytes_returned;
            total.latencies.merge(&report.latencies);
            first = Some(first.map_or(report.begun, |first: Instant| first.min(report.begun)));
            last = last.max(report.ended);
        }
        total.elapsed = last.duration_since(first.unwrap_or(last));
        Ok(total)
    }

    /// Reads of thread `index`: the total in equal parts, the first threads taking what is left over.
    fn share(&self, index: u16) -> u64 {
        match self.end {
            End::Reads(reads) => {
                let threads = u64::from(self.threads);
                reads / threads + u64::from(u64::from(index) < reads % threads)
            }
            End::After(_) => u64::MAX,
        }
    }
}

/// What the threads see of each other.
struct Shared<'a> {
    workload: &'a Workload,
    keys: &'a RankedKeys,
    sampler: RankSampler,
    begin: Gate,
    /// Reads done, for progress.
    done: AtomicU64,
    failed: AtomicBool,
    /// Woken when a thread ends.
    main: thread::Thread,
}

struct ThreadReport {
    found: u64,
    bytes_returned: u64,
    begun: Instant,
    ended: Instant,
    latencies: Latencies,
}

impl Shared<'_> {
    /// The reads of a thread; `None` if another one panicked before they began.
    fn thread<F>(&self, index: u16, read: &F) -> Option<Result<ThreadReport>>
    where
        F: Fn(u32, &[u8]) -> Result<Option<usize>>,
    {
        let _guard = self.begin.cancel_on_panic();
        let outcome = self.reads(index, read);
        if matches!(outcome, Some(Err(_))) {
            self.failed.store(true, Ordering::Relaxed);
        }
        self.main.unpark();
        outcome
    }

    fn reads<F>(&self, index: u16, read: &F) -> Option<Result<ThreadReport>>
    where
        F: Fn(u32, &[u8]) -> Result<Option<usize>>,
    {
        let random = Random::stream(self.workload.seed, u64::from(index));
        let (latencies, drawn) = (Latencies::new(), Vec::with_capacity(BATCH));
        self.begin.wait().then(|| self.timed_reads(self.workload.share(index), read, random, latencies, drawn))
    }

    fn timed_reads<F>(
        &self,
        mut left: u64,
        read: &F,
        mut random: Random,
        mut latencies: Latencies,
        mut drawn: Vec<(u64, bool)>,
    ) -> Result<ThreadReport>
    where
        F: Fn(u32, &[u8]) -> Result<Option<usize>>,
    {
        let (mut found, mut bytes_returned) = (0, 0);
        let mut longer_key = Vec::new();
        let begun = Instant::now();
        let deadline = match self.workload.end {
            End::Reads(_) => None,
            End::After(duration) => begun.checked_add(duration),
        };
        let mut ended = begun;
        'batches: while left > 0 && !self.failed.load(Ordering::Relaxed) {
            let size = left.min(BATCH as u64);
            left -= size;
            drawn.clear();
            for _ in 0..size {
                let rank = self.sampler.draw(&mut random);
                let missing =
                    self.workload.missing_percent > 0.0 && random.unit() * 100.0 < self.workload.missing_percent;
                drawn.push((rank, missing));
            }
            let mut before = Instant::now();
            for &(rank, missing) in &drawn {
                let (family, key) = self.keys.get(rank);
                let value = if missing {
                    longer_key.clear();
                    longer_key.extend_from_slice(key);
                    longer_key.push(MISSING_SUFFIX);
                    read(family, &longer_key)?
                } else {
                    read(family, key)?
                };
                if let Some(len) = value {
                    found += 1;
                    bytes_returned += len as u64;
                }
                ended = Instant::now();
                latencies.record(ended.duration_since(before));
                before = ended;
                if deadline.is_some_and(|deadline| ended >= deadline) {
                    break 'batches;
                }
            }
            self.done.fetch_add(size, Ordering::Relaxed);
        }
        Ok(ThreadReport { found, bytes_returned, begun, ended, latencies })
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use super::*;
    use crate::sample::Reservoir;

    fn keys(count: u32) -> RankedKeys {
        let mut random = Random::new(5);
        let mut reservoir = Reservoir::new(1000);
        for n in 0..count {
            reservoir.offer(0, &n.to_be_bytes(), &mut random);
        }
        reservoir.into_ranked(&mut random)
    }

    fn workload(end: End, threads: u16) -> Workload {
        Workload { distribution: Distribution::Zipf(0.99), missing_percent: 25.0, end, threads, seed: 7 }
    }

    #[test]
    fn every_read_is_made_counted_and_timed_once() {
        for threads in [1, 3] {
            let seen = Mutex::new(Vec::new());
            let measured = workload(End::Reads(1000), threads)
                .run(&keys(100), "reading", |_, key| {
                    seen.lock().unwrap().push(key.to_vec());
                    Ok((key.len() == 4).then_some(10))
                })
                .unwrap();
            let seen = seen.into_inner().unwrap();
            let present = seen.iter().filter(|key| key.len() == 4).count() as u64;
            assert_eq!((seen.len(), measured.reads, measured.latencies.count()), (1000, 1000, 1000));
            assert_eq!((measured.found, measured.bytes_returned), (present, present * 10));
            assert!((690..810).contains(&present), "{present} of 1000 with 25 % missing");
            assert!(measured.elapsed > Duration::ZERO);
            assert!(seen.iter().filter(|key| key.len() == 5).all(|key| key[4] == MISSING_SUFFIX));
        }
    }

    #[test]
    fn a_seed_gives_the_same_reads() {
        let run = || {
            let seen = Mutex::new(Vec::new());
            workload(End::Reads(500), 1)
                .run(&keys(100), "reading", |_, key| {
                    seen.lock().unwrap().push(key.to_vec());
                    Ok(None)
                })
                .unwrap();
            seen.into_inner().unwrap()
        };
        assert_eq!(run(), run());
    }

    #[test]
    fn a_duration_ends_the_reads() {
        let measured = workload(End::After(Duration::from_millis(30)), 2)
            .run(&keys(10), "reading", |_, _| {
                thread::sleep(Duration::from_millis(1));
                Ok(None)
            })
            .unwrap();
        assert!(measured.reads > 0);
        assert!(measured.elapsed >= Duration::from_millis(30) && measured.elapsed < Duration::from_secs(5));
    }

    #[test]
    fn a_failure_ends_all_threads() {
        let outcome = workload(End::After(Duration::from_secs(60)), 2)
            .run(&keys(10), "reading", |_, _| Err(Failure::unavailable("gone")));
        assert!(matches!(outcome, Err(Failure::Said { message, .. }) if message == "gone"));
    }

    #[test]
    fn no_keys_is_a_failure_not_a_panic() {
        assert!(workload(End::Reads(1), 1).run(&keys(0), "reading", |_, _| Ok(None)).is_err());
    }
}
