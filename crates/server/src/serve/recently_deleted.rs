//! Policies that were deleted a moment ago.
//!
//! In: the policies of the cluster, each time they are read. Out: those that were there and are not
//! any more: webhook configurations may still name them for a while, and a request must not be
//! denied because of that. A name that was never here is another matter: a replica that is late
//! must not allow what a new policy would deny.

use std::collections::{HashMap, HashSet};
use std::time::{Duration, Instant};

/// How long configurations may name a policy that is gone.
const NAMED: Duration = Duration::from_secs(30);

/// Kind and name of a policy, as paths name it.
pub type Named = (String, String);

/// See the module page.
#[derive(Debug, Default)]
pub struct RecentlyDeleted {
    present: HashSet<Named>,
    deleted: HashMap<Named, Instant>,
}

impl RecentlyDeleted {
    /// Takes note of the policies that there are; those that are gone.
    pub fn update(&mut self, present: HashSet<Named>, now: Instant) -> Vec<Named> {
        for name in self.present.difference(&present) {
            self.deleted.insert(name.clone(), now);
        }
        self.deleted.retain(|name, since| !present.contains(name) && now.duration_since(*since) < NAMED);
        self.present = present;
        self.deleted.keys().cloned().collect()
    }

    /// Whether configurations may still name one.
    pub fn any(&self) -> bool {
        !self.deleted.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(all: &[&str]) -> HashSet<Named> {
        all.iter().map(|name| ("ValidatingPolicy".to_string(), name.to_string())).collect()
    }

    #[test]
    fn a_policy_is_gone_for_a_while_after_it_was_deleted_and_not_when_it_is_back() {
        let (mut deleted, now) = (RecentlyDeleted::default(), Instant::now());
        assert!(deleted.update(names(&["a", "b"]), now).is_empty());
        assert_eq!(deleted.update(names(&["b"]), now), Vec::from_iter(names(&["a"])));
        assert_eq!(deleted.update(names(&["b"]), now), Vec::from_iter(names(&["a"])));
        assert!(deleted.update(names(&["a", "b"]), now).is_empty());
        deleted.update(names(&["b"]), now);
        assert!(deleted.update(names(&["b"]), now + NAMED).is_empty());
    }
}
