//! Running JSON patches.
//!
//! In: a document and operations. Out: the changed document, or why the first operation failed that
//! did; a failed patch has no effect. Beyond RFC 6902, as the library of Kyverno 1.19.1 is set up:
//! negative indices count from the end, removing what is not there is no failure, and adding
//! creates the containers above.
//!
//! - `error`: why a JSON patch fails

mod error;

use ephor_document::spelling::{read, spelled};
use ephor_value::number::{self, parse_int, strconv};
use ephor_value::{List, Map, Str, Value};

use super::operation::{Action, Operation, operation};

pub use error::{ApplyError, Fault, Target};
use error::{failed, missing};

/// Lists are not padded with nulls beyond this length.
const MAX_PADDED: usize = 100_000;

/// Runs the operations on a document.
///
/// # Errors
/// The first failure.
pub fn apply(document: &Value, operations: &[Operation]) -> Result<Value, ApplyError> {
    let mut document = Document { now: document.clone(), behind: Some(document.clone()), exact: false };
    for operation in operations {
        run(&mut document, operation)?;
    }
    if document.now.is_null() && !operations.is_empty() {
        // An object that is lost cannot be written.
        return Err(ApplyError::Lost);
    }
    Ok(document.now)
}

/// Runs one operation as an API server does: nothing is created above a path, what is removed must
/// be there, and an object has null for a member that it lacks. `None` when a test fails; one whose
/// path leads nowhere is a failure.
///
/// # Errors
/// The failure.
pub fn apply_exactly(document: &Value, operation: &Operation) -> Result<Option<Value>, ApplyError> {
    let mut document = Document { now: document.clone(), behind: None, exact: true };
    match (run(&mut document, operation), &operation.action) {
        (Err(ApplyError::Test(_)), Action::Test(_)) => Ok(None),
        (result, _) => result.map(|()| Some(document.now)),
    }
}

/// Runs operations as an API server does with the patch of a webhook: a test that fails is a
/// failure. Operations are read when it is their turn; they and the document are in their
/// `spelling`, so that values are compared as they are written.
///
/// # Errors
/// The first failure.
pub fn apply_in_order(document: &Value, operations: &[Value]) -> Result<Value, ApplyError> {
    let mut document = Document { now: spelled(document), behind: None, exact: true };
    for item in operations {
        let mut members = Map::new();
        for (key, v) in item.as_map().into_iter().flat_map(Map::iter).filter(|(key, _)| &***key != "value") {
            members.insert(key.clone(), read(v).unwrap_or_default());
        }
        let name = members.get("op").and_then(Value::as_str).unwrap_or_default();
        if !matches!(name, "add" | "remove" | "replace" | "move" | "copy" | "test") {
            return Err(ApplyError::Unknown(if name.is_empty() { "unknown" } else { name }.into()));
        }
        if let Some(value) = item.get("value") {
            // Faults of operations show them as they are.
            let mut shown = members.clone();
            shown.insert("value", read(value).unwrap_or_default());
            operation(&Value::Map(shown))?;
            members.insert("value", value.clone());
        }
        run(&mut document, &operation(&Value::Map(members))?)?;
    }
    Ok(read(&document.now)?)
}

/// A document, and the one that an empty first token leads to: the document as it came in, whose
/// changes have no effect (the reference's behaviour).
struct Document {
    now: Value,
    behind: Option<Value>,
    exact: bool,
}

fn run(document: &mut Document, operation: &Operation) -> Result<(), ApplyError> {
    let path = &operation.path;
    match &operation.action {
        Action::Add(value) => run_add(document, path, value),
        Action::Remove => {
            let exact = document.exact;
            match find(document, path).filter(|_| !(exact && path.is_empty())) {
                None if exact => Err(missing("remove", Target::Path, path)),
                None => Ok(()),
                Some((container, key)) => {
                    remove(container, &key, exact).map_err(|why| failed("remove", path, why))
                }
            }
        }
        Action::Replace(value) => run_replace(document, path, value),
        Action::Move(from) => run_move(document, from, path),
        Action::Copy(from) => run_copy(document, from, path),
        Action::Test(value) => run_test(document, path, value.as_ref()),
    }
}

