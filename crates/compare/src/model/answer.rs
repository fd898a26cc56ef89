//! What a comparison came to: an [`Answer`], and the [`Difference`]s with their objects.

use std::sync::Arc;

use ephor_value::Value;

use crate::model::environment::Environment;
use crate::model::request::RequestContext;
use crate::model::verdict::{Effect, Judgement};

/// Whether two sides mean the same.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    /// They agree on every object.
    Proved,
    /// They agree on every object when this is the same for both, or is as they assume: external
    /// data, types of fields without a schema.
    ProvedRelative(Vec<String>),
    /// They agree on all objects that were tried; why that is no proof.
    Tested(Vec<String>),
    /// They differ.
    Differs,
    /// They have parts that cannot be compared.
    Incomparable(String),
}

impl Answer {
    /// The answer where no difference was found: why that is no proof, and what a proof is relative
    /// to.
    pub fn without_difference(reasons: Vec<String>, relative_to: Vec<String>) -> Answer {
        match (reasons.is_empty(), relative_to.is_empty()) {
            (true, true) => Answer::Proved,
            (true, false) => Answer::ProvedRelative(relative_to),
            (false, _) => Answer::Tested(reasons),
        }
    }

    /// Whether it is a proof.
    pub fn is_proved(&self) -> bool {
        matches!(self, Answer::Proved | Answer::ProvedRelative(_))
    }

    /// The word for it.
    pub fn name(&self) -> &'static str {
        match self {
            Answer::Proved => "proved",
            Answer::ProvedRelative(_) => "proved relative",
            Answer::Tested(_) => "tested",
            Answer::Differs => "differs",
            Answer::Incomparable(_) => "incomparable",
        }
    }
}

/// What a comparison came to.
#[derive(Clone, Debug)]
pub struct Comparison {
    /// Whether both sides mean the same.
    pub answer: Answer,
    /// The differences: one for each kind of them, the gravest first.
    pub differences: Vec<Difference>,
    /// Which side allows updates of objects that are violations already, where only one does.
    pub existing: Option<&'static str>,
    /// Whether both left the items of a list in another order, which alone is no difference.
    pub reordered: bool,
    /// How many objects were evaluated.
    pub objects: usize,
    /// The kinds that rules of a side select.
    pub kinds: Vec<String>,
    /// Why the objects that were evaluated do not stand for all, whatever the answer.
    pub reasons: Vec<String>,
    /// What a proof would be relative to, whatever the answer.
    pub relative_to: Vec<String>,
}

/// How two sides differ.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum DifferenceKind {
    /// The new side allows what the old one denies.
    Weaker,
    /// The new side denies what the old one allows.
    Stricter,
    /// Both are violated; what follows for the request is not the same.
    Action,
    /// Both are violated, one of them because of an error.
    Errors,
    /// They change objects, or generate them, in different ways.
    Result,
}

impl DifferenceKind {
    /// The word for it.
    pub fn name(self) -> &'static str {
        match self {
            DifferenceKind::Weaker => "weaker",
            DifferenceKind::Stricter => "stricter",
            DifferenceKind::Action => "action",
            DifferenceKind::Errors => "errors",
            DifferenceKind::Result => "result",
        }
    }
}

/// Where an object can exist; what may exist in clusters first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Universe {
    /// A Kubernetes API server admits it, and shows it to admission webhooks so that the sides
    /// differ.
    Cluster,
    /// Nothing is known about objects of its kind.
    Any,
    /// It fits the schema of its kind, as files do; an API server refuses it, or fills in what
    /// makes the sides agree.
    Files,
}

impl Universe {
    /// The words for it.
    pub fn name(self) -> &'static str {
        match self {
            Universe::Cluster => "in clusters",
            Universe::Files => "in files only",
            Universe::Any => "custom resources",
        }
    }
}

/// An object on which two sides differ.
#[derive(Clone, Debug)]
pub struct Difference {
    /// How they differ.
    pub kind: DifferenceKind,
    /// Where the object can exist.
    pub universe: Universe,
    /// Of which kind it is, and what is done with it.
    pub environment: Environment,
    /// Other kinds on which they differ in the same way.
    pub also: Vec<String>,
    /// The object; the one that goes away in deletions.
    pub object: Value,
    /// The former object of an update, where it is another one.
    pub old_object: Option<Value>,
    /// Who sends the request, and the namespace.
    pub around: Arc<RequestContext>,
    /// What the old side says.
    pub old: Judgement,
    /// What the new side says.
    pub new: Judgement,
}

impl Comparison {
    /// Whether it would be a proof with more objects.
    pub fn needs_more_objects(&self) -> bool {
        matches!(self.answer, Answer::Tested(_))
            && self.reasons.iter().all(|reason| reason.starts_with("too many combinations of"))
    }
}

impl Difference {
    /// Whether the new side lets something pass that the old one does not.
    pub fn is_weaker(&self) -> bool {
        self.kind == DifferenceKind::Weaker
            || (self.kind == DifferenceKind::Action && self.new.effect < self.old.effect)
    }

    /// Whether the new side refuses something that the old one does not.
    pub fn is_stricter(&self) -> bool {
        self.kind == DifferenceKind::Stricter
            || (self.kind == DifferenceKind::Action && self.new.effect > self.old.effect)
    }

    /// What follows for the request on the old side, and on the new one.
    pub fn effects(&self) -> [Effect; 2] {
        [self.old.effect, self.new.effect]
    }
}
