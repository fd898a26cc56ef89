//! Inputs of `ephor apply` that are no rules or no Kubernetes objects: cleanup policies, payloads,
//! and a cluster that is not there.
#![allow(clippy::expect_used)]

use crate::common::{Files, POLICY, RESOURCES};

const CLEANUP: &str = r#"apiVersion: kyverno.io/v2
kind: ClusterCleanupPolicy
metadata: {name: old, annotations: {policies.kyverno.io/scored: "false"}}
spec:
  schedule: "*/5 * * * *"
  match: {any: [{resources: {kinds: [ConfigMap]}}]}
  conditions:
    all:
    - {key: "{{ target.metadata.labels.team || '' }}", operator: Equals, value: a}
---
apiVersion: kyverno.io/v2
kind: CleanupPolicy
metadata: {name: own, namespace: web}
spec:
  schedule: "*/5 * * * *"
  match: {any: [{resources: {kinds: [ConfigMap], operations: [DELETE]}}]}
"#;

fn files() -> Files {
    Files::new(&[
        ("p.yaml", POLICY),
        ("c.yaml", CLEANUP),
        ("r.yaml", RESOURCES),
        ("a.json", r#"{"a": 1}"#),
        ("b.yaml", "a: 1\n"),
        ("broken.json", r#"{"a": 1"#),
        ("list.json", "[1]"),
        ("note.txt", "a"),
    ])
}

fn body(out: &str) -> String {
    out.lines().filter(|l| !l.starts_with("Warning: ")).map(|l| format!("{l}\n")).collect()
}

#[test]
fn cleanup_policies_list_what_a_run_would_delete() {
    let ran = files().run(&["apply", "c.yaml", "p.yaml", "-r", "r.yaml"]);
    insta::assert_snapshot!(body(&ran.out), @r"

    Applying 3 policy rule(s) to 2 resource(s)...
    policy need-team -> resource default/ConfigMap/bad failed:
    1 - team validation error: label team is needed. rule team failed at path /metadata/labels/
    policy old -> resource default/ConfigMap/bad failed:
    1 - old resource did not match
    policy own -> resource default/ConfigMap/bad failed:
    1 - own resource did not match

    pass: 3, fail: 3, warn: 0, error: 0, skip: 0 
    ");
    // Kyverno's words on standard output say that objects failed which a run would not delete.
    let says =
        "warning: of cleanup and deleting policies, failed counts 2 objects that would not be deleted\n";
    assert_eq!((ran.code, ran.err.as_str()), (Some(1), says));
}

#[test]
fn cleanup_policies_have_no_rule_in_tables_and_warn_there_when_not_scored() {
    let ran = files().run(&["apply", "c.yaml", "-r", "r.yaml", "-t", "--remove-color"]);
    insta::assert_snapshot!(body(&ran.out), @r"

    Applying 2 policy rule(s) to 2 resource(s)...
    │────│─────────│──────│───────────────────────│────────│────────│
    │ ID │ POLICY  │ RULE │ RESOURCE              │ RESULT │ REASON │
    │────│─────────│──────│───────────────────────│────────│────────│
    │ 1  │ old     │      │ default/ConfigMap/bad │ Warn   │        │
    │ 2  │ old     │      │ web/ConfigMap/good    │ Pass   │        │
    │ 3  │ web/own │      │ default/ConfigMap/bad │ Fail   │        │
    │ 4  │ web/own │      │ web/ConfigMap/good    │ Pass   │        │
    │────│─────────│──────│───────────────────────│────────│────────│
    ");
}

#[test]
fn each_result_of_a_namespaced_cleanup_policy_has_a_report_of_its_own() {
    let ran = files().run(&["apply", "c.yaml", "-r", "r.yaml", "-p"]);
    assert_eq!(ran.out.matches("kind: ClusterReport\n").count(), 1);
    assert_eq!(ran.out.matches("---\napiVersion: openreports.io/v1alpha1\nkind: PolicyReport\n").count(), 2);
    assert!(ran.out.contains("  properties:\n    process: \"\"\n"), "{}", ran.out);
}

/// What a cleanup policy with these conditions says about each resource.
fn cleaned(spec: &str) -> Vec<String> {
    let policy = format!(
        "apiVersion: kyverno.io/v2\nkind: ClusterCleanupPolicy\nmetadata: {{name: c}}\nspec:\n  schedule: \"@daily\"\n  match: {{any: [{{resources: {{kinds: [ConfigMap]}}}}]}}\n{spec}"
    );
    let files = Files::new(&[("c.yaml", &policy), ("r.yaml", RESOURCES)]);
    let ran = files.run(&["apply", "c.yaml", "-r", "r.yaml", "-p", "--output-format", "json"]);
    let report = body(&ran.out);
    let report = ephor_document::json::parse(report.trim()).expect("the report is JSON");
    let results = report.get("results").and_then(ephor_value::Value::as_list).expect("results");
    results.iter().map(|r| format!("{}: {}", r.text_at(&["result"]), r.text_at(&["message"]))).collect()
}

#[test]
fn conditions_of_cleanup_policies_see_the_target_and_its_namespace() {
    let both = ["fail: resource did not match", "pass: resource matched"];
    let condition = |key: &str, value: &str| {
        format!("  conditions: {{all: [{{key: \"{{{{ {key} }}}}\", operator: Equals, value: {value}}}]}}\n")
    };
    assert_eq!(cleaned(&condition("target.metadata.name", "good")), both);
    assert_eq!(cleaned(&condition("request.namespace", "web")), both);
    let error = |path: &str, key: &str| {
        format!(
            "error: failed to substitute variables in condition key: failed to resolve {path} at path : JMESPath query failed: Unknown key \"{key}\" in path"
        )
    };
    let unknown = error("request.object.a", "object");
    assert_eq!(cleaned(&condition("request.object.a", "x")), [unknown.clone(), unknown]);
    // The context is built once for a run: an entry that reads the target has a value only for the
    // first.
    let context = "  context: [{name: v, variable: {jmesPath: target.metadata.name}}]\n";
    let wanted = ["fail: resource did not match".to_owned(), error("v", "v")];
    assert_eq!(cleaned(&format!("{context}{}", condition("v", "good"))), wanted);
}

#[test]
fn an_exclusion_that_says_nothing_spares_everything() {
    assert_eq!(cleaned("  exclude: {}\n"), ["fail: resource did not match"; 2]);
    let named = "  exclude: {any: [{resources: {names: [bad]}}]}\n";
    assert_eq!(cleaned(named), ["fail: resource did not match", "pass: resource matched"]);
}

#[test]
fn payloads_are_counted_and_rules_say_nothing_about_them() {
    let ran = files().run(&["apply", "p.yaml", "--json", "a.json,b.yaml"]);
    assert_eq!(
        body(&ran.out),
        "\nApplying 1 policy rule(s) to 2 resource(s)...\n\npass: 0, fail: 0, warn: 0, error: 0, skip: 0 \n"
    );
    assert!(
        ran.err.starts_with("warning: payloads are checked by ValidatingPolicy objects in JSON mode only")
    );
    assert_eq!(ran.code, Some(0));
}

#[test]
fn payloads_that_cannot_be_read_end_the_run() {
    let error = |flag: &str, file: &str| files().run(&["apply", "p.yaml", flag, file]).err;
    let json = |cause: &str| format!("Error: failed to load JSON payload ({cause})\n");
    assert_eq!(error("--json", "gone.json"), json("open gone.json: no such file or directory"));
    assert_eq!(error("--json", "broken.json"), json("unexpected end of JSON input"));
    assert_eq!(
        error("--json", "note.txt"),
        json("unrecognized payload format, must be yaml or json (note.txt)")
    );
    assert_eq!(error("--json", "list.json"), json("the payload must be an object (list.json)"));
    let http =
        |file: &str, cause: &str| format!("Error: failed to parse HTTP payload from {file}: {cause}\n");
    assert_eq!(
        error("--http-payload", "gone.json"),
        http(
            "gone.json",
            "failed to read HTTP payload file gone.json: open gone.json: no such file or directory"
        )
    );
    assert_eq!(
        error("--http-payload", "list.json"),
        http("list.json", "json: cannot unmarshal array into Go value of type http.CheckRequest")
    );
    assert_eq!(
        error("--envoy-payload", "a.json"),
        "Error: failed to parse envoy payload from a.json: proto: (line 1:2): unknown field \"a\"\n"
    );
}

#[test]
fn without_a_cluster_there_are_no_resources() {
    let run = |args: &[&str]| files().run(&[&["apply", "p.yaml", "--cluster"], args].concat());
    let error = |args: &[&str]| run(args).err;
    assert_eq!(error(&["--kubeconfig", "gone"]), "Error: stat gone: no such file or directory\n");
    assert_eq!(error(&["--context", "gone"]), "Error: context \"gone\" does not exist\n");
    // A cluster that may be there is not taken for an empty one.
    assert_eq!(error(&["--kubeconfig", "r.yaml"]), "Error: failed to determine current context\n");
    if std::net::TcpStream::connect("127.0.0.1:8080").is_ok() {
        return;
    }
    let ran = run(&[]);
    assert!(ran.out.contains("\nApplying 1 policy rule(s) to 0 resource(s)...\n"), "{}", ran.out);
    assert!(ran.err.starts_with("warning: no cluster: couldn't get current server API group list: "));
    assert_eq!(ran.code, Some(0));
    assert!(
        error(&["-r", "gone"])
            .ends_with("Error: failed to load resources (stat gone: no such file or directory)\n")
    );
    let ran = run(&["-r", "r.yaml"]);
    assert!(ran.out.contains("\nresource r.yaml not found in cluster\n"), "{}", ran.out);
    assert!(ran.err.ends_with("Error: failed to load resources (r.yaml not found in cluster)\n"));
}

const FAILS: &str = "apiVersion: kyverno.io/v1\nkind: ClusterPolicy\nmetadata: {name: g}\nspec:\n  rules:\n  - name: r\n    match: {any: [{resources: {kinds: [Pod]}}]}\n    validate: {message: m, pattern: {metadata: {labels: {a: '?*'}}}}\n";

fn exception(version: &str) -> String {
    format!(
        "apiVersion: policies.kyverno.io/{version}\nkind: PolicyException\nmetadata: {{name: e, namespace: web}}\nspec: {{policyRefs: [{{name: v, kind: ValidatingPolicy}}]}}\n"
    )
}

#[test]
fn next_to_policies_exceptions_in_cel_are_read_in_one_version_and_others_leave_out_all_policies() {
    let pod = "apiVersion: v1\nkind: Pod\nmetadata: {name: x}\nspec: {containers: [{name: a, image: a}]}\n";
    let listed = |version: &str| {
        let items = [exception(version), FAILS.into()].map(|text| {
            let item: String = text.lines().map(|line| format!("  {line}\n")).collect();
            item.replacen("  ", "- ", 1)
        });
        format!("apiVersion: v1\nkind: List\nitems:\n{}", items.concat())
    };
    // Recorded from the program: the versions of exceptions, in a folder, a file and a list.
    for (version, in_folder, in_list) in [("v1", 0, 1), ("v1beta1", 1, 1), ("v1alpha1", 0, 1)] {
        let files = Files::new(&[
            ("folder/a.yaml", FAILS),
            ("folder/b.yaml", &exception(version)),
            ("file.yaml", &format!("{FAILS}---\n{}", exception(version))),
            ("list.yaml", &listed(version)),
            ("pod.yaml", pod),
        ]);
        for (place, fails) in [("folder", in_folder), ("file.yaml", in_folder), ("list.yaml", in_list)] {
            let ran = files.run(&["apply", place, "-r", "pod.yaml"]);
            let summary = format!("pass: 0, fail: {fails}, warn: 0, error: 0, skip: 0");
            assert!(ran.out.contains(&summary), "{version} {place}: {}{}", ran.out, ran.err);
            let why =
                format!("policy type not supported policies.kyverno.io/{version}, Kind=PolicyException");
            assert_eq!(ran.err.contains(&why), version != "v1beta1", "{version} {place}: {}", ran.err);
        }
        // As exceptions they are read in all versions.
        let ran = files.run(&["apply", "folder/a.yaml", "-r", "pod.yaml", "-e", "folder/b.yaml"]);
        assert!(ran.out.contains("with 1 exception(s)"), "{version}: {}{}", ran.out, ran.err);
    }
}

#[test]
fn the_summary_line_counts_results_of_mutating_policies_twice_and_reports_do_not() {
    let mutating = "apiVersion: policies.kyverno.io/v1\nkind: MutatingPolicy\nmetadata: {name: m}\nspec:\n  matchConstraints: {resourceRules: [{apiGroups: [''], apiVersions: [v1], resources: [configmaps], operations: [CREATE]}]}\n  mutations: [{patchType: ApplyConfiguration, applyConfiguration: {expression: \"Object{data: Object.data{q: EXPRESSION}}\"}}]\n";
    let map = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c}\ndata: {a: b}\n";
    // Recorded from the program.
    for (expression, twice, once) in [
        ("string(1)", "pass: 2, fail: 0, warn: 0, error: 0, skip: 0", "  pass: 1\n"),
        ("object.data.nosuch", "pass: 0, fail: 0, warn: 0, error: 2, skip: 0", "  error: 1\n"),
    ] {
        let files = Files::new(&[("m.yaml", &mutating.replace("EXPRESSION", expression)), ("c.yaml", map)]);
        let ran = files.run(&["apply", "m.yaml", "-r", "c.yaml"]);
        assert!(ran.out.contains(twice), "{}", ran.out);
        assert!(
            ran.err.contains("counts 1 result of MutatingPolicies twice, as Kyverno's does"),
            "{}",
            ran.err
        );
        let report = files.run(&["apply", "m.yaml", "-r", "c.yaml", "--policy-report"]);
        assert!(report.out.contains(once) && !report.err.contains("twice"), "{}{}", report.out, report.err);
    }
}

#[test]
fn what_a_user_meant_as_input_and_is_not_read_as_such_is_named_on_standard_error() {
    let json = r#"{"apiVersion": "kyverno.io/v1", "kind": "ClusterPolicy", "metadata": {"name": "j"}}"#;
    let crd = "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: xs.example.com}\n";
    let word = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\n  namespace: n\n";
    let files = Files::new(&[
        ("json/p.json", json),
        ("json/package.json", r#"{"name": "x"}"#),
        ("crd.yaml", crd),
        ("typo.yaml", &POLICY.replace("apiVersion: kyverno.io/v1\n", "")),
        ("p.yaml", POLICY),
        ("r.yaml", RESOURCES),
        ("word.yaml", word),
    ]);
    for (policy, resource, says) in [
        ("json", "r.yaml", "warning: json/p.json: ignored: not a .yaml or .yml file\n"),
        (
            "crd.yaml",
            "r.yaml",
            "help: crd.yaml:1: a CustomResourceDefinition is no policy; name its file with --crd-paths\n",
        ),
        (
            "typo.yaml",
            "r.yaml",
            "help: typo.yaml:1:7: a document of kind `ClusterPolicy` has no `apiVersion`; `ClusterPolicy` is of `kyverno.io/v1`\n",
        ),
        (
            "p.yaml",
            "word.yaml",
            "warning: word.yaml:5:14: metadata.namespace: `n` is a boolean in YAML; write it in quotes\n",
        ),
    ] {
        let ran = files.run(&["apply", policy, "-r", resource]);
        assert!(ran.err.contains(says), "{policy}: {}", ran.err);
        assert!(!ran.err.contains("package.json"), "{}", ran.err);
    }
}

#[test]
fn failures_of_policies_that_delete_are_reported_as_objects_that_stay() {
    let deleting = "apiVersion: policies.kyverno.io/v1\nkind: DeletingPolicy\nmetadata: {name: d}\nspec:\n  schedule: '0 1 * * *'\n  matchConstraints: {resourceRules: [{apiGroups: [''], apiVersions: [v1], resources: [configmaps]}]}\n  conditions: [{name: c, expression: object.metadata.name.startsWith('go')}]\n";
    let cleanup = "apiVersion: kyverno.io/v2\nkind: ClusterCleanupPolicy\nmetadata: {name: c}\nspec:\n  schedule: '0 1 * * *'\n  match: {any: [{resources: {kinds: [ConfigMap], names: [good]}}]}\n";
    let all = "apiVersion: kyverno.io/v2\nkind: ClusterCleanupPolicy\nmetadata: {name: c}\nspec:\n  schedule: '0 1 * * *'\n  match: {any: [{resources: {kinds: [ConfigMap]}}]}\n";
    let files =
        Files::new(&[("d.yaml", deleting), ("c.yaml", cleanup), ("all.yaml", all), ("r.yaml", RESOURCES)]);
    let says = |count: &str| {
        format!(
            "warning: of cleanup and deleting policies, failed counts {count} that would not be deleted\n"
        )
    };
    for (policies, count) in
        [(&["d.yaml"][..], "1 object"), (&["c.yaml"], "1 object"), (&["c.yaml", "d.yaml"], "2 objects")]
    {
        let ran = files.run(&[&["apply"], policies, &["-r", "r.yaml"]].concat());
        assert!(ran.err.contains(&says(count)), "{policies:?}: {}\n{}", ran.out, ran.err);
        assert!(!ran.out.contains("would not be deleted"), "{}", ran.out);
    }
    let ran = files.run(&["apply", "all.yaml", "-r", "r.yaml"]);
    assert!(!ran.err.contains("would not be deleted"), "{}", ran.err);
}

#[test]
fn a_run_on_standard_input_says_how_to_explain_its_result() {
    let files = Files::new(&[("p.yaml", POLICY), ("r.yaml", RESOURCES)]);
    let ran = files.run_on(RESOURCES, &["apply", "p.yaml", "-r", "-", "--output-format", "text"]);
    let why = "why: ephor explain p.yaml -r -  # with the same standard input\n";
    assert!(ran.out.ends_with(why), "{}", ran.out);
    let explained = files.run_on(RESOURCES, &["explain", "p.yaml", "-r", "-"]);
    assert_eq!(explained.err, "");
    assert!(explained.out.contains("need-team"), "{}", explained.out);
    let ran = files.run_on(POLICY, &["apply", "-", "-r", "r.yaml", "--output-format", "text"]);
    let why = "why: ephor explain - -r r.yaml  # with the same standard input\n";
    assert!(ran.out.ends_with(why), "{}", ran.out);
}
