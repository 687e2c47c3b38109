//! A check of everything the table promises at rest.

use super::bucket::{CELLS, Cell};
use super::slot::Slot;
use super::table::Table;
use super::{Core, table};
use std::collections::HashMap;

/// Checks all tables; returns the bytes charged for entries that have a value.
pub(super) fn validate(core: &Core) -> Result<u64, String> {
    let mut bytes = 0;
    for (shard, _) in core.shards.iter().enumerate() {
        if let Some(table) = core.table(shard) {
            bytes += validate_table(core, shard, table).map_err(|fault| format!("shard {shard}: {fault}"))?;
        }
    }
    Ok(bytes)
}

fn validate_table(core: &Core, shard: usize, table: &Table) -> Result<u64, String> {
    let mut linked: HashMap<u32, Cell> = HashMap::new();
    let mut overflow_in_use = 0_usize;
    let extent = table.extent_now();
    for index in 0..extent.length() {
        let chain = table.chain_at(index);
        overflow_in_use += chain.len() - 1;
        for (n, bucket) in chain.iter().enumerate() {
            if n == 0 && bucket.is_locked() {
                return Err(format!("bucket {index} is locked"));
            }
            for cell in (0..CELLS).map(|position| bucket.cell(position)).filter(|cell| *cell != Cell::EMPTY) {
                let slot = cell.slot().ok_or_else(|| format!("bucket {index}: cell {cell:?} without a slot"))?;
                if linked.insert(slot, cell).is_some() {
                    return Err(format!("slot {slot} is linked twice"));
                }
                let key = table.slots.try_get(slot).ok_or_else(|| format!("slot {slot} has no memory"))?.key();
                if extent.home(key.0) != index || core.shard_of(key) != shard {
                    return Err(format!("slot {slot} is in bucket {index}, where its key does not belong"));
                }
                if cell.tag() != table::tag(key) {
                    return Err(format!("slot {slot} has another tag in its cell than its key"));
                }
            }
        }
    }
    let mut keys = std::collections::HashSet::new();
    let mut bytes = 0;
    let (mut visible, mut reclaimable, mut free) = (0_u64, 0_u64, 0_usize);
    for index in 0..table.slots.len() {
        let Some(slot) = table.slots.try_get(index) else { continue };
        let word = slot.state.peek();
        match (word.is_visible(), linked.contains_key(&index)) {
            (true, true) => visible += 1,
            (true, false) => return Err(format!("slot {index} is visible but not linked")),
            (false, true) => return Err(format!("slot {index} is linked but {word:?}")),
            (false, false) => {}
        }
        if word.is_visible() && !keys.insert((slot.key().0, slot.key().1)) {
            return Err(format!("two entries have the key of slot {index}"));
        }
        if word.is_visible() || word.is_erased() {
            if word.is_erased() && word.references() == 0 {
                return Err(format!("slot {index} is erased and unreferenced, but was not freed"));
            }
            bytes += entry_bytes(core, slot);
        } else if word.is_reclaimable() {
            reclaimable += 1;
        } else if word.is_empty() {
            free += 1;
        } else {
            return Err(format!("slot {index} is {word:?} at rest"));
        }
    }
    if visible != table.entries() {
        return Err(format!("{visible} entries are linked, {} are counted", table.entries()));
    }
    if reclaimable != table.counters.reclaimable.load_relaxed() {
        return Err(format!("{reclaimable} slots are reclaimable, {:?} are counted", table.counters.reclaimable));
    }
    let listed = table.slots.free_indices();
    let distinct: std::collections::HashSet<_> = listed.iter().collect();
    if distinct.len() != listed.len() || listed.len() != free {
        return Err(format!("{free} slots are empty, {} are in the free list", listed.len()));
    }
    let overflow_free = table.overflow_free();
    if overflow_in_use + overflow_free != table.overflow_len() {
        return Err(format!(
            "{} overflow buckets: {overflow_in_use} in chains, {overflow_free} free",
            table.overflow_len()
        ));
    }
    Ok(bytes)
}

fn entry_bytes(core: &Core, slot: &Slot) -> u64 {
    core.cost(slot.meta().charge())
}
