//! A server process and clients of it.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

/// How long anything is waited for before a test fails.
pub const PATIENCE: Duration = Duration::from_secs(60);

/// A running server.
pub struct Server {
    pub child: Child,
    pub reviews: String,
    pub operation: String,
    /// The lines of its log after the first.
    pub log: Arc<Mutex<Vec<String>>>,
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Starts a server on free ports, without encryption.
pub fn start(policies: &Path, more: &[&str]) -> Server {
    let mut arguments = vec!["--plain-http"];
    arguments.extend(more);
    start_with(policies, &arguments)
}

/// Starts a server on free ports.
pub fn start_with(policies: &Path, more: &[&str]) -> Server {
    start_in(policies, more, &[])
}

/// Starts a server on free ports with variables of the environment.
pub fn start_in(policies: &Path, more: &[&str], variables: &[(&str, &str)]) -> Server {
    let mut child = Command::new(env!("CARGO_BIN_EXE_ephor"))
        .envs(variables.iter().copied())
        .args(["serve", "--listen", "127.0.0.1:0", "--metrics-listen", "127.0.0.1:0", "--log-format", "json"])
        .arg("--policies")
        .arg(policies)
        .args(more)
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stderr.take().unwrap()).lines();
    let started = loop {
        let line = lines.next().expect("the server ended").unwrap();
        let Ok(line) = serde_json::from_str::<Value>(&line) else { panic!("{line}") };
        if line["fields"]["message"] == "serving" {
            break line;
        }
    };
    // The log has to be read to the end, or the server waits for room in the pipe.
    let log: Arc<Mutex<Vec<String>>> = Arc::default();
    let to = log.clone();
    std::thread::spawn(move || lines.map_while(Result::ok).for_each(|line| to.lock().unwrap().push(line)));
    let address = |key: &str| started["fields"][key].as_str().unwrap().to_string();
    Server { reviews: address("reviews"), operation: address("operation"), log, child }
}

/// A pod with an image and a review about it.
pub fn review(uid: &str, image: &str) -> Value {
    let kind = json!({"group": "", "version": "v1", "kind": "Pod"});
    let resource = json!({"group": "", "version": "v1", "resource": "pods"});
    json!({
        "kind": "AdmissionReview",
        "apiVersion": "admission.k8s.io/v1",
        "request": {
            "uid": uid, "kind": kind, "resource": resource, "requestKind": kind, "requestResource": resource,
            "name": "cart", "namespace": "shop", "operation": "CREATE", "dryRun": false,
            "userInfo": {"username": "anna", "groups": ["system:authenticated"]},
            "object": {
                "apiVersion": "v1", "kind": "Pod", "metadata": {"name": "cart", "namespace": "shop"},
                "spec": {"containers": [{"name": "a", "image": image}]},
            },
            "oldObject": null,
        },
    })
}

/// What came back: status and body.
#[derive(Debug)]
pub struct Reply {
    pub status: u16,
    pub body: String,
}

impl Reply {
    pub fn response(&self) -> Value {
        assert_eq!(self.status, 200, "{}", self.body);
        serde_json::from_str::<Value>(&self.body).unwrap()["response"].clone()
    }
}

/// A persistent connection.
pub struct Client {
    stream: BufReader<TcpStream>,
}

impl Client {
    pub fn new(address: &str) -> Client {
        Client::try_new(address).unwrap()
    }

    pub fn try_new(address: &str) -> std::io::Result<Client> {
        let stream = TcpStream::connect(address)?;
        stream.set_read_timeout(Some(PATIENCE))?;
        Ok(Client { stream: BufReader::new(stream) })
    }

    /// Sends bytes.
    pub fn write(&mut self, bytes: &[u8]) -> std::io::Result<()> {
        self.stream.get_mut().write_all(bytes)
    }

    /// Sends a request as it is and reads the reply.
    pub fn send(&mut self, head: &str, body: &[u8]) -> std::io::Result<Reply> {
        let stream = self.stream.get_mut();
        stream.write_all(head.as_bytes())?;
        stream.write_all(body)?;
        self.reply()
    }

    /// Reads a reply.
    pub fn reply(&mut self) -> std::io::Result<Reply> {
        let mut line = String::new();
        if self.stream.read_line(&mut line)? == 0 {
            return Err(std::io::ErrorKind::UnexpectedEof.into());
        }
        let status = line.split(' ').nth(1).and_then(|s| s.parse().ok()).unwrap_or(0);
        let mut length = 0;
        loop {
            line.clear();
            self.stream.read_line(&mut line)?;
            if line.trim().is_empty() {
                break;
            }
            if let Some((name, value)) = line.split_once(':')
                && name.eq_ignore_ascii_case("content-length")
            {
                length = value.trim().parse().unwrap();
            }
        }
        let mut body = vec![0; length];
        self.stream.read_exact(&mut body)?;
        Ok(Reply { status, body: String::from_utf8_lossy(&body).into_owned() })
    }

    /// Posts a body of a content type.
    pub fn post(&mut self, path: &str, kind: &str, body: &[u8]) -> std::io::Result<Reply> {
        let length = body.len();
        let head = format!(
            "POST {path} HTTP/1.1\r\nHost: ephor\r\nContent-Type: {kind}\r\nContent-Length: {length}\r\n\r\n"
        );
        self.send(&head, body)
    }

    /// Sends a review.
    pub fn review(&mut self, path: &str, review: &Value) -> std::io::Result<Reply> {
        self.post(path, "application/json", review.to_string().as_bytes())
    }
}

/// Sends one review.
pub fn post(server: &Server, path: &str, of: &Value) -> Value {
    Client::new(&server.reviews).review(path, of).unwrap().response()
}

/// Gets a page of the operation address.
pub fn get(server: &Server, path: &str) -> Reply {
    let head = format!("GET {path} HTTP/1.1\r\nHost: ephor\r\n\r\n");
    Client::new(&server.operation).send(&head, b"").unwrap()
}

/// Fetches again and again until an answer fits.
pub fn until<T: std::fmt::Debug>(what: &str, mut fetch: impl FnMut() -> T, fits: impl Fn(&T) -> bool) -> T {
    let began = Instant::now();
    loop {
        let got = fetch();
        if fits(&got) {
            return got;
        }
        assert!(began.elapsed() < PATIENCE, "{what}: {got:?}");
        std::thread::park_timeout(Duration::from_millis(2));
    }
}

/// A policy that refuses images with a tag.
pub fn refusing(tag: &str) -> String {
    format!(
        "apiVersion: kyverno.io/v1\nkind: ClusterPolicy\nmetadata: {{name: no-{tag}}}\nspec:\n  rules:\n  - name: tag\n    match: {{any: [{{resources: {{kinds: [Pod]}}}}]}}\n    validate:\n      failureAction: Enforce\n      message: the tag is refused\n      pattern: {{spec: {{containers: [{{image: \"!*:{tag}\"}}]}}}}\n"
    )
}
