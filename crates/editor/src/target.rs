//! What the text at a cursor names: a policy, a rule, a variable, a context entry, an object or a
//! file.

use std::path::Path as FilePath;
use std::sync::Arc;

use ephor_value::Value;
use ephor_value::file_path::normal;
use ephor_value::place::{Path, PathPart, follow};

use crate::cursor::{Cursor, cursor};
use crate::embedded::{embedded, language_of};
use crate::entry::{Part, Role};
use crate::index::{FileState, Index};
use crate::span::{Location, Span};
use ephor_functions::registry::Language;

/// See the module page.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Target {
    /// A policy by its name.
    Policy(String),
    /// A rule of a policy.
    Rule {
        /// The policy; empty = of any.
        policy: String,
        /// The rule.
        rule: String,
    },
    /// A composed variable of a policy.
    Variable {
        /// The file.
        file: Arc<str>,
        /// Where its document begins.
        document: usize,
        /// The path of the policy or block that has it.
        scope: Path,
        /// Its name.
        name: String,
    },
    /// A context entry of a rule.
    ContextEntry {
        /// The file.
        file: Arc<str>,
        /// Where its document begins.
        document: usize,
        /// The path of the rule.
        scope: Path,
        /// Its name.
        name: String,
    },
    /// An object of a kind, or of any.
    Object {
        /// The kind.
        kind: Option<&'static str>,
        /// The name.
        name: String,
    },
    /// A file.
    File(String),
}

/// The keys of a path.
pub(crate) fn keys(path: &[PathPart]) -> Vec<&str> {
    path.iter()
        .filter_map(|part| match part {
            PathPart::Key(key) => Some(&**key),
            PathPart::Index(_) => None,
        })
        .collect()
}

/// What is known of the value at a cursor.
pub(crate) struct Here<'i> {
    pub(crate) file: &'i FileState,
    pub(crate) at: Cursor,
    pub(crate) part: &'i Part,
    /// The path below the object of the part.
    pub(crate) path: Path,
    /// The whole value, if it is a text.
    pub(crate) text: Option<&'i str>,
    /// The word around the cursor.
    pub(crate) word: Span,
}

/// The value at a byte of a file whose document parses.
pub(crate) fn here<'i>(index: &'i Index, name: &str, offset: usize) -> Option<Here<'i>> {
    let file = index.file(name)?;
    let at = cursor(file.text.as_str(), offset);
    let word = word_around(file.text.as_str(), offset);
    // At a key the path is that of the mapping.
    let whole: Path = match &at.value {
        Some(_) => at.path.clone(),
        None if at.is_item => at.path.clone(),
        None => {
            let key = file.text.slice(word);
            at.path.iter().cloned().chain([PathPart::Key(key.into())]).collect()
        }
    };
    let parts =
        file.latest.parts.iter().filter(|part| part.document.start <= offset && offset <= part.document.end);
    let part = parts.filter(|part| whole.starts_with(&part.prefix)).max_by_key(|part| part.prefix.len())?;
    let path: Path = whole.get(part.prefix.len()..)?.to_vec();
    let (value, followed) = follow(&part.value, &path);
    let text = value.as_str().filter(|_| followed == path.len() && (at.value.is_some() || at.is_item));
    Some(Here { file, at, part, path, text, word })
}

/// The letters around a byte that belong to a name.
fn word_around(text: &str, offset: usize) -> Span {
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    let before = text.get(..offset).unwrap_or_default();
    let start =
        before.len() - before.chars().rev().take_while(|c| is_word(*c)).map(char::len_utf8).sum::<usize>();
    let rest = text.get(offset..).unwrap_or_default();
    let end = offset + rest.chars().take_while(|c| is_word(*c)).map(char::len_utf8).sum::<usize>();
    Span { start, end: end.max(start) }
}

