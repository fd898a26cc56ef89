//! The smallest objects and items of lists that an API server admits, from `smallest.txt`.

use foldhash::HashMap;
use std::sync::OnceLock;

use super::alternatives::has_alternative;
use crate::convert::api_version;
use crate::schema::{Leaf, Type, TypeDef, Types};
use ephor_value::{Map, Str, Value};

const TABLE: &str = include_str!("smallest.txt");

fn table() -> &'static HashMap<&'static str, Value> {
    static FOUND: OnceLock<HashMap<&'static str, Value>> = OnceLock::new();
    FOUND.get_or_init(|| {
        let lines = TABLE.lines().filter(|l| !l.starts_with('#')).filter_map(|l| l.split_once(' '));
        lines.filter_map(|(name, json)| Some((name, serde_json::from_str(json).ok()?))).collect()
    })
}

/// The smallest object of a kind that an API server admits, with the name `a`; `None` for kinds of
/// which nothing is recorded.
pub fn smallest(kind: &[Str; 3]) -> Option<Value> {
    let def = Types::built_in().of_object(kind)?;
    let rest = table().get(def.short_name()).filter(|_| super::table::has_rules(&def.name))?;
    let mut out = Map::new();
    out.insert("apiVersion", api_version(kind).into());
    out.insert("kind", Value::Str(kind[2].clone()));
    out.insert("metadata", Value::map([("name", "a".into())]));
    rest.as_map().into_iter().flat_map(Map::iter).for_each(|(k, v)| drop(out.insert(k.clone(), v.clone())));
    Some(Value::Map(out))
}

/// What every object of a kind has that an API server admits: the smallest one without what others
/// may have in its place.
pub fn always(kind: &[Str; 3]) -> Option<Value> {
    let def = Types::built_in().of_object(kind)?;
    Some(without_alternatives(&smallest(kind)?, &kind[2], def))
}

fn without_alternatives(value: &Value, kind: &str, def: &TypeDef) -> Value {
    let Some(map) = value.as_map() else { return value.clone() };
    let mut out = Map::new();
    for (key, below) in map.iter().filter(|(key, _)| !has_alternative(kind, &def.name, key)) {
        let of = |ty: &Type, value: &Value| match ty {
            Type::Named(name, _) => match Types::built_in().named(name) {
                Some(def) => without_alternatives(value, kind, def),
                None => value.clone(),
            },
            _ => value.clone(),
        };
        let below = match (def.field(key).map(|field| &field.ty), below) {
            (Some(Type::List(_, item)), Value::List(items)) => {
                Value::list(items.iter().map(|one| of(item, one)).collect())
            }
            (Some(ty), below) => of(ty, below),
            (None, below) => below.clone(),
        };
        out.insert::<Str>(key.clone(), below);
    }
    Value::Map(out)
}

/// Whether every item of a type has a field, in an object of a kind that an API server admits.
pub fn item_has(kind: &str, of: &str, field: &str) -> bool {
    table().get(of).is_some_and(|item| item.get(field).is_some()) && !has_alternative(kind, of, field)
}

/// The smallest item of a list that an API server admits. The path names fields; steps into lists
/// (`[]`, `*` or a number) may be there or not. Names are `a`, so a second item needs another one.
pub fn required_item(kind: &[Str; 3], path: &[&str]) -> Option<Value> {
    let types = Types::built_in();
    let def = types.of_object(kind).filter(|def| super::table::has_rules(&def.name))?;
    let is_field = |step: &&&str| !matches!(**step, "[]" | "*") && step.parse::<usize>().is_err();
    let steps: Vec<&str> = path.iter().filter(is_field).copied().collect();
    let Type::List(_, item) = type_at(def, &steps, types)? else { return None };
    match *item {
        Type::Named(name, _) => table().get(&*name).cloned(),
        Type::Leaf(Leaf::String) => Some(text_item(steps.last()?).into()),
        Type::Leaf(Leaf::Int32 | Leaf::Int64) => Some(Value::Int(1)),
        _ => None,
    }
}

/// The type of a path; lists are entered.
fn type_at(def: &TypeDef, steps: &[&str], types: &Types) -> Option<Type> {
    let (first, rest) = steps.split_first()?;
    let ty = def.field(first)?.ty.clone();
    if rest.is_empty() {
        return Some(ty);
    }
    let mut inner = ty;
    let mut rest = rest;
    loop {
        match inner {
            Type::List(_, item) => inner = *item,
            Type::Map(value, _) => {
                rest = rest.split_first()?.1;
                inner = *value;
                if rest.is_empty() {
                    return Some(inner);
                }
            }
            Type::Named(name, _) => return type_at(types.named(&name)?, rest, types),
            Type::Leaf(_) => return None,
        }
    }
}

/// A text that a list of texts may have.
fn text_item(field: &str) -> &'static str {
    match field {
        "finalizers" => "a/a",
        "accessModes" => "ReadWriteOnce",
        "policyTypes" => "Ingress",
        "externalIPs" | "nameservers" => "192.0.2.1",
        "loadBalancerSourceRanges" | "except" => "192.0.2.0/24",
        _ => "a",
    }
}
