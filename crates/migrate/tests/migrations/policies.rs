//! Whole policies: what is written for them, and what the comparison says.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::time::Duration;

use ephor_compare::Answer;
use ephor_migrate::{DocumentOutcome, Limits, Options, TargetApi, exceptions, file};

/// The migrated text of a file, from the line that begins with `from`, and the words for what its
/// proofs say.
fn migrated(text: &str, options: &Options) -> (String, Vec<String>) {
    let limits = Limits { time: Some(Duration::from_secs(60)), ..Limits::default() };
    let mut files = vec![file("old.yaml", text, options, limits).unwrap()];
    exceptions(&mut files, options, limits);
    let file = files.remove(0);
    let word = |outcome: &DocumentOutcome| match outcome {
        DocumentOutcome::Unchanged => "unchanged".to_string(),
        DocumentOutcome::Refused(all) => format!("refused: {}", all[0].construct),
        DocumentOutcome::Unreadable(why) => why.clone(),
        DocumentOutcome::Moved(_, proof) => match &**proof {
            Ok(proof) if proof.claim.answer == Answer::Differs => {
                format!("differs: {:?}", proof.claim.differences[0])
            }
            Ok(proof) => proof.claim.answer.name().to_string(),
            Err(cause) => cause.to_string(),
        },
    };
    (file.migrated(), file.parts.iter().map(|part| word(&part.outcome)).collect())
}

/// The part of a text below `spec:`.
fn spec(text: &str) -> &str {
    text.split_once("\nspec:\n").map_or("", |(_, spec)| spec)
}

/// A policy with rules.
fn policy(name: &str, rules: &str) -> String {
    format!(
        "apiVersion: kyverno.io/v1\nkind: ClusterPolicy\nmetadata:\n  name: {name}\nspec:\n  rules:\n{rules}"
    )
}

#[test]
fn rules_of_one_match_are_one_policy_and_others_have_their_own() {
    let rule = |name: &str, kind: &str, field: &str| {
        format!(
            "  - name: {name}
    match: {{any: [{{resources: {{kinds: [{kind}]}}}}]}}
    validate:
      message: no {field}
      cel: {{expressions: [{{expression: '!has(object.{field})'}}]}}
"
        )
    };
    let rules =
        rule("a", "ConfigMap", "data") + &rule("b", "ConfigMap", "binaryData") + &rule("c", "Secret", "data");
    let (text, words) = migrated(&policy("p", &rules), &Options::default());
    assert_eq!(words, ["proved"]);
    let names: Vec<&str> = text.lines().filter(|line| line.starts_with("  name: ")).collect();
    assert_eq!(names, ["  name: p-a", "  name: p-c"]);
    assert_eq!(text.matches("ephor.dev/replaces: p").count(), 2);
    assert_eq!(text.matches("- expression:").count(), 3);
}

#[test]
fn overrides_by_namespace_are_a_policy_for_each_action() {
    let text = "apiVersion: kyverno.io/v1
kind: ClusterPolicy
metadata: {name: p}
spec:
  validationFailureAction: Audit
  validationFailureActionOverrides:
  - {action: Enforce, namespaces: [prod]}
  rules:
  - name: a
    match: {any: [{resources: {kinds: [ConfigMap]}}]}
    validate: {message: m, cel: {expressions: [{expression: '!has(object.data)'}]}}
";
    let (text, words) = migrated(text, &Options::default());
    assert_eq!(words, ["proved"]);
    assert!(text.contains("name: p-enforce\n") && text.contains("name: p-audit\n"), "{text}");
    assert!(text.contains("operator: NotIn\n          values: [prod]\n"), "{text}");
}

#[test]
fn pods_have_the_usual_controllers_and_ephemeral_containers_a_policy_of_their_own() {
    let rules = "  - name: a
    match: {any: [{resources: {kinds: [Pod]}}]}
    validate:
      message: m
      cel: {expressions: [{expression: '!has(object.spec.ephemeralContainers)'}]}
";
    let (text, words) = migrated(&policy("p", rules), &Options::default());
    assert_eq!(words, ["proved"]);
    assert!(!text.contains("autogen"), "{text}");
    assert!(text.contains("name: p-ephemeral-containers\n"), "{text}");
    let named = policy("p", rules).replace(
        "  name: p\n",
        "  name: p\n  annotations: {pod-policies.kyverno.io/autogen-controllers: 'Deployment'}\n",
    );
    let (text, words) = migrated(&named, &Options::default());
    assert_eq!(words, ["proved"]);
    assert!(text.contains("controllers: [deployments]\n"), "{text}");
}

