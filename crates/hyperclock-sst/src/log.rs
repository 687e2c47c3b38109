//! Records of a MANIFEST or of a write-ahead log.
//!
//! Both files share one format: blocks of 32 KiB filled with physical records that never straddle
//! a block. A record is a header and a payload; a logical record too large for what is left of a
//! block is cut into a First, some Middle and a Last fragment. The last bytes of a block that
//! cannot hold a header are filler.
//!
//! ```text
//! legacy      crc:fixed32 length:fixed16 type:u8                     payload[length]
//! recyclable  crc:fixed32 length:fixed16 type:u8 log_number:fixed32  payload[length]
//! ```
//!
//! The (masked CRC-32C) checksum covers the type, the log number if there is one, and the payload,
//! but not the length. What a damaged record means depends on the file, so the reader has two
//! [`Strictness`] rules:
//!
//! * In a **MANIFEST** damage is an error, because the state of the database would silently be an
//!   older one. Only a record that the end of the file cuts short is no damage: its writer died.
//!   A damaged *length* looks the same, and tiny MANIFESTs are one block, so a record that runs
//!   past the end is compared with its checksum at every shorter length: a match shows that the
//!   record is whole and its length is not. (A record that was really torn is taken for damaged
//!   with probability 2^-17 at worst.)
//! * In a **write-ahead log** the first damaged record is the end of the log, as in point-in-time
//!   recovery; a foreign log number is a leftover of the file's earlier life and ends it too.
//!
//! Space that was preallocated reads as zeros, which end a log if nothing follows. A sparse file can
//! have zeros without end: after [`MAX_ZEROS`] of them nothing more is looked for.
//!
//! [`LogReader::ending`] says why records ended early, so that what was left out can be told.
//!
//! Invariants: I1, memory is one block and one logical record, never more than the file's own
//! size. I2, each byte is read once; a torn tail is scanned a second time within its block.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use crc_fast::{CrcAlgorithm, Digest};

use crate::checksum::{crc32c, mask_crc};
use crate::error::{Error, Result};
use crate::file::RandomAccessFile;

/// Bytes of a block of a log file.
pub(crate) const BLOCK_SIZE: usize = 32 * 1024;
/// Zeros that are read in search of another record.
const MAX_ZEROS: u64 = 128 << 20;
const LEGACY_HEADER: usize = 7;
const RECYCLABLE_HEADER: usize = 11;

const TORN: &str = "the file ends inside a record";
const ENDLESS: &str = "zeros go on for over 128 MiB, and what may follow them was not read";
const BAD_CHECKSUM: &str = "checksum of a log record does not match";

/// How the reader treats damage; see the module's documentation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Strictness {
    /// Any damage but a torn tail is an error.
    Manifest,
    /// The log ends at the first damaged record.
    WriteAheadLog,
}

/// What a logical record holds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum RecordKind {
    /// A version edit or a write batch.
    Data,
    /// The codec of the records that follow.
    CompressionType,
    /// Sizes of user-defined timestamps by column family.
    TimestampSizes,
    /// Which log came before this one.
    PredecessorLog,
}

/// Where and why a log's records end before the file does.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Ending {
    /// File offset of the first record that was left out.
    pub(crate) offset: u64,
    pub(crate) what: &'static str,
}

/// One logical record.
#[derive(Debug)]
pub(crate) struct Record<'a> {
    /// File offset of the record's first header.
    pub(crate) offset: u64,
    pub(crate) kind: RecordKind,
    pub(crate) payload: &'a [u8],
}

/// Place of a physical record in its logical one.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Fragment {
    Full,
    First,
    Middle,
    Last,
}

/// A physical record: where its payload lies in the block buffer.
struct Physical {
    offset: u64,
    fragment: Fragment,
    kind: RecordKind,
    start: usize,
    end: usize,
}

/// Reads the logical records of one file in order.
pub(crate) struct LogReader {
    file: Arc<dyn RandomAccessFile>,
    path: PathBuf,
    size: u64,
    strictness: Strictness,
    /// Low 32 bits of the file's number, which recyclable records repeat.
    log_number: u32,
    block: Vec<u8>,
    /// File offset of `block`.
    block_offset: u64,
    /// Next unread byte of `block`.
    position: usize,
    /// File offset of the next block to read.
    next_block: u64,
    record: Vec<u8>,
    /// File offset of the first of the zeros that were read last, with no record since.
    zeros_from: Option<u64>,
    ending: Option<Ending>,
    done: bool,
}

