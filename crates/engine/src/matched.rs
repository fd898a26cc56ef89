//! A rule that matches a request, with what it is evaluated with, and what all rules do before
//! their body runs: preconditions, exceptions, properties.

use ephor_external::ExternalData;
use ephor_ir::admission::PolicyBinding;
use ephor_ir::late::Late;
use ephor_ir::{Exception, Policy, Rule};
use ephor_matching::filter::{Mode, accepts};
use ephor_value::{Str, Value};

use super::condition;
use super::data::{Data, World};
use super::expressions::CelExceptions;
use super::generate::Present;
use super::outcome::{RuleOutcome, Status};
use super::sorted::Sorted;
use super::validate;
use super::{Profile, Request};

/// A value and the path at which it is put in.
pub type Placed = (Vec<Str>, Value);

/// What a policy is evaluated with besides the request.
#[derive(Clone, Copy)]
pub struct EvalContext<'r> {
    /// Where data comes from.
    pub sources: &'r dyn ExternalData,
    /// Lowers what is put together at run time.
    pub late: &'static dyn Late,
    /// Exceptions, in the order in which they count.
    pub exceptions: &'r [Exception],
    /// PolicyExceptions of `policies.kyverno.io`, likewise.
    pub cel_exceptions: CelExceptions<'r>,
    /// Values to put in for each rule, by rule name: path and value.
    pub rule_values: &'r dyn Fn(&str) -> &'r [Placed],
    /// What exists, where rules say what they want to exist; `None` = what `sources` have.
    pub present: Option<&'r dyn Present>,
    /// Where the command line and a cluster differ.
    pub profile: Profile,
}

/// Whether a rule matches the request.
pub fn applies(rule: &Rule, request: &Request) -> bool {
    let target = &request.target;
    target.exists && accepts(&rule.when, target, Mode::Match) && !accepts(&rule.unless, target, Mode::Exclude)
}

/// A rule that is to be evaluated.
#[derive(Clone, Copy)]
pub(super) struct RuleCall<'p> {
    pub rule: &'p Rule,
    /// For native policies outside of a server: the binding, if there is one.
    pub binding: Option<&'p PolicyBinding>,
}

impl<'p> From<&'p Rule> for RuleCall<'p> {
    fn from(rule: &'p Rule) -> RuleCall<'p> {
        RuleCall { rule, binding: None }
    }
}

/// A rule that matches, with what it runs on.
#[derive(Clone, Copy)]
pub(super) struct MatchedRule<'d, 'r> {
    pub policy: &'d Policy,
    pub rule: &'d Rule,
    /// See [`RuleCall`].
    pub binding: Option<&'d PolicyBinding>,
    pub request: &'d Request,
    pub context: EvalContext<'r>,
    /// What rules after the first that matches see.
    pub(super) later: Option<&'d Value>,
    pub(super) sorted: Option<&'d Sorted>,
}

/// What is known of a rule that matches and whose preconditions hold before its body runs.
pub(super) struct EnteredRule<'r> {
    /// Its properties for reports.
    pub properties: Vec<(Str, Str)>,
    /// The exceptions that apply.
    pub exceptions: Vec<&'r Exception>,
}

