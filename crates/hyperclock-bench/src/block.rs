//! The values that benchmarks keep: blocks whose bytes tell their key.
//!
//! A cache of small fixed-size records keeps them in one allocation each, a block cache keeps buffers whose size is known only
//! at run time. Both exist here, because an allocation more for each entry is most of what a small entry costs: [`Inline`] for
//! sizes fixed at compile time, [`Buffer`] for all others.
//!
//! A block's first eight bytes are its key's stamp, so that a test can tell that a hit returned the right one.

use hyperclock::{CacheKey, CacheValue};

/// A value of a benchmark.
pub trait Block: CacheValue {
    /// A block of `len` bytes for `key`. [`Inline`] has its own length, whatever `len` says.
    fn new(key: CacheKey, len: usize) -> Self;

    /// The bytes.
    fn bytes(&self) -> &[u8];

    /// Reads the whole block, as a user of it would: the sum of its words.
    fn sum(&self) -> u64 {
        let (words, rest) = self.bytes().as_chunks::<8>();
        let sum = words.iter().fold(0_u64, |sum, word| sum.wrapping_add(u64::from_le_bytes(*word)));
        rest.iter().fold(sum, |sum, &byte| sum.wrapping_add(u64::from(byte)))
    }

    /// Whether this block was made for `key`; blocks shorter than a stamp cannot tell.
    fn is_of(&self, key: CacheKey) -> bool {
        self.bytes().first_chunk().is_none_or(|first| *first == stamp(key))
    }
}

/// What a block of `key` is filled with.
fn stamp(key: CacheKey) -> [u8; 8] {
    (key.file().rotate_left(32) ^ key.block()).to_le_bytes()
}

fn fill(bytes: &mut [u8], key: CacheKey) {
    let stamp = stamp(key);
    let (words, rest) = bytes.as_chunks_mut::<8>();
    words.fill(stamp);
    rest.copy_from_slice(&stamp[..rest.len()]);
}

/// A block of `N` bytes in one piece with whatever keeps it.
#[derive(Clone, Debug)]
pub struct Inline<const N: usize>([u8; N]);

impl<const N: usize> CacheValue for Inline<N> {
    fn charge(&self) -> usize {
        N
    }
}

impl<const N: usize> Block for Inline<N> {
    fn new(key: CacheKey, _len: usize) -> Self {
        let mut bytes = [0; N];
        fill(&mut bytes, key);
        Self(bytes)
    }

    fn bytes(&self) -> &[u8] {
        &self.0
    }
}

/// A block in a buffer of its own.
#[derive(Clone, Debug)]
pub struct Buffer(Box<[u8]>);

/// Charged with its bytes alone, so that a cache of so many bytes holds as many blocks as the workload assumes.
impl CacheValue for Buffer {
    fn charge(&self) -> usize {
        self.0.len()
    }
}

impl Block for Buffer {
    fn new(key: CacheKey, len: usize) -> Self {
        let mut bytes = vec![0; len].into_boxed_slice();
        fill(&mut bytes, key);
        Self(bytes)
    }

    fn bytes(&self) -> &[u8] {
        &self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_block_tells_its_key() {
        let (key, other) = (CacheKey::new(3, 4096), CacheKey::new(4, 4096));
        let inline = Inline::<64>::new(key, 64);
        assert_eq!((inline.bytes().len(), inline.charge()), (64, 64));
        assert!(inline.is_of(key) && !inline.is_of(other));
        for len in [0, 1, 7, 8, 9, 100, 8192] {
            let buffer = Buffer::new(key, len);
            assert_eq!((buffer.bytes().len(), buffer.charge()), (len, len));
            assert!(buffer.is_of(key));
            assert_eq!(buffer.is_of(other), len < 8);
        }
    }

    #[test]
    fn the_sum_covers_every_byte() {
        let key = CacheKey::new(0, 1);
        assert_eq!(Buffer::new(key, 0).sum(), 0);
        assert_eq!(Buffer::new(key, 24).sum(), 3);
        assert_eq!(Buffer::new(key, 25).sum(), 4);
    }
}
