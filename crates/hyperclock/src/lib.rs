//! A low-contention **block cache for storage engines**.
//!
//! One [`BlockCache`] with one budget in bytes holds an engine's blocks, filters and indexes; typed [`View`]s read and
//! fill it; [`Handle`]s pin what was found. A hit is one atomic add on the entry's own cache line, whatever other threads
//! do, and a handle stays valid for as long as it is held, even beyond the cache.
//!
//! ```
//! use hyperclock::{BlockCache, CacheKey, CacheValue, Role};
//!
//! struct Block(Box<[u8]>);
//!
//! impl CacheValue for Block {
//!     fn charge(&self) -> usize {
//!         size_of::<Self>() + self.0.len()
//!     }
//! }
//!
//! # fn read_from_disk(_offset: u64) -> std::io::Result<Box<[u8]>> { Ok(vec![0; 4096].into()) }
//! let cache = BlockCache::new(64 << 20);
//! let blocks = cache.view::<Block>(Role::DATA_BLOCK);
//! let (file, offset) = (17, 4096);
//! let block = blocks.get_or_load(&CacheKey::new(file, offset), || read_from_disk(offset).map(Block))?;
//! assert_eq!(block.0.len(), 4096);
//! # Ok::<(), hyperclock::LoadError<std::io::Error>>(())
//! ```
//!
//! # Choosing keys
//!
//! A [`CacheKey`] is two words, and whatever shares the cache shares one space of keys. The file's word must differ between
//! all files that the cache ever sees, of every database that shares it: a hash of the database's identity and the file's
//! number, or an id that the file itself stores. Not a path, an inode or a descriptor: those are given to another file later,
//! whose reads would find the old file's blocks. The block's word is usually the offset. Where two kinds of block of one file
//! may have the same offset (an index kept under the offset of the data that it describes), set a bit for the kind, so that
//! each has a word of its own.
//!
//! # Strict or not
//!
//! By default inserts always succeed: when handles pin more than the capacity, [`usage`](BlockCache::usage) goes above it, and
//! comes back with later inserts. With [`strict_capacity`](Builder::strict_capacity) it never does: [`View::insert`] then fails
//! with [`InsertError::Full`] and gives the value back. A read need not: [`View::get_or_load`] hands out what it has no room
//! for uncharged, and counts it. Choose strict where the capacity is a promise to someone else.
//!
//! # Handles that are held for long
//!
//! A handle is meant for a read, or for an iterator's present block. One that is kept pins its entry: it stays charged, it is
//! not evicted even if nobody reads it, and the clock hand passes it for nothing. To keep a small part of a block, copy it;
//! to keep an index for as long as its file is open, count that memory when choosing the capacity.
//!
//! An entry has at most 2^22 handles at once. Beyond that, lookups of it miss (counted as `saturated`),
//! [`Handle::try_clone`] gives `None`, and [`Handle::clone`] panics. Whoever copies handles on behalf of others uses
//! `try_clone`, or shares one behind an `Arc`.
//!
//! # When a file is deleted
//!
//! Its blocks are never asked for again and leave by themselves, like everything unused. To have their room at once:
//!
//! ```
//! # use hyperclock::{BlockCache, CacheKey, Role};
//! # let cache = BlockCache::new(1 << 20);
//! # let blocks = cache.view::<Vec<u8>>(Role::DATA_BLOCK);
//! # for n in 0..9 { blocks.insert(CacheKey::new(n % 3, n), vec![0; 100]).unwrap(); }
//! # let deleted = 2;
//! cache.for_each(|entry| {
//!     if entry.key.file() == deleted {
//!         cache.erase(&entry.key);
//!     }
//! });
//! # assert_eq!(cache.occupancy(), 6);
//! ```
//!
//! This walks over the whole table; do it for many files at once. A read of the file that is still in flight may put a block
//! back.
//!
//! # One key, one type
//!
//! A key that holds a value of another type than the view's is an error that names both ([`TypeMismatch`]), neither a miss
//! nor a cast: two parts of an engine use one key for two things, and that is a mistake in how keys are chosen.

mod block_cache;
mod budget;
mod builder;
mod error;
mod handle;
mod key;
mod kind;
mod primary;
mod primitive;
mod role;
mod single_flight;
mod stats;
mod view;

pub use block_cache::BlockCache;
pub use builder::{Builder, MetadataCharge};
pub use error::{BuildError, InsertError, LoadError, TypeMismatch};
pub use handle::Handle;
pub use key::CacheKey;
pub use primary::{Clock, EntryInfo, Primary};
pub use role::{Priority, Role};
pub use stats::{RoleStats, Stats};
pub use view::{CacheValue, View};

/// Runs the examples of the repository's README and of the crate's own with the tests.
#[cfg(doctest)]
#[doc = include_str!("../../../README.md")]
#[doc = include_str!("../README.md")]
struct ReadmeExamples;
