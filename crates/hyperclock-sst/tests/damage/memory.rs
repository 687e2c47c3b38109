//! A database directory in memory, one file of which can be replaced by a damaged copy.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use hyperclock_sst::{FileSystem, RandomAccessFile};

/// Where every database of these tests claims to be.
pub(crate) const DIRECTORY: &str = "/database";

/// The files of one directory. A clone shares their bytes.
#[derive(Clone, Debug, Default)]
pub(crate) struct MemoryFiles {
    files: BTreeMap<String, Arc<[u8]>>,
}

impl MemoryFiles {
    /// Copies a directory from disk.
    pub(crate) fn load(directory: &Path) -> Self {
        let mut files = BTreeMap::new();
        for entry in std::fs::read_dir(directory).expect("fixture") {
            let path = entry.expect("fixture").path();
            let name = path.file_name().and_then(|name| name.to_str()).expect("file name");
            files.insert(name.to_owned(), std::fs::read(&path).expect("fixture").into());
        }
        Self { files }
    }

    /// The same directory with other bytes in `name`.
    pub(crate) fn with(&self, name: &str, bytes: &[u8]) -> Self {
        let mut copy = self.clone();
        copy.files.insert(name.to_owned(), bytes.into());
        copy
    }

    pub(crate) fn bytes(&self, name: &str) -> Arc<[u8]> {
        Arc::clone(&self.files[name])
    }

    /// The one file whose name begins so, or ends so for a suffix that begins with a dot.
    pub(crate) fn find(&self, part: &str) -> String {
        let mut names =
            self.files.keys().filter(|name| name.starts_with(part) || part.starts_with('.') && name.ends_with(part));
        let name = names.next().expect("a file of that kind").clone();
        assert!(names.next().is_none(), "several files match {part}");
        name
    }

    fn lookup(&self, path: &Path) -> io::Result<Arc<[u8]>> {
        let name = path.strip_prefix(DIRECTORY).ok().and_then(Path::to_str);
        let bytes = name.and_then(|name| self.files.get(name)).ok_or(io::ErrorKind::NotFound)?;
        Ok(Arc::clone(bytes))
    }
}

impl FileSystem for MemoryFiles {
    fn open(&self, path: &Path) -> io::Result<Arc<dyn RandomAccessFile>> {
        Ok(Arc::new(MemoryFile(self.lookup(path)?)))
    }

    fn list(&self, _directory: &Path) -> io::Result<Vec<PathBuf>> {
        Ok(self.files.keys().map(PathBuf::from).collect())
    }
}

struct MemoryFile(Arc<[u8]>);

impl RandomAccessFile for MemoryFile {
    fn read_exact_at(&self, offset: u64, buf: &mut [u8]) -> io::Result<()> {
        let start = usize::try_from(offset).map_err(|_| io::ErrorKind::UnexpectedEof)?;
        let end = start.checked_add(buf.len()).ok_or(io::ErrorKind::UnexpectedEof)?;
        buf.copy_from_slice(self.0.get(start..end).ok_or(io::ErrorKind::UnexpectedEof)?);
        Ok(())
    }

    fn size(&self) -> io::Result<u64> {
        Ok(self.0.len() as u64)
    }
}
