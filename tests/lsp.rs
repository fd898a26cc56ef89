//! `ephor lsp`: exchanges of messages over a connection in memory, and with the program itself.

#![allow(clippy::panic, clippy::expect_used)]

use std::collections::VecDeque;
use std::io::{Read, Write};
use std::process::Stdio;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use lsp_server::{Connection, Message, Notification, Request, RequestId, Response};
use serde_json::{Value, json};

use super::common::Files;

/// A client of a server that runs on another thread.
struct Client {
    connection: Option<Connection>,
    server: Option<JoinHandle<i32>>,
    next: i32,
    /// Messages that were not waited for.
    pending: VecDeque<Message>,
    files: Files,
}

const LIMIT: Duration = Duration::from_secs(60);

const POLICY: &str = "apiVersion: kyverno.io/v1
kind: ClusterPolicy
metadata:
  name: no-latest
spec:
  rules:
  - name: tag
    match:
      any:
      - resources:
          kinds: [Pod]
    validate:
      failureAction: Enforce
      message: pin the tag
      pattern:
        spec:
          containers:
          - image: \"!*:latest\"
";

const POD: &str = "apiVersion: v1
kind: Pod
metadata:
  name: web
spec:
  containers:
  - name: c
    image: nginx:latest
";

const TEST: &str = "apiVersion: cli.kyverno.io/v1alpha1
kind: Test
metadata:
  name: t
policies: [../policy.yaml]
resources: [../sample/pod.yaml]
results:
- policy: no-latest
  rule: tag
  resources: [web]
  kind: Pod
  result: fail
";

impl Client {
    /// A client of a server that has not been initialised.
    fn connected(files: &[(&str, &str)]) -> Client {
        let (own, server) = Connection::memory();
        let server = std::thread::spawn(move || ephor::cli::lsp::serve(&server));
        let (connection, server) = (Some(own), Some(server));
        Client { connection, server, next: 0, pending: VecDeque::new(), files: Files::new(files) }
    }

    /// A client of a server whose workspace has files.
    fn new(files: &[(&str, &str)]) -> Client {
        Client::with(files, json!({}), json!({}))
    }

    fn with(files: &[(&str, &str)], capabilities: Value, options: Value) -> Client {
        let mut client = Client::connected(files);
        let folder = client.uri("");
        let params = json!({
            "processId": null, "rootUri": null, "capabilities": capabilities, "initializationOptions": options,
            "workspaceFolders": [{"uri": folder, "name": "w"}],
        });
        client.request("initialize", params).expect("an answer");
        client.notify("initialized", json!({}));
        client
    }

    fn uri(&self, name: &str) -> String {
        format!("file://{}", self.files.path(name).display()).trim_end_matches('/').to_string()
    }

    fn send(&self, message: impl Into<Message>) {
        self.connection.as_ref().expect("a connection").sender.send(message.into()).expect("a server");
    }

    fn notify(&self, method: &str, params: Value) {
        self.send(Notification { method: method.into(), params });
    }

    fn start(&mut self, method: &str, params: Value) -> RequestId {
        self.next += 1;
        let id = RequestId::from(self.next);
        self.send(Request { id: id.clone(), method: method.into(), params });
        id
    }

    /// The next message that is wanted; others are left for later.
    fn wait(&mut self, is_wanted: impl Fn(&Message) -> bool) -> Message {
        if let Some(at) = self.pending.iter().position(&is_wanted) {
            return self.pending.remove(at).expect("a message");
        }
        let end = Instant::now() + LIMIT;
        loop {
            let left = end.saturating_duration_since(Instant::now());
            let receiver = &self.connection.as_ref().expect("a connection").receiver;
            let message = receiver.recv_timeout(left).expect("a message in time");
            if is_wanted(&message) {
                return message;
            }
            self.pending.push_back(message);
        }
    }

    fn answer(&mut self, id: RequestId) -> Result<Value, (i32, String)> {
        let is_answer = |m: &Message| matches!(m, Message::Response(response) if response.id == id);
        match self.wait(is_answer) {
            Message::Response(Response { response_result: Ok(result), .. }) => Ok(result),
            Message::Response(Response { response_result: Err(e), .. }) => Err((e.code, e.message)),
            _ => unreachable!(),
        }
    }

