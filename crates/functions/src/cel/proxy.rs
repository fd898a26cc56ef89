//! What expressions on check requests of proxies call: answers are put together, headers are read.
//!
//! In: messages of [`super::proxy_types`]. Out: messages. Semantics:
//! `docs/semantics/cel-policies.md`, "Check requests".

use super::call::{Call, CallResult, success};
use super::proxy_types::message;
use ephor_value::{Map, Object, Str, Value};

const HTTP_OK: &str = "http.CheckResponseOk";
const HTTP_DENIED: &str = "http.CheckResponseDenied";
const HTTP_ANSWER: &str = "http.CheckResponse";
const ATTRIBUTES: &str = "http.CheckRequestAttributes";
const OK: &str = "envoy.service.auth.v3.OkHttpResponse";
const DENIED: &str = "envoy.service.auth.v3.DeniedHttpResponse";
const ANSWER: &str = "envoy.service.auth.v3.CheckResponse";
const STATUS: &str = "google.rpc.Status";
const HTTP_STATUS: &str = "envoy.type.v3.HttpStatus";
const HEADER: &str = "envoy.config.core.v3.HeaderValueOption";
const HEADER_VALUE: &str = "envoy.config.core.v3.HeaderValue";
const QUERY: &str = "envoy.config.core.v3.QueryParameter";
/// Code of a refusal, as of `google.rpc.Code`.
const PERMISSION_DENIED: i64 = 7;

/// What a proxy is answered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    /// The request may pass.
    Allowed,
    /// It may not, with the text that says why.
    Denied(String),
}

/// The answer that a value is; `None` for what is none.
pub fn answer(v: &Value) -> Option<Answer> {
    let (name, fields) = parts(v)?;
    match name {
        HTTP_ANSWER => match (fields.get("denied"), fields.get("ok")) {
            (Some(denied), _) => {
                let reason = parts(denied).map(|(_, f)| text_of(f, "reason")).unwrap_or_default();
                Some(Answer::Denied(format!("request denied, reason: {reason}")))
            }
            (None, Some(_)) => Some(Answer::Allowed),
            (None, None) => None,
        },
        ANSWER => match fields.get("denied_response").and_then(parts) {
            Some((_, denied)) => {
                let code = denied.get("status").and_then(parts).and_then(|(_, status)| status.get("code"));
                let code = match code {
                    Some(Value::Int(code)) => *code,
                    _ => 0,
                };
                Some(Answer::Denied(format!("request denied with status code {code}")))
            }
            None => fields.get("ok_response").map(|_| Answer::Allowed),
        },
        _ => None,
    }
}

fn parts(v: &Value) -> Option<(&str, &Map)> {
    match v {
        Value::Object(o) => match &**o {
            Object::Struct(name, fields) => Some((name, fields)),
            _ => None,
        },
        _ => None,
    }
}

fn text_of(fields: &Map, key: &str) -> String {
    fields.get(key).and_then(Value::as_str).unwrap_or_default().to_string()
}

pub(super) fn message_of<const N: usize>(type_name: &str, fields: [(&str, Value); N]) -> Value {
    message(type_name, fields.into_iter().map(|(k, v)| (Str::from(k), v)).collect())
}

/// A message with a field set.
fn with(v: &Value, key: &str, value: Value) -> CallResult {
    let (name, fields) = parts(v)?;
    let mut fields = fields.clone();
    fields.insert(key, value);
    success(message(name, fields))
}

/// A message with an item added to a field that is a list.
fn adding(v: &Value, key: &str, item: Value) -> CallResult {
    let (_, fields) = parts(v)?;
    let mut items = fields.get(key).and_then(Value::as_list).unwrap_or_default().to_vec();
    items.push(item);
    with(v, key, Value::list(items))
}

pub(crate) fn http_allowed(_: &Call<'_>) -> CallResult {
    success(message_of(HTTP_OK, []))
}

pub(crate) fn http_denied(call: &Call<'_>) -> CallResult {
    success(message_of(HTTP_DENIED, [("reason", Value::from(call.text(0)?))]))
}

pub(crate) fn envoy_allowed(_: &Call<'_>) -> CallResult {
    success(message_of(OK, []))
}

pub(crate) fn envoy_denied(call: &Call<'_>) -> CallResult {
    success(message_of(DENIED, [("status", message_of(HTTP_STATUS, [("code", Value::Int(call.int(0)?))]))]))
}

