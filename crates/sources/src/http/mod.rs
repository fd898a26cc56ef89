//! The HTTP client: every request of the program to something that is no Kubernetes API goes
//! through it.
//!
//! In: a [`Request`]. Out: an [`HttpResponse`], or a [`Failure`] in the words of Go's client.
//! Connections and TLS sessions are pooled for the next request to the same host. Redirects are
//! followed one by one and each is checked again (`exchange`); requests that a policy can choose
//! the URL of go through the [`guard`]; certificates are verified with the roots of the system, or
//! only those of a bundle ([`roots`]); proxies are those of the environment (`proxy`). Time, size
//! of an answer, redirects and the number of requests under way are limited. Semantics:
//! `docs/semantics/variables.md`, "apiCall", and `docs/semantics/cel-policies.md`, "http".
//!
//! - `exchange`: a request on its way, from the first connection to the answer that leads nowhere
//!   else
//! - [`guard`]: what policies may not call: the machine itself, metadata services, and what
//!   operators say
//! - `limit`: how many requests may be under way at once
//! - `proxy`: proxies, as the environment names them
//! - `recorded`: steps of requests that are recorded, or answered by a recording
//! - [`roots`]: which certificates of authorities are trusted

mod exchange;
pub mod guard;
mod limit;
mod proxy;
mod recorded;
pub mod roots;
#[cfg(test)]
mod tests;

use std::collections::HashMap;
use std::io::Read;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use ephor_recording::Recording;
use ureq::http::{HeaderMap, StatusCode};
use ureq::tls::{Certificate, RootCerts, TlsConfig};
use ureq::unversioned::resolver::{DefaultResolver, Resolver};
use ureq::unversioned::transport::DefaultConnector;

use guard::{Guard, GuardedResolver};
use limit::{Limit, Permit};

/// How many requests may be under way; more wait for their turn. Each takes a connection; fewer
/// make slow registries slower, more exhaust file handles.
const MAX_REQUESTS: usize = 128;
/// How many unused connections are pooled, in all and for one host.
const POOL: (usize, usize) = (32, 8);
/// How many bundles of certificates have pooled connections. Calls with others connect anew.
const MAX_BUNDLES: usize = 32;
/// The name under which servers see the program.
const USER_AGENT: &str = concat!("ephor/", env!("CARGO_PKG_VERSION"));

/// What operators choose about requests.
#[derive(Clone, Debug)]
pub struct Settings {
    /// What policies may not call.
    pub guard: Guard,
    /// Certificates to trust besides those of the system.
    pub roots: Vec<Certificate<'static>>,
    /// The largest answer of an `apiCall.service`, in bytes.
    pub largest_answer: u64,
    /// Records answers, or replays them in place of the outside.
    pub recording: Option<Recording>,
}

impl Default for Settings {
    /// Those of a server: Kyverno's limit in the admission controller.
    fn default() -> Settings {
        Settings { guard: Guard::default(), roots: Vec::new(), largest_answer: 10_000_000, recording: None }
    }
}

impl Settings {
    /// What Kyverno's command line does: it has no limit; here there is one, of a gigabyte.
    pub fn kyverno_cli() -> Settings {
        Settings { guard: Guard::kyverno_cli(), largest_answer: 1 << 30, ..Settings::default() }
    }
}

/// Who chose a URL, which decides what may be called.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Caller {
    /// An operator: anything.
    Operator,
    /// A policy: what [`Settings::guard`] lets it.
    Policy,
    /// An image or a registry: anything but metadata services. Registries of the machine itself are
    /// usual.
    Registry,
}

