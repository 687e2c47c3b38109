//! The ids of a filled database: a hash of everything that its bytes depend on.
//!
//! RocksDB draws them at random. Here equal options give equal ids, because they give equal blocks; any difference in the
//! options changes them, so that blocks of two databases in one cache are never taken for each other.

use xxhash_rust::xxh3::xxh3_128_with_seed;

use super::FillOptions;
use crate::cache_key::internal_unique_id;

/// Raised when the same options begin to give other bytes.
const GENERATION: u64 = 1;

#[derive(Debug)]
pub(super) struct Identity {
    /// A UUID in its usual spelling.
    pub(super) db_id: String,
    /// 20 base-36 digits.
    pub(super) session_id: String,
}

impl Identity {
    pub(super) fn of(options: &FillOptions) -> Self {
        let FillOptions {
            num,
            key_size,
            value_size,
            value_compressibility,
            compression,
            bloom_bits_per_key,
            block_size,
            target_file_size,
            seed,
        } = options;
        let text = format!(
            "{num} {key_size} {value_size} {value_compressibility} {} {bloom_bits_per_key:?} {block_size} {target_file_size} {seed}",
            compression.name()
        );
        let db = xxh3_128_with_seed(text.as_bytes(), GENERATION);
        let session = xxh3_128_with_seed(text.as_bytes(), !GENERATION);
        Self { db_id: uuid(db), session_id: session_id(session) }
    }

    /// The id of table `file_number` in the MANIFEST.
    pub(super) fn unique_id(&self, file_number: u64) -> [u64; 2] {
        internal_unique_id(&self.db_id, &self.session_id, file_number)
    }
}

/// Spells a hash as a UUID of version 8 (free form).
fn uuid(hash: u128) -> String {
    let hash = (hash & !(0xf << 76) & !(0x3 << 62)) | (0x8 << 76) | (0x2 << 62);
    let digits = format!("{hash:032x}");
    [&digits[..8], &digits[8..12], &digits[12..16], &digits[16..20], &digits[20..]].join("-")
}

/// Spells a hash as RocksDB does: 8 base-36 digits from one half, 12 from 62 bits of the other.
fn session_id(hash: u128) -> String {
    let (upper, lower) = ((hash >> 64) as u64, hash as u64);
    base36(upper, 8) + &base36(lower >> 2, 12)
}

/// The low `digits` base-36 digits of `number`.
fn base36(mut number: u64, digits: usize) -> String {
    let mut text = vec![b'0'; digits];
    for digit in text.iter_mut().rev() {
        *digit = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"[(number % 36) as usize];
        number /= 36;
    }
    text.into_iter().map(char::from).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_have_the_shapes_that_rocksdb_gives_them() {
        let identity = Identity::of(&FillOptions::default());
        let parts: Vec<usize> = identity.db_id.split('-').map(str::len).collect();
        assert_eq!(parts, [8, 4, 4, 4, 12]);
        assert_eq!(identity.session_id.len(), 20);
        assert!(identity.session_id.bytes().all(|digit| digit.is_ascii_digit() || digit.is_ascii_uppercase()));
    }

    #[test]
    fn any_option_changes_the_ids() {
        let base = FillOptions::default();
        let one = Identity::of(&base);
        for other in [
            FillOptions { num: 1, ..base.clone() },
            FillOptions { seed: 1, ..base.clone() },
            FillOptions { bloom_bits_per_key: None, ..base.clone() },
            FillOptions { value_compressibility: 0.25, ..base.clone() },
        ] {
            let other = Identity::of(&other);
            assert_ne!(one.db_id, other.db_id);
            assert_ne!(one.session_id, other.session_id);
        }
        assert_eq!(one.session_id, Identity::of(&base).session_id);
    }

    #[test]
    fn numbers_are_spelled_in_base_36() {
        assert_eq!(base36(35, 2), "0Z");
        assert_eq!(base36(36 * 36 + 1, 3), "101");
    }
}
