//! Webhooks as an API server calls them.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use ephor_value::release::Release;
use std::cell::RefCell;

use ephor_admission::webhooks::{Answers, Call, Event, Log, Reply, Server, in_order};
use ephor_api::admission::defaulted;
use ephor_document::yaml_value;
use ephor_engine::admission::{ClusterView, Denial, Review};
use ephor_ir::webhook::Webhook;
use ephor_lower::admission::webhooks;
use ephor_sources::objects::Objects;
use ephor_value::Value;

/// Answers by webhook, and records the calls.
struct Scripted<'s> {
    script: &'s [(&'s str, &'s str)],
    calls: RefCell<Vec<String>>,
}

impl Answers for Scripted<'_> {
    fn answer(&self, call: &Call) -> Reply {
        self.calls.borrow_mut().push(call.webhook.to_string());
        match self.script.iter().find(|(name, _)| *name == &*call.webhook) {
            Some((_, "")) => Reply::Nothing("EOF".into()),
            Some((_, response)) => Reply::Http {
                code: 200,
                body: format!(
                    "{{\"apiVersion\":\"admission.k8s.io/{}\",\"kind\":\"AdmissionReview\",\"response\":{response}}}",
                    call.version
                ),
            },
            None => Reply::Http { code: 503, body: String::new() },
        }
    }
}

const ALLOWED: &str = r#"{"uid":"u","allowed":true}"#;
/// `[{"op":"add","path":"/data/x","value":"1"}]`
const PATCHED: &str = r#"{"uid":"u","allowed":true,"patchType":"JSONPatch","patch":"W3sib3AiOiJhZGQiLCJwYXRoIjoiL2RhdGEveCIsInZhbHVlIjoiMSJ9XQ=="}"#;

fn hooks(kind: &str, configuration: &str, list: &str) -> Vec<Webhook> {
    let text = format!(
        "{{apiVersion: admissionregistration.k8s.io/v1, kind: {kind}WebhookConfiguration, metadata: {{name: {configuration}}}, webhooks: [{list}]}}"
    );
    webhooks(&defaulted(&yaml_value(&text).unwrap()), Release::default())
}

fn hook(name: &str, more: &str) -> String {
    format!(
        "{{name: {name}, clientConfig: {{url: 'https://h/x'}}, sideEffects: None, admissionReviewVersions: [v1], \
         rules: [{{apiGroups: [''], apiVersions: [v1], operations: [CREATE], resources: [configmaps]}}]{more}}}"
    )
}

fn request(more: &str) -> Review {
    let text = format!(
        "{{uid: u, kind: {{group: '', version: v1, kind: ConfigMap}}, resource: {{group: '', version: v1, resource: configmaps}}, \
         name: c, namespace: shop, operation: CREATE, userInfo: {{username: a}}, oldObject: null, \
         object: {{apiVersion: v1, kind: ConfigMap, metadata: {{name: c, namespace: shop}}, data: {{a: '1'}}}}{more}}}"
    );
    Review::new(yaml_value(&text).unwrap())
}

/// What becomes of a request: the object or the denial, the log, and who was called.
fn run(
    all: Vec<Webhook>,
    script: &[(&str, &str)],
    review: &Review,
) -> (Result<Value, Box<Denial>>, Log, Vec<String>) {
    let mut log = Log::default();
    let data = Objects::new(vec![
        yaml_value("{kind: Namespace, metadata: {name: shop, labels: {env: prod}}}").unwrap(),
    ]);
    let answers = Scripted { script, calls: RefCell::default() };
    let all = in_order(all);
    let server = Server {
        policies: &[],
        webhooks: &all,
        cluster: &ClusterView::of(&data),
        answers: &answers,
        own: |object| object,
    };
    let result = server
        .mutate(review, &mut log)
        .and_then(|object| server.validate(&review.with_object(object.clone()), &mut log).map(|()| object));
    (result, log, answers.calls.into_inner())
}

#[test]
fn a_webhook_is_called_again_only_when_something_changed_after_it() {
    let again = ", reinvocationPolicy: IfNeeded";
    let list = [hook("a.x.y", again), hook("b.x.y", again)].join(", ");
    let all = hooks("Mutating", "c", &list);
    let (result, _, calls) = run(all.clone(), &[("a.x.y", ALLOWED), ("b.x.y", PATCHED)], &request(""));
    assert_eq!(calls, ["a.x.y", "b.x.y", "a.x.y"]);
    assert_eq!(result.unwrap().text_at(&["data", "x"]), "1");
    let (_, _, calls) = run(all, &[("a.x.y", ALLOWED), ("b.x.y", ALLOWED)], &request(""));
    assert_eq!(calls, ["a.x.y", "b.x.y"]);
}

