//! Makes a database with every option on the command line: what `ci/interop.sh` gives to RocksDB's own tools.
//!
//! ```text
//! cargo run --release -p hyperclock-sst --example fill -- DIR NUM COMPRESSION [KEY_SIZE [VALUE_SIZE [TARGET_FILE_SIZE]]]
//! ```

use std::path::Path;
use std::time::Instant;

use hyperclock_sst::CompressionType;
use hyperclock_sst::fill::{FillOptions, fill};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [directory, num, compression, rest @ ..] = &arguments[..] else {
        return Err("usage: fill DIR NUM COMPRESSION [KEY_SIZE [VALUE_SIZE [TARGET_FILE_SIZE]]]".into());
    };
    let compression = match compression.as_str() {
        "none" => CompressionType::None,
        "snappy" => CompressionType::Snappy,
        "lz4" => CompressionType::Lz4,
        "zstd" => CompressionType::Zstd,
        "zlib" => CompressionType::Zlib,
        other => return Err(format!("no such compression: {other}").into()),
    };
    let defaults = FillOptions::default();
    let size = |index: usize, default: usize| rest.get(index).map_or(Ok(default), |text| text.parse());
    let options = FillOptions {
        num: num.parse()?,
        compression,
        key_size: size(0, defaults.key_size)?,
        value_size: size(1, defaults.value_size)?,
        target_file_size: size(2, defaults.target_file_size as usize)? as u64,
        ..defaults
    };
    let start = Instant::now();
    let report = fill(Path::new(directory), &options, |_| ())?;
    let seconds = start.elapsed().as_secs_f64();
    let rate = report.raw_bytes as f64 / 1e6 / seconds;
    println!(
        "{} rows, {} files, {} bytes, {seconds:.2} s, {rate:.0} MB/s of keys and values",
        report.entries, report.files, report.file_bytes
    );
    Ok(())
}
