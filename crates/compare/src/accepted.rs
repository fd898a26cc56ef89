//! Differences that are known and accepted: `ephor-diff.yaml`.
//!
//! In: the text of the file. Out: [`Ignored`], which says of a difference which entry accepts it,
//! and why. Each entry has a reason.
//!
//! ```yaml
//! ignore:
//! - class: "operations: DELETE"
//!   reason: deletions are checked by another policy
//! - class: files-only
//!   policy: restrict-*
//!   reason: manifests are checked after defaults are filled in
//! ```

use ephor_document::locate::{locate, locate_key};
use ephor_document::yaml_value_strict;
use ephor_value::Value;
use ephor_value::place::{Path, PathPart};
use ephor_value::suggest::did_you_mean;
use ephor_value::wildcard::Wildcard;

use crate::model::answer::{Difference, DifferenceKind, Universe};

/// A class of differences.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AcceptedClass {
    /// Differences of a kind, in clusters and in files.
    Kind(DifferenceKind),
    /// Differences on objects that exist in files only.
    FilesOnly,
    /// Differences on requests of an operation.
    Operation(String),
    /// Differences on objects of a kind.
    ObjectKind(String),
    /// Failures that the claim about a policy and what takes its place counts apart.
    Failing,
    /// Updates of objects that are violations already are allowed by one side alone.
    Existing,
}

/// The words of the classes.
const CLASSES: [&str; 10] = [
    "weaker",
    "stricter",
    "action",
    "errors",
    "result",
    "files-only",
    "existing",
    "failing",
    "operations: OPERATION",
    "kind: KIND",
];

/// What a class of objects of a kind begins with.
const KIND: &str = "kind:";

/// The operations of requests.
const OPERATIONS: [&str; 4] = ["CREATE", "UPDATE", "DELETE", "CONNECT"];

impl AcceptedClass {
    fn of(written: &str) -> Option<AcceptedClass> {
        Some(match written {
            "weaker" => AcceptedClass::Kind(DifferenceKind::Weaker),
            "stricter" => AcceptedClass::Kind(DifferenceKind::Stricter),
            "action" => AcceptedClass::Kind(DifferenceKind::Action),
            "errors" => AcceptedClass::Kind(DifferenceKind::Errors),
            "result" => AcceptedClass::Kind(DifferenceKind::Result),
            "files-only" => AcceptedClass::FilesOnly,
            "existing" => AcceptedClass::Existing,
            "failing" => AcceptedClass::Failing,
            other if other.starts_with(KIND) => {
                let kind = other.strip_prefix(KIND)?.trim();
                AcceptedClass::ObjectKind(Some(kind).filter(|kind| !kind.is_empty())?.into())
            }
            other => {
                let operation = other.strip_prefix("operations:")?.trim();
                AcceptedClass::Operation(OPERATIONS.into_iter().find(|known| *known == operation)?.into())
            }
        })
    }

    /// The word for it.
    pub fn name(&self) -> String {
        match self {
            AcceptedClass::Kind(kind) => kind.name().into(),
            AcceptedClass::FilesOnly => "files-only".into(),
            AcceptedClass::Operation(operation) => format!("operations: {operation}"),
            AcceptedClass::ObjectKind(kind) => format!("{KIND} {kind}"),
            AcceptedClass::Existing => "existing".into(),
            AcceptedClass::Failing => "failing".into(),
        }
    }

    fn has(&self, difference: &Difference) -> bool {
        match self {
            AcceptedClass::Kind(kind) => difference.kind == *kind,
            AcceptedClass::FilesOnly => difference.universe == Universe::Files,
            AcceptedClass::Operation(operation) => difference.environment.operation == operation,
            AcceptedClass::ObjectKind(kind) => *difference.environment.resource.kind == **kind,
            AcceptedClass::Existing | AcceptedClass::Failing => false,
        }
    }
}

