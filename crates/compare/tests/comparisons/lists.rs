//! Lists: few of them stand for all.

use ephor_compare::{Answer, DifferenceKind, Universe};

use super::{checking, compared, denying, requiring};

/// A ClusterPolicy that reads the rules of a ClusterRole.
fn each(list: &str, conditions: &[&str]) -> String {
    format!(
        "apiVersion: kyverno.io/v1\nkind: ClusterPolicy\nmetadata: {{name: p}}\nspec:\n  rules:\n  - name: r\n    match: {{any: [{{resources: {{kinds: [ClusterRole]}}}}]}}\n    validate:\n      message: m\n      foreach:\n      - list: \"{list}\"\n        deny: {{conditions: {{all: [{}]}}}}\n",
        conditions.join(", ")
    )
}

fn any_in(key: &str, values: &str) -> String {
    format!("{{key: \"{{{{ {key} }}}}\", operator: AnyIn, value: {values}}}")
}

#[test]
fn items_with_several_lists_of_many_values_are_proved() {
    let groups = any_in("element.apiGroups || ''", "[a.io, b.io]");
    let resources = any_in("element.resources || ''", "[roles, users, keys, '*']");
    let verbs = any_in("element.verbs", "[bind, escalate, impersonate, '*']");
    let list = "request.object.rules[]";
    let old = each(list, &[&groups, &resources, &verbs]);
    let new = each(list, &[&verbs, &groups, &resources]);
    let found = compared(&old, &new);
    assert_eq!(found.answer, Answer::Proved, "{:?}", found.reasons);
    assert!(found.objects < 2_000, "{} objects", found.objects);
}

#[test]
fn a_filter_of_a_loop_and_a_condition_say_the_same() {
    let verbs = any_in("element.verbs[]", "[update, patch]");
    let with_filter = each("request.object.rules[?contains(resources, 'keys')]", &[&verbs]);
    let has_keys = any_in("element.resources", "[keys]");
    let with_condition = each("request.object.rules", &[&has_keys, &verbs]);
    let found = compared(&with_filter, &with_condition);
    // `AnyIn` takes the value `*` for a pattern, `contains` does not.
    let kinds: Vec<DifferenceKind> = found.differences.iter().map(|one| one.kind).collect();
    assert!(kinds.contains(&DifferenceKind::Stricter), "{kinds:?}");
    let contains =
        "{key: \"{{ contains(element.resources || `[]`, 'keys') }}\", operator: Equals, value: true}";
    let guarded = "request.object.rules[?contains(resources || `[]`, 'keys')]";
    let found = compared(&each(guarded, &[&verbs]), &each("request.object.rules", &[contains, &verbs]));
    assert_eq!(found.answer, Answer::Proved, "{:?} {:?}", found.reasons, found.differences);
}

#[test]
fn what_takes_two_items_to_violate_is_found() {
    let deny = |keys: &[&str]| {
        let condition = |key: &&str| any_in(&format!("request.object.rules[].{key}[]"), "[x]");
        let all: Vec<String> = keys.iter().map(condition).collect();
        format!(
            "apiVersion: kyverno.io/v1\nkind: ClusterPolicy\nmetadata: {{name: p}}\nspec:\n  rules:\n  - name: r\n    match: {{any: [{{resources: {{kinds: [ClusterRole]}}}}]}}\n    validate:\n      message: m\n      deny: {{conditions: {{all: [{}]}}}}\n",
            all.join(", ")
        )
    };
    let together = deny(&["verbs", "resources"]);
    let verbs = any_in("element.verbs[]", "[x]");
    let resources = any_in("element.resources[]", "[x]");
    let in_one = each("request.object.rules", &[&verbs, &resources]);
    let found = compared(&together, &in_one);
    let weaker = found
        .differences
        .iter()
        .find(|one| one.kind == DifferenceKind::Weaker && one.environment.operation == "CREATE");
    let weaker = weaker.unwrap_or_else(|| panic!("{:?}", found.differences));
    assert_eq!(weaker.universe, Universe::Cluster);
    assert_eq!(weaker.object.get("rules").and_then(|rules| rules.as_list()).map_or(0, <[_]>::len), 2);
}

