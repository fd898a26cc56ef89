//! Policies of Kyverno handed over to Kubernetes.
#![allow(clippy::unwrap_used, clippy::expect_used)]

use crate::common::Files;
use ephor_admission::native::{Known, native};
use ephor_document::{Duplicates, parse_stream};
use ephor_kubernetes::Kinds;
use ephor_policies::policy_set::{Engine, PolicySet};
use ephor_sources::files::SourceText;
use ephor_value::time::Time;
use ephor_value::{Value, print::json};

const POLICIES: &str = "\
apiVersion: kyverno.io/v1
kind: ClusterPolicy
metadata:
  name: limits
  labels: {reports.kyverno.io/disabled: \"true\"}
spec:
  rules:
  - name: replicas
    match:
      any:
      - resources: {kinds: [Deployment, apps/v1/StatefulSet], namespaces: [shop]}
    exclude:
      any:
      - resources: {kinds: [Deployment], names: [special]}
    celPreconditions:
    - name: not-small
      expression: \"object.spec.replicas != 1\"
    validate:
      failureAction: Enforce
      cel:
        generate: true
        paramKind: {apiVersion: v1, kind: ConfigMap}
        paramRef: {name: limits, namespace: default, parameterNotFoundAction: Deny}
        variables:
        - {name: most, expression: \"int(params.data.most)\"}
        expressions:
        - expression: \"object.spec.replicas <= variables.most\"
          messageExpression: \"'at most ' + params.data.most\"
          message: too many
        auditAnnotations:
        - {key: replicas, valueExpression: \"string(object.spec.replicas)\"}
---
apiVersion: kyverno.io/v1
kind: ClusterPolicy
metadata: {name: pattern}
spec:
  rules:
  - name: r
    match: {any: [{resources: {kinds: [Pod]}}]}
    validate: {message: m, pattern: {metadata: {labels: {a: b}}}}
---
apiVersion: policies.kyverno.io/v1
kind: ValidatingPolicy
metadata: {name: images}
spec:
  autogen:
    validatingAdmissionPolicy: {enabled: true}
    podControllers: {controllers: []}
  validationActions: [Audit]
  matchConstraints:
    resourceRules:
    - {apiGroups: [''], apiVersions: [v1], operations: [CREATE], resources: [pods]}
  variables:
  - {name: images, expression: \"object.spec.containers.map(c, c.image)\"}
  validations:
  - expression: \"variables.images.all(i, i.startsWith('ghcr.io/') || i in exceptions.allowedImages)\"
    message: not from here
---
apiVersion: policies.kyverno.io/v1
kind: MutatingPolicy
metadata: {name: label}
spec:
  autogen:
    mutatingAdmissionPolicy: {enabled: true}
  matchConstraints:
    resourceRules:
    - {apiGroups: [''], apiVersions: [v1], operations: [CREATE], resources: [configmaps]}
    namespaceSelector: {matchLabels: {a: b}}
  matchConditions:
  - {name: unlabelled, expression: \"!has(object.metadata.labels)\"}
  mutations:
  - patchType: ApplyConfiguration
    applyConfiguration: {expression: \"Object{metadata: Object.metadata{labels: Object.metadata.labels{team: 'x'}}}\"}
";

const EXCEPTION: &str = "\
apiVersion: policies.kyverno.io/v1
kind: PolicyException
metadata: {name: e, namespace: x}
spec:
  policyRefs: [{name: images, kind: ValidatingPolicy}, {name: label, kind: MutatingPolicy}]
  matchConditions:
  - {name: legacy, expression: \"object.metadata.name == 'legacy'\"}
  images: [\"docker.io/a:1\"]
";

#[test]
fn policies_that_enable_it_are_printed_with_their_bindings() {
    let files = Files::new(&[("p.yaml", POLICIES), ("e.yaml", EXCEPTION)]);
    let ran = files.run(&["admission", "p.yaml", "--exception", "e.yaml"]);
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    insta::assert_snapshot!(format!("{}\n{}", ran.err, ran.out));
}

#[test]
fn policies_are_written_in_the_newest_version_that_the_release_has() {
    let files = Files::new(&[("p.yaml", POLICIES), ("e.yaml", EXCEPTION)]);
    let run = |release: &str| {
        let ran = files.run(&["admission", "p.yaml", "--exception", "e.yaml", "--kubernetes", release]);
        assert!(ran.code == Some(0) && !ran.err.contains("rejects"), "{release}: {}", ran.err);
        let has = |version: &str, kind: &str| {
            ran.out.contains(&format!("apiVersion: admissionregistration.k8s.io/{version}\nkind: {kind}\n"))
        };
        assert!(has("v1", "ValidatingAdmissionPolicy"), "{release}: {}", ran.out);
        let mutating = ["v1", "v1beta1"].map(|version| {
            has(version, "MutatingAdmissionPolicy") && has(version, "MutatingAdmissionPolicyBinding")
        });
        (mutating, ran.err.lines().next().unwrap_or_default().to_owned())
    };
    for (release, mutating) in [("1.34", [false, true]), ("1.35", [false, true]), ("1.36", [true, false])] {
        assert_eq!(run(release).0, mutating, "{release}");
    }
    let nearest = "warning: nothing is recorded of Kubernetes 1.33; 1.34 applies, the nearest of 1.34, 1.35, 1.36, 1.37, 1.38";
    assert_eq!(run("1.33"), ([false, true], nearest.to_owned()));
}

#[test]
fn no_policy_with_an_equivalent_is_an_error() {
    let policy = "\
apiVersion: policies.kyverno.io/v1
kind: ValidatingPolicy
metadata: {name: pods}
spec:
  matchConstraints:
    resourceRules:
    - {apiGroups: [''], apiVersions: [v1], operations: [CREATE], resources: [pods]}
  validations: [{expression: 'true'}]
";
    let enabled =
        policy.replace("spec:\n", "spec:\n  autogen: {validatingAdmissionPolicy: {enabled: true}}\n");
    let files = Files::new(&[("a.yaml", policy), ("b.yaml", &enabled)]);
    let run = |file: &str| {
        let ran = files.run(&["admission", file]);
        assert_eq!((ran.code, &*ran.out), (Some(1), ""));
        ran.err
    };
    assert_eq!(
        run("a.yaml"),
        "warning: a.yaml:1: policy `pods`: skip generating ValidatingAdmissionPolicy: not enabled.\nhelp: write `spec.autogen.validatingAdmissionPolicy.enabled: true`\n"
    );
    assert_eq!(
        run("b.yaml"),
        "warning: b.yaml:1: policy `pods`: skip generating ValidatingAdmissionPolicy: pod controllers autogen is enabled.\nhelp: write `spec.autogen.podControllers.controllers: []`\n"
    );
}

/// Why a ClusterPolicy whose one rule is changed has no equivalent.
fn refused(change: impl Fn(String) -> String) -> String {
    let policy = "\
apiVersion: kyverno.io/v1
kind: ClusterPolicy
metadata: {name: p}
spec:
  rules:
  - name: r
    match: {any: [{resources: {kinds: [ConfigMap]}}]}
    validate: {cel: {generate: true, expressions: [{expression: 'true'}]}}
";
    let document = documents(&change(policy.into())).remove(0);
    let exceptions = documents(
        "\
apiVersion: kyverno.io/v2
kind: PolicyException
metadata: {name: e}
spec:
  exceptions: [{policyName: p, ruleNames: [excepted, other]}]
  match: {any: [{resources: {kinds: [ConfigMap]}}]}
---
apiVersion: kyverno.io/v2
kind: PolicyException
metadata: {name: f}
spec:
  exceptions: [{policyName: p, ruleNames: [conditional]}]
  match: {any: [{resources: {kinds: [ConfigMap]}}]}
  conditions: {any: [{key: a, operator: Equals, value: a}]}
---
apiVersion: kyverno.io/v2
kind: PolicyException
metadata: {name: g}
spec:
  exceptions: [{policyName: p, ruleNames: [both]}]
  match: {all: [{resources: {kinds: [ConfigMap]}}, {resources: {names: [a]}}]}
---
apiVersion: kyverno.io/v2
kind: PolicyException
metadata: {name: h}
spec:
  exceptions: [{policyName: p, ruleNames: [within]}]
  match: {any: [{resources: {kinds: [ConfigMap], namespaces: [a]}}]}
---
apiVersion: kyverno.io/v2
kind: PolicyException
metadata: {name: i}
spec:
  exceptions: [{policyName: p, ruleNames: [labelled]}]
  match: {any: [{resources: {kinds: [ConfigMap], selector: {matchLabels: {a: b}}}}]}
",
    );
    let known = Known {
        exceptions: &exceptions,
        kinds: Kinds::built_in(),
        now: Time::from_unix(0),
        keeps_variants: true,
    };
    native(&document, &known).map_or_else(|error| error.to_string(), |made| json(&made.policy))
}

#[test]
fn what_kubernetes_cannot_say_is_refused_with_the_reason() {
    let with = |from: &str, to: &str| refused(|p| p.replace(from, to));
    let cases = [
        ("generate: true, ", "", ": validate.cel.generate is not set to true."),
        (
            "cel: {generate: true, expressions: [{expression: 'true'}]}",
            "pattern: {a: b}",
            " for non CEL rules.",
        ),
        (
            "resources: {kinds: [ConfigMap]}",
            "resources: {kinds: [ConfigMap]}, subjects: [{kind: User, name: a}]",
            ": Roles / ClusterRoles / Subjects in `any/all` is not applicable.",
        ),
        (
            "kinds: [ConfigMap]",
            "kinds: [ConfigMap], names: ['a*']",
            ": wildcards in resource name is not applicable.",
        ),
        (
            "kinds: [ConfigMap]",
            "kinds: [ConfigMap], namespaces: ['a?']",
            ": wildcards in namespace name is not applicable.",
        ),
        (
            "kinds: [ConfigMap]",
            "kinds: [ConfigMap], annotations: {a: b}",
            ": Annotations in resource description is not applicable.",
        ),
        (
            "any: [",
            "any: [{resources: {kinds: [Secret], selector: {matchLabels: {a: b}}}}, ",
            ": NamespaceSelector / ObjectSelector across multiple resources in the match block are not applicable.",
        ),
        (
            "match: {any: [{resources: {kinds: [ConfigMap]}}]}",
            "match: {all: [{resources: {kinds: [ConfigMap]}}, {resources: {names: [a]}}]}",
            ": multiple 'all' in the match block is not applicable.",
        ),
        (
            "  - name: r\n",
            "  - name: q\n    match: {any: [{resources: {kinds: [Pod]}}]}\n    validate: {cel: {generate: true, expressions: [{expression: 'true'}]}}\n  - name: r\n",
            ": multiple rules are not applicable.",
        ),
        (
            "spec:\n",
            "spec:\n  validationFailureActionOverrides: [{action: Audit}, {action: Enforce}]\n",
            ": multiple validationFailureActionOverrides are not applicable.",
        ),
        (
            "    validate: {",
            "    validate: {failureActionOverrides: [{action: Audit, namespaces: [a]}], ",
            ": Namespaces in validationFailureActionOverrides is not applicable.",
        ),
        (
            "    validate:",
            "    exclude: {all: [{resources: {kinds: [Secret]}}, {resources: {names: [a]}}]}\n    validate:",
            ": multiple 'all' in the exclude block is not applicable.",
        ),
        (
            "    validate:",
            "    exclude: {any: [{clusterRoles: [a]}]}\n    validate:",
            ": Roles / ClusterRoles / Subjects in `any/all` is not applicable.",
        ),
        ("name: r\n", "name: conditional\n", ": Conditions in PolicyException is not applicable."),
        (
            "name: r\n",
            "name: both\n",
            ": multiple 'all' in the PolicyException's match block is not applicable.",
        ),
        ("name: r\n", "name: within\n", ": excluding a resource within a namespace is not applicable."),
        (
            "name: r\n",
            "name: labelled\n",
            ": NamespaceSelector / ObjectSelector in the exclude block is not applicable.",
        ),
        (
            "    validate:",
            "    exclude: {any: [{resources: {kinds: [Secret], namespaces: [a]}}]}\n    validate:",
            ": excluding a resource within a namespace is not applicable.",
        ),
        (
            "    validate:",
            "    exclude: {any: [{resources: {selector: {matchLabels: {a: b}}}}]}\n    validate:",
            ": NamespaceSelector / ObjectSelector in the exclude block is not applicable.",
        ),
        (
            "spec:\n",
            "spec:\n  validationFailureActionOverrides: [{action: Audit, namespaces: [a]}]\n",
            ": Namespaces in validationFailureActionOverrides is not applicable.",
        ),
        ("name: r\n", "name: excepted\n", ": multiple ruleNames in PolicyException is not applicable."),
    ];
    for (from, to, why) in cases {
        assert_eq!(with(from, to), format!("skip generating ValidatingAdmissionPolicy{why}"), "{to}");
    }
    assert_eq!(with("[ConfigMap]", "[Gadget]"), "no unique match for kind Gadget");
    assert!(with("x", "x").contains("\"configmaps\""));
}

/// What becomes of a policy, as JSON, or why nothing does.
fn native_of(text: &str, exceptions: &str) -> String {
    let known = Known {
        exceptions: &documents(exceptions),
        kinds: Kinds::built_in(),
        now: Time::from_unix(0),
        keeps_variants: true,
    };
    native(&documents(text).remove(0), &known)
        .map_or_else(|error| error.to_string(), |made| json(&made.policy))
}

#[test]
fn a_server_hands_a_policy_on_pods_over_unless_it_names_controllers() {
    let policy = |kind: &str, key: &str, more: &str| {
        format!(
            "{{apiVersion: policies.kyverno.io/v1, kind: {kind}, metadata: {{name: p}}, spec: {{autogen: {{{key}: {{enabled: true}}{more}}}, \
             matchConstraints: {{resourceRules: [{{apiGroups: [''], apiVersions: [v1], operations: [CREATE], resources: [pods]}}]}}}}}}"
        )
    };
    let made = |text: &str, keeps_variants: bool| {
        let (exceptions, now) = (Vec::new(), Time::from_unix(0));
        let known = Known { exceptions: &exceptions, kinds: Kinds::built_in(), now, keeps_variants };
        native(&documents(text).remove(0), &known).map_err(|error| error.to_string())
    };
    for (kind, key) in
        [("ValidatingPolicy", "validatingAdmissionPolicy"), ("MutatingPolicy", "mutatingAdmissionPolicy")]
    {
        let plain = policy(kind, key, "");
        assert!(made(&plain, false).is_ok() && made(&plain, true).is_err(), "{kind}");
        let named = policy(kind, key, ", podControllers: {controllers: [deployments]}");
        let why = made(&named, false).unwrap_err();
        assert!(why.ends_with("pod controllers autogen is enabled."), "{why}");
    }
}

#[test]
fn a_mutating_policy_is_refused_where_the_server_would_do_something_else() {
    let policy = |autogen: &str, more: &str| {
        format!(
            "\
apiVersion: policies.kyverno.io/v1
kind: MutatingPolicy
metadata: {{name: p}}
spec:
  autogen: {{{autogen}}}
  matchConstraints: {{resourceRules: [{{apiGroups: [''], apiVersions: [v1], operations: [CREATE], resources: [pods]}}]}}
  variables: [{{name: x, expression: '1'}}]
  mutations: [{{patchType: JSONPatch, jsonPatch: {{expression: '[JSONPatch{{op: \"test\", path: \"/a\"}}]'}}}}]
{more}"
        )
    };
    let enabled = "mutatingAdmissionPolicy: {enabled: true}, podControllers: {controllers: []}";
    let refused = |autogen: &str, more: &str| native_of(&policy(autogen, more), "[]");
    assert!(refused(enabled, "").contains("\"reinvocationPolicy\":\"Never\""));
    assert_eq!(refused("", ""), "skip generating MutatingAdmissionPolicy: not enabled.");
    assert_eq!(
        refused("mutatingAdmissionPolicy: {enabled: true}", ""),
        "skip generating MutatingAdmissionPolicy: pod controllers autogen is enabled."
    );
    assert_eq!(
        refused(enabled, "  evaluation: {useServerSideApply: true}"),
        "skip generating MutatingAdmissionPolicy: useServerSideApply is enabled, which mutates atomic fields that a native MutatingAdmissionPolicy rejects."
    );
    let mentioned = "spec.matchConditions[0].expression: Forbidden: variables cannot be referenced in matchConditions when spec.autogen.mutatingAdmissionPolicy.enabled is true; native MutatingAdmissionPolicy evaluates match conditions before variables, so inline the expression instead";
    for expression in ["variables.x == 1", "has(variables.x)", "[1].exists(variables, variables == 1)"] {
        let conditions = format!("  matchConditions: [{{name: c, expression: \"{expression}\"}}]");
        assert_eq!(refused(enabled, &conditions), mentioned, "{expression}");
    }
    for expression in ["object.variables == 1", "'variables' == 'a'", "{'variables': 1}.size() == 1"] {
        let conditions = format!("  matchConditions: [{{name: c, expression: \"{expression}\"}}]");
        assert!(refused(enabled, &conditions).starts_with('{'), "{expression}");
    }
}

#[test]
fn exceptions_in_force_become_conditions_and_variables_of_a_validating_policy() {
    let policy = "\
apiVersion: policies.kyverno.io/v1
kind: ValidatingPolicy
metadata: {name: p}
spec:
  autogen: {validatingAdmissionPolicy: {enabled: true}}
  matchConstraints: {resourceRules: [{apiGroups: [''], apiVersions: [v1], operations: [CREATE], resources: [configmaps]}]}
  validations: [{expression: \"object.metadata.name in exceptions.allowedValues\"}]
";
    let exception = |ends: &str| {
        format!(
            "{{apiVersion: policies.kyverno.io/v1, kind: PolicyException, metadata: {{name: e}}, spec: {{policyRefs: [{{name: p, kind: Other}}], allowedValues: [a, b], {ends} matchConditions: [{{name: c, expression: 'object.a'}}]}}}}"
        )
    };
    let with = native_of(policy, &exception(""));
    assert!(with.contains("\"matchConditions\":[{\"expression\":\"!(object.a)\",\"name\":\"c\"}]"), "{with}");
    assert!(with.contains("object.metadata.name in variables.allowedValues"), "{with}");
    assert!(with.contains("['a', 'b']"), "{with}");
    let over = native_of(policy, &exception("expiresAt: '1969-01-01T00:00:00Z',"));
    assert!(over.contains("exceptions.allowedValues") && !over.contains("matchConditions"), "{over}");
}

fn documents(text: &str) -> Vec<Value> {
    let all = parse_stream("-", text, Duplicates::Error).unwrap();
    all.into_iter().map(|d| d.unwrap().value).collect()
}

fn engine(text: &str) -> Engine {
    let source = SourceText { name: "-".into(), text: text.into() };
    let mut loaded = ephor_policies::load::argument(&[source]);
    assert!(loaded.problems.is_empty(), "{:?}", loaded.problems);
    loaded.bind(Vec::new());
    let policies = loaded.policies.into_iter().map(|p| p.policy.expect("a usable policy")).collect();
    Engine::new(PolicySet::new(policies, Vec::new()))
}

const SOURCES: [&str; 3] = [
    "\
apiVersion: kyverno.io/v1
kind: ClusterPolicy
metadata: {name: p}
spec:
  rules:
  - name: r
    match: {any: [{resources: {kinds: [ConfigMap, Service]}}]}
    celPreconditions: [{name: c, expression: \"object.metadata.name != 'skipped'\"}]
    validate:
      cel:
        generate: true
        variables: [{name: labels, expression: 'object.metadata.?labels.orValue({})'}]
        expressions:
        - {expression: \"'team' in variables.labels\", messageExpression: \"object.metadata.name + ' has no team'\"}
        - {expression: \"object.spec.type != 'NodePort' || object.kind == 'ConfigMap'\", message: no node ports}
\
",
    "\
apiVersion: policies.kyverno.io/v1
kind: ValidatingPolicy
metadata: {name: p}
spec:
  autogen: {validatingAdmissionPolicy: {enabled: true}}
  matchConstraints:
    resourceRules:
    - {apiGroups: [''], apiVersions: [v1], operations: [CREATE], resources: [configmaps, services]}
  matchConditions: [{name: c, expression: \"object.metadata.name != 'skipped'\"}]
  variables: [{name: length, expression: 'size(object.metadata.name)'}]
  validations:
  - {expression: 'variables.length > 2', message: too short}
  - {expression: \"!has(object.spec) || object.spec.type == 'ClusterIP'\", messageExpression: \"'type ' + object.spec.type\"}
\
",
    "\
apiVersion: kyverno.io/v1
kind: ClusterPolicy
metadata: {name: p}
spec:
  rules:
  - name: r
    match: {any: [{resources: {kinds: [Deployment]}}]}
    validate:
      message: no more than three
      cel:
        generate: true
        expressions: [{expression: 'object.spec.replicas <= 3.0', message: no more than three}]
\
",
];

#[test]
fn a_policy_and_what_it_becomes_give_the_same_verdicts() {
    let resources = documents(
        "\
{apiVersion: v1, kind: ConfigMap, metadata: {name: a, namespace: default}}
---
{apiVersion: v1, kind: ConfigMap, metadata: {name: skipped, namespace: default}}
---
{apiVersion: v1, kind: ConfigMap, metadata: {name: long, namespace: default, labels: {team: x}}}
---
{apiVersion: v1, kind: Service, metadata: {name: svc, namespace: default, labels: {team: x}}, spec: {type: NodePort}}
---
{apiVersion: v1, kind: Service, metadata: {name: svc2, namespace: default, labels: {team: x}}, spec: {type: ClusterIP}}
---
{apiVersion: v1, kind: Service, metadata: {name: svc3, namespace: default, labels: {team: x}}}
---
{apiVersion: v1, kind: Secret, metadata: {name: other, namespace: default}}
---
{apiVersion: apps/v1, kind: Deployment, metadata: {name: three, namespace: default}, spec: {replicas: 3}}
---
{apiVersion: apps/v1, kind: Deployment, metadata: {name: four, namespace: default}, spec: {replicas: 4}}
---
{apiVersion: apps/v1, kind: Deployment, metadata: {name: none, namespace: default}, spec: {}}
",
    );
    let known =
        Known { exceptions: &[], kinds: Kinds::built_in(), now: Time::from_unix(0), keeps_variants: true };
    let mut compared = 0;
    for source in SOURCES {
        let made = native(&documents(source).remove(0), &known).unwrap();
        let (written, handed_over) = (engine(source), engine(&json(&made.policy)));
        for resource in &resources {
            let verdicts = |engine: &Engine| -> Vec<(String, String)> {
                let outcome = engine.check_yaml(&json(resource)).unwrap();
                outcome.results().map(|(_, r)| (format!("{:?}", r.status), r.message.to_string())).collect()
            };
            let (own, other) = (verdicts(&written), verdicts(&handed_over));
            let statuses = |all: &[(String, String)]| -> Vec<String> {
                // Rules fail with errors of expressions, policies of Kubernetes are in error.
                all.iter().map(|(s, _)| s.replace("Error", "Fail")).collect()
            };
            assert_eq!(statuses(&own), statuses(&other), "{source}\n{own:?}\n{other:?}");
            let failures = |all: Vec<(String, String)>| -> Vec<String> {
                all.into_iter().filter(|(s, _)| s == "Fail").map(|(_, text)| text).collect()
            };
            let (own, other) = (failures(own), failures(other));
            assert!(other.is_empty() || own == other, "{source}\n{own:?}\n{other:?}");
            compared += usize::from(!own.is_empty());
        }
    }
    assert_eq!(compared, 7, "failures that were compared");
}
