//! The fields that a part of a document may have, by the schema of its kind.
//!
//! In: a document, which may be half of one, and a path in it. Out: fields with their types, or
//! what a value may be. Policies have the schemas of `ephor-api`; objects, and the patterns and
//! overlays of policies, which are parts of objects, have the types of the cluster.
//!
//! - `notes`: one sentence about each field of policies
//! - `sample`: objects that have every field of their kind
//! - `subjects`: the kinds of objects that a rule or policy is about
//! - `test_files`: the fields of test files

mod notes;
mod sample;
mod subjects;
mod test_files;

use ephor_api::schema::shape::{self, Literal};
use ephor_api::schema::{field_at, fields_at, is_served, kind_at};
use ephor_kubernetes::Types;
use ephor_kubernetes::schema::{Leaf, Type, TypeDef};
use ephor_value::place::{Path, PathPart, dotted};
use ephor_value::{Str, Value};

use crate::index::Index;

pub use sample::sample;
pub use subjects::{kinds_of, names_of_kinds};

/// A field.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FieldInfo {
    /// Its name.
    pub name: String,
    /// Its type, as users write it: `list of objects`.
    pub kind: String,
    /// Whether it must be there.
    pub is_required: bool,
    /// What it is when it is not there.
    pub default: Option<String>,
    /// The texts that it may be; empty = any.
    pub choices: Vec<String>,
    /// What it is for.
    pub note: Option<&'static str>,
}

/// How a value of a field is written below its key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Written {
    /// Behind the colon.
    Scalar,
    /// As keys on the next lines.
    Mapping,
    /// As items on the next lines.
    List,
}

impl FieldInfo {
    /// How its value is written.
    pub fn written(&self) -> Written {
        match () {
            () if self.kind.starts_with("list") => Written::List,
            () if self.kind.starts_with("object") || self.kind.starts_with("map") => Written::Mapping,
            () => Written::Scalar,
        }
    }
}

/// What is at a path of a document.
enum Node<'i> {
    /// Part of a policy.
    Api(shape::Kind),
    /// Parts of objects, of one or more kinds.
    Objects(Vec<Found<'i>>),
}

