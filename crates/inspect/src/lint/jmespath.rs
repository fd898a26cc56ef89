//! Usual mistakes in JMESPath: names where literals are meant, keys that need quotes, constant
//! arguments that functions cannot read.
//!
//! In: the text of a query and its syntax tree. Out: what is wrong at which byte, and what to
//! write.

use std::borrow::Cow;
use std::ops::Range;
use std::sync::Arc;

use ephor_functions::{Arg, Context, Remarks, call, find};
use ephor_jmespath::Ast;
use ephor_value::Value;

/// A name that is compared as if it were a literal.
pub(super) struct MeantLiteral {
    /// Where it stands.
    pub(super) byte: usize,
    /// How it is written.
    pub(super) written: String,
    /// The literal.
    pub(super) meant: String,
}

impl MeantLiteral {
    /// What is wrong.
    pub(super) fn message(&self) -> String {
        format!("`{}` is the name of a field, not a value", self.written)
    }
}

/// Names in double quotes and the names `true` and `false` that are sides of comparisons.
pub(super) fn literals(ast: &Ast, source: &str) -> Vec<MeantLiteral> {
    let mut found = Vec::new();
    each(ast, &mut |node| {
        let Ast::Comparator(_, sides) = node else { return };
        for side in sides.iter() {
            let Ast::Field(name, byte) = side else { continue };
            let is_quoted = source.get(*byte..).is_some_and(|rest| rest.starts_with('"'));
            let (written, meant) = match &**name {
                _ if is_quoted => (format!("\"{name}\""), format!("'{name}'")),
                "true" | "false" => (name.clone(), format!("`{name}`")),
                _ => continue,
            };
            // Escapes are not read here.
            if source.get(*byte..).is_some_and(|rest| rest.starts_with(&written)) && !name.contains('\'') {
                found.push(MeantLiteral { byte: *byte, written, meant });
            }
        }
    });
    found
}

/// Calls `visit` with each part of a tree.
fn each(ast: &Ast, visit: &mut dyn FnMut(&Ast)) {
    visit(ast);
    let mut all = |parts: &[Ast]| parts.iter().for_each(|part| each(part, visit));
    match ast {
        Ast::Comparator(_, pair)
        | Ast::IndexExpression(pair)
        | Ast::Or(pair)
        | Ast::And(pair)
        | Ast::Pipe(pair)
        | Ast::Projection(pair)
        | Ast::Subexpression(pair)
        | Ast::ValueProjection(pair) => all(&pair[..]),
        Ast::Filter(parts) => all(&parts[..]),
        Ast::Function(_, args, _) | Ast::MultiSelectList(args) => all(args),
        Ast::Expref(inner) | Ast::Flatten(inner) | Ast::Not(inner) => each(inner, visit),
        Ast::MultiSelectHash(pairs) => pairs.iter().for_each(|(_, value)| each(value, visit)),
        _ => {}
    }
}

/// Keys of a query that does not parse which need quotes: with hyphens, or with the slash of a
/// label or annotation. Out: edits after which it parses.
pub(super) fn quoted_keys(source: &str) -> Option<Vec<(Range<usize>, String)>> {
    let is_word = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let mut edits = Vec::new();
    let mut at = 0;
    let mut quote: Option<char> = None;
    while let Some(c) = source.get(at..)?.chars().next() {
        match quote {
            Some(open) => {
                quote = quote.filter(|_| c != open);
                at += c.len_utf8();
            }
            None if matches!(c, '\'' | '"' | '`') => {
                quote = Some(c);
                at += 1;
            }
            None if c.is_ascii_alphabetic() || c == '_' => {
                let rest = source.get(at..)?;
                let before = source.get(..at)?;
                // Below labels and annotations a slash and dots may be parts of the key.
                let is_label = before.ends_with("labels.") || before.ends_with("annotations.");
                let long = rest.find(|c: char| !(is_word(c) || "-./".contains(c))).unwrap_or(rest.len());
                let short = rest.find(|c: char| !(is_word(c) || c == '-')).unwrap_or(rest.len());
                let has_slash = rest.get(..long)?.contains('/');
                let length = if is_label && has_slash { long } else { short };
                let key = rest.get(..length)?.trim_end_matches(['-', '.']);
                if key.contains(['-', '/']) {
                    edits.push((at..at + key.len(), format!("\"{key}\"")));
                }
                at += length.max(1);
            }
            None => at += c.len_utf8(),
        }
    }
    let mut new = source.to_string();
    for (range, text) in edits.iter().rev() {
        new.replace_range(range.clone(), text);
    }
    (!edits.is_empty() && ephor_jmespath::parse(&new).is_ok()).then_some(edits)
}

