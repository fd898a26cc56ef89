//! Values of which an expression gives one: `test && 'one' || 'other'`, and constants that are
//! written as JSON in a text.
//!
//! In: nodes of an expression. Out: the value that a test chooses. Semantics:
//! `docs/expressions/jmespath.md`, "Syntax".

use ephor_ir::Expr;
use ephor_ir::ops::truthy as is_true;
use ephor_value::Value;

use crate::cel::build::choose;
use crate::expressions::refusal::Result;
use crate::expressions::scope::Scope;
use crate::expressions::term::Val;
use crate::expressions::translate::forms::{literal, plain, truthy, ty_of};
use crate::expressions::translate::values::value;

/// The value of `parse_json` of a constant; none where that is null or fails.
pub fn json(expr: &Expr) -> Option<Value> {
    let Expr::Call { function, args } = expr else { return None };
    let ("parse_json", [text]) = (function.name, &args[..]) else { return None };
    ephor_document::json::parse(text.constant()?.as_str()?).ok().filter(|found| !found.is_null())
}

/// `test && 'one' || 'other'`: one of two values.
pub fn alternative(sides: &[Expr; 2], locals: &mut Vec<Val>, scope: &mut Scope<'_>) -> Result<Option<Val>> {
    let first = match &sides[0] {
        Expr::Rescue { expr, .. } => expr,
        first => first,
    };
    let (Expr::And(first), other) = (first, &sides[1]) else { return Ok(None) };
    let one = first[1].constant().cloned().or_else(|| json(&first[1]));
    let Some(one) = one.filter(|one| is_true(one) && one.as_bool().is_none()) else {
        return Ok(None);
    };
    let test = value(&first[0], locals, scope)?;
    let test = truthy(&test, scope)?;
    let other = value(other, locals, scope)?;
    let ty = ty_of(&Val::Const(one.clone())).common(ty_of(&other));
    let (node, more) = plain(&other, scope)?;
    let node = choose(test.node, literal(&one), node);
    Ok(Some(Val::Node { node, ty, faults: test.faults.into_iter().chain(more).collect() }))
}
