//! What texts of policy files give, and what is left out of them (`docs/semantics/policies.md`,
//! "Loading").

use super::*;
use ephor_value::release::Release;

fn load(reader: Reader, texts: &[&str]) -> Policies {
    let name = |at: usize| format!("{at}.yaml");
    let sources: Vec<SourceText> = texts
        .iter()
        .enumerate()
        .map(|(i, text)| SourceText { name: name(i), text: text.to_string() })
        .collect();
    argument_for(&sources, reader)
}

fn command(text: &str) -> Policies {
    load(Reader::Command, &[text])
}

fn server(text: &str) -> Policies {
    load(Reader::Server(Release::default()), &[text])
}

fn names(policies: &Policies) -> Vec<&str> {
    policies.policies.iter().map(|p| &*p.name).collect()
}

fn problems(policies: &Policies) -> Vec<String> {
    policies.problems.iter().map(ToString::to_string).collect()
}

fn policy(name: &str) -> String {
    with_rules(
        name,
        "- {name: r, match: {any: [{resources: {kinds: [Pod]}}]}, validate: {message: m, pattern: {a: b}}}",
    )
}

fn with_rules(name: &str, rules: &str) -> String {
    format!(
        "apiVersion: kyverno.io/v1\nkind: ClusterPolicy\nmetadata: {{name: {name}}}\nspec:\n  rules:\n  {}\n",
        rules.replace('\n', "\n  ")
    )
}

const CONFIG_MAP: &str = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c}\n";

#[test]
fn a_text_is_cut_at_lines_of_three_dashes_and_documents_of_comments_are_dropped() {
    let text = format!("# first\n---\n{}---\n\n# nothing\n--- # more\n{}", policy("a"), policy("b"));
    let found = command(&text);
    assert_eq!(names(&found), ["a", "b"]);
    assert_eq!(problems(&found), [""; 0]);
    assert_eq!(found.policies.iter().map(|p| p.line).collect::<Vec<_>>(), [3, 13]);
}

#[test]
fn policies_of_all_texts_keep_their_order() {
    let (a, b, c) = (policy("a"), policy("b"), policy("c"));
    let found = load(Reader::Command, &[&format!("{b}---\n{a}"), &c]);
    assert_eq!(names(&found), ["b", "a", "c"]);
    assert_eq!(found.policies.iter().map(|p| &*p.source).collect::<Vec<_>>(), ["0.yaml", "0.yaml", "1.yaml"]);
}

#[test]
fn a_document_that_does_not_parse_is_left_out_alone() {
    let found = command(&format!("{}---\na: [\n---\n{}", policy("a"), policy("b")));
    assert_eq!(names(&found), ["a", "b"]);
    let [problem] = &found.problems[..] else { panic!("{:?}", found.problems) };
    assert!(problem.text.starts_with("failed to parse document (failed to parse yaml: "), "{}", problem.text);
    assert!(!problem.fatal && !problem.foreign && problem.fail_closed);
}

#[test]
fn a_document_that_does_not_parse_is_named_with_the_line_that_is_wrong() {
    let good = policy("a");
    let begins = good.lines().count() + 2;
    let found = command(&format!("{good}---\nkind: ClusterPolicy\nspec:\n\trules: []\n"));
    let [problem] = &found.problems[..] else { panic!("{:?}", found.problems) };
    assert_eq!(problem.line, begins + 2, "{problem}");
}

#[test]
fn a_key_that_is_set_twice_leaves_its_document_out() {
    let twice = policy("a").replace("kind: ClusterPolicy\n", "kind: ClusterPolicy\nkind: ClusterPolicy\n");
    let found = command(&format!("{twice}---\n{}", policy("b")));
    assert_eq!(names(&found), ["b"]);
    let [problem] = &found.problems[..] else { panic!("{:?}", found.problems) };
    assert!(problem.text.contains("key \"kind\" already set in map"), "{}", problem.text);
}

