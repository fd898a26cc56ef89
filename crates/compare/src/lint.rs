//! What a policy never does, always does, or does in error.
//!
//! In: a load of policies. Out: [`Remark`]s about each of them. Each question is a comparison: a
//! rule that never denies is equal to no rule, one that always denies to a rule without a check,
//! and a rule or condition is redundant when the policy without it is equal to the policy. Only
//! what is proved is a remark; policies that mutate, generate or verify have none. Errors are those
//! of the objects that these comparisons evaluate.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use ephor_engine::{Profile, Request, Status};
use ephor_ir::check::Check;
use ephor_ir::expressions::Expressions;
use ephor_ir::rule::Body;
use ephor_ir::sharing::Sharing;
use ephor_ir::{Conditions, Expr, Policy, Rule};
use ephor_policies::load::Policies;
use ephor_policies::policy_set::{Engine, PolicySet};
use ephor_value::place::{Path, parse};
use ephor_value::{Str, Value, parallel};

use crate::admitted::view::{AdmittedView, seen_in_clusters};
use crate::compare::{compare, compare_observed};
use crate::model::answer::{Answer, Universe};
use crate::model::environment::Environment;
use crate::model::limits::MAX_LINT_PARTS;
use crate::model::observer::Observer;
use crate::model::options::Options;
use crate::model::question::{EQUIVALENT, IMPLIES, Question};
use crate::model::request::{Case, RequestContext, request};
use crate::search::findings::size;
use crate::search::shrink::shrink;
use crate::sides::side::{Side, SideError};
use crate::trace::written;

/// What a remark says.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum RemarkKind {
    /// A rule cannot be evaluated on an object.
    MayError,
    /// No request is matched.
    MatchesNothing,
    /// Every request is allowed.
    NeverDenies,
    /// Every request that is matched is denied.
    AlwaysDenies,
    /// Other rules deny everything that a rule denies.
    RedundantRule,
    /// A condition or validation changes nothing.
    RedundantCondition,
}

/// Something about a policy.
#[derive(Clone, Debug)]
pub struct Remark {
    /// What it says.
    pub kind: RemarkKind,
    /// The policy, as [`Policy::id`].
    pub policy: String,
    /// The rule; empty for the policy as a whole, and where rules have no names.
    pub rule: Str,
    /// Where it is written.
    pub path: Path,
    /// The message of an error.
    pub message: Str,
    /// The smallest object that shows it, and where that object can exist.
    pub shown_by: Option<(Environment, Value, Universe)>,
}

/// The remarks about each policy of a load.
///
/// # Errors
/// Policies cannot be used.
pub fn remarks(load: &Policies, options: Options) -> Result<Vec<Remark>, SideError> {
    let side = Side::new(load.clone(), "policies")?;
    let of_policy = |policy: &Arc<Policy>| {
        let subject = LintedSide { policy, side: &side, options };
        let mut all = Vec::new();
        let alone = subject.with(policy);
        if alone.unsupported().is_none() && !alone.changes() {
            subject.remarks(&mut all);
        }
        all
    };
    Ok(parallel::map(side.policies(), of_policy).into_iter().flatten().collect())
}

struct LintedSide<'s> {
    policy: &'s Arc<Policy>,
    side: &'s Side,
    options: Options,
}

