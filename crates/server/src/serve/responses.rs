//! HTTP responses, and what is read from the head of a request.

use std::time::Duration;

use axum::http::{HeaderMap, HeaderValue, StatusCode, Uri, header};
use axum::response::{IntoResponse, Response};

use ephor_admission::admit::answer::Answer;
use ephor_admission::admit::incoming::Incoming;

/// The timeout of an API server that sends none.
pub(super) const DEFAULT_TIMEOUT: Duration = Duration::from_secs(10);

/// The longest that it waits.
pub(super) const LONGEST_TIMEOUT: Duration = Duration::from_secs(30);

/// An answer in plain text, for what is no review.
pub(super) fn plain(status: u16, text: &str) -> Response {
    let code = StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    let mut response = (code, text.to_string() + "\n").into_response();
    if status == 429 {
        response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from_static("1"));
    }
    response
}

pub(super) fn content_type(headers: &HeaderMap) -> &str {
    headers.get(header::CONTENT_TYPE).and_then(|v| v.to_str().ok()).unwrap_or_default()
}

pub(super) fn answered(answer: &Answer, of: &Incoming) -> Response {
    let kind = HeaderValue::from_static("application/json; charset=utf-8");
    ([(header::CONTENT_TYPE, kind)], answer.to_json(of)).into_response()
}

/// `?timeout=10s`: how long the client waits.
pub(super) fn timeout(uri: &Uri) -> Duration {
    let given = uri.query().into_iter().flat_map(|q| q.split('&')).find_map(|p| p.strip_prefix("timeout="));
    let nanoseconds = given.and_then(ephor_value::duration::parse_ok);
    let given = nanoseconds.and_then(|n| u64::try_from(n).ok()).map(Duration::from_nanos);
    given.unwrap_or(DEFAULT_TIMEOUT).min(LONGEST_TIMEOUT)
}

/// The moment in RFC 3339.
pub(super) fn now() -> String {
    jiff::Timestamp::now().to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_time_that_a_client_waits_is_read_from_the_query() {
        let of = |text: &'static str| timeout(&Uri::from_static(text));
        assert_eq!(of("/validate?timeout=5s"), Duration::from_secs(5));
        assert_eq!(of("/validate?a=b&timeout=1m"), LONGEST_TIMEOUT);
        assert_eq!(of("/validate"), DEFAULT_TIMEOUT);
        assert_eq!(of("/validate?timeout=-3s"), DEFAULT_TIMEOUT);
        assert_eq!(of("/validate?timeout=soon"), DEFAULT_TIMEOUT);
    }
}
