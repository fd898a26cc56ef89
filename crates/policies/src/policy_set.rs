//! Policy sets and the engine that runs them: the library's front door.
//!
//! In: policy documents. Out: for a [`Request`], the results of every rule that matches. A set is
//! immutable and can be shared between threads; a reload builds a new one.

use std::ops::Range;
use std::sync::Arc;

use crate::engine::cleanup::{NO_IMAGES, Sweep};
use crate::engine::data::World;
use crate::engine::expressions::CelExceptions;
use crate::engine::run::{self, Phase, Results, Surroundings};
use crate::engine::{Profile, Request, RuleOutcome};
use crate::external::{ExternalData, NoData};
use crate::functions;
use crate::ir::cel_exception::CelException;
use crate::ir::facts::Stage;
use crate::ir::policy::Cleanup;
use crate::ir::{Exception, Policy};
use crate::lower::LATE;
use crate::matching::index::{Index, Slot};
use crate::sources::files::SourceText;
use crate::value::{Str, Value};
use crate::{document, load};

mod native;
pub mod outcomes;
pub mod phases;
mod result_cache;
pub mod verdicts;

use result_cache::ResultCache;

/// Why a policy document cannot be used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PolicyError {
    /// Name of the policy, as far as it is known.
    pub policy: String,
    /// What is wrong.
    pub text: String,
}

impl std::fmt::Display for PolicyError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if self.policy.is_empty() {
            return f.write_str(&self.text);
        }
        write!(f, "{}: {}", self.policy, self.text)
    }
}

impl std::error::Error for PolicyError {}

/// Policies, compiled and indexed.
///
/// ```
/// let policies = ephor_policies::PolicySet::from_yaml(r#"
/// apiVersion: kyverno.io/v1
/// kind: ClusterPolicy
/// metadata: {name: need-team}
/// spec:
///   rules:
///   - name: team
///     match: {any: [{resources: {kinds: [ConfigMap]}}]}
///     validate: {message: label team is needed, pattern: {metadata: {labels: {team: "?*"}}}}
/// "#)?;
/// assert_eq!(policies.policies().len(), 1);
/// # Ok::<(), ephor_policies::PolicyError>(())
/// ```
#[derive(Debug, Default)]
pub struct PolicySet {
    policies: Vec<Arc<Policy>>,
    exceptions: Vec<Exception>,
    cel_exceptions: Vec<CelException>,
    index: Index,
    phases: phases::Phases,
    /// The native policies, by position.
    native: Range<u32>,
}

impl PolicySet {
    /// A set of lowered policies and exceptions, in the order in which they count.
    ///
    /// They are evaluated phase by phase, in each in the order given.
    pub fn new(mut policies: Vec<Arc<Policy>>, exceptions: Vec<Exception>) -> PolicySet {
        policies.sort_by_key(|p| p.stage);
        let indexed = policies.iter().take_while(|p| p.stage.evaluates_resources());
        let index = Index::new(indexed.map(AsRef::as_ref));
        let phases = phases::Phases::of(&policies);
        let before =
            |stage: Stage| u32::try_from(policies.partition_point(|p| p.stage < stage)).unwrap_or(u32::MAX);
        let native = before(Stage::ApiServer)..before(Stage::CheckRequests);
        PolicySet { policies, exceptions, cel_exceptions: Vec::new(), index, phases, native }
    }

    /// Reads policies of all kinds, bindings of admission policies and exceptions from a YAML or JSON
    /// stream, all or nothing.
    ///
    /// # Errors
    /// The first document that does not parse, breaks its schema, fails the policy check, does not
    /// compile, or is none of these. Cleanup policies are not part of a set (see [`Engine::sweep`]).
    pub fn from_yaml(text: &str) -> Result<PolicySet, PolicyError> {
        let fail = |policy: &str, text: String| PolicyError { policy: policy.into(), text };
        let source = SourceText { name: "-".into(), text: text.into() };
        let mut loaded = load::argument(std::slice::from_ref(&source));
        if let Some(problem) = loaded.problems.first() {
            return Err(fail("", problem.to_string()));
        }
        if let Some(cleanup) = loaded.cleanups.first() {
            let policy = &cleanup.policy;
            return Err(fail(&policy.name, format!("{} is not supported", policy.api.kind)));
        }
        for p in &loaded.policies {
            if let Some(why) = p.refused.as_ref().or(p.uncompiled.as_ref()) {
                return Err(fail(&p.name, why.clone()));
            }
        }
        loaded.bind(Vec::new());
        let policies = loaded.policies.into_iter().filter_map(|p| p.policy).collect();
        Ok(PolicySet::new(policies, loaded.exceptions).with_cel_exceptions(loaded.cel_exceptions))
    }