impl LintedSide<'_> {
    fn remarks(&self, all: &mut Vec<Remark>) {
        let whole = self.with(self.policy);
        self.errors(&whole, all);
        let rules = self.written();
        let at_rule = |kind, rule: &Rule| self.remark(kind, rule, written(rule));
        let mut denying: Vec<&Rule> = Vec::new();
        let mut found = Vec::new();
        for rule in &rules {
            let own = self.variant(|other| is_of(other, rule).then(|| other.clone()));
            let alone = self.with(&own);
            let against = compare(&alone, &nothing(), self.proof_only(IMPLIES));
            match &against.answer {
                Answer::Proved if against.differences.is_empty() => {
                    let matched = self.denying_all(rule).map(|all| self.allows_all(&all));
                    let kind = match matched {
                        Some(true) => RemarkKind::MatchesNothing,
                        _ => RemarkKind::NeverDenies,
                    };
                    found.push(at_rule(kind, rule));
                }
                _ => {
                    denying.push(rule);
                    if self.always_denies(rule, &alone) {
                        found.push(at_rule(RemarkKind::AlwaysDenies, rule));
                    }
                }
            }
        }
        all.extend(found);
        // Where the first result ends a policy, rules have effects on those after them.
        if denying.len() > 1 && !self.policy.apply_one {
            for rule in denying.iter().take(MAX_LINT_PARTS) {
                let without = self.variant(|other| (!is_of(other, rule)).then(|| other.clone()));
                if self.is_equal(&without, &whole) {
                    all.push(at_rule(RemarkKind::RedundantRule, rule));
                }
            }
        }
        for rule in &denying {
            for (part, path) in parts(rule).into_iter().take(MAX_LINT_PARTS) {
                let without = self.variant(|other| match is_of(other, rule) {
                    true => part.left_out(other),
                    false => Some(other.clone()),
                });
                if self.is_equal(&without, &whole) {
                    all.push(self.remark(RemarkKind::RedundantCondition, rule, path));
                }
            }
        }
    }

    /// The rule with a check that denies all that it matches.
    fn denying_all(&self, rule: &Rule) -> Option<Policy> {
        let Body::Validate { message, check } = &rule.body else { return None };
        let always = match check {
            // An expression in place of others: what stands around it is evaluated as before.
            Check::Assert(validations) => {
                let mut never = validations.first()?.clone();
                never.check.program = Ok(Expr::Const(Value::Bool(false)));
                never.check.sharing = Sharing::default();
                Check::Assert(Box::new([never]))
            }
            _ if rule.expressions.is_some() => return None,
            _ => Check::Deny(Conditions {
                origin: rule.origin.clone(),
                any: None,
                all: Box::default(),
                flat: false,
            }),
        };
        let body = Body::Validate { check: always, message: message.clone() };
        let of = |other: &Rule| is_of(other, rule).then(|| Rule { body: body.clone(), ..other.clone() });
        Some(self.variant(of))
    }

    /// Whether a rule denies all that it matches, which is more than a rule without conditions
    /// says.
    fn always_denies(&self, rule: &Rule, alone: &Side) -> bool {
        if let Body::Validate { check: Check::Deny(conditions), .. } = &rule.body
            && conditions.any.is_none()
            && conditions.all.is_empty()
        {
            return false;
        }
        let Some(denies_all) = self.denying_all(rule) else { return false };
        let found = compare(&self.with(&denies_all), alone, self.proof_only(IMPLIES));
        found.answer == Answer::Proved && found.differences.is_empty() && !self.allows_all(&denies_all)
    }

    /// How it is compared where nothing but a proof counts.
    fn proof_only(&self, question: Question) -> Options {
        Options { question, proof_only: true, ..self.options }
    }

    fn allows_all(&self, policy: &Policy) -> bool {
        let found = compare(&self.with(policy), &nothing(), self.proof_only(IMPLIES));
        found.answer == Answer::Proved && found.differences.is_empty()
    }

    fn is_equal(&self, policy: &Policy, whole: &Side) -> bool {
        let found = compare(&self.with(policy), whole, self.proof_only(EQUIVALENT));
        found.answer == Answer::Proved && found.differences.is_empty()
    }

    /// The errors that comparing it with nothing meets, the smallest object of each rule.
    fn errors(&self, whole: &Side, all: &mut Vec<Remark>) {
        let errors = Errors { side: whole, found: Mutex::default() };
        compare_observed(whole, &nothing(), Options { question: IMPLIES, ..self.options }, Some(&errors));
        let found = std::mem::take(&mut *errors.found.lock().unwrap_or_else(PoisonError::into_inner));
        for (name, (universe, _, environment, case)) in found {
            let mut shows = |object: &Value| {
                let case = case.with_object(object.clone());
                !object.text_at(&["metadata", "name"]).is_empty()
                    && errors.universe(&environment, &case, &name) == Some(universe)
            };
            let object = shrink(&case.object, &mut shows);
            let smallest = case.with_object(object.clone());
            let message = errors.of(&environment, &smallest, &name).unwrap_or_default();
            let rules = self.policy.rules_for(&environment.resource.kind);
            let rule = rules.iter().find(|rule| rule.name == name);
            let Some(rule) = rule.or_else(|| rules.first()) else { continue };
            all.push(Remark {
                message,
                shown_by: Some((environment, object, universe)),
                ..self.remark(RemarkKind::MayError, rule, written(rule))
            });
        }
    }

    fn remark(&self, kind: RemarkKind, rule: &Rule, path: Path) -> Remark {
        Remark {
            kind,
            policy: self.policy.id(),
            rule: if self.policy.report.names_rules { rule.name.clone() } else { Str::default() },
            path: if path.is_empty() { parse("metadata.name") } else { path },
            message: Str::default(),
            shown_by: None,
        }
    }

    /// The rules that are written, not generated.
    fn written(&self) -> Vec<Arc<Rule>> {
        let mut all: Vec<Arc<Rule>> = Vec::new();
        for rule in self.policy.all_rules().filter(|rule| rule.generated.is_none()) {
            if !all.iter().any(|known| is_of(known, rule)) {
                all.push(rule.clone());
            }
        }
        all
    }

    /// The policy with other rules.
    fn variant(&self, of: impl Fn(&Rule) -> Option<Rule>) -> Policy {
        let each = |rules: &[Arc<Rule>]| -> Arc<[Arc<Rule>]> {
            rules.iter().filter_map(|rule| of(rule)).map(Arc::new).collect()
        };
        let mut policy = (**self.policy).clone();
        policy.rules = each(&policy.rules);
        for own in &mut policy.by_kind {
            own.rules = each(&own.rules);
        }
        policy.rule_count = policy.all_rules().count();
        policy
    }

    fn with(&self, policy: &Policy) -> Side {
        let set = self.side.engine.set();
        of_set(
            PolicySet::new(vec![Arc::new(policy.clone())], set.exceptions().to_vec())
                .with_cel_exceptions(set.cel_exceptions().to_vec()),
        )
    }
}

