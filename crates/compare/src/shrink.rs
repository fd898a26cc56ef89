//! Smaller objects that show the same.

use crate::value::{Map, Value, stack};

use super::inputs::INPUTS;

/// No more attempts than these.
const ATTEMPTS: usize = 400;

/// The smallest object that is found by leaving parts out one by one, as long as `shows` holds of it.
pub fn shrink(object: &Value, shows: &mut dyn FnMut(&Value) -> bool) -> Value {
    let mut best = object.clone();
    let mut attempts = 0;
    'again: loop {
        for smaller in without_a_part(&best, true) {
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
            // Answers from outside are there as a whole.
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
    fn what_does_not_matter_is_left_out() {
        let object =
            ephor_document::yaml_value("{kind: A, metadata: {name: a, x: 1}, spec: {a: [1, 2], b: 3}}")
                .unwrap();
        let small = shrink(&object, &mut |v| {
            v.at(&["spec", "a"]).and_then(Value::as_list).is_some_and(|l| l.len() == 1)
        });
        let small = shrink(&small, &mut |v| v.at(&["spec", "a"]).is_some());
        assert_eq!(crate::value::print::json(&small), r#"{"kind":"A","metadata":{},"spec":{"a":[]}}"#);
    }
}
