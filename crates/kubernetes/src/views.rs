//! Views of objects of built-in kinds: what conditions see of them from Kubernetes 1.37 on.
//!
//! In: an object as it is encoded, its kind, and the release. Out: the same tree, whose structures,
//! lists and maps are those of the kind's Go types ([`ephor_value::view`]). Custom resources have
//! no Go types and stay trees. Measured on kube-apiserver 1.37.2.

use std::sync::Arc;

use super::schema::{Leaf, Type, TypeDef, Types};
use ephor_value::quantity::Quantity;
use ephor_value::release::Release;
use ephor_value::view::{StructType, View};
use ephor_value::{List, Map, Str, Value, stack};

/// An object as a view of its kind in a release; of another kind than the built-in ones the object
/// itself.
pub fn viewed(object: &Value, kind: &[Str; 3], release: Release) -> Value {
    let types = Types::of_release(release);
    match types.of_object(kind) {
        Some(def) => structure(object, def, types),
        _ => object.clone(),
    }
}

/// In the place of a type: the part has no Go type and stays a tree.
pub const TREE: &str = "";

/// A tree without a schema as a view: its maps are structures of the named types, where one is
/// given for their place.
pub fn named(value: &Value, name: &str, fields: &[(&str, &str)]) -> Value {
    let Value::Map(m) = value else { return plain(value) };
    let field = |(key, v): (&Str, &Value)| {
        let seen = match fields.iter().find(|(field, _)| *field == &**key) {
            Some((_, name)) if *name == TREE => v.clone(),
            Some((_, name)) => named(v, name, fields),
            None => plain(v),
        };
        (key.clone(), seen)
    };
    let ty: Arc<dyn StructType> = Arc::new(NamedStruct { name: name.into() });
    Value::Map(Map::viewed(m.iter().map(field).collect(), View::Struct(ty)))
}

/// A tree whose lists and maps are Go's.
fn plain(value: &Value) -> Value {
    stack::deep(|| match value {
        Value::List(items) => Value::List(List::viewed(items.iter().map(plain).collect())),
        Value::Map(m) => {
            Value::Map(Map::viewed(m.iter().map(|(k, v)| (k.clone(), plain(v))).collect(), View::Map))
        }
        scalar => scalar.clone(),
    })
}

fn structure(value: &Value, def: &Arc<TypeDef>, types: &'static Types) -> Value {
    let Value::Map(m) = value else { return value.clone() };
    if def.open || def.leaf.is_some() {
        return value.clone();
    }
    let field = |(key, v): (&Str, &Value)| {
        let ty = def.field(key).map(|field| &field.ty);
        (key.clone(), ty.map_or_else(|| v.clone(), |ty| part(v, ty, types)))
    };
    let ty: Arc<dyn StructType> = Arc::new(SchemaStruct::new(def, types));
    Value::Map(Map::viewed(m.iter().map(field).collect(), View::Struct(ty)))
}

fn part(value: &Value, ty: &Type, types: &'static Types) -> Value {
    stack::deep(|| match (ty, value) {
        (Type::Named(name, _), Value::Map(_)) => match types.named(name) {
            Some(def) => structure(value, def, types),
            None => value.clone(),
        },
        (Type::List(_, item), Value::List(items)) => {
            Value::List(List::viewed(items.iter().map(|v| part(v, item, types)).collect()))
        }
        (Type::Map(item, _), Value::Map(m)) => {
            let entries = m.iter().map(|(k, v)| (k.clone(), part(v, item, types))).collect();
            Value::Map(Map::viewed(entries, View::Map))
        }
        _ => value.clone(),
    })
}

/// A structure of which only the name is known.
#[derive(Debug)]
struct NamedStruct {
    name: Str,
}

impl StructType for NamedStruct {
    fn name(&self) -> &str {
        &self.name
    }

    fn equal(&self, a: &Map, b: &Map) -> bool {
        fields_equal(a, b, |_, v, w| v.cel_eq(w))
    }
}

/// A structure with the fields of a schema.
#[derive(Debug)]
struct SchemaStruct {
    /// `v1.Container`.
    name: Str,
    def: Arc<TypeDef>,
    types: &'static Types,
}

impl SchemaStruct {
    fn new(def: &Arc<TypeDef>, types: &'static Types) -> SchemaStruct {
        let name = def.name.rsplit_once('/').map_or(&*def.name, |(_, name)| name);
        SchemaStruct { name: name.into(), def: def.clone(), types }
    }
}

impl StructType for SchemaStruct {
    fn name(&self) -> &str {
        &self.name
    }

