//! What the documents of several kinds of policies have: version, metadata, conditions, variables.

use std::sync::Arc;

use ephor_api::autogen::Computed;
use ephor_ir::Rule;
use ephor_lower::template::text;
use ephor_value::{Map as Fields, Str, Value};

use crate::constraints::cel::literal;
use crate::expressions::context::Context;
use crate::expressions::converted::{Converted, NamedExpression};
use crate::expressions::refusal::Result;
use crate::expressions::{convert_conditions, value};
use crate::model::migrated::Document;
use crate::model::original::{NewMetadata, Original};
use crate::model::source::Source;
use crate::model::unique::members;
use crate::text::{Map, Node, write};

/// The version in which policies are written.
pub const VERSION: &str = "policies.kyverno.io/v1";

/// A document of `policies.kyverno.io`, with the comments and the metadata of its origin.
pub fn document(original: &Original, kind: &'static str, named: &NewMetadata<'_>, spec: Map) -> Document {
    document_of(VERSION, original, kind, named, spec)
}

/// A document of an API version, with the comments and the metadata of its origin.
pub fn document_of(
    version: &str,
    original: &Original,
    kind: &'static str,
    named: &NewMetadata<'_>,
    spec: Map,
) -> Document {
    let mut text: String = original.head().iter().map(|line| format!("{line}\n")).collect();
    text.push_str(&format!("apiVersion: {version}\nkind: {kind}\n"));
    text.push_str(&original.metadata(named));
    text.push_str(&write(&Node::map([("spec", spec.into())]), 0));
    Document { kind, name: named.name.into(), text }
}

/// `reportProperties`, whose texts are constant.
pub fn properties(rule: &Rule) -> Vec<(String, String)> {
    let written = rule.properties.as_ref().and_then(|p| p.written.as_map());
    let all = written.into_iter().flat_map(|map| map.iter());
    all.map(|(key, value)| {
        let text = value.as_str().unwrap_or_default();
        (key.to_string(), literal(text))
    })
    .collect()
}

/// What policies of all kinds say about their evaluation, as far as the old one says it; `more` is
/// another part of `evaluation`.
pub fn common(source: &Source<'_>, more: Option<(&str, Node)>, out: &mut Map) {
    if !source.policy.failure_policy.is_fail() {
        out.push("failurePolicy", Node::text("Ignore"));
    }
    let written = |path: &[&str]| source.original.value.at(path).filter(|v| !v.is_null());
    let timeout = written(&["spec", "webhookConfiguration", "timeoutSeconds"])
        .or_else(|| written(&["spec", "webhookTimeoutSeconds"]));
    out.push_some("webhookConfiguration", timeout.map(|v| Node::map([("timeoutSeconds", Node::of(v))])));
    let mut evaluation = Map::default();
    for key in ["admission", "background"] {
        let flag = written(&["spec", key]).and_then(Value::as_bool);
        let flag = flag.filter(|on| key == "background" || !on);
        evaluation.push_some(key, flag.map(Node::enabled));
    }
    if let Some((key, node)) = more {
        evaluation.push(key, node);
    }
    out.push_map("evaluation", evaluation);
}

/// What must hold of the object, from a converted rule.
pub fn own_conditions(converted: &Converted) -> Vec<NamedExpression> {
    let patterns = converted.validations.iter().filter(|one| one.expression != "true");
    let patterns = patterns.map(|one| NamedExpression::converted("pattern", one.expression.clone()));
    converted.conditions.iter().cloned().chain(patterns).collect()
}

/// What fills texts with variables in.
pub type Fill<'f> = &'f dyn Fn(&str) -> Result<String>;

/// A text of a rule as an expression.
pub fn filled(written: &str, rule: &Rule, context: &Context) -> Result<String> {
    let names: Arc<[Str]> = rule.bindings.iter().map(|b| b.name.clone()).collect();
    value(&text(&written.into(), &names), rule, None, context)
}

/// The preconditions of a rule, and a pattern that the object must match, in CEL: those of a rule
/// that validates with that pattern.
pub fn preconditions(
    written: &Value,
    pattern: Option<Value>,
    at: usize,
    context: &Context,
) -> Result<Converted> {
    if pattern.is_none() && written.get("preconditions").is_none_or(Value::is_null) {
        return Ok(Converted::default());
    }
    let mut rule = members(written, &["name", "match", "exclude", "context", "preconditions"]);
    if let Some(pattern) = pattern {
        rule.insert("validate", Value::map([("message", Value::from("x")), ("pattern", pattern)]));
    }
    conditions_of(rule, at, context)
}

/// The conditions in CEL of a rule that has no more than these fields.
pub fn conditions_of(rule: Fields, at: usize, context: &Context) -> Result<Converted> {
    let computed = Computed { rule: Value::Map(rule), written: at, generated: None };
    convert_conditions(&ephor_lower::rule::rule(&computed), context)
}
