//! The answer about two policies of which one takes the other's place: what `migrate` and `diff`
//! both say.
//!
//! In: two sides. Out: a [`Claim`]: whether they mean the same, and for what that is not said. Some
//! differences do not make them differ, and are named: those on objects that exist in files only;
//! on deletions, for which rules of ClusterPolicies are evaluated unless they name operations; on
//! ReplicationControllers, for which policies in CEL generate no rules; on updates of objects that
//! are violations already; and the others of [`Apart`]. A violation because of an error is a
//! violation.

use std::collections::BTreeSet;
use std::time::Duration;

use ephor_ir::rule::Body;
use ephor_ir::{Matcher, Rule};
use ephor_value::Value;
use ephor_value::clock;

use crate::accepted::AcceptedClass;
use crate::compare::{compare, compare_observed};
use crate::effects::item_order::may_differ;
use crate::model::answer::{Answer, Comparison, Difference, DifferenceKind, Universe};
use crate::model::limits::{MAX_CLAIM_DEPTH, MAX_MORE_OBJECTS, MAX_OBJECTS_FOR_ERRORS};
use crate::model::observer::{Collector, Observer};
use crate::model::options::{KindFilter, Options};
use crate::model::question::{EQUIVALENT, EQUIVALENT_BUT_FOR_ERRORS};
use crate::model::verdict::{Effect, Judgement, Verdict};
use crate::search::any_inputs::DOUBT;
use crate::search::sample::REFUSED;
use crate::sides::environments::environments;
use crate::sides::lookup_stub::NO_ANSWER;
use crate::sides::side::Side;

/// The answer about a policy and what takes its place.
#[derive(Clone, Debug)]
pub struct Claim {
    /// The answer, without what is counted apart.
    pub answer: Answer,
    /// The differences that count.
    pub differences: Vec<Difference>,
    /// On how many kinds of objects they differ in files only.
    pub in_files: usize,
    /// The differences that are counted apart, in the order of [`Apart`].
    pub apart: BTreeSet<Apart>,
    /// How many objects were evaluated.
    pub objects: usize,
}

/// A difference that does not count, or the cause of one that does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Apart {
    /// Only the old policy is evaluated on deletions.
    Deletions,
    /// Only the old policy is evaluated on ReplicationControllers, by a rule that is generated for
    /// controllers of pods.
    Controllers,
    /// Only the old policy allows updates of objects that are violations already.
    Existing,
    /// One finds a violation where the other one fails.
    Errors,
    /// A mutation that fails changes nothing, but may be reported or denied otherwise.
    Failing,
    /// A generation that fails is reported otherwise.
    Generation,
    /// A merge differs on lists with two items of one name or with an empty one; that difference
    /// counts.
    Namesakes,
    /// The name of an image is none for one of both.
    Images,
    /// Where data cannot be read one fails, and the other one does not need them.
    Unanswered,
    /// A value with wildcards is a pattern for the old policy alone.
    Wildcards,
    /// Of several labels or annotations that a wildcard matches the old policy reads one.
    Keys,
    /// The items of a list have another order.
    Order,
}

impl Apart {
    /// What an answer does not speak of; nothing where the answer itself says so, by its reasons or
    /// by what it is relative to, and where commands have a line for it: updates of what violates
    /// already are refused by the new side, not let through.
    pub fn name(self) -> Option<&'static str> {
        Some(match self {
            Apart::Deletions => "deletions",
            Apart::Controllers => "ReplicationControllers",
            Apart::Errors => "violations because of an error",
            Apart::Failing => "mutations that fail",
            Apart::Generation => "generations that fail",
            Apart::Order => "the order of items",
            Apart::Existing
            | Apart::Namesakes
            | Apart::Images
            | Apart::Unanswered
            | Apart::Wildcards
            | Apart::Keys => return None,
        })
    }

    /// The class of the differences that `diff` shows of it.
    pub fn class(self) -> Option<AcceptedClass> {
        match self {
            Apart::Deletions => Some(AcceptedClass::Operation(DELETE.into())),
            Apart::Controllers => Some(AcceptedClass::ObjectKind(LEFT_KIND.into())),
            Apart::Errors | Apart::Failing | Apart::Generation => Some(AcceptedClass::Failing),
            _ => None,
        }
    }

    /// What a reader should know.
    pub fn text(self) -> &'static str {
        match self {
            Apart::Deletions => {
                "deletions: the old policy is evaluated on them, too; the new one names its operations"
            }
            Apart::Controllers => "ReplicationControllers: only the old policy is evaluated on them",
            Apart::Existing => "updates of objects that are violations already: the old policy allows them",
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
            Apart::Order => {
                "the order of items: a merge puts those that it changes or adds in front of the others of their list, a policy in CEL leaves them in their places and puts new ones last; it counts for the first container, for init containers, and for `env` that refers to other `env`"
            }
            Apart::Generation => {
                "generations that fail: nothing is generated by either, but only one reports an error"
            }
        }
    }
}

