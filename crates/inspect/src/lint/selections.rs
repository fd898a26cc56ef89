//! Entries of matches that select nothing: groups, versions, resources, operations and names that
//! no request has.
//!
//! In: resource rules of match constraints, and filters of rules, as they are written. Out: a
//! finding at each entry, with the right text as a fix. A group with a dot may be a custom one, and
//! what has wildcards or variables may be anything: neither is reported.

use ephor_api::read::{filters, kinds_of, listed};
use ephor_kubernetes::kinds::Resource;
use ephor_matching::kinds::parse as parse_kind;
use ephor_value::place::{Path, PathPart, parse};
use ephor_value::suggest::{did_you_mean, distance};
use ephor_value::{Value, wildcard};

use super::finding::Severity;
use super::kinds::Known;
use super::subject::{Remedy, Spot, Subject, item, with};

/// Short names of resources, with their plurals; a server lists them, requests do not have them.
const SHORT_NAMES: [(&str, &str); 31] = [
    ("cj", "cronjobs"),
    ("cm", "configmaps"),
    ("crd", "customresourcedefinitions"),
    ("crds", "customresourcedefinitions"),
    ("cs", "componentstatuses"),
    ("csr", "certificatesigningrequests"),
    ("deploy", "deployments"),
    ("ds", "daemonsets"),
    ("ep", "endpoints"),
    ("ev", "events"),
    ("hpa", "horizontalpodautoscalers"),
    ("ing", "ingresses"),
    ("limits", "limitranges"),
    ("netpol", "networkpolicies"),
    ("netpols", "networkpolicies"),
    ("no", "nodes"),
    ("ns", "namespaces"),
    ("pc", "priorityclasses"),
    ("pdb", "poddisruptionbudgets"),
    ("po", "pods"),
    ("pv", "persistentvolumes"),
    ("pvc", "persistentvolumeclaims"),
    ("pvcs", "persistentvolumeclaims"),
    ("pvs", "persistentvolumes"),
    ("quota", "resourcequotas"),
    ("rc", "replicationcontrollers"),
    ("rs", "replicasets"),
    ("sa", "serviceaccounts"),
    ("sc", "storageclasses"),
    ("sts", "statefulsets"),
    ("svc", "services"),
];

const OPERATIONS: [&str; 5] = ["CREATE", "UPDATE", "DELETE", "CONNECT", "*"];

fn is_open(text: &str) -> bool {
    wildcard::has_wildcard(text) || text.contains("{{")
}

/// Checks the resource rules of match constraints.
pub(super) fn check_constraints(subject: &mut Subject<'_>, known: &Known, constraints: &Value, path: &Path) {
    for list in ["resourceRules", "excludeResourceRules"] {
        for (i, rule) in listed(constraints, list).iter().enumerate() {
            one(subject, known, rule, &item(path, list, i));
        }
    }
}

/// The entries of a list that are texts.
fn entries<'v>(rule: &'v Value, list: &str) -> impl Iterator<Item = (usize, &'v str)> {
    listed(rule, list).iter().enumerate().filter_map(|(i, entry)| Some((i, entry.as_str()?)))
}

fn one(subject: &mut Subject<'_>, known: &Known, rule: &Value, path: &Path) {
    let mut groups: Vec<(usize, &str)> = Vec::new();
    let mut is_known = true;
    for (i, group) in entries(rule, "apiGroups") {
        groups.push((i, group));
        is_known &= !group_of(subject, known, group, &item(path, "apiGroups", i)) && is_own(known, group);
    }
    for (i, version) in entries(rule, "apiVersions") {
        version_of(subject, version, &item(path, "apiVersions", i));
    }
    for (i, operation) in entries(rule, "operations") {
        operation_of(subject, operation, &item(path, "operations", i));
    }
    if !is_known || groups.is_empty() {
        return;
    }
    for (i, resource) in entries(rule, "resources") {
        resource_of(subject, known, (resource, rule, &groups), path, i);
    }
    names(subject, known, rule, path);
}

