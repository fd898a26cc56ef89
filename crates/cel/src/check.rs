//! Type checking.
//!
//! In: a syntax tree and an environment. Out: the tree with the type of every node, names resolved
//! and the forms of functions that fit, or the issues in the reference's words.
//!
//! - `near`: names like one that is not known

mod near;

use std::collections::HashMap;

use super::ast::{Entry, Fold, Kind, Node, Place, Shape};
use super::env::{Env, Message, Overload};
use super::infer::{Unknowns, instantiate, most_general};
use super::issue::Issue;
use super::types::{Type, applied};
use ephor_value::names::is_word_of_expressions;
use ephor_value::{Str, Value};

/// A checked node.
#[derive(Clone, Debug)]
pub struct Typed {
    /// Where messages about it point to.
    pub at: Place,
    /// Its type.
    pub ty: Type,
    /// What it is.
    pub kind: TypedKind,
}

/// What a checked node is.
#[derive(Clone, Debug)]
pub enum TypedKind {
    /// A literal.
    Const(Value),
    /// A variable by its full name, of a loop or of the environment.
    Variable(Str),
    /// The name of a type, as declared.
    TypeName(Type, Str),
    /// A field.
    Select {
        /// What it is read from.
        operand: Box<Typed>,
        /// The field.
        field: Str,
        /// `has(operand.field)`.
        test: bool,
    },
    /// A call.
    Call {
        /// The function.
        function: Str,
        /// The arguments, the receiver first.
        args: Vec<Typed>,
        /// Whether there is a receiver.
        member: bool,
        /// Which forms of the function fit.
        overloads: Vec<usize>,
    },
    /// A list.
    List {
        /// Its items.
        items: Vec<Typed>,
        /// Positions of optional items.
        optional: Vec<usize>,
    },
    /// A map.
    Map(Vec<TypedEntry<Typed>>),
    /// A message.
    Struct {
        /// The type's name.
        name: Str,
        /// Its fields.
        fields: Vec<TypedEntry<Str>>,
    },
    /// A loop.
    Fold(Box<TypedFold>),
}

/// An entry of a map or message.
#[derive(Clone, Debug)]
pub struct TypedEntry<K> {
    /// The key or the field's name.
    pub key: K,
    /// The value.
    pub value: Typed,
    /// Whether it is left out when the value is none.
    pub optional: bool,
}

/// A loop; see [`Fold`].
#[derive(Clone, Debug)]
pub struct TypedFold {
    /// The macro.
    pub shape: Shape,
    /// What is walked.
    pub range: Typed,
    /// The variable.
    pub var: Str,
    /// The second variable; of [`Shape::Bind`] the name of the value.
    pub var2: Option<Str>,
    /// The accumulator at first.
    pub init: Typed,
    /// The accumulator after a round.
    pub step: Typed,
    /// The value of the whole.
    pub result: Typed,
}

/// Parts that a type may have: `{v: v}` has twice as many as `v`. Kyverno and the API server have
/// no bound. A policy with more does not compile.
const MAX_TYPE_PARTS: usize = 1024;

/// Checks an expression.
///
/// # Errors
/// All issues.
pub fn check(node: &Node, env: &Env) -> Result<Typed, Vec<Issue>> {
    let mut checker = Checker { env, scopes: Vec::new(), unknowns: Unknowns::default(), issues: Vec::new() };
    let mut typed = checker.node(node);
    if !checker.issues.is_empty() {
        return Err(checker.issues);
    }
    settle(&mut typed, &checker.unknowns);
    Ok(typed)
}

