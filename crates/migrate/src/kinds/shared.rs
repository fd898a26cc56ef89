//! What the documents of several kinds of policies have: version, metadata, conditions, variables.

use ephor_api::autogen::Computed;
use ephor_ir::Rule;
use ephor_value::Value;

use crate::constraints::model::Condition;
use crate::expressions::context::Context;
use crate::expressions::convert_conditions;
use crate::expressions::converted::Converted;
use crate::expressions::refusal::Refusal;
use crate::model::draft::DraftVariable;
use crate::model::source::Source;
use crate::text::{Map, Node};

/// The version in which policies are written.
pub const VERSION: &str = "policies.kyverno.io/v1";

/// `reportProperties`, whose texts are constant.
pub fn properties(rule: &Rule) -> Vec<(String, String)> {
    let written = rule.properties.as_ref().and_then(|p| p.written.as_map());
    let all = written.into_iter().flat_map(|map| map.iter());
    all.map(|(key, value)| {
        let text = value.as_str().unwrap_or_default();
        (key.to_string(), crate::constraints::cel::literal(text))
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
        let node = flag.map(|on| Node::map([("enabled", Node::Plain(on.to_string()))]));
        evaluation.push_some(key, node.filter(|_| key == "background" || flag == Some(false)));
    }
    if let Some((key, node)) = more {
        evaluation.push(key, node);
    }
    if !evaluation.is_empty() {
        out.push("evaluation", evaluation.into());
    }
}

/// What must hold of the object, from a converted rule.
pub fn own_conditions(converted: &Converted) -> Vec<Condition> {
    let named = |name: &str, expression: &str| Condition {
        name: name.into(),
        expression: expression.into(),
        is_verbatim: false,
    };
    let patterns = converted.validations.iter().filter(|one| one.expression != "true");
    converted
        .conditions
        .iter()
        .map(|c| named(&c.name, &c.expression))
        .chain(patterns.map(|one| named("pattern", &one.expression)))
        .collect()
}

/// The variables of a converted rule.
pub fn own_variables(converted: &Converted) -> Vec<DraftVariable> {
    let one = |v: &crate::expressions::converted::NamedExpression| DraftVariable {
        name: v.name.to_string(),
        expression: v.expression.clone(),
        is_verbatim: false,
    };
    converted.variables.iter().map(one).collect()
}

/// The preconditions of a rule, and a pattern that the object must match, in CEL: those of a rule
/// that validates with that pattern.
pub fn preconditions(
    written: &Value,
    pattern: Option<Value>,
    at: usize,
    context: &Context,
) -> Result<Converted, Refusal> {
    if pattern.is_none() && written.get("preconditions").is_none_or(Value::is_null) {
        return Ok(Converted::default());
    }
    let mut rule = ephor_value::Map::new();
    for key in ["name", "match", "exclude", "context", "preconditions"] {
        if let Some(value) = written.get(key) {
            rule.insert(key, value.clone());
        }
    }
    if let Some(pattern) = pattern {
        rule.insert("validate", Value::map([("message", Value::from("x")), ("pattern", pattern)]));
    }
    let computed = Computed { rule: Value::Map(rule), written: at, generated: None };
    convert_conditions(&ephor_lower::rule::rule(&computed), context)
}