/// A ValidatingPolicy for pods.
fn cel(expression: &str) -> String {
    format!(
        "apiVersion: policies.kyverno.io/v1\nkind: ValidatingPolicy\nmetadata: {{name: p}}\nspec:\n  matchConstraints: {{resourceRules: [{{apiGroups: [''], apiVersions: [v1], operations: [CREATE], resources: [pods]}}]}}\n  validations:\n  - expression: \"{expression}\"\n"
    )
}

#[test]
fn the_first_item_is_not_each_of_them() {
    let first = cel("object.spec.containers[0].image != 'x'");
    let each = cel("object.spec.containers.all(c, c.image != 'x')");
    let found = compared(&first, &each);
    let kinds: Vec<DifferenceKind> = found.differences.iter().map(|one| one.kind).collect();
    assert!(kinds.contains(&DifferenceKind::Stricter), "{kinds:?}");
    assert_eq!(compared(&first, &cel("!(object.spec.containers[0].image == 'x')")).answer, Answer::Proved);
    let second = cel("size(object.spec.containers) < 2 || object.spec.containers[1].image != 'x'");
    let renamed = cel("!(size(object.spec.containers) >= 2 && object.spec.containers[1].image == 'x')");
    assert!(
        matches!(compared(&second, &renamed).answer, Answer::Tested(_)),
        "only the first one is followed"
    );
}

#[test]
fn names_of_fields_that_rules_look_for_are_tried() {
    let deny = |names: &str| {
        format!(
            "apiVersion: kyverno.io/v1\nkind: ClusterPolicy\nmetadata: {{name: p}}\nspec:\n  rules:\n  - name: r\n    match: {{any: [{{resources: {{kinds: [Pod]}}}}]}}\n    validate:\n      message: m\n      foreach:\n      - list: request.object.spec.containers\n        deny: {{conditions: {{all: [{{key: {names}, operator: AllNotIn, value: \"{{{{ element.keys(@)[] }}}}\"}}]}}}}\n"
        )
    };
    let one = deny("livenessProbe");
    assert_eq!(compared(&one, &deny("[livenessProbe]")).answer, Answer::Proved);
    assert_eq!(compared(&one, &deny("readinessProbe")).answer, Answer::Differs);
    assert_eq!(compared(&one, &deny("[livenessProbe, startupProbe]")).answer, Answer::Differs);
}

#[test]
fn names_of_fields_that_are_looked_for_are_tried_and_others_count_alike() {
    let deny = |name: &str, number: &str| {
        of_pods(&format!(
            "foreach: [{{list: request.object.spec.containers, deny: {{conditions: {{all: [{{key: \"{{{{ contains(keys(element), '{name}') }}}}\", operator: Equals, value: true}}, {{key: \"{{{{ element.keys(@) | length(@) }}}}\", operator: GreaterThan, value: {number}}}]}}}}}}]"
        ))
    };
    let one = deny("livenessProbe", "0");
    let same = compared(&one, &deny("livenessProbe", "1"));
    assert_eq!(same.answer, Answer::Proved, "{:?}: an item with this key has a name, too", same.reasons);
    assert_eq!(compared(&one, &deny("readinessProbe", "0")).answer, Answer::Differs);
    // A part of the name is no name.
    assert_eq!(compared(&one, &deny("liveness", "0")).answer, Answer::Differs);
    // Nor do other names count alike where it is looked for, or where there are many.
    let parts = |part: &str| {
        of_pods(&format!(
            "foreach: [{{list: request.object.spec.containers, deny: {{conditions: {{all: [{{key: \"{{{{ keys(element)[?contains(@, '{part}')] | length(@) }}}}\", operator: GreaterThan, value: 0}}]}}}}}}]"
        ))
    };
    assert_eq!(compared(&parts("Probe"), &parts("readinessProbe")).answer, Answer::Differs);
    let same = compared(&parts("Probe"), &parts("nessProbe"));
    assert!(same.answer != Answer::Proved, "a startupProbe has another name");
    let many = |number: &str| {
        of_pods(&format!(
            "foreach: [{{list: request.object.spec.containers, deny: {{conditions: {{all: [{{key: \"{{{{ element.keys(@) | length(@) }}}}\", operator: GreaterThan, value: {number}}}]}}}}}}]"
        ))
    };
    // An API server fills in six.
    assert_eq!(compared(&many("1"), &many("2")).answer, Answer::Proved);
    assert_eq!(compared(&many("6"), &many("7")).answer, Answer::Differs);
}

