//! HTTP: reviews in, answers out; health and metrics.
//!
//! Bodies are read by `intake`, decided on by `answering`, on the threads of
//! `threads`, while the client waits until the deadline of the request. What is not ready then is
//! answered by failure policy. When too many reviews are in flight, the next ones are refused at
//! once with status 429, so that those that were accepted are answered in time. A review counts
//! when its body is there.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use axum::Router;
use axum::body::Body;
use axum::extract::State as Shared;
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode, Uri, header};
use axum::response::{IntoResponse, Response};
use axum::routing::{any, get, post};
use tokio::sync::Semaphore;

use crate::admit::answer::Answer;
use crate::admit::incoming::{Incoming, decode};
use crate::admit::{Route, Undecodable};
use ephor_controllers::background::intake::WorkIntake;

use super::answering::{self, Job};
use super::audit::Audit;
use super::intake::{Intake, Taken};
use super::metrics::Metrics;
use super::policies::Store;
use super::policy_reviews;
use super::refusals::{self, Refusals};
use super::reports::Reporter;
use super::threads::Threads;
use super::tls::Certificates;
use super::traces::{self, Requested, Tracer};

/// The timeout of an API server that sends none.
const DEFAULT_TIMEOUT: Duration = Duration::from_secs(10);
/// The longest that it waits.
const LONGEST_TIMEOUT: Duration = Duration::from_secs(30);
/// How many reviews may wait for quick results that only audit. More of them would push each other
/// out of the processors' caches: the results of the next ones are evaluated before they are
/// answered.
const AFTERWARDS: usize = 2;
/// How many bodies may be arriving for each review that may be under way, and in any case.
const ARRIVING: (usize, usize) = (8, 1024);
/// How many paths with unknown policies are reported.
const UNKNOWN_PATHS: usize = 100;

/// Limits of the server.
#[derive(Clone, Debug)]
pub struct Limits {
    /// The largest body in bytes.
    pub body: usize,
    /// How many bytes of bodies may be held in all.
    pub buffered: usize,
    /// How many reviews may be in flight.
    pub running: usize,
    /// How many reviews may wait for results that only audit.
    pub auditing: usize,
    /// The safety margin subtracted from a request's timeout.
    pub margin: Duration,
}

/// What all requests share.
pub struct State {
    /// The policies.
    pub store: Store,
    /// What is counted.
    pub metrics: Metrics,
    /// Where decisions are written.
    pub audit: Option<Arc<Audit>>,
    /// Who writes results to the cluster.
    pub reporter: Option<Reporter>,
    /// Who sends spans to a collector.
    pub tracer: Option<Tracer>,
    /// The certificates; `None` = connections are not encrypted.
    pub certificates: Option<Arc<Certificates>>,
    /// Who writes what was refused.
    pub refusals: Refusals,
    /// Who writes down the work that requests cause for controllers, if there are some.
    pub work: OnceLock<WorkIntake>,
    /// Where evaluations run.
    pub threads: Threads,
    /// Limits.
    pub limits: Limits,
    /// The server is shutting down.
    pub shutting_down: AtomicBool,
    baseline: bool,
    pub(super) intake: Arc<Intake>,
    running: Arc<Semaphore>,
    pub(super) auditing: Arc<Semaphore>,
    pub(super) afterwards: Arc<Semaphore>,
    /// Paths with unknown policies.
    unknown: Mutex<BTreeMap<String, Route>>,
}

/// Those who do something else with decisions than answering.
pub struct Others {
    /// Where decisions are written.
    pub audit: Option<Arc<Audit>>,
    /// Who writes results to the cluster.
    pub reporter: Option<Reporter>,
    /// Who sends spans to a collector.
    pub tracer: Option<Tracer>,
    /// The certificates; `None` = connections are not encrypted.
    pub certificates: Option<Arc<Certificates>>,
}

impl State {
    /// Of a server that begins.
    ///
    /// # Errors
    /// There are no threads.
    pub fn start(
        store: Store,
        metrics: Metrics,
        others: Others,
        limits: Limits,
        baseline: bool,
    ) -> std::io::Result<State> {
        let Others { audit, reporter, tracer, certificates } = others;
        let (running, auditing) = (Semaphore::new(limits.running), Semaphore::new(limits.auditing));
        let arriving = limits.running.saturating_mul(ARRIVING.0).max(ARRIVING.1);
        let most = limits.running.saturating_add(limits.auditing);
        Ok(State {
            store,
            refusals: Refusals::start(&metrics, audit.clone()),
            threads: Threads::start(most, metrics.stuck.clone())?,
            metrics,
            audit,
            reporter,
            tracer,
            certificates,
            work: OnceLock::new(),
            shutting_down: AtomicBool::new(false),
            baseline,
            intake: Arc::new(Intake::new(limits.body, limits.buffered, arriving)),
            running: Arc::new(running),
            auditing: Arc::new(auditing),
            afterwards: Arc::new(Semaphore::new(AFTERWARDS)),
            limits,
            unknown: Mutex::default(),
        })
    }

    /// Records a path with unknown policies.
    pub(super) fn note_unknown(&self, path: &str, route: &Route, text: &str) {
        self.refusals.note("unknown_policy", 200, text, path);
        let mut unknown = self.unknown.lock().unwrap_or_else(PoisonError::into_inner);
        if unknown.len() < UNKNOWN_PATHS && !unknown.contains_key(path) {
            unknown.insert(path.to_string(), route.clone());
        }
    }

