//! The small commands: `create`, `fix`, `completion`, `docs`.
#![allow(clippy::expect_used)]

use crate::common::{Files, POLICY, RESOURCES};

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
    assert_eq!(
        files.run(&["create", "exception"]).err,
        "Error: accepts 1 arg(s), received 0\nhelp: `ephor create exception --help` shows what it takes\n"
    );
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
fn a_record_of_an_expected_result_with_too_few_fields_is_an_error() {
    let ran = Files::new(&[]).run(&["create", "test", "--current", "--pass", "need-team,team"]);
    assert_eq!(ran.err, "Error: --pass `need-team,team`: expected POLICY,RULE,RESOURCE,NAMESPACE,KIND\n");
    assert_eq!((ran.code, &*ran.out), (Some(1), ""));
}

#[test]
fn a_test_that_is_created_from_a_run_expects_what_the_policies_decide() {
    let deployment = "---\napiVersion: apps/v1\nkind: Deployment\nmetadata: {name: d, namespace: web}\nspec: {template: {metadata: {labels: {team: a}}, spec: {containers: []}}}\n";
    let pods = "apiVersion: kyverno.io/v1\nkind: ClusterPolicy\nmetadata: {name: pods}\nspec:\n  rules:\n  - name: team\n    match: {any: [{resources: {kinds: [Pod]}}]}\n    validate: {message: m, pattern: {metadata: {labels: {team: '?*'}}}}\n";
    let files = Files::new(&[
        ("t/p.yaml", POLICY),
        ("t/pods.yaml", pods),
        ("t/r.yaml", &format!("{RESOURCES}{deployment}")),
    ]);
    let ran = files.run(&[
        "create",
        "test",
        "--from-run",
        "-p",
        "p.yaml,pods.yaml",
        "-r",
        "r.yaml",
        "-o",
        "t/kyverno-test.yaml",
    ]);
    assert_eq!((ran.code, &*ran.err), (Some(0), ""));
    let text = std::fs::read_to_string(files.path("t/kyverno-test.yaml")).expect("the test");
    assert!(text.contains("result: pass\n") && text.contains("result: fail\n"), "{text}");
    assert!(text.contains("  - policy: pods\n    rule: team\n    resources:\n      - web/d\n    kind: Deployment\n    result: pass\n"), "{text}");
    let ran = files.run(&["test", "t", "--strict"]);
    assert_eq!(ran.code, Some(0), "{}{}", ran.out, ran.err);
}

#[test]
fn a_test_that_is_created_from_a_run_expects_changed_and_new_objects() {
    let rules = |body: &str| {
        format!(
            "apiVersion: kyverno.io/v1\nkind: ClusterPolicy\nmetadata: {{name: changes}}\nspec:\n  rules:\n  - name: r\n    match: {{any: [{{resources: {{kinds: [ConfigMap]}}}}]}}\n{body}"
        )
    };
    let mutate = "    mutate: {patchStrategicMerge: {metadata: {labels: {seen: 'yes'}}}}\n";
    let generate = "    generate: {apiVersion: v1, kind: Secret, name: made, namespace: '{{ request.object.metadata.namespace }}', data: {type: Opaque}}\n";
    for (body, field, file) in [
        (mutate, "patchedResources", "changes-r-configmap-patched.yaml"),
        (generate, "generatedResource", "changes-r-configmap-generated.yaml"),
    ] {
        let files = Files::new(&[("t/p.yaml", &rules(body)), ("t/r.yaml", RESOURCES)]);
        let arguments = ["create", "test", "--from-run", "-p", "p.yaml", "-r", "r.yaml"];
        let ran = files.run(&[&arguments[..], &["-o", "t/kyverno-test.yaml"]].concat());
        assert_eq!((ran.code, &*ran.err), (Some(0), ""));
        let text = std::fs::read_to_string(files.path("t/kyverno-test.yaml")).expect("the test");
        assert!(text.contains(&format!("    {field}: {file}\n")), "{text}");
        let ran = files.run(&["test", "t", "--strict"]);
        assert_eq!(ran.code, Some(0), "{text}{}{}", ran.out, ran.err);
        // The objects are compared.
        let objects = std::fs::read_to_string(files.path(&format!("t/{file}"))).expect("the objects");
        let others = objects.replace("seen: \"yes\"", "seen: \"no\"").replace("Opaque", "Other");
        assert_ne!(objects, others);
        files.write(&format!("t/{file}"), others.as_bytes());
        assert_eq!(files.run(&["test", "t"]).code, Some(1));
    }
}

