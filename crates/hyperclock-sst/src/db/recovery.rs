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
//!
//! What RocksDB leaves out without a word (the torn end of a MANIFEST, a log that is damaged from its
//! first byte) is left out here too, with a [`Warning`]. So are tables that the MANIFEST never named: the
//! MANIFEST of an older state, or one that was cut between two records, looks whole by itself.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::warnings::{Warning, WarningKind};
use crate::error::{Error, Result};
use crate::file::FileSystem;
use crate::log::{Ending, LogReader, RecordKind, Strictness};
use crate::manifest::VersionEdit;
use crate::options_file;
use crate::version::{Version, VersionBuilder};

/// `CURRENT` and `IDENTITY` hold one short name each.
const MAX_SMALL_FILE: u64 = 1024;
/// Tables that a warning names; it counts the others.
const NAMED_TABLES: usize = 3;
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

/// What the directories of a database hold.
pub(crate) struct Listing {
    /// The write-ahead logs.
    pub(crate) logs: Vec<LogFile>,
    /// Numbers and names of the tables.
    tables: Vec<(u64, PathBuf)>,
}

/// Lists the tables in the database's directory, and the write-ahead logs there and in the one that its options name.
pub(crate) fn list_files(
    file_system: &dyn FileSystem,
    directory: &Path,
    log_directory: Option<&Path>,
) -> Result<Listing> {
    let names = file_system.list(directory).map_err(|source| Error::io(directory, source))?;
    let mut logs = Vec::new();
    collect_logs(directory, &names, &mut logs);
    let mut tables: Vec<_> = names.iter().filter_map(|name| Some((table_number(name)?, name.clone()))).collect();
    tables.sort_unstable();
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
    Ok(Listing { logs, tables })
}

fn table_number(name: &Path) -> Option<u64> {
    let name = name.to_str()?;
    name.strip_suffix(".sst").or_else(|| name.strip_suffix(".ldb"))?.parse().ok()
}

/// Warns of tables that no edit added or deleted.
///
/// Those that were deleted may still be there, because a running RocksDB deletes them later.
pub(crate) fn check_tables(
    listing: &Listing,
    version: &Version,
    directory: &Path,
    manifest: &ManifestStamp,
    warnings: &mut Vec<Warning>,
) {
    let unknown: Vec<_> = listing.tables.iter().filter(|(number, _)| !version.known_tables.contains(number)).collect();
    if unknown.is_empty() {
        return;
    }
    let mut names: Vec<_> = unknown.iter().take(NAMED_TABLES).map(|(_, name)| name.display().to_string()).collect();
    if unknown.len() > NAMED_TABLES {
        names.push(format!("{} more", unknown.len() - NAMED_TABLES));
    }
    let newer = unknown.iter().filter(|&&&(number, _)| number >= version.next_file_number).count();
    let newer = if newer == 0 { String::new() } else { format!(", {newer} of them newer than its last edit") };
    let what = format!(
        "does not name {} that are in the folder{newer}: a running RocksDB is writing them, or this MANIFEST is an older \
         one and rows are missing",
        names.join(", ")
    );
    let file = directory.join(&manifest.name);
    warnings.push(Warning { kind: WarningKind::UnknownTables, file, offset: None, what });
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
    warnings: &mut Vec<Warning>,
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
    let mut group_offset = None;
    while let Some(record) = log.next_record()? {
        let offset = record.offset;
        if record.kind != RecordKind::Data {
            let what = "record of a write-ahead log in a MANIFEST";
            return Err(Error::corruption(&path, offset, what).into());
        }
        VersionEdit::decode(record.payload)
            .and_then(|edit| builder.apply(edit))
            .map_err(|defect| defect.at(&path, offset, EDIT))?;
        group_offset = builder.inside_group().then(|| group_offset.unwrap_or(offset));
    }
    let incomplete_group =
        group_offset.map(|offset| Ending { offset, what: "the file ends inside an atomic group of edits" });
    if let Some(Ending { offset, what }) = incomplete_group.or(log.ending()) {
        let what = format!(
            "{what}: edits from here on are left out, as RocksDB does; where the file was not cut by a power failure, rows \
             may be missing"
        );
        warnings.push(Warning {
            kind: WarningKind::IncompleteManifest,
            file: path.clone(),
            offset: Some(offset),
            what,
        });
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
    file.read_exact_at(0, &mut bytes).map_err(|source| Error::read(path, 0, bytes.len(), source))?;
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
/// depend on it, so a file that is not there or not readable is no error; the latter is worth a warning.
pub(crate) fn read_identity(
    file_system: &dyn FileSystem,
    directory: &Path,
    warnings: &mut Vec<Warning>,
) -> Option<String> {
    let path = directory.join("IDENTITY");
    let bytes = match read_small(file_system, &path) {
        Ok(bytes) => bytes,
        Err(error) => {
            if !error.is_not_found() {
                let what = match &error {
                    Error::Io { source, .. } => source.to_string(),
                    Error::Corruption { what, .. } => what.clone(),
                    other => other.to_string(),
                };
                warnings.push(Warning { kind: WarningKind::UnreadableIdentity, file: path, offset: None, what });
            }
            return None;
        }
    };
    let id = std::str::from_utf8(&bytes).ok()?.trim();
    (!id.is_empty()).then(|| id.to_owned())
}

/// Fails if a write-ahead log that is still needed holds a record, and warns of one that has bytes but none that can be read.
pub(crate) fn check_logs(
    file_system: &Arc<dyn FileSystem>,
    logs: &[LogFile],
    version: &Version,
    manifest: &ManifestStamp,
    warnings: &mut Vec<Warning>,
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
        if let Some(Ending { offset, what }) = log.ending() {
            let what = format!(
                "{what}: the log has {} bytes and no record that can be read; RocksDB too takes it for empty, and writes \
                 may be missing",
                log.size()
            );
            let (kind, file) = (WarningKind::UnreadableLog, path.clone());
            warnings.push(Warning { kind, file, offset: Some(offset), what });
        }
    }
    Ok(())
}
