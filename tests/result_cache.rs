//! Cached results are those of a new evaluation: recorded policies on recorded objects, and on
//! these with one part changed.
//!
//! Every policy is evaluated alone, so that no other one's reads cover for it, and then many
//! together, whose results are both new and cached. What rules of many policies compute once for a
//! request is compared with the results of each policy alone. `EPHOR_RESULT_CACHE=all` takes all
//! objects.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing)]

use ephor_value::release::Release;
use std::path::{Path, PathBuf};

use ephor_conformance::data;
use ephor_document::ResourceOptions;
use ephor_engine::admission::Review;
use ephor_engine::request::{Parts, UserParts};
use ephor_engine::{Profile, Request};
use ephor_functions::Context;
use ephor_ir::facts::Stage;
use ephor_policies::load::{self, Reader};
use ephor_policies::policy_set::outcomes::Outcomes;
use ephor_policies::policy_set::verdicts::Limits;
use ephor_policies::{Engine, PolicySet};
use ephor_sources::files::SourceText;
use ephor_sources::objects::Objects;
use ephor_value::{Map, Value};

/// The suites with policies of a library.
const LIBRARY: [&str; 3] = ["verdicts/kyverno-policies.jsonl", "verdicts/pool.yaml", "kyverno-policies"];

fn engine(name: &str, policy: &str) -> Option<Engine> {
    engine_of(&[SourceText { name: name.to_string(), text: policy.to_string() }])
}

fn engine_of(texts: &[SourceText]) -> Option<Engine> {
    let mut loaded = load::argument_for(texts, Reader::Server(Release::default()));
    loaded.bind(Vec::new());
    let usable = loaded.policies.iter().filter(|p| p.refused.is_none() && p.uncompiled.is_none());
    let policies: Vec<_> = usable.filter_map(|p| p.policy.clone()).collect();
    let set = PolicySet::new(policies, loaded.exceptions).with_cel_exceptions(loaded.cel_exceptions);
    (!set.policies().is_empty()).then(|| Engine::new(set).with_profile(Profile::cluster()))
}

fn request(object: &Value, old: &Value, operation: &str, user: &str) -> Request {
    let mut info = Map::new();
    info.insert("username", Value::from(user));
    let mut sent = Map::new();
    sent.insert("uid", Value::from("u"));
    sent.insert("name", Value::from(object.text_at(&["metadata", "name"])));
    sent.insert("operation", Value::from(operation));
    sent.insert("userInfo", Value::Map(info.clone()));
    let parts = Parts {
        object: object.clone(),
        old_object: Some(old.clone()),
        operation: operation.into(),
        user: Some(UserParts { info: Value::Map(info), ..UserParts::default() }),
        details: true,
        sent: Some(sent),
        ..Parts::default()
    };
    Request::new(parts, Profile::cluster(), &Context::default()).expect("a request")
}

fn verdicts(engine: &Engine, request: Request, name: Option<&str>) -> Outcomes {
    let limits = Limits {
        policies: &|p| p.stage != Stage::Payloads,
        rules: &|_, _| true,
        has_time: &|| true,
        stops: &|_, _| false,
        name,
    };
    engine.verdicts(&engine.prepare(request), &limits).outcomes
}

fn render(outcomes: &Outcomes) -> String {
    outcomes.results().map(|(p, r)| format!("{} {r:?}\n", p.key())).collect()
}

/// Every value with one part of it changed.
fn changes(v: &Value, out: &mut Vec<Value>) {
    let other = |v: &Value| match v {
        Value::Str(s) if s.is_empty() => Value::from("other"),
        Value::Str(s) if s.len() % 5 == 0 => Value::from(format!("{s}' || '{{{{ request.object.kind }}}}")),
        Value::Str(s) => Value::from(format!("{s}x")),
        Value::Int(i) => Value::Int(i + 1),
        Value::Float(f) => Value::Float(f + 1.0),
        Value::Bool(b) => Value::Bool(!b),
        _ => Value::from("something"),
    };
    out.push(other(v));
    match v {
        Value::Map(m) => {
            let mut more = m.clone();
            more.insert("another", Value::from("entry"));
            out.push(Value::Map(more));
            for (key, below) in m.iter() {
                let mut less = m.clone();
                less.remove(key);
                out.push(Value::Map(less));
                let mut inner = Vec::new();
                changes(below, &mut inner);
                for changed in inner {
                    let mut m = m.clone();
                    m.insert(key.clone(), changed);
                    out.push(Value::Map(m));
                }
            }
        }
        Value::List(items) => {
            let items: Vec<Value> = items.iter().cloned().collect();
            out.push(Value::list(items.iter().skip(1).cloned().collect()));
            out.push(Value::list(items.iter().chain(items.last()).cloned().collect()));
            for (i, item) in items.iter().enumerate() {
                let mut inner = Vec::new();
                changes(item, &mut inner);
                for changed in inner {
                    let mut items = items.clone();
                    items[i] = changed;
                    out.push(Value::list(items));
                }
            }
        }
        _ => {}
    }
}