    /// What is wrong with the running server, a line each, and whether that makes it not ready.
    fn faults(&self) -> (Vec<String>, bool) {
        let gate = &self.store.current().gate;
        let mut unknown = self.unknown.lock().unwrap_or_else(PoisonError::into_inner);
        unknown.retain(|_, route| gate.unknown(route).is_some());
        let text = |(path, route): (&String, &Route)| Some(format!("{path}: {}", gate.unknown(route)?));
        let mut lines: Vec<String> = unknown.iter().filter_map(text).collect();
        let stuck = self.threads.stuck();
        if stuck > 0 {
            lines.push(format!("{stuck} evaluations exceeded their deadline and still run"));
        }
        let certificates = self.certificates.iter();
        lines.extend(certificates.clone().filter_map(|of| of.secret()?.problem()));
        let has_certificate = certificates.clone().all(|of| of.is_usable());
        (lines, !has_certificate || stuck * 2 >= self.limits.running.max(2))
    }
}

type App = Arc<State>;

/// Reviews, and health.
pub fn reviews(state: &App) -> Router {
    let router = policy_reviews::routes(health(Router::new())).fallback(any(review));
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
    let (arriving, bytes) = state.intake.now();
    state.metrics.arriving.set(i64::try_from(arriving).unwrap_or(i64::MAX));
    state.metrics.buffered.set(i64::try_from(bytes).unwrap_or(i64::MAX));
    state.metrics.memory(&state.store.current());
    ([(header::CONTENT_TYPE, kind)], state.metrics.text()).into_response()
}

/// Ready when every policy that must be evaluated can be; what is wrong is reported either way.
async fn ready(Shared(state): Shared<App>) -> Response {
    let now = state.store.current();
    let mut text = format!("policies {} generation {}\n", now.policies, now.generation);
    let notices = now.notices.iter().map(|notice| format!("notice: {notice}"));
    let (faults, is_unusable) = state.faults();
    for line in now.problems.iter().cloned().chain(faults).chain(notices) {
        text.push_str(&line);
        text.push('\n');
    }
    if state.shutting_down.load(Ordering::Relaxed) {
        return (StatusCode::SERVICE_UNAVAILABLE, "shutting down\n".to_string() + &text).into_response();
    }
    let is_ready = now.complete && now.gate.shortage().is_none() && !is_unusable;
    let status = if is_ready { StatusCode::OK } else { StatusCode::INTERNAL_SERVER_ERROR };
    (status, text).into_response()
}

/// An answer in plain text, for what is no review.
pub(super) fn plain(status: u16, text: &str) -> Response {
    let code = StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    let mut response = (code, text.to_string() + "\n").into_response();
    if status == 429 {
        response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from_static("1"));
    }
    response
}

async fn review(
    Shared(state): Shared<App>,
    method: Method,
    uri: Uri,
    headers: HeaderMap,
    body: Body,
) -> Response {
    let began = Instant::now();
    let parent = state.tracer.as_ref().map(|_| traces::parent(&headers));
    let answered = match accepted(&state, &method, &uri, &headers, body, began).await {
        Ok(job) => answering::answer(&state, job, parent.clone()).await,
        Err(refusal) => Err(refusal),
    };
    let mut response = answered.unwrap_or_else(|refusal| {
        let Undecodable { status, text } = &refusal;
        if *status == 429 {
            state.metrics.shed.inc();
        }
        state.refusals.note(refusals::reason(&refusal), *status, text, uri.path());
        if let (Some(tracer), Some(parent)) = (&state.tracer, &parent) {
            let route = Route::parse(uri.path()).map(|route| route.template());
            let (path, method) = (uri.path(), method.as_str());
            let requested = Requested { path, route: route.as_deref(), method, parent, began };
            tracer.refused(&requested, &refusal);
        }
        plain(*status, text)
    });
    if state.shutting_down.load(Ordering::Relaxed) {
        // The client looks for another server for its next request.
        response.headers_mut().insert(header::CONNECTION, HeaderValue::from_static("close"));
    }
    response
}

/// A review whose body is there, and that has a place.
async fn accepted(
    state: &App,
    method: &Method,
    uri: &Uri,
    headers: &HeaderMap,
    body: Body,
    began: Instant,
) -> Result<Job, Undecodable> {
    let route = Route::parse(uri.path()).ok_or_else(|| Undecodable::new(404, "404 page not found"))?;
    let is_known = state.store.current().gate.unknown(&route).is_none();
    state.metrics.request(method, uri.path(), &route, is_known);
    if *method != Method::POST {
        return Err(Undecodable::new(405, "reviews are sent with POST"));
    }
    let due = began + timeout(uri).saturating_sub(state.limits.margin);
    let body = state.intake.read(headers, body, due).await?;
    let place = state.running.clone().try_acquire_owned();
    let place = place.map_err(|_| Undecodable::new(429, "too many reviews are under way; try again"))?;
    state.metrics.running.inc();
    let running = answering::Place::new(place, state.metrics.running.clone());
    Ok(Job {
        route,
        path: uri.path().to_string(),
        content_type: content_type(headers).to_string(),
        began,
        due,
        body,
        running,
    })
}

pub(super) fn content_type(headers: &HeaderMap) -> &str {
    headers.get(header::CONTENT_TYPE).and_then(|v| v.to_str().ok()).unwrap_or_default()
}

/// Reads a review and allows it.
async fn baseline(Shared(state): Shared<App>, headers: HeaderMap, body: Body) -> Response {
    let read = state.intake.read(&headers, body, Instant::now() + DEFAULT_TIMEOUT).await;
    match read.and_then(|Taken { bytes, .. }| decode(content_type(&headers), &bytes)) {
        Ok(incoming) => answered(&Answer::default(), &incoming),
        Err(refusal) => plain(refusal.status, &refusal.text),
    }
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
