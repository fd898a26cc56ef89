//! What trees are built with. Macros stand as calls of their names, as they are written.

use ephor_value::Value;

use ephor_cel::ast::{Kind, Node};

/// A literal.
pub fn constant(value: impl Into<Value>) -> Node {
    Node::constant(0, value.into())
}

/// A text.
pub fn text(text: &str) -> Node {
    constant(Value::from(text))
}

/// A whole number.
pub fn int(n: i64) -> Node {
    constant(Value::Int(n))
}

/// A truth value.
pub fn boolean(b: bool) -> Node {
    constant(Value::Bool(b))
}

/// A name.
pub fn name(name: &str) -> Node {
    Node::ident(0, name)
}

/// A list.
pub fn list(items: Vec<Node>) -> Node {
    Node::new(0, Kind::List { items, optional: Vec::new() })
}

/// An object.
pub fn object(entries: Vec<(Node, Node)>) -> Node {
    let entry = |(key, value)| ephor_cel::ast::Entry { at: 0, key, value, optional: false };
    Node::new(0, Kind::Map(entries.into_iter().map(entry).collect()))
}

/// The text that a node is, if it is one.
pub fn as_text(node: &Node) -> Option<&str> {
    match &node.kind {
        Kind::Const(Value::Str(text)) => Some(text),
        _ => None,
    }
}

/// A list without items.
pub fn empty_list() -> Node {
    list(Vec::new())
}

/// An object without keys.
pub fn empty_object() -> Node {
    object(Vec::new())
}

/// A list of texts.
pub fn texts<'t>(items: impl IntoIterator<Item = &'t str>) -> Node {
    list(items.into_iter().map(text).collect())
}

/// `function(args)`
pub fn call(function: &str, args: Vec<Node>) -> Node {
    Node::call(0, function, args)
}

/// `target.function(args)`
pub fn method(target: Node, function: &str, args: Vec<Node>) -> Node {
    Node::method(0, function, target, args)
}

/// `target.function()`
pub fn getter(target: Node, function: &str) -> Node {
    method(target, function, Vec::new())
}

/// `target.size()`
pub fn size(target: Node) -> Node {
    getter(target, "size")
}

/// `optional.of(value)`
pub fn optional_of(value: Node) -> Node {
    method(name("optional"), "of", vec![value])
}

/// `optional.none()`
pub fn optional_none() -> Node {
    getter(name("optional"), "none")
}

/// `left op right`, by the operator as it is written.
pub fn binary(operator: &str, left: Node, right: Node) -> Node {
    let function = if operator == "in" { "@in".to_string() } else { format!("_{operator}_") };
    call(&function, vec![left, right])
}

/// `left == right`
pub fn equals(left: Node, right: Node) -> Node {
    binary("==", left, right)
}

/// Whether a value is a truth value; the value itself where it can be nothing else.
pub fn is(value: Node, b: bool) -> Node {
    match (is_test(&value), b) {
        (true, true) => value,
        (true, false) => not(value),
        (false, b) => equals(value, boolean(b)),
    }
}

/// Whether an expression can be nothing but a truth value.
fn is_test(node: &Node) -> bool {
    match &node.kind {
        Kind::Const(Value::Bool(_)) | Kind::Select { test: true, .. } => true,
        Kind::Call { function, target: None, args } if &**function == "_?_:_" => {
            args.get(1..).is_some_and(|both| both.iter().all(is_test))
        }
        Kind::Call { function, target: None, .. } => matches!(
            &**function,
            "_==_" | "_!=_" | "_<_" | "_<=_" | "_>_" | "_>=_" | "@in" | "!_" | "_&&_" | "_||_" | "isQuantity"
        ),
        Kind::Call { function, target: Some(_), .. } => matches!(
            &**function,
            "startsWith"
                | "endsWith"
                | "contains"
                | "matches"
                | "exists"
                | "all"
                | "hasValue"
                | "isLessThan"
                | "isGreaterThan"
        ),
        _ => false,
    }
}

/// Whether a name can be a field behind a dot.
pub fn is_field(name: &str) -> bool {
    let mut chars = name.chars();
    let is_word = chars.next().is_some_and(|c| c.is_ascii_alphabetic() || c == '_')
        && chars.all(|c| c.is_ascii_alphanumeric() || c == '_');
    is_word && !matches!(name, "in" | "true" | "false" | "null")
}

/// `base.field`, or `base['field']` for what cannot stand behind a dot.
pub fn select(base: Node, field: &str) -> Node {
    match is_field(field) {
        true => Node::new(0, Kind::Select { operand: Box::new(base), field: field.into(), test: false }),
        false => call("_[_]", vec![base, text(field)]),
    }
}

