//! Finds out what a database consists of: `CURRENT`, the MANIFEST it names, and whether any
//! write-ahead log holds records.
//!
//! The directory may belong to a running RocksDB. Nothing is locked, so the order of reading
//! matters: the logs are listed *before* the MANIFEST is read. A log that is flushed and deleted
//! in between is then in the list, and either the MANIFEST read later has its contents in a
//! table, or opening the log fails and everything is read again. Listed the other way round, a
//! flush in between would make the log's contents vanish without an error.
//!
//! Write-ahead logs are not replayed. One that holds nothing (empty, zeros, or a header) is
//! normal after a clean shutdown; one that holds a record is an error, because the newest writes
//! would be missing.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::error::{Error, Result};
use crate::file::FileSystem;
use crate::log::{LogReader, RecordKind, Strictness};
use crate::manifest::VersionEdit;
use crate::options_file;
use crate::version::{Version, VersionBuilder};

/// `CURRENT` and `IDENTITY` hold one short name each.
const MAX_SMALL_FILE: u64 = 1024;
/// What errors call a record of a MANIFEST.
const EDIT: &str = "version edit";

/// Which bytes of which MANIFEST a state comes from.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct ManifestStamp {
    pub(crate) name: String,
    /// Bytes that were there; 0 if it could not be opened.
    pub(crate) size: u64,
}

/// A failure, and whether reading everything again may help.
#[derive(Debug)]
pub(crate) enum Failure {
    /// A file that was named or listed a moment ago is not there.
    Vanished { error: Error, manifest: ManifestStamp },
    /// Reading again would give the same.
    Final(Error),
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Self::Final(error)
    }
}

/// A write-ahead log by number.
pub(crate) struct LogFile {
    number: u64,
    path: PathBuf,
}

/// The write-ahead logs in the database's directory and in the one that its options name.
pub(crate) fn list_logs(
    file_system: &dyn FileSystem,
    directory: &Path,
    log_directory: Option<&Path>,
) -> Result<Vec<LogFile>> {
    let names = file_system.list(directory).map_err(|source| Error::io(directory, source))?;
    let mut logs = Vec::new();
    collect_logs(directory, &names, &mut logs);
    if let Some(path) = log_directory {
        let names = file_system.list(path).map_err(|source| Error::io(path, source))?;
        collect_logs(path, &names, &mut logs);
    } else if let Some((options, path)) = options_file::log_directory(file_system, directory, &names)? {
        let names = file_system.list(&path).map_err(|error| {
            let feature = format!(
                "write-ahead logs in {}, as wal_dir says, which cannot be listed ({error}); say where they are with \
                 DbOptions::log_directory",
                path.display()
            );
            Error::unsupported(options, feature)
        })?;
        collect_logs(&path, &names, &mut logs);
    }
    logs.sort_unstable_by(|a, b| (a.number, &a.path).cmp(&(b.number, &b.path)));
    logs.dedup_by(|a, b| a.path == b.path);
    Ok(logs)
}

fn collect_logs(directory: &Path, names: &[PathBuf], logs: &mut Vec<LogFile>) {
    logs.extend(names.iter().filter_map(|name| {
        let number = name.to_str()?.strip_suffix(".log")?.parse().ok()?;
        Some(LogFile { number, path: directory.join(name) })
    }));
}

