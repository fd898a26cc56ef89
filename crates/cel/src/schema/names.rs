//! Names of properties as expressions write them.

use ephor_value::Str;
use ephor_value::names::is_word_of_expressions;

/// The name of a property in expressions; `None` when it has none.
pub fn escape(property: &str) -> Option<Str> {
    if is_word_of_expressions(property) {
        return Some(format!("__{property}__").into());
    }
    let starts = property.bytes().next().is_some_and(|b| b.is_ascii_alphabetic() || b"_-./".contains(&b));
    let fits = |b: u8| b.is_ascii_alphanumeric() || b"_-./".contains(&b);
    if !starts || !property.bytes().all(fits) {
        return None;
    }
    let mut out = String::with_capacity(property.len());
    let mut rest = property;
    while let Some(c) = rest.chars().next() {
        let (word, taken) = match c {
            '_' if rest.starts_with("__") => ("__underscores__", 2),
            '.' => ("__dot__", 1),
            '-' => ("__dash__", 1),
            '/' => ("__slash__", 1),
            _ => ("", c.len_utf8()),
        };
        if word.is_empty() {
            out.push(c)
        } else {
            out.push_str(word)
        }
        rest = rest.get(taken..).unwrap_or_default();
    }
    Some(out.into())
}

#[cfg(test)]
mod tests {
    use super::escape;

    #[test]
    fn properties_are_escaped_from_left_to_right() {
        let escaped = |p: &str| escape(p).map(|s| s.to_string());
        assert_eq!(escaped("a___b").as_deref(), Some("a__underscores___b"));
        assert_eq!(escaped("a-b.c/d").as_deref(), Some("a__dash__b__dot__c__slash__d"));
        assert_eq!(escaped("if").as_deref(), Some("__if__"));
        assert_eq!(escaped("1st"), None);
        assert_eq!(escaped("sp ace"), None);
        assert_eq!(escaped(""), None);
    }
}
