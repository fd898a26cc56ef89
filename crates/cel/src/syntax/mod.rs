//! The syntax of CEL: tokens, grammar, macros.

pub mod lexer;
mod literal;
mod macros;
mod parser;
mod recover;

pub use parser::{Options, parse};

#[cfg(test)]
mod tests;
