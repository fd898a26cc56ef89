//! `ephor diff`, `equivalent`, `implies` and `lint --deep`.
#![allow(clippy::expect_used)]

use crate::common::Files;
use serde_json::Value;

/// A policy that wants fields of Pods to be false, if they are there.
fn classic(name: &str, fields: &[&str]) -> String {
    let fields: Vec<String> = fields.iter().map(|field| format!("=({field}): false")).collect();
    format!(
        "apiVersion: kyverno.io/v1
kind: ClusterPolicy
metadata:
  name: {name}
  annotations: {{pod-policies.kyverno.io/autogen-controllers: none}}
spec:
  validationFailureAction: Enforce
  rules:
  - name: check
    match: {{any: [{{resources: {{kinds: [Pod]}}}}]}}
    validate:
      message: these are not allowed
      allowExistingViolations: false
      pattern:
        spec: {{{}}}
",
        fields.join(", ")
    )
}

/// The same as an expression.
fn cel(name: &str, annotations: &str, field: &str) -> String {
    format!(
        "apiVersion: policies.kyverno.io/v1
kind: ValidatingPolicy
metadata:
  name: {name}
  annotations: {{{annotations}}}
spec:
  validationActions: [Deny]
  autogen: {{podControllers: {{controllers: []}}}}
  matchConstraints:
    resourceRules:
    - {{apiGroups: [''], apiVersions: [v1], operations: [CREATE, UPDATE], resources: [pods]}}
  validations:
  - expression: object.spec.?{field}.orValue(false) == false
    message: these are not allowed
"
    )
}

fn network_and_pid() -> Files {
    Files::new(&[
        ("old.yaml", &classic("no-host", &["hostNetwork", "hostPID"])),
        ("new.yaml", &cel("no-host", "", "hostNetwork")),
    ])
}

#[test]
fn a_difference_is_shown_with_places_verdicts_and_commands() {
    let ran = network_and_pid().run(&["diff", "old.yaml", "new.yaml"]);
    assert_eq!((ran.code, &*ran.err), (Some(1), ""));
    let wanted = [
        "no-host: differs: weaker ",
        "  new.yaml:13:17\n",
        "  weaker: Pod CREATE, in clusters: no violation where there was one\n    apiVersion: v1\n    kind: Pod\n",
        "      hostPID: true\n",
        "    old  fail  no-host/check: validation error: these are not allowed.",
        "         old.yaml:15:",
        ", because of spec.hostPID\n",
        "    new  pass\n         new.yaml:",
        "    reproduce: printf %s '{\"apiVersion\":\"v1\",\"kind\":\"Pod\",",
        "' | kyverno apply old.yaml -r -\n               printf %s '{",
        "' | kyverno apply new.yaml -r -\n",
        "1 policy: 0 proved, 0 tested, 1 differ (1 weaker)\n",
    ];
    for text in wanted {
        assert!(ran.out.contains(text), "{text}\n{}", ran.out);
    }
}

#[test]
fn equal_policies_are_proved_and_exit_with_0() {
    let files =
        Files::new(&[("old.yaml", &classic("a", &["hostPID"])), ("new.yaml", &cel("b", "", "hostPID"))]);
    for command in ["diff", "equivalent", "implies"] {
        let ran = files.run(&[command, "old.yaml", "new.yaml", "--fail-on", "tested"]);
        assert_eq!((ran.code, &*ran.err), (Some(0), ""), "{}", ran.out);
        assert!(ran.out.contains(" proved ("), "{}", ran.out);
    }
}

