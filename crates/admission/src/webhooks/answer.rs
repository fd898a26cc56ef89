//! Calls of webhooks, and what an API server makes of the answers.
//!
//! An answer is decoded first, then checked; what is wrong is a failed call with the server's text.

use ephor_document::check_json;
use ephor_document::spelling::spelling;
use ephor_document::{Duplicates, json, yaml};
use ephor_engine::admission::converted;
use ephor_engine::admission::{Review, seen_request};
use ephor_ir::webhook::Webhook;
use ephor_matching::constraints::Accepted;
use ephor_value::bytes::{decode_base64, lossy};
use ephor_value::quote::quote;
use ephor_value::{Map, Str, Value};

use super::call::{Call, Event, Log, Reply, Server};
use super::failure::Failure;
use super::response::wrong_type;

/// What a webhook says, once the answer is understood.
#[derive(Clone, Debug)]
pub(super) enum Response {
    /// The request may pass.
    Allowed {
        /// The text of the patch with its type.
        patch: Option<(Value, Str)>,
    },
}

/// Calls a webhook and reads its answer.
pub(super) fn call(
    server: &Server<'_>,
    webhook: &Webhook,
    accepted: &Accepted,
    review: &Review,
    round: usize,
    log: &mut Log,
) -> Result<Response, Failure> {
    let is_dry_run = review.request.get("dryRun").and_then(Value::as_bool) == Some(true);
    if is_dry_run && !webhook.supports_dry_run() {
        return Err(Failure::no_dry_run(webhook));
    }
    let Some(version) = webhook.version() else {
        let text = "webhook does not accept known AdmissionReview versions (v1, v1beta1)";
        return Err(Failure::Call(format!("could not create admission objects: {text}")));
    };
    let call = Call {
        configuration: webhook.configuration.clone(),
        webhook: webhook.name.clone(),
        url: webhook.url.clone(),
        version: version.clone(),
        timeout: webhook.timeout,
        request: request(accepted, review),
    };
    let reply = server.answers.answer(&call);
    let read = body(&reply, &call).map_err(|why| Failure::Call(format!("failed to call webhook: {why}")));
    let uid = call.request.text_at(&["uid"]).to_string();
    log.step(webhook, round, Event::Called(Box::new(call)));
    let review = read?;
    let response = checked(&review, &uid, version, webhook.mutating)
        .map_err(|why| Failure::Call(format!("received invalid webhook response: {why}")))?;
    for (key, value) in
        response.get("auditAnnotations").and_then(Value::as_map).into_iter().flat_map(Map::iter)
    {
        log.annotate(&format!("{}/{key}", webhook.name), value.clone());
    }
    for text in response.get("warnings").and_then(Value::as_list).unwrap_or_default() {
        log.warnings.add(text.as_str().unwrap_or_default().into());
    }
    if response.get("allowed").and_then(Value::as_bool) != Some(true) {
        return Err(Failure::refused(webhook, response.get("status").unwrap_or(&Value::Null)));
    }
    let patch = response.text_at(&["patch"]);
    let patch_type = match &**version {
        "v1" => response.text_at(&["patchType"]),
        _ => "JSONPatch",
    };
    let patch = (webhook.mutating && !patch.is_empty()).then(|| (Value::from(patch), Str::from(patch_type)));
    Ok(Response::Allowed { patch: patch.map(|(p, t)| (decoded_patch(&p), t)) })
}

/// The patch as text; it was found to be base64 before.
fn decoded_patch(patch: &Value) -> Value {
    let bytes = decode_base64(patch.as_str().unwrap_or_default().as_bytes()).unwrap_or_default();
    lossy(&bytes).into()
}

/// The request as a webhook is sent it: under the resource that it is for.
fn request(accepted: &Accepted, review: &Review) -> Value {
    let mut request = seen_request(accepted, review).as_map().cloned().unwrap_or_default();
    // Policies see no uid; webhooks do.
    request.insert("uid", review.part("uid"));
    for key in ["object", "oldObject"] {
        let object = review.part(key);
        let sent = if object.is_null() { object } else { converted(&object, &accepted.kind) };
        request.insert(key, sent);
    }
    Value::Map(request)
}

