//! Results of policies in parts that may be shared with other requests.

use std::any::Any;
use std::sync::{Arc, OnceLock};

use crate::engine::RuleOutcome;
use crate::engine::outcome::Effect;
use crate::ir::Policy;

use super::results::{Outcome, PolicyOutcome};

/// What an allocation costs besides its contents, and an entry that leads to it.
const ALLOCATION: usize = 32;

/// Results of some policies, each with its position among all.
#[derive(Debug, Default)]
pub struct Part {
    /// In order.
    pub policies: Vec<(u32, PolicyOutcome)>,
    /// Whether rules that may match were skipped.
    pub is_partial: bool,
}

impl Part {
    /// How many results there are.
    pub fn results(&self) -> u64 {
        self.policies.iter().map(|(_, p)| p.rules.len() as u64).sum()
    }

    /// How many bytes it needs, roughly.
    pub(super) fn bytes(&self) -> usize {
        let of_result = |r: &RuleOutcome| {
            let properties: usize =
                r.properties.iter().map(|(k, v)| k.len() + v.len() + 2 * ALLOCATION).sum();
            // What Pod Security found repeats the message in parts.
            let found = if r.pod_security.is_some() { 8 * r.message.len() } else { 0 };
            let bindings = match r.effect.as_deref() {
                Some(Effect::Bindings(all)) => all.iter().map(|b| size_of_val(b) + b.bytes()).sum::<usize>(),
                _ => 0,
            };
            size_of::<RuleOutcome>() + r.message.len() + ALLOCATION + properties + found + bindings
        };
        let of_policy = |(_, p): &(u32, PolicyOutcome)| {
            size_of::<(u32, PolicyOutcome)>() + ALLOCATION + p.rules.iter().map(of_result).sum::<usize>()
        };
        size_of::<Part>() + 4 * ALLOCATION + self.policies.iter().map(of_policy).sum::<usize>()
    }
}

/// Results of policies that were evaluated together.
#[derive(Debug, Default)]
pub struct Bundle {
    /// The results of each policy, or of several.
    pub parts: Vec<Arc<Part>>,
    /// How many of the results came from the cache when they were collected.
    pub cached: u64,
    /// What a caller has derived from them, for requests that share them.
    pub derived: OnceLock<Box<dyn Any + Send + Sync>>,
}

impl Bundle {
    /// Of one part.
    pub fn of(part: Part) -> Bundle {
        Bundle { parts: vec![Arc::new(part)], ..Bundle::default() }
    }

    /// How many bytes it needs besides its parts, roughly, with what is derived from it.
    pub(super) fn bytes(&self) -> usize {
        let results: u64 = self.parts.iter().map(|part| part.results()).sum();
        let derived = usize::try_from(results).unwrap_or_default() * size_of::<usize>();
        size_of::<Bundle>() + 6 * ALLOCATION + self.parts.len() * size_of::<usize>() + derived
    }

    /// Adds results, unless there is nothing in them.
    pub fn push(&mut self, part: Arc<Part>) {
        if !part.policies.is_empty() || part.is_partial {
            self.parts.push(part);
        }
    }

    /// Whether rules that may match were skipped.
    pub fn is_partial(&self) -> bool {
        self.parts.iter().any(|part| part.is_partial)
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
    /// Whether all of them came from the cache.
    pub is_cached: bool,
}

impl Outcomes {
    /// Adds results.
    pub fn push(&mut self, bundle: Arc<Bundle>, is_cached: bool) {
        if bundle.policies().next().is_some() {
            self.shares.push(Share { bundle, is_cached });
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
        all.push(Arc::new(Bundle::of(Part { policies, is_partial: false })), false);
        all
    }
}
