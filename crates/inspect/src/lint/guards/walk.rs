//! Walks expressions and finds the fields that they read although they may be absent, and
//! comparisons of values of which none equals the other.
//!
//! In: the syntax tree of an expression, what its names stand for, and what is known to be there
//! ([`facts`](super::facts)). Out: reads, each with the chain of fields that it ends. `&&` and `||`
//! are commutative: each side guards the other, because a side that ends in an error does not count
//! when the other decides. Parts of which nothing is known are not reported.

use std::collections::HashMap;

use ephor_cel::ast::{Kind, Node};
use ephor_kubernetes::Types;
use ephor_kubernetes::schema::Type;
use ephor_value::quantity::Quantity;
use ephor_value::semver::Version;
use ephor_value::{Str, Value};

use super::present::{Present, is_filled};
use super::value::{Class, Place, ReadValue, Step, What, below, covers, metadata, resolved};

/// Expressions of variables nest no deeper.
const MAX_DEPTH: usize = 24;
/// Nodes that are read at most for one policy: variables are read where they are used.
const MAX_NODES: usize = 60_000;

/// A read of something that may be absent.
#[derive(Clone, Debug)]
pub(super) struct Read {
    /// The expression, by its number.
    pub(super) expression: usize,
    /// The bytes of the dots and brackets behind which what may be absent is named.
    pub(super) at: Vec<u32>,
    /// The byte of the last dot or bracket of the chain.
    pub(super) end: u32,
    /// What the chain reads.
    pub(super) what: What,
    /// How it is used.
    pub(super) usage: Usage,
}

/// How a chain of fields is used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Usage {
    /// As a value.
    Value,
    /// `has(CHAIN.field)`: the bytes of the parenthesis.
    Test(u32),
    /// `CHAIN == null`, or with `!=`: the byte of the operator.
    Null(u32),
}

/// A comparison whose sides are never equal.
#[derive(Clone, Debug)]
pub(super) struct Unequal {
    /// The expression, by its number.
    pub(super) expression: usize,
    /// The byte of the operator.
    pub(super) at: u32,
    /// What the sides are.
    pub(super) sides: [Class; 2],
    /// Whether it is `==`.
    pub(super) is_equal: bool,
}

/// A variable of a policy, or a condition or validation.
pub(super) struct Parsed {
    /// Its tree.
    pub(super) tree: Node,
    /// Its number.
    pub(super) number: usize,
}

/// What names stand for.
pub(super) struct ReadNames<'a> {
    /// The types of kinds.
    pub(super) types: &'a Types,
    /// What every object has.
    pub(super) present: &'a Present,
    /// The types of `object` and `oldObject`.
    pub(super) object: What,
    /// The variables before the expression, by name.
    pub(super) variables: HashMap<Str, Parsed>,
}

/// See the module page.
pub(super) struct Walk<'a> {
    pub(super) names: &'a ReadNames<'a>,
    /// What is known to be there, where the walk is.
    pub(super) facts: Vec<Place>,
    /// Facts of lists that expressions make.
    pub(super) made: Vec<Place>,
    /// The variables of loops and bindings.
    pub(super) scopes: Vec<(Str, ReadValue)>,
    /// The variables that are being read.
    pub(super) open: Vec<Str>,
    /// The expression that is walked.
    expression: usize,
    /// The number of the next loop.
    pub(super) next: u32,
    nodes: usize,
    pub(super) reads: Vec<Read>,
    pub(super) unequal: Vec<Unequal>,
    /// Constants that functions cannot read: the expression, the byte, and what they are not.
    pub(super) unreadable: Vec<(usize, u32, &'static str)>,
}

/// A chain of fields: its value, and the bytes at which it reads what may be absent.
struct Chain {
    value: ReadValue,
    absent: Vec<u32>,
}

impl Chain {
    fn of(value: ReadValue) -> Chain {
        Chain { value, absent: Vec::new() }
    }
}