    fn request(&mut self, method: &str, params: Value) -> Result<Value, (i32, String)> {
        let id = self.start(method, params);
        self.answer(id)
    }

    /// The parameters of the next notification of a method.
    fn notified(&mut self, method: &str, is_wanted: impl Fn(&Value) -> bool) -> Value {
        let is_it =
            |m: &Message| matches!(m, Message::Notification(n) if n.method == method && is_wanted(&n.params));
        match self.wait(is_it) {
            Message::Notification(n) => n.params,
            _ => unreachable!(),
        }
    }

    fn open(&self, name: &str, text: &str) {
        let document = json!({"uri": self.uri(name), "languageId": "yaml", "version": 1, "text": text});
        self.notify("textDocument/didOpen", json!({"textDocument": document}));
    }

    fn change(&self, name: &str, version: i32, range: Value, text: &str) {
        let document = json!({"uri": self.uri(name), "version": version});
        let changes = json!([{"range": range, "text": text}]);
        self.notify("textDocument/didChange", json!({"textDocument": document, "contentChanges": changes}));
    }

    /// The diagnostics of a version of a file, `CODE LINE:CHARACTER-LINE:CHARACTER`.
    fn diagnostics(&mut self, name: &str, version: Option<i32>) -> Vec<String> {
        let uri = self.uri(name);
        let found = self.notified("textDocument/publishDiagnostics", |params| {
            params["uri"] == uri.as_str() && params["version"].as_i64() == version.map(i64::from)
        });
        let at = |at: &Value| format!("{}:{}", at["line"], at["character"]);
        let one = |d: &Value| {
            let code = d["code"].as_str().unwrap_or_default();
            format!("{code} {}-{}", at(&d["range"]["start"]), at(&d["range"]["end"]))
        };
        found["diagnostics"].as_array().expect("a list").iter().map(one).collect()
    }

    fn at(&self, name: &str, line: u32, character: u32) -> Value {
        json!({"textDocument": {"uri": self.uri(name)}, "position": {"line": line, "character": character}})
    }

    /// Shuts the server down; returns its exit code.
    fn end(mut self) -> i32 {
        self.request("shutdown", Value::Null).expect("an answer");
        self.notify("exit", Value::Null);
        self.server.take().expect("a server").join().expect("no fault")
    }
}

fn range(line: u32, start: u32, end: u32) -> Value {
    json!({"start": {"line": line, "character": start}, "end": {"line": line, "character": end}})
}

#[test]
fn a_session_begins_with_initialize_and_ends_with_exit() {
    let mut client = Client::connected(&[]);
    let early = client.request("textDocument/hover", json!({}));
    assert_eq!(early, Err((-32002, "`initialize` comes first".into())));
    let wrong = client.request("initialize", json!({"capabilities": 1}));
    assert_eq!(wrong.map_err(|e| e.0), Err(-32602));
    let encodings = json!({"general": {"positionEncodings": ["utf-16", "utf-8"]}});
    let answer = client.request("initialize", json!({"processId": null, "capabilities": encodings})).unwrap();
    assert_eq!(answer["capabilities"]["positionEncoding"], "utf-8");
    assert_eq!(answer["serverInfo"]["name"], "ephor");
    assert_eq!(client.request("no/such", json!({})).map_err(|e| e.0), Err(-32601));
    assert_eq!(client.request("textDocument/hover", json!([1])).map_err(|e| e.0), Err(-32602));
    client.notify("no/such", json!({"a": 1}));
    client.notify("textDocument/didChange", json!("x"));
    client.request("shutdown", Value::Null).unwrap();
    assert_eq!(client.request("textDocument/hover", json!({})).map_err(|e| e.0), Err(-32600));
    client.notify("exit", Value::Null);
    assert_eq!(client.server.take().unwrap().join().unwrap(), 0);
}

