//! What is there where a condition has a truth value.
//!
//! In: a condition and the value that it has. Out: places that are there then. `has(x.y)` being
//! true says it of `x.y`, `'k' in m` of the key; an optional with a default says it where the
//! result differs from that of the default.

use ephor_cel::ast::{Fold, Kind, Node, Shape};
use ephor_value::{Str, Value};

use super::value::{Place, Step, below, covers};
use super::walk::Walk;

impl Walk<'_> {
    /// The places that are there where `node` is `truth`.
    pub(super) fn facts_of(&mut self, node: &Node, truth: bool) -> Vec<Place> {
        match &node.kind {
            Kind::Select { operand, field, test: true } if truth => {
                below(self.place_of(operand).as_ref(), Step::Field(field.clone())).into_iter().collect()
            }
            Kind::Select { operand, field, test: false } => match self.variable(operand, field) {
                Some(name) => self.facts_of_variable(&name, truth),
                // A field that is true is there.
                None => self.of_value(node, truth),
            },
            Kind::Call { function, target, args } => {
                match (&**function, target.as_deref(), args.as_slice()) {
                    ("!_", None, [inner]) => self.facts_of(inner, !truth),
                    ("_&&_", None, [left, right]) if truth => self.both(left, right, truth),
                    ("_||_", None, [left, right]) if !truth => self.both(left, right, truth),
                    ("_&&_" | "_||_", None, [left, right]) => {
                        let (a, b) = (self.facts_of(left, truth), self.facts_of(right, truth));
                        in_both(a, &b)
                    }
                    ("_?_:_", None, [condition, yes, no]) => self.of_choice([condition, yes, no], truth),
                    ("@in", None, [Node { kind: Kind::Const(Value::Str(key)), .. }, map]) if truth => {
                        let mut found = self.of_default(map);
                        found.extend(below(self.place_of(map).as_ref(), Step::Field(key.clone())));
                        found
                    }
                    ("hasValue", Some(optional), []) if truth => self.of_optional(optional),
                    ("_==_" | "_!=_", None, [left, right]) => {
                        let equal = (**function == *"_==_") == truth;
                        let mut found = self.of_comparison(left, right, equal);
                        found.extend(self.of_comparison(right, left, equal));
                        found
                    }
                    // A size above zero.
                    ("_>_", None, [left, Node { kind: Kind::Const(Value::Int(0..)), .. }])
                    | ("_>=_", None, [left, Node { kind: Kind::Const(Value::Int(1..)), .. }])
                        if truth =>
                    {
                        self.of_size(left)
                    }
                    // Texts of defaults are empty.
                    ("startsWith" | "endsWith" | "contains" | "matches", Some(value), [_]) if truth => {
                        self.of_default(value)
                    }
                    _ => self.of_value(node, truth),
                }
            }
            Kind::Fold(fold) => self.of_fold(fold, truth),
            _ => Vec::new(),
        }
    }

    fn both(&mut self, left: &Node, right: &Node, truth: bool) -> Vec<Place> {
        let mut found = self.facts_of(left, truth);
        found.extend(self.facts_of(right, truth));
        found
    }

    fn of_choice(&mut self, [condition, yes, no]: [&Node; 3], truth: bool) -> Vec<Place> {
        let never = |node: &Node| matches!(node.kind, Kind::Const(Value::Bool(value)) if value != truth);
        match (never(yes), never(no)) {
            (_, true) => {
                let mut found = self.facts_of(condition, true);
                found.extend(self.facts_of(yes, truth));
                found
            }
            (true, _) => {
                let mut found = self.facts_of(condition, false);
                found.extend(self.facts_of(no, truth));
                found
            }
            _ => {
                let (a, b) =
                    (self.both_of(condition, true, yes, truth), self.both_of(condition, false, no, truth));
                in_both(a, &b)
            }
        }
    }

    fn both_of(&mut self, condition: &Node, holds: bool, branch: &Node, truth: bool) -> Vec<Place> {
        let mut found = self.facts_of(condition, holds);
        found.extend(self.facts_of(branch, truth));
        found
    }

    fn facts_of_variable(&mut self, name: &Str, truth: bool) -> Vec<Place> {
        let names = self.names;
        let Some(variable) = names.variables.get(name).filter(|_| !self.open.contains(name)) else {
            return Vec::new();
        };
        let scopes = std::mem::take(&mut self.scopes);
        self.open.push(name.clone());
        let found = self.facts_of(&variable.tree, truth);
        self.open.pop();
        self.scopes = scopes;
        found
    }

    /// A boolean with a default that is not the result.
    fn of_value(&mut self, node: &Node, truth: bool) -> Vec<Place> {
        match default_of(node) {
            Some((optional, Kind::Const(Value::Bool(default)))) if *default != truth => {
                self.of_optional(optional)
            }
            _ => Vec::new(),
        }
    }

    /// A value with a default that is nothing, of which something is found.
    pub(super) fn of_default(&mut self, node: &Node) -> Vec<Place> {
        match default_of(node) {
            Some((optional, default)) if is_empty(default) => self.of_optional(optional),
            _ => Vec::new(),
        }
    }

    /// A value with a default that is compared with a constant.
    fn of_comparison(&mut self, value: &Node, constant: &Node, equal: bool) -> Vec<Place> {
        let Kind::Const(constant) = &constant.kind else { return Vec::new() };
        if let Some((optional, Kind::Const(default))) = default_of(value) {
            return match default.json_eq(constant) {
                same if same != equal => self.of_optional(optional),
                _ => Vec::new(),
            };
        }
        if let (Value::Str(_), true) = (constant, equal)
            && let Some(mut place) = self.place_of(value)
            && matches!(place.pop(), Some(Step::Field(name)) if matches!(&*name, "type" | "kind"))
        {
            // What a type needs is there: an external Service has its name.
            place.push(Step::Fields);
            return vec![place];
        }
        match (constant, equal) {
            (Value::Bool(truth), equal) => self.facts_of(value, *truth == equal),
            (Value::Int(0), false) => self.of_size(value),
            (Value::Int(1..), true) => self.of_size(value),
            _ => Vec::new(),
        }
    }

    /// A size that is not zero.
    fn of_size(&mut self, node: &Node) -> Vec<Place> {
        let Kind::Call { function, target, args } = &node.kind else { return self.of_default_number(node) };
        match (&**function, target.as_deref(), args.as_slice()) {
            ("size", Some(list), []) | ("size", None, [list]) => self.of_default(list),
            _ => self.of_default_number(node),
        }
    }

    fn of_default_number(&mut self, node: &Node) -> Vec<Place> {
        match default_of(node) {
            Some((optional, Kind::Const(Value::Int(0)))) => self.of_optional(optional),
            _ => Vec::new(),
        }
    }

    /// Everything that an optional reads, if it holds something.
    fn of_optional(&mut self, node: &Node) -> Vec<Place> {
        let mut found = Vec::new();
        let mut node = node;
        loop {
            found.extend(self.place_of(node));
            node = match &node.kind {
                Kind::Call { function, target: None, args }
                    if matches!(&**function, "_?._" | "_[?_]" | "_[_]") =>
                {
                    match args.first() {
                        Some(operand) => operand,
                        None => return found,
                    }
                }
                Kind::Select { operand, test: false, .. } => operand,
                _ => return found,
            };
        }
    }

    fn of_fold(&mut self, fold: &Fold, truth: bool) -> Vec<Place> {
        let body = match (&fold.step.kind, fold.shape, truth) {
            (Kind::Call { args, .. }, Shape::All, true) | (Kind::Call { args, .. }, Shape::Exists, false) => {
                args.get(1)
            }
            // An item does not meet the condition: the list is not the empty one of its default.
            (_, Shape::All, false) => return self.of_default(&fold.range),
            (Kind::Call { args, .. }, Shape::Exists, true) => {
                // Something is found in a list that is not the empty one of its default.
                let mut found = self.of_default(&fold.range);
                let place = self.place_of(&fold.range);
                let mut keys = Vec::new();
                args.get(1).iter().for_each(|body| keys_of(body, &fold.var, &mut keys));
                found.extend(keys.into_iter().filter_map(|key| below(place.as_ref(), Step::Field(key))));
                return found;
            }
            _ => None,
        };
        let Some(body) = body else { return Vec::new() };
        let depth = self.scopes.len();
        let range = self.quietly(&fold.range);
        self.bind_items(fold, &range, 0);
        let found = self.facts_of(body, truth);
        self.scopes.truncate(depth);
        found
    }

    /// The place of a value; what is read there is reported where it is read.
    fn place_of(&mut self, node: &Node) -> Option<Place> {
        self.quietly(node).place
    }

    fn quietly(&mut self, node: &Node) -> super::value::ReadValue {
        let found = (self.reads.len(), self.unequal.len());
        let value = self.value(node);
        self.reads.truncate(found.0);
        self.unequal.truncate(found.1);
        value
    }
}

