//! CEL, the Common Expression Language: text → syntax tree → checked tree → IR.
//!
//! In: an expression and the environment that it may use. Out: an IR expression that the one evaluator
//! runs, its type, and the issues in the exact words of the reference. Semantics: `docs/cel.md`.

pub mod ast;
pub mod check;
pub mod env;
mod infer;
pub mod issue;
pub mod library;
pub mod syntax;
pub mod types;
