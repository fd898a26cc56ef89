//! Evaluating a policy: its rules in order, for one request.

use crate::external::ExternalData;
use crate::ir::check::Check;
use crate::ir::expressions::View;
use crate::ir::facts::NamespaceScope;
use crate::ir::late::Late;
use crate::ir::rule::{Body, RuleKind};
use crate::ir::{Exception, Policy, Rule};
use crate::matching::filter::{Mode, accepts};
use crate::matching::unknown::{Missing, missing};
use crate::value::budget::{self, Excess};
use crate::value::{Str, Value};

use super::condition;
use super::data::{Data, World};
use super::expressions::Exemptions;
use super::outcome::{RuleOutcome, Status};
use super::request::Root;
use super::sorted::Sorted;
use super::trace::{self, What};
use super::validate::{self, Subject};
use super::{Profile, Request};

/// A value and the path at which it is put in.
pub type Placed = (Vec<Str>, Value);

/// What a policy is evaluated with besides the request.
#[derive(Clone, Copy)]
pub struct Surroundings<'r> {
    /// Where data comes from.
    pub sources: &'r dyn ExternalData,
    /// Lowers what is put together at run time.
    pub late: &'static dyn Late,
    /// Exceptions, in the order in which they count.
    pub exceptions: &'r [Exception],
    /// Exceptions from reviews, likewise.
    pub exemptions: Exemptions<'r>,
    /// Values to put in for each rule, by rule name: path and value.
    pub rule_values: &'r dyn Fn(&str) -> &'r [Placed],
    /// Where the command line and a cluster differ.
    pub profile: Profile,
}

/// Evaluates rules of a policy (all of its rules, or those that an index says can match) that give
/// verdicts.
pub fn policy<'p>(
    policy: &Policy,
    rules: impl Iterator<Item = &'p Rule>,
    request: &Request,
    around: Surroundings<'_>,
) -> Vec<RuleOutcome> {
    let mut out = Vec::new();
    let concern = concern(policy, request, around.profile);
    if concern == Concern::No {
        return out;
    }
    let mut matched = 0usize;
    let sorted = Sorted::default();
    for rule in rules.filter(|r| !matches!(r.kind, RuleKind::Mutation | RuleKind::Generation)) {
        if let Some(result) = unmatched(rule, request) {
            out.push(result);
            continue;
        }
        if !applies(rule, request) || !super::verify::checks(rule, request) {
            continue;
        }
        if let Concern::Unknown(text) = concern {
            return vec![undecided(rule, text)];
        }
        matched += 1;
        let later = if matched > 1 { request.later_root.as_ref().map(Root::get) } else { None };
        let (result, excess) = budget::spend(|| one(policy, rule, request, later, around, Some(&sorted)));
        if excess == Some(Excess::Time) {
            break;
        }
        if let Some(result) = settled(rule, result, excess) {
            // Most policies give one result.
            if out.is_empty() {
                out.reserve_exact(1);
            }
            out.push(result);
        }
        if policy.apply_one && out.iter().any(|o| matches!(o.status, Status::Pass | Status::Fail)) {
            break;
        }
    }
    out
}

/// The result of a rule that may have exceeded a bound: then it is an error, whatever absorbed that, unless the
/// rule failed all the same.
pub(super) fn settled(
    rule: &Rule,
    result: Option<RuleOutcome>,
    excess: Option<Excess>,
) -> Option<RuleOutcome> {
    match (excess, result) {
        (None, result) => result,
        (Some(_), Some(result)) if matches!(result.status, Status::Fail | Status::Error) => Some(result),
        (Some(excess), _) => Some(RuleOutcome::new(&rule.name, rule.kind, Status::Error, excess.text())),
    }
}

/// Whether a policy is evaluated for a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Concern {
    /// It is.
    Yes,
    /// It is for another namespace, or a match condition is false.
    No,
    /// A match condition cannot be evaluated, for this reason; the failure policy decides.
    Unknown(Str),
}

/// Whether the rules of a policy are evaluated for the request at all.
pub(super) fn concern(policy: &Policy, request: &Request, profile: Profile) -> Concern {
    if !namespace_fits(policy, request, profile) {
        return Concern::No;
    }
    if policy.admit.is_empty() {
        return Concern::Yes;
    }
    let (admits, excess) = budget::spend(|| super::expressions::admits(&policy.admit, request));
    match (excess, admits) {
        // The policy counts as one that there was no time for.
        (Some(Excess::Time), _) => Concern::No,
        (Some(Excess::Size(text)), _) => Concern::Unknown(text.into()),
        (None, Ok(true)) => Concern::Yes,
        (None, Ok(false)) => Concern::No,
        (None, Err(_)) if profile.failing_match_conditions_exempt => Concern::No,
        (None, Err(text)) => Concern::Unknown(text.into()),
    }
}

