//! What real repositories met: small inputs with the right answer, each one example of a kind.

#![allow(clippy::unwrap_used)]

use crate::common::{Files, POLICY, Ran};

const POD: &str = "apiVersion: v1\nkind: Pod\nmetadata: {name: p, namespace: default}\nspec:\n  containers:\n  - {name: app, image: 'a:1'}\n  - {name: side, image: 'b:1'}\n  - {name: third, image: 'c:1'}\n";

/// A rule about ConfigMaps that are in namespaces with a label.
const ONLY_PROD: &str = "apiVersion: kyverno.io/v1\nkind: ClusterPolicy\nmetadata: {name: only-prod}\nspec:\n  rules:\n  - name: r\n    match: {any: [{resources: {kinds: [ConfigMap], namespaceSelector: {matchLabels: {env: prod}}}}]}\n    validate: {message: denied, deny: {}}\n";
const VALUES: &str = "apiVersion: cli.kyverno.io/v1alpha1\nkind: Values\nmetadata: {name: v}\nnamespaceSelector:\n- {name: shop, labels: {env: prod}}\n";
const CONFIG_MAP: &str =
    "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c, namespace: shop}\ndata: {a: b}\n";

fn text(files: &Files, args: &[&str]) -> Ran {
    files.run(&[args, &["--output-format", "text"]].concat())
}

/// The command that a run suggests, as arguments.
fn suggested(ran: &Ran) -> Vec<String> {
    let line = ran.out.lines().find_map(|line| line.strip_prefix("why: ephor ")).unwrap();
    line.split(' ').map(|word| word.trim_matches('\'').to_string()).collect()
}

/// Runs the command that a run suggests; its answer.
fn replayed(files: &Files, ran: &Ran) -> String {
    let words = suggested(ran);
    files.run(&words.iter().map(String::as_str).collect::<Vec<_>>()).out
}

#[test]
fn the_suggested_command_carries_the_flags_that_mattered() {
    let files = Files::new(&[("p.yaml", ONLY_PROD), ("r.yaml", CONFIG_MAP), ("v.yaml", VALUES)]);
    let ran = text(&files, &["apply", "p.yaml", "-r", "r.yaml", "-f", "v.yaml"]);
    assert_eq!(suggested(&ran), ["explain", "p.yaml", "-r", "r.yaml", "-f", "v.yaml"]);
    assert!(replayed(&files, &ran).contains(": fail"));
}

#[test]
fn the_suggested_command_answers_as_the_run_did_when_other_inputs_decided() {
    let change = "apiVersion: kyverno.io/v1\nkind: ClusterPolicy\nmetadata: {name: change}\nspec:\n  rules:\n  - name: c\n    match: {any: [{resources: {kinds: [ConfigMap]}}]}\n    mutate: {patchStrategicMerge: {data: {a: changed}}}\n";
    let check = "apiVersion: kyverno.io/v1\nkind: ClusterPolicy\nmetadata: {name: check}\nspec:\n  rules:\n  - name: r\n    match: {any: [{resources: {kinds: [ConfigMap]}}]}\n    validate: {message: denied, pattern: {data: {a: b}}}\n";
    let files = Files::new(&[("p/change.yaml", change), ("p/check.yaml", check), ("r.yaml", CONFIG_MAP)]);
    let ran = text(&files, &["apply", "p", "-r", "r.yaml"]);
    assert!(replayed(&files, &ran).contains(": fail"), "{}", ran.out);
    let alone = files.run(&["explain", "p/check.yaml", "-r", "r.yaml"]);
    assert!(alone.out.contains(": pass"), "the mutation decides: {}", alone.out);
    // Values of flags, and objects that are looked up in another file.
    let by_set = check.replace("a: b}", "a: '{{ wanted }}'}").replace(
        "    validate",
        "    context: [{name: wanted, variable: {value: b, default: b}}]\n    validate",
    );
    files.write("set.yaml", by_set.as_bytes());
    let ran = text(&files, &["apply", "set.yaml", "-r", "r.yaml", "--set", "wanted=x"]);
    if ran.out.contains("why: ") {
        assert!(suggested(&ran).contains(&"wanted=x".to_string()));
        assert!(replayed(&files, &ran).contains(": fail"), "{}", ran.out);
    }
}

#[test]
fn exceptions_count_in_explain_as_they_do_in_apply() {
    let exception = "apiVersion: kyverno.io/v2\nkind: PolicyException\nmetadata: {name: e, namespace: shop}\nspec:\n  exceptions: [{policyName: need-team, ruleNames: [team]}]\n  match: {any: [{resources: {kinds: [ConfigMap], names: [c]}}]}\n";
    let files = Files::new(&[("p.yaml", POLICY), ("r.yaml", CONFIG_MAP), ("e.yaml", exception)]);
    assert!(files.run(&["explain", "p.yaml", "-r", "r.yaml"]).out.contains(": fail"));
    assert!(files.run(&["explain", "p.yaml", "-r", "r.yaml", "-e", "e.yaml"]).out.contains(": skip"));
    assert!(files.run(&["explain", "p.yaml", "e.yaml", "-r", "r.yaml"]).out.contains(": fail"));
    let within = ["explain", "p.yaml", "e.yaml", "-r", "r.yaml", "--exceptions-within-policies"];
    assert!(files.run(&within).out.contains(": skip"));
}

