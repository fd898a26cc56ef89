//! Functions of lists and objects.
//!
//! In: the arguments of a function. Out: its value, or a test. Semantics:
//! `docs/expressions/functions.md`.

use ephor_value::{Str, Value};

use crate::cel::build;
use crate::cel::build::{
    binary, boolean, call as function, choose, empty_list, empty_object, equals, getter, index, method, name,
    not, optional_of, over, text,
};
use crate::expressions::refusal::Result;
use crate::expressions::scope::Scope;
use crate::expressions::term::{Faults, Loop, Missing, Path, Test, Val, all_together, together};
use crate::expressions::translate::forms::{plain, ty_of};
use crate::expressions::translate::functions::{collections, number, strict, texts};
use crate::expressions::translate::lists::{Quantifier, is_list, quantified};
use crate::expressions::translate::template::as_text;
use crate::expressions::translate::{comparisons, forms, lists, membership};
use crate::expressions::types::Ty;
use ephor_cel::ast::Node;

pub(crate) fn length(of: &Val, scope: &mut Scope<'_>) -> Result<Val> {
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
fn length_or_none(of: &Val, scope: &mut Scope<'_>) -> Result<Val> {
    if is_list(of) {
        return Ok(Val::Count(Box::new(of.clone().rescued())));
    }
    let (node, faults) = {
        match of {
            Val::Path(path) => {
                let map = path.or(empty_object());
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
pub(crate) fn strict_source(of: &Val) -> Val {
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

pub(crate) fn contains(of: &Val, item: &Val, scope: &mut Scope<'_>) -> Result<Val> {
    if let (Val::Const(Value::List(items)), Val::Const(c)) = (of, item) {
        return Ok(Val::Const(Value::Bool(items.iter().any(|v| v.strict_eq(c)))));
    }
    if let (Val::Keys(path, _), Val::Const(Value::Str(s))) = (of, item) {
        return Ok(Val::of_test(membership::has_key(path, s, scope)));
    }
    if is_list(of) {
        let source = match of {
            Val::Or(_) | Val::Chain(_) | Val::Tuple(_) | Val::Const(_) => of.clone(),
            other => strict_source(other),
        };
        let is_whole = matches!(source, Val::Path(_) | Val::Node { .. });
        let test = match item {
            Val::Const(c) if is_whole => {
                let (list, faults) = lists::source(&source);
                Test { node: binary("in", forms::literal(c), list), faults }
            }
            item => {
                let item = item.clone();
                quantified(Quantifier::Some, &source, scope, &mut |own, scope| match &item {
                    Val::Const(c) => comparisons::equal_constant(own, c, scope),
                    item => comparisons::compare(ephor_ir::expr::Cmp::Eq, own, item, scope),
                })?
            }
        };
        return Ok(Val::of_test(test));
    }
    match ty_of(of) {
        Ty::Text => texts("contains", &[of, item], Ty::Bool, scope),
        Ty::Any => {
            // A list, or a text.
            let (value, item, faults) = together(plain(&strict(of), scope)?, plain(&strict(item), scope)?);
            let is_text = equals(function("type", vec![value.clone()]), collections::name("string"));
            let of_text = method(value.clone(), "contains", vec![item.clone()]);
            let node = choose(is_text, of_text, binary("in", item, value));
            Ok(Val::of_test(Test { node, faults }))
        }
        _ => Err(scope.refuse("function contains of such values", "use a list or a text")),
    }
}

/// The keys of an object.
pub(crate) fn keys(of: &Val, scope: &mut Scope<'_>) -> Result<Val> {
    match (of, ty_of(of)) {
        (Val::Const(Value::Map(m)), _) => {
            let keys = m.sorted().into_iter().map(|(k, _)| Value::Str(k.clone())).collect();
            Ok(Val::Const(Value::list(keys)))
        }
        (Val::Path(path), Ty::Map(_) | Ty::Object(_) | Ty::Any) => {
            Ok(match path.fails || path.is_required() {
                true => Val::Keys(path.clone(), Missing::Fault),
                // Nothing has no keys: a fault.
                false => Val::Keys(Path { fails: true, ..path.clone() }, Missing::Firm),
            })
        }
        (Val::Or(sides), Ty::Map(_) | Ty::Object(_))
            if sides[1].is_empty() && matches!(&sides[0], Val::Path(_)) =>
        {
            keys(&sides[0], scope).map(|_| match &sides[0] {
                Val::Path(path) => Val::Keys(Path { fails: false, ..path.clone() }, Missing::Empty),
                other => other.clone(),
            })
        }
        (_, Ty::Map(_) | Ty::Object(_) | Ty::Any) => {
            let (node, faults) = argument(of, scope)?;
            // Loops over an object are loops over its keys.
            Ok(Val::Node { node, ty: Ty::List(Box::new(Ty::Text)), faults })
        }
        _ => Err(scope.refuse("the keys of what is no object", "use an object")),
    }
}

/// An object, and its keys as a list to loop over.
fn map_and_keys(of: &Val, scope: &mut Scope<'_>) -> Result<(Node, Val)> {
    let keys_of =
        |map: &Node, faults| Val::Node { node: map.clone(), ty: Ty::List(Box::new(Ty::Text)), faults };
    Ok(match of {
        Val::Path(path) => (path.strict(), keys(of, scope)?),
        Val::Or(sides) => {
            let (map, faults) = plain(of, scope)?;
            let map = or_empty(of, map, scope);
            let keys = keys_of(&map, faults);
            match &sides[0] {
                // Where there is a key there is the object.
                Val::Path(path) if ty_of(&sides[0]).is_object() && sides[1].is_empty() => {
                    (path.strict(), keys)
                }
                _ => (map, keys),
            }
        }
        other => {
            let (map, faults) = plain(&strict(other), scope)?;
            (map.clone(), keys_of(&map, faults))
        }
    })
}

/// The values of an object.
pub(crate) fn values(of: &Val, scope: &mut Scope<'_>) -> Result<Val> {
    let ty = ty_of(of).value();
    let (map, source) = map_and_keys(of, scope)?;
    let var = scope.unused("key");
    let body = Val::Node { node: index(map, name(&var)), ty, faults: Faults::new() };
    Ok(Val::Loop(Box::new(Loop { source, var, keep: None, body, flat: false, values: false })))
}

/// The entries of an object, each as an object with the key and the value under these names.
pub(crate) fn entries(of: &Val, key: &Str, value: &Str, scope: &mut Scope<'_>) -> Result<Val> {
    if is_list(of) || !matches!(ty_of(of), Ty::Map(_) | Ty::Object(_) | Ty::Any) {
        return Err(scope.refuse("the entries of what is no object", "use each item"));
    }
    let ty = ty_of(of).value();
    let (map, source) = map_and_keys(of, scope)?;
    let var = scope.unused("key");
    let own = Val::Path(Path::of(name(&var), Ty::Text));
    let held = Path { wild: true, ..Path::of(index(map, name(&var)), ty) };
    let body = Val::Record(vec![(key.clone(), own), (value.clone(), Val::Path(held))]);
    Ok(Val::Loop(Box::new(Loop { source, var, keep: None, body, flat: false, values: false })))
}

/// An object, the empty one where a value without a schema counts as false.
fn or_empty(of: &Val, map: Node, scope: &mut Scope<'_>) -> Node {
    let Val::Or(sides) = of else { return map };
    let is_empty = sides[1].is_empty();
    let Val::Path(path) = &sides[0] else { return map };
    if !is_empty || path.ty != Ty::Any {
        return map;
    }
    let falsy = [text(""), boolean(false), empty_list()];
    // Literals of lists have items of one type.
    let falsy = falsy.map(|value| function("dyn", vec![value]));
    let counts_as_false = binary("in", map.clone(), build::list(falsy.to_vec()));
    let node = choose(counts_as_false, empty_object(), map);
    if scope.loops.is_empty() { scope.share(path.last().unwrap_or("map"), node, true) } else { node }
}

pub(crate) fn join(by: &Val, of: &Val, scope: &mut Scope<'_>) -> Result<Val> {
    if let (Val::Tuple(parts), Val::Const(Value::Str(by))) = (of, by)
        && by.is_empty()
    {
        let (parts, faults) = all_together(parts.iter().map(|part| as_text(&strict(part), scope)))?;
        let sum = parts.into_iter().reduce(|before, node| binary("+", before, node));
        return Ok(Val::Node { node: sum.unwrap_or_else(|| text("")), ty: Ty::Text, faults });
    }
    let (by, list, faults) = together(as_text(by, scope)?, lists::built(&strict_source(of), scope)?);
    Ok(Val::Node { node: method(list, "join", vec![by]), ty: Ty::Text, faults })
}

/// An argument with its default, or as it stands.
pub(crate) fn argument(of: &Val, scope: &mut Scope<'_>) -> Result<(Node, Faults)> {
    match of {
        Val::Or(_) => plain(of, scope),
        other => plain(&strict(other), scope),
    }
}

pub(crate) fn built_with(function: &str, of: &Val, ty: Ty, scope: &mut Scope<'_>) -> Result<Val> {
    let (list, faults) = lists::built(&strict_source(of), scope)?;
    Ok(Val::Node { node: getter(list, function), ty, faults })
}

/// Whether all labels of the first are among those of the second.
pub(crate) fn label_match(wanted: &Val, labels: &Val, scope: &mut Scope<'_>) -> Result<Val> {
    let (wanted, labels, faults) = together(argument(wanted, scope)?, argument(labels, scope)?);
    let key = scope.unused("key");
    let at = |map: Node| function("_[?_]", vec![map, name(&key)]);
    let own = optional_of(index(wanted.clone(), name(&key)));
    let node = over(wanted, "all", &key, equals(at(labels), own));
    Ok(Val::of_test(Test { node, faults }))
}

/// Objects put together: only of constants, whose null values stand for a key that does not count.
pub(crate) fn merge(first: &Val, rest: &[Val], scope: &mut Scope<'_>) -> Result<Val> {
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
    let (map, faults) = argument(first, scope)?;
    let (key, val) = (scope.unused("key"), scope.unused("value"));
    let words: Vec<&str> = left_out.iter().map(String::as_str).collect();
    let is_other = match &words[..] {
        [one] => binary("!=", name(&key), text(one)),
        words => not(function("@in", vec![name(&key), build::texts(words.iter().copied())])),
    };
    let node = method(map, "transformMap", vec![name(&key), name(&val), is_other, name(&val)]);
    Ok(Val::Node { node, ty: Ty::Map(Box::new(Ty::Text)), faults })
}
