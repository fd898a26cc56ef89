//! Registries over HTTP: the pulling half of the OCI distribution protocol.
//!
//! In: the repository and digest or tag of something. Out: its bytes, with the digest checked.
//! Hosts on the machine itself and in private networks may speak plain HTTP; all others must speak
//! TLS (`super::session`). Credentials are those of [`super::credentials`]. Every answer is limited
//! in size and time, and is cached, so that no request is sent twice.

use std::collections::HashMap;
use std::hash::Hash;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use ephor_document::decode_json;
use ephor_value::Value;
use sha2::{Digest, Sha256};

use super::credentials::{ImageRegistryCredentials, Keys};
use super::session::{Actions, Session, get, open};
use super::{Cause, Failure, Manifest, Registry, Repository};

/// The largest manifest and list of referrers. Registries need not take larger manifests.
const MAX_MANIFEST: u64 = 4 * 1024 * 1024;

const ACCEPTED: &str = "application/vnd.oci.image.index.v1+json,\
    application/vnd.docker.distribution.manifest.list.v2+json,\
    application/vnd.oci.image.manifest.v1+json,application/vnd.docker.distribution.manifest.v2+json";
const INDEX: &str = "application/vnd.oci.image.index.v1+json";

/// Responses by request; each request is sent once, also by several threads.
struct Memo<K, V>(Mutex<HashMap<K, Arc<OnceLock<V>>>>);

impl<K, V> Default for Memo<K, V> {
    fn default() -> Self {
        Memo(Mutex::new(HashMap::new()))
    }
}

impl<K: Hash + Eq, V: Clone> Memo<K, V> {
    fn get(&self, key: K, fetch: impl FnOnce() -> V) -> V {
        let Ok(mut all) = self.0.lock() else { return fetch() };
        let cell = all.entry(key).or_default().clone();
        drop(all);
        cell.get_or_init(fetch).clone()
    }
}

type Blob = Result<Arc<Vec<u8>>, Failure>;

/// See the module page.
#[derive(Default)]
pub struct RegistryClient {
    keys: Arc<Keys>,
    sessions: Memo<Repository, Result<Session, Failure>>,
    manifests: Memo<(Repository, String), Result<Manifest, Failure>>,
    blobs: Memo<(Repository, String, u64), Blob>,
    referrers: Memo<(Repository, String), Result<Vec<Value>, Failure>>,
}

/// The client for registries, if access to them is allowed.
pub fn registry(allowed: bool) -> Option<Arc<dyn Registry>> {
    allowed.then(|| -> Arc<dyn Registry> { Arc::new(Clients::new(None, Keys::default())) })
}

/// A client for registries that runs for a long time: cached responses expire, as tags move.
pub fn renewed(every: Duration, keys: Keys) -> Arc<dyn Registry> {
    Arc::new(Clients::new(Some(every), keys))
}

/// The clients in use, and since when.
type Current = (Instant, HashMap<ImageRegistryCredentials, Arc<RegistryClient>>);

/// A client for each set of credentials that policies name: responses to one set are not shared
/// with others.
struct Clients {
    every: Option<Duration>,
    keys: Arc<Keys>,
    current: Arc<Mutex<Current>>,
    wanted: ImageRegistryCredentials,
}

/// More sets of credentials than any installation has. With more, the pool begins anew.
const MAX_CLIENTS: usize = 256;

impl Clients {
    fn new(every: Option<Duration>, keys: Keys) -> Clients {
        let current = Arc::new(Mutex::new((Instant::now(), HashMap::new())));
        Clients { every, keys: Arc::new(keys), current, wanted: ImageRegistryCredentials::default() }
    }

    fn current(&self) -> Arc<RegistryClient> {
        let mut current = self.current.lock().unwrap_or_else(PoisonError::into_inner);
        let is_old = self.every.is_some_and(|every| current.0.elapsed() >= every);
        if is_old || current.1.len() >= MAX_CLIENTS {
            *current = (Instant::now(), HashMap::new());
        }
        let new = || Arc::new(RegistryClient::new(self.keys.with(&self.wanted)));
        current.1.entry(self.wanted.clone()).or_insert_with(new).clone()
    }
}

impl Registry for Clients {
    fn manifest(&self, at: &Repository, by: &str) -> Result<Manifest, Failure> {
        self.current().manifest(at, by)
    }

    fn blob(&self, at: &Repository, digest: &str, most: u64) -> Result<Vec<u8>, Failure> {
        self.current().blob(at, digest, most)
    }

    fn referrers(&self, at: &Repository, digest: &str) -> Result<Vec<Value>, Failure> {
        self.current().referrers(at, digest)
    }