#[test]
fn an_unknown_kind_is_left_out_and_a_known_one_that_is_no_policy_drops_the_argument() {
    let unknown = "apiVersion: example.com/v1\nkind: Thing\nmetadata: {name: t}\n";
    let found = command(&format!("{unknown}---\n{}", policy("a")));
    assert_eq!(names(&found), ["a"]);
    assert_eq!(found.problems.iter().map(|p| (p.fatal, p.foreign)).collect::<Vec<_>>(), [(false, true)]);

    // The other texts of the argument as well.
    let found = load(Reader::Command, &[&policy("a"), CONFIG_MAP]);
    assert_eq!(names(&found), [""; 0]);
    assert_eq!(problems(&found), ["1.yaml:1: policy type not supported /v1, Kind=ConfigMap"]);
}

#[test]
fn an_unknown_field_drops_the_argument_at_its_place() {
    let wrong = policy("a").replace("spec:\n", "spec:\n  nope: 1\n");
    let found = command(&format!("{}---\n{wrong}", policy("b")));
    assert_eq!(names(&found), [""; 0]);
    let [problem] = &found.problems[..] else { panic!("{:?}", found.problems) };
    assert!(problem.fatal, "{problem}");
    assert_eq!((problem.line, problem.column), (12, Some(3)), "{problem}");
}

#[test]
fn a_field_of_another_type_leaves_its_document_out() {
    let wrong = policy("a").replace("message: m", "message: [m]");
    let found = command(&format!("{wrong}---\n{}", policy("b")));
    assert_eq!(names(&found), ["b"]);
    let [problem] = &found.problems[..] else { panic!("{:?}", found.problems) };
    assert!(!problem.fatal, "{problem}");
    assert_eq!(problem.line, 6, "{problem}");
}

#[test]
fn a_document_without_api_version_and_kind_is_no_policy() {
    for text in ["a: 1\n", "apiVersion: ''\nkind: ''\n"] {
        let found = command(text);
        assert_eq!(problems(&found), ["0.yaml:1: failed to parse document (GVK cannot be empty)"], "{text}");
    }
    let found = command("apiVersion: [v1]\nkind: x\n");
    let [problem] = &found.problems[..] else { panic!("{:?}", found.problems) };
    assert!(
        problem.text.contains("cannot unmarshal array into Go struct field TypeMeta.apiVersion"),
        "{problem}"
    );
}

#[test]
fn a_policy_that_the_check_refuses_stays_in_the_list_without_its_rules() {
    let found = command(&format!(
        "{}---\n{}",
        with_rules(
            "a",
            "- {name: r, match: {any: [{resources: {kinds: [Pod]}}]}, validate: {message: m, pattern: {a: '{{ nope( }}'}}}"
        ),
        policy("b")
    ));
    assert_eq!(names(&found), ["a", "b"]);
    let [a, b] = &found.policies[..] else { panic!() };
    assert!(a.refused.is_some() && a.policy.is_none(), "{:?}", a.refused);
    assert!(b.refused.is_none() && b.policy.is_some());
    assert_eq!(problems(&found), [""; 0]);
}

#[test]
fn items_of_a_list_are_read_without_schema_and_defaults() {
    let item = policy("a").replace("spec:\n", "spec:\n  failurePolicy: Never\n").replace('\n', "\n  ");
    let found = command(&format!("apiVersion: v1\nkind: List\nitems:\n- {}\n", item.trim_end()));
    assert_eq!((names(&found), problems(&found)), (vec!["a"], vec![]));
    assert!(found.policies[0].document.at(&["spec", "validationFailureAction"]).is_none());
    let alone = command(&policy("a"));
    assert!(alone.policies[0].document.at(&["spec", "validationFailureAction"]).is_some());
}

#[test]
fn exceptions_cleanups_and_bindings_have_lists_of_their_own() {
    let text = "
apiVersion: kyverno.io/v2
kind: PolicyException
metadata: {name: e}
spec: {exceptions: [{policyName: p, ruleNames: [r]}], match: {any: [{resources: {kinds: [Pod]}}]}}
---
apiVersion: policies.kyverno.io/v1beta1
kind: PolicyException
metadata: {name: e}
spec: {policyRefs: [{name: p, kind: ValidatingPolicy}]}
---
apiVersion: kyverno.io/v2
kind: ClusterCleanupPolicy
metadata: {name: c}
spec: {schedule: '* * * * *', match: {any: [{resources: {kinds: [Pod]}}]}}
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata: {name: b}
spec: {policyName: p, validationActions: [Deny]}
";
    let found = command(text);
    assert_eq!(problems(&found), [""; 0]);
    let Policies { policies, exceptions, cel_exceptions, bindings, cleanups, .. } = &found;
    let counts = [policies.len(), exceptions.len(), cel_exceptions.len(), bindings.len(), cleanups.len()];
    assert_eq!(counts, [0, 1, 1, 1, 1]);
    assert!(!found.is_empty() && Policies::default().is_empty());
}

