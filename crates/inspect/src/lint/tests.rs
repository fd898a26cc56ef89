//! Faulty policies as users write them: each finding at its line and column, with what was meant.
//!
//! - `mistakes`: usual mistakes, and what their fixes make of them
//! - `reads`: expressions that read what may be absent, and those that guard it

mod mistakes;
mod reads;

use super::*;

fn lint_text(text: &str) -> Linted {
    lint(&[SourceText { name: "p.yaml".into(), text: text.into() }], &[], &Roles::default())
}

/// The findings of a text that are no notes.
fn serious(text: &str) -> Vec<Finding> {
    lint_text(text).findings.into_iter().filter(|f| f.severity > Severity::Note).collect()
}

/// A policy with a rule that is met by every Pod; `from` is replaced by `to`.
fn policy(from: &str, to: &str) -> String {
    const GOOD: &str = "apiVersion: kyverno.io/v1
kind: ClusterPolicy
metadata:
  name: p
spec:
  background: false
  rules:
  - name: r
    match:
      any:
      - resources:
          kinds: [Pod]
    preconditions:
      all:
      - key: '{{ request.operation }}'
        operator: Equals
        value: CREATE
    validate:
      failureAction: Enforce
      message: 'no {{ request.object.metadata.name }}'
      pattern:
        spec:
          containers:
          - image: '*:?*'
";
    assert!(GOOD.contains(from), "{from}");
    GOOD.replacen(from, to, 1)
}

const VALIDATING: &str = "apiVersion: policies.kyverno.io/v1
kind: ValidatingPolicy
metadata:
  name: p
spec:
  matchConstraints:
    resourceRules:
    - {apiGroups: [apps], apiVersions: [v1], operations: [CREATE], resources: [deployments]}
  validations:
  - expression: object.spec.replicas > 1
    message: more
";

#[test]
fn a_good_policy_has_no_findings() {
    assert_eq!(serious(&policy("spec:", "spec:")), []);
    assert_eq!(lint_text(VALIDATING).findings, []);
}

#[test]
fn each_misspelling_is_found_at_its_place_with_what_was_meant() {
    for (from, to, at, id, help) in [
        ("validate:", "valdate:", (18, 5), "unknown-field", "`validate`"),
        ("match:", "mach:", (9, 5), "unknown-field", "`match`"),
        ("background:", "backgroud:", (6, 3), "unknown-field", "`background`"),
        ("kinds:", "kind:", (12, 11), "unknown-field", "`kinds`"),
        ("ClusterPolicy", "ClusterPolcy", (2, 7), "unknown-policy-kind", "`ClusterPolicy`"),
        ("kyverno.io/v1", "kyverno.io/v3", (1, 13), "unknown-policy-kind", "`kyverno.io/v1`"),
        ("Equals", "Equls", (16, 19), "unknown-operator", "`Equals`"),
        ("value:", "vaule:", (17, 9), "unknown-field", "`value`"),
        ("        operator:", "        opertor:", (16, 9), "unknown-field", "`operator`"),
        ("Enforce", "Enforced", (19, 22), "schema", "`Enforce`"),
        ("request.object.m", "requst.object.m", (20, 23), "unknown-variable", "`request`"),
        ("metadata.name }}", "metadata.nmae }}", (20, 47), "unknown-resource-field", "`name`"),
        ("metadata.name }}", "metadata.name | to_uper(@) }}", (20, 54), "unknown-function", "`to_upper`"),
        ("metadata.name }}", "metadata.name }", (20, 20), "unclosed-variable", "}}"),
        ("metadata.name }}", "metadata.name | }}", (20, 53), "jmespath-syntax", ""),
        ("request.object.metadata.name }}", "element.name }}", (20, 23), "unknown-variable", ""),
        ("containers:", "containrs:", (23, 11), "unknown-resource-field", "`containers`"),
        ("[Pod]", "[Pods]", (12, 19), "unknown-kind", "`Pod`"),
        ("[Pod]", "[Deploymnt]", (12, 19), "unknown-kind", "`Deployment`"),
        ("[Pod]", "[apps/v1/Pod]", (12, 19), "unknown-kind", "`v1/Pod`"),
        ("'no {{ request.object.metadata.name }}'", "no", (20, 16), "wrong-type", "\"no\""),
        ("    match:", "\tmatch:", (9, 1), "yaml-syntax", "blanks"),
        ("  name: p", "  name: p\n  name: q", (5, 3), "yaml-syntax", ""),
    ] {
        let found = serious(&policy(from, to));
        let seen: Vec<_> = found.iter().map(|f| ((f.line, f.column), f.id)).collect();
        assert_eq!(seen, [(at, id)], "{to}: {found:#?}");
        let text = found[0].help.clone().unwrap_or_default();
        assert!(
            text.contains(help) && text.is_empty() == help.is_empty() || text.contains("foreach"),
            "{to}: {text}"
        );
    }
}

