//! Dotted paths of injected values: `cm.data."a.b"`.

use super::Str;

/// The steps of a dotted path. A step with dots stands in double quotes, a quote inside of it is
/// doubled.
pub fn dotted(text: &str) -> Vec<Str> {
    let mut steps = Vec::new();
    let mut step = String::new();
    let mut chars = text.chars().peekable();
    let mut quoted = false;
    while let Some(c) = chars.next() {
        match c {
            '"' if quoted && chars.peek() == Some(&'"') => {
                chars.next();
                step.push('"');
            }
            '"' if quoted => quoted = false,
            '"' if step.is_empty() => quoted = true,
            '.' if !quoted => steps.push(std::mem::take(&mut step).into()),
            c => step.push(c),
        }
    }
    steps.push(step.into());
    steps
}
