//! Rules that change objects by constants: equal ones are proved, and what one token changes is
//! found.

use ephor_compare::{Answer, Apart, Claim, DifferenceKind, Options, Universe};
use ephor_value::print::json;

use super::compared;

/// A ClusterPolicy with one rule for a kind.
pub(super) fn classic(kind: &str, rule: &str) -> String {
    format!(
        "apiVersion: kyverno.io/v1
kind: ClusterPolicy
metadata: {{name: p, annotations: {{pod-policies.kyverno.io/autogen-controllers: none}}}}
spec:
  background: false
  rules:
  - name: r
    match: {{any: [{{resources: {{kinds: [{kind}]}}}}]}}
    {rule}
"
    )
}

/// A MutatingPolicy for a resource; `more`: other fields.
pub(super) fn cel(resource: &str, more: &str, mutations: &[(&str, &str)]) -> String {
    let group = if resource == "deployments" { "apps" } else { "" };
    let each = mutations.iter().map(|(form, expression)| {
        let field = if *form == "JSONPatch" { "jsonPatch" } else { "applyConfiguration" };
        format!("  - patchType: {form}\n    {field}: {{expression: \"{expression}\"}}\n")
    });
    format!(
        "apiVersion: policies.kyverno.io/v1
kind: MutatingPolicy
metadata: {{name: p}}
spec:
  autogen: {{podControllers: {{controllers: []}}}}
  matchConstraints:
    resourceRules: [{{apiGroups: ['{group}'], apiVersions: [v1], operations: [CREATE, UPDATE], resources: [{resource}]}}]
{more}  mutations:
{}",
        each.collect::<String>()
    )
}

pub(super) fn apply(resource: &str, expression: &str) -> String {
    cel(resource, "", &[("ApplyConfiguration", expression)])
}

pub(super) fn patch(resource: &str, expression: &str) -> String {
    cel(resource, "", &[("JSONPatch", expression)])
}

/// The body of a rule with operations of a JSON patch.
fn operations(each: &[&str]) -> String {
    let lines: Vec<String> = each.iter().map(|one| format!("- {{{one}}}")).collect();
    format!("mutate: {{patchesJson6902: \"{}\"}}", lines.join("\\n"))
}

/// Two sides make the same of all objects.
pub(super) fn proved(old: &str, new: &str) {
    let found = compared(old, new);
    let all: Vec<String> = found.differences.iter().map(|d| json(&d.object)).collect();
    let is_proved = match &found.answer {
        Answer::Proved => true,
        Answer::ProvedRelative(of) => {
            of.iter().all(|one| one.starts_with("the keys of items in lists that are merged by keys"))
        }
        _ => false,
    };
    assert!(is_proved, "{:?} {:?}\n{all:?}\n{new}", found.answer, found.reasons);
}

/// They do not.
pub(super) fn differ(old: &str, new: &str) {
    let found = compared(old, new);
    assert_eq!(found.answer, Answer::Differs, "{:?}\n{new}", found.reasons);
}

/// It is not known.
pub(super) fn tested(old: &str, new: &str) {
    let found = compared(old, new);
    assert!(matches!(found.answer, Answer::Tested(_)), "{:?}\n{new}", found.answer);
}

const LABEL: &str = "mutate: {patchStrategicMerge: {metadata: {labels: {team: a}}}}";

#[test]
fn a_constant_label_is_proved_in_each_language() {
    let old = classic("ConfigMap", LABEL);
    let literal = "Object{metadata: Object.metadata{labels: {'team': 'a'}}}";
    proved(&old, &apply("configmaps", literal));
    let guarded = "has(object.metadata.labels) ? [JSONPatch{op: 'add', path: '/metadata/labels/team', value: 'a'}] : [JSONPatch{op: 'add', path: '/metadata/labels', value: {'team': 'a'}}]";
    proved(&old, &patch("configmaps", guarded));
    let json = operations(&["op: add, path: /metadata/labels/team, value: a"]);
    proved(&old, &classic("ConfigMap", &json));
    proved(&classic("ConfigMap", &json), &apply("configmaps", literal));
}

