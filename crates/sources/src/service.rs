//! Calls of services: by expressions (`http.*`, `jwks.Fetch`), and by context entries
//! ([`super::api_call`]).
//!
//! In: a call. Out: the answer as a value, a set of keys as text, or Kyverno's words for what went
//! wrong. Size and time are limited: of an endless answer only the first JSON value is read, and no
//! more than [`MAX_RESPONSE`]. Semantics: `docs/semantics/cel-policies.md`, "http".

use std::io::Read;
use std::time::Duration;

use super::api_call;
use super::http::guard::Refusal;
use super::http::{Caller, Failure, HttpClient, LATE_BODY, Request, RequestError, Unread, is_timeout};
use ephor_document::{decode_first_json, decode_json};
use ephor_external::{Answer, Reader, ServiceCall};
use ephor_value::bytes::lossy;
use ephor_value::quote::quote;
use ephor_value::url::split;
use ephor_value::{Map, Str, Value, print};

/// The largest answer. A larger one is an error of the entry.
const MAX_RESPONSE: usize = 10_000_000;
/// The largest set of keys.
const MAX_KEYS: u64 = 10 * 1024 * 1024;
/// How long a call may take, redirects included.
const MAX_TIME: Duration = Duration::from_secs(30);

/// Why a call has no answer, in the words of Kyverno 1.19.1, which depend on what reads it.
#[derive(Debug, thiserror::Error)]
pub enum ServiceError {
    /// A context entry reads it.
    #[error(transparent)]
    Entry(#[from] api_call::ApiCallError),
    /// The URL is none.
    #[error("invalid URL: parse {}: {why}", quote(.url))]
    Url {
        /// The URL.
        url: Box<str>,
        /// Why not, in the words of the reader of URLs.
        why: Box<str>,
    },
    /// The URL may not be called.
    #[error(transparent)]
    Refused(Box<Refusal>),
    /// The bundle holds no certificate.
    #[error("failed to parse PEM CA bundle for APICall")]
    Bundle,
    /// The request fails.
    #[error("request failed: {0}")]
    Request(#[from] Box<RequestError>),
    /// The answer does not come in time.
    #[error("{}", LATE_BODY)]
    Late,
    /// The answer has no end within its limit.
    #[error("response length must be less than max allowed response length of {}", MAX_RESPONSE)]
    TooLarge,
    /// The URL of a set of keys is none.
    #[error("failed to create new request: parse {}: {why}", quote(.url))]
    KeysUrl {
        /// The URL.
        url: Box<str>,
        /// Why not, in the words of the reader of URLs.
        why: Box<str>,
    },
    /// A set of keys comes with another status than 200.
    #[error("request returned status {0}, expected 200")]
    KeysStatus(u16),
    /// A set of keys is too large; its URL.
    #[error("response body for {} exceeded max size of {} bytes", quote(.0), MAX_KEYS)]
    KeysTooLarge(Box<str>),
    /// A set of keys does not come to its end; its URL.
    #[error("failed to read response body for {}: unexpected EOF", quote(.0))]
    KeysBody(Box<str>),
}

/// Calls a service.
///
/// # Errors
/// There is no answer.
pub fn answer(call: &ServiceCall<'_>, client: &HttpClient) -> Result<Value, ServiceError> {
    match call.answer {
        Answer::Json(Reader::Entry(entry)) => Ok(api_call::call(entry, call, client)?),
        Answer::Json(Reader::Expression) => first_json(call, client),
        Answer::KeySet => key_set(call.url, client).map(Value::from),
    }
}

/// The request that a call is sent as.
pub fn request<'c>(call: &'c ServiceCall<'c>) -> Request<'c> {
    Request {
        method: call.method(),
        headers: call.headers.clone(),
        body: call.body.as_ref().map(|body| format!("{}\n", print::json(body)).into_bytes()),
        ca_bundle: call.ca_bundle,
        caller: Caller::Policy,
        ..Request::get(call.url, MAX_TIME)
    }
}

/// Calls a service for an expression. An answer that is a JSON object gets the key `statusCode`;
/// any other is put under `body`, or null there when it is no JSON. What follows the first JSON
/// value is not read.
///
/// # Errors
/// There is no answer; no status is an error.
fn first_json(call: &ServiceCall<'_>, client: &HttpClient) -> Result<Value, ServiceError> {
    split(call.url).map_err(|e| ServiceError::Url { url: call.url.into(), why: e.to_string().into() })?;
    client
        .settings()
        .guard
        .check_url(call.url)
        .map_err(|refusal| ServiceError::Refused(Box::new(refusal)))?;
    let answer = client.send(request(call)).map_err(|failed| match failed.failure {
        Failure::Bundle => ServiceError::Bundle,
        _ => ServiceError::Request(Box::new(failed)),
    })?;
    let status = Value::Int(i64::from(answer.status.as_u16()));
    let mut m = match first_value(&mut answer.reader())? {
        Some(Value::Map(m)) => m,
        other => [(Str::from("body"), other.unwrap_or_default())].into_iter().collect::<Map>(),
    };
    m.insert("statusCode", status);
    Ok(Value::Map(m))
}

/// The text of a set of keys.
///
/// # Errors
/// There is none.
fn key_set(url: &str, client: &HttpClient) -> Result<String, ServiceError> {
    split(url).map_err(|e| ServiceError::KeysUrl { url: url.into(), why: e.to_string().into() })?;
    let request = Request {
        requests: (5, "jwk.Fetch: stopped after 5 redirects"),
        caller: Caller::Policy,
        ..Request::get(url, MAX_TIME)
    };
    let answer = client.send(request).map_err(Box::new)?;
    if answer.status != 200 {
        return Err(ServiceError::KeysStatus(answer.status.as_u16()));
    }
    match answer.bytes(MAX_KEYS) {
        Ok(bytes) => Ok(lossy(&bytes)),
        Err(Unread::TooLarge) => Err(ServiceError::KeysTooLarge(url.into())),
        Err(_) => Err(ServiceError::KeysBody(url.into())),
    }
}

/// The first JSON value that comes; `None` when it is something else.
fn first_value(reader: &mut impl Read) -> Result<Option<Value>, ServiceError> {
    let mut bytes = Vec::new();
    let mut chunk = vec![0; 1 << 16];
    let mut tried = 0;
    loop {
        let read = match reader.read(&mut chunk) {
            Ok(read) => read,
            Err(e) if is_timeout(&e) => return Err(ServiceError::Late),
            // As where the answer ends too early.
            Err(_) => 0,
        };
        bytes.extend_from_slice(chunk.get(..read).unwrap_or_default());
        let is_over = read == 0 || bytes.len() > MAX_RESPONSE;
        // Twice as much each time: reading again costs no more than reading did.
        if is_over || bytes.len() >= 2 * tried {
            tried = bytes.len();
            match decode_first_json(&lossy(&bytes)) {
                Ok(Some(value)) => return Ok(Some(value)),
                Ok(None) if read == 0 => return Ok(decode_json(&lossy(&bytes)).ok()),
                Ok(None) if is_over => return Err(ServiceError::TooLarge),
                Ok(None) => {}
                Err(_) => return Ok(None),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::{BufRead, BufReader, Write};
    use std::net::TcpListener;

    use super::*;
    use crate::http::Settings;
    use crate::http::guard::Guard;

    /// A client that may call the machine itself.
    fn open() -> HttpClient {
        let guard = Guard::of::<&str>(&[], &[]).expect("a guard");
        HttpClient::new(Settings { guard, ..Settings::default() })
    }

    #[test]
    fn guarded_calls_fail_with_the_texts_of_kyverno() {
        let get = |url| {
            let answer = Answer::Json(Reader::Expression);
            let wanted = ServiceCall { answer, url, body: None, headers: Vec::new(), ca_bundle: "" };
            first_json(&wanted, &HttpClient::new(Settings::default())).expect_err("guarded").to_string()
        };
        assert_eq!(
            get("http://127.0.0.1:1/"),
            "request failed: Get \"http://127.0.0.1:1/\": connection to 127.0.0.1:1 blocked: IP 127.0.0.1 falls in blocked range 127.0.0.0/8"
        );
        assert_eq!(
            get("http://metadata.google.internal/"),
            "URL \"http://metadata.google.internal/\" is blocked: hostname \"metadata.google.internal\" is on the blocklist"
        );
        assert_eq!(get("zzz"), "request failed: Get \"zzz\": unsupported protocol scheme \"\"");
    }

    #[test]
    fn keys_are_not_fetched_from_guarded_places() {
        assert_eq!(
            key_set("http://127.0.0.1:1/", &HttpClient::new(Settings::default()))
                .expect_err("guarded")
                .to_string(),
            "request failed: Get \"http://127.0.0.1:1/\": connection to 127.0.0.1:1 blocked: IP 127.0.0.1 falls in blocked range 127.0.0.0/8"
        );
        assert_eq!(
            key_set("http://a b/", &HttpClient::new(Settings::default())).expect_err("no URL").to_string(),
            "failed to create new request: parse \"http://a b/\": invalid character \" \" in host name"
        );
    }

    /// Answers every request with what `answer` makes of its path, until the listener's client goes
    /// away.
    fn listening(answer: fn(&str) -> (String, Vec<u8>, bool)) -> String {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let address = listener.local_addr().expect("an address");
        std::thread::spawn(move || {
            for mut stream in listener.incoming().flatten() {
                let mut first = String::new();
                let mut lines = BufReader::new(stream.try_clone().expect("a stream"));
                lines.read_line(&mut first).expect("a request");
                let (head, body, is_endless) = answer(first.split(' ').nth(1).unwrap_or_default());
                let mut is_open = write!(stream, "HTTP/1.1 {head}\r\nConnection: close\r\n\r\n").is_ok();
                is_open &= stream.write_all(&body).is_ok();
                while is_endless && is_open {
                    is_open = stream.write_all(&body).is_ok();
                }
            }
        });
        format!("http://{address}")
    }

    fn body_of(url: &str) -> Result<String, String> {
        let answer = Answer::Json(Reader::Expression);
        let wanted = ServiceCall { answer, url, body: None, headers: Vec::new(), ca_bundle: "" };
        first_json(&wanted, &open()).map(|v| print::json(&v)).map_err(|e| e.to_string())
    }

    #[test]
    fn of_an_endless_answer_the_first_value_is_read() {
        let at = listening(|path| {
            let piece = if path == "/garbage" { "garbage " } else { "{\"a\": 1} " };
            ("200 OK".into(), piece.repeat(1000).into_bytes(), true)
        });
        let get = |path: &str| body_of(&format!("{at}{path}"));
        assert_eq!(get("/garbage").as_deref(), Ok("{\"body\":null,\"statusCode\":200}"));
        assert_eq!(get("/value").as_deref(), Ok("{\"a\":1,\"statusCode\":200}"));
        assert_eq!(
            key_set(&format!("{at}/value"), &open()).map_err(|e| e.to_string()),
            Err(format!("response body for \"{at}/value\" exceeded max size of 10485760 bytes"))
        );
    }

    #[test]
    fn an_endless_value_is_refused() {
        let mut value = b"[".to_vec();
        value.extend(b"1,".repeat(MAX_RESPONSE));
        assert_eq!(
            first_value(&mut value.as_slice()).map(drop).map_err(|e| e.to_string()),
            Err("response length must be less than max allowed response length of 10000000".into())
        );
        value.truncate(100);
        assert!(first_value(&mut value.as_slice()).is_ok_and(|v| v.is_none()));
    }

    #[test]
    fn redirects_are_followed_to_the_tenth_request_and_reported_as_written() {
        let at = listening(|path| match path.trim_start_matches("/to/").parse::<u32>() {
            Ok(n) => (format!("302 Found\r\nLocation: /to/{}", n + 1), Vec::new(), false),
            Err(_) => ("200 OK".into(), b"\"there\"".to_vec(), false),
        });
        assert_eq!(
            body_of(&format!("{at}/to/1")),
            Err("request failed: Get \"/to/11\": stopped after 10 redirects".into())
        );
        assert_eq!(
            key_set(&format!("{at}/to/1"), &open()).map_err(|e| e.to_string()),
            Err("request failed: Get \"/to/6\": jwk.Fetch: stopped after 5 redirects".into())
        );
        assert_eq!(body_of(&format!("{at}/x")).as_deref(), Ok("{\"body\":\"there\",\"statusCode\":200}"));
    }
}
