//! HTTP: reviews in, answers out; health and metrics.
//!
//! A review is decided where it was read; policies that are slow decide on threads for such work, while the
//! client waits until the deadline of the request. What is not ready then is answered by failure policy. When too many reviews are under way, the next ones are
//! refused at once with status 429, so that those that were taken are answered in time.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use axum::Router;
use axum::body::Body;
use axum::extract::State as Shared;
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode, Uri, header};
use axum::response::{IntoResponse, Response};
use axum::routing::{any, get, post};
use http_body_util::{BodyExt, LengthLimitError, Limited};
use tokio::sync::Semaphore;

use crate::admit::answer::Answer;
use crate::admit::incoming::{Incoming, decode};
use crate::admit::route::Phase;
use crate::admit::{Deadline, Decision, Route, Undecodable};

use super::audit::{self, Audit};
use super::metrics::Metrics;
use super::policies::{Snapshot, Store};
use super::reports::Reporter;
use super::traces::{self, Parent, Tracer};

/// What an API server waits when it does not say.
const DEFAULT_TIMEOUT: Duration = Duration::from_secs(10);
/// The longest that it waits.
const LONGEST_TIMEOUT: Duration = Duration::from_secs(30);
/// How long results that no answer waits for may take.
const LATER: Duration = Duration::from_secs(30);
/// How many reviews may wait for quick results that only audit. More of them would push each other out of the
/// processors' caches: the results of the next ones are made before their answers.
const AFTERWARDS: usize = 2;
/// How long a client may take to send its body.
const BODY: Duration = Duration::from_secs(30);

/// Limits of the server.
#[derive(Clone, Debug)]
pub struct Limits {
    /// The largest body in bytes.
    pub body: usize,
    /// How many reviews may be under way.
    pub running: usize,
    /// How many reviews may wait for results that only audit.
    pub auditing: usize,
    /// What is left of a request's time for the way back.
    pub margin: Duration,
}

/// What all requests share.
pub struct State {
    /// The policies.
    pub store: Store,
    /// What is counted.
    pub metrics: Metrics,
    /// Where decisions are written.
    pub audit: Option<Audit>,
    /// Who writes results to the cluster.
    pub reporter: Option<Reporter>,
    /// Who sends spans to a collector.
    pub tracer: Option<Tracer>,
    /// Limits.
    pub limits: Limits,
    /// The server is about to end.
    pub draining: AtomicBool,
    baseline: bool,
    running: Arc<Semaphore>,
    auditing: Arc<Semaphore>,
    afterwards: Arc<Semaphore>,
}

impl State {
    /// Of a server that begins.
    pub fn new(
        store: Store,
        metrics: Metrics,
        audit: Option<Audit>,
        reporter: Option<Reporter>,
        limits: Limits,
        baseline: bool,
    ) -> State {
        let (running, auditing) = (Semaphore::new(limits.running), Semaphore::new(limits.auditing));
        let (running, auditing) = (Arc::new(running), Arc::new(auditing));
        let afterwards = Arc::new(Semaphore::new(AFTERWARDS));
        State {
            store,
            metrics,
            audit,
            reporter,
            tracer: None,
            limits,
            draining: AtomicBool::new(false),
            baseline,
            running,
            auditing,
            afterwards,
        }
    }
}

impl State {
    /// The same with somebody who sends spans.
    pub fn with_tracer(mut self, tracer: Option<Tracer>) -> State {
        self.tracer = tracer;
        self
    }
}

type App = Arc<State>;

/// Reviews, and health.
pub fn reviews(state: &App) -> Router {
    let router = health(Router::new()).fallback(any(review));
    let router = if state.baseline { router.route("/baseline", post(baseline)) } else { router };
    router.with_state(state.clone())
}

/// Health and metrics.
pub fn operation(state: &App) -> Router {
    health(Router::new()).route("/metrics", get(metrics)).with_state(state.clone())
}

fn health(router: Router<App>) -> Router<App> {
    router
        .route("/livez", get(|| async { "ok\n" }))
        .route("/health/liveness", get(|| async { "ok\n" }))
        .route("/readyz", get(ready))
        .route("/health/readiness", get(ready))
}

async fn metrics(Shared(state): Shared<App>) -> Response {
    let kind = HeaderValue::from_static("text/plain; version=0.0.4");
    ([(header::CONTENT_TYPE, kind)], state.metrics.text()).into_response()
}

