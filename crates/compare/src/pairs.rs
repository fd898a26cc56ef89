//! Which policies of two loads are compared with each other.
//!
//! In: two loads. Out: pairs by name; with one policy on each side, these two whatever their names. A policy without a partner is
//! a pair with one side: it was removed, or it is new.

use crate::policies::load::{LoadedPolicy, Policies};

/// Two policies, or one that only one of the loads has, each with the exceptions and bindings of its load.
#[derive(Clone, Debug)]
pub struct Pair {
    /// The name of the policy.
    pub name: String,
    /// The old one.
    pub old: Option<Policies>,
    /// The new one.
    pub new: Option<Policies>,
}

/// The pairs of two loads, in the order of the old one.
pub fn pairs(old: &Policies, new: &Policies) -> Vec<Pair> {
    if let ([one], [other]) = (&*old.policies, &*new.policies) {
        return vec![Pair { name: name(one), old: Some(of(old, &[one])), new: Some(of(new, &[other])) }];
    }
    let mut names: Vec<String> = Vec::new();
    for policy in old.policies.iter().chain(&new.policies) {
        let name = name(policy);
        if !names.contains(&name) {
            names.push(name);
        }
    }
    let own = |load: &Policies, wanted: &str| {
        let found: Vec<&LoadedPolicy> = load.policies.iter().filter(|p| name(p) == *wanted).collect();
        (!found.is_empty()).then(|| of(load, &found))
    };
    names.into_iter().map(|name| Pair { old: own(old, &name), new: own(new, &name), name }).collect()
}

/// `name` or `namespace/name`.
fn name(policy: &LoadedPolicy) -> String {
    match policy.document.text_at(&["metadata", "namespace"]) {
        "" => policy.name.clone(),
        namespace => format!("{namespace}/{}", policy.name),
    }
}

/// Some policies of a load, with its exceptions and bindings.
fn of(load: &Policies, policies: &[&LoadedPolicy]) -> Policies {
    Policies {
        policies: policies.iter().map(|policy| (*policy).clone()).collect(),
        exceptions: load.exceptions.clone(),
        cel_exceptions: load.cel_exceptions.clone(),
        bindings: load.bindings.clone(),
        ..Policies::default()
    }
}
