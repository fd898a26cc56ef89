//! `ephor mcp`: sessions with the program itself.

#![allow(clippy::panic, clippy::expect_used)]

use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::process::Stdio;

use serde_json::{Value, json};

use super::common::Files;

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
policies: [policy.yaml]
resources: [pod.yaml]
results:
- policy: no-latest
  rule: tag
  resources: [web]
  kind: Pod
  result: fail
";

/// A policy with a kind that does not exist, and a safe fix for it.
fn misspelt() -> String {
    POLICY.replace("[Pod]", "[Deploymnt]")
}

fn files() -> Files {
    Files::new(&[
        ("policy.yaml", POLICY),
        ("pod.yaml", POD),
        ("misspelt.yaml", &misspelt()),
        ("two/a.yaml", POLICY),
        ("two/b.yaml", &POLICY.replace("no-latest", "other")),
        ("tests/policy.yaml", POLICY),
        ("tests/pod.yaml", POD),
        ("tests/kyverno-test.yaml", TEST),
        ("empty/notes.txt", "no policy"),
    ])
}

/// What the program answered to the lines of a session.
struct Session {
    /// Answers by the id of their request.
    answers: BTreeMap<String, Value>,
    /// Answers to lines that have no id.
    others: Vec<Value>,
    code: Option<i32>,
    stderr: String,
}

impl Session {
    /// Writes lines behind those that begin a session, and ends the input.
    fn new(files: &Files, flags: &[&str], lines: impl IntoIterator<Item = String>) -> Session {
        let begin = [
            json!({"jsonrpc": "2.0", "id": "begin", "method": "initialize", "params": {
                "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"},
            }})
            .to_string(),
            json!({"jsonrpc": "2.0", "method": "notifications/initialized"}).to_string(),
        ];
        let lines: Vec<String> = begin.into_iter().chain(lines).collect();
        let session = Session::of_input(files, flags, (lines.join("\n") + "\n").into_bytes());
        assert_eq!(session.answers["\"begin\""]["result"]["serverInfo"]["name"], "ephor");
        session
    }

    fn of_input(files: &Files, flags: &[&str], bytes: Vec<u8>) -> Session {
        let mut program = files.program(&[&["mcp"], flags].concat());
        program.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = program.spawn().expect("the program starts");
        let mut input = child.stdin.take().expect("a pipe");
        let writer = std::thread::spawn(move || input.write_all(&bytes).expect("it is read"));
        let mut errors = child.stderr.take().expect("a pipe");
        let errors = std::thread::spawn(move || {
            let mut text = String::new();
            errors.read_to_string(&mut text).expect("text");
            text
        });
        let mut out = String::new();
        child.stdout.take().expect("a pipe").read_to_string(&mut out).expect("text");
        writer.join().expect("it is written");
        let (mut answers, mut others) = (BTreeMap::new(), Vec::new());
        for line in out.lines() {
            let message: Value = serde_json::from_str(line).unwrap_or_else(|e| panic!("{e}: {line}"));
            assert_eq!(message["jsonrpc"], "2.0", "{line}");
            match &message["id"] {
                Value::Null => others.push(message),
                id => assert!(answers.insert(id.to_string(), message).is_none(), "{line}"),
            }
        }
        let code = child.wait().expect("it ends").code();
        Session { answers, others, code, stderr: errors.join().expect("text") }
    }

    /// The result of a call that succeeded.
    fn result(&self, id: usize) -> &Value {
        let answer = &self.answers[&id.to_string()]["result"];
        assert_eq!(answer["isError"], false, "{answer}");
        &answer["structuredContent"]
    }

    fn text(&self, id: usize) -> &str {
        self.answers[&id.to_string()]["result"]["content"][0]["text"].as_str().expect("a text")
    }

    /// The text of a call that failed.
    fn error(&self, id: usize) -> &str {
        let answer = &self.answers[&id.to_string()]["result"];
        assert_eq!(answer["isError"], true, "{answer}");
        assert!(answer["structuredContent"].is_null(), "{answer}");
        self.text(id)
    }
}

fn call(id: usize, tool: &str, arguments: &Value) -> String {
    json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": {"name": tool, "arguments": arguments}})
        .to_string()
}

fn ping(id: usize) -> String {
    json!({"jsonrpc": "2.0", "id": id, "method": "ping"}).to_string()
}

fn calls(calls: &[(&str, Value)]) -> Vec<String> {
    calls.iter().enumerate().map(|(id, (tool, arguments))| call(id, tool, arguments)).collect()
}

fn path(path: &str) -> Value {
    json!([{"path": path}])
}

