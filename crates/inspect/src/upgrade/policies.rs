//! The policies, one by one.
//!
//! In: policies as they are stored. Out: each compiled as `ephor serve` compiles it, and a row of
//! the report.

use std::collections::HashMap;

use crate::upgrade::inventory::{Found, GENERATED_BY, Inventory, named, stops};
use ephor_admission::background::{RuleFacts, facts};
use ephor_policies::kinds::{self, EXCEPTION};
use ephor_policies::load::{self, Policies, Reader};
use ephor_sources::files::SourceText;
use ephor_value::release::Release;
use ephor_value::{Map, Value, print};

use super::acts::{self, Act};

/// Why `ephor` does not take something.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Obstacle {
    /// Where it is in the object; empty = the reason says so, or the whole object.
    pub path: String,
    /// What is wrong.
    pub reason: String,
}

impl std::fmt::Display for Obstacle {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match &*self.path {
            "" => f.write_str(&self.reason),
            path => write!(f, "{path}: {}", self.reason),
        }
    }
}

/// A policy of the report.
#[derive(Clone, Debug)]
pub struct PolicyRow {
    /// Group and version.
    pub api_version: String,
    /// Kind.
    pub kind: String,
    /// Namespace, empty for policies of the cluster.
    pub namespace: String,
    /// Name.
    pub name: String,
    /// File and line; empty for a policy of the API.
    pub place: String,
    /// Whether Kyverno 1.20 ignores it, and 1.21 removes its kind.
    pub stops: bool,
    /// What it does.
    pub acts: Vec<Act>,
    /// `Fail` or `Ignore`; empty for policies without webhooks.
    pub failure_policy: String,
    /// Whether its status says that it is ready; `None` = it says nothing.
    pub is_ready: Option<bool>,
    /// Why `ephor` does not take it; none = it does.
    pub obstacles: Vec<Obstacle>,
    /// A policy of the same name whose kind stays.
    pub successor: Option<String>,
    /// How many objects have the labels of what it generated; `None` = it generates nothing.
    pub generated: Option<usize>,
}

impl PolicyRow {
    /// Whether `ephor` takes it.
    pub fn is_taken(&self) -> bool {
        self.obstacles.is_empty()
    }

    /// Whether it does more than reporting: it acts on requests or objects, and its status does not
    /// say otherwise.
    pub fn is_enforcing(&self) -> bool {
        self.is_ready != Some(false) && self.acts.iter().any(|act| *act != Act::Audits)
    }

    /// Whether it denies requests.
    pub fn is_denying(&self) -> bool {
        self.is_ready != Some(false) && self.acts.contains(&Act::Denies)
    }

    /// Kind, namespace and name.
    pub fn title(&self) -> String {
        match &*self.namespace {
            "" => format!("{} {}", self.kind, self.name),
            namespace => format!("{} {namespace}/{}", self.kind, self.name),
        }
    }

    /// Those that stop come first.
    pub(super) fn order(&self) -> (bool, &str, &str, &str) {
        (!self.stops, &self.kind, &self.namespace, &self.name)
    }
}

/// A policy with what it was compiled to.
pub(super) struct Compiled<'i> {
    pub(super) found: &'i Found,
    pub(super) gives: Policies,
    pub(super) facts: Vec<RuleFacts>,
}

impl Compiled<'_> {
    pub(super) fn at(&self, key: &str) -> &str {
        self.found.object.text_at(&["metadata", key])
    }
}

/// What is compiled of an object: its status and who wrote it do not count.
fn text(object: &Value) -> String {
    let mut all = object.as_map().cloned().unwrap_or_default();
    all.remove("status");
    let mut metadata = all.get("metadata").and_then(Value::as_map).cloned().unwrap_or_else(Map::new);
    metadata.remove("managedFields");
    all.insert("metadata", Value::Map(metadata));
    print::json(&Value::Map(all))
}

/// An object as a server loads it.
pub(super) fn load(found: &Found) -> Policies {
    let source = SourceText { name: named(&found.object), text: text(&found.object) };
    load::argument_for(&[source], Reader::Server(Release::default()))
}

/// All policies, as a server loads them.
pub(super) fn compile(inventory: &Inventory) -> Vec<Compiled<'_>> {
    let policies = kinds::all().filter(|(_, kind)| *kind != EXCEPTION);
    let found = policies.flat_map(|(group, kind)| inventory.of_kind(group, kind));
    found.map(|found| Compiled { found, gives: load(found), facts: facts(&found.object) }).collect()
}

/// Why a server cannot use what was loaded.
pub(super) fn obstacles(gives: &Policies) -> Vec<Obstacle> {
    let faults = gives.policies.iter().flat_map(|policy| &policy.faults);
    let faults = faults.map(|fault| Obstacle {
        path: fault.field.clone(),
        // The line of the text and the caret below it are for those who have the text before them.
        reason: first_line(&fault.detail),
    });
    let faults: Vec<Obstacle> = faults.collect();
    match gives.unusable() {
        None => Vec::new(),
        Some(_) if !faults.is_empty() => faults,
        Some(reason) => vec![obstacle(&first_line(&reason))],
    }
}

/// A reason of the policy check, which may begin with its path.
fn obstacle(text: &str) -> Obstacle {
    let (path, reason) = match text.strip_prefix("path: ").and_then(|rest| rest.split_once(": ")) {
        Some((path, reason)) => (path.trim_end_matches('.'), reason),
        None => ("", text),
    };
    Obstacle { path: path.into(), reason: reason.into() }
}

fn first_line(text: &str) -> String {
    let lines: Vec<&str> = text.lines().map(str::trim).filter(|line| !line.starts_with('|')).collect();
    lines.join(" ").trim().to_string()
}

pub(super) fn row(
    one: &Compiled<'_>,
    generated: &HashMap<(&str, &str), usize>,
    all: &[Compiled<'_>],
) -> PolicyRow {
    let object = &one.found.object;
    let stops = stops(object);
    let (namespace, name) = (one.at("namespace"), one.at("name"));
    let is_successor = |other: &&Compiled<'_>| {
        !crate::upgrade::inventory::stops(&other.found.object)
            && other.at("name") == name
            && other.at("namespace") == namespace
    };
    let generates = !one.facts.is_empty() && acts::of(object).contains(&Act::Generates);
    PolicyRow {
        api_version: object.text_at(&["apiVersion"]).into(),
        kind: object.text_at(&["kind"]).into(),
        namespace: namespace.into(),
        name: name.into(),
        place: one.found.place.clone(),
        stops,
        acts: acts::of(object).into_iter().collect(),
        failure_policy: acts::failure_policy(object).into(),
        is_ready: acts::is_ready(object),
        obstacles: obstacles(&one.gives),
        successor: all.iter().find(is_successor).filter(|_| stops).map(|other| named(&other.found.object)),
        generated: generates.then(|| generated.get(&(namespace, name)).copied().unwrap_or_default()),
    }
}

/// How many objects have the labels of what policies generated, by namespace and name of the
/// policy.
pub(super) fn generated(inventory: &Inventory) -> HashMap<(&str, &str), usize> {
    let mut all = HashMap::new();
    for Found { object, .. } in &inventory.objects {
        let label = |key: &str| object.text_at(&["metadata", "labels", key]);
        if !label(GENERATED_BY).is_empty() {
            let policy = (label("generate.kyverno.io/policy-namespace"), label(GENERATED_BY));
            *all.entry(policy).or_default() += 1;
        }
    }
    all
}
