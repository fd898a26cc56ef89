//! Kyverno's functions on data: JSON, YAML, compression, hashes, certificates, users, times,
//! numbers.
//!
//! Where JMESPath has the same function, its body is used. Semantics: `docs/expressions/cel.md`,
//! "What is supported".

use std::borrow::Cow;

use super::call::{Call, CallResult, fault, fields, success};
use crate::args::Body;
use crate::{Arg, encode, json, limits, random, x509};
use ephor_value::time::Time;
use ephor_value::{Map, Object, Str, Value, clock, print, stack};

/// Runs the body of a JMESPath function on the text at a position.
fn shared(body: Body, call: &Call<'_>, at: usize) -> CallResult {
    call.text(at)?;
    Some(body(call.cx, &[Arg::Value(Cow::Borrowed(call.arg(at)))]))
}

pub(crate) fn sha1(call: &Call<'_>) -> CallResult {
    shared(encode::sha1, call, 0)
}

pub(crate) fn sha256(call: &Call<'_>) -> CallResult {
    shared(encode::sha256, call, 0)
}

pub(crate) fn md5(call: &Call<'_>) -> CallResult {
    shared(encode::md5, call, 0)
}

///
/// What expressions see of a certificate is less than what JMESPath sees, and of its serial number
/// the low 64 bits.
pub fn certificate(call: &Call<'_>) -> CallResult {
    const UNSEEN: [&str; 15] = [
        "InhibitAnyPolicy",
        "InhibitAnyPolicyZero",
        "InhibitPolicyMapping",
        "InhibitPolicyMappingZero",
        "Policies",
        "PolicyMappings",
        "RequireExplicitPolicy",
        "RequireExplicitPolicyZero",
        "SignatureAlgorithm",
        "Subject",
        "SubjectKeyId",
        "URIs",
        "UnhandledCriticalExtensions",
        "UnknownExtKeyUsage",
        "Version",
    ];
    let seen = |v: Value| match v {
        Value::Map(m) if m.contains_key("RawIssuer") => {
            let mut m: Map = m
                .iter()
                .filter(|(k, _)| !UNSEEN.contains(&&***k))
                .map(|(k, v)| (k.clone(), v.clone()))
                .collect();
            if let Some(low) = call.text(0).and_then(x509::low_serial) {
                m.insert("SerialNumber", Value::Float(low as f64));
            }
            Value::Map(m)
        }
        other => other,
    };
    Some(shared(x509::x509_decode, call, 0)?.map(seen))
}

/// `random`: eight letters and digits, or a text that matches a pattern.
pub fn random_text(call: &Call<'_>) -> CallResult {
    if call.text(0) == Some("") {
        return success("");
    }
    if call.args.is_empty() {
        let pattern = Value::from("[0-9a-z]{8}");
        return Some(random::random(call.cx, &[Arg::Value(Cow::Owned(pattern))]));
    }
    shared(random::random, call, 0)
}

/// `math.round` with a precision.
pub fn round(call: &Call<'_>) -> CallResult {
    let (Value::Float(v), Value::Int(places)) = (call.arg(0), call.arg(1)) else { return None };
    let scale = 10f64.powf(*places as f64);
    success((v * scale).round() / scale)
}

/// Nanoseconds since 1970.
pub fn clock(call: &Call<'_>) -> i128 {
    match now(call) {
        Some(Ok(Value::Timestamp(t))) => t.unix_nanos(),
        _ => 0,
    }
}

pub(crate) fn now(call: &Call<'_>) -> CallResult {
    crate::untracked::note();
    Some(Ok(Value::Timestamp(Time::from_unix_nanos(call.cx.now.unwrap_or_else(clock::unix_nanos)))))
}

pub(crate) fn to_cron(call: &Call<'_>) -> CallResult {
    match call.arg(0) {
        Value::Timestamp(t) => success(t.utc().cron()),
        _ => None,
    }
}

pub(crate) fn truncate(call: &Call<'_>) -> CallResult {
    match (call.arg(0), call.arg(1)) {
        (Value::Timestamp(t), Value::Duration(d)) => Some(Ok(Value::Timestamp(t.truncate(*d)))),
        _ => None,
    }
}

/// `listObjToMap`: names from one list, values from the other.
pub fn list_to_map(call: &Call<'_>) -> CallResult {
    let (first, second) = (call.arg(0).as_list()?, call.arg(1).as_list()?);
    let (key, value) = (call.text(2)?, call.text(3)?);
    if first.len() != second.len() {
        return fault(format!(
            "listObjToMap must take lists of equal length. list1: {}, list2: {}",
            first.len(),
            second.len()
        ));
    }
    let mut out = Map::new();
    for (names, values) in first.iter().zip(second) {
        if let Some(other) = [names, values].into_iter().find(|v| v.as_map().is_none()) {
            if let Value::Object(o) = other
                && let Object::Keyed(_) = &**o
            {
                return fault("failed to convert key to a string, int64");
            }
            let kind = match other {
                Value::Null => "structpb.NullValue",
                Value::Duration(_) => "time.Duration",
                Value::Timestamp(_) => "time.Time",
                Value::List(_) | Value::Map(_) | Value::Object(_) => return None,
                scalar => super::type_names::native_type(scalar),
            };
            return fault(format!(
                "internal error: interface conversion: interface {{}} is {kind}, not map[interface {{}}]interface {{}}"
            ));
        }
        let (names, values) = (names.as_map()?, values.as_map()?);
        let Some(name) = names.get(key).and_then(Value::as_str) else {
            return fault("the passed key name cannot be handled as a string in the key object list");
        };
        out.insert(name, values.get(value).cloned().unwrap_or_default());
    }
    success(Value::Map(out))
}

