//! Whether what an expression gives are parts of the object.
//!
//! In: an expression. Out: whether its value, or each item of it, is a part of the object as it is:
//! then what is written into that part is found there by all that read it. Parts that are put
//! together, or computed, are none.

use ephor_functions::registry::Operation;
use ephor_ir::Expr;
use ephor_ir::expr::Over;
use ephor_ir::expressions::Variable;
use ephor_ir::strict::{ComprehensionKind, Make, Step};
use ephor_value::Value;

use crate::model::limits::MAX_PROJECTION_DEPTH;

/// What is known around an expression.
#[derive(Clone, Copy)]
pub(crate) struct ProjectionScope<'a> {
    /// The programs of composed variables that it may read.
    pub variables: &'a [ephor_ir::expressions::Variable],
    /// Whether `element` is a part of the object.
    pub element: bool,
}

/// Whether an expression gives parts of the object; `locals`: whether values of binders are such,
/// the innermost last.
pub(crate) fn are_parts(
    expr: &Expr,
    locals: &mut Vec<bool>,
    around: ProjectionScope<'_>,
    depth: usize,
) -> bool {
    if depth > MAX_PROJECTION_DEPTH {
        return false;
    }
    let bound = |value: &Expr, body: &Expr, locals: &mut Vec<bool>| {
        let value = are_parts(value, locals, around, depth + 1);
        locals.push(value);
        let is = are_parts(body, locals, around, depth + 1);
        locals.pop();
        is
    };
    let of_items = |source: &Expr, body: Option<&Expr>, locals: &mut Vec<bool>| match body {
        None => are_parts(source, locals, around, depth + 1),
        Some(body) => bound(source, body, locals),
    };
    let all =
        |all: &[Expr], locals: &mut Vec<bool>| all.iter().all(|e| are_parts(e, locals, around, depth + 1));
    match expr {
        Expr::Const(value) => is_nothing(value),
        Expr::Path { base, keys, .. } if matches!(**base, Expr::Root) => match &**keys {
            [request, object, ..]
                if **request == *"request" && matches!(&**object, "object" | "oldObject") =>
            {
                true
            }
            [object, ..] if matches!(&**object, "object" | "oldObject") => true,
            [element, ..] => **element == *"element" && around.element,
            [] => false,
        },
        Expr::Path { base: e, .. }
        | Expr::Index { base: e, .. }
        | Expr::Slice { base: e, .. }
        | Expr::Flatten(e)
        | Expr::Rescue { expr: e, .. }
        | Expr::Once { expr: e, .. }
        | Expr::Cells { body: e, .. } => are_parts(e, locals, around, depth + 1),
        Expr::Local(n) => {
            let at = locals.len().checked_sub(1 + *n as usize);
            at.and_then(|at| locals.get(at)).copied().unwrap_or(false)
        }
        Expr::Walk(walk) => {
            !walk.steps.iter().any(|step| matches!(step, Step::Field(_)))
                && are_parts(&walk.base, locals, around, depth + 1)
        }
        Expr::Project { over: Over::Items, source, body, .. } => of_items(source, body.as_deref(), locals),
        Expr::Comprehension(l) if l.kind == ComprehensionKind::List && !l.two => {
            of_items(&l.range, Some(&l.body), locals)
        }
        Expr::Let { value, body } => bound(value, body, locals),
        Expr::Bind(parts) => bound(&parts[0], &parts[1], locals),
        Expr::Or(sides) | Expr::OrElse { sides, .. } => all(&**sides, locals),
        Expr::UnlessNull(pair) => are_parts(&pair[1], locals, around, depth + 1),
        Expr::Cond(parts) => {
            let [_, then, other] = &**parts;
            are_parts(then, locals, around, depth + 1) && are_parts(other, locals, around, depth + 1)
        }
        Expr::List(items) => all(items, locals),
        Expr::Make(make) => match &**make {
            Make::List(items, _) => all(items, locals),
            _ => false,
        },
        Expr::Invoke(call) => {
            matches!(call.function.operation, Operation::Add | Operation::Unchanged)
                && all(&call.args, locals)
        }
        Expr::Variable(n) => Variable::at(around.variables, *n).is_some_and(|(program, variables)| {
            are_parts(program, &mut Vec::new(), ProjectionScope { variables, ..around }, depth + 1)
        }),
        _ => false,
    }
}

/// Whether a value has no parts that could be taken for those of the object.
fn is_nothing(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::List(items) => items.is_empty(),
        Value::Str(_) => true,
        _ => false,
    }
}
