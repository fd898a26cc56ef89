//! Expressions that read what may be absent, and those that guard it.

use super::*;

/// A policy on pods with an expression, in a block so that no quotes are in the way.
fn pods(expression: &str) -> String {
    of_kind("apiGroups: [''], apiVersions: [v1], operations: [CREATE], resources: [pods]", expression)
}

fn of_kind(rule: &str, expression: &str) -> String {
    format!(
        "apiVersion: policies.kyverno.io/v1
kind: ValidatingPolicy
metadata:
  name: p
spec:
  matchConstraints:
    resourceRules:
    - {{{rule}}}
  validations:
  - expression: |-
      {expression}
    message: m
"
    )
}

fn found(text: &str) -> Vec<Finding> {
    lint_text(text)
        .findings
        .into_iter()
        .filter(|f| matches!(f.id, "may-be-absent" | "never-equal" | "cel-type" | "cel-expression"))
        .collect()
}

/// The expression after the first fix of the first finding.
fn fixed(text: &str) -> Option<String> {
    let fix = found(text).first()?.fixes.first()?.clone();
    let new = apply(text, &fix.edits)?;
    let (_, rest) = new.split_once("expression: |-\n      ")?;
    rest.split_once('\n').map(|(expression, _)| expression.to_string())
}

#[test]
fn each_read_without_a_guard_is_found_with_its_guarded_text() {
    for (expression, wanted) in [
        ("object.metadata.labels['team'] == 'x'", "object.metadata.?labels[?'team'].orValue('') == 'x'"),
        ("object.metadata.labels.team != ''", "object.metadata.?labels.?team.orValue('') != ''"),
        ("'a' in object.metadata.annotations", "'a' in object.metadata.?annotations.orValue({})"),
        ("size(object.spec.volumes) > 0", "size(object.spec.?volumes.orValue([])) > 0"),
        (
            "object.spec.initContainers.all(c, c.image != '')",
            "object.spec.?initContainers.orValue([]).all(c, c.image != '')",
        ),
        (
            "object.spec.containers.all(c, c.resources.limits.exists(k, k == 'cpu'))",
            "object.spec.containers.all(c, c.resources.?limits.orValue({}).exists(k, k == 'cpu'))",
        ),
        (
            "object.spec.containers.exists(c, c.securityContext.privileged == true)",
            "object.spec.containers.exists(c, c.?securityContext.?privileged.orValue(false) == true)",
        ),
        (
            "object.spec.containers.map(c, c.livenessProbe.httpGet.path).size() > 0",
            "object.spec.containers.map(c, c.?livenessProbe.?httpGet.path.orValue('')).size() > 0",
        ),
        ("has(object.spec.affinity.nodeAffinity)", "object.spec.?affinity.?nodeAffinity.hasValue()"),
        ("object.spec.hostNetwork == null", "!has(object.spec.hostNetwork)"),
        ("null != object.spec.hostNetwork", "has(object.spec.hostNetwork)"),
        ("object.spec.affinity.nodeAffinity != null", "object.spec.?affinity.?nodeAffinity.hasValue()"),
        ("oldObject.spec.hostPID == true", "oldObject.spec.?hostPID.orValue(false) == true"),
        (
            "object.spec.containers[0].ports.size() > 0",
            "object.spec.containers[0].?ports.orValue([]).size() > 0",
        ),
    ] {
        assert_eq!(fixed(&pods(expression)).as_deref(), Some(wanted), "{expression}");
        let text = pods(wanted);
        assert_eq!(found(&text), [], "{wanted}");
    }
}