#[test]
fn misspellings_in_expressions_are_found_at_their_place() {
    for (from, to, at, id, help) in [
        ("validations:", "validatons:", (9, 3), "unknown-field", "`validations`"),
        ("object.spec", "objct.spec", (10, 17), "cel-expression", "`object`"),
        ("replicas >", "replcas >", (10, 29), "cel-type", "`replicas`"),
        ("object.spec.replicas > 1", "object.kind.contians('x')", (10, 29), "cel-expression", "`contains`"),
        ("[deployments]", "[deployment]", (8, 80), "unknown-kind", "`deployments`"),
        ("object.spec.replicas > 1", "object.metadata.name", (10, 17), "cel-expression", ""),
    ] {
        let found = serious(&VALIDATING.replacen(from, to, 1));
        let seen: Vec<_> = found.iter().map(|f| ((f.line, f.column), f.id)).collect();
        assert_eq!(seen, [(at, id)], "{to}: {found:#?}");
        let text = found[0].help.clone().unwrap_or_default();
        assert!(text.contains(help) && text.is_empty() == help.is_empty(), "{to}: {text}");
    }
}

#[test]
fn misspelt_fields_of_written_objects_are_found_in_policies_of_both_apis() {
    let kyverno = |expression: &str| {
        format!(
            "apiVersion: policies.kyverno.io/v1
kind: MutatingPolicy
metadata:
  name: p
spec:
  matchConstraints:
    resourceRules:
    - {{apiGroups: [apps], apiVersions: [v1], operations: [CREATE], resources: [deployments]}}
  mutations:
  - patchType: ApplyConfiguration
    applyConfiguration:
      expression: {expression}
"
        )
    };
    let native = |expression: &str| {
        kyverno(expression)
            .replace("policies.kyverno.io/v1", "admissionregistration.k8s.io/v1")
            .replace("MutatingPolicy", "MutatingAdmissionPolicy")
            .replace("spec:\n  match", "spec:\n  reinvocationPolicy: Never\n  match")
    };
    let found = |policy: &str| {
        let all = serious(policy).into_iter();
        all.map(|f| (f.column, f.id, f.help.unwrap_or_default())).collect::<Vec<_>>()
    };
    let meant = |column, name: &str| (column, "cel-type", format!("did you mean `{name}`?"));
    let wrong = "'Object{spec: Object.spec{replcas: 3, template: Object.spec.template{metadata: Object.spec.template.metadata{lables: {\"a\": \"b\"}}}}}'";
    // Labels are free, items of lists have the type of their list, and what is read may come next
    // to what is written.
    let right = "'Object{metadata: Object.metadata{labels: Object.metadata.labels{a: object.metadata.name}}, spec: Object.spec{template: Object.spec.template{spec: Object.spec.template.spec{containers: [Object.spec.template.spec.containers{name: \"a\", resources: Object.spec.template.spec.containers.resources{limits: {\"cpu\": \"1\"}}}]}}}}'";
    let read = "'Object{spec: Object.spec{replicas: object.spec.replcas + 1}}'";
    for form in [&kyverno as &dyn Fn(&str) -> String, &native] {
        assert_eq!(found(&form(wrong)), [meant(45, "replicas"), meant(128, "labels")]);
        assert_eq!(found(&form(right)), []);
        assert_eq!(found(&form(read)), [meant(67, "replicas")]);
    }
}

