//! How to reach a registry: the scheme, and credentials.
//!
//! In: a repository, credentials, and what is to be done there. Out: a [`Session`], or why there is
//! none. Registries say in
//! `WWW-Authenticate` what they want: a password, or a token of a service that they name. A request
//! that fails for the moment (too many requests, failures of servers) is sent again, twice at most.
//! Semantics: `docs/semantics/images.md`, "Registries".

use std::net::Ipv4Addr;
use std::time::{Duration, Instant};

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};

use crate::http::guard::Refusal;
use crate::http::{self, Caller, Request, RequestError, Unread};
use ephor_document::decode_json;
use ephor_recording::{Question, RecordedFailure, Recording, Replayed};

use super::client::RegistryResponse;
use super::credentials::{Credentials, Keys};
use super::{Cause, Failure, Repository};

/// The largest answer of a service that gives out tokens, or of an error text.
const MAX_TEXT: u64 = 256 * 1024;
/// How long a request may take, repetitions included.
const MAX_TIME: Duration = Duration::from_secs(30);
/// The pauses before a request is sent again, where the registry does not say.
const PAUSES: [Duration; 2] = [Duration::from_millis(100), Duration::from_millis(500)];
/// The longest such time that a registry may say.
const MAX_PAUSE: Duration = Duration::from_secs(2);

/// All of a value of a query but what needs no escape.
const VALUE: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'_').remove(b'.').remove(b'~');

/// How a repository is spoken to.
#[derive(Clone)]
pub(super) struct Session {
    /// `https://host`
    pub(super) base: String,
    /// The header `Authorization`.
    pub(super) authorization: Option<String>,
}

/// Sends a GET request, and reads an answer of at most this many bytes.
pub(super) fn get(
    url: &str,
    headers: &[(&str, Option<&str>)],
    most: u64,
) -> Result<RegistryResponse, Failure> {
    let mut request = Request::get(url, MAX_TIME);
    for (name, value) in headers {
        if let Some(value) = value {
            request = request.header(name, value);
        }
    }
    send(request, most)
}

/// Sends a request, and reads an answer of at most this many bytes.
pub(super) fn send(request: Request<'_>, most: u64) -> Result<RegistryResponse, Failure> {
    let ends = Instant::now() + MAX_TIME;
    let mut pauses = PAUSES.iter();
    loop {
        let left = ends.saturating_duration_since(Instant::now());
        let request = Request { caller: Caller::Registry, timeout: left, ..request.clone() };
        let url = request.url.clone();
        let answer = http::client().send(request).map_err(|failed| Failure::network(error_text(&failed)))?;
        let status = answer.status.as_u16();
        let passes = matches!(status, 408 | 429 | 500 | 502 | 503 | 504);
        if let Some(pause) = pauses.next().filter(|_| passes) {
            let wanted = answer.header("retry-after").trim().parse().map(Duration::from_secs);
            let pause = wanted.unwrap_or(*pause);
            if pause <= MAX_PAUSE && Instant::now() + pause < ends {
                let _ = answer.bytes(MAX_TEXT);
                std::thread::sleep(pause);
                continue;
            }
        }
        let challenges = answer.headers.get_all("www-authenticate").iter();
        let challenges = challenges.filter_map(|v| v.to_str().ok()).map(str::to_owned).collect();
        let media_type = answer.header("content-type").to_owned();
        let location = answer.header("location").to_owned();
        let most = if status == 200 { most } else { MAX_TEXT };
        let body = answer.bytes(most).map_err(|unread| match unread {
            Unread::TooLarge => {
                Failure::other(format!("Get \"{url}\": the answer has more than {most} bytes"))
            }
            unread => Failure::network(format!("Get \"{url}\": {unread}")),
        })?;
        return Ok(RegistryResponse { status, media_type, location, challenges, body });
    }
}

fn error_text(failed: &RequestError) -> String {
    match &failed.failure {
        http::Failure::Refused(Refusal::Unknown { host }) => {
            format!("{}: dial tcp: lookup {host}: no such host", failed.request)
        }
        _ => failed.to_string(),
    }
}