/// Whether a group is one of Kubernetes itself.
fn is_own(known: &Known, group: &str) -> bool {
    known.kinds.all().iter().any(|resource| *resource.group == *group)
}

/// Reports a group that no API server has; whether it did.
fn group_of(subject: &mut Subject<'_>, known: &Known, group: &str, at: &Path) -> bool {
    if is_open(group) || is_own(known, group) {
        return false;
    }
    let (name, version) = group.split_once('/').unwrap_or((group, ""));
    let (message, meant) = match (name, version) {
        ("core", _) => ("there is no group `core`: the core group is `\"\"`".to_string(), Some("")),
        ("v1", "") => ("`v1` is a version: the core group is `\"\"`".to_string(), Some("")),
        (name, version) if !version.is_empty() => {
            (format!("`{group}` is a group with a version: `apiVersions` has the version"), Some(name))
        }
        // Groups of definitions have a dot.
        (name, _) if !name.contains('.') || name.ends_with(".k8s.io") => {
            let all: Vec<&str> = known.kinds.all().iter().map(|resource| &*resource.group).collect();
            // A group without its domain.
            let whole = all.iter().find(|own| own.split('.').next() == Some(name)).copied();
            let near =
                || did_you_mean(name, &all).filter(|close| distance(name, close) <= 2 && name.len() > 3);
            let meant = whole.or_else(near);
            if meant.is_none() && (name.contains('.') || name == "extensions") {
                return false;
            }
            (format!("there is no group `{name}`"), meant)
        }
        _ => return false,
    };
    let help = meant.map(|meant| format!("write `{}`", shown(meant)));
    let fix = meant
        .and_then(|meant| subject.fix_value(at, &in_yaml(meant), format!("write `{}`", shown(meant)), true));
    let remedy = Remedy { help, fixes: fix.into_iter().collect() };
    subject.report(
        "selects-nothing",
        Severity::Error,
        at,
        Spot::Value,
        format!("{message}: nothing matches"),
        remedy,
    );
    true
}

fn shown(text: &str) -> &str {
    if text.is_empty() { "\"\"" } else { text }
}

fn in_yaml(text: &str) -> String {
    if text.is_empty() { "\"\"".to_string() } else { text.to_string() }
}

fn version_of(subject: &mut Subject<'_>, version: &str, at: &Path) {
    let rest = version.strip_prefix('v').unwrap_or_default();
    let is_version = rest.starts_with(|c: char| c.is_ascii_digit())
        && rest.chars().all(|c| c.is_ascii_digit() || c.is_ascii_lowercase());
    if is_open(version) || is_version {
        return;
    }
    let last = version.rsplit('/').next().unwrap_or(version).to_lowercase();
    let meant = if last.starts_with(|c: char| c.is_ascii_digit()) { format!("v{last}") } else { last };
    let meant = Some(meant).filter(|m| m.starts_with('v') && m.len() > 1);
    let message = match version.contains('/') {
        true => format!("`{version}` is a group with a version: `apiGroups` has the group: nothing matches"),
        false => format!("`{version}` is no version: nothing matches"),
    };
    let remedy = subject.instead(at, Spot::Value, meant.as_deref());
    subject.report("selects-nothing", Severity::Error, at, Spot::Value, message, remedy);
}

fn operation_of(subject: &mut Subject<'_>, operation: &str, at: &Path) {
    if OPERATIONS.contains(&operation) || operation.contains("{{") {
        return;
    }
    let upper = operation.trim().to_uppercase();
    let meant = OPERATIONS.iter().find(|known| **known == upper).copied();
    let meant = meant.or_else(|| did_you_mean(&upper, &OPERATIONS));
    let remedy = match meant {
        Some(meant) => subject.instead(at, Spot::Value, Some(meant)),
        None => Some(format!("write one of {}", OPERATIONS.join(", "))).into(),
    };
    let message = format!("there is no operation `{operation}`: nothing matches");
    subject.report("selects-nothing", Severity::Error, at, Spot::Value, message, remedy);
}