#[test]
fn explain_names_the_policy_or_object_that_was_meant() {
    let files = Files::new(&[("p.yaml", POLICY), ("r.yaml", CONFIG_MAP)]);
    let run = |flag: &str, value: &str| files.run(&["explain", "p.yaml", "-r", "r.yaml", flag, value]);
    assert!(run("--policy", "need-teem").err.contains("did you mean `need-team`?"));
    assert!(run("--object", "ConfigMap/shop/d").err.contains("did you mean `ConfigMap/shop/c`?"));
    assert!(run("--object", "ConfigMap/shop/c").out.contains("need-team/team"));
}

const CHANGE_CONFIG_MAPS: &str = "apiVersion: policies.kyverno.io/v1\nkind: MutatingPolicy\nmetadata: {name: cm-label}\nspec:\n  matchConstraints:\n    resourceRules: [{apiGroups: [''], apiVersions: [v1], resources: [configmaps], operations: [CREATE]}]\n  mutations:\n  - patchType: ApplyConfiguration\n    applyConfiguration: {expression: 'Object{metadata: Object.metadata{labels: {\"a\": \"b\"}}}'}\n";

#[test]
fn a_policy_in_cel_that_mutates_shows_and_writes_the_objects_that_it_matches() {
    let files = Files::new(&[("p.yaml", CHANGE_CONFIG_MAPS), ("pod.yaml", POD), ("cm.yaml", CONFIG_MAP)]);
    let ran = files.run(&["apply", "p.yaml", "-r", "pod.yaml"]);
    assert!(!ran.out.contains("Mutation has been applied"), "{}", ran.out);
    let ran = files.run(&["apply", "p.yaml", "-r", "pod.yaml,cm.yaml", "-o", "out/"]);
    let written: Vec<String> = std::fs::read_dir(files.path("out"))
        .unwrap()
        .map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned())
        .collect();
    assert_eq!(written, ["c-mutated.yaml"], "{}", ran.out);
}

#[test]
fn a_definition_in_a_policy_file_leaves_its_policies_alone() {
    let definition = "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: xs.example.com}\nspec: {group: example.com, scope: Namespaced, names: {plural: xs, kind: X}, versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object}}}]}\n";
    let files = Files::new(&[("p.yaml", &format!("{definition}---\n{POLICY}")), ("r.yaml", CONFIG_MAP)]);
    let ran = files.run(&["apply", "p.yaml", "-r", "r.yaml"]);
    assert_eq!(ran.code, Some(1));
    assert!(ran.out.contains("Applying 1 policy rule(s)") && ran.out.contains("fail: 1"), "{}", ran.out);
}

#[test]
fn an_empty_namespace_in_a_path_is_every_namespace() {
    let policy = |path: &str| {
        format!(
            "apiVersion: kyverno.io/v1\nkind: ClusterPolicy\nmetadata: {{name: p}}\nspec:\n  background: false\n  rules:\n  - name: r\n    match: {{any: [{{resources: {{kinds: [Namespace]}}}}]}}\n    context: [{{name: count, apiCall: {{urlPath: '{path}', jmesPath: 'length(items)'}}}}]\n    validate: {{message: none, deny: {{conditions: {{all: [{{key: '{{{{ count }}}}', operator: Equals, value: 0}}]}}}}}}\n"
        )
    };
    let namespace = "apiVersion: v1\nkind: Namespace\nmetadata: {name: shop}\n";
    let box_of = "apiVersion: example.com/v1\nkind: Box\nmetadata: {name: b, namespace: shop}\n";
    let files = Files::new(&[("r.yaml", &format!("{namespace}---\n{CONFIG_MAP}---\n{box_of}"))]);
    for (path, passes) in [
        ("/api/v1/namespaces//configmaps", true),
        ("/api/v1/namespaces/{{ request.namespace }}/configmaps", true),
        ("/api/v1/namespaces/other/configmaps", false),
        ("/apis/example.com/v1/namespaces//boxes", true),
        ("/apis/example.com/v1/boxs", true),
    ] {
        files.write("p.yaml", policy(path).as_bytes());
        let ran = files.run(&["apply", "p.yaml", "-r", "r.yaml"]);
        assert_eq!(ran.out.contains("pass: 1"), passes, "{path}: {}", ran.out);
    }
}

