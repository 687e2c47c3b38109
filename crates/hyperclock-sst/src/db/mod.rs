//! A RocksDB database, opened read-only.
//!
//! Opening reads `CURRENT` and the MANIFEST, and opens every live table; after that a database is
//! an immutable set of files per column family and level. Nothing is locked and nothing is
//! written. A running RocksDB may delete a file between the MANIFEST's reading and the file's
//! opening: then everything is read again, a few times. Once open, the files stay readable even
//! when they are deleted.
//!
//! ```text
//! Db -- Family "default" -- level 0: newest file .. oldest file     searched one by one
//!    |                   |- level 5: disjoint files, by key          binary search, one file
//!    |                   `- level 6: ..
//!    `- Family ..
//! ```
//!
//! What is read is the state as of the last sequence number in the MANIFEST.
//!
//! # What it cannot read
//!
//! Features that could make *any* answer wrong are refused at open: writes that are only in a
//! write-ahead log, range deletions, user-defined timestamps, comparators without an
//! implementation, files in other directories (`db_paths`). Features of single entries (merge
//! operands, values in blob files, wide-column entities, `TimedPut`) are refused by the read that
//! meets one, and the rest of the database can be read. Both are [`Error::Unsupported`].
//!
//! Invariants: I1, files of level 0 are ordered from newest to oldest, files of deeper levels by
//! key, and those do not overlap. I2, a [`Db`] never changes; threads share it without a lock.

mod multi_get;
mod open;
mod recovery;
mod stats;
mod warnings;

use std::cmp::Ordering;
use std::fmt;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use hyperclock::{BlockCache, Clock, Primary};

pub use stats::{DbStats, FamilyStats, LevelStats};
pub use warnings::{Warning, WarningKind};

use crate::cached::PinnedSlice;
use crate::counters::TableCounters;
use crate::entry::{Entry, unsupported};
use crate::error::{Error, Result};
use crate::file::FileSystem;
use crate::iter::{DbIter, LevelIterator, Source, TableCursor};
use crate::key::{InternalKey, InternalOrder, encode_seek_key, user_key_of};
use crate::manifest::FileMetadata;
use crate::table::{ReadOptions, Table};

/// Id of the column family that every database has.
pub const DEFAULT_COLUMN_FAMILY: u32 = 0;

/// A column family of an open database.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ColumnFamily {
    /// What reads take to choose the family.
    pub id: u32,
    /// The name given when it was created.
    pub name: String,
    /// The name of the comparator that orders its keys.
    pub comparator: String,
}

/// How a database is opened; made by [`new`](Self::new).
///
/// ```
/// use hyperclock_sst::{DbOptions, hyperclock::BlockCache};
///
/// let options = DbOptions::new(BlockCache::new(64 << 20)).log_directory("/var/lib/orders-wal");
/// assert!(options.log_directory.is_some());
/// ```
#[non_exhaustive]
pub struct DbOptions<P: Primary = Clock> {
    /// Holds the blocks. Databases can share one.
    ///
    /// It needs room for the blocks of one lookup. A table's index is one block, about 0.5 % of the table's size where data
    /// blocks have 4 KiB; one that is larger than the cache is used and not kept, so that every lookup reads it from the file
    /// again. The way out is a larger cache, or tables with a two-level index (`kTwoLevelIndexSearch` in RocksDB), which is read
    /// in parts.
    pub cache: BlockCache<P>,
    /// Where the files are.
    pub file_system: Arc<dyn FileSystem>,
    /// The directory of the write-ahead logs, if it is neither the database's own nor the one in
    /// its `OPTIONS` file. Of that file at most 8 MiB are read, and none if this is given.
    pub log_directory: Option<PathBuf>,
}

impl<P: Primary> DbOptions<P> {
    /// Options with this cache, for a database in the operating system's files.
    pub fn new(cache: BlockCache<P>) -> Self {
        Self { cache, file_system: Arc::new(crate::file::StdFileSystem), log_directory: None }
    }

    /// The same with [`file_system`](Self::file_system).
    #[must_use]
    pub fn file_system(self, file_system: Arc<dyn FileSystem>) -> Self {
        Self { file_system, ..self }
    }

