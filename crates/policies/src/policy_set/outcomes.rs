//! Results of policies in parts that may be shared with other requests.
//!
//! What the result cache keeps shares nothing with a request (`Part::detach`), and counts in the
//! cache as long as anything holds it ([`Charge`]).

use std::any::Any;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

use ephor_engine::RuleOutcome;
use ephor_ir::Policy;
use ephor_value::footprint;

use super::results::{Outcome, PolicyOutcome};

/// What a caller may derive from each result, and once: an address, and what holds them.
const DERIVED: (usize, usize) = (size_of::<usize>(), 40);

/// Bytes that count as long as they are alive.
#[derive(Debug)]
pub struct Charge {
    alive: Arc<AtomicU64>,
    bytes: u64,
}

impl Charge {
    fn new(alive: &Arc<AtomicU64>, bytes: usize) -> Charge {
        let bytes = bytes as u64;
        alive.fetch_add(bytes, Ordering::Relaxed);
        Charge { alive: alive.clone(), bytes }
    }
}

impl Drop for Charge {
    fn drop(&mut self) {
        self.alive.fetch_sub(self.bytes, Ordering::Relaxed);
    }
}

/// Results of some policies, each with its position among all.
#[derive(Debug, Default)]
pub struct Part {
    /// In order.
    pub policies: Vec<(u32, PolicyOutcome)>,
    /// Whether rules that may match were skipped.
    pub is_partial: bool,
    /// What it costs the result cache, once that has it.
    charge: OnceLock<Charge>,
}

impl Part {
    /// How many results there are.
    pub fn results(&self) -> u64 {
        self.policies.iter().map(|(_, p)| p.rules.len() as u64).sum()
    }

    /// Copies what the results share with the request, and takes spare room from all lists.
    pub(super) fn detach(&mut self) {
        for (_, policy) in &mut self.policies {
            policy.rules.iter_mut().for_each(RuleOutcome::detach);
            footprint::fit(&mut policy.rules);
            policy.object = policy.object.as_ref().map(ephor_value::Value::detached);
            policy.failure.iter_mut().for_each(footprint::fit_text);
        }
        footprint::fit(&mut self.policies);
    }

    /// How many bytes it keeps alive on the heap, once it is detached and shared.
    pub(super) fn footprint(&self) -> usize {
        let of_policy = |(_, p): &(u32, PolicyOutcome)| {
            footprint::of_vec(&p.rules)
                + p.rules.iter().map(RuleOutcome::footprint).sum::<usize>()
                + p.object.as_ref().map_or(0, ephor_value::Value::footprint)
                + p.failure.as_ref().map_or(0, String::capacity)
        };
        footprint::shared(size_of::<Part>())
            + footprint::of_vec(&self.policies)
            + self.policies.iter().map(of_policy).sum::<usize>()
    }

    /// What it costs, which counts from now on.
    pub(super) fn charge(&self, alive: &Arc<AtomicU64>) -> u64 {
        self.charge.get_or_init(|| Charge::new(alive, self.footprint())).bytes
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
    /// What it costs the result cache besides its parts, once that has it.
    charge: OnceLock<Charge>,
}

impl Bundle {
    /// With room for this number of parts.
    pub(super) fn with_room(parts: usize) -> Bundle {
        Bundle { parts: Vec::with_capacity(parts), ..Bundle::default() }
    }

    /// Of one part.
    pub fn of(part: Part) -> Bundle {
        Bundle { parts: vec![Arc::new(part)], ..Bundle::default() }
    }

    /// How many bytes it keeps alive on the heap besides its parts, with what may be derived from
    /// it.
    pub(super) fn footprint(&self) -> usize {
        let results: u64 = self.parts.iter().map(|part| part.results()).sum();
        let derived = usize::try_from(results).unwrap_or_default() * DERIVED.0 + DERIVED.1;
        footprint::shared(size_of::<Bundle>()) + footprint::of_vec(&self.parts) + derived
    }

    /// What it costs in addition to its parts, which counts from now on.
    pub(super) fn charge(&self, alive: &Arc<AtomicU64>) -> u64 {
        self.charge.get_or_init(|| Charge::new(alive, self.footprint())).bytes
    }

    /// Takes spare room from its list.
    pub(super) fn fit(&mut self) {
        footprint::fit(&mut self.parts);
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
        let parts = || self.shares.iter().flat_map(|share| &share.bundle.parts);
        let mut all: Vec<&(u32, PolicyOutcome)> =
            Vec::with_capacity(parts().map(|part| part.policies.len()).sum());
        parts().for_each(|part| all.extend(&part.policies));
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
        all.push(Arc::new(Bundle::of(Part { policies, ..Part::default() })), false);
        all
    }
}
