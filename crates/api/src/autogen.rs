//! Generated rules: rules on pods extended to the controllers that make pods.
//!
//! In: a policy with its defaults filled in. Out: the *computed rules*, full rule objects, the
//! written ones first; everything that evaluates a policy works on them. Semantics: section 6 of
//! the policy object specification.
//!
//! A controller rule wraps the body into `spec.template`; the rule for cron jobs is generated from
//! the controller rule, so its body is wrapped a second time, into `spec.jobTemplate`. Paths in
//! texts are then moved by plain text replacement over the whole rule, prose included, without word
//! boundaries.

use std::collections::BTreeSet;

use super::MAX_DEPTH;
use super::read::{Body, has_body, items, kinds_of};
use ephor_matching::kinds::any_is_pod;
use ephor_value::variables;
use ephor_value::{List, Map, Str, Value};

/// Which rules are generated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Selection<'a> {
    /// The rules for objects of one kind (validation).
    ForKind(&'a str),
    /// All of them (everything else).
    All,
}

/// A rule after generation, with where it came from.
#[derive(Clone, Debug)]
pub struct Computed {
    /// The rule object.
    pub rule: Value,
    /// Position of the written rule that it is or was generated from.
    pub written: usize,
    /// How it was generated, if it is not the written rule itself.
    pub generated: Option<Generated>,
}

/// How a rule was generated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Generated {
    /// For what.
    pub what: &'static str,
    /// How many steps its patterns were moved down.
    pub inserted: usize,
}

/// The annotation that names the controllers.
pub const ANNOTATION: &str = "pod-policies.kyverno.io/autogen-controllers";

/// The prefix of generated rule names; written rules that have it give way to generated ones.
const PREFIX: &str = "autogen-";

/// The name of the rule that a rule was generated from, or its own.
pub fn written_name(rule: &str) -> &str {
    let of_cronjobs = rule.strip_prefix("autogen-cronjob-");
    of_cronjobs.or_else(|| rule.strip_prefix(PREFIX)).unwrap_or(rule)
}

const MAX_NAME: usize = 63;

const CRON_JOB: &str = "CronJob";

/// The controllers and how their kind is written in generated rules, in ascending order.
const CONTROLLERS: [(&str, &str); 7] = [
    (CRON_JOB, "batch/v1/CronJob"),
    ("DaemonSet", "apps/v1/DaemonSet"),
    ("Deployment", "apps/v1/Deployment"),
    ("Job", "batch/v1/Job"),
    ("ReplicaSet", "apps/v1/ReplicaSet"),
    ("ReplicationController", "v1/ReplicationController"),
    ("StatefulSet", "apps/v1/StatefulSet"),
];

/// What a rule body gets wrapped into, and where paths in its texts then lead.
struct Wrapping {
    how: Generated,
    name_prefix: &'static str,
    template: &'static str,
    /// Inserted into references after the word that leads into the body.
    reference: &'static str,
    /// Inserted into variables after `object`.
    variable: &'static str,
}

const CONTROLLER: Wrapping = Wrapping {
    how: Generated { what: "pod controllers", inserted: 2 },
    name_prefix: PREFIX,
    template: "template",
    reference: "spec/template",
    variable: "spec.template",
};

const CRON: Wrapping = Wrapping {
    how: Generated { what: "cron jobs", inserted: 4 },
    name_prefix: "autogen-cronjob-",
    template: "jobTemplate",
    reference: "spec/jobTemplate/spec/template",
    variable: "spec.jobTemplate.spec.template",
};

/// The rules of `policy` after generation.
pub fn computed_rules(policy: &Value, selection: Selection<'_>) -> Vec<Value> {
    computed(policy, selection).into_iter().map(|c| c.rule).collect()
}

/// As [`computed_rules`], with where each rule came from.
pub fn computed(policy: &Value, selection: Selection<'_>) -> Vec<Computed> {
    let rules = written_rules(policy);
    let controllers = controllers(policy, rules);
    let list = match selection {
        Selection::ForKind(kind) if kind != "none" && controllers.contains(kind) => BTreeSet::from([kind]),
        Selection::ForKind(_) => BTreeSet::new(),
        Selection::All if controllers.len() == 1 && controllers.contains("none") => BTreeSet::new(),
        Selection::All => controllers,
    };
    let written =
        |(written, rule): (usize, &Value)| Computed { rule: rule.clone(), written, generated: None };
    let generated: Vec<Computed> = rules
        .iter()
        .enumerate()
        .flat_map(|(written, rule)| {
            let made = generate(rule, &list).into_iter();
            made.map(move |(rule, how)| Computed { rule, written, generated: Some(how.how) })
        })
        .collect();
    if generated.is_empty() {
        return rules.iter().enumerate().map(written).collect();
    }
    let own = rules.iter().enumerate().filter(|(_, rule)| !rule.text_at(&["name"]).starts_with(PREFIX));
    own.map(written).chain(generated).collect()
}

