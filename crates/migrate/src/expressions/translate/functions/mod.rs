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

pub mod arithmetic;
pub(crate) mod collections;
pub(crate) mod objects;
pub(crate) mod sorting;
pub(crate) mod times;
pub(crate) mod versions;
pub(crate) mod words;

use ephor_ir::Expr;
use ephor_value::Value;
use ephor_value::number::parse_float;

use crate::cel::build::{call as function, constant, equals, method, name, text};
use crate::expressions::refusal::Refusal;
use crate::expressions::scope::Scope;
use crate::expressions::term::{Faults, Loop, Missing, Path, Test, Val};
use crate::expressions::translate::forms::{plain, ty_of};
use crate::expressions::translate::functions::collections::{
    built_with, contains, entries, join, keys, label_match, length, merge, values,
};
use crate::expressions::translate::lists::is_list;
use crate::expressions::translate::template::as_text;
use crate::expressions::translate::values::value;
use crate::expressions::types::Ty;
use ephor_cel::ast::Node;

/// The value of a call.
///
/// # Errors
/// CEL has nothing like it.
pub fn call(name: &str, args: &[Val], scope: &mut Scope<'_>) -> Result<Val, Refusal> {
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
            let (node, faults) = as_text(&strict(of), scope)?;
            Ok(Val::Node { node, ty: Ty::Text, faults })
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
            let (of, mut faults) = as_text(&strict(of), scope)?;
            let (pattern, more) = as_text(&strict(pattern), scope)?;
            faults.extend(more);
            Ok(Val::of_test(Test { node: method(of, "matches", vec![pattern]), faults }))
        }
        ("regex_replace_all", [Val::Const(Value::Str(pattern)), of, Val::Const(Value::Str(by))]) => {
            let Some(by) = crate::expressions::translate::regular::replacement(by) else {
                return Err(scope.refuse("groups by name in a replacement", "write them by number: `$1`"));
            };
            scope.needs_kyverno("replacing by a regular expression")?;
            let (of, faults) = as_text(&strict(of), scope)?;
            let node =
                method(crate::cel::build::name("regex"), "replace", vec![of, text(pattern), text(&by)]);
            Ok(Val::Node { node, ty: Ty::Text, faults })
        }
        ("regex_replace_all_literal", [Val::Const(Value::Str(pattern)), of, Val::Const(Value::Str(by))]) => {
            scope.needs_kyverno("replacing by a regular expression")?;
            let (of, faults) = as_text(&strict(of), scope)?;
            let by = by.replace('\\', r"\\");
            let node =
                method(crate::cel::build::name("regex"), "replace", vec![of, text(pattern), text(&by)]);
            Ok(Val::Node { node, ty: Ty::Text, faults })
        }
        ("random", [of]) => {
            scope.needs_kyverno("a random text")?;
            let (of, faults) = as_text(&strict(of), scope)?;
            Ok(Val::Node { node: crate::cel::build::call("random", vec![of]), ty: Ty::Text, faults })
        }
        ("pattern_match", [Val::Const(Value::Str(pattern)), of]) => {
            let (of, faults) = as_text(&strict(of), scope)?;
            Ok(Val::of_test(Test {
                node: crate::expressions::translate::texts::matches(&of, pattern),
                faults,
            }))
        }
        ("equal_fold", [a, b]) => {
            let lower = |node: Node| method(node, "lowerAscii", Vec::new());
            let (a, mut faults) = as_text(&strict(a), scope)?;
            let (b, more) = as_text(&strict(b), scope)?;
            faults.extend(more);
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
            let (node, faults) = as_text(&strict(of), scope)?;
            let bytes =
                method(crate::expressions::translate::functions::name("base64"), "decode", vec![node]);
            scope.needs_kyverno("function base64_decode")?;
            Ok(Val::Node { node: function("string", vec![bytes]), ty: Ty::Text, faults })
        }
        ("parse_json", [of]) => {
            scope.needs_kyverno("function parse_json")?;
            let (node, faults) = as_text(&strict(of), scope)?;
            Ok(Val::Node {
                node: method(crate::expressions::translate::functions::name("json"), "unmarshal", vec![node]),
                ty: Ty::Any,
                faults,
            })
        }
        ("parse_yaml", [of]) => {
            scope.needs_kyverno("function parse_yaml")?;
            let (node, faults) = as_text(&strict(of), scope)?;
            Ok(Val::Node {
                node: method(crate::expressions::translate::functions::name("yaml"), "parse", vec![node]),
                ty: Ty::Any,
                faults,
            })
        }
        ("add" | "subtract" | "multiply" | "divide" | "modulo", [a, b]) => {
            arithmetic::arithmetic(name, a, b, scope)
        }
        ("lookup", [of, at]) => objects::lookup(of, at, scope),
        ("object_from_lists", [keys, of]) => objects::from_lists(keys, of, scope),
        ("abs" | "ceil" | "floor", [of]) => sorting::rounded(name, of, scope),
        ("to_boolean", [of]) => words::to_boolean(of, scope),
        ("trim_prefix", [of, Val::Const(Value::Str(prefix))]) => {
            let (node, faults) = as_text(&strict(of), scope)?;
            let rest = method(
                node.clone(),
                "substring",
                vec![crate::cel::build::int(prefix.chars().count() as i64)],
            );
            let begins = method(node.clone(), "startsWith", vec![text(prefix)]);
            let node = crate::cel::build::choose(begins, rest, node);
            Ok(Val::Node { node, ty: Ty::Text, faults })
        }
        ("sha256" | "md5" | "sha1", [of]) => {
            scope.needs_kyverno(&format!("function {name}"))?;
            let (node, faults) = as_text(&strict(of), scope)?;
            Ok(Val::Node { node: function(name, vec![node]), ty: Ty::Text, faults })
        }
        ("base64_encode", [of]) => {
            scope.needs_kyverno("function base64_encode")?;
            let (node, faults) = as_text(&strict(of), scope)?;
            let bytes = function("bytes", vec![node]);
            let node =
                method(crate::expressions::translate::functions::name("base64"), "encode", vec![bytes]);
            Ok(Val::Node { node, ty: Ty::Text, faults })
        }
        ("x509_decode", [of]) => {
            scope.needs_kyverno("function x509_decode")?;
            let (node, faults) = as_text(&strict(of), scope)?;
            Ok(Val::Node {
                node: method(crate::expressions::translate::functions::name("x509"), "decode", vec![node]),
                ty: Ty::Any,
                faults,
            })
        }
        (name, args) if name.starts_with("time_") => times::of_times(name, args, scope),
        _ => Err(scope.refuse(format!("function {name}"), "use a function that CEL has")),
    }
}

