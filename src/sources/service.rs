//! Calls of services by expressions.
//!
//! In: a call and a [`Guard`]. Out: the answer as a value, a set of keys as text, or the reference's words for what went wrong. For
//! every redirect the guard is asked again. Size and time are limited: of an endless answer only the first JSON value is read, and
//! no more than [`LARGEST`]. Semantics: `docs/cel-policies.md`, "http".

use std::io::Read;
use std::time::{Duration, Instant};

use ureq::http::{Request, header};
use ureq::unversioned::transport::DefaultConnector;

use super::guarded::{Guard, Guarded, blocked_host};
use crate::functions::encode::lossy;
use crate::functions::url::split;
use crate::functions::world::HttpCall;
use crate::functions::{decode_first_json, decode_json};
use crate::value::quote::quote;
use crate::value::{Map, Str, Value, print};

/// The largest answer.
const LARGEST: usize = 10_000_000;
/// The largest set of keys.
const LARGEST_KEYS: u64 = 10 * 1024 * 1024;
/// How long a call may take, redirects included.
const LONGEST: Duration = Duration::from_secs(30);
/// What the reference's client says when time is over.
const LATE: &str = "context deadline exceeded (Client.Timeout exceeded while awaiting headers)";
/// The headers that stay with the host that they were meant for.
const CONFIDENTIAL: [&str; 4] = ["authorization", "www-authenticate", "cookie", "cookie2"];