#[test]
fn folders_are_paired_by_mapping_annotation_name_similar_name_and_what_policies_read() {
    let files = Files::new(&[
        ("old/a.yaml", &classic("a", &["hostPID"])),
        ("old/b.yaml", &classic("b", &["hostIPC", "hostNetwork"])),
        ("old/c.yaml", &classic("no-c", &["hostPID"])),
        ("old/d.yaml", &classic("d", &["hostPID"])),
        ("new/a.yaml", &cel("a", "", "hostPID")),
        ("new/b1.yaml", &cel("ipc", "ephor.dev/replaces: b", "hostIPC")),
        ("new/b2.yaml", &cel("network", "ephor.dev/replaces: b", "hostNetwork")),
        ("new/c.yaml", &cel("no-c-vpol", "", "hostPID")),
        ("new/d.yaml", &cel("x", "", "hostPID")),
        ("map.yaml", "d: x\n"),
    ]);
    let ran = files.run(&["diff", "old", "new", "--map", "map.yaml", "--output-format", "json"]);
    assert_eq!((ran.code, &*ran.err), (Some(0), ""), "{}", ran.out);
    let all: Value = serde_json::from_str(&ran.out).expect("JSON");
    let by = |at: usize| all["policies"][at]["pairedBy"].as_str().unwrap_or_default().to_string();
    assert_eq!([by(0), by(1), by(2), by(3)], ["name", "annotation", "similarName", "mapping"]);
    let ran = files.run(&["diff", "old", "new", "--output-format", "json"]);
    let all: Value = serde_json::from_str(&ran.out).expect("JSON");
    assert_eq!(all["policies"][3]["pairedBy"], "overlap", "{}", ran.out);
    files.write("map.yaml", b"d: gone\n");
    let ran = files.run(&["diff", "old", "new", "--map", "map.yaml"]);
    assert_eq!((ran.code, &*ran.err), (Some(2), "Error: map.yaml: no new policy is called `gone`\n"));
}

#[test]
fn policies_that_read_other_fields_have_no_partner() {
    let files = Files::new(&[
        ("old/a.yaml", &classic("a", &["hostPID"])),
        ("old/d.yaml", &classic("d", &["hostIPC"])),
        ("new/a.yaml", &cel("a", "", "hostPID")),
        ("new/x.yaml", &cel("x", "", "hostNetwork")),
    ]);
    let ran = files.run(&["diff", "old", "new"]);
    assert!(
        ran.out.contains("d: only in the old policies") && ran.out.contains("old/d.yaml:4:9"),
        "{}",
        ran.out
    );
    assert!(ran.out.contains("x: only in the new policies"), "{}", ran.out);
}

#[test]
fn the_output_is_the_same_for_any_number_of_threads() {
    let files = Files::new(&[
        ("old/a.yaml", &classic("a", &["hostPID"])),
        ("old/b.yaml", &classic("b", &["hostIPC"])),
        ("new/a.yaml", &cel("a", "", "hostIPC")),
        ("new/b.yaml", &cel("b", "", "hostPID")),
    ]);
    let of = |threads: &str| files.run(&["diff", "old", "new", "--threads", threads]).out;
    assert_eq!(of("1"), of("3"));
}

#[test]
fn formats_of_build_servers_have_the_place_in_the_new_and_in_the_old_policy() {
    let files = network_and_pid();
    let of = |format: &str| files.run(&["diff", "old.yaml", "new.yaml", "--output-format", format]).out;
    let github = of("github");
    assert!(github.starts_with("::error file=new.yaml,line="), "{github}");
    assert!(github.contains("title=no-host/weaker::") && github.contains("old (old.yaml:15:"), "{github}");
    let sarif: Value = serde_json::from_str(&of("sarif")).expect("JSON");
    let result = &sarif["runs"][0]["results"][0];
    assert_eq!(result["ruleId"], "no-host/weaker");
    let file = |place: &Value| place["physicalLocation"]["artifactLocation"]["uri"].clone();
    assert_eq!(file(&result["locations"][0]), "new.yaml");
    assert_eq!(file(&result["relatedLocations"][0]), "old.yaml");
    let junit = of("junit");
    assert!(junit.contains("failures=\"1\"") && junit.contains("no-host/weaker"), "{junit}");
    assert!(of("markdown").contains("- **no-host**: differs: weaker (`new.yaml:"));
}

#[test]
fn a_folder_of_objects_has_tests_that_pass() {
    let files = network_and_pid();
    let ran = files.run(&["diff", "old.yaml", "new.yaml", "--out", "found"]);
    assert_eq!(ran.code, Some(1), "{}{}", ran.out, ran.err);
    assert!(ran.out.contains("kyverno apply old.yaml -r found/no-host-1/object.yaml\n"), "{}", ran.out);
    let read = |name: &str| std::fs::read_to_string(files.path(name)).unwrap_or_default();
    assert!(read("found/no-host-1/old/kyverno-test.yaml").contains("result: fail"));
    assert!(read("found/no-host-1/new/kyverno-test.yaml").contains("result: pass"));
    let tested = files.run(&["test", "found", "--strict"]);
    assert_eq!(tested.code, Some(0), "{}{}", tested.out, tested.err);
    // A second run replaces what the first one wrote, and leaves nothing else.
    files.run(&["diff", "old.yaml", "new.yaml", "--out", "found"]);
    let entries = std::fs::read_dir(files.path("found")).expect("the folder");
    assert!(entries.flatten().all(|entry| entry.file_name().to_string_lossy().starts_with("no-host-")));
}

