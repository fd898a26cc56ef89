//! An object as an API server shows it to webhooks: with defaults, refused, or lacking a field that
//! is required.
//!
//! In: the objects of a case. Out: the objects as an API server shows them to webhooks, or why it
//! refuses them (`kubernetes::admitted`).

use std::sync::Arc;

use ephor_analysis::reads::Reads;
use ephor_kubernetes::admitted::{
    CHOSEN, Reason, Refusal, admitted, admitted_in_update, completed_as_if_admitted, has_no_quantity,
    has_refused_wildcard, kind_of, never_set,
};
use ephor_value::place::{PathPart, follow, parse};
use ephor_value::wildcard::has_wildcard;
use ephor_value::{Map, Str, Value};

use crate::inputs::context_entries::INPUTS;
use crate::model::environment::Environment;
use crate::model::field_types::is_read;
use crate::model::limits::MAX_VIEW_DEPTH;
use crate::model::path::with;
use crate::model::request::Case;

/// How admission webhooks of a cluster see the objects of a case.
pub(crate) enum AdmittedView {
    /// So.
    Admitted(Case),
    /// An API server refuses them, and all that lack this field.
    MissingField(String),
    /// An API server refuses them, and all that have a text with wildcards there, or one that is no
    /// quantity.
    InvalidText,
    /// An API server refuses them, for this where that is known.
    Refused(Option<Refusal>),
    /// Nothing is known of their kind.
    Unknown,
}

/// The case in which a pod has no ephemeral containers yet, in an environment in which these are
/// added: nothing else changes.
pub(crate) fn before_ephemeral(environment: &Environment, case: &Case) -> Option<Case> {
    if &*environment.subresource != "ephemeralcontainers" {
        return None;
    }
    let mut spec = case.object.get("spec")?.as_map()?.clone();
    spec.remove("ephemeralContainers");
    Some(Case { object: case.object.with("spec", Value::Map(spec)), ..case.clone() })
}

/// An object without the answers of lookups that it has.
pub(crate) fn without_answers(object: &Value) -> Value {
    taken_out(object, &mut Vec::new(), &mut Vec::new())
}

/// Whether a value has answers of lookups, as deep as they are taken out.
fn has_answers(value: &Value, depth: usize) -> bool {
    depth <= MAX_VIEW_DEPTH
        && match value {
            Value::Map(map) => {
                map.iter().any(|(key, below)| **key == *INPUTS || has_answers(below, depth + 1))
            }
            Value::List(items) => items.iter().any(|item| has_answers(item, depth + 1)),
            _ => false,
        }
}

/// Takes the answers of lookups out of a value, with the ways to where they were.
fn taken_out(value: &Value, at: &mut Vec<PathPart>, out: &mut Vec<(Vec<PathPart>, Value)>) -> Value {
    if at.len() > MAX_VIEW_DEPTH {
        return value.clone();
    }
    match value {
        Value::Map(map) => {
            let mut rest = Map::new();
            for (key, below) in map.iter() {
                if **key == *INPUTS {
                    out.push((at.clone(), below.clone()));
                    continue;
                }
                at.push(PathPart::Key(key.clone()));
                rest.insert::<Str>(key.clone(), taken_out(below, at, out));
                at.pop();
            }
            Value::Map(rest)
        }
        Value::List(items) => {
            let of = |(index, item): (usize, &Value)| {
                at.push(PathPart::Index(index));
                let item = taken_out(item, at, out);
                at.pop();
                item
            };
            Value::list(items.iter().enumerate().map(of).collect())
        }
        other => other.clone(),
    }
}

/// A value with an answer put back, if what had it is still there.
fn put_back(value: &Value, at: &[PathPart], answer: &Value) -> Value {
    let Some((step, rest)) = at.split_first() else {
        return value.as_map().map_or_else(|| value.clone(), |_| value.with(INPUTS, answer.clone()));
    };
    match (step, value) {
        (PathPart::Key(key), Value::Map(_)) => match value.get(key) {
            Some(below) => value.with(key, put_back(below, rest, answer)),
            None => value.clone(),
        },
        (PathPart::Index(index), Value::List(items)) => {
            let of = |(at, item): (usize, &Value)| {
                if at == *index { put_back(item, rest, answer) } else { item.clone() }
            };
            Value::list(items.iter().enumerate().map(of).collect())
        }
        _ => value.clone(),
    }
}

/// An object as an API server shows it, with the answers of lookups that it has.
pub(crate) fn with_answers<E>(
    object: &Value,
    show: impl FnOnce(&Value) -> Option<Result<Value, E>>,
) -> Option<Result<Value, E>> {
    if !has_answers(object, 0) {
        return show(object);
    }
    let mut answers = Vec::new();
    let own = taken_out(object, &mut Vec::new(), &mut answers);
    let with = |shown: Value| answers.iter().fold(shown, |shown, (at, answer)| put_back(&shown, at, answer));
    show(&own).map(|shown| shown.map(with))
}

/// How webhooks see the objects of a case in requests of an environment.
pub(crate) fn seen_in_clusters(environment: &Environment, case: &Case) -> AdmittedView {
    let mut seen = Vec::new();
    for (at, object) in std::iter::once(&case.object).chain(&case.old).enumerate() {
        let (own, written) = without_written(environment, object, at > 0);
        let is_new = at == 0 && environment.is_creation();
        let show = if is_new { admitted } else { admitted_in_update };
        match kind_of(&own).and_then(|kind| with_answers(&own, |own| show(&kind, own))) {
            None => return of_unknown(object),
            Some(Ok(shown)) => seen.push(with_written(shown, written)),
            Some(Err(Refusal { reason: Reason::Required, path, .. })) if is_absent(object, &path) => {
                return AdmittedView::MissingField(path);
            }
            Some(Err(refusal)) => {
                let kind = kind_of(&own);
                let is_none = kind.as_ref().is_some_and(|kind| has_no_quantity(kind, &own));
                let is_wild = kind.is_some_and(|kind| refuses_wildcards(&kind, &own, &refusal, &show));
                return if is_wild || is_none {
                    AdmittedView::InvalidText
                } else {
                    AdmittedView::Refused(Some(refusal))
                };
            }
        }
    }
    let mut seen = seen.into_iter();
    match (seen.next(), seen.next()) {
        (Some(object), old) => AdmittedView::Admitted(Case { object, old, around: Arc::clone(&case.around) }),
        _ => AdmittedView::Unknown,
    }
}

