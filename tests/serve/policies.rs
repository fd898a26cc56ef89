//! Policies that cannot be used: what is refused, and what is reported.

use std::path::Path;

use serde_json::json;

use crate::server::{Server, get, post, refusing, review, start, until};

const VALIDATING: &str = "apiVersion: admissionregistration.k8s.io/v1\nkind: ValidatingAdmissionPolicy\nmetadata: {name: v}\nspec:\n  matchConstraints: {resourceRules: [{apiGroups: [''], apiVersions: [v1], operations: [CREATE], resources: [pods]}]}\n  validations: [{expression: 'false', message: never}]\n";
const BINDING: &str = "apiVersion: admissionregistration.k8s.io/v1\nkind: ValidatingAdmissionPolicyBinding\nmetadata: {name: b}\nspec: {policyName: v, validationActions: [Deny]}\n";

fn folder(text: &str) -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("a.yaml"), text).unwrap();
    dir
}

fn allows(server: &Server) -> bool {
    post(server, "/validate", &review("u", "nginx:latest"))["allowed"] == true
}

/// `/readyz` reports that the server is not ready because of a line of the file, and requests are
/// refused.
fn assert_fails_closed(text: &str, expected: &str) {
    let dir = folder(text);
    let server = start(dir.path(), &[]);
    let ready = get(&server, "/readyz");
    assert!(ready.status == 500 && ready.body.contains("a.yaml:"), "{text}\n{}", ready.body);
    assert!(ready.body.contains(expected), "{expected}: {}", ready.body);
    assert!(!get(&server, "/metrics").body.contains("ephor_policy_problems 0"));
    assert!(!allows(&server), "{text}");
}

#[test]
fn bindings_and_policies_that_an_api_server_refuses_fail_closed() {
    for (from, to, expected) in [
        ("[Deny]", "[deny]", "spec.validationActions[0]: Unsupported value: \"deny\""),
        ("[Deny]", "[Foo]", "spec.validationActions[0]: Unsupported value"),
        ("[Deny]", "[]", "spec.validationActions: Required value"),
        (", validationActions: [Deny]", "", "spec.validationActions: Required value"),
        ("policyName: v, ", "", "spec.policyName: Required value"),
        ("policyName: v,", "policyName: '',", "spec.policyName: Required value"),
        ("spec: {policyName: v, validationActions: [Deny]}\n", "", "spec.policyName: Required value"),
        (
            "[Deny]",
            "[Deny], matchResources: {objectSelector: {matchExpressions: [{key: a, operator: Foo}]}}",
            "not a valid selector operator",
        ),
        (
            "[Deny]",
            "[Deny], matchResources: {resourceRules: [{resources: [pods]}]}",
            "apiVersions: Required value",
        ),
        ("[Deny]", "[Deny], paramRef: {name: a}", "spec.paramRef.parameterNotFoundAction: Required value"),
        ("[CREATE]", "[Create]", "operations[0]: Unsupported value: \"Create\""),
        ("operations: [CREATE], ", "", "operations: Required value"),
        ("resources: [pods]", "resources: [pods], scope: Foo", "scope: Unsupported value: \"Foo\""),
        ("  validations: [{expression: 'false', message: never}]\n", "", "spec.validations"),
        (
            "  validations",
            "  matchConditions: [{expression: 'true'}]\n  validations",
            "matchConditions[0].name",
        ),
        ("'false'", "'flase'", "undeclared reference to 'flase'"),
    ] {
        let text = format!("{VALIDATING}---\n{BINDING}");
        assert!(text.contains(from), "{from}");
        assert_fails_closed(&text.replace(from, to), expected);
    }
}

#[test]
fn a_policy_that_cannot_be_used_and_ignores_errors_is_reported_and_left_out() {
    let invalid =
        VALIDATING.replace("[CREATE]", "[Create]").replace("spec:\n", "spec:\n  failurePolicy: Ignore\n");
    let dir = folder(&format!("{}---\n{invalid}", refusing("latest")));
    let server = start(dir.path(), &[]);
    let ready = get(&server, "/readyz");
    assert!(ready.status == 200 && ready.body.contains("operations[0]: Unsupported value"), "{}", ready.body);
    assert!(!allows(&server));
    assert_eq!(post(&server, "/validate", &review("u", "nginx:1"))["allowed"], true);
}

