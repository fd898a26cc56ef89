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
}

impl Part {
    /// How many results there are.
    pub fn results(&self) -> u64 {
        self.policies.iter().map(|(_, p)| p.rules.len() as u64).sum()
    }
}

/// Results of policies that were asked together.
#[derive(Debug, Default)]
pub struct Bundle {
    /// They.
    pub parts: Vec<Arc<Part>>,
    /// How many results of them former requests had already when they were put together.
    pub remembered: u64,
    /// What somebody made of them, for requests that share them.
    pub made: OnceLock<Box<dyn Any + Send + Sync>>,
}

impl Bundle {
    /// Of one part.
    pub fn of(part: Part) -> Bundle {
        Bundle { parts: vec![Arc::new(part)], ..Bundle::default() }
    }

    /// Adds results, if they tell anything.
    pub fn push(&mut self, part: Arc<Part>) {
        if !part.policies.is_empty() || part.passed_over {
            self.parts.push(part);
        }
    }

    /// Whether rules that may match were not asked.
    pub fn passed_over(&self) -> bool {
        self.parts.iter().any(|part| part.passed_over)
    }

    /// The results by policy, each with its position among all.
    pub fn policies(&self) -> impl Iterator<Item = &(u32, PolicyOutcome)> {
        self.parts.iter().flat_map(|part| &part.policies)
    }
}

/// The results of all policies for one request; policies without a matching rule are left out.
#[derive(Clone, Debug, Default)]
pub struct Outcomes {
    shares: Vec<Share>,
}

/// Some of the results.
#[derive(Clone, Debug)]
pub struct Share {
    /// The results.
    pub bundle: Arc<Bundle>,
    /// Whether a former request had all of them already.
    pub remembered: bool,
}

impl Outcomes {
    /// Adds results.
    pub fn push(&mut self, bundle: Arc<Bundle>, remembered: bool) {
        if bundle.policies().next().is_some() {
            self.shares.push(Share { bundle, remembered });
        }
    }

    /// The shares, each with results.
    pub fn shares(&self) -> &[Share] {
        &self.shares
    }

    /// The results by policy, in the order of the policies.
    pub fn policies(&self) -> impl Iterator<Item = &PolicyOutcome> {
        let mut all: Vec<&(u32, PolicyOutcome)> =
            self.shares.iter().flat_map(|share| share.bundle.policies()).collect();
        all.sort_by_key(|(at, _)| *at);
        all.into_iter().map(|(_, policy)| policy)
    }

    /// All results with their policies.
    pub fn results(&self) -> impl Iterator<Item = (&Policy, &RuleOutcome)> {
        self.policies().flat_map(|p| p.rules.iter().map(|r| (&*p.policy, r)))
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.shares.is_empty()
    }
}

impl From<Outcome> for Outcomes {
    fn from(outcome: Outcome) -> Outcomes {
        let mut all = Outcomes::default();
        let policies = (0..).zip(outcome.policies).collect();
        all.push(Arc::new(Bundle::of(Part { policies, passed_over: false })), false);
        all
    }
}
