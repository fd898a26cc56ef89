//! Objects that an API server refuses, mended where it is plain how.
//!
//! In: an object. Out: one that is admitted and differs from it in what the server requires: fields
//! that must be set, texts and numbers that repeat those of an earlier item, labels by which a
//! controller finds its pods, and what goes with a field elsewhere.
//!
//! - `elsewhere`: objects that an API server refuses for something elsewhere in them, with what it
//!   wants there: the volume of a mount, the privileges of a container whose mounts propagate, the
//!   type of a Service with ports of nodes

pub(crate) mod elsewhere;

use std::collections::BTreeSet;

use ephor_kubernetes::Types;
use ephor_kubernetes::admitted::{Reason, admitted, admitted_in_update, kind_of, listed, unique_by};
use ephor_kubernetes::schema::{Leaf, Type, TypeDef};
use ephor_value::place::{Path, PathPart, follow, parse};
use ephor_value::{Str, Value};

use crate::model::limits::MAX_REPAIRS;
use crate::model::path::{put, with};

/// The object with what an API server requires when it is created, or updated; `None` when that is
/// not enough, or nothing is known of its kind.
pub(crate) fn mended(object: &Value, is_new: bool) -> Option<Value> {
    let kind = kind_of(object)?;
    let admitted = if is_new { admitted } else { admitted_in_update };
    let mut object = object.clone();
    for at in 0..MAX_REPAIRS {
        let refusal = match admitted(&kind, &object)? {
            Ok(_) => return Some(object),
            Err(refusal) => refusal,
        };
        if let Some(found) = selecting(&kind, &object, &refusal.path) {
            object = found;
            continue;
        }
        let path = parse(&refusal.path);
        if let Some(found) = elsewhere::completed(&object, &path) {
            object = found;
            continue;
        }
        object = match refusal.reason {
            Reason::Invalid if refusal.path == "metadata.name" => {
                with(&object, &path, Some(Value::from("a")))?
            }
            Reason::Invalid if refusal.path == "metadata.namespace" => {
                with(&object, &path, Some(Value::from("default")))?
            }
            Reason::Invalid if let Some(found) = renamed(&object, &path) => found,
            Reason::Invalid if !is_unset(&object, &path) => return None,
            Reason::Required | Reason::Invalid | Reason::NotSupported => {
                let value = least(&kind, &path, at)?;
                put(&object, &path, value)?
            }
            Reason::Duplicate => {
                let (path, value) = another(&kind, &object, path, at)?;
                with(&object, &path, Some(value))?
            }
            _ => return None,
        };
    }
    None
}

/// A map, such as annotations, whose names begin with a letter, when some begin with what no name
/// may begin with.
fn renamed(object: &Value, path: &[PathPart]) -> Option<Value> {
    let (found, steps) = follow(object, path);
    let map = found.as_map().filter(|_| steps == path.len())?;
    let is_good = |key: &str| key.starts_with(|c: char| c.is_ascii_alphanumeric());
    map.keys().any(|key| !is_good(key)).then_some(())?;
    let named = |key: &Str| if is_good(key) { key.clone() } else { Str::from(format!("a{key}")) };
    let entries = map.iter().map(|(key, value)| (named(key), value.clone()));
    with(object, path, Some(Value::Map(entries.collect())))
}

/// A controller whose selector selects the pods of its template, when it was refused for one of
/// these; `None` when nothing is missing.
fn selecting(kind: &[Str; 3], object: &Value, path: &str) -> Option<Value> {
    const LABELS: [&str; 4] = ["spec", "template", "metadata", "labels"];
    let types = Types::built_in();
    type_at(types, kind, &parse("spec.template"))?;
    // The selector of a ReplicationController is a map of labels.
    let is_plain = matches!(type_at(types, kind, &parse("spec.selector"))?.1, Type::Map(..));
    let exact: &[&str] = if is_plain { &["spec", "selector"] } else { &["spec", "selector", "matchLabels"] };
    let map = |path: &[&str]| object.at(path).and_then(Value::as_map).filter(|map| !map.is_empty());
    match path {
        "spec.selector" => {
            let any = Value::map([("a", Value::from("a"))]);
            let labels = map(&LABELS).map_or(any, |labels| Value::Map(labels.clone()));
            put(object, &parse(&exact.join(".")), labels)
        }
        "spec.template.metadata.labels" => {
            let mut labels = map(&LABELS).cloned().unwrap_or_default();
            let before = Value::Map(labels.clone());
            for (key, value) in map(exact)?.iter() {
                labels.insert(key.clone(), value.clone());
            }
            let labels = Value::Map(labels);
            if labels.json_eq(&before) { None } else { put(object, &parse(path), labels) }
        }
        _ => None,
    }
}

