//! What the schema of Kubernetes says of a field that rules read or write.
//!
//! In: a kind and a path. Out: the type there, and what follows from it: whether texts can be
//! there, which keys its items have, whether an API server writes it itself. Source: the OpenAPI
//! documents that `ephor_kubernetes::schema` is built from.

use ephor_analysis::reads::{ReadTree, Reads, Step};
use ephor_kubernetes::Types;
use ephor_kubernetes::admitted::{CHOSEN, refuses_wildcards as refuses};
use ephor_kubernetes::schema::{Field, Leaf, ListKind, Type, TypeDef, Whole};
use ephor_value::place::{PathPart, parse};
use ephor_value::{Str, Value};

use crate::model::environment::Environment;

/// Whether a rule reads what API servers and controllers write: it is not the same in new
/// objects and in others.
pub(crate) fn is_written(environment: &Environment, reads: &Reads) -> bool {
    let is_pod = &*environment.object[2] == "Pod";
    [&reads.object, &reads.shown].into_iter().any(|tree| {
        let is_in = |tree: &ReadTree, key: &str| {
            tree.whole || tree.names || tree.items.is_some() || tree.get(key).is_some()
        };
        let of_metadata = || tree.get("metadata").is_some_and(|own| CHOSEN.iter().any(|key| is_in(own, key)));
        // They are added to pods that are there, by requests of their own.
        let of_spec = || is_pod && tree.get("spec").is_some_and(|own| is_in(own, "ephemeralContainers"));
        is_in(tree, "status") || of_metadata() || of_spec()
    })
}

/// Whether what API servers and controllers write may be in a field.
pub(crate) fn is_written_at(field: &[Step]) -> bool {
    let is_key =
        |at: usize, keys: &[&str]| matches!(field.get(at), Some(Step::Key(key)) if keys.contains(&&**key));
    is_key(0, &["status", "metadata"]) || (is_key(0, &["spec"]) && is_key(1, &["ephemeralContainers"]))
}

/// Whether a field of the object is read, so that policies distinguish its absence.
pub(crate) fn is_read(reads: &Reads, field: &str) -> bool {
    fn of(tree: &ReadTree, path: &[PathPart]) -> bool {
        let Some((step, rest)) = path.split_first() else { return true };
        let below = match step {
            PathPart::Key(key) => tree.get(key),
            PathPart::Index(_) => tree.items.as_deref().or(tree.nested.as_deref()),
        };
        tree.whole || below.is_some_and(|below| of(below, rest))
    }
    let path = parse(field);
    [&reads.object, &reads.shown, &reads.old].into_iter().any(|tree| of(tree, &path))
}

/// The description of the object that has the field at a place, this field and its name; an error
/// where the place is not described, with whether that is because no object has it.
pub(crate) fn field_at<'t>(
    kind: &[Str; 3],
    place: &'t [Step],
) -> Result<(&'static TypeDef, &'static Field, &'t Str), bool> {
    let types: &'static Types = Types::built_in();
    let mut def = types.of_object(kind);
    let mut keys = place.iter().filter_map(|step| match step {
        Step::Key(key) => Some(key),
        Step::Items | Step::Nested => None,
    });
    let Some(mut key) = keys.next() else { return Err(false) };
    loop {
        let Some(own) = def else { return Err(false) };
        // What its kind does not have is dropped.
        let Some(field) = own.field(key) else { return Err(!own.open) };
        let Some(next) = keys.next() else { return Ok((own, field, key)) };
        let mut ty = &field.ty;
        while let Type::List(_, item) = ty {
            ty = item;
        }
        match ty {
            Type::Named(name, _) => (def, key) = (types.named(name), next),
            // The value of an entry.
            Type::Map(..) => return Ok((own, field, key)),
            _ => return Err(false),
        }
    }
}

