//! Values as YAML text, byte for byte as the reference prints them.
//!
//! The reference uses two printers. [`Style::Report`] is that of policy reports: 2 blanks a level,
//! sequences in the column of their key, long scalars folded after column 80. [`Style::Object`] is
//! that of mutated and generated objects: 4 blanks a level, sequences indented, nothing folded.
//!
//! Both sort keys in *natural* order (digits by their number, letters after other characters). Text
//! is plain where it reads back as the same text; it is quoted with `"` where it would read back
//! with another type or holds unprintable characters, with `'` where its characters mean something
//! to YAML, and becomes a literal block where it has line breaks. A key of more than 128 bytes or
//! with line breaks is written after `?`. Numbers without fraction print as integers.
//!
//! The layout rules are libyaml's emitter: three facts about the position (column, whether white
//! space precedes, whether only indentation precedes) decide where a line breaks.
//!
//! - `natural`: the order of keys in printed YAML: *natural* order
//! - `scalar`: how a text is written in YAML: plain, quoted or as a literal block

use std::fmt::Write;

use ephor_value::{Map, Value, number};

mod natural;
mod scalar;

use scalar::Notation;

/// Which of the reference's printers to follow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Style {
    /// Policy reports.
    Report,
    /// Mutated and generated objects.
    Object,
    /// Messages of refused requests: as reports, with nothing folded.
    Block,
}

/// The longest key, in bytes, that is written without `?`.
const MAX_KEY: usize = 128;
/// Scalars are folded at the first blank after this column.
const WIDTH: usize = 80;

/// The value as a YAML document that ends with a newline.
pub fn to_string(value: &Value, style: Style) -> String {
    let mut out = String::new();
    write(&mut out, value, style);
    out
}

/// Appends the value as a YAML document that ends with a newline.
pub fn write(out: &mut String, value: &Value, style: Style) {
    let mut emitter =
        Emitter { out, style, indent: -1, column: 0, whitespace: true, indention: true, in_sequence: false };
    emitter.node(value, false);
    if emitter.column > 0 {
        emitter.line_break();
    }
}

/// Appends a text as the value of a key, for report objects that are written piece by piece:
/// `indent` is the column of the key, `column` where the value begins.
pub fn write_scalar(out: &mut String, text: &str, indent: usize, column: usize) {
    let indent = isize::try_from(indent).unwrap_or(0);
    let mut emitter = Emitter {
        out,
        style: Style::Report,
        indent,
        column,
        whitespace: true,
        indention: false,
        in_sequence: false,
    };
    emitter.text(text, false);
}

/// Appends a text as a key; see [`write_scalar`].
pub fn write_key(out: &mut String, text: &str) {
    let mut emitter = Emitter {
        out,
        style: Style::Report,
        indent: 0,
        column: 0,
        whitespace: true,
        indention: false,
        in_sequence: false,
    };
    emitter.text(text, true);
}

struct Emitter<'o> {
    out: &'o mut String,
    style: Style,
    /// Column of the innermost collection, -1 outside of any.
    indent: isize,
    /// Characters since the line began.
    column: usize,
    /// Whether the last character was white space.
    whitespace: bool,
    /// Whether the line holds only indentation and indicators that count as such.
    indention: bool,
    /// Whether the node being written is an item of a sequence.
    in_sequence: bool,
}

