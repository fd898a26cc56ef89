//! What a rule seems to read, where that is not known before there is a request.
//!
//! In: a lowered policy. Out: the fields of objects that its texts name,
//! `request.object.spec.a[].b`. Nothing is proved with them: they say which objects are worth a
//! look.

use std::cell::RefCell;
use std::collections::BTreeSet;

use ephor_analysis::reads::{Reads, Step};
use ephor_ir::parts::RulePart;
use ephor_ir::template::Rounds;
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
        RulePart::Template(Template::Rounds(rounds)) => of_rounds(rounds, reads),
        RulePart::Template(Template::Whole(hole)) => of_rounds(&hole.rounds, reads),
        RulePart::Template(Template::Text(text)) => of_rounds(&text.rounds, reads),
        RulePart::Leaf(leaf) => constant(&leaf.source, reads),
        _ => {}
    }
    part.parts(&mut |below| texts(below, reads));
}

/// The fields that a text with variables names; a lone `@` is one of them.
fn of_rounds(rounds: &Rounds, reads: &mut Reads) {
    fields(&rounds.source, reads);
    if rounds.source.contains('@') {
        fields(&rounds.current, reads);
    }
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
    use ephor_policies::policy_set::PolicySet;

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

    /// What the only policy of a text seems to read.
    fn of(policy: &str) -> Reads {
        let set = PolicySet::from_yaml(policy).unwrap();
        let [policy] = set.policies() else { panic!("{policy}") };
        guessed(policy)
    }

    /// What a rule of a ClusterPolicy seems to read.
    fn of_rule(body: &str) -> Reads {
        of(&format!(
            "apiVersion: kyverno.io/v1\nkind: ClusterPolicy\nmetadata: {{name: p}}\nspec:\n  rules:\n  - name: r\n    match: {{any: [{{resources: {{kinds: [ConfigMap]}}}}]}}\n    {body}\n"
        ))
    }

    /// Compares what is read with the fields of the new and of the former object; `*`: the items of
    /// a list.
    #[track_caller]
    fn reads_are(found: &Reads, new: &[&str], old: &[&str]) {
        let mut wanted = Reads::default();
        let step = |step: &str| if step == "*" { Step::Items } else { Step::Key(step.into()) };
        let steps = |field: &&str| field.split('.').map(step).collect::<Vec<Step>>();
        new.iter().for_each(|field| wanted.object.add(&steps(field), false));
        old.iter().for_each(|field| wanted.old.add(&steps(field), false));
        // The order of fields says nothing.
        for (found, wanted) in [(&found.object, &wanted.object), (&found.old, &wanted.old)] {
            let [mut more, mut less] = [found.clone(), wanted.clone()];
            more.merge(wanted);
            less.merge(found);
            assert_eq!((found, wanted), (&more, &less));
        }
    }

    #[test]
    fn the_fields_of_conditions_are_found_and_those_of_messages_are_not() {
        let found = of_rule(
            "preconditions: {all: [{key: '{{ request.object.data.a }}', operator: Equals, value: '{{ request.oldObject.data.b }}'}]}
    validate: {message: '{{ request.object.data.m }}', deny: {conditions: {any: [
      {key: 'x-{{ request.object.data.c }}', operator: AnyIn, value: ['{{ request.object.data.d || request.object.data.e }}']},
      {key: '{{ request.object.list[?x == `{{ request.object.data.f }}`] }}', operator: Equals, value: x, message: '{{ request.object.data.n }}'}]}}}",
        );
        // Variables that are resolved in one round read the former object in a deletion.
        let new = ["data.a", "data.c", "data.d", "data.e", "data.f", "list.*"];
        reads_are(&found, &new, &["data.a", "data.b", "data.c", "data.d", "data.e"]);
    }

    #[test]
    fn the_fields_of_context_entries_are_found() {
        let found = of_rule(
            "context:
    - {name: a, variable: {jmesPath: 'request.object.data.a', default: '{{ request.object.data.b }}'}}
    - {name: c, apiCall: {urlPath: '/api/v1/namespaces/{{ request.object.data.c }}/pods', jmesPath: 'items[?x == `{{ request.object.data.d }}`]'}}
    - {name: e, configMap: {name: '{{ request.object.data.e }}', namespace: x}}
    validate: {message: m, pattern: {metadata: {name: '?*'}}}",
        );
        reads_are(
            &found,
            &["data.a", "data.b", "data.c", "data.d", "data.e"],
            &["data.b", "data.c", "data.d", "data.e"],
        );
    }

    #[test]
    fn the_fields_of_patterns_and_loops_are_found() {
        let found = of_rule(
            "validate: {message: m, foreach: [{list: 'request.object.data.a[]', pattern: {b: '{{ request.object.data.c }}', '{{ request.object.data.d }}': 'e'}}]}",
        );
        reads_are(&found, &["data.a.*", "data.c", "data.d"], &["data.c", "data.d"]);
    }

    #[test]
    fn the_fields_of_changes_are_found_and_the_one_that_is_changed_where_it_is_read() {
        let found = of_rule(
            "mutate: {patchStrategicMerge: {metadata: {labels: {a: '{{ request.object.data.a }}', b: '{{ @ }}'}}}}",
        );
        let all = ["data.a", "metadata.labels.b"];
        reads_are(&found, &all, &all);
        let found = of_rule(
            "mutate: {patchStrategicMerge: {metadata: {labels: {a: '{{ request.object.data.a }}'}}}}",
        );
        reads_are(&found, &["data.a"], &["data.a"]);
        let found = of_rule(
            "mutate: {foreach: [{list: 'request.object.data.a', patchesJson6902: \"[{op: add, path: /data/b, value: '{{ request.object.data.c }}'}]\"}]}",
        );
        reads_are(&found, &["data.a", "data.c"], &["data.c"]);
    }

    #[test]
    fn the_fields_that_expressions_read_through_the_request_are_found() {
        let found = of_rule(
            "celPreconditions: [{name: c, expression: \"request.object.data.a == 'x'\"}]
    validate: {cel: {expressions: [{expression: 'has(request.object.data.c) && object.data.d == request.oldObject.data.b'}]}}",
        );
        reads_are(&found, &["data.a", "data.c"], &["data.b"]);
    }
}
