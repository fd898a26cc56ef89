//! Dead branches: sides that are never evaluated, filters that keep everything, bodies that change
//! nothing.

use crate::walk::bottom_up;
use crate::{Expr, ops};

/// Runs the pass.
pub fn run(expr: Expr) -> Expr {
    bottom_up(expr, &mut node)
}

fn node(expr: Expr) -> Expr {
    match expr {
        Expr::Or(sides) => {
            let decided = constant_truth(&sides[0]);
            let [left, right] = *sides;
            match decided {
                Some(true) => left,
                Some(false) => right,
                None => Expr::Or(Box::new([left, right])),
            }
        }
        Expr::And(sides) => {
            let decided = constant_truth(&sides[0]);
            let [left, right] = *sides;
            match decided {
                Some(true) => right,
                Some(false) => left,
                None => Expr::And(Box::new([left, right])),
            }
        }
        Expr::UnlessNull(pair) => {
            let [subject, value] = *pair;
            match &subject {
                Expr::Const(v) if v.is_null() => subject,
                // Lists and objects are never null, but building them may fail.
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

/// The truth of a constant.
fn constant_truth(e: &Expr) -> Option<bool> {
    match e {
        Expr::Const(v) => Some(ops::truthy(v)),
        _ => None,
    }
}
