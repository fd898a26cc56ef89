//! Results of policies in parts that may be shared with other requests.

use std::any::Any;
use std::sync::{Arc, OnceLock};

use crate::engine::RuleOutcome;
use crate::ir::Policy;

use super::{Outcome, PolicyOutcome};

/// Results of some policies, each with its position among all.
#[derive(Debug, Default)]
pub struct Part {
    /// In order.
    pub policies: Vec<(u32, PolicyOutcome)>,
    /// Whether rules that may match were not asked.
    pub passed_over: bool,
    /// What somebody made of them, for requests that share them.
    pub made: OnceLock<Box<dyn Any + Send + Sync>>,
}

/// The results of all policies for one request; policies without a matching rule are left out.
#[derive(Clone, Debug, Default)]
pub struct Outcomes {
    parts: Vec<Share>,
}

/// A part of the results.
#[derive(Clone, Debug)]
pub struct Share {
    /// The results.
    pub part: Arc<Part>,
    /// Whether a former request had them already.
    pub remembered: bool,
}

impl Outcomes {
    /// Adds results.
    pub fn push(&mut self, part: Arc<Part>, remembered: bool) {
        if !part.policies.is_empty() {
            self.parts.push(Share { part, remembered });
        }
    }

    /// The parts, each with results.
    pub fn parts(&self) -> &[Share] {
        &self.parts
    }

    /// The results by policy, in the order of the policies.
    pub fn policies(&self) -> impl Iterator<Item = &PolicyOutcome> {
        let mut all: Vec<&(u32, PolicyOutcome)> = self.parts.iter().flat_map(|s| &s.part.policies).collect();
        if self.parts.len() > 1 {
            all.sort_by_key(|(at, _)| *at);
        }
        all.into_iter().map(|(_, policy)| policy)
    }

    /// All results with their policies.
    pub fn results(&self) -> impl Iterator<Item = (&Policy, &RuleOutcome)> {
        self.policies().flat_map(|p| p.rules.iter().map(|r| (&*p.policy, r)))
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.parts.is_empty()
    }
}

impl From<Outcome> for Outcomes {
    fn from(outcome: Outcome) -> Outcomes {
        let mut all = Outcomes::default();
        let policies = (0..).zip(outcome.policies).collect();
        all.push(Arc::new(Part { policies, ..Part::default() }), false);
        all
    }
}
