//! Random numbers for benchmarks: small, fast, and the same for a seed on every machine and in every release.
//!
//! `SplitMix64` (G. Steele, D. Lea, C. Flood, "Fast splittable pseudorandom number generators", OOPSLA 2014): a counter that
//! steps by an odd constant, and a mixer over it. Any state is a good state, so streams for threads are made by mixing the
//! stream's number into the seed. Not for secrets.

/// A stream of random numbers.
#[derive(Clone, Debug)]
pub struct Random {
    state: u64,
}

/// The counter's step: 2^64 divided by the golden ratio, made odd.
const STEP: u64 = 0x9E37_79B9_7F4A_7C15;

impl Random {
    /// The stream that starts at `seed`.
    pub fn new(seed: u64) -> Self {
        Self { state: seed }
    }

    /// Stream `index` of `seed`; streams do not overlap in practice.
    pub fn stream(seed: u64, index: u64) -> Self {
        let mut of_seed = Self::new(seed);
        let base = of_seed.next_u64();
        let mut of_index = Self::new(base ^ index);
        Self::new(of_index.next_u64())
    }

    /// 64 random bits.
    #[inline]
    pub fn next_u64(&mut self) -> u64 {
        self.state = self.state.wrapping_add(STEP);
        let mut z = self.state;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    /// Uniform in `0..bound`; 0 for a bound of 0.
    ///
    /// The high half of a 128-bit product (D. Lemire, "Fast random integer generation in an interval", TOMACS 2019), without
    /// the rejection step: the bias is below `bound` / 2^64.
    #[inline]
    pub fn below(&mut self, bound: u64) -> u64 {
        ((u128::from(self.next_u64()) * u128::from(bound)) >> 64) as u64
    }

    /// Uniform in `[0, 1)`, with 53 bits.
    pub fn unit(&mut self) -> f64 {
        (self.next_u64() >> 11) as f64 * (1.0 / (1_u64 << 53) as f64)
    }

    /// Puts the items into an order in which each permutation is equally likely (Fisher-Yates).
    pub fn shuffle<T>(&mut self, items: &mut [T]) {
        for last in (1..items.len()).rev() {
            let other = self.below(last as u64 + 1) as usize;
            items.swap(last, other);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_gives_the_published_sequence() {
        let mut random = Random::new(1_234_567);
        let drawn: Vec<u64> = (0..3).map(|_| random.next_u64()).collect();
        assert_eq!(drawn, [6_457_827_717_110_365_317, 3_203_168_211_198_807_973, 9_817_491_932_198_370_423]);
    }

    #[test]
    fn streams_of_one_seed_differ() {
        let first = Random::stream(42, 0).next_u64();
        let second = Random::stream(42, 1).next_u64();
        assert_ne!(first, second);
        assert_eq!(first, Random::stream(42, 0).next_u64());
    }

    #[test]
    fn below_and_unit_stay_in_range_and_cover_it() {
        let mut random = Random::new(7);
        let mut seen = [0_u32; 10];
        let mut sum = 0.0;
        for _ in 0..10_000 {
            seen[random.below(10) as usize] += 1;
            let unit = random.unit();
            assert!((0.0..1.0).contains(&unit));
            sum += unit;
        }
        assert!(seen.iter().all(|&n| (850..1150).contains(&n)), "{seen:?}");
        assert!((sum / 10_000.0 - 0.5).abs() < 0.02);
        assert_eq!(random.below(0), 0);
        assert_eq!(random.below(1), 0);
    }

    #[test]
    fn shuffle_keeps_every_item() {
        let mut items: Vec<u32> = (0..1000).collect();
        Random::new(1).shuffle(&mut items);
        assert_ne!(items, (0..1000).collect::<Vec<_>>());
        items.sort_unstable();
        assert_eq!(items, (0..1000).collect::<Vec<_>>());
    }
}
