//! `ephor migrate`.
#![allow(clippy::expect_used)]

use serde_json::Value;

use crate::common::Files;

/// A policy with one rule; `extra` are more fields of the rule.
fn policy(name: &str, kinds: &str, extra: &str) -> String {
    format!(
        "# what it is for
apiVersion: kyverno.io/v1
kind: ClusterPolicy
metadata:
  name: {name}
  annotations:
    policies.kyverno.io/title: A title  # here
spec:
  validationFailureAction: Enforce
  background: false
  rules:
    # the only rule
    - name: check
      match:
        any:
          - resources:
              kinds: [{kinds}]
{extra}"
    )
}

fn read(files: &Files, name: &str) -> String {
    std::fs::read_to_string(files.path(name)).expect("a file")
}

const CEL: &str = "      validate:
        message: no data
        cel:
          expressions:
            - expression: \"!has(object.data) ||   size(object.data) == 0\"
";

const ROLES: &str = "      exclude:
        any:
          - clusterRoles: [cluster-admin]
      validate:
        deny: {}
";

#[test]
fn expressions_and_metadata_stay_and_the_result_is_proved() {
    let files = Files::new(&[("old.yaml", &policy("no-data", "ConfigMap", CEL))]);
    let ran = files.run(&["migrate", "old.yaml"]);
    assert_eq!(
        ran.out,
        "# what it is for
apiVersion: policies.kyverno.io/v1
kind: ValidatingPolicy
metadata:
  name: no-data
  annotations:
    policies.kyverno.io/title: A title  # here
spec:
  validationActions: [Deny]
  evaluation:
    background:
      enabled: false
  matchConstraints:
    resourceRules:
      - apiGroups: ['']
        apiVersions: [v1]
        resources: [configmaps]
        operations: [CREATE, UPDATE]
  validations:
    # the only rule
    # from old.yaml:22
    - expression: '!has(object.data) ||   size(object.data) == 0'
      message: no data
"
    );
    assert!(ran.err.contains("old.yaml:1: no-data: proved\n"), "{}", ran.err);
    assert_eq!(ran.code, Some(0));
}

#[test]
fn what_cannot_be_expressed_is_refused_with_its_place_and_stays_as_it_is() {
    let old = policy("no-data", "ConfigMap", ROLES);
    let files = Files::new(&[("old/p.yaml", &old)]);
    let ran = files.run(&["migrate", "old", "--out", "new", "--to", "vap"]);
    assert!(ran.out.contains("old/p.yaml:20: `clusterRoles` of users\n    nearest: "), "{}", ran.out);
    assert!(ran.out.ends_with("1 policy: 1 refused\n"), "{}", ran.out);
    assert_eq!(ran.code, Some(1));
    assert_eq!(read(&files, "new/p.yaml"), old);
}

#[test]
fn a_second_run_changes_nothing_and_tests_are_carried_over() {
    let test = "apiVersion: cli.kyverno.io/v1alpha1
kind: Test
metadata:
  name: t
policies: [p.yaml]
resources: [object.yaml]
results:
  - {policy: no-data, rule: check, resources: [a], kind: ConfigMap, result: fail}
";
    let object = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, namespace: default}\ndata: {b: c}\n";
    let files = Files::new(&[
        ("old/p.yaml", &policy("no-data", "ConfigMap", CEL)),
        ("old/kyverno-test.yaml", test),
        ("old/object.yaml", object),
    ]);
    let ran = files.run(&["migrate", "old", "--out", "new"]);
    assert!(ran.out.contains("new/kyverno-test.yaml: carried over\n"), "{}", ran.out);
    assert_eq!(files.run(&["test", "new"]).code, Some(0));
    let once = read(&files, "new/p.yaml");
    let again = files.run(&["migrate", "new", "--out", "again"]);
    assert_eq!((again.code, again.out.as_str()), (Some(0), "no policy to migrate\n"));
    assert_eq!(read(&files, "again/p.yaml"), once);
}