/// The type that has the field at the end of a path, or a list in it, and the type of what is
/// there.
fn type_at<'t>(types: &'t Types, kind: &[Str; 3], path: &[PathPart]) -> Option<(&'t TypeDef, &'t Type)> {
    let mut def: &TypeDef = types.of_object(kind)?;
    let mut ty: Option<&Type> = None;
    for step in path {
        if let Some(Type::Named(name, _)) = ty {
            def = types.named(name)?;
        }
        ty = match (step, ty) {
            (PathPart::Index(_), Some(Type::List(_, item))) => Some(item),
            (PathPart::Key(_), Some(Type::Map(value, _))) => Some(value),
            (PathPart::Key(key), _) => Some(&def.field(key)?.ty),
            (PathPart::Index(_), _) => return None,
        };
    }
    Some((def, ty?))
}

/// The least value of a field. `at`: the how-manieth it is, so that texts differ.
fn least(kind: &[Str; 3], path: &Path, at: usize) -> Option<Value> {
    let types = Types::built_in();
    let (def, ty) = type_at(types, kind, path)?;
    let key = path.iter().rev().find_map(|step| match step {
        PathPart::Key(key) => Some(key),
        PathPart::Index(_) => None,
    })?;
    value(types, ty, listed(&def.name, key), at)
}

pub(crate) fn value(types: &Types, ty: &Type, listed: &[&str], at: usize) -> Option<Value> {
    let leaf = match ty {
        Type::Leaf(leaf) => *leaf,
        Type::Named(name, _) => match types.named(name)?.leaf {
            Some(leaf) => leaf,
            None => return Some(Value::Map(Default::default())),
        },
        Type::List(_, item) => return Some(Value::list(vec![value(types, item, listed, at)?])),
        Type::Map(..) => return Some(Value::Map(Default::default())),
    };
    Some(match leaf {
        Leaf::Int32 | Leaf::Int64 | Leaf::IntOrString => {
            Value::Int(1 + i64::try_from(at).unwrap_or_default())
        }
        Leaf::Bool => Value::Bool(true),
        Leaf::Quantity => Value::from("1"),
        Leaf::String => Value::from(listed.first().copied().unwrap_or(letter(at))),
        _ => return None,
    })
}

fn letter(at: usize) -> &'static str {
    ["a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k", "l"].get(at).copied().unwrap_or("m")
}

/// Another text or number where one repeats; of an item, its name or mount path; of a list, the
/// names of its items.
fn another(kind: &[Str; 3], object: &Value, mut path: Path, at: usize) -> Option<(Path, Value)> {
    let (mut found, _) = follow(object, &path);
    if let Value::List(items) = found {
        let types = Types::built_in();
        let (holder, Type::List(_, item)) = type_at(types, kind, &path)? else { return None };
        let Type::Named(item, _) = &**item else { return None };
        let def = types.named(item)?;
        if let Some(PathPart::Key(field)) = path.last()
            && let Some(all) = distinguished(items, unique_by(&holder.name, field), def)
        {
            return Some((path, Value::list(all)));
        }
        let differs = |key: &str| {
            let of = |item: &Value| item.get(key).map(ephor_value::print::json);
            let all: BTreeSet<_> = items.iter().map(of).collect();
            all.len() == items.len()
        };
        let key = KEYS.into_iter().find(|key| def.field(key).is_some() && !differs(key))?;
        let mut all: Vec<Value> = Vec::new();
        for (at, item) in items.iter().enumerate() {
            let own = item.get(key).cloned().unwrap_or_else(|| Value::from(letter(at)));
            let repeats = all.iter().any(|one| one.get(key) == Some(&own));
            all.push(item.with(key, if repeats { next(&own, at)? } else { own }));
        }
        return Some((path, Value::list(all)));
    }
    if let Value::Map(map) = found {
        let key = KEYS.into_iter().find(|key| map.get(key).is_some())?;
        path.push(PathPart::Key(key.into()));
        found = map.get(key)?;
    }
    let value = next(found, at)?;
    Some((path, value))
}

/// Items that differ by some of their fields: where two do not, one has another of the texts that a
/// field may be; `None` where that is not enough.
fn distinguished(items: &[Value], keys: &[&str], def: &TypeDef) -> Option<Vec<Value>> {
    let (choice, texts) =
        keys.iter().map(|key| (*key, listed(&def.name, key))).find(|(_, texts)| texts.len() > 1)?;
    let mut known: BTreeSet<Vec<Option<String>>> = BTreeSet::new();
    let mut is_new = |item: &Value| {
        known.insert(keys.iter().map(|key| item.get(key).map(ephor_value::print::json)).collect())
    };
    let mut each = |item: &Value| {
        let others = texts.iter().map(|text| item.with(choice, Value::from(*text)));
        std::iter::once(item.clone()).chain(others).find(|item| is_new(item))
    };
    items.iter().map(&mut each).collect()
}

