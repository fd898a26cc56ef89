//! A library of policies sent as AdmissionReviews: the webhook must decide as the command line
//! does.
//!
//! In: the folders with test files, whose rows are measured elsewhere, and the recorded verdicts on
//! a pool of objects, which the policies decide about as they are written and once more so that
//! they refuse. Out: `reviews/tests`, a test file's request each, and `reviews/pool`, an object
//! that a policy says something about each. For each the results of all rules are compared with
//! their messages, and with them the answer: whether the request is allowed, the text of a denial,
//! warnings, and the patched object.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use rayon::prelude::*;

use ephor_admission::admit::Gate;
use ephor_document::{self, ResourceOptions};
use ephor_engine::action::{effective, enforces};
use ephor_engine::request::{Parts, UserParts};
use ephor_engine::{Profile, Request, RuleOutcome};
use ephor_external::{ExternalData, LookupError, Roles};
use ephor_ir::Policy;
use ephor_ir::facts::{ActionModel, Stage};
use ephor_ir::rule::RuleKind;
use ephor_kubernetes::{Kinds, kind_object, resource_object};
use ephor_matching::Target;
use ephor_report::policy_report::{PolicyFacts, report_message, report_status};
use ephor_sources::files::SourceText;
use ephor_sources::offline::Offline;
use ephor_testing::inputs::values::Values;
use ephor_testing::testing::file;
use ephor_testing::testing::find::find;
use ephor_testing::testing::run::{Evaluated, evaluated};
use ephor_value::print::json;
use ephor_value::{Map, Str, Value};

use super::reviews::{Reviewed, review};
use super::{Failure, Report, lines, round_trip, test_folders, verdicts};

/// The data of a run, as a cluster's.
struct RecordedData {
    external: Arc<dyn ExternalData>,
    values: Arc<Values>,
    user: Option<UserParts>,
    kinds: Arc<Kinds>,
}

impl ExternalData for RecordedData {
    fn inner(&self) -> Option<&dyn ExternalData> {
        Some(&*self.external)
    }

    fn kinds(&self) -> Option<Result<Arc<Kinds>, LookupError>> {
        Some(Ok(self.kinds.clone()))
    }

    fn namespace(&self, name: &str) -> Option<Value> {
        self.values.namespaces.get(name).cloned()
    }

    fn roles(&self, _: &Value, _: &str) -> Option<Roles> {
        Some(self.user.as_ref().map(|u| (u.roles.clone(), u.cluster_roles.clone())).unwrap_or_default())
    }
}

/// (policy, rule) → status and message as reports show them.
type Results = BTreeMap<(String, String), (String, String)>;

/// Runs both suites.
///
/// # Errors
/// A list or a recording cannot be read.
pub fn run(dir: &Path) -> std::io::Result<Vec<Report>> {
    let list = std::fs::read_to_string(dir.join(test_folders::list("kyverno-policies")))?;
    let folders: Vec<&str> = list.lines().map(str::trim).filter(|l| !l.is_empty()).collect();
    let mut tests = Report::new("reviews/tests");
    let all: Vec<Vec<_>> =
        folders.par_iter().map(|folder| of_folder(&dir.join("kyverno-policies"), folder)).collect();
    all.into_iter().flatten().for_each(|result| tests.count(result));
    let recorded = dir.join("verdicts/kyverno-policies.jsonl");
    if !recorded.exists() {
        return Ok(vec![tests]);
    }
    let text = std::fs::read_to_string(dir.join("verdicts/pool.yaml"))?;
    let options = ResourceOptions { float_numbers: true };
    let pool = ephor_document::resources("pool.yaml", &text, options)
        .map_err(|e| std::io::Error::other(e.to_string()))?
        .into_iter()
        .map(|d| d.value)
        .collect::<Vec<Value>>();
    let mut on_pool = Report::new("reviews/pool");
    let recorded = lines(&recorded)?;
    let usable = recorded.par_iter().filter(|line| line.get("error").is_none());
    let all: Vec<OnObjects> = usable.map(|line| on_objects(dir, line, &pool)).collect();
    on_pool.leave_out("policy files without a report of Kyverno", recorded.len() - all.len());
    for of_file in all {
        of_file.results.into_iter().for_each(|result| on_pool.count(result));
        on_pool.leave_out("verdicts of generate rules, which no answer waits for", of_file.generating);
        on_pool.leave_out("objects from which no request can be built", of_file.unusable);
    }
    Ok(vec![tests, on_pool])
}