/// Policies with objects that they were recorded on.
struct Case {
    name: String,
    policy: String,
    objects: Vec<Value>,
}

/// Policies of a library, with objects of a pool that they say something about, of different kinds
/// first.
fn of_library(dir: &Path, all: bool) -> Vec<Case> {
    let text = std::fs::read_to_string(dir.join("verdicts/pool.yaml")).unwrap();
    let pool = ephor_document::resources("pool.yaml", &text, ResourceOptions::default()).unwrap();
    let mut cases: Vec<Case> = Vec::new();
    for line in ephor_conformance::lines(&dir.join("verdicts/kyverno-policies.jsonl")).unwrap() {
        let name = line.text_at(&["file"]);
        if cases.iter().any(|case| case.name == name) {
            continue;
        }
        let Ok(policy) = std::fs::read_to_string(dir.join("kyverno-policies").join(name)) else { continue };
        let Some(plain) = engine(name, &policy) else { continue };
        let concerned = |object: &&Value| {
            !verdicts(&plain, request(object, &Value::Null, "CREATE", "anna"), None).is_empty()
        };
        let mut objects: Vec<Value> = Vec::new();
        for object in pool.iter().map(|d| &d.value).filter(concerned) {
            let kind = object.text_at(&["kind"]);
            if all || objects.iter().all(|o| o.text_at(&["kind"]) != kind) {
                objects.push(object.clone());
            }
        }
        cases.push(Case { name: name.to_string(), policy, objects });
    }
    cases
}

/// Policies of one rule each, with the objects that they were recorded on.
fn of_rules(dir: &Path, all: bool) -> Vec<Case> {
    let mut cases = Vec::new();
    for file in ["realistic", "rules", "match", "conditions", "variables", "patterns", "autogen"] {
        let lines = ephor_conformance::lines(&dir.join(format!("engine/{file}.jsonl"))).unwrap();
        for (i, line) in lines.iter().enumerate().filter(|(i, _)| all || i % 10 == 0) {
            let rules = line.at(&["policy", "spec", "rules"]).and_then(Value::as_list).unwrap_or_default();
            let objects: Vec<Value> = line.get("resource").into_iter().cloned().collect();
            for (r, rule) in rules.iter().enumerate().filter(|(r, _)| all || r % 7 == i % 7) {
                let mut policy = line.get("policy").unwrap().as_map().unwrap().clone();
                let mut spec = policy.get("spec").unwrap().as_map().unwrap().clone();
                spec.insert("rules", Value::list(vec![rule.clone()]));
                policy.insert("spec", Value::Map(spec));
                let policy = ephor_value::print::json(&Value::Map(policy));
                let name = format!("{} rule {r}", line.text_at(&["id"]));
                cases.push(Case { name, policy, objects: objects.clone() });
            }
        }
    }
    cases
}

/// Evaluates objects and variants of them with and without the result cache; returns the number of
/// requests, and how many of them had cached results.
fn compare(cases: &[Case], few: usize) -> (u64, u64) {
    let all = cases.iter().filter_map(|case| {
        let engines = (engine(&case.name, &case.policy)?, engine(&case.name, &case.policy)?);
        Some((&*case.name, engines, &case.objects[..]))
    });
    compared(all, few)
}

