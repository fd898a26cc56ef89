//! Spans for a collector.

use std::io::{Read, Write};
use std::net::TcpListener;

use serde_json::Value;

use crate::server::{Client, refusing, review, start};

/// Waits for one batch of spans, as a collector does.
fn batch(listener: &TcpListener) -> (String, Value) {
    let (mut stream, _) = listener.accept().unwrap();
    stream.set_read_timeout(Some(crate::server::PATIENCE)).unwrap();
    let (mut text, mut chunk) = (Vec::new(), [0u8; 4096]);
    loop {
        let read = stream.read(&mut chunk).unwrap();
        text.extend_from_slice(&chunk[..read]);
        let whole = String::from_utf8_lossy(&text).into_owned();
        let Some((head, body)) = whole.split_once("\r\n\r\n") else { continue };
        let length = head
            .to_lowercase()
            .split("content-length: ")
            .nth(1)
            .and_then(|l| l.lines().next().and_then(|l| l.trim().parse::<usize>().ok()));
        if body.len() >= length.unwrap() {
            stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}").unwrap();
            return (head.to_string(), serde_json::from_str(body).unwrap());
        }
    }
}

fn attribute<'s>(span: &'s Value, key: &str) -> &'s Value {
    let all = span["attributes"].as_array().unwrap();
    &all.iter().find(|a| a["key"] == key).unwrap_or_else(|| panic!("{key}: {span}"))["value"]
}

#[test]
fn a_collector_gets_a_span_of_each_review_in_the_trace_of_the_client() {
    let collector = TcpListener::bind("127.0.0.1:0").unwrap();
    let endpoint = format!("http://{}", collector.local_addr().unwrap());
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("a.yaml"), refusing("latest")).unwrap();
    let server = start(dir.path(), &["--otlp-endpoint", &endpoint]);
    let body = review("u1", "nginx:latest").to_string();
    let head = format!(
        "POST /validate HTTP/1.1\r\nHost: ephor\r\nContent-Type: application/json\r\ntraceparent: 00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01\r\nContent-Length: {}\r\n\r\n",
        body.len()
    );
    let reply = Client::new(&server.reviews).send(&head, body.as_bytes()).unwrap();
    assert_eq!(reply.response()["allowed"], false);
    let (head, batch) = batch(&collector);
    assert!(head.starts_with("POST /v1/traces "), "{head}");
    let spans = &batch["resourceSpans"][0]["scopeSpans"][0]["spans"];
    let span = &spans[0];
    assert_eq!(spans.as_array().unwrap().len(), 1);
    assert_eq!(
        (&span["traceId"], &span["parentSpanId"]),
        (&"4bf92f3577b34da6a3ce929d0e0e4736".into(), &"00f067aa0ba902b7".into())
    );
    assert_eq!(attribute(span, "admission.request.uid")["stringValue"], "u1");
    assert_eq!(attribute(span, "admission.response.allowed")["boolValue"], false);
    assert_eq!(
        attribute(span, "kyverno.violations")["arrayValue"]["values"][0]["stringValue"],
        "no-latest/tag"
    );
}
