//! Recorded answers of an API server, with its policies behind a webhook: each request is sent to
//! the gate as the AdmissionReviews that an API server would send, first to `/mutate`, then, as it
//! was left, to `/validate`.
//!
//! In: the folder `admission` of a suite. Out: a report `reviews/admission`, a case each.

use std::path::Path;
use std::sync::Arc;

use base64::Engine;

use ephor_admission::admit::incoming::{Undecodable, decode};
use ephor_admission::admit::{Deadline, Decision, Gate, Incoming, Route};
use ephor_patch::apply::apply_in_order;
use ephor_policies::load::{self, Reader};
use ephor_sources::files::SourceText;
use ephor_sources::objects::{ClusterFacts, Objects};
use ephor_value::print::json;
use ephor_value::release::Release;
use ephor_value::{Map, Value};

use super::admission::{
    list, merged, own_changes, recorded, release_of, stored_objects, unmanaged, with_doubles,
    with_namespaces, yaml_files,
};
use super::{Failure, Report, round_trip};

/// Topics that are about something else than one decision of policies, and why.
const LEFT_OUT: [(&str, &str); 12] = [
    ("patch-numbers", "what becomes of numbers that are written as JSON on the way"),
    ("names", "the names that the API server gives"),
    ("identity", "what the API server itself says of changed names and namespaces"),
    ("defaults", "what the API makes of stored configurations"),
    ("invalid-binding", "what the API says of bindings"),
    ("invalid-map", "what the API says of policies"),
    ("invalid-vap", "what the API says of policies"),
    ("invalid-webhook", "what the API says of webhooks"),
    ("typecheck", "the status that a controller writes"),
    ("webhook-answer", "what the API server makes of a webhook's answers"),
    ("webhook-match", "which webhooks the API server calls"),
    ("webhook-order", "which webhooks the API server calls"),
];

/// The answers of a webhook to a request.
pub(super) struct Reviewed {
    /// The answer of `/mutate`, and the decision behind it.
    pub changes: (Value, Decision),
    /// The object as it was left.
    pub object: Value,
    /// The answer of `/validate` and the decision behind it; `None` = the mutation was denied.
    pub verdict: Option<(Value, Decision)>,
    /// The results of rules that no answer waits for.
    pub later: ephor_policies::policy_set::outcomes::Outcomes,
}

