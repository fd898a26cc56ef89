//! Functions of JMESPath → functions of CEL.
//!
//! In: a function's name and its arguments. Out: its value. What the function refuses (a missing value, mostly) fails in CEL as
//! well. Semantics: `docs/functions.md`.

use crate::cel::build::{binary, call as function, equals, method, name, not, over, text};
use crate::cel_tree::Node;
use crate::ir::Expr;
use crate::value::Value;

use super::forms::{plain, ty_of};
use super::lists::{Quantifier, is_list, quantified};
use super::scope::Scope;
use super::template::as_text;
use super::term::{Faults, Loop, Path, Test, Val};
use super::types::Ty;
use super::values::value;
use super::{Refusal, compare};

/// The value of a call.
///
/// # Errors
/// CEL has nothing like it.
pub fn call(name: &str, args: &[Val], scope: &mut Scope<'_>) -> Result<Val, Refusal> {
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
        ("to_number", [of]) => match ty_of(of) {
            Ty::Int | Ty::Double => Ok(of.clone()),
            _ => Err(scope.refuse("function to_number", "compare the text as a quantity")),
        },
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
        ("join", [by, of]) => join(by, of, scope),
        ("regex_match", [pattern, of]) => {
            let (of, mut faults) = as_text(&strict(of), scope)?;
            let (pattern, more) = as_text(&strict(pattern), scope)?;
            faults.extend(more);
            Ok(Val::of_test(Test { node: method(of, "matches", vec![pattern]), faults }))
        }
        ("regex_replace_all", [Val::Const(Value::Str(pattern)), of, Val::Const(Value::Str(by))]) => {
            let Some(by) = super::regular::replacement(by) else {
                return Err(scope.refuse("groups by name in a replacement", "write them by number: `$1`"));
            };
            scope.needs_kyverno("replacing by a regular expression")?;
            let (of, faults) = as_text(&strict(of), scope)?;
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
            Ok(Val::of_test(Test { node: super::texts::matches(&of, pattern), faults }))
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
        ("sort", [of]) if is_list(of) => built_with("sort", of, ty_of(of), scope),
        ("reverse", [of]) if is_list(of) => built_with("reverse", of, ty_of(of), scope),
        ("sum", [of]) if is_list(of) => built_with("sum", of, ty_of(of).item(), scope),
        ("max", [of]) if is_list(of) => built_with("max", of, ty_of(of).item(), scope),
        ("min", [of]) if is_list(of) => built_with("min", of, ty_of(of).item(), scope),
        ("base64_decode", [of]) => {
            let (node, faults) = as_text(&strict(of), scope)?;
            let bytes = method(self::name("base64"), "decode", vec![node]);
            scope.needs_kyverno("function base64_decode")?;
            Ok(Val::Node { node: function("string", vec![bytes]), ty: Ty::Text, faults })
        }
        ("parse_json", [of]) => {
            scope.needs_kyverno("function parse_json")?;
            let (node, faults) = as_text(&strict(of), scope)?;
            Ok(Val::Node { node: method(self::name("json"), "unmarshal", vec![node]), ty: Ty::Any, faults })
        }
        ("parse_yaml", [of]) => {
            scope.needs_kyverno("function parse_yaml")?;
            let (node, faults) = as_text(&strict(of), scope)?;
            Ok(Val::Node { node: method(self::name("yaml"), "parse", vec![node]), ty: Ty::Any, faults })
        }
        ("add" | "subtract" | "multiply" | "divide" | "modulo", [a, b]) => arithmetic(name, a, b, scope),
        ("time_now_utc" | "time_now", _) => {
            scope.needs_kyverno("the current time")?;
            let now = method(self::name("time"), "now", Vec::new());
            Ok(Val::Node { node: function("string", vec![now]), ty: Ty::Text, faults: Faults::new() })
        }
        ("time_after" | "time_before", [a, b]) => {
            let sign = if name == "time_after" { ">" } else { "<" };
            let (a, mut faults) = time(a, scope)?;
            let (b, more) = time(b, scope)?;
            faults.extend(more);
            Ok(Val::of_test(Test { node: binary(sign, a, b), faults }))
        }
        ("time_between", [at, from, to]) => {
            let (at, mut faults) = time(at, scope)?;
            let (from, more) = time(from, scope)?;
            faults.extend(more);
            let (to, more) = time(to, scope)?;
            faults.extend(more);
            let inside = vec![binary(">", at.clone(), from), binary("<", at, to)];
            Ok(Val::of_test(Test { node: crate::cel::build::all(inside), faults }))
        }
        ("lookup", [of, Val::Const(Value::Str(key))]) => super::values::member(of, key, scope),
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
            let node = method(self::name("base64"), "encode", vec![bytes]);
            Ok(Val::Node { node, ty: Ty::Text, faults })
        }
        ("x509_decode", [of]) => {
            scope.needs_kyverno("function x509_decode")?;
            let (node, faults) = as_text(&strict(of), scope)?;
            Ok(Val::Node { node: method(self::name("x509"), "decode", vec![node]), ty: Ty::Any, faults })
        }
        ("time_since", [Val::Const(Value::Str(layout)), from, Val::Const(Value::Str(to))])
            if layout.is_empty() && to.is_empty() =>
        {
            scope.needs_kyverno("the current time")?;
            let (from, faults) = as_text(&strict(from), scope)?;
            let since =
                binary("-", method(self::name("time"), "now", Vec::new()), function("timestamp", vec![from]));
            Ok(Val::Node { node: since, ty: Ty::Duration, faults })
        }
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
            let var = scope.item_name(super::lists::label_of(&source).as_deref());
            let item = Val::Path(Path::of(self::name(&var), ty_of(&source).item()));
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
        _ => Err(scope.refuse(format!("function {name}"), "use a function that CEL has")),
    }
}

