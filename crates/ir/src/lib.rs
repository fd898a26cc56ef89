//! The rule IR: what every policy language is lowered to and the engine runs.
//!
//! Few node kinds, each with one meaning: those that read on past what is missing, and strict ones,
//! for which missing things are faults and every step costs something. No node names the policy
//! kind it came from. `docs/internals/ir.md` lists every node with its meaning and says how the
//! constructs of CEL map onto them.
//!
//! In: built by `lower` (and by the language front ends for expressions), or read from JSON. Out:
//! run by `engine`, printed by `explain` as text or JSON.
#![forbid(unsafe_code)]

pub mod admission;
mod binding;
pub mod cel_exception;
pub mod check;
pub mod condition;
pub mod constraints;
mod derived;
pub mod expr;
pub mod expressions;
pub mod facts;
pub mod generate;
pub mod guard;
pub mod image_validation;
pub mod images;
pub mod item_keys;
pub mod json;
pub mod late;
pub mod manifests;
pub mod matcher;
pub mod mutate;
mod nested;
pub mod operator;
pub mod ops;
pub mod optimise;
pub mod origin;
pub mod pattern;
pub mod pod_security;
pub mod policy;
pub mod rule;
mod same;
pub mod selector;
pub mod shape;
pub mod sharing;
pub mod strict;
pub mod template;
pub mod walk;
pub mod webhook;

/// Whether a field has the value that a missing one has, so that it need not be written.
fn unset<T: Default + PartialEq>(v: &T) -> bool {
    *v == T::default()
}

pub use condition::{Condition, Conditions, Operator};
pub use expr::Expr;
pub use matcher::Matcher;
pub use origin::Origin;
pub use policy::{Exception, Policy};
pub use rule::Rule;
pub use shape::Shape;
pub use template::{Query, Template};
