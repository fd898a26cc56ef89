//! The IR as JSON: what `ephor explain --output json` prints and what can be read back and
//! evaluated.
//!
//! In: lowered policies and exceptions, or JSON. Out: the other. Every node is written by derive,
//! under the names of its Rust type; `docs/internals/ir-json.md` lists them. What follows from
//! other parts (compiled wildcards, prepared operands, hashed lists) is not written but rebuilt.
//! What is read may come from anyone: size, nesting and names are checked, and what does not fit is
//! an error, never left out.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::admission::PolicyBinding;
use super::cel_exception::CelException;
use super::policy::Cleanup;
use super::{Exception, Policy};
use ephor_value::Str;

/// The version that is written and read.
pub const API_VERSION: &str = "ephor.dev/ir/v1";

/// The largest text that is read, in bytes. Larger texts are refused.
const MAX_BYTES: usize = 256 << 20;

/// How deeply lists and objects of a text may nest. About ten levels of text for each of the 1,024
/// that expressions may nest; deeper texts are refused.
const MAX_LEVELS: usize = 12_000;

/// Policies and exceptions as one document.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Bundle {
    /// Which version of the format this is.
    pub api_version: Version,
    /// The policies, in the order in which they count.
    #[serde(default, skip_serializing_if = "super::unset")]
    pub policies: Vec<Arc<Policy>>,
    /// Exceptions of `kyverno.io`.
    #[serde(default, skip_serializing_if = "super::unset")]
    pub exceptions: Vec<Exception>,
    /// Exceptions of `policies.kyverno.io`.
    #[serde(default, skip_serializing_if = "super::unset")]
    pub cel_exceptions: Vec<CelException>,
    /// Bindings of Kubernetes' own policies, in order.
    #[serde(default, skip_serializing_if = "super::unset")]
    pub bindings: Vec<PolicyBinding>,
    /// Cleanup policies.
    #[serde(default, skip_serializing_if = "super::unset")]
    pub cleanups: Vec<Cleanup>,
}

/// [`API_VERSION`], the only one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "Str", into = "String")]
pub struct Version;

impl TryFrom<Str> for Version {
    type Error = OtherVersion;

    fn try_from(text: Str) -> Result<Self, OtherVersion> {
        if *text == *API_VERSION { Ok(Version) } else { Err(OtherVersion(text)) }
    }
}

/// A version that is not [`API_VERSION`].
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "apiVersion `{0}` cannot be read, only `{API_VERSION}`; write the policies anew with `ephor explain --output json`"
)]
pub struct OtherVersion(pub Str);

impl From<Version> for String {
    fn from(Version: Version) -> String {
        API_VERSION.into()
    }
}

/// Why the IR cannot be written as JSON or read from it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum JsonError {
    /// A part of a policy has no form in JSON; the text is that of `serde_json`.
    #[error("the IR cannot be written: {0}")]
    Unwritable(String),
    /// The text has more bytes than are read.
    #[error("{0} bytes are more than the {MAX_BYTES} that are read")]
    TooLarge(usize),
    /// Lists and objects nest too deeply.
    #[error("lists and objects nest more than {MAX_LEVELS} levels")]
    TooDeep,
    /// It is no JSON, or no IR; the text is that of `serde_json`, with line and column.
    #[error("{0}")]
    Malformed(String),
}

impl Bundle {
    /// The bundle as JSON on one line.
    ///
    /// # Errors
    /// A constant is of a kind that only a run of expressions has.
    pub fn write(&self) -> Result<String, JsonError> {
        serde_json::to_string(self).map_err(|e| JsonError::Unwritable(e.to_string()))
    }

    /// The bundle of a JSON text.
    ///
    /// # Errors
    /// The text is too large or too deep, of another version, or has a node, field or function that
    /// does not exist.
    pub fn read(text: &str) -> Result<Bundle, JsonError> {
        read(text)
    }
}

/// Whether a text is written as the IR is, in this version or another: an object whose first key is
/// the `apiVersion`.
pub fn is_written(text: &str) -> bool {
    let mut rest = text;
    ["{", "\"apiVersion\"", ":", "\"ephor.dev/ir/"].iter().all(|token| {
        let found = rest.trim_start().strip_prefix(token);
        rest = found.unwrap_or_default();
        found.is_some()
    })
}

/// The node or bundle of a JSON text.
///
/// # Errors
/// As [`Bundle::read`].
pub fn read<T: for<'de> Deserialize<'de>>(text: &str) -> Result<T, JsonError> {
    if text.len() > MAX_BYTES {
        return Err(JsonError::TooLarge(text.len()));
    }
    if levels(text) > MAX_LEVELS {
        return Err(JsonError::TooDeep);
    }
    let mut from = serde_json::Deserializer::from_str(text);
    // Nesting was measured; what recurses takes another stack segment when little is left.
    from.disable_recursion_limit();
    let read = T::deserialize(&mut from).and_then(|node| from.end().map(|()| node));
    read.map_err(|e| JsonError::Malformed(e.to_string()))
}

