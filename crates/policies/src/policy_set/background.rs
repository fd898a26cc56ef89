//! What controllers do after a request: objects that rules generate, and other objects that they
//! change.
//!
//! In: a policy, one of its rules, a request. Out: whether there is such work, what the rule wants
//! to exist, the objects as it changes them. Semantics: `docs/semantics/generate.md`,
//! `docs/semantics/mutate.md`.

use ephor_engine::expressions::existing::Targets;
use ephor_engine::generate::{GenerationError, Present, WantedObject};
use ephor_engine::run::{self, Phase, Work};
use ephor_engine::{Request, RuleOutcome};
use ephor_external::ExternalData;
use ephor_ir::mutate::ExistingObjects;
use ephor_ir::{Policy, Rule};

use super::engine::Engine;

impl Engine {
    /// Which rules of a policy have work for a controller, for a request. Passed: there is some;
    /// failed: what the rule generated before has to go.
    pub fn triggered(&self, policy: &Policy, request: &Request) -> Vec<RuleOutcome> {
        self.run_all(Phase::Trigger, policy, request).rules
    }

    /// The same for one rule; `None` = it does not match.
    pub fn triggers(&self, policy: &Policy, rule: &Rule, request: &Request) -> Option<RuleOutcome> {
        self.run(Phase::Trigger, policy, std::iter::once(rule), request).rules.pop()
    }

    /// What a rule wants to exist because of a request, and why that is not all.
    pub fn wanted(
        &self,
        policy: &Policy,
        rule: &Rule,
        request: &Request,
        present: &dyn Present,
    ) -> (Vec<WantedObject>, Option<GenerationError>) {
        let done = self.with_data(policy, &*self.external, Some(present), |context| {
            run::policy(Phase::Want, policy, std::iter::once(rule), request, context)
        });
        match done.work {
            Work::Wanted(objects, error) => (objects, error),
            Work::Nothing | Work::Targets(_) => (Vec::new(), None),
        }
    }

    /// The result of a policy whose expressions generate objects, with the objects; `None` = it
    /// does not match.
    pub fn generated(&self, policy: &Policy, request: &Request) -> Option<RuleOutcome> {
        let rules = policy.rules.iter().map(AsRef::as_ref);
        self.run(Phase::Generate, policy, rules, request).rules.pop()
    }

    /// Whether a policy matches a request, or matched it with the former object, whatever its
    /// conditions say.
    pub fn concerns(&self, policy: &Policy, request: &Request) -> bool {
        let applies = |request: &Request| policy.rules.iter().any(|rule| run::applies(rule, request));
        applies(request) || (!request.old_object.is_null() && applies(&request.of_former()))
    }

    /// Whether a policy matched the object of a deletion when it was created or updated, whatever
    /// its conditions say.
    pub fn concerned(&self, policy: &Policy, request: &Request) -> bool {
        !request.old_object.is_null()
            && ["CREATE", "UPDATE"].into_iter().any(|operation| {
                let request = request.of_former_by(operation);
                policy.rules.iter().any(|rule| run::applies(rule, &request))
            })
    }

    /// The objects that a policy of expressions changes because of a request, in addition to that
    /// of the request.
    pub fn targets(&self, policy: &Policy, rule: &Rule, request: &Request) -> Targets {
        match self.run(Phase::Select, policy, std::iter::once(rule), request).work {
            Work::Targets(targets) => targets,
            Work::Nothing | Work::Wanted(..) => Targets::None,
        }
    }

    /// The result of a policy of expressions on an object that exists; `None` = it does not select
    /// it.
    pub fn changed_existing(
        &self,
        policy: &Policy,
        existing: &ExistingObjects,
        request: &Request,
    ) -> Option<RuleOutcome> {
        self.run(Phase::Mutate, policy, std::iter::once(&*existing.rule), request).rules.pop()
    }

    /// The results of a rule on the objects that its targets name, each with the object as the rule
    /// changes it. `sources` has the objects, and the data of the rule.
    pub fn changed_targets(
        &self,
        policy: &Policy,
        rule: &Rule,
        request: &Request,
        sources: &dyn ExternalData,
    ) -> Vec<RuleOutcome> {
        self.with_data(policy, sources, None, |context| {
            run::policy(Phase::Mutate, policy, std::iter::once(rule), request, context).rules
        })
    }
}
