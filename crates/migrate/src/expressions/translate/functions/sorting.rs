//! Functions that order the items of a list by an expression.
//!
//! In: a list, and the expression of a key. Out: the list, or one of its items. A key that is
//! missing fails in JMESPath only in lists of two items and more, so it has to be there. Semantics:
//! `docs/expressions/functions.md`.

use ephor_ir::Expr;

use crate::cel::build::{binary, call as function, int, method, name, over};
use crate::expressions::refusal::Result;
use crate::expressions::scope::Scope;
use crate::expressions::shared::capitalized;
use crate::expressions::term::{Path, Val};
use crate::expressions::translate::forms::{plain, ty_of};
use crate::expressions::translate::functions::collections::strict_source;
use crate::expressions::translate::functions::strict;
use crate::expressions::translate::lists;
use crate::expressions::translate::lists::{is_list, label_of};
use crate::expressions::translate::values::{value, value_with};
use crate::expressions::types::Ty;

/// `sort_by`, `min_by` and `max_by`.
pub(crate) fn by_key(
    own: &str,
    of: &Expr,
    key: &Expr,
    locals: &mut Vec<Val>,
    scope: &mut Scope<'_>,
) -> Result<Val> {
    let source = value(of, locals, scope)?;
    if !is_list(&source) {
        return Err(scope.refuse(format!("function {own} of what may be no list"), "use a list"));
    }
    let ty = ty_of(&source);
    let var = scope.item_name(label_of(&source).as_deref());
    let item = Val::Path(Path::of(name(&var), ty.item()));
    let (of_key, (key, missing)) = scope.in_loop(&var, |scope| {
        let key = value_with(key, item, locals, scope)?;
        Ok((ty_of(&key), plain(&key, scope)?))
    })?;
    if !missing.is_empty() || !matches!(of_key, Ty::Text | Ty::Int | Ty::Double) {
        let why = format!("function {own} by what may be missing, or no text or number");
        return Err(scope.refuse(why, "order by a field that every item has"));
    }
    let (list, faults) = lists::built(&strict_source(&source), scope)?;
    let first = |node| function("_[?_]", vec![node, int(0)]);
    let node = match own {
        "sort_by" => {
            return Ok(Val::Node { node: over(list, "sortBy", &var, key), ty, faults });
        }
        "min_by" => first(over(list, "sortBy", &var, key)),
        // Of several that are the largest the first one.
        _ => {
            let other = scope.unused(&format!("other{}", capitalized(&var)));
            let of_other = lists::renamed(&key, &var, &name(&other));
            let is_largest = over(list.clone(), "all", &other, binary("<=", of_other, key));
            first(over(list, "filter", &var, is_largest))
        }
    };
    Ok(Val::Optional { node, ty: ty.item(), faults, rescued: None })
}

/// The smaller or larger whole number; a whole number is both.
pub(crate) fn rounded(own: &str, of: &Val, scope: &mut Scope<'_>) -> Result<Val> {
    match (own, ty_of(of)) {
        ("ceil" | "floor", Ty::Int) => Ok(of.clone()),
        (_, ty @ (Ty::Int | Ty::Double)) => {
            scope.needs_kyverno(&format!("function {own}"))?;
            let (node, faults) = plain(&strict(of), scope)?;
            Ok(Val::Node { node: method(name("math"), own, vec![node]), ty, faults })
        }
        _ => Err(scope.refuse(format!("function {own} of what may be no number"), "compare the value")),
    }
}
