//! What goes wrong: clients, bodies, policies.

use std::io::Write;
use std::net::TcpStream;

use serde_json::json;

use crate::server::{Client, ask, get, refusing, review, start, until};

fn folder(policies: &[(&str, &str)]) -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    for (name, text) in policies {
        std::fs::write(dir.path().join(name), text).unwrap();
    }
    dir
}

/// The server still decides, and rightly.
fn assert_decides(server: &crate::server::Server) {
    assert_eq!(ask(server, "/validate", &review("ok", "nginx:1"))["allowed"], true);
    assert_eq!(ask(server, "/validate", &review("no", "nginx:latest"))["allowed"], false);
}

#[test]
fn bodies_that_are_no_reviews_get_a_clean_refusal() {
    let dir = folder(&[("a.yaml", &refusing("latest"))]);
    let server = start(dir.path(), &[]);
    let whole = review("u", "nginx").to_string();
    let mut client = Client::new(&server.reviews);
    let json = "application/json";
    for (kind, body, status) in [
        (json, "", 400),
        (json, "{", 417),
        (json, "[1]", 417),
        (json, "{\"request\": null}", 400),
        (json, whole.get(..whole.len() / 2).unwrap(), 417),
        ("application/yaml", &whole, 415),
        ("application/json; charset=utf-8", &whole, 415),
        (json, &format!("{{\"request\":{}1{}}}", "[".repeat(200_000), "]".repeat(200_000)), 417),
        (json, "{\"request\":{\"uid\":\"a\",\"object\":\"x\"}}", 417),
    ] {
        assert_eq!(client.post("/validate", kind, body.as_bytes()).unwrap().status, status, "{body:.40}");
    }
    assert_eq!(client.post("/validate", json, &[0xff, 0xfe, b'{']).unwrap().status, 417);
    assert_eq!(client.post("/elsewhere", json, whole.as_bytes()).unwrap().status, 404);
    // A body that nobody reads ends its connection.
    let mut client = Client::new(&server.reviews);
    let head = "GET /validate HTTP/1.1\r\nHost: ephor\r\n\r\n";
    assert_eq!(client.send(head, b"").unwrap().status, 405);
    assert_decides(&server);
}

#[test]
fn a_body_that_ends_early_or_lies_about_its_length_harms_nobody() {
    let dir = folder(&[("a.yaml", &refusing("latest"))]);
    let server = start(dir.path(), &[]);
    for _ in 0..50 {
        let mut stream = TcpStream::connect(&server.reviews).unwrap();
        let head = "POST /validate HTTP/1.1\r\nHost: e\r\nContent-Type: application/json\r\nContent-Length: 100000\r\n\r\n{";
        stream.write_all(head.as_bytes()).unwrap();
    }
    assert_decides(&server);
    until(
        "no review is under way",
        || get(&server, "/metrics").body,
        |m| m.contains("ephor_requests_running 0"),
    );
}

#[test]
fn a_body_of_50_megabytes_is_refused() {
    let dir = folder(&[("a.yaml", &refusing("latest"))]);
    let server = start(dir.path(), &[]);
    let mut client = Client::new(&server.reviews);
    let head = format!(
        "POST /validate HTTP/1.1\r\nHost: e\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n",
        50 << 20
    );
    assert_eq!(client.send(&head, b"{").unwrap().status, 413);
    // The same without saying how long it is.
    let mut client = Client::new(&server.reviews);
    let head = "POST /validate HTTP/1.1\r\nHost: e\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n";
    let chunk = format!("100000\r\n{}\r\n", " ".repeat(1 << 20)).repeat(9);
    // It may be cut off before all of it is sent, and then the answer is lost on its way.
    if let Ok(reply) = client.send(head, chunk.as_bytes()) {
        assert_eq!(reply.status, 413);
    }
    assert_decides(&server);
}

#[test]
fn clients_that_send_their_heads_slowly_keep_nobody_waiting() {
    let dir = folder(&[("a.yaml", &refusing("latest"))]);
    let server = start(dir.path(), &["--max-in-flight", "4"]);
    let slow: Vec<TcpStream> = (0..500)
        .map(|_| {
            let mut stream = TcpStream::connect(&server.reviews).unwrap();
            stream.write_all(b"POST /validate HTTP/1.1\r\nHost:").unwrap();
            stream
        })
        .collect();
    assert_decides(&server);
    drop(slow);
}

#[test]
fn idle_connections_keep_nobody_waiting() {
    let dir = folder(&[("a.yaml", &refusing("latest"))]);
    let server = start(dir.path(), &[]);
    // As many as this process may open, up to ten thousand.
    let mut idle = Vec::new();
    while idle.len() < 10_000 {
        let Ok(stream) = TcpStream::connect(&server.reviews) else { break };
        idle.push(stream);
        if idle.len() + 64 > files_allowed() {
            break;
        }
    }
    assert!(idle.len() > 500, "only {} connections", idle.len());
    assert_decides(&server);
}

