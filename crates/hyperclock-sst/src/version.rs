//! The state of a database: version edits applied in order.
//!
//! The builder keeps one map of live files per column family, from file number to level and
//! description. An edit removes files before it adds any, because a file that only changes its
//! level is deleted and added in one edit. Edits of an atomic group wait until the last of them
//! has come; a group that the end of the MANIFEST cuts off never happened.
//!
//! What holds after [`VersionBuilder::finish`]:
//!
//! * I1: level 0 is ordered from the newest file to the oldest;
//! * I2: the files of each deeper level are ordered by their smallest key and their ranges of
//!   internal keys do not overlap (one user key may still end one file and begin the next);
//! * I3: `smallest <= largest` in every file, and no number is live twice in a family.
//!
//! Cost: one map operation per file added or deleted, one sort per level.

use std::cmp::{Ordering, Reverse};
use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;

use crate::error::Defect;
use crate::key::{Comparator, InternalOrder, TIMESTAMP_SUFFIX, comparator_by_name};
use crate::manifest::{FileMetadata, VersionEdit};

/// Comparator of families that do not name theirs.
const DEFAULT_COMPARATOR: &str = "leveldb.BytewiseComparator";

type Result<T> = std::result::Result<T, Defect>;

/// A database as its MANIFEST describes it.
pub(crate) struct Version {
    /// In the order of their ids.
    pub(crate) families: Vec<FamilyVersion>,
    /// The newest sequence number: what a read-only open sees.
    pub(crate) last_sequence: u64,
    /// Logs with a smaller number are obsolete.
    pub(crate) min_log_number_to_keep: u64,
    pub(crate) database_id: Option<String>,
    /// Files to come have this number or a larger one.
    pub(crate) next_file_number: u64,
    /// Numbers of all tables that an edit added or deleted.
    pub(crate) known_tables: HashSet<u64>,
}

/// A column family and its live files.
pub(crate) struct FamilyVersion {
    pub(crate) id: u32,
    pub(crate) name: String,
    pub(crate) comparator: Arc<dyn Comparator>,
    pub(crate) log_number: u64,
    /// The levels that hold files, from the top.
    pub(crate) levels: Vec<LevelFiles>,
}

/// The files of one level, ordered as I1 and I2 say.
pub(crate) struct LevelFiles {
    pub(crate) level: u32,
    pub(crate) files: Vec<FileMetadata>,
}

struct FamilyBuilder {
    name: String,
    comparator: Option<String>,
    log_number: u64,
    files: HashMap<u64, (u32, FileMetadata)>,
}

impl FamilyBuilder {
    fn new(name: String) -> Self {
        Self { name, comparator: None, log_number: 0, files: HashMap::new() }
    }
}

/// Applies version edits in the order of the MANIFEST.
pub(crate) struct VersionBuilder {
    families: BTreeMap<u32, FamilyBuilder>,
    log_number_seen: bool,
    next_file_number: Option<u64>,
    last_sequence: Option<u64>,
    min_log_number_to_keep: u64,
    database_id: Option<String>,
    known_tables: HashSet<u64>,
    /// Edits of the atomic group that is not complete yet.
    group: Vec<VersionEdit>,
}

fn malformed<T>(what: String) -> Result<T> {
    Err(Defect::corrupt(what))
}

impl VersionBuilder {
    /// The state before the first edit: an empty default family.
    pub(crate) fn new() -> Self {
        Self {
            families: BTreeMap::from([(0, FamilyBuilder::new("default".to_owned()))]),
            log_number_seen: false,
            next_file_number: None,
            last_sequence: None,
            min_log_number_to_keep: 0,
            database_id: None,
            known_tables: HashSet::new(),
            group: Vec::new(),
        }
    }

    /// Applies `edit`, at once or with the rest of its atomic group.
    pub(crate) fn apply(&mut self, edit: VersionEdit) -> Result<()> {
        let expected = self.group.last().and_then(|last| last.remaining_in_group);
        match (expected, edit.remaining_in_group) {
            (None, None) => return self.apply_one(edit),
            (None, Some(_)) => {}
            (Some(left), Some(remaining)) if Some(remaining) == left.checked_sub(1) => {}
            (Some(left), found) => {
                return malformed(format!("atomic group: {left} edits should follow, the next one says {found:?}"));
            }
        }
        let complete = edit.remaining_in_group == Some(0);
        self.group.push(edit);
        if complete {
            for edit in std::mem::take(&mut self.group) {
                self.apply_one(edit)?;
            }
        }
        Ok(())
    }

    /// Whether an atomic group was begun whose last edit has not come.
    pub(crate) fn inside_group(&self) -> bool {
        !self.group.is_empty()
    }

