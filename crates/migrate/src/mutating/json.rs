//! JSON patches (`patchesJson6902`) → expressions that give the same operations.
//!
//! In: the operations as written. Out: an expression a operation. Two things are done for the author there: parents that `add` needs are created,
//! and what `remove` does not find is left alone; here they are guards. Semantics: `docs/mutate.md`.

use crate::constraints::cel::literal;
use crate::expressions::Refusal;
use crate::ir::Origin;
use crate::kubernetes::Types;
use crate::value::{Map, Str, Value};

use super::constant::{Fill, Place, constant, is_name, joined};

/// The item of a list that a key of a path is the position of, if it is one.
pub type Positions<'p> = &'p dyn Fn(&Place, &str) -> Result<Option<Place>, Refusal>;

/// Positions that are numbers.
///
/// # Errors
/// One that counts from the end.
pub fn numbers(place: &Place, key: &str, refuse: &dyn Fn(&str) -> Refusal) -> Result<Option<Place>, Refusal> {
    let Ok(at) = key.parse::<i64>() else { return Ok(None) };
    if at < 0 {
        return Err(refuse("a position in the path of a JSON patch that counts from the end"));
    }
    let list = place.value();
    let item = place.at(&format!("{list}[{at}]"), key);
    if at == 0 && place.is_required() {
        return Ok(Some(Place { exists: place.is_there(), ..item }));
    }
    let exists = match place.is_there() {
        None => format!("{list}.size() > {at}"),
        Some(_) => format!("{}.size() > {at}", place.or_empty()),
    };
    Ok(Some(Place { exists: Some(exists), ..item }))
}

/// Adds a member whose key is a variable.
fn keyed(place: &Place, key: &str, value: &Value, fill: Fill<'_>) -> Result<String, Refusal> {
    let name = fill(key)?;
    let value = constant(value, fill)?;
    let own =
        format!("[JSONPatch{{op: 'add', path: {} + {name}, value: {value}}}]", joined(&place.path(), "/"));
    Ok(match place.is_there() {
        None => own,
        Some(test) => {
            let above = set_text(place, &format!("{{{name}: {value}}}"))?;
            format!("{test} ? {own} : {above}")
        }
    })
}

/// Puts an expression at a place, whose parents are created.
fn set_text(place: &Place, text: &str) -> Result<String, Refusal> {
    let own = format!("[JSONPatch{{op: 'add', path: {}, value: {text}}}]", place.path());
    match place.above().and_then(|above| Some((above.is_there()?, above))) {
        None => Ok(own),
        Some((test, above)) => {
            let key = if is_name(place.last()) {
                format!("'{}'", place.last())
            } else {
                format!("{:?}", place.last())
            };
            Ok(format!("{test} ? {own} : {}", set_text(&above, &format!("{{{key}: {text}}}"))?))
        }
    }
}

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
    positions: Positions<'_>,
) -> Result<Vec<String>, Refusal> {
    let refuse = |what: String| Refusal::new(what, origin.clone(), "write the operations in CEL by hand");
    let written = ephor_document::yaml_value(patch).ok();
    let operations = written.as_ref().and_then(Value::as_list);
    let operations = operations.ok_or_else(|| refuse("a JSON patch that is no list".into()))?;
    operations.iter().map(|one| operation(one, object, types, fill, positions, &refuse)).collect()
}

