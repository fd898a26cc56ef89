//! Payload files: data that is no Kubernetes object, for policies that read any document or at
//! check requests of a proxy.
//!
//! In: paths. Out: values, or Kyverno's text for a file that cannot be used. A document that is no
//! object is an error of our own.

use std::io;
use std::path::Path;

use super::files::reason;
use ephor_document::decode_json;
use ephor_document::locate::locate_key;
use ephor_functions::cel::proxy_types;
use ephor_ir::expressions::Proxy;
use ephor_value::place::PathPart;
use ephor_value::quote::quote;
use ephor_value::{Str, Value};

/// A payload that cannot be used.
#[derive(Debug, thiserror::Error)]
#[error("failed to load JSON payload ({cause})")]
pub struct PayloadError {
    /// Why not.
    #[source]
    pub cause: PayloadCause,
}

/// Why a payload cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PayloadCause {
    /// The file cannot be read.
    #[error(transparent)]
    File(#[from] PayloadFileError),
    /// It is no JSON, in the words of its decoder.
    #[error("{0}")]
    Json(Box<str>),
    /// It is no YAML, in the words of its decoder.
    #[error("{0}")]
    Yaml(Box<str>),
    /// The file has another extension; its path.
    #[error("unrecognized payload format, must be yaml or json ({0})")]
    Extension(Box<str>),
    /// It is no object; the path of its file.
    #[error("the payload must be an object ({0})")]
    NoObject(Box<str>),
}

/// A file that cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum PayloadFileError {
    /// It cannot be opened.
    #[error("open {path}: {}", reason(.cause))]
    Open {
        /// Its path.
        path: Box<str>,
        /// Why not.
        #[source]
        cause: io::Error,
    },
    /// It is no UTF-8, in the words of the reader of documents.
    #[error("{0}")]
    NotUtf8(Box<str>),
}

/// A check request that cannot be used.
#[derive(Debug, thiserror::Error)]
#[error("failed to parse {proxy} payload from {path}: {cause}")]
pub struct CheckError {
    /// The proxy as Kyverno names it.
    pub proxy: &'static str,
    /// The path of the file.
    pub path: Box<str>,
    /// Why not.
    #[source]
    pub cause: CheckCause,
}

/// Why a check request cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CheckCause {
    /// The file cannot be read.
    #[error("failed to read {proxy} payload file {path}: {cause}")]
    File {
        /// The proxy as Kyverno names it.
        proxy: &'static str,
        /// The path of the file.
        path: Box<str>,
        /// Why not.
        #[source]
        cause: PayloadFileError,
    },
    /// It is no JSON, in the words of its decoder.
    #[error("{0}")]
    Json(Box<str>),
    /// It is no object but this.
    #[error("json: cannot unmarshal {0} into Go value of type http.CheckRequest")]
    NoObject(&'static str),
    /// A field has another type.
    #[error("json: cannot unmarshal {found} into Go struct field {holder}.{path} of type {wanted}")]
    Field {
        /// What it is.
        found: &'static str,
        /// Go's structure of the field.
        holder: &'static str,
        /// The path of the field.
        path: Box<str>,
        /// Go's type of the field.
        wanted: &'static str,
    },
    /// It is no JSON for a proto message, in the words of the decoder.
    #[error("proto: syntax error: {0}")]
    ProtoJson(Box<str>),
    /// It begins with something else than an object.
    #[error("proto: syntax error (line 1:1): unexpected token {0}")]
    ProtoToken(Box<str>),
    /// The message has no such field, whose name is quoted.
    #[error("proto: (line {line}:{column}): unknown field {name}")]
    ProtoUnknown {
        /// The line.
        line: usize,
        /// The column.
        column: usize,
        /// The field.
        name: Box<str>,
    },
    /// A field of the message has another type.
    #[error("proto: (line {line}:{column}): invalid value for {wanted} field {name}: {found}")]
    ProtoField {
        /// The line.
        line: usize,
        /// The column.
        column: usize,
        /// The type of the field.
        wanted: &'static str,
        /// The field.
        name: Box<str>,
        /// Its value.
        found: Box<str>,
    },
}

