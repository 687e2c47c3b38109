//! What several integration tests share: fixtures, their expected rows, and opening them.
#![allow(dead_code, reason = "each test uses its own part")]

pub(crate) mod faulty;
pub(crate) mod filled;
pub(crate) mod tree;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use hyperclock::BlockCache;
use hyperclock_sst::{Db, DbOptions, FileSystem, ReadOptions};

/// Rows of one column family, in its comparator's order.
pub(crate) type Rows = Vec<(Vec<u8>, Vec<u8>)>;

/// A database and what RocksDB reads from it.
pub(crate) struct Fixture {
    pub(crate) name: String,
    pub(crate) path: PathBuf,
    /// By column family name, in id order.
    pub(crate) families: Vec<(String, Rows)>,
}

/// The directory of the databases that are checked in.
pub(crate) fn fixture_directory() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures")
}

/// The fixture of that name.
pub(crate) fn fixture(name: &str) -> Fixture {
    load(&fixture_directory(), name)
}

/// All databases with expected rows under `directory`, by name.
pub(crate) fn fixtures_in(directory: &Path) -> Vec<Fixture> {
    let mut names: Vec<String> = fs::read_dir(directory)
        .unwrap()
        .filter_map(|entry| {
            let name = entry.unwrap().file_name().into_string().unwrap();
            name.strip_suffix(".expected.txt").map(str::to_owned)
        })
        .collect();
    names.sort();
    names.iter().map(|name| load(directory, name)).collect()
}

/// All databases that are checked in.
pub(crate) fn fixtures() -> Vec<Fixture> {
    let all = fixtures_in(&fixture_directory());
    assert!(all.len() > 10, "the fixtures are there");
    all
}

fn load(directory: &Path, name: &str) -> Fixture {
    let text = fs::read_to_string(directory.join(format!("{name}.expected.txt"))).unwrap();
    let mut families: Vec<(String, Rows)> = Vec::new();
    for line in text.lines().filter(|line| !line.starts_with('#')) {
        let mut fields = line.split('\t');
        let [family, key, value] = [(); 3].map(|()| fields.next().unwrap());
        if families.last().is_none_or(|(name, _)| name != family) {
            families.push((family.to_owned(), Rows::new()));
        }
        families.last_mut().unwrap().1.push((unhex(key), expand(value)));
    }
    Fixture { name: name.to_owned(), path: directory.join(name), families }
}

fn unhex(text: &str) -> Vec<u8> {
    (0..text.len()).step_by(2).map(|at| u8::from_str_radix(&text[at..at + 2], 16).unwrap()).collect()
}

/// A value in hex, or `len:N:byte:HH`.
fn expand(text: &str) -> Vec<u8> {
    match text.split(':').collect::<Vec<_>>()[..] {
        ["len", len, "byte", byte] => vec![u8::from_str_radix(byte, 16).unwrap(); len.parse().unwrap()],
        _ => unhex(text),
    }
}

pub(crate) fn cache(capacity: usize) -> BlockCache {
    BlockCache::builder().capacity(capacity).build().unwrap()
}

/// Opens a database with a cache of its own.
pub(crate) fn open(path: &Path) -> hyperclock_sst::Result<Db> {
    Db::open_read_only(path, &DbOptions::new(cache(8 << 20)))
}

/// Opens a database whose files come from `file_system`.
pub(crate) fn open_with(
    path: &Path,
    file_system: Arc<dyn FileSystem>,
    cache: BlockCache,
) -> hyperclock_sst::Result<Db> {
    Db::open_read_only(path, &DbOptions::new(cache).file_system(file_system))
}

/// Everything that a forward iterator shows.
pub(crate) fn scan(db: &Db, family: u32) -> hyperclock_sst::Result<Rows> {
    let mut iter = db.iter(family, &ReadOptions::default())?;
    iter.seek_to_first()?;
    let mut rows = Rows::new();
    while iter.valid() {
        rows.push((iter.key().to_vec(), iter.value().to_vec()));
        iter.next()?;
    }
    Ok(rows)
}

/// Everything that a backward iterator shows.
pub(crate) fn scan_backward(db: &Db, family: u32) -> hyperclock_sst::Result<Rows> {
    let mut iter = db.iter(family, &ReadOptions::default())?;
    iter.seek_to_last()?;
    let mut rows = Rows::new();
    while iter.valid() {
        rows.push((iter.key().to_vec(), iter.value().to_vec()));
        iter.prev()?;
    }
    Ok(rows)
}

/// Rows as a map in order of bytes.
pub(crate) fn model(rows: &Rows) -> BTreeMap<&[u8], &[u8]> {
    rows.iter().map(|(key, value)| (key.as_slice(), value.as_slice())).collect()
}

/// Keys that lie next to the given ones: shorter, longer, and one up or down in the last byte.
pub(crate) fn neighbours(key: &[u8]) -> Vec<Vec<u8>> {
    let mut all = vec![[key, b"\0"].concat(), [key, b"\xff"].concat()];
    if let Some((&last, head)) = key.split_last() {
        all.push(head.to_vec());
        all.push([head, &[last.wrapping_add(1)]].concat());
        all.push([head, &[last.wrapping_sub(1)]].concat());
    }
    all
}

/// Copies a database, so that a test can change it.
pub(crate) fn copy(from: &Path) -> tempfile::TempDir {
    let to = tempfile::tempdir().unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        fs::copy(entry.path(), to.path().join(entry.file_name())).unwrap();
    }
    to
}

/// The files of a database directory with that extension.
pub(crate) fn files(directory: &Path, extension: &str) -> Vec<PathBuf> {
    let mut found: Vec<PathBuf> = fs::read_dir(directory)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|found| found == extension))
        .collect();
    found.sort();
    found
}

/// A record as log files hold it, at the start of a block.
pub(crate) fn log_record(record_type: u8, payload: &[u8]) -> Vec<u8> {
    let body = [&[record_type], payload].concat();
    let crc = crc_fast::crc32_iscsi(&body).rotate_right(15).wrapping_add(0xa282_ead8);
    let length = u16::try_from(payload.len()).unwrap();
    [&crc.to_le_bytes()[..], &length.to_le_bytes(), &body].concat()
}
