//! Requests evaluated and counted.
//!
//! In: logs, a gate, and perhaps a second one. Out: a [`Replayed`]. A log is read on one thread
//! while the requests of its lines before are evaluated on all; counts are the same for any number
//! of threads.

use ephor_report::replayed::{Answers, Effect, Example, Replayed};
use ephor_value::parallel;

use super::effects::{Effects, Replayer};
use super::reading::{LogError, LogReader, OpenLog};
use super::request::AuditedRequest;

/// How many lines are read at a time.
const LINES: usize = 2048;

/// Replays a log and adds what it says to `all`.
///
/// # Errors
/// The log breaks off, or is no log; what was read until then is in `all`.
pub fn replay(
    reader: &mut LogReader,
    mut log: OpenLog<'_>,
    policies: &Replayer,
    others: Option<&Replayer>,
    all: &mut Replayed,
) -> Result<(), LogError> {
    let mut next = reader.next(&mut log, LINES)?;
    while let Some(requests) = next {
        let evaluate =
            |request: &AuditedRequest| (policies.effects(request), others.map(|o| o.effects(request)));
        let (done, read) =
            parallel::join(|| parallel::map(&requests, evaluate), || reader.next(&mut log, LINES));
        for (request, (effects, other)) in requests.iter().zip(done) {
            count(log.name(), request, &effects, other.as_ref(), all);
        }
        next = match read {
            Ok(next) => next,
            Err(error) => {
                all.left_out = reader.left_out().clone();
                return Err(error);
            }
        };
    }
    all.left_out = reader.left_out().clone();
    Ok(())
}

fn count(
    log: &str,
    request: &AuditedRequest,
    effects: &Effects,
    other: Option<&Effects>,
    all: &mut Replayed,
) {
    let example = |message: &str| Example {
        log: log.to_owned(),
        line: request.line,
        id: request.id.to_string(),
        time: request.time.to_string(),
        user: request.user.to_string(),
        operation: request.operation.to_string(),
        object: shown(request),
        message: message.to_owned(),
    };
    all.request(&request.time);
    if effects.undecided {
        all.undecided(&shown(request));
    }
    if effects.denied {
        all.denied_then_admitted += u64::from(request.was_admitted);
    }
    let audited = effects.rules.iter().any(|(_, effect, _)| *effect == Effect::Audited);
    let answers = Answers {
        requests: 1,
        denied: u64::from(effects.denied),
        audited: u64::from(audited && !effects.denied),
        warned: u64::from(effects.warned),
        changed: u64::from(effects.changed),
    };
    all.answer(&request.user, &request.namespace, &request.time, answers);
    for (id, effect, message) in &effects.rules {
        all.rule(id, *effect, || example(message));
    }
    let Some(other) = other else { return };
    all.compare(effects.denied, other.denied);
    for (id, effect, message) in &effects.rules {
        if !other.rules.iter().any(|(of, by, _)| of == id && by == effect) {
            all.only(true, id, *effect, || example(message));
        }
    }
    for (id, effect, message) in &other.rules {
        if !effects.rules.iter().any(|(of, by, _)| of == id && by == effect) {
            all.only(false, id, *effect, || example(message));
        }
    }
}

/// `pods web/cart`, with its subresource.
fn shown(request: &AuditedRequest) -> String {
    let [_, _, plural] = &request.resource;
    let mut text = plural.to_string();
    if !request.subresource.is_empty() {
        text = format!("{text}/{}", request.subresource);
    }
    match (&*request.namespace, &*request.name) {
        ("", name) => format!("{text} {name}"),
        (namespace, name) => format!("{text} {namespace}/{name}"),
    }
}
