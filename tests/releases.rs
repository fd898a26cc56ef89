//! `--kubernetes` of commands: Kubernetes' own policies as the API server of a release evaluates
//! them, and what changes between two. The verdicts were confirmed on kube-apiserver 1.36.3 and
//! 1.37.2 (`conformance/reference/releases.py`).
#![allow(clippy::expect_used)]

use crate::common::Files;

fn policy(name: &str, operations: &str, expression: &str) -> String {
    format!(
        "apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {{name: {name}}}
spec:
  matchConstraints:
    resourceRules:
    - {{apiGroups: [''], apiVersions: [v1], operations: [{operations}], resources: [pods]}}
  validations:
  - expression: \"{expression}\"
"
    )
}

const POD: &str =
    "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\nspec: {containers: [{name: a, image: a}]}\n";

/// A list of structures is searched for a text.
const MIXED: &str = "!object.spec.containers.exists(c, c == 'x')";

fn files() -> Files {
    let mixed = policy("mixed", "CREATE, UPDATE", MIXED);
    let plain = policy("plain", "CREATE", "object.spec.containers.all(c, c.image != 'b')");
    let same = policy("same", "UPDATE", "object.spec == oldObject.spec");
    Files::new(&[
        ("mixed.yaml", &mixed),
        ("all.yaml", &[mixed.as_str(), &plain, &same].join("---\n")),
        ("plain.yaml", &plain),
        ("pod.yaml", POD),
    ])
}

#[test]
fn apply_evaluates_as_the_release_does() {
    let files = files();
    let counts = |flags: &[&str]| {
        let ran = files.run(&[&["apply", "mixed.yaml", "-r", "pod.yaml"], flags].concat());
        let last = ran.out.lines().last().unwrap_or_default().to_string();
        (ran.code, last, ran.err)
    };
    let passes = "pass: 1, fail: 0, warn: 0, error: 0, skip: 0 ";
    for flags in [&[][..], &["--kubernetes", "1.36"]] {
        assert_eq!(counts(flags), (Some(0), passes.into(), String::new()), "{flags:?}");
    }
    let (code, last, err) = counts(&["--kubernetes", "1.37"]);
    assert_eq!((code, &*last), (Some(1), "pass: 0, fail: 0, warn: 0, error: 1, skip: 0 "));
    assert!(err.contains("resulted in error: no such overload"), "{err}");
    let (_, _, err) = counts(&["--kubernetes", "1.99"]);
    assert!(err.starts_with("warning: nothing is recorded of Kubernetes 1.99; 1.38 applies"), "{err}");
    let (code, _, err) = counts(&["--kubernetes", "newest"]);
    assert_eq!(code, Some(1));
    assert!(err.contains("`newest` is no version of Kubernetes; hint: write it as `1.37`"), "{err}");
}

#[test]
fn objects_have_the_fields_and_defaults_of_the_release() {
    let expression = "object.spec.updateStrategy.rollingUpdate.?maxUnavailable.orValue(0) == 1";
    let sets = policy("sets", "CREATE", expression).replace("['']", "[apps]").replace("pods", "statefulsets");
    let set = "apiVersion: apps/v1
kind: StatefulSet
metadata: {name: a}
spec:
  selector: {matchLabels: {a: a}}
  template: {metadata: {labels: {a: a}}, spec: {containers: [{name: a, image: a}]}}
";
    // A value that is given goes the same way: the gate of the field is closed on 1.36.
    let given =
        format!("{set}  updateStrategy: {{type: RollingUpdate, rollingUpdate: {{maxUnavailable: 1}}}}\n");
    let files = Files::new(&[("p.yaml", &sets), ("r.yaml", set), ("given.yaml", &given)]);
    for (object, release, code) in
        [("r.yaml", "1.36", 1), ("r.yaml", "1.37", 0), ("given.yaml", "1.36", 1), ("given.yaml", "1.37", 0)]
    {
        let ran = files.run(&["apply", "p.yaml", "-r", object, "--kubernetes", release]);
        assert_eq!(ran.code, Some(code), "{object} {release}: {}{}", ran.out, ran.err);
    }
}

