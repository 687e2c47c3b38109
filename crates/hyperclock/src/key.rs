//! Keys of 128 bits, and the keyed bijection that spreads them.
//!
//! The table places an entry by its hashed key and stores nothing else, so a lookup compares 128 bits that stand for the
//! whole key: two keys never match by accident, and the key of an entry is had back by the inverse.
//!
//! The bijection is a two-round Feistel network over the two words; its round function folds the 128-bit product of a
//! word and an odd constant (the "mum" mix of wyhash and its relatives). Each word of the result depends on both words
//! of the key and on the seed. It is not a cryptographic permutation: it keeps patterned keys, and keys chosen without
//! knowledge of the seed, from piling up.

use std::fmt;
use std::hash::{BuildHasher, RandomState};

/// The identity of a block: 128 bits, of which the first 64 are the same for all blocks of a file.
///
/// ```
/// use hyperclock::CacheKey;
///
/// let key = CacheKey::new(0x5ee0, 4096);
/// assert_eq!((key.file(), key.block()), (0x5ee0, 4096));
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct CacheKey {
    file: u64,
    block: u64,
}

impl CacheKey {
    /// The key of block `block` of file `file`. The pair must be unique among everything that shares the cache.
    #[must_use]
    pub const fn new(file: u64, block: u64) -> Self {
        Self { file, block }
    }

    /// The word that all blocks of a file share.
    #[must_use]
    pub const fn file(self) -> u64 {
        self.file
    }

    /// The word that tells the blocks of a file apart.
    #[must_use]
    pub const fn block(self) -> u64 {
        self.block
    }

    /// The key in 16 bytes, each word little-endian: the form that RocksDB uses.
    #[must_use]
    pub const fn to_bytes(self) -> [u8; 16] {
        (self.file as u128 | (self.block as u128) << 64).to_le_bytes()
    }

    /// The inverse of [`CacheKey::to_bytes`].
    #[must_use]
    pub const fn from_bytes(bytes: [u8; 16]) -> Self {
        let both = u128::from_le_bytes(bytes);
        Self { file: both as u64, block: (both >> 64) as u64 }
    }
}

impl CacheKey {
    /// The key that a cache with this seed ([`Builder::seed`](crate::Builder::seed)) hashes to two given words, of which the
    /// first places it. For benchmarks and tests that want keys to collide; how keys are hashed may change.
    #[doc(hidden)]
    #[must_use]
    pub fn with_hash(seed: u64, first: u64, second: u64) -> Self {
        KeyMixer::with_seed(seed).key(HashedKey(first, second))
    }
}

impl fmt::Debug for CacheKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "CacheKey({:016x}, {:016x})", self.file, self.block)
    }
}

/// A key after the bijection. The first word places it: its low bits choose the bucket, its high bits the shard and
/// the tag.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct HashedKey(pub(crate) u64, pub(crate) u64);

/// The seeded bijection.
#[derive(Clone, Copy, Debug)]
pub(crate) struct KeyMixer {
    seeds: [u64; 2],
}

const ROUND: [u64; 2] = [0x9d8c_f2a1_53e7_64b5, 0xe3b1_70c5_8d2f_9a67];

impl KeyMixer {
    pub(crate) const fn with_seed(seed: u64) -> Self {
        // Two words that differ in many bits even for small seeds.
        let first = fold(seed ^ ROUND[1], ROUND[0]);
        Self { seeds: [first ^ seed, fold(first, ROUND[1])] }
    }

    /// A seed that differs between caches and processes, so that no set of keys is slow everywhere.
    pub(crate) fn random_seed() -> u64 {
        RandomState::new().hash_one(0x6879_7065_7263_6c6b_u64)
    }

    #[inline]
    pub(crate) fn hash(&self, key: CacheKey) -> HashedKey {
        let second = key.block ^ fold(key.file ^ self.seeds[0], ROUND[0]);
        let first = key.file ^ fold(second ^ self.seeds[1], ROUND[1]);
        HashedKey(first, second)
    }

    pub(crate) fn key(&self, hashed: HashedKey) -> CacheKey {
        let HashedKey(first, second) = hashed;
        let file = first ^ fold(second ^ self.seeds[1], ROUND[1]);
        CacheKey { file, block: second ^ fold(file ^ self.seeds[0], ROUND[0]) }
    }
}

#[inline]
const fn fold(word: u64, by: u64) -> u64 {
    let product = word as u128 * by as u128;
    product as u64 ^ (product >> 64) as u64
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use super::*;

    fn keys() -> impl Iterator<Item = CacheKey> {
        (0..4096_u64).flat_map(|i| {
            [CacheKey::new(i, 0), CacheKey::new(i << 56, i * 4096), CacheKey::new(u64::MAX - i, u64::MAX ^ i << 20)]
        })
    }

    #[test]
    fn br_106_the_key_comes_back_and_no_two_keys_hash_alike() {
        for seed in [0, 1, u64::MAX, KeyMixer::random_seed()] {
            let mixer = KeyMixer::with_seed(seed);
            let mut seen = std::collections::HashSet::new();
            for key in keys() {
                let hashed = mixer.hash(key);
                assert_eq!(mixer.key(hashed), key);
                assert_eq!(CacheKey::with_hash(seed, hashed.0, hashed.1), key);
                seen.insert((hashed.0, hashed.1));
            }
            assert_eq!(seen.len(), keys().collect::<std::collections::HashSet<_>>().len());
        }
    }

    /// Low bits choose buckets, the top bits shards, the middle ones tags: each must be spread for keys that count.
    #[test]
    fn br_036_patterned_keys_spread_over_buckets_and_shards() {
        let mixer = KeyMixer::with_seed(7);
        let patterns: [fn(u64) -> CacheKey; 4] = [
            |i| CacheKey::new(1, i * 4096),
            |i| CacheKey::new(i << 56, 0),
            |i| CacheKey::new(i, i),
            |i| CacheKey::new(0xdead_beef, i << 32),
        ];
        for (n, pattern) in patterns.iter().enumerate() {
            let mut low = [0_u32; 64];
            let mut high = [0_u32; 64];
            let total = if n == 1 { 256 } else { 64 * 256 };
            for i in 0..total {
                let HashedKey(first, _) = mixer.hash(pattern(i));
                low[(first & 63) as usize] += 1;
                high[(first >> 58) as usize] += 1;
            }
            let mean = total as f64 / 64.0;
            for count in low.iter().chain(&high) {
                assert!((f64::from(*count) - mean).abs() < 6.0 * mean.sqrt() + 1.0, "pattern {n}: {count} of {mean}");
            }
        }
    }

    #[test]
    fn bytes_round_trip() {
        let key = CacheKey::new(0x0123_4567_89ab_cdef, 42);
        assert_eq!(CacheKey::from_bytes(key.to_bytes()), key);
        assert_eq!(key.to_bytes()[0], 0xef);
        assert_eq!(format!("{key:?}"), "CacheKey(0123456789abcdef, 000000000000002a)");
    }
}
