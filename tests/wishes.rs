//! What new users wished for when they tried the program: each test does what the user did.
//!
//! Wishes that have their tests elsewhere are not repeated here: formats and inputs are in
//! `outputs.rs`, `lint` and `create` in `commands.rs`, the tests of policies in `test_command.rs`,
//! the server in `serve/`.
#![allow(clippy::expect_used)]

use crate::common::{Files, POLICY, RESOURCES};

const POD: &str = "apiVersion: v1
kind: Pod
metadata:
  name: cart
  namespace: shop
  labels: {team: shop}
spec:
  hostNetwork: true
  containers:
  - name: a
    image: a:1
  - name: b
    image: b:latest
";

/// A policy with one rule about Pods.
fn rule(name: &str, body: &str) -> String {
    format!(
        "apiVersion: kyverno.io/v1\nkind: ClusterPolicy\nmetadata: {{name: {name}}}\nspec:\n  rules:\n  - name: r\n    match: {{any: [{{resources: {{kinds: [Pod]}}}}]}}\n    validate:\n      message: m\n{body}"
    )
}

#[test]
fn apply_explains_what_decided_behind_its_results() {
    let files = Files::new(&[("p.yaml", POLICY), ("r.yaml", RESOURCES)]);
    let ran = files.run(&["apply", "p.yaml", "-r", "r.yaml", "--explain"]);
    let (results, explained) = ran.out.split_once("skip: 0 \n").expect("results");
    assert!(results.contains("need-team"), "{results}");
    assert!(
        explained.contains("r.yaml:1 ConfigMap default/bad\n\nneed-team/team at p.yaml:7: fail\n"),
        "{explained}"
    );
    assert!(explained.contains("need-team/team at p.yaml:7: pass\n"), "{explained}");
    // A document stays one.
    let ran = files.run(&["apply", "p.yaml", "-r", "r.yaml", "--explain", "--output-format", "json"]);
    assert!(serde_json::from_str::<serde_json::Value>(&ran.out).is_ok(), "{}", ran.out);
    assert!(ran.err.contains("need-team/team at p.yaml:7: fail\n"), "{}", ran.err);
}

#[test]
fn violations_of_patterns_conditions_loops_and_controls_have_line_and_column() {
    let patterns = rule("pattern", "      pattern: {spec: {containers: [{image: '!*:latest'}]}}\n");
    let deny = rule(
        "deny",
        "      deny: {conditions: {any: [{key: '{{ request.object.spec.hostNetwork }}', operator: Equals, value: true}]}}\n",
    );
    let foreach = rule(
        "foreach",
        "      foreach:\n      - list: request.object.spec.containers\n        deny: {conditions: {any: [{key: '{{ element.image }}', operator: Equals, value: '*:latest'}]}}\n",
    );
    let controls = rule("controls", "      podSecurity: {level: baseline, version: latest}\n");
    let cel = rule(
        "cel",
        "      cel: {expressions: [{expression: \"object.spec.containers.all(c, !c.image.endsWith('latest'))\"}]}\n",
    );
    for (policy, place) in [
        (patterns, "pod.yaml:13:12"),
        (deny, "pod.yaml:8:16"),
        (foreach, "pod.yaml:13:12"),
        (controls, "pod.yaml:8:16"),
        (cel, "pod.yaml:13:12"),
    ] {
        let files = Files::new(&[("p.yaml", &policy), ("pod.yaml", POD)]);
        let ran = files.run(&["apply", "p.yaml", "-r", "pod.yaml", "--output-format", "text"]);
        assert_eq!(ran.code, Some(1), "{policy}{}{}", ran.out, ran.err);
        assert!(ran.out.contains(&format!("┌ {place}\n")), "{policy}{}", ran.out);
    }
}

