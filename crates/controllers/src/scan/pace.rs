//! A limit of how much is done in a second.

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Spaces work evenly; work that pauses may catch up for a second.
#[derive(Debug)]
pub struct Pace {
    each: Duration,
    next: Mutex<Option<Instant>>,
}

impl Pace {
    /// So much work in a second.
    pub fn per_second(most: u32) -> Pace {
        Pace { each: Duration::from_secs(1) / most.max(1), next: Mutex::new(None) }
    }

    /// How long the next piece of work has to wait.
    pub fn turn(&self, now: Instant) -> Duration {
        let mut next = self.next.lock().unwrap_or_else(PoisonError::into_inner);
        let earliest = now.checked_sub(Duration::from_secs(1)).unwrap_or(now);
        let at = next.map_or(earliest, |next| next.max(earliest));
        *next = Some(at + self.each);
        at.saturating_duration_since(now)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn after_a_second_s_worth_of_work_each_piece_waits_for_its_turn() {
        let (pace, now) = (Pace::per_second(10), Instant::now());
        let turns: Vec<u128> = (0..13).map(|_| pace.turn(now).as_millis()).collect();
        assert_eq!(turns, [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 100, 200]);
        let later = now + Duration::from_secs(5);
        assert_eq!(pace.turn(later), Duration::ZERO);
    }
}