/// Ready when every policy that must be evaluated can be; what is wrong is told either way.
async fn ready(Shared(state): Shared<App>) -> Response {
    let now = state.store.current();
    let mut text = format!("policies {} generation {}\n", now.policies, now.generation);
    let notices = now.notices.iter().map(|notice| format!("notice: {notice}"));
    for line in now.problems.iter().cloned().chain(notices) {
        text.push_str(&line);
        text.push('\n');
    }
    if state.draining.load(Ordering::Relaxed) {
        return (StatusCode::SERVICE_UNAVAILABLE, "draining\n".to_string() + &text).into_response();
    }
    let is_ready = now.complete && now.gate.shortage().is_none();
    let status = if is_ready { StatusCode::OK } else { StatusCode::INTERNAL_SERVER_ERROR };
    (status, text).into_response()
}

/// An answer in plain text, for what is no review.
fn plain(status: u16, text: &str) -> Response {
    let status = StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    (status, text.to_string() + "\n").into_response()
}

async fn review(
    Shared(state): Shared<App>,
    method: Method,
    uri: Uri,
    headers: HeaderMap,
    body: Body,
) -> Response {
    let Some(route) = Route::parse(uri.path()) else { return plain(404, "404 page not found") };
    state.metrics.request(method.as_str(), uri.path());
    if method != Method::POST {
        return plain(405, "reviews are sent with POST");
    }
    let began = Instant::now();
    let Ok(permit) = state.running.clone().try_acquire_owned() else {
        state.metrics.shed.inc();
        let mut response = plain(429, "too many reviews are under way; try again");
        response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from_static("1"));
        return response;
    };
    state.metrics.running.inc();
    let mut response = match read(&state, &headers, body).await {
        Ok(incoming) => {
            let due = began + timeout(&uri).saturating_sub(state.limits.margin);
            let parent = state.tracer.as_ref().map(|_| traces::parent(&headers));
            decide(&state, route, uri.path(), incoming, parent, began, due).await
        }
        Err(refusal) => plain(refusal.status, &refusal.text),
    };
    state.metrics.running.dec();
    drop(permit);
    if state.draining.load(Ordering::Relaxed) {
        // The client looks for another server for its next request.
        response.headers_mut().insert(header::CONNECTION, HeaderValue::from_static("close"));
    }
    response
}

/// Reads a review and allows it.
async fn baseline(Shared(state): Shared<App>, headers: HeaderMap, body: Body) -> Response {
    match read(&state, &headers, body).await {
        Ok(incoming) => answered(&Answer::default(), &incoming),
        Err(refusal) => plain(refusal.status, &refusal.text),
    }
}

fn answered(answer: &Answer, of: &Incoming) -> Response {
    let kind = HeaderValue::from_static("application/json; charset=utf-8");
    ([(header::CONTENT_TYPE, kind)], answer.to_json(of)).into_response()
}

/// `?timeout=10s`: how long the client waits.
fn timeout(uri: &Uri) -> Duration {
    let given = uri.query().into_iter().flat_map(|q| q.split('&')).find_map(|p| p.strip_prefix("timeout="));
    let nanoseconds = given.and_then(crate::value::duration::parse_ok);
    let asked = nanoseconds.and_then(|n| u64::try_from(n).ok()).map(Duration::from_nanos);
    asked.unwrap_or(DEFAULT_TIMEOUT).min(LONGEST_TIMEOUT)
}

async fn read(state: &State, headers: &HeaderMap, body: Body) -> Result<Incoming, Undecodable> {
    let largest = state.limits.body;
    let too_large = || Undecodable::new(413, format!("the body is larger than {largest} bytes"));
    let told = headers
        .get(header::CONTENT_LENGTH)
        .and_then(|v| v.to_str().ok())
        .and_then(|v| v.parse::<usize>().ok());
    if told.is_some_and(|told| told > largest) {
        return Err(too_large());
    }
    let body = match tokio::time::timeout(BODY, Limited::new(body, largest).collect()).await {
        Err(_) => return Err(Undecodable::new(408, "the body did not arrive in time")),
        Ok(Err(e)) if e.downcast_ref::<LengthLimitError>().is_some() => return Err(too_large()),
        Ok(Err(e)) => return Err(Undecodable::new(400, format!("the body cannot be read: {e}"))),
        Ok(Ok(body)) => body.to_bytes(),
    };
    let kind = headers.get(header::CONTENT_TYPE).and_then(|v| v.to_str().ok()).unwrap_or_default();
    decode(kind, &body)
}

