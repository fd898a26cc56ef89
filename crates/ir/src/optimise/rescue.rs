//! Needless absorption: a `Rescue` goes where its operand cannot fail that way, or where what is
//! around it makes null of the same faults anyway.

use super::faults::{may, takes_missing_for_null};
use crate::Expr;
use crate::expr::{Faults, Missing};
use crate::walk::bottom_up;

/// Runs the pass.
pub fn run(expr: Expr) -> Expr {
    bottom_up(expr, &mut node)
}

fn node(expr: Expr) -> Expr {
    match expr {
        Expr::Rescue { expr, faults } => {
            let inner = inside(*expr, faults);
            if may(&inner).meets(faults) { Expr::Rescue { expr: Box::new(inner), faults } } else { inner }
        }
        // An item for which a key is missing is skipped, and so is one that gives null.
        Expr::Project { over, source, keep, body } => Expr::Project {
            over,
            source,
            keep: keep.map(|e| Box::new(without_missing(*e))),
            body: body.map(|e| Box::new(without_missing(*e))),
        },
        Expr::Higher { kind, function, args } if takes_missing_for_null(kind) => {
            let lambda = |e: Expr| match e {
                Expr::Lambda { body, text } => Expr::Lambda { body: Box::new(without_missing(*body)), text },
                other => other,
            };
            Expr::Higher { kind, function, args: args.into_vec().into_iter().map(lambda).collect() }
        }
        other => other,
    }
}

fn without_missing(expr: Expr) -> Expr {
    match expr {
        Expr::Rescue { expr, faults: Faults::MissingAsNull } => *expr,
        other => other,
    }
}

/// The operand of a `Rescue` without another one inside of it that does no more: reading on from
/// null gives null, which is what the outer one makes of the fault.
fn inside(expr: Expr, outer: Faults) -> Expr {
    match expr {
        Expr::Rescue { expr, faults } if covers(outer, faults) => inside(*expr, outer),
        Expr::Path { base, keys, scalar: scalar @ Missing::Null } => {
            Expr::Path { base: Box::new(inside(*base, outer)), keys, scalar }
        }
        Expr::Index { base, index } => Expr::Index { base: Box::new(inside(*base, outer)), index },
        Expr::Slice { base, bounds } => Expr::Slice { base: Box::new(inside(*base, outer)), bounds },
        other => other,
    }
}

fn covers(outer: Faults, inner: Faults) -> bool {
    inner == Faults::MissingAsNull || outer == Faults::AllAsNull
}
