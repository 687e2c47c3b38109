use super::*;

const NUMBER: u64 = 0x1_0000_0007;

/// Writes physical records as a log writer does.
#[derive(Default)]
struct LogFile(Vec<u8>);

impl LogFile {
    fn physical(&mut self, record_type: u8, payload: &[u8]) -> &mut Self {
        let mut body = vec![record_type];
        if matches!(record_type, 5..=8 | 11 | 131) {
            body.extend((NUMBER as u32).to_le_bytes());
        }
        body.extend(payload);
        self.0.extend(mask_crc(crc32c(&body)).to_le_bytes());
        self.0.extend((payload.len() as u16).to_le_bytes());
        self.0.extend(body);
        self
    }

    /// A logical record, cut where blocks end.
    fn logical(&mut self, mut payload: &[u8]) -> &mut Self {
        let mut first = true;
        loop {
            let left = BLOCK_SIZE - self.0.len() % BLOCK_SIZE;
            if left < LEGACY_HEADER {
                self.0.resize(self.0.len() + left, 0);
                continue;
            }
            let room = payload.len().min(left - LEGACY_HEADER);
            let (fragment, rest) = payload.split_at(room);
            let record_type = match (first, rest.is_empty()) {
                (true, true) => 1,
                (true, false) => 2,
                (false, false) => 3,
                (false, true) => 4,
            };
            self.physical(record_type, fragment);
            (first, payload) = (false, rest);
            if rest.is_empty() {
                return self;
            }
        }
    }
}

fn read(bytes: &[u8], strictness: Strictness) -> Result<Vec<Vec<u8>>> {
    let file: Arc<dyn RandomAccessFile> = Arc::new(bytes.to_vec());
    let mut reader = LogReader::new(file, Path::new("the-log"), NUMBER, strictness)?;
    let mut records = Vec::new();
    while let Some(record) = reader.next_record()? {
        if record.kind == RecordKind::Data {
            records.push(record.payload.to_vec());
        }
    }
    Ok(records)
}

fn manifest(bytes: &[u8]) -> Result<Vec<Vec<u8>>> {
    read(bytes, Strictness::Manifest)
}

fn is_corrupt(outcome: &Result<Vec<Vec<u8>>>) -> bool {
    matches!(outcome, Err(Error::Corruption { .. }))
}

#[test]
fn records_of_every_size_come_back() {
    let sizes = [0, 1, 100, BLOCK_SIZE - 7, BLOCK_SIZE - 6, 3 * BLOCK_SIZE, 0, 32_740, 5, 70_001];
    let records: Vec<Vec<u8>> = sizes.iter().map(|&n| vec![n as u8; n]).collect();
    let mut log = LogFile::default();
    for record in &records {
        log.logical(record);
    }
    assert_eq!(manifest(&log.0).unwrap(), records);
    assert_eq!(read(&log.0, Strictness::WriteAheadLog).unwrap(), records);
}

#[test]
fn a_block_may_end_with_any_filler_shorter_than_a_header() {
    for filler in 0..LEGACY_HEADER {
        let mut log = LogFile::default();
        let first = vec![1; BLOCK_SIZE - LEGACY_HEADER - filler];
        log.logical(&first).logical(b"next");
        assert_eq!(manifest(&log.0).unwrap(), [first, b"next".to_vec()]);
    }
}

#[test]
fn a_torn_tail_ends_a_manifest_silently() {
    let mut log = LogFile::default();
    log.logical(b"first");
    let whole = log.0.len();
    log.logical(&vec![7; 3 * BLOCK_SIZE]);
    for end in (whole..log.0.len()).step_by(997) {
        assert_eq!(manifest(&log.0[..end]).unwrap(), [b"first"], "cut at {end}");
    }
}

#[test]
fn every_flipped_bit_of_a_manifest_is_found() {
    let mut log = LogFile::default();
    log.logical(b"one").logical(b"").logical(b"three");
    for offset in 0..log.0.len() {
        for change in (0..8).map(|bit| 1 << bit).chain([0xff, log.0[offset]]) {
            let mut damaged = log.0.clone();
            damaged[offset] ^= change;
            if damaged != log.0 {
                let outcome = manifest(&damaged);
                assert!(outcome.is_err(), "offset {offset} ^ {change:#x} gave {outcome:?}");
            }
        }
    }
}

#[test]
fn preallocated_zeros_end_the_log_and_hide_nothing() {
    let mut log = LogFile::default();
    log.logical(b"one");
    log.0.resize(2 * BLOCK_SIZE + 100, 0);
    assert_eq!(manifest(&log.0).unwrap(), [b"one"]);
    assert_eq!(manifest(&[0; 50]).unwrap(), Vec::<Vec<u8>>::new());
    log.0.truncate(BLOCK_SIZE);
    log.logical(b"after the zeros");
    assert!(is_corrupt(&manifest(&log.0)));
    let expected = [b"one".to_vec(), b"after the zeros".to_vec()];
    assert_eq!(read(&log.0, Strictness::WriteAheadLog).unwrap(), expected);
}

#[test]
fn damage_ends_a_write_ahead_log() {
    let mut log = LogFile::default();
    log.logical(b"one").logical(b"two").logical(b"three");
    log.0[LEGACY_HEADER + 3 + LEGACY_HEADER] ^= 1;
    assert_eq!(read(&log.0, Strictness::WriteAheadLog).unwrap(), [b"one"]);
    assert!(is_corrupt(&manifest(&log.0)));
}

#[test]
fn a_recycled_log_ends_at_a_foreign_log_number() {
    let mut log = LogFile::default();
    log.physical(5, b"mine").physical(6, b"in ").physical(7, b"three ").physical(8, b"parts");
    let mine = log.0.len();
    log.physical(5, b"from an earlier life");
    log.0[mine + LEGACY_HEADER] ^= 1;
    let body = log.0[mine + LEGACY_HEADER - 1..].to_vec();
    log.0[mine..mine + 4].copy_from_slice(&mask_crc(crc32c(&body)).to_le_bytes());
    let expected = [b"mine".to_vec(), b"in three parts".to_vec()];
    assert_eq!(read(&log.0, Strictness::WriteAheadLog).unwrap(), expected);
    assert!(is_corrupt(&manifest(&log.0)));
}

#[test]
fn fragments_out_of_order_are_damage() {
    for types in [&[4][..], &[3, 4], &[2, 2, 4], &[2, 1], &[1, 4]] {
        let mut log = LogFile::default();
        for &record_type in types {
            log.physical(record_type, b"x");
        }
        assert!(is_corrupt(&manifest(&log.0)), "{types:?}");
    }
    let mut log = LogFile::default();
    log.physical(2, b"").physical(1, b"whole");
    assert_eq!(manifest(&log.0).unwrap(), [b"whole"]);
}

#[test]
fn unknown_types_are_skipped_only_if_they_allow_it() {
    let mut log = LogFile::default();
    log.physical(200, b"?").physical(131, &[0; 24]).physical(9, &[7, 0, 0, 0]).logical(b"data");
    assert_eq!(read(&log.0, Strictness::WriteAheadLog).unwrap(), [b"data"]);
    let mut log = LogFile::default();
    log.physical(12, b"?");
    assert!(matches!(manifest(&log.0), Err(Error::Unsupported { .. })));
}

#[test]
fn a_record_longer_than_its_block_is_damage() {
    let mut log = LogFile::default();
    log.logical(&vec![1; BLOCK_SIZE - LEGACY_HEADER]).logical(b"next block");
    log.0[4..6].copy_from_slice(&u16::MAX.to_le_bytes());
    assert!(is_corrupt(&manifest(&log.0)));
}
