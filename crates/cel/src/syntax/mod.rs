//! The syntax of CEL: tokens, grammar, macros.

mod builder;
pub mod lexer;
mod literal;
mod macros;
mod options;
mod parser;
mod recover;

pub use options::Options;
pub use parser::parse;

#[cfg(test)]
mod tests;
