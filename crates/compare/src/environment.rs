//! Environments: of which kind an object is, and what is done with it.
//!
//! In: both sides. Out: the kinds that rules of one of them select, times the operations. A kind
//! that neither names is in none: no rule applies to it.

use std::collections::BTreeSet;

use ephor_ir::constraints::{AnyOf, ResourcePath, ResourceRule};
use ephor_ir::matcher::{Filter, KindPattern, Matcher};
use ephor_kubernetes::admitted::kind_of;
use ephor_kubernetes::kinds::guessed_plural;
use ephor_kubernetes::{Kinds, Resource};
use ephor_value::wildcard::Wildcard;
use ephor_value::{Str, Value};

use super::side::Side;

/// The operations that are compared.
const OPERATIONS: [&str; 3] = ["CREATE", "UPDATE", "DELETE"];

/// More kinds are sampled: a rule for all kinds says the same of most of them.
const MOST_KINDS: usize = 128;

/// The kind of custom resources that rules do not name.
const CUSTOM: &str = "Widget";

/// Kinds that stand for all others where rules select every kind.
const TYPICAL: [&str; 4] = ["Pod", "Deployment", "ConfigMap", "ClusterRole"];

/// Of which kind an object is, and what is done with it.
#[derive(Clone, Debug)]
pub struct Environment {
    /// The resource that the request is sent to.
    pub resource: Resource,
    /// The subresource; empty for the resource itself.
    pub subresource: Str,
    /// Group, version and kind of the object that is sent.
    pub object: [Str; 3],
    /// The operation.
    pub operation: &'static str,
}

impl Environment {
    /// That of new namespaces.
    pub(crate) fn of_namespaces() -> Option<Environment> {
        let all = Kinds::built_in().all();
        let resource = all.iter().find(|r| &*r.kind == "Namespace" && r.group.is_empty())?;
        of_resource(resource).into_iter().next()
    }

    /// That of an object; `None` when it has no kind.
    pub(crate) fn of_object(object: &Value, operation: &'static str) -> Option<Environment> {
        let [group, version, kind] = kind_of(object)?;
        let all = Kinds::built_in().all();
        let known = all.iter().find(|r| r.kind == kind && r.group == group && r.version == version);
        let resource = known.cloned().unwrap_or_else(|| unknown(group, version, kind));
        of_resource(&resource).into_iter().find(|environment| environment.operation == operation)
    }

    /// API version of the object that is sent, as objects write it.
    pub fn api_version(&self) -> String {
        let [group, version, _] = &self.object;
        match &**group {
            "" => version.to_string(),
            group => format!("{group}/{version}"),
        }
    }

    /// `Pod CREATE`, `Pod/exec CONNECT`
    pub fn name(&self) -> String {
        let slash = if self.subresource.is_empty() { "" } else { "/" };
        format!("{}{slash}{} {}", self.resource.kind, self.subresource, self.operation)
    }

    /// An object of its kind that has a name and nothing else.
    pub(crate) fn bare_object(&self) -> Value {
        Value::map([
            ("apiVersion", Value::from(&*self.api_version())),
            ("kind", Value::Str(self.object[2].clone())),
            ("metadata", Value::map([("name", Value::from("a"))])),
        ])
    }

    /// Whether the object is a new one.
    pub(crate) fn is_creation(&self) -> bool {
        self.operation == "CREATE"
    }

    /// Whether the object that is sent is one of the resource.
    pub(crate) fn is_of_resource(&self) -> bool {
        let resource = &self.resource;
        self.object == [resource.group.clone(), resource.version.clone(), resource.kind.clone()]
    }

    /// Whether a kind of a filter selects it.
    pub(crate) fn is_selected(&self, kind: &KindPattern) -> bool {
        let resource = &self.resource;
        // Ephemeral containers of a Pod count as the Pod.
        let is_pod = &*self.subresource == "ephemeralcontainers";
        kind.kind.matches(&resource.kind)
            && kind.group.matches(&resource.group)
            && kind.version.matches(&resource.version)
            && (kind.subresource.matches(&self.subresource) || is_pod)
    }

    /// Whether a path of constraints selects it.
    pub(crate) fn is_selected_path(&self, path: &ResourcePath) -> bool {
        path.resource.as_ref().is_none_or(|plural| *plural == self.resource.plural)
            && path.subresource.as_ref().is_none_or(|one| *one == self.subresource)
    }

