//! Functions of JMESPath → functions of CEL.
//!
//! In: a function's name and its arguments. Out: its value. What the function refuses (a missing
//! value, mostly) fails in CEL as well. Semantics: `docs/expressions/functions.md`.
//!
//! - `arithmetic`: arithmetic: of numbers, and of quantities as numbers of thousandths
//! - `collections`: functions of lists and objects
//! - `objects`: functions that read or build objects by names
//! - `sorting`: functions that order the items of a list by an expression
//! - `times`: functions of times, which are texts in JMESPath
//! - `versions`: `semver_compare`: whether a version is in a range
//! - `words`: functions of texts: what is cut off, and numbers in texts

pub(crate) mod arithmetic;
pub(crate) mod collections;
pub(crate) mod objects;
pub(crate) mod sorting;
pub(crate) mod times;
pub(crate) mod versions;
pub(crate) mod words;

use ephor_ir::Expr;
use ephor_value::Value;
use ephor_value::number::parse_float;

use crate::cel::build;
use crate::cel::build::{
    call as function, choose, constant, equals, getter, int, method, name, or_value, text,
};
use crate::expressions::refusal::Result;
use crate::expressions::scope::Scope;
use crate::expressions::term::{Faults, Loop, Missing, Path, Test, Val, all_together, together};
use crate::expressions::translate::forms::{literal, plain, ty_of};
use crate::expressions::translate::functions::collections::{
    built_with, contains, entries, join, keys, label_match, length, merge, values,
};
use crate::expressions::translate::lists::{is_list, label_of};
use crate::expressions::translate::regular::replacement;
use crate::expressions::translate::template::as_text;
use crate::expressions::translate::values::{value, value_with};
use crate::expressions::translate::{functions, texts};
use crate::expressions::types::Ty;
use ephor_cel::ast::Node;