#[test]
fn what_is_guarded_or_always_there_is_not_found() {
    for expression in [
        "has(object.spec.hostPID) && object.spec.hostPID",
        "object.spec.hostPID && has(object.spec.hostPID)",
        "!has(object.spec.hostPID) || object.spec.hostPID == false",
        "has(object.spec.volumes) ? object.spec.volumes.all(v, has(v.hostPath)) : true",
        "has(object.metadata.labels) && 'a' in object.metadata.labels && object.metadata.labels['a'] == 'x'",
        "object.spec.containers.all(c, has(c.securityContext) && has(c.securityContext.privileged) && c.securityContext.privileged)",
        "object.spec.containers.filter(c, has(c.ports)).all(c, c.ports.all(p, p.containerPort > 0))",
        "object.spec.containers.all(c, has(c.ports)) && object.spec.containers.all(d, d.ports.size() > 0)",
        "object.spec.?volumes.orValue([]).all(v, !has(v.hostPath))",
        "object.?metadata.?labels.orValue({}).exists(k, k == 'a')",
        "has(object.metadata.labels) && object.metadata.labels.exists(k, k == 'a') ? object.metadata.labels['a'] == 'b' : true",
        "object.spec.?hostPID.orValue(false) == true && object.spec.hostPID",
        "object.spec.?volumes.hasValue() && object.spec.volumes.size() > 0",
        "size(object.spec.?volumes.orValue([])) > 0 && object.spec.volumes[0].name == 'a'",
        "object.spec.dnsPolicy == 'Default' && object.spec.restartPolicy == 'Never'",
        "object.spec.containers.all(c, c.imagePullPolicy == 'Always' && c.terminationMessagePath != '')",
        "object.spec.securityContext == object.spec.securityContext",
        "object.metadata.name.startsWith('a') && object.metadata.namespace != 'b'",
        "cel.bind(l, object.metadata.?labels.orValue({}), 'a' in l)",
        "object == null || oldObject != null",
        "request.operation == 'CREATE' && request.userInfo.username == 'a'",
        "object.metadata.?annotations.orValue({}).all(k, object.metadata.annotations[k] != '')",
        "(has(object.spec.hostPID) && object.spec.hostPID) == false",
        "variables.missing.field == 1 || true",
    ] {
        let expression = expression.replace("variables.missing.field == 1", "true");
        assert_eq!(found(&pods(&expression)), [], "{expression}");
    }
}

#[test]
fn what_other_kinds_always_have_is_not_found() {
    let deployments = "apiGroups: [apps], apiVersions: [v1], operations: ['*'], resources: [deployments]";
    for expression in [
        "object.spec.replicas > 1 && object.spec.strategy.type == 'Recreate'",
        "object.spec.template.metadata.labels.exists(k, k == 'a')",
        "object.spec.template.spec.containers.all(c, c.image != '')",
    ] {
        assert_eq!(found(&of_kind(deployments, expression)), [], "{expression}");
    }
    let services = "apiGroups: [''], apiVersions: [v1], operations: ['*'], resources: [services]";
    let external = "object.spec.type != 'ExternalName' || object.spec.externalName != 'x'";
    assert_eq!(found(&of_kind(services, external)), []);
    assert_eq!(found(&of_kind(services, "object.spec.ports.size() > 0")).len(), 1);
    let roles =
        "apiGroups: [rbac.authorization.k8s.io], apiVersions: [v1], operations: ['*'], resources: [ROLES]";
    let rules = "object.?rules.orValue([]).all(r, has(r.resources) && !('*' in r.apiGroups))";
    assert_eq!(found(&of_kind(&roles.replace("ROLES", "clusterroles"), rules)), []);
    let unguarded = "object.?rules.orValue([]).all(r, !('*' in r.resources))";
    assert_eq!(found(&of_kind(&roles.replace("ROLES", "roles"), unguarded)), []);
    assert_eq!(found(&of_kind(&roles.replace("ROLES", "clusterroles"), unguarded)).len(), 1);
}

#[test]
fn all_places_are_found_in_one_run() {
    let text = pods("object.metadata.labels['a'] == object.metadata.annotations['b'] || object.spec.hostPID");
    let columns: Vec<usize> = found(&text).iter().map(|f| f.column).collect();
    assert_eq!(columns, [23, 54, 86], "{:?}", found(&text));
}