#[test]
fn names_of_two_lists_that_go_together_are_proved_for_what_an_api_server_admits() {
    let old = of_pods(
        "foreach: [{list: 'request.object.spec.[initContainers, containers][]', preconditions: {all: [{key: '{{ element.volumeMounts[].name }}', operator: AnyIn, value: \"{{ request.object.spec.volumes[?contains(keys(@), 'emptyDir')].name }}\"}]}, pattern: {resources: {requests: {memory: '?*'}}}}]",
    );
    let new = |volumes: &str| {
        of_kubernetes(&format!(
            "(object.spec.containers + object.spec.?initContainers.orValue([])).all(c, !c.?volumeMounts.orValue([]).exists(m, m.name in object.spec.?volumes.orValue([]).filter(v, {volumes}).map(v, v.name)) || c.?resources.?requests[?'memory'].hasValue())"
        ))
    };
    // A name with a wildcard is none of volumes.
    let found = compared(&old, &new("has(v.emptyDir)"));
    assert_eq!(found.answer, Answer::Proved, "{:?}", found.reasons);
    assert_eq!(compared(&old, &new("has(v.name)")).answer, Answer::Differs);
}

#[test]
fn counts_of_items_with_the_name_of_another_item_are_not_the_same() {
    let more_than = |number: &str| {
        of_pods(&format!(
            "foreach: [{{list: request.object.spec.volumes, deny: {{conditions: {{all: [{{key: \"{{{{ request.object.spec.containers[].volumeMounts[?name == '{{{{element.name}}}}'][] | length(@) }}}}\", operator: GreaterThan, value: {number}}}]}}}}}}]"
        ))
    };
    assert_eq!(compared(&more_than("2"), &more_than("3")).answer, Answer::Differs);
    assert_ne!(compared(&more_than("3"), &more_than("5")).answer, Answer::Proved);
}

#[test]
fn two_counts_are_compared_with_a_test_of_each_item() {
    let old = of_pods(
        "foreach: [{list: 'request.object.spec.volumes[?hostPath]', deny: {conditions: {any: [{key: \"{{ request.object.spec.containers[].volumeMounts[?name == '{{element.name}}'][] | length(@) }}\", operator: NotEquals, value: \"{{ request.object.spec.containers[].volumeMounts[?name == '{{element.name}}' && readOnly][] | length(@) }}\"}]}}}]",
    );
    let new = |test: &str| {
        of_kubernetes(&format!(
            "object.spec.?volumes.orValue([]).all(v, !has(v.hostPath) || object.spec.containers.all(c, c.?volumeMounts.orValue([]).all(m, m.name != v.name || {test})))"
        ))
    };
    // Names of volumes have no quotes.
    let found = compared(&old, &new("m.?readOnly.orValue(false)"));
    assert_eq!(found.answer, Answer::Proved, "{:?}", found.reasons);
    assert_eq!(compared(&old, &new("has(m.subPath)")).answer, Answer::Differs);
}

