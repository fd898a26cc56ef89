//! JSON patches (`patchesJson6902`) → expressions that give the same operations.
//!
//! In: the operations as written. Out: an expression for each operation. Two things are done for
//! the author there: parents that `add` needs are created, and what `remove` does not find is left
//! alone; here they are guards. `move` fails on both sides where there is nothing at its path; so
//! does `copy` as an addition of what is read, where an API server would copy null. A `test` is a
//! condition of the whole patch: of the object as it was, so that no operation before it may change
//! what it reads. Semantics: `docs/semantics/mutate.md`.

use std::cell::RefCell;

use ephor_ir::Origin;
use ephor_kubernetes::Types;
use ephor_value::variables::find_all_variables;
use ephor_value::{Map, Str, Value};

use crate::constraints::cel::literal;
use crate::expressions::refusal::{Refusal, Result};
use crate::kinds::mutating::constant::{Place, constant, is_name, joined};
use crate::kinds::mutating::order::OrderedOperation;
use crate::kinds::mutating::{order, unquoted};
use crate::kinds::shared::Fill;

/// The item of a list that a key of a path is the position of, if it is one.
pub type Positions<'p> = &'p dyn Fn(&Place, &str) -> Result<Option<Place>>;

/// What is written instead of a patch that is no list of operations as it stands.
const AS_LIST: &str = "write the operations as a list in YAML, with texts that hold variables in quotes";

