//! Evaluating constraints.
//!
//! In: constraints and the [`Attributes`] of a request. Out: the resource under which the request
//! is accepted, if it is. The semantics' source is `docs/semantics/admission.md`, "Matching".

use std::sync::OnceLock;

use ephor_ir::constraints::{AnyOf, Constraints, ResourcePath, ResourceRule, Scope};
use ephor_ir::matcher::Selector;
use ephor_kubernetes::{Kinds, Resource};
use ephor_value::{Map, Str, Value};

use super::Target;
use super::filter::selects;

/// What a request of the Kubernetes API says about itself.
#[derive(Clone, Debug, Default)]
pub struct Attributes {
    /// API group, empty for the core group.
    pub group: Str,
    /// API version.
    pub version: Str,
    /// The resource, `pods`.
    pub resource: Str,
    /// The subresource, empty for none.
    pub subresource: Str,
    /// Group, version and kind of the objects sent.
    pub kind: [Str; 3],
    /// The name, empty when it is to be generated.
    pub name: Str,
    /// The namespace; of a namespace its own name.
    pub namespace: Str,
    /// `CREATE`, `UPDATE`, `DELETE` or `CONNECT`.
    pub operation: Str,
    /// Labels of the new object; `None` when there is none.
    pub labels: Option<Map>,
    /// Labels of the former object; `None` when there is none.
    pub old_labels: Option<Map>,
}

/// The resource under which a request is accepted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Accepted {
    /// Group, version and name of the resource.
    pub resource: [Str; 3],
    /// Group, version and kind.
    pub kind: [Str; 3],
}

impl Attributes {
    /// Those of a target. Kinds that the table does not know get the plural that kinds have as a
    /// rule.
    pub fn of(target: &Target, kinds: &Kinds) -> Attributes {
        let (group, version, kind) = (&target.group, &target.version, &target.kind);
        let known = kinds.kind(group, version, kind);
        let is_namespace = is_namespaces(group, &target.kind, "Namespace");
        let deleting = &*target.operation == "DELETE";
        Attributes {
            group: group.clone(),
            version: version.clone(),
            resource: match known {
                Some(r) => r.plural.clone(),
                None => kinds.plural_of(group, version, kind).into(),
            },
            subresource: target.subresource.clone(),
            kind: known
                .and_then(|r| r.kind_of(&target.subresource))
                .unwrap_or_else(|| [group.clone(), version.clone(), kind.clone()]),
            name: target.name.clone(),
            namespace: if is_namespace { target.name.clone() } else { target.namespace.clone() },
            operation: target.operation.clone(),
            labels: (target.exists && !deleting).then(|| target.labels.clone()),
            old_labels: match deleting {
                true => target.exists.then(|| target.labels.clone()),
                false => target.old_labels.clone(),
            },
        }
    }

    fn is_namespace(&self) -> bool {
        &*self.version == "v1" && is_namespaces(&self.group, &self.resource, "namespaces")
    }

    /// Whether the labels that namespace selectors read are the new object's own.
    fn brings_namespace_labels(&self) -> bool {
        &*self.resource == "namespaces"
            && self.subresource.is_empty()
            && matches!(&*self.operation, "CREATE" | "UPDATE")
    }
}

fn is_namespaces(group: &str, have: &str, name: &str) -> bool {
    group.is_empty() && have == name
}

/// What constraints read of a target, computed when the first of them needs it. A copy of a target,
/// which may be changed, computes its own.
#[derive(Debug, Default)]
pub struct CachedAttributes(OnceLock<(Attributes, Map)>);

impl Clone for CachedAttributes {
    fn clone(&self) -> CachedAttributes {
        CachedAttributes::default()
    }
}

impl CachedAttributes {
    /// The attributes of a target and the labels of its namespace.
    fn of<'s>(&'s self, target: &Target) -> &'s (Attributes, Map) {
        self.0.get_or_init(|| {
            let labels = if target.namespace_known {
                target.namespace_labels.clone()
            } else {
                let mut named = Map::new();
                named.insert("kubernetes.io/metadata.name", Value::Str(target.namespace.clone()));
                named
            };
            (Attributes::of(target, target.kinds()), labels)
        })
    }
}

/// Whether the constraints accept a target.
pub fn accepts_target(c: &Constraints, target: &Target) -> bool {
    let (attributes, labels) = target.seen.of(target);
    match target.unknown.namespace_test() {
        None => matches!(found(c, attributes, target.kinds(), || Ok::<_, ()>(labels)), Ok(Some(_))),
        Some(assumed) => {
            found(c, attributes, target.kinds(), || Err(())).map_or(assumed, |found| found.is_some())
        }
    }
}

/// The resource of a target that constraints are matched with.
pub fn resource_of(target: &Target) -> &Str {
    &target.seen.of(target).0.resource
}

