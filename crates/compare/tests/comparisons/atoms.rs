//! Policies that read many things at once: equal ones are proved, although all combinations are
//! too many, and what one token changes is found.

use ephor_compare::Answer;

use super::compared;

fn differs(old: &str, new: &str) {
    let found = compared(old, new);
    assert_eq!(found.answer, Answer::Differs, "{:?}\n{old}\n{new}", found.reasons);
}

/// Filters by name, namespace, user and labels of the namespace, and alternatives about four
/// fields.
const OLD: &str = r#"
apiVersion: kyverno.io/v1
kind: ClusterPolicy
metadata: {name: p}
spec:
  background: false
  validationFailureAction: Enforce
  rules:
  - name: r
    match: {any: [{resources: {kinds: [Service], operations: [CREATE]}}]}
    exclude:
      any:
      - resources: {namespaceSelector: {matchLabels: {exposure: public}}}
      - resources: {names: [gateway], namespaces: [ingress]}
      - subjects: [{kind: Group, name: admins}, {kind: User, name: robot}]
    validate:
      message: m
      anyPattern:
      - metadata: {annotations: {aws: "true | 0.0.0.0/0"}}
      - metadata: {annotations: {azure: "true"}}
      - metadata: {annotations: {gcp: Internal}}
      - spec: {=(type): "!LoadBalancer"}
"#;

const NEW: &str = r#"
apiVersion: policies.kyverno.io/v1
kind: ValidatingPolicy
metadata: {name: p}
spec:
  validationActions: [Deny]
  matchConstraints:
    resourceRules: [{apiGroups: [''], apiVersions: [v1], resources: [services], operations: [CREATE]}]
  matchConditions:
  - {name: a, expression: "namespaceObject.metadata.?labels.?exposure.orValue('') != 'public'"}
  - {name: b, expression: "!(object.metadata.name == 'gateway' && object.metadata.namespace == 'ingress')"}
  - {name: c, expression: "!('admins' in request.userInfo.?groups.orValue([]) || request.userInfo.?username.orValue('') == 'robot')"}
  validations:
  - message: m
    expression: >-
      object.metadata.?annotations.?aws.orValue('') in ['true', '0.0.0.0/0'] ||
      object.metadata.?annotations.?azure.orValue('') == 'true' ||
      object.metadata.?annotations.?gcp.orValue('') == 'Internal' ||
      object.spec.?type.orValue('') != 'LoadBalancer'
"#;

#[test]
fn filters_and_alternatives_about_many_fields_are_proved() {
    let found = compared(OLD, NEW);
    assert_eq!(found.answer, Answer::Proved, "{:?}", found.reasons);
}

#[test]
fn a_change_of_one_of_many_parts_is_found() {
    for (is, other) in [
        ("!= 'public'", "!= 'private'"),
        ("== 'gateway' &&", "== 'gateway' ||"),
        ("== 'ingress'", "== 'egress'"),
        ("'admins' in", "'admin' in"),
        ("== 'robot'", "== 'robots'"),
        ("['true', '0.0.0.0/0']", "['true', '0.0.0.0']"),
        ("?azure.orValue('') == 'true'", "?azure.orValue('') == 'True'"),
        ("?gcp.orValue('') == 'Internal' ||", "?gcp.orValue('') == 'Internal' &&"),
        ("!= 'LoadBalancer'", "!= 'NodePort'"),
    ] {
        assert!(NEW.contains(is), "{is}");
        differs(OLD, &NEW.replace(is, other));
    }
}

#[test]
fn conditions_of_a_pattern_are_parts_that_decide() {
    let old = r#"
apiVersion: kyverno.io/v1
kind: ClusterPolicy
metadata: {name: p}
spec:
  background: false
  validationFailureAction: Enforce
  rules:
  - name: r
    match: {any: [{resources: {kinds: [Deployment], operations: [CREATE], selector: {matchLabels: {tier: web}}}}]}
    validate:
      message: m
      pattern:
        spec:
          (replicas): ">1"
          template:
            spec:
              (hostNetwork): true
              =(dnsPolicy): ClusterFirst | Default
              =(priorityClassName): "high-*"
              schedulerName: "!other"
"#;
    let new = r#"
apiVersion: policies.kyverno.io/v1
kind: ValidatingPolicy
metadata: {name: p}
spec:
  validationActions: [Deny]
  matchConstraints:
    objectSelector: {matchLabels: {tier: web}}
    resourceRules: [{apiGroups: [apps], apiVersions: [v1], resources: [deployments], operations: [CREATE]}]
  validations:
  - message: m
    expression: >-
      object.spec.?replicas.orValue(0) <= 1 || object.spec.template.spec.?hostNetwork.orValue(false) == false ||
      object.spec.template.spec.?dnsPolicy.orValue('Default') in ['ClusterFirst', 'Default'] &&
      object.spec.template.spec.?priorityClassName.orValue('high-').startsWith('high-') &&
      has(object.spec.template.spec.schedulerName) && object.spec.template.spec.schedulerName != 'other'
"#;
    let found = compared(old, new);
    assert!(
        !matches!(&found.answer, Answer::Tested(_)),
        "{:?} {:?}",
        found.answer,
        found.differences.iter().map(|one| &one.object).collect::<Vec<_>>()
    );
    for (is, other) in
        [("<= 1", "<= 2"), ("startsWith('high-')", "startsWith('high')"), ("!= 'other'", "!= 'others'")]
    {
        assert!(new.contains(is), "{is}");
        differs(old, &new.replace(is, other));
    }
}