/// The rules as written.
pub fn written_rules(policy: &Value) -> &[Value] {
    policy.at(&["spec", "rules"]).and_then(Value::as_list).unwrap_or(&[])
}

/// Whether a kind is a controller of pods that is known.
pub fn is_controller(kind: &str) -> bool {
    CONTROLLERS.iter().any(|(name, _)| *name == kind)
}

/// The controllers that the annotation, or its absence, selects; empty when generation is off.
pub fn controllers<'p>(policy: &'p Value, rules: &[Value]) -> BTreeSet<&'p str> {
    if !is_possible(rules) {
        return BTreeSet::new();
    }
    match policy.at(&["metadata", "annotations", ANNOTATION]).and_then(Value::as_str) {
        Some(text) => text.split(',').filter(|name| !name.is_empty()).collect(),
        None => CONTROLLERS.iter().map(|(name, _)| *name).collect(),
    }
}

/// Whether generation is possible: decided for the whole policy, by all its rules together.
fn is_possible(rules: &[Value]) -> bool {
    rules.iter().all(rule_permits) && rules.iter().any(names_a_pod_kind)
}

fn rule_permits(rule: &Value) -> bool {
    !has_body(rule, Body::Generate)
        && rule.at(&["mutate", "patchesJson6902"]).is_none_or(|p| p.as_str().is_none_or(str::is_empty))
        && !items(rule.at(&["mutate", "foreach"])).iter().any(|f| !f.text_at(&["patchesJson6902"]).is_empty())
        && filters(rule).all(filter_permits)
}

fn filter_permits(filter: &Value) -> bool {
    let Some(resources) = filter.get("resources") else { return true };
    resources.text_at(&["name"]).is_empty()
        && items(resources.get("names")).is_empty()
        && resources.get("selector").is_none_or(Value::is_null)
        && resources.get("annotations").is_none_or(Value::is_null)
        && !(kinds_of(filter).nth(1).is_some() && any_is_pod(kinds_of(filter)))
}

/// Only the literal names count here: a policy whose only kind is `v1/Pod` gets no generated rules.
fn names_a_pod_kind(rule: &Value) -> bool {
    filters(rule).flat_map(kinds_of).any(|kind| kind == "Pod" || is_controller(kind))
}

fn generate(rule: &Value, list: &BTreeSet<&str>) -> Vec<(Value, &'static Wrapping)> {
    let (Some(fields), true) = (rule.as_map(), !list.is_empty()) else { return Vec::new() };
    if rule.text_at(&["name"]).starts_with(PREFIX)
        || !any_is_pod(block_filters(rule.get("match")).flat_map(kinds_of))
    {
        return Vec::new();
    }
    let mut excluded = block_filters(rule.get("exclude")).flat_map(kinds_of).peekable();
    if excluded.peek().is_some() && !any_is_pod(excluded) {
        return Vec::new();
    }
    let kinds = controller_kinds(list);
    let Some(controller) = wrap(fields, &CONTROLLER, |filter| any_is_pod(kinds_of(filter)), &kinds) else {
        return Vec::new();
    };
    let mut out = Vec::new();
    if list.iter().any(|name| *name != CRON_JOB) {
        out.push((finish(&controller, rule, &CONTROLLER), &CONTROLLER));
    }
    if list.iter().any(|name| name.contains(CRON_JOB)) {
        let cron = ["batch/v1/CronJob".into()];
        out.extend(
            wrap(&controller, &CRON, |_| true, &cron).map(|fields| (finish(&fields, rule, &CRON), &CRON)),
        );
    }
    out
}

/// The kinds of the controller rule: the known ones, or the list as it is when none is known.
fn controller_kinds(list: &BTreeSet<&str>) -> Vec<Value> {
    let listed = || list.iter().copied().filter(|name| *name != CRON_JOB);
    let known: Vec<Value> = listed().filter_map(known_kind).map(Value::from).collect();
    if !known.is_empty() {
        return known;
    }
    listed().map(|name| Value::from(if name == "Pod" { "v1/Pod" } else { name })).collect()
}

fn known_kind(name: &str) -> Option<&'static str> {
    CONTROLLERS.iter().find(|(known, _)| *known == name).map(|(_, kind)| *kind)
}

/// The rule with other kinds and its body wrapped; `None` for bodies that cannot be wrapped.
fn wrap(rule: &Map, how: &Wrapping, replaced: fn(&Value) -> bool, kinds: &[Value]) -> Option<Map> {
    let (key, body) = wrapped_body(rule, how)?;
    let mut out = rule.clone();
    for (block, legacy) in [("match", true), ("exclude", false)] {
        if let Some(filters) = rule.get(block) {
            out.insert(block, with_kinds(filters, replaced, kinds, legacy));
        }
    }
    out.insert(key, body);
    out.remove("imageExtractors");
    Some(out)
}

