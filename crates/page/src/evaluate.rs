//! What policies decide about objects, and why.
//!
//! In: policies, objects and what is around them. Out: for each object its results, as
//! `ephor apply --output-format json` lists them, what mutations leave with the lines that change,
//! new objects, and on request the decisions of `ephor explain`; for each rule the IR as `ephor
//! explain` prints it.

use std::sync::Arc;

use serde_json::{Value as Json, json};

use ephor_document::resource::objects;
use ephor_document::write::{Style, to_string};
use ephor_document::{Document, Duplicates, ResourceOptions, parse_stream};
use ephor_engine::{Effect, Profile, Request};
use ephor_external::{ExternalData, Found, ServiceCall};
use ephor_inspect::explain;
use ephor_inspect::explain::run::{DecidedRun, key};
use ephor_inspect::results::Collector;
use ephor_ir::Policy;
use ephor_kubernetes::Types;
use ephor_policies::by_policy::ByPolicy;
use ephor_policies::load::{LoadedPolicy, Policies, Reader, argument_as, never_matching};
use ephor_policies::pitfalls;
use ephor_policies::policy_set::{Engine, Outcome};
use ephor_report::diff::{lines, without_colour};
use ephor_report::formats::json::result;
use ephor_report::policy_report::{PolicyFacts, report_status};
use ephor_report::run::{Finding, ResourceName};
use ephor_sources::context::Context;
use ephor_sources::offline::Offline;
use ephor_testing::inputs::Refused;
use ephor_testing::inputs::exceptions::Exceptions;
use ephor_testing::inputs::requests::Requests;
use ephor_testing::inputs::resources::{global_entries, without_duplicates};
use ephor_testing::inputs::user;
use ephor_testing::inputs::values::Values;
use ephor_value::clock::{self, Instant};
use ephor_value::{Value, budget};

use crate::parsed;
use crate::question::{As, Evaluate, Files, QuestionError, deadline, release};

/// How long an evaluation may take, in milliseconds.
const EVALUATION: u64 = 10_000;
/// The decisions about this many objects are explained.
const MAX_EXPLAINED: usize = 20;
/// The most objects that are evaluated.
const MAX_OBJECTS: usize = 5_000;

/// The results of all objects.
///
/// # Errors
/// A part of the question cannot be used.
pub fn answer(question: &Evaluate) -> Result<Json, QuestionError> {
    let deadline = deadline(question.milliseconds, EVALUATION);
    budget::until(deadline, || Input::read(question)?.answer(question, deadline))
}

/// The documents of files of a part of the question.
///
/// # Errors
/// A file is not YAML.
pub fn documents(part: &'static str, files: &Files) -> Result<Vec<Value>, QuestionError> {
    let mut out = Vec::new();
    for source in files.sources(&format!("{part}.yaml")) {
        let parsed = parse_stream(&source.name, &source.text, Duplicates::LastWins);
        for document in parsed.map_err(|cause| QuestionError::input(part, cause))? {
            out.push(document.map_err(|cause| QuestionError::input(part, cause))?.value);
        }
    }
    Ok(out)
}

/// The data of a page: no service is called, whatever the program around it could do.
struct WithoutServices(Offline);

impl ExternalData for WithoutServices {
    fn inner(&self) -> Option<&dyn ExternalData> {
        Some(&self.0)
    }

    fn service(&self, _: &ServiceCall<'_>) -> Found {
        Some(Err("the page calls no services".to_string().into()))
    }
}

/// What was read.
struct Input {
    policies: Policies,
    objects: Vec<Document>,
    exceptions: Exceptions,
    requests: Requests,
    engine: Engine,
    notes: Vec<String>,
}

