//! Spans for a collector.

use std::io::{Read, Write};
use std::net::TcpListener;
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::server::{Client, Server, get, refusing, review, start_in, until};

/// A collector.
struct Collector(TcpListener);

impl Collector {
    fn new() -> Collector {
        Collector(TcpListener::bind("127.0.0.1:0").unwrap())
    }

    fn url(&self) -> String {
        format!("http://{}", self.0.local_addr().unwrap())
    }

    /// Waits for a request, and answers it: its head and its body.
    fn answer(&self, answer: &str) -> (String, Vec<u8>) {
        let (mut stream, _) = self.0.accept().unwrap();
        stream.set_read_timeout(Some(crate::server::PATIENCE)).unwrap();
        let (mut text, mut chunk) = (Vec::new(), [0u8; 4096]);
        loop {
            let read = stream.read(&mut chunk).unwrap();
            text.extend_from_slice(&chunk[..read]);
            let Some(end) = text.windows(4).position(|w| w == b"\r\n\r\n") else { continue };
            let head = String::from_utf8_lossy(&text[..end]).to_lowercase();
            let length = head
                .split("content-length: ")
                .nth(1)
                .and_then(|l| l.lines().next().and_then(|l| l.trim().parse::<usize>().ok()));
            if text.len() - end - 4 >= length.unwrap() {
                // Each request has a connection of its own.
                write!(stream, "HTTP/1.1 {answer}\r\nConnection: close\r\nContent-Length: 2\r\n\r\n{{}}")
                    .unwrap();
                return (head, text[end + 4..].to_vec());
            }
        }
    }

    /// Waits for one batch of spans.
    fn batch(&self) -> (String, Value) {
        let (head, body) = self.answer("200 OK");
        (head, serde_json::from_slice(&body).unwrap())
    }
}

const PARENT: &str = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";

/// A server that refuses the tag `latest`, and sends spans as JSON.
fn serving(flags: &[&str], variables: &[(&str, &str)]) -> (Server, tempfile::TempDir) {
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("a.yaml"), refusing("latest")).unwrap();
    let mut all = vec![("OTEL_EXPORTER_OTLP_PROTOCOL", "http/json"), ("OTEL_BSP_SCHEDULE_DELAY", "100")];
    all.extend(variables);
    let mut arguments = vec!["--plain-http"];
    arguments.extend(flags);
    (start_in(dir.path(), &arguments, &all), dir)
}

/// Sends a review that is denied, in a trace.
fn denied(server: &Server, uid: &str, parent: &str) {
    let body = review(uid, "nginx:latest").to_string();
    let head = format!(
        "POST /validate HTTP/1.1\r\nHost: ephor\r\nContent-Type: application/json\r\ntraceparent: {parent}\r\nContent-Length: {}\r\n\r\n",
        body.len()
    );
    let reply = Client::new(&server.reviews).send(&head, body.as_bytes()).unwrap();
    assert_eq!(reply.response()["allowed"], false);
}

fn spans(batch: &Value) -> Vec<Value> {
    batch["resourceSpans"][0]["scopeSpans"][0]["spans"].as_array().unwrap().clone()
}

fn attribute<'s>(of: &'s Value, key: &str) -> &'s Value {
    let all = of["attributes"].as_array().unwrap();
    &all.iter().find(|a| a["key"] == key).unwrap_or_else(|| panic!("{key}: {of}"))["value"]
}

#[test]
fn a_collector_gets_a_span_of_each_review_in_the_trace_of_the_client() {
    let collector = Collector::new();
    let (server, _dir) = serving(&["--otlp-endpoint", &collector.url()], &[]);
    denied(&server, "u1", PARENT);
    let (head, batch) = collector.batch();
    assert!(head.starts_with("post /v1/traces "), "{head}");
    let spans = spans(&batch);
    let span = &spans[0];
    assert_eq!(spans.len(), 1);
    assert_eq!(
        (&span["traceId"], &span["parentSpanId"]),
        (&"4bf92f3577b34da6a3ce929d0e0e4736".into(), &"00f067aa0ba902b7".into())
    );
    assert_eq!(attribute(span, "admission.request.uid")["stringValue"], "u1");
    assert_eq!(attribute(span, "admission.response.allowed")["boolValue"], false);
    assert_eq!(attribute(span, "http.route")["stringValue"], "/validate");
    assert_eq!(
        attribute(span, "kyverno.violations")["arrayValue"]["values"][0]["stringValue"],
        "no-latest/tag"
    );
    let of = &batch["resourceSpans"][0]["resource"];
    assert_eq!(attribute(of, "service.name")["stringValue"], "ephor");
}

