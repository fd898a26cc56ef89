//! What an upgrade changes, put together.
//!
//! In: an [`Inventory`]. Out: a [`Report`] with rows of `policies`, `around`, `rights`.

use std::collections::BTreeSet;

use ephor_admission::background::{WorkKind, facts};
use ephor_kubernetes::{Kinds, Resource};
use ephor_value::Value;

use super::around::{self, Component, Configuration, Definition, ExceptionRow};
use super::inventory::{GROUPS, Inventory, group_of};
use super::policies::{self, PolicyRow};
use super::rights::{self, Right};

/// See the module page.
#[derive(Clone, Debug)]
pub struct Report {
    /// Whether a cluster was read, and not files.
    pub is_live: bool,
    /// The parts of Kyverno that run.
    pub kyverno: Vec<Component>,
    /// The policies, those that stop having effect first.
    pub policies: Vec<PolicyRow>,
    /// The exceptions, likewise.
    pub exceptions: Vec<ExceptionRow>,
    /// The webhook configurations.
    pub webhooks: Vec<Configuration>,
    /// What the account of `ephor` needs to do what policies write.
    pub rights: Vec<Right>,
    /// The definitions of policies and reports.
    pub definitions: Vec<Definition>,
    /// What could not be read.
    pub unread: Vec<String>,
}

impl Report {
    /// Looks into objects.
    pub fn of(inventory: &Inventory) -> Report {
        let compiled = policies::compile(inventory);
        let generated = policies::generated(inventory);
        let mut rows: Vec<PolicyRow> =
            compiled.iter().map(|one| policies::row(one, &generated, &compiled)).collect();
        rows.sort_by(|a, b| a.order().cmp(&b.order()));
        let mut exceptions = around::exceptions(inventory, &compiled);
        exceptions.sort_by(|a, b| (!a.stops, &a.name).cmp(&(!b.stops, &b.name)));
        Report {
            is_live: inventory.is_live,
            kyverno: around::components(inventory),
            policies: rows,
            exceptions,
            webhooks: around::configurations(inventory),
            rights: rights::rights(inventory, &compiled),
            definitions: around::definitions(inventory),
            unread: inventory.unread.clone(),
        }
    }

    /// The resources that policies among some objects generate: their objects say how many there
    /// are.
    pub fn generated<'k>(objects: &[Value], kinds: &'k Kinds) -> Vec<&'k Resource> {
        let facts = objects.iter().filter(|o| GROUPS.contains(&group_of(o))).flat_map(facts);
        let generating = facts.filter(|facts| facts.kind == WorkKind::Generate);
        let named: BTreeSet<(String, String)> = generating.flat_map(|facts| facts.kinds).collect();
        let resource = |(api_version, kind): &(String, String)| {
            let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
            kinds.kind(group, version, kind)
        };
        named.iter().filter_map(resource).collect()
    }

    /// Whether nothing stops having effect, and `ephor` takes everything.
    pub fn is_good(&self) -> bool {
        self.policies.iter().all(|p| !p.stops && p.is_taken())
            && self.exceptions.iter().all(|e| !e.stops && e.obstacle.is_none())
    }
}
