//! Rewriting expressions that change pods for the controllers of pods.
//!
//! In: an expression and the path of the pod template. Out: the same on the controller, found by
//! words as the reference does it. Semantics: `docs/semantics/cel-policies.md`, "Controllers of
//! pods".

/// The words that stand for objects.
const OBJECTS: [&str; 3] = ["object", "oldObject", "Object"];

/// Rewrites what is read: `.spec`, `.metadata.labels` and `.metadata.annotations`.
pub fn expression(text: &str, prefix: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    let mut before = None;
    while let Some(c) = rest.chars().next() {
        let starts_word = before.is_none_or(|b: char| !is_word(b));
        let moved = if starts_word { rewritten(rest, prefix) } else { None };
        match moved {
            Some((to, length)) => {
                out.push_str(&to);
                before = to.chars().last();
                rest = rest.get(length..).unwrap_or_default();
            }
            None => {
                out.push(c);
                before = Some(c);
                rest = rest.get(c.len_utf8()..).unwrap_or_default();
            }
        }
    }
    out
}

fn is_word(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_'
}

/// What stands at the beginning of a text, rewritten, and how long it was.
fn rewritten(text: &str, prefix: &str) -> Option<(String, usize)> {
    let object = OBJECTS.iter().find(|o| text.strip_prefix(**o).is_some_and(|r| r.starts_with('.')))?;
    for field in ["spec", "metadata.labels", "metadata.annotations"] {
        let from = format!("{object}.{field}");
        if text.starts_with(&from) {
            return Some((format!("{object}.{prefix}.{field}"), from.len()));
        }
    }
    None
}

/// Rewrites a merge: what is read, and the literal that the expression begins with.
pub fn merge(text: &str, prefix: &str) -> String {
    let moved = expression(text.trim(), prefix);
    let Some(open) = literal_start(&moved) else { return moved };
    let Some(close) = closing(&moved, open) else { return moved };
    let (inner, tail) = (moved.get(open + 1..close), moved.get(close + 1..));
    let mut out = String::new();
    let mut path = String::from("Object");
    for part in prefix.split('.') {
        out.push_str(&format!("{path}{{{part}: "));
        path.push('.');
        path.push_str(part);
    }
    out.push_str(&format!("{path}{{{}}}", inner.unwrap_or_default()));
    out.extend(prefix.split('.').map(|_| '}'));
    out.push_str(tail.unwrap_or_default());
    out
}

/// The place of the brace of a literal that the text begins with.
fn literal_start(text: &str) -> Option<usize> {
    let rest = text.strip_prefix("Object")?;
    let blanks = rest.len() - rest.trim_start_matches(' ').len();
    (blanks <= 1 && rest.trim_start_matches(' ').starts_with('{')).then_some("Object".len() + blanks)
}

/// The brace that closes the one at a place; those in texts count too.
fn closing(text: &str, open: usize) -> Option<usize> {
    let mut depth = 0usize;
    for (i, c) in text.char_indices().skip_while(|(i, _)| *i < open) {
        match c {
            '{' => depth += 1,
            '}' => {
                depth = depth.saturating_sub(1);
                if depth == 0 {
                    return Some(i);
                }
            }
            _ => {}
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_literal_is_put_below_the_template() {
        assert_eq!(
            merge("Object{spec: Object.spec{priority: 5}}", "spec.template"),
            "Object{spec: Object.spec{template: Object.spec.template{spec: Object.spec.template.spec{priority: 5}}}}"
        );
    }

    #[test]
    fn what_is_read_is_read_from_the_template_but_for_names() {
        assert_eq!(
            expression("object.spec.a + object.metadata.name + object.metadata.labels.x", "spec.template"),
            "object.spec.template.spec.a + object.metadata.name + object.spec.template.metadata.labels.x"
        );
    }

    #[test]
    fn a_literal_that_is_not_at_the_beginning_stays() {
        let text = "has(object.x) ? Object{} : Object{}";
        assert_eq!(merge(text, "spec.template"), text);
    }
}