#[test]
fn created_policies_that_change_make_and_delete_objects_are_sound_and_do_it() {
    let example = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, namespace: web, labels: {team: a, app.kubernetes.io/name: shop}}\n";
    let bare = example.replace(", labels: {team: a, app.kubernetes.io/name: shop}", "");
    let files = Files::new(&[("r.yaml", example), ("bare.yaml", &bare)]);
    let pod =
        "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\nspec: {containers: [{name: c, image: 'local:1'}]}\n";
    files.write("pod.yaml", pod.as_bytes());
    for kind in ["ImageValidatingPolicy", "NamespacedImageValidatingPolicy"] {
        files.run(&["create", "policy", "own", "--kind", kind, "--from", "pod.yaml", "-o", "p.yaml"]);
        let linted = files.run(&["lint", "p.yaml", "--fail-on", "warning"]);
        assert_eq!(linted.code, Some(0), "{kind}: {}", linted.out);
        let applied = files.run(&["apply", "p.yaml", "-r", "pod.yaml"]);
        assert!(applied.out.contains("pass: 1"), "{kind}: {}{}", applied.out, applied.err);
    }
    for (kind, of_example, of_bare) in [
        // The summary line counts these twice.
        ("MutatingPolicy", "skip: 2", "pass: 2"),
        ("NamespacedMutatingPolicy", "skip: 2", "pass: 2"),
        ("GeneratingPolicy", "pass: 1", "pass: 1"),
        ("NamespacedGeneratingPolicy", "pass: 1", "pass: 1"),
        // Kyverno reports an object that stays as a failure.
        ("DeletingPolicy", "fail: 1", "pass: 1"),
        ("NamespacedDeletingPolicy", "fail: 1", "pass: 1"),
    ] {
        let create = ["create", "policy", "own", "--kind", kind, "-n", "web", "--from", "r.yaml"];
        let created = files.run(&[&create[..], &["-o", "p.yaml"]].concat());
        assert_eq!((created.code, &*created.err), (Some(0), ""), "{kind}");
        let linted = files.run(&["lint", "p.yaml", "--fail-on", "warning"]);
        assert_eq!(linted.code, Some(0), "{kind}: {}", linted.out);
        for (resource, wanted) in [("r.yaml", of_example), ("bare.yaml", of_bare)] {
            let applied = files.run(&["apply", "p.yaml", "-r", resource]);
            assert!(applied.out.contains(wanted), "{kind}, {resource}: {}{}", applied.out, applied.err);
        }
    }
    files.run(&["create", "policy", "own", "--kind", "MutatingPolicy", "--from", "r.yaml", "-o", "p.yaml"]);
    let changed = files.run(&["apply", "p.yaml", "-r", "bare.yaml"]).out;
    assert!(changed.contains("app.kubernetes.io/name: shop"), "{changed}");
}