fn run_add(document: &mut Document, path: &str, value: &Value) -> Result<(), ApplyError> {
    if path.is_empty() {
        return match document.exact {
            true => Err(missing("add", Target::Path, path)),
            false => replace_root(document, value, Some(value.clone())),
        };
    }
    if !document.exact {
        create_parents(document, path)?;
    }
    let Some((container, key)) = find(document, path) else {
        return Err(missing("add", Target::Path, path));
    };
    add(container, &key, value.clone()).map_err(|why| failed("add", path, why))
}

fn replace_root(document: &mut Document, value: &Value, behind: Option<Value>) -> Result<(), ApplyError> {
    if !matches!(value, Value::Map(_) | Value::List(_)) {
        return Err(ApplyError::ScalarRoot { exact: document.exact });
    }
    *document = Document { now: value.clone(), behind, exact: document.exact };
    Ok(())
}

fn run_replace(document: &mut Document, path: &str, value: &Value) -> Result<(), ApplyError> {
    if path.is_empty() {
        return replace_root(document, value, None);
    }
    let lacks = |what| missing("replace", what, path);
    let exact = document.exact;
    let Some((container, key)) = find(document, path) else { return Err(lacks(Target::Path)) };
    if get(container, &key, exact).is_err() {
        return Err(lacks(Target::Key));
    }
    match container {
        Value::Map(m) => {
            m.insert(&*key, value.clone());
        }
        Value::List(l) => {
            let at = index(&key, l.len()).map_err(|why| failed("remove", path, why))?;
            if let Some(slot) = l.make_mut().get_mut(at) {
                *slot = value.clone();
            }
        }
        _ => {}
    }
    Ok(())
}

fn run_move(document: &mut Document, from: &str, path: &str) -> Result<(), ApplyError> {
    let exact = document.exact;
    if from.is_empty() {
        return Err(if exact { ApplyError::NoFrom("move") } else { ApplyError::MovedRoot });
    }
    let Some((container, key)) = find(document, from) else {
        return Err(missing("move", Target::From, from));
    };
    let failed = |place: &str, why| failed("move", place, why);
    let value = get(container, &key, exact).map_err(|e| failed(&key, e))?.cloned();
    let value = value.or_else(|| document.root(from)).unwrap_or_default();
    let Some((container, key)) = find(document, from) else { return Ok(()) };
    remove(container, &key, exact).map_err(|e| failed(&key, e))?;
    let Some((container, key)) = find(document, path) else {
        return Err(missing("move", Target::Destination, path));
    };
    add(container, &key, value).map_err(|e| failed(path, e))
}

fn run_copy(document: &mut Document, from: &str, path: &str) -> Result<(), ApplyError> {
    let exact = document.exact;
    if exact && from.is_empty() {
        return Err(ApplyError::NoFrom("copy"));
    }
    let Some((container, key)) = find(document, from) else {
        return Err(missing("copy", if exact { Target::PlainFrom } else { Target::From }, from));
    };
    let value =
        get(container, &key, exact).map_err(|why| ApplyError::CopyFrom { path: from.into(), why })?.cloned();
    let value = value.or_else(|| document.root(from)).unwrap_or_default();
    let Some((container, key)) = find(document, path) else {
        return Err(missing("copy", Target::Destination, path));
    };
    add(container, &key, value).map_err(ApplyError::CopyTo)
}

fn run_test(document: &mut Document, path: &str, value: Option<&Value>) -> Result<(), ApplyError> {
    let test = |passes: bool| if passes { Ok(()) } else { Err(ApplyError::Test(path.into())) };
    let wanted = value.unwrap_or(&Value::Null);
    if path.is_empty() {
        return test(document.now.strict_eq(wanted));
    }
    let exact = document.exact;
    let Some((container, key)) = find(document, path) else {
        return Err(missing("test", Target::Path, path));
    };
    let found = match get(container, &key, exact) {
        Ok(found) => found.cloned(),
        Err(Fault::NoKey(_)) => None,
        Err(why) => return Err(failed("test", path, why)),
    };
    if exact {
        // What is null is not there, and only a test without value passes then.
        let found = found.filter(|found| !found.is_null());
        return test(match (&found, value) {
            (Some(found), Some(value)) => found.strict_eq(value),
            (found, value) => found.is_none() && value.is_none(),
        });
    }
    let found = found.or_else(|| document.root(path)).unwrap_or_default();
    test(found.strict_eq(wanted))
}

