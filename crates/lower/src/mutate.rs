//! Mutate bodies → [`Mutation`]s.
//!
//! The reference fills in the whole rule before it patches, so a variable anywhere in it can fail:
//! the rule is lowered as one document, and what is not the patch is stored next to it. Loops fill
//! in only their own patches. What is constant is decoded and compiled here.

use std::sync::Arc;

use ephor_ir::mutate::{Change, Json, Merge, Mutation, MutationTarget, Patch, PatchLoop};
use ephor_ir::{Origin, Template};
use ephor_patch::operation;
use ephor_pattern::layer;
use ephor_value::{Map, Str, Value};

use super::binding::bindings;
use super::condition::conditions;
use super::query;
use super::template::document;

const MERGE: &str = "patchStrategicMerge";
const JSON: &str = "patchesJson6902";

/// Lowers the mutate body of a rule; `names` are the bindings in its scope.
pub fn mutation(rule: &Value, names: &Arc<[Str]>, origin: &Origin, inserted: usize) -> Mutation {
    let body = rule.get("mutate").unwrap_or(&Value::Null);
    let origin = origin.key("mutate");
    let targets = body.get("targets").and_then(Value::as_list).filter(|l| !l.is_empty());
    let own = targets.map(|list| names_of(list, names));
    let targets = targets.map(|list| {
        let list = list.iter().enumerate();
        list.map(|(i, t)| target(t, names, origin.key("targets").index(i))).collect()
    });
    let names = own.as_ref().unwrap_or(names);
    if let Some(loops) = written_loops(body) {
        let change = Change::ForEach(loops_of(loops, names, &origin.key("foreach")));
        return Mutation { change, other_templates: Box::default(), targets, existing: None };
    }
    let (patch, other_templates) = match document(rule, names) {
        Template::Object(pairs) => {
            let (mut patch, mut other_templates) = (Patch::Empty, Vec::new());
            for (key, value) in pairs.into_vec() {
                match (&key, value) {
                    (Template::Const(Value::Str(k)), value) if &**k == "mutate" => {
                        let (found, others) = of_body(value);
                        patch = found;
                        other_templates.extend(others);
                    }
                    (_, value) => other_templates.extend(Some(value).filter(|v| v.as_const().is_none())),
                }
            }
            (patch, other_templates)
        }
        Template::Const(v) => of_body(Template::Const(v.get("mutate").cloned().unwrap_or_default())),
        failed => (Patch::Merge(Merge::Dynamic(failed)), Vec::new()),
    };
    let key = if matches!(patch, Patch::Json(_)) { JSON } else { MERGE };
    let change = Change::Patch(patch, origin.key(key).with_inserted(inserted));
    Mutation { change, other_templates: other_templates.into(), targets, existing: None }
}

fn written_loops(body: &Value) -> Option<&[Value]> {
    body.get("foreach").and_then(Value::as_list)
}

/// The patch of a body, or of a loop, and its other parts that hold variables.
fn of_body(body: Template) -> (Patch, Vec<Template>) {
    let pairs: Vec<(Str, Template)> = match body {
        Template::Const(v) => {
            let entries = v.as_map().into_iter().flat_map(Map::iter);
            entries.map(|(k, v)| (k.clone(), Template::Const(v.clone()))).collect()
        }
        Template::Object(pairs) => pairs
            .into_vec()
            .into_iter()
            .filter_map(|(k, v)| match k {
                Template::Const(Value::Str(k)) => Some((k, v)),
                _ => None,
            })
            .collect(),
        failed => return (Patch::Merge(Merge::Dynamic(failed)), Vec::new()),
    };
    let (mut merge, mut json, mut other_templates) = (None, None, Vec::new());
    for (key, value) in pairs {
        match &*key {
            MERGE if !matches!(value, Template::Const(Value::Null)) => merge = Some(value),
            JSON if value.as_const().is_none_or(|v| v.as_str().is_some_and(|s| !s.is_empty())) => {
                json = Some(value);
            }
            _ => other_templates.extend(Some(value).filter(|v| v.as_const().is_none())),
        }
    }
    let patch = match (merge, json) {
        (Some(template), other) => {
            other_templates.extend(other.filter(|t| t.as_const().is_none()));
            Patch::Merge(merged(template))
        }
        (None, Some(template)) => Patch::Json(decoded(template)),
        (None, None) => Patch::Empty,
    };
    (patch, other_templates)
}

/// Makes a layer of a template that is constant.
pub fn merged(template: Template) -> Merge {
    match template.as_const().and_then(layer::lower) {
        Some(layer) => Merge::Ready(Arc::new(layer)),
        None => Merge::Dynamic(template),
    }
}

fn decoded(template: Template) -> Json {
    match &template {
        Template::Const(Value::Str(text)) => {
            Json::Ready(operation::decode(text).map(Arc::new).map_err(|e| Str::from(e.to_string())))
        }
        _ => Json::Dynamic(template),
    }
}

fn loops_of(loops: &[Value], names: &Arc<[Str]>, origin: &Origin) -> Box<[PatchLoop]> {
    loops.iter().enumerate().map(|(i, l)| patch_loop(l, names, origin.index(i))).collect()
}

fn patch_loop(v: &Value, outer: &Arc<[Str]>, origin: Origin) -> PatchLoop {
    let (bindings, names) = bindings(v.get("context"), outer, &origin.key("context"));
    let merges = v.get(MERGE).is_some_and(|p| !p.is_null());
    let change = match written_loops(v) {
        Some(inner) => Change::ForEach(loops_of(inner, &names, &origin.key("foreach"))),
        None => {
            let of_patch = |key: &str| Some((Str::from(key), v.get(key)?.clone()));
            let own: Map = [MERGE, JSON].into_iter().filter_map(of_patch).collect();
            let (patch, _) = of_body(document(&Value::Map(own), &names));
            let key = if matches!(patch, Patch::Json(_)) { JSON } else { MERGE };
            Change::Patch(patch, origin.key(key))
        }
    };
    PatchLoop {
        list: query::plain(v.text_at(&["list"]), outer),
        // Merged items go to the front, so the last element has to come first.
        descending: match v.text_at(&["order"]) {
            "" => merges,
            order => order == "Descending",
        },
        bindings,
        admit: conditions(v.get("preconditions"), &names, origin.key("preconditions")),
        change,
        origin,
    }
}

/// The bindings in the scope of a change: those of the rule, and those of the first target that has
/// some. Another target whose bindings have other names loads them all.
fn names_of(targets: &[Value], outer: &Arc<[Str]>) -> Arc<[Str]> {
    let mut contexts =
        targets.iter().filter_map(|t| t.get("context")?.as_list().filter(|list| !list.is_empty()));
    let own = contexts.next().into_iter().flatten().map(|entry| Str::from(entry.text_at(&["name"])));
    outer.iter().cloned().chain(own).collect()
}

fn target(v: &Value, outer: &Arc<[Str]>, origin: Origin) -> MutationTarget {
    let (bindings, names) = bindings(v.get("context"), outer, &origin.key("context"));
    let of_object = |key: &str| Some((Str::from(key), v.get(key)?.clone()));
    let wanted: Map =
        ["apiVersion", "kind", "namespace", "name", "selector"].into_iter().filter_map(of_object).collect();
    MutationTarget {
        wanted: document(&Value::Map(wanted), outer),
        bindings,
        admit: conditions(v.get("preconditions"), &names, origin.key("preconditions")),
        origin,
    }
}