#[test]
fn an_end_without_shutdown_is_an_error() {
    let mut client = Client::new(&[]);
    client.notify("exit", Value::Null);
    assert_eq!(client.server.take().unwrap().join().unwrap(), 1);
    let mut client = Client::new(&[]);
    client.connection = None;
    assert_eq!(client.server.take().unwrap().join().unwrap(), 1);
}

#[test]
fn a_manifest_is_checked_against_the_policies_of_the_workspace_as_both_change() {
    let mut client = Client::new(&[("policy.yaml", POLICY)]);
    client.open("pod.yaml", POD);
    assert_eq!(client.diagnostics("pod.yaml", Some(1)), ["no-latest 7:11-7:23"]);
    client.open("policy.yaml", POLICY);
    assert!(client.diagnostics("policy.yaml", Some(1)).is_empty());
    // A key that is half typed: the policy has a finding, the pod has what it had.
    client.change("policy.yaml", 2, range(14, 6, 13), "patern");
    assert_eq!(client.diagnostics("policy.yaml", Some(2)), ["unknown-field 14:6-14:12"]);
    client.change("policy.yaml", 3, range(14, 6, 12), "pattern");
    assert!(client.diagnostics("policy.yaml", Some(3)).is_empty());
    client.change("pod.yaml", 2, range(7, 17, 23), "1.27");
    assert!(client.diagnostics("pod.yaml", Some(2)).is_empty());
    assert_eq!(client.end(), 0);
}

#[test]
fn columns_count_units_of_utf_16_unless_the_client_can_do_better() {
    let text = POD.replace("name: web", "labels: {a: \"😀é\", b: x}\n  name: web").replace("Pod", "Pod # 😀");
    let policy = POLICY.replace(
        "spec:\n          containers:\n          - image: \"!*:latest\"",
        "metadata: {labels: {b: z}}",
    );
    for (encodings, column) in [(json!([]), 24), (json!(["utf-8"]), 27)] {
        let capabilities = json!({"general": {"positionEncodings": encodings}});
        let mut client = Client::with(&[("policy.yaml", &policy)], capabilities, json!({}));
        client.open("pod.yaml", &text);
        assert_eq!(
            client.diagnostics("pod.yaml", Some(1)),
            [format!("no-latest 3:{column}-3:{}", column + 1)]
        );
        // A position past the end of the line is its end, one inside of a character its beginning.
        client.change("pod.yaml", 2, range(3, 900, 900), " # x");
        client.change("pod.yaml", 3, range(3, 14, 14), "");
        assert_eq!(client.diagnostics("pod.yaml", Some(3)).len(), 1);
        assert_eq!(client.end(), 0);
    }
}

#[test]
fn files_on_the_disk_are_read_when_they_change() {
    let mut client = Client::new(&[("policy.yaml", POLICY), ("pod.yaml", POD)]);
    assert_eq!(client.diagnostics("pod.yaml", None).len(), 1);
    client.files.write("policy.yaml", POLICY.replace(":latest", ":old").as_bytes());
    let changed = |kind: i32| json!({"changes": [{"uri": "URI", "type": kind}]});
    let uri = client.uri("policy.yaml");
    let with_uri = |mut params: Value| {
        params["changes"][0]["uri"] = json!(uri);
        params
    };
    client.notify("workspace/didChangeWatchedFiles", with_uri(changed(2)));
    assert!(client.diagnostics("pod.yaml", None).is_empty());
    client.files.write("policy.yaml", POLICY.as_bytes());
    client.notify("workspace/didChangeWatchedFiles", with_uri(changed(2)));
    assert_eq!(client.diagnostics("pod.yaml", None).len(), 1);
    std::fs::remove_file(client.files.path("policy.yaml")).unwrap();
    client.notify("workspace/didChangeWatchedFiles", with_uri(changed(3)));
    assert!(client.diagnostics("pod.yaml", None).is_empty());
    assert_eq!(client.end(), 0);
}

