//! The state word of a slot: who may touch it, how often it was used, and who frees it.
//!
//! One 64-bit word answers a hit with one atomic add and a release with another. Its layout:
//!
//! ```text
//!  63    62      61      60      59        58       57 .. 48      47 .. 24         23 .. 0
//! +----+-------+--------+-------+---------+---------+------------+----------------+----------------+
//! | -  | ASIDE | CLOSED | OWNED | LINKED  | ENTRY   |  policy    | release count  | acquire count  |
//! +----+-------+--------+-------+---------+---------+------------+----------------+----------------+
//! ```
//!
//! References = acquire count - release count. Without references the two are equal, and their common value is the
//! number of uses that the clock hand has not yet taken away (see `policy`).
//!
//! | state | ENTRY | LINKED | OWNED | ASIDE | meaning | who may touch the other fields |
//! |---|---|---|---|---|---|---|
//! | empty | 0 | 0 | 0 | 0 | free; the rest is arbitrary | whoever took it from the free list |
//! | visible | 1 | 1 | 0 | 0 | reachable by lookups | holders of a reference, read only |
//! | erased | 1 | 0 | 0 | 0 | unlinked but referenced, or just left by its last holder | the holders; then the last one |
//! | owned | 1 | 0 | 1 | 0 | taken out by an evictor | that evictor |
//! | reclaimable | 0 | 0 | 1 | 0 | value dropped by a last holder | the next writer that claims it |
//! | parked | 0 | 0 | 0 | 1 | free, and to be given back to the system | the thread that reshapes the table |
//! | moved | 1 | 1 | 1 | 0 | the entry is in the slot whose index is in bits 24 to 55 | the thread that moved it |
//! | incoming | 1 | 0 | 1 | 1 | an entry is on its way into this slot | the thread that moves it |
//!
//! ```text
//!            publish                  claim (no references)            reset
//!   empty -------------> visible ---------------------------> owned ----------> empty
//!                           |                                                     ^
//!                           | unlink                                              | collect
//!                           v          last reference goes                        |
//!                        erased ------------------------------> (owner) ---> reclaimable
//!                                                                  |
//!                                                                  +-------> owned, as above, within a call of the cache
//! ```
//!
//! An entry without references can move to another slot, with the chain's lock held:
//!
//! ```text
//!   old slot:  visible --- forward ---> moved -----------------------> parked
//!   new slot:  incoming -------------------- admit ---> visible
//! ```
//!
//! S1. An acquire on a slot in another state than visible or erased takes no reference and is not undone: the word is
//!     overwritten by whoever owns the slot.
//! S2. The operation after which a word is first *erased with zero references* owns the slot: exactly one operation sees
//!     that in its own pre-image (an `unlink` of an unreferenced entry, a release, or the undo of a lookup). A later
//!     acquire finds zero references in its pre-image and, by S1, does not undo.
//! S3. An owner by S2 that is a holder ends with one atomic swap to *reclaimable* and touches nothing of the cache afterwards,
//!     unless CLOSED is in the pre-image of that swap. An owner within a call of the cache, which keeps it alive, swaps to *owned*.
//! S4. CLOSED is set once, when the cache is dropped. A release that finds it in its own pre-image and was last frees
//!     the value and then gives up its share in the table's memory.
//! S5. Counts cannot overflow: an acquire that finds [`Word::MAX_REFERENCES`] references, or a count near the end of
//!     its field, is undone and reported as saturated.
//! S6. `forward` is the instant of a move: before it, the old slot answers lookups; from it on, the new one. A lookup that
//!     finds *moved* admits the entry to its new slot itself if the mover has not done so yet, so it waits for nobody. The old
//!     slot becomes something else only after the chain's cell and version tell of the move.

use crate::primitive::Atomic64;

