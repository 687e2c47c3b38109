//! Compression of single blocks.
//!
//! Each block says by its type byte how it is stored, so types mix within a file. All codecs but
//! Snappy, whose own format tells, put the uncompressed size as a varint before their data. That
//! size is a claim of the disk: [`decompress`] checks it against [`MAX_BLOCK_SIZE`] and against
//! what the codec could make of so few bytes before it allocates, and against what comes out.
//!
//! A dictionary applies to data blocks only. ZSTD takes trained or raw ones, told apart by their
//! magic; LZ4 and zlib take raw ones as text that precedes the block.
//!
//! Snappy, LZ4 and zlib are pure Rust. ZSTD needs the `zstd` feature, without which its blocks are
//! an error that says so. Bzip2, Xpress and custom codecs are refused by name.

use std::fmt;

use crate::coding::{Reader, put_varint32};
use crate::error::Defect;

/// The largest block that is accepted, uncompressed: 1 GiB.
pub(crate) const MAX_BLOCK_SIZE: usize = 1 << 30;

/// How a block is stored.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
#[non_exhaustive]
pub enum CompressionType {
    /// As it is.
    None,
    /// Snappy.
    Snappy,
    /// Raw deflate.
    Zlib,
    /// LZ4.
    Lz4,
    /// LZ4 with a slower search for matches when written; read like [`CompressionType::Lz4`].
    Lz4hc,
    /// ZSTD.
    Zstd,
    /// A codec that cannot be read, by its number.
    Other(u8),
}

impl CompressionType {
    /// The type of that number.
    pub const fn from_u8(byte: u8) -> Self {
        match byte {
            0 => Self::None,
            1 => Self::Snappy,
            2 => Self::Zlib,
            4 => Self::Lz4,
            5 => Self::Lz4hc,
            7 => Self::Zstd,
            other => Self::Other(other),
        }
    }

    /// The number on disk.
    pub const fn as_u8(self) -> u8 {
        match self {
            Self::None => 0,
            Self::Snappy => 1,
            Self::Zlib => 2,
            Self::Lz4 => 4,
            Self::Lz4hc => 5,
            Self::Zstd => 7,
            Self::Other(byte) => byte,
        }
    }

    /// The name in the properties of a file.
    pub const fn name(self) -> &'static str {
        match self {
            Self::None => "NoCompression",
            Self::Snappy => "Snappy",
            Self::Zlib => "Zlib",
            Self::Lz4 => "LZ4",
            Self::Lz4hc => "LZ4HC",
            Self::Zstd => "ZSTD",
            Self::Other(3) => "BZip2",
            Self::Other(6) => "Xpress",
            Self::Other(0x40) => "ZSTDNotFinal",
            Self::Other(0x80..=0xfe) => "custom compression",
            Self::Other(_) => "unknown compression",
        }
    }
}

fn corrupt(codec: CompressionType, what: impl fmt::Display) -> Defect {
    Defect::corrupt(format!("{}: {what}", codec.name()))
}

fn unsupported(codec: CompressionType) -> Defect {
    Defect::unsupported(format!(
        "compression type {:#04x} ({}); rewrite the file with Snappy, LZ4, zlib or ZSTD",
        codec.as_u8(),
        codec.name()
    ))
}

/// A compression dictionary, made ready for the codecs that can use it.
pub(crate) struct Dictionary {
    raw: Box<[u8]>,
    #[cfg(feature = "zstd")]
    zstd: zstd::zstd_safe::DDict<'static>,
}

impl fmt::Debug for Dictionary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Dictionary").field("len", &self.raw.len()).finish_non_exhaustive()
    }
}

