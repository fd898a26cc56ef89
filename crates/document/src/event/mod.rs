//! The event parser: YAML text to the starts, scalars and ends of its nodes.
//!
//! A port of libyaml's scanner and parser (MIT), whose grammar, token order and error texts the
//! reference's decoder shares. It works on a slice and borrows scalars from it where no folding or
//! escape changes them. In: UTF-8 text. Out: [`Event`]s with their places, or a [`SyntaxError`],
//! whose text is the one that users see (`yaml: line 3: did not find expected key`). No input makes
//! it panic, recurse or loop.
//!
//! - [`scanner`]: characters to tokens, with indentation and simple keys;
//! - [`text`]: the four scalar notations;
//! - [`property`]: directives, anchors and tags;
//! - [`parser`]: tokens to events;
//! - `step`: the steps, and where they stand;
//! - [`error`]: what is wrong with text that is not YAML.

mod error;
mod parser;
mod property;
mod scanner;
mod step;
mod text;

pub use error::{SyntaxError, SyntaxPlace, SyntaxProblem};
pub(super) use parser::Parser;
pub(super) use scanner::Scanner;
pub(super) use step::{Event, EventData, Mark};