/// A request that is on its way.
struct Trip {
    method: &'static str,
    url: String,
    body: Option<String>,
    headers: Vec<(String, String)>,
    /// How many requests are made where one answer leads to the next, and what is said of one more.
    requests: (u32, &'static str),
    ends: Instant,
}

/// Calls a service. An answer that is a JSON object gets the key `statusCode`; any other is put under
/// `body`, or null there when it is no JSON. What follows the first JSON value is not read.
///
/// # Errors
/// The reference's text; no status is an error.
pub fn call(call: &HttpCall<'_>, guard: &Guard) -> Result<Value, String> {
    let parts = split(call.url).map_err(|e| format!("invalid URL: parse {}: {e}", quote(call.url)))?;
    if guard.blocks_host(&parts.host_name) {
        return Err(blocked_host(call.url, &parts.host_name));
    }
    let mut config = ureq::Agent::config_builder();
    if !call.ca_bundle.is_empty() {
        let unusable = |_| "failed to parse PEM CA bundle for APICall".to_string();
        let roots = ureq::tls::Certificate::from_pem(call.ca_bundle.as_bytes()).map_err(unusable)?;
        let roots = ureq::tls::RootCerts::new_with_certs(&[roots]);
        config = config.tls_config(ureq::tls::TlsConfig::builder().root_certs(roots).build());
    }
    let trip = Trip {
        method: call.method,
        url: call.url.into(),
        body: call.body.as_ref().map(|body| format!("{}\n", print::json(body))),
        headers: call.headers.clone(),
        requests: (10, "stopped after 10 redirects"),
        ends: Instant::now() + LONGEST,
    };
    let answer = trip.make(&agent(config, guard)).map_err(|e| format!("request failed: {e}"))?;
    let status = Value::Int(i64::from(answer.status().as_u16()));
    let mut m = match first_value(&mut answer.into_body().into_reader())? {
        Some(Value::Map(m)) => m,
        other => [(Str::from("body"), other.unwrap_or_default())].into_iter().collect::<Map>(),
    };
    m.insert("statusCode", status);
    Ok(Value::Map(m))
}

/// The text of a set of keys.
///
/// # Errors
/// The reference's text.
pub fn key_set(url: &str, guard: &Guard) -> Result<String, String> {
    split(url).map_err(|e| format!("failed to create new request: parse {}: {e}", quote(url)))?;
    let trip = Trip {
        method: "GET",
        url: url.into(),
        body: None,
        headers: Vec::new(),
        requests: (5, "jwk.Fetch: stopped after 5 redirects"),
        ends: Instant::now() + LONGEST,
    };
    let answer = trip
        .make(&agent(ureq::Agent::config_builder(), guard))
        .map_err(|e| format!("request failed: {e}"))?;
    if answer.status() != 200 {
        return Err(format!("request returned status {}, expected 200", answer.status().as_u16()));
    }
    let mut bytes = Vec::new();
    let mut reader = answer.into_body().into_reader().take(LARGEST_KEYS + 1);
    let read = reader.read_to_end(&mut bytes);
    read.map_err(|_| format!("failed to read response body for {}: unexpected EOF", quote(url)))?;
    if bytes.len() as u64 > LARGEST_KEYS {
        return Err(format!("response body for {} exceeded max size of {LARGEST_KEYS} bytes", quote(url)));
    }
    Ok(lossy(&bytes))
}

/// The first JSON value that comes; `None` when it is something else.
fn first_value(reader: &mut impl Read) -> Result<Option<Value>, String> {
    let mut bytes = Vec::new();
    let mut chunk = vec![0; 1 << 16];
    let mut tried = 0;
    loop {
        let read = match reader.read(&mut chunk) {
            Ok(read) => read,
            Err(e) if timed_out(&e) => {
                return Err(
                    "context deadline exceeded (Client.Timeout or context cancellation while reading body)"
                        .into(),
                );
            }
            // As where the answer ends too early.
            Err(_) => 0,
        };
        bytes.extend_from_slice(chunk.get(..read).unwrap_or_default());
        let is_over = read == 0 || bytes.len() > LARGEST;
        // Twice as much each time: reading again costs no more than reading did.
        if is_over || bytes.len() >= 2 * tried {
            tried = bytes.len();
            match decode_first_json(&lossy(&bytes)) {
                Ok(Some(value)) => return Ok(Some(value)),
                Ok(None) if read == 0 => return Ok(decode_json(&lossy(&bytes)).ok()),
                Ok(None) if is_over => {
                    return Err(format!(
                        "response length must be less than max allowed response length of {LARGEST}"
                    ));
                }
                Ok(None) => {}
                Err(_) => return Ok(None),
            }
        }
    }
}

fn timed_out(e: &std::io::Error) -> bool {
    e.kind() == std::io::ErrorKind::TimedOut
        || e.get_ref()
            .and_then(|e| e.downcast_ref::<ureq::Error>())
            .is_some_and(|e| matches!(e, ureq::Error::Timeout(_)))
}

fn agent(config: ureq::config::ConfigBuilder<ureq::typestate::AgentScope>, guard: &Guard) -> ureq::Agent {
    let config = config.http_status_as_error(false).max_redirects(0).proxy(None).build();
    ureq::Agent::with_parts(config, DefaultConnector::default(), Guarded(guard.clone()))
}

impl Trip {
    /// Sends the request and follows redirects, as the reference's client does: what was posted is only posted again where the
    /// answer asks for it.
    fn make(mut self, agent: &ureq::Agent) -> Result<ureq::http::Response<ureq::Body>, String> {
        for made in 1.. {
            let answer = self.send(agent)?;
            let is_repeated = matches!(answer.status().as_u16(), 307 | 308);
            let is_redirect = is_repeated || matches!(answer.status().as_u16(), 301..=303);
            let place = answer.headers().get(header::LOCATION).map(|v| lossy(v.as_bytes()));
            let Some(place) = place.filter(|_| is_redirect) else { return Ok(answer) };
            if !is_repeated {
                self.method = "GET";
                self.body = None;
            }
            let next = resolved(&self.url, &place);
            if authority(&next) != authority(&self.url) {
                self.headers.retain(|(name, _)| !CONFIDENTIAL.contains(&name.to_lowercase().as_str()));
            }
            if let Err(e) = split(&next) {
                return Err(self.failed(&format!(
                    "failed to parse Location header {}: parse {}: {e}",
                    quote(&place),
                    quote(&place)
                )));
            }
            if made >= self.requests.0 {
                self.url = place;
                break;
            }
            self.url = next;
        }
        Err(self.failed(self.requests.1))
    }