#[test]
fn reports_have_four_forms() {
    let files = Files::new(&[("old.yaml", &policy("no-data", "ConfigMap", CEL))]);
    let run = |format: &str| files.run(&["migrate", "old.yaml", "--output-format", format]).out;
    let json: Value = serde_json::from_str(&run("json")).expect("an object");
    assert_eq!(json["policies"][0]["status"], "proved");
    assert_eq!(json["summary"]["proved"], 1);
    assert!(run("markdown").contains("| `no-data`<br>old.yaml:1 | ValidatingPolicy `no-data` | proved |"));
    let page = run("html");
    assert!(page.contains("kind: ClusterPolicy") && page.contains("kind: ValidatingPolicy"));
}

#[test]
fn lines_of_the_page_lead_to_the_lines_of_the_file_that_they_come_from() {
    let first = policy("no-data", "ConfigMap", CEL);
    let text = format!("# policies\n{first}---\n{}", policy("other", "Secret", CEL));
    let files = Files::new(&[("old.yaml", &text)]);
    let page = files.run(&["migrate", "old.yaml", "--output-format", "html"]).out;
    assert!(page.contains("2 of 2 move (100 %), 2 of them with a proof (100 %)"), "{page}");
    let lines: Vec<&str> = text.lines().collect();
    let mut joined = 0;
    for link in page.split("<a href=\"#").skip(1).filter_map(|rest| rest.split('"').next()) {
        let Some((_, number)) = link.split_once('-') else { continue };
        let line = lines[number.parse::<usize>().expect("a number") - 1];
        let shown = page.split(&format!("id=\"{link}\">{number}</span> ")).nth(1).expect("the line");
        assert_eq!(shown.lines().next(), Some(&*line.replace('"', "&quot;")), "{link}");
        joined += 1;
    }
    assert_eq!(joined, 2, "{page}");
}

#[test]
fn a_policy_without_test_gets_one_that_passes() {
    let files = Files::new(&[("old/p.yaml", &policy("no-data", "ConfigMap", CEL))]);
    let ran = files.run(&["migrate", "old", "--out", "new"]);
    assert!(
        ran.out.contains("new/.kyverno-test/p/kyverno-test.yaml: 2 objects of the comparison\n"),
        "{}",
        ran.out
    );
    let test = read(&files, "new/.kyverno-test/p/kyverno-test.yaml");
    assert!(test.contains("result: pass") && test.contains("result: fail"), "{test}");
    let ran = files.run(&["test", "new"]);
    assert_eq!(ran.code, Some(0), "{}", ran.out);
}

#[test]
fn shadows_are_in_audit_mode_and_name_their_original() {
    let files = Files::new(&[("old/p.yaml", &policy("no-data", "ConfigMap", CEL))]);
    let ran = files.run(&["migrate", "old", "--shadow", "--out", "new"]);
    assert!(ran.out.contains("no-data: proved\n"), "{}", ran.out);
    let text = read(&files, "new/p.yaml");
    assert!(
        text.contains("  name: no-data\n") && text.contains("    ephor.dev/shadow-of: no-data\n"),
        "{text}"
    );
    assert!(text.contains("validationActions: [Audit]\n"), "{text}");
    assert!(!files.path("new/.kyverno-test").exists(), "the folder is applied as it is");
    let ran = files.run(&["migrate", "old", "--shadow", "--to", "vap"]);
    assert_eq!((ran.code, ran.err.lines().next()), (Some(2), Some("Error: --shadow goes with --to vpol")));
    assert_eq!(
        files.run(&["migrate"]).err.lines().next(),
        Some("Error: requires at least one file or folder, or --cluster")
    );
}

#[test]
fn a_policy_that_changes_objects_has_no_shadow() {
    let mutate = "      mutate:\n        patchStrategicMerge: {metadata: {labels: {a: b}}}\n";
    let files = Files::new(&[("old.yaml", &policy("label", "ConfigMap", mutate))]);
    let ran = files.run(&["migrate", "old.yaml", "--shadow"]);
    assert!(
        ran.err
            .contains("old.yaml:1: a policy without audit mode\n    nearest: migrate it without `--shadow`"),
        "{}",
        ran.err
    );
    assert_eq!(ran.code, Some(1));
}