    /// The same with [`log_directory`](Self::log_directory).
    #[must_use]
    pub fn log_directory(self, directory: impl Into<PathBuf>) -> Self {
        Self { log_directory: Some(directory.into()), ..self }
    }
}

impl<P: Primary> fmt::Debug for DbOptions<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DbOptions").field("log_directory", &self.log_directory).finish_non_exhaustive()
    }
}

/// A table file of the open database.
pub(crate) struct LiveFile<P: Primary> {
    metadata: FileMetadata,
    path: PathBuf,
    table: Table<P>,
}

impl<P: Primary> LiveFile<P> {
    pub(crate) fn metadata(&self) -> &FileMetadata {
        &self.metadata
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    pub(crate) fn table(&self) -> &Table<P> {
        &self.table
    }

    fn smallest_user_key(&self) -> &[u8] {
        user_key_of(&self.metadata.smallest)
    }

    fn largest_user_key(&self) -> &[u8] {
        user_key_of(&self.metadata.largest)
    }

    /// Whether the file's bounds include `user_key`.
    fn may_hold(&self, order: &InternalOrder, user_key: &[u8]) -> bool {
        order.compare_user(user_key, self.smallest_user_key()) != Ordering::Less
            && order.compare_user(user_key, self.largest_user_key()) != Ordering::Greater
    }
}

/// The files of one level, in the order that I1 says.
struct Level<P: Primary> {
    level: u32,
    files: Vec<LiveFile<P>>,
}

impl<P: Primary> Level<P> {
    /// The files that may hold versions of the key, in the order to search them.
    ///
    /// `target` is the internal key to seek, `user_key` its user key.
    fn files_for<'a>(
        &'a self,
        order: &'a InternalOrder,
        user_key: &'a [u8],
        target: &[u8],
    ) -> impl Iterator<Item = &'a LiveFile<P>> {
        let overlapping = self.level == 0;
        let start = if overlapping { 0 } else { self.find(order, target) };
        self.files
            .get(start..)
            .unwrap_or_default()
            .iter()
            // Below level 0 the versions of a key may go on in the next file, no further than
            // files that begin with it.
            .take_while(move |file| {
                overlapping || order.compare_user(file.smallest_user_key(), user_key) != Ordering::Greater
            })
            .filter(move |file| file.may_hold(order, user_key))
    }

    /// Number of the first file whose largest key is not before `target`, below level 0.
    fn find(&self, order: &InternalOrder, target: &[u8]) -> usize {
        self.files.partition_point(|file| order.compare(&file.metadata.largest, target) == Ordering::Less)
    }
}

/// A column family's files.
struct Family<P: Primary> {
    order: InternalOrder,
    /// Those with files, from the top.
    levels: Vec<Level<P>>,
}

/// A database that is open for reading.
///
/// ```no_run
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// use hyperclock::BlockCache;
/// use hyperclock_sst::{DEFAULT_COLUMN_FAMILY, Db, DbOptions};
///
/// let cache = BlockCache::builder().capacity(64 << 20).build()?;
/// let db = Db::open_read_only("/var/lib/orders", &DbOptions::new(cache))?;
/// if let Some(value) = db.get(DEFAULT_COLUMN_FAMILY, b"order:1031")? {
///     println!("{} bytes", value.len());
/// }
/// # Ok(())
/// # }
/// ```
///
/// Threads share one `&Db`. Reads take the id of a column family, from
/// [`column_family`](Self::column_family) or [`DEFAULT_COLUMN_FAMILY`]. An open database holds one
/// file descriptor per table.
pub struct Db<P: Primary = Clock> {
    path: PathBuf,
    /// Beside `families`, in the order of their ids.
    column_families: Vec<ColumnFamily>,
    families: Vec<Family<P>>,
    last_sequence: u64,
    database_id: Option<String>,
    warnings: Vec<Warning>,
    counters: Arc<TableCounters>,
}

impl<P: Primary> fmt::Debug for Db<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Db")
            .field("path", &self.path)
            .field("column_families", &self.column_families)
            .field("last_sequence", &self.last_sequence)
            .finish_non_exhaustive()
    }
}