/// Reads a payload of any form: the extension says whether it is JSON or YAML.
///
/// # Errors
/// The file cannot be read, or the document is no object.
pub fn any_form(path: &str) -> Result<Value, PayloadError> {
    object(path).map_err(|cause| PayloadError { cause })
}

fn object(path: &str) -> Result<Value, PayloadCause> {
    let text = read(path)?;
    let value = match Path::new(path).extension().and_then(|e| e.to_str()) {
        Some("json") => decode_json(&text).map_err(|error| PayloadCause::Json(error.to_string().into()))?,
        Some("yaml" | "yml") => yaml(&text)?,
        _ => return Err(PayloadCause::Extension(path.into())),
    };
    match value {
        Value::Map(_) => Ok(value),
        _ => Err(PayloadCause::NoObject(path.into())),
    }
}

fn yaml(text: &str) -> Result<Value, PayloadCause> {
    let malformed = |error: ephor_document::LoadError| PayloadCause::Yaml(error.problem.to_string().into());
    let documents =
        ephor_document::parse_stream("-", text, ephor_document::Duplicates::Error).map_err(malformed)?;
    let mut documents = documents.into_iter();
    match (documents.next(), documents.next()) {
        (Some(Ok(one)), None) => Ok(one.value),
        (Some(Err(error)), _) => Err(malformed(error)),
        // Several documents, or none, are a list.
        _ => Ok(Value::list(Vec::new())),
    }
}

/// Reads a check request of a proxy.
///
/// # Errors
/// The file cannot be read, or the document is no request.
pub fn check_request(path: &str, proxy: Proxy) -> Result<Value, CheckError> {
    let name = match proxy {
        Proxy::Http => "HTTP",
        Proxy::Envoy => "envoy",
    };
    let unread = |cause| CheckCause::File { proxy: name, path: path.into(), cause };
    let request = read(path).map_err(unread).and_then(|text| match proxy {
        Proxy::Http => http(&text),
        Proxy::Envoy => envoy(&text),
    });
    request.map_err(|cause| CheckError { proxy: name, path: path.into(), cause })
}

fn part<'v>(value: &'v Value, path: &[Str]) -> &'v Value {
    let keys: Vec<&str> = path.iter().map(|k| &**k).collect();
    value.at(&keys).unwrap_or(&Value::Null)
}

fn http(text: &str) -> Result<Value, CheckCause> {
    let value = decode_json(text).map_err(|error| CheckCause::Json(error.to_string().into()))?;
    if !matches!(value, Value::Map(_) | Value::Null) {
        return Err(CheckCause::NoObject(value.json_type()));
    }
    proxy_types::request(Proxy::Http.request(), &value).map_err(|unfit| CheckCause::Field {
        found: part(&value, &unfit.path).json_type(),
        holder: unfit.holder.rsplit('.').next().unwrap_or_default(),
        path: unfit.path.join(".").into(),
        wanted: unfit.wanted.unwrap_or_default(),
    })
}

fn envoy(text: &str) -> Result<Value, CheckCause> {
    let value = decode_json(text).map_err(|error| CheckCause::ProtoJson(error.to_string().into()))?;
    if value.as_map().is_none() {
        let token = if text.trim().starts_with('[') { "[" } else { text.trim() };
        return Err(CheckCause::ProtoToken(token.into()));
    }
    proxy_types::request(Proxy::Envoy.request(), &value).map_err(|unfit| {
        let path: Vec<PathPart> = unfit.path.iter().cloned().map(PathPart::Key).collect();
        let (line, column) = locate_key(text, &path).map_or((1, 1), |p| (p.line, p.col));
        let field = unfit.path.last().map(|k| &**k).unwrap_or_default();
        match unfit.wanted {
            None => CheckCause::ProtoUnknown { line, column, name: quote(field).into() },
            Some(wanted) => {
                let found = ephor_value::print::json(part(&value, &unfit.path)).into();
                CheckCause::ProtoField { line, column, wanted, name: field.into(), found }
            }
        }
    })
}

fn read(path: &str) -> Result<String, PayloadFileError> {
    let bytes = std::fs::read(path).map_err(|cause| PayloadFileError::Open { path: path.into(), cause })?;
    let text = ephor_document::split::utf8(&bytes).map(str::to_owned);
    text.map_err(|error| PayloadFileError::NotUtf8(error.to_string().into()))
}