#[test]
fn requests_have_answers() {
    let mut client =
        Client::new(&[("policy.yaml", POLICY), ("t/kyverno-test.yaml", TEST), ("sample/pod.yaml", POD)]);
    client.open("policy.yaml", POLICY);
    client.open("t/kyverno-test.yaml", TEST);
    client.diagnostics("t/kyverno-test.yaml", Some(1));
    let hover = client.request("textDocument/hover", client.at("policy.yaml", 12, 10)).unwrap();
    assert!(hover["contents"]["value"].as_str().unwrap().starts_with("**failureAction**"), "{hover}");
    assert_eq!(hover["range"], range(12, 6, 19));
    let items = client.request("textDocument/completion", client.at("policy.yaml", 12, 22)).unwrap();
    let labels: Vec<&str> =
        items["items"].as_array().unwrap().iter().filter_map(|i| i["label"].as_str()).collect();
    assert_eq!(labels, ["Enforce"]);
    let symbols = json!({"textDocument": {"uri": client.uri("policy.yaml")}});
    let symbols = client.request("textDocument/documentSymbol", symbols).unwrap();
    let names: Vec<&str> = symbols.as_array().unwrap().iter().filter_map(|s| s["name"].as_str()).collect();
    assert_eq!(names, ["no-latest", "tag"]);
    let found = client.request("workspace/symbol", json!({"query": "no-lat"})).unwrap();
    assert_eq!(found[0]["location"]["uri"], client.uri("policy.yaml"));
    let defined = client.request("textDocument/definition", client.at("t/kyverno-test.yaml", 7, 12)).unwrap();
    assert_eq!(defined[0]["range"], range(3, 8, 17));
    let mut params = client.at("policy.yaml", 3, 10);
    params["context"] = json!({"includeDeclaration": true});
    let used = client.request("textDocument/references", params).unwrap();
    assert_eq!(used.as_array().unwrap().len(), 2, "{used}");
    assert_eq!(client.end(), 0);
}

#[test]
fn commands_of_lenses_answer_with_texts() {
    let capabilities = json!({"experimental": {"ephor": {"showText": true}}});
    let files = [("policy.yaml", POLICY), ("t/kyverno-test.yaml", TEST), ("sample/pod.yaml", POD)];
    let mut client = Client::with(&files, capabilities, json!({}));
    client.open("t/kyverno-test.yaml", TEST);
    client.diagnostics("t/kyverno-test.yaml", Some(1));
    let params = json!({"textDocument": {"uri": client.uri("policy.yaml")}});
    let lenses = client.request("textDocument/codeLens", params).unwrap();
    let titles: Vec<&str> =
        lenses.as_array().unwrap().iter().filter_map(|l| l["command"]["title"].as_str()).collect();
    assert_eq!(titles, ["run test t", "explain on Pod/web", "migrate to CEL"]);
    for (lens, wanted) in [(0, "1 tests passed and 0 failed"), (1, "FAIL"), (2, "kind: ValidatingPolicy")] {
        let command = lenses[lens]["command"].clone();
        let answer = client.request("workspace/executeCommand", command).unwrap();
        let shown = client.notified("ephor/showText", |_| true);
        assert_eq!(answer, shown);
        let text = answer["text"].as_str().unwrap();
        assert!(text.to_lowercase().contains(&wanted.to_lowercase()), "{text}");
    }
    let unknown = json!({"command": "ephor.nothing", "arguments": []});
    assert_eq!(client.request("workspace/executeCommand", unknown).map_err(|e| e.0), Err(-32602));
    let gone = json!({"command": "ephor.test", "arguments": [{"file": "/nowhere"}]});
    let refused = client.request("workspace/executeCommand", gone);
    assert_eq!(refused, Err((-32803, "no file `/nowhere` in the workspace".into())));
    assert_eq!(client.end(), 0);
}

