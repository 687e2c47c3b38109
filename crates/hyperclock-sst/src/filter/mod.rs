//! Filters: whether a table can hold a key, without reading its data.
//!
//! A filter block, or one partition of a filter, is bits followed by 5 bytes that say what they
//! are. [`FilterBlock`] reads those bytes once and dispatches on them, never on what the
//! properties or options promise: a policy may mix kinds within a file.
//!
//! | marker | kind |
//! |---|---|
//! | -1 | [`fast_local_bloom`], format version 5 and later |
//! | 1 to 127 | [`legacy_bloom`], the marker being the number of probes |
//! | 0 | matches every key |
//! | other, such as Ribbon's -2 | unknown here: matches every key, and the table is counted |
//!
//! At most 5 bytes mean that no key was added, so none matches. A filter may be wrong in one
//! direction only: whatever its bytes, a "no" comes only from a kind that is known in full.

pub(crate) mod fast_local_bloom;
pub(crate) mod legacy_bloom;
pub(crate) mod xxph3;

use fast_local_bloom::FastLocalBloom;
use legacy_bloom::LegacyBloom;

/// Bytes at the end of a filter that describe it.
pub(crate) const METADATA_LEN: usize = 5;

/// What the metadata of a filter says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    NeverMatches,
    AlwaysMatches,
    FastLocalBloom(FastLocalBloom),
    LegacyBloom(LegacyBloom),
    Unknown,
}

impl Kind {
    /// `bits` is the length of the filter without its metadata.
    fn parse(bits: usize, metadata: [u8; METADATA_LEN]) -> Self {
        let [marker, rest @ ..] = metadata;
        let kind = match marker.cast_signed() {
            0 => return Self::AlwaysMatches,
            probes @ 1.. => {
                LegacyBloom::new(probes.cast_unsigned(), u32::from_le_bytes(rest), bits).map(Self::LegacyBloom)
            }
            -1 => FastLocalBloom::new(rest, bits).map(Self::FastLocalBloom),
            _ => None,
        };
        kind.unwrap_or(Self::Unknown)
    }
}

/// A filter, or a partition of one.
#[derive(Debug)]
pub(crate) struct FilterBlock {
    bytes: Box<[u8]>,
    bits: usize,
    kind: Kind,
}

impl FilterBlock {
    /// Reads the description of a filter. Cannot fail: what is not understood matches every key.
    pub(crate) fn parse(bytes: Box<[u8]>) -> Self {
        let (bits, kind) = match bytes.split_last_chunk::<METADATA_LEN>() {
            None | Some(([], _)) => (0, Kind::NeverMatches),
            Some((bits, metadata)) => (bits.len(), Kind::parse(bits.len(), *metadata)),
        };
        Self { bytes, bits, kind }
    }

    /// Whether a filter of `len` bytes that ends in `metadata` is of a kind that is not known.
    pub(crate) fn is_unknown(len: usize, metadata: [u8; METADATA_LEN]) -> bool {
        len > METADATA_LEN && Kind::parse(len - METADATA_LEN, metadata) == Kind::Unknown
    }

    /// Bytes that the filter owns.
    pub(crate) fn len(&self) -> usize {
        self.bytes.len()
    }

    /// False only if `key` was not added.
    #[inline]
    pub(crate) fn may_match(&self, key: &[u8]) -> bool {
        let bits = self.bytes.get(..self.bits).unwrap_or_default();
        match self.kind {
            Kind::FastLocalBloom(bloom) => bloom.may_match(bits, xxph3::xxph3_64(key)),
            Kind::LegacyBloom(bloom) => bloom.may_match(bits, key),
            Kind::NeverMatches => false,
            Kind::AlwaysMatches | Kind::Unknown => true,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_filter_without_bits_matches_nothing() {
        for len in 0..=METADATA_LEN {
            let filter = FilterBlock::parse(vec![0; len].into());
            assert!(!filter.may_match(b"k"));
        }
        assert!(FilterBlock::parse(vec![0; 6].into()).may_match(b"k"));
    }

    #[test]
    fn kinds_that_are_not_known_match_everything() {
        for metadata in
            [[0xfe, 1, 2, 0, 0], [0x80, 0, 0, 0, 0], [0xff, 1, 6, 0, 0], [0xff, 0, 0x26, 0, 0], [0xff, 0, 31, 0, 0]]
        {
            let mut bytes = vec![0; 64];
            bytes.extend_from_slice(&metadata);
            assert!(FilterBlock::is_unknown(bytes.len(), metadata));
            assert!(FilterBlock::parse(bytes.into()).may_match(b"k"));
        }
        assert!(!FilterBlock::is_unknown(5, [0xfe, 0, 0, 0, 0]));
        assert!(!FilterBlock::is_unknown(69, [0xff, 0, 6, 0, 0]));
    }

    proptest! {
        #[test]
        fn filters_never_panic(
            bytes in proptest::collection::vec(any::<u8>(), 0..300),
            key in proptest::collection::vec(any::<u8>(), 0..20),
        ) {
            let _ = FilterBlock::parse(bytes.into()).may_match(&key);
        }
    }
}
