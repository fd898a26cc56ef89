//! Objects that have every field of their kind, on which expressions that are half typed are
//! evaluated to find what they could read.

use ephor_kubernetes::Types;
use ephor_kubernetes::schema::{Leaf, Type, TypeDef};
use ephor_value::{Map, Str, Value};

/// Levels of objects at most: schemas have types that contain themselves, and no expression that
/// people write reads deeper.
const MAX_DEPTH: usize = 9;

/// Values of an object at most: a choice that the largest built-in kinds fit, and that is built in
/// less time than a key stroke takes.
const MAX_VALUES: usize = 20_000;

/// An object with every field of kinds: lists have one item, texts are empty.
pub fn sample(types: &Types, kinds: &[[Str; 3]]) -> Value {
    let mut out = Map::new();
    let mut left = MAX_VALUES;
    for def in kinds.iter().filter_map(|kind| types.of_kind(kind)) {
        for (key, value) in of_def(types, def, 0, &mut left).iter() {
            out.insert(key.clone(), value.clone());
        }
    }
    Value::Map(out)
}

fn of_def(types: &Types, def: &TypeDef, depth: usize, left: &mut usize) -> Map {
    let mut out = Map::new();
    for field in &def.fields {
        let value = match left.checked_sub(1) {
            Some(less) => {
                *left = less;
                of_type(types, &field.ty, depth + 1, left)
            }
            None => Value::Null,
        };
        out.insert(field.name.clone(), value);
    }
    out
}

fn of_type(types: &Types, ty: &Type, depth: usize, left: &mut usize) -> Value {
    match ty {
        _ if depth > MAX_DEPTH => Value::Null,
        Type::Leaf(leaf) => of_leaf(*leaf),
        Type::Named(name, _) => match types.named(name) {
            Some(def) => match def.leaf {
                Some(leaf) => of_leaf(leaf),
                None => Value::Map(of_def(types, def, depth, left)),
            },
            None => Value::Null,
        },
        Type::List(_, of) => Value::list(vec![of_type(types, of, depth, left)]),
        Type::Map(..) => Value::Map(Map::new()),
    }
}

fn of_leaf(leaf: Leaf) -> Value {
    match leaf {
        Leaf::Bool => Value::Bool(false),
        Leaf::Int32 | Leaf::Int64 => Value::Int(0),
        Leaf::Any => Value::Map(Map::new()),
        _ => Value::from(""),
    }
}
