//! Arithmetic: of numbers, and of quantities as numbers of thousandths.
//!
//! In: the arguments of `add`, `subtract`, `multiply`, `divide`, `modulo` and `sum`. Out: a number,
//! or a quantity counted in thousandths (`Ty::Thousandths`): no function of CEL adds up a list of
//! quantities or multiplies one. An API server rounds the amounts of resources up to whole
//! thousandths, so the count is exact; what depends on finer parts is refused. What JMESPath
//! refuses fails in CEL as well: a value that is missing or null, a divisor that is zero, the sum
//! of no items. Semantics: `docs/expressions/functions.md`.

use ephor_value::Value;
use ephor_value::quantity::Quantity;

use crate::cel::build::{
    all, binary, call as function, choose, constant, equals, getter, index, int, is_name, method, name, on,
    operands, over, size, text,
};
use crate::expressions::refusal::Result;
use crate::expressions::scope::Scope;
use crate::expressions::term::{Faults, Val, there, together};
use crate::expressions::translate::forms::{plain, truthy, ty_of};
use crate::expressions::translate::functions::collections::{built_with, strict_source};
use crate::expressions::translate::functions::{number, strict};
use crate::expressions::translate::lists::{built, is_list};
use crate::expressions::types::Ty;
use ephor_cel::ast::{Kind, Node};

/// Among faults: a divisor may be zero.
const BY_ZERO: &str = "?division by zero";
/// Among faults: a list may have no items.
const NO_ITEMS: &str = "?a sum of no items";
/// Among faults: a value may be a text.
const NO_NUMBER: &str = "?a number that is a text";

/// What a value is for arithmetic.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Amount {
    /// A whole number.
    Whole,
    /// A number, a double in CEL.
    Real,
    /// A quantity of whole thousandths.
    Quantity,
    /// A whole number, or a text with which arithmetic fails.
    Either,
    /// Nothing is known.
    Unknown,
}

fn amount(val: &Val) -> Amount {
    match (val, ty_of(val)) {
        (Val::Const(Value::Str(s)), _) if thousandths_of(s).is_some() => Amount::Quantity,
        (_, Ty::Int) => Amount::Whole,
        (_, Ty::Double) => Amount::Real,
        (_, Ty::Quantity | Ty::Thousandths) => Amount::Quantity,
        // A number of an object is whole; what is read from elsewhere may be a double.
        (Val::Path(path), Ty::IntOrText) if path.faults.is_empty() => Amount::Either,
        (Val::Or(sides), _) if amount(&sides[0]) == Amount::Quantity => amount(&sides[1]),
        _ => Amount::Unknown,
    }
}

/// The thousandths of a written quantity, where it has no finer parts.
pub fn thousandths_of(written: &str) -> Option<f64> {
    let nanos = Quantity::parse(written)?.nanos()?;
    let thousandths = (nanos % 1_000_000 == 0).then_some(nanos / 1_000_000)?;
    // Those that a double counts exactly.
    (thousandths.abs() < 1 << 53).then_some(thousandths as f64)
}

/// A quantity of CEL counted in thousandths.
fn counted(quantity: Node) -> Node {
    let units = getter(quantity, "asApproximateFloat");
    method(name("math"), "round", vec![binary("*", units, real_constant(1000.0))])
}

/// How many thousandths the quantity of a text is.
pub fn thousandths_in(text: Node) -> Node {
    counted(function("quantity", vec![text]))
}

/// A quantity, counted in thousandths.
pub fn thousandths(val: &Val, scope: &mut Scope<'_>) -> Result<(Node, Faults)> {
    match val {
        Val::Node { node, ty: Ty::Thousandths, faults } => Ok((node.clone(), faults.clone())),
        Val::Const(Value::Str(s)) if let Some(n) = thousandths_of(s) => Ok((real_constant(n), Faults::new())),
        val => {
            let (node, faults) = plain(&strict(val), scope)?;
            Ok((thousandths_in(function("string", vec![node])), faults))
        }
    }
}

fn real_constant(n: f64) -> Node {
    constant(Value::Float(n))
}

