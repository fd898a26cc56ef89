//! Whether a policy that acts on other objects than that of a request means the same as its origin.
//!
//! In: pairs of policies about one object (`parts`). Out: [`Proof`]: the answers about all of them. Where a pair says whether a rule acts, an error is none: a rule
//! that fails does nothing.

use std::time::Instant;

use ephor_compare::{
    Answer, Chosen, Comparison, Difference, DifferenceKind, Judgement, Options, Side, SideError, Verdict,
    compare,
};

use crate::parts::{Pair, Says};
use crate::proof::{LEFT, Limits, Proof, judged, policies, prove};

/// Compares the policies of all pairs; `leaves_controllers`: the new ones are not evaluated on ReplicationControllers, and the proof is not about them.
///
/// # Errors
/// One cannot be used.
pub fn prove_pairs(
    file: &str,
    pairs: &[Pair],
    limits: Limits,
    leaves_controllers: bool,
) -> Result<Proof, SideError> {
    let parts = u32::try_from(pairs.len()).unwrap_or(u32::MAX).max(1);
    let limits = Limits { time: limits.time.map(|time| time / parts), boundary: false, ..limits };
    let mut whole = Proof::without(Answer::Proved);
    for pair in pairs {
        let own = match pair.says {
            Says::Acts => acting(file, pair, limits, leaves_controllers)?,
            Says::Changes => prove(file, &pair.old, &pair.new, limits, false)?,
        };
        whole = together(whole, own);
    }
    Ok(whole)
}

/// Compares the rules of each kind of a policy whose rules act in different ways: old and new texts.
///
/// # Errors
/// One cannot be used.
pub fn prove_apart(
    file: &str,
    all: &[[String; 2]],
    limits: Limits,
    leaves_controllers: bool,
) -> Result<Proof, SideError> {
    let parts = u32::try_from(all.len()).unwrap_or(u32::MAX).max(1);
    let limits = Limits { time: limits.time.map(|time| time / parts), ..limits };
    let mut whole = Proof::without(Answer::Proved);
    for [old, new] in all {
        whole = together(whole, prove(file, old, new, limits, leaves_controllers)?);
    }
    Ok(whole)
}

/// What is known of two policies together.
pub fn together(one: Proof, other: Proof) -> Proof {
    let mut out = Proof { answer: joined(one.answer, other.answer), ..one };
    out.differences.extend(other.differences);
    out.in_files += other.in_files;
    out.deletions |= other.deletions;
    out.existing |= other.existing;
    out.controllers |= other.controllers;
    out.objects += other.objects;
    out.boundary.extend(other.boundary);
    for apart in other.apart {
        if !out.apart.contains(&apart) {
            out.apart.push(apart);
        }
    }
    out
}

/// The answer about two parts.
pub fn joined(one: Answer, other: Answer) -> Answer {
    let union = |mut all: Vec<String>, more: Vec<String>| {
        for reason in more {
            if !all.contains(&reason) {
                all.push(reason);
            }
        }
        all
    };
    match (one, other) {
        (Answer::Differs, _) | (_, Answer::Differs) => Answer::Differs,
        (Answer::Incomparable(why), _) | (_, Answer::Incomparable(why)) => Answer::Incomparable(why),
        (Answer::Tested(all), Answer::Tested(more)) => Answer::Tested(union(all, more)),
        (Answer::Tested(all), _) | (_, Answer::Tested(all)) => Answer::Tested(all),
        (Answer::ProvedRelative(all), Answer::ProvedRelative(more)) => {
            Answer::ProvedRelative(union(all, more))
        }
        (Answer::ProvedRelative(all), _) | (_, Answer::ProvedRelative(all)) => Answer::ProvedRelative(all),
        (Answer::Proved, Answer::Proved) => Answer::Proved,
    }
}

/// Whether both act on the same objects.
fn acting(file: &str, pair: &Pair, limits: Limits, leaves_controllers: bool) -> Result<Proof, SideError> {
    let before = Side::new(policies(file, &pair.old), file)?;
    let after = Side::new(policies("migrated", &pair.new), "the migrated policy")?;
    let deadline = limits.time.and_then(|time| Instant::now().checked_add(time));
    let kinds = if leaves_controllers { Chosen::Without(LEFT) } else { Chosen::All };
    let options =
        Options { objects: limits.objects.max(1), deadline, errors: true, kinds, ..Options::default() };
    let found = compare(&before, &after, options);
    let acts = |one: &Judgement| one.verdict == Verdict::Fail;
    let differences = found.differences.into_iter().filter(|one| acts(&one.old) != acts(&one.new)).map(shown);
    let found = Comparison { differences: differences.collect(), ..found };
    Ok(Proof { controllers: leaves_controllers, ..judged(found, &before, pair.new.contains("DELETE")) })
}

