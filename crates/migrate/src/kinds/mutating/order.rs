//! Operations in an order in which each reads the object as it was.
//!
//! In: the operations of a patch, with the paths that they write and the expressions that their
//! variables became. Out: the operations, where one that reads what another one writes comes before
//! it. There the variables of a rule are filled in before the first operation; here each mutation
//! sees what those before it did. Semantics: `docs/semantics/mutate.md`, "Order".

use crate::cel::walk::children;
use ephor_value::Value;

use ephor_cel::ast::{Kind, Node};

/// An operation.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OrderedOperation {
    /// Its expression.
    pub text: String,
    /// The paths of the object that its variables read, as keys.
    pub reads: Vec<Vec<String>>,
    /// The paths that it changes or moves, as keys.
    pub writes: Vec<Vec<String>>,
}

/// The operations, each before those that write what it reads; none where there is no such order.
pub fn ordered(mut steps: Vec<OrderedOperation>) -> Option<Vec<String>> {
    let mut at = 1;
    while at < steps.len() {
        let (before, rest) = steps.split_at(at);
        let Some(own) = rest.first() else { break };
        if let Some(first) = before.iter().position(|other| meet(&own.reads, &other.writes)) {
            let passed = before.get(first..).unwrap_or_default();
            if passed.iter().any(|other| meet(&own.writes, &other.writes) || meet(&other.reads, &own.writes))
            {
                return None;
            }
            if let Some(moved) = steps.get_mut(first..=at) {
                moved.rotate_right(1);
            }
        }
        at += 1;
    }
    Some(steps.into_iter().map(|step| step.text).collect())
}

fn meet(some: &[Vec<String>], others: &[Vec<String>]) -> bool {
    some.iter().any(|a| others.iter().any(|b| a.iter().zip(b).all(|(a, b)| a == b)))
}

/// The keys of a path up to the first that is no key of an object: a position, or a variable.
pub fn keys(path: &str) -> Vec<String> {
    let is_key = |key: &&str| *key != "-" && key.parse::<i64>().is_err() && !key.contains("{{");
    let named = path.split('/').skip(1).take_while(is_key);
    named.map(|key| key.replace("~1", "/").replace("~0", "~")).collect()
}

/// The paths of the object that an expression reads; everything, where it cannot be parsed.
pub fn read_by(expression: &str) -> Vec<Vec<String>> {
    let syntax = ephor_cel::library::general("").syntax;
    let mut out = Vec::new();
    match ephor_cel::syntax::parse(expression, syntax) {
        Ok(node) => collect(&node, &mut out),
        Err(_) => out.push(Vec::new()),
    }
    out
}

fn collect(node: &Node, out: &mut Vec<Vec<String>>) {
    match path_of(node) {
        Some(keys) => out.push(keys),
        None => children(node, &mut |child| collect(child, out)),
    }
}

/// The keys of a path of the object.
fn path_of(node: &Node) -> Option<Vec<String>> {
    let (base, key) = match &node.kind {
        Kind::Ident(name) => return (**name == *"object").then(Vec::new),
        Kind::Select { operand, field, .. } => (&**operand, field),
        Kind::Call { function, target: None, args } => match (&**function, &args[..]) {
            ("_?._" | "_[_]" | "_[?_]", [base, Node { kind: Kind::Const(Value::Str(key)), .. }]) => {
                (base, key)
            }
            _ => return None,
        },
        _ => return None,
    };
    let mut keys = path_of(base)?;
    keys.push(key.to_string());
    Some(keys)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn step(text: &str, read: &str, path: &str) -> OrderedOperation {
        OrderedOperation { text: text.into(), reads: read_by(read), writes: vec![keys(path)] }
    }

    #[test]
    fn what_reads_comes_before_what_writes() {
        let steps = [
            step("a", "'x'", "/spec/schedule"),
            step("b", "'y'", "/spec/other"),
            step("c", "object.?spec.schedule + 'z'", "/metadata/annotations/a~1b"),
        ];
        assert_eq!(ordered(steps.to_vec()), Some(["c", "a", "b"].map(String::from).to_vec()));
    }

    #[test]
    fn others_stay_where_they_are() {
        let steps = [step("a", "object.spec.x", "/spec/y"), step("b", "object.spec.z", "/spec/x")];
        assert_eq!(ordered(steps.to_vec()), Some(["a", "b"].map(String::from).to_vec()));
    }

    #[test]
    fn what_reads_from_each_other_has_no_order() {
        let steps = [step("a", "object.spec.x", "/spec/y"), step("b", "object.spec['y']", "/spec/x")];
        assert_eq!(ordered(steps.to_vec()), None);
    }
}
