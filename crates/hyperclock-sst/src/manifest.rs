//! Version edits: what one MANIFEST record says.
//!
//! A record is a sequence of tagged fields. Tags are not length-prefixed, so a reader that does
//! not know one cannot go on, except for tags with bit 13, whose field is length-prefixed. Some
//! early tags carry that bit without keeping its promise, and each is decoded by name:
//!
//! * 8194 and 8195 have the unwrapped bodies of 400 and 401 (blob files), 8196 and 8197 those of
//!   the first write-ahead log records;
//! * 102 has its path id before the size, 103 in a custom field after everything else;
//! * custom field 3 is a fixed64 where its twin, tag 10, is a varint.
//!
//! Custom fields of a file may be skipped when unknown, unless they carry bit 6.
//!
//! Decoding allocates in proportion to the record only: strings and keys are copied from bytes
//! that are there, and lists grow by one element per element decoded.

use crate::coding::Reader;
use crate::error::Defect;

/// Tag bit of fields that a reader may skip.
const IGNORABLE_TAG: u32 = 1 << 13;
/// Custom field bit of fields that a reader must not skip.
const MUST_UNDERSTAND: u32 = 1 << 6;
/// Bytes of sequence number and type at the end of an internal key.
const TRAILER: usize = 8;

/// One change of a database's state.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct VersionEdit {
    /// The column family that the edit is about.
    pub(crate) column_family: u32,
    pub(crate) add_column_family: Option<String>,
    pub(crate) drop_column_family: bool,
    pub(crate) comparator: Option<String>,
    /// Logs with a smaller number hold nothing that the family needs.
    pub(crate) log_number: Option<u64>,
    pub(crate) next_file_number: Option<u64>,
    pub(crate) last_sequence: Option<u64>,
    /// Logs with a smaller number hold nothing that any family needs.
    pub(crate) min_log_number_to_keep: Option<u64>,
    pub(crate) database_id: Option<String>,
    /// Whether keys on disk keep their user-defined timestamps.
    pub(crate) timestamps_persisted: Option<bool>,
    /// Level and number.
    pub(crate) deleted_files: Vec<(u32, u64)>,
    pub(crate) new_files: Vec<(u32, FileMetadata)>,
    /// Edits that follow and must be applied together with this one.
    pub(crate) remaining_in_group: Option<u32>,
}

/// A table file as the MANIFEST describes it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct FileMetadata {
    /// The number in the file's name.
    pub(crate) number: u64,
    /// Bytes.
    pub(crate) size: u64,
    /// Which of the configured directories holds the file; 0 is the database's own.
    pub(crate) path_id: u32,
    /// Smallest internal key.
    pub(crate) smallest: Vec<u8>,
    /// Largest internal key; may be the exclusive end of a range deletion.
    pub(crate) largest: Vec<u8>,
    /// Smallest sequence number.
    pub(crate) smallest_sequence: u64,
    /// Largest sequence number.
    pub(crate) largest_sequence: u64,
    /// Orders the files of level 0; 0 if the writer did not record it.
    pub(crate) epoch_number: u64,
    /// The first 128 bits of the table's identity, if recorded.
    pub(crate) unique_id: Option<[u64; 2]>,
    /// Whether keys of this file keep their user-defined timestamps.
    pub(crate) timestamps_persisted: bool,
}

type Result<T> = std::result::Result<T, Defect>;

fn need<T>(value: Option<T>, field: &str) -> Result<T> {
    value.ok_or_else(|| Defect::corrupt(format!("{field} is cut short")))
}

fn text(bytes: &[u8], field: &str) -> Result<String> {
    match std::str::from_utf8(bytes) {
        Ok(text) => Ok(text.to_owned()),
        Err(_) => Err(Defect::corrupt(format!("{field} is not UTF-8"))),
    }
}

