//! Names of policies and variables.

use std::collections::BTreeSet;

use ephor_value::replace::replace_where;

/// The longest name of a policy: Kyverno puts it into labels.
const LONGEST: usize = 63;

/// A name, or the first one with a number behind it that is free.
pub fn numbered(name: &str, between: &str, is_taken: impl Fn(&str) -> bool) -> String {
    let others = (2..).map(|n| format!("{name}{between}{n}"));
    std::iter::once(name.to_string()).chain(others).find(|name| !is_taken(name)).unwrap_or_default()
}

/// Names that are taken.
#[derive(Debug, Default)]
pub struct Names(BTreeSet<String>);

impl Names {
    /// The name, or the first free one with a number; it is taken then.
    pub fn free(&mut self, name: &str) -> String {
        let numbered = (2..).map(|n| format!("{}-{n}", name.get(..LONGEST - 4).unwrap_or(name)));
        let mut all = std::iter::once(name.to_string()).chain(numbered);
        let found = all.find(|name| !self.0.contains(name)).unwrap_or_default();
        self.0.insert(found.clone());
        found
    }
}

/// A text as the name of an object: small letters, digits, dots and dashes.
pub fn dns(text: &str) -> String {
    let mut out = String::new();
    for c in text.chars().flat_map(char::to_lowercase) {
        let plain = if c.is_ascii_alphanumeric() || c == '.' { c } else { '-' };
        if plain != '-' || !out.ends_with('-') {
            out.push(plain);
        }
    }
    let out = out.get(..LONGEST).unwrap_or(&out);
    out.trim_matches(['-', '.']).to_string()
}

/// A text with a variable under another name.
pub fn renamed(text: &str, from: &str, to: &str) -> String {
    let [from, to] = [from, to].map(|name| format!("variables.{name}"));
    let is_word = |c: char| c.is_ascii_alphanumeric() || c == '_';
    replace_where(text, &from, &to, |before, after| {
        !before.ends_with(|c: char| is_word(c) || c == '.') && !after.starts_with(is_word)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_those_of_objects_and_unique() {
        let mut names = Names::default();
        assert_eq!(names.free(&dns("Require Labels_2")), "require-labels-2");
        assert_eq!(names.free("require-labels-2"), "require-labels-2-2");
        assert_eq!(dns(&"a".repeat(80)).len(), 63);
    }

    #[test]
    fn only_whole_names_of_variables_are_replaced() {
        assert_eq!(
            renamed("variables.a + variables.ab + x.variables.a", "a", "b"),
            "variables.b + variables.ab + x.variables.a"
        );
    }
}
