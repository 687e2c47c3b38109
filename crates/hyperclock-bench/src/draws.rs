//! Keys drawn before they are used.
//!
//! Drawing a zipf rank costs several logarithms, more than a lookup; inside the loop it would hide what is measured. So ranks
//! are drawn before, once for all threads, and each thread walks through them from a place of its own, around the end and on.
//! A rank costs the loop a quarter of a cache line's sixteenth, read in order, and a multiplication makes a key of it.
//!
//! There are four times as many ranks as keys where memory allows, so that the tail of the distribution is in them.

use hyperclock::CacheKey;

use crate::random::Random;
use crate::zipf::{Distribution, RankSampler};

/// The most ranks drawn: 16 MiB of them.
const MOST: u64 = 1 << 22;
/// The fewest.
const FEWEST: u64 = 1 << 12;

/// Blocks of a file: keys of one file differ in their second word alone.
const BLOCKS_PER_FILE_BITS: u32 = 8;
/// The distance of two blocks of a file.
const BLOCK_BITS: u32 = 12;

/// The key of the `rank`th block: a file and an offset in it, as an engine has them.
#[inline]
pub fn key_of(rank: u64) -> CacheKey {
    // Any odd constant: file ids are spread over the word, one to one.
    let file = (rank >> BLOCKS_PER_FILE_BITS).wrapping_add(1).wrapping_mul(0xD6E8_FEB8_6659_FD93);
    CacheKey::new(file, (rank & ((1 << BLOCKS_PER_FILE_BITS) - 1)) << BLOCK_BITS)
}

/// Ranks to walk through.
#[derive(Clone, Debug)]
pub struct Draws {
    ranks: Box<[u32]>,
    /// The number of ranks, a power of two, less one.
    mask: usize,
}

impl Draws {
    /// Draws ranks below `keys`.
    pub fn new(distribution: Distribution, keys: u32, random: &mut Random) -> Self {
        let count = (u64::from(keys) * 4).next_power_of_two().clamp(FEWEST, MOST);
        let sampler = RankSampler::new(distribution, u64::from(keys));
        let ranks: Box<[u32]> = (0..count).map(|_| sampler.draw(random) as u32).collect();
        Self { mask: ranks.len() - 1, ranks }
    }

    /// Where stream `index` starts.
    pub fn start(&self, random: &mut Random) -> usize {
        random.below(self.ranks.len() as u64) as usize
    }

    /// The rank at a place, and the next place.
    #[inline]
    pub fn next(&self, place: &mut usize) -> u64 {
        let rank = self.ranks[*place & self.mask];
        *place = place.wrapping_add(1);
        u64::from(rank)
    }
}

/// The numbers below `count` in an order of the seed's, so that neighbours in memory are not neighbours in popularity.
pub fn shuffled(count: u32, random: &mut Random) -> Box<[u32]> {
    let mut order: Box<[u32]> = (0..count).collect();
    random.shuffle(&mut order);
    order
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn keys_differ() {
        let keys: HashSet<_> = (0..100_000).map(key_of).collect();
        assert_eq!(keys.len(), 100_000);
        assert_eq!(key_of(0).file(), key_of(255).file());
        assert_ne!(key_of(255).file(), key_of(256).file());
    }

    #[test]
    fn draws_follow_the_distribution_and_go_around() {
        let draws = Draws::new(Distribution::Zipf(0.99), 1000, &mut Random::new(1));
        let mut place = draws.start(&mut Random::new(2));
        let first: Vec<_> = (0..4096).map(|_| draws.next(&mut place)).collect();
        let second: Vec<_> = (0..4096).map(|_| draws.next(&mut place)).collect();
        assert_eq!(first, second);
        assert!(first.iter().all(|&rank| rank < 1000));
        let popular = first.iter().filter(|&&rank| rank == 0).count();
        assert!(popular > 400, "rank 0 has an eighth of the draws, drawn {popular} times of 4096");
    }
}