#[test]
fn a_merge_that_removes_containers_which_it_does_not_name_is_reported() {
    let policy = "apiVersion: kyverno.io/v1\nkind: ClusterPolicy\nmetadata: {name: pull}\nspec:\n  rules:\n  - name: r\n    match: {any: [{resources: {kinds: [Pod]}}]}\n    mutate: {patchStrategicMerge: {spec: {containers: [{(name): app, imagePullPolicy: Always}, {(name): side, imagePullPolicy: Never}]}}}\n";
    let files = Files::new(&[("p.yaml", policy), ("pod.yaml", POD)]);
    let ran = files.run(&["apply", "p.yaml", "-r", "pod.yaml"]);
    assert!(
        ran.err.contains("removes app, third from spec.containers") && ran.err.contains("kyverno#16862"),
        "{}",
        ran.err
    );
    // One anchored item, and one that says that it removes, lose nothing that is not meant.
    let one = policy.replace(", {(name): side, imagePullPolicy: Never}", "");
    files.write("one.yaml", one.as_bytes());
    assert!(!files.run(&["apply", "one.yaml", "-r", "pod.yaml"]).err.contains("removes"));
    let delete = policy.replace(
        "{(name): app, imagePullPolicy: Always}, {(name): side, imagePullPolicy: Never}",
        "{name: app, $patch: delete}",
    );
    files.write("delete.yaml", delete.as_bytes());
    assert!(!files.run(&["apply", "delete.yaml", "-r", "pod.yaml"]).err.contains("removes"));
}

#[test]
fn folders_that_are_not_read_are_named_also_next_to_files() {
    let files = Files::new(&[("p.yaml", POLICY), ("m/top.yaml", CONFIG_MAP), ("m/app/bad.yaml", CONFIG_MAP)]);
    let ran = files.run(&["apply", "p.yaml", "-r", "m"]);
    assert!(ran.err.contains("m: 1 folder with YAML files is not read; --recursive reads it"), "{}", ran.err);
    assert!(!files.run(&["apply", "p.yaml", "-r", "m", "-R"]).err.contains("not read"));
    let files = Files::new(&[("p.yaml", POLICY), ("m/top.yaml", CONFIG_MAP), ("m/docs/readme.md", "x")]);
    assert!(!files.run(&["apply", "p.yaml", "-r", "m"]).err.contains("not read"));
}

#[test]
fn a_policy_of_a_namespace_in_cel_is_reported_where_a_cluster_would_not_apply_it() {
    let policy = "apiVersion: policies.kyverno.io/v1\nkind: NamespacedValidatingPolicy\nmetadata: {name: need-team, namespace: payments}\nspec:\n  matchConstraints:\n    resourceRules: [{apiGroups: [''], apiVersions: [v1], resources: [configmaps], operations: [CREATE]}]\n  validations: [{expression: 'has(object.metadata.labels)', message: m}]\n";
    let files = Files::new(&[("p.yaml", policy), ("r.yaml", CONFIG_MAP)]);
    let ran = files.run(&["apply", "p.yaml", "-r", "r.yaml"]);
    assert!(
        ran.out.contains("fail: 1") && ran.err.contains("payments/need-team is of namespace payments"),
        "{}",
        ran.err
    );
    let ran = files.run(&["apply", "p.yaml", "-r", "r.yaml", "--as-cluster"]);
    assert!(ran.out.contains("fail: 0") && !ran.err.contains("is of namespace"), "{}{}", ran.out, ran.err);
}

#[test]
fn an_exception_that_leaves_out_generated_rules_is_reported() {
    let policy = POLICY.replace("ConfigMap", "Pod");
    let exception = |rules: &str| {
        format!(
            "apiVersion: kyverno.io/v2\nkind: PolicyException\nmetadata: {{name: e, namespace: shop}}\nspec:\n  exceptions: [{{policyName: need-team, ruleNames: {rules}}}]\n  match: {{any: [{{resources: {{kinds: [Pod, Deployment]}}}}]}}\n"
        )
    };
    let files = Files::new(&[
        ("p.yaml", &policy),
        ("r.yaml", POD),
        ("e.yaml", &exception("[team]")),
        ("all.yaml", &exception("['*team']")),
    ]);
    let ran = files.run(&["apply", "p.yaml", "-r", "r.yaml", "-e", "e.yaml"]);
    assert!(ran.err.contains("names rule team of policy need-team and not autogen-team"), "{}", ran.err);
    assert!(!files.run(&["apply", "p.yaml", "-r", "r.yaml", "-e", "all.yaml"]).err.contains("names rule"));
}

#[test]
fn an_error_of_a_variant_for_controllers_is_explained() {
    let policy = CHANGE_CONFIG_MAPS.replace("configmaps", "pods");
    let deployment = "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: d}\nspec: {selector: {matchLabels: {a: b}}, template: {metadata: {labels: {a: b}}, spec: {containers: [{name: a, image: b}]}}}\n";
    let files = Files::new(&[("p.yaml", &policy), ("r.yaml", deployment)]);
    let ran = files.run(&["apply", "p.yaml", "-r", "r.yaml"]);
    assert!(
        ran.err.contains("variant for pod controllers") && ran.err.contains("kyverno#17438"),
        "{}{}",
        ran.out,
        ran.err
    );
}