const COUNT_BITS: u32 = 24;
const COUNT_MASK: u64 = (1 << COUNT_BITS) - 1;
const ACQUIRE_ONE: u64 = 1;
const RELEASE_ONE: u64 = 1 << COUNT_BITS;
const POLICY_SHIFT: u32 = 2 * COUNT_BITS;
const POLICY_MASK: u64 = 0x3ff << POLICY_SHIFT;
const ENTRY: u64 = 1 << 58;
const LINKED: u64 = 1 << 59;
const OWNED: u64 = 1 << 60;
const CLOSED: u64 = 1 << 61;
const ASIDE: u64 = 1 << 62;
const KIND: u64 = ENTRY | LINKED | OWNED | ASIDE;
const PARKED: u64 = ASIDE;
const MOVED: u64 = ENTRY | LINKED | OWNED;
const INCOMING: u64 = ENTRY | OWNED | ASIDE;
/// Where a moved word has the index of the other slot: above the count that lookups go on adding to.
const TARGET_SHIFT: u32 = COUNT_BITS;

/// An acquire count with one of these bits sends the acquire to its slow path, which lowers both counts.
const HIGH_ACQUIRES: u64 = 0b11 << (COUNT_BITS - 2);
/// An acquire count that no acquire may pass: leaves room for one acquire in flight by each of 2^20 threads.
const ACQUIRE_LIMIT: u64 = (1 << COUNT_BITS) - (1 << 20);
/// What lowering leaves in the release count: more than any policy distinguishes.
const REBASED: u64 = 15;

/// A value of the state word.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct Word(u64);

impl Word {
    /// References that one entry can have; further lookups miss and further clones panic.
    pub(crate) const MAX_REFERENCES: u64 = 1 << 22;

    /// An unreferenced visible entry with `uses` recorded uses.
    #[cfg(all(test, not(any(loom, shuttle))))]
    pub(crate) const fn visible(uses: u64) -> Self {
        Self(ENTRY | LINKED | uses * (ACQUIRE_ONE + RELEASE_ONE))
    }

    /// A visible entry with `uses` recorded uses, one of which is the reference of its inserter.
    pub(crate) const fn visible_referenced(uses: u64) -> Self {
        Self(ENTRY | LINKED | uses * ACQUIRE_ONE | (uses - 1) * RELEASE_ONE)
    }

    /// A standalone entry with one reference.
    pub(crate) const fn standalone() -> Self {
        Self(ENTRY | ACQUIRE_ONE)
    }

    pub(crate) const fn is_visible(self) -> bool {
        self.0 & KIND == ENTRY | LINKED
    }

    pub(crate) const fn is_erased(self) -> bool {
        self.0 & KIND == ENTRY
    }

    pub(crate) const fn is_reclaimable(self) -> bool {
        self.0 & KIND == OWNED
    }

    pub(crate) const fn is_empty(self) -> bool {
        self.0 & KIND == 0
    }

    pub(crate) const fn is_parked(self) -> bool {
        self.0 & KIND == PARKED
    }

    pub(crate) const fn is_closed(self) -> bool {
        self.0 & CLOSED != 0
    }

    pub(crate) const fn references(self) -> u64 {
        (self.0 & COUNT_MASK).wrapping_sub(self.0 >> COUNT_BITS & COUNT_MASK) & COUNT_MASK
    }

    /// Uses that the hand has not taken away; meaningful without references.
    pub(crate) const fn uses(self) -> u64 {
        self.0 & COUNT_MASK
    }

    /// The ten bits that belong to the replacement policy.
    #[cfg(all(test, not(any(loom, shuttle))))]
    pub(crate) const fn policy_bits(self) -> u64 {
        (self.0 & POLICY_MASK) >> POLICY_SHIFT
    }

    /// The same word with `uses` recorded uses, for an unreferenced entry.
    pub(crate) const fn with_uses(self, uses: u64) -> Self {
        Self(self.0 & (KIND | CLOSED | POLICY_MASK) | uses * (ACQUIRE_ONE + RELEASE_ONE))
    }

    const fn saturated(self) -> bool {
        self.references() >= Self::MAX_REFERENCES || self.0 & COUNT_MASK >= ACQUIRE_LIMIT
    }
}

