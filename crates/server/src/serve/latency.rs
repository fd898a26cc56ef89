//! Whether decisions are slow.
//!
//! In: the wall-clock time of each. Out: whether the next ones should run on threads of the pool. A
//! thread may be preempted while it decides, so one long decision proves nothing: slow are policies
//! whose decisions take long again and again, and those that wait on the network.

use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

/// A decision that takes longer is a long one.
const QUICK: Duration = Duration::from_millis(20);
/// Audit results that take no longer are evaluated at once.
const BRIEF: u32 = 50_000;
/// How many quick decisions make up for a long one.
const WEIGHT: u32 = 16;
/// From here on decisions are slow.
const SLOW: u32 = 3 * WEIGHT;
/// The largest strain: this many quick decisions in a row end a slow phase. With more it ends
/// later, and quick reviews pay for a change of threads; with less, chance ends it.
const MAX_STRAIN: u32 = 2 * SLOW;

/// See the module page.
#[derive(Debug)]
pub struct Latency {
    waits_on_network: bool,
    strain: AtomicU32,
    /// What audits took on the average of late, in nanoseconds.
    audits: AtomicU32,
}

impl Latency {
    /// Of policies; those that wait on the network are slow from the beginning.
    pub fn new(waits_on_network: bool) -> Latency {
        Latency { waits_on_network, strain: AtomicU32::new(0), audits: AtomicU32::new(u32::MAX) }
    }

    /// Whether decisions are slow.
    pub fn is_slow(&self) -> bool {
        self.waits_on_network || self.strain.load(Ordering::Relaxed) >= SLOW
    }

    /// Whether evaluating audit results takes less time than handing them to another thread.
    pub fn audits_are_brief(&self) -> bool {
        !self.is_slow() && self.audits.load(Ordering::Relaxed) <= BRIEF
    }

    /// Notes how long audit results took.
    pub fn note_audit(&self, took: Duration) {
        self.note(took);
        let took = u32::try_from(took.as_nanos()).unwrap_or(u32::MAX);
        let average = self.audits.load(Ordering::Relaxed);
        // Those that lose a race are not missed.
        self.audits.store(average - average / 8 + took / 8, Ordering::Relaxed);
    }

    /// Notes how long a decision took.
    pub fn note(&self, took: Duration) {
        let is_long = took > QUICK;
        if !is_long && self.strain.load(Ordering::Relaxed) == 0 {
            return;
        }
        let next = |strain: u32| {
            Some(if is_long { (strain + WEIGHT).min(MAX_STRAIN) } else { strain.saturating_sub(1) })
        };
        let _ = self.strain.fetch_update(Ordering::Relaxed, Ordering::Relaxed, next);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decisions_are_slow_when_they_take_long_again_and_again() {
        let (long, short) = (Duration::from_millis(21), Duration::from_millis(1));
        let latency = Latency::new(false);
        for _ in 0..10 {
            latency.note(long);
            (0..WEIGHT).for_each(|_| latency.note(short));
        }
        assert!(!latency.is_slow(), "one in seventeen is chance");
        (0..3).for_each(|_| latency.note(long));
        assert!(latency.is_slow());
        (0..MAX_STRAIN).for_each(|_| latency.note(short));
        assert!(!latency.is_slow(), "they became quick");
    }

    #[test]
    fn audits_are_brief_when_they_are_so_on_the_average() {
        let latency = Latency::new(false);
        assert!(!latency.audits_are_brief(), "nothing is known yet");
        (0..200).for_each(|_| latency.note_audit(Duration::from_micros(10)));
        assert!(latency.audits_are_brief());
        latency.note_audit(Duration::from_millis(10));
        assert!(!latency.audits_are_brief());
    }

    #[test]
    fn policies_that_wait_on_the_network_are_slow_however_quick_the_answers_are() {
        let latency = Latency::new(true);
        latency.note(Duration::ZERO);
        assert!(latency.is_slow());
    }
}
