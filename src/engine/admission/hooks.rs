//! From policies and bindings to evaluations.
//!
//! An evaluation is a policy with a binding and a parameter. Which there are is settled before the first
//! one runs; what is wrong with a policy or binding shows here.

use std::cell::OnceCell;
use std::collections::HashMap;
use std::sync::Arc;

use crate::ir::Rule;
use crate::ir::admission::{Bound, PolicyBinding};
use crate::ir::check::Check;
use crate::ir::constraints::Constraints;
use crate::ir::expressions::{ExpressionPatch, Expressions, Validation};
use crate::ir::facts::FailurePolicy;
use crate::ir::mutate::Change;
use crate::ir::rule::Body;
use crate::matching::constraints::{Accepted, accepts};
use crate::value::{Map, Str, Value};

use super::params::params;
use super::{ClusterView, Review};

/// A policy with its bindings.
#[derive(Clone, Debug)]
pub struct BoundPolicy {
    rule: Arc<Rule>,
    /// What its expressions share.
    pub expressions: Arc<Expressions>,
    bound: Arc<Bound>,
    /// Its bindings by name.
    pub bindings: Vec<PolicyBinding>,
}

impl BoundPolicy {
    /// The name of the policy.
    pub fn name(&self) -> &Str {
        &self.rule.name
    }

    /// What follows when it cannot be evaluated.
    pub fn failure_policy(&self) -> &FailurePolicy {
        &self.expressions.failure_policy
    }

    /// What it validates.
    pub fn validations(&self) -> &[Validation] {
        validations(&self.rule)
    }

    /// How it changes the object.
    pub fn patches(&self) -> &[ExpressionPatch] {
        patches(&self.rule)
    }

    /// Whether it runs again after others have changed the object.
    pub fn is_reinvoked(&self) -> bool {
        let Body::Mutate(mutation) = &self.rule.body else { return false };
        matches!(mutation.change, Change::Expressions { reinvoked: true, .. })
    }

    /// Group, version and kind of its parameters.
    pub fn param_kind(&self) -> Option<&[Str; 3]> {
        self.bound.param_kind.as_ref()
    }
}

/// What a rule validates.
pub(super) fn validations(rule: &Rule) -> &[Validation] {
    match &rule.body {
        Body::Validate { check: Check::Assert(validations), .. } => validations,
        _ => &[],
    }
}

/// How a rule changes the object.
pub(super) fn patches(rule: &Rule) -> &[ExpressionPatch] {
    let Body::Mutate(mutation) = &rule.body else { return &[] };
    match &mutation.change {
        Change::Expressions { patches, .. } => patches,
        _ => &[],
    }
}

/// Policies by name, found by the resource of a request.
#[derive(Clone, Debug, Default)]
pub struct Chain {
    /// The policies that have bindings.
    policies: Vec<BoundPolicy>,
    /// Positions of the policies that name a resource, ascending.
    by_resource: HashMap<Str, Vec<usize>>,
    /// Positions of the others, ascending.
    others: Vec<usize>,
}

impl Chain {
    /// Puts policies and bindings together. A policy without binding does nothing.
    pub fn new(rules: Vec<Arc<Rule>>, bindings: Vec<PolicyBinding>) -> Chain {
        let mut by_policy: HashMap<Str, Vec<PolicyBinding>> = HashMap::new();
        for binding in bindings {
            by_policy.entry(binding.policy.clone()).or_default().push(binding);
        }
        let mut all: Vec<BoundPolicy> = rules
            .into_iter()
            .filter_map(|rule| {
                let (expressions, bound) = (rule.expressions.clone()?, rule.bound.clone()?);
                let mut bindings = by_policy.get(&rule.name)?.clone();
                bindings.sort_by(|a, b| a.name.cmp(&b.name));
                Some(BoundPolicy { rule, expressions, bound, bindings })
            })
            .collect();
        all.sort_by(|a, b| a.name().cmp(b.name()));
        let mut chain = Chain { policies: all, ..Chain::default() };
        for (at, policy) in chain.policies.iter().enumerate() {
            match policy.bound.constraints.as_ref().and_then(resources) {
                None => chain.others.push(at),
                Some(resources) => {
                    for resource in resources {
                        chain.by_resource.entry(resource).or_default().push(at);
                    }
                }
            }
        }
        chain
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.policies.is_empty()
    }

