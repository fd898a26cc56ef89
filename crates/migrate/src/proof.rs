//! Whether a migrated policy means the same as its origin.
//!
//! In: the texts of both. Out: [`Proof`]: the answer of `ephor-compare`. Three kinds of differences are counted apart: objects that exist in files
//! only; deletions, on which rules of ClusterPolicies are evaluated unless they name operations; and ReplicationControllers, for which policies in
//! CEL generate no rules. A violation because of an error is a violation.

use std::time::{Duration, Instant};

use ephor_compare::{
    Answer, Chosen, Comparison, Difference, DifferenceKind, Observer, Options, Side, SideError, Universe,
    compare_observed,
};
use ephor_policies::load::{Policies, Reader, argument_for};
use ephor_sources::files::SourceText;

use crate::boundary::Seen;
use crate::value::Value;

impl Proof {
    /// An answer without a comparison.
    pub fn without(answer: Answer) -> Proof {
        Proof {
            answer,
            differences: Vec::new(),
            in_files: 0,
            deletions: false,
            existing: false,
            controllers: false,
            objects: 0,
            boundary: Vec::new(),
        }
    }
}

/// What a proof may cost.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// The longest time for one policy.
    pub time: Option<Duration>,
    /// The most objects that are evaluated for one rule.
    pub objects: usize,
    /// Whether objects at the boundary are looked for, [`Proof::boundary`].
    pub boundary: bool,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits { time: None, objects: Options::default().objects, boundary: false }
    }
}

/// The answer about a policy and what takes its place.
#[derive(Clone, Debug)]
pub struct Proof {
    /// The answer, without what is counted apart.
    pub answer: Answer,
    /// The differences.
    pub differences: Vec<Difference>,
    /// On how many kinds of objects they differ in files only.
    pub in_files: usize,
    /// Whether only the old policy is evaluated on deletions.
    pub deletions: bool,
    /// Whether only the old policy allows updates of objects that are violations already.
    pub existing: bool,
    /// Whether only the old policy is evaluated on ReplicationControllers.
    pub controllers: bool,
    /// How many objects were evaluated.
    pub objects: usize,
    /// The smallest objects that are violations, a few of each kind, each with the most similar one that is none.
    pub boundary: Vec<Value>,
}

/// A kind of pod controllers for which rules of ClusterPolicies are generated, and those of policies in CEL are not.
pub(crate) const LEFT: &str = "ReplicationController";

/// The field that requests to the subresource of its name change, and nothing else.
const EPHEMERAL: &str = "ephemeralContainers";

/// The policies of a text.
fn policies(name: &str, text: &str) -> Policies {
    argument_for(&[SourceText { name: name.into(), text: text.into() }], Reader::Scan)
}

/// Compares a policy with what takes its place; `leaves_controllers`: this is not evaluated on ReplicationControllers, and the proof is not about them.
///
/// # Errors
/// A side cannot be used.
pub fn prove(
    file: &str,
    old: &str,
    new: &str,
    limits: Limits,
    leaves_controllers: bool,
) -> Result<Proof, SideError> {
    let before = Side::new(policies(file, old), file)?;
    let after = Side::new(policies("migrated", new), "the migrated policy")?;
    let deadline = limits.time.and_then(|time| Instant::now().checked_add(time));
    let options = Options { objects: limits.objects.max(1), deadline, errors: false, ..Options::default() };
    let kinds = if leaves_controllers { Chosen::Without(LEFT) } else { Chosen::All };
    let seen = Seen::default();
    let observer = limits.boundary.then_some(&seen as &dyn Observer);
    let found = compare_observed(&before, &after, Options { kinds, ..options }, observer);
    Ok(Proof {
        controllers: leaves_controllers,
        boundary: seen.boundary([&before, &after]),
        ..judged(found, &before, new.contains("DELETE"), old.contains(EPHEMERAL))
    })
}

/// Counts apart what is no difference in practice.
fn judged(found: Comparison, old: &Side, selects_deletions: bool, names_ephemeral: bool) -> Proof {
    let (mut differences, mut in_files, mut deletions) = (Vec::new(), 0, false);
    let mut existing = found.existing.is_some();
    for one in found.differences {
        match one.universe {
            Universe::Files => in_files += 1,
            // What else a mutation changes then is dropped by the API server.
            _ if one.kind == DifferenceKind::Result
                && &*one.environment.subresource == "ephemeralcontainers"
                && !names_ephemeral => {}
            _ if one.environment.operation == "DELETE" && !selects_deletions => deletions = true,
            _ if allows_existing(old, &one) => existing = true,
            _ => differences.push(one),
        }
    }
    let answer = match found.answer {
        Answer::Differs if differences.is_empty() => {
            match (found.reasons.is_empty(), found.relative_to.is_empty()) {
                (true, true) => Answer::Proved,
                (true, false) => Answer::ProvedRelative(found.relative_to),
                (false, _) => Answer::Tested(found.reasons),
            }
        }
        other => other,
    };
    Proof {
        answer,
        differences,
        in_files,
        deletions,
        existing,
        controllers: false,
        objects: found.objects,
        boundary: Vec::new(),
    }
}

/// Whether the old policy allows an update alone because the object was a violation before.
fn allows_existing(old: &Side, difference: &Difference) -> bool {
    let Some(former) = &difference.old_object else { return false };
    let violates =
        |object| old.judge_object(object, "CREATE").is_some_and(|said| said.verdict.is_violation());
    difference.is_stricter() && violates(former) && violates(&difference.object)
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
            prove("p.yaml", OLD, &new("object.?data.?a.orValue('x') != 'b'"), Limits::default(), false)
                .unwrap();
        assert_eq!((proof.answer, proof.differences.len()), (Answer::Proved, 0));
    }

    #[test]
    fn a_policy_that_means_something_else_differs_on_an_object() {
        let proof =
            prove("p.yaml", OLD, &new("object.?data.?a.orValue('x') != 'c'"), Limits::default(), false)
                .unwrap();
        assert_eq!(proof.answer, Answer::Differs);
        assert_eq!(proof.differences.first().unwrap().object.text_at(&["data", "a"]), "b");
    }
}
