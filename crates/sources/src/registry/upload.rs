//! Writing to a registry: the pushing half of the OCI distribution protocol.
//!
//! In: blobs and a manifest that names them. Out: what the repository has of them; a blob that is
//! there already is not sent again. A blob goes up in one request, as all that is pushed here is
//! small. Credentials and schemes are those of reading (`super::session`). Semantics: the OCI
//! distribution specification, "Push".

use std::time::Duration;

use super::client::{RegistryResponse, sha256};
use super::credentials::Keys;
use super::session::{Actions, Session, open, send};
use super::{Failure, Repository};
use crate::http::Request;

/// The largest answer; none has content that is used.
const MAX_ANSWER: u64 = 256 * 1024;
/// How long a request may take.
const MAX_TIME: Duration = Duration::from_secs(30);

/// A repository that is written to.
pub struct Upload {
    session: Session,
    at: Repository,
}

impl Upload {
    /// Finds out how the repository is spoken to, with the credentials for it.
    ///
    /// # Errors
    /// See [`Failure`].
    pub fn open(at: &Repository, keys: &Keys) -> Result<Upload, Failure> {
        Ok(Upload { session: open(at, keys, Actions::PullAndPush)?, at: at.clone() })
    }

    /// Stores a blob, unless it is there.
    ///
    /// # Errors
    /// See [`Failure`].
    pub fn blob(&self, bytes: &[u8]) -> Result<(), Failure> {
        let digest = sha256(bytes);
        let place = self.url(&format!("blobs/{digest}"));
        if self.request("HEAD", &place, None)?.status == 200 {
            return Ok(());
        }
        let begin = self.url("blobs/uploads/");
        let begun = self.request("POST", &begin, Some((Vec::new(), "")))?.expected("POST", &begin, &[202])?;
        let place = self.continued(&begun.location)?;
        let join = if place.contains('?') { '&' } else { '?' };
        let url = format!("{place}{join}digest={}", digest.replace(':', "%3A"));
        let body = Some((bytes.to_vec(), "application/octet-stream"));
        self.request("PUT", &url, body)?.expected("PUT", &url, &[201]).map(|_| ())
    }

    /// Stores a manifest under a tag or its digest, once all that it names is there.
    ///
    /// # Errors
    /// See [`Failure`].
    pub fn manifest(&self, by: &str, media_type: &str, bytes: &[u8]) -> Result<(), Failure> {
        let url = self.url(&format!("manifests/{by}"));
        self.request("PUT", &url, Some((bytes.to_vec(), media_type)))?
            .expected("PUT", &url, &[200, 201])
            .map(|_| ())
    }

    fn url(&self, path: &str) -> String {
        format!("{}/v2/{}/{path}", self.session.base, self.at.path)
    }

    /// The address under which an upload continues.
    fn continued(&self, location: &str) -> Result<String, Failure> {
        let place = match location {
            path if path.starts_with('/') => format!("{}{path}", self.session.base),
            url => url.to_owned(),
        };
        let is_weaker = self.session.base.starts_with("https://") && !place.starts_with("https://");
        if is_weaker || !(place.starts_with("https://") || place.starts_with("http://")) {
            return Err(Failure::other(format!(
                "the registry {} names `{location}` for an upload: want a URL that stays with TLS",
                self.at.registry
            )));
        }
        Ok(place)
    }

    fn request(
        &self,
        method: &'static str,
        url: &str,
        body: Option<(Vec<u8>, &str)>,
    ) -> Result<RegistryResponse, Failure> {
        let mut request = Request { method, ..Request::get(url, MAX_TIME) };
        // Another host, which a registry may name for blobs, gets no credentials.
        let is_own = url.strip_prefix(&*self.session.base).is_some_and(|rest| rest.starts_with('/'));
        if let Some(authorization) = self.session.authorization.as_deref().filter(|_| is_own) {
            request = request.header("Authorization", authorization);
        }
        if let Some((bytes, media_type)) = body {
            if !media_type.is_empty() {
                request = request.header("Content-Type", media_type);
            }
            request.body = Some(bytes);
        }
        send(request, MAX_ANSWER)
    }
}