#[test]
fn a_folder_of_objects_has_what_rules_make_of_them() {
    let sets = |value: &str| {
        format!(
            "apiVersion: kyverno.io/v1
kind: ClusterPolicy
metadata: {{name: team}}
spec:
  rules:
    - name: team
      match: {{any: [{{resources: {{kinds: [ConfigMap]}}}}]}}
      mutate: {{patchStrategicMerge: {{metadata: {{labels: {{team: {value}}}}}}}}}
"
        )
    };
    let files = Files::new(&[("old.yaml", &sets("a")), ("new.yaml", &sets("b"))]);
    let ran = files.run(&["diff", "old.yaml", "new.yaml", "--out", "found"]);
    assert_eq!(ran.code, Some(1), "{}{}", ran.out, ran.err);
    let tested = files.run(&["test", "found", "--strict"]);
    assert_eq!(tested.code, Some(0), "{}{}", tested.out, tested.err);
}

#[test]
fn a_config_map_that_a_cluster_lacks_is_shown_by_tests() {
    let old = "apiVersion: kyverno.io/v1
kind: ClusterPolicy
metadata: {name: teams}
spec:
  validationFailureAction: Enforce
  rules:
    - name: teams
      match: {any: [{resources: {kinds: [ConfigMap], operations: [CREATE]}}]}
      context:
        - name: known
          configMap: {name: teams, namespace: default}
      validate:
        message: no such team
        deny:
          conditions:
            any:
              - {key: '{{ request.object.metadata.name }}', operator: AnyNotIn, value: '{{ known.data.names }}'}
";
    let files = Files::new(&[("old.yaml", old), ("new.yaml", &cel("teams", "", "hostIPC"))]);
    let ran = files.run(&["diff", "old.yaml", "new.yaml", "--out", "found"]);
    assert!(ran.out.contains("reproduce: kyverno test found/teams-1/old\n"), "{}{}", ran.out, ran.err);
    let test = std::fs::read_to_string(files.path("found/teams-1/old/kyverno-test.yaml")).unwrap_or_default();
    assert!(
        test.contains("clusterResources:\n  - ../cluster.yaml\n") && test.contains("result: error"),
        "{test}"
    );
    let tested = files.run(&["test", "found", "--strict"]);
    assert_eq!(tested.code, Some(0), "{}{}", tested.out, tested.err);
}

#[test]
fn a_folder_of_objects_names_the_namespace_where_policies_read_it() {
    let old = cel("no-default", "", "hostNetwork").replace(
        "object.spec.?hostNetwork.orValue(false) == false",
        "namespaceObject.metadata.name != 'default'",
    );
    let new =
        cel("no-default", "", "hostNetwork").replace("object.spec.?hostNetwork.orValue(false)", "false");
    let files = Files::new(&[("old.yaml", &*old), ("new.yaml", &*new)]);
    let ran = files.run(&["diff", "old.yaml", "new.yaml", "--out", "found"]);
    let command = "kyverno apply old.yaml -r found/no-default-1/object.yaml --values-file found/no-default-1/values.yaml\n";
    assert!(ran.out.contains(command), "{}", ran.out);
    let flags = ["-r", "found/no-default-1/object.yaml", "--values-file", "found/no-default-1/values.yaml"];
    let applied = files.run(&[&["apply", "old.yaml"][..], &flags].concat());
    assert!(applied.out.contains("fail: 1"), "{}{}", applied.out, applied.err);
}

