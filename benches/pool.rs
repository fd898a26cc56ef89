//! The pool run in one process: every classic validate policy of a library on every resource of a
//! pool.
//!
//! Prints how long reading and parsing the inputs takes, with the loader and with the usual YAML
//! crate, how long everything takes, and the ratios. Needs the recorded suites next to the
//! repository (or in `EPHOR_CONFORMANCE`).

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use ephor_document::{Duplicates, ResourceOptions};
use ephor_engine::request::Parts;
use ephor_engine::{Profile, Request};
use ephor_policies::load;
use ephor_policies::{Engine, PolicySet};
use ephor_sources::files::SourceText;
use ephor_value::Value;
use serde::Deserialize;

#[global_allocator]
static ALLOCATOR: ephor::cli::allocator::Allocator = ephor::cli::allocator::Allocator;

const ROUNDS: usize = 15;

fn main() {
    let dir = match ephor_conformance::data::folder() {
        Ok(dir) => dir,
        Err(cause) => return println!("skipped: {cause}"),
    };
    let Ok(recorded) = ephor_conformance::lines(&dir.join("verdicts/kyverno-policies.jsonl")) else {
        println!("skipped: no verdicts in {}", dir.display());
        return;
    };
    let files = classic_files(&dir, &recorded);
    println!("{} policy files, {} rounds, {} threads", files.len(), ROUNDS, rayon::current_num_threads());
    let pool = dir.join("verdicts/pool.yaml");
    // For counting instructions: one phase alone, once.
    match std::env::var("EPHOR_PHASE").as_deref() {
        Ok("parse") => return println!("{}", parse_only(&files, &pool)),
        Ok("load") => return println!("{}", load::argument(&read(&files)).policies.len()),
        Ok("all") => return println!("{}", run(&files, &pool)),
        Ok("policies") => return slowest(&files, &pool),
        Ok("phases") => return phases(&files, &pool),
        _ => {}
    }
    let parse = best(|| parse_only(&files, &pool));
    let usual = best(|| parse_with_crate(&files, &pool));
    let load_only = best(|| load::argument(&read(&files)).policies.len());
    let total = best(|| run(&files, &pool));
    println!("read and parse {:>8.2} ms", ms(parse.0));
    println!("with the crate {:>8.2} ms ({} documents)", ms(usual.0), usual.1);
    println!("load policies  {:>8.2} ms", ms(load_only.0));
    println!("everything     {:>8.2} ms ({} results)", ms(total.0), total.1);
    println!("everything / parse = {:.2}", total.0.as_secs_f64() / parse.0.as_secs_f64());
    println!("everything / parse with the crate = {:.2}", total.0.as_secs_f64() / usual.0.as_secs_f64());
}

/// Reads and parses the same files as `serde_yaml_ng` does it, the maintained successor of
/// `serde_yaml`.
fn parse_with_crate(files: &[PathBuf], pool: &Path) -> usize {
    let count = |text: &str| {
        let documents = serde_yaml_ng::Deserializer::from_str(text);
        documents.filter_map(|d| serde_yaml_ng::Value::deserialize(d).ok()).filter(|v| !v.is_null()).count()
    };
    let policies: usize = read(files).iter().map(|t| count(&t.text)).sum();
    policies + count(&std::fs::read_to_string(pool).unwrap_or_default())
}

fn parse_only(files: &[PathBuf], pool: &Path) -> usize {
    let texts = read(files);
    let documents: usize = texts
        .iter()
        .map(|t| ephor_document::parse_stream(&t.name, &t.text, Duplicates::Error).map_or(0, |d| d.len()))
        .sum();
    documents + resources(pool).len()
}

fn ms(d: Duration) -> f64 {
    d.as_secs_f64() * 1e3
}

fn best(mut f: impl FnMut() -> usize) -> (Duration, usize) {
    let mut best = (Duration::MAX, 0);
    for _ in 0..ROUNDS {
        let start = Instant::now();
        let n = std::hint::black_box(f());
        let took = start.elapsed();
        if took < best.0 {
            best = (took, n);
        }
    }
    best
}

fn read(files: &[PathBuf]) -> Vec<SourceText> {
    files
        .iter()
        .filter_map(|f| {
            let text = std::fs::read_to_string(f).ok()?;
            Some(SourceText { name: f.display().to_string(), text })
        })
        .collect()
}

fn resources(pool: &Path) -> Vec<ephor_document::Document> {
    let text = std::fs::read_to_string(pool).unwrap_or_default();
    ephor_document::resources("pool.yaml", &text, ResourceOptions { float_numbers: true }).unwrap_or_default()
}