impl Input {
    fn read(question: &Evaluate) -> Result<Input, QuestionError> {
        let kubernetes = release(&question.kubernetes)?;
        let profile = match question.r#as {
            As::Kyverno => Profile::kyverno_cli(),
            As::Cluster => Profile::as_cluster(),
        };
        let mut notes = Vec::new();
        let mut policies =
            argument_as(&question.policies.sources("policies.yaml"), Reader::Command, kubernetes);
        let objects = resources(question, profile, &mut notes)?;
        policies.bind(objects.iter().map(|d| d.value.clone()).collect());
        notes.extend(policies.problems.iter().map(ToString::to_string));
        notes.extend(policies.deprecations.iter().filter(|text| !text.is_empty()).cloned());
        for policy in &policies.policies {
            let never = never_matching(policy).into_iter();
            notes.extend(never.map(|(line, text)| format!("{}:{line}: {text}", policy.source)));
        }
        let mut exceptions = Exceptions::default();
        exceptions.exceptions.extend(policies.exceptions.iter().cloned());
        exceptions.cel_exceptions.extend(policies.cel_exceptions.iter().cloned());
        objects.iter().for_each(|document| exceptions.take(&document.value));
        let lowered: Vec<Arc<Policy>> = policies.policies.iter().filter_map(|p| p.policy.clone()).collect();
        notes.extend(
            pitfalls::of_exceptions(&lowered, &exceptions.exceptions).iter().map(ToString::to_string),
        );
        let definitions = documents("definitions", &question.definitions)?;
        let types = match definitions.is_empty() {
            true => None,
            false => Some(Types::of_release_with(kubernetes.unwrap_or_default(), &definitions)),
        };
        let external = Offline {
            stored: Default::default(),
            objects: objects.iter().map(|d| d.value.clone()).collect(),
            globals: global_entries(&objects),
            context: Some(context(&question.context)?),
            types,
            registry: None,
            strict: false,
            retained: None,
        };
        let requests = Requests {
            values: Arc::new(values(&question.values)?),
            user: match question.user.trim() {
                "" => None,
                _ => Some(user::parse("user.yaml", &question.user).map_err(|e| refused("user", e))?.0),
            },
            profile,
            details: true,
            operation: (!question.operation.is_empty()).then(|| question.operation.as_str().into()),
            old_object: old_object(question, profile)?,
        };
        // Nothing can be evaluated together with what does not compile.
        let usable = policies.policies.iter().filter(|p| p.uncompiled.is_none());
        let set = exceptions.clone().with(usable.filter_map(|p| p.policy.clone()).collect());
        let engine = Engine::new(set)
            .with_profile(profile)
            .with_external(Arc::new(WithoutServices(external)))
            .with_values(requests.values.clone());
        Ok(Input { policies, objects, exceptions, requests, engine, notes })
    }

    fn answer(&self, question: &Evaluate, deadline: Option<Instant>) -> Result<Json, QuestionError> {
        let loaded = &self.policies.policies;
        let requests = |policy: &Policy, object: &Value| -> Option<Request> {
            self.requests.of_policy(policy, object.clone(), &self.engine).ok()
        };
        let collector = Collector::new(&self.engine, &requests, loaded, false);
        let lowered = loaded.iter().filter_map(|p| p.policy.as_ref());
        let facts: ByPolicy<PolicyFacts> = lowered.map(|p| (p, PolicyFacts::of(p))).collect();
        let mut notes = self.notes.clone();
        let mut answers = Vec::new();
        for (at, object) in self.objects.iter().enumerate().take(MAX_OBJECTS) {
            if clock::has_passed(deadline) {
                break;
            }
            let explained = question.explain && at < MAX_EXPLAINED;
            answers.push(self.object(object, (&collector, &facts), explained, &mut notes)?);
        }
        let rest = self.objects.len() - answers.len();
        if rest > 0 {
            notes.push(format!(
                "{rest} of {} objects are not evaluated: there are too many, or it takes too long",
                self.objects.len()
            ));
        }
        let rules: Vec<Json> = match question.explain {
            true => loaded.iter().flat_map(|p| explain::rules(p, None)).map(|rule| of_rule(&rule)).collect(),
            false => Vec::new(),
        };
        Ok(json!({
            "policies": loaded.iter().map(of_policy).collect::<Vec<_>>(),
            "refused": collector.refused().iter().map(result).collect::<Vec<_>>(),
            "objects": answers,
            "rules": rules,
            "notes": notes,
            "isInterrupted": budget::is_interrupted(),
        }))
    }

    fn object(
        &self,
        document: &Document,
        (collector, facts): (&Collector<'_>, &ByPolicy<PolicyFacts>),
        explained: bool,
        notes: &mut Vec<String>,
    ) -> Result<Json, QuestionError> {
        let object = &document.value;
        let request = self.requests.of(object.clone(), None, &self.engine)?;
        let outcome =
            self.requests.with_own_values(object, &request, self.engine.evaluate(&request), &self.engine);
        let said = pitfalls::of_outcome(self.engine.set(), object, &outcome);
        for text in said.each.iter().chain(&said.once).map(ToString::to_string) {
            if !notes.contains(&text) {
                notes.push(text);
            }
        }
        let shown = outcome.object.as_ref().filter(|left| !left.is_null()).unwrap_or(object);
        let mut findings: Vec<Finding> = Vec::new();
        for policy in &outcome.policies {
            let Some(facts) = facts.get(&policy.policy) else { continue };
            let status = |r: &ephor_engine::RuleOutcome| report_status(r.status, facts, false);
            findings.extend(collector.collect(Some(document), shown, policy, status));
        }
        let decisions = match explained {
            true => Some(self.decisions(document)?),
            false => None,
        };
        let (before, after) = (text_of(object), text_of(shown));
        let changed = before != after;
        Ok(json!({
            "name": ResourceName::of(object).display(),
            "file": &*document.source,
            "line": document.line,
            "results": findings.iter().map(result).collect::<Vec<_>>(),
            "mutated": changed.then_some(&after),
            "difference": changed.then(|| without_colour(&lines(&before, &after))),
            "generated": effects(&outcome, |effect| match effect {
                Effect::Generated(all) => all.iter().map(text_of).collect(),
                _ => Vec::new(),
            }),
            "targets": effects(&outcome, |effect| match effect {
                Effect::Target(target) => vec![text_of(target)],
                _ => Vec::new(),
            }),
            "decisions": decisions,
        }))
    }

    /// The decisions of all policies about an object.
    fn decisions(&self, document: &Document) -> Result<Vec<Json>, QuestionError> {
        let run = DecidedRun {
            policies: &self.policies.policies,
            exceptions: &self.exceptions,
            requests: &self.requests,
        };
        let decided = run.about(&self.engine, document, None)?;
        Ok(decided.iter().map(|one| parsed(&ephor_value::print::json(&one.to_value()))).collect())
    }
}

