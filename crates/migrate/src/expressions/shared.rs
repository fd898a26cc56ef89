//! Expressions that others share.
//!
//! In: the expressions of a rule. Out: the same, where what is long and occurs several times stands
//! under a name of its own; and the walks over trees that this needs.

use crate::cel::build::is_name;
use ephor_value::{Str, Value};

use super::scope::Shared;
use crate::cel::build::select;
use crate::cel::macros::variables;
use crate::cel::walk::{children, map_children};
use crate::cel::{build, print};
use crate::expressions::shared;
use crate::model::names::numbered;
use ephor_cel::ast::{Kind, Node};

/// Shorter expressions stand where they are read, unless they are read often.
pub const LONG: usize = 60;

/// Those stand there however often they are read.
const SHORT: usize = 45;

/// Gives names to long expressions that occur several times and read no item of a loop.
pub fn share_repeated(all_of: &mut [Node], shared: &mut Vec<Shared>) {
    for _ in 0..8 {
        let mut found: Vec<(String, Node, usize)> = Vec::new();
        for node in all_of.iter() {
            closed(node, &mut Vec::new(), &mut |node| {
                let written = print(node, usize::MAX);
                if written.len() <= SHORT {
                    return;
                }
                match found.iter_mut().find(|(known, ..)| *known == written) {
                    Some((.., count)) => *count += 1,
                    None => found.push((written, node.clone(), 1)),
                }
            });
        }
        let is_often =
            |(written, _, count): &(String, Node, usize)| *count > if written.len() > LONG { 1 } else { 3 };
        let longest = found.into_iter().filter(is_often).max_by_key(|(written, ..)| written.len());
        let Some((written, node, _)) = longest else { return };
        let wanted = shared::as_name(&label(&node));
        let is_taken = |name: &str| shared.iter().any(|one| *one.name == *name);
        let name = numbered(&wanted, "", is_taken);
        let read = select(build::name("variables"), &name);
        for other in all_of.iter_mut() {
            *other = mapped(other, &|part| (print(part, usize::MAX) == written).then(|| read.clone()));
        }
        shared.push(Shared { name: name.into(), node, keep: true });
    }
}

/// What an expression is called: its last key, or the function that makes it.
fn label(node: &Node) -> String {
    match &node.kind {
        Kind::Select { field, .. } => field.to_string(),
        Kind::Call { function, target: Some(target), args } => match &**function {
            "filter" | "map" | "flatten" | "orValue" | "size" | "value" | "hasValue" | "startsWith"
            | "endsWith" | "matches" => label(target),
            "sum" => "total".into(),
            "min" if args.is_empty() => "least".into(),
            "max" if args.is_empty() => "largest".into(),
            "of" => args.first().map_or_else(|| label(target), label),
            // A statement about the items of a list: the list, and the field.
            "all" | "exists" => match &args[..] {
                [_, body] => format!("{}{}", label(target), capitalized(&label(body))),
                _ => label(target),
            },
            _ if args.is_empty() => label(target),
            other => other.to_string(),
        },
        Kind::Call { function, args, .. } => match (&**function, &args[..]) {
            ("_?._" | "_[?_]" | "_[_]", [operand, key]) => match &key.kind {
                Kind::Const(Value::Str(key)) => key.rsplit('/').next().unwrap_or_default().to_string(),
                _ => label(operand),
            },
            ("_?_:_", [_, then, _]) => label(then),
            (_, [first, ..]) => label(first),
            _ => "value".into(),
        },
        _ => "value".into(),
    }
}

/// A name with a capital letter, as one that follows another one.
pub fn capitalized(name: &str) -> String {
    let mut letters = name.chars();
    letters.next().map(|first| first.to_ascii_uppercase()).into_iter().chain(letters).collect()
}

/// Calls `f` with every part that reads no variable of a loop around it, except the whole.
fn closed(node: &Node, bound: &mut Vec<Str>, f: &mut dyn FnMut(&Node)) {
    match &node.kind {
        Kind::Call { function, target: Some(target), args } if variables(function, args) > 0 => {
            visit(target, bound, f);
            let (vars, bodies) = args.split_at(variables(function, args).min(args.len()));
            let before = bound.len();
            bound.extend(vars.iter().filter_map(Node::as_ident).cloned());
            bodies.iter().for_each(|body| visit(body, bound, f));
            bound.truncate(before);
        }
        _ => children(node, &mut |child| visit(child, bound, f)),
    }
}

fn visit(node: &Node, bound: &mut Vec<Str>, f: &mut dyn FnMut(&Node)) {
    let is_value = !matches!(node.kind, Kind::Const(_) | Kind::List { .. } | Kind::Ident(_));
    if is_value && !bound.iter().any(|var| node.mentions(var)) {
        f(node);
    }
    closed(node, bound, f);
}

pub fn is_variable(node: &Node, own: &str) -> bool {
    match &node.kind {
        Kind::Select { operand, field, test: false } => **field == *own && is_name(operand, "variables"),
        _ => false,
    }
}

pub fn reads(node: &Node, own: &str, shared: &[Shared]) -> bool {
    occurrences(node, own) > 0
        || shared.iter().any(|other| {
            *other.name != *own && occurrences(node, &other.name) > 0 && occurrences(&other.node, own) > 0
        })
}

/// How often a variable is read.
pub fn occurrences(node: &Node, own: &str) -> usize {
    if is_variable(node, own) {
        return 1;
    }
    let mut sum = 0;
    children(node, &mut |child| sum += occurrences(child, own));
    sum
}

/// The tree with an expression in the place of a variable.
pub fn replaced(node: &Node, own: &str, by: &Node) -> Node {
    mapped(node, &|node| is_variable(node, own).then(|| by.clone()))
}

/// The tree with other nodes where `f` has some.
pub fn mapped(node: &Node, f: &dyn Fn(&Node) -> Option<Node>) -> Node {
    f(node).unwrap_or_else(|| map_children(node, &|child| mapped(child, f)))
}

/// A name that a variable can have.
pub fn as_name(own: &str) -> String {
    let mut out: String =
        own.chars().map(|c| if c.is_ascii_alphanumeric() || c == '_' { c } else { '_' }).collect();
    if out.chars().next().is_none_or(|c| c.is_ascii_digit()) {
        out.insert(0, '_');
    }
    out
}