#[test]
fn a_binding_without_its_policy_and_a_policy_without_binding_are_noticed() {
    let dir = folder(&BINDING.replace("policyName: v", "policyName: other"));
    std::fs::write(dir.path().join("b.yaml"), VALIDATING).unwrap();
    let server = start(dir.path(), &[]);
    let ready = get(&server, "/readyz");
    assert_eq!(ready.status, 200);
    assert!(ready.body.contains("notice: ValidatingAdmissionPolicyBinding b: there is no"), "{}", ready.body);
    assert!(ready.body.contains("b.yaml:1: ValidatingAdmissionPolicy v: no binding"), "{}", ready.body);
    assert!(get(&server, "/metrics").body.contains("ephor_policy_problems 0"));
}

#[test]
fn an_edit_that_an_api_server_refuses_leaves_the_last_binding_in_use() {
    let dir = folder(&format!("{VALIDATING}---\n{BINDING}"));
    let server = start(dir.path(), &[]);
    assert!(!allows(&server));
    std::fs::write(
        dir.path().join("a.yaml"),
        format!("{VALIDATING}---\n{BINDING}").replace("[Deny]", "[deny]"),
    )
    .unwrap();
    until("it is reported", || get(&server, "/readyz").body, |b| b.contains("validationActions[0]"));
    assert!(!allows(&server));
}

#[test]
fn documents_that_may_be_policies_and_cannot_be_read_fail_closed() {
    let policy = refusing("latest");
    let review = "apiVersion: policies.kyverno.io/v1\nkind: ValidatingPolicy\nmetadata: {name: v}\nspec: {validations: [{expression: 'false'}]}\n";
    let of = |from: &str, to: &str| policy.replace(from, to);
    for text in [
        of("kyverno.io/v1", "kyverno.io/v2"),
        of("kyverno.io/v1", "kyverno.io/v1alpha2"),
        of("kyverno.io/v1", "kyverno.io"),
        of("kyverno.io/v1", "Kyverno.io/v1"),
        of("kyverno.io/v1", "policies.kyverno.io/v1"),
        of("ClusterPolicy", "clusterpolicy"),
        of("ClusterPolicy", "ClusterPolicyy"),
        of("kind: ClusterPolicy\n", ""),
        of("apiVersion: kyverno.io/v1\n", ""),
        review.replace("policies.kyverno.io/v1", "kyverno.io/v1"),
        review.replace("policies.kyverno.io/v1", "policies.kyverno.io/v2"),
        VALIDATING.replace("k8s.io/v1", "k8s.io/v2"),
        BINDING.replace("k8s.io/v1", "k8s.io/v9"),
        "apiVersion: kyverno.io/v1\nkind: ClusterPolicyList\nitems: {a: b}\n".into(),
        "apiVersi".into(),
    ] {
        assert_fails_closed(&text, "");
    }
}

#[test]
fn lists_of_policies_are_read_and_other_objects_are_left_out() {
    let policy = json!({"apiVersion": "kyverno.io/v1", "kind": "ClusterPolicy", "metadata": {"name": "p"}, "spec": {"rules": [{
        "name": "r", "match": {"any": [{"resources": {"kinds": ["Pod"]}}]},
        "validate": {"failureAction": "Enforce", "message": "m", "deny": {}}}]}});
    let mut untyped = policy.clone();
    untyped.as_object_mut().unwrap().retain(|k, _| k != "kind" && k != "apiVersion");
    let list = |item: &serde_json::Value| json!({"apiVersion": "v1", "kind": "List", "items": [item]});
    for text in [
        list(&policy).to_string(),
        list(&list(&policy)).to_string(),
        json!([policy]).to_string(),
        json!({"apiVersion": "kyverno.io/v1", "kind": "ClusterPolicyList", "items": [untyped]}).to_string(),
        format!("apiVersion: apps/v1\nkind: Deployment\nmetadata: {{name: d}}\n---\na: b\n---\n{policy}"),
    ] {
        let dir = folder(&text);
        let server = start(dir.path(), &[]);
        let ready = get(&server, "/readyz");
        assert!(ready.status == 200 && ready.body.starts_with("policies 1 "), "{text}\n{}", ready.body);
        assert!(get(&server, "/metrics").body.contains("ephor_policy_problems 0"), "{}", ready.body);
        assert!(!allows(&server), "{text}");
    }
}

