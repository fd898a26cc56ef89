//! JSON patches (`patchesJson6902`) → expressions that give the same operations.
//!
//! In: the operations as written. Out: an expression a operation. Two things are done for the author there: parents that `add` needs are created,
//! and what `remove` does not find is left alone; here they are guards. Semantics: `docs/mutate.md`.

use crate::expressions::Refusal;
use crate::ir::Origin;
use crate::kubernetes::Types;
use crate::value::{Map, Value};

use super::constant::{Fill, Place, constant};
use crate::constraints::cel::literal;

/// The expressions of a patch.
///
/// # Errors
/// An operation that is none, or one that has no counterpart.
pub fn expressions(
    patch: &str,
    object: &Place,
    types: &Types,
    origin: &Origin,
    fill: Fill<'_>,
) -> Result<Vec<String>, Refusal> {
    let refuse = |what: String| Refusal::new(what, origin.clone(), "write the operations in CEL by hand");
    let written = ephor_document::yaml_value(patch).ok();
    let operations = written.as_ref().and_then(Value::as_list);
    let operations = operations.ok_or_else(|| refuse("a JSON patch that is no list".into()))?;
    operations.iter().map(|one| operation(one, object, types, fill, &refuse)).collect()
}

fn operation(
    one: &Value,
    object: &Place,
    types: &Types,
    fill: Fill<'_>,
    refuse: &dyn Fn(String) -> Refusal,
) -> Result<String, Refusal> {
    let no = |what: &str| Err(refuse(what.to_string()));
    let (path, op) = (one.text_at(&["path"]), one.text_at(&["op"]));
    if path.contains("{{") || op.contains("{{") {
        return no("a variable in the path of a JSON patch");
    }
    let mut keys: Vec<String> =
        path.split('/').skip(1).map(|key| key.replace("~1", "/").replace("~0", "~")).collect();
    let value = one.get("value").cloned().unwrap_or_default();
    let is_position = |key: &String| key.parse::<i64>().is_ok();
    if keys.is_empty() || keys.iter().any(String::is_empty) {
        return no("a path of a JSON patch without keys");
    }
    let appends = keys.last().is_some_and(|key| key == "-");
    if keys.iter().any(is_position) {
        return no("a position in the path of a JSON patch");
    }
    if appends {
        keys.pop();
    }
    if keys.iter().any(|key| key == "-") {
        return no("a path of a JSON patch that leads through a new item");
    }
    let place = keys.iter().fold(object.clone(), |place, key| place.key(key, types));
    match op {
        "add" if appends => {
            let append = patch("add", &format!("{}/-", place.pointer()), Some(&value), fill)?;
            Ok(match place.is_there() {
                None => format!("[{append}]"),
                Some(test) => {
                    format!("{test} ? [{append}] : {}", set(&place, &Value::list(vec![value]), fill)?)
                }
            })
        }
        "add" => set(&place, &value, fill),
        // There a value that is missing is an error, here it would be added.
        "replace" => {
            let own = patch("replace", &place.pointer(), Some(&value), fill)?;
            Ok(match place.is_there() {
                None => format!("[{own}]"),
                Some(test) => format!("{test} ? [{own}] : []"),
            })
        }
        "remove" => Ok(remove(&place)),
        other => Err(refuse(format!("the operation `{other}` of a JSON patch"))),
    }
}

/// Removes what is at a place, if it is there.
pub fn remove(place: &Place) -> String {
    let own = format!("JSONPatch{{op: 'remove', path: {}}}", literal(&place.pointer()));
    match place.is_there() {
        None => format!("[{own}]"),
        Some(test) => format!("{test} ? [{own}] : []"),
    }
}

/// Puts a value at a place, whose parents are created.
///
/// # Errors
/// A variable that cannot be said.
pub fn set(place: &Place, value: &Value, fill: Fill<'_>) -> Result<String, Refusal> {
    let own = format!("[{}]", patch("add", &place.pointer(), Some(value), fill)?);
    let above = place.above();
    match above.as_ref().and_then(|above| Some((above, above.is_there()?))) {
        None => Ok(own),
        Some((above, test)) => {
            let mut inner = Map::new();
            inner.insert(place.last(), value.clone());
            Ok(format!("{test} ? {own} : {}", set(above, &Value::Map(inner), fill)?))
        }
    }
}

fn patch(op: &str, path: &str, value: Option<&Value>, fill: Fill<'_>) -> Result<String, Refusal> {
    let value = match value {
        Some(value) => format!(", value: {}", constant(value, fill)?),
        None => String::new(),
    };
    Ok(format!("JSONPatch{{op: '{op}', path: {}{value}}}", literal(path)))
}
