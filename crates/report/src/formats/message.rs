//! Messages of results as formats show them.

use ephor_engine::Status;

use crate::run::Finding;

/// The message, or a sentence where the policy has none.
pub(crate) fn message(finding: &Finding) -> &str {
    match (finding.message.as_str(), finding.status) {
        ("", Status::Error) => "the rule cannot be evaluated",
        ("", Status::Fail | Status::Warn) => "validation failed",
        (message, _) => message,
    }
}

/// The text without characters that a terminal or a parser would act on: control characters are
/// replaced, but those that are `retained`. Messages hold what policies and resources hold.
pub(crate) fn visible(text: &str, retained: &[char]) -> String {
    let is_hidden =
        |c: char| (c.is_control() || matches!(c, '\u{fffe}' | '\u{ffff}')) && !retained.contains(&c);
    text.chars().map(|c| if is_hidden(c) { '\u{fffd}' } else { c }).collect()
}
