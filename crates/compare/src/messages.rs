//! What violations say.
//!
//! In: two sides, and the objects that a comparison of them evaluated, if there was one that looked
//! at objects for every rule. Out: [`OtherMessages`]: objects that violate both, whose messages are
//! not the same, one for each pair of rules. They change no answer. Messages are those of the
//! policies' authors: what Kyverno says around them is left out, and so are the rules of results
//! that have none. Semantics: `docs/reference/diff.md`, "Answers".

use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet};

use ephor_value::Value;
use ephor_value::clock;
use ephor_value::print::json;

use crate::admitted::view::{AdmittedView, seen_in_clusters};
use crate::compare::compare_observed;
use crate::model::environment::Environment;
use crate::model::limits::MAX_WITH_MESSAGES;
use crate::model::observer::{Collector, Evaluated};
use crate::model::options::Options;
use crate::model::request::{Case, request};
use crate::model::verdict::Verdict;
use crate::search::findings::written_name;
use crate::sides::side::Side;

/// An object that violates both sides, with what they say of it.
#[derive(Clone, Debug)]
pub struct OtherMessages {
    /// Of which kind it is, and what is done with it.
    pub environment: Environment,
    /// The object.
    pub object: Value,
    /// What the old side says.
    pub old: Vec<MessagePair>,
    /// What the new side says.
    pub new: Vec<MessagePair>,
}

/// The message of a violation.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct MessagePair {
    /// The policy.
    pub policy: String,
    /// The rule; empty for policies whose rules have no names.
    pub rule: String,
    /// The message, as its author wrote it, with variables filled in.
    pub message: String,
}

/// The objects on which messages are not the same, small ones first; one for each pair of rules.
pub fn messages(old: &Side, new: &Side, options: Options) -> Vec<OtherMessages> {
    let collector = Collector::new(MAX_WITH_MESSAGES);
    // Rules that are the same but for their messages are evaluated, too.
    compare_observed(old, new, Options { same_rules: false, ..options }, Some(&collector));
    of_objects([old, new], options, collector.into_objects().0)
}

/// The same, after a comparison both ways with these options that a collector of
/// [`MAX_WITH_MESSAGES`] objects observed.
pub fn messages_after(old: &Side, new: &Side, options: Options, seen: Collector) -> Vec<OtherMessages> {
    match seen.is_partial() {
        true => messages(old, new, options),
        false => of_objects([old, new], options, seen.into_objects().0),
    }
}

fn of_objects(sides: [&Side; 2], options: Options, objects: Vec<Evaluated>) -> Vec<OtherMessages> {
    let is_late = || clock::has_passed(options.deadline);
    let mut found: BTreeMap<Vec<[String; 3]>, OtherMessages> = BTreeMap::new();
    for evaluated in objects.into_iter().take_while(|_| !is_late()) {
        if let Some(one) = of_object(sides, evaluated) {
            let by =
                |said: &MessagePair, side: &str| [side.to_string(), said.policy.clone(), said.rule.clone()];
            let key = one.old.iter().map(|s| by(s, "old")).chain(one.new.iter().map(|s| by(s, "new")));
            let known = found.entry(key.collect()).or_insert_with(|| one.clone());
            if smaller(&one.object, &known.object) == Ordering::Less {
                *known = one;
            }
        }
    }
    // What single rules say is enough, where more of them say the same of other objects.
    let mut all: Vec<OtherMessages> = found.into_values().collect();
    let rank = |one: &OtherMessages| {
        let mut said = one.old.iter().chain(&one.new);
        // Rules as they are written come before those that are generated of them.
        (one.old.len() + one.new.len(), said.any(|said| written_name(&said.rule) != said.rule))
    };
    all.sort_by(|a, b| rank(a).cmp(&rank(b)).then(smaller(&a.object, &b.object)));
    let mut shown: BTreeSet<MessagePair> = BTreeSet::new();
    all.retain(|one| {
        let is_new =
            one.old.iter().chain(&one.new).any(|said| !shown.iter().any(|known| is_same_rule(known, said)));
        shown.extend(one.old.iter().chain(&one.new).cloned());
        is_new
    });
    all
}

fn is_same_rule(a: &MessagePair, b: &MessagePair) -> bool {
    (&a.policy, written_name(&a.rule)) == (&b.policy, written_name(&b.rule))
}

fn smaller(a: &Value, b: &Value) -> Ordering {
    let [a, b] = [a, b].map(json);
    a.len().cmp(&b.len()).then(a.cmp(&b))
}

/// What both sides say of an object, where that is not the same; nothing where one is not violated,
/// or cannot be evaluated.
fn of_object(sides: [&Side; 2], evaluated: Evaluated) -> Option<OtherMessages> {
    let Evaluated { environment, object, old_object, around } = evaluated;
    let case = Case { object, old: old_object, around };
    let case = match seen_in_clusters(&environment, &case) {
        AdmittedView::Admitted(seen) => seen,
        AdmittedView::Unknown => case,
        AdmittedView::MissingField(_) | AdmittedView::InvalidText | AdmittedView::Refused(_) => return None,
    };
    let request = request(&environment, &case)?;
    let [old, new] = sides.map(|side| {
        let outcome = side.engine.evaluate(&request);
        let mut all = Vec::new();
        for (policy, result) in outcome.results() {
            match Verdict::of(result.status) {
                Verdict::Fail => all.push(MessagePair {
                    policy: policy.name.to_string(),
                    rule: result.rule.to_string(),
                    message: authored(&result.message, &result.rule).to_string(),
                }),
                Verdict::Error => return Vec::new(),
                _ => {}
            }
        }
        all
    });
    let texts =
        |said: &[MessagePair]| said.iter().map(|one| one.message.clone()).collect::<BTreeSet<String>>();
    let differs = !old.is_empty() && !new.is_empty() && texts(&old) != texts(&new);
    differs.then_some(OtherMessages { environment, object: case.object, old, new })
}

/// A message without what Kyverno says around it: which kind of rule it is, and where in the object
/// it failed.
fn authored<'t>(message: &'t str, rule: &str) -> &'t str {
    let mut text = message.trim();
    for before in ["validation failure:", "validation error:"] {
        text = text.strip_prefix(before).map_or(text, str::trim_start);
    }
    for place in ["failed at path", "execution error"] {
        let after = format!(" rule {rule} {place}");
        text = text.find(&after).and_then(|at| text.get(..at)).unwrap_or(text);
    }
    text.trim_end().trim_end_matches('.')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_kyverno_says_around_a_message_is_left_out() {
        let pattern =
            "validation error: An image tag is required. rule require-tag failed at path /spec/image/";
        assert_eq!(authored(pattern, "require-tag"), "An image tag is required");
        assert_eq!(authored("validation failure: No.", "r"), "No");
        assert_eq!(authored("the rule r failed at last", "r"), "the rule r failed at last");
    }
}