    /// With PolicyExceptions of `policies.kyverno.io`.
    #[must_use]
    pub fn with_cel_exceptions(mut self, cel_exceptions: Vec<CelException>) -> PolicySet {
        self.cel_exceptions = cel_exceptions;
        self
    }

    /// The policies, in order.
    pub fn policies(&self) -> &[Arc<Policy>] {
        &self.policies
    }

    /// The exceptions, in order.
    pub fn exceptions(&self) -> &[Exception] {
        &self.exceptions
    }
}

/// The results of one policy.
#[derive(Clone, Debug)]
pub struct PolicyOutcome {
    /// The policy.
    pub policy: Arc<Policy>,
    /// Its rules' results, in order.
    pub rules: Vec<RuleOutcome>,
    /// The object that its mutate rules left, when they changed it; null when they lost it.
    pub object: Option<Value>,
    /// Why its generate rules generated nothing.
    pub failure: Option<String>,
    /// Whether these are results of image verification on the incoming object; verdicts follow.
    pub incoming: bool,
}

impl PolicyOutcome {
    /// What rules of a policy did.
    pub fn of(policy: &Arc<Policy>, done: impl Into<Results>) -> PolicyOutcome {
        let Results { rules, object, failure } = done.into();
        PolicyOutcome { policy: policy.clone(), rules, object, failure, incoming: false }
    }
}

/// The results of all policies for one request; policies without a matching rule are left out.
#[derive(Clone, Debug, Default)]
pub struct Outcome {
    /// In the order of the policies: first their mutate rules, then those that give verdicts, then
    /// their generate rules.
    pub policies: Vec<PolicyOutcome>,
    /// The object after all mutate rules, when they changed it; null when they lost it.
    pub object: Option<Value>,
}

impl Outcome {
    /// All results with their policies.
    pub fn results(&self) -> impl Iterator<Item = (&Policy, &RuleOutcome)> {
        self.policies.iter().flat_map(|p| p.rules.iter().map(|r| (&*p.policy, r)))
    }

    /// Adds what rules of a policy did, unless none has anything to say.
    fn push(&mut self, policy: &Arc<Policy>, done: Results) {
        if !done.rules.is_empty() {
            self.policies.push(PolicyOutcome::of(policy, done));
        }
    }
}

impl Outcome {
    /// Puts the results of the policy at position `at` of the engine's set in the place of those that
    /// are there.
    pub fn replace(&mut self, engine: &Engine, at: usize, results: Vec<RuleOutcome>) {
        let Some(policy) = engine.set.policies.get(at) else { return };
        let position = |p: &Arc<Policy>| engine.set.policies.iter().position(|q| Arc::ptr_eq(p, q));
        self.policies.retain(|p| !Arc::ptr_eq(&p.policy, policy));
        if results.is_empty() {
            return;
        }
        let before = self.policies.iter().take_while(|p| position(&p.policy).is_some_and(|i| i < at)).count();
        self.policies.insert(before, PolicyOutcome::of(policy, results));
    }
}

/// Values that replace the data of a policy's rules: by policy name, then rule name.
pub trait RuleValues: Send + Sync {
    /// Path and value, for a rule of a policy.
    fn for_rule(&self, policy: &str, rule: &str) -> &[(Vec<Str>, Value)];
}

struct NoValues;

impl RuleValues for NoValues {
    fn for_rule(&self, _: &str, _: &str) -> &[(Vec<Str>, Value)] {
        &[]
    }
}

