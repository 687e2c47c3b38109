use super::*;
use crate::coding::{put_fixed16, put_fixed32, put_varint32};
use proptest::prelude::*;

/// How a test block is laid out.
#[derive(Clone, Copy, Debug)]
struct Layout {
    interval: usize,
    separated: bool,
    hash_index: bool,
    share: bool,
}

fn build(layout: Layout, entries: &[(Vec<u8>, Vec<u8>)]) -> Vec<u8> {
    let mut out = Vec::new();
    let mut values = Vec::new();
    let mut restarts = Vec::new();
    let mut last: &[u8] = b"";
    for (i, (key, value)) in entries.iter().enumerate() {
        let at_restart = i % layout.interval == 0;
        let shared =
            if at_restart || !layout.share { 0 } else { key.iter().zip(last).take_while(|(a, b)| a == b).count() };
        if at_restart {
            restarts.push(out.len() as u32);
        }
        put_varint32(&mut out, shared as u32);
        put_varint32(&mut out, (key.len() - shared) as u32);
        put_varint32(&mut out, value.len() as u32);
        if layout.separated && at_restart {
            put_varint32(&mut out, values.len() as u32);
        }
        out.extend_from_slice(&key[shared..]);
        let target = if layout.separated { &mut values } else { &mut out };
        target.extend_from_slice(value);
        last = key;
    }
    if restarts.is_empty() {
        restarts.push(0);
    }
    let values_offset = out.len() as u32;
    out.extend_from_slice(&values);
    for &restart in &restarts {
        put_fixed32(&mut out, restart);
    }
    let mut word = restarts.len() as u32;
    if layout.hash_index {
        out.extend_from_slice(&[255; 7]);
        put_fixed16(&mut out, 7);
        word |= HASH_INDEX_FLAG;
    }
    if layout.separated {
        put_fixed32(&mut out, values_offset);
        word |= SEPARATED_VALUES_FLAG;
    }
    put_fixed32(&mut out, word);
    out
}

fn layouts() -> impl Strategy<Value = Layout> {
    (1usize..20, any::<bool>(), any::<bool>(), any::<bool>())
        .prop_map(|(interval, separated, hash_index, share)| Layout { interval, separated, hash_index, share })
}

type Model = std::collections::BTreeMap<Vec<u8>, Vec<u8>>;

fn models() -> impl Strategy<Value = Model> {
    let key = proptest::collection::vec(0u8..4, 1..12);
    let value = proptest::collection::vec(any::<u8>(), 0..40);
    proptest::collection::btree_map(key, value, 0..120)
}

fn entry<'a>(iter: &'a BlockIter<&'a Block, PlainEntries>) -> Option<(&'a [u8], &'a [u8])> {
    iter.valid().then(|| (iter.key(), iter.block.slice(iter.value())))
}

fn pair<'a>(item: Option<(&'a Vec<u8>, &'a Vec<u8>)>) -> Option<(&'a [u8], &'a [u8])> {
    item.map(|(k, v)| (&k[..], &v[..]))
}

proptest! {
    #[test]
    fn iterators_agree_with_a_map(
        layout in layouts(),
        model in models(),
        probes in proptest::collection::vec(proptest::collection::vec(0u8..5, 0..12), 1..20),
    ) {
        let entries: Vec<_> = model.clone().into_iter().collect();
        let block = Block::parse(build(layout, &entries).into()).unwrap();
        let mut iter = BlockIter::new(&block, PlainEntries);
        prop_assert!(!iter.valid());

        iter.seek_to_first().unwrap();
        for item in &model {
            prop_assert_eq!(entry(&iter), pair(Some(item)));
            iter.next().unwrap();
        }
        prop_assert!(!iter.valid());

        iter.seek_to_last().unwrap();
        for item in model.iter().rev() {
            prop_assert_eq!(entry(&iter), pair(Some(item)));
            iter.prev().unwrap();
        }
        prop_assert!(!iter.valid());

        for probe in &probes {
            iter.seek(|key| key.cmp(probe)).unwrap();
            let mut from = model.range(probe.clone()..);
            prop_assert_eq!(entry(&iter), pair(from.next()));
            if iter.valid() {
                iter.next().unwrap();
                prop_assert_eq!(entry(&iter), pair(from.next()));
            }
            iter.seek(|key| key.cmp(probe)).unwrap();
            if iter.valid() {
                iter.prev().unwrap();
                let before = model.range(..probe.clone()).next_back();
                prop_assert_eq!(entry(&iter), pair(before));
            }
        }
    }

    #[test]
    fn damage_ends_every_walk(
        layout in layouts(),
        model in models(),
        flips in proptest::collection::vec((any::<usize>(), any::<u8>()), 1..4),
        cut in 0usize..8,
    ) {
        let entries: Vec<_> = model.into_iter().collect();
        let mut bytes = build(layout, &entries);
        let len = bytes.len();
        for (at, mask) in flips {
            bytes[at % len] ^= mask;
        }
        bytes.truncate(len - cut);
        walk(&bytes);
    }

    #[test]
    fn noise_ends_every_walk(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        walk(&bytes);
    }
}

