//! Who and what settings leave out, and rules that the server does not run.

use crate::server::{get, post, refusing, review, start, until};

#[test]
fn filtered_requests_and_excluded_users_pass_and_settings_are_read_again() {
    let dir = tempfile::tempdir().unwrap();
    let policy = dir.path().join("policy.yaml");
    std::fs::write(&policy, refusing("latest")).unwrap();
    let file = dir.path().join("settings.yaml");
    let write = |data: &str| {
        std::fs::write(&file, format!("{{kind: ConfigMap, apiVersion: v1, data: {data}}}")).unwrap();
    };
    write("{resourceFilters: '[Pod,shop,cart]'}");
    let server = start(&policy, &["--config-map", file.to_str().unwrap()]);
    let allowed = || post(&server, "/validate", &review("u", "nginx:latest"))["allowed"] == true;
    assert!(allowed());
    write("{resourceFilters: '[Pod,other,*]', excludeUsernames: bert}");
    until("the filter is gone", allowed, |allowed| !allowed);
    write("{excludeUsernames: 'an*'}");
    until("the user is excluded", allowed, |allowed| *allowed);
    write("{generateSuccessEvents: perhaps}");
    until(
        "a bad value is reported",
        || get(&server, "/readyz").body,
        |body| body.contains("generateSuccessEvents"),
    );
    until("no user is excluded", allowed, |allowed| !allowed);
    write("{excludeUsernames: 'an*'}");
    until("the user is excluded again", allowed, |allowed| *allowed);
    std::fs::write(&file, "data: {excludeUsernames: ").unwrap();
    until("it is reported", || get(&server, "/readyz").body, |body| body.contains("stays in use"));
    assert!(allowed(), "what could be used stays");
}

#[test]
fn generate_rules_allow_requests_and_are_reported() {
    let dir = tempfile::tempdir().unwrap();
    let policy = dir.path().join("policy.json");
    std::fs::write(
        &policy,
        r#"{"apiVersion": "kyverno.io/v1", "kind": "ClusterPolicy", "metadata": {"name": "makes"}, "spec": {"rules": [{
            "name": "make", "match": {"any": [{"resources": {"kinds": ["Pod"]}}]},
            "generate": {"apiVersion": "v1", "kind": "ConfigMap", "name": "made", "namespace": "shop", "data": {"data": {"a": "b"}}}}]}}"#,
    )
    .unwrap();
    let server = start(dir.path(), &[]);
    assert_eq!(post(&server, "/validate", &review("u", "nginx:1"))["allowed"], true);
    let metrics = get(&server, "/metrics").body;
    let line = "ephor_rules_not_implemented{policy_name=\"makes\",policy_namespace=\"-\",rule_name=\"make\",rule_type=\"generate\"} 1";
    assert!(metrics.contains(line), "{metrics}");
}

#[test]
fn metrics_are_shaped_by_their_settings_and_begin_anew_with_others() {
    let dir = tempfile::tempdir().unwrap();
    let policy = dir.path().join("policy.yaml");
    std::fs::write(&policy, refusing("latest")).unwrap();
    let file = dir.path().join("metrics.yaml");
    let write = |data: &str| {
        std::fs::write(&file, format!("{{kind: ConfigMap, apiVersion: v1, data: {data}}}")).unwrap();
    };
    let exposure = r#"{"kyverno_admission_requests": {"disabledLabelDimensions": ["resource_namespace"]}, "kyverno_info": {"enabled": false}}"#;
    write(&format!("{{metricsExposure: '{exposure}', bucketBoundaries: '1,2'}}"));
    let server = start(&policy, &["--metrics-config-map", file.to_str().unwrap()]);
    let metrics = || get(&server, "/metrics").body;
    let evaluate = || post(&server, "/validate", &review("u", "nginx:latest"));
    assert_eq!(evaluate()["allowed"], false);
    let text = metrics();
    let line = "kyverno_admission_requests_total{request_allowed=\"false\",request_webhook=\"ValidatingWebhookConfiguration\",resource_kind=\"Pod\",resource_request_operation=\"create\"} 1";
    assert!(text.contains(line), "{text}");
    assert!(text.contains("le=\"2\"") && !text.contains("le=\"0.25\""), "{text}");
    assert!(text.contains("rule_result=\"fail\"") && !text.contains("kyverno_info"), "{text}");
    write("{namespaces: '{\"exclude\": [\"shop\"]}', bucketBoundaries: none}");
    until("other settings are in force", metrics, |text| {
        text.contains("kyverno_info") && !text.contains("shop")
    });
    assert_eq!(evaluate()["allowed"], false);
    let text = metrics();
    assert!(
        !text.contains("kyverno_admission_requests_total{") && text.contains("rule_result=\"fail\""),
        "{text}"
    );
    assert!(get(&server, "/readyz").body.contains("metrics settings: bucketBoundaries"));
}
