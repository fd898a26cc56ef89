//! Objects that have something where no rule looks.
//!
//! In: an object, what is read and written of its kind. Out: the object with one more field in each
//! object whose fields are read, and with other items in lists whose items are not. What becomes
//! of these shows what a change does to all that nothing reads: a change by constants names the
//! fields that it writes, so it treats all other fields of an object alike; it leaves them, or
//! replaces the object as a whole.

use std::collections::BTreeSet;

use ephor_analysis::reads::ReadTree;
use ephor_kubernetes::Types;
use ephor_kubernetes::admitted::listed;
use ephor_kubernetes::schema::{Field, Leaf, Type, TypeDef};
use ephor_value::{Map, Str, Value};

use crate::model::field_types::{Resolved, resolved};
use crate::model::limits::MAX_FRAME_DEPTH;

/// Fields of metadata that say which object it is, or that API servers write.
const OF_SERVERS: [&str; 11] = [
    "name",
    "namespace",
    "generateName",
    "uid",
    "selfLink",
    "resourceVersion",
    "creationTimestamp",
    "deletionTimestamp",
    "deletionGracePeriodSeconds",
    "generation",
    "managedFields",
];

/// Gives objects what no rule reads.
#[derive(Clone)]
pub(crate) struct Marker<'t> {
    /// The types of fields.
    pub types: &'t Types,
    /// A text that no rule writes.
    pub text: Str,
    /// Fields that an API server refuses with such values.
    pub skipped: BTreeSet<Str>,
}

impl Marker<'_> {
    /// An object of a kind with something where no rule looks.
    pub fn object(&self, object: &Value, def: Option<&TypeDef>, tree: &ReadTree) -> Value {
        let Value::Map(map) = object else { return object.clone() };
        // Its fields are those of the kind.
        Value::Map(self.fields(map, def, tree, 0))
    }

    /// Skips fields; whether one of them was not skipped before.
    pub fn skip(&mut self, fields: Vec<Str>) -> bool {
        let before = self.skipped.len();
        self.skipped.extend(fields);
        self.skipped.len() > before
    }

    /// Whether an object of a type whose fields are so read can have one more field.
    pub fn can_hold_probe(&self, def: &TypeDef, tree: &ReadTree) -> bool {
        def.open || self.room(def, tree).is_some()
    }

    /// A field that nothing reads, and that may have any value.
    fn room<'d>(&self, def: &'d TypeDef, tree: &ReadTree) -> Option<&'d Field> {
        if is_counted(tree) {
            return None;
        }
        let is_free = |field: &&Field| {
            !field.required
                && tree.get(&field.name).is_none()
                && listed(&def.name, &field.name).is_empty()
                && !OF_SERVERS.contains(&&*field.name)
                && !self.skipped.contains(&field.name)
        };
        let mut free: Vec<&Field> = def.fields.iter().filter(is_free).collect();
        free.retain(|field| self.simple(&field.ty).is_some());
        // Maps first: what their entries may be is hardly checked.
        free.sort_by_key(|field| match &field.ty {
            Type::Map(..) => 0,
            Type::Leaf(Leaf::String) => 1,
            Type::Leaf(_) => 2,
            _ => 3,
        });
        free.first().copied()
    }

    fn simple(&self, ty: &Type) -> Option<Value> {
        Some(match ty {
            Type::Leaf(Leaf::String | Leaf::Any) => Value::Str(self.text.clone()),
            Type::Leaf(Leaf::Bool) => Value::Bool(true),
            Type::Leaf(Leaf::Int32 | Leaf::Int64 | Leaf::IntOrString) => Value::Int(1),
            Type::Leaf(Leaf::Quantity) => Value::from("1"),
            Type::Leaf(Leaf::Bytes) => Value::from(""),
            Type::List(_, item) => Value::list(vec![self.simple(item)?]),
            Type::Map(value, _) => Value::map([(&*self.text, self.simple(value)?)]),
            Type::Named(name, _) => {
                let def = self.types.named(name)?;
                match def.leaf {
                    Some(leaf) => self.simple(&Type::Leaf(leaf))?,
                    None => {
                        let first = def.fields.iter().find(|field| field.ty == Type::Leaf(Leaf::String))?;
                        Value::map([(&*first.name, self.simple(&first.ty)?)])
                    }
                }
            }
            Type::Leaf(_) => return None,
        })
    }

    fn fields(&self, map: &Map, def: Option<&TypeDef>, tree: &ReadTree, depth: usize) -> Map {
        let mut out = Map::new();
        for (key, value) in map.iter() {
            let ty = def.and_then(|def| def.field(key)).map(|field| &field.ty);
            let value = match tree.get(key) {
                Some(below) => self.value(value, ty, below, depth + 1),
                None => value.clone(),
            };
            out.insert::<Str>(key.clone(), value);
        }
        // An object keeps its own fields.
        if depth == 0 || is_counted(tree) {
            return out;
        }
        match def {
            Some(def) => {
                let more = self.room(def, tree).filter(|field| !map.contains_key(&field.name));
                if let Some((field, value)) = more.and_then(|field| Some((field, self.simple(&field.ty)?))) {
                    out.insert::<Str>(field.name.clone(), value);
                } else if def.open {
                    out.insert::<Str>(self.text.clone(), Value::Str(self.text.clone()));
                }
            }
            None => _ = out.insert::<Str>(self.text.clone(), Value::Str(self.text.clone())),
        }
        out
    }

    fn value(&self, value: &Value, ty: Option<&Type>, tree: &ReadTree, depth: usize) -> Value {
        if depth > MAX_FRAME_DEPTH || tree.whole {
            return value.clone();
        }
        match (value, ty.map(|ty| resolved(self.types, ty))) {
            (Value::Map(map), Some(Resolved::Object(def, _))) => {
                Value::Map(self.fields(map, Some(def), tree, depth))
            }
            (Value::Map(map), Some(Resolved::Map(of, _))) => {
                let below = |key: &str| tree.get(key).or(tree.items.as_deref());
                let mut out = Map::new();
                for (key, value) in map.iter() {
                    let value = match below(key) {
                        Some(tree) => self.value(value, Some(of), tree, depth + 1),
                        None => value.clone(),
                    };
                    out.insert::<Str>(key.clone(), value);
                }
                let more = self.simple(of).filter(|_| !is_counted(tree));
                let name: Str = match of {
                    // Of amounts only those of known things are taken.
                    Type::Leaf(Leaf::Quantity) => "example.com/unread".into(),
                    _ => self.text.clone(),
                };
                if let Some(more) = more.filter(|_| tree.get(&name).is_none()) {
                    out.insert::<Str>(name, more);
                }
                Value::Map(out)
            }
            (Value::Map(map), _) => Value::Map(self.fields(map, None, tree, depth)),
            (Value::List(items), ty) => {
                let of = match ty {
                    Some(Resolved::List(_, item)) => Some(item),
                    _ => None,
                };
                let below = tree.of_items();
                let is_read = tree.items.is_some() || tree.nested.is_some() || tree.names;
                let each = |item: &Value| match item {
                    Value::Str(_) if !is_read => Value::Str(self.text.clone()),
                    Value::Map(_) | Value::List(_) => self.value(item, of, &below, depth + 1),
                    other => other.clone(),
                };
                Value::list(items.iter().map(each).collect())
            }
            (other, _) => other.clone(),
        }
    }
}

