//! The rows that a database must hold: the listing beside a fixture.

use std::path::Path;

/// Rows in order, as (key, value).
pub(crate) type Rows = Vec<(Vec<u8>, Vec<u8>)>;

/// Reads the rows of the default column family from `NAME.expected.txt`.
pub(crate) fn load(path: &Path) -> Rows {
    let text = std::fs::read_to_string(path).expect("fixture");
    text.lines()
        .filter(|line| !line.starts_with('#'))
        .map(|line| {
            let mut fields = line.split('\t');
            assert_eq!(fields.next(), Some("default"));
            (unhex(fields.next().expect("key")), value(fields.next().expect("value")))
        })
        .collect()
}

fn value(text: &str) -> Vec<u8> {
    match text.strip_prefix("len:") {
        None => unhex(text),
        Some(rest) => {
            let (length, byte) = rest.split_once(":byte:").expect("len:N:byte:HH");
            vec![unhex(byte)[0]; length.parse().expect("length")]
        }
    }
}

fn unhex(text: &str) -> Vec<u8> {
    (0..text.len()).step_by(2).map(|at| u8::from_str_radix(&text[at..at + 2], 16).expect("hex")).collect()
}
