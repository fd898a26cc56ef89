//! CEL as text: the printer, and what builds trees to print.
//!
//! In: the syntax tree of `ephor-cel`. Out: its text, with as few parentheses as the grammar
//! allows, macros as macros, broken at width [`WIDTH`] with two blanks a level. Parsing the text
//! gives the tree again (`tests/migrations/printing.rs`).
//!
//! - `build`: what trees are built with
//! - `contract`: loops → the macros that they come from
//! - `layout`: documents that are laid out in lines of a width
//! - `macros`: macros: calls whose first arguments are names of variables
//! - `print`: the printer
//! - `walk`: the parts of a tree

pub(crate) mod build;
pub(crate) mod contract;
pub(crate) mod layout;
pub(crate) mod macros;
pub(crate) mod print;
pub(crate) mod walk;

use ephor_cel::library::general;
use ephor_cel::syntax::parse;
pub use print::{WIDTH, is_same, print};

/// An expression in lines of the usual width; as it is where it cannot be parsed.
pub fn laid_out(text: &str) -> String {
    parse(text, general("").syntax).map_or_else(|_| text.to_string(), |node| print(&node, WIDTH))
}
