//! Whether a policy that acts on other objects than that of a request means the same as its origin.
//!
//! In: pairs of policies about one object (`parts`). Out: [`Proof`]: the answers about all of them.
//! Where a pair says whether a rule acts, an error is none: a rule that fails does nothing.

use ephor_compare::{
    Answer, Claim, Comparison, Difference, DifferenceKind, Judgement, Options, Side, SideError, Universe,
    Verdict, compare,
};

use crate::model::pair::{Pair, PairKind};
use crate::model::unique::add_new;
use crate::proof::prove::{Limits, Proof, prove, sides};

/// Compares the policies of all pairs.
pub fn prove_pairs(file: &str, pairs: &[Pair], limits: Limits) -> Result<Proof, SideError> {
    let limits = Limits { boundary: false, ..limits };
    each(pairs, limits, |pair, limits| match pair.says {
        PairKind::Acts => acting(file, pair, limits),
        PairKind::Changes => prove(file, &pair.old, &pair.new, limits),
    })
}

/// Compares the rules of each kind of a policy whose rules act in different ways: old and new
/// texts.
pub fn prove_apart(file: &str, all: &[[String; 2]], limits: Limits) -> Result<Proof, SideError> {
    each(all, limits, |[old, new], limits| prove(file, old, new, limits))
}

/// What is known of all parts, each of which has its share of the time.
fn each<T>(
    all: &[T],
    limits: Limits,
    prove: impl Fn(&T, Limits) -> Result<Proof, SideError>,
) -> Result<Proof, SideError> {
    let parts = u32::try_from(all.len()).unwrap_or(u32::MAX).max(1);
    let limits = Limits { time: limits.time.map(|time| time / parts), ..limits };
    let nothing = Proof::without(Answer::Proved);
    all.iter().try_fold(nothing, |whole, one| Ok(together(whole, prove(one, limits)?)))
}

/// What is known of two policies together.
pub fn together(one: Proof, other: Proof) -> Proof {
    let mut out = one;
    let (own, more) = (&mut out.claim, other.claim);
    own.answer = joined(own.answer.clone(), more.answer);
    own.differences.extend(more.differences);
    own.in_files += more.in_files;
    own.objects += more.objects;
    own.apart.extend(more.apart);
    out.boundary.extend(other.boundary);
    out
}

/// The answer about two parts.
pub fn joined(one: Answer, other: Answer) -> Answer {
    let union = |mut all: Vec<String>, more: Vec<String>| {
        add_new(&mut all, more);
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
fn acting(file: &str, pair: &Pair, limits: Limits) -> Result<Proof, SideError> {
    let [before, after] = sides(file, &pair.old, &pair.new, limits.kubernetes)?;
    Ok(Proof { claim: compare_acting(&before, &after, limits.options()).1, boundary: Vec::new() })
}

/// Compares two sides whose policies act on what they deny, and makes the claim about them.
pub fn compare_acting(before: &Side, after: &Side, options: Options) -> (Comparison, Claim) {
    let (options, leaves) = options.of_both(before, after);
    let mut found = compare(before, after, options);
    let acts = |one: &Judgement| one.verdict == Verdict::Fail;
    found.differences.retain(|one| acts(&one.old) != acts(&one.new));
    found.differences = found.differences.into_iter().map(shown).collect();
    if found.answer == Answer::Differs && found.differences.iter().all(|one| one.universe == Universe::Files)
    {
        found.answer = Answer::without_difference(found.reasons.clone(), found.relative_to.clone());
    }
    let mut claim = Claim::of(found.clone(), [before, after]);
    claim.apart.extend(leaves);
    (found, claim)
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
    use crate::driver::policy::migrate;
    use crate::proof::prove::policies;

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
        Pair { old, new, says: PairKind::Acts }
    }

    fn proved(pair: Pair) -> Proof {
        prove_pairs("p.yaml", &[pair], Limits::default()).unwrap()
    }

    #[test]
    fn rules_that_act_on_other_objects_differ_on_one_of_them() {
        let found = proved(pair("b", "object.data.a == 'c'"));
        let one = found.claim.differences.first().unwrap();
        assert_eq!((&found.claim.answer, one.kind), (&Answer::Differs, DifferenceKind::Result));
        assert!(found.claim.differences.iter().any(|one| &*one.old.message == "the rule acts"));
    }

    #[test]
    fn a_rule_that_fails_acts_on_nothing() {
        // The old conditions fail where the field is missing, the new ones are false.
        let found = proved(pair("b", "object.?data.?a.orValue('') == 'b'"));
        assert_eq!((found.claim.answer, found.claim.differences.len()), (Answer::Proved, 0));
    }

    /// What is known of a rule whose target is in a namespace, with another text in the new
    /// policies of its pairs.
    fn with_target(namespace: &str, from: &str, to: &str) -> Proof {
        let text = format!(
            "{{apiVersion: kyverno.io/v1, kind: ClusterPolicy, metadata: {{name: p}}, spec: {{rules: [{{name: r, match: {{any: [{{resources: {{kinds: [ConfigMap]}}}}]}}, \
             mutate: {{targets: [{{apiVersion: v1, kind: Secret, namespace: '{namespace}', name: s}}], patchStrategicMerge: {{type: x}}}}}}]}}}}"
        );
        let loaded = policies("p.yaml", &text);
        let migrated =
            migrate(loaded.policies.first().unwrap(), &crate::model::migrated::Options::default()).unwrap();
        let of_pair = |pair: &Pair| Pair { new: pair.new.replace(from, to), ..pair.clone() };
        let pairs: Vec<Pair> = migrated.pairs.iter().map(of_pair).collect();
        prove_pairs("p.yaml", &pairs, Limits::default()).unwrap()
    }

    #[test]
    fn a_target_in_another_namespace_is_a_difference() {
        const OWN: &str = "{{ request.object.metadata.namespace }}";
        assert!(matches!(with_target(OWN, "", "").claim.answer, Answer::Proved | Answer::ProvedRelative(_)));
        assert_eq!(
            with_target(OWN, "(object.metadata.namespace)", "(object.metadata.name)").claim.answer,
            Answer::Differs
        );
        assert_eq!(with_target(OWN, "dyn('s')", "dyn('t')").claim.answer, Answer::Differs);
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
