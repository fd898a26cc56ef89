//! The fields of kinds: types, how lists and maps are merged, defaults.
//!
//! `schema-R.txt` (R: the release), like `options.txt`, has a line for each type, `package.Type`,
//! with `atomic` when it is replaced as a whole, `kind=group/version/Kind` when it is a kind,
//! `sent=` when it is one of which no server publishes a description, `is=` when it is no object
//! with known fields (`any`: of any kind, `object`: with any fields, `empty`: a structure without
//! fields); and below it a line for each
//! field: name (`!` = required), type, `=` default. A type is a scalar, a type's name (`!` before
//! it = atomic), `[]T` (atomic list), `[set]T`, `[key,key]T`, `{}T` (map) or `{atomic}T`.
//! Definitions of custom resources add types of the same form; [`super::go`] adds the names of Go
//! types. A type of several kinds may have several lines.

use foldhash::HashMap;
use std::sync::Arc;

use super::go::{self, GoNames};
use ephor_value::release::{ByRelease, Release};
use ephor_value::{Str, Value};

/// What API servers publish, and what is sent to subresources.
const TABLE_1_34: &str = concat!(include_str!("schema-1.34.txt"), include_str!("options.txt"));
const TABLE_1_35: &str = concat!(include_str!("schema-1.35.txt"), include_str!("options.txt"));
const TABLE_1_36: &str = concat!(include_str!("schema-1.36.txt"), include_str!("options.txt"));
const TABLE_1_37: &str = concat!(include_str!("schema-1.37.txt"), include_str!("options.txt"));

/// A type.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Type {
    /// A value without parts, or one that is not described.
    Leaf(Leaf),
    /// An object with fields, by the name of its description.
    Named(Str, Whole),
    /// A list.
    List(ListKind, Box<Type>),
    /// An object with any keys.
    Map(Box<Type>, Whole),
}

/// Whether an object is replaced as a whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Whole {
    /// Merged by its keys.
    Merged,
    /// Replaced.
    Atomic,
}

/// How a list is merged.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ListKind {
    /// It is replaced as a whole.
    Atomic,
    /// Its items are.
    Set,
    /// By the keys of its items.
    Keyed(Box<[Str]>),
}

/// Values without parts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Leaf {
    /// Text.
    String,
    /// Base64.
    Bytes,
    /// A time of RFC 3339.
    Time,
    /// The same with microseconds.
    MicroTime,
    /// A quantity.
    Quantity,
    /// A number or text.
    IntOrString,
    /// An integer of 32 bits.
    Int32,
    /// An integer of 64 bits.
    Int64,
    /// A number.
    Double,
    /// A boolean.
    Bool,
    /// Anything.
    Any,
}

/// A description of an object.
#[derive(Clone, Debug)]
pub struct TypeDef {
    /// Its name, `core/v1.Pod`.
    pub name: Str,
    /// Whether it is replaced as a whole wherever it stands.
    pub whole: Whole,
    /// What it is instead, when it is no object.
    pub leaf: Option<Leaf>,
    /// Whether other fields may be there.
    pub open: bool,
    /// Whether it is a custom resource's.
    pub custom: bool,
    /// Its fields by name.
    pub fields: Vec<Field>,
}

/// A field.
#[derive(Clone, Debug)]
pub struct Field {
    /// Its name.
    pub name: Str,
    /// Whether it must be there.
    pub required: bool,
    /// Whether null is a value of its own.
    pub nullable: bool,
    /// Its type.
    pub ty: Type,
    /// Whether its texts have a format, so that a merge takes any scalar for them.
    pub formatted: bool,
    /// What it is when it is not there.
    pub default: Option<Value>,
    /// Its names in Go.
    pub go: GoNames,
}

impl TypeDef {
    fn new(name: &str) -> TypeDef {
        let (whole, leaf) = (Whole::Merged, None);
        TypeDef { name: name.into(), whole, leaf, open: false, custom: false, fields: Vec::new() }
    }

    /// Whether it is a structure of Go that has no fields.
    pub fn is_empty_structure(&self) -> bool {
        self.fields.is_empty() && self.leaf.is_none() && !self.open && !self.custom
    }

    /// The field of a name.
    pub fn field(&self, name: &str) -> Option<&Field> {
        self.fields.iter().find(|f| *f.name == *name)
    }

    /// The name without its package.
    pub fn short_name(&self) -> &str {
        self.name.rsplit_once('.').map_or(&*self.name, |(_, name)| name)
    }
}