/// A request.
#[derive(Clone, Debug)]
pub struct Request<'a> {
    /// `GET`, `POST`, `PUT` or `HEAD`.
    pub method: &'static str,
    /// Where to.
    pub url: String,
    /// Headers; the last of a name counts.
    pub headers: Vec<(String, String)>,
    /// What is sent.
    pub body: Option<Vec<u8>>,
    /// PEM certificates: only those are trusted; empty = those of the system.
    pub ca_bundle: &'a str,
    /// Who chose the URL.
    pub caller: Caller,
    /// How many requests are sent where one answer redirects to the next, and the error for one
    /// more.
    pub requests: (u32, &'static str),
    /// How long all of it may take, the body included unless it is a stream.
    pub timeout: Duration,
    /// Whether the body is read as it comes, for as long as it takes: then the time is that until
    /// it begins, and that between two parts of it.
    pub is_stream: bool,
    /// Whether the answer is a secret, such as a token: it is in no recording.
    pub is_confidential: bool,
}

impl Request<'_> {
    /// A `GET` that operators chose the URL of, with the limits of Go's client.
    pub fn get(url: &str, timeout: Duration) -> Request<'static> {
        Request {
            method: "GET",
            url: url.into(),
            headers: Vec::new(),
            body: None,
            ca_bundle: "",
            caller: Caller::Operator,
            requests: (10, "stopped after 10 redirects"),
            timeout,
            is_stream: false,
            is_confidential: false,
        }
    }

    /// With a header.
    #[must_use]
    pub fn header(mut self, name: &str, value: &str) -> Self {
        self.headers.push((name.into(), value.into()));
        self
    }
}

/// Why there is no answer.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Failure {
    /// The guard refuses the URL or the address.
    #[error(transparent)]
    Refused(guard::Refusal),
    /// The bundle holds no certificate.
    #[error("failed to parse PEM CA bundle")]
    Bundle,
    /// In Go's words.
    #[error("{0}")]
    Other(String),
}

/// A failure and the request that met it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{request}{}{failure}", if .request.is_empty() { "" } else { ": " })]
pub struct RequestError {
    /// `Get "URL"`; empty for what failed before any request.
    pub request: String,
    /// What is wrong.
    #[source]
    pub failure: Failure,
}

/// What a server sent; its body is not read yet.
pub struct HttpResponse {
    /// The status.
    pub status: StatusCode,
    /// The headers.
    pub headers: HeaderMap,
    body: Box<dyn Read + Send>,
    _permit: Permit,
}

/// Why a body was not read to its end.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unread {
    /// It is larger than it may be.
    #[error("the answer is too large")]
    TooLarge,
    /// It took too long.
    #[error("{}", LATE_BODY)]
    Late,
    /// The connection broke; why, in the words of the client.
    #[error("{0}")]
    Broken(String),
}

/// What Go's client says when the body does not come in time.
pub const LATE_BODY: &str =
    "context deadline exceeded (Client.Timeout or context cancellation while reading body)";

/// Whether an error of reading a body means that its time is over.
pub fn is_timeout(e: &std::io::Error) -> bool {
    e.kind() == std::io::ErrorKind::TimedOut
        || e.get_ref()
            .and_then(|e| e.downcast_ref::<ureq::Error>())
            .is_some_and(|e| matches!(e, ureq::Error::Timeout(_)))
}

impl HttpResponse {
    /// A header as text; empty when it is not there.
    pub fn header(&self, name: &str) -> &str {
        self.headers.get(name).and_then(|v| v.to_str().ok()).unwrap_or_default()
    }

    /// The body as it comes; the caller limits its size.
    pub fn reader(self) -> impl Read {
        Body { reader: self.body, _permit: self._permit }
    }

    /// The whole body.
    ///
    /// # Errors
    /// It has more than `most` bytes, or does not arrive.
    pub fn bytes(self, most: u64) -> Result<Vec<u8>, Unread> {
        let mut bytes = Vec::new();
        let read = self.reader().take(most.saturating_add(1)).read_to_end(&mut bytes);
        read.map_err(|e| if is_timeout(&e) { Unread::Late } else { Unread::Broken(e.to_string()) })?;
        if bytes.len() as u64 > most { Err(Unread::TooLarge) } else { Ok(bytes) }
    }
}

struct Body {
    reader: Box<dyn Read + Send>,
    _permit: Permit,
}

impl Read for Body {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        self.reader.read(buffer)
    }
}