/// The factor by which more objects are evaluated where that may give a proof.
const MORE_OBJECTS_FACTOR: usize = 6;

/// A kind of pod controllers for which rules of ClusterPolicies are generated, and those of
/// policies in CEL are not.
pub const LEFT_KIND: &str = "ReplicationController";

impl Claim {
    /// An answer without a comparison.
    pub fn without(answer: Answer) -> Claim {
        Claim { answer, differences: Vec::new(), in_files: 0, apart: BTreeSet::new(), objects: 0 }
    }

    /// What the answer does not speak of, in words for [`but_for`].
    pub fn but_for(&self) -> Vec<&'static str> {
        self.left_out().filter_map(Apart::name).collect()
    }

    /// What the answer does not speak of.
    pub fn left_out(&self) -> impl Iterator<Item = Apart> {
        let is_about_rest = !matches!(self.answer, Answer::Differs | Answer::Incomparable(_));
        self.apart.iter().copied().filter(move |one| is_about_rest && one.name().is_some())
    }

    /// Whether a difference is one of the failures that are counted apart.
    pub fn is_failing(&self, one: &Difference) -> bool {
        let has = |apart: Apart| self.apart.contains(&apart);
        has(Apart::Failing) && fails_or_changes_nothing(one)
            || has(Apart::Generation) && generates_nothing(one)
            || has(Apart::Errors) && one.kind == DifferenceKind::Errors
    }

    /// Compares a policy with what takes its place.
    pub fn about(before: &Side, after: &Side, options: Options, observer: Option<&dyn Observer>) -> Claim {
        let [before, after] = [before, after].map(|side| side.copy().with_one_key());
        let found = claimed([&before, &after], options, observer);
        let is_in_doubt = matches!(&found.answer, Answer::Tested(all) if all.iter().any(|why| why.starts_with(DOUBT) || why == REFUSED));
        let is_by_wildcard = !found.differences.is_empty() && found.differences.iter().all(has_wildcards);
        if !is_in_doubt && !is_by_wildcard {
            return found;
        }
        // Whether they differ in anything else.
        let [before, after] = [before, after].map(Side::without_patterns);
        let mut other = claimed([&before, &after], options, observer);
        let is_better = match &other.answer {
            Answer::Proved | Answer::ProvedRelative(_) => true,
            Answer::Tested(_) => is_by_wildcard,
            _ => false,
        };
        if !is_better {
            return found;
        }
        other.apart.insert(Apart::Wildcards);
        other
    }

    /// Counts apart what is no difference in practice.
    pub fn of(found: Comparison, [before, after]: [&Side; 2]) -> Claim {
        let (mut differences, mut in_files, mut apart) = (Vec::new(), 0, BTreeSet::new());
        apart.extend(found.existing.map(|_| Apart::Existing));
        apart.extend((found.reordered || may_differ([before, after])).then_some(Apart::Order));
        let leaves_deletions = leaves_deletions(before, after);
        for one in found.differences {
            match one.universe {
                Universe::Files => in_files += 1,
                _ if one.environment.operation == DELETE && leaves_deletions => {
                    apart.insert(Apart::Deletions);
                }
                _ if allows_existing(before, &one) => {
                    apart.insert(Apart::Existing);
                }
                _ => differences.push(one),
            }
        }
        let answer = match found.answer {
            Answer::Differs if differences.is_empty() => {
                Answer::without_difference(found.reasons, found.relative_to)
            }
            other => other,
        };
        Claim { answer, differences, in_files, apart, objects: found.objects }
    }
}

