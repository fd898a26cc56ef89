//! A request on its way, from the first connection to the answer that leads nowhere else.
//!
//! In: a request, an agent and a moment by which it must be over. Out: an answer, or what went
//! wrong in the words of Go's client. Before each step the guard checks the URL, and the address
//! where a proxy would resolve it.

use std::io;
use std::net::{IpAddr, ToSocketAddrs};
use std::time::{Duration, Instant};

use ureq::http::{self, Uri, header};
use ureq::unversioned::resolver::Resolver;
use ureq::unversioned::transport::NextTimeout;

use ephor_value::bytes::lossy;
use ephor_value::quote::quote;
use ephor_value::url::split;

use super::guard::{GuardedResolver, Refusal};
use super::limit::Permit;
use super::proxy::Proxy;
use super::{Caller, Failure, HttpClient, HttpResponse, Request, RequestError, recorded};

/// What Go's client says when time is over.
const LATE: &str = "context deadline exceeded (Client.Timeout exceeded while awaiting headers)";
/// The headers that stay with the host that they were meant for.
const CONFIDENTIAL: [&str; 4] = ["authorization", "www-authenticate", "cookie", "cookie2"];

pub(super) struct Exchange<'a> {
    client: &'a HttpClient,
    agent: ureq::Agent,
    request: Request<'a>,
    ends: Instant,
}