#[test]
fn a_change_where_a_list_is_empty_is_proved() {
    let rule = |value: &str| {
        classic("ConfigMap", LABEL).replace(
            "    mutate:",
            &format!("    preconditions: {{all: [{{key: '{{{{ request.object.metadata.finalizers || `[]` }}}}', operator: Equals, value: {value}}}]}}\n    mutate:"),
        )
    };
    let new = |test: &str| {
        let optional = format!(
            "Object{{?metadata: {test} ? optional.of(Object.metadata{{labels: {{'team': 'a'}}}}) : optional.none()}}"
        );
        apply("configmaps", &optional)
    };
    proved(&rule("[]"), &new("object.metadata.?finalizers.orValue([]) == []"));
    differ(&rule("[]"), &new("object.metadata.?finalizers.orValue([]) != []"));
}

#[test]
fn another_constant_key_or_operation_is_found() {
    let old = classic("ConfigMap", LABEL);
    for literal in [
        "Object{metadata: Object.metadata{labels: {'team': 'b'}}}",
        "Object{metadata: Object.metadata{labels: {'teams': 'a'}}}",
        "Object{metadata: Object.metadata{labels: {'team': 'a', 'more': 'a'}}}",
        "Object{metadata: Object.metadata{annotations: {'team': 'a'}}}",
        "Object{metadata: Object.metadata{labels: {?'team': has(object.metadata.labels) ? optional.none() : optional.of('a')}}}",
        "Object{metadata: Object.metadata{labels: {?'team': object.metadata.?labels.?team.hasValue() ? optional.none() : optional.of('a')}}}",
        "Object{metadata: Object.metadata{labels: {?'team': object.metadata.?labels.?team.orValue('') == 'x' ? optional.none() : optional.of('a')}}}",
        "Object{metadata: Object.metadata{labels: {?'team': object.metadata.?labels.?other.orValue('') == 'x' ? optional.none() : optional.of('a')}}}",
    ] {
        differ(&old, &apply("configmaps", literal));
    }
    // All labels are replaced, or the operation fails where there are none.
    for operations in [
        "[JSONPatch{op: 'add', path: '/metadata/labels', value: {'team': 'a'}}]",
        "[JSONPatch{op: 'add', path: '/metadata/labels/team', value: 'a'}]",
        "has(object.metadata.labels) ? [JSONPatch{op: 'add', path: '/metadata/labels/team', value: 'a'}] : []",
    ] {
        differ(&old, &patch("configmaps", operations));
    }
    let replaced = operations(&["op: replace, path: /metadata/labels/team, value: a"]);
    differ(&old, &classic("ConfigMap", &replaced));
    let literal = "Object{metadata: Object.metadata{labels: {'team': 'a'}}}";
    differ(&old, &apply("configmaps", literal).replace("[CREATE, UPDATE]", "[CREATE]"));
    differ(&old, &apply("pods", literal));
    let condition = |of: &str| {
        cel(
            "configmaps",
            &format!("  matchConditions: [{{name: c, expression: \"{of}\"}}]\n"),
            &[("ApplyConfiguration", literal)],
        )
    };
    differ(&old, &condition("object.metadata.name != 'x'"));
    let excluded =
        classic("ConfigMap", &format!("exclude: {{any: [{{resources: {{names: [x, z]}}}}]}}\n    {LABEL}"));
    proved(&excluded, &condition("!(object.metadata.name in ['x', 'z'])"));
    differ(&excluded, &condition("!(object.metadata.name in ['x', 'w'])"));
}

#[test]
fn a_value_that_is_there_already_is_the_same_as_one_that_is_written() {
    let old = classic("ConfigMap", LABEL);
    let unless = "Object{metadata: Object.metadata{labels: {?'team': object.metadata.?labels.?team.orValue('') == 'a' ? optional.none() : optional.of('a')}}}";
    // A field of the literal without a value creates the labels, which are there then.
    proved(&old, &apply("configmaps", unless));
}

