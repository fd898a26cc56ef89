//! Kyverno's CEL policies on the command line. What they say was compared with the reference
//! program.
#![allow(clippy::expect_used)]

use crate::common::{Files, Ran};

const PODS: &str = "matchConstraints: {resourceRules: [{apiGroups: [''], apiVersions: [v1], operations: [CREATE], resources: [pods]}]}";
const MAPS: &str = "matchConstraints: {resourceRules: [{apiGroups: [''], apiVersions: [v1], operations: [CREATE], resources: [configmaps]}]}";

fn policy(kind: &str, name: &str, spec: &str) -> String {
    format!("apiVersion: policies.kyverno.io/v1\nkind: {kind}\nmetadata: {{name: {name}}}\nspec:\n  {spec}\n")
}

fn map(name: &str, more: &str) -> String {
    format!("apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: {name}, namespace: web}}\n{more}\n")
}

fn pod(name: &str, spec: &str) -> String {
    format!("apiVersion: v1\nkind: Pod\nmetadata: {{name: {name}, namespace: web}}\nspec: {spec}\n")
}

/// What is printed behind the line with the counts of rules and resources.
fn printed(ran: &Ran) -> &str {
    ran.out.split_once("...\n").map_or(&*ran.out, |(_, rest)| rest).trim()
}

fn apply(files: &[(&str, &str)], more: &[&str]) -> Ran {
    let mut args = vec!["apply", "p.yaml"];
    args.extend(more);
    Files::new(files).run(&args)
}

#[test]
fn the_first_verdict_that_is_not_true_is_printed() {
    let spec = format!(
        "{MAPS}\n  variables: [{{name: team, expression: \"object.data.team\"}}]\n  validations:\n  - {{expression: \"variables.team != 'red'\", messageExpression: \"'no ' + variables.team\"}}\n  - {{expression: \"variables.team != 'blue'\", message: not blue}}\n  - {{expression: \"variables.team != 'green'\"}}"
    );
    let objects: Vec<String> = ["red", "blue", "green", "white"]
        .iter()
        .map(|team| map(team, &format!("data: {{team: {team}}}")))
        .chain([map("none", "")])
        .collect();
    let ran = apply(
        &[("p.yaml", &policy("ValidatingPolicy", "teams", &spec)), ("r.yaml", &objects.join("---\n"))],
        &["-r", "r.yaml"],
    );
    assert_eq!(
        printed(&ran),
        "policy teams -> resource web/ConfigMap/red failed:
1 -  no red
policy teams -> resource web/ConfigMap/blue failed:
1 -  not blue
policy teams -> resource web/ConfigMap/green failed:
1 -  CEL expression validation failed at index 2

pass: 1, fail: 3, warn: 0, error: 1, skip: 0"
    );
    assert_eq!(ran.code, Some(1));
}

#[test]
fn expressions_that_do_not_compile_end_the_run_with_their_place() {
    let spec = format!("{MAPS}\n  validations: [{{expression: \"object.metadata.name\"}}]");
    let ran = apply(
        &[("p.yaml", &policy("ValidatingPolicy", "bad", &spec)), ("r.yaml", &map("a", ""))],
        &["-r", "r.yaml"],
    );
    assert!(
        ran.err.contains("Error: failed to apply policies on resource a (failed to compile policy bad ([<nil>: Internal error: validating policy compiler 1.0 error: failed to compile policy, spec.validations[0].expression: Invalid value: \"object.metadata.name\": output is expected to be of type bool]))"),
        "{}",
        ran.err
    );
    assert_eq!(ran.code, Some(1));
}

#[test]
fn a_policy_on_pods_has_variants_for_their_controllers() {
    let spec = format!(
        "{PODS}\n  validations: [{{expression: \"object.spec.hostNetwork == true\", message: object.spec}}]"
    );
    let deployment = "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: d, namespace: web}\nspec: {template: {spec: {hostNetwork: false}}}\n";
    let ran = apply(
        &[("p.yaml", &policy("ValidatingPolicy", "host", &spec)), ("r.yaml", deployment)],
        &["-r", "r.yaml"],
    );
    // The text of the whole policy is rewritten, messages included.
    assert!(printed(&ran).contains("1 -  object.spec.template.spec\n"), "{}", ran.out);
}

