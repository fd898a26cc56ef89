//! Smaller objects that show the same.

use ephor_value::{Map, Str, Value, stack};

use crate::inputs::context_entries::INPUTS;

/// No more attempts than these.
const ATTEMPTS: usize = 400;

/// The smallest object that is found by leaving parts out one by one, as long as `shows` holds of
/// it.
pub fn shrink(object: &Value, shows: &mut dyn FnMut(&Value) -> bool) -> Value {
    let mut best = object.clone();
    let mut attempts = 0;
    'again: loop {
        // Every object has a name.
        let name = object.at(&["metadata", "name"]);
        let is_named = |smaller: &Value| name.is_none() || smaller.at(&["metadata", "name"]).is_some();
        for smaller in without_a_part(&best, true).into_iter().filter(is_named) {
            attempts += 1;
            if attempts > ATTEMPTS {
                return best;
            }
            if shows(&smaller) {
                best = smaller;
                continue 'again;
            }
        }
        return best;
    }
}

/// The object with short names in place of some texts, wherever they stand, as long as `shows`
/// holds of it.
pub fn renamed(
    object: &Value,
    is_long: &dyn Fn(&str) -> bool,
    shows: &mut dyn FnMut(&Value) -> bool,
) -> Value {
    let mut best = object.clone();
    let mut names = ('a'..='z').map(|letter| letter.to_string());
    let mut long = Vec::new();
    texts(&best, is_long, &mut long);
    for text in long {
        let other = names.by_ref().map(|name| with_text(&best, &text, &name)).find(|other| shows(other));
        match other {
            Some(other) => best = other,
            None => return best,
        }
    }
    best
}

fn texts(value: &Value, is_long: &dyn Fn(&str) -> bool, out: &mut Vec<Str>) {
    stack::deep(|| match value {
        Value::Str(text) if is_long(text) && !out.contains(text) => out.push(text.clone()),
        Value::Map(map) => map.values().for_each(|value| texts(value, is_long, out)),
        Value::List(items) => items.iter().for_each(|item| texts(item, is_long, out)),
        _ => {}
    })
}

fn with_text(value: &Value, text: &str, name: &str) -> Value {
    stack::deep(|| match value {
        Value::Str(own) if **own == *text => Value::from(name),
        Value::Map(map) => {
            Value::Map(map.iter().map(|(key, value)| (key.clone(), with_text(value, text, name))).collect())
        }
        Value::List(items) => Value::list(items.iter().map(|item| with_text(item, text, name)).collect()),
        other => other.clone(),
    })
}

/// The value without one of its parts, for each of them; what identifies an object stays.
fn without_a_part(value: &Value, is_object: bool) -> Vec<Value> {
    stack::deep(|| match value {
        Value::Map(map) => {
            let stays = |key: &str| is_object && matches!(key, "apiVersion" | "kind" | "metadata");
            let mut out = Vec::new();
            for key in map.keys().filter(|key| !stays(key)) {
                let left = map.iter().filter(|(k, _)| *k != key);
                out.push(Value::Map(left.map(|(k, v)| (k.clone(), v.clone())).collect::<Map>()));
            }
            // Answers of lookups are there as a whole.
            for (key, inner) in map.iter().filter(|(key, _)| ***key != *INPUTS) {
                out.extend(without_a_part(inner, false).into_iter().map(|part| value.with(key, part)));
            }
            out
        }
        Value::List(items) => {
            let mut out = Vec::new();
            for at in 0..items.len() {
                let left = items.iter().enumerate().filter(|(i, _)| *i != at);
                out.push(Value::list(left.map(|(_, v)| v.clone()).collect()));
            }
            for (at, inner) in items.iter().enumerate() {
                for part in without_a_part(inner, false) {
                    let mut all = items.to_vec();
                    if let Some(slot) = all.get_mut(at) {
                        *slot = part;
                    }
                    out.push(Value::list(all));
                }
            }
            out
        }
        _ => Vec::new(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_names_become_short_ones_that_show_the_same() {
        let object = ephor_document::yaml_value("{a: long1, b: [long1, long2], c: other}").unwrap();
        let mut shows = |v: &Value| v.get("a").and_then(Value::as_str) != Some("a");
        let found = renamed(&object, &|text| text.starts_with("long"), &mut shows);
        assert_eq!(ephor_value::print::json(&found), r#"{"a":"b","b":["b","c"],"c":"other"}"#);
    }

    #[test]
    fn what_does_not_matter_is_left_out() {
        let object =
            ephor_document::yaml_value("{kind: A, metadata: {name: a, x: 1}, spec: {a: [1, 2], b: 3}}")
                .unwrap();
        let small = shrink(&object, &mut |v| {
            v.at(&["spec", "a"]).and_then(Value::as_list).is_some_and(|l| l.len() == 1)
        });
        let small = shrink(&small, &mut |v| v.at(&["spec", "a"]).is_some());
        assert_eq!(
            ephor_value::print::json(&small),
            r#"{"kind":"A","metadata":{"name":"a"},"spec":{"a":[]}}"#
        );
    }
}
