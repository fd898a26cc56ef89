//! Whether a migrated policy means the same as its origin.
//!
//! In: the texts of both. Out: [`Proof`]: the answer of `ephor-compare`. Some differences are counted apart: on objects that exist in files
//! only; on deletions, for which rules of ClusterPolicies are evaluated unless they name operations; on ReplicationControllers, for which policies in
//! CEL generate no rules; on updates of objects that are violations already; and those of [`Apart`]. A violation because of an error is a violation.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use ephor_compare::{
    Answer, Chosen, Collector, Comparison, DOUBT, Difference, DifferenceKind, Effect, Judgement, NO_ANSWER,
    Observer, Options, REFUSED, Side, SideError, Universe, Verdict, compare, compare_observed,
};
use ephor_policies::load::{Policies, Reader, argument_for};
use ephor_sources::files::SourceText;

use crate::boundary::Seen;
use crate::ir::rule::Body;
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
            apart: Vec::new(),
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
    /// Other differences that are counted apart.
    pub apart: Vec<Apart>,
    /// How many objects were evaluated.
    pub objects: usize,
    /// The smallest objects that are violations, a few of each kind, each with the most similar one that is none.
    pub boundary: Vec<Value>,
}

/// A difference that does not count, or the cause of one that does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Apart {
    /// One finds a violation where the other one fails.
    Errors,
    /// A mutation that fails changes nothing, but may be reported or denied otherwise.
    Failing,
    /// A merge differs on lists with two items of one name or with an empty one; that difference counts.
    Namesakes,
    /// The name of an image is none for one of both.
    Images,
    /// A generation that fails is reported otherwise.
    Generation,
    /// Where data cannot be read one fails, and the other one does not need them.
    Unanswered,
    /// A value with wildcards is a pattern for the old policy alone.
    Wildcards,
    /// Of several labels or annotations that a wildcard matches the old policy looks at one.
    Keys,
}

impl Apart {
    /// What a reader should know.
    pub fn text(self) -> &'static str {
        match self {
            Apart::Errors => {
                "violations because of an error: on some objects one policy is violated, and the other one fails"
            }
            Apart::Failing => {
                "mutations that fail: where the old rule fails, which `failurePolicy` may deny, the new policy lets the object pass as it is"
            }
            Apart::Namesakes => {
                "lists with two items of one name or port, or an item without any: a merge leaves one of them or none, the new policy all"
            }
            Apart::Images => {
                "names of images: `parseImageReference` refuses some that the old rule reads, as names of one character"
            }
            Apart::Unanswered => {
                "data that cannot be read: where a lookup fails, one policy fails, and the other one does not need it or has a default"
            }
            Apart::Wildcards => {
                "values with `*` or `?`: the old policy takes them for patterns, the new one for texts"
            }
            Apart::Keys => {
                "several labels or annotations that one wildcard in a key matches: Kyverno looks at one of them, whichever it meets first, and the new policy at each"
            }
            Apart::Generation => {
                "generations that fail: nothing is generated by either, but only one reports an error"
            }
        }
    }
}

/// So many times more objects are evaluated where that may give a proof.
const MORE: usize = 6;

/// A kind of pod controllers for which rules of ClusterPolicies are generated, and those of policies in CEL are not.
pub(crate) const LEFT: &str = "ReplicationController";

/// The policies of a text.
pub(crate) fn policies(name: &str, text: &str) -> Policies {
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
    let found = proved(file, old, new, limits, leaves_controllers, true)?;
    let is_in_doubt = matches!(&found.answer, Answer::Tested(all) if all.iter().any(|why| why.starts_with(DOUBT) || why == REFUSED));
    let is_by_wildcard = !found.differences.is_empty() && found.differences.iter().all(has_wildcards);
    if !is_in_doubt && !is_by_wildcard {
        return Ok(found);
    }
    // Whether they differ in anything else.
    let mut other = proved(file, old, new, limits, leaves_controllers, false)?;
    let is_better = match &other.answer {
        Answer::Proved | Answer::ProvedRelative(_) => true,
        Answer::Tested(_) => is_by_wildcard,
        _ => false,
    };
    if !is_better {
        return Ok(found);
    }
    other.apart.push(Apart::Wildcards);
    Ok(other)
}

