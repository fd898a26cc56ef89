//! What policies may call from the server.

use std::io::{BufRead, BufReader, Write};
use std::net::TcpListener;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::Value;

use crate::server::{Server, post, review, start};

/// A service on the loopback interface, and how often it was called. `/to/URL` redirects to the
/// URL.
fn service() -> (u16, Arc<AtomicUsize>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let calls = Arc::new(AtomicUsize::new(0));
    let counted = calls.clone();
    std::thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            counted.fetch_add(1, Ordering::SeqCst);
            let mut first = String::new();
            let mut lines = BufReader::new(stream.try_clone().unwrap());
            lines.read_line(&mut first).unwrap();
            let head = match first.split(' ').nth(1).and_then(|path| path.strip_prefix("/to/")) {
                Some(url) => format!("302 Found\r\nLocation: {url}"),
                None => "200 OK".into(),
            };
            let body = "{\"token\":\"of-the-machine\"}";
            let length = body.len();
            let _ = write!(
                stream,
                "HTTP/1.1 {head}\r\nConnection: close\r\nContent-Length: {length}\r\n\r\n{body}"
            );
        }
    });
    (port, calls)
}

fn calling(url: &str) -> String {
    format!(
        "apiVersion: kyverno.io/v1\nkind: ClusterPolicy\nmetadata: {{name: calls}}\nspec:\n  rules:\n  - name: r\n    match: {{any: [{{resources: {{kinds: [Pod]}}}}]}}\n    context: [{{name: x, apiCall: {{service: {{url: \"{url}\"}}}}}}]\n    validate:\n      failureAction: Enforce\n      message: \"got {{{{ x.token }}}}\"\n      deny: {{conditions: {{any: [{{key: \"{{{{ x.token }}}}\", operator: Equals, value: of-the-machine}}]}}}}\n"
    )
}

fn by_expression(url: &str) -> String {
    format!(
        "apiVersion: policies.kyverno.io/v1\nkind: ValidatingPolicy\nmetadata: {{name: calls}}\nspec:\n  matchConstraints: {{resourceRules: [{{apiGroups: [''], apiVersions: [v1], operations: [CREATE], resources: [pods]}}]}}\n  validations: [{{expression: 'http.Get(\"{url}\").token == \"a\"', message: refused}}]\n"
    )
}

fn answer(policy: &str, more: &[&str]) -> (bool, String) {
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("p.yaml"), policy).unwrap();
    let server: Server = start(dir.path(), more);
    let answer: Value = post(&server, "/validate", &review("u1", "nginx:1"));
    (answer["allowed"] == true, answer["status"]["message"].as_str().unwrap_or_default().into())
}

#[test]
fn the_machine_itself_is_called_neither_by_context_entries_nor_by_expressions() {
    let (port, calls) = service();
    for host in ["127.0.0.1", "localhost", "[::ffff:127.0.0.1]", "0.0.0.0"] {
        for policy in
            [calling(&format!("http://{host}:{port}/x")), by_expression(&format!("http://{host}:{port}/x"))]
        {
            let (allowed, message) = answer(&policy, &[]);
            assert!(
                !allowed && message.contains("blocked") && !message.contains("of-the-machine"),
                "{message}"
            );
        }
    }
    assert_eq!(calls.load(Ordering::SeqCst), 0);
}

#[test]
fn lists_of_operators_say_what_policies_may_call() {
    let (port, calls) = service();
    let (allowed, message) = answer(&calling(&format!("http://127.0.0.1:{port}/x")), &["--http-blocklist="]);
    assert!(!allowed && message.contains("got of-the-machine"), "{message}");
    assert_eq!(calls.load(Ordering::SeqCst), 1);
    let redirected = calling(&format!("http://127.0.0.1:{port}/to/http://127.0.0.2:{port}/x"));
    let (allowed, message) = answer(&redirected, &["--http-blocklist=127.0.0.2"]);
    assert!(!allowed && message.contains("IP 127.0.0.2 falls in blocked range 127.0.0.2/32"), "{message}");
    let only = format!("--http-allowlist=http://127.0.0.1:{port}/api");
    let (allowed, message) =
        answer(&calling(&format!("http://127.0.0.1:{port}/other")), &["--http-blocklist=", &only]);
    assert!(!allowed && message.contains("is not permitted: no matching allowlist entry"), "{message}");
    assert_eq!(calls.load(Ordering::SeqCst), 2);
}

#[test]
fn a_bundle_of_certificates_that_cannot_be_used_is_an_error() {
    let policy = calling("https://192.0.2.1/x").replace("\"}}}]", "\", caBundle: junk}}}]");
    let (allowed, message) = answer(&policy, &[]);
    assert!(!allowed && message.contains("failed to parse PEM CA bundle for APICall x"), "{message}");
}
