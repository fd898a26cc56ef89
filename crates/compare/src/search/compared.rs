//! Both sides as a whole on one object: what each says, and whether that differs.
//!
//! In: an environment and a case. Out: the judgements of both sides, the kind of their difference,
//! and where objects exist on which they differ so.

use std::cell::Cell;

use ephor_kubernetes::admitted::has_nameless;
use ephor_value::{Map, Value};

use crate::admitted::view::{AdmittedView, before_ephemeral, seen_in_clusters};
use crate::effects::canonical_object::normal;
use crate::model::answer::{DifferenceKind, Universe};
use crate::model::environment::Environment;
use crate::model::options::Options;
use crate::model::question::{Consequences, Question};
use crate::model::request::{Case, request};
use crate::model::verdict::{Effect, Judgement};
use crate::model::world::within;
use crate::sides::side::Side;

/// The two sides of a comparison, and the question about what they say.
pub(crate) struct Compared<'s> {
    pub sides: [&'s Side; 2],
    /// The same without what allows updates of violations, where a side does.
    strict: Option<[Side; 2]>,
    question: Question,
    pub consequences: Consequences,
    /// Whether both sides left the items of a list in another order.
    reordered: Cell<bool>,
}

impl<'s> Compared<'s> {
    /// Both sides of a comparison.
    pub fn new(sides: [&'s Side; 2], options: Options) -> Compared<'s> {
        let strict = sides.into_iter().any(Side::allows_existing).then(|| sides.map(Side::without_existing));
        let consequences = Consequences {
            are_known: !sides.into_iter().any(Side::is_unbound),
            only_generate: sides.into_iter().all(Side::only_generates),
        };
        Compared { sides, strict, question: options.question, consequences, reordered: Cell::new(false) }
    }

    /// Whether both sides left the items of a list in another order, on some object.
    pub fn is_reordered(&self) -> bool {
        self.reordered.get()
    }

    /// What both sides say of an object.
    pub fn judgements(&self, environment: &Environment, case: &Case) -> Option<[Judgement; 2]> {
        let request = request(environment, case)?;
        Some(self.sides.map(|side| within(&case.around.world, || side.judge(&request))))
    }

    /// How both sides differ on an object, if they do.
    pub fn differ(
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
            before.as_ref().and_then(|before| crate::search::compared::request(environment, before))
            && (old.verdict.is_violation() || new.verdict.is_violation())
            && self.sides.iter().any(|side| side.judge(&before).verdict.is_violation())
        {
            return None;
        }
        if let Some(kind) = self.question.difference([&old, &new], self.consequences) {
            return Some((kind, old, new));
        }
        // What is denied leaves no object.
        let is_denied = |one: &Judgement| one.verdict.is_violation() && one.effect == Effect::Denied;
        let Consequences { are_known, only_generate } = self.consequences;
        if are_known && !only_generate && is_denied(&old) && is_denied(&new) {
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
    pub fn universe(&self, environment: &Environment, seen: &AdmittedView, kind: DifferenceKind) -> Universe {
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
    pub fn is_judged_alike(&self, environment: &Environment, case: &Case) -> bool {
        let AdmittedView::Admitted(seen) = seen_in_clusters(environment, case) else { return false };
        let verdicts =
            |case: &Case| Some(self.judgements(environment, case)?.map(|judgement| judgement.verdict));
        verdicts(case) == verdicts(&seen)
    }
}

/// Whether an API server refuses what either side makes of an object that it admits, for want of
/// the name of an item: nothing is stored, whatever differs.
pub(crate) fn refuses_both(
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