#[test]
fn a_test_with_fields_of_older_releases_is_repaired_by_the_command_that_the_run_names() {
    let test = "apiVersion: cli.kyverno.io/v1alpha1\nkind: Test\nmetadata: {name: t}\npolicies: [p.yaml]\nresources: [r.yaml]\nresults:\n- {policy: need-team, rule: team, resource: c, namespace: shop, kind: ConfigMap, status: fail}\n";
    let files = Files::new(&[("t/p.yaml", POLICY), ("t/r.yaml", CONFIG_MAP), ("t/kyverno-test.yaml", test)]);
    let ran = files.run(&["test", "t"]);
    assert!(ran.err.contains("`ephor fix test t --save` writes what is read today"), "{}", ran.err);
    assert_eq!(files.run(&["fix", "test", "t", "--save"]).code, Some(0));
    assert_eq!(files.run(&["test", "t"]).code, Some(0), "{}", files.run(&["test", "t"]).out);
    files.write(
        "t/kyverno-test.yaml",
        b"apiVersion: cli.kyverno.io/v1alpha1\nkind: Test\nmetadata: {name: t}\nresults: [{polixy: x}]\n",
    );
    let ran = files.run(&["fix", "test", "t", "--save"]);
    assert_eq!(ran.code, Some(1));
    assert!(ran.err.contains("could not be repaired"), "{}", ran.err);
}

#[test]
fn lint_reports_once_what_generated_rules_repeat() {
    let policy = "apiVersion: kyverno.io/v1\nkind: ClusterPolicy\nmetadata: {name: signed}\nspec:\n  validationFailureAction: Audit\n  rules:\n  - name: r\n    match: {any: [{resources: {kinds: [Pod]}}]}\n    verifyImages:\n    - imageReferences: ['registry.example.org/*']\n      mutateDigest: true\n      attestors: [{entries: [{keys: {secret: {name: k, namespace: kyverno}}}]}]\n";
    let files = Files::new(&[("p.yaml", policy)]);
    let ran = files.run(&["lint", "p.yaml"]);
    assert!(ran.out.contains("1 policy: 1 error"), "{}", ran.out);
}

#[test]
fn a_violation_of_a_loop_is_marked_at_its_element() {
    let policy = "apiVersion: kyverno.io/v1\nkind: ClusterPolicy\nmetadata: {name: p}\nspec:\n  rules:\n  - name: r\n    match: {any: [{resources: {kinds: [Pod]}}]}\n    validate: {message: m, foreach: [{list: request.object.spec.containers, pattern: {image: '!b:*'}}]}\n";
    let files = Files::new(&[("p.yaml", policy), ("pod.yaml", POD)]);
    let ran = text(&files, &["apply", "p.yaml", "-r", "pod.yaml"]);
    assert!(ran.out.contains("pod.yaml:7:25"), "{}", ran.out);
    assert!(files.run(&["explain", "p.yaml", "-r", "pod.yaml"]).out.contains("pod.yaml:7:25"));
}

#[test]
fn what_migrate_writes_is_right_for_old_versions_bare_templates_and_other_namespaces() {
    let policy = |kind: &str| {
        format!(
            "apiVersion: kyverno.io/v1\nkind: ClusterPolicy\nmetadata: {{name: no-beta}}\nspec:\n  rules:\n  - name: r\n    match: {{any: [{{resources: {{kinds: ['{kind}']}}}}]}}\n    preconditions: {{all: [{{key: '{{{{ request.object.apiVersion }}}}', operator: AnyIn, value: [batch/v1beta1]}}]}}\n    validate: {{failureAction: Enforce, message: old version, deny: {{}}}}\n"
        )
    };
    let old = "apiVersion: batch/v1beta1\nkind: CronJob\nmetadata: {name: j, namespace: default}\nspec: {schedule: '* * * * *', jobTemplate: {spec: {template: {spec: {restartPolicy: Never, containers: [{name: a, image: 'a:1'}]}}}}}\n";
    let bare = "apiVersion: batch/v1\nkind: Job\nmetadata: {name: j, namespace: default}\nspec: {template: {spec: {restartPolicy: Never, containers: [{name: a, image: 'a:1'}]}}}\n";
    let security = "apiVersion: kyverno.io/v1\nkind: ClusterPolicy\nmetadata: {name: psa}\nspec:\n  rules:\n  - name: r\n    match: {any: [{resources: {kinds: [Pod]}}]}\n    validate: {failureAction: Enforce, podSecurity: {level: baseline, version: latest}}\n";
    let own = POLICY
        .replace("ClusterPolicy", "Policy")
        .replace("metadata:\n", "metadata:\n  namespace: payments\n");
    let files = Files::new(&[
        ("any.yaml", &policy("batch/*/CronJob")),
        ("plain.yaml", &policy("CronJob")),
        ("pods.yaml", &POLICY.replace("ConfigMap", "Pod")),
        ("psa.yaml", security),
        ("own.yaml", &own),
        ("old-version.yaml", old),
        ("bare.yaml", bare),
        ("elsewhere.yaml", CONFIG_MAP),
    ]);
    for (name, object, said) in [
        ("any.yaml", "old-version.yaml", "fail: 1"),
        ("plain.yaml", "old-version.yaml", "fail: 1"),
        ("pods.yaml", "bare.yaml", "fail: 1"),
        ("psa.yaml", "bare.yaml", "pass: 1"),
        ("own.yaml", "elsewhere.yaml", "fail: 0"),
    ] {
        let ran = files.run(&["migrate", name, "--out", "new"]);
        assert!(!ran.out.contains("differs"), "{name}: {}", ran.out);
        for policy in [name.to_string(), format!("new/{name}")] {
            let ran = files.run(&["apply", &policy, "-r", object]);
            let last = ran.out.lines().last().unwrap_or_default().to_string();
            assert!(last.contains(said) && last.contains("error: 0"), "{policy}: {}{}", ran.out, ran.err);
        }
    }
}

