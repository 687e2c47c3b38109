//! Blocks in the cache belong to a file's contents, not to its name.

mod support;

use std::fs;

use hyperclock_sst::fill::{FillOptions, fill};
use hyperclock_sst::{Db, DbOptions};
use support::filled::{options, rows};
use support::{cache, scan};

#[test]
fn br_104_a_new_file_of_the_same_name_and_size() {
    let parent = tempfile::tempdir().unwrap();
    let directory = parent.path().join("db");
    let cache = cache(8 << 20);
    let mut sizes = Vec::new();
    for seed in 0..30 {
        let options = FillOptions { seed, ..options(300, 1024) };
        fill(&directory, &options, |_| ()).unwrap();
        let tables = support::files(&directory, "sst");
        sizes.push((tables[0].clone(), fs::metadata(&tables[0]).unwrap().len()));
        let db = Db::open_read_only(&directory, &DbOptions::new(cache.clone())).unwrap();
        assert!(scan(&db, 0).unwrap() == rows(&options), "seed {seed}");
        drop(db);
        fs::remove_dir_all(&directory).unwrap();
    }
    sizes.dedup();
    assert_eq!(sizes.len(), 1, "name and size do not tell them apart");
}

#[test]
fn br_107_an_open_database_keeps_the_files_it_opened() {
    let parent = tempfile::tempdir().unwrap();
    let directory = parent.path().join("db");
    let cache = cache(8 << 20);
    let open = || Db::open_read_only(&directory, &DbOptions::new(cache.clone())).unwrap();
    let (old, new) = (options(300, 1024), FillOptions { seed: 1, ..options(300, 1024) });
    fill(&directory, &old, |_| ()).unwrap();
    let before = open();
    assert_eq!(before.get(0, &rows(&old)[7].0).unwrap().as_deref(), Some(rows(&old)[7].1.as_slice()));
    let aside = parent.path().join("new");
    fill(&aside, &new, |_| ()).unwrap();
    fs::remove_dir_all(&directory).unwrap();
    fs::rename(&aside, &directory).unwrap();
    let after = open();
    assert!(scan(&after, 0).unwrap() == rows(&new));
    assert!(scan(&before, 0).unwrap() == rows(&old));
}