#[test]
fn accepted_differences_are_counted_and_named() {
    let files = network_and_pid();
    files.write(
        "ephor-diff.yaml",
        b"ignore:\n- policy: no-*\n  class: weaker\n  reason: another policy has it\n",
    );
    let ran = files.run(&["diff", "old.yaml", "new.yaml"]);
    assert_eq!((ran.code, &*ran.err), (Some(0), ""), "{}", ran.out);
    assert!(
        ran.out.contains("ignored: ") && ran.out.contains(" weaker of no-host (another policy has it)\n"),
        "{}",
        ran.out
    );
    assert!(ran.out.contains(" ignored\n"), "{}", ran.out);
    // Nothing is proved behind differences that are left out.
    assert!(ran.out.contains("the search ended at differences that are ignored"), "{}", ran.out);
    files.write("other.yaml", b"ignore:\n- clas: weaker\n");
    let wrong = "Error: other.yaml:2:3: unknown field `clas`; did you mean `class`?\n";
    let ran = files.run(&["diff", "old.yaml", "new.yaml", "--accepted", "other.yaml"]);
    assert_eq!((ran.code, &*ran.err), (Some(2), wrong));
    // The flag's name of once.
    let ran = files.run(&["diff", "old.yaml", "new.yaml", "--config", "other.yaml"]);
    assert_eq!(ran.code, Some(2));
    assert!(ran.err.contains("write `--accepted other.yaml`") && ran.err.ends_with(wrong), "{}", ran.err);
}

#[test]
fn differences_in_deletions_alone_can_be_accepted_without_losing_the_proof() {
    let deny = |operations: &str| {
        format!(
            "apiVersion: kyverno.io/v1\nkind: ClusterPolicy\nmetadata: {{name: a}}\nspec:\n  background: false\n  rules:\n  - name: r\n    match: {{any: [{{resources: {{kinds: [ConfigMap], operations: [{operations}]}}}}]}}\n    validate: {{message: m, deny: {{}}}}\n"
        )
    };
    let files = Files::new(&[("old.yaml", &deny("CREATE, DELETE")), ("new.yaml", &deny("CREATE"))]);
    let ran = files.run(&["diff", "old.yaml", "new.yaml"]);
    assert!(ran.out.ends_with("1 differ (1 on DELETE only)\n"), "{}", ran.out);
    files.write("ephor-diff.yaml", b"ignore: [{class: 'operations: DELETE', reason: not needed}]\n");
    let ran = files.run(&["diff", "old.yaml", "new.yaml", "--fail-on", "tested"]);
    assert_eq!(ran.code, Some(0), "{}{}", ran.out, ran.err);
    assert!(ran.out.contains("a: equal but for 1 ignored difference, proved ("), "{}", ran.out);
}

#[test]
fn a_run_without_time_is_tested() {
    let files =
        Files::new(&[("old.yaml", &classic("a", &["hostPID"])), ("new.yaml", &cel("b", "", "hostPID"))]);
    let ran = files.run(&["diff", "old.yaml", "new.yaml", "--time-limit", "0s"]);
    assert_eq!(ran.code, Some(0), "{}{}", ran.out, ran.err);
    assert!(ran.out.contains("tested (the time limit was reached"), "{}", ran.out);
}

#[test]
fn a_certificate_is_checked_without_a_comparison() {
    let files =
        Files::new(&[("old.yaml", &classic("a", &["hostPID"])), ("new.yaml", &cel("a", "", "hostPID"))]);
    for (command, file) in [("diff", "c.json"), ("equivalent", "c.json.gz")] {
        let ran = files.run(&[command, "old.yaml", "new.yaml", "--certificate", file]);
        assert_eq!((ran.code, &*ran.err), (Some(0), ""), "{}", ran.out);
        let ran = files.run(&[command, "old.yaml", "new.yaml", "--check", file]);
        assert_eq!((ran.code, &*ran.err), (Some(0), ""), "{}", ran.out);
        assert!(ran.out.ends_with("the certificate holds\n"), "{}", ran.out);
    }
    files.write("new.yaml", cel("a", "", "hostIPC").as_bytes());
    let ran = files.run(&["diff", "old.yaml", "new.yaml", "--check", "c.json"]);
    assert_eq!(ran.code, Some(1));
    assert!(ran.out.starts_with("a: the new policy is another one, or changed\n"), "{}", ran.out);
    let ran = files.run(&["diff", "old.yaml", "new.yaml", "--check", "old.yaml"]);
    assert_eq!(ran.code, Some(2), "{}", ran.err);
}