/// A difference in what is denied as one in what a rule does.
fn shown(mut one: Difference) -> Difference {
    one.kind = DifferenceKind::Result;
    for said in [&mut one.old, &mut one.new] {
        match said.verdict {
            Verdict::Fail => (said.verdict, said.message) = (Verdict::Pass, "the rule acts".into()),
            Verdict::Error => {}
            _ => (said.verdict, said.message) = (Verdict::Skip, "it does nothing".into()),
        }
    }
    one
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;
    use crate::policy::migrate;

    /// Policies that act on ConfigMaps whose field has a value.
    fn pair(key: &str, expression: &str) -> Pair {
        let old = format!(
            "{{apiVersion: kyverno.io/v1, kind: ClusterPolicy, metadata: {{name: p}}, spec: {{background: false, rules: [{{name: r, match: {{any: [{{resources: {{kinds: \
             [ConfigMap], operations: [CREATE]}}}}]}}, preconditions: {{all: [{{key: \"{{{{ request.object.data.a }}}}\", operator: Equals, value: {key}}}]}}, validate: {{deny: {{}}}}}}]}}}}"
        );
        let new = format!(
            "{{apiVersion: policies.kyverno.io/v1, kind: ValidatingPolicy, metadata: {{name: p}}, spec: {{validationActions: [Audit], matchConstraints: {{resourceRules: \
             [{{apiGroups: [''], apiVersions: [v1], resources: [configmaps], operations: [CREATE]}}]}}, matchConditions: [{{name: c, expression: \"{expression}\"}}], validations: [{{expression: 'false'}}]}}}}"
        );
        Pair { old, new, says: Says::Acts }
    }

    fn proved(pair: Pair) -> Proof {
        prove_pairs("p.yaml", &[pair], Limits::default(), false).unwrap()
    }

    #[test]
    fn rules_that_act_on_other_objects_differ_on_one_of_them() {
        let found = proved(pair("b", "object.data.a == 'c'"));
        let one = found.differences.first().unwrap();
        assert_eq!((&found.answer, one.kind), (&Answer::Differs, DifferenceKind::Result));
        assert!(found.differences.iter().any(|one| &*one.old.message == "the rule acts"));
    }

    #[test]
    fn a_rule_that_fails_acts_on_nothing() {
        // The old conditions fail where the field is missing, the new ones are false.
        let found = proved(pair("b", "object.?data.?a.orValue('') == 'b'"));
        assert_eq!((found.answer, found.differences.len()), (Answer::Proved, 0));
    }

    /// What is known of a rule whose target is in a namespace, with another text in the new policies of its pairs.
    fn with_target(namespace: &str, from: &str, to: &str) -> Proof {
        let text = format!(
            "{{apiVersion: kyverno.io/v1, kind: ClusterPolicy, metadata: {{name: p}}, spec: {{rules: [{{name: r, match: {{any: [{{resources: {{kinds: [ConfigMap]}}}}]}}, \
             mutate: {{targets: [{{apiVersion: v1, kind: Secret, namespace: '{namespace}', name: s}}], patchStrategicMerge: {{type: x}}}}}}]}}}}"
        );
        let loaded = policies("p.yaml", &text);
        let migrated = migrate(loaded.policies.first().unwrap(), &crate::policy::Options::default()).unwrap();
        let of_pair = |pair: &Pair| Pair { new: pair.new.replace(from, to), ..pair.clone() };
        let pairs: Vec<Pair> = migrated.pairs.iter().map(of_pair).collect();
        prove_pairs("p.yaml", &pairs, Limits::default(), false).unwrap()
    }

    #[test]
    fn a_target_in_another_namespace_is_a_difference() {
        const OWN: &str = "{{ request.object.metadata.namespace }}";
        assert!(matches!(with_target(OWN, "", "").answer, Answer::Proved | Answer::ProvedRelative(_)));
        assert_eq!(
            with_target(OWN, "(object.metadata.namespace)", "(object.metadata.name)").answer,
            Answer::Differs
        );
        assert_eq!(with_target(OWN, "dyn('s')", "dyn('t')").answer, Answer::Differs);
    }

    #[test]
    fn what_is_known_of_two_parts_is_the_weaker_answer() {
        let tested = |why: &str| Answer::Tested(vec![why.into()]);
        let relative = || Answer::ProvedRelative(vec!["the clock".into()]);
        assert_eq!(joined(Answer::Proved, relative()), relative());
        assert_eq!(joined(relative(), tested("a")), tested("a"));
        assert_eq!(joined(tested("b"), tested("a")), Answer::Tested(vec!["b".into(), "a".into()]));
        assert_eq!(joined(tested("b"), Answer::Differs), Answer::Differs);
    }
}
