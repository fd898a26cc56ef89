//! What is known of a function, as text.

use ephor_cel::syntax::MACROS;
use ephor_functions::cel::overload::{LIBRARIES, Overload};
use ephor_functions::registry::Language;

/// Overloads that are shown at most: of operators and conversions there are many, and the first
/// ones say what the function is about.
const MAX_OVERLOADS: usize = 8;

/// A function: its forms, a sentence and examples.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FunctionInfo {
    /// Its forms: `lookup(object or array, string or number) any`.
    pub forms: Vec<String>,
    /// What it does.
    pub note: String,
    /// Expressions with their results.
    pub examples: Vec<String>,
}

impl FunctionInfo {
    /// As Markdown.
    pub fn markdown(&self) -> String {
        let mut out = format!("```\n{}\n```\n{}", self.forms.join("\n"), self.note);
        if !self.examples.is_empty() {
            out.push_str(&format!("\n\n```\n{}\n```", self.examples.join("\n")));
        }
        out
    }
}

/// The function of a name, `split` or `sets.contains`; of CEL its last part is enough.
pub fn function(language: Language, name: &str) -> Option<FunctionInfo> {
    match language {
        Language::JmesPath => of_jmespath(name),
        Language::Cel => of_cel(name),
    }
}

fn of_jmespath(name: &str) -> Option<FunctionInfo> {
    let found = ephor_functions::find(name)?;
    let examples = found.examples.iter().map(|(text, result)| format!("{text} => {result}")).collect();
    Some(FunctionInfo {
        forms: vec![found.signature().replace('|', " or ")],
        note: found.note.into(),
        examples,
    })
}

fn of_cel(name: &str) -> Option<FunctionInfo> {
    let mut out = FunctionInfo::default();
    for (form, note) in MACROS {
        let callee = form.split('(').next().unwrap_or_default();
        if callee == name || callee.rsplit('.').next() == Some(name) {
            out.forms.push((*form).into());
            if out.note.is_empty() {
                out.note = (*note).into();
            }
        }
    }
    for found in LIBRARIES.iter().flat_map(|library| library.functions()) {
        if found.name != name {
            continue;
        }
        out.forms.extend(found.overloads.iter().map(|overload| form(found.name, overload)));
        if out.note.is_empty() && !found.note.starts_with("as `") {
            out.note = found.note.into();
        }
    }
    out.forms.dedup();
    let left = out.forms.len().saturating_sub(MAX_OVERLOADS);
    out.forms.truncate(MAX_OVERLOADS);
    if left > 0 {
        out.forms.push(format!("… and {left} more"));
    }
    (!out.forms.is_empty()).then_some(out)
}

/// An overload as it is written in an expression: `string.split(string) list<string>`.
fn form(name: &str, overload: &Overload) -> String {
    let types: Vec<String> = overload.params.iter().map(ToString::to_string).collect();
    match (overload.member, types.split_first()) {
        (true, Some((receiver, rest))) => {
            format!("{receiver}.{name}({}) {}", rest.join(", "), overload.result)
        }
        _ => format!("{name}({}) {}", types.join(", "), overload.result),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn functions_have_forms_and_examples() {
        let split = function(Language::JmesPath, "split").map(|f| f.markdown()).unwrap_or_default();
        assert!(split.contains("split(string, string) array") && split.contains("=>"), "{split}");
        let contains = function(Language::Cel, "startsWith").map(|f| f.markdown()).unwrap_or_default();
        assert!(contains.contains("string.startsWith(string) bool"), "{contains}");
        let all = function(Language::Cel, "all").map(|f| f.markdown()).unwrap_or_default();
        assert!(all.contains("list.all(x, CONDITION)"), "{all}");
        assert_eq!(function(Language::Cel, "nonsense"), None);
    }
}
