//! A tiered, low-contention **block cache for storage engines**.
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
