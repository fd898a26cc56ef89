//! Texts of policies and resources as terminals show them.

/// The text without characters that move the cursor.
pub(crate) fn printable(text: &str) -> String {
    text.chars().map(|c| if c.is_control() && c != '\t' { '\u{fffd}' } else { c }).collect()
}
