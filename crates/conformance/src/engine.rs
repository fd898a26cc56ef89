//! Engine suites: policies and resources with the answers of Kyverno's engine, one case a line.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use ephor_api::autogen::{Selection, computed_rules};
use ephor_api::schema;
use ephor_engine::request::{NoObjects, Parts, UserParts, namespace_of_labels};
use ephor_engine::{Effect, Profile, Request, RuleOutcome, action};
use ephor_external::{ExternalData, Found};
use ephor_ir::json::Bundle;
use ephor_ir::rule::RuleKind;
use ephor_ir::{Exception, Policy};
use ephor_policies::policy_set::{Engine, Outcome, PolicySet, RuleValues};
use ephor_value::{Map, Str, Value, print};

use super::{Failure, Report, lines, round_trip};

/// Runs one file of cases.
///
/// # Errors
/// The file cannot be read.
pub fn run(path: &Path) -> std::io::Result<Report> {
    let stem = path.file_stem().map(|s| s.to_string_lossy().into_owned()).unwrap_or_default();
    let mut report = Report::new(format!("engine/{stem}"));
    use rayon::prelude::*;
    let cases = lines(path)?;
    let results: Vec<_> = cases.par_iter().map(case).collect();
    for result in results {
        report.count(result);
    }
    Ok(report)
}

/// What the rules of a case can read.
struct CaseData {
    config_maps: Vec<Value>,
    clone_sources: Vec<Value>,
}

impl CaseData {
    fn of(case: &Value) -> CaseData {
        let list = |path: &[&str]| case.at(path).and_then(Value::as_list).unwrap_or_default().to_vec();
        CaseData { config_maps: list(&["context", "configMaps"]), clone_sources: list(&["cloneSources"]) }
    }
}

impl ExternalData for CaseData {
    fn clone_sources(&self) -> &[Value] {
        &self.clone_sources
    }

    fn config_map(&self, namespace: &str, name: &str) -> Found {
        let found = self.config_maps.iter().find(|m| {
            let ns = m.text_at(&["metadata", "namespace"]);
            m.text_at(&["metadata", "name"]) == name
                && (ns == namespace || (ns.is_empty() && namespace == "default"))
        });
        Some(found.cloned().ok_or_else(|| format!("configmaps \"{name}\" not found").into()))
    }
}

fn case(case: &Value) -> Result<(), Failure> {
    let id = case.text_at(&["id"]).to_string();
    let expected = case.get("expected").cloned().unwrap_or_default();
    let got = match evaluate(case) {
        Ok(v) => v,
        Err(error) => Value::map([("stopped", Value::from(error.to_string()))]),
    };
    if expected.get("policyError").is_some() && got.get("policyError").is_some() {
        return Ok(());
    }
    let mut wrong = Vec::new();
    for key in [
        "rules",
        "ruleNames",
        "ruleBodies",
        "actions",
        "patched",
        "contextError",
        "generateError",
        "policyError",
    ] {
        let (e, g) = (expected.get(key), got.get(key));
        let right = match key {
            // Presence, then the text.
            "policyError" => e.is_some() || g.is_none(),
            "ruleNames" | "ruleBodies" | "actions" if e.is_none() => true,
            "ruleBodies" => e.is_some_and(|e| g.is_some_and(|g| without_empty(e).json_eq(&without_empty(g)))),
            "rules" => rules_eq(e.unwrap_or(&Value::Null), g.unwrap_or(&Value::Null)),
            _ => match (e, g) {
                (None, None) => true,
                // Numbers that are equal as doubles but not as text are different, too.
                (Some(e), Some(g)) => print::json(e) == print::json(g),
                _ => false,
            },
        };
        if !right {
            wrong.push(Value::from(key));
        }
    }
    if wrong.is_empty() {
        return Ok(());
    }
    let got = match got {
        Value::Map(mut m) => {
            m.insert("differs", Value::list(wrong));
            Value::Map(m)
        }
        other => other,
    };
    Err(Failure { id, expected, got })
}

fn without_empty(v: &Value) -> Value {
    match v {
        Value::Map(m) => {
            let left: Map = m
                .iter()
                .map(|(k, v)| (k.clone(), without_empty(v)))
                .filter(|(_, v)| match v {
                    Value::Null => false,
                    Value::Map(m) => !m.is_empty(),
                    Value::Str(s) => !s.is_empty(),
                    _ => true,
                })
                .collect();
            Value::Map(left)
        }
        Value::List(l) => Value::List(l.iter().map(without_empty).collect()),
        other => other.clone(),
    }
}

