//! Usual mistakes as users make them: each is found at its place, and its fix mends it.

use super::*;

/// A policy on pods with an expression in double quotes, as most are written.
fn expression(text: &str) -> String {
    VALIDATING.replace("object.spec.replicas > 1", &format!("\"{text}\""))
}

/// The text after the safe fixes, and what is found in it.
fn fixed(text: &str) -> (String, Vec<Finding>) {
    let source = SourceText { name: "p.yaml".into(), text: text.into() };
    let find = |sources: &[SourceText]| lint(sources, &[], &Roles::default()).findings;
    let files = fix_all(&[source], &find, false);
    let new = files.first().map_or_else(|| text.to_string(), |file| file.after.clone());
    let left = serious(&new);
    (new, left)
}

#[test]
fn words_of_other_languages_are_mended_in_expressions() {
    for (wrong, right) in [
        ("has(object.spec) and true", "has(object.spec) && true"),
        ("has(object.spec) or not has(object.kind)", "has(object.spec) || !has(object.kind)"),
        ("object.metadata.name = 'y'", "object.metadata.name == 'y'"),
        ("object.metadata.name === 'y'", "object.metadata.name == 'y'"),
        ("object.metadata.name !== 'y'", "object.metadata.name != 'y'"),
        (
            "object.spec.template.spec.containers.length() > 0",
            "object.spec.template.spec.containers.size() > 0",
        ),
        (
            "object.spec.template.spec.containers.filter(c, has(c.image)).size == 0",
            "object.spec.template.spec.containers.filter(c, has(c.image)).size() == 0",
        ),
        ("object.metadata.name.toLowerCase() == 'y'", "object.metadata.name.lowerAscii() == 'y'"),
        ("has(object.spec) == True", "has(object.spec) == true"),
        (
            "object.spec.template.spec.containers.every(c, true)",
            "object.spec.template.spec.containers.all(c, true)",
        ),
        ("objct.spec.replicas > 1", "object.spec.replicas > 1"),
    ] {
        let before = expression(wrong);
        assert!(serious(&before).iter().any(|f| f.id == "cel-expression" && f.line == 10), "{wrong}");
        let (new, left) = fixed(&before);
        assert_eq!(new, expression(right), "{wrong}");
        assert_eq!(left, [], "{wrong}");
    }
}

#[test]
fn a_hyphen_in_a_key_is_no_minus() {
    let (new, _) = fixed(&expression("object.metadata.labels.foo-bar == 'x'"));
    assert!(new.contains("object.metadata.labels['foo-bar'] == 'x'"), "{new}");
}

/// A policy whose resource rule is `rule`.
fn selecting(rule: &str) -> String {
    VALIDATING
        .replace(
            "{apiGroups: [apps], apiVersions: [v1], operations: [CREATE], resources: [deployments]}",
            rule,
        )
        .replace("object.spec.replicas > 1", "'true'")
}

#[test]
fn entries_that_select_nothing_are_mended() {
    for (wrong, right, part) in [
        ("apiGroups: [core], resources: [pods]", "apiGroups: [\"\"], resources: [pods]", "core"),
        ("apiGroups: [v1], resources: [pods]", "apiGroups: [\"\"], resources: [pods]", "v1"),
        (
            "apiGroups: [apps/v1], resources: [deployments]",
            "apiGroups: [apps], resources: [deployments]",
            "apps/v1",
        ),
        (
            "apiGroups: [rbac], resources: [roles]",
            "apiGroups: [rbac.authorization.k8s.io], resources: [roles]",
            "rbac",
        ),
        ("apiGroups: [\"\"], resources: [pod]", "apiGroups: [\"\"], resources: [pods]", "pod"),
        ("apiGroups: [\"\"], resources: [Pod]", "apiGroups: [\"\"], resources: [pods]", "Pod"),
        ("apiGroups: [apps], resources: [deploy]", "apiGroups: [apps], resources: [deployments]", "deploy"),
        ("apiGroups: [\"\"], resources: [svc]", "apiGroups: [\"\"], resources: [services]", "svc"),
        (
            "apiGroups: [\"\"], resources: [deployments]",
            "apiGroups: [apps], resources: [deployments]",
            "deployments",
        ),
        (
            "apiGroups: [\"\"], resources: [pods/ephemeralContainers]",
            "apiGroups: [\"\"], resources: [pods/ephemeralcontainers]",
            "ephemeralContainers",
        ),
        ("apiGroups: [\"\"], resources: [pods/exce]", "apiGroups: [\"\"], resources: [pods/exec]", "exce"),
        (
            "apiGroups: [\"\"], resources: [pods], resourceNames: [Web]",
            "apiGroups: [\"\"], resources: [pods], resourceNames: [web]",
            "Web",
        ),
    ] {
        let rule = |text: &str| selecting(&format!("{{apiVersions: [v1], operations: [CREATE], {text}}}"));
        let before = rule(wrong);
        let all = serious(&before);
        let is_at = |f: &&Finding| f.line == 8 && matches!(f.id, "selects-nothing" | "unknown-kind");
        let finding = all.iter().find(is_at).unwrap_or_else(|| panic!("{wrong}: {all:?}"));
        assert!(
            before.lines().nth(7).is_some_and(|line| line[finding.column - 1..].starts_with(part)),
            "{finding:?}"
        );
        let (new, left) = fixed(&before);
        assert_eq!(new, rule(right), "{wrong}");
        assert!(
            !left.iter().any(|f| matches!(f.id, "selects-nothing" | "unknown-kind" | "never-matches")),
            "{left:?}"
        );
    }
    for (wrong, right) in [("[Create]", "[CREATE]"), ("[create, UPDAT]", "[CREATE, UPDATE]")] {
        let rule = |operations: &str| {
            selecting(&format!(
                "{{apiGroups: [''], apiVersions: [v1], resources: [pods], operations: {operations}}}"
            ))
        };
        assert_eq!(fixed(&rule(wrong)).0, rule(right));
    }
}

