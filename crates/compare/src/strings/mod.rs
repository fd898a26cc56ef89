//! Classes of texts: a witness for each set of the languages of a field.
//!
//! - `automaton`: wildcards and regular expressions as automata
//! - `languages`: the languages of a field
//! - `numeral_forms`: forms of numbers
//! - `numerals`: numbers as regular languages
//! - `preimage`: the texts of which a step makes those of a language
//! - `witnesses`: a shortest text for each set of languages

pub(crate) mod automaton;
pub(crate) mod languages;
pub(crate) mod numeral_forms;
pub(crate) mod numerals;
pub(crate) mod preimage;
pub(crate) mod witnesses;