#[test]
fn exceptions_spare_objects_or_let_values_pass() {
    let spec = format!(
        "{MAPS}\n  validations: [{{expression: \"object.metadata.name in exceptions.allowedValues\", message: no}}]"
    );
    let exceptions = "apiVersion: policies.kyverno.io/v1
kind: PolicyException
metadata: {name: whole, namespace: web}
spec:
  policyRefs: [{name: p, kind: ValidatingPolicy}]
  matchConditions: [{name: c, expression: \"object.metadata.name == 'a'\"}]
---
apiVersion: policies.kyverno.io/v1
kind: PolicyException
metadata: {name: part, namespace: web}
spec:
  policyRefs: [{name: p, kind: ValidatingPolicy}]
  allowedValues: [b]
";
    let objects = ["a", "b", "c"].map(|name| map(name, "")).join("---\n");
    let ran = apply(
        &[
            ("p.yaml", &policy("ValidatingPolicy", "p", &spec.replace("message: no", "message: refused"))),
            ("r.yaml", &objects),
            ("e.yaml", exceptions),
        ],
        &["-r", "r.yaml", "-e", "e.yaml"],
    );
    assert_eq!(
        printed(&ran),
        "policy p -> resource web/ConfigMap/c failed:\n1 -  refused\n\npass: 1, fail: 1, warn: 0, error: 0, skip: 1"
    );
}

#[test]
fn changes_may_have_parts_of_the_object() {
    let object =
        pod("p", "{containers: [{name: a, image: b}], volumes: [{name: v, emptyDir: {medium: Memory}}]}");
    let run = |volumes: &str| {
        let change = format!("Object{{spec: Object.spec{{volumes: {volumes}}}}}");
        let spec = format!(
            "{PODS}\n  mutations: [{{patchType: ApplyConfiguration, applyConfiguration: {{expression: \"{change}\"}}}}]"
        );
        let p = policy("MutatingPolicy", "m", &spec);
        apply(&[("p.yaml", &p), ("r.yaml", &object)], &["-r", "r.yaml"]).out
    };
    let added = run("object.spec.volumes + [Object.spec.volumes{name: 'w'}]");
    assert!(added.contains("medium: Memory\n          name: v\n        - name: w\n"), "{added}");
    // A map that the expression writes is none of them.
    let written = run("object.spec.volumes + [{'name': 'w'}]");
    assert!(
        written.contains("element 1: associative list with keys may not have non-map elements"),
        "{written}"
    );
}

#[test]
fn changes_follow_each_other_and_fail_as_a_whole() {
    let merge = "{patchType: ApplyConfiguration, applyConfiguration: {expression: 'Object{metadata: Object.metadata{labels: {\"team\": object.metadata.name}}}'}}";
    let patch = "{patchType: JSONPatch, jsonPatch: {expression: '[JSONPatch{op: \"add\", path: \"/metadata/labels/seen\", value: object.metadata.labels.team}]'}}";
    let spec = format!("{MAPS}\n  mutations:\n  - {merge}\n  - {patch}");
    let ran = apply(
        &[("p.yaml", &policy("MutatingPolicy", "m", &spec)), ("r.yaml", &map("a", ""))],
        &["-r", "r.yaml"],
    );
    assert!(ran.out.contains("    labels:\n        seen: a\n        team: a\n"), "{}", ran.out);
    let atomic = "{patchType: ApplyConfiguration, applyConfiguration: {expression: 'Object{spec: Object.spec{containers: [Object.spec.containers{name: \"a\", args: [\"x\"]}]}}'}}";
    let object = pod("p", "{containers: [{name: a, image: b, args: [z]}]}");
    let run = |more: &str| {
        let spec = format!("{PODS}{more}\n  mutations: [{atomic}]");
        let p = policy("MutatingPolicy", "m", &spec);
        apply(&[("p.yaml", &p), ("r.yaml", &object)], &["-r", "r.yaml"])
    };
    let refused = run("");
    assert!(refused.out.contains("may not mutate atomic arrays, maps or structs: .spec.containers[0].args"));
    assert!(refused.out.contains("- args:\n            - z\n"), "{}", refused.out);
    let replaced = run("\n  evaluation: {useServerSideApply: true}");
    assert!(replaced.out.contains("- args:\n            - x\n"), "{}", replaced.out);
}

#[test]
fn kinds_of_definitions_are_merged_by_their_schema() {
    let spec = "matchConstraints: {resourceRules: [{apiGroups: [acme.test], apiVersions: [v1], operations: [CREATE], resources: [gadgets]}]}\n  mutations: [{patchType: ApplyConfiguration, applyConfiguration: {expression: 'Object{spec: Object.spec{size: 2}}'}}]";
    let gadget =
        "apiVersion: acme.test/v1\nkind: Gadget\nmetadata: {name: g, namespace: web}\nspec: {colour: red}\n";
    let definition = "apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: gadgets.acme.test}
spec:
  group: acme.test
  scope: Namespaced
  names: {plural: gadgets, singular: gadget, kind: Gadget, listKind: GadgetList}
  versions:
  - name: v1
    served: true
    storage: true
    schema: {openAPIV3Schema: {type: object, properties: {spec: {type: object, properties: {colour: {type: string}, size: {type: integer}}}}}}
";
    let p = policy("MutatingPolicy", "m", spec);
    let files = [("p.yaml", &*p), ("r.yaml", gadget), ("crd.yaml", definition)];
    let unknown = apply(&files, &["-r", "r.yaml"]);
    assert!(unknown.out.contains("error applying patch: type converter must not be nil"), "{}", unknown.out);
    let known = apply(&files, &["-r", "r.yaml", "--crd-paths", "crd.yaml"]);
    assert!(known.out.contains("spec:\n    colour: red\n    size: 2\n"), "{}", known.out);
}

#[test]
fn objects_are_generated_by_expressions_and_templates() {
    let spec = format!(
        "{MAPS}\n  generate:\n  - expression: \"generator.apply('other', [{{'apiVersion': 'v1', 'kind': 'Secret', 'metadata': {{'name': object.metadata.name}}}}])\"\n  - template:\n      interpolate: cel\n      value: |\n        apiVersion: v1\n        kind: ConfigMap\n        metadata: {{name: \"(( object.metadata.name ))-copy\", namespace: third}}"
    );
    let ran = apply(
        &[("p.yaml", &policy("GeneratingPolicy", "g", &spec)), ("r.yaml", &map("a", ""))],
        &["-r", "r.yaml"],
    );
    assert!(ran.out.contains("kind: Secret\nmetadata:\n    name: a\n    namespace: other\n"), "{}", ran.out);
    assert!(
        ran.out.contains("kind: ConfigMap\nmetadata:\n    name: a-copy\n    namespace: third\n"),
        "{}",
        ran.out
    );
    assert!(ran.out.trim_end().ends_with("pass: 1, fail: 0, warn: 0, error: 0, skip: 0"), "{}", ran.out);
}

#[test]
fn deleting_policies_report_what_a_run_would_delete() {
    let spec = |condition: &str| {
        // Operations do not count.
        let matching = MAPS.replace("CREATE", "UPDATE");
        format!(
            "{matching}\n  schedule: '* * * * *'\n  conditions: [{{name: c, expression: \"{condition}\"}}]"
        )
    };
    let objects = format!("{}---\n{}---\n{}", map("a", ""), map("b", ""), pod("c", "{}"));
    let run = |condition: &str| {
        let p = policy("DeletingPolicy", "d", &spec(condition));
        apply(&[("p.yaml", &p), ("r.yaml", &objects)], &["-r", "r.yaml"])
    };
    assert_eq!(
        printed(&run("object.metadata.name == 'a'")),
        "policy d -> resource web/ConfigMap/b failed:\n1 - d resource did not match\n\npass: 1, fail: 1, warn: 0, error: 0, skip: 0"
    );
    let faulty = run("request.name == 'a'");
    assert_eq!(
        faulty.err,
        "Error: failed to apply deleting policies on resource: no such attribute(s): request\n"
    );
    let uncompiled = run("object.metadata.name");
    assert!(
        uncompiled.err.contains(
            "\nError: failed to compile policy d ([<nil>: Internal error: deleting policy compiler 1.18 error"
        ),
        "{}",
        uncompiled.err
    );
}

#[test]
fn proxies_are_answered() {
    let http = "evaluation: {mode: HTTP}\n  validations:\n  - {expression: \"'a' in object.attributes.Header('x-team') ? null : http.Denied('team ' + object.attributes.path).Response()\"}\n  - {expression: \"http.Allowed().Response()\"}";
    let request = |team: &str| {
        format!(
            "{{\"attributes\": {{\"method\": \"GET\", \"path\": \"/x\", \"header\": {{\"X-Team\": [\"{team}\"]}}}}}}"
        )
    };
    let ran = apply(
        &[
            ("p.yaml", &policy("ValidatingPolicy", "h", http)),
            ("a.json", &request("a")),
            ("b.json", &request("b")),
        ],
        &["--http-payload", "a.json,b.json"],
    );
    assert_eq!(
        printed(&ran),
        "policy h -> resource JSON payload failed:\n1 - h request denied, reason: team /x\n\npass: 1, fail: 1, warn: 0, error: 0, skip: 0"
    );
    let envoy = "evaluation: {mode: Envoy}\n  validations: [{expression: \"object.attributes.request.http.method == 'GET' ? envoy.Denied(403).WithBody('x').Response() : null\"}]";
    let run = |body: &str| {
        let p = policy("ValidatingPolicy", "e", envoy);
        apply(&[("p.yaml", &p), ("r.json", body)], &["--envoy-payload", "r.json"])
    };
    let denied = run("{\"attributes\": {\"request\": {\"http\": {\"method\": \"GET\"}}}}");
    assert!(printed(&denied).contains("1 - e request denied with status code 403"), "{}", denied.out);
    assert!(printed(&run("{}")).ends_with("skip: 1"));
    let unknown = run("{\"attributes\": {\"zz\": 1}}");
    assert_eq!(
        unknown.err,
        "Error: failed to parse envoy payload from r.json: proto: (line 1:17): unknown field \"zz\"\n"
    );
}

#[test]
fn namespaces_of_the_values_file_are_objects() {
    let spec = format!(
        "{MAPS}\n  validations: [{{expression: \"false\", messageExpression: \"json.marshal(namespaceObject)\"}}]"
    );
    let values = "apiVersion: cli.kyverno.io/v1alpha1\nkind: Value\nmetadata: {name: v}\nnamespaces:\n- {apiVersion: v1, kind: Namespace, metadata: {name: web, annotations: {q: w}}}\n";
    let p = policy("ValidatingPolicy", "ns", &spec);
    let files = [("p.yaml", &*p), ("r.yaml", &*map("a", "")), ("v.yaml", values)];
    let known = apply(&files, &["-r", "r.yaml", "-f", "v.yaml"]);
    assert!(known.out.contains("1 -  {\"apiVersion\":\"v1\",\"kind\":\"Namespace\",\"metadata\":{\"annotations\":{\"q\":\"w\"},\"name\":\"web\"},\"spec\":{},\"status\":{}}"), "{}", known.out);
    assert!(apply(&files, &["-r", "r.yaml"]).out.contains("1 -  null\n"));
}

#[test]
fn external_data_comes_from_files_and_never_from_guarded_addresses() {
    let spec = format!(
        "{MAPS}\n  validations:\n  - {{expression: \"object.data.kind == 'file' ? resource.get('v1', 'configmaps', 'web', 'settings').data.mode == 'on' : http.get('http://169.254.169.254/').statusCode == 200\"}}"
    );
    let context = "apiVersion: cli.kyverno.io/v1alpha1\nkind: Context\nmetadata: {name: c}\nspec:\n  resources:\n  - {apiVersion: v1, kind: ConfigMap, metadata: {name: settings, namespace: web}, data: {mode: 'on'}}\n";
    let objects = format!("{}---\n{}", map("a", "data: {kind: file}"), map("b", "data: {kind: http}"));
    let ran = apply(
        &[("p.yaml", &policy("ValidatingPolicy", "w", &spec)), ("r.yaml", &objects), ("c.yaml", context)],
        &["-r", "r.yaml", "--context-file", "c.yaml", "-p"],
    );
    assert!(ran.out.contains("range 169.254.169.254/32"), "{}", ran.out);
    assert!(ran.out.contains("  error: 1\n  fail: 0\n  pass: 1\n"), "{}", ran.out);
}

#[test]
fn policies_of_all_kinds_say_together_what_each_says_alone() {
    let verdict =
        format!("{MAPS}\n  validations: [{{expression: \"object.metadata.name != 'a'\", message: review}}]");
    let json = "evaluation: {mode: JSON}\n  validations: [{expression: \"object.kind != 'ConfigMap'\", message: payload}]";
    let classic = "apiVersion: kyverno.io/v1\nkind: ClusterPolicy\nmetadata: {name: classic}\nspec: {rules: [{name: r, match: {any: [{resources: {kinds: [ConfigMap]}}]}, validate: {message: classic, pattern: {metadata: {name: '!a'}}}}]}\n".to_owned();
    let native = "apiVersion: admissionregistration.k8s.io/v1\nkind: ValidatingAdmissionPolicy\nmetadata: {name: native}\nspec:\n  matchConstraints: {resourceRules: [{apiGroups: [''], apiVersions: [v1], operations: [CREATE], resources: [configmaps]}]}\n  validations: [{expression: \"object.metadata.name != 'a'\", message: native}]\n".to_owned();
    let deleting = format!(
        "{MAPS}\n  schedule: '* * * * *'\n  conditions: [{{name: c, expression: \"object.metadata.name != 'a'\"}}]"
    );
    let all = [
        classic,
        native,
        policy("ValidatingPolicy", "review", &verdict),
        policy("ValidatingPolicy", "payload", json),
        policy("DeletingPolicy", "deleting", &deleting),
    ];
    let objects = format!("{}---\n{}", map("a", ""), map("b", ""));
    let failures = |policies: &str| {
        let ran = apply(&[("p.yaml", policies), ("r.yaml", &objects)], &["-r", "r.yaml"]);
        let mut lines: Vec<String> = ran
            .out
            .lines()
            .filter(|l| l.contains(" -> ") || l.starts_with("1 - "))
            .map(str::to_owned)
            .collect();
        lines.sort();
        lines
    };
    let mut alone: Vec<String> = all.iter().flat_map(|p| failures(p)).collect();
    alone.sort();
    assert_eq!(failures(&all.join("---\n")), alone);
    assert!(alone.len() >= 10, "{alone:?}");
}

#[test]
fn objects_that_exist_are_changed_in_tests_when_their_conditions_hold() {
    let p = policy(
        "MutatingPolicy",
        "m",
        &format!(
            "{PODS}\n  targetMatchConstraints: {{resourceRules: [{{apiGroups: [''], apiVersions: [v1], operations: [DELETE], resources: [configmaps]}}]}}\n  targetMatchConditions: [{{name: c, expression: \"object.metadata.name == 'a'\"}}]\n  mutations: [{{patchType: ApplyConfiguration, applyConfiguration: {{expression: 'Object{{metadata: Object.metadata{{labels: {{\"of\": object.kind}}}}}}'}}}}]"
        ),
    );
    let test = "apiVersion: cli.kyverno.io/v1alpha1\nkind: Test\nmetadata: {name: t}\npolicies: [p.yaml]\nresources: [r.yaml]\ntargetResources: [t.yaml]\nresults:\n- {policy: m, isMutatingPolicy: true, kind: ConfigMap, resources: [web/a], patchedResources: w.yaml, result: pass}\n";
    let wanted =
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, namespace: web, labels: {of: ConfigMap}}\n";
    let ran = Files::new(&[
        ("p.yaml", &p),
        ("r.yaml", &pod("p", "{}")),
        ("t.yaml", &format!("{}---\n{}", map("a", ""), map("b", ""))),
        ("w.yaml", wanted),
        ("kyverno-test.yaml", test),
    ])
    .run(&["test", ".", "--remove-color"]);
    assert!(ran.out.contains("Test Summary: 1 tests passed and 0 tests failed"), "{}{}", ran.out, ran.err);
}

#[test]
fn a_set_of_the_library_holds_policies_of_all_kinds() {
    let verdict =
        format!("{MAPS}\n  validations: [{{expression: \"object.metadata.name != 'a'\", message: review}}]");
    let deleting = format!("{MAPS}\n  schedule: '* * * * *'");
    let native = "apiVersion: admissionregistration.k8s.io/v1\nkind: ValidatingAdmissionPolicy\nmetadata: {name: native}\nspec:\n  matchConstraints: {resourceRules: [{apiGroups: [''], apiVersions: [v1], operations: [CREATE], resources: [configmaps]}]}\n  validations: [{expression: \"object.metadata.name != 'a'\", message: native}]\n".to_owned();
    let all =
        [policy("ValidatingPolicy", "review", &verdict), policy("DeletingPolicy", "d", &deleting), native];
    let set = ephor_policies::PolicySet::from_yaml(&all.join("---\n")).expect("a set");
    let engine = ephor_policies::Engine::new(set);
    let outcome = engine.check_yaml(&map("a", "")).expect("an outcome");
    let results: Vec<(&str, &str)> = outcome.results().map(|(p, r)| (&*p.name, &*r.message)).collect();
    // Deleting policies are no part of a request.
    assert_eq!(results, [("review", "review"), ("native", "native")]);
    let broken = policy("ValidatingPolicy", "b", &verdict.replace("object.metadata", "objekt.metadata"));
    let error = ephor_policies::PolicySet::from_yaml(&broken).expect_err("does not compile");
    assert_eq!(error.policy, "b");
    assert!(error.text.contains("undeclared reference to 'objekt'"), "{}", error.text);
}

/// The message of a policy whose verdict is an expression that fails.
fn fault_of(expression: &str) -> String {
    let quoted = expression.replace('\'', "''");
    let spec = format!("{MAPS}\n  validations: [{{expression: 'dyn({quoted}) == 1'}}]");
    let files = [("p.yaml", &*policy("ValidatingPolicy", "p", &spec)), ("r.yaml", &*map("a", ""))];
    let ran = apply(&files, &["-r", "r.yaml", "-p"]);
    assert!(ran.ended_well(), "{}", ran.err);
    first_message(&ran)
}

/// The message of the first result of a report.
fn first_message(ran: &Ran) -> String {
    let report = ran.out.find("apiVersion: openreports").and_then(|at| ran.out.get(at..)).unwrap_or_default();
    let report = ephor_document::yaml_value(report).expect("YAML");
    let results = report.get("results").and_then(ephor_value::Value::as_list).unwrap_or_default();
    results.first().map_or_else(|| format!("{ran:?}"), |r| r.text_at(&["message"]).to_owned())
}

#[test]
fn functions_that_decode_report_what_is_wrong_with_their_text() {
    for (expression, text) in [
        ("json.unmarshal('[1,]')", "error: invalid character ']' looking for beginning of value"),
        ("json.unmarshal(b'{}')", "error: type conversion error from Bytes to 'string'"),
        (
            "yaml.parse('a: [')",
            "error: error converting YAML to JSON: yaml: line 1: did not find expected node content",
        ),
        ("yaml.parse('*x')", "error: error converting YAML to JSON: yaml: unknown anchor 'x' referenced"),
        ("x509.decode('zz')", "error: failed to decode PEM block"),
        (
            "x509.decode('-----BEGIN CERTIFICATE REQUEST-----\\nMAUwA8IBAA==\\n-----END CERTIFICATE REQUEST-----')",
            "error: asn1: structure error: tags don't match (2 vs {class:3 tag:2 length:1 isCompound:false}) {optional:false explicit:false application:false private:false defaultValue:<nil> tag:<nil> stringType:0 timeType:0 set:false omitEmpty:false} int @2",
        ),
        ("gzip.decompress(b'')", "error: EOF"),
        ("image('A b')", "error: could not parse reference: A b"),
        ("lists.range(99999999)", "error: lists.range: size 99999999 exceeds maximum allowed (1000000)"),
        (
            "resource.list('a/b/c', 'pods', '')",
            "error: failed to list resource: unexpected GroupVersion string: a/b/c",
        ),
    ] {
        assert_eq!(fault_of(expression), text, "{expression}");
    }
}

#[test]
fn calls_that_are_not_allowed_or_not_possible_are_faults() {
    for (expression, text) in [
        (
            "http.get('http://%zz/')",
            r#"error: request failed: invalid URL: parse "http://%zz/": invalid URL escape "%zz""#,
        ),
        (
            "http.get('http://[::ffff:127.0.0.1]:1/')",
            r#"error: request failed: request failed: Get "http://[::ffff:127.0.0.1]:1/": connection to [::ffff:127.0.0.1]:1 blocked: IP 127.0.0.1 falls in blocked range 127.0.0.0/8"#,
        ),
        (
            "http.client('-----BEGIN CERTIFICATE-----').get('http://127.0.0.1:1/')",
            "error: request failed: failed to parse PEM CA bundle for APICall",
        ),
    ] {
        assert_eq!(fault_of(expression), text, "{expression}");
    }
}

#[test]
fn policies_on_check_requests_have_functions_of_their_own() {
    let says = |expression: &str| {
        let spec = format!(
            "evaluation: {{mode: HTTP}}\n  variables: [{{name: r, expression: \"{expression}\"}}]\n  validations: [{{expression: 'http.Denied(string(variables.r)).Response()'}}]"
        );
        let files = [
            ("p.yaml", &*policy("ValidatingPolicy", "p", &spec)),
            ("q.json", r#"{"attributes": {"method": "GET", "host": "h"}}"#),
        ];
        let ran = apply(&files, &["--http-payload", "q.json", "-p"]);
        // An error of a result is on standard error with its place as well.
        let is_reported = ran.err.lines().all(|line| line.starts_with("error: p ("));
        if is_reported { first_message(&ran) } else { ran.err }
    };
    let denied = |reason: &str| format!("request denied, reason: {reason}");
    assert_eq!(says("math.greatest(1, 2)"), denied("2"));
    assert_eq!(says("base64.encode(b'ab') + 'a'.reverse() + '%.1e'.format([1.0])"), denied("YWI=a1.0e+00"));
    assert_eq!(
        says("jwt.Decode('a', jwks.Fetch('http://127.0.0.1:1/')).Valid"),
        "jwk.Fetch: request failed: Get \"http://127.0.0.1:1/\": connection to 127.0.0.1:1 blocked: IP 127.0.0.1 falls in blocked range 127.0.0.0/8"
    );
    assert_eq!(
        says("jwt.Decode('a', 'b').Valid"),
        "jwt.Parse: failed to parse token: unknown payload type (payload is not JWT?)"
    );
    for missing in
        ["[1].all(i, v, true)", "json.Marshal(1)", "sha256('a')", "authorizer.path('a').check('get')"]
    {
        assert!(says(missing).contains("undeclared reference"), "{missing}: {}", says(missing));
    }
}

#[test]
fn a_policy_that_becomes_a_native_one_has_conditions_without_variables() {
    let spec = |enabled: bool| {
        format!(
            "{MAPS}\n  autogen: {{mutatingAdmissionPolicy: {{enabled: {enabled}}}}}\n  variables: [{{name: x, expression: '1'}}]\n  matchConditions: [{{name: c, expression: 'variables.x == 1'}}]\n  mutations: [{{patchType: ApplyConfiguration, applyConfiguration: {{expression: 'Object{{metadata: Object.metadata{{labels: {{\"a\": \"b\"}}}}}}'}}}}]"
        )
    };
    let ran = |enabled| {
        let files = [("p.yaml", &*policy("MutatingPolicy", "p", &spec(enabled))), ("r.yaml", &*map("a", ""))];
        apply(&files, &["-r", "r.yaml"])
    };
    assert!(ran(false).out.contains("a: b"), "{:?}", ran(false));
    let refused = ran(true).err;
    assert!(
        refused.contains(
            "spec.matchConditions[0].expression: Forbidden: variables cannot be referenced in matchConditions"
        ),
        "{refused}"
    );
}

#[test]
fn policies_on_check_requests_read_requests_of_tools() {
    let says = |body: &str, expression: &str| {
        let spec = format!(
            "evaluation: {{mode: HTTP}}\n  variables: [{{name: r, expression: 'mcp.Parse(object.attributes.host)'}}]\n  validations: [{{expression: \"http.Denied({expression}).Response()\"}}]"
        );
        let request = serde_json::json!({"attributes": {"method": "POST", "host": body}}).to_string();
        let files = [("p.yaml", &*policy("ValidatingPolicy", "p", &spec)), ("q.json", &*request)];
        let ran = apply(&files, &["--http-payload", "q.json", "-p"]);
        first_message(&ran)
    };
    let call = r#"{"method":"tools/call","params":{"name":"t","arguments":{"a":1,"b":"x"}}}"#;
    let denied = "request denied, reason: ";
    assert_eq!(
        says(call, "variables.r.Method + ' ' + variables.r.ToolCall.Name"),
        format!("{denied}tools/call t")
    );
    assert_eq!(says(call, "variables.r.GetStringArgument('b', 'd')"), format!("{denied}x"));
    assert_eq!(
        says(call, "string(variables.r.GetIntArgument('a', 5) + variables.r.GetIntArgument('z', 5))"),
        format!("{denied}6")
    );
    assert_eq!(says(call, "string(has(variables.r.PromptGet))"), format!("{denied}false"));
    assert_eq!(
        says("[]", "variables.r.Method"),
        "json: cannot unmarshal array into Go value of type mcp.JSONRPCRequest"
    );
}

/// Whether a policy with this verdict passes, else what it says.
fn verdict_of(kind: &str, expression: &str) -> String {
    let quoted = expression.replace('\'', "''");
    let spec = match kind {
        "GeneratingPolicy" => format!("{MAPS}\n  generate: [{{expression: '{quoted}'}}]"),
        _ => format!("{MAPS}\n  validations: [{{expression: '{quoted}', message: it is false}}]"),
    };
    let files = [("p.yaml", &*policy(kind, "p", &spec)), ("r.yaml", &*map("a", ""))];
    let ran = apply(&files, &["-r", "r.yaml", "-p"]);
    if ran.err.contains("Error:") { ran.err } else { first_message(&ran) }
}

#[test]
fn extensions_for_numbers_patterns_and_encodings_are_there() {
    for expression in [
        "math.greatest(1, 2.5) == 2.5 && math.least([2, 1]) == 1 && math.greatest(1, 2, 3, 4, 5, 6) == 6",
        "math.abs(-1) == 1 && math.ceil(1.2) == 2.0 && math.round(1.5) == 2.0 && math.sign(-2) == -1",
        "math.round(1.25, 1) == 1.3 && math.isNaN(0.0 / 0.0) && math.sqrt(4) == 2.0",
        "math.bitAnd(3, 1) == 1 && math.bitShiftLeft(1, 2) == 4 && math.bitShiftLeft(1, 64) == 0",
        "base64.encode(b'a') == 'YQ==' && base64.decode('YQ') == b'a'",
        r"regex.replace('abab', '(b)', '<\\1>') == 'a<b>a<b>' && regex.replace('abab', 'b', 'x', 1) == 'axab'",
        r"regex.replace('abc', 'b', 'x', -1) == 'axc' && regex.replace('a', '(a)', '\\0\\1') == 'aa'",
        "regex.extract('abc', 'b(c)') == optional.of('c') && regex.extract('abc', 'x') == optional.none()",
        "regex.extractAll('abab', 'a(b)') == ['b', 'b'] && regex.extractAll('x', 'a') == []",
        "!proto.hasExt({'a': 1}, a.b)",
    ] {
        assert_eq!(verdict_of("ValidatingPolicy", expression), "success", "{expression}");
        assert_eq!(
            verdict_of("GeneratingPolicy", expression),
            "policy evaluated successfully",
            "{expression}"
        );
    }
    assert_eq!(verdict_of("ValidatingPolicy", "proto.hasExt(object, google.x)"), "it is false");
    assert!(verdict_of("ValidatingPolicy", "'abc'.reverse() == 'cba'").contains("no matching overload"));
}

#[test]
fn extensions_say_what_is_wrong_with_their_arguments() {
    for (expression, text) in [
        ("math.abs(-9223372036854775808)", "error: integer overflow"),
        ("math.least(dyn('a'), 1)", "error: no such overload: math.@min(string, int)"),
        ("math.greatest(dyn([]))", "error: math.@max(list) argument must not be empty"),
        ("math.bitShiftLeft(1, -1)", "error: math.bitShiftLeft() negative offset: -1"),
        ("base64.decode('@')", "error: illegal base64 data at input byte 0"),
        (
            "regex.extract('abc', '(a)(b)')",
            r#"error: regular expression has more than one capturing group: "(a)(b)""#,
        ),
        ("regex.replace('a', '[', 'x')", "error: error parsing regexp: missing closing ]: `[`"),
        (
            r"regex.replace('a', 'a', '\\2')",
            "error: replacement string references group 2 but regex has only 0 group(s)",
        ),
        (r"regex.replace('a', 'a', '\\')", r"error: invalid replacement string: '\' \ not allowed at end"),
        ("gzip.compress(dyn(1))", "error: unsupported type conversion from 'int' to string"),
        (
            "json.marshal({true: 2})",
            "error: json: failed to convert CEL map to native map: type conversion error from bool to 'string'",
        ),
        (
            "listObjToMap([1], [2], 'a', 'b')",
            "error: internal error: interface conversion: interface {} is int64, not map[interface {}]interface {}",
        ),
        (
            "resource.list('v1', 'configmaps', 'team', dyn('x'))",
            "error: no such overload: list(resource.Context, string, string, string, string)",
        ),
        ("image('nginx')", "error: no such overload"),
    ] {
        assert_eq!(fault_of(expression), text, "{expression}");
    }
    for (expression, text) in [
        ("math.greatest() == 1", "math.greatest() requires at least one argument"),
        ("math.greatest('a') == 'a'", "math.greatest() invalid single argument value"),
        ("math.least(1, 'a') == 1", "math.least() simple literal arguments must be numeric"),
        ("proto.hasExt(object, 1)", "invalid extension field"),
    ] {
        let said = verdict_of("ValidatingPolicy", expression);
        assert!(said.contains(text), "{expression}: {said}");
    }
}

#[test]
fn services_that_cannot_be_reached_are_reported_as_the_reference_does() {
    let blocked =
        |to: &str| format!("connection to {to} blocked: IP 127.0.0.1 falls in blocked range 127.0.0.0/8");
    let failed =
        |url: &str, why: &str| format!("error: request failed: request failed: Get \"{url}\": {why}");
    for (expression, text) in [
        ("http.get('http://')", failed("http:", "http: no Host in request URL")),
        (
            "http.get('http://2130706433/')",
            failed("http://2130706433/", "failed to resolve 2130706433: lookup 2130706433: no such host"),
        ),
        (
            "http.get('http://127.0.0.1:99999/')",
            failed("http://127.0.0.1:99999/", &blocked("127.0.0.1:99999")),
        ),
        (
            "http.get('http://user:secret@127.0.0.1:1/')",
            failed("http://user:***@127.0.0.1:1/", &blocked("127.0.0.1:1")),
        ),
        (
            "http.get('http://127.0.0.1:1/', {'a b': 'c'})",
            failed("http://127.0.0.1:1/", "net/http: invalid header field name \"a b\""),
        ),
        (
            "http.get('http://127.0.0.1:1/', {'x-key': 'c\\n'})",
            failed("http://127.0.0.1:1/", "net/http: invalid header field value for \"X-Key\""),
        ),
        (
            "http.post('http://127.0.0.1:1/', {1: 1})",
            "error: invalid arg 2: unsupported type conversion from 'int' to string".to_string(),
        ),
    ] {
        assert_eq!(fault_of(expression), text, "{expression}");
    }
}

#[test]
fn policies_that_generate_or_delete_have_the_plain_language() {
    for (expression, text) in [
        ("int('x') == 1", "failed to evaluate policy: type conversion error from 'string' to 'int'"),
        ("bool('x')", "failed to evaluate policy: type conversion error from 'string' to 'bool'"),
        ("timestamp('x') == timestamp('y')", "failed to evaluate policy: invalid RFC 3339 timestamp \"x\""),
        ("'a'.matches('[')", "failed to evaluate policy: error parsing regexp: missing closing ]: `[`"),
    ] {
        assert_eq!(verdict_of("GeneratingPolicy", expression), text, "{expression}");
        assert!(verdict_of("ValidatingPolicy", expression).contains("Invalid value"), "{expression}");
    }
    for expression in ["[1, 2].all(i, v, v > 0)", "{'a': 1}.exists(k, v, v == 1)"] {
        let said = verdict_of("GeneratingPolicy", expression);
        assert!(said.contains("undeclared reference"), "{expression}: {said}");
        assert_eq!(verdict_of("ValidatingPolicy", expression), "success", "{expression}");
    }
}