/// Descriptions by name, and which kind has which.
#[derive(Clone, Debug, Default)]
pub struct Types {
    all: HashMap<Str, Arc<TypeDef>>,
    kinds: HashMap<[Str; 3], Str>,
    /// The kinds of what is sent to subresources, of which no server publishes a description.
    sent: HashMap<[Str; 3], Str>,
    /// The release of the API server that has them.
    release: Release,
}

impl Types {
    /// Those of the kinds that every API server of the default release has.
    pub fn built_in() -> &'static Arc<Types> {
        Types::of_release(Release::default())
    }

    /// Those of the kinds that every API server of a release has.
    pub fn of_release(release: Release) -> &'static Arc<Types> {
        static TYPES: ByRelease<Arc<Types>> = ByRelease::new();
        let table = match release {
            Release::V1_34 => TABLE_1_34,
            Release::V1_35 => TABLE_1_35,
            Release::V1_36 => TABLE_1_36,
            Release::V1_37 | Release::V1_38 => TABLE_1_37,
        };
        TYPES.get(release, || Arc::new(Types::read_as(table, release)))
    }

    /// The release of the API server that has them.
    pub fn release(&self) -> Release {
        self.release
    }

    /// The types of a table.
    pub fn read(table: &str) -> Types {
        Types::read_as(table, Release::default())
    }

    fn read_as(table: &str, release: Release) -> Types {
        let mut types = Types { release, ..Types::default() };
        let names = go::names(release);
        let mut current: Option<TypeDef> = None;
        for line in table.lines().filter(|l| !l.starts_with('#')) {
            if let Some(field) = line.strip_prefix(' ') {
                if let (Some(def), Some(field)) = (&mut current, field_of(field)) {
                    def.fields.push(Field { go: go::of(&names, &def.name, &field.name), ..field });
                }
                continue;
            }
            let mut words = line.split_whitespace();
            let Some(name) = words.next() else { continue };
            let mut def = match current.take() {
                Some(same) if *same.name == *name => same,
                before => {
                    before.into_iter().for_each(|def| types.insert(def));
                    TypeDef::new(name)
                }
            };
            for word in words {
                match word.split_once('=') {
                    Some(("kind", kind)) => types.insert_kind(kind_of(kind), name.into()),
                    Some(("sent", kind)) => _ = types.sent.insert(kind_of(kind), name.into()),
                    Some(("is", "object")) => (def.leaf, def.open) = (Some(Leaf::Any), true),
                    // A structure without fields: a type like others.
                    Some(("is", "empty")) => {}
                    Some(("is", leaf)) => def.leaf = leaf_of(leaf),
                    _ => def.whole = Whole::Atomic,
                }
            }
            current = Some(def);
        }
        if let Some(def) = current {
            types.insert(def);
        }
        types
    }

    /// The description of a name.
    pub fn named(&self, name: &str) -> Option<&Arc<TypeDef>> {
        self.all.get(name)
    }

    /// All descriptions, in no order.
    pub fn all(&self) -> impl Iterator<Item = &Arc<TypeDef>> {
        self.all.values()
    }

    /// The kinds, group, version and name, with their descriptions, in no order.
    pub fn kinds(&self) -> impl Iterator<Item = (&[Str; 3], &TypeDef)> {
        self.kinds.iter().filter_map(|(kind, name)| Some((kind, &**self.named(name)?)))
    }

    /// The description of a kind, as a server publishes it.
    pub fn of_kind(&self, kind: &[Str; 3]) -> Option<&Arc<TypeDef>> {
        self.named(self.kinds.get(kind)?)
    }

    /// The description of a kind of objects that requests have, also of what is sent to
    /// subresources, such as `PodExecOptions`.
    pub fn of_object(&self, kind: &[Str; 3]) -> Option<&Arc<TypeDef>> {
        self.of_kind(kind).or_else(|| self.named(self.sent.get(kind)?))
    }

    pub(super) fn insert(&mut self, def: TypeDef) {
        self.all.insert(def.name.clone(), Arc::new(def));
    }

    pub(super) fn insert_kind(&mut self, kind: [Str; 3], name: Str) {
        self.kinds.insert(kind, name);
    }
}

/// `group/version/Kind`, or `version/Kind` for the core group.
fn kind_of(text: &str) -> [Str; 3] {
    let (api_version, kind) = text.rsplit_once('/').unwrap_or(("", text));
    let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
    [group.into(), version.into(), kind.into()]
}

