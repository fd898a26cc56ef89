//! The engine: a policy set with everything that it needs to decide.
//!
//! In: a [`Request`]. Out: the results of every rule that matches.

use std::sync::Arc;

use ephor_engine::cleanup::{NO_IMAGES, Sweep};
use ephor_engine::data::World;
use ephor_engine::expressions::CelExceptions;
use ephor_engine::generate::Present;
use ephor_engine::run::{self, EvalContext, Phase, Results};
use ephor_engine::{Profile, Request, RuleOutcome};
use ephor_external::{ExternalData, NoData};
use ephor_functions::chance;
use ephor_ir::Policy;
use ephor_ir::facts::Stage;
use ephor_ir::policy::Cleanup;
use ephor_lower::LATE;
use ephor_matching::index::Slot;
use ephor_value::{Str, Value};

use super::result_cache::{CacheFigures, ResultCache};
use super::results::Outcome;
use super::set::{PolicyError, PolicySet};

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
    pub(super) set: PolicySet,
    profile: Profile,
    pub(super) functions: ephor_functions::Context,
    pub(super) external: Arc<dyn ExternalData>,
    values: Arc<dyn RuleValues>,
    is_valued: bool,
    pub(super) result_cache: Option<ResultCache>,
}

impl Engine {
    /// An engine that behaves as Kyverno's command line and knows no external data.
    pub fn new(set: PolicySet) -> Engine {
        Engine {
            set,
            profile: Profile::default(),
            functions: ephor_functions::Context::default(),
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

    /// With a result cache for verdicts on requests that a server has sent, of at most this many
    /// bytes; 0 = none. Requests must be built with the engine's profile and functions. Nothing is
    /// cached with values for rules.
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

    /// With another time, default registry or the like for functions; before
    /// [`Engine::with_external`].
    #[must_use]
    pub fn with_functions(mut self, functions: ephor_functions::Context) -> Engine {
        self.functions = functions;
        self.with_cache_cleared()
    }

    /// An engine that knows what this one knows and has other policies.
    #[must_use]
    pub fn with_set(&self, set: PolicySet) -> Engine {
        Engine {
            set,
            profile: self.profile,
            functions: self.functions.clone(),
            external: self.external.clone(),
            values: self.values.clone(),
            is_valued: self.is_valued,
            result_cache: None,
        }
    }

    /// What the result cache holds and what became of it; `None` = there is none.
    pub fn cache_figures(&self) -> Option<CacheFigures> {
        self.result_cache.as_ref().map(ResultCache::figures)
    }

    /// What rules look up.
    pub fn external(&self) -> &dyn ExternalData {
        &*self.external
    }

    /// The policies.
    pub fn set(&self) -> &PolicySet {
        &self.set
    }

    /// The profile.
    pub fn profile(&self) -> Profile {
        self.profile
    }

    /// With a place where functions say what they take for something else.
    #[must_use]
    pub fn with_remarks(mut self, remarks: Arc<ephor_functions::Remarks>) -> Engine {
        self.functions.remarks = Some(remarks);
        self
    }

    /// What functions know.
    pub fn functions(&self) -> &ephor_functions::Context {
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

    /// Evaluates the policies that read payloads on data that is no request.
    pub fn evaluate_payload(&self, request: &Request) -> Outcome {
        let mut outcome = Outcome::default();
        for policy in self.set.policies.iter().filter(|p| p.stage == Stage::Payloads) {
            let rules = policy.rules.iter().map(AsRef::as_ref);
            outcome.push(policy, self.run(Phase::Decide, policy, rules, request));
        }
        outcome
    }

    /// The outcomes of [`Engine::evaluate`] for many requests, policy by policy: a policy's rules
    /// stay in the processor's cache for all of them.
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
    pub(super) fn evaluate_group(&self, group: &[Slot], request: &Request, outcome: &mut Outcome) {
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
        self.run_all(Phase::Decide, policy, request).rules
    }

    /// Runs all rules of a policy for the kind of the request's object.
    pub(super) fn run_all(&self, phase: Phase, policy: &Policy, request: &Request) -> Results {
        let rules = policy.rules_for(&request.target.kind).iter().map(AsRef::as_ref);
        self.run(phase, policy, rules, request)
    }

    /// Runs rules of a policy.
    pub(crate) fn run<'p>(
        &self,
        phase: Phase,
        policy: &Policy,
        rules: impl Iterator<Item = &'p ephor_ir::Rule>,
        request: &Request,
    ) -> Results {
        let target = &request.target;
        chance::begin(&[&policy.name, &target.kind, &target.namespace, &target.name]);
        self.with_context(policy, |context| run::policy(phase, policy, rules, request, context))
    }

    /// Does something with what a policy is evaluated with.
    pub(super) fn with_context<T>(&self, policy: &Policy, work: impl FnOnce(EvalContext<'_>) -> T) -> T {
        self.with_data(policy, &*self.external, None, work)
    }

    /// The same with other data, and with other objects that exist.
    pub(super) fn with_data<T>(
        &self,
        policy: &Policy,
        sources: &dyn ExternalData,
        present: Option<&dyn Present>,
        work: impl FnOnce(EvalContext<'_>) -> T,
    ) -> T {
        work(EvalContext {
            sources,
            late: LATE,
            exceptions: &self.set.exceptions,
            cel_exceptions: CelExceptions {
                all: &self.set.cel_exceptions,
                expired_apply: self.profile.expired_exceptions_apply,
            },
            rule_values: &|rule| self.values.for_rule(&policy.name, rule),
            present,
            profile: self.profile,
        })
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
        let object = ephor_document::yaml_value(text).map_err(|e| fail(e.to_string()))?;
        let object = if self.profile.float_resources { object.with_float_numbers() } else { object };
        let parts = ephor_engine::request::Parts { object, ..Default::default() };
        let request = Request::new(parts, self.profile, &self.functions);
        let request = request.map_err(|error| fail(error.to_string()))?;
        Ok(self.evaluate(&request))
    }
}
