//! The syntax of CEL: tokens, grammar, macros.

mod builder;
pub mod lexer;
mod literal;
mod macros;
mod options;
mod parser;
#[cfg(feature = "syntax-errors")]
mod recover;

pub use macros::MACROS;
pub use options::Options;
pub use parser::parse;

#[cfg(test)]
mod tests;
