//! The cache that an engine writes for itself: shards, each a mutex around a hash table and a list in order of use.
//!
//! # The idea
//!
//! Entries are nodes in a vector, linked by their indices, so that a node needs no allocation and a link has four bytes; the hash
//! table has only indices. A lookup locks its shard, moves the node to the front of the list and clones the `Arc`. An insert
//! takes entries from the back until the shard is within its part of the capacity.
//!
//! # What must hold
//!
//! - I1: the indices in the table are those of the nodes in the list, each once; all other nodes are in `free`.
//! - I2: `usage` is the sum of the charges of the nodes in the list.
//! - I3: values are dropped outside the lock, apart from those that a second entry for one insert would evict.
//!
//! # What it costs
//!
//! Every hit locks: threads that want one key, or keys of one shard, wait for each other.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use ahash::RandomState;
use hashbrown::HashTable;
use hyperclock::CacheKey;
use hyperclock_bench::{Block, Cache, CacheSettings, ReadCache};

/// The index of no node: the end of the list.
const END: u32 = u32::MAX;

pub(crate) struct ShardedLru<V: Block> {
    shards: Box<[Shard<V>]>,
    hasher: RandomState,
    metadata: usize,
}

/// Two cache lines, so that neighbours do not disturb each other.
#[repr(align(128))]
struct Shard<V>(Mutex<Lru<V>>);

struct Node<V> {
    key: CacheKey,
    /// `None` in a free node.
    block: Option<Arc<V>>,
    charge: usize,
    newer: u32,
    older: u32,
}

struct Lru<V> {
    table: HashTable<u32>,
    nodes: Vec<Node<V>>,
    free: Vec<u32>,
    newest: u32,
    oldest: u32,
    usage: usize,
    capacity: usize,
}

impl<V> Lru<V> {
    fn new(capacity: usize, entries: usize) -> Self {
        Self {
            table: HashTable::with_capacity(entries),
            nodes: Vec::with_capacity(entries),
            free: Vec::new(),
            newest: END,
            oldest: END,
            usage: 0,
            capacity,
        }
    }

    fn find(&self, hash: u64, key: CacheKey) -> Option<u32> {
        self.table.find(hash, |&index| self.nodes[index as usize].key == key).copied()
    }

    /// Takes a node out of the list.
    fn unlink(&mut self, index: u32) {
        let Node { newer, older, .. } = self.nodes[index as usize];
        match newer {
            END => self.newest = older,
            _ => self.nodes[newer as usize].older = older,
        }
        match older {
            END => self.oldest = newer,
            _ => self.nodes[older as usize].newer = newer,
        }
    }

    /// Puts a node at the front of the list.
    fn link(&mut self, index: u32) {
        let node = &mut self.nodes[index as usize];
        (node.newer, node.older) = (END, self.newest);
        match self.newest {
            END => self.oldest = index,
            newest => self.nodes[newest as usize].newer = index,
        }
        self.newest = index;
    }

    fn touch(&mut self, index: u32) {
        if self.newest != index {
            self.unlink(index);
            self.link(index);
        }
    }

    /// Puts a value in, and returns the one that the key had.
    fn insert(
        &mut self,
        hash: u64,
        key: CacheKey,
        block: Arc<V>,
        charge: usize,
        hasher: &RandomState,
    ) -> Option<Arc<V>> {
        self.usage += charge;
        if let Some(index) = self.find(hash, key) {
            self.touch(index);
            let node = &mut self.nodes[index as usize];
            self.usage -= std::mem::replace(&mut node.charge, charge);
            return node.block.replace(block);
        }
        let node = Node { key, block: Some(block), charge, newer: END, older: END };
        let index = if let Some(index) = self.free.pop() {
            self.nodes[index as usize] = node;
            index
        } else {
            self.nodes.push(node);
            self.nodes.len() as u32 - 1
        };
        let nodes = &self.nodes;
        self.table.insert_unique(hash, index, |&index| hasher.hash_one(nodes[index as usize].key));
        self.link(index);
        None
    }

    /// Takes an entry out.
    fn remove(&mut self, hash: u64, index: u32) -> Option<Arc<V>> {
        if let Ok(entry) = self.table.find_entry(hash, |&other| other == index) {
            entry.remove();
        }
        self.unlink(index);
        let node = &mut self.nodes[index as usize];
        self.usage -= node.charge;
        self.free.push(index);
        node.block.take()
    }

    /// Takes the entry out that was used the longest ago, if the shard is over its capacity.
    fn evict(&mut self, hasher: &RandomState) -> Option<Arc<V>> {
        if self.usage <= self.capacity || self.oldest == END {
            return None;
        }
        let oldest = self.oldest;
        self.remove(hasher.hash_one(self.nodes[oldest as usize].key), oldest)
    }
}