#[test]
fn entries_of_a_written_object_are_looked_up_under_a_key_that_is_read() {
    let classic = |key: &str| {
        format!(
            r#"
apiVersion: kyverno.io/v1
kind: ClusterPolicy
metadata: {{name: p}}
spec:
  background: false
  validationFailureAction: Enforce
  rules:
  - name: r
    match: {{any: [{{resources: {{kinds: [PersistentVolumeClaim], operations: [CREATE]}}}}]}}
    context:
    - name: limits
      variable: {{value: {{gold: 500Gi, silver: 2Ti}}}}
    validate:
      message: m
      deny:
        conditions:
          any:
          - {{key: '{{{{ request.object.spec.resources.requests.storage }}}}', operator: GreaterThan, value: '{{{{ limits.{key} || ''50Gi'' }}}}'}}
"#
        )
    };
    let quoted = classic("\"{{ request.object.metadata.labels.class || ''silver'' }}\"");
    let word = classic("{{ request.object.metadata.labels.class || ''silver'' }}");
    let new = |entries: &str, default: &str| {
        format!(
            r#"
apiVersion: policies.kyverno.io/v1
kind: ValidatingPolicy
metadata: {{name: p}}
spec:
  validationActions: [Deny]
  matchConstraints:
    resourceRules: [{{apiGroups: [''], apiVersions: [v1], resources: [persistentvolumeclaims], operations: [CREATE]}}]
  variables:
  - {{name: class, expression: "object.metadata.?labels.?class.orValue('')"}}
  validations:
  - message: m
    expression: >-
      quantity(string(object.spec.resources.requests.storage)).compareTo(quantity(
      {{{entries}}}[?variables.class != '' ? variables.class : 'silver'].orValue('{default}'))) <= 0
"#
        )
    };
    let same = new("'gold': '500Gi', 'silver': '2Ti'", "50Gi");
    for (old, taken) in [
        (&quoted, "no quotes or braces in metadata.labels.class"),
        (&word, "metadata.labels.class is a word of letters, digits and `_` that begins with no digit"),
    ] {
        assert_eq!(compared(old, &same).answer, Answer::ProvedRelative(vec![taken.into()]));
    }
    for old in [&quoted, &word] {
        differs(old, &new("'gold': '500Gi', 'silver': '2Ti'", "51Gi"));
        differs(old, &new("'gold': '501Gi', 'silver': '2Ti'", "50Gi"));
        differs(old, &new("'golden': '500Gi', 'silver': '2Ti'", "50Gi"));
        differs(old, &new("'gold': '500Gi', 'silver': '2Ti', 'bronze': '1Gi'", "50Gi"));
    }
}

#[test]
fn selectors_of_constraints_are_parts_that_decide() {
    const CONDITION: &str =
        "  - {name: a, expression: \"namespaceObject.metadata.?labels.?exposure.orValue('') != 'public'\"}\n";
    let old = OLD.replace(
        "kinds: [Service], operations: [CREATE]}",
        "kinds: [Service], operations: [CREATE], selector: {matchLabels: {tier: web}}}",
    );
    let new = NEW.replace(CONDITION, "").replace(
        "    resourceRules:",
        "    namespaceSelector: {matchExpressions: [{key: exposure, operator: NotIn, values: [public]}]}\n    objectSelector: {matchLabels: {tier: web}}\n    resourceRules:",
    );
    assert_eq!(compared(&old, &new).answer, Answer::Proved);
    for (is, other) in [
        ("values: [public]", "values: [public, other]"),
        ("values: [public]", "values: [other]"),
        (
            "objectSelector: {matchLabels: {tier: web}}",
            "objectSelector: {matchExpressions: [{key: tier, operator: In, values: [web, shop]}]}",
        ),
        ("objectSelector: {matchLabels: {tier: web}}", "objectSelector: {matchLabels: {tier: web, a: b}}"),
        ("    objectSelector: {matchLabels: {tier: web}}\n", ""),
    ] {
        assert!(new.contains(is), "{is}");
        differs(&old, &new.replace(is, other));
    }
}
