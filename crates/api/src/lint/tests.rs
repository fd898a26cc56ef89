#![allow(clippy::unwrap_used, clippy::panic)]

use super::*;
use crate::autogen::{Selection, computed_rules};
use crate::{corpus, schema};
use ephor_value::place;

/// Knows the mistakes that occur in the recordings.
fn parse_jmespath(text: &str) -> Result<(), Cause> {
    let broken = text.is_empty()
        || text.ends_with(['.', '[', '(', '|'])
        || text.contains("..")
        || text.starts_with("{ ")
        || text.contains('\n')
        || text.matches('[').count() != text.matches(']').count();
    if broken { Err("SyntaxError: stub".into()) } else { Ok(()) }
}

/// No recording has a condition.
fn condition(text: &str) -> Result<(), Cause> {
    if text.ends_with('+') { Err("compilation failed: stub".into()) } else { Ok(()) }
}

/// Reads JSON, and of YAML only flat lists of `key: value` items.
fn parse_yaml(text: &str) -> Result<Value, Cause> {
    if let Ok(json) = serde_json::from_str::<serde_json::Value>(text) {
        return Ok(corpus::parse(&json.to_string()));
    }
    let lines: Vec<&str> = text.lines().map(|line| line.split(" # ").next().unwrap_or("")).collect();
    let lines: Vec<&str> = lines.into_iter().filter(|line| !line.starts_with('#')).collect();
    let text = &lines.join("\n");
    let is_list = text.trim_start().starts_with("- ");
    let mut items: Vec<ephor_value::Map> = Vec::new();
    for line in text.lines().filter(|line| !line.trim().is_empty()) {
        if items.is_empty() || line.starts_with("- ") {
            items.push(ephor_value::Map::new());
        }
        if let Some((key, value)) = line.trim_start_matches(['-', ' ']).split_once(':') {
            let value = value.trim().trim_matches(['"', '\'']);
            items.last_mut().unwrap().insert(key.trim(), Value::from(value));
        } else if !is_list {
            return Ok(Value::from(text.as_str()));
        }
    }
    match is_list {
        true => Ok(Value::list(items.into_iter().map(Value::Map).collect())),
        false => Ok(items.into_iter().next().map(Value::Map).unwrap_or_default()),
    }
}

const CHECKS: Checks = Checks { parse_jmespath, condition, parse_yaml, scope: |_, _| Scope::Namespaced };

fn error_of(policy: &Value) -> Option<String> {
    let policy = schema::check(policy).unwrap_or_else(|error| panic!("{error}"));
    lint(&policy, &CHECKS).error.map(|finding| finding.text)
}

/// What a run over recorded cases gave.
#[derive(Default)]
struct Tally {
    lines: usize,
    wrong: Vec<String>,
    texts: usize,
    equal: usize,
}

impl Tally {
    fn add(&mut self, case: &Value) {
        let expected = case.at(&["expected", "policyError"]);
        let found = corpus::policies(case).iter().find_map(error_of);
        self.lines += 1;
        match (expected, found) {
            (None, None) => {}
            (Some(Value::Str(expected)), Some(found)) => {
                self.texts += 1;
                if **expected == *found {
                    self.equal += 1;
                } else {
                    println!("{}\n  - {expected}\n  + {found}", case.text_at(&["id"]));
                }
            }
            (Some(_), Some(_)) => {}
            (expected, found) => {
                self.wrong.push(format!("{}: {expected:?} {found:?}", case.text_at(&["id"])));
            }
        }
    }
}

#[test]
fn refuses_the_policies_that_the_reference_refuses() {
    let mut tally = Tally::default();
    for file in ["autogen", "conditions", "match", "mutate", "patterns", "realistic", "rules", "variables"] {
        corpus::cases(&format!("{file}.jsonl")).iter().for_each(|case| tally.add(case));
    }
    println!("{} lines, texts {} of {}", tally.lines, tally.equal, tally.texts);
    assert!(tally.wrong.is_empty(), "{}", tally.wrong.join("\n"));
    // The stub parser above has texts of its own.
    assert!(tally.texts - tally.equal <= 14, "{} of {} texts", tally.equal, tally.texts);
}

#[test]
fn gives_the_texts_of_the_reference() {
    let mut tally = Tally::default();
    corpus::own_cases("policy-checks.jsonl").iter().for_each(|case| tally.add(case));
    assert!(tally.wrong.is_empty(), "{}", tally.wrong.join("\n"));
    assert_eq!(tally.equal, tally.texts);
}