pub(crate) fn response(call: &Call<'_>) -> CallResult {
    let of = call.arg(0);
    let status = |code| message_of(STATUS, [("code", Value::Int(code))]);
    match parts(of)?.0 {
        HTTP_OK => success(message_of(HTTP_ANSWER, [("ok", of.clone())])),
        HTTP_DENIED => success(message_of(HTTP_ANSWER, [("denied", of.clone())])),
        OK => success(message_of(ANSWER, [("status", status(0)), ("ok_response", of.clone())])),
        DENIED => {
            let status = status(PERMISSION_DENIED);
            success(message_of(ANSWER, [("status", status), ("denied_response", of.clone())]))
        }
        _ => None,
    }
}

/// `Header` and `QueryParam` of a request: all values of that name.
fn values(call: &Call<'_>, field: &str, name: &str) -> CallResult {
    let (type_name, fields) = parts(call.arg(0))?;
    if type_name != ATTRIBUTES {
        return None;
    }
    let found = fields.get(field).and_then(|all| all.get(name)).cloned();
    success(found.unwrap_or_else(|| Value::list(Vec::new())))
}

pub(crate) fn header(call: &Call<'_>) -> CallResult {
    values(call, "header", &canonical(call.text(1)?))
}

pub(crate) fn query(call: &Call<'_>) -> CallResult {
    values(call, "query", call.text(1)?)
}

/// The canonical form of a header name: `x-team` → `X-Team`. Names with other signs stay.
fn canonical(name: &str) -> String {
    let is_sign = |c: char| c.is_ascii_alphanumeric() || "!#$%&'*+-.^_`|~".contains(c);
    if !name.chars().all(is_sign) {
        return name.to_string();
    }
    let mut up = true;
    name.chars()
        .map(|c| {
            let shown = if up { c.to_ascii_uppercase() } else { c.to_ascii_lowercase() };
            up = c == '-';
            shown
        })
        .collect()
}

fn pair(call: &Call<'_>, at: usize) -> Option<(Value, Value)> {
    Some((Value::from(call.text(at)?), Value::from(call.text(at + 1)?)))
}

fn header_of(call: &Call<'_>, at: usize) -> Option<Value> {
    if let Some((HEADER, _)) = parts(call.arg(at)) {
        return Some(call.arg(at).clone());
    }
    let (key, value) = pair(call, at)?;
    Some(message_of(HEADER, [("header", message_of(HEADER_VALUE, [("key", key), ("value", value)]))]))
}

fn query_of(call: &Call<'_>, at: usize) -> Option<Value> {
    if let Some((QUERY, _)) = parts(call.arg(at)) {
        return Some(call.arg(at).clone());
    }
    let (key, value) = pair(call, at)?;
    Some(message_of(QUERY, [("key", key), ("value", value)]))
}

pub(crate) fn envoy_header(call: &Call<'_>) -> CallResult {
    success(header_of(call, 0)?)
}

pub(crate) fn envoy_query(call: &Call<'_>) -> CallResult {
    success(query_of(call, 0)?)
}

pub(crate) fn keep_empty(call: &Call<'_>) -> CallResult {
    let keep = match call.arg(1) {
        Value::Bool(b) => *b,
        _ => true,
    };
    with(call.arg(0), "keep_empty_value", Value::Bool(keep))
}

pub(crate) fn with_header(call: &Call<'_>) -> CallResult {
    adding(call.arg(0), "headers", header_of(call, 1)?)
}

pub(crate) fn without_header(call: &Call<'_>) -> CallResult {
    adding(call.arg(0), "headers_to_remove", Value::from(call.text(1)?))
}

pub(crate) fn with_response_header(call: &Call<'_>) -> CallResult {
    adding(call.arg(0), "response_headers_to_add", header_of(call, 1)?)
}

pub(crate) fn with_query(call: &Call<'_>) -> CallResult {
    adding(call.arg(0), "query_parameters_to_set", query_of(call, 1)?)
}

pub(crate) fn without_query(call: &Call<'_>) -> CallResult {
    adding(call.arg(0), "query_parameters_to_remove", Value::from(call.text(1)?))
}

pub(crate) fn with_body(call: &Call<'_>) -> CallResult {
    with(call.arg(0), "body", Value::from(call.text(1)?))
}

pub(crate) fn with_message(call: &Call<'_>) -> CallResult {
    let (_, fields) = parts(call.arg(0))?;
    let mut status = fields.get("status").and_then(parts).map(|(_, f)| f.clone()).unwrap_or_default();
    status.insert("message", Value::from(call.text(1)?));
    with(call.arg(0), "status", message(STATUS, status))
}

pub(crate) fn with_metadata(call: &Call<'_>) -> CallResult {
    with(call.arg(0), "dynamic_metadata", call.arg(1).clone())
}
