//! Loops of merges → apply configurations over the elements.
//!
//! In: a loop with `patchStrategicMerge`. Out: mutations. A merge names its element by `(name)` in
//! one list of the object, and elements of the loop's other lists change nothing there; or it puts
//! an entry for each element into a map. Semantics: `docs/semantics/mutate.md`, "Loops".

use std::sync::Arc;

use ephor_ir::Rule;
use ephor_ir::mutate::PatchLoop;
use ephor_lower::template::text;
use ephor_value::{Map, Str, Value};

use crate::constraints::cel::literal;
use crate::expressions::context::{Context, Element};
use crate::expressions::each::{InLoop, Reading};
use crate::expressions::refusal::{Refusal, Result};
use crate::expressions::{holds, optional, value};
use crate::kinds::mutating::constant::{Place, is_map};
use crate::kinds::mutating::merge;

/// The name of an element in expressions.
const ELEMENT: &str = "element";

/// Mutations of a loop: whether each is a JSON patch, and its expression.
pub type Mutations = Vec<(bool, String)>;

/// The mutations of a loop of merges.
pub fn mutations(
    own: &PatchLoop,
    written: &Value,
    rule: &Rule,
    object: &Place,
    context: &Context,
) -> Result<Mutations> {
    let refuse = |what: &str, nearest: &str| Refusal::new(what, own.origin.clone(), nearest);
    let Some(patch) = written.get("patchStrategicMerge").filter(|v| !v.is_null()) else {
        return Err(refuse("a loop without a patch", "write `patchStrategicMerge` or `patchesJson6902`"));
    };
    let of_target = context.trigger.iter().flat_map(|trigger| &trigger.bindings);
    let all = rule.bindings.iter().chain(of_target).chain(own.bindings.iter());
    let names: Arc<[Str]> = all.map(|b| b.name.clone()).collect();
    if let Some((keys, entries)) = entries(patch) {
        return of_entries(own, rule, object, context, &names, &keys, entries)
            .map(|text| vec![(false, text)]);
    }
    let base = if context.trigger.is_some() { "target." } else { "request.object." };
    let lists = lists(written.text_at(&["list"]), base);
    if lists.is_empty() {
        return Err(refuse(
            "a loop of merges over what is no list of the object",
            "loop over a list of the object (`request.object.…`), and test the other list in preconditions: an apply configuration names items of the object",
        ));
    }
    if lists.len() > 1 && names_plainly(patch) {
        return Err(refuse(
            "a loop over several lists whose merge adds elements to one of them",
            "write a loop for each list",
        ));
    }
    let types = &context.types;
    let origin = own.origin.key("patchStrategicMerge");
    let mut failed = None;
    for keys in &lists {
        let keys: Vec<&str> = keys.iter().map(String::as_str).collect();
        let place = keys.iter().fold(object.clone(), |place, key| place.key(key, types));
        let element = Element { var: ELEMENT, list: &keys, bindings: &own.bindings };
        let test = own.admit.as_ref().map(|admit| holds(admit, rule, Some(&element), context)).transpose()?;
        let fill = |written: &str| value(&text(&written.into(), &names), rule, Some(&element), context);
        let optional =
            |written: &str| optional(&text(&written.into(), &names), rule, Some(&element), context);
        let chosen = merge::Chosen { list: &place, var: ELEMENT, test, optional: &optional };
        match merge::merged(patch, object, types, &origin, &fill, Some(&chosen)) {
            // Nothing but the list may depend on the element.
            Ok(found) if found.is_of_elements && found.condition.is_none() => {
                let apply = found.apply.map(|text| (false, text));
                let patches = found.patches.into_iter().map(|text| (true, text));
                return Ok(apply.into_iter().chain(patches).collect());
            }
            Ok(_) => {
                let is_always = own.admit.is_none() && place.is_there().is_none();
                if let Some((elements, rest)) = apart(patch, &keys).filter(|_| is_always) {
                    let of_elements = merge::merged(&elements, object, types, &origin, &fill, Some(&chosen))?;
                    let others = merge::merged(&rest, object, types, &origin, &fill, None)?;
                    if of_elements.is_of_elements
                        && of_elements.condition.is_none()
                        && others.condition.is_none()
                    {
                        let all = [of_elements, others].into_iter().flat_map(|one| {
                            let patches = one.patches.into_iter().map(|text| (true, text));
                            one.apply.map(|text| (false, text)).into_iter().chain(patches)
                        });
                        return Ok(all.collect());
                    }
                }
            }
            Err(refusal) => failed = failed.or(Some(refusal)),
        }
    }
    Err(failed.unwrap_or_else(|| {
        refuse(
            "a loop whose patch changes more than its elements",
            "write what is outside of the elements in a rule of its own",
        )
    }))
}