const NATIVE: &str = "
apiVersion: admissionregistration.k8s.io/VERSION
kind: KIND
metadata: {name: native}
spec:
  matchConstraints: {resourceRules: [{apiGroups: [''], apiVersions: [v1], operations: [CREATE], resources: [pods]}]}
  validations: [{expression: 'true'}]
";

#[test]
fn versions_of_native_policies_are_those_that_the_reader_takes() {
    let native =
        |version: &str| NATIVE.replace("VERSION", version).replace("KIND", "ValidatingAdmissionPolicy");
    for (version, by_command, by_server) in
        [("v1", true, true), ("v1beta1", false, true), ("v1alpha1", false, true), ("v2", false, false)]
    {
        let (found, served) = (command(&native(version)), server(&native(version)));
        assert_eq!(found.policies.len() == 1, by_command, "{version} {:?}", found.problems);
        assert_eq!(served.policies.len() == 1, by_server, "{version} {:?}", served.problems);
        let scanned = load(Reader::Scan, &[&native(version)]);
        assert_eq!(scanned.policies.len() == 1, by_server, "{version} {:?}", scanned.problems);
    }
}

#[test]
fn a_server_refuses_native_policies_that_an_api_server_refuses() {
    let text = NATIVE.replace("VERSION", "v1").replace("KIND", "ValidatingAdmissionPolicy");
    let wrong = text.replace("'true'", "'nope'");
    assert!(server(&text).policies[0].refused.is_none());
    assert!(server(&wrong).policies[0].refused.as_ref().unwrap().contains("undeclared reference to 'nope'"));
    assert!(command(&wrong).policies[0].refused.is_none());
}

#[test]
fn a_policy_whose_expressions_do_not_compile_stops_those_of_its_purpose() {
    let of = |kind: &str, expression: &str| {
        let text = NATIVE.replace("admissionregistration.k8s.io/VERSION", "policies.kyverno.io/v1");
        command(&text.replace("KIND", kind).replace("'true'", expression))
    };
    let good = of("ValidatingPolicy", "'true'");
    assert_eq!((good.uncompiled(Purpose::Request), names(&good)), (None, vec!["native"]));
    let bad = of("ValidatingPolicy", "nope");
    let text = bad.uncompiled(Purpose::Request).unwrap();
    assert!(
        text.starts_with("failed to compile policy native (")
            && text.contains("undeclared reference to 'nope'"),
        "{text}"
    );
    assert_eq!(bad.uncompiled(Purpose::Deletion), None);
}

#[test]
fn a_server_reads_lists_of_any_form_and_keeps_what_other_documents_give() {
    let item = |name: &str| policy(name).replace('\n', "\n  ").trim_end().to_string();
    let typed = format!(
        "apiVersion: kyverno.io/v1\nkind: ClusterPolicyList\nitems:\n- {}\n",
        item("a").replace("apiVersion: kyverno.io/v1\n  kind: ClusterPolicy\n  ", "")
    );
    for text in [
        format!("apiVersion: v1\nkind: List\nitems:\n- {}\n- {}\n", item("a"), item("b")),
        format!("- {}\n- {}\n", item("a"), item("b")),
        format!("{typed}---\n{}", policy("b")),
    ] {
        let found = server(&text);
        assert_eq!((names(&found), problems(&found)), (vec!["a", "b"], vec![]), "{text}");
    }
    // Objects that are no policies drop nothing else.
    let found = server(&format!("{CONFIG_MAP}---\n{}", policy("a")));
    assert_eq!(names(&found), ["a"]);
    assert_eq!(found.problems.iter().map(|p| (p.fatal, p.foreign)).collect::<Vec<_>>(), [(false, true)]);
}

