//! The diagnostics of a file.
//!
//! - `manifests`: the policies that the objects of a file violate
//! - `policies`: what `ephor lint` finds in the policies of a file
//! - `tests`: names in test files that no policy of the workspace has

mod manifests;
mod policies;
mod tests;

use crate::cancel::{Cancellation, Cancelled};
use crate::diagnostic::{Diagnostic, Level, limited};
use crate::entry::Role;
use crate::index::Index;
use crate::linted::is_checked;
use crate::span::Span;
use crate::text::MAX_TEXT;

/// What there is to show of a file.
///
/// # Errors
/// The token was cancelled.
pub fn diagnostics(index: &Index, name: &str, token: &Cancellation) -> Result<Vec<Diagnostic>, Cancelled> {
    token.step()?;
    let Some(file) = index.file(name) else { return Ok(Vec::new()) };
    let mut out = Vec::new();
    if file.text.is_too_large() {
        let text = format!("a file of more than {} MiB is not checked", MAX_TEXT >> 20);
        return Ok(vec![Diagnostic::new(Span::default(), Level::Warning, "too-large", text)]);
    }
    let entry = &file.latest;
    if is_checked(entry, file.is_open) {
        policies::check(index, name, file, &mut out);
    }
    token.step()?;
    if entry.has(Role::Test) {
        tests::check(index, file, &mut out);
    }
    if entry.has(Role::Object) && index.settings().checks_manifests && !index.is_sample(name) {
        manifests::check(index, file, token, &mut out)?;
    }
    out.retain(|found| index.settings().shows_notes || found.level != Level::Note);
    Ok(limited(out))
}