#[test]
fn entries_that_may_select_something_are_left_alone() {
    for rule in [
        "apiGroups: ['*'], resources: ['*']",
        "apiGroups: [example.com], resources: [widgets]",
        "apiGroups: ['', apps], resources: [pods, deployments]",
        "apiGroups: [''], resources: [pods, pods/exec, 'pods/*', services/status]",
        "apiGroups: [batch], resources: [jobs, cronjobs]",
        "apiGroups: [rbac.authorization.k8s.io], resources: [roles], resourceNames: ['system:Admin']",
        "apiGroups: [events.k8s.io, ''], resources: [events]",
    ] {
        let text = selecting(&format!("{{apiVersions: ['*'], operations: ['*'], {rule}}}"));
        assert_eq!(serious(&text), [], "{rule}");
    }
}

#[test]
fn names_that_no_object_can_have_are_found_in_filters() {
    let text = policy(
        "kinds: [Pod]",
        "kinds: [Pod]\n          namespaces: [Prod, dev, 'a-*', my_ns]\n          names: ['Web*']",
    );
    let found: Vec<_> = serious(&text).into_iter().filter(|f| f.id == "selects-nothing").collect();
    assert_eq!(found.iter().map(|f| (f.line, f.column)).collect::<Vec<_>>(), [(13, 24), (13, 42), (14, 19)]);
    let (new, _) = fixed(&text);
    assert!(new.contains("namespaces: [prod, dev, 'a-*', my_ns]\n          names: ['web*']"), "{new}");
    assert_eq!(
        serious(
            &policy("[Pod]", "[ClusterRole]\n          names: ['system:*', Admin]")
                .replace("          containers:\n          - image: '*:?*'", "          a: b")
                .replace("spec:\n          a: b", "metadata:\n          name: a")
        ),
        []
    );
}

#[test]
fn values_that_no_field_of_the_type_matches_are_found() {
    let pattern = |text: &str| policy("          containers:\n          - image: '*:?*'\n", text);
    for (text, part) in [
        ("          priority: '>two'\n", "no number matches `>two`"),
        ("          hostNetwork: 'no one'\n", "no boolean matches"),
        ("          containers:\n            image: x\n", "which no object matches"),
        ("          securityContext: '?*'\n", "no text but `*` matches"),
        ("          securityContext: [a]\n", "which no list matches"),
        ("          nodeName: true\n", "no boolean matches"),
        ("          X(containers): x\n", "is there in every object"),
        ("          X(hostPath): 'null'\n", "has no field `hostPath`"),
    ] {
        let found = serious(&pattern(text));
        assert!(
            found.len() == 1 && found[0].line == 23 || found.len() == 1 && found[0].line == 24,
            "{text}: {found:?}"
        );
        assert!(found[0].message.contains(part), "{text}: {found:?}");
    }
    for text in [
        "          priority: '>2 & <10'\n",
        "          priority: '<1000 | 2000'\n",
        "          hostNetwork: false\n",
        "          =(hostNetwork): 'false | null'\n",
        "          containers:\n          - image: '!*:latest'\n            =(resources):\n              limits: {memory: '<=1Gi'}\n",
        "          securityContext: '*'\n",
        "          nodeName: '?*'\n",
        "          X(nodeName): 'null'\n",
        "          terminationGracePeriodSeconds: '{{ request.object.spec.x }}'\n",
        "          containers:\n          - ports:\n            - containerPort: '80-90'\n",
    ] {
        let left: Vec<_> = serious(&pattern(text)).into_iter().filter(|f| f.id == "value-type").collect();
        assert_eq!(left, [], "{text}");
    }
    let quoted = pattern("          hostNetwork: \"false\"\n");
    assert!(lint_text(&quoted).findings.iter().any(|f| f.id == "value-type" && f.severity == Severity::Note));
    assert_eq!(fixed(&quoted).0, pattern("          hostNetwork: false\n"));
}