#[test]
fn defaults_of_a_security_context_are_proved() {
    let old = classic(
        "Pod",
        "mutate: {patchStrategicMerge: {spec: {securityContext: {+(runAsNonRoot): true, +(runAsUser): 1000}}}}",
    );
    let field = |name: &str, value: &str, test: &str| {
        format!(
            "?{name}: object.spec.?securityContext.?{test}.hasValue() ? optional.none() : optional.of({value})"
        )
    };
    let new = |fields: &[String]| {
        let fields = fields.join(", ");
        apply(
            "pods",
            &format!(
                "Object{{spec: Object.spec{{securityContext: Object.spec.securityContext{{{fields}}}}}}}"
            ),
        )
    };
    let user = field("runAsUser", "1000", "runAsUser");
    proved(&old, &new(&[field("runAsNonRoot", "true", "runAsNonRoot"), user.clone()]));
    differ(&old, &new(&[field("runAsNonRoot", "false", "runAsNonRoot"), user.clone()]));
    differ(
        &old,
        &new(&[field("runAsNonRoot", "true", "runAsNonRoot"), field("runAsUser", "1001", "runAsUser")]),
    );
    differ(
        &old,
        &new(&[field("runAsNonRoot", "true", "runAsNonRoot"), field("runAsUser", "1000", "runAsGroup")]),
    );
    differ(&old, &new(&[field("runAsNonRoot", "true", "runAsUser"), user]));
}

#[test]
fn preconditions_decide_about_a_bound() {
    let old = |bound: &str, value: &str| {
        classic(
            "Pod",
            &format!(
                "preconditions: {{all: [{{key: '{{{{ request.object.spec.terminationGracePeriodSeconds || `0` }}}}', operator: GreaterThan, value: {bound}}}]}}\n    mutate: {{patchStrategicMerge: {{spec: {{terminationGracePeriodSeconds: {value}}}}}}}"
            ),
        )
    };
    let new = cel(
        "pods",
        "  matchConditions: [{name: c, expression: \"object.spec.?terminationGracePeriodSeconds.orValue(0) > 50\"}]\n",
        &[("ApplyConfiguration", "Object{spec: Object.spec{terminationGracePeriodSeconds: 50}}")],
    );
    proved(&old("50", "50"), &new);
    // Who has 50 already keeps it.
    proved(&old("50", "50"), &new.replace("> 50", ">= 50"));
    differ(&old("51", "50"), &new);
    differ(&old("50", "49"), &new);
    differ(&old("50", "50"), &new.replace("> 50", "> 49 || object.spec.?hostNetwork.orValue(false)"));
}

#[test]
fn an_item_behind_those_of_a_list_is_proved_and_the_order_counts() {
    let old = |value: &str| {
        let patch = operations(&[&format!("op: add, path: /spec/tolerations/-, value: {value}")]);
        let condition =
            "{key: role, operator: AnyNotIn, value: '{{ request.object.spec.tolerations[].key || `[]` }}'}";
        classic("Pod", &format!("preconditions: {{any: [{condition}]}}\n    {patch}"))
    };
    let item = "{'key': 'role', 'effect': 'NoSchedule'}";
    let new = |more: &str, nothing: &str| {
        cel(
            "pods",
            "  matchConditions: [{name: c, expression: \"!object.spec.?tolerations.orValue([]).exists(t, t.?key.orValue('') == 'role')\"}]\n",
            &[(
                "JSONPatch",
                &format!(
                    "has(object.spec.tolerations) ? [JSONPatch{{op: 'add', path: '/spec/tolerations{more}', value: {item}}}] : [JSONPatch{{op: 'add', path: '/spec/tolerations', value: [{nothing}]}}]"
                ),
            )],
        )
    };
    proved(&old("{key: role, effect: NoSchedule}"), &new("/-", item));
    differ(&old("{key: role, effect: NoExecute}"), &new("/-", item));
    // An API server gives each pod some tolerations.
    let found = compared(&old("{key: role, effect: NoSchedule}"), &new("/-", ""));
    assert!(found.differences.iter().all(|d| d.universe == Universe::Files) && !found.differences.is_empty());
    // By its position, in front of the others.
    let found = compared(&old("{key: role, effect: NoSchedule}"), &new("/0", item));
    assert!(found.differences.iter().any(|d| d.kind == DifferenceKind::Result), "{:?}", found.answer);
    differ(&old("{key: role, effect: NoSchedule}"), &new("/-", item).replace("== 'role'", "== 'roles'"));
    differ(&old("{key: role, effect: NoSchedule}"), &new("/-", item).replace("exists(", "all("));
}