async fn decide(
    state: &App,
    route: Route,
    path: &str,
    incoming: Incoming,
    parent: Option<Parent>,
    began: Instant,
    due: Instant,
) -> Response {
    let snapshot = state.store.current();
    let incoming = Arc::new(incoming);
    let route = Arc::new(route);
    let decision = decision(state, &snapshot, &route, &incoming, due).await;
    let took = began.elapsed().as_secs_f64();
    let webhook = match route.phase {
        Phase::Validate => "ValidatingWebhookConfiguration",
        Phase::Mutate => "MutatingWebhookConfiguration",
    };
    state.metrics.decided(&incoming, &decision, webhook, took);
    if let Some(audit) = &state.audit {
        let line = audit::line(&now(), path, &incoming, &decision, took * 1e3);
        note(state, audit, &line);
    }
    let response = answered(&decision.answer, &incoming);
    tracing::debug!(uid = &*incoming.uid, path, allowed = decision.answer.allowed(), "answered");
    if let (Some(tracer), Some(parent)) = (&state.tracer, &parent) {
        tracer.offer(path, parent, began, &incoming, &decision);
    }
    if let Some(reporter) = state.reporter.as_ref().filter(|_| route.phase == Phase::Validate) {
        reporter.offer(&incoming, &snapshot, &decision.outcomes, !decision.answer.allowed());
    }
    if route.phase == Phase::Validate && decision.answer.allowed() && decision.asked.is_some() {
        later(state, &snapshot, route, path, &incoming, decision);
    }
    response
}

/// Decides: here while that is quick, else on a thread for such work.
async fn decision(
    state: &App,
    snapshot: &Arc<Snapshot>,
    route: &Arc<Route>,
    incoming: &Arc<Incoming>,
    due: Instant,
) -> Decision {
    let work = {
        let (incoming, route, snapshot) = (incoming.clone(), route.clone(), snapshot.clone());
        move || {
            let began = Instant::now();
            let answer = AssertUnwindSafe(|| snapshot.gate.answer(&route, &incoming, &Deadline::at(due)));
            let decision = std::panic::catch_unwind(answer);
            snapshot.pace.note(began.elapsed());
            decision
        }
    };
    let failed = |why: &str| Decision {
        answer: Answer::denied(format!("internal error: {why}")),
        ..Decision::default()
    };
    let done = if snapshot.pace.is_slow() {
        match tokio::time::timeout_at(due.into(), tokio::task::spawn_blocking(work)).await {
            Ok(Ok(done)) => done,
            Ok(Err(e)) => return failed(&e.to_string()),
            Err(_) => {
                state.metrics.late.inc();
                return snapshot.gate.late(route);
            }
        }
    } else {
        work()
    };
    done.unwrap_or_else(|_| failed("the evaluation ended in a fault of the program"))
}

/// Results that no answer waits for, as long as few wait for theirs. When too many wait for slow ones, these
/// are left out and counted.
fn later(
    state: &App,
    snapshot: &Arc<Snapshot>,
    route: Arc<Route>,
    path: &str,
    incoming: &Arc<Incoming>,
    decision: Decision,
) {
    let Some(asked) = decision.asked.filter(|_| decision.audits) else { return };
    let slow = snapshot.pace.is_slow();
    let brief = snapshot.pace.audits_are_brief();
    let permit = if slow { &state.auditing } else { &state.afterwards }.clone().try_acquire_owned().ok();
    if slow && permit.is_none() {
        state.metrics.audit_lost.inc();
        return;
    }
    let waits = permit.is_some();
    let (state, snapshot, incoming) = (state.clone(), snapshot.clone(), incoming.clone());
    let path = path.to_string();
    let work = move || {
        let began = Instant::now();
        let outcomes = snapshot.gate.audit(&route, &asked, &Deadline::at(began + LATER));
        snapshot.pace.note_audit(began.elapsed());
        state.metrics.results(&incoming, &asked.request.target, &outcomes);
        if let Some(reporter) = &state.reporter {
            reporter.offer(&incoming, &snapshot, &outcomes, false);
        }
        if let Some(audit) = state.audit.as_ref().filter(|_| !outcomes.is_empty()) {
            note(&state, audit, &audit::later(&now(), &path, &incoming, &outcomes));
        }
        drop(permit);
    };
    match (slow, waits && !brief) {
        (true, _) => drop(tokio::task::spawn_blocking(work)),
        // Right after the answer, by the same thread: what was allocated is freed where it was.
        (false, true) => drop(tokio::spawn(async move { work() })),
        (false, false) => drop(std::panic::catch_unwind(AssertUnwindSafe(work))),
    }
}

fn note(state: &State, audit: &Audit, line: &crate::value::Value) {
    if let Err(e) = audit.write(line) {
        state.metrics.audit_lost.inc();
        tracing::error!(error = %e, "the audit stream cannot be written");
    }
}

/// The moment in RFC 3339.
fn now() -> String {
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
