//! Expressions in values of policies: which language, and what is written of them.

use ephor_functions::registry::Language;
use ephor_value::place::{Path, PathPart};
use ephor_value::{Map, Str, Value};

use crate::fields::{kinds_of, sample};
use crate::index::Index;

/// An expression at the cursor.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Embedded {
    /// Its language.
    pub language: Language,
    /// What is written of it before the cursor.
    pub before: String,
}

/// Keys whose values are CEL expressions.
const CEL_KEYS: [&str; 3] = ["expression", "messageExpression", "valueExpression"];

/// The language of the whole value at a path of a policy.
pub fn language_of(path: &[PathPart]) -> Option<Language> {
    let Some(PathPart::Key(key)) = path.last() else { return None };
    let is_loop = path.iter().any(|part| matches!(part, PathPart::Key(key) if &**key == "foreach"));
    match &**key {
        key if CEL_KEYS.contains(&key) => Some(Language::Cel),
        "jmesPath" => Some(Language::JmesPath),
        "list" if is_loop => Some(Language::JmesPath),
        _ => None,
    }
}

/// The expression at the end of a value that is written so far, of a policy.
pub fn embedded(document: &Value, path: &[PathPart], before: &str) -> Option<Embedded> {
    let group = document.text_at(&["apiVersion"]);
    let is_of_variables = group.starts_with("kyverno.io/");
    if let Some(at) = before.rfind("{{").filter(|at| is_of_variables && !closes(before, *at)) {
        let before = before.get(at + 2..).unwrap_or_default().trim_start().to_string();
        return Some(Embedded { language: Language::JmesPath, before });
    }
    let is_of_policies = is_of_variables
        || group.starts_with("policies.kyverno.io/")
        || group.starts_with("admissionregistration.k8s.io/");
    let language = language_of(path).filter(|_| is_of_policies)?;
    Some(Embedded { language, before: before.into() })
}

fn closes(before: &str, at: usize) -> bool {
    before.get(at..).is_some_and(|rest| rest.contains("}}"))
}

/// The request that variables and expressions read, with an object.
pub fn request(object: &Value, is_of_variables: bool) -> Value {
    const FIELDS: [&str; 6] = ["name", "namespace", "uid", "subResource", "requestSubResource", "dryRun"];
    const KINDS: [&str; 2] = ["kind", "requestKind"];
    const RESOURCES: [&str; 2] = ["resource", "requestResource"];
    let text = |names: &[&str]| -> Value {
        Value::Map(names.iter().map(|name| (Str::from(*name), Value::from(""))).collect())
    };
    let mut out: Map = FIELDS.iter().map(|name| (Str::from(*name), Value::from(""))).collect();
    for key in KINDS {
        out.insert(key, text(&["group", "version", "kind"]));
    }
    for key in RESOURCES {
        out.insert(key, text(&["group", "version", "resource"]));
    }
    out.insert("operation", Value::from("CREATE"));
    let mut user: Map = ["username", "uid"].iter().map(|name| (Str::from(*name), Value::from(""))).collect();
    user.insert("groups", Value::list(vec![Value::from("")]));
    user.insert("extra", Value::Map(Map::new()));
    out.insert("userInfo", Value::Map(user));
    out.insert("options", Value::Map(Map::new()));
    if is_of_variables {
        out.insert("object", object.clone());
        out.insert("oldObject", object.clone());
        out.insert("roles", Value::list(vec![Value::from("")]));
        out.insert("clusterRoles", Value::list(vec![Value::from("")]));
    }
    Value::Map(out)
}

/// An object that has every field of the kinds that a part of a policy is about.
pub fn object_for(index: &Index, document: &Value, path: &[PathPart]) -> Value {
    sample(index.types(), &kinds_of(index, document, path))
}

/// The names of the context entries that a part of a rule can read.
pub fn context_names(document: &Value, path: &[PathPart]) -> Vec<String> {
    let mut out = Vec::new();
    for depth in 0..=path.len() {
        let above: Path = path.iter().take(depth).cloned().collect();
        let (part, followed) = ephor_value::place::follow(document, &above);
        if followed < above.len() {
            break;
        }
        let entries = part.get("context").and_then(Value::as_list).unwrap_or_default();
        out.extend(entries.iter().map(|entry| entry.text_at(&["name"]).to_string()));
    }
    out.retain(|name| !name.is_empty());
    out
}

/// The names of the composed variables that expressions at a part of a policy read.
pub fn variable_names(document: &Value, path: &[PathPart]) -> Vec<String> {
    let lists = variables(document, path);
    lists.iter().map(|(_, entry)| entry.text_at(&["name"]).to_string()).filter(|n| !n.is_empty()).collect()
}

/// The composed variables of a policy, or of the `cel` block of a rule, with their paths.
pub fn variables<'d>(document: &'d Value, path: &[PathPart]) -> Vec<(Path, &'d Value)> {
    let mut out = Vec::new();
    for depth in 0..=path.len() {
        let above: Path = path.iter().take(depth).cloned().collect();
        let (part, followed) = ephor_value::place::follow(document, &above);
        if followed < above.len() {
            break;
        }
        let entries = part.get("variables").and_then(Value::as_list).unwrap_or_default();
        out.extend(entries.iter().enumerate().map(|(i, entry)| {
            let tail = [PathPart::Key("variables".into()), PathPart::Index(i)];
            (above.iter().cloned().chain(tail).collect::<Path>(), entry)
        }));
    }
    out
}