fn internal_key(reader: &mut Reader<'_>, field: &str) -> Result<Vec<u8>> {
    let key = need(reader.length_prefixed(), field)?;
    if key.len() < TRAILER {
        return Err(Defect::corrupt(format!(
            "{field} has {} bytes, an internal key has at least {TRAILER}",
            key.len()
        )));
    }
    Ok(key.to_vec())
}

impl VersionEdit {
    /// Decodes one MANIFEST record.
    pub(crate) fn decode(record: &[u8]) -> Result<Self> {
        let mut reader = Reader::new(record);
        let mut edit = Self::default();
        while !reader.is_empty() {
            let tag = need(reader.varint32(), "tag")?;
            edit.field(tag, &mut reader)?;
        }
        Ok(edit)
    }

    fn field(&mut self, tag: u32, reader: &mut Reader<'_>) -> Result<()> {
        match tag {
            1 => {
                let name = need(reader.length_prefixed(), "comparator")?;
                self.comparator = Some(text(name, "comparator")?);
            }
            2 => self.log_number = Some(need(reader.varint64(), "log number")?),
            3 => self.next_file_number = Some(need(reader.varint64(), "next file number")?),
            4 => self.last_sequence = Some(need(reader.varint64(), "last sequence")?),
            5 => {
                need(reader.varint32(), "compaction cursor level")?;
                need(reader.length_prefixed(), "compaction cursor key")?;
            }
            6 => {
                let level = need(reader.varint32(), "deleted file level")?;
                self.deleted_files.push((level, need(reader.varint64(), "deleted file number")?));
            }
            7 | 100 | 102 | 103 => {
                let file = new_file(tag, reader, &mut self.min_log_number_to_keep)?;
                self.new_files.push(file);
            }
            9 => {
                need(reader.varint64(), "previous log number")?;
            }
            10 => {
                let number = need(reader.varint64(), "minimum log number to keep")?;
                raise(&mut self.min_log_number_to_keep, number);
            }
            200 => self.column_family = need(reader.varint32(), "column family id")?,
            201 => {
                let name = need(reader.length_prefixed(), "column family name")?;
                self.add_column_family = Some(text(name, "column family name")?);
            }
            202 => self.drop_column_family = true,
            203 => {
                need(reader.varint32(), "maximum column family id")?;
            }
            300 => {
                let remaining = need(reader.varint32(), "edits left in the atomic group")?;
                self.remaining_in_group = Some(remaining);
            }
            400 | 8194 => blob_addition(reader)?,
            401 | 8195 => blob_garbage(reader)?,
            8193 => {
                let id = need(reader.length_prefixed(), "database id")?;
                self.database_id = Some(text(id, "database id")?);
            }
            8196 => log_addition(reader)?,
            8197 => {
                need(reader.varint64(), "deleted log number")?;
            }
            8201 => match need(reader.length_prefixed(), "timestamp persistence")? {
                &[flag] => self.timestamps_persisted = Some(flag != 0),
                _ => return Err(wrong_length("timestamp persistence")),
            },
            _ if tag & IGNORABLE_TAG != 0 => {
                need(reader.length_prefixed(), "skipped field")?;
            }
            _ => {
                return Err(Defect::unsupported(format!("tag {tag}, written by a newer RocksDB")));
            }
        }
        Ok(())
    }
}

fn wrong_length(field: &str) -> Defect {
    Defect::corrupt(format!("{field} has the wrong length"))
}

fn raise(current: &mut Option<u64>, value: u64) {
    *current = Some(current.map_or(value, |known| known.max(value)));
}