#[test]
fn bindings_and_constraints_decide_as_in_a_cluster() {
    let own = policy("mixed", "CREATE", "false");
    let binding = "---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata: {name: b}
spec:
  policyName: mixed
  validationActions: [Deny]
  matchResources: {objectSelector: {matchLabels: {team: a}}}
";
    let labelled = POD.replace("{name: a}", "{name: b, labels: {team: a}}");
    let map = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c, labels: {team: a}}\n";
    let files = Files::new(&[("p.yaml", &(own + binding)), ("r.yaml", &[POD, &labelled, map].join("---\n"))]);
    let ran = files.run(&["apply", "p.yaml", "-r", "r.yaml", "--kubernetes", "1.37"]);
    assert_eq!(ran.out.lines().last(), Some("pass: 0, fail: 1, warn: 0, error: 0, skip: 0 "), "{}", ran.out);
}

#[test]
fn a_test_names_its_release() {
    let test = |more: &str, result: &str| {
        format!(
            "apiVersion: cli.kyverno.io/v1alpha1\nkind: Test\nmetadata: {{name: t}}\npolicies: [mixed.yaml]\nresources: [pod.yaml]\n{more}\
             results:\n- {{policy: mixed, isValidatingAdmissionPolicy: true, kind: Pod, resources: [a], result: {result}}}\n"
        )
    };
    let run = |more: &str, result: &str, flags: &[&str]| {
        let files = files();
        files.write("kyverno-test.yaml", test(more, result).as_bytes());
        files.run(&[&["test", "."], flags].concat())
    };
    assert_eq!(run("", "pass", &[]).code, Some(0));
    assert_eq!(run("kubernetes: '1.37'\n", "error", &[]).code, Some(0));
    assert_eq!(run("", "error", &["--kubernetes", "1.37"]).code, Some(0));
    // The file says what it needs.
    assert_eq!(run("kubernetes: '1.36'\n", "pass", &["--kubernetes", "1.37"]).code, Some(0));
    let wrong = run("kubernetes: newest\n", "pass", &[]);
    assert_eq!(wrong.code, Some(1));
    assert!(format!("{}{}", wrong.out, wrong.err).contains("`newest` is no version of Kubernetes"));
}

#[test]
fn a_policy_is_compared_with_itself_on_two_releases() {
    let files = files();
    let both = ["--kubernetes", "1.36,1.37"];
    let same = files.run(&[&["diff", "plain.yaml", "plain.yaml"], &both[..]].concat());
    assert_eq!(same.code, Some(0));
    assert!(same.out.contains("plain: equal, proved"), "{}", same.out);
    let mixed = files.run(&[&["diff", "mixed.yaml", "mixed.yaml"], &both[..]].concat());
    assert_eq!(mixed.code, Some(1));
    assert!(mixed.out.contains("stricter: Pod CREATE, in clusters"), "{}", mixed.out);
    let replay = "ephor apply mixed.yaml --kubernetes 1.37 -r -";
    assert!(mixed.out.contains(replay), "{}", mixed.out);
    let once = files.run(&["diff", "mixed.yaml", "mixed.yaml", "--kubernetes", "1.37"]);
    assert_eq!(once.code, Some(0));
    assert!(once.out.contains("mixed: equal, proved"), "{}", once.out);
    let three = files.run(&["diff", "mixed.yaml", "mixed.yaml", "--kubernetes", "1.36,1.37,1.38"]);
    assert_eq!(three.code, Some(2), "1 says that there is a difference");
    assert!(three.err.contains("3 versions; hint: write two"), "{}", three.err);
    let half = files.run(&["diff", "mixed.yaml", "mixed.yaml", "--kubernetes", "1.36,"]);
    assert_eq!(half.code, Some(2));
    assert!(half.err.contains("a version is missing"), "{}", half.err);
}

#[test]
fn what_both_releases_refuse_is_one_line() {
    let files = files();
    files.write("broken.yaml", policy("broken", "CREATE", "object.").as_bytes());
    let ran = files.run(&["cluster-check", "--kubernetes", "1.36,1.37", "broken.yaml"]);
    assert_eq!(ran.code, Some(1));
    let lines: Vec<&str> = ran.out.lines().filter(|line| line.contains("broken:")).collect();
    assert_eq!(lines.len(), 1, "{}", ran.out);
    assert!(lines[0].contains("Kubernetes 1.36 and 1.37 refuse broken"), "{}", ran.out);
}