#[test]
fn a_policy_whose_file_names_no_namespace_moves_to_one_for_whatever_namespace_it_is_created_in() {
    let own = POLICY.replace("ClusterPolicy", "Policy");
    let files = Files::new(&[("own.yaml", &own), ("r.yaml", CONFIG_MAP)]);
    let ran = files.run(&["migrate", "own.yaml", "--out", "new"]);
    assert!(ran.out.contains("need-team: proved") && ran.out.contains("names no namespace"), "{}", ran.out);
    let ran = files.run(&["diff", "own.yaml", "new/own.yaml"]);
    assert_eq!(ran.code, Some(0), "{}", ran.out);
    let text = std::fs::read_to_string(files.path("new/own.yaml")).unwrap();
    assert!(text.contains("NamespacedValidatingPolicy") && !text.contains("matchConditions"), "{text}");
    // The command line applies it everywhere, and says so.
    let ran = files.run(&["apply", "new/own.yaml", "-r", "r.yaml"]);
    assert!(ran.err.contains("need-team is of the namespace that it is created in"), "{}", ran.err);
}

#[test]
fn policies_in_a_list_have_places_of_their_own() {
    let indented: String = POLICY.lines().map(|line| format!("  {line}\n")).collect();
    let item = format!("- {}", indented.trim_start());
    let list = format!("apiVersion: v1\nkind: List\nitems:\n- {{apiVersion: v1, kind: Other}}\n{item}");
    let files = Files::new(&[("l.yaml", &list), ("r.yaml", CONFIG_MAP)]);
    let ran = text(&files, &["apply", "l.yaml", "-r", "r.yaml"]);
    assert!(ran.out.contains("l.yaml:15:") && !ran.out.contains("l.yaml:1:"), "{}", ran.out);
    let explained = files.run(&["explain", "l.yaml", "-r", "r.yaml"]).out;
    assert!(explained.contains("need-team/team at l.yaml:11"), "{explained}");
}

#[test]
fn data_that_policies_in_cel_lack_on_the_command_line_is_named_with_its_flag() {
    let policy = |expression: &str| {
        format!(
            "apiVersion: policies.kyverno.io/v1\nkind: ValidatingPolicy\nmetadata: {{name: ns-name}}\nspec:\n  matchConstraints:\n    resourceRules: [{{apiGroups: [''], apiVersions: [v1], resources: [pods], operations: [CREATE]}}]\n  validations: [{{expression: \"{expression}\", message: m}}]\n"
        )
    };
    let files = Files::new(&[("pod.yaml", POD)]);
    for (expression, flag) in [
        ("namespaceObject.metadata.name == 'x'", Some("`namespaceSelector` of -f FILE")),
        ("resource.Get('v1', 'configmaps', 'default', 'c').data.a == 'b'", Some("--context-file")),
        (
            "resource.Get('v1', 'configmaps', object.metadata.namespace, object.metadata.name).data.a == 'b'",
            Some("--context-file"),
        ),
        ("object.spec.hostname == 'x'", None),
    ] {
        files.write("p.yaml", policy(expression).as_bytes());
        let ran = files.run(&["apply", "p.yaml", "-r", "pod.yaml"]);
        let says = |flag: &str| ran.err.contains(flag);
        assert_eq!(
            says("-f FILE") || says("--context-file"),
            flag.is_some(),
            "{expression}: {}{}",
            ran.out,
            ran.err
        );
        assert!(flag.is_none_or(says), "{expression}: {}", ran.err);
        // No part of the object is marked for what the command line does not know.
        let shown = text(&files, &["apply", "p.yaml", "-r", "pod.yaml"]);
        assert_eq!(shown.out.contains('^'), flag.is_none(), "{expression}: {}", shown.out);
        let run =
            |format: &str| files.run(&["apply", "p.yaml", "-r", "pod.yaml", "--output-format", format]).out;
        for (format, mark, end) in [
            ("github", ",line=", "\n"),
            ("json", "\"column\"", "policyPlace"),
            ("sarif", "region", "relatedLocations"),
        ] {
            let out = run(format);
            let place = out.split(end).next().unwrap_or_default();
            assert_eq!(place.contains(mark), flag.is_none(), "{format} {expression}: {out}");
        }
        // `explain` gives the same answer: nothing of the object is shown.
        let explained = files.run(&["explain", "p.yaml", "-r", "pod.yaml"]).out;
        let (_, decisions) = explained.split_once('\n').unwrap();
        assert!(decisions.contains("fails: no such key"), "{explained}");
        assert!(!decisions.contains("pod.yaml:") || flag.is_none(), "{expression}: {explained}");
    }
}

