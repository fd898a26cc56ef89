//! A side of a comparison: policies that are evaluated together.

use std::sync::Arc;

use crate::engine::request::{Parts, UserParts, namespace_of_labels};
use crate::engine::{Profile, Request, Status};
use crate::ir::Policy;
use crate::ir::rule::Body;
use crate::policies::load::Policies;
use crate::policies::policy_set::{Engine, PolicySet};
use crate::value::{Map, Str, Value};

use super::environment::Environment;

/// What a set of policies says of a request: the gravest of its results.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Verdict {
    /// No rule applies, or those that do are skipped.
    #[default]
    Skip,
    /// Rules apply, and all of them are satisfied.
    Pass,
    /// A rule cannot be evaluated, none is violated.
    Error,
    /// A rule is violated.
    Fail,
}

impl Verdict {
    /// Whether a policy that enforces denies the request.
    pub fn is_violation(self) -> bool {
        self >= Verdict::Error
    }

    /// The word for it.
    pub fn name(self) -> &'static str {
        match self {
            Verdict::Skip => "skip",
            Verdict::Pass => "pass",
            Verdict::Error => "error",
            Verdict::Fail => "fail",
        }
    }

    fn of(status: Status) -> Verdict {
        match status {
            Status::Skip => Verdict::Skip,
            Status::Pass => Verdict::Pass,
            Status::Error => Verdict::Error,
            Status::Fail | Status::Warn => Verdict::Fail,
        }
    }
}

/// What a side says of a request.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Judgement {
    /// The gravest result.
    pub verdict: Verdict,
    /// The rule that gave it: policy and rule.
    pub by: Option<(Str, Str)>,
    /// Its message.
    pub message: Str,
}

/// Why policies cannot be compared.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SideError {
    /// There is none.
    #[error("{place}: no policy")]
    NoPolicy {
        /// Where it was looked for.
        place: String,
    },
    /// One cannot be used.
    #[error("{0}")]
    Unusable(String),
}

/// Policies that are evaluated together, as a cluster would.
pub struct Side {
    pub(crate) engine: Engine,
}

impl Side {
    /// The policies of a load. Admission policies of Kubernetes have the bindings that come with them; without any, all they
    /// select is checked.
    ///
    /// # Errors
    /// There is no policy, or one that cannot be used: what would be left out must not count as equal.
    pub fn new(mut loaded: Policies, place: &str) -> Result<Side, SideError> {
        if let Some(problem) = loaded.problems.iter().find(|problem| !problem.foreign) {
            return Err(SideError::Unusable(problem.to_string()));
        }
        for policy in &loaded.policies {
            if let Some(why) = policy.refused.as_ref().or(policy.uncompiled.as_ref()) {
                let text = format!("{}:{}: policy {}: {why}", policy.source, policy.line, policy.name);
                return Err(SideError::Unusable(text));
            }
        }
        loaded.bind(Vec::new());
        let policies: Vec<Arc<Policy>> = loaded.policies.into_iter().filter_map(|p| p.policy).collect();
        if policies.is_empty() {
            return Err(SideError::NoPolicy { place: place.into() });
        }
        let set = PolicySet::new(policies, loaded.exceptions).with_cel_exceptions(loaded.cel_exceptions);
        Ok(Side { engine: Engine::new(set).with_profile(Profile::cluster()) })
    }

    /// The policies.
    pub fn policies(&self) -> &[Arc<Policy>] {
        self.engine.set().policies()
    }

    /// What the policies say of a request.
    pub fn judge(&self, request: &Request) -> Judgement {
        judge(&self.engine, request)
    }

    /// Whether a rule allows updates of objects that are violations already.
    pub(crate) fn allows_existing(&self) -> bool {
        let rules = || self.policies().iter().flat_map(|policy| policy.all_rules());
        rules().any(|rule| rule.action.allow_existing)
    }

    /// A construct that only sampling compares: what changes or generates objects.
    pub(crate) fn unsupported(&self) -> Option<String> {
        self.policies().iter().find_map(|policy| {
            policy.all_rules().find_map(|rule| match &rule.body {
                Body::Validate { .. } => None,
                _ => Some(format!("policy {}: rule {} is no rule that validates", policy.name, rule.name)),
            })
        })
    }
}

/// The gravest result of an engine's policies; of equally grave ones the first.
pub(crate) fn judge(engine: &Engine, request: &Request) -> Judgement {
    let mut worst = Judgement::default();
    for (policy, result) in engine.evaluate(request).results() {
        let verdict = Verdict::of(result.status);
        if worst.by.is_none() || verdict > worst.verdict {
            let by = Some((policy.name.clone(), result.rule.clone()));
            worst = Judgement { verdict, by, message: result.message.clone() };
        }
    }
    worst
}

/// A request in an environment; `None` when it cannot be built.
pub(crate) fn request(environment: &Environment, case: &Case) -> Option<Request> {
    let namespace = case.object.text_at(&["metadata", "namespace"]);
    let parts = Parts {
        object: case.object.clone(),
        old_object: case.old.clone(),
        operation: environment.operation.into(),
        namespace: match namespace {
            "" => Value::Null,
            name => namespace_of_labels(name, labels_of(name)),
        },
        user: Some(UserParts {
            info: Value::map([
                ("username", Value::from("developer")),
                ("groups", Value::list(vec![Value::from("system:authenticated")])),
            ]),
            ..UserParts::default()
        }),
        ..Parts::default()
    };
    Request::new(parts, Profile::cluster(), &Default::default()).ok()
}

/// The label that every namespace has.
fn labels_of(name: &str) -> Map {
    let mut labels = Map::new();
    labels.insert("kubernetes.io/metadata.name", Value::from(name));
    labels
}

/// The objects of a request.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Case {
    /// The object; the one that goes away in deletions.
    pub object: Value,
    /// The former object of an update; `None` = a copy.
    pub old: Option<Value>,
}