#[test]
fn what_is_replaced_as_a_whole_differs_from_what_is_merged() {
    let whole = "[JSONPatch{op: 'add', path: '/spec/dnsConfig', value: {'searches': ['a']}}]";
    let merged = classic("Pod", "mutate: {patchStrategicMerge: {spec: {dnsConfig: {searches: [a]}}}}");
    differ(&patch("pods", whole), &merged);
    let guarded = "has(object.spec.dnsConfig) ? [JSONPatch{op: 'add', path: '/spec/dnsConfig/searches', value: ['a']}] : [JSONPatch{op: 'add', path: '/spec/dnsConfig', value: {'searches': ['a']}}]";
    proved(&patch("pods", guarded), &merged);
    differ(&patch("pods", &guarded.replacen("'a'", "'b'", 1)), &merged);
    // A list of one item that is the same is found to be another one elsewhere.
    let unless = "object.spec.?dnsConfig.?searches.orValue([]) == [] ? [JSONPatch{op: 'add', path: '/spec/dnsConfig', value: {'searches': ['a']}}] : []";
    let found = compared(&patch("pods", unless), &merged);
    assert!(!matches!(found.answer, Answer::Proved | Answer::ProvedRelative(_)), "{:?}", found.answer);
}

#[test]
fn rules_see_what_others_have_written() {
    let first = ("ApplyConfiguration", "Object{spec: Object.spec{priorityClassName: 'a'}}");
    let second = |of: &str| {
        format!(
            "object.spec.?priorityClassName.orValue('') == '{of}' ? [JSONPatch{{op: 'add', path: '/spec/hostPID', value: true}}] : []"
        )
    };
    let both = |of: &str| cel("pods", "", &[first, ("JSONPatch", &second(of))]);
    let always = cel(
        "pods",
        "",
        &[first, ("JSONPatch", "[JSONPatch{op: 'add', path: '/spec/hostPID', value: true}]")],
    );
    proved(&both("a"), &always);
    differ(&both("b"), &always);
    // In the other order the second one reads the object as it came.
    let turned = cel("pods", "", &[("JSONPatch", &second("a")), first]);
    differ(&turned, &always);
    proved(&turned, &turned.replace(".orValue('') == 'a'", ".orValue('x') == 'a'"));
}

#[test]
fn what_is_removed_is_proved() {
    let old = operations(&[
        "op: remove, path: /spec/template/spec/priority",
        "op: add, path: /spec/template/spec/priorityClassName, value: low",
    ]);
    let old = classic("Deployment", &old);
    let new = |guard: &str| {
        cel(
            "deployments",
            "",
            &[
                (
                    "JSONPatch",
                    &format!(
                        "{guard} ? [JSONPatch{{op: 'remove', path: '/spec/template/spec/priority'}}] : []"
                    ),
                ),
                (
                    "JSONPatch",
                    "[JSONPatch{op: 'add', path: '/spec/template/spec/priorityClassName', value: 'low'}]",
                ),
            ],
        )
    };
    let has = "object.spec.template.?spec.?priority.hasValue()";
    proved(&old, &new(has));
    differ(&old, &new(&format!("{has} && object.spec.template.spec.priority > 5")));
    differ(&old, &new("object.spec.template.?spec.?priorityClassName.hasValue()"));
}

