//! Which lists are merged item by item, and by which keys.
//!
//! In: an object or a field of one. Out: what the strategic merge knows of it. `schema.txt` is a
//! table of its own in the format of [`ephor_kubernetes::schema`], from the OpenAPI document of
//! Kubernetes 1.21 – the one that is compiled into Kyverno's merge library, whatever version the
//! cluster has. Kinds that are not in it (custom resources, newer versions) have no schema: all
//! their lists are replaced as a whole. Only fields on the way to such a list are listed; every
//! other one counts as unknown.

use std::sync::OnceLock;

use ephor_kubernetes::schema::{ListKind, Type, TypeDef, Types};
use ephor_value::{Str, Value};

/// What is known of a node.
#[derive(Clone, Copy, Debug)]
pub enum Schema {
    /// Nothing.
    Unknown,
    /// An object.
    Object(&'static TypeDef),
    /// A list of objects that keys identify, and their type.
    Keyed(&'static [Str], &'static Type),
    /// A list of scalars of which each occurs once.
    Set,
}

fn types() -> &'static Types {
    static TYPES: OnceLock<Types> = OnceLock::new();
    TYPES.get_or_init(|| Types::read(include_str!("schema.txt")))
}

impl Schema {
    /// What is known of values of a type.
    pub fn of(ty: &'static Type) -> Schema {
        match ty {
            Type::Named(name, _) => types().named(name).map_or(Schema::Unknown, |def| Schema::Object(def)),
            Type::List(ListKind::Keyed(keys), item) => Schema::Keyed(keys, item),
            Type::List(ListKind::Set, _) => Schema::Set,
            Type::List(ListKind::Atomic, _) | Type::Map(..) | Type::Leaf(_) => Schema::Unknown,
        }
    }

    /// What is known of a member.
    pub fn field(self, key: &str) -> Schema {
        match self {
            Schema::Object(def) => def.field(key).map_or(Schema::Unknown, |field| Schema::of(&field.ty)),
            _ => Schema::Unknown,
        }
    }

    /// What is known of an object by what it says it is.
    pub fn of_object(object: &Value) -> Schema {
        let api_version = object.text_at(&["apiVersion"]);
        let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
        let kind = [group, version, object.text_at(&["kind"])].map(Str::from);
        types().of_kind(&kind).map_or(Schema::Unknown, |def| Schema::Object(def))
    }
}