/// Uses every method on a block that may be damaged. Each walk must be shorter than the block.
fn walk(bytes: &[u8]) {
    let Ok(block) = Block::parse(bytes.into()) else {
        return;
    };
    let limit = bytes.len() + 1;
    let mut iter = BlockIter::new(&block, PlainEntries);
    let mut steps = 0;
    let mut result = iter.seek_to_first();
    while result.is_ok() && iter.valid() {
        let _ = entry(&iter);
        result = iter.next();
        steps += 1;
        assert!(steps <= limit);
    }
    steps = 0;
    result = iter.seek_to_last();
    while result.is_ok() && iter.valid() {
        let _ = entry(&iter);
        result = iter.prev();
        steps += 1;
        assert!(steps <= limit);
    }
    for probe in [&b""[..], &[1], &[1, 2, 3], &[255; 4]] {
        let _ = iter.seek(|key| key.cmp(probe));
    }
}

#[test]
fn an_empty_block_has_no_entries() {
    for bytes in [&[0, 0, 0, 0, 1, 0, 0, 0][..], &[0, 0, 0, 0], &[9, 9, 9, 0, 0, 0, 0]] {
        let block = Block::parse(bytes.into()).unwrap();
        let mut iter = BlockIter::new(&block, PlainEntries);
        iter.seek_to_first().unwrap();
        assert!(!iter.valid());
        iter.seek_to_last().unwrap();
        assert!(!iter.valid());
        iter.seek(|key| key.cmp(b"a")).unwrap();
        assert!(!iter.valid());
    }
}

#[test]
fn impossible_outlines_are_refused() {
    for bytes in [
        &b""[..],
        &[0, 0, 0],
        &[1, 0, 0, 0],
        // More restart points than fit.
        &[0, 0, 0, 0, 0xff, 0xff, 0xff, 0x0f],
        // The second restart point is not after the first.
        &[0, 1, 0, b'a', 0, 0, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0],
        // A restart point at the end of the entries.
        &[0, 1, 0, b'a', 0, 0, 0, 0, 4, 0, 0, 0, 2, 0, 0, 0],
        // Values that begin after the block.
        &[0, 0, 0, 0, 9, 0, 0, 0, 1, 0, 0, 0x10],
    ] {
        assert!(matches!(Block::parse(bytes.into()), Err(Defect::Corrupt(_))), "{bytes:?}");
    }
    let reserved = Block::parse([0, 0, 0, 0, 1, 0, 0, 0x40].into());
    assert!(matches!(reserved, Err(Defect::Unsupported(_))));
}

#[test]
fn the_worked_example_parses() {
    let mut bytes = Vec::new();
    bytes.extend_from_slice(b"\x00\x0d\x05apple\x01\x05\0\0\0\0\0\0green");
    bytes.extend_from_slice(b"\x02\x0d\x06ricot\x01\x02\0\0\0\0\0\0orange");
    bytes.extend_from_slice(b"\x00\x0e\x06banana\x01\x03\0\0\0\0\0\0yellow");
    bytes.extend_from_slice(b"\x00\x0e\x00cherry\x00\x04\0\0\0\0\0\0");
    bytes.extend_from_slice(b"\0\0\0\0\x01\0\0\0");
    assert_eq!(bytes.len(), 91);
    let block = Block::parse(bytes.into()).unwrap();
    let mut iter = BlockIter::new(&block, PlainEntries);
    iter.seek_to_first().unwrap();
    iter.next().unwrap();
    let expected: (&[u8], &[u8]) = (b"apricot\x01\x02\0\0\0\0\0\0", b"orange");
    assert_eq!(entry(&iter), Some(expected));
}
