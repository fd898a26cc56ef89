//! The JSON patch that leads from one document to another.
//!
//! Objects member by member, additions and changes first, in ascending order of keys, then
//! removals. Lists item by item: surplus items are removed from the end, then new ones added at the
//! end, then the common positions compared; moved items are not detected. Numbers differ when
//! they are written otherwise.

use ephor_value::{List, Map, Str, Value, stack};

use super::operation::{Action, Operation};

/// The operations that make `after` of `before`.
pub fn diff(before: &Value, after: &Value) -> Vec<Operation> {
    let mut out = Vec::new();
    compare(before, after, &mut String::new(), &mut out);
    out
}

fn push(out: &mut Vec<Operation>, path: &str, action: Action) {
    out.push(Operation { path: Str::from(path), action });
}

fn compare(before: &Value, after: &Value, path: &mut String, out: &mut Vec<Operation>) {
    match (before, after) {
        (Value::Map(a), Value::Map(b)) => objects(a, b, path, out),
        (Value::List(a), Value::List(b)) => lists(a, b, path, out),
        (a, b) if a.strict_eq(b) => {}
        (_, b) => push(out, path, Action::Replace(b.clone())),
    }
}

/// Runs `f` with the path one step longer.
fn below<T>(path: &mut String, token: &str, f: impl FnOnce(&mut String) -> T) -> T {
    let length = path.len();
    path.push('/');
    for c in token.chars() {
        match c {
            '~' => path.push_str("~0"),
            '/' => path.push_str("~1"),
            c => path.push(c),
        }
    }
    let result = stack::deep(|| f(path));
    path.truncate(length);
    result
}

fn objects(before: &Map, after: &Map, path: &mut String, out: &mut Vec<Operation>) {
    for (key, value) in after.sorted() {
        below(path, key, |path| match before.get(key) {
            Some(old) => compare(old, value, path, out),
            None => push(out, path, Action::Add(value.clone())),
        });
    }
    for (key, _) in before.sorted() {
        if !after.contains_key(key) {
            below(path, key, |path| push(out, path, Action::Remove));
        }
    }
}

fn lists(before: &List, after: &List, path: &mut String, out: &mut Vec<Operation>) {
    for at in (after.len()..before.len()).rev() {
        below(path, &at.to_string(), |path| push(out, path, Action::Remove));
    }
    for (at, value) in after.iter().enumerate().skip(before.len()) {
        below(path, &at.to_string(), |path| push(out, path, Action::Add(value.clone())));
    }
    for (at, (old, value)) in before.iter().zip(after.iter()).enumerate() {
        below(path, &at.to_string(), |path| compare(old, value, path, out));
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use proptest::prelude::*;

    use super::*;
    use crate::apply::apply;
    use ephor_document::yaml_value;
    use ephor_value::print::json;

    fn operations(before: &str, after: &str) -> Vec<String> {
        let (before, after) = (yaml_value(before).unwrap(), yaml_value(after).unwrap());
        diff(&before, &after).iter().map(|o| json(&o.to_value())).collect()
    }

    #[test]
    fn changes_come_before_removals_and_lists_are_compared_by_position() {
        assert_eq!(
            operations("{a: 1, b: {x: 1}, l: [1, 2, 3]}", "{b: {x: 2, 'q/z': 3}, l: [1, 9], m: null}"),
            [
                r#"{"op":"add","path":"/b/q~1z","value":3}"#,
                r#"{"op":"replace","path":"/b/x","value":2}"#,
                r#"{"op":"remove","path":"/l/2"}"#,
                r#"{"op":"replace","path":"/l/1","value":9}"#,
                r#"{"op":"add","path":"/m","value":null}"#,
                r#"{"op":"remove","path":"/a"}"#,
            ]
        );
    }

    /// Documents as objects have them.
    pub fn document() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::Bool),
            (-3i64..4).prop_map(Value::Int),
            Just(Value::Float(1.5)),
            "[a-c~/<]{0,3}".prop_map(Value::from),
        ];
        let value = leaf.prop_recursive(4, 24, 4, |inner| {
            prop_oneof![
                proptest::collection::vec(inner.clone(), 0..4).prop_map(Value::list),
                proptest::collection::vec(("[a-d~/]{1,2}", inner), 0..4).prop_map(object),
            ]
        });
        proptest::collection::vec(("[a-d~/]{1,2}", value), 0..5).prop_map(object)
    }

    fn object(entries: Vec<(String, Value)>) -> Value {
        Value::Map(entries.into_iter().map(|(k, v)| (Str::from(k), v)).collect())
    }

    proptest! {
        #[test]
        fn the_difference_applied_to_the_first_gives_the_second(a in document(), b in document()) {
            let patched = apply(&a, &diff(&a, &b)).unwrap();
            prop_assert!(patched.strict_eq(&b), "{} instead of {}", json(&patched), json(&b));
        }

        #[test]
        fn a_document_does_not_differ_from_itself(a in document()) {
            prop_assert!(diff(&a, &a).is_empty());
        }
    }
}
