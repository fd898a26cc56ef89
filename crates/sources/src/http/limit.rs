//! How many requests may be under way at once.
//!
//! In: a number. Out: that many permits; a caller that finds none waits for one, up to a deadline.

use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::Instant;

pub(super) struct Limit {
    left: Mutex<usize>,
    returned: Condvar,
}

/// Leave to do something; it is given back when this is dropped.
pub(super) struct Permit(Arc<Limit>);

impl Limit {
    pub(super) fn new(most: usize) -> Arc<Limit> {
        Arc::new(Limit { left: Mutex::new(most), returned: Condvar::new() })
    }

    /// A permit; `None` where there is none until `ends`.
    pub(super) fn acquire(self: &Arc<Limit>, ends: Instant) -> Option<Permit> {
        let mut left = self.left.lock().unwrap_or_else(PoisonError::into_inner);
        while *left == 0 {
            let time = ends.checked_duration_since(Instant::now()).filter(|t| !t.is_zero())?;
            left = self.returned.wait_timeout(left, time).unwrap_or_else(PoisonError::into_inner).0;
        }
        *left -= 1;
        Some(Permit(self.clone()))
    }
}

impl Drop for Permit {
    fn drop(&mut self) {
        *self.0.left.lock().unwrap_or_else(PoisonError::into_inner) += 1;
        self.0.returned.notify_one();
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn a_permit_that_is_given_back_can_be_had_again() {
        let limit = Limit::new(1);
        let soon = || Instant::now() + Duration::from_millis(1);
        let first = limit.acquire(soon());
        assert!(first.is_some() && limit.acquire(soon()).is_none());
        drop(first);
        assert!(limit.acquire(soon()).is_some());
    }
}