/// A whole number: one of an object may be a double, to which no whole number can be added.
fn whole(val: &Val, node: Node) -> Node {
    match val {
        Val::Const(_) | Val::Count(_) => node,
        // A text is no number, even if it looks like one: no number is in an empty one.
        val if amount(val) == Amount::Either => {
            let is_text = equals(function("type", vec![node.clone()]), name("string"));
            function("int", vec![choose(is_text, text(""), node)])
        }
        Val::Node { node: own, .. } if matches!(&own.kind, Kind::Call { function, .. } if **function == *"size") => {
            node
        }
        _ => function("int", vec![node]),
    }
}

/// A number as a double: one of an object may be a whole number.
fn real(val: &Val, node: Node) -> Node {
    match val {
        Val::Const(c) => c.as_number().map_or(node, real_constant),
        // What a text is read as, and what is computed, is a double already.
        Val::Node { ty: Ty::Double, .. } | Val::Optional { ty: Ty::Double, .. } if is_computed(&node) => node,
        _ => function("double", vec![node]),
    }
}

fn is_computed(node: &Node) -> bool {
    match &node.kind {
        Kind::Call { function, target: None, args } => match &**function {
            "double" | "_+_" | "_-_" | "_*_" | "_/_" => true,
            "_?_:_" => args.iter().skip(1).all(is_computed),
            _ => false,
        },
        Kind::Call { function, target: Some(target), .. } => match &**function {
            "value" => is_read(target),
            "of" => true,
            "round" | "sum" => true,
            _ => false,
        },
        Kind::Const(Value::Float(_)) => true,
        _ => false,
    }
}

/// Whether an optional is a number that a text is read as.
fn is_read(optional: &Node) -> bool {
    match &optional.kind {
        Kind::Select { operand, test: false, .. } => is_name(operand, "variables"),
        Kind::Call { function, target: None, .. } => **function == *"_?_:_",
        _ => false,
    }
}

/// A constant whole number.
fn whole_number(val: &Val) -> Option<i64> {
    match val {
        Val::Const(Value::Int(n)) => Some(*n),
        Val::Const(Value::Float(f)) if f.fract() == 0.0 && f.abs() < 9e15 => Some(*f as i64),
        _ => None,
    }
}

/// `add`, `subtract`, `multiply`, `divide` and `modulo`.
///
/// # Errors
/// What the values are is not known, or CEL computes something else.
pub(crate) fn arithmetic(own: &str, a: &Val, b: &Val, scope: &mut Scope<'_>) -> Result<Val> {
    let sign = match own {
        "add" => "+",
        "subtract" => "-",
        "multiply" => "*",
        "divide" => "/",
        _ => "%",
    };
    let is_sum = matches!(own, "add" | "subtract");
    let (of_a, of_b) = (amount(a), amount(b));
    match (of_a, of_b) {
        (Amount::Whole, Amount::Whole) if own != "divide" => {
            let (x, y, faults) = both(a, b, scope)?;
            Ok(number(binary(sign, whole(a, x), whole(b, y)), faults))
        }
        (Amount::Whole | Amount::Either, Amount::Whole | Amount::Either) if is_sum => {
            let (x, y, mut faults) = both(a, b, scope)?;
            faults.insert(NO_NUMBER.into());
            Ok(number(binary(sign, whole(a, x), whole(b, y)), faults))
        }
        (Amount::Whole | Amount::Real, Amount::Whole | Amount::Real) if own == "divide" => {
            let (x, y, mut faults) = both(a, b, scope)?;
            let quotient = binary("/", real(a, x), real(b, y.clone()));
            let node = match whole_number(b) {
                Some(n) if n != 0 => quotient,
                _ => {
                    faults.insert(BY_ZERO.into());
                    unless_zero(b, y, quotient)
                }
            };
            Ok(Val::Node { node, ty: Ty::Double, faults })
        }
        (Amount::Whole | Amount::Real, Amount::Whole | Amount::Real) if own != "modulo" => {
            let (x, y, faults) = both(a, b, scope)?;
            Ok(Val::Node { node: binary(sign, real(a, x), real(b, y)), ty: Ty::Double, faults })
        }
        (Amount::Quantity, Amount::Quantity) if own == "divide" && is_plain(a) && is_plain(b) => {
            quotient(a, b, scope)
        }
        (Amount::Quantity, Amount::Quantity) if is_sum => {
            scope.needs_kyverno("a sum of quantities")?;
            let (x, y, faults) = together(thousandths(a, scope)?, thousandths(b, scope)?);
            Ok(Val::Node { node: binary(sign, x, y), ty: Ty::Thousandths, faults })
        }
        (Amount::Quantity, Amount::Whole) if own == "multiply" => multiple(a, b, scope),
        (Amount::Whole, Amount::Quantity) if own == "multiply" => multiple(b, a, scope),
        _ => Err(scope.refuse(format!("function {own} of such values"), "compare the values")),
    }
}

