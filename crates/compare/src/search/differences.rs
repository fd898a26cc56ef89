//! Differences: objects on which both sides as a whole say different things.
//!
//! In: cases that a unit and others disagree on. Out: for each kind of difference the smallest
//! object, and what a comparison came to.

use std::sync::Arc;

use ephor_kubernetes::admitted::has_nameless;
use ephor_value::{Map, Value};

use crate::admitted::view::{AdmittedView, before_ephemeral, seen_in_clusters};
use crate::effects::canonical_object::normal;
use crate::model::answer::{Answer, Comparison, Difference, DifferenceKind, Universe};
use crate::model::environment::Environment;
use crate::model::path::is_value;
use crate::model::question::Consequences;
use crate::model::request::{Case, request};
use crate::model::verdict::{Effect, Judgement, Verdict};
use crate::model::world::within;
use crate::search::run::Run;
use crate::search::shrink::{renamed, shrink};
use crate::sides::side::Side;
use crate::units::cached::CachedUnit;

/// What is assumed where an API server refuses both results.
const UNMENDED: &str = "no other webhook names an item of a list that has no name";

/// The kind of difference when only the side `at` is violated.
fn of_violations(at: usize) -> DifferenceKind {
    if at == 0 { DifferenceKind::Weaker } else { DifferenceKind::Stricter }
}

/// The kind of object or subresource of requests, and whether they are deletions.
fn place(environment: &Environment) -> (String, bool) {
    let of = format!("{}/{}", environment.resource.kind, environment.subresource);
    (of, environment.operation == "DELETE")
}

/// How both sides as a whole differ on an object.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Witnessed {
    /// Whether they do.
    pub differs: bool,
    /// Whether they do in clusters so that the violation of the one side, or of the other, is what
    /// differs.
    pub is_real: [bool; 2],
    /// Whether an API server admits the object, and refuses the result of either side: then nothing
    /// else differs.
    pub refuses_both: bool,
}

impl Witnessed {
    fn add(&mut self, (kind, old, new): &(DifferenceKind, Judgement, Judgement), universe: Universe) {
        self.differs = true;
        for (at, own) in [old, new].into_iter().enumerate() {
            // Where both are violated, the one that fails differs: the other is covered by it.
            let is_own = *kind != DifferenceKind::Errors || own.verdict == Verdict::Error;
            self.is_real[at] |= is_own && universe != Universe::Files;
        }
    }
}

