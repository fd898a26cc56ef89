//! An API server in memory: objects by path, with versions and conflicts.
//!
//! It knows enough of the API for controllers: discovery, GET, lists by labels, watches, POST, PUT,
//! apply, merge patches, DELETE, the subresource `status`, who a client is. Every request is logged
//! as `METHOD PATH`.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

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
    /// How many writes of ConfigMaps and UpdateRequests are still answered; `None` = all.
    left: Option<usize>,
    /// Who has read which path.
    reads: Vec<(String, String)>,
    /// The paths of the objects that were created, in order.
    created: Vec<String>,
    /// What watches show: version, type, path and object.
    changes: Vec<(i64, &'static str, String, Value)>,
}

/// A store, and who waits for its changes.
#[derive(Default)]
struct Shared {
    store: Mutex<Store>,
    changed: Condvar,
}

/// See the module page.
pub struct Api {
    store: Arc<Shared>,
    pub cluster: Arc<Cluster>,
    address: std::net::SocketAddr,
}

/// A client with a token.
fn client(address: std::net::SocketAddr, token: &str) -> Arc<Cluster> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("config");
    let config = format!(
        "apiVersion: v1\nkind: Config\nclusters: [{{name: c, cluster: {{server: 'http://{address}'}}}}]\n\
         users: [{{name: u, user: {{token: {token}}}}}]\ncontexts: [{{name: c, context: {{cluster: c, user: u}}}}]\ncurrent-context: c\n"
    );
    std::fs::write(&path, config).unwrap();
    let kubeconfig = path.to_string_lossy().into_owned();
    Arc::new(connect(&Choice { kubeconfig, ..Choice::default() }).unwrap())
}

/// The account of all clients.
const ACCOUNT: &str = "system:serviceaccount:kyverno:ephor";

/// Name, kind, and whether objects have a namespace.
type Resource = (&'static str, &'static str, bool);

const CORE: [Resource; 4] = [
    ("pods", "Pod", true),
    ("configmaps", "ConfigMap", true),
    ("secrets", "Secret", true),
    ("namespaces", "Namespace", false),
];

const RESOURCES: [(&str, &[Resource]); 8] = [
    (
        "/apis/admissionregistration.k8s.io/v1",
        &[
            ("validatingwebhookconfigurations", "ValidatingWebhookConfiguration", false),
            ("mutatingwebhookconfigurations", "MutatingWebhookConfiguration", false),
            ("validatingadmissionpolicies", "ValidatingAdmissionPolicy", false),
            ("validatingadmissionpolicybindings", "ValidatingAdmissionPolicyBinding", false),
            ("mutatingadmissionpolicies", "MutatingAdmissionPolicy", false),
            ("mutatingadmissionpolicybindings", "MutatingAdmissionPolicyBinding", false),
        ],
    ),
    ("/apis/events.k8s.io/v1", &[("events", "Event", true)]),
    (
        "/apis/wgpolicyk8s.io/v1alpha2",
        &[("policyreports", "PolicyReport", true), ("clusterpolicyreports", "ClusterPolicyReport", false)],
    ),
    (
        "/apis/openreports.io/v1alpha1",
        &[("reports", "Report", true), ("clusterreports", "ClusterReport", false)],
    ),
    ("/apis/coordination.k8s.io/v1", &[("leases", "Lease", true)]),
    ("/apis/kyverno.io/v1", &[("clusterpolicies", "ClusterPolicy", false)]),
    ("/apis/kyverno.io/v2", &[("updaterequests", "UpdateRequest", true)]),
    ("/apis/policies.kyverno.io/v1", &[("validatingpolicies", "ValidatingPolicy", false)]),
];

