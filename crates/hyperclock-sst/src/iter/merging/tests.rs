use proptest::prelude::*;

use super::*;
use crate::iter::test_support::{VecIterator, Version};
use crate::key::ValueType;

/// Versions spread over sources; the same key may be in several of them.
fn sources() -> impl Strategy<Value = Vec<Vec<Version>>> {
    let version = (0u8..6, 0u64..5).prop_map(|(key, sequence)| Version {
        user_key: vec![b'a' + key],
        sequence,
        value_type: ValueType::Value,
        value: Vec::new(),
    });
    let source = proptest::collection::vec(version, 0..8).prop_map(|mut versions| {
        versions.sort_by_key(Version::internal_key);
        versions.dedup();
        versions
    });
    proptest::collection::vec(source, 0..6)
}

/// The merged order: by internal key, then by source. Values tell the source.
fn merged(order: &InternalOrder, sources: &mut [Vec<Version>]) -> Vec<(Vec<u8>, Vec<u8>)> {
    let mut all = Vec::new();
    for (number, source) in sources.iter_mut().enumerate() {
        for version in source {
            version.value = vec![number as u8];
            all.push((version.internal_key(), version.value.clone()));
        }
    }
    all.sort_by(|a, b| order.compare(&a.0, &b.0).then(a.1.cmp(&b.1)));
    all
}

proptest! {
    #[test]
    fn any_walk_agrees_with_the_sorted_entries(
        mut sources in sources(),
        reverse in any::<bool>(),
        start in 0u8..4,
        target in (0u8..8, 0u64..6),
        steps in proptest::collection::vec(any::<bool>(), 0..40),
    ) {
        let order =
            if reverse { InternalOrder::ReverseBytewise } else { InternalOrder::Bytewise };
        let expected = merged(&order, &mut sources);
        let children = sources.iter().map(|source| VecIterator::new(&order, source)).collect();
        let mut iter = MergingIterator::new(order.clone(), children);
        let target = Version {
            user_key: vec![b'a' + target.0],
            sequence: target.1,
            value_type: ValueType::Value,
            value: Vec::new(),
        }.internal_key();
        let mut at = match start {
            0 => { iter.seek_to_first().unwrap(); Some(0) }
            1 => { iter.seek_to_last().unwrap(); expected.len().checked_sub(1) }
            2 => {
                iter.seek(&target).unwrap();
                Some(expected.partition_point(|(key, _)| order.compare(key, &target).is_lt()))
            }
            _ => {
                iter.seek_for_prev(&target).unwrap();
                expected.partition_point(|(key, _)| order.compare(key, &target).is_le()).checked_sub(1)
            }
        }.filter(|&at| at < expected.len());
        for forward in std::iter::once(None).chain(steps.into_iter().map(Some)) {
            let Some(position) = at else { break };
            at = match forward {
                None => at,
                Some(true) => { iter.next().unwrap(); Some(position + 1) }
                Some(false) => { iter.prev().unwrap(); position.checked_sub(1) }
            }.filter(|&at| at < expected.len());
            prop_assert_eq!(iter.valid(), at.is_some());
            if let Some(at) = at {
                prop_assert_eq!(iter.key(), &expected[at].0);
                prop_assert_eq!(iter.value(), &expected[at].1);
            }
        }
    }
}

#[test]
fn an_error_of_any_child_leaves_nothing_valid_until_the_next_seek() {
    let order = InternalOrder::Bytewise;
    let version =
        |key: &[u8]| Version { user_key: key.to_vec(), sequence: 1, value_type: ValueType::Value, value: Vec::new() };
    let left = [version(b"a"), version(b"c")];
    let right = [version(b"b"), version(b"d")];
    for fail_after in 0..3 {
        let mut failing = VecIterator::new(&order, &right);
        failing.fail_after = Some(fail_after);
        let children = vec![VecIterator::new(&order, &left), failing];
        let mut iter = MergingIterator::new(order.clone(), children);
        let mut outcome = iter.seek_to_first();
        while outcome.is_ok() && iter.valid() {
            outcome = iter.next();
        }
        assert!(outcome.is_err());
        assert!(!iter.valid());
        assert!(iter.key().is_empty() && iter.next().is_ok() && !iter.valid());
        iter.seek_to_first().unwrap();
        let mut keys = 0;
        while iter.valid() {
            keys += 1;
            iter.next().unwrap();
        }
        assert_eq!(keys, 4);
    }
}