/// How many files a process may have open.
fn files_allowed() -> usize {
    let limits = std::fs::read_to_string("/proc/self/limits").unwrap_or_default();
    let line = limits.lines().find(|l| l.starts_with("Max open files"));
    line.and_then(|l| l.split_whitespace().nth(3)?.parse().ok()).unwrap_or(1024)
}

#[test]
fn too_many_reviews_at_once_are_refused_clearly() {
    let dir = folder(&[("a.yaml", &refusing("latest"))]);
    let server = start(dir.path(), &["--max-in-flight", "1"]);
    let mut first = TcpStream::connect(&server.reviews).unwrap();
    let head =
        "POST /validate HTTP/1.1\r\nHost: e\r\nContent-Type: application/json\r\nContent-Length: 9\r\n\r\n{";
    first.write_all(head.as_bytes()).unwrap();
    until(
        "the first is under way",
        || get(&server, "/metrics").body,
        |m| m.contains("ephor_requests_running 1"),
    );
    let refused = Client::new(&server.reviews).review("/validate", &review("u", "nginx")).unwrap();
    assert_eq!(refused.status, 429);
    assert!(get(&server, "/metrics").body.contains("ephor_requests_shed_total 1"));
    drop(first);
    until(
        "the first has ended",
        || get(&server, "/metrics").body,
        |m| m.contains("ephor_requests_running 0"),
    );
    assert_decides(&server);
}

/// A policy whose expression costs more than one may.
fn costly(name: &str, failure: &str) -> String {
    let list = "[1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20]";
    let nested = format!(
        "{list}.all(a, {list}.all(b, {list}.all(c, {list}.all(d, {list}.all(e, {list}.all(f, a+b+c+d+e+f > 0))))))"
    );
    format!(
        "apiVersion: policies.kyverno.io/v1\nkind: ValidatingPolicy\nmetadata: {{name: {name}}}\nspec:\n  failurePolicy: {failure}\n  matchConstraints: {{resourceRules: [{{apiGroups: [''], apiVersions: [v1], operations: [CREATE], resources: [pods]}}]}}\n  validations: [{{expression: '{nested}', message: costs too much}}]\n"
    )
}

#[test]
fn a_policy_that_exhausts_its_budget_gets_an_answer_in_time() {
    let dir = folder(&[("a.yaml", &costly("costly", "Fail")), ("b.yaml", &refusing("latest"))]);
    let server = start(dir.path(), &[]);
    let response = ask(&server, "/validate?timeout=10s", &review("u", "nginx:1"));
    assert_eq!(response["allowed"], false, "{response}");
    let message = response["status"]["message"].as_str().unwrap();
    assert!(message.contains("costly") || message.contains("time"), "{message}");
    // Others are decided meanwhile.
    assert_eq!(ask(&server, "/validate/fail", &review("no", "nginx:latest"))["allowed"], false);
}

#[test]
fn while_a_policy_that_must_be_evaluated_cannot_be_requests_are_refused() {
    let broken = refusing("latest").replace("the tag is refused", "{{ unknown_function() }}");
    let broken = broken.replace(
        "pattern:",
        "deny: {conditions: {all: [{key: a, operator: NoSuchOne, value: b}]}}\n      was:",
    );
    let dir = folder(&[("a.yaml", &broken)]);
    let server = start(dir.path(), &[]);
    let ready = get(&server, "/readyz");
    assert_eq!(ready.status, 500, "{}", ready.body);
    assert!(ready.body.contains("a.yaml"), "{}", ready.body);
    let response = ask(&server, "/validate", &review("u", "nginx:1"));
    assert_eq!(response["allowed"], false);
    std::fs::write(dir.path().join("a.yaml"), refusing("latest")).unwrap();
    until("it is repaired", || get(&server, "/readyz"), |r| r.status == 200);
    assert_decides(&server);
}

#[test]
fn the_audit_stream_has_every_decision() {
    let dir = folder(&[("a.yaml", &refusing("latest"))]);
    let log = tempfile::tempdir().unwrap();
    let path = log.path().join("audit.jsonl");
    let server = start(dir.path(), &["--audit-log", path.to_str().unwrap()]);
    for i in 0..20 {
        let tag = if i % 2 == 0 { "1" } else { "latest" };
        ask(&server, "/validate", &review(&format!("u{i}"), &format!("nginx:{tag}")));
    }
    // At once, without a chance to do anything more.
    drop(server);
    let text = std::fs::read_to_string(&path).unwrap();
    let lines: Vec<serde_json::Value> = text.lines().map(|l| serde_json::from_str(l).unwrap()).collect();
    let answers: Vec<_> = lines.iter().filter(|l| l["stage"] == "answer").collect();
    assert_eq!(answers.len(), 20);
    assert!(
        answers
            .iter()
            .enumerate()
            .all(|(i, l)| l["uid"] == format!("u{i}") && l["allowed"] == json!(i % 2 == 0))
    );
}