#[test]
fn entries_of_many_keys_are_proved() {
    let pattern = |key: &str, value: &str| {
        format!(
            "apiVersion: kyverno.io/v1\nkind: ClusterPolicy\nmetadata: {{name: p}}\nspec:\n  rules:\n  - name: r\n    match: {{any: [{{resources: {{kinds: [Pod], operations: [CREATE]}}}}]}}\n    validate: {{message: m, pattern: {{metadata: {{=(annotations): {{{key}: '{value}'}}}}}}}}\n"
        )
    };
    let old = pattern("=(profile.io/*)", "a | b/* | c");
    let guarded = "!has(object.metadata.annotations) || object.metadata.annotations.all(k, !k.startsWith('profile.io/') || object.metadata.annotations[k] in ['a', 'c'] || object.metadata.annotations[k].startsWith('b/'))";
    let found = compared(&cel(guarded), &cel(&format!("!(!({guarded}))")));
    assert_eq!(found.answer, Answer::Proved, "{:?}", found.reasons);
    let found = compared(&old, &pattern("=(profile.io/*)", "a | c | b/*"));
    assert_eq!(found.answer, Answer::Proved, "{:?}", found.reasons);
    let found = compared(&old, &pattern("=(profile.io/*)", "a | b/*"));
    assert_eq!(found.answer, Answer::Differs);
}

/// A policy of Kubernetes for Pods with this expression, and its binding.
fn of_kubernetes(expression: &str) -> String {
    let on = "matchConstraints: {resourceRules: [{apiGroups: [''], apiVersions: [v1], operations: [CREATE], resources: [pods]}]}";
    let kind = "apiVersion: admissionregistration.k8s.io/v1\nkind: ValidatingAdmissionPolicy";
    format!(
        "{kind}\nmetadata: {{name: p}}\nspec:\n  {on}\n  validations:\n  - expression: \"{expression}\"\n---\n{kind}Binding\nmetadata: {{name: p}}\nspec: {{policyName: p, validationActions: [Audit]}}\n"
    )
}

/// A ClusterPolicy for Pods that are created, which reports only.
fn of_pods(check: &str) -> String {
    format!(
        "apiVersion: kyverno.io/v1\nkind: ClusterPolicy\nmetadata: {{name: p, annotations: {{pod-policies.kyverno.io/autogen-controllers: none}}}}\nspec:\n  rules:\n  - name: r\n    match: {{any: [{{resources: {{kinds: [Pod], operations: [CREATE]}}}}]}}\n    validate: {{message: m, failureAction: Audit, {check}}}\n"
    )
}

#[test]
fn what_policies_of_kubernetes_say_of_items_counts() {
    let old = of_pods("pattern: {spec: {containers: [{=(securityContext): {=(privileged): false}}]}}");
    let containers = |body: &str| of_kubernetes(&format!("dyn(object.spec.containers).all(c, {body})"));
    let same = compared(&old, &containers("c.?securityContext.?privileged.orValue(false) == false"));
    assert_eq!(same.answer, Answer::Proved, "{:?}", same.reasons);
    let other = compared(&old, &containers("c.?securityContext.?procMount.orValue('') != 'x'"));
    assert_eq!(other.answer, Answer::Differs);
}

#[test]
fn a_field_that_no_rule_names_is_tried_where_names_of_fields_are_read() {
    let names = "name, configMap, secret";
    let old = of_pods(&format!(
        "deny: {{conditions: {{any: [{{key: \"{{{{ request.object.spec.volumes[].keys(@)[] || `[]` }}}}\", operator: AnyNotIn, value: [{names}]}}]}}}}"
    ));
    let new = of_kubernetes("object.spec.?volumes.orValue([]).all(v, !has(v.azureFile))");
    let found = compared(&old, &new);
    assert_eq!(found.answer, Answer::Differs);
    assert!(found.differences.iter().any(|one| one.universe == Universe::Cluster));
}

