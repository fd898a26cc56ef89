//! The small commands: `create`, `fix`, `completion`, `docs`.
#![allow(clippy::expect_used)]

mod common;

use common::{Files, POLICY, RESOURCES};

#[test]
fn create_prints_the_texts_of_kyverno() {
    let files = Files::new(&[]);
    let ran = files.run(&["create", "user-info", "-u", "bob", "-r", "r1,r2", "-c", "cr", "-g", "g1"]);
    assert_eq!(
        ran.out,
        "# list of roles\nroles:\n  - r1\n  - r2\n\n# list of cluster roles\nclusterRoles:\n  - cr\n\nuserInfo:\n  # user name\n  username: bob\n\n  # list of groups\n  groups:\n    - g1\n"
    );
    let ran =
        files.run(&["create", "exception", "ex", "--policy-rules", "pol,r1", "--any", "kind=Pod,name=a*"]);
    assert_eq!(
        ran.out,
        "apiVersion: kyverno.io/v2\nkind: PolicyException\nmetadata:\n  name: ex\n  namespace: default\nspec:\n  background: true\n  match:\n    any:\n    - kinds:\n        - Pod\n      names:\n        - a*\n  exceptions:\n    - policyName: pol\n      ruleNames:\n        - r1\n"
    );
    assert_eq!(files.run(&["create", "exception"]).err, "Error: accepts 1 arg(s), received 0\n");
    assert_eq!(
        files.run(&["create", "cluster-role", "nm"]).err,
        "Error: required flag(s) \"api-groups\", \"resources\", \"verbs\" not set\n"
    );
    assert!(files.run(&["create", "tset"]).err.ends_with("help: did you mean `test`?\n"));
}

#[test]
fn a_created_test_runs() {
    let files = Files::new(&[("p.yaml", POLICY), ("r.yaml", RESOURCES)]);
    let ran = files.run(&[
        "create",
        "test",
        "--current",
        "-p",
        "p.yaml",
        "-r",
        "r.yaml",
        "--pass",
        "need-team,team,good,web,ConfigMap",
        "-o",
        "kyverno-test.yaml",
    ]);
    assert_eq!((ran.code, &*ran.err), (Some(0), ""));
    let ran = files.run(&["test", "."]);
    assert!(ran.out.contains("Test Summary: 1 tests passed and 0 tests failed"), "{}", ran.out);
}

#[test]
fn a_repaired_test_runs() {
    let test = "name: old\npolicies: [p.yaml]\nresources: [r.yaml]\nvariables: v.yaml\nresults:\n- {policy: need-team, rule: team, resources: [good, good], kind: ConfigMap, result: pass}\n";
    let files = Files::new(&[
        ("t/kyverno-test.yaml", test),
        ("t/p.yaml", POLICY),
        ("t/r.yaml", RESOURCES),
        ("t/v.yaml", "globalValues: {a: b}\n"),
    ]);
    assert_eq!(files.run(&["test", "t"]).code, Some(1));
    let ran = files.run(&["fix", "test", "t", "--save"]);
    assert_eq!(
        ran.out,
        "Processing test file (t/kyverno-test.yaml)...
  WARNING: api version is not set, setting `cli.kyverno.io/v1alpha1`
  WARNING: kind is not set, setting `Test`
  WARNING: name is deprecated, moving it into `metadata.name`
  WARNING: test results contains duplicate resources
  Processing values file (v.yaml)...
  WARNING: api version is not set, setting `cli.kyverno.io/v1alpha1`
  WARNING: kind is not set, setting `Values`
  Saving values file (t/v.yaml)...
    OK

  Saving test file (t/kyverno-test.yaml)...
    OK
Done.
"
    );
    assert_eq!(files.run(&["test", "t"]).code, Some(0));
}

#[test]
fn a_repaired_policy_keeps_the_other_documents_of_its_file() {
    let policy = "apiVersion: kyverno.io/v1
kind: ClusterPolicy
metadata: {name: p}
spec:
  validationFailureAction: enforce
  rules:
  - name: a
    match: {resources: {kinds: [Pod]}}
    preconditions: [{key: a, operator: In, value: [a]}]
    validate: {message: m, pattern: {metadata: {name: '?*'}}}
---
apiVersion: acme.io/v1
kind: Widget
metadata: {name: w}
";
    let files = Files::new(&[("p.yaml", policy)]);
    let ran = files.run(&["fix", "policy", "p.yaml"]);
    assert_eq!(std::fs::read_to_string(files.path("p.yaml")).expect("the file"), policy);
    assert_eq!(
        ran.out,
        "Processing file (p.yaml)...\n  WARNING: match uses old syntax, moving to any\n  WARNING: condition uses old operator `In`, updating\nDone.\n"
    );
    files.run(&["fix", "policy", "p.yaml", "--save"]);
    let saved = std::fs::read_to_string(files.path("p.yaml")).expect("the file");
    assert!(saved.contains("      all:\n      - key: a\n        operator: AllIn\n"), "{saved}");
    assert!(saved.contains("  validationFailureAction: Enforce\n"), "{saved}");
    assert!(saved.ends_with("---\napiVersion: acme.io/v1\nkind: Widget\nmetadata: {name: w}\n"), "{saved}");
    let again = files.run(&["fix", "policy", "p.yaml"]);
    assert_eq!(again.out, "Processing file (p.yaml)...\nDone.\n");
}

