use super::*;

const POLICY: &str = "apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata:
  name: p.static.k8s.io
spec:
  matchConstraints:
    resourceRules: [{apiGroups: [''], apiVersions: [v1], operations: [CREATE], resources: [configmaps]}]
  validations:
  - expression: object.metadata.name != 'bad'
";
const BINDING: &str = "apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata:
  name: b.static.k8s.io
spec:
  policyName: p.static.k8s.io
  validationActions: [Deny]
";
const MUTATING: &str = "apiVersion: admissionregistration.k8s.io/v1
kind: MutatingAdmissionPolicy
metadata:
  name: m.static.k8s.io
spec:
  matchConstraints:
    resourceRules: [{apiGroups: [''], apiVersions: [v1], operations: [CREATE], resources: [configmaps]}]
  reinvocationPolicy: Never
  mutations:
  - patchType: ApplyConfiguration
    applyConfiguration: {expression: 'Object{}'}
";
const BOUND: &str = "apiVersion: admissionregistration.k8s.io/v1
kind: MutatingAdmissionPolicyBinding
metadata:
  name: m.static.k8s.io
spec:
  policyName: m.static.k8s.io
";

fn folder(path: &str, texts: &[&str]) -> ManifestFolder {
    let text = |(at, text): (u8, &&str)| SourceText {
        name: format!("{path}/{}.yaml", char::from(b'a' + at)),
        text: (*text).into(),
    };
    ManifestFolder { path: path.into(), texts: Ok((0..).zip(texts).map(text).collect()) }
}

fn loaded_of(texts: &[&str]) -> Result<Policies, ManifestError> {
    of_folders(&[folder("s", texts)], Release::V1_37)
}

/// What is wrong with manifests, with its place.
fn wrong(texts: &[&str]) -> String {
    loaded_of(texts).expect_err("a mistake").to_string()
}

/// The names of policies, each with those of its bindings.
fn bound(policies: &Policies) -> Vec<(String, Vec<String>)> {
    let of = |p: &LoadedPolicy| {
        let policy = p.policy.as_ref().expect("it is lowered");
        assert!(policy.is_static());
        let bound = policy.rules.first().and_then(|r| r.bound.clone()).expect("it is Kubernetes'");
        (p.name.clone(), bound.bindings.iter().map(|b| b.name.to_string()).collect())
    };
    policies.policies.iter().map(of).collect()
}

#[test]
fn a_policy_has_the_bindings_of_its_folder_in_any_file_and_order() {
    let two = BINDING.replace("b.static", "a.static");
    let found = loaded_of(&[BINDING, &format!("---\n{POLICY}---\n{two}")]).expect("right manifests");
    let names = ["a.static.k8s.io", "b.static.k8s.io"].map(String::from).to_vec();
    assert_eq!(bound(&found), [("p.static.k8s.io".to_string(), names)]);
    assert!(found.bindings.is_empty(), "bindings of the API bind no static policy");
}

#[test]
fn lists_of_all_forms_give_their_items() {
    let indented = |text: &str, by: &str| text.trim_end().replace('\n', &format!("\n{by}"));
    let v1 = format!(
        "apiVersion: v1\nkind: List\nitems:\n- {}\n- {}\n",
        indented(POLICY, "  "),
        indented(BINDING, "  ")
    );
    let untyped = POLICY.split_once("metadata").map(|(_, rest)| format!("metadata{rest}")).expect("metadata");
    let typed = format!(
        "apiVersion: admissionregistration.k8s.io/v1\nkind: ValidatingAdmissionPolicyList\nitems:\n- {}\n",
        indented(&untyped, "  ")
    );
    for texts in [vec![&*v1], vec![&typed, BINDING]] {
        let found = loaded_of(&texts).expect("right manifests");
        assert_eq!(bound(&found), [("p.static.k8s.io".to_string(), vec!["b.static.k8s.io".to_string()])]);
    }
    assert!(loaded_of(&["apiVersion: v1\nkind: List\nitems: []\n"]).expect("an empty list").is_empty());
    let nested = v1.replace("p.static.k8s.io\n    ", "p\n    ").replace("name: p.static.k8s.io", "name: p");
    assert_eq!(
        wrong(&[&nested]),
        "s/a.yaml:7:11: `p` is no name of a static manifest; names end in `.static.k8s.io`"
    );
}