#[test]
fn each_container_by_itself_is_proved() {
    let old = |item: &str| {
        classic("Pod", &format!("mutate: {{patchStrategicMerge: {{spec: {{containers: [{item}]}}}}}}"))
    };
    let new = |fields: &str| {
        let item = format!("Object.spec.containers{{name: c.name, {fields}}}");
        apply(
            "pods",
            &format!("Object{{spec: Object.spec{{containers: object.spec.containers.map(c, {item})}}}}"),
        )
    };
    let patched = |guard: &str, value: &str| {
        let operation = format!(
            "JSONPatch{{op: 'add', path: '/spec/containers/' + string(i) + '/workingDir', value: {value}}}"
        );
        patch("pods", &format!("object.spec.containers.transformList(i, c, {guard}{operation})"))
    };
    let all = old("{(name): '*', workingDir: /a}");
    proved(&all, &new("workingDir: '/a'"));
    proved(&all, &patched("", "'/a'"));
    differ(&all, &new("workingDir: '/b'"));
    differ(&all, &new("stdin: true"));
    differ(&all, &new("?workingDir: has(c.workingDir) ? optional.none() : optional.of('/a')"));
    differ(&all, &patched("", "'/b'"));
    differ(&all, &patched("c.name != 'x', ", "'/a'"));
    let others = "object.spec.?initContainers.orValue([]).";
    differ(&all, &patched("", "'/a'").replace("object.spec.containers.", others));
    differ(&all, &old("{(name): 'a*', workingDir: /a}"));
    differ(&all, &old("{(name): '*', workingDir: /a, stdin: true}"));
    // Which containers: by their images.
    let latest = old("{(image): '*:latest', imagePullPolicy: Always}");
    let by = |test: &str| new(&format!("?imagePullPolicy: {test} ? optional.of('Always') : optional.none()"));
    proved(&latest, &by("c.image.endsWith(':latest')"));
    differ(&latest, &by("c.image.endsWith(':lates')"));
    differ(&latest, &by("c.image.endsWith('latest')"));
    // One is enough to change all.
    differ(&latest, &by("object.spec.containers.exists(x, x.image.endsWith(':latest'))"));
}

#[test]
fn conditions_of_anchors_decide_about_the_whole_document() {
    let rule =
        "mutate: {patchStrategicMerge: {spec: {(hostNetwork): true, dnsPolicy: ClusterFirstWithHostNet}}}";
    let old = classic("Pod", rule);
    let new = |test: &str| {
        let field = format!("?dnsPolicy: {test} ? optional.of('ClusterFirstWithHostNet') : optional.none()");
        apply("pods", &format!("Object{{spec: Object.spec{{{field}}}}}"))
    };
    proved(&old, &new("object.spec.?hostNetwork.orValue(false)"));
    differ(&old, &new("object.spec.?hostNetwork.orValue(true)"));
    differ(&old, &new("object.spec.?hostPID.orValue(false)"));
}

#[test]
fn what_one_item_leaves_out_for_those_behind_it_is_no_proof() {
    let rule = "mutate: {patchStrategicMerge: {spec: {containers: [{(name): '*', +(tty): true}]}}}";
    let item = "Object.spec.containers{name: c.name, ?tty: has(c.tty) ? optional.none() : optional.of(true)}";
    let new = format!("Object{{spec: Object.spec{{containers: object.spec.containers.map(c, {item})}}}}");
    let found = compared(&classic("Pod", rule), &apply("pods", &new));
    assert!(!matches!(found.answer, Answer::Proved | Answer::ProvedRelative(_)), "{:?}", found.answer);
}

#[test]
fn items_that_are_added_at_other_places_are_named_as_another_order() {
    let add = |at: &str| {
        let item = "Object.spec.containers{name: 'zz', image: 'z:1'}";
        patch("pods", &format!("[JSONPatch{{op: 'add', path: '/spec/containers/{at}', value: {item}}}]"))
    };
    let claim = |old: &str, new: &str| {
        let [old, new] = [old, new].map(|at| super::side(&add(at)));
        Claim::about(&old, &new, Options::default(), None)
    };
    assert!(claim("0", "-").apart.contains(&Apart::Order));
    assert!(!claim("0", "0").apart.contains(&Apart::Order));
}

#[test]
fn merges_of_one_text_leave_items_in_one_order_whatever_selects_them() {
    let merge = |label: &str, image: &str| {
        let condition = format!(
            "{{key: \"{{{{ request.object.metadata.labels.a || '' }}}}\", operator: Equals, value: {label}}}"
        );
        let document = format!("{{spec: {{containers: [{{(image): '{image}', tty: true}}]}}}}");
        classic(
            "Pod",
            &format!(
                "preconditions: {{all: [{condition}]}}\n    mutate: {{patchStrategicMerge: {document}}}"
            ),
        )
    };
    let claim = |old: &str, new: &str| {
        let [old, new] = [old, new].map(super::side);
        Claim::about(&old, &new, Options::default(), None).apart.contains(&Apart::Order)
    };
    assert!(!claim(&merge("x", "a*"), &merge("y", "a*")));
    assert!(claim(&merge("x", "a*"), &merge("x", "b*")));
}