    fn send(&self, agent: &ureq::Agent) -> Result<ureq::http::Response<ureq::Body>, String> {
        let scheme = self.url.split_once("://").map_or("", |(scheme, _)| scheme);
        if !matches!(scheme, "http" | "https") {
            return Err(self.failed(&format!("unsupported protocol scheme {}", quote(scheme))));
        }
        if authority(&self.url).ends_with("://") {
            let verb = if self.method == "POST" { "Post" } else { "Get" };
            return Err(format!(
                "{verb} {}: http: no Host in request URL",
                quote(self.url.trim_end_matches('/'))
            ));
        }
        if let Some(problem) = self.headers.iter().find_map(|(name, value)| header_problem(name, value)) {
            return Err(self.failed(&problem));
        }
        let left = self.ends.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(self.failed(LATE));
        }
        let mut request = Request::builder().method(self.method).uri(&self.url);
        for (name, value) in &self.headers {
            request = request.header(name, value);
        }
        let invalid = |e: ureq::http::Error| self.failed(&e.to_string());
        let sent = match &self.body {
            None => {
                let request = request.body(()).map_err(invalid)?;
                agent.run(agent.configure_request(request).timeout_global(Some(left)).build())
            }
            Some(body) => {
                let request = request.body(body.as_str()).map_err(invalid)?;
                agent.run(agent.configure_request(request).timeout_global(Some(left)).build())
            }
        };
        sent.map_err(|e| match e {
            ureq::Error::Other(text) => self.failed(&text.to_string()),
            ureq::Error::Timeout(_) => self.failed(LATE),
            e => self.failed(&super::download::cause(&self.url, &e)),
        })
    }

    fn failed(&self, cause: &str) -> String {
        let verb = if self.method == "POST" { "Post" } else { "Get" };
        format!("{verb} {}: {cause}", quote(&without_password(&self.url)))
    }
}

/// An address as it may be told.
fn without_password(url: &str) -> String {
    let authority = authority(url);
    let password = authority.rsplit_once('@').and_then(|(user, _)| {
        let start = authority.find("://").map_or(0, |at| at + 3);
        let colon = user.get(start..)?.find(':')? + start;
        Some(colon + 1..user.len())
    });
    match password {
        Some(range) => {
            let mut told = url.to_string();
            told.replace_range(range, "***");
            told
        }
        None => url.into(),
    }
}

/// What is wrong with a header, in the words of the reference's client.
fn header_problem(name: &str, value: &str) -> Option<String> {
    let is_token = |c: char| c.is_ascii_alphanumeric() || "!#$%&'*+-.^_`|~".contains(c);
    if name.is_empty() || !name.chars().all(is_token) {
        return Some(format!("net/http: invalid header field name {}", quote(name)));
    }
    // The value may be confidential.
    let is_bad = |c: char| c.is_ascii_control() && c != '\t';
    value
        .chars()
        .any(is_bad)
        .then(|| format!("net/http: invalid header field value for {}", quote(&canonical(name))))
}

/// `content-type` as `Content-Type`.
fn canonical(name: &str) -> String {
    let words: Vec<String> = name
        .split('-')
        .map(|word| {
            let mut word = word.to_ascii_lowercase();
            if let Some(first) = word.get_mut(..1) {
                first.make_ascii_uppercase();
            }
            word
        })
        .collect();
    words.join("-")
}

/// Scheme, user, host and port.
fn authority(url: &str) -> &str {
    let start = url.find("://").map_or(0, |at| at + 3);
    let end = url.get(start..).and_then(|rest| rest.find(['/', '?', '#'])).map_or(url.len(), |at| start + at);
    url.get(..end).unwrap_or(url)
}