#[test]
fn emptied_files_and_folders_keep_their_policies_in_use() {
    let dir = tempfile::tempdir().unwrap();
    let policies = dir.path().join("policies");
    std::fs::create_dir(&policies).unwrap();
    let file = policies.join("a.yaml");
    std::fs::write(&file, refusing("latest")).unwrap();
    let server = start(&policies, &[]);
    let assert_in_use = |what: &str| {
        let ready = until(what, || get(&server, "/readyz"), |r| r.body.contains("stays in use"));
        assert_eq!(ready.status, 200);
        assert!(!allows(&server), "{what}");
    };
    std::fs::write(&file, "").unwrap();
    assert_in_use("the file is empty");
    std::fs::write(&file, refusing("latest")).unwrap();
    until("it is solved", || get(&server, "/readyz").body, |b| !b.contains("in use"));
    std::fs::remove_dir_all(&policies).unwrap();
    std::fs::create_dir(&policies).unwrap();
    assert_in_use("the folder is another one, and empty");
    let metrics = get(&server, "/metrics").body;
    assert!(metrics.contains("ephor_policy_problems 1"), "{metrics}");
}

#[cfg(unix)]
#[test]
fn a_fifo_among_the_policies_is_reported_and_keeps_nothing_waiting() {
    let dir = folder(&refusing("latest"));
    let make =
        |path: &Path| assert!(std::process::Command::new("mkfifo").arg(path).status().unwrap().success());
    make(&dir.path().join("b.yaml"));
    let server = start(dir.path(), &[]);
    let ready = get(&server, "/readyz");
    assert!(ready.status == 500 && ready.body.contains("b.yaml: a FIFO"), "{}", ready.body);
    assert!(!allows(&server));
    std::fs::remove_file(dir.path().join("b.yaml")).unwrap();
    until("it is gone", || get(&server, "/readyz"), |r| r.status == 200);
    // In a running server it is a file that is not in use.
    make(&dir.path().join("c.yaml"));
    let ready = until("it is reported", || get(&server, "/readyz"), |r| r.body.contains("a FIFO"));
    assert_eq!(ready.status, 200);
    assert_eq!(post(&server, "/validate", &review("u", "nginx:1"))["allowed"], true);
    std::fs::write(dir.path().join("d.yaml"), refusing("dev")).unwrap();
    until(
        "later files are read",
        || post(&server, "/validate", &review("u", "nginx:dev"))["allowed"] == false,
        |refused| *refused,
    );
}

#[test]
fn requests_are_refused_while_there_are_fewer_policies_than_required() {
    let dir = folder(&refusing("latest"));
    let server = start(dir.path(), &["--require-policies", "2"]);
    let ready = get(&server, "/readyz");
    assert!(
        ready.status == 500 && ready.body.contains("1 policies can be evaluated, 2 are required"),
        "{}",
        ready.body
    );
    let response = post(&server, "/validate", &review("u", "nginx:1"));
    assert_eq!(response["allowed"], false);
    assert_eq!(response["status"]["message"], "1 policies can be evaluated, 2 are required");
    std::fs::write(dir.path().join("b.yaml"), refusing("dev")).unwrap();
    until("there are two", || get(&server, "/readyz"), |r| r.status == 200);
    assert_eq!(post(&server, "/validate", &review("u", "nginx:1"))["allowed"], true);
}

