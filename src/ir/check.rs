//! What a validate rule checks.

use std::sync::Arc;

use crate::value::{Str, Value};

use super::rule::Binding;
use super::shape::Pattern;
use super::{Conditions, Origin, Query, Template};

/// The check of a rule or of a loop.
#[derive(Clone, Debug)]
pub enum Check {
    /// Fails when the conditions hold.
    Deny(Conditions),
    /// Passes when the object looks like the pattern.
    Pattern(Overlay, Origin),
    /// Passes when the object looks like one of the patterns.
    AnyPattern(Overlays, Origin),
    /// Checks each element of lists.
    ForEach(Box<[ForEach]>),
    /// Nothing to check: no result.
    Nothing,
}

/// A pattern, ready or still to be filled in.
#[derive(Clone, Debug)]
pub enum Overlay {
    /// Without variables.
    Ready(Arc<Pattern>),
    /// With variables: filled in for each request, then lowered.
    Dynamic(Template, LowerPattern),
    /// A pattern that cannot be run.
    Broken(Str),
}

/// A list of patterns, ready or still to be filled in.
#[derive(Clone, Debug)]
pub enum Overlays {
    /// Without variables.
    Ready(Arc<[Pattern]>),
    /// With variables.
    Dynamic(Template, LowerPattern),
    /// A list that cannot be run.
    Broken(Str),
}

/// Makes a pattern of a document that is known only at run time.
pub type LowerPattern = fn(&Value) -> Option<Pattern>;

/// A loop over the elements of a list.
#[derive(Clone, Debug)]
pub struct ForEach {
    /// Where it is written.
    pub origin: Origin,
    /// The list.
    pub list: Query,
    /// Whether patterns see the element instead of the object; `None` = when it is an object.
    pub element_scope: Option<bool>,
    /// Data of the loop, loaded anew for each element.
    pub bindings: Box<[Arc<Binding>]>,
    /// Which elements are checked.
    pub admit: Option<Conditions>,
    /// What is checked.
    pub check: Check,
}

/// Pod Security Standards.
#[derive(Clone, Debug)]
pub struct PodSecurity {
    /// Level as written.
    pub level: Str,
    /// Version as written.
    pub version: Str,
    /// The `exclude` list as written.
    pub exclude: Value,
}

/// The text for a list of patterns that is none.
pub fn not_a_list(v: &Value) -> String {
    let found = match v {
        Value::Map(_) => "object",
        Value::Str(_) => "string",
        Value::Bool(_) => "bool",
        _ => "number",
    };
    format!(
        "failed to deserialize anyPattern, expected type array: json: cannot unmarshal {found} into Go value of type []interface {{}}"
    )
}
