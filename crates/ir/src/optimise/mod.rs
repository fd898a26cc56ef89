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
//!
//! - `bind`: needless binders: a `Let` goes where its value can stand in the place of its uses
//! - `condition`: those whose result is known before any request go, together with
//!   those that are never reached
//! - `dead`: dead branches: sides that are never evaluated, filters that keep everything, bodies
//!   that change nothing
//! - [`faults`]: which faults an expression can give: an upper bound, by its form alone
//! - `fold`: constant folding: a node whose operands are constant becomes its value
//! - `fuse`: path fusing: keys that are read one after the other in the same way become one node
//! - [`hoist`]: loop invariants and sub-expressions that occur more than once: each is evaluated
//!   once for each evaluation of the expression
//! - `passes`: the optimiser's passes on expressions, and the order in which they run
//! - `rescue`: needless absorption: a `Rescue` goes where its operand cannot fail that way, or
//!   where what is around it makes null of the same faults anyway
//! - `rule`: carries the passes to every expression, template and condition that a rule
//!   holds
//! - `template`: variables whose result is constant become part of the text

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
