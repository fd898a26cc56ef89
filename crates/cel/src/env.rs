//! Environments: what names, functions and messages an expression may use.

use std::collections::HashMap;
use std::sync::Arc;

use super::schema::{Declared, TypeKind};
use super::syntax::Options;
use super::types::Type;
use ephor_functions::CelLevel;
pub use ephor_functions::cel::overload::{Functions, Overload};
use ephor_value::Str;
use ephor_value::names::is_word_of_expressions;

/// The fields of a message type.
#[derive(Clone, Debug, Default)]
pub struct Message {
    /// In order.
    pub fields: Vec<(Str, Type)>,
    /// Whether every other name is a field of type dyn as well.
    pub open: bool,
}

impl Message {
    /// The type of a field.
    pub fn field(&self, name: &str) -> Option<Type> {
        let known = self.fields.iter().find(|(n, _)| **n == *name).map(|(_, t)| t.clone());
        known.or_else(|| self.open.then_some(Type::Dyn))
    }
}

/// Where messages are looked up.
#[derive(Clone, Default)]
pub struct Messages {
    known: HashMap<Str, Message>,
    /// `Object`, `Object.spec` and so on exist, whatever their names.
    pub objects: bool,
}

impl Messages {
    /// Adds a message type.
    pub fn insert(&mut self, name: impl Into<Str>, message: Message) {
        self.known.insert(name.into(), message);
    }

    /// The type of a field; the message of patches has fields of every name, with a type without
    /// name.
    pub fn field(&self, message: &str, field: &str) -> Option<Type> {
        let found = match self.known.get(message) {
            Some(known) => known.field(field),
            None => self.get(message)?.field(field),
        };
        found.or_else(|| (message == "JSONPatch").then(|| Type::Struct("".into())))
    }

    /// The message type of a name.
    pub fn get(&self, name: &str) -> Option<Message> {
        if let Some(known) = self.known.get(name) {
            return Some(known.clone());
        }
        let is_object = self.objects && (name == "Object" || name.starts_with("Object."));
        is_object.then(|| Message { fields: Vec::new(), open: true })
    }
}

/// An environment.
#[derive(Clone)]
pub struct Env {
    /// The syntax.
    pub syntax: Options,
    /// Functions.
    pub functions: Arc<Functions>,
    /// Variables by their full names.
    pub variables: HashMap<Str, Type>,
    /// Message types.
    pub messages: Messages,
    /// The namespace in which names are looked up first.
    pub container: Str,
    /// Literals must have items of one type.
    pub strict_literals: bool,
    /// Constant arguments must be well-formed: durations, times, patterns, formats.
    pub strict_arguments: bool,
    /// Constant parts that fail do so when they are evaluated, not when they are compiled.
    pub late_faults: bool,
    /// The texts' functions are those of version 4 of their extension, not of 2.
    pub late_strings: bool,
    /// Whose words and forms of functions apply.
    pub level: CelLevel,
    /// Declared types whose values have known largest sizes, by variable.
    pub declared: Vec<(Str, Arc<Declared>)>,
}

impl Env {
    /// The largest size of the value at a path that begins with a variable.
    pub fn size_at(&self, path: &[Str]) -> Option<u64> {
        let (variable, rest) = path.split_first()?;
        let (_, declared) = self.declared.iter().find(|(name, _)| name == variable)?;
        declared.most_at(rest)
    }
}

impl Declared {
    /// Makes the type known: its messages, and a variable of it.
    pub fn declare(&self, env: &mut Env, variable: &str) {
        env.variables.insert(variable.into(), self.ty.clone());
        env.declared.push((variable.into(), Arc::new(self.clone())));
        self.messages(env);
    }

    fn messages(&self, env: &mut Env) {
        match &self.kind {
            TypeKind::Scalar(_) => {}
            TypeKind::List(item, _) | TypeKind::Map(item) => item.messages(env),
            TypeKind::Object(fields) => {
                let mut known = Vec::new();
                for f in fields {
                    let (Some(name), Some(declared)) = (&f.name, &f.declared) else { continue };
                    declared.messages(env);
                    known.push((name.clone(), declared.ty.clone()));
                    if is_word_of_expressions(&f.property) {
                        known.push((f.property.clone(), declared.ty.clone()));
                    }
                }
                if let Type::Struct(name) = &self.ty {
                    env.messages.insert(name.clone(), Message { fields: known, open: false });
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_open_message_has_every_field_and_keeps_the_types_of_its_own() {
        let fields = vec![("a".into(), Type::Int)];
        let mut message = Message { fields, open: false };
        assert_eq!((message.field("a"), message.field("b")), (Some(Type::Int), None));
        message.open = true;
        assert_eq!((message.field("a"), message.field("b")), (Some(Type::Int), Some(Type::Dyn)));
    }

    #[test]
    fn messages_of_objects_exist_under_all_names_below_theirs() {
        let mut messages = Messages::default();
        assert!(messages.get("Object.spec").is_none());
        messages.objects = true;
        for name in ["Object", "Object.spec", "Object.a.b"] {
            assert_eq!(messages.field(name, "x"), Some(Type::Dyn), "{name}");
        }
        assert!(messages.get("Objects").is_none());
    }

    #[test]
    fn the_message_of_patches_has_fields_of_every_name_without_a_type() {
        let mut messages = Messages::default();
        assert_eq!(messages.field("JSONPatch", "op"), None);
        messages.insert("JSONPatch", Message { fields: vec![("op".into(), Type::String)], open: false });
        assert_eq!(messages.field("JSONPatch", "op"), Some(Type::String));
        assert_eq!(messages.field("JSONPatch", "nope"), Some(Type::Struct("".into())));
    }
}