#[test]
fn a_policy_has_all_its_findings_at_once() {
    let text = policy("match:", "mach:")
        .replace("Equals", "Equls")
        .replace("containers:", "containrs:")
        .replace("name }}", "name | nope(@) }}");
    let found = serious(&text);
    let ids: Vec<&str> = found.iter().map(|f| f.id).collect();
    assert_eq!(ids, ["unknown-field", "unknown-operator", "unknown-function", "unknown-resource-field"]);
}

#[test]
fn filters_that_exclude_each_other_are_found() {
    let all =
        "all:\n      - resources:\n          kinds: [Pod]\n      - resources:\n          kinds: [Service]";
    let found = serious(&policy("any:\n      - resources:\n          kinds: [Pod]", all));
    assert_eq!((found[0].id, found[0].line, found[0].column), ("never-matches", 14, 11), "{found:?}");
    let alike = all.replace("[Service]", "[v1/Pod, Service]");
    assert_eq!(serious(&policy("any:\n      - resources:\n          kinds: [Pod]", &alike)), []);
}

#[test]
fn conditions_that_are_always_the_same_are_found() {
    let both = "all:\n      - {key: '{{ request.operation }}', operator: Equals, value: CREATE}\n      - {key: '{{request.operation}}', operator: Equals, value: UPDATE}\n";
    let rest = "      - key: '{{ request.operation }}'\n        operator: Equals\n        value: CREATE\n";
    let found = serious(&policy(&format!("all:\n{rest}"), both));
    assert_eq!((found[0].id, found[0].line, found[0].column), ("constant-condition", 16, 65), "{found:?}");
    let any = both.replace("all:", "any:");
    assert_eq!(serious(&policy(&format!("all:\n{rest}"), &any)), []);
    let differs = any.replace("Equals", "NotEquals");
    assert!(serious(&policy(&format!("all:\n{rest}"), &differs))[0].message.contains("always true"));
    let constant = serious(&policy("'{{ request.operation }}'", "request.operation"));
    assert_eq!((constant[0].line, constant[0].column), (15, 14));
    assert_eq!(constant[0].help.as_deref(), Some("write `{{ request.operation }}`"));
}

#[test]
fn context_entries_that_nothing_reads_are_found() {
    let context = "    context:\n    - name: a\n      variable: {value: 1}\n    - name: b\n      variable: {jmesPath: 'a'}\n    preconditions:";
    let found = serious(&policy("    preconditions:", context));
    assert_eq!(found.len(), 1, "{found:?}");
    assert_eq!((found[0].id, found[0].line, found[0].column), ("unused-variable", 16, 13));
}

#[test]
fn rules_with_one_name_are_found() {
    let text = policy("spec:", "spec:");
    let rule = text.split_once("  - name: r").map(|(_, rule)| rule).unwrap_or_default();
    let found = serious(&format!("{text}  - name: r{rule}"));
    assert_eq!(found.len(), 1, "{found:?}");
    assert_eq!((found[0].id, found[0].line), ("duplicate-rule-name", 25));
}