/// The resources that constraints name; `None` where they accept others.
pub fn resources_of(c: &Constraints) -> Option<Vec<Str>> {
    if c.rules.is_empty() {
        return None;
    }
    let paths = c.rules.iter().flat_map(|rule| &rule.resources);
    let mut all = paths.map(|path| path.resource.clone()).collect::<Option<Vec<Str>>>()?;
    all.sort_unstable();
    all.dedup();
    Some(all)
}

/// The names of the kinds whose requests the constraints can accept; `None` when they are unknown.
pub fn kinds_of(c: &Constraints, kinds: &Kinds) -> Option<Vec<Str>> {
    if c.rules.is_empty() {
        return None;
    }
    let mut found = Vec::new();
    for rule in &c.rules {
        let AnyOf::These(groups) = &rule.groups else { return None };
        for path in &rule.resources {
            let plural = path.resource.as_ref()?;
            for group in groups {
                let known = found.len();
                found.extend(kinds.plural(plural).filter(|r| r.group == *group).map(|r| r.kind.clone()));
                if found.len() == known {
                    return None;
                }
            }
        }
    }
    found.sort_unstable();
    found.dedup();
    Some(found)
}

/// Whether the constraints accept a request, and under which resource. The labels of its namespace
/// are looked up when a selector needs them.
///
/// # Errors
/// The labels cannot be had, and only they could keep the request from being accepted.
pub fn accepts<'l, E>(
    c: &Constraints,
    a: &Attributes,
    kinds: &Kinds,
    namespace_labels: impl FnOnce() -> Result<&'l Map, E>,
) -> Result<Option<Accepted>, E> {
    let accepted = |other: Option<&Resource>| match other {
        None => Some(itself(a)),
        Some(other) => Some(Accepted {
            resource: [other.group.clone(), other.version.clone(), other.plural.clone()],
            kind: other.kind_of(&a.subresource)?,
        }),
    };
    Ok(found(c, a, kinds, namespace_labels)?.and_then(accepted))
}

/// The result of [`accepts`], without building it: `Some(None)` is the request's own resource.
fn found<'l, 'k, E>(
    c: &Constraints,
    a: &Attributes,
    kinds: &'k Kinds,
    namespace_labels: impl FnOnce() -> Result<&'l Map, E>,
) -> Result<Option<Option<&'k Resource>>, E> {
    let mut failed = None;
    match namespace_accepts(c, a, namespace_labels) {
        Ok(true) => {}
        Ok(false) => return Ok(None),
        Err(e) => failed = Some(e),
    }
    if !object_accepts(c, a) || matching(&c.exclude, a, kinds, c.equivalent).is_some() {
        return Ok(None);
    }
    let found = match c.rules.is_empty() {
        true => Some(None),
        false => matching(&c.rules, a, kinds, c.equivalent),
    };
    match (found, failed) {
        (Some(_), Some(e)) => Err(e),
        (found, _) => Ok(found),
    }
}

fn namespace_accepts<'l, E>(
    c: &Constraints,
    a: &Attributes,
    namespace_labels: impl FnOnce() -> Result<&'l Map, E>,
) -> Result<bool, E> {
    let Some(selector) = c.namespace_selector.as_ref().filter(|s| !s.is_empty()) else { return Ok(true) };
    match NamespaceLabels::of(a) {
        NamespaceLabels::Own(labels) => Ok(labels.is_some_and(|labels| selects(selector, labels))),
        NamespaceLabels::None => Ok(true),
        NamespaceLabels::OfNamespace => namespace_labels().map(|labels| selects(selector, labels)),
    }
}

/// The labels that namespace selectors read for a request.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum NamespaceLabels<'a> {
    /// Those of the namespace that the request brings, if it has an object.
    Own(Option<&'a Map>),
    /// None: such selectors accept what is in no namespace.
    None,
    /// Those of the namespace that the request is in.
    OfNamespace,
}

impl NamespaceLabels<'_> {
    /// Those for the request with these attributes.
    pub fn of(a: &Attributes) -> NamespaceLabels<'_> {
        if a.brings_namespace_labels() {
            NamespaceLabels::Own(a.labels.as_ref())
        } else if a.namespace.is_empty() && &*a.resource != "namespaces" {
            NamespaceLabels::None
        } else {
            NamespaceLabels::OfNamespace
        }
    }
}

fn itself(a: &Attributes) -> Accepted {
    Accepted { resource: [a.group.clone(), a.version.clone(), a.resource.clone()], kind: a.kind.clone() }
}

/// Whether the object selector selects one of the objects.
fn object_accepts(c: &Constraints, a: &Attributes) -> bool {
    let on_object = |labels: &Option<Map>| match (&c.object_selector, labels) {
        (Some(selector), Some(labels)) => selects(selector, labels),
        _ => false,
    };
    let selects = c.object_selector.as_ref().is_some_and(|s| !s.is_empty());
    !selects || on_object(&a.labels) || on_object(&a.old_labels)
}

