//! Blocks from disk: read, verified, decompressed.
//!
//! Nothing that a file says about itself is believed before it is checked: a handle must lie
//! before the footer, so no allocation is larger than the file; the checksum covers the stored
//! bytes and the compression type; the decompressor checks the size that the block claims.

use std::path::Path;
use std::sync::Arc;

use crate::checksum::{ChecksumType, context_modifier};
use crate::coding::fixed32_at;
use crate::compression::{CompressionType, Dictionary, MAX_BLOCK_SIZE, decompress};
use crate::counters::{BlockKind, TableCounters};
use crate::error::{Defect, Error, Result};
use crate::file::RandomAccessFile;
use crate::footer::{BLOCK_TRAILER_LEN, BlockHandle, Footer};

/// The blocks of a file, as they are on disk.
pub(super) struct BlockSource {
    file: Arc<dyn RandomAccessFile>,
    path: Arc<Path>,
    checksum: ChecksumType,
    base_context: u32,
    /// Where the footer begins.
    end: u64,
    counters: Arc<TableCounters>,
}

/// A block as stored.
#[derive(Clone)]
pub(super) struct StoredBlock {
    pub(super) codec: CompressionType,
    /// The block and its trailer.
    bytes: Vec<u8>,
}

impl StoredBlock {
    pub(super) fn body(&self) -> &[u8] {
        let len = self.bytes.len().saturating_sub(BLOCK_TRAILER_LEN);
        self.bytes.get(..len).unwrap_or_default()
    }

    /// Block and compression type: what the checksum covers.
    pub(super) fn covered_mut(&mut self) -> &mut [u8] {
        let len = self.bytes.len().saturating_sub(BLOCK_TRAILER_LEN - 1);
        self.bytes.get_mut(..len).unwrap_or_default()
    }

    /// The body in a buffer of its size.
    fn into_body(mut self) -> Box<[u8]> {
        let len = self.body().len();
        self.bytes.truncate(len);
        self.bytes.into_boxed_slice()
    }
}

impl BlockSource {
    pub(super) fn new(
        file: Arc<dyn RandomAccessFile>,
        path: Arc<Path>,
        footer: &Footer,
        counters: Arc<TableCounters>,
    ) -> Self {
        Self { file, path, checksum: footer.checksum, base_context: footer.base_context, end: footer.offset, counters }
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    pub(super) fn checksum_type(&self) -> ChecksumType {
        self.checksum
    }

    pub(super) fn counters(&self) -> &TableCounters {
        &self.counters
    }

    /// The error for a defect of the block at `handle`.
    #[cold]
    pub(super) fn error(&self, handle: BlockHandle, kind: BlockKind, defect: Defect) -> Error {
        defect.at(&self.path, handle.offset, kind.described())
    }

    /// Bytes of the block on disk, if it lies before the footer.
    fn stored_len(&self, handle: BlockHandle, kind: BlockKind) -> Result<usize> {
        let len = handle.size.checked_add(BLOCK_TRAILER_LEN as u64);
        len.filter(|&len| {
            let end = handle.offset.checked_add(len);
            end.is_some_and(|end| end <= self.end) && handle.size <= MAX_BLOCK_SIZE as u64
        })
        .and_then(|len| usize::try_from(len).ok())
        .ok_or_else(|| {
            let what = format!(
                "a handle of {} bytes at {} leaves the {} bytes before the footer",
                handle.size, handle.offset, self.end
            );
            self.error(handle, kind, Defect::corrupt(what))
        })
    }

    /// Reads a block without a look at its checksum.
    pub(super) fn read_unverified(&self, handle: BlockHandle, kind: BlockKind) -> Result<StoredBlock> {
        let len = self.stored_len(handle, kind)?;
        let mut bytes = vec![0; len];
        self.file
            .read_exact_at(handle.offset, &mut bytes)
            .map_err(|e| Error::read(&self.path, handle.offset, len, e))?;
        let codec = bytes.get(len - BLOCK_TRAILER_LEN).map_or(CompressionType::None, |&b| CompressionType::from_u8(b));
        Ok(StoredBlock { codec, bytes })
    }

    /// Checks the checksum of a stored block.
    pub(super) fn verify(&self, handle: BlockHandle, kind: BlockKind, block: &StoredBlock) -> Result<()> {
        if self.checksum == ChecksumType::None {
            return Ok(());
        }
        let at = block.bytes.len() - BLOCK_TRAILER_LEN + 1;
        let covered = block.bytes.get(..at).unwrap_or_default();
        let stored = fixed32_at(&block.bytes, at).unwrap_or_default();
        let computed =
            self.checksum.compute_all(covered).wrapping_add(context_modifier(self.base_context, handle.offset));
        if stored == computed {
            return Ok(());
        }
        let what = format!("bad {} checksum: stored {stored:#010x}, computed {computed:#010x}", self.checksum.name());
        Err(self.error(handle, kind, Defect::corrupt(what)))
    }

    /// Reads a block as it is stored, verifies it and counts it.
    pub(super) fn read(&self, handle: BlockHandle, kind: BlockKind, verify: bool) -> Result<StoredBlock> {
        let block = self.read_unverified(handle, kind)?;
        self.counters.count_read(kind, block.bytes.len() as u64);
        if verify {
            self.verify(handle, kind, &block)?;
        }
        Ok(block)
    }

    /// The body of a stored block.
    pub(super) fn unpack(
        &self,
        handle: BlockHandle,
        kind: BlockKind,
        block: StoredBlock,
        dictionary: Option<&Dictionary>,
    ) -> Result<Box<[u8]>> {
        if block.codec == CompressionType::None {
            return Ok(block.into_body());
        }
        decompress(block.codec, block.body(), dictionary).map_err(|d| self.error(handle, kind, d))
    }

    /// The last `N` bytes of a block's body, unverified and not counted. `None` if it is shorter.
    pub(super) fn peek_end<const N: usize>(&self, handle: BlockHandle, kind: BlockKind) -> Result<Option<[u8; N]>> {
        self.stored_len(handle, kind)?;
        let Some(before) = handle.size.checked_sub(N as u64) else {
            return Ok(None);
        };
        let mut bytes = [0; N];
        let offset = handle.offset + before;
        self.file.read_exact_at(offset, &mut bytes).map_err(|e| Error::read(&self.path, offset, N, e))?;
        Ok(Some(bytes))
    }
}
