//! What follows when a call does not end with a yes.

use ephor_engine::admission::{Cause, Denial};
use ephor_ir::webhook::Webhook;
use ephor_value::quote::quote;
use ephor_value::{Map, Str, Value};

/// What the details of an answer may have in addition to causes.
const DETAILS: [&str; 5] = ["name", "group", "kind", "uid", "retryAfterSeconds"];

/// Whether a member is not sent.
fn is_empty(v: &Value) -> bool {
    matches!(v, Value::Null | Value::Int(0)) || v.as_str() == Some("")
}

/// Why a call does not end with a yes.
#[derive(Clone, Debug)]
pub(super) enum Failure {
    /// The call itself failed, which `failurePolicy: Ignore` covers.
    Call(String),
    /// The request does not pass.
    Denied(Box<Denial>),
}

impl Failure {
    /// Something failed that `failurePolicy: Ignore` does not cover.
    pub(super) fn internal(text: &str) -> Failure {
        Failure::Denied(Box::new(Denial::internal(text)))
    }

    /// A webhook said no.
    pub(super) fn refused(webhook: &Webhook, status: &Value) -> Failure {
        let by = format!("admission webhook {} denied the request", quote(&webhook.name));
        let message = match (status.text_at(&["message"]), status.text_at(&["reason"])) {
            ("", "") => format!("{by} without explanation"),
            ("", text) | (text, _) => format!("{by}: {text}"),
        };
        let code = match status.get("code") {
            Some(Value::Int(code)) => u16::try_from((*code).max(400)).unwrap_or(u16::MAX),
            _ => 400,
        };
        let given = status.get("details").and_then(Value::as_map).cloned().unwrap_or_default();
        let causes = given.get("causes").and_then(Value::as_list).unwrap_or_default();
        let causes = causes.iter().map(Cause::of).collect();
        let known: Map = DETAILS
            .iter()
            .filter_map(|key| Some((Str::from(*key), given.get(key).filter(|v| !is_empty(v))?.clone())))
            .collect();
        let details = if known.is_empty() { Value::Null } else { Value::Map(known) };
        let reason = Str::from(status.text_at(&["reason"]));
        Failure::Denied(Box::new(Denial { code, reason, message, details, causes, internal: false }))
    }

    /// The request is a dry run, and calls of the webhook have side effects.
    pub(super) fn no_dry_run(webhook: &Webhook) -> Failure {
        if webhook.side_effects.is_none() {
            return Failure::Call("Webhook SideEffects is nil".into());
        }
        let message = format!("admission webhook {} does not support dry run", quote(&webhook.name));
        let reason = "BadRequest".into();
        Failure::Denied(Box::new(Denial { code: 400, reason, message, ..Denial::default() }))
    }

    /// The answer to the request; `None` when the call failed and `failurePolicy` is `Ignore`.
    pub(super) fn denial(self, webhook: &Webhook) -> Option<Box<Denial>> {
        match self {
            Failure::Denied(denial) => Some(denial),
            Failure::Call(_) if webhook.ignore => None,
            Failure::Call(why) => {
                let text = format!("failed calling webhook {}: {why}", quote(&webhook.name));
                Some(Box::new(Denial::internal(&text)))
            }
        }
    }
}