impl<'a> Exchange<'a> {
    pub(super) fn new(
        client: &'a HttpClient,
        agent: ureq::Agent,
        request: Request<'a>,
        ends: Instant,
    ) -> Exchange<'a> {
        Exchange { client, agent, request, ends }
    }

    /// Sends the request and follows redirects: a POST is only repeated where the answer requires
    /// it.
    pub(super) fn run(mut self) -> Result<HttpResponse, RequestError> {
        let Some(permit) = self.client.under_way.acquire(self.ends) else { return Err(self.failed(LATE)) };
        for sent in 1.. {
            let answer = self.send()?;
            let is_repeated = matches!(answer.status.as_u16(), 307 | 308);
            let is_redirect = is_repeated || matches!(answer.status.as_u16(), 301..=303);
            let place = answer.headers.get(header::LOCATION).map(|v| lossy(v.as_bytes()));
            let Some(place) = place.filter(|_| is_redirect) else { return Ok(answer.with(permit)) };
            if !is_repeated {
                self.request.method = "GET";
                self.request.body = None;
            }
            let next = resolved(&self.request.url, &place);
            if authority(&next) != authority(&self.request.url) {
                let stays = |name: &str| !CONFIDENTIAL.contains(&name.to_lowercase().as_str());
                self.request.headers.retain(|(name, _)| stays(name));
            }
            if let Err(e) = split(&next) {
                return Err(self.failed(&format!(
                    "failed to parse Location header {}: parse {}: {e}",
                    quote(&place),
                    quote(&place)
                )));
            }
            // What a registry says over TLS is not fetched without it: it would lead into private
            // networks.
            let is_weaker = self.request.url.starts_with("https://") && !next.starts_with("https://");
            if is_weaker && self.request.caller == Caller::Registry {
                return Err(
                    self.failed(&format!("the redirect to {} leaves TLS", quote(&without_password(&next))))
                );
            }
            if sent >= self.request.requests.0 {
                self.request.url = place;
                break;
            }
            self.request.url = next;
        }
        Err(self.failed(self.request.requests.1))
    }

    /// One step: what can be known of the request is checked, then it is sent, or a recording
    /// answers it.
    fn send(&self) -> Result<Step, RequestError> {
        let url = &self.request.url;
        let scheme = url.split_once("://").map_or("", |(scheme, _)| scheme).to_ascii_lowercase();
        if !matches!(&*scheme, "http" | "https") {
            return Err(self.failed(&format!("unsupported protocol scheme {}", quote(&scheme))));
        }
        if authority(url).ends_with("://") {
            let request = format!("{} {}", self.verb(), quote(url.trim_end_matches('/')));
            let request = if url.matches('/').count() > 2 { self.name() } else { request };
            return Err(RequestError {
                request,
                failure: Failure::Other("http: no Host in request URL".into()),
            });
        }
        if let Some(problem) =
            self.request.headers.iter().find_map(|(name, value)| header_problem(name, value))
        {
            return Err(self.failed(&problem));
        }
        if let Some(guard) = self.client.guard_of(self.request.caller) {
            guard.check_url(url).map_err(|r| self.refused(r))?;
        }
        let recording = self.client.settings.recording.as_ref();
        match recording.filter(|_| !self.request.is_confidential) {
            None => self.step(&scheme),
            Some(recording) => {
                recorded::step(recording, &self.request, || self.step(&scheme)).map_err(|failure| {
                    match failure {
                        recorded::NoStep::Failed(error) => error,
                        recorded::NoStep::Replayed(failure) => RequestError { request: self.name(), failure },
                    }
                })
            }
        }
    }

    fn step(&self, scheme: &str) -> Result<Step, RequestError> {
        let url = &self.request.url;
        let left = self.ends.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(self.failed(LATE));
        }
        let proxy = self.client.proxies.of_url(url).map_err(|e| self.failed(&e.to_string()))?;
        let is_of_policy = self.request.caller == Caller::Policy;
        if let Some(proxy) = proxy.as_ref().filter(|_| is_of_policy) {
            self.check_behind(proxy, left)?;
        }
        let rest = url.get(scheme.len()..).unwrap_or_default();
        let mut builder = http::Request::builder().method(self.request.method).uri(format!("{scheme}{rest}"));
        let invalid = |e: http::Error| self.failed(&e.to_string());
        if let Some(headers) = builder.headers_mut() {
            for (name, value) in &self.request.headers {
                let name = http::HeaderName::try_from(name).map_err(|e| invalid(e.into()))?;
                headers.insert(name, http::HeaderValue::try_from(value).map_err(|e| invalid(e.into()))?);
            }
        }
        let address = proxy.as_ref().map(|p| p.address.clone());
        let through = proxy.map(|p| p.proxy);
        // Of a stream the time is limited until its body begins, and between two parts of it.
        let (whole, begin, part) = match self.request.is_stream {
            true => (None, Some(left), Some(self.request.timeout)),
            false => (Some(left), None, None),
        };
        let sent = match &self.request.body {
            None => {
                let request = builder.body(()).map_err(invalid)?;
                let request = self.agent.configure_request(request).proxy(through).timeout_global(whole);
                let request =
                    request.timeout_resolve(begin).timeout_connect(begin).timeout_recv_response(begin);
                self.agent.run(request.timeout_per_read(part).build())
            }
            Some(body) => {
                let request = builder.body(body.as_slice()).map_err(invalid)?;
                let request = self.agent.configure_request(request).proxy(through);
                self.agent.run(request.timeout_global(whole).build())
            }
        };
        sent.map_err(|e| match e {
            ureq::Error::Other(other) => match other.downcast::<Refusal>() {
                Ok(refusal) if address.as_ref().is_some_and(|a| refusal.is_about(a)) => {
                    self.refused(Refusal::Proxy(refusal))
                }
                Ok(refusal) => self.refused(*refusal),
                Err(other) => self.failed(&other.to_string()),
            },
            ureq::Error::Timeout(_) => self.failed(LATE),
            e => self.failed(&cause(url, &e)),
        })
        .map(Step::of)
    }

    /// Checks what a proxy would connect to.
    fn check_behind(&self, proxy: &Proxy, left: Duration) -> Result<(), RequestError> {
        let guard = &self.client.settings.guard;
        let Ok(uri) = self.request.url.parse::<Uri>() else { return Ok(()) };
        let timeout = NextTimeout {
            after: left.into(),
            reason: ureq::Timeout::Resolve,
            per_read: None,
            per_write: None,
        };
        let Err(e) = GuardedResolver(guard.clone()).resolve(&uri, self.agent.config(), timeout) else {
            return Ok(());
        };
        let refusal = match e {
            ureq::Error::Other(other) => other.downcast::<Refusal>().ok().map(|r| *r),
            ureq::Error::Timeout(_) => return Err(self.failed(LATE)),
            _ => None,
        };
        match refusal {
            Some(refusal @ (Refusal::Address { .. } | Refusal::HostName { .. })) => {
                Err(self.refused(refusal))
            }
            _ if guard.allows(&self.request.url) => Ok(()),
            _ => {
                let host = uri.host().unwrap_or_default().to_owned();
                Err(self.refused(Refusal::Unchecked { host, proxy: proxy.address.clone() }))
            }
        }
    }

    fn verb(&self) -> &'static str {
        match self.request.method {
            "POST" => "Post",
            "PUT" => "Put",
            "HEAD" => "Head",
            _ => "Get",
        }
    }

    fn name(&self) -> String {
        format!("{} {}", self.verb(), quote(&without_password(&self.request.url)))
    }

    fn refused(&self, refusal: Refusal) -> RequestError {
        RequestError { request: self.name(), failure: Failure::Refused(refusal) }
    }

    fn failed(&self, cause: &str) -> RequestError {
        RequestError { request: self.name(), failure: Failure::Other(cause.into()) }
    }
}