/// Whether an API server refuses all objects of the classes of one, of which this is seen: that
/// lack a field, or have one, of which rules distinguish the absence, or that have a text with
/// wildcards.
pub(crate) fn is_refused_with_its_classes(
    environment: &Environment,
    seen: &AdmittedView,
    object: &Value,
    reads: &Reads,
) -> bool {
    let has_never_set = || {
        let fields = never_set(&environment.object, object, environment.is_creation());
        fields.iter().any(|field| is_read(reads, field))
    };
    match seen {
        AdmittedView::InvalidText => true,
        AdmittedView::MissingField(field) => is_read(reads, field) || has_never_set(),
        AdmittedView::Refused(_) => has_never_set(),
        AdmittedView::Admitted(_) | AdmittedView::Unknown => false,
    }
}

/// Whether an API server may admit an object of whose kind nothing is known: where it is, is the
/// name of a namespace, and it has one itself.
fn of_unknown(object: &Value) -> AdmittedView {
    let namespace = object.text_at(&["metadata", "namespace"]);
    let is_inside = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit();
    let is_label = namespace.chars().all(|c| is_inside(c) || c == '-')
        && namespace.starts_with(is_inside)
        && namespace.ends_with(is_inside);
    match object.text_at(&["metadata", "name"]) {
        name if has_wildcard(name) || has_wildcard(namespace) => AdmittedView::InvalidText,
        _ if namespace.is_empty() || is_label => AdmittedView::Unknown,
        _ => AdmittedView::Refused(None),
    }
}

/// The case as webhooks would see it if an API server did not refuse the values in it: every object
/// of the same classes that it admits has the same fields.
pub(crate) fn as_if_admitted(environment: &Environment, case: &Case) -> Option<Case> {
    let completed = |object: &Value, is_old: bool| {
        let (own, written) = without_written(environment, object, is_old);
        let kind = kind_of(&own)?;
        let shown = with_answers::<()>(&own, |own| completed_as_if_admitted(&kind, own).map(Ok));
        shown.and_then(Result::ok).map(|shown| with_written(shown, written))
    };
    let old = match &case.old {
        Some(old) => Some(completed(old, true)?),
        None => None,
    };
    Some(Case { object: completed(&case.object, false)?, old, around: Arc::clone(&case.around) })
}

/// What API servers and controllers write into an object: its status, and fields of its metadata.
type ServerFields = (Option<Value>, Vec<(Str, Value)>);

/// An object without what API servers and controllers write, and this. New objects have none of it
/// that counts: an API server writes it afresh.
fn without_written(environment: &Environment, object: &Value, is_old: bool) -> (Value, ServerFields) {
    let Some(map) = object.as_map().filter(|_| is_old || !environment.is_creation()) else {
        return (object.clone(), ServerFields::default());
    };
    let mut map = map.clone();
    let status = map.remove("status");
    let mut fields = Vec::new();
    if let Some(metadata) = map.get("metadata").and_then(Value::as_map) {
        let mut metadata = metadata.clone();
        fields.extend(CHOSEN.into_iter().filter_map(|key| Some((key.into(), metadata.remove(key)?))));
        if !fields.is_empty() {
            map.insert("metadata", Value::Map(metadata));
        }
    }
    (Value::Map(map), (status, fields))
}

/// An object as an API server shows it, with what was written into it.
fn with_written(shown: Value, (status, fields): ServerFields) -> Value {
    let shown = match status {
        Some(status) => shown.with("status", status),
        None => shown,
    };
    match shown.get("metadata").filter(|_| !fields.is_empty()).cloned() {
        Some(metadata) => {
            let metadata = fields.into_iter().fold(metadata, |all, (key, value)| all.with(&key, value));
            shown.with("metadata", metadata)
        }
        None => shown,
    }
}

/// What an API server says of an object: how it shows it, or why it refuses it; `None`: nothing is
/// known of its kind.
type Answered = Option<Result<Value, Refusal>>;

/// Whether an API server refuses an object for a text with wildcards, and each with another such
/// text there.
pub(crate) fn refuses_wildcards(
    kind: &[Str; 3],
    object: &Value,
    refusal: &Refusal,
    admitted: &dyn Fn(&[Str; 3], &Value) -> Answered,
) -> bool {
    let path = parse(&refusal.path);
    let (found, steps) = follow(object, &path);
    let is_wild = steps == path.len() && found.as_str().is_some_and(has_wildcard);
    // Hosts may start with one.
    let of_host = || with(object, &path, Some(Value::from("*.a"))).and_then(|other| admitted(kind, &other));
    let is_it = refusal.reason == Reason::Invalid
        && is_wild
        && of_host().is_some_and(|seen| seen.is_err_and(|other| other.path == refusal.path));
    is_it || has_refused_wildcard(kind, object)
}

/// Whether there is nothing at a path; a field that is there may lack one of its own.
fn is_absent(object: &Value, path: &str) -> bool {
    let path = parse(path);
    let (found, steps) = follow(object, &path);
    steps < path.len() || found.is_empty()
}
