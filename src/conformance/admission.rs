//! Admission recorded from an API server: policies, bindings, requests, and what became of them.
//!
//! In: a folder `admission/TOPIC` of YAML files, a case each. Out: a report `admission/TOPIC`. Topics on
//! webhooks are left out.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use base64::Engine;

use crate::document::{Duplicates, yaml};
use crate::engine::admission::{Answer, Chain, Rbac, Review, World, validate};
use crate::kubernetes::Kinds;
use crate::lower::admission as lower;
use crate::value::{Map, Str, Value};

use super::{Failure, Report, object};

/// The topics of the folder that are run, by name.
///
/// # Errors
/// The folder cannot be read.
pub fn topics(dir: &Path) -> std::io::Result<Vec<String>> {
    if !dir.is_dir() {
        return Ok(Vec::new());
    }
    let mut all = super::cases::topics(dir)?;
    all.retain(|topic| !topic.contains("webhook"));
    Ok(all)
}

/// Runs the cases of one topic.
///
/// # Errors
/// A file cannot be read.
pub fn run(dir: &Path) -> std::io::Result<Report> {
    let topic = dir.file_name().map(|s| s.to_string_lossy().into_owned()).unwrap_or_default();
    let mut report = Report::new(format!("admission/{topic}"));
    let mut files: Vec<PathBuf> =
        std::fs::read_dir(dir)?.map(|e| Ok(e?.path())).collect::<std::io::Result<_>>()?;
    files.sort();
    for file in files.iter().filter(|f| f.extension().is_some_and(|e| e == "yaml")) {
        let text = std::fs::read_to_string(file)?;
        let case = yaml::parse(&short_words_quoted(&text), Duplicates::LastWins).unwrap_or_default();
        report.count(one(&case));
    }
    Ok(report)
}

/// The files were written by a program that takes `y` and `n` for text and leaves them plain.
fn short_words_quoted(text: &str) -> String {
    let quoted = |line: &str| {
        let body = line.trim_start_matches([' ', '-']);
        let head = line.get(..line.len() - body.len()).unwrap_or_default();
        let is_word = |t: &str| matches!(t, "y" | "Y" | "n" | "N");
        let quote = |t: &str| if is_word(t) { format!("'{t}'") } else { t.to_string() };
        match body.split_once(": ") {
            Some((key, value)) => format!("{head}{}: {}", quote(key), quote(value)),
            None => match body.strip_suffix(':') {
                Some(key) => format!("{head}{}:", quote(key)),
                None => format!("{head}{}", quote(body)),
            },
        }
    };
    text.lines().map(|line| quoted(line) + "\n").collect()
}

fn list<'v>(v: &'v Value, key: &str) -> &'v [Value] {
    v.get(key).and_then(Value::as_list).unwrap_or_default()
}

fn one(case: &Value) -> Result<(), Failure> {
    let failed = |expected: Value, got: Value| Failure { id: case.text_at(&["id"]).into(), expected, got };
    let requests = list(case, "expected");
    // A webhook that changes or answers is not part of this.
    if requests.is_empty() || !list(case, "webhooks").is_empty() {
        return Err(failed(Value::Null, object([("stopped", Value::from("not run"))])));
    }
    let cluster = Cluster::new(case);
    let sent = |name: &str| list(case, "requests").iter().find(|r| r.text_at(&["name"]) == name);
    for wanted in requests {
        let sent = sent(wanted.text_at(&["name"])).and_then(|r| r.get("object"));
        let (expected, got) = cluster.answer(wanted, sent);
        if !expected.json_eq(&got) {
            return Err(failed(expected, got));
        }
    }
    Ok(())
}

/// The objects of a case.
struct Cluster {
    validating: Chain,
    world: World,
}

impl Cluster {
    fn new(case: &Value) -> Cluster {
        let refused: Vec<i64> = list(case, "setupErrors")
            .iter()
            .filter_map(|e| match e.get("index") {
                Some(Value::Int(i)) => Some(*i),
                _ => None,
            })
            .collect();
        let objects: Vec<Value> = list(case, "setup")
            .iter()
            .enumerate()
            .filter(|(i, _)| !refused.iter().any(|r| usize::try_from(*r) == Ok(*i)))
            .map(|(_, o)| stored(crate::api::admission::defaulted(o)))
            .collect();
        let of_kind =
            |kind: &str| -> Vec<&Value> { objects.iter().filter(|o| o.text_at(&["kind"]) == kind).collect() };
        let mut namespaces = case.get("namespaces").and_then(Value::as_map).cloned().unwrap_or_default();
        for existing in list(case, "requests").iter().filter_map(|r| r.get("existing")) {
            if existing.text_at(&["kind"]) == "Namespace" {
                namespaces.insert(existing.text_at(&["metadata", "name"]), named_namespace(existing));
            }
        }
        let chain = |kind: &str| {
            Chain::new(
                of_kind(kind).into_iter().map(lower::policy).collect(),
                of_kind(&format!("{kind}Binding")).into_iter().map(lower::binding).collect(),
            )
        };
        Cluster {
            validating: chain("ValidatingAdmissionPolicy"),
            world: World {
                kinds: Some(Kinds::with(&objects)),
                namespaces: namespaces.iter().map(|(k, v)| (k.clone(), v.clone())).collect(),
                rbac: Some(Arc::new(Rbac::new(&objects))),
                objects,
            },
        }
    }

