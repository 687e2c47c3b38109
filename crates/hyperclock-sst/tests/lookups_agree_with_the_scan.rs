//! `get` and `multi_get` find every key that a scan shows, and nothing else.

mod support;

use std::collections::BTreeSet;

use support::{fixtures, model, neighbours, open};

#[test]
fn present_and_absent_keys() {
    for fixture in fixtures() {
        let db = open(&fixture.path).unwrap();
        for (name, rows) in &fixture.families {
            let id = db.column_family(name).unwrap().id;
            let rows = model(rows);
            let mut keys: BTreeSet<Vec<u8>> = BTreeSet::from([vec![], vec![0xff; 40]]);
            for (number, key) in rows.keys().enumerate() {
                keys.insert(key.to_vec());
                if number % 7 == 0 {
                    keys.extend(neighbours(key));
                }
            }
            for key in &keys {
                let found = db.get(id, key).unwrap();
                assert_eq!(found.as_deref(), rows.get(key.as_slice()).copied(), "{name} {key:?}");
            }

            // Sorted, in an order of their own, and twice each.
            let mut shuffled: Vec<&[u8]> = keys.iter().map(Vec::as_slice).collect();
            shuffled.sort_by_key(|key| key.iter().rev().copied().collect::<Vec<u8>>());
            shuffled.extend(keys.iter().map(Vec::as_slice));
            for size in [1, 7, shuffled.len()] {
                for batch in shuffled.chunks(size).take(200) {
                    let found = db.multi_get(id, batch).unwrap();
                    assert_eq!(found.len(), batch.len());
                    for (key, value) in batch.iter().zip(found) {
                        let value = value.unwrap();
                        assert_eq!(value.as_deref(), rows.get(key).copied(), "{name} {key:?}");
                    }
                }
            }
        }
    }
}

#[test]
fn an_unknown_family_is_an_error() {
    let db = open(&support::fixture("v783_default").path).unwrap();
    assert!(db.get(77, b"key").is_err());
    assert!(db.multi_get(77, &[b"key"]).is_err());
    assert!(db.column_family("nobody").is_none());
}
