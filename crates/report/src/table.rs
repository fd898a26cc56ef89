//! The result table.
//!
//! In: headers and rows of text, which may hold colour codes. Out: lines between rules of `─`, with
//! `│` at every border. Columns are as wide as their widest line in display columns: wide
//! characters count 2, colour codes 0. A cell with line breaks takes several lines; a cell of more
//! than 300 bytes without them is wrapped at blanks. With more than ten rows the first header shows
//! their number. No rows give no text at all. Semantics: `docs/reference/cli.md`, table format.

use std::io::{BufRead, BufReader, Write};

use serde_json::json;
use unicode_width::UnicodeWidthStr;

use crate::formats::WriteError;
use crate::spool::{Spool, SpoolError};

/// Cells above this many bytes are wrapped.
const LONGEST_CELL: usize = 300;
/// From this many rows on the first header counts them.
const COUNT_FROM: usize = 11;
/// What a header looks like on a terminal: black on green.
const HEADER: (&str, &str) = ("\u{1b}[40;32m", "\u{1b}[0m");

/// The table as text that ends with a newline; empty when there are no rows.
pub fn render(headers: &[&str], rows: &[Vec<String>], colour: bool) -> String {
    if rows.is_empty() {
        return String::new();
    }
    let mut widths = Vec::new();
    rows.iter().for_each(|row| widen(&mut widths, row));
    let (mut out, widths) = head(headers, rows.len(), &widths, colour);
    rows.iter().for_each(|row| body(&mut out, row, &widths));
    rule(&mut out, &widths);
    out
}

/// Rows that are numbered, and that may be more than there is memory for.
#[derive(Debug, Default)]
pub struct Rows {
    /// Each row as a line of JSON.
    rows: Spool,
    count: usize,
    widths: Vec<usize>,
}

impl Rows {
    /// Adds a row; its first cell becomes its number.
    ///
    /// # Errors
    /// There is no room for it, in memory and on the disk.
    pub fn push(&mut self, mut row: Vec<String>) -> Result<(), SpoolError> {
        self.count += 1;
        if let Some(first) = row.first_mut() {
            *first = self.count.to_string();
        }
        widen(&mut self.widths, &row);
        self.rows.push(format!("{}\n", json!(row)).as_bytes())
    }

    /// Writes the table, which is nothing without rows.
    ///
    /// # Errors
    /// The rows cannot be read, or the table cannot be written.
    pub fn write(&self, headers: &[&str], colour: bool, out: &mut dyn Write) -> Result<(), WriteError> {
        if self.count == 0 {
            return Ok(());
        }
        let (mut text, widths) = head(headers, self.count, &self.widths, colour);
        let mut lines = BufReader::with_capacity(1 << 16, self.rows.reader());
        let mut line = Vec::new();
        loop {
            line.clear();
            if lines.read_until(b'\n', &mut line)? == 0 {
                break;
            }
            let row: Vec<String> = serde_json::from_slice(&line).map_err(std::io::Error::from)?;
            body(&mut text, &row, &widths);
            out.write_all(text.as_bytes())?;
            text.clear();
        }
        rule(&mut text, &widths);
        out.write_all(text.as_bytes())?;
        Ok(())
    }
}

/// Makes columns as wide as a row needs them.
fn widen(widths: &mut Vec<usize>, row: &[String]) {
    if widths.len() < row.len() {
        widths.resize(row.len(), 0);
    }
    for (widest, cell) in widths.iter_mut().zip(row) {
        *widest = lines(cell).iter().map(|line| width(line)).fold(*widest, usize::max);
    }
}

/// What stands above the rows, and how wide the columns are.
fn head(headers: &[&str], count: usize, of_rows: &[usize], colour: bool) -> (String, Vec<usize>) {
    let mut titles: Vec<String> = headers.iter().map(|h| (*h).to_string()).collect();
    if count >= COUNT_FROM
        && let Some(first) = titles.first_mut()
    {
        *first = format!("{first} ({count}) ");
    }
    let of_row = |i: usize| of_rows.get(i).copied().unwrap_or(0);
    let widths: Vec<usize> =
        titles.iter().enumerate().map(|(i, title)| of_row(i).max(width(title))).collect();
    let mut out = String::new();
    rule(&mut out, &widths);
    header(&mut out, &titles, &widths, colour);
    rule(&mut out, &widths);
    (out, widths)
}

/// The lines of a row.
fn body(out: &mut String, row: &[String], widths: &[usize]) {
    let cells: Vec<Vec<String>> = row.iter().map(|cell| lines(cell)).collect();
    let height = cells.iter().map(Vec::len).max().unwrap_or(0);
    for n in 0..height {
        line(out, widths, |i| cells.get(i).and_then(|cell| cell.get(n)).map_or("", String::as_str));
    }
}

fn rule(out: &mut String, widths: &[usize]) {
    out.push('│');
    for w in widths {
        out.extend(std::iter::repeat_n('─', w + 2));
        out.push('│');
    }
    out.push('\n');
}

fn header(out: &mut String, titles: &[String], widths: &[usize], colour: bool) {
    if !colour {
        line(out, widths, |i| titles.get(i).map_or("", String::as_str));
        return;
    }
    out.push('│');
    for (title, w) in titles.iter().zip(widths) {
        // The padding is coloured with the text.
        let padding = " ".repeat(w.saturating_sub(width(title)));
        out.push_str(&format!(" {}{title}{padding}{} │", HEADER.0, HEADER.1));
    }
    out.push('\n');
}

fn line<'c>(out: &mut String, widths: &[usize], cell: impl Fn(usize) -> &'c str) {
    out.push('│');
    for (i, w) in widths.iter().enumerate() {
        let text = cell(i);
        out.push(' ');
        out.push_str(text);
        out.extend(std::iter::repeat_n(' ', w.saturating_sub(width(text))));
        out.push_str(" │");
    }
    out.push('\n');
}

/// The lines of a cell.
fn lines(cell: &str) -> Vec<String> {
    if cell.contains('\n') {
        cell.split('\n').map(str::to_string).collect()
    } else if cell.len() > LONGEST_CELL {
        wrap(cell)
    } else {
        vec![cell.to_string()]
    }
}

/// Wraps at white space. The room left on a line counts each word with two more columns, as the
/// reference does, so lines are shorter than they could be.
fn wrap(cell: &str) -> Vec<String> {
    let mut words = cell.split_whitespace();
    let Some(first) = words.next() else { return vec![String::new()] };
    let mut out = vec![first.to_string()];
    let mut room = LONGEST_CELL.saturating_sub(first.len());
    for word in words {
        match out.last_mut() {
            Some(current) if word.len() < room => {
                current.push(' ');
                current.push_str(word);
                room = room.saturating_sub(word.len() + 2);
            }
            _ => {
                out.push(word.to_string());
                room = LONGEST_CELL.saturating_sub(word.len());
            }
        }
    }
    out
}

/// Display columns of a text: colour codes and control characters, tabs among them, have none.
fn width(text: &str) -> usize {
    if text.bytes().all(|b| matches!(b, b' '..=b'~')) {
        return text.len();
    }
    let mut visible = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('\u{1b}') {
        visible.push_str(before);
        rest = after.split_once('m').map_or("", |(_, tail)| tail);
    }
    visible.push_str(rest);
    visible.retain(|c| !c.is_control() && !matches!(c, '\u{2028}' | '\u{2029}'));
    visible.width()
}

#[cfg(test)]
mod tests;