#[test]
fn diff_says_the_word_of_migrate_about_what_migrate_wrote() {
    let pattern = "      validate: {message: m, pattern: {metadata: {labels: {team: '?*'}}}}\n";
    let deny = "      validate: {message: m, deny: {conditions: {all: [{key: \"{{ request.object.metadata.labels.team || '' }}\", operator: Equals, value: ''}]}}}\n";
    let later = |text: &str| text.replace("  background: false\n", "");
    let files = Files::new(&[
        ("old/data.yaml", &policy("no-data", "ConfigMap", CEL)),
        ("old/pods.yaml", &later(&policy("pods", "Pod", pattern))),
        ("old/denied.yaml", &later(&policy("denied", "Pod", deny))),
        ("old/services.yaml", &later(&policy("services", "Service", deny))),
    ]);
    let report = files.run(&["migrate", "old", "--out", "new", "--output-format", "json"]).out;
    let report: Value = serde_json::from_str(&report).expect("an object");
    let rows = report["policies"].as_array().expect("rows");
    assert_eq!(rows.len(), 4);
    for row in rows {
        let old = row["file"].as_str().expect("a file");
        let new = old.replace("old/", "new/");
        let found = files.run(&["diff", old, &new, "--output-format", "json"]).out;
        let found: Value = serde_json::from_str(&found).expect("an object");
        let pair = &found["policies"][0];
        assert_eq!((&pair["answer"], &pair["butFor"]), (&row["status"], &row["butFor"]), "{old}");
    }
    let of = |name: &str| rows.iter().find(|row| row["policy"] == name).expect("a row")["butFor"].to_string();
    assert_eq!(of("no-data"), "[]");
    assert!(!of("pods").contains("ReplicationControllers"), "{}", of("pods"));
    assert!(of("services").contains("deletions"), "{}", of("services"));
}

#[test]
fn what_new_policies_leave_out_is_named_and_accepted_by_diff_next_to_them() {
    let pattern = "      validate: {message: m, pattern: {metadata: {labels: {team: '?*'}}}}\n";
    let deny = "      validate: {message: m, deny: {conditions: {all: [{key: \"{{ request.object.metadata.labels.team || '' }}\", operator: Equals, value: ''}]}}}\n";
    let files = Files::new(&[
        ("old/pods.yaml", &policy("pods", "Pod", pattern)),
        ("old/sub/services.yaml", &policy("services", "Service", deny)),
    ]);
    let ran = files.run(&["migrate", "old", "--out", "new", "--leave-out", "replication-controllers"]);
    assert!(ran.out.contains("pods: proved but for ReplicationControllers"), "{}", ran.out);
    assert!(ran.out.contains("services: proved but for deletions"), "{}", ran.out);
    let written = read(&files, "new/.ephor/ephor-diff.yaml");
    for entry in [
        "- policy: \"pods\"\n  class: \"kind: ReplicationController\"\n  reason: left out by --leave-out",
        "- policy: \"services\"\n  class: \"operations: DELETE\"\n  reason: ",
    ] {
        assert!(written.contains(entry), "{written}");
    }
    for args in [["diff", "old", "new"], ["diff", "old/sub/services.yaml", "new/sub/services.yaml"]] {
        let ran = files.run(&args);
        assert!(ran.code == Some(0) && ran.out.contains("equal but for deletions"), "{}{}", ran.out, ran.err);
    }
    std::fs::remove_file(files.path("new/.ephor/ephor-diff.yaml")).expect("it is there");
    assert_eq!(files.run(&["diff", "old", "new"]).code, Some(1));
}