/// Functions of which a constant argument is read by itself, with arguments that they can read.
const READ_ALONE: [(&str, &[&str]); 4] = [
    ("semver_compare", &["1.0.0", ">=0.0.0"]),
    ("regex_match", &["a", "a"]),
    ("regex_replace_all", &["a", "a", "a"]),
    ("regex_replace_all_literal", &["a", "a", "a"]),
];

/// Constant arguments that a function cannot read, or takes for something else: the byte and the
/// length of the function's name, and what it says.
pub(super) fn arguments(ast: &Ast) -> Vec<(usize, usize, String)> {
    let mut found = Vec::new();
    each(ast, &mut |node| {
        let Ast::Function(Some(name), args, byte) = node else { return };
        if let Some(text) = wrong_arguments(name, args) {
            found.push((*byte, name.chars().count(), text));
        }
    });
    found
}

fn wrong_arguments(name: &str, args: &[Ast]) -> Option<String> {
    let function = find(name).filter(|_| !name.starts_with("random") && !name.contains("now"))?;
    let samples = READ_ALONE.iter().find(|(known, _)| *known == name).map_or(&[][..], |(_, samples)| samples);
    let mut constants = 0;
    let given: Vec<Value> = args
        .iter()
        .enumerate()
        .map(|(i, arg)| match arg {
            Ast::Literal(value) => {
                constants += 1;
                Some(value.clone())
            }
            _ => samples.get(i).map(|sample| Value::from(*sample)),
        })
        .collect::<Option<_>>()?;
    if constants == 0 {
        return None;
    }
    let remarks = Arc::new(Remarks::default());
    let cx = Context { remarks: Some(remarks.clone()), now: Some(0), ..Context::default() };
    let args: Vec<Arg<'_>> = given.iter().map(|value| Arg::Value(Cow::Borrowed(value))).collect();
    if !matches!(function.run, ephor_functions::Run::Plain(_)) {
        return None;
    }
    let text = match call(function, &cx, &args) {
        Err(fault) => fault.to_string(),
        Ok(_) => remarks.take().into_iter().next()?,
    };
    Some(if text.starts_with(name) { text } else { format!("`{name}`: {text}") })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn quoted(source: &str) -> Option<String> {
        let mut new = source.to_string();
        for (range, text) in quoted_keys(source)?.iter().rev() {
            new.replace_range(range.clone(), text);
        }
        Some(new)
    }

    #[test]
    fn keys_with_hyphens_and_slashes_are_quoted() {
        for (source, wanted) in [
            ("a.foo-bar", "a.\"foo-bar\""),
            ("labels.a-b || 'x-y'", "labels.\"a-b\" || 'x-y'"),
            ("a.labels.app.kubernetes.io/name", "a.labels.\"app.kubernetes.io/name\""),
            ("a.annotations.b-c.d/e[0]", "a.annotations.\"b-c.d/e\"[0]"),
        ] {
            assert_eq!(quoted(source).as_deref(), Some(wanted), "{source}");
        }
        assert_eq!(quoted("a.b ||"), None);
    }

    #[test]
    fn constants_that_a_function_cannot_read_are_found() {
        let wrong =
            |source: &str| ephor_jmespath::parse(source).map(|ast| arguments(&ast).len()).unwrap_or(9);
        for source in [
            "semver_compare('latest', '>=1.0.0')",
            "semver_compare(a.b, '>=one')",
            "semver_compare('v1', a)",
            "regex_match('[a-z', a.b)",
            "parse_json('{')",
            "[x[?semver_compare(@, 'none')]]",
        ] {
            assert_eq!(wrong(source), 1, "{source}");
        }
        for source in [
            "semver_compare('1.2.3', '>=1.0.0')",
            "semver_compare(a, b)",
            "regex_match('^[a-z]+$', a)",
            "to_upper('a')",
            "length(a)",
        ] {
            assert_eq!(wrong(source), 0, "{source}");
        }
    }
}