/// Whether an API server admits no text at a place that has other characters than names have: no
/// wildcards, quotes or braces.
pub(crate) fn has_names_alone(kind: &[Str; 3], place: &[Step]) -> bool {
    // Of the names of objects those of roles and their bindings may have braces.
    if let [Step::Key(metadata), Step::Key(key)] = place
        && **metadata == *"metadata"
    {
        match &**key {
            "namespace" | "uid" => return true,
            "name" => return !kind[0].starts_with("rbac."),
            _ => {}
        }
    }
    match field_at(kind, place) {
        Ok((own, field, key)) => {
            matches!(field.ty, Type::Leaf(_)) && refuses(&own.name, key, &Value::from("*"))
        }
        Err(is_dropped) => is_dropped,
    }
}

/// The type of the items of the innermost list or map of a type.
pub(crate) fn innermost(ty: &Type) -> &Type {
    match ty {
        Type::List(_, item) | Type::Map(item, _) => innermost(item),
        other => other,
    }
}

/// Whether what is at a place is a text.
pub(crate) fn is_text(kind: &[Str; 3], place: &[Step]) -> bool {
    field_at(kind, place).is_ok_and(|(_, field, _)| matches!(innermost(&field.ty), Type::Leaf(Leaf::String)))
}

/// Whether there may be a text at a place that is a quantity or a duration.
pub(crate) fn may_be_text(kind: &[Str; 3], place: &[Step]) -> bool {
    match field_at(kind, place) {
        Ok((_, field, _)) => {
            let ty = innermost(&field.ty);
            matches!(ty, Type::Leaf(Leaf::String | Leaf::Bytes | Leaf::Any) | Type::Named(..))
        }
        Err(is_dropped) => !is_dropped,
    }
}

/// What a type is.
#[derive(Clone, Copy)]
pub(crate) enum Resolved<'t> {
    Object(&'t TypeDef, Whole),
    Map(&'t Type, Whole),
    List(&'t ListKind, &'t Type),
    Leaf,
    Unknown,
}

pub(crate) fn resolved<'t>(types: &'t Types, ty: &'t Type) -> Resolved<'t> {
    match ty {
        Type::Leaf(Leaf::Any) => Resolved::Unknown,
        Type::Leaf(_) => Resolved::Leaf,
        Type::List(kind, item) => Resolved::List(kind, item),
        Type::Map(value, whole) => Resolved::Map(value, *whole),
        Type::Named(name, whole) => match types.named(name) {
            Some(def) if def.leaf.is_none() => {
                Resolved::Object(def, if *whole == Whole::Atomic { *whole } else { def.whole })
            }
            Some(def) if def.leaf != Some(Leaf::Any) => Resolved::Leaf,
            _ => Resolved::Unknown,
        },
    }
}

/// The type of a place.
pub(crate) fn type_at<'t>(types: &'t Types, kind: &[Str; 3], place: &[Step]) -> Option<&'t Type> {
    let (first, rest) = place.split_first()?;
    let Step::Key(key) = first else { return None };
    let mut ty = &types.of_object(kind)?.field(key)?.ty;
    for step in rest {
        ty = match (step, resolved(types, ty)) {
            (Step::Key(key), Resolved::Object(def, _)) => &def.field(key)?.ty,
            (Step::Key(_), Resolved::Map(value, _)) => value,
            (Step::Items, Resolved::List(_, item)) => item,
            _ => return None,
        };
    }
    Some(ty)
}

/// The keys by which the items of the list at a place are known, and the type of these; `None`:
/// they are known by none.
pub(crate) fn keyed_at<'t>(
    types: &'t Types,
    kind: &[Str; 3],
    list: &[Step],
) -> Option<(&'t [Str], &'t Type)> {
    match resolved(types, type_at(types, kind, list)?) {
        Resolved::List(ListKind::Keyed(keys), item) => Some((keys, item)),
        _ => None,
    }
}

/// The leaf that a type is.
pub(crate) fn leaf_of(types: &Types, ty: &Type) -> Option<Leaf> {
    match ty {
        Type::Leaf(leaf) => Some(*leaf),
        Type::Named(name, _) => types.named(name)?.leaf,
        _ => None,
    }
}
