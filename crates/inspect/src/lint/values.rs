//! Values of patterns and overlays against the types of their fields.
//!
//! In: a value, and the types that its field may have. Out: findings where no value of these types
//! matches, by the engine's own comparison, or where an API server refuses what is written. Texts
//! with variables are not known before they are filled in.

use ephor_ir::pattern::Leaf;
use ephor_ir::shape::Anchor;
use ephor_kubernetes::Types;
use ephor_kubernetes::schema::{Leaf as LeafType, ListKind, Type};
use ephor_value::Value;
use ephor_value::place::{Path, PathPart};

use super::finding::Severity;
use super::shape::Shape;
use super::subject::{Remedy, Spot, Subject};

/// What is done with a document.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Role {
    /// Objects are matched against it.
    Matched,
    /// It is merged into objects.
    Written,
    /// It becomes an object.
    Created,
}

/// The kinds of types that a field may have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum FieldKind {
    Bool,
    Integer,
    Number,
    Text,
    List,
    Object,
}

impl FieldKind {
    fn word(self) -> &'static str {
        match self {
            FieldKind::Bool => "a boolean",
            FieldKind::Integer => "an integer",
            FieldKind::Number => "a number",
            FieldKind::Text => "a string",
            FieldKind::List => "a list",
            FieldKind::Object => "an object",
        }
    }
}

/// The one kind of the types of a shape.
fn kind_of(shape: &Shape, types: &Types) -> Option<FieldKind> {
    let Shape::Types(all) = shape else { return None };
    let kinds: Option<Vec<FieldKind>> = all.iter().map(|ty| kind_of_type(ty, types)).collect();
    let kinds = kinds?;
    let first = *kinds.first()?;
    kinds.iter().all(|kind| *kind == first).then_some(first)
}

fn kind_of_type(ty: &Type, types: &Types) -> Option<FieldKind> {
    match ty {
        Type::Leaf(leaf) => kind_of_leaf(*leaf),
        Type::List(..) => Some(FieldKind::List),
        Type::Map(..) => Some(FieldKind::Object),
        Type::Named(name, _) => match types.named(name)?.leaf {
            Some(leaf) => kind_of_leaf(leaf),
            None => Some(FieldKind::Object),
        },
    }
}

fn kind_of_leaf(leaf: LeafType) -> Option<FieldKind> {
    match leaf {
        LeafType::Bool => Some(FieldKind::Bool),
        LeafType::Int32 | LeafType::Int64 => Some(FieldKind::Integer),
        LeafType::Double => Some(FieldKind::Number),
        LeafType::String => Some(FieldKind::Text),
        _ => None,
    }
}

/// Checks one value; whether it was reported, so that what is below it is not.
pub(super) fn check(
    subject: &mut Subject<'_>,
    value: &Value,
    (shape, role): (&Shape, Role),
    types: &Types,
    path: &Path,
) -> bool {
    let Some(kind) = kind_of(shape, types) else { return false };
    if value.any_text(&|text| text.contains("{{") || text.contains("$("))
        && !matches!(value, Value::Map(_) | Value::List(_))
    {
        return false;
    }
    match role {
        Role::Matched => matched(subject, value, kind, path),
        Role::Written => {
            replaced(subject, value, shape, path);
            written(subject, value, kind, path)
        }
        Role::Created => written(subject, value, kind, path),
    }
}