/// `base.?field`, or `base[?'field']`.
pub fn select_optional(base: Node, field: &str) -> Node {
    let function = if is_field(field) { "_?._" } else { "_[?_]" };
    call(function, vec![base, text(field)])
}

/// `base[index]`
pub fn index(base: Node, index: Node) -> Node {
    call("_[_]", vec![base, index])
}

/// `has(base.field)`, or `'field' in base`.
pub fn has(base: Node, field: &str) -> Node {
    match is_field(field) {
        true => Node::new(0, Kind::Select { operand: Box::new(base), field: field.into(), test: true }),
        false => binary("in", text(field), base),
    }
}

/// The value in `optional.of(value)`.
pub fn held(optional: &Node) -> Option<Node> {
    match on(optional, "of")? {
        (target, [value]) if is_name(target, "optional") => Some(value.clone()),
        _ => None,
    }
}

/// The receiver and the arguments of a call of a method.
pub fn on<'n>(node: &'n Node, function: &str) -> Option<(&'n Node, &'n [Node])> {
    match &node.kind {
        Kind::Call { function: own, target: Some(target), args } if **own == *function => {
            Some((target, args))
        }
        _ => None,
    }
}

/// Whether an expression is a name.
pub fn is_name(node: &Node, name: &str) -> bool {
    node.as_ident().is_some_and(|own| **own == *name)
}

/// `optional.orValue(default)`
pub fn or_value(optional: Node, default: Node) -> Node {
    if let Some(value) = held(&optional) {
        return value;
    }
    method(optional, "orValue", vec![default])
}

/// `range.name(var, body)`
pub fn over(range: Node, macro_name: &str, var: &str, body: Node) -> Node {
    method(range, macro_name, vec![name(var), body])
}

/// `condition ? then : other`
pub fn choose(condition: Node, then: Node, other: Node) -> Node {
    match (constant_bool(&condition), constant_bool(&then), constant_bool(&other)) {
        (Some(true), ..) => then,
        (Some(false), ..) => other,
        (None, Some(true), Some(false)) if is_test(&condition) => condition,
        (None, Some(false), Some(true)) => not(condition),
        _ => call("_?_:_", vec![condition, then, other]),
    }
}

/// The truth value that a node is, if it is one.
pub fn constant_bool(node: &Node) -> Option<bool> {
    match &node.kind {
        Kind::Const(Value::Bool(b)) => Some(*b),
        _ => None,
    }
}

/// The operands of a call of an operator.
pub fn operands<'n>(node: &'n Node, function: &str) -> Option<&'n [Node]> {
    match &node.kind {
        Kind::Call { function: own, target: None, args } if **own == *function => Some(args),
        _ => None,
    }
}

/// The negation, moved inside where that is as short.
pub fn not(node: Node) -> Node {
    let opposite = |function: &str| {
        Some(match function {
            "_==_" => "_!=_",
            "_!=_" => "_==_",
            _ => return None,
        })
    };
    match node.kind {
        Kind::Const(Value::Bool(b)) => boolean(!b),
        Kind::Call { function, target: None, mut args } => match (&*function, opposite(&function)) {
            ("!_", _) if args.len() == 1 => args.remove(0),
            // A list that has no items has none.
            ("_>_", _) if is_some_size(&args) => call("_==_", args),
            ("_==_", _) if is_some_size(&args) => call("_>_", args),
            // Sizes are whole numbers.
            ("_>_", _) if is_size(&args) => call("_<=_", args),
            ("_<_", _) if is_size(&args) => call("_>=_", args),
            ("_>=_", _) if is_size(&args) => call("_<_", args),
            ("_<=_", _) if is_size(&args) => call("_>_", args),
            (_, Some(other)) => call(other, args),
            ("_&&_" | "_||_", _) if args.iter().all(|arg| is_negated(arg) || chain(arg)) => {
                let other = if &*function == "_&&_" { "_||_" } else { "_&&_" };
                call(other, args.into_iter().map(not).collect())
            }
            _ => call("!_", vec![call(&function, args)]),
        },
        // No item is such: every item is not such.
        Kind::Call { function, target: Some(target), mut args }
            if matches!(&*function, "exists" | "all") && args.last().is_some_and(is_shorter_negated) =>
        {
            let other = if &*function == "exists" { "all" } else { "exists" };
            let body = args.pop().map(not);
            args.extend(body);
            method(*target, other, args)
        }
        kind => call("!_", vec![Node::new(0, kind)]),
    }
}

