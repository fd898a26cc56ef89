//! Walking over expressions: the only place that knows which operands a node has and where it binds.

use crate::ir::Expr;

fn boxed(e: Expr, binders: u32, f: &mut dyn FnMut(Expr, u32) -> Expr) -> Box<Expr> {
    Box::new(f(e, binders))
}

fn all(items: Box<[Expr]>, f: &mut dyn FnMut(Expr, u32) -> Expr) -> Box<[Expr]> {
    items.into_vec().into_iter().map(|e| f(e, 0)).collect()
}

fn pair(sides: [Expr; 2], f: &mut dyn FnMut(Expr, u32) -> Expr) -> Box<[Expr; 2]> {
    let [a, b] = sides;
    let a = f(a, 0);
    Box::new([a, f(b, 0)])
}

/// Rebuilds a node with `f` applied to each operand; `f` is told how many binders the node puts
/// around it.
pub fn map_operands(expr: Expr, f: &mut dyn FnMut(Expr, u32) -> Expr) -> Expr {
    match expr {
        Expr::Const(_) | Expr::Root | Expr::Local(_) => expr,
        // What a strict node is charged depends on its form: it is left as it is.
        Expr::Walk(_) | Expr::Test(_) | Expr::Cond(_) | Expr::Decide { .. } | Expr::Invoke(_) => expr,
        Expr::OneOf { .. } | Expr::Make(_) | Expr::Loop(_) | Expr::Bind(_) | Expr::OrElse { .. } => expr,
        Expr::Lazy(_) => expr,
        Expr::Path { base, keys, scalar } => Expr::Path { base: boxed(*base, 0, f), keys, scalar },
        Expr::Index { base, index } => Expr::Index { base: boxed(*base, 0, f), index },
        Expr::Slice { base, bounds } => Expr::Slice { base: boxed(*base, 0, f), bounds },
        Expr::Let { value, body } => {
            let value = boxed(*value, 0, f);
            Expr::Let { value, body: boxed(*body, 1, f) }
        }
        Expr::Rescue { expr, faults } => Expr::Rescue { expr: boxed(*expr, 0, f), faults },
        Expr::Not(e) => Expr::Not(boxed(*e, 0, f)),
        Expr::Or(sides) => Expr::Or(pair(*sides, f)),
        Expr::And(sides) => Expr::And(pair(*sides, f)),
        Expr::Compare { op, sides } => Expr::Compare { op, sides: pair(*sides, f) },
        Expr::Project { over, source, keep, body } => {
            let source = boxed(*source, 0, f);
            let keep = keep.map(|e| boxed(*e, 1, f));
            let body = body.map(|e| boxed(*e, 1, f));
            Expr::Project { over, source, keep, body }
        }
        Expr::Flatten(e) => Expr::Flatten(boxed(*e, 0, f)),
        Expr::List(items) => Expr::List(all(items, f)),
        Expr::Object(pairs) => {
            Expr::Object(pairs.into_vec().into_iter().map(|(k, e)| (k, f(e, 0))).collect())
        }
        Expr::UnlessNull(sides) => Expr::UnlessNull(pair(*sides, f)),
        Expr::Call { function, args } => Expr::Call { function, args: all(args, f) },
        Expr::Higher { kind, function, args } => Expr::Higher { kind, function, args: all(args, f) },
        Expr::Lambda { body, text } => Expr::Lambda { body: boxed(*body, 1, f), text },
        Expr::Fail { args, text } => Expr::Fail { args: all(args, f), text },
    }
}

/// Rebuilds an expression from its leaves upwards.
pub fn bottom_up(expr: Expr, f: &mut dyn FnMut(Expr) -> Expr) -> Expr {
    let expr = map_operands(expr, &mut |e, _| bottom_up(e, f));
    f(expr)
}

/// Shows `f` each operand of a node in the order of evaluation, with the number of binders that the
/// node puts around it.
pub fn operands<'e>(expr: &'e Expr, f: &mut dyn FnMut(&'e Expr, u32)) {
    match expr {
        Expr::Const(_) | Expr::Root | Expr::Local(_) => {}
        Expr::Walk(_) | Expr::Test(_) | Expr::Cond(_) | Expr::Decide { .. } | Expr::Invoke(_) => {}
        Expr::OneOf { .. } | Expr::Make(_) | Expr::Loop(_) | Expr::Bind(_) | Expr::OrElse { .. } => {}
        Expr::Lazy(_) => {}
        Expr::Path { base: e, .. }
        | Expr::Index { base: e, .. }
        | Expr::Slice { base: e, .. }
        | Expr::Rescue { expr: e, .. }
        | Expr::Not(e)
        | Expr::Flatten(e) => f(e, 0),
        Expr::Let { value, body } => {
            f(value, 0);
            f(body, 1);
        }
        Expr::Or(sides) | Expr::And(sides) | Expr::Compare { sides, .. } | Expr::UnlessNull(sides) => {
            sides.iter().for_each(|e| f(e, 0))
        }
        Expr::Project { source, keep, body, .. } => {
            f(source, 0);
            keep.iter().chain(body).for_each(|e| f(e, 1));
        }
        Expr::List(items)
        | Expr::Call { args: items, .. }
        | Expr::Higher { args: items, .. }
        | Expr::Fail { args: items, .. } => items.iter().for_each(|e| f(e, 0)),
        Expr::Object(pairs) => pairs.iter().for_each(|(_, e)| f(e, 0)),
        Expr::Lambda { body, .. } => f(body, 1),
    }
}

/// Raises the locals that are bound outside of `expr` by `by`.
pub fn shift(expr: Expr, by: u32, bound: u32) -> Expr {
    match expr {
        Expr::Local(n) if n >= bound => Expr::Local(n.saturating_add(by)),
        expr => map_operands(expr, &mut |e, binders| shift(e, by, bound + binders)),
    }
}
