//! Objects that exist, where rules copy them.
//!
//! In: what identifies an object. Out: an object that differs from each other one in every part,
//! with all fields of its kind or with none that it can do without. Rules that copy objects do not
//! look into them. So what they generate of such objects shows which ones they copy, and which
//! parts: sides that generate the same of these do so of all objects.

use std::collections::BTreeMap;

use ephor_kubernetes::convert::api_version;
use ephor_kubernetes::schema::{Leaf, Type};
use ephor_kubernetes::{Kinds, Types};
use ephor_value::{Map, Str, Value};

use crate::effects::writes::leaf_of;
use crate::model::field_types::{Resolved, resolved};
use crate::model::limits::MAX_EXISTING_DEPTH;
use crate::model::world::{Copied, ExistingObjects, world};

/// The objects of a resource in a namespace that exist now, of a name if there is one; `None`:
/// nothing answers.
pub(crate) fn existing(api_version: &str, resource: &str, namespace: &str, name: &str) -> Option<Vec<Value>> {
    let world = world();
    if world.outside == ExistingObjects::Silent {
        return None;
    }
    let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
    let kind = &Kinds::built_in().resource(group, version, resource)?.kind;
    let is_wanted = |one: &&Copied| {
        let [own_group, own_version, own_kind] = &one.kind;
        **own_group == *group
            && **own_version == *version
            && own_kind == kind
            && *one.namespace == *namespace
            && one.name.as_deref().unwrap_or_default() == name
    };
    world.copied.iter().find(is_wanted).map(|one| one.objects(world.outside))
}

impl Copied {
    /// The objects, as they are then.
    pub fn objects(&self, outside: ExistingObjects) -> Vec<Value> {
        let named = |name: &str, labels: &BTreeMap<Str, Str>| {
            object(&self.kind, &self.namespace, name, labels, outside == ExistingObjects::Full)
        };
        match (outside, &self.name) {
            (ExistingObjects::Silent | ExistingObjects::Missing, _) => Vec::new(),
            (_, Some(name)) => vec![named(name, &BTreeMap::new())],
            // Some with all labels, some without one of them.
            (_, None) => {
                let mut all = vec![named("one", &self.labels), named("other", &self.labels)];
                for (at, label) in self.labels.keys().enumerate() {
                    let mut others = self.labels.clone();
                    others.remove(label);
                    all.push(named(&format!("without-{at}"), &others));
                    others.insert(label.clone(), "another".into());
                    all.push(named(&format!("with-another-{at}"), &others));
                }
                all
            }
        }
    }
}

/// An object; `is_full`: with all fields of its kind.
pub(crate) fn object(
    kind: &[Str; 3],
    namespace: &str,
    name: &str,
    labels: &BTreeMap<Str, Str>,
    is_full: bool,
) -> Value {
    let types: &Types = Types::built_in();
    let text = format!("copied-{namespace}-{name}");
    let own = |part: &str| Value::from(format!("{text}-{part}"));
    let mut metadata = Map::new();
    metadata.insert("name", Value::from(name));
    if !namespace.is_empty() {
        metadata.insert("namespace", Value::from(namespace));
    }
    metadata.insert("uid", own("uid"));
    metadata.insert("resourceVersion", Value::from("1"));
    metadata.insert("creationTimestamp", Value::from("2024-01-01T00:00:00Z"));
    let mut all: Map = labels.iter().map(|(key, value)| (key.clone(), Value::Str(value.clone()))).collect();
    if is_full {
        all.insert("copied", own("label"));
        metadata.insert("annotations", Value::map([("copied", own("annotation"))]));
    }
    if !all.is_empty() {
        metadata.insert("labels", Value::Map(all));
    }
    let mut out = Map::new();
    out.insert("apiVersion", Value::from(api_version(kind)));
    out.insert("kind", Value::Str(kind[2].clone()));
    out.insert("metadata", Value::Map(metadata));
    match types.of_object(kind).filter(|_| is_full) {
        Some(def) => {
            let fields = def.fields.iter();
            for field in fields.filter(|f| !matches!(&*f.name, "apiVersion" | "kind" | "metadata" | "status"))
            {
                out.insert(&*field.name, filled(types, &field.ty, &format!("{text}-{}", field.name), 0));
            }
        }
        None if is_full => {
            for part in ["spec", "data"] {
                out.insert(part, Value::map([("copied", own(part))]));
            }
        }
        None => {}
    }
    Value::Map(out)
}

/// A value of a type, with a text of its own in every part.
fn filled(types: &Types, ty: &Type, text: &str, depth: usize) -> Value {
    let below = |ty: &Type, part: &str| filled(types, ty, &format!("{text}-{part}"), depth + 1);
    match resolved(types, ty) {
        Resolved::Object(def, _) if depth < MAX_EXISTING_DEPTH => {
            Value::Map(def.fields.iter().map(|f| (f.name.clone(), below(&f.ty, &f.name))).collect())
        }
        Resolved::Object(..) => Value::Map(Map::new()),
        Resolved::Map(of, _) => Value::map([("copied", below(of, "entry"))]),
        Resolved::List(_, of) => Value::list(vec![below(of, "item")]),
        Resolved::Leaf => match leaf_of(types, ty) {
            Some(Leaf::Bool) => Value::Bool(true),
            Some(Leaf::Int32 | Leaf::Int64 | Leaf::IntOrString) => Value::Int(7_777),
            Some(Leaf::Double) => Value::Float(7.5),
            Some(Leaf::Quantity) => Value::from("7777"),
            Some(Leaf::Time | Leaf::MicroTime) => Value::from("2024-01-01T00:00:00Z"),
            _ => Value::from(text),
        },
        Resolved::Unknown => Value::from(text),
    }
}
