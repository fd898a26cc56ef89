//! Traces: a span for each review, sent to an OpenTelemetry collector.
//!
//! In: decisions with the times they took. Out: OTLP over HTTP in its JSON form, in batches. One thread sends; what it
//! has no room for is counted and dropped, so that no request waits. A `traceparent` header makes the span part of the
//! client's trace. Semantics: `docs/serve.md`, "Traces".

use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::sync::{Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant, SystemTime};

use axum::http::{HeaderMap, StatusCode};
use prometheus::IntCounter;

use crate::admit::{Decision, Incoming};
use crate::engine::Status;
use crate::sources::http::{Request, client};
use crate::value::Value;
use crate::value::print::json;

use crate::redact;

/// How many spans may wait.
const WAITING: usize = 2048;
/// How many are sent at once at most.
const BATCH: usize = 512;
/// How long spans are gathered.
const GATHERED: Duration = Duration::from_secs(1);
/// How long the collector may take.
const LONGEST: Duration = Duration::from_secs(10);
/// How much of its answer is read.
const LARGEST_ANSWER: u64 = 64 * 1024;
/// Longer texts are cut.
const LONGEST_TEXT: usize = 1024;

/// The trace that a request belongs to: identifiers of the trace and of the caller's span.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Parent {
    trace: String,
    span: String,
}

/// Reads the header `traceparent`; without a good one a trace begins here.
pub fn parent(headers: &HeaderMap) -> Parent {
    let header = headers.get("traceparent").and_then(|v| v.to_str().ok()).unwrap_or_default();
    let parts: Vec<&str> = header.split('-').collect();
    let is_id = |text: &str, length: usize| {
        text.len() == length
            && text.bytes().all(|b| b.is_ascii_digit() || (b'a'..=b'f').contains(&b))
            && text.bytes().any(|b| b != b'0')
    };
    match parts[..] {
        [version, trace, span, _, ..] if version.len() == 2 && is_id(trace, 32) && is_id(span, 16) => {
            Parent { trace: trace.into(), span: span.into() }
        }
        _ => Parent { trace: format!("{:032x}", rand::random::<u128>().max(1)), span: String::new() },
    }
}

/// Takes spans and sends them.
pub struct Tracer {
    send: Mutex<Option<SyncSender<Value>>>,
    sender: Mutex<Option<JoinHandle<()>>>,
    dropped: IntCounter,
}

impl Tracer {
    /// Begins to send to a collector: its address without `/v1/traces`.
    pub fn start(endpoint: &str, dropped: IntCounter) -> Tracer {
        let (send, receive) = sync_channel(WAITING);
        let url = format!("{}/v1/traces", endpoint.trim_end_matches('/'));
        let lost = dropped.clone();
        let thread =
            std::thread::Builder::new().name("traces".into()).spawn(move || run(&url, &receive, &lost));
        Tracer { send: Mutex::new(Some(send)), sender: Mutex::new(thread.ok()), dropped }
    }

    /// Takes the span of a decision; it never waits.
    pub fn offer(
        &self,
        path: &str,
        parent: &Parent,
        began: Instant,
        incoming: &Incoming,
        decision: &Decision,
    ) {
        let span = span(path, parent, began.elapsed(), SystemTime::now(), incoming, decision);
        let send = self.send.lock().unwrap_or_else(PoisonError::into_inner);
        if send.as_ref().is_none_or(|send| send.try_send(span).is_err()) {
            self.dropped.inc();
        }
    }

    /// Sends what is queued, and ends.
    pub fn end(&self) {
        drop(self.send.lock().unwrap_or_else(PoisonError::into_inner).take());
        if let Some(sender) = self.sender.lock().unwrap_or_else(PoisonError::into_inner).take() {
            let _ = sender.join();
        }
    }
}

fn attribute(key: &str, value: Value) -> Value {
    let value = match value {
        Value::Bool(_) => Value::map([("boolValue", value)]),
        Value::Int(i) => Value::map([("intValue", i.to_string().into())]),
        Value::List(all) => {
            let values = all.iter().map(|v| Value::map([("stringValue", v.clone())])).collect();
            Value::map([("arrayValue", Value::map([("values", Value::list(values))]))])
        }
        other => Value::map([("stringValue", other)]),
    };
    Value::map([("key", key.into()), ("value", value)])
}

fn cut(text: &str) -> Value {
    if text.len() <= LONGEST_TEXT {
        return text.into();
    }
    let end = (0..=LONGEST_TEXT - 3).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0);
    format!("{}...", text.get(..end).unwrap_or_default()).into()
}

