//! Answers to the questions of a page about policies, as JSON.
//!
//! In: the text of a question, an object whose member `question` says which one it is
//! ([`question`]). Out: the text of an object: the answer, or `{"error": {"text": …}}`. Every text
//! has an answer, within bounds of size ([`MAX_QUESTION`]) and time. Nothing is read but the
//! question: no file, no network, no cluster. Verdicts, messages, findings and proofs are those of
//! the commands `apply`, `explain`, `lint`, `migrate`, `diff`, `cel eval` and `jp query`, for the
//! same code computes them.
//!
//! A page in a browser calls it in WebAssembly (`web/`), `ephor play` calls it natively; the same
//! question has the same answer, but for the time of a clock and what a limit of time cuts short.
//!
//! ```
//! let question = r#"{"question": "jmespath", "expression": "a.b", "document": "a: {b: 1}"}"#;
//! assert_eq!(ephor_page::answer(question), r#"{"value":"1"}"#);
//! assert!(ephor_page::answer("?").starts_with(r#"{"error":"#));
//! ```
//!
//! - `compare`: whether two texts of policies mean the same
//! - `evaluate`: what policies decide about objects
//! - `expression`: single expressions
//! - `lint`: findings
//! - `migrate`: ClusterPolicies as policies in CEL, with their proofs
//! - [`question`]: the questions
#![forbid(unsafe_code)]

mod compare;
mod evaluate;
mod expression;
mod lint;
mod migrate;
pub mod question;

use serde_json::{Value as Json, json};

use question::{Question, QuestionError};

/// The longest question, in bytes.
pub const MAX_QUESTION: usize = 16 << 20;

/// Answers a question; see the page of the crate.
pub fn answer(question: &str) -> String {
    let answered = read(question).and_then(|question| answered(&question));
    answered.unwrap_or_else(|error| json!({"error": error.to_json()})).to_string()
}

/// Answers a question that was read or built; its texts are not measured.
///
/// # Errors
/// A part of the question cannot be used.
pub fn answered(question: &Question) -> Result<Json, QuestionError> {
    match question {
        Question::Evaluate(question) => evaluate::answer(question),
        Question::Lint(question) => lint::answer(question),
        Question::Migrate(question) => migrate::answer(question),
        Question::Diff(question) => compare::answer(question),
        Question::Cel(question) => expression::cel(question),
        Question::Jmespath(question) => expression::jmespath(question),
        Question::Version => Ok(json!({"version": env!("CARGO_PKG_VERSION")})),
    }
}

fn read(text: &str) -> Result<Question, QuestionError> {
    if text.len() > MAX_QUESTION {
        return Err(QuestionError::TooLarge { bytes: text.len() });
    }
    Ok(serde_json::from_str(text)?)
}

/// The value of a text that is JSON; the text itself if it is none.
fn parsed(text: &str) -> Json {
    serde_json::from_str(text).unwrap_or_else(|_| text.into())
}
