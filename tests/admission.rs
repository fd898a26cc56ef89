//! What the API server says of policies and bindings that it refuses.
#![allow(clippy::unwrap_used)]

use ephor_api::admission::{check, defaulted};
use ephor_document::{Duplicates, parse_stream};
use ephor_lower::admission::{Judge, warnings};
use ephor_value::Value;
use ephor_value::release::Release;

const VALIDATING: &str = "\
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {name: p}
spec:
  failurePolicy: Fail
  matchConstraints: {resourceRules: [{apiGroups: [apps], apiVersions: [v1], operations: [CREATE], resources: [deployments]}]}
  validations: [{expression: 'object.spec.replicas > 1', reason: Invalid}]
  auditAnnotations: [{key: k, valueExpression: \"'v'\"}]
";

const MUTATING: &str = "\
apiVersion: admissionregistration.k8s.io/v1
kind: MutatingAdmissionPolicy
metadata: {name: p}
spec:
  reinvocationPolicy: Never
  matchConstraints: {resourceRules: [{apiGroups: [''], apiVersions: [v1], operations: [CREATE], resources: [pods]}]}
  mutations: [{patchType: JSONPatch, jsonPatch: {expression: \"[JSONPatch{op: 'remove', path: '/a'}]\"}}]
";

const BINDING: &str = "\
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata: {name: b}
spec:
  policyName: p
  validationActions: [Deny]
  paramRef: {name: x, parameterNotFoundAction: Deny}
";

fn document(text: &str) -> Value {
    parse_stream("-", text, Duplicates::Error).unwrap().remove(0).unwrap().value
}

/// The answer to an object: the message of the refusal.
fn answer(text: &str) -> Option<String> {
    let object = defaulted(&document(text));
    check(&object, &mut Judge::new(&object, Release::default()))
        .err()
        .map(|refusal| refusal.message.to_string())
}

#[test]
fn each_mistake_has_the_api_servers_words() {
    let same = (answer(VALIDATING), answer(MUTATING), answer(BINDING));
    assert_eq!(same, (None, None, None));
    let validating = [
        (
            "failurePolicy: Fail",
            "failurePolicy: Never",
            "spec.failurePolicy: Unsupported value: \"Never\": supported values: \"Fail\", \"Ignore\"",
        ),
        (
            "operations: [CREATE]",
            "operations: ['*', CREATE]",
            "spec.matchConstraints.resourceRules[0].operations: Invalid value: [\"*\",\"CREATE\"]: if '*' is present, must not specify other operations",
        ),
        (
            "resources: [deployments]",
            "resources: []",
            "spec.matchConstraints.resourceRules[0].resources: Required value",
        ),
        (
            "'object.spec.replicas > 1'",
            "' '",
            "spec.validations[0].expression: Required value: expression is not specified",
        ),
        (
            "'object.spec.replicas > 1'",
            "'object.spec'",
            "spec.validations[0].expression: Invalid value: \"object.spec\": must evaluate to bool but got dyn",
        ),
        (
            "'object.spec.replicas > 1'",
            "'nope'",
            "spec.validations[0].expression: Invalid value: \"nope\": compilation failed: ERROR: <input>:1:1: undeclared reference to 'nope' (in container '')\n | nope\n | ^",
        ),
        (
            "reason: Invalid",
            "reason: Unauthorized",
            "spec.validations[0].reason: Unsupported value: \"Unauthorized\": supported values: \"Forbidden\", \"Invalid\", \"RequestEntityTooLarge\"",
        ),
        (
            "key: k,",
            "key: 'a b',",
            "spec.auditAnnotations[0].key: Invalid value: \"p/a b\": name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')",
        ),
        (
            "\"'v'\"",
            "'1'",
            "spec.auditAnnotations[0].valueExpression: Invalid value: \"1\": must evaluate to one of [string null_type] but got int",
        ),
    ];
    let mutating = [
        ("reinvocationPolicy: Never", "failurePolicy: Fail", "spec.reinvocationPolicy: Required value"),
        (
            "operations: [CREATE]",
            "operations: [DELETE]",
            "spec.matchConstraints.resourceRules.operations: Unsupported value: \"DELETE\": supported values: \"*\", \"CONNECT\", \"CREATE\", \"UPDATE\"",
        ),
        (
            "patchType: JSONPatch",
            "patchType: Merge",
            "spec.mutations[0].patchType: Unsupported value: \"Merge\": supported values: \"ApplyConfiguration\", \"JSONPatch\"",
        ),
        (
            "JSONPatch{op: 'remove', path: '/a'}",
            "1",
            "spec.mutations[0].jsonPatch.expression: Invalid value: \"[1]\": must evaluate to list(JSONPatch) but got list(int)",
        ),
    ];
    let binding = [
        ("policyName: p", "policyName: ''", "spec.policyName: Required value"),
        (
            "[Deny]",
            "[Deny, Warn]",
            "spec.validationActions: Invalid value: [\"Deny\",\"Warn\"]: must not contain both Deny and Warn (repeating the same validation failure information in the API response and headers serves no purpose)",
        ),
        ("{name: x, ", "{", "spec.paramRef: Required value: one of name or selector must be specified"),
        (", parameterNotFoundAction: Deny", "", "spec.paramRef.parameterNotFoundAction: Required value"),
    ];
    let invalid = |kind: &str, name: &str, why: &str| {
        format!("{kind}.admissionregistration.k8s.io \"{name}\" is invalid: {why}")
    };
    for (text, kind, name, mistakes) in [
        (VALIDATING, "ValidatingAdmissionPolicy", "p", &validating[..]),
        (MUTATING, "MutatingAdmissionPolicy", "p", &mutating[..]),
        (BINDING, "ValidatingAdmissionPolicyBinding", "b", &binding[..]),
    ] {
        for (from, to, why) in mistakes {
            assert!(text.contains(from), "{from}");
            assert_eq!(answer(&text.replace(from, to)), Some(invalid(kind, name, why)));
        }
    }
}

#[test]
fn values_of_the_wrong_type_are_not_read() {
    let text = "ValidatingAdmissionPolicy in version \"v1\" cannot be handled as a ValidatingAdmissionPolicy: json: cannot unmarshal number into Go struct field Validation.spec.validations.expression of type string";
    assert_eq!(answer(&VALIDATING.replace("'object.spec.replicas > 1'", "1")).as_deref(), Some(text));
}

#[test]
fn expressions_are_checked_with_the_types_of_the_kinds() {
    let policy = VALIDATING.replace("'object.spec.replicas > 1'", "'object.spec.replicaz > 1'");
    let found = warnings(&defaulted(&document(&policy)), &[], Release::default());
    assert_eq!(found.len(), 1);
    assert_eq!(found[0].field, "spec.validations[0].expression");
    let text = "apps/v1, Kind=Deployment: ERROR: <input>:1:12: undefined field 'replicaz'\n | object.spec.replicaz > 1\n | ...........^\n";
    assert_eq!(found[0].text, text);
    assert_eq!(warnings(&defaulted(&document(VALIDATING)), &[], Release::default()), []);
}