impl Emitter<'_> {
    fn node(&mut self, value: &Value, mapping_context: bool) {
        match value {
            Value::List(items) if items.is_empty() => self.atom("[]"),
            Value::Map(entries) if entries.is_empty() => self.atom("{}"),
            Value::List(items) => self.sequence(items, mapping_context),
            Value::Map(entries) => self.mapping(entries),
            Value::Str(text) => self.text(text, false),
            Value::Null => self.atom("null"),
            Value::Bool(b) => self.atom(if *b { "true" } else { "false" }),
            Value::Int(i) => self.integer(*i),
            Value::UInt(u) => self.integer(*u),
            Value::Float(f) => self.float(*f),
            // No document holds values of other kinds.
            Value::Bytes(_) | Value::Duration(_) | Value::Timestamp(_) | Value::Object(_) => {
                self.atom("null")
            }
        }
    }

    fn sequence(&mut self, items: &[Value], mapping_context: bool) {
        let in_key_column = self.style != Style::Object && mapping_context && !self.indention;
        let outer = self.indent;
        self.indent = self.deeper(in_key_column);
        for item in items {
            self.write_indent();
            self.indicator("-", true, true);
            self.in_sequence = true;
            self.node(item, false);
            self.in_sequence = false;
        }
        self.indent = outer;
    }

    fn mapping(&mut self, entries: &Map) {
        let outer = self.indent;
        self.indent = self.deeper(false);
        self.in_sequence = false;
        for (key, value) in natural::sorted(entries, self.style == Style::Object) {
            self.write_indent();
            if key.len() > MAX_KEY || scalar::has_break(key) {
                self.indicator("?", true, true);
                self.text(key, false);
                self.write_indent();
                self.indicator(":", true, true);
            } else {
                self.text(key, true);
                self.indicator(":", false, false);
            }
            self.node(value, true);
        }
        self.indent = outer;
    }

    /// The column of a collection inside the current one.
    fn deeper(&self, in_key_column: bool) -> isize {
        match self.style {
            _ if self.indent < 0 => 0,
            Style::Report | Style::Block if in_key_column => self.indent,
            Style::Report | Style::Block => self.indent + 2,
            // Inside a sequence item only the `- ` is skipped; all else keeps to multiples of 4.
            Style::Object if self.in_sequence => self.indent + 2,
            Style::Object => (self.indent + 4) / 4 * 4,
        }
    }

    // ---- scalars ----

    /// A word that needs no quotes.
    fn atom(&mut self, word: &str) {
        self.space();
        self.out.push_str(word);
        self.column += word.len();
        self.whitespace = false;
        self.indention = false;
        self.in_sequence = false;
    }

    fn integer(&mut self, i: impl std::fmt::Display) {
        self.space();
        let before = self.out.len();
        let _ = write!(self.out, "{i}");
        self.column += self.out.len() - before;
        self.whitespace = false;
        self.indention = false;
        self.in_sequence = false;
    }

    fn float(&mut self, f: f64) {
        if f.is_nan() {
            self.atom(".nan");
        } else if f.is_infinite() {
            self.atom(if f > 0.0 { ".inf" } else { "-.inf" });
        } else if f.fract() == 0.0 && f.abs() < 9.2e18 {
            self.integer(f as i64);
        } else {
            self.atom(&number::float_v(f));
        }
    }

    fn text(&mut self, text: &str, simple_key: bool) {
        let notation = scalar::notation(text, self.style, simple_key);
        // The lines of a scalar stand one level deeper than what holds it.
        let outer = self.indent;
        self.indent = match self.style {
            _ if self.indent < 0 => {
                if self.style == Style::Object {
                    4
                } else {
                    2
                }
            }
            _ => self.deeper(false),
        };
        self.in_sequence = false;
        let fold = self.style == Style::Report && !simple_key;
        match notation {
            Notation::Plain => {
                if !text.is_empty() {
                    self.space();
                }
                self.plain(text, fold);
                self.whitespace = false;
                self.indention = false;
            }
            Notation::Single => self.single(text, fold),
            Notation::Double => self.double(text, fold),
            Notation::Literal => self.literal(text, self.indent - outer.max(0)),
        }
        self.indent = outer;
    }

    fn plain(&mut self, text: &str, fold: bool) {
        if !fold || self.column + text.len() <= WIDTH {
            self.out.push_str(text);
            self.column += text.chars().count();
            return;
        }
        let mut spaces = false;
        let mut rest = text;
        while let Some(c) = rest.chars().next() {
            rest = rest.get(c.len_utf8()..).unwrap_or("");
            if c == ' ' && !spaces && self.column > WIDTH && !rest.starts_with(' ') {
                self.write_indent();
                spaces = true;
                continue;
            }
            self.put(c);
            spaces = c == ' ';
            self.indention = false;
        }
    }

    fn single(&mut self, text: &str, fold: bool) {
        self.indicator("'", true, false);
        let (mut spaces, mut breaks) = (false, false);
        let mut chars = text.char_indices().peekable();
        while let Some((i, c)) = chars.next() {
            let next = chars.peek().map(|(_, c)| *c);
            if c == ' ' {
                if fold && !spaces && self.column > WIDTH && i > 0 && next.is_some_and(|n| n != ' ') {
                    self.write_indent();
                } else {
                    self.put(c);
                }
                spaces = true;
            } else if scalar::is_break(c) {
                if !breaks && c == '\n' {
                    self.line_break();
                }
                self.out.push(c);
                self.column = 0;
                self.indention = true;
                breaks = true;
            } else {
                if breaks {
                    self.write_indent();
                }
                if c == '\'' {
                    self.put('\'');
                }
                self.put(c);
                self.indention = false;
                (spaces, breaks) = (false, false);
            }
        }
        self.indicator("'", false, false);
        self.whitespace = false;
        self.indention = false;
    }

    fn double(&mut self, text: &str, fold: bool) {
        self.indicator("\"", true, false);
        let mut spaces = false;
        let mut chars = text.char_indices().peekable();
        while let Some((i, c)) = chars.next() {
            let next = chars.peek().map(|(_, c)| *c);
            // The printers look for a byte order mark at the wrong place: one at the beginning
            // makes them escape everything.
            let marked = text.starts_with('\u{feff}').then_some('\0');
            if let Some(code) = scalar::escape(c).or(marked) {
                let before = self.out.len();
                scalar::write_escape(self.out, c, code);
                self.column += self.out.len() - before;
                spaces = false;
            } else if c == ' ' {
                if fold && !spaces && self.column > WIDTH && i > 0 && next.is_some() {
                    self.write_indent();
                    if next == Some(' ') {
                        self.put('\\');
                    }
                } else {
                    self.put(c);
                }
                spaces = true;
            } else {
                self.put(c);
                spaces = false;
            }
        }
        self.indicator("\"", false, false);
        self.whitespace = false;
        self.indention = false;
    }

    /// A block whose lines stand `depth` columns deeper than what holds it. Where the text begins
    /// with white space that number is written, also where the reference writes a wrong one.
    fn literal(&mut self, text: &str, depth: isize) {
        self.indicator("|", true, false);
        if text.starts_with(|c| c == ' ' || scalar::is_break(c)) {
            self.put(if depth == 2 { '2' } else { '4' });
        }
        let mut back = text.chars().rev();
        match (back.next().is_some_and(scalar::is_break), back.next().is_none_or(scalar::is_break)) {
            (false, _) => self.put('-'),
            (true, true) => self.put('+'),
            (true, false) => {}
        }
        self.line_break();
        for line in text.split_inclusive(scalar::is_break) {
            if !line.starts_with(scalar::is_break) {
                self.write_indent();
            }
            self.out.push_str(line);
            if line.ends_with(scalar::is_break) {
                self.column = 0;
                self.indention = true;
                self.whitespace = true;
            } else {
                self.column += line.chars().count();
                self.indention = false;
                self.whitespace = false;
            }
        }
    }

    // ---- position ----

    fn put(&mut self, c: char) {
        self.out.push(c);
        self.column += 1;
    }

    fn space(&mut self) {
        if !self.whitespace {
            self.put(' ');
        }
    }

    fn line_break(&mut self) {
        self.out.push('\n');
        self.column = 0;
        self.whitespace = true;
        self.indention = true;
    }

    fn indicator(&mut self, mark: &str, need_whitespace: bool, is_indention: bool) {
        if need_whitespace {
            self.space();
        }
        self.out.push_str(mark);
        self.column += mark.len();
        self.whitespace = false;
        self.indention &= is_indention;
    }

    fn write_indent(&mut self) {
        let indent = usize::try_from(self.indent).unwrap_or(0);
        if !self.indention || self.column > indent || (self.column == indent && !self.whitespace) {
            self.line_break();
        }
        const BLANKS: &str = "                                ";
        while self.column < indent {
            let n = (indent - self.column).min(BLANKS.len());
            self.out.push_str(BLANKS.get(..n).unwrap_or(" "));
            self.column += n;
        }
        self.whitespace = true;
        self.indention = true;
    }
}

#[cfg(test)]
mod tests;