/// The requests of a folder's tests.
fn of_folder(dir: &Path, folder: &str) -> Vec<Result<(), Failure>> {
    let failed = |why: String| Failure { id: folder.into(), expected: Value::Null, got: why.into() };
    let found = match find(&[dir.join(folder).to_string_lossy().into_owned()], "kyverno-test.yaml", "") {
        Ok(found) => found,
        Err(e) => return vec![Err(failed(e.to_string()))],
    };
    let mut results = Vec::new();
    for test in found.sources.iter().flat_map(|source| file::tests(source, None)) {
        let done = match test {
            Ok(test) if test.results.is_empty() => continue,
            Ok(test) => evaluated(&test).map_err(|error| error.to_string()),
            Err(e) => Err(e.text),
        };
        match done {
            Ok(done) => results.extend(
                of_test(done)
                    .into_iter()
                    .map(|result| result.map_err(|f| Failure { id: format!("{folder}: {}", f.id), ..f })),
            ),
            Err(e) => results.push(Err(failed(e))),
        }
    }
    results
}

fn of_test(test: Evaluated) -> Vec<Result<(), Failure>> {
    let values = test.requests.values.clone();
    let kinds = Kinds::with(test.external.objects());
    let cluster = RecordedData {
        external: test.external,
        values: values.clone(),
        user: test.requests.user.clone(),
        kinds: kinds.clone(),
    };
    let gate = Gate::new(test.policies, Arc::new(cluster), &[])
        .with_profile(Profile::as_cluster())
        .with_values(values);
    let facts = facts(&gate);
    let one = |(request, outcome): &(Request, ephor_policies::policy_set::Outcome)| {
        let expected = reported(outcome.results(), &facts);
        let left = outcome.object.as_ref().unwrap_or(&request.object);
        let target = &request.target;
        compare(&gate, request, &kinds, &expected, Some(left), &facts).map_err(|(expected, got)| Failure {
            id: format!("{} {}/{}/{}", target.operation, target.kind, target.namespace, target.name),
            expected,
            got,
        })
    };
    test.outcomes.iter().map(one).collect()
}

/// Results of a policy file.
#[derive(Default)]
struct OnObjects {
    results: Vec<Result<(), Failure>>,
    /// Recorded verdicts of generate rules.
    generating: usize,
    /// Objects from which no request can be built.
    unusable: usize,
}

/// The objects of the pool for which a policy file has results.
fn on_objects(dir: &Path, line: &Value, pool: &[Value]) -> OnObjects {
    let file = line.text_at(&["file"]);
    let text = std::fs::read_to_string(dir.join("kyverno-policies").join(file)).unwrap_or_default();
    let sources = Offline { objects: pool.to_vec(), ..Offline::default() };
    let kinds = Kinds::with(pool);
    let cluster = Arc::new(RecordedData {
        external: Arc::new(sources),
        values: Arc::default(),
        user: None,
        kinds: kinds.clone(),
    });
    let gate_of = |text: String| {
        let policies = round_trip::loaded(ephor_policies::load::argument(&[SourceText {
            name: file.to_string(),
            text,
        }]));
        // The objects of the pool are evaluated one after the other.
        Gate::new(policies, cluster.clone(), &[])
            .with_profile(Profile::as_cluster())
            .with_result_cache(64 << 20)
    };
    let enforcing = gate_of(enforced(&text));
    let gate = gate_of(text);
    let facts = facts(&gate);
    let mut all = OnObjects::default();
    let mut recorded: Vec<Results> = vec![Results::new(); pool.len()];
    let generating: Vec<(String, Str)> = gate
        .engine()
        .set()
        .policies()
        .iter()
        .flat_map(|p| {
            let rules = p.rules.iter().filter(|r| r.kind == RuleKind::Generation);
            rules.map(|r| (p.key(), r.name.clone())).collect::<Vec<_>>()
        })
        .collect();
    for ((policy, rule, at), result) in verdicts::expected(line) {
        if generating.iter().any(|(of, name)| *of == policy && **name == *rule) {
            all.generating += 1;
            continue;
        }
        if let Some(of_object) = recorded.get_mut(at) {
            of_object.insert((policy, rule), result);
        }
    }
    for (at, (object, expected)) in pool.iter().zip(&recorded).enumerate() {
        let parts = Parts { object: object.clone(), ..Parts::default() };
        let Ok(request) = Request::new(parts, Profile::kyverno_cli(), gate.engine().functions()) else {
            all.unusable += 1;
            continue;
        };
        let done = compare(&gate, &request, &kinds, expected, None, &facts)
            .and_then(|()| compare(&enforcing, &request, &kinds, expected, None, &facts));
        if done.is_err() || !expected.is_empty() {
            let failure = |(expected, got)| Failure { id: format!("{file} {at}"), expected, got };
            all.results.push(done.map_err(failure));
        }
    }
    all
}