impl<'a> Walk<'a> {
    pub(super) fn new(names: &'a ReadNames<'a>, facts: Vec<Place>) -> Walk<'a> {
        Walk {
            names,
            facts,
            made: Vec::new(),
            scopes: Vec::new(),
            open: Vec::new(),
            expression: 0,
            next: 1,
            nodes: 0,
            reads: Vec::new(),
            unequal: Vec::new(),
            unreadable: Vec::new(),
        }
    }

    /// Walks an expression.
    pub(super) fn run(&mut self, of: &Parsed) -> ReadValue {
        self.expression = of.number;
        self.value(&of.tree)
    }

    /// The value of a part; its chain of fields ends here.
    pub(super) fn value(&mut self, node: &Node) -> ReadValue {
        self.used(node, Usage::Value)
    }

    fn used(&mut self, node: &Node, usage: Usage) -> ReadValue {
        let Chain { value, absent } = self.chain(node);
        if !absent.is_empty() {
            let read = Read {
                expression: self.expression,
                at: absent,
                end: node.at,
                what: value.what.clone(),
                usage,
            };
            let is_known =
                |known: &Read| known.expression == read.expression && known.at.first() == read.at.first();
            if !self.reads.iter().any(is_known) {
                self.reads.push(read);
            }
        }
        value
    }

    fn chain(&mut self, node: &Node) -> Chain {
        self.nodes += 1;
        if self.nodes > MAX_NODES || self.open.len() > MAX_DEPTH {
            return Chain::of(ReadValue::any());
        }
        match &node.kind {
            Kind::Const(value) => Chain::of(ReadValue::literal(value)),
            Kind::Ident(name) => Chain::of(self.name(name)),
            Kind::Select { operand, test: true, .. } => {
                self.used(operand, Usage::Test(node.at));
                Chain::of(ReadValue::one(Class::Bool))
            }
            Kind::Select { operand, field, .. } => self.select(node, operand, field),
            Kind::Call { function, target, args } => self.call(node, function, target.as_deref(), args),
            Kind::List { items, .. } => {
                let all: Vec<What> = items.iter().map(|item| self.value(item).what).collect();
                let what = all.into_iter().reduce(What::or);
                Chain::of(ReadValue::new(
                    what.map_or(What::One(Class::List), |what| What::List(Box::new(what))),
                ))
            }
            Kind::Map(entries) => {
                for entry in entries {
                    self.value(&entry.key);
                    self.value(&entry.value);
                }
                // Of a map with entries nothing more is known.
                let what = if entries.is_empty() { What::One(Class::Map) } else { What::Any };
                Chain::of(ReadValue::new(what))
            }
            Kind::Struct { fields, .. } => {
                fields.iter().for_each(|field| drop(self.value(&field.value)));
                Chain::of(ReadValue::any())
            }
            Kind::Fold(fold) => Chain::of(self.fold(fold)),
        }
    }

    /// What a name stands for; variables of loops come first.
    fn name(&mut self, name: &str) -> ReadValue {
        if let Some((_, value)) = self.scopes.iter().rev().find(|(known, _)| **known == *name) {
            return value.clone();
        }
        let rooted =
            |what: What| ReadValue { what, place: Some(vec![Step::Root(name.into())]), is_optional: false };
        match name {
            "object" | "oldObject" => rooted(self.names.object.clone()),
            _ => rooted(What::Any),
        }
    }

    fn select(&mut self, node: &Node, operand: &Node, field: &Str) -> Chain {
        if let Some(name) = self.variable(operand, field) {
            return Chain::of(self.read_variable(&name));
        }
        if matches!(&operand.kind, Kind::Ident(name) if **name == *"request")
            && matches!(&**field, "object" | "oldObject")
            && !self.scopes.iter().any(|(known, _)| **known == *"request")
        {
            return Chain::of(self.name(field));
        }
        let mut chain = self.chain(operand);
        let (value, may_be_absent) = self.field(&chain.value, field);
        // A field of an optional is one itself.
        let is_optional = chain.value.is_optional;
        if may_be_absent && !is_optional {
            chain.absent.push(node.at);
        }
        chain.value = ReadValue { is_optional, ..value };
        chain
    }

    /// The name of the variable that `variables.NAME` reads.
    pub(super) fn variable(&self, operand: &Node, field: &Str) -> Option<Str> {
        let is_it = matches!(&operand.kind, Kind::Ident(name) if **name == *"variables");
        let is_shadowed = self.scopes.iter().any(|(known, _)| **known == *"variables");
        (is_it && !is_shadowed).then(|| field.clone())
    }

    /// The value of a variable, which is computed where it is first read.
    fn read_variable(&mut self, name: &Str) -> ReadValue {
        let names = self.names;
        let own = || Some(vec![Step::Root("variables".into()), Step::Field(name.clone())]);
        let Some(variable) = names.variables.get(name).filter(|_| !self.open.contains(name)) else {
            return ReadValue { place: own(), ..ReadValue::any() };
        };
        let scopes = std::mem::take(&mut self.scopes);
        let before = std::mem::replace(&mut self.expression, variable.number);
        self.open.push(name.clone());
        let value = self.value(&variable.tree);
        self.open.pop();
        self.expression = before;
        self.scopes = scopes;
        ReadValue { place: value.place.or_else(own), ..value }
    }

    /// The field of a value, and whether it may be absent.
    fn field(&self, of: &ReadValue, field: &Str) -> (ReadValue, bool) {
        let place = below(of.place.as_ref(), Step::Field(field.clone()));
        let is_there = place.as_ref().is_some_and(|place| self.is_there(place));
        if matches!(of.what, What::Object) {
            let what = if **field == *"metadata" { What::Types(vec![metadata()]) } else { What::Any };
            return (ReadValue { what, place, is_optional: false }, false);
        }
        let (mut found, mut absent, mut is_open) = (Vec::new(), 0, of.what.is_open());
        for ty in of.what.types() {
            match ty {
                Type::Map(value, _) => {
                    found.push(resolved(value, self.names.types));
                    absent += 1;
                }
                Type::Named(name, _) => {
                    let Some(def) = self.names.types.named(name) else {
                        is_open = true;
                        continue;
                    };
                    let written: &str =
                        field.strip_prefix("__").and_then(|f| f.strip_suffix("__")).unwrap_or(field);
                    let Some(own) = def.field(field).or_else(|| def.field(written)) else {
                        is_open |= def.open;
                        continue;
                    };
                    found.push(resolved(&own.ty, self.names.types));
                    let has = |other: &str| {
                        let place = below(of.place.as_ref(), Step::Field(other.into()));
                        place.is_some_and(|place| self.is_there(&place))
                    };
                    let present = self.names.present;
                    let is_there = is_filled(def, own, self.names.types)
                        || present.in_items(name, &own.name)
                        || present.come_together(name, &own.name, &has);
                    absent += usize::from(!is_there);
                }
                _ => {}
            }
        }
        let may_be_absent = !is_there && !is_open && absent > 0 && absent == found.len();
        let what = if found.is_empty() || is_open { What::Any } else { What::Types(found) };
        (ReadValue { what, place, is_optional: false }, may_be_absent)
    }

    /// Whether a guard, or what the API server does, says that a place is there.
    fn is_there(&self, place: &[Step]) -> bool {
        if self.facts.iter().chain(&self.made).any(|fact| covers(fact, place)) {
            return true;
        }
        match place.split_first() {
            Some((Step::Root(root), rest)) if matches!(&**root, "object" | "oldObject") => {
                self.names.present.at(rest)
            }
            _ => false,
        }
    }

    fn call(&mut self, node: &Node, function: &Str, target: Option<&Node>, args: &[Node]) -> Chain {
        match (&**function, target, args) {
            ("_&&_" | "_||_", None, [left, right]) => {
                let truth = **function == *"_&&_";
                self.guarded(right, truth, |walk| drop(walk.value(left)));
                self.guarded(left, truth, |walk| drop(walk.value(right)));
                Chain::of(ReadValue::one(Class::Bool))
            }
            ("_?_:_", None, [condition, yes, no]) => {
                self.value(condition);
                let yes = self.guarded(condition, true, |walk| walk.value(yes));
                let no = self.guarded(condition, false, |walk| walk.value(no));
                Chain::of(yes.or(no))
            }
            ("_==_" | "_!=_", None, [left, right]) => {
                self.compare(node, **function == *"_==_", [left, right]);
                Chain::of(ReadValue::one(Class::Bool))
            }
            ("_[_]", None, [operand, key]) => self.index(node, operand, key),
            ("_?._" | "_[?_]", None, [operand, key]) => {
                let mut chain = self.chain(operand);
                let value = match &key.kind {
                    Kind::Const(Value::Str(field)) => self.field(&chain.value, field).0,
                    _ => {
                        self.value(key);
                        ReadValue::new(self.entries(&chain.value.what))
                    }
                };
                chain.value = ReadValue { is_optional: true, ..value };
                chain
            }
            ("orValue", Some(operand), [default]) | ("orValue", None, [operand, default]) => {
                let value = self.value(operand);
                let default = self.value(default);
                Chain::of(ReadValue { is_optional: false, ..value.or(default) })
            }
            ("value", Some(operand), []) => {
                Chain::of(ReadValue { is_optional: false, ..self.value(operand) })
            }
            ("_+_", None, [left, right]) => {
                let (left, right) = (self.value(left), self.value(right));
                let what = match (left.what.classes().as_deref(), right.what.classes().as_deref()) {
                    (Some([Class::List, ..]), Some([Class::List, ..])) => {
                        What::List(Box::new(left.what.items().or(right.what.items())))
                    }
                    (Some([Class::Text]), Some([Class::Text])) => What::One(Class::Text),
                    (Some([Class::Number]), Some([Class::Number])) => What::One(Class::Number),
                    _ => What::Any,
                };
                Chain::of(ReadValue::new(what))
            }
            _ => {
                if let (None, [Node { kind: Kind::Const(Value::Str(text)), at }]) = (target, args) {
                    self.constant(function, text, *at);
                }
                target.iter().for_each(|target| drop(self.value(target)));
                args.iter().for_each(|arg| drop(self.value(arg)));
                Chain::of(ReadValue::new(result_of(function)))
            }
        }
    }

    /// Notes a constant that a function cannot read.
    fn constant(&mut self, function: &str, text: &str, at: u32) {
        let what = match function {
            "semver" if Version::parse_ok(text).is_none() => "version of the form 1.2.3",
            "quantity" if Quantity::parse(text).is_none() => "quantity",
            _ => return,
        };
        let one = (self.expression, at, what);
        if !self.unreadable.contains(&one) {
            self.unreadable.push(one);
        }
    }

    /// Runs a step with what is there where `guard` has a truth value.
    fn guarded<T>(&mut self, guard: &Node, truth: bool, step: impl FnOnce(&mut Self) -> T) -> T {
        let before = self.facts.len();
        let facts = self.facts_of(guard, truth);
        self.facts.extend(facts);
        let out = step(self);
        self.facts.truncate(before);
        out
    }

    fn index(&mut self, node: &Node, operand: &Node, key: &Node) -> Chain {
        let mut chain = self.chain(operand);
        match &key.kind {
            Kind::Const(Value::Str(field)) => {
                let (value, may_be_absent) = self.field(&chain.value, field);
                let is_optional = chain.value.is_optional;
                if may_be_absent && !is_optional {
                    chain.absent.push(node.at);
                }
                chain.value = ReadValue { is_optional, ..value };
            }
            _ => {
                self.value(key);
                let what = self.entries(&chain.value.what);
                let place = below(chain.value.place.as_ref(), Step::Each(0))
                    .filter(|_| matches!(chain.value.what.classes().as_deref(), Some([Class::List, ..])));
                chain.value = ReadValue { what, place, is_optional: chain.value.is_optional };
            }
        }
        chain
    }

    /// The values of a list or map.
    fn entries(&self, what: &What) -> What {
        let values = what.types().into_iter().map(|ty| match ty {
            Type::Map(value, _) => Some(resolved(value, self.names.types)),
            Type::List(_, item) => Some(resolved(item, self.names.types)),
            _ => None,
        });
        let found: Option<Vec<Type>> = values.collect();
        match found.filter(|found| !found.is_empty() && !what.is_open()) {
            Some(found) => What::Types(found),
            None => What::Any,
        }
    }

    fn compare(&mut self, node: &Node, is_equal: bool, sides: [&Node; 2]) {
        let is_null = |side: &Node| matches!(side.kind, Kind::Const(Value::Null));
        let usage = if sides.into_iter().any(is_null) { Usage::Null(node.at) } else { Usage::Value };
        let [left, right] = sides.map(|side| self.used(side, usage));
        let (Some(a), Some(b)) = (left.what.classes(), right.what.classes()) else { return };
        let (Some(first), Some(second)) = (a.first(), b.first()) else { return };
        // An absent field that is compared with null is reported as such; one that is guarded may
        // be null in a file.
        let may_be_null =
            usage != Usage::Value && [&left, &right].into_iter().any(|value| value.place.is_some());
        let is_optional = left.is_optional || right.is_optional;
        if may_be_null || is_optional || a.iter().any(|class| b.contains(class)) {
            return;
        }
        self.unequal.push(Unequal {
            expression: self.expression,
            at: node.at,
            sides: [*first, *second],
            is_equal,
        });
    }
}

/// What a function gives, as far as its name says.
fn result_of(function: &str) -> What {
    let class = match function {
        "_<_" | "_<=_" | "_>_" | "_>=_" | "!_" | "@in" | "startsWith" | "endsWith" | "contains"
        | "matches" | "hasValue" | "bool" | "isQuantity" | "isURL" | "isSemver" | "isIP" | "isCIDR"
        | "isSorted" => Class::Bool,
        "size" | "int" | "double" | "uint" | "indexOf" | "lastIndexOf" => Class::Number,
        "string" | "lowerAscii" | "upperAscii" | "trim" | "replace" | "substring" | "join" | "format"
        | "charAt" => Class::Text,
        "split" | "findAll" => return What::List(Box::new(What::One(Class::Text))),
        _ => return What::Any,
    };
    What::One(class)
}