#[test]
fn entries_of_maps_are_read_one_after_the_other() {
    let old = of_pods(
        "deny: {conditions: {all: [{key: \"{{ request.object.metadata.annotations.keys(@)[?contains(@, 'x.io/')] }}\", operator: AnyNotIn, value: [x.io/a, x.io/b]}]}}",
    );
    let new = |names: &str| {
        of_kubernetes(&format!(
            "!object.metadata.?annotations.orValue({{}}).exists(k, k.contains('x.io/') && !(k in [{names}]))"
        ))
    };
    let same = compared(&old, &new("'x.io/a', 'x.io/b'"));
    assert_eq!(same.answer, Answer::Proved, "{:?}", same.reasons);
    assert_eq!(compared(&old, &new("'x.io/a'")).answer, Answer::Differs);
}

#[test]
fn values_of_maps_are_read_at_the_names_that_are_walked() {
    let old = of_pods(
        "deny: {conditions: {any: [{key: \"{{ items(request.object.metadata.annotations || `{}`, 'k', 'v')[?starts_with(k, 'x/') && v != 'a'] | length(@) }}\", operator: GreaterThan, value: 0}]}}",
    );
    let new = |value: &str| {
        let other = format!("object.metadata.annotations[k] == '{value}'");
        of_kubernetes(&format!(
            "object.metadata.?annotations.orValue({{}}).all(k, !k.startsWith('x/') || {other})"
        ))
    };
    let same = compared(&old, &new("a"));
    assert_eq!(same.answer, Answer::Proved, "{:?}", same.reasons);
    assert_eq!(compared(&old, &new("b")).answer, Answer::Differs);
}

#[test]
fn a_length_under_a_name_is_compared_with_its_number() {
    let policy = |most: u8, expression: &str| {
        format!(
            "apiVersion: policies.kyverno.io/v1
kind: ValidatingPolicy
metadata: {{name: p}}
spec:
  autogen: {{podControllers: {{controllers: []}}}}
  matchConstraints:
    resourceRules: [{{apiGroups: [''], apiVersions: [v1], operations: [CREATE, UPDATE], resources: [pods]}}]
  variables: [{{name: count, expression: 'object.spec.?volumes.orValue([]).filter(v, has(v.configMap)).size()'}}]
  validations: [{{expression: '{expression} <= {most}', message: m}}]
"
        )
    };
    for expression in [
        "variables.count",
        "cel.bind(count, object.spec.?volumes.orValue([]).filter(v, has(v.configMap)).size(), count)",
    ] {
        let found = compared(&policy(3, expression), &policy(4, expression));
        assert_eq!(found.answer, Answer::Differs, "{expression}");
    }
}

#[test]
fn items_of_two_lists_that_go_together_are_tried() {
    let mounts = |item: &str| format!("c.?volumeMounts.orValue([]).{item}(m, m.name == v.name)");
    let volumes = "object.spec.?volumes.orValue([])";
    for (of_volumes, of_containers) in
        [("exists", "exists"), ("all", "exists"), ("all", "all"), ("exists", "all")]
    {
        let mounted = format!("object.spec.containers.{of_containers}(c, {})", mounts("exists"));
        let policy = cel(&format!("{volumes}.{of_volumes}(v, {mounted})"));
        for other in ["true", "false"] {
            let found = compared(&policy, &cel(other));
            assert_eq!(found.answer, Answer::Differs, "{of_volumes} {of_containers} {other}");
        }
    }
    let names = "request.object.spec.containers[].volumeMounts[].name";
    let foreach = |operator: &str| {
        format!(
            "apiVersion: kyverno.io/v1\nkind: ClusterPolicy\nmetadata: {{name: p}}\nspec:\n  rules:\n  - name: r\n    match: {{any: [{{resources: {{kinds: [Pod]}}}}]}}\n    validate:\n      message: m\n      foreach:\n      - list: request.object.spec.volumes\n        deny: {{conditions: {{all: [{{key: \"{{{{ element.name }}}}\", operator: {operator}, value: \"{{{{ {names} }}}}\"}}]}}}}\n"
        )
    };
    for operator in ["AnyIn", "AnyNotIn"] {
        assert_eq!(compared(&foreach(operator), &cel("true")).answer, Answer::Differs, "{operator}");
    }
}

