//! Bad input gives an error with its place, the right exit code, and never a panic.
#![allow(clippy::expect_used)]

use crate::common::{Files, POLICY, RESOURCES};

/// Runs a policy text on the good resources.
fn policy(text: &str) -> crate::common::Ran {
    Files::new(&[("p.yaml", text), ("r.yaml", RESOURCES)]).run(&["apply", "p.yaml", "-r", "r.yaml"])
}

/// Runs the good policy on a resource text.
fn resource(bytes: &[u8]) -> crate::common::Ran {
    let files = Files::new(&[("p.yaml", POLICY)]);
    files.write("r.yaml", bytes);
    files.run(&["apply", "p.yaml", "-r", "r.yaml"])
}

#[test]
fn a_policy_that_does_not_parse_is_named_with_its_line() {
    let ran = policy("apiVersion: kyverno.io/v1\nkind: ClusterPolicy\nmetadata: {name: a\nspec: [\n");
    assert_eq!(ran.code, Some(0));
    assert!(ran.err.starts_with("warning: p.yaml:3: failed to parse document (failed to parse yaml: error converting YAML to JSON: yaml: "), "{}", ran.err);
    assert!(ran.out.contains("Applying 0 policy rule(s) to 2 resource(s)..."));
}

#[test]
fn an_unknown_field_is_named_with_line_and_column() {
    let ran = policy(&POLICY.replace("  rules:", "  bogus: 1\n  rules:"));
    assert!(
        ran.err.contains("warning: p.yaml:6:3: ")
            && ran.err.contains("spec.bogus: Invalid value: value provided for unknown field"),
        "{}",
        ran.err
    );
}

#[test]
fn an_unknown_operator_is_refused_with_the_valid_ones() {
    let text = POLICY.replace(
        "pattern: {metadata: {labels: {team: \"?*\"}}}",
        "deny: {conditions: {any: [{key: a, operator: AnyOf, value: b}]}}",
    );
    let ran = policy(&text);
    assert!(ran.out.contains("Policies Skipped:\n1. need-team: path: spec.rules[0].validate.deny.conditions.any[0].: entered value of `operator` is invalid"), "{}", ran.out);
    assert_eq!(ran.code, Some(1));
}

#[test]
fn a_good_document_next_to_a_bad_one_is_still_evaluated() {
    let ran = policy(&format!(
        "{POLICY}---\napiVersion: kyverno.io/v1\nkind: ClusterPolicy\nmetadata: {{name: b}}\nspec: {{rules: 5}}\n"
    ));
    assert!(ran.out.ends_with("pass: 1, fail: 1, warn: 0, error: 0, skip: 0 \n"), "{}", ran.out);
    assert!(ran.err.contains("spec.rules"), "{}", ran.err);
}

#[test]
fn a_missing_policy_file_among_good_ones_is_reported_and_changes_nothing() {
    let files = Files::new(&[("p.yaml", POLICY), ("r.yaml", RESOURCES)]);
    let ran = files.run(&["apply", "missing.yaml", "p.yaml", "-r", "r.yaml"]);
    assert!(ran.err.contains("missing.yaml: stat missing.yaml: no such file or directory"), "{}", ran.err);
    assert_eq!(ran.code, Some(1));
    assert!(ran.out.ends_with("pass: 1, fail: 1, warn: 0, error: 0, skip: 0 \n"));
}

#[test]
fn a_rule_that_can_never_match_is_reported() {
    let ran = policy(&POLICY.replace("kinds: [ConfigMap]", "kinds: [configmap]"));
    assert!(ran.err.contains("p.yaml:8: rule `team` of `need-team` can never match"), "{}", ran.err);
}

#[test]
fn wrong_types_in_every_field_are_errors_and_no_panic() {
    let good = ephor_document::yaml_value(POLICY).expect("the policy parses");
    let wrong = ["5", "\"x\"", "null", "[]", "{}", "true", "[{}]", "{a: {b: [1]}}", "1e400", "-0.0"];
    let mut paths = Vec::new();
    collect(&good, &mut Vec::new(), &mut paths);
    assert!(paths.len() > 12);
    for path in &paths {
        for bad in wrong {
            let bad = ephor_document::yaml_value(bad).unwrap_or_default();
            let doc = replaced(&good, path, &bad);
            let text = ephor_value::print::json(&doc);
            let loaded = ephor_policies::PolicySet::from_yaml(&text);
            if let Ok(set) = loaded {
                let engine = ephor_policies::Engine::new(set);
                let _ = engine.check_yaml("{apiVersion: v1, kind: ConfigMap, metadata: {name: a}}");
            }
        }
    }
}

fn collect(v: &ephor_value::Value, path: &mut Vec<String>, out: &mut Vec<Vec<String>>) {
    use ephor_value::Value;
    out.push(path.clone());
    match v {
        Value::Map(m) => {
            for (k, v) in m.iter() {
                path.push(k.to_string());
                collect(v, path, out);
                path.pop();
            }
        }
        Value::List(l) => {
            for (i, v) in l.iter().enumerate() {
                path.push(i.to_string());
                collect(v, path, out);
                path.pop();
            }
        }
        _ => {}
    }
}

