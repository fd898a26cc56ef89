//! What follows for a request: whether it is allowed, warnings, audit annotations.

use super::Cause;
use ephor_value::{Map, Str, Value};

/// What follows for a request.
#[derive(Clone, Debug, Default)]
pub struct AdmissionOutcome {
    /// Why it does not pass.
    pub denial: Option<Denial>,
    /// Warnings for the client, within the limits of [`warnings`].
    pub warnings: Vec<String>,
    /// Audit annotations by key.
    pub annotations: Map,
}

/// Why a request does not pass.
#[derive(Clone, Debug, Default)]
pub struct Denial {
    /// The code of the HTTP answer.
    pub code: u16,
    /// The reason in a word.
    pub reason: Str,
    /// The message.
    pub message: String,
    /// Group, kind and name of the requested object; null when they are not reported.
    pub details: Value,
    /// The causes.
    pub causes: Vec<Cause>,
    /// Whether no policy decided this: something in the server failed.
    pub internal: bool,
}

impl Denial {
    /// There is no namespace of that name.
    pub fn no_namespace(name: &str) -> Denial {
        let details = [("kind", "namespaces"), ("name", name)];
        Denial {
            code: 404,
            reason: "NotFound".into(),
            message: format!("namespaces \"{name}\" not found"),
            details: Value::Map(details.into_iter().map(|(k, v)| (Str::from(k), v.into())).collect()),
            ..Denial::default()
        }
    }

    /// The reason and code of an answer that is not subject to policies.
    pub fn internal(text: &str) -> Denial {
        let message = format!("Internal error occurred: {text}");
        Denial {
            code: 500,
            reason: "InternalError".into(),
            message,
            causes: vec![text.to_string().into()],
            internal: true,
            ..Denial::default()
        }
    }
}
