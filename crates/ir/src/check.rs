//! What a validate rule checks.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use ephor_value::{Str, Value};

use super::binding::Binding;
use super::expressions::Validation;
use super::late::Late;
use super::pod_security::{FieldRequirement, LISTS, Placed, of_level, version};
use super::shape::Pattern;
use super::{Conditions, Origin, Query, Template};

/// The check of a rule or of a loop.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", remote = "Self")]
pub enum Check {
    /// Fails when the conditions hold.
    Deny(Conditions),
    /// Passes when the object looks like the pattern.
    Pattern(Overlay, Origin),
    /// Passes when the object looks like one of the patterns.
    AnyPattern(Overlays, Origin),
    /// Checks each element of lists.
    ForEach(Box<[ForEach]>),
    /// Passes when every expression is true.
    Assert(Box<[Validation]>),
    /// Checks a pod against the Pod Security Standards.
    PodSecurity(PodSecurity),
    /// Nothing to check: no result.
    Nothing,
}

/// A pattern, ready or still to be filled in.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Overlay {
    /// Without variables.
    Ready(Arc<Pattern>),
    /// With variables: filled in for each request, then lowered.
    Dynamic(Template),
    /// A pattern that cannot be run.
    Broken(Str),
}

super::nested::node!(Check, 64);

impl Overlay {
    /// The pattern that a template becomes, ready if nothing is left to fill in.
    pub fn of(template: Template, late: &dyn Late) -> Overlay {
        match template {
            Template::Const(v) if !is_open(&v) => match late.pattern(&v) {
                Some(pattern) => Overlay::Ready(Arc::new(pattern)),
                None => Overlay::Broken(TOO_DEEP.into()),
            },
            template => Overlay::Dynamic(template),
        }
    }
}

/// A list of patterns, ready or still to be filled in.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Overlays {
    /// Without variables.
    Ready(Arc<[Pattern]>),
    /// With variables.
    Dynamic(Template),
    /// A list that cannot be run.
    Broken(Str),
}

impl Overlays {
    /// The patterns that a template becomes, ready if nothing is left to fill in.
    pub fn of(template: Template, late: &dyn Late) -> Overlays {
        match template {
            Template::Const(v) if is_open(&v) => Overlays::Dynamic(Template::Const(v)),
            Template::Const(Value::List(items)) => {
                match items.iter().map(|v| doubles(v, late)).collect::<Option<Vec<_>>>() {
                    Some(patterns) => Overlays::Ready(patterns.into()),
                    None => Overlays::Broken(TOO_DEEP.into()),
                }
            }
            Template::Const(v) => Overlays::Broken(not_a_list(&v).into()),
            template => Overlays::Dynamic(template),
        }
    }
}

/// One of several patterns: Kyverno decodes their list anew, which makes every number a double.
pub fn doubles(pattern: &Value, late: &dyn Late) -> Option<Pattern> {
    late.pattern(&pattern.with_float_numbers())
}

/// The text for a pattern that cannot be run.
pub const TOO_DEEP: &str = "the pattern nests too deeply";

/// Whether filling in once more may change a document: it was escaped, or data brought it in. The
/// reference fills patterns in again for the former object of an update
/// (`docs/semantics/validate.md`, "Existing violations").
pub fn is_open(filled: &Value) -> bool {
    filled.any_text(&|text| text.contains("{{") || text.contains("$("))
}

/// A loop over the elements of a list.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ForEach {
    /// Where it is written.
    pub origin: Origin,
    /// The list.
    pub list: Query,
    /// Whether patterns see the element instead of the object; `None` = when it is an object.
    #[serde(default, skip_serializing_if = "super::unset")]
    pub element_scope: Option<bool>,
    /// Data of the loop, loaded anew for each element.
    #[serde(default, skip_serializing_if = "super::unset")]
    pub bindings: Box<[Arc<Binding>]>,
    /// Which elements are checked.
    #[serde(default, skip_serializing_if = "super::unset")]
    pub admit: Option<Conditions>,
    /// What is checked.
    pub check: Check,
}

/// Pod Security Standards.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct PodSecurity {
    /// Level as written.
    pub level: Str,
    /// Version as written.
    pub version: Str,
    /// The `exclude` list as written.
    pub exclude: Value,
    /// The part that counts; `None`: all controls of the level.
    #[serde(default, skip_serializing_if = "super::unset")]
    pub only: Option<ControlPart>,
}

/// A part of a control. A pod violates a control when it violates a part of it.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ControlPart {
    /// The id of the control's check.
    pub control: Str,
    /// The field; `None`: all.
    #[serde(default, skip_serializing_if = "super::unset")]
    pub field: Option<FieldPart>,
}

/// What a requirement of a control says of one field.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct FieldPart {
    /// The position of the requirement.
    pub requirement: usize,
    /// The position of the field in it.
    pub field: usize,
    /// Whose field.
    pub of: Whose,
    /// Whether what exempts a pod counts: its operating system, its own field in place of those of
    /// containers.
    pub exempts: bool,
    /// Whether pods count only that meet the requirements before it, exclusions aside.
    #[serde(default, skip_serializing_if = "super::unset")]
    pub after: bool,
}

/// Whose fields count.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Whose {
    /// The pod's.
    Pod,
    /// Those of the items of the list of containers at this position ([`LISTS`]).
    Containers(usize),
    /// Annotations.
    Annotations,
    /// None: only what exempts a pod is evaluated.
    Around,
}

impl Whose {
    /// Whether the fields of a list of containers count.
    pub fn has_list(self, list: &str) -> bool {
        matches!(self, Whose::Containers(at) if LISTS.get(at) == Some(&list))
    }
}

impl PodSecurity {
    /// The controls of the level in the form of the version: fields and what they may hold. `None`
    /// for a version that is none.
    pub fn controls(&self) -> Option<impl Iterator<Item = Placed> + '_> {
        let counts =
            |placed: &Placed| self.only.as_ref().is_none_or(|only| *only.control == *placed.control.id);
        version(&self.version).map(|version| of_level(&self.level, version).filter(counts))
    }

    /// Whether nothing of a control counts: it is excluded for the pod and for containers with any
    /// image. Annotations that are those of containers are not excluded with either, and what is
    /// found without fields never is.
    pub fn is_excluded(&self, placed: &Placed) -> bool {
        let mut all = placed.form.requirements.iter();
        let stays =
            |own: &FieldRequirement| !own.shows_fields || own.annotations.is_some_and(|a| a.of_containers);
        let entries = || self.exclude.as_list().unwrap_or_default().iter();
        let has = |is: &dyn Fn(&[Value]) -> bool| {
            entries().any(|entry| {
                let texts = |key| entry.get(key).and_then(Value::as_list).unwrap_or_default();
                entry.text_at(&["controlName"]) == placed.control.name
                    && entry.text_at(&["restrictedField"]).is_empty()
                    && texts("values").is_empty()
                    && is(texts("images"))
            })
        };
        !all.any(stays)
            && has(&<[Value]>::is_empty)
            && has(&|images| images.iter().any(|image| image.as_str() == Some("*")))
    }

    /// The field that counts; `None`: all.
    pub fn field(&self) -> Option<FieldPart> {
        self.only.as_ref().and_then(|only| only.field)
    }
}

/// The text for a list of patterns that is none.
pub fn not_a_list(v: &Value) -> String {
    let found = v.json_type();
    format!(
        "failed to deserialize anyPattern, expected type array: json: cannot unmarshal {found} into Go value of type []interface {{}}"
    )
}
