//! Loops of JSON patches → one expression over the elements.
//!
//! In: a loop and those in it. Out: an expression that gives the operations for all elements, in
//! the order of the loop. Paths begin with the position of an element. Semantics:
//! `docs/semantics/mutate.md`, "Loops".

use std::cell::RefCell;
use std::sync::Arc;

use ephor_ir::mutate::{Change, PatchLoop};
use ephor_ir::{Origin, Rule};
use ephor_kubernetes::admitted::needed;
use ephor_kubernetes::schema::{Type, Types};
use ephor_lower::template::text;
use ephor_value::{Str, Value};

use crate::expressions::context::Context;
use crate::expressions::each::{Entered, InLoop, Reading};
use crate::expressions::refusal::{Refusal, Result};
use crate::kinds::mutating::constant::{Place, joined};
use crate::kinds::mutating::json;
use crate::kinds::mutating::unquoted::unquoted;

/// The construct that is refused where what is done at a position is no addition, or the list is
/// another one.
const OF_OTHERS: &str = "the position of an element in another list than its own";

/// What is written instead.
const OWN_POSITIONS: &str = "write the operations for the list whose elements they are about: a position of one list says nothing of another one";

/// The expressions of a loop, in order, and the path of its list.
pub struct Patches {
    /// The operations.
    pub expression: String,
    /// Where the list is in a JSON patch.
    pub list: String,
    /// Whether an element may write behind the last item of another list than its own.
    pub is_behind: bool,
}

struct LoopWriter<'w> {
    context: &'w Context,
    object: &'w Place,
    /// The lists around, from the outermost: place, name of an element, name of its position.
    around: Around,
    /// Whether an element may write behind the last item of another list than its own.
    is_behind: bool,
}

/// The expression of a loop of JSON patches.
pub fn patches(
    own: &PatchLoop,
    written: &Value,
    rule: &Rule,
    object: &Place,
    names: &[Str],
    context: &Context,
) -> Result<Patches> {
    let mut writer = LoopWriter { context, object, around: Vec::new(), is_behind: false };
    let mut each = InLoop::new(rule, context, Reading::Named);
    let (expression, list) = writer.one(own, written, names, &mut each)?;
    Ok(Patches { expression, list, is_behind: writer.is_behind })
}

type Around = Vec<(Option<Place>, Str, Str)>;

impl LoopWriter<'_> {
    fn one<'c>(
        &mut self,
        own: &PatchLoop,
        written: &Value,
        names: &[Str],
        each: &mut InLoop<'c>,
    ) -> Result<(String, String)> {
        let names: Vec<Str> =
            names.iter().cloned().chain(own.bindings.iter().map(|b| b.name.clone())).collect();
        each.within(&own.list, &own.bindings, &own.origin, &mut |each, entered| {
            let test = own.admit.as_ref().map(|admit| each.holds(admit)).transpose()?;
            let list = self.list_of(entered);
            let path = list.as_ref().map(Place::path).unwrap_or_default();
            self.around.push((list, entered.var.clone(), entered.position.clone()));
            let bodies = match &own.change {
                Change::ForEach(inner) => {
                    let all = written.get("foreach").and_then(Value::as_list).unwrap_or_default();
                    let mut out = Vec::new();
                    for (inner, written) in inner.iter().zip(all) {
                        out.push(self.one(inner, written, &names, each)?.0);
                    }
                    out
                }
                _ => self.operations(written, &own.origin, &names, each)?,
            };
            self.around.pop();
            Ok((over(entered, test, &bodies, own.descending), path))
        })
    }

    /// The list of a loop as a place of the object.
    fn list_of(&self, entered: &Entered) -> Option<Place> {
        let types = &self.context.types;
        let from = |base: Place, keys: &[Str]| keys.iter().fold(base, |place, key| place.key(key, types));
        match (&entered.keys, &entered.below, self.around.last()) {
            (Some(keys), ..) => Some(from(self.object.clone(), keys)),
            (None, Some(keys), Some((Some(list), var, position))) => Some(from(list.at(var, position), keys)),
            _ => None,
        }
    }

    fn operations<'c>(
        &mut self,
        written: &Value,
        origin: &Origin,
        names: &[Str],
        each: &mut InLoop<'c>,
    ) -> Result<Vec<String>> {
        let of_loop = origin;
        let origin = origin.key("patchesJson6902");
        let no = |what: &str, nearest: &str| Refusal::new(what, origin.clone(), nearest);
        let Some(patch) = written.get("patchesJson6902").and_then(Value::as_str) else {
            return Err(no("a loop without a patch", "write `patchStrategicMerge` or `patchesJson6902`"));
        };
        let names: Arc<[Str]> = names.into();
        let each = RefCell::new(each);
        let fill = |written: &str| {
            let is_quoted = unquoted(written).is_none();
            let written = unquoted(written).unwrap_or(written);
            let own = text(&written.into(), &names);
            let found = each.borrow_mut().in_yaml(&own, is_quoted);
            found.map_err(|refusal| refusal.moved(of_loop, &origin))
        };
        let around = self.around.clone();
        let types = &self.context.types;
        // What is done behind the last item of the list.
        let behind = RefCell::new(None);
        let positions = |place: &Place, key: &str| match position_of(key) {
            None => json::numbers(place, key, &no),
            Some(level) => {
                let level = level.unwrap_or(around.len().saturating_sub(1));
                match around.get(level) {
                    Some((Some(list), var, position)) if list.path() == place.path() => {
                        Ok(Some(list.at(var, position)))
                    }
                    Some((None, _, position)) if is_never_bare(place, types) => {
                        let list = place.value();
                        behind.replace(Some(format!(
                            "{position} >= {list}.size() ? [JSONPatch{{op: 'add', path: {}, value: {{}}}}]",
                            joined(&place.path(), "/-")
                        )));
                        Ok(Some(place.at(&format!("{list}[{position}]"), position)))
                    }
                    _ => Err(no(OF_OTHERS, OWN_POSITIONS)),
                }
            }
        };
        let found = json::expressions(patch, (self.object, true), types, &origin, &fill, &positions)?;
        if behind.borrow().is_some() && !found.only_adds {
            return Err(no(OF_OTHERS, OWN_POSITIONS));
        }
        if !found.tests.is_empty() {
            return Err(no(
                "the operation `test` of a JSON patch in a loop",
                "write the test in the preconditions of the loop",
            ));
        }
        let mut out = Vec::new();
        for one in found.operations {
            if one.starts_with('[') { out.push(one) } else { out.push(format!("({one})")) }
        }
        // Each operation sees the object as it was before the loop.
        let parts: Vec<String> = found.paths.iter().map(|path| part_of_element(path)).collect();
        let creates = |one: &String| one.contains(" ? ") && !one.ends_with(": [])");
        let meets = |(at, part): (usize, &String)| {
            let is_same = |(other, own): (usize, &String)| {
                other != at && (own == part || own.is_empty() || part.is_empty())
            };
            out.get(at).is_some_and(creates) && parts.iter().enumerate().any(is_same)
        };
        if parts.iter().enumerate().any(meets) {
            return Err(no(
                "operations of a loop of which one may create what another one changes",
                "write a loop for each of them: operations in CEL see the object as it was before all of them",
            ));
        }
        if out.iter().any(|one| one.contains("? ") && !one.contains("string(") && !one.ends_with(": [])")) {
            return Err(no(
                "a loop that adds to what may be absent, outside of its elements",
                "add what may be absent in a rule before it",
            ));
        }
        let behind = behind.into_inner();
        self.is_behind |= behind.is_some();
        Ok(match behind {
            Some(behind) => out.into_iter().map(|one| format!("({behind} : {one})")).collect(),
            None => out,
        })
    }
}

