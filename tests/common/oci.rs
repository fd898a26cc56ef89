//! A small image registry on this machine: manifests, blobs, referrers, what is pushed, and
//! signatures created here.
#![allow(dead_code, clippy::expect_used)]

use std::collections::{HashMap, HashSet};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use base64::prelude::{BASE64_STANDARD, Engine};
use p256::ecdsa::signature::Signer;
use p256::ecdsa::{Signature, SigningKey};
use sha2::{Digest, Sha256};

/// The public key of [`team`].
pub const TEAM_KEY: &str = "-----BEGIN PUBLIC KEY-----
MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAEHhhTL9R1TALzBB2cdc6zO4P/2BrH
zk/ogsyxyYvFiW6kbDEcTi/0DdlqNlPm5FRF0y3+SG7O11x6kMahiIHAow==
-----END PUBLIC KEY-----
";

/// A key that policies name.
pub fn team() -> SigningKey {
    SigningKey::from_slice(&[7; 32]).expect("a key")
}

/// A key that no policy names.
pub fn stranger() -> SigningKey {
    SigningKey::from_slice(&[9; 32]).expect("a key")
}

/// The answer of a repository to every request.
#[derive(Clone)]
pub enum Tag {
    /// A status with a body.
    Status(u16, &'static str),
    /// An answer without end.
    Endless,
}

#[derive(Default)]
struct Content {
    manifests: HashMap<(String, String), String>,
    blobs: HashMap<String, Vec<u8>>,
    referrers: HashMap<String, Vec<serde_json::Value>>,
    /// Digests whose referrers are listed under a tag.
    unlisted: HashSet<String>,
    bad: HashMap<String, Tag>,
    /// The header `Authorization` that the service of tokens wants, if anything is to be proved.
    closed: Option<String>,
    /// How many questions are still answered with status 503.
    busy: usize,
}

/// What the service of tokens gives out.
const TOKEN: &str = "t0ken";

pub struct Oci {
    pub host: String,
    content: Arc<Mutex<Content>>,
    requests: Arc<AtomicUsize>,
}

fn sha256(bytes: &[u8]) -> String {
    let hex: String = Sha256::digest(bytes).iter().map(|b| format!("{b:02x}")).collect();
    format!("sha256:{hex}")
}

/// A layer: its media type, annotations and bytes.
pub type Layer<'a> = (&'a str, &'a [(&'a str, &'a str)], &'a [u8]);

const MANIFEST: &str = "application/vnd.oci.image.manifest.v1+json";