fn rules_eq(expected: &Value, got: &Value) -> bool {
    let (e, g) = (expected.as_list().unwrap_or_default(), got.as_list().unwrap_or_default());
    e.len() == g.len() && e.iter().zip(g).all(|(e, g)| rule_eq(e, g))
}

fn rule_eq(e: &Value, g: &Value) -> bool {
    let same = |key: &str| match (e.get(key), g.get(key)) {
        (None, None) => true,
        (Some(a), Some(b)) => a.json_eq(b),
        _ => false,
    };
    if !["rule", "type", "status", "policy", "properties", "exceptions", "generated"].iter().all(|k| same(k))
    {
        return false;
    }
    let unordered = e.get("order").is_some();
    if e.get("podSecurity").is_none() {
        return same("message");
    }
    let message = |v: &Value| parts(v.text_at(&["message"]), unordered);
    message(e) == message(g) && checks(e) == checks(g)
}

/// A Pod Security message apart: its head and its `(Forbidden reason: …)` parts.
fn parts(message: &str, unordered: bool) -> Vec<String> {
    let mut parts: Vec<String> = message.split("(Forbidden reason: ").map(str::to_string).collect();
    if unordered {
        parts.sort();
    }
    parts
}

fn checks(v: &Value) -> BTreeMap<String, String> {
    let items = v.at(&["podSecurity", "checks"]).and_then(Value::as_list).unwrap_or_default();
    items
        .iter()
        .map(|c| {
            let images = c.get("images").and_then(Value::as_list).unwrap_or_default();
            let mut images: Vec<&str> = images.iter().filter_map(Value::as_str).collect();
            images.sort_unstable();
            let text = format!(
                "{:?} {} {images:?}",
                c.get("allowed").and_then(Value::as_bool),
                c.text_at(&["reason"])
            );
            (c.text_at(&["id"]).to_string(), text)
        })
        .collect()
}

/// The engine's answer to a case: `policyError` or `contextError`, or `ruleNames`, `ruleBodies`,
/// `rules` and `actions`.
///
/// # Errors
/// The case cannot be evaluated at all.
pub fn evaluate(case: &Value) -> Result<Value, NoObjects> {
    let single = case.get("policy").map(|p| vec![p.clone()]);
    let written = single.or_else(|| case.get("policies").and_then(Value::as_list).map(<[Value]>::to_vec));
    let written = written.unwrap_or_default();
    let mut out = Map::new();
    let mut docs = Vec::new();
    for p in &written {
        match schema::check(p) {
            Ok(doc) => docs.push(doc),
            Err(e) => {
                out.insert("policyError", Value::from(e.to_string()));
                return Ok(Value::Map(out));
            }
        }
    }
    for doc in &docs {
        if let Some(error) = ephor_api::lint::lint(doc, &ephor_policies::load::CHECKS).error {
            out.insert("policyError", Value::from(error.text));
            return Ok(Value::Map(out));
        }
    }
    let computed: Vec<Value> = docs.iter().flat_map(|d| computed_rules(d, Selection::All)).collect();
    let names = computed.iter().map(|r| Value::from(r.text_at(&["name"]))).collect::<Vec<_>>();
    out.insert("ruleNames", Value::list(names));
    out.insert("ruleBodies", Value::list(computed));
    if case.get("resource").is_none() {
        return Ok(Value::Map(out));
    }
    let policies: Vec<Arc<Policy>> = docs.iter().map(|d| Arc::new(ephor_lower::policy::policy(d))).collect();
    let exceptions = case.get("exceptions").and_then(Value::as_list).unwrap_or_default();
    let exceptions: Vec<Exception> = exceptions
        .iter()
        .map(|e| ephor_lower::policy::exception(&schema::check(e).unwrap_or_else(|_| e.clone())))
        .collect();
    let values: Vec<(Vec<Str>, Value)> = case
        .at(&["context", "variables"])
        .and_then(Value::as_map)
        .map(|m| m.iter().map(|(k, v)| (ephor_value::path::dotted(k), v.clone())).collect())
        .unwrap_or_default();
    let request = match request(case) {
        Ok(request) => request,
        Err(text) => {
            out.insert("contextError", Value::from(text.to_string()));
            return Ok(Value::Map(out));
        }
    };
    let Bundle { policies, exceptions, .. } =
        round_trip::bundle(Bundle { policies, exceptions, ..Bundle::default() });
    let set = PolicySet::new(policies, exceptions);
    let mutates = set.mutating().next().is_some();
    let engine =
        Engine::new(set).with_external(Arc::new(CaseData::of(case))).with_values(Arc::new(OfCase(values)));
    let outcome = engine.evaluate(&request);
    let several = engine.set().policies().len() > 1;
    let rules = outcome.results().map(|(p, r)| rule_result(r, several.then_some(&p.name)));
    out.insert("rules", Value::list(rules.collect()));
    out.insert("actions", Value::list(actions(&engine, &outcome, &request)));
    if mutates {
        let resource = case.get("resource").unwrap_or(&Value::Null).with_whole_numbers();
        let patched = outcome.object.as_ref().unwrap_or(&request.object);
        let is_same = patched.with_whole_numbers().strict_eq(&resource);
        out.insert("patched", if is_same { Value::from("unchanged") } else { patched.clone() });
    }
    if let Some(text) = outcome.policies.iter().find_map(|p| p.failure.clone()) {
        out.insert("generateError", Value::from(text));
    }
    Ok(Value::Map(out))
}