/// Paths and texts of all files below a folder.
fn everything(files: &Files) -> BTreeMap<String, Vec<u8>> {
    let mut all = BTreeMap::new();
    let mut folders = vec![files.dir.path().to_path_buf()];
    while let Some(folder) = folders.pop() {
        for path in std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
            match path.is_dir() {
                true => folders.push(path),
                false => {
                    all.insert(path.display().to_string(), std::fs::read(&path).unwrap());
                }
            }
        }
    }
    all
}

#[test]
fn each_tool_answers_a_good_call_as_its_schema_says() {
    let files = files();
    let before = everything(&files);
    let text = |text: &str| json!([{"text": text, "name": "inline.yaml"}]);
    let good = [
        ("lint", json!({"policies": path("misspelt.yaml")})),
        ("lint", json!({"policies": text(&misspelt()), "fix": "safe"})),
        ("explain", json!({"policies": path("policy.yaml")})),
        ("explain", json!({"policies": path("policy.yaml"), "resources": path("pod.yaml"), "rule": "tag"})),
        ("apply", json!({"policies": text(POLICY), "resources": text(POD)})),
        ("test", json!({"tests": path("tests")})),
        (
            "test",
            json!({"tests": [
                {"name": "kyverno-test.yaml", "text": TEST.replace("result: fail", "result: pass")},
                {"name": "policy.yaml", "text": POLICY},
                {"name": "pod.yaml", "text": POD},
            ]}),
        ),
        ("diff", json!({"old": path("policy.yaml"), "new": text(&POLICY.replace(":latest", ":main"))})),
        ("diff", json!({"old": path("two"), "new": path("two")})),
        ("migrate", json!({"policies": path("policy.yaml")})),
    ];
    let list = json!({"jsonrpc": "2.0", "id": "list", "method": "tools/list"}).to_string();
    let session = Session::new(&files, &[], calls(&good).into_iter().chain([list]));
    assert_eq!((session.code, &*session.stderr), (Some(0), ""));
    let tools = session.answers["\"list\""]["result"]["tools"].as_array().unwrap();
    let names: Vec<&str> = tools.iter().map(|tool| tool["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["lint", "explain", "apply", "test", "diff", "migrate"]);
    for (id, (tool, arguments)) in good.iter().enumerate() {
        let listed = tools.iter().find(|listed| listed["name"] == *tool).unwrap();
        for (schema, value) in
            [(&listed["inputSchema"], arguments), (&listed["outputSchema"], session.result(id))]
        {
            let schema = jsonschema::validator_for(schema).unwrap();
            let errors: Vec<String> = schema.iter_errors(value).map(|e| e.to_string()).collect();
            assert!(errors.is_empty(), "{tool}: {errors:?}: {value}");
        }
        assert!(!session.text(id).is_empty());
    }
    let result = |id: usize| session.result(id);
    assert_eq!(result(0)["findings"][0]["id"], "unknown-kind");
    assert!(session.text(0).contains("misspelt.yaml:11:19: warning: "), "{}", session.text(0));
    assert!(result(1)["fixed"][0]["text"].as_str().unwrap().contains("[Deployment]"), "{}", result(1));
    assert_eq!(result(2)["rules"].as_array().unwrap().len(), 3);
    assert_eq!(result(3)["resources"][0]["decisions"][0]["status"], "fail");
    assert!(session.text(3).contains("(pod.yaml:8:12)"), "{}", session.text(3));
    assert_eq!(result(4)["summary"]["fail"], 1);
    assert_eq!(result(4)["resources"][0]["results"][0]["place"]["file"], "inline.yaml");
    assert_eq!(result(5)["summary"], json!({"tests": 1, "pass": 1, "fail": 0, "skip": 0}));
    assert_eq!(result(6)["results"][0]["verdict"], "fail");
    assert_eq!(result(6)["results"][0]["file"], "kyverno-test.yaml");
    assert!(
        session.text(6).starts_with("fail kyverno-test.yaml:8: no-latest/tag on "),
        "{}",
        session.text(6)
    );
    assert_eq!(
        (&result(7)["policies"][0]["answer"], &result(7)["isSame"]),
        (&json!("differs"), &json!(false))
    );
    assert_eq!(result(8)["isSame"], true);
    assert_eq!(result(9)["policies"][0]["status"], "proved");
    assert!(session.text(9).contains("kind: ValidatingPolicy"), "{}", session.text(9));
    assert_eq!(everything(&files), before);
}

#[test]
fn each_tool_answers_a_bad_call_with_what_to_write_instead() {
    let files = files();
    let before = everything(&files);
    let bad = [
        ("lint", json!({"policis": []}), "no argument `policis`\nhint: did you mean `policies`?"),
        ("lint", json!({"policies": path("empty")}), "no YAML or JSON file"),
        ("lint", json!({"policies": path("policy.yaml"), "output": "x"}), "`output` goes with `fix`"),
        ("explain", json!({"policies": path("policy.yaml"), "rule": "tagg"}), "hint: did you mean `tag`?"),
        (
            "apply",
            json!({"policies": path("policie.yaml"), "resources": []}),
            "hint: did you mean `policy.yaml`?",
        ),
        ("apply", json!({"policies": path("pod.yaml"), "resources": []}), "there is no policy"),
        (
            "apply",
            json!({"policies": path("-"), "resources": []}),
            "hint: addresses and standard input are not read",
        ),
        ("test", json!({"tests": path("two")}), "no kyverno-test.yaml"),
        ("test", json!({"tests": [{"name": "../a", "text": ""}]}), "hint: a name is a relative path"),
        ("diff", json!({"old": path("policy.yaml")}), "requires the argument `new`"),
        (
            "diff",
            json!({"old": path("policy.yaml"), "new": path("policy.yaml"), "seconds": "2"}),
            "a number of seconds",
        ),
        ("migrate", json!({"policies": path("policy.yaml"), "to": "cel"}), "must be one of vpol, vap"),
        ("migrate", json!({"policies": [{"path": "policy.yaml", "text": ""}]}), "`policies[0]` must be"),
        ("migrate", json!({"policies": path("policy.yaml"), "kubernetes": "new"}), "new"),
        ("migrate", json!({"policies": [{"text": ""}]}), "there is no policy"),
    ];
    let rows: Vec<(&str, Value)> =
        bad.iter().map(|(tool, arguments, _)| (*tool, arguments.clone())).collect();
    let unknown = call(100, "lintt", &json!({}));
    let session = Session::new(&files, &[], calls(&rows).into_iter().chain([unknown]));
    for (id, (_, arguments, text)) in bad.iter().enumerate() {
        assert!(
            session.error(id).starts_with("error: ") && session.error(id).contains(text),
            "{arguments}: {}",
            session.error(id)
        );
    }
    let error = &session.answers["100"]["error"];
    assert_eq!(
        (&error["code"], &error["message"]),
        (&json!(-32602), &json!("there is no tool `lintt`; did you mean `lint`?"))
    );
    assert_eq!(session.code, Some(0));
    assert_eq!(everything(&files), before);
}

#[test]
fn what_is_no_message_is_answered_and_the_session_continues() {
    let files = files();
    let large =
        format!("{{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\",\"a\":\"{}\"}}", "a".repeat(33 << 20));
    let deep = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
    let lines = [
        "{no json".to_string(),
        ping(1),
        "[1, 2]".into(),
        String::new(),
        r#"{"jsonrpc": "2.0", "id": 2}"#.into(),
        r#"{"jsonrpc": "2.0", "method": "notifications/unknown"}"#.into(),
        r#"{"jsonrpc": "2.0", "id": 3, "method": "tools/call", "params": {"name": 5}}"#.into(),
        r#"{"jsonrpc": "2.0", "id": 4, "method": "unknown"}"#.into(),
        large,
        deep,
        ping(5),
    ];
    let session = Session::new(&files, &[], lines);
    let codes: Vec<i64> = session.others.iter().map(|m| m["error"]["code"].as_i64().unwrap()).collect();
    assert_eq!(codes, [-32700, -32600, -32600, -32700]);
    assert!(session.others[2]["error"]["message"].as_str().unwrap().contains("33554432 bytes"));
    let code = |id: &str| session.answers[id]["error"]["code"].as_i64().unwrap();
    assert_eq!([code("2"), code("3"), code("4")], [-32600, -32602, -32601]);
    assert_eq!([&session.answers["1"]["result"], &session.answers["5"]["result"]], [&json!({}), &json!({})]);
    assert_eq!(session.stderr.lines().count(), 5, "{}", session.stderr);
    assert_eq!(session.code, Some(0));
}

#[test]
fn the_end_of_the_input_ends_the_program_after_the_last_answer() {
    let files = files();
    let line = call(1, "migrate", &json!({"policies": path("two")}));
    let session = Session::new(&files, &[], [line]);
    assert_eq!(session.result(1)["summary"]["proved"], 2);
    assert_eq!(session.code, Some(0));
    for bytes in ["", "\n", "{\"jsonrpc\"", "{no json\n"] {
        assert_eq!(Session::of_input(&files, &[], bytes.into()).code, Some(0), "{bytes}");
    }
}

#[test]
fn a_client_of_the_protocol_without_sessions_is_answered() {
    let meta = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "1"},
        "io.modelcontextprotocol/clientCapabilities": {},
    });
    let request = |id: usize, method: &str, mut params: Value| {
        params["_meta"] = meta.clone();
        json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}).to_string() + "\n"
    };
    let input = [
        request(1, "server/discover", json!({})),
        request(2, "tools/call", json!({"name": "lint", "arguments": {"policies": path("policy.yaml")}})),
    ];
    let session = Session::of_input(&files(), &[], input.concat().into_bytes());
    assert!(session.answers["1"]["result"]["capabilities"]["tools"].is_object(), "{:?}", session.answers);
    assert_eq!(session.result(2)["policies"], 1);
}

