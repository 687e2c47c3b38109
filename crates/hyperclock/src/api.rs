//! Bring-up stand-in for the clock table behind the public interface.
#![allow(missing_docs, clippy::all, clippy::pedantic, reason = "replaced by the clock table")]
use std::any::{Any, TypeId, type_name};
use std::collections::HashMap;
use std::fmt;
use std::marker::PhantomData;
use std::ops::Deref;
use std::sync::{Arc, Mutex};

/// 128-bit key: the first word is the same for all blocks of a file.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct CacheKey { file: u64, block: u64 }
impl CacheKey {
    pub const fn new(file: u64, block: u64) -> Self { Self { file, block } }
    pub const fn file(self) -> u64 { self.file }
    pub const fn block(self) -> u64 { self.block }
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Priority { High, #[default] Low, Bottom }

/// What a block is for: 32 roles, 13 named after RocksDB's, the rest for users.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Role(u8);
impl Role {
    pub const COUNT: usize = 32;
    pub const DATA_BLOCK: Role = Role(0);
    pub const FILTER_BLOCK: Role = Role(1);
    pub const FILTER_META_BLOCK: Role = Role(2);
    pub const INDEX_BLOCK: Role = Role(3);
    pub const OTHER_BLOCK: Role = Role(4);
    pub const WRITE_BUFFER: Role = Role(5);
    pub const COMPRESSION_DICTIONARY_BUILDING_BUFFER: Role = Role(6);
    pub const FILTER_CONSTRUCTION: Role = Role(7);
    pub const BLOCK_BASED_TABLE_READER: Role = Role(8);
    pub const FILE_METADATA: Role = Role(9);
    pub const BLOB_VALUE: Role = Role(10);
    pub const BLOB_CACHE: Role = Role(11);
    pub const MISC: Role = Role(12);
    /// `n` in 0..19.
    pub const fn user(n: u8) -> Option<Role> { if n < 19 { Some(Role(13 + n)) } else { None } }
    pub const fn index(self) -> usize { self.0 as usize }
    pub fn name(self) -> &'static str { "role" }
}

/// A type whose values can live in a cache.
pub trait CacheValue: Send + Sync + 'static {
    /// Bytes that the value keeps alive, itself included.
    fn charge(&self) -> usize;
}

pub trait Primary: 'static {}
pub struct Clock(());
impl Primary for Clock {}

struct Inner { map: Mutex<HashMap<CacheKey, Arc<dyn Any + Send + Sync>>>, capacity: usize }
pub struct BlockCache<P: Primary = Clock> { inner: Arc<Inner>, _p: PhantomData<fn() -> P> }
impl<P: Primary> Clone for BlockCache<P> { fn clone(&self) -> Self { Self { inner: self.inner.clone(), _p: PhantomData } } }

#[derive(Debug, Default)]
pub struct Builder { capacity: usize, strict: bool }
impl Builder {
    pub fn capacity(mut self, bytes: usize) -> Self { self.capacity = bytes; self }
    pub fn strict_capacity(mut self, strict: bool) -> Self { self.strict = strict; self }
    pub fn build(self) -> Result<BlockCache, BuildError> {
        Ok(BlockCache { inner: Arc::new(Inner { map: Mutex::default(), capacity: self.capacity }), _p: PhantomData })
    }
}
#[derive(Debug)]
#[non_exhaustive]
pub enum BuildError {}
impl fmt::Display for BuildError { fn fmt(&self, _: &mut fmt::Formatter<'_>) -> fmt::Result { Ok(()) } }
impl std::error::Error for BuildError {}

impl BlockCache {
    pub fn builder() -> Builder { Builder::default() }
}

/// Counts of one role, exact when no call is in flight.
#[derive(Clone, Copy, Debug, Default)]
#[non_exhaustive]
pub struct RoleStats { pub hits: u64, pub misses: u64, pub inserts: u64, pub evictions: u64 }
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct Stats { roles: [RoleStats; Role::COUNT] }
impl Stats {
    pub fn role(&self, role: Role) -> &RoleStats { &self.roles[role.index()] }
    pub fn total(&self) -> RoleStats { RoleStats::default() }
}

impl<P: Primary> BlockCache<P> {
    /// A typed window on the cache.
    pub fn view<V: CacheValue>(&self, role: Role) -> View<V, P> { View { cache: self.clone(), role, priority: Priority::Low, _v: PhantomData } }
    pub fn capacity(&self) -> usize { self.inner.capacity }
    pub fn usage(&self) -> usize { 0 }
    pub fn pinned_usage(&self) -> usize { 0 }
    pub fn occupancy(&self) -> usize { self.inner.map.lock().unwrap().len() }
    pub fn stats(&self) -> Stats { Stats::default() }
    pub fn erase(&self, key: &CacheKey) -> bool { self.inner.map.lock().unwrap().remove(key).is_some() }
}

pub struct View<V, P: Primary = Clock> { cache: BlockCache<P>, role: Role, priority: Priority, _v: PhantomData<fn() -> V> }
impl<V, P: Primary> Clone for View<V, P> { fn clone(&self) -> Self { Self { cache: self.cache.clone(), role: self.role, priority: self.priority, _v: PhantomData } } }

/// The key holds a value of another type.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct TypeMismatch { pub expected: &'static str, pub found: &'static str }
impl fmt::Display for TypeMismatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result { write!(f, "key holds a {}, looked up as {}", self.found, self.expected) }
}
impl std::error::Error for TypeMismatch {}

#[derive(Debug)]
#[non_exhaustive]
pub enum LoadError<E> { Load(Arc<E>), Type(TypeMismatch), Reentrant }
impl<E: fmt::Display> fmt::Display for LoadError<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self { Self::Load(e) => e.fmt(f), Self::Type(e) => e.fmt(f), Self::Reentrant => f.write_str("loader asks for the key it is loading") }
    }
}
impl<E: fmt::Debug + fmt::Display> std::error::Error for LoadError<E> {}

