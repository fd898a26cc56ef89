//! Policies in audit mode that may replace others, compared with these on each request.
//!
//! In: policies with the annotation `ephor.dev/shadow-of`, which names a ClusterPolicy or Policy as
//! `NAME` or `NAMESPACE/NAME`; a request that the path of that policy gets. Out: for each pair that
//! applies to the request a [`Compared`]: whether both are violated, or which one is. Exceptions
//! count on both sides, failure actions do not.

use std::sync::Arc;

use ephor_engine::Status;
use ephor_ir::Policy;
use ephor_ir::facts::Stage;
use ephor_ir::policy::SHADOW_OF;
use ephor_policies::policy_set::outcomes::Outcomes;
use ephor_policies::policy_set::verdicts::{Limits, PreparedRequest};
use ephor_value::Value;

use super::decision::Deadline;
use super::gate::Gate;
use super::needs;
use super::route::{Phase, Route};

/// A policy and those that may replace it.
#[derive(Debug)]
pub(super) struct Pair {
    original: Arc<Policy>,
    shadows: Vec<Arc<Policy>>,
}

/// How decisions of shadows are related to those of the original.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Relation {
    /// Both are violated, or none is.
    Same,
    /// Only the original is violated.
    Weaker,
    /// Only the shadow is violated.
    Stricter,
}

impl Relation {
    /// The word for it.
    pub fn name(self) -> &'static str {
        match self {
            Relation::Same => "same",
            Relation::Weaker => "weaker",
            Relation::Stricter => "stricter",
        }
    }
}

/// What a policy and its shadow say of a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Compared {
    /// The original: `NAME` or `NAMESPACE/NAME`.
    pub policy: String,
    /// How both are related.
    pub relation: Relation,
    /// What is violated: rules as `POLICY/RULE`, policies in CEL by name.
    pub violated: Vec<String>,
}

/// The policies with shadows.
pub(super) fn pairs(policies: &[Arc<Policy>]) -> Vec<Pair> {
    let named = |policy: &Policy| policy.annotations.get(SHADOW_OF).and_then(Value::as_str).map(String::from);
    let originals = policies.iter().filter(|policy| policy.stage == Stage::Rules);
    let pair = |original: &Arc<Policy>| {
        let key = original.key();
        let is_shadow =
            |policy: &&Arc<Policy>| policy.stage != Stage::Rules && named(policy).as_deref() == Some(&*key);
        let shadows: Vec<Arc<Policy>> = policies.iter().filter(is_shadow).cloned().collect();
        (!shadows.is_empty()).then(|| Pair { original: original.clone(), shadows })
    };
    originals.filter_map(pair).collect()
}

impl Gate {
    /// Whether policies that a path selects have shadows.
    pub fn has_shadows(&self, route: &Route) -> bool {
        route.phase == Phase::Validate && self.shadows().iter().any(|pair| route.selects(&pair.original))
    }

    /// What policies that a path selects and their shadows say of a request.
    pub fn compare_shadows(
        &self,
        route: &Route,
        prepared: &PreparedRequest,
        deadline: &Deadline,
    ) -> Vec<Compared> {
        let pairs = self.shadows().iter().filter(|pair| route.selects(&pair.original));
        pairs.filter_map(|pair| self.compared(pair, prepared, deadline)).collect()
    }

    fn compared(&self, pair: &Pair, prepared: &PreparedRequest, deadline: &Deadline) -> Option<Compared> {
        let old = self.outcomes_of(std::slice::from_ref(&pair.original), prepared, deadline)?;
        let new = self.outcomes_of(&pair.shadows, prepared, deadline)?;
        if old.is_empty() && new.is_empty() {
            return None;
        }
        let (by_old, by_new) = (violated(&old), violated(&new));
        let relation = match (by_old.is_empty(), by_new.is_empty()) {
            (false, true) => Relation::Weaker,
            (true, false) => Relation::Stricter,
            _ => Relation::Same,
        };
        let violated = by_old.into_iter().chain(by_new).collect();
        Some(Compared { policy: pair.original.key(), relation, violated })
    }

    /// The results of some policies; `None` when there was no time for one.
    fn outcomes_of(
        &self,
        policies: &[Arc<Policy>],
        prepared: &PreparedRequest,
        deadline: &Deadline,
    ) -> Option<Outcomes> {
        let is_one = |p: &Policy| {
            let is_it = |other: &Arc<Policy>| {
                (&other.short_name, &other.namespace, &other.name) == (&p.short_name, &p.namespace, &p.name)
            };
            self.serves(p) && policies.iter().any(is_it) && needs::is_found_for(p, &prepared.request.target)
        };
        let limits = Limits {
            policies: &is_one,
            rules: &|_, _| true,
            has_time: &|| !deadline.is_over(),
            stops: &|_, _| false,
            name: None,
        };
        let done = deadline.within(|| self.engine().verdicts(prepared, &limits));
        done.left.is_empty().then_some(done.outcomes)
    }
}

/// What is violated.
fn violated(outcomes: &Outcomes) -> Vec<String> {
    let results = outcomes.results().filter(|(_, rule)| matches!(rule.status, Status::Fail | Status::Error));
    let named = |(policy, rule): (&Policy, &ephor_engine::RuleOutcome)| match policy.stage {
        Stage::Rules => format!("{}/{}", policy.key(), rule.rule),
        _ => policy.key(),
    };
    let mut out: Vec<String> = results.map(named).collect();
    out.dedup();
    out
}
