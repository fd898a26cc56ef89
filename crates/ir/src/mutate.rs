//! What a rule changes.
//!
//! A mutation is a patch, or loops of patches, for the object of the request or for other objects.
//! Patches are laid ready as far as they do not depend on the request: an overlay without anchors
//! is a plain document, conditions are compiled patterns, JSON patches are decoded operations.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use ephor_patch::JsonPatch;
use ephor_value::{Map, Str, Value};

use super::binding::Binding;
use super::expressions::{ExpressionPatch, Source};
use super::shape::{Anchor, Pattern};
use super::{Conditions, Origin, Query, Rule, Template};

/// The body of a rule that changes objects.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Mutation {
    /// The change.
    pub change: Change,
    /// Other parts of the rule that hold variables: they are filled in with the patch and can fail.
    #[serde(default, skip_serializing_if = "super::unset")]
    pub other_templates: Box<[Template]>,
    /// The objects that are changed instead of that of the request.
    #[serde(default, skip_serializing_if = "super::unset")]
    pub targets: Option<Box<[MutationTarget]>>,
    /// The objects that exist already and are changed after the request.
    #[serde(default, skip_serializing_if = "super::unset")]
    pub existing: Option<Box<ExistingObjects>>,
}

/// Objects that exist already, and how they are changed.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ExistingObjects {
    /// What changes each of them; it selects the objects, unless an expression returns them.
    pub rule: Arc<Rule>,
    /// The expression that returns one object, or a list of objects.
    #[serde(default, skip_serializing_if = "super::unset")]
    pub returned_by: Option<Source>,
    /// Whether they are other objects than that of the request, which stays as it is then.
    #[serde(default, skip_serializing_if = "super::unset")]
    pub others: bool,
}

/// A patch, or loops of patches.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", rename_all_fields = "camelCase", deny_unknown_fields)]
pub enum Change {
    /// One patch.
    Patch(Patch, Origin),
    /// A patch for each element of lists.
    ForEach(Box<[PatchLoop]>),
    /// Patches that expressions give, in order; each sees what the one before it left.
    Expressions {
        /// The patches.
        #[serde(default, skip_serializing_if = "super::unset")]
        patches: Box<[ExpressionPatch]>,
        /// Values that have no parts to merge are replaced as a whole.
        #[serde(default, skip_serializing_if = "super::unset")]
        replaces_atomic: bool,
        /// They run again after others have changed the object (`reinvocationPolicy: IfNeeded`).
        #[serde(default, skip_serializing_if = "super::unset")]
        reinvoked: bool,
    },
}

/// How an object is changed.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Patch {
    /// A document is laid over it.
    Merge(Merge),
    /// A JSON patch is run.
    Json(Json),
    /// In no way: an error.
    Empty,
}

/// A document to be laid over an object.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Merge {
    /// Without variables.
    Ready(Arc<Layer>),
    /// With variables: filled in for each request, then lowered.
    Dynamic(Template),
}

/// A JSON patch.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Json {
    /// Without variables: decoded, or why it cannot be.
    Ready(Result<Arc<JsonPatch>, Str>),
    /// With variables: filled in for each request, then decoded.
    Dynamic(Template),
}

/// A document that is laid over objects.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Layer {
    /// Without anchors: merged as it is.
    Plain(Value),
    /// With anchors, or no object at all: they are decided for each object.
    Anchored(Node),
}

/// A document with anchors.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", remote = "Self")]
pub enum Node {
    /// A scalar.
    Scalar(Value),
    /// A list.
    List(Vec<Node>),
    /// An object, ascending by its keys as written; a key may come twice once its anchor is gone.
    Map(Vec<Member>),
}

super::nested::node!(Node, 260);

/// A member of an object with anchors.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Member {
    /// The key without its anchor.
    pub key: Str,
    /// The key as written.
    pub raw: Str,
    /// The anchor: none, a condition, a global condition, or add-if-absent. Others mean nothing
    /// here.
    pub anchor: Anchor,
    /// What the object must look like there, for conditions.
    #[serde(default, skip_serializing_if = "super::unset")]
    pub test: Option<Arc<Pattern>>,
    /// The value.
    pub value: Node,
}

impl Node {
    /// Whether this is null or a collection without anything in it.
    pub fn is_empty(&self) -> bool {
        match self {
            Node::Scalar(v) => v.is_null(),
            Node::List(items) => items.is_empty(),
            Node::Map(members) => members.is_empty(),
        }
    }

    /// The document as it is written now; of keys that come twice the first counts.
    pub fn to_value(&self) -> Value {
        match self {
            Node::Scalar(v) => v.clone(),
            Node::List(items) => Value::list(items.iter().map(Node::to_value).collect()),
            Node::Map(members) => {
                let mut map = Map::new();
                for m in members {
                    if !map.contains_key(&m.raw) {
                        map.insert(m.raw.clone(), m.value.to_value());
                    }
                }
                Value::Map(map)
            }
        }
    }
}

impl Member {
    /// Takes the anchor away.
    pub fn lose_anchor(&mut self) {
        self.raw = self.key.clone();
        self.anchor = Anchor::None;
        self.test = None;
    }
}

/// Patches for the elements of a list.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct PatchLoop {
    /// Where it is written.
    pub origin: Origin,
    /// The list.
    pub list: Query,
    /// Whether the last element comes first.
    #[serde(default, skip_serializing_if = "super::unset")]
    pub descending: bool,
    /// Data of the loop, loaded anew for each element.
    #[serde(default, skip_serializing_if = "super::unset")]
    pub bindings: Box<[Arc<Binding>]>,
    /// Which elements count.
    #[serde(default, skip_serializing_if = "super::unset")]
    pub admit: Option<Conditions>,
    /// What is done for each element.
    pub change: Change,
}

/// Objects to be changed.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct MutationTarget {
    /// Where it is written.
    pub origin: Origin,
    /// API version, kind, namespace, name, selector.
    pub wanted: Template,
    /// Data, loaded for each object.
    #[serde(default, skip_serializing_if = "super::unset")]
    pub bindings: Box<[Arc<Binding>]>,
    /// Which objects are changed.
    #[serde(default, skip_serializing_if = "super::unset")]
    pub admit: Option<Conditions>,
}