#[test]
fn nothing_is_reported_of_what_may_exist() {
    for kinds in [
        "[Rollout]",
        "['*']",
        "['Po?']",
        "[Pod, Rollout]",
        "[serving.knative.dev/v1/Service]",
        "[Deployment/scale]",
    ] {
        let text = policy("[Pod]", kinds)
            .replace("containers:", "containrs:")
            .replace("metadata.name", "spec.thing");
        let ids: Vec<&str> = serious(&text).iter().map(|f| f.id).filter(|id| *id != "policy-check").collect();
        let expected: &[&str] = match kinds {
            "[Deployment/scale]" => &["unknown-resource-field", "unknown-resource-field"],
            _ => &[],
        };
        assert_eq!(ids, expected, "{kinds}");
    }
    for key in [
        "request.object.metadata.labels.anything",
        "request.object.spec.[initContainers, containers][].image",
        "request.object.spec.containers[?name=='a'] | [0].image",
        "request.object.spec.volumes[].name | sort(@)",
        "request.object.spec.containers[0].resources.limits.memory",
        "request.object.metadata.annotations.\"a/b\" || ''",
        "request.oldObject.spec.nodeName",
        "request.object.metadata.labels.\"{{ request.operation }}\"",
        "request.object.spec.containers[?name=='{{ request.operation }}'].image",
    ] {
        assert_eq!(serious(&policy("request.object.metadata.name", &key.replace('\'', "''"))), [], "{key}");
    }
    for key in [
        "request.object.spec.[initContainers, containers][].imag",
        "request.object.spec.containers[?nam==''a'']",
        "request.object.spec.containers[0].resources.limit.memory",
        "request.oldObject.spec.nodNam",
        "request.object.spec.containrs[?name==''{{ request.operation }}'']",
    ] {
        let found = serious(&policy("request.object.metadata.name", key));
        assert_eq!(
            found.iter().map(|f| f.id).collect::<Vec<_>>(),
            ["unknown-resource-field"],
            "{key}: {found:?}"
        );
    }
}

#[test]
fn objects_of_every_kind_have_metadata() {
    let text = policy("[Pod]", "[Rollout]").replace("metadata.name", "metadata.nmae");
    let found = serious(&text);
    assert_eq!(found.iter().map(|f| (f.id, f.column)).collect::<Vec<_>>(), [("unknown-resource-field", 47)]);
}

#[test]
fn elements_of_loops_have_the_type_of_their_list() {
    let looped = |key: &str| {
        policy(
            "pattern:\n        spec:\n          containers:\n          - image: '*:?*'\n",
            &format!(
                "foreach:\n      - list: request.object.spec.containers\n        deny:\n          conditions:\n            any:\n            - {{key: '{{{{ element.{key} }}}}', operator: Equals, value: x}}\n"
            ),
        )
    };
    assert_eq!(serious(&looped("securityContext.runAsUser")), []);
    let found = serious(&looped("securityContext.runAsUsr"));
    assert_eq!(found.len(), 1, "{found:?}");
    assert_eq!((found[0].id, found[0].line, found[0].column), ("unknown-resource-field", 26, 49));
}

#[test]
fn overlays_patches_and_generated_objects_are_compared_with_their_kind() {
    let body = |text: &str| {
        policy(
            "validate:\n      failureAction: Enforce\n      message: 'no {{ request.object.metadata.name }}'\n      pattern:\n        spec:\n          containers:\n          - image: '*:?*'\n",
            text,
        )
    };
    for (text, at) in [
        ("mutate:\n      patchStrategicMerge:\n        spec:\n          +(dnsPolcy): x\n", (21, 11)),
        (
            "mutate:\n      patchesJson6902: |-\n        - op: add\n          path: /spec/containers/0/imag\n          value: x\n",
            (21, 36),
        ),
        (
            "mutate:\n      targets:\n      - {apiVersion: v1, kind: Service, name: x}\n      patchStrategicMerge:\n        spec:\n          typ: x\n",
            (23, 11),
        ),
        (
            "generate:\n      apiVersion: v1\n      kind: ConfigMap\n      name: x\n      namespace: z\n      data: {dta: {a: b}}\n",
            (23, 14),
        ),
    ] {
        let found: Vec<Finding> =
            serious(&body(text)).into_iter().filter(|f| f.id == "unknown-resource-field").collect();
        assert_eq!(found.iter().map(|f| (f.line, f.column)).collect::<Vec<_>>(), [at], "{text} {found:?}");
    }
    for text in [
        "mutate:\n      patchStrategicMerge:\n        metadata:\n          labels:\n            +(any): x\n",
        "mutate:\n      patchesJson6902: |-\n        - op: add\n          path: /metadata/labels/a~1b\n          value: x\n",
        "generate:\n      apiVersion: example.com/v1\n      kind: ConfigMap\n      name: x\n      namespace: z\n      data: {dta: {a: b}}\n",
    ] {
        assert_eq!(serious(&body(text)), [], "{text}");
    }
}

