//! A directory that becomes a database as a whole, or is left as it was found.

use std::fs;
use std::path::{Path, PathBuf};

use crate::error::{Error, Result};
use crate::writer::manifest_writer::DatabaseSnapshot;

/// Remembers what was made, and removes it when it is dropped before [`install`](Self::install) succeeded.
#[derive(Debug)]
pub(super) struct NewDirectory {
    path: PathBuf,
    /// The directory did not exist before.
    is_new: bool,
    files: Vec<PathBuf>,
    complete: bool,
}

impl NewDirectory {
    pub(super) fn create(path: &Path) -> Result<Self> {
        let io = |source| Error::io(path, source);
        let is_new = !path.exists();
        fs::create_dir_all(path).map_err(io)?;
        if let Some(entry) = fs::read_dir(path).map_err(io)?.next() {
            let name = entry.map_err(io)?.file_name();
            let message = format!(
                "{} is not empty (it holds {}): name a new or empty directory",
                path.display(),
                Path::new(&name).display()
            );
            return Err(Error::InvalidArgument(message));
        }
        Ok(Self { path: path.to_path_buf(), is_new, files: Vec::new(), complete: false })
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Notes a finished file.
    pub(super) fn made(&mut self, file: PathBuf) {
        self.files.push(file);
    }

    /// Makes the tables a database; from then on everything stays.
    pub(super) fn install(mut self, snapshot: &DatabaseSnapshot<'_>, manifest_number: u64) -> Result<()> {
        snapshot.install(&self.path, manifest_number, &mut self.files)?;
        self.complete = true;
        Ok(())
    }
}

impl Drop for NewDirectory {
    fn drop(&mut self) {
        if self.complete {
            return;
        }
        // The error that led here matters more than one from tidying up. Newest first: CURRENT goes before what it needs.
        for file in self.files.iter().rev() {
            let _ = fs::remove_file(file);
        }
        if self.is_new {
            let _ = fs::remove_dir(&self.path);
        }
    }
}
