//! The optimiser: rules that mean the same and cost less.
//!
//! In: a lowered rule. Out: a rule that gives the same results, faults and texts included. Work
//! that does not depend on the request is done here, once. Each pass is small and has a file of its
//! own; [`PASSES`] lists those over expressions in the order in which they run, [`rule`] carries
//! them through templates, conditions and bodies. [`hoist`] is the last, and runs on CEL as well.
//!
//! The law, tested for every pass on generated expressions: evaluating an expression after a pass
//! gives what evaluating it before gives, be it a value or a fault. A fault stays where it is: what
//! would fail is never computed here.

mod bind;
mod condition;
mod dead;
pub mod faults;
mod fold;
mod fuse;
pub mod hoist;
mod passes;
mod rescue;
mod rule;
mod template;

pub use passes::{PASSES, Pass, expression, sorts};
pub use rule::rule;
