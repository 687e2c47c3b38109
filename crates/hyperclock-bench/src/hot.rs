//! One hot key: all threads look up the same entry.
//!
//! What a root index block costs when every read needs it. With a handle each hit counts a reference on one cache line, which
//! the threads pass around; a scoped read, where the cache has a cheaper one, need not.

use std::hint::black_box;

use serde::Serialize;

use crate::block::Block;
use crate::cache::{CacheSettings, ReadCache};
use crate::draws::key_of;
use crate::memory::resident_bytes;
use crate::random::Random;
use crate::report::{PlanSettings, Report};
use crate::runner::{Plan, Probe, Tally, Workload, measure};
use crate::start::CannotStart;

/// Entries beside the hot one, so that the cache is not empty.
pub const OTHERS: u64 = 1023;

/// The benchmark.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Hot {
    /// Who runs.
    pub plan: Plan,
    /// Bytes of each value.
    pub value_bytes: usize,
    /// Whether the value is used in a scoped read instead of through a handle.
    pub scoped: bool,
}

/// The settings as the report shows them.
#[derive(Clone, Debug, Serialize)]
pub struct Settings {
    #[serde(flatten)]
    plan: PlanSettings,
    value_bytes: usize,
    scoped: bool,
    capacity_bytes: usize,
}

struct OneKey {
    scoped: bool,
}

impl<C: ReadCache> Workload<C> for OneKey {
    type Thread = ();

    fn thread(&self, _cache: &C, _stream: u64, _random: Random) {}

    #[inline]
    fn step<P: Probe>(&self, cache: &C, (): &mut (), tally: &mut Tally, mut probe: P) {
        let key = black_box(key_of(0));
        let hit = probe.time(|| {
            if self.scoped {
                cache.read(key, |block| {
                    black_box(block.bytes().first());
                })
            } else {
                match cache.get(key) {
                    Some(handle) => {
                        drop(black_box(handle));
                        true
                    }
                    None => false,
                }
            }
        });
        tally.lookup(hit);
    }
}

impl Hot {
    /// Fills a cache and measures it.
    ///
    /// # Errors
    /// When the system refuses a thread.
    pub fn run<C: ReadCache>(&self) -> Result<Report<Settings>, CannotStart> {
        let entries = OTHERS as usize + 1;
        let settings = CacheSettings {
            // Room for all whatever a cache makes of its capacity.
            capacity: entries.saturating_mul(self.value_bytes.saturating_add(1 << 10)).saturating_mul(4),
            entries,
            value_bytes: self.value_bytes,
            charge_metadata: true,
            presize: true,
            seed: self.plan.seed,
        };
        let mut cache = C::build(&settings);
        for rank in 0..=OTHERS {
            cache.fill(key_of(rank), C::Block::new(key_of(rank), self.value_bytes));
        }
        cache.settle();
        let figures = measure(&cache, &OneKey { scoped: self.scoped }, &self.plan)?;
        Ok(Report {
            workload: "hot",
            figures,
            entries: cache.entries(),
            rss_bytes: resident_bytes(),
            rss_bytes_per_entry: None,
            settings: Settings {
                plan: (&self.plan).into(),
                value_bytes: self.value_bytes,
                scoped: self.scoped,
                capacity_bytes: settings.capacity,
            },
        })
    }
}