impl Dictionary {
    /// Digests the bytes of a dictionary block.
    #[cfg_attr(not(feature = "zstd"), expect(clippy::unnecessary_wraps, reason = "only ZSTD can refuse a dictionary"))]
    pub(crate) fn new(raw: Box<[u8]>) -> Result<Self, Defect> {
        #[cfg(feature = "zstd")]
        let zstd = zstd::zstd_safe::DDict::try_create(&raw)
            .ok_or_else(|| Defect::corrupt("the dictionary is not one that ZSTD accepts"))?;
        Ok(Self {
            raw,
            #[cfg(feature = "zstd")]
            zstd,
        })
    }

    /// Heap bytes that the dictionary keeps.
    pub(crate) fn heap_bytes(&self) -> usize {
        #[cfg(feature = "zstd")]
        let digested = self.zstd.sizeof();
        #[cfg(not(feature = "zstd"))]
        let digested = 0;
        self.raw.len() + digested
    }
}

/// The bytes of a block stored as `codec`. The buffer is exactly as large as the block.
pub(crate) fn decompress(
    codec: CompressionType,
    stored: &[u8],
    dictionary: Option<&Dictionary>,
) -> Result<Box<[u8]>, Defect> {
    let mut input = Reader::new(stored);
    match codec {
        CompressionType::None => Ok(stored.into()),
        CompressionType::Snappy => {
            // A copy element of 3 bytes makes at most 64.
            let size = snap::raw::decompress_len(stored).map_err(|e| corrupt(codec, e))?;
            let mut out = buffer(codec, size as u64, stored.len(), 32)?;
            let n = snap::raw::Decoder::new().decompress(stored, &mut out).map_err(|e| corrupt(codec, e))?;
            exact(codec, out, n)
        }
        CompressionType::Zlib => {
            let size = declared_size(codec, &mut input)?;
            inflate(input.rest(), size, stored.len(), dictionary)
        }
        CompressionType::Lz4 | CompressionType::Lz4hc => {
            let size = declared_size(codec, &mut input)?;
            let mut out = buffer(codec, size, stored.len(), 255)?;
            let n = match dictionary {
                None => lz4_flex::block::decompress_into(input.rest(), &mut out),
                Some(d) => lz4_flex::block::decompress_into_with_dict(input.rest(), &mut out, &d.raw),
            }
            .map_err(|e| corrupt(codec, e))?;
            exact(codec, out, n)
        }
        CompressionType::Zstd => {
            let size = declared_size(codec, &mut input)?;
            unzstd(input.rest(), size, dictionary)
        }
        CompressionType::Other(_) => Err(unsupported(codec)),
    }
}

fn declared_size(codec: CompressionType, input: &mut Reader<'_>) -> Result<u64, Defect> {
    input.varint64().ok_or_else(|| corrupt(codec, "no uncompressed size"))
}

/// The declared size, if it is allowed and `stored` bytes can make that many.
fn check_size(codec: CompressionType, size: u64, stored: usize, max_ratio: usize) -> Result<usize, Defect> {
    let most = stored.saturating_add(16).saturating_mul(max_ratio);
    usize::try_from(size)
        .ok()
        .filter(|&n| n <= most.min(MAX_BLOCK_SIZE))
        .ok_or_else(|| corrupt(codec, format_args!("uncompressed size {size} cannot come from {stored} bytes")))
}

fn buffer(codec: CompressionType, size: u64, stored: usize, max_ratio: usize) -> Result<Vec<u8>, Defect> {
    Ok(vec![0; check_size(codec, size, stored, max_ratio)?])
}

fn exact(codec: CompressionType, out: Vec<u8>, produced: usize) -> Result<Box<[u8]>, Defect> {
    if produced == out.len() {
        Ok(out.into_boxed_slice())
    } else {
        Err(corrupt(codec, format_args!("{produced} bytes where {} were declared", out.len())))
    }
}

