//! What a Pod Security check finds: a reason, a text for people, and the fields in violation.
//!
//! In: what the checks of [`super::checks`] saw. Out: the texts that messages and reports show. The
//! semantics' source is `docs/semantics/validate.md`, "Bodies" (messages, field rewriting).

use std::borrow::Cow;
use std::fmt::Write;

/// A check that does not allow the pod.
#[derive(Clone, Debug)]
pub struct Finding {
    /// The check.
    pub id: &'static str,
    /// Name of its control; empty for a check that cannot be excluded.
    pub control: &'static str,
    /// Why, in a few words.
    pub reason: &'static str,
    /// What exactly, in a sentence.
    pub detail: String,
    /// The fields in violation.
    pub errors: Vec<FieldError>,
}

/// A field in violation.
#[derive(Clone, Debug)]
pub struct FieldError {
    /// Path of the field, `spec.containers[0].securityContext.privileged`.
    pub field: String,
    /// Name of the container that the field is in.
    pub container: Option<String>,
    /// What is wrong with it.
    pub bad: BadValue,
}

/// What is wrong with a field.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BadValue {
    /// It must be set.
    Missing,
    /// It must not be there; the value does not matter.
    Present,
    /// A forbidden text.
    Text(String),
    /// Forbidden texts.
    Texts(Vec<String>),
    /// A forbidden boolean.
    Flag(bool),
    /// A forbidden number.
    Number(i64),
}

impl BadValue {
    /// Whether `accepts` holds for every forbidden value; true when there is none or it is empty.
    pub fn all(&self, accepts: impl Fn(&str) -> bool) -> bool {
        match self {
            BadValue::Missing | BadValue::Present => true,
            BadValue::Text(t) => t.is_empty() || accepts(t),
            BadValue::Texts(all) => all.iter().all(|t| accepts(t)),
            BadValue::Flag(b) => accepts(if *b { "true" } else { "false" }),
            BadValue::Number(n) => accepts(&n.to_string()),
        }
    }
}

/// The kind of object that the pod was taken from, as far as field paths are concerned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    /// A pod.
    Pod,
    /// A controller with a pod template.
    Template,
    /// A CronJob.
    CronJob,
}

impl Origin {
    /// The path of a pod's field in an object of this kind.
    pub fn placed(self, field: &str) -> String {
        let above = match self {
            Origin::Pod => return field.to_owned(),
            Origin::Template => "spec.template.",
            Origin::CronJob => "spec.jobTemplate.spec.template.",
        };
        format!("{above}{field}")
    }

    /// The path as shown for an object of this kind. Every occurrence of `spec` is replaced, and
    /// `metadata` is rewritten for pods too (Kyverno's behaviour).
    fn rewritten(self, field: &str) -> Cow<'_, str> {
        let field: Cow<'_, str> = match self {
            Origin::Pod => field.into(),
            Origin::Template => field.replace("spec", "spec.template.spec").into(),
            Origin::CronJob => field.replace("spec", "spec.jobTemplate.spec.template.spec").into(),
        };
        if !field.contains("metadata") {
            return field;
        }
        field.replace("metadata", "spec.template.metadata").into()
    }
}

/// Appends `(Forbidden reason: …, field error list: […])`.
pub fn write(out: &mut String, finding: &Finding, origin: Origin) {
    let _ = write!(out, "(Forbidden reason: {}, field error list: [", finding.reason);
    for (i, error) in finding.errors.iter().enumerate() {
        if i > 0 {
            out.push_str(", ");
        }
        out.push_str(&origin.rewritten(&error.field));
        const FOUND: &str = " is forbidden, forbidden values found: ";
        let _ = match &error.bad {
            BadValue::Missing => write!(out, ": Required value"),
            BadValue::Present => write!(out, ": Forbidden"),
            BadValue::Text(t) if t.is_empty() => write!(out, ": Forbidden"),
            BadValue::Text(t) => write!(out, "{FOUND}{t}"),
            BadValue::Texts(all) => write!(out, "{FOUND}[{}]", all.join(" ")),
            BadValue::Flag(b) => write!(out, "{FOUND}{b}"),
            BadValue::Number(n) => write!(out, "{FOUND}{n}"),
        };
    }
    out.push_str("])");
}

/// The containers that a detail names: what stands between `container` or `containers` and `must`,
/// without blanks and quotation marks, parted at commas. Kyverno reads its own sentence, so
/// details that say "uses" name none, and `"b" and annotations` becomes `bandannotations`.
pub fn named_containers(detail: &str) -> Vec<String> {
    let words = ["containers ", "container "];
    let Some(start) = words.iter().filter_map(|w| Some(detail.find(w)? + w.len())).min() else {
        return Vec::new();
    };
    let rest = detail.get(start..).unwrap_or_default();
    let Some(names) = rest.find(" must").and_then(|end| rest.get(..end)) else { return Vec::new() };
    let names: String = names.chars().filter(|c| !matches!(c, ' ' | '"')).collect();
    names.split(',').map(String::from).collect()
}

/// `"a", "b"`.
pub fn quoted<S: AsRef<str>>(items: &[S]) -> String {
    let mut out = String::with_capacity(items.iter().map(|s| s.as_ref().len() + 4).sum());
    for (i, item) in items.iter().enumerate() {
        out.push_str(if i > 0 { ", \"" } else { "\"" });
        out.push_str(item.as_ref());
        out.push('"');
    }
    out
}

/// Sorted, each once.
pub fn sorted<S: Into<String>>(items: impl IntoIterator<Item = S>) -> Vec<String> {
    let mut all: Vec<String> = items.into_iter().map(Into::into).collect();
    all.sort_unstable();
    all.dedup();
    all
}

/// `word`, with an `s` unless there is one thing.
pub fn plural(word: &str, count: usize) -> String {
    if count == 1 { word.into() } else { format!("{word}s") }
}