fn field_of(line: &str) -> Option<Field> {
    let (name, rest) = line.split_once(' ')?;
    let (ty, default) = match rest.split_once('=') {
        Some((ty, default)) => (ty, Some(constant(default))),
        None => (rest, None),
    };
    let (name, required) = name.strip_suffix('!').map_or((name, false), |name| (name, true));
    Some(Field {
        name: name.into(),
        required,
        nullable: false,
        ty: type_of(ty),
        formatted: false,
        default,
        go: GoNames::default(),
    })
}

/// The few defaults that the table has.
pub(super) fn constant(text: &str) -> Value {
    match text {
        "{}" => Value::Map(ephor_value::Map::new()),
        "true" => Value::Bool(true),
        "false" => Value::Bool(false),
        _ => match (text.parse::<i64>(), text.strip_prefix('"').and_then(|t| t.strip_suffix('"'))) {
            (Ok(i), _) => Value::Int(i),
            (_, Some(text)) => Value::from(text),
            _ => Value::Null,
        },
    }
}

fn leaf_of(text: &str) -> Option<Leaf> {
    Some(match text {
        "string" => Leaf::String,
        "bytes" => Leaf::Bytes,
        "time" => Leaf::Time,
        "micro-time" => Leaf::MicroTime,
        "quantity" => Leaf::Quantity,
        "int-or-string" => Leaf::IntOrString,
        "int32" => Leaf::Int32,
        "int64" => Leaf::Int64,
        "double" => Leaf::Double,
        "bool" => Leaf::Bool,
        "any" => Leaf::Any,
        _ => return None,
    })
}

fn type_of(text: &str) -> Type {
    if let Some((inside, item)) = text.strip_prefix('[').and_then(|t| t.split_once(']')) {
        let kind = match inside {
            "" => ListKind::Atomic,
            "set" => ListKind::Set,
            keys => ListKind::Keyed(keys.split(',').map(Str::from).collect()),
        };
        return Type::List(kind, Box::new(type_of(item)));
    }
    let whole = |atomic: bool| if atomic { Whole::Atomic } else { Whole::Merged };
    if let Some((inside, value)) = text.strip_prefix('{').and_then(|t| t.split_once('}')) {
        return Type::Map(Box::new(type_of(value)), whole(inside == "atomic"));
    }
    if let Some(leaf) = leaf_of(text) {
        return Type::Leaf(leaf);
    }
    match text.strip_prefix('!') {
        Some(name) => Type::Named(name.into(), Whole::Atomic),
        None => Type::Named(text.into(), Whole::Merged),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn every_type_that_a_field_names_is_described() {
        let types = Types::built_in();
        let mut names = Vec::new();
        fn collect(ty: &Type, names: &mut Vec<Str>) {
            match ty {
                Type::Named(name, _) => names.push(name.clone()),
                Type::List(_, inner) | Type::Map(inner, _) => collect(inner, names),
                Type::Leaf(_) => {}
            }
        }
        for def in types.all.values() {
            def.fields.iter().for_each(|f| collect(&f.ty, &mut names));
        }
        let missing: Vec<&Str> = names.iter().filter(|n| types.named(n).is_none()).collect();
        assert!(names.len() > 500 && missing.is_empty(), "{missing:?}");
    }

    #[test]
    fn a_release_has_its_own_fields() {
        let has = |release, field: &str| {
            Types::of_release(release).named("core/v1.PodSpec").unwrap().field(field).is_some()
        };
        for (field, wanted) in [
            ("resources", [true, true, true, true]),
            ("workloadRef", [false, true, false, false]),
            ("schedulingGroup", [false, false, true, true]),
            ("evictionResponders", [false, false, false, true]),
        ] {
            let releases = [Release::V1_34, Release::V1_35, Release::V1_36, Release::V1_37];
            let found = releases.map(|release| has(release, field));
            assert_eq!(found, wanted, "{field}");
        }
    }

    #[test]
    fn the_ports_of_a_container_are_known_by_number_and_protocol() {
        let types = Types::built_in();
        let container = types.named("core/v1.Container").unwrap();
        let ports = container.field("ports").unwrap();
        let keys = ["containerPort", "protocol"].map(Str::from).to_vec();
        let item = Type::Named("core/v1.ContainerPort".into(), Whole::Merged);
        assert_eq!(ports.ty, Type::List(ListKind::Keyed(keys.into()), Box::new(item)));
        let port = types.named("core/v1.ContainerPort").unwrap();
        assert_eq!(port.field("protocol").unwrap().default.as_ref().and_then(Value::as_str), Some("TCP"));
        assert!(port.field("containerPort").unwrap().required);
    }
}
