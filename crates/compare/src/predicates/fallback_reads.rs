//! What a rule seems to read, where that is not known before there is a request.
//!
//! In: a lowered policy. Out: the fields of objects that its texts name,
//! `request.object.spec.a[].b`. Nothing is proved with them: they say which objects are worth a
//! look.

use std::cell::RefCell;
use std::collections::BTreeSet;

use ephor_analysis::reads::{Reads, Step};
use ephor_ir::parts::RulePart;
use ephor_ir::{Expr, Policy, Template};
use ephor_value::Value;

/// More characters of one text are not read.
const MAX_TEXT_BYTES: usize = 64 << 10;

/// More quoted texts of one text are not read.
const MAX_QUOTED: usize = 32;

/// The fields that the texts of a policy name.
pub(crate) fn guessed(policy: &Policy) -> Reads {
    let mut reads = Reads { name: true, ..Reads::default() };
    policy.all_rules().for_each(|rule| texts(RulePart::Rule(rule), &mut reads));
    reads
}

/// The fields that the texts of a part name, and of what is in it.
fn texts(part: RulePart, reads: &mut Reads) {
    match part {
        RulePart::Message(_) => return,
        RulePart::Query(query) | RulePart::OnDelete(query) => fields(&query.text, reads),
        RulePart::Source(source) => fields(&source.text, reads),
        RulePart::Place(place) => fields(&place.text, reads),
        RulePart::Template(Template::Const(value)) | RulePart::Expr(Expr::Const(value)) => {
            constant(value, reads)
        }
        RulePart::Template(Template::Rounds(rounds)) => fields(&rounds.source, reads),
        RulePart::Template(Template::Whole(hole)) => fields(&hole.rounds.source, reads),
        RulePart::Template(Template::Text(text)) => fields(&text.rounds.source, reads),
        RulePart::Leaf(leaf) => constant(&leaf.source, reads),
        _ => {}
    }
    part.parts(&mut |below| texts(below, reads));
}

fn constant(value: &Value, reads: &mut Reads) {
    let reads = RefCell::new(reads);
    value.any_text(&|text| {
        fields(text, &mut reads.borrow_mut());
        false
    });
}

fn fields(text: &str, reads: &mut Reads) {
    if text.len() > MAX_TEXT_BYTES {
        return;
    }
    for (root, is_old) in [("request.object", false), ("request.oldObject", true)] {
        for (at, _) in text.match_indices(root) {
            let steps = steps(text.get(at + root.len()..).unwrap_or_default());
            if !steps.is_empty() {
                let tree = if is_old { &mut reads.old } else { &mut reads.object };
                tree.add(&steps, false);
            }
        }
    }
}

/// The texts in single quotes, which values may be compared with; those that variables are part of
/// are none.
pub(crate) fn quoted(text: &str) -> BTreeSet<String> {
    if text.len() > MAX_TEXT_BYTES {
        return BTreeSet::new();
    }
    let parts = text.split('\'').skip(1).step_by(2).take(MAX_QUOTED);
    parts.filter(|part| !part.contains("{{")).map(Into::into).collect()
}

/// The steps at the beginning of a text: keys behind dots, keys in quotes, and whatever stands in
/// brackets as items.
fn steps(mut text: &str) -> Vec<Step> {
    let mut found = Vec::new();
    loop {
        if let Some(rest) = text.strip_prefix('.') {
            let quoted = rest.strip_prefix('"').and_then(|rest| rest.split_once('"'));
            let end = rest.find(|c: char| !(c.is_alphanumeric() || c == '_')).unwrap_or(rest.len());
            let (key, rest) = quoted.unwrap_or_else(|| rest.split_at(end));
            // A function or a list of expressions is no field.
            if key.is_empty() || rest.starts_with('(') {
                return found;
            }
            found.push(Step::Key(key.into()));
            text = rest;
        } else if let Some((_, rest)) = text.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
            found.push(Step::Items);
            text = rest;
        } else {
            return found;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_found_in_texts() {
        let mut reads = Reads::default();
        fields(
            "{{ regex_match('^a$', '{{request.object.spec.\"a-b\"[?x].c}}') }} {{ request.oldObject.d }}",
            &mut reads,
        );
        let mut wanted = Reads::default();
        let key = |key: &str| Step::Key(key.into());
        wanted.object.add(&[key("spec"), key("a-b"), Step::Items, key("c")], false);
        wanted.old.add(&[key("d")], false);
        assert_eq!((reads.object, reads.old), (wanted.object, wanted.old));
    }

    #[test]
    fn quoted_texts_are_those_without_variables() {
        let found = quoted("{{ regex_match('^a$', '{{ request.object.b || 'c' }}') }}");
        // Quotes in quotes end and begin.
        assert!(found.contains("^a$") && !found.iter().any(|text| text.contains("{{")), "{found:?}");
    }

    #[test]
    fn a_function_is_no_field() {
        let mut reads = Reads::default();
        fields("request.object.spec.a.startsWith('x')", &mut reads);
        let mut wanted = Reads::default();
        wanted.object.add(&["spec", "a"].map(|key| Step::Key(key.into())), false);
        assert_eq!(reads.object, wanted.object);
    }
}
