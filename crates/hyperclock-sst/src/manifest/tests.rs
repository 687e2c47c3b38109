use super::*;
use crate::coding::{put_fixed64, put_length_prefixed, put_varint32, put_varint64};

/// Builds a record field by field.
#[derive(Default)]
struct Record(Vec<u8>);

impl Record {
    fn v(mut self, value: u64) -> Self {
        put_varint64(&mut self.0, value);
        self
    }

    fn s(mut self, bytes: &[u8]) -> Self {
        put_length_prefixed(&mut self.0, bytes);
        self
    }

    fn decode(self) -> Result<VersionEdit> {
        VersionEdit::decode(&self.0)
    }
}

fn record() -> Record {
    Record::default()
}

const SMALLEST: &[u8] = b"apple\x01\x05\0\0\0\0\0\0";
const LARGEST: &[u8] = b"cherry\x00\x04\0\0\0\0\0\0";

/// Tag 103 up to its custom fields.
fn new_file_4() -> Record {
    record().v(103).v(2).v(9).v(1217).s(SMALLEST).s(LARGEST).v(2).v(5)
}

fn the_file(path_id: u32) -> FileMetadata {
    FileMetadata {
        number: 9,
        size: 1217,
        path_id,
        smallest: SMALLEST.to_vec(),
        largest: LARGEST.to_vec(),
        smallest_sequence: 2,
        largest_sequence: 5,
        timestamps_persisted: true,
        ..FileMetadata::default()
    }
}

#[test]
fn an_edit_written_by_rocksdb_7_8_decodes() {
    // The fourth record of the MANIFEST of a database with one file.
    let bytes = b"\x02\x08\x09\x00\x03\x0a\x04\x05\x67\x00\x09\xc1\x09\
        \x0dapple\x01\x05\0\0\0\0\0\0\x0echerry\x00\x04\0\0\0\0\0\0\x02\x05\
        \x05\x05\xaf\xd3\xb7\xd8\x06\x06\x05\xaf\xd3\xb7\xd8\x06\x07\x00\x08\x07Unknown\
        \x0c\x10\xf4\xf1\x6b\x22\x73\x21\xae\xa9\x55\x14\x84\xc9\xc1\x94\x10\xdd\x01";
    let expected = VersionEdit {
        log_number: Some(8),
        next_file_number: Some(10),
        last_sequence: Some(5),
        new_files: vec![(
            0,
            FileMetadata { unique_id: Some([0xa9ae_2173_226b_f1f4, 0xdd10_94c1_c984_1455]), ..the_file(0) },
        )],
        ..VersionEdit::default()
    };
    assert_eq!(VersionEdit::decode(bytes), Ok(expected));
}

#[test]
fn an_empty_record_changes_nothing() {
    assert_eq!(VersionEdit::decode(b""), Ok(VersionEdit::default()));
}

#[test]
fn the_four_forms_of_a_new_file() {
    let head = |tag| record().v(tag).v(2).v(9);
    let forms = [
        (head(7).v(1217).s(SMALLEST).s(LARGEST), 0),
        (head(100).v(1217).s(SMALLEST).s(LARGEST).v(2).v(5), 0),
        // The path id comes before the size here ..
        (head(102).v(3).v(1217).s(SMALLEST).s(LARGEST).v(2).v(5), 3),
        // .. and as one byte of a custom field here.
        (new_file_4().v(65).s(&[3]).v(1), 3),
    ];
    for (form, path_id) in forms {
        let mut file = the_file(path_id);
        if form.0[0] == 7 {
            (file.smallest_sequence, file.largest_sequence) = (0, 0);
        }
        assert_eq!(form.v(4).v(77).decode().unwrap().new_files, [(2, file)]);
    }
}

#[test]
fn custom_fields() {
    let mut minimum = Vec::new();
    put_fixed64(&mut minimum, 300);
    let edit = new_file_4().v(3).s(&minimum).v(13).s(&[0x85, 0x01]).v(16).s(&[0]).v(40).s(b"?").v(1);
    let edit = edit.v(10).v(299).decode().unwrap();
    assert_eq!(edit.min_log_number_to_keep, Some(300));
    let file = FileMetadata { epoch_number: 133, timestamps_persisted: false, ..the_file(0) };
    assert_eq!(edit.new_files, [(2, file)]);
    assert!(matches!(new_file_4().v(66).s(b"").v(1).decode(), Err(Defect::Unsupported(_))));
    for (tag, field) in [(12, &[0; 15][..]), (12, &[0; 17]), (65, b""), (16, b"xx"), (3, b"\x05")] {
        let outcome = new_file_4().v(tag).s(field).v(1).decode();
        assert!(matches!(outcome, Err(Defect::Corrupt(_))), "{tag} {outcome:?}");
    }
}

#[test]
fn old_tags_with_the_ignorable_bit_are_not_length_prefixed() {
    let edit = record()
        .v(8194)
        .v(11)
        .v(2)
        .v(300)
        .s(b"")
        .s(b"")
        .v(0)
        .v(8195)
        .v(11)
        .v(1)
        .v(100)
        .v(5)
        .s(b"skipped")
        .v(0)
        .v(8196)
        .v(12)
        .v(2)
        .v(4096)
        .v(1)
        .v(8197)
        .v(12)
        .v(4)
        .v(77);
    assert_eq!(edit.decode().unwrap().last_sequence, Some(77));
}

#[test]
fn unknown_tags_are_skipped_only_if_they_allow_it() {
    let edit = record().v(8203).s(b"v").v(8199).s(b"\x0c\x01").v(9999).s(b"new").v(4).v(77);
    assert_eq!(edit.decode().unwrap().last_sequence, Some(77));
    for tag in [8, 11, 99, 301, 402] {
        assert!(matches!(record().v(tag).v(0).decode(), Err(Defect::Unsupported(_))));
    }
    let blob = record().v(400).v(11).v(2).v(300).s(b"").s(b"").v(64).s(b"").v(0);
    assert!(matches!(blob.decode(), Err(Defect::Unsupported(_))));
}

#[test]
fn families_names_and_groups() {
    let edit = record().v(1).s(b"cmp").v(200).v(3).v(201).s(b"users").v(300).v(2).v(203).v(3);
    let expected = VersionEdit {
        comparator: Some("cmp".to_owned()),
        column_family: 3,
        add_column_family: Some("users".to_owned()),
        remaining_in_group: Some(2),
        ..VersionEdit::default()
    };
    assert_eq!(edit.decode(), Ok(expected));
    assert!(record().v(200).v(3).v(202).decode().unwrap().drop_column_family);
}

#[test]
fn every_truncation_is_found_or_ends_between_fields() {
    let whole = new_file_4().v(13).s(&[7]).v(1).v(4).v(77).0;
    let mut complete = 0;
    for end in 0..whole.len() {
        match VersionEdit::decode(&whole[..end]) {
            Ok(_) => complete += 1,
            Err(error) => assert!(matches!(error, Defect::Corrupt(_))),
        }
    }
    assert_eq!(complete, 2, "before the first and after the first field");
}

#[test]
fn a_length_larger_than_the_record_allocates_nothing() {
    let mut bytes = vec![1];
    put_varint32(&mut bytes, u32::MAX);
    assert!(matches!(VersionEdit::decode(&bytes), Err(Defect::Corrupt(_))));
}
