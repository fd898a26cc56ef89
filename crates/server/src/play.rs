//! A page on loopback, and answers to its questions.
//!
//! In: the files of a page, an address on loopback, and a function from a question to its answer.
//! Out: a server for `GET` of the files and `POST /answer`. Only what the page itself sends is
//! answered: a request whose `Host` is not the server's (a name that was rebound to loopback), or
//! whose `Origin` is another, is refused, and so is a question that is not JSON, which pages of
//! others may send without a permission.

use std::io;
use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;

use axum::Router;
use axum::body::Bytes;
use axum::extract::{DefaultBodyLimit, Request, State};
use axum::middleware::{self, Next};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use http::header::{
    CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, HOST, ORIGIN, X_CONTENT_TYPE_OPTIONS,
    X_FRAME_OPTIONS,
};
use http::{HeaderMap, HeaderValue, StatusCode};
use tokio::sync::Semaphore;

/// The number of questions that are answered at once; others wait.
const MAX_AT_ONCE: usize = 4;

/// What the page may do: read from here alone.
const POLICY: &str = "default-src 'none'; script-src 'self'; connect-src 'self'; style-src 'self' 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/// A file of the page.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PageFile {
    /// Its path, without a slash in front: `main.js`; that of the page is empty.
    pub path: &'static str,
    /// Its media type.
    pub media_type: &'static str,
    /// Its bytes.
    pub bytes: Bytes,
}

/// A page and its answers.
pub struct Play {
    files: Vec<PageFile>,
    answer: fn(&str) -> String,
    largest: usize,
    at_once: Arc<Semaphore>,
    /// What `Host` may be.
    hosts: Vec<String>,
}

/// Listens at an address on loopback.
///
/// # Errors
/// The address is taken, or cannot be used.
pub fn listen(address: SocketAddr) -> io::Result<TcpListener> {
    let listener = TcpListener::bind(address)?;
    listener.set_nonblocking(true)?;
    Ok(listener)
}

/// Serves a page until the program is interrupted; a question has at most `largest` bytes.
///
/// # Errors
/// The listener or the threads cannot be used.
pub fn run(
    listener: TcpListener,
    files: Vec<PageFile>,
    answer: fn(&str) -> String,
    largest: usize,
) -> io::Result<()> {
    let app = router(listener.local_addr()?, files, answer, largest);
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    runtime.block_on(async {
        let listener = tokio::net::TcpListener::from_std(listener)?;
        let stopped = async { drop(tokio::signal::ctrl_c().await) };
        axum::serve(listener, app).with_graceful_shutdown(stopped).await
    })?;
    // A question that is still being answered is given up.
    runtime.shutdown_background();
    Ok(())
}

fn router(address: SocketAddr, files: Vec<PageFile>, answer: fn(&str) -> String, largest: usize) -> Router {
    let port = address.port();
    let hosts = vec![
        format!("127.0.0.1:{port}"),
        format!("localhost:{port}"),
        format!("[::1]:{port}"),
        address.to_string(),
    ];
    let play =
        Arc::new(Play { files, answer, largest, at_once: Arc::new(Semaphore::new(MAX_AT_ONCE)), hosts });
    Router::new()
        .route("/answer", post(answered))
        .route("/", get(file))
        .route("/{file}", get(file))
        .layer(DefaultBodyLimit::max(play.largest))
        .layer(middleware::from_fn_with_state(play.clone(), of_the_page))
        .with_state(play)
}

/// Refuses what the page did not send.
async fn of_the_page(State(play): State<Arc<Play>>, request: Request, next: Next) -> Response {
    if let Err(why) = play.check(request.headers()) {
        return (StatusCode::FORBIDDEN, why).into_response();
    }
    let mut response = next.run(request).await;
    let headers = response.headers_mut();
    headers.insert(CONTENT_SECURITY_POLICY, HeaderValue::from_static(POLICY));
    headers.insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    headers.insert(X_FRAME_OPTIONS, HeaderValue::from_static("DENY"));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}

impl Play {
    fn check(&self, headers: &HeaderMap) -> Result<(), &'static str> {
        let text = |value: &HeaderValue| value.to_str().map(str::to_ascii_lowercase).unwrap_or_default();
        let is_here = |host: &str| self.hosts.iter().any(|known| known == host);
        if !headers.get(HOST).is_some_and(|host| is_here(&text(host))) {
            return Err("this server answers on loopback only\n");
        }
        let Some(origin) = headers.get(ORIGIN).map(text) else { return Ok(()) };
        match origin.strip_prefix("http://").is_some_and(is_here) {
            true => Ok(()),
            false => Err("this server answers its own page only\n"),
        }
    }
}

async fn file(State(play): State<Arc<Play>>, request: Request) -> Response {
    let path = request.uri().path().trim_start_matches('/');
    match play.files.iter().find(|file| file.path == path) {
        Some(file) => ([(CONTENT_TYPE, file.media_type)], file.bytes.clone()).into_response(),
        None => StatusCode::NOT_FOUND.into_response(),
    }
}

async fn answered(State(play): State<Arc<Play>>, headers: HeaderMap, body: Bytes) -> Response {
    let is_json =
        headers.get(CONTENT_TYPE).is_some_and(|value| value.as_bytes().starts_with(b"application/json"));
    if !is_json {
        return (StatusCode::UNSUPPORTED_MEDIA_TYPE, "a question is application/json\n").into_response();
    }
    let Ok(question) = String::from_utf8(body.into()) else {
        return (StatusCode::BAD_REQUEST, "a question is UTF-8\n").into_response();
    };
    let Ok(permit) = play.at_once.clone().acquire_owned().await else {
        return StatusCode::SERVICE_UNAVAILABLE.into_response();
    };
    let answer = play.answer;
    let work = move || {
        // An answer counts until it ends, also when the page no longer waits for it.
        let _permit = permit;
        answer(&question)
    };
    match tokio::task::spawn_blocking(work).await {
        Ok(answer) => ([(CONTENT_TYPE, "application/json")], answer).into_response(),
        Err(_) => StatusCode::INTERNAL_SERVER_ERROR.into_response(),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    fn play() -> Play {
        let hosts = vec!["127.0.0.1:8087".into(), "localhost:8087".into()];
        Play {
            files: Vec::new(),
            answer: |_| String::new(),
            largest: 1,
            at_once: Arc::new(Semaphore::new(1)),
            hosts,
        }
    }

    #[test]
    fn requests_under_another_name_or_of_another_page_are_refused() {
        let check = |fields: &[(http::HeaderName, &'static str)]| {
            let headers = fields.iter().map(|(name, value)| (name.clone(), HeaderValue::from_static(value)));
            play().check(&headers.collect()).is_ok()
        };
        assert!(check(&[(HOST, "localhost:8087")]));
        assert!(check(&[(HOST, "127.0.0.1:8087"), (ORIGIN, "http://127.0.0.1:8087")]));
        // A name that was rebound, no name, another port.
        assert!(!check(&[(HOST, "rebound.example:8087")]));
        assert!(!check(&[]));
        assert!(!check(&[(HOST, "127.0.0.1:80")]));
        // Another page.
        assert!(!check(&[(HOST, "127.0.0.1:8087"), (ORIGIN, "http://evil.example")]));
        assert!(!check(&[(HOST, "127.0.0.1:8087"), (ORIGIN, "null")]));
        assert!(!check(&[(HOST, "127.0.0.1:8087"), (ORIGIN, "https://127.0.0.1:8087")]));
    }
}
