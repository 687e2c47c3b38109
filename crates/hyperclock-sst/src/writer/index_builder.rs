//! Collects one entry a data block, and builds the index block from them.
//!
//! The entry of a block is a separator, at least its last key and less than the first key of the next block, and the
//! block's handle. Separators are shortened where the comparator is bytewise: an index of short keys holds more of them
//! in a cache line. They are user keys, 8 bytes less each, unless a cut between two blocks fell between versions of one
//! user key: then only sequence numbers tell the blocks apart and every separator of the file is an internal key. That
//! is known only at the end, so entries are kept as parts, about 50 bytes and a separator each.
//!
//! Invariant: separators never decrease, in user-key form strictly increase while `versions_are_split` is false.

use super::block_builder::{BlockBuilder, common_prefix};
use crate::coding::put_fixed64;
use crate::footer::BlockHandle;
use crate::key::{MAX_SEQUENCE, ValueType, pack_trailer};

#[derive(Debug)]
struct Entry {
    user_key: Vec<u8>,
    /// The second half of the separator in its internal-key form.
    trailer: u64,
    block: BlockHandle,
}

#[derive(Debug)]
pub(crate) struct IndexBuilder {
    shorten: bool,
    entries: Vec<Entry>,
    versions_are_split: bool,
}

impl IndexBuilder {
    /// `shorten` is set only for the bytewise comparator.
    pub(crate) fn new(shorten: bool) -> Self {
        Self { shorten, entries: Vec::new(), versions_are_split: false }
    }

    /// Adds the block that ends with (`last_user_key`, `last_trailer`). `next_user_key` begins the block after it; the
    /// last block of a table has none.
    pub(crate) fn add(
        &mut self,
        last_user_key: &[u8],
        last_trailer: u64,
        next_user_key: Option<&[u8]>,
        block: BlockHandle,
    ) {
        let mut user_key = last_user_key.to_vec();
        let mut trailer = last_trailer;
        if let Some(next) = next_user_key {
            if next == last_user_key {
                self.versions_are_split = true;
            } else if self.shorten && shorten_separator(&mut user_key, next) {
                // The key is not in the table, so any trailer separates. RocksDB stores the largest
                // sequence number; this type is one that every release knows.
                trailer = pack_trailer(MAX_SEQUENCE, ValueType::SingleDeletion.as_u8());
            }
        }
        self.entries.push(Entry { user_key, trailer, block });
    }

    /// Number of data blocks.
    pub(crate) fn len(&self) -> usize {
        self.entries.len()
    }

    /// True if the separators are user keys.
    pub(crate) fn keys_are_user_keys(&self) -> bool {
        !self.versions_are_split
    }

    /// The body of the index block.
    pub(crate) fn finish(&self) -> Vec<u8> {
        let mut block = BlockBuilder::new(1);
        let mut key = Vec::new();
        let mut handle = Vec::with_capacity(20);
        for entry in &self.entries {
            key.clear();
            key.extend_from_slice(&entry.user_key);
            if self.versions_are_split {
                put_fixed64(&mut key, entry.trailer);
            }
            handle.clear();
            entry.block.put(&mut handle);
            block.add_full_handle(&key, &handle);
        }
        block.finish().to_vec()
    }
}

/// Replaces `key` by a shorter one that is greater than it and less than `next` in bytewise order, if there is one.
/// `key` is less than `next`.
fn shorten_separator(key: &mut Vec<u8>, next: &[u8]) -> bool {
    let shared = common_prefix(key, next);
    // At `shared` the two differ; if `key` ends there it is a prefix of `next` and nothing shorter lies between.
    let (Some(&byte), Some(&limit)) = (key.get(shared), next.get(shared)) else {
        return false;
    };
    // Raising the byte at `at` and cutting after it gives a greater key. It stays below `next` if the raised byte is
    // below the byte of `next`, or lies behind the position where `key` already is below.
    let at = if byte + 1 < limit {
        Some(shared)
    } else {
        key.iter().skip(shared + 1).position(|&byte| byte < 0xff).map(|behind| shared + 1 + behind)
    };
    match at {
        Some(at) if at + 1 < key.len() => {
            key.truncate(at + 1);
            key[at] += 1;
            true
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn shortened(key: &[u8], next: &[u8]) -> Vec<u8> {
        let mut key = key.to_vec();
        shorten_separator(&mut key, next);
        key
    }

    #[test]
    fn separators_are_short_where_bytes_allow() {
        assert_eq!(shortened(b"abcdef", b"abxyz"), b"abd");
        assert_eq!(shortened(b"abcdef", b"abdef"), b"abce");
        assert_eq!(shortened(b"abc\xff\xffz1", b"abd"), b"abc\xff\xff{");
        assert_eq!(shortened(b"abc", b"abcd"), b"abc");
        assert_eq!(shortened(b"abc", b"abd"), b"abc");
        assert_eq!(shortened(b"ab\xff\xff", b"ac"), b"ab\xff\xff");
        assert_eq!(shortened(b"", b"a"), b"");
    }

    #[test]
    fn one_split_user_key_makes_all_separators_internal() {
        let mut index = IndexBuilder::new(true);
        index.add(b"apple", 0x501, Some(b"cherry"), BlockHandle { offset: 0, size: 10 });
        assert!(index.keys_are_user_keys());
        index.add(b"cherry", 0x401, Some(b"cherry"), BlockHandle { offset: 15, size: 10 });
        index.add(b"cherry", 0x301, None, BlockHandle { offset: 30, size: 10 });
        assert!(!index.keys_are_user_keys());
        let block = index.finish();
        assert_eq!(block[..3], [0, 9, b'b']);
        assert_eq!(index.len(), 3);
    }

    proptest! {
        #[test]
        fn a_shortened_separator_lies_between_the_keys(
            a in proptest::collection::vec(prop_oneof![Just(0u8), Just(1), Just(254), Just(255), any::<u8>()], 0..8),
            b in proptest::collection::vec(prop_oneof![Just(0u8), Just(1), Just(254), Just(255), any::<u8>()], 0..8),
        ) {
            prop_assume!(a != b);
            let (low, high) = if a < b { (a, b) } else { (b, a) };
            let mut separator = low.clone();
            if shorten_separator(&mut separator, &high) {
                prop_assert!(separator.len() < low.len());
                prop_assert!(low < separator && separator < high);
            } else {
                prop_assert_eq!(separator, low);
            }
        }
    }
}
