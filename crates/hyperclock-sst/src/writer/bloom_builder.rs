//! Builds a full Bloom filter in the layout of format version 5: all probes of a key fall into one 64-byte line.
//!
//! One cache miss a lookup is the point of the layout; the price is a slightly higher false-positive rate than a filter
//! whose probes spread freely (about 1 % at 10 bits a key). The content is the lines, then five bytes of metadata:
//! `ff` (new Bloom), `00` (this layout), the number of probes, two zero bytes.
//!
//! Only hashes are kept while a table is written, 8 bytes a key, because the number of lines must be known before the
//! first bit is set. Invariant: the number of lines fits 32 bits, as the reader multiplies it with a 32-bit hash.

/// Bytes of a line.
const LINE: usize = 64;
/// Multiplied in between probes to draw the next bit.
const PROBE_MULTIPLIER: u32 = 0x9e37_79b9;

#[derive(Debug)]
pub(crate) struct BloomBuilder {
    millibits_per_key: u64,
    hashes: Vec<u64>,
}

impl BloomBuilder {
    /// `bits_per_key` is in 1.0 ..= 100.0.
    pub(crate) fn new(bits_per_key: f64) -> Self {
        #[expect(clippy::cast_sign_loss, reason = "the range was checked with the options")]
        let millibits_per_key = (bits_per_key * 1000.0).round() as u64;
        Self { millibits_per_key, hashes: Vec::new() }
    }

    /// Adds the hash of a user key. Versions of one key arrive in a row and count once.
    pub(crate) fn add(&mut self, hash: u64) {
        if self.hashes.last() != Some(&hash) {
            self.hashes.push(hash);
        }
    }

    /// Hashes that the filter will hold.
    pub(crate) fn num_entries(&self) -> u64 {
        self.hashes.len() as u64
    }

    /// The filter block: empty without keys, which a reader takes as "no key matches".
    pub(crate) fn finish(self) -> Vec<u8> {
        if self.hashes.is_empty() {
            return Vec::new();
        }
        let bytes = (self.hashes.len() as u64).saturating_mul(self.millibits_per_key).div_ceil(8000);
        let lines = bytes.div_ceil(LINE as u64).min(u64::from(u32::MAX)) as u32;
        let probes = probes(self.millibits_per_key);
        let mut filter = vec![0; lines as usize * LINE];
        for hash in self.hashes {
            let line = ((u64::from(hash as u32) * u64::from(lines)) >> 32) as usize;
            let line = &mut filter[line * LINE..][..LINE];
            let mut draw = (hash >> 32) as u32;
            for _ in 0..probes {
                let bit = draw >> 23;
                line[bit as usize / 8] |= 1 << (bit % 8);
                draw = draw.wrapping_mul(PROBE_MULTIPLIER);
            }
        }
        filter.extend_from_slice(&[0xff, 0, probes, 0, 0]);
        filter
    }
}

/// The number of probes that gives the fewest false positives. Fewer than the textbook's `ln 2` times the bits: keys
/// crowd in some lines, and crowded lines want fewer probes.
fn probes(millibits_per_key: u64) -> u8 {
    // Upper end of the range of millibits for 1, 2, 3 .. probes.
    const LIMITS: [u64; 12] = [2080, 3580, 5100, 6640, 8300, 10_070, 11_720, 14_001, 16_050, 18_300, 22_001, 25_501];
    match LIMITS.iter().position(|&limit| millibits_per_key <= limit) {
        Some(index) => index as u8 + 1,
        None => (millibits_per_key.div_ceil(2000) - 1).clamp(12, 24) as u8,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::filter::xxph3::xxph3_64;

    fn filter(keys: &[&[u8]], bits_per_key: f64) -> Vec<u8> {
        let mut builder = BloomBuilder::new(bits_per_key);
        for key in keys {
            builder.add(xxph3_64(key));
        }
        builder.finish()
    }

    #[test]
    fn no_keys_give_an_empty_filter() {
        assert!(filter(&[], 10.0).is_empty());
    }

    #[test]
    fn the_filter_of_four_fruits_has_the_bits_that_rocksdb_sets() {
        let filter = filter(&[b"apple", b"apricot", b"banana", b"cherry"], 10.0);
        assert_eq!(filter.len(), 69);
        assert_eq!(filter[64..], [0xff, 0, 6, 0, 0]);
        let bits: u32 = filter[..64].iter().map(|byte| byte.count_ones()).sum();
        assert_eq!(bits, 23);
        for bit in [142, 218, 84, 36, 463, 144, 139, 66, 351, 143, 217, 6] {
            assert_ne!(filter[bit / 8] & (1 << (bit % 8)), 0, "bit {bit}");
        }
    }

    #[test]
    fn repeated_hashes_count_once() {
        let mut builder = BloomBuilder::new(10.0);
        builder.add(7);
        builder.add(7);
        builder.add(8);
        assert_eq!(builder.num_entries(), 2);
    }

    #[test]
    fn probes_grow_with_the_bits() {
        for (millibits, expected) in [
            (1000, 1),
            (2080, 1),
            (2081, 2),
            (10_000, 6),
            (16_000, 9),
            (25_501, 12),
            (28_001, 14),
            (50_001, 24),
            (100_000, 24),
        ] {
            assert_eq!(probes(millibits), expected, "{millibits} millibits");
        }
        assert!((1000..60_000).all(|millibits| probes(millibits) <= probes(millibits + 1)));
    }
}
