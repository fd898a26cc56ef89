//! Lists of any length: which few of them stand for all.
//!
//! - `observation`: what loops say of one list
//! - `closure`: lists about which loops say different things
//! - `closure_cache`: what loops say of lists that grow, found once
//! - `iteration`: lists that an expression walks item by item
//! - `loops`: the loops of a rule, evaluated alone
//! - `projections`: expressions that give parts of the object
//! - `searched`: lists in which operators look for a text
//! - `small_model`: how many items of lists matter (small-model bound)

pub(crate) mod closure;
pub(crate) mod closure_cache;
pub(crate) mod iteration;
pub(crate) mod loops;
pub(crate) mod observation;
pub(crate) mod projections;
pub(crate) mod searched;
pub(crate) mod small_model;
