//! Internal keys, value types and comparators.
//!
//! A table stores *internal keys*: the user's key, followed by 8 bytes `sequence << 8 | type` in
//! little-endian order. Internal keys order by user key ascending under the comparator, then by
//! that trailer **descending**, so the newest version of a key comes first and a seek to
//! `(user key, snapshot)` lands on the newest version that the snapshot sees.
//!
//! The order is decided by [`InternalOrder`]. It knows the two comparators that nearly every
//! database uses and compares without a call through a trait object for them; the format ties
//! their names to their order, so a name is all it looks at.

use std::cmp::Ordering;
use std::fmt;
use std::sync::Arc;

use crate::coding::fixed64_at;

/// Bytes that an internal key adds to the user key.
pub(crate) const TRAILER_LEN: usize = 8;

/// The largest sequence number: 56 bits.
pub const MAX_SEQUENCE: u64 = (1 << 56) - 1;

/// The type byte of a seek target: sorts before every stored entry of the same sequence number.
pub(crate) const SEEK_TYPE: u8 = 0x7f;

/// What kind of record an internal key labels. Only types that occur as keyed records in tables
/// and write-ahead logs have a name; any other byte is kept as [`ValueType::Other`].
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
#[non_exhaustive]
pub enum ValueType {
    /// 0x00: a tombstone for one key.
    Deletion,
    /// 0x01: a plain value.
    Value,
    /// 0x02: a merge operand.
    Merge,
    /// 0x07: a tombstone that promises there is a single older value.
    SingleDeletion,
    /// 0x0f: a tombstone for a range of keys.
    RangeDeletion,
    /// 0x11: the value is a pointer into a blob file.
    BlobIndex,
    /// 0x14: a tombstone under user-defined timestamps.
    DeletionWithTimestamp,
    /// 0x16: the value is a wide-column entity.
    WideColumnEntity,
    /// 0x18: a value that carries its preferred sequence number in 8 extra bytes (`TimedPut`).
    ValuePreferredSeqno,
    /// A byte that labels no record a table can hold.
    Other(u8),
}

impl ValueType {
    /// The type of that number.
    #[inline]
    pub const fn from_u8(byte: u8) -> Self {
        match byte {
            0x00 => Self::Deletion,
            0x01 => Self::Value,
            0x02 => Self::Merge,
            0x07 => Self::SingleDeletion,
            0x0f => Self::RangeDeletion,
            0x11 => Self::BlobIndex,
            0x14 => Self::DeletionWithTimestamp,
            0x16 => Self::WideColumnEntity,
            0x18 => Self::ValuePreferredSeqno,
            other => Self::Other(other),
        }
    }

    /// The number on disk.
    #[inline]
    pub const fn as_u8(self) -> u8 {
        match self {
            Self::Deletion => 0x00,
            Self::Value => 0x01,
            Self::Merge => 0x02,
            Self::SingleDeletion => 0x07,
            Self::RangeDeletion => 0x0f,
            Self::BlobIndex => 0x11,
            Self::DeletionWithTimestamp => 0x14,
            Self::WideColumnEntity => 0x16,
            Self::ValuePreferredSeqno => 0x18,
            Self::Other(byte) => byte,
        }
    }
}

/// A parsed internal key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InternalKey<'a> {
    /// The key as the user wrote it.
    pub user_key: &'a [u8],
    /// The sequence number of the write, at most [`MAX_SEQUENCE`].
    pub sequence: u64,
    /// What the record is.
    pub value_type: ValueType,
}

impl<'a> InternalKey<'a> {
    /// Splits an encoded internal key. `None` if it is shorter than its trailer.
    #[inline]
    pub fn parse(encoded: &'a [u8]) -> Option<Self> {
        let (user_key, trailer) = split_internal_key(encoded)?;
        Some(Self { user_key, sequence: trailer >> 8, value_type: ValueType::from_u8(trailer as u8) })
    }

    /// Appends the encoded form to `out`.
    pub fn encode_into(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(self.user_key);
        let trailer = pack_trailer(self.sequence, self.value_type.as_u8());
        out.extend_from_slice(&trailer.to_le_bytes());
    }

    /// The encoded form.
    pub fn encode(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(self.user_key.len() + TRAILER_LEN);
        self.encode_into(&mut out);
        out
    }
}

/// Writes into `out`, emptied first, the target of a seek for the newest version of `user_key`
/// that is visible at `sequence`.
pub fn encode_seek_key(out: &mut Vec<u8>, user_key: &[u8], sequence: u64) {
    out.clear();
    out.reserve(user_key.len() + TRAILER_LEN);
    out.extend_from_slice(user_key);
    out.extend_from_slice(&pack_trailer(sequence.min(MAX_SEQUENCE), SEEK_TYPE).to_le_bytes());
}

/// The 8 bytes after the user key, as a number.
pub(crate) const fn pack_trailer(sequence: u64, value_type: u8) -> u64 {
    sequence << 8 | value_type as u64
}

/// User key and trailer of an encoded internal key.
#[inline]
pub(crate) fn split_internal_key(encoded: &[u8]) -> Option<(&[u8], u64)> {
    let at = encoded.len().checked_sub(TRAILER_LEN)?;
    Some((encoded.get(..at)?, fixed64_at(encoded, at)?))
}

/// The user key of an encoded internal key; all of it if it is shorter than a trailer.
#[inline]
pub(crate) fn user_key_of(encoded: &[u8]) -> &[u8] {
    split_internal_key(encoded).map_or(encoded, |(user_key, _)| user_key)
}

/// A total order on user keys, known to the database by its name.
///
/// Two comparators of the same name must order alike: a file is refused only by name.
pub trait Comparator: Send + Sync + 'static {
    /// The name that the database records.
    fn name(&self) -> &str;
    /// The order of two user keys.
    fn compare(&self, a: &[u8], b: &[u8]) -> Ordering;
}

