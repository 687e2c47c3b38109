//! Rounds: every cache has its turn in each, and what follows from all of them.
//!
//! A machine that others use too is faster in one minute than in the next. So caches are interleaved, and ratios are taken within
//! a round, in which all caches had the same minute, before the median over the rounds. Each round begins with another cache, so
//! that none always follows the same state of the machine's caches and clocks.

use std::io::{IsTerminal, Write};

use serde::Serialize;

use crate::args::RunArgs;
use crate::caches::CacheName;
use crate::failure::{Failure, Result};
use crate::job::{Job, Sample};
use crate::workload::{Metric, Workload};

/// What ratios are to.
pub(crate) const REFERENCES: [CacheName; 2] = [CacheName::QuickCache, CacheName::Clock];

/// All rounds of a workload.
#[derive(Debug)]
pub(crate) struct Measured {
    pub(crate) workload: Workload,
    pub(crate) rounds: u32,
    pub(crate) seconds: f64,
    /// In the order in which they are to be shown.
    pub(crate) groups: Vec<Group>,
}

/// A table's worth: the caches in one case by one number of threads.
#[derive(Debug)]
pub(crate) struct Group {
    pub(crate) case: String,
    pub(crate) threads: Option<u16>,
    pub(crate) lines: Vec<Line>,
}

/// The figures of a cache in one case.
#[derive(Debug)]
pub(crate) struct Line {
    pub(crate) cache: CacheName,
    /// A value for each round.
    pub(crate) figures: Vec<(Metric, Vec<f64>)>,
}

impl Line {
    fn rounds(&self, metric: Metric) -> Option<&[f64]> {
        self.figures.iter().find(|(of, _)| *of == metric).map(|(_, values)| values.as_slice())
    }

    pub(crate) fn median(&self, metric: Metric) -> Option<f64> {
        median(self.rounds(metric)?)
    }

    fn add(&mut self, sample: &Sample) {
        for &(metric, value) in &sample.values {
            match self.figures.iter_mut().find(|(of, _)| *of == metric) {
                Some((_, values)) => values.push(value),
                None => self.figures.push((metric, vec![value])),
            }
        }
    }
}

impl Group {
    /// The median over the rounds of a cache's figure over the reference's in the same round.
    pub(crate) fn ratio(&self, line: &Line, to: CacheName, metric: Metric) -> Option<f64> {
        let reference = self.lines.iter().find(|line| line.cache == to)?;
        let (values, references) = (line.rounds(metric)?, reference.rounds(metric)?);
        let ratios: Vec<f64> =
            values.iter().zip(references).filter(|(_, of)| **of != 0.0).map(|(value, of)| value / of).collect();
        median(&ratios)
    }

    fn line(&mut self, cache: CacheName) -> &mut Line {
        let place = self.lines.iter().position(|line| line.cache == cache).unwrap_or_else(|| {
            self.lines.push(Line { cache, figures: Vec::new() });
            self.lines.len() - 1
        });
        &mut self.lines[place]
    }
}

/// Runs all rounds of a workload.
pub(crate) fn run(workload: &Workload, args: &RunArgs) -> Result<Measured> {
    let asked = if args.caches.is_empty() { CacheName::ALL } else { args.caches.as_slice() };
    let mut threads = args.threads.clone();
    threads.sort_unstable();
    threads.dedup();
    let seconds = args.seconds.unwrap_or_else(|| workload.default_seconds());
    let job = |cache| {
        let threads = workload.threads(cache, &threads)?;
        Some(Job { cache, workload: workload.clone(), threads, seconds, seed: 0 })
    };
    let mut jobs: Vec<Job> =
        CacheName::ALL.iter().filter(|cache| asked.contains(cache)).copied().filter_map(job).collect();
    if jobs.is_empty() {
        return Err(Failure::usage(format!(
            "none of these caches can take part in {} by so many threads; leave --caches away for those that can",
            workload.name()
        )));
    }
    let mut groups: Vec<Group> = Vec::new();
    let count = jobs.len();
    for round in 0..args.rounds {
        for turn in 0..count {
            let job = &mut jobs[place(turn, round, args.rounds, count)];
            job.seed = args.seed.wrapping_add(u64::from(round));
            progress(workload, round, args.rounds, turn, count, job.cache);
            for sample in job.run_in_child()? {
                check(workload, job.cache, &sample)?;
                let same = |group: &Group| group.case == sample.case && group.threads == sample.threads;
                let place = groups.iter().position(same).unwrap_or_else(|| {
                    let (case, threads) = (sample.case.clone(), sample.threads);
                    groups.push(Group { case, threads, lines: Vec::new() });
                    groups.len() - 1
                });
                groups[place].line(job.cache).add(&sample);
            }
        }
    }
    end_progress();
    for group in &mut groups {
        group.lines.sort_by_key(|line| CacheName::ALL.iter().position(|cache| *cache == line.cache));
    }
    Ok(Measured { workload: workload.clone(), rounds: args.rounds, seconds, groups })
}