    fn equal(&self, a: &Map, b: &Map) -> bool {
        structures_equal(a, b, &self.def, self.types)
    }
}

fn structures_equal(a: &Map, b: &Map, def: &TypeDef, types: &Types) -> bool {
    fields_equal(a, b, |key, v, w| match def.field(key) {
        Some(field) => parts_equal(v, w, &field.ty, types),
        None => v.cel_eq(w),
    })
}

/// Whether two maps have the same keys, with values that are the same.
fn fields_equal(a: &Map, b: &Map, same: impl Fn(&str, &Value, &Value) -> bool) -> bool {
    a.len() == b.len() && a.iter().all(|(key, v)| b.get(key).is_some_and(|w| same(key, v, w)))
}

/// Whether two parts of structures mean the same, also inside of maps of quantities.
fn parts_equal(a: &Value, b: &Value, ty: &Type, types: &Types) -> bool {
    stack::deep(|| match (ty, a, b) {
        (Type::Leaf(Leaf::Quantity), Value::Str(a), Value::Str(b)) => {
            a == b
                || match (Quantity::parse(a), Quantity::parse(b)) {
                    (Some(a), Some(b)) => a == b,
                    _ => false,
                }
        }
        (Type::Named(name, _), Value::Map(a), Value::Map(b)) => match types.named(name) {
            Some(def) if def.leaf.is_none() => structures_equal(a, b, def, types),
            _ => fields_equal(a, b, |_, v, w| v.cel_eq(w)),
        },
        (Type::List(_, item), Value::List(a), Value::List(b)) => {
            a.len() == b.len() && a.iter().zip(b.iter()).all(|(v, w)| parts_equal(v, w, item, types))
        }
        (Type::Map(item, _), Value::Map(a), Value::Map(b)) => {
            fields_equal(a, b, |_, v, w| parts_equal(v, w, item, types))
        }
        _ => a.cel_eq(b),
    })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    fn kind(parts: [&str; 3]) -> [Str; 3] {
        parts.map(Str::from)
    }

    fn with_limit(memory: &str) -> Value {
        let limits = Value::map([("memory", memory.into())]);
        let resources = Value::map([("limits", limits)]);
        let container = Value::map([("name", "a".into()), ("resources", resources)]);
        let spec = Value::map([("containers", Value::list(vec![container]))]);
        Value::map([("spec", spec)])
    }

    fn pod(memory: &str) -> Value {
        viewed(&with_limit(memory), &kind(["", "v1", "Pod"]), Release::V1_37)
    }

    #[test]
    fn a_part_without_a_go_type_stays_a_tree() {
        let options = Value::map([("dryRun", Value::list(vec!["All".into()]))]);
        let request = Value::map([("options", options.clone()), ("userInfo", options)]);
        let seen = named(&request, "v1.AdmissionRequest", &[("userInfo", "v1.UserInfo"), ("options", TREE)]);
        let is_view = |key: &str| seen.get(key).and_then(Value::as_map).unwrap().view().is_some();
        assert!(is_view("userInfo") && !is_view("options"));
    }

    #[test]
    fn structures_are_equal_by_the_amounts_of_their_quantities() {
        assert!(pod("128Mi").cel_eq(&pod("134217728")));
        assert!(!pod("128Mi").cel_eq(&pod("129Mi")));
        let limits = |pod: &Value| {
            let resources = pod.at(&["spec", "containers"]).unwrap().as_list().unwrap();
            resources.first().unwrap().at(&["resources", "limits"]).unwrap().clone()
        };
        assert!(!limits(&pod("128Mi")).cel_eq(&limits(&pod("134217728"))));
    }

    #[test]
    fn a_structure_and_a_map_are_equal_by_their_fields() {
        let (view, tree) = (pod("128Mi"), with_limit("128Mi"));
        assert_eq!((view.cel_equal(&tree), tree.cel_equal(&view)), (Some(true), Some(true)));
        assert_eq!(view.cel_equal(&with_limit("134217728")), Some(false));
        assert_eq!(view.cel_equal(&Value::Int(1)), None);
        assert_eq!(Value::Int(1).cel_equal(&view), Some(false));
        assert_eq!(view.cel_equal(&Value::Null), Some(false));
    }

    #[test]
    fn objects_of_other_kinds_stay_trees() {
        let custom = viewed(&with_limit("1"), &kind(["ex.org", "v1", "Widget"]), Release::V1_37);
        assert!(!custom.is_view());
        assert!(pod("1").is_view() && pod("1").get("spec").unwrap().is_view());
    }
}
