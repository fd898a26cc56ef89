#![allow(clippy::unwrap_used, clippy::panic)]

use super::*;
use crate::corpus;

/// The answer in a form that does not depend on the order of problems.
fn sorted(text: &str) -> Vec<&str> {
    let mut pieces: Vec<&str> = text.split([',', '\n', '[', ']', ')']).map(str::trim).collect();
    pieces.sort_unstable();
    pieces
}

#[test]
fn accepts_every_recorded_policy() {
    for file in ["autogen", "conditions", "match", "mutate", "patterns", "realistic", "rules", "variables"] {
        for case in corpus::cases(&format!("{file}.jsonl")) {
            for policy in corpus::policies(&case) {
                if let Err(error) = check(&policy) {
                    panic!("{}: {error}", case.text_at(&["id"]));
                }
            }
            for exception in case.get("exceptions").and_then(Value::as_list).unwrap_or(&[]) {
                check(exception).unwrap();
            }
        }
    }
}

#[test]
fn refuses_what_the_reference_refuses() {
    for case in corpus::own_cases("schema.jsonl") {
        let found = match check(case.get("policy").unwrap()) {
            Ok(_) => String::new(),
            Err(SchemaError::Undecodable { problem, .. }) => problem.text,
            Err(error) => error.to_string(),
        };
        assert_eq!(sorted(&found), sorted(case.text_at(&["expected"])), "{}", case.text_at(&["id"]));
    }
}

fn policy(rule: &str) -> Value {
    corpus::parse(&format!(
        r#"{{"apiVersion":"kyverno.io/v1","kind":"ClusterPolicy","metadata":{{"name":"p"}},"spec":{{"rules":[{rule}]}}}}"#
    ))
}

fn refusal(rule: &str) -> String {
    check(&policy(rule)).unwrap_err().to_string()
}

