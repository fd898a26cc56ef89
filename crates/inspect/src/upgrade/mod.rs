//! What an upgrade of Kyverno changes for the policies of a cluster.
//!
//! In: objects of a cluster – policies, exceptions, webhook configurations, definitions,
//! Deployments – from its API or from dumps ([`Inventory`]). Out: a [`Report`]: which policies stop
//! having effect with Kyverno 1.20 and are removed with 1.21, what they do today, whether `ephor`
//! takes them and why not, and what around them needs attention. Policies are compiled as
//! `ephor serve` compiles them. Which kinds stop: those that Kyverno 1.19.1 calls deprecated.
//! Semantics: `docs/guides/upgrade.md`.

mod acts;
mod around;
mod policies;
mod rights;
mod text;
mod values;

pub use acts::Act;
pub use around::{Component, Configuration, Conflict, Definition, ExceptionRow};
pub use policies::{Obstacle, PolicyRow};
pub use rights::Right;
pub use text::Summary;

use std::collections::BTreeSet;
use std::sync::Arc;

use crate::policy_kinds::{self, CEL, CLASSIC};
use ephor_admission::background::{WorkKind, facts};
use ephor_api::schema;
use ephor_document::{Document, locate};
use ephor_kubernetes::{Kinds, Resource};
use ephor_value::Value;

/// The API groups of policies.
const GROUPS: [&str; 2] = [CLASSIC, CEL];

/// The label of generated objects that names their policy.
pub const GENERATED_BY: &str = "generate.kyverno.io/policy-name";

/// An object, and where it comes from.
#[derive(Clone, Debug)]
pub struct Found {
    /// The object.
    pub object: Value,
    /// Its file and line; empty for objects of the API.
    pub place: String,
}

/// Objects of a cluster.
#[derive(Clone, Debug)]
pub struct Inventory {
    objects: Vec<Found>,
    kinds: Arc<Kinds>,
    /// What could not be read: facts without which the rest is still true.
    pub unread: Vec<String>,
    /// Whether a cluster was read, and not files.
    pub is_live: bool,
}

impl Inventory {
    /// The objects of dumps; kinds are those that every cluster has, and those of definitions among
    /// them.
    pub fn of_documents(documents: Vec<Document>) -> Inventory {
        let objects: Vec<Found> = documents.into_iter().flat_map(flattened).collect();
        let definitions = objects.iter().map(|f| &f.object).filter(|o| is_definition(o));
        let kinds = Kinds::with(definitions);
        Inventory { objects, kinds, unread: Vec::new(), is_live: false }
    }

    /// The objects of a cluster, with the kinds that it serves.
    pub fn of_cluster(objects: Vec<Value>, kinds: Arc<Kinds>, unread: Vec<String>) -> Inventory {
        let objects = objects.into_iter().map(|object| Found { object, place: String::new() }).collect();
        Inventory { objects, kinds, unread, is_live: true }
    }

    fn of_kind<'i>(&'i self, group: &'i str, kind: &'i str) -> impl Iterator<Item = &'i Found> {
        self.objects
            .iter()
            .filter(move |f| f.object.text_at(&["kind"]) == kind && group_of(&f.object) == group)
    }

    /// Whether there is any policy or exception.
    pub fn is_empty(&self) -> bool {
        !policy_kinds::all().any(|(group, kind)| self.of_kind(group, kind).next().is_some())
    }
}

/// The objects of a document: a list's items, or the document itself.
fn flattened(document: Document) -> Vec<Found> {
    let Document { value, source, line, text, .. } = document;
    let items = value.get("items").and_then(Value::as_list);
    let Some(items) = items.filter(|_| value.text_at(&["kind"]).ends_with("List")) else {
        return vec![Found { object: value, place: format!("{source}:{line}") }];
    };
    let lines = locate::items(&text);
    let place = |i: usize| match lines.get(i) {
        Some(item) => format!("{source}:{}", line + item.line() - 1),
        None => format!("{source}:{line}"),
    };
    items.iter().enumerate().map(|(i, object)| Found { object: object.clone(), place: place(i) }).collect()
}

fn is_definition(object: &Value) -> bool {
    object.text_at(&["kind"]) == "CustomResourceDefinition"
}

/// The API group of an object; empty for the core group.
fn group_of(object: &Value) -> &str {
    object.text_at(&["apiVersion"]).split_once('/').map_or("", |(group, _)| group)
}

/// Whether Kyverno 1.20 ignores objects of this kind.
fn stops(object: &Value) -> bool {
    schema::deprecation(object.text_at(&["apiVersion"]), object.text_at(&["kind"])).is_some()
}

/// Kind, namespace and name: `Policy shop/limits`.
fn named(object: &Value) -> String {
    let at = |key: &str| object.text_at(&["metadata", key]);
    match at("namespace") {
        "" => format!("{} {}", object.text_at(&["kind"]), at("name")),
        namespace => format!("{} {namespace}/{}", object.text_at(&["kind"]), at("name")),
    }
}

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
