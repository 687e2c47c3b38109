//! The keys that a benchmark reads: a sample of those that exist, in the order of their popularity.
//!
//! Reads must be for keys that exist, and each key of the database must have the same chance to be among them, however many
//! there are. A [`Reservoir`] sees every key once and keeps a uniform sample of bounded size (algorithm R; J. Vitter, "Random
//! sampling with a reservoir", ACM TOMS 11(1), 1985). [`RankedKeys`] then gives each of them a rank at random, so that popular
//! keys lie anywhere in the database, and packs them in that order: drawing a key costs the benchmark one predictable read, and
//! nothing per key but its bytes and 16 more.

use hyperclock_bench::random::Random;

/// A uniform sample of the keys offered to it.
pub(crate) struct Reservoir {
    capacity: usize,
    offered: u64,
    kept: Vec<(u32, Box<[u8]>)>,
}

impl Reservoir {
    /// For up to `capacity` keys.
    pub(crate) fn new(capacity: usize) -> Self {
        Self { capacity, offered: 0, kept: Vec::new() }
    }

    /// Offers a key of column family `family`, an index of the caller's.
    pub(crate) fn offer(&mut self, family: u32, key: &[u8], random: &mut Random) {
        self.offered += 1;
        if self.kept.len() < self.capacity {
            self.kept.push((family, key.into()));
        } else {
            let place = random.below(self.offered);
            if let Some(slot) = usize::try_from(place).ok().and_then(|place| self.kept.get_mut(place)) {
                *slot = (family, key.into());
            }
        }
    }

    /// Keys offered so far.
    pub(crate) fn offered(&self) -> u64 {
        self.offered
    }

    /// Ranks the sample at random.
    pub(crate) fn into_ranked(mut self, random: &mut Random) -> RankedKeys {
        random.shuffle(&mut self.kept);
        let mut keys = RankedKeys {
            bytes: Vec::with_capacity(self.kept.iter().map(|(_, key)| key.len()).sum()),
            entries: Vec::with_capacity(self.kept.len()),
        };
        for (family, key) in self.kept {
            keys.entries.push(RankedKey { begin: keys.bytes.len(), len: key.len() as u32, family });
            keys.bytes.extend_from_slice(&key);
        }
        keys
    }
}

/// Keys by rank, the most popular first.
#[derive(Debug)]
pub(crate) struct RankedKeys {
    bytes: Vec<u8>,
    entries: Vec<RankedKey>,
}

#[derive(Clone, Copy, Debug)]
struct RankedKey {
    begin: usize,
    /// Keys of a database are shorter than 4 GiB.
    len: u32,
    family: u32,
}

impl RankedKeys {
    pub(crate) fn len(&self) -> usize {
        self.entries.len()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// The column family and the key of a rank below [`len`](Self::len).
    pub(crate) fn get(&self, rank: u64) -> (u32, &[u8]) {
        let entry = self.entries[rank as usize];
        (entry.family, &self.bytes[entry.begin..entry.begin + entry.len as usize])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample(capacity: usize, offered: u32, seed: u64) -> Vec<u32> {
        let mut random = Random::new(seed);
        let mut reservoir = Reservoir::new(capacity);
        for n in 0..offered {
            reservoir.offer(n % 3, &n.to_be_bytes(), &mut random);
        }
        assert_eq!(reservoir.offered(), u64::from(offered));
        let keys = reservoir.into_ranked(&mut random);
        (0..keys.len() as u64)
            .map(|rank| {
                let (family, key) = keys.get(rank);
                let n = u32::from_be_bytes(key.try_into().unwrap());
                assert_eq!(family, n % 3);
                n
            })
            .collect()
    }

    #[test]
    fn a_small_database_is_taken_whole_in_shuffled_order() {
        let ranked = sample(100, 50, 1);
        assert_eq!(ranked.len(), 50);
        assert_eq!(ranked, sample(100, 50, 1));
        assert_ne!(ranked, sample(100, 50, 2));
        let mut sorted = ranked.clone();
        sorted.sort_unstable();
        assert_ne!(ranked, sorted);
        assert_eq!(sorted, (0..50).collect::<Vec<_>>());
    }

    #[test]
    fn every_key_has_the_same_chance() {
        let mut taken = [0_u32; 40];
        for seed in 0..4000 {
            for n in sample(10, 40, seed) {
                taken[n as usize] += 1;
            }
        }
        // 1000 expected each, standard deviation 27.
        assert!(taken.iter().all(|&n| (860..1140).contains(&n)), "{taken:?}");
    }

    #[test]
    fn nothing_offered_nothing_kept() {
        let keys = Reservoir::new(10).into_ranked(&mut Random::new(0));
        assert!(keys.is_empty());
    }
}
