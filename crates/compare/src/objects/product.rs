//! Combinations of parts: all of them, or some that are spread over all.
//!
//! In: how many choices there are, parts of objects. Out: which go together, items that an API
//! server takes.

use ephor_analysis::reads::ReadTree;
use ephor_ir::matcher::is_label_key;
use ephor_kubernetes::Types;
use ephor_kubernetes::admitted::has_another;
use ephor_kubernetes::schema::Type;
use ephor_value::{Str, Value};

/// How many pairs are read for one that is taken.
const TRIES: usize = 50;

/// All pairs of numbers below two counts, or `limit` of them that are spread over all; whether
/// these are all.
pub(crate) fn pairs(
    first: usize,
    second: usize,
    limit: usize,
    fits: impl Fn(usize, usize) -> bool,
) -> (Vec<(usize, usize)>, bool) {
    let total = first.saturating_mul(second);
    let mut found = Vec::with_capacity(total.min(limit));
    if total == 0 {
        return (found, true);
    }
    let step = match total > limit {
        true => spread(total),
        false => 1,
    };
    let mut at = 0;
    // Most pairs may have too many items: then these are not all of those that fit, either.
    let tries = total.min(limit.saturating_mul(TRIES));
    for _ in 0..tries {
        let pair = (at / second, at % second);
        if fits(pair.0, pair.1) {
            if found.len() >= limit {
                return (found, false);
            }
            found.push(pair);
        }
        at = (at + step) % total;
    }
    (found, tries == total)
}

/// A step with which all numbers below a count are reached, in no order that a pattern could
/// follow.
fn spread(count: usize) -> usize {
    let common = |mut a: usize, mut b: usize| {
        while b > 0 {
            (a, b) = (b, a % b);
        }
        a
    };
    // The golden section.
    let near = usize::try_from(count as u128 * 618_034 / 1_000_000).unwrap_or(count);
    (near.max(1)..).find(|step| common(*step, count) == 1).unwrap_or(1)
}

/// An item of a type with the fields that every item has, unless they are read, or it has another
/// field of which one is enough.
pub(crate) fn filled(
    item: &Value,
    required: &Value,
    read: &ReadTree,
    (kind, types, ty): (&str, &Types, Option<&Type>),
) -> Value {
    let (Value::Map(map), Value::Map(required)) = (item, required) else { return item.clone() };
    let name = match ty {
        Some(Type::Named(name, _)) => Some(name),
        _ => None,
    };
    let def = name.and_then(|name| types.named(name));
    let has_other = |key: &str| def.is_some_and(|def| has_another(kind, &def.name, key, map));
    let mut filled_in = map.clone();
    for (key, value) in required.iter() {
        let of = match (map.get(key), read.get(key)) {
            (None, None) if !has_other(key) => value.clone(),
            (Some(own), Some(below)) => {
                let ty = def.and_then(|def| def.field(key)).map(|field| &field.ty);
                filled(own, value, below, (kind, types, ty))
            }
            _ => continue,
        };
        filled_in.insert::<Str>(key.clone(), of);
    }
    Value::Map(filled_in)
}

/// An item with a name of its own where its name does not count.
pub(crate) fn named(list: &str, item: &Value, read: &ReadTree, at: usize) -> Value {
    let is_free = read.get("name").is_none() && !read.whole;
    match item.get("name").and_then(Value::as_str) {
        Some("a") if is_free => {
            let letter = ["a", "b", "c", "d"].get(at).copied().unwrap_or("e");
            let initial = list.get(..1).unwrap_or_default();
            let name = if list == "containers" { letter.to_string() } else { format!("{initial}-{letter}") };
            item.with("name", Value::from(&*name))
        }
        _ => item.clone(),
    }
}

/// A text that may be the key of a label or annotation, near one that may not: behind a prefix
/// stands a name.
pub(crate) fn as_key(text: &str) -> Option<Str> {
    let longer = format!("{text}a");
    (!is_label_key(text) && is_label_key(&longer)).then(|| longer.into())
}

#[cfg(test)]
mod tests {
    use ephor_kubernetes::schema::Whole;
    use ephor_value::print::json;

    use super::*;
    use crate::compare_tests::yaml;

    #[test]
    fn an_item_with_one_of_several_fields_needs_no_other_of_them() {
        let required = yaml("{configMapRef: {name: a}}");
        let of = |item: &str, ty: &str| {
            let ty = Type::Named(ty.into(), Whole::Merged);
            json(&filled(&yaml(item), &required, &ReadTree::default(), ("Pod", Types::built_in(), Some(&ty))))
        };
        assert_eq!(of("{secretRef: {name: b}}", "core/v1.EnvFromSource"), r#"{"secretRef":{"name":"b"}}"#);
        assert_eq!(of("{}", "core/v1.EnvFromSource"), r#"{"configMapRef":{"name":"a"}}"#);
        let both = r#"{"configMapRef":{"name":"a"},"secretRef":{"name":"b"}}"#;
        assert_eq!(of("{secretRef: {name: b}}", "core/v1.Container"), both);
    }
}
