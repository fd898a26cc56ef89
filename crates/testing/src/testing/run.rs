//! Running a test.
//!
//! In: a [`Test`] whose results have been selected. Out: its rows, what is printed meanwhile, and
//! vacuous results. Each operation that results name is an evaluation of its own of all objects.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use crate::inputs::requests::Requests;
use ephor_document::{self, ResourceOptions};
use ephor_engine::expressions::deletion::DeletionSubject as Looked;
use ephor_engine::request::NoObjects;
use ephor_engine::trace::{self, Hits};
use ephor_engine::{Effect, Request, RuleOutcome, Status};
use ephor_external::ExternalData;
use ephor_ir::Policy;
use ephor_ir::expressions::Proxy;
use ephor_ir::facts::Stage;
use ephor_ir::json::Bundle;
use ephor_policies::load::{LoadedPolicy, Policies, Purpose};
use ephor_policies::pitfalls::{self, Remarks};
use ephor_policies::policy_set::{Engine, Outcome, PolicyOutcome, PolicySet};
use ephor_report::policy_report::PolicyFacts;
use ephor_value::Value;

use super::coverage::Coverage;
use super::error::TestError;
use super::file::{Expected, Test};
use super::load::{self, Loaded, Log, Payload, Strictness};
use super::responses::{Response, responses};
use super::rows::{self, Context, Row, Subject, VacuousResult, meant};

/// The result of a test.
#[derive(Clone, Debug, Default)]
pub struct Ran {
    /// What is printed while it runs.
    pub log: Log,
    /// Its rows.
    pub rows: Vec<Row>,
    /// Expected results for which no assertion was evaluated, as lines with their location.
    pub vacuous: Vec<String>,
    /// What was reached, when coverage is on.
    pub coverage: Coverage,
    /// Why the whole run ends here.
    pub failed: Option<String>,
}

/// How tests are run.
#[derive(Clone, Copy, Debug, Default)]
pub struct Options {
    /// What ends the run.
    pub strictness: Strictness,
    /// Whether it is recorded what policies reach.
    pub coverage: bool,
    /// What becomes of policies and exceptions before they are evaluated.
    pub through: Option<fn(Bundle) -> Bundle>,
}

/// Runs a test.
pub fn run(test: &Test, options: Options) -> Ran {
    let mut ran = Ran::default();
    match check(test, options, &mut ran) {
        Ok(()) => {}
        Err(error) => ran.failed = Some(format!("failed to run test ({error})")),
    }
    ran
}

/// What a test evaluates, for a comparison with another way to evaluate.
pub struct Evaluated {
    /// The policies, with the exceptions of the test.
    pub policies: Policies,
    /// How requests are built from objects.
    pub requests: Requests,
    /// The external data.
    pub external: Arc<dyn ExternalData>,
    /// Each request with its outcome.
    pub outcomes: Vec<(Request, Outcome)>,
}

/// Evaluates the objects of a test, for each operation that its results name.
///
/// # Errors
/// What ends the test.
pub fn evaluated(test: &Test) -> Result<Evaluated, TestError> {
    let log = &mut Log::default();
    let Loaded { mut policies, resources, exceptions, requests, mut world, .. } =
        load::load(test, Strictness::default(), log)?;
    world.clone_sources = clone_sources(test, log);
    (policies.exceptions, policies.cel_exceptions) =
        (exceptions.exceptions.clone(), exceptions.cel_exceptions.clone());
    let lowered = policies.policies.iter().filter_map(|p| p.policy.clone()).collect();
    let external: Arc<dyn ExternalData> = Arc::new(world);
    let engine = Engine::new(exceptions.with(lowered))
        .with_profile(requests.profile)
        .with_external(external.clone())
        .with_values(requests.values.clone());
    let mut outcomes = Vec::new();
    let named = load::operations(&test.results)?.into_iter().map(|o| Some(o.into()));
    for operation in std::iter::once(None).chain(named) {
        let requests = Requests { operation, ..requests.clone() };
        for object in resources.iter().map(|d| &d.value) {
            // Where one policy has values of its own for the object, the request is the one that it
            // sees.
            let name = object.text_at(&["metadata", "name"]);
            let has_own = |p: &&Arc<Policy>| {
                requests.values.resources.contains_key(&(p.name.to_string(), name.to_string()))
            };
            let own = engine.set().policies().iter().find(has_own).map(|p| &*p.name);
            let request = requests.of(object.clone(), own, &engine)?;
            let outcome = requests.with_own_values(object, &request, engine.evaluate(&request), &engine);
            outcomes.push((request, outcome));
        }
    }
    Ok(Evaluated { policies, requests, external, outcomes })
}

