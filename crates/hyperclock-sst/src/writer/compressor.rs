//! Compresses blocks as RocksDB's compress format 2 wants them.
//!
//! Snappy carries its own length; every other codec gets the uncompressed length as a varint in front, which bounds a
//! reader's allocation. Contexts and tables are made once a table and used for all its blocks.
//!
//! zlib needs care: RocksDB inflates with a window of 16 KiB, while the deflate here may look back 32 KiB. Input is fed
//! in pieces of 16 KiB, and the history is dropped between them, so that no match can reach too far. Blocks are
//! usually smaller than that and lose nothing.

use std::fmt;

use flate2::{Compress, Compression, FlushCompress, Status};
use lz4_flex::block::{CompressTable, compress_into_with_table, get_maximum_output_size};

use crate::coding::put_varint32;
use crate::compression::CompressionType;
use crate::error::{Error, Result};

/// What RocksDB's window of 14 bits can look back to.
const ZLIB_WINDOW: usize = 1 << 14;
/// The level that `zstd` itself defaults to, as RocksDB does.
#[cfg(feature = "zstd")]
const ZSTD_LEVEL: i32 = 3;

enum Codec {
    None,
    Snappy(Box<snap::raw::Encoder>),
    Zlib(Box<Compress>),
    Lz4(Box<CompressTable>),
    #[cfg(feature = "zstd")]
    Zstd(Box<zstd::bulk::Compressor<'static>>),
}

/// One codec and its working memory.
pub(super) struct Compressor {
    kind: CompressionType,
    codec: Codec,
}

impl fmt::Debug for Compressor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Compressor")
            .field("kind", &self.kind)
            .finish_non_exhaustive()
    }
}

impl Compressor {
    /// Refuses the codecs that are only read here.
    pub(super) fn new(kind: CompressionType) -> Result<Self> {
        let codec = match kind {
            CompressionType::None => Codec::None,
            CompressionType::Snappy => Codec::Snappy(Box::new(snap::raw::Encoder::new())),
            CompressionType::Zlib => {
                Codec::Zlib(Box::new(Compress::new(Compression::default(), false)))
            }
            CompressionType::Lz4 => Codec::Lz4(Box::default()),
            #[cfg(feature = "zstd")]
            CompressionType::Zstd => {
                let compressor = zstd::bulk::Compressor::new(ZSTD_LEVEL).map_err(|error| {
                    Error::InvalidArgument(format!("cannot start zstd: {error}"))
                })?;
                Codec::Zstd(Box::new(compressor))
            }
            other => {
                let message = format!(
                    "tables are not written with compression {}: use none, snappy, lz4, zstd or zlib",
                    other.name()
                );
                return Err(Error::InvalidArgument(message));
            }
        };
        Ok(Self { kind, codec })
    }

    pub(super) fn kind(&self) -> CompressionType {
        self.kind
    }

    /// Appends the compressed form of `body` to `out`. False if the codec gave up, in which case `out` holds rubbish and
    /// the block is to be stored as it is.
    pub(super) fn compress(&mut self, body: &[u8], out: &mut Vec<u8>) -> bool {
        if !matches!(self.codec, Codec::None | Codec::Snappy(_)) {
            put_varint32(out, body.len() as u32);
        }
        let start = out.len();
        match &mut self.codec {
            Codec::None => false,
            Codec::Snappy(encoder) => {
                out.resize(start + snap::raw::max_compress_len(body.len()), 0);
                let length = encoder.compress(body, &mut out[start..]).ok();
                truncate_to(out, start, length)
            }
            Codec::Zlib(encoder) => deflate(encoder, body, out),
            Codec::Lz4(table) => {
                out.resize(start + get_maximum_output_size(body.len()), 0);
                let length = compress_into_with_table(body, &mut out[start..], table).ok();
                truncate_to(out, start, length)
            }
            #[cfg(feature = "zstd")]
            Codec::Zstd(compressor) => {
                out.resize(start + zstd::zstd_safe::compress_bound(body.len()), 0);
                let length = compressor.compress_to_buffer(body, &mut out[start..]).ok();
                truncate_to(out, start, length)
            }
        }
    }
}

/// Cuts `out` to the `length` bytes that a codec wrote from `start` on.
fn truncate_to(out: &mut Vec<u8>, start: usize, length: Option<usize>) -> bool {
    out.truncate(start + length.unwrap_or(0));
    length.is_some()
}

fn deflate(encoder: &mut Compress, body: &[u8], out: &mut Vec<u8>) -> bool {
    encoder.reset();
    // More than this and the block is stored raw anyway.
    out.reserve(body.len() + 64);
    let mut pieces = body.chunks(ZLIB_WINDOW).peekable();
    while let Some(piece) = pieces.next() {
        let flush = if pieces.peek().is_some() {
            FlushCompress::Full
        } else {
            FlushCompress::Finish
        };
        let before = encoder.total_in();
        match encoder.compress_vec(piece, out, flush) {
            Ok(Status::StreamEnd) => return true,
            Ok(_)
                if encoder.total_in() - before == piece.len() as u64
                    && out.len() < out.capacity() => {}
            _ => return false,
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compression::decompress;

    /// Bytes with matches near and far, over several zlib windows.
    fn text(length: usize) -> Vec<u8> {
        (0..length)
            .map(|i| {
                if i % 3 == 0 {
                    b' '
                } else {
                    ((i * i / 7) % 61) as u8 + 48
                }
            })
            .collect()
    }

    #[test]
    fn what_is_compressed_can_be_read() {
        for kind in [
            CompressionType::Snappy,
            CompressionType::Zlib,
            CompressionType::Lz4,
            CompressionType::Zstd,
        ] {
            let mut compressor = Compressor::new(kind).unwrap();
            for length in [1, 100, 4096, ZLIB_WINDOW, 70_000, 200_001] {
                let body = text(length);
                let mut out = Vec::new();
                if compressor.compress(&body, &mut out) {
                    assert_eq!(
                        decompress(kind, &out, None).unwrap(),
                        body,
                        "{kind:?} of {length} bytes"
                    );
                } else {
                    assert!(length < 4096, "{kind:?} of {length} bytes");
                }
            }
        }
    }

    #[test]
    fn zlib_never_looks_back_further_than_rocksdb_can() {
        // Two equal halves, 20 KiB apart: a match between them would need a larger window.
        let half: Vec<u8> = (0u32..5000)
            .flat_map(|i| i.wrapping_mul(0x9e37_79b9).to_le_bytes())
            .collect();
        let body = [&half[..], &half].concat();
        let mut out = Vec::new();
        let compressed = Compressor::new(CompressionType::Zlib)
            .unwrap()
            .compress(&body, &mut out);
        assert!(!compressed || out.len() > body.len() * 9 / 10);
    }

    #[test]
    fn codecs_that_are_only_read_are_refused() {
        let error = Compressor::new(CompressionType::Lz4hc).unwrap_err();
        assert!(error.to_string().contains("use none, snappy"));
    }
}