#[test]
fn an_unknown_field_is_named_with_its_place() {
    let error = check(&policy(r#"{"name":"r","match":{},"bogus":1,"validate":{"Deny":{}}}"#)).unwrap_err();
    assert!(error.is_fatal());
    assert_eq!(
        error.to_string(),
        "failed to parse document (spec.rules[0].bogus: Invalid value: value provided for unknown field\n\
         spec.rules[0].validate.Deny: Invalid value: value provided for unknown field)"
    );
    assert_eq!(ephor_value::place::dotted(&error.problems()[1].path), "spec.rules[0].validate.Deny");
}

#[test]
fn members_that_exclude_each_other_are_refused() {
    assert_eq!(
        refusal(r#"{"name":"r","match":{"any":[],"all":[]}}"#),
        "failed to validate resource (ClusterPolicy.kyverno.io \"p\" is invalid: <nil>: Invalid value: \"\": \
         \"spec.rules[0].match\" must not validate the schema (not))"
    );
    assert_eq!(
        refusal(r#"{"name":"r","match":{},"context":[{"name":"a"}]}"#),
        "failed to validate resource (ClusterPolicy.kyverno.io \"p\" is invalid: [<nil>: Invalid value: \"\": \
         \"spec.rules[0].context[0]\" must validate one and only one schema (oneOf). Found none valid, \
         spec.rules[0].context[0].configMap: Required value])"
    );
}

#[test]
fn conditions_that_cannot_be_decoded_are_fatal() {
    for conditions in ["\"abc\"", "[1]", r#"{"any":{}}"#, r#"[{"operator":1}]"#, r#"{"ANY":[1]}"#] {
        let rule = format!(r#"{{"name":"r","match":{{}},"preconditions":{conditions}}}"#);
        let error = check(&policy(&rule)).unwrap_err();
        assert!(error.is_fatal(), "{conditions}");
        assert_eq!(error.to_string(), "policy type not supported kyverno.io/v1, Kind=ClusterPolicy");
    }
    for conditions in ["null", "[]", "{}", r#"{"foo":1}"#, r#"[null]"#, r#"{"any":null}"#] {
        let rule = format!(r#"{{"name":"r","match":{{}},"preconditions":{conditions}}}"#);
        assert!(check(&policy(&rule)).is_ok(), "{conditions}");
    }
}

#[test]
fn conditions_keep_only_the_fields_that_they_have() {
    let odd = r#"{"key":"a","operator":"Equals","value":"b","foo":"{{nope}}"}"#;
    let inner = format!(r#"{{"list":"x","preconditions":{{"all":[{odd}],"foo":1}}}}"#);
    let rule = format!(
        r#"{{"name":"r","match":{{}},"preconditions":{{"any":[{odd}],"foo":"{{{{nope}}}}"}},"validate":{{"foreach":[{{"list":"x","foreach":[{inner}]}}]}}}}"#
    );
    let checked = check(&policy(&rule)).unwrap();
    assert!(!ephor_value::print::json(&checked).contains("foo"));
    let known = r#"{"all":[{"key":"a","operator":"Equals","value":"b"}]}"#;
    assert!(ephor_value::print::json(&checked).contains(known), "also in nested loops");
}

#[test]
fn names_of_variables_and_conditions_come_once_in_most_kinds() {
    let named =
        r#"[{"name":"a","expression":"true"},{"name":"b","expression":"1"},{"name":"a","expression":"2"}]"#;
    let error = |kind: &str, field: &str, more: &str| {
        let text = format!(
            r#"{{"apiVersion":"policies.kyverno.io/v1","kind":"{kind}","metadata":{{"name":"p"}},"spec":{{"{field}":{named}{more}}}}}"#
        );
        check(&corpus::parse(&text)).err().map(|e| e.to_string())
    };
    for (kind, field, more) in [
        ("ValidatingPolicy", "variables", ""),
        ("ValidatingPolicy", "matchConditions", ""),
        ("MutatingPolicy", "targetMatchConditions", ""),
        ("GeneratingPolicy", "variables", r#","generate":[{"expression":"x"}]"#),
        ("DeletingPolicy", "conditions", r#","schedule":"* * * * *""#),
    ] {
        let text = format!(
            "failed to validate resource ({kind}.policies.kyverno.io \"p\" is invalid: spec.{field}[2]: Duplicate value: {{\"name\":\"a\"}})"
        );
        assert_eq!(error(kind, field, more), Some(text));
    }
    let rest = r#","attestors":[],"validations":[]"#;
    assert_eq!(error("ImageValidatingPolicy", "variables", rest), None);
}

#[test]
fn defaults_come_last_in_their_object() {
    let checked = check(&policy(r#"{"validate":{"cel":{}},"match":{},"name":"r"}"#)).unwrap();
    let rule = &checked.at(&["spec", "rules"]).unwrap().as_list().unwrap()[0];
    let keys: Vec<&str> = rule.as_map().unwrap().keys().map(|k| &**k).collect();
    assert_eq!(keys, ["validate", "match", "name", "skipBackgroundRequests"]);
    assert_eq!(rule.at(&["validate", "cel", "generate"]).unwrap().as_bool(), Some(false));
    assert_eq!(rule.at(&["validate", "allowExistingViolations"]).unwrap().as_bool(), Some(true));
    assert_eq!(checked.text_at(&["spec", "validationFailureAction"]), "Audit");
}

#[test]
fn null_counts_as_absent() {
    let checked = check(&policy(r#"{"name":"r","match":{"any":null,"all":[]},"exclude":null}"#)).unwrap();
    let rule = &checked.at(&["spec", "rules"]).unwrap().as_list().unwrap()[0];
    assert!(rule.get("exclude").is_none());
    assert!(rule.at(&["match", "any"]).is_none());
    assert_eq!(
        check(&corpus::parse(
            r#"{"apiVersion":"kyverno.io/v1","kind":"Policy","metadata":{"name":"p"},"spec":null}"#
        ))
        .unwrap_err()
        .to_string(),
        "failed to validate resource (Policy.kyverno.io \"p\" is invalid: spec: Required value)"
    );
}

#[test]
fn metadata_is_checked_as_well() {
    for (meta, text) in [
        ("{}", "metadata.name: Required value: name or generateName is required"),
        (
            r#"{"name":"p","labels":{"a":1}}"#,
            "json: cannot unmarshal number into Go struct field ObjectMeta.labels of type string",
        ),
        (r#"{"name":"p","bogus":1}"#, "metadata.bogus: Invalid value: value provided for unknown field"),
        (r#"{"name":"P"}"#, "metadata.name: Invalid value: \"P\": a lowercase RFC 1123 subdomain must"),
        (
            r#"{"name":"p","labels":{"b !":"x"}}"#,
            "metadata.labels: Invalid value: \"b !\": name part must consist",
        ),
    ] {
        let document = format!(
            r#"{{"apiVersion":"kyverno.io/v1","kind":"ClusterPolicy","metadata":{meta},"spec":{{}}}}"#
        );
        let error = check(&corpus::parse(&document)).unwrap_err().to_string();
        assert!(error.contains(text), "{error}");
    }
}

#[test]
fn absurdly_deep_documents_are_refused() {
    let mut value = Value::Null;
    for _ in 0..2_000 {
        value = Value::list(vec![value]);
    }
    let mut document = policy(r#"{"name":"r","match":{}}"#);
    if let Value::Map(fields) = &mut document {
        fields.insert("spec", value);
    }
    assert_eq!(check(&document).unwrap_err(), SchemaError::TooDeep);
}

#[test]
fn every_kind_of_the_group_is_deprecated() {
    assert_eq!(
        deprecation("kyverno.io/v1", "ClusterPolicy").unwrap(),
        "kyverno.io/v1 ClusterPolicy is deprecated and will be removed in a future release; migrate to \
         ValidatingPolicy, MutatingPolicy, GeneratingPolicy or ImageValidatingPolicy (policies.kyverno.io), see \
         https://kyverno.io/docs/guides/migration-to-cel/"
    );
    assert!(
        deprecation("kyverno.io", "PolicyException").unwrap().starts_with("kyverno.io PolicyException is")
    );
    assert_eq!(deprecation("v1", "Pod"), None);
    assert_eq!(deprecation("policies.kyverno.io/v1", "ValidatingPolicy"), None);
}

#[test]
fn kinds_without_a_schema_are_named() {
    for (api_version, kind, text) in [
        ("kyverno.io/v2", "ClusterPolicy", "kind ClusterPolicy not found in kyverno.io/v2 groupversion"),
        ("kyverno.io/v9", "ClusterPolicy", "failed to locate OpenAPI spec for GV: kyverno.io/v9"),
    ] {
        let document = format!(r#"{{"apiVersion":"{api_version}","kind":"{kind}"}}"#);
        let error = check(&corpus::parse(&document)).unwrap_err();
        assert_eq!(
            error.to_string(),
            format!("failed to parse document (failed to retrieve validator: {text})")
        );
        assert!(!error.is_fatal());
    }
}