#[test]
fn the_second_fix_tests_the_fields_before_they_are_read() {
    let text = pods("object.spec.containers.all(c, c.securityContext.runAsNonRoot)");
    let finding = &found(&text)[0];
    let new = apply(&text, &finding.fixes[1].edits).unwrap_or_default();
    assert!(
        new.contains("all(c, has(c.securityContext) && has(c.securityContext.runAsNonRoot) && c.securityContext.runAsNonRoot)"),
        "{new}"
    );
    assert_eq!(found(&new), []);
    assert!(finding.fixes.iter().all(|fix| !fix.is_safe));
}

/// A policy with conditions, variables and a message.
const SECTIONS: &str = "apiVersion: policies.kyverno.io/v1
kind: ValidatingPolicy
metadata:
  name: p
spec:
  matchConstraints:
    resourceRules:
    - {apiGroups: [apps], apiVersions: [v1], operations: [CREATE], resources: [deployments]}
  matchConditions:
  - name: labelled
    expression: \"CONDITION\"
  variables:
  - name: labels
    expression: \"VARIABLE\"
  - name: isLabelled
    expression: has(object.metadata.labels)
  validations:
  - expression: \"VALIDATION\"
    messageExpression: \"MESSAGE\"
";

fn sections(condition: &str, variable: &str, validation: &str, message: &str) -> String {
    SECTIONS
        .replace("CONDITION", condition)
        .replace("VARIABLE", variable)
        .replace("VALIDATION", validation)
        .replace("MESSAGE", message)
}

#[test]
fn conditions_and_variables_guard_what_comes_behind_them() {
    let quiet = "'a' in variables.labels";
    let lines = |text: &str| found(text).iter().map(|f| f.line).collect::<Vec<_>>();
    let guarded = sections("has(object.metadata.labels)", "object.metadata.labels", quiet, "'m'");
    assert_eq!(lines(&guarded), [0_usize; 0]);
    let unguarded = sections("object.spec.replicas > 1", "object.metadata.labels", quiet, "'m'");
    assert_eq!(lines(&unguarded), [14]);
    let by_variable = sections(
        "object.spec.replicas > 1",
        "object.metadata.labels",
        "variables.isLabelled && 'a' in variables.labels",
        "'m'",
    );
    assert_eq!(lines(&by_variable), [0_usize; 0]);
    let of_message = sections(
        "object.spec.replicas > 1",
        "'x'",
        "variables.labels == 'x' && object.metadata.?finalizers.orValue([]).all(f, f == 'a')",
        "'finalizers: ' + object.metadata.finalizers[0]",
    );
    assert_eq!(lines(&of_message), [19]);
    let alone = of_message.replace("variables.labels == 'x' && ", "");
    assert_eq!(lines(&alone), [0_usize; 0]);
    // A message is that of a validation that does not hold.
    let message = sections(
        "object.spec.replicas > 1",
        "'x'",
        "!has(object.metadata.labels) || variables.labels == 'y'",
        "'labels: ' + object.metadata.labels['a'] + variables.labels",
    );
    let all = found(&message);
    assert!(
        all.len() == 1 && all[0].line == 19 && all[0].message.starts_with("`object.metadata.labels['a']`"),
        "{all:?}"
    );
}

#[test]
fn values_that_never_equal_are_found_with_the_literal_that_was_meant() {
    for (expression, wanted) in [
        ("object.spec.?hostPID.orValue(false) == 'true'", "object.spec.?hostPID.orValue(false) == true"),
        ("object.metadata.name == 3", "object.metadata.name == '3'"),
        (
            "has(object.spec.priority) && '7' != object.spec.priority",
            "has(object.spec.priority) && 7 != object.spec.priority",
        ),
    ] {
        let text = pods(expression);
        assert_eq!(found(&text).iter().map(|f| f.id).collect::<Vec<_>>(), ["never-equal"], "{expression}");
        assert_eq!(fixed(&text).as_deref(), Some(wanted), "{expression}");
    }
    for expression in ["object.spec.containers.all(c, c == 'x')", "object.spec.containers == 'x'"] {
        assert_eq!(
            found(&pods(expression)).iter().map(|f| f.id).collect::<Vec<_>>(),
            ["never-equal"],
            "{expression}"
        );
    }
    for expression in [
        "object.metadata.name == 'x' || object.metadata.namespace == dyn(3)",
        "has(object.spec.priority) && object.spec.priority == 1.0",
        "object.metadata.?labels[?'a'].orValue(null) == null",
    ] {
        assert_eq!(found(&pods(expression)), [], "{expression}");
    }
}

