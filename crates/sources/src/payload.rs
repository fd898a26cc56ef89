//! Payload files: data that is no Kubernetes object, for policies that look at any document or at
//! check requests of a proxy.
//!
//! In: paths. Out: values, or Kyverno's text for a file that cannot be used. Where
//! Kyverno crashes on a document that is no object, this is an error as well.

use std::path::Path;

use super::files::reason;
use crate::document;
use crate::document::decode_json;
use crate::document::locate::locate_key;
use crate::functions::cel::proxy_types;
use crate::ir::expressions::Proxy;
use crate::value::place::PathPart;
use crate::value::quote::quote;
use crate::value::{Str, Value};

/// The error for a payload that is no object.
pub const NO_OBJECT: &str = "the payload must be an object";

/// Reads a payload of any form: the extension says whether it is JSON or YAML.
///
/// # Errors
/// Kyverno's text, or what is wrong with the document.
pub fn any_form(path: &str) -> Result<Value, String> {
    let failed = |cause: String| format!("failed to load JSON payload ({cause})");
    let text = read(path).map_err(failed)?;
    let value = match Path::new(path).extension().and_then(|e| e.to_str()) {
        Some("json") => decode_json(&text).map_err(failed)?,
        Some("yaml" | "yml") => yaml(&text).map_err(failed)?,
        _ => {
            return Err(failed(format!("unrecognized payload format, must be yaml or json ({path})")));
        }
    };
    match value {
        Value::Map(_) => Ok(value),
        _ => Err(failed(format!("{NO_OBJECT} ({path})"))),
    }
}

fn yaml(text: &str) -> Result<Value, String> {
    let documents = document::parse_stream("-", text, document::Duplicates::Error).map_err(|e| e.message)?;
    let mut documents = documents.into_iter();
    match (documents.next(), documents.next()) {
        (Some(Ok(one)), None) => Ok(one.value),
        (Some(Err(e)), _) => Err(e.message),
        // Several documents, or none, are a list.
        _ => Ok(Value::list(Vec::new())),
    }
}

/// Reads a check request of a proxy.
///
/// # Errors
/// Kyverno's text.
pub fn check_request(path: &str, proxy: Proxy) -> Result<Value, String> {
    let name = match proxy {
        Proxy::Http => "HTTP",
        Proxy::Envoy => "envoy",
    };
    let failed = |cause: String| format!("failed to parse {name} payload from {path}: {cause}");
    let text = read(path).map_err(|e| failed(format!("failed to read {name} payload file {path}: {e}")))?;
    match proxy {
        Proxy::Http => http(&text).map_err(failed),
        Proxy::Envoy => envoy(&text).map_err(failed),
    }
}

fn go_type(value: &Value) -> &'static str {
    match value {
        Value::List(_) => "array",
        Value::Str(_) => "string",
        Value::Bool(_) => "bool",
        Value::Map(_) => "object",
        _ => "number",
    }
}

fn part<'v>(value: &'v Value, path: &[Str]) -> &'v Value {
    let keys: Vec<&str> = path.iter().map(|k| &**k).collect();
    value.at(&keys).unwrap_or(&Value::Null)
}

fn http(text: &str) -> Result<Value, String> {
    let value = decode_json(text)?;
    if !matches!(value, Value::Map(_) | Value::Null) {
        let found = go_type(&value);
        return Err(format!("json: cannot unmarshal {found} into Go value of type http.CheckRequest"));
    }
    proxy_types::request(Proxy::Http.request(), &value).map_err(|unfit| {
        let found = go_type(part(&value, &unfit.path));
        let holder = unfit.holder.rsplit('.').next().unwrap_or_default();
        let wanted = unfit.wanted.unwrap_or_default();
        let path = unfit.path.join(".");
        format!("json: cannot unmarshal {found} into Go struct field {holder}.{path} of type {wanted}")
    })
}

fn envoy(text: &str) -> Result<Value, String> {
    let value = decode_json(text).map_err(|e| format!("proto: syntax error: {e}"))?;
    if value.as_map().is_none() {
        let token = if text.trim().starts_with('[') { "[" } else { text.trim() };
        return Err(format!("proto: syntax error (line 1:1): unexpected token {token}"));
    }
    proxy_types::request(Proxy::Envoy.request(), &value).map_err(|unfit| {
        let path: Vec<PathPart> = unfit.path.iter().cloned().map(PathPart::Key).collect();
        let (line, column) = locate_key(text, &path).map_or((1, 1), |p| (p.line, p.col));
        let field = unfit.path.last().map(|k| &**k).unwrap_or_default();
        match unfit.wanted {
            None => format!("proto: (line {line}:{column}): unknown field {}", quote(field)),
            Some(wanted) => {
                let found = crate::value::print::json(part(&value, &unfit.path));
                format!("proto: (line {line}:{column}): invalid value for {wanted} field {field}: {found}")
            }
        }
    })
}

fn read(path: &str) -> Result<String, String> {
    let bytes = std::fs::read(path).map_err(|e| format!("open {path}: {}", reason(&e)))?;
    document::split::utf8(&bytes).map(str::to_owned)
}