/// A type of a part of an object.
enum Found<'i> {
    Def(&'i TypeDef),
    Type(&'i Type),
}

fn group_version(document: &Value) -> (&str, &str) {
    (document.text_at(&["apiVersion"]), document.text_at(&["kind"]))
}

/// The fields that the mapping at a path may have.
pub fn fields(index: &Index, document: &Value, path: &[PathPart]) -> Vec<FieldInfo> {
    let (api_version, kind) = group_version(document);
    if let Some(fields) = test_files::fields(document, path) {
        return fields;
    }
    if path.is_empty() && is_served(api_version, kind) {
        let names = fields_at(api_version, kind, path);
        let below = |name: &str| vec![PathPart::Key(name.into())];
        return names.iter().map(|name| one_of_policy(api_version, kind, &below(name), name)).collect();
    }
    match node(index, document, path) {
        Some(Node::Api(shape::Kind::Object(object))) => {
            let info = |field: &shape::Field| {
                let at: Path = path.iter().cloned().chain([PathPart::Key(field.name.into())]).collect();
                api_info(field, &at)
            };
            object.fields.iter().map(info).collect()
        }
        Some(Node::Api(shape::Kind::Conditions)) => {
            ["any", "all"].iter().map(|name| plain(name, "list of conditions", path)).collect()
        }
        Some(Node::Objects(all)) => of_types(index.types(), &all),
        _ => Vec::new(),
    }
}

/// What is known of the field at a path.
pub fn field(index: &Index, document: &Value, path: &[PathPart]) -> Option<FieldInfo> {
    let (last, above) = path.split_last()?;
    let PathPart::Key(name) = last else { return None };
    let plain_name = without_anchor(name);
    fields(index, document, above).into_iter().find(|field| field.name == *plain_name)
}

/// The texts that the value at a path may be; empty where it may be any.
pub fn choices(index: &Index, document: &Value, path: &[PathPart]) -> Vec<String> {
    let (api_version, kind) = group_version(document);
    if let Some(choices) = test_files::choices(document, path) {
        return choices;
    }
    let of_kind = |found: shape::Kind| match found {
        shape::Kind::Choice(texts) => texts.iter().map(ToString::to_string).collect(),
        shape::Kind::Flag | shape::Kind::Switch => vec!["true".into(), "false".into()],
        _ => Vec::new(),
    };
    if is_served(api_version, kind)
        && let Some(found) = kind_at(api_version, kind, path)
    {
        let texts: Vec<String> = of_kind(found);
        if !texts.is_empty() {
            return texts;
        }
    }
    let operator = matches!(path.last(), Some(PathPart::Key(key)) if &**key == "operator");
    if operator && dotted(path).contains("ditions") {
        return ephor_ir::condition::OPERATORS.iter().map(|row| row.0.to_string()).collect();
    }
    match node(index, document, path) {
        Some(Node::Objects(all)) if all.iter().any(|f| matches!(f, Found::Type(Type::Leaf(Leaf::Bool)))) => {
            vec!["true".into(), "false".into()]
        }
        _ => Vec::new(),
    }
}

fn one_of_policy(api_version: &str, kind: &str, at: &[PathPart], name: &str) -> FieldInfo {
    match field_at(api_version, kind, at) {
        Some(field) => api_info(field, at),
        None => plain(name, if name == "metadata" { "object" } else { "text" }, at),
    }
}

fn plain(name: &str, kind: &str, at: &[PathPart]) -> FieldInfo {
    FieldInfo {
        name: name.into(),
        kind: kind.into(),
        is_required: false,
        default: None,
        choices: Vec::new(),
        note: notes::note(at, name),
    }
}

fn api_info(field: &shape::Field, at: &[PathPart]) -> FieldInfo {
    let literal = |literal: Literal| match literal {
        Literal::Bool(set) => set.to_string(),
        Literal::Text(text) => text.to_string(),
        Literal::Int(number) => number.to_string(),
        Literal::Empty => "{}".to_string(),
    };
    let choices = match field.kind {
        shape::Kind::Choice(texts) => texts.iter().map(ToString::to_string).collect(),
        _ => Vec::new(),
    };
    FieldInfo {
        is_required: field.required,
        default: field.default.or(field.stored_default).map(literal),
        choices,
        ..plain(field.name, &api_type(field.kind), at)
    }
}

fn api_type(kind: shape::Kind) -> String {
    use shape::Kind as K;
    match kind {
        K::Text | K::Short(_) | K::Shaped(_) => "text".into(),
        K::DateTime => "moment".into(),
        K::Choice(_) => "one of some texts".into(),
        K::Flag | K::Switch => "boolean".into(),
        K::Int32 | K::Whole(_) | K::Int64 | K::Count => "number".into(),
        K::Any => "any value".into(),
        K::Conditions => "object or list of conditions".into(),
        K::ValidateLoops | K::MutateLoops => "list of objects".into(),
        K::Open => "object".into(),
        K::Duration => "duration".into(),
        K::TextMap => "map of texts".into(),
        K::MapOf(of) => format!("map of {}", plural(*of)),
        K::List(of) | K::Atomic(of) | K::Set(of) | K::Named(of) => format!("list of {}", plural(*of)),
        K::Object(_) => "object".into(),
    }
}

fn plural(kind: shape::Kind) -> String {
    match api_type(kind).as_str() {
        "any value" => "values".into(),
        "one of some texts" => "texts".into(),
        one => format!("{one}s"),
    }
}

fn type_name(types: &Types, ty: &Type) -> String {
    match ty {
        Type::Leaf(leaf) => leaf_name(*leaf).into(),
        Type::Named(name, _) => match types.named(name).and_then(|def| def.leaf) {
            Some(leaf) => leaf_name(leaf).into(),
            None => format!("object ({})", name.rsplit_once('.').map_or(&**name, |(_, name)| name)),
        },
        Type::List(_, of) => format!("list of {}", type_name(types, of)),
        Type::Map(of, _) => format!("map of {}", type_name(types, of)),
    }
}

fn leaf_name(leaf: Leaf) -> &'static str {
    match leaf {
        Leaf::String => "text",
        Leaf::Bytes => "bytes in base64",
        Leaf::Time | Leaf::MicroTime => "moment",
        Leaf::Quantity => "quantity",
        Leaf::IntOrString => "number or text",
        Leaf::Int32 | Leaf::Int64 => "number",
        Leaf::Double => "number with a fraction",
        Leaf::Bool => "boolean",
        Leaf::Any => "any value",
    }
}

