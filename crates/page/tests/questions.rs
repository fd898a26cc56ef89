//! Questions have the answers of the commands, and every text has an answer.
#![allow(clippy::unwrap_used)]

use ephor_page::{MAX_QUESTION, answer};
use serde_json::{Value, json};

const POLICY: &str = "\
apiVersion: kyverno.io/v1
kind: ClusterPolicy
metadata: {name: tags}
spec:
  rules:
  - name: pinned
    match: {any: [{resources: {kinds: [Pod]}}]}
    validate:
      message: pin the tag
      pattern:
        spec:
          containers:
          - image: '!*:latest'
";

const POD: &str = "\
apiVersion: v1
kind: Pod
metadata: {name: a, namespace: shop}
spec:
  containers:
  - name: c
    image: x:latest
";

fn reply(question: &Value) -> Value {
    serde_json::from_str(&answer(&question.to_string())).unwrap()
}

#[test]
fn a_violation_names_the_line_of_the_policy_and_the_line_of_the_object() {
    let found = reply(&json!({"question": "evaluate", "policies": POLICY, "objects": POD, "explain": true}));
    let object = &found["objects"][0];
    let result = &object["results"][0];
    assert_eq!(result["result"], "fail");
    assert_eq!(result["field"], "spec.containers[0].image");
    assert_eq!((&result["place"]["line"], &result["policyPlace"]["line"]), (&json!(7), &json!(13)));
    assert_eq!(object["difference"], Value::Null, "nothing is changed");
    let decisions = object["decisions"][0]["decisions"].as_array().unwrap();
    assert!(decisions.iter().any(|d| d["tone"] == "bad"), "{decisions:?}");
    let names: Vec<&str> =
        found["rules"].as_array().unwrap().iter().filter_map(|rule| rule["rule"].as_str()).collect();
    assert_eq!(names, ["pinned", "autogen-pinned", "autogen-cronjob-pinned"]);
    assert!(found["rules"][0]["text"].as_str().unwrap().contains("policies.yaml:13"));
    // Without a wish for it nothing is explained.
    let brief = reply(&json!({"question": "evaluate", "policies": POLICY, "objects": POD}));
    assert_eq!((&brief["objects"][0]["decisions"], &brief["rules"]), (&Value::Null, &json!([])));
    assert_eq!(brief["objects"][0]["results"], object["results"]);
}

#[test]
fn a_mutation_shows_the_object_that_it_leaves_and_the_lines_that_change() {
    let policy = "\
apiVersion: kyverno.io/v1
kind: ClusterPolicy
metadata: {name: labels}
spec:
  background: false
  rules:
  - name: team
    match: {any: [{resources: {kinds: [Pod]}}]}
    mutate: {patchStrategicMerge: {metadata: {labels: {team: '{{ request.userInfo.username }}'}}}}
";
    let user = "apiVersion: cli.kyverno.io/v1alpha1\nkind: UserInfo\nuserInfo: {username: kim}\n";
    let found = reply(&json!({"question": "evaluate", "policies": policy, "objects": POD, "user": user}));
    let object = &found["objects"][0];
    assert!(object["mutated"].as_str().unwrap().contains("    team: kim\n"), "{found}");
    let difference = object["difference"].as_str().unwrap();
    assert!(difference.contains("+     labels:\n+         team: kim\n"), "{found}");
}

#[test]
fn updates_are_compared_with_the_former_object() {
    let policy = "\
apiVersion: kyverno.io/v1
kind: ClusterPolicy
metadata: {name: fixed}
spec:
  rules:
  - name: image
    match: {any: [{resources: {kinds: [Pod], operations: [UPDATE]}}]}
    validate:
      message: the image stays
      deny: {conditions: {any: [{key: '{{request.object.spec.containers[0].image}}', operator: NotEquals, value: '{{request.oldObject.spec.containers[0].image}}'}]}}
";
    let old = POD.replace("latest", "1");
    let of = |operation: &str, old: &str| {
        let question = json!({"question": "evaluate", "policies": policy, "objects": POD, "oldObject": old, "operation": operation});
        reply(&question)["objects"][0]["results"][0]["result"].clone()
    };
    assert_eq!(of("UPDATE", &old), "fail");
    assert_eq!(of("UPDATE", POD), "pass");
    assert_eq!(of("CREATE", &old), Value::Null, "the rule is about updates");
}

#[test]
fn findings_name_the_check_and_the_place() {
    let found = reply(&json!({"question": "lint", "policies": POLICY.replace("validate:", "validat:")}));
    let finding = &found["findings"][0];
    assert_eq!((&finding["id"], &finding["line"]), (&json!("unknown-field"), &json!(8)), "{found}");
}

