//! Rules of ClusterPolicies and Policies → rules of the IR.

use std::sync::Arc;

use ephor_api::autogen::Computed;
use ephor_ir::check::{Check, ForEach, Overlay, Overlays, PodSecurity};
use ephor_ir::expressions::Expressions;
use ephor_ir::rule::{Action, ActionOverride, Body, Message, Properties, RuleKind};
use ephor_ir::{Conditions, Matcher, Origin, Rule};
use ephor_value::wildcard::Wildcard;
use ephor_value::{Str, Value};

use super::LATE;
use super::binding::bindings;
use super::condition::conditions;
use super::matcher::{matcher, selector};
use super::query;
use super::template::{document, text};

/// Lowers a computed rule (a rule of the policy, or one that was generated for pod controllers).
pub fn rule(computed: &Computed) -> Rule {
    let doc = &computed.rule;
    let origin = Origin::new(format!("spec.rules[{}]", computed.written));
    let none: Arc<[Str]> = Arc::from([]);
    let (bindings, names) = bindings(doc.get("context"), &none, &origin.key("context"));
    let LoweredRule { kind, expressions, body } =
        body(doc, &names, &origin, computed.generated.map_or(0, |g| g.inserted));
    Rule {
        generated: computed.generated.map(|g| g.what.into()),
        name: doc.text_at(&["name"]).into(),
        kind,
        when: matcher(doc.get("match"), &origin.key("match")),
        unless: matcher(doc.get("exclude"), &origin.key("exclude")),
        bindings,
        admit: conditions(doc.get("preconditions"), &names, origin.key("preconditions")),
        expressions,
        bound: None,
        properties: doc
            .get("reportProperties")
            .filter(|v| v.as_map().is_some_and(|m| !m.is_empty()))
            .map(|v| Properties { written: v.clone(), template: document(v, &names) }),
        body,
        broken: None,
        action: match present(doc.get("verifyImages")) {
            Some(images) => Action { rule: image_action(images), ..Action::default() },
            None => {
                let own = action(doc.get("validate"));
                // Kyverno 1.19.1 never finds that the former object matches a rule with
                // preconditions, be they empty.
                let conditional = doc.get("preconditions").is_some_and(|v| !v.is_null());
                Action { allow_existing: own.allow_existing && !conditional, ..own }
            }
        },
        origin,
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

/// The failure action of a verifyImages rule: `Enforce` where one of its entries says so, else that
/// of the first entry that says anything (`docs/semantics/images.md`, "Images").
fn image_action(images: &Value) -> Option<Str> {
    let entries = images.as_list().unwrap_or_default();
    let stated: Vec<&str> = entries
        .iter()
        .map(|entry| entry.text_at(&["failureAction"]))
        .filter(|action| !action.is_empty())
        .collect();
    let decisive =
        stated.iter().find(|action| matches!(**action, "Enforce" | "enforce")).or_else(|| stated.first());
    decisive.map(|action| Str::from(*action))
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
                .map(|list| list.iter().filter_map(|s| s.as_str().map(Wildcard::new)).collect()),
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

/// What a rule does, and what its CEL expressions share.
struct LoweredRule {
    kind: RuleKind,
    expressions: Option<Arc<Expressions>>,
    body: Body,
}

impl LoweredRule {
    fn of(kind: RuleKind, body: Body) -> LoweredRule {
        LoweredRule { kind, expressions: None, body }
    }
}

fn body(doc: &Value, names: &Arc<[Str]>, origin: &Origin, inserted: usize) -> LoweredRule {
    if present(doc.get("mutate")).is_some() {
        let mutation = super::mutate::mutation(doc, names, origin, inserted);
        return LoweredRule::of(RuleKind::Mutation, Body::Mutate(Box::new(mutation)));
    }
    if let Some(body) = present(doc.get("generate")) {
        let generation = super::generate::generation(body, names, &origin.key("generate"));
        return LoweredRule::of(RuleKind::Generation, Body::Generate(Box::new(generation)));
    }
    let (rule, origin) = (origin, origin.key("validate"));
    if present(doc.get("verifyImages")).is_some() {
        let checks = super::images::checks(doc, names);
        return LoweredRule::of(RuleKind::ImageVerification, Body::VerifyImages(Box::new(checks)));
    }
    let Some(validate) = doc.get("validate") else {
        let body = Body::Validate { check: Check::Nothing, message: message("", "", names, &origin) };
        return LoweredRule::of(RuleKind::Validation, body);
    };
    let name = doc.text_at(&["name"]);
    match present(validate.get("cel")).filter(|_| !precedes_cel(validate)) {
        Some(cel) => {
            let message = validate.text_at(&["message"]);
            let (shared, validations) =
                super::validate_cel::expressions(cel, doc.get("celPreconditions"), message, rule);
            let passed = format!("Validation rule '{name}' passed.").into();
            let message = Message { passed, ..no_message() };
            LoweredRule {
                kind: RuleKind::Validation,
                expressions: Some(Arc::new(shared)),
                body: Body::Validate { check: Check::Assert(validations), message },
            }
        }
        None => {
            LoweredRule::of(RuleKind::Validation, self::validate(validate, name, names, &origin, inserted))
        }
    }
}

fn is_manifests(v: &Value) -> bool {
    v.get("manifests").is_some_and(|m| present(m.get("attestors")).is_some())
}

/// Whether a section has a body that takes precedence over `cel`.
fn precedes_cel(v: &Value) -> bool {
    is_manifests(v) || present(v.get("podSecurity")).is_some()
}

fn validate(v: &Value, name: &str, names: &Arc<[Str]>, origin: &Origin, inserted: usize) -> Body {
    if let Some(m) = v.get("manifests").filter(|_| is_manifests(v)) {
        return Body::Manifests(Box::new(super::manifests::manifests(m)));
    }
    if let Some(p) = present(v.get("podSecurity")) {
        let check = Check::PodSecurity(PodSecurity {
            level: p.text_at(&["level"]).into(),
            version: p.text_at(&["version"]).into(),
            exclude: p.get("exclude").cloned().unwrap_or_default(),
            only: None,
        });
        return Body::Validate { check, message: no_message() };
    }
    let message = message(v.text_at(&["message"]), name, names, origin);
    Body::Validate { check: check(v, names, origin, inserted), message }
}

/// A rule of a policy whose spec is one rule; its expressions share `shared`.
pub(super) fn with_expressions(
    name: Str,
    kind: RuleKind,
    when: Matcher,
    shared: Expressions,
    body: Body,
) -> Rule {
    Rule {
        origin: Origin::new("spec"),
        generated: None,
        name,
        kind,
        when,
        unless: Matcher::never(),
        bindings: Box::default(),
        admit: None,
        expressions: Some(Arc::new(shared)),
        bound: None,
        properties: None,
        body,
        broken: None,
        action: Action::default(),
    }
}

/// The message of checks that make their own.
pub(super) fn no_message() -> Message {
    message("", "", &Arc::from([]), &Origin::new(""))
}

fn message(s: &str, name: &str, names: &Arc<[Str]>, origin: &Origin) -> Message {
    let origin = origin.key("message");
    let s = Str::from(s);
    let passed = format!("validation rule '{name}' passed.").into();
    Message { origin, template: text(&s, names), text: s, passed, names: names.clone() }
}

/// Lowers the check of a rule or of a loop: the first of deny, pattern, anyPattern, foreach.
fn check(v: &Value, names: &Arc<[Str]>, origin: &Origin, inserted: usize) -> Check {
    if let Some(deny) = v.get("deny").filter(|d| !d.is_null()) {
        let origin = origin.key("deny").key("conditions");
        let none = || Conditions { origin: origin.clone(), any: None, all: Box::default(), flat: false };
        return Check::Deny(conditions(deny.get("conditions"), names, origin.clone()).unwrap_or_else(none));
    }
    if let Some(p) = v.get("pattern").filter(|p| !p.is_null()) {
        return Check::Pattern(
            overlay(&p.with_whole_numbers(), names),
            origin.key("pattern").with_inserted(inserted),
        );
    }
    if let Some(p) = v.get("anyPattern").filter(|p| !p.is_null()) {
        return Check::AnyPattern(
            overlays(&p.with_whole_numbers(), names),
            origin.key("anyPattern").with_inserted(inserted),
        );
    }
    match v.get("foreach").and_then(Value::as_list) {
        Some(loops) => {
            let origin = origin.key("foreach");
            Check::ForEach(
                loops.iter().enumerate().map(|(i, l)| for_each(l, names, origin.index(i))).collect(),
            )
        }
        None => Check::Nothing,
    }
}

fn for_each(v: &Value, outer: &Arc<[Str]>, origin: Origin) -> ForEach {
    let (bindings, names) = bindings(v.get("context"), outer, &origin.key("context"));
    ForEach {
        list: query::plain(v.text_at(&["list"]), outer),
        element_scope: v.get("elementScope").and_then(Value::as_bool),
        bindings,
        admit: conditions(v.get("preconditions"), &names, origin.key("preconditions")),
        check: check(v, &names, &origin, 0),
        origin,
    }
}

// A policy is re-encoded when it is loaded, which turns `10.0` into `10`: patterns see whole
// numbers.

fn overlay(p: &Value, names: &Arc<[Str]>) -> Overlay {
    Overlay::of(document(p, names), LATE)
}

fn overlays(p: &Value, names: &Arc<[Str]>) -> Overlays {
    Overlays::of(document(p, names), LATE)
}
