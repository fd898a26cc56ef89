//! Items of lists next to each other: what a rule does to one of them may depend on another one.
//!
//! In: sampled objects, whose lists have an item or none. Out: objects with two items, the smallest
//! one before and behind each other one.

use std::collections::BTreeMap;

use ephor_value::place::PathPart;
use ephor_value::print::json;
use ephor_value::{Map, Str, Value};

use crate::model::limits::{MAX_ADJACENT_DEPTH, MAX_ADJACENT_ITEMS};
use crate::model::path::with;
use crate::model::request::Case;

/// Cases with two items in a list.
pub(crate) fn side_by_side(all: &[Case]) -> Vec<Case> {
    let mut lists: BTreeMap<Vec<Str>, Vec<(String, usize, &Value)>> = BTreeMap::new();
    for (number, case) in all.iter().enumerate() {
        find(&case.object, &mut Vec::new(), &mut |path, item| {
            let found = lists.entry(path.to_vec()).or_default();
            let text = json(item).to_string();
            if !found.iter().any(|(known, ..)| *known == text) {
                found.push((text, number, item));
            }
        });
    }
    let mut out = Vec::new();
    for (path, mut items) in lists {
        items.sort_by_key(|(text, ..)| (text.len(), text.clone()));
        let Some(((_, number, first), rest)) = items.split_first() else { continue };
        let Some(case) = all.get(*number) else { continue };
        let path: Vec<PathPart> = path.into_iter().map(PathPart::Key).collect();
        for (_, _, other) in rest.iter().take(MAX_ADJACENT_ITEMS) {
            for [one, two] in [[*first, *other], [*other, *first]] {
                let items = Value::list(vec![named(one, "a"), named(two, "b")]);
                out.extend(with(&case.object, &path, Some(items)).map(|object| case.with_object(object)));
            }
        }
    }
    out
}

type FoundList<'f, 'v> = &'f mut dyn FnMut(&[Str], &'v Value);

/// The lists of objects that have one object as their only item.
fn find<'v>(value: &'v Value, path: &mut Vec<Str>, found: FoundList<'_, 'v>) {
    match value {
        Value::Map(fields) if path.len() < MAX_ADJACENT_DEPTH => {
            for (key, value) in Map::iter(fields) {
                path.push(key.clone());
                find(value, path, found);
                path.pop();
            }
        }
        Value::List(items) => {
            if let [item @ Value::Map(_)] = &items[..] {
                found(path, item);
            }
        }
        _ => {}
    }
}

/// An item with another name, where it has one.
fn named(item: &Value, name: &str) -> Value {
    match item.get("name") {
        Some(Value::Str(_)) => item.with("name", Value::from(name)),
        _ => item.clone(),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use std::sync::Arc;

    use super::*;

    fn case(containers: &str) -> Case {
        let object = ephor_document::yaml_value(&format!("{{spec: {{containers: {containers}}}}}")).unwrap();
        Case { object, old: None, around: Arc::default() }
    }

    #[test]
    fn the_smallest_item_stands_before_and_behind_each_other_one() {
        let all = [case("[{name: x, image: i}]"), case("[{name: x}]"), case("[]")];
        let found: Vec<String> = side_by_side(&all)
            .iter()
            .map(|case| json(case.object.at(&["spec", "containers"]).unwrap()).to_string())
            .collect();
        assert_eq!(
            found,
            [r#"[{"name":"a"},{"image":"i","name":"b"}]"#, r#"[{"image":"i","name":"a"},{"name":"b"}]"#]
        );
    }
}