#[test]
fn lists_of_constants_under_a_name_are_those_that_loops_read() {
    let policy = |of_rules: &str| {
        format!(
            "apiVersion: policies.kyverno.io/v1\nkind: ValidatingPolicy\nmetadata: {{name: p}}\nspec:\n  matchConstraints: {{resourceRules: [{{apiGroups: [rbac.authorization.k8s.io], apiVersions: [v1], operations: [CREATE], resources: [clusterroles]}}]}}\n  variables:\n  - {{name: groups, expression: \"['*', 'a.io']\"}}\n  - {{name: resources, expression: \"['*', 'b', 'c']\"}}\n  - {{name: verbs, expression: \"['*', 'bind', 'use', 'd']\"}}\n  validations:\n  - expression: \"object.rules == null || !object.rules.{of_rules}(r, r.apiGroups.exists(g, g in variables.groups) && r.resources.exists(x, x in variables.resources) && r.verbs.exists(v, v in variables.verbs))\"\n"
        )
    };
    let found = compared(&policy("exists"), &policy("all"));
    assert_eq!(found.answer, Answer::Differs, "{:?}", found.reasons);
    assert_eq!(
        compared(&policy("exists"), &policy("exists").replace("'b', 'c'", "'c', 'b'")).answer,
        Answer::Proved
    );
}

#[test]
fn lists_that_are_compared_with_long_constants_are_as_long() {
    let hosts = |value: &str| {
        denying(
            "Ingress",
            &format!(
                "{{key: \"{{{{ request.object.spec.rules[].host || `[]` }}}}\", operator: Equals, value: {value}}}"
            ),
        )
    };
    let is_proved = |old: &str, new: &str| compared(old, new).answer == Answer::Proved;
    assert!(!is_proved(&hosts("[a, b, c, d]"), &hosts("[a, b, e, d]")));
    let finalizers = |test: &str| requiring("configmaps", &format!("!(object.metadata.finalizers {test})"));
    for (one, other) in [
        ("in [['a', 'b', 'c', 'd']]", "in [['a', 'b', 'c', 'e']]"),
        ("== ['a', 'b', 'c', 'd']", "== ['a', 'b', 'c', 'e']"),
    ] {
        assert!(!is_proved(&finalizers(one), &finalizers(other)), "{one}");
    }
    let labels = |test: &str| requiring("configmaps", &format!("object.metadata.labels != {test}"));
    let [one, other] = ["{'a': 'a', 'b': 'b', 'c': 'c'}", "{'a': 'a', 'b': 'b', 'd': 'd'}"];
    assert!(!is_proved(&labels(one), &labels(other)));
}

#[test]
fn what_each_item_needs_of_another_list_is_counted_for_every_operator() {
    let never =
        denying("Ingress", "{key: \"{{ request.object.metadata.name }}\", operator: Equals, value: A B}");
    let list = |field: &str| format!("\"{{{{ request.object.spec.{field} || `[]` }}}}\"");
    let (hosts, secrets) = (list("rules[].host"), list("tls[].secretName"));
    // All of three hosts are names of secrets.
    let with = |operator: &str| {
        let some = ["a", "b", "c"].map(|name| format!("{{key: {name}, operator: AnyIn, value: {hosts}}}"));
        denying("Ingress", "").replace(
            "any: []",
            &format!("all: [{}, {{key: {hosts}, operator: {operator}, value: {secrets}}}]", some.join(", ")),
        )
    };
    for operator in ["AllIn", "In", "AnyIn", "AnyNotIn", "AllNotIn", "NotIn"] {
        let found = compared(&with(operator), &never);
        assert!(!matches!(found.answer, Answer::Proved), "{operator}: {:?}", found.answer);
    }
}

