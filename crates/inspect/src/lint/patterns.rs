//! Fields of patterns, overlays and generated objects that the kinds of the rule do not have, and
//! values that no field of the schema's type can have or match ([`values`](super::values)).
//!
//! Anchors are taken off the keys. Below keys with wildcards or variables, and where a kind has
//! fields of any name, nothing is known and nothing is reported.

use ephor_ir::shape::Anchor;
use ephor_kubernetes::Types;
use ephor_kubernetes::schema::Type;
use ephor_value::place::{Path, PathPart};
use ephor_value::suggest::{did_you_mean, distance};
use ephor_value::{Value, wildcard};

use super::finding::Severity;
use super::shape::{FieldShape, Shape};
use super::subject::{Spot, Subject, with};
use super::values::{self, Role};

/// Checks the keys and values of a document against a shape.
pub(super) fn check(
    subject: &mut Subject<'_>,
    value: &Value,
    (shape, role): (&Shape, Role),
    types: &Types,
    path: &Path,
) {
    if matches!(shape, Shape::Any) {
        return;
    }
    if values::check(subject, value, (shape, role), types, path) {
        return;
    }
    match value {
        Value::Map(fields) => {
            for (raw, part) in fields.iter() {
                let (anchor, key) = Anchor::parse(raw);
                if wildcard::has_wildcard(key) || key.contains("{{") || key.starts_with('$') {
                    continue;
                }
                let at = with(path, raw);
                match shape.field(key, types) {
                    FieldShape::Known(below) => {
                        if values::check_anchor(subject, anchor, key, (shape, role), types, &at) {
                            // Conditions of overlays are matched.
                            let is_condition = matches!(anchor, Anchor::Condition | Anchor::Global);
                            let role = if is_condition { Role::Matched } else { role };
                            check(subject, part, (&below, role), types, &at);
                        }
                    }
                    FieldShape::Missing(names) => {
                        let names: Vec<&str> = names.iter().map(String::as_str).collect();
                        let message = format!("the schema of the kind has no field `{key}` here");
                        let close = did_you_mean(key, &names).filter(|close| distance(key, close) <= 2);
                        let remedy = match close {
                            Some(close) => subject.meant(&at, Spot::Key, Some(&raw.replace(key, close))),
                            None => elsewhere(shape, key, types).into(),
                        };
                        subject.report(
                            "unknown-resource-field",
                            Severity::Warning,
                            &at,
                            Spot::Key,
                            message,
                            remedy,
                        );
                    }
                }
            }
        }
        Value::List(items) => {
            let below = shape.items();
            // What is in a list that is replaced is written as it is.
            let role = if values::is_replaced(shape, role) { Role::Created } else { role };
            for (i, part) in items.iter().enumerate() {
                let at: Path = path.iter().cloned().chain([PathPart::Index(i)]).collect();
                check(subject, part, (&below, role), types, &at);
            }
        }
        _ => {}
    }
}

/// What has a field, when it is not the object but something in it.
fn elsewhere(shape: &Shape, key: &str, types: &Types) -> Option<String> {
    let Shape::Types(all) = shape else { return None };
    let named = |ty: &Type| match ty {
        Type::Named(name, _) => types.named(name).cloned(),
        _ => None,
    };
    let mut found = Vec::new();
    for def in all.iter().filter_map(named) {
        for field in &def.fields {
            let (inner, word) = match &field.ty {
                Type::List(_, item) => (named(item), "items of "),
                ty => (named(ty), ""),
            };
            if inner.is_some_and(|inner| inner.field(key).is_some()) {
                found.push(format!("{word}`{}`", field.name));
            }
        }
    }
    found.truncate(3);
    let has =
        if found.len() == 1 && !found.iter().any(|one| one.starts_with("items")) { "has" } else { "have" };
    (!found.is_empty()).then(|| format!("{} {has} it", found.join(" and ")))
}

/// Checks the paths of a text with JSON patches, up to the first part with a variable.
pub(super) fn check_paths(subject: &mut Subject<'_>, text: &str, shape: &Shape, types: &Types, path: &Path) {
    let Ok(patches) = ephor_document::yaml_value(text) else { return };
    for patch in patches.as_list().unwrap_or_default() {
        let pointer = patch.text_at(&["path"]);
        let Some(start) = text.find(pointer).filter(|_| pointer.starts_with('/')) else { continue };
        let (mut at, mut current) = (start, shape.clone());
        for part in pointer.split('/') {
            let (here, part) = (at, part.to_string());
            at += part.len() + 1;
            if part.is_empty() {
                continue;
            }
            if part.contains("{{") || matches!(current, Shape::Any) {
                break;
            }
            if part == "-" || part.bytes().all(|b| b.is_ascii_digit()) {
                current = current.items();
                continue;
            }
            let name = part.replace("~1", "/").replace("~0", "~");
            match current.field(&name, types) {
                FieldShape::Known(below) => current = below,
                FieldShape::Missing(names) => {
                    let names: Vec<&str> = names.iter().map(String::as_str).collect();
                    let message = format!("the schema of the kind has no field `{name}` here");
                    let offset = text.get(..here).map_or(0, |s| s.chars().count());
                    let spot = Spot::Inside(offset, part.chars().count());
                    let remedy = subject.meant(path, spot, did_you_mean(&name, &names));
                    subject.report("unknown-resource-field", Severity::Warning, path, spot, message, remedy);
                    break;
                }
            }
        }
    }
}