#[test]
fn the_word_about_a_rewrite_that_lost_deletions_which_were_named_is_no_equal() {
    let old = "      validate: {message: m, deny: {}}\n".to_string();
    let old = policy("guard", "ConfigMap", &old).replace(
        "kinds: [ConfigMap]",
        "kinds: [ConfigMap]\n              operations: [CREATE, UPDATE, DELETE]",
    );
    let new = "apiVersion: policies.kyverno.io/v1\nkind: ValidatingPolicy\nmetadata: {name: guard}\nspec:\n  validationActions: [Deny]\n  matchConstraints:\n    resourceRules: [{apiGroups: [''], apiVersions: [v1], resources: [configmaps], operations: [CREATE, UPDATE]}]\n  validations: [{expression: 'false', message: m}]\n";
    let files = Files::new(&[("old.yaml", &old), ("new.yaml", new)]);
    let ran = files.run(&["diff", "old.yaml", "new.yaml"]);
    assert!(ran.out.contains("guard: differs: weaker") && ran.code == Some(1), "{}", ran.out);
    // Where no operation is named, deletions are left out by choice, and the word says so.
    let any = old.replace("\n              operations: [CREATE, UPDATE, DELETE]", "");
    files.write("any.yaml", any.as_bytes());
    let ran = files.run(&["diff", "any.yaml", "new.yaml"]);
    assert!(ran.out.contains("but for deletions") && ran.code == Some(1), "{}", ran.out);
}

#[test]
fn policies_in_a_list_move_one_by_one_and_nothing_of_their_file_is_lost() {
    let indented: String =
        policy("no-data", "ConfigMap", CEL).lines().map(|line| format!("  {line}\n")).collect();
    let item = indented.replacen("  # what it is for\n  apiVersion", "- apiVersion", 1);
    let other = "- apiVersion: v1\n  kind: ConfigMap\n  metadata: {name: settings}  # stays\n";
    let list = format!("apiVersion: v1\nkind: List\nitems:\n{item}{other}");
    let files =
        Files::new(&[("old/list.yaml", &list), ("old/kustomization.yaml", "resources: [list.yaml]\n")]);
    let ran = files.run(&["migrate", "old", "--out", "new"]);
    assert!(ran.out.contains("old/list.yaml:4: no-data: proved"), "{}", ran.out);
    assert!(
        ran.err.contains("files without policies are not written: old/kustomization.yaml"),
        "{}",
        ran.err
    );
    let new = read(&files, "new/list.yaml");
    assert!(
        new.contains("kind: ValidatingPolicy")
            && new.contains("- apiVersion: v1\n  kind: ConfigMap\n  metadata: {name: settings}  # stays\n"),
        "{new}"
    );
    // A policy that cannot move stays, with its place in the list.
    let refused = list.replace(CEL, "").replace(
        "kinds: [ConfigMap]\n",
        &format!("kinds: [ConfigMap]\n{}", ROLES.lines().map(|l| format!("  {l}\n")).collect::<String>()),
    );
    let refused = refused.replace(&CEL.lines().map(|l| format!("  {l}\n")).collect::<String>(), "");
    files.write("bad/list.yaml", refused.as_bytes());
    let ran = files.run(&["migrate", "bad", "--to", "vap", "--out", "other"]);
    assert!(
        ran.out.contains("1 policy: 1 refused") && ran.out.contains("bad/list.yaml:"),
        "{}{}",
        ran.out,
        ran.err
    );
    assert_eq!(read(&files, "other/list.yaml"), refused);
    let diff = files.run(&["diff", "old", "new"]);
    assert!(diff.out.contains("no-data: equal"), "{}{}", diff.out, diff.err);
}