fn compared<'c>(
    cases: impl Iterator<Item = (&'c str, (Engine, Engine), &'c [Value])>,
    few: usize,
) -> (u64, u64) {
    let (mut evaluated, mut hits, mut wrong) = (0u64, 0u64, 0u64);
    for (name, (plain, caching), originals) in cases {
        let caching = caching.with_result_cache(64 << 20);
        for whole in originals {
            let mut objects = vec![whole.clone()];
            changes(whole, &mut objects);
            let step = 1 + objects.len() / few;
            for (i, object) in
                objects.iter().enumerate().filter(|(i, o)| i % step == 0 && o.as_map().is_some())
            {
                let user = if i % 11 == 10 { "bert" } else { "anna" };
                let make = || match i / step % 6 {
                    3 => request(object, whole, "UPDATE", user),
                    4 => request(whole, object, "UPDATE", user),
                    5 => request(object, object, "DELETE", user),
                    _ => request(object, &Value::Null, "CREATE", user),
                };
                let fresh = verdicts(&plain, make(), None);
                let found = verdicts(&caching, make(), Some("all"));
                evaluated += 1;
                hits += u64::from(found.shares().iter().any(|s| s.is_cached || s.bundle.cached > 0));
                if render(&fresh) != render(&found) {
                    wrong += 1;
                    println!(
                        "{}: {}\n{}{}",
                        name,
                        ephor_value::print::json(object),
                        render(&fresh),
                        render(&found)
                    );
                }
            }
        }
    }
    println!("{evaluated} requests, {hits} with cached results, {wrong} wrong");
    assert_eq!(wrong, 0);
    (evaluated, hits)
}

/// The native policies of recorded cases with their requests, from the repository and from the
/// folder next to it.
fn of_servers(all: bool) -> Vec<(String, [Engine; 2], Vec<Value>)> {
    let own = Path::new(env!("CARGO_MANIFEST_DIR")).join("conformance/admission");
    let recorded = data::recorded("admission").unwrap();
    let below = |dir: PathBuf| std::fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().path());
    let mut files: Vec<PathBuf> = std::iter::once(own)
        .chain(recorded)
        .flat_map(below)
        .filter(|topic| topic.is_dir())
        .flat_map(below)
        .filter(|file| file.extension().is_some_and(|e| e == "yaml"))
        .collect();
    files.sort();
    let mut cases = Vec::new();
    for file in files.iter().step_by(if all { 1 } else { 4 }) {
        let Ok(case) = ephor_document::yaml_value(&std::fs::read_to_string(file).unwrap()) else { continue };
        let list = |key: &str| case.get(key).and_then(Value::as_list).unwrap_or_default();
        let namespaces = case.get("namespaces").and_then(Value::as_map).cloned().unwrap_or_default();
        let objects: Vec<Value> =
            list("setup").iter().chain(namespaces.iter().map(|(_, n)| n)).cloned().collect();
        // They were recorded by dry runs, whose results are not cached.
        let sent = |request: &Value| {
            let mut request = request.as_map()?.clone();
            request.insert("dryRun", Value::Bool(false));
            Some(Value::Map(request))
        };
        let requests = list("expected").iter().filter_map(|e| sent(e.get("request")?)).collect();
        cases.push((file.display().to_string(), [native(&objects), native(&objects)], requests));
    }
    cases
}

fn native(objects: &[Value]) -> Engine {
    let is_policy = |o: &&Value| o.text_at(&["apiVersion"]).starts_with("admissionregistration.k8s.io/");
    let text: Vec<String> = objects.iter().filter(is_policy).map(ephor_value::print::json).collect();
    let source = SourceText { name: "setup.yaml".into(), text: text.join("\n---\n") };
    let mut loaded = load::argument_for(&[source], Reader::Server(Release::default()));
    loaded.bind_as_server();
    let usable = loaded.policies.iter().filter(|p| p.refused.is_none() && p.uncompiled.is_none());
    let set = PolicySet::new(usable.filter_map(|p| p.policy.clone()).collect(), Vec::new());
    let external = std::sync::Arc::new(Objects::new(objects.to_vec()));
    Engine::new(set).with_profile(Profile::cluster()).with_external(external)
}

