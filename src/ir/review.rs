//! Reviews: policies whose one rule is a list of expressions over the request.
//!
//! Unlike [`super::expressions::Expressions`], which are a rule's check, a review has conditions, data and
//! reporting of its own, and its variants for other kinds are rules of the same name.

use std::sync::Arc;

use regex::Regex;

use crate::value::{Map, Str, Value};

use super::Rule;
use super::expressions::{Lazy, Program, Source, Verdict};

/// A review.
#[derive(Clone, Debug)]
pub struct Review {
    /// Conditions that must all be true.
    pub admit: Box<[Source]>,
    /// Values under names.
    pub lazies: Box<[Lazy]>,
    /// What is decided or made.
    pub body: Deed,
    /// Texts for reports.
    pub annotations: Box<[Annotation]>,
    /// A failing condition means that the policy does not apply.
    pub lenient: bool,
    /// What expressions see.
    pub view: View,
}

/// What a review decides or makes.
#[derive(Clone, Debug)]
pub enum Deed {
    /// Verdicts, in order.
    Verdicts(Box<[Verdict]>),
    /// Changes, in order.
    Changes {
        /// They.
        changes: Box<[Change]>,
        /// Values that have no parts to merge are replaced as a whole.
        replaces: bool,
        /// The same for objects that exist already, when they are to be changed too.
        targets: Option<Arc<Rule>>,
    },
    /// Objects, in order.
    Objects(Box<[Making]>),
    /// Whether the object is to be deleted: when all conditions hold.
    Deletion,
    /// Answers to a proxy, of which the first that is not null counts.
    Answers(Box<[Program]>),
    /// Verdicts about images, or why there are none: faults of the policy are told with every request.
    Images(Arc<Result<ImageReview, Str>>),
}

/// Verdicts about images, with what they may ask.
#[derive(Clone, Debug)]
pub struct ImageReview {
    /// With which credentials registries are asked.
    pub credentials: Value,
    /// The images that it is about; empty = all.
    pub references: Box<[Reference]>,
    /// Lists of images besides those of containers.
    pub extractors: Box<[(Str, Program)]>,
    /// Who may have signed.
    pub attestors: Box<[Attestor]>,
    /// What may be stated, by name.
    pub attestations: Box<[Attestation]>,
    /// Images must have a digest.
    pub verify_digest: bool,
    /// Somebody must have looked at the signatures of every image.
    pub required: bool,
    /// The verdicts, in order.
    pub verdicts: Box<[Verdict]>,
}

/// Images that a policy is about.
#[derive(Clone, Debug)]
pub enum Reference {
    /// Those that a pattern matches.
    Pattern(Regex),
    /// Those for which an expression is true.
    Expression(Program),
}

/// Who may have signed.
#[derive(Clone, Debug)]
pub struct Attestor {
    /// Under this name.
    pub name: Str,
    /// As written.
    pub written: Value,
    /// Parts of it that expressions give: where, and the expression.
    pub computed: Box<[(Box<[Str]>, Program)]>,
}

/// What may be stated about images.
#[derive(Clone, Debug)]
pub struct Attestation {
    /// Under this name.
    pub name: Str,
    /// Of this type.
    pub kind: Str,
    /// It is an artifact that refers to the image, not a signed statement.
    pub refers: bool,
}

/// A change of the object.
#[derive(Clone, Debug)]
pub struct Change {
    /// How its value is applied.
    pub how: Applied,
    /// What computes it.
    pub program: Program,
}

/// How a change is applied.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Applied {
    /// As a JSON patch.
    JsonPatch,
    /// Merged by the schema of the kind.
    Merge,
}

/// How objects are made.
#[derive(Clone, Debug)]
pub enum Making {
    /// An expression that hands them over.
    Expression(Program),
    /// Documents, some with places to fill in.
    Documents(Box<[Draft]>),
}

/// A document, or a part of it, with places to fill in.
#[derive(Clone, Debug)]
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

/// A place to fill in.
#[derive(Clone, Debug)]
pub struct Place {
    /// The expression as written.
    pub text: Str,
    /// What fills it.
    pub program: Program,
}

/// A part of a text.
#[derive(Clone, Debug)]
pub enum TextPart {
    /// As it is.
    Literal(Str),
    /// To be filled in.
    Place(Place),
}

/// A text for reports under a key.
#[derive(Clone, Debug)]
pub struct Annotation {
    /// The key.
    pub key: Str,
    /// What makes the text.
    pub program: Program,
}

/// What expressions see.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum View {
    /// The request.
    Request,
    /// The object alone.
    Payload,
    /// Each pod template below the object's `spec` in turn, as if it were a pod.
    Templates,
    /// A check request of a proxy.
    Check(Proxy),
}

/// Whose check requests expressions are about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Proxy {
    /// An HTTP server's.
    Http,
    /// Envoy's.
    Envoy,
}

impl Proxy {
    /// The type of check requests.
    pub fn request(self) -> &'static str {
        match self {
            Proxy::Http => "http.CheckRequest",
            Proxy::Envoy => "envoy.service.auth.v3.CheckRequest",
        }
    }

    /// The type of answers.
    pub fn response(self) -> &'static str {
        match self {
            Proxy::Http => "http.CheckResponse",
            Proxy::Envoy => "envoy.service.auth.v3.CheckResponse",
        }
    }
}

/// An exception from reviews.
#[derive(Clone, Debug)]
pub struct Exemption {
    /// `namespace/name`, or the name alone.
    pub key: Str,
    /// Its name.
    pub name: Str,
    /// The policies: name and kind.
    pub policies: Box<[(Str, Str)]>,
    /// Conditions that must all be true.
    pub admit: Box<[Source]>,
    /// Images that the policy shall let pass.
    pub images: Box<[Value]>,
    /// Values that the policy shall let pass.
    pub values: Box<[Value]>,
    /// The result is a pass instead of a skip.
    pub passes: bool,
    /// Of several, the highest decides; 0 = none given.
    pub priority: u64,
    /// When it expires, in nanoseconds since 1970; `None` = never.
    pub expires: Option<i128>,
}

impl Exemption {
    /// Whether it names the policy.
    pub fn names(&self, kind: &str, name: &str) -> bool {
        self.policies.iter().any(|(n, k)| **n == *name && **k == *kind)
    }

    /// Whether it leaves nothing to be decided.
    pub fn is_full(&self) -> bool {
        self.images.is_empty() && self.values.is_empty()
    }
}

/// The value of `exceptions` for expressions.
pub fn exceptions_value(images: Vec<Value>, values: Vec<Value>) -> Value {
    let mut m = Map::new();
    m.insert("allowedImages", Value::list(images));
    m.insert("allowedValues", Value::list(values));
    Value::Map(m)
}