/// Positions that are numbers.
///
/// # Errors
/// One that counts from the end.
pub fn numbers(place: &Place, key: &str, refuse: &dyn Fn(&str, &str) -> Refusal) -> Result<Option<Place>> {
    let Ok(at) = key.parse::<i64>() else { return Ok(None) };
    let list = place.value();
    if at == -1 {
        let size = if place.is_there().is_some() { place.or_empty() } else { list.clone() };
        let exists = Some(format!("{size}.size() > 0"));
        let last = format!("{list}.size() - 1");
        return Ok(Some(Place { exists, ..place.at(&format!("{list}[{last}]"), &last) }));
    }
    if at < 0 {
        return Err(refuse(
            "a position in the path of a JSON patch that counts from the end",
            "count from the start, write `-1` for the last one, or `-` to append",
        ));
    }
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
fn keyed(place: &Place, key: &str, value: &Value, fill: Fill<'_>) -> Result<String> {
    let grouped = |text: String| if text.contains(" ? ") { format!("({text})") } else { text };
    let token = grouped(fill(key)?);
    let value = constant(value, fill)?;
    let own =
        format!("[JSONPatch{{op: 'add', path: {} + {token}, value: {value}}}]", joined(&place.path(), "/"));
    Ok(match place.is_there() {
        None => own,
        Some(test) => {
            // The key itself has no escapes.
            let name = match key.contains('~') {
                true => format!("({token}).replace('~1', '/').replace('~0', '~')"),
                false => token,
            };
            let above = set_text(place, &format!("{{{name}: {value}}}"))?;
            format!("{test} ? {own} : {above}")
        }
    })
}

/// Puts an expression at a place, whose parents are created.
fn set_text(place: &Place, text: &str) -> Result<String> {
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

/// What a patch becomes.
#[derive(Debug, Default)]
pub struct ConvertedPatch {
    /// An expression for each operation that changes something.
    pub operations: Vec<String>,
    /// Their paths as they are written, where they are in the order of the patch.
    pub paths: Vec<String>,
    /// What must hold of the object for all of them.
    pub tests: Vec<String>,
    /// Whether all of them are additions.
    pub only_adds: bool,
}

/// The expressions of a patch.
///
/// # Errors
/// An operation that is none, or one that has no counterpart.
pub fn expressions(
    patch: &str,
    (object, is_loop): (&Place, bool),
    types: &Types,
    origin: &Origin,
    fill: Fill<'_>,
    positions: Positions<'_>,
) -> Result<ConvertedPatch> {
    let refuse = |what: &str, nearest: &str| Refusal::new(what, origin.clone(), nearest);
    let written = unquoted::operations(patch).map_err(|what| refuse(what, AS_LIST))?;
    let operations = written.as_list().ok_or_else(|| refuse(unquoted::NO_LIST, AS_LIST))?;
    let filled = RefCell::new(Vec::new());
    let fill = |written: &str| {
        let text = fill(written)?;
        filled.borrow_mut().push(text.clone());
        Ok(text)
    };
    let patch = Patch { object, is_loop, types, fill: &fill, positions, refuse: &refuse };
    let only_adds = operations.iter().all(|one| one.text_at(&["op"]) == "add");
    let (mut out, mut steps) = (ConvertedPatch { only_adds, ..ConvertedPatch::default() }, Vec::new());
    for (at, one) in operations.iter().enumerate() {
        if one.text_at(&["op"]) == "test" {
            out.tests.push(patch.test(one, operations.get(..at).unwrap_or_default())?);
        } else {
            let text = patch.operation(one)?;
            out.paths.push(one.text_at(&["path"]).into());
            let reads = filled.take().iter().flat_map(|text| order::read_by(text)).collect();
            let moved = (one.text_at(&["op"]) == "move").then(|| one.text_at(&["from"]));
            let writes = moved.into_iter().chain([one.text_at(&["path"])]).map(order::keys).collect();
            steps.push(OrderedOperation { text, reads, writes });
        }
    }
    out.operations = match is_loop {
        // There all of them are one mutation.
        true => steps.into_iter().map(|step| step.text).collect(),
        false => order::ordered(steps).ok_or_else(|| {
            refuse("operations of a JSON patch that read what others of them change", "write a rule for each of them: operations in CEL see the object as it was before all of them")
        })?,
    };
    Ok(out)
}

/// A patch, and what its operations are written with.
struct Patch<'p> {
    object: &'p Place,
    /// Whether operations see the object as it was before all of them.
    is_loop: bool,
    types: &'p Types,
    fill: Fill<'p>,
    positions: Positions<'p>,
    refuse: &'p dyn Fn(&str, &str) -> Refusal,
}

/// Where a path leads.
enum Led {
    /// To a place.
    To(Place),
    /// To a member of it whose key is a variable.
    Keyed(Place, String),
}

impl Patch<'_> {
    fn no<T>(&self, what: &str, nearest: &str) -> Result<T> {
        Err((self.refuse)(what, nearest))
    }

    /// The keys of a path, and whether it is the end of a list.
    fn keys(&self, path: &str) -> Result<(Vec<String>, bool)> {
        if !path.is_empty() && !path.starts_with('/') {
            return self.no(
                "a path of a JSON patch that begins with a variable",
                "write the first field of the path",
            );
        }
        let unescaped = |key: &str| match key.contains("{{") {
            true => key.into(),
            false => key.replace("~1", "/").replace("~0", "~"),
        };
        let mut keys: Vec<String> = tokens(path).into_iter().skip(1).map(unescaped).collect();
        if keys.is_empty() || keys.iter().any(String::is_empty) {
            return self.no(
                "a path of a JSON patch without keys",
                "write the fields that change: CEL replaces no whole object",
            );
        }
        let appends = keys.last().is_some_and(|key| key == "-");
        if appends {
            keys.pop();
        }
        if keys.iter().any(|key| key == "-") {
            return self.no(
                "a path of a JSON patch that leads through a new item",
                "add the item with all of its fields",
            );
        }
        Ok((keys, appends))
    }

    fn with_parents_created(&self, keys: &[String], op: &str, appends: bool) -> Result<Led> {
        let mut place = self.object.clone();
        let last = keys.len().saturating_sub(1);
        for (at, key) in keys.iter().enumerate() {
            place = match (self.positions)(&place, key)? {
                // What an item is added to is created by its position; a list that must be there
                // has a first one.
                Some(item) if item.exists.is_some() && op == "add" && !place.is_required() => {
                    return self.no(
                        "an addition at a position that a list may not have",
                        "append with `-`, or test the length of the list in preconditions",
                    );
                }
                Some(item) => item,
                None if key.contains("{{") && at == last && op == "add" && !appends => {
                    return Ok(Led::Keyed(place, key.clone()));
                }
                None if key.contains("{{") => {
                    return self.no(
                        "a variable in the path of a JSON patch",
                        "write the path, or a loop (`foreach`) with `elementIndex` in it",
                    );
                }
                None => place.key(key, self.types),
            };
        }
        Ok(Led::To(place))
    }

    /// An addition inside of the first or the last item of a list that may be missing: there it is
    /// added with its item. `None`: no such item is on the way.
    fn added(&self, base: &Place, keys: &[String], appends: bool, value: &Value) -> Result<Option<String>> {
        let mut place = base.clone();
        for (at, key) in keys.iter().enumerate() {
            let rest = keys.get(at + 1..).unwrap_or_default();
            let is_end = matches!(&**key, "0" | "-1");
            place = match (self.positions)(&place, key)? {
                Some(item) if is_end && item.exists.is_some() && (appends || !rest.is_empty()) => {
                    let fill = self.fill;
                    let test = item.exists.clone().unwrap_or_default();
                    let item = Place { exists: None, ..item };
                    let inside = match self.added(&item, rest, appends, value)? {
                        Some(inside) => inside,
                        None => self.put(&item, rest, appends, value)?,
                    };
                    let whole = Value::list(vec![nested(rest, appends, value)]);
                    let inside = if inside.starts_with('[') { inside } else { format!("({inside})") };
                    return Ok(Some(format!("{test} ? {inside} : {}", set(&place, &whole, fill)?)));
                }
                Some(item) => item,
                None if key.contains("{{") => return Ok(None),
                None => place.key(key, self.types),
            };
        }
        Ok(None)
    }

    /// An addition below a place that is there.
    fn put(&self, base: &Place, keys: &[String], appends: bool, value: &Value) -> Result<String> {
        let place = keys.iter().fold(base.clone(), |place, key| place.key(key, self.types));
        if !appends {
            return set(&place, value, self.fill);
        }
        let append = patch("add", &joined(&place.path(), "/-"), Some(value), self.fill)?;
        Ok(match place.is_there() {
            None => format!("[{append}]"),
            Some(test) => {
                format!(
                    "{test} ? [{append}] : {}",
                    set(&place, &Value::list(vec![value.clone()]), self.fill)?
                )
            }
        })
    }

    /// A path that leads to a place without variables.
    fn plain(&self, path: &str, op: &str) -> Result<(Place, bool)> {
        let (keys, appends) = self.keys(path)?;
        match self.with_parents_created(&keys, op, appends)? {
            Led::To(place) => Ok((place, appends)),
            Led::Keyed(..) => self.no(
                "a variable in the path of a JSON patch",
                "write the path, or a loop (`foreach`) with `elementIndex` in it",
            ),
        }
    }

    fn operation(&self, one: &Value) -> Result<String> {
        let (path, op) = (one.text_at(&["path"]), one.text_at(&["op"]));
        if op.contains("{{") {
            return self.no("a variable in the operation of a JSON patch", "write a rule for each operation");
        }
        if matches!(op, "copy" | "move") {
            let (from, takes_new) = self.plain(one.text_at(&["from"]), op)?;
            if takes_new {
                return self.no(
                    "a path of a JSON patch that leads through a new item",
                    "add the item with all of its fields",
                );
            }
            let (place, appends) = self.plain(path, op)?;
            let to = if appends { joined(&place.path(), "/-") } else { place.path() };
            if op == "copy" && !self.is_loop {
                return Ok(format!("[JSONPatch{{op: 'add', path: {to}, value: {}}}]", from.value()));
            }
            return Ok(format!("[JSONPatch{{op: '{op}', from: {}, path: {to}}}]", from.path()));
        }
        let fill = self.fill;
        let value = one.get("value").cloned().unwrap_or_default();
        let (mut keys, mut appends) = self.keys(path)?;
        if op == "add" {
            if !appends && keys.last().is_some_and(|key| key == "-1") {
                appends = true;
                keys.pop();
            }
            if let Some(found) = self.added(self.object, &keys, appends, &value)? {
                return Ok(found);
            }
        }
        let mut place = match self.with_parents_created(&keys, op, appends)? {
            Led::To(place) => place,
            Led::Keyed(place, key) => return keyed(&place, &key, &value, fill),
        };
        // The value that is read fails then, too.
        let reads_itself = op == "replace"
            && value.any_text(&|text| text.contains(&format!("request.object{}", dotted(&keys))));
        let exists = place.exists.take().filter(|_| !reads_itself);
        let changed = match op {
            "add" if appends => self.put(&place, &[], true, &value)?,
            "add" => set(&place, &value, fill)?,
            // There a value that is missing is an error, here it would be added.
            "replace" => {
                let own = patch("replace", &place.path(), Some(&value), fill)?;
                match place.is_there().filter(|_| !reads_itself) {
                    None => format!("[{own}]"),
                    Some(test) => format!("{test} ? [{own}] : []"),
                }
            }
            "remove" => remove(&place),
            other => {
                return self.no(
                    &format!("the operation `{other}` of a JSON patch"),
                    "write `add`, `remove`, `replace`, `copy`, `move` or `test`",
                );
            }
        };
        Ok(match exists {
            Some(test) => format!("{test} ? ({changed}) : []"),
            None => changed,
        })
    }

    /// What a test says of the object, whatever the operations before it.
    fn test(&self, one: &Value, before: &[Value]) -> Result<String> {
        let path = one.text_at(&["path"]);
        let (place, appends) = self.plain(path, "test")?;
        let value = one.get("value").cloned().unwrap_or_default();
        if appends || matches!(value, Value::Null | Value::List(_) | Value::Map(_)) {
            return self.no(
                "a test of a JSON patch of a list, an object or what is not there",
                "write the test in preconditions",
            );
        }
        let changes = |other: &Value| {
            let touches = |key: &str| other.get(key).and_then(Value::as_str).is_some_and(|at| meet(at, path));
            other.text_at(&["op"]) != "test" && (touches("path") || touches("from"))
        };
        if before.iter().any(changes) {
            return self.no(
                "a test of a JSON patch of what an operation before it may change",
                "write the test in preconditions",
            );
        }
        let constant = constant(&value, self.fill)?;
        let same = format!("{} == {constant}", place.value());
        let is_text = value.as_str().is_some_and(|text| !text.is_empty() && !text.contains("{{"));
        Ok(match place.is_there() {
            None => same,
            // What is missing is no text either.
            Some(_) if is_text && place.exists.is_none() => format!("{} == {constant}", place.or("''")),
            Some(test) => format!("{test} && {same}"),
        })
    }
}

