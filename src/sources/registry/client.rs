//! Registries over HTTP: the pulling half of the OCI distribution protocol.
//!
//! In: where something is kept. Out: its bytes, with the digest checked. Hosts on the machine itself and in private networks
//! may speak plain HTTP; all others must speak TLS. Tokens are fetched where a registry asks for them, with the
//! user's credentials of `docker login` where there are some. Every answer is limited in size and time, and is
//! kept, so that nothing is asked twice.

use std::collections::HashMap;
use std::hash::Hash;
use std::net::Ipv4Addr;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use crate::functions::decode_json;
use crate::functions::encode::base64_text;
use crate::sources::http::{self, Request, Unread};
use crate::value::Value;
use sha2::{Digest, Sha256};

use super::{Cause, Failure, Manifest, Registry, Repository};

/// The largest manifest and list of referrers.
const LARGEST_MANIFEST: u64 = 4 * 1024 * 1024;
/// The largest answer of a service that gives out tokens, or of a text that tells a failure.
const LARGEST_TEXT: u64 = 256 * 1024;
/// How long a question may take.
const LONGEST: Duration = Duration::from_secs(30);

const ACCEPTED: &str = "application/vnd.oci.image.index.v1+json,\
    application/vnd.docker.distribution.manifest.list.v2+json,\
    application/vnd.oci.image.manifest.v1+json,application/vnd.docker.distribution.manifest.v2+json";
const INDEX: &str = "application/vnd.oci.image.index.v1+json";

/// Answers by question; each question is asked once, also by several threads.
struct Kept<K, V>(Mutex<HashMap<K, Arc<OnceLock<V>>>>);

impl<K, V> Default for Kept<K, V> {
    fn default() -> Self {
        Kept(Mutex::new(HashMap::new()))
    }
}

impl<K: Hash + Eq, V: Clone> Kept<K, V> {
    fn get(&self, key: K, ask: impl FnOnce() -> V) -> V {
        let Ok(mut all) = self.0.lock() else { return ask() };
        let cell = all.entry(key).or_default().clone();
        drop(all);
        cell.get_or_init(ask).clone()
    }
}

/// How a repository is spoken to.
#[derive(Clone)]
struct Session {
    /// `https://host`
    base: String,
    /// The header `Authorization`.
    authorization: Option<String>,
}

type Blob = Result<Arc<Vec<u8>>, Failure>;

/// See the module page.
#[derive(Default)]
pub struct Client {
    sessions: Kept<Repository, Result<Session, Failure>>,
    manifests: Kept<(Repository, String), Result<Manifest, Failure>>,
    blobs: Kept<(Repository, String, u64), Blob>,
    referrers: Kept<(Repository, String), Result<Vec<Value>, Failure>>,
}

/// Who answers for registries, if anybody may be asked.
pub fn registry(allowed: bool) -> Option<Arc<dyn Registry>> {
    allowed.then(|| -> Arc<dyn Registry> { Arc::new(Client::default()) })
}

/// Who answers for registries for a long time: what was asked is forgotten after a while, as tags move.
pub fn renewed(every: Duration) -> Arc<dyn Registry> {
    Arc::new(Renewed { every, current: Mutex::new((Instant::now(), Arc::default())) })
}

struct Renewed {
    every: Duration,
    current: Mutex<(Instant, Arc<Client>)>,
}

impl Renewed {
    fn current(&self) -> Arc<Client> {
        let mut current = self.current.lock().unwrap_or_else(PoisonError::into_inner);
        if current.0.elapsed() >= self.every {
            *current = (Instant::now(), Arc::default());
        }
        current.1.clone()
    }
}

impl Registry for Renewed {
    fn manifest(&self, at: &Repository, by: &str) -> Result<Manifest, Failure> {
        self.current().manifest(at, by)
    }

    fn blob(&self, at: &Repository, digest: &str, most: u64) -> Result<Vec<u8>, Failure> {
        self.current().blob(at, digest, most)
    }

    fn referrers(&self, at: &Repository, digest: &str) -> Result<Vec<Value>, Failure> {
        self.current().referrers(at, digest)
    }
}

impl Registry for Client {
    fn manifest(&self, at: &Repository, by: &str) -> Result<Manifest, Failure> {
        self.manifests.get((at.clone(), by.to_owned()), || self.fetch_manifest(at, by))
    }

    fn blob(&self, at: &Repository, digest: &str, most: u64) -> Result<Vec<u8>, Failure> {
        let ask = || self.fetch_blob(at, digest, most).map(Arc::new);
        self.blobs.get((at.clone(), digest.to_owned(), most), ask).map(|bytes| bytes.to_vec())
    }

    fn referrers(&self, at: &Repository, digest: &str) -> Result<Vec<Value>, Failure> {
        self.referrers.get((at.clone(), digest.to_owned()), || self.fetch_referrers(at, digest))
    }
}

impl Client {
    /// The body of a path of a repository.
    fn fetch(&self, at: &Repository, path: &str, accept: &str, most: u64) -> Result<Answer, Failure> {
        let session = self.sessions.get(at.clone(), || open(at))?;
        let url = format!("{}/v2/{}/{path}", session.base, at.path);
        let headers = [("Accept", Some(accept)), ("Authorization", session.authorization.as_deref())];
        get(&url, &headers, most)?.checked(&url)
    }

