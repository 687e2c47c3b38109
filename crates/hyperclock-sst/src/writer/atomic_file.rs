//! A file that appears under its name complete, or not at all.
//!
//! Bytes go to `NAME.dbtmp` in the same directory, a suffix that every reader of a RocksDB directory ignores. `commit`
//! flushes, syncs the file, renames it and syncs the directory, so that after a crash the name stands for all bytes or
//! does not exist. A file dropped before its commit is removed. The name must be free when the file is created; whoever
//! fills a directory from several threads gives each file its own name.

use std::ffi::OsString;
use std::fs::{self, File, OpenOptions};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use crate::error::{Error, Result};

/// Bytes gathered before they go to the operating system.
const BUFFER: usize = 1 << 20;

#[derive(Debug)]
pub(crate) struct AtomicFile {
    path: PathBuf,
    temporary: PathBuf,
    /// `None` once committed.
    file: Option<BufWriter<File>>,
}

impl AtomicFile {
    /// Starts a file that will be `path`, which must not exist.
    pub(crate) fn create(path: &Path) -> Result<Self> {
        if path.file_name().is_none() {
            return Err(Error::InvalidArgument(format!("`{}` is no name for a file", path.display())));
        }
        if fs::symlink_metadata(path).is_ok() {
            let source = io::Error::from(io::ErrorKind::AlreadyExists);
            return Err(Error::io(path, source));
        }
        let mut temporary = OsString::from(path);
        temporary.push(".dbtmp");
        let temporary = PathBuf::from(temporary);
        let file = OpenOptions::new()
            .write(true)
            .create_new(true)
            .open(&temporary)
            .map_err(|source| Error::io(&temporary, source))?;
        let file = Some(BufWriter::with_capacity(BUFFER, file));
        Ok(Self { path: path.to_path_buf(), temporary, file })
    }

    /// Makes a whole file of `bytes`.
    pub(crate) fn write_all_to(path: &Path, bytes: &[u8]) -> Result<()> {
        let mut file = Self::create(path)?;
        file.write_all(bytes).map_err(|source| Error::io(path, source))?;
        file.commit()
    }

    /// Makes the bytes durable and gives the file its name.
    pub(crate) fn commit(mut self) -> Result<()> {
        self.try_commit().map_err(|source| Error::io(&self.path, source))
    }

    fn try_commit(&mut self) -> io::Result<()> {
        if let Some(buffered) = &mut self.file {
            buffered.flush()?;
            buffered.get_ref().sync_all()?;
        }
        fs::rename(&self.temporary, &self.path)?;
        self.file = None;
        sync_directory_of(&self.path)
    }
}

impl Write for AtomicFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match &mut self.file {
            Some(file) => file.write(bytes),
            None => Err(io::Error::from(io::ErrorKind::BrokenPipe)),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.as_mut().map_or(Ok(()), Write::flush)
    }
}

impl Drop for AtomicFile {
    fn drop(&mut self) {
        if let Some(file) = self.file.take() {
            // Taken apart without a flush: the bytes are not wanted.
            let (file, _) = file.into_parts();
            drop(file);
            // A leftover is harmless, and a drop has nobody to tell.
            let _ = fs::remove_file(&self.temporary);
        }
    }
}

/// Makes names in the directory of `path` durable. Only Unix can sync a directory; elsewhere a rename is what there is.
fn sync_directory_of(path: &Path) -> io::Result<()> {
    if cfg!(unix)
        && let Some(directory) = path.parent()
    {
        let directory = if directory.as_os_str().is_empty() { Path::new(".") } else { directory };
        File::open(directory)?.sync_all()?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(directory: &Path) -> Vec<String> {
        let entries = fs::read_dir(directory).unwrap();
        let mut names: Vec<_> = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    #[test]
    fn a_file_appears_when_it_is_committed() {
        let directory = tempfile::tempdir().unwrap();
        let mut file = AtomicFile::create(&directory.path().join("a")).unwrap();
        file.write_all(b"some bytes").unwrap();
        assert_eq!(names(directory.path()), ["a.dbtmp"]);
        file.commit().unwrap();
        assert_eq!(names(directory.path()), ["a"]);
        assert_eq!(fs::read(directory.path().join("a")).unwrap(), b"some bytes");
    }

    #[test]
    fn a_dropped_file_leaves_nothing() {
        let directory = tempfile::tempdir().unwrap();
        let mut file = AtomicFile::create(&directory.path().join("a")).unwrap();
        file.write_all(&vec![1; 3 << 20]).unwrap();
        drop(file);
        assert!(names(directory.path()).is_empty());
    }

    #[test]
    fn a_path_without_a_name_is_refused() {
        for path in ["", "/", ".."] {
            let error = AtomicFile::create(Path::new(path)).unwrap_err();
            assert!(matches!(error, Error::InvalidArgument(_)), "{path}: {error}");
        }
    }

    #[test]
    fn an_existing_file_is_not_replaced() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("a");
        fs::write(&path, b"old").unwrap();
        let error = AtomicFile::create(&path).unwrap_err();
        assert!(matches!(error, Error::Io { source, .. } if source.kind() == io::ErrorKind::AlreadyExists));
        assert_eq!(fs::read(&path).unwrap(), b"old");
        assert_eq!(names(directory.path()), ["a"]);
    }
}
