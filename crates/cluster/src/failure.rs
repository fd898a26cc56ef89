//! Why a cluster does not answer, or refuses.
//!
//! In: errors of the client. Out: a [`Failure`] with the code and reason of the API server.

/// The reason of requests for kinds that no cluster serves.
const NO_MATCH: &str = "NoMatch";

/// Why a request to the API failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// The code of the HTTP answer; 0 when there was none.
    pub code: u16,
    /// The `reason` of the API's status, if there is one.
    pub reason: String,
    /// What is wrong.
    pub text: String,
    /// Of a list whose pages are too old: the token of its rest, with objects as they are now.
    pub resume: Option<Box<str>>,
}

impl std::fmt::Display for Failure {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.text)
    }
}

impl std::error::Error for Failure {}

impl Failure {
    pub(crate) fn other(text: impl std::fmt::Display) -> Failure {
        Failure { code: 0, reason: String::new(), text: text.to_string(), resume: None }
    }

    /// The cluster does not serve a kind.
    pub fn no_match(api_version: &str, kind: &str) -> Failure {
        let text = format!("no matches for kind {kind:?} in version {api_version:?}");
        Failure { code: 0, reason: NO_MATCH.into(), text, resume: None }
    }

    /// Whether the object exists already, or another client has changed it since it was read.
    pub fn is_conflict(&self) -> bool {
        self.code == 409
    }

    /// Whether the same request may be granted later: there was no answer, the server has no time,
    /// or another client was faster.
    pub fn is_passing(&self) -> bool {
        self.reason != NO_MATCH && matches!(self.code, 0 | 409 | 429 | 500..)
    }

    /// Whether the object does not exist.
    pub fn is_not_found(&self) -> bool {
        self.code == 404
    }
}

impl From<kube::Error> for Failure {
    fn from(e: kube::Error) -> Failure {
        match e {
            kube::Error::Api(status) => Failure {
                code: status.code,
                reason: status.reason.clone(),
                text: status.message.clone(),
                resume: (status.metadata.and_then(|list| list.continue_))
                    .filter(|token| !token.is_empty())
                    .map(String::into_boxed_str),
            },
            // A recording stands between two clients.
            kube::Error::Service(inner) => match inner.downcast::<kube::Error>() {
                Ok(inner) => Failure::from(*inner),
                Err(inner) => match inner.downcast_ref::<Replayed>() {
                    Some(given) => Failure::other(given),
                    None => Failure::other(chain(&kube::Error::Service(inner))),
                },
            },
            other => Failure::other(chain(&other)),
        }
    }
}

/// A replayed failure: what [`Failure`] said when it was recorded.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub(crate) struct Replayed(pub(crate) String);

/// An error with what caused it.
pub(crate) fn chain(e: &dyn std::error::Error) -> String {
    let mut text = e.to_string();
    let mut cause = e.source();
    while let Some(e) = cause {
        let more = e.to_string();
        if !text.contains(&more) {
            text.push_str(": ");
            text.push_str(&more);
        }
        cause = e.source();
    }
    text
}
