//! Nodes that are known only at run time.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

use ephor_analysis::assumptions::*;
use ephor_api::autogen::Selection;
use ephor_document::yaml_value;
use ephor_lower::policy::rules_as_lowered;

const RULES: &str = r#"
spec:
  rules:
  - name: a
    match: {any: [{resources: {kinds: [ConfigMap]}}]}
    context:
    - name: v
      variable: {jmesPath: "request.object.{{ request.name }}"}
    preconditions:
      all: [{key: "{{ v }}", operator: Equals, value: "a-{{ v }}"}, {key: "{{ {{ v }} }}", operator: Equals, value: "{{ plain"}]
    validate: {message: m, pattern: {metadata: {labels: {"a*": "?*"}}, data: {"(x)": "{{ v }}"}}}
  - name: b
    match: {any: [{resources: {kinds: [ConfigMap]}}]}
    mutate: {patchStrategicMerge: {data: {a: "{{ request.name }}"}}}
  - name: c
    match: {any: [{resources: {kinds: [ConfigMap]}}]}
    mutate: {patchesJson6902: "[{op: add, path: /data/a, value: '{{ request.name }}'}]"}
  - name: d
    match: {any: [{resources: {kinds: [ConfigMap]}}]}
    validate: {message: m, pattern: {metadata: {labels: {"a*": "?*"}}}}
"#;

#[test]
fn names_every_node_that_is_known_only_at_run_time() {
    let rules = rules_as_lowered(&yaml_value(RULES).unwrap(), Selection::All);
    let found: Vec<(String, Open, String, String)> = rules
        .iter()
        .flat_map(|r| of_rule(r).into_iter().map(|a| (r.name.to_string(), a.open, a.origin, a.text)))
        .collect();
    let expect = [
        ("a", Open::Query, "spec.rules[0].context[0]", ""),
        ("a", Open::Text, "spec.rules[0].context[0]", "request.object.{{ request.name }}"),
        ("a", Open::Result, "spec.rules[0].preconditions.all[0]", "{{ v }}"),
        ("a", Open::Text, "spec.rules[0].preconditions.all[0]", "a-{{ v }}"),
        ("a", Open::Rounds, "spec.rules[0].preconditions.all[1]", "{{ {{ v }} }}"),
        ("a", Open::Pattern, "spec.rules[0].validate.pattern", ""),
        ("a", Open::Result, "spec.rules[0].validate.pattern", "{{ v }}"),
        ("b", Open::Merge, "spec.rules[1].mutate.patchStrategicMerge", ""),
        ("b", Open::Result, "spec.rules[1].mutate.patchStrategicMerge", "{{ request.name }}"),
        ("c", Open::JsonPatch, "spec.rules[2].mutate.patchesJson6902", ""),
    ];
    for (rule, open, origin, text) in expect {
        let wanted = (rule.to_string(), open, origin.to_string(), text.to_string());
        assert!(found.contains(&wanted), "{wanted:?} in {found:#?}");
    }
    assert!(found.iter().any(|(rule, open, ..)| rule == "d" && *open == Open::Keys), "{found:#?}");
}