fn policy(kind: &str, spec: &str) -> Value {
    let namespace = if kind == "Policy" { r#","namespace":"d""# } else { "" };
    let text = format!(
        r#"{{"apiVersion":"kyverno.io/v1","kind":"{kind}","metadata":{{"name":"p"{namespace}}},"spec":{spec}}}"#
    );
    schema::check(&corpus::parse(&text)).unwrap()
}

fn on_rule(rule: &str) -> Findings {
    let spec = format!(
        r#"{{"rules":[{{"name":"r","match":{{"any":[{{"resources":{{"kinds":["ConfigMap"]}}}}]}},{rule}}}]}}"#
    );
    lint(&policy("ClusterPolicy", &spec), &CHECKS)
}

#[test]
fn warns_of_what_is_going_away_and_of_likely_mistakes() {
    for (rule, text) in [
        (
            r#""validate":{"failureAction":"Audit","failureActionOverrides":[{"action":"enforce"}],"deny":{}}"#,
            "spec.rules[0].validate.failureActionOverrides[0].action: Validation failure actions enforce/audit are \
             deprecated, use Enforce/Audit instead.",
        ),
        (
            r#""validate":{"deny":{"conditions":{"all":[{"key":"a","operator":"In","value":["a"]}]}}}"#,
            r#"Operator In has been deprecated and will be removed soon. Use these instead: ["AllIn" "AnyIn"]"#,
        ),
        (
            r#""validate":{"pattern":{"spec":{"replicas":1}}}"#,
            "You are matching on replicas but not including the scale subresource in the policy.",
        ),
        (
            r#""validate":{"pattern":{"status":{"a":1}}}"#,
            "You are matching on status but not including the status subresource in the policy.",
        ),
        (
            r#""generate":{"apiVersion":"v1","kind":"{{ request.object.k }}","name":"a","namespace":"b","data":{}}"#,
            "variables in spec.rules[0].clone/cloneList would lead to incorrect synchronization behavior",
        ),
        (
            r#""verifyImages":[{"imageReferences":["a"],"mutateDigest":false,"attestations":[{"predicateType":"t"}]}]"#,
            "predicateType has been deprecated use 'type: t' instead of 'predicateType: t'",
        ),
    ] {
        let findings = on_rule(rule);
        assert_eq!(findings.error, None, "{rule}");
        let texts: Vec<&str> = findings.warnings.iter().map(|f| f.text.as_str()).collect();
        assert_eq!(texts, [text], "{rule}");
    }
}

#[test]
fn warns_when_autogen_leaves_controllers_out() {
    let text = r#"{"apiVersion":"kyverno.io/v1","kind":"ClusterPolicy","metadata":{"name":"p","annotations":
        {"pod-policies.kyverno.io/autogen-controllers":"CONTROLLERS"}},"spec":{"rules":[{"name":"r","match":
        {"any":[{"resources":{"kinds":["Pod"]}}]},"validate":{"deny":{}}}]}}"#;
    for (controllers, warns) in
        [("Deployment", true), ("none", false), ("StatefulSet,DaemonSet,CronJob,Job,Deployment", false)]
    {
        let policy = schema::check(&corpus::parse(&text.replace("CONTROLLERS", controllers))).unwrap();
        let findings = lint(&policy, &CHECKS);
        assert_eq!(findings.warnings.len(), usize::from(warns), "{controllers}");
    }
}