fn inflate(data: &[u8], size: u64, stored: usize, dictionary: Option<&Dictionary>) -> Result<Box<[u8]>, Defect> {
    use flate2::{Decompress, FlushDecompress, Status};
    const CODEC: CompressionType = CompressionType::Zlib;
    let mut out = buffer(CODEC, size, stored, 1032)?;
    let mut inflater = Decompress::new(false);
    let preset = dictionary.map_or(&[][..], |d| &d.raw);
    if preset.is_empty() {
        let status = inflater.decompress(data, &mut out, FlushDecompress::Finish).map_err(|e| corrupt(CODEC, e))?;
        if status != Status::StreamEnd {
            return Err(corrupt(CODEC, "the stream does not end with the block"));
        }
        return exact(CODEC, out, inflater.total_out() as usize);
    }
    // A raw stream has no place for a preset dictionary, but it may begin with a stored block:
    // matches reach back into that as they would into the dictionary.
    let window = preset.len().min(1 << 15);
    let preset = preset.get(preset.len() - window..).unwrap_or_default();
    let len = window as u16;
    let mut framed = Vec::with_capacity(5 + window + data.len());
    framed.push(0);
    framed.extend_from_slice(&len.to_le_bytes());
    framed.extend_from_slice(&(!len).to_le_bytes());
    framed.extend_from_slice(preset);
    framed.extend_from_slice(data);
    let mut both = vec![0; window + out.len()];
    let status = inflater.decompress(&framed, &mut both, FlushDecompress::Finish).map_err(|e| corrupt(CODEC, e))?;
    let produced = usize::try_from(inflater.total_out()).unwrap_or(usize::MAX);
    match (status, both.get(window..produced)) {
        (Status::StreamEnd, Some(block)) if block.len() == out.len() => {
            out.copy_from_slice(block);
            Ok(out.into_boxed_slice())
        }
        _ => Err(corrupt(CODEC, "the stream does not end with the block")),
    }
}

#[cfg(feature = "zstd")]
fn unzstd(data: &[u8], size: u64, dictionary: Option<&Dictionary>) -> Result<Box<[u8]>, Defect> {
    use std::cell::RefCell;
    use zstd::zstd_safe::DCtx;
    const CODEC: CompressionType = CompressionType::Zstd;
    thread_local! {
        // A context is some 100 KiB and outlives the blocks that it decodes.
        static CONTEXT: RefCell<Option<DCtx<'static>>> = const { RefCell::new(None) };
    }
    // A block of a frame takes at least 4 bytes and makes at most 128 KiB.
    let n = check_size(CODEC, size, data.len(), (128 << 10) / 4)?;
    let mut out: Vec<u8> = Vec::with_capacity(n);
    CONTEXT.with(|cell| {
        let mut slot = cell.borrow_mut();
        let context = match &mut *slot {
            Some(context) => context,
            empty => {
                empty.insert(DCtx::try_create().ok_or_else(|| Defect::unsupported("ZSTD: no memory for a context"))?)
            }
        };
        match dictionary {
            None => context.decompress(&mut out, data),
            Some(d) => context.decompress_using_ddict(&mut out, data, &d.zstd),
        }
        .map_err(|e| corrupt(CODEC, e))
    })?;
    if out.len() == n {
        Ok(out.into_boxed_slice())
    } else {
        let produced = out.len();
        Err(corrupt(CODEC, format_args!("{produced} bytes where {n} were declared")))
    }
}

#[cfg(not(feature = "zstd"))]
fn unzstd(_: &[u8], _: u64, _: Option<&Dictionary>) -> Result<Box<[u8]>, Defect> {
    Err(Defect::unsupported("ZSTD: this build lacks the `zstd` feature"))
}

