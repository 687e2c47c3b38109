//! What an open database consists of.

use std::collections::BTreeMap;

use hyperclock::Primary;

use super::Db;
use crate::counters::BlockKind;

/// The live files of a database, summed up; from [`Db::stats`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct DbStats {
    /// By column family, in the order of their ids.
    pub families: Vec<FamilyStats>,
}

/// The live files of a column family.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct FamilyStats {
    /// The family's id.
    pub id: u32,
    /// The family's name.
    pub name: String,
    /// The levels that hold files, from the top.
    pub levels: Vec<LevelStats>,
}

/// The live files of one level.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct LevelStats {
    /// The level's number.
    pub level: u32,
    /// Table files.
    pub files: u64,
    /// Stored entries, deletions and overwritten versions included.
    pub entries: u64,
    /// Bytes of the files.
    pub bytes: u64,
    /// Files by format version.
    pub format_versions: BTreeMap<u32, u64>,
    /// Blocks by kind; kinds without a block are left out.
    pub blocks: Vec<(BlockKind, u64)>,
    /// Files whose filter is of a kind that is not known; they are read without it.
    pub unknown_filters: u64,
}
