//! Turns a set of tables into a database: MANIFEST, IDENTITY and CURRENT.
//!
//! The MANIFEST written here is a snapshot in two records: the first names database and comparator, the second all
//! files with the counters that RocksDB insists on (log number, next file number, last sequence). CURRENT comes last and
//! names the MANIFEST: until it exists there is no database, so a crash in between leaves a directory that nobody opens.
//!
//! Invariants: I1 the next file number is above every number in the directory. I2 files of one level above 0 do not
//! overlap. I3 sizes and unique ids are those of the files, because RocksDB compares them when it opens a database.

use std::path::Path;

use super::{AtomicFile, SstInfo, log_writer::LogWriter};
use crate::coding::{put_fixed64, put_length_prefixed, put_varint32, put_varint64};
use crate::error::Result;

/// Tags of a version edit.
mod tag {
    pub(super) const COMPARATOR: u32 = 1;
    pub(super) const LOG_NUMBER: u32 = 2;
    pub(super) const NEXT_FILE_NUMBER: u32 = 3;
    pub(super) const LAST_SEQUENCE: u32 = 4;
    pub(super) const PREV_LOG_NUMBER: u32 = 9;
    pub(super) const NEW_FILE_4: u32 = 103;
    pub(super) const DB_ID: u32 = 8193;
}

/// Tags of the custom fields behind a new file.
mod custom_tag {
    pub(super) const TERMINATE: u32 = 1;
    pub(super) const OLDEST_ANCESTOR_TIME: u32 = 5;
    pub(super) const FILE_CREATION_TIME: u32 = 6;
    pub(super) const UNIQUE_ID: u32 = 12;
    pub(super) const EPOCH_NUMBER: u32 = 13;
    pub(super) const TAIL_SIZE: u32 = 15;
}

/// A table in its place.
#[derive(Debug)]
pub(crate) struct PlacedTable {
    pub(crate) level: u32,
    pub(crate) number: u64,
    pub(crate) info: SstInfo,
    /// The two words that derive from database id, session id and file number.
    pub(crate) unique_id: [u64; 2],
    /// Seconds since 1970, 0 for unknown.
    pub(crate) creation_time: u64,
}

/// All that a MANIFEST says about a database with one column family.
#[derive(Debug)]
pub(crate) struct DatabaseSnapshot<'a> {
    pub(crate) db_id: &'a str,
    pub(crate) comparator: &'a str,
    pub(crate) next_file_number: u64,
    pub(crate) last_sequence: u64,
    pub(crate) tables: &'a [PlacedTable],
}

impl DatabaseSnapshot<'_> {
    /// The bytes of the MANIFEST.
    pub(crate) fn to_manifest(&self) -> Vec<u8> {
        let mut log = LogWriter::default();

        let mut edit = Vec::new();
        put_varint32(&mut edit, tag::DB_ID);
        put_length_prefixed(&mut edit, self.db_id.as_bytes());
        put_varint32(&mut edit, tag::COMPARATOR);
        put_length_prefixed(&mut edit, self.comparator.as_bytes());
        log.add_record(&edit);

        edit.clear();
        for (tag, value) in [
            (tag::LOG_NUMBER, 0),
            (tag::PREV_LOG_NUMBER, 0),
            (tag::NEXT_FILE_NUMBER, self.next_file_number),
            (tag::LAST_SEQUENCE, self.last_sequence),
        ] {
            put_varint32(&mut edit, tag);
            put_varint64(&mut edit, value);
        }
        for table in self.tables {
            put_new_file(&mut edit, table);
        }
        log.add_record(&edit);
        log.into_bytes()
    }

    /// Makes `directory`, which holds the tables, a database. Returns the paths of the files it made, even those made
    /// before an error.
    pub(crate) fn install(
        &self,
        directory: &Path,
        manifest_number: u64,
        made: &mut Vec<std::path::PathBuf>,
    ) -> Result<()> {
        let manifest = format!("MANIFEST-{manifest_number:06}");
        for (name, bytes) in [
            (manifest.as_str(), self.to_manifest()),
            ("IDENTITY", self.db_id.as_bytes().to_vec()),
            ("CURRENT", format!("{manifest}\n").into_bytes()),
        ] {
            let path = directory.join(name);
            AtomicFile::write_all_to(&path, &bytes)?;
            made.push(path);
        }
        Ok(())
    }
}

fn put_new_file(edit: &mut Vec<u8>, table: &PlacedTable) {
    let info = &table.info;
    put_varint32(edit, tag::NEW_FILE_4);
    put_varint32(edit, table.level);
    put_varint64(edit, table.number);
    put_varint64(edit, info.file_size);
    put_length_prefixed(edit, &info.smallest_key);
    put_length_prefixed(edit, &info.largest_key);
    put_varint64(edit, info.smallest_sequence);
    put_varint64(edit, info.largest_sequence);

    let mut unique_id = Vec::with_capacity(16);
    for word in table.unique_id {
        put_fixed64(&mut unique_id, word);
    }
    for (tag, value) in [
        (custom_tag::OLDEST_ANCESTOR_TIME, varint(table.creation_time)),
        (custom_tag::FILE_CREATION_TIME, varint(table.creation_time)),
        (custom_tag::UNIQUE_ID, unique_id),
        // Epochs order the files of level 0; below it they only have to be there.
        (custom_tag::EPOCH_NUMBER, varint(1)),
        (custom_tag::TAIL_SIZE, varint(info.file_size - info.data_size)),
    ] {
        put_varint32(edit, tag);
        put_length_prefixed(edit, &value);
    }
    put_varint32(edit, custom_tag::TERMINATE);
}

fn varint(value: u64) -> Vec<u8> {
    let mut bytes = Vec::new();
    put_varint64(&mut bytes, value);
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_new_file_is_encoded_field_by_field() {
        let info = SstInfo {
            file_size: 1217,
            data_size: 96,
            num_entries: 4,
            num_deletions: 1,
            num_data_blocks: 1,
            smallest_key: b"a\x01\x05\0\0\0\0\0\0".to_vec(),
            largest_key: b"c\0\x04\0\0\0\0\0\0".to_vec(),
            smallest_sequence: 2,
            largest_sequence: 5,
        };
        let table = PlacedTable { level: 6, number: 9, info, unique_id: [0x0102, 0x0304], creation_time: 0 };
        let mut edit = Vec::new();
        put_new_file(&mut edit, &table);
        let expected = [
            &[0x67, 6, 9, 0xc1, 0x09][..],
            b"\x09a\x01\x05\0\0\0\0\0\0",
            b"\x09c\0\x04\0\0\0\0\0\0",
            &[2, 5],
            &[5, 1, 0, 6, 1, 0],
            &[12, 16, 2, 1, 0, 0, 0, 0, 0, 0, 4, 3, 0, 0, 0, 0, 0, 0],
            &[13, 1, 1],
            &[15, 2, 0xe1, 0x08],
            &[1],
        ]
        .concat();
        assert_eq!(edit, expected);
    }
}