/// Writes the final types.
fn settle(t: &mut Typed, unknowns: &Unknowns) {
    t.ty = unknowns.resolve(&t.ty, true);
    match &mut t.kind {
        TypedKind::Const(_) | TypedKind::Variable(_) => {}
        TypedKind::TypeName(ty, _) => *ty = unknowns.resolve(ty, true),
        TypedKind::Select { operand, .. } => settle(operand, unknowns),
        TypedKind::Call { args, .. } | TypedKind::List { items: args, .. } => {
            args.iter_mut().for_each(|a| settle(a, unknowns));
        }
        TypedKind::Map(entries) => entries.iter_mut().for_each(|e| {
            settle(&mut e.key, unknowns);
            settle(&mut e.value, unknowns);
        }),
        TypedKind::Struct { fields, .. } => fields.iter_mut().for_each(|f| settle(&mut f.value, unknowns)),
        TypedKind::Fold(fold) => {
            for part in [&mut fold.range, &mut fold.init, &mut fold.step, &mut fold.result] {
                settle(part, unknowns);
            }
        }
    }
}

struct Checker<'e> {
    env: &'e Env,
    scopes: Vec<(Str, Type)>,
    unknowns: Unknowns,
    issues: Vec<Issue>,
}

impl Checker<'_> {
    fn issue(&mut self, at: Place, text: impl Into<String>) -> Type {
        self.issues.push(Issue::new(at, text));
        Type::Error
    }

    fn known(&self, t: &Type) -> Type {
        self.unknowns.resolve(t, false)
    }

    /// The type as messages print it: unknowns are dyn.
    fn without_unknowns(&self, t: &Type) -> Type {
        self.unknowns.resolve(t, true)
    }

    fn node(&mut self, node: &Node) -> Typed {
        let at = node.at;
        let (ty, kind) = match &node.kind {
            Kind::Const(v) => (literal_type(v), TypedKind::Const(v.clone())),
            Kind::Ident(name) => self.ident(at, name),
            Kind::Select { operand, field, test } => self.select(node, operand, field, *test),
            Kind::Call { function, target, args } => self.call(at, function, target.as_deref(), args),
            Kind::List { items, optional } => self.list(items, optional),
            Kind::Map(entries) => self.map(entries),
            Kind::Struct { name, fields } => self.message(at, name, fields),
            Kind::Fold(fold) => self.fold(fold),
        };
        let ty = if ty.is_larger_than(MAX_TYPE_PARTS) { self.issue(at, "the type is too large") } else { ty };
        Typed { at, ty, kind }
    }

    fn ident(&mut self, at: Place, name: &Str) -> (Type, TypedKind) {
        match self.lookup(name) {
            Some(found) => found,
            None => (self.undeclared(at, name), TypedKind::Variable(name.clone())),
        }
    }

    /// The names under which `name` is looked up, most specific first.
    fn candidates(&self, name: &str) -> Vec<String> {
        if let Some(absolute) = name.strip_prefix('.') {
            return vec![absolute.into()];
        }
        let mut container = &*self.env.container;
        let mut out = Vec::new();
        while !container.is_empty() {
            out.push(format!("{container}.{name}"));
            container = container.rsplit_once('.').map_or("", |(head, _)| head);
        }
        out.push(name.into());
        out
    }

    fn lookup(&self, name: &str) -> Option<(Type, TypedKind)> {
        if let Some((full, ty)) = self.scopes.iter().rev().find(|(n, _)| **n == *name) {
            return Some((ty.clone(), TypedKind::Variable(full.clone())));
        }
        for candidate in self.candidates(name) {
            if let Some(ty) = self.env.variables.get(&*candidate) {
                return Some((ty.clone(), TypedKind::Variable(candidate.into())));
            }
            if let Some(ty) = type_named(&candidate, self.env) {
                let of = Type::Type(Some(std::sync::Arc::new(ty.clone())));
                return Some((of, TypedKind::TypeName(ty, candidate.into())));
            }
            if candidate == NULL_VALUE {
                return Some((Type::Int, TypedKind::Const(Value::Int(0))));
            }
        }
        None
    }

    fn select(&mut self, node: &Node, operand: &Node, field: &Str, test: bool) -> (Type, TypedKind) {
        if !test
            && let Some(name) = qualified(node)
            && !self.shadowed(&name)
            && let Some(found) = self.lookup(&name)
        {
            return found;
        }
        if !test
            && let Some(name) = qualified(node)
            && self.is_reported_whole(node, &name)
        {
            return (self.undeclared(node.at, &name), TypedKind::Variable(name.into()));
        }
        let operand = self.node(operand);
        let ty = self.field(node.at, &operand.ty, field, false);
        let ty = if test { Type::Bool } else { ty };
        let field = self.written(&operand.ty, field);
        (ty, TypedKind::Select { operand: Box::new(operand), field, test })
    }

    /// Whether a qualified name begins with a variable of a loop.
    fn shadowed(&self, name: &str) -> bool {
        let root = name.split('.').next().unwrap_or_default();
        self.scopes.iter().any(|(n, _)| **n == *root)
    }

    /// The declared name of a field; a word of the language may be written as it is.
    fn written(&self, target: &Type, field: &Str) -> Str {
        let target = self.known(target);
        let target = target.as_optional().cloned().unwrap_or(target);
        let declared = match &target {
            Type::Struct(name) if is_word_of_expressions(field) => {
                let escaped = format!("__{field}__");
                self.env.messages.field(name, &escaped).map(|_| escaped)
            }
            _ => None,
        };
        declared.map_or_else(|| field.clone(), Str::from)
    }

    fn field(&mut self, at: Place, target: &Type, field: &str, optional: bool) -> Type {
        let target = self.known(target);
        let (target, was_optional) = match target.as_optional() {
            Some(inner) => (self.known(inner), true),
            None => (target, false),
        };
        let found = match &target {
            Type::Map(_, value) => (**value).clone(),
            Type::Struct(name) => match self.env.messages.field(name, field) {
                Some(ty) => ty,
                None => self.issue(at, format!("undefined field '{field}'")),
            },
            Type::Param(_) => {
                self.unknowns.assign(&target, &Type::Dyn);
                Type::Dyn
            }
            Type::Dyn | Type::Error | Type::Any => Type::Dyn,
            Type::Opaque(name, _) if UNRESOLVED.contains(&&**name) => {
                self.issue(at, format!("unexpected failed resolution of '{name}'"))
            }
            other => {
                self.issue(at, format!("type '{other}' does not support field selection"));
                Type::Dyn
            }
        };
        if optional || was_optional { Type::optional(found) } else { found }
    }

    fn call(&mut self, at: Place, function: &Str, target: Option<&Node>, args: &[Node]) -> (Type, TypedKind) {
        if &**function == "_?._"
            && let [operand, Node { kind: Kind::Const(Value::Str(field)), .. }] = args
        {
            let field = field.clone();
            let operand = self.node(operand);
            let ty = self.field(at, &operand.ty, &field, true);
            let field = self.written(&operand.ty, &field);
            let name = Typed { at, ty: Type::String, kind: TypedKind::Const(Value::Str(field)) };
            let kind = TypedKind::Call {
                function: function.clone(),
                args: vec![operand, name],
                member: false,
                overloads: Vec::new(),
            };
            return (ty, kind);
        }
        let mut typed: Vec<Typed> = args.iter().map(|a| self.node(a)).collect();
        if matches!(&**function, "_&&_" | "_||_") && target.is_none() {
            let misfits = typed.iter().filter(|side| !self.expect(side, &Type::Bool)).count();
            let ty = if misfits == 0 { Type::Bool } else { Type::Error };
            let function = function.clone();
            return (ty, TypedKind::Call { function, args: typed, member: false, overloads: vec![0] });
        }
        let (name, member) = match target {
            None => (self.function_name(function), false),
            Some(target) => {
                let whole = qualified(target).map(|q| format!("{q}.{function}"));
                match (whole.as_deref().and_then(|w| self.function_name(w)), &whole) {
                    (Some(name), _) => (Some(name), false),
                    (None, Some(whole)) if self.is_reported_whole(target, whole) => {
                        let (ty, function) = (self.undeclared(at, whole), function.clone());
                        return (
                            ty,
                            TypedKind::Call { function, args: typed, member: true, overloads: Vec::new() },
                        );
                    }
                    (None, _) => {
                        let receiver = self.node(target);
                        typed.insert(0, receiver);
                        (self.env.functions.get_key_value(&**function).map(|(k, _)| *k), true)
                    }
                }
            }
        };
        let Some(name) = name else {
            let ty = self.undeclared(at, function);
            let function = function.clone();
            return (ty, TypedKind::Call { function, args: typed, member, overloads: Vec::new() });
        };
        let (ty, overloads) = self.resolve(at, name, &typed, member);
        (ty, TypedKind::Call { function: name.into(), args: typed, member, overloads })
    }

    fn function_name(&self, name: &str) -> Option<&'static str> {
        let found = |c: String| self.env.functions.get_key_value(&*c).map(|(k, _)| *k);
        self.candidates(name).into_iter().find_map(found)
    }

    /// The result of the forms of a function that fit the arguments.
    fn resolve(&mut self, at: Place, name: &str, args: &[Typed], member: bool) -> (Type, Vec<usize>) {
        let env = self.env;
        let forms: &[Overload] = env.functions.get(name).map(Vec::as_slice).unwrap_or_default();
        let given: Vec<Type> = args.iter().map(|a| a.ty.clone()).collect();
        let (mut result, mut fitting) = (None, Vec::new());
        for (i, form) in forms.iter().enumerate().filter(|(_, f)| f.member == member) {
            let fresh: HashMap<Str, Type> =
                form.type_params.iter().map(|p| (p.clone(), self.unknowns.fresh())).collect();
            let wanted: Vec<Type> = form.params.iter().map(|p| instantiate(p, &fresh)).collect();
            if !self.unknowns.assign_all(&given, &wanted) {
                continue;
            }
            fitting.push(i);
            let own = self.known(&instantiate(&form.result, &fresh));
            result = Some(match result {
                None => own,
                Some(Type::Dyn) => Type::Dyn,
                Some(former) if former == own => former,
                Some(_) => Type::Dyn,
            });
        }
        match result {
            Some(ty) => (ty, fitting),
            None => {
                let given: Vec<Type> = given.iter().map(|t| self.without_unknowns(t)).collect();
                let text = format!(
                    "found no matching overload for '{name}' applied to '{}'",
                    applied(&given, member)
                );
                (self.issue(at, text), fitting)
            }
        }
    }

    /// The type of an optional entry's value.
    fn unwrapped(&mut self, value: &Typed, optional: bool) -> Type {
        if !optional {
            return value.ty.clone();
        }
        // As it was written, whatever unknowns in it turned out to be.
        let own = &value.ty;
        match own.as_optional() {
            Some(inner) => inner.clone(),
            None if *own == Type::Dyn => Type::Dyn,
            None => {
                let wanted = Type::optional(own.clone());
                self.issue(value.at, format!("expected type '{wanted}' but found '{own}'"));
                own.clone()
            }
        }
    }

    /// What items of two types have in common.
    fn join(&mut self, before: Option<Type>, now: Type) -> Type {
        match before {
            None => now,
            Some(before) if self.unknowns.assign(&before, &now) => most_general(&before, &now),
            Some(_) => Type::Dyn,
        }
    }

    fn list(&mut self, items: &[Node], optional: &[usize]) -> (Type, TypedKind) {
        let mut item_type = None;
        let mut typed = Vec::with_capacity(items.len());
        for (i, item) in items.iter().enumerate() {
            let item = self.node(item);
            let own = self.unwrapped(&item, optional.contains(&i));
            item_type = Some(self.join(item_type, own));
            typed.push(item);
        }
        let item_type = item_type.unwrap_or_else(|| self.unknowns.fresh());
        (Type::list(item_type), TypedKind::List { items: typed, optional: optional.to_vec() })
    }

    fn map(&mut self, entries: &[Entry<Node>]) -> (Type, TypedKind) {
        let (mut keys, mut values) = (None, None);
        let mut typed = Vec::with_capacity(entries.len());
        for e in entries {
            let key = self.node(&e.key);
            keys = Some(self.join(keys, key.ty.clone()));
            let value = self.node(&e.value);
            let own = self.unwrapped(&value, e.optional);
            values = Some(self.join(values, own));
            typed.push(TypedEntry { key, value, optional: e.optional });
        }
        let key = keys.unwrap_or_else(|| self.unknowns.fresh());
        let value = values.unwrap_or_else(|| self.unknowns.fresh());
        (Type::map(key, value), TypedKind::Map(typed))
    }

    fn unknown_message(&mut self, at: Place, name: &Str) -> (Type, TypedKind) {
        (self.undeclared(at, name), TypedKind::Struct { name: name.clone(), fields: Vec::new() })
    }

    fn message(&mut self, at: Place, name: &Str, fields: &[Entry<Str>]) -> (Type, TypedKind) {
        let looked_up = self.lookup(name);
        let is_type = matches!(looked_up, Some((_, TypedKind::TypeName(..))));
        let mut lost = false;
        let found = match looked_up {
            // Nor are the fields read then.
            None => return self.unknown_message(at, name),
            Some((_, TypedKind::TypeName(ty, full))) => match &ty {
                Type::Struct(full) => Some((ty.clone(), full.clone())),
                _ if well_known(&full).is_some() => Some((ty, full)),
                _ => {
                    self.issue(at, format!("'{name}' is not a message type"));
                    None
                }
            },
            Some(_) if self.env.level.rules().messages_are_names => return self.unknown_message(at, name),
            Some((ty, _)) => {
                let shown = self.without_unknowns(&ty).formal();
                self.issue(at, format!("'{shown}' is not a type"));
                lost = true;
                None
            }
        };

        let mut typed = Vec::with_capacity(fields.len());
        for f in fields {
            let value = self.node(&f.value);
            let own = self.unwrapped(&value, f.optional);
            if lost {
                self.issue(f.at, format!("unexpected failed resolution of '{name}'"));
            }
            if found.is_some() || is_type {
                let field = found.as_ref().and_then(|(_, full)| {
                    let known = || well_known(full)?.field(&f.key);
                    self.env.messages.field(full, &f.key).or_else(known)
                });
                let wanted = match field {
                    Some(ty) => ty,
                    // The reference finds a field without a type here.
                    None if matches!(&found, Some((_, name)) if &**name == "JSONPatch") => {
                        let (key, own) = (&f.key, self.without_unknowns(&own));
                        let text =
                            format!("expected type of field '{key}' is '' but provided type is '{own}'");
                        self.issue(f.at, text)
                    }
                    None => self.issue(f.at, format!("undefined field '{}'", f.key)),
                };
                if !self.unknowns.assign(&wanted, &own) {
                    let wanted = self.without_unknowns(&wanted);
                    let key = &f.key;
                    let text =
                        format!("expected type of field '{key}' is '{wanted}' but provided type is '{own}'");
                    self.issue(f.at, text);
                }
            }
            typed.push(TypedEntry { key: f.key.clone(), value, optional: f.optional });
        }
        let (ty, name) = found.unwrap_or((Type::Error, name.clone()));
        (ty, TypedKind::Struct { name, fields: typed })
    }

    fn fold(&mut self, fold: &Fold) -> (Type, TypedKind) {
        let Fold { shape, range, var, var2, init, condition, step, result } = fold;
        let range = self.node(range);
        let init = self.node(init);
        let depth = self.scopes.len();
        if *shape == Shape::Bind {
            let name = var2.clone().unwrap_or_else(|| var.clone());
            self.scopes.push((name, init.ty.clone()));
            let result = self.node(result);
            self.scopes.truncate(depth);
            // Nothing reads the step. A copy of the value would be one for each level of bindings
            // in bindings.
            let step = Typed { at: init.at, ty: Type::Null, kind: TypedKind::Const(Value::Null) };
            let ty = self.known(&result.ty);
            let (shape, var, var2) = (*shape, var.clone(), var2.clone());
            return (
                ty,
                TypedKind::Fold(Box::new(TypedFold { shape, range, var, var2, init, step, result })),
            );
        }
        let (first, second) = self.range_types(&range);
        let accumulator = init.ty.clone();
        self.scopes.push((super::ast::ACCUMULATOR.into(), accumulator.clone()));
        let (first, second) = match var2 {
            None => (first.0, None),
            Some(var2) => (first.1, Some((var2.clone(), second))),
        };
        self.scopes.push((var.clone(), first));
        self.scopes.extend(second);
        let condition = self.node(condition);
        self.expect(&condition, &Type::Bool);
        let step = self.node(step);
        self.expect(&step, &accumulator);
        self.scopes.truncate(depth + 1);
        let result = self.node(result);
        self.scopes.truncate(depth);
        let ty = self.known(&result.ty);
        let (shape, var, var2) = (*shape, var.clone(), var2.clone());
        (ty, TypedKind::Fold(Box::new(TypedFold { shape, range, var, var2, init, step, result })))
    }

    /// The types of a loop's variables: the only one or, of two, the first; and the second.
    fn range_types(&mut self, range: &Typed) -> ((Type, Type), Type) {
        let known = self.known(&range.ty);
        match known.clone() {
            Type::List(item) => (((*item).clone(), Type::Int), (*item).clone()),
            Type::Map(key, value) => (((*key).clone(), (*key).clone()), (*value).clone()),
            Type::Dyn | Type::Error => ((Type::Dyn, Type::Dyn), Type::Dyn),
            unknown @ Type::Param(_) => {
                self.unknowns.assign(&Type::Dyn, &unknown);
                ((Type::Dyn, Type::Dyn), Type::Dyn)
            }
            _ => {
                self.issue(
                    range.at,
                    format!(
                        "expression of type '{known}' cannot be range of a comprehension (must be list, map, or dynamic)"
                    ),
                );
                ((Type::Error, Type::Error), Type::Error)
            }
        }
    }

    /// Whether a part has the type it must have; an issue if not.
    fn expect(&mut self, found: &Typed, wanted: &Type) -> bool {
        let fits = self.unknowns.assign(wanted, &found.ty);
        if !fits {
            // The reference prints both as they were written, whatever unknowns in them turned out
            // to be.
            let own = match &found.kind {
                TypedKind::TypeName(Type::List(_), _) => "type(list(A))".into(),
                TypedKind::TypeName(Type::Map(..), _) => "type(map(A, B))".into(),
                _ => found.ty.to_string(),
            };
            self.issue(found.at, format!("expected type '{wanted}' but found '{own}'"));
        }
        fits
    }
}

