//! `ephor test`: texts, rows and exit codes of Kyverno, and what goes beyond it.
#![allow(clippy::expect_used)]

use std::io::{BufRead, BufReader};
use std::process::Stdio;

use crate::common::{Files, POLICY, RESOURCES};

const HEAD: &str = "apiVersion: cli.kyverno.io/v1alpha1\nkind: Test\nmetadata: {name: t}\npolicies: [p.yaml]\nresources: [r.yaml]\n";

/// A folder `t` with the policy, the resources, and a test with these further lines.
fn folder(more: &str) -> Files {
    Files::new(&[
        ("t/p.yaml", POLICY),
        ("t/r.yaml", RESOURCES),
        ("t/kyverno-test.yaml", &format!("{HEAD}{more}")),
    ])
}

const GOOD: &str = "results:\n- {policy: need-team, rule: team, resources: [good], result: pass}\n";

const LOG: &str = "Loading test  ( t/kyverno-test.yaml ) ...
  Loading values/variables ...
  Loading policies ...
  Warning: t/p.yaml: kyverno.io/v1 ClusterPolicy is deprecated and will be removed in a future release; migrate to ValidatingPolicy, MutatingPolicy, GeneratingPolicy or ImageValidatingPolicy (policies.kyverno.io), see https://kyverno.io/docs/guides/migration-to-cel/
  Loading resources ...
  Loading exceptions ...
  Applying 1 policy to 2 resources with 0 exceptions ...
  Checking results ...
";

#[test]
fn prints_the_steps_a_table_and_a_summary() {
    let ran = folder(GOOD).run(&["test", "t", "--detailed-results", "--remove-color"]);
    let table = "
│────│───────────│──────│───────────────────────│────────│────────│────────────────────────────────│
│ ID │ POLICY    │ RULE │ RESOURCE              │ RESULT │ REASON │ MESSAGE                        │
│────│───────────│──────│───────────────────────│────────│────────│────────────────────────────────│
│ 1  │ need-team │ team │ v1/ConfigMap/web/good │ Pass   │ Ok     │ validation rule 'team' passed. │
│────│───────────│──────│───────────────────────│────────│────────│────────────────────────────────│


Test Summary: 1 tests passed and 0 tests failed

";
    assert_eq!((ran.code, ran.out), (Some(0), format!("{LOG}{table}")));
}

#[test]
fn a_result_that_differs_fails_the_run() {
    let ran = folder(&GOOD.replace("result: pass", "result: fail")).run(&["test", "t", "-o", "json"]);
    let json = "
[
  {
    \"ID\": 1,
    \"POLICY\": \"need-team\",
    \"REASON\": \"Want fail, got pass\",
    \"RESOURCE\": \"v1/ConfigMap/web/good\",
    \"RESULT\": \"Fail\",
    \"RULE\": \"team\"
  }
]


Test Summary: 0 tests passed and 1 tests failed

";
    assert_eq!(ran.out, format!("{LOG}{json}"));
    assert_eq!((ran.code, &*ran.err), (Some(1), "Error: 1 tests failed\n"));
}

#[test]
fn only_failures_are_shown_at_the_end() {
    let ran = folder("results:\n- {policy: need-team, result: pass}\n").run(&[
        "test",
        "t",
        "--fail-only",
        "--remove-color",
    ]);
    let end = "
Test Summary: 1 out of 2 tests failed

Aggregated Failed Test Cases : 
│────│───────────│──────│──────────────────────────│────────│─────────────────────│
│ ID │ POLICY    │ RULE │ RESOURCE                 │ RESULT │ REASON              │
│────│───────────│──────│──────────────────────────│────────│─────────────────────│
│ 1  │ need-team │ team │ v1/ConfigMap/default/bad │ Fail   │ Want pass, got fail │
│────│───────────│──────│──────────────────────────│────────│─────────────────────│
";
    assert_eq!(ran.out, format!("{LOG}{end}"));
}

#[test]
fn markdown_and_junit_are_those_of_kyverno() {
    let files = folder(&GOOD.replace("result: pass", "result: fail"));
    let ran = files.run(&["test", "t", "-o", "markdown"]);
    assert!(ran.out.contains(
        "| ID | POLICY | RULE | RESOURCE | RESULT | REASON | \n|----|----|----|----|----|----|\n| 1 | need-team | team | v1/ConfigMap/web/good | Fail | Want fail, got pass |\n\n\n"
    ));
    let ran = files.run(&["test", "t", "-o", "junit"]);
    assert!(ran.out.contains(
        "   <failure message=\"Want fail, got pass\">\n    Policy: need-team\n    Rule: team\n    Resource: v1/ConfigMap/web/good\n    Result: Fail\n   </failure>\n"
    ), "{}", ran.out);
    let ran = files.run(&["test", "t", "-o", "nope"]);
    assert_eq!(ran.err, "Error: invalid format, expected (json, yaml, markdown, junit)\n");
}