#[test]
fn sets_are_compared_as_a_whole() {
    let files = Files::new(&[
        ("all.yaml", &classic("all", &["hostPID", "hostIPC"])),
        ("parts/a.yaml", &cel("a", "", "hostPID")),
        ("parts/b.yaml", &cel("b", "", "hostIPC")),
    ]);
    let ran = files.run(&["equivalent", "all.yaml", "parts", "--fail-on", "tested"]);
    assert_eq!(ran.code, Some(0), "{}{}", ran.out, ran.err);
    let ran = files.run(&["implies", "parts/a.yaml", "all.yaml"]);
    assert_eq!(ran.code, Some(0), "{}{}", ran.out, ran.err);
    let ran = files.run(&["implies", "all.yaml", "parts/a.yaml"]);
    assert_eq!(ran.code, Some(1), "{}{}", ran.out, ran.err);
    assert!(ran.out.contains("not implied") && ran.out.contains("violates A, not B"), "{}", ran.out);
}

#[test]
fn updates_of_objects_that_are_violations_already_are_an_effect_of_their_own() {
    let old = classic("a", &["hostPID"]).replace("      allowExistingViolations: false\n", "");
    let files = Files::new(&[("old.yaml", &old), ("new.yaml", &cel("a", "", "hostPID"))]);
    let run = |command: &str| files.run(&[command, "old.yaml", "new.yaml"]);
    let ran = run("equivalent");
    assert_eq!(ran.code, Some(1), "{}", ran.out);
    assert!(ran.out.contains("A alone allows updates of objects that are violations already"), "{}", ran.out);
    assert_eq!([run("diff").code, run("implies").code], [Some(0), Some(0)]);
    files.write("ephor-diff.yaml", b"ignore: [{class: existing, reason: as before for new objects}]\n");
    let ran = run("equivalent");
    assert_eq!(ran.code, Some(0), "{}", ran.out);
    assert!(ran.out.contains("(as before for new objects)"), "{}", ran.out);
    files.run(&["diff", "old.yaml", "new.yaml", "--certificate", "c.json"]);
    let ran = files.run(&["diff", "old.yaml", "new.yaml", "--check", "c.json"]);
    assert_eq!(ran.code, Some(0), "{}", ran.out);
}

#[test]
fn lint_says_with_deep_alone_what_rules_never_do() {
    let twice = classic("a", &["hostPID"]);
    let rule = twice.split_once("  - name: check").map(|(_, rule)| rule.to_string()).unwrap_or_default();
    let files = Files::new(&[("a.yaml", &format!("{twice}  - name: again{rule}"))]);
    let ran = files.run(&["lint", "a.yaml", "--notes"]);
    assert!(!ran.out.contains("redundant"), "{}", ran.out);
    let ran = files.run(&["lint", "a.yaml", "--notes", "--deep"]);
    assert!(ran.out.contains("a.yaml:9:5: note: other rules"), "{}", ran.out);
    assert!(
        ran.out.contains("note: other rules deny everything that rule `check` denies [redundant-rule]"),
        "{}",
        ran.out
    );
}

/// A folder with a policy on each side, and something more on the new one.
fn with_more(name: &str, text: &str) -> Files {
    let policy = classic("no-host", &["hostNetwork"]);
    Files::new(&[("old/p.yaml", &policy), ("new/p.yaml", &policy), (&format!("new/{name}"), text)])
}

#[test]
fn a_side_of_which_a_part_cannot_be_read_has_no_answer() {
    let policy = classic("other", &["hostPID"]);
    let list = format!("apiVersion: v1\nkind: List\nitems:\n- {}", policy.trim_end().replace('\n', "\n  "));
    let broken = |text: &str| text.replace(")}]}", ")}").replace("false}", "false");
    for (name, text, said) in [
        ("broken.yaml", broken(&policy), "new/broken.yaml:"),
        ("list.yaml", broken(&list), "new/list.yaml:"),
        (
            "kind.yaml",
            policy.replace("kind: ClusterPolicy", "kind: ClusterPolicyy"),
            "did you mean `ClusterPolicy`?",
        ),
        ("version.yaml", policy.replace("kyverno.io/v1", "kyverno.io/v3"), "new/version.yaml:1:13"),
        ("in-list.yaml", list.replace("ClusterPolicy", "ClusterPolicyy"), "new/in-list.yaml:1: "),
        ("untyped.yaml", policy.replace("apiVersion: kyverno.io/v1\n", ""), "new/untyped.yaml:1"),
    ] {
        let files = with_more(name, &text);
        for command in ["diff", "equivalent", "implies"] {
            let ran = files.run(&[command, "old", "new"]);
            assert_eq!((ran.code, &*ran.out), (Some(2), ""), "{command} {name}");
            assert!(ran.err.contains(said), "{command} {name}\n{}", ran.err);
        }
        let linted = files.run(&["lint", "--deep", "new"]);
        assert_ne!(linted.code, Some(0), "{name}\n{}", linted.out);
    }
}

