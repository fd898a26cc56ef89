//! Whether the accounts of scans and of deletions may do what a policy wants of them.
//!
//! In: a policy that is applied. Out: warnings of kinds that scans may not read, so that no report
//! is about their objects; why a cleanup policy is refused whose objects may not be deleted. The
//! words are Kyverno 1.19.1's. Semantics: `docs/reference/cluster.md`, "Admission of policies".

use ephor_api::read::{filters, items, texts};
use ephor_cluster::access::Right;
use ephor_cluster::{Cluster, Failure};
use ephor_kubernetes::{Kinds, Resource};
use ephor_matching::kinds;
use ephor_value::Value;

/// What scans need.
const READ: [&str; 3] = ["get", "list", "watch"];
/// What deletions need, the one that is named first.
const DELETE: [&str; 2] = ["delete", "list"];

/// The kinds of a ClusterPolicy or Policy that the account of scans may not read, each in a
/// warning.
///
/// # Errors
/// The cluster does not answer.
pub fn unreadable(reports: &Cluster, policy: &Value) -> Result<Vec<String>, Failure> {
    if !matches!(policy.text_at(&["kind"]), "ClusterPolicy" | "Policy") {
        return Ok(Vec::new());
    }
    let served = reports.kinds()?;
    let mut found = Vec::new();
    let mut seen = Vec::new();
    for rule in items(policy.at(&["spec", "rules"])) {
        for (written, resource, part) in named(rule, &served) {
            if seen.contains(&written) {
                continue;
            }
            let missing = missing(reports, resource, part, ("", ""), &READ)?;
            if !missing.is_empty() {
                let (account, verbs) = (reports.user_name()?, missing.join(","));
                found.push(format!("{account} requires permissions {verbs} for resource {written}"));
            }
            seen.push(written);
        }
    }
    Ok(found)
}

/// Why a cleanup policy is refused: the account of deletions may not delete, or not find, objects
/// of a kind.
///
/// # Errors
/// The cluster does not answer.
pub fn undeletable(cleanup: &Cluster, policy: &Value) -> Result<Option<String>, Failure> {
    let namespace = policy.text_at(&["metadata", "namespace"]);
    let served = cleanup.kinds()?;
    let spec = policy.get("spec").cloned().unwrap_or_default();
    for (written, resource, _) in named(&spec, &served) {
        let namespace = if resource.namespaced { namespace } else { "" };
        if let Some(verb) = missing(cleanup, resource, "", (namespace, ""), &DELETE)?.first() {
            return Ok(Some(format!("cleanup controller has no permission to {verb} kind {written}")));
        }
    }
    Ok(None)
}

/// The kinds that the `match` of a rule names without wildcards: as written, with the resource and
/// the subresource.
fn named<'v, 'k>(rule: &'v Value, served: &'k Kinds) -> Vec<(&'v str, &'k Resource, &'v str)> {
    let mut found = Vec::new();
    for (_, filter) in filters(rule.get("match")) {
        for written in texts(filter, &["resources", "kinds"]).filter(|kind| !kind.contains(['*', '?'])) {
            let wanted = kinds::parse(written);
            let fits = |r: &&Resource| wanted.matches(&r.group, &r.version, &r.kind, &wanted.subresource);
            let part = if wanted.subresource.is_empty() {
                ""
            } else {
                written.rsplit_once('/').map_or("", |(_, part)| part)
            };
            found.extend(served.all().iter().find(fits).map(|resource| (written, resource, part)));
        }
    }
    found
}

/// Which of some verbs an account may not use, in a namespace and on an object of a name; without
/// one, on all.
pub(super) fn missing<'v>(
    cluster: &Cluster,
    resource: &Resource,
    part: &str,
    (namespace, name): (&str, &str),
    verbs: &[&'v str],
) -> Result<Vec<&'v str>, Failure> {
    let mut found = Vec::new();
    for verb in verbs {
        let right = Right {
            verb,
            group: &resource.group,
            version: &resource.version,
            resource: &resource.plural,
            subresource: part,
            namespace,
            name,
        };
        if !cluster.may(&right)? {
            found.push(*verb);
        }
    }
    Ok(found)
}