#[test]
fn a_selector_chooses_results_and_names_resources() {
    let files = folder("results:\n- {policy: need-team, rule: team, resources: [good, bad], result: pass}\n");
    let ran = files.run(&["test", "t", "-t", "policy=need-*,resource=good"]);
    assert_eq!(ran.code, Some(0), "{}", ran.out);
    assert!(!ran.err.contains("selects"), "{}", ran.err);
    let ran = files.run(&["test", "t", "-t", "policy=need-taem"]);
    let says = "warning: no test has a result that `policy=need-taem` selects: nothing is checked; did you mean `need-team`?\n";
    assert!(ran.err.contains(says), "{}", ran.err);
    let ran = files.run(&["test", "t", "-t", "policy=other"]);
    assert_eq!(ran.out, "\nTest Summary: 0 tests passed and 0 tests failed\n\n");
    let ran = files.run(&["test", "t", "-t", "foo,x=y"]);
    assert!(ran.out.starts_with(
        "\nFilter errors:\n  Error: Invalid test-case-selector argument (foo). Parameter must be in the form `<key>=<value>`.\n  Error: Invalid test-case-selector (x=y). Parameter can only be policy, rule or resource.\n"
    ));
}

#[test]
fn fields_that_are_not_known_stop_the_run_with_their_place() {
    let ran = folder("resultz: []\n").run(&["test", "t"]);
    assert_eq!(
        ran.out,
        "\nTest errors:\n  Path: t/kyverno-test.yaml\n    Error: error unmarshaling JSON: while decoding JSON: json: unknown field \"resultz\"\n"
    );
    assert_eq!(
        ran.err,
        "warning: t/kyverno-test.yaml:6:1: unknown field \"resultz\"; did you mean `results`?\nError: found 1 errors after loading tests\n"
    );
    let ran = folder("results:\n- policy: [a]\n").run(&["test", "t"]);
    assert!(ran.out.contains(
        "json: cannot unmarshal array into Go struct field TestResult.results.TestResultBase.policy of type string\n"
    ), "{}", ran.out);
}

#[test]
fn files_of_former_schemas_and_missing_files_stop_the_run() {
    let stops = |files: Files, text: &str| {
        let ran = files.run(&["test", "t"]);
        assert_eq!(ran.code, Some(1));
        assert!(ran.err.ends_with(text), "{}", ran.err);
    };
    stops(
        Files::new(&[("t/kyverno-test.yaml", "name: x\n")]),
        "Error: test file t/kyverno-test.yaml uses a deprecated schema — please migrate to the latest format\n",
    );
    let with = |from: &str, to: &str| {
        let files = folder(GOOD);
        files.write("t/kyverno-test.yaml", format!("{HEAD}{GOOD}").replace(from, to).as_bytes());
        files
    };
    stops(
        with("p.yaml", "nope.yaml"),
        "Error: failed to run test (error: failed to load policies (stat t/nope.yaml: no such file or directory))\n",
    );
    stops(
        with("p.yaml", "'*.none'"),
        "Error: failed to run test (error: failed to load policies (stat t/*.none: no such file or directory))\n",
    );
    stops(
        with("r.yaml", "nope.yaml"),
        "Error: failed to run test (error: failed to load resources (stat t/nope.yaml: no such file or directory))\n",
    );
    stops(
        with("results", "variables: nope.yaml\nresults"),
        "Error: failed to run test (failed to decode yaml (unable to load variable file: nope.yaml (open t/nope.yaml: no such file or directory)))\n",
    );
    stops(
        with("result: pass", "result: pass, operation: CONNECT"),
        "Error: failed to run test (invalid test result for policy need-team: invalid operation \"CONNECT\", must be one of CREATE, UPDATE, DELETE)\n",
    );
}

#[test]
fn a_policy_that_does_not_parse_among_good_ones_is_reported_and_skipped() {
    let files = folder(GOOD);
    files.write("t/broken.yaml", b"apiVersion: kyverno.io/v1\nkind: ClusterPolicy\n  spec: x\n");
    files.write(
        "t/kyverno-test.yaml",
        format!("{HEAD}{GOOD}").replace("p.yaml", "p.yaml, broken.yaml").as_bytes(),
    );
    let ran = files.run(&["test", "t"]);
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    assert!(ran.out.contains("  ERROR: t/broken.yaml: failed to parse document ("), "{}", ran.out);
    assert!(ran.err.contains("warning: t/broken.yaml:3: "), "{}", ran.err);
}

