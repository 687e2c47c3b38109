//! The Bloom filter before format version 5, and its 32-bit hash.
//!
//! The hash modulo the number of lines chooses a line; probes then step through its bits by the
//! rotated hash. The hash is a relative of Murmur 1 that adds the bytes of an incomplete last word
//! *sign-extended*, which only keys with bytes above 127 show.

const SEED: u32 = 0xbc9f_1d34;

/// Number of probes and lines of a filter, and how long a line is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct LegacyBloom {
    probes: u8,
    lines: u32,
    line_bytes: u32,
}

impl LegacyBloom {
    /// `None` if `bits` bytes are not that many lines of a power of two.
    pub(crate) fn new(probes: u8, lines: u32, bits: usize) -> Option<Self> {
        let bits = u32::try_from(bits).ok()?;
        let line_bytes = bits.checked_div(lines)?;
        (line_bytes.checked_mul(lines) == Some(bits)
            && line_bytes.is_power_of_two()
            && line_bytes.checked_mul(8).is_some())
        .then_some(Self { probes, lines, line_bytes })
    }

    /// Whether `key` may have been added to `bits`.
    #[inline]
    pub(crate) fn may_match(self, bits: &[u8], key: &[u8]) -> bool {
        let mut h = hash(key, SEED);
        let start = h % self.lines * self.line_bytes;
        let Some(line) = bits.get(start as usize..).and_then(|rest| rest.get(..self.line_bytes as usize)) else {
            return true;
        };
        let delta = h.rotate_right(17);
        let mask = self.line_bytes * 8 - 1;
        for _ in 0..self.probes {
            let bit = h & mask;
            if line.get((bit >> 3) as usize).is_some_and(|byte| byte & 1 << (bit & 7) == 0) {
                return false;
            }
            h = h.wrapping_add(delta);
        }
        true
    }
}

/// The 32-bit hash of the older parts of the format.
pub(crate) fn hash(data: &[u8], seed: u32) -> u32 {
    const M: u32 = 0xc6a4_a793;
    let mut h = seed ^ (data.len() as u32).wrapping_mul(M);
    let (words, tail) = data.as_chunks::<4>();
    for word in words {
        h = h.wrapping_add(u32::from_le_bytes(*word)).wrapping_mul(M);
        h ^= h >> 16;
    }
    if !tail.is_empty() {
        for (i, &byte) in tail.iter().enumerate() {
            let extended = i32::from(byte.cast_signed()).cast_unsigned();
            h = h.wrapping_add(extended << (8 * i));
        }
        h = h.wrapping_mul(M);
        h ^= h >> 24;
    }
    h
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hash_vectors() {
        let vectors: [(&[u8], u32); 4] =
            [(b"", 0xbc9f_1d34), (b"b", 0xef13_45c4), (b"apple", 0x7c7f_163b), (b"\xff", 0x1d66_774f)];
        for (data, expected) in vectors {
            assert_eq!(hash(data, SEED), expected, "{data:?}");
        }
    }

    #[test]
    fn added_keys_match_and_few_others_do() {
        let (lines, line_bytes, probes) = (157u32, 64u32, 6u8);
        let bloom = LegacyBloom::new(probes, lines, (lines * line_bytes) as usize).unwrap();
        let mut bits = vec![0u8; (lines * line_bytes) as usize];
        let key = |i: u32| format!("key{i:06}\u{e9}").into_bytes();
        for i in 0..8000 {
            let mut h = hash(&key(i), SEED);
            let start = (h % lines * line_bytes) as usize;
            let delta = h.rotate_right(17);
            for _ in 0..probes {
                let bit = h % (line_bytes * 8);
                bits[start + (bit / 8) as usize] |= 1 << (bit % 8);
                h = h.wrapping_add(delta);
            }
        }
        assert!((0..8000).all(|i| bloom.may_match(&bits, &key(i))));
        let wrong = (8000..16_000).filter(|&i| bloom.may_match(&bits, &key(i))).count();
        assert!(wrong < 400, "{wrong} false positives of 8000");
    }

    #[test]
    fn impossible_shapes_are_not_taken() {
        assert!(LegacyBloom::new(6, 0, 64).is_none());
        assert!(LegacyBloom::new(6, 3, 64).is_none());
        assert!(LegacyBloom::new(6, 1, 96).is_none());
        assert!(LegacyBloom::new(6, 2, 128).is_some());
    }
}
