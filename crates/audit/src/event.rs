//! Lines of both kinds of logs.
//!
//! In: a line of JSON. Out: a [`Line`] whose objects are still text: most lines are not evaluated.

use std::borrow::Cow;
use std::collections::HashMap;

use serde::Deserialize;
use serde_json::value::RawValue;

/// A line of a log.
#[derive(Debug)]
pub enum Line<'a> {
    /// An event of an API server.
    Event(Box<Event<'a>>),
    /// A decision of `ephor serve`.
    Decision(Box<OwnDecision<'a>>),
}

/// An event of an API server: `audit.k8s.io/v1`.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Event<'a> {
    /// How much of the request is in it.
    #[serde(borrow, default)]
    pub level: Cow<'a, str>,
    /// Its identifier, the same at all stages.
    #[serde(borrow, rename = "auditID")]
    pub audit_id: Cow<'a, str>,
    /// The stage of the request.
    #[serde(borrow)]
    pub stage: Cow<'a, str>,
    /// The address.
    #[serde(borrow, default, rename = "requestURI")]
    pub request_uri: Cow<'a, str>,
    /// `create`, `get` and so on.
    #[serde(borrow)]
    pub verb: Cow<'a, str>,
    /// Who sent it.
    #[serde(borrow, default)]
    pub user: Option<&'a RawValue>,
    /// Whom they acted as.
    #[serde(borrow, default)]
    pub impersonated_user: Option<&'a RawValue>,
    /// What it is about.
    #[serde(borrow, default)]
    pub object_ref: Option<ObjectRef<'a>>,
    /// What was answered.
    #[serde(default)]
    pub response_status: Option<ResponseStatus>,
    /// What was sent.
    #[serde(borrow, default)]
    pub request_object: Option<&'a RawValue>,
    /// What was answered.
    #[serde(borrow, default)]
    pub response_object: Option<&'a RawValue>,
    /// When it came.
    #[serde(borrow, default)]
    pub request_received_timestamp: Cow<'a, str>,
    /// What the server notes.
    #[serde(borrow, default)]
    pub annotations: Option<HashMap<Cow<'a, str>, Cow<'a, str>>>,
}

/// What a request is about.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ObjectRef<'a> {
    /// The plural of the kind.
    #[serde(borrow, default)]
    pub resource: Cow<'a, str>,
    /// The namespace.
    #[serde(borrow, default)]
    pub namespace: Cow<'a, str>,
    /// The name.
    #[serde(borrow, default)]
    pub name: Cow<'a, str>,
    /// The group, empty for the core group.
    #[serde(borrow, default)]
    pub api_group: Cow<'a, str>,
    /// The version.
    #[serde(borrow, default)]
    pub api_version: Cow<'a, str>,
    /// The subresource.
    #[serde(borrow, default)]
    pub subresource: Cow<'a, str>,
}

/// What was answered.
#[derive(Clone, Copy, Debug, Default, Deserialize)]
pub struct ResponseStatus {
    /// The status code.
    #[serde(default)]
    pub code: u16,
}

/// A decision of `ephor serve --audit-log`.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct OwnDecision<'a> {
    /// When.
    #[serde(borrow)]
    pub time: Cow<'a, str>,
    /// `answer`, or `audit` for results that came later.
    #[serde(borrow)]
    pub stage: Cow<'a, str>,
    /// The path of the webhook.
    #[serde(borrow)]
    pub path: Cow<'a, str>,
    /// The identifier of the review.
    #[serde(borrow, default)]
    pub uid: Cow<'a, str>,
    /// The operation.
    #[serde(borrow)]
    pub operation: Cow<'a, str>,
    /// The name of the user.
    #[serde(borrow, default)]
    pub user: Cow<'a, str>,
    /// Group of the kind.
    #[serde(borrow, default)]
    pub group: Cow<'a, str>,
    /// Its version.
    #[serde(borrow, default)]
    pub version: Cow<'a, str>,
    /// The kind.
    #[serde(borrow, default)]
    pub kind: Cow<'a, str>,
    /// Its plural.
    #[serde(borrow, default)]
    pub resource: Cow<'a, str>,
    /// The subresource.
    #[serde(borrow, default)]
    pub sub_resource: Cow<'a, str>,
    /// The namespace.
    #[serde(borrow, default)]
    pub namespace: Cow<'a, str>,
    /// The name.
    #[serde(borrow, default)]
    pub name: Cow<'a, str>,
    /// Whether nothing was to be stored.
    #[serde(default)]
    pub dry_run: bool,
    /// What was answered.
    #[serde(default)]
    pub allowed: Option<bool>,
    /// The object, with `--audit-log-objects`.
    #[serde(borrow, default)]
    pub object: Option<&'a RawValue>,
}

/// Which kind of line it is.
#[derive(Deserialize)]
struct Kind<'a> {
    #[serde(borrow, default, rename = "auditID")]
    audit_id: Option<&'a RawValue>,
    #[serde(borrow, default)]
    operation: Option<&'a RawValue>,
}

/// Why a line is none of a log.
#[derive(Debug, thiserror::Error)]
pub enum LineError {
    /// It is no JSON, or a member has another type.
    #[error("{0}")]
    Json(#[from] serde_json::Error),
    /// It is JSON of something else.
    #[error(
        "it has neither `auditID`, as events of API servers, nor `operation`, as decisions of `ephor serve`"
    )]
    Other,
}

/// Reads a line.
///
/// # Errors
/// It is none of a log.
pub fn line(text: &str) -> Result<Line<'_>, LineError> {
    // Nearly all lines are events.
    match serde_json::from_str::<Event<'_>>(text) {
        Ok(event) => Ok(Line::Event(Box::new(event))),
        Err(error) => {
            let kind: Kind<'_> = serde_json::from_str(text)?;
            match (kind.audit_id, kind.operation) {
                (Some(_), _) => Err(error.into()),
                (None, Some(_)) => Ok(Line::Decision(Box::new(serde_json::from_str(text)?))),
                (None, None) => Err(LineError::Other),
            }
        }
    }
}