    fn with(&self, credentials: &Value) -> Option<Arc<dyn Registry>> {
        let wanted = ImageRegistryCredentials::of(credentials);
        if wanted == ImageRegistryCredentials::default() {
            return None;
        }
        let Clients { every, keys, current, .. } = self;
        let (keys, current) = (keys.clone(), current.clone());
        Some(Arc::new(Clients { every: *every, keys, current, wanted }))
    }
}

impl Registry for RegistryClient {
    fn manifest(&self, at: &Repository, by: &str) -> Result<Manifest, Failure> {
        self.manifests.get((at.clone(), by.to_owned()), || self.fetch_manifest(at, by))
    }

    fn blob(&self, at: &Repository, digest: &str, most: u64) -> Result<Vec<u8>, Failure> {
        let fetch = || self.fetch_blob(at, digest, most).map(Arc::new);
        self.blobs.get((at.clone(), digest.to_owned(), most), fetch).map(|bytes| bytes.to_vec())
    }

    fn referrers(&self, at: &Repository, digest: &str) -> Result<Vec<Value>, Failure> {
        self.referrers.get((at.clone(), digest.to_owned()), || self.fetch_referrers(at, digest))
    }
}

impl RegistryClient {
    fn new(keys: Keys) -> RegistryClient {
        RegistryClient { keys: Arc::new(keys), ..RegistryClient::default() }
    }

    /// The body of a path of a repository.
    fn fetch(
        &self,
        at: &Repository,
        path: &str,
        accept: &str,
        most: u64,
    ) -> Result<RegistryResponse, Failure> {
        let session = self.sessions.get(at.clone(), || open(at, &self.keys, Actions::Pull))?;
        let url = format!("{}/v2/{}/{path}", session.base, at.path);
        let headers = [("Accept", Some(accept)), ("Authorization", session.authorization.as_deref())];
        get(&url, &headers, most)?.checked(&url)
    }

    fn fetch_manifest(&self, at: &Repository, by: &str) -> Result<Manifest, Failure> {
        let answer = self.fetch(at, &format!("manifests/{by}"), ACCEPTED, MAX_MANIFEST)?;
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
        let answer = self.fetch(at, &format!("referrers/{digest}"), INDEX, MAX_MANIFEST);
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
        listed(&body)
    }
}

/// The descriptors in a list of referrers.
pub(super) fn listed(body: &[u8]) -> Result<Vec<Value>, Failure> {
    let list = decode_json(&String::from_utf8_lossy(body))?;
    Ok(list.get("manifests").and_then(Value::as_list).unwrap_or_default().to_vec())
}

/// `sha256:…` of bytes.
pub(crate) fn sha256(bytes: &[u8]) -> String {
    let hash = Sha256::digest(bytes);
    let hex: String = hash.iter().map(|b| format!("{b:02x}")).collect();
    format!("sha256:{hex}")
}

/// An answer whatever its status.
pub(super) struct RegistryResponse {
    pub(super) status: u16,
    pub(super) media_type: String,
    /// Where what was begun continues.
    pub(super) location: String,
    /// What proof the registry wants, as it says.
    pub(super) challenges: Vec<String>,
    pub(super) body: Vec<u8>,
}

impl RegistryResponse {
    /// The answer, when its status says that all is well.
    pub(super) fn checked(self, url: &str) -> Result<RegistryResponse, Failure> {
        self.expected("GET", url, &[200])
    }

    /// The answer, when it has one of these statuses.
    pub(super) fn expected(
        self,
        method: &str,
        url: &str,
        statuses: &[u16],
    ) -> Result<RegistryResponse, Failure> {
        if statuses.contains(&self.status) {
            return Ok(self);
        }
        let cause = if self.status == 404 { Cause::Missing } else { Cause::Other };
        Err(Failure { text: format!("{method} {url}: {}", self.error_text()), cause })
    }

    /// The error of the registry.
    fn error_text(&self) -> String {
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
        text.push_str(&format!("; {}", ephor_value::print::display(detail)));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn failures_have_the_texts_of_kyverno() {
        let text_of = |status, body: &str| {
            let (media_type, location) = (String::new(), String::new());
            let (challenges, body) = (Vec::new(), body.into());
            RegistryResponse { status, media_type, location, challenges, body }.error_text()
        };
        assert_eq!(text_of(500, "boom"), "unexpected status code 500 Internal Server Error: boom");
        assert_eq!(text_of(404, ""), "unexpected status code 404 Not Found");
        let unknown =
            r#"{"errors":[{"code":"MANIFEST_UNKNOWN","message":"manifest unknown","detail":{"Tag":"x"}}]}"#;
        assert_eq!(text_of(404, unknown), "MANIFEST_UNKNOWN: manifest unknown; map[Tag:x]");
    }
}