/// Order of bytes, a prefix first: the default of RocksDB.
#[derive(Clone, Copy, Debug, Default)]
pub struct BytewiseComparator;

/// The reverse of [`BytewiseComparator`].
#[derive(Clone, Copy, Debug, Default)]
pub struct ReverseBytewiseComparator;

const BYTEWISE_NAME: &str = "leveldb.BytewiseComparator";
const REVERSE_BYTEWISE_NAME: &str = "rocksdb.ReverseBytewiseComparator";
/// Comparators whose names end so keep a timestamp at the end of each user key.
pub(crate) const TIMESTAMP_SUFFIX: &str = ".u64ts";

impl Comparator for BytewiseComparator {
    fn name(&self) -> &str {
        BYTEWISE_NAME
    }
    fn compare(&self, a: &[u8], b: &[u8]) -> Ordering {
        a.cmp(b)
    }
}

impl Comparator for ReverseBytewiseComparator {
    fn name(&self) -> &str {
        REVERSE_BYTEWISE_NAME
    }
    fn compare(&self, a: &[u8], b: &[u8]) -> Ordering {
        b.cmp(a)
    }
}

/// The built-in comparator of that name.
pub fn comparator_by_name(name: &str) -> Option<Arc<dyn Comparator>> {
    match name {
        BYTEWISE_NAME => Some(Arc::new(BytewiseComparator)),
        REVERSE_BYTEWISE_NAME => Some(Arc::new(ReverseBytewiseComparator)),
        _ => None,
    }
}

/// The order of internal keys under a comparator of user keys.
#[derive(Clone)]
pub(crate) enum InternalOrder {
    Bytewise,
    ReverseBytewise,
    Custom(Arc<dyn Comparator>),
}

impl InternalOrder {
    pub(crate) fn new(comparator: &Arc<dyn Comparator>) -> Self {
        match comparator.name() {
            BYTEWISE_NAME => Self::Bytewise,
            REVERSE_BYTEWISE_NAME => Self::ReverseBytewise,
            _ => Self::Custom(Arc::clone(comparator)),
        }
    }

    #[inline]
    pub(crate) fn compare_user(&self, a: &[u8], b: &[u8]) -> Ordering {
        match self {
            Self::Bytewise => a.cmp(b),
            Self::ReverseBytewise => b.cmp(a),
            Self::Custom(c) => c.compare(a, b),
        }
    }

    /// Compares encoded internal keys. A key too short for a trailer, which only damage or a
    /// caller's mistake can produce, counts as a user key with the largest trailer, so that the
    /// order stays total.
    #[inline]
    pub(crate) fn compare(&self, a: &[u8], b: &[u8]) -> Ordering {
        let (user_a, trailer_a) = split_internal_key(a).unwrap_or((a, u64::MAX));
        let (user_b, trailer_b) = split_internal_key(b).unwrap_or((b, u64::MAX));
        self.compare_user(user_a, user_b).then_with(|| trailer_b.cmp(&trailer_a))
    }
}

impl fmt::Debug for InternalOrder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Bytewise => BYTEWISE_NAME,
            Self::ReverseBytewise => REVERSE_BYTEWISE_NAME,
            Self::Custom(c) => c.name(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(user_key: &[u8], sequence: u64, value_type: ValueType) -> Vec<u8> {
        InternalKey { user_key, sequence, value_type }.encode()
    }

    #[test]
    fn encoding_is_user_key_then_packed_trailer() {
        let encoded = key(b"apple", 5, ValueType::Value);
        assert_eq!(encoded, b"apple\x01\x05\0\0\0\0\0\0");
        let parsed = InternalKey::parse(&encoded).unwrap();
        assert_eq!(parsed.user_key, b"apple");
        assert_eq!(parsed.sequence, 5);
        assert_eq!(parsed.value_type, ValueType::Value);
        assert!(InternalKey::parse(b"1234567").is_none());
        assert!(InternalKey::parse(b"12345678").is_some());
    }

    #[test]
    fn newer_versions_sort_first() {
        let order = InternalOrder::Bytewise;
        let newer = key(b"k", 9, ValueType::Value);
        let older = key(b"k", 8, ValueType::Deletion);
        assert_eq!(order.compare(&newer, &older), Ordering::Less);
        assert_eq!(order.compare(&older, &key(b"l", 99, ValueType::Value)), Ordering::Less);
        assert_eq!(InternalOrder::ReverseBytewise.compare(&older, &key(b"l", 99, ValueType::Value)), Ordering::Greater);
        assert_eq!(InternalOrder::ReverseBytewise.compare(&newer, &older), Ordering::Less);
    }

    #[test]
    fn a_seek_key_sorts_before_what_it_must_see() {
        let order = InternalOrder::Bytewise;
        let mut seek = Vec::new();
        encode_seek_key(&mut seek, b"k", 8);
        for t in [0u8, 1, 2, 7, 0x11, 0x14, 0x16, 0x18] {
            let seen = key(b"k", 8, ValueType::from_u8(t));
            assert_eq!(order.compare(&seek, &seen), Ordering::Less);
            let unseen = key(b"k", 9, ValueType::from_u8(t));
            assert_eq!(order.compare(&seek, &unseen), Ordering::Greater);
        }
    }

    #[test]
    fn only_known_names_have_a_comparator() {
        for name in [BYTEWISE_NAME, REVERSE_BYTEWISE_NAME] {
            assert_eq!(comparator_by_name(name).unwrap().name(), name);
        }
        assert!(comparator_by_name("leveldb.BytewiseComparator.u64ts").is_none());
    }
}
