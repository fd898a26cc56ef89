//! Values that variables put into a text which YAML reads afterwards: that of a JSON patch.
//!
//! In: a template, and whether it stands in quotes there. Out: what YAML reads. In quotes that is
//! the text; without them it is the value where it is a number, a truth value, a list or an object,
//! and a text only where YAML reads it as the same text. Semantics: `docs/semantics/variables.md`,
//! "Variables", and `docs/semantics/mutate.md`, "JSON patches".

use ephor_ir::Template;
use ephor_ir::template::Part;
use ephor_value::Value;

use crate::cel::build::{call, choose, constant, is_name, on, operands, text};
use crate::expressions::refusal::Result;
use crate::expressions::scope::Scope;
use crate::expressions::shared::replaced;
use crate::expressions::term::{Faults, Val};
use crate::expressions::translate::forms::{literal, plain, ty_of};
use crate::expressions::translate::template::{as_text, query, template};
use crate::expressions::types::Ty;
use ephor_cel::ast::{Kind, Node};

/// What YAML reads for a template in quotes.
///
/// # Errors
/// It cannot be expressed, or is no text.
pub fn quoted(own: &Template, scope: &mut Scope<'_>) -> Result<Node> {
    let val = template(own, scope)?;
    let is_open = matches!(ty_of(&val), Ty::List(_) | Ty::Map(_) | Ty::Object(_));
    if is_open && !matches!(own, Template::Text(_)) {
        return Err(
            scope.refuse("a list or an object in quotes in the text of a JSON patch", "leave the quotes out")
        );
    }
    match choice(&val, scope) {
        Some((test, value)) => {
            let ty = ty_of(&val);
            let (value, _) = as_text(&Val::Node { node: value, ty, faults: Faults::new() }, scope)?;
            Ok(choose(test, value, text("null")))
        }
        None => Ok(as_text(&val, scope)?.0),
    }
}

/// What YAML reads for a template without quotes.
///
/// # Errors
/// It cannot be expressed, or is a text that YAML may read as something else.
pub fn unquoted(own: &Template, scope: &mut Scope<'_>) -> Result<Node> {
    if let Template::Text(text) = own {
        // A number before its unit.
        if let [Part::Hole(number), Part::Literal(unit)] = &*text.parts
            && is_unit(unit)
        {
            let val = query(number, scope)?;
            if matches!(ty_of(&val), Ty::Int | Ty::Double) {
                return Ok(as_text(&template(own, scope)?, scope)?.0);
            }
        }
    }
    let val = template(own, scope)?;
    let is_value =
        matches!(ty_of(&val), Ty::Int | Ty::Double | Ty::Bool | Ty::List(_) | Ty::Map(_) | Ty::Object(_));
    let is_null = matches!(&val, Val::Const(Value::Null));
    if let (true, Some((test, value))) = (is_value, choice(&val, scope)) {
        return Ok(choose(test, call("dyn", vec![value]), constant(Value::Null)));
    }
    let (node, _) = plain(&val, scope)?;
    if is_value || is_null {
        return Ok(node);
    }
    read(&node).ok_or_else(|| {
        scope.refuse(
            "a variable without quotes whose text YAML may read as something else",
            "put it in quotes",
        )
    })
}

/// The test and the value of `test ? optional.of(value) : optional.none()`. None is null, which has
/// a text, too.
fn choice(val: &Val, scope: &Scope<'_>) -> Option<(Node, Node)> {
    let Val::Optional { node, .. } = val else { return None };
    let shared = scope.shared.iter().rev();
    let node = shared.fold(node.clone(), |node, one| replaced(&node, &one.name, &one.node));
    let [test, some, none] = operands(&node, "_?_:_")? else { return None };
    match (optional(some, "of"), optional(none, "none")) {
        (Some([value]), Some([])) => Some((test.clone(), value.clone())),
        _ => None,
    }
}

/// The arguments of a function that gives optionals.
fn optional<'n>(node: &'n Node, name: &str) -> Option<&'n [Node]> {
    on(node, name).filter(|(target, _)| is_name(target, "optional")).map(|(_, args)| args)
}

/// Whether a text behind a number makes a text of it.
fn is_unit(text: &str) -> bool {
    matches!(text, "m" | "k" | "M" | "G" | "T" | "P" | "Ki" | "Mi" | "Gi" | "Ti" | "Pi" | "s" | "h" | "%")
}

/// What YAML reads for an expression of constants, where that is known: texts that it reads as they
/// are, and what is JSON anyway.
fn read(node: &Node) -> Option<Node> {
    match &node.kind {
        Kind::Const(Value::Str(text)) => {
            let read = ephor_document::yaml_value(&format!("- {text}")).ok()?;
            (read == Value::list(vec![Value::Str(text.clone())])).then(|| node.clone())
        }
        _ => match (operands(node, "_?_:_"), on(node, "unmarshal")) {
            (Some([test, then, other]), _) => Some(choose(test.clone(), read(then)?, read(other)?)),
            (_, Some((target, [Node { kind: Kind::Const(Value::Str(text)), .. }])))
                if is_name(target, "json") =>
            {
                match ephor_document::json::parse(text).ok()? {
                    Value::Str(_) | Value::Null => None,
                    value => Some(literal(&value)),
                }
            }
            _ => None,
        },
    }
}
