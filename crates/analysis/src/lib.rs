//! What can be known of rules before there is a request.
//!
//! In: lowered policies. Out: which parts of a request their results depend on ([`reads`], for the
//! result cache), and what external data they look up ([`reach`], for operators), what of them is
//! known only at run time ([`assumptions`]), and their nodes as trees with names ([`tree`]).
//! Nothing here evaluates.
#![forbid(unsafe_code)]

pub mod assumptions;
pub mod print;
pub mod reach;
pub mod reads;
pub mod tree;