/// The JSON schema of the file.
pub fn accepted_schema() -> Value {
    let text = |words: &str| Value::map([("type", "string".into()), ("description", words.into())]);
    let operation = OPERATIONS.map(|name| Value::from(format!("operations: {name}")));
    let is_word = |class: &&&str| !class.contains(':');
    let classes = CLASSES.iter().filter(is_word).map(|class| Value::from(*class)).chain(operation).collect();
    let named = Value::map([("pattern", Value::from(format!("^{KIND} *[A-Z]")))]);
    let class = [Value::map([("enum", Value::list(classes))]), named].to_vec();
    let entry = Value::map([
        ("type", "object".into()),
        ("required", Value::list(vec!["class".into(), "reason".into()])),
        ("additionalProperties", Value::Bool(false)),
        (
            "properties",
            Value::map([
                ("policy", text("the policies, by wildcard")),
                ("class", Value::map([("anyOf", Value::list(class))])),
                ("reason", text("why these differences are accepted")),
            ]),
        ),
    ]);
    Value::map([
        ("$schema", "http://json-schema.org/draft-07/schema#".into()),
        ("title", "ephor-diff.yaml".into()),
        ("type", "object".into()),
        ("additionalProperties", Value::Bool(false)),
        ("properties", Value::map([("ignore", Value::map([("type", "array".into()), ("items", entry)]))])),
    ])
}

/// An entry of the file.
#[derive(Clone, Debug)]
pub struct Entry {
    /// The policies, by wildcard.
    pub policy: Wildcard,
    /// The class of differences.
    pub class: AcceptedClass,
    /// Why they are accepted.
    pub reason: String,
}

/// Which differences are accepted.
#[derive(Clone, Debug, Default)]
pub struct Ignored {
    /// In order; the first that accepts a difference counts.
    pub entries: Vec<Entry>,
}

/// What is wrong with the file, and where.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{file}:{line}:{column}: {text}")]
pub struct IgnoredError {
    /// The file.
    pub file: String,
    /// The line, from 1.
    pub line: usize,
    /// The column, from 1.
    pub column: usize,
    /// What is wrong.
    pub text: String,
}

impl Ignored {
    /// Reads the text of a file.
    ///
    /// # Errors
    /// It is not YAML, has an unknown field, an unknown class, or an entry without a reason.
    pub fn read(file: &str, text: &str) -> Result<Ignored, IgnoredError> {
        let reader = AcceptedReader { file, text };
        let document =
            yaml_value_strict(text).map_err(|cause| reader.error(&[], false, cause.to_string()))?;
        if document.is_null() {
            return Ok(Ignored::default());
        }
        reader.fields(&document, &Path::new(), &["ignore"])?;
        let path = vec![PathPart::Key("ignore".into())];
        let Some(list) = document.at(&["ignore"]).filter(|list| !list.is_null()) else {
            return Ok(Ignored::default());
        };
        let items = list.as_list().ok_or_else(|| reader.error(&path, false, "expected a list".into()))?;
        let mut entries = Vec::new();
        for (at, item) in items.iter().enumerate() {
            let mut path = path.clone();
            path.push(PathPart::Index(at));
            entries.push(reader.entry(item, &path)?);
        }
        Ok(Ignored { entries })
    }

    /// The entry that accepts a difference between policies of a name; `is_failing`: whether it is
    /// a failure that the claim about both counts apart.
    pub fn of(&self, policy: &str, difference: &Difference, is_failing: bool) -> Option<&Entry> {
        let has =
            |class: &AcceptedClass| class.has(difference) || is_failing && *class == AcceptedClass::Failing;
        self.entries.iter().find(|entry| entry.policy.matches(policy) && has(&entry.class))
    }

    /// The entry that accepts that one side alone allows updates of objects that are violations
    /// already.
    pub fn of_existing(&self, policy: &str) -> Option<&Entry> {
        self.entries
            .iter()
            .find(|entry| entry.policy.matches(policy) && entry.class == AcceptedClass::Existing)
    }
}

struct AcceptedReader<'t> {
    file: &'t str,
    text: &'t str,
}