/// Whose turn it is: each round begins as far behind the last one as makes the beginnings go once around.
fn place(turn: usize, round: u32, rounds: u32, count: usize) -> usize {
    (turn + (round as usize * count).div_ceil(rounds as usize)) % count
}

/// Figures of a cache that does not do what the workload takes for granted are worth nothing.
fn check(workload: &Workload, cache: CacheName, sample: &Sample) -> Result<()> {
    let hits = sample.values.iter().find(|(metric, _)| *metric == Metric::HitRatio).map(|(_, ratio)| *ratio);
    match (hits, workload.believable_hits(&sample.case)) {
        (Some(ratio), Some(range)) if !range.contains(&ratio) => Err(Failure::unavailable(format!(
            "{} of {}{}{}: a hit ratio of {ratio:.4} is not between {} and {}",
            workload.name(),
            cache.name(),
            if sample.case.is_empty() { "" } else { ", " },
            sample.case,
            range.start(),
            range.end(),
        ))),
        _ => Ok(()),
    }
}

/// The middle value, or the mean of the two middle ones.
pub(crate) fn median(values: &[f64]) -> Option<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    let middle = sorted.len() / 2;
    match sorted.len() {
        0 => None,
        len if len % 2 == 1 => Some(sorted[middle]),
        _ => Some(f64::midpoint(sorted[middle - 1], sorted[middle])),
    }
}

/// One line that is written over on a terminal; elsewhere one line for each round.
fn progress(workload: &Workload, round: u32, rounds: u32, turn: usize, count: usize, cache: CacheName) {
    let mut err = std::io::stderr().lock();
    let (name, round, turn) = (workload.name(), round + 1, turn + 1);
    // Nobody may be listening.
    let _ = if err.is_terminal() {
        write!(err, "\r\x1b[K{name}: round {round} of {rounds}, {} ({turn} of {count})", cache.name())
    } else if turn == 1 {
        writeln!(err, "{name}: round {round} of {rounds}, {count} caches")
    } else {
        Ok(())
    };
}

fn end_progress() {
    let mut err = std::io::stderr().lock();
    if err.is_terminal() {
        let _ = write!(err, "\r\x1b[K");
    }
}

/// A figure as the JSON object shows it.
#[derive(Debug, Serialize)]
pub(crate) struct Spread<'a> {
    pub(crate) median: f64,
    pub(crate) rounds: &'a [f64],
}

impl Line {
    pub(crate) fn spreads(&self) -> impl Iterator<Item = (Metric, Spread<'_>)> {
        self.figures.iter().filter_map(|(metric, rounds)| Some((*metric, Spread { median: median(rounds)?, rounds })))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::args::HotOptions;

    #[test]
    fn medians() {
        assert_eq!(median(&[]), None);
        assert_eq!(median(&[3.0, 1.0, 2.0]), Some(2.0));
        assert_eq!(median(&[4.0, 1.0, 2.0, 3.0]), Some(2.5));
    }

    #[test]
    fn every_cache_has_a_turn_in_each_round_and_beginnings_differ() {
        for (rounds, count) in [(1, 12), (5, 12), (5, 9), (3, 2), (5, 1)] {
            let mut firsts = Vec::new();
            for round in 0..rounds {
                let mut turns: Vec<_> = (0..count).map(|turn| place(turn, round, rounds, count)).collect();
                firsts.push(turns[0]);
                turns.sort_unstable();
                assert_eq!(turns, (0..count).collect::<Vec<_>>());
            }
            firsts.dedup();
            assert!(firsts.len() >= (rounds as usize).min(count), "{firsts:?}");
        }
    }

    #[test]
    fn ratios_are_taken_within_rounds() {
        let line = |cache, values: [f64; 3]| Line { cache, figures: vec![(Metric::OpsPerSec, values.to_vec())] };
        // The machine was ten times as fast in the last round.
        let group = Group {
            case: String::new(),
            threads: Some(1),
            lines: vec![line(CacheName::Clock, [2.0, 4.0, 30.0]), line(CacheName::QuickCache, [1.0, 1.0, 10.0])],
        };
        let clock = &group.lines[0];
        assert_eq!(group.ratio(clock, CacheName::QuickCache, Metric::OpsPerSec), Some(3.0));
        assert_eq!(group.ratio(clock, CacheName::Clock, Metric::OpsPerSec), Some(1.0));
        assert_eq!(group.ratio(clock, CacheName::Moka, Metric::OpsPerSec), None);
    }

    #[test]
    fn unbelievable_hits_are_refused() {
        let workload = Workload::Hot(HotOptions { value_bytes: 64, scoped: false });
        let sample = |ratio| Sample { case: String::new(), threads: Some(1), values: vec![(Metric::HitRatio, ratio)] };
        assert!(check(&workload, CacheName::Clock, &sample(1.0)).is_ok());
        assert!(check(&workload, CacheName::Clock, &sample(0.97)).is_err());
    }
}