#[test]
fn a_policy_is_compared_with_its_replacement() {
    let replacement = "apiVersion: policies.kyverno.io/v1
kind: ValidatingPolicy
metadata:
  name: no-latest
spec:
  validationActions: [Deny]
  matchConstraints:
    resourceRules:
    - {apiGroups: [''], apiVersions: [v1], resources: [pods], operations: [CREATE, UPDATE]}
  validations:
  - expression: object.spec.containers.all(c, !c.image.endsWith(':old'))
    message: pin the tag
";
    let mut client = Client::new(&[("policy.yaml", POLICY), ("new.yaml", replacement)]);
    client.open("policy.yaml", POLICY);
    client.diagnostics("policy.yaml", Some(1));
    let params = json!({"textDocument": {"uri": client.uri("policy.yaml")}});
    let is_it = |lens: &&Value| lens["command"]["title"] == "compare with its replacement";
    let command = loop {
        // The replacement may be read later.
        let lenses = client.request("textDocument/codeLens", params.clone()).unwrap();
        if let Some(lens) = lenses.as_array().unwrap().iter().find(is_it) {
            break lens["command"].clone();
        }
    };
    let answer = client.request("workspace/executeCommand", command).unwrap();
    let text = answer["text"].as_str().unwrap();
    assert!(text.starts_with("- **no-latest**: differs"), "{text}");
    // A client without other ways to show a text gets a message.
    let shown = client.notified("window/showMessage", |_| true);
    assert!(shown["message"].as_str().unwrap().contains("differs"), "{shown}");
    assert_eq!(client.end(), 0);
}

#[test]
fn a_finding_has_a_change_that_mends_it() {
    let text = TEST.replace("rule: tag", "rule: tagg");
    let mut client = Client::new(&[("policy.yaml", POLICY), ("sample/pod.yaml", POD)]);
    client.open("t/kyverno-test.yaml", &text);
    // The policy may be read after the test.
    while client.diagnostics("t/kyverno-test.yaml", Some(1)) != ["unknown-name 8:8-8:12"] {}
    let uri = client.uri("t/kyverno-test.yaml");
    let params =
        json!({"textDocument": {"uri": uri}, "range": range(8, 9, 9), "context": {"diagnostics": []}});
    let actions = client.request("textDocument/codeAction", params).unwrap();
    assert_eq!(actions[0]["title"], "write `tag`");
    assert_eq!(actions[0]["edit"]["changes"][&uri], json!([{"range": range(8, 8, 12), "newText": "tag"}]));
    let params = json!({"textDocument": {"uri": uri}, "range": range(8, 9, 9), "context": {"diagnostics": [], "only": ["refactor"]}});
    assert_eq!(client.request("textDocument/codeAction", params).unwrap(), json!([]));
    assert_eq!(client.end(), 0);
}

#[test]
fn settings_are_taken_from_options_and_from_the_client() {
    let options = json!({"policies": ["other"], "kubernetes": "x"});
    let capabilities = json!({"workspace": {"configuration": true}});
    let mut client = Client::with(&[("policy.yaml", POLICY), ("pod.yaml", POD)], capabilities, options);
    let shown = client.notified("window/showMessage", |_| true);
    assert!(shown["message"].as_str().unwrap().starts_with("setting ephor.kubernetes: "), "{shown}");
    client.open("pod.yaml", POD);
    assert!(client.diagnostics("pod.yaml", Some(1)).is_empty());
    let is_request = |m: &Message| matches!(m, Message::Request(r) if r.method == "workspace/configuration");
    let Message::Request(request) = client.wait(is_request) else { unreachable!() };
    assert_eq!(request.params["items"][0]["section"], "ephor");
    client.send(Response::new_ok(request.id, json!([{"policies": ["policy.yaml"]}])));
    assert_eq!(client.diagnostics("pod.yaml", Some(1)).len(), 1);
    assert_eq!(client.end(), 0);
}

#[test]
fn a_request_that_is_cancelled_has_an_error_for_an_answer() {
    let mut client = Client::new(&[("policy.yaml", POLICY)]);
    client.open("policy.yaml", POLICY);
    // One of many: those before it take the time in which the other one is cancelled.
    let many: Vec<RequestId> =
        (0..200).map(|_| client.start("textDocument/completion", client.at("policy.yaml", 17, 12))).collect();
    client.notify("$/cancelRequest", json!({"id": client.next}));
    client.notify("$/cancelRequest", json!({"id": "unknown"}));
    let mut answers: Vec<Result<Value, (i32, String)>> =
        many.into_iter().map(|id| client.answer(id)).collect();
    let last = answers.pop().unwrap();
    assert_eq!(last, Err((-32800, "the request was cancelled".into())));
    assert!(answers.iter().all(Result::is_ok));
    assert_eq!(client.end(), 0);
}

