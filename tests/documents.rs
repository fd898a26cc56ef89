//! Objects that other programs read: reports and exceptions in files of their own, JSON schemas of
//! policies.
#![allow(clippy::expect_used, clippy::unwrap_used, clippy::panic, clippy::indexing_slicing)]

use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::common::{Files, POLICY, RESOURCES};

fn yaml(text: &str) -> Vec<Value> {
    let documents = ephor_document::parse_stream("x.yaml", text, ephor_document::Duplicates::Error);
    let documents = documents.unwrap_or_else(|e| panic!("{e:?}: {text}"));
    documents
        .into_iter()
        .map(|document| {
            ephor_document::json::to_serde(&document.unwrap_or_else(|e| panic!("{e:?}: {text}")).value)
        })
        .collect()
}

/// A policy that warns, changes and fails: with Kyverno's outputs all of that is on standard
/// output.
fn loud() -> Files {
    let mutation = "apiVersion: kyverno.io/v1\nkind: ClusterPolicy\nmetadata: {name: add}\nspec:\n  rules:\n  - name: add\n    match: {any: [{resources: {kinds: [ConfigMap]}}]}\n    mutate: {patchStrategicMerge: {metadata: {labels: {b: c}}}}\n";
    let namespaced = POLICY
        .replace("kind: ClusterPolicy", "kind: Policy")
        .replace("name: need-team", "name: own\n  namespace: web");
    Files::new(&[
        ("p.yaml", POLICY),
        ("add.yaml", mutation),
        ("own.yaml", &namespaced),
        ("r.yaml", RESOURCES),
    ])
}

const APPLY: [&str; 6] = ["apply", "p.yaml", "add.yaml", "own.yaml", "-r", "r.yaml"];

#[test]
fn a_report_in_a_file_is_objects_and_nothing_else() {
    let files = loud();
    let read = |file: &str| std::fs::read_to_string(files.path(file)).unwrap();
    let ran =
        files.run(&[&APPLY[..], &["-p", "--report-file", "out.yaml", "--output-format", "yaml"]].concat());
    assert_eq!(ran.code, Some(1), "{}", ran.err);
    assert!(ran.out.contains("1 failed"), "{}", ran.out);
    let reports = yaml(&read("out.yaml"));
    let names = |reports: &[Value]| -> Vec<String> {
        reports.iter().map(|r| format!("{} {}", r["kind"], r["metadata"]["name"]).replace('"', "")).collect()
    };
    assert_eq!(
        names(&reports),
        ["ClusterReport merged", "Report own"].map(|n| n.replace("Report own", "PolicyReport own"))
    );
    assert_eq!(reports[0]["summary"]["fail"], 1);
    // The same as JSON: one object that kubectl reads.
    files.run(&[&APPLY[..], &["-p", "--report-file", "out.json"]].concat());
    let list: Value = serde_json::from_str(&read("out.json")).unwrap();
    assert_eq!((&list["kind"], &list["apiVersion"]), (&"List".into(), &"v1".into()));
    assert_eq!(names(list["items"].as_array().unwrap()), names(&reports));
    let one = ["apply", "p.yaml", "-r", "r.yaml", "-p", "--report-file", "one.json", "--quiet"];
    assert_eq!(files.run(&one).out, "");
    let report: Value = serde_json::from_str(&read("one.json")).unwrap();
    assert_eq!(report["kind"], "ClusterReport");
    // What a pipe holds stays Kyverno's.
    assert!(files.run(&[&APPLY[..], &["-p"]].concat()).out.starts_with("Warning: "));
}

#[test]
fn exceptions_in_a_file_are_objects_and_nothing_else_and_none_are_an_empty_list() {
    let files = loud();
    let run = |file: &str, more: &[&str]| {
        files.run(&[&["apply", "-r", "r.yaml", "--report-file", file], more].concat());
        std::fs::read_to_string(files.path(file)).unwrap()
    };
    let exceptions = yaml(&run("e.yaml", &["p.yaml", "--generate-exceptions"]));
    assert!(
        exceptions.iter().all(|e| e["kind"] == "PolicyException") && exceptions.len() == 1,
        "{exceptions:?}"
    );
    let one: Value = serde_json::from_str(&run("e.json", &["p.yaml", "--generate-exceptions"])).unwrap();
    assert_eq!(one["kind"], "PolicyException");
    for selected in ["-p", "--generate-exceptions"] {
        let unmatched = POLICY.replace("ConfigMap", "Secret");
        files.write("none.yaml", unmatched.as_bytes());
        let empty: Value = serde_json::from_str(&run("n.json", &["none.yaml", selected])).unwrap();
        assert_eq!(empty, serde_json::json!({"apiVersion": "v1", "kind": "List", "items": []}));
        assert_eq!(yaml(&run("n.yaml", &["none.yaml", selected])), [empty]);
    }
    let ran = files.run(&["apply", "p.yaml", "-r", "r.yaml", "--report-file", "r.out.yaml"]);
    assert!(ran.err.contains("add --policy-report"), "{}", ran.err);
}

