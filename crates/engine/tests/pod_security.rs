//! Pod Security rules on pods and controllers.

#![allow(clippy::unwrap_used)]

use ephor_engine::pod_security::{report, rule};
use ephor_engine::request::Parts;
use ephor_engine::{Profile, Request, RuleOutcome};
use ephor_ir::Exception;
use ephor_ir::check::PodSecurity;
use ephor_value::Value;

/// The result of a rule on an object written as JSON.
fn judged_with(level: &str, exclude: &str, object: &str, exceptions: &[Value]) -> Option<RuleOutcome> {
    let check =
        PodSecurity { level: level.into(), version: "latest".into(), exclude: json(exclude), only: None };
    let policy = json(
        r#"{"kind":"ClusterPolicy","metadata":{"name":"p"},"spec":{"rules":[
            {"name":"r","match":{"resources":{"kinds":["Pod"]}},"validate":{"podSecurity":{"level":"baseline"}}}]}}"#,
    );
    let policy = ephor_lower::policy::policy(&policy);
    let exceptions: Vec<Exception> = exceptions.iter().map(ephor_lower::policy::exception).collect();
    let parts = Parts { object: json(object), details: true, ..Parts::default() };
    let request = Request::new(parts, Profile::cluster(), &ephor_functions::Context::default()).unwrap();
    rule(&check, policy.rules.first().unwrap(), &request, &exceptions.iter().collect::<Vec<_>>())
}

fn json(text: &str) -> Value {
    ephor_document::json::parse(text).unwrap()
}

fn judged(level: &str, exclude: &str, object: &str) -> String {
    let outcome = judged_with(level, exclude, object, &[]).unwrap();
    let head = format!("Validation rule 'r' failed. It violates PodSecurity \"{level}:latest\": ");
    outcome.message.replace(&head, "")
}

fn pod(spec: &str) -> String {
    format!(r#"{{"kind":"Pod","metadata":{{"name":"x"}},"spec":{spec}}}"#)
}

const TWO_AS_ROOT: &str = r#"{"securityContext":{"runAsNonRoot":true},"containers":[
    {"name":"a","image":"one/a:1","securityContext":{"privileged":true}},
    {"name":"b","image":"two/b:1","securityContext":{"privileged":true}}]}"#;

#[test]
fn passes_a_pod_without_settings_at_baseline() {
    let object = pod(r#"{"containers":[{"name":"a","image":"a"}]}"#);
    assert_eq!(judged("baseline", "[]", &object), "Validation rule 'r' passed.");
}

#[test]
fn shows_the_path_of_the_field_in_a_controller() {
    let spec = r#"{"hostPID":true}"#;
    for (object, path) in [
        (format!(r#"{{"kind":"Job","spec":{{"template":{{"spec":{spec}}}}}}}"#), "spec.template.spec"),
        (
            format!(
                r#"{{"kind":"CronJob","spec":{{"jobTemplate":{{"spec":{{"template":{{"spec":{spec}}}}}}}}}}}"#
            ),
            "spec.jobTemplate.spec.template.spec",
        ),
    ] {
        let want = format!(
            "(Forbidden reason: host namespaces, field error list: [{path}.hostPID is forbidden, forbidden values found: true])"
        );
        assert_eq!(judged("baseline", "[]", &object), want);
    }
}

#[test]
fn excludes_only_the_containers_whose_image_is_named() {
    let exclude = r#"[{"controlName":"Privileged Containers","images":["one/*"]}]"#;
    let message = judged("baseline", exclude, &pod(TWO_AS_ROOT));
    assert!(message.contains("spec.containers[1].securityContext.privileged"), "{message}");
    assert!(!message.contains("spec.containers[0]"), "{message}");
    let both = r#"[{"controlName":"Privileged Containers","images":["one/*","two/*"]}]"#;
    assert_eq!(judged("baseline", both, &pod(TWO_AS_ROOT)), "Validation rule 'r' passed.");
}

#[test]
fn excludes_a_field_only_with_the_values_that_are_named() {
    let object = pod(r#"{"securityContext":{"sysctls":[{"name":"kernel.sem","value":"1"}]}}"#);
    let exclude = |value: &str| {
        format!(
            r#"[{{"controlName":"Sysctls","restrictedField":"spec.securityContext.sysctls[*].name","values":["{value}"]}}]"#
        )
    };
    assert_eq!(judged("baseline", &exclude("kernel.*"), &object), "Validation rule 'r' passed.");
    assert!(judged("baseline", &exclude("net.*"), &object).contains("forbidden sysctls"));
}

#[test]
fn skips_when_exceptions_leave_nothing() {
    let exception = |part: &str| {
        json(&format!(
            r#"{{"metadata":{{"name":"e","namespace":"n"}},"spec":{{"exceptions":[{{"policyName":"p","ruleNames":["r"]}}]{part}}}}}"#
        ))
    };
    let object = pod(r#"{"hostPID":true}"#);
    let message = |part: &str| judged_with("baseline", "[]", &object, &[exception(part)]).unwrap().message;
    assert_eq!(
        &*message(r#","podSecurity":[{"controlName":"Host Namespaces"}]"#),
        "rule is skipped due to policy exceptions n/e"
    );
    assert_eq!(&*message(""), "rule is skipped due to policy exception n/e");
    assert!(message(r#","podSecurity":[{"controlName":"Sysctls"}]"#).contains("failed"));
}

#[test]
fn says_what_does_not_decode() {
    let cannot = "Error while getting new resource: json: cannot unmarshal";
    for (spec, want) in [
        (
            r#"{"hostPID":"x"}"#,
            format!("{cannot} string into Go struct field PodSpec.spec.hostPID of type bool"),
        ),
        (
            r#"{"containers":[{"ports":[{"hostPort":1.5}]}]}"#,
            format!(
                "{cannot} number 1.5 into Go struct field ContainerPort.spec.containers.ports.hostPort of type int32"
            ),
        ),
        (
            r#"{"volumes":[{"emptyDir":"q"}]}"#,
            format!(
                "{cannot} string into Go struct field Volume.spec.volumes.VolumeSource.emptyDir of type v1.EmptyDirVolumeSource"
            ),
        ),
    ] {
        assert_eq!(judged("baseline", "[]", &pod(spec)), want);
    }
    let service = judged("baseline", "[]", r#"{"kind":"Service"}"#);
    assert_eq!(service, "Error while getting new resource: could not find correct resource type");
}

#[test]
fn reads_field_names_without_regard_to_case() {
    assert!(judged("baseline", "[]", &pod(r#"{"HostPID":true}"#)).contains("spec.hostPID is forbidden"));
}

#[test]
fn reports_the_failing_controls_with_their_images() {
    let outcome = judged_with("baseline", "[]", &pod(TWO_AS_ROOT), &[]).unwrap();
    let want = [
        ("standard", "baseline"),
        ("version", "latest"),
        ("controls", "privileged"),
        (
            "controlsJSON",
            r#"[{"ID":"privileged","Name":"Privileged Containers","Images":["docker.io/one/a:1","docker.io/two/b:1"]}]"#,
        ),
    ];
    let got = report::properties(&outcome);
    let got: Vec<(&str, &str)> = got.iter().map(|(k, v)| (&**k, &**v)).collect();
    assert_eq!(got, want);
}