#[test]
fn a_finding_keeps_its_place() {
    for (rule, place) in [
        (r#""validate":{"message":"{{ nope }}","deny":{}}"#, "spec.rules[0].validate.message"),
        (r#""validate":{"pattern":{"+(a)":1}}"#, "spec.rules[0].validate.pattern.+(a)"),
        (
            r#""validate":{"deny":{}},"context":[{"name":"","variable":{"value":1}}]"#,
            "spec.rules[0].context[0]",
        ),
        (r#""validate":{"deny":{}},"exclude":{"roles":["x"]}"#, "spec.rules[0].exclude"),
    ] {
        let path = on_rule(rule).error.unwrap().path;
        assert_eq!(place::dotted(&path), place, "{rule}");
    }
}

#[test]
fn a_problem_of_a_generated_rule_is_placed_at_the_written_one() {
    let spec = r#"{"rules":[
        {"name":"a","match":{"any":[{"resources":{"kinds":["ConfigMap"]}}]},"validate":{"deny":{}}},
        {"name":"b","match":{"any":[{"resources":{"kinds":["Pod"]}}]},"validate":{"deny":{}}}]}"#;
    let policy = policy("ClusterPolicy", spec);
    let subject = Subject::new(&policy, &CHECKS);
    let numbers: Vec<(usize, usize)> = subject.rules().map(|rule| (rule.index, rule.written)).collect();
    assert_eq!(numbers, [(0, 0), (1, 1), (2, 1), (3, 1)]);
}

#[test]
fn absurdly_deep_policies_are_refused() {
    let mut value = Value::Null;
    for _ in 0..2_000 {
        value = Value::list(vec![value]);
    }
    assert!(lint(&value, &CHECKS).error.is_some());
}

#[test]
fn exceptions_are_checked_like_filters() {
    for (spec, error) in [
        (
            r#"{"match":{"any":[{"resources":{"kinds":["Pod"]},"roles":["a:b"]}]},"exceptions":[]}"#,
            Some("spec.match.any[0].roles: Forbidden: Usage of user info is forbidden"),
        ),
        (r#"{"background":false,"match":{"any":[{"roles":["a:b"]}]},"exceptions":[]}"#, None),
        (
            r#"{"match":{"all":[{"resources":{"selector":{}}}]},"exceptions":[{"policyName":"","ruleNames":[]}]}"#,
            Some(
                "[spec.match.all[0].selector: Invalid value: {}: The requirements are not specified in selector, \
                 spec.exceptions[0].policyName: Required value: An exception requires a policy name]",
            ),
        ),
        (
            r#"{"match":{},"exceptions":[],"podSecurity":[{"controlName":"Capabilities"}]}"#,
            Some(
                "spec.podSecurity[0].controlName: Invalid value: \"Capabilities\": exclude.images must be specified \
                 for the container level control",
            ),
        ),
    ] {
        let text = format!(
            r#"{{"apiVersion":"kyverno.io/v2","kind":"PolicyException","metadata":{{"name":"e"}},"spec":{spec}}}"#
        );
        let findings = exception::lint(&schema::check(&corpus::parse(&text)).unwrap());
        assert_eq!(findings.error.map(|f| f.text).as_deref(), error, "{spec}");
        assert_eq!(findings.warnings.len(), 1);
    }
}

/// Every document that differs from `value` in one place, where it holds `other`.
fn damaged(value: &Value, other: &Value, out: &mut Vec<Value>) {
    out.push(other.clone());
    match value {
        Value::List(items) => {
            for (index, item) in items.iter().enumerate() {
                let mut inner = Vec::new();
                damaged(item, other, &mut inner);
                for changed in inner {
                    let mut items = items.to_vec();
                    items[index] = changed;
                    out.push(Value::list(items));
                }
            }
        }
        Value::Map(fields) => {
            for (key, item) in fields.iter() {
                let mut inner = Vec::new();
                damaged(item, other, &mut inner);
                for changed in inner {
                    let mut fields = fields.clone();
                    fields.insert(key.clone(), changed);
                    out.push(Value::Map(fields));
                }
            }
        }
        _ => {}
    }
}

#[test]
fn damaged_policies_do_not_disturb_any_check() {
    let others = [
        Value::Null,
        Value::from("{{ é{{ $(\u{1F600}"),
        Value::Int(-1),
        Value::list(vec![Value::Null]),
        corpus::parse(r#"{"any":[{"":[]}],"(é)":null}"#),
    ];
    for (number, case) in corpus::own_cases("policy-checks.jsonl").iter().enumerate() {
        let Some(policy) = case.get("policy") else { continue };
        let mut documents = Vec::new();
        damaged(policy, &others[number % others.len()], &mut documents);
        for document in documents {
            let _ = lint(&document, &CHECKS);
            let _ = computed_rules(&document, Selection::ForKind("Deployment"));
            if let Ok(checked) = schema::check(&document) {
                let _ = lint(&checked, &CHECKS);
            }
        }
    }
}

#[test]
fn conditions_on_requests_that_do_not_compile_are_refused() {
    let with = |expression: &str| {
        let text = r#"{"apiVersion":"kyverno.io/v1","kind":"ClusterPolicy","metadata":{"name":"p"},"spec":{
            "webhookConfiguration":{"matchConditions":[{"name":"a","expression":"true"},{"name":"b","expression":"EXPRESSION"}]},
            "rules":[{"name":"r","match":{"any":[{"resources":{"kinds":["Pod"]}}]},"validate":{"message":"m","pattern":{"a":"b"}}}]}}"#;
        error_of(&corpus::parse(&text.replace("EXPRESSION", expression)))
    };
    assert_eq!(with("false"), None);
    let text = "match conditions compilation errors: [compilation failed: stub]";
    assert_eq!(with("1 +").as_deref(), Some(text));
}
