//! What can be known of rules before there is a request.
//!
//! In: lowered policies. Out: which parts of a request their results depend on ([`reads`], for the result cache), and what
//! outside of the request they ask for ([`reach`], for operators). Both walk the IR without evaluating anything.

pub mod reach;
pub mod reads;
