//! One comparison of a migrated policy with its origin, within its limits.
//!
//! In: the texts of both. Out: [`Proof`]: the claim of `ephor-compare`, as `ephor diff` makes it,
//! and objects for tests.

use std::time::Duration;

use ephor_compare::{Answer, Claim, Observer, Options, Side, SideError};
use ephor_ir::rule::Body;
use ephor_policies::load::{Policies, Reader, argument_as};
use ephor_sources::files::SourceText;
use ephor_value::Value;
use ephor_value::clock;
use ephor_value::release::Release;

use crate::proof::boundary::Seen;
use crate::proof::paired::joined;

/// What a proof may cost.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// The longest time for one policy.
    pub time: Option<Duration>,
    /// The most objects that are evaluated for one rule.
    pub objects: usize,
    /// Whether objects at the boundary are looked for, [`Proof::boundary`].
    pub boundary: bool,
    /// The first release of the API servers that evaluate Kubernetes' own policies: what is written
    /// is compared on it, and is no proof where it means something else on a later one. `None` = as
    /// Kyverno evaluates them.
    pub kubernetes: Option<Release>,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits { time: None, objects: Options::default().objects, boundary: false, kubernetes: None }
    }
}

/// The answer about a policy and what takes its place.
#[derive(Clone, Debug)]
pub struct Proof {
    /// Whether both mean the same.
    pub claim: Claim,
    /// The smallest objects that are violations, a few of each kind, each with the most similar one
    /// that is none.
    pub boundary: Vec<Value>,
}

impl Proof {
    /// An answer without a comparison.
    pub fn without(answer: Answer) -> Proof {
        Proof { claim: Claim::without(answer), boundary: Vec::new() }
    }
}

/// The policies of a text.
pub(crate) fn policies(name: &str, text: &str) -> Policies {
    policies_of(name, text, None)
}

fn policies_of(name: &str, text: &str, kubernetes: Option<Release>) -> Policies {
    argument_as(&[SourceText { name: name.into(), text: text.into() }], Reader::Scan, kubernetes)
}

/// A policy and what takes its place, to be compared.
pub(crate) fn sides(
    file: &str,
    old: &str,
    new: &str,
    kubernetes: Option<Release>,
) -> Result<[Side; 2], SideError> {
    let before = Side::new(policies_of(file, old, kubernetes), file)?;
    Ok([before, Side::new(policies_of("migrated", new, kubernetes), "the migrated policy")?])
}

/// Compares a policy with what takes its place.
///
/// # Errors
/// A side cannot be used.
pub fn prove(file: &str, old: &str, new: &str, limits: Limits) -> Result<Proof, SideError> {
    let [before, after] = sides(file, old, new, limits.kubernetes)?;
    let seen = Seen::default();
    let observer = limits.boundary.then_some(&seen as &dyn Observer);
    let mut claim = Claim::about(&before, &after, limits.options(), observer);
    let later = after.other_in_later_releases();
    if !later.is_empty() {
        claim.answer = joined(claim.answer, Answer::Tested(later));
    }
    Ok(Proof { claim, boundary: seen.boundary([&before, &after]) })
}

impl Limits {
    /// What a comparison may do, from now on.
    pub(crate) fn options(self) -> Options {
        let deadline = self.time.and_then(clock::after);
        Options { objects: self.objects.max(1), deadline, ..Options::default() }
    }
}

/// Whether a policy and what takes its place can be used, where what they do cannot be compared.
pub fn usable(file: &str, old: &str, new: &str) -> Result<(), SideError> {
    let [_, after] = sides(file, old, new, None)?;
    // Policies about images report their faults with each request only.
    let mut rules = after.policies().iter().flat_map(|policy| policy.all_rules());
    let fault = rules.find_map(|rule| match &rule.body {
        Body::ValidateImages(own) => own.as_ref().as_ref().err().cloned(),
        _ => None,
    });
    if let Some(fault) = fault {
        return Err(SideError::Unusable(fault.to_string()));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    const OLD: &str = "{apiVersion: kyverno.io/v1, kind: ClusterPolicy, metadata: {name: p}, spec: {rules: [{name: r, match: {any: [{resources: {kinds: \
                       [ConfigMap]}}]}, validate: {deny: {conditions: [{key: \"{{request.object.data.a || 'x'}}\", operator: Equals, value: b}]}}}]}}";

    fn new(expression: &str) -> String {
        format!(
            "{{apiVersion: policies.kyverno.io/v1, kind: ValidatingPolicy, metadata: {{name: p}}, spec: {{validationActions: [Audit], matchConstraints: {{resourceRules: \
             [{{apiGroups: [''], apiVersions: [v1], resources: [configmaps], operations: [CREATE, UPDATE]}}]}}, validations: [{{expression: \"{expression}\"}}]}}}}"
        )
    }

    #[test]
    fn a_policy_that_means_the_same_is_proved_and_deletions_are_counted_apart() {
        let proof =
            prove("p.yaml", OLD, &new("object.?data.?a.orValue('x') != 'b'"), Limits::default()).unwrap();
        assert_eq!((proof.claim.answer, proof.claim.differences.len()), (Answer::Proved, 0));
    }

    #[test]
    fn a_policy_that_lost_a_lookup_differs_and_one_that_needs_it_less_often_does_not() {
        let old = OLD.replace(
            "validate: {deny: {conditions: [{key: \"{{request.object.data.a || 'x'}}\", operator: Equals, value: b}]}}",
            "context: [{name: all, apiCall: {urlPath: /api/v1/namespaces, jmesPath: 'items[]'}}], validate: {deny: {conditions: {all: [{key: \"{{ length(all) }}\", operator: \
             GreaterThan, value: 3}, {key: \"{{request.object.data.a || 'x'}}\", operator: Equals, value: b}]}}}",
        );
        assert_ne!(old, OLD);
        let lost = prove("p.yaml", &old, &new("object.?data.?a.orValue('x') != 'b'"), Limits::default());
        assert_eq!(lost.unwrap().claim.answer, Answer::Differs);
        let rare = "object.?data.?a.orValue('x') != 'b' || dyn(resource.list('v1', 'namespaces', '')).items.size() <= 3";
        let rare = prove("p.yaml", &old, &new(rare), Limits::default()).unwrap();
        assert!(!matches!(rare.claim.answer, Answer::Differs), "{rare:?}");
    }

    #[test]
    fn a_policy_that_means_something_else_differs_on_an_object() {
        let proof =
            prove("p.yaml", OLD, &new("object.?data.?a.orValue('x') != 'c'"), Limits::default()).unwrap();
        assert_eq!(proof.claim.answer, Answer::Differs);
        assert_eq!(proof.claim.differences.first().unwrap().object.text_at(&["data", "a"]), "b");
    }
}