fn matched(subject: &mut Subject<'_>, value: &Value, kind: FieldKind, path: &Path) -> bool {
    let field = kind.word();
    let mut report = |severity, message: String, remedy: Remedy| {
        subject.report("value-type", severity, path, Spot::Value, message, remedy);
        true
    };
    match (kind, value) {
        (FieldKind::List, Value::Map(_)) => report(
            Severity::Warning,
            format!("the field is {field}, which no object matches"),
            Some("write a list with `-`".to_string()).into(),
        ),
        (FieldKind::List, _) | (FieldKind::Object, Value::Map(_) | Value::Null) => false,
        (_, Value::List(_) | Value::Map(_)) => {
            let own = if value.as_list().is_some() { "list" } else { "object" };
            report(
                Severity::Warning,
                format!("the field is {field}, which no {own} matches"),
                Remedy::default(),
            )
        }
        (_, Value::Null) => false,
        (FieldKind::Object, Value::Str(text)) => {
            if text.contains(['|', '&', '!', '<', '>']) || &**text == "*" {
                return false;
            }
            let message = format!("the field is {field}, which no text but `*` matches");
            let remedy = subject.instead(path, Spot::Value, Some("*").filter(|_| &**text == "?*"));
            subject.report("value-type", Severity::Warning, path, Spot::Value, message, remedy);
            true
        }
        (FieldKind::Bool, Value::Str(text)) if matches!(&**text, "true" | "false") => {
            let fix = subject.fix_value(path, text, format!("write `{text}` without quotes"), true);
            let help = Some(format!("write `{text}` without quotes"));
            let remedy = Remedy { help, fixes: fix.into_iter().collect() };
            let message =
                format!("the field is {field}, and this is a text, which Kyverno compares with its text");
            subject.report("value-type", Severity::Note, path, Spot::Value, message, remedy);
            true
        }
        (FieldKind::Text, Value::Bool(truth)) => {
            let written = subject.written(path).unwrap_or_else(|| truth.to_string());
            let fix =
                subject.fix_value(path, &format!("\"{written}\""), format!("write `\"{written}\"`"), true);
            let remedy =
                Remedy { help: Some(format!("quote it: \"{written}\"")), fixes: fix.into_iter().collect() };
            let message = "the field is a string, which no boolean matches".to_string();
            subject.report("value-type", Severity::Warning, path, Spot::Value, message, remedy);
            true
        }
        (FieldKind::Text, _) => false,
        (FieldKind::Bool | FieldKind::Integer | FieldKind::Number | FieldKind::Object, scalar) => {
            let leaf = Leaf::new(scalar.clone());
            // What is not there is like null.
            if samples(kind, scalar).iter().chain([&Value::Null]).any(|sample| leaf.matches(sample)) {
                return false;
            }
            let shown = subject.written(path).unwrap_or_default();
            let message = format!(
                "the field is {field}, and {} matches `{}`",
                none_of(kind),
                shown.trim_matches(['"', '\''])
            );
            subject.report("value-type", Severity::Warning, path, Spot::Value, message, None);
            true
        }
    }
}

/// Whether a merge replaces a list as a whole.
pub(super) fn is_replaced(shape: &Shape, role: Role) -> bool {
    let Shape::Types(all) = shape else { return false };
    role == Role::Written && all.iter().all(|ty| matches!(ty, Type::List(ListKind::Atomic, _)))
}

/// Notes a list that a merge replaces as a whole.
fn replaced(subject: &mut Subject<'_>, value: &Value, shape: &Shape, path: &Path) {
    let (Value::List(_), Some(PathPart::Key(raw))) = (value, path.last()) else {
        return;
    };
    // Commands are written as a whole, and `+()` adds what is not there.
    let (anchor, key) = Anchor::parse(raw);
    if !is_replaced(shape, Role::Written)
        || anchor == Anchor::AddIfAbsent
        || matches!(key, "args" | "command")
    {
        return;
    }
    let message = format!("a merge replaces `{key}` as a whole: the items that an object has there are lost");
    let help =
        Some(format!("add items with a JSON patch to `{key}/-`, or write `+({key})` for objects without it"));
    subject.report("merge-removes-items", Severity::Note, path, Spot::Key, message, help);
}

fn none_of(kind: FieldKind) -> &'static str {
    match kind {
        FieldKind::Bool => "no boolean",
        FieldKind::Integer | FieldKind::Number => "no number",
        _ => "no object",
    }
}

