//! Calls of services by context entries (`apiCall.service`).
//!
//! In: a call. Out: the JSON value that the service answers, or Kyverno's words for what went
//! wrong. The URL, every address and every redirect go through the guard; a bundle of certificates
//! replaces the roots of the system. Semantics: `docs/semantics/variables.md`, "apiCall".

use super::http::guard::Refusal;
use super::http::{Failure, HttpClient, RequestError, Unread};
use super::service;
use ephor_document::json;
use ephor_external::ServiceCall;
use ephor_value::Value;
use ephor_value::bytes::lossy;
use ephor_value::quote::quote;
use ephor_value::url::split;

/// Why a call has no answer, in Kyverno's words.
#[derive(Debug, thiserror::Error)]
pub enum ApiCallError {
    /// Its URL is none.
    #[error("failed to validate URL for APICall {entry}: invalid URL: parse {}: {why}", quote(.url))]
    Url {
        /// The name of the entry.
        entry: Box<str>,
        /// The URL.
        url: Box<str>,
        /// Why not, in the words of the reader of URLs.
        why: Box<str>,
    },
    /// Its URL may not be called. The address of a name is not disclosed.
    #[error("failed to validate URL for APICall {entry}: {}", .cause.text(false))]
    Refused {
        /// The name of the entry.
        entry: Box<str>,
        /// Why not.
        #[source]
        cause: Box<Refusal>,
    },
    /// Its bundle holds no certificate.
    #[error("failed to parse PEM CA bundle for APICall {0}")]
    Bundle(Box<str>),
    /// The request fails. The address of a name is not disclosed.
    #[error("failed to execute HTTP request for APICall {entry}: {}: {}", .cause.request, undisclosed(.cause))]
    Request {
        /// The name of the entry.
        entry: Box<str>,
        /// Why.
        #[source]
        cause: Box<RequestError>,
    },
    /// The answer is larger than this many bytes.
    #[error("response length must be less than max allowed response length of {0}")]
    TooLarge(u64),
    /// The answer does not come to its end.
    #[error("failed to read data from APICall {entry}: {cause}")]
    Body {
        /// The name of the entry.
        entry: Box<str>,
        /// Why not.
        #[source]
        cause: Unread,
    },
    /// The status is none of success.
    #[error("HTTP {status}: {text}")]
    Status {
        /// The status.
        status: ureq::http::StatusCode,
        /// The answer.
        text: Box<str>,
    },
    /// The answer is no JSON, in the words of its decoder.
    #[error("{0}")]
    Json(Box<str>),
}

/// Calls a service; its answer must be JSON.
///
/// # Errors
/// There is no answer, or one with a status that is none of success.
pub fn call(entry: &str, call: &ServiceCall<'_>, client: &HttpClient) -> Result<Value, ApiCallError> {
    let (entry, url) = (|| entry.into(), call.url);
    split(url).map_err(|e| ApiCallError::Url {
        entry: entry(),
        url: url.into(),
        why: e.to_string().into(),
    })?;
    let refused = |refusal| ApiCallError::Refused { entry: entry(), cause: Box::new(refusal) };
    client.settings().guard.check_url(url).map_err(refused)?;
    let request = service::request(call);
    let answer = client.send(request).map_err(|failed| match failed.failure {
        Failure::Bundle => ApiCallError::Bundle(entry()),
        _ => ApiCallError::Request { entry: entry(), cause: Box::new(failed) },
    })?;
    let status = answer.status;
    let most = client.settings().largest_answer;
    let bytes = answer.bytes(most).map_err(|unread| match unread {
        Unread::TooLarge => ApiCallError::TooLarge(most),
        cause => ApiCallError::Body { entry: entry(), cause },
    })?;
    let text = lossy(&bytes);
    if !status.is_success() {
        return Err(ApiCallError::Status { status, text: text.into() });
    }
    json::parse(&text).map_err(|error| ApiCallError::Json(error.to_string().into()))
}

/// A failure without the address of a name.
fn undisclosed(failed: &RequestError) -> String {
    match &failed.failure {
        Failure::Refused(refusal) => refusal.text(false),
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::http::Settings;
    use ephor_external::{Answer, Reader};

    fn error(url: &str, ca_bundle: &str) -> String {
        let answer = Answer::Json(Reader::Entry("x"));
        let wanted = ServiceCall { answer, url, body: None, headers: Vec::new(), ca_bundle };
        call("x", &wanted, &HttpClient::new(Settings::default())).expect_err("refused").to_string()
    }

    /// Texts of Kyverno 1.19.1, recorded.
    #[test]
    fn refused_calls_have_the_texts_of_kyverno() {
        let sent = |url: &str, why: &str| {
            format!("failed to execute HTTP request for APICall x: Get \"{url}\": {why}")
        };
        for (url, why) in [
            (
                "http://127.0.0.1:18080/j",
                "connection to 127.0.0.1:18080 blocked: IP 127.0.0.1 falls in blocked range 127.0.0.0/8",
            ),
            (
                "http://localhost:18080/j",
                "connection to localhost:18080 blocked: localhost resolves into blocked range 127.0.0.0/8",
            ),
            (
                "http://[::ffff:127.0.0.1]:18080/j",
                "connection to [::ffff:127.0.0.1]:18080 blocked: IP 127.0.0.1 falls in blocked range 127.0.0.0/8",
            ),
            (
                "http://[64:ff9b::7f00:1]/",
                "connection to [64:ff9b::7f00:1]:80 blocked: IP 64:ff9b::7f00:1 falls in blocked range 127.0.0.0/8",
            ),
            (
                "http://[::127.0.0.1]/",
                "connection to [::127.0.0.1]:80 blocked: IP ::7f00:1 falls in blocked range 127.0.0.0/8",
            ),
            (
                "http://169.254.169.254/x",
                "connection to 169.254.169.254:80 blocked: IP 169.254.169.254 falls in blocked range 169.254.169.254/32",
            ),
            ("http://0177.0.0.1:18080/j", "failed to resolve 0177.0.0.1: lookup 0177.0.0.1: no such host"),
            ("http:///x", "http: no Host in request URL"),
            ("", "unsupported protocol scheme \"\""),
            ("file:///etc/passwd", "unsupported protocol scheme \"file\""),
        ] {
            assert_eq!(error(url, ""), sent(url, why));
        }
        assert_eq!(
            error("HTTP://METADATA.google.internal/x", ""),
            "failed to validate URL for APICall x: URL \"HTTP://METADATA.google.internal/x\" is blocked: hostname \"METADATA.google.internal\" is on the blocklist"
        );
        assert_eq!(
            error("http://h:x/", ""),
            "failed to validate URL for APICall x: invalid URL: parse \"http://h:x/\": invalid port \":x\" after host"
        );
        assert_eq!(error("https://192.0.2.1/", "junk"), "failed to parse PEM CA bundle for APICall x");
    }
}