#[test]
fn templates_of_helm_are_no_policies() {
    let text = policy("name: p", "name: {{ .Values.name }}");
    assert_eq!(lint_text(&text).policies, 0);
}

#[test]
fn documents_of_other_kinds_are_counted() {
    let text = format!(
        "{{ broken\n---\nkind: Test\napiVersion: cli.kyverno.io/v1alpha1\n---\n{VALIDATING}---\nkind: Pod\napiVersion: v1\n---\n- 1\n"
    );
    let linted = lint_text(&text);
    assert_eq!((linted.policies, linted.others, linted.findings.len()), (1, 3, 1), "{linted:?}");
    assert_eq!(lint_text("a: {}").other_files, 1);
}

#[test]
fn documents_that_are_not_yaml_are_found_at_their_place_whatever_they_were_meant_to_be() {
    let list = "kind: List\napiVersion: v1\nitems:\n- apiVersion: kyverno.io/v1\n  kind: ClusterPolicy\n  metadata: {name: p\n  spec: {}\n";
    let json = "{\"apiVersion\":\"kyverno.io/v1\",\"kind\":\"ClusterPolicy\",\"spec\":{\"rules\":[],},,}\n";
    let second = format!("{}---\nfoo: [\n", policy("spec:", "spec:"));
    for (text, at, policies) in [
        (list, (6, 13), 1),
        (json, (1, 75), 1),
        (&second, (26, 1), 1),
        ("a: [", (1, 1), 0),
        ("a: b: c\n# {{ x }}\nd: '{{ y }}'\n", (1, 5), 0),
        ("a: 1\nb: 2\na: 3\n", (3, 1), 0),
        ("a: 1\n--- !x\nb: 1\n", (2, 1), 0),
        ("a:\n\tb: 1\n", (2, 1), 0),
    ] {
        let linted = lint_text(text);
        let [found] = &linted.findings[..] else { panic!("{text}: {linted:?}") };
        assert_eq!((found.id, found.line, found.column), ("yaml-syntax", at.0, at.1), "{text} {found}");
        assert_eq!((linted.policies, linted.others, linted.other_files), (policies, 0, 0), "{text}");
    }
}

#[test]
fn a_variable_of_kyverno_without_quotes_is_no_template() {
    for text in [
        policy("'{{ request.operation }}'", "{{ request.operation }}"),
        policy("'{{ request.operation }}'", "{{element}}"),
    ] {
        let linted = lint_text(&text);
        assert_eq!(linted.findings.iter().map(|f| f.id).collect::<Vec<_>>(), ["yaml-syntax"], "{text}");
        assert!(linted.templates.is_empty());
    }
}

#[test]
fn templates_are_named_in_folders_and_findings_where_the_user_names_the_file() {
    for (text, at) in [
        (policy("name: p", "name: {{ .Values.name }}"), (4, 9)),
        ("metadata: {name: {{ .Release.Name }}}\n".into(), (1, 18)),
        ("a: 1\n{{- if .x }}\nb: 2\n{{- end }}\n".into(), (2, 1)),
        ("a: 1\n{% if x %}\nb: 2\n{% endif %}\n".into(), (2, 1)),
        ("a: don't\nb: {{ x }}\n".into(), (2, 4)),
    ] {
        let source = [SourceText { name: "p.yaml".into(), text: text.clone() }];
        let quiet = lint(&source, &[], &Roles::default());
        assert_eq!((quiet.findings.len(), quiet.templates.len()), (0, 1), "{text} {quiet:?}");
        let roles = Roles { named: HashSet::from(["p.yaml".to_string()]), ..Roles::default() };
        let linted = lint(&source, &[], &roles);
        let [found] = &linted.findings[..] else { panic!("{text}: {linted:?}") };
        assert_eq!((found.id, found.line, found.column), ("yaml-syntax", at.0, at.1), "{text} {found}");
    }
}