/// What one step answered; its body is not read yet.
pub(super) struct Step {
    pub(super) status: http::StatusCode,
    pub(super) headers: http::HeaderMap,
    pub(super) body: Box<dyn io::Read + Send>,
}

impl Step {
    fn of(answer: http::Response<ureq::Body>) -> Step {
        let (parts, body) = answer.into_parts();
        Step { status: parts.status, headers: parts.headers, body: Box::new(body.into_reader()) }
    }

    fn with(self, permit: Permit) -> HttpResponse {
        let Step { status, headers, body } = self;
        HttpResponse { status, headers, body, _permit: permit }
    }
}

/// Why nothing came, in Go's words where they are known.
fn cause(url: &str, error: &ureq::Error) -> String {
    let ureq::Error::Io(e) = error else {
        return match error {
            ureq::Error::Rustls(e) => tls_cause(e).unwrap_or_else(|| error.to_string()),
            _ => error.to_string(),
        };
    };
    if let Some(text) = e.get_ref().and_then(|e| e.downcast_ref::<rustls::Error>()).and_then(tls_cause) {
        return text;
    }
    if e.kind() != io::ErrorKind::ConnectionRefused {
        return e.to_string();
    }
    let written = authority(url).split_once("://").map_or("", |(_, rest)| rest);
    let host = written.rsplit('@').next().unwrap_or_default();
    let has_port = host.rsplit_once(':').is_some_and(|(_, port)| port.bytes().all(|b| b.is_ascii_digit()));
    let port = match (has_port, url.starts_with("https")) {
        (true, _) => "",
        (false, true) => ":443",
        (false, false) => ":80",
    };
    let host = format!("{host}{port}");
    let bare = host.rsplit_once(':').map_or("", |(name, _)| name).trim_matches(['[', ']']);
    let found = match bare.parse::<IpAddr>() {
        Ok(_) => None,
        Err(_) => host.to_socket_addrs().ok().and_then(|mut all| all.find(|a| a.is_ipv4())),
    };
    match found {
        Some(address) => format!("dial tcp {address}: connect: connection refused"),
        None => format!("dial tcp {host}: connect: connection refused"),
    }
}

fn tls_cause(error: &rustls::Error) -> Option<String> {
    use rustls::{CertificateError as Bad, Error, InvalidMessage};
    let why = match error {
        Error::InvalidCertificate(Bad::UnknownIssuer) => "certificate signed by unknown authority",
        Error::InvalidCertificate(Bad::Expired | Bad::ExpiredContext { .. }) => {
            "certificate has expired or is not yet valid"
        }
        Error::InvalidMessage(InvalidMessage::InvalidContentType) => {
            return Some("tls: first record does not look like a TLS handshake".into());
        }
        _ => return None,
    };
    Some(format!("tls: failed to verify certificate: x509: {why}"))
}

/// An address without its password.
fn without_password(url: &str) -> String {
    let authority = authority(url);
    let password = authority.rsplit_once('@').and_then(|(user, _)| {
        let start = authority.find("://").map_or(0, |at| at + 3);
        let colon = user.get(start..)?.find(':')? + start;
        Some(colon + 1..user.len())
    });
    match password {
        Some(range) => {
            let mut masked = url.to_string();
            masked.replace_range(range, "***");
            masked
        }
        None => url.into(),
    }
}

/// What is wrong with a header, in the words of Kyverno's client.
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
    use super::*;

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

    #[test]
    fn a_password_in_an_address_is_masked() {
        assert_eq!(without_password("http://u:p@h:1/x"), "http://u:***@h:1/x");
        assert_eq!(without_password("http://h:1/a:b@c"), "http://h:1/a:b@c");
    }
}
