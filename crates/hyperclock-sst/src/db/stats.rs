//! What an open database consists of.

use std::collections::BTreeMap;

use hyperclock::Primary;

use super::{Db, Level};
use crate::counters::BlockKind;
use crate::error::Result;

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

impl<P: Primary> Db<P> {
    /// Sums up the live files by column family and level.
    ///
    /// Costs a walk over the files; of those with a partitioned filter, the index over its
    /// partitions is read to count them.
    pub fn stats(&self) -> Result<DbStats> {
        let mut families = Vec::with_capacity(self.families.len());
        for (description, family) in self.column_families.iter().zip(&self.families) {
            families.push(FamilyStats {
                id: description.id,
                name: description.name.clone(),
                levels: family.levels.iter().map(LevelStats::new).collect::<Result<_>>()?,
            });
        }
        Ok(DbStats { families })
    }
}

impl LevelStats {
    fn new<P: Primary>(level: &Level<P>) -> Result<Self> {
        let mut stats = Self { level: level.level, ..Self::default() };
        let mut blocks = [0; BlockKind::ALL.len()];
        for file in &level.files {
            let table = &file.table;
            stats.files += 1;
            stats.entries = stats.entries.saturating_add(table.properties().num_entries);
            stats.bytes = stats.bytes.saturating_add(table.file_size());
            *stats.format_versions.entry(table.format_version()).or_default() += 1;
            stats.unknown_filters += u64::from(table.has_unknown_filter());
            for (sum, (_, count)) in blocks.iter_mut().zip(table.block_counts()?) {
                *sum += count;
            }
        }
        let counted = BlockKind::ALL.into_iter().zip(blocks);
        stats.blocks = counted.filter(|&(_, count)| count > 0).collect();
        Ok(stats)
    }
}
