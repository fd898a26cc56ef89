//! Excluding controls from what the checks found.
//!
//! In: findings, and the `exclude` entries of a rule or the `podSecurity` entries of an exception.
//! Out: the findings that remain. Each entry runs the checks again on a part of the pod (the fields
//! of the pod with one empty container, or only the containers whose image is named) and every
//! error that comes out there and fits the entry takes away one error of the original findings. The
//! semantics' source is `docs/semantics/validate.md`, "Bodies" (exclusions).

use std::borrow::Cow;

use ephor_ir::check::PodSecurity;
use ephor_value::Value;
use ephor_value::wildcard;

use super::checks;
use super::finding::{FieldError, Finding};
use super::pod::Pod;
use super::seen::WordedFinding;

/// The findings that are left after `entries`.
pub fn apply<'f>(
    findings: Vec<Cow<'f, WordedFinding>>,
    entries: &Value,
    pod: &Pod<'_>,
    check: &PodSecurity,
) -> Vec<Cow<'f, WordedFinding>> {
    let entries = entries.as_list().unwrap_or_default();
    if entries.is_empty() {
        return findings;
    }
    let mut left: Vec<RemainingErrors<'_>> =
        findings.iter().map(|f| RemainingErrors { of: &f.finding, errors: None }).collect();
    for entry in entries {
        let Exclusion { control, images, field, values } = Exclusion::new(entry);
        if left.iter().all(|l| l.is_gone() || l.of.control != control) {
            continue;
        }
        let by_image = !images.is_empty();
        for found in part(pod, images, control, check) {
            let is_it = |l: &&mut RemainingErrors<'_>| !l.is_gone() && l.of.id == found.id;
            let Some(original) = left.iter_mut().find(is_it) else { continue };
            for error in &found.errors {
                let fits = (field.is_empty() || general(field.bytes(), error.field.bytes()))
                    && (values.is_empty() || error.bad.all(|v| any_matches(values, v)));
                if fits {
                    original.remove_one(error, by_image);
                }
            }
            // Without errors a finding goes, also where it had none.
            if original.of.errors.is_empty() {
                original.errors = Some(Vec::new());
            }
        }
    }
    let remaining: Vec<Option<Vec<usize>>> = left.into_iter().map(|l| l.errors).collect();
    let rest = |(shown, remaining): (Cow<'f, WordedFinding>, Option<Vec<usize>>)| match remaining {
        None => Some(shown),
        Some(remaining) if remaining.is_empty() => None,
        Some(remaining) => {
            let f = &shown.finding;
            let errors = remaining.iter().filter_map(|at| f.errors.get(*at).cloned()).collect();
            let finding = Finding { detail: f.detail.clone(), errors, ..*f };
            Some(Cow::Owned(WordedFinding { finding, text: None }))
        }
    };
    findings.into_iter().zip(remaining).filter_map(rest).collect()
}

/// A finding and the errors that it still has.
struct RemainingErrors<'f> {
    of: &'f Finding,
    /// Positions of its errors in their order by now; `None` = as they were.
    errors: Option<Vec<usize>>,
}

impl RemainingErrors<'_> {
    fn is_gone(&self) -> bool {
        self.errors.as_ref().is_some_and(Vec::is_empty)
    }

    /// Removes the first error of the same field; of the same container when images are named. The
    /// last error takes its place, which decides about the next removal (Kyverno's behaviour).
    fn remove_one(&mut self, error: &FieldError, by_image: bool) {
        let all = &self.of.errors;
        let errors = self.errors.get_or_insert_with(|| (0..all.len()).collect());
        let is_same = |e: &FieldError| {
            general(generalised(error.field.bytes()), e.field.bytes())
                && (!by_image || e.container == error.container)
        };
        if let Some(at) = errors.iter().position(|at| all.get(*at).is_some_and(is_same)) {
            errors.swap_remove(at);
        }
    }
}

/// An entry, read.
struct Exclusion<'a> {
    control: &'a str,
    images: &'a [Value],
    field: &'a str,
    values: &'a [Value],
}

impl<'a> Exclusion<'a> {
    fn new(entry: &'a Value) -> Exclusion<'a> {
        let list = |key: &str| entry.get(key).and_then(Value::as_list).unwrap_or_default();
        Exclusion {
            control: entry.text_at(&["controlName"]),
            images: list("images"),
            field: entry.text_at(&["restrictedField"]),
            values: list("values"),
        }
    }
}

fn any_matches(patterns: &[Value], text: &str) -> bool {
    patterns.iter().filter_map(Value::as_str).any(|p| wildcard::matches(p, text))
}

/// What the checks find in the part of the pod that an entry is about.
fn part(pod: &Pod<'_>, images: &[Value], control: &str, check: &PodSecurity) -> Vec<Finding> {
    if images.is_empty() {
        let lists: [&[Value]; 3] = [&[], &[Value::Null], &[]];
        return checks::of_control(control, &Pod { lists, ..*pod }, check);
    }
    let named = |items: &[Value]| -> Vec<Value> {
        items.iter().filter(|c| any_matches(images, c.text_at(&["image"]))).cloned().collect()
    };
    let lists = pod.lists.map(named);
    let [init, ordinary, ephemeral] = &lists;
    let part = Pod { spec: &Value::Null, annotations: None, lists: [init, ordinary, ephemeral] };
    checks::of_control(control, &part, check)
}

/// Whether a path with `*` for every run of digits (in names too) is `wanted`.
fn general(mut wanted: impl Iterator<Item = u8>, field: impl Iterator<Item = u8>) -> bool {
    generalised(field).all(|b| wanted.next() == Some(b)) && wanted.next().is_none()
}

fn generalised(field: impl Iterator<Item = u8>) -> impl Iterator<Item = u8> {
    let mut in_digits = false;
    field.filter_map(move |b| {
        let follows = std::mem::replace(&mut in_digits, b.is_ascii_digit());
        match (in_digits, follows) {
            (false, _) => Some(b),
            (true, false) => Some(b'*'),
            (true, true) => None,
        }
    })
}