/// Where a reference in an answer leads to.
fn resolved(base: &str, place: &str) -> String {
    let is_absolute = place.split_once(':').is_some_and(|(scheme, _)| {
        scheme.starts_with(|c: char| c.is_ascii_alphabetic())
            && scheme.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '+' | '-' | '.'))
    });
    if is_absolute {
        return place.into();
    }
    let origin = authority(base);
    let path = base.get(origin.len()..).unwrap_or_default();
    let path = path.split(['?', '#']).next().unwrap_or_default();
    if let Some(rest) = place.strip_prefix("//") {
        return format!("{}://{rest}", base.split("://").next().unwrap_or_default());
    }
    if place.starts_with('/') {
        return format!("{origin}{place}");
    }
    if place.starts_with(['?', '#']) || place.is_empty() {
        return format!("{origin}{path}{place}");
    }
    let folder = path.rsplit_once('/').map_or("", |(folder, _)| folder);
    format!("{origin}{folder}/{place}")
}

#[cfg(test)]
mod tests {
    use std::io::{BufRead, BufReader, Write};
    use std::net::TcpListener;

    use super::*;

    #[test]
    fn guarded_calls_fail_with_the_words_of_the_reference() {
        let get = |url| {
            let wanted = HttpCall { method: "GET", url, body: None, headers: Vec::new(), ca_bundle: "" };
            call(&wanted, &Guard::default()).expect_err("guarded")
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
            key_set("http://127.0.0.1:1/", &Guard::default()).expect_err("guarded"),
            "request failed: Get \"http://127.0.0.1:1/\": connection to 127.0.0.1:1 blocked: IP 127.0.0.1 falls in blocked range 127.0.0.0/8"
        );
        assert_eq!(
            key_set("http://a b/", &Guard::default()).expect_err("no URL"),
            "failed to create new request: parse \"http://a b/\": invalid character \" \" in host name"
        );
    }

    /// Answers every request with what `answer` makes of its path, until the listener's client goes away.
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
        let wanted = HttpCall { method: "GET", url, body: None, headers: Vec::new(), ca_bundle: "" };
        call(&wanted, &Guard::open()).map(|v| print::json(&v))
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
            key_set(&format!("{at}/value"), &Guard::open()),
            Err(format!("response body for \"{at}/value\" exceeded max size of 10485760 bytes"))
        );
    }

    #[test]
    fn an_endless_value_is_refused() {
        let mut value = b"[".to_vec();
        value.extend(b"1,".repeat(LARGEST));
        assert_eq!(
            first_value(&mut value.as_slice()).map(drop),
            Err("response length must be less than max allowed response length of 10000000".into())
        );
        value.truncate(100);
        assert!(first_value(&mut value.as_slice()).is_ok_and(|v| v.is_none()));
    }

    #[test]
    fn redirects_are_followed_to_the_tenth_request_and_told_as_they_were_written() {
        let at = listening(|path| match path.trim_start_matches("/to/").parse::<u32>() {
            Ok(n) => (format!("302 Found\r\nLocation: /to/{}", n + 1), Vec::new(), false),
            Err(_) => ("200 OK".into(), b"\"there\"".to_vec(), false),
        });
        assert_eq!(
            body_of(&format!("{at}/to/1")),
            Err("request failed: Get \"/to/11\": stopped after 10 redirects".into())
        );
        assert_eq!(
            key_set(&format!("{at}/to/1"), &Guard::open()),
            Err("request failed: Get \"/to/6\": jwk.Fetch: stopped after 5 redirects".into())
        );
        assert_eq!(body_of(&format!("{at}/x")).as_deref(), Ok("{\"body\":\"there\",\"statusCode\":200}"));
    }

    #[test]
    fn a_redirect_is_resolved_against_the_place_that_it_came_from() {
        let at = |place| resolved("http://h:1/a/b?q#f", place);
        assert_eq!(at("https://o/x"), "https://o/x");
        assert_eq!(at("//o/x"), "http://o/x");
        assert_eq!(at("/x?y"), "http://h:1/x?y");
        assert_eq!(at("x"), "http://h:1/a/x");
        assert_eq!(at("?y"), "http://h:1/a/b?y");
        assert_eq!(resolved("http://h", "x"), "http://h/x");
    }
}