/// What the text at a byte of a file names.
pub fn target(index: &Index, name: &str, offset: usize) -> Option<Target> {
    let here = here(index, name, offset)?;
    let text = here.text?;
    let file: Arc<str> = index.named(name)?.0.clone();
    let keys = keys(&here.path);
    let policy_of = |key: &str, up: usize| {
        let above = here.path.get(..here.path.len().saturating_sub(up)).unwrap_or_default();
        plain(follow(&here.part.value, above).0.text_at(&[key])).to_string()
    };
    let own = || here.part.name().to_string();
    let named = |text: &str| text.to_string();
    match (here.part.role, keys.as_slice()) {
        (Role::Test, ["policies" | "resources" | "targetResources" | "paramResources" | "exceptions"])
        | (Role::Test, ["variables" | "userinfo" | "context"])
        | (Role::Test, ["results", "patchedResources" | "generatedResource" | "cloneSourceResource"]) => {
            let folder = FilePath::new(name).parent().unwrap_or(FilePath::new(""));
            Some(Target::File(normal(&folder.join(text)).to_string_lossy().into_owned()))
        }
        (Role::Test, ["results", "policy"]) => Some(Target::Policy(plain(text).into())),
        (Role::Test, ["results", "rule"]) => {
            Some(Target::Rule { policy: policy_of("policy", 1), rule: named(text) })
        }
        (Role::Test, ["results", "resources"]) => {
            Some(Target::Object { kind: None, name: plain(text).into() })
        }
        (Role::Policy, ["metadata", "name"]) if !here.part.kind().ends_with("Exception") => {
            Some(Target::Policy(named(text)))
        }
        (
            Role::Policy,
            ["spec", "exceptions", "policyName"] | ["spec", "policyName"] | ["spec", "policyRefs", "name"],
        ) => Some(Target::Policy(plain(text).into())),
        (Role::Policy, ["spec", "exceptions", "ruleNames"]) => {
            Some(Target::Rule { policy: policy_of("policyName", 2), rule: named(text) })
        }
        (Role::Policy, ["spec", "rules", "name"]) => Some(Target::Rule { policy: own(), rule: named(text) }),
        (Role::Policy, [.., "configMap", "name"]) => {
            Some(Target::Object { kind: Some("ConfigMap"), name: named(text) })
        }
        (Role::Policy, [.., "globalReference", "name"]) => {
            Some(Target::Object { kind: Some("GlobalContextEntry"), name: named(text) })
        }
        (Role::Object, ["metadata", "name"]) => Some(Target::Object { kind: None, name: named(text) }),
        (Role::Policy, [.., "context", "name"]) => {
            let scope = scope_of(&here.path, "context")?;
            let name = first_name(text).to_string();
            Some(Target::ContextEntry { file, document: here.part.document.start, scope, name })
        }
        (Role::Policy, [.., "variables", "name"]) => {
            let scope = scope_of(&here.path, "variables")?;
            Some(Target::Variable { file, document: here.part.document.start, scope, name: named(text) })
        }
        (Role::Policy, _) => in_expression(&here, file),
        _ => None,
    }
}

/// A name without its namespace.
fn plain(name: &str) -> &str {
    name.rsplit('/').next().unwrap_or(name)
}

fn first_name(text: &str) -> &str {
    text.split('.').next().unwrap_or(text)
}

/// The path of the mapping that has a list of a key.
fn scope_of(path: &[PathPart], list: &str) -> Option<Path> {
    let at = path.iter().rposition(|part| matches!(part, PathPart::Key(key) if &**key == list))?;
    path.get(..at).map(<[PathPart]>::to_vec)
}

fn in_expression(here: &Here<'_>, file: Arc<str>) -> Option<Target> {
    let value = here.at.value.as_ref()?;
    let expression = embedded(&here.part.value, &here.path, &value.before)?;
    let word = here.file.text.slice(here.word);
    let before = here.file.text.as_str().get(..here.word.start)?;
    let document = here.part.document.start;
    let entries = match expression.language {
        Language::Cel => "variables",
        Language::JmesPath => "context",
    };
    if expression.language == Language::Cel && !before.ends_with("variables.") || word.is_empty() {
        return None;
    }
    // The nearest block around it that has an entry of the name.
    let scope = (0..=here.path.len()).rev().find_map(|depth| {
        let above = here.path.get(..depth)?;
        let (part, followed) = follow(&here.part.value, above);
        let list = part.get(entries).and_then(Value::as_list).filter(|_| followed == depth)?;
        let has = list.iter().any(|entry| first_name(entry.text_at(&["name"])) == word);
        has.then(|| above.to_vec())
    })?;
    let name = word.to_string();
    Some(match expression.language {
        Language::Cel => Target::Variable { file, document, scope, name },
        Language::JmesPath => Target::ContextEntry { file, document, scope, name },
    })
}

/// The language of the expression at a cursor, with its whole text: a value, or the inside of a
/// variable `{{ … }}`.
pub(crate) fn expression_at(here: &Here<'_>) -> Option<(Language, String)> {
    let value = here.at.value.as_ref()?;
    let found = embedded(&here.part.value, &here.path, &value.before)?;
    if language_of(&here.path) == Some(found.language) && !value.before.contains("{{") {
        return Some((found.language, here.text?.to_string()));
    }
    // The variable goes from its braces to the next closing ones.
    let start = value.before.rfind("{{")? + 2;
    let rest = here.text?.get(start..)?;
    let end = rest.find("}}")?;
    Some((found.language, rest.get(..end)?.trim().to_string()))
}

/// A place as a location in a file.
pub(crate) fn located(file: &Arc<str>, part: &Part, span: Span) -> Location {
    Location { file: file.clone(), span: span.moved(part.document.start) }
}
