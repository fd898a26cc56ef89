//! What the account of `ephor` must be allowed to do for policies that write objects.
//!
//! In: policies with rules that generate, change or delete objects. Out: the resources with verbs,
//! in addition to what the chart gives: policies, reports, events, leases and webhook
//! configurations.

use std::collections::{BTreeMap, BTreeSet};

use crate::upgrade::inventory::{Inventory, named};
use ephor_admission::background::WorkKind;
use ephor_ir::policy::Cleanup;
use ephor_ir::rule::Body;
use ephor_kubernetes::Resource;
use ephor_policies::load::{LoadedPolicy, Purpose};

use super::policies::Compiled;

/// Verbs on a resource.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Right {
    /// The API group, empty for the core group.
    pub group: String,
    /// The plural, or the kind where it is not known.
    pub resource: String,
    /// The verbs.
    pub verbs: Vec<&'static str>,
    /// Which policies need it.
    pub policies: Vec<String>,
}

const GENERATE: [&str; 7] = ["create", "delete", "get", "list", "patch", "update", "watch"];
const MUTATE: [&str; 4] = ["get", "list", "patch", "update"];
const DELETE: [&str; 3] = ["delete", "get", "list"];
/// A policy that is about more resources than these is about all: a role with a line each would not
/// be read. With a smaller number accounts get more rights than they need.
const MAX_RESOURCES: usize = 30;

type Needs = BTreeMap<(String, String), (BTreeSet<&'static str>, BTreeSet<String>)>;

/// What policies need.
pub(super) fn rights(inventory: &Inventory, all: &[Compiled<'_>]) -> Vec<Right> {
    let mut needs = Needs::new();
    for one in all {
        let policy = named(&one.found.object);
        for facts in &one.facts {
            let verbs = match facts.kind {
                WorkKind::Generate | WorkKind::CelGenerate => &GENERATE[..],
                WorkKind::Mutate | WorkKind::CelMutate => &MUTATE[..],
            };
            for (version, kind) in &facts.kinds {
                add(&mut needs, &resource(inventory, version, kind), verbs, &policy);
            }
        }
        for selected in one.gives.policies.iter().map(|of| changed_by_expressions(inventory, of)) {
            selected.iter().for_each(|resource| add(&mut needs, resource, &MUTATE, &policy));
        }
        for selected in one.gives.cleanups.iter().map(|of| deleted(inventory, of)) {
            selected.iter().for_each(|resource| add(&mut needs, resource, &DELETE, &policy));
        }
        let deleting = one.gives.policies.iter().filter(|p| p.purpose() == Purpose::Deletion);
        for selected in deleting.map(|of| deleted_by_expressions(inventory, of)) {
            selected.iter().for_each(|resource| add(&mut needs, resource, &DELETE, &policy));
        }
    }
    let right =
        |((group, resource), (verbs, policies)): ((String, String), (BTreeSet<_>, BTreeSet<_>))| Right {
            group,
            resource,
            verbs: verbs.into_iter().collect(),
            policies: policies.into_iter().collect(),
        };
    needs.into_iter().map(right).collect()
}

fn add(needs: &mut Needs, resource: &(String, String), verbs: &[&'static str], policy: &str) {
    let (all, policies) = needs.entry(resource.clone()).or_default();
    all.extend(verbs);
    policies.insert(policy.into());
}

/// Group and plural of a kind; one with variables is named as it is.
fn resource(inventory: &Inventory, api_version: &str, kind: &str) -> (String, String) {
    let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
    let kind = kind.split('/').next().unwrap_or_default();
    if kind.contains("{{") {
        return (group.into(), kind.into());
    }
    (group.into(), inventory.kinds.plural_of(group, version, kind).into_owned())
}

fn deleted(inventory: &Inventory, policy: &Cleanup) -> Vec<(String, String)> {
    selected(inventory, |resource| ephor_policies::subjects::may_select(&policy.when, resource))
}

fn deleted_by_expressions(inventory: &Inventory, policy: &LoadedPolicy) -> Vec<(String, String)> {
    let Some(lowered) = &policy.policy else { return Vec::new() };
    selected(inventory, |resource| {
        lowered.all_rules().any(|rule| ephor_policies::subjects::is_about(rule, resource))
    })
}

/// The existing objects that a policy selects to change them; what an expression returns is not
/// known before.
fn changed_by_expressions(inventory: &Inventory, policy: &LoadedPolicy) -> Vec<(String, String)> {
    let first = policy.policy.as_ref().and_then(|lowered| lowered.rules.first());
    let Some(Body::Mutate(mutation)) = first.map(|rule| &rule.body) else { return Vec::new() };
    match &mutation.existing {
        Some(existing) if existing.returned_by.is_none() => {
            selected(inventory, |resource| ephor_policies::subjects::is_about(&existing.rule, resource))
        }
        _ => Vec::new(),
    }
}

fn selected(inventory: &Inventory, is_about: impl Fn(&Resource) -> bool) -> Vec<(String, String)> {
    let about = inventory.kinds.all().iter().filter(|resource| is_about(resource));
    let all: BTreeSet<_> = about.map(|r| (r.group.to_string(), r.plural.to_string())).collect();
    if all.len() > MAX_RESOURCES { vec![("*".into(), "*".into())] } else { all.into_iter().collect() }
}