/// The tokens of a path; `None` where there is no `/`. What stands before the first one is ignored.
fn tokens(path: &str) -> Option<Vec<&str>> {
    path.contains('/').then(|| path.split('/').skip(1).collect())
}

/// A token without its escapes.
fn unescape(token: &str) -> String {
    let mut out = String::with_capacity(token.len());
    let mut chars = token.chars().peekable();
    while let Some(c) = chars.next() {
        match (c, chars.peek()) {
            ('~', Some('1')) => {
                chars.next();
                out.push('/');
            }
            ('~', Some('0')) => {
                chars.next();
                out.push('~');
            }
            _ => out.push(c),
        }
    }
    out
}

impl Document {
    /// What the path `/`, or none at all, reads: the document behind.
    fn root(&self, path: &str) -> Option<Value> {
        if path.is_empty() || tokens(path)? == [""] { self.behind.clone() } else { None }
    }

    /// Where these tokens begin, and those that are left.
    fn start<'d, 't, 'p>(&'d mut self, tokens: &'t [&'p str]) -> Option<(&'d mut Value, &'t [&'p str])> {
        match tokens {
            ["", rest @ ..] => self.behind.as_mut().map(|v| (v, rest)),
            all => Some((&mut self.now, all)),
        }
    }
}

/// The container that holds the last token of a path, and that token. Nulls and scalars are no
/// containers, an empty token further down leads nowhere, and neither does an empty path where
/// patches are exact.
fn find<'d>(document: &'d mut Document, path: &str) -> Option<(&'d mut Value, String)> {
    if path.is_empty() {
        return (!document.exact).then_some((&mut document.now, String::new()));
    }
    let mut tokens = tokens(path)?;
    let last = unescape(tokens.pop()?);
    let (mut at, tokens) = document.start(&tokens)?;
    let is_root = tokens.is_empty();
    for token in tokens {
        at = child(at, &unescape(token))?;
    }
    // An object that is lost is null; as a container it has nothing and takes nothing.
    let is_container = matches!(at, Value::Map(_) | Value::List(_)) || (is_root && at.is_null());
    is_container.then_some((at, last))
}

fn child<'d>(container: &'d mut Value, token: &str) -> Option<&'d mut Value> {
    let found = match container {
        Value::Map(m) => m.get_mut(token).filter(|_| !token.is_empty()),
        Value::List(l) => {
            let at = index(token, l.len()).ok()?;
            l.make_mut().get_mut(at)
        }
        _ => None,
    };
    found.filter(|v| !v.is_null())
}

/// The position that a token means in a list of this length.
fn index(token: &str, len: usize) -> Result<usize, Fault> {
    let wanted = number(token)?;
    let at = if wanted < 0 { from_end(wanted, len) } else { usize::try_from(wanted).ok() };
    at.filter(|at| *at < len).ok_or(Fault::Index(wanted))
}

fn number(token: &str) -> Result<i64, number::NumberError> {
    strconv("Atoi", token)
}

fn from_end(wanted: i64, len: usize) -> Option<usize> {
    i64::try_from(len).ok()?.checked_add(wanted).and_then(|at| usize::try_from(at).ok())
}

/// The member of a container; `Ok(None)` for the empty token, which names nothing that could be
/// read (where patches are exact, it is a key).
fn get<'d>(container: &'d Value, token: &str, exact: bool) -> Result<Option<&'d Value>, Fault> {
    if token.is_empty() && !exact {
        return Ok(None);
    }
    match container {
        Value::Map(m) if exact => Ok(m.get(token)),
        Value::Map(m) => m.get(token).map(Some).ok_or_else(|| Fault::NoKey(token.into())),
        Value::List(l) => Ok(l.get(index(token, l.len())?)),
        _ => Err(Fault::NoKey(token.into())),
    }
}

