//! What is around policies: Kyverno itself, exceptions, webhook configurations, definitions.

use std::collections::BTreeSet;

use crate::upgrade::inventory::{Found, GROUPS, Inventory, group_of, is_definition, named, stops};
use ephor_admission::registration::{self, Address, Options, WebhookNames, is_own};
use ephor_api::read::{items, texts};
use ephor_policies::kinds::EXCEPTION;
use ephor_value::{Value, wildcard};

use super::policies::{Compiled, Obstacle, load, obstacles};

/// A part of Kyverno that runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Component {
    /// Namespace and name of its Deployment.
    pub name: String,
    /// Its image.
    pub image: String,
    /// Its version, as label or image say; empty = they do not.
    pub version: String,
}

/// The Deployments with images of Kyverno.
pub(super) fn components(inventory: &Inventory) -> Vec<Component> {
    let one = |found: &Found| {
        let object = &found.object;
        let containers = items(object.at(&["spec", "template", "spec", "containers"]));
        let image = containers.iter().map(|c| c.text_at(&["image"])).find(|image| is_of_kyverno(image))?;
        let at = |key: &str| object.text_at(&["metadata", key]);
        let label = object.text_at(&["metadata", "labels", "app.kubernetes.io/version"]);
        // The label of some charts is the version of the chart.
        let version = if tag(image).is_empty() { label } else { tag(image) };
        let name = format!("{}/{}", at("namespace"), at("name"));
        Some(Component { name, image: image.into(), version: version.into() })
    };
    let mut all: Vec<Component> = inventory.of_kind("apps", "Deployment").filter_map(one).collect();
    all.sort_by(|a, b| a.name.cmp(&b.name));
    all
}

fn is_of_kyverno(image: &str) -> bool {
    let repository = image.split('@').next().unwrap_or_default();
    let mut parts = repository.rsplit('/');
    let name = parts.next().unwrap_or_default().split(':').next().unwrap_or_default();
    const PARTS: [&str; 4] = ["kyverno", "background-controller", "cleanup-controller", "reports-controller"];
    PARTS.contains(&name) && (name == "kyverno" || parts.next() == Some("kyverno"))
}

/// The tag of an image.
fn tag(image: &str) -> &str {
    let name = image.split('@').next().unwrap_or_default();
    let last = name.rsplit('/').next().unwrap_or_default();
    last.split_once(':').map_or("", |(_, tag)| tag)
}

/// An exception of the report.
#[derive(Clone, Debug)]
pub struct ExceptionRow {
    /// Group and version.
    pub api_version: String,
    /// Namespace and name.
    pub name: String,
    /// File and line; empty for an exception of the API.
    pub place: String,
    /// Whether Kyverno 1.20 ignores it.
    pub stops: bool,
    /// Policies and rules that it names and that are not there.
    pub missing: Vec<String>,
    /// Why `ephor` does not take it.
    pub obstacle: Option<Obstacle>,
}