#[test]
fn what_an_api_server_refuses_is_found_in_overlays() {
    let overlay = |text: &str| {
        policy(
            "    validate:\n      failureAction: Enforce\n      message: 'no {{ request.object.metadata.name }}'\n      pattern:\n        spec:\n          containers:\n          - image: '*:?*'\n",
            &format!("    mutate:\n      patchStrategicMerge:\n        spec:\n{text}"),
        )
    };
    for (wrong, right) in [
        ("          hostNetwork: 'true'\n", "          hostNetwork: true\n"),
        ("          +(priority): '5'\n", "          +(priority): 5\n"),
        ("          nodeName: 5\n", "          nodeName: \"5\"\n"),
    ] {
        let found = serious(&overlay(wrong));
        assert!(found.len() == 1 && found[0].id == "value-type", "{wrong}: {found:?}");
        assert_eq!(fixed(&overlay(wrong)).0, overlay(right));
    }
    let replaced = lint_text(&overlay("          tolerations: [{key: a}]\n")).findings;
    assert!(
        replaced.iter().any(|f| f.id == "merge-removes-items" && f.severity == Severity::Note),
        "{replaced:?}"
    );
    assert_eq!(lint_text(&overlay("          +(tolerations): [{key: a}]\n")).findings, []);
}

#[test]
fn usual_mistakes_in_queries_are_mended() {
    let query = |text: &str| policy("'no {{ request.object.metadata.name }}'", text);
    for (wrong, right, id) in [
        (
            "\"{{ request.object.metadata.labels.foo-bar }}\"",
            "\"{{ request.object.metadata.labels.\\\"foo-bar\\\" }}\"",
            "jmespath-syntax",
        ),
        (
            "'{{ request.object.metadata.labels.app.kubernetes.io/name }}'",
            "'{{ request.object.metadata.labels.\"app.kubernetes.io/name\" }}'",
            "jmespath-syntax",
        ),
        (
            "'{{ request.object.spec.containers[?name == \"x\"].image }}'",
            "'{{ request.object.spec.containers[?name == ''x''].image }}'",
            "jmespath-literal",
        ),
        (
            "'{{ request.object.spec.hostNetwork == true }}'",
            "'{{ request.object.spec.hostNetwork == `true` }}'",
            "jmespath-literal",
        ),
        ("'{{ request.object.metadata.name }'", "'{{ request.object.metadata.name }}'", "unclosed-variable"),
        ("'{{ request.object.metadata.name'", "'{{ request.object.metadata.name }}'", "unclosed-variable"),
    ] {
        let all = serious(&query(wrong));
        assert_eq!(all.iter().map(|f| (f.id, f.line)).collect::<Vec<_>>(), [(id, 20)], "{wrong}");
        let (new, left) = fixed(&query(wrong));
        assert_eq!(new, query(right), "{wrong}");
        assert_eq!(left, [], "{wrong}");
    }
    for wrong in [
        "\"{{ semver_compare('latest', '>=1.0.0') }}\"",
        "\"{{ semver_compare(request.object.metadata.name, '>=one') }}\"",
        "\"{{ regex_match('[a-z', request.object.metadata.name) }}\"",
    ] {
        let all = serious(&query(wrong));
        assert_eq!(
            all.iter().map(|f| (f.id, f.line)).collect::<Vec<_>>(),
            [("invalid-argument", 20)],
            "{wrong}"
        );
    }
}