/// The value of a call.
pub fn call(name: &str, args: &[Val], scope: &mut Scope<'_>) -> Result<Val> {
    let is_arithmetic = matches!(name, "add" | "subtract" | "multiply" | "divide" | "modulo" | "sum");
    if !is_arithmetic && args.iter().any(|arg| ty_of(arg) == Ty::Thousandths) {
        return Err(scope.refuse(format!("function {name} of a computed quantity"), "compare the quantity"));
    }
    match (name, args) {
        ("length", [of]) => length(of, scope),
        ("contains", [of, item]) => contains(of, item, scope),
        ("keys", [of]) => keys(of, scope),
        ("values", [of]) => values(of, scope),
        ("to_string", [of]) => {
            if ty_of(of) == Ty::Text && !matches!(of, Val::Or(_)) {
                return Ok(of.clone());
            }
            of_text(of, Ty::Text, scope, |node| node)
        }
        ("to_number", [Val::Const(Value::Str(s))]) if let Some(n) = parse_float(s) => {
            Ok(Val::Node { node: constant(Value::Float(n)), ty: Ty::Double, faults: Faults::new() })
        }
        ("to_number", [of]) => match ty_of(of) {
            Ty::Int | Ty::Double => Ok(of.clone()),
            Ty::Text | Ty::Any | Ty::IntOrText => words::to_number(of, scope),
            _ => Err(scope.refuse("function to_number", "compare the text as a quantity")),
        },
        // Of what is missing it makes a list in which nothing is found.
        ("to_array", [of @ (Val::Loop(_) | Val::Path(_) | Val::Optional { .. })]) if is_list(of) => {
            Ok(Val::Or(Box::new([of.clone(), Val::Const(Value::list(Vec::new()))])))
        }
        ("to_array", [of]) if is_list(of) => Ok(of.clone()),
        ("not_null", args) => {
            let mut rest = args.iter().rev().cloned();
            let Some(last) = rest.next() else { return Ok(Val::Const(Value::Null)) };
            rest.try_fold(last, |default, val| or_default(&val, &default, scope))
        }
        ("starts_with", [of, part]) => texts("startsWith", &[of, part], Ty::Bool, scope),
        ("ends_with", [of, part]) => texts("endsWith", &[of, part], Ty::Bool, scope),
        ("to_upper", [of]) => texts("upperAscii", &[of], Ty::Text, scope),
        ("to_lower", [of]) => texts("lowerAscii", &[of], Ty::Text, scope),
        ("split", [of, by]) => texts("split", &[of, by], Ty::List(Box::new(Ty::Text)), scope),
        ("replace_all", [of, old, new]) => texts("replace", &[of, old, new], Ty::Text, scope),
        ("replace", [of, old, new, n]) => texts("replace", &[of, old, new, n], Ty::Text, scope),
        ("trim", [of, Val::Const(Value::Str(cut))]) if &**cut == " " => texts("trim", &[of], Ty::Text, scope),
        ("trim", [of, Val::Const(Value::Str(cut))]) => words::trim(of, cut, scope),
        ("truncate", [of, Val::Const(length)]) => words::truncate(of, length, scope),
        ("semver_compare", [of, range]) => versions::semver_compare(of, range, scope),
        ("items", [of, Val::Const(Value::Str(key)), Val::Const(Value::Str(value))]) => {
            entries(of, key, value, scope)
        }
        ("join", [by, of]) => join(by, of, scope),
        ("regex_match", [pattern, of]) => {
            let (of, pattern, faults) = both_texts(of, pattern, scope)?;
            Ok(Val::of_test(Test { node: method(of, "matches", vec![pattern]), faults }))
        }
        ("regex_replace_all", [Val::Const(Value::Str(pattern)), of, Val::Const(Value::Str(by))]) => {
            let Some(by) = replacement(by) else {
                return Err(scope.refuse("groups by name in a replacement", "write them by number: `$1`"));
            };
            replaced(pattern, of, &by, scope)
        }
        ("regex_replace_all_literal", [Val::Const(Value::Str(pattern)), of, Val::Const(Value::Str(by))]) => {
            replaced(pattern, of, &by.replace('\\', r"\\"), scope)
        }
        ("random", [of]) => {
            scope.needs_kyverno("a random text")?;
            of_text(of, Ty::Text, scope, |of| function("random", vec![of]))
        }
        ("pattern_match", [Val::Const(Value::Str(pattern)), of]) => {
            of_text(of, Ty::Bool, scope, |of| texts::matches(&of, pattern))
        }
        ("equal_fold", [a, b]) => {
            let lower = |node: Node| getter(node, "lowerAscii");
            let (a, b, faults) = both_texts(a, b, scope)?;
            Ok(Val::of_test(Test { node: equals(lower(a), lower(b)), faults }))
        }
        ("label_match", [wanted, labels]) => label_match(wanted, labels, scope),
        ("merge", [first, rest @ ..]) => merge(first, rest, scope),
        ("type", [of]) if is_list(of) => Ok(Val::Const("array".into())),
        ("type", [of]) => words::type_of(of, scope),
        ("sort", [of]) if is_list(of) => built_with("sort", of, ty_of(of), scope),
        ("reverse", [of]) if is_list(of) => built_with("reverse", of, ty_of(of), scope),
        ("sum", [of]) => arithmetic::sum(of, scope),
        ("max" | "min", [of]) if is_list(of) => arithmetic::extreme(name, of, scope),
        ("base64_decode", [of]) => {
            let decoded = |node| method(build::name("base64"), "decode", vec![node]);
            let found = of_text(of, Ty::Text, scope, |node| function("string", vec![decoded(node)]))?;
            scope.needs_kyverno("function base64_decode")?;
            Ok(found)
        }
        ("base64_encode", [of]) => library(name, of, Ty::Text, scope, |node| {
            method(build::name("base64"), "encode", vec![function("bytes", vec![node])])
        }),
        ("parse_json", [of]) => {
            library(name, of, Ty::Any, scope, |node| method(build::name("json"), "unmarshal", vec![node]))
        }
        ("parse_yaml", [of]) => {
            library(name, of, Ty::Any, scope, |node| method(build::name("yaml"), "parse", vec![node]))
        }
        ("x509_decode", [of]) => {
            library(name, of, Ty::Any, scope, |node| method(build::name("x509"), "decode", vec![node]))
        }
        ("sha256" | "md5" | "sha1", [of]) => {
            library(name, of, Ty::Text, scope, |node| function(name, vec![node]))
        }
        ("add" | "subtract" | "multiply" | "divide" | "modulo", [a, b]) => {
            arithmetic::arithmetic(name, a, b, scope)
        }
        ("lookup", [of, at]) => objects::lookup(of, at, scope),
        ("object_from_lists", [keys, of]) => objects::from_lists(keys, of, scope),
        ("abs" | "ceil" | "floor", [of]) => sorting::rounded(name, of, scope),
        ("to_boolean", [of]) => words::to_boolean(of, scope),
        ("trim_prefix", [of, Val::Const(Value::Str(prefix))]) => of_text(of, Ty::Text, scope, |node| {
            let rest = method(node.clone(), "substring", vec![int(prefix.chars().count() as i64)]);
            let begins = method(node.clone(), "startsWith", vec![text(prefix)]);
            choose(begins, rest, node)
        }),
        (name, args) if name.starts_with("time_") => times::of_times(name, args, scope),
        _ => Err(scope.refuse(format!("function {name}"), "use a function that CEL has")),
    }
}