#[test]
fn a_call_whose_path_cannot_be_parsed_marks_no_part_of_the_object_that_the_path_names() {
    let policy = |path: &str| {
        format!(
            "apiVersion: kyverno.io/v1\nkind: ClusterPolicy\nmetadata: {{name: call}}\nspec:\n  rules:\n  - name: r\n    match: {{any: [{{resources: {{kinds: [Pod]}}}}]}}\n    context: [{{name: ns, apiCall: {{urlPath: '{path}'}}}}]\n    validate: {{message: m, deny: {{conditions: {{any: [{{key: '{{{{ ns.metadata.name }}}}', operator: Equals, value: x}}]}}}}}}\n"
        )
    };
    let files = Files::new(&[("pod.yaml", &POD.replace("namespace: default", "namespace: shop"))]);
    for path in [
        "/api/v1/namespaces/shop",
        "/api/v1/namespaces/{{ request.object.metadata.namespace }}",
        "/api/v1/namespaces/{{ request.namespace }}",
    ] {
        files.write("p.yaml", policy(path).as_bytes());
        let ran = files.run(&["apply", "p.yaml", "-r", "pod.yaml", "--output-format", "json"]);
        let place = ran.out.split("policyPlace").next().unwrap_or_default();
        assert!(
            place.contains("failed to parse path") && !place.contains("\"column\""),
            "{path}: {}",
            ran.out
        );
        assert!(!ran.out.contains("\"field\""), "{path}: {}", ran.out);
        assert!(ran.err.contains("a cluster answers it"), "{path}: {}", ran.err);
        let explained = files.run(&["explain", "p.yaml", "-r", "pod.yaml"]).out;
        let (_, decisions) = explained.split_once('\n').unwrap();
        let says = decisions.contains("failed to parse path");
        assert!(says && !decisions.contains("pod.yaml:"), "{path}: {explained}");
    }
}

#[test]
fn an_output_that_cannot_be_written_leaves_no_file_behind() {
    let files = Files::new(&[("p.yaml", POLICY), ("r.yaml", CONFIG_MAP)]);
    let ran = files.run(&["diff", "p.yaml", "p.yaml", "--certificate", "."]);
    assert_eq!(ran.code, Some(2), "{}{}", ran.out, ran.err);
    let mut names: Vec<String> = std::fs::read_dir(files.dir.path())
        .unwrap()
        .map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned())
        .collect();
    names.sort();
    assert_eq!(names, ["p.yaml", "r.yaml"]);
}

#[test]
fn runs_without_annotations_or_exceptions_say_so() {
    let passing = CONFIG_MAP.replace("namespace: shop", "namespace: shop, labels: {team: a}");
    let files = Files::new(&[("p.yaml", POLICY), ("r.yaml", &passing)]);
    for args in [
        &["apply", "p.yaml", "-r", "r.yaml", "--output-format", "github"][..],
        &["diff", "p.yaml", "p.yaml", "--output-format", "github"],
        &["lint", "p.yaml", "--output-format", "github"],
    ] {
        let ran = files.run(args);
        assert!(
            ran.code == Some(0) && !ran.out.trim().is_empty() && !ran.out.contains("::"),
            "{args:?} {}",
            ran.out
        );
    }
    let ran = files.run(&["apply", "p.yaml", "-r", "r.yaml", "--generate-exceptions"]);
    assert!(ran.err.contains("no exception is generated"), "{}", ran.err);
}