/// All files of a folder with this extension.
fn below(folder: &Path, out: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        match path.is_dir() {
            true => below(&path, out),
            false if path.extension().is_some_and(|e| e == "yaml") => out.push(path),
            false => {}
        }
    }
}

/// What the schema of an object refuses; `None` for kinds without one.
fn refused(schemas: &Path, object: &Value) -> Option<Vec<String>> {
    let (group, version) = object["apiVersion"].as_str()?.split_once('/')?;
    let file =
        schemas.join(group).join(format!("{}_{version}.json", object["kind"].as_str()?.to_lowercase()));
    let schema: Value = serde_json::from_str(&std::fs::read_to_string(file).ok()?).unwrap();
    let validator = jsonschema::validator_for(&schema).unwrap();
    Some(validator.iter_errors(object).map(|e| e.to_string()).collect())
}

#[test]
fn json_schemas_accept_the_policies_of_this_repository_and_refuse_misspelt_fields() {
    // Kubernetes' own policies and tests are among them.
    let mut kinds = std::collections::BTreeSet::new();
    let files = Files::new(&[]);
    let ran = files.run(&["schema", "--out", "schemas"]);
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    let schemas = files.path("schemas");
    let all: Value =
        serde_json::from_str(&std::fs::read_to_string(schemas.join("all.json")).unwrap()).unwrap();
    let choices = all["allOf"].as_array().unwrap();
    assert!(choices.len() > 30, "{}", choices.len());
    assert!(choices.iter().all(|choice| schemas.join(choice["then"]["$ref"].as_str().unwrap()).is_file()));
    let mut policies = Vec::new();
    below(&Path::new(env!("CARGO_MANIFEST_DIR")).join("policies"), &mut policies);
    let mut valid = 0;
    for path in policies {
        for object in yaml(&std::fs::read_to_string(&path).unwrap()) {
            let Some(errors) = refused(&schemas, &object) else { continue };
            assert_eq!(errors, [""; 0], "{}", path.display());
            kinds.insert(object["kind"].as_str().unwrap().to_string());
            valid += 1;
        }
    }
    assert!(valid > 50, "{valid}");
    for kind in ["ClusterPolicy", "ValidatingPolicy", "ValidatingAdmissionPolicy", "Test"] {
        assert!(kinds.contains(kind), "{kind}: {kinds:?}");
    }
    let native = "apiVersion: admissionregistration.k8s.io/v1\nkind: ValidatingAdmissionPolicy\nmetadata: {name: a}\nspec:\n  matchConstraints: {resourceRules: [{apiGroups: [''], apiVersions: [v1], resources: [pods], operations: [CREATE]}]}\n  validations: [{expression: 'true'}]\n";
    let test = "apiVersion: cli.kyverno.io/v1alpha1\nkind: Test\nmetadata: {name: a}\npolicies: [p.yaml]\nresources: [r.yaml]\nresults: [{policy: p, rule: r, resources: [a], kind: Pod, result: pass}]\n";
    let cel = "apiVersion: policies.kyverno.io/v1\nkind: ValidatingPolicy\nmetadata: {name: a}\nspec:\n  matchConstraints: {resourceRules: [{apiGroups: [''], apiVersions: [v1], resources: [pods], operations: [CREATE]}]}\n  validations: [{expression: 'true'}]\n";
    for (text, right, wrong) in [
        (POLICY, "spec:", "spec:\n  validationFailureActon: Audit"),
        (POLICY, "validate:", "validat:"),
        (POLICY, "name: need-team", "name: need-team\n  labls: {a: b}"),
        (POLICY, "kinds:", "kind:"),
        (cel, "validations:", "validation:"),
        (cel, "expression:", "expresion:"),
        (cel, "apiGroups:", "apiGroup:"),
        (native, "validations:", "validation:"),
        (native, "expression:", "expresion:"),
        (test, "policies:", "policys:"),
        (test, "rule:", "rules:"),
    ] {
        assert_eq!(refused(&schemas, &yaml(text)[0]), Some(Vec::new()));
        let misspelt = &yaml(&text.replacen(right, wrong, 1))[0];
        let field = wrong.rsplit("  ").next().unwrap().split(':').next().unwrap();
        let errors = refused(&schemas, misspelt).unwrap();
        assert!(errors.iter().any(|error| error.contains(&format!("'{field}'"))), "{field}: {errors:?}");
    }
}
