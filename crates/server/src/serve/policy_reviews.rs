//! Reviews of policies themselves, over HTTP.
//!
//! In: a review on one of the paths of [`About`]. Out: its answer. They are decided on threads for
//! evaluations, as all reviews are, and refused when there is no time for them. Deciding is
//! [`ephor_admission::admit::policies`]'s.

use std::sync::Arc;
use std::time::Instant;

use axum::Router;
use axum::body::Body;
use axum::extract::State as Shared;
use axum::http::{HeaderMap, Uri};
use axum::response::Response;
use axum::routing::post;

use ephor_admission::admit::Undecodable;
use ephor_admission::admit::answer::Answer;
use ephor_admission::admit::incoming::decode;
use ephor_admission::admit::policies::{About, Served, review};

use super::live::DEFINITIONS;
use super::refusals;
use super::threads::Done;
use crate::serve::responses::{answered, content_type, plain, timeout};
use crate::serve::state::State;

/// Adds the paths.
pub fn routes(router: Router<Arc<State>>) -> Router<Arc<State>> {
    About::paths().fold(router, |router, path| router.route(path, post(answer)))
}

async fn answer(Shared(state): Shared<Arc<State>>, uri: Uri, headers: HeaderMap, body: Body) -> Response {
    let answered = decided(&state, &uri, &headers, body).await;
    answered.unwrap_or_else(|refusal| {
        let Undecodable { status, text } = &refusal;
        state.refusals.note(refusals::reason(&refusal), *status, text, uri.path());
        plain(*status, text)
    })
}

async fn decided(
    state: &Arc<State>,
    uri: &Uri,
    headers: &HeaderMap,
    body: Body,
) -> Result<Response, Undecodable> {
    let about = About::parse(uri.path()).ok_or_else(|| Undecodable::new(404, "404 page not found"))?;
    let due = Instant::now() + timeout(uri).saturating_sub(state.limits.margin);
    let body = state.body_reader.read(headers, body, due).await?;
    let kind = content_type(headers).to_string();
    let exceptions = state.store.around().stored.as_ref().and_then(|stored| stored.exceptions.clone());
    let path = uri.path().to_string();
    let of = state.clone();
    let link = state.store.around().link.as_ref().map(|link| (link.cluster.clone(), link.cache.clone()));
    let release = state.store.around().release;
    let work = move || {
        let incoming = decode(&kind, &body.bytes)?;
        let kinds = link.as_ref().and_then(|(cluster, _)| cluster.kinds().ok());
        let definitions = || link.as_ref().map(|(_, cache)| cache.all(DEFINITIONS.0, DEFINITIONS.1));
        let definitions = || definitions().unwrap_or_default();
        let served = kinds.as_deref().map(|kinds| Served { kinds, definitions: &definitions });
        let mut answer = review(about, &incoming, exceptions.as_deref(), served, release);
        let is_changed = matches!(about, About::Policy | About::Cleanup)
            && answer.denial.is_none()
            && incoming.text(&["operation"]) != "DELETE";
        if let Some(work) = of.work.get().filter(|_| is_changed) {
            let policy = incoming.object("object");
            match work.refuses(&policy) {
                Some(text) => answer = Answer::denied(text),
                None => answer.warnings.extend(work.warnings(&policy)),
            }
        }
        if let Some(denial) = &answer.denial {
            let (kind, name) = (incoming.text(&["kind", "kind"]), incoming.text(&["name"]));
            let user = incoming.object("userInfo");
            tracing::info!(path, kind, name, user = user.text_at(&["username"]), denial.message, "denied");
        }
        Ok(answered(&answer, &incoming))
    };
    match state.threads.run(true, due, work).await {
        Done::Result(response) => response,
        Done::Fault(text) => Err(Undecodable::new(500, text)),
        Done::Late => Err(Undecodable::new(504, "there was no time to answer")),
    }
}
