//! Validate rules → ValidatingPolicies.

use ephor_ir::Rule;

use crate::constraints::model::Condition;
use crate::constraints::{conditions, constraints};
use crate::expressions::converted::Converted;
use crate::kinds::shared::{VERSION, common, properties};
use crate::model::draft::{Check, Draft, DraftVariable};
use crate::model::migrated::{Document, Note};
use crate::model::original::NewMetadata;
use crate::model::source::Source;
use crate::text::{Map, Node, write};

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

pub(crate) fn spec(source: &Source<'_>, draft: &Draft) -> Node {
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
