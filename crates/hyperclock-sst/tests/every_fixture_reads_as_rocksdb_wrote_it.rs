//! Forward and backward scans of every database give exactly the rows that RocksDB gave.

mod support;

use support::{Fixture, fixtures, fixtures_in, open, scan, scan_backward};

fn check(fixture: &Fixture) -> hyperclock_sst::Result<()> {
    let db = open(&fixture.path)?;
    for family in db.column_families() {
        let rows = fixture
            .families
            .iter()
            .find(|(name, _)| *name == family.name)
            .map_or_else(Vec::new, |(_, rows)| rows.clone());
        let (name, id) = (&fixture.name, family.id);
        let mut found = scan(&db, id)?;
        assert!(found == rows, "{name}, family {id}: {} of {} rows", found.len(), rows.len());
        found = scan_backward(&db, id)?;
        found.reverse();
        assert!(found == rows, "{name}, family {id}: {} of {} rows", found.len(), rows.len());
    }
    let expected: Vec<_> = fixture.families.iter().map(|(name, _)| name).collect();
    let found: Vec<_> =
        db.column_families().iter().map(|family| &family.name).filter(|name| expected.contains(name)).collect();
    assert_eq!(found, expected, "families in id order");
    Ok(())
}

#[test]
fn scans_give_the_expected_rows() {
    for fixture in fixtures() {
        if let Err(error) = check(&fixture) {
            panic!("{}: {error}", fixture.name);
        }
    }
}

/// Set `HYPERCLOCK_DATABASES` to a directory of databases with `NAME.expected.txt` files to
/// check those: each must give its rows or say what it needs.
#[test]
fn other_databases_give_their_rows_or_name_what_they_need() {
    let Some(directory) = std::env::var_os("HYPERCLOCK_DATABASES") else { return };
    for fixture in fixtures_in(directory.as_ref()) {
        match check(&fixture) {
            Ok(()) => println!("{}: as expected", fixture.name),
            Err(error @ hyperclock_sst::Error::Unsupported { .. }) => println!("{error}"),
            Err(error) => panic!("{}: {error}", fixture.name),
        }
    }
}