    fn is_selected_by(&self, rule: &ResourceRule) -> bool {
        rule.groups.has(&self.resource.group)
            && rule.versions.has(&self.resource.version)
            && rule.resources.iter().any(|path| self.is_selected_path(path))
    }

    /// Whether the constraints of a rule cannot select it.
    pub(crate) fn is_foreign(&self, rule: &ephor_ir::Rule) -> bool {
        match &rule.when {
            Matcher::Constraints(constraints) => !constraints.equivalent && !self.is_about(rule),
            _ => false,
        }
    }

    /// Whether a rule with these matchers may select it.
    pub(crate) fn is_about(&self, rule: &ephor_ir::Rule) -> bool {
        let bound = rule.bound.as_ref().and_then(|bound| bound.constraints.as_ref());
        let by = |constraints: &ephor_ir::constraints::Constraints| {
            constraints.rules.iter().any(|rule| self.is_selected_by(rule))
        };
        let by_when = match &rule.when {
            Matcher::Constraints(constraints) => by(constraints),
            other => other.filters().iter().any(|f| f.kinds.iter().any(|kind| self.is_selected(kind))),
        };
        by_when || bound.is_some_and(by)
    }
}

/// What is done with what is sent to a subresource.
fn operations_of(subresource: &str) -> &'static [&'static str] {
    match subresource {
        "" => &OPERATIONS,
        "exec" | "attach" | "portforward" | "proxy" => &["CONNECT"],
        "eviction" | "binding" | "token" => &["CREATE"],
        _ => &["UPDATE"],
    }
}

/// The environments of a resource: its own, and those of its subresources.
fn of_resource(resource: &Resource) -> Vec<Environment> {
    let own = [resource.group.clone(), resource.version.clone(), resource.kind.clone()];
    let mut subresources = vec![(Str::from(""), own)];
    subresources.extend(resource.subresources.iter().map(|s| (s.name.clone(), s.kind.clone())));
    let of = |(subresource, object): (Str, [Str; 3])| {
        operations_of(&subresource).iter().map(move |operation| Environment {
            resource: resource.clone(),
            subresource: subresource.clone(),
            object: object.clone(),
            operation,
        })
    };
    subresources.into_iter().flat_map(of).collect()
}

/// The environments of both sides, and why they may not be all.
pub(crate) fn environments(sides: [&Side; 2]) -> (Vec<Environment>, Option<String>) {
    let rules = || sides.into_iter().flat_map(Side::policies).flat_map(|policy| policy.all_rules());
    let mut why = unknown_subresource(sides);
    let is_selected = |environment: &Environment| rules().any(|rule| environment.is_about(rule));
    let each = kinds(sides)
        .into_iter()
        .map(|resource| of_resource(&resource).into_iter().filter(is_selected).collect::<Vec<_>>());
    let mut selected: Vec<Vec<Environment>> = each.filter(|all| !all.is_empty()).collect();
    let count = selected.len();
    if count > MOST_KINDS {
        let named = names(sides);
        let is_typical =
            |resource: &Resource| named.contains(&*resource.kind) || TYPICAL.contains(&&*resource.kind);
        selected.retain(|all| all.first().is_some_and(|one| is_typical(&one.resource)));
        why.get_or_insert_with(|| {
            format!("{} of {count} kinds that rules select by wildcard", selected.len())
        });
    }
    if selected.is_empty() {
        why.get_or_insert_with(|| "no rule selects a kind that is known".into());
    }
    (selected.into_iter().flatten().collect(), why)
}

/// A subresource that rules name and no kind is known to have.
fn unknown_subresource(sides: [&Side; 2]) -> Option<String> {
    let all = Kinds::built_in().all();
    filters(sides).flat_map(|filter| filter.kinds.iter()).find_map(|kind| {
        let wanted = kind.subresource.pattern();
        let is_known = wanted.is_empty()
            || kind.subresource.is_wild()
            || all
                .iter()
                .any(|r| kind.kind.matches(&r.kind) && r.subresources.iter().any(|s| s.name == *wanted));
        (!is_known).then(|| format!("the subresource {}/{wanted}", kind.kind.pattern()))
    })
}