fn resource_of(
    subject: &mut Subject<'_>,
    known: &Known,
    (text, rule, groups): (&str, &Value, &[(usize, &str)]),
    path: &Path,
    index: usize,
) {
    let at = item(path, "resources", index);
    let (plural, subresource) = text.split_once('/').unwrap_or((text, ""));
    if is_open(plural) {
        return;
    }
    let in_groups = |resource: &&Resource| groups.iter().any(|(_, group)| *resource.group == **group);
    let Some(first) = known.kinds.plural(plural).find(in_groups) else {
        if known.kinds.plural(plural).next().is_some() {
            return other_group(subject, known, (plural, rule, groups), path, &at);
        }
        let Some((meant, word)) = meant(known, plural, groups) else { return };
        let spot = Spot::Inside(0, plural.chars().count());
        let message = format!("there is no resource `{plural}`{word}: nothing matches it");
        let remedy = match word {
            "" => subject.meant(&at, spot, Some(meant)),
            _ => subject.instead(&at, spot, Some(meant)),
        };
        return subject.report("unknown-kind", Severity::Error, &at, spot, message, remedy);
    };
    if subresource.is_empty() || is_open(subresource) {
        return;
    }
    let all: Vec<&str> = known
        .kinds
        .plural(plural)
        .filter(in_groups)
        .flat_map(|resource| resource.subresources.iter().map(|s| &*s.name))
        .collect();
    if all.is_empty() || all.contains(&subresource) {
        return;
    }
    let same = all.iter().find(|name| name.eq_ignore_ascii_case(subresource)).copied();
    let Some(meant) = same.or_else(|| did_you_mean(subresource, &all)) else { return };
    let offset = plural.chars().count() + 1;
    let spot = Spot::Inside(offset, subresource.chars().count());
    let message = format!("`{}` has no subresource `{subresource}`: nothing matches it", first.plural);
    let remedy = subject.meant(&at, spot, Some(meant));
    subject.report("unknown-kind", Severity::Error, &at, spot, message, remedy);
}

/// The plural that was meant, and what the text is instead.
fn meant<'k>(known: &'k Known, text: &str, groups: &[(usize, &str)]) -> Option<(&'k str, &'static str)> {
    let in_groups = |resource: &&Resource| groups.iter().any(|(_, group)| *resource.group == **group);
    let all = || known.kinds.all().iter().filter(in_groups);
    if let Some(found) = all().find(|r| *r.kind == *text) {
        return Some((&found.plural, ", it is a kind"));
    }
    if let Some(found) = all().find(|r| r.kind.eq_ignore_ascii_case(text)) {
        return Some((&found.plural, ", it is a plural"));
    }
    if let Some(found) = all().find(|r| r.plural.eq_ignore_ascii_case(text)) {
        return Some((&found.plural, ", it is in lower case"));
    }
    let lower = text.to_lowercase();
    let short = SHORT_NAMES.iter().find(|(short, _)| *short == lower).map(|(_, plural)| *plural);
    if let Some(found) = short.and_then(|plural| known.kinds.plural(plural).next()) {
        return Some((&found.plural, ", it is a short name"));
    }
    let names: Vec<&str> = all().map(|r| &*r.plural).collect();
    let close = did_you_mean(text, &names).filter(|close| text.len() > 4 && distance(text, close) <= 2)?;
    Some((close, ""))
}

/// A resource that exists, in another group than those of the rule.
fn other_group(
    subject: &mut Subject<'_>,
    known: &Known,
    (plural, rule, groups): (&str, &Value, &[(usize, &str)]),
    path: &Path,
    at: &Path,
) {
    let own: Vec<&str> = known.kinds.plural(plural).map(|resource| &*resource.group).collect();
    let Some(right) = own.first() else { return };
    let named: Vec<String> = groups.iter().map(|(_, group)| format!("`{}`", shown(group))).collect();
    let message = format!("the group {} has no resource `{plural}`: nothing matches it", named.join(" and "));
    let title = format!("write `{}` in `apiGroups`", shown(right));
    // The group is another one if that has all resources of the rule.
    let has_all = entries(rule, "resources").all(|(_, text)| {
        let plural = text.split('/').next().unwrap_or(text);
        known.kinds.plural(plural).any(|resource| *resource.group == **right)
    });
    let fix = match groups {
        [(index, _)] if has_all => {
            subject.fix_value(&item(path, "apiGroups", *index), &in_yaml(right), title.clone(), true)
        }
        _ => None,
    };
    let spot = Spot::Inside(0, plural.chars().count());
    let remedy = Remedy { help: Some(title), fixes: fix.into_iter().collect() };
    subject.report("selects-nothing", Severity::Error, at, spot, message, remedy);
}

