//! How a scalar is written: where each character of its value stands, and how a part of it is
//! replaced.
//!
//! In: the text of a document and a path. Out: [`WrittenScalar`], and edits of the document's text
//! that make the value another one, in plain, quoted, literal and folded scalars. What cannot be
//! written in the style of the scalar is written in quotes.

use std::ops::Range;

use ephor_value::place::{PathPart, follow};

use super::locate;

/// See the module page.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WrittenScalar {
    /// Its bytes in the document, quotes and the head of a block included.
    pub range: Range<usize>,
    /// Its value.
    pub value: Box<str>,
    /// The byte of each character of the value, and the byte behind the last one.
    bytes: Vec<usize>,
    style: ScalarStyle,
}

/// How a scalar is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ScalarStyle {
    Plain,
    Single,
    Double,
    /// In a block, indented by this many blanks.
    Block(usize),
}

/// The scalar at `path`; `None` when there is none, or it has a tag or an anchor.
pub fn scalar(text: &str, path: &[PathPart]) -> Option<WrittenScalar> {
    let part = locate::part(text, path)?;
    let value = part.scalar?;
    let range = part.value;
    let own = text.get(range.clone())?;
    let (style, (chars, bytes)) = match own.as_bytes().first() {
        Some(b'\'') => (ScalarStyle::Single, flow(own, Some('\''))?),
        Some(b'"') => (ScalarStyle::Double, flow(own, Some('"'))?),
        Some(style @ (b'|' | b'>')) => {
            let (indent, found) = block(own, *style == b'>')?;
            (ScalarStyle::Block(indent), found)
        }
        _ => (ScalarStyle::Plain, flow(own, None)?),
    };
    let bytes = bytes.into_iter().map(|byte| byte + range.start).collect();
    chars.iter().copied().eq(value.chars()).then_some(WrittenScalar { range, value, bytes, style })
}

impl WrittenScalar {
    /// The byte of a character of the value; that behind the last one for their number.
    pub fn byte(&self, character: usize) -> Option<usize> {
        self.bytes.get(character).copied()
    }

    /// The bytes of the document, and what stands there then, so that `new` stands in the place of
    /// some characters of the value. `text` and `path` are those of the scalar.
    pub fn replaced(
        &self,
        text: &str,
        path: &[PathPart],
        chars: Range<usize>,
        new: &str,
    ) -> Option<(Range<usize>, String)> {
        let range = self.byte(chars.start)?..self.byte(chars.end)?;
        let written = match self.style {
            ScalarStyle::Single if !new.contains('\n') => new.replace('\'', "''"),
            ScalarStyle::Double => escaped(new),
            ScalarStyle::Block(indent) => {
                let is_broken =
                    |text: &str| text.is_empty() || text.starts_with('\n') || text.ends_with('\n');
                if (is_broken(new) || new.contains('\n')) && !self.takes(text, path, &chars, new, indent) {
                    return None;
                }
                in_block(new, indent)
            }
            ScalarStyle::Plain | ScalarStyle::Single => {
                let wanted = self.with(chars.clone(), new)?;
                if self.style == ScalarStyle::Plain && reads(text, path, (&range, new), &wanted) {
                    return Some((range, new.to_string()));
                }
                return Some((self.range.clone(), quoted(&wanted)));
            }
        };
        Some((range, written))
    }

    /// The value with some characters replaced.
    fn with(&self, chars: Range<usize>, new: &str) -> Option<String> {
        let byte = |n: usize| match self.value.char_indices().nth(n) {
            Some((byte, _)) => Some(byte),
            None => (self.value.chars().count() == n).then_some(self.value.len()),
        };
        let mut wanted = self.value.to_string();
        wanted.replace_range(byte(chars.start)?..byte(chars.end)?, new);
        Some(wanted)
    }

    /// Whether a block with `new` in it has the value that is wanted: lines that are folded, or end
    /// where others begin, may not.
    fn takes(&self, text: &str, path: &[PathPart], chars: &Range<usize>, new: &str, indent: usize) -> bool {
        let (Some(start), Some(end)) = (self.byte(chars.start), self.byte(chars.end)) else { return false };
        let wanted = self.with(chars.clone(), new);
        wanted.is_some_and(|wanted| reads(text, path, (&(start..end), &in_block(new, indent)), &wanted))
    }
}

/// Whether the text at `path` is `wanted` when something else stands at some bytes.
fn reads(text: &str, path: &[PathPart], (range, new): (&Range<usize>, &str), wanted: &str) -> bool {
    let (Some(before), Some(behind)) = (text.get(..range.start), text.get(range.end..)) else { return false };
    let edited = [before, new, behind].concat();
    let edited = edited.strip_prefix('\u{feff}').unwrap_or(&edited);
    super::yaml_value(edited).is_ok_and(|value| {
        let (found, depth) = follow(&value, path);
        depth == path.len() && found.as_str() == Some(wanted)
    })
}

fn in_block(new: &str, indent: usize) -> String {
    new.replace('\n', &format!("\n{}", " ".repeat(indent)))
}

