//! Random operations against a model, with every invariant checked after each step.

use hyperclock::{BlockCache, CacheKey, CacheValue, Handle, InsertError, MetadataCharge, Priority, Role, View};
use std::cell::Cell;
use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// A small generator (xorshift64*), so that a failing case is its seed.
struct Random(Cell<u64>);

impl Random {
    fn new(seed: u64) -> Self {
        Self(Cell::new(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1))
    }

    fn below(&self, bound: u64) -> u64 {
        let mut x = self.0.get();
        x ^= x >> 12;
        x ^= x << 25;
        x ^= x >> 27;
        self.0.set(x);
        (x.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 33) % bound
    }
}

/// A value that counts how many of its kind are alive.
struct Counted {
    key: u64,
    charge: usize,
    alive: Arc<AtomicUsize>,
}

impl Counted {
    fn new(key: u64, charge: usize, alive: &Arc<AtomicUsize>) -> Self {
        alive.fetch_add(1, Ordering::Relaxed);
        Self { key, charge, alive: alive.clone() }
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.alive.fetch_sub(1, Ordering::Relaxed);
    }
}

impl CacheValue for Counted {
    fn charge(&self) -> usize {
        self.charge
    }
}

struct Setting {
    capacity: usize,
    strict: bool,
    shards: usize,
    metadata: MetadataCharge,
    keys: u64,
    max_charge: u64,
}

fn key(n: u64) -> CacheKey {
    CacheKey::new(n % 3, n * 4096)
}

fn run(setting: &Setting, seed: u64, steps: u32) {
    let alive = Arc::new(AtomicUsize::new(0));
    let cache = BlockCache::builder()
        .capacity(setting.capacity)
        .strict_capacity(setting.strict)
        .shards(setting.shards)
        .metadata_charge(setting.metadata)
        .seed(seed)
        .build()
        .expect("valid options");
    let views: Vec<View<Counted>> = [Priority::High, Priority::Low, Priority::Bottom]
        .map(|priority| cache.view(Role::DATA_BLOCK).with_priority(priority))
        .into();
    let metadata = cache.metadata_charge();
    let random = Random::new(seed);
    // Held handles, with the key that each was taken for and whether it was erased since.
    let mut held: Vec<(u64, Handle<Counted>)> = Vec::new();
    // Keys that must be resident: pinned by a handle from the cache, not erased. Value: number of such handles.
    let mut pinned: HashMap<u64, usize> = HashMap::new();
    let mut reachable: Vec<bool> = Vec::new();
    for step in 0..steps {
        let n = random.below(setting.keys);
        let view = &views[random.below(3) as usize];
        match random.below(12) {
            0..=3 => {
                let got = view.get(&key(n)).expect("one type");
                assert!(got.is_some() || !pinned.contains_key(&n), "seed {seed} step {step}: a pinned key is missed");
                if let Some(handle) = got {
                    assert_eq!(handle.key, n);
                    if random.below(3) == 0 {
                        *pinned.entry(n).or_default() += 1;
                        held.push((n, handle));
                        reachable.push(true);
                    }
                }
            }
            4..=6 => {
                let charge = random.below(setting.max_charge) as usize;
                match view.insert(key(n), Counted::new(n, charge, &alive)) {
                    Ok(handle) => {
                        assert_eq!(handle.key, n);
                        if random.below(4) == 0 {
                            let resident = cache.contains(&key(n));
                            if resident {
                                *pinned.entry(n).or_default() += 1;
                            }
                            held.push((n, handle));
                            reachable.push(resident);
                        }
                    }
                    Err(InsertError::Full { value, charge, capacity }) => {
                        assert!(setting.strict);
                        assert_eq!((value.key, capacity), (n, setting.capacity));
                        assert!(charge <= capacity || value.charge + metadata > capacity);
                    }
                    Err(error) => panic!("{error}"),
                }
            }
            7 => {
                let loads = Cell::new(0);
                let resident = cache.contains(&key(n));
                let handle = view
                    .get_or_load(&key(n), || {
                        loads.set(loads.get() + 1);
                        Ok::<_, String>(Counted::new(n, 10, &alive))
                    })
                    .expect("the loader succeeds");
                assert_eq!((handle.key, loads.get()), (n, i32::from(!resident)));
            }
            8 => {
                let erased = view.erase(&key(n));
                assert!(erased || !pinned.contains_key(&n));
                pinned.remove(&n);
                for ((other, _), reachable) in held.iter().zip(&mut reachable) {
                    if *other == n {
                        *reachable = false;
                    }
                }
                assert!(!cache.contains(&key(n)));
            }
            9 => {
                held.push((n, view.standalone(Counted::new(n, 7, &alive))));
                reachable.push(false);
            }
            _ => {
                if !held.is_empty() {
                    let at = random.below(held.len() as u64) as usize;
                    let (n, handle) = held.swap_remove(at);
                    if reachable.swap_remove(at) {
                        let count = pinned.get_mut(&n).expect("counted");
                        *count -= 1;
                        if *count == 0 {
                            pinned.remove(&n);
                        }
                    }
                    assert_eq!(handle.key, n);
                    match random.below(3) {
                        0 => handle.release_unused(),
                        1 => drop(handle.clone()),
                        _ => drop(handle),
                    }
                }
            }
        }
        cache.validate().unwrap_or_else(|fault| panic!("seed {seed} step {step}: {fault}"));
        assert!(
            !setting.strict || cache.usage() <= setting.capacity,
            "seed {seed} step {step}: above a strict capacity"
        );
        let mut entries = 0;
        cache.for_each(|entry| {
            assert!(entry.type_name.ends_with("Counted"));
            entries += 1;
        });
        assert_eq!(entries, cache.occupancy());
    }
    let pinned_bytes = cache.pinned_usage();
    assert!(pinned_bytes <= cache.usage());
    drop(views);
    drop(cache);
    let still: std::collections::HashSet<_> = held.iter().map(|(_, h)| std::ptr::from_ref::<Counted>(h)).collect();
    assert_eq!(alive.load(Ordering::Relaxed), still.len(), "seed {seed}: only held values outlive the cache");
    for (n, handle) in held {
        assert_eq!(handle.key, n);
    }
    assert_eq!(alive.load(Ordering::Relaxed), 0, "seed {seed}: every value is dropped once");
}

