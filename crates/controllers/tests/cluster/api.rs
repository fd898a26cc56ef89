//! An API server in memory: objects by path, with versions and conflicts.
//!
//! It knows enough of the API for controllers: discovery, GET, lists by labels, POST, PUT, merge patches, DELETE, the subresource
//! `status`, and watches that say nothing. Every request is logged as `METHOD PATH`.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use ephor_cluster::{Choice, Cluster, connect};
use ephor_document::json;
use ephor_value::{Value, print};

#[derive(Default)]
struct Store {
    objects: BTreeMap<String, Value>,
    version: i64,
    log: Vec<String>,
    /// Writes to paths that begin so are refused.
    refused: Option<&'static str>,
    /// How many writes of objects that are no leases, configurations or policies are still answered; `None` = all.
    left: Option<usize>,
    /// The paths of the objects that were created, in order.
    created: Vec<String>,
}

/// See the module page.
pub struct Api {
    store: Arc<Mutex<Store>>,
    pub cluster: Arc<Cluster>,
    _folder: tempfile::TempDir,
}

/// Name, kind, and whether objects have a namespace.
type Resource = (&'static str, &'static str, bool);

const RESOURCES: [(&str, &[Resource]); 5] = [
    (
        "/apis/admissionregistration.k8s.io/v1",
        &[
            ("validatingwebhookconfigurations", "ValidatingWebhookConfiguration", false),
            ("mutatingwebhookconfigurations", "MutatingWebhookConfiguration", false),
            ("validatingadmissionpolicies", "ValidatingAdmissionPolicy", false),
            ("validatingadmissionpolicybindings", "ValidatingAdmissionPolicyBinding", false),
        ],
    ),
    ("/apis/coordination.k8s.io/v1", &[("leases", "Lease", true)]),
    ("/apis/kyverno.io/v1", &[("clusterpolicies", "ClusterPolicy", false)]),
    ("/apis/kyverno.io/v2", &[("updaterequests", "UpdateRequest", true)]),
    ("/apis/policies.kyverno.io/v1", &[("validatingpolicies", "ValidatingPolicy", false)]),
];

fn locked(store: &Mutex<Store>) -> MutexGuard<'_, Store> {
    store.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Api {
    pub fn start() -> Api {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let store: Arc<Mutex<Store>> = Arc::default();
        let of = store.clone();
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let store = of.clone();
                std::thread::spawn(move || serve(stream, &store));
            }
        });
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("config");
        let config = format!(
            "apiVersion: v1\nkind: Config\nclusters: [{{name: c, cluster: {{server: 'http://{address}'}}}}]\n\
             users: [{{name: u, user: {{}}}}]\ncontexts: [{{name: c, context: {{cluster: c, user: u}}}}]\ncurrent-context: c\n"
        );
        std::fs::write(&path, config).unwrap();
        let kubeconfig = path.to_string_lossy().into_owned();
        let cluster = connect(&Choice { kubeconfig, ..Choice::default() }).unwrap();
        Api { store, cluster: Arc::new(cluster), _folder: folder }
    }

    /// The object at a path, if there is one.
    pub fn object(&self, path: &str) -> Option<Value> {
        locked(&self.store).objects.get(path).cloned()
    }

    /// Puts an object at a path, as another program would.
    pub fn put(&self, path: &str, object: &Value) -> Value {
        locked(&self.store).write(path, object)
    }

    /// Answers so many writes of objects more, then none: as if the server that writes ended there; `None` = all again.
    pub fn allow(&self, writes: Option<usize>) {
        locked(&self.store).left = writes;
    }

    /// How often an object was created at a path.
    pub fn created(&self, path: &str) -> usize {
        locked(&self.store).created.iter().filter(|created| **created == path).count()
    }

    /// How many of these are left.
    pub fn left(&self) -> Option<usize> {
        locked(&self.store).left
    }

    /// Refuses writes to paths that begin so, from now on.
    pub fn refuse(&self, path: &'static str) {
        locked(&self.store).refused = Some(path);
    }

    /// How often a path that contains a text was read since the last call of [`Api::writes`].
    pub fn reads(&self, text: &str) -> usize {
        let store = locked(&self.store);
        store.log.iter().filter(|line| line.starts_with("GET ") && line.contains(text)).count()
    }

    /// The writes since the last call, in order.
    pub fn writes(&self) -> Vec<String> {
        let log = std::mem::take(&mut locked(&self.store).log);
        log.into_iter().filter(|line| !line.starts_with("GET ")).collect()
    }
}

