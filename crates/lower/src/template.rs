//! Documents with variables and references → templates.
//!
//! References `$(…)` point into the document itself, so they are resolved here; variables become
//! queries. What the document's root is decides what a lone `@` and relative references mean: the
//! caller lowers each document that the language treats as one.

use std::sync::Arc;

use ephor_ir::Template;
use ephor_ir::template::{Hole, Part, Rounds, Text};
use ephor_value::variables::{expression, find_variables};
use ephor_value::{Str, Value};

use super::query::compile;
use super::reference;

/// Documents nested deeper than this are not filled in. A policy that nests deeper is an error.
const MAX_DEPTH: usize = 256;

/// Lowers a document. `names` are the bindings in scope.
pub fn document(v: &Value, names: &Arc<[Str]>) -> Template {
    let resolved;
    let v = if v.any_text(&|s| s.contains("$(")) {
        match reference::resolve(v) {
            Ok(v) => {
                resolved = v;
                &resolved
            }
            Err(error) => return Template::Fail(error.to_string().into()),
        }
    } else {
        v
    };
    let mut lowering = TemplateLowering { names, path: Vec::new() };
    lowering.value(v)
}

/// Lowers a text; see [`document`].
pub fn text(s: &Str, names: &Arc<[Str]>) -> Template {
    document(&Value::Str(s.clone()), names)
}

struct TemplateLowering<'n> {
    names: &'n Arc<[Str]>,
    path: Vec<String>,
}

impl TemplateLowering<'_> {
    fn value(&mut self, v: &Value) -> Template {
        if self.path.len() > MAX_DEPTH {
            return Template::Fail("the document nests too deeply".into());
        }
        match v {
            Value::Str(s) => self.text(s),
            Value::List(l) => {
                let items = l.iter().enumerate();
                Template::list(items.map(|(i, v)| self.below(i.to_string(), |t| t.value(v))).collect())
            }
            Value::Map(m) => {
                let entry = |(k, v): (&Str, &Value)| {
                    (self.text(k), self.below(k.replace('/', "\\/"), |t| t.value(v)))
                };
                Template::object(m.iter().map(entry).collect())
            }
            other => Template::Const(other.clone()),
        }
    }

    fn below<T>(&mut self, step: String, f: impl FnOnce(&mut Self) -> T) -> T {
        self.path.push(step);
        let result = f(self);
        self.path.pop();
        result
    }

    fn path_text(&self) -> Str {
        self.path.iter().flat_map(|step| ["/", step]).collect::<String>().into()
    }

    fn text(&self, s: &Str) -> Template {
        if !s.contains("{{") {
            return Template::Const(Value::Str(s.clone()));
        }
        let found = find_variables(s);
        if found.is_empty() {
            return Template::Const(Value::from(s.replace("\\{{", "{{")));
        }
        let current: Str = current_path(&self.path).into();
        let rounds = Rounds {
            source: s.clone(),
            path: self.path_text(),
            names: self.names.clone(),
            current: current.clone(),
        };
        let query = |variable: &str| match expression(variable) {
            e if e == "@" => compile(&current, self.names),
            e => compile(&e, self.names),
        };
        if let [only] = &found[..]
            && *only == (0..s.len())
            && simple(s)
        {
            return Template::Whole(Box::new(Hole { query: query(s), rounds }));
        }
        let mut parts = Vec::new();
        let mut at = 0;
        for range in &found {
            let (Some(literal), Some(variable)) = (s.get(at..range.start), s.get(range.clone())) else {
                return Template::Rounds(Box::new(rounds));
            };
            if !simple(variable) || literal.contains("{{") {
                return Template::Rounds(Box::new(rounds));
            }
            if !literal.is_empty() {
                parts.push(Part::Literal(literal.into()));
            }
            parts.push(Part::Hole(query(variable)));
            at = range.end;
        }
        let rest = s.get(at..).unwrap_or_default();
        if rest.contains("{{") {
            return Template::Rounds(Box::new(rounds));
        }
        if !rest.is_empty() {
            parts.push(Part::Literal(rest.into()));
        }
        Template::Text(Box::new(Text { parts: parts.into(), rounds }))
    }
}

/// A variable that needs no second look: not nested and not shallow.
fn simple(variable: &str) -> bool {
    let inner = variable.get(2..variable.len().saturating_sub(2)).unwrap_or_default();
    !inner.contains("{{") && !inner.contains("}}") && !inner.trim_start().starts_with('-')
}

/// What a lone `@` at this path stands for: the same place in the request's object, without
/// everything up to a `foreach` and without the first two steps after it.
pub fn current_path(path: &[String]) -> String {
    let after = path.iter().position(|p| p == "foreach").map_or(0, |i| i + 1);
    let rest = path.get(after..).unwrap_or_default();
    let mut out = String::from("request.object");
    for step in rest.get(2..).unwrap_or_default() {
        if step.bytes().all(|b| b.is_ascii_digit()) {
            out.push_str(&format!("[{step}]"));
        } else if is_plain_name(step) {
            out.push('.');
            out.push_str(step);
        } else {
            out.push_str(&format!(".\"{step}\""));
        }
    }
    out
}

fn is_plain_name(step: &str) -> bool {
    let mut bytes = step.bytes();
    bytes.next().is_some_and(|b| b.is_ascii_alphabetic() || b == b'_' || b == b'(')
        && bytes.all(|b| b.is_ascii_alphanumeric() || b == b'_' || b == b')')
}

