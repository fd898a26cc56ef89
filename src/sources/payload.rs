//! Payload files: data that is no Kubernetes object, for policies that look at any document or at
//! check requests of a proxy.
//!
//! In: paths. Out: values, or the reference's text for a file that cannot be used. Where the
//! reference crashes on a document that is no object, this is an error as well.

use std::path::Path;

use super::files::reason;
use crate::document;
use crate::document::locate::locate_key;
use crate::functions::json::decode_json;
use crate::value::Value;
use crate::value::place::PathPart;
use crate::value::quote::quote;

/// What is said of a payload that is no object.
pub const NO_OBJECT: &str = "the payload must be an object";

/// Reads a payload of any form: the extension says whether it is JSON or YAML.
///
/// # Errors
/// The reference's text, or what is wrong with the document.
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

/// Reads a check request of an HTTP server.
///
/// # Errors
/// The reference's text.
pub fn http_request(path: &str) -> Result<Value, String> {
    let failed = |cause: String| format!("failed to parse HTTP payload from {path}: {cause}");
    let text = read(path).map_err(|e| failed(format!("failed to read HTTP payload file {path}: {e}")))?;
    match decode_json(&text).map_err(failed)? {
        value @ (Value::Map(_) | Value::Null) => Ok(value),
        other => {
            let found = match other {
                Value::List(_) => "array",
                Value::Str(_) => "string",
                Value::Bool(_) => "bool",
                _ => "number",
            };
            Err(failed(format!("json: cannot unmarshal {found} into Go value of type http.CheckRequest")))
        }
    }
}

/// Reads a check request of the proxy Envoy. What is inside of its attributes is not checked.
///
/// # Errors
/// The reference's text.
pub fn envoy_request(path: &str) -> Result<Value, String> {
    let failed = |cause: String| format!("failed to parse envoy payload from {path}: {cause}");
    let text = read(path).map_err(|e| failed(format!("failed to read envoy payload file {path}: {e}")))?;
    let value = decode_json(&text).map_err(|e| failed(format!("proto: syntax error: {e}")))?;
    let Some(fields) = value.as_map() else {
        return Err(failed(format!("proto: syntax error (line 1:1): unexpected token {}", text.trim())));
    };
    if let Some(unknown) = fields.keys().find(|k| &***k != "attributes") {
        let place = locate_key(&text, &[PathPart::Key(unknown.clone())]);
        let (line, column) = place.map_or((1, 1), |p| (p.line, p.col));
        return Err(failed(format!("proto: (line {line}:{column}): unknown field {}", quote(unknown))));
    }
    Ok(value)
}

fn read(path: &str) -> Result<String, String> {
    let bytes = std::fs::read(path).map_err(|e| format!("open {path}: {}", reason(&e)))?;
    document::split::utf8(&bytes).map(str::to_owned)
}