impl std::fmt::Debug for Word {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let name = match self.0 & KIND {
            0 => "empty",
            ENTRY => "erased",
            OWNED => "reclaimable",
            k if k == ENTRY | LINKED => "visible",
            k if k == ENTRY | OWNED => "owned",
            PARKED => "parked",
            MOVED => "moved",
            INCOMING => "incoming",
            _ => "invalid",
        };
        let closed = if self.is_closed() { ", closed" } else { "" };
        write!(f, "{name}(references {}, uses {}{closed})", self.references(), self.uses())
    }
}

/// What an acquire found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Acquired {
    /// A reference was taken. The caller must check the key, since the slot may hold another entry by now.
    Reference,
    /// The slot held no reachable entry; no reference is held, and `ours` says whether this call became the owner of
    /// an erased entry (S2) when it gave its reference back.
    Gone {
        /// This call owns the slot and must drop its value.
        ours: bool,
    },
    /// The entry is in the slot with this index now; no reference is held.
    Moved(u32),
    /// Too many references (S5); none is held.
    Saturated,
}

/// What a release means for the caller.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Released {
    /// Nothing more to do.
    Done,
    /// The entry was erased or the cache dropped, and this was the last reference: the caller owns the slot (S2, S4).
    Last {
        /// CLOSED was seen: the slot's memory is waiting for its last holders.
        closed: bool,
    },
}

/// The state word in its slot.
#[derive(Debug, Default)]
#[repr(transparent)]
pub(crate) struct State(Atomic64);

impl State {
    #[cfg(any(loom, shuttle, test))]
    pub(crate) fn empty() -> Self {
        Self(Atomic64::new(0))
    }

    pub(crate) fn with(word: Word) -> Self {
        Self(Atomic64::new(word.0))
    }

    /// A look that orders nothing: the start of a compare-and-swap, or a statistic.
    #[inline]
    pub(crate) fn peek(&self) -> Word {
        Word(self.0.load_relaxed())
    }

    /// Takes a reference if the slot holds a reachable entry. Wait-free: one add, and one subtraction if it failed.
    #[inline]
    pub(crate) fn acquire(&self) -> Acquired {
        // Acquire pairs with `publish`: the entry's key, value and charge are visible with its word.
        let before = Word(self.0.add_acquire(ACQUIRE_ONE));
        if before.0 & (KIND | HIGH_ACQUIRES) == ENTRY | LINKED {
            return Acquired::Reference;
        }
        self.acquire_rare(before)
    }

    #[cold]
    fn acquire_rare(&self, before: Word) -> Acquired {
        if before.is_visible() {
            if before.saturated() {
                // Many uses but few references: the next acquire finds room.
                self.rebase();
                let ours = self.undo_acquire();
                return if ours { Acquired::Gone { ours } } else { Acquired::Saturated };
            }
            self.rebase();
            return Acquired::Reference;
        }
        if before.0 & KIND == MOVED {
            if before.0 & HIGH_ACQUIRES != 0 {
                self.forget_acquires();
            }
            return Acquired::Moved((before.0 >> TARGET_SHIFT) as u32);
        }
        // S1: nothing to undo in a slot without an entry, nor in an erased one that already has its owner.
        let ours = before.is_erased() && before.references() > 0 && self.undo_acquire();
        Acquired::Gone { ours }
    }

    /// Keeps the acquires of lookups, which a moved word collects while its mover is suspended, from reaching the target. One
    /// attempt, like [`State::rebase`].
    fn forget_acquires(&self) {
        let now = self.0.load_relaxed();
        if now & KIND == MOVED {
            self.0.cas_relaxed(now, now & !COUNT_MASK);
        }
    }

    /// Takes one more reference for a caller that holds one; false when there are too many (none is taken then).
    #[inline]
    pub(crate) fn acquire_more(&self) -> bool {
        // Relaxed: the caller's own reference already makes the entry visible to it.
        let before = Word(self.0.add_relaxed(ACQUIRE_ONE));
        if before.0 & HIGH_ACQUIRES == 0 {
            return true;
        }
        if before.saturated() {
            self.0.sub_relaxed(ACQUIRE_ONE);
            return false;
        }
        self.rebase();
        true
    }