#[test]
fn what_may_be_a_policy_and_cannot_be_read_is_named_and_so_are_patches_and_files_that_are_replaced() {
    let misspelt = "apiVersion: kyverno.io/v1\nkind: ClusterPolicyy\nmetadata: {name: a}\nspec: {}\n---\n\
        apiVersion: policies.kyverno.io/v1\nkind: validatingPolicy\nmetadata: {name: b}\nspec: {}\n---\n\
        kind: ClusterPolicy\nmetadata: {name: c}\nspec: {rules: []}\n---\n\
        apiVersion: v1\nkind: List\nitems:\n- {apiVersion: kyverno.io/v1, kind: ClusterPolicy, metadata: {name: d}\n";
    let patch = "apiVersion: kyverno.io/v1\nkind: ClusterPolicy\nmetadata: {name: no-data}\nspec: {validationFailureAction: Audit}\n";
    let status =
        "apiVersion: kyverno.io/v1\nkind: ClusterPolicy\nmetadata: {name: no-data}\nstatus: {ready: true}\n";
    let next_to_another = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: x}\n---\n".to_string()
        + &policy(
            "next-to-it",
            "Service",
            "      validate: {message: m, pattern: {spec: {type: ClusterIP}}}\n",
        );
    let files = Files::new(&[
        ("old/good.yaml", &policy("no-data", "ConfigMap", CEL)),
        ("old/two.yaml", &next_to_another),
        ("old/misspelt.yaml", misspelt),
        ("old/prod/patch.yaml", patch),
        ("old/prod/assert.yaml", status),
        ("old/prod/kustomization.yaml", "resources: [../good.yaml]\n"),
        ("old/values.yaml", "a: 1\n"),
        ("new/good.yaml", "precious: 1\n"),
    ]);
    let ran = files.run(&["migrate", "old", "--out", "new"]);
    assert_eq!(ran.code, Some(1), "{}", ran.err);
    for (line, name) in [(1, "a"), (6, "b"), (11, "c"), (15, "a document without a name")] {
        let row = format!("old/misspelt.yaml:{line}: {name}: cannot be used (");
        assert!(ran.out.contains(&row), "{row}\n{}", ran.out);
    }
    for part in [
        "files without policies are not written: old/prod/kustomization.yaml, old/values.yaml\n",
        "old/prod/patch.yaml:1: ClusterPolicy no-data has no rules and stays as it is: a patch",
        "files that were there with another text are replaced: new/good.yaml\n",
        "(failed to load file new/two.yaml: policy type not supported /v1, Kind=ConfigMap) (Kyverno's command line reads no policy of a file",
    ] {
        assert!(ran.err.contains(part), "{part}\n{}", ran.err);
    }
    assert!(!ran.err.contains("assert.yaml"), "{}", ran.err);
    let again = files.run(&["migrate", "old", "--out", "new"]);
    assert!(!again.err.contains("are replaced"), "{}", again.err);
}

/// A policy that merges a volume into Pods.
fn volume(name: &str, volume: &str) -> String {
    let merge = format!(
        "      mutate:\n        patchStrategicMerge: {{spec: {{volumes: [{{name: a, {volume}}}]}}}}\n"
    );
    policy(name, "Pod", &merge).replace(
        "policies.kyverno.io/title: A title  # here",
        "pod-policies.kyverno.io/autogen-controllers: none",
    )
}

#[test]
fn the_summary_counts_the_answers_whose_word_has_an_exception() {
    let files = Files::new(&[
        ("p/a.yaml", &policy("no-data", "ConfigMap", CEL)),
        ("p/b.yaml", &volume("volume", "hostPath: {path: /a}")),
    ]);
    let ran = files.run(&["migrate", "p"]);
    assert!(ran.err.contains("volume: proved relative but for the order of items ("), "{}", ran.err);
    let summary = "2 policies: 1 proved, 1 proved relative (1 but for what is named)\n";
    assert!(ran.err.ends_with(summary), "{}", ran.err);
}

#[test]
fn a_difference_in_results_is_shown_line_by_line_as_by_diff() {
    let files = Files::new(&[("p.yaml", &volume("volume", "emptyDir: {}"))]);
    let ran = files.run(&["migrate", "p.yaml"]);
    assert!(ran.err.contains("  result: Pod CREATE\n"), "{}", ran.err);
    std::fs::write(files.path("new.yaml"), &ran.out).expect("a file");
    let compared = files.run(&["diff", "p.yaml", "new.yaml"]);
    for text in [&ran.err, &compared.out] {
        assert!(text.contains("    -   - name: a\n    +   - emptyDir: {}\n    +     name: a\n"), "{text}");
    }
}
