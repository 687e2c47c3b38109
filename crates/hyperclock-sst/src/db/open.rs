//! Opens a database's files.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use hyperclock::Primary;

use super::recovery::{Failure, ManifestStamp, check_logs, list_logs, or_vanished, read_identity, read_manifest};
use super::{ColumnFamily, Db, DbOptions, Family, Level, LiveFile};
use crate::counters::TableCounters;
use crate::error::{Error, Result};
use crate::file::RandomAccessFile;
use crate::key::{Comparator, InternalOrder};
use crate::manifest::FileMetadata;
use crate::table::{Table, TableOptions};

/// How often everything is read again after a file vanished.
const RETRIES: u32 = 3;

impl<P: Primary> Db<P> {
    /// Opens the database in `directory` without locking it, and never writes to it.
    ///
    /// Costs reading the MANIFEST, and footer, metaindex, properties and the last bytes of the filter of every live table.
    /// Index and filter themselves are read with the first lookup that needs them.
    ///
    /// # Errors
    ///
    /// [`Error::Unsupported`] for what would make any answer wrong (see the module's
    /// documentation), [`Error::Corruption`] for damage, for a table that is missing and for one
    /// whose size is not the recorded one, [`Error::InUse`] if files kept vanishing because a
    /// running RocksDB replaces them.
    pub fn open_read_only(directory: impl AsRef<Path>, options: &DbOptions<P>) -> Result<Self> {
        let directory = directory.as_ref();
        let mut seen: Option<ManifestStamp> = None;
        let mut attempt = 0;
        loop {
            let (error, manifest) = match Self::open_once(directory, options) {
                Ok(db) => return Ok(db),
                Err(Failure::Final(error)) => return Err(error),
                Err(Failure::Vanished { error, manifest }) => (error, manifest),
            };
            let missing = error.path().unwrap_or(directory).to_owned();
            // A running database records a change before it deletes a file. With the same bytes in
            // the MANIFEST the file is not replaced: it is lost.
            if seen.as_ref() == Some(&manifest) {
                let what = format!("{} does not exist", missing.display());
                return Err(Error::corruption(directory.join(manifest.name), 0, what));
            }
            if attempt == RETRIES {
                return Err(Error::InUse { directory: directory.to_owned(), vanished: missing });
            }
            seen = Some(manifest);
            attempt += 1;
        }
    }

    fn open_once(directory: &Path, options: &DbOptions<P>) -> std::result::Result<Self, Failure> {
        let file_system = &options.file_system;
        // Before the MANIFEST: see the documentation of `recovery`.
        let logs = list_logs(&**file_system, directory, options.log_directory.as_deref())?;
        let (version, manifest) = read_manifest(&**file_system, directory)?;
        check_logs(file_system, &logs, &version, &manifest)?;

        let counters = Arc::new(TableCounters::default());
        let opener = Opener { directory, options, manifest: &manifest, counters: &counters };
        let mut column_families = Vec::with_capacity(version.families.len());
        let mut families = Vec::with_capacity(version.families.len());
        for family in version.families {
            column_families.push(ColumnFamily {
                id: family.id,
                name: family.name,
                comparator: family.comparator.name().to_owned(),
            });
            let mut levels = Vec::with_capacity(family.levels.len());
            for level in family.levels {
                let files = level
                    .files
                    .into_iter()
                    .map(|file| opener.open(file, &family.comparator))
                    .collect::<std::result::Result<_, _>>()?;
                levels.push(Level { level: level.level, files });
            }
            families.push(Family { order: InternalOrder::new(&family.comparator), levels });
        }
        Ok(Self {
            path: directory.to_owned(),
            column_families,
            families,
            last_sequence: version.last_sequence,
            database_id: version.database_id.or_else(|| read_identity(&**file_system, directory)),
            counters,
        })
    }
}

/// What all tables of a database are opened with.
struct Opener<'a, P: Primary> {
    directory: &'a Path,
    options: &'a DbOptions<P>,
    manifest: &'a ManifestStamp,
    counters: &'a Arc<TableCounters>,
}

impl<P: Primary> Opener<'_, P> {
    /// Opens one live file and checks it against its description.
    fn open(
        &self,
        metadata: FileMetadata,
        comparator: &Arc<dyn Comparator>,
    ) -> std::result::Result<LiveFile<P>, Failure> {
        let path = self.directory.join(format!("{:06}.sst", metadata.number));
        if metadata.path_id != 0 {
            let feature = format!("path id {}: files outside the database's directory (db_paths)", metadata.path_id);
            return Err(Error::unsupported(path, feature).into());
        }
        if !metadata.timestamps_persisted {
            let feature = "user-defined timestamps that are not persisted";
            return Err(Error::unsupported(path, feature).into());
        }
        let (file, path) = self.open_file(path)?;
        let size = file.size().map_err(|source| Error::io(&path, source))?;
        if size != metadata.size {
            let what = format!("the file has {size} bytes, {} says {}", self.manifest.name, metadata.size);
            return Err(Error::corruption(path, size.min(metadata.size), what).into());
        }
        let options =
            TableOptions { counters: Arc::clone(self.counters), largest_sequence: Some(metadata.largest_sequence) };
        let cache = &self.options.cache;
        let table = Table::open(file, &path, metadata.number, comparator, cache, &options)?;
        if let (Some(recorded), Some(found)) = (metadata.unique_id, table.properties().unique_id())
            && recorded != found
        {
            let what = format!(
                "the file is another one than {} names: its id is {found:x?}, not {recorded:x?}",
                self.manifest.name
            );
            return Err(Error::corruption(path, 0, what).into());
        }
        Ok(LiveFile { metadata, path, table })
    }

    /// Opens a table under its present name, or under the one of very old databases.
    fn open_file(&self, path: PathBuf) -> std::result::Result<(Arc<dyn RandomAccessFile>, PathBuf), Failure> {
        let file_system = &self.options.file_system;
        match file_system.open(&path) {
            Ok(file) => Ok((file, path)),
            Err(source) if source.kind() == io::ErrorKind::NotFound => {
                let old_name = path.with_extension("ldb");
                match file_system.open(&old_name) {
                    Ok(file) => Ok((file, old_name)),
                    Err(_) => Err(or_vanished(&path, source, self.manifest)),
                }
            }
            Err(source) => Err(Error::io(path, source).into()),
        }
    }
}