/// Both values as expressions.
fn both(a: &Val, b: &Val, scope: &mut Scope<'_>) -> Result<(Node, Node, Faults)> {
    Ok(together(plain(&strict(a), scope)?, plain(&strict(b), scope)?))
}

/// A quotient; by zero there is none, where a double would be infinite.
fn unless_zero(by: &Val, node: Node, quotient: Node) -> Node {
    let is_zero = match amount(by) {
        Amount::Real => equals(real(by, node.clone()), real_constant(0.0)),
        _ => equals(node.clone(), int(0)),
    };
    let failure = binary("/", int(1), whole(by, node));
    choose(is_zero, function("double", vec![failure]), quotient)
}

/// A quantity this many times.
fn multiple(quantity: &Val, times: &Val, scope: &mut Scope<'_>) -> Result<Val> {
    scope.needs_kyverno("a multiple of a quantity")?;
    let (x, y, faults) = together(thousandths(quantity, scope)?, plain(&strict(times), scope)?);
    Ok(Val::Node { node: binary("*", x, real(times, y)), ty: Ty::Thousandths, faults })
}

/// Whether a quantity is as it was written, of which a quotient is computed as the old function
/// does.
fn is_plain(val: &Val) -> bool {
    ty_of(val) != Ty::Thousandths
}

/// The quotient of quantities is a number; by zero there is none.
fn quotient(a: &Val, b: &Val, scope: &mut Scope<'_>) -> Result<Val> {
    let of = |node: Node| function("quantity", vec![function("string", vec![node])]);
    let (x, y, mut faults) = together(plain(a, scope)?, plain(b, scope)?);
    let number = |node: Node| getter(of(node), "asApproximateFloat");
    let sign = function("sign", vec![of(y.clone())]);
    let is_zero = equals(sign.clone(), int(0));
    let failure = function("double", vec![binary("/", int(1), sign)]);
    let node = choose(is_zero, failure, binary("/", number(x), number(y)));
    faults.insert(BY_ZERO.into());
    Ok(Val::Node { node, ty: Ty::Double, faults })
}

/// Whether a list is one of quantities.
fn has_quantities(of: &Val) -> bool {
    match of {
        Val::Or(sides) => has_quantities(&sides[0]) && (sides[1].is_empty() || has_quantities(&sides[1])),
        Val::Const(Value::List(items)) => {
            !items.is_empty() && items.iter().all(|v| v.as_str().is_some_and(|s| thousandths_of(s).is_some()))
        }
        of => ty_of(of).item() == Ty::Quantity,
    }
}

/// The thousandths of all quantities of a list.
fn total(of: &Val, scope: &mut Scope<'_>) -> Result<(Node, Faults)> {
    if let Val::Const(Value::List(items)) = of {
        let amounts = items.iter().filter_map(Value::as_str).filter_map(thousandths_of);
        return Ok((real_constant(amounts.sum()), Faults::new()));
    }
    if let Val::Or(sides) = of
        && let [left, right] = &**sides
        && !right.is_empty()
    {
        let there = truthy(left, scope)?;
        let (items, mut faults) = built(&left.clone().rescued(), scope)?;
        let (other, more) = total(right, scope)?;
        faults.extend(there.faults.into_iter().chain(more));
        let own = getter(amounts(items, scope), "sum");
        return Ok((choose(there.node, own, other), faults));
    }
    let (items, mut faults) = built(&strict_source(of), scope)?;
    faults.insert(NO_ITEMS.into());
    let amounts = amounts(items, scope);
    // Of no items there is no sum: the first one is missing.
    let is_some = binary(">", size(amounts.clone()), int(0));
    let node = choose(is_some, getter(amounts.clone(), "sum"), index(amounts, int(0)));
    Ok((node, faults))
}

