//! HTTP: reviews in, answers out; health and metrics.
//!
//! Bodies are read by `body_reader`, decided on by `answering`, on the threads of
//! `threads`, while the client waits until the deadline of the request. What is not ready then is
//! answered by failure policy. When too many reviews are in flight, the next ones are refused at
//! once with status 429, so that those that were accepted are answered in time. A review counts
//! when its body is there.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Instant;

use axum::Router;
use axum::body::Body;
use axum::extract::State as Shared;
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode, Uri, header};
use axum::response::{IntoResponse, Response};
use axum::routing::{any, get, post};

use crate::serve::body_reader::RequestBody;
use crate::serve::responses::{DEFAULT_TIMEOUT, answered, content_type, plain, timeout};
use crate::serve::state::State;
use ephor_admission::admit::answer::Answer;
use ephor_admission::admit::incoming::decode;
use ephor_admission::admit::{Route, Undecodable};

use super::answering::{self, ReviewJob};
use super::policy_reviews;
use super::refusals;
use super::traces::{self, Requested};

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
    ([(header::CONTENT_TYPE, kind)], state.shown_metrics()).into_response()
}

/// Ready when every policy that must be evaluated can be; what is wrong is reported either way.
async fn ready(Shared(state): Shared<App>) -> Response {
    let now = state.store.current();
    let release = state.store.around().release;
    let mut text = format!("policies {} generation {}\nkubernetes {release}\n", now.policies, now.generation);
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
) -> Result<ReviewJob, Undecodable> {
    let route = Route::parse(uri.path()).ok_or_else(|| Undecodable::new(404, "404 page not found"))?;
    let is_known = state.store.current().gate.unknown(&route).is_none();
    state.metrics.request(method, uri.path(), &route, is_known);
    if *method != Method::POST {
        return Err(Undecodable::new(405, "reviews are sent with POST"));
    }
    let due = began + timeout(uri).saturating_sub(state.limits.margin);
    let body = state.body_reader.read(headers, body, due).await?;
    let place = state.running.clone().try_acquire_owned();
    let place = place.map_err(|_| Undecodable::new(429, "too many reviews are under way; try again"))?;
    state.metrics.running.inc();
    let running = answering::Permit::new(place, state.metrics.running.clone());
    Ok(ReviewJob {
        route,
        path: uri.path().to_string(),
        content_type: content_type(headers).to_string(),
        began,
        due,
        body,
        running,
    })
}

/// Reads a review and allows it.
async fn baseline(Shared(state): Shared<App>, headers: HeaderMap, body: Body) -> Response {
    let read = state.body_reader.read(&headers, body, Instant::now() + DEFAULT_TIMEOUT).await;
    match read.and_then(|RequestBody { bytes, .. }| decode(content_type(&headers), &bytes)) {
        Ok(incoming) => answered(&Answer::default(), &incoming),
        Err(refusal) => plain(refusal.status, &refusal.text),
    }
}