#[test]
fn variants_for_controllers_read_the_template_where_the_text_says_object_metadata_and_not_where_it_is_optional()
 {
    let policy = |expression: &str| {
        format!(
            "apiVersion: policies.kyverno.io/v1\nkind: ValidatingPolicy\nmetadata: {{name: p}}\nspec:\n  matchConstraints:\n    resourceRules: [{{apiGroups: [''], apiVersions: [v1], resources: [pods], operations: [CREATE]}}]\n  validations: [{{expression: \"{expression}\", message: m}}]\n"
        )
    };
    let job = |labels: &str| {
        format!(
            "apiVersion: batch/v1\nkind: Job\nmetadata: {{name: j, labels: {{team: own}}}}\nspec: {{template: {{{labels}spec: {{containers: [{{name: a, image: b}}]}}}}}}\n"
        )
    };
    let template = "metadata: {labels: {team: pods}}, ";
    // What Kyverno 1.19.1 answers.
    for (expression, labels, counts) in [
        ("object.metadata.?labels.?team.orValue('') == 'pods'", template, "pass: 1"),
        ("object.?metadata.?labels.?team.orValue('') == 'own'", template, "pass: 1"),
        ("object[?'metadata'].?labels.?team.orValue('') == 'own'", template, "pass: 1"),
        ("object.metadata.?labels.?team.orValue('') == ''", "", "error: 1"),
        ("(has(object.metadata) ? object.metadata : {}).?labels.?team.orValue('') == ''", "", "pass: 1"),
    ] {
        let files = Files::new(&[("p.yaml", &policy(expression)), ("r.yaml", &job(labels))]);
        let ran = files.run(&["apply", "p.yaml", "-r", "r.yaml"]);
        assert!(ran.out.contains(counts), "{expression}: {}{}", ran.out, ran.err);
    }
}

#[test]
fn lint_warns_of_lists_with_several_items_under_conditions() {
    let policy = |items: &str| {
        format!(
            "apiVersion: kyverno.io/v1\nkind: ClusterPolicy\nmetadata: {{name: pull}}\nspec:\n  rules:\n  - name: r\n    match: {{any: [{{resources: {{kinds: [Pod]}}}}]}}\n    mutate:\n      patchStrategicMerge:\n        spec:\n          containers:\n{items}"
        )
    };
    let of = |items: &str| Files::new(&[("p.yaml", &policy(items))]).run(&["lint", "p.yaml"]);
    let two = of(
        "          - (name): app\n            imagePullPolicy: Always\n          - (image): 'b:*'\n            imagePullPolicy: Never\n",
    );
    assert!(
        two.out.contains("p.yaml:14:13: warning: ") && two.out.contains("[merge-removes-items]"),
        "{}",
        two.out
    );
    // The same in a loop, and in a list below a list.
    let nested = of(
        "          - (name): app\n            env:\n            - (name): A\n              value: x\n            - (name): B\n              value: y\n",
    );
    assert!(nested.out.contains("[merge-removes-items]"), "{}", nested.out);
    let one = of(
        "          - (name): app\n            imagePullPolicy: Always\n          - name: side\n            imagePullPolicy: Never\n",
    );
    assert!(!one.out.contains("merge-removes-items"), "{}", one.out);
}

/// A mutation in CEL of pods.
fn labels(autogen: &str, expression: &str) -> String {
    format!(
        "apiVersion: policies.kyverno.io/v1\nkind: MutatingPolicy\nmetadata: {{name: add-label}}\nspec:\n{autogen}  matchConstraints:\n    resourceRules: [{{apiGroups: [''], apiVersions: [v1], operations: [CREATE, UPDATE], resources: [pods]}}]\n  mutations:\n  - patchType: ApplyConfiguration\n    applyConfiguration:\n      expression: '{expression}'\n"
    )
}

#[test]
fn lint_names_the_variant_of_a_mutation_that_cannot_be_evaluated() {
    let of_metadata = "Object{metadata: Object.metadata{labels: Object.metadata.labels{team: \"core\"}}}";
    let of = |text: &str| Files::new(&[("p.yaml", text)]).run(&["lint", "p.yaml"]).out;
    let found = of(&labels("", of_metadata));
    assert!(
        found.contains("p.yaml:10:37: error: the variant of this mutation for controllers of pods"),
        "{found}"
    );
    assert!(found.contains("kyverno#17438") && found.contains("[variant-type-name]"), "{found}");
    // Without variants, and where no type is named that pods alone have.
    let none = "  autogen: {podControllers: {controllers: []}}\n";
    assert!(!of(&labels(none, of_metadata)).contains("variant-type-name"));
    let of_spec = "Object{spec: Object.spec{hostNetwork: false}}";
    assert!(!of(&labels("", of_spec)).contains("variant-type-name"));
}