fn span(
    path: &str,
    parent: &Parent,
    took: Duration,
    ended: SystemTime,
    incoming: &Incoming,
    decision: &Decision,
) -> Value {
    let answer = &decision.answer;
    let nanoseconds = |at: SystemTime| {
        Value::from(at.duration_since(SystemTime::UNIX_EPOCH).map_or(0, |d| d.as_nanos()).to_string())
    };
    let violated: Vec<Value> = decision
        .outcomes
        .results()
        .filter(|(_, r)| matches!(r.status, Status::Fail | Status::Error))
        .map(|(policy, r)| Value::from(format!("{}/{}", policy.key(), r.rule)))
        .collect();
    let mut attributes: Vec<Value> = [
        ("uid", &["uid"][..]),
        ("operation", &["operation"]),
        ("kind", &["kind", "kind"]),
        ("resource", &["resource", "resource"]),
        ("subresource", &["subResource"]),
        ("namespace", &["namespace"]),
        ("name", &["name"]),
        ("user", &["userInfo", "username"]),
    ]
    .into_iter()
    .map(|(key, at)| attribute(&format!("admission.request.{key}"), cut(incoming.text(at))))
    .collect();
    attributes.push(attribute("admission.request.dryrun", Value::Bool(incoming.dry_run())));
    attributes.push(attribute("admission.response.allowed", Value::Bool(answer.allowed())));
    if let Some(message) = redact::message(incoming, decision) {
        attributes.push(attribute("admission.response.message", cut(&message)));
    }
    let count = |n: usize| Value::Int(i64::try_from(n).unwrap_or(i64::MAX));
    attributes.push(attribute("admission.response.warnings", count(answer.warnings.len())));
    attributes.push(attribute("admission.response.patches", count(answer.patch.len())));
    attributes.push(attribute("kyverno.policies", count(decision.outcomes.policies().count())));
    if !violated.is_empty() {
        attributes.push(attribute("kyverno.violations", Value::list(violated)));
    }
    let mut span = Value::map([
        ("traceId", Value::from(&*parent.trace)),
        ("spanId", format!("{:016x}", rand::random::<u64>().max(1)).into()),
        ("name", format!("ADMISSION POST {path}").into()),
        // A server's span.
        ("kind", Value::Int(2)),
        ("startTimeUnixNano", nanoseconds(ended.checked_sub(took).unwrap_or(ended))),
        ("endTimeUnixNano", nanoseconds(ended)),
        ("attributes", Value::list(attributes)),
    ]);
    if let (Value::Map(span), false) = (&mut span, parent.span.is_empty()) {
        span.insert("parentSpanId", Value::from(&*parent.span));
    }
    span
}

/// What is sent for some spans.
fn batch(spans: Vec<Value>) -> Value {
    let scope = Value::map([("name", "ephor".into()), ("version", env!("CARGO_PKG_VERSION").into())]);
    let of_scope = Value::map([("scope", scope), ("spans", Value::list(spans))]);
    let service = Value::list(vec![
        attribute("service.name", "ephor".into()),
        attribute("service.version", env!("CARGO_PKG_VERSION").into()),
    ]);
    let of_resource = Value::map([
        ("resource", Value::map([("attributes", service)])),
        ("scopeSpans", Value::list(vec![of_scope])),
    ]);
    Value::map([("resourceSpans", Value::list(vec![of_resource]))])
}

fn run(url: &str, receive: &Receiver<Value>, lost: &IntCounter) {
    let mut spans: Vec<Value> = Vec::new();
    let mut since: Option<Instant> = None;
    loop {
        let left = since.map_or(GATHERED, |at| GATHERED.saturating_sub(at.elapsed()));
        let ended = match receive.recv_timeout(left) {
            Ok(span) => {
                since = since.or(Some(Instant::now()));
                spans.push(span);
                false
            }
            Err(RecvTimeoutError::Timeout) => false,
            Err(RecvTimeoutError::Disconnected) => true,
        };
        let is_due = ended || spans.len() >= BATCH || since.is_some_and(|at| at.elapsed() >= GATHERED);
        if is_due && !spans.is_empty() {
            let count = spans.len() as u64;
            let body = json(&batch(std::mem::take(&mut spans)));
            since = None;
            if let Err(error) = post(url, body) {
                lost.inc_by(count);
                tracing::warn!(error = error.to_string(), url, "spans cannot be sent");
            }
        }
        if ended {
            return;
        }
    }
}

/// Why a batch was not taken.
#[derive(Debug, thiserror::Error)]
enum PostError {
    /// It was not sent; the words are those of the client.
    #[error("{0}")]
    Send(String),
    /// The status is none of success.
    #[error("HTTP {0}")]
    Status(StatusCode),
}

/// Sends a batch; any status but those of success is an error.
fn post(url: &str, body: String) -> Result<(), PostError> {
    let request = Request { method: "POST", body: Some(body.into_bytes()), ..Request::get(url, LONGEST) };
    let sent = client().send(request.header("Content-Type", "application/json"));
    let answer = sent.map_err(|failed| PostError::Send(failed.to_string()))?;
    let status = answer.status;
    // Read to its end, so that the connection can be used again.
    let _ = answer.bytes(LARGEST_ANSWER);
    if status.is_success() { Ok(()) } else { Err(PostError::Status(status)) }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn the_trace_of_the_client_is_continued_and_a_bad_header_starts_one() {
        let of = |text: &'static str| {
            let mut headers = HeaderMap::new();
            headers.insert("traceparent", text.parse().unwrap());
            parent(&headers)
        };
        let known = of("00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01");
        assert_eq!((&*known.trace, &*known.span), ("4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"));
        for bad in
            ["", "00-4bf9-00f067aa0ba902b7-01", "00-00000000000000000000000000000000-00f067aa0ba902b7-01"]
        {
            let begun = of(bad);
            assert!(begun.trace.len() == 32 && begun.span.is_empty(), "{bad}");
        }
    }
}