/// The value of a call whose last argument is an expression for each item.
pub fn higher(name: &str, args: &[Expr], locals: &mut Vec<Val>, scope: &mut Scope<'_>) -> Result<Val> {
    match (name, args) {
        ("map", [Expr::Lambda { body, .. }, of]) => {
            let source = value(of, locals, scope)?;
            let var = scope.item_name(label_of(&source).as_deref());
            let item = Val::Path(Path::of(functions::name(&var), ty_of(&source).item()));
            let body = scope.in_loop(&var, |scope| value_with(body, item, locals, scope))?.rescued();
            let source = strict(&source);
            Ok(Val::Loop(Box::new(Loop { source, var, keep: None, body, flat: false, values: false })))
        }
        ("sort_by", [of, Expr::Lambda { body, .. }])
        | ("min_by", [of, Expr::Lambda { body, .. }])
        | ("max_by", [of, Expr::Lambda { body, .. }]) => sorting::by_key(name, of, body, locals, scope),
        _ => Err(scope.refuse(format!("function {name}"), "use a function that CEL has")),
    }
}

/// What a function gives for a text.
fn of_text(of: &Val, ty: Ty, scope: &mut Scope<'_>, make: impl FnOnce(Node) -> Node) -> Result<Val> {
    let (node, faults) = as_text(&strict(of), scope)?;
    Ok(Val::Node { node: make(node), ty, faults })
}

/// What a function of Kyverno's libraries makes of a text.
fn library(
    name: &str,
    of: &Val,
    ty: Ty,
    scope: &mut Scope<'_>,
    make: impl FnOnce(Node) -> Node,
) -> Result<Val> {
    scope.needs_kyverno(&format!("function {name}"))?;
    of_text(of, ty, scope, make)
}

/// Two texts.
fn both_texts(a: &Val, b: &Val, scope: &mut Scope<'_>) -> Result<(Node, Node, Faults)> {
    Ok(together(as_text(&strict(a), scope)?, as_text(&strict(b), scope)?))
}

/// A text with another text in the places of a regular expression.
fn replaced(pattern: &str, of: &Val, by: &str, scope: &mut Scope<'_>) -> Result<Val> {
    scope.needs_kyverno("replacing by a regular expression")?;
    of_text(of, Ty::Text, scope, |of| {
        method(build::name("regex"), "replace", vec![of, text(pattern), text(by)])
    })
}

/// A missing argument is null, which functions refuse: it is read as it stands.
fn strict(val: &Val) -> Val {
    match val {
        Val::Path(path) => Val::Path(Path { fails: true, ..path.clone() }),
        Val::Keys(_, Missing::Empty) => val.clone(),
        Val::Keys(path, missing) => Val::Keys(Path { fails: true, ..path.clone() }, *missing),
        other => other.clone(),
    }
}

fn or_default(val: &Val, default: &Val, scope: &mut Scope<'_>) -> Result<Val> {
    match val {
        Val::Path(path) if path.is_required() => Ok(val.clone()),
        Val::Path(_) | Val::Optional { .. } => {
            let (other, mut faults) = plain(default, scope)?;
            let (node, own) = match val {
                Val::Path(path) => (path.or(other), path.faults.clone()),
                Val::Optional { node, faults, .. } => (or_value(node.clone(), other), faults.clone()),
                _ => return Ok(val.clone()),
            };
            faults.extend(own);
            Ok(Val::Node { node, ty: ty_of(val).common(ty_of(default)), faults })
        }
        Val::Const(Value::Null) => Ok(default.clone()),
        other => Ok(other.clone()),
    }
}

fn number(node: Node, faults: Faults) -> Val {
    Val::Node { node, ty: Ty::Int, faults }
}

/// A method of a text; all arguments are texts.
fn texts(function: &str, args: &[&Val], ty: Ty, scope: &mut Scope<'_>) -> Result<Val> {
    // On a list the function is applied to each item, or refuses it.
    let (mut nodes, faults) = all_together(args.iter().map(|arg| {
        let (node, faults) = match arg {
            Val::Const(v) => (literal(v), Faults::new()),
            arg if is_list(arg) => {
                return Err(scope.refuse(format!("function {function} of a list"), "use each item"));
            }
            arg => plain(&strict(arg), scope)?,
        };
        let node = match ty_of(arg) {
            Ty::Any | Ty::Quantity => functions::function("string", vec![node]),
            _ => node,
        };
        Ok((node, faults))
    }))?;
    let receiver = nodes.remove(0);
    let node = method(receiver, function, nodes);
    Ok(match ty {
        Ty::Bool => Val::of_test(Test { node, faults }),
        ty => Val::Node { node, ty, faults },
    })
}