/// Puts `kinds` into the filters that `replaced` picks. The legacy block has its turn only where
/// there is neither `any` nor `all`; in `exclude` only when it had kinds. Without kinds (only cron
/// jobs are selected, and the controller rule is just a step on the way) nothing changes.
fn with_kinds(block: &Value, replaced: fn(&Value) -> bool, kinds: &[Value], legacy: bool) -> Value {
    if kinds.is_empty() {
        return block.clone();
    }
    let mut block = block.as_map().cloned().unwrap_or_default();
    for name in ["any", "all"] {
        let filters = items(block.get(name));
        if !filters.is_empty() {
            let changed =
                filters.iter().map(|f| if replaced(f) { filter_with_kinds(f, kinds) } else { f.clone() });
            let changed = changed.collect::<List>();
            block.insert(name, Value::List(changed));
            return Value::Map(block);
        }
    }
    let block = Value::Map(block);
    if legacy || kinds_of(&block).next().is_some() { filter_with_kinds(&block, kinds) } else { block }
}

fn filter_with_kinds(filter: &Value, kinds: &[Value]) -> Value {
    let mut filter = filter.as_map().cloned().unwrap_or_default();
    let mut resources = filter.get("resources").and_then(Value::as_map).cloned().unwrap_or_default();
    resources.insert("kinds", Value::list(kinds.to_vec()));
    filter.insert("resources", Value::Map(resources));
    Value::Map(filter)
}

/// The body under its key, wrapped into `how.template`; the first kind of body that is present
/// wins.
fn wrapped_body(rule: &Map, how: &Wrapping) -> Option<(&'static str, Value)> {
    if let Some(mutate) = rule.get("mutate") {
        if let Some(patch) = present(mutate, "patchStrategicMerge") {
            return Some(("mutate", Value::map([("patchStrategicMerge", template(patch, how))])));
        }
        let entries = items(mutate.get("foreach"));
        if !entries.is_empty() {
            let entries = entries.iter().map(|entry| wrapped_mutate_entry(entry, how)).collect();
            return Some(("mutate", Value::map([("foreach", Value::List(entries))])));
        }
    }
    if let Some(validate) = rule.get("validate")
        && let Some(body) = wrapped_validate(validate, how)
    {
        return Some(("validate", body));
    }
    Some(("verifyImages", rule.get("verifyImages")?.clone()))
}

/// Nested loops are lost here and leave a null patch; the reference does the same.
fn wrapped_mutate_entry(entry: &Value, how: &Wrapping) -> Value {
    let mut out = Map::new();
    for name in ["list", "context", "preconditions"] {
        if let Some(value) = entry.get(name) {
            out.insert(name, value.clone());
        }
    }
    let patch = entry.get("patchStrategicMerge").cloned().unwrap_or_default();
    out.insert("patchStrategicMerge", template(&patch, how));
    Value::Map(out)
}

/// The elements of a validate body in the order in which they are looked for, with the word after
/// which references into them are extended.
const ELEMENTS: [(&str, Element, Option<&str>); 6] = [
    ("pattern", Element::Wrapped, Some("pattern")),
    ("deny", Element::Unchanged, Some("deny")),
    ("podSecurity", Element::Unchanged, Some("podSecurity")),
    ("anyPattern", Element::ItemsWrapped, Some("anyPattern")),
    ("foreach", Element::Unchanged, Some("pattern")),
    ("cel", Element::Unchanged, None),
];

#[derive(Clone, Copy)]
enum Element {
    Unchanged,
    Wrapped,
    ItemsWrapped,
}

fn wrapped_validate(validate: &Value, how: &Wrapping) -> Option<Value> {
    let (name, treatment, pivot, element) = ELEMENTS.iter().find_map(|(name, treatment, pivot)| {
        present(validate, name).map(|element| (*name, *treatment, *pivot, element))
    })?;
    if name == "cel" {
        return Some(validate.clone());
    }
    let mut out = Map::new();
    for field in ["failureAction", "failureActionOverrides", "allowExistingViolations"] {
        if let Some(value) = validate.get(field) {
            out.insert(field, value.clone());
        }
    }
    if let Some(message) = validate.get("message").and_then(Value::as_str) {
        let shifted = pivot.map_or_else(|| message.into(), |pivot| shifted(message, pivot, how.reference));
        out.insert("message", Value::from(shifted));
    }
    let element = match treatment {
        Element::Unchanged => element.clone(),
        Element::Wrapped => template(element, how),
        Element::ItemsWrapped if items(Some(element)).is_empty() => return Some(Value::Map(out)),
        Element::ItemsWrapped => {
            Value::List(items(Some(element)).iter().map(|item| template(item, how)).collect())
        }
    };
    out.insert(name, element);
    Some(Value::Map(out))
}