#[test]
fn a_document_without_kind_or_version_says_so() {
    let messages = |text: &str| serious(text).into_iter().map(|f| f.message).collect::<Vec<_>>();
    let without = messages(&policy("apiVersion: kyverno.io/v1\n", ""));
    assert_eq!(without, ["a document of kind `ClusterPolicy` has no `apiVersion`"]);
    let without = messages(&policy("kind: ClusterPolicy\n", ""));
    assert_eq!(without, ["a document of `kyverno.io/v1` has no `kind`"]);
    let without = messages(&policy("apiVersion: kyverno.io/v1", "apiVersion: ''"));
    assert_eq!(without, ["a document of kind `ClusterPolicy` has no `apiVersion`"]);
}

#[test]
fn policies_in_lists_have_places_too() {
    let list = "apiVersion: v1\nkind: List\nitems:\n- apiVersion: policies.kyverno.io/v1\n  kind: ValidatingPolicy\n  metadata: {name: p}\n  spec:\n    matchConstraints: {resourceRules: [{apiGroups: [''], apiVersions: [v1], operations: [CREATE], resources: [pods]}]}\n    validations:\n    - expression: object.a + zz\n";
    let found = serious(list);
    assert_eq!((found[0].line, found[0].column), (10, 30), "{found:?}");
}

#[test]
fn comments_drop_findings() {
    let bad = policy("[Pod]", "[Pods]");
    assert_eq!(serious(&bad).len(), 1);
    assert_eq!(serious(&bad.replace("[Pods]", "[Pods] # ephor-lint: ignore=unknown-kind")), []);
    let above =
        bad.replace("          kinds", "          # ephor-lint: ignore=schema,unknown-kind\n          kinds");
    assert_eq!(serious(&above), []);
    assert_eq!(serious(&format!("# ephor-lint: ignore-file=unknown-kind\n{bad}")), []);
    assert_eq!(serious(&bad.replace("[Pods]", "[Pods] # ephor-lint: ignore=schema")).len(), 1);
}

#[test]
fn policies_and_bindings_that_an_api_server_refuses_are_errors() {
    let head = "apiVersion: admissionregistration.k8s.io/v1\n";
    for (text, field) in [
        (
            "kind: ValidatingAdmissionPolicyBinding\nmetadata: {name: b}\nspec: {policyName: p, validationActions: [deny]}",
            "spec.validationActions[0]: Unsupported value",
        ),
        (
            "kind: ValidatingAdmissionPolicyBinding\nmetadata: {name: b}\nspec: {validationActions: [Deny]}",
            "spec.policyName: Required value",
        ),
        (
            "kind: ValidatingAdmissionPolicy\nmetadata: {name: p}\nspec: {validations: [{expression: 'true'}], matchConstraints: {resourceRules: [{apiGroups: [''], apiVersions: [v1], operations: [Create], resources: [pods]}]}}",
            "operations[0]: Unsupported value",
        ),
        (
            "kind: ValidatingAdmissionPolicy\nmetadata: {name: p}\nspec: {validations: [{expression: object.spec.replicaz > 1}], matchConstraints: {resourceRules: [{apiGroups: [apps], apiVersions: [v1], operations: [CREATE], resources: [deployments]}]}}",
            "undefined field 'replicaz'",
        ),
    ] {
        let found = serious(&format!("{head}{text}\n"));
        assert_eq!(found.len(), 1, "{found:?}");
        assert!(found[0].message.contains(field) && found[0].column > 0, "{found:?}");
    }
}

#[test]
fn places_are_found_in_blocks() {
    let text = |block: &str| VALIDATING.replace("object.spec.replicas > 1", block);
    for (block, line, column) in [
        ("|-\n      true &&\n      zz", 12, 7),
        (">-\n      true &&\n      zz", 12, 7),
        ("\"true && zz\"", 10, 26),
        (">-\n      true &&", 11, 14),
    ] {
        let found = serious(&text(block));
        assert_eq!((found[0].line, found[0].column), (line, column), "{found:?}");
    }
}

