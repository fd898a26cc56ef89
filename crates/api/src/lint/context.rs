//! Context entries of a rule. Semantics: 5.9 of the specification of conditions and variables. Only
//! the context of the rule itself is checked, not those of loops.

use super::subject::{Cause, ComputedRule, Finding, Outcome, Subject};
use crate::read::{listed, member};
use ephor_value::Value;
use ephor_value::variables::is_variable;

/// Names that an entry may not take.
const RESERVED: [&str; 6] =
    ["images", "request", "serviceAccountName", "serviceAccountNamespace", "element", "elementIndex"];

/// What is wrong with a context entry.
#[derive(Debug, thiserror::Error)]
enum EntryProblem {
    #[error("context variables are not supported for CEL expressions in validate rules")]
    Expressions,
    #[error("a name is required for context entries")]
    NoName,
    #[error("entry name {name} is invalid as it conflicts with a pre-defined variable {variable}")]
    Reserved { name: Box<str>, variable: Box<str> },
    #[error(
        "exactly one of configMap or apiCall or imageRegistry or variable is required for context entries"
    )]
    Sources,
    #[error("a name is required for configMap context entry")]
    NoConfigMapName,
    #[error("a namespace is required for configMap context entry")]
    NoConfigMapNamespace,
    #[error("a URLPath cannot be used for service API calls")]
    PathAndService,
    #[error("globalReference is not allowed in namespaced policies")]
    GlobalInNamespaced,
    #[error("a name is required for globalReference context entry")]
    NoGlobalName,
    #[error("a variable must define a value or a jmesPath expression")]
    NoValue,
    #[error("a variable must define a default value only when a jmesPath expression is defined")]
    DefaultAlone,
    #[error("failed to parse JMESPath {expression}: {cause}")]
    Expression {
        expression: Box<str>,
        #[source]
        cause: Cause,
    },
    #[error("a ref is required for imageRegistry context entry")]
    NoReference,
    #[error("bad image: {0}: invalid reference format")]
    Reference(Box<str>),
}

/// Checks the context of a rule.
pub fn check(subject: &Subject<'_>, rule: &ComputedRule<'_>) -> Outcome {
    let refuse = |index: Option<usize>, detail: EntryProblem| {
        let mut finding = Finding::path(&rule.place(), detail.to_string()).in_written(rule);
        if let Some(index) = index {
            finding.path.extend(ephor_value::place::parse(&format!("context[{index}]")));
        }
        Err(finding)
    };
    let entries = listed(rule.value, "context");
    if !entries.is_empty() && rule.value.at(&["validate", "cel"]).is_some_and(|cel| !cel.is_null()) {
        return refuse(None, EntryProblem::Expressions);
    }
    for (index, entry) in entries.iter().enumerate() {
        if let Err(detail) = entry_problem(subject, entry) {
            return refuse(Some(index), detail);
        }
    }
    Ok(())
}

fn entry_problem(subject: &Subject<'_>, entry: &Value) -> Result<(), EntryProblem> {
    let name = entry.text_at(&["name"]);
    if name.is_empty() {
        return Err(EntryProblem::NoName);
    }
    let root = name.split('.').next().unwrap_or("");
    if RESERVED.contains(&root) {
        return Err(EntryProblem::Reserved { name: name.into(), variable: root.into() });
    }
    let sources = ["configMap", "apiCall", "imageRegistry", "variable", "globalReference"];
    let mut present = sources.iter().filter_map(|source| member(entry, source).map(|value| (*source, value)));
    let (Some((source, value)), None) = (present.next(), present.next()) else {
        return Err(EntryProblem::Sources);
    };
    let has = |name| !value.text_at(&[name]).is_empty();
    match source {
        "configMap" if !has("name") => Err(EntryProblem::NoConfigMapName),
        "configMap" if !has("namespace") => Err(EntryProblem::NoConfigMapNamespace),
        "configMap" => Ok(()),
        "apiCall" if has("urlPath") && member(value, "service").is_some() => {
            Err(EntryProblem::PathAndService)
        }
        "globalReference" if subject.namespace.is_some() => Err(EntryProblem::GlobalInNamespaced),
        "globalReference" if !has("name") => Err(EntryProblem::NoGlobalName),
        "imageRegistry" => image(value.text_at(&["reference"])).and_then(|()| query(subject, value)),
        "variable" if member(value, "value").is_none() && !has("jmesPath") => Err(EntryProblem::NoValue),
        "variable" if member(value, "default").is_some() && !has("jmesPath") => {
            Err(EntryProblem::DefaultAlone)
        }
        _ => query(subject, value),
    }
}

/// The expression of an entry must parse, unless variables make its text unknown.
fn query(subject: &Subject<'_>, value: &Value) -> Result<(), EntryProblem> {
    let text = value.text_at(&["jmesPath"]);
    if text.is_empty() || is_variable(text) {
        return Ok(());
    }
    let parsed = (subject.checks.parse_jmespath)(text);
    parsed.map_err(|cause| EntryProblem::Expression { expression: text.into(), cause })
}

fn image(reference: &str) -> Result<(), EntryProblem> {
    if reference.is_empty() {
        return Err(EntryProblem::NoReference);
    }
    if is_variable(reference) || is_image_reference(reference) {
        return Ok(());
    }
    Err(EntryProblem::Reference(reference.into()))
}

/// Whether a text has the form `[host[:port]/]path[:tag][@digest]`.
fn is_image_reference(text: &str) -> bool {
    let (rest, digest) = match text.split_once('@') {
        Some((rest, digest)) => (rest, Some(digest)),
        None => (text, None),
    };
    let digest_fits = digest.is_none_or(|digest| {
        digest.split_once(':').is_some_and(|(algorithm, hex)| {
            !algorithm.is_empty() && hex.len() >= 32 && hex.bytes().all(|b| b.is_ascii_hexdigit())
        })
    });
    let (name, tag) = match rest.rsplit_once(':') {
        Some((name, tag)) if !tag.contains('/') => (name, Some(tag)),
        _ => (rest, None),
    };
    let tag_fits = tag.is_none_or(|tag| {
        (1..=128).contains(&tag.len())
            && !tag.starts_with(['.', '-'])
            && tag.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'.' | b'-'))
    });
    let mut parts = name.split('/').peekable();
    let first = parts.peek().copied().unwrap_or("");
    let is_host = name.contains('/') && (first.contains(['.', ':']) || first == "localhost");
    if is_host {
        parts.next();
    }
    digest_fits && tag_fits && parts.all(is_path_component)
}

fn is_path_component(text: &str) -> bool {
    let is_end = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit();
    text.starts_with(is_end)
        && text.ends_with(is_end)
        && text.chars().all(|c| is_end(c) || matches!(c, '.' | '_' | '-'))
}
