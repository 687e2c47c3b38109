//! The caches that are compared: their names, their types, and what each is set to.
//!
//! # The table
//!
//! The `caches!` macro at the end of this file has a line for each cache; nothing else knows which there are. A new one is a type with one
//! parameter, the value, that implements `hyperclock_bench`'s traits, and a line.
//!
//! # What all have in common
//!
//! - Keys are hyperclock's 128 bits, hashed by ahash with keys from the round's seed wherever a hasher can be chosen. hyperclock
//!   has its own hash, seeded alike.
//! - The budget is in bytes: each entry weighs its value's bytes, and 64 more where the workload charges metadata. So all caches
//!   hold as many entries, and what an entry really costs is the `memory` workload's answer.
//! - A hit gives what keeps the value alive: a handle where the cache has one, else the clone of an `Arc`.
//! - Shards, where their number can be chosen: four for each processor, rounded up to a power of two. That is the default of
//!   quick_cache and dashmap.
//! - Where room can be made in advance, it is, except for `instances`.
//!
//! # What each is set to
//!
//! | cache | settings |
//! |---|---|
//! | `clock` | the defaults; capacity in bytes, grows by itself, told of no number of entries |
//! | `clock-fixed` | the same, and the index made in advance for values of the workload's size |
//! | `quick_cache` | weigher; estimated items; default shards (fewer for small caches), hot and ghost shares; features as by default (parking_lot) |
//! | `moka` | `sync::Cache`; weigher; initial capacity; its default policy (TinyLFU), no listener, no expiry |
//! | `mini-moka` | `sync::Cache`; weigher; initial capacity |
//! | `foyer-*` | `foyer_memory::Cache`, values in its own records; weigher; shards; each policy's default parameters |
//! | `dashmap` | default shards; capacity |
//! | `papaya` | capacity; a guard for each operation, as a lookup in an engine would have |
//! | `sharded-lru` | [`sharded_lru`] of this crate |
//! | `hashbrown` | `HashMap` with ahash; one thread |
//!
//! `dashmap`, `papaya` and `hashbrown` evict nothing: they show what a lookup costs without a bound on memory, and take part only
//! in workloads that need none.

mod foyer;
mod maps;
mod moka;
mod quick;
mod sharded_lru;

use std::sync::OnceLock;
use std::thread;

use ahash::RandomState;
use clap::ValueEnum;
use hyperclock_bench::random::Random;
use hyperclock_bench::{Block, Cache, CacheSettings, HyperClock, ReadCache};
use serde::{Deserialize, Serialize};

use self::foyer::{FoyerLfu, FoyerLru, FoyerS3Fifo, FoyerSieve};
use self::maps::{DashMap, HashMap, Papaya};
use self::moka::{MiniMoka, Moka};
use self::quick::QuickCache;
use self::sharded_lru::ShardedLru;

/// hyperclock, made in advance for the entries that are expected.
type HyperClockFixed<V> = HyperClock<V, true>;

/// What a cache can do, and so which workloads it takes part in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Keeps a bound on its memory.
    Evicting,
    /// Grows without bound, and can be read by several threads.
    Growing,
    /// The same, for one thread.
    Single,
}

/// A workload that fills a cache and reads it.
pub(crate) trait OnReadCache {
    type Output;

    fn run<C: ReadCache>(&self) -> Self::Output;
}

/// A workload that changes a cache while it is read.
pub(crate) trait OnCache {
    type Output;

    fn run<C: Cache>(&self) -> Self::Output;
}

/// The hasher of a round.
fn hasher(settings: &CacheSettings) -> RandomState {
    let mut random = Random::new(settings.seed);
    RandomState::with_seeds(random.next_u64(), random.next_u64(), random.next_u64(), random.next_u64())
}

/// The number of shards, where it can be chosen. The system is asked once: it answers only after reading several files.
fn shards() -> usize {
    static SHARDS: OnceLock<usize> = OnceLock::new();
    *SHARDS.get_or_init(|| thread::available_parallelism().map_or(4, |count| count.get() * 4).next_power_of_two())
}

/// Entries to make room for.
fn presized(settings: &CacheSettings) -> usize {
    if settings.presize { settings.entries } else { 0 }
}

/// Runs a workload that evicts on a cache that can.
macro_rules! if_evicting {
    (Evicting, $workload:expr, $cache:ty) => {
        Some($workload.run::<$cache>())
    };
    ($kind:ident, $workload:expr, $cache:ty) => {
        None
    };
}