/// Namespace and name of a service account's user name.
pub fn service_account(call: &Call<'_>) -> CallResult {
    let rest = call.text(0)?.strip_prefix("system:serviceaccount:");
    let (namespace, name) = rest.and_then(|r| r.split_once(':')).unwrap_or_default();
    let fields = [("Name", name), ("Namespace", namespace)];
    let fields = fields.into_iter().map(|(k, v)| (Str::from(k), Value::from(v))).collect();
    success(Value::object(Object::Struct("user.ServiceAccount".into(), fields)))
}

pub(crate) fn unmarshal(call: &Call<'_>) -> CallResult {
    fields(call.arg(0), "json.Json")?;
    let Some(text) = call.text(1) else { return fault(no_text(call.arg(1))) };
    if let Err(fault) = limits::decoded(text) {
        return Some(Err(fault));
    }
    match ephor_document::decode_json(text) {
        Ok(v) => success(v.with_float_numbers()),
        Err(e) => fault(e.to_string()),
    }
}

/// Why a value is no text, in the reference's words.
pub fn no_text(v: &Value) -> String {
    match v {
        Value::Bytes(_) => "type conversion error from Bytes to 'string'".into(),
        Value::Map(_) => "type conversion error from map to 'string'".into(),
        Value::Bool(_) => "type conversion error from bool to 'string'".into(),
        Value::Object(o) => match &**o {
            Object::Struct(name, _) => format!("type conversion error from '{name}' to 'string'"),
            Object::Optional(None) => "optional.none() dereference".into(),
            Object::Optional(Some(v)) if v.as_str().is_none() => no_text(v),
            _ => format!("unsupported type conversion from '{}' to string", v.cel_type()),
        },
        _ => format!("unsupported type conversion from '{}' to string", v.cel_type()),
    }
}

pub(crate) fn marshal(call: &Call<'_>) -> CallResult {
    fields(call.arg(0), "json.Json")?;
    if let Err(fault) = limits::printable(call.arg(1)) {
        return Some(Err(fault));
    }
    match plain(call.arg(1)) {
        Ok(v) => match print::first_non_finite(&v) {
            Some(f) => {
                let name = if f.is_nan() {
                    "NaN"
                } else if f > 0.0 {
                    "+Inf"
                } else {
                    "-Inf"
                };
                fault(format!("json: unsupported value: {name}"))
            }
            None => success(print::json(&v)),
        },
        Err(e) => fault(format!("json: {e}")),
    }
}

pub(crate) fn parse_yaml(call: &Call<'_>) -> CallResult {
    fields(call.arg(0), "yaml.Yaml")?;
    match shared(json::parse_yaml, call, 1)? {
        Ok(v) => success(v.with_float_numbers()),
        Err(e) => fault(format!("error converting YAML to JSON: {e}")),
    }
}

/// A map that JSON does not know, because a key is no text.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("failed to convert CEL map to native map: {0}")]
pub struct NativeError(#[source] pub KeyConversion);

/// Why a key is no text.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum KeyConversion {
    /// It is a truth value.
    #[error("type conversion error from bool to 'string'")]
    Bool,
    /// It is of this type.
    #[error("unsupported type conversion from '{0}' to string")]
    Type(Box<str>),
}

/// A value as JSON knows it: bytes as base64, times as text, durations as nanoseconds.
///
/// # Errors
/// A map with keys that are no texts.
pub fn plain(v: &Value) -> Result<Value, NativeError> {
    Ok(match v {
        Value::Bytes(b) => encode::base64_text(b).into(),
        Value::Timestamp(t) => t.rfc3339_nano().into(),
        Value::Duration(d) => Value::Int(*d),
        Value::List(items) => Value::list(stack::deep(|| items.iter().map(plain).collect::<Result<_, _>>())?),
        Value::Map(m) => {
            let entries =
                || m.iter().map(|(k, v)| Ok((k.clone(), plain(v)?))).collect::<Result<Map, NativeError>>();
            Value::Map(stack::deep(entries)?)
        }
        Value::Object(o) => match &**o {
            Object::Optional(v) => v.as_ref().map_or(Ok(Value::Null), plain)?,
            Object::Keyed(entries) => {
                let key = entries.iter().map(|(k, _)| k).find(|k| k.as_str().is_none());
                return Err(NativeError(match key {
                    Some(Value::Bool(_)) => KeyConversion::Bool,
                    key => KeyConversion::Type(key.map_or("dyn", |k| k.cel_type()).into()),
                }));
            }
            Object::Struct(name, fields) if &**name == "user.ServiceAccount" => {
                let lower = |(k, v): (&Str, &Value)| (Str::from(k.to_lowercase()), v.clone());
                Value::Map(fields.iter().map(lower).collect())
            }
            Object::Struct(name, fields) if &**name == "kyverno.image" => {
                fields.get("image").cloned().unwrap_or_default()
            }
            Object::Struct(_, fields) => {
                let entries: Result<Map, NativeError> =
                    fields.iter().map(|(k, v)| Ok((k.clone(), plain(v)?))).collect();
                Value::Map(entries?)
            }
            Object::Type(name) => Value::Str(name.clone()),
            Object::Quantity(q) => q.to_string().into(),
            Object::Url(u) => Value::Str(u.clone()),
            Object::Ip(ip) => ip.to_string().into(),
            Object::Cidr(ip, bits) => format!("{ip}/{bits}").into(),
            _ => Value::Map(Map::new()),
        },
        other => other.clone(),
    })
}