/// The result of a rule of a policy whose match conditions cannot be evaluated.
pub(super) fn undecided(rule: &Rule, text: Str) -> RuleOutcome {
    let text = format!("failed to evaluate match conditions: {text}");
    RuleOutcome::new(&rule.name, rule.kind, Status::Error, text)
}

/// Whether the policy applies to the namespace of the request.
fn namespace_fits(policy: &Policy, request: &Request, profile: Profile) -> bool {
    match &policy.scope {
        NamespaceScope::All => true,
        NamespaceScope::Requests(own) => {
            profile.namespaced_policies_apply_everywhere || *own == request.target.namespace
        }
        NamespaceScope::Objects(own) => [&request.object, &request.old_object]
            .into_iter()
            .filter(|o| !o.is_null())
            .all(|o| o.text_at(&["metadata", "namespace"]) == &**own),
    }
}

/// Whether a rule matches the request.
pub fn applies(rule: &Rule, request: &Request) -> bool {
    let target = &request.target;
    target.exists && accepts(&rule.when, target, Mode::Match) && !accepts(&rule.unless, target, Mode::Exclude)
}

/// The result of a rule of which nobody can say whether it matches, because something is not known of the request.
pub(super) fn unmatched(rule: &Rule, request: &Request) -> Option<RuleOutcome> {
    let target = &request.target;
    if !target.unknown.any() || !target.exists {
        return None;
    }
    let text = match missing(&rule.when, &rule.unless, target)? {
        Missing::NamespaceLabels => format!("namespace \"{}\" not found", target.namespace),
        Missing::Roles => {
            "failed to match by roles: the role bindings of the cluster are not known".to_owned()
        }
    };
    Some(RuleOutcome::new(&rule.name, rule.kind, Status::Error, text))
}

/// What is known of a rule that matches and whose preconditions hold before its body runs.
pub(super) struct Entered<'d> {
    /// Its properties for reports.
    pub properties: Vec<(Str, Str)>,
    /// The exceptions that apply.
    pub exceptions: Vec<&'d Exception>,
}

/// What does not change while a rule runs.
pub(super) fn world<'d, 'r: 'd>(
    policy: &'d Policy,
    rule: &Rule,
    request: &'d Request,
    around: Surroundings<'r>,
    sorted: Option<&'d Sorted>,
) -> World<'d> {
    World {
        functions: &request.functions,
        sources: around.sources,
        late: around.late,
        deleting: request.deleting(),
        images: &request.images,
        policy_namespace: policy.namespace.as_deref(),
        injected: (around.rule_values)(&rule.name),
        sorted,
        drops_unanswered: around.profile.unanswered_entries_are_dropped,
    }
}

/// Does what comes before the body of a rule that matches, on the rule's new data; a result where that
/// ends the rule.
pub(super) fn enter<'r>(
    policy: &Policy,
    rule: &Rule,
    request: &Request,
    around: Surroundings<'r>,
    data: &mut Data<'_>,
) -> Result<Entered<'r>, Box<RuleOutcome>> {
    let outcome =
        |status, message: Str| Err(Box::new(RuleOutcome::new(&rule.name, rule.kind, status, message)));
    if let Some(why) = &rule.broken {
        return outcome(Status::Error, why.clone());
    }
    data.register(&rule.bindings);
    if let Some(admit) = &rule.admit {
        match condition::evaluate(admit, data) {
            Ok(v) if v.holds => {}
            Ok(v) => return outcome(Status::Skip, not_met(&v.message)),
            Err(e) => return outcome(Status::Error, format!("failed to evaluate preconditions: {e}").into()),
        }
    }
    let properties = validate::properties(rule.properties.as_ref(), data);
    let exceptions = applying(policy, rule, request, around.exceptions, data);
    Ok(Entered { properties, exceptions })
}

