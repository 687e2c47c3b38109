//! The one thing that a reader needs from an `OPTIONS-NNNNNN` file: where the write-ahead logs are.
//!
//! Everything else that matters is in the MANIFEST and in the tables' properties. The file with
//! the largest number is the live one. It is in INI form: `[Section "argument"]` lines, `key=value`
//! lines, `#` comments.

use std::path::{Path, PathBuf};

use crate::error::{Error, Result};
use crate::file::FileSystem;

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
    let text = file_system.read(&path).map_err(|source| Error::io(&path, source))?;
    let directory = wal_dir(&String::from_utf8_lossy(&text)).map(PathBuf::from);
    Ok(directory.map(|directory| (path, directory)))
}

fn wal_dir(text: &str) -> Option<&str> {
    let mut in_db_options = false;
    for line in text.lines().map(str::trim) {
        if line.starts_with('[') {
            in_db_options = line == "[DBOptions]";
        } else if in_db_options
            && let Some((key, value)) = line.split_once('=')
            && key.trim() == "wal_dir"
        {
            return Some(value.trim()).filter(|value| !value.is_empty());
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::file::StdFileSystem;

    #[test]
    fn wal_dir_is_found_in_its_section_only() {
        let text = "# wal_dir=/comment\n[Version]\n  wal_dir=/version\n[DBOptions]\n  max=1\n  \
                    wal_dir=/logs\n[CFOptions \"default\"]\n  wal_dir=/cf\n";
        assert_eq!(wal_dir(text), Some("/logs"));
        assert_eq!(wal_dir("[DBOptions]\n  wal_dir=\n"), None);
        assert_eq!(wal_dir("[CFOptions \"default\"]\n  wal_dir=/cf\n"), None);
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
}