fn literal_type(v: &Value) -> Type {
    match v {
        Value::Null => Type::Null,
        Value::Bool(_) => Type::Bool,
        Value::Int(_) => Type::Int,
        Value::UInt(_) => Type::Uint,
        Value::Float(_) => Type::Double,
        Value::Str(_) => Type::String,
        Value::Bytes(_) => Type::Bytes,
        _ => Type::Dyn,
    }
}

/// `a.b.c` as one name.
fn qualified(node: &Node) -> Option<String> {
    match &node.kind {
        Kind::Ident(name) => Some(name.to_string()),
        Kind::Select { operand, field, test: false } => Some(format!("{}.{field}", qualified(operand)?)),
        _ => None,
    }
}

/// Types of libraries whose names can be written.
const OPAQUE: [&str; 2] = ["net.IP", "net.CIDR"];

/// Types of libraries that are messages to the checker, but have no fields.
const UNRESOLVED: [&str; 9] = [
    "kubernetes.URL",
    "kubernetes.Quantity",
    "kubernetes.Semver",
    "kubernetes.NamedFormat",
    "kubernetes.authorization.Authorizer",
    "kubernetes.authorization.PathCheck",
    "kubernetes.authorization.GroupCheck",
    "kubernetes.authorization.ResourceCheck",
    "kubernetes.authorization.Decision",
];

