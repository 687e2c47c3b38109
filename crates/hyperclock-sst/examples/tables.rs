//! Writes one table for every combination of codec and checksum, with versions, tombstones and odd sizes, and beside
//! each a listing in the form of `sst_dump --command=scan --output_hex`: what `ci/interop.sh` compares.
//!
//! ```text
//! cargo run --release -p hyperclock-sst --example tables -- DIR
//! ```

use std::fmt::Write as _;
use std::path::Path;

use hyperclock_sst::writer::{SstWriter, WriterOptions};
use hyperclock_sst::{ChecksumType, CompressionType};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let directory = std::env::args().nth(1).ok_or("usage: tables DIR")?;
    let directory = Path::new(&directory);
    let codecs = [
        CompressionType::None,
        CompressionType::Snappy,
        CompressionType::Lz4,
        CompressionType::Zstd,
        CompressionType::Zlib,
    ];
    let checksums =
        [ChecksumType::None, ChecksumType::Crc32c, ChecksumType::XxHash32, ChecksumType::XxHash64, ChecksumType::Xxh3];
    let mut number = 1;
    for compression in codecs {
        for checksum in checksums {
            let options = WriterOptions {
                compression,
                checksum,
                block_size: [256, 4096, 65_536][number % 3],
                restart_interval: [1, 4, 16][number / 3 % 3],
                bloom_bits_per_key: [None, Some(10.0), Some(4.5)][number / 2 % 3],
                file_number: number as u64,
                ..WriterOptions::default()
            };
            let versions = number % 2 == 1;
            let name = format!("{}-{}", compression.name(), checksum.name());
            let mut table = SstWriter::create(&directory.join(format!("{name}.sst")), options)?;
            let mut listing = String::new();
            write_rows(&mut table, &mut listing, versions)?;
            table.finish()?;
            std::fs::write(directory.join(format!("{name}.txt")), listing)?;
            number += 1;
        }
    }
    Ok(())
}

/// 2,000 keys; with `versions`, some of them with up to 60 versions, so that blocks begin within a key.
fn write_rows(table: &mut SstWriter, listing: &mut String, versions: bool) -> Result<(), Box<dyn std::error::Error>> {
    for n in 0..2000u64 {
        let key = format!("key{n:05}{}", "-".repeat((n % 50) as usize)).into_bytes();
        let count = if versions && n % 97 == 0 { 60 } else { 1 };
        for version in (0..count).rev() {
            let sequence = n * 100 + version;
            if (n + version) % 11 == 3 {
                table.delete(&key, sequence)?;
                writeln!(listing, "'{}' seq:{sequence}, type:0 => ", hex(&key))?;
            } else {
                let value = format!("value {n} {version} ").repeat((n % 13 * n % 7) as usize).into_bytes();
                table.put(&key, sequence, &value)?;
                writeln!(listing, "'{}' seq:{sequence}, type:1 => {}", hex(&key), hex(&value))?;
            }
        }
    }
    Ok(())
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02X}");
        text
    })
}
