//! Path fusing: keys that are read one after the other in the same way become one node.
//!
//! Not where a missing key is null and reading from null is a fault: one node ends at the missing
//! key, two nodes fail.

use super::walk::bottom_up;
use crate::ir::Expr;
use crate::ir::expr::{Access, Missing};

const BREAKS: Access = Access { key: Missing::Null, scalar: Missing::Fault };

/// Runs the pass.
pub fn run(expr: Expr) -> Expr {
    bottom_up(expr, &mut |e| match e {
        Expr::Path { base, keys, access } if access != BREAKS => match *base {
            Expr::Path { base, keys: first, access: same } if same == access => {
                let keys = first.into_vec().into_iter().chain(keys.into_vec()).collect();
                Expr::Path { base, keys, access }
            }
            base => Expr::Path { base: Box::new(base), keys, access },
        },
        other => other,
    })
}
