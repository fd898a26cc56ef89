//! Expressions that could make far more of their input than there is.
//!
//! `[@, @] | [@, @] | …` doubles its input at every step: the parts are shared and cost nothing
//! until the value is flattened, compared or printed. In: a lowered expression. Out: the same
//! expression, where it could make many times its input with a check around every list and object
//! that it makes ([`ephor_functions::BOUNDED`]), whose fault is `result is too large`. Expressions
//! that cannot, which is nearly all, stay as they are and pay nothing.

use super::Expr;
use super::walk::{bottom_up, children};
use ephor_functions::{self, Higher};

/// How many times an expression may repeat its input without being watched.
const UNWATCHED: u64 = 64;

/// Puts checks into an expression that needs them.
pub fn guard(expr: Expr) -> Expr {
    let mut most = 0;
    repeats(&expr, &mut most);
    if most <= UNWATCHED {
        return expr;
    }
    bottom_up(expr, &mut |e| match e {
        Expr::List(_) | Expr::Object(_) => {
            Expr::Call { function: &ephor_functions::BOUNDED, args: Box::new([e]) }
        }
        other => other,
    })
}

/// An upper bound of how often the result holds the same part of the input; `most` becomes the
/// greatest bound of any part of the expression.
fn repeats(expr: &Expr, most: &mut u64) -> u64 {
    let n = match expr {
        Expr::Let { value, body } => repeats(value, most).saturating_mul(repeats(body, most)),
        Expr::Project { source, keep, body, .. } => {
            if let Some(keep) = keep {
                let _ = repeats(keep, most);
            }
            repeats(source, most).saturating_mul(body.as_deref().map_or(1, |e| repeats(e, most)))
        }
        Expr::Or(sides) | Expr::And(sides) => repeats(&sides[0], most).max(repeats(&sides[1], most)),
        Expr::UnlessNull(pair) => {
            let _ = repeats(&pair[0], most);
            repeats(&pair[1], most)
        }
        Expr::Not(_) | Expr::Compare { .. } => {
            children(expr, &mut |e, _| {
                let _ = repeats(e, most);
            });
            1
        }
        Expr::Higher { kind: Higher::Map, args, .. } => {
            args.iter().fold(1, |n: u64, arg| n.saturating_mul(repeats(arg, most)))
        }
        // What an item gives is repeated for each item.
        Expr::Comprehension(l) => {
            if let Some(keep) = &l.keep {
                let _ = repeats(keep, most);
            }
            repeats(&l.range, most).saturating_mul(repeats(&l.body, most))
        }
        Expr::Bind(parts) => repeats(&parts[0], most).saturating_mul(repeats(&parts[1], most)),
        other => {
            let mut sum = 0u64;
            children(other, &mut |e, _| sum = sum.saturating_add(repeats(e, most)));
            sum.max(1)
        }
    };
    *most = n.max(*most);
    n
}
