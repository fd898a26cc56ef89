//! Environments that all rules treat alike.
//!
//! In: an environment and the units of both sides in it. Out: a text; environments with the same
//! one have the same answer, so only the first of them is read: the seven controllers of
//! autogen, creations and updates.

use std::fmt::Write;

use ephor_analysis::reads::{ReadTree, Reads};
use ephor_kubernetes::Types;
use ephor_kubernetes::admitted::{admitted, smallest};
use ephor_kubernetes::schema::{Type, TypeDef};
use ephor_value::Value;
use ephor_value::print::json;

use crate::model::environment::Environment;
use crate::model::field_types::is_written;
use crate::units::unit::Unit;

/// What decides in an environment; `None` when a rule reads the kind, or what it reads is not
/// known.
pub(crate) fn signature(environment: &Environment, sides: &[Vec<Unit>; 2]) -> Option<String> {
    let mut text = String::new();
    let mut reads = Reads::default();
    let mut reads_operation = false;
    for units in sides {
        let mut own = Vec::new();
        for unit in units {
            let identity = unit.identity.as_ref().filter(|identity| !identity.reads_kind)?;
            reads_operation |= identity.reads_operation;
            reads.merge(&unit.reads);
            own.push(&identity.text);
        }
        let _ = write!(text, "{own:?};");
    }
    let is_write = !reads_operation
        && matches!(environment.operation, "CREATE" | "UPDATE")
        && reads.old == ReadTree::default()
        && !is_written(environment, &reads);
    let operation = if is_write { "write" } else { environment.operation };
    let _ = write!(text, "{operation} {} {};", environment.subresource, environment.resource.namespaced);
    let types = Types::built_in();
    let def = types.of_object(&environment.object);
    let shown = smallest(&environment.object).and_then(|own| admitted(&environment.object, &own)?.ok());
    for tree in [&reads.object, &reads.shown, &reads.old] {
        shape(types, def.map(|def| &**def), tree, &mut text);
        if let Some(shown) = &shown {
            written(shown, tree, 0, &mut text);
        }
    }
    if &*environment.resource.kind == "Namespace" || !environment.is_of_resource() {
        text.push_str(&environment.name());
    }
    Some(text)
}

/// More is not written down of what API servers show.
const MAX_DEPTH: usize = 32;

/// Fields of controllers that lead to the pods that they make: everything else is their own.
const TO_PODS: [&str; 6] = ["apiVersion", "kind", "metadata", "spec", "template", "jobTemplate"];

/// What an API server shows of the smallest object where it is read: it writes more into objects of
/// some kinds than of others.
fn written(shown: &Value, tree: &ReadTree, depth: usize, out: &mut String) {
    if *tree == ReadTree::default() && shown.as_str().is_none() {
        // Whether it is there, and empty.
        let _ = write!(out, " {}", shown.is_empty());
        return;
    }
    if depth > MAX_DEPTH || tree.whole || tree.names || *tree == ReadTree::default() {
        let _ = write!(out, " {}", json(shown));
        return;
    }
    for (key, below) in tree.keys.iter().filter(|(key, _)| !matches!(&**key, "name" | "kind" | "apiVersion"))
    {
        if let Some(shown) = shown.get(key) {
            let _ = write!(out, " {key}=");
            written(shown, below, depth + 1, out);
        }
    }
    if let (Some(below), Some(first)) = (&tree.items, shown.as_list().and_then(<[Value]>::first)) {
        written(first, below, depth + 1, out);
    }
    if let (Some(_), Value::Map(map)) = (&tree.items, shown) {
        let _ = write!(out, " {:?}", map.keys().collect::<Vec<_>>());
    }
}

/// The types of what is read.
fn shape(types: &Types, def: Option<&TypeDef>, tree: &ReadTree, out: &mut String) {
    let _ = write!(out, "({}{}", u8::from(tree.whole), u8::from(tree.names));
    let Some(def) = def else {
        out.push_str(" untyped)");
        return;
    };
    let is_own = |key: &str| !TO_PODS.contains(&key) && def.field(key).is_some();
    if tree.keys.iter().any(|(key, _)| is_own(key)) {
        // What an API server fills in is a matter of the type.
        out.push_str(&def.name);
    }
    for (key, below) in &tree.keys {
        let _ = write!(out, " {key}");
        match def.field(key) {
            None => out.push_str(if def.open { "?" } else { "-" }),
            Some(field) => {
                out.push_str(if field.required { "!" } else { ":" });
                of_type(types, &field.ty, below, out);
            }
        }
    }
    out.push(')');
}

fn of_type(types: &Types, ty: &Type, tree: &ReadTree, out: &mut String) {
    match ty {
        Type::Leaf(leaf) => {
            let _ = write!(out, "{leaf:?}");
        }
        Type::List(_, item) => {
            out.push_str("list ");
            let below = tree.of_items();
            of_type(types, item, &below, out);
        }
        Type::Map(value, _) => {
            out.push_str("map ");
            of_type(types, value, &ReadTree::default(), out);
        }
        Type::Named(name, _) => match types.named(name) {
            Some(def) if tree.whole || tree.items.is_some() => {
                let _ = write!(out, "all of {name} {}", def.open);
            }
            Some(def) => shape(types, Some(def), tree, out),
            None => out.push_str(name),
        },
    }
}
