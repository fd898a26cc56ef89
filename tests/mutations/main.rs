//! Policies, objects and reviews with random changes: loading and answering never panics, never
//! takes long, and takes no more than some memory.
//!
//! A change keeps most of the structure ([`values`], [`texts`]), so that many policies are still
//! usable; some bodies of reviews are damaged ([`requests`]).
//!
//! `EPHOR_MUTATIONS=50000 EPHOR_SEED=7 cargo test --test
//! mutations` for a long run; a failure names the seed and the run. `EPHOR_FIRST=n
//! EPHOR_MUTATIONS=n+1` repeats run n.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod corpus;
mod random;
mod requests;
mod texts;
mod usage;
mod values;

use ephor_value::release::Release;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::{Duration, Instant};

use corpus::Corpus;
use ephor_admission::admit::incoming::decode;
use ephor_admission::admit::route::{Phase, Route};
use ephor_admission::admit::{Deadline, Gate};
use ephor_engine::expressions::deletion::DeletionSubject;
use ephor_engine::request::Parts;
use ephor_engine::{Profile, Request};
use ephor_functions::Context;
use ephor_policies::load::{Policies, Reader, argument_for};
use ephor_sources::files::SourceText;
use ephor_sources::objects::Objects;
use ephor_value::Value;
use ephor_value::cron::Cron;
use ephor_value::print::json;
use random::Random;
use usage::Clock;

/// No policy takes longer to load, no review to answer. Tests are not optimised; the deadline of a
/// review is less.
const LONGEST: Duration = Duration::from_secs(5);

/// The deadline of a review.
const DEADLINE: Duration = Duration::from_secs(2);

/// No run takes more memory, in MiB, on top of what is in use when it begins. A rule may use 256
/// MiB for what it builds; a policy has several.
const MAX_MEMORY: u64 = 2048;

/// So much more memory, in MiB, may be in use at the end: caches, and what the allocator retains.
const MAX_RETAINED: u64 = 1024;

/// The stack of the server's threads: reviews may be as deep as an API server lets them be.
const STACK: usize = 64 << 20;

/// The number of runs by default.
const FEW: u64 = 150;

/// Requests for each changed policy.
const REQUESTS: usize = 4;

/// What runs gave.
#[derive(Default)]
struct Totals {
    /// Results of rules and policies.
    results: usize,
    /// Runs with any.
    answered: u64,
    /// The longest loading or answer.
    longest: Duration,
}

impl Totals {
    /// Does something in time.
    fn timed<T>(&mut self, what: &str, work: impl FnOnce() -> T) -> T {
        let clock = Clock::program();
        let result = work();
        let took = clock.elapsed();
        self.longest = self.longest.max(took);
        assert!(took < LONGEST, "{what} took {took:?}");
        result
    }
}

/// What a server loads of a policy and what belongs to it.
fn loaded(policy: &[Value]) -> Policies {
    let source = |v: &Value| SourceText { name: format!("{}.yaml", v.text_at(&["kind"])), text: json(v) };
    let sources: Vec<SourceText> = policy.iter().map(source).collect();
    let mut loaded = argument_for(&sources, Reader::Server(Release::default()));
    loaded.bind(Vec::new());
    loaded
}

/// Whether a server can use any of these policies.
fn is_usable(policy: &[Value]) -> bool {
    loaded(policy).policies.iter().any(|p| p.refused.is_none() && p.uncompiled.is_none())
}

/// The same, ready for requests.
fn gate(policy: &[Value]) -> Gate {
    let known = [
        "{apiVersion: v1, kind: Namespace, metadata: {name: default, labels: {a: b}}}",
        "{apiVersion: v1, kind: ConfigMap, metadata: {name: limits, namespace: default, labels: {a: b}}, data: {max: '2', pull: Always}}",
    ];
    let known = known.iter().map(|text| ephor_document::yaml_value(text).unwrap()).collect();
    Gate::new(loaded(policy), Arc::new(Objects::new(known)), &[]).with_result_cache(1 << 20)
}

/// What deleting policies say of an object.
fn deletions(gate: &Gate, object: &Value, totals: &mut Totals) {
    let parts = Parts { object: object.clone(), ..Parts::default() };
    let Ok(request) = Request::new(parts, Profile::cluster(), &Context::default()) else { return };
    let deleted = totals.timed("a deletion", || gate.engine().deletions(&request, DeletionSubject::Object));
    totals.results += deleted.len();
}

