//! Kinds and operations → the rules of a webhook.
//!
//! Rules are built from a set of entries, one operation on one resource each. What a wider entry
//! covers is dropped; entries of one group, version and scope become rules whose resources have the
//! same operations.

use std::collections::{BTreeMap, BTreeSet};

use ephor_kubernetes::Kinds;
use ephor_kubernetes::kinds::guessed_plural;
use ephor_matching::kinds::{KindSelector, parse};
use ephor_value::Value;
use ephor_value::wildcard::matches;

use super::draft::texts;

/// An operation on a resource.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Entry {
    /// API group, or `*`.
    pub group: String,
    /// API version, or `*`.
    pub version: String,
    /// The resource, or `*`.
    pub resource: String,
    /// The subresource, `*` for all, empty for none.
    pub subresource: String,
    /// `Namespaced` or `*`.
    pub scope: &'static str,
    /// The operation.
    pub operation: String,
}

impl Entry {
    /// The resource as rules write it.
    fn path(&self) -> String {
        match &*self.subresource {
            "" => self.resource.clone(),
            sub => format!("{}/{sub}", self.resource),
        }
    }

    /// Whether a rule for this entry also sends what a rule for the other one does.
    fn covers(&self, other: &Entry) -> bool {
        let wide = |own: &str, other: &str| own == "*" || own == other;
        self.operation == other.operation
            && wide(self.scope, other.scope)
            && wide(&self.group, &other.group)
            && wide(&self.version, &other.version)
            && wide(&self.resource, &other.resource)
            && wide(&self.subresource, &other.subresource)
    }
}

/// The entries of a kind selector; `None` when the kind is unknown.
pub(super) fn entries(
    kind: &str,
    operations: &BTreeSet<String>,
    namespaced: bool,
    kinds: &Kinds,
) -> Option<Vec<Entry>> {
    let wanted = parse(kind);
    let mut found = Vec::new();
    let mut add = |group: &str, version: &str, resource: &str, subresource: &str, scope: &'static str| {
        for operation in operations {
            found.push(Entry {
                group: group.into(),
                version: version.into(),
                resource: resource.into(),
                subresource: subresource.into(),
                scope,
                operation: operation.clone(),
            });
        }
    };
    if wanted.kind == "*" {
        let scope = if namespaced { "Namespaced" } else { "*" };
        // Rules know no patterns but the star.
        let star = |part: &str| if part.contains(['*', '?']) { "*" } else { part }.to_string();
        let (group, version, sub) = (star(&wanted.group), star(&wanted.version), star(&wanted.subresource));
        add(&group, &version, "*", &sub, scope);
        return Some(found);
    }
    for r in known(&wanted, kinds) {
        let scope = if r.namespaced { "Namespaced" } else { "*" };
        if matches(&wanted.subresource, "") {
            add(&r.group, &r.version, &r.plural, "", scope);
        }
        for sub in r.subresources.iter().filter(|s| matches(&wanted.subresource, &s.name)) {
            add(&r.group, &r.version, &r.plural, &sub.name, scope);
        }
    }
    let is_unknown = known(&wanted, kinds).next().is_none();
    if is_unknown {
        let is_plain = |part: &str| !part.is_empty() && !part.contains(['*', '?']);
        if is_plain(&wanted.group) && is_plain(&wanted.kind) && !wanted.subresource.contains('?') {
            let version = if is_plain(&wanted.version) { &wanted.version } else { "*" };
            add(&wanted.group, version, &guessed_plural(&wanted.kind), &wanted.subresource, "*");
        }
    }
    (!found.is_empty()).then_some(found)
}

/// Whether a kind is known.
pub(super) fn is_known(kind: &str, kinds: &Kinds) -> bool {
    let wanted = parse(kind);
    wanted.kind == "*" || known(&wanted, kinds).next().is_some()
}

fn known<'k>(
    wanted: &'k KindSelector,
    kinds: &'k Kinds,
) -> impl Iterator<Item = &'k ephor_kubernetes::Resource> {
    kinds.all().iter().filter(|r| {
        matches(&wanted.kind, &r.kind)
            && matches(&wanted.group, &r.group)
            && matches(&wanted.version, &r.version)
    })
}

/// The rules of a webhook that is to be called for the entries.
pub fn rules(entries: &BTreeSet<Entry>) -> Vec<Value> {
    let all: Vec<&Entry> = entries.iter().collect();
    let widest = all.iter().filter(|e| !all.iter().any(|other| other != *e && other.covers(e)));
    // Group, version and scope; then resource; then operations.
    let mut grouped: BTreeMap<(&str, &str, &str), BTreeMap<String, BTreeSet<&str>>> = BTreeMap::new();
    for e in widest {
        let resources = grouped.entry((&e.group, &e.version, e.scope)).or_default();
        resources.entry(e.path()).or_default().insert(&e.operation);
        let core = matches!(&*e.group, "" | "*") && matches!(&*e.version, "v1" | "*");
        if core && e.subresource.is_empty() && matches!(&*e.resource, "pods" | "*") {
            resources.entry("pods/ephemeralcontainers".into()).or_default().insert(&e.operation);
        }
    }
    let mut rules: BTreeSet<Listed> = BTreeSet::new();
    for ((group, version, scope), resources) in grouped {
        let mut by_operations: BTreeMap<Vec<&str>, Vec<String>> = BTreeMap::new();
        for (resource, operations) in resources {
            by_operations.entry(operations.into_iter().collect()).or_default().push(resource);
        }
        for (operations, resources) in by_operations {
            let operations = operations.into_iter().map(String::from).collect();
            rules.insert([
                vec![group.into()],
                vec![version.into()],
                resources,
                operations,
                vec![scope.into()],
            ]);
        }
    }
    in_order(rules)
}

/// The lists of a rule: groups, versions, resources, operations, scope.
pub(super) type Listed = [Vec<String>; 5];

/// Rules in the order that configurations have: shorter lists come first.
pub(super) fn in_order(rules: BTreeSet<Listed>) -> Vec<Value> {
    let mut rules: Vec<Listed> = rules.into_iter().collect();
    rules.sort_by_key(|rule| rule.clone().map(|list| (list.len(), list)));
    rules.iter().map(written).collect()
}

fn written([groups, versions, resources, operations, scope]: &Listed) -> Value {
    let list = |all: &[String]| texts(all.iter().map(String::as_str));
    Value::map([
        ("apiGroups", list(groups)),
        ("apiVersions", list(versions)),
        ("resources", list(resources)),
        ("operations", list(operations)),
        ("scope", scope.first().map_or("*", String::as_str).into()),
    ])
}
