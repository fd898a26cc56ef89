//! What goes wrong: clients, bodies, policies.

use std::io::Write;
use std::net::TcpStream;
use std::time::{Duration, Instant};

use serde_json::json;

use crate::server::{Client, Reply, get, post, refusing, review, start, until};

fn folder(policies: &[(&str, &str)]) -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    for (name, text) in policies {
        std::fs::write(dir.path().join(name), text).unwrap();
    }
    dir
}

/// The server still decides, and rightly.
fn assert_decides(server: &crate::server::Server) {
    assert_eq!(post(server, "/validate", &review("ok", "nginx:1"))["allowed"], true);
    assert_eq!(post(server, "/validate", &review("no", "nginx:latest"))["allowed"], false);
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
    // A body that is not read closes its connection.
    let mut client = Client::new(&server.reviews);
    let head = "GET /validate HTTP/1.1\r\nHost: ephor\r\n\r\n";
    assert_eq!(client.send(head, b"").unwrap().status, 405);
    assert_decides(&server);
}

#[test]
fn a_body_that_ends_early_or_has_a_wrong_length_does_no_harm() {
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
        |m| m.contains("ephor_request_bodies_pending 0"),
    );
}

#[test]
fn a_body_above_the_limit_is_refused() {
    let dir = folder(&[("a.yaml", &refusing("latest"))]);
    let server = start(dir.path(), &["--max-body-bytes", "8388608"]);
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
fn what_an_api_server_may_send_is_decided() {
    let dir = folder(&[("a.yaml", &refusing("latest"))]);
    let server = start(dir.path(), &[]);
    // An object of 3 MB, old and new, each character of which takes six.
    let mut large = review("u", "nginx:latest");
    let escaped = "\\u003c".repeat(3 << 20);
    large["request"]["object"]["metadata"]["annotations"] = json!({"a": "@"});
    large["request"]["oldObject"] = large["request"]["object"].clone();
    large["request"]["oldObject"]["spec"]["containers"][0]["image"] = json!("nginx:1");
    large["request"]["operation"] = json!("UPDATE");
    let body = large.to_string().replace("\"@\"", &format!("\"{escaped}\""));
    assert!(body.len() > 36 << 20);
    let mut client = Client::new(&server.reviews);
    let reply = client.post("/validate?timeout=30s", "application/json", body.as_bytes()).unwrap();
    assert_eq!(reply.response()["allowed"], false, "the image is refused");
    assert_decides(&server);
}

#[test]
fn clients_that_send_their_heads_slowly_do_not_block_others() {
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
fn unused_connections_do_not_block_others() {
    let dir = folder(&[("a.yaml", &refusing("latest"))]);
    let server = start(dir.path(), &[]);
    // As many as this process may open, up to ten thousand.
    let mut unused = Vec::new();
    while unused.len() < 10_000 {
        let Ok(stream) = TcpStream::connect(&server.reviews) else { break };
        unused.push(stream);
        if unused.len() + 64 > files_allowed() {
            break;
        }
    }
    assert!(unused.len() > 500, "only {} connections", unused.len());
    assert_decides(&server);
}

/// How many files a process may have open.
fn files_allowed() -> usize {
    let limits = std::fs::read_to_string("/proc/self/limits").unwrap_or_default();
    let line = limits.lines().find(|l| l.starts_with("Max open files"));
    line.and_then(|l| l.split_whitespace().nth(3)?.parse().ok()).unwrap_or(1024)
}

/// A policy that takes long, and a review for it.
fn lengthy() -> (String, serde_json::Value) {
    let policy = "apiVersion: kyverno.io/v1
kind: ClusterPolicy
metadata: {name: lengthy}
spec:
  rules:
  - name: nested
    match: {any: [{resources: {kinds: [Pod]}}]}
    validate:
      failureAction: Enforce
      message: m
      foreach:
      - list: request.object.spec.containers[0].args
        foreach:
        - list: request.object.spec.containers[0].args
          foreach:
          - list: request.object.spec.containers[0].args
            deny: {conditions: {any: [{key: '{{ element }}', operator: Equals, value: no}]}}
";
    let mut review = review("u", "nginx:1");
    let args: Vec<String> = (0..1000).map(|i| format!("--flag-{i}")).collect();
    review["request"]["object"]["spec"]["containers"][0]["args"] = json!(args);
    (policy.into(), review)
}

#[test]
fn too_many_reviews_at_once_are_refused_clearly() {
    let (policy, long) = lengthy();
    let dir = folder(&[("a.yaml", &policy)]);
    let server = start(dir.path(), &["--max-in-flight", "1"]);
    let mut first = Client::new(&server.reviews);
    let body = long.to_string();
    let head = format!(
        "POST /validate?timeout=2s HTTP/1.1\r\nHost: e\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n",
        body.len()
    );
    first.write(head.as_bytes()).unwrap();
    first.write(body.as_bytes()).unwrap();
    until(
        "the first is under way",
        || get(&server, "/metrics").body,
        |m| m.contains("ephor_requests_in_flight 1"),
    );
    let refused = Client::new(&server.reviews).review("/validate", &review("u", "nginx")).unwrap();
    assert_eq!(refused.status, 429);
    let metrics = get(&server, "/metrics").body;
    assert!(metrics.contains("ephor_requests_shed_total 1"), "{metrics}");
    assert!(metrics.contains("ephor_reviews_refused_total{reason=\"too_many\"} 1"), "{metrics}");
    assert_not_allowed(&first.reply().unwrap());
}

/// What took too long is refused by its failure policy; where no thread was free in time, the call
/// has failed.
fn assert_not_allowed(reply: &Reply) {
    if reply.status != 504 {
        let response = reply.response();
        assert_eq!((&response["allowed"], &response["status"]["code"]), (&json!(false), &json!(504)));
    }
}

#[test]
fn short_reviews_are_answered_while_long_evaluations_run_on_every_thread() {
    let (policy, long) = lengthy();
    let dir = folder(&[("a.yaml", &policy), ("b.yaml", &refusing("latest"))]);
    let server = start(dir.path(), &[]);
    // Twice as many as there are threads that read and answer.
    let threads = std::thread::available_parallelism().map_or(4, |n| n.get().max(2) * 2) + 2;
    let count = 2 * threads;
    let mut body = long.to_string();
    body.insert_str(0, &format!(
        "POST /validate?timeout=30s HTTP/1.1\r\nHost: e\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n",
        body.len()
    ));
    let start_one = |_| {
        let mut client = Client::new(&server.reviews);
        client.write(body.as_bytes()).unwrap();
        client
    };
    let clients: Vec<Client> = (0..count).map(start_one).collect();
    let in_flight = || get(&server, "/metrics").body;
    let line = format!("ephor_requests_in_flight {count}\n");
    until("they are under way", in_flight, |m| m.contains(&line));
    let mut short = Client::new(&server.reviews);
    for (image, allowed) in [("nginx:1", true), ("nginx:latest", false)].repeat(10) {
        let response = short.review("/validate?timeout=30s", &review("u", image)).unwrap().response();
        assert_eq!(response["allowed"], allowed);
    }
    assert!(in_flight().contains(&line), "no long one has ended before");
    drop(clients);
}

#[test]
fn evaluations_that_take_too_long_are_answered_in_time_and_hold_up_nothing_else() {
    let (policy, long) = lengthy();
    let dir = folder(&[("a.yaml", &policy), ("b.yaml", &refusing("latest"))]);
    let server = start(dir.path(), &[]);
    let clients: Vec<_> = (0..16)
        .map(|_| {
            let (address, long) = (server.reviews.clone(), long.clone());
            std::thread::spawn(move || {
                let began = Instant::now();
                let reply = Client::new(&address).review("/validate?timeout=2s", &long).unwrap();
                (began.elapsed(), reply)
            })
        })
        .collect();
    until(
        "they are under way",
        || get(&server, "/metrics").body,
        |m| m.contains("ephor_requests_in_flight 16"),
    );
    for path in ["/livez", "/readyz", "/metrics"] {
        let began = Instant::now();
        assert_eq!(get(&server, path).status, 200);
        assert!(began.elapsed() < Duration::from_secs(1), "{path}: {:?}", began.elapsed());
    }
    for client in clients {
        let (took, reply) = client.join().unwrap();
        assert!(took < Duration::from_secs(5), "{took:?}");
        assert_not_allowed(&reply);
    }
    let evaluate = || Client::new(&server.reviews).review("/validate", &review("u", "nginx:latest")).unwrap();
    assert_eq!(evaluate().response()["allowed"], false);
}

#[test]
fn bodies_that_do_not_arrive_take_no_place() {
    let dir = folder(&[("a.yaml", &refusing("latest"))]);
    let server = start(dir.path(), &["--max-in-flight", "4", "--max-connections", "2000"]);
    let head = "POST /validate HTTP/1.1\r\nHost: e\r\nContent-Type: application/json\r\nContent-Length: 900\r\n\r\n{";
    let slow: Vec<TcpStream> = (0..530)
        .map(|_| {
            let mut stream = TcpStream::connect(&server.reviews).unwrap();
            stream.write_all(head.as_bytes()).unwrap();
            stream
        })
        .collect();
    let streams: Vec<TcpStream> = (0..3).map(|_| http2::slow_streams(&server.reviews, 200)).collect();
    for _ in 0..100 {
        assert_decides(&server);
    }
    // Those that wait for nothing are given up.
    until(
        "they are given up",
        || get(&server, "/metrics").body,
        |m| {
            m.contains("ephor_reviews_refused_total{reason=\"timeout\"}")
                && m.contains("ephor_request_bodies_pending 0")
        },
    );
    drop((slow, streams));
}

/// As much of HTTP/2 as it takes to begin requests.
mod http2 {
    use std::io::Write;
    use std::net::TcpStream;

    fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
        let length = u32::try_from(payload.len()).unwrap().to_be_bytes();
        [&length[1..], &[kind, flags], &stream.to_be_bytes(), payload].concat()
    }

    /// A connection with requests of which one byte of the body has come.
    pub fn slow_streams(address: &str, count: u32) -> TcpStream {
        // POST, http, then :path, :authority and content-type as literals.
        let mut head = vec![0x83, 0x86];
        for (index, text) in [(&[0x04][..], "/validate"), (&[0x01], "e"), (&[0x0f, 0x10], "application/json")]
        {
            head.extend_from_slice(index);
            head.push(u8::try_from(text.len()).unwrap());
            head.extend_from_slice(text.as_bytes());
        }
        let mut bytes = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".to_vec();
        bytes.extend(frame(4, 0, 0, &[]));
        for stream in (0..count).map(|i| 2 * i + 1) {
            bytes.extend(frame(1, 4, stream, &head));
            bytes.extend(frame(0, 0, stream, b"{"));
        }
        let mut connection = TcpStream::connect(address).unwrap();
        connection.write_all(&bytes).unwrap();
        connection
    }
}

#[test]
fn bytes_of_slow_clients_are_bounded_and_make_way_for_others() {
    let dir = folder(&[("a.yaml", &refusing("latest"))]);
    let limits = ["--max-body-bytes", "8388608", "--max-buffered-bytes", "16777216"];
    let server = start(dir.path(), &limits);
    let head = "POST /validate HTTP/1.1\r\nHost: e\r\nContent-Type: application/json\r\nContent-Length: 8000000\r\n\r\n";
    let part = vec![b' '; 3_000_000];
    let slow: Vec<TcpStream> = (0..40)
        .map(|_| {
            let mut stream = TcpStream::connect(&server.reviews).unwrap();
            stream.write_all(head.as_bytes()).unwrap();
            // It may be refused already.
            let _ = stream.write_all(&part);
            stream
        })
        .collect();
    let buffered = || {
        let metrics = get(&server, "/metrics").body;
        let line = metrics.lines().find_map(|l| l.strip_prefix("ephor_buffered_bytes ")).unwrap().to_string();
        line.parse::<usize>().unwrap()
    };
    until("they hold bytes", buffered, |bytes| *bytes > 6_000_000);
    let mut large = review("u", "nginx:latest");
    large["request"]["object"]["metadata"]["annotations"] = json!({"a": "x".repeat(4_000_000)});
    for _ in 0..20 {
        assert_decides(&server);
        assert!(buffered() <= 16 << 20, "{}", buffered());
        until(
            "a large one is decided",
            || Client::new(&server.reviews).review("/validate", &large).map_or(0, |reply| reply.status),
            |status| *status == 200,
        );
    }
    drop(slow);
    until("nothing is held", buffered, |bytes| *bytes == 0);
}

#[test]
fn what_is_refused_before_policies_is_counted_logged_and_audited() {
    let dir = folder(&[("a.yaml", &refusing("latest"))]);
    let log = tempfile::tempdir().unwrap();
    let path = log.path().join("audit.jsonl");
    let server = start(dir.path(), &["--audit-log", path.to_str().unwrap(), "--max-body-bytes", "100000"]);
    let json = "application/json";
    let deep = format!("{{\"request\":{}1{}}}", "[".repeat(20_000), "]".repeat(20_000));
    for (path, kind, body, reason) in [
        ("/validate", json, String::new(), "bad_request"),
        ("/validate", "text/plain", "{}".into(), "content_type"),
        ("/validate", json, deep, "undecodable"),
        ("/validate", json, " ".repeat(200_000), "too_large"),
        ("/elsewhere", json, "{}".into(), "unknown_path"),
    ] {
        let reply = Client::new(&server.reviews).post(path, kind, body.as_bytes());
        let status = reply.map(|r| r.status).unwrap_or(413);
        assert!(status >= 400, "{reason}");
        let line = format!("ephor_reviews_refused_total{{reason=\"{reason}\"}} 1");
        until(reason, || get(&server, "/metrics").body, |m| m.contains(&line));
        let lines = || std::fs::read_to_string(log.path().join("audit.jsonl")).unwrap();
        let text = until(reason, lines, |text| text.contains(&format!("\"reason\":\"{reason}\"")));
        let line: serde_json::Value = serde_json::from_str(text.lines().last().unwrap()).unwrap();
        assert_eq!(
            (&line["stage"], &line["path"], &line["count"]),
            (&json!("refused"), &json!(path), &json!(1))
        );
        let logged = || server.log.lock().unwrap().join("\n");
        until(reason, logged, |text| text.contains("WARN") && text.contains(reason));
    }
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
    let response = post(&server, "/validate?timeout=10s", &review("u", "nginx:1"));
    assert_eq!(response["allowed"], false, "{response}");
    let message = response["status"]["message"].as_str().unwrap();
    assert!(message.contains("costly") || message.contains("time"), "{message}");
    // Others are decided meanwhile.
    assert_eq!(post(&server, "/validate/fail", &review("no", "nginx:latest"))["allowed"], false);
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
    let response = post(&server, "/validate", &review("u", "nginx:1"));
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
        post(&server, "/validate", &review(&format!("u{i}"), &format!("nginx:{tag}")));
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

#[test]
fn values_of_secrets_are_in_answers_alone() {
    let policy = "apiVersion: kyverno.io/v1
kind: ClusterPolicy
metadata: {name: secrets}
spec:
  emitWarning: true
  rules:
  - name: copy
    match: {any: [{resources: {kinds: [Secret]}}]}
    mutate: {patchStrategicMerge: {data: {copy: '{{ request.object.data.password }}'}, metadata: {labels: {l: '{{ base64_decode(request.object.data.password) }}'}}}}
  - name: refuse
    match: {any: [{resources: {kinds: [Secret]}}]}
    validate:
      failureAction: Enforce
      message: 'not {{ base64_decode(request.object.data.password) }}, {{ request.oldObject.data.password }}'
      deny: {conditions: {any: [{key: '{{ request.object.data.password }}', operator: Equals, value: aHVudGVyMg==}]}}
";
    let dir = folder(&[("a.yaml", policy)]);
    let log = tempfile::tempdir().unwrap();
    let path = log.path().join("audit.jsonl");
    let server = start(dir.path(), &["--audit-log", path.to_str().unwrap(), "--log-level", "trace"]);
    let mut secret = review("u", "nginx");
    let secret_of = |password: &str| json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s", "namespace": "shop"}, "data": {"password": password}});
    let request = &mut secret["request"];
    for key in ["kind", "requestKind"] {
        request[key]["kind"] = json!("Secret");
    }
    for key in ["resource", "requestResource"] {
        request[key]["resource"] = json!("secrets");
    }
    request["operation"] = json!("UPDATE");
    request["object"] = secret_of("aHVudGVyMg==");
    request["oldObject"] = secret_of("b2xkLW9uZQ==");
    let changed = post(&server, "/mutate", &secret);
    use base64::Engine;
    let patch = base64::engine::general_purpose::STANDARD.decode(changed["patch"].as_str().unwrap()).unwrap();
    let patch = String::from_utf8(patch).unwrap();
    assert!(patch.contains("aHVudGVyMg==") && patch.contains("hunter2"), "{patch}");
    let denied = post(&server, "/validate", &secret)["status"]["message"].to_string();
    assert!(denied.contains("hunter2") && denied.contains("b2xkLW9uZQ=="), "{denied}");
    assert!(!server.log.lock().unwrap().iter().any(|line| line.contains("hunter2")));
    drop(server);
    let text = std::fs::read_to_string(&path).unwrap();
    assert_eq!(text.lines().count(), 2);
    for value in ["aHVudGVyMg==", "hunter2", "b2xkLW9uZQ=="] {
        assert!(!text.contains(value), "{text}");
    }
    assert!(text.contains("/data/copy") && text.contains("not **REDACTED**, **REDACTED**"), "{text}");
}

#[test]
fn objects_that_nest_as_deeply_as_an_api_server_allows_are_decided() {
    let matching = "match: {any: [{resources: {kinds: [Widget]}}]}";
    let policies = format!(
        "apiVersion: kyverno.io/v1
kind: ClusterPolicy
metadata: {{name: widgets}}
spec:
  emitWarning: true
  rules:
  - name: label
    {matching}
    mutate: {{patchStrategicMerge: {{metadata: {{labels: {{a: b}}}}}}}}
  - name: good
    {matching}
    validate: {{failureAction: Enforce, message: bad, pattern: {{metadata: {{labels: {{good: 'true'}}}}}}}}
  - name: query
    {matching}
    validate:
      failureAction: Enforce
      message: query
      deny: {{conditions: {{any: [{{key: '{{{{ length(to_string(request.object)) }}}}', operator: LessThan, value: 10}}]}}}}
---
apiVersion: policies.kyverno.io/v1
kind: ValidatingPolicy
metadata: {{name: widgets}}
spec:
  matchConstraints: {{resourceRules: [{{apiGroups: ['example.com'], apiVersions: [v1], operations: [CREATE], resources: [widgets]}}]}}
  validations: [{{expression: 'object.metadata.labels.good == \"true\" && object == object', message: bad}}]
"
    );
    let dir = folder(&[("a.yaml", &policies)]);
    let log = tempfile::tempdir().unwrap();
    let path = log.path().join("audit.jsonl");
    let server = start(dir.path(), &["--audit-log", path.to_str().unwrap()]);
    let depth = 9_990 / 2;
    for (good, operation) in [("true", "CREATE"), ("false", "CREATE"), ("false", "UPDATE")] {
        let mut widget = review("u", "nginx");
        let request = &mut widget["request"];
        for key in ["kind", "requestKind"] {
            request[key] = json!({"group": "example.com", "version": "v1", "kind": "Widget"});
        }
        for key in ["resource", "requestResource"] {
            request[key] = json!({"group": "example.com", "version": "v1", "resource": "widgets"});
        }
        request["operation"] = json!(operation);
        request["object"] = json!({"apiVersion": "example.com/v1", "kind": "Widget", "spec": "@",
            "metadata": {"name": "w", "namespace": "shop", "labels": {"good": good}}});
        if operation == "UPDATE" {
            request["oldObject"] = request["object"].clone();
            request["oldObject"]["metadata"]["labels"]["good"] = json!("true");
        }
        let deep = format!("{}1{}", "{\"a\":[".repeat(depth), "]}".repeat(depth));
        let body = widget.to_string().replace("\"@\"", &deep);
        let mut client = Client::new(&server.reviews);
        for path in ["/validate?timeout=30s", "/mutate?timeout=30s"] {
            let reply = client.post(path, "application/json", body.as_bytes()).unwrap();
            let is_allowed = good == "true" || path.starts_with("/mutate");
            assert_eq!(reply.response()["allowed"], is_allowed, "{path} {}", &reply.body);
        }
    }
}
