//! The printed form of rules.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

use ephor_analysis::print;
use ephor_api::{autogen::Selection, schema};
use ephor_document::yaml_value;
use ephor_ir::{Rule, optimise};
use ephor_lower::LATE;

fn optimised(rule: Rule) -> Rule {
    optimise::rule(rule, LATE)
}
use ephor_lower::policy::rules_as_lowered;

/// The rules of a policy (its `spec.rules` as YAML) as they are lowered.
fn lowered(rules: &str) -> String {
    render(rules, |r| r)
}

fn render(rules: &str, finish: fn(ephor_ir::Rule) -> ephor_ir::Rule) -> String {
    let rules: String = rules.lines().map(|l| format!("  {l}\n")).collect();
    let text = format!(
        "apiVersion: kyverno.io/v1\nkind: ClusterPolicy\nmetadata: {{name: p}}\nspec:\n  rules:\n{rules}"
    );
    let doc = schema::check(&yaml_value(&text).unwrap()).unwrap();
    let rules = rules_as_lowered(&doc, Selection::All);
    rules.into_iter().map(|r| print::rule(&finish(r)).to_string()).collect::<Vec<_>>().join("\n")
}

const PATTERN: &str = r#"
- name: shape
  match: {any: [{resources: {kinds: [Pod]}}]}
  validate:
    message: "pin the tag of {{ request.object.metadata.name }}"
    pattern:
      =(metadata): {labels: {"app*": "?*"}}
      spec:
        ^(containers): [{image: "!*:latest & *:?*"}]
        (volumes): [{name: "a | b"}]
        priority: ">=1 | 2-5"
"#;

#[test]
fn prints_patterns_with_the_places_of_generated_rules() {
    insta::assert_snapshot!(lowered(PATTERN));
}

const CONDITIONS: &str = r#"
- name: conditions
  match:
    all:
    - resources: {kinds: [apps/v1/Deployment/scale], namespaces: ["prod-*"], selector: {matchLabels: {a: b}}}
    - {clusterRoles: [admin], subjects: [{kind: User, name: eve}]}
  exclude: {any: [{resources: {kinds: [ConfigMap], operations: [DELETE]}}]}
  context:
  - name: cm
    configMap: {name: settings, namespace: "{{ request.namespace }}"}
  - name: limit
    variable: {jmesPath: "cm.data.limit", default: "10"}
  preconditions:
    any: [{key: "{{ request.operation || 'BACKGROUND' }}", operator: AnyIn, value: [CREATE, UPDATE]}]
  validate:
    failureAction: Enforce
    message: too many
    deny:
      conditions:
        all:
        - {key: "{{ request.object.spec.replicas }}", operator: GreaterThan, value: "{{ limit }}", message: many}
        - {key: "x-{{ images.containers.*.tag | [0] }}", operator: Equals, value: "x-*"}
"#;

#[test]
fn prints_matchers_bindings_and_conditions() {
    insta::assert_snapshot!(lowered(CONDITIONS));
}

const LOOPS: &str = r#"
- name: loops
  match: {any: [{resources: {kinds: [ConfigMap]}}]}
  validate:
    message: bad
    foreach:
    - list: request.object.data.items[]
      elementScope: false
      context: [{name: own, variable: {value: "{{ element.name }}"}}]
      preconditions: {all: [{key: "{{ own }}", operator: NotEquals, value: ""}]}
      anyPattern: [{data: {a: "{{ own }}"}}, {data: {a: "{{ @ }}{{ own }}"}}]
"#;

#[test]
fn prints_loops_and_patterns_with_variables() {
    insta::assert_snapshot!(lowered(LOOPS));
}

const CONSTANT: &str = r#"
- name: constant
  match: {any: [{resources: {kinds: [ConfigMap]}}]}
  preconditions:
    all: [{key: "{{ `true` }}", operator: Equals, value: true}]
  validate:
    message: "at {{ join('/', ['a', 'b']) }}: {{ request.name }}"
    deny:
      conditions:
        any:
        - {key: a, operator: Equals, value: b}
        - {key: "{{ request.object.data.x || '' }}", operator: Equals, value: "{{ to_upper('x') }}"}
        - {key: "{{ length('abc') }}", operator: Equals, value: 3, message: always}
        - {key: "{{ request.object.data.y }}", operator: Equals, value: never reached}
- name: constant-pattern
  match: {any: [{resources: {kinds: [ConfigMap]}}]}
  validate: {message: m, pattern: {data: {a: "{{ to_upper('x') }}"}}}
"#;

const CHANGES: &str = r#"
- name: merge
  match: {any: [{resources: {kinds: [Pod]}}]}
  mutate: {patchStrategicMerge: {metadata: {labels: {a: b}}}}
- name: anchors
  match: {any: [{resources: {kinds: [Pod]}}]}
  mutate: {patchStrategicMerge: {spec: {containers: [{(image): "*:latest", +(imagePullPolicy): Always, <(name): "a*"}]}}}
- name: variables
  match: {any: [{resources: {kinds: [Pod]}}]}
  context: [{name: v, variable: {jmesPath: request.object.metadata.name}}]
  mutate: {patchStrategicMerge: {metadata: {labels: {name: "{{ v }}"}}}}
- name: operations
  match: {any: [{resources: {kinds: [ConfigMap]}}]}
  mutate: {patchesJson6902: "- {op: add, path: /data/a, value: b}\n- {op: move, from: /data/b, path: /data/c}"}
- name: loops
  match: {any: [{resources: {kinds: [Pod]}}]}
  mutate:
    foreach:
    - list: request.object.spec.containers
      preconditions: {all: [{key: "{{ element.image }}", operator: Equals, value: x}]}
      patchStrategicMerge: {spec: {containers: [{(name): "{{ element.name }}", tty: true}]}}
- name: others
  match: {any: [{resources: {kinds: [ConfigMap]}}]}
  mutate:
    targets: [{apiVersion: v1, kind: Secret, namespace: "{{ request.namespace }}", name: "t*"}]
    patchesJson6902: "- {op: add, path: /metadata/labels/x, value: '{{ target.metadata.name }}'}"
- name: made
  match: {any: [{resources: {kinds: [Namespace]}}]}
  generate:
    synchronize: true
    apiVersion: v1
    kind: ConfigMap
    name: c
    namespace: "{{ request.object.metadata.name }}"
    data: {data: {a: b}}
"#;

#[test]
fn prints_what_rules_change_and_make() {
    insta::assert_snapshot!(render(CHANGES, optimised));
}

#[test]
fn optimised_rules_have_no_constant_work_left() {
    insta::assert_snapshot!(format!("{}\n--- optimised\n{}", lowered(CONSTANT), render(CONSTANT, optimised)));
}

#[test]
fn optimising_twice_changes_nothing() {
    for rules in [PATTERN, CONDITIONS, LOOPS, CONSTANT, CHANGES] {
        let once = render(rules, optimised);
        assert_eq!(render(rules, |r| optimised(optimised(r))), once);
    }
}
