//! A file system whose tables can be made unreadable while they are open.

use std::io;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use hyperclock_sst::{FileSystem, RandomAccessFile, StdFileSystem};

/// Reads of these bytes fail with that error; shared by all open files.
type Fault = Arc<Mutex<Option<(Range<u64>, io::ErrorKind)>>>;

#[derive(Clone, Default)]
pub(crate) struct FaultyFiles {
    fault: Fault,
}

impl FaultyFiles {
    /// From now on, reads that touch `bytes` of any table fail.
    pub(crate) fn fail(&self, bytes: Range<u64>, kind: io::ErrorKind) {
        *self.fault.lock().unwrap() = Some((bytes, kind));
    }

    /// From now on, everything can be read again.
    pub(crate) fn heal(&self) {
        *self.fault.lock().unwrap() = None;
    }
}

struct FaultyFile {
    file: Arc<dyn RandomAccessFile>,
    fault: Fault,
}

impl RandomAccessFile for FaultyFile {
    fn read_exact_at(&self, offset: u64, buf: &mut [u8]) -> io::Result<()> {
        if let Some((bytes, kind)) = &*self.fault.lock().unwrap() {
            let end = offset + buf.len() as u64;
            if offset < bytes.end && bytes.start < end {
                return Err((*kind).into());
            }
        }
        self.file.read_exact_at(offset, buf)
    }

    fn size(&self) -> io::Result<u64> {
        self.file.size()
    }
}

impl FileSystem for FaultyFiles {
    fn open(&self, path: &Path) -> io::Result<Arc<dyn RandomAccessFile>> {
        let file = StdFileSystem.open(path)?;
        Ok(Arc::new(FaultyFile { file, fault: Arc::clone(&self.fault) }))
    }

    fn list(&self, directory: &Path) -> io::Result<Vec<PathBuf>> {
        StdFileSystem.list(directory)
    }
}