/// Values of a kind among which one matches a pattern if any does: the numbers around those of the
/// pattern, too.
fn samples(kind: FieldKind, pattern: &Value) -> Vec<Value> {
    match kind {
        FieldKind::Bool => vec![Value::Bool(true), Value::Bool(false)],
        FieldKind::Integer | FieldKind::Number => {
            let mut numbers: Vec<i64> =
                vec![0, 1, -1, 7, 100, 65_535, i64::from(i32::MAX), i64::from(i32::MIN)];
            let text = pattern.as_str().map_or_else(|| ephor_value::print::json(pattern), str::to_string);
            let own: Vec<i64> =
                text.split(|c: char| !c.is_ascii_digit()).filter_map(|digits| digits.parse().ok()).collect();
            let around = |number: &i64| [number.saturating_sub(1), *number, number.saturating_add(1)];
            numbers.extend(own.iter().flat_map(around));
            // A quantity or a duration: ten, and powers of it.
            numbers.extend((1..16).map(|power| 10_i64.saturating_pow(power)));
            let whole = numbers.iter().map(|number| Value::Int(*number));
            let floats = numbers.iter().map(|number| Value::Float(*number as f64));
            let fraction =
                text.trim_start_matches(['<', '>', '=', '!', ' ']).parse::<f64>().ok().map(Value::Float);
            match kind {
                FieldKind::Number => floats.chain(fraction).collect(),
                _ => whole.collect(),
            }
        }
        _ => Vec::new(),
    }
}

fn written(subject: &mut Subject<'_>, value: &Value, kind: FieldKind, path: &Path) -> bool {
    let found = match value {
        Value::Bool(_) => FieldKind::Bool,
        Value::Int(_) | Value::UInt(_) => FieldKind::Integer,
        Value::Float(_) => FieldKind::Number,
        Value::Str(_) => FieldKind::Text,
        Value::List(_) => FieldKind::List,
        Value::Map(_) => FieldKind::Object,
        _ => return false,
    };
    // Lists in overlays may be written by what a merge makes of them.
    if found == kind || (kind == FieldKind::Number && found == FieldKind::Integer) {
        return false;
    }
    let text = subject.written(path).unwrap_or_default();
    let inner = text.trim_matches(['"', '\'']);
    let new = match (kind, found) {
        (FieldKind::Bool, FieldKind::Text) if matches!(inner, "true" | "false") => Some(inner.to_string()),
        (FieldKind::Integer, FieldKind::Text) if inner.parse::<i64>().is_ok() => Some(inner.to_string()),
        (FieldKind::Text, FieldKind::Bool | FieldKind::Integer | FieldKind::Number) if !text.is_empty() => {
            Some(format!("\"{text}\""))
        }
        _ => None,
    };
    let title = new.as_ref().map(|new| format!("write `{new}`"));
    let fix = new.zip(title.clone()).and_then(|(new, title)| subject.fix_value(path, &new, title, true));
    let message = format!(
        "the field is {}, and this is {}: an API server refuses the object",
        kind.word(),
        found.word()
    );
    let remedy = Remedy { help: title, fixes: fix.into_iter().collect() };
    subject.report("value-type", Severity::Warning, path, Spot::Value, message, remedy);
    true
}

/// Checks the anchor of a key of a pattern; whether its value is to be checked.
pub(super) fn check_anchor(
    subject: &mut Subject<'_>,
    anchor: Anchor,
    key: &str,
    (above, role): (&Shape, Role),
    types: &Types,
    path: &Path,
) -> bool {
    match (anchor, role) {
        (Anchor::Negation, Role::Matched) => {
            if is_required(above, key, types) {
                let message =
                    format!("`{key}` is there in every object of the kind: the pattern never matches");
                subject.report("value-type", Severity::Warning, path, Spot::Key, message, None);
            }
            // Its value does not count.
            false
        }
        _ => true,
    }
}

fn is_required(above: &Shape, key: &str, types: &Types) -> bool {
    let Shape::Types(all) = above else { return false };
    !all.is_empty()
        && all.iter().all(|ty| match ty {
            Type::Named(name, _) => {
                types.named(name).and_then(|def| def.field(key)).is_some_and(|field| field.required)
            }
            _ => false,
        })
}