/// Loads a changed policy and evaluates it on changed objects.
fn run(corpus: &Corpus, random: &mut Random, totals: &mut Totals) {
    let unchanged = random.of(&corpus.policies);
    let mut policy = unchanged.clone();
    // One of five stays as it is, and is evaluated on changed objects.
    for _ in 0..[0, 1, 1, 1, 2][random.below(5)] {
        let at = random.below(policy.len());
        policy[at] = match random.below(2) {
            0 => values::with_text(&policy[at], &corpus.texts, random),
            _ => {
                let donor = random.of(&corpus.policies);
                values::mutate(&policy[at], &donor[0], random)
            }
        };
    }
    for schedule in policy.iter().map(|v| v.text_at(&["spec", "schedule"])).filter(|s| !s.is_empty()) {
        totals.timed("a schedule", || Cron::parse(schedule).and_then(|cron| cron.next(1_800_000_000)));
    }
    let mut gate = totals.timed("loading", || gate(&policy));
    // Half of the changes leave no usable policy: requests then go to the one before the change.
    if !is_usable(&policy) {
        gate = totals.timed("loading", || self::gate(unchanged));
    }
    let before = totals.results;
    for _ in 0..REQUESTS {
        let original = corpus.object(&policy, random).clone();
        let mut object = original.clone();
        for _ in 0..random.below(4) {
            let donor = random.of(&corpus.objects);
            let changed = match random.below(4) {
                0 => values::with_text(&object, &corpus.texts, random),
                _ => values::mutate(&object, donor, random),
            };
            if changed.as_map().is_some() {
                object = changed;
            }
        }
        let operation = *random.of(&["CREATE", "UPDATE", "DELETE", "CONNECT", "CREATE", "UPDATE"]);
        let (new, old) = match operation {
            "UPDATE" => (object, original),
            "DELETE" => (Value::Null, object),
            _ => (object, Value::Null),
        };
        deletions(&gate, if new.is_null() { &old } else { &new }, totals);
        let body = requests::body(&new, &old, operation, random);
        let Ok(review) = totals.timed("decoding", || decode("application/json", &body)) else { continue };
        for phase in [Phase::Validate, Phase::Mutate] {
            let deadline = Deadline::at(Instant::now() + DEADLINE);
            let route = Route::all(phase);
            let decision = totals.timed("an answer", || gate.answer(&route, &review, &deadline));
            totals.results += decision.outcomes.results().count();
            if let Some(prepared) = decision.prepared.filter(|_| decision.audits) {
                let deadline = Deadline::at(Instant::now() + DEADLINE);
                let later = totals.timed("an audit", || gate.audit(&route, &prepared, &deadline));
                totals.results += later.results().count();
            }
        }
    }
    totals.answered += u64::from(totals.results > before);
}

/// What a run did wrong.
fn failure(result: std::thread::Result<()>, memory: Option<u64>) -> Option<String> {
    match (result, memory) {
        (Err(panic), _) => {
            let text = panic.downcast_ref::<String>().cloned();
            let text = text.or_else(|| panic.downcast_ref::<&str>().map(|s| (*s).to_owned()));
            Some(text.unwrap_or_else(|| "a panic".to_owned()))
        }
        (Ok(()), Some(memory)) if memory > MAX_MEMORY => Some(format!("took {memory} MiB")),
        _ => None,
    }
}

#[test]
fn changed_policies_and_objects_neither_panic_nor_take_long_nor_take_all_memory() {
    let thread = std::thread::Builder::new().stack_size(STACK).spawn(all_runs).unwrap();
    thread.join().unwrap();
}

fn all_runs() {
    let number =
        |name: &str, default: u64| std::env::var(name).map_or(default, |v| v.parse().expect("a number"));
    let (runs, seed) = (number("EPHOR_MUTATIONS", FEW), number("EPHOR_SEED", 1));
    let first = number("EPHOR_FIRST", 0);
    println!("seed {seed}, runs {first} to {runs}");
    let corpus = Corpus::read();
    let (mut totals, mut failures) = (Totals::default(), Vec::new());
    let mut most = 0;
    let at_first = usage::resident();
    for n in first..runs {
        usage::reset_peak();
        let before = usage::resident();
        let run = || run(&corpus, &mut Random::new(seed, n), &mut totals);
        let result = catch_unwind(AssertUnwindSafe(run));
        let memory = usage::peak().zip(before).map(|(peak, before)| peak.saturating_sub(before));
        most = most.max(memory.unwrap_or_default());
        if let Some(what) = failure(result, memory) {
            // A long run shows what it finds at once.
            eprintln!("run {n} of seed {seed}: {what}");
            failures.push((n, what));
        }
        if n % 5000 == 4999 {
            eprintln!("{} runs of seed {seed}, {:?} MiB", n + 1, usage::resident());
        }
    }
    let retained = usage::resident().zip(at_first).map_or(0, |(now, then)| now.saturating_sub(then));
    println!(
        "{} policies, {} objects: {} results in {} of {} runs; at most {:?} and {most} MiB; {retained} MiB retained",
        corpus.policies.len(),
        corpus.objects.len(),
        totals.results,
        totals.answered,
        runs - first,
        totals.longest
    );
    assert!(failures.is_empty(), "{failures:#?}");
    assert!(retained < MAX_RETAINED, "{retained} MiB are retained");
    assert!(runs - first < 100 || totals.answered * 4 > runs - first, "most policies are unusable");
}

#[test]
fn the_policies_of_this_test_are_usable() {
    for policy in corpus::own() {
        let name = policy[0].text_at(&["metadata", "name"]);
        let loaded = loaded(&policy);
        assert_eq!(format!("{:?}", loaded.problems), "[]", "{name}");
        let unusable = loaded.policies.iter().find_map(|p| p.refused.as_ref().or(p.uncompiled.as_ref()));
        assert_eq!(unusable, None, "{name}");
    }
}
