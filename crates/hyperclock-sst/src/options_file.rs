//! The one thing that a reader needs from an `OPTIONS-NNNNNN` file: where the write-ahead logs are.
//!
//! Everything else that matters is in the MANIFEST and in the tables' properties. The file with
//! the largest number is the live one. It is in INI form: `[Section "argument"]` lines, `key=value`
//! lines, `#` comments. The section that is needed comes before those of the column families, of which
//! there can be many: more than [`MAX_READ`] is not read.

use std::path::{Path, PathBuf};

use crate::error::{Error, Result};
use crate::file::FileSystem;

/// Bytes that are read of the file.
const MAX_READ: u64 = 8 << 20;

/// The newest options file and the directory that it names for the write-ahead logs, if it does:
/// by default they are in the database's own and the name is empty.
pub(crate) fn log_directory(
    file_system: &dyn FileSystem,
    directory: &Path,
    names: &[PathBuf],
) -> Result<Option<(PathBuf, PathBuf)>> {
    let newest = names
        .iter()
        .filter_map(|name| {
            let number: u64 = name.to_str()?.strip_prefix("OPTIONS-")?.parse().ok()?;
            Some((number, name))
        })
        .max();
    let Some((_, name)) = newest else {
        return Ok(None);
    };
    let path = directory.join(name);
    let io_error = |source| Error::io(&path, source);
    let file = file_system.open(&path).map_err(io_error)?;
    let size = file.size().map_err(io_error)?;
    let mut bytes = vec![0; size.min(MAX_READ) as usize];
    file.read_exact_at(0, &mut bytes).map_err(|source| Error::read(&path, 0, bytes.len(), source))?;
    let directory = match wal_dir(&String::from_utf8_lossy(&bytes)) {
        WalDir::Named(directory) => Some(PathBuf::from(directory)),
        WalDir::Absent { section_ended } if section_ended || size <= MAX_READ => None,
        WalDir::Absent { .. } => {
            let feature = format!(
                "{size} bytes of options, whose section [DBOptions] does not end in the first {MAX_READ}; say where the \
                 write-ahead logs are with DbOptions::log_directory"
            );
            return Err(Error::unsupported(path, feature));
        }
    };
    Ok(directory.map(|directory| (path, directory)))
}

/// What an options file says about the directory of the write-ahead logs.
#[derive(Debug, PartialEq, Eq)]
enum WalDir<'a> {
    Named(&'a str),
    /// Nothing, or that it is the database's own.
    Absent {
        /// Whether the section was seen to its end.
        section_ended: bool,
    },
}

fn wal_dir(text: &str) -> WalDir<'_> {
    let mut in_db_options = false;
    for line in text.lines().map(str::trim) {
        if line.starts_with('[') {
            if in_db_options {
                return WalDir::Absent { section_ended: true };
            }
            in_db_options = line == "[DBOptions]";
        } else if in_db_options
            && let Some((key, value)) = line.split_once('=')
            && key.trim() == "wal_dir"
        {
            let value = value.trim();
            return if value.is_empty() { WalDir::Absent { section_ended: true } } else { WalDir::Named(value) };
        }
    }
    WalDir::Absent { section_ended: false }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::file::StdFileSystem;

    #[test]
    fn wal_dir_is_found_in_its_section_only() {
        let text = "# wal_dir=/comment\n[Version]\n  wal_dir=/version\n[DBOptions]\n  max=1\n  \
                    wal_dir=/logs\n[CFOptions \"default\"]\n  wal_dir=/cf\n";
        assert_eq!(wal_dir(text), WalDir::Named("/logs"));
        assert_eq!(wal_dir("[DBOptions]\n  wal_dir=\n"), WalDir::Absent { section_ended: true });
        assert_eq!(wal_dir("[DBOptions]\n  a=\n[x]\n wal_dir=/x\n"), WalDir::Absent { section_ended: true });
        let other = "[CFOptions \"default\"]\n  wal_dir=/cf\n";
        assert_eq!(wal_dir(other), WalDir::Absent { section_ended: false });
    }

    #[test]
    fn the_newest_file_counts() {
        let dir = tempfile::tempdir().unwrap();
        let find = || {
            let names = StdFileSystem.list(dir.path()).unwrap();
            log_directory(&StdFileSystem, dir.path(), &names).unwrap()
        };
        assert_eq!(find(), None);
        for (name, text) in [
            ("OPTIONS-000007", "[DBOptions]\nwal_dir=/old\n"),
            ("OPTIONS-000012", "[DBOptions]\nwal_dir=/new\n"),
            ("OPTIONS-000099.dbtmp", "[DBOptions]\nwal_dir=/unfinished\n"),
        ] {
            std::fs::write(dir.path().join(name), text).unwrap();
        }
        let newest = dir.path().join("OPTIONS-000012");
        assert_eq!(find(), Some((newest, PathBuf::from("/new"))));
    }
    #[test]
    fn a_file_of_any_size_is_read_in_bounds() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("OPTIONS-000012");
        let names = [PathBuf::from("OPTIONS-000012")];
        let find = || log_directory(&StdFileSystem, dir.path(), &names);
        for (text, refused) in
            [("[DBOptions]\nwal_dir=\n", false), ("[DBOptions]\na=b\n[CFOptions \"default\"]\n", false), ("", true)]
        {
            std::fs::write(&path, text).unwrap();
            // A hole takes no room on the disk.
            std::fs::OpenOptions::new().append(true).open(&path).unwrap().set_len(1 << 40).unwrap();
            match find() {
                Ok(directory) => assert!(!refused && directory.is_none(), "{text}"),
                Err(error) => assert!(refused && matches!(error, Error::Unsupported { .. }), "{text}: {error}"),
            }
        }
    }
}