/// A text in quotes, single ones where that is possible.
pub fn quoted(value: &str) -> String {
    match value.contains(|c: char| c.is_control()) {
        true => format!("\"{}\"", escaped(value)),
        false => format!("'{}'", value.replace('\'', "''")),
    }
}

fn escaped(value: &str) -> String {
    let mut out = String::with_capacity(value.len());
    for c in value.chars() {
        match c {
            '"' | '\\' => out.extend(['\\', c]),
            '\n' => out.push_str("\\n"),
            '\t' => out.push_str("\\t"),
            c if c.is_control() => out.push_str(&format!("\\u{:04x}", u32::from(c))),
            c => out.push(c),
        }
    }
    out
}

/// Characters and the byte of each, with that behind the last one.
type Characters = (Vec<char>, Vec<usize>);

/// Those of a plain or quoted scalar, whose lines are folded.
fn flow(own: &str, quote: Option<char>) -> Option<Characters> {
    let (mut chars, mut bytes) = (Vec::new(), Vec::new());
    let mut at = quote.map_or(0, char::len_utf8);
    loop {
        let rest = own.get(at..)?;
        let Some(c) = rest.chars().next() else {
            bytes.push(at);
            return quote.is_none().then_some((chars, bytes));
        };
        let second = rest.chars().nth(1);
        match (quote, c, second) {
            (Some('\''), '\'', Some('\'')) => {
                chars.push('\'');
                bytes.push(at);
                at += 2;
            }
            (Some(q), c, _) if q == c => {
                bytes.push(at);
                return Some((chars, bytes));
            }
            (Some('"'), '\\', Some('\n' | '\r')) => {
                at += 1;
                let breaks = fold(own, &mut at)?;
                for _ in 1..breaks {
                    chars.push('\n');
                    bytes.push(at);
                }
            }
            (Some('"'), '\\', Some(kind)) => {
                let (c, length) = escape(rest, kind)?;
                chars.push(c);
                bytes.push(at);
                at += length;
            }
            (_, ' ' | '\t' | '\n' | '\r', _) => {
                let blanks = rest.len() - rest.trim_start_matches([' ', '\t']).len();
                match rest.get(blanks..)?.starts_with(['\n', '\r']) {
                    true => {
                        let start = at;
                        let breaks = fold(own, &mut at)?;
                        chars.extend(if breaks == 1 { vec![' '] } else { vec!['\n'; breaks - 1] });
                        bytes.resize(chars.len(), start);
                    }
                    false => {
                        for c in rest.get(..blanks)?.chars() {
                            chars.push(c);
                            bytes.push(at);
                            at += 1;
                        }
                    }
                }
            }
            (_, c, _) => {
                chars.push(c);
                bytes.push(at);
                at += c.len_utf8();
            }
        }
    }
}

/// Moves over blanks and line ends, and counts the line ends.
fn fold(own: &str, at: &mut usize) -> Option<usize> {
    let rest = own.get(*at..)?;
    let behind = rest.trim_start_matches([' ', '\t', '\n', '\r']);
    let skipped = rest.get(..rest.len() - behind.len())?;
    *at += skipped.len();
    Some(skipped.matches('\n').count())
}

/// The character of an escape, and how many bytes it has.
fn escape(rest: &str, kind: char) -> Option<(char, usize)> {
    let digits = match kind {
        'x' => 2,
        'u' => 4,
        'U' => 8,
        _ => {
            let c = match kind {
                '0' => '\0',
                'a' => '\x07',
                'b' => '\x08',
                't' | '\t' => '\t',
                'n' => '\n',
                'v' => '\x0b',
                'f' => '\x0c',
                'r' => '\r',
                'e' => '\x1b',
                'N' => '\u{85}',
                '_' => '\u{a0}',
                'L' => '\u{2028}',
                'P' => '\u{2029}',
                ' ' | '"' | '/' | '\'' | '\\' => kind,
                _ => return None,
            };
            return Some((c, 1 + kind.len_utf8()));
        }
    };
    let code = u32::from_str_radix(rest.get(2..2 + digits)?, 16).ok()?;
    Some((char::from_u32(code)?, 2 + digits))
}

