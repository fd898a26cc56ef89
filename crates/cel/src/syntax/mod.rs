//! The syntax of CEL: tokens, grammar, macros.
//!
//! - `builder`: what both parsers build nodes with: the one of the grammar, and the one that finds
//!   the issues of texts with errors
//! - [`lexer`]: tokens of CEL
//! - `literal`: numbers, strings and byte strings
//! - `macros`: calls that stand for loops and tests
//! - `options`: what the syntax allows, and how deep
//! - `parser`: the grammar of CEL
//! - `recover`: what is wrong with a text that does not parse

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
