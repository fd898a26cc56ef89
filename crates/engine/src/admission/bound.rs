//! Policies of the Kubernetes API with their bindings.

use ephor_ir::admission::{Bound, PolicyBinding};
use ephor_ir::check::Check;
use ephor_ir::expressions::{ExpressionPatch, Expressions, Validation};
use ephor_ir::facts::FailurePolicy;
use ephor_ir::mutate::Change;
use ephor_ir::rule::Body;
use ephor_ir::{Policy, Rule};
use ephor_value::Str;

use super::review::Review;

/// A native policy that has bindings.
#[derive(Clone, Copy, Debug)]
pub struct BoundPolicy<'p> {
    pub(super) policy: &'p Policy,
    pub(super) rule: &'p Rule,
    /// What its expressions share.
    pub expressions: &'p Expressions,
    pub(super) bound: &'p Bound,
}

impl<'p> BoundPolicy<'p> {
    /// A policy as an API server runs it; `None` for one without bindings, which does nothing, and
    /// for policies of Kyverno.
    pub fn of(policy: &'p Policy) -> Option<BoundPolicy<'p>> {
        let rule = policy.rules.first()?;
        let (expressions, bound) = (rule.expressions.as_deref()?, rule.bound.as_deref()?);
        (!bound.bindings.is_empty()).then_some(BoundPolicy { policy, rule, expressions, bound })
    }

    /// The name of the policy.
    pub fn name(&self) -> &'p Str {
        &self.rule.name
    }

    /// Its bindings by name.
    pub fn bindings(&self) -> &'p [PolicyBinding] {
        &self.bound.bindings
    }

    /// What follows when it cannot be evaluated.
    pub fn failure_policy(&self) -> &'p FailurePolicy {
        &self.expressions.failure_policy
    }

    /// Whether it changes objects; else it validates them.
    pub fn mutates(&self) -> bool {
        matches!(self.rule.body, Body::Mutate(_))
    }

    /// Whether it ever sees a request: policies that the API stores see none about policies.
    pub fn sees(&self, review: &Review) -> bool {
        !review.is_exempt() || (self.bound.is_static && review.is_about_admission())
    }

    /// What it validates.
    pub fn validations(&self) -> &'p [Validation] {
        validations(self.rule)
    }

    /// How it changes the object.
    pub fn patches(&self) -> &'p [ExpressionPatch] {
        patches(self.rule)
    }

    /// Whether it runs again after others have changed the object.
    pub fn is_reinvoked(&self) -> bool {
        let Body::Mutate(mutation) = &self.rule.body else { return false };
        matches!(mutation.change, Change::Expressions { reinvoked: true, .. })
    }

    /// Group, version and kind of its parameters.
    pub fn param_kind(&self) -> Option<&'p [Str; 3]> {
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