/// The exceptions of both groups.
pub(super) fn exceptions(inventory: &Inventory, policies: &[Compiled<'_>]) -> Vec<ExceptionRow> {
    let all = GROUPS.iter().flat_map(|group| inventory.of_kind(group, EXCEPTION));
    let row = |found: &Found| {
        let object = &found.object;
        let missing = match group_of(object) {
            "kyverno.io" => missing_rules(object, policies),
            _ => missing_policies(object, policies),
        };
        ExceptionRow {
            api_version: object.text_at(&["apiVersion"]).into(),
            name: named(object).trim_start_matches("PolicyException ").into(),
            place: found.place.clone(),
            stops: stops(object),
            missing,
            obstacle: obstacles(&load(found)).into_iter().next(),
        }
    };
    all.map(row).collect()
}

/// What an exception of `kyverno.io` names: policies, those of namespaces with it, and rules.
fn missing_rules(exception: &Value, policies: &[Compiled<'_>]) -> Vec<String> {
    let mut missing = Vec::new();
    for entry in items(exception.at(&["spec", "exceptions"])) {
        let name = entry.text_at(&["policyName"]);
        let is_named = |policy: &&Compiled<'_>| {
            let key = match policy.at("namespace") {
                "" => policy.at("name").to_string(),
                namespace => format!("{namespace}/{}", policy.at("name")),
            };
            group_of(&policy.found.object) == "kyverno.io" && key == name
        };
        let Some(policy) = policies.iter().find(is_named) else {
            missing.push(format!("policy {name}"));
            continue;
        };
        let names: BTreeSet<String> = rule_names(policy);
        let absent = texts(entry, &["ruleNames"])
            .filter(|rule| !names.iter().any(|known| wildcard::matches(rule, known)));
        missing.extend(absent.map(|rule| format!("rule {rule} of policy {name}")));
    }
    missing
}

/// The rules of a policy, generated ones included.
fn rule_names(policy: &Compiled<'_>) -> BTreeSet<String> {
    let written =
        items(policy.found.object.at(&["spec", "rules"])).iter().map(|r| r.text_at(&["name"]).to_string());
    let lowered = policy.gives.policies.iter().filter_map(|p| p.policy.as_ref());
    written.chain(lowered.flat_map(|p| p.all_rules()).map(|rule| rule.name.to_string())).collect()
}

/// What an exception of `policies.kyverno.io` names.
fn missing_policies(exception: &Value, policies: &[Compiled<'_>]) -> Vec<String> {
    let refs = items(exception.at(&["spec", "policyRefs"])).iter();
    let is_there = |kind: &str, name: &str| {
        policies.iter().any(|p| p.found.object.text_at(&["kind"]) == kind && p.at("name") == name)
    };
    let refs = refs.map(|r| (r.text_at(&["kind"]), r.text_at(&["name"])));
    refs.filter(|(kind, name)| !is_there(kind, name)).map(|(kind, name)| format!("{kind} {name}")).collect()
}

/// Which installations of `ephor` would want a configuration of the same name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Conflict {
    /// Those with names of their own.
    Own,
    /// Those with `--kyverno-names`.
    Kyverno,
}

/// A webhook configuration.
#[derive(Clone, Debug)]
pub struct Configuration {
    /// Its kind.
    pub kind: String,
    /// Its name.
    pub name: String,
    /// Who writes it.
    pub owner: String,
    /// Which names of `ephor` it has, when another program owns it.
    pub conflict: Option<Conflict>,
}

/// The webhook configurations.
pub(super) fn configurations(inventory: &Inventory) -> Vec<Configuration> {
    let all =
        registration::KINDS.iter().flat_map(|kind| inventory.of_kind("admissionregistration.k8s.io", kind));
    let names = |names: WebhookNames| {
        let address = Address::Url(String::new());
        let options = Options { names, ..Options::of(address) };
        let mut all: BTreeSet<(String, String)> = registration::fixed(&options, &|_, _| true)
            .iter()
            .map(|c| (c.text_at(&["kind"]).to_string(), c.text_at(&["metadata", "name"]).to_string()))
            .collect();
        let of_policies = registration::KINDS.into_iter().zip(names.configurations());
        all.extend(of_policies.map(|(kind, name)| (kind.to_string(), name.to_string())));
        all
    };
    let (own, kyverno) = (names(WebhookNames::Ephor), names(WebhookNames::Kyverno));
    let row = |found: &Found| {
        let object = &found.object;
        let key = (object.text_at(&["kind"]).to_string(), object.text_at(&["metadata", "name"]).to_string());
        let conflict = match is_own(object) {
            true => None,
            false if own.contains(&key) => Some(Conflict::Own),
            false => kyverno.contains(&key).then_some(Conflict::Kyverno),
        };
        Configuration { owner: owner(object), kind: key.0, name: key.1, conflict }
    };
    all.map(row).collect()
}

/// Who writes a configuration: labels say so, else the names under which its fields were written.
fn owner(object: &Value) -> String {
    let label = |key: &str| object.text_at(&["metadata", "labels", key]);
    let labels = [label("webhook.kyverno.io/managed-by"), label("app.kubernetes.io/managed-by")];
    if is_own(object) {
        return "ephor".into();
    }
    if let Some(owner) = labels.into_iter().find(|text| !text.is_empty()) {
        return owner.into();
    }
    let fields = items(object.at(&["metadata", "managedFields"]));
    let managers: BTreeSet<&str> = fields.iter().map(|m| m.text_at(&["manager"])).collect();
    match managers.is_empty() {
        true => "unknown".into(),
        false => managers.into_iter().collect::<Vec<_>>().join(", "),
    }
}

/// The definition of a kind of policies or reports.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Definition {
    /// Its name: plural and group.
    pub name: String,
    /// The versions that are served.
    pub served: Vec<String>,
    /// The version in which objects are stored.
    pub stored: String,
}

/// The definitions of policies and reports.
pub(super) fn definitions(inventory: &Inventory) -> Vec<Definition> {
    const REPORTS: [&str; 2] = ["wgpolicyk8s.io", "openreports.io"];
    let all = inventory.objects.iter().map(|f| &f.object).filter(|o| is_definition(o));
    let row = |object: &Value| {
        let group = object.text_at(&["spec", "group"]);
        if !GROUPS.contains(&group) && !REPORTS.contains(&group) {
            return None;
        }
        let versions = items(object.at(&["spec", "versions"]));
        let with = |key: &'static str| {
            versions
                .iter()
                .filter(move |v| v.get(key).and_then(Value::as_bool) == Some(true))
                .map(|v| v.text_at(&["name"]).to_string())
        };
        let name = object.text_at(&["metadata", "name"]).into();
        Some(Definition {
            name,
            served: with("served").collect(),
            stored: with("storage").next().unwrap_or_default(),
        })
    };
    let mut all: Vec<Definition> = all.filter_map(row).collect();
    all.sort_by(|a, b| a.name.cmp(&b.name));
    all
}
