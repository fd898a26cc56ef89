//! Functions of texts: what is cut off, and numbers in texts.
//!
//! In: the arguments of a function. Out: its value. Semantics: `docs/expressions/functions.md`.

use ephor_value::Value;

use crate::cel::build::{
    binary, boolean, call, choose, constant_bool, getter, index, int, method, name, object, optional_none,
    optional_of, or_value, size, text,
};
use crate::expressions::refusal::Result;
use crate::expressions::scope::Scope;
use crate::expressions::term::{Faults, Val};
use crate::expressions::translate::forms::{plain, present, ty_of};
use crate::expressions::translate::functions::strict;
use crate::expressions::translate::leaf;
use crate::expressions::translate::lists::known;
use crate::expressions::translate::template::as_text;
use crate::expressions::translate::texts::NUMBER;
use crate::expressions::types::Ty;

/// `to_number` of a text: null where it is none.
pub(crate) fn to_number(of: &Val, scope: &mut Scope<'_>) -> Result<Val> {
    // Null is no number.
    let (own, faults) = match of {
        Val::Path(path) if !path.fails && !path.is_required() => {
            (leaf::as_text(&path.or(text("")), &path.ty), path.faults.clone())
        }
        Val::Optional { node, ty, faults, .. } if faults.is_empty() => {
            (leaf::as_text(&or_value(node.clone(), text("")), ty), Faults::new())
        }
        of => as_text(&strict(of), scope)?,
    };
    let is_number = method(own.clone(), "matches", vec![text(NUMBER)]);
    let some = optional_of(call("double", vec![own]));
    let none = optional_none();
    let node = choose(is_number, some, none);
    let node = if scope.loops.is_empty() { scope.share("number", node, true) } else { node };
    Ok(Val::Optional { node, ty: Ty::Double, faults, rescued: None })
}

/// `type` of a value whose type is known, or which is a number or a text; a missing one is null.
pub(crate) fn type_of(of: &Val, scope: &mut Scope<'_>) -> Result<Val> {
    let there = present(&of.clone().rescued(), scope)?;
    let (own, faults) = plain(&known(of), scope)?;
    let found = match ty_of(of) {
        Ty::Text | Ty::Quantity => text("string"),
        Ty::Int | Ty::Double => text("number"),
        Ty::Bool => text("boolean"),
        Ty::Map(_) | Ty::Object(_) => text("object"),
        Ty::IntOrText => {
            let is_text = binary("==", call("type", vec![own]), name("string"));
            choose(is_text, text("string"), text("number"))
        }
        _ => return Err(scope.refuse("function type of what may be anything", "look at the value")),
    };
    let node = match constant_bool(&there.node) {
        Some(true) => found,
        _ => choose(there.node, found, text("null")),
    };
    Ok(Val::Node { node, ty: Ty::Text, faults: faults.into_iter().chain(there.faults).collect() })
}

/// `to_boolean`: of no other text than these two, in any case.
pub(crate) fn to_boolean(of: &Val, scope: &mut Scope<'_>) -> Result<Val> {
    let (own, faults) = as_text(&strict(of), scope)?;
    let both = ["true", "false"].map(|word| (text(word), boolean(word == "true")));
    let node = index(object(both.to_vec()), getter(own, "lowerAscii"));
    Ok(Val::Node { node, ty: Ty::Bool, faults })
}

/// `truncate`: no more than this many characters.
pub(crate) fn truncate(of: &Val, length: &Value, scope: &mut Scope<'_>) -> Result<Val> {
    let length = match length {
        Value::Int(n) => Some(*n),
        Value::Float(f) if f.is_finite() => Some(f.trunc() as i64),
        _ => None,
    };
    let Some(length) = length.map(|n| n.max(0)) else {
        return Err(scope.refuse("a length that is no number", "write a number"));
    };
    let (own, faults) = as_text(&strict(of), scope)?;
    let is_longer = binary(">", size(own.clone()), int(length));
    let cut = method(own.clone(), "substring", vec![int(0), int(length)]);
    Ok(Val::Node { node: choose(is_longer, cut, own), ty: Ty::Text, faults })
}

/// `trim`: without some characters at both ends, which is the longest part between two others.
pub(crate) fn trim(of: &Val, cut: &str, scope: &mut Scope<'_>) -> Result<Val> {
    let (own, faults) = as_text(&strict(of), scope)?;
    if cut.is_empty() {
        return Ok(Val::Node { node: own, ty: Ty::Text, faults });
    }
    let escaped = |c: char| if c.is_ascii_punctuation() { format!("\\{c}") } else { c.to_string() };
    let others = format!("[^{}]", cut.chars().map(escaped).collect::<String>());
    let node = method(own, "find", vec![text(&format!("(?s){others}(.*{others})?"))]);
    Ok(Val::Node { node, ty: Ty::Text, faults })
}
