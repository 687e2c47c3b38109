//! What a block is for: the classes by which the cache accounts.

use std::fmt;

/// The role of an entry: 32 of them, 13 with the names that RocksDB's users know and 19 for the embedding engine.
///
/// Hits, misses, inserts, evictions and loads are counted per role ([`BlockCache::stats`]); for bytes per role, sum the
/// charges that [`BlockCache::for_each`] shows. A role does not influence what is evicted (see [`Priority`]).
///
/// [`BlockCache::stats`]: crate::BlockCache::stats
/// [`BlockCache::for_each`]: crate::BlockCache::for_each
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Role(u8);

const NAMES: [&str; 13] = [
    "data-block",
    "filter-block",
    "filter-meta-block",
    "index-block",
    "other-block",
    "write-buffer",
    "compression-dictionary-building-buffer",
    "filter-construction",
    "block-based-table-reader",
    "file-metadata",
    "blob-value",
    "blob-cache",
    "misc",
];

const USER_NAMES: [&str; 19] = [
    "user-0", "user-1", "user-2", "user-3", "user-4", "user-5", "user-6", "user-7", "user-8", "user-9", "user-10",
    "user-11", "user-12", "user-13", "user-14", "user-15", "user-16", "user-17", "user-18",
];

impl Role {
    /// Number of roles.
    pub const COUNT: usize = 32;
    /// Number of roles that [`Role::user`] gives.
    pub const USER_COUNT: u8 = 19;

    /// Blocks of keys and values.
    pub const DATA_BLOCK: Self = Self(0);
    /// Filters and partitions of filters.
    pub const FILTER_BLOCK: Self = Self(1);
    /// Indexes over partitions of filters.
    pub const FILTER_META_BLOCK: Self = Self(2);
    /// Indexes and their partitions.
    pub const INDEX_BLOCK: Self = Self(3);
    /// Other blocks of a table: dictionaries, range deletions.
    pub const OTHER_BLOCK: Self = Self(4);
    /// Memory of write buffers.
    pub const WRITE_BUFFER: Self = Self(5);
    /// Buffers from which compression dictionaries are trained.
    pub const COMPRESSION_DICTIONARY_BUILDING_BUFFER: Self = Self(6);
    /// Filters under construction.
    pub const FILTER_CONSTRUCTION: Self = Self(7);
    /// What an open table reader holds.
    pub const BLOCK_BASED_TABLE_READER: Self = Self(8);
    /// Metadata of files.
    pub const FILE_METADATA: Self = Self(9);
    /// Values of blob files.
    pub const BLOB_VALUE: Self = Self(10);
    /// A blob cache's own memory.
    pub const BLOB_CACHE: Self = Self(11);
    /// Everything else.
    pub const MISC: Self = Self(12);

    /// The `n`th role that is free for the embedding engine; `None` from [`Role::USER_COUNT`] on.
    #[must_use]
    pub const fn user(n: u8) -> Option<Self> {
        if n < Self::USER_COUNT { Some(Self(NAMES.len() as u8 + n)) } else { None }
    }

    /// A number below [`Role::COUNT`].
    #[must_use]
    pub const fn index(self) -> usize {
        self.0 as usize
    }

    /// The role whose [`Role::index`] is `index`, taken modulo the number of roles.
    pub(crate) const fn from_index(index: u8) -> Self {
        Self(index % Self::COUNT as u8)
    }

    /// All roles, in the order of their index.
    pub fn all() -> impl Iterator<Item = Self> {
        (0..Self::COUNT as u8).map(Self)
    }

    /// The name in lower case with hyphens, such as `data-block`, or `user-3`.
    #[must_use]
    pub fn name(self) -> &'static str {
        let index = self.index();
        NAMES.get(index).or_else(|| USER_NAMES.get(index - NAMES.len())).copied().unwrap_or("unknown")
    }
}

impl fmt::Debug for Role {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl fmt::Display for Role {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// How long an entry may stay without being used, in passes of the clock hand.
///
/// It sets the use count with which an entry starts: 3, 2 or 1. What is read again is kept whatever its priority.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum Priority {
    /// Indexes, filters, dictionaries: what every read of a file needs.
    High,
    /// Data blocks.
    #[default]
    Low,
    /// What is cheap to get again, or was written and may never be read.
    Bottom,
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use super::*;

    #[test]
    fn br_073_roles_end_where_documented() {
        let names: std::collections::HashSet<_> = Role::all().map(Role::name).collect();
        assert_eq!(names.len(), Role::COUNT);
        assert_eq!(Role::user(18).map(Role::name), Some("user-18"));
        assert_eq!(Role::user(19), None);
        for role in Role::all() {
            assert_eq!(Role::from_index(role.index() as u8), role);
        }
    }
}