/// A merge in two parts: of a list, and of all else, which must not depend on an element.
fn apart(patch: &Value, list: &[&str]) -> Option<(Value, Value)> {
    let (key, below) = list.split_first()?;
    let fields = patch.as_map()?;
    let own = fields.get(key)?;
    let (elements, rest) = match below.is_empty() {
        true => (own.clone(), None),
        false => apart(own, below).map(|(elements, rest)| (elements, Some(rest)))?,
    };
    let mut others = fields.clone();
    match rest.filter(|rest| !rest.is_empty()) {
        Some(rest) => _ = others.insert(*key, rest),
        None => _ = others.remove(key),
    }
    let others = Value::Map(others);
    (!others.any_text(&|text| text.contains("element"))).then(|| (Value::map([(*key, elements)]), others))
}

/// The lists of a loop, as keys: `request.object.spec.[a, b][]` has two.
fn lists(written: &str, base: &str) -> Vec<Vec<String>> {
    let Some(path) = written.trim().strip_prefix(base) else { return Vec::new() };
    let path = path.strip_suffix("[]").unwrap_or(path);
    let is_plain = |key: &String| !key.is_empty() && key.chars().all(|c| c.is_ascii_alphanumeric());
    let keys = |text: &str| text.split('.').map(|key| key.trim().to_string()).collect::<Vec<String>>();
    let all: Vec<Vec<String>> = match path.split_once('[') {
        None => vec![keys(path)],
        Some((before, several)) => {
            let before = match before {
                "" => Some(Vec::new()),
                before => before.strip_suffix('.').map(keys),
            };
            let (Some(before), Some(several)) = (before, several.strip_suffix(']')) else {
                return Vec::new();
            };
            several.split(',').map(|own| before.iter().cloned().chain(keys(own)).collect()).collect()
        }
    };
    if all.iter().flatten().all(is_plain) { all } else { Vec::new() }
}

/// Whether a merge names an element without an anchor: what has no such name is added then.
fn names_plainly(patch: &Value) -> bool {
    match patch {
        Value::Map(fields) => fields.iter().any(|(key, value)| {
            let is_element = value.as_str().is_some_and(|text| text.contains("element"));
            (&**key == "name" && is_element) || names_plainly(value)
        }),
        Value::List(items) => items.iter().any(names_plainly),
        _ => false,
    }
}

/// The map of a merge that does nothing but add entries with computed keys to it: the keys that
/// lead to it, and the entries.
fn entries(patch: &Value) -> Option<(Vec<&str>, &Map)> {
    let mut keys = Vec::new();
    let mut at = patch.as_map()?;
    loop {
        if at.iter().any(|(key, value)| key.contains("{{") && value.as_str().is_some()) {
            return Some((keys, at));
        }
        let (key, value) = at.iter().next().filter(|_| at.len() == 1)?;
        keys.push(key);
        at = value.as_map()?;
    }
}

/// An entry of a map for each element.
fn of_entries(
    own: &PatchLoop,
    rule: &Rule,
    object: &Place,
    context: &Context,
    names: &Arc<[Str]>,
    keys: &[&str],
    entries: &Map,
) -> Result<String> {
    let place = keys.iter().fold(object.clone(), |place, key| place.key(key, &context.types));
    let mut each = InLoop::new(rule, context, Reading::Named);
    each.within(&own.list, &own.bindings, &own.origin, &mut |each, entered| {
        if !is_map(place.ty.as_ref()) {
            return Err(each.refuse("a variable in a key of a merge", "write a JSON patch with the variable in its path: keys of an apply configuration are constants"));
        }
        let test = own.admit.as_ref().map(|admit| each.holds(admit)).transpose()?;
        let mut all = Vec::new();
        for (key, value) in entries.iter() {
            let Some(value) = value.as_str() else {
                return Err(each.refuse("a value of several parts under a variable key", "write its parts"));
            };
            let mut filled = |written: &str| match written.contains("{{") {
                true => each.value(&text(&written.into(), names)),
                false => Ok(literal(written)),
            };
            all.push(format!("{}: {}", filled(key)?, filled(value)?));
        }
        let is_always = test.is_none() && !entered.list.ends_with("orValue([])");
        let test = test.filter(|test| test != "true").map(|test| format!("{test}, ")).unwrap_or_default();
        let entries = format!(
            "{}.transformMapEntry({}, {}, {test}{{{}}})",
            entered.list,
            entered.position,
            entered.var,
            all.join(", ")
        );
        let mut out = entries;
        for (at, key) in keys.iter().enumerate().rev() {
            let name = keys
                .get(..at)
                .unwrap_or_default()
                .iter()
                .fold("Object".to_string(), |name, key| format!("{name}.{key}"));
            let is_last = at + 1 == keys.len();
            out = match is_last && !is_always {
                true => format!("{name}{{?{key}: optional.ofNonZeroValue({out})}}"),
                false => format!("{name}{{{key}: {out}}}"),
            };
        }
        Ok(out)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_lists_of_a_loop_are_read_from_its_query() {
        let found = |text: &str| -> Vec<String> {
            lists(text, "request.object.").iter().map(|keys| keys.join(".")).collect()
        };
        assert_eq!(found("request.object.spec.containers[]"), ["spec.containers"]);
        assert_eq!(found("request.object.spec.[a, b][]"), ["spec.a", "spec.b"]);
        assert!(found("request.object.spec.containers | [0]").is_empty());
    }
}
