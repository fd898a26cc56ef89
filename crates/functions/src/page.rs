//! The registry as text: the page `docs/expressions/functions.md`, and what `jp function` shows of
//! one function.
//!
//! In: rows. Out: the page; `tests/reference` compares it. The layout of
//! [`entry`] is the reference's, examples aside.

use std::fmt::Write;

use super::{Function, all};

/// The page of all functions.
pub fn markdown() -> String {
    let mut out = String::from(
        "# Functions of JMESPath\n\n\
         Generated from the registry (`crates/functions/src/table.rs`), also by `ephor jp function --markdown`. The functions\n\
         of JMESPath are marked *standard*, the others are Kyverno's. An *impure* function may give another result for the\n\
         same arguments and is never computed when a policy is loaded. The cost says how a call grows: *constant*, *linear* in\n\
         its arguments, *heavy* where something is parsed, hashed or matched. The other language has [functions of its own](cel-functions.md).\n\n\
         Arguments are checked before a function runs: `incorrect number of args`, or `Invalid type for: V, expected: …`.\n",
    );
    for f in all() {
        let _ = write!(out, "\n## {}\n\n`{}`  \n{}", f.name, f.signature().replace('|', " or "), f.note);
        let mut marks = Vec::new();
        marks.extend((!f.kyverno).then_some("standard"));
        marks.extend((!f.is_pure()).then_some("impure"));
        marks.push(f.cost.name());
        let _ = writeln!(out, " *({})*\n\n```", marks.join(", "));
        for (expression, result) in f.examples {
            let _ = writeln!(out, "{expression} => {result}");
        }
        out.push_str("```\n");
    }
    out
}

/// Name, signature and note of a function; with its examples when they are wanted.
pub fn entry(f: &Function, examples: bool) -> String {
    let mut out = format!("Name: {}\n  Signature: {}\n  Note:      {}\n", f.name, f.signature(), f.note);
    for (expression, result) in f.examples.iter().filter(|_| examples) {
        let _ = writeln!(out, "  Example:   {expression} => {result}");
    }
    out.push('\n');
    out
}

/// The functions whose name or note holds `word`, in any case.
pub fn search(word: &str) -> Vec<&'static Function> {
    let word = word.to_lowercase();
    let holds = |text: &str| text.to_lowercase().contains(&word);
    all().iter().filter(|f| holds(f.name) || holds(f.note)).collect()
}

/// In the order in which lists show them: by signature.
pub fn by_signature(mut functions: Vec<&'static Function>) -> Vec<&'static Function> {
    functions.sort_by_key(|f| f.signature());
    functions
}
