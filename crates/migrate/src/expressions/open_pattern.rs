//! Patterns with variables → tests.
//!
//! In: a pattern whose leaves hold variables. Out: the test. Only leaves that are nothing but a variable, or a sign and a variable,
//! can be said: what a variable brings in is compared, never read as a pattern. Semantics: `docs/validate.md`, "Bodies".

use crate::ir::Template;

use super::Refusal;
use super::scope::Scope;
use super::term::{Path, Test};

/// What a pattern requires of a value that is there.
///
/// # Errors
/// Always so far.
pub fn test(own: &Template, _: &Path, scope: &mut Scope<'_>) -> Result<Test, Refusal> {
    let _ = own;
    Err(scope.refuse("variables in a pattern", "write a deny rule with conditions"))
}
