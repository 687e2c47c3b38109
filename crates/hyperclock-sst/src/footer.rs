//! Footers and block handles: where a table begins to be read.
//!
//! The last 53 bytes of a table, for every format version but 0:
//!
//! ```text
//!            0          1                                   41          45      53
//! v 2..5     checksum   metaindex handle, index handle,     format      magic
//!            type       zero padding                        version
//! v 6, 7     checksum   3e 00 7a 00 | checksum | context    format      magic
//!            type       | metaindex size | 24 zero bytes    version
//! ```
//!
//! From version 6 on the footer has a checksum of its own, the metaindex lies directly before it,
//! and the index handle moves into the metaindex.

use crate::checksum::{ChecksumType, context_modifier};
use crate::coding::{Reader, fixed32_at, fixed64_at, put_varint64};
use crate::error::Defect;

/// Bytes of a footer.
pub(crate) const FOOTER_SIZE: usize = 53;

/// Bytes after each block: compression type and checksum.
pub(crate) const BLOCK_TRAILER_LEN: usize = 5;

pub(crate) const BLOCK_BASED_MAGIC: u64 = 0x88e2_41b7_85f4_cff7;
const LEGACY_MAGIC: u64 = 0xdb47_7524_8b80_fb57;
const PLAIN_TABLE_MAGIC: u64 = 0x8242_2296_63bf_9564;
const LEGACY_PLAIN_TABLE_MAGIC: u64 = 0x4f34_18eb_7a8f_13b8;
const CUCKOO_TABLE_MAGIC: u64 = 0x9267_89d0_c5f1_7873;
const EXTENDED_MAGIC: [u8; 4] = [0x3e, 0x00, 0x7a, 0x00];

/// Where a block is. The size does not include the trailer.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Hash)]
pub(crate) struct BlockHandle {
    pub(crate) offset: u64,
    pub(crate) size: u64,
}

impl BlockHandle {
    /// Appends the handle to `out`.
    pub(crate) fn put(self, out: &mut Vec<u8>) {
        put_varint64(out, self.offset);
        put_varint64(out, self.size);
    }

    /// Reads a handle: two varints.
    #[inline]
    pub(crate) fn read(reader: &mut Reader<'_>) -> Option<Self> {
        Some(Self { offset: reader.varint64()?, size: reader.varint64()? })
    }
}

/// A parsed footer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Footer {
    pub(crate) format_version: u32,
    pub(crate) checksum: ChecksumType,
    /// Seed of context checksums; 0 before version 6.
    pub(crate) base_context: u32,
    pub(crate) metaindex: BlockHandle,
    /// Before version 6; later the metaindex names the index.
    pub(crate) index: Option<BlockHandle>,
    /// Where the footer begins: all blocks end before.
    pub(crate) offset: u64,
}