fn proved(
    file: &str,
    old: &str,
    new: &str,
    limits: Limits,
    leaves_controllers: bool,
    wildcards: bool,
) -> Result<Proof, SideError> {
    let side = |name: &str, place: &str, text: &str| {
        let side = Side::new(policies(name, text), place)?;
        let side = side.with_one_key();
        Ok(if wildcards { side } else { side.without_patterns() })
    };
    let before = side(file, file, old)?;
    let after = side("migrated", "the migrated policy", new)?;
    let deadline = limits.time.and_then(|time| Instant::now().checked_add(time));
    let options = Options { objects: limits.objects.max(1), deadline, errors: false, ..Options::default() };
    let kinds = if leaves_controllers { Chosen::Without(LEFT) } else { Chosen::All };
    let seen = Seen::default();
    let observer = limits.boundary.then_some(&seen as &dyn Observer);
    let options = Options { kinds, ..options };
    let mut found = compare_observed(&before, &after, options, observer);
    if found.needs_more_objects() {
        let [objects, evaluations] = [options.objects, options.evaluations].map(|n| n.saturating_mul(MORE));
        found = compare_observed(&before, &after, Options { objects, evaluations, ..options }, observer);
    }
    let mut apart = Vec::new();
    if before.looks_at_one_key() {
        apart.push(Apart::Keys);
    }
    let is_all = |is: &dyn Fn(&Body) -> bool| {
        before.policies().iter().flat_map(|policy| policy.all_rules()).all(|rule| is(&rule.body))
    };
    let known = found.differences.len();
    found.differences.retain(|one| !is_no_image(one));
    if found.differences.len() < known {
        apart.push(Apart::Images);
        found.reasons.push("names that are none of images".into());
    }
    // Both are compared as if no lookup was answered. A new policy that never needs an answer has lost its lookup.
    let is_weaker = |one: &Difference| is_unanswered(one) && one.old.verdict == Verdict::Error;
    let is_known = !found.differences.iter().any(is_weaker) || looks_up(&after, &before, &options);
    let known = found.differences.len();
    found.differences.retain(|one| !(is_unanswered(one) && (is_known || !is_weaker(one))));
    if found.differences.len() < known {
        apart.push(Apart::Unanswered);
        found.reasons.push("lookups that fail".into());
    }
    let known = found.differences.len();
    if is_all(&|body| matches!(body, Body::Generate(_))) {
        // They deny nothing, and a generation that fails generates nothing; nor does one that does not apply any more.
        let is_nothing = |one: &Judgement| one.generated.is_empty() || one.verdict == Verdict::Fail;
        // Deletions that trigger something do so once the object is gone.
        let is_later = |one: &Difference| {
            one.environment.operation == "DELETE"
                && one.old.verdict == Verdict::Pass
                && one.old.generated.is_empty()
        };
        found.differences.retain(|one| !(is_later(one) || is_nothing(&one.old) && is_nothing(&one.new)));
        apart.extend((found.differences.len() < known).then_some(Apart::Generation));
    }
    if is_all(&|body| matches!(body, Body::Mutate(_))) {
        found.differences.retain(|one| !fails_or_changes_nothing(one));
        apart.extend((found.differences.len() < known).then_some(Apart::Failing));
    }
    if found.answer != Answer::Differs && is_all(&|body| matches!(body, Body::Validate { .. })) {
        apart.extend(differs_in_errors(&before, &after, &options).then_some(Apart::Errors));
    }
    let mut proof = judged(found, &before, new.contains("DELETE"));
    proof.apart.extend(apart);
    for cause in proof.differences.iter().filter_map(cause) {
        if !proof.apart.contains(&cause) {
            proof.apart.push(cause);
        }
    }
    Ok(Proof { controllers: leaves_controllers, boundary: seen.boundary([&before, &after]), ..proof })
}

/// Whether the old mutation fails, and the new one changes nothing.
fn fails_or_changes_nothing(one: &Difference) -> bool {
    let is_unchanged = |of: &Judgement| of.changed.as_ref().is_none_or(|changed| *changed == one.object);
    one.old.verdict == Verdict::Error && one.new.effect != Effect::Denied && is_unchanged(&one.new)
}

/// Whether one of both fails alone because of a text that is the name of no image.
fn is_no_image(one: &Difference) -> bool {
    let is = |of: &Judgement| {
        let says = |text: &str| of.message.contains(text);
        of.verdict == Verdict::Error && (says("could not parse reference") || says("invalid image '"))
    };
    is(&one.old) != is(&one.new)
}

/// Whether one of both fails alone for want of data from outside.
fn is_unanswered(one: &Difference) -> bool {
    let is = |of: &Judgement| of.verdict == Verdict::Error && of.message.contains(NO_ANSWER);
    is(&one.old) != is(&one.new)
}

/// The most objects that are looked at for that.
const MOST: usize = 5_000;

/// Whether a policy fails for want of data on some object of its comparison with another one.
fn looks_up(side: &Side, other: &Side, options: &Options) -> bool {
    let collector = Collector::new(MOST);
    let deadline = Instant::now().checked_add(Duration::from_secs(3));
    compare_observed(other, side, Options { deadline, ..*options }, Some(&collector));
    collector.into_objects().0.iter().any(|one| {
        let sent = (&one.object, one.old_object.as_ref());
        let said = side.judge_sent(sent, one.environment.operation, &one.around);
        said.is_some_and(|said| said.verdict == Verdict::Error && said.message.contains(NO_ANSWER))
    })
}

