//! Validate rules → ValidatingPolicies.

use crate::constraints::{Condition, conditions, constraints};
use crate::draft::{Check, Draft, DraftVariable};
use crate::expressions::Converted;
use crate::original::NewMetadata;
use crate::policy::{Document, Note, Source};
use crate::text::{Map, Node, write};
use ephor_ir::Rule;
use ephor_value::Value;

/// The version in which policies are written.
pub const VERSION: &str = "policies.kyverno.io/v1";

/// The draft of a rule whose expressions were converted.
pub fn draft(
    source: &Source<'_>,
    at: usize,
    rule: &Rule,
    converted: Converted,
    notes: &mut Vec<Note>,
) -> Draft {
    for variable in &converted.left_out {
        let text =
            format!("the message is without `{{{{ {variable} }}}}`: no expression reads it without failing");
        source.note(&format!("spec.rules[{at}].validate.message"), text, notes);
    }
    for entry in &converted.unanswered {
        let text = "data that cannot be read: the old rule continues with the default, the new one fails; what does not exist has the default in both";
        source.note(&entry.path, text, notes);
    }
    let conditions = converted.conditions.into_iter().map(|one| Condition {
        name: one.name.to_string(),
        expression: one.expression,
        is_verbatim: false,
    });
    let variables = converted.variables.into_iter().map(|one| DraftVariable {
        name: one.name.to_string(),
        expression: one.expression,
        is_verbatim: false,
    });
    let mut comments = source.original.comments(&format!("spec.rules[{at}]"));
    let checks = converted.validations.into_iter().map(|one| {
        comments.push(format!("# from {}", source.original.short_place(&one.origin.path)));
        Check {
            comments: std::mem::take(&mut comments),
            expression: one.expression,
            message: one.message.map(|text| text.to_string()),
            message_expression: one.message_expression,
            reason: None,
            is_verbatim: false,
        }
    });
    Draft {
        rules: vec![(at, rule.name.to_string())],
        conditions: conditions.collect(),
        variables: variables.collect(),
        checks: checks.collect(),
        annotations: properties(rule),
        ..Draft::default()
    }
}

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

/// The document of a draft.
pub fn document(source: &Source<'_>, draft: &Draft, named: &NewMetadata<'_>) -> Document {
    let kind = match named.namespace {
        Some(_) => "NamespacedValidatingPolicy",
        None => "ValidatingPolicy",
    };
    let mut text: String = source.original.head().iter().map(|line| format!("{line}\n")).collect();
    text.push_str(&format!("apiVersion: {VERSION}\nkind: {kind}\n"));
    text.push_str(&source.original.metadata(named));
    text.push_str(&write(&Node::map([("spec", spec(source, draft))]), 0));
    Document { kind, name: named.name.into(), text }
}

fn spec(source: &Source<'_>, draft: &Draft) -> Node {
    let mut out = Map::default();
    out.push("validationActions", draft.action.node());
    common(source, None, &mut out);
    let mut autogen = Map::default();
    if let Some(controllers) = &draft.controllers {
        autogen.push("podControllers", Node::map([("controllers", Node::texts(controllers))]));
    }
    if draft.generates_native {
        autogen.push("validatingAdmissionPolicy", Node::map([("enabled", Node::Plain("true".into()))]));
    }
    if !autogen.is_empty() {
        out.push("autogen", autogen.into());
    }
    out.push("matchConstraints", constraints(&draft.matching));
    out.push_some("matchConditions", conditions(&draft.conditions));
    let list = |nodes: Vec<Node>| (!nodes.is_empty()).then(|| Node::list(nodes));
    out.push_some("variables", list(draft.variables.iter().map(DraftVariable::node).collect()));
    out.push("validations", Node::List(draft.checks.iter().map(Check::item).collect()));
    let annotation = |(key, text): &(String, String)| {
        Node::map([("key", Node::text(key)), ("valueExpression", Node::text(text))])
    };
    out.push_some("auditAnnotations", list(draft.annotations.iter().map(annotation).collect()));
    out.into()
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
