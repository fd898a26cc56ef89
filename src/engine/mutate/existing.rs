//! Rules that change other objects than that of the request.
//!
//! In: the targets of a rule and the objects that the source of data knows. Out: a result for each
//! object that a target names. Variables see it as `target`; `request.object` stays what the request
//! is about.

use crate::engine::condition;
use crate::engine::data::Data;
use crate::engine::outcome::{Effect, RuleOutcome, Status};
use crate::engine::run::not_met;
use crate::ir::Rule;
use crate::ir::matcher::Selector;
use crate::ir::mutate::{Mutation, MutationTarget};
use crate::matching::Target;
use crate::matching::filter::selects;
use crate::value::wildcard::Wildcard;
use crate::value::{Map, Str, Value};

use super::{change, outcome};

/// Runs a rule on each object that its targets name.
pub fn run(
    mutation: &Mutation,
    targets: &[MutationTarget],
    rule: &Rule,
    data: &mut Data<'_>,
) -> Vec<RuleOutcome> {
    let failed = |text: String| RuleOutcome::new(&rule.name, rule.kind, Status::Error, text);
    let mut results = Vec::new();
    let mut found: Vec<(&MutationTarget, Value)> = Vec::new();
    for (i, target) in targets.iter().enumerate() {
        match data.fill(&target.wanted) {
            Ok(wanted) => found.extend(named(target, &wanted, data).into_iter().map(|o| (target, o))),
            Err(e) => results.push(failed(format!(": failed to substitute variables in target[{i}]: {e}"))),
        }
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
    data.register(&target.bindings);
    if let Some(admit) = &target.admit {
        match condition::evaluate(admit, data) {
            Ok(v) if v.holds => {}
            Ok(v) => return result(Status::Skip, not_met(&v.message)),
            Err(e) => return result(Status::Error, format!("failed to evaluate preconditions: {e}").into()),
        }
    }
    Some(outcome(rule, change(mutation, object, data), Effect::Target))
}

/// The objects that a target names.
fn named(target: &MutationTarget, wanted: &Value, data: &Data<'_>) -> Vec<Value> {
    let text = |key: &str| wanted.text_at(&[key]);
    let namespace = data.world.policy_namespace.unwrap_or(text("namespace"));
    let fits = |pattern: &str, found: &str| pattern.is_empty() || Wildcard::new(pattern).matches(found);
    let kind = text("kind").split('/').next().unwrap_or_default();
    let selector: Option<Selector> = wanted.get("selector").filter(|s| !s.is_null()).and_then(target.selector);
    let objects = data.world.sources.objects();
    let is_named = |object: &&Value| {
        let labels = object.at(&["metadata", "labels"]).and_then(Value::as_map).cloned();
        fits(text("apiVersion"), object.text_at(&["apiVersion"]))
            && fits(kind, object.text_at(&["kind"]))
            && fits(namespace, object.text_at(&["metadata", "namespace"]))
            && fits(text("name"), object.text_at(&["metadata", "name"]))
            && selector.as_ref().is_none_or(|s| selects(s, &labels.unwrap_or_else(Map::new)))
    };
    objects.iter().filter(is_named).filter(|o| Target::of(o).exists).cloned().collect()
}
