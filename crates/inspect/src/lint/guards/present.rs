//! Which fields every object has that an API server admits: what it requires, and what it fills in.
//!
//! In: kinds, and the place of a field or the type that has it. Out: whether it is there in every
//! object. What the smallest admitted object of a kind has, and each item of the same type in all
//! of them, is there in others too.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use ephor_kubernetes::admitted::{CHOSEN, alternatives, always, completed_as_if_admitted, item_has};
use ephor_kubernetes::defaults::constant_of;
use ephor_kubernetes::schema::{Field, Type, TypeDef};
use ephor_kubernetes::{Kinds, Types};
use ephor_value::{Str, Value};

use super::value::Step;

/// What every object of some kinds has.
#[derive(Default)]
pub(super) struct Present {
    examples: Vec<Arc<Value>>,
    kinds: Vec<Str>,
}

impl Present {
    /// That of objects of kinds; of unknown ones only what all objects have.
    pub(super) fn of(kinds: &[[Str; 3]]) -> Present {
        Present {
            examples: kinds.iter().filter_map(example).collect(),
            kinds: kinds.iter().map(|[_, _, kind]| kind.clone()).collect(),
        }
    }

    /// Whether the field at a place of the object is there; `at` begins below the object.
    pub(super) fn at(&self, at: &[Step]) -> bool {
        match at {
            [Step::Field(_)] if self.kinds.is_empty() => return true,
            [Step::Field(metadata), Step::Field(name)] if **metadata == *"metadata" => {
                let is_chosen = matches!(&**name, "name" | "namespace") || CHOSEN.contains(&&**name);
                if is_chosen {
                    return true;
                }
            }
            _ => {}
        }
        self.examples.iter().any(|example| follow(example, at).is_some())
    }
}

impl Present {
    /// Whether each item of a type has a field in objects of the kinds.
    pub(super) fn in_items(&self, of: &str, field: &str) -> bool {
        !self.kinds.is_empty() && self.kinds.iter().all(|kind| item_has(kind, of, field))
    }

    /// Whether a part of a type that has one field has another, too: an API server wants both.
    pub(super) fn come_together(&self, of: &str, field: &str, has: &dyn Fn(&str) -> bool) -> bool {
        !self.kinds.is_empty()
            && self.kinds.iter().all(|kind| {
                alternatives(kind, of).iter().any(|one| {
                    one.fields.contains_key(field)
                        && one.fields.iter().any(|(other, _)| **other != *field && has(other))
                })
            })
    }
}

fn follow<'v>(value: &'v Value, at: &[Step]) -> Option<&'v Value> {
    at.iter().try_fold(value, |value, step| match step {
        Step::Root(_) | Step::Fields => None,
        Step::Field(name) => value.get(name),
        Step::Each(_) => value.as_list()?.first(),
    })
}

/// Whether a field of a type is there in every object that has a part of the type.
pub(super) fn is_filled(def: &TypeDef, field: &Field, types: &Types) -> bool {
    field.required
        || field.default.is_some()
        || constant_of(&def.name, &field.name, types.release()).is_some()
        || common().get(&def.name).is_some_and(|names| names.contains(&field.name))
}

/// What an API server makes of the least that every object of a kind has.
fn example(kind: &[Str; 3]) -> Option<Arc<Value>> {
    type Examples = Mutex<HashMap<[Str; 3], Option<Arc<Value>>>>;
    static EXAMPLES: OnceLock<Examples> = OnceLock::new();
    let mut all = EXAMPLES.get_or_init(Examples::default).lock().unwrap_or_else(PoisonError::into_inner);
    all.entry(kind.clone())
        .or_insert_with(|| {
            // What stands in place of something else is needed for others to be filled in, but not
            // there in every object.
            let least = always(kind)?;
            completed_as_if_admitted(kind, &least).map(Arc::new)
        })
        .clone()
}

/// The fields that all parts of a type have in the examples of all kinds.
fn common() -> &'static HashMap<Str, HashSet<Str>> {
    static COMMON: OnceLock<HashMap<Str, HashSet<Str>>> = OnceLock::new();
    COMMON.get_or_init(|| {
        let types = Types::built_in();
        let mut found = HashMap::new();
        for resource in Kinds::built_in().all() {
            let kind = [resource.group.clone(), resource.version.clone(), resource.kind.clone()];
            if let (Some(example), Some(def)) = (example(&kind), types.of_object(&kind)) {
                collect(&example, def, types, &mut found);
            }
        }
        if let Some(container) = found.get("core/v1.Container").cloned() {
            found.insert("core/v1.EphemeralContainer".into(), container);
        }
        found
    })
}

fn collect(value: &Value, def: &TypeDef, types: &Types, found: &mut HashMap<Str, HashSet<Str>>) {
    let Some(map) = value.as_map() else { return };
    let names: HashSet<Str> = map.iter().map(|(name, _)| name.clone()).collect();
    match found.get_mut(&def.name) {
        Some(known) => known.retain(|name| names.contains(name)),
        None => drop(found.insert(def.name.clone(), names)),
    }
    for (name, part) in map.iter() {
        let named = |ty: &Type| match ty {
            Type::Named(name, _) => types.named(name).cloned(),
            _ => None,
        };
        match def.field(name).map(|field| &field.ty) {
            Some(Type::List(_, item)) => {
                for one in part.as_list().unwrap_or_default() {
                    named(item).iter().for_each(|def| collect(one, def, types, found));
                }
            }
            Some(ty) => named(ty).iter().for_each(|def| collect(part, def, types, found)),
            None => {}
        }
    }
}