/// The result of a rule that is excepted.
pub(super) fn excepted(rule: &Rule, exceptions: &[&Exception]) -> RuleOutcome {
    let keys: Vec<&str> = exceptions.iter().map(|e| &*e.key).collect();
    // The reference forgets the blank before the names.
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

fn one(
    policy: &Policy,
    rule: &Rule,
    request: &Request,
    root: Option<&Value>,
    around: Surroundings<'_>,
    sorted: Option<&Sorted>,
) -> Option<RuleOutcome> {
    trace::tell(&rule.origin, || What::Rule(rule.name.clone()));
    let outcome = |status, message: Str| RuleOutcome::new(&rule.name, rule.kind, status, message);
    if let Some(bound) = &rule.bound {
        return super::admission::offline::verdict(bound, rule, request);
    }
    if let Some(expressions) = rule.expressions.as_ref().filter(|e| e.view != View::Rule) {
        return super::expressions::run(policy, rule, expressions, request, around);
    }
    let root = root.unwrap_or_else(|| request.root.get());
    let mut data = Data::new(root, world(policy, rule, request, around, sorted));
    let Entered { properties, exceptions } = match enter(policy, rule, request, around, &mut data) {
        Ok(entered) => entered,
        Err(result) => return Some(*result),
    };
    let mut result = match &rule.body {
        Body::Validate { check: Check::PodSecurity(check), .. } => {
            super::pod_security::rule(check, rule, request, &exceptions)
        }
        _ if !exceptions.is_empty() => Some(excepted(rule, &exceptions)),
        Body::Validate { check: Check::Assert(validations), message } => {
            rule.expressions.as_ref().map(|expressions| {
                let passed = &message.passed;
                let (status, text) =
                    super::expressions::rule::run(expressions, validations, passed, request, around);
                outcome(status, text)
            })
        }
        Body::VerifyImages(checks) => {
            let (status, text) = super::verify::check(checks, policy, rule, request);
            Some(outcome(status, text.into()))
        }
        Body::Manifests(wanted) => {
            let (status, text) = super::manifests::check(wanted, request);
            Some(outcome(status, text.into()))
        }
        // These have phases of their own.
        Body::Mutate(_) | Body::Generate(_) | Body::Delete | Body::Answer(_) | Body::ValidateImages(_) => {
            None
        }
        Body::Validate { check, message } => {
            let object = request.shown();
            let subject = Subject {
                rule: &rule.name,
                message,
                object,
                scoped: false,
                deleting: request.deleting(),
                depth: 0,
            };
            validate::run(check, subject, &mut data).map(|(status, text)| outcome(status, text))
        }
    }?;
    if result.status == Status::Fail
        && tolerates_existing(policy, rule, request)
        && failed_before(policy, rule, request, around, &mut data)
    {
        result = outcome(
            Status::Skip,
            "skipping the rule evaluation as pre-existing violations are allowed".into(),
        );
    }
    Some(reported(result, properties))
}

pub(super) fn not_met(message: &str) -> Str {
    if message.is_empty() {
        "preconditions not met".into()
    } else {
        format!("preconditions not met; {message}").into()
    }
}

/// The exceptions that apply to the rule and the object. One whose conditions cannot be evaluated
/// does not apply.
pub(super) fn applying<'e>(
    policy: &Policy,
    rule: &Rule,
    request: &Request,
    exceptions: &'e [Exception],
    data: &mut Data<'_>,
) -> Vec<&'e Exception> {
    if exceptions.is_empty() {
        return Vec::new();
    }
    let key = policy.key();
    exceptions
        .iter()
        .filter(|e| e.covers(&key, &rule.name) && accepts(&e.when, &request.target, Mode::Exception))
        .filter(|e| match &e.admit {
            None => true,
            Some(admit) => condition::evaluate(admit, data).is_ok_and(|v| v.holds),
        })
        .collect()
}

/// Whether violations that the former object had too are allowed.
fn tolerates_existing(policy: &Policy, rule: &Rule, request: &Request) -> bool {
    let action = rule.action.rule.as_ref().unwrap_or(&policy.action);
    rule.action.allow_existing
        && super::action::enforces(action)
        && &*request.target.operation == "UPDATE"
        && !request.old_object.is_null()
}

/// Whether the former object, as if it were created now, fails the rule as well. The reference keeps what it has
/// loaded and filled in for the new object: images, context entries, and the patterns of the rule itself
/// (`docs/validate.md`, "Existing violations").
fn failed_before(
    policy: &Policy,
    rule: &Rule,
    request: &Request,
    around: Surroundings<'_>,
    current: &mut Data<'_>,
) -> bool {
    let former = request.former();
    if !applies(rule, &former) {
        return false;
    }
    let mut data = Data::new(former.root.get(), world(policy, rule, &former, around, None));
    data.register(&rule.bindings);
    data.adopt_loaded(current);
    match &rule.body {
        // The only check that asks for exceptions again.
        Body::Validate { check: Check::PodSecurity(check), .. } => {
            let exceptions = applying(policy, rule, &former, around.exceptions, &mut data);
            super::pod_security::rule(check, rule, &former, &exceptions)
                .is_some_and(|outcome| outcome.status == Status::Fail)
        }
        Body::Validate { check, message } => {
            let subject = Subject {
                rule: &rule.name,
                message,
                object: former.shown(),
                scoped: false,
                deleting: false,
                depth: 0,
            };
            validate::fails_on_former(check, subject, &mut data, current)
        }
        _ => false,
    }
}