fn count(n: usize, one: &str, many: &str) -> String {
    format!("{n} {}", if n == 1 { one } else { many })
}

/// The outcomes of payloads, and of objects by operation.
type AllOutcomes = (Vec<Outcome>, HashMap<String, Vec<Outcome>>);

fn check(test: &Test, options: Options, ran: &mut Ran) -> Result<(), TestError> {
    let log = &mut ran.log;
    let Loaded { policies, resources, targets, exceptions, payloads, requests, mut world, lost } =
        load::load(test, options.strictness, log)?;
    let evaluated = policies.policies.iter().filter(|p| !matches!(p.purpose(), Purpose::Check(_))).count();
    log.line(&format!(
        "  Applying {} to {} with {} ...",
        count(evaluated, "policy", "policies"),
        count(resources.len(), "resource", "resources"),
        count(exceptions.len(), "exception", "exceptions")
    ));
    let operations = load::operations(&test.results)?;
    let bundle = Bundle {
        policies: policies.policies.iter().filter_map(|p| p.policy.clone()).collect(),
        exceptions: exceptions.exceptions,
        cel_exceptions: exceptions.cel_exceptions,
        ..Bundle::default()
    };
    let Bundle { policies: lowered, exceptions, cel_exceptions, .. } = match options.through {
        Some(through) => through(bundle),
        None => bundle,
    };
    let facts = lowered.iter().map(|p| (p.id(), PolicyFacts::of(p))).collect();
    let refused: HashMap<String, String> =
        policies.policies.iter().filter_map(|p| Some((p.name.clone(), p.refused.clone()?))).collect();
    world.clone_sources = clone_sources(test, log);
    let reads_context =
        |p: &LoadedPolicy| p.document.text_at(&["apiVersion"]).starts_with("policies.kyverno.io/");
    let lost = lost.filter(|_| policies.policies.iter().any(reads_context));
    if let (Some(first), Some(text)) = (
        resources.first(),
        lost.or_else(|| policies.uncompiled(Purpose::Request))
            .or_else(|| policies.uncompiled(Purpose::Deletion)),
    ) {
        let name = first.value.text_at(&["metadata", "name"]);
        return Err(TestError::Unusable { object: name.to_owned(), text });
    }
    let remarks = Arc::new(Remarks::default());
    let engine = Engine::new(PolicySet::new(lowered, exceptions).with_cel_exceptions(cel_exceptions))
        .with_profile(requests.profile)
        .with_external(Arc::new(world))
        .with_values(requests.values.clone())
        .with_remarks(remarks.clone());
    let objects: Vec<&Value> = resources.iter().map(|d| &d.value).collect();
    for proxy in [Proxy::Http, Proxy::Envoy] {
        let is_checked = payloads.iter().any(|(_, of, _)| *of == Some(proxy));
        if let Some(text) = policies.uncompiled(Purpose::Check(proxy)).filter(|_| is_checked) {
            return Err(TestError::Uncompiled(text));
        }
    }
    let evaluate_all = || -> Result<AllOutcomes, TestError> {
        let on_payloads = on_payloads(&engine, &payloads, &requests)?;
        let mut outcomes =
            HashMap::from([(String::new(), evaluate(&engine, &objects, &requests, Looked::Object)?)]);
        for operation in operations {
            let requests = Requests { operation: Some(operation.as_str().into()), ..requests.clone() };
            outcomes.insert(operation, evaluate(&engine, &objects, &requests, Looked::Object)?);
        }
        Ok((on_payloads, outcomes))
    };
    let (evaluated, hits) = match options.coverage {
        true => trace::record(evaluate_all),
        false => (evaluate_all(), Hits::default()),
    };
    let (on_payloads, outcomes) = evaluated?;
    if options.coverage {
        let all = outcomes.values().flatten().chain(&on_payloads);
        ran.coverage = coverage(&policies.policies, &hits, all);
    }
    for (object, outcome) in objects.iter().zip(outcomes.get("").into_iter().flatten()) {
        for (_, fault) in
            outcome.results().filter(|(p, r)| p.stage == Stage::Schedule && r.status == Status::Error)
        {
            let name = object.text_at(&["metadata", "name"]);
            log.line(&format!("failed to apply policy {name} on resource: {}", fault.message));
        }
    }
    log.hints.extend(silent(&engine, &objects, outcomes.values()));
    log.hints.extend(remarks.take());
    log.line("  Checking results ...");
    let context = Context { facts: &facts, refused: &refused };
    let (mut all, mut notes) = (Vec::new(), Vec::new());
    let targets: Vec<&Value> = targets.iter().map(|d| &d.value).collect();
    let on_targets: Vec<Vec<PolicyOutcome>> = targets
        .iter()
        .map(|target| {
            requests.of((*target).clone(), None, &engine).map(|request| engine.change_target(&request))
        })
        .collect::<Result<_, NoObjects>>()?;
    let seen = Seen {
        set: engine.set(),
        objects: &objects,
        targets: &targets,
        on_targets: &on_targets,
        payloads: &payloads,
        on_payloads: &on_payloads,
    };
    let views: HashMap<&str, View<'_>> =
        outcomes.iter().map(|(operation, outcomes)| (operation.as_str(), seen.view(outcomes))).collect();
    for (at, expected) in test.results.iter().enumerate() {
        let Some(view) = views.get(expected.operation.as_str()) else { continue };
        let (rows, vacuous) = rows::rows(at, expected, &view.targets, &view.evaluated, &context);
        all.extend(rows);
        notes.extend(vacuous);
        let unknown = unknown(expected, &policies.policies);
        log.hints.extend(unknown.map(|text| format!("{}:{}: {text}", test.path, test.line_of(at))));
    }
    ran.rows = all;
    ran.vacuous = notes.iter().map(|n| note(test, n)).collect();
    Ok(())
}