#[test]
fn later_resource_files_may_be_missing_and_duplicates_are_reported() {
    let files = folder(GOOD);
    files.write("t/again.yaml", RESOURCES.as_bytes());
    let test = format!("{HEAD}{GOOD}").replace("r.yaml", "r.yaml, again.yaml, nope.yaml");
    files.write("t/kyverno-test.yaml", test.as_bytes());
    let ran = files.run(&["test", "t"]);
    let line = "-".repeat(70);
    assert!(ran.out.contains(&format!(
        "  Loading resources ...\n\n{line}\nfailed to load resources: t/nope.yaml. \nerror: open t/nope.yaml: no such file or directory\n{line}\n  warning: found duplicated resource ConfigMap bad default\n"
    )), "{}", ran.out);
    assert_eq!(ran.code, Some(0));
}

#[test]
fn folders_without_tests_are_reported() {
    let files = Files::new(&[("empty/x.yaml", "a: 1\n")]);
    let ran = files.run(&["test", "empty"]);
    assert_eq!((ran.code, &*ran.out), (Some(0), "\nNo test yamls available\n"));
    assert_eq!(
        files.run(&["test", "empty", "--require-tests"]).err.lines().last(),
        Some("Error: no tests found")
    );
    let ran = files.run(&["test", "nope"]);
    assert_eq!(ran.out, "\nError loading tests: open nope: no such file or directory\n");
    assert_eq!((ran.code, &*ran.err), (Some(1), "Error: open nope: no such file or directory\n"));
    let ran = files.run(&["test", "no*thing"]);
    assert_eq!((ran.code, &*ran.out), (Some(0), "\nNo test yamls available\n"));
    assert!(ran.err.contains("no*thing: no kyverno-test.yaml found"));
}

#[test]
fn strict_runs_fail_where_nothing_is_tested() {
    let files = folder(GOOD);
    files.write("empty/x.yaml", b"a: 1\n");
    let last = |arguments: &[&str]| {
        let ran = files.run(&[&["test"], arguments, &["--strict"]].concat());
        let last = ran.err.lines().find(|line| line.starts_with("Error: ")).map(String::from);
        (ran.code, last.unwrap_or_default())
    };
    let nothing_in_empty = "Error: no kyverno-test.yaml found in `empty` and --strict is set".to_string();
    assert_eq!(last(&["empty"]), (Some(1), nothing_in_empty.clone()));
    assert_eq!(last(&["t", "empty"]), (Some(1), nothing_in_empty));
    assert_eq!(
        last(&["no*thing", "empty"]).1,
        "Error: no kyverno-test.yaml found in `no*thing`, `empty` and --strict is set"
    );
    let nothing = "Error: no result was compared and --strict is set".to_string();
    assert_eq!(last(&["t", "-t", "policy=other"]), (Some(1), nothing.clone()));
    assert_eq!(last(&["t"]), (Some(0), String::new()));
    assert_eq!(files.run(&["test", "t", "empty"]).code, Some(0));
    files.write("none/kyverno-test.yaml", b"apiVersion: cli.kyverno.io/v1alpha1\nkind: Test\nmetadata: {name: n}\npolicies: [../t/p.yaml]\nresources: [../t/r.yaml]\nresults: []\n");
    assert_eq!(last(&["none"]), (Some(1), nothing));
}

#[test]
fn vacuous_results_pass_as_in_kyverno_and_fail_when_strict() {
    let files = folder("results:\n- {policy: need-team, rule: nope, resources: [good], result: fail}\n");
    let ran = files.run(&["test", "t"]);
    assert_eq!(ran.code, Some(0));
    assert!(ran.out.contains("│ Pass   │ Excluded │"), "{}", ran.out);
    assert_eq!(
        ran.err,
        "warning: t/kyverno-test.yaml:7: vacuous result: rule `nope` of policy `need-team` gives no result for v1/ConfigMap/web/good\nwarning: 1 expected result(s) are vacuous: no assertion was evaluated\n"
    );
    let ran = files.run(&["test", "t", "--strict"]);
    assert_eq!(ran.code, Some(1));
    assert!(ran.err.ends_with("Error: 1 expected result(s) are vacuous and --strict is set\n"));
    let ran =
        folder("results:\n- {policy: need-team, rule: team, resources: [misspelt, good], result: pass}\n")
            .run(&["test", "t", "--strict"]);
    assert!(ran.err.contains("vacuous result: there is no object `misspelt`"), "{}", ran.err);
}