/// The indentation of a block, and its characters; `None` with an indentation of its own.
fn block(own: &str, folded: bool) -> Option<(usize, Characters)> {
    let head = own.split_inclusive('\n').next()?;
    let marks = head.split('#').next()?;
    if marks.contains(|c: char| c.is_ascii_digit()) || own.contains('\r') {
        return None;
    }
    let first = own.get(head.len()..)?.lines().find(|line| !line.trim().is_empty())?;
    let indent = first.len() - first.trim_start_matches(' ').len();
    let (mut chars, mut bytes) = (Vec::new(), Vec::new());
    // The breaks since the last line with text, and whether that began with a blank.
    let (mut breaks, mut was_blank): (Vec<usize>, bool) = (Vec::new(), true);
    let mut at = head.len();
    for line in own.get(head.len()..)?.split_inclusive('\n') {
        let content = line.strip_suffix('\n').unwrap_or(line);
        let text = content.get(indent..).unwrap_or_default();
        if !text.is_empty() {
            let is_blank = text.starts_with([' ', '\t']);
            let is_folded = folded && !was_blank && !is_blank && !chars.is_empty();
            match (is_folded, breaks.split_first()) {
                (true, Some((first, []))) => {
                    chars.push(' ');
                    bytes.push(*first);
                }
                (true, Some((_, more))) => {
                    chars.extend(more.iter().map(|_| '\n'));
                    bytes.extend(more);
                }
                _ => {
                    chars.extend(breaks.iter().map(|_| '\n'));
                    bytes.extend(&breaks);
                }
            }
            breaks.clear();
            for (byte, c) in text.char_indices() {
                chars.push(c);
                bytes.push(at + indent + byte);
            }
            was_blank = is_blank;
        }
        if line.ends_with('\n') {
            breaks.push(at + content.len());
        }
        at += line.len();
    }
    let retained = match marks {
        marks if marks.contains('-') => 0,
        marks if marks.contains('+') => breaks.len(),
        _ => 1,
    };
    let end = breaks.first().copied().unwrap_or(own.len());
    for byte in breaks.iter().take(retained) {
        chars.push('\n');
        bytes.push(*byte);
    }
    bytes.push(breaks.get(retained).copied().unwrap_or(if retained == 0 { end } else { own.len() }));
    Some((indent, (chars, bytes)))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::indexing_slicing)]

    use super::*;
    use crate::yaml_value;
    use ephor_value::place::parse;

    /// Scalars with `zz` in their values.
    const TEXTS: [&str; 18] = [
        "a: b zz c\n",
        "a: zz",
        "a: {a: zz, b: 1}\n",
        "a: 'b ''q'' zz'\n",
        "a: \"b \\\"q\\\" \\u00e4 zz\"\n",
        "a: b\n  c\n\n  zz\n",
        "a: \"b\n  c zz \\\n   d\"\n",
        "a: |\n  b\n\n  c zz\n",
        "a: |-\n  zz",
        "a: |+\n  b zz\n\n\nb: 1\n",
        "a: >-\n  b\n  c\n\n  d zz\nb: 2\n",
        "x: 1\na: >\n    b c d\n    zz\n",
        "a: >\n  b\n    more zz\n  c\n",
        "a: |\n  é zz é\n",
        "\u{feff}a: 'é zz'\n",
        "a: # comment\n  zz # comment\n",
        "'a': \"zz\" # comment\n",
        "a: | # head\n  if zz\n    then\n",
    ];

    fn value_of(text: &str) -> String {
        let value = yaml_value(text.strip_prefix('\u{feff}').unwrap_or(text)).unwrap();
        let value = value.get("a").unwrap();
        value.as_str().map_or_else(|| value.text_at(&["a"]).to_string(), str::to_string)
    }

    fn path_of(text: &str) -> Vec<PathPart> {
        parse(if text.contains('{') { "a.a" } else { "a" })
    }

    #[test]
    fn a_part_of_a_text_is_replaced_however_it_is_written() {
        for text in TEXTS {
            for new in ["y", "it's: \"x\" # {no}, \\ö", ""] {
                let path = path_of(text);
                let found = scalar(text, &path).unwrap_or_else(|| panic!("{text}"));
                let value = value_of(text);
                let at = value[..value.find("zz").unwrap()].chars().count();
                // A line that becomes empty is no line of a folded block.
                let Some((range, written)) = found.replaced(text, &path, at..at + 2, new) else {
                    assert!(new.is_empty() && text.contains('>'), "{text} {new}");
                    continue;
                };
                let mut edited = text.to_string();
                edited.replace_range(range, &written);
                assert_eq!(value_of(&edited), value.replacen("zz", new, 1), "{text} {new} {edited}");
            }
        }
    }

    #[test]
    fn lines_are_written_as_the_style_of_the_scalar_can() {
        for (text, is_possible) in [
            ("a: |\n  b zz c\n", true),
            ("a: \"b zz\"\n", true),
            ("a: 'b zz'\n", true),
            ("a: b zz\n", true),
            ("a: >\n  b zz\n", false),
        ] {
            let (path, value) = (path_of(text), value_of(text));
            let at = value.find("zz").unwrap();
            let found = scalar(text, &path).unwrap().replaced(text, &path, at..at + 2, "x\ny");
            assert_eq!(found.is_some(), is_possible, "{text}");
            if let Some((range, written)) = found {
                let mut edited = text.to_string();
                edited.replace_range(range, &written);
                assert_eq!(value_of(&edited), value.replace("zz", "x\ny"), "{edited}");
            }
        }
    }

    #[test]
    fn a_scalar_with_a_tag_or_behind_an_alias_is_not_read() {
        assert_eq!(scalar("a: !!str 1\n", &parse("a")), None);
        assert_eq!(scalar("b: &x 1\na: *x\n", &parse("a")), None);
        assert_eq!(scalar("a: {}\n", &parse("a")), None);
    }
}