/// Whether a host may speak plain HTTP: the machine itself, and private networks.
fn is_near(registry: &str) -> bool {
    let host = match registry.strip_prefix('[') {
        Some(rest) => rest.split(']').next().unwrap_or_default(),
        None => registry.split(':').next().unwrap_or_default(),
    };
    if host == "localhost" || host == "::1" || host.ends_with(".localhost") || host.ends_with(".local") {
        return true;
    }
    host.parse::<Ipv4Addr>().is_ok_and(|ip| ip.is_loopback() || ip.is_private())
}

/// What a session is for, in the words of scopes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Actions {
    /// Reading.
    Pull,
    /// Reading and writing.
    PullAndPush,
}

impl Actions {
    fn scope(self) -> &'static str {
        match self {
            Actions::Pull => "pull",
            Actions::PullAndPush => "pull,push",
        }
    }
}

/// Finds out how a repository is spoken to.
pub(super) fn open(at: &Repository, keys: &Keys, actions: Actions) -> Result<Session, Failure> {
    let schemes: &[&str] = if is_near(&at.registry) { &["https", "http"] } else { &["https"] };
    let mut failures: Vec<String> = Vec::new();
    for scheme in schemes {
        let base = format!("{scheme}://{}", at.registry);
        let url = format!("{base}/v2/");
        let answer = match get(&url, &[], MAX_TEXT) {
            Ok(answer) => answer,
            Err(failure) => {
                failures.push(failure.text);
                continue;
            }
        };
        return match answer.status {
            200 => Ok(Session { base, authorization: None }),
            401 => {
                let authorization = authorization(at, &answer.challenges, keys, (scheme, actions))?;
                Ok(Session { base, authorization })
            }
            _ => Err(answer.checked(&url).err().unwrap_or_else(|| Failure::other("no answer"))),
        };
    }
    Err(Failure::network(failures.join("; ")))
}

/// A parameter of a challenge.
fn parameter(challenge: &http_auth::ChallengeRef<'_>, name: &str) -> Option<String> {
    let found = challenge.params.iter().find(|(key, _)| key.eq_ignore_ascii_case(name));
    found.map(|(_, value)| value.to_unescaped())
}

/// The `Authorization` header for the challenges of a registry. A recording holds whether there is
/// one, and a stand-in for it is given.
fn authorization(
    at: &Repository,
    challenges: &[String],
    keys: &Keys,
    wanted: (&str, Actions),
) -> Result<Option<String>, Failure> {
    const STAND_IN: &str = "Bearer recorded";
    let recording = http::client().settings().recording.as_ref();
    let name = at.to_string();
    let question = Question::new("TOKEN", &name);
    match recording {
        None => of_registry(at, challenges, keys, wanted),
        Some(Recording::Records(recorder)) => {
            let done = of_registry(at, challenges, keys, wanted);
            match &done {
                Ok(header) => recorder.result(&question, if header.is_some() { "given" } else { "none" }),
                Err(failure) => {
                    let causes = [(Cause::Missing, "missing"), (Cause::Network, "network")];
                    let cause = causes.iter().find(|(cause, _)| *cause == failure.cause);
                    let cause = cause.map_or("other", |(_, name)| name);
                    recorder.failure(
                        &question,
                        RecordedFailure {
                            text: failure.text.clone(),
                            cause: Some(cause.into()),
                            ..RecordedFailure::default()
                        },
                    );
                }
            }
            done
        }
        Some(Recording::Replays(player)) => match player.play(&question) {
            Replayed::Result(text) => Ok((text == "given").then(|| STAND_IN.to_owned())),
            Replayed::Failure { failure, .. } => {
                let cause = match failure.cause.as_deref() {
                    Some("missing") => Cause::Missing,
                    Some("network") => Cause::Network,
                    _ => Cause::Other,
                };
                Err(Failure { text: failure.text, cause })
            }
            Replayed::Answer { .. } => Err(Failure::other(player.missing(&question))),
        },
    }
}