/// What Kyverno does with these policies and objects without a word, each once.
fn silent<'o>(
    engine: &Engine,
    objects: &[&Value],
    outcomes: impl Iterator<Item = &'o Vec<Outcome>>,
) -> BTreeSet<String> {
    let set = engine.set();
    let mut out: BTreeSet<String> =
        pitfalls::of_exceptions(set.policies(), set.exceptions()).iter().map(ToString::to_string).collect();
    for (object, outcome) in outcomes.flat_map(|all| objects.iter().zip(all)) {
        let said = pitfalls::of_outcome(set, object, outcome);
        out.extend(said.each.iter().chain(&said.once).map(ToString::to_string));
    }
    out
}

/// What evaluations reached of policies.
fn coverage<'o>(
    policies: &[LoadedPolicy],
    hits: &Hits,
    outcomes: impl Iterator<Item = &'o Outcome>,
) -> Coverage {
    let mut ran: HashMap<String, HashMap<String, u64>> = HashMap::new();
    for (policy, result) in outcomes.flat_map(Outcome::results) {
        let of_policy = ran.entry(policy.key()).or_default();
        let n = of_policy.entry(result.rule.to_string()).or_default();
        *n = n.saturating_add(1);
    }
    let mut coverage = Coverage::default();
    let nothing = HashMap::new();
    for loaded in policies {
        if let Some(policy) = &loaded.policy {
            coverage.add(loaded, policy, hits, ran.get(&policy.key()).unwrap_or(&nothing));
        }
    }
    coverage
}

/// The objects of a test with the responses of policies for one operation.
struct View<'o> {
    targets: Vec<Subject<'o>>,
    evaluated: Vec<Subject<'o>>,
}

/// The inputs and outcomes of a test.
struct Seen<'o> {
    set: &'o PolicySet,
    objects: &'o [&'o Value],
    targets: &'o [&'o Value],
    /// The results of mutate-existing rules for each target.
    on_targets: &'o [Vec<PolicyOutcome>],
    payloads: &'o [Payload],
    on_payloads: &'o [Outcome],
}

impl<'o> Seen<'o> {
    fn view(&self, outcomes: &'o [Outcome]) -> View<'o> {
        let mut evaluated: Vec<Subject<'o>> = Vec::new();
        for (object, outcome) in self.objects.iter().zip(outcomes) {
            let responses = responses(self.set, object, outcome);
            evaluated.push(Subject { key: rows::key_of(object), responses, changed: Vec::new() });
        }
        let mut found: Vec<Subject<'o>> = Vec::new();
        for (target, on_target) in self.targets.iter().zip(self.on_targets) {
            let key = rows::key_of(target);
            let all = evaluated.iter().flat_map(|s| &s.responses);
            let mut changed: Vec<_> = all.filter_map(|response| changed(response, &key)).collect();
            for done in on_target {
                let object = done.object.as_ref().unwrap_or(target);
                let results: Vec<&RuleOutcome> = done.rules.iter().collect();
                let response = Response { policy: &done.policy, results, object: object.clone() };
                changed.extend(done.rules.iter().map(|r| (object.clone(), response.clone(), r)));
            }
            if !changed.is_empty() {
                found.push(Subject { key, responses: Vec::new(), changed });
            }
        }
        for ((path, ..), outcome) in self.payloads.iter().zip(self.on_payloads) {
            let responses = responses(self.set, &Value::Null, outcome);
            evaluated.push(Subject { key: vec![path.clone()], responses, changed: Vec::new() });
        }
        View { targets: found, evaluated }
    }
}

/// The object that a response changed besides its own: the first result counts that changed it.
fn changed<'o>(response: &Response<'o>, key: &[String]) -> Option<(Value, Response<'o>, &'o RuleOutcome)> {
    response.results.iter().find_map(|result| match result.effect.as_deref() {
        Some(Effect::Target(object)) if rows::key_of(object) == key => {
            Some((object.clone(), response.clone(), *result))
        }
        _ => None,
    })
}