#[test]
fn a_strict_run_ends_with_2_in_each_case_that_a_green_run_would_hide() {
    let good = rule("good", "      pattern: {metadata: {name: '?*'}}\n");
    let left_out = good.replace("match:", "mach:");
    let refused = rule("refused", "      deny: {conditions: {any: [{key: a, operator: Nope, value: b}]}}\n");
    let error = rule(
        "error",
        "      deny: {conditions: {any: [{key: '{{ request.object.spec.nosuch }}', operator: Equals, value: x}]}}\n",
    );
    let files = Files::new(&[
        ("good.yaml", &good),
        ("left-out.yaml", &left_out),
        ("refused.yaml", &refused),
        ("error.yaml", &error),
        ("no-yaml.yaml", "a: ["),
        ("empty.yaml", "# nothing\n"),
        ("pod.yaml", POD),
    ]);
    let run = |arguments: &[&str]| files.run(&[&["apply", "--strict"], arguments].concat());
    assert_eq!(run(&["good.yaml", "-r", "pod.yaml"]).code, Some(0));
    for (arguments, why) in [
        (&["nosuch.yaml", "-r", "pod.yaml"][..], "no policy"),
        (&["good.yaml", "nosuch.yaml", "-r", "pod.yaml"], "1 policy source or document cannot be used"),
        (&["good.yaml", "left-out.yaml", "-r", "pod.yaml"], "1 policy source or document cannot be used"),
        (&["good.yaml", "no-yaml.yaml", "-r", "pod.yaml"], "1 policy source or document cannot be used"),
        (&["empty.yaml", "-r", "pod.yaml"], "no policy"),
        (&["good.yaml", "refused.yaml", "-r", "pod.yaml"], "1 policy is refused"),
        (&["good.yaml", "-r", "empty.yaml"], "no resource"),
        (&["good.yaml", "-r", "nosuch.yaml"], "nosuch.yaml"),
        (&["good.yaml", "-r", "no-yaml.yaml"], "failed to load resources"),
        (&["good.yaml", "error.yaml", "-r", "pod.yaml"], "1 result is an error"),
    ] {
        let ran = run(arguments);
        assert_eq!(ran.code, Some(2), "{arguments:?}: {}", ran.err);
        assert!(ran.err.contains(why), "{arguments:?}: {}", ran.err);
    }
}

#[test]
fn misspelt_fields_of_objects_are_found_in_policies_of_every_language() {
    let cel = |kind: &str, body: &str| {
        format!(
            "apiVersion: policies.kyverno.io/v1\nkind: {kind}\nmetadata: {{name: p}}\nspec:\n  matchConstraints: {{resourceRules: [{{apiGroups: [apps], apiVersions: [v1], operations: [CREATE], resources: [deployments]}}]}}\n{body}"
        )
    };
    for (policy, wrong) in [
        (cel("ValidatingPolicy", "  validations: [{expression: object.spec.replcas > 1}]\n"), "replcas"),
        (
            cel(
                "MutatingPolicy",
                "  mutations: [{patchType: JSONPatch, jsonPatch: {expression: '[JSONPatch{op: \"add\", path: \"/spec/x\", value: object.spec.replcas}]'}}]\n",
            ),
            "replcas",
        ),
        (rule("p", "      pattern: {spec: {containrs: [{image: x}]}}\n"), "containrs"),
        (
            rule(
                "p",
                "      deny: {conditions: {any: [{key: '{{ request.object.metadata.nmae }}', operator: Equals, value: x}]}}\n",
            ),
            "nmae",
        ),
    ] {
        let files = Files::new(&[("p.yaml", &policy)]);
        let ran = files.run(&["lint", "p.yaml", "--fail-on", "warning"]);
        assert_eq!(ran.code, Some(1), "{policy}{}", ran.out);
        let first = ran.out.lines().next().unwrap_or_default();
        assert!(first.contains(" warning: ") && first.contains(wrong), "{}", ran.out);
        assert!(ran.out.contains("did you mean `"), "{}", ran.out);
    }
}