#[test]
fn a_call_that_is_cancelled_has_no_answer() {
    let cancel = json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1}});
    let lines = [call(1, "migrate", &json!({"policies": path("two")})), cancel.to_string(), ping(2)];
    let session = Session::new(&files(), &[], lines);
    assert!(!session.answers.contains_key("1") && session.answers.contains_key("2"), "{:?}", session.answers);
}

#[test]
fn a_call_ends_when_its_time_is_over_with_what_it_has() {
    let objects: String =
        (0..4_000).map(|i| POD.replace("name: web", &format!("name: web-{i}")) + "---\n").collect();
    let line = call(1, "apply", &json!({"policies": path("policy.yaml"), "resources": [{"text": objects}]}));
    let session = Session::new(&files(), &["--time-limit", "1ms"], [line]);
    let notes = session.result(1)["notes"].to_string();
    assert!(notes.contains("of 4000 objects are not evaluated"), "{notes}");
}

#[test]
fn files_are_written_where_a_call_says_so_and_replaced_only_with_overwrite() {
    let files = files();
    let at = |name: &str| files.path(name).display().to_string();
    let lint = |output: &str, overwrite: bool| json!({"policies": path("misspelt.yaml"), "fix": "safe", "output": output, "overwrite": overwrite});
    let migrate = |policies: &str, output: &str| json!({"policies": path(policies), "output": output});
    let rows = [
        ("lint", lint("fixed.yaml", false)),
        ("lint", lint("misspelt.yaml", false)),
        ("migrate", migrate("two", "new")),
        ("migrate", migrate("policy.yaml", "new/deep/p.yaml")),
        ("migrate", migrate("two", "one.yaml")),
        ("migrate", migrate("policy.yaml", "policy.yaml")),
    ];
    files.write("half/b.yaml", b"mine");
    let before = everything(&files);
    let session = Session::new(&files, &[], calls(&rows));
    assert_eq!(session.result(0)["written"], json!([at("fixed.yaml")]));
    assert!(session.error(1).contains("misspelt.yaml exists\nhint: "), "{}", session.error(1));
    assert_eq!(session.result(2)["written"], json!([at("new/a.yaml"), at("new/b.yaml")]));
    assert_eq!(session.result(3)["written"], json!([at("new/deep/p.yaml")]));
    assert!(session.error(4).contains("`one.yaml` is one file, but there are 2\nhint: name a folder"));
    assert!(session.error(5).contains("policy.yaml exists"), "{}", session.error(5));
    let mut after = everything(&files);
    for name in ["fixed.yaml", "new/a.yaml", "new/b.yaml", "new/deep/p.yaml"] {
        let text = String::from_utf8(after.remove(&at(name)).expect(name)).unwrap();
        assert!(text.contains("[Deployment]") || text.contains("kind: ValidatingPolicy"), "{name}: {text}");
    }
    assert_eq!(after, before);

    // None of two files, where one is there.
    let session = Session::new(&files, &[], [call(0, "migrate", &migrate("two", "half"))]);
    assert!(session.error(0).contains("b.yaml exists"), "{}", session.error(0));
    assert!(!files.path("half/a.yaml").exists());

    let session = Session::new(&files, &["--read-only"], [call(0, "lint", &lint("misspelt.yaml", true))]);
    assert!(session.error(0).contains("--read-only"), "{}", session.error(0));
    assert_eq!(std::fs::read_to_string(files.path("misspelt.yaml")).unwrap(), misspelt());
    let session = Session::new(&files, &[], [call(0, "lint", &lint("misspelt.yaml", true))]);
    assert_eq!(session.result(0)["written"], json!([at("misspelt.yaml")]));
    assert!(std::fs::read_to_string(files.path("misspelt.yaml")).unwrap().contains("[Deployment]"));
}