#[test]
fn random_operations_agree_with_a_model_in_every_configuration() {
    let steps = if cfg!(debug_assertions) { 600 } else { 3000 };
    for strict in [false, true] {
        for shards in [1, 2, 8] {
            for metadata in [MetadataCharge::Full, MetadataCharge::None] {
                for (capacity, keys, max_charge) in [(4000, 60, 300), (100_000, 400, 200), (0, 10, 10), (700, 20, 900)]
                {
                    let setting = Setting { capacity, strict, shards, metadata, keys, max_charge };
                    for seed in 0..3 {
                        run(&setting, seed, steps);
                    }
                }
            }
        }
    }
}

/// BR-023: values live as long as their handles, however the cache goes away.
#[test]
fn br_023_five_handles_outlive_the_cache() {
    let alive = Arc::new(AtomicUsize::new(0));
    for round in 0..50 {
        let cache = BlockCache::new(1 << 20);
        let view = cache.view::<Counted>(Role::MISC);
        let handles: Vec<_> =
            (0..5).map(|n| view.insert(key(n), Counted::new(n, 100, &alive)).expect("room")).collect();
        for n in 5..500 {
            view.insert(key(n), Counted::new(n, 100, &alive)).expect("room");
        }
        if round % 2 == 0 {
            assert!(view.erase(&key(3)));
        }
        drop((cache, view));
        assert_eq!(alive.load(Ordering::Relaxed), 5);
        for (n, handle) in handles.into_iter().enumerate() {
            assert_eq!(handle.clone().key, n as u64);
        }
        assert_eq!(alive.load(Ordering::Relaxed), 0);
    }
}
