//! Environments: of which kind an object is, and what is done with it.
//!
//! In: both sides. Out: the kinds that rules of one of them select, times the operations. A kind that neither names is in
//! none: no rule applies to it.

use std::collections::BTreeSet;

use crate::ir::matcher::{Filter, Matcher};
use crate::kubernetes::kinds::guessed_plural;
use crate::kubernetes::{Kinds, Resource};
use crate::policies::subjects::is_about;

use super::side::Side;

/// The operations that are compared.
const OPERATIONS: [&str; 3] = ["CREATE", "UPDATE", "DELETE"];

/// More kinds are sampled: a rule for all kinds says the same of most of them.
const MOST_KINDS: usize = 16;

/// Kinds that stand for all others where rules select every kind.
const TYPICAL: [&str; 4] = ["Pod", "Deployment", "ConfigMap", "ClusterRole"];

/// Of which kind an object is, and what is done with it.
#[derive(Clone, Debug)]
pub struct Environment {
    /// The kind.
    pub resource: Resource,
    /// The operation.
    pub operation: &'static str,
}

impl Environment {
    /// API version, as objects write it.
    pub fn api_version(&self) -> String {
        match &*self.resource.group {
            "" => self.resource.version.to_string(),
            group => format!("{group}/{}", self.resource.version),
        }
    }

    /// `Pod CREATE`
    pub fn name(&self) -> String {
        format!("{} {}", self.resource.kind, self.operation)
    }
}

/// The environments of both sides, and why they may not be all.
pub(crate) fn environments(sides: [&Side; 2]) -> (Vec<Environment>, Option<String>) {
    let mut selected: Vec<Resource> = Vec::new();
    for resource in kinds(sides) {
        let rules = || sides.into_iter().flat_map(Side::policies).flat_map(|policy| policy.all_rules());
        if rules().any(|rule| is_about(rule, &resource)) && !selected.contains(&resource) {
            selected.push(resource);
        }
    }
    let count = selected.len();
    let mut why = None;
    if count > MOST_KINDS {
        let named = names(sides);
        selected.retain(|r| named.contains(&*r.kind) || TYPICAL.contains(&&*r.kind));
        why = Some(format!("{} of {count} kinds that rules select by wildcard", selected.len()));
    }
    let each = |resource: Resource| {
        OPERATIONS.map(|operation| Environment { resource: resource.clone(), operation })
    };
    (selected.into_iter().flat_map(each).collect(), why)
}

/// The kinds that every cluster has, and those that rules name.
fn kinds(sides: [&Side; 2]) -> Vec<Resource> {
    let mut all = Kinds::built_in().all().to_vec();
    for filter in filters(sides) {
        for kind in &filter.kinds {
            // No kind begins with a small letter: `none` is a word of autogen.
            let is_name = kind.kind.pattern().starts_with(|c: char| c.is_ascii_uppercase());
            let is_plain = is_name && !kind.kind.is_wild() && kind.subresource.pattern().is_empty();
            let is_same = |r: &Resource| {
                kind.kind.matches(&r.kind) && kind.group.matches(&r.group) && kind.version.matches(&r.version)
            };
            if !is_plain || all.iter().any(is_same) {
                continue;
            }
            let or = |wild: &crate::value::wildcard::Wildcard, other: &str| match wild.is_wild() {
                true => other.into(),
                false => wild.pattern().clone(),
            };
            all.push(Resource {
                group: or(&kind.group, "example.com"),
                version: or(&kind.version, "v1"),
                plural: guessed_plural(kind.kind.pattern()).into(),
                kind: kind.kind.pattern().clone(),
                namespaced: true,
                subresources: Box::default(),
            });
        }
    }
    all
}

fn names(sides: [&Side; 2]) -> BTreeSet<&str> {
    let kinds = filters(sides).flat_map(|filter| filter.kinds.iter());
    kinds.filter(|kind| !kind.kind.is_wild()).map(|kind| &**kind.kind.pattern()).collect()
}

fn filters(sides: [&Side; 2]) -> impl Iterator<Item = &Filter> {
    let rules = sides.into_iter().flat_map(Side::policies).flat_map(|policy| policy.all_rules());
    rules.flat_map(|rule| [&rule.when, &rule.unless]).flat_map(Matcher::filters)
}