#[test]
fn apply_says_where_a_policy_is_broken_and_what_was_meant() {
    let good = rule("good", "      pattern: {metadata: {name: '?*'}}\n");
    let cel = "apiVersion: policies.kyverno.io/v1\nkind: ValidatingPolicy\nmetadata: {name: p}\nspec:\n  matchConstraints: {resourceRules: [{apiGroups: [''], apiVersions: [v1], operations: [CREATE], resources: [pods]}]}\n  validations:\n  - expression: object.kind.contians('x')\n";
    for (policy, lines) in [
        (
            good.replace("validate:", "valdate:"),
            &[
                "warning: p.yaml:8:5: failed to parse document (",
                "help: p.yaml:8:5: unknown field `valdate`",
                "; did you mean `validate`?",
            ][..],
        ),
        (
            good.replace("    match", "\tmatch"),
            &["warning: p.yaml:7: ", "help: p.yaml:7:1: a tab cannot indent YAML; indent with blanks"],
        ),
        (
            good.replace("message: m", "message: no"),
            &["warning: p.yaml:9:16: ", "help: p.yaml:9:16: ", "; quote it: \"no\""],
        ),
        (
            rule(
                "p",
                "      deny: {conditions: {any: [{key: '{{ request.name }}', operator: Equls, value: b}]}}\n",
            ),
            &["help: p.yaml:10:71: there is no operator `Equls`; did you mean `Equals`?"],
        ),
        (
            cel.into(),
            &["help: p.yaml:7:29: ", "undeclared reference to 'contians'", "; did you mean `contains`?"],
        ),
    ] {
        let files = Files::new(&[("p.yaml", &policy), ("pod.yaml", POD)]);
        let ran = files.run(&["apply", "p.yaml", "-r", "pod.yaml"]);
        for line in lines {
            assert!(ran.err.contains(line), "{line}: {}", ran.err);
        }
        assert!(!files.run(&["apply", "p.yaml", "-r", "pod.yaml", "--quiet"]).err.contains("help: "));
    }
    // What is refused is shown at the part that the check refuses.
    let refused = rule("p", "      deny: {conditions: {any: [{key: a, operator: Nope, value: b}]}}\n");
    let files = Files::new(&[("p.yaml", &refused), ("pod.yaml", POD)]);
    let ran = files.run(&["apply", "p.yaml", "-r", "pod.yaml", "--output-format", "text"]);
    assert!(ran.out.contains("= policy p.yaml:10:33\n"), "{}", ran.out);
}

#[test]
fn forms_of_a_control_are_named_at_their_expressions_and_are_cases_of_their_own() {
    let native = "apiVersion: admissionregistration.k8s.io/v1\nkind: ValidatingAdmissionPolicy\nmetadata: {name: tags}\nspec:\n  matchConstraints: {resourceRules: [{apiGroups: [''], apiVersions: [v1], operations: [CREATE], resources: [pods]}]}\n  validations:\n  - expression: object.metadata.name == 'cart'\n  - expression: object.spec.containers.all(c, !c.image.endsWith(':latest'))\n    message: m\n";
    let binding = "---\napiVersion: admissionregistration.k8s.io/v1\nkind: ValidatingAdmissionPolicyBinding\nmetadata: {name: tags}\nspec: {policyName: tags, validationActions: [Deny]}\n";
    let kyverno =
        native.replace("admissionregistration.k8s.io", "policies.kyverno.io").replace("Admission", "");
    for native in [native.to_owned(), format!("{native}{binding}")] {
        let files = Files::new(&[("vap.yaml", &native), ("vpol.yaml", &kyverno), ("pod.yaml", POD)]);
        let run = |format: &str| {
            files.run(&["apply", "vap.yaml", "vpol.yaml", "-r", "pod.yaml", "--output-format", format]).out
        };
        let text = run("text");
        assert!(text.contains("┌ pod.yaml:13:12\n"), "{text}");
        for place in ["ValidatingAdmissionPolicy vap.yaml:8:17\n", "ValidatingPolicy vpol.yaml:8:17\n"] {
            assert!(text.contains(place), "{place}: {text}");
        }
        let junit = run("junit");
        for case in
            ["name=\"ValidatingAdmissionPolicy tags\" classname", "name=\"ValidatingPolicy tags\" classname"]
        {
            assert_eq!(junit.matches(case).count(), 1, "{case}: {junit}");
        }
    }
}