#[cfg(test)]
mod tests {
    use super::*;
    use ephor_document::yaml_value;

    fn lowered(text: &str) -> Template {
        document(&yaml_value(text).unwrap(), &Arc::from([]))
    }

    /// The kind of template of a text, with its parts: literals in quotes, the texts of variables
    /// bare.
    fn shape(text: &str) -> String {
        match super::text(&text.into(), &Arc::from([])) {
            Template::Const(v) => format!("const {}", ephor_value::print::json(&v)),
            Template::Whole(hole) => format!("whole {}", hole.query.text),
            Template::Rounds(_) => "rounds".into(),
            Template::Fail(text) => format!("fail {text}"),
            Template::Text(text) => {
                let parts = text.parts.iter().map(|part| match part {
                    Part::Literal(s) => format!("{s:?}"),
                    Part::Hole(query) => query.text.to_string(),
                });
                format!("text {}", parts.collect::<Vec<_>>().join(" "))
            }
            other => format!("{other:?}"),
        }
    }

    #[test]
    fn plain_variables_are_compiled_once_and_others_resolved_in_rounds() {
        for (text, expected) in [
            ("a", r#"const "a""#),
            ("{{ a.b }}", "whole a.b"),
            ("{{a}}", "whole a"),
            (" {{ a }}", r#"text " " a"#),
            ("x {{ a }} y {{ b }}", r#"text "x " a " y " b"#),
            // Nested, shallow and touching variables, and escapes before others.
            ("{{ a.{{ b }} }}", "rounds"),
            ("{{- a }}", "rounds"),
            ("x {{- a }}", "rounds"),
            ("{{ a }}{{ b }}", "rounds"),
            (r"\{{ a }} {{ b }}", "rounds"),
            ("{{ a }} {{ b", "rounds"),
            // Nothing but escapes is text.
            (r"\{{ a }}", r#"const "{{ a }}""#),
            ("{{ a", r#"const "{{ a""#),
        ] {
            assert_eq!(shape(text), expected, "{text}");
        }
    }

    #[test]
    fn what_has_no_variables_is_one_constant() {
        let text = "{a: [1, {b: x}], c: null}";
        assert_eq!(lowered(text).as_const(), Some(&yaml_value(text).unwrap()));
        assert!(matches!(lowered("{a: '{{ x }}', b: 1}"), Template::Object(_)));
        assert!(matches!(lowered("{'{{ x }}': 1}"), Template::Object(_)));
        assert!(matches!(lowered("[1, '{{ x }}']"), Template::List(_)));
    }

    #[test]
    fn variables_know_their_place_in_the_document() {
        let Template::Object(pairs) = lowered("{a/b: ['{{ x }}']}") else { panic!() };
        let Some((_, Template::List(items))) = pairs.first() else { panic!() };
        let Some(Template::Whole(hole)) = items.first() else { panic!() };
        assert_eq!(&*hole.rounds.path, r"/a\/b/0");
    }

    #[test]
    fn documents_that_nest_too_deeply_fail_when_they_are_used() {
        let nested = |n: usize| lowered(&format!("{}1{}", "[".repeat(n), "]".repeat(n)));
        assert!(nested(MAX_DEPTH).as_const().is_some());
        let mut inner = nested(MAX_DEPTH + 1);
        while let Template::List(items) = inner {
            inner = items.first().cloned().unwrap();
        }
        assert!(matches!(inner, Template::Fail(_)));
    }

    #[test]
    fn a_lone_at_sign_is_the_same_place_in_the_object() {
        let at = |steps: &[&str]| current_path(&steps.iter().map(ToString::to_string).collect::<Vec<_>>());
        for (steps, expected) in [
            (&["validate", "pattern", "spec", "replicas"][..], "request.object.spec.replicas"),
            (&["validate", "pattern", "spec", "items", "0", "name"], "request.object.spec.items[0].name"),
            (&["validate", "pattern", "metadata", "a.b/c"], r#"request.object.metadata."a.b/c""#),
            // Everything up to a loop and the two steps behind it do not count.
            (&["validate", "foreach", "0", "pattern", "spec"], "request.object.spec"),
            (&["pattern"], "request.object"),
            (&[], "request.object"),
        ] {
            assert_eq!(at(steps), expected, "{steps:?}");
        }
    }

    #[test]
    fn references_take_the_value_of_another_place_before_variables_are_looked_for() {
        for (text, expected) in [
            ("{a: z, b: $(./../a)}", "{a: z, b: z}"),
            ("{a: {b: x}, c: $(/a/b)}", "{a: {b: x}, c: x}"),
            (r"{a: 1, b: '\$(./../a)'}", "{a: 1, b: $(./../a)}"),
            ("{a: 5, b: '$(>=./../a)'}", "{a: 5, b: '>=5'}"),
            ("{=(a): z, b: $(./../a)}", "{=(a): z, b: z}"),
        ] {
            assert_eq!(lowered(text).as_const(), Some(&yaml_value(expected).unwrap()), "{text}");
        }
        // What is no text needs an operator in front of it.
        for text in ["{a: $(./../nowhere)}", "{a: 1, b: $(./../a)}", "{a: [x], b: $(./../a)}"] {
            assert!(matches!(lowered(text), Template::Fail(_)), "{text}");
        }
    }
}