/// Whether a size is compared with zero.
fn is_some_size(args: &[Node]) -> bool {
    is_size(args) && args.last().is_some_and(|right| matches!(right.kind, Kind::Const(Value::Int(0))))
}

/// Whether a size is compared with a number.
fn is_size(args: &[Node]) -> bool {
    let [Node { kind: Kind::Call { function, target: Some(_), .. }, .. }, right] = args else { return false };
    **function == *"size" && matches!(right.kind, Kind::Const(Value::Int(_)))
}

/// Whether a node is a negation that goes away, or a comparison that turns.
fn is_shorter_negated(node: &Node) -> bool {
    if is_negated(node) || chain(node) {
        return true;
    }
    match &node.kind {
        Kind::Call { function, target: Some(_), args } => {
            matches!(&**function, "exists" | "all") && args.last().is_some_and(is_shorter_negated)
        }
        _ => false,
    }
}

/// Whether the negation of a node is not longer.
fn is_negated(node: &Node) -> bool {
    ["!_", "_!=_", "_==_"].iter().any(|function| operands(node, function).is_some())
        || ["_>_", "_<_", "_>=_", "_<=_"].iter().any(|f| operands(node, f).is_some_and(is_size))
}

fn chain(node: &Node) -> bool {
    ["_&&_", "_||_"].iter().any(|f| operands(node, f).is_some_and(|args| args.iter().all(is_negated)))
}

/// All of the terms, none of which fails.
pub fn all_safe(terms: Vec<Node>) -> Node {
    if terms.iter().any(|term| constant_bool(term) == Some(false)) { boolean(false) } else { all(terms) }
}

/// One of the terms, none of which fails.
pub fn any_safe(terms: Vec<Node>) -> Node {
    if terms.iter().any(|term| constant_bool(term) == Some(true)) { boolean(true) } else { any(terms) }
}

/// All of the terms.
pub fn all(terms: Vec<Node>) -> Node {
    joined("_&&_", true, terms)
}

/// One of the terms.
pub fn any(terms: Vec<Node>) -> Node {
    joined("_||_", false, terms)
}

/// `unit`: what no terms are; its opposite decides.
fn joined(function: &str, unit: bool, terms: Vec<Node>) -> Node {
    let mut flat: Vec<Node> = terms.into_iter().flat_map(|term| flatten(function, term)).collect();
    // Whatever the others are, and whether or not they fail.
    if flat.iter().any(|term| constant_bool(term) == Some(!unit)) {
        return boolean(!unit);
    }
    if !unit {
        flat = without_known_keys(flat);
    }
    let mut terms: Vec<Node> = Vec::new();
    let mut known: Vec<String> = Vec::new();
    for term in flat.into_iter().filter(|term| constant_bool(term) != Some(unit)) {
        let written = super::print(&term, usize::MAX);
        if !known.contains(&written) {
            known.push(written);
            terms.push(term);
        }
    }
    balanced(function, &mut terms).unwrap_or_else(|| boolean(unit))
}

/// Alternatives, of which those behind `!has(value.key)` need not look for the key again.
fn without_known_keys(terms: Vec<Node>) -> Vec<Node> {
    let mut known: Vec<String> = Vec::new();
    let mut out = Vec::new();
    for term in terms {
        let mut parts = flatten("_&&_", term);
        // Whether a key of a variable is there never fails.
        if let [only] = &parts[..]
            && let Some([inner]) = operands(only, "!_")
            && matches!(&inner.kind, Kind::Select { operand, test: true, .. } if operand.as_ident().is_some())
        {
            known.push(super::print(inner, usize::MAX));
        }
        if parts.len() > 1 && !known.is_empty() {
            parts.retain(|part| !known.contains(&super::print(part, usize::MAX)));
        }
        out.push(balanced("_&&_", &mut parts).unwrap_or_else(|| boolean(true)));
    }
    out
}

/// The terms of a chain.
pub fn flatten(function: &str, node: Node) -> Vec<Node> {
    match node.kind {
        Kind::Call { function: own, target: None, args } if *own == *function => {
            args.into_iter().flat_map(|arg| flatten(function, arg)).collect()
        }
        kind => vec![Node::new(0, kind)],
    }
}

/// A chain as the parser builds it.
fn balanced(function: &str, terms: &mut Vec<Node>) -> Option<Node> {
    if terms.len() < 2 {
        return terms.pop();
    }
    let mut right = terms.split_off((terms.len() - 1) / 2 + 1);
    let (left, right) = (balanced(function, terms)?, balanced(function, &mut right)?);
    Some(call(function, vec![left, right]))
}
