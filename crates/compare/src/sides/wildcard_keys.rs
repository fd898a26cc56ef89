//! Labels and annotations of which a wildcard in the key of a pattern matches one at most.
//!
//! In: two sides. Out: the wildcards of their patterns, and whether an object has two keys that one
//! of them matches. Kyverno reads one of these, whichever it meets first, so a pattern has no
//! verdict of its own on such objects (`validate.md`, section 8). Where a side is taken [with one
//! key](crate::Side::with_one_key), they are left out, and a proof is relative to that.

use std::collections::BTreeMap;

use ephor_analysis::reads::Step;
use ephor_analysis::tree::{Node, Tree};
use ephor_ir::Policy;
use ephor_value::wildcard::{Wildcard, has_wildcard};
use ephor_value::{Map, Value};

use crate::predicates::summary::list;

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
        for rule in policy.all_rules() {
            if let Some(Tree::Node(node)) = Tree::of(&**rule) {
                found.add(&node);
            }
        }
        found
    }

    /// Adds others.
    pub fn merge(&mut self, other: AmbiguousWildcardKeys) {
        self.0.extend(other.0);
    }

    fn add(&mut self, node: &Node) {
        let field = FIELDS.iter().find(|field| (node.kind, node.text("key")) == ("Entry", Some(*field)));
        if let Some(field) = field {
            let map = node.get("shape").and_then(Tree::as_node).and_then(|shape| shape.get(""));
            for entry in list(map.and_then(Tree::as_node).and_then(|map| map.get("entries"))) {
                let Some(entry) = entry.as_node() else { continue };
                // A key that must not be there is one of all that match.
                let is_all = entry.get("anchor").and_then(Tree::as_node).is_some_and(is_negation);
                if let Some(key) = entry.text("key").filter(|key| !is_all && has_wildcard(key)) {
                    self.0.insert((*field, key.to_string()), Wildcard::new(key));
                }
            }
        }
        node.fields.iter().for_each(|(_, below)| self.add_below(below));
    }

    fn add_below(&mut self, tree: &Tree) {
        match tree {
            Tree::Node(node) => self.add(node),
            Tree::List(items) => items.iter().for_each(|item| self.add_below(item)),
            Tree::None | Tree::Scalar(_) | Tree::Text(_) | Tree::Map(_) => {}
        }
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

fn is_negation(anchor: &Node) -> bool {
    anchor.variant == "negation"
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