fn replaced(v: &ephor_value::Value, path: &[String], new: &ephor_value::Value) -> ephor_value::Value {
    use ephor_value::Value;
    let Some((first, rest)) = path.split_first() else { return new.clone() };
    match v {
        Value::Map(m) => Value::Map(
            m.iter()
                .map(|(k, v)| (k.clone(), if **k == **first { replaced(v, rest, new) } else { v.clone() }))
                .collect(),
        ),
        Value::List(l) => Value::list(
            l.iter()
                .enumerate()
                .map(|(i, v)| if i.to_string() == *first { replaced(v, rest, new) } else { v.clone() })
                .collect(),
        ),
        other => other.clone(),
    }
}

#[test]
fn broken_resources_stop_the_run_with_their_place() {
    let ran = resource(b"apiVersion: v1\nmetadata: {name: a}\n");
    assert_eq!(ran.code, Some(1));
    assert!(ran.err.contains("failed to load resources (Object 'Kind' is missing in"), "{}", ran.err);
    assert!(ran.err.contains("r.yaml:1"), "{}", ran.err);
    let ran = resource(b"apiVersion: v1\nkind: [\n");
    assert!(ran.err.contains("failed to load resources ("), "{}", ran.err);
    let ran = resource(b"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: \"\xff\xfe\"}\n");
    assert!(ran.ended_well() && !ran.err.is_empty(), "{ran:?}");
}

#[test]
fn empty_files_are_reported() {
    let ran = resource(b"");
    assert!(ran.ended_well() && ran.err.contains("r.yaml"), "{ran:?}");
    let ran = policy("# nothing\n");
    assert!(ran.ended_well() && ran.err.contains("p.yaml"), "{ran:?}");
}

#[test]
fn two_resources_of_one_name_count_once() {
    let ran = resource(RESOURCES.replace("good, namespace: web", "bad").as_bytes());
    assert!(ran.out.contains("to 1 resource(s)..."), "{}", ran.out);
    assert!(ran.err.contains("duplicate of default/ConfigMap/bad"), "{}", ran.err);
}

#[test]
fn lists_are_taken_apart() {
    let list = "apiVersion: v1\nkind: List\nitems:\n- {apiVersion: v1, kind: ConfigMap, metadata: {name: a}}\n- {apiVersion: v1, kind: ConfigMap, metadata: {name: b}}\n";
    assert!(resource(list.as_bytes()).out.contains("fail: 2"));
}

#[test]
fn deep_nesting_and_alias_bombs_are_refused() {
    let deep = format!(
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: a}}\ndata: {}{}\n",
        "[".repeat(10_000),
        "]".repeat(10_000)
    );
    let ran = resource(deep.as_bytes());
    assert!(ran.ended_well() && ran.code == Some(1), "{:?} {}", ran.code, ran.err);
    let ran = policy(&deep.replace("ConfigMap", "ClusterPolicy"));
    assert!(ran.ended_well(), "{:?}", ran.code);
    let mut bomb = String::from(
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\na0: &a0 [x, x, x, x, x, x, x, x, x, x]\n",
    );
    for i in 1..12 {
        let items = vec![format!("*a{}", i - 1); 10].join(", ");
        bomb += &format!("a{i}: &a{i} [{items}]\n");
    }
    let ran = resource(bomb.as_bytes());
    assert!(ran.ended_well() && ran.err.contains("excessive aliasing"), "{}", ran.err);
    let ran = resource(b"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata: &x [*x]\n");
    assert!(ran.ended_well() && ran.code == Some(1), "{ran:?}");
}

#[test]
fn huge_numbers_lose_precision_but_nothing_else() {
    let ran = resource(b"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata: {n: 123456789012345678901234567890, m: 1e308, k: -0}\n");
    assert!(ran.out.contains("fail: 1"), "{ran:?}");
}

#[test]
fn a_document_of_fifty_megabytes_is_read() {
    let mut text = String::from("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata:\n");
    let line = "x".repeat(1000);
    for i in 0..50_000 {
        text += &format!("  k{i}: {line}\n");
    }
    let ran = resource(text.as_bytes());
    assert!(ran.out.contains("fail: 1"), "{:?} {}", ran.code, ran.err);
}

#[test]
fn deep_expressions_and_patterns_are_refused_without_a_panic() {
    let deep = format!("{}a{}", "[".repeat(100_000), "]".repeat(100_000));
    let text = POLICY.replace("label team is needed", &format!("\"{{{{ {deep} }}}}\""));
    assert!(policy(&text).ended_well());
    let pattern = format!("{}x{}", "{a: ".repeat(600), "}".repeat(600));
    assert!(policy(&POLICY.replace("{metadata: {labels: {team: \"?*\"}}}", &pattern)).ended_well());
}