macro_rules! caches {
    ($($variant:ident: $name:literal, $kind:ident, $cache:ident;)+) => {
        /// A cache, as the command line names it.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum, Serialize, Deserialize)]
        pub(crate) enum CacheName {
            $(#[value(name = $name)] #[serde(rename = $name)] $variant,)+
        }

        impl CacheName {
            /// All of them, in the order of the tables.
            pub(crate) const ALL: &[Self] = &[$(Self::$variant),+];

            pub(crate) fn name(self) -> &'static str {
                match self {
                    $(Self::$variant => $name,)+
                }
            }

            pub(crate) fn kind(self) -> Kind {
                match self {
                    $(Self::$variant => Kind::$kind,)+
                }
            }

            /// Runs a workload that reads.
            pub(crate) fn read<V: Block, W: OnReadCache>(self, workload: &W) -> W::Output {
                match self {
                    $(Self::$variant => workload.run::<$cache<V>>(),)+
                }
            }

            /// Runs a workload that evicts; `None` if the cache cannot.
            pub(crate) fn change<V: Block, W: OnCache>(self, workload: &W) -> Option<W::Output> {
                match self {
                    $(Self::$variant => if_evicting!($kind, workload, $cache<V>),)+
                }
            }
        }
    };
}

caches! {
    Clock: "clock", Evicting, HyperClock;
    ClockFixed: "clock-fixed", Evicting, HyperClockFixed;
    QuickCache: "quick_cache", Evicting, QuickCache;
    Moka: "moka", Evicting, Moka;
    MiniMoka: "mini-moka", Evicting, MiniMoka;
    FoyerLru: "foyer-lru", Evicting, FoyerLru;
    FoyerLfu: "foyer-lfu", Evicting, FoyerLfu;
    FoyerS3Fifo: "foyer-s3fifo", Evicting, FoyerS3Fifo;
    FoyerSieve: "foyer-sieve", Evicting, FoyerSieve;
    ShardedLru: "sharded-lru", Evicting, ShardedLru;
    DashMap: "dashmap", Growing, DashMap;
    Papaya: "papaya", Growing, Papaya;
    HashMap: "hashbrown", Single, HashMap;
}

#[cfg(test)]
mod tests {
    use hyperclock_bench::draws::key_of;
    use hyperclock_bench::{Buffer, Inline};

    use super::*;

    const ENTRIES: u64 = 10_000;

    fn settings(capacity: usize) -> CacheSettings {
        CacheSettings {
            capacity,
            entries: ENTRIES as usize,
            value_bytes: 64,
            charge_metadata: true,
            presize: true,
            seed: 3,
        }
    }

    struct FillAndRead;

    impl OnReadCache for FillAndRead {
        type Output = ();

        fn run<C: ReadCache>(&self) {
            let mut cache = C::build(&settings(ENTRIES as usize * 128 * 2));
            for rank in 0..ENTRIES {
                cache.fill(key_of(rank), C::Block::new(key_of(rank), 64));
            }
            cache.settle();
            assert_eq!(cache.entries(), ENTRIES);
            for rank in 0..ENTRIES {
                assert!(cache.get(key_of(rank)).is_some_and(|handle| handle.is_of(key_of(rank))));
                assert!(cache.read(key_of(rank), |block| assert!(block.is_of(key_of(rank)))));
            }
            assert!(cache.get(key_of(ENTRIES)).is_none());
            assert!(!cache.read(key_of(ENTRIES), |_| unreachable!("nothing is there")));
        }
    }

    #[test]
    fn what_was_filled_is_found() {
        for cache in CacheName::ALL {
            cache.read::<Inline<64>, _>(&FillAndRead);
            cache.read::<Buffer, _>(&FillAndRead);
        }
    }

    struct Overfill;

    impl OnCache for Overfill {
        type Output = u64;

        fn run<C: Cache>(&self) -> u64 {
            let mut cache = C::build(&settings(ENTRIES as usize * 128));
            for rank in 0..ENTRIES * 4 {
                let key = key_of(rank);
                if rank % 2 == 0 {
                    cache.put(key, C::Block::new(key, 64));
                } else {
                    let handle = cache.insert(key, C::Block::new(key, 64));
                    assert!(handle.is_of(key));
                }
            }
            cache.settle();
            let resident = cache.entries();
            for rank in 0..ENTRIES * 4 {
                cache.erase(key_of(rank));
            }
            cache.settle();
            assert_eq!(cache.entries(), 0);
            resident
        }
    }

    #[test]
    fn all_that_evict_hold_as_many_entries() {
        for cache in CacheName::ALL {
            let Some(resident) = cache.change::<Inline<64>, _>(&Overfill) else {
                assert_ne!(cache.kind(), Kind::Evicting);
                continue;
            };
            let name = cache.name();
            assert!((ENTRIES * 9 / 10..=ENTRIES).contains(&resident), "{name} holds {resident} of {ENTRIES}");
        }
    }
}
