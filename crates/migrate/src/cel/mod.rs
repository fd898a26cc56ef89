//! CEL as text: the printer, and what builds trees to print.
//!
//! In: the syntax tree of `ephor-cel`. Out: its text, with as few parentheses as the grammar allows, macros as macros, broken at
//! width [`WIDTH`] with two blanks a level. Parsing the text gives the tree again (`tests/migrations/printing.rs`).

pub mod build;
mod contract;
mod layout;
mod print;

pub use print::{WIDTH, print};
