//! A check of everything the table promises at rest.

use super::Core;
use super::bucket::{CELLS, Cell, Tag};
use super::slot::Slot;
use super::table::Table;
use std::collections::{HashMap, HashSet};
use std::ptr::NonNull;

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

/// The cells in use, by the slot that they name, with the buckets whose chains they are in.
type Linked = HashMap<NonNull<Slot>, (Cell, u32)>;

/// All cells in use, and the number of overflow buckets in chains.
fn linked_slots(table: &Table) -> Result<(Linked, usize), String> {
    let mut linked = HashMap::new();
    let mut overflow = 0;
    for index in 0..table.extent_now().length() {
        let chain = table.chain_at(index);
        overflow += chain.len() - 1;
        if chain.first().is_some_and(|head| head.is_locked()) {
            return Err(format!("bucket {index} is locked"));
        }
        for cell in chain.iter().flat_map(|bucket| (0..CELLS).map(|position| bucket.cell(position))) {
            if let Some(slot) = cell.slot()
                && linked.insert(slot, (cell, index)).is_some()
            {
                return Err(format!("bucket {index}: the slot of {cell:?} is linked twice"));
            }
        }
    }
    Ok((linked, overflow))
}

fn validate_table(core: &Core, shard: usize, table: &Table) -> Result<u64, String> {
    let (mut linked, overflow_in_use) = linked_slots(table)?;
    let mut keys = HashSet::new();
    let mut bytes = 0;
    let (mut visible, mut reclaimable, mut free, mut parked) = (0_u64, 0_u64, 0_usize, 0_usize);
    for index in 0..table.slots.len() {
        let Some(slot) = table.slots.try_get(index) else { continue };
        let word = slot.state.peek();
        match (word.is_visible(), linked.remove(&NonNull::from(slot))) {
            (true, Some((cell, bucket))) => {
                visible += 1;
                let key = slot.key();
                if table.extent_now().home(key.0) != bucket || core.shard_of(key) != shard {
                    return Err(format!("slot {index} is in bucket {bucket}, where its key does not belong"));
                }
                if cell.tag() != Tag::of(key.0) {
                    return Err(format!("slot {index} has another tag in its cell than its key"));
                }
            }
            (true, None) => return Err(format!("slot {index} is visible but not linked")),
            (false, Some(_)) => return Err(format!("slot {index} is linked but {word:?}")),
            (false, None) => {}
        }
        if word.is_visible() && !keys.insert((slot.key().0, slot.key().1)) {
            return Err(format!("two entries have the key of slot {index}"));
        }
        if word.is_visible() || word.is_erased() {
            if word.is_erased() && word.references() == 0 {
                return Err(format!("slot {index} is erased and unreferenced, but was not freed"));
            }
            bytes += entry_bytes(core, slot);
        } else if table.slots.is_parked(index) {
            parked += 1;
        } else if word.is_reclaimable() {
            reclaimable += 1;
        } else if word.is_empty() {
            free += 1;
        } else {
            return Err(format!("slot {index} is {word:?} at rest"));
        }
    }
    if let Some((cell, bucket)) = linked.values().next() {
        return Err(format!("bucket {bucket}: {cell:?} names no slot of this table"));
    }
    if visible != table.entries() {
        return Err(format!("{visible} entries are linked, {} are counted", table.entries()));
    }
    if reclaimable != table.counters.reclaimable.load_relaxed() {
        return Err(format!("{reclaimable} slots are reclaimable, {:?} are counted", table.counters.reclaimable));
    }
    if table.slots.count_parked()? != parked {
        return Err(format!("{parked} slots are parked, but their chunks count others"));
    }
    let listed = table.slots.free_indices();
    let distinct: HashSet<_> = listed.iter().collect();
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