/// The kinds that every cluster has, and those that rules name.
fn kinds(sides: [&Side; 2]) -> Vec<Resource> {
    let mut all = Kinds::built_in().all().to_vec();
    for filter in filters(sides) {
        for kind in &filter.kinds {
            // No kind begins with a small letter: `none` is a word of autogen.
            let is_name = kind.kind.pattern().starts_with(|c: char| c.is_ascii_uppercase());
            let is_plain = is_name && !kind.kind.is_wild();
            if kind.kind.is_wild() {
                let own = kind.kind.pattern().replace('*', CUSTOM).replace('?', "x");
                add(&mut all, custom(&kind.group, &kind.version, &own));
                continue;
            }
            let is_same = |r: &Resource| {
                kind.kind.matches(&r.kind) && kind.group.matches(&r.group) && kind.version.matches(&r.version)
            };
            if !is_plain || all.iter().any(is_same) {
                continue;
            }
            let (group, version) = (or(&kind.group, "example.com"), or(&kind.version, "v1"));
            all.push(unknown(group, version, kind.kind.pattern().clone()));
        }
    }
    if resource_rules(sides).any(|rule| rule.resources.iter().any(|path| path.resource.is_none())) {
        let any = Wildcard::new("*");
        add(&mut all, custom(&any, &any, CUSTOM));
    }
    for rule in resource_rules(sides) {
        let AnyOf::These(groups) = &rule.groups else { continue };
        let versions: &[Str] = match &rule.versions {
            AnyOf::All => &[],
            AnyOf::These(all) => all,
        };
        for plural in rule.resources.iter().filter_map(|path| path.resource.as_ref()) {
            let Some(kind) = kind_of_plural(plural) else { continue };
            let version = versions.first().filter(|v| &***v != "*").cloned().unwrap_or_else(|| "v1".into());
            for group in groups {
                if !all.iter().any(|r| r.plural == *plural && r.group == *group) {
                    all.push(unknown(group.clone(), version.clone(), kind.clone()));
                }
            }
        }
    }
    all
}

fn add(all: &mut Vec<Resource>, more: Vec<Resource>) {
    for one in more {
        if !all.iter().any(|own| own.kind == one.kind && own.group == one.group) {
            all.push(one);
        }
    }
}

fn or(wild: &Wildcard, other: &str) -> Str {
    match wild.is_wild() {
        true => other.into(),
        false => wild.pattern().clone(),
    }
}

/// Custom resources that a wildcard selects, in a namespace and in none.
fn custom(group: &Wildcard, version: &Wildcard, kind: &str) -> Vec<Resource> {
    if !kind.starts_with(|c: char| c.is_ascii_uppercase()) {
        return Vec::new();
    }
    let (group, version) = (or(group, "example.com"), or(version, "v1"));
    let known = Kinds::built_in().all();
    if known.iter().any(|own| own.group == group && own.version == version) {
        // What is in the groups of a server is known.
        return Vec::new();
    }
    let own = unknown(group.clone(), version.clone(), kind.into());
    let of_cluster = unknown(group, version, format!("Cluster{kind}").into());
    vec![own, Resource { namespaced: false, ..of_cluster }]
}

/// A resource of which only this is known.
fn unknown(group: Str, version: Str, kind: Str) -> Resource {
    let plural = guessed_plural(&kind).into();
    Resource { group, version, plural, kind, namespaced: true, subresources: Box::default() }
}

/// A kind whose plural would be this one.
fn kind_of_plural(plural: &str) -> Option<Str> {
    let endings = [("ies", "y"), ("es", ""), ("s", "")];
    let singles = endings.into_iter().filter_map(|(ending, single)| {
        let stem = plural.strip_suffix(ending)?;
        let initial = stem.get(..1)?.to_ascii_uppercase();
        Some(format!("{initial}{}{single}", stem.get(1..)?))
    });
    singles.rev().find(|kind| guessed_plural(kind) == *plural).map(Into::into)
}

fn resource_rules(sides: [&Side; 2]) -> impl Iterator<Item = &ResourceRule> {
    let rules = sides.into_iter().flat_map(Side::policies).flat_map(|policy| policy.all_rules());
    rules
        .filter_map(|rule| match &rule.when {
            Matcher::Constraints(constraints) => Some(constraints.rules.iter()),
            _ => None,
        })
        .flatten()
}

fn names(sides: [&Side; 2]) -> BTreeSet<&str> {
    let kinds = filters(sides).flat_map(|filter| filter.kinds.iter());
    kinds.filter(|kind| !kind.kind.is_wild()).map(|kind| &**kind.kind.pattern()).collect()
}

fn filters(sides: [&Side; 2]) -> impl Iterator<Item = &Filter> {
    let rules = sides.into_iter().flat_map(Side::policies).flat_map(|policy| policy.all_rules());
    rules.flat_map(|rule| [&rule.when, &rule.unless]).flat_map(Matcher::filters)
}