/// A side that allows everything.
fn nothing() -> Side {
    of_set(PolicySet::new(Vec::new(), Vec::new()))
}

fn of_set(set: PolicySet) -> Side {
    Side::of_engine(Engine::new(set).with_profile(Profile::cluster()))
}

/// Whether two rules are one that is written, or generated from it.
fn is_of(rule: &Rule, written: &Rule) -> bool {
    rule.origin.path == written.origin.path
}

/// A part of a rule that can be left out, by its position.
#[derive(Clone, Copy, Debug)]
enum PolicyPart {
    /// An item of `preconditions.any`.
    AdmitAny(usize),
    /// An item of `preconditions.all`.
    AdmitAll(usize),
    /// An item of `deny.conditions.any`.
    DenyAny(usize),
    /// An item of `deny.conditions.all`.
    DenyAll(usize),
    /// A match condition.
    Match(usize),
    /// A validation.
    Validation(usize),
}

/// The parts of a rule, with their places.
fn parts(rule: &Rule) -> Vec<(PolicyPart, Path)> {
    let mut out = Vec::new();
    let mut of_conditions =
        |conditions: &Conditions, any: fn(usize) -> PolicyPart, all: fn(usize) -> PolicyPart| {
            let some = conditions.any.iter().flat_map(|list| list.iter()).enumerate();
            out.extend(some.map(|(at, one)| (any(at), one.origin.below(&[]))));
            out.extend(conditions.all.iter().enumerate().map(|(at, one)| (all(at), one.origin.below(&[]))));
        };
    if let Some(conditions) = &rule.admit {
        of_conditions(conditions, PolicyPart::AdmitAny, PolicyPart::AdmitAll);
    }
    match &rule.body {
        Body::Validate { check: Check::Deny(conditions), .. } => {
            of_conditions(conditions, PolicyPart::DenyAny, PolicyPart::DenyAll);
        }
        Body::Validate { check: Check::Assert(validations), .. } if validations.len() > 1 => {
            let each = validations.iter().enumerate();
            out.extend(each.map(|(at, one)| (PolicyPart::Validation(at), one.check.origin.below(&[]))));
        }
        _ => {}
    }
    if let Some(expressions) = &rule.expressions {
        let each = expressions.conditions.iter().enumerate();
        out.extend(each.map(|(at, one)| (PolicyPart::Match(at), one.origin.below(&[]))));
    }
    out
}