#[test]
fn misspelt_names_of_policies_rules_and_objects_are_named_with_what_was_meant() {
    for (from, to, text) in [
        ("need-team", "need-teem", "there is no policy `need-teem`; did you mean `need-team`?"),
        ("rule: team", "rule: taem", "policy `need-team` has no rule `taem`; did you mean `team`?"),
        ("[good]", "[goood]", "vacuous result: there is no object `goood`; did you mean `good`?"),
    ] {
        let ran = folder(&GOOD.replacen(from, to, 1)).run(&["test", "t"]);
        assert!(ran.err.contains(&format!("warning: t/kyverno-test.yaml:7: {text}\n")), "{}", ran.err);
    }
}

#[test]
fn the_failure_action_in_force_can_be_asserted() {
    let expecting = |action: &str| {
        folder(&GOOD.replace("result: pass", &format!("result: pass, failureAction: {action}")))
            .run(&["test", "t"])
    };
    assert_eq!(expecting("Audit").code, Some(0));
    let ran = expecting("Enforce");
    assert_eq!(ran.code, Some(1));
    assert!(ran.out.contains("Want action Enforce, got Audit"), "{}", ran.out);
}

const MUTATE: &str = "apiVersion: kyverno.io/v1
kind: ClusterPolicy
metadata: {name: label}
spec:
  rules:
  - name: add
    match: {any: [{resources: {kinds: [ConfigMap]}}]}
    mutate: {patchStrategicMerge: {metadata: {labels: {team: web}}}}
";

#[test]
fn changed_objects_are_compared_with_a_diff_of_lines() {
    let files = Files::new(&[
        ("t/p.yaml", MUTATE),
        ("t/r.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n"),
        (
            "t/good.yaml",
            "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, namespace: default, labels: {team: web}}\n",
        ),
        ("t/bad.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, labels: {team: blue}}\n"),
        (
            "t/kyverno-test.yaml",
            &format!(
                "{HEAD}results:\n- {{policy: label, rule: add, resources: [a], patchedResources: good.yaml, result: pass}}\n- {{policy: label, rule: add, resources: [a], patchedResources: bad.yaml, result: pass}}\n- {{policy: label, rule: add, resources: [a], patchedResources: p.yaml, result: pass}}\n- {{policy: label, rule: add, resources: [a], patchedResources: p.yaml, failOnMissingResources: true, result: pass}}\n"
            ),
        ),
    ]);
    let ran = files.run(&["test", "t", "--detailed-results", "--remove-color"]);
    let rows: Vec<&str> = ran.out.lines().filter(|l| l.starts_with("│ ") && !l.contains(" ID ")).collect();
    let cell = |row: &str, n: usize| row.split('│').nth(n).unwrap_or_default().trim().to_owned();
    let reasons: Vec<String> = rows.iter().map(|r| cell(r, 6)).filter(|c| !c.is_empty()).collect();
    // An object that the file does not hold gives no row, unless `failOnMissingResources` is set.
    assert_eq!(reasons, ["Ok", "Resource diff", "Resource error"], "{}", ran.out);
    let messages: Vec<String> = rows.iter().map(|r| cell(r, 7)).collect();
    assert!(messages.contains(&"-             team: blue".to_owned()), "{messages:?}");
    assert!(messages.contains(&"+             team: web".to_owned()), "{messages:?}");
    assert!(
        ran.err.contains("vacuous result: the expected objects do not hold v1/ConfigMap/default/a"),
        "{}",
        ran.err
    );
    let ran = files.run(&["test", "t", "--detailed-results"]);
    assert!(ran.out.contains("\u{1b}[31m-             team: blue\u{1b}[0m"), "{}", ran.out);
}