#[test]
fn completions_know_commands_and_flags() {
    let files = Files::new(&[]);
    for shell in ["bash", "zsh", "fish", "powershell"] {
        let ran = files.run(&["completion", shell]);
        assert!(
            ran.code == Some(0) && ran.out.contains("require-tests") && ran.out.contains("user-info"),
            "{shell}"
        );
    }
    assert_eq!(
        files.run(&["completion", "foo"]).err,
        "Error: invalid argument \"foo\" for \"ephor completion\"\n"
    );
    assert_eq!(files.run(&["completion"]).err, "Error: accepts 1 arg(s), received 0\n");
}

#[test]
fn the_bash_completion_completes() {
    let files = Files::new(&[]);
    files.write("c.bash", files.run(&["completion", "bash"]).out.as_bytes());
    let complete = |words: &str, at: usize| {
        let script =
            format!(". ./c.bash; COMP_WORDS=({words}); COMP_CWORD={at}; _ephor; echo \"${{COMPREPLY[*]}}\"");
        let ran =
            std::process::Command::new("bash").arg("-c").arg(script).current_dir(files.dir.path()).output();
        String::from_utf8_lossy(&ran.expect("bash runs").stdout).trim().to_owned()
    };
    assert_eq!(complete("ephor cre", 1), "create");
    assert_eq!(complete("ephor create user", 2), "user-info");
    assert_eq!(complete("ephor test folder --req", 3), "--require-tests");
}

#[test]
fn docs_has_a_page_for_every_command() {
    let files = Files::new(&[]);
    assert_eq!(files.run(&["docs"]).err, "Error: required flag(s) \"output\" not set\n");
    assert_eq!(files.run(&["docs", "-o", "d", "--noDate"]).code, Some(0));
    let page = std::fs::read_to_string(files.path("d/ephor_create_test.md")).expect("the page");
    assert!(page.starts_with("## ephor create test\n\nCreates a test file.\n"), "{page}");
    assert!(
        page.contains("* [ephor create](ephor_create.md)") && page.contains("--policy strings"),
        "{page}"
    );
    for name in ["ephor", "ephor_apply", "ephor_jp_query", "ephor_fix_policy", "ephor_version"] {
        assert!(files.path(&format!("d/{name}.md")).exists(), "{name}");
    }
}

#[test]
fn lint_shows_where_an_expression_is_wrong() {
    let policy = "apiVersion: policies.kyverno.io/v1
kind: ValidatingPolicy
metadata: {name: p}
spec:
  matchConstraints: {resourceRules: [{apiGroups: [''], apiVersions: [v1], operations: [CREATE], resources: [pods]}]}
  validations:
  - expression: object.a + zz
";
    let files = Files::new(&[("p.yaml", policy), ("empty/x.txt", "")]);
    let ran = files.run(&["lint", "p.yaml"]);
    assert_eq!(ran.code, Some(1));
    assert_eq!(
        ran.out,
        "p.yaml:7:28: error: spec.validations[0].expression: undeclared reference to 'zz' (in container '')
  7 |   - expression: object.a + zz
    |                            ^
1 policies, 1 error(s), 0 warning(s)
"
    );
    files.write("p.yaml", policy.replace(" + zz", " == 1").as_bytes());
    assert_eq!(files.run(&["lint", "p.yaml"]).code, Some(0));
    assert!(files.run(&["lint", "empty"]).err.ends_with("Error: no policy found in empty\n"));
    assert!(
        files.run(&["lint", "q.yaml"]).err.contains("no such policy file `q.yaml`; did you mean `p.yaml`?")
    );
}

#[test]
fn conformance_fails_on_differences_that_are_not_known() {
    let files = Files::new(&[
        (
            "jmespath-random.jsonl",
            "{\"id\": \"right\", \"expression\": \"a\", \"input\": {\"a\": 1}, \"result\": 1}\n{\"id\": \"wrong\", \"expression\": \"a\", \"input\": {\"a\": 1}, \"result\": 2}\n",
        ),
        (
            "known.toml",
            "[[cause]]\nsuite = \"jmespath-random\"\nwhy = \"for the test\"\ncases = [\"wrong\"]\n",
        ),
    ]);
    let ran = files.run(&["conformance", "."]);
    assert_eq!((ran.code, &*ran.out), (Some(1), "jmespath-random 1/2\n"));
    assert_eq!(ran.err, "1 suites: 1 of 2 cases pass; of the others 0 are known, 1 new\n");
    let ran = files.run(&["conformance", ".", "--known", "known.toml", "--failures", "wrong.jsonl"]);
    assert_eq!((ran.code, &*ran.out), (Some(0), "jmespath-random 1/2\n"));
    assert_eq!(ran.err, "1 suites: 1 of 2 cases pass; of the others 1 are known, 0 new\n");
    let failures = std::fs::read_to_string(files.path("wrong.jsonl")).expect("failures");
    assert_eq!(failures.lines().count(), 1);
    assert!(failures.contains("\"id\":\"wrong\",\"known\":\"for the test\""), "{failures}");
}
