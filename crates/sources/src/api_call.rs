//! Calls of services by context entries (`apiCall.service`).
//!
//! In: a call. Out: the JSON value that the service answers, or Kyverno's words for what went wrong. The URL, every address and
//! every redirect go through the guard; a bundle of certificates replaces the roots of the system. Semantics: `docs/variables.md`, "apiCall".

use super::http::{Client, Failure, RequestError, Unread};
use super::service;
use crate::document::json;
use crate::external::ServiceCall;
use crate::value::Value;
use crate::value::bytes::lossy;
use crate::value::quote::quote;
use crate::value::url::split;

/// Calls a service; its answer must be JSON.
///
/// # Errors
/// Kyverno's text; also for every status but those of success.
pub fn call(entry: &str, call: &ServiceCall<'_>, client: &Client) -> Result<Value, String> {
    let invalid = |e: String| format!("failed to validate URL for APICall {entry}: {e}");
    split(call.url).map_err(|e| invalid(format!("invalid URL: parse {}: {e}", quote(call.url))))?;
    client.settings().guard.check_url(call.url).map_err(|refusal| invalid(refusal.text(false)))?;
    let request = service::request(call);
    let answer = client.send(request).map_err(|failed| error_text(entry, &failed))?;
    let status = answer.status;
    let most = client.settings().largest_answer;
    let bytes = answer.bytes(most).map_err(|unread| match unread {
        Unread::TooLarge => {
            format!("response length must be less than max allowed response length of {most}")
        }
        unread => format!("failed to read data from APICall {entry}: {unread}"),
    })?;
    let text = lossy(&bytes);
    if !status.is_success() {
        return Err(format!("HTTP {status}: {text}"));
    }
    json::parse(&text)
}

fn error_text(entry: &str, failed: &RequestError) -> String {
    let why = match &failed.failure {
        Failure::Bundle => return format!("failed to parse PEM CA bundle for APICall {entry}"),
        // The address of a name is not disclosed.
        Failure::Refused(refusal) => refusal.text(false),
        Failure::Other(text) => text.clone(),
    };
    format!("failed to execute HTTP request for APICall {entry}: {}: {why}", failed.request)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::external::{Answer, Reader};
    use crate::http::Settings;

    fn error(url: &str, ca_bundle: &str) -> String {
        let answer = Answer::Json(Reader::Entry("x"));
        let wanted = ServiceCall { answer, url, body: None, headers: Vec::new(), ca_bundle };
        call("x", &wanted, &Client::new(Settings::default())).expect_err("refused")
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
