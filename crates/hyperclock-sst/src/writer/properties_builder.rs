//! Builds the properties block of a table: named facts, sorted by name, that a reader needs before it can read a block.
//!
//! Numbers are varints, except the index type, which is a fixed32, and the filtering flags, which are the digits `0` and
//! `1`. The block has one restart, so each name stores only what differs from the one before.

use std::collections::BTreeMap;

use super::block_builder::{BlockBuilder, ONE_RESTART};
use crate::coding::put_varint64;

#[derive(Debug, Default)]
pub(crate) struct PropertiesBuilder {
    values: BTreeMap<&'static str, Vec<u8>>,
}

impl PropertiesBuilder {
    pub(crate) fn number(&mut self, name: &'static str, value: u64) -> &mut Self {
        let mut bytes = Vec::new();
        put_varint64(&mut bytes, value);
        self.bytes(name, &bytes)
    }

    pub(crate) fn text(&mut self, name: &'static str, value: &str) -> &mut Self {
        self.bytes(name, value.as_bytes())
    }

    pub(crate) fn bytes(&mut self, name: &'static str, value: &[u8]) -> &mut Self {
        self.values.insert(name, value.to_vec());
        self
    }

    /// The body of the properties block.
    pub(crate) fn finish(&self) -> Vec<u8> {
        let mut block = BlockBuilder::new(ONE_RESTART);
        for (name, value) in &self.values {
            block.add(name.as_bytes(), value);
        }
        block.finish().to_vec()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_sorted_and_share_prefixes() {
        let mut properties = PropertiesBuilder::default();
        properties
            .number("rocksdb.num.entries", 300)
            .text("rocksdb.comparator", "c")
            .bytes("rocksdb.num.data.blocks", &[1]);
        let expected = [
            &[0, 18, 1][..],
            b"rocksdb.comparatorc",
            &[8, 15, 1],
            b"num.data.blocks\x01",
            &[12, 7, 2],
            b"entries\xac\x02",
            &[0, 0, 0, 0, 1, 0, 0, 0],
        ]
        .concat();
        assert_eq!(properties.finish(), expected);
    }
}
