//! Walking over expressions: the only place that knows which children a node has, how many binders
//! it puts around each, and how often it evaluates each.
//!
//! In: an expression. Out: its children, one after the other in the order of evaluation, or the
//! expression with other children. Every kind of node is spelled out, so a new one does not compile
//! before it is walked. Nodes of all languages are walked alike: a pass that must keep the cost of
//! strict nodes leaves them as they are.

use super::Expr;
use super::strict::{Make, Step};

/// How a node holds a child.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Child {
    /// How many binders the node puts around it.
    pub binders: u32,
    /// How often it is evaluated.
    pub runs: Runs,
}

/// How often a node that is evaluated evaluates a child, faults of earlier children aside.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Runs {
    /// Exactly once.
    Once,
    /// Once or not at all.
    AtMostOnce,
    /// Once for each item of something, which may have none.
    PerItem,
}

const ONCE: Child = Child { binders: 0, runs: Runs::Once };
const AT_MOST_ONCE: Child = Child { binders: 0, runs: Runs::AtMostOnce };
const PER_ITEM: Child = Child { binders: 1, runs: Runs::PerItem };
const BOUND: Child = Child { binders: 1, runs: Runs::Once };

/// The walk over shared or mutable children: one text, so that both agree.
macro_rules! walker {
    ($(#[$about:meta])* $name:ident $(, $mut:tt)?) => {
        $(#[$about])*
        pub fn $name<'e>(expr: &'e $($mut)? Expr, f: &mut dyn FnMut(&'e $($mut)? Expr, Child)) {
            match expr {
                Expr::Const(_) | Expr::Root | Expr::Local(_) | Expr::Variable(_) | Expr::Folded(_) => {}
                Expr::Path { base: e, .. }
                | Expr::Index { base: e, .. }
                | Expr::Slice { base: e, .. }
                | Expr::Rescue { expr: e, .. }
                | Expr::Not(e)
                | Expr::Flatten(e)
                | Expr::OneOf { value: e, .. }
                | Expr::Once { expr: e, .. }
                | Expr::Cells { body: e, .. } => f(e, ONCE),
                Expr::Let { value, body } => {
                    f(value, ONCE);
                    f(body, BOUND);
                }
                Expr::Compare { sides, .. } | Expr::OrElse { sides, eager: true, .. } => {
                    let [left, right] = & $($mut)? **sides;
                    f(left, ONCE);
                    f(right, ONCE);
                }
                Expr::Or(sides)
                | Expr::And(sides)
                | Expr::UnlessNull(sides)
                | Expr::Decide { sides, .. }
                | Expr::OrElse { sides, eager: false, .. } => {
                    let [left, right] = & $($mut)? **sides;
                    f(left, ONCE);
                    f(right, AT_MOST_ONCE);
                }
                Expr::Cond(parts) => {
                    let [condition, then, other] = & $($mut)? **parts;
                    f(condition, ONCE);
                    f(then, AT_MOST_ONCE);
                    f(other, AT_MOST_ONCE);
                }
                Expr::Bind(parts) => {
                    let [value, body] = & $($mut)? **parts;
                    f(value, AT_MOST_ONCE);
                    f(body, BOUND);
                }
                Expr::Project { over: _, source, keep, body } => {
                    f(source, ONCE);
                    for e in [keep, body].into_iter().flatten() {
                        f(e, PER_ITEM);
                    }
                }
                Expr::Comprehension(l) => {
                    let per_item = Child { binders: if l.two { 2 } else { 1 }, ..PER_ITEM };
                    f(& $($mut)? l.range, ONCE);
                    if let Some(keep) = & $($mut)? l.keep {
                        f(keep, per_item);
                    }
                    f(& $($mut)? l.body, per_item);
                }
                Expr::Lambda { body, text: _ } => f(body, PER_ITEM),
                Expr::List(items)
                | Expr::Call { args: items, .. }
                | Expr::Higher { args: items, .. }
                | Expr::Fail { args: items, .. } => {
                    for e in items {
                        f(e, ONCE);
                    }
                }
                Expr::Object(pairs) => {
                    for (_, e) in pairs {
                        f(e, ONCE);
                    }
                }
                Expr::Walk(walk) => {
                    let walk = & $($mut)? **walk;
                    f(& $($mut)? walk.base, ONCE);
                    for step in & $($mut)? walk.steps {
                        match step {
                            Step::At { index, .. } => f(index, AT_MOST_ONCE),
                            Step::Key { .. } | Step::Field(_) => {}
                        }
                    }
                }
                Expr::Test(test) => {
                    let walk = & $($mut)? test.walk;
                    f(& $($mut)? walk.base, ONCE);
                    for step in & $($mut)? walk.steps {
                        match step {
                            Step::At { index, .. } => f(index, AT_MOST_ONCE),
                            Step::Key { .. } | Step::Field(_) => {}
                        }
                    }
                }
                Expr::Invoke(invoke) => {
                    for e in & $($mut)? invoke.args {
                        f(e, ONCE);
                    }
                }
                Expr::Make(make) => match & $($mut)? **make {
                    Make::List(items, _) => {
                        for e in items {
                            f(e, ONCE);
                        }
                    }
                    Make::Map(entries) => {
                        for (key, value, _) in entries {
                            f(key, ONCE);
                            f(value, ONCE);
                        }
                    }
                    Make::Struct(_, fields) => {
                        for (_, value, _) in fields {
                            f(value, ONCE);
                        }
                    }
                },
            }
        }
    };
}

walker! {
    /// Calls `f` with each child of a node in the order of evaluation.
    children
}

walker! {
    /// Calls `f` with each child of a node, which it may change, in the order of evaluation.
    children_mut, mut
}

/// The node with what `f` makes of each child.
pub fn map_children(mut expr: Expr, f: &mut dyn FnMut(Expr, Child) -> Expr) -> Expr {
    children_mut(&mut expr, &mut |e, child| *e = f(std::mem::replace(e, Expr::Root), child));
    expr
}

/// Rebuilds an expression from its leaves upwards.
pub fn bottom_up(expr: Expr, f: &mut dyn FnMut(Expr) -> Expr) -> Expr {
    let expr = map_children(expr, &mut |e, _| bottom_up(e, f));
    f(expr)
}

/// Whether some child of a node satisfies `test`.
pub fn any_child<'e>(expr: &'e Expr, test: &mut dyn FnMut(&'e Expr, Child) -> bool) -> bool {
    let mut found = false;
    children(expr, &mut |e, child| found = found || test(e, child));
    found
}

/// Whether some node of an expression satisfies `test`.
pub fn holds(expr: &Expr, test: &dyn Fn(&Expr) -> bool) -> bool {
    test(expr) || any_child(expr, &mut |e, _| holds(e, test))
}

/// Raises the locals that are bound outside of `expr` by `by`.
pub fn shift(expr: Expr, by: u32, bound: u32) -> Expr {
    match expr {
        Expr::Local(n) if n >= bound => Expr::Local(n.saturating_add(by)),
        expr => map_children(expr, &mut |e, child| shift(e, by, bound + child.binders)),
    }
}