#[test]
fn a_finding_is_printed_with_its_line_and_carets() {
    let found = serious(&policy("Equals", "Equls"));
    assert_eq!(
        found[0].to_string(),
        "p.yaml:16:19: error: there is no operator `Equls` [unknown-operator]
  16 |         operator: Equls
     |                   ^^^^^ did you mean `Equals`?
"
    );
}

#[test]
fn every_finding_has_an_id_of_the_table() {
    let ids: Vec<&str> = CHECKS.iter().map(|(id, ..)| *id).collect();
    for text in [
        policy("match:", "mach:"),
        policy("Pod", "Pods"),
        policy("failureAction: Enforce", "failureAction: enforce"),
    ] {
        for finding in lint_text(&text).findings {
            assert!(ids.contains(&finding.id), "{finding:?}");
        }
    }
    let kebab = |id: &&str| id.chars().all(|c| c.is_ascii_lowercase() || c == '-');
    assert!(ids.iter().all(kebab));
}

#[test]
fn parts_of_policies_are_counted_and_not_checked() {
    let of = |text: &str| {
        let linted = lint_text(text);
        (linted.findings.len(), linted.policies, linted.partial)
    };
    let head = "apiVersion: kyverno.io/v1\nkind: ClusterPolicy\nmetadata: {name: p}\nspec:\n";
    assert_eq!(of(&format!("{head}  validationFailureAction: Enforce\n")), (0, 0, 1));
    assert_eq!(of(&format!("{head}  rules: [{{name: r, $patch: delete}}]\n")), (0, 0, 1));
    // A misspelt field is an error, not a part.
    assert_eq!(of(&format!("{head}  ruls: []\n")).2, 0);
    assert_eq!(of(&format!("{head}  rules: [{{name: r}}]\n")).2, 0);
    // A rule may delete by a strategic merge.
    let rule = "  rules:\n  - name: r\n    match: {any: [{resources: {kinds: [Pod]}}]}\n    mutate: {patchStrategicMerge: {spec: {containers: [{name: c, $patch: delete}]}}}\n";
    assert_eq!(of(&format!("{head}{rule}")).1, 1);
    let mut patches = Patches::default();
    patches.add(std::path::Path::new("overlay"), "patches: [{path: p.yaml}]\n");
    let source =
        |name: &str| SourceText { name: name.into(), text: format!("{head}  rules: [{{name: r}}]\n") };
    let linted =
        lint(&[source("overlay/p.yaml"), source("base/p.yaml")], &[], &Roles { patches, ..Roles::default() });
    assert_eq!((linted.policies, linted.partial), (1, 1));
    assert!(linted.findings.iter().all(|f| &*f.file == "base/p.yaml"), "{:?}", linted.findings);
}

#[test]
fn what_the_policy_check_refuses_is_found_next_to_errors_of_the_schema() {
    let second = "  - name: a\n    match: {any: [{resources: {kinds: [Pod]}}]}\n    validate: {message: m, pattern: {metadata: {name: x}}}\n";
    let twice = format!("{second}{second}");
    for (from, to, id) in [
        ("Enforce", "Enforced", "schema"),
        ("'no {{ request.object.metadata.name }}'", "no", "wrong-type"),
        ("  - name: r\n    match:", "  - match:", "schema"),
    ] {
        let found = serious(&format!("{}{twice}", policy(from, to)));
        let ids: Vec<&str> = found.iter().map(|f| f.id).collect();
        assert_eq!(ids, [id, "duplicate-rule-name"], "{to}: {found:#?}");
    }
    // What depends on a refused part is not reported.
    let found = serious(&policy("kinds: [Pod]", "kinds: Pod"));
    assert_eq!(found.iter().map(|f| f.id).collect::<Vec<_>>(), ["wrong-type"], "{found:#?}");
}

