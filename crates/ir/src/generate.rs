//! What a rule makes.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::binding::Binding;
use super::expressions::Program;
use super::{Conditions, Origin, Query, Template};
use ephor_value::{Str, Value};

/// The body of a rule that makes objects.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Generation {
    /// Objects of one description.
    One(Described),
    /// Objects for each element of lists.
    ForEach(Box<[GenerationLoop]>),
    /// Objects that expressions hand over, in order.
    Expressions(Box<[Generator]>),
}

/// A description of objects: where they are to be, and what they hold or which objects they are
/// copies of. It is filled in as a whole.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Described {
    /// Where it is written.
    pub origin: Origin,
    /// API version, kind, namespace and name of the object; `data`, `clone` or `cloneList`.
    pub template: Template,
    /// Whether an object that exists is synchronised.
    #[serde(default, skip_serializing_if = "super::unset")]
    pub synchronize: bool,
}

/// Objects for the elements of a list.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct GenerationLoop {
    /// Where it is written.
    pub origin: Origin,
    /// The list.
    pub list: Query,
    /// Data of the loop, loaded anew for each element.
    #[serde(default, skip_serializing_if = "super::unset")]
    pub bindings: Box<[Arc<Binding>]>,
    /// Which elements count.
    #[serde(default, skip_serializing_if = "super::unset")]
    pub admit: Option<Conditions>,
    /// What is generated for each element.
    pub described: Described,
}

/// How expressions generate objects.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Generator {
    /// An expression that hands them over.
    Expression(Program),
    /// Documents, some with places to fill in.
    Documents(Box<[Draft]>),
}

/// A document, or a part of it, with places to fill in.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", remote = "Self")]
pub enum Draft {
    /// Nothing to fill in.
    Ready(Value),
    /// A place that is the whole value.
    Whole(Place),
    /// Text with places in it.
    Text(Box<[TextPart]>),
    /// A list.
    List(Box<[Draft]>),
    /// An object.
    Map(Box<[(Str, Draft)]>),
}

super::nested::node!(Draft, 260);

/// A place to fill in.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Place {
    /// The expression as written.
    pub text: Str,
    /// What fills it.
    pub program: Program,
}

/// A part of a text.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum TextPart {
    /// As it is.
    Literal(Str),
    /// To be filled in.
    Place(Place),
}
