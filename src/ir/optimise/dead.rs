//! Dead branches: sides that are never evaluated, filters that keep everything, bodies that change
//! nothing.

use super::walk::bottom_up;
use crate::ir::{Expr, ops};

/// Runs the pass.
pub fn run(expr: Expr) -> Expr {
    bottom_up(expr, &mut node)
}

fn node(expr: Expr) -> Expr {
    match expr {
        Expr::Or { sides, truth } => {
            let decided = constant_truth(&sides[0], truth);
            let [left, right] = *sides;
            match decided {
                Some(true) => left,
                Some(false) => right,
                None => Expr::Or { sides: Box::new([left, right]), truth },
            }
        }
        Expr::And { sides, truth } => {
            let decided = constant_truth(&sides[0], truth);
            let [left, right] = *sides;
            match decided {
                Some(true) => right,
                Some(false) => left,
                None => Expr::And { sides: Box::new([left, right]), truth },
            }
        }
        Expr::UnlessNull(pair) => {
            let [subject, value] = *pair;
            match &subject {
                Expr::Const(v) if v.is_null() => subject,
                // Lists and objects are never null, but making them may fail.
                Expr::Const(_) => value,
                _ => Expr::UnlessNull(Box::new([subject, value])),
            }
        }
        Expr::Project { over, source, keep, body } => {
            let keep = keep.filter(|k| !matches!(&**k, Expr::Const(v) if ops::truthy(v)));
            // Null items are dropped with and without a body.
            let body = body.filter(|b| !matches!(**b, Expr::Local(0)));
            Expr::Project { over, source, keep, body }
        }
        other => other,
    }
}

/// The truth of a constant; `None` also when it has none, which is a fault.
fn constant_truth(e: &Expr, rule: crate::ir::expr::Truth) -> Option<bool> {
    match e {
        Expr::Const(v) => ops::truth(v, rule).ok(),
        _ => None,
    }
}