/// Whether the objects of a difference, or who sends it, have texts with wildcards.
fn has_wildcards(one: &Difference) -> bool {
    let has = |value: &Value| value.any_text(&|text| text.contains(['*', '?']));
    has(&one.object) || one.old_object.as_ref().is_some_and(has) || has(&one.around.user.info)
}

/// Why there is a difference, by what is in the object, or missing around it.
fn cause(one: &Difference) -> Option<Apart> {
    (one.kind == DifferenceKind::Result && has_namesakes(&one.object, 0)).then_some(Apart::Namesakes)
}

/// Objects that nest deeper are not searched.
const MAX_DEPTH: usize = 64;

/// Whether a list of an object has two items of one name or port, or an empty one.
fn has_namesakes(value: &Value, depth: usize) -> bool {
    if depth > MAX_DEPTH {
        return false;
    }
    match value {
        Value::Map(fields) => fields.values().any(|value| has_namesakes(value, depth + 1)),
        Value::List(items) => {
            let mut names = BTreeSet::new();
            let name = |item: &Value| {
                let port = item.get("containerPort").map(|port| {
                    (crate::value::print::display(port).to_string(), item.text_at(&["protocol"]).to_string())
                });
                port.or_else(|| Some((item.get("name")?.as_str()?.to_string(), String::new())))
            };
            items.iter().filter_map(name).any(|name| !names.insert(name))
                || items.iter().any(|item| item.as_map().is_some_and(crate::value::Map::is_empty))
                || items.iter().any(|item| has_namesakes(item, depth + 1))
        }
        _ => false,
    }
}

/// How many objects of a rule are evaluated to distinguish errors from violations.
const FEW: usize = 200;

/// Whether one policy fails where the other one is violated, as far as a few objects show it.
fn differs_in_errors(before: &Side, after: &Side, options: &Options) -> bool {
    let deadline = Instant::now().checked_add(Duration::from_millis(300));
    let own = Options { objects: options.objects.min(FEW), deadline, errors: true, ..*options };
    let found = compare(before, after, own);
    let is_error = |one: &Judgement| one.verdict == Verdict::Error;
    found
        .differences
        .iter()
        .any(|one| one.universe != Universe::Files && is_error(&one.old) != is_error(&one.new))
}

/// Whether a policy and what takes its place can be used, where what they do cannot be compared.
///
/// # Errors
/// A side cannot be used.
pub fn usable(file: &str, old: &str, new: &str) -> Result<(), SideError> {
    Side::new(policies(file, old), file)?;
    let after = Side::new(policies("migrated", new), "the migrated policy")?;
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

/// Counts apart what is no difference in practice.
pub(crate) fn judged(found: Comparison, old: &Side, selects_deletions: bool) -> Proof {
    let (mut differences, mut in_files, mut deletions) = (Vec::new(), 0, false);
    let mut existing = found.existing.is_some();
    for one in found.differences {
        match one.universe {
            Universe::Files => in_files += 1,
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
        apart: Vec::new(),
        objects: found.objects,
        boundary: Vec::new(),
    }
}

/// Whether the old policy allows an update alone because the object was a violation before.
fn allows_existing(old: &Side, difference: &Difference) -> bool {
    let Some(former) = &difference.old_object else { return false };
    let violates =
        |object| old.judge_object(object, "CREATE").is_some_and(|said| said.verdict.is_violation());
    let says_so = difference.old.verdict == Verdict::Skip && difference.old.message.contains(EXISTING);
    difference.is_stricter() && (says_so || violates(former) && violates(&difference.object))
}

/// What a rule says of an update that it allows because the object was a violation before.
const EXISTING: &str = "pre-existing violations are allowed";

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
    fn a_policy_that_lost_a_lookup_differs_and_one_that_needs_it_less_often_does_not() {
        let old = OLD.replace(
            "validate: {deny: {conditions: [{key: \"{{request.object.data.a || 'x'}}\", operator: Equals, value: b}]}}",
            "context: [{name: all, apiCall: {urlPath: /api/v1/namespaces, jmesPath: 'items[]'}}], validate: {deny: {conditions: {all: [{key: \"{{ length(all) }}\", operator: \
             GreaterThan, value: 3}, {key: \"{{request.object.data.a || 'x'}}\", operator: Equals, value: b}]}}}",
        );
        assert_ne!(old, OLD);
        let lost =
            prove("p.yaml", &old, &new("object.?data.?a.orValue('x') != 'b'"), Limits::default(), false);
        assert_eq!(lost.unwrap().answer, Answer::Differs);
        let rare = "object.?data.?a.orValue('x') != 'b' || dyn(resource.list('v1', 'namespaces', '')).items.size() <= 3";
        let rare = prove("p.yaml", &old, &new(rare), Limits::default(), false).unwrap();
        assert!(!matches!(rare.answer, Answer::Differs), "{rare:?}");
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