fn claimed([before, after]: [&Side; 2], options: Options, observer: Option<&dyn Observer>) -> Claim {
    let (options, leaves) = Options { question: EQUIVALENT_BUT_FOR_ERRORS, ..options }.of_both(before, after);
    let mut found = compare_observed(before, after, options, observer);
    if found.needs_more_objects() {
        let [objects, evaluations] =
            [options.objects, options.evaluations].map(|n| n.saturating_mul(MORE_OBJECTS_FACTOR));
        found = compare_observed(before, after, Options { objects, evaluations, ..options }, observer);
    }
    let mut apart = BTreeSet::new();
    if before.has_ambiguous_wildcard_keys() {
        apart.insert(Apart::Keys);
    }
    let is_all = |is: &dyn Fn(&Body) -> bool| {
        before.policies().iter().flat_map(|policy| policy.all_rules()).all(|rule| is(&rule.body))
    };
    let known = found.differences.len();
    found.differences.retain(|one| !is_no_image(one));
    if found.differences.len() < known {
        apart.insert(Apart::Images);
        found.reasons.push("names that are none of images".into());
    }
    // Both are compared as if no lookup was answered. A new policy that never needs an answer has
    // lost its lookup.
    let is_weaker = |one: &Difference| is_unanswered(one) && one.old.verdict == Verdict::Error;
    let is_known = !found.differences.iter().any(is_weaker) || looks_up(after, before, &options);
    let known = found.differences.len();
    found.differences.retain(|one| !(is_unanswered(one) && (is_known || !is_weaker(one))));
    if found.differences.len() < known {
        apart.insert(Apart::Unanswered);
        found.reasons.push("lookups that fail".into());
    }
    let known = found.differences.len();
    if is_all(&|body| matches!(body, Body::Generate(_))) {
        // Deletions that trigger something do so once the object is gone.
        let is_later = |one: &Difference| {
            one.environment.operation == DELETE
                && one.old.verdict == Verdict::Pass
                && one.old.generated.is_empty()
        };
        found.differences.retain(|one| !(is_later(one) || generates_nothing(one)));
        apart.extend((found.differences.len() < known).then_some(Apart::Generation));
    }
    if is_all(&|body| matches!(body, Body::Mutate(_))) {
        found.differences.retain(|one| !fails_or_changes_nothing(one));
        apart.extend((found.differences.len() < known).then_some(Apart::Failing));
    }
    if found.answer != Answer::Differs && is_all(&|body| matches!(body, Body::Validate { .. })) {
        apart.extend(differs_in_errors(before, after, &options).then_some(Apart::Errors));
    }
    let mut claim = Claim::of(found, [before, after]);
    claim.apart.extend(apart);
    let causes: Vec<Apart> = claim.differences.iter().filter_map(cause).collect();
    claim.apart.extend(causes);
    if leaves.is_some() {
        let found = compare(before, after, Options { kinds: KindFilter::Only(LEFT_KIND), ..options });
        claim.apart.extend(leaves.filter(|_| !found.answer.is_proved()));
    }
    claim
}

impl Options {
    /// The same without ReplicationControllers, where these concern the old side alone by a rule
    /// that is generated for controllers of pods.
    pub fn of_both(self, before: &Side, after: &Side) -> (Options, Option<Apart>) {
        match leaves_controllers(before, after) {
            true => (Options { kinds: KindFilter::Without(LEFT_KIND), ..self }, Some(Apart::Controllers)),
            false => (self, None),
        }
    }
}

/// What follows the word of an answer: ` but for deletions, ReplicationControllers and mutations
/// that fail`.
pub fn but_for(names: &[&str]) -> String {
    match names {
        [] => String::new(),
        [one] => format!(" but for {one}"),
        [first @ .., last] => format!(" but for {} and {last}", first.join(", ")),
    }
}