#[test]
fn what_kyverno_is_silent_about_is_reported_by_test_too() {
    let policy = "apiVersion: kyverno.io/v1\nkind: ClusterPolicy\nmetadata: {name: pull}\nspec:\n  rules:\n  - name: r\n    match: {any: [{resources: {kinds: [Pod]}}]}\n    mutate: {patchStrategicMerge: {spec: {containers: [{(name): app, imagePullPolicy: Always}, {(name): side, imagePullPolicy: Never}]}}}\n";
    let test = "apiVersion: cli.kyverno.io/v1alpha1\nkind: Test\nmetadata: {name: t}\npolicies: [p.yaml]\nresources: [pod.yaml]\nresults:\n- {policy: pull, rule: r, resources: [p], kind: Pod, patchedResources: after.yaml, result: pass}\n";
    let files = Files::new(&[
        ("t/p.yaml", policy),
        ("t/pod.yaml", POD),
        (
            "t/after.yaml",
            "apiVersion: v1\nkind: Pod\nmetadata: {name: p, namespace: default}\nspec:\n  containers:\n  - {name: side, imagePullPolicy: Never}\n",
        ),
        ("t/kyverno-test.yaml", test),
    ]);
    let ran = files.run(&["test", "t"]);
    assert_eq!(ran.code, Some(0), "{}", ran.out);
    assert!(ran.err.contains("removes app, third from spec.containers"), "{}", ran.err);
}

#[test]
fn a_text_that_is_no_version_is_named_where_it_counts_as_nothing() {
    let policy = "apiVersion: kyverno.io/v1\nkind: ClusterPolicy\nmetadata: {name: versions}\nspec:\n  rules:\n  - name: r\n    match: {any: [{resources: {kinds: [ConfigMap]}}]}\n    validate: {message: old, deny: {conditions: {all: [{key: \"{{ semver_compare(request.object.data.version, '<2.0.0') }}\", operator: Equals, value: true}]}}}\n";
    let object = |version: &str| CONFIG_MAP.replace("a: b", &format!("version: '{version}'"));
    let of = |version: &str| {
        Files::new(&[("p.yaml", policy), ("r.yaml", &object(version))])
            .run(&["apply", "p.yaml", "-r", "r.yaml"])
    };
    for version in ["v3.2.1", "3.2", "latest"] {
        let ran = of(version);
        assert!(ran.out.contains("fail: 1"), "{}", ran.out);
        let line = format!("semver_compare: `{version}` is no version of the form 1.2.3 and counts as 0.0.0");
        assert!(ran.err.contains(&line), "{}", ran.err);
    }
    let ran = of("3.2.1");
    assert!(ran.out.contains("pass: 1") && !ran.err.contains("semver_compare"), "{}{}", ran.out, ran.err);
}

#[test]
fn an_admission_policy_with_a_binding_says_where_it_gives_results_that_no_cluster_gives() {
    let policy = "apiVersion: admissionregistration.k8s.io/v1\nkind: ValidatingAdmissionPolicy\nmetadata: {name: no-nodeport}\nspec:\n  matchConstraints:\n    resourceRules: [{apiGroups: [''], apiVersions: [v1], operations: [CREATE], resources: [services]}]\n  validations: [{expression: \"!has(object.spec.type) || object.spec.type != 'NodePort'\"}]\n";
    let binding = "---\napiVersion: admissionregistration.k8s.io/v1\nkind: ValidatingAdmissionPolicyBinding\nmetadata: {name: no-nodeport}\nspec: {policyName: no-nodeport, validationActions: [Deny]}\n";
    let service =
        "apiVersion: v1\nkind: Service\nmetadata: {name: s, namespace: shop}\nspec: {ports: [{port: 80}]}\n";
    let files = Files::new(&[
        ("bound.yaml", &format!("{policy}{binding}")),
        ("alone.yaml", policy),
        ("pod.yaml", POD),
        ("service.yaml", service),
    ]);
    let said = |policy: &str, object: &str| files.run(&["apply", policy, "-r", object]).err;
    let line = "policy no-nodeport gives results about Pod, which its matchConstraints do not select";
    assert!(said("bound.yaml", "pod.yaml").contains(line), "{}", said("bound.yaml", "pod.yaml"));
    assert!(!said("bound.yaml", "service.yaml").contains("gives results about"));
    assert!(!said("alone.yaml", "pod.yaml").contains("gives results about"));
}

#[test]
fn a_path_to_a_namespace_is_an_error_that_says_what_a_cluster_does() {
    let policy = "apiVersion: kyverno.io/v1\nkind: ClusterPolicy\nmetadata: {name: owners}\nspec:\n  rules:\n  - name: r\n    match: {any: [{resources: {kinds: [ConfigMap]}}]}\n    context: [{name: own, apiCall: {urlPath: /api/v1/namespaces/shop}}]\n    validate: {message: m, deny: {conditions: {all: [{key: '{{ own.metadata.name }}', operator: Equals, value: x}]}}}\n";
    let objects = format!("{CONFIG_MAP}---\napiVersion: v1\nkind: Namespace\nmetadata: {{name: shop}}\n");
    let files = Files::new(&[("p.yaml", policy), ("r.yaml", &objects)]);
    let ran = files.run(&["apply", "p.yaml", "-r", "r.yaml"]);
    assert!(ran.out.contains("pass: 0, fail: 0, warn: 0, error: 1"), "{}", ran.out);
    assert!(ran.err.contains("policy owners: the command line reads no `apiCall` path"), "{}", ran.err);
    assert!(ran.err.contains("a cluster answers it"), "{}", ran.err);
}