impl<'d, 'r: 'd> MatchedRule<'d, 'r> {
    /// A result of the rule.
    pub fn result(&self, status: Status, message: impl Into<Str>) -> RuleOutcome {
        RuleOutcome::new(&self.rule.name, self.rule.kind, status, message)
    }

    /// What the rule's expressions see, when it is one of several.
    pub fn root(&self) -> &'d Value {
        self.later.unwrap_or_else(|| self.request.root.get())
    }

    /// What does not change while the rule runs.
    fn world(&self) -> World<'d> {
        World {
            functions: &self.request.functions,
            sources: self.context.sources,
            late: self.context.late,
            deleting: self.request.deleting(),
            images: &self.request.images,
            policy_namespace: self.policy.namespace.as_deref(),
            injected: (self.context.rule_values)(&self.rule.name),
            sorted: self.sorted,
            drops_unanswered: self.context.profile.unanswered_entries_are_dropped,
        }
    }

    /// The data of the rule, without what it reads.
    pub fn data(&self, root: &'d Value) -> Data<'d> {
        Data::new(root, self.world())
    }

    /// The rule on another request, with its data.
    pub fn on<'f>(&self, former: &'f Request) -> (MatchedRule<'f, 'r>, Data<'f>)
    where
        'd: 'f,
    {
        let matched = MatchedRule { request: former, later: None, sorted: None, ..*self };
        let mut data = matched.data(former.root.get());
        data.register(&self.rule.bindings);
        (matched, data)
    }

    /// Does what comes before the body, on the rule's new data; a result where that ends the rule.
    pub fn enter(&self, data: &mut Data<'_>) -> Result<EnteredRule<'r>, Box<RuleOutcome>> {
        let rule = self.rule;
        let ended = |status, message: Str| Err(Box::new(self.result(status, message)));
        if let Some(why) = &rule.broken {
            return ended(Status::Error, why.clone());
        }
        data.register(&rule.bindings);
        if let Some(admit) = &rule.admit {
            match condition::evaluate(admit, data) {
                Ok(v) if v.holds => {}
                Ok(v) => return ended(Status::Skip, not_met(&v.message)),
                Err(e) => {
                    return ended(Status::Error, format!("failed to evaluate preconditions: {e}").into());
                }
            }
        }
        let properties = validate::properties(rule.properties.as_ref(), data);
        Ok(EnteredRule { properties, exceptions: self.exceptions(data) })
    }

    /// The same for a body that no exception leaves anything of: the properties.
    pub fn enter_unexcepted(&self, data: &mut Data<'_>) -> Result<Vec<(Str, Str)>, Box<RuleOutcome>> {
        let EnteredRule { properties, exceptions } = self.enter(data)?;
        match exceptions.is_empty() {
            true => Ok(properties),
            false => Err(Box::new(reported(excepted(self.rule, &exceptions), properties))),
        }
    }

    /// The exceptions that apply to the rule and the object. One whose conditions cannot be
    /// evaluated does not apply.
    pub fn exceptions(&self, data: &mut Data<'_>) -> Vec<&'r Exception> {
        let exceptions = self.context.exceptions;
        if exceptions.is_empty() {
            return Vec::new();
        }
        let (key, target) = (self.policy.key(), &self.request.target);
        exceptions
            .iter()
            .filter(|e| e.covers(&key, &self.rule.name) && accepts(&e.when, target, Mode::Exception))
            .filter(|e| match &e.admit {
                None => true,
                Some(admit) => condition::evaluate(admit, data).is_ok_and(|v| v.holds),
            })
            .collect()
    }
}

/// The result of a rule that is excepted.
pub(super) fn excepted(rule: &Rule, exceptions: &[&Exception]) -> RuleOutcome {
    let keys: Vec<&str> = exceptions.iter().map(|e| &*e.key).collect();
    // Kyverno writes no blank before the names.
    let text = format!("rule is skipped due to policy exceptions{}", keys.join(", "));
    let mut skipped = RuleOutcome::new(&rule.name, rule.kind, Status::Skip, text);
    skipped.exceptions = exceptions.iter().map(|e| e.name.clone()).collect();
    skipped
}

/// A result with the rule's properties in front of its own.
pub(super) fn reported(mut result: RuleOutcome, properties: Vec<(Str, Str)>) -> RuleOutcome {
    if !properties.is_empty() {
        let own = std::mem::replace(&mut result.properties, properties);
        result.properties.extend(own);
    }
    result
}

/// What a rule says whose preconditions do not hold.
pub(super) fn not_met(message: &str) -> Str {
    if message.is_empty() {
        "preconditions not met".into()
    } else {
        format!("preconditions not met; {message}").into()
    }
}