/// Policies that refuse what they would only audit.
fn enforced(text: &str) -> String {
    let mut text = text.to_string();
    for (audits, refuses) in [
        ("Action: Audit", "Action: Enforce"),
        ("Action: audit", "Action: Enforce"),
        ("Actions: [Audit]", "Actions: [Deny]"),
        ("- Audit\n", "- Deny\n"),
    ] {
        text = text.replace(audits, refuses);
    }
    text
}

fn facts(gate: &Gate) -> BTreeMap<String, PolicyFacts> {
    gate.engine().set().policies().iter().map(|p| (p.key(), PolicyFacts::of(p))).collect()
}

/// Results as reports show them; those of rules that generate have no place in an answer.
fn reported<'o>(
    all: impl Iterator<Item = (&'o Policy, &'o RuleOutcome)>,
    facts: &BTreeMap<String, PolicyFacts>,
) -> Results {
    let mut results = Results::new();
    for (policy, r) in all.filter(|(p, r)| r.kind != RuleKind::Generation && p.stage != Stage::Schedule) {
        let Some(facts) = facts.get(&policy.key()) else { continue };
        let status = report_status(r.status, facts, false).name().to_string();
        results.insert((policy.key(), r.rule.to_string()), (status, report_message(r).to_string()));
    }
    results
}

/// The `request` of a review for what the command line evaluates.
fn sent(request: &Request, kinds: &Kinds) -> Map {
    let target = &request.target;
    let about = request.object_or_old();
    let api_version = about.text_at(&["apiVersion"]);
    let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
    let plural = kinds.plural_of(&target.group, &target.version, &target.kind);
    let kind = kind_object([group, version, about.text_at(&["kind"])]);
    let resource = resource_object([&*target.group, &*target.version, &*plural]);
    let mut m = Map::new();
    m.insert("uid", "00000000-0000-0000-0000-000000000001".into());
    for (key, value) in [("kind", kind), ("resource", resource)] {
        m.insert(format!("request{}{}", &key[..1].to_uppercase(), &key[1..]), value.clone());
        m.insert(key, value);
    }
    m.insert("subResource", Value::Str(target.subresource.clone()));
    m.insert("name", Value::Str(target.name.clone()));
    m.insert("namespace", Value::Str(target.namespace.clone()));
    m.insert("operation", Value::Str(target.operation.clone()));
    let user = request.root.get().at(&["request", "userInfo"]).cloned();
    m.insert("userInfo", user.unwrap_or_else(|| Value::Map(Map::new())));
    m.insert("object", request.object.clone());
    m.insert("oldObject", request.old_object.clone());
    m.insert("dryRun", Value::Bool(false));
    m.insert("options", Value::Null);
    m
}

type Differs = (Value, Value);

/// Reviews a request, and compares results and answers with what is expected.
fn compare(
    gate: &Gate,
    request: &Request,
    kinds: &Kinds,
    expected: &Results,
    left: Option<&Value>,
    facts: &BTreeMap<String, PolicyFacts>,
) -> Result<(), Differs> {
    let sent = sent(request, kinds);
    let said =
        review(gate, &sent, &|object| object).map_err(|e| (Value::Null, Value::from(e.to_string())))?;
    let outcomes =
        [Some(&said.changes.1.outcomes), said.verdict.as_ref().map(|(_, d)| &d.outcomes), Some(&said.later)];
    let got = reported(outcomes.into_iter().flatten().flat_map(|o| o.results()), facts);
    if said.verdict.is_none() {
        return refused_change(expected, &got, &said);
    }
    if *expected != got {
        return Err((as_value(expected), as_value(&got)));
    }
    if let Some(left) = left.filter(|left| !left.is_null() && !request.object.is_null())
        && !left.json_eq(&said.object)
    {
        return Err((left.clone(), said.object.clone()));
    }
    answers(gate, &request.target, expected, &said)
}