/// Extends the references `$(…)` of a message that lead through `pivot`.
fn shifted(message: &str, pivot: &str, shift: &str) -> String {
    let mut out = message.to_owned();
    for range in variables::find_references(message) {
        let Some(reference) = message.get(range) else { continue };
        let Some(at) = reference.find(pivot) else { continue };
        let pivot = match pivot {
            "anyPattern" => {
                let index = reference.get(at + pivot.len() + 1..).unwrap_or("").split('/').next();
                format!("{pivot}/{}", index.unwrap_or(""))
            }
            _ => pivot.to_owned(),
        };
        out = out.replace(reference, &reference.replace(&pivot, &format!("{pivot}/{shift}")));
    }
    out
}

/// Gives the rule its name and moves the paths in its texts.
fn finish(fields: &Map, original: &Value, how: &Wrapping) -> Value {
    let object = if original.at(&["validate", "cel"]).is_some() { "" } else { "request." };
    let moves: Vec<(String, String)> = ["spec", "metadata"]
        .iter()
        .flat_map(|part| {
            ["object", "oldObject"].map(|name| {
                (format!("{object}{name}.{part}"), format!("{object}{name}.{}.{part}", how.variable))
            })
        })
        .collect();
    let mut fields = fields.clone();
    let name = format!("{}{}", how.name_prefix, original.text_at(&["name"]));
    fields.insert("name", Value::from(cut(&name)));
    replaced(&Value::Map(fields), &moves, 0)
}

fn cut(name: &str) -> &str {
    let mut end = name.len().min(MAX_NAME);
    while !name.is_char_boundary(end) {
        end -= 1;
    }
    name.get(..end).unwrap_or(name)
}

/// `value` with every text of every string and key replaced, one pair after the other.
fn replaced(value: &Value, moves: &[(String, String)], depth: usize) -> Value {
    changed(value, moves, depth).unwrap_or_else(|| value.clone())
}

/// The same; `None` where there is nothing to replace, as in most parts of a rule.
fn changed(value: &Value, moves: &[(String, String)], depth: usize) -> Option<Value> {
    if depth > MAX_DEPTH {
        return None;
    }
    let text = |s: &Str| -> Option<Str> {
        let is_changed = moves.iter().any(|(from, _)| s.contains(from.as_str()));
        is_changed.then(|| moves.iter().fold(s.to_string(), |text, (from, to)| text.replace(from, to)).into())
    };
    match value {
        Value::Str(s) => text(s).map(Value::Str),
        Value::List(l) => {
            let mut made: Option<Vec<Value>> = None;
            for (i, v) in l.iter().enumerate() {
                let new = changed(v, moves, depth + 1);
                if made.is_none() && new.is_some() {
                    made = Some(l.iter().take(i).cloned().collect());
                }
                if let Some(made) = &mut made {
                    made.push(new.unwrap_or_else(|| v.clone()));
                }
            }
            made.map(Value::list)
        }
        Value::Map(m) => {
            let mut made: Option<Vec<(Str, Value)>> = None;
            for (i, (k, v)) in m.iter().enumerate() {
                let (key, new) = (text(k), changed(v, moves, depth + 1));
                if made.is_none() && (key.is_some() || new.is_some()) {
                    made = Some(m.iter().take(i).map(|(k, v)| (k.clone(), v.clone())).collect());
                }
                if let Some(made) = &mut made {
                    made.push((key.unwrap_or_else(|| k.clone()), new.unwrap_or_else(|| v.clone())));
                }
            }
            // Two keys may have become one.
            made.map(|made| Value::Map(made.into_iter().collect()))
        }
        _ => None,
    }
}

/// `{spec: {template: value}}`, or with `jobTemplate`.
fn template(value: &Value, how: &Wrapping) -> Value {
    Value::map([("spec", Value::map([(how.template, value.clone())]))])
}

/// The member `name` if it is there: not null, for a list of loops also not empty.
fn present<'v>(body: &'v Value, name: &str) -> Option<&'v Value> {
    body.get(name).filter(|value| !(value.is_null() || name == "foreach" && items(Some(value)).is_empty()))
}

/// The filters of `match` and `exclude`, the legacy blocks included.
fn filters(rule: &Value) -> impl Iterator<Item = &Value> {
    block_filters(rule.get("match")).chain(block_filters(rule.get("exclude")))
}

/// The legacy block, then the filters of `any` and `all`.
fn block_filters(block: Option<&Value>) -> impl Iterator<Item = &Value> {
    let listed = |name| items(block.and_then(|b| b.get(name))).iter();
    block.into_iter().chain(listed("any")).chain(listed("all"))
}

#[cfg(test)]
mod tests;
