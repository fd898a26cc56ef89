//! The environments of two sides: each kind, subresource and operation that one of them selects.
//!
//! In: two sides. Out: the environments, and why they are not all.

use std::collections::BTreeSet;

use ephor_ir::constraints::{AnyOf, ResourceRule};
use ephor_ir::matcher::{Filter, Matcher};
use ephor_kubernetes::kinds::guessed_plural;
use ephor_kubernetes::{Kinds, Resource};
use ephor_value::Str;
use ephor_value::wildcard::Wildcard;

use crate::model::environment::{CUSTOM, Environment, of_resource, unknown};
use crate::model::limits::MAX_KINDS;
use crate::sides::side::Side;

/// Kinds that stand for all others where rules select every kind.
pub(crate) const TYPICAL: [&str; 4] = ["Pod", "Deployment", "ConfigMap", "ClusterRole"];

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
    if count > MAX_KINDS {
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
pub(crate) fn unknown_subresource(sides: [&Side; 2]) -> Option<String> {
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
pub(crate) fn kinds(sides: [&Side; 2]) -> Vec<Resource> {
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

pub(crate) fn add(all: &mut Vec<Resource>, more: Vec<Resource>) {
    for one in more {
        if !all.iter().any(|own| own.kind == one.kind && own.group == one.group) {
            all.push(one);
        }
    }
}

pub(crate) fn or(wild: &Wildcard, other: &str) -> Str {
    match wild.is_wild() {
        true => other.into(),
        false => wild.pattern().clone(),
    }
}

/// Custom resources that a wildcard selects, in a namespace and in none.
pub(crate) fn custom(group: &Wildcard, version: &Wildcard, kind: &str) -> Vec<Resource> {
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

/// A kind whose plural would be this one.
pub(crate) fn kind_of_plural(plural: &str) -> Option<Str> {
    let endings = [("ies", "y"), ("es", ""), ("s", "")];
    let singles = endings.into_iter().filter_map(|(ending, single)| {
        let stem = plural.strip_suffix(ending)?;
        let initial = stem.get(..1)?.to_ascii_uppercase();
        Some(format!("{initial}{}{single}", stem.get(1..)?))
    });
    singles.rev().find(|kind| guessed_plural(kind) == *plural).map(Into::into)
}

pub(crate) fn resource_rules(sides: [&Side; 2]) -> impl Iterator<Item = &ResourceRule> {
    let rules = sides.into_iter().flat_map(Side::policies).flat_map(|policy| policy.all_rules());
    rules
        .filter_map(|rule| match &rule.when {
            Matcher::Constraints(constraints) => Some(constraints.rules.iter()),
            _ => None,
        })
        .flatten()
}

pub(crate) fn names(sides: [&Side; 2]) -> BTreeSet<&str> {
    let kinds = filters(sides).flat_map(|filter| filter.kinds.iter());
    kinds.filter(|kind| !kind.kind.is_wild()).map(|kind| &**kind.kind.pattern()).collect()
}

pub(crate) fn filters(sides: [&Side; 2]) -> impl Iterator<Item = &Filter> {
    let rules = sides.into_iter().flat_map(Side::policies).flat_map(|policy| policy.all_rules());
    rules.flat_map(|rule| [&rule.when, &rule.unless]).flat_map(Matcher::filters)
}
