//! What policies do today.
//!
//! In: a policy as it is stored. Out: what it does to requests and objects, and whether its failure
//! blocks requests. Actions of rules and their overrides take precedence over those of the policy,
//! as in Kyverno 1.19.1.

use std::collections::BTreeSet;

use ephor_api::read::items;
use ephor_value::Value;

/// Something that a policy does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Act {
    /// It denies requests.
    Denies,
    /// It reports violations.
    Audits,
    /// It changes objects of requests.
    Mutates,
    /// It changes objects that exist.
    MutatesExisting,
    /// It generates objects.
    Generates,
    /// It verifies images.
    VerifiesImages,
    /// It deletes objects on a schedule.
    Deletes,
}

impl Act {
    /// The word for it.
    pub fn word(self) -> &'static str {
        match self {
            Act::Denies => "denies",
            Act::Audits => "audits",
            Act::Mutates => "mutates",
            Act::MutatesExisting => "mutates existing",
            Act::Generates => "generates",
            Act::VerifiesImages => "verifies images",
            Act::Deletes => "deletes",
        }
    }
}

/// What a policy does.
pub(super) fn of(policy: &Value) -> BTreeSet<Act> {
    let kind = policy.text_at(&["kind"]);
    match kind.strip_prefix("Namespaced").unwrap_or(kind) {
        "ClusterPolicy" | "Policy" => classic(policy),
        "ClusterCleanupPolicy" | "CleanupPolicy" | "DeletingPolicy" => [Act::Deletes].into(),
        _ if !is_on(policy, "admission", true) => [Act::Audits].into(),
        "MutatingPolicy" if is_on(policy, "mutateExisting", false) => {
            [Act::Mutates, Act::MutatesExisting].into()
        }
        "MutatingPolicy" => [Act::Mutates].into(),
        "GeneratingPolicy" => [Act::Generates].into(),
        "ImageValidatingPolicy" => validation(policy).into_iter().chain([Act::VerifiesImages]).collect(),
        _ => validation(policy),
    }
}

/// Whether a policy whose expressions are CEL is evaluated for something.
fn is_on(policy: &Value, what: &str, default: bool) -> bool {
    policy.at(&["spec", "evaluation", what, "enabled"]).and_then(Value::as_bool).unwrap_or(default)
}

fn validation(policy: &Value) -> BTreeSet<Act> {
    let actions = items(policy.at(&["spec", "validationActions"]));
    let denies = actions.is_empty() || actions.iter().any(|action| action.as_str() == Some("Deny"));
    let audits = actions.iter().any(|action| action.as_str() != Some("Deny"));
    let acts = [(denies, Act::Denies), (audits, Act::Audits)];
    acts.into_iter().filter(|(does, _)| *does).map(|(_, act)| act).collect()
}

fn classic(policy: &Value) -> BTreeSet<Act> {
    let mut acts = BTreeSet::new();
    for rule in items(policy.at(&["spec", "rules"])) {
        if has(rule, "validate") {
            acts.extend(judges(policy, rule.get("validate").unwrap_or(&Value::Null)));
        }
        for verified in items(rule.get("verifyImages")) {
            acts.insert(Act::VerifiesImages);
            acts.extend(judges(policy, verified));
        }
        if has(rule, "mutate") {
            let is_existing = !items(rule.at(&["mutate", "targets"])).is_empty();
            acts.insert(if is_existing { Act::MutatesExisting } else { Act::Mutates });
        }
        if has(rule, "generate") {
            acts.insert(Act::Generates);
        }
    }
    if policy.at(&["spec", "admission"]).and_then(Value::as_bool) == Some(false) {
        // Background scans alone evaluate it.
        let reports = [Act::Denies, Act::Audits, Act::VerifiesImages].iter().any(|act| acts.contains(act));
        return if reports { [Act::Audits].into() } else { BTreeSet::new() };
    }
    acts
}

fn has(rule: &Value, body: &str) -> bool {
    rule.get(body).and_then(Value::as_map).is_some_and(|body| !body.is_empty())
}

/// Whether violations of a rule deny requests, somewhere or everywhere, or are reported.
fn judges(policy: &Value, body: &Value) -> impl Iterator<Item = Act> {
    let of_policy = policy.text_at(&["spec", "validationFailureAction"]);
    let own = body.text_at(&["failureAction"]);
    let own_overrides = items(body.get("failureActionOverrides"));
    let overrides = match own_overrides {
        [] => items(policy.at(&["spec", "validationFailureActionOverrides"])),
        own => own,
    };
    let action = if own.is_empty() { of_policy } else { own };
    let all: Vec<&str> =
        std::iter::once(action).chain(overrides.iter().map(|o| o.text_at(&["action"]))).collect();
    let denies = |action: &&str| action.eq_ignore_ascii_case("enforce");
    let acts = [(all.iter().any(denies), Act::Denies), (!all.iter().all(denies), Act::Audits)];
    acts.into_iter().filter(|(does, _)| *does).map(|(_, act)| act)
}

/// What happens to requests when the policy cannot be evaluated: `Fail` or `Ignore`; empty for
/// policies without webhooks.
pub(super) fn failure_policy(policy: &Value) -> &str {
    let kind = policy.text_at(&["kind"]);
    if kind.contains("Cleanup") || kind.contains("Deleting") {
        return "";
    }
    let written = [
        policy.text_at(&["spec", "webhookConfiguration", "failurePolicy"]),
        policy.text_at(&["spec", "failurePolicy"]),
    ];
    written.into_iter().find(|text| !text.is_empty()).unwrap_or("Fail")
}

/// Whether its status says that it is ready; `None` = it says nothing.
pub(super) fn is_ready(policy: &Value) -> Option<bool> {
    let status = policy.get("status")?;
    if let Some(ready) = status.at(&["conditionStatus", "ready"]).and_then(Value::as_bool) {
        return Some(ready);
    }
    let ready = items(status.get("conditions")).iter().find(|c| c.text_at(&["type"]) == "Ready")?;
    Some(ready.text_at(&["status"]) == "True")
}
