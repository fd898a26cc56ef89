//! Functions of texts (lower, upper, trim, split, replace, concatenation) through which classes of
//! texts can be followed.
//!
//! In: calls of functions, and `+`. Out: [`Way`]: what is done to the text, step by step. Each step
//! reads the text from left to right once, with as many states as its constants have characters; so
//! the texts for which what it makes is in a regular language are one, too, and classes of texts
//! describe them (`ephor_compare::strings`). Other functions make texts in ways that are not
//! described.

use ephor_functions::registry::Operation;
use ephor_functions::{lower, upper};
use ephor_value::Str;

/// A step from one text to another one, or to none.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum TextStep {
    /// A text stands before it.
    Before(Str),
    /// A text stands behind it.
    Behind(Str),
    /// One of the parts between the occurrences of a text that is not empty, by its position; none
    /// where there are fewer.
    Part {
        /// What stands between the parts.
        by: Str,
        /// The position of the part.
        at: usize,
    },
    /// The last of the parts.
    LastPart {
        /// What stands between the parts.
        by: Str,
    },
    /// Letters become capitals; `ascii`: only those of ASCII.
    Upper {
        /// Whether other letters stay.
        ascii: bool,
    },
    /// Letters become small ones; `ascii`: only those of ASCII.
    Lower {
        /// Whether other letters stay.
        ascii: bool,
    },
    /// Without these characters at both ends.
    Trim(Str),
    /// Without this text at its start.
    WithoutPrefix(Str),
    /// Each occurrence of a text that is not empty becomes another one.
    Replace {
        /// What is replaced.
        old: Str,
        /// What takes its place.
        new: Str,
    },
}

/// What is done to a text, the first step first.
pub type Way = Vec<TextStep>;

impl TextStep {
    /// The text that it makes; `None`: there is none.
    pub fn made(&self, text: &str) -> Option<String> {
        Some(match self {
            TextStep::Before(before) => format!("{before}{text}"),
            TextStep::Behind(behind) => format!("{text}{behind}"),
            TextStep::Part { by, at } => text.split(&**by).nth(*at)?.to_string(),
            TextStep::LastPart { by } => text.split(&**by).last()?.to_string(),
            TextStep::Upper { ascii: true } => text.to_ascii_uppercase(),
            TextStep::Lower { ascii: true } => text.to_ascii_lowercase(),
            TextStep::Upper { ascii: false } => text.chars().map(upper).collect(),
            TextStep::Lower { ascii: false } => text.chars().map(lower).collect(),
            TextStep::Trim(set) => text.trim_matches(|c| set.contains(c)).to_string(),
            TextStep::WithoutPrefix(prefix) => text.strip_prefix(&**prefix).unwrap_or(text).to_string(),
            TextStep::Replace { old, new } => text.replace(&**old, new),
        })
    }

    /// The constant of a step.
    pub fn constants(&self) -> [&str; 2] {
        match self {
            TextStep::Before(text)
            | TextStep::Behind(text)
            | TextStep::Part { by: text, .. }
            | TextStep::LastPart { by: text }
            | TextStep::Trim(text)
            | TextStep::WithoutPrefix(text) => [text, ""],
            TextStep::Replace { old, new } => [old, new],
            TextStep::Upper { .. } | TextStep::Lower { .. } => ["", ""],
        }
    }
}

/// The text that a way makes of a text.
pub fn made(way: &[TextStep], text: &str) -> Option<String> {
    way.iter().try_fold(text.to_string(), |text, step| step.made(&text))
}

/// The step of a function of one text with constant texts; `None`: it makes texts in another way.
pub fn step_of(operation: Operation, constants: &[&str]) -> Option<TextStep> {
    Some(match (operation, constants) {
        (Operation::Upper, []) => TextStep::Upper { ascii: false },
        (Operation::Lower, []) => TextStep::Lower { ascii: false },
        (Operation::UpperAscii, []) => TextStep::Upper { ascii: true },
        (Operation::LowerAscii, []) => TextStep::Lower { ascii: true },
        (Operation::Trim, [set]) => TextStep::Trim((*set).into()),
        (Operation::Trim, []) => TextStep::Trim(WHITE.into()),
        (Operation::TrimPrefix, [prefix]) => TextStep::WithoutPrefix((*prefix).into()),
        (Operation::Replace, [old, new]) if !old.is_empty() => {
            TextStep::Replace { old: (*old).into(), new: (*new).into() }
        }
        _ => return None,
    })
}

/// What `trim` of CEL removes.
const WHITE: &str = "\t\n\u{b}\u{c}\r \u{85}\u{a0}\u{1680}\u{2000}\u{2001}\u{2002}\u{2003}\u{2004}\u{2005}\u{2006}\u{2007}\u{2008}\u{2009}\u{200a}\u{2028}\u{2029}\u{202f}\u{205f}\u{3000}";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_make_what_the_functions_make() {
        let of = |step: TextStep, text: &str| step.made(text);
        assert_eq!(of(TextStep::Part { by: "/".into(), at: 1 }, "/data/x").as_deref(), Some("data"));
        assert_eq!(of(TextStep::Part { by: "/".into(), at: 1 }, "data"), None);
        assert_eq!(of(TextStep::LastPart { by: "::".into() }, "a:::b").as_deref(), Some(":b"));
        assert_eq!(of(TextStep::Trim("xy".into()), "xaxby").as_deref(), Some("axb"));
        assert_eq!(of(TextStep::Upper { ascii: false }, "aß").as_deref(), Some("Aß"));
        let way = [TextStep::Before("a-".into()), TextStep::Replace { old: "-".into(), new: "".into() }];
        assert_eq!(made(&way, "b-c").as_deref(), Some("abc"));
    }

    #[test]
    fn the_characters_that_trim_removes_are_those_that_are_white() {
        let white: String = (0..0x11_0000).filter_map(char::from_u32).filter(|c| c.is_whitespace()).collect();
        assert_eq!(white, WHITE);
    }
}
