//! What a stored entry means to a read.

use std::path::Path;

use crate::error::Error;
use crate::key::ValueType;

/// The meaning of the newest visible version of a key.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Entry {
    /// Its value is the key's value.
    Value,
    /// The key does not exist.
    Deletion,
    /// The key has a value that this reader cannot make.
    Unsupported,
}

impl Entry {
    pub(crate) fn of(value_type: ValueType) -> Self {
        match value_type {
            ValueType::Value => Self::Value,
            ValueType::Deletion | ValueType::SingleDeletion | ValueType::DeletionWithTimestamp => Self::Deletion,
            _ => Self::Unsupported,
        }
    }
}

/// The error for an entry that this reader cannot turn into a value.
pub(crate) fn unsupported(value_type: ValueType, user_key: &[u8], file: &Path) -> Error {
    let feature = match value_type {
        ValueType::Merge => "merge operands",
        ValueType::BlobIndex => "values in blob files",
        ValueType::WideColumnEntity => "wide-column entities",
        ValueType::ValuePreferredSeqno => "values with a preferred sequence number (TimedPut)",
        _ => "value type",
    };
    Error::unsupported(file, format!("{feature} (type {value_type:?}, key {})", hex(user_key)))
}

/// Upper-case hexadecimal digits of at most the first 64 bytes.
fn hex(bytes: &[u8]) -> String {
    use std::fmt::Write;

    const SHOWN: usize = 64;
    let mut text = String::with_capacity(2 * SHOWN + 2);
    for byte in bytes.iter().take(SHOWN) {
        // Writing to a string cannot fail.
        let _ = write!(text, "{byte:02X}");
    }
    if bytes.len() > SHOWN {
        text.push_str("..");
    }
    text
}
