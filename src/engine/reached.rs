//! Which pieces of rules an evaluation reaches: conditions that were asked, leaves of patterns that were
//! compared.
//!
//! A piece is known by its address, which stays the same while its policy lives. Nothing is noted
//! unless somebody records, and then only on the thread that does.

use std::cell::RefCell;
use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};

/// How many recordings are under way.
static RECORDING: AtomicUsize = AtomicUsize::new(0);

thread_local! {
    static HITS: RefCell<HashMap<usize, u64>> = RefCell::new(HashMap::new());
}

/// How often pieces were reached, by address.
#[derive(Clone, Debug, Default)]
pub struct Hits(HashMap<usize, u64>);

impl Hits {
    /// How often a piece was reached.
    pub fn of<T>(&self, piece: &T) -> u64 {
        self.0.get(&address(piece)).copied().unwrap_or(0)
    }

    /// Adds those of another recording.
    pub fn add(&mut self, other: Hits) {
        for (piece, n) in other.0 {
            let sum = self.0.entry(piece).or_default();
            *sum = sum.saturating_add(n);
        }
    }
}

fn address<T>(piece: &T) -> usize {
    std::ptr::from_ref(piece).addr()
}

/// Notes that a piece was reached.
#[inline]
pub fn note<T>(piece: &T) {
    if RECORDING.load(Ordering::Relaxed) != 0 {
        HITS.with_borrow_mut(|hits| {
            let n = hits.entry(address(piece)).or_default();
            *n = n.saturating_add(1);
        });
    }
}

/// Runs something that stays on this thread, and says what it reached.
pub fn record<R>(run: impl FnOnce() -> R) -> (R, Hits) {
    HITS.with_borrow_mut(HashMap::clear);
    RECORDING.fetch_add(1, Ordering::Relaxed);
    let result = run();
    RECORDING.fetch_sub(1, Ordering::Relaxed);
    (result, Hits(HITS.with_borrow_mut(std::mem::take)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_reached_while_recording_counts() {
        let (a, b) = (Box::new(1), Box::new(2));
        note(&*a);
        let ((), hits) = record(|| {
            note(&*b);
            note(&*b);
        });
        assert_eq!((hits.of(&*a), hits.of(&*b)), (0, 2));
    }
}