#[test]
fn a_server_fails_closed_for_what_may_be_a_policy_unless_it_says_that_errors_are_ignored() {
    let wrong = policy("a").replace("spec:\n", "spec:\n  nope: 1\n");
    let ignoring = wrong.replace("spec:\n", "spec:\n  failurePolicy: Ignore\n");
    for (text, fail_closed) in [(&wrong, true), (&ignoring, false)] {
        let found = server(text);
        let [problem] = &found.problems[..] else { panic!("{:?}", found.problems) };
        assert_eq!((problem.fail_closed, problem.foreign), (fail_closed, false), "{text}");
        assert_eq!(problem.policy, Some(("ClusterPolicy".to_string(), "a".to_string())));
    }
    for (text, expected) in [
        ("3\n", "failed to parse document (a number is no object)"),
        ("apiVersion: v1\nkind: List\nitems: 3\n", "failed to parse document (items of List are no list)"),
    ] {
        assert_eq!(server(text).problems.first().map(|p| &*p.text), Some(expected), "{text}");
    }
}

#[test]
fn deprecated_versions_are_reported_with_their_file() {
    let old = "apiVersion: kyverno.io/v2beta1\nkind: ClusterCleanupPolicy\nmetadata: {name: c}\nspec: {schedule: '* * * * *', match: {any: [{resources: {kinds: [Pod]}}]}}\n";
    let found = command(old);
    assert_eq!(found.cleanups.len(), 1, "{:?}", found.problems);
    assert!(found.deprecations[0].starts_with("Warning: 0.yaml: "), "{:?}", found.deprecations);
}

#[test]
fn rules_that_no_request_matches_are_found_at_their_line() {
    let rules =
        "- {name: good, match: {any: [{resources: {kinds: [Pod]}}]}, validate: {message: m, pattern: {a: b}}}
- name: lower
  match: {any: [{resources: {kinds: [pod]}}]}
  validate: {message: m, pattern: {a: b}}";
    let found = command(&format!("# first\n---\n{}", with_rules("a", rules)));
    let never = never_matching(&found.policies[0]);
    let text = "rule `lower` of `a` can never match: kinds are written with a capital letter, not as `pod`";
    assert_eq!(never, [(10, text.to_string())]);
}

#[test]
fn problems_print_their_place() {
    let mut problem = Problem {
        source: "f.yaml".into(),
        line: 3,
        column: None,
        text: "wrong".into(),
        fatal: false,
        foreign: false,
        fail_closed: true,
        policy: None,
    };
    assert_eq!(problem.to_string(), "f.yaml:3: wrong");
    problem.column = Some(5);
    assert_eq!(problem.to_string(), "f.yaml:3:5: wrong");
}

#[test]
fn a_server_knows_which_targets_of_generate_rules_have_namespaces() {
    let refused = |reader, target: &str| {
        let rule = format!(
            "- {{name: r, match: {{any: [{{resources: {{kinds: [Secret]}}}}]}}, generate: {{{target}, name: a, data: {{}}}}}}"
        );
        load(reader, &[&with_rules("a", &rule)]).policies.iter().find_map(|p| p.refused.clone())
    };
    let role = "apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRole";
    let own = "apiVersion: aws.example.com/v1, kind: Role";
    let map = "apiVersion: v1, kind: ConfigMap";
    let missing =
        "spec.rules[0].namespace: Forbidden: target namespace must be set for a namespaced resource";
    for target in [role, own, map] {
        assert_eq!(refused(Reader::Command, target).as_deref(), Some(missing), "{target}");
    }
    assert_eq!(refused(Reader::Server(Release::default()), role), None);
    assert_eq!(refused(Reader::Server(Release::default()), own), None);
    assert_eq!(refused(Reader::Server(Release::default()), map).as_deref(), Some(missing));
    assert_eq!(
        refused(Reader::Server(Release::default()), &format!("{role}, namespace: b")).as_deref(),
        Some(
            "spec.rules[0].namespace: Forbidden: target namespace must not be set for a cluster-wide resource"
        )
    );
}