/// The value of a call whose last argument is an expression for each item.
///
/// # Errors
/// CEL has nothing like it.
pub fn higher(
    name: &str,
    args: &[Expr],
    locals: &mut Vec<Val>,
    scope: &mut Scope<'_>,
) -> Result<Val, Refusal> {
    match (name, args) {
        ("map", [Expr::Lambda { body, .. }, of]) => {
            let source = value(of, locals, scope)?;
            let var = scope.item_name(crate::expressions::translate::lists::label_of(&source).as_deref());
            let item = Val::Path(Path::of(
                crate::expressions::translate::functions::name(&var),
                ty_of(&source).item(),
            ));
            scope.loops.push(var.clone());
            locals.push(item);
            let body = value(body, locals, scope);
            locals.pop();
            scope.loops.pop();
            let body = body?.rescued();
            Ok(Val::Loop(Box::new(Loop {
                source: strict(&source),
                var,
                keep: None,
                body,
                flat: false,
                values: false,
            })))
        }
        ("sort_by", [of, Expr::Lambda { body, .. }])
        | ("min_by", [of, Expr::Lambda { body, .. }])
        | ("max_by", [of, Expr::Lambda { body, .. }]) => sorting::by_key(name, of, body, locals, scope),
        _ => Err(scope.refuse(format!("function {name}"), "use a function that CEL has")),
    }
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

fn or_default(val: &Val, default: &Val, scope: &mut Scope<'_>) -> Result<Val, Refusal> {
    match val {
        Val::Path(path) if path.is_required() => Ok(val.clone()),
        Val::Path(_) | Val::Optional { .. } => {
            let (other, mut faults) = plain(default, scope)?;
            let (node, own) = match val {
                Val::Path(path) => (path.or(other), path.faults.clone()),
                Val::Optional { node, faults, .. } => {
                    (crate::cel::build::or_value(node.clone(), other), faults.clone())
                }
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
fn texts(function: &str, args: &[&Val], ty: Ty, scope: &mut Scope<'_>) -> Result<Val, Refusal> {
    // On a list the function is applied to each item, or refuses it.
    let mut faults = Faults::new();
    let mut nodes = Vec::new();
    for arg in args {
        let (node, more) = match arg {
            Val::Const(v) => (crate::expressions::translate::forms::literal(v), Faults::new()),
            arg if is_list(arg) => {
                return Err(scope.refuse(format!("function {function} of a list"), "use each item"));
            }
            arg => plain(&strict(arg), scope)?,
        };
        faults.extend(more);
        nodes.push(match ty_of(arg) {
            Ty::Any | Ty::Quantity => {
                crate::expressions::translate::functions::function("string", vec![node])
            }
            _ => node,
        });
    }
    let receiver = nodes.remove(0);
    let node = method(receiver, function, nodes);
    Ok(match ty {
        Ty::Bool => Val::of_test(Test { node, faults }),
        ty => Val::Node { node, ty, faults },
    })
}