#[test]
fn conditions_of_policies_need_the_items_that_make_them_true() {
    let policy = |count: usize, expression: &str| {
        let names = ["a", "b", "c"].into_iter().take(count);
        let conditions = names.map(|name| {
            format!(
                "  - {{name: {name}, expression: \"object.spec.template.spec.containers.exists(c, c.name == object.metadata.labels['{name}'] && c.image == '{name}')\"}}\n"
            )
        });
        requiring("deployments", expression).replace(
            "  validations:",
            &format!("  matchConditions:\n{}  validations:", conditions.collect::<String>()),
        )
    };
    let found = compared(&policy(3, "false"), &policy(3, "true"));
    assert!(!matches!(found.answer, Answer::Proved), "{:?}", found.answer);
    let found = compared(&policy(1, "false"), &policy(1, "true"));
    assert_eq!(found.answer, Answer::Differs);
}

#[test]
fn items_that_fail_are_no_items_that_are_false() {
    let policy = |kind: &str, loop_of: &str| {
        let expression = format!(
            "!object.?rules.orValue([]).{loop_of}(rule, 'x' in rule.resourceNames && 'use' in rule.verbs)"
        );
        match kind {
            "ClusterPolicy" => {
                checking("Role", &format!("cel: {{expressions: [{{expression: \"{expression}\"}}]}}"))
            }
            _ => requiring("roles", &expression)
                .replace("apiGroups: ['']", "apiGroups: [rbac.authorization.k8s.io]"),
        }
    };
    for kind in ["ClusterPolicy", "ValidatingPolicy"] {
        let found = compared(&policy(kind, "exists"), &policy(kind, "all"));
        assert_eq!(found.answer, Answer::Differs, "{kind}");
        // An item without names that is used, and another one that is not.
        let is_failing = |d: &&ephor_compare::Difference| {
            let rules = d.object.get("rules").and_then(ephor_value::Value::as_list).unwrap_or_default();
            d.universe == Universe::Cluster
                && rules.len() == 2
                && rules.iter().any(|rule| rule.get("resourceNames").is_none())
        };
        let all: Vec<String> =
            found.differences.iter().map(|d| ephor_value::print::json(&d.object)).collect();
        assert!(found.differences.iter().any(|d| is_failing(&d)) || kind != "ClusterPolicy", "{all:?}");
    }
}

#[test]
fn maps_have_as_many_entries_as_their_number_is_compared_with() {
    for map in ["object.metadata.?annotations.orValue({})", "object.metadata.?labels.orValue({})"] {
        let policy = |number: i32| requiring("configmaps", &format!("{map}.size() <= {number}"));
        for number in 0..4 {
            let found = compared(&policy(number), &policy(number + 1));
            assert_eq!(found.answer, Answer::Differs, "{map} {number}");
            let same = requiring("configmaps", &format!("{map}.size() < {}", number + 1));
            assert_eq!(compared(&policy(number), &same).answer, Answer::Proved, "{map} {number}");
        }
        // Of more entries there are too many combinations.
        assert_ne!(compared(&policy(5), &policy(6)).answer, Answer::Proved, "{map}");
    }
    let length = |operator: &str, number: i32| {
        let key = "\"{{ length(request.object.metadata.annotations || `{}`) }}\"";
        denying("ConfigMap", &format!("{{key: {key}, operator: {operator}, value: {number}}}"))
    };
    let keys = |number: i32| {
        let key = "\"{{ request.object.metadata.annotations.keys(@) || `[]` | length(@) }}\"";
        denying("ConfigMap", &format!("{{key: {key}, operator: GreaterThan, value: {number}}}"))
    };
    assert_eq!(compared(&length("GreaterThan", 2), &length("GreaterThan", 3)).answer, Answer::Differs);
    assert_eq!(compared(&keys(2), &keys(3)).answer, Answer::Differs);
}