fn on_payloads(
    engine: &Engine,
    payloads: &[Payload],
    requests: &Requests,
) -> Result<Vec<Outcome>, TestError> {
    let one = |(_, proxy, document): &Payload| match proxy {
        Some(proxy) => Ok(vec![Outcome { policies: engine.check(document, *proxy), object: None }]),
        None => evaluate(engine, &[document], requests, Looked::Payload),
    };
    let all: Result<Vec<Vec<Outcome>>, TestError> = payloads.iter().map(one).collect();
    Ok(all?.into_iter().flatten().collect())
}

fn evaluate(
    engine: &Engine,
    objects: &[&Value],
    requests: &Requests,
    subject: Looked,
) -> Result<Vec<Outcome>, TestError> {
    let one = |object: &&Value| {
        let failed = |cause| {
            let object = object.text_at(&["metadata", "name"]).to_owned();
            TestError::Apply { object, cause }
        };
        let request = requests.of((*object).clone(), None, engine).map_err(failed)?;
        let mut outcome = match subject {
            Looked::Payload => engine.evaluate_payload(&request),
            Looked::Object => requests.with_own_values(object, &request, engine.evaluate(&request), engine),
        };
        outcome.policies.extend(engine.deletions(&request, subject));
        Ok(outcome)
    };
    objects.iter().map(one).collect()
}

/// The objects that clone rules copy, as expected results name them.
fn clone_sources(test: &Test, log: &mut Log) -> Vec<Value> {
    let mut all: Vec<Value> = Vec::new();
    for path in test.results.iter().filter_map(|r| r.clone_source.as_ref()) {
        let read = crate::inputs::read(path).map_err(|error| error.to_string()).and_then(|text| {
            ephor_document::resources(path, &text, ResourceOptions { float_numbers: true })
                .map_err(|e| e.to_string())
        });
        match read {
            Ok(documents) => {
                for d in documents {
                    if !all.iter().any(|o| o.strict_eq(&d.value)) {
                        all.push(d.value);
                    }
                }
            }
            Err(e) => log.hints.push(format!("{}: cloneSourceResource: {e}", test.path)),
        }
    }
    all
}

/// A policy or rule that an expected result names and that is not there.
fn unknown(expected: &Expected, policies: &[LoadedPolicy]) -> Option<String> {
    let name = expected.policy.rsplit('/').next().unwrap_or_default();
    let own: Vec<&LoadedPolicy> = policies.iter().filter(|p| p.name == name).collect();
    if own.is_empty() {
        let names: Vec<&str> = policies.iter().map(|p| &*p.name).collect();
        return Some(format!("there is no policy `{name}`{}", meant(name, &names)));
    }
    // Other policies have no rules with names.
    let rules = own.iter().filter_map(|p| p.document.at(&["spec", "rules"])?.as_list()).flatten();
    let names: Vec<&str> = rules.map(|rule| rule.text_at(&["name"])).collect();
    let wanted = &*expected.rule;
    let plain = wanted.strip_prefix("autogen-").unwrap_or(wanted);
    let is_there =
        |name: &&str| [wanted, plain, plain.strip_prefix("cronjob-").unwrap_or(plain)].contains(name);
    if wanted.is_empty() || names.is_empty() || names.iter().any(is_there) {
        return None;
    }
    // Without a name that was meant, what the result compares says enough.
    let other = meant(wanted, &names);
    (!other.is_empty()).then(|| format!("policy `{name}` has no rule `{wanted}`{other}"))
}

fn note(test: &Test, vacuous: &VacuousResult) -> String {
    format!("{}:{}: vacuous result: {}", test.path, test.line_of(vacuous.at), vacuous.text)
}