/// Appends to `out` the stored form of `block` under `codec`, its size prefix included and the
/// type byte not. `level` is the codec's own, for those that have levels.
///
/// For [`CompressionType::Lz4hc`] the encoder of LZ4 is used, which gives the same format.
pub(crate) fn compress(
    codec: CompressionType,
    level: Option<i32>,
    block: &[u8],
    out: &mut Vec<u8>,
) -> Result<(), Defect> {
    let size = u32::try_from(block.len())
        .ok()
        .filter(|&n| n as usize <= MAX_BLOCK_SIZE)
        .ok_or_else(|| corrupt(codec, "the block is larger than 1 GiB"))?;
    match codec {
        CompressionType::None => out.extend_from_slice(block),
        CompressionType::Snappy => {
            let start = out.len();
            out.resize(start + snap::raw::max_compress_len(block.len()), 0);
            let n = snap::raw::Encoder::new().compress(block, &mut out[start..]).map_err(|e| corrupt(codec, e))?;
            out.truncate(start + n);
        }
        CompressionType::Zlib => {
            use flate2::{Compress, Compression, FlushCompress, Status};
            put_varint32(out, size);
            let level = level.and_then(|l| u32::try_from(l).ok()).unwrap_or(6);
            let mut deflater = Compress::new(Compression::new(level.min(9)), false);
            // Readers of the format inflate with a window of 16 KiB; a longer reach would make
            // blocks that they refuse. Pieces of that size, each flushed so that no match leaves
            // it, cost little and blocks are rarely larger.
            for piece in block.chunks(ZLIB_WINDOW) {
                deflate(&mut deflater, piece, out, FlushCompress::Full)?;
            }
            let status = deflate(&mut deflater, &[], out, FlushCompress::Finish)?;
            if status != Status::StreamEnd {
                return Err(corrupt(codec, "the stream did not end"));
            }
        }
        CompressionType::Lz4 | CompressionType::Lz4hc => {
            put_varint32(out, size);
            let start = out.len();
            let bound = lz4_flex::block::get_maximum_output_size(block.len());
            out.resize(start + bound, 0);
            let n = lz4_flex::block::compress_into(block, &mut out[start..]).map_err(|e| corrupt(codec, e))?;
            out.truncate(start + n);
        }
        CompressionType::Zstd => {
            put_varint32(out, size);
            zstd_block(level, block, out)?;
        }
        CompressionType::Other(_) => return Err(unsupported(codec)),
    }
    Ok(())
}

/// The window that RocksDB gives zlib, 2^14 bytes.
const ZLIB_WINDOW: usize = 1 << 14;

fn deflate(
    deflater: &mut flate2::Compress,
    piece: &[u8],
    out: &mut Vec<u8>,
    flush: flate2::FlushCompress,
) -> Result<flate2::Status, Defect> {
    let mut rest = piece;
    loop {
        out.reserve(rest.len() + 64);
        let (consumed, room) = (deflater.total_in(), out.capacity() - out.len());
        let written = deflater.total_out();
        let status = deflater.compress_vec(rest, out, flush).map_err(|e| corrupt(CompressionType::Zlib, e))?;
        rest = &rest[(deflater.total_in() - consumed) as usize..];
        let full = (deflater.total_out() - written) as usize == room;
        if status == flate2::Status::StreamEnd || (rest.is_empty() && !full) {
            return Ok(status);
        }
    }
}

#[cfg(feature = "zstd")]
fn zstd_block(level: Option<i32>, block: &[u8], out: &mut Vec<u8>) -> Result<(), Defect> {
    use std::cell::RefCell;
    use zstd::zstd_safe::{self, CCtx};
    thread_local! {
        static CONTEXT: RefCell<Option<CCtx<'static>>> = const { RefCell::new(None) };
    }
    let mut frame: Vec<u8> = Vec::with_capacity(zstd_safe::compress_bound(block.len()));
    CONTEXT.with(|cell| {
        let mut slot = cell.borrow_mut();
        let context = match &mut *slot {
            Some(context) => context,
            empty => {
                empty.insert(CCtx::try_create().ok_or_else(|| Defect::unsupported("ZSTD: no memory for a context"))?)
            }
        };
        context
            .compress(&mut frame, block, level.unwrap_or(zstd::DEFAULT_COMPRESSION_LEVEL))
            .map_err(|e| corrupt(CompressionType::Zstd, e))
    })?;
    out.extend_from_slice(&frame);
    Ok(())
}

