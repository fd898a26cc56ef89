//! What policies say about a request.

use std::fmt;
use std::sync::Arc;

use ephor_document::locate;
use ephor_engine::{Effect, action};
pub use ephor_policies::Severity;
use ephor_policies::policy_set;
use ephor_policies::violation::{self, Violation};
use ephor_value::Value;
use ephor_value::place::{Path, dotted};

use crate::{Request, Status};

/// What a failed rule does to the request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Action {
    /// The request is denied.
    Enforce,
    /// The request is allowed and the violation reported.
    Audit,
}

/// A field of the object.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Field {
    /// Its path, `spec.containers[0].image`.
    pub path: String,
    /// Its line in the file, from 1, where the object was read from a text. Of a field that is
    /// missing the line of the nearest field around it.
    pub line: Option<usize>,
    /// Its column, from 1.
    pub column: Option<usize>,
}

impl fmt::Display for Field {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.path)
    }
}

/// The result of one rule on the request.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct RuleResult {
    /// The name of the policy, `namespace/name` of one in a namespace.
    pub policy: String,
    /// Its kind.
    pub policy_kind: String,
    /// The rule; empty for policies whose rules have no names.
    pub rule: String,
    /// The status.
    pub status: Status,
    /// The message, as Kyverno 1.19.1 or kube-apiserver 1.36.3 words it.
    pub message: String,
    /// How much a violation matters, where the policy says so.
    pub severity: Option<Severity>,
    /// What the policy is about (`policies.kyverno.io/category`).
    pub category: Option<String>,
    /// What a violation does to the request.
    pub action: Action,
    /// The field that decided, of rules that fail or cannot be evaluated.
    pub field: Option<Field>,
    /// The names of the exceptions that made the rule skip.
    pub exceptions: Vec<String>,
    /// The objects that the rule generated.
    pub generated: Vec<Value>,
}

/// What all policies say about a request; rules that do not match it say nothing.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct Outcome {
    /// The results, in the order of the policies and their rules.
    pub results: Vec<RuleResult>,
    /// The object after all mutate rules, when they changed it.
    pub object: Option<Value>,
}

impl Outcome {
    /// The results of rules that are violated, or could not be evaluated.
    pub fn violations(&self) -> impl Iterator<Item = &RuleResult> {
        self.results.iter().filter(|r| r.status.is_violation())
    }

    /// Whether an API server would deny the request: a rule that is enforced is violated.
    pub fn is_denied(&self) -> bool {
        self.violations().any(|r| r.action == Action::Enforce)
    }
}

/// Puts the results together with what the policies say of themselves, and with the fields that
/// decided.
pub(crate) fn of(
    engine: &policy_set::Engine,
    prepared: &ephor_engine::Request,
    request: &Request,
    outcome: policy_set::Outcome,
) -> Outcome {
    let mut results = Vec::new();
    for found in &outcome.policies {
        let policy = &found.policy;
        let is_violated = found.rules.iter().any(|r| r.status.is_violation());
        let at = || engine.set().policies().iter().position(|p| Arc::ptr_eq(p, policy));
        let fields = match is_violated.then(at).flatten() {
            Some(at) => violation::violations(engine, at, prepared),
            None => Vec::new(),
        };
        let annotation = |key: &str| policy.annotations.get(key).and_then(Value::as_str);
        for result in &found.rules {
            let rule = policy.rules_for(&prepared.target.kind).iter().find(|rule| rule.name == result.rule);
            let enforced =
                action::enforces(action::effective(policy, rule.map(AsRef::as_ref), &prepared.target));
            let is_own = |v: &&Violation| result.status.is_violation() && v.rule == result.rule;
            let path = fields.iter().find(is_own).and_then(|v| v.field.as_ref());
            let generated = match result.effect.as_deref() {
                Some(Effect::Generated(objects)) => objects.clone(),
                _ => Vec::new(),
            };
            results.push(RuleResult {
                policy: policy.key(),
                policy_kind: policy.api.kind.to_string(),
                rule: result.rule.to_string(),
                status: result.status,
                message: result.message.to_string(),
                severity: annotation("policies.kyverno.io/severity").and_then(Severity::of),
                category: annotation("policies.kyverno.io/category").map(str::to_owned),
                action: if enforced { Action::Enforce } else { Action::Audit },
                field: path.map(|path| field(path, request)),
                exceptions: result.exceptions.iter().map(ToString::to_string).collect(),
                generated,
            });
        }
    }
    Outcome { results, object: outcome.object.filter(|o| !matches!(o, Value::Null)) }
}

fn field(path: &Path, request: &Request) -> Field {
    let position = request.document.as_ref().and_then(|document| {
        let found = (0..=path.len()).rev().find_map(|n| locate::locate(&document.text, path.get(..n)?))?;
        Some((document.line + found.line.saturating_sub(1), found.col))
    });
    Field { path: dotted(path), line: position.map(|p| p.0), column: position.map(|p| p.1) }
}
