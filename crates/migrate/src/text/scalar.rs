//! Texts as YAML scalars: plain where that is safe, else quoted, else a block.

use std::fmt::Write;

use ephor_document::reads_as_text;

use super::WIDTH;

/// A text as a key.
pub fn key(text: &str) -> String {
    if is_plain(text) && !text.contains(['{', '}', '[', ']', ',']) { text.into() } else { quoted(text) }
}

/// A text in a list on one line; `None` when it does not fit on one.
pub fn flow(text: &str) -> Option<String> {
    let is_short = text.chars().count() <= WIDTH / 2 && !text.contains('\n');
    let is_safe = is_plain(text) && !text.contains(['{', '}', '[', ']', ',', ':']);
    is_short.then(|| if is_safe { text.into() } else { quoted(text) })
}

/// A text behind a colon or a dash: blocks have `indent` blanks, the line has `column` characters
/// already.
pub fn text(text: &str, indent: usize, column: usize) -> String {
    let fits = column + text.chars().count() <= WIDTH;
    if is_plain(text) && (fits || !text.contains(' ')) {
        return text.into();
    }
    let simple = !has_escapes(text) && text.chars().all(|c| c == '\n' || !c.is_control());
    if simple && text.contains('\n') && is_block(text) {
        return literal(text, indent);
    }
    if simple
        && !fits
        && !text.contains('\n')
        && !text.starts_with(' ')
        && !text.ends_with(' ')
        && !text.is_empty()
    {
        return folded(text, indent);
    }
    quoted(text)
}

/// An expression: on one line where it fits, else a folded block with its own lines.
pub fn code(text: &str, indent: usize, column: usize) -> String {
    let is_line = !text.contains('\n');
    if is_line && column + text.chars().count() + 2 <= WIDTH {
        if is_plain(text) {
            return text.into();
        }
        if !text.contains(['"', '\\']) {
            return format!("\"{text}\"");
        }
    }
    if text.chars().any(|c| c.is_control() && c != '\n') || text.starts_with(' ') {
        return quoted(text);
    }
    match is_line {
        true => folded(text, indent),
        false => {
            let lines = text.trim_end().lines();
            let below = |line: &str| match line.trim_end() {
                "" => "\n".to_string(),
                line => format!("\n{}{line}", " ".repeat(indent)),
            };
            format!(">-{}", lines.map(below).collect::<String>())
        }
    }
}

/// Whether a text is read back when nothing stands around it.
fn is_plain(text: &str) -> bool {
    let starts = |c: char| "-?:,[]{}#&*!|>'\"%@` ".contains(c);
    !text.is_empty()
        && reads_as_text(text)
        && !text.starts_with(starts)
        && !text.ends_with([' ', ':'])
        && !text.contains(": ")
        && !text.contains(" #")
        && !text.starts_with("---")
        && !text.starts_with("...")
        && text.chars().all(|c| !c.is_control() && c != '\u{feff}' && c != '\u{2028}' && c != '\u{2029}')
}

/// Characters that YAML reads as line breaks, or not at all.
fn has_escapes(text: &str) -> bool {
    text.contains(['\r', '\u{85}', '\u{2028}', '\u{2029}', '\u{feff}'])
}

/// Whether a text with line breaks can be a literal block: no line begins the text with blanks or
/// has only blanks.
fn is_block(text: &str) -> bool {
    let mut lines = text.split('\n');
    let first = lines.next().unwrap_or_default();
    !first.is_empty()
        && !first.starts_with([' ', '\t'])
        && text.split('\n').all(|line| line.is_empty() || !line.trim().is_empty())
        && text.split('\n').all(|line| !line.ends_with([' ', '\t']))
}

fn literal(text: &str, indent: usize) -> String {
    let body = text.trim_end_matches('\n');
    let ends = text.len() - body.len();
    let head = match ends {
        0 => "|-",
        1 => "|",
        _ => "|+",
    };
    let mut out = String::from(head);
    for line in body.split('\n') {
        match line {
            "" => out.push('\n'),
            line => {
                let _ = write!(out, "\n{}{line}", " ".repeat(indent));
            }
        }
    }
    out.push_str(&"\n".repeat(ends.saturating_sub(1)));
    out
}

/// One line as a folded block, broken at single blanks.
fn folded(text: &str, indent: usize) -> String {
    let mut out = String::from(">-");
    let mut line = String::new();
    let put = |line: &mut String, out: &mut String| {
        let _ = write!(out, "\n{}{line}", " ".repeat(indent));
        line.clear();
    };
    for (at, word) in words(text).into_iter().enumerate() {
        let long = indent + line.chars().count() + 1 + word.chars().count() > WIDTH;
        if at > 0 && long {
            put(&mut line, &mut out);
        } else if at > 0 {
            line.push(' ');
        }
        line.push_str(word);
    }
    put(&mut line, &mut out);
    out
}

/// The words between single blanks; several blanks stay inside of a word.
fn words(text: &str) -> Vec<&str> {
    let bytes = text.as_bytes();
    let is_blank = |at: usize| bytes.get(at) == Some(&b' ');
    let mut out = Vec::new();
    let mut from = 0;
    for at in 0..bytes.len() {
        let is_single = is_blank(at) && !is_blank(at + 1) && at > 0 && !is_blank(at - 1);
        if is_single {
            out.push(text.get(from..at).unwrap_or_default());
            from = at + 1;
        }
    }
    out.push(text.get(from..).unwrap_or_default());
    out
}

/// A text in quotes: single ones where nothing needs an escape.
fn quoted(text: &str) -> String {
    let simple = !has_escapes(text) && text.chars().all(|c| !c.is_control());
    let is_easy = !text.contains('\'') || text.contains(['"', '\\']);
    if simple && is_easy {
        return format!("'{}'", text.replace('\'', "''"));
    }
    let mut out = String::from("\"");
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\t' => out.push_str("\\t"),
            '\r' => out.push_str("\\r"),
            c if c.is_control() || "\u{85}\u{2028}\u{2029}\u{feff}".contains(c) => {
                let _ = write!(out, "\\u{:04x}", u32::from(c));
            }
            c => out.push(c),
        }
    }
    out.push('"');
    out
}