/// Why no review came back; the texts are those of kube-apiserver 1.36.3.
#[derive(Debug, thiserror::Error)]
enum BodyError {
    /// Nothing came back; the words are those of the client.
    #[error("Post {}: {why}", quote(.address))]
    Nothing { address: String, why: String },
    /// The HTTP status is no success.
    #[error("{}", http_text(*.0))]
    Status(u16),
    /// It is neither JSON nor YAML.
    #[error("couldn't get version/kind; json parse error: invalid text")]
    NoJson,
    /// It is of this type, no object.
    #[error(
        "couldn't get version/kind; json parse error: json: cannot unmarshal {0} into Go value of type struct \
         {{ APIVersion string \"json:\\\"apiVersion,omitempty\\\"\"; Kind string \"json:\\\"kind,omitempty\\\"\" }}"
    )]
    NoObject(&'static str),
    /// It is of another kind.
    #[error(
        "no kind {} is registered for version {} in scheme \"pkg/runtime/scheme.go:111\"",
        quote(.kind),
        quote(.api_version)
    )]
    UnknownKind { kind: String, api_version: String },
    /// It is of another version.
    #[error("converting ({found}.AdmissionReview) to ({wanted}.AdmissionReview): unknown conversion")]
    Version { found: String, wanted: Str },
    /// A field has another type; see [`wrong_type`].
    #[error("{0}")]
    Type(String),
}

/// Why the response in a review cannot be used; the texts are those of kube-apiserver 1.36.3.
#[derive(Debug, thiserror::Error)]
enum ResponseError {
    /// There is none.
    #[error("webhook response was absent")]
    Absent,
    /// It is for another request.
    #[error("expected response.uid={}, got {}", quote(.wanted), quote(.found))]
    Uid { wanted: String, found: String },
    /// The review has no kind or no version.
    #[error(
        "expected webhook response of admission.k8s.io/v1, Kind=AdmissionReview, got {api_version}, Kind={kind}"
    )]
    Kind { api_version: String, kind: String },
    /// There is a patch without a type.
    #[error("webhook returned response.patch but not response.patchType")]
    NoPatchType,
    /// There is the type of a patch alone.
    #[error("webhook returned response.patchType but not response.patch")]
    NoPatch,
    /// The type of the patch is empty.
    #[error("webhook returned invalid response.patchType of \"\"")]
    EmptyPatchType,
    /// A webhook that validates has a patch.
    #[error("validating webhook may not return response.patch")]
    Patch,
    /// A webhook that validates has the type of a patch.
    #[error("validating webhook may not return response.patchType")]
    PatchType,
}

/// The review that came back.
///
/// # Errors
/// See [`BodyError`].
fn body(reply: &Reply, call: &Call) -> Result<Value, BodyError> {
    let (code, body) = match reply {
        Reply::Nothing(why) => {
            let (address, why) = (call.address().to_string(), why.to_string());
            return Err(BodyError::Nothing { address, why });
        }
        Reply::Http { code, body } => (*code, body),
    };
    if !(200..=206).contains(&code) {
        return Err(BodyError::Status(code));
    }
    let review = match json::parse(body) {
        Ok(review) => review,
        Err(_) => yaml::parse(body, Duplicates::LastWins).map_err(|_| BodyError::NoJson)?,
    };
    if !matches!(review, Value::Map(_) | Value::Null) {
        return Err(BodyError::NoObject(review.json_type()));
    }
    let wanted = format!("admission.k8s.io/{}", call.version);
    let or = |found: &str, other: &str| if found.is_empty() { other.to_string() } else { found.to_string() };
    let api_version = or(review.text_at(&["apiVersion"]), &wanted);
    let kind = or(review.text_at(&["kind"]), "AdmissionReview");
    let known = ["admission.k8s.io/v1", "admission.k8s.io/v1beta1"].contains(&&*api_version);
    if !known || kind != "AdmissionReview" {
        return Err(BodyError::UnknownKind { kind, api_version });
    }
    if api_version != wanted {
        let found = api_version.rsplit('/').next().unwrap_or_default().to_owned();
        return Err(BodyError::Version { found, wanted: call.version.clone() });
    }
    wrong_type(&review, &spelling(body)).map_or(Ok(review), |text| Err(BodyError::Type(text)))
}