/// Why there is no answer to a request, or its patch cannot be applied.
#[derive(Debug, thiserror::Error)]
pub(super) enum ReviewError {
    /// The request is none.
    #[error(transparent)]
    Request(#[from] Undecodable),
    /// The gate has no such path.
    #[error("no such path")]
    Path,
    /// The answer is no JSON.
    #[error(transparent)]
    Answer(#[from] ephor_document::json::JsonError),
    /// The answer has the `uid` of another request.
    #[error("the answer is one to another request")]
    Uid,
    /// The patch is not in base64.
    #[error(transparent)]
    Base64(#[from] base64::DecodeError),
    /// The patch is no text.
    #[error(transparent)]
    Text(#[from] std::string::FromUtf8Error),
    /// The patch does not fit the object.
    #[error(transparent)]
    Patch(#[from] ephor_patch::apply::ApplyError),
}

fn answer(gate: &Gate, path: &str, request: &Map) -> Result<(Value, Decision, Incoming), ReviewError> {
    let review = Value::map([
        ("apiVersion", "admission.k8s.io/v1".into()),
        ("kind", "AdmissionReview".into()),
        ("request", Value::Map(request.clone())),
    ]);
    let incoming = decode("application/json", json(&review).as_bytes())?;
    let route = Route::parse(path).ok_or(ReviewError::Path)?;
    let decision = gate.answer(&route, &incoming, &Deadline::never());
    let text = decision.answer.to_json(&incoming);
    let answer = ephor_document::json::parse(&text)?.get("response").cloned().unwrap_or_default();
    if answer.text_at(&["uid"]) != incoming.text(&["uid"]) {
        return Err(ReviewError::Uid);
    }
    Ok((answer, decision, incoming))
}

/// Mutates the object, completes it with `completed`, and validates the result.
pub(super) fn review(
    gate: &Gate,
    request: &Map,
    completed: &dyn Fn(Value) -> Value,
) -> Result<Reviewed, ReviewError> {
    let (answer_of_changes, changes, _) = answer(gate, "/mutate", request)?;
    let mut left = request.get("object").cloned().unwrap_or_default();
    if let Some(patch) = answer_of_changes.get("patch").and_then(Value::as_str) {
        let bytes = base64::engine::general_purpose::STANDARD.decode(patch)?;
        let text = String::from_utf8(bytes)?;
        let operations = ephor_document::spelling::spelling(&text);
        left = apply_in_order(&left, operations.as_list().unwrap_or_default())?;
    }
    let allowed = answer_of_changes.get("allowed").and_then(Value::as_bool) == Some(true);
    let mut said = Reviewed {
        changes: (answer_of_changes, changes),
        object: left.clone(),
        verdict: None,
        later: Default::default(),
    };
    if !allowed {
        return Ok(said);
    }
    let mut request = request.clone();
    if request.get("object").is_some_and(|o| !o.is_null()) {
        request.insert("object", completed(left));
    }
    let (answer_of_verdict, decision, _) = answer(gate, "/validate", &request)?;
    let route = Route::parse("/validate").ok_or(ReviewError::Path)?;
    if let Some(prepared) = decision.prepared.as_ref().filter(|_| decision.audits) {
        said.later = gate.audit(&route, prepared, &Deadline::never());
    }
    said.verdict = Some((answer_of_verdict, decision));
    Ok(said)
}

/// Runs the cases of all topics, of an API server of a release.
///
/// # Errors
/// A file cannot be read.
pub fn admission(dir: &Path, release: Release) -> std::io::Result<Report> {
    let mut report = Report::new("reviews/admission");
    for topic in super::nested(dir)? {
        let left_out =
            LEFT_OUT.iter().find(|(left, _)| topic.rsplit('/').next() == Some(left)).map(|(_, why)| *why);
        for case in yaml_files(&dir.join(&topic))? {
            let why = match () {
                () if left_out.is_some() => left_out,
                () if case.get("webhooks").is_some() => Some("what happens between webhooks and policies"),
                () if list(&case, "expected").is_empty() => Some("cases without requests"),
                () => None,
            };
            match why {
                Some(why) => report.leave_out(why, 1),
                None => report.count(one(&case, release_of(&case, release))),
            }
        }
    }
    Ok(report)
}

fn one(case: &Value, release: Release) -> Result<(), Failure> {
    let failed = |expected: Value, got: Value| Failure { id: case.text_at(&["id"]).into(), expected, got };
    let (objects, namespaces) = stored_objects(case, release);
    let is_policy = |o: &&Value| {
        o.text_at(&["apiVersion"]).starts_with("admissionregistration.k8s.io/")
            && !o.text_at(&["kind"]).ends_with("WebhookConfiguration")
    };
    let text: Vec<String> = objects.iter().filter(is_policy).map(json).collect();
    let source = SourceText { name: "setup.yaml".into(), text: text.join("\n---\n") };
    let policies = round_trip::loaded(load::argument_for(&[source], Reader::Server(release)));
    if let Some(problem) = policies.problems.first() {
        return Err(failed(Value::Null, Value::from(problem.to_string())));
    }
    let data = with_namespaces(objects.clone(), &namespaces);
    let known = ClusterFacts::of_release(release, &data, None);
    let gate = Gate::new(policies, Arc::new(Objects::with(data, known)), &[]);
    if let Some(broken) = gate.broken().first() {
        return Err(failed(Value::Null, Value::from(broken.to_string())));
    }
    for wanted in list(case, "expected") {
        let sent = list(case, "requests").iter().find(|r| r.text_at(&["name"]) == wanted.text_at(&["name"]));
        let (expected, got) = compared(&gate, wanted, sent.and_then(|r| r.get("object")));
        if !expected.json_eq(&got) {
            return Err(failed(expected, got));
        }
    }
    Ok(())
}

/// The recorded and the actual answer.
fn compared(gate: &Gate, wanted: &Value, sent: Option<&Value>) -> (Value, Value) {
    let mut request = wanted.get("request").and_then(Value::as_map).cloned().unwrap_or_default();
    request.insert("uid", "00000000-0000-0000-0000-000000000001".into());
    if let (Some(object), Some(sent)) = (request.get("object").cloned(), sent) {
        request.insert("object", with_doubles(&object, sent));
    }
    let own = own_changes(wanted.text_at(&["request", "subResource"]));
    let more = wanted.get("completion");
    let completed = |object: Value| match more {
        Some(more) => merged(own(object), more),
        None => own(object),
    };
    let said = match review(gate, &request, &completed) {
        Ok(said) => said,
        Err(error) => return (Value::Null, error.to_string().into()),
    };
    let last = said.verdict.as_ref().map_or(&said.changes.0, |(answer, _)| answer);
    (unmanaged(&expected(wanted)), got(wanted, &said, last))
}

/// The answer of the API server, without what it adds to a webhook's answer.
fn expected(wanted: &Value) -> Value {
    let mut m = Map::new();
    m.insert("allowed", wanted.get("allowed").cloned().unwrap_or_default());
    if wanted.get("allowed").and_then(Value::as_bool) == Some(false) {
        let causes: Vec<&str> = list(wanted, "causes").iter().map(|c| c.text_at(&["message"])).collect();
        let is_whole = causes.is_empty() || wanted.text_at(&["by"]) == "mutation";
        let message = if is_whole { wanted.text_at(&["message"]).into() } else { causes.join("; ") };
        m.insert("message", Value::from(message));
        for key in ["code", "reason"] {
            m.insert(key, wanted.get(key).cloned().unwrap_or_default());
        }
    }
    let of_policies: Vec<Value> = list(wanted, "warnings")
        .iter()
        .filter(|w| w.as_str().is_none_or(|w| !w.starts_with("unknown field ")))
        .cloned()
        .collect();
    if !of_policies.is_empty() {
        m.insert("warnings", Value::list(of_policies));
    }
    recorded(wanted, &["auditAnnotations", "object"], &mut m);
    if let Some(Value::Map(annotations)) = m.get_mut("auditAnnotations") {
        // Those of webhooks have one slash, behind the webhook's name.
        let keyed = annotations.iter().map(|(k, v)| (k.replace('/', ".").into(), v.clone()));
        *annotations = keyed.collect();
    }
    Value::Map(m)
}

fn got(wanted: &Value, said: &Reviewed, last: &Value) -> Value {
    let mut m = Map::new();
    let allowed = last.get("allowed").and_then(Value::as_bool) == Some(true);
    // Where the API server rejects an object itself, policies do not validate it.
    let unvalidated =
        wanted.text_at(&["by"]) == "server" && matches!(wanted.get("code"), Some(Value::Int(422)));
    let passes = allowed || (unvalidated && said.verdict.is_some());
    m.insert("allowed", Value::Bool(passes));
    if !passes {
        m.insert("message", last.text_at(&["status", "message"]).into());
        for key in ["code", "reason"] {
            m.insert(key, last.at(&["status", key]).cloned().unwrap_or_default());
        }
    }
    let warnings: Vec<Value> =
        [&said.changes.0, last].into_iter().flat_map(|a| list(a, "warnings")).cloned().collect();
    if !warnings.is_empty() && !unvalidated {
        m.insert("warnings", Value::list(warnings));
    }
    if let Some(annotations) = last.get("auditAnnotations").filter(|_| !unvalidated) {
        m.insert("auditAnnotations", annotations.clone());
    }
    let before = wanted.at(&["request", "object"]);
    let left = own_changes(wanted.text_at(&["request", "subResource"]))(said.object.clone());
    if allowed && !unvalidated && before.is_some_and(|before| !before.json_eq(&left)) {
        m.insert("object", left);
    }
    Value::Map(m)
}