    /// What was recorded for a request, and what comes out.
    fn answer(&self, wanted: &Value, sent: Option<&Value>) -> (Value, Value) {
        let mut review = Review::new(wanted.get("request").cloned().unwrap_or_default());
        if let Some(sent) = sent {
            review = review.with_object(with_doubles(review.object(), sent));
        }
        let completed = match wanted.get("completion") {
            Some(more) if !review.object().is_null() => {
                review.with_object(merged(review.object().clone(), more))
            }
            _ => review.clone(),
        };
        let answer = validate(&self.validating, &completed, &self.world);
        (expected(wanted), shown(&answer))
    }
}

/// The recorded object with the doubles of the one that was sent: the recording shows `3.0` as `3`.
fn with_doubles(recorded: &Value, sent: &Value) -> Value {
    match (recorded, sent) {
        (Value::Int(i), Value::Float(f)) if *i as f64 == *f => sent.clone(),
        (Value::List(a), Value::List(b)) if a.len() == b.len() => {
            Value::list(a.iter().zip(b.iter()).map(|(a, b)| with_doubles(a, b)).collect())
        }
        (Value::Map(a), Value::Map(_)) => {
            let entry = |(k, v): (&Str, &Value)| {
                (k.clone(), sent.get(k).map_or_else(|| v.clone(), |sent| with_doubles(v, sent)))
            };
            Value::Map(a.iter().map(entry).collect())
        }
        _ => recorded.clone(),
    }
}

/// An object as the server stores it: texts of a Secret become data.
fn stored(object: Value) -> Value {
    let (Value::Map(m), "Secret") = (&object, object.text_at(&["kind"])) else { return object };
    let mut m = m.clone();
    let Some(Value::Map(texts)) = m.remove("stringData") else { return object };
    let mut data = m.get("data").and_then(Value::as_map).cloned().unwrap_or_default();
    for (k, v) in texts.iter() {
        let text = v.as_str().unwrap_or_default();
        data.insert(k.clone(), base64::engine::general_purpose::STANDARD.encode(text).into());
    }
    m.insert("data", Value::Map(data));
    if m.get("type").is_none() {
        m.insert("type", "Opaque".into());
    }
    Value::Map(m)
}

/// A namespace that was stored before the request, as the server completes it.
fn named_namespace(object: &Value) -> Value {
    let name = object.text_at(&["metadata", "name"]);
    let label = object_of(&["metadata", "labels", "kubernetes.io/metadata.name"], name.into());
    merged(object.clone(), &label)
}

fn object_of(path: &[&str], value: Value) -> Value {
    path.iter().rev().fold(value, |inner, key| object([(key, inner)]))
}

/// A JSON merge patch.
fn merged(into: Value, patch: &Value) -> Value {
    let Value::Map(patch) = patch else { return patch.clone() };
    let mut m = into.as_map().cloned().unwrap_or_default();
    for (k, v) in patch.iter() {
        if v.is_null() {
            m.remove(k);
        } else {
            let old = m.get(k).cloned().unwrap_or_default();
            m.insert(k.clone(), merged(old, v));
        }
    }
    Value::Map(m)
}

/// What was recorded, as far as admission answers for it.
fn expected(wanted: &Value) -> Value {
    let mut m = Map::new();
    let allowed = wanted.get("allowed").cloned().unwrap_or_default();
    let admitted = allowed.as_bool() == Some(true);
    m.insert("allowed", allowed);
    for key in ["code", "reason", "message", "details", "causes"] {
        if let Some(v) = wanted.get(key).filter(|_| !admitted) {
            m.insert(key, v.clone());
        }
    }
    for key in ["warnings", "auditAnnotations", "object"] {
        if let Some(v) = wanted.get(key) {
            m.insert(key, v.clone());
        }
    }
    Value::Map(m)
}

fn shown(answer: &Answer) -> Value {
    let mut m = Map::new();
    m.insert("allowed", Value::Bool(answer.denial.is_none()));
    if let Some(denial) = &answer.denial {
        m.insert("code", Value::Int(denial.code.into()));
        m.insert("reason", Value::Str(denial.reason.clone()));
        m.insert("message", Value::from(&*denial.message));
        if !denial.details.is_null() {
            m.insert("details", denial.details.clone());
        }
        if !denial.causes.is_empty() {
            let cause = |text: &String| object([("message", Value::from(&**text))]);
            m.insert("causes", Value::list(denial.causes.iter().map(cause).collect()));
        }
    }
    if !answer.warnings.is_empty() {
        m.insert("warnings", Value::list(answer.warnings.iter().map(|t| Value::from(&**t)).collect()));
    }
    if !answer.annotations.is_empty() {
        m.insert("auditAnnotations", Value::Map(answer.annotations.clone()));
    }
    Value::Map(m)
}