/// The keys to one of which a condition compares the variable of a loop: all that it can be.
fn keys_of(body: &Node, var: &Str, found: &mut Vec<Str>) {
    let Kind::Call { function, target: None, args } = &body.kind else { return };
    match (&**function, args.as_slice()) {
        ("_&&_", [left, right]) => {
            keys_of(left, var, found);
            keys_of(right, var, found);
        }
        ("_==_", [Node { kind: Kind::Ident(name), .. }, Node { kind: Kind::Const(Value::Str(key)), .. }])
        | ("_==_", [Node { kind: Kind::Const(Value::Str(key)), .. }, Node { kind: Kind::Ident(name), .. }])
            if name == var =>
        {
            found.push(key.clone());
        }
        _ => {}
    }
}

/// An optional and its default.
fn default_of(node: &Node) -> Option<(&Node, &Kind)> {
    match &node.kind {
        Kind::Call { function, target, args } if **function == *"orValue" => {
            match (target.as_deref(), args.as_slice()) {
                (Some(optional), [default]) | (None, [optional, default]) => Some((optional, &default.kind)),
                _ => None,
            }
        }
        _ => None,
    }
}

/// Whether a default is a text, list or map with nothing in it.
fn is_empty(default: &Kind) -> bool {
    match default {
        Kind::Const(Value::Str(text)) => text.is_empty(),
        Kind::List { items, .. } => items.is_empty(),
        Kind::Map(entries) => entries.is_empty(),
        _ => false,
    }
}

fn in_both(a: Vec<Place>, b: &[Place]) -> Vec<Place> {
    a.into_iter().filter(|place| b.iter().any(|other| covers(other, place))).collect()
}