#[test]
fn policies_of_kyverno_do_not_depend_on_the_release() {
    let files = files();
    files.write(
        "classic.yaml",
        b"apiVersion: kyverno.io/v1
kind: ClusterPolicy
metadata: {name: p}
spec:
  rules:
  - name: r
    match: {any: [{resources: {kinds: [Pod]}}]}
    validate: {message: m, pattern: {metadata: {name: '?*'}}}
",
    );
    let ran = files.run(&["cluster-check", "--kubernetes", "1.36,1.37", "classic.yaml"]);
    assert_eq!(ran.code, Some(0));
    assert!(ran.out.contains("1 Kyverno policy does not depend on its release"), "{}", ran.out);
}

#[test]
fn a_check_without_a_cluster_says_what_else_can_be_checked() {
    let files = files();
    for flags in [&[][..], &["--kubernetes", "1.37"]] {
        let mut program = files.program(&[&["cluster-check"], flags].concat());
        program.env("KUBECONFIG", "/nowhere/config");
        let ran = crate::common::Ran::new(program.output().expect("the program starts"));
        assert_eq!(ran.code, Some(2));
        assert!(ran.err.contains("hint: name a kubeconfig"), "{}", ran.err);
    }
}

#[test]
fn an_upgrade_of_kubernetes_is_checked_for_every_policy() {
    let files = files();
    let reserved = policy("x.static.k8s.io", "CREATE", "true");
    files.write("reserved.yaml", reserved.as_bytes());
    let ran = files.run(&["cluster-check", "--kubernetes", "1.37", "all.yaml", "reserved.yaml"]);
    assert_eq!(ran.code, Some(1));
    for line in [
        "reserved.yaml:1: Kubernetes 1.37 refuses x.static.k8s.io:",
        "mixed: differs: stricter",
        "plain: equal, proved",
        "same: differs: weaker",
        "3 policies: 1 proved, 0 tested, 2 differ",
    ] {
        assert!(ran.out.contains(line), "{line}: {}", ran.out);
    }
    let good =
        files.run(&["cluster-check", "--kubernetes", "1.36,1.37", "plain.yaml", "--output-format", "json"]);
    assert_eq!(good.code, Some(0), "{}", good.err);
    let json: serde_json::Value = serde_json::from_str(&good.out).expect("JSON");
    assert_eq!((&json["kubernetes"][1], &json["policies"][0]["answer"]), (&"1.37".into(), &"proved".into()));
    let nothing = files.run(&["cluster-check", "--kubernetes", "1.36,1.36", "plain.yaml"]);
    assert_eq!(nothing.code, Some(2));
    assert!(nothing.err.contains("nothing changes from Kubernetes 1.36 to 1.36"), "{}", nothing.err);
}

#[test]
fn what_migrate_writes_is_proved_from_a_release_on() {
    let classic = |check: &str| {
        format!(
            "apiVersion: kyverno.io/v1
kind: ClusterPolicy
metadata:
  name: p
  annotations: {{pod-policies.kyverno.io/autogen-controllers: none}}
spec:
  rules:
  - name: r
    match: {{any: [{{resources: {{kinds: [Pod], operations: [CREATE]}}}}]}}
    validate:
      failureAction: Enforce
      allowExistingViolations: false
      message: m
      {check}
"
        )
    };
    let files = Files::new(&[
        ("pattern.yaml", &classic("pattern: {spec: {=(hostNetwork): false}}")),
        ("cel.yaml", &classic(&format!("cel: {{expressions: [{{expression: \"{MIXED}\"}}]}}"))),
    ]);
    let run = |file: &str| {
        let ran = files.run(&["migrate", file, "--to", "vap", "--kubernetes", "1.36"]);
        format!("{}{}", ran.out, ran.err)
    };
    assert!(run("pattern.yaml").contains("proved"), "{}", run("pattern.yaml"));
    let said = run("cel.yaml");
    assert!(
        said.contains("`c == 'x'` compares a structure, list or map with a scalar: an error in 1.37"),
        "{said}"
    );
    let lines = classic("pattern: {spec: {=(hostNetwork): false}}")
        .replace("message: m", "message: \"one\\n\\n  two\"");
    files.write("lines.yaml", lines.as_bytes());
    assert!(run("lines.yaml").contains("message: one two"), "{}", run("lines.yaml"));
    let other = files.run(&["migrate", "pattern.yaml", "--kubernetes", "1.36"]);
    assert!(other.err.contains("--kubernetes has no effect without --to vap"), "{}", other.err);
}