#[test]
fn the_place_of_a_mistake_in_yaml_is_that_of_the_mistake() {
    for (from, to, line, mended) in [
        ("    validate:", "     validate:", 18, None),
        ("'no {{ request.object.metadata.name }}'", "\"no {{ a[?b == \"x\"] }}\"", 20, Some("'x'")),
        ("'{{ request.operation }}'", "{{ request.operation }}", 15, Some("'{{ request.operation }}'")),
        ("    match:", "    match", 9, None),
        ("kinds: [Pod]", "kinds: [Pod", 12, None),
        ("'no {{ request.object.metadata.name }}'", "'no", 20, None),
        ("- image: '*:?*'", "- image: *x", 24, Some("image: '*x'")),
        ("- image: '*:?*'", "- image: a: b", 24, None),
    ] {
        let text = policy(from, to);
        let found = lint_text(&text).findings;
        assert_eq!(found.iter().map(|f| (f.id, f.line)).collect::<Vec<_>>(), [("yaml-syntax", line)], "{to}");
        if let Some(part) = mended {
            let (new, _) = fixed(&text);
            assert!(
                new.contains(part) && !lint_text(&new).findings.iter().any(|f| f.id == "yaml-syntax"),
                "{new}"
            );
        }
    }
    let text = policy("    validate:", "     validate:");
    let fix = lint_text(&text).findings[0].fixes[0].clone();
    assert_eq!(apply(&text, &fix.edits).as_deref(), Some(&*policy("validate:", "validate:")));
    let tabs = policy("    preconditions:", "\tpreconditions:");
    let fix = lint_text(&tabs).findings[0].fixes[0].clone();
    assert!(apply(&tabs, &fix.edits).is_some_and(|new| serious(&new).iter().all(|f| f.id != "yaml-syntax")));
}

const EXCEPTION: &str = "---
apiVersion: kyverno.io/v2
kind: PolicyException
metadata: {name: e, namespace: a}
spec:
  exceptions:
  - policyName: p
    ruleNames:
    - r
  match:
    any:
    - resources:
        kinds: [Deployment, CronJob]
";

#[test]
fn an_exception_about_controllers_names_the_variants_of_its_rules() {
    let text = format!(
        "{}{EXCEPTION}",
        policy("background: false", "background: true")
            .replace("'{{ request.operation }}'", "'{{ request.object.metadata.name }}'")
    );
    let all = serious(&text);
    assert_eq!(
        all.iter().map(|f| (f.id, f.line)).collect::<Vec<_>>(),
        [("variant-not-excepted", 33)],
        "{all:?}"
    );
    let (new, left) = fixed(&text);
    assert!(new.contains("    - r\n    - autogen-r\n    - autogen-cronjob-r\n"), "{new}");
    assert_eq!(left, []);
    let pods = text.replace("[Deployment, CronJob]", "[Pod]");
    assert_eq!(serious(&pods), []);
    let wrong = pods.replace("    - r\n", "    - rr\n");
    assert_eq!(serious(&wrong).iter().map(|f| f.id).collect::<Vec<_>>(), ["unknown-rule"]);
}

#[test]
fn variants_that_fail_or_do_nothing_are_found() {
    let message = VALIDATING
        .replace(
            "{apiGroups: [apps], apiVersions: [v1], operations: [CREATE], resources: [deployments]}",
            "{apiGroups: [''], apiVersions: [v1], operations: [CREATE], resources: [pods]}",
        )
        .replace("object.spec.replicas > 1", "object.spec.containers.all(c, c.image != '')");
    let with = |text: &str| message.replace("message: more", &format!("messageExpression: \"{text}\""));
    let all = serious(&with("'bad: ' + object.metadata.name"));
    assert_eq!(all.iter().map(|f| (f.id, f.line)).collect::<Vec<_>>(), [("variant-message", 11)], "{all:?}");
    for text in [
        "'bad: ' + object.?metadata.?name.orValue('')",
        "'bad: ' + object.metadata.namespace",
        "has(object.metadata.name) ? string(object.metadata.name) : 'template'",
    ] {
        assert_eq!(serious(&with(text)), [], "{text}");
    }
    let alone = with("'bad: ' + object.metadata.name")
        .replace("spec:\n", "spec:\n  autogen: {podControllers: {controllers: []}}\n");
    assert_eq!(serious(&alone), []);
}

#[test]
fn fixes_are_exact_in_all_styles_of_scalars() {
    for style in
        ["EXPR", "'EXPR'", "\"EXPR\"", "|-\n      EXPR", ">-\n      EXPR", "|\n      true &&\n      EXPR\n"]
    {
        let text = VALIDATING.replace("object.spec.replicas > 1", style);
        let (new, left) = fixed(&text.replace("EXPR", "objct.spec.replicas > 1"));
        assert_eq!(new, text.replace("EXPR", "object.spec.replicas > 1"), "{style}");
        assert_eq!(left, []);
    }
}

#[test]
fn fixes_of_a_document_behind_others_and_in_lists_are_at_their_place() {
    let second = format!("\u{feff}kind: A\r\n---\r\n# é\n{}", policy("Equals", "Equls"));
    assert_eq!(fixed(&second).0, second.replace("Equls", "Equals"));
    let list = "kind: List\napiVersion: v1\nitems:\n- apiVersion: kyverno.io/v1\n  kind: ClusterPolcy\n  metadata: {name: p}\n  spec: {rules: []}\n";
    assert!(fixed(list).0.contains("kind: ClusterPolicy"), "{}", fixed(list).0);
}