#[test]
fn parameters_are_mistakes_with_their_places() {
    let policy = format!("{POLICY}  paramKind: {{apiVersion: v1, kind: ConfigMap}}\n");
    assert_eq!(
        wrong(&[&policy]),
        "s/a.yaml:10:14: `spec.paramKind` is not supported in static manifests; write the values into the expressions"
    );
    let binding =
        format!("{BINDING}  paramRef: {{name: x, namespace: default, parameterNotFoundAction: Deny}}\n");
    assert_eq!(
        wrong(&[&format!("{POLICY}---\n{binding}")]),
        "s/a.yaml:18:13: `spec.paramRef` is not supported in static manifests; leave it out"
    );
    let mutating = format!("{MUTATING}  paramKind: {{apiVersion: v1, kind: ConfigMap}}\n");
    assert!(wrong(&[&mutating]).starts_with("s/a.yaml:12:14: `spec.paramKind` is not supported"));
    let nulls = [format!("{POLICY}  paramKind: null\n"), format!("{BINDING}  paramRef: null\n")];
    assert!(loaded_of(&[&nulls[0], &nulls[1]]).is_ok(), "nothing is not a parameter");
}

#[test]
fn names_have_the_suffix_and_come_once_a_kind() {
    let named = |text: &str, from: &str, to: &str| text.replace(from, to);
    assert_eq!(
        wrong(&[&named(POLICY, "p.static.k8s.io", "p")]),
        "s/a.yaml:4:9: `p` is no name of a static manifest; names end in `.static.k8s.io`"
    );
    assert_eq!(
        wrong(&[POLICY, &named(BINDING, "b.static.k8s.io", "b")]),
        "s/b.yaml:4:9: `b` is no name of a static manifest; names end in `.static.k8s.io`"
    );
    assert_eq!(
        wrong(&[POLICY, BINDING, POLICY]),
        "s/c.yaml:4:9: `p.static.k8s.io` is the name of another ValidatingAdmissionPolicy, in s/a.yaml:1; write another name"
    );
    let same = named(BINDING, "b.static.k8s.io", "p.static.k8s.io");
    assert!(loaded_of(&[POLICY, &same]).is_ok(), "a policy and a binding may have one name");
}

#[test]
fn bindings_name_policies_of_their_folder() {
    let of = |policy: &str| BINDING.replace("policyName: p.static.k8s.io", &format!("policyName: {policy}"));
    assert_eq!(
        wrong(&[POLICY, &of("p")]),
        "s/b.yaml:6:15: `p` is no static policy; a static binding names one that ends in `.static.k8s.io`"
    );
    assert_eq!(
        wrong(&[POLICY, &of("q.static.k8s.io")]),
        "s/b.yaml:6:15: there is no ValidatingAdmissionPolicy `q.static.k8s.io` in the folder; a static binding names one of its own folder"
    );
}