/// Keeps an entry alive; cheap to clone; may outlive the cache.
pub struct Handle<V> { value: Arc<dyn Any + Send + Sync>, _v: PhantomData<V> }
impl<V> Clone for Handle<V> { fn clone(&self) -> Self { Self { value: self.value.clone(), _v: PhantomData } } }
impl<V: 'static> Deref for Handle<V> { type Target = V; fn deref(&self) -> &V { self.value.downcast_ref().unwrap() } }

impl<V: CacheValue, P: Primary> View<V, P> {
    #[must_use]
    pub fn with_priority(mut self, priority: Priority) -> Self { self.priority = priority; self }
    pub fn role(&self) -> Role { self.role }
    pub fn cache(&self) -> &BlockCache<P> { &self.cache }
    pub fn get(&self, key: &CacheKey) -> Result<Option<Handle<V>>, TypeMismatch> {
        let value = self.cache.inner.map.lock().unwrap().get(key).cloned();
        match value {
            None => Ok(None),
            Some(v) if v.as_ref().type_id() == TypeId::of::<V>() => Ok(Some(Handle { value: v, _v: PhantomData })),
            Some(_) => Err(TypeMismatch { expected: type_name::<V>(), found: "other" }),
        }
    }
    /// Inserts unless the key is resident; the resident entry wins and its handle comes back.
    pub fn insert(&self, key: CacheKey, value: V) -> Result<Handle<V>, InsertError<V>> {
        let arc: Arc<dyn Any + Send + Sync> = Arc::new(value);
        let v = self.cache.inner.map.lock().unwrap().entry(key).or_insert(arc).clone();
        Ok(Handle { value: v, _v: PhantomData })
    }
    /// One load per key across threads; the others wait and share its outcome.
    pub fn get_or_load<E>(&self, key: &CacheKey, loader: impl FnOnce() -> Result<V, E>) -> Result<Handle<V>, LoadError<E>> {
        if let Some(h) = self.get(key).map_err(LoadError::Type)? { return Ok(h); }
        let value = loader().map_err(|e| LoadError::Load(Arc::new(e)))?;
        self.insert(*key, value).map_err(|_| unreachable!())
    }
    /// A handle that no lookup finds: for reads that must not fill the cache.
    pub fn standalone(&self, value: V) -> Handle<V> { Handle { value: Arc::new(value), _v: PhantomData } }
    /// Runs `f` on the value while it is pinned.
    pub fn read<R>(&self, key: &CacheKey, f: impl FnOnce(&V) -> R) -> Result<Option<R>, TypeMismatch> { Ok(self.get(key)?.map(|h| f(&h))) }
    pub fn erase(&self, key: &CacheKey) -> bool { self.cache.erase(key) }
}

#[derive(Debug)]
#[non_exhaustive]
pub enum InsertError<V> { Full(V), Type(TypeMismatch, V) }