#[test]
fn a_migrated_policy_comes_with_its_proof_and_means_the_same_as_its_origin() {
    let found = reply(&json!({"question": "migrate", "policies": POLICY}));
    let row = &found["report"]["policies"][0];
    assert_eq!(row["status"], "proved", "{found}");
    let text = found["text"].as_str().unwrap();
    assert!(text.contains("kind: ValidatingPolicy"), "{text}");
    assert_eq!(row["milliseconds"], Value::Null, "the same question has the same answer");
    let same = reply(&json!({"question": "diff", "old": POLICY, "new": text}));
    assert_eq!(same["policies"][0]["answer"], "proved", "{same}");
    let vap = reply(&json!({"question": "migrate", "policies": POLICY, "to": "vap"}));
    assert!(vap["text"].as_str().unwrap().contains("kind: ValidatingAdmissionPolicyBinding"), "{vap}");
}

#[test]
fn policies_that_differ_come_with_an_object() {
    let new = POLICY.replace("'!*:latest'", "'!*:old'");
    let found = reply(&json!({"question": "diff", "old": POLICY, "new": new}));
    let pair = &found["policies"][0];
    assert_eq!(pair["answer"], "differs", "{found}");
    let difference = &pair["differences"][0];
    assert!(difference["object"]["spec"].is_object(), "{found}");
    assert_eq!(difference["old"]["place"]["file"], "old.yaml");
}

#[test]
fn expressions_have_values_or_the_place_of_what_is_wrong() {
    let cel =
        |expression: &str| reply(&json!({"question": "cel", "expression": expression, "document": POD}));
    let found = cel("object.spec.containers.exists(c, c.image.endsWith(':latest'))");
    assert_eq!((&found["value"], &found["type"]), (&json!("true"), &json!("bool")));
    assert!(found["steps"].as_array().unwrap().len() > 2, "{found}");
    assert!(cel("object.spec.").pointer("/error/text").is_some());
    let missing = cel("object.spec.containrs.size() > 0");
    assert_eq!(missing["error"]["hint"], "did you mean `containers`?", "{missing}");
    let jmespath =
        |expression: &str| reply(&json!({"question": "jmespath", "expression": expression, "document": POD}));
    assert_eq!(jmespath("spec.containers[].image")["value"], "[\n  \"x:latest\"\n]");
    assert!(jmespath("spec.[")["error"]["offset"].is_u64());
}

#[test]
fn every_text_has_an_answer() {
    let long = "x".repeat(MAX_QUESTION + 1);
    for text in ["", "?", "{}", "[]", "{\"question\": \"other\"}", "{\"question\": 1}", &long] {
        let found: Value = serde_json::from_str(&answer(text)).unwrap();
        assert!(found["error"]["text"].is_string(), "{found}");
    }
    for question in ["evaluate", "lint", "migrate", "diff", "cel", "jmespath", "version"] {
        for policies in [
            "",
            "a: [",
            "- ",
            "\u{0}",
            "{{ }}",
            "kind: ClusterPolicy",
            "apiVersion: kyverno.io/v1\nkind: ClusterPolicy",
        ] {
            let all = json!({
                "question": question, "policies": policies, "objects": policies, "old": policies, "new": policies,
                "user": policies, "values": policies, "context": policies, "oldObject": policies, "explain": true,
                "expression": policies, "document": policies,
            });
            assert!(reply(&all).is_object());
        }
    }
}

#[test]
fn a_limit_of_time_ends_what_would_take_long() {
    let rule = "[\"a\",\"b\",\"c\",\"d\",\"e\",\"f\",\"g\",\"h\",\"i\",\"j\"]";
    let loops: String = (0..9).map(|i| format!("{rule}.all(x{i}, ")).collect();
    let expression = format!("{loops}x0 + x8 != 'zz'{}", ")".repeat(9));
    let found = reply(&json!({"question": "cel", "expression": expression, "milliseconds": 50}));
    assert!(found["error"]["text"].is_string(), "{found}");
}

#[test]
fn files_that_a_policy_names_are_not_read() {
    let key = std::env::temp_dir().join(format!("ephor-page-{}.pub", std::process::id()));
    std::fs::write(&key, "no key").unwrap();
    let policy = format!(
        "apiVersion: kyverno.io/v1\nkind: ClusterPolicy\nmetadata: {{name: k}}\nspec:\n  rules:\n  - name: r\n    match: {{any: [{{resources: {{kinds: [Pod]}}}}]}}\n    verifyImages:\n    - imageReferences: ['*']\n      mutateDigest: false\n      attestors: [{{entries: [{{keys: {{publicKeys: {}}}}}]}}]\n",
        key.display()
    );
    let found = reply(&json!({"question": "evaluate", "policies": policy, "objects": POD}));
    std::fs::remove_file(&key).unwrap();
    let text = found.to_string();
    assert!(text.contains("no such file or directory"), "{text}");
    assert_ne!(found["objects"][0]["results"][0]["result"], "pass");
}
