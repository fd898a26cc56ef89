//! How fast `ephor lsp` answers on a folder of 500 policies and 2,000 manifests.
//!
//! Prints when the first diagnostics of an open policy and of an open manifest came, how long the
//! whole folder took, how long diagnostics come after a key stroke in a policy and in a manifest,
//! what a request takes meanwhile, and the memory of the process.

#![allow(clippy::panic)]

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use lsp_server::{Connection, Message, Notification, Request, RequestId};
use serde_json::{Value, json};

#[global_allocator]
static ALLOCATOR: ephor::cli::allocator::Allocator = ephor::cli::allocator::Allocator;

const POLICIES: usize = 500;
const MANIFESTS: usize = 2_000;
const STROKES: i32 = 300;

fn main() {
    let folder = tempfile::tempdir().unwrap_or_else(|cause| panic!("no folder: {cause}"));
    let root = folder.path();
    write(root);
    let (own, server) = Connection::memory();
    let server = std::thread::spawn(move || ephor::cli::lsp::serve(&server));
    let mut client = Client { connection: own, next: 0 };
    let start = Instant::now();
    let params = json!({
        "processId": null, "capabilities": {"window": {"workDoneProgress": true}},
        "workspaceFolders": [{"uri": uri(root, ""), "name": "w"}],
    });
    client.request("initialize", params);
    client.notify("initialized", json!({}));
    let (policy, manifest) = ("policies/p7.yaml", "manifests/m7.yaml");
    let texts = [policy, manifest].map(|name| std::fs::read_to_string(root.join(name)).unwrap_or_default());
    for (name, text) in [policy, manifest].iter().zip(&texts) {
        let document = json!({"uri": uri(root, name), "languageId": "yaml", "version": 0, "text": text});
        client.notify("textDocument/didOpen", json!({"textDocument": document}));
    }
    client.diagnostics(&uri(root, policy), 0);
    println!("first diagnostics, policy    {:>8.1} ms", ms(start.elapsed()));
    client.diagnostics(&uri(root, manifest), 0);
    println!("first diagnostics, manifest  {:>8.1} ms", ms(start.elapsed()));
    client.wait(|m| matches!(m, Message::Notification(n) if n.method == "$/progress" && n.params["value"]["kind"] == "end"));
    println!("the whole folder             {:>8.1} ms", ms(start.elapsed()));
    for (name, text) in [policy, manifest].iter().zip(&texts) {
        strokes(&mut client, root, name, text);
    }
    // Every key stroke in a policy makes the manifests of its kinds stale, which are checked
    // behind.
    let at = json!({"textDocument": {"uri": uri(root, policy)}, "position": {"line": 12, "character": 8}});
    let mut taken: Vec<Duration> = (0..STROKES)
        .map(|version| {
            client.change(&uri(root, policy), 10_000 + version, json!({"line": 0, "character": 0}), "#\n");
            let start = Instant::now();
            client.request("textDocument/completion", at.clone());
            start.elapsed()
        })
        .collect();
    report("completion after a stroke   ", &mut taken);
    client.request("shutdown", Value::Null);
    client.notify("exit", Value::Null);
    let _ = server.join();
    println!("memory: {}", memory());
}

/// Key strokes in a text, each of which changes a line.
fn strokes(client: &mut Client, root: &Path, name: &str, text: &str) {
    let line = text.lines().position(|line| line.contains("name:")).unwrap_or(0);
    let end = text.lines().nth(line).map_or(0, str::len);
    let mut taken: Vec<Duration> = (1..=STROKES)
        .map(|version| {
            let start = Instant::now();
            client.change(&uri(root, name), version, json!({"line": line, "character": end}), "x");
            client.diagnostics(&uri(root, name), version);
            start.elapsed()
        })
        .collect();
    report(&format!("key stroke, {name:<17}"), &mut taken);
}

fn report(what: &str, taken: &mut [Duration]) {
    taken.sort();
    let at = |share: f64| {
        let index = (taken.len() as f64 * share) as usize;
        ms(taken.get(index.min(taken.len().saturating_sub(1))).copied().unwrap_or_default())
    };
    println!("{what} {:>7.1} ms median, {:.1} ms p99, {:.1} ms most", at(0.5), at(0.99), at(1.0));
}

