//! The webhooks of a recorded case: what they answer, and what they were sent.

use base64::Engine;

use ephor_admission::webhooks::{Answers, Call, Event, Log, Reply};
use ephor_value::print::json;
use ephor_value::{Map, Str, Value};

/// What the webhooks of a case answer, by the last part of their address.
pub(super) struct Replies(pub(super) Value);

fn name(call: &Call) -> &str {
    call.url.strip_prefix("https://webhook.test/").unwrap_or_default()
}

fn into(m: &mut Map, more: Option<&Value>) {
    for (k, v) in more.and_then(Value::as_map).into_iter().flat_map(Map::iter) {
        m.insert(k.clone(), v.clone());
    }
}

impl Answers for Replies {
    fn answer(&self, call: &Call) -> Reply {
        let Some(reply) = self.0.get(name(call)) else {
            let host = call.url.trim_start_matches("https://").split('/').next().unwrap_or_default();
            return Reply::Nothing(format!("dial tcp {host}:443: connect: connection refused"));
        };
        let number = |key: &str| match reply.get(key) {
            Some(Value::Int(n)) => Some(*n),
            _ => None,
        };
        if number("delaySeconds").is_some_and(|seconds| seconds >= call.timeout) {
            return Reply::Nothing("context deadline exceeded".into());
        }
        let code = number("httpCode").and_then(|n| u16::try_from(n).ok()).unwrap_or(200);
        if let Some(raw) = reply.get("raw").and_then(Value::as_str) {
            return Reply::Http { code, body: raw.into() };
        }
        let mut response = Map::new();
        response.insert("uid", call.request.get("uid").cloned().unwrap_or_default());
        response.insert("allowed", Value::Bool(true));
        if let Some(patch) = reply.get("patch") {
            let text = patch.as_str().map_or_else(|| as_sent(patch), str::to_string);
            response.insert("patch", base64::engine::general_purpose::STANDARD.encode(text).into());
            if reply.get("noPatchType").is_none() {
                response.insert("patchType", "JSONPatch".into());
            }
        }
        into(&mut response, reply.get("response"));
        let mut review = Map::new();
        review.insert("apiVersion", format!("admission.k8s.io/{}", call.version).into());
        review.insert("kind", "AdmissionReview".into());
        if reply.get("noResponse").is_none() {
            review.insert("response", Value::Map(response));
        }
        into(&mut review, reply.get("review"));
        Reply::Http { code, body: json(&Value::Map(review)) }
    }
}

/// A patch with the members of its values in their order.
fn as_sent(patch: &Value) -> String {
    ephor_document::json::to_serde(patch).to_string()
}

/// The calls that were received: mutating ones in their order, then validating ones by name.
pub(super) fn calls(log: &Log, request: &Value) -> Vec<Value> {
    let of = |mutating: bool| {
        let calls = log.steps.iter().filter(move |step| step.mutating == mutating);
        calls.filter_map(|step| match &step.event {
            Event::Called(call) if !name(call).is_empty() => Some(&**call),
            _ => None,
        })
    };
    let mut validating: Vec<&Call> = of(false).collect();
    validating.sort_by(|a, b| name(a).cmp(name(b)));
    of(true).chain(validating).map(|call| expected_call(call, request)).collect()
}

fn expected_call(call: &Call, request: &Value) -> Value {
    let sent = call.request.as_map().cloned().unwrap_or_default();
    let differs =
        |(k, v): &(&Str, &Value)| &***k != "uid" && !request.get(k).unwrap_or(&Value::Null).json_eq(v);
    let different: Map = sent.iter().filter(differs).map(|(k, v)| (k.clone(), v.clone())).collect();
    let mut m = Value::map([
        ("webhook", Value::from(name(call))),
        ("apiVersion", format!("admission.k8s.io/{}", call.version).into()),
        ("timeout", format!("{}s", call.timeout).into()),
    ]);
    if let (false, Value::Map(m)) = (different.is_empty(), &mut m) {
        m.insert("differs", Value::Map(different));
    }
    m
}
