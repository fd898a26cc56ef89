//! The verdict suite: every policy of a library applied to every resource of a pool.
//!
//! A line names a policy file and, for each rule, which resources got which status and message. Two
//! units are counted: (policy, rule, resource) with the recorded status, and with the message too.
//! Lines of policy kinds that cannot be run yet count as a suite of their own.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;

use ephor_document::{self, ResourceOptions};
use ephor_engine::request::Parts;
use ephor_engine::{Profile, Request};
use ephor_policies::policy_set::{Engine, PolicySet};
use ephor_report::policy_report::{PolicyFacts, report_message, report_status};
use ephor_sources::files::SourceText;
use ephor_sources::offline::Offline;
use ephor_value::Value;
use rayon::prelude::*;

use super::{Failure, Report, lines, round_trip};

/// (policy, rule, resource) → status and message.
pub(super) type Verdicts = BTreeMap<(String, String, usize), (String, String)>;

/// Runs the suite; the reports are `verdicts/status`, `verdicts/message`, and `verdicts/other` for
/// lines with policies of other languages.
///
/// # Errors
/// A file cannot be read.
pub fn run(dir: &Path) -> std::io::Result<Vec<Report>> {
    let recorded = lines(&dir.join("verdicts/kyverno-policies.jsonl"))?;
    let pool = std::fs::read_to_string(dir.join("verdicts/pool.yaml"))?;
    let options = ResourceOptions { float_numbers: true };
    let pool = ephor_document::resources("pool.yaml", &pool, options)
        .map_err(|e| std::io::Error::other(e.to_string()))?;
    let sources =
        Arc::new(Offline { objects: pool.iter().map(|d| d.value.clone()).collect(), ..Offline::default() });
    let usable = recorded.par_iter().filter(|line| line.get("error").is_none());
    let results: Vec<(bool, Verdicts, Verdicts, String)> = usable
        .map(|line| {
            let file = line.text_at(&["file"]);
            let text = std::fs::read_to_string(dir.join("kyverno-policies").join(file)).unwrap_or_default();
            let classic = is_classic(&text);
            (classic, expected(line), verdicts(file, text, &pool, sources.clone()), file.to_string())
        })
        .collect();
    let files = results.len();
    let mut status = Report::new("verdicts/status");
    let mut message = Report::new("verdicts/message");
    let mut other = Report::new("verdicts/other");
    for (classic, expected, got, file) in results {
        let keys: BTreeSet<_> = expected.keys().chain(got.keys()).collect();
        for key in keys {
            let (e, g) = (expected.get(key), got.get(key));
            let same_status = e.map(|e| &e.0) == g.map(|g| &g.0);
            let fail = || {
                let show = |v: Option<&(String, String)>| match v {
                    Some((s, m)) => {
                        Value::map([("status", Value::from(&**s)), ("message", Value::from(&**m))])
                    }
                    None => Value::Null,
                };
                Failure {
                    id: format!("{file} {} {} {}", key.0, key.1, key.2),
                    expected: show(e),
                    got: show(g),
                }
            };
            if !classic {
                other.count(if e == g { Ok(()) } else { Err(fail()) });
                continue;
            }
            status.count(if same_status { Ok(()) } else { Err(fail()) });
            message.count(if e == g { Ok(()) } else { Err(fail()) });
        }
    }
    status.leave_out("policy files without a report of Kyverno", recorded.len() - files);
    Ok(vec![status, message, other])
}

/// Whether the file holds kyverno.io policies without CEL rules.
pub(super) fn is_classic(text: &str) -> bool {
    let documents =
        ephor_document::parse_stream("-", text, ephor_document::Duplicates::LastWins).unwrap_or_default();
    documents.into_iter().flatten().all(|d| {
        let kyverno = d.value.text_at(&["apiVersion"]).starts_with("kyverno.io/");
        let rules = d.value.at(&["spec", "rules"]).and_then(Value::as_list).unwrap_or_default();
        d.value.is_null() || (kyverno && rules.iter().all(|r| r.at(&["validate", "cel"]).is_none()))
    })
}

pub(super) fn expected(line: &Value) -> Verdicts {
    let mut all = Verdicts::new();
    for rule in line.get("rules").and_then(Value::as_list).unwrap_or_default() {
        let results = rule.get("results").and_then(Value::as_map);
        for (status, messages) in results.into_iter().flat_map(ephor_value::Map::iter) {
            for (message, places) in messages.as_map().into_iter().flat_map(ephor_value::Map::iter) {
                for place in places.as_list().unwrap_or_default() {
                    let Value::Int(i) = place else { continue };
                    let key = (
                        rule.text_at(&["policy"]).to_string(),
                        rule.text_at(&["rule"]).to_string(),
                        usize::try_from(*i).unwrap_or(usize::MAX),
                    );
                    all.insert(key, (status.to_string(), message.to_string()));
                }
            }
        }
    }
    all
}

fn verdicts(file: &str, text: String, pool: &[ephor_document::Document], sources: Arc<Offline>) -> Verdicts {
    let loaded =
        round_trip::loaded(ephor_policies::load::argument(&[SourceText { name: file.to_string(), text }]));
    let policies: Vec<_> = loaded.policies.iter().filter_map(|p| p.policy.clone()).collect();
    let facts: BTreeMap<String, PolicyFacts> =
        policies.iter().map(|p| (p.key(), PolicyFacts::of(p))).collect();
    let profile = Profile::kyverno_cli();
    let engine =
        Engine::new(PolicySet::new(policies, loaded.exceptions)).with_profile(profile).with_external(sources);
    let mut all = Verdicts::new();
    for (i, d) in pool.iter().enumerate() {
        let parts = Parts { object: d.value.clone(), ..Parts::default() };
        let Ok(request) = Request::new(parts, profile, engine.functions()) else { continue };
        for (policy, r) in engine.evaluate(&request).results() {
            let key = policy.key();
            let Some(facts) = facts.get(&key) else { continue };
            let status = report_status(r.status, facts, false).name().to_string();
            all.insert((key, r.rule.to_string(), i), (status, report_message(r).to_string()));
        }
    }
    all
}