fn add(container: &mut Value, token: &str, value: Value) -> Result<(), Fault> {
    match container {
        Value::Map(m) => {
            m.insert(token, value);
            Ok(())
        }
        Value::List(l) => insert(l, token, value),
        _ => Err(Fault::NoObject),
    }
}

fn insert(list: &mut List, token: &str, value: Value) -> Result<(), Fault> {
    if token == "-" {
        list.make_mut().push(value);
        return Ok(());
    }
    number(token).map_err(|cause| Fault::NoIndex { cause })?;
    let at = index(token, list.len() + 1)?;
    list.make_mut().insert(at, value);
    Ok(())
}

fn remove(container: &mut Value, token: &str, exact: bool) -> Result<(), Fault> {
    match container {
        Value::Map(m) => {
            let gone = m.remove(token).is_some();
            if exact && !gone {
                return Err(Fault::NothingToRemove(token.into()));
            }
        }
        Value::List(l) => {
            number(token)?;
            match index(token, l.len()) {
                Ok(at) => drop(l.make_mut().remove(at)),
                Err(fault) if exact => return Err(fault),
                Err(_) => {}
            }
        }
        _ => {}
    }
    Ok(())
}

/// Creates what is missing above the last token: a list where the next token is an index or `-`,
/// else an object.
fn create_parents(document: &mut Document, path: &str) -> Result<(), ApplyError> {
    let Some(tokens) = tokens(path) else { return Ok(()) };
    // A single empty token is the key that is written.
    let start =
        if tokens.len() > 1 { document.start(&tokens) } else { Some((&mut document.now, &tokens[..])) };
    let Some((mut at, tokens)) = start else { return Ok(()) };
    for pair in tokens.windows(2) {
        let [token, next] = pair else { break };
        if child(at, &unescape(token)).is_none() {
            create(at, token, next)?;
            // What is created gets the token as written, so an escaped one is not found again.
            match own(at, token) {
                Some(made) => at = made,
                None => return Ok(()),
            }
            continue;
        }
        match child(at, &unescape(token)) {
            Some(found @ (Value::Map(_) | Value::List(_))) => at = found,
            _ => return Err(ApplyError::ScalarAbove),
        }
    }
    Ok(())
}

/// The member that was just created.
fn own<'d>(container: &'d mut Value, token: &str) -> Option<&'d mut Value> {
    match container {
        Value::Map(m) => m.get_mut(token),
        list => child(list, token),
    }
}

fn create(container: &mut Value, token: &str, next: &str) -> Result<(), ApplyError> {
    if let (Value::List(l), Some(wanted)) = (&mut *container, parse_int(token))
        && let Ok(wanted) = usize::try_from(wanted)
    {
        pad(l.make_mut(), wanted)?;
    }
    let made = match parse_int(next) {
        Some(n) if n < -1 => {
            return Err(ApplyError::NegativeIndex(n));
        }
        Some(n) => {
            let mut items = Vec::new();
            pad(&mut items, usize::try_from(n).unwrap_or(0))?;
            Value::list(items)
        }
        None if next == "-" => Value::list(Vec::new()),
        None => Value::Map(Map::new()),
    };
    match container {
        Value::Map(m) => {
            m.insert(Str::from(token), made);
        }
        // A token that is no index creates nothing; the path is then found missing.
        Value::List(l) => {
            let _ = insert(l, token, made);
        }
        _ => {}
    }
    Ok(())
}

fn pad(items: &mut Vec<Value>, len: usize) -> Result<(), ApplyError> {
    if len > MAX_PADDED {
        return Err(ApplyError::Padding(len));
    }
    if items.len() < len {
        items.resize(len, Value::Null);
    }
    Ok(())
}

#[cfg(test)]
mod tests;