fn ms(time: Duration) -> f64 {
    time.as_secs_f64() * 1000.0
}

/// Copies of the policies of this repository, and manifests of the kinds that they are about.
fn write(root: &Path) {
    let mut all: Vec<String> = Vec::new();
    let mut open = vec![PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/policies"))];
    while let Some(path) = open.pop() {
        match std::fs::read_dir(&path) {
            Ok(entries) => open.extend(entries.flatten().map(|entry| entry.path())),
            Err(_) => all.extend(std::fs::read_to_string(&path).ok().filter(|text| {
                text.contains("kind: ClusterPolicy") || text.contains("kind: ValidatingPolicy")
            })),
        }
    }
    all.sort();
    let make = |name: &str, text: &str| {
        let path = root.join(name);
        let _ = std::fs::create_dir_all(path.parent().unwrap_or(root));
        std::fs::write(path, text).unwrap_or_else(|cause| panic!("{name}: {cause}"));
    };
    for (i, text) in all.iter().cycle().take(POLICIES).enumerate() {
        let named = text.replacen("  name: ", &format!("  name: p{i}-"), 1);
        make(&format!("policies/p{i}.yaml"), &named);
    }
    for i in 0..MANIFESTS {
        let containers = "\n      containers:\n      - name: c\n        image: nginx:latest\n        resources: {requests: {cpu: 100m}}\n        securityContext: {privileged: true, runAsNonRoot: false}\n      - name: d\n        image: registry.example.com/x:1.2\n";
        let text = match i % 3 {
            0 => format!(
                "apiVersion: apps/v1\nkind: Deployment\nmetadata:\n  name: m{i}\n  labels: {{app: m{i}}}\nspec:\n  replicas: 2\n  selector: {{matchLabels: {{app: m{i}}}}}\n  template:\n    metadata: {{labels: {{app: m{i}}}}}\n    spec:{}",
                containers.replace("\n  ", "\n    ")
            ),
            1 => format!(
                "apiVersion: v1\nkind: Pod\nmetadata:\n  name: m{i}\nspec:{}",
                containers.replace("\n    ", "\n")
            ),
            _ => format!(
                "apiVersion: v1\nkind: Service\nmetadata:\n  name: m{i}\nspec:\n  type: NodePort\n  selector: {{app: m{i}}}\n  ports:\n  - port: 80\n"
            ),
        };
        make(&format!("manifests/m{i}.yaml"), &text);
    }
}

fn uri(root: &Path, name: &str) -> String {
    format!("file://{}", root.join(name).display()).trim_end_matches('/').to_string()
}

struct Client {
    connection: Connection,
    next: i32,
}

impl Client {
    fn notify(&self, method: &str, params: Value) {
        let _ = self.connection.sender.send(Notification { method: method.into(), params }.into());
    }

    fn change(&self, uri: &str, version: i32, at: Value, text: &str) {
        let changes = json!([{"range": {"start": at, "end": at}, "text": text}]);
        let document = json!({"uri": uri, "version": version});
        self.notify("textDocument/didChange", json!({"textDocument": document, "contentChanges": changes}));
    }

    fn request(&mut self, method: &str, params: Value) {
        self.next += 1;
        let id = RequestId::from(self.next);
        let request = Request { id: id.clone(), method: method.into(), params };
        let _ = self.connection.sender.send(request.into());
        self.wait(|m| matches!(m, Message::Response(response) if response.id == id));
    }

    fn diagnostics(&self, uri: &str, version: i32) {
        self.wait(|m| match m {
            Message::Notification(n) => {
                n.method == "textDocument/publishDiagnostics"
                    && n.params["uri"] == uri
                    && n.params["version"] == version
            }
            _ => false,
        });
    }

    fn wait(&self, is_wanted: impl Fn(&Message) -> bool) {
        let found = self.connection.receiver.iter().any(|message| is_wanted(&message));
        assert!(found, "the server is gone");
    }
}

/// The memory of the process now and at most.
fn memory() -> String {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let lines = status.lines().filter(|line| line.starts_with("VmHWM") || line.starts_with("VmRSS"));
    lines.map(|line| line.split_whitespace().collect::<Vec<_>>().join(" ")).collect::<Vec<_>>().join(", ")
}
