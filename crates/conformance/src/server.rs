//! AdmissionReviews that Kyverno's own webhook handlers answered.
//!
//! In: JSON lines, each a group of policies, exceptions, objects of the cluster, and requests with
//! Kyverno's answers (`conformance/server/README.md`). Out: how many requests are answered alike,
//! path by path: allowed, message, warnings, and the object that the patch leaves.

use std::path::Path;
use std::sync::Arc;

use ephor_admission::admit::incoming::decode;
use ephor_admission::admit::route::Route;
use ephor_admission::admit::{Deadline, Gate};
use ephor_document::json;
use ephor_patch::apply::apply;
use ephor_policies::load::{self, Reader};
use ephor_sources::files::SourceText;
use ephor_sources::objects::Objects;
use ephor_value::print;
use ephor_value::release::Release;
use ephor_value::{Map, Value};

use super::{Failure, Report, lines, round_trip};

/// Runs a file.
///
/// # Errors
/// It cannot be read.
pub fn run(file: &Path) -> std::io::Result<Report> {
    let stem = file.file_stem().map(|s| s.to_string_lossy().into_owned()).unwrap_or_default();
    let mut report = Report::new(format!("server/{stem}"));
    for group in lines(file)? {
        let list = |key: &str| group.get(key).and_then(Value::as_list).unwrap_or_default();
        let gate = gate(list("policies"), list("exceptions"), list("objects"));
        for case in list("requests") {
            let id = format!("{} {}", group.text_at(&["group"]), case.text_at(&["request", "uid"]));
            let expected = case.get("expected").cloned().unwrap_or_default();
            let got = answer(&gate, case.get("request").unwrap_or(&Value::Null), list("policies"));
            report.count(match got.json_eq(&expected) {
                true => Ok(()),
                false => Err(Failure { id, expected, got }),
            });
        }
    }
    Ok(report)
}

fn gate(policies: &[Value], exceptions: &[Value], objects: &[Value]) -> Gate {
    let texts = policies.iter().chain(exceptions).enumerate();
    let sources: Vec<SourceText> = texts
        .map(|(i, document)| SourceText { name: format!("{i:03}.json"), text: print::json(document) })
        .collect();
    let policies = round_trip::loaded(load::argument_for(&sources, Reader::Server(Release::default())));
    Gate::new(policies, Arc::new(Objects::new(objects.to_vec())), &[])
}

/// The answers of the paths to a request, joined as the recorder does.
fn answer(gate: &Gate, request: &Value, policies: &[Value]) -> Value {
    let reviews: Vec<&str> = policies
        .iter()
        .filter(|p| p.text_at(&["kind"]) == "ValidatingPolicy")
        .map(|p| p.text_at(&["metadata", "name"]))
        .collect();
    let named = format!("/vpol/{}", reviews.join("/"));
    let mut paths = vec!["/validate/fail", "/validate/ignore"];
    paths.extend((!reviews.is_empty()).then_some(&*named));
    let (mut allowed, mut messages, mut warnings) = (true, Vec::new(), Vec::new());
    for path in paths {
        let response = response(gate, path, request);
        warnings.extend_from_slice(response.get("warnings").and_then(Value::as_list).unwrap_or_default());
        if response.get("allowed").and_then(Value::as_bool) != Some(true) {
            allowed = false;
            messages.push(response.text_at(&["status", "message"]).to_owned());
        }
    }
    warnings.sort_by_key(print::json);
    let mut out = Value::map([
        ("allowed", allowed.into()),
        ("message", messages.join("\n").into()),
        ("warnings", Value::list(warnings)),
    ]);
    if request.text_at(&["operation"]) != "DELETE"
        && let Value::Map(m) = &mut out
    {
        changed(gate, request, m);
    }
    out
}

/// Adds the answer of the mutating path, and the patched object.
fn changed(gate: &Gate, request: &Value, out: &mut Map) {
    let Some((mutated, patch)) = decided(gate, "/mutate", request) else { return };
    out.insert("mutate", mutated.get("allowed").cloned().unwrap_or_default());
    out.insert("mutmsg", mutated.text_at(&["status", "message"]).into());
    if !patch.is_empty() {
        let given = request.get("object").cloned().unwrap_or_default();
        out.insert("object", apply(&given, &patch).unwrap_or_else(|e| format!("{e:?}").into()));
    }
}

fn response(gate: &Gate, path: &str, request: &Value) -> Value {
    decided(gate, path, request).map(|(response, _)| response).unwrap_or_default()
}

fn decided(gate: &Gate, path: &str, request: &Value) -> Option<(Value, Vec<ephor_patch::Operation>)> {
    let review = Value::map([
        ("apiVersion", "admission.k8s.io/v1".into()),
        ("kind", "AdmissionReview".into()),
        ("request", request.clone()),
    ]);
    let incoming = decode("application/json", print::json(&review).as_bytes()).ok()?;
    let answer = gate.answer(&Route::parse(path)?, &incoming, &Deadline::never()).answer;
    let text = answer.to_json(&incoming);
    let response = json::parse(&text).ok()?.get("response").cloned()?;
    Some((response, answer.patch))
}
