//! Rules that change other objects than that of the request.
//!
//! In: the targets of a rule and the objects that the source of data knows. Out: a result for each
//! object that a target names. Variables see it as `target`; `request.object` stays what the
//! request is about.

use crate::condition;
use crate::data::Data;
use crate::error::FillError;
use crate::matched::not_met;
use crate::outcome::{Effect, RuleOutcome, Status};
use crate::request::resource_name;
use ephor_external::LookupError;
use ephor_ir::Rule;
use ephor_ir::matcher::Selector;
use ephor_ir::mutate::{Mutation, MutationTarget};
use ephor_matching::filter::selects;
use ephor_value::{Str, Value, wildcard};

use super::change::{change, outcome};

/// Why a target names no object.
#[derive(Debug, thiserror::Error)]
enum TargetError {
    /// It cannot be filled in.
    #[error("failed to substitute variables in target[{at}]: {cause}")]
    Fill {
        at: usize,
        #[source]
        cause: FillError,
    },
    /// There is no object of its kind.
    #[error("not found")]
    NoneOfKind,
    /// There is no object with its name.
    #[error("{resource} \"{name}\" not found")]
    Missing { resource: Box<str>, name: Box<str> },
    /// It cannot be read.
    #[error("{0}")]
    Lookup(#[source] LookupError),
}

/// Runs a rule on each object that its targets name.
pub fn run(
    mutation: &Mutation,
    targets: &[MutationTarget],
    rule: &Rule,
    data: &mut Data<'_>,
) -> Vec<RuleOutcome> {
    let mut failures = Vec::new();
    let mut wanted: Vec<(&MutationTarget, Value)> = Vec::new();
    for (i, target) in targets.iter().enumerate() {
        match data.fill(&target.wanted) {
            Ok(filled) => wanted.push((target, filled)),
            Err(cause) => failures.push(TargetError::Fill { at: i, cause }),
        }
    }
    let mut found: Vec<(&MutationTarget, Value)> = Vec::new();
    for (target, wanted) in &wanted {
        match named(wanted, data) {
            Ok(objects) => found.extend(objects.into_iter().map(|o| (*target, o))),
            Err(error) => failures.push(error),
        }
    }
    let mut results = Vec::new();
    if !failures.is_empty() {
        // The message in front of the failures is empty.
        let failures: Vec<String> = failures.iter().map(ToString::to_string).collect();
        let text = format!(": {}", failures.join("; "));
        results.push(RuleOutcome::new(&rule.name, rule.kind, Status::Error, text));
    }
    let before = data.snapshot();
    for (target, object) in found {
        data.reset(&before);
        results.extend(one(mutation, target, &object, rule, data));
    }
    data.reset(&before);
    results
}

fn one(
    mutation: &Mutation,
    target: &MutationTarget,
    object: &Value,
    rule: &Rule,
    data: &mut Data<'_>,
) -> Option<RuleOutcome> {
    let result = |status, text: Str| Some(RuleOutcome::new(&rule.name, rule.kind, status, text));
    data.set(&Str::from("target"), object.clone());
    let outer = data.bound();
    data.register(&target.bindings);
    if !is_first_bound(mutation, target) {
        data.load_from(outer);
    }
    if let Some(admit) = &target.admit {
        match condition::evaluate(admit, data) {
            Ok(v) if v.holds => {}
            Ok(v) => return result(Status::Skip, not_met(&v.message)),
            Err(e) => return result(Status::Error, format!("failed to evaluate preconditions: {e}").into()),
        }
    }
    Some(outcome(rule, change(mutation, object, data), Effect::Target))
}

/// Whether the change was lowered for the bindings of a target: those of the first one that has
/// some.
fn is_first_bound(mutation: &Mutation, target: &MutationTarget) -> bool {
    let names =
        |target: &MutationTarget| -> Vec<Str> { target.bindings.iter().map(|b| b.name.clone()).collect() };
    let mut bound = mutation.targets.iter().flatten().filter(|target| !target.bindings.is_empty());
    target.bindings.is_empty() || bound.next().is_none_or(|first| names(first) == names(target))
}

/// The objects that a target names, by namespace and name.
fn named(wanted: &Value, data: &Data<'_>) -> Result<Vec<Value>, TargetError> {
    let text = |key: &str| wanted.text_at(&[key]);
    let (api_version, name) = (text("apiVersion"), text("name"));
    let namespace = data.world.policy_namespace.unwrap_or(text("namespace"));
    let kind = text("kind").split('/').next().unwrap_or_default();
    let fits = |pattern: &str, found: &str| pattern.is_empty() || wildcard::matches(pattern, found);
    let exact = |text: &str| !text.is_empty() && !wildcard::has_wildcard(text);
    // What is named in full is read alone; what labels select is listed in one namespace, if
    // only one can have it.
    let within = if exact(namespace) { namespace } else { "" };
    let alone = if exact(name) { name } else { "" };
    let of_cluster = data.world.sources.targets(api_version, kind, within, alone).transpose();
    let of_cluster = of_cluster.map_err(TargetError::Lookup)?;
    let objects: &[Value] = of_cluster.as_deref().unwrap_or_else(|| data.world.sources.objects());
    let of_kind = |o: &&Value| {
        o.text_at(&["kind"]) == kind && wildcard::matches(api_version, o.text_at(&["apiVersion"]))
    };
    let place = |o: &Value| {
        let text = |key: &str| o.text_at(&["metadata", key]).to_string();
        (text("namespace"), text("name"))
    };
    let mut found: Vec<&Value> = objects.iter().filter(of_kind).collect();
    if found.is_empty() && of_cluster.is_none() {
        return Err(TargetError::NoneOfKind);
    }
    if exact(name) && exact(namespace) {
        // An object with a full name is read, not listed: labels do not count.
        let one = found.iter().find(|o| place(o) == (namespace.to_string(), name.to_string()));
        let missing =
            || TargetError::Missing { resource: resource_name(api_version, kind).into(), name: name.into() };
        return one.map(|o| vec![(*o).clone()]).ok_or_else(missing);
    }
    let selector: Option<Selector> =
        wanted.get("selector").filter(|s| !s.is_null()).and_then(|s| data.world.late.selector(s));
    found.retain(|o| {
        let labels = || o.at(&["metadata", "labels"]).and_then(Value::as_map).cloned().unwrap_or_default();
        fits(namespace, o.text_at(&["metadata", "namespace"]))
            && fits(name, o.text_at(&["metadata", "name"]))
            && selector.as_ref().is_none_or(|s| selects(s, &labels()))
    });
    found.sort_by_key(|o| place(o));
    Ok(found.into_iter().cloned().collect())
}
