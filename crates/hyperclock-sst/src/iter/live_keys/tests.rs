use std::collections::BTreeMap;

use proptest::prelude::*;

use super::*;
use crate::iter::MergingIterator;
use crate::iter::test_support::{VecIterator, Version};

type Stream = MergingIterator<VecIterator>;

/// A history of writes with rising sequence numbers, and how they are spread over sources.
fn history() -> impl Strategy<Value = Vec<(Version, usize)>> {
    let write = (0u8..6, 0u8..4, 0usize..4);
    proptest::collection::vec(write, 0..30).prop_map(|writes| {
        let version = |(number, (key, kind, source)): (usize, (u8, u8, usize))| {
            let value_type = match kind {
                0 => ValueType::Deletion,
                1 => ValueType::SingleDeletion,
                _ => ValueType::Value,
            };
            let value = if kind < 2 { Vec::new() } else { number.to_be_bytes().to_vec() };
            let (user_key, sequence) = (vec![b'a' + 2 * key], number as u64 + 1);
            (Version { user_key, sequence, value_type, value }, source)
        };
        writes.into_iter().enumerate().map(version).collect()
    })
}

fn stream(order: &InternalOrder, history: &[(Version, usize)]) -> Stream {
    let children = (0..4).map(|source| {
        let of_source = history.iter().filter(|(_, of)| *of == source);
        VecIterator::new(order, &of_source.map(|(version, _)| version.clone()).collect::<Vec<_>>())
    });
    MergingIterator::new(order.clone(), children.collect())
}

/// What a snapshot sees.
fn model(history: &[(Version, usize)], snapshot: u64) -> BTreeMap<Vec<u8>, Vec<u8>> {
    let mut live = BTreeMap::new();
    for (version, _) in history.iter().filter(|(version, _)| version.sequence <= snapshot) {
        if version.value_type == ValueType::Value {
            live.insert(version.user_key.clone(), version.value.clone());
        } else {
            live.remove(&version.user_key);
        }
    }
    live
}

#[derive(Clone, Debug)]
enum Step {
    First,
    Last,
    Seek(u8),
    SeekForPrev(u8),
    Next,
    Prev,
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        1 => Just(Step::First),
        1 => Just(Step::Last),
        2 => (0u8..14).prop_map(Step::Seek),
        2 => (0u8..14).prop_map(Step::SeekForPrev),
        6 => Just(Step::Next),
        6 => Just(Step::Prev),
    ];
    proptest::collection::vec(step, 1..40)
}

proptest! {
    #[test]
    fn any_walk_agrees_with_the_model(
        history in history(),
        snapshot in 0u64..32,
        reverse in any::<bool>(),
        steps in steps(),
    ) {
        let order =
            if reverse { InternalOrder::ReverseBytewise } else { InternalOrder::Bytewise };
        let mut expected: Vec<_> = model(&history, snapshot).into_iter().collect();
        if reverse {
            expected.reverse();
        }
        let mut keys = LiveKeys::new(&order, stream(&order, &history), snapshot);
        let mut at: Option<usize> = None;
        let seek_key = |key: u8| vec![b'a' + key - 1];
        for step in steps {
            let position = |key: u8, or_equal: bool| {
                let target = seek_key(key + 1);
                expected.partition_point(|(key, _)| {
                    let order = order.compare_user(key, &target);
                    order.is_lt() || (or_equal && order.is_eq())
                })
            };
            at = match step {
                Step::First => { keys.seek_to_first().unwrap(); Some(0) }
                Step::Last => { keys.seek_to_last().unwrap(); expected.len().checked_sub(1) }
                Step::Seek(key) => {
                    keys.seek(&seek_key(key + 1)).unwrap();
                    Some(position(key, false))
                }
                Step::SeekForPrev(key) => {
                    keys.seek_for_prev(&seek_key(key + 1)).unwrap();
                    position(key, true).checked_sub(1)
                }
                Step::Next => { keys.next().unwrap(); at.map(|at| at + 1) }
                Step::Prev => { keys.prev().unwrap(); at.and_then(|at| at.checked_sub(1)) }
            }.filter(|&at| at < expected.len());
            prop_assert_eq!(keys.valid(), at.is_some());
            let (key, value) = at.map_or((&[][..], &[][..]), |at| {
                (expected[at].0.as_slice(), expected[at].1.as_slice())
            });
            prop_assert_eq!(keys.key(), key);
            prop_assert_eq!(keys.value(), value);
            let pinned = keys.pinned_value();
            prop_assert_eq!(pinned.as_deref(), at.map(|_| value));
        }
    }
}

fn version(user_key: &[u8], sequence: u64, value_type: ValueType) -> (Version, usize) {
    (Version { user_key: user_key.to_vec(), sequence, value_type, value: b"v".to_vec() }, 0)
}

#[test]
fn only_the_newest_visible_version_decides_what_is_unsupported() {
    let order = InternalOrder::Bytewise;
    for value_type in [
        ValueType::Merge,
        ValueType::BlobIndex,
        ValueType::WideColumnEntity,
        ValueType::ValuePreferredSeqno,
        ValueType::from_u8(0x55),
    ] {
        let overwritten = [version(b"k", 3, value_type), version(b"k", 4, ValueType::Value)];
        let newest = [version(b"k", 3, ValueType::Value), version(b"k", 4, value_type)];
        for forward in [true, false] {
            let go = |history: &[_], snapshot| {
                let mut keys = LiveKeys::new(&order, stream(&order, history), snapshot);
                let outcome = if forward { keys.seek_to_first() } else { keys.seek_to_last() };
                outcome.map(|()| keys.valid())
            };
            assert!(go(&overwritten, 9).unwrap());
            assert!(go(&newest, 3).unwrap());
            let error = go(&newest, 9).unwrap_err();
            assert!(matches!(error, Error::Unsupported { .. }), "{error}");
            assert!(error.to_string().contains("memory") && error.to_string().contains("6B"));
        }
    }
}
