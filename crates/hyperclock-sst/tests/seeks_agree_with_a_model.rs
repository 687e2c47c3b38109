//! Seeks to, before and after every key land where an ordered map says, and walks from there
//! change direction without losing or repeating a key.

mod support;

use hyperclock_sst::{Db, DbIter, ReadOptions, comparator_by_name};
use support::{Rows, fixtures, neighbours, open};

fn shown(iter: &DbIter<'_>) -> Option<(Vec<u8>, Vec<u8>)> {
    iter.valid().then(|| (iter.key().to_vec(), iter.value().to_vec()))
}

fn check_family(db: &Db, id: u32, comparator: &str, rows: &Rows) {
    let comparator = comparator_by_name(comparator).unwrap();
    let mut iter = db.iter(id, &ReadOptions::default()).unwrap();
    let mut targets: Vec<Vec<u8>> = vec![vec![], vec![0xff; 40]];
    for (number, (key, _)) in rows.iter().enumerate() {
        targets.push(key.clone());
        if number % 5 == 0 {
            targets.extend(neighbours(key));
        }
    }
    for (number, target) in targets.iter().enumerate() {
        let before = rows.partition_point(|(key, _)| comparator.compare(key, target).is_lt());
        let upto = rows.partition_point(|(key, _)| comparator.compare(key, target).is_le());

        iter.seek(target).unwrap();
        let mut at = Some(before).filter(|&at| at < rows.len());
        assert_eq!(shown(&iter), at.map(|at| rows[at].clone()), "seek {target:?}");
        if number % 2 == 0 {
            iter.seek_for_prev(target).unwrap();
            at = upto.checked_sub(1);
            assert_eq!(shown(&iter), at.map(|at| rows[at].clone()), "seek_for_prev {target:?}");
        }
        // Back and forth, a little further each time.
        for (step, forward) in [true, false, false, true, true, true, false].into_iter().enumerate() {
            at = at.and_then(|at| if forward { Some(at + 1) } else { at.checked_sub(1) });
            at = at.filter(|&at| at < rows.len());
            if forward { iter.next() } else { iter.prev() }.unwrap();
            let expected = at.map(|at| rows[at].clone());
            assert_eq!(shown(&iter), expected, "step {step} from {target:?}");
        }
        assert!(iter.status().is_ok());
    }
}

#[test]
fn at_and_between_all_keys() {
    for fixture in fixtures() {
        let db = open(&fixture.path).unwrap();
        for family in db.column_families() {
            let rows = fixture.families.iter().find(|(name, _)| *name == family.name);
            let none = Rows::new();
            let rows = rows.map_or(&none, |(_, rows)| rows);
            check_family(&db, family.id, &family.comparator, rows);
        }
    }
}
