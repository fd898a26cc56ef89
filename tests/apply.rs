//! `ephor apply` as a user runs it.
#![allow(clippy::expect_used)]

use crate::common::{Files, POLICY, RESOURCES};

fn files() -> Files {
    Files::new(&[("p.yaml", POLICY), ("r.yaml", RESOURCES)])
}

/// Everything behind the deprecation line.
fn body(out: &str) -> String {
    out.lines().filter(|l| !l.starts_with("Warning: ")).map(|l| format!("{l}\n")).collect()
}

#[test]
fn failed_rules_are_printed_with_the_counts() {
    let ran = files().run(&["apply", "p.yaml", "-r", "r.yaml"]);
    insta::assert_snapshot!(body(&ran.out), @r"

    Applying 1 policy rule(s) to 2 resource(s)...
    policy need-team -> resource default/ConfigMap/bad failed:
    1 - team validation error: label team is needed. rule team failed at path /metadata/labels/

    pass: 1, fail: 1, warn: 0, error: 0, skip: 0 
    ");
    assert_eq!((ran.code, ran.err.as_str()), (Some(1), ""));
}

#[test]
fn the_deprecation_line_names_the_file_and_the_successors() {
    let ran = files().run(&["apply", "p.yaml", "-r", "r.yaml"]);
    assert!(ran.out.starts_with(
        "Warning: p.yaml: kyverno.io/v1 ClusterPolicy is deprecated and will be removed in a future release; migrate to ValidatingPolicy,"
    ));
    let ran = files().run(&["apply", "p.yaml", "-r", "r.yaml", "--warnings-as-errors"]);
    assert_eq!(ran.err, "Error: found 1 deprecation warning(s) and --warnings-as-errors is set\n");
}

#[test]
fn a_table_has_a_row_for_each_result() {
    let ran = files().run(&["apply", "p.yaml", "-r", "r.yaml", "-t", "--remove-color"]);
    insta::assert_snapshot!(body(&ran.out), @r"

    Applying 1 policy rule(s) to 2 resource(s)...
    │────│───────────│──────│───────────────────────│────────│────────│
    │ ID │ POLICY    │ RULE │ RESOURCE              │ RESULT │ REASON │
    │────│───────────│──────│───────────────────────│────────│────────│
    │ 1  │ need-team │ team │ default/ConfigMap/bad │ Fail   │        │
    │ 2  │ need-team │ team │ web/ConfigMap/good    │ Pass   │        │
    │────│───────────│──────│───────────────────────│────────│────────│
    ");
}

#[test]
fn a_report_is_yaml_with_a_summary() {
    let ran = files().run(&["apply", "p.yaml", "-r", "r.yaml", "-p"]);
    let report = ephor_document::yaml_value(&body(&ran.out)).expect("the report is YAML");
    assert_eq!(report.text_at(&["kind"]), "ClusterReport");
    let results = report.get("results").and_then(ephor_value::Value::as_list).expect("results");
    let statuses: Vec<&str> = results.iter().map(|r| r.text_at(&["result"])).collect();
    assert_eq!(statuses, ["fail", "pass"]);
    assert!(report.at(&["summary", "fail"]).is_some_and(|n| n.as_number() == Some(1.0)));
}

#[test]
fn other_formats_are_well_formed() {
    let run = |format: &str| files().run(&["apply", "p.yaml", "-r", "r.yaml", "--output-format", format]).out;
    let sarif = ephor_document::json::parse(run("sarif").trim()).expect("SARIF is JSON");
    assert_eq!(sarif.text_at(&["version"]), "2.1.0");
    assert!(run("junit").contains(
        "<testsuite name=\"need-team\" tests=\"2\" failures=\"1\" errors=\"0\" skipped=\"0\" time=\"0.000\">"
    ));
    assert!(run("markdown").contains("| need-team | team | default/ConfigMap/bad | fail |"));
    assert!(run("github").starts_with(
        "::error file=r.yaml,line=3,endLine=3,col=1,endColumn=9,title=need-team/team::validation error"
    ));
}

#[test]
fn the_output_is_the_same_for_any_number_of_threads() {
    let mut resources = String::new();
    for i in 0..700 {
        let labels = if i % 3 == 0 { "{team: a}" } else { "{}" };
        resources +=
            &format!("apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: m{i}, labels: {labels}}}\n---\n");
    }
    let files = Files::new(&[("p.yaml", POLICY), ("r.yaml", &resources)]);
    let run = |n: &str| files.run(&["apply", "p.yaml", "-r", "r.yaml", "--threads", n]).out;
    assert_eq!(run("1"), run("7"));
}

#[test]
fn warnings_can_have_an_exit_code_of_their_own() {
    let ran = files().run(&["apply", "p.yaml", "-r", "r.yaml", "--audit-warn", "--warn-exit-code", "3"]);
    assert!(ran.out.contains("failed as audit warning:"));
    assert!(ran.out.ends_with("pass: 1, fail: 0, warn: 1, error: 0, skip: 0 \nexit as warnExitCode is 3"));
    assert_eq!(ran.code, Some(3));
}

#[test]
fn values_and_users_reach_the_rules() {
    let policy = r#"apiVersion: kyverno.io/v1
kind: ClusterPolicy
metadata: {name: p}
spec:
  background: false
  rules:
  - name: r
    match: {any: [{resources: {kinds: [ConfigMap]}}]}
    context:
    - name: cfg
      configMap: {name: settings, namespace: default}
    validate:
      message: "{{ request.userInfo.username }} in {{ cfg.data.region }} by {{ request.operation }}"
      deny: {}
"#;
    let values = "apiVersion: cli.kyverno.io/v1alpha1\nkind: Values\nmetadata: {name: v}\nglobalValues: {request.operation: UPDATE}\npolicies:\n- name: p\n  rules:\n  - name: r\n    values: {cfg.data.region: eu}\n";
    let user = "apiVersion: cli.kyverno.io/v1alpha1\nkind: UserInfo\nuserInfo: {username: eve}\n";
    let files =
        Files::new(&[("p.yaml", policy), ("r.yaml", RESOURCES), ("v.yaml", values), ("u.yaml", user)]);
    let ran = files.run(&["apply", "p.yaml", "-r", "r.yaml", "-f", "v.yaml", "-u", "u.yaml"]);
    assert!(ran.out.contains("1 - r eve in eu by UPDATE\n"), "{}", ran.out);
}

#[test]
fn an_exception_skips_the_rule_and_failures_can_become_exceptions() {
    let exception = "apiVersion: kyverno.io/v2\nkind: PolicyException\nmetadata: {name: e, namespace: x}\nspec:\n  exceptions: [{policyName: need-team, ruleNames: [team]}]\n  match: {any: [{resources: {kinds: [ConfigMap], names: [bad]}}]}\n";
    let files = Files::new(&[("p.yaml", POLICY), ("r.yaml", RESOURCES), ("e.yaml", exception)]);
    let ran = files.run(&["apply", "p.yaml", "-r", "r.yaml", "-e", "e.yaml"]);
    assert!(ran.out.contains("to 2 resource(s) with 1 exception(s)..."));
    assert!(ran.out.ends_with("pass: 1, fail: 0, warn: 0, error: 0, skip: 1 \n"));
    let ran = files.run(&["apply", "p.yaml", "-r", "r.yaml", "--generate-exceptions"]);
    assert!(ran.out.contains("name: need-team-team-default-bad\n"), "{}", ran.out);
}

#[test]
fn exceptions_for_failures_name_empty_namespaces_and_controls_and_can_be_json() {
    let policy = "apiVersion: kyverno.io/v1\nkind: ClusterPolicy\nmetadata: {name: p}\nspec:\n  background: false\n  rules:\n  - name: label\n    match: {any: [{resources: {kinds: [Namespace]}}]}\n    validate: {message: m, pattern: {metadata: {labels: {team: \"?*\"}}}}\n  - name: ps\n    match: {any: [{resources: {kinds: [Pod]}}]}\n    validate: {podSecurity: {level: baseline, version: latest}}\n";
    let resources = "apiVersion: v1\nkind: Namespace\nmetadata: {name: a}\n---\napiVersion: v1\nkind: Pod\nmetadata: {name: p, namespace: x}\nspec: {containers: [{name: c, image: \"nginx:1\", securityContext: {privileged: true}}]}\n";
    let files = Files::new(&[("p.yaml", policy), ("r.yaml", resources)]);
    let all = ["apply", "p.yaml", "-r", "r.yaml", "--generate-exceptions", "--output-format", "json"];
    let ran = files.run(&all);
    let of_namespace = r#"{"kind":"PolicyException","apiVersion":"kyverno.io/v2beta1","metadata":{"name":"p-label--a","labels":{"cleanup.kyverno.io/ttl":"720h0m0s"}},"spec":{"match":{"all":[{"resources":{"kinds":["Namespace"],"names":["a"],"namespaces":[""]}}]},"exceptions":[{"policyName":"p","ruleNames":["label"]}]}}"#;
    let of_pod = r#"{"kind":"PolicyException","apiVersion":"kyverno.io/v2beta1","metadata":{"name":"p-ps-x-p","labels":{"cleanup.kyverno.io/ttl":"720h0m0s"}},"spec":{"match":{"all":[{"resources":{"kinds":["Pod"],"names":["p"],"namespaces":["x"]}}]},"exceptions":[{"policyName":"p","ruleNames":["ps"]}],"podSecurity":[{"controlName":"Privileged Containers","images":["docker.io/nginx*"]}]}}"#;
    let (deprecation, rest) = ran.out.split_once('\n').unwrap_or_default();
    assert!(deprecation.starts_with("Warning: "), "{deprecation}");
    assert_eq!(rest, format!("---\n{of_namespace}\n---\n{of_pod}\n"));
    assert_eq!(ran.code, Some(1));
}

#[test]
fn flags_are_refused_with_the_texts_of_kyverno() {
    let error = |args: &[&str]| files().run(args).err;
    assert_eq!(error(&["apply"]), "Error: require policy\nhelp: `ephor apply --help` shows what it takes\n");
    assert_eq!(error(&["apply", "p.yaml"]), "Error: resource file(s) or cluster required\n");
    assert_eq!(
        error(&["apply", "p.yaml", "-r", "no.yaml"]),
        "Error: failed to load resources (stat no.yaml: no such file or directory)\n"
    );
    assert!(
        error(&["appy"])
            .starts_with("Error: unknown command \"appy\" for \"ephor\"\n\nDid you mean this?\n\tapply\n")
    );
    // What the command is called elsewhere.
    for name in ["scan", "check", "validate"] {
        assert!(error(&[name]).contains("Did you mean this?\n\tapply\n"), "{name}");
    }
}

#[test]
fn every_policy_of_this_repository_loads_and_the_sample_fails() {
    let root = env!("CARGO_MANIFEST_DIR");
    let policies = format!("{root}/policies");
    let sample = format!("{root}/docs/sample/deployment.yaml");
    let ran = files().run(&["apply", &policies, "-r", &sample]);
    assert_eq!(ran.code, Some(1));
    assert!(ran.out.contains("failed:"), "{}", ran.out);
    assert!(!ran.out.contains("Policies Skipped"), "{}", ran.out);
}

#[test]
fn policies_in_cel_see_of_all_values_the_operation_of_the_file_alone() {
    let policy = "apiVersion: policies.kyverno.io/v1
kind: ValidatingPolicy
metadata: {name: cel}
spec:
  matchConstraints:
    resourceRules: [{apiGroups: [''], apiVersions: [v1], operations: [CREATE, UPDATE], resources: [configmaps]}]
  validations:
  - expression: \"false\"
    messageExpression: \"request.operation + ' of ' + string(object.metadata.labels.size())\"
";
    let object = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c, labels: {a: b}}\n";
    let values = |text: &str| format!("apiVersion: cli.kyverno.io/v1alpha1\nkind: Values\n{text}\n");
    let files = Files::new(&[
        ("p.yaml", policy),
        ("r.yaml", object),
        (
            "all.yaml",
            &values("globalValues: {request.operation: UPDATE, request.object.metadata.labels.x: y}"),
        ),
        (
            "own.yaml",
            &values("policies: [{name: cel, resources: [{name: c, values: {request.operation: UPDATE}}]}]"),
        ),
    ]);
    let run = |more: &[&str]| {
        let args = ["apply", "p.yaml", "--resource", "r.yaml", "--detailed-results", "-t"];
        files.run(&[&args, more].concat()).out
    };
    let all = run(&["--values-file", "all.yaml"]);
    assert!(all.contains("UPDATE of 1"), "{all}");
    for more in [["--values-file", "own.yaml"], ["--set", "request.operation=UPDATE"]] {
        let found = run(&more);
        assert!(found.contains("CREATE of 1"), "{found}");
    }
}