/// The thousandths of each quantity of a list; of one that is built item by item in the same loop.
fn amounts(items: Node, scope: &mut Scope<'_>) -> Node {
    let of = |node: Node| thousandths_in(function("string", vec![node]));
    if let Some((range, [var, body])) = on(&items, "map")
        && let Some(var) = var.as_ident()
    {
        return over(range.clone(), "map", var, of(body.clone()));
    }
    let var = scope.unused("amount");
    over(items, "map", &var, of(name(&var)))
}

/// `sum` of a list.
///
/// # Errors
/// Its items may be no amounts.
pub(crate) fn sum(of: &Val, scope: &mut Scope<'_>) -> Result<Val> {
    let refused = "function sum of what may be no numbers";
    if !is_list(of) {
        return Err(scope.refuse(refused, "compare each item"));
    }
    if has_quantities(of) {
        scope.needs_kyverno("a sum of quantities")?;
        let (node, faults) = total(of, scope)?;
        return Ok(Val::Node { node, ty: Ty::Thousandths, faults });
    }
    match ty_of(of).item() {
        item @ (Ty::Int | Ty::Double) => built_with("sum", of, item, scope),
        // Such as sizes of layers; with a default of another type nothing is known, either.
        Ty::Any if !matches!(of, Val::Or(_)) => built_with("sum", of, Ty::Any, scope),
        _ => Err(scope.refuse(refused, "compare each item")),
    }
}

/// `min` and `max` of a list: null where it has no items.
///
/// # Errors
/// Its items may be no numbers and no texts.
pub(crate) fn extreme(own: &str, of: &Val, scope: &mut Scope<'_>) -> Result<Val> {
    let item = ty_of(of).item();
    let is_known = match &item {
        Ty::Int | Ty::Double | Ty::Text => true,
        // With a default of another type nothing is known.
        Ty::Any => !matches!(of, Val::Or(_)),
        _ => false,
    };
    if !is_known {
        return Err(scope.refuse(format!("function {own} of what may be no numbers"), "compare each item"));
    }
    let (items, faults) = built(&strict_source(of), scope)?;
    let found = getter(items.clone(), own);
    if matches!(of, Val::Or(sides) if !sides[1].is_empty()) {
        return Ok(Val::Node { node: found, ty: item, faults });
    }
    let optional = |function: &str, args| method(name("optional"), function, args);
    let is_some = binary(">", size(items), int(0));
    let node = choose(is_some, optional("of", vec![found]), optional("none", Vec::new()));
    Ok(Val::Optional { node, ty: item, faults, rescued: None })
}

/// What a quotient is where its divisor is not zero, and whether it is zero; none where it fails
/// for something else, too.
pub fn unfailing<'n>(node: &'n Node, faults: &Faults) -> Option<(&'n Node, &'n Node)> {
    let is_alone = faults.len() == 1 && faults.contains(BY_ZERO);
    match operands(node, "_?_:_").filter(|_| is_alone)? {
        [is_zero, _, quotient] => Some((is_zero, quotient)),
        _ => None,
    }
}

/// A computed quantity, or the default where it is missing or the sum of no items.
///
/// # Errors
/// The default is no quantity, or it stands for what no expression sees.
pub fn with_default(node: &Node, faults: &Faults, default: &Val, scope: &mut Scope<'_>) -> Result<Val> {
    let refused = || scope.refuse("a default for a sum that fails", "give the list a default: `|| ['0']`");
    if faults.is_empty() {
        return Ok(Val::Node { node: node.clone(), ty: Ty::Thousandths, faults: Faults::new() });
    }
    let Val::Const(Value::Str(written)) = default else { return Err(refused()) };
    let other = real_constant(thousandths_of(written).ok_or_else(refused)?);
    let mut rest = faults.clone();
    let mut node = node.clone();
    if rest.contains(NO_ITEMS)
        && let Some([is_some, total, _]) = operands(&node, "_?_:_")
    {
        node = choose(is_some.clone(), total.clone(), other.clone());
        rest.remove(NO_ITEMS);
    }
    let terms = there(&rest).ok_or_else(refused)?;
    let node = if terms.is_empty() { node } else { choose(all(terms), node, other) };
    Ok(Val::Node { node, ty: Ty::Thousandths, faults: Faults::new() })
}