#[test]
fn configurations_count_by_name_and_mutating_webhooks_come_first() {
    let mut all = hooks("Validating", "a", &hook("v.x.y", ""));
    all.extend(hooks("Mutating", "z", &hook("z.x.y", "")));
    all.extend(hooks("Mutating", "b", &[hook("y.x.y", ""), hook("c.x.y", "")].join(", ")));
    let script = ["v.x.y", "z.x.y", "y.x.y", "c.x.y"].map(|name| (name, ALLOWED));
    assert_eq!(run(all, &script, &request("")).2, ["y.x.y", "c.x.y", "z.x.y", "v.x.y"]);
}

#[test]
fn a_failed_call_denies_unless_the_failure_policy_is_ignore() {
    let (result, ..) = run(hooks("Validating", "c", &hook("v.x.y", "")), &[("v.x.y", "")], &request(""));
    let denial = result.unwrap_err();
    assert_eq!(
        (denial.code, &*denial.message),
        (
            500,
            "Internal error occurred: failed calling webhook \"v.x.y\": failed to call webhook: Post \"https://h/x?timeout=10s\": EOF"
        )
    );
    let fail_open = hooks("Validating", "c", &hook("v.x.y", ", failurePolicy: Ignore"));
    let (result, log, _) = run(fail_open, &[("v.x.y", "")], &request(""));
    assert!(result.is_ok());
    let key = "failed-open.validating.webhook.admission.k8s.io/round_0_index_0";
    assert_eq!(log.annotations.get(key).and_then(Value::as_str), Some("v.x.y"));
}

#[test]
fn a_dry_run_is_not_sent_to_webhooks_with_side_effects() {
    let text = hook("v.x.y", "").replace("sideEffects: None", "sideEffects: Some");
    let (result, _, calls) =
        run(hooks("Validating", "c", &text), &[("v.x.y", ALLOWED)], &request(", dryRun: true"));
    assert_eq!(result.unwrap_err().message, "admission webhook \"v.x.y\" does not support dry run");
    assert!(calls.is_empty());
}

#[test]
fn the_reason_for_a_skipped_webhook_is_logged() {
    let cases = [
        (
            ", namespaceSelector: {matchLabels: {env: test}}",
            "its namespaceSelector does not select the namespace",
        ),
        (
            ", objectSelector: {matchLabels: {a: b}}",
            "its objectSelector selects neither the object nor the former one",
        ),
        (
            ", rules: [{apiGroups: [apps], apiVersions: [v1], operations: [UPDATE], resources: ['*'], scope: Cluster}]",
            "no rule is for the request's operation, group, scope",
        ),
        (", rules: []", "it has no rules"),
        (", matchConditions: [{name: a, expression: 'false'}]", "its match condition is false: false"),
        (
            ", failurePolicy: Ignore, matchConditions: [{name: a, expression: \"object.x == 1\"}]",
            "its match conditions fail, and its failure policy is Ignore: expression 'object.x == 1' resulted in error: no such key: x",
        ),
    ];
    for (more, why) in cases {
        let text = match more.split_once(", rules:") {
            // A rule of its own.
            Some((_, rules)) => {
                format!("{}, rules:{rules}}}", hook("v.x.y", "").split_once(", rules:").unwrap().0)
            }
            None => hook("v.x.y", more),
        };
        let (result, log, calls) = run(hooks("Validating", "c", &text), &[("v.x.y", ALLOWED)], &request(""));
        assert!(result.is_ok() && calls.is_empty(), "{more}");
        let reasons: Vec<String> = log
            .steps
            .iter()
            .map(|step| match &step.event {
                Event::Skipped(why) => why.to_string(),
                Event::Called(_) => "called".into(),
            })
            .collect();
        assert_eq!(reasons, [why], "{more}");
    }
}

#[test]
fn an_answer_of_a_wrong_type_is_a_failed_call() {
    for (response, text) in [
        (
            r#"{"uid":"u","allowed":"yes"}"#,
            "json: cannot unmarshal string into Go struct field AdmissionResponse.response.allowed of type bool",
        ),
        (
            r#"{"uid":"u","allowed":true,"warnings":"x"}"#,
            "json: cannot unmarshal string into Go struct field AdmissionResponse.response.warnings of type []string",
        ),
        (r#"{"uid":"u","allowed":true,"patch":"%"}"#, "illegal base64 data at input byte 0"),
    ] {
        let (result, ..) =
            run(hooks("Mutating", "c", &hook("v.x.y", "")), &[("v.x.y", response)], &request(""));
        let message = result.unwrap_err().message;
        assert!(message.ends_with(&format!("failed to call webhook: {text}")), "{message}");
    }
}
