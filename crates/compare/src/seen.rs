//! How admission webhooks of a cluster see objects.
//!
//! In: the objects of a case. Out: the objects as an API server shows them to webhooks, or why it refuses them
//! (`kubernetes::admitted`).

use std::sync::Arc;

use crate::analysis::reads::{Reads, Tree};
use crate::kubernetes::admitted::{Reason, Refusal, admitted, completed_as_if_admitted, kind_of};
use crate::value::Value;
use crate::value::place::{PathPart, follow, parse};
use crate::value::wildcard::has_wildcard;

use super::environment::Environment;
use super::surroundings::Case;

/// How admission webhooks of a cluster see the objects of a case.
pub(crate) enum Seen {
    /// So.
    As(Case),
    /// An API server refuses them, and all that lack this field.
    Without(String),
    /// An API server refuses them, and all that have a text with wildcards there.
    NoPattern,
    /// An API server refuses them.
    Refused,
    /// Nothing is known of their kind.
    Unknown,
}

/// The case in which a pod has no ephemeral containers yet, in an environment in which these are added: nothing else changes.
pub(crate) fn before_ephemeral(environment: &Environment, case: &Case) -> Option<Case> {
    if &*environment.subresource != "ephemeralcontainers" {
        return None;
    }
    let mut spec = case.object.get("spec")?.as_map()?.clone();
    spec.remove("ephemeralContainers");
    Some(Case { object: case.object.with("spec", Value::Map(spec)), ..case.clone() })
}

pub(crate) fn seen_in_clusters(case: &Case) -> Seen {
    let mut seen = Vec::new();
    for object in std::iter::once(&case.object).chain(&case.old) {
        match kind_of(object).and_then(|kind| admitted(&kind, object)) {
            None => return Seen::Unknown,
            Some(Ok(object)) => seen.push(object),
            Some(Err(Refusal { reason: Reason::Required, path, .. })) if is_absent(object, &path) => {
                return Seen::Without(path);
            }
            Some(Err(Refusal { reason: Reason::Invalid, path, .. })) if is_pattern(object, &path) => {
                return Seen::NoPattern;
            }
            Some(Err(_)) => return Seen::Refused,
        }
    }
    let mut seen = seen.into_iter();
    match (seen.next(), seen.next()) {
        (Some(object), old) => Seen::As(Case { object, old, around: Arc::clone(&case.around) }),
        _ => Seen::Unknown,
    }
}

/// The case as webhooks would see it if an API server did not refuse the values in it: every object of the same classes that it
/// admits has the same fields.
pub(crate) fn as_if_admitted(case: &Case) -> Option<Case> {
    let completed = |object: &Value| completed_as_if_admitted(&kind_of(object)?, object);
    let old = match &case.old {
        Some(old) => Some(completed(old)?),
        None => None,
    };
    Some(Case { object: completed(&case.object)?, old, around: Arc::clone(&case.around) })
}

/// Whether the text at a path is one that rules may take for a pattern.
fn is_pattern(object: &Value, path: &str) -> bool {
    let path = parse(path);
    let (found, steps) = follow(object, &path);
    steps == path.len() && found.as_str().is_some_and(has_wildcard)
}

/// Whether there is nothing at a path; a field that is there may lack one of its own.
fn is_absent(object: &Value, path: &str) -> bool {
    let path = parse(path);
    let (found, steps) = follow(object, &path);
    steps < path.len() || found.is_empty()
}

/// Whether a field of the object is read, so that policies distinguish its absence.
pub(crate) fn is_read(reads: &Reads, field: &str) -> bool {
    fn of(tree: &Tree, path: &[PathPart]) -> bool {
        let Some((step, rest)) = path.split_first() else { return true };
        let below = match step {
            PathPart::Key(key) => tree.get(key),
            PathPart::Index(_) => tree.items.as_deref().or(tree.nested.as_deref()),
        };
        tree.whole || below.is_some_and(|below| of(below, rest))
    }
    let path = parse(field);
    [&reads.object, &reads.shown, &reads.old].into_iter().any(|tree| of(tree, &path))
}
