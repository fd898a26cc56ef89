//! Evaluating matchers.
//!
//! The semantics' source is `docs/semantics/policies.md`, "Matching".

use ephor_ir::matcher::{Filter, KindPattern, Matcher, Requirement, Selector, SetOperator, Subject};
use ephor_value::wildcard::{self, Wildcard};
use ephor_value::{Map, Str, Value};

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
    unmet(f, t, mode).is_none()
}

/// An attribute of a filter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Attribute {
    /// None is written.
    Nothing,
    /// `operations`
    Operations,
    /// `kinds`
    Kinds,
    /// `name`
    Name,
    /// `names`
    Names,
    /// `namespaces`
    Namespaces,
    /// `annotations`
    Annotations,
    /// `selector`
    Selector,
    /// `namespaceSelector`
    NamespaceSelector,
    /// `roles`
    Roles,
    /// `clusterRoles`
    ClusterRoles,
    /// `subjects`
    Subjects,
}

/// The first attribute of a filter that does not accept the target; `None` = all do.
pub fn unmet(f: &Filter, t: &Target, mode: Mode) -> Option<Attribute> {
    let test_user = f.has_user && (mode != Mode::Match || t.user.is_some());
    if !f.has_resource && !test_user {
        return Some(Attribute::Nothing);
    }
    if mode != Mode::Exception && !f.operations.is_empty() && !f.operations.contains(&t.operation) {
        return Some(Attribute::Operations);
    }
    if !(f.kinds.is_empty() || f.kinds.iter().any(|k| kind_accepts(k, t))) {
        return Some(Attribute::Kinds);
    }
    if !f.name.as_ref().is_none_or(|w| w.matches(&t.name)) {
        return Some(Attribute::Name);
    }
    if !(f.names.is_empty() || f.names.iter().any(|w| w.matches(&t.name))) {
        return Some(Attribute::Names);
    }
    if !(f.namespaces.is_empty() || f.namespaces.iter().any(|w| w.matches(t.namespace_or_own_name()))) {
        return Some(Attribute::Namespaces);
    }
    let has = |(k, v): &(Wildcard, Wildcard)| {
        let fits = |value: &Value| value.as_str().is_some_and(|value| v.matches(value));
        t.annotations.iter().any(|(key, value)| k.matches(key) && fits(value))
    };
    if !f.annotations.iter().all(has) {
        return Some(Attribute::Annotations);
    }
    if !f.selector.as_ref().is_none_or(|s| selects(s, &t.labels)) {
        return Some(Attribute::Selector);
    }
    let by_namespace = |s: &Selector| match (&*t.kind, mode) {
        ("Namespace", Mode::Exception) => true,
        ("Namespace", _) => false,
        _ => t.unknown.namespace_test().unwrap_or_else(|| selects(s, &t.namespace_labels)),
    };
    if !f.namespace_selector.as_ref().is_none_or(by_namespace) {
        return Some(Attribute::NamespaceSelector);
    }
    match &t.user {
        _ if !test_user => None,
        None => Some(Attribute::Subjects),
        Some(user) => unmet_user(f, user, t.unknown.roles_test()),
    }
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

/// The first user attribute that does not accept a user; `unknown_roles` is the answer of tests of
/// roles that are not known.
fn unmet_user(f: &Filter, u: &User, unknown_roles: Option<bool>) -> Option<Attribute> {
    let among = |wanted: &[Str], have: &[String]| {
        wanted.is_empty()
            || unknown_roles.unwrap_or_else(|| wanted.iter().any(|r| have.iter().any(|have| **have == **r)))
    };
    if !among(&f.roles, &u.roles) {
        return Some(Attribute::Roles);
    }
    if !among(&f.cluster_roles, &u.cluster_roles) {
        return Some(Attribute::ClusterRoles);
    }
    let by_subject = f.subjects.is_empty() || f.subjects.iter().any(|s| subject_accepts(s, u));
    (!by_subject).then_some(Attribute::Subjects)
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