fn locked(shared: &Shared) -> MutexGuard<'_, Store> {
    shared.store.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Api {
    pub fn start() -> Api {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let store: Arc<Shared> = Arc::default();
        let of = store.clone();
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let store = of.clone();
                std::thread::spawn(move || serve(stream, &store));
            }
        });
        Api { store, cluster: client(address, "test"), address }
    }

    /// The client of another program.
    pub fn client(&self, name: &str) -> Arc<Cluster> {
        client(self.address, name)
    }

    /// Which clients, of those that [`Api::client`] gave, have read a path since the last call of
    /// [`Api::clear_reads`].
    pub fn readers(&self, path: &str) -> Vec<String> {
        let store = locked(&self.store);
        store.reads.iter().filter(|(_, read)| read == path).map(|(reader, _)| reader.clone()).collect()
    }

    /// See [`Api::readers`].
    pub fn clear_reads(&self) {
        locked(&self.store).reads.clear();
    }

    /// The object at a path, if there is one.
    pub fn object(&self, path: &str) -> Option<Value> {
        locked(&self.store).objects.get(path).cloned()
    }

    /// Puts an object at a path, as another program would.
    pub fn put(&self, path: &str, object: &Value) -> Value {
        let written = locked(&self.store).write(path, object);
        self.store.changed.notify_all();
        written
    }

    /// Removes an object, as another program would.
    pub fn remove(&self, path: &str) {
        locked(&self.store).remove(path);
        self.store.changed.notify_all();
    }

    /// The objects whose paths begin so.
    pub fn below(&self, path: &str) -> Vec<Value> {
        let store = locked(&self.store);
        store
            .objects
            .iter()
            .filter(|(of, _)| of.starts_with(path))
            .map(|(_, object)| object.clone())
            .collect()
    }

    /// Answers this many writes of ConfigMaps and UpdateRequests more, then none: as if the server
    /// that writes ended there; `None` = all again.
    pub fn allow(&self, writes: Option<usize>) {
        locked(&self.store).left = writes;
    }

    /// How many of these are left.
    pub fn left(&self) -> Option<usize> {
        locked(&self.store).left
    }

    /// How often an object was created at a path.
    pub fn created(&self, path: &str) -> usize {
        locked(&self.store).created.iter().filter(|created| **created == path).count()
    }

    /// How often a path that contains a text was read since the last call of [`Api::writes`].
    pub fn reads(&self, text: &str) -> usize {
        let store = locked(&self.store);
        store.log.iter().filter(|line| line.starts_with("GET ") && line.contains(text)).count()
    }

    /// Refuses writes to paths that begin so, from now on.
    pub fn refuse(&self, path: &'static str) {
        locked(&self.store).refused = Some(path);
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
        let change = if before.is_some() { "MODIFIED" } else { "ADDED" };
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
        self.changes.push((self.version, change, path.into(), object.clone()));
        object
    }

    fn remove(&mut self, path: &str) -> Option<Value> {
        self.version += 1;
        let object = self.objects.remove(path)?;
        self.changes.push((self.version, "DELETED", path.into(), object.clone()));
        Some(object)
    }

    /// Applies an object (server-side apply by the only manager there is): what it has replaces
    /// what is there.
    fn apply(&mut self, path: &str, body: &Value) -> Value {
        let current = self.objects.get(path).cloned().unwrap_or_default();
        let mut members = current.as_map().cloned().unwrap_or_default();
        for (key, value) in body.as_map().into_iter().flat_map(|body| body.iter()) {
            members.insert(key.clone(), value.clone());
        }
        self.write(path, &Value::Map(members))
    }

    fn answer(&mut self, call: &Call<'_>) -> (u16, Value) {
        let Call { method, path, .. } = *call;
        self.log.push(format!("{method} {path}"));
        if method == "GET" {
            self.reads.push((call.token.into(), path.into()));
        }
        let body = json::parse(call.body).unwrap_or_default();
        if let Some(found) = discovery(path) {
            return (200, found);
        }
        if method != "GET" && self.refused.is_some_and(|refused| path.starts_with(refused)) {
            return refusal(422, "Invalid", "spec.validations: Invalid value");
        }
        let is_counted =
            method != "GET" && ["/configmaps", "/updaterequests"].iter().any(|part| path.contains(part));
        match self.left.as_mut().filter(|_| is_counted) {
            Some(0) => return refusal(500, "InternalError", "the server ends here"),
            Some(left) => *left -= 1,
            None => {}
        }
        let version_of = |o: &Value| o.text_at(&["metadata", "resourceVersion"]).to_string();
        match method {
            "GET" if is_list(path) => {
                let is_in = |(of, object): &(&String, &Value)| list_of(of, path) && call.selects(object);
                let items = self.objects.iter().filter(is_in).map(|(_, object)| object.clone());
                let items = Value::list(items.collect());
                let metadata = Value::map([("resourceVersion", self.version.to_string().into())]);
                (200, Value::map([("kind", "List".into()), ("metadata", metadata), ("items", items)]))
            }
            "GET" => match self.objects.get(path) {
                Some(object) => (200, object.clone()),
                None => refusal(404, "NotFound", &format!("{path} not found")),
            },
            "POST" if path.ends_with("/selfsubjectreviews") => {
                let user = Value::map([("username", ACCOUNT.into())]);
                (201, Value::map([("status", Value::map([("userInfo", user)]))]))
            }
            "POST" => {
                let body = match body.text_at(&["metadata", "generateName"]) {
                    "" => body,
                    prefix => {
                        let name = format!("{prefix}{}", self.version);
                        let metadata = body.get("metadata").cloned().unwrap_or_default();
                        body.with("metadata", metadata.with("name", name.into()))
                    }
                };
                let path = format!("{path}/{}", body.text_at(&["metadata", "name"]));
                let path = path.trim_end_matches('/').to_string();
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
            "PATCH" if call.content_type.contains("merge-patch") => match self.objects.get(path).cloned() {
                Some(current) => (200, self.write(path, &merged(&current, &body))),
                None => refusal(404, "NotFound", &format!("{path} not found")),
            },
            "PATCH" => match self.objects.get(path).map(version_of) {
                Some(version) if ![String::new(), version.clone()].contains(&version_of(&body)) => {
                    refusal(409, "Conflict", "the object has been modified")
                }
                _ => (200, self.apply(path, &body)),
            },
            "DELETE" => match self.remove(path) {
                Some(object) => (200, object),
                None => refusal(404, "NotFound", &format!("{path} not found")),
            },
            _ => refusal(405, "MethodNotAllowed", method),
        }
    }
}