#[cfg(not(feature = "zstd"))]
fn zstd_block(_: Option<i32>, _: &[u8], _: &mut Vec<u8>) -> Result<(), Defect> {
    Err(Defect::unsupported("ZSTD: this build lacks the `zstd` feature"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const CODECS: &[CompressionType] = &[
        CompressionType::None,
        CompressionType::Snappy,
        CompressionType::Zlib,
        CompressionType::Lz4,
        #[cfg(feature = "zstd")]
        CompressionType::Zstd,
    ];

    fn pack(codec: CompressionType, block: &[u8]) -> Vec<u8> {
        let mut out = b"kept".to_vec();
        compress(codec, None, block, &mut out).unwrap();
        assert_eq!(&out[..4], b"kept");
        out.split_off(4)
    }

    fn text(len: usize) -> Vec<u8> {
        (0..len).map(|i| b"the quick brown fox "[i * i / 7 % 20]).collect()
    }

    proptest! {
        #[test]
        fn blocks_round_trip(block in proptest::collection::vec(0u8..4, 0..5000)) {
            for &codec in CODECS {
                let packed = pack(codec, &block);
                let unpacked = decompress(codec, &packed, None);
                prop_assert_eq!(unpacked.as_deref(), Ok(&block[..]));
            }
        }

        #[test]
        fn damage_is_an_error_or_the_right_length(at in any::<usize>(), bit in 0u8..8) {
            let block = text(4000);
            for &codec in CODECS {
                let mut packed = pack(codec, &block);
                let at = at % packed.len();
                packed[at] ^= 1 << bit;
                let _ = decompress(codec, &packed, None);
                let _ = decompress(codec, &packed[..at], None);
            }
        }
    }

    #[test]
    fn large_blocks_round_trip() {
        let block = text(300_000);
        for &codec in CODECS {
            let packed = pack(codec, &block);
            assert_eq!(decompress(codec, &packed, None).as_deref(), Ok(&block[..]));
        }
    }

    #[test]
    fn absurd_sizes_are_refused_before_they_are_allocated() {
        for &codec in &CODECS[2..] {
            let mut packed = Vec::new();
            crate::coding::put_varint64(&mut packed, 1 << 40);
            packed.extend_from_slice(b"xxxx");
            assert!(matches!(decompress(codec, &packed, None), Err(Defect::Corrupt(_))));
        }
        let claim = [0xff, 0xff, 0xff, 0xff, 0x0f, 0];
        assert!(decompress(CompressionType::Snappy, &claim, None).is_err());
    }

    #[test]
    fn unreadable_codecs_are_named() {
        for (byte, name) in [(3, "BZip2"), (6, "Xpress"), (0x80, "custom"), (9, "unknown")] {
            let codec = CompressionType::from_u8(byte);
            let Err(Defect::Unsupported(what)) = decompress(codec, b"", None) else {
                panic!("{codec:?} was read");
            };
            assert!(what.contains(name), "{what}");
        }
    }

    #[test]
    fn raw_dictionaries_precede_the_block() {
        let preset: Vec<u8> = text(50_000);
        let dictionary = Dictionary::new(preset.clone().into()).unwrap();
        assert!(dictionary.heap_bytes() >= preset.len());
        let block = &preset[49_000..49_900];

        let mut stored = Vec::new();
        put_varint32(&mut stored, 900);
        stored.extend(lz4_flex::block::compress_with_dict(block, &preset));
        let unpacked = decompress(CompressionType::Lz4, &stored, Some(&dictionary));
        assert_eq!(unpacked.as_deref(), Ok(block));

        // A stored block and a match would need zlib itself to make; plain streams must pass.
        let plain = pack(CompressionType::Zlib, block);
        let unpacked = decompress(CompressionType::Zlib, &plain, Some(&dictionary));
        assert_eq!(unpacked.as_deref(), Ok(block));
    }
}