#[test]
fn mocks_answer_calls_and_clusters_have_config_maps() {
    let policy = "apiVersion: kyverno.io/v1
kind: ClusterPolicy
metadata: {name: p}
spec:
  rules:
  - name: call
    match: {any: [{resources: {kinds: [ConfigMap]}}]}
    context:
    - {name: answer, apiCall: {service: {url: https://service.invalid/check}, jmesPath: allowed}}
    - {name: settings, configMap: {name: settings, namespace: kube-system}}
    validate:
      message: denied
      deny: {conditions: {any: [{key: '{{ answer }}', operator: NotEquals, value: true}, {key: '{{ settings.data.team }}', operator: NotEquals, value: a}]}}
";
    let cluster = "apiVersion: cli.kyverno.io/v1alpha1\nkind: ClusterResource\nmetadata: {name: c}\nspec:\n  resources:\n  - {apiVersion: v1, kind: ConfigMap, metadata: {name: settings, namespace: kube-system}, data: {team: a}}\n";
    let more = "clusterResources: [c.yaml]\napiCallResponses:\n- {url: 'https://service.invalid/check', response: {statusCode: 200, body: {allowed: true}}}\nresults:\n- {policy: p, rule: call, resources: [good], result: pass}\n";
    let files = folder(more);
    files.write("t/p.yaml", policy.as_bytes());
    files.write("t/c.yaml", cluster.as_bytes());
    let ran = files.run(&["test", "t", "--detailed-results"]);
    assert_eq!(ran.code, Some(0), "{}", ran.out);
    files.write("t/kyverno-test.yaml", format!("{HEAD}{more}").replace("200", "500").as_bytes());
    let ran = files.run(&["test", "t", "-o", "json", "--detailed-results"]);
    assert!(ran.out.contains(
        "HTTP 500 from apiCall mock for context entry \\\"answer\\\" (v1 apiCall treats non-2xx as failure)"
    ), "{}", ran.out);
}

#[test]
fn rules_about_images_check_digests_and_records() {
    let policy = "apiVersion: kyverno.io/v1
kind: ClusterPolicy
metadata: {name: images}
spec:
  rules:
  - name: digest
    match: {any: [{resources: {kinds: [Pod]}}]}
    verifyImages: [{imageReferences: ['docker.io/nginx*'], mutateDigest: false, required: false}]
";
    let pods = "apiVersion: v1\nkind: Pod\nmetadata: {name: tag}\nspec: {containers: [{name: a, image: 'nginx:1'}]}\n---\napiVersion: v1\nkind: Pod\nmetadata: {name: other}\nspec: {containers: [{name: a, image: 'ghcr.io/a/b:1'}]}\n";
    let files = folder(
        "results:\n- {policy: images, rule: digest, resources: [tag], result: fail}\n- {policy: images, rule: digest, resources: [other], result: fail}\n",
    );
    files.write("t/p.yaml", policy.as_bytes());
    files.write("t/r.yaml", pods.as_bytes());
    let ran = files.run(&["test", "t", "--detailed-results", "--remove-color"]);
    assert_eq!(ran.code, Some(0), "{}", ran.out);
    let count = |text: &str| ran.out.matches(text).count();
    // Signatures are verified first, then the object is validated: two responses.
    assert_eq!((count("│ Excluded "), count("missing digest for docker.io/nginx:1")), (4, 1), "{}", ran.out);
}

#[test]
fn many_tests_print_the_same_on_any_number_of_threads() {
    let files = Files::new(&[]);
    for i in 0..70 {
        files.write(&format!("t/{i:02}/p.yaml"), POLICY.as_bytes());
        files.write(&format!("t/{i:02}/r.yaml"), RESOURCES.as_bytes());
        files.write(&format!("t/{i:02}/kyverno-test.yaml"), format!("{HEAD}{GOOD}").as_bytes());
    }
    let one = files.run(&["test", "t", "--threads", "1"]);
    assert!(one.out.contains("Test Summary: 70 tests passed and 0 tests failed"));
    assert_eq!(one.out, files.run(&["test", "t", "--threads", "7"]).out);
}

#[test]
fn coverage_names_rules_conditions_and_leaves_that_no_test_reaches() {
    let policy = "apiVersion: kyverno.io/v1
kind: ClusterPolicy
metadata: {name: p}
spec:
  rules:
  - name: reached
    match: {any: [{resources: {kinds: [ConfigMap]}}]}
    validate:
      message: m
      pattern:
        metadata: {name: bad, namespace: x}
  - name: unreached
    match: {any: [{resources: {kinds: [Secret]}}]}
    preconditions: {all: [{key: '{{ request.object.kind }}', operator: Equals, value: a}]}
    validate: {message: m, deny: {}}
";
    let files = folder("results:\n- {policy: p, rule: reached, resources: [good], result: fail}\n");
    files.write("t/p.yaml", policy.as_bytes());
    let ran = files.run(&["test", "t", "--coverage", "--coverage-file", "c.json"]);
    let (_, text) = ran.out.split_once("Coverage:\n").expect("a section on coverage");
    assert_eq!(
        text,
        "  t/p.yaml:12: rule `unreached` of `p`: never ran
  t/p.yaml:14: rule `unreached` of `p`: condition never reached: spec.rules[1].preconditions.all[0]
  1 of 2 rules, 0 of 1 conditions, 2 of 2 pattern leaves reached
"
    );
    let json = std::fs::read_to_string(files.path("c.json")).expect("the file");
    assert!(json.contains("\"found\": 2") && json.contains("\"file\": \"t/p.yaml\""), "{json}");
}

#[test]
fn coverage_is_also_a_tracefile_of_lcov_and_has_a_minimum() {
    let files = folder(GOOD);
    let ran = files.run(&[
        "test",
        "t",
        "--coverage-file",
        "c.info",
        "--coverage-format",
        "lcov",
        "--coverage-min",
        "100",
    ]);
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    let text = std::fs::read_to_string(files.path("c.info")).expect("the tracefile");
    assert!(text.starts_with("TN:\nSF:t/p.yaml\nFN:"), "{text}");
    assert!(text.contains(",need-team/team\n") && text.contains("\nFNF:1\nFNH:1\n"), "{text}");
    assert!(text.ends_with("end_of_record\n"), "{text}");
    let policy = std::fs::read_to_string(files.path("t/p.yaml")).expect("the policy");
    let unreached = "  - name: never\n    match: {any: [{resources: {kinds: [Secret]}}]}\n    validate: {message: m, pattern: {metadata: {name: '?*'}}}\n";
    files.write("t/p.yaml", format!("{}\n{unreached}", policy.trim_end()).as_bytes());
    let ran = files.run(&["test", "t", "--coverage-min", "60"]);
    assert_eq!(ran.code, Some(1));
    assert!(
        ran.err.ends_with(
            "Error: tests reach 50.0 % of rules, conditions and pattern leaves, and --coverage-min is 60 %\n"
        ),
        "{}",
        ran.err
    );
    assert_eq!(files.run(&["test", "t", "--coverage-min", "50%"]).code, Some(0));
    let wrong = files.run(&["test", "t", "--coverage-min", "half"]).err;
    assert!(wrong.contains("for \"--coverage-min\" flag: expected a number from 0 to 100"), "{wrong}");
}

#[test]
fn tests_run_again_when_a_file_changes() {
    let files = folder(GOOD);
    let mut child = files
        .program(&["test", "t", "--watch"])
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .expect("the program starts");
    let mut lines = BufReader::new(child.stdout.take().expect("a pipe")).lines();
    let mut summary =
        || lines.by_ref().map_while(Result::ok).find(|l| l.starts_with("Test Summary")).unwrap_or_default();
    assert_eq!(summary(), "Test Summary: 1 tests passed and 0 tests failed");
    files.write("t/r.yaml", RESOURCES.replace("team: a", "other: a").as_bytes());
    assert_eq!(summary(), "Test Summary: 0 tests passed and 1 tests failed");
    child.kill().expect("the program is still there");
    child.wait().expect("the program ends");
}

#[test]
fn files_that_lie_above_the_test_are_found_and_patterns_that_match_nothing_stop_the_run() {
    let files = folder(GOOD);
    let above =
        format!("{HEAD}{GOOD}").replace("[p.yaml]", "[../t/p.yaml]").replace("[r.yaml]", "[../t/r.yaml]");
    files.write("u/kyverno-test.yaml", above.as_bytes());
    let ran = files.run(&["test", "u/../u"]);
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    assert!(ran.out.contains("Test Summary: 1 tests passed and 0 tests failed"), "{}", ran.out);
    let nothing = format!("{HEAD}{GOOD}").replace("[p.yaml]", "['none*.yaml']");
    files.write("u/kyverno-test.yaml", nothing.as_bytes());
    let ran = files.run(&["test", "u"]);
    assert_eq!(ran.code, Some(1));
    assert!(
        ran.err.contains("Error: failed to run test (error: failed to load policies (stat u/none*.yaml: no such file or directory))"),
        "{}",
        ran.err
    );
}

#[test]
fn payloads_that_cannot_be_used_stop_the_run_with_the_text_of_kyverno() {
    for (field, body, expected) in [
        ("jsonPayloads", Some("[1]"), "error: JSON payload x.json must be a top-level object (map)"),
        (
            "httpPayloads",
            None,
            "error: failed to load HTTP payloads from path t/x.json (failed to read HTTP payload file t/x.json: open t/x.json: no such file or directory)",
        ),
    ] {
        let files = folder(&format!("{field}: [x.json]\n{GOOD}"));
        body.iter().for_each(|text| files.write("t/x.json", text.as_bytes()));
        let ran = files.run(&["test", "t"]);
        assert_eq!(ran.code, Some(1));
        assert_eq!(ran.err.lines().last(), Some(&*format!("Error: failed to run test ({expected})")));
    }
}

#[test]
fn failures_alone_in_a_format_stand_between_blank_lines() {
    let ran = folder(&GOOD.replace("result: pass", "result: fail")).run(&[
        "test",
        "t",
        "--fail-only",
        "-o",
        "markdown",
    ]);
    let (_, text) = ran.out.split_once("Checking results ...\n").expect("the steps");
    assert_eq!(
        text,
        "\nTest Summary: 1 out of 1 tests failed\n\n\n| ID | POLICY | RULE | RESOURCE | RESULT | REASON | \n|----|----|----|----|----|----|\n| 1 | need-team | team | v1/ConfigMap/web/good | Fail | Want fail, got pass |\n\n\n"
    );
}

#[test]
fn scalars_become_texts_in_fields_of_the_document_but_not_of_embedded_types() {
    let output = |more: &str| folder(more).run(&["test", "t"]).out;
    let wrong = |path: &str, found: &str| {
        format!(
            "Error: error unmarshaling JSON: while decoding JSON: json: cannot unmarshal {found} into Go struct field {path}\n"
        )
    };
    let of_result = |field: &str| format!("results:\n- {{policy: need-team, rule: team, {field}}}\n");
    let policy = output("results:\n- {policy: 1.5, rule: team, resources: [good], result: pass}\n");
    assert!(policy.ends_with(&wrong("TestResult.results.TestResultBase.policy of type string", "number")));
    let resources = output(&of_result("result: pass, resources: [-3]"));
    assert!(
        resources.ends_with(&wrong("TestResult.results.TestResultData.resources of type string", "number"))
    );
    let result = output(&of_result("resources: [good], result: [pass]"));
    assert!(
        result.ends_with(&wrong("TestResult.results.TestResultBase.result of type v1alpha1.Result", "array"))
    );
    assert!(output(&format!("variables: 5\n{GOOD}")).contains("Loading test"), "a path is a text");
}

#[test]
fn a_context_file_that_cannot_be_read_ends_a_run_of_policies_that_could_read_it() {
    let review = "apiVersion: policies.kyverno.io/v1\nkind: ValidatingPolicy\nmetadata: {name: v}\nspec:\n  matchConstraints: {resourceRules: [{apiGroups: [''], apiVersions: [v1], operations: [CREATE], resources: [configmaps]}]}\n  validations: [{expression: 'true', message: m}]\n";
    let more = format!("context: none.yaml\n{GOOD}");
    let without = folder(&more).run(&["test", "t"]);
    assert_eq!(without.code, Some(0), "{}", without.out);
    let files = Files::new(&[
        ("t/p.yaml", review),
        ("t/r.yaml", RESOURCES),
        ("t/kyverno-test.yaml", &format!("{HEAD}{more}")),
    ]);
    let with = files.run(&["test", "t"]);
    assert_eq!(with.code, Some(1));
    let cause = "(open t/none.yaml: no such file or directory))\n";
    assert!(
        with.err.contains("Error: failed to run test (failed to apply policies on resource "),
        "{}",
        with.err
    );
    assert!(with.err.ends_with(cause), "{}", with.err);
}

#[test]
fn a_document_of_the_command_line_is_no_policy() {
    let more = format!("resources: [r.yaml]\npolicies: [kyverno-test.yaml]\n{GOOD}");
    let head = "apiVersion: cli.kyverno.io/v1alpha1\nkind: Test\nmetadata: {name: t}\n";
    let files = Files::new(&[("t/r.yaml", RESOURCES), ("t/kyverno-test.yaml", &format!("{head}{more}"))]);
    let ran = files.run(&["test", "t"]);
    assert!(ran.err.ends_with("Error: failed to run test (error: failed to load policies (failed to load file t/kyverno-test.yaml: policy type not supported cli.kyverno.io/v1alpha1, Kind=Test))\n"), "{}", ran.err);
}

#[test]
fn objects_of_rules_that_make_none_are_compared_with_expected_ones_too() {
    let with = |more: &str| {
        let line = GOOD.replace("result: pass", &format!("result: pass, {more}"));
        folder(&line).run(&["test", "t", "--remove-color", "--detailed-results"])
    };
    let lost = with("generatedResource: none.yaml");
    let text =
        "error: failed to load GeneratedResource resource (open t/none.yaml: no such file or directory)";
    assert!(lost.out.contains("Resource error") && lost.out.contains(text), "{}", lost.out);
    assert_eq!(with("generatedResource: r.yaml").code, Some(0));
    let other = with("generatedResource: p.yaml");
    assert!(
        !other.out.contains("need-team │ team"),
        "an object that the file has not is no row: {}",
        other.out
    );
    let strict = with("generatedResource: p.yaml, failOnMissingResources: true");
    assert!(strict.out.contains("resource with name good not found in manifest"), "{}", strict.out);
}

#[test]
fn own_formats_hold_nothing_else_and_point_at_the_expected_result() {
    let files = folder(&GOOD.replace("result: pass", "result: fail"));
    let written = std::fs::read_to_string(files.path("t/kyverno-test.yaml")).expect("the test");
    let line = 1 + written.lines().position(|l| l.contains("result: fail")).expect("a result");
    let run = |arguments: &[&str]| {
        let ran = files.run(&[&["test", "t"], arguments].concat());
        assert_eq!(ran.code, Some(1), "{arguments:?}: {}", ran.err);
        ran.out
    };
    let json: serde_json::Value = serde_json::from_str(&run(&["--output-format", "json"])).expect("JSON");
    let failed = json["results"].as_array().expect("results").iter().find(|r| r["result"] == "fail");
    let failed = failed.expect("a failure");
    assert_eq!(
        (&failed["place"]["file"], &failed["place"]["line"]),
        (&"t/kyverno-test.yaml".into(), &line.into())
    );
    assert_eq!(failed["message"].as_str().map(|m| m.starts_with("Want fail, got pass: ")), Some(true));
    let github = run(&["--output-format", "github"]);
    assert!(github.starts_with(&format!("::error file=t/kyverno-test.yaml,line={line},")), "{github}");
    let junit = run(&["--output-format", "junit"]);
    assert!(
        junit.starts_with("<?xml") && junit.contains("<failure message=\"Want fail, got pass: "),
        "{junit}"
    );
    assert!(run(&["--output-format", "markdown"]).starts_with("| Policy |"));
    assert!(run(&["--output-format", "sarif"]).starts_with("{\"$schema\""));
    assert!(run(&["--output-format", "text"]).contains(&format!("┌ t/kyverno-test.yaml:{line}:")));
    // A file of our own leaves what Kyverno prints as it is.
    let table = run(&["--report-file", "r.xml"]);
    assert_eq!(table, run(&[]));
    let strip =
        |text: &str| text.lines().filter(|l| !l.contains("<testsuites")).collect::<Vec<_>>().join("\n");
    let written = std::fs::read_to_string(files.path("r.xml")).expect("the report");
    assert_eq!(strip(&written), strip(&junit));
    // Unlike Kyverno's, which come with its lines about the run.
    assert!(run(&["-o", "json"]).starts_with("Loading test"));
    let refused = files.run(&["test", "t", "--report-file", "r.dat"]);
    assert!(refused.err.contains("--output-format"), "{}", refused.err);
}

#[cfg(unix)]
#[test]
fn under_the_name_of_kyverno_formats_of_tests_are_its_own() {
    let files = folder(GOOD);
    let link = files.path("kyverno");
    std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_ephor"), &link).expect("a link");
    let run = |flag: &str, format: &str| {
        let mut program = std::process::Command::new(&link);
        program.args(["test", "t", flag, format]).current_dir(files.dir.path());
        let ran = program.output().expect("the program starts");
        (String::from_utf8_lossy(&ran.stdout).into_owned(), String::from_utf8_lossy(&ran.stderr).into_owned())
    };
    for format in ["json", "junit", "yaml", "markdown"] {
        assert!(run("-o", format).0.starts_with("Loading test"), "{format}");
        assert_eq!(run("--output-format", format), run("-o", format));
    }
    let text = "Error: invalid format, expected (json, yaml, markdown, junit)\n";
    assert_eq!(run("--output-format", "github").1, text);
}

/// A MutatingPolicy that counts the data and notes it under its own name.
fn counting(name: &str) -> String {
    format!(
        "apiVersion: policies.kyverno.io/v1
kind: MutatingPolicy
metadata: {{name: {name}}}
spec:
  matchConstraints:
    resourceRules: [{{apiGroups: [''], apiVersions: [v1], operations: [CREATE], resources: [configmaps]}}]
  mutations:
  - patchType: JSONPatch
    jsonPatch: {{expression: \"[JSONPatch{{op: 'add', path: '/data/{name}', value: string(size(object.data))}}]\"}}
"
    )
}

#[test]
fn the_object_of_each_mutating_policy_is_that_which_all_of_them_leave() {
    let object =
        |data: &str| format!("apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: c}}\ndata: {{{data}}}\n");
    let results: String = ["one", "two"]
        .map(|name| {
            format!("- {{policy: {name}, kind: ConfigMap, resources: [c], patchedResources: all.yaml, result: pass}}\n")
        })
        .concat();
    let files = Files::new(&[
        ("t/p.yaml", &format!("{}---\n{}", counting("one"), counting("two"))),
        ("t/r.yaml", &object("a: b")),
        ("t/all.yaml", &object("a: b, one: '1', two: '2'")),
        ("t/kyverno-test.yaml", &format!("{HEAD}results:\n{results}")),
    ]);
    let ran = files.run(&["test", "t"]);
    assert!(ran.out.contains("2 tests passed and 0 tests failed"), "{}", ran.out);
    let ran = files.run(&["apply", "t/p.yaml", "--resource", "t/r.yaml"]);
    assert_eq!(ran.out.matches("one: \"1\"\n    two: \"2\"").count(), 2, "{}", ran.out);
}
