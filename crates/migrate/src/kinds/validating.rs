//! Validate rules → ValidatingPolicies.

use ephor_ir::Rule;

use crate::expressions::converted::Converted;
use crate::kinds::shared;
use crate::kinds::shared::{common, properties};
use crate::model::draft::{Check, Draft};
use crate::model::migrated::{Document, Note};
use crate::model::original::NewMetadata;
use crate::model::source::Source;
use crate::text::Map;

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
    let mut comments = source.original.comments(&format!("spec.rules[{at}]"));
    let checks = converted.validations.into_iter().map(|one| {
        comments.push(format!("# from {}", source.original.short_place(&one.origin.path)));
        Check {
            comments: std::mem::take(&mut comments),
            expression: one.expression,
            message: one.message.map(|text| text.to_string()),
            message_expression: one.message_expression,
            ..Check::default()
        }
    });
    Draft {
        rules: vec![(at, rule.name.to_string())],
        conditions: converted.conditions,
        variables: converted.variables,
        checks: checks.collect(),
        annotations: properties(rule),
        ..Draft::default()
    }
}

/// The document of a draft.
pub fn document(source: &Source<'_>, draft: &Draft, named: &NewMetadata<'_>) -> Document {
    let kind = if named.namespace.is_some() { "NamespacedValidatingPolicy" } else { "ValidatingPolicy" };
    shared::document(source.original, kind, named, spec(source, draft))
}

fn spec(source: &Source<'_>, draft: &Draft) -> Map {
    let mut out = Map::default();
    out.push("validationActions", draft.action.node());
    common(source, None, &mut out);
    out.push_some("autogen", draft.autogen());
    draft.write_selection(&mut out);
    draft.write_checks(&mut out);
    out
}