/// The one value of its enumeration.
const NULL_VALUE: &str = "google.protobuf.NullValue.NULL_VALUE";

/// The fields of messages that stand for values of the language.
fn well_known(name: &str) -> Option<Message> {
    let fields: Vec<(&str, Type)> = match name.strip_prefix("google.protobuf.")? {
        "Int32Value" | "Int64Value" => vec![("value", Type::Int)],
        "UInt32Value" | "UInt64Value" => vec![("value", Type::Uint)],
        "FloatValue" | "DoubleValue" => vec![("value", Type::Double)],
        "BoolValue" => vec![("value", Type::Bool)],
        "StringValue" => vec![("value", Type::String)],
        "BytesValue" => vec![("value", Type::Bytes)],
        "Timestamp" | "Duration" => vec![("seconds", Type::Int), ("nanos", Type::Int)],
        "Any" => vec![("type_url", Type::String), ("value", Type::Bytes)],
        "Struct" => vec![("fields", Type::map(Type::String, Type::Dyn))],
        "ListValue" => vec![("values", Type::list(Type::Dyn))],
        "Value" => vec![
            ("null_value", Type::Int),
            ("number_value", Type::Double),
            ("string_value", Type::String),
            ("bool_value", Type::Bool),
            ("struct_value", Type::map(Type::String, Type::Dyn)),
            ("list_value", Type::list(Type::Dyn)),
        ],
        "Empty" => Vec::new(),
        _ => return None,
    };
    let fields = fields.into_iter().map(|(name, ty)| (Str::from(name), ty)).collect();
    Some(Message { fields, open: false })
}