impl Store {
    fn write(&mut self, path: &str, object: &Value) -> Value {
        self.version += 1;
        let before = self.objects.get(path);
        let given = match object.text_at(&["metadata", "uid"]) {
            "" => format!("u{}", self.version),
            given => given.to_string(),
        };
        let uid = before.map_or(given, |o| o.text_at(&["metadata", "uid"]).into());
        let metadata = object.get("metadata").cloned().unwrap_or_default();
        let metadata =
            metadata.with("resourceVersion", self.version.to_string().into()).with("uid", uid.into());
        let object = object.with("metadata", metadata);
        self.objects.insert(path.into(), object.clone());
        object
    }

    /// The objects of a resource, in a namespace or everywhere, whose labels fit.
    fn list(&self, path: &str, query: &str) -> Value {
        let (base, plural) = path.rsplit_once('/').unwrap();
        let (base, within) = match base.split_once("/namespaces/") {
            Some((base, namespace)) => (base, format!("{base}/namespaces/{namespace}/")),
            None => (base, format!("{base}/")),
        };
        let selector = query.split('&').find_map(|part| part.strip_prefix("labelSelector="));
        let selector =
            selector.unwrap_or_default().replace("%3D", "=").replace("%2C", ",").replace("%2F", "/");
        let fits = |object: &Value| {
            selector.split(',').filter(|wanted| !wanted.is_empty()).all(|wanted| {
                let (key, value) = wanted.split_once('=').unwrap();
                object.at(&["metadata", "labels", key]).and_then(Value::as_str) == Some(value)
            })
        };
        let is_listed = |(at, object): &(&String, &Value)| {
            let (parent, _) = at.rsplit_once('/').unwrap();
            at.starts_with(base)
                && at.starts_with(&within)
                && parent.ends_with(&format!("/{plural}"))
                && fits(object)
        };
        let items = self.objects.iter().filter(is_listed).map(|(_, object)| object.clone()).collect();
        let version = self.version.to_string();
        Value::map([
            ("apiVersion", "v1".into()),
            ("kind", "List".into()),
            ("metadata", Value::map([("resourceVersion", version.into())])),
            ("items", Value::list(items)),
        ])
    }

    fn answer(&mut self, method: &str, path: &str, query: &str, body: &str) -> (u16, Value) {
        self.log.push(format!("{method} {path}"));
        let body = json::parse(body).unwrap_or_default();
        if let Some(found) = discovery(path) {
            return (200, found);
        }
        if method != "GET" && self.refused.is_some_and(|refused| path.starts_with(refused)) {
            return refusal(422, "Invalid", "spec.validations: Invalid value");
        }
        let is_counted =
            method != "GET" && ["/configmaps", "/updaterequests"].iter().any(|part| path.contains(part));
        match self.left.as_mut().filter(|_| is_counted) {
            Some(0) => return refusal(503, "ServiceUnavailable", "the server ends here"),
            Some(left) => *left -= 1,
            None => {}
        }
        let version_of = |o: &Value| o.text_at(&["metadata", "resourceVersion"]).to_string();
        match method {
            "GET" => match self.objects.get(path) {
                Some(object) => (200, object.clone()),
                None if is_collection(path) => (200, self.list(path, query)),
                None => refusal(404, "NotFound", &format!("{path} not found")),
            },
            "POST" => {
                let prefix = body.text_at(&["metadata", "generateName"]);
                let body = match prefix {
                    "" => body,
                    prefix => {
                        let name = format!("{prefix}{}", self.version);
                        let metadata = body.get("metadata").cloned().unwrap_or_default();
                        body.with("metadata", metadata.with("name", name.into()))
                    }
                };
                let path = format!("{path}/{}", body.text_at(&["metadata", "name"]));
                match self.objects.contains_key(&path) {
                    true => refusal(409, "AlreadyExists", &format!("{path} already exists")),
                    false => {
                        self.created.push(path.clone());
                        (201, self.write(&path, &body))
                    }
                }
            }
            "PUT" => {
                let (target, is_status) = match path.strip_suffix("/status") {
                    Some(target) => (target, true),
                    None => (path, false),
                };
                let Some(current) = self.objects.get(target).cloned() else {
                    return refusal(404, "NotFound", &format!("{target} not found"));
                };
                let version = version_of(&body);
                if !version.is_empty() && version != version_of(&current) {
                    return refusal(409, "Conflict", "the object has been modified");
                }
                let status = body.get("status").cloned().unwrap_or_default();
                let next = if is_status { current.with("status", status) } else { body };
                (200, self.write(target, &next))
            }
            "PATCH" => match self.objects.get(path).cloned() {
                Some(current) => (200, self.write(path, &merged(&current, &body))),
                None => refusal(404, "NotFound", &format!("{path} not found")),
            },
            "DELETE" => match self.objects.remove(path) {
                Some(object) => (200, object),
                None => refusal(404, "NotFound", &format!("{path} not found")),
            },
            _ => refusal(405, "MethodNotAllowed", method),
        }
    }
}

