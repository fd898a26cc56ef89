//! Values as text: JSON, and the display text that messages and operators use.

use std::fmt::Write;

use super::number::{float_json, float_v};
use super::quote::quote;
use super::{Str, Value, stack};

/// The display text (`%v`): strings raw, `<nil>` for null, `[a b]` for lists, `map[k:v]` with
/// sorted keys for objects, doubles as [`float_v`].
pub fn display(v: &Value) -> String {
    let mut out = String::new();
    write_display(&mut out, v);
    out
}

/// The display text where Kyverno 1.19.1 prints a value as if it were a string (`%s`): anything
/// that is none shows its type, `%!s(float64=1)`.
pub fn display_s(v: &Value) -> String {
    let mut out = String::new();
    write_with(&mut out, v, &|out, v| {
        let kind = match v {
            Value::Null => return out.push_str("%!s(<nil>)"),
            Value::Str(s) => return out.push_str(s),
            Value::Bool(_) => "bool",
            Value::Int(_) => "int64",
            Value::UInt(_) => "uint64",
            _ => "float64",
        };
        let _ = write!(out, "%!s({kind}=");
        scalar(out, v);
        out.push(')');
    });
    out
}

/// The value in Go syntax (`%#v`).
pub fn go_syntax(v: &Value) -> String {
    match v {
        Value::Null => "interface {}(nil)".into(),
        Value::Str(s) => quote(s),
        Value::List(l) => stack::deep(|| {
            let items: Vec<String> = l.iter().map(go_syntax).collect();
            format!("[]interface {{}}{{{}}}", items.join(", "))
        }),
        Value::Map(m) => stack::deep(|| {
            let entry = |(k, v): (&Str, &Value)| format!("{}:{}", quote(k), go_syntax(v));
            let entries: Vec<String> = m.sorted().into_iter().map(entry).collect();
            format!("map[string]interface {{}}{{{}}}", entries.join(", "))
        }),
        other => display(other),
    }
}

/// Appends the display text of `v`; see [`display`].
pub fn write_display(out: &mut String, v: &Value) {
    write_with(out, v, &scalar);
}

fn scalar(out: &mut String, v: &Value) {
    match v {
        Value::Null | Value::List(_) | Value::Map(_) => out.push_str("<nil>"),
        Value::Bytes(_) | Value::Duration(_) | Value::Timestamp(_) | Value::Object(_) => {
            out.push_str(v.cel_type())
        }
        Value::Bool(b) => out.push_str(if *b { "true" } else { "false" }),
        Value::Int(i) => {
            let _ = write!(out, "{i}");
        }
        Value::UInt(u) => {
            let _ = write!(out, "{u}");
        }
        Value::Float(f) => out.push_str(&float_v(*f)),
        Value::Str(s) => out.push_str(s),
    }
}

fn write_with(out: &mut String, v: &Value, leaf: &dyn Fn(&mut String, &Value)) {
    match v {
        Value::List(l) => {
            out.push('[');
            for (i, item) in l.iter().enumerate() {
                if i > 0 {
                    out.push(' ');
                }
                write_with(out, item, leaf);
            }
            out.push(']');
        }
        Value::Map(m) => {
            out.push_str("map[");
            for (i, (k, item)) in m.sorted().into_iter().enumerate() {
                if i > 0 {
                    out.push(' ');
                }
                out.push_str(k);
                out.push(':');
                write_with(out, item, leaf);
            }
            out.push(']');
        }
        other => leaf(out, other),
    }
}

/// Compact JSON with sorted keys; `<`, `>`, `&`, U+2028 and U+2029 are escaped. NaN and infinities
/// print as bare words; callers that must refuse them use [`first_non_finite`].
pub fn json(v: &Value) -> String {
    let mut out = String::new();
    write_json(&mut out, v, None, 0);
    out
}

/// JSON as [`json`] with line breaks and `indent` blanks a level.
pub fn json_pretty(v: &Value, indent: usize) -> String {
    let mut out = String::new();
    write_json(&mut out, v, Some(indent), 0);
    out
}

/// The first number in `v` that JSON cannot express, if there is one.
pub fn first_non_finite(v: &Value) -> Option<f64> {
    match v {
        Value::Float(f) if !f.is_finite() => Some(*f),
        Value::List(l) => l.iter().find_map(first_non_finite),
        Value::Map(m) => m.sorted().into_iter().find_map(|(_, v)| first_non_finite(v)),
        _ => None,
    }
}

fn line_break(out: &mut String, indent: Option<usize>, level: usize) {
    if let Some(n) = indent {
        out.push('\n');
        out.extend(std::iter::repeat_n(' ', n * level));
    }
}

fn write_json(out: &mut String, v: &Value, indent: Option<usize>, level: usize) {
    match v {
        // No document holds values of these kinds.
        Value::Bytes(_) | Value::Duration(_) | Value::Timestamp(_) | Value::Object(_) => out.push_str("null"),
        Value::Null => out.push_str("null"),
        Value::Bool(b) => out.push_str(if *b { "true" } else { "false" }),
        Value::Int(i) => {
            let _ = write!(out, "{i}");
        }
        Value::UInt(u) => {
            let _ = write!(out, "{u}");
        }
        Value::Float(f) => out.push_str(&float_json(*f)),
        Value::Str(s) => write_json_string(out, s),
        Value::List(l) if l.is_empty() => out.push_str("[]"),
        Value::List(l) => {
            out.push('[');
            for (i, item) in l.iter().enumerate() {
                if i > 0 {
                    out.push(',');
                }
                line_break(out, indent, level + 1);
                write_json(out, item, indent, level + 1);
            }
            line_break(out, indent, level);
            out.push(']');
        }
        Value::Map(m) if m.is_empty() => out.push_str("{}"),
        Value::Map(m) => {
            out.push('{');
            for (i, (k, item)) in m.sorted().into_iter().enumerate() {
                if i > 0 {
                    out.push(',');
                }
                line_break(out, indent, level + 1);
                write_json_string(out, k);
                out.push_str(if indent.is_some() { ": " } else { ":" });
                write_json(out, item, indent, level + 1);
            }
            line_break(out, indent, level);
            out.push('}');
        }
    }
}

/// Appends `s` as a JSON string in quotes; see [`json`] for what is escaped.
pub fn write_json_string(out: &mut String, s: &str) {
    out.push('"');
    for c in s.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            '\u{8}' => out.push_str("\\b"),
            '\u{c}' => out.push_str("\\f"),
            '<' | '>' | '&' | '\u{2028}' | '\u{2029}' | '\0'..='\u{1f}' => {
                let _ = write!(out, "\\u{:04x}", c as u32);
            }
            c => out.push(c),
        }
    }
    out.push('"');
}