/// The type that a name stands for.
pub fn type_named(name: &str, env: &Env) -> Option<Type> {
    Some(match name {
        "bool" => Type::Bool,
        "int" => Type::Int,
        "uint" => Type::Uint,
        "double" => Type::Double,
        "string" => Type::String,
        "bytes" => Type::Bytes,
        "null_type" => Type::Null,
        "type" => Type::Type(None),
        "list" => Type::list(Type::Dyn),
        "map" => Type::map(Type::Dyn, Type::Dyn),
        "optional_type" => {
            let inner = if env.level.rules().shows_optional_parameter { vec![Type::Dyn] } else { Vec::new() };
            Type::Opaque("optional_type".into(), inner)
        }
        // Known by name, but no value: building it fails later.
        "timestamp" => Type::Timestamp,
        "duration" => Type::Duration,
        "google.protobuf.Timestamp" => Type::Timestamp,
        "google.protobuf.Duration" => Type::Duration,
        "google.protobuf.Any" => Type::Any,
        "google.protobuf.Int32Value" | "google.protobuf.Int64Value" => wrapper(Type::Int),
        "google.protobuf.UInt32Value" | "google.protobuf.UInt64Value" => wrapper(Type::Uint),
        "google.protobuf.FloatValue" | "google.protobuf.DoubleValue" => wrapper(Type::Double),
        "google.protobuf.BoolValue" => wrapper(Type::Bool),
        "google.protobuf.StringValue" => wrapper(Type::String),
        "google.protobuf.BytesValue" => wrapper(Type::Bytes),
        "google.protobuf.Struct" => Type::map(Type::String, Type::Dyn),
        "google.protobuf.Value" => Type::Dyn,
        "google.protobuf.ListValue" => Type::list(Type::Dyn),
        "google.protobuf.Empty" => Type::Struct(name.into()),
        _ if OPAQUE.contains(&name) => Type::Opaque(name.into(), Vec::new()),
        _ => {
            env.messages.get(name)?;
            Type::Struct(name.into())
        }
    })
}

fn wrapper(inner: Type) -> Type {
    Type::Wrapper(std::sync::Arc::new(inner))
}

#[cfg(test)]
mod tests;