impl PolicyPart {
    /// A rule without it; `None` leaves the rule out.
    fn left_out(self, rule: &Rule) -> Option<Rule> {
        let mut rule = rule.clone();
        match (self, &mut rule.body) {
            (PolicyPart::AdmitAny(at), _) => without_any(rule.admit.as_mut()?, at),
            (PolicyPart::AdmitAll(at), _) => {
                rule.admit.as_mut()?.all = without(&rule.admit.as_ref()?.all, at)
            }
            (PolicyPart::DenyAny(at), Body::Validate { check: Check::Deny(conditions), .. }) => {
                without_any(conditions, at);
            }
            (PolicyPart::DenyAll(at), Body::Validate { check: Check::Deny(conditions), .. }) => {
                conditions.all = without(&conditions.all, at);
            }
            (PolicyPart::Validation(at), Body::Validate { check: Check::Assert(validations), .. }) => {
                *validations = without(validations, at);
            }
            (PolicyPart::Match(at), _) => {
                let expressions: &Expressions = rule.expressions.as_ref()?;
                let conditions = without(&expressions.conditions, at);
                rule.expressions = Some(Arc::new(Expressions { conditions, ..expressions.clone() }));
            }
            _ => {}
        }
        Some(rule)
    }
}

/// Without one of several of which one must hold; without the only one nothing must hold.
fn without_any(conditions: &mut Conditions, at: usize) {
    conditions.any = conditions.any.as_ref().map(|list| without(list, at)).filter(|list| !list.is_empty());
}

fn without<T: Clone>(list: &[T], at: usize) -> Box<[T]> {
    list.iter().enumerate().filter(|(i, _)| *i != at).map(|(_, item)| item.clone()).collect()
}

/// The errors of a side on the objects that a comparison evaluates.
struct Errors<'s> {
    side: &'s Side,
    /// By rule the smallest object, those in clusters first.
    found: Mutex<BTreeMap<Str, (Universe, usize, Environment, Case)>>,
}

impl Errors<'_> {
    /// The message of a rule's error.
    fn of(&self, environment: &Environment, case: &Case, rule: &str) -> Option<Str> {
        let request = self.request(environment, case)?;
        let outcome = self.side.engine.evaluate(&request);
        let found =
            outcome.results().find(|(_, result)| result.status == Status::Error && *result.rule == *rule);
        found.map(|(_, result)| result.message.clone())
    }

    /// The request of a case; none for operations that an API server does not send to the policy,
    /// whatever is evaluated outside of one.
    fn request(&self, environment: &Environment, case: &Case) -> Option<Request> {
        let rules = self.side.policies().iter().flat_map(|policy| policy.all_rules());
        let mut constraints = rules
            .filter_map(|rule| rule.bound.as_ref()?.constraints.as_ref())
            .flat_map(|own| &own.rules)
            .peekable();
        let is_bound = constraints.peek().is_some();
        let is_sent = constraints.any(|rule| rule.operations.has(environment.operation));
        (is_sent || !is_bound).then(|| request(environment, case)).flatten()
    }

    /// Where an object exists so that a rule's evaluation ends in an error.
    fn universe(&self, environment: &Environment, case: &Case, rule: &str) -> Option<Universe> {
        self.of(environment, case, rule)?;
        Some(match seen_in_clusters(environment, case) {
            AdmittedView::Unknown => Universe::Any,
            AdmittedView::MissingField(_) | AdmittedView::InvalidText | AdmittedView::Refused(_) => {
                Universe::Files
            }
            AdmittedView::Admitted(seen) => match self.of(environment, &seen, rule) {
                Some(_) => Universe::Cluster,
                None => Universe::Files,
            },
        })
    }
}

impl Observer for Errors<'_> {
    fn evaluated(
        &self,
        environment: &Environment,
        object: &Value,
        old: Option<&Value>,
        around: &Arc<RequestContext>,
    ) {
        let case = Case { object: object.clone(), old: old.cloned(), around: Arc::clone(around) };
        let Some(request) = self.request(environment, &case) else { return };
        let outcome = self.side.engine.evaluate(&request);
        let failed = outcome.results().filter(|(_, result)| result.status == Status::Error);
        for rule in failed.map(|(_, result)| result.rule.clone()) {
            let Some(universe) = self.universe(environment, &case, &rule) else { continue };
            let key = (universe, size(object));
            let mut found = self.found.lock().unwrap_or_else(PoisonError::into_inner);
            if found.get(&rule).is_none_or(|known| key < (known.0, known.1)) {
                found.insert(rule, (key.0, key.1, environment.clone(), case.clone()));
            }
        }
    }
}
