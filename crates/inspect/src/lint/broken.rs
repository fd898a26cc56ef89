//! Where the mistake in a text is that is not YAML, and what mends it.
//!
//! In: the text and what the parser noticed. Out: the place of the mistake, what to write, and
//! fixes after which the text parses. What is not closed is wrong where it is opened; everything
//! else where it was noticed.

use std::ops::Range;

use ephor_document::locate::Position;
use ephor_document::yaml::{SyntaxError, SyntaxPlace, SyntaxProblem};
use ephor_document::yaml_value;

/// A change of the text.
pub(super) struct Mend {
    /// What it does.
    pub(super) title: String,
    /// The bytes and what stands there then.
    pub(super) edits: Vec<(Range<usize>, String)>,
    /// Whether it is what was meant.
    pub(super) is_safe: bool,
}

/// The place of the mistake.
pub(super) fn place(text: &str, error: &SyntaxError) -> Option<Position> {
    use SyntaxProblem as P;
    let [began, noticed] = error.places?;
    let is_apart = began.line != noticed.line;
    let at = match error.problem {
        P::UnexpectedEnd | P::DocumentIndicator => began,
        P::NoCommaInSequence | P::NoCommaInMapping if is_apart => began,
        // A key without a colon.
        P::NoColon => began,
        _ => noticed,
    };
    if let Some(open) = open_quote(text, at.line) {
        return Some(open);
    }
    // Behind the end of the text nothing is wrong.
    let at = if at.byte == 0 && text.lines().nth(at.line - 1).is_none_or(str::is_empty) { began } else { at };
    position(text, at)
}

/// The quote of an earlier line that is closed by the first quote of the line at which something
/// was noticed.
fn open_quote(text: &str, noticed: usize) -> Option<Position> {
    let lines: Vec<&str> = text.lines().take(noticed).collect();
    let (last, before) = lines.split_last()?;
    let (i, line) = before.iter().enumerate().rev().find(|(_, line)| line.contains(['\'', '"']))?;
    let value = [": ", "- "].iter().find_map(|mark| line.find(mark)).map(|at| at + 2)?;
    let quote = line.get(value..)?.chars().next().filter(|c| matches!(c, '\'' | '"'))?;
    let is_open = line.matches(quote).count() % 2 == 1 && last.contains(quote);
    let column = line.get(..value)?.chars().count() + 1;
    is_open.then_some(Position { line: i + 1, col: column, len: 1 })
}

fn position(text: &str, at: SyntaxPlace) -> Option<Position> {
    let line = text.lines().nth(at.line.checked_sub(1)?)?;
    let before = line.get(..at.byte).unwrap_or(line);
    let rest = line.get(at.byte..).unwrap_or_default().trim_end();
    let word = rest.find(char::is_whitespace).unwrap_or(rest.len());
    let len = rest.get(..word).unwrap_or(rest).chars().count().max(1);
    Some(Position { line: at.line, col: before.chars().count() + 1, len })
}

/// A line of the text: its bytes without the end.
fn line_at(text: &str, line: usize) -> Option<Range<usize>> {
    let start = match line.checked_sub(2) {
        Some(before) => text.match_indices('\n').nth(before)?.0 + 1,
        None => 0,
    };
    let end = text.get(start..)?.find(['\n', '\r']).map_or(text.len(), |at| start + at);
    Some(start..end)
}

fn parses(text: &str, edits: &[(Range<usize>, String)]) -> bool {
    let mut new = text.to_string();
    for (range, with) in edits.iter().rev() {
        new.replace_range(range.clone(), with);
    }
    yaml_value(&new).is_ok()
}

/// What mends the text, and what to say when nothing does.
pub(super) fn mend(text: &str, at: Position, problem: SyntaxProblem) -> (Option<&'static str>, Option<Mend>) {
    let Some(range) = line_at(text, at.line) else { return (None, None) };
    let Some(line) = text.get(range.clone()) else { return (None, None) };
    if at.len == 1 && line.matches(['\'', '"']).count() == 1 {
        return (Some("the quote is not closed"), None);
    }
    if let Some(found) = inner_quotes(text, line, range.start) {
        return (Some("the text ends at the inner quote: write `\\\"` inside"), Some(found));
    }
    if let Some(found) = bare(text, line, range.start) {
        return (Some("a value that begins with this character needs quotes"), Some(found));
    }
    match problem {
        SyntaxProblem::NoKey
        | SyntaxProblem::NoDash
        | SyntaxProblem::MappingValue
        | SyntaxProblem::NoColon => {
            let help = "indent it like the lines that it belongs to";
            (Some(help), indented(text, line, range.start))
        }
        SyntaxProblem::UnexpectedEnd => (Some("the quote is not closed"), None),
        SyntaxProblem::NoCommaInSequence => (Some("`[` is not closed, or a comma is missing"), None),
        SyntaxProblem::NoCommaInMapping => (Some("`{` is not closed, or a comma is missing"), None),
        _ => (None, None),
    }
}