fn operation(
    one: &Value,
    object: &Place,
    types: &Types,
    fill: Fill<'_>,
    positions: Positions<'_>,
    refuse: &dyn Fn(String) -> Refusal,
) -> Result<String, Refusal> {
    let no = |what: &str| Err(refuse(what.to_string()));
    let (path, op) = (one.text_at(&["path"]), one.text_at(&["op"]));
    if op.contains("{{") {
        return no("a variable in the operation of a JSON patch");
    }
    let mut keys: Vec<String> =
        path.split('/').skip(1).map(|key| key.replace("~1", "/").replace("~0", "~")).collect();
    let value = one.get("value").cloned().unwrap_or_default();
    if keys.is_empty() || keys.iter().any(String::is_empty) {
        return no("a path of a JSON patch without keys");
    }
    let appends = keys.last().is_some_and(|key| key == "-");
    if appends {
        keys.pop();
    }
    if keys.iter().any(|key| key == "-") {
        return no("a path of a JSON patch that leads through a new item");
    }
    let mut place = object.clone();
    let last = keys.len().saturating_sub(1);
    for (at, key) in keys.iter().enumerate() {
        place = match positions(&place, key)? {
            // What an item is added to is created by its position; a list that must be there has a first one.
            Some(item) if item.exists.is_some() && op == "add" && !place.is_required() => {
                return no("an addition at a position that a list may not have");
            }
            Some(item) => item,
            None if key.contains("{{") && at == last && op == "add" && !appends => {
                return keyed(&place, key, &value, fill);
            }
            None if key.contains("{{") => return no("a variable in the path of a JSON patch"),
            None => place.key(key, types),
        };
    }
    // The value that is read fails then, too.
    let reads_itself =
        op == "replace" && value.any_text(&|text| text.contains(&format!("request.object{}", dotted(&keys))));
    let exists = place.exists.take().filter(|_| !reads_itself);
    let changed = (|| match op {
        "add" if appends => {
            let append = patch("add", &joined(&place.path(), "/-"), Some(&value), fill)?;
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
            let own = patch("replace", &place.path(), Some(&value), fill)?;
            Ok(match place.is_there().filter(|_| !reads_itself) {
                None => format!("[{own}]"),
                Some(test) => format!("{test} ? [{own}] : []"),
            })
        }
        "remove" => Ok(remove(&place)),
        other => Err(refuse(format!("the operation `{other}` of a JSON patch"))),
    })()?;
    Ok(match exists {
        Some(test) => format!("{test} ? ({changed}) : []"),
        None => changed,
    })
}

/// Keys as a query reads them: `.spec.rules[0].host`.
fn dotted(keys: &[String]) -> String {
    let one = |key: &String| match key.parse::<usize>() {
        Ok(at) => format!("[{at}]"),
        Err(_) => format!(".{key}"),
    };
    keys.iter().map(one).collect()
}

/// Removes what is at a place, if it is there.
pub fn remove(place: &Place) -> String {
    let own = format!("JSONPatch{{op: 'remove', path: {}}}", place.path());
    match place.is_there() {
        None => format!("[{own}]"),
        Some(test) => format!("{test} ? [{own}] : []"),
    }
}

/// Adds an item to a list, unless it has one with the same value under a key.
///
/// # Errors
/// A variable that cannot be said.
pub fn add_item(place: &Place, item: &Value, keys: &[Str], fill: Fill<'_>) -> Result<String, Refusal> {
    let mut tests = Vec::new();
    for key in keys {
        let value = item.get(key).cloned().unwrap_or_default();
        let own = if is_name(key) { format!("item.?{key}") } else { format!("item[?{}]", literal(key)) };
        tests.push(format!("{own} == optional.of({})", constant(&value, fill)?));
    }
    let append = patch("add", &joined(&place.path(), "/-"), Some(item), fill)?;
    let added = format!("{}.exists(item, {}) ? [] : [{append}]", place.value(), tests.join(" && "));
    Ok(match place.is_there() {
        None => added,
        Some(test) => {
            format!("{test} ? ({added}) : {}", set(place, &Value::list(vec![item.clone()]), fill)?)
        }
    })
}

/// Puts a value at a place, whose parents are created.
///
/// # Errors
/// A variable that cannot be said.
pub fn set(place: &Place, value: &Value, fill: Fill<'_>) -> Result<String, Refusal> {
    set_where(place, value, fill, None)
}

/// The same where a test does not hold.
fn set_where(place: &Place, value: &Value, fill: Fill<'_>, fails: Option<&str>) -> Result<String, Refusal> {
    let own = format!("[{}]", patch("add", &place.path(), Some(value), fill)?);
    let above = place.above();
    match above.as_ref().and_then(|above| Some((above, above.is_there()?))) {
        None => Ok(own),
        Some((above, test)) => {
            let mut inner = Map::new();
            inner.insert(place.last(), value.clone());
            let other = set_where(above, &Value::Map(inner), fill, Some(&test))?;
            Ok(if fails == Some(&*test) { other } else { format!("{test} ? {own} : {other}") })
        }
    }
}

fn patch(op: &str, path: &str, value: Option<&Value>, fill: Fill<'_>) -> Result<String, Refusal> {
    let value = match value {
        Some(value) => format!(", value: {}", constant(value, fill)?),
        None => String::new(),
    };
    Ok(format!("JSONPatch{{op: '{op}', path: {path}{value}}}"))
}