impl AcceptedReader<'_> {
    fn entry(&self, item: &Value, path: &Path) -> Result<Entry, IgnoredError> {
        self.fields(item, path, &["policy", "class", "reason"])?;
        let text = |key: &str| -> Result<&str, IgnoredError> {
            match item.at(&[key]) {
                None | Some(Value::Null) => Ok(""),
                Some(value) => value
                    .as_str()
                    .ok_or_else(|| self.error(&below(path, key), false, format!("`{key}`: expected a text"))),
            }
        };
        let class = text("class")?;
        let reason = text("reason")?.trim();
        if class.is_empty() {
            let classes = CLASSES.join(", ");
            return Err(self.error(path, false, format!("an entry needs a `class`: {classes}")));
        }
        if reason.is_empty() {
            return Err(self.error(path, false, "an entry needs a `reason`".into()));
        }
        let class = AcceptedClass::of(class).ok_or_else(|| {
            let meant = did_you_mean(class, &CLASSES).map(|m| format!("; did you mean `{m}`?"));
            let classes = CLASSES.join(", ");
            let text =
                format!("no class `{class}`{}", meant.unwrap_or_else(|| format!("; there are: {classes}")));
            self.error(&below(path, "class"), false, text)
        })?;
        let policy = match text("policy")? {
            "" => "*",
            name => name,
        };
        Ok(Entry { policy: Wildcard::new(policy), class, reason: reason.into() })
    }

    /// Refuses fields that have no effect.
    fn fields(&self, value: &Value, path: &Path, known: &[&str]) -> Result<(), IgnoredError> {
        let map = value.as_map().ok_or_else(|| self.error(path, false, "expected a map".into()))?;
        match map.keys().find(|key| !known.contains(&&***key)) {
            None => Ok(()),
            Some(key) => {
                let meant = did_you_mean(key, known).map(|m| format!("; did you mean `{m}`?"));
                let text = format!("unknown field `{key}`{}", meant.unwrap_or_default());
                Err(self.error(&below(path, key), true, text))
            }
        }
    }

    fn error(&self, path: &[PathPart], is_key: bool, text: String) -> IgnoredError {
        let found = if is_key { locate_key(self.text, path) } else { locate(self.text, path) };
        let (line, column) = found.map_or((1, 1), |at| (at.line, at.col));
        IgnoredError { file: self.file.into(), line, column, text }
    }
}

fn below(path: &Path, key: &str) -> Path {
    let mut path = path.clone();
    path.push(PathPart::Key(key.into()));
    path
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    fn error(text: &str) -> String {
        Ignored::read("ephor-diff.yaml", text).unwrap_err().to_string()
    }

    #[test]
    fn entries_have_a_class_a_reason_and_policies_by_wildcard() {
        let text = "ignore:\n- {class: 'operations: DELETE', reason: r}\n- {policy: 'a-*', class: weaker, reason: s}\n- {class: existing, reason: t}\n- {class: 'kind: ReplicationController', reason: u}\n- {class: failing, reason: v}\n";
        let read = Ignored::read("f", text).unwrap();
        let names: Vec<String> = read.entries.iter().map(|e| e.class.name()).collect();
        assert_eq!(
            names,
            ["operations: DELETE", "weaker", "existing", "kind: ReplicationController", "failing"]
        );
        assert!(read.entries[1].policy.matches("a-b") && !read.entries[1].policy.matches("b"));
        assert_eq!(read.of_existing("x").unwrap().reason, "t");
        assert!(Ignored::read("f", "").unwrap().entries.is_empty());
    }

    #[test]
    fn what_is_wrong_is_shown_with_its_place() {
        assert_eq!(
            error("ignores: []\n"),
            "ephor-diff.yaml:1:1: unknown field `ignores`; did you mean `ignore`?"
        );
        assert_eq!(
            error("ignore:\n- class: weaker\n  reasn: x\n"),
            "ephor-diff.yaml:3:3: unknown field `reasn`; did you mean `reason`?"
        );
        assert_eq!(error("ignore:\n- class: weaker\n"), "ephor-diff.yaml:2:3: an entry needs a `reason`");
        assert_eq!(
            error("ignore:\n- class: weakr\n  reason: x\n"),
            "ephor-diff.yaml:2:10: no class `weakr`; did you mean `weaker`?"
        );
        assert!(error("ignore:\n- class: 'operations: DELTE'\n  reason: x\n").contains("no class"));
    }
}
