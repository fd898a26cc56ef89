//! Findings: what a comparison found, and its answer.
//!
//! In: objects on which both sides as a whole differ, and why agreement elsewhere is no proof. Out:
//! for each kind of difference the smallest object, and the [`Comparison`].

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use ephor_value::Value;

use crate::admitted::view::{AdmittedView, seen_in_clusters};
use crate::model::answer::{Answer, Comparison, Difference, DifferenceKind, Universe};
use crate::model::environment::Environment;
use crate::model::path::is_value;
use crate::model::request::Case;
use crate::model::verdict::{Judgement, Verdict};
use crate::search::compared::Compared;
use crate::search::shrink::{renamed, shrink};
use crate::sides::side::Side;
use crate::units::cached::CachedUnit;

/// The kind of difference when only the side `at` is violated.
fn of_violations(at: usize) -> DifferenceKind {
    if at == 0 { DifferenceKind::Weaker } else { DifferenceKind::Stricter }
}

/// The kind of object or subresource of requests, and whether they are deletions.
fn place(environment: &Environment) -> (String, bool) {
    let of = format!("{}/{}", environment.resource.kind, environment.subresource);
    (of, environment.operation == "DELETE")
}

/// What identifies a kind of difference: how, on which kind, whether in deletions, and by which
/// rules.
type Key = (DifferenceKind, String, bool, [Option<String>; 2]);

/// What a comparison found so far.
#[derive(Default)]
pub(crate) struct Findings {
    /// Why agreement on all objects that were tried is no proof.
    pub reasons: BTreeSet<String>,
    /// The external data that both sides read in the same way, and other assumptions.
    pub relative_to: BTreeSet<String>,
    found: BTreeMap<Key, Difference>,
}

impl Findings {
    /// How many differences are known.
    pub fn differences(&self) -> usize {
        self.found.len()
    }

    /// Whether both sides are the same so far, without reasons to doubt it or assumptions.
    pub fn is_proof(&self) -> bool {
        self.found.is_empty() && self.reasons.is_empty() && self.relative_to.is_empty()
    }

    /// Keeps a difference that is the smallest of its kind.
    pub fn note(
        &mut self,
        environment: &Environment,
        case: Case,
        universe: Universe,
        (kind, old, new): (DifferenceKind, Judgement, Judgement),
    ) {
        let by = |judgement: &Judgement| {
            let is_violation = judgement.verdict.is_violation();
            judgement.by.as_ref().filter(|_| is_violation).map(|(policy, rule)| format!("{policy}/{rule}"))
        };
        // A changed action is one difference, whatever it is about.
        let key = match kind {
            DifferenceKind::Action => {
                let effect = |judgement: &Judgement| Some(judgement.effect.name().to_string());
                (kind, String::new(), false, [effect(&old), effect(&new)])
            }
            _ => {
                let (of, is_deletion) = place(environment);
                (kind, of, is_deletion, [by(&old), by(&new)])
            }
        };
        let rank = (universe, is_without_effect(&case.object, [&old, &new]), size(&case.object));
        let is_better = self.found.get(&key).is_none_or(|known| {
            let is_without = is_without_effect(&known.object, [&known.old, &known.new]);
            rank < (known.universe, is_without, size(&known.object))
        });
        if is_better {
            let environment = environment.clone();
            let Case { object, old: old_object, around } = case;
            let also = Vec::new();
            let difference =
                Difference { kind, universe, environment, also, object, old_object, around, old, new };
            self.found.insert(key, difference);
        }
    }

    /// Whether an object in clusters is known, of requests of this kind, that violates the rule of
    /// a unit and not the other side: what its other units add is a smaller one.
    pub fn is_shown(&self, environment: &Environment, (unit, at): (&CachedUnit, usize)) -> bool {
        let kind = of_violations(at);
        let [policy] = unit.engine.set().policies() else { return false };
        let [rule] = &*policy.rules else { return false };
        let rule = format!("{}/{}", policy.name, rule.name);
        let place = place(environment);
        self.found.iter().any(|((known, of, is_deletion, by), one)| {
            (*known, of, *is_deletion) == (kind, &place.0, place.1)
                && by.get(at).is_some_and(|by| by.as_deref() == Some(&rule))
                && one.universe != Universe::Files
        })
    }

    /// Whether an object in clusters is known that violates the side `at` and not the other.
    pub fn is_known_to_differ(&self, at: usize) -> bool {
        let kind = of_violations(at);
        let is_such = |one: &Difference| {
            one.kind == kind && one.universe != Universe::Files && one.environment.operation != "DELETE"
        };
        self.found.values().any(is_such)
    }