fn of_types(types: &Types, all: &[Found<'_>]) -> Vec<FieldInfo> {
    let mut out: Vec<FieldInfo> = Vec::new();
    let defs = all.iter().filter_map(|found| match found {
        Found::Def(def) => Some(*def),
        Found::Type(Type::Named(name, _)) => types.named(name).map(|def| &**def),
        Found::Type(_) => None,
    });
    for field in defs.flat_map(|def| &def.fields) {
        if out.iter().any(|known| *known.name == *field.name) {
            continue;
        }
        out.push(FieldInfo {
            name: field.name.to_string(),
            kind: type_name(types, &field.ty),
            is_required: field.required,
            default: field.default.as_ref().map(ephor_value::print::json),
            choices: Vec::new(),
            note: None,
        });
    }
    out
}

/// Keys below which a policy has parts of objects.
const BODIES: [&str; 4] = ["pattern", "anyPattern", "patchStrategicMerge", "data"];

fn node<'i>(index: &'i Index, document: &Value, path: &[PathPart]) -> Option<Node<'i>> {
    let (api_version, kind) = group_version(document);
    if !is_served(api_version, kind) {
        let def = def_of(index, api_version, kind)?;
        return walk(index.types(), vec![Found::Def(def)], path).map(Node::Objects);
    }
    let is_body = |part: &PathPart| matches!(part, PathPart::Key(key) if BODIES.contains(&&**key));
    let is_rules = matches!(path.get(1), Some(PathPart::Key(key)) if &**key == "rules");
    // Patterns of loops are about elements, of which the types are not known.
    let is_loop = path.iter().any(|part| matches!(part, PathPart::Key(key) if &**key == "foreach"));
    if let Some(at) = path.iter().position(is_body).filter(|_| is_rules) {
        let is_list = matches!(path.get(at), Some(PathPart::Key(key)) if &**key == "anyPattern");
        let rest = path.get(at + 1 + usize::from(is_list)..)?;
        if is_loop {
            return None;
        }
        let defs = subjects::of_body(index, document, path.get(..at)?);
        let defs: Vec<Found<'i>> = defs.into_iter().map(Found::Def).collect();
        return walk(index.types(), defs, rest).map(Node::Objects);
    }
    kind_at(api_version, kind, path).map(Node::Api)
}

/// The type of objects of a kind.
fn def_of<'i>(index: &'i Index, api_version: &str, kind: &str) -> Option<&'i TypeDef> {
    let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
    let kind: [Str; 3] = [group.into(), version.into(), kind.into()];
    index.types().of_kind(&kind).map(|def| &**def)
}

/// The types below some types; those that have no such part are dropped.
fn walk<'i>(types: &'i Types, from: Vec<Found<'i>>, path: &[PathPart]) -> Option<Vec<Found<'i>>> {
    let mut at = from;
    for part in path {
        let next = at.into_iter().filter_map(|found| match found {
            Found::Def(def) => of_def(def, part),
            Found::Type(Type::Named(name, _)) => of_def(types.named(name)?, part),
            Found::Type(Type::List(_, of)) => matches!(part, PathPart::Index(_)).then_some(Found::Type(of)),
            Found::Type(Type::Map(of, _)) => matches!(part, PathPart::Key(_)).then_some(Found::Type(of)),
            Found::Type(Type::Leaf(_)) => None,
        });
        at = next.collect();
    }
    (!at.is_empty()).then_some(at)
}

fn of_def<'i>(def: &'i TypeDef, part: &PathPart) -> Option<Found<'i>> {
    match part {
        PathPart::Key(key) => def.field(without_anchor(key)).map(|field| Found::Type(&field.ty)),
        PathPart::Index(_) => None,
    }
}

/// A key of a pattern without its anchor: `=(name)` is about `name`.
pub fn without_anchor(key: &str) -> &str {
    let inner = key.strip_suffix(')').and_then(|key| {
        let at = key.find('(')?;
        let anchor = key.get(..at)?;
        matches!(anchor, "" | "=" | "^" | "X" | "+" | "<").then(|| key.get(at + 1..))?
    });
    inner.unwrap_or(key)
}

#[cfg(test)]
mod tests;