/// How deeply lists and objects nest.
fn levels(text: &str) -> usize {
    let (mut level, mut most, mut is_text, mut is_escaped) = (0usize, 0, false, false);
    for byte in text.bytes() {
        match byte {
            _ if is_escaped => is_escaped = false,
            b'\\' if is_text => is_escaped = true,
            b'"' => is_text = !is_text,
            b'[' | b'{' if !is_text => {
                level += 1;
                most = most.max(level);
            }
            b']' | b'}' if !is_text => level = level.saturating_sub(1),
            _ => {}
        }
    }
    most
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;
    use crate::condition::Prepared;
    use crate::expr::Missing;
    use crate::{Condition, Expr, Operator};
    use ephor_value::Value;

    fn error<T: for<'de> Deserialize<'de> + std::fmt::Debug>(text: &str) -> String {
        read::<T>(text).unwrap_err().to_string()
    }

    #[test]
    fn other_versions_are_refused_with_a_hint() {
        assert_eq!(
            error::<Bundle>(r#"{"apiVersion":"ephor.dev/ir/v2","policies":[]}"#),
            "apiVersion `ephor.dev/ir/v2` cannot be read, only `ephor.dev/ir/v1`; \
             write the policies anew with `ephor explain --output json` at line 1 column 31"
        );
        assert_eq!(error::<Bundle>("{}"), "missing field `apiVersion` at line 1 column 2");
    }

    #[test]
    fn a_text_is_the_ir_when_its_first_key_is_the_version() {
        assert!(is_written(" {\n \"apiVersion\" : \"ephor.dev/ir/v7\""));
        assert!(!is_written(r#"{"kind":"A","apiVersion":"ephor.dev/ir/v1"}"#));
        assert!(!is_written(r#"{"apiVersion":"kyverno.io/v1"}"#));
        assert!(!is_written(""));
    }

    #[test]
    fn unknown_nodes_fields_and_functions_are_refused_by_name() {
        for (text, part) in [
            (r#"{"nothing":1}"#, "unknown variant `nothing`"),
            (r#"{"path":{"base":"root","keys":["a"],"scalar":"null","more":1}}"#, "unknown field `more`"),
            (r#"{"path":{"base":"root","keys":["a"]}}"#, "missing field `scalar`"),
            (r#"{"call":{"function":"lenght","args":[]}}"#, "no function of JMESPath is called `lenght`"),
            (r#"{"invoke":{"function":"length","known":{}}}"#, "no function of CEL is called `length`"),
            (r#"{"const":{"$quantity":"1Zi"}}"#, "`1Zi` is not a `$quantity`"),
            (r#""root" "root""#, "trailing characters"),
        ] {
            let error = error::<Expr>(text);
            assert!(error.contains(part), "{text}: {error}");
        }
    }

    fn nested(levels: usize) -> String {
        format!("{}\"root\"{}", r#"{"not":"#.repeat(levels), "}".repeat(levels))
    }

    #[test]
    fn expressions_are_read_as_deep_as_lowering_makes_them_and_no_deeper() {
        let deepest: Expr = read(&nested(1023)).unwrap();
        assert_eq!(serde_json::to_string(&deepest).unwrap(), nested(1023));
        assert!(error::<Expr>(&nested(1024)).starts_with("nodes nest more than 1024 levels"));
        // What was refused leaves nothing behind.
        assert!(read::<Expr>(&nested(1023)).is_ok());
    }

    #[test]
    fn constants_are_read_as_deep_as_values_may_nest() {
        let list = |levels: usize| format!("{}{}", "[".repeat(levels), "]".repeat(levels));
        assert!(read::<Value>(&list(10_000)).is_ok());
        assert_eq!(read::<Value>(&list(MAX_LEVELS + 1)).unwrap_err(), JsonError::TooDeep);
        assert_eq!(read::<Value>(&format!("[{:?}]", list(MAX_LEVELS + 1))).map(|_| ()), Ok(()));
    }

    #[test]
    fn right_sides_of_conditions_are_prepared_when_they_are_read() {
        let text = r#"{"origin":{"path":"a","inserted":0},"key":{"const":1},"operator":"equals","value":{"const":"1Gi"},"message":""}"#;
        let read: Condition = read(text).unwrap();
        let prepared = Prepared::new(Operator::Equals, Value::from("1Gi"));
        assert_eq!(format!("{:?}", read.prepared), format!("{:?}", Some(prepared)));
        assert_eq!(serde_json::to_string(&read).unwrap(), text);
    }

    #[test]
    fn constants_of_a_run_cannot_be_written() {
        let check = ephor_value::object::Check::default();
        let expr = Expr::Const(Value::object(ephor_value::Object::Check(check)));
        let expr = Expr::get(expr, "a".into(), Missing::Null);
        let error = serde_json::to_string(&expr).unwrap_err().to_string();
        assert_eq!(error, "a value of type `kubernetes.authorization.Authorizer` cannot be written");
    }
}