/// The resource under which some rule accepts the request, its own before equivalent ones;
/// `Some(None)` is its own.
fn matching<'k>(
    rules: &[ResourceRule],
    a: &Attributes,
    kinds: &'k Kinds,
    equivalent: bool,
) -> Option<Option<&'k Resource>> {
    if rules.iter().any(|r| rule_accepts(r, a, &a.group, &a.version, &a.resource)) {
        return Some(None);
    }
    if rules.is_empty() || !equivalent {
        return None;
    }
    let own = kinds.resource(&a.group, &a.version, &a.resource)?;
    rules.iter().find_map(|rule| {
        let fits = |r: &&Resource| rule_accepts(rule, a, &r.group, &r.version, &r.plural);
        let other = kinds.equivalents(own).filter(|r| r.kind_of(&a.subresource).is_some()).find(fits)?;
        Some(Some(other))
    })
}

fn rule_accepts(rule: &ResourceRule, a: &Attributes, group: &str, version: &str, resource: &str) -> bool {
    scope_accepts(rule, a)
        && rule.operations.has(&a.operation)
        && rule.groups.has(group)
        && rule.versions.has(version)
        && rule.resources.iter().any(|path| path_accepts(path, resource, &a.subresource))
        && (rule.names.is_empty() || rule.names.contains(&a.name))
}

/// Which part of constraints leaves a request out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Mismatch {
    /// The labels of the namespace.
    Namespace,
    /// The labels of the object.
    Object,
    /// An exclusion.
    Excluded,
    /// No rule accepts; for each rule what of the request it does not take.
    Rules(Vec<Vec<&'static str>>),
}

impl std::fmt::Display for Mismatch {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Mismatch::Namespace => f.write_str("its namespaceSelector does not select the namespace"),
            Mismatch::Object => {
                f.write_str("its objectSelector selects neither the object nor the former one")
            }
            Mismatch::Excluded => f.write_str("the request is excluded"),
            Mismatch::Rules(rules) => {
                f.write_str("no rule is for the request's ")?;
                let texts: Vec<String> = rules.iter().map(|parts| parts.join(", ")).collect();
                match &texts[..] {
                    [one] => f.write_str(one),
                    many if many.iter().all(|t| Some(t) == many.first()) => {
                        f.write_str(many.first().map_or("", |t| t))
                    }
                    many => f.write_str(&many.join("; nor, another rule, its ")),
                }
            }
        }
    }
}

/// Which part leaves a request out that [`accepts`] does not accept.
pub fn mismatch(c: &Constraints, a: &Attributes, namespace_labels: &Map) -> Mismatch {
    if !matches!(namespace_accepts(c, a, || Ok::<_, ()>(namespace_labels)), Ok(true)) {
        return Mismatch::Namespace;
    }
    let selected = |selector: &Selector| {
        [&a.labels, &a.old_labels].into_iter().flatten().any(|labels| selects(selector, labels))
    };
    if c.object_selector.as_ref().is_some_and(|s| !s.is_empty() && !selected(s)) {
        return Mismatch::Object;
    }
    let failures = |rule: &ResourceRule| {
        let on = |ok: bool, name: &'static str| (!ok).then_some(name);
        let own = |path: &ResourcePath| path_accepts(path, &a.resource, &a.subresource);
        [
            on(rule.operations.has(&a.operation), "operation"),
            on(rule.groups.has(&a.group), "group"),
            on(rule.versions.has(&a.version), "version"),
            on(rule.resources.iter().any(own), "resource"),
            on(scope_accepts(rule, a), "scope"),
            on(rule.names.is_empty() || rule.names.contains(&a.name), "name"),
        ]
        .into_iter()
        .flatten()
        .collect::<Vec<_>>()
    };
    let rules: Vec<Vec<&'static str>> = c.rules.iter().map(failures).collect();
    if rules.is_empty() || rules.iter().any(Vec::is_empty) {
        Mismatch::Excluded
    } else {
        Mismatch::Rules(rules)
    }
}

fn scope_accepts(rule: &ResourceRule, a: &Attributes) -> bool {
    let in_namespace = !a.namespace.is_empty() && !a.is_namespace();
    match &rule.scope {
        Scope::All => true,
        Scope::Namespaced => in_namespace,
        Scope::Cluster => !in_namespace,
        Scope::Unknown(_) => false,
    }
}

fn path_accepts(path: &ResourcePath, resource: &str, subresource: &str) -> bool {
    path.resource.as_ref().is_none_or(|r| **r == *resource)
        && path.subresource.as_ref().is_none_or(|s| **s == *subresource)
}
