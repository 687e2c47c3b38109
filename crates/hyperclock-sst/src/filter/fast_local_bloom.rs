//! The Bloom filter of format version 5: all probes of a key in one line of 64 bytes.
//!
//! The low half of the key's hash chooses the line, and each probe takes 9 bits off the top of the
//! high half, which is multiplied by the golden ratio in between. A lookup touches one cache line.

use std::num::NonZeroU8;

const LINE: usize = 64;
const GOLDEN_RATIO: u32 = 0x9e37_79b9;

/// Number of probes and lines of a filter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct FastLocalBloom {
    probes: NonZeroU8,
    lines: u32,
}

impl FastLocalBloom {
    /// From the metadata after the marker: sub-implementation, line size and probes, two zeros.
    /// `None` if they describe something else, or nothing that `bits` bytes can hold.
    pub(crate) fn new(metadata: [u8; 4], bits: usize) -> Option<Self> {
        let [sub_implementation, line_and_probes, ..] = metadata;
        let probes = NonZeroU8::new(line_and_probes).filter(|p| p.get() <= 30)?;
        let lines = u32::try_from(bits / LINE).ok().filter(|&n| n > 0)?;
        (sub_implementation == 0).then_some(Self { probes, lines })
    }

    /// Whether the key of this hash may have been added to `bits`.
    #[inline]
    pub(crate) fn may_match(self, bits: &[u8], hash: u64) -> bool {
        let line = (u64::from(hash as u32) * u64::from(self.lines)) >> 32;
        let Some(line) = bits.get(line as usize * LINE..).and_then(<[u8]>::first_chunk::<LINE>) else {
            return true;
        };
        let mut x = (hash >> 32) as u32;
        for _ in 0..self.probes.get() {
            let bit = x >> 23;
            // 9 bits cannot leave a line of 512.
            if line[(bit >> 3) as usize] & 1 << (bit & 7) == 0 {
                return false;
            }
            x = x.wrapping_mul(GOLDEN_RATIO);
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::filter::xxph3::xxph3_64;

    #[test]
    fn probes_of_the_worked_example() {
        let bloom = FastLocalBloom::new([0, 6, 0, 0], 64).unwrap();
        for (key, positions) in [(b"apple", [142, 218, 84, 36, 463, 144]), (b"banan", [0; 6])] {
            let mut bits = [0u8; 64];
            for p in positions {
                bits[p >> 3] |= 1 << (p & 7);
            }
            assert_eq!(bloom.may_match(&bits, xxph3_64(key)), positions[0] != 0);
        }
        let mut bits = [0u8; 64];
        for p in [139usize, 66, 351, 143, 217, 6] {
            bits[p >> 3] |= 1 << (p & 7);
        }
        assert!(bloom.may_match(&bits, xxph3_64(b"banana")));
        for p in [139usize, 66, 351, 143, 217, 6] {
            let mut missing = bits;
            missing[p >> 3] &= !(1 << (p & 7));
            assert!(!bloom.may_match(&missing, xxph3_64(b"banana")));
        }
    }

    #[test]
    fn metadata_of_other_kinds_is_not_taken() {
        assert!(FastLocalBloom::new([0, 24, 0, 0], 64).is_some());
        assert!(FastLocalBloom::new([0, 0, 0, 0], 64).is_none());
        assert!(FastLocalBloom::new([0, 31, 0, 0], 64).is_none());
        assert!(FastLocalBloom::new([0, 0x46, 0, 0], 64).is_none());
        assert!(FastLocalBloom::new([1, 6, 0, 0], 64).is_none());
        assert!(FastLocalBloom::new([0, 6, 0, 0], 63).is_none());
    }
}
