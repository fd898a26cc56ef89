//! Steps of requests that are recorded, or answered by a recording.
//!
//! In: a request, and how it is sent. Out: its answer, whose bytes are recorded as they are read;
//! or what the recording holds. Each step of redirects is a question of its own, so that the
//! guard checks all of them in both runs.

use ephor_recording::{Question, RecordedBody, RecordedFailure, Recording, Replayed};
use ureq::http::{HeaderMap, HeaderName, HeaderValue, StatusCode};

use super::exchange::Step;
use super::guard::Refusal;
use super::{Failure, Request, RequestError, is_timeout};

/// Why a step gave nothing.
pub(super) enum NoStep {
    /// It was sent, and failed.
    Failed(RequestError),
    /// As it failed when it was recorded; or it is not in the recording.
    Replayed(Failure),
}

fn question<'q>(request: &'q Request<'_>) -> Question<'q> {
    Question {
        method: request.method,
        url: &request.url,
        headers: request.headers.iter().map(|(name, value)| (&**name, &**value)).collect(),
        body: request.body.as_deref().unwrap_or_default(),
    }
}

pub(super) fn step(
    recording: &Recording,
    request: &Request<'_>,
    send: impl FnOnce() -> Result<Step, RequestError>,
) -> Result<Step, NoStep> {
    let question = question(request);
    match recording {
        Recording::Records(recorder) => {
            let answer = send().map_err(|error| {
                recorder.failure(&question, recorded(&error.failure));
                NoStep::Failed(error)
            })?;
            let of = |(name, value): (&HeaderName, &HeaderValue)| {
                Some((name.to_string(), value.to_str().ok()?.to_owned()))
            };
            let headers = answer.headers.iter().filter_map(of).collect();
            let recorded = recorder.answer(&question, answer.status.as_u16(), headers);
            let body = Box::new(RecordedBody::new(answer.body, recorded, is_timeout));
            Ok(Step { body, ..answer })
        }
        Recording::Replays(player) => match player.play(&question) {
            Replayed::Answer { status, headers, body } => {
                let mut map = HeaderMap::new();
                for (name, value) in &headers {
                    if let (Ok(name), Ok(value)) = (HeaderName::try_from(name), HeaderValue::try_from(value))
                    {
                        map.append(name, value);
                    }
                }
                let status = StatusCode::from_u16(status).unwrap_or(StatusCode::BAD_GATEWAY);
                Ok(Step { status, headers: map, body: Box::new(body) })
            }
            Replayed::Failure { failure, .. } => Err(NoStep::Replayed(replayed(failure))),
            Replayed::Result(_) => Err(NoStep::Replayed(Failure::Other(player.missing(&question)))),
        },
    }
}

fn recorded(failure: &Failure) -> RecordedFailure {
    match failure {
        Failure::Refused(refusal) => RecordedFailure {
            text: refusal.text(true),
            discreet: Some(refusal.text(false)),
            unknown_host: match refusal {
                Refusal::Unknown { host } => Some(host.clone()),
                _ => None,
            },
            cause: None,
        },
        other => other.into(),
    }
}

fn replayed(failure: RecordedFailure) -> Failure {
    match failure {
        RecordedFailure { unknown_host: Some(host), .. } => Failure::Refused(Refusal::Unknown { host }),
        RecordedFailure { text, discreet: Some(discreet), .. } => {
            Failure::Refused(Refusal::Recorded { text, discreet })
        }
        RecordedFailure { text, .. } => Failure::Other(text),
    }
}
