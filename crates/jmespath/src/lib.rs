//! Kyverno's JMESPath dialect: text → syntax tree.
//!
//! In: an expression. Out: an [`Ast`], or a [`SyntaxError`] with the reference's text and the byte
//! where it happened. The grammar deviates from the JMESPath specification in many small ways (see
//! `docs/expressions/jmespath.md`), which is why the published parsers cannot be used. The tree is only walked
//! to be printed or lowered to the IR; nothing is evaluated here.
//!
//! - [`ast`]: the syntax tree and its two texts: the tree of `jp parse` and the one-line form of
//!   type errors
//! - [`lexer`]: text → tokens
//! - [`lower`]: syntax tree → IR
//! - [`parser`]: tokens → syntax tree: an operator-precedence parser
#![forbid(unsafe_code)]

pub mod ast;
pub mod lexer;
pub mod lower;
pub mod parser;

pub use ast::{Ast, Comparator};
pub use parser::parse;

/// Why a text is not an expression.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SyntaxError {
    /// The reference's text, for example `SyntaxError: Incomplete expression`.
    pub text: String,
    /// Byte offset in the expression.
    pub offset: usize,
    /// Whether the reference shows the place: errors of its JSON and integer decoders have none.
    pub marked: bool,
}

impl SyntaxError {
    fn at(offset: usize, text: impl AsRef<str>) -> Self {
        SyntaxError { text: format!("SyntaxError: {}", text.as_ref()), offset, marked: true }
    }

    fn raw(offset: usize, text: impl Into<String>) -> Self {
        SyntaxError { text: text.into(), offset, marked: false }
    }

    /// The error as `jp parse` prints it: the text and, where the reference knows the place, the
    /// expression with a caret behind as many blanks as there are bytes before.
    pub fn with_caret(&self, expression: &str) -> String {
        if self.marked {
            format!("{}\n{expression}\n{}^", self.text, " ".repeat(self.offset))
        } else {
            self.text.clone()
        }
    }
}

impl std::fmt::Display for SyntaxError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.text)
    }
}

impl std::error::Error for SyntaxError {}

#[cfg(test)]
mod tests;