/// How the newest visible version of a key ends a lookup.
enum Found<P: Primary> {
    Value(PinnedSlice<P>),
    Deletion,
}

impl<P: Primary> Found<P> {
    /// What the entry of a file says about its key; `value` pins its value.
    fn new(key: InternalKey<'_>, file: &LiveFile<P>, value: impl FnOnce() -> PinnedSlice<P>) -> Result<Self> {
        match Entry::of(key.value_type) {
            Entry::Value => Ok(Self::Value(value())),
            Entry::Deletion => Ok(Self::Deletion),
            Entry::Unsupported => Err(unsupported(key.value_type, key.user_key, &file.path)),
        }
    }

    fn into_value(self) -> Option<PinnedSlice<P>> {
        match self {
            Self::Value(value) => Some(value),
            Self::Deletion => None,
        }
    }
}

impl<P: Primary> LiveFile<P> {
    /// The newest version of a key in this file that `target` sees.
    fn search(&self, target: &[u8], read: ReadOptions) -> Result<Option<Found<P>>> {
        let mut found = Ok(None);
        self.table.get(target, &read, &mut |key, value| {
            found = Found::new(key, self, || value.pin()).map(Some);
            ControlFlow::Break(())
        })?;
        found
    }
}

impl<P: Primary> Db<P> {
    /// The directory.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// All column families, in the order of their ids.
    pub fn column_families(&self) -> &[ColumnFamily] {
        &self.column_families
    }

    /// The column family of that name.
    pub fn column_family(&self, name: &str) -> Option<&ColumnFamily> {
        self.column_families.iter().find(|family| family.name == name)
    }

    /// The newest sequence number: reads see writes up to it.
    pub fn last_sequence(&self) -> u64 {
        self.last_sequence
    }

    /// The identity of the database, from its MANIFEST or else its `IDENTITY` file.
    pub fn database_id(&self) -> Option<&str> {
        self.database_id.as_deref()
    }

    /// What was left out when it was opened, and is not there for reads; normally nothing.
    pub fn warnings(&self) -> &[Warning] {
        &self.warnings
    }

    /// What its tables have read so far.
    pub fn counters(&self) -> &TableCounters {
        &self.counters
    }

    fn family(&self, id: u32) -> Result<&Family<P>> {
        self.column_families
            .binary_search_by_key(&id, |family| family.id)
            .ok()
            .and_then(|index| self.families.get(index))
            .ok_or_else(|| Error::InvalidArgument(format!("no column family has the id {id}")))
    }

    /// The value of `key`, or `None` if it has none.
    ///
    /// The value is not copied: it pins its block in the cache until it is dropped. Costs one
    /// filter probe per file whose bounds include the key (each file of level 0, one of every
    /// deeper level), and an index and a data block for each that does not rule it out.
    pub fn get(&self, column_family: u32, key: &[u8]) -> Result<Option<PinnedSlice<P>>> {
        self.get_with(column_family, key, &ReadOptions::default())
    }

    /// [`get`](Self::get) with options.
    pub fn get_with(&self, column_family: u32, key: &[u8], read: &ReadOptions) -> Result<Option<PinnedSlice<P>>> {
        let family = self.family(column_family)?;
        let mut target = Vec::new();
        encode_seek_key(&mut target, key, self.last_sequence);
        for level in &family.levels {
            for file in level.files_for(&family.order, key, &target) {
                if let Some(found) = file.search(&target, *read)? {
                    return Ok(found.into_value());
                }
            }
        }
        Ok(None)
    }

    /// An iterator over a column family, positioned nowhere.
    #[expect(clippy::iter_not_returning_iterator, reason = "a cursor that moves both ways")]
    pub fn iter(&self, column_family: u32, read: &ReadOptions) -> Result<DbIter<'_, P>> {
        let family = self.family(column_family)?;
        let mut sources = Vec::new();
        for level in &family.levels {
            if level.level == 0 {
                let files = level.files.iter();
                sources.extend(files.map(|file| Source::File(TableCursor::new(file, *read))));
            } else {
                let files = LevelIterator::new(&family.order, &level.files, *read);
                sources.push(Source::Level(files));
            }
        }
        Ok(DbIter::new(&family.order, sources, self.last_sequence))
    }
}
