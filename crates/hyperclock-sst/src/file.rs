//! Files, by positional reads.
//!
//! Everything that reads a database goes through these two traits, so that tests can serve
//! damaged bytes and an embedder can serve files from elsewhere. Reads carry their offset: a file
//! has no position, and threads share it without a lock.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// An open file that can be read anywhere.
pub trait RandomAccessFile: Send + Sync {
    /// Fills `buf` with the bytes at `offset`. Fails with [`io::ErrorKind::UnexpectedEof`] if the
    /// file ends before that.
    fn read_exact_at(&self, offset: u64, buf: &mut [u8]) -> io::Result<()>;
    /// The length of the file, in bytes.
    fn size(&self) -> io::Result<u64>;
}

/// Where a database lives.
pub trait FileSystem: Send + Sync {
    /// Opens a file for positional reads.
    fn open(&self, path: &Path) -> io::Result<Arc<dyn RandomAccessFile>>;
    /// All bytes of a file.
    fn read(&self, path: &Path) -> io::Result<Vec<u8>>;
    /// The names of the entries of a directory, in no particular order.
    fn list(&self, directory: &Path) -> io::Result<Vec<PathBuf>>;
}

/// The file system of the operating system.
#[derive(Clone, Copy, Debug, Default)]
pub struct StdFileSystem;

impl FileSystem for StdFileSystem {
    fn open(&self, path: &Path) -> io::Result<Arc<dyn RandomAccessFile>> {
        Ok(Arc::new(StdFile::open(path)?))
    }

    fn read(&self, path: &Path) -> io::Result<Vec<u8>> {
        fs::read(path)
    }

    fn list(&self, directory: &Path) -> io::Result<Vec<PathBuf>> {
        fs::read_dir(directory)?.map(|entry| Ok(PathBuf::from(entry?.file_name()))).collect()
    }
}

/// A file of the operating system.
#[derive(Debug)]
pub struct StdFile {
    #[cfg(any(unix, windows))]
    file: File,
    #[cfg(not(any(unix, windows)))]
    file: std::sync::Mutex<File>,
}

impl StdFile {
    /// Opens `path` for reading.
    pub fn open(path: &Path) -> io::Result<Self> {
        let file = File::open(path)?;
        #[cfg(not(any(unix, windows)))]
        let file = std::sync::Mutex::new(file);
        Ok(Self { file })
    }
}

#[cfg(unix)]
impl RandomAccessFile for StdFile {
    fn read_exact_at(&self, offset: u64, buf: &mut [u8]) -> io::Result<()> {
        std::os::unix::fs::FileExt::read_exact_at(&self.file, buf, offset)
    }

    fn size(&self) -> io::Result<u64> {
        Ok(self.file.metadata()?.len())
    }
}

#[cfg(windows)]
impl RandomAccessFile for StdFile {
    fn read_exact_at(&self, mut offset: u64, mut buf: &mut [u8]) -> io::Result<()> {
        use std::os::windows::fs::FileExt;
        while !buf.is_empty() {
            match self.file.seek_read(buf, offset) {
                Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
                Ok(n) => {
                    buf = &mut buf[n..];
                    offset += n as u64;
                }
                Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                Err(e) => return Err(e),
            }
        }
        Ok(())
    }

    fn size(&self) -> io::Result<u64> {
        Ok(self.file.metadata()?.len())
    }
}

#[cfg(not(any(unix, windows)))]
impl RandomAccessFile for StdFile {
    fn read_exact_at(&self, offset: u64, buf: &mut [u8]) -> io::Result<()> {
        use std::io::{Read, Seek, SeekFrom};
        use std::sync::PoisonError;
        let mut file = self.file.lock().unwrap_or_else(PoisonError::into_inner);
        file.seek(SeekFrom::Start(offset))?;
        file.read_exact(buf)
    }

    fn size(&self) -> io::Result<u64> {
        use std::sync::PoisonError;
        let file = self.file.lock().unwrap_or_else(PoisonError::into_inner);
        Ok(file.metadata()?.len())
    }
}

/// A file that is held in memory: for tables made on the spot, and for tests that damage one.
impl RandomAccessFile for Vec<u8> {
    fn read_exact_at(&self, offset: u64, buf: &mut [u8]) -> io::Result<()> {
        let bytes = usize::try_from(offset)
            .ok()
            .and_then(|start| self.get(start..start.checked_add(buf.len())?))
            .ok_or(io::ErrorKind::UnexpectedEof)?;
        buf.copy_from_slice(bytes);
        Ok(())
    }

    fn size(&self) -> io::Result<u64> {
        Ok(self.len() as u64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn positional_reads_and_their_end() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("f");
        fs::write(&path, b"0123456789").unwrap();
        let on_disk = StdFileSystem.open(&path).unwrap();
        let in_memory: Arc<dyn RandomAccessFile> = Arc::new(b"0123456789".to_vec());
        for file in [on_disk, in_memory] {
            assert_eq!(file.size().unwrap(), 10);
            let mut buf = [0; 4];
            file.read_exact_at(3, &mut buf).unwrap();
            assert_eq!(&buf, b"3456");
            for offset in [7, 10, 1 << 40] {
                let e = file.read_exact_at(offset, &mut buf).unwrap_err();
                assert_eq!(e.kind(), io::ErrorKind::UnexpectedEof);
            }
        }
        assert_eq!(StdFileSystem.list(dir.path()).unwrap(), [PathBuf::from("f")]);
        assert_eq!(StdFileSystem.read(&path).unwrap(), b"0123456789");
    }
}