    /// The answer of a comparison; `of`: the kinds, and the number of objects that it evaluated;
    /// `proof_only`: differences are not shrunk.
    pub fn comparison(
        self,
        compared: &Compared<'_>,
        of: (Vec<String>, usize),
        proof_only: bool,
    ) -> Comparison {
        let (kinds, objects) = of;
        let mut differences: Vec<Difference> = Vec::new();
        for mut difference in self.found.into_values() {
            if proof_only {
                differences.push(difference);
                continue;
            }
            let environment = difference.environment.clone();
            let (kind, universe) = (difference.kind, difference.universe);
            let old_object = difference.old_object.clone();
            let around = Arc::clone(&difference.around);
            let first = Case { object: difference.object.clone(), old: old_object, around };
            let of = |object: &Value| first.with_object(object.clone());
            let is_refused = matches!(seen_in_clusters(&environment, &first), AdmittedView::MissingField(_));
            // Verdicts on an object in clusters are those on the object as it is written, too.
            let is_in_clusters = universe == Universe::Cluster;
            if is_in_clusters
                && !compared.is_judged_alike(&environment, &first)
                && let AdmittedView::Admitted(seen) = seen_in_clusters(&environment, &first)
            {
                difference.object = seen.object;
            }
            // What changes something does so in the end, too.
            let has_effect = |object: &Value, sides: [&Judgement; 2]| !is_without_effect(object, sides);
            let keeps_effect = has_effect(&difference.object, [&difference.old, &difference.new]);
            let stays_alike =
                is_in_clusters && compared.is_judged_alike(&environment, &of(&difference.object));
            let mut shows = |object: &Value| {
                let case = of(object);
                // What no API server admits for want of a field says less.
                if !is_refused
                    && matches!(seen_in_clusters(&environment, &case), AdmittedView::MissingField(_))
                {
                    return false;
                }
                !object.text_at(&["metadata", "name"]).is_empty()
                    && compared.differ(&environment, &case).is_some_and(|(same, old, new)| {
                        same == kind && (!keeps_effect || has_effect(object, [&old, &new]))
                    })
                    && compared.universe(&environment, &seen_in_clusters(&environment, &case), kind)
                        == universe
                    && (!stays_alike || compared.is_judged_alike(&environment, &case))
            };
            difference.object = shrink(&difference.object, &mut shows);
            difference.object = renamed(&difference.object, &is_value, &mut shows);
            let case = of(&difference.object);
            difference.old_object.clone_from(&case.old);
            if let Some((_, old, new)) = compared.differ(&environment, &case) {
                (difference.old, difference.new) = (old, new);
            }
            let is_known = |known: &Difference| {
                known.kind == difference.kind
                    && known.object == difference.object
                    && (known.environment.operation == "DELETE")
                        == (difference.environment.operation == "DELETE")
            };
            if differences.iter().any(is_known) {
                continue;
            }
            // Kinds that rules treat alike are one difference.
            match differences.iter_mut().find(|known| is_alike(known, &difference)) {
                None => differences.push(difference),
                Some(known) => {
                    if size(&difference.object) < size(&known.object) {
                        std::mem::swap(known, &mut difference);
                        known.also = std::mem::take(&mut difference.also);
                    }
                    let kind = difference.environment.resource.kind.to_string();
                    if kind != *known.environment.resource.kind && !known.also.contains(&kind) {
                        known.also.push(kind);
                    }
                }
            }
        }
        differences
            .sort_by_key(|d| (d.universe, d.kind, d.environment.operation == "DELETE", size(&d.object)));
        let differs = differences.iter().any(|d| d.universe != Universe::Files);
        let reasons: Vec<String> = self.reasons.into_iter().collect();
        let relative_to: Vec<String> = self.relative_to.into_iter().collect();
        let answer = match differs {
            true => Answer::Differs,
            false => Answer::without_difference(reasons.clone(), relative_to.clone()),
        };
        let allows = compared.sides.map(Side::allows_existing);
        let existing = match allows {
            [true, false] => Some("old"),
            [false, true] => Some("new"),
            _ => None,
        };
        let reordered = compared.is_reordered();
        Comparison { answer, differences, existing, reordered, objects, kinds, reasons, relative_to }
    }
}

/// Whether one side fails where the other one leaves the object as it is: of several differences of
/// one kind this is the last to be shown.
fn is_without_effect(object: &Value, sides: [&Judgement; 2]) -> bool {
    let fails = |one: &Judgement| one.verdict == Verdict::Error;
    let changes = |one: &Judgement| {
        one.changed.as_ref().is_some_and(|changed| !changed.is_null() && !changed.json_eq(object))
    };
    sides.into_iter().any(fails) && !sides.into_iter().any(changes)
}

/// How large an object is.
pub(crate) fn size(value: &Value) -> usize {
    ephor_value::print::json(value).len()
}

/// The name of a rule without what generated rules for controllers have in front.
pub(crate) fn written_name(rule: &str) -> &str {
    let rule = rule.strip_prefix("autogen-").unwrap_or(rule);
    rule.strip_prefix("cronjob-").unwrap_or(rule)
}

/// Whether two differences are one that shows on several kinds: generated rules differ as the
/// written ones do.
fn is_alike(a: &Difference, b: &Difference) -> bool {
    let of = |judgement: &Judgement| {
        let by =
            judgement.by.as_ref().map(|(policy, rule)| (policy.to_string(), written_name(rule).to_string()));
        (judgement.verdict, judgement.effect, by)
    };
    (a.kind, a.universe, a.environment.operation, &a.environment.subresource)
        == (b.kind, b.universe, b.environment.operation, &b.environment.subresource)
        && [of(&a.old), of(&a.new)] == [of(&b.old), of(&b.new)]
}