/// The tokens of a path; a slash in a variable belongs to it.
pub fn tokens(path: &str) -> Vec<&str> {
    let variables = find_all_variables(path);
    let is_end = |at: usize| !variables.iter().any(|variable| variable.contains(&at));
    let ends = path.match_indices('/').map(|(at, _)| at).filter(|at| is_end(*at)).chain([path.len()]);
    let mut from = 0;
    let mut out = Vec::new();
    for end in ends {
        out.push(path.get(from..end).unwrap_or_default());
        from = end + 1;
    }
    out
}

/// A value below keys that do not exist yet.
fn nested(keys: &[String], appends: bool, value: &Value) -> Value {
    let value = if appends { Value::list(vec![value.clone()]) } else { value.clone() };
    keys.iter().rev().fold(value, |value, key| match &**key {
        "0" | "-1" => Value::list(vec![value]),
        key => Value::map([(key, value)]),
    })
}

/// Whether one of two paths may lead through what the other one leads to. Items of a list change
/// their positions.
fn meet(a: &str, b: &str) -> bool {
    order::keys(a).iter().zip(&order::keys(b)).all(|(a, b)| a == b)
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
pub fn add_item(place: &Place, item: &Value, keys: &[Str], fill: Fill<'_>) -> Result<String> {
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
pub fn set(place: &Place, value: &Value, fill: Fill<'_>) -> Result<String> {
    set_where(place, value, fill, None)
}

/// The same where a test does not hold.
fn set_where(place: &Place, value: &Value, fill: Fill<'_>, fails: Option<&str>) -> Result<String> {
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

fn patch(op: &str, path: &str, value: Option<&Value>, fill: Fill<'_>) -> Result<String> {
    let value = match value {
        Some(value) => format!(", value: {}", constant(value, fill)?),
        None => String::new(),
    };
    Ok(format!("JSONPatch{{op: '{op}', path: {path}{value}}}"))
}
