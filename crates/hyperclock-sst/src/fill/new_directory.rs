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
        let mut names = Vec::new();
        for entry in fs::read_dir(path).map_err(io)? {
            names.push(PathBuf::from(entry.map_err(io)?.file_name()));
        }
        if let Some(name) = names.iter().min() {
            let advice = if is_unfinished(&names) {
                "it looks like a fill that was interrupted; delete it, or name a new or empty directory"
            } else {
                "name a new or empty directory"
            };
            let message = format!("{} is not empty (it holds {}): {advice}", path.display(), name.display());
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

/// Whether these are the files of a fill that was killed: tables and MANIFEST, one of them not finished, no CURRENT.
fn is_unfinished(names: &[PathBuf]) -> bool {
    let made = |name: &PathBuf| {
        let name = name.to_str().unwrap_or_default();
        let name = name.strip_suffix(".dbtmp").unwrap_or(name);
        let number = name.strip_suffix(".sst").or_else(|| name.strip_prefix("MANIFEST-"));
        let number = number.is_some_and(|digits| !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit()));
        number || name == "IDENTITY" || name == "CURRENT"
    };
    let current = Path::new("CURRENT");
    names.iter().all(made)
        && names.iter().all(|name| name != current)
        && names.iter().any(|name| name.extension().is_some_and(|extension| extension == "dbtmp"))
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