impl Footer {
    /// Parses the last [`FOOTER_SIZE`] bytes of a file of `file_size` bytes, or all of it if it is
    /// shorter.
    pub(crate) fn parse(tail: &[u8], file_size: u64) -> Result<Self, Defect> {
        let too_short = || Defect::corrupt("the file is too short for a table");
        let magic_at = tail.len().checked_sub(8).ok_or_else(too_short)?;
        let magic = fixed64_at(tail, magic_at).ok_or_else(too_short)?;
        let old =
            |what: &str| Defect::unsupported(format!("{what}; compact the database with RocksDB 4.6 to 10 first"));
        match magic {
            BLOCK_BASED_MAGIC => {}
            LEGACY_MAGIC => return Err(old("format_version 0")),
            PLAIN_TABLE_MAGIC | LEGACY_PLAIN_TABLE_MAGIC => return Err(old("plain table format")),
            CUCKOO_TABLE_MAGIC => return Err(old("cuckoo table format")),
            other => {
                return Err(Defect::corrupt(format!("magic number {other:#018x} is not that of a table")));
            }
        }
        let footer: &[u8; FOOTER_SIZE] = tail.last_chunk().ok_or_else(too_short)?;
        let offset = file_size.checked_sub(FOOTER_SIZE as u64).ok_or_else(too_short)?;
        let format_version = fixed32_at(footer, 41).ok_or_else(too_short)?;
        match format_version {
            0 => {
                return Err(Defect::corrupt("format_version 0 under the magic of a later one"));
            }
            1 => return Err(old("format_version 1")),
            2..=7 => {}
            v => {
                return Err(Defect::unsupported(format!(
                    "format_version {v}: the file was written by a newer RocksDB"
                )));
            }
        }
        let mut reader = Reader::new(footer);
        let checksum = reader.u8().ok_or_else(too_short)?;
        let checksum = ChecksumType::from_u8(checksum)
            .ok_or_else(|| Defect::corrupt(format!("checksum type {checksum} is unknown")))?;
        let mut parsed =
            Self { format_version, checksum, base_context: 0, metaindex: BlockHandle::default(), index: None, offset };
        if format_version < 6 {
            let handle = |reader: &mut Reader<'_>| {
                BlockHandle::read(reader).ok_or_else(|| Defect::corrupt("a block handle does not end"))
            };
            parsed.metaindex = handle(&mut reader)?;
            parsed.index = Some(handle(&mut reader)?);
        } else {
            parsed.read_extended(footer)?;
        }
        Ok(parsed)
    }

    fn read_extended(&mut self, footer: &[u8; FOOTER_SIZE]) -> Result<(), Defect> {
        let short = || Defect::corrupt("the file is too short for its metaindex");
        let mut reader = Reader::new(footer.get(1..41).ok_or_else(short)?);
        if reader.take(4) != Some(&EXTENDED_MAGIC[..]) {
            return Err(Defect::corrupt("bad extended magic number"));
        }
        let stored = reader.fixed32().ok_or_else(short)?;
        self.base_context = reader.fixed32().ok_or_else(short)?;
        let metaindex_size = u64::from(reader.fixed32().ok_or_else(short)?);
        if self.base_context == 0 {
            return Err(Defect::corrupt("the context of checksums is 0"));
        }
        let mut zeroed = *footer;
        if let Some(field) = zeroed.get_mut(5..9) {
            field.fill(0);
        }
        let computed =
            self.checksum.compute_all(&zeroed).wrapping_add(context_modifier(self.base_context, self.offset));
        if self.checksum != ChecksumType::None && stored != computed {
            return Err(Defect::corrupt(format!(
                "bad checksum of the footer: stored {stored:#010x}, computed {computed:#010x}"
            )));
        }
        if footer.get(33..41).is_none_or(|reserved| reserved != [0; 8]) {
            return Err(Defect::unsupported(
                "reserved bytes of the footer are in use: the file was written by a newer RocksDB",
            ));
        }
        self.metaindex = BlockHandle {
            offset: self.offset.checked_sub(BLOCK_TRAILER_LEN as u64 + metaindex_size).ok_or_else(short)?,
            size: metaindex_size,
        };
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn v5() -> Vec<u8> {
        let mut footer = vec![4, 0xb8, 0x08, 0x4f, 0xaa, 0x01, 0x12];
        footer.resize(41, 0);
        footer.extend_from_slice(&5u32.to_le_bytes());
        footer.extend_from_slice(&BLOCK_BASED_MAGIC.to_le_bytes());
        footer
    }

    fn v6() -> Vec<u8> {
        let mut footer =
            vec![0x04, 0x3e, 0x00, 0x7a, 0x00, 0xd6, 0xd8, 0x3d, 0xb7, 0xd0, 0x80, 0xc9, 0x36, 0x65, 0, 0, 0];
        footer.resize(41, 0);
        footer.extend_from_slice(&6u32.to_le_bytes());
        footer.extend_from_slice(&BLOCK_BASED_MAGIC.to_le_bytes());
        footer
    }

    #[test]
    fn a_version_5_footer_has_both_handles() {
        let footer = Footer::parse(&v5(), 1217).unwrap();
        assert_eq!(footer.format_version, 5);
        assert_eq!(footer.checksum, ChecksumType::Xxh3);
        let handle = |offset, size| BlockHandle { offset, size };
        assert_eq!(footer.metaindex, handle(1080, 79));
        assert_eq!(footer.index, Some(handle(170, 18)));
        assert_eq!(footer.offset, 1164);
    }

    #[test]
    fn a_version_6_footer_is_checked_at_its_offset() {
        let footer = Footer::parse(&v6(), 1217).unwrap();
        assert_eq!(footer.base_context, 0x36c9_80d0);
        assert_eq!(footer.metaindex.offset, 1058);
        assert_eq!(footer.metaindex.size, 101);
        assert_eq!(footer.index, None);
        assert!(Footer::parse(&v6(), 1218).is_err());
    }

    #[test]
    fn every_flip_in_a_version_6_footer_is_found() {
        let good = v6();
        for at in 0..good.len() {
            for bit in 0..8 {
                let mut bad = good.clone();
                bad[at] ^= 1 << bit;
                // One flip leads to the checksum type that checks nothing, and some to versions
                // without a checksum, whose handles are then elsewhere.
                let parsed = Footer::parse(&bad, 1217);
                let good = Footer::parse(&good, 1217).unwrap();
                assert!(
                    parsed.as_ref().is_ok_and(|f| bad[0] == 0 || f.metaindex != good.metaindex) || parsed.is_err(),
                    "flip of bit {bit} at {at} gave {parsed:?}"
                );
            }
        }
    }

    #[test]
    fn other_formats_are_named() {
        let unsupported = |bytes: &[u8], word: &str| {
            let Err(Defect::Unsupported(what)) = Footer::parse(bytes, 4096) else {
                panic!("not refused as unsupported: {word}");
            };
            assert!(what.contains(word), "{what}");
        };
        for (version, word) in [(1u32, "format_version 1"), (8, "newer RocksDB")] {
            let mut footer = v5();
            footer[41..45].copy_from_slice(&version.to_le_bytes());
            unsupported(&footer, word);
        }
        for (magic, word) in [
            (LEGACY_MAGIC, "format_version 0"),
            (PLAIN_TABLE_MAGIC, "plain"),
            (LEGACY_PLAIN_TABLE_MAGIC, "plain"),
            (CUCKOO_TABLE_MAGIC, "cuckoo"),
        ] {
            unsupported(&magic.to_le_bytes(), word);
        }
    }

    proptest! {
        #[test]
        fn footers_never_panic(
            mut bytes in proptest::collection::vec(any::<u8>(), 0..80),
            version in 0u32..9,
            size in any::<u64>(),
        ) {
            let _ = Footer::parse(&bytes, size);
            bytes.extend_from_slice(&version.to_le_bytes());
            bytes.extend_from_slice(&BLOCK_BASED_MAGIC.to_le_bytes());
            let _ = Footer::parse(&bytes, size);
        }
    }
}