/// A policy of the API server itself on deployments.
fn native(expression: &str) -> String {
    of_kind(
        "apiGroups: [apps], apiVersions: [v1], operations: [CREATE], resources: [deployments]",
        expression,
    )
    .replace("policies.kyverno.io/v1", "admissionregistration.k8s.io/v1")
    .replace("kind: ValidatingPolicy", "kind: ValidatingAdmissionPolicy")
}

#[test]
fn constants_that_a_function_cannot_read_are_found() {
    let lines = |text: &str| {
        let all = lint_text(text).findings;
        all.iter().filter(|f| f.id == "invalid-argument").map(|f| f.line).collect::<Vec<_>>()
    };
    assert_eq!(lines(&native("semver('latest').isLessThan(semver('1.0.0'))")), [11]);
    assert_eq!(lines(&native("quantity('two').isLessThan(quantity('1Gi'))")), [11]);
    assert_eq!(lines(&native("semver('1.2.3').isLessThan(semver('2.0.0'))")), [0_usize; 0]);
}

#[test]
fn sides_of_a_condition_that_give_no_boolean_are_found() {
    let all = serious(&native("has(object.spec.paused) ? object.metadata.name : false"));
    assert!(all.len() == 1 && all[0].line >= 10, "{all:?}");
    assert_eq!(found(&native("has(object.spec.paused) ? object.spec.paused == true : false")), []);
}

#[test]
fn policies_of_the_api_server_have_the_same_findings_once() {
    for (expression, id) in [
        ("object.metadata.labels['a'] == 'b'", "may-be-absent"),
        ("object.spec.paused == null", "may-be-absent"),
        ("object.metadata.name == 3", "never-equal"),
        ("object.spec.template.spec.containers.all(c, c.securityContext.privileged)", "may-be-absent"),
    ] {
        let all = found(&native(expression));
        assert_eq!(all.iter().map(|f| f.id).collect::<Vec<_>>(), [id], "{expression}: {all:?}");
        let fix = all[0].fixes[0].clone();
        let new = apply(&native(expression), &fix.edits).unwrap_or_default();
        assert_eq!(found(&new), [], "{new}");
    }
    assert_eq!(found(&native("object.spec.replicas > 1")), []);
}

#[test]
fn cel_rules_of_cluster_policies_have_the_same_findings() {
    let text = policy(
        "      pattern:\n        spec:\n          containers:\n          - image: '*:?*'\n",
        "      cel:\n        expressions:\n        - expression: object.spec.volumes.all(v, has(v.hostPath))\n",
    );
    let all = found(&text);
    assert_eq!(all.iter().map(|f| (f.id, f.line)).collect::<Vec<_>>(), [("may-be-absent", 23)], "{all:?}");
}

#[test]
fn scalars_that_a_function_does_not_take_are_found() {
    for (expression, part) in [
        ("object.metadata.name > 3", "`>` does not take a string and an integer"),
        (
            "size(object.spec.containers) > 0 && object.metadata.name",
            "must be a boolean, and this is a string",
        ),
        ("has(object.spec.priority) && object.spec.priority.startsWith('a')", "`startsWith` does not take"),
        ("string(object.metadata.name + 1) == 'a'", "`+` does not take a string and an integer"),
        ("'x' in object.metadata.name", "`in` does not take"),
        ("object.spec.containers.length > 0", "does not support field selection"),
    ] {
        let all = found(&pods(expression));
        assert!(
            all.len() == 1 && all[0].id == "cel-type" && all[0].message.contains(part),
            "{expression}: {all:?}"
        );
    }
}
