//! Requests to the API server that are recorded, or answered by a recording.
//!
//! In: a client and a recording. Out: a client. Watches are recorded like other
//! answers; replayed, they give what came and then nothing more, as where no object changes.

use std::convert::Infallible;
use std::io::Read as _;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};

use futures_util::{StreamExt, stream};
use http::{HeaderMap, HeaderName, HeaderValue, Request, Response};
use http_body_util::{BodyExt, StreamBody};
use hyper::body::{Bytes, Frame};
use kube::Client;
use kube::client::Body;
use tower::service_fn;

use ephor_recording::{Player, Question, RecordedFailure, Recorder, Replayed};

type BoxError = Box<dyn std::error::Error + Send + Sync>;

/// The namespace of requests that name none; no request of ours does.
const NAMESPACE: &str = "default";

/// A client whose answers are recorded.
pub(crate) fn recording(client: Client, recorder: Arc<Recorder>) -> Client {
    let service = service_fn(move |request: Request<Body>| {
        let (client, recorder) = (client.clone(), recorder.clone());
        async move {
            let (parts, sent) = taken(request).await?;
            let request = Request::from_parts(parts.clone(), Body::from(sent.clone()));
            let url = parts.uri.to_string();
            let question = question(&parts, &url, &sent);
            let answer = client.send(request).await.map_err(|error| {
                recorder.failure(&question, RecordedFailure::from(&crate::failure::chain(&error)));
                BoxError::from(error)
            })?;
            let (head, body) = answer.into_parts();
            let of = |(name, value): (&HeaderName, &HeaderValue)| {
                Some((name.to_string(), value.to_str().ok()?.into()))
            };
            let headers = head.headers.iter().filter_map(of).collect();
            let answer = Arc::new(Mutex::new(recorder.answer(&question, head.status.as_u16(), headers)));
            let failed = answer.clone();
            let body = body
                .map_frame(move |frame| {
                    if let Some(bytes) = frame.data_ref() {
                        let mut answer = answer.lock().unwrap_or_else(PoisonError::into_inner);
                        answer.part(bytes);
                        answer.flush();
                    }
                    frame
                })
                .map_err(move |error| {
                    let mut answer = failed.lock().unwrap_or_else(PoisonError::into_inner);
                    answer.breaks(&error.to_string(), false);
                    error
                });
            Ok::<_, BoxError>(Response::from_parts(head, body))
        }
    });
    Client::new(service, NAMESPACE)
}

/// A client that a recording answers.
pub(crate) fn replaying(player: Arc<Player>) -> Client {
    let service = service_fn(move |request: Request<Body>| {
        let player = player.clone();
        async move {
            let (parts, sent) = taken(request).await?;
            let url = parts.uri.to_string();
            let question = question(&parts, &url, &sent);
            let (status, headers, mut body) = match player.play(&question) {
                Replayed::Answer { status, headers, body } => (status, headers, body),
                Replayed::Failure { failure, .. } => return Err(failed(failure.text)),
                Replayed::Result(_) => return Err(failed(player.missing(&question))),
            };
            let mut bytes = Vec::new();
            body.read_to_end(&mut bytes)?;
            let mut answer = Response::builder().status(status);
            if let Some(map) = answer.headers_mut() {
                map.extend(headers.iter().filter_map(pair).collect::<HeaderMap>());
            }
            let first = stream::iter([Ok::<_, Infallible>(Frame::data(Bytes::from(bytes)))]);
            let frames: Pin<Box<dyn stream::Stream<Item = Result<Frame<Bytes>, Infallible>> + Send>> =
                match is_watch(&url) {
                    true => Box::pin(first.chain(stream::pending())),
                    false => Box::pin(first),
                };
            Ok::<_, BoxError>(answer.body(StreamBody::new(frames))?)
        }
    });
    Client::new(service, NAMESPACE)
}

fn failed(text: String) -> BoxError {
    Box::new(crate::failure::Replayed(text))
}

async fn taken(request: Request<Body>) -> Result<(http::request::Parts, Vec<u8>), BoxError> {
    let (parts, body) = request.into_parts();
    Ok((parts, body.collect().await?.to_bytes().to_vec()))
}

fn question<'q>(parts: &'q http::request::Parts, url: &'q str, sent: &'q [u8]) -> Question<'q> {
    let headers = parts.headers.iter();
    Question {
        method: parts.method.as_str(),
        url,
        headers: headers.filter_map(|(name, value)| Some((name.as_str(), value.to_str().ok()?))).collect(),
        body: sent,
    }
}

fn pair((name, value): &(String, String)) -> Option<(HeaderName, HeaderValue)> {
    // What is given is not compressed and comes as a whole.
    let aside = ["content-length", "content-encoding", "transfer-encoding"];
    let name = HeaderName::try_from(name).ok().filter(|name| !aside.contains(&name.as_str()))?;
    Some((name, HeaderValue::try_from(value).ok()?))
}

fn is_watch(url: &str) -> bool {
    let query = url.split_once('?').map_or("", |(_, query)| query);
    query.split('&').any(|part| matches!(part, "watch=1" | "watch=true"))
}