    fn fetch_manifest(&self, at: &Repository, by: &str) -> Result<Manifest, Failure> {
        let answer = self.fetch(at, &format!("manifests/{by}"), ACCEPTED, LARGEST_MANIFEST)?;
        let digest = sha256(&answer.body);
        if by.starts_with("sha256:") && digest != by {
            return Err(Failure::other(format!(
                "manifest digest: \"{digest}\" does not match requested digest: \"{by}\" for \"{at}@{by}\""
            )));
        }
        Ok(Manifest { digest, media_type: answer.media_type, bytes: answer.body })
    }

    fn fetch_blob(&self, at: &Repository, digest: &str, most: u64) -> Result<Vec<u8>, Failure> {
        let bytes = self.fetch(at, &format!("blobs/{digest}"), "*/*", most)?.body;
        let found = sha256(&bytes);
        if found != digest {
            return Err(Failure::other(format!(
                "error verifying sha256 checksum after reading {} bytes; got \"{found}\", want \"{digest}\"",
                bytes.len()
            )));
        }
        Ok(bytes)
    }

    fn fetch_referrers(&self, at: &Repository, digest: &str) -> Result<Vec<Value>, Failure> {
        let answer = self.fetch(at, &format!("referrers/{digest}"), INDEX, LARGEST_MANIFEST);
        let body = match answer {
            Ok(answer) => answer.body,
            // Registries without that list keep it under a tag.
            Err(Failure { cause: Cause::Missing, .. }) => {
                match self.fetch_manifest(at, &digest.replacen(':', "-", 1)) {
                    Ok(manifest) => manifest.bytes,
                    Err(Failure { cause: Cause::Missing, .. }) => return Ok(Vec::new()),
                    Err(failure) => return Err(failure),
                }
            }
            Err(failure) => return Err(failure),
        };
        let list = decode_json(&String::from_utf8_lossy(&body)).map_err(Failure::other)?;
        Ok(list.get("manifests").and_then(Value::as_list).unwrap_or_default().to_vec())
    }
}

/// `sha256:…` of bytes.
fn sha256(bytes: &[u8]) -> String {
    let hash = Sha256::digest(bytes);
    let hex: String = hash.iter().map(|b| format!("{b:02x}")).collect();
    format!("sha256:{hex}")
}

/// An answer whatever its status.
struct Answer {
    status: u16,
    media_type: String,
    challenge: String,
    body: Vec<u8>,
}

impl Answer {
    /// The answer, when its status says that all is well.
    fn checked(self, url: &str) -> Result<Answer, Failure> {
        if self.status == 200 {
            return Ok(self);
        }
        let cause = if self.status == 404 { Cause::Missing } else { Cause::Other };
        Err(Failure { text: format!("GET {url}: {}", self.told()), cause })
    }

    /// What the registry says is wrong.
    fn told(&self) -> String {
        let text = String::from_utf8_lossy(&self.body);
        let errors = decode_json(&text).ok();
        let errors =
            errors.as_ref().and_then(|v| v.get("errors")).and_then(Value::as_list).unwrap_or_default();
        match errors {
            [] => {
                let name = ureq::http::StatusCode::from_u16(self.status);
                let name = name.ok().and_then(|s| s.canonical_reason()).unwrap_or_default();
                let what = format!("unexpected status code {} {name}", self.status);
                if text.is_empty() { what } else { format!("{what}: {text}") }
            }
            [one] => diagnosis(one),
            many => {
                let all: Vec<String> = many.iter().map(diagnosis).collect();
                format!("multiple errors returned: {}", all.join("; "))
            }
        }
    }
}

fn diagnosis(error: &Value) -> String {
    let mut text = format!("{}: {}", error.text_at(&["code"]), error.text_at(&["message"]));
    if let Some(detail) = error.get("detail").filter(|d| !d.is_null()) {
        text.push_str(&format!("; {}", crate::value::print::display(detail)));
    }
    text
}

/// Asks, and takes an answer of at most so many bytes.
fn get(url: &str, headers: &[(&str, Option<&str>)], most: u64) -> Result<Answer, Failure> {
    let mut request = Request::get(url, LONGEST);
    for (name, value) in headers {
        if let Some(value) = value {
            request = request.header(name, value);
        }
    }
    let answer = http::client().send(request).map_err(|failed| Failure::network(failed.to_string()))?;
    let status = answer.status.as_u16();
    let (media_type, challenge) =
        (answer.header("content-type").to_owned(), answer.header("www-authenticate").to_owned());
    let most = if status == 200 { most } else { LARGEST_TEXT };
    let body = answer.bytes(most).map_err(|unread| match unread {
        Unread::TooLarge => Failure::other(format!("Get \"{url}\": the answer has more than {most} bytes")),
        unread => Failure::network(format!("Get \"{url}\": {unread}")),
    })?;
    Ok(Answer { status, media_type, challenge, body })
}