impl Oci {
    pub fn start() -> Oci {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let host = format!("localhost:{}", listener.local_addr().expect("an address").port());
        let oci = Oci { host, content: Arc::default(), requests: Arc::default() };
        let (content, requests) = (oci.content.clone(), oci.requests.clone());
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let (content, requests) = (content.clone(), requests.clone());
                std::thread::spawn(move || serve(stream, &content, &requests));
            }
        });
        oci
    }

    /// The number of requests.
    pub fn questions(&self) -> usize {
        self.requests.load(Ordering::SeqCst)
    }

    pub fn name(&self, repository: &str, tag: &str) -> String {
        format!("{}/{repository}:{tag}", self.host)
    }

    pub fn digest(&self, repository: &str, tag: &str) -> String {
        let content = self.content.lock().expect("a lock");
        sha256(content.manifests[&(repository.to_owned(), tag.to_owned())].as_bytes())
    }

    /// An artifact with layers; its digest.
    pub fn artifact(&mut self, repository: &str, tag: &str, layers: &[Layer<'_>]) -> String {
        let layers: Vec<serde_json::Value> = layers
            .iter()
            .map(|(media_type, annotations, bytes)| {
                let mut layer = self.blob(bytes);
                layer["mediaType"] = (*media_type).into();
                layer["annotations"] =
                    annotations.iter().copied().collect::<HashMap<_, _>>().into_iter().collect();
                layer
            })
            .collect();
        let config = self.blob(b"{}");
        let manifest = serde_json::json!({"schemaVersion": 2, "mediaType": MANIFEST, "config": config, "layers": layers});
        self.manifest(repository, tag, &manifest)
    }

    /// Moves a tag to what another one means.
    pub fn retag(&mut self, repository: &str, from: &str, to: &str) {
        let mut content = self.content.lock().expect("a lock");
        let text = content.manifests[&(repository.to_owned(), from.to_owned())].clone();
        content.manifests.insert((repository.to_owned(), to.to_owned()), text);
    }

    /// Replaces the bytes of all blobs, whose digests then are those of others.
    pub fn corrupt(&mut self) {
        self.content.lock().expect("a lock").blobs.values_mut().for_each(|bytes| bytes.fill(b' '));
    }

    pub fn misbehave(&mut self, repository: &str, how: Tag) {
        self.content.lock().expect("a lock").bad.insert(repository.into(), how);
    }

    /// From now on everything wants a token, which this user gets for the password.
    pub fn close(&mut self, user: &str, password: &str) {
        let both = BASE64_STANDARD.encode(format!("{user}:{password}"));
        self.content.lock().expect("a lock").closed = Some(format!("Basic {both}"));
    }

    /// The next questions are answered with status 503.
    pub fn tire(&mut self, questions: usize) {
        self.content.lock().expect("a lock").busy = questions;
    }

    fn blob(&mut self, bytes: &[u8]) -> serde_json::Value {
        let digest = sha256(bytes);
        self.content.lock().expect("a lock").blobs.insert(digest.clone(), bytes.to_vec());
        serde_json::json!({"digest": digest, "size": bytes.len()})
    }

    fn manifest(&mut self, repository: &str, tag: &str, manifest: &serde_json::Value) -> String {
        let text = manifest.to_string();
        let digest = sha256(text.as_bytes());
        let mut content = self.content.lock().expect("a lock");
        for by in [tag, &digest] {
            content.manifests.insert((repository.to_owned(), by.to_owned()), text.clone());
        }
        digest
    }

    /// An image; its digest.
    pub fn image(&mut self, repository: &str, tag: &str) -> String {
        let config = self.blob(
            format!(r#"{{"architecture":"amd64","os":"linux","config":{{"Labels":{{"t":"{tag}"}}}}}}"#)
                .as_bytes(),
        );
        let layer = self.blob(b"layer");
        let manifest = serde_json::json!({"schemaVersion": 2, "mediaType": MANIFEST, "config": config, "layers": [layer]});
        self.manifest(repository, tag, &manifest)
    }

    /// Stores a layer under the tag that cosign derives from a digest.
    fn attach(
        &mut self,
        repository: &str,
        digest: &str,
        suffix: &str,
        mut layer: serde_json::Value,
        signature: &str,
    ) {
        layer["annotations"] = serde_json::json!({"dev.cosignproject.cosign/signature": signature});
        let config = self.blob(b"{}");
        let manifest = serde_json::json!({"schemaVersion": 2, "mediaType": MANIFEST, "config": config, "layers": [layer]});
        self.manifest(repository, &format!("{}.{suffix}", digest.replace(':', "-")), &manifest);
    }

    /// Signs a claim about a digest and attaches it to an image.
    pub fn sign(
        &mut self,
        repository: &str,
        digest: &str,
        key: &SigningKey,
        claimed: &str,
        optional: Option<&str>,
    ) {
        let optional: serde_json::Value = serde_json::from_str(optional.unwrap_or("null")).expect("JSON");
        let payload = serde_json::json!({
            "critical": {
                "identity": {"docker-reference": format!("{}/{repository}", self.host)},
                "image": {"docker-manifest-digest": claimed},
                "type": "cosign container image signature",
            },
            "optional": optional,
        })
        .to_string();
        let signature: Signature = key.sign(payload.as_bytes());
        let layer = self.blob(payload.as_bytes());
        self.attach(repository, digest, "sig", layer, &BASE64_STANDARD.encode(signature.to_der().as_bytes()));
    }

    /// Attaches a signed statement to an image.
    pub fn state(&mut self, repository: &str, digest: &str, key: &SigningKey, predicate: &str) {
        let envelope = envelope(repository, digest, key, SCAN, predicate).to_string();
        let layer = self.blob(envelope.as_bytes());
        self.attach(repository, digest, "att", layer, "");
    }

    /// Keeps a bundle with a signed statement about something.
    pub fn bundle(&mut self, repository: &str, digest: &str, key: &SigningKey, about: &str) {
        let kind = "application/vnd.dev.sigstore.bundle.v0.3+json";
        let bundle = serde_json::json!({
            "mediaType": kind,
            "verificationMaterial": {"publicKey": {"hint": ""}, "tlogEntries": []},
            "dsseEnvelope": envelope(repository, about, key, SCAN, r#"{"scanner":{"score":7}}"#),
        });
        self.refer(repository, digest, kind, &bundle.to_string());
    }

    /// Signs something as `cosign sign --new-bundle-format` does; the list of referrers has this
    /// type.
    pub fn sign_as_bundle(&mut self, repository: &str, digest: &str, key: &SigningKey, listed: &str) {
        let kind = "application/vnd.dev.sigstore.bundle.v0.3+json";
        let bundle = serde_json::json!({
            "mediaType": kind,
            "verificationMaterial": {"publicKey": {"hint": ""}},
            "dsseEnvelope": envelope(repository, digest, key, "https://sigstore.dev/cosign/sign/v1", "null"),
        });
        self.refer(repository, digest, kind, &bundle.to_string());
        let mut content = self.content.lock().expect("a lock");
        let list = content.referrers.get_mut(digest).expect("a list");
        list.last_mut().expect("a referrer")["artifactType"] = listed.into();
    }

    /// Keeps a signature of the Notary Project that refers to an image or to something that refers
    /// to one; its digest.
    pub fn notarize(&mut self, repository: &str, digest: &str, media_type: &str, envelope: &[u8]) -> String {
        const KIND: &str = "application/vnd.cncf.notary.signature";
        let (mut layer, mut config) = (self.blob(envelope), self.blob(b"{}"));
        layer["mediaType"] = media_type.into();
        config["mediaType"] = KIND.into();
        let manifest = serde_json::json!({
            "schemaVersion": 2, "mediaType": MANIFEST, "config": config, "layers": [layer], "subject": {"digest": digest},
        });
        let own = self.manifest(repository, &format!("of-{}", &digest[7..]), &manifest);
        let descriptor = serde_json::json!({"mediaType": MANIFEST, "digest": own, "artifactType": KIND});
        self.content.lock().expect("a lock").referrers.entry(digest.into()).or_default().push(descriptor);
        own
    }

    /// Keeps what refers to an image under a tag, as registries do that do not know the question.
    pub fn list_by_tag(&mut self, repository: &str, digest: &str) {
        let list = self.content.lock().expect("a lock").referrers.remove(digest).unwrap_or_default();
        self.manifest(repository, &digest.replace(':', "-"), &serde_json::json!({"manifests": list}));
        self.content.lock().expect("a lock").unlisted.insert(digest.to_owned());
    }

    /// The size of a manifest.
    pub fn size(&self, repository: &str, digest: &str) -> usize {
        self.content.lock().expect("a lock").manifests[&(repository.to_owned(), digest.to_owned())].len()
    }

    /// Keeps an artifact that refers to an image; its digest.
    pub fn refer(&mut self, repository: &str, digest: &str, kind: &str, content: &str) -> String {
        let (layer, config) = (self.blob(content.as_bytes()), self.blob(b"{}"));
        let manifest = serde_json::json!({
            "schemaVersion": 2, "mediaType": MANIFEST, "artifactType": kind, "config": config, "layers": [layer],
        });
        let own = self.manifest(repository, "artifact", &manifest);
        let descriptor = serde_json::json!({"mediaType": MANIFEST, "digest": own, "artifactType": kind});
        self.content.lock().expect("a lock").referrers.entry(digest.into()).or_default().push(descriptor);
        own
    }
}

/// The type of statements about scans.
const SCAN: &str = "https://example.com/scan/v1";

/// A DSSE envelope with a statement about a digest.
fn envelope(
    repository: &str,
    digest: &str,
    key: &SigningKey,
    kind_of_predicate: &str,
    predicate: &str,
) -> serde_json::Value {
    let predicate: serde_json::Value = serde_json::from_str(predicate).expect("JSON");
    let statement = serde_json::json!({
        "_type": "https://in-toto.io/Statement/v0.1",
        "predicateType": kind_of_predicate,
        "subject": [{"name": repository, "digest": {"sha256": digest.trim_start_matches("sha256:")}}],
        "predicate": predicate,
    })
    .to_string();
    let kind = "application/vnd.in-toto+json";
    let signature: Signature =
        key.sign(format!("DSSEv1 {} {kind} {} {statement}", kind.len(), statement.len()).as_bytes());
    serde_json::json!({
        "payloadType": kind,
        "payload": BASE64_STANDARD.encode(&statement),
        "signatures": [{"keyid": "", "sig": BASE64_STANDARD.encode(signature.to_der().as_bytes())}],
    })
}

fn serve(stream: TcpStream, content: &Mutex<Content>, requests: &AtomicUsize) {
    let mut reader = BufReader::new(stream.try_clone().expect("a stream"));
    // Who speaks TLS sends no line to wait for.
    if !reader.fill_buf().is_ok_and(|bytes| bytes.first().is_some_and(u8::is_ascii_uppercase)) {
        return;
    }
    let mut first = String::new();
    if reader.read_line(&mut first).is_err() {
        return;
    }
    requests.fetch_add(1, Ordering::SeqCst);
    let (mut line, mut head) = (String::new(), String::new());
    while reader.read_line(&mut line).is_ok_and(|n| n > 2) {
        head.push_str(&line);
        line.clear();
    }
    let length =
        head.lines().find_map(|l| l.to_lowercase().strip_prefix("content-length: ").map(str::to_owned));
    let mut body = vec![0; length.and_then(|length| length.trim().parse().ok()).unwrap_or_default()];
    if reader.read_exact(&mut body).is_err() {
        return;
    }
    let mut words = first.split(' ');
    let (method, path) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
    let (closed, is_busy) = {
        let mut content = content.lock().expect("a lock");
        let is_busy = content.busy > 0;
        content.busy = content.busy.saturating_sub(1);
        (content.closed.clone(), is_busy)
    };
    if is_busy {
        return send(stream, 503, "text/plain", b"busy");
    }
    let respond = |stream: TcpStream| match method {
        "POST" | "PUT" => store(stream, method, path, body.clone(), content),
        _ => answer(stream, path, content),
    };
    let Some(closed) = closed else { return respond(stream) };
    let proof =
        head.lines().find_map(|l| l.to_lowercase().starts_with("authorization: ").then(|| l.split_at(15).1));
    match path.split_once('?') {
        // The name of the service has blanks, a comma and quotes.
        Some(("/token", query)) if query.contains("&service=a%2C%20%22b%22") && proof == Some(&closed) => {
            send(stream, 200, "application/json", format!(r#"{{"token":"{TOKEN}"}}"#).as_bytes());
        }
        Some(("/token", _)) => send(stream, 401, "text/plain", b"no"),
        _ if proof == Some(&format!("Bearer {TOKEN}")) => respond(stream),
        _ => {
            let host = head.lines().find_map(|l| l.to_lowercase().strip_prefix("host: ").map(str::to_owned));
            let host = host.unwrap_or_default();
            let challenge = format!(r#"bearer Realm="http://{host}/token",service="a, \"b\"",scope="x""#);
            let _ = write!(
                &stream,
                "HTTP/1.1 401 X\r\nWWW-Authenticate: {challenge}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
            );
        }
    }
}

fn send(mut stream: TcpStream, status: u16, kind: &str, body: &[u8]) {
    let head = format!(
        "HTTP/1.1 {status} X\r\nContent-Type: {kind}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n",
        body.len()
    );
    let _ = stream.write_all(head.as_bytes());
    let _ = stream.write_all(body);
}

/// Takes what is pushed: the two steps of a blob, and manifests.
fn store(stream: TcpStream, method: &str, path: &str, body: Vec<u8>, content: &Mutex<Content>) {
    let (path, query) = path.split_once('?').unwrap_or((path, ""));
    let steps: Vec<&str> = path.trim_matches('/').split('/').collect();
    let mut content = content.lock().expect("a lock");
    match (method, &steps[..]) {
        ("POST", ["v2", repository, "blobs", "uploads"]) => {
            let _ = write!(
                &stream,
                "HTTP/1.1 202 X\r\nLocation: /v2/{repository}/blobs/uploads/1?state=a\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
            );
        }
        ("PUT", ["v2", _, "blobs", "uploads", "1"])
            if query == format!("state=a&digest={}", sha256(&body).replace(':', "%3A")) =>
        {
            content.blobs.insert(sha256(&body), body);
            send(stream, 201, "text/plain", b"");
        }
        ("PUT", ["v2", repository, "manifests", by]) => {
            for by in [(*by).to_owned(), sha256(&body)] {
                let text = String::from_utf8(body.clone()).expect("text");
                content.manifests.insert(((*repository).to_owned(), by), text);
            }
            send(stream, 201, "text/plain", b"");
        }
        _ => send(stream, 400, "text/plain", b"no"),
    }
}

fn answer(mut stream: TcpStream, path: &str, content: &Mutex<Content>) {
    let content = content.lock().expect("a lock");
    let steps: Vec<&str> = path.trim_matches('/').split('/').collect();
    let ["v2", repository, what, by] = steps[..] else { return send(stream, 200, "application/json", b"{}") };
    if let Some(bad) = content.bad.get(repository).cloned() {
        drop(content);
        match bad {
            Tag::Status(status, body) => send(stream, status, MANIFEST, body.as_bytes()),
            Tag::Endless => {
                let head =
                    format!("HTTP/1.1 200 OK\r\nContent-Type: {MANIFEST}\r\nConnection: close\r\n\r\n");
                let _ = stream.write_all(head.as_bytes());
                while stream.write_all(&[b' '; 65536]).is_ok() {}
            }
        }
        return;
    }
    let found = match what {
        "manifests" => {
            content.manifests.get(&(repository.to_owned(), by.to_owned())).map(|t| t.as_bytes().to_vec())
        }
        "blobs" => content.blobs.get(by).cloned(),
        "referrers" if content.unlisted.contains(by) => None,
        "referrers" => {
            let list = content.referrers.get(by).cloned().unwrap_or_default();
            Some(serde_json::json!({"schemaVersion": 2, "manifests": list}).to_string().into_bytes())
        }
        _ => None,
    };
    drop(content);
    match found {
        Some(body) => {
            send(stream, 200, if what == "manifests" { MANIFEST } else { "application/octet-stream" }, &body)
        }
        None => {
            let code = if what == "blobs" { "BLOB_UNKNOWN" } else { "MANIFEST_UNKNOWN" };
            let name = code.to_lowercase().replace('_', " ");
            let body =
                format!(r#"{{"errors":[{{"code":"{code}","message":"{name}","detail":{{"Tag":"{by}"}}}}]}}"#);
            send(stream, 404, "application/json", body.as_bytes());
        }
    }
}
