//! Keys and values of a filled database, each a pure function of its row number.
//!
//! A value starts with random bytes, no two rows alike, and repeats them to its end: a codec that finds matches keeps
//! the first share and drops the rest. Bytes are uniform, so an entropy coder finds nothing more.

use super::FillOptions;

/// Computes rows of the database that [`fill`](super::fill) makes from the same options.
#[derive(Debug)]
pub struct Rows {
    seed: u64,
    key: Vec<u8>,
    value: Vec<u8>,
    /// Bytes of a value before it repeats itself; 1 or more unless values are empty.
    period: usize,
}

impl Rows {
    /// `options` as they are given to `fill`.
    pub fn new(options: &FillOptions) -> Self {
        #[expect(clippy::cast_sign_loss, reason = "a share of a size is not negative")]
        let period = (options.value_size as f64 * options.value_compressibility).round() as usize;
        Self {
            seed: scramble(options.seed),
            key: vec![b'0'; options.key_size],
            value: vec![0; options.value_size],
            period: period.clamp(1, options.value_size.max(1)),
        }
    }

    /// Key and value of row `number`. Costs about 1 ns for 8 bytes.
    pub fn row(&mut self, number: u64) -> (&[u8], &[u8]) {
        let digits = number.to_be_bytes();
        let held = self.key.len().min(digits.len());
        self.key[..held].copy_from_slice(&digits[digits.len() - held..]);

        let mut state = scramble(self.seed ^ number);
        let period = self.period.min(self.value.len());
        for chunk in self.value[..period].chunks_mut(8) {
            state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
            chunk.copy_from_slice(&scramble(state).to_le_bytes()[..chunk.len()]);
        }
        let mut filled = period;
        while filled < self.value.len() {
            let length = filled.min(self.value.len() - filled);
            self.value.copy_within(..length, filled);
            filled += length;
        }
        (&self.key, &self.value)
    }
}

/// A bijection of 64 bits that looks random: the finalizer of `SplitMix64`.
fn scramble(mut x: u64) -> u64 {
    x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ (x >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_numbers_padded_with_zeros() {
        let mut rows = Rows::new(&FillOptions::default());
        assert_eq!(rows.row(0x1234).0, b"\0\0\0\0\0\0\x12\x3400000000");
        let mut rows = Rows::new(&FillOptions { key_size: 3, ..FillOptions::default() });
        assert_eq!(rows.row(0x1234).0, b"\0\x12\x34");
    }

    #[test]
    fn values_repeat_after_their_share() {
        let mut rows =
            Rows::new(&FillOptions { value_size: 100, value_compressibility: 0.3, ..FillOptions::default() });
        let value = rows.row(7).1.to_vec();
        assert_eq!(value.len(), 100);
        assert!(value.iter().zip(&value[30..]).all(|(a, b)| a == b));
        assert_ne!(value[..30], rows.row(8).1[..30]);
        assert_eq!(value, rows.row(7).1);
    }

    #[test]
    fn any_size_and_share_can_be_made() {
        for value_size in [0, 1, 7, 8, 9, 1000] {
            for value_compressibility in [0.0, 0.01, 0.5, 1.0] {
                let options = FillOptions { value_size, value_compressibility, ..FillOptions::default() };
                assert_eq!(Rows::new(&options).row(1).1.len(), value_size);
            }
        }
    }

    #[test]
    fn the_seed_changes_every_value() {
        let of = |seed| Rows::new(&FillOptions { seed, ..FillOptions::default() }).row(1).1.to_vec();
        assert_ne!(of(1), of(2));
    }
}