/// A policy set with everything that it needs to decide.
///
/// ```
/// use ephor_policies::{Engine, PolicySet, Status};
///
/// let policies = PolicySet::from_yaml(r#"
/// apiVersion: kyverno.io/v1
/// kind: ClusterPolicy
/// metadata: {name: need-team}
/// spec:
///   rules:
///   - name: team
///     match: {any: [{resources: {kinds: [ConfigMap]}}]}
///     validate: {message: label team is needed, pattern: {metadata: {labels: {team: "?*"}}}}
/// "#)?;
/// let engine = Engine::new(policies);
/// let outcome = engine.check_yaml("{apiVersion: v1, kind: ConfigMap, metadata: {name: a}}")?;
/// let (policy, result) = outcome.results().next().ok_or("no result")?;
/// assert_eq!((&*policy.name, &*result.rule, result.status), ("need-team", "team", Status::Fail));
/// assert!(result.message.starts_with("validation error: label team is needed."));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Engine {
    set: PolicySet,
    profile: Profile,
    functions: functions::Context,
    external: Arc<dyn ExternalData>,
    values: Arc<dyn RuleValues>,
    is_valued: bool,
    result_cache: Option<ResultCache>,
}

impl Engine {
    /// An engine that behaves as Kyverno's command line and knows no outside data.
    pub fn new(set: PolicySet) -> Engine {
        Engine {
            set,
            profile: Profile::default(),
            functions: functions::Context::default(),
            external: Arc::new(NoData),
            values: Arc::new(NoValues),
            is_valued: false,
            result_cache: None,
        }
    }

    /// With another fidelity profile.
    #[must_use]
    pub fn with_profile(mut self, profile: Profile) -> Engine {
        self.profile = profile;
        self.with_cache_cleared()
    }

    /// With external data, for rules and for functions of their expressions.
    #[must_use]
    pub fn with_external(mut self, external: Arc<dyn ExternalData>) -> Engine {
        self.functions.external = Some(external.clone());
        self.external = external;
        self.with_cache_cleared()
    }

    /// With values that replace the data of rules.
    #[must_use]
    pub fn with_values(mut self, values: Arc<dyn RuleValues>) -> Engine {
        self.values = values;
        self.is_valued = true;
        self.result_cache = None;
        self
    }

    /// With a result cache for verdicts on requests that a server has sent, of at most so many bytes, roughly; 0 = none.
    /// Requests must be built with the engine's profile and functions. Nothing is cached with values for rules.
    #[must_use]
    pub fn with_result_cache(mut self, bytes: u64) -> Engine {
        self.result_cache = if bytes > 0 && !self.is_valued { ResultCache::new(bytes) } else { None };
        self
    }

    /// The same with an empty result cache, after something that results depend on has changed.
    fn with_cache_cleared(self) -> Engine {
        self.result_cache.iter().for_each(ResultCache::clear);
        self
    }

    /// With another time, default registry or the like for functions; before [`Engine::with_external`].
    #[must_use]
    pub fn with_functions(mut self, functions: functions::Context) -> Engine {
        self.functions = functions;
        self.with_cache_cleared()
    }

    /// The policies.
    pub fn set(&self) -> &PolicySet {
        &self.set
    }

    /// The profile.
    pub fn profile(&self) -> Profile {
        self.profile
    }

    /// What functions know.
    pub fn functions(&self) -> &functions::Context {
        &self.functions
    }

    /// Evaluates all rules that match the request.
    pub fn evaluate(&self, request: &Request) -> Outcome {
        if self.set.has_phases() {
            return self.evaluate_phases(request, &|_, _| None);
        }
        let slots = self.set.index.candidates(&request.target);
        let mut outcome = Outcome { policies: Vec::with_capacity(slots.len()), object: None };
        for group in slots.chunk_by(|a, b| a.0 == b.0) {
            self.evaluate_group(group, request, &mut outcome);
        }
        outcome
    }

    /// Evaluates the policies that look at payloads on data that is no request.
    pub fn evaluate_payload(&self, request: &Request) -> Outcome {
        let mut outcome = Outcome::default();
        for policy in self.set.policies.iter().filter(|p| p.stage == Stage::Payloads) {
            let rules = policy.rules.iter().map(AsRef::as_ref);
            outcome.push(policy, self.run(Phase::Decide, policy, rules, request));
        }
        outcome
    }

