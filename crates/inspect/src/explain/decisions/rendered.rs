//! Values as decisions show them.

use ephor_value::Value;
use ephor_value::print::json;

/// How many characters of a value are shown.
const SHOWN: usize = 120;

/// A value on one line, cut when it is long.
pub(super) fn render(value: &Value) -> String {
    let text = json(value);
    match text.char_indices().nth(SHOWN) {
        Some((end, _)) => format!("{}…", text.get(..end).unwrap_or_default()),
        None => text,
    }
}