    fn apply_one(&mut self, edit: VersionEdit) -> Result<()> {
        if let Some(number) = edit.next_file_number {
            self.next_file_number = Some(number);
        }
        if let Some(sequence) = edit.last_sequence {
            self.last_sequence = self.last_sequence.max(Some(sequence));
        }
        if let Some(number) = edit.min_log_number_to_keep {
            self.min_log_number_to_keep = self.min_log_number_to_keep.max(number);
        }
        if let Some(id) = edit.database_id {
            self.database_id = Some(id);
        }
        let id = edit.column_family;
        if let Some(name) = edit.add_column_family {
            if self.families.contains_key(&id) {
                return malformed(format!("column family {id} ({name}) is added a second time"));
            }
            self.families.insert(id, FamilyBuilder::new(name));
        } else if edit.drop_column_family {
            return match self.families.remove(&id) {
                Some(_) if id != 0 => Ok(()),
                _ => malformed(format!("column family {id} cannot be dropped")),
            };
        }
        let Some(family) = self.families.get_mut(&id) else {
            return malformed(format!("column family {id} does not exist"));
        };
        if let Some(comparator) = edit.comparator {
            match &family.comparator {
                Some(known) if *known != comparator => {
                    return malformed(format!(
                        "column family {id} changes its comparator from {known} to {comparator}"
                    ));
                }
                _ => family.comparator = Some(comparator),
            }
        }
        if let Some(number) = edit.log_number {
            self.log_number_seen = true;
            family.log_number = family.log_number.max(number);
        }
        for (level, number) in edit.deleted_files {
            self.known_tables.insert(number);
            match family.files.remove(&number) {
                Some((live_level, _)) if live_level == level => {}
                _ => {
                    return malformed(format!("file {number} is deleted from level {level}, where it is not"));
                }
            }
        }
        for (level, file) in edit.new_files {
            let number = file.number;
            self.known_tables.insert(number);
            if let Some((live_level, _)) = family.files.insert(number, (level, file)) {
                return malformed(format!("file {number} is added to level {level} and is live in level {live_level}"));
            }
        }
        Ok(())
    }

    /// The state after the last edit.
    pub(crate) fn finish(self) -> Result<Version> {
        let Some(last_sequence) = self.last_sequence else {
            return malformed("no version edit holds the last sequence number".to_owned());
        };
        let Some(next_file_number) = self.next_file_number else {
            return malformed("no version edit holds the next file number".to_owned());
        };
        if !self.log_number_seen {
            return malformed("no version edit holds a log number".to_owned());
        }
        let mut names = HashSet::new();
        let mut families = Vec::with_capacity(self.families.len());
        for (id, family) in self.families {
            if !names.insert(family.name.clone()) {
                return malformed(format!("two column families are named {}", family.name));
            }
            families.push(family.finish(id)?);
        }
        Ok(Version {
            families,
            last_sequence,
            min_log_number_to_keep: self.min_log_number_to_keep,
            database_id: self.database_id,
            next_file_number,
            known_tables: self.known_tables,
        })
    }
}

impl FamilyBuilder {
    fn finish(self, id: u32) -> Result<FamilyVersion> {
        let name = self.comparator.as_deref().unwrap_or(DEFAULT_COMPARATOR);
        let Some(comparator) = comparator_by_name(name) else {
            let what = if name.ends_with(TIMESTAMP_SUFFIX) { "user-defined timestamps, " } else { "" };
            return Err(Defect::unsupported(format!("{what}comparator {name} of column family {}", self.name)));
        };
        let order = InternalOrder::new(&comparator);
        // Epoch numbers order level 0 only if the whole family has them.
        let epochs = self.files.values().all(|(_, file)| file.epoch_number != 0);
        let mut levels: BTreeMap<u32, Vec<FileMetadata>> = BTreeMap::new();
        for (level, file) in self.files.into_values() {
            if order.compare(&file.smallest, &file.largest) == Ordering::Greater {
                return malformed(format!("smallest key of file {} is above its largest", file.number));
            }
            levels.entry(level).or_default().push(file);
        }
        let mut ordered = Vec::with_capacity(levels.len());
        for (level, mut files) in levels {
            if level == 0 {
                files.sort_unstable_by_key(|file| Reverse(recency(file, epochs)));
            } else {
                files.sort_unstable_by(|a, b| order.compare(&a.smallest, &b.smallest));
                check_disjoint(&order, level, &files)?;
            }
            ordered.push(LevelFiles { level, files });
        }
        Ok(FamilyVersion { id, name: self.name, comparator, log_number: self.log_number, levels: ordered })
    }
}

/// What makes one file of level 0 newer than another.
fn recency(file: &FileMetadata, epochs: bool) -> (u64, u64, u64, u64) {
    let epoch = if epochs { file.epoch_number } else { 0 };
    (epoch, file.largest_sequence, file.smallest_sequence, file.number)
}

fn check_disjoint(order: &InternalOrder, level: u32, files: &[FileMetadata]) -> Result<()> {
    for pair in files.windows(2) {
        if let [left, right] = pair
            && order.compare(&left.largest, &right.smallest) != Ordering::Less
        {
            return malformed(format!("files {} and {} of level {level} overlap", left.number, right.number));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests;