/// Double quotes inside of a text in double quotes.
fn inner_quotes(text: &str, line: &str, start: usize) -> Option<Mend> {
    let open = line.find(": \"").map(|at| at + 2).or_else(|| line.find("- \"").map(|at| at + 2))?;
    let close = line.trim_end().rfind('"').filter(|close| *close > open + 1)?;
    let inner = line.get(open + 1..close)?;
    let mut edits = Vec::new();
    let mut escaped = false;
    for (at, c) in inner.char_indices() {
        match c {
            '\\' => escaped = !escaped,
            '"' if !escaped => {
                let byte = start + open + 1 + at;
                edits.push((byte..byte, "\\".to_string()));
            }
            _ => escaped = false,
        }
    }
    (!edits.is_empty() && parses(text, &edits)).then(|| Mend {
        title: "write `\\\"` inside of the text".into(),
        edits,
        is_safe: true,
    })
}

/// A value that begins with `{{`, `*`, `%`, `@`, or a backtick, and has no quotes.
fn bare(text: &str, line: &str, start: usize) -> Option<Mend> {
    let is_value = |at: &usize| {
        let rest = line.get(*at..).unwrap_or_default();
        ["{{", "*", "%", "@", "`", "!"].iter().any(|mark| rest.starts_with(mark))
    };
    let behind = |mark: &str| line.find(mark).map(|at| at + mark.len()).filter(is_value);
    let value = behind(": ").or_else(|| behind("- "))?;
    let own = line.get(value..)?.trim_end();
    let own = own.split(" #").next().unwrap_or(own).trim_end();
    let quoted = ephor_document::written::quoted(own);
    let edits = vec![(start + value..start + value + own.len(), quoted.clone())];
    parses(text, &edits).then(|| Mend { title: format!("write `{quoted}`"), edits, is_safe: true })
}

/// Variables of Kyverno and wildcards without quotes, which are maps in maps and aliases to YAML:
/// where the first one is.
pub(super) fn unquoted(text: &str) -> Option<(Position, Mend)> {
    let mut edits = Vec::new();
    let mut first = None;
    let mut at = 0;
    for (i, line) in text.split_inclusive('\n').enumerate() {
        let found =
            [": {{", "- {{", ": *", "- *"].iter().find_map(|mark| line.find(mark)).map(|found| found + 2);
        if let Some(value) = found {
            let own = line.get(value..)?.trim_end();
            if own.ends_with("}}") || own.starts_with('*') {
                let start = at + value;
                edits.push((start..start + own.len(), ephor_document::written::quoted(own)));
                let column = line.get(..value)?.chars().count() + 1;
                first = first.or(Some(Position { line: i + 1, col: column, len: own.chars().count() }));
            }
        }
        at += line.len();
    }
    let title = "write quotes around it".to_string();
    parses(text, &edits).then_some(())?;
    Some((first?, Mend { title, edits, is_safe: true }))
}

/// A line at an indentation that lines before it have.
fn indented(text: &str, line: &str, start: usize) -> Option<Mend> {
    let own = line.len() - line.trim_start_matches(' ').len();
    let mut widths: Vec<usize> = text
        .get(..start)?
        .lines()
        .filter(|line| !line.trim().is_empty())
        .flat_map(|line| {
            let width = line.len() - line.trim_start_matches(' ').len();
            // The keys of an item stand behind its dash.
            let behind = line.trim_start().starts_with("- ").then_some(width + 2);
            std::iter::once(width).chain(behind)
        })
        .filter(|width| *width != own)
        .collect();
    widths.sort_unstable();
    widths.dedup();
    widths.sort_by_key(|width| width.abs_diff(own));
    widths.into_iter().find_map(|width| {
        let edits = vec![(start..start + own, " ".repeat(width))];
        parses(text, &edits).then(|| Mend {
            title: format!("indent the line with {width} blanks"),
            edits,
            is_safe: false,
        })
    })
}

/// Tabs that indent lines, as blanks.
pub(super) fn without_tabs(text: &str) -> Option<Mend> {
    [8, 4, 2].into_iter().find_map(|width| {
        let mut edits = Vec::new();
        let mut at = 0;
        for line in text.split_inclusive('\n') {
            let blanks = line.len() - line.trim_start_matches([' ', '\t']).len();
            let own = line.get(..blanks)?;
            if own.contains('\t') && !line.trim().is_empty() {
                let mut column = 0;
                for c in own.chars() {
                    column = if c == '\t' { (column / width + 1) * width } else { column + 1 };
                }
                edits.push((at..at + blanks, " ".repeat(column)));
            }
            at += line.len();
        }
        parses(text, &edits).then(|| Mend {
            title: "write blanks in place of tabs".into(),
            edits,
            is_safe: false,
        })
    })
}