#[test]
fn ten_thousand_findings_are_cut_with_a_last_one_that_counts_the_others() {
    let rule = |i: usize| {
        format!(
            "  - name: r{i}\n    nonsense: x\n    match: {{any: [{{resources: {{kinds: [Pod]}}}}]}}\n    validate: {{message: m, pattern: {{a: b}}}}\n"
        )
    };
    let rules: String = (0..50).map(rule).collect();
    let head = POLICY.split("  - name").next().unwrap();
    let text = vec![format!("{head}{rules}"); 200].join("---\n");
    let mut client = Client::new(&[]);
    client.open("policy.yaml", &text);
    let found = client.diagnostics("policy.yaml", Some(1));
    assert_eq!(found.len(), 1001);
    assert!(found.last().unwrap().starts_with("too-many "), "{:?}", found.last());
    assert_eq!(client.end(), 0);
}

#[test]
fn the_program_speaks_on_standard_input_and_output() {
    let files = Files::new(&[]);
    let mut program = files.program(&["lsp", "--stdio"]);
    let mut child = program.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let mut input = child.stdin.take().unwrap();
    for message in [
        json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"processId": null, "capabilities": {}}}).to_string(),
        "{no json".to_string(),
        json!({"jsonrpc": "2.0", "id": 2, "method": "shutdown"}).to_string(),
        json!({"jsonrpc": "2.0", "method": "exit"}).to_string(),
    ] {
        write!(input, "Content-Length: {}\r\n\r\n{message}", message.len()).unwrap();
    }
    let mut out = String::new();
    child.stdout.take().unwrap().read_to_string(&mut out).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(0), "{out}");
    assert_eq!(out.matches("Content-Length").count(), 3, "{out}");
    assert!(out.contains("-32700") && out.contains("\"serverInfo\""), "{out}");
}

#[test]
fn requests_do_not_wait_for_a_policy_with_hundreds_of_rules() {
    let mut client = Client::new(&[("policy.yaml", POLICY), ("pod.yaml", POD)]);
    client.open("pod.yaml", POD);
    assert_eq!(client.diagnostics("pod.yaml", Some(1)), ["no-latest 7:11-7:23"]);
    let (head, rule) = POLICY.split_once("  rules:\n").expect("rules");
    let rules: String = (0..500).map(|i| rule.replace("name: tag", &format!("name: tag{i}"))).collect();
    let text = format!("{head}  rules:\n{rules}").replace("no-latest", "many");
    client.open("many.yaml", &text);
    for version in 2..20 {
        client.change("many.yaml", version, range(0, 0, 0), "#\n");
        let at = client.at("policy.yaml", 12, 8);
        assert_ne!(client.request("textDocument/hover", at).expect("an answer"), Value::Null);
    }
    let is_found =
        |m: &Message| matches!(m, Message::Notification(n) if n.params["uri"] == client.uri("many.yaml"));
    assert!(!client.pending.iter().any(is_found), "the answers came first");
    assert!(client.diagnostics("many.yaml", Some(19)).is_empty());
    assert_eq!(client.end(), 0);
}

#[test]
fn positions_that_do_not_exist_are_the_nearest_that_do() {
    let mut client = Client::new(&[]);
    client.open("a.yaml", "a: \u{1f600}b\n");
    // Inside of the pair, behind the line, behind the text, backwards, of an earlier version.
    client.change("a.yaml", 2, range(0, 4, 99), "x");
    client.change("a.yaml", 1, range(9_999, 7, 4_000_000), "\n#");
    let backwards = json!({"start": {"line": 5, "character": 5}, "end": {"line": 0, "character": 0}});
    client.change("a.yaml", -7, backwards, POD);
    client.change("a.yaml", 3, json!({"start": {"line": -1, "character": 0}, "end": {}}), "lost");
    let symbols =
        client.request("textDocument/documentSymbol", json!({"textDocument": {"uri": client.uri("a.yaml")}}));
    assert_eq!(symbols.expect("an answer")[0]["name"], "web");
    assert_eq!(client.end(), 0);
}
