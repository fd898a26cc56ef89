//! Values at the end of paths, read and replaced.
//!
//! In: a value and a path. Out: the value there, or the whole with another one in its place.

use ephor_analysis::reads::Step;
use ephor_value::place::PathPart;
use ephor_value::{Map, Value};

/// A place in an object.
pub(crate) type Place = Vec<Step>;

/// The value at the end of some steps; of lists the first item.
pub(crate) fn at<'v>(value: &'v Value, steps: &[Step]) -> Option<&'v Value> {
    steps.iter().try_fold(value, |value, step| match step {
        Step::Key(key) => value.get(key),
        _ => value.as_list()?.first(),
    })
}

/// A value with another one at the end of some steps; of lists on the way in the first item.
pub(crate) fn placed(at: &Value, steps: &[Step], value: Value) -> Value {
    match steps.split_first() {
        None => value,
        Some((Step::Key(key), rest)) => {
            let none = Value::Map(Map::new());
            let below = placed(at.get(key).unwrap_or(&none), rest, value);
            if at.as_map().is_some() { at.with(key, below) } else { none.with(key, below) }
        }
        Some((_, rest)) => {
            let first = at.as_list().and_then(<[Value]>::first).unwrap_or(&Value::Null);
            Value::list(vec![placed(first, rest, value)])
        }
    }
}

/// The value with another part at the end of a path, or without it; `None` when the path does not
/// lead there.
pub(crate) fn with(value: &Value, path: &[PathPart], part: Option<Value>) -> Option<Value> {
    // Every object has a name.
    let is_name = |at: usize, name: &str| matches!(path.get(at), Some(PathPart::Key(key)) if **key == *name);
    let is_nothing = part.as_ref().is_none_or(|part| part.as_str().is_none_or(str::is_empty));
    if path.len() == 2 && is_name(0, "metadata") && is_name(1, "name") && is_nothing {
        return None;
    }
    replaced(value, path, part)
}

fn replaced(value: &Value, path: &[PathPart], part: Option<Value>) -> Option<Value> {
    let (step, rest) = path.split_first()?;
    match (step, value) {
        (PathPart::Key(key), Value::Map(map)) => {
            let new = match (rest.is_empty(), map.get(key)) {
                (true, _) => part,
                (false, Some(below)) => Some(replaced(below, rest, part)?),
                (false, None) => None,
            };
            match new {
                Some(new) => Some(value.with(key, new)),
                None if rest.is_empty() => {
                    let left = map.iter().filter(|(k, _)| *k != key);
                    Some(Value::Map(left.map(|(k, v)| (k.clone(), v.clone())).collect::<Map>()))
                }
                None => None,
            }
        }
        (PathPart::Index(at), Value::List(items)) => {
            let mut all = items.to_vec();
            match (rest.is_empty(), part) {
                (true, Some(part)) if *at < all.len() => *all.get_mut(*at)? = part,
                (true, Some(part)) => all.push(part),
                (true, None) if *at < all.len() => _ = all.remove(*at),
                (true, None) => return None,
                (false, part) => {
                    let slot = all.get_mut(*at)?;
                    *slot = replaced(slot, rest, part)?;
                }
            }
            Some(Value::list(all))
        }
        _ => None,
    }
}

/// The object with a value at the end of a path; what is missing on the way are maps.
pub(crate) fn put(object: &Value, path: &[PathPart], value: Value) -> Option<Value> {
    match path.split_first() {
        Some((PathPart::Key(key), rest)) if !rest.is_empty() => {
            let none = Value::Map(Default::default());
            let below = object.as_map()?.get(key).filter(|below| !below.is_null()).unwrap_or(&none);
            Some(object.with(key, put(below, rest, value)?))
        }
        Some((PathPart::Index(at), rest)) if !rest.is_empty() => {
            let below = put(object.as_list()?.get(*at)?, rest, value)?;
            with(object, &[PathPart::Index(*at)], Some(below))
        }
        _ => with(object, path, Some(value)),
    }
}

/// Whether a text is such a value: differences are shown with shorter ones.
pub(crate) fn is_value(text: &str) -> bool {
    let number = text.strip_prefix(TEXT).map(|rest| rest.trim_start_matches('x'));
    number.is_some_and(|number| !number.is_empty() && number.bytes().all(|b| b.is_ascii_digit()))
}

/// What values that are texts begin with, unless rules write it.
pub(crate) const TEXT: &str = "copied";