#[test]
fn documents_of_other_kinds_have_no_effect_and_are_named_in_files_that_are_given() {
    const MAP: &str = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: x}\ndata: {a: b}\n";
    for (name, text) in [
        ("map.yaml", MAP),
        ("kustomization.yaml", "resources: [p.yaml]\n"),
        ("values.yaml", "- a\n- b\n"),
        (
            "templates/app.yaml",
            "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: {{ .Release.Name }}}\n",
        ),
        ("package.json", "{\"name\": \"x\"}"),
    ] {
        let ran = with_more(name, text).run(&["diff", "old", "new"]);
        assert_eq!((ran.code, &*ran.err), (Some(0), ""), "{name}");
        assert!(ran.out.contains("no-host: equal, proved (the same rules, for Pod)\n"), "{}", ran.out);
    }
    let policy = classic("no-host", &["hostNetwork"]);
    let files = Files::new(&[("a.yaml", &policy), ("b.yaml", &format!("{MAP}---\n{policy}"))]);
    let ran = files.run(&["diff", "a.yaml", "b.yaml"]);
    assert_eq!(ran.code, Some(0));
    assert_eq!(ran.err, "warning: b.yaml:1: this document is no policy and has no effect\n");
}

#[cfg(unix)]
#[test]
fn links_that_are_not_followed_leave_no_answer() {
    let files = with_more("../other/q.yaml", &classic("other", &["hostPID"]));
    for (target, link, said) in [
        ("../other", "new/linked", "new/linked: links to folders are not followed"),
        ("gone.yaml", "new/gone.yaml", "new/gone.yaml: "),
    ] {
        std::os::unix::fs::symlink(target, files.path(link)).expect("a link");
        for words in [&["diff", "old", "new"][..], &["lint", "--deep", "new"]] {
            let ran = files.run(words);
            assert_eq!(ran.code, Some(2), "{words:?} {}", ran.out);
            assert!(ran.err.contains(said), "{words:?} {}", ran.err);
        }
        std::fs::remove_file(files.path(link)).expect("the link");
    }
    assert_eq!(files.run(&["diff", "old", "new"]).code, Some(0));
}

#[test]
fn json_files_of_folders_are_read() {
    let json = "{\"apiVersion\":\"kyverno.io/v1\",\"kind\":\"ClusterPolicy\",\"metadata\":{\"name\":\"j\"},\"spec\":{\"rules\":[{\"name\":\"r\",\"match\":{\"any\":                [{\"resources\":{\"kinds\":[\"Pod\"]}}]},\"validate\":{\"message\":\"m\",\"deny\":{}}}]}}";
    let ran = with_more("p.json", json).run(&["diff", "old", "new"]);
    assert_eq!(ran.code, Some(1));
    assert!(ran.out.contains("\nj: only in the new policies "), "{}", ran.out);
}

#[test]
fn a_file_without_policies_is_described() {
    let exception = "apiVersion: kyverno.io/v2\nkind: PolicyException\nmetadata: {name: e, namespace: d}\nspec: {exceptions: [{policyName: p, ruleNames: [r]}], match: {any:                      [{resources: {kinds: [Pod], names: [x]}}]}}\n";
    let files = Files::new(&[("e.yaml", exception), ("p.yaml", &classic("no-host", &["hostPID"]))]);
    let ran = files.run(&["diff", "e.yaml", "p.yaml"]);
    assert_eq!(ran.code, Some(2));
    assert!(ran.err.contains("1 PolicyException: compare exceptions together with"), "{}", ran.err);
}

#[test]
fn wrong_flags_of_a_comparison_end_with_2_also_behind_other_flags() {
    let files = Files::new(&[("p.yaml", &classic("no-host", &["hostPID"]))]);
    for words in [&["diff", "--x"][..], &["-v", "2", "diff", "--x"], &["-v=2", "implies", "--x"]] {
        assert_eq!(files.run(words).code, Some(2), "{words:?}");
    }
    assert_eq!(files.run(&["-v", "2", "apply", "diff", "--x"]).code, Some(1));
}
