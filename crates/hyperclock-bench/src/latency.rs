//! Latencies of many operations, to three significant digits, in bounded memory.

use std::time::Duration;

use hdrhistogram::Histogram;

/// Longer latencies are counted as this one, in nanoseconds.
const LONGEST: u64 = 100_000_000_000;

/// A histogram of nanoseconds. About 250 KB, so one per thread, merged at the end.
#[derive(Clone, Debug)]
pub struct Latencies {
    histogram: Histogram<u64>,
}

impl Latencies {
    /// An empty histogram.
    pub fn new() -> Self {
        // These bounds are constants that the histogram accepts; a test makes one.
        let histogram =
            Histogram::new_with_bounds(1, LONGEST, 3).unwrap_or_else(|_| unreachable!("constant bounds are valid"));
        Self { histogram }
    }

    /// Counts one operation.
    pub fn record(&mut self, latency: Duration) {
        let nanoseconds = u64::try_from(latency.as_nanos()).unwrap_or(LONGEST);
        self.histogram.saturating_record(nanoseconds);
    }

    /// Adds the counts of another histogram.
    pub fn merge(&mut self, other: &Self) {
        let added = self.histogram.add(&other.histogram);
        debug_assert!(added.is_ok(), "all histograms have the same bounds");
    }

    /// The latency in nanoseconds that this share of the operations did not exceed.
    pub fn quantile(&self, share: f64) -> u64 {
        self.histogram.value_at_quantile(share)
    }

    /// The longest latency in nanoseconds, to three digits.
    pub fn longest(&self) -> u64 {
        self.histogram.max()
    }

    /// Operations counted.
    pub fn count(&self) -> u64 {
        self.histogram.len()
    }
}

impl Default for Latencies {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_of_merged_threads() {
        let mut all = Latencies::new();
        for thread in 0..2 {
            let mut one = Latencies::new();
            for n in 0..500_u64 {
                one.record(Duration::from_nanos(1000 * (2 * n + thread + 1)));
            }
            all.merge(&one);
        }
        assert_eq!(all.count(), 1000);
        let close = |nanoseconds: u64, expected: u64| nanoseconds.abs_diff(expected) <= expected / 900;
        assert!(close(all.quantile(0.5), 500_000), "{}", all.quantile(0.5));
        assert!(close(all.quantile(0.999), 999_000));
        assert!(close(all.longest(), 1_000_000));
    }

    #[test]
    fn out_of_range_is_counted_at_the_end_of_the_range() {
        let mut latencies = Latencies::new();
        latencies.record(Duration::ZERO);
        latencies.record(Duration::from_secs(1 << 40));
        assert_eq!(latencies.count(), 2);
        assert!(latencies.longest() >= LONGEST);
    }
}