    /// Gives back a reference as if the use had not happened. True when the caller became the owner (S2).
    #[inline]
    pub(crate) fn undo_acquire(&self) -> bool {
        // Release pairs with the acquire of whoever frees the value: our reads of it happen before.
        let before = Word(self.0.sub_release(ACQUIRE_ONE));
        before.references() == 1 && before.is_erased() && self.take_over()
    }

    /// Gives back a reference. Wait-free: one add. Unless the entry is ours afterwards, the slot is not looked at
    /// again, since its memory may be gone.
    #[inline]
    pub(crate) fn release(&self) -> Released {
        // Release: as in `undo_acquire`.
        let before = Word(self.0.add_release(RELEASE_ONE));
        if before.0 & (LINKED | CLOSED) == LINKED {
            return Released::Done;
        }
        self.last(before)
    }

    /// As [`State::release`], but the use is forgotten: the caller read something that nobody will want again.
    #[inline]
    pub(crate) fn release_unused(&self) -> Released {
        // Release: as in `undo_acquire`.
        let before = Word(self.0.sub_release(ACQUIRE_ONE));
        if before.0 & (LINKED | CLOSED) == LINKED {
            return Released::Done;
        }
        self.last(before)
    }

    #[cold]
    fn last(&self, before: Word) -> Released {
        let closed = before.is_closed();
        if before.references() == 1 && (before.is_erased() || closed) {
            self.take_over();
            return Released::Last { closed };
        }
        Released::Done
    }

    /// Makes everything that earlier holders did visible to the new owner.
    fn take_over(&self) -> bool {
        // Acquire pairs with the release in the references that were given back before: it reads a word from the
        // release sequence that each of them heads.
        self.0.load_acquire();
        true
    }

    /// Lowers both counts by the same amount, for a caller that holds a reference. One attempt: if another thread
    /// changed the word meanwhile, a later acquire tries again, long before a count can overflow (S5).
    fn rebase(&self) {
        let now = self.0.load_relaxed();
        let released = now >> COUNT_BITS & COUNT_MASK;
        if let Some(excess) = released.checked_sub(REBASED) {
            self.0.cas_relaxed(now, now - excess * (ACQUIRE_ONE + RELEASE_ONE));
        }
    }

    /// empty -> visible, by the thread that filled the slot.
    #[inline]
    pub(crate) fn publish(&self, word: Word) {
        debug_assert!(word.is_visible());
        // Release pairs with `acquire`.
        self.0.overwrite_release(word.0);
    }

    /// visible without references -> visible with other `uses`; fails if anything changed. One attempt.
    #[inline]
    pub(crate) fn age(&self, seen: Word, uses: u64) -> bool {
        self.0.cas_relaxed(seen.0, seen.with_uses(uses).0)
    }

    /// visible without references -> owned. One attempt; the caller holds the lock of the entry's chain.
    #[inline]
    pub(crate) fn claim(&self, seen: Word) -> bool {
        debug_assert!(seen.is_visible() && seen.references() == 0);
        // Acquire: as in `take_over`.
        self.0.cas_acquire(seen.0, ENTRY | OWNED)
    }

    /// visible -> erased. True when the entry had no references, so that the caller owns the slot (S2). The caller
    /// holds the lock of the entry's chain.
    #[inline]
    pub(crate) fn unlink(&self) -> bool {
        // Relaxed: an owner acquires in `own`, before it drops the value.
        let before = Word(self.0.and_relaxed(!LINKED));
        debug_assert!(before.is_visible());
        before.references() == 0
    }

    /// erased without references -> owned, by its owner by S2 during a call of the cache.
    #[inline]
    pub(crate) fn own(&self) {
        // Acquire: as in `take_over`, for the owner that `unlink` made.
        self.0.swap_acquire(ENTRY | OWNED);
    }

    /// owned or parked -> empty, by the owner, before the slot goes to the free list.
    #[inline]
    pub(crate) fn reset(&self) {
        // Release: as in `park`, whose word this one hides.
        self.0.overwrite_release(0);
    }