    /// All policies, by name.
    pub fn policies(&self) -> &[BoundPolicy] {
        &self.policies
    }

    /// The policies that can match a request for a resource, by name. What a request reaches under another group or
    /// version has the same resource name ([`crate::kubernetes::Kinds::equivalents`]).
    pub fn candidates<'c>(&'c self, resource: &str) -> impl Iterator<Item = &'c BoundPolicy> {
        let mut named = self.by_resource.get(resource).map_or(&[][..], |all| all).iter().peekable();
        let mut others = self.others.iter().peekable();
        std::iter::from_fn(move || match (named.peek(), others.peek()) {
            (Some(a), Some(b)) if a > b => others.next(),
            (Some(_), _) => named.next(),
            (None, _) => others.next(),
        })
        .filter_map(|at| self.policies.get(*at))
    }
}

/// The resources that constraints name; `None` where they accept others.
fn resources(when: &Constraints) -> Option<Vec<Str>> {
    if when.rules.is_empty() {
        return None;
    }
    let paths = when.rules.iter().flat_map(|rule| &rule.resources);
    let mut all = paths.map(|path| path.resource.clone()).collect::<Option<Vec<Str>>>()?;
    all.sort_unstable();
    all.dedup();
    Some(all)
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
pub fn steps<'c>(policy: &'c BoundPolicy, review: &Review, cluster: &ClusterView<'_>) -> Vec<Step<'c>> {
    let broken = |binding: Option<&'c PolicyBinding>, text: String| match policy.failure_policy() {
        FailurePolicy::Ignore => None,
        FailurePolicy::Fail => {
            let what = if binding.is_some() { "binding" } else { "policy" };
            Some(Step::Broken { binding, text: format!("failed to configure {what}: {text}") })
        }
        FailurePolicy::Unrecognised(word) => {
            Some(Step::Broken { binding, text: format!("unrecognized failure policy: '{word}'") })
        }
    };
    let found = match &policy.bound.constraints {
        None => Err("policy contained no match constraints, a required field".to_string()),
        Some(when) => matched(when, review, cluster),
    };
    let accepted = match found {
        Ok(Some(accepted)) => accepted,
        Ok(None) => return Vec::new(),
        Err(text) => return broken(None, text).into_iter().collect(),
    };
    if let Some([group, version, kind]) = policy.param_kind()
        && cluster.kinds().kind(group, version, kind).is_none()
    {
        let text =
            format!("failed to find resource referenced by paramKind: '{group}/{version}, Kind={kind}'");
        return broken(None, text).into_iter().collect();
    }
    let mut steps = Vec::new();
    for binding in &policy.bindings {
        match binding.when.as_ref().map(|when| matched(when, review, cluster)) {
            Some(Ok(None)) => continue,
            Some(Err(text)) => {
                steps.extend(broken(Some(binding), text));
                continue;
            }
            None | Some(Ok(Some(_))) => {}
        }
        match params(policy, binding, review, cluster) {
            Err(text) => steps.extend(broken(Some(binding), text)),
            Ok(found) => steps.extend(
                found.into_iter().map(|param| Step::Run(Run { binding, accepted: accepted.clone(), param })),
            ),
        }
    }
    steps
}

fn matched(
    when: &Constraints,
    review: &Review,
    cluster: &ClusterView<'_>,
) -> Result<Option<Accepted>, String> {
    let none = Map::new();
    let a = &review.attributes;
    let namespace = OnceCell::new();
    accepts(when, a, cluster.kinds(), || match namespace.get_or_init(|| cluster.namespace(&a.namespace)) {
        Some(namespace) => Ok(namespace.at(&["metadata", "labels"]).and_then(Value::as_map).unwrap_or(&none)),
        None => Err(format!("namespaces \"{}\" not found", a.namespace)),
    })
}