/// The same from the registry.
pub(super) fn of_registry(
    at: &Repository,
    challenges: &[String],
    keys: &Keys,
    (scheme, actions): (&str, Actions),
) -> Result<Option<String>, Failure> {
    let known = keys.of(at).map_err(|error| Failure::other(error.to_string()))?;
    let basic = match &known {
        Some(Credentials::Basic(both)) => Some(format!("Basic {both}")),
        Some(Credentials::Bearer(token)) => return Ok(Some(format!("Bearer {token}"))),
        _ => None,
    };
    let all = challenges.iter().flat_map(|text| http_auth::parser::ChallengeParser::new(text));
    let Some(bearer) = all.flatten().find(|c| c.scheme.eq_ignore_ascii_case("bearer")) else {
        return Ok(basic);
    };
    let Some(realm) = parameter(&bearer, "realm") else {
        return Err(Failure::other("malformed www-authenticate, missing realm"));
    };
    // With a registry over TLS, passwords are sent to TLS services only.
    let is_safe = realm.starts_with("https://") || (scheme == "http" && realm.starts_with("http://"));
    if !is_safe {
        return Err(Failure::other(format!(
            "the registry {} names `{realm}` for tokens: want https",
            at.registry
        )));
    }
    let service = parameter(&bearer, "service").unwrap_or_default();
    let encoded = |text: &str| utf8_percent_encode(text, VALUE).to_string();
    let scope = encoded(&format!("repository:{}:{}", at.path, actions.scope()));
    let service = encoded(&service);
    let answer = match &known {
        Some(Credentials::Identity(token)) => {
            let token = encoded(token);
            let form = format!(
                "client_id=ephor&grant_type=refresh_token&refresh_token={token}&scope={scope}&service={service}"
            );
            let request = Request {
                method: "POST",
                body: Some(form.into_bytes()),
                is_confidential: true,
                ..Request::get(&realm, MAX_TIME).header("Content-Type", "application/x-www-form-urlencoded")
            };
            send(request, MAX_TEXT)?.checked(&realm)?
        }
        _ => {
            let join = if realm.contains('?') { '&' } else { '?' };
            let url = format!("{realm}{join}scope={scope}&service={service}");
            let request = Request { is_confidential: true, ..Request::get(&url, MAX_TIME) };
            let request = match &basic {
                Some(basic) => request.header("Authorization", basic),
                None => request,
            };
            send(request, MAX_TEXT)?.checked(&url)?
        }
    };
    token(&answer.body).map(|token| Some(format!("Bearer {token}")))
}

/// The token in the answer of a service that gives tokens.
pub(super) fn token(body: &[u8]) -> Result<String, Failure> {
    let answer = decode_json(&String::from_utf8_lossy(body))?;
    let named = ["token", "access_token"].map(|key| answer.text_at(&[key]).to_owned());
    named.into_iter().find(|t| !t.is_empty()).ok_or_else(|| Failure::other("no token in bearer response"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_near_hosts_may_speak_plain_http() {
        for near in ["localhost:5000", "127.0.0.1", "10.1.2.3:80", "registry.local", "[::1]:5000"] {
            assert!(is_near(near), "{near}");
        }
        for far in ["ghcr.io", "8.8.8.8:5000", "localhost.example.com", "index.docker.io"] {
            assert!(!is_near(far), "{far}");
        }
    }

    #[test]
    fn a_challenge_is_read_whatever_its_case_and_quotes() {
        let at = Repository { registry: "registry.example".into(), path: "a/b".into() };
        let refused = |challenge: &str| {
            of_registry(&at, &[challenge.into()], &Keys::anonymous(), ("https", Actions::Pull))
                .map_err(|f| f.text)
        };
        assert_eq!(
            refused(r#"bearer Realm="http://a,b/token",service="x, y=\"z\"""#),
            Err("the registry registry.example names `http://a,b/token` for tokens: want https".into())
        );
        assert_eq!(
            refused(r#"Basic realm="https://x", BEARER service="s""#),
            Err("malformed www-authenticate, missing realm".into())
        );
        assert_eq!(refused(r#"Basic realm="https://x""#), Ok(None));
    }
}