fn run(files: &[PathBuf], pool: &Path) -> usize {
    let loaded = load::argument(&read(files));
    let policies = loaded.policies.iter().filter_map(|p| p.policy.clone()).collect();
    let engine = Engine::new(PolicySet::new(policies, loaded.exceptions));
    let resources = resources(pool);
    let results = ephor_policies::scan::block(
        &engine,
        &resources,
        |document| {
            let parts = Parts { object: document.value.clone(), ..Parts::default() };
            Request::new(parts, Profile::kyverno_cli(), engine.functions())
        },
        |_, _, outcome| outcome,
        |_, outcome| outcome.results().count(),
    );
    let results = results.into_iter().map(|n| n.unwrap_or(0)).sum();
    // As the program, which ends then without giving memory back piece by piece.
    std::mem::forget((engine, resources));
    results
}

/// How long each step of a run takes on one thread, at its best.
fn phases(files: &[PathBuf], pool: &Path) {
    let mut least = [Duration::MAX; 8];
    for _ in 0..ROUNDS {
        let mut last = Instant::now();
        let mut at = 0;
        let mut step = || {
            let took = last.elapsed();
            if let Some(slot) = least.get_mut(at) {
                *slot = took.min(*slot);
            }
            at += 1;
            last = Instant::now();
        };
        let loaded = load::argument(&read(files));
        step();
        let policies = loaded.policies.iter().filter_map(|p| p.policy.clone()).collect();
        let engine = Engine::new(PolicySet::new(policies, loaded.exceptions.clone()));
        step();
        let resources = resources(pool);
        step();
        let requests: Vec<Request> = resources
            .iter()
            .filter_map(|d| {
                let parts = Parts { object: d.value.clone(), ..Parts::default() };
                Request::new(parts, Profile::kyverno_cli(), engine.functions()).ok()
            })
            .collect();
        step();
        let outcomes: Vec<_> =
            requests.chunks(16).map(|c| engine.evaluate_all(&c.iter().collect::<Vec<_>>())).collect();
        step();
        drop(outcomes);
        step();
        drop((requests, resources));
        step();
        drop((engine, loaded));
        step();
    }
    let names = [
        "load",
        "index",
        "resources",
        "requests",
        "evaluate",
        "drop outcomes",
        "drop resources",
        "drop policies",
    ];
    for (name, took) in names.iter().zip(least) {
        println!("{name:<15}{:>8.2} ms", ms(took));
    }
}

/// The policies that take longest, with their results and the time for one.
fn slowest(files: &[PathBuf], pool: &Path) {
    let loaded = load::argument(&read(files));
    let policies = loaded.policies.iter().filter_map(|p| p.policy.clone()).collect();
    let engine = Engine::new(PolicySet::new(policies, loaded.exceptions));
    let requests: Vec<Request> = resources(pool)
        .into_iter()
        .filter_map(|d| {
            let parts = Parts { object: d.value, ..Parts::default() };
            Request::new(parts, Profile::kyverno_cli(), engine.functions()).ok()
        })
        .collect();
    if let Ok(name) = std::env::var("EPHOR_POLICY") {
        // For a profile of one policy.
        let at = engine.set().policies().iter().position(|p| *p.name == *name).unwrap_or_default();
        for _ in 0..200 {
            requests.iter().for_each(|r| drop(std::hint::black_box(engine.evaluate_policy(at, r))));
        }
        return;
    }
    let mut times: Vec<(Duration, usize, String)> = (0..engine.set().policies().len())
        .map(|at| {
            let (took, n) = best(|| requests.iter().map(|r| engine.evaluate_policy(at, r).len()).sum());
            (took, n, engine.set().policies().get(at).map_or(String::new(), |p| p.key()))
        })
        .collect();
    times.sort_by_key(|t| std::cmp::Reverse(t.0));
    for (took, n, name) in times {
        println!(
            "{:>8.3} ms {n:>6} results {:>8.0} ns each  {name}",
            ms(took),
            took.as_nanos() as f64 / n.max(1) as f64
        );
    }
}

/// Files whose documents are all kyverno.io policies with validate rules that are not CEL.
fn classic_files(dir: &Path, recorded: &[Value]) -> Vec<PathBuf> {
    let classic = |path: &PathBuf| {
        let text = std::fs::read_to_string(path).unwrap_or_default();
        let documents = ephor_document::parse_stream("-", &text, Duplicates::LastWins).unwrap_or_default();
        documents.into_iter().flatten().all(|d| {
            let rules = d.value.at(&["spec", "rules"]).and_then(Value::as_list).unwrap_or_default();
            d.value.text_at(&["apiVersion"]).starts_with("kyverno.io/")
                && rules.iter().all(|r| r.get("validate").is_some_and(|v| v.get("cel").is_none()))
        })
    };
    recorded
        .iter()
        .filter(|line| line.get("error").is_none())
        .map(|line| dir.join("kyverno-policies").join(line.text_at(&["file"])))
        .filter(classic)
        .collect()
}