/// Fields that identify items of lists.
pub(crate) const KEYS: [&str; 5] = ["name", "mountPath", "topologyKey", "port", "containerPort"];

fn next(value: &Value, at: usize) -> Option<Value> {
    match value {
        Value::Str(text) => Some(Value::from(&*format!("{text}{}", letter(at)))),
        Value::Int(n) => Some(Value::Int(n.saturating_add(1))),
        _ => None,
    }
}

/// Whether a field is not there, or has the value that stands for this.
fn is_unset(object: &Value, path: &[PathPart]) -> bool {
    let (found, steps) = follow(object, path);
    steps < path.len() || found.is_empty() || matches!(found, Value::Int(0))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn yaml(text: &str) -> Value {
        ephor_document::yaml_value(text).unwrap()
    }

    #[test]
    fn names_that_are_missing_or_repeat_are_filled_in() {
        let service =
            yaml("{apiVersion: v1, kind: Service, metadata: {name: a}, spec: {ports: [{}, {port: 32000}]}}");
        let mended = mended(&service, true).unwrap();
        let ports = mended.get("spec").and_then(|spec| spec.get("ports")).and_then(Value::as_list).unwrap();
        let names: Vec<&str> = ports.iter().filter_map(|port| port.get("name")?.as_str()).collect();
        assert!(names.len() == 2 && names[0] != names[1], "{names:?}");
        assert_eq!(ports[1].get("port"), Some(&Value::Int(32000)));
    }

    #[test]
    fn controllers_find_the_pods_of_their_template() {
        let of = |kind: &str, version: &str, selector: &str, labels: &str| {
            let text = format!(
                "{{apiVersion: {version}, kind: {kind}, metadata: {{name: a}}, spec: {{selector: {selector}, template: {{metadata: {{labels: {labels}}}, spec: {{containers: [{{name: a, image: a}}]}}}}}}}}"
            );
            let spec = mended(&yaml(&text), true).unwrap().get("spec").cloned().unwrap();
            let labels = spec.at(&["template", "metadata", "labels"]).map(ephor_value::print::json).unwrap();
            (spec.get("selector").map(ephor_value::print::json).unwrap(), labels)
        };
        let both = |selector: &str, labels: &str| (selector.to_string(), labels.to_string());
        assert_eq!(of("ReplicationController", "v1", "{a: a}", "{}"), both(r#"{"a":"a"}"#, r#"{"a":"a"}"#));
        assert_eq!(
            of("Deployment", "apps/v1", "{matchLabels: {a: a}}", "{a: b, c: d}"),
            both(r#"{"matchLabels":{"a":"a"}}"#, r#"{"a":"a","c":"d"}"#)
        );
        assert_eq!(
            of("DaemonSet", "apps/v1", "{matchLabels: {}}", "{c: d}"),
            both(r#"{"matchLabels":{"c":"d"}}"#, r#"{"c":"d"}"#)
        );
    }

    #[test]
    fn items_that_repeat_have_another_text_of_those_that_a_field_may_be() {
        let each = "{maxSkew: 1, topologyKey: k, whenUnsatisfiable: DoNotSchedule}";
        let pod = |constraints: &str| {
            yaml(&format!(
                "{{apiVersion: v1, kind: Pod, metadata: {{name: a}}, spec: {{containers: [{{name: a, image: a}}], topologySpreadConstraints: [{constraints}]}}}}"
            ))
        };
        let found = |constraints: &str| {
            let pod = mended(&pod(constraints), true).unwrap();
            let all =
                pod.at(&["spec", "topologySpreadConstraints"]).and_then(Value::as_list).unwrap().to_vec();
            let of = |one: &Value| {
                format!("{} {}", one.text_at(&["topologyKey"]), one.text_at(&["whenUnsatisfiable"]))
            };
            all.iter().map(of).collect::<Vec<String>>()
        };
        assert_eq!(found(&[each, each].join(", ")), ["k DoNotSchedule", "k ScheduleAnyway"]);
        // There are two texts, and so two items of one key.
        let keys: BTreeSet<String> = found(&[each, each, each].join(", ")).into_iter().collect();
        assert_eq!(keys.len(), 3);
    }

    #[test]
    fn what_has_another_fault_stays_refused() {
        let pod = "{apiVersion: v1, kind: Pod, metadata: {name: a}, spec: {containers: [{name: a, image: a}], restartPolicy: 3}}";
        assert_eq!(mended(&yaml(pod), true), None);
    }
}
