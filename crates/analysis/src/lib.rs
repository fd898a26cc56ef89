//! What can be known of rules before there is a request.
//!
//! In: lowered policies. Out: which parts of a request their results depend on ([`reads`], for the
//! result cache), and what external data they look up ([`reach`], for operators), what of them is
//! known only at run time ([`assumptions`]), and their nodes as trees with names ([`tree`]).
//! Nothing here evaluates.
//!
//! - `assumptions`: what is known only at run time
//! - `print`: rules as text
//! - `reach`: external data that rules look up
//! - `reads`: the parts of a request that results depend on
//! - `tree`: nodes as trees with names, for printing
#![forbid(unsafe_code)]

pub mod assumptions;
pub mod print;
pub mod reach;
pub mod reads;
pub mod tree;