#[test]
fn rules_of_policies_of_every_kind_are_explained() {
    let files = Files::new(&[("pod.yaml", POD)]);
    for kind in [
        "ClusterPolicy",
        "ValidatingPolicy",
        "ValidatingAdmissionPolicy",
        "MutatingPolicy",
        "GeneratingPolicy",
        "ImageValidatingPolicy",
    ] {
        files.run(&["create", "policy", "own", "--kind", kind, "--from", "pod.yaml", "-o", "p.yaml"]);
        let ran = files.run(&["explain", "p.yaml"]);
        assert_eq!((ran.code, &*ran.err), (Some(0), ""), "{kind}: {}", ran.out);
        assert!(ran.out.starts_with("own"), "{kind}: {}", ran.out);
    }
}

#[test]
fn deprecated_kinds_are_one_line_on_standard_error_however_many_there_are() {
    let policies: Vec<String> =
        (0..30).map(|i| rule(&format!("p{i}"), "      pattern: {metadata: {name: '?*'}}\n")).collect();
    let files = Files::new(&[("p.yaml", &policies.join("---\n")), ("pod.yaml", POD)]);
    let run = |more: &[&str]| {
        files.run(&[&["apply", "p.yaml", "-r", "pod.yaml", "--output-format", "text"], more].concat())
    };
    let ran = run(&[]);
    assert_eq!(ran.err, "warning: 30 policies or exceptions use deprecated kinds (-v 1 lists them)\n");
    assert_eq!(ran.out.lines().count(), 1, "{}", ran.out);
    assert!(run(&["-v", "1"]).err.lines().count() >= 30);
    assert_eq!(run(&["--quiet"]).err, "");
}

#[test]
fn a_test_file_that_is_no_yaml_is_named_with_the_line_that_is_wrong() {
    let test = "apiVersion: cli.kyverno.io/v1alpha1\nkind: Test\nmetadata: {name: x}\npolicies: [a\nresources:\n- b\n";
    let ran = Files::new(&[("t/kyverno-test.yaml", test)]).run(&["test", "t"]);
    assert_eq!(ran.code, Some(1));
    assert!(ran.err.starts_with("warning: t/kyverno-test.yaml:4: did not find expected "), "{}", ran.err);
}

#[test]
fn a_misspelt_function_of_cel_is_named_with_what_was_meant() {
    let ran = Files::new(&[]).run(&["cel", "check", "object.contians('x')"]);
    assert_eq!(ran.code, Some(1));
    assert!(ran.err.ends_with("help: did you mean `contains`?\n"), "{}", ran.err);
}

#[test]
fn the_pages_of_a_first_day_and_the_ways_to_install_are_there() {
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR"));
    let summary = std::fs::read_to_string(root.join("docs/SUMMARY.md")).expect("the table of contents");
    for page in ["start/install.md", "start/first-run.md", "guides/ci.md", "guides/from-kyverno.md"] {
        assert!(summary.contains(page) && root.join("docs").join(page).exists(), "{page}");
    }
    for file in ["deploy/packages/render.sh", "deploy/github", "deploy/gitlab", "deploy/Containerfile"] {
        assert!(root.join(file).exists(), "{file}");
    }
    let readme = std::fs::read_to_string(root.join("README.md")).expect("the first page");
    for page in
        ["docs/start/install.md", "docs/start/first-run.md", "docs/start/cluster.md", "docs/guides/ci.md"]
    {
        assert!(readme.contains(page), "{page}");
    }
}
