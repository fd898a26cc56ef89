//! From policies and bindings to evaluations.
//!
//! An evaluation is a policy with a binding and a parameter. Which there are is settled before the first
//! one runs; what is wrong with a policy or binding shows here.

use crate::ir::admission::{Admission, PolicyBinding};
use crate::ir::constraints::Constraints;
use crate::ir::facts::FailurePolicy;
use crate::matching::constraints::{Accepted, accepts};
use crate::value::{Map, Value};

use super::params::params;
use super::{Review, World};

/// A policy with its bindings.
#[derive(Clone, Debug)]
pub struct Hook {
    /// The policy.
    pub policy: Admission,
    /// Its bindings by name.
    pub bindings: Vec<PolicyBinding>,
}

/// Policies by name.
#[derive(Clone, Debug, Default)]
pub struct Chain {
    /// The policies that have bindings.
    pub hooks: Vec<Hook>,
}

impl Chain {
    /// Puts policies and bindings together. A policy without binding does nothing.
    pub fn new(policies: Vec<Admission>, bindings: Vec<PolicyBinding>) -> Chain {
        let mut hooks: Vec<Hook> = policies
            .into_iter()
            .map(|policy| {
                let mut own: Vec<PolicyBinding> =
                    bindings.iter().filter(|b| b.policy == policy.name).cloned().collect();
                own.sort_by(|a, b| a.name.cmp(&b.name));
                Hook { policy, bindings: own }
            })
            .filter(|hook| !hook.bindings.is_empty())
            .collect();
        hooks.sort_by(|a, b| a.policy.name.cmp(&b.policy.name));
        Chain { hooks }
    }
}

/// A step of a policy.
#[derive(Debug)]
pub enum Step<'c> {
    /// To be run.
    Run(Run<'c>),
    /// A mistake in the policy or in the binding that counts as a denial.
    Broken {
        /// The binding, when it is the one.
        binding: Option<&'c PolicyBinding>,
        /// What is wrong.
        text: String,
    },
}

/// An evaluation.
#[derive(Debug)]
pub struct Run<'c> {
    /// The binding.
    pub binding: &'c PolicyBinding,
    /// The resource and kind as the policy knows them.
    pub accepted: Accepted,
    /// The parameter; `None` for a policy that has none.
    pub param: Option<Value>,
}

/// The steps of a policy on a request, none when it is not concerned.
pub fn steps<'c>(hook: &'c Hook, review: &Review, world: &World) -> Vec<Step<'c>> {
    let policy = &hook.policy;
    let broken = |binding: Option<&'c PolicyBinding>, text: String| match &policy.failure_policy {
        FailurePolicy::Ignore => None,
        FailurePolicy::Fail => {
            let what = if binding.is_some() { "binding" } else { "policy" };
            Some(Step::Broken { binding, text: format!("failed to configure {what}: {text}") })
        }
        FailurePolicy::Unrecognised(word) => {
            Some(Step::Broken { binding, text: format!("unrecognized failure policy: '{word}'") })
        }
    };
    let found = match &policy.when {
        None => Err("policy contained no match constraints, a required field".to_string()),
        Some(when) => matched(when, review, world),
    };
    let accepted = match found {
        Ok(Some(accepted)) => accepted,
        Ok(None) => return Vec::new(),
        Err(text) => return broken(None, text).into_iter().collect(),
    };
    if let Some([group, version, kind]) = &policy.params
        && world.kinds().kind(group, version, kind).is_none()
    {
        let text =
            format!("failed to find resource referenced by paramKind: '{group}/{version}, Kind={kind}'");
        return broken(None, text).into_iter().collect();
    }
    let mut steps = Vec::new();
    for binding in &hook.bindings {
        match binding.when.as_ref().map(|when| matched(when, review, world)) {
            Some(Ok(None)) => continue,
            Some(Err(text)) => {
                steps.extend(broken(Some(binding), text));
                continue;
            }
            None | Some(Ok(Some(_))) => {}
        }
        match params(policy, binding, review, world) {
            Err(text) => steps.extend(broken(Some(binding), text)),
            Ok(found) => steps.extend(
                found.into_iter().map(|param| Step::Run(Run { binding, accepted: accepted.clone(), param })),
            ),
        }
    }
    steps
}

fn matched(when: &Constraints, review: &Review, world: &World) -> Result<Option<Accepted>, String> {
    let none = Map::new();
    let a = &review.attributes;
    accepts(when, a, world.kinds(), || match world.namespaces.get(&a.namespace) {
        Some(namespace) => Ok(namespace.at(&["metadata", "labels"]).and_then(Value::as_map).unwrap_or(&none)),
        None => Err(format!("namespaces \"{}\" not found", a.namespace)),
    })
}