/// A new file in any of its four forms, with its level.
fn new_file(
    tag: u32,
    reader: &mut Reader<'_>,
    min_log_number_to_keep: &mut Option<u64>,
) -> Result<(u32, FileMetadata)> {
    let level = need(reader.varint32(), "new file level")?;
    let mut file = FileMetadata {
        number: need(reader.varint64(), "new file number")?,
        timestamps_persisted: true,
        ..FileMetadata::default()
    };
    if tag == 102 {
        file.path_id = need(reader.varint32(), "new file path id")?;
    }
    file.size = need(reader.varint64(), "new file size")?;
    file.smallest = internal_key(reader, "smallest key of a new file")?;
    file.largest = internal_key(reader, "largest key of a new file")?;
    if tag != 7 {
        file.smallest_sequence = need(reader.varint64(), "smallest sequence of a new file")?;
        file.largest_sequence = need(reader.varint64(), "largest sequence of a new file")?;
    }
    if tag == 103 {
        custom_fields(reader, &mut file, min_log_number_to_keep)?;
    }
    Ok((level, file))
}

fn custom_fields(
    reader: &mut Reader<'_>,
    file: &mut FileMetadata,
    min_log_number_to_keep: &mut Option<u64>,
) -> Result<()> {
    loop {
        let tag = need(reader.varint32(), "custom field tag of a new file")?;
        if tag == 1 {
            return Ok(());
        }
        let bytes = need(reader.length_prefixed(), "custom field of a new file")?;
        let mut field = Reader::new(bytes);
        match tag {
            3 => {
                let number = need(field.fixed64(), "minimum log number to keep")?;
                raise(min_log_number_to_keep, number);
            }
            12 => {
                let (first, second) = (field.fixed64(), field.fixed64());
                file.unique_id = match (first, second, bytes.len()) {
                    (Some(first), Some(second), 16) => Some([first, second]),
                    _ => return Err(wrong_length("unique id of a new file")),
                };
            }
            13 => file.epoch_number = need(field.varint64(), "epoch number of a new file")?,
            16 => match bytes {
                &[flag] => file.timestamps_persisted = flag != 0,
                _ => return Err(wrong_length("timestamp persistence of a new file")),
            },
            65 => match bytes {
                &[id] => file.path_id = u32::from(id),
                _ => return Err(wrong_length("path id of a new file")),
            },
            _ if tag & MUST_UNDERSTAND != 0 => {
                return Err(Defect::unsupported(format!(
                    "custom field {tag} of file {}, written by a newer RocksDB",
                    file.number
                )));
            }
            _ => {}
        }
    }
}

/// A new blob file. Nothing of it is kept: entries that point into it say so themselves.
fn blob_addition(reader: &mut Reader<'_>) -> Result<()> {
    for field in ["blob file number", "blob count", "blob bytes"] {
        need(reader.varint64(), field)?;
    }
    for field in ["blob checksum method", "blob checksum"] {
        need(reader.length_prefixed(), field)?;
    }
    blob_custom_fields(reader)
}

fn blob_garbage(reader: &mut Reader<'_>) -> Result<()> {
    for field in ["blob file number", "garbage blob count", "garbage blob bytes"] {
        need(reader.varint64(), field)?;
    }
    blob_custom_fields(reader)
}

fn blob_custom_fields(reader: &mut Reader<'_>) -> Result<()> {
    loop {
        let tag = need(reader.varint32(), "custom field tag of a blob file")?;
        if tag == 0 {
            return Ok(());
        }
        if tag & MUST_UNDERSTAND != 0 {
            return Err(Defect::unsupported(format!("custom field {tag} of a blob file, written by a newer RocksDB")));
        }
        need(reader.length_prefixed(), "custom field of a blob file")?;
    }
}

/// The first form of a write-ahead log's record.
fn log_addition(reader: &mut Reader<'_>) -> Result<()> {
    need(reader.varint64(), "log number")?;
    loop {
        match need(reader.varint32(), "field tag of a log")? {
            1 => return Ok(()),
            2 => need(reader.varint64(), "synced size of a log")?,
            tag => {
                return Err(Defect::unsupported(format!("field {tag} of a log, written by a newer RocksDB")));
            }
        };
    }
}

#[cfg(test)]
mod tests;
