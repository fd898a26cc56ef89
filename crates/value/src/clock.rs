//! The clock that everything reads which also runs in a browser.
//!
//! In: nothing. Out: moments for deadlines ([`now`]), and the time of the world ([`since_epoch`]).
//! The standard library has no clock on `wasm32-unknown-unknown` and panics there; `web-time` reads
//! that of the browser. Elsewhere the types are those of the standard library.

use std::sync::OnceLock;
use std::time::Duration;

#[cfg(not(all(target_arch = "wasm32", target_os = "unknown")))]
pub use std::time::Instant;
#[cfg(not(all(target_arch = "wasm32", target_os = "unknown")))]
use std::time::SystemTime;

#[cfg(all(target_arch = "wasm32", target_os = "unknown"))]
pub use web_time::Instant;
#[cfg(all(target_arch = "wasm32", target_os = "unknown"))]
use web_time::SystemTime;

/// The present moment, of a clock that never goes back.
#[inline]
pub fn now() -> Instant {
    Instant::now()
}

/// The moment that comes so much later; `None` when no clock gets there.
pub fn after(time: Duration) -> Option<Instant> {
    now().checked_add(time)
}

/// Whether a deadline is over; without one, never.
pub fn has_passed(deadline: Option<Instant>) -> bool {
    deadline.is_some_and(|end| now() >= end)
}

/// The time of the world that a run is given, and the moment when it was.
static GIVEN: OnceLock<Given> = OnceLock::new();

struct Given {
    time: Duration,
    at: Instant,
    stands: bool,
}

/// Chooses what [`since_epoch`] says from now on: this time, which stands or moves. Only the
/// first choice counts. For runs that are repeated as they were.
pub fn begin_at(time: Duration, stands: bool) {
    let _ = GIVEN.set(Given { time, at: now(), stands });
}

/// Whether the time of the world stands still.
pub fn stands() -> bool {
    GIVEN.get().is_some_and(|given| given.stands)
}

/// Time since the beginning of 1970 in UTC; zero for a machine whose clock is before that.
pub fn since_epoch() -> Duration {
    match GIVEN.get() {
        None => {}
        Some(given) if given.stands => return given.time,
        Some(given) => return given.time + given.at.elapsed(),
    }
    SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default()
}

/// The same in nanoseconds, as times of expressions count them.
pub fn unix_nanos() -> i128 {
    i128::try_from(since_epoch().as_nanos()).unwrap_or(i128::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn deadlines_pass() {
        assert!(!has_passed(None), "no deadline");
        assert!(has_passed(Some(now())));
        assert!(!has_passed(after(Duration::from_secs(3600))));
        assert_eq!(after(Duration::MAX), None);
    }

    #[test]
    fn the_time_of_the_world_is_after_this_was_written() {
        assert!(since_epoch() > Duration::from_secs(1_700_000_000));
        assert!(unix_nanos() > 1_700_000_000_000_000_000);
    }
}
