//! Anchors of merges, and which lists are merged by keys of their items.
//!
//! In: parts of a patch as written, and types. Out: their keys without anchors, the conditions
//! among them, and the items that are merged.

use ephor_kubernetes::Types;
use ephor_kubernetes::schema::{Type, Whole};
use ephor_value::quantity::Quantity;
use ephor_value::wildcard::has_wildcard;
use ephor_value::{Map, Str, Value, duration};

use crate::kinds::mutating::constant::keyed_items;

/// A key with its anchor.
pub(crate) enum Key<'k> {
    Plain(&'k str),
    Absent(&'k str),
    Condition(&'k str),
    Global(&'k str),
}

pub(crate) fn key(written: &str) -> Key<'_> {
    let inner = |start: &str| written.strip_prefix(start)?.strip_suffix(')');
    match (inner("+("), inner("<("), inner("(")) {
        (Some(key), _, _) => Key::Absent(key),
        (_, Some(key), _) => Key::Global(key),
        (_, _, Some(key)) => Key::Condition(key),
        _ => Key::Plain(written),
    }
}

/// The first key of a patch that is written like an anchor of a pattern and is none in a mutation.
pub fn without_meaning(patch: &Value) -> Option<&str> {
    let is_anchor = |written: &str| {
        ["=(", "X(", "^("].iter().any(|start| written.starts_with(start)) && written.ends_with(')')
    };
    match patch {
        Value::Map(fields) => fields.iter().find_map(|(written, value)| match is_anchor(written) {
            true => Some(&**written),
            false => without_meaning(value),
        }),
        Value::List(items) => items.iter().find_map(without_meaning),
        _ => None,
    }
}

/// The conditions of a patch as a pattern, without those of a list's items.
pub(crate) fn conditions(fields: &Map) -> Option<Value> {
    let mut out = Map::new();
    for (written, value) in fields.iter() {
        match key(written) {
            Key::Condition(key) | Key::Global(key) => {
                out.insert(key, value.as_map().and_then(conditions).unwrap_or_else(|| value.clone()));
            }
            Key::Plain(key) => {
                if let Some(below) = value.as_map().and_then(conditions) {
                    out.insert(key, below);
                } else if let [gate] = &gates(value)[..] {
                    // Some item must be so.
                    out.insert(format!("^({key})"), Value::list(vec![gate.clone()]));
                }
            }
            Key::Absent(_) => {}
        }
    }
    (!out.is_empty()).then_some(Value::Map(out))
}

/// What some item of a list must be like: items with global conditions are nothing else.
pub(crate) fn gates(value: &Value) -> Vec<Value> {
    let of = |item: &Value| {
        let fields = item.as_map()?;
        fields.keys().any(|written| matches!(key(written), Key::Global(_))).then_some(())?;
        let tested = fields.iter().filter_map(|(written, value)| match key(written) {
            Key::Condition(key) | Key::Global(key) => Some((Str::from(key), value.clone())),
            _ => None,
        });
        Some(Value::Map(tested.collect()))
    };
    value.as_list().unwrap_or_default().iter().filter_map(of).collect()
}

/// Whether a value says what must be there, and nothing that would be merged.
pub(crate) fn is_condition(value: &Value) -> bool {
    match value {
        Value::Map(fields) => {
            let is_own = |(written, value): (&Str, &Value)| {
                matches!(key(written), Key::Condition(_) | Key::Global(_)) && is_condition(value)
            };
            !fields.is_empty() && fields.iter().all(is_own)
        }
        Value::List(items) => {
            let is_own = |item: &Value| item.as_map().is_some() && is_condition(item);
            !items.is_empty() && items.iter().all(is_own)
        }
        _ => true,
    }
}

/// Whether a value that matches a condition of an object's parts is the condition itself, so that
/// merging these changes nothing.
pub(crate) fn merges_into_itself(value: &Value) -> bool {
    let is_own = |value: &Value| match value {
        Value::Bool(_) | Value::Int(_) => true,
        // An amount may be written in several ways.
        Value::Str(s) => {
            is_pattern_of_text(s)
                && !has_wildcard(s)
                && Quantity::parse(s).is_none()
                && duration::parse_ok(s).is_none()
                && !s.contains('-')
        }
        value => value.as_map().is_some() && merges_into_itself(value),
    };
    let fields = value.as_map();
    fields.is_some_and(|fields| {
        !fields.is_empty()
            && fields.iter().all(|(written, value)| matches!(key(written), Key::Plain(_)) && is_own(value))
    })
}

/// Whether objects of a type are replaced as a whole.
pub(crate) fn is_whole(ty: &Type, types: &Types) -> bool {
    match ty {
        Type::Named(name, whole) => {
            *whole == Whole::Atomic || types.named(name).is_some_and(|def| def.whole == Whole::Atomic)
        }
        _ => false,
    }
}

/// The type of the items of a list that is merged by their names, or by other keys that all of them
/// have.
pub(crate) fn merged_items<'t>(ty: Option<&'t Type>, items: &[Value], types: &Types) -> Option<&'t Type> {
    let (item, is_by_name, keys) = keyed_items(ty).filter(|(item, ..)| !is_whole(item, types))?;
    // A protocol that is not said is TCP.
    let has_keys = |item: &Value| {
        keys.iter().all(|key| **key == *"protocol" || item.get(key).is_some_and(|value| !value.is_null()))
            && !item.any_text(&|text| !matches!(key(text), Key::Plain(_)))
    };
    (is_by_name || items.iter().all(has_keys)).then_some(item)
}

/// The fields of an item that is named as the element of a loop is, without its name.
pub(crate) fn of_element(fields: &Map) -> Option<Map> {
    let is_name = |written: &str| matches!(key(written), Key::Plain("name") | Key::Condition("name"));
    let (written, value) = fields.iter().find(|(written, _)| is_name(written))?;
    let variable = value.as_str()?.trim().strip_prefix("{{")?.strip_suffix("}}")?;
    (variable.trim() == "element.name").then(|| {
        fields
            .iter()
            .filter(|(key, _)| *key != written)
            .map(|(key, value)| (key.clone(), value.clone()))
            .collect()
    })
}

/// A text that is a wildcard pattern and nothing more.
pub(crate) fn is_pattern_of_text(text: &str) -> bool {
    !text.contains(['|', '&']) && !text.starts_with(['!', '<', '>']) && !text.is_empty()
}

/// A value without `+(…)` around keys.
pub(crate) fn plain(value: &Value) -> Value {
    match value {
        Value::Map(fields) => {
            let mut out = Map::new();
            for (written, value) in fields.iter() {
                let name = match key(written) {
                    Key::Plain(key) | Key::Absent(key) => key,
                    Key::Condition(_) | Key::Global(_) => written,
                };
                out.insert(name, plain(value));
            }
            Value::Map(out)
        }
        other => other.clone(),
    }
}