/// Which connections may be shared: those of one guard and one set of roots.
#[derive(Clone, PartialEq, Eq, Hash)]
struct Sharing {
    caller: Caller,
    ca_bundle: String,
}

/// See the module page.
pub struct HttpClient {
    settings: Settings,
    metadata: Guard,
    proxies: proxy::Proxies,
    roots: OnceLock<RootCerts>,
    agents: Mutex<HashMap<Sharing, ureq::Agent>>,
    under_way: Arc<Limit>,
}

static CLIENT: OnceLock<HttpClient> = OnceLock::new();

/// Chooses the settings of the program's client; only the first choice counts, and only before the
/// first request.
pub fn configure(settings: Settings) {
    let _ = CLIENT.set(HttpClient::new(settings));
}

/// The program's client.
pub fn client() -> &'static HttpClient {
    CLIENT.get_or_init(|| HttpClient::new(Settings::default()))
}

impl HttpClient {
    /// A client with connections of its own.
    pub fn new(settings: Settings) -> HttpClient {
        HttpClient {
            settings,
            metadata: Guard::metadata(),
            proxies: proxy::Proxies::of_environment(),
            roots: OnceLock::new(),
            agents: Mutex::default(),
            under_way: Limit::new(MAX_REQUESTS),
        }
    }

    /// What was chosen.
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// Sends a request and follows redirects.
    ///
    /// # Errors
    /// See [`Failure`].
    pub fn send(&self, request: Request<'_>) -> Result<HttpResponse, RequestError> {
        let agent = self
            .agent(Sharing { caller: request.caller, ca_bundle: request.ca_bundle.into() })
            .map_err(|failure| RequestError { request: String::new(), failure })?;
        let ends = Instant::now() + request.timeout;
        exchange::Exchange::new(self, agent, request, ends).run()
    }

    /// What may not be called.
    fn guard_of(&self, caller: Caller) -> Option<&Guard> {
        match caller {
            Caller::Operator => None,
            Caller::Policy => Some(&self.settings.guard),
            Caller::Registry => Some(&self.metadata),
        }
    }

    /// The agent whose connections a request may use.
    fn agent(&self, sharing: Sharing) -> Result<ureq::Agent, Failure> {
        let mut agents = self.agents.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(agent) = agents.get(&sharing) {
            return Ok(agent.clone());
        }
        let roots = match &*sharing.ca_bundle {
            "" => self.roots.get_or_init(|| roots::of_system(&self.settings.roots)).clone(),
            bundle => {
                let all = roots::of_bundle(bundle.as_bytes()).map_err(|_| Failure::Bundle)?;
                RootCerts::new_with_certs(&all)
            }
        };
        let config = ureq::Agent::config_builder()
            .tls_config(TlsConfig::builder().root_certs(roots).build())
            .http_status_as_error(false)
            .max_redirects(0)
            .max_redirects_will_error(false)
            .proxy(None)
            .user_agent(USER_AGENT)
            .max_idle_connections(POOL.0)
            .max_idle_connections_per_host(POOL.1)
            .build();
        let resolver: Box<dyn Resolver> = match self.guard_of(sharing.caller) {
            Some(guard) => Box::new(GuardedResolver(guard.clone())),
            None => Box::new(DefaultResolver::default()),
        };
        let agent = ureq::Agent::with_parts(config, DefaultConnector::default(), AnyResolver(resolver));
        // Policies may take bundles from data: those that were there first make way.
        if agents.len() >= MAX_BUNDLES {
            agents.clear();
        }
        agents.insert(sharing, agent.clone());
        Ok(agent)
    }
}

#[derive(Debug)]
struct AnyResolver(Box<dyn Resolver>);

impl Resolver for AnyResolver {
    fn resolve(
        &self,
        uri: &ureq::http::Uri,
        config: &ureq::config::Config,
        timeout: ureq::unversioned::transport::NextTimeout,
    ) -> Result<ureq::unversioned::resolver::ResolvedSocketAddrs, ureq::Error> {
        self.0.resolve(uri, config, timeout)
    }
}