fn effects(outcome: &Outcome, of: impl Fn(&Effect) -> Vec<String>) -> Vec<String> {
    let rules = outcome.policies.iter().flat_map(|policy| &policy.rules);
    rules.filter_map(|rule| rule.effect.as_deref()).flat_map(of).collect()
}

/// An object as `ephor apply` prints it.
fn text_of(object: &Value) -> String {
    to_string(&object.with_whole_numbers(), Style::Object)
}

fn of_policy(loaded: &LoadedPolicy) -> Json {
    json!({
        "name": key(loaded),
        "kind": loaded.document.text_at(&["kind"]),
        "file": &*loaded.source,
        "line": loaded.line,
        "refused": loaded.refused,
        "uncompiled": loaded.uncompiled,
    })
}

fn of_rule(rule: &explain::Explained) -> Json {
    json!({
        "policy": rule.policy,
        "rule": rule.rule,
        "place": rule.place,
        "generated": rule.generated.as_deref(),
        "text": rule.text(),
    })
}

fn resources(
    question: &Evaluate,
    profile: Profile,
    notes: &mut Vec<String>,
) -> Result<Vec<Document>, QuestionError> {
    let options = ResourceOptions { float_numbers: profile.float_resources };
    let mut all = Vec::new();
    for source in question.objects.sources("objects.yaml") {
        let (documents, others) = objects(&source.name, &source.text, options)
            .map_err(|cause| QuestionError::input("objects", cause))?;
        notes.extend(others.iter().map(|e| format!("{}:{}: no Kubernetes object", e.source, e.line)));
        all.extend(documents);
    }
    let (unique, duplicates) = without_duplicates(all);
    notes.extend(duplicates.iter().map(|d| {
        format!("{}:{}: duplicate of {}: left out", d.source, d.line, ResourceName::of(&d.value).display())
    }));
    Ok(unique)
}

fn old_object(question: &Evaluate, profile: Profile) -> Result<Option<Value>, QuestionError> {
    if question.old_object.trim().is_empty() {
        return Ok(None);
    }
    let options = ResourceOptions { float_numbers: profile.float_resources };
    let (documents, _) = objects("old-object.yaml", &question.old_object, options)
        .map_err(|cause| QuestionError::input("oldObject", cause))?;
    Ok(documents.into_iter().next().map(|document| document.value))
}

fn values(text: &str) -> Result<Values, QuestionError> {
    match text.trim() {
        "" => Ok(Values::default()),
        _ => Values::parse("values.yaml", "values.yaml", text).map_err(|error| refused("values", error)),
    }
}

fn context(text: &str) -> Result<Context, QuestionError> {
    if text.trim().is_empty() {
        return Ok(Context::default());
    }
    let document =
        ephor_document::yaml_value(text).map_err(|cause| QuestionError::input("context", cause))?;
    Context::of(&document).map_err(|cause| QuestionError::input("context", cause))
}

fn refused(part: &'static str, error: Refused) -> QuestionError {
    QuestionError::Input { part, text: error.text, hint: error.hint }
}