/// A request.
struct Call<'c> {
    method: &'c str,
    path: &'c str,
    query: &'c str,
    content_type: &'c str,
    token: &'c str,
    body: &'c str,
}

impl Call<'_> {
    /// Whether its selector takes an object.
    fn selects(&self, object: &Value) -> bool {
        let selector = self.query.split('&').find_map(|part| part.strip_prefix("labelSelector="));
        let selector =
            selector.unwrap_or_default().replace("%3D", "=").replace("%2C", ",").replace("%2F", "/");
        let selector = selector.replace("%21", "!");
        let label = |key: &str| object.at(&["metadata", "labels", key]).and_then(Value::as_str);
        selector.split(',').filter(|wanted| !wanted.is_empty()).all(|wanted| match wanted.split_once('=') {
            Some((key, value)) => label(key) == Some(value),
            None => match wanted.strip_prefix('!') {
                Some(key) => label(key).is_none(),
                None => label(wanted).is_some(),
            },
        })
    }
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

/// Whether a path is that of all objects of a resource.
fn is_list(path: &str) -> bool {
    let last = path.rsplit('/').next().unwrap();
    let mut all = RESOURCES.iter().flat_map(|(_, all)| all.iter()).chain(&CORE);
    all.any(|(name, ..)| *name == last) && !path.ends_with(&format!("/namespaces/{last}"))
}

/// Whether the object of a path is in the list of another one.
fn list_of(path: &str, list: &str) -> bool {
    let (of, _) = path.rsplit_once('/').unwrap();
    let everywhere = match of.split_once("/namespaces/") {
        Some((root, rest)) => format!("{root}/{}", rest.split_once('/').map_or("", |(_, plural)| plural)),
        None => of.to_string(),
    };
    of == list || everywhere == list
}

fn discovery(path: &str) -> Option<Value> {
    if path == "/api" {
        return Some(Value::map([("versions", Value::list(vec!["v1".into()]))]));
    }
    if path == "/api/v1" {
        return Some(resources(&CORE));
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

/// Shows what changes from a version on, until the client has gone.
fn watch(stream: &mut TcpStream, shared: &Shared, path: &str, mut version: i64) {
    let head = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nConnection: close\r\n\r\n";
    if stream.write_all(head.as_bytes()).is_err() {
        return;
    }
    loop {
        let mut store = locked(shared);
        let new = |store: &Store| -> Vec<(i64, &'static str, Value)> {
            let is_new = |(at, _, of, _): &&(i64, &str, String, Value)| *at > version && list_of(of, path);
            let shown =
                |(at, what, _, object): &(i64, &'static str, String, Value)| (*at, *what, object.clone());
            store.changes.iter().filter(is_new).map(shown).collect()
        };
        let mut changes = new(&store);
        if changes.is_empty() {
            let waited = shared.changed.wait_timeout(store, Duration::from_millis(100));
            store = waited.unwrap_or_else(PoisonError::into_inner).0;
            changes = new(&store);
        }
        drop(store);
        for (at, what, object) in changes {
            version = at;
            let line = Value::map([("type", what.into()), ("object", object)]);
            if stream.write_all((print::json(&line) + "\n").as_bytes()).is_err() {
                return;
            }
        }
    }
}

fn serve(stream: TcpStream, store: &Shared) {
    let mut reader = BufReader::new(stream);
    loop {
        let mut first = String::new();
        if reader.read_line(&mut first).unwrap_or(0) == 0 {
            return;
        }
        let (mut length, mut content_type, mut token) = (0, String::new(), String::new());
        loop {
            let mut header = String::new();
            if reader.read_line(&mut header).unwrap_or(0) == 0 || header == "\r\n" {
                break;
            }
            let header = header.to_ascii_lowercase();
            if let Some(value) = header.strip_prefix("content-length:") {
                length = value.trim().parse().unwrap();
            }
            if let Some(value) = header.strip_prefix("content-type:") {
                content_type = value.trim().to_string();
            }
            if let Some(value) = header.strip_prefix("authorization: bearer") {
                token = value.trim().to_string();
            }
        }
        let mut body = vec![0; length];
        reader.read_exact(&mut body).unwrap();
        let mut words = first.split_whitespace();
        let (method, target) = (words.next().unwrap(), words.next().unwrap());
        let path = target.split('?').next().unwrap();
        let (_, query) = target.split_once('?').unwrap_or((target, ""));
        let given = |key: &str| query.split('&').find_map(|pair| pair.strip_prefix(key)?.strip_prefix('='));
        if given("watch") == Some("true") {
            let version = given("resourceVersion").and_then(|v| v.parse().ok()).unwrap_or(0);
            return watch(reader.get_mut(), store, path, version);
        }
        let body = std::str::from_utf8(&body).unwrap();
        let call = Call { method, path, query, content_type: &content_type, token: &token, body };
        let (code, answer) = locked(store).answer(&call);
        if method != "GET" {
            store.changed.notify_all();
        }
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
