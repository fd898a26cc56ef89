//! `apply` and `explain`: what policies decide about objects, and why.
//!
//! In: a call. Out: the results of each object, or the rules and decisions; the page's question
//! `evaluate` has both.

use std::collections::BTreeMap;

use serde_json::{Value as Json, json};

use ephor_page::answered;
use ephor_page::question::{As, Evaluate, Question};
use ephor_value::suggest::did_you_mean;

use super::answer::{ToolAnswer, items, noted, place, taken, text};
use super::arguments::ToolCall;
use super::error::ToolError;
use super::files;

/// Evaluates policies on objects.
///
/// # Errors
/// An input cannot be used.
pub(super) fn apply(call: &ToolCall<'_>) -> Result<ToolAnswer, ToolError> {
    let (mut answer, notes) = evaluated(call, false)?;
    let resources = taken(&mut answer, "objects");
    let mut summary: BTreeMap<&str, usize> =
        ["pass", "fail", "warn", "error", "skip"].into_iter().map(|status| (status, 0)).collect();
    for result in resources.iter().flat_map(|resource| items(resource, "results")) {
        *summary.entry(text(result, "result")).or_default() += 1;
    }
    let mut lines = String::new();
    let refused = taken(&mut answer, "refused");
    for result in &refused {
        lines.push_str(&format!("refused {}\n", line_of(result)));
    }
    for resource in &resources {
        lines.push_str(&headline(resource));
        for result in items(resource, "results").filter(|result| text(result, "result") != "pass") {
            lines.push_str(&format!("  {}\n", line_of(result)));
        }
        if let Some(difference) = resource.get("difference").and_then(Json::as_str) {
            lines.push_str(&format!("  changed:\n{}\n", difference.trim_end()));
        }
        for name in ["generated", "targets"] {
            for object in items(resource, name).filter_map(Json::as_str) {
                lines.push_str(&format!("  {name}:\n{}\n", object.trim_end()));
            }
        }
    }
    let counts: Vec<String> = summary.iter().map(|(status, count)| format!("{status}: {count}")).collect();
    lines.push_str(&format!("{}\n", counts.join(", ")));
    let result = json!({
        "policies": taken(&mut answer, "policies"),
        "refused": refused,
        "resources": resources,
        "summary": summary,
        "notes": notes,
        "isInterrupted": answer.get("isInterrupted"),
    });
    Ok(ToolAnswer { result, text: lines + &noted(&notes) })
}

/// Explains rules, or what they decide about objects.
///
/// # Errors
/// An input cannot be used, or there is no policy or rule of the name.
pub(super) fn explain(call: &ToolCall<'_>) -> Result<ToolAnswer, ToolError> {
    let (mut answer, notes) = evaluated(call, true)?;
    let mut rules = taken(&mut answer, "rules");
    let mut resources = taken(&mut answer, "objects");
    for name in ["policy", "rule"] {
        let wanted = call.text(name);
        if wanted.is_empty() {
            continue;
        }
        let mut known: Vec<&str> = rules.iter().map(|rule| text(rule, name)).collect();
        known.dedup();
        if !known.contains(&wanted) {
            let meant = did_you_mean(wanted, &known).map(String::from);
            return Err(ToolError::Nothing { what: name, name: wanted.into(), meant });
        }
        rules.retain(|rule| text(rule, name) == wanted);
        for decisions in resources.iter_mut().filter_map(|resource| resource.get_mut("decisions")) {
            if let Some(decisions) = decisions.as_array_mut() {
                decisions.retain(|rule| text(rule, name) == wanted);
            }
        }
    }
    let mut lines = String::new();
    let explained = |resource: &&Json| resource.get("decisions").is_some_and(Json::is_array);
    for resource in resources.iter().filter(explained) {
        lines.push_str(&headline(resource));
        items(resource, "decisions").for_each(|rule| lines.push_str(&decisions(rule)));
    }
    if resources.is_empty() {
        let texts: Vec<&str> = rules.iter().map(|rule| text(rule, "text")).collect();
        lines = texts.join("\n");
    }
    let of_resource = |resource: &Json| {
        let member = |name: &str| resource.get(name).cloned().unwrap_or_default();
        json!({
            "name": member("name"),
            "file": member("file"),
            "line": member("line"),
            "decisions": member("decisions"),
        })
    };
    let resources: Vec<Json> = resources.iter().filter(explained).map(of_resource).collect();
    let result = json!({"rules": rules, "resources": resources, "notes": notes});
    Ok(ToolAnswer { result, text: lines + &noted(&notes) })
}

/// The answer of the page, and its notes with those about files.
fn evaluated(call: &ToolCall<'_>, explain: bool) -> Result<(Json, Vec<String>), ToolError> {
    let (policies, objects) = (files::read(call, "policies")?, files::read(call, "resources")?);
    let question = Evaluate {
        policies: policies.as_question(),
        objects: objects.as_question(),
        old_object: files::read_one(call, "oldResource")?,
        user: files::read_one(call, "user")?,
        values: files::read_one(call, "values")?,
        context: files::read_one(call, "context")?,
        definitions: files::read(call, "definitions")?.as_question(),
        operation: call.text("operation").into(),
        r#as: if call.word("as") == "cluster" { As::Cluster } else { As::Kyverno },
        kubernetes: call.text("kubernetes").into(),
        explain,
        milliseconds: call.limit(),
    };
    let mut answer = answered(&Question::Evaluate(Box::new(question)))?;
    let mut notes = policies.notes;
    notes.extend(objects.notes);
    notes.extend(taken(&mut answer, "notes").iter().filter_map(Json::as_str).map(String::from));
    if items(&answer, "policies").next().is_none() {
        return Err(ToolError::NoPolicy { causes: notes });
    }
    Ok((answer, notes))
}

/// `pod.yaml:1 Pod dev/cart`
fn headline(resource: &Json) -> String {
    format!("{} {}\n", place(resource), text(resource, "name"))
}

/// `fail no-latest/tag: MESSAGE (pod.yaml:7, policy.yaml:16)`
fn line_of(result: &Json) -> String {
    let rule = match text(result, "rule") {
        "" => String::new(),
        rule => format!("/{rule}"),
    };
    let places: Vec<String> = ["place", "policyPlace"]
        .iter()
        .filter_map(|name| result.get(name))
        .map(place)
        .filter(|place| !place.is_empty())
        .collect();
    let places = if places.is_empty() { String::new() } else { format!(" ({})", places.join(", ")) };
    format!(
        "{} {}{rule}: {}{places}",
        text(result, "result"),
        text(result, "policy"),
        text(result, "message").trim_end()
    )
}

/// The decisions of a rule as lines.
fn decisions(rule: &Json) -> String {
    let status = match text(rule, "status") {
        "" => "does not apply",
        status => status,
    };
    let mut out = format!("  {}/{}: {status}\n", text(rule, "policy"), text(rule, "rule"));
    let is_shown = |line: &&Json| line.get("detail").and_then(Json::as_bool) != Some(true);
    for line in items(rule, "decisions").filter(is_shown) {
        let depth = line.get("depth").and_then(Json::as_u64).unwrap_or_default().min(20);
        let depth = usize::try_from(depth).unwrap_or_default();
        let sign = match text(line, "tone") {
            "good" => "+",
            "bad" => "-",
            _ => " ",
        };
        let indent = "  ".repeat(depth);
        out.push_str(&format!("    {sign} {indent}{}: {}\n", text(line, "place"), text(line, "text")));
    }
    out
}
