//! The keys of blocks in the cache.
//!
//! A key is 128 bits. The first 64 are the same for all blocks of a file, the second are a word of
//! the file, xored with the block's offset divided by 4 (a block takes at least 5 bytes on disk):
//! one key per block and one block per key.
//!
//! A file has a *stable identity* if its properties name the session that made it and its number
//! then. Its two words are those that RocksDB derives from session, database id and number,
//! xored with a hash of the file's size and footer: a file that was cut, or replaced under the same
//! identity by a tool that copies properties, shares no blocks with the original. Stable keys
//! survive reopening, renaming and restoring. A file without an identity gets two random words
//! each time it is opened.

use std::hash::{BuildHasher, RandomState};

use hyperclock::CacheKey;
use xxhash_rust::xxh3::{xxh3_128, xxh3_128_with_seed};

/// The words of a file that the keys of its blocks are made from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct FileKey {
    file: u64,
    block: u64,
    stable: bool,
}

impl FileKey {
    /// The key of a file whose properties give it an identity.
    pub(crate) fn stable(unique_id: [u64; 2], file_size: u64, footer: &[u8]) -> Self {
        let (file, block) = base_key(unique_id);
        let mix = xxh3_128_with_seed(footer, file_size);
        Self { file: file ^ (mix >> 64) as u64, block: block ^ mix as u64, stable: true }
    }

    /// A key that no other file has, nor this one when it is opened again.
    pub(crate) fn random() -> Self {
        // Each state draws on the randomness of the standard library's hash maps, and no two are
        // alike.
        let word = || RandomState::new().hash_one(0u8);
        Self { file: word(), block: word(), stable: false }
    }

    /// Whether the keys outlive this opening of the file.
    pub(crate) fn is_stable(self) -> bool {
        self.stable
    }

    /// The key of the block at `offset`.
    #[inline]
    pub(crate) fn block(self, offset: u64) -> CacheKey {
        CacheKey::new(self.file, self.block ^ (offset >> 2))
    }
}

/// The id of a table that a MANIFEST records: from the id of the database and of the session that
/// made the table, and its number then.
pub(crate) fn internal_unique_id(db_id: &str, session_id: &str, file_number: u64) -> [u64; 2] {
    let (upper, lower) = parse_session(session_id).unwrap_or_else(|| {
        let hash = xxh3_128(session_id.as_bytes());
        let (upper, lower) = ((hash >> 64) as u64, hash as u64);
        (upper, if lower == 0 { upper | 1 } else { lower })
    });
    let db = xxh3_128_with_seed(db_id.as_bytes(), upper);
    [lower, (db >> 64) as u64 ^ file_number]
}

/// A session id in its usual spelling: base-36 digits, the last 12 of which are 62 bits.
fn parse_session(session: &str) -> Option<(u64, u64)> {
    const LOW_DIGITS: usize = 12;
    if !(13..=24).contains(&session.len()) || !session.bytes().all(|b| b.is_ascii_alphanumeric()) {
        return None;
    }
    let (high, low) = session.split_at_checked(session.len() - LOW_DIGITS)?;
    let high = u64::from_str_radix(high, 36).ok()?;
    let low = u64::from_str_radix(low, 36).ok()?;
    Some((high >> 2, low & (u64::MAX >> 2) | high << 62))
}

/// The two words that RocksDB makes of a table's id.
fn base_key([first, second]: [u64; 2]) -> (u64, u64) {
    let session = if first == 0 { second } else { first };
    let file = downward_involution(session) ^ second.reverse_bits();
    let block = session.reverse_bits();
    if file == 0 { (block, file) } else { (file, block) }
}

/// A linear map that is its own inverse and moves information from high bits to low ones.
fn downward_involution(v: u64) -> u64 {
    [
        (32, u64::MAX),
        (16, 0xffff_0000_ffff_0000),
        (8, 0xff00_ff00_ff00_ff00),
        (4, 0xf0f0_f0f0_f0f0_f0f0),
        (2, 0xcccc_cccc_cccc_cccc),
        (1, 0xaaaa_aaaa_aaaa_aaaa),
    ]
    .into_iter()
    .fold(v, |r, (shift, mask)| r ^ (r & mask) >> shift)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const DB: &str = "1ddeee86-80ad-45ab-bea0-64304d0fe9b7";
    const SESSION: &str = "RQHYZN4YMTGFI6GWRNXW";

    fn bytes((file, block): (u64, u64), offset: u64) -> u128 {
        let mut both = [0; 16];
        both[..8].copy_from_slice(&file.to_le_bytes());
        both[8..].copy_from_slice(&(block ^ offset >> 2).to_le_bytes());
        u128::from_be_bytes(both)
    }

    #[test]
    fn ids_and_base_keys_are_those_of_rocksdb() {
        let (upper, lower) = parse_session(SESSION).unwrap();
        assert_eq!((upper, lower), (0x7e_83e7_8178, 0xa9ae_2173_226b_f1f4));
        let id = internal_unique_id(DB, SESSION, 9);
        assert_eq!(id, [0xa9ae_2173_226b_f1f4, 0xdd10_94c1_c984_1455]);
        let base = base_key(id);
        assert_eq!(base, (0x682f_d1d3_7175_41a4, 0x2f8f_d644_ce84_7595));
        assert_eq!(bytes(base, 0), 0xa441_7571_d3d1_2f68_9575_84ce_44d6_8f2f);
        assert_eq!(bytes(base, 96), 0xa441_7571_d3d1_2f68_8d75_84ce_44d6_8f2f);
    }

    #[test]
    fn malformed_sessions_are_hashed() {
        let base = base_key(internal_unique_id("unknown", "weird", 7));
        assert_eq!(bytes(base, 0), 0x0138_4877_9abe_a5b4_d1fa_0e76_0ec4_5506);
        for session in ["", "short", "-QHYZN4YMTGFI6GWRNXW", "ÄQHYZN4YMTGFI6GWRNXW"] {
            assert_eq!(parse_session(session), None);
        }
    }

    #[test]
    fn size_and_footer_tell_files_apart() {
        let id = internal_unique_id(DB, SESSION, 9);
        let key = FileKey::stable(id, 1217, b"footer");
        assert_eq!(key, FileKey::stable(id, 1217, b"footer"));
        assert!(key.is_stable());
        for other in [FileKey::stable(id, 1218, b"footer"), FileKey::stable(id, 1217, b"Footer"), FileKey::random()] {
            assert_ne!(key.block(0).file(), other.block(0).file());
            assert_ne!(key.block(0).block(), other.block(0).block());
        }
    }

    proptest! {
        #[test]
        fn blocks_of_a_file_share_the_first_word(a in 0u64..1 << 40, b in 0u64..1 << 40) {
            let key = FileKey::random();
            prop_assert_eq!(key.block(a).file(), key.block(b).file());
            prop_assert_eq!(key.block(a) == key.block(b), a >> 2 == b >> 2);
        }

        #[test]
        fn the_involution_is_its_own_inverse(v in any::<u64>()) {
            prop_assert_eq!(downward_involution(downward_involution(v)), v);
        }
    }
}