fn as_value(results: &Results) -> Value {
    let one = |((policy, rule), (status, message)): (&(String, String), &(String, String))| {
        (Str::from(format!("{policy}/{rule}")), Value::from(format!("{status}: {message}")))
    };
    Value::Map(results.iter().map(one).collect())
}

/// The denial of a mutation names a rule that also fails on the command line.
fn refused_change(expected: &Results, got: &Results, said: &Reviewed) -> Result<(), Differs> {
    let message = said.changes.0.text_at(&["status", "message"]);
    let is_reported = |(key, result): (&(String, String), &(String, String))| {
        matches!(&*result.0, "fail" | "error" | "warn")
            && got.get(key) == Some(result)
            && message.contains(&*key.0)
    };
    if expected.iter().any(is_reported) { Ok(()) } else { Err((as_value(expected), message.into())) }
}

/// What must be in the answer by the results: refusals, their text, warnings.
fn answers(gate: &Gate, target: &Target, expected: &Results, said: &Reviewed) -> Result<(), Differs> {
    let Some((answer, decision)) = &said.verdict else { return Ok(()) };
    let target = decision.prepared.as_ref().map_or(target, |a| &a.request.target);
    let (mut block, mut denials, mut warnings) = (Map::new(), Vec::new(), 0);
    let mut blocks = false;
    for policy in gate.engine().set().policies().iter() {
        let mut rules = Map::new();
        let own = expected.iter().filter(|((key, _), _)| *key == policy.key());
        for ((_, rule), (status, message)) in
            own.filter(|(_, (status, _))| !matches!(&**status, "pass" | "skip"))
        {
            if matches!(policy.actions, ActionModel::ValidationActions { .. }) {
                let how = if status == "error" { "error" } else { "failed" };
                let text = format!("Policy {} {how}: {message}", policy.name);
                warnings += usize::from(policy.actions.warns());
                denials.extend(policy.actions.denies().then_some(text));
                continue;
            }
            let of_kind = policy.rules_for(&target.kind);
            let written = of_kind.iter().find(|r| *r.name == **rule).map(AsRef::as_ref);
            let action = enforces(effective(policy, written, target));
            if !written.is_none_or(|r| r.kind == RuleKind::Validation) {
                continue;
            }
            warnings += usize::from(policy.actions.warns() || action);
            if action {
                blocks |= status != "error" || policy.failure_policy.is_fail();
                rules.insert(rule.as_str(), Value::from(&**message));
            }
        }
        if !rules.is_empty() {
            block.insert(Str::clone(&policy.name), Value::Map(rules));
        }
    }
    let allowed = answer.get("allowed").and_then(Value::as_bool) == Some(true);
    let expects = |text: String| (Value::from(text), answer.clone());
    if allowed == (blocks || !denials.is_empty()) {
        return Err(expects(format!("allowed: {}", !allowed)));
    }
    if allowed {
        let sent = super::admission::list(answer, "warnings").len();
        // Those with equal texts are sent once.
        return if sent <= warnings && (sent > 0 || warnings == 0) {
            Ok(())
        } else {
            Err(expects(format!("{warnings} warnings")))
        };
    }
    let message = answer.text_at(&["status", "message"]);
    let reviews = denials.join("; ");
    let text = if denials.is_empty() { message } else { message.strip_suffix(&*reviews).unwrap_or(message) };
    if !denials.is_empty() && !message.ends_with(&*reviews) {
        return Err(expects(reviews));
    }
    if !blocks {
        return if text.is_empty() { Ok(()) } else { Err(expects(reviews)) };
    }
    let head = format!(
        "\n\nresource {}/{}/{} was blocked due to the following policies \n\n",
        decision_kind(said),
        target.namespace,
        target.name
    );
    let tail = text.strip_prefix(&*head).ok_or_else(|| expects(head.clone()))?;
    let parsed = ephor_document::yaml_value(tail).map_err(|e| expects(e.to_string()))?;
    if parsed.json_eq(&Value::Map(block.clone())) { Ok(()) } else { Err(expects(json(&Value::Map(block)))) }
}

fn decision_kind(said: &Reviewed) -> String {
    let request = said.verdict.as_ref().and_then(|(_, d)| d.prepared.as_ref()).map(|a| &a.request);
    request.map(|r| r.root.get().text_at(&["request", "kind", "kind"]).to_string()).unwrap_or_default()
}
