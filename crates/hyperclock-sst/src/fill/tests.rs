use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;

use super::*;

fn small() -> FillOptions {
    FillOptions { num: 5_000, target_file_size: 100_000, ..FillOptions::default() }
}

fn files(directory: &Path) -> BTreeMap<String, Vec<u8>> {
    fs::read_dir(directory)
        .unwrap()
        .map(|entry| {
            let path = entry.unwrap().path();
            (path.file_name().unwrap().to_str().unwrap().to_owned(), fs::read(path).unwrap())
        })
        .collect()
}

fn filled(options: &FillOptions) -> (tempfile::TempDir, PathBuf, FillReport) {
    let parent = tempfile::tempdir().unwrap();
    let directory = parent.path().join("db");
    let report = fill(&directory, options, |_| ()).unwrap();
    (parent, directory, report)
}

#[test]
fn equal_options_make_equal_bytes() {
    let (_a, a, report) = filled(&small());
    let (_b, b, _) = filled(&small());
    assert!(report.files > 1);
    assert_eq!(files(&a), files(&b));
    let (_c, c, _) = filled(&FillOptions { seed: 1, ..small() });
    assert_ne!(files(&a), files(&c));
}

#[test]
fn the_report_counts_what_is_there() {
    let (_parent, directory, report) = filled(&small());
    let files = files(&directory);
    let tables: Vec<_> = files.iter().filter(|(name, _)| name.contains(".sst")).collect();
    assert_eq!(report.files, tables.len() as u64);
    assert_eq!(report.file_bytes, tables.iter().map(|(_, bytes)| bytes.len() as u64).sum::<u64>());
    assert_eq!(report.entries, 5_000);
    assert_eq!(report.raw_bytes, 5_000 * 116);
    assert_eq!(files["CURRENT"], b"MANIFEST-000001\n");
    assert_eq!(files.len(), tables.len() + 3);
}

#[test]
fn values_compress_to_their_share() {
    for share in [0.25, 0.5, 1.0] {
        let options =
            FillOptions { num: 2_000, value_size: 1000, value_compressibility: share, ..FillOptions::default() };
        let (_parent, _, report) = filled(&options);
        let kept = report.file_bytes as f64 / report.raw_bytes as f64;
        // Matches, keys, filter and index take a few percent more.
        assert!((share..share + 0.07).contains(&kept), "{kept} of {share}");
    }
}

#[test]
fn progress_ends_with_the_last_row() {
    let parent = tempfile::tempdir().unwrap();
    let mut seen = Vec::new();
    let options = FillOptions { num: 40_000, value_size: 8, ..FillOptions::default() };
    fill(&parent.path().join("db"), &options, |progress| {
        seen.push(progress.entries);
    })
    .unwrap();
    assert_eq!(seen, [16_384, 32_768, 40_000]);
}

#[test]
fn a_database_without_rows_is_a_database() {
    let (_parent, directory, report) = filled(&FillOptions { num: 0, ..FillOptions::default() });
    assert_eq!(report.files, 0);
    assert!(files(&directory).contains_key("CURRENT"));
}

#[test]
fn a_directory_with_something_in_it_is_left_alone() {
    let parent = tempfile::tempdir().unwrap();
    fs::write(parent.path().join("precious"), b"data").unwrap();
    let error = fill(parent.path(), &small(), |_| ()).unwrap_err();
    assert!(error.to_string().contains("precious"), "{error}");
    assert_eq!(files(parent.path()).len(), 1);
}

#[test]
fn an_existing_empty_directory_is_filled() {
    let parent = tempfile::tempdir().unwrap();
    fill(parent.path(), &small(), |_| ()).unwrap();
    assert!(parent.path().join("CURRENT").exists());
}

#[test]
fn a_failed_fill_leaves_nothing() {
    let parent = tempfile::tempdir().unwrap();
    let directory = parent.path().join("db");
    // Refused by the table writer, after the directory was made.
    let options = FillOptions { block_size: 1, ..small() };
    assert!(matches!(fill(&directory, &options, |_| ()), Err(Error::InvalidArgument(_))));
    assert!(!directory.exists());

    let mut new = NewDirectory::create(&directory).unwrap();
    fs::write(directory.join("000002.sst"), b"half").unwrap();
    new.made(directory.join("000002.sst"));
    drop(new);
    assert!(!directory.exists());
}

#[test]
fn options_out_of_range_are_refused_before_anything_is_made() {
    let parent = tempfile::tempdir().unwrap();
    let directory = parent.path().join("db");
    for (options, says) in [
        (FillOptions { key_size: 0, ..small() }, "key size 0"),
        (
            FillOptions { key_size: 1, num: 257, ..small() },
            "key size 1: that many bytes number 256 rows, not 257; take a larger key or fewer rows",
        ),
        (FillOptions { num: u64::MAX, ..small() }, "sequence numbers"),
        (FillOptions { value_compressibility: -0.1, ..small() }, "compressibility -0.1"),
        (FillOptions { value_compressibility: f64::NAN, ..small() }, "compressibility NaN"),
        (FillOptions { target_file_size: 0, ..small() }, "target file size 0"),
    ] {
        let error = fill(&directory, &options, |_| ()).unwrap_err();
        assert!(error.to_string().contains(says), "{error}");
        assert!(!directory.exists());
    }
    assert!(fill(&directory, &FillOptions { key_size: 1, num: 256, ..small() }, |_| ()).is_ok());
}
