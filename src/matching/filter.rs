//! Evaluating matchers.
//!
//! The semantics' source is `docs/policies.md`, "Matching".

use crate::ir::matcher::{Filter, KindPattern, Matcher, Requirement, Selector, SetOperator, Subject};
use crate::value::wildcard;
use crate::value::{Map, Str};

use super::{Target, User};

/// The variants of the one set of rules.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// `match` of a rule: without user information the user attributes are dropped.
    Match,
    /// `exclude` of a rule.
    Exclude,
    /// `match` of an exception: operations do not count, namespaces pass namespace selectors.
    Exception,
}

/// Whether the matcher accepts the target.
pub fn accepts(matcher: &Matcher, target: &Target, mode: Mode) -> bool {
    match matcher {
        Matcher::Any(filters) => filters.iter().any(|f| filter_accepts(f, target, mode)),
        Matcher::All(filters) => {
            !filters.is_empty() && filters.iter().all(|f| filter_accepts(f, target, mode))
        }
        Matcher::Constraints(c) => super::constraints::accepts_target(c, target),
    }
}

fn filter_accepts(f: &Filter, t: &Target, mode: Mode) -> bool {
    let test_user = f.has_user && (mode != Mode::Match || t.user.is_some());
    if !f.has_resource && !test_user {
        return false;
    }
    if mode != Mode::Exception && !f.operations.is_empty() && !f.operations.contains(&t.operation) {
        return false;
    }
    (f.kinds.is_empty() || f.kinds.iter().any(|k| kind_accepts(k, t)))
        && f.name.as_ref().is_none_or(|w| w.matches(&t.name))
        && (f.names.is_empty() || f.names.iter().any(|w| w.matches(&t.name)))
        && (f.namespaces.is_empty() || {
            let ns = if &*t.kind == "Namespace" { &t.name } else { &t.namespace };
            f.namespaces.iter().any(|w| w.matches(ns))
        })
        && f.annotations.iter().all(|(k, v)| {
            t.annotations
                .iter()
                .any(|(key, value)| k.matches(key) && value.as_str().is_some_and(|value| v.matches(value)))
        })
        && f.selector.as_ref().is_none_or(|s| selects(s, &t.labels))
        && f.namespace_selector.as_ref().is_none_or(|s| match (&*t.kind, mode) {
            ("Namespace", Mode::Exception) => true,
            ("Namespace", _) => false,
            _ => t.unknown.namespace_test().unwrap_or_else(|| selects(s, &t.namespace_labels)),
        })
        && (!test_user || t.user.as_deref().is_some_and(|u| user_accepts(f, u, t.unknown.roles_test())))
}

/// Whether a kind selector accepts the target. Ephemeral containers of a pod count as the pod.
pub fn kind_accepts(k: &KindPattern, t: &Target) -> bool {
    if !(k.kind.matches(&t.kind) && k.version.matches(&t.version) && k.group.matches(&t.group)) {
        return false;
    }
    k.subresource.matches(&t.subresource)
        || (&*t.subresource == "ephemeralcontainers"
            && &*t.kind == "Pod"
            && &*t.version == "v1"
            && t.group.is_empty())
}

/// Whether the user attributes accept a user; `unknown_roles` is the answer of tests of roles that are not known.
fn user_accepts(f: &Filter, u: &User, unknown_roles: Option<bool>) -> bool {
    let among = |wanted: &[Str], have: &[String]| {
        wanted.is_empty()
            || unknown_roles.unwrap_or_else(|| wanted.iter().any(|r| have.iter().any(|have| **have == **r)))
    };
    among(&f.roles, &u.roles)
        && among(&f.cluster_roles, &u.cluster_roles)
        && (f.subjects.is_empty() || f.subjects.iter().any(|s| subject_accepts(s, u)))
}

fn subject_accepts(s: &Subject, u: &User) -> bool {
    match &*s.kind {
        "Group" => u.groups.iter().any(|g| s.name.matches(g)),
        "User" | "ServiceAccount" => s.name.matches(&u.name),
        _ => false,
    }
}

/// Whether the labels satisfy the selector.
pub fn selects(s: &Selector, labels: &Map) -> bool {
    s.valid
        && s.labels.iter().all(|(k, v)| {
            if s.wild && (wildcard::has_wildcard(k) || wildcard::has_wildcard(v)) {
                return labels.iter().any(|(key, value)| {
                    wildcard::matches(k, key) && value.as_str().is_some_and(|t| wildcard::matches(v, t))
                });
            }
            text(labels, k) == Some(v)
        })
        && s.expressions.iter().all(|r| requirement_holds(r, labels))
}

fn text<'m>(labels: &'m Map, key: &str) -> Option<&'m str> {
    labels.get(key)?.as_str()
}

fn requirement_holds(r: &Requirement, labels: &Map) -> bool {
    let found = text(labels, &r.key);
    let among = |v: &str| r.values.iter().any(|w| **w == *v);
    match r.operator {
        SetOperator::In => found.is_some_and(among),
        SetOperator::NotIn => !found.is_some_and(among),
        SetOperator::Exists => found.is_some(),
        SetOperator::DoesNotExist => found.is_none(),
    }
}
