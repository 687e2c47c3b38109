//! Appends blocks to a table: compression, the five-byte trailer, and the handle that finds the block again.
//!
//! A block is stored compressed only if that saves at least an eighth, because a reader pays for decompression on every
//! read from disk. The checksum covers the bytes as stored and the compression type behind them.

use std::io::Write;
use std::path::{Path, PathBuf};

use crate::checksum::ChecksumType;
use crate::compression::{CompressionType, compress};
use crate::error::{Error, Result};
use crate::footer::{BLOCK_TRAILER_LEN, BlockHandle};

#[derive(Debug)]
pub(super) struct BlockWriter<W> {
    sink: W,
    /// Names the file in errors.
    path: PathBuf,
    offset: u64,
    checksum: ChecksumType,
    compression: CompressionType,
    compressed: Vec<u8>,
}

impl<W: Write> BlockWriter<W> {
    pub(super) fn new(sink: W, path: &Path, checksum: ChecksumType, compression: CompressionType) -> Self {
        Self { sink, path: path.to_path_buf(), offset: 0, checksum, compression, compressed: Vec::new() }
    }

    /// Bytes written so far.
    pub(super) fn offset(&self) -> u64 {
        self.offset
    }

    /// Appends a block, compressed if that pays.
    pub(super) fn write_compressed(&mut self, body: &[u8]) -> Result<BlockHandle> {
        if self.compression == CompressionType::None {
            return self.write(body);
        }
        let mut stored = std::mem::take(&mut self.compressed);
        stored.clear();
        compress(self.compression, None, body, &mut stored)
            .map_err(|error| Error::InvalidArgument(format!("{}: {error}", self.path.display())))?;
        let handle = if stored.len() <= body.len() - body.len() / 8 {
            self.write_stored(&stored, self.compression)
        } else {
            self.write(body)
        };
        self.compressed = stored;
        handle
    }

    /// Appends a block as it is.
    pub(super) fn write(&mut self, body: &[u8]) -> Result<BlockHandle> {
        self.write_stored(body, CompressionType::None)
    }

    /// Appends bytes that are no block: the footer.
    pub(super) fn write_unframed(&mut self, bytes: &[u8]) -> Result<()> {
        self.sink.write_all(bytes).map_err(|source| Error::io(&self.path, source))?;
        self.offset += bytes.len() as u64;
        Ok(())
    }

    pub(super) fn into_sink(self) -> W {
        self.sink
    }

    fn write_stored(&mut self, stored: &[u8], kind: CompressionType) -> Result<BlockHandle> {
        let handle = BlockHandle { offset: self.offset, size: stored.len() as u64 };
        let kind = kind.as_u8();
        let mut trailer = [kind; BLOCK_TRAILER_LEN];
        trailer[1..].copy_from_slice(&self.checksum.compute(stored, kind).to_le_bytes());
        self.write_unframed(stored)?;
        self.write_unframed(&trailer)?;
        Ok(handle)
    }
}