#[test]
fn a_created_policy_is_sound_and_accepts_its_example() {
    let example = "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: d, namespace: web, labels: {team: a, app.kubernetes.io/name: shop}}\nspec: {template: {spec: {containers: []}}}\n";
    let bare = example.replace("team: a, app.kubernetes.io/name: shop", "");
    let files = Files::new(&[("d.yaml", example), ("bare.yaml", &bare)]);
    let kinds: [&[&str]; 7] = [
        &["--language", "pattern"],
        &["--language", "deny"],
        &["--language", "cel"],
        &["--kind", "Policy", "--namespace", "web"],
        &["--kind", "ValidatingPolicy"],
        &["--kind", "NamespacedValidatingPolicy", "--namespace", "web"],
        &["--kind", "ValidatingAdmissionPolicy"],
    ];
    for flags in kinds {
        let created =
            files.run(&[&["create", "policy", "need", "--from", "d.yaml", "-o", "p.yaml"], flags].concat());
        assert_eq!((created.code, &*created.err), (Some(0), ""), "{flags:?}");
        let linted = files.run(&["lint", "p.yaml", "--fail-on", "warning"]);
        assert_eq!(linted.code, Some(0), "{flags:?}: {}", linted.out);
        let applied = files.run(&["apply", "p.yaml", "-r", "d.yaml"]);
        assert!(applied.out.contains("pass: 1, fail: 0, warn: 0, error: 0"), "{flags:?}: {}", applied.out);
        let applied = files.run(&["apply", "p.yaml", "-r", "bare.yaml"]);
        assert!(applied.out.contains("pass: 0, fail: 1, warn: 0, error: 0"), "{flags:?}: {}", applied.out);
        files.run(&[&["create", "policy", "need", "--from", "bare.yaml", "-o", "p.yaml"], flags].concat());
        let applied = files.run(&["apply", "p.yaml", "-r", "bare.yaml"]);
        assert!(applied.out.contains("pass: 1, fail: 0, warn: 0, error: 0"), "{flags:?}: {}", applied.out);
    }
    let error = files.run(&["create", "policy", "p", "--kind", "ValidationPolicy"]).err;
    assert!(error.ends_with("help: did you mean `ValidatingPolicy`?\n"), "{error}");
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
fn each_shell_has_a_script_that_calls_the_program() {
    let files = Files::new(&[]);
    for shell in ["bash", "elvish", "zsh", "fish", "powershell"] {
        let ran = files.run(&["completion", shell]);
        let script = ran.out;
        assert!(
            ran.code == Some(0) && script.contains("EPHOR_COMPLETE") && script.contains("ephor"),
            "{shell}: {script}"
        );
    }
    assert_eq!(
        files.run(&["completion", "foo"]).err,
        "Error: invalid argument \"foo\" for \"ephor completion\"\n"
    );
    assert_eq!(
        files.run(&["completion"]).err,
        "Error: accepts 1 arg(s), received 0\nhelp: `ephor completion --help` shows what it takes\n"
    );
}

/// What bash offers for the last word of a line.
fn completed(files: &Files, line: &str) -> Vec<String> {
    let program = std::path::Path::new(env!("CARGO_BIN_EXE_ephor"));
    let folder = program.parent().expect("a folder").display();
    let script = format!(
        ". ./c.bash; COMP_WORDS=({line}); [[ '{line}' == *' ' ]] && COMP_WORDS+=(''); COMP_CWORD=$((${{#COMP_WORDS[@]}} - 1)); COMP_TYPE=9; _clap_complete_ephor ephor \"${{COMP_WORDS[COMP_CWORD]}}\" x; printf '%s\\n' \"${{COMPREPLY[@]}}\""
    );
    let path = format!("{folder}:{}", std::env::var("PATH").unwrap_or_default());
    let mut bash = std::process::Command::new("bash");
    bash.arg("-c").arg(script).current_dir(files.dir.path()).env("PATH", path);
    let output = bash.output().expect("bash runs");
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let offered: Vec<String> = text.lines().map(|l| l.trim().to_owned()).filter(|l| !l.is_empty()).collect();
    assert!(output.stderr.is_empty(), "{}", String::from_utf8_lossy(&output.stderr));
    offered
}

#[test]
fn bash_completes_commands_flags_values_files_and_names() {
    let files = Files::new(&[("policy.yaml", POLICY), ("notes/x.txt", "")]);
    files.write("c.bash", files.run(&["completion", "bash"]).out.as_bytes());
    let offered = |line: &str| completed(&files, line);
    assert_eq!(offered("ephor cre"), ["create"]);
    assert_eq!(offered("ephor create user"), ["user-info"]);
    assert_eq!(offered("ephor test folder --req"), ["--require-tests"]);
    assert_eq!(offered("ephor apply --output-format j"), ["junit", "json", "jsonl"]);
    assert_eq!(offered("ephor jp function trunc"), ["truncate"]);
    assert_eq!(offered("ephor explain policy.yaml --rule te"), ["team"]);
    assert_eq!(offered("ephor explain policy.yaml --kind CronJ"), ["CronJob"]);
    assert_eq!(offered("ephor serve --log-level de"), ["debug"]);
    assert_eq!(offered("ephor apply pol"), ["policy.yaml"]);
    assert!(!offered("ephor apply --").contains(&"--logtostderr".to_owned()));
}

#[test]
fn every_command_has_a_manual_page() {
    let files = Files::new(&[]);
    assert_eq!(files.run(&["docs", "--man", "m"]).code, Some(0));
    let page = std::fs::read_to_string(files.path("m/ephor-jp-query.1")).expect("the page");
    assert!(page.starts_with(".ie") || page.contains(".TH EPHOR-JP-QUERY 1"), "{page}");
    assert!(page.contains("JSON or YAML file with the document"), "{page}");
    assert!(page.contains("EPHOR_JP_QUERY_INPUT"), "{page}");
    assert!(page.contains("\\- Evaluates expressions on a document\n.SH SYNOPSIS"), "{page}");
    for name in ["ephor", "ephor-apply", "ephor-create-test", "ephor-serve"] {
        assert!(files.path(&format!("m/{name}.1")).exists(), "{name}");
    }
}

#[test]
fn misspelt_flags_commands_and_values_are_refused_with_what_was_meant() {
    let files = Files::new(&[]);
    let error = |args: &[&str]| {
        let ran = files.run(args);
        assert_eq!((ran.code, &*ran.out), (Some(1), ""), "{args:?}");
        ran.err
    };
    assert_eq!(
        error(&["apply", "--resorce", "r.yaml"]),
        "Error: unknown flag: --resorce\nhelp: did you mean `--resource`?\n"
    );
    assert_eq!(error(&["apply", "-tq"]), "Error: unknown shorthand flag: 'q' in -q\n");
    assert_eq!(error(&["apply", "-r"]), "Error: flag needs an argument: 'r' in -r\n");
    assert_eq!(
        error(&["apply", "--warn-exit-code", "x"]),
        "Error: invalid argument \"x\" for \"--warn-exit-code\" flag: strconv.ParseInt: parsing \"x\": invalid syntax\n"
    );
    assert_eq!(
        error(&["apply", "--set", "cm={\"a\":1}"]),
        "Error: invalid argument \"cm={\\\"a\\\":1}\" for \"-s, --set\" flag: parse error on line 1, column 5: bare \" in non-quoted-field\n"
    );
    assert_eq!(
        error(&["apply", "--output-format", "josn"]),
        "Error: unknown output-format `josn`; use `text`, `sarif`, `junit`, `json`, `jsonl`, `markdown`, `github`, `gitlab`, `azuredevops`, `html` or `yaml`\nhelp: did you mean `json`?\n"
    );
    assert_eq!(
        error(&["docs", "pages"]),
        "Error: unknown command \"pages\" for \"ephor docs\"\nhelp: `ephor docs --help` shows what it takes\n"
    );
}

#[test]
fn flags_have_the_forms_of_kyverno() {
    let files = Files::new(&[("p.yaml", POLICY), ("r.yaml", RESOURCES), ("a,b.yaml", RESOURCES)]);
    let plain = files.run(&["apply", "p.yaml", "-r", "r.yaml"]).out;
    let same = |args: &[&str]| assert_eq!(files.run(args).out, plain, "{args:?}");
    same(&["apply", "--resources=r.yaml", "p.yaml"]);
    same(&["apply", "-rr.yaml", "--table=true", "--table=false", "p.yaml"]);
    same(&["apply", "p.yaml", "-r", "r.yaml", "--logtostderr", "--log_dir", "/x", "-v", "6"]);
    same(
        &["-v=6", "apply", "p.yaml", "-r", "r.yaml", "--threads", "x", "--threads", "2"]
            .map(|a| if a == "x" { "1" } else { a }),
    );
    same(&["apply", "-r", "\"a,b.yaml\"", "--", "p.yaml"]);
    let both = files.run(&["apply", "p.yaml", "-r", "r.yaml,\"a,b.yaml\""]);
    assert!(both.err.contains("duplicate of"), "{}", both.err);
}

#[test]
fn an_environment_variable_sets_a_flag_and_the_command_line_takes_precedence() {
    let files = Files::new(&[("p.yaml", POLICY), ("r.yaml", RESOURCES)]);
    let run = |args: &[&str]| {
        let mut program = files.program(args);
        program.env("EPHOR_APPLY_RESOURCE", "r.yaml").env("EPHOR_APPLY_TABLE", "true");
        String::from_utf8_lossy(&program.output().expect("the program starts").stdout).into_owned()
    };
    assert_eq!(run(&["apply", "p.yaml"]), files.run(&["apply", "p.yaml", "-r", "r.yaml", "-t"]).out);
    assert_eq!(
        run(&["apply", "p.yaml", "--table=false"]),
        files.run(&["apply", "p.yaml", "-r", "r.yaml"]).out
    );
    let help = files.run(&["apply", "--help"]).out;
    assert!(help.contains("EPHOR_APPLY_RESOURCE sets --resource"), "{help}");
}

#[cfg(unix)]
#[test]
fn under_the_name_of_kyverno_an_unknown_format_of_reports_is_yaml() {
    let files = Files::new(&[("p.yaml", POLICY), ("r.yaml", RESOURCES)]);
    let link = files.path("kyverno");
    std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_ephor"), &link).expect("a link");
    let run = |format: &str| {
        let mut program = std::process::Command::new(&link);
        program.args(["apply", "p.yaml", "-r", "r.yaml", "-p", "--output-format", format]);
        program.current_dir(files.dir.path()).output().expect("the program starts")
    };
    let text = |format: &str| {
        let out = String::from_utf8_lossy(&run(format).stdout).into_owned();
        out.lines().filter(|l| !l.contains("seconds:")).collect::<Vec<_>>().join("\n")
    };
    assert!(text("yaml").contains("kind: ClusterReport"), "{}", text("yaml"));
    assert_eq!(text("html"), text("yaml"));
    assert!(run("html").stderr.is_empty());
}

#[test]
fn the_version_is_also_json() {
    let files = Files::new(&[]);
    let text = files.run(&["version", "-o", "json"]).out;
    let version: serde_json::Value = serde_json::from_str(&text).expect("JSON");
    assert_eq!(version["version"], env!("CARGO_PKG_VERSION"));
    assert_eq!((&version["kyverno"], &version["kubernetes"]), (&"1.19.1".into(), &"1.36.3".into()));
    assert_eq!(files.run(&["version"]).out, files.run(&["--version"]).out);
}

#[test]
fn the_first_page_has_the_commands_in_groups() {
    let page = Files::new(&[]).run(&[]).out;
    let run = page.find("Run policies:").expect("a group");
    let write = page.find("Write policies:").expect("a group");
    let apply = page.find("  apply ").expect("a command");
    assert!(run < apply && apply < write, "{page}");
    assert!(!page.contains("logtostderr"), "{page}");
}

#[test]
fn docs_has_a_page_for_every_command() {
    let files = Files::new(&[]);
    assert_eq!(files.run(&["docs"]).err, "Error: required flag(s) \"output\" not set\n");
    assert_eq!(files.run(&["docs", "-o", "d", "--noDate"]).code, Some(0));
    let page = std::fs::read_to_string(files.path("d/ephor_create_test.md")).expect("the page");
    assert!(page.starts_with("## ephor create test\n\nCreates a test file.\n"), "{page}");
    assert!(page.contains("* [ephor create](ephor_create.md)") && page.contains("--policy <FILE>"), "{page}");
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
        "p.yaml:7:28: error: spec.validations[0].expression: undeclared reference to 'zz' (in container '') [cel-expression]
  7 |   - expression: object.a + zz
    |                            ^^
1 policy: 1 error, 0 warnings, 0 notes
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
fn lint_of_a_folder_counts_what_is_no_policy_and_fails_on_the_severity_that_is_chosen() {
    let typo = "apiVersion: kyverno.io/v1
kind: ClusterPolicy
metadata: {name: p}
spec:
  validationFailureAction: Enforce
  rules:
  - name: r
    match: {any: [{resources: {kinds: [Pod]}}]}
    validate:
      message: m
      pattern: {spec: {containrs: [{image: x}]}}
";
    let files = Files::new(&[
        ("f/p.yaml", typo),
        ("f/artifacthub-pkg.yml", "name: p\nversion: 1.0.0\n"),
        ("f/values.yaml", "a: {{ .Values.b }}\n"),
        ("f/notes.txt", "no policy"),
    ]);
    let ran = files.run(&["lint", "f"]);
    let template =
        "warning: 1 file with a template is not checked: f/values.yaml (check what is filled in)\n";
    assert_eq!((ran.code, &*ran.err), (Some(0), template));
    assert_eq!(
        ran.out,
        "f/p.yaml:11:24: warning: the schema of the kind has no field `containrs` here [unknown-resource-field]
  11 |       pattern: {spec: {containrs: [{image: x}]}}
     |                        ^^^^^^^^^ did you mean `containers`?
1 policy: 0 errors, 1 warning, 1 note (list them with --notes)
not checked: 2 documents of other kinds, 2 files without policies
"
    );
    assert!(files.run(&["lint", "f", "--notes"]).out.contains("f/p.yaml:5:3: note: "));
    assert_eq!(files.run(&["lint", "f", "--fail-on", "warning"]).code, Some(1));
    assert_eq!(
        files.run(&["lint", "f", "--fail-on", "warnings"]).err,
        "Error: unknown fail-on `warnings`; use `error`, `warning` or `note`\nhelp: did you mean `warning`?\n"
    );
    let github = files.run(&["lint", "f", "--output-format", "github"]).out;
    assert!(
        github.contains("::warning file=f/p.yaml,line=11,col=24,endColumn=32,title=unknown-resource-field::"),
        "{github}"
    );
    let sarif: serde_json::Value =
        serde_json::from_str(&files.run(&["lint", "f", "--output-format", "sarif"]).out).expect("JSON alone");
    let results = sarif["runs"][0]["results"].as_array().expect("results");
    assert_eq!(results.len(), 2);
    // The warning before the note.
    assert_eq!(results[0]["ruleId"], "unknown-resource-field");
    assert_eq!(results[0]["locations"][0]["physicalLocation"]["artifactLocation"]["uri"], "f/p.yaml");
    let json: serde_json::Value =
        serde_json::from_str(&files.run(&["lint", "f", "--output-format", "json"]).out).expect("JSON alone");
    assert_eq!(json[1]["help"], "did you mean `containers`?");
}

#[test]
fn lint_of_a_folder_counts_patches_of_kustomize() {
    let part = "apiVersion: kyverno.io/v1\nkind: ClusterPolicy\nmetadata: {name: need-team}\nspec: {rules: [{name: team}]}\n";
    let kustomization = "resources: [../base]\npatches: [{path: patches/p.yaml}]\n";
    let files = Files::new(&[
        ("base/p.yaml", POLICY),
        ("prod/kustomization.yaml", kustomization),
        ("prod/patches/p.yaml", part),
    ]);
    let ran = files.run(&["lint", "."]);
    assert_eq!(ran.code, Some(0), "{}", ran.out);
    assert!(ran.out.contains("partial: 1 document (check what kustomize builds)\n"), "{}", ran.out);
    // Alone too: the kustomization is found above it.
    let ran = files.run(&["lint", "prod/patches/p.yaml"]);
    assert_eq!(ran.code, Some(0), "{}{}", ran.out, ran.err);
    files.write("prod/kustomization.yaml", b"resources: [../base]\n");
    assert_eq!(files.run(&["lint", "."]).code, Some(1));
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

#[test]
fn lint_fails_on_files_that_are_not_yaml_and_on_files_that_cannot_be_read() {
    let sound = POLICY;
    let files = Files::new(&[
        ("f/sound.yaml", sound),
        ("f/list.yaml", "kind: List\napiVersion: v1\nitems:\n- kind: Pod\n  metadata: {name: a\n"),
        ("f/t/chart.yaml", "a: {{ .Values.b }}\n"),
        ("f/t/page.yaml", "a:\n{% if b %}\n"),
        ("f/tsconfig.json", "{ \"a\": 1 // a comment\n \"b\": 2 }\n"),
        (
            "json/p.json",
            "{\"apiVersion\": \"kyverno.io/v1\", \"kind\": \"ClusterPolicy\",\n \"metadata\": {\"name\": }\n",
        ),
    ]);
    let ran = files.run(&["lint", "f"]);
    assert_eq!(ran.code, Some(1));
    assert!(ran.out.contains("f/list.yaml:5:13: error: "), "{}", ran.out);
    assert_eq!(ran.out.matches("[yaml-syntax]").count(), 1, "{}", ran.out);
    assert_eq!(
        ran.err,
        "warning: 2 files with templates are not checked: f/t/chart.yaml, f/t/page.yaml (check what is filled in)\n"
    );
    for (file, place) in [
        ("f/list.yaml", "f/list.yaml:5:13: error: "),
        ("f/t/chart.yaml", "f/t/chart.yaml:1:4: error: a template is not YAML"),
        ("f/t/page.yaml", "f/t/page.yaml:2:1: error: a template is not YAML"),
        ("json/p.json", "json/p.json:"),
        ("json", "json/p.json:"),
    ] {
        let ran = files.run(&["lint", file]);
        assert_eq!((ran.code, &*ran.err), (Some(1), ""), "{file}");
        assert!(ran.out.starts_with(place) && ran.out.contains("[yaml-syntax]"), "{file}: {}", ran.out);
    }
    files.write("bytes/p.yaml", b"a: \xff\n");
    files.write("bytes/q.yaml", sound.as_bytes());
    let ran = files.run(&["lint", "bytes"]);
    assert_eq!(ran.code, Some(2));
    assert!(ran.err.contains("bytes/p.yaml: invalid UTF-8"), "{}", ran.err);
}

/// A rule with an old-style filter.
const OLD_RULE: &str = "- name: r
    match: {resources: {kinds: [Pod]}}
    validate: {message: m, pattern: {metadata: {name: '?*'}}}
";

#[test]
fn fix_policy_rewrites_what_it_repairs_and_nothing_else_and_counts_lost_comments() {
    let head = "apiVersion: kyverno.io/v1\nkind: ClusterPolicy\n";
    let old = format!(
        "# of a\n{head}metadata: {{name: a}} # inside\nspec:\n  rules:\n  # of the rule\n  {OLD_RULE}# below a\n"
    );
    let sound = format!(
        "# of b\n{head}metadata: {{name: b}}   # stays\nspec: {{rules: []}}\n---\n# other\napiVersion: acme.io/v1\nkind: Widget\n"
    );
    let files = Files::new(&[("p.yaml", &format!("{sound}--- # c\n{old}")), ("q.yaml", &sound)]);
    let ran = files.run(&["fix", "policy", "p.yaml", "q.yaml", "--save"]);
    assert_eq!(ran.code, Some(0));
    let saved = std::fs::read_to_string(files.path("p.yaml")).expect("the file");
    let rest = saved.strip_prefix(&format!("{sound}--- # c\n# of a\n{head}metadata:\n  name: a\n"));
    let rest = rest.unwrap_or_else(|| panic!("{saved}"));
    assert!(rest.ends_with("  validationFailureAction: Audit\n# below a\n"), "{rest}");
    assert_eq!(std::fs::read_to_string(files.path("q.yaml")).expect("the file"), sound);
    assert!(
        ran.err.ends_with("warning: p.yaml: the repaired policies are printed anew with the defaults of their fields; 2 comments of them are not in the file\n"),
        "{}",
        ran.err
    );
    let again = files.run(&["fix", "policy", "p.yaml", "--save"]);
    assert!(!again.out.contains("Saving"), "{}", again.out);
}

#[test]
fn fix_policy_repairs_the_items_of_a_list_and_keeps_the_others() {
    let rule = OLD_RULE.replace('\n', "\n  ");
    let list = format!(
        "# one\napiVersion: v1\nkind: List\nitems:\n- apiVersion: v1\n  kind: ConfigMap\n  metadata: {{name: x}}\n- apiVersion: kyverno.io/v1\n  kind: ClusterPolicy\n  metadata: {{name: l}}\n  spec:\n    rules:\n    {}\n",
        rule.trim_end()
    );
    let own = list.replace("kyverno.io/v1", "ephor.dev/v1");
    let files = Files::new(&[("l.yaml", &list), ("own.yaml", &own)]);
    let ran = files.run(&["fix", "policy", "l.yaml", "own.yaml", "--save"]);
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    for (file, group) in [("l.yaml", "kyverno.io/v1"), ("own.yaml", "ephor.dev/v1")] {
        let saved = std::fs::read_to_string(files.path(file)).expect("the file");
        let begin = "---\n# one\napiVersion: v1\nitems:\n- apiVersion: v1\n  kind: ConfigMap\n";
        assert!(saved.starts_with(begin), "{saved}");
        assert!(saved.contains(&format!("- apiVersion: {group}\n  kind: ClusterPolicy\n")), "{saved}");
        assert!(saved.contains("        any:\n"), "{saved}");
    }
}

#[test]
fn fix_test_counts_the_comments_that_are_lost() {
    let test = "# why\nname: t\npolicies: [p.yaml]\nresources: [r.yaml]\nresults:\n- {policy: p, rule: r, resource: a, kind: Pod, status: pass} # old\n";
    let files = Files::new(&[("t/kyverno-test.yaml", test)]);
    let ran = files.run(&["fix", "test", "t", "--save"]);
    assert!(
        ran.err.contains("t/kyverno-test.yaml: 2 comments are not in the repaired file"),
        "{}\n{}",
        ran.out,
        ran.err
    );
}

#[test]
fn a_misspelt_path_or_name_is_an_error_and_prints_nothing() {
    let crd = "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: xs.example.com}\n";
    let files = Files::new(&[("p.yaml", POLICY), ("empty/x.txt", ""), ("crd/crd.yaml", crd)]);
    for (arguments, says) in [
        (&["webhook-config", "q.yaml"][..], "no such policy file `q.yaml`; did you mean `p.yaml`?"),
        (&["webhook-config", "p.yaml", "nope"], "no such policy file `nope`"),
        (&["webhook-config", "empty"], "no policy found in empty"),
        (&["webhook-config", "crd"], "no policy found in crd"),
        (&["webhook-config", "empty", "--simulate", "r.yaml"], "no policy found in empty"),
        (&["explain", "p.yaml", "--policy", "nope"], "no policy `nope`"),
        (&["explain", "p.yaml", "--object", "Pod/a"], "--object goes with --resource"),
        (&["admission", "nope"], "no such policy file `nope`"),
        (&["cluster-check", "empty"], "empty: no Kubernetes object"),
    ] {
        let ran = files.run(arguments);
        assert!(ran.code != Some(0) && ran.out.is_empty(), "{arguments:?}: {:?} {}", ran.code, ran.out);
        assert!(ran.err.contains(says), "{arguments:?}: {}", ran.err);
    }
    assert_eq!(files.run(&["webhook-config", "p.yaml"]).code, Some(0));
    let folder = files.run(&["cluster-check", "."]);
    assert_eq!((folder.code, folder.err.as_str()), (Some(1), ""), "{}", folder.out);
}