/// Reads `CURRENT` and the MANIFEST that it names.
pub(crate) fn read_manifest(
    file_system: &dyn FileSystem,
    directory: &Path,
) -> std::result::Result<(Version, ManifestStamp), Failure> {
    let name = read_current(file_system, directory)?;
    let path = directory.join(&name);
    let number = name.rsplit('-').next().and_then(|number| number.parse().ok()).unwrap_or(0);
    let file = file_system.open(&path).map_err(|source| {
        let manifest = ManifestStamp { name: name.clone(), size: 0 };
        or_vanished(&path, source, &manifest)
    })?;
    let mut log = LogReader::new(file, &path, number, Strictness::Manifest)?;
    let mut builder = VersionBuilder::new();
    while let Some(record) = log.next_record()? {
        let offset = record.offset;
        if record.kind != RecordKind::Data {
            let what = "record of a write-ahead log in a MANIFEST";
            return Err(Error::corruption(&path, offset, what).into());
        }
        VersionEdit::decode(record.payload)
            .and_then(|edit| builder.apply(edit))
            .map_err(|defect| defect.at(&path, offset, EDIT))?;
    }
    let size = log.size();
    let version = builder.finish().map_err(|defect| defect.at(&path, size, EDIT))?;
    Ok((version, ManifestStamp { name, size }))
}

/// What a failed open of a file means that must be there.
pub(crate) fn or_vanished(path: &Path, source: io::Error, manifest: &ManifestStamp) -> Failure {
    let not_found = source.kind() == io::ErrorKind::NotFound;
    let error = Error::io(path, source);
    if not_found { Failure::Vanished { error, manifest: manifest.clone() } } else { Failure::Final(error) }
}

/// The bytes of a file that holds one short text.
fn read_small(file_system: &dyn FileSystem, path: &Path) -> Result<Vec<u8>> {
    let io_error = |source| Error::io(path, source);
    let file = file_system.open(path).map_err(io_error)?;
    let size = file.size().map_err(io_error)?;
    if size > MAX_SMALL_FILE {
        return Err(Error::corruption(path, 0, format!("{size} bytes are too many for a name")));
    }
    let mut bytes = vec![0; size as usize];
    file.read_exact_at(0, &mut bytes).map_err(io_error)?;
    Ok(bytes)
}

/// The name of the live MANIFEST.
fn read_current(file_system: &dyn FileSystem, directory: &Path) -> Result<String> {
    let path = directory.join("CURRENT");
    let bytes = read_small(file_system, &path)?;
    let Some(name) = bytes.strip_suffix(b"\n") else {
        return Err(Error::corruption(&path, bytes.len() as u64, "does not end with a newline"));
    };
    let digits = name.strip_prefix(b"MANIFEST-").unwrap_or_default();
    match String::from_utf8(name.to_vec()) {
        Ok(name) if !digits.is_empty() && digits.iter().all(u8::is_ascii_digit) => Ok(name),
        _ => Err(Error::corruption(&path, 0, "does not hold the name of a MANIFEST")),
    }
}

/// The database's id from its `IDENTITY` file, for MANIFESTs that do not record it. Reads do not
/// depend on it, so a file that is not there or not readable is no error.
pub(crate) fn read_identity(file_system: &dyn FileSystem, directory: &Path) -> Option<String> {
    let bytes = read_small(file_system, &directory.join("IDENTITY")).ok()?;
    let id = std::str::from_utf8(&bytes).ok()?.trim();
    (!id.is_empty()).then(|| id.to_owned())
}

/// Fails if a write-ahead log that is still needed holds a record.
pub(crate) fn check_logs(
    file_system: &Arc<dyn FileSystem>,
    logs: &[LogFile],
    version: &Version,
    manifest: &ManifestStamp,
) -> std::result::Result<(), Failure> {
    let needed_by_a_family = version.families.iter().map(|family| family.log_number).min();
    let oldest = version.min_log_number_to_keep.max(needed_by_a_family.unwrap_or(0));
    for LogFile { number, path } in logs.iter().filter(|log| log.number >= oldest) {
        let file = file_system.open(path).map_err(|source| or_vanished(path, source, manifest))?;
        let mut log = LogReader::new(file, path, *number, Strictness::WriteAheadLog)?;
        while let Some(record) = log.next_record()? {
            if record.kind == RecordKind::Data {
                return Err(Error::unsupported(
                    path,
                    "write-ahead log replay: the log holds writes that are in no table; \
                     open and close the database with RocksDB to flush them",
                )
                .into());
            }
        }
    }
    Ok(())
}
