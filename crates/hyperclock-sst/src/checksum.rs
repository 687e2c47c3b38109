//! Checksums of blocks and footers.
//!
//! A block is followed by its compression type, one byte, and a 32-bit checksum over the stored
//! bytes and that byte. The kind of checksum is a property of the file. From format version 6 on,
//! a *context* is added: a file-wide random word mixed with the offset, so that an intact block
//! read from the wrong place, or the wrong file, fails too.
//!
//! CRC-32C is stored *masked* (rotated, plus a constant), because a CRC over bytes that contain
//! their own CRC has a fixed value. XXH3 does not hash the last byte but multiplies it in: a
//! writer can hash a block before it knows the type.

use xxhash_rust::{xxh3::xxh3_64, xxh32::xxh32, xxh64::Xxh64};

/// The kinds of checksum that the format numbers 0 to 4.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash, Default)]
#[non_exhaustive]
pub enum ChecksumType {
    /// Nothing is checked.
    None,
    /// CRC-32C, masked.
    Crc32c,
    /// XXH32 with seed 0.
    XxHash32,
    /// The low half of XXH64 with seed 0.
    XxHash64,
    /// The low half of XXH3-64, the last byte multiplied in.
    #[default]
    Xxh3,
}

const XXH3_LAST_BYTE_FACTOR: u32 = 0x6b90_83d9;
const CRC_MASK_DELTA: u32 = 0xa282_ead8;

impl ChecksumType {
    /// The kind of that number.
    pub const fn from_u8(byte: u8) -> Option<Self> {
        Some(match byte {
            0 => Self::None,
            1 => Self::Crc32c,
            2 => Self::XxHash32,
            3 => Self::XxHash64,
            4 => Self::Xxh3,
            _ => return None,
        })
    }

    /// The number on disk.
    pub const fn as_u8(self) -> u8 {
        match self {
            Self::None => 0,
            Self::Crc32c => 1,
            Self::XxHash32 => 2,
            Self::XxHash64 => 3,
            Self::Xxh3 => 4,
        }
    }

    /// The name in the RocksDB documentation.
    pub const fn name(self) -> &'static str {
        match self {
            Self::None => "kNoChecksum",
            Self::Crc32c => "kCRC32c",
            Self::XxHash32 => "kxxHash",
            Self::XxHash64 => "kxxHash64",
            Self::Xxh3 => "kXXH3",
        }
    }

    /// The checksum of `bytes` followed by `last`: a block and its compression type.
    pub(crate) fn compute(self, bytes: &[u8], last: u8) -> u32 {
        match self {
            Self::None => 0,
            Self::Crc32c => {
                let mut digest = crc_fast::Digest::new(crc_fast::CrcAlgorithm::Crc32Iscsi);
                digest.update(bytes);
                digest.update(&[last]);
                mask_crc(digest.finalize() as u32)
            }
            Self::XxHash32 => {
                let mut digest = xxhash_rust::xxh32::Xxh32::new(0);
                digest.update(bytes);
                digest.update(&[last]);
                digest.digest()
            }
            Self::XxHash64 => {
                let mut digest = Xxh64::new(0);
                digest.update(bytes);
                digest.update(&[last]);
                digest.digest() as u32
            }
            Self::Xxh3 => xxh3_64(bytes) as u32 ^ u32::from(last).wrapping_mul(XXH3_LAST_BYTE_FACTOR),
        }
    }

    /// The checksum of a buffer as a whole: a footer. Faster than [`Self::compute`] for the kinds
    /// that hash every byte alike, when the caller has block and type side by side.
    pub(crate) fn compute_all(self, bytes: &[u8]) -> u32 {
        match self {
            Self::None => 0,
            Self::Crc32c => mask_crc(crc32c(bytes)),
            Self::XxHash32 => xxh32(bytes, 0),
            Self::XxHash64 => xxhash_rust::xxh64::xxh64(bytes, 0) as u32,
            Self::Xxh3 => match bytes {
                [] => 0,
                [head @ .., last] => self.compute(head, *last),
            },
        }
    }
}

/// CRC-32C (Castagnoli), unmasked.
pub(crate) fn crc32c(bytes: &[u8]) -> u32 {
    crc_fast::crc32_iscsi(bytes)
}

/// The stored form of a CRC-32C.
pub(crate) const fn mask_crc(crc: u32) -> u32 {
    crc.rotate_right(15).wrapping_add(CRC_MASK_DELTA)
}

/// What format version 6 adds to a checksum: depends on a word of the file and on the offset of
/// the block or footer. 0 when `base` is 0, as it is before version 6.
pub(crate) const fn context_modifier(base: u32, offset: u64) -> u32 {
    if base == 0 {
        return 0;
    }
    base ^ (offset as u32).wrapping_add((offset >> 32) as u32)
}

#[cfg(test)]
mod tests {
    use super::*;

    const KINDS: [ChecksumType; 5] =
        [ChecksumType::None, ChecksumType::Crc32c, ChecksumType::XxHash32, ChecksumType::XxHash64, ChecksumType::Xxh3];

    #[test]
    fn crc32c_vector_and_mask() {
        assert_eq!(crc32c(b"123456789"), 0xe306_9283);
        assert_eq!(mask_crc(0xe306_9283), 0xc78a_b0e5);
    }

    #[test]
    fn numbers_round_trip() {
        for kind in KINDS {
            assert_eq!(ChecksumType::from_u8(kind.as_u8()), Some(kind));
        }
        assert_eq!(ChecksumType::from_u8(5), None);
    }

    #[test]
    fn split_and_whole_agree() {
        let bytes: Vec<u8> = (0..=255).collect();
        for kind in KINDS {
            for n in [1, 2, 17, 256] {
                let (last, head) = bytes[..n].split_last().unwrap();
                assert_eq!(kind.compute(head, *last), kind.compute_all(&bytes[..n]));
            }
        }
    }

    #[test]
    fn xxh3_multiplies_the_last_byte_in() {
        let plain = ChecksumType::Xxh3.compute(b"block", 0);
        assert_eq!(ChecksumType::Xxh3.compute(b"block", 2) ^ plain, 0x6b90_83d9u32.wrapping_mul(2));
        assert_eq!(ChecksumType::Xxh3.compute_all(b""), 0);
    }

    #[test]
    fn context_depends_on_file_and_offset() {
        assert_eq!(context_modifier(0x36c9_80d0, 0x48c), 0x36c9_845c);
        assert_eq!(context_modifier(0x2cee_0555, 0x5a0), 0x2cee_00f5);
        assert_eq!(context_modifier(0x36c9_80d0, 38), 0x36c9_80f6);
        assert_eq!(context_modifier(0, 38), 0);
        assert_ne!(context_modifier(1, 1 << 32), context_modifier(1, 2 << 32));
    }
}
