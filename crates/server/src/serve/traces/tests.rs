#![allow(clippy::unwrap_used)]

use std::sync::{Arc, Mutex};

use opentelemetry::trace::TraceContextExt;
use opentelemetry::{Key, Value as Attribute};
use opentelemetry_sdk::error::OTelSdkResult;
use opentelemetry_sdk::trace::{SpanData, SpanExporter};

use super::*;
use ephor_admission::admit::answer::Answer;
use ephor_admission::admit::incoming::decode;

fn of(text: &str) -> Parent {
    let mut headers = HeaderMap::new();
    headers.insert("traceparent", text.parse().unwrap());
    parent(&headers)
}

/// Spans that are not sent.
#[derive(Clone, Debug, Default)]
struct Memory(Arc<Mutex<Vec<SpanData>>>);

impl SpanExporter for Memory {
    async fn export(&self, batch: Vec<SpanData>) -> OTelSdkResult {
        self.0.lock().unwrap().extend(batch);
        Ok(())
    }
}

/// A span for each thing that was done.
fn spans(done: impl FnOnce(&Tracer)) -> Vec<SpanData> {
    let memory = Memory::default();
    let provider = SdkTracerProvider::builder().with_simple_exporter(memory.clone()).build();
    done(&Tracer::of(provider));
    std::mem::take(&mut *memory.0.lock().unwrap())
}

fn requested(parent: &Parent) -> Requested<'_> {
    let route = Some("/validate/fail");
    Requested { path: "/validate/fail", route, method: "POST", parent, began: Instant::now() }
}

fn incoming() -> Incoming {
    let review = r#"{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","request":{"uid":"u","operation":"CREATE",
        "kind":{"group":"","version":"v1","kind":"ConfigMap"},"resource":{"group":"","version":"v1","resource":"configmaps"},
        "object":{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"c"}}}}"#;
    decode("application/json", review.as_bytes()).unwrap()
}

fn attribute(span: &SpanData, key: &'static str) -> Option<Attribute> {
    span.attributes.iter().find(|a| a.key == Key::new(key)).map(|a| a.value.clone())
}

const GOOD: &str = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";

#[test]
fn the_trace_of_the_caller_is_continued_and_a_bad_header_starts_one() {
    let known = of(GOOD);
    let span = known.0.span();
    assert_eq!(span.span_context().trace_id().to_string(), "4bf92f3577b34da6a3ce929d0e0e4736");
    assert_eq!(span.span_context().span_id().to_string(), "00f067aa0ba902b7");
    // A later version may have more.
    assert!(
        of("01-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01-x").0.span().span_context().is_valid()
    );
    for bad in [
        "",
        "00-4bf9-00f067aa0ba902b7-01",
        "00-00000000000000000000000000000000-00f067aa0ba902b7-01",
        "00-4bf92f3577b34da6a3ce929d0e0e4736-0000000000000000-01",
        "00-4BF92F3577B34DA6A3CE929D0E0E4736-00f067aa0ba902b7-01",
        "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01-more",
        "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7",
        "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-1",
        "0-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
        "+0-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
        "ff-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
    ] {
        assert!(!of(bad).0.span().span_context().is_valid(), "{bad}");
    }
}

#[test]
fn a_caller_that_does_not_sample_gets_no_span() {
    let decision = Decision { answer: Answer::default(), ..Decision::default() };
    let of_flags = |flags: &str| {
        let parent = of(&GOOD.replace("-01", flags));
        spans(|tracer| tracer.decided(&requested(&parent), &incoming(), &decision, None))
    };
    assert_eq!(of_flags("-00").len(), 0);
    // Other flags than the one for sampling are ignored.
    assert_eq!(of_flags("-02").len(), 0);
    assert_eq!(of_flags("-03").len(), 1);
    let begun = spans(|tracer| tracer.decided(&requested(&Parent::default()), &incoming(), &decision, None));
    assert_eq!(begun.len(), 1);
}

#[test]
fn a_request_that_policies_deny_is_no_error_of_the_server() {
    let decision = Decision { answer: Answer::denied("no"), ..Decision::default() };
    let all = spans(|tracer| tracer.decided(&requested(&of(GOOD)), &incoming(), &decision, None));
    let span = &all[0];
    assert_eq!((span.status.clone(), span.span_kind.clone()), (Status::Unset, SpanKind::Server));
    assert_eq!(attribute(span, "error.type"), None);
    assert_eq!(attribute(span, "admission.response.allowed"), Some(Attribute::Bool(false)));
    assert_eq!(attribute(span, "http.request.method"), Some("POST".into()));
    assert_eq!(attribute(span, "http.route"), Some("/validate/fail".into()));
    assert_eq!(attribute(span, "http.response.status_code"), Some(Attribute::I64(200)));
}

#[test]
fn what_time_or_a_fault_decided_is_an_error() {
    for (failed, name) in [(Failed::Late, "timeout"), (Failed::Fault, "internal_error")] {
        let decision = Decision { answer: Answer::denied("no"), ..Decision::default() };
        let all = spans(|tracer| tracer.decided(&requested(&of(GOOD)), &incoming(), &decision, Some(failed)));
        assert_eq!(attribute(&all[0], "error.type"), Some(name.into()));
        assert!(matches!(all[0].status, Status::Error { .. }));
    }
}

#[test]
fn a_refusal_has_its_status_and_is_an_error_if_it_is_the_servers() {
    let of_status = |status: u16| {
        let refusal = Undecodable::new(status, "why");
        spans(|tracer| tracer.refused(&requested(&of(GOOD)), &refusal)).remove(0)
    };
    let (client, server) = (of_status(429), of_status(504));
    assert_eq!(attribute(&client, "http.response.status_code"), Some(Attribute::I64(429)));
    assert_eq!((attribute(&client, "error.type"), client.status), (None, Status::Unset));
    assert_eq!(attribute(&server, "error.type"), Some("504".into()));
    assert_eq!(server.status, Status::error("why"));
}

#[test]
fn long_texts_are_cut_between_characters() {
    let text = "ä".repeat(LONGEST_TEXT);
    assert!(cut(&text).len() <= LONGEST_TEXT && cut(&text).ends_with("ä..."));
    assert_eq!(cut("short"), "short");
}
