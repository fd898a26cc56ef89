//! Policies of our own groups: converted to them and back, and read by every command as Kyverno's.

use crate::common::Files;

const RULE: &str = "# why it is here\napiVersion: kyverno.io/v1   # as Kyverno has it\nkind: ClusterPolicy\nmetadata: {name: need-team}\nspec:\n  rules:\n  - name: team\n    match: {any: [{resources: {kinds: [ConfigMap]}}]}\n    validate:\n      failureAction: Enforce\n      message: team is needed\n      pattern: {metadata: {labels: {team: '?*'}}}\n";
const EXCEPTION: &str = "apiVersion: kyverno.io/v2\nkind: PolicyException\nmetadata: {name: free, namespace: shop}\nspec:\n  exceptions: [{policyName: need-team, ruleNames: [team]}]\n  match: {any: [{resources: {kinds: [ConfigMap], names: [free]}}]}\n";
const HERE: &str = "apiVersion: \"kyverno.io/v1\"\nkind: Policy\nmetadata: {name: here, namespace: shop}\nspec:\n  rules:\n  - name: owner\n    match: {any: [{resources: {kinds: [ConfigMap]}}]}\n    validate: {failureAction: Audit, message: owner is needed, pattern: {metadata: {labels: {owner: '?*'}}}}\n";
const CEL: &str = "apiVersion: policies.kyverno.io/v1\nkind: ValidatingPolicy\nmetadata: {name: cel}\nspec:\n  validationActions: [Deny]\n  matchConstraints: {resourceRules: [{apiGroups: [''], apiVersions: [v1], operations: [CREATE], resources: [configmaps]}]}\n  validations: [{expression: \"object.metadata.name != 'none'\", message: not this}]\n";
const RESOURCES: &str = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: none, namespace: shop}\n---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: free, namespace: shop, labels: {owner: a}}\n";
const TEST: &str = "apiVersion: cli.kyverno.io/v1alpha1\nkind: Test\nmetadata: {name: t}\npolicies: [own.yaml]\nresources: [r.yaml]\nexceptions: [exception.yaml]\nresults:\n- {policy: need-team, rule: team, kind: ConfigMap, resources: [none], result: fail}\n- {policy: need-team, rule: team, kind: ConfigMap, resources: [free], result: skip}\n- {policy: cel, kind: ConfigMap, isValidatingPolicy: true, resources: [none], result: fail}\n";

fn all() -> String {
    [RULE, HERE, CEL].join("---\n")
}

fn own(text: &str) -> String {
    text.replace("policies.kyverno.io/v", "policies.ephor.dev/v").replace("kyverno.io/v", "ephor.dev/v")
}

#[test]
fn policies_are_converted_and_converted_back_to_the_byte() {
    let files = Files::new(&[("p.yaml", &all()), ("e.yaml", EXCEPTION)]);
    let to = files.run(&["convert", "--own-group", "p.yaml", "e.yaml"]);
    assert_eq!((to.code, &*to.err), (Some(0), ""));
    let expected = format!("---\n{}---\n{}", own(&all()), own(EXCEPTION));
    assert_eq!(to.out, expected);
    files.write("own.yaml", to.out.as_bytes());
    let back = files.run(&["convert", "--kyverno-group", "own.yaml"]);
    assert_eq!(back.out, format!("---\n{}---\n{EXCEPTION}", all()));
    // What is converted already stays, which is reported.
    let again = files.run(&["convert", "--own-group", "own.yaml"]);
    assert_eq!(again.out, expected);
    assert!(again.err.contains("nothing is converted"), "{}", again.err);
}