impl LogReader {
    /// A reader over the bytes that `file` has now; what is appended later is not seen.
    pub(crate) fn new(
        file: Arc<dyn RandomAccessFile>,
        path: &Path,
        log_number: u64,
        strictness: Strictness,
    ) -> Result<Self> {
        let size = file.size().map_err(|source| Error::io(path, source))?;
        Ok(Self {
            file,
            path: path.to_owned(),
            size,
            strictness,
            log_number: log_number as u32,
            block: Vec::new(),
            block_offset: 0,
            position: 0,
            next_block: 0,
            record: Vec::new(),
            zeros_from: None,
            ending: None,
            done: false,
        })
    }

    /// Bytes of the file when it was opened.
    pub(crate) fn size(&self) -> u64 {
        self.size
    }

    /// After the last record: what was left out behind it, if anything was. Zeros to the end of the file and records of
    /// the file's earlier life are not.
    pub(crate) fn ending(&self) -> Option<Ending> {
        self.ending
    }

    /// The next logical record, or `None` at the end of the log.
    pub(crate) fn next_record(&mut self) -> Result<Option<Record<'_>>> {
        self.record.clear();
        let mut first_offset = None;
        let whole = loop {
            let Some(physical) = self.next_physical()? else {
                // A logical record without its last fragment is a torn tail.
                if let Some(offset) = first_offset {
                    let what = self.ending.map_or(TORN, |ending| ending.what);
                    self.ending = Some(Ending { offset, what });
                }
                return Ok(None);
            };
            if matches!(physical.fragment, Fragment::Full | Fragment::First) {
                // A writer that died right after an empty first fragment left it behind.
                if first_offset.is_some() && !self.record.is_empty() {
                    let what = "fragmented record without its last fragment";
                    return self.damaged(physical.offset, what);
                }
                first_offset = Some(physical.offset);
            }
            let Some(offset) = first_offset else {
                let what = "fragment without the first one of its record";
                return self.damaged(physical.offset, what);
            };
            if physical.fragment == Fragment::Full {
                break Physical { offset, ..physical };
            }
            self.record.extend_from_slice(slice(&self.block, &physical));
            if physical.fragment == Fragment::Last {
                break Physical { offset, ..physical };
            }
        };
        let payload = match whole.fragment {
            Fragment::Full => slice(&self.block, &whole),
            _ => &self.record,
        };
        Ok(Some(Record { offset: whole.offset, kind: whole.kind, payload }))
    }

    /// The next intact physical record that is not filler.
    fn next_physical(&mut self) -> Result<Option<Physical>> {
        loop {
            if self.done {
                return Ok(None);
            }
            let rest = self.block.get(self.position..).unwrap_or_default();
            let Some(&[c0, c1, c2, c3, l0, l1, record_type]) = rest.first_chunk::<LEGACY_HEADER>() else {
                let torn = self.at_last_block() && !is_zero(rest);
                let offset = self.block_offset + self.position as u64;
                if !self.read_block()? {
                    if torn {
                        self.ending = Some(Ending { offset, what: TORN });
                    }
                    return Ok(None);
                }
                continue;
            };
            let offset = self.block_offset + self.position as u64;
            let stored = u32::from_le_bytes([c0, c1, c2, c3]);
            let length = usize::from(u16::from_le_bytes([l0, l1]));
            if record_type == 0 && length == 0 {
                if self.strictness == Strictness::Manifest && !self.only_zeros_follow(offset)? {
                    return self.damaged(offset, "zeros before more records");
                }
                let from = *self.zeros_from.get_or_insert(offset);
                if offset - from > MAX_ZEROS {
                    self.end(from, ENDLESS);
                }
                self.position = self.block.len();
                continue;
            }
            let recyclable = matches!(record_type, 5..=8 | 11 | 131);
            if recyclable && self.strictness == Strictness::Manifest {
                return self.damaged(offset, "record of a recycled log in a MANIFEST");
            }
            let header = if recyclable { RECYCLABLE_HEADER } else { LEGACY_HEADER };
            let Some(body) = rest.get(LEGACY_HEADER - 1..header + length) else {
                return self.cut_short(offset, stored);
            };
            if recyclable && body.get(1..5) != Some(&self.log_number.to_le_bytes()) {
                self.done = true;
                if mask_crc(crc32c(body)) != stored {
                    return self.damaged(offset, BAD_CHECKSUM);
                }
                return Ok(None);
            }
            if mask_crc(crc32c(body)) != stored {
                return self.damaged(offset, BAD_CHECKSUM);
            }
            self.zeros_from = None;
            let start = self.position + header;
            let end = start + length;
            self.position = end;
            let (fragment, kind) = match record_type {
                1 | 5 => (Fragment::Full, RecordKind::Data),
                2 | 6 => (Fragment::First, RecordKind::Data),
                3 | 7 => (Fragment::Middle, RecordKind::Data),
                4 | 8 => (Fragment::Last, RecordKind::Data),
                9 => (Fragment::Full, RecordKind::CompressionType),
                10 | 11 => (Fragment::Full, RecordKind::TimestampSizes),
                130 | 131 => (Fragment::Full, RecordKind::PredecessorLog),
                // Types from 128 on may be ignored by readers that do not know them.
                128.. => continue,
                _ => {
                    return Err(Error::unsupported(
                        &self.path,
                        format!("log record type {record_type} at offset {offset}"),
                    ));
                }
            };
            return Ok(Some(Physical { offset, fragment, kind, start, end }));
        }
    }

    /// A record that runs past its block: a torn tail, or damage.
    fn cut_short<T>(&mut self, offset: u64, stored: u32) -> Result<Option<T>> {
        if !self.at_last_block() {
            return self.damaged(offset, "log record is longer than its block");
        }
        if self.strictness == Strictness::Manifest && self.whole_at_some_length(stored) {
            return self.damaged(offset, "length of a log record does not match its checksum");
        }
        self.end(offset, TORN);
        Ok(None)
    }

    /// Whether the block is the file's last and not a whole one, so that the end of the file may cut a record.
    fn at_last_block(&self) -> bool {
        self.next_block >= self.size && self.block.len() < BLOCK_SIZE
    }

    /// Ends the log before the record at `offset`.
    fn end(&mut self, offset: u64, what: &'static str) {
        self.done = true;
        self.ending = Some(Ending { offset, what });
    }

    /// Whether the checksum of the record at `position` fits a prefix of what is left.
    fn whole_at_some_length(&self, stored: u32) -> bool {
        let body = self.block.get(self.position + LEGACY_HEADER - 1..).unwrap_or_default();
        let mut crc = Digest::new(CrcAlgorithm::Crc32Iscsi);
        body.chunks(1).any(|byte| {
            crc.update(byte);
            mask_crc(crc.finalize() as u32) == stored
        })
    }

    /// Reads on: whether nothing but zeros is left from `offset`, preallocated space. After [`MAX_ZEROS`] of them they are
    /// the end.
    fn only_zeros_follow(&mut self, offset: u64) -> Result<bool> {
        loop {
            if !is_zero(self.block.get(self.position..).unwrap_or_default()) {
                return Ok(false);
            }
            if self.next_block.saturating_sub(offset) > MAX_ZEROS {
                self.end(offset, ENDLESS);
                return Ok(true);
            }
            if !self.read_block()? {
                return Ok(true);
            }
        }
    }

    /// Reads the next block; false at the end of the file.
    fn read_block(&mut self) -> Result<bool> {
        let length = self.size.saturating_sub(self.next_block).min(BLOCK_SIZE as u64) as usize;
        self.block.resize(length, 0);
        self.block_offset = self.next_block;
        self.position = 0;
        if length == 0 {
            self.done = true;
            return Ok(false);
        }
        self.file
            .read_exact_at(self.block_offset, &mut self.block)
            .map_err(|source| Error::read(&self.path, self.block_offset, length, source))?;
        self.next_block += length as u64;
        Ok(true)
    }

    /// An error in a MANIFEST, the end of a write-ahead log.
    fn damaged<T>(&mut self, offset: u64, what: &'static str) -> Result<Option<T>> {
        self.end(offset, what);
        match self.strictness {
            Strictness::Manifest => Err(Error::corruption(&self.path, offset, what)),
            Strictness::WriteAheadLog => Ok(None),
        }
    }
}

fn is_zero(bytes: &[u8]) -> bool {
    const ZEROS: [u8; 4096] = [0; 4096];
    bytes.chunks(ZEROS.len()).all(|chunk| ZEROS.get(..chunk.len()) == Some(chunk))
}

fn slice<'a>(block: &'a [u8], physical: &Physical) -> &'a [u8] {
    block.get(physical.start..physical.end).unwrap_or_default()
}

#[cfg(test)]
mod tests;
