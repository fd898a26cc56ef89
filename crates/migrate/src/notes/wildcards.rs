//! Notes about values that may hold wildcards.
//!
//! In: the conditions of a rule. Out: a note for each whose operator takes `*` and `?` in values of
//! requests or of other data for wildcards: the new policy compares these values as texts. Names,
//! labels and operations hold none. Semantics: `docs/semantics/conditions.md`, "Equals, NotEquals"
//! and "AnyIn, AllIn, AnyNotIn, AllNotIn".

use ephor_ir::check::Check;
use ephor_ir::rule::Body;
use ephor_ir::template::Part;
use ephor_ir::{Condition, Conditions, Operator, Rule, Template};

use crate::model::migrated::Note;
use crate::model::original::Original;

/// What a note says.
const TEXT: &str = "a value with `*` or `?` is a pattern for the old condition, and a text for the new one";

/// What ends the paths of texts without wildcards.
const WITHOUT: [&str; 6] = [
    "request.operation",
    "request.namespace",
    "metadata.name",
    "metadata.namespace",
    ".kind",
    "serviceAccountName",
];

/// The notes of a rule.
pub fn notes(rule: &Rule, original: &Original) -> Vec<Note> {
    let mut found = Vec::new();
    of_conditions(rule.admit.as_ref(), &mut found);
    if let Body::Validate { check, .. } = &rule.body {
        of_check(check, &mut found);
    }
    let note = |one: &Condition| Note { place: original.place(&one.origin.path), text: TEXT.into() };
    found.into_iter().map(note).collect()
}

fn of_check<'r>(check: &'r Check, out: &mut Vec<&'r Condition>) {
    match check {
        Check::Deny(conditions) => of_conditions(Some(conditions), out),
        Check::ForEach(all) => {
            for one in all {
                of_conditions(one.admit.as_ref(), out);
                of_check(&one.check, out);
            }
        }
        _ => {}
    }
}

fn of_conditions<'r>(conditions: Option<&'r Conditions>, out: &mut Vec<&'r Condition>) {
    let Some(conditions) = conditions else { return };
    let all = conditions.any.iter().flatten().chain(&conditions.all);
    out.extend(all.filter(|one| may_match_otherwise(one)));
}

/// Whether a value that is read may be taken for a pattern.
fn may_match_otherwise(one: &Condition) -> bool {
    match one.operator {
        Some(Operator::Equals | Operator::NotEquals) => may_hold(&one.value),
        Some(
            Operator::AnyIn
            | Operator::AllIn
            | Operator::AnyNotIn
            | Operator::AllNotIn
            | Operator::In
            | Operator::NotIn,
        ) => may_hold(&one.key) || may_hold(&one.value),
        _ => false,
    }
}

/// Whether a value of a template may hold wildcards that are not written in it.
fn may_hold(template: &Template) -> bool {
    match template {
        Template::Const(_) | Template::Fail(_) => false,
        Template::Whole(hole) => is_open(&hole.query.text),
        Template::Text(text) => {
            text.parts.iter().any(|part| matches!(part, Part::Hole(query) if is_open(&query.text)))
        }
        Template::Rounds(rounds) => is_open(&rounds.source),
        Template::List(items) => items.iter().any(may_hold),
        Template::Object(_) => false,
    }
}

/// Whether an expression may be a text with wildcards.
fn is_open(expression: &str) -> bool {
    let own = expression.split("||").next().unwrap_or_default().trim();
    let is_number = own.contains("length(") || own.contains("to_number(") || own.contains("count(");
    let is_label = own.contains("metadata.labels");
    !is_number && !is_label && !WITHOUT.iter().any(|end| own.ends_with(end))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_labels_and_numbers_hold_no_wildcards() {
        for closed in [
            "request.operation",
            "request.object.metadata.name",
            "request.object.metadata.labels.team || 'none'",
            "length(request.object.spec.ports)",
        ] {
            assert!(!is_open(closed), "{closed}");
        }
        assert!(is_open("request.object.data.mode || ''") && is_open("element.verbs"));
    }
}