#[test]
fn a_trace_that_the_caller_does_not_sample_has_no_span() {
    let collector = Collector::new();
    let (server, _dir) = serving(&["--otlp-endpoint", &collector.url()], &[]);
    denied(&server, "unsampled", &PARENT.replace("-01", "-00"));
    denied(&server, "invalid", &PARENT.replace("00-4", "ff-4"));
    denied(&server, "last", PARENT);
    let mut seen = Vec::new();
    while !seen.contains(&"last".to_string()) {
        for span in spans(&collector.batch().1) {
            let uid = attribute(&span, "admission.request.uid")["stringValue"].as_str().unwrap().to_string();
            if uid == "invalid" {
                assert_ne!(span["traceId"], "4bf92f3577b34da6a3ce929d0e0e4736");
            }
            seen.push(uid);
        }
    }
    assert_eq!(seen, ["invalid", "last"]);
}

#[test]
fn a_batch_that_a_collector_has_no_time_for_is_sent_again_when_it_says() {
    let collector = Collector::new();
    let (server, _dir) = serving(&["--otlp-endpoint", &collector.url()], &[]);
    denied(&server, "u1", PARENT);
    let (_, first) = collector.answer("503 Service Unavailable\r\nRetry-After: 1");
    let refused = Instant::now();
    let (_, second) = collector.answer("200 OK");
    assert!(refused.elapsed() >= Duration::from_millis(900), "{:?}", refused.elapsed());
    assert_eq!(first, second);
    assert!(get(&server, "/metrics").body.contains("ephor_spans_dropped_total 0"));
}

#[test]
fn a_batch_that_a_collector_does_not_want_is_counted_and_not_sent_again() {
    let collector = Collector::new();
    let (server, _dir) = serving(&["--otlp-endpoint", &collector.url()], &[]);
    denied(&server, "u1", PARENT);
    collector.answer("400 Bad Request");
    let counted = |text: &String| text.contains("ephor_spans_dropped_total 1");
    until("the span is counted", || get(&server, "/metrics").body, counted);
    denied(&server, "u2", PARENT);
    assert_eq!(attribute(&spans(&collector.batch().1)[0], "admission.request.uid")["stringValue"], "u2");
}

#[test]
fn the_environment_of_opentelemetry_says_where_to_and_who() {
    let collector = Collector::new();
    let url = collector.url();
    let (server, _dir) = serving(
        &[],
        &[
            ("OTEL_EXPORTER_OTLP_ENDPOINT", url.as_str()),
            ("OTEL_EXPORTER_OTLP_HEADERS", "x-tenant=shop"),
            ("OTEL_SERVICE_NAME", "policies"),
            ("OTEL_RESOURCE_ATTRIBUTES", "deployment.environment.name=test,service.instance.id=one"),
            ("POD_NAME", "ephor-0"),
        ],
    );
    denied(&server, "u1", PARENT);
    let (head, batch) = collector.batch();
    assert!(head.contains("x-tenant: shop"), "{head}");
    let of = &batch["resourceSpans"][0]["resource"];
    for (key, value) in [
        ("service.name", "policies"),
        ("service.instance.id", "one"),
        ("deployment.environment.name", "test"),
        ("k8s.pod.name", "ephor-0"),
    ] {
        assert_eq!(attribute(of, key)["stringValue"], value);
    }
}

#[test]
fn spans_are_protobuf_unless_the_environment_says_json() {
    let collector = Collector::new();
    let flags = ["--otlp-endpoint", &collector.url()];
    let (server, _dir) = serving(&flags, &[("OTEL_EXPORTER_OTLP_PROTOCOL", "http/protobuf")]);
    denied(&server, "u1", PARENT);
    let (head, body) = collector.answer("200 OK");
    assert!(head.contains("content-type: application/x-protobuf"), "{head}");
    assert!(body.windows(20).any(|w| w == b"admission.request.ui"), "{body:?}");
}
