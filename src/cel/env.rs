//! Environments: what names, functions and messages an expression may use.

use std::collections::HashMap;
use std::sync::Arc;

use super::schema::Declared;
use super::syntax::Options;
use super::types::{self, Type};
use crate::functions::CelLevel;
use crate::value::Str;

/// A form of a function.
#[derive(Clone, Debug)]
pub struct Overload {
    /// The parameters, the receiver first.
    pub params: Vec<Type>,
    /// The result.
    pub result: Type,
    /// Whether it is called on a receiver.
    pub member: bool,
    /// Names of type parameters in it.
    pub type_params: Vec<Str>,
}

impl Overload {
    /// A form with these parameters and result.
    pub fn new(params: Vec<Type>, result: Type, member: bool) -> Overload {
        let mut type_params = Vec::new();
        for t in params.iter().chain([&result]) {
            collect_params(t, &mut type_params);
        }
        Overload { params, result, member, type_params }
    }
}

/// The functions of an environment by name.
pub type Functions = HashMap<&'static str, Vec<Overload>>;

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

    /// The type of a field; the message of patches has fields of every name, with a type without name.
    pub fn field(&self, message: &str, field: &str) -> Option<Type> {
        let found = self.get(message)?.field(field);
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

/// Reads declarations, one a line: `name(params) result`, or `Receiver.name(params) result`; a name with a
/// dot is written with `:` before the parenthesis (`sets.contains:(list<T>, list<T>) bool`).
pub fn declare(into: &mut Functions, table: &'static str) {
    for line in table.lines().map(str::trim).filter(|l| !l.is_empty() && !l.starts_with('#')) {
        let Some((head, rest)) = line.split_once('(') else { continue };
        let Some((params, result)) = rest.rsplit_once(')') else { continue };
        let (name, receiver) = match head.strip_suffix(':') {
            Some(name) => (name, None),
            None => match receiver_end(head) {
                Some(at) => (head.get(at + 1..).unwrap_or_default(), head.get(..at)),
                None => (head, None),
            },
        };
        let mut all: Vec<Type> = receiver.into_iter().map(types::parse).collect();
        all.extend(types::split(params).into_iter().map(types::parse));
        let result = types::parse(result);
        into.entry(name).or_default().push(Overload::new(all, result, receiver.is_some()));
    }
}

/// The dot between receiver and name: the last one outside of brackets.
fn receiver_end(head: &str) -> Option<usize> {
    let mut depth = 0usize;
    let mut found = None;
    for (i, c) in head.char_indices() {
        match c {
            '<' => depth += 1,
            '>' => depth = depth.saturating_sub(1),
            '.' if depth == 0 => found = Some(i),
            _ => {}
        }
    }
    found
}

fn collect_params(t: &Type, into: &mut Vec<Str>) {
    match t {
        Type::Param(name) if !into.contains(name) => into.push(name.clone()),
        t => t.parameters().into_iter().for_each(|p| collect_params(p, into)),
    }
}