/// Whether a list that is always there has items that an API server refuses where they are bare: an
/// operation behind the last one puts such an item there.
fn is_never_bare(list: &Place, types: &Types) -> bool {
    let Some(Type::List(_, item)) = &list.ty else { return false };
    let Type::Named(name, _) = &**item else { return false };
    list.is_there().is_none() && types.named(name).is_some() && !needed(name).is_empty()
}

/// The level of a position: `{{elementIndex}}` = the innermost, `{{elementIndex0}}` = the
/// outermost.
fn position_of(key: &str) -> Option<Option<usize>> {
    let inner = key.trim().strip_prefix("{{")?.strip_suffix("}}")?.trim().strip_prefix("elementIndex")?;
    match inner {
        "" => Some(None),
        level => level.parse().ok().map(Some),
    }
}

/// The member of an element that a path leads into: the first key behind the last position. Empty:
/// the element itself, or something else.
fn part_of_element(path: &str) -> String {
    let tokens = json::tokens(path);
    let last = tokens.iter().rposition(|key| position_of(key).is_some());
    last.and_then(|last| tokens.get(last + 1)).map(|key| (*key).into()).unwrap_or_default()
}

/// The operations for all elements.
fn over(entered: &Entered, test: Option<String>, bodies: &[String], descending: bool) -> String {
    let Entered { list, var, position, .. } = entered;
    let test = test.filter(|test| test != "true").unwrap_or_default();
    over_items(list, position, var, &test, bodies, descending)
}

/// The operations for all items of a list for which a test holds; an empty one always does.
pub fn over_items(
    list: &str,
    position: &str,
    var: &str,
    test: &str,
    bodies: &[String],
    descending: bool,
) -> String {
    let body = bodies.join(" + ");
    // One operation needs no list of its own.
    let single = body
        .strip_prefix('[')
        .and_then(|rest| rest.strip_suffix(']'))
        .filter(|rest| rest.matches("JSONPatch{").count() == 1 && !rest.contains("? "));
    let (inner, flat) = match single {
        Some(one) => (one, ""),
        None => (body.as_str(), ".flatten()"),
    };
    let test = if test.is_empty() { String::new() } else { format!(", {test}") };
    let reversed = if descending { ".reverse()" } else { "" };
    format!("{list}.transformList({position}, {var}{test}, {inner}){reversed}{flat}")
}