    /// The last step of an owner by S2. True when the cache was dropped meanwhile (S3).
    #[inline]
    pub(crate) fn leave_reclaimable(&self) -> bool {
        // Release pairs with `collect`, which hands the slot to its next user.
        Word(self.0.swap_release(OWNED)).is_closed()
    }

    /// reclaimable -> empty. True when this caller got the slot.
    #[inline]
    pub(crate) fn collect(&self, seen: Word) -> bool {
        // Acquire pairs with `leave_reclaimable`.
        seen.is_reclaimable() && self.0.cas_acquire(seen.0, 0)
    }

    /// empty -> incoming, by the owner: an unreferenced visible entry will move here.
    #[inline]
    pub(crate) fn expect(&self, entry: Word) {
        // Relaxed: `forward` publishes it.
        self.0.overwrite_relaxed(INCOMING | entry.0 & POLICY_MASK | entry.uses() * RELEASE_ONE);
    }

    /// visible without references -> moved to `target`, which expects it (S6). One attempt; the caller holds the lock of the
    /// entry's chain.
    #[inline]
    pub(crate) fn forward(&self, seen: Word, target: u32) -> bool {
        debug_assert!(seen.is_visible() && seen.references() == 0);
        // Release pairs with `acquire`: the target is filled. Acquire: as in `take_over`; `admit` hands it on.
        self.0.cas_acq_rel(seen.0, MOVED | u64::from(target) << TARGET_SHIFT)
    }

    /// incoming -> visible, by the thread that moves the entry or any that found it moved; nothing in other states.
    pub(crate) fn admit(&self) {
        let mut word = self.0.load_relaxed();
        while word & KIND == INCOMING {
            let uses = word >> COUNT_BITS & COUNT_MASK;
            // Release pairs with the `acquire` of lookups that come by the cell, and passes on what `forward` acquired.
            match self
                .0
                .cas_release(word, word & (CLOSED | POLICY_MASK) | ENTRY | LINKED | uses * (ACQUIRE_ONE + RELEASE_ONE))
            {
                Ok(_) => return,
                Err(found) => word = found,
            }
        }
    }

    /// Anything that the caller owns -> parked.
    #[inline]
    pub(crate) fn park(&self) {
        // Release: a lookup that finds the slot like this sees the chain's new version (S6).
        self.0.overwrite_release(PARKED);
    }

    #[cfg(any(loom, shuttle))]
    pub(crate) fn clear(&self) {
        // As strong as what the system does to give pages back.
        self.0.overwrite_release(0);
    }

    /// Marks the slot of a dropped cache (S4) and returns what it was. The caller owns every entry without references,
    /// except an erased one, which has an owner by S2.
    pub(crate) fn close(&self) -> Word {
        // Acquire: as in `take_over`. Release pairs with the release or swap that sees CLOSED.
        Word(self.0.or_acq_rel(CLOSED))
    }
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use super::*;

