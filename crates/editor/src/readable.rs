//! Documents that are half typed, read as well as they can be.

use ephor_document::yaml_value;
use ephor_value::Value;

use crate::span::Span;
use crate::text::Text;

/// The value of the document around the cursor: as it is, else without the line of the cursor, else
/// of what is above that line.
pub fn readable(text: &Text, document: Span, offset: usize) -> Value {
    let line = text.line_of(offset);
    let own = text.line_span(line);
    let start = own.start.max(document.start);
    let above = text.slice(Span { start: document.start, end: start });
    let below = text.slice(Span { start: own.end.min(document.end).max(start), end: document.end });
    let read = |text: &str| yaml_value(text).ok().filter(|value| value.as_map().is_some());
    read(text.slice(document))
        .or_else(|| read(&[above, below].concat()))
        .or_else(|| read(above))
        .unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_that_is_half_typed_does_not_hide_the_others() {
        let whole = "kind: Pod\nspec:\n  a: [\nx: z\n";
        let span = Span::of(0, whole.len());
        let value = readable(&Text::new(whole), span, whole.find('[').unwrap());
        assert_eq!((value.text_at(&["kind"]), value.text_at(&["x"])), ("Pod", "z"));
    }
}