/// Whether rules of the old side are evaluated on ReplicationControllers because they are generated
/// for controllers of pods, and none of the new side.
fn leaves_controllers(before: &Side, after: &Side) -> bool {
    let selects = |side: &Side, is_such: fn(&Rule) -> bool| {
        let all = environments([side, side]).0;
        let all: Vec<_> = all.into_iter().filter(|one| &*one.resource.kind == LEFT_KIND).collect();
        let mut rules =
            side.policies().iter().flat_map(|policy| policy.all_rules()).filter(|rule| is_such(rule));
        rules.any(|rule| all.iter().any(|environment| environment.is_about(rule)))
    };
    selects(before, |rule| rule.generated.is_some())
        && !selects(before, |rule| rule.generated.is_none())
        && !selects(after, |_| true)
}

/// Whether deletions are a difference of their own: the old side has rules for every operation,
/// none for deletions by name, and the new side none at all.
fn leaves_deletions(before: &Side, after: &Side) -> bool {
    !names_deletions(before).any(|named| named == Some(true))
        && !names_deletions(after).any(|named| named != Some(false))
}

const DELETE: &str = "DELETE";

/// Whether filters of rules have deletions among the operations that they name; `None` for a filter
/// that names none and is for all of them.
fn names_deletions(side: &Side) -> impl Iterator<Item = Option<bool>> {
    let rules = side.policies().iter().flat_map(|policy| policy.all_rules());
    rules.flat_map(|rule| {
        let bound = rule.bound.as_ref().and_then(|bound| bound.constraints.as_ref());
        let own = match &rule.when {
            Matcher::Constraints(constraints) => Some(&**constraints),
            _ => None,
        };
        let constraints = own
            .into_iter()
            .chain(bound)
            .flat_map(|all| all.rules.iter().map(|rule| Some(rule.operations.has(DELETE))));
        let filters = rule.when.filters().iter().map(|filter| match &*filter.operations {
            [] => None,
            some => Some(some.iter().any(|one| **one == *DELETE)),
        });
        constraints.chain(filters)
    })
}

/// Whether neither generates anything: they deny nothing, and a generation that fails generates
/// nothing; nor does one that does not apply any more.
fn generates_nothing(one: &Difference) -> bool {
    let is_nothing = |of: &Judgement| of.generated.is_empty() || of.verdict == Verdict::Fail;
    is_nothing(&one.old) && is_nothing(&one.new)
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

/// Whether one of both fails alone for want of external data.
fn is_unanswered(one: &Difference) -> bool {
    let is = |of: &Judgement| of.verdict == Verdict::Error && of.message.contains(NO_ANSWER);
    is(&one.old) != is(&one.new)
}

/// Whether a policy fails for want of data on some object of its comparison with another one.
fn looks_up(side: &Side, other: &Side, options: &Options) -> bool {
    let collector = Collector::new(MAX_MORE_OBJECTS);
    let deadline = clock::after(Duration::from_secs(3));
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

/// Whether a list of an object has two items of one name or port, or an empty one.
fn has_namesakes(value: &Value, depth: usize) -> bool {
    if depth > MAX_CLAIM_DEPTH {
        return false;
    }
    match value {
        Value::Map(fields) => fields.values().any(|value| has_namesakes(value, depth + 1)),
        Value::List(items) => {
            let mut names = BTreeSet::new();
            let name = |item: &Value| {
                let port = item.get("containerPort").map(|port| {
                    (ephor_value::print::display(port).to_string(), item.text_at(&["protocol"]).to_string())
                });
                port.or_else(|| Some((item.get("name")?.as_str()?.to_string(), String::new())))
            };
            items.iter().filter_map(name).any(|name| !names.insert(name))
                || items.iter().any(|item| item.as_map().is_some_and(ephor_value::Map::is_empty))
                || items.iter().any(|item| has_namesakes(item, depth + 1))
        }
        _ => false,
    }
}

/// Whether one policy fails where the other one is violated, as far as a few objects show it.
fn differs_in_errors(before: &Side, after: &Side, options: &Options) -> bool {
    let deadline = clock::after(Duration::from_millis(300));
    let own = Options {
        objects: options.objects.min(MAX_OBJECTS_FOR_ERRORS),
        deadline,
        question: EQUIVALENT,
        ..*options
    };
    let found = compare(before, after, own);
    let is_error = |one: &Judgement| one.verdict == Verdict::Error;
    found
        .differences
        .iter()
        .any(|one| one.universe != Universe::Files && is_error(&one.old) != is_error(&one.new))
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