#[test]
fn policies_of_our_own_groups_are_kyvernos_and_not_deprecated() {
    let own = |text: &str| text.replace("kyverno.io/", "ephor.dev/");
    let cel = "apiVersion: policies.kyverno.io/v1\nkind: ValidatingPolicy\nmetadata: {name: v}\nspec: {matchConstraints: {resourceRules: [{apiGroups: [''], apiVersions: [v1], operations: [CREATE], resources: [pods]}]}, validations: [{expression: 'true'}]}\n";
    let exception = "apiVersion: kyverno.io/v2\nkind: PolicyException\nmetadata: {name: e, namespace: shop}\nspec: {exceptions: [{policyName: p, ruleNames: [r]}], match: {any: [{resources: {kinds: [Pod]}}]}}\n";
    let cleanup = "apiVersion: kyverno.io/v2\nkind: ClusterCleanupPolicy\nmetadata: {name: c}\nspec: {schedule: '* * * * *', match: {any: [{resources: {kinds: [Pod]}}]}}\n";
    let all = [&policy("p"), cel, exception, cleanup].join("---\n");
    assert!(own(&all).contains("policies.ephor.dev/v1"));
    for reader in [Reader::Command, Reader::Server(Release::default())] {
        let (kyverno, own) = (load(reader, &[&all]), load(reader, &[&own(&all)]));
        assert_eq!(problems(&own), Vec::<String>::new());
        assert_eq!(names(&own), ["p", "v"]);
        assert_eq!((own.exceptions.len(), own.cleanups.len()), (1, 1));
        let lowered = |of: &Policies| -> Vec<_> { of.policies.iter().map(|p| p.policy.clone()).collect() };
        assert_eq!(lowered(&own), lowered(&kyverno));
        assert!(!kyverno.deprecations.is_empty());
        assert_eq!(own.deprecations, Vec::<String>::new());
    }
    let listed = format!(
        "apiVersion: v1\nkind: List\nitems:\n- {}",
        own(&policy("p")).trim_end().replace('\n', "\n  ")
    );
    assert_eq!(names(&command(&listed)), ["p"]);
    assert_eq!(names(&server(&listed)), ["p"]);
}

#[test]
fn what_says_something_of_policies_as_a_whole_names_all_that_may_be_one() {
    let is_named = |text: &str| {
        let found = load(Reader::Scan, &[&policy("p"), text]);
        assert!(
            found.policies.iter().any(|one| one.name == "p") || found.problems.iter().any(|one| one.fatal)
        );
        found.problems.iter().any(|problem| !problem.foreign)
    };
    let own = policy("q");
    for text in [
        own.replace("kind: ClusterPolicy", "kind: ClusterPolicyy"),
        own.replace("kyverno.io/v1", "kyverno.io/v3"),
        format!("{own}  rules: ["),
        "apiVersion: policies.kyverno.io/v9\nkind: ValidatingPolicy\nmetadata: {name: v}".to_string(),
        "apiVersion: v1\nkind: List\nitems: [{apiVersion: kyverno.io/v1, kind: ClusterPolicyy, metadata: {name: q}}]".into(),
        "apiVersion: v1\nkind: List\nitems: [{apiVersion: kyverno.io/v1, kind: ClusterPolicy, metadata: {name: q}".into(),
    ] {
        assert!(is_named(&text), "{text}");
    }
    for text in [
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: x}\ndata: {a: b}",
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: {{ .Release.Name }}}",
        "apiVersion: kyverno.io/v2alpha1\nkind: GlobalContextEntry\nmetadata: {name: x}\nspec: {apiCall: {urlPath: /api}}",
        "resources: [p.yaml]",
        "- a",
    ] {
        assert!(!is_named(text), "{text}");
    }
}

#[test]
fn policies_in_lists_know_their_places_for_each_reader() {
    let item = policy("p").trim_end().replace('\n', "\n  ");
    let list = format!(
        "apiVersion: v1\nkind: List\nitems:\n- apiVersion: v1\n  kind: List\n  items: []\n- {item}\n"
    );
    for reader in [Reader::Command, Reader::Server(Release::default()), Reader::Scan] {
        let found = load(reader, &[&list]);
        let prefix = ephor_value::place::dotted(&found.policies[0].prefix);
        assert_eq!(prefix, "items[1]", "{reader:?}");
    }
}
