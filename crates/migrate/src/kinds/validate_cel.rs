//! Rules with `validate.cel` → validations, with every expression as it is.
//!
//! In: the rule as it was written. Out: a draft whose expressions are the same byte for byte.
//! Parameters and the authorizer do not exist in ValidatingPolicies.

use ephor_ir::Rule;
use ephor_value::Value;

use crate::expressions::converted::NamedExpression;
use crate::expressions::refusal::{Refusal, Result};
use crate::kinds::shared::properties;
use crate::model::draft::{Check, Draft};
use crate::model::migrated::TargetApi;
use crate::model::source::Source;

/// The draft of a rule with `validate.cel`.
///
/// # Errors
/// It has parameters or an authorizer, which the kind that is written does not have.
pub fn draft(source: &Source<'_>, at: usize, rule: &Rule) -> Result<Draft> {
    let written = &source.written(at, rule);
    let list = |path: &[&str]| written.at(path).and_then(Value::as_list).unwrap_or_default();
    let text = |v: &Value, key: &str| v.text_at(&[key]).to_string();
    if source.options.to == TargetApi::Kyverno {
        refuse(written, rule)?;
    }
    let mut comments = source.original.comments(&format!("spec.rules[{at}]"));
    let message = written.text_at(&["validate", "message"]);
    let filled = |text: String| (!text.is_empty()).then_some(text);
    let checks = list(&["validate", "cel", "expressions"]).iter().enumerate().map(|(i, one)| {
        let path = format!("spec.rules[{at}].validate.cel.expressions[{i}]");
        comments.push(format!("# from {}", source.original.short_place(&path)));
        Check {
            comments: std::mem::take(&mut comments),
            expression: text(one, "expression"),
            message: filled(text(one, "message")).or_else(|| filled(message.into())),
            message_expression: filled(text(one, "messageExpression")),
            reason: filled(text(one, "reason")),
            is_verbatim: true,
        }
    });
    let checks = checks.collect();
    let param = |key: &str| written.at(&["validate", "cel", key]).filter(|v| !v.is_null()).cloned();
    let mut annotations = properties(rule);
    let audit = list(&["validate", "cel", "auditAnnotations"]).iter();
    annotations.extend(audit.map(|one| (text(one, "key"), text(one, "valueExpression"))));
    Ok(Draft {
        rules: vec![(at, rule.name.to_string())],
        conditions: NamedExpression::written(written.get("celPreconditions")),
        variables: NamedExpression::written(written.at(&["validate", "cel", "variables"])),
        checks,
        annotations,
        params: param("paramKind").zip(param("paramRef")),
        generates_native: written.at(&["validate", "cel", "generate"]).and_then(Value::as_bool) == Some(true),
        ..Draft::default()
    })
}

fn refuse(written: &Value, rule: &Rule) -> Result<()> {
    let cel = written.at(&["validate", "cel"]);
    let place = rule.origin.key("validate.cel");
    if cel.and_then(|cel| cel.get("paramKind")).is_some_and(|v| !v.is_null()) {
        return Err(Refusal::new(
            "parameters (`paramKind`)",
            place.key("paramKind"),
            "read the object with `resource.get`, or write a ValidatingAdmissionPolicy with `--to vap`",
        ));
    }
    let is_word = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '.';
    let mentions = |text: &str| {
        text.split(|c: char| !is_word(c)).any(|word| word == "authorizer" || word.starts_with("authorizer."))
    };
    if cel.is_some_and(|cel| cel.any_text(&mentions)) {
        return Err(Refusal::new(
            "the authorizer",
            place,
            "write a ValidatingAdmissionPolicy with `--to vap`",
        ));
    }
    Ok(())
}
