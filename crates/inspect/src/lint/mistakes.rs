//! Usual mistakes in expressions: words and signs of other languages, and what CEL has instead.
//!
//! In: the text of an expression that does not compile, and what the compiler says. Out: what to
//! write instead, and edits of the text after which it parses.

use std::ops::Range;

use ephor_cel::library::{KyvernoKind, kyverno};
use ephor_cel::syntax;
use ephor_cel::syntax::lexer::{Tok, Token, tokenize};

use super::fix::edited;

/// What was meant, and the edits that write it.
pub(super) struct Mistake {
    /// What to write, for people.
    pub(super) help: String,
    /// Edits by bytes, in order; none when a person has to write it.
    pub(super) edits: Vec<(Range<usize>, String)>,
}

/// Functions and methods of other languages, and those of CEL.
const FUNCTIONS: [(&str, &str); 22] = [
    ("length", "size"),
    ("len", "size"),
    ("count", "size"),
    ("any", "exists"),
    ("some", "exists"),
    ("every", "all"),
    ("forall", "all"),
    ("match", "matches"),
    ("regex", "matches"),
    ("regexMatch", "matches"),
    ("includes", "contains"),
    ("hasPrefix", "startsWith"),
    ("hasSuffix", "endsWith"),
    ("startswith", "startsWith"),
    ("endswith", "endsWith"),
    ("toLowerCase", "lowerAscii"),
    ("toUpperCase", "upperAscii"),
    ("toLower", "lowerAscii"),
    ("toUpper", "upperAscii"),
    ("to_lower", "lowerAscii"),
    ("to_upper", "upperAscii"),
    ("replaceAll", "replace"),
];

/// Words of other languages that are values.
const VALUES: [(&str, &str); 7] = [
    ("True", "true"),
    ("False", "false"),
    ("None", "null"),
    ("nil", "null"),
    ("undefined", "null"),
    ("NULL", "null"),
    ("TRUE", "true"),
];

/// What was meant by a name that there is none of, at a byte.
pub(super) fn of_name(source: &str, at: usize, name: &str) -> Option<Mistake> {
    if let Some(mistake) = hyphenated(source, at, name) {
        return Some(mistake);
    }
    let (_, meant) = FUNCTIONS.iter().chain(&VALUES).find(|(known, _)| *known == name)?;
    let range = at..at + name.len();
    let is_here = source.get(range.clone()) == Some(name);
    // A list has `in`, a text has `contains`.
    let help = match name {
        "includes" => "a text has `contains()`, a list `in`".to_string(),
        _ => format!("did you mean `{meant}`?"),
    };
    let edits = if is_here && name != "includes" { vec![(range, meant.to_string())] } else { Vec::new() };
    Some(Mistake { help, edits })
}

/// A key with hyphens behind a dot, which is read as a subtraction: `labels.foo-bar`.
fn hyphenated(source: &str, at: usize, name: &str) -> Option<Mistake> {
    let (tokens, _) = tokenize(source);
    let position = tokens.iter().position(|token| token.at as usize == at && token.text == name)?;
    let is_near = |a: &Token<'_>, b: &Token<'_>| a.at as usize + a.text.len() == b.at as usize;
    let mut first = position;
    while first >= 2
        && tokens.get(first - 1)?.kind == Tok::Minus
        && is_near(tokens.get(first - 1)?, tokens.get(first)?)
        && is_near(tokens.get(first - 2)?, tokens.get(first - 1)?)
    {
        first -= 2;
    }
    let dot = tokens.get(first.checked_sub(1)?)?;
    if first == position || dot.kind != Tok::Dot {
        return None;
    }
    let mut last = position;
    while tokens.get(last + 1)?.kind == Tok::Minus
        && is_near(tokens.get(last)?, tokens.get(last + 1)?)
        && is_near(tokens.get(last + 1)?, tokens.get(last + 2)?)
    {
        last += 2;
    }
    let end = tokens.get(last)?.at as usize + tokens.get(last)?.text.len();
    let key = source.get(dot.at as usize + 1..end)?;
    Some(Mistake {
        help: format!("a key with a hyphen is written `['{key}']`"),
        edits: vec![(dot.at as usize..end, format!("['{key}']"))],
    })
}

/// A field that a list or text does not have, whose dot is at a byte: a method without parentheses.
pub(super) fn of_field(source: &str, at: usize) -> Option<Mistake> {
    let (tokens, _) = tokenize(source);
    let dot = tokens.iter().position(|token| token.at as usize == at && token.kind == Tok::Dot)?;
    let name = tokens.get(dot + 1).filter(|token| token.kind == Tok::Ident)?;
    if !matches!(name.text, "size" | "length" | "len" | "count") {
        return None;
    }
    let start = name.at as usize;
    Some(Mistake {
        help: "the number of items or characters is `size()`".into(),
        edits: vec![(start..start + name.text.len(), "size()".into())],
    })
}