#[test]
fn policies_of_kubernetes_have_bindings_and_rules_for_controllers() {
    let rules = "  - name: a
    match: {any: [{resources: {kinds: [Pod]}}]}
    validate:
      message: m
      cel: {expressions: [{expression: 'object.spec.?hostPID.orValue(false) == false'}]}
";
    let options = Options { to: TargetApi::Kubernetes, ..Options::default() };
    let (text, words) = migrated(&policy("p", rules), &options);
    assert_eq!(words, ["proved"]);
    assert!(text.contains("kind: ValidatingAdmissionPolicyBinding\n"), "{text}");
    assert!(text.contains("object.spec.template.spec.?hostPID"), "{text}");
    assert!(text.contains("validationActions: [Audit]\n"), "{text}");
}

#[test]
fn merges_become_apply_configurations_with_fields_only_where_there_are_none() {
    let rules = "  - name: a
    match: {any: [{resources: {kinds: [ConfigMap]}}]}
    mutate:
      patchStrategicMerge:
        metadata:
          labels:
            team: a
            +(tier): b
";
    let (text, words) = migrated(&policy("p", rules), &Options::default());
    assert_eq!(words, ["proved relative"]);
    assert_eq!(
        spec(&text),
        "  matchConstraints:
    resourceRules:
      - apiGroups: ['']
        apiVersions: [v1]
        resources: [configmaps]
        operations: [CREATE, UPDATE]
  mutations:
    # from old.yaml:10
    - patchType: ApplyConfiguration
      applyConfiguration:
        expression: >-
          Object{
            metadata: Object.metadata{
              labels: {
                'team': 'a',
                ?'tier': object.metadata.?labels.?tier.hasValue() ? optional.none() : optional.of('b')}}}
"
    );
}

#[test]
fn json_patches_create_parents_and_leave_alone_what_is_not_there() {
    let rules = "  - name: a
    match: {any: [{resources: {kinds: [Service]}}]}
    mutate:
      patchesJson6902: |-
        - {op: add, path: /metadata/annotations/a~1b, value: c}
        - {op: remove, path: /spec/loadBalancerIP}
";
    let (text, words) = migrated(&policy("p", rules), &Options::default());
    assert_eq!(words, ["proved"]);
    assert!(text.contains("path: '/metadata/annotations', value: {'a/b': 'c'}"), "{text}");
    assert!(text.contains("has(object.spec.loadBalancerIP)"), "{text}");
}

#[test]
fn loops_over_containers_change_each_by_its_name() {
    let rules = "  - name: a
    match: {any: [{resources: {kinds: [Deployment]}}]}
    mutate:
      foreach:
      - list: request.object.spec.template.spec.containers
        patchStrategicMerge:
          spec:
            template:
              spec:
                containers:
                - name: '{{ element.name }}'
                  imagePullPolicy: Always
";
    let (text, words) = migrated(&policy("p", rules), &Options::default());
    assert_eq!(words, ["proved relative"]);
    assert!(text.contains("object.spec.template.spec.containers.map(element,"), "{text}");
}

#[test]
fn generated_objects_become_templates_with_placeholders() {
    let rules = "  - name: a
    match: {any: [{resources: {kinds: [Namespace]}}]}
    generate:
      apiVersion: v1
      kind: ConfigMap
      name: settings
      namespace: '{{ request.object.metadata.name }}'
      synchronize: true
      data:
        data: {owner: 'team-{{ request.object.metadata.name }}'}
";
    let (text, words) = migrated(&policy("p", rules), &Options::default());
    assert_eq!(words, ["proved"]);
    assert!(text.contains("  evaluation:\n    synchronize:\n      enabled: true\n"), "{text}");
    assert!(text.contains("            namespace: (( object.metadata.name ))\n"), "{text}");
    assert!(text.contains("            owner: team-(( object.metadata.name ))\n"), "{text}");
}

#[test]
fn exceptions_name_the_new_policies() {
    let rules = "  - name: a
    match: {any: [{resources: {kinds: [ConfigMap]}}]}
    validate: {message: m, cel: {expressions: [{expression: '!has(object.data)'}]}}
";
    let exception = "apiVersion: kyverno.io/v2
kind: PolicyException
metadata: {name: e, namespace: ops}
spec:
  exceptions: [{policyName: p, ruleNames: [a]}]
  match: {any: [{resources: {kinds: [ConfigMap], names: [free-*]}}]}
";
    let both = format!("{}---\n{exception}", policy("p", rules));
    let (text, words) = migrated(&both, &Options::default());
    assert_eq!(words, ["proved", "proved"]);
    assert!(text.contains("  policyRefs:\n    - name: p\n      kind: ValidatingPolicy\n"), "{text}");
    let (_, words) = migrated(exception, &Options::default());
    assert!(words[0].starts_with("refused: an exception from the policy `p`"), "{words:?}");
    let controls = format!("{both}  podSecurity: [{{controlName: Host Ports}}]\n");
    let (_, words) = migrated(&controls, &Options::default());
    assert!(
        words[1].starts_with("refused: an exception from the Pod Security control `Host Ports` alone"),
        "{words:?}"
    );
}

