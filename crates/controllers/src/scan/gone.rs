//! Results whose policies are gone, and since when.
//!
//! In: the results that a sweep finds without a policy. Out: which of them may be removed: those
//! that have been without one for a while. Replicas learn of a new policy one after the other, so a
//! result without a policy may be that of one which only another replica knows yet.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use ephor_value::Value;

/// How long results have to be without a policy. Replicas learn of a policy within a second or two;
/// for this long reports hold results of a policy that is gone.
pub const SETTLES: Duration = Duration::from_secs(5);

/// Source, policy and rule of a result, and the kind of its object.
type ResultGroup = [String; 4];

/// See the module page.
#[derive(Debug, Default)]
pub struct GoneResults {
    since: HashMap<ResultGroup, Instant>,
    /// Those that the sweep before this one found.
    before: HashMap<ResultGroup, Instant>,
}

fn group(entry: &Value, kind: &str) -> ResultGroup {
    let [source, policy, rule] = ["source", "policy", "rule"].map(|key| entry.text_at(&[key]).to_string());
    [source, policy, rule, kind.to_string()]
}

impl GoneResults {
    /// Begins a sweep. What it does not find is not gone any more.
    pub fn begin(&mut self) {
        self.before = std::mem::take(&mut self.since);
    }

    /// Takes note of a result without a policy, about an object of a kind. Returns whether it may
    /// be removed.
    pub fn note(&mut self, entry: &Value, kind: &str, now: Instant) -> bool {
        let group = group(entry, kind);
        let first = self.before.get(&group).copied().unwrap_or(now);
        let first = *self.since.entry(group).or_insert(first);
        now.duration_since(first) >= SETTLES
    }

    /// Whether a result may be removed, as noted before.
    pub fn may_go(&self, entry: &Value, kind: &str, now: Instant) -> bool {
        self.since.get(&group(entry, kind)).is_some_and(|first| now.duration_since(*first) >= SETTLES)
    }

    /// When there is something to remove that may not be removed yet: how long after `now`.
    pub fn wait(&self, now: Instant) -> Option<Duration> {
        let left = |first: &Instant| SETTLES.checked_sub(now.duration_since(*first)).filter(|d| !d.is_zero());
        self.since.values().filter_map(left).max()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reports::object;

    fn entry(policy: &str) -> Value {
        object([("source", "kyverno".into()), ("policy", policy.into()), ("rule", "r".into())])
    }

    #[test]
    fn a_result_goes_once_it_has_been_without_a_policy_for_a_while() {
        let (mut gone, start) = (GoneResults::default(), Instant::now());
        let later = start + SETTLES;
        gone.begin();
        assert!(!gone.note(&entry("p"), "Pod", start));
        assert_eq!(gone.wait(start), Some(SETTLES));
        gone.begin();
        assert!(gone.note(&entry("p"), "Pod", later) && gone.may_go(&entry("p"), "Pod", later));
        assert!(!gone.note(&entry("p"), "Secret", later), "new there");
        assert!(!gone.may_go(&entry("q"), "Pod", later));
    }

    #[test]
    fn a_policy_that_is_known_in_between_begins_anew() {
        let (mut gone, start) = (GoneResults::default(), Instant::now());
        gone.begin();
        gone.note(&entry("p"), "Pod", start);
        gone.begin();
        gone.begin();
        assert!(!gone.note(&entry("p"), "Pod", start + SETTLES));
        assert_eq!(gone.wait(start + SETTLES + SETTLES), None);
    }
}
