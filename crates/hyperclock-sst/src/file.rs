//! Files, by positional reads.
//!
//! Everything that reads a database goes through these two traits, so that tests can serve
//! damaged bytes and an embedder can serve files from elsewhere. Reads carry their offset: a file
//! has no position, and threads share it without a lock.
//!
//! Only regular files are opened: a FIFO in the place of a file would wait for a writer that never
//! comes, and a directory or a device would fail later and elsewhere.

use std::fs::{self, File, FileType, Metadata, OpenOptions};
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
    /// Opens a file for positional reads, without waiting for anybody.
    fn open(&self, path: &Path) -> io::Result<Arc<dyn RandomAccessFile>>;
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
    ///
    /// # Errors
    ///
    /// Those of the system, which say where a symbolic link leads that cannot be followed, and one for
    /// what is no regular file.
    pub fn open(path: &Path) -> io::Result<Self> {
        let file = open_regular(path).map_err(|error| explain_link(path, error))?;
        #[cfg(not(any(unix, windows)))]
        let file = std::sync::Mutex::new(file);
        Ok(Self { file })
    }
}

/// Opens a regular file. What it is is asked before, because opening a device may do something, and after, because another
/// file may have taken its name in between.
fn open_regular(path: &Path) -> io::Result<File> {
    check_regular(&fs::metadata(path)?)?;
    let mut options = OpenOptions::new();
    options.read(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::custom_flags(&mut options, NON_BLOCKING);
    let file = options.open(path)?;
    check_regular(&file.metadata()?)?;
    Ok(file)
}

/// The flag with which opening a FIFO does not wait, 0 where its value is not certain. It means nothing to a regular file.
#[cfg(unix)]
const NON_BLOCKING: i32 = {
    if cfg!(all(
        any(target_os = "linux", target_os = "android"),
        any(
            target_arch = "x86",
            target_arch = "x86_64",
            target_arch = "arm",
            target_arch = "aarch64",
            target_arch = "riscv64",
            target_arch = "powerpc64",
            target_arch = "s390x"
        )
    )) {
        0o4000
    } else if cfg!(any(target_vendor = "apple", target_os = "freebsd", target_os = "openbsd", target_os = "netbsd")) {
        4
    } else {
        0
    }
};

fn check_regular(metadata: &Metadata) -> io::Result<()> {
    if metadata.is_file() {
        return Ok(());
    }
    let kind = if metadata.is_dir() { io::ErrorKind::IsADirectory } else { io::ErrorKind::Other };
    Err(io::Error::new(kind, format!("is not a regular file but {}", described(metadata.file_type()))))
}

#[cfg(unix)]
fn described(file_type: FileType) -> &'static str {
    use std::os::unix::fs::FileTypeExt;
    if file_type.is_dir() {
        "a directory"
    } else if file_type.is_fifo() {
        "a FIFO"
    } else if file_type.is_socket() {
        "a socket"
    } else if file_type.is_char_device() || file_type.is_block_device() {
        "a device"
    } else {
        "something else"
    }
}

#[cfg(not(unix))]
fn described(file_type: FileType) -> &'static str {
    if file_type.is_dir() { "a directory" } else { "something else" }
}

/// The same error, which says where `path` leads if it is a symbolic link.
fn explain_link(path: &Path, error: io::Error) -> io::Error {
    match fs::read_link(path) {
        Ok(target) => {
            // `NotFound` stands for a name that is free, which this one is not.
            let kind = if error.kind() == io::ErrorKind::NotFound { io::ErrorKind::Other } else { error.kind() };
            io::Error::new(kind, format!("is a link to {}: {error}", target.display()))
        }
        Err(_) => error,
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
    }

    #[test]
    #[cfg(unix)]
    fn what_is_no_regular_file_is_refused_at_once() {
        let dir = tempfile::tempdir().unwrap();
        let fifo = dir.path().join("fifo");
        assert!(std::process::Command::new("mkfifo").arg(&fifo).status().unwrap().success());
        let link = dir.path().join("link");
        std::os::unix::fs::symlink("fifo", &link).unwrap();
        for (path, parts) in [
            (fifo.as_path(), &["not a regular file", "FIFO"][..]),
            (link.as_path(), &["link to fifo", "not a regular file", "FIFO"]),
            (dir.path(), &["not a regular file", "directory"]),
            (Path::new("/dev/null"), &["not a regular file", "device"]),
        ] {
            let message = StdFile::open(path).unwrap_err().to_string();
            assert!(parts.iter().all(|part| message.contains(part)), "{message}");
        }
        let loops = dir.path().join("loops");
        std::os::unix::fs::symlink("loops", &loops).unwrap();
        assert!(StdFile::open(&loops).unwrap_err().to_string().contains("link to loops"));
        let broken = dir.path().join("broken");
        std::os::unix::fs::symlink("nowhere", &broken).unwrap();
        let error = StdFile::open(&broken).unwrap_err();
        assert_ne!(error.kind(), io::ErrorKind::NotFound);
        assert!(error.to_string().contains("link to nowhere"), "{error}");
    }
}
