//! Frames records as a log: the container of a MANIFEST.
//!
//! A log is a row of blocks of 32 KiB. A record is cut into fragments that never straddle a block; each has a header of
//! seven bytes: masked CRC-32C of type and payload, payload length (16 bits), type (full, first, middle, last). Where
//! fewer than seven bytes are left in a block, zeros fill it.

use crate::checksum::{crc32c, mask_crc};
use crate::coding::put_fixed16;

const BLOCK: usize = 32 * 1024;
const HEADER: usize = 7;

/// Fragment types.
const FULL: u8 = 1;
const FIRST: u8 = 2;
const MIDDLE: u8 = 3;
const LAST: u8 = 4;

/// A log in memory.
#[derive(Debug, Default)]
pub(crate) struct LogWriter {
    bytes: Vec<u8>,
}

impl LogWriter {
    pub(crate) fn add_record(&mut self, record: &[u8]) {
        let mut rest = record;
        let mut is_first = true;
        loop {
            let left = BLOCK - self.bytes.len() % BLOCK;
            if left < HEADER {
                self.bytes.resize(self.bytes.len() + left, 0);
                continue;
            }
            let (fragment, behind) = rest.split_at(rest.len().min(left - HEADER));
            let kind = match (is_first, behind.is_empty()) {
                (true, true) => FULL,
                (true, false) => FIRST,
                (false, false) => MIDDLE,
                (false, true) => LAST,
            };
            self.add_fragment(kind, fragment);
            if behind.is_empty() {
                return;
            }
            rest = behind;
            is_first = false;
        }
    }

    pub(crate) fn into_bytes(self) -> Vec<u8> {
        self.bytes
    }

    fn add_fragment(&mut self, kind: u8, payload: &[u8]) {
        let start = self.bytes.len();
        self.bytes.extend_from_slice(&[0; 4]);
        put_fixed16(&mut self.bytes, payload.len() as u16);
        self.bytes.push(kind);
        self.bytes.extend_from_slice(payload);
        let checksum = mask_crc(crc32c(&self.bytes[start + 6..]));
        self.bytes[start..start + 4].copy_from_slice(&checksum.to_le_bytes());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_short_record_is_one_fragment() {
        let mut log = LogWriter::default();
        log.add_record(&[0x02, 0x00, 0x04, 0x00]);
        assert_eq!(log.into_bytes(), [0xf4, 0x03, 0x0c, 0x5a, 4, 0, FULL, 0x02, 0x00, 0x04, 0x00]);
    }

    #[test]
    fn a_long_record_is_cut_at_blocks() {
        let mut log = LogWriter::default();
        log.add_record(&vec![7; BLOCK - 2 * HEADER - 3]);
        // Seven bytes and three are left: the header and three bytes fit.
        log.add_record(&vec![8; BLOCK]);
        let bytes = log.into_bytes();
        assert_eq!(bytes[6], FULL);
        assert_eq!(bytes[BLOCK - HEADER - 3 + 6], FIRST);
        assert_eq!(bytes[BLOCK + 6], MIDDLE);
        assert_eq!(bytes[2 * BLOCK + 6], LAST);
        assert_eq!(bytes.len(), BLOCK * 2 + HEADER + (BLOCK - 3 - (BLOCK - HEADER)));
    }

    #[test]
    fn a_block_without_room_for_a_header_is_filled_with_zeros() {
        let mut log = LogWriter::default();
        log.add_record(&vec![7; BLOCK - HEADER - 6]);
        log.add_record(b"x");
        let bytes = log.into_bytes();
        assert_eq!(bytes[BLOCK - 6..BLOCK], [0; 6]);
        assert_eq!(bytes.len(), BLOCK + HEADER + 1);
    }
}