#[test]
fn cached_results_of_native_policies_are_those_of_a_new_evaluation() {
    let (mut evaluated, mut hits, mut denied, mut wrong) = (0u64, 0u64, 0u64, 0u64);
    let few = if is_long() { usize::MAX } else { 12 };
    for (name, [plain, caching], requests) in of_servers(is_long()) {
        let caching = caching.with_result_cache(64 << 20);
        for request in requests {
            let mut all = vec![request.clone(), request.clone()];
            changes(&request, &mut all);
            let step = 1 + all.len() / few;
            for request in
                all.iter().enumerate().filter(|(i, r)| (*i < 2 || i % step == 0) && r.as_map().is_some())
            {
                let review = Review::new(request.1.clone());
                let fresh = plain.validate_as_server(&review);
                let found = caching.validate_as_server(&review);
                let again = caching.native_verdicts(&review);
                evaluated += 1;
                denied += u64::from(fresh.denial.is_some());
                hits += u64::from(again.shares().iter().any(|s| s.is_cached || s.bundle.cached > 0));
                if format!("{fresh:?}") != format!("{found:?}") {
                    wrong += 1;
                    println!("{name}: {}\n{fresh:?}\n{found:?}", ephor_value::print::json(request.1));
                }
            }
        }
    }
    println!("{evaluated} requests, {denied} denied, {hits} with cached results, {wrong} wrong");
    assert_eq!(wrong, 0);
    assert!(denied > evaluated / 10 && hits > denied / 4, "{evaluated} {denied} {hits}");
}

fn is_long() -> bool {
    std::env::var("EPHOR_RESULT_CACHE").is_ok_and(|v| v == "all")
}

#[test]
fn cached_results_of_a_library_are_those_of_a_new_evaluation() {
    let Some(dir) = data::folder_with(&LIBRARY).unwrap() else { return };
    let (evaluated, hits) = compare(&of_library(&dir, is_long()), if is_long() { usize::MAX } else { 40 });
    assert!(hits > evaluated / 4);
}

#[test]
fn cached_results_of_single_rules_are_those_of_a_new_evaluation() {
    let Some(dir) = data::folder_with(&["engine"]).unwrap() else { return };
    let (evaluated, hits) = compare(&of_rules(&dir, is_long()), if is_long() { usize::MAX } else { 30 });
    assert!(hits > evaluated / 4);
}

#[test]
fn results_of_many_policies_are_composed_of_cached_and_new_ones() {
    let Some(dir) = data::folder_with(&LIBRARY).unwrap() else { return };
    let cases = of_library(&dir, false);
    let texts: Vec<SourceText> = cases
        .iter()
        .step_by(if is_long() { 1 } else { 2 })
        .map(|case| SourceText { name: case.name.clone(), text: case.policy.clone() })
        .collect();
    let objects: Vec<Value> =
        cases.iter().step_by(9).filter_map(|case| case.objects.first().cloned()).collect();
    let engines = (engine_of(&texts).expect("policies"), engine_of(&texts).expect("policies"));
    let (evaluated, hits) =
        compared(std::iter::once(("many", engines, &objects[..])), if is_long() { 1000 } else { 30 });
    assert!(hits > evaluated / 2, "{hits} of {evaluated}");
}

#[test]
fn policies_say_together_what_each_says_alone() {
    let Some(dir) = data::folder_with(&LIBRARY).unwrap() else { return };
    let cases = of_library(&dir, false);
    let texts: Vec<SourceText> =
        cases.iter().map(|case| SourceText { name: case.name.clone(), text: case.policy.clone() }).collect();
    let together = engine_of(&texts).expect("policies");
    let alone: Vec<Engine> = texts.iter().filter_map(|t| engine_of(std::slice::from_ref(t))).collect();
    let lines = |engine: &Engine, request: Request| -> Vec<String> {
        render(&verdicts(engine, request, None)).lines().map(String::from).collect()
    };
    let mut compared = 0;
    for case in cases.iter().step_by(if is_long() { 1 } else { 3 }) {
        let Some(whole) = case.objects.first() else { continue };
        let mut objects = vec![whole.clone()];
        changes(whole, &mut objects);
        let step = 1 + objects.len() / if is_long() { 1000 } else { 6 };
        for object in objects.iter().step_by(step).filter(|o| o.as_map().is_some()) {
            let make = || request(object, &Value::Null, "CREATE", "anna");
            let mut expected: Vec<String> = alone.iter().flat_map(|engine| lines(engine, make())).collect();
            let mut found = lines(&together, make());
            expected.sort();
            found.sort();
            assert_eq!(found, expected, "{}", ephor_value::print::json(object));
            compared += found.len();
        }
    }
    assert!(compared > 5_000, "only {compared} results were compared");
}