impl<V: Block> ShardedLru<V> {
    /// The shard of a hash, locked. The table below uses the lowest and the highest bits.
    #[inline]
    fn lock(&self, hash: u64) -> MutexGuard<'_, Lru<V>> {
        let shard = (hash >> 32) as usize & (self.shards.len() - 1);
        self.shards[shard].0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<V: Block> ReadCache for ShardedLru<V> {
    type Block = V;
    type Handle = Arc<V>;

    fn build(settings: &CacheSettings) -> Self {
        let shards = super::shards();
        let (capacity, entries) = (settings.capacity / shards, super::presized(settings) / shards);
        Self {
            shards: (0..shards).map(|_| Shard(Mutex::new(Lru::new(capacity, entries)))).collect(),
            hasher: super::hasher(settings),
            metadata: settings.metadata_charge(),
        }
    }

    fn fill(&mut self, key: CacheKey, block: V) {
        self.put(key, block);
    }

    #[inline]
    fn get(&self, key: CacheKey) -> Option<Arc<V>> {
        let hash = self.hasher.hash_one(key);
        let mut shard = self.lock(hash);
        let index = shard.find(hash, key)?;
        shard.touch(index);
        shard.nodes[index as usize].block.clone()
    }

    #[inline]
    fn read(&self, key: CacheKey, using: impl FnOnce(&V)) -> bool {
        let hash = self.hasher.hash_one(key);
        let mut shard = self.lock(hash);
        let Some(index) = shard.find(hash, key) else { return false };
        shard.touch(index);
        shard.nodes[index as usize].block.as_deref().map(using).is_some()
    }

    fn entries(&self) -> u64 {
        let len = |shard: &Shard<V>| shard.0.lock().unwrap_or_else(PoisonError::into_inner).table.len() as u64;
        self.shards.iter().map(len).sum()
    }
}

impl<V: Block> Cache for ShardedLru<V> {
    #[inline]
    fn insert(&self, key: CacheKey, block: V) -> Arc<V> {
        let block = Arc::new(block);
        self.put_shared(key, Arc::clone(&block));
        block
    }

    #[inline]
    fn put(&self, key: CacheKey, block: V) {
        self.put_shared(key, Arc::new(block));
    }

    #[inline]
    fn erase(&self, key: CacheKey) {
        let hash = self.hasher.hash_one(key);
        let mut shard = self.lock(hash);
        let erased = shard.find(hash, key).and_then(|index| shard.remove(hash, index));
        drop(shard);
        drop(erased);
    }
}

impl<V: Block> ShardedLru<V> {
    #[inline]
    fn put_shared(&self, key: CacheKey, block: Arc<V>) {
        let hash = self.hasher.hash_one(key);
        let charge = block.charge() + self.metadata;
        let mut shard = self.lock(hash);
        let replaced = shard.insert(hash, key, block, charge, &self.hasher);
        let evicted = shard.evict(&self.hasher);
        // Seldom: values of one size make room one for one.
        while shard.evict(&self.hasher).is_some() {}
        drop(shard);
        drop((replaced, evicted));
    }
}

#[cfg(test)]
mod tests {
    use hyperclock_bench::Buffer;
    use hyperclock_bench::draws::key_of;
    use hyperclock_bench::random::Random;

    use super::*;

    impl<V> Lru<V> {
        /// I1 and I2.
        fn validate(&self, hasher: &RandomState) {
            let (mut count, mut usage, mut newer, mut index) = (0, 0, END, self.newest);
            while index != END {
                let node = &self.nodes[index as usize];
                assert_eq!(node.newer, newer);
                assert!(node.block.is_some());
                assert_eq!(self.find(hasher.hash_one(node.key), node.key), Some(index));
                count += 1;
                usage += node.charge;
                (newer, index) = (index, node.older);
            }
            assert_eq!(self.oldest, newer);
            assert_eq!((count, usage), (self.table.len(), self.usage));
            assert_eq!(count + self.free.len(), self.nodes.len());
            assert!(self.usage <= self.capacity);
        }
    }

    #[test]
    fn random_operations_keep_the_invariants() {
        let settings = CacheSettings {
            capacity: 64 << 10,
            entries: 100,
            value_bytes: 100,
            charge_metadata: false,
            presize: false,
            seed: 1,
        };
        let cache = ShardedLru::<Buffer>::build(&settings);
        let mut random = Random::new(1);
        for step in 0..20_000 {
            let key = key_of(random.below(2000));
            match random.below(4) {
                0 => cache.erase(key),
                1 => cache.put(key, Buffer::new(key, random.below(300) as usize)),
                _ => assert!(cache.get(key).is_none_or(|block| block.is_of(key))),
            }
            if step % 100 == 0 {
                cache.shards.iter().for_each(|shard| shard.0.lock().unwrap().validate(&cache.hasher));
            }
        }
    }

    #[test]
    fn what_was_used_the_longest_ago_goes_first() {
        let hasher = RandomState::with_seed(1);
        let mut lru = Lru::new(2, 0);
        let put = |lru: &mut Lru<u64>, rank| {
            let key = key_of(rank);
            lru.insert(hasher.hash_one(key), key, Arc::new(rank), 1, &hasher);
            lru.evict(&hasher).map(|evicted| *evicted)
        };
        assert_eq!((put(&mut lru, 1), put(&mut lru, 2)), (None, None));
        let first = lru.find(hasher.hash_one(key_of(1)), key_of(1)).unwrap();
        lru.touch(first);
        assert_eq!((put(&mut lru, 3), put(&mut lru, 4)), (Some(2), Some(1)));
        lru.validate(&hasher);
    }
}