/// What the API server's client says of an HTTP status.
fn http_text(code: u16) -> String {
    let text = match code {
        400 => "the server rejected our request for an unknown reason",
        401 => "the server has asked for the client to provide credentials",
        403 => "unknown",
        404 => "the server could not find the requested resource",
        405 => "the server does not allow this method on the requested resource",
        406 => "the server was unable to respond with a content type that the client supports",
        409 => "the server reported a conflict",
        415 => "the server was unable to process the media type",
        422 => "the server rejected our request due to an error in our request",
        429 => "the server has received too many requests and has asked us to try again later",
        503 => "the server is currently unable to handle the request",
        504 => {
            "the server was unable to return a response in the time allotted, but may still be processing the request"
        }
        code if code >= 500 => {
            "an error on the server (\"unknown\") has prevented the request from succeeding"
        }
        code => {
            return format!(
                "the server responded with the status code {code} but did not return more information"
            );
        }
    };
    text.into()
}

/// The response in a review.
///
/// # Errors
/// See [`ResponseError`].
fn checked<'v>(
    review: &'v Value,
    uid: &str,
    version: &str,
    mutating: bool,
) -> Result<&'v Value, ResponseError> {
    let Some(response) = review.get("response").filter(|r| !r.is_null()) else {
        return Err(ResponseError::Absent);
    };
    if version != "v1" {
        return Ok(response);
    }
    let got = response.text_at(&["uid"]);
    if got != uid {
        return Err(ResponseError::Uid { wanted: uid.to_owned(), found: got.to_owned() });
    }
    let (api_version, kind) = (review.text_at(&["apiVersion"]), review.text_at(&["kind"]));
    if api_version.is_empty() || kind.is_empty() {
        let shown =
            if api_version.contains('/') { api_version.to_string() } else { format!("/{api_version}") };
        return Err(ResponseError::Kind { api_version: shown, kind: kind.to_owned() });
    }
    let patch = !response.text_at(&["patch"]).is_empty();
    let patch_type = response.get("patchType").and_then(Value::as_str);
    match (mutating, patch, patch_type) {
        (true, true, None) => Err(ResponseError::NoPatchType),
        (true, false, Some(_)) => Err(ResponseError::NoPatch),
        (true, true, Some("")) => Err(ResponseError::EmptyPatchType),
        (false, true, _) => Err(ResponseError::Patch),
        (false, false, Some(_)) => Err(ResponseError::PatchType),
        _ => Ok(response),
    }
}

/// Why a patch cannot be read; the texts are those of kube-apiserver 1.36.3.
#[derive(Debug, thiserror::Error)]
pub(super) enum PatchError {
    /// It is no JSON.
    #[error("{0}")]
    NoJson(#[source] Box<dyn std::error::Error + Send + Sync>),
    /// It is no list of objects.
    #[error("json: cannot unmarshal {found} into Go value of type {wanted}")]
    Type { found: &'static str, wanted: &'static str },
}

/// The operations of a patch in their spelling, not looked into.
///
/// # Errors
/// See [`PatchError`].
pub(super) fn operations(patch: &Value) -> Result<Vec<Value>, PatchError> {
    let text = patch.as_str().unwrap_or_default();
    check_json(text).map_err(|e| PatchError::NoJson(e.into()))?;
    let cannot = |v: &Value, wanted| {
        let found = match v {
            Value::Str(s) if !s.starts_with('"') => "number",
            other => other.json_type(),
        };
        PatchError::Type { found, wanted }
    };
    match spelling(text) {
        Value::Null => Ok(Vec::new()),
        Value::List(items) => match items.iter().find(|v| !matches!(v, Value::Map(_) | Value::Null)) {
            Some(other) => Err(cannot(other, "jsonpatch.Operation")),
            None => Ok(items.to_vec()),
        },
        other => Err(cannot(&other, "jsonpatch.Patch")),
    }
}
