//! Exclusions from Pod Security controls.
//!
//! In: the `exclude` list of a rule. Out: for each control what is exempt ([`Exempt`]). Semantics:
//! `docs/semantics/validate.md`, "Bodies" (exclusions): each entry is checked on a part of the pod,
//! and what is found there is no violation.

use ephor_ir::pod_security::{CONTROLS, Field, FieldCondition, FieldRequirement, LISTS};
use ephor_value::Value;

use super::super::scope::Scope;
use crate::expressions::refusal::{Refusal, Result};

/// An exclusion from a control.
pub(crate) struct Exclusion {
    control: String,
    /// The images of the containers that are exempt; none: the pod.
    images: Option<Vec<String>>,
    /// The values that a field may have; none: the whole control.
    values: Option<Allowed>,
}

/// Values that a field may have.
pub(crate) struct Allowed {
    /// The list of the containers, of which those with the images are exempt; none: a field of the
    /// pod.
    pub list: Option<(&'static str, Vec<String>)>,
    /// The field below the pod's spec, or below the container.
    field: String,
    /// Wildcards for the values.
    pub values: Vec<String>,
}

impl Allowed {
    /// Whether it is about a field of a control.
    pub fn is_of(&self, field: &Field) -> bool {
        self.field == written(field) || self.source_of(field).is_some()
    }

    /// The source of volumes that it names, where a field may have some sources only: its values do
    /// not matter.
    pub fn source_of(&self, field: &Field) -> Option<&str> {
        let FieldCondition::FirstKey(_, others) = field.condition else { return None };
        let key = self.field.strip_prefix(&written(field))?.strip_prefix('.')?;
        others.contains(&key).then_some(key)
    }
}

/// What is exempt from a control.
#[derive(Default)]
pub(crate) struct Exempt<'e> {
    /// The pod's own fields.
    pub pod: bool,
    /// Whether that is excluded before containers are, which matters where a container is exempt
    /// with the pod.
    pub is_pod_first: bool,
    /// Containers with these images.
    pub images: Vec<&'e str>,
    /// Values of fields.
    pub values: Vec<&'e Allowed>,
}

impl<'e> Exempt<'e> {
    /// What is exempt from a control of this name.
    pub fn of(control: &str, exclusions: &'e [Exclusion]) -> Exempt<'e> {
        let mut found = Exempt::default();
        for one in exclusions.iter().filter(|one| one.control == control) {
            match (&one.values, &one.images) {
                (Some(values), _) => found.values.push(values),
                (None, Some(images)) => {
                    found.is_pod_first |= found.pod;
                    found.images.extend(images.iter().map(String::as_str));
                }
                (None, None) => found.pod = true,
            }
        }
        found
    }

    /// Whether all containers are.
    pub fn has_all_containers(&self) -> bool {
        self.images.contains(&"*")
    }
}

/// The refusal of an exclusion of values.
pub(crate) fn of_values(scope: &Scope<'_>) -> Refusal {
    scope.refuse(
        "an exclusion of values from a Pod Security control",
        "exclude the control, or write its check",
    )
}

/// A field as exclusions name it: `volumes[*].hostPath`.
fn written(field: &Field) -> String {
    field.path.join(".").replace(".*", "[*]")
}

/// The values that an exclusion names; it must be about a field of its control, of containers where
/// it names images.
fn allowed(one: &Value, images: Option<&Vec<String>>, scope: &Scope<'_>) -> Result<Allowed> {
    let field = one.text_at(&["restrictedField"]);
    let values = one.get("values").and_then(Value::as_list).unwrap_or_default();
    let values: Vec<String> = values.iter().filter_map(Value::as_str).map(String::from).collect();
    let Some(below) = field.strip_prefix("spec.") else { return Err(of_values(scope)) };
    let of_list =
        LISTS.iter().find_map(|list| Some((*list, below.strip_prefix(list)?.strip_prefix("[*].")?)));
    let (list, field) = match (of_list, images) {
        (Some((list, field)), Some(images)) => (Some((list, images.clone())), field),
        (None, None) => (None, below),
        _ => return Err(of_values(scope)),
    };
    let own = Allowed { list, field: field.into(), values };
    let is_known = |requirement: &FieldRequirement| requirement.fields.iter().any(|field| own.is_of(field));
    let control = CONTROLS.iter().filter(|control| control.name == one.text_at(&["controlName"]));
    if !control.flat_map(|c| c.forms).flat_map(|form| form.requirements).any(is_known) {
        return Err(of_values(scope));
    }
    Ok(own)
}

/// The exclusions of a rule.
///
/// # Errors
/// One is about values of a field that no control has.
pub(crate) fn exclusions(written: &Value, scope: &Scope<'_>) -> Result<Vec<Exclusion>> {
    let mut found = Vec::new();
    for one in written.as_list().unwrap_or_default() {
        let images = one
            .get("images")
            .and_then(Value::as_list)
            .map(|items| items.iter().filter_map(Value::as_str).map(String::from).collect::<Vec<_>>());
        let images = images.filter(|images| !images.is_empty());
        let values = match one.text_at(&["restrictedField"]) {
            "" => None,
            _ => Some(allowed(one, images.as_ref(), scope)?),
        };
        found.push(Exclusion { control: one.text_at(&["controlName"]).into(), images, values });
    }
    Ok(found)
}
