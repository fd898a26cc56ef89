//! Labels and annotations of which a wildcard in the key of a pattern matches one at most.
//!
//! In: two sides. Out: the wildcards of their patterns, and whether an object has two keys that one
//! of them matches. Kyverno reads one of these, whichever it meets first, so a pattern has no
//! verdict of its own on such objects (`validate.md`, section 8). Where a side is taken [with one
//! key](crate::Side::with_one_key), they are left out, and a proof is relative to that.

use std::collections::BTreeMap;

use ephor_analysis::reads::Step;
use ephor_ir::Policy;
use ephor_ir::parts::RulePart;
use ephor_ir::shape::{Anchor, Entry, Shape};
use ephor_value::wildcard::{Wildcard, has_wildcard};
use ephor_value::{Map, Value};

/// The fields whose keys patterns may name by wildcards.
const FIELDS: [&str; 2] = ["labels", "annotations"];

/// Deeper parts of objects are not looked into.
const MAX_DEPTH: usize = 64;

/// The wildcards of patterns, by the field whose keys they match.
#[derive(Debug, Default)]
pub(crate) struct AmbiguousWildcardKeys(BTreeMap<(&'static str, String), Wildcard>);

impl AmbiguousWildcardKeys {
    /// Those of policies.
    pub fn of<'p>(policies: impl Iterator<Item = &'p Policy>) -> AmbiguousWildcardKeys {
        let mut found = AmbiguousWildcardKeys::default();
        policies.for_each(|policy| found.merge(AmbiguousWildcardKeys::of_policy(policy)));
        found
    }

    /// Those of a policy.
    pub fn of_policy(policy: &Policy) -> AmbiguousWildcardKeys {
        let mut found = AmbiguousWildcardKeys::default();
        policy.all_rules().for_each(|rule| found.add(RulePart::Rule(rule)));
        found
    }

    /// Adds others.
    pub fn merge(&mut self, other: AmbiguousWildcardKeys) {
        self.0.extend(other.0);
    }

    fn add(&mut self, part: RulePart) {
        if let RulePart::Entry(Entry { key, shape: Shape::Map(map), .. }) = part
            && let Some(field) = FIELDS.iter().find(|field| ***field == **key)
        {
            // A key that must not be there is one of all that match.
            let entries = map.entries.iter().filter(|entry| entry.anchor != Anchor::Negation);
            for key in entries.map(|entry| &entry.key).filter(|key| has_wildcard(key)) {
                self.0.insert((*field, key.to_string()), Wildcard::new(key.clone()));
            }
        }
        part.parts(&mut |below| self.add(below));
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// What is assumed.
    pub fn texts(&self) -> impl Iterator<Item = String> {
        self.0.keys().map(|(field, key)| format!("no two {field} match `{key}`"))
    }

    /// Whether a map of labels or annotations at a place has two keys that one wildcard matches.
    pub fn has_two(&self, place: &[Step], map: &Map) -> bool {
        let [.., Step::Key(above), Step::Key(field)] = place else { return false };
        **above == *"metadata" && self.matches_two(field, map)
    }

    fn matches_two(&self, field: &str, map: &Map) -> bool {
        let matches = |wildcard: &Wildcard| map.iter().filter(|(key, _)| wildcard.matches(key)).count() > 1;
        self.0.iter().any(|((own, _), wildcard)| *own == field && matches(wildcard))
    }

    /// Whether an object has such a map anywhere.
    pub fn leaves_out(&self, object: &Value) -> bool {
        !self.0.is_empty() && self.is_in(object, 0)
    }

    fn is_in(&self, value: &Value, depth: usize) -> bool {
        match value {
            _ if depth > MAX_DEPTH => false,
            Value::Map(map) => map.iter().any(|(key, below)| {
                let metadata = Some(below).filter(|_| **key == *"metadata");
                let of_field = |field: &&str| {
                    let own = metadata.and_then(|metadata| metadata.get(field)).and_then(Value::as_map);
                    own.is_some_and(|map| self.matches_two(field, map))
                };
                FIELDS.iter().any(of_field) || self.is_in(below, depth + 1)
            }),
            Value::List(items) => items.iter().any(|item| self.is_in(item, depth + 1)),
            _ => false,
        }
    }
}

#[cfg(test)]
mod tests {

    use crate::compare_tests::{classic, side, yaml};

    #[test]
    fn objects_with_two_keys_that_a_wildcard_matches_are_left_out() {
        let policy =
            classic("Pod", "{message: m, pattern: {=(metadata): {=(annotations): {=(a.io/*): 'b'}}}}");
        let own = side(&policy).with_one_key();
        let keys = own.one_key();
        assert_eq!(keys.texts().collect::<Vec<_>>(), ["no two annotations match `a.io/*`"]);
        let has = |text: &str| keys.leaves_out(&yaml(text));
        assert!(has("{metadata: {annotations: {a.io/x: b, a.io/y: b}}}"));
        assert!(has("{spec: {template: {metadata: {annotations: {a.io/x: b, a.io/y: c}}}}}"));
        assert!(!has("{metadata: {annotations: {a.io/x: b, b.io/y: b}, labels: {a.io/x: b, a.io/y: b}}}"));
        assert!(side(&policy).one_key().is_empty());
    }
}