impl Run<'_> {
    /// Evaluates both sides as a whole on an object, and on the form in which an API server shows
    /// it where they do not differ in the same way on both.
    pub(crate) fn witness(&mut self, environment: &Environment, case: Case) -> Witnessed {
        let mut found = Witnessed::default();
        if self.one_key.leaves_out(&case.object) {
            return found;
        }
        let as_written = self.differ(environment, &case);
        let seen = seen_in_clusters(environment, &case);
        let universe = as_written.as_ref().map(|(kind, ..)| self.universe(environment, &seen, *kind));
        let as_seen = match (seen, universe) {
            (AdmittedView::Admitted(seen), None | Some(Universe::Files)) => {
                let differ = self.differ(environment, &seen);
                found.refuses_both = differ.as_ref().is_some_and(|one| refuses_both(environment, one));
                self.relative_to.extend(found.refuses_both.then(|| UNMENDED.to_string()));
                differ.filter(|_| !found.refuses_both).map(|differ| (seen, differ))
            }
            _ => None,
        };
        if let (Some(differ), Some(universe)) = (as_written, universe) {
            found.add(&differ, universe);
            self.note(environment, case, universe, differ);
        }
        if let Some((seen, differ)) = as_seen {
            found.add(&differ, Universe::Cluster);
            self.note(environment, seen, Universe::Cluster, differ);
        }
        found
    }

    fn note(
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
    pub(crate) fn is_shown(&self, environment: &Environment, (unit, at): (&CachedUnit, usize)) -> bool {
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
    pub(crate) fn is_known_to_differ(&self, at: usize) -> bool {
        let kind = of_violations(at);
        let is_such = |one: &Difference| {
            one.kind == kind && one.universe != Universe::Files && one.environment.operation != "DELETE"
        };
        self.found.values().any(is_such)
    }

    pub(crate) fn differ(
        &self,
        environment: &Environment,
        case: &Case,
    ) -> Option<(DifferenceKind, Judgement, Judgement)> {
        let request = request(environment, case)?;
        let world = &case.around.world;
        // An update of an object about which nothing is known is none of a violation.
        let is_unknown = environment.operation == "UPDATE" && case.old.is_none();
        let [old, new] = match &self.strict {
            Some(strict) if is_unknown => {
                strict.each_ref().map(|side| within(world, || side.judge(&request)))
            }
            _ => self.sides.map(|side| within(world, || side.judge(&request))),
        };
        // Violations that were there before are a class of their own (`Comparison::existing`).
        let before = before_ephemeral(environment, case);
        if let Some(before) =
            before.as_ref().and_then(|before| crate::search::differences::request(environment, before))
            && (old.verdict.is_violation() || new.verdict.is_violation())
            && self.sides.iter().any(|side| side.judge(&before).verdict.is_violation())
        {
            return None;
        }
        let consequences = Consequences { are_known: self.has_effects, only_generate: self.only_generate };
        if let Some(kind) = self.options.question.difference([&old, &new], consequences) {
            return Some((kind, old, new));
        }
        // What is denied leaves no object.
        let is_denied = |one: &Judgement| one.verdict.is_violation() && one.effect == Effect::Denied;
        if self.has_effects && !self.only_generate && is_denied(&old) && is_denied(&new) {
            return None;
        }
        if !is_same_result(environment, case, &old, &new) {
            return Some((DifferenceKind::Result, old, new));
        }
        if is_reordered(&old, &new) {
            self.reordered.set(true);
        }
        None
    }

    /// Where an object can exist so that the sides differ in the same way.
    fn universe(&self, environment: &Environment, seen: &AdmittedView, kind: DifferenceKind) -> Universe {
        match seen {
            AdmittedView::Unknown => Universe::Any,
            AdmittedView::MissingField(_) | AdmittedView::InvalidText | AdmittedView::Refused(_) => {
                Universe::Files
            }
            AdmittedView::Admitted(seen) => match self.differ(environment, seen) {
                Some(one) if one.0 == kind && !refuses_both(environment, &one) => Universe::Cluster,
                _ => Universe::Files,
            },
        }
    }

    /// Whether the sides give an object the verdicts that they give it in the form in which an API
    /// server shows it.
    fn is_judged_alike(&self, environment: &Environment, case: &Case) -> bool {
        let AdmittedView::Admitted(seen) = seen_in_clusters(environment, case) else { return false };
        let verdicts = |case: &Case| {
            let request = request(environment, case)?;
            let world = &case.around.world;
            Some(self.sides.map(|side| within(world, || side.judge(&request)).verdict))
        };
        verdicts(case) == verdicts(&seen)
    }

    pub(crate) fn end(mut self, kinds: Vec<String>) -> Comparison {
        let found = std::mem::take(&mut self.found);
        let mut differences: Vec<Difference> = Vec::new();
        for mut difference in found.into_values() {
            if self.options.proof_only {
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
                && !self.is_judged_alike(&environment, &first)
                && let AdmittedView::Admitted(seen) = seen_in_clusters(&environment, &first)
            {
                difference.object = seen.object;
            }
            // What changes something does so in the end, too.
            let has_effect = |object: &Value, sides: [&Judgement; 2]| !is_without_effect(object, sides);
            let keeps_effect = has_effect(&difference.object, [&difference.old, &difference.new]);
            let stays_alike = is_in_clusters && self.is_judged_alike(&environment, &of(&difference.object));
            let mut shows = |object: &Value| {
                let case = of(object);
                // What no API server admits for want of a field says less.
                if !is_refused
                    && matches!(seen_in_clusters(&environment, &case), AdmittedView::MissingField(_))
                {
                    return false;
                }
                !object.text_at(&["metadata", "name"]).is_empty()
                    && self.differ(&environment, &case).is_some_and(|(same, old, new)| {
                        same == kind && (!keeps_effect || has_effect(object, [&old, &new]))
                    })
                    && self.universe(&environment, &seen_in_clusters(&environment, &case), kind) == universe
                    && (!stays_alike || self.is_judged_alike(&environment, &case))
            };
            difference.object = shrink(&difference.object, &mut shows);
            difference.object = renamed(&difference.object, &is_value, &mut shows);
            let case = of(&difference.object);
            difference.old_object.clone_from(&case.old);
            if let Some((_, old, new)) = self.differ(&environment, &case) {
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
        let allows = self.sides.map(Side::allows_existing);
        let existing = match allows {
            [true, false] => Some("old"),
            [false, true] => Some("new"),
            _ => None,
        };
        let objects = self.objects;
        let reordered = self.reordered.get();
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

/// Whether an API server refuses what either side makes of an object that it admits, for want of
/// the name of an item: nothing is stored, whatever differs.
fn refuses_both(
    environment: &Environment,
    (kind, old, new): &(DifferenceKind, Judgement, Judgement),
) -> bool {
    let is_refused = |one: &Judgement| {
        one.changed.as_ref().is_some_and(|result| has_nameless(&environment.object, result))
    };
    *kind == DifferenceKind::Result && is_refused(old) && is_refused(new)
}

/// Whether rules changed and generated the same objects.
fn is_same_result(environment: &Environment, case: &Case, old: &Judgement, new: &Judgement) -> bool {
    let changed = |judgement: &Judgement| {
        let object = normal(judgement.changed.as_ref().unwrap_or(&case.object), environment);
        match &*environment.subresource {
            // Nothing else of the pod is stored.
            "ephemeralcontainers" => object.at(&["spec", "ephemeralContainers"]).cloned().unwrap_or_default(),
            _ => object,
        }
    };
    let is_changed = old.changed.is_some() || new.changed.is_some();
    (!is_changed || changed(old) == changed(new))
        && old.generated.len() == new.generated.len()
        && old.generated.iter().all(|object| {
            let own = unlabelled(object);
            new.generated.iter().any(|other| unlabelled(other).json_eq(&own))
        })
}

/// Whether the objects that rules changed in the same way have items in another order.
fn is_reordered(old: &Judgement, new: &Judgement) -> bool {
    match (&old.changed, &new.changed) {
        (Some(old), Some(new)) => !old.json_eq(new),
        _ => false,
    }
}

/// Labels by which Kyverno finds what it generated again: all its policies set them in clusters,
/// not all in files.
const BOOKKEEPING: &str = "generate.kyverno.io/";

/// Fields of a copy that are those of its source, which an API server writes anew.
const OF_SERVERS: [&str; 5] = ["creationTimestamp", "managedFields", "resourceVersion", "selfLink", "uid"];

/// A generated object without the labels that policies of every kind set, and without what an API
/// server writes.
fn unlabelled(object: &Value) -> Value {
    let Some(mut metadata) = object.get("metadata").and_then(Value::as_map).cloned() else {
        return object.clone();
    };
    for field in OF_SERVERS {
        metadata.remove(field);
    }
    let Some(labels) = metadata.get("labels").and_then(Value::as_map) else {
        return object.with("metadata", Value::Map(metadata));
    };
    let is_own = |key: &str| !key.starts_with(BOOKKEEPING) && key != "app.kubernetes.io/managed-by";
    let rest: Map = labels.iter().filter(|(k, _)| is_own(k)).map(|(k, v)| (k.clone(), v.clone())).collect();
    match rest.is_empty() {
        true => metadata.remove("labels"),
        false => metadata.insert("labels", Value::Map(rest)),
    };
    object.with("metadata", Value::Map(metadata))
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