    /// What an operation may do to the state in a slot: every state that the table at the head has, by every operation that
    /// another thread may have in flight, and by the owner's where it is allowed.
    #[test]
    fn every_transition_of_the_table() {
        const VISIBLE: u64 = ENTRY | LINKED;
        const ERASED: u64 = ENTRY;
        const CLAIMED: u64 = ENTRY | OWNED;
        const RECLAIMABLE: u64 = OWNED;
        const EMPTY: u64 = 0;
        let kinds = [EMPTY, VISIBLE, ERASED, CLAIMED, RECLAIMABLE, PARKED, MOVED, INCOMING];
        // With `held` references of others, and one of the caller where the operation gives one back.
        for closed in [0, CLOSED] {
            for kind in kinds {
                for held in [0, 1, 5] {
                    let word = kind | closed | (held + 2) * ACQUIRE_ONE | 2 * RELEASE_ONE;
                    let state = || State(Atomic64::new(word));
                    let now = |state: &State| state.0.load_relaxed();

                    let slot = state();
                    let acquired = slot.acquire();
                    let expected = match kind {
                        VISIBLE => Acquired::Reference,
                        MOVED => Acquired::Moved((word >> TARGET_SHIFT) as u32),
                        _ => Acquired::Gone { ours: false },
                    };
                    assert_eq!(acquired, expected, "{:?}", Word(word));
                    // Taken where there is an entry, given back where there was one with holders, else left to the owner (S1).
                    let left = now(&slot) - word;
                    assert_eq!(left, u64::from(kind != ERASED || held == 0), "{:?}", Word(word));

                    let slot = state();
                    assert!(slot.age(Word(word), 1));
                    assert_eq!(Word(now(&slot)).uses(), 1);
                    assert_eq!(now(&slot) & (KIND | CLOSED), word & (KIND | CLOSED), "ageing changes no state");

                    let slot = state();
                    assert_eq!(slot.collect(Word(word)), kind == RECLAIMABLE);
                    assert_eq!(now(&slot), if kind == RECLAIMABLE { 0 } else { word });

                    let slot = state();
                    slot.admit();
                    assert_eq!(now(&slot) & KIND, if kind == INCOMING { VISIBLE } else { kind });

                    let slot = state();
                    let before = slot.close();
                    assert_eq!((before.0, now(&slot)), (word, word | CLOSED));

                    if kind == VISIBLE {
                        let slot = state();
                        assert_eq!(slot.unlink(), held == 0);
                        assert_eq!(now(&slot) & KIND, ERASED);
                        if held == 0 && closed == 0 {
                            let slot = state();
                            assert!(slot.claim(Word(word)));
                            assert_eq!(now(&slot), CLAIMED);
                            let slot = state();
                            assert!(slot.forward(Word(word), 77));
                            assert_eq!(slot.acquire(), Acquired::Moved(77));
                        }
                    }
                    if matches!(kind, VISIBLE | ERASED) && held > 0 {
                        for release in [State::release, State::release_unused] {
                            let slot = state();
                            let last = held == 1 && (kind == ERASED || closed != 0);
                            let expected = if last { Released::Last { closed: closed != 0 } } else { Released::Done };
                            assert_eq!(release(&slot), expected, "{:?}", Word(word));
                            assert_eq!(Word(now(&slot)).references(), held - 1);
                            assert_eq!(now(&slot) & (KIND | CLOSED), word & (KIND | CLOSED));
                        }
                        let slot = state();
                        assert_eq!(slot.undo_acquire(), held == 1 && kind == ERASED);
                        assert!(state().acquire_more());
                    }
                    let slot = state();
                    assert_eq!(slot.leave_reclaimable(), closed != 0);
                    assert_eq!(now(&slot), RECLAIMABLE);
                    let slot = state();
                    slot.park();
                    assert_eq!(now(&slot), PARKED);
                    slot.reset();
                    assert_eq!(now(&slot), EMPTY);
                }
            }
        }
    }

    #[test]
    fn a_move_keeps_uses_and_policy_and_drops_stray_acquires() {
        let entry = Word(ENTRY | LINKED | 5 << POLICY_SHIFT | 3 * (ACQUIRE_ONE + RELEASE_ONE));
        let (old, new) = (State::with(entry), State::empty());
        new.expect(entry);
        assert_eq!(new.acquire(), Acquired::Gone { ours: false }, "a lookup that has no business here");
        assert!(old.forward(entry, u32::MAX - 1));
        for _ in 0..1 << 25 {
            assert_eq!(old.acquire(), Acquired::Moved(u32::MAX - 1), "whatever lookups add");
        }
        new.admit();
        assert_eq!((new.peek(), new.peek().policy_bits()), (entry, 5));
        new.admit();
        assert_eq!(new.peek(), entry, "once");
    }

    #[test]
    fn an_inserted_entry_keeps_its_uses_when_the_inserter_lets_go() {
        for uses in 1..=3 {
            let state = State::with(Word::visible_referenced(uses));
            assert_eq!((state.peek().references(), state.peek().is_visible()), (1, true));
            assert_eq!(state.release(), Released::Done);
            assert_eq!(state.peek(), Word::visible(uses));
        }
    }