#[test]
fn what_moved_once_stays_as_it_is() {
    let rules = "  - name: a
    match: {any: [{resources: {kinds: [ConfigMap]}}]}
    validate: {message: m, cel: {expressions: [{expression: '!has(object.data)'}]}}
";
    let (once, _) = migrated(&policy("p", rules), &Options::default());
    let (twice, words) = migrated(&once, &Options::default());
    assert_eq!((twice, words), (once, vec!["unchanged".to_string()]));
}

#[test]
fn a_config_map_that_is_missing_fails_both_policies_whatever_defaults_there_are() {
    let rules = "  - name: r
    match: {any: [{resources: {kinds: [Pod]}}]}
    context: [{name: settings, configMap: {name: s, namespace: rules}}]
    validate:
      message: The label is not that of the ConfigMap.
      deny: {conditions: {all: [{key: \"{{ request.object.metadata.labels.a || 'x' }}\", operator: NotEquals, value: \"{{ settings.data.a || 'x' }}\"}]}}
";
    let (text, words) = migrated(&policy("p", rules), &Options::default());
    assert!(text.contains("has(variables.settings.data.a)"), "{text}");
    assert_eq!(words, ["proved relative"]);
}

#[test]
fn a_note_says_that_services_get_no_token_from_the_new_policy() {
    let rules = |headers: &str| {
        format!(
            "  - name: r
    match: {{any: [{{resources: {{kinds: [Pod]}}}}]}}
    context: [{{name: a, apiCall: {{service: {{url: 'http://a.b/c'{headers}}}}}}}]
    validate:
      message: The service refuses the pod.
      deny: {{conditions: {{all: [{{key: '{{{{ a.b }}}}', operator: NotEquals, value: x}}]}}}}
"
        )
    };
    let notes = |headers: &str| {
        let file =
            file("p.yaml", &policy("p", &rules(headers)), &Options::default(), Limits::default()).unwrap();
        match &file.parts[0].outcome {
            DocumentOutcome::Moved(migrated, _) => migrated.notes.clone(),
            other => panic!("{other:?}"),
        }
    };
    assert!(notes("").iter().any(|note| note.text.contains("sends the token")));
    let own = notes(", headers: [{key: authorization, value: x}]");
    assert!(!own.iter().any(|note| note.text.contains("sends the token")), "{own:?}");
}

#[test]
fn overrides_by_labels_of_namespaces_are_policies_with_selectors() {
    let rules = |overrides: &str| {
        format!(
            "  - name: a
    match: {{any: [{{resources: {{kinds: [ConfigMap]}}}}]}}
    validate:
      failureAction: Audit
      failureActionOverrides: {overrides}
      message: no data
      pattern: {{X(data): null}}
"
        )
    };
    let labels = "[{action: Enforce, namespaceSelector: {matchLabels: {tier: prod}}}]";
    let (text, words) = migrated(&policy("p", &rules(labels)), &Options::default());
    assert!(!words[0].starts_with("differs"), "{words:?}");
    let parts: Vec<&str> = text.split("\n---\n").collect();
    assert_eq!(parts.len(), 2, "{text}");
    assert!(parts[0].contains("[Deny]") && parts[0].contains("tier: prod"), "{text}");
    assert!(parts[1].contains("[Audit]") && parts[1].contains("operator: NotIn"), "{text}");
    // What says nothing more than the action does is no policy of its own.
    let named = "[{action: Enforce, namespaces: [a]}, {action: Audit, namespaces: [b]}]";
    let (text, words) = migrated(&policy("p", &rules(named)), &Options::default());
    assert_eq!(words, ["proved"]);
    assert_eq!(text.split("\n---\n").count(), 2, "{text}");
}

#[test]
fn overrides_of_a_policy_by_labels_are_refused() {
    let rules = "  - name: a
    match: {any: [{resources: {kinds: [ConfigMap]}}]}
    validate:
      message: no data
      pattern: {X(data): null}
  validationFailureActionOverrides: [{action: Enforce, namespaceSelector: {matchLabels: {tier: prod}}}]
";
    let (_, words) = migrated(&policy("p", rules), &Options::default());
    assert_eq!(words, ["refused: an override of the failure action by labels of namespaces"]);
}

#[test]
fn updates_of_former_violations_are_known_in_namespaces_that_are_selected() {
    let rules = "  - name: a
    match: {any: [{resources: {kinds: [Deployment], namespaceSelector: {matchLabels: {env: prod}}}}]}
    validate:
      failureAction: Enforce
      message: replicas
      deny: {conditions: {any: [{key: '{{ request.object.spec.replicas || `1` }}', operator: LessThan, value: 2}]}}
";
    let (_, words) = migrated(&policy("p", rules), &Options::default());
    assert_eq!(words, ["proved"]);
}
