//! Path fusing: keys that are read one after the other in the same way become one node.

use crate::Expr;
use crate::walk::bottom_up;

/// Runs the pass.
pub fn run(expr: Expr) -> Expr {
    bottom_up(expr, &mut |e| match e {
        Expr::Path { base, keys, scalar } => match *base {
            Expr::Path { base, keys: first, scalar: same } if same == scalar => {
                let keys = first.into_vec().into_iter().chain(keys.into_vec()).collect();
                Expr::Path { base, keys, scalar }
            }
            base => Expr::Path { base: Box::new(base), keys, scalar },
        },
        other => other,
    })
}