/// The values of a case, which count for every rule.
struct OfCase(Vec<(Vec<Str>, Value)>);

impl RuleValues for OfCase {
    fn for_rule(&self, _: &str, _: &str) -> &[(Vec<Str>, Value)] {
        &self.0
    }
}

/// What failures of the policies with verdicts mean.
fn actions(engine: &Engine, outcome: &Outcome, request: &Request) -> Vec<Value> {
    let gives_verdicts = |p: &Policy| {
        p.rules.iter().any(|r| matches!(r.kind, RuleKind::Validation | RuleKind::ImageVerification))
    };
    let policies = engine.set().policies().iter().filter(|p| gives_verdicts(p));
    policies
        .map(|p| {
            let own = outcome.policies.iter().filter(|o| Arc::ptr_eq(&o.policy, p));
            let verdicts: Vec<RuleOutcome> = own
                .flat_map(|o| &o.rules)
                .filter(|r| matches!(r.kind, RuleKind::Validation | RuleKind::ImageVerification))
                .cloned()
                .collect();
            action_of(p, &verdicts, request)
        })
        .collect()
}

fn action_of(p: &Policy, results: &[RuleOutcome], request: &Request) -> Value {
    Value::map([
        ("policy", Value::Str(p.name.clone())),
        ("action", Value::Str(action::of_policy(p, &request.target).clone())),
        ("blocks", Value::Bool(action::blocks(p, results, &request.target, false))),
    ])
}

fn request(case: &Value) -> Result<Request, NoObjects> {
    let admission = case.text_at(&["entry"]) == "admission";
    let profile = if admission { Profile::as_cluster() } else { Profile::kyverno_cli() };
    let number = |v: &Value| if admission { v.clone() } else { v.with_float_numbers() };
    let strings = |v: Option<&Value>| -> Vec<String> {
        let items = v.and_then(Value::as_list).unwrap_or_default();
        items.iter().filter_map(|s| s.as_str().map(String::from)).collect()
    };
    let user = case.get("userInfo").map(|u| UserParts {
        info: u.get("userInfo").cloned().unwrap_or_default(),
        roles: strings(u.get("roles")),
        cluster_roles: strings(u.get("clusterRoles")),
    });
    let parts = Parts {
        object: number(case.get("resource").unwrap_or(&Value::Null)),
        old_object: case.get("oldResource").map(number),
        operation: case.text_at(&["operation"]).into(),
        subresource: case.text_at(&["subresource"]).into(),
        user,
        namespace: case.get("namespaceLabels").and_then(Value::as_map).map_or(Value::Null, |labels| {
            let name = case.at(&["resource", "metadata", "namespace"]).and_then(Value::as_str);
            namespace_of_labels(name.unwrap_or_default(), labels.clone())
        }),
        values: Vec::new(),
        dry_run: false,
        details: true,
        sent: None,
    };
    Request::new(parts, profile, &ephor_functions::Context::default())
}

fn rule_result(r: &RuleOutcome, policy: Option<&Str>) -> Value {
    let mut m = Map::new();
    m.insert("rule", Value::Str(r.rule.clone()));
    m.insert("type", Value::from(r.kind.name()));
    m.insert("status", Value::from(r.status.name()));
    m.insert("message", Value::Str(r.message.clone()));
    if let Some(p) = policy {
        m.insert("policy", Value::Str(p.clone()));
    }
    if !r.properties.is_empty() {
        let entries: Map = r.properties.iter().map(|(k, v)| (k.clone(), Value::Str(v.clone()))).collect();
        m.insert("properties", Value::Map(entries));
    }
    if !r.exceptions.is_empty() {
        let names = r.exceptions.iter().map(|e| Value::Str(e.clone())).collect();
        m.insert("exceptions", Value::list(names));
    }
    if let Some(Effect::Generated(objects)) = r.effect.as_deref() {
        m.insert("generated", Value::list(objects.clone()));
    }
    if let Some(p) = &r.pod_security {
        m.insert("podSecurity", p.clone());
    }
    Value::Map(m)
}
