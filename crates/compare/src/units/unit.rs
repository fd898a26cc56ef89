//! A unit: a rule that checks one thing, with what is known of it.

use std::collections::BTreeSet;

use ephor_analysis::reads;
use ephor_analysis::reads::Reads;
use ephor_policies::policy_set::Engine;

use crate::lists::small_model::Items;
use crate::model::environment::Environment;
use crate::model::field_types::is_read;
use crate::normal::canonical::Identity;
use crate::predicates::by_field::Tested;
use crate::predicates::summary::Predicates;

/// Why classes of values do not say all.
pub(crate) fn open(reads: &Reads, tested: &Predicates) -> Option<String> {
    tested.open.clone().or_else(|| reads.external.then(|| "external data".into()))
}

/// A rule that checks one thing.
pub struct Unit {
    /// It alone.
    pub engine: Engine,
    /// What it reads, or seems to read.
    pub reads: Reads,
    /// Whether that is all; if not, more than is known before there is a request.
    pub is_all_read: bool,
    /// What it tests.
    pub predicates: Predicates,
    /// What it tests at each field.
    pub tested: Tested,
    /// How many items of lists matter to it.
    pub items: Items,
    /// Its text; a unit with the same one gives the same verdicts.
    pub identity: Option<Identity>,
    /// The external data that it reads.
    pub external: BTreeSet<String>,
    /// What it reads of the object of a request, the former one and both in results.
    pub(crate) objects: reads::ReadTree,
}

/// The external data that both sides read, when they have the same rules in the same order.
pub(crate) fn same(sides: &[Vec<Unit>; 2]) -> Option<BTreeSet<String>> {
    let [old, new] = sides;
    let is_same = |(a, b): (&Unit, &Unit)| a.identity.is_some() && a.identity == b.identity;
    (old.len() == new.len() && old.iter().zip(new).all(is_same))
        .then(|| old.iter().flat_map(|unit| unit.external.iter().cloned()).collect())
}

/// Whether a request in an environment can violate what the object did not violate before: what is
/// sent for ephemeral containers changes nothing else of a Pod.
pub(crate) fn may_matter(environment: &Environment, unit: &Unit) -> bool {
    let field = "spec.ephemeralContainers";
    &*environment.subresource != "ephemeralcontainers" || !unit.is_all_read || is_read(&unit.reads, field)
}
