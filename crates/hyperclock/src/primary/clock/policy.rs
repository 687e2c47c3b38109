//! The countdown: what the hand does with an unreferenced entry.
//!
//! This is the replacement rule of RocksDB's HyperClockCache, a CLOCK with small counts (Corbató's CLOCK, generalized by
//! Smith's GCLOCK): an entry starts with 1 to 3 uses by its priority, each read adds one, the hand caps the count at
//! three and takes one away, and evicts at zero.

use super::state::Word;
use crate::Priority;

/// Uses beyond this many are worth nothing: an entry survives at most this many visits of the hand without a read.
pub(crate) const MAX_USES: u64 = 3;

/// What to do with an entry that the hand found unreferenced.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// Keep it, with so many uses left.
    Age(u64),
    /// Evict it.
    Evict,
}

/// Uses with which an entry starts.
pub(crate) const fn initial_uses(priority: Priority) -> u64 {
    match priority {
        Priority::High => 3,
        Priority::Low => 2,
        Priority::Bottom => 1,
    }
}

/// Judges a visible entry without references.
pub(crate) fn judge(word: Word) -> Verdict {
    match word.uses().min(MAX_USES).checked_sub(1) {
        Some(left) => Verdict::Age(left),
        None => Verdict::Evict,
    }
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use super::*;

    #[test]
    fn an_entry_survives_its_uses_and_not_more_than_three_visits() {
        for (uses, visits) in [(0, 0), (1, 1), (2, 2), (3, 3), (4, 3), (1000, 3)] {
            let mut word = Word::visible(uses);
            let mut survived = 0;
            while let Verdict::Age(left) = judge(word) {
                word = word.with_uses(left);
                survived += 1;
            }
            assert_eq!(survived, visits, "{uses} uses");
        }
    }
}
