//! Lists that are merged by keys of their items.
//!
//! In: a kind, an object. Out: which keys these are, and whether each item has all of them and no
//! two have the same: what changes objects is compared on such objects, and the answer is relative
//! to that.

use std::collections::BTreeSet;

use ephor_analysis::reads::Step;
use ephor_kubernetes::Types;
use ephor_kubernetes::schema::{ListKind, Type};
use ephor_patch::schema::Schema;
use ephor_value::print::json;
use ephor_value::{Str, Value, stack};

use crate::model::environment::Environment;
use crate::model::field_types::{Resolved, keyed_at, resolved};

/// What a strategic merge does to a list when it walks over it: what answers about changes are
/// relative to.
pub(crate) const MERGED: &str =
    "the keys of items in lists that are merged by keys, which each item has and no two share";

/// The keys by which the items of a list are known.
pub(crate) fn keys_of<'t>(types: &'t Types, environment: &Environment, list: &[Step]) -> Option<&'t [Str]> {
    Some(keyed_at(types, &environment.object, list)?.0)
}

/// Whether each item of a list, wherever it is one, has all of these keys, and no two have the
/// same.
pub(crate) fn has_keys(object: &Value, list: &[Step], keys: &[Str]) -> bool {
    if let Some((step, rest)) = list.split_first() {
        let below = |value: &Value| stack::deep(|| has_keys(value, rest, keys));
        return match step {
            Step::Key(key) => object.get(key).is_none_or(below),
            Step::Items | Step::Nested => object.as_list().unwrap_or_default().iter().all(below),
        };
    }
    let mut known = BTreeSet::new();
    object.as_list().unwrap_or_default().iter().all(|item| {
        let own: Vec<&Value> =
            keys.iter().filter_map(|key| item.get(key)).filter(|v| !v.is_empty()).collect();
        own.len() == keys.len() && known.insert(own.into_iter().map(json).collect::<Vec<_>>())
    })
}

/// Whether each item of the lists in a value that are merged by keys has all of these, and no two
/// have the same. A protocol that is not said is TCP.
pub(crate) fn is_regular(value: &Value, ty: &Type) -> bool {
    let types: &Types = Types::built_in();
    let all = |values: Vec<&Value>, ty: &Type| values.into_iter().all(|value| is_regular(value, ty));
    match (resolved(types, ty), value) {
        (Resolved::Object(def, _), Value::Map(fields)) => fields.iter().all(|(key, value)| {
            def.field(key).is_none_or(|field| stack::deep(|| is_regular(value, &field.ty)))
        }),
        (Resolved::Map(below, _), Value::Map(fields)) => all(fields.values().collect(), below),
        (Resolved::List(kind, item), Value::List(items)) => {
            let keys: &[Str] = match kind {
                ListKind::Keyed(keys) => keys,
                _ => &[],
            };
            let keys = || keys.iter().filter(|key| ***key != *"protocol");
            let mut known = BTreeSet::new();
            let is_own = |item: &Value| {
                let own: Vec<_> =
                    keys().filter_map(|key| item.get(key)).filter(|v| !v.is_empty()).map(json).collect();
                own.len() == keys().count()
                    && (own.is_empty() || known.insert((own, item.text_at(&["protocol"]).to_string())))
            };
            items.iter().all(is_own) && all(items.iter().collect(), item)
        }
        _ => true,
    }
}

/// Whether lists of objects of a kind are merged by keys.
pub(crate) fn has_merged_lists(environment: &Environment) -> bool {
    let example = Value::map([
        ("apiVersion", Value::from(environment.api_version())),
        ("kind", Value::Str(environment.object[2].clone())),
    ]);
    !matches!(Schema::of_object(&example), Schema::Unknown)
}
