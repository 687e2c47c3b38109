//! An open database, its cache, and the column families that a command was asked for.

use std::path::Path;
use std::sync::Arc;

use hyperclock::BlockCache;
use hyperclock_sst::{
    BlockReads, Comparator, Db, DbIter, DbOptions, Error, PinnedSlice, ReadOptions, comparator_by_name,
};

use crate::args::Target;
use crate::failure::{Failure, Kind, Result};
use crate::progress::Waiting;

/// The file that makes a folder a database.
const CURRENT: &str = "CURRENT";

/// Capacity where little is read, and nothing twice.
const SMALL_CACHE: usize = 8 << 20;

/// The column family that every database has.
const DEFAULT_FAMILY: &str = "default";

pub(crate) struct Session {
    db: Db,
    cache: BlockCache,
    families: Vec<Family>,
}

/// A column family to read.
pub(crate) struct Family {
    pub(crate) name: String,
    pub(crate) comparator: Arc<dyn Comparator>,
    id: u32,
}

/// What was read from disk.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Reads {
    /// Blocks of any kind.
    pub(crate) blocks: u64,
    /// Of those blocks, as stored.
    pub(crate) bytes: u64,
}

impl Reads {
    pub(crate) fn since(self, before: Self) -> Self {
        Self { blocks: self.blocks - before.blocks, bytes: self.bytes - before.bytes }
    }
}

/// Which column families.
#[derive(Clone, Copy)]
enum Choice<'a> {
    All,
    Named(&'a str),
}

impl Session {
    /// Opens the database of the command line with a cache of its own.
    pub(crate) fn open(target: &Target) -> Result<Self> {
        let choice = match &target.cf {
            _ if target.all_cf => Choice::All,
            Some(name) => Choice::Named(name),
            None => Choice::Named(DEFAULT_FAMILY),
        };
        Self::open_with(&target.db, target.cache_size, choice)
    }

    /// Opens a database for a look at its files: all column families, unless one is named.
    pub(crate) fn open_all_unless_named(directory: &Path, family: Option<&str>) -> Result<Self> {
        Self::open_with(directory, SMALL_CACHE, family.map_or(Choice::All, Choice::Named))
    }

    /// Opens a database for reads of its default column family.
    pub(crate) fn open_default(directory: &Path, cache_size: usize) -> Result<Self> {
        Self::open_with(directory, cache_size, Choice::Named(DEFAULT_FAMILY))
    }

    fn open_with(directory: &Path, cache_size: usize, choice: Choice<'_>) -> Result<Self> {
        if !directory.is_dir() {
            return Err(Failure::unavailable(format!(
                "{} is no folder: give the folder of a RocksDB database with --db",
                directory.display()
            )));
        }
        if !directory.join(CURRENT).exists() {
            return Err(Failure::unavailable(format!(
                "{} holds no database (it has no file {CURRENT}): give the folder of a RocksDB database with --db",
                directory.display()
            )));
        }
        let cache = BlockCache::builder().capacity(cache_size).build().map_err(|error| {
            Failure::unavailable(format!("cannot make a block cache of --cache-size {cache_size}: {error}"))
        })?;
        let waiting = Waiting::new("opening");
        let db = Db::open_read_only(directory, &DbOptions::new(cache.clone()))?;
        drop(waiting);
        let chosen: Vec<_> = match choice {
            Choice::All => db.column_families().iter().collect(),
            Choice::Named(name) => db.column_family(name).into_iter().collect(),
        };
        if let (true, Choice::Named(name)) = (chosen.is_empty(), choice) {
            let names: Vec<_> = db.column_families().iter().map(|family| family.name.as_str()).collect();
            return Err(Failure::usage(format!(
                "{} has no column family `{name}`: choose one of {} with --cf, or all with --all-cf",
                directory.display(),
                names.join(", ")
            )));
        }
        let families = chosen
            .into_iter()
            .map(|family| {
                let comparator = comparator_by_name(&family.comparator).ok_or_else(|| {
                    Failure::unavailable(format!(
                        "comparator {} of column family {} is unknown",
                        family.comparator, family.name
                    ))
                })?;
                Ok(Family { name: family.name.clone(), comparator, id: family.id })
            })
            .collect::<Result<_>>()?;
        Ok(Self { db, cache, families })
    }

    pub(crate) fn db(&self) -> &Db {
        &self.db
    }

    pub(crate) fn cache(&self) -> &BlockCache {
        &self.cache
    }

    /// Those that were asked for, in the order of their ids.
    pub(crate) fn families(&self) -> &[Family] {
        &self.families
    }

    pub(crate) fn get(&self, family: &Family, key: &[u8]) -> Result<Option<PinnedSlice>> {
        Ok(self.db.get(family.id, key)?)
    }

    pub(crate) fn multi_get(&self, family: &Family, keys: &[&[u8]]) -> Result<Vec<Option<PinnedSlice>>> {
        self.db.multi_get(family.id, keys)?.into_iter().map(|value| Ok(value?)).collect()
    }

    /// An iterator, positioned nowhere.
    pub(crate) fn rows(&self, family: &Family, fill_cache: bool) -> Result<DbIter<'_>> {
        Ok(self.db.iter(family.id, &ReadOptions::new().fill_cache(fill_cache))?)
    }

    /// Everything that was read since the tables were opened.
    pub(crate) fn reads(&self) -> Reads {
        let BlockReads { blocks, bytes, .. } = self.db.counters().reads_after_open();
        Reads { blocks, bytes }
    }
}

/// Errors of the reader and the writer: each names its file and what to do.
impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        let kind = match error {
            Error::Corruption { .. } => Kind::Damage,
            Error::InvalidArgument(_) => Kind::Usage,
            _ => Kind::Unavailable,
        };
        Self::Said { kind, message: error.to_string() }
    }
}