#[test]
fn other_kinds_and_versions_are_mistakes() {
    for (text, problem) in [
        (
            "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a.static.k8s.io}\n",
            "s/a.yaml:2:7: `v1` `ConfigMap` is no static manifest; write policies and bindings of admissionregistration.k8s.io/v1",
        ),
        (
            "apiVersion: kyverno.io/v1\nkind: ClusterPolicy\nmetadata: {name: a.static.k8s.io}\n",
            "s/a.yaml:2:7: `kyverno.io/v1` `ClusterPolicy` is no static manifest; write policies and bindings of admissionregistration.k8s.io/v1",
        ),
        (
            &POLICY.replace("k8s.io/v1", "k8s.io/v1beta1"),
            "s/a.yaml:1:13: `admissionregistration.k8s.io/v1beta1` is not read from static manifests; write `admissionregistration.k8s.io/v1`",
        ),
        (
            &format!("{POLICY}---\n{MUTATING}"),
            "s/a.yaml:12:7: `MutatingAdmissionPolicy` is in a folder of ValidatingAdmissionPolicy; each plugin has a folder of its own",
        ),
        (
            "apiVersion: admissionregistration.k8s.io/v1\nkind: ValidatingWebhookConfiguration\n",
            "s/a.yaml:2:7: `ValidatingWebhookConfiguration` is a manifest of the webhook plugins, which `serve` does not have; give it the folders of policies only",
        ),
    ] {
        assert_eq!(wrong(&[text]), problem);
    }
}

#[test]
fn what_is_no_object_is_a_mistake_and_so_is_a_comment_between_separators() {
    for text in ["hello\n", "a: b\n", "- a\n", "null\n", "# nothing\n", "# nothing\n---\n"] {
        assert!(wrong(&[text]).starts_with("s/a.yaml:1:1: no object with `apiVersion` and `kind`"), "{text}");
    }
    assert!(
        wrong(&[&format!("{POLICY}---\n# nothing\n---\n{BINDING}")]).starts_with("s/a.yaml:11:1: no object")
    );
    assert!(wrong(&["a: [b\n"]).starts_with("s/a.yaml:1:1: yaml: line 1"));
    for text in ["", "\n---\n\n---\n", &format!("# a comment\n{POLICY}"), &format!("---\n# one\n{POLICY}")] {
        assert!(loaded_of(&[text]).is_ok(), "{text}");
    }
}

#[test]
fn fields_are_read_strictly_and_checked_like_those_of_the_api() {
    assert_eq!(
        wrong(&[&format!("{POLICY}  foo: 1\n")]),
        "s/a.yaml:10:3: unknown field `spec.foo`; static manifests are read strictly"
    );
    let twice = wrong(&[&format!("{POLICY}  failurePolicy: Fail\n  failurePolicy: Ignore\n")]);
    assert!(twice.starts_with("s/a.yaml:") && twice.contains("failurePolicy"), "{twice}");
    let cel = POLICY.replace("object.metadata.name != 'bad'", "object.metadata.nam(");
    let cel = wrong(&[&cel]);
    assert!(cel.starts_with("s/a.yaml:9:17: ") && cel.contains("compilation failed"), "{cel}");
    let new = wrong(&[&POLICY.replace("object.metadata.name != 'bad'", "'[1].includes(1)'")]);
    assert!(new.contains("undeclared reference to 'includes'"), "{new}");
    let without = BINDING.replace("  validationActions: [Deny]\n", "");
    let without = wrong(&[POLICY, &without]);
    assert!(without.contains("at least one validation action is required"), "{without}");
}

#[test]
fn a_server_has_one_folder_of_each_plugin() {
    let folders = |texts: [&[&str]; 2]| [folder("s", texts[0]), folder("t", texts[1])];
    let both = folders([&[POLICY, BINDING], &[MUTATING, BOUND]]);
    assert_eq!(of_folders(&both, Release::V1_37).expect("right manifests").policies.len(), 2);
    let other = POLICY.replace("p.static", "q.static");
    let error = of_folders(&folders([&[POLICY], &[&other]]), Release::V1_37).expect_err("two of one plugin");
    assert_eq!(
        error.to_string(),
        "t: holds manifests of ValidatingAdmissionPolicy, as s does; a server has one folder of each"
    );
}

#[test]
fn a_folder_that_is_not_there_is_named() {
    let missing = [ManifestFolder::read("missing/folder".into())];
    let error = of_folders(&missing, Release::V1_37).expect_err("it is not there");
    assert!(error.to_string().starts_with("missing/folder: no such file or directory; "), "{error}");
}
