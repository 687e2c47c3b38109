//! What lives in the block cache: blocks, parsed once, under the role of their kind.
//!
//! | kind | type | role | priority |
//! |---|---|---|---|
//! | data block | [`DataBlock`] | `DATA_BLOCK` | low |
//! | index, its partitions | [`IndexBlock`] | `INDEX_BLOCK` | high |
//! | index over filter partitions | [`IndexBlock`] | `FILTER_META_BLOCK` | high |
//! | filter, filter partition | [`FilterBlock`] | `FILTER_BLOCK` | high |
//! | compression dictionary | [`DictionaryBlock`] | `OTHER_BLOCK` | high |
//!
//! Each owns a buffer of just its size, so a cached block keeps nothing else alive, and charges
//! for that buffer and itself. The metaindex and the properties are read once when a table is
//! opened and not cached.

use std::ops::Deref;
use std::sync::Arc;

use hyperclock::{CacheValue, Clock, Handle, Primary};

use crate::block::{Block, ByteRange};
use crate::compression::Dictionary;
use crate::error::Defect;
use crate::filter::FilterBlock;

/// A block of keys and values.
#[derive(Debug)]
pub(crate) struct DataBlock(Block);

/// A block of separators and handles.
#[derive(Debug)]
pub(crate) struct IndexBlock(Block);

/// A compression dictionary, ready for use.
#[derive(Debug)]
pub(crate) struct DictionaryBlock(pub(crate) Dictionary);

impl DataBlock {
    pub(crate) fn parse(bytes: Box<[u8]>) -> Result<Self, Defect> {
        Block::parse(bytes).map(Self)
    }
}

impl IndexBlock {
    pub(crate) fn parse(bytes: Box<[u8]>) -> Result<Self, Defect> {
        let block = Block::parse(bytes)?;
        if block.has_separated_values() {
            return Err(Defect::corrupt("an index block keeps values apart"));
        }
        Ok(Self(block))
    }
}

impl AsRef<Block> for DataBlock {
    fn as_ref(&self) -> &Block {
        &self.0
    }
}

impl AsRef<Block> for IndexBlock {
    fn as_ref(&self) -> &Block {
        &self.0
    }
}

impl AsRef<Block> for Block {
    fn as_ref(&self) -> &Block {
        self
    }
}

impl CacheValue for DataBlock {
    fn charge(&self) -> usize {
        size_of::<Self>() + self.0.len()
    }
}

impl CacheValue for IndexBlock {
    fn charge(&self) -> usize {
        size_of::<Self>() + self.0.len()
    }
}

impl CacheValue for FilterBlock {
    fn charge(&self) -> usize {
        size_of::<Self>() + self.len()
    }
}

impl CacheValue for DictionaryBlock {
    fn charge(&self) -> usize {
        size_of::<Self>() + self.0.heap_bytes()
    }
}

/// A value that keeps what it lies in alive: the cached block it was read from, or a buffer.
///
/// Holding one pins its block in the cache. To keep a value for long, copy it. It is equal to whatever has its bytes:
///
/// ```
/// # use hyperclock_sst::PinnedSlice;
/// let value: PinnedSlice = b"green".to_vec().into();
/// assert_eq!(value, b"green");
/// assert_eq!(value, "green");
/// assert!(value.starts_with(b"gr"));
/// ```
pub struct PinnedSlice<P: Primary = Clock>(Pinned<P>);

enum Pinned<P: Primary> {
    Block(Handle<DataBlock, P>, ByteRange),
    /// One pin for several values of a batch.
    SharedBlock(Arc<Handle<DataBlock, P>>, ByteRange),
    Buffer(Box<[u8]>),
}

impl<P: Primary> Clone for PinnedSlice<P> {
    fn clone(&self) -> Self {
        match &self.0 {
            Pinned::Block(block, range) => Self::in_block(block, *range),
            Pinned::SharedBlock(block, range) => Self::in_shared_block(Arc::clone(block), *range),
            Pinned::Buffer(bytes) => Self(Pinned::Buffer(bytes.clone())),
        }
    }
}

impl<P: Primary> PinnedSlice<P> {
    /// Pins the block, or copies the value if the block has as many handles as it can have.
    pub(crate) fn in_block(block: &Handle<DataBlock, P>, range: ByteRange) -> Self {
        Self(match block.try_clone() {
            Some(block) => Pinned::Block(block, range),
            None => return Self::copied(block, range),
        })
    }

    /// Copies the value: for a block that has as many handles as it can have.
    #[cold]
    pub(crate) fn copied(block: &Handle<DataBlock, P>, range: ByteRange) -> Self {
        Self(Pinned::Buffer((**block).as_ref().slice(range).into()))
    }

    pub(crate) fn in_shared_block(block: Arc<Handle<DataBlock, P>>, range: ByteRange) -> Self {
        Self(Pinned::SharedBlock(block, range))
    }
}

impl<P: Primary> From<Vec<u8>> for PinnedSlice<P> {
    fn from(bytes: Vec<u8>) -> Self {
        Self(Pinned::Buffer(bytes.into()))
    }
}

impl<P: Primary> Deref for PinnedSlice<P> {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        match &self.0 {
            Pinned::Block(block, range) => (**block).as_ref().slice(*range),
            Pinned::SharedBlock(block, range) => (***block).as_ref().slice(*range),
            Pinned::Buffer(bytes) => bytes,
        }
    }
}

impl<P: Primary> AsRef<[u8]> for PinnedSlice<P> {
    fn as_ref(&self) -> &[u8] {
        self
    }
}

impl<P: Primary, B: AsRef<[u8]> + ?Sized> PartialEq<B> for PinnedSlice<P> {
    fn eq(&self, other: &B) -> bool {
        **self == *other.as_ref()
    }
}

impl<P: Primary> Eq for PinnedSlice<P> {}

impl<P: Primary> std::fmt::Debug for PinnedSlice<P> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "PinnedSlice(\"{}\")", self.escape_ascii())
    }
}