#[test]
fn paths_that_name_policies_which_are_not_known_are_refused() {
    let of = |name: &str, more: &str| {
        format!(
            "apiVersion: policies.kyverno.io/v1\nkind: ValidatingPolicy\nmetadata: {{name: {name}}}\nspec:\n  failurePolicy: Ignore\n  matchConstraints: {{resourceRules: [{{apiGroups: [''], apiVersions: [v1], operations: [CREATE], resources: [pods]}}]}}\n  validations: [{{expression: '{more}'}}]\n"
        )
    };
    let dir = folder(&of("good", "true"));
    std::fs::write(dir.path().join("b.yaml"), of("broken", "nonsense +")).unwrap();
    let server = start(dir.path(), &[]);
    assert_eq!(get(&server, "/readyz").status, 200);
    let evaluate = |path: &str| post(&server, path, &review("u", "nginx:1"));
    for path in ["/vpol/good", "/vpol/good/broken", "/vpol/broken"] {
        assert_eq!(evaluate(path)["allowed"], true, "{path}");
    }
    for path in [
        "/vpol/gone",
        "/vpol/good/gone",
        "/mpol/good",
        "/nvpol/good",
        "/ivpol/validate/good",
        "/gpol/good",
        "/vpol",
    ] {
        let response = evaluate(path);
        assert_eq!(response["allowed"], false, "{path}");
        assert!(response["status"]["message"].as_str().unwrap().starts_with("the path names "), "{response}");
    }
    let ready = get(&server, "/readyz").body;
    assert!(
        ready.contains("/vpol/good/gone: the path names a ValidatingPolicy that is not known: gone"),
        "{ready}"
    );
    let metrics = get(&server, "/metrics").body;
    assert!(metrics.contains("ephor_reviews_refused_total{reason=\"unknown_policy\"} 7"), "{metrics}");
    assert!(!metrics.contains("gone"), "a label that a client chose: {metrics}");
}

/// A static manifest of the policy and the binding.
fn static_manifest(binding: &str) -> String {
    format!("{VALIDATING}---\n{binding}")
        .replace("name: v}", "name: v.static.k8s.io}")
        .replace("name: b}", "name: b.static.k8s.io}")
        .replace("policyName: v,", "policyName: v.static.k8s.io,")
}

#[test]
fn static_manifests_are_enforced_and_stay_in_use_when_a_change_has_a_mistake() {
    let (none, dir) = (tempfile::tempdir().unwrap(), folder(&static_manifest(BINDING)));
    let server = start(none.path(), &["--static", dir.path().to_str().unwrap()]);
    assert_eq!(get(&server, "/readyz").status, 200);
    assert!(!allows(&server));
    let refused = post(&server, "/validate", &review("u", "nginx:1"))["status"]["message"].clone();
    let text =
        "ValidatingAdmissionPolicy 'v.static.k8s.io' with binding 'b.static.k8s.io' denied request: never";
    assert!(refused.as_str().is_some_and(|message| message.contains(text)), "{refused}");
    std::fs::write(dir.path().join("b.yaml"), VALIDATING).unwrap();
    let problem = |server: &Server| get(server, "/metrics").body.contains("ephor_policy_problems 1");
    until("the mistake is reported", || problem(&server), |is| *is);
    assert!(!allows(&server), "what was in use stays");
    std::fs::remove_file(dir.path().join("b.yaml")).unwrap();
    std::fs::write(dir.path().join("a.yaml"), static_manifest("")).unwrap();
    until("the binding is removed", || allows(&server), |is| *is);
}

#[test]
fn no_server_starts_with_a_mistake_in_a_static_manifest() {
    let param = BINDING.replace("[Deny]", "[Deny], paramRef: {name: a, parameterNotFoundAction: Deny}");
    let manifest = static_manifest(&param);
    let dir = folder(&manifest);
    let path = dir.path().to_str().unwrap();
    for more in [&["--check"][..], &[]] {
        let out = std::process::Command::new(env!("CARGO_BIN_EXE_ephor"))
            .args([
                "serve",
                "--static",
                path,
                "--plain-http",
                "--listen",
                "127.0.0.1:0",
                "--metrics-listen",
                "none",
            ])
            .args(more)
            .output()
            .unwrap();
        let error = String::from_utf8_lossy(&out.stderr).into_owned();
        assert_eq!(out.status.code(), Some(2), "{error}");
        let place = "a.yaml:11:74: `spec.paramRef` is not supported in static manifests; leave it out";
        assert!(error.contains(place), "{error}");
    }
}
