//! Base64 and JSON in what signers send, with Go's words for what is wrong.

use ephor_document::decode_json;
use ephor_value::Value;
use ephor_value::bytes::decode_base64;

/// Why a text holds no content.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ContentError {
    /// Base64 that ends or goes wrong at a byte.
    #[error("illegal base64 data at input byte {0}")]
    Base64(usize),
    /// No JSON, in the words of its decoder.
    #[error("{0}")]
    Json(Box<str>),
    /// Nothing where JSON must be.
    #[error("EOF")]
    Empty,
    /// JSON of another type than Go's.
    #[error("json: cannot unmarshal {found} into Go value of type {wanted}")]
    Type {
        /// The type of the JSON value.
        found: &'static str,
        /// Go's type.
        wanted: &'static str,
    },
}

/// The bytes of a text in base64.
///
/// # Errors
/// It is none.
pub fn base64(text: &str) -> Result<Vec<u8>, ContentError> {
    decode_base64(text.as_bytes()).map_err(ContentError::Base64)
}

/// The value of JSON in bytes.
///
/// # Errors
/// They are none.
pub fn json(bytes: &[u8]) -> Result<Value, ContentError> {
    text(&String::from_utf8_lossy(bytes))
}

/// The value of JSON in a text.
///
/// # Errors
/// It is none.
pub fn text(text: &str) -> Result<Value, ContentError> {
    decode_json(text).map_err(|error| ContentError::Json(error.to_string().into()))
}