#[test]
fn what_is_wrong_with_a_misspelt_field_is_marked_at_its_value_as_it_is_written() {
    let of = |text: &str| {
        let found = lint_text(text).findings;
        let wrong = found.iter().filter(|f| f.severity == Severity::Error).collect::<Vec<_>>();
        wrong
            .iter()
            .map(|f| {
                format!(
                    "{}:{}-{} {}; {}",
                    f.line,
                    f.column,
                    f.end,
                    f.message,
                    f.help.as_deref().unwrap_or("-")
                )
            })
            .collect::<Vec<_>>()
    };
    let head = "apiVersion: kyverno.io/v1\nkind: ClusterPolicy\nmetadata: {name: p}\nspec:\n";
    let rest = "    match: {any: [{resources: {kinds: [Pod]}}]}\n    validate: {message: m, pattern: {spec: {a: b}}}\n";
    let found = of(&format!("{head}  rules:\n  - nme: y\n{rest}"));
    assert_eq!(
        found.first_chunk::<2>().map(|two| two.each_ref().map(String::as_str)),
        Some([
            "6:5-8 unknown field `nme` in `spec.rules[0]`; did you mean `name`?",
            "6:10-11 `spec.rules[0].name` must be a string: `y` is a boolean in YAML 1.1; quote it: \"y\"",
        ]),
        "{found:?}"
    );
    // The same below a field that is misspelt, and for other scalars.
    let found = of(&format!("{head}  ruls:\n  - name: 3\n{rest}"));
    assert!(
        found
            .iter()
            .any(|f| f == "6:11-12 `spec.rules[0].name` must be a string, not an integer; quote it: \"3\""),
        "{found:?}"
    );
    let found = of(&format!("{head}  rules:\n  - name: r\n{}", rest.replace("message: m", "mesage: off")));
    assert!(
        found
            .iter()
            .any(|f| f.ends_with("must be a string: `off` is a boolean in YAML 1.1; quote it: \"off\"")),
        "{found:?}"
    );
    // A tag is no part of a text.
    let found = of(&format!("{head}  rules:\n  - name: !!int 3\n{rest}"));
    assert!(found.iter().all(|f| !f.contains("quote it: \"!!")), "{found:?}");
}

#[test]
fn what_means_something_else_on_a_later_release_is_a_note() {
    let text = "apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {name: p}
spec:
  matchConstraints:
    resourceRules:
    - {apiGroups: [''], apiVersions: [v1], operations: [CREATE], resources: [pods]}
  validations:
  - expression: object.spec.containers.all(c, c.name != 'a' && (c == 'x' || true))
";
    let notes = |release| {
        let source = SourceText { name: "p.yaml".into(), text: text.into() };
        let found = lint_on(release, &[source], &[], &Roles::default()).findings;
        let notes = found.into_iter().filter(|f| f.severity == Severity::Note);
        notes.map(|f| (f.id, f.line, f.message)).collect::<Vec<_>>()
    };
    let message = "spec.validations[0].expression: `c == 'x'` compares a structure, list or map with a \
                   scalar: an error in 1.37";
    assert_eq!(notes(Release::V1_36), [("other-release", 9, message.to_string())]);
    assert_eq!(notes(Release::V1_37), []);
}

#[test]
fn thousands_of_unknown_fields_are_found_one_by_one() {
    let fields: String = (0..5_000).map(|i| format!("    zz{i}: 1\n")).collect();
    let text = policy("    preconditions:\n", &format!("{fields}    preconditions:\n"));
    let found = serious(&text);
    assert_eq!(found.len(), 5_000);
    assert!(found.windows(2).all(|pair| pair[0].line + 1 == pair[1].line && pair[0].column == 5));
    assert_eq!(found[0].excerpt, "    zz0: 1");
}

#[test]
fn of_two_misspellings_of_a_field_the_first_is_the_field() {
    let found = serious(&policy("    match:\n", "    matc: {}\n    mtch:\n"));
    let unknown = found.iter().filter(|f| f.id == "unknown-field");
    let fixes: Vec<usize> = unknown.map(|f| f.fixes.len()).collect();
    assert_eq!(fixes, [1, 0], "{found:?}");
}