/// What was meant by a text that is no expression.
pub(super) fn of_syntax(source: &str) -> Option<Mistake> {
    if source.contains("{{") {
        return Some(Mistake {
            help: "CEL has no `{{ }}`: write the expression itself, for example `object.metadata.name`"
                .into(),
            edits: Vec::new(),
        });
    }
    let (tokens, _) = tokenize(source);
    let mut words: Vec<String> = Vec::new();
    let mut edits: Vec<(Range<usize>, String)> = Vec::new();
    let mut swap = |range: Range<usize>, new: &str, edits: &mut Vec<(Range<usize>, String)>| {
        let old = source.get(range.clone()).unwrap_or_default().trim();
        let word = format!("`{}` instead of `{old}`", new.trim());
        if !words.contains(&word) {
            words.push(word);
        }
        edits.push((range, new.to_string()));
    };
    for (i, token) in tokens.iter().enumerate() {
        let start = token.at as usize;
        let range = start..start + token.text.len();
        let before = i.checked_sub(1).and_then(|i| tokens.get(i)).map(|token| token.kind);
        let after = tokens.get(i + 1).map(|token| token.kind);
        let ends = matches!(
            before,
            Some(
                Tok::Ident
                    | Tok::RParen
                    | Tok::RBracket
                    | Tok::RBrace
                    | Tok::Str
                    | Tok::Int
                    | Tok::True
                    | Tok::False
                    | Tok::Null
                    | Tok::Float
            )
        );
        let begins = matches!(
            after,
            Some(
                Tok::Ident
                    | Tok::LParen
                    | Tok::LBracket
                    | Tok::Str
                    | Tok::Int
                    | Tok::True
                    | Tok::False
                    | Tok::Exclam
                    | Tok::Minus
            )
        );
        match (token.kind, token.text) {
            (Tok::Ident, "and" | "AND") if ends && begins => swap(range, "&&", &mut edits),
            (Tok::Ident, "or" | "OR") if ends && begins => swap(range, "||", &mut edits),
            (Tok::Ident, "not" | "NOT")
                if before != Some(Tok::Dot) && begins && after != Some(Tok::LBracket) =>
            {
                // The blanks behind it go, too.
                let next = tokens.get(i + 1).map_or(range.end, |token| token.at as usize);
                swap(range.start..next, "!", &mut edits);
            }
            _ => {}
        }
    }
    signs(source, &tokens, &mut |range, new| swap(range, new, &mut edits));
    if edits.is_empty() {
        return None;
    }
    edits.sort_by_key(|(range, _)| range.start);
    let help = format!("write {}", words.join(" and "));
    let parses = edited(source, &edits)
        .is_some_and(|new| syntax::parse(&new, kyverno(KyvernoKind::Validating, false).syntax).is_ok());
    Some(Mistake { help, edits: if parses { edits } else { Vec::new() } })
}

/// Signs between tokens that are none: `=`, `===`, `!==`, `&`, `|`, `<>`.
fn signs(source: &str, tokens: &[Token<'_>], found: &mut dyn FnMut(Range<usize>, &str)) {
    for (i, token) in tokens.iter().enumerate() {
        let end = token.at as usize + token.text.len();
        let next = tokens.get(i + 1).map_or(source.len(), |token| token.at as usize);
        if token.kind == Tok::Less && tokens.get(i + 1).is_some_and(|t| t.kind == Tok::Greater) && end == next
        {
            found(end - 1..end + 1, "!=");
        }
        let end = if token.kind == Tok::Eof { continue } else { end };
        let Some(gap) = source.get(end..next) else { continue };
        let sign = gap.trim();
        let start = end + gap.find(sign).unwrap_or(0);
        match (sign, token.kind) {
            ("=", Tok::Equals | Tok::NotEquals) if start == end => {
                let whole = token.at as usize..end + 1;
                found(whole, token.text);
            }
            ("=", _) => found(start..start + 1, "=="),
            ("&", _) => found(start..start + 1, "&&"),
            ("|", _) => found(start..start + 1, "||"),
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mended(source: &str) -> Option<String> {
        edited(source, &of_syntax(source)?.edits)
    }

    #[test]
    fn words_and_signs_of_other_languages_become_those_of_cel() {
        for (source, wanted) in [
            ("a and b or c", "a && b || c"),
            ("not has(a.b) and not (c)", "!has(a.b) && !(c)"),
            ("a.b = 'y'", "a.b == 'y'"),
            ("a.b === 'y' && a !== 1", "a.b == 'y' && a != 1"),
            ("a & b | c", "a && b || c"),
            ("a <> b", "a != b"),
        ] {
            assert_eq!(mended(source).as_deref(), Some(wanted), "{source}");
        }
    }

    #[test]
    fn texts_without_these_words_are_left_alone() {
        for source in ["a b", "a.and == b.or", "a not in [b]", "'a = b' 'c'"] {
            assert!(of_syntax(source).is_none_or(|mistake| mistake.edits.is_empty()), "{source}");
        }
    }

    #[test]
    fn a_key_with_hyphens_is_no_subtraction() {
        let source = "object.metadata.labels.foo-bar-x == 'a'";
        let mistake = of_name(source, source.find("bar").unwrap_or_default(), "bar");
        let new = mistake.and_then(|mistake| edited(source, &mistake.edits));
        assert_eq!(new.as_deref(), Some("object.metadata.labels['foo-bar-x'] == 'a'"));
        assert!(of_name("a - b", 4, "b").is_none());
    }

    #[test]
    fn a_size_is_a_method() {
        let source = "a.filter(c, true).size == 0";
        let new = of_field(source, 17).and_then(|mistake| edited(source, &mistake.edits));
        assert_eq!(new.as_deref(), Some("a.filter(c, true).size() == 0"));
    }
}