/// Whether one more entry of an object is read.
pub(crate) fn is_counted(tree: &ReadTree) -> bool {
    tree.whole || tree.names || tree.items.is_some()
}

#[cfg(test)]
mod tests {
    use ephor_analysis::reads::Step;

    use super::*;

    fn marked(object: &str, places: &[&[&str]]) -> String {
        let object = ephor_document::yaml_value(object).unwrap();
        let mut tree = ReadTree::default();
        for place in places {
            let step = |key: &&str| if *key == "*" { Step::Items } else { Step::Key(Str::from(*key)) };
            tree.add(&place.iter().map(step).collect::<Vec<_>>(), false);
        }
        let types = Types::built_in();
        let marker = Marker { types, text: "unread".into(), skipped: BTreeSet::new() };
        let pod = ["", "v1", "Pod"].map(Str::from);
        ephor_value::print::json(&marker.object(&object, types.of_object(&pod).map(|def| &**def), &tree))
    }

    #[test]
    fn each_object_that_is_looked_into_gets_a_field_more() {
        let pod =
            "{spec: {securityContext: {runAsUser: 1}, containers: [{name: a}], tolerations: [{key: a}]}}";
        let found =
            marked(pod, &[&["spec", "securityContext", "runAsUser"], &["spec", "tolerations", "*", "key"]]);
        let expected = r#"{"spec":{"containers":[{"name":"a"}],"nodeSelector":{"unread":"unread"},"securityContext":{"runAsUser":1,"seLinuxChangePolicy":"unread"},"tolerations":[{"key":"a","value":"unread"}]}}"#;
        assert_eq!(found, expected);
    }

    #[test]
    fn maps_get_an_entry_and_lists_that_are_not_looked_into_other_items() {
        let pod = "{metadata: {labels: {a: b}}, spec: {dnsConfig: {searches: [a]}}}";
        let found = marked(pod, &[&["metadata", "labels", "a"], &["spec", "dnsConfig", "searches"]]);
        assert!(found.contains(r#""labels":{"a":"b","unread":"unread"}"#), "{found}");
        assert!(found.contains(r#""searches":["unread"]"#), "{found}");
        // Where all entries are evaluated, one more is another object.
        let all = marked(pod, &[&["metadata", "labels", "*"]]);
        assert!(all.contains(r#""labels":{"a":"b"}"#), "{all}");
    }
}