    /// The outcomes of [`Engine::evaluate`] for many requests, policy by policy: a policy's rules stay
    /// in the processor's cache for all of them.
    pub fn evaluate_all(&self, requests: &[&Request]) -> Vec<Outcome> {
        if self.set.has_phases() {
            return requests.iter().map(|r| self.evaluate(r)).collect();
        }
        let slots: Vec<Vec<Slot>> = requests.iter().map(|r| self.set.index.candidates(&r.target)).collect();
        let mut left: Vec<&[Slot]> = slots.iter().map(Vec::as_slice).collect();
        let room = |slots: &Vec<Slot>| Outcome { policies: Vec::with_capacity(slots.len()), object: None };
        let mut outcomes: Vec<Outcome> = slots.iter().map(room).collect();
        while let Some(next) = left.iter().filter_map(|s| Some(s.first()?.0)).min() {
            for ((left, request), outcome) in left.iter_mut().zip(requests).zip(&mut outcomes) {
                let own = left.iter().take_while(|(p, _)| *p == next).count();
                if own > 0 {
                    let (group, rest) = left.split_at(own);
                    *left = rest;
                    self.evaluate_group(group, request, outcome);
                }
            }
        }
        outcomes
    }

    /// Evaluates rules of one policy and adds their results.
    fn evaluate_group(&self, group: &[Slot], request: &Request, outcome: &mut Outcome) {
        let Some(policy) = group.first().and_then(|(p, _)| self.set.policies.get(*p as usize)) else {
            return;
        };
        let all = policy.rules_for(&request.target.kind);
        let rules = group.iter().filter_map(|(_, r)| all.get(*r as usize)).map(AsRef::as_ref);
        outcome.push(policy, self.run(Phase::Decide, policy, rules, request));
    }

    /// Evaluates all rules of one policy, by its position in the set.
    pub fn evaluate_policy(&self, at: usize, request: &Request) -> Vec<RuleOutcome> {
        let Some(policy) = self.set.policies.get(at) else { return Vec::new() };
        let rules = policy.rules_for(&request.target.kind).iter().map(AsRef::as_ref);
        self.run(Phase::Decide, policy, rules, request).rules
    }

    /// Runs rules of a policy.
    pub(crate) fn run<'p>(
        &self,
        phase: Phase,
        policy: &Policy,
        rules: impl Iterator<Item = &'p crate::ir::Rule>,
        request: &Request,
    ) -> Results {
        let around = Surroundings {
            sources: &*self.external,
            late: LATE,
            exceptions: &self.set.exceptions,
            cel_exceptions: CelExceptions {
                all: &self.set.cel_exceptions,
                expired_apply: self.profile.expired_exceptions_apply,
            },
            rule_values: &|rule| self.values.for_rule(&policy.name, rule),
            profile: self.profile,
        };
        run::policy(phase, policy, rules, request, around)
    }

    /// Begins a run of a cleanup policy.
    pub fn sweep<'e>(&'e self, cleanup: &'e Cleanup) -> Sweep<'e> {
        let world = World {
            functions: &self.functions,
            sources: &*self.external,
            late: LATE,
            deleting: false,
            images: &NO_IMAGES,
            policy_namespace: cleanup.policy.namespace.as_deref(),
            injected: &[],
            sorted: None,
            drops_unanswered: self.profile.unanswered_entries_are_dropped,
        };
        Sweep::new(cleanup, world)
    }

    /// Evaluates the creation of one object given as YAML or JSON.
    ///
    /// # Errors
    /// The text is no object.
    pub fn check_yaml(&self, text: &str) -> Result<Outcome, PolicyError> {
        let fail = |text: String| PolicyError { policy: String::new(), text };
        let object = document::yaml_value(text).map_err(fail)?;
        let object = if self.profile.float_resources { object.with_float_numbers() } else { object };
        let parts = crate::engine::request::Parts { object, ..Default::default() };
        let request = Request::new(parts, self.profile, &self.functions).map_err(fail)?;
        Ok(self.evaluate(&request))
    }
}