/// Whether a path is that of a resource, not of an object.
fn is_collection(path: &str) -> bool {
    let plural = path.rsplit('/').next().unwrap();
    let known = RESOURCES.iter().flat_map(|(_, all)| all.iter().map(|(plural, ..)| *plural));
    known.chain(["pods", "configmaps", "namespaces"]).any(|known| known == plural)
}

/// A JSON merge patch.
fn merged(current: &Value, patch: &Value) -> Value {
    let Some(changes) = patch.as_map() else { return patch.clone() };
    let mut members = current.as_map().cloned().unwrap_or_default();
    for (key, change) in changes.iter() {
        match change.is_null() {
            true => drop(members.remove(key)),
            false => {
                let next = merged(members.get(key).unwrap_or(&Value::Null), change);
                members.insert(key.clone(), next);
            }
        }
    }
    Value::Map(members)
}

fn refusal(code: i64, reason: &str, message: &str) -> (u16, Value) {
    let status = Value::map([
        ("kind", "Status".into()),
        ("apiVersion", "v1".into()),
        ("status", "Failure".into()),
        ("reason", reason.into()),
        ("message", message.into()),
        ("code", Value::Int(code)),
    ]);
    (u16::try_from(code).unwrap(), status)
}

fn discovery(path: &str) -> Option<Value> {
    if path == "/api" {
        return Some(Value::map([("versions", Value::list(vec!["v1".into()]))]));
    }
    if path == "/api/v1" {
        let all =
            [("pods", "Pod", true), ("configmaps", "ConfigMap", true), ("namespaces", "Namespace", false)];
        return Some(resources(&all));
    }
    if path == "/apis" {
        let groups = RESOURCES.iter().map(|(path, _)| {
            let (group, _) = path.trim_start_matches("/apis/").split_once('/').unwrap();
            let own = RESOURCES.iter().filter_map(|(path, _)| {
                path.trim_start_matches("/apis/").strip_prefix(group)?.strip_prefix('/')
            });
            let versions: Vec<Value> = own.map(|v| Value::map([("version", v.into())])).collect();
            (group, versions)
        });
        let groups: BTreeMap<&str, Vec<Value>> = groups.collect();
        let groups = groups.into_iter().map(|(group, versions)| {
            Value::map([
                ("name", group.into()),
                ("preferredVersion", versions.first().cloned().unwrap()),
                ("versions", Value::list(versions)),
            ])
        });
        return Some(Value::map([("groups", Value::list(groups.collect()))]));
    }
    RESOURCES.iter().find(|(of, _)| *of == path).map(|(_, all)| resources(all))
}

fn resources(all: &[Resource]) -> Value {
    let one = |(name, kind, namespaced): &Resource| {
        Value::map([
            ("name", (*name).into()),
            ("kind", (*kind).into()),
            ("namespaced", Value::Bool(*namespaced)),
        ])
    };
    Value::map([("resources", Value::list(all.iter().map(one).collect()))])
}

fn serve(stream: TcpStream, store: &Mutex<Store>) {
    let mut reader = BufReader::new(stream);
    loop {
        let mut first = String::new();
        if reader.read_line(&mut first).unwrap_or(0) == 0 {
            return;
        }
        let mut length = 0;
        loop {
            let mut header = String::new();
            if reader.read_line(&mut header).unwrap_or(0) == 0 || header == "\r\n" {
                break;
            }
            if let Some(value) = header.to_ascii_lowercase().strip_prefix("content-length:") {
                length = value.trim().parse().unwrap();
            }
        }
        let mut body = vec![0; length];
        reader.read_exact(&mut body).unwrap();
        let mut words = first.split_whitespace();
        let (method, target) = (words.next().unwrap(), words.next().unwrap());
        let (path, query) = target.split_once('?').unwrap_or((target, ""));
        if query.contains("watch=true") {
            // Nothing ever happens; the client ends the connection.
            let head = b"HTTP/1.1 200 Answer\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n";
            reader.get_mut().write_all(head).unwrap();
            let _ = reader.read_to_end(&mut Vec::new());
            return;
        }
        let (code, answer) = locked(store).answer(method, path, query, std::str::from_utf8(&body).unwrap());
        let text = print::json(&answer);
        let head = format!(
            "HTTP/1.1 {code} Answer\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n",
            text.len()
        );
        if reader.get_mut().write_all((head + &text).as_bytes()).is_err() {
            return;
        }
    }
}
