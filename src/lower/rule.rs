//! Rules of ClusterPolicies and Policies → rules of the IR.

use std::sync::Arc;

use crate::ir::check::{Check, ForEach, Overlay, Overlays, PodSecurity};
use crate::ir::rule::{Action, ActionOverride, Body, Message, Properties, RuleKind};
use crate::ir::shape::Pattern;
use crate::ir::{Rule, Template};
use crate::pattern;
use crate::value::wildcard::Wildcard;
use crate::value::{Str, Value};

use super::binding::bindings;
use super::condition::conditions;
use super::matcher::{matcher, selector};
use super::query;
use super::template::{document, late_text, text};

/// Lowers a computed rule (a rule of the policy, or one that was generated for pod controllers).
pub fn rule(doc: &Value) -> Rule {
    let none: Arc<[Str]> = Arc::from([]);
    let (bindings, names) = bindings(doc.get("context"), &none);
    let (kind, body) = body(doc, &names);
    Rule {
        name: doc.text_at(&["name"]).into(),
        kind,
        when: matcher(doc.get("match")),
        unless: matcher(doc.get("exclude")),
        bindings,
        admit: conditions(doc.get("preconditions"), &names),
        properties: doc
            .get("reportProperties")
            .filter(|v| v.as_map().is_some_and(|m| !m.is_empty()))
            .map(|v| Properties { written: v.clone(), template: document(v, &names) }),
        body,
        broken: None,
        action: action(doc.get("validate")),
    }
}

fn action(validate: Option<&Value>) -> Action {
    let Some(v) = validate else { return Action::default() };
    Action {
        rule: v.get("failureAction").and_then(Value::as_str).filter(|s| !s.is_empty()).map(Str::from),
        overrides: overrides(v.get("failureActionOverrides")),
        allow_existing: v.get("allowExistingViolations").and_then(Value::as_bool).unwrap_or(true),
    }
}

/// Lowers a list of failure action overrides.
pub fn overrides(list: Option<&Value>) -> Box<[ActionOverride]> {
    let items = list.and_then(Value::as_list).unwrap_or_default();
    items
        .iter()
        .map(|o| ActionOverride {
            action: o.text_at(&["action"]).into(),
            namespaces: o
                .get("namespaces")
                .and_then(Value::as_list)
                .unwrap_or_default()
                .iter()
                .filter_map(|s| s.as_str().map(Wildcard::new))
                .collect(),
            selector: o.get("namespaceSelector").and_then(selector),
        })
        .collect()
}

fn present(v: Option<&Value>) -> Option<&Value> {
    v.filter(|v| match v {
        Value::Null => false,
        Value::Map(m) => !m.is_empty(),
        Value::List(l) => !l.is_empty(),
        _ => true,
    })
}

fn body(doc: &Value, names: &Arc<[Str]>) -> (RuleKind, Body) {
    let unsupported = |what: &str| Body::Unsupported(format!("{what} rules are not supported yet").into());
    if present(doc.get("mutate")).is_some() {
        return (RuleKind::Mutation, unsupported("mutate"));
    }
    if present(doc.get("generate")).is_some() {
        return (RuleKind::Generation, unsupported("generate"));
    }
    if present(doc.get("verifyImages")).is_some() {
        return (RuleKind::ImageVerification, unsupported("verifyImages"));
    }
    let body = match doc.get("validate") {
        Some(v) => validate(v, doc.text_at(&["name"]), names),
        None => Body::Validate { check: Check::Nothing, message: message("", "", names) },
    };
    (RuleKind::Validation, body)
}

fn validate(v: &Value, name: &str, names: &Arc<[Str]>) -> Body {
    let attestors = v.at(&["manifests", "attestors"]);
    if present(attestors).is_some() {
        return Body::Unsupported("validate.manifests rules are not supported yet".into());
    }
    if let Some(p) = present(v.get("podSecurity")) {
        return Body::PodSecurity(PodSecurity {
            level: p.text_at(&["level"]).into(),
            version: p.text_at(&["version"]).into(),
            exclude: p.get("exclude").cloned().unwrap_or_default(),
        });
    }
    if present(v.get("cel")).is_some() {
        return Body::Unsupported("validate.cel rules are not supported yet".into());
    }
    Body::Validate { check: check(v, names), message: message(v.text_at(&["message"]), name, names) }
}

fn message(s: &str, name: &str, names: &Arc<[Str]>) -> Message {
    let s = Str::from(s);
    let passed = format!("validation rule '{name}' passed.").into();
    Message { template: text(&s, names), text: s, passed, lower: late_text, names: names.clone() }
}

/// Lowers the check of a rule or of a loop: the first of deny, pattern, anyPattern, foreach.
fn check(v: &Value, names: &Arc<[Str]>) -> Check {
    if let Some(deny) = v.get("deny").filter(|d| !d.is_null()) {
        let none = crate::ir::Conditions { any: None, all: Box::default(), flat: false };
        return Check::Deny(conditions(deny.get("conditions"), names).unwrap_or(none));
    }
    if let Some(p) = v.get("pattern").filter(|p| !p.is_null()) {
        return Check::Pattern(overlay(&integral(p), names));
    }
    if let Some(p) = v.get("anyPattern").filter(|p| !p.is_null()) {
        return Check::AnyPattern(overlays(&integral(p), names));
    }
    match v.get("foreach").and_then(Value::as_list) {
        Some(loops) => Check::ForEach(loops.iter().map(|l| for_each(l, names)).collect()),
        None => Check::Nothing,
    }
}

fn for_each(v: &Value, outer: &Arc<[Str]>) -> ForEach {
    let (bindings, names) = bindings(v.get("context"), outer);
    ForEach {
        list: query::plain(v.text_at(&["list"]), outer),
        element_scope: v.get("elementScope").and_then(Value::as_bool),
        bindings,
        admit: conditions(v.get("preconditions"), &names),
        check: check(v, &names),
    }
}

/// A policy is re-encoded when it is loaded, which turns `10.0` into `10`.
fn integral(v: &Value) -> Value {
    match v {
        Value::Float(f) if f.fract() == 0.0 && f.abs() < 9.2e18 => Value::Int(*f as i64),
        Value::List(l) => Value::List(l.iter().map(integral).collect()),
        Value::Map(m) => Value::Map(m.iter().map(|(k, v)| (k.clone(), integral(v))).collect()),
        other => other.clone(),
    }
}

const TOO_DEEP: &str = "the pattern nests too deeply";

fn overlay(p: &Value, names: &Arc<[Str]>) -> Overlay {
    match document(p, names) {
        Template::Const(v) => match pattern::lower(&v) {
            Some(pattern) => Overlay::Ready(Arc::new(pattern)),
            None => Overlay::Broken(TOO_DEEP.into()),
        },
        template => Overlay::Dynamic(template, pattern::lower),
    }
}

fn overlays(p: &Value, names: &Arc<[Str]>) -> Overlays {
    match document(p, names) {
        Template::Const(Value::List(items)) => {
            let patterns: Option<Vec<Pattern>> = items.iter().map(lower_floating).collect();
            match patterns {
                Some(patterns) => Overlays::Ready(patterns.into()),
                None => Overlays::Broken(TOO_DEEP.into()),
            }
        }
        Template::Const(v) => Overlays::Broken(crate::ir::check::not_a_list(&v).into()),
        template => Overlays::Dynamic(template, lower_floating),
    }
}

/// The list of patterns is decoded anew, which makes every number a double.
fn lower_floating(v: &Value) -> Option<Pattern> {
    pattern::lower(&v.with_float_numbers())
}