/// Whether a host may speak plain HTTP: the machine itself, and private networks.
fn is_near(registry: &str) -> bool {
    let host = match registry.strip_prefix('[') {
        Some(rest) => rest.split(']').next().unwrap_or_default(),
        None => registry.split(':').next().unwrap_or_default(),
    };
    if host == "localhost" || host == "::1" || host.ends_with(".localhost") || host.ends_with(".local") {
        return true;
    }
    host.parse::<Ipv4Addr>().is_ok_and(|ip| ip.is_loopback() || ip.is_private())
}

/// Finds out how a repository is spoken to.
fn open(at: &Repository) -> Result<Session, Failure> {
    let schemes: &[&str] = if is_near(&at.registry) { &["https", "http"] } else { &["https"] };
    let mut failures: Vec<String> = Vec::new();
    for scheme in schemes {
        let base = format!("{scheme}://{}", at.registry);
        let url = format!("{base}/v2/");
        let answer = match get(&url, &[], LARGEST_TEXT) {
            Ok(answer) => answer,
            Err(failure) => {
                failures.push(failure.text);
                continue;
            }
        };
        return match answer.status {
            200 => Ok(Session { base, authorization: None }),
            401 => {
                let authorization = authorization(at, &answer.challenge)?;
                Ok(Session { base, authorization })
            }
            _ => Err(answer.checked(&url).err().unwrap_or_else(|| Failure::other("no answer"))),
        };
    }
    Err(Failure::network(failures.join("; ")))
}

/// What a registry that asks who comes is told.
fn authorization(at: &Repository, challenge: &str) -> Result<Option<String>, Failure> {
    let known = credentials(&at.registry).map(|c| format!("Basic {c}"));
    let Some(asked) = challenge.strip_prefix("Bearer ") else { return Ok(known) };
    let part = |key: &str| {
        let (_, rest) = asked.split_once(&format!("{key}=\""))?;
        rest.split('"').next()
    };
    let Some(realm) = part("realm") else {
        return Err(Failure::other("malformed www-authenticate, missing realm"));
    };
    let service = part("service").unwrap_or_default();
    let join = if realm.contains('?') { '&' } else { '?' };
    let encoded =
        |text: &str| text.replace('%', "%25").replace(':', "%3A").replace('/', "%2F").replace('&', "%26");
    let scope = encoded(&format!("repository:{}:pull", at.path));
    let url = format!("{realm}{join}scope={scope}&service={}", encoded(service));
    let answer = get(&url, &[("Authorization", known.as_deref())], LARGEST_TEXT)?.checked(&url)?;
    let token = decode_json(&String::from_utf8_lossy(&answer.body)).map_err(Failure::other)?;
    let named = ["token", "access_token"].map(|key| token.text_at(&[key]).to_owned());
    match named.into_iter().find(|t| !t.is_empty()) {
        Some(token) => Ok(Some(format!("Bearer {token}"))),
        None => Err(Failure::other("no token in bearer response")),
    }
}

/// What `docker login` has kept for a host: base64 of user and password.
fn credentials(registry: &str) -> Option<String> {
    let folder = std::env::var_os("DOCKER_CONFIG")
        .map(std::path::PathBuf::from)
        .or_else(|| std::env::var_os("HOME").map(|home| std::path::PathBuf::from(home).join(".docker")))?;
    let text = std::fs::read_to_string(folder.join("config.json")).ok()?;
    let config = decode_json(&text).ok()?;
    let names = match registry {
        "index.docker.io" => vec!["https://index.docker.io/v1/", "index.docker.io", "docker.io"],
        other => vec![other],
    };
    let own = names.into_iter().find_map(|name| config.at(&["auths", name]))?;
    let auth = own.text_at(&["auth"]);
    if !auth.is_empty() {
        return Some(auth.to_owned());
    }
    let (user, password) = (own.text_at(&["username"]), own.text_at(&["password"]));
    (!user.is_empty()).then(|| base64_text(format!("{user}:{password}").as_bytes()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_near_hosts_may_speak_plain_http() {
        for near in ["localhost:5000", "127.0.0.1", "10.1.2.3:80", "registry.local", "[::1]:5000"] {
            assert!(is_near(near), "{near}");
        }
        for far in ["ghcr.io", "8.8.8.8:5000", "localhost.example.com", "index.docker.io"] {
            assert!(!is_near(far), "{far}");
        }
    }

    #[test]
    fn failures_are_told_in_the_words_of_the_reference() {
        let told = |status, body: &str| {
            let (media_type, challenge) = (String::new(), String::new());
            Answer { status, media_type, challenge, body: body.into() }.told()
        };
        assert_eq!(told(500, "boom"), "unexpected status code 500 Internal Server Error: boom");
        assert_eq!(told(404, ""), "unexpected status code 404 Not Found");
        let unknown =
            r#"{"errors":[{"code":"MANIFEST_UNKNOWN","message":"manifest unknown","detail":{"Tag":"x"}}]}"#;
        assert_eq!(told(404, unknown), "MANIFEST_UNKNOWN: manifest unknown; map[Tag:x]");
    }
}