#[test]
fn items_of_lists_are_converted_with_their_comments() {
    let list = "apiVersion: v1\nkind: List\nitems:\n# the first\n- apiVersion: kyverno.io/v1 # here\n  kind: Policy\n  metadata: {name: a, namespace: shop}\n- {apiVersion: v1, kind: ConfigMap, metadata: {name: c}}\n";
    let files = Files::new(&[
        ("l.yaml", list),
        (
            "j.yaml",
            r#"{"kind": "List", "apiVersion": "v1", "items": [{"apiVersion": "policies.kyverno.io/v1", "kind": "MutatingPolicy", "metadata": {"name": "m"}}]}"#,
        ),
    ]);
    let ran = files.run(&["convert", "--own-group", "l.yaml"]);
    assert_eq!(ran.out, format!("---\n{}", own(list)));
    // The list itself and the ConfigMap.
    assert!(ran.err.contains("1 converted, 2 in another group"), "{}", ran.err);
    let json = files.run(&["convert", "--own-group", "j.yaml"]);
    assert!(json.out.contains(r#""policies.ephor.dev/v1", "kind": "MutatingPolicy""#), "{}", json.out);
}

#[test]
fn two_policies_that_would_be_one_are_refused_before_anything_is_printed() {
    let files = Files::new(&[("p.yaml", RULE), ("own.yaml", &own(RULE)), ("here.yaml", HERE)]);
    let ran = files.run(&["convert", "--own-group", "here.yaml", "p.yaml", "own.yaml"]);
    assert_eq!((ran.code, &*ran.out), (Some(2), ""));
    assert!(
        ran.err.contains("own.yaml:1: ClusterPolicy need-team") && ran.err.contains("p.yaml:1"),
        "{}",
        ran.err
    );
    // Of two namespaces they are two.
    files.write("there.yaml", own(HERE).replace("shop", "lab").as_bytes());
    assert_eq!(files.run(&["convert", "--own-group", "here.yaml", "there.yaml"]).code, Some(0));
}

#[test]
fn a_misspelt_path_converts_nothing() {
    let files = Files::new(&[("p.yaml", RULE)]);
    let ran = files.run(&["convert", "--own-group", "p.yaml", "q.yaml"]);
    assert_eq!((ran.code, &*ran.out), (Some(2), ""));
    assert!(ran.err.contains("q.yaml"), "{}", ran.err);
}

#[test]
fn commands_say_of_our_own_groups_what_they_say_of_kyvernos() {
    let files = Files::new(&[
        ("in-k/p.yaml", &all()),
        ("in-k/e.yaml", EXCEPTION),
        ("in-o/p.yaml", &own(&all())),
        ("in-o/e.yaml", &own(EXCEPTION)),
        ("r.yaml", RESOURCES),
    ]);
    for command in [
        &["apply", "P/p.yaml", "-r", "r.yaml", "--exceptions", "P/e.yaml"][..],
        &["apply", "P/p.yaml", "-r", "r.yaml", "--policy-report"],
        &["apply", "P/p.yaml", "-r", "r.yaml", "--output-format", "sarif"],
        &["lint", "P/p.yaml"],
        &["explain", "P/p.yaml"],
        &["explain", "P/p.yaml", "-r", "r.yaml"],
        &["webhook-config", "P/p.yaml", "--url", "https://localhost"],
        &["diff", "in-k/p.yaml", "P/p.yaml"],
    ] {
        let of = |folder: &str| {
            let args: Vec<String> = command.iter().map(|a| a.replace("P/", &format!("{folder}/"))).collect();
            let ran = files.run(&args.iter().map(String::as_str).collect::<Vec<_>>());
            // Nothing of our own groups is deprecated, and reports hold the second of the
            // run.
            let lines = (ran.out.lines())
                .filter(|line| !line.starts_with("Warning: ") && !line.trim_start().starts_with("seconds: "));
            let out: Vec<String> =
                lines.map(|line| line.replace(&format!("{folder}/"), "P/").replace("in-k/", "P/")).collect();
            (ran.code, out)
        };
        let (kyverno, own) = (of("in-k"), of("in-o"));
        assert!(!kyverno.1.is_empty(), "{command:?}");
        assert_eq!(kyverno, own, "{command:?}");
    }
}

#[test]
fn tests_of_policies_in_our_own_groups_run() {
    let files = Files::new(&[
        ("own.yaml", &own(&all())),
        ("exception.yaml", &own(EXCEPTION)),
        ("r.yaml", RESOURCES),
        ("kyverno-test.yaml", TEST),
    ]);
    let ran = files.run(&["test", "."]);
    assert_eq!(ran.code, Some(0), "{}{}", ran.out, ran.err);
    assert!(ran.out.contains("3 tests passed and 0 tests failed"), "{}", ran.out);
    files.write("kyverno-test.yaml", TEST.replacen("result: fail", "result: pass", 1).as_bytes());
    assert_eq!(files.run(&["test", "."]).code, Some(1));
}

#[test]
fn policies_of_our_own_groups_move_to_our_own_groups() {
    let files = Files::new(&[
        ("k.yaml", RULE),
        ("o.yaml", &own(RULE)),
        ("both.yaml", &format!("{RULE}---\n{}", own(HERE))),
    ]);
    let (kyverno, moved) = (files.run(&["migrate", "k.yaml"]), files.run(&["migrate", "o.yaml"]));
    assert_eq!((moved.code, moved.out.replace("o.yaml", "k.yaml")), (Some(0), own(&kyverno.out)));
    assert!(moved.out.contains("apiVersion: policies.ephor.dev/v1\nkind: ValidatingPolicy"), "{}", moved.out);
    assert_eq!(moved.err, kyverno.err.replace("k.yaml", "o.yaml"));
    // Policies of Kubernetes have one group.
    let native = files.run(&["migrate", "--to", "vap", "o.yaml"]);
    assert_eq!(native.out.replace("o.yaml", "k.yaml"), files.run(&["migrate", "--to", "vap", "k.yaml"]).out);
    assert!(native.out.contains("apiVersion: admissionregistration.k8s.io/v1"), "{}", native.out);
    let both = files.run(&["migrate", "both.yaml"]);
    assert!(both.err.contains("both.yaml: policies of our own groups stay as they are"), "{}", both.err);
    assert!(both.out.contains("apiVersion: \"ephor.dev/v1\"\nkind: Policy"), "{}", both.out);
}

#[test]
fn json_schemas_of_our_own_groups_are_written() {
    let files = Files::new(&[]);
    assert_eq!(files.run(&["schema", "--out", "s"]).code, Some(0));
    let schema = std::fs::read_to_string(files.path("s/ephor.dev/clusterpolicy_v1.json")).unwrap();
    assert!(schema.contains("\"const\": \"ephor.dev/v1\""), "the schema names its group");
    assert!(files.path("s/kyverno.io/clusterpolicy_v1.json").exists());
}