/// A time of RFC 3339; the current one as it is.
fn time(val: &Val, scope: &mut Scope<'_>) -> Result<(Node, Faults), Refusal> {
    if let Val::Node { node, faults, .. } = val
        && let crate::cel_tree::Kind::Call { function, args, .. } = &node.kind
        && **function == *"string"
        && let [inner] = &args[..]
        && crate::cel::print(inner, usize::MAX) == "time.now()"
    {
        return Ok((inner.clone(), faults.clone()));
    }
    let (node, faults) = as_text(&strict(val), scope)?;
    Ok((function("timestamp", vec![node]), faults))
}

/// A missing argument is null, which functions refuse: it is read as it stands.
fn strict(val: &Val) -> Val {
    match val {
        Val::Path(path) => Val::Path(Path { fails: true, ..path.clone() }),
        Val::Keys(path, firm) => Val::Keys(Path { fails: true, ..path.clone() }, *firm),
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

fn length(of: &Val, scope: &mut Scope<'_>) -> Result<Val, Refusal> {
    match of {
        Val::Const(Value::List(items)) => Ok(Val::Const(Value::Float(items.len() as f64))),
        Val::Const(Value::Str(s)) => Ok(Val::Const(Value::Float(s.chars().count() as f64))),
        Val::Const(Value::Map(m)) => Ok(Val::Const(Value::Float(m.len() as f64))),
        Val::Const(_) => Err(scope.refuse("the length of nothing", "give a default")),
        Val::Or(sides) => {
            let [left, right] = &**sides;
            match right {
                Val::Const(v)
                    if v.is_empty() && !v.is_null() && (is_list(left) || ty_of(left).is_object()) =>
                {
                    length_or_none(left, scope)
                }
                Val::Const(v) if v.is_empty() && !v.is_null() => {
                    let (node, faults) = plain(of, scope)?;
                    Ok(number(function("size", vec![node]), faults))
                }
                _ => Err(scope.refuse("the length of a value with another default", "use an empty default")),
            }
        }
        of if is_list(of) => {
            // Without the list there is no length.
            Ok(Val::Count(Box::new(strict_source(of))))
        }
        of => {
            let (node, faults) = plain(&strict(of), scope)?;
            Ok(number(function("size", vec![node]), faults))
        }
    }
}

/// The length of what may be missing, which has none then.
fn length_or_none(of: &Val, scope: &mut Scope<'_>) -> Result<Val, Refusal> {
    if is_list(of) {
        return Ok(Val::Count(Box::new(of.clone().rescued())));
    }
    let (node, faults) = {
        match of {
            Val::Path(path) => {
                let map = path.or(crate::cel::build::object(Vec::new()));
                (function("size", vec![map]), path.faults.clone())
            }
            other => {
                let (node, faults) = plain(other, scope)?;
                (function("size", vec![node]), faults)
            }
        }
    };
    Ok(number(node, faults))
}

/// A list that is read as it stands, so that a missing one fails.
fn strict_source(of: &Val) -> Val {
    match of {
        Val::Loop(own) => {
            let source = match &own.source {
                Val::Loop(_) => strict_source(&own.source),
                other => strict(other),
            };
            Val::Loop(Box::new(Loop { source, ..(**own).clone() }))
        }
        other => strict(other),
    }
}

fn contains(of: &Val, item: &Val, scope: &mut Scope<'_>) -> Result<Val, Refusal> {
    if let (Val::Const(Value::List(items)), Val::Const(c)) = (of, item) {
        return Ok(Val::Const(Value::Bool(items.iter().any(|v| v.strict_eq(c)))));
    }
    if let (Val::Keys(path, _), Val::Const(Value::Str(s))) = (of, item) {
        return Ok(Val::of_test(super::membership::has_key(path, s, scope)));
    }
    if is_list(of) {
        let source = match of {
            Val::Or(_) | Val::Chain(_) | Val::Tuple(_) | Val::Const(_) => of.clone(),
            other => strict_source(other),
        };
        let is_whole = matches!(source, Val::Path(_) | Val::Node { .. });
        let test = match item {
            Val::Const(c) if is_whole => {
                let (list, faults) = super::lists::source(&source);
                Test { node: binary("in", super::forms::literal(c), list), faults }
            }
            item => {
                let item = item.clone();
                quantified(Quantifier::Some, &source, scope, &mut |own, scope| match &item {
                    Val::Const(c) => compare::equal_constant(own, c, scope),
                    item => compare::compare(crate::ir::expr::Cmp::Eq, own, item, scope),
                })?
            }
        };
        return Ok(Val::of_test(test));
    }
    match ty_of(of) {
        Ty::Text => texts("contains", &[of, item], Ty::Bool, scope),
        Ty::Any => {
            // A list, or a text.
            let (value, mut faults) = plain(&strict(of), scope)?;
            let (item, more) = plain(&strict(item), scope)?;
            faults.extend(more);
            let is_text = equals(function("type", vec![value.clone()]), self::name("string"));
            let of_text = method(value.clone(), "contains", vec![item.clone()]);
            let node = crate::cel::build::choose(is_text, of_text, binary("in", item, value));
            Ok(Val::of_test(Test { node, faults }))
        }
        _ => Err(scope.refuse("function contains of such values", "use a list or a text")),
    }
}

/// The keys of an object.
fn keys(of: &Val, scope: &mut Scope<'_>) -> Result<Val, Refusal> {
    match (of, ty_of(of)) {
        (Val::Const(Value::Map(m)), _) => {
            let keys = m.sorted().into_iter().map(|(k, _)| Value::Str(k.clone())).collect();
            Ok(Val::Const(Value::list(keys)))
        }
        (Val::Path(path), Ty::Map(_) | Ty::Object(_) | Ty::Any) => {
            Ok(match path.fails || path.is_required() {
                true => Val::Keys(path.clone(), false),
                // Nothing has no keys: a fault.
                false => Val::Keys(Path { fails: true, ..path.clone() }, true),
            })
        }
        (Val::Or(sides), Ty::Map(_) | Ty::Object(_))
            if matches!(&sides[1], Val::Const(v) if v.is_empty()) && matches!(&sides[0], Val::Path(_)) =>
        {
            keys(&sides[0], scope).map(|_| match &sides[0] {
                Val::Path(path) => Val::Keys(Path { fails: false, ..path.clone() }, false),
                other => other.clone(),
            })
        }
        (_, Ty::Map(_) | Ty::Object(_) | Ty::Any) => {
            let (node, faults) = match of {
                Val::Or(_) => plain(of, scope)?,
                other => plain(&strict(other), scope)?,
            };
            // Loops over an object are loops over its keys.
            Ok(Val::Node { node, ty: Ty::List(Box::new(Ty::Text)), faults })
        }
        _ => Err(scope.refuse("the keys of what is no object", "use an object")),
    }
}

/// The values of an object.
fn values(of: &Val, scope: &mut Scope<'_>) -> Result<Val, Refusal> {
    let ty = ty_of(of).value();
    let (map, source) = match of {
        Val::Path(path) => (path.strict(), keys(of, scope)?),
        Val::Or(_) => {
            let (map, faults) = plain(of, scope)?;
            let map = or_empty(of, map, scope);
            (map.clone(), Val::Node { node: map, ty: Ty::List(Box::new(Ty::Text)), faults })
        }
        other => {
            let (map, faults) = plain(&strict(other), scope)?;
            (map.clone(), Val::Node { node: map, ty: Ty::List(Box::new(Ty::Text)), faults })
        }
    };
    let var = scope.unused("key");
    let body = Val::Node { node: crate::cel::build::index(map, name(&var)), ty, faults: Faults::new() };
    Ok(Val::Loop(Box::new(Loop { source, var, keep: None, body, flat: false, values: false })))
}

/// An object, the empty one where a value without a schema counts as false.
fn or_empty(of: &Val, map: Node, scope: &mut Scope<'_>) -> Node {
    let Val::Or(sides) = of else { return map };
    let is_empty = matches!(&sides[1], Val::Const(v) if v.is_empty());
    let Val::Path(path) = &sides[0] else { return map };
    if !is_empty || path.ty != Ty::Any {
        return map;
    }
    let falsy = [text(""), crate::cel::build::boolean(false), crate::cel::build::list(Vec::new())];
    // Literals of lists have items of one type.
    let falsy = falsy.map(|value| function("dyn", vec![value]));
    let counts_as_false = binary("in", map.clone(), crate::cel::build::list(falsy.to_vec()));
    let node = crate::cel::build::choose(counts_as_false, crate::cel::build::object(Vec::new()), map);
    match scope.loops.is_empty() {
        true => scope.share(path.last().unwrap_or("map"), node, true),
        false => node,
    }
}

/// A method of a text; all arguments are texts.
fn texts(function: &str, args: &[&Val], ty: Ty, scope: &mut Scope<'_>) -> Result<Val, Refusal> {
    // On a list the function is applied to each item, or refuses it.
    let mut faults = Faults::new();
    let mut nodes = Vec::new();
    for arg in args {
        let (node, more) = match arg {
            Val::Const(v) => (super::forms::literal(v), Faults::new()),
            arg if is_list(arg) => {
                return Err(scope.refuse(format!("function {function} of a list"), "use each item"));
            }
            arg => plain(&strict(arg), scope)?,
        };
        faults.extend(more);
        nodes.push(match ty_of(arg) {
            Ty::Any | Ty::Quantity => self::function("string", vec![node]),
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

fn join(by: &Val, of: &Val, scope: &mut Scope<'_>) -> Result<Val, Refusal> {
    if let (Val::Tuple(parts), Val::Const(Value::Str(by))) = (of, by)
        && by.is_empty()
    {
        let mut sum: Option<Node> = None;
        let mut faults = Faults::new();
        for part in parts {
            let (node, more) = as_text(&strict(part), scope)?;
            faults.extend(more);
            sum = Some(match sum {
                None => node,
                Some(before) => binary("+", before, node),
            });
        }
        return Ok(Val::Node { node: sum.unwrap_or_else(|| text("")), ty: Ty::Text, faults });
    }
    let (by, mut faults) = as_text(by, scope)?;
    let (list, more) = super::lists::built(&strict_source(of), scope)?;
    faults.extend(more);
    Ok(Val::Node { node: method(list, "join", vec![by]), ty: Ty::Text, faults })
}

fn built_with(function: &str, of: &Val, ty: Ty, scope: &mut Scope<'_>) -> Result<Val, Refusal> {
    let (list, faults) = super::lists::built(&strict_source(of), scope)?;
    Ok(Val::Node { node: method(list, function, Vec::new()), ty, faults })
}

/// Whether all labels of the first are among those of the second.
fn label_match(wanted: &Val, labels: &Val, scope: &mut Scope<'_>) -> Result<Val, Refusal> {
    let plain_of = |val: &Val, scope: &mut Scope<'_>| match val {
        Val::Or(_) => plain(val, scope),
        other => plain(&strict(other), scope),
    };
    let (wanted, mut faults) = plain_of(wanted, scope)?;
    let (labels, more) = plain_of(labels, scope)?;
    faults.extend(more);
    let key = scope.unused("key");
    let at = |map: Node| function("_[?_]", vec![map, name(&key)]);
    let own = method(name("optional"), "of", vec![crate::cel::build::index(wanted.clone(), name(&key))]);
    let node = over(wanted, "all", &key, equals(at(labels), own));
    Ok(Val::of_test(Test { node, faults }))
}

/// Objects put together: only of constants, whose null values stand for a key that does not count.
fn merge(first: &Val, rest: &[Val], scope: &mut Scope<'_>) -> Result<Val, Refusal> {
    let mut left_out: Vec<String> = Vec::new();
    for other in rest {
        match other {
            Val::Record(pairs)
                if pairs.iter().all(|(_, v)| matches!(v, Val::Const(Value::Null) | Val::Path(_))) =>
            {
                // A bare word of an object is a field of the value itself, which is not there.
                left_out.extend(pairs.iter().map(|(k, _)| k.to_string()));
            }
            Val::Const(Value::Map(m)) if m.values().all(Value::is_null) => {
                left_out.extend(m.keys().map(|k| k.to_string()));
            }
            _ => {
                return Err(
                    scope.refuse("function merge of computed objects", "compare the fields one by one")
                );
            }
        }
    }
    let (map, faults) = match first {
        Val::Or(_) => plain(first, scope)?,
        other => plain(&strict(other), scope)?,
    };
    let (key, val) = (scope.unused("key"), scope.unused("value"));
    let words: Vec<&str> = left_out.iter().map(String::as_str).collect();
    let is_other = match &words[..] {
        [one] => binary("!=", name(&key), text(one)),
        words => not(function("@in", vec![name(&key), crate::cel::build::texts(words.iter().copied())])),
    };
    let node = method(map, "transformMap", vec![name(&key), name(&val), is_other, name(&val)]);
    Ok(Val::Node { node, ty: Ty::Map(Box::new(Ty::Text)), faults })
}

fn arithmetic(name: &str, a: &Val, b: &Val, scope: &mut Scope<'_>) -> Result<Val, Refusal> {
    let sign = match name {
        "add" => "+",
        "subtract" => "-",
        "multiply" => "*",
        "divide" => "/",
        _ => "%",
    };
    let is_int = |val: &Val| matches!(ty_of(val), Ty::Int);
    if is_int(a) && is_int(b) && matches!(name, "add" | "subtract" | "multiply") {
        let (x, mut faults) = plain(&strict(a), scope)?;
        let (y, more) = plain(&strict(b), scope)?;
        faults.extend(more);
        return Ok(number(binary(sign, x, y), faults));
    }
    let is_quantity = |val: &Val| match val {
        Val::Const(Value::Str(s)) => crate::value::quantity::Quantity::parse(s).is_some(),
        val => match val {
            Val::Or(sides) => {
                ty_of(&sides[0]) == Ty::Quantity
                    && matches!(&sides[1], Val::Const(Value::Str(s)) if crate::value::quantity::Quantity::parse(s).is_some())
            }
            val => ty_of(val) == Ty::Quantity,
        },
    };
    if name == "divide" && is_quantity(a) && is_quantity(b) {
        // The quotient of quantities is a number; by zero there is none.
        let of = |node: Node| function("quantity", vec![function("string", vec![node])]);
        let (x, mut faults) = plain(a, scope)?;
        let (y, more) = plain(b, scope)?;
        faults.extend(more);
        let number = |node: Node| method(of(node), "asApproximateFloat", Vec::new());
        let sign = function("sign", vec![of(y.clone())]);
        let is_zero = equals(sign.clone(), crate::cel::build::int(0));
        let failure = function("double", vec![binary("/", crate::cel::build::int(1), sign)]);
        let quotient = binary("/", number(x), number(y));
        let node = crate::cel::build::choose(is_zero, failure, quotient);
        return Ok(Val::Node { node, ty: Ty::Double, faults });
    }
    Err(scope.refuse(format!("function {name} of such values"), "compare the values"))
}