    #[test]
    fn an_unused_release_leaves_no_trace() {
        let state = State::with(Word::visible(1));
        assert_eq!(state.acquire(), Acquired::Reference);
        assert_eq!(state.release_unused(), Released::Done);
        assert_eq!(state.peek(), Word::visible(1));
        assert_eq!(state.acquire(), Acquired::Reference);
        assert_eq!(state.release(), Released::Done);
        assert_eq!(state.peek(), Word::visible(2));
    }

    #[test]
    fn an_acquire_without_an_entry_takes_nothing() {
        let state = State::empty();
        assert_eq!(state.acquire(), Acquired::Gone { ours: false });
        state.publish(Word::visible(2));
        assert_eq!(state.peek().references(), 0, "the stray acquire was overwritten");
        assert!(state.claim(state.peek()));
        assert_eq!(state.acquire(), Acquired::Gone { ours: false });
        state.reset();
        assert!(state.peek().is_empty());
    }

    #[test]
    fn whoever_brings_an_erased_entry_to_zero_owns_it_once() {
        let state = State::with(Word::visible_referenced(2));
        assert!(!state.unlink(), "a handle is left");
        assert!(state.peek().is_erased());
        assert_eq!(state.acquire(), Acquired::Gone { ours: false });
        assert_eq!(state.peek().references(), 1, "a lookup of an erased entry gives its reference back");
        assert_eq!(state.release(), Released::Last { closed: false });
        assert_eq!(state.acquire(), Acquired::Gone { ours: false }, "the entry has its owner already");
        assert!(!state.leave_reclaimable());
        assert!(state.collect(state.peek()));
        assert!(state.peek().is_empty());
        let state = State::with(Word::visible(2));
        assert!(state.unlink(), "nobody held it");
    }

    #[test]
    fn closing_tells_the_last_holder() {
        let state = State::with(Word::visible_referenced(1));
        assert!(state.acquire_more());
        assert_eq!(state.close().references(), 2);
        assert_eq!(state.release(), Released::Done);
        assert_eq!(state.release_unused(), Released::Last { closed: true });
        let state = State::with(Word::standalone());
        assert_eq!(state.release(), Released::Last { closed: false });
    }

    #[test]
    fn ageing_fails_when_the_entry_was_used_meanwhile() {
        let state = State::with(Word::visible(3));
        let seen = state.peek();
        assert_eq!(state.acquire(), Acquired::Reference);
        assert!(!state.age(seen, 2) && !state.claim(seen));
        assert_eq!(state.release(), Released::Done);
        assert!(state.age(state.peek(), 2));
        assert_eq!(state.peek(), Word::visible(2));
        assert_eq!(state.peek().policy_bits(), 0);
    }

    #[test]
    fn counts_are_lowered_long_before_they_overflow() {
        let state = State::with(Word::visible(0));
        for _ in 0..1_u64 << 25 {
            assert_eq!(state.acquire(), Acquired::Reference);
            assert_eq!(state.release(), Released::Done);
        }
        assert!(state.peek().is_visible() && state.peek().references() == 0);
        assert!(state.peek().uses() >= REBASED, "a hot entry stays hot");
    }

    #[test]
    fn references_end_at_their_limit() {
        let state = State::with(Word::visible(0));
        let taken = (0..1_u64 << 25).filter(|_| state.acquire() == Acquired::Reference).count() as u64;
        assert_eq!(taken, Word::MAX_REFERENCES);
        assert_eq!(state.acquire(), Acquired::Saturated);
        assert!(!state.acquire_more());
        assert_eq!(state.peek().references(), Word::MAX_REFERENCES);
        for _ in 0..taken {
            assert_eq!(state.release(), Released::Done);
        }
        assert_eq!((state.peek().references(), state.acquire()), (0, Acquired::Reference));
    }

    #[test]
    fn words_print_their_state() {
        assert_eq!(format!("{:?}", Word::visible_referenced(2)), "visible(references 1, uses 2)");
        assert_eq!(format!("{:?}", Word(0)), "empty(references 0, uses 0)");
        assert_eq!(format!("{:?}", Word(ENTRY | CLOSED)), "erased(references 0, uses 0, closed)");
    }
}