/// Names and scopes of a resource rule that none of its resources has.
fn names(subject: &mut Subject<'_>, known: &Known, rule: &Value, path: &Path) {
    let groups: Vec<&str> = entries(rule, "apiGroups").map(|(_, group)| group).collect();
    let resources: Option<Vec<&Resource>> = entries(rule, "resources")
        .map(|(_, text)| {
            let plural = text.split('/').next().unwrap_or(text);
            known.kinds.plural(plural).find(|resource| groups.contains(&&*resource.group))
        })
        .collect();
    let Some(resources) = resources.filter(|all| !all.is_empty()) else { return };
    // Names of roles and their bindings may have any characters.
    if !groups.iter().any(|group| group.starts_with("rbac.")) {
        for (i, name) in entries(rule, "resourceNames") {
            name_of(subject, name, "object", &item(path, "resourceNames", i));
        }
    }
    let scope = rule.text_at(&["scope"]);
    let misses = match scope {
        "Cluster" => resources.iter().all(|resource| resource.namespaced),
        "Namespaced" => {
            resources.iter().all(|resource| !resource.namespaced && &*resource.plural != "namespaces")
        }
        _ => false,
    };
    if misses {
        let message = format!("none of the resources has the scope `{scope}`: nothing matches");
        let help = Some("write `*`, or leave the scope out".to_string());
        subject.report("selects-nothing", Severity::Error, &with(path, "scope"), Spot::Value, message, help);
    }
}

/// Checks the names and namespaces of the filters of a rule or exception.
pub(super) fn check_filters(subject: &mut Subject<'_>, holder: &Value, path: &Path) {
    for block in ["match", "exclude"] {
        for (below, filter) in filters(holder.get(block)) {
            let mut at = with(path, block);
            at.extend(parse(&below));
            at.push(PathPart::Key("resources".into()));
            let resources = filter.get("resources").unwrap_or(filter);
            for (i, name) in entries(resources, "namespaces") {
                name_of(subject, name, "namespace", &item(&at, "namespaces", i));
            }
            let is_free = |entry: &str| {
                let kind = parse_kind(entry).kind;
                is_open(&kind) || kind.contains("Role") || &*kind == "PolicyException"
            };
            if kinds_of(filter).any(is_free) {
                continue;
            }
            for (i, name) in entries(resources, "names") {
                name_of(subject, name, "object", &item(&at, "names", i));
            }
        }
    }
}

/// Reports a name that no namespace or object can have: one with upper-case letters, blanks or
/// underscores.
fn name_of(subject: &mut Subject<'_>, name: &str, what: &str, at: &Path) {
    let is_label = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || "-.*?".contains(c);
    if name.is_empty() || name.contains("{{") || name.chars().all(is_label) {
        return;
    }
    let wrong = name.chars().find(|c| !is_label(*c)).unwrap_or_default();
    // What other characters there are in names of kinds is not known here.
    if !(wrong.is_ascii_uppercase() || matches!(wrong, '_' | ' ' | '/')) {
        return;
    }
    let lower = name.to_lowercase();
    let meant = Some(lower).filter(|lower| lower.chars().all(is_label));
    let message = format!("no {what} can be called `{name}`: nothing matches it");
    let remedy = subject.instead(at, Spot::Value, meant.as_deref());
    subject.report("selects-nothing", Severity::Error, at, Spot::Value, message, remedy);
}
