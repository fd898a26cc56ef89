//! Whether the account of background work may do the work of a policy.
//!
//! In: a policy that is applied. Out: why it is refused: a rule would fail with every trigger,
//! because the account has no right to do its work, or because its objects are not where their kind
//! can be. A kind that a variable gives, and one that the cluster does not serve yet, is not looked
//! at. Semantics: `docs/reference/cluster.md`, "Background work".

use ephor_api::read::{items, texts};
use ephor_cluster::{Cluster, Failure, api_version};
use ephor_value::{Value, variables};

use super::accounts;
use ephor_admission::background::{RuleFacts, WorkKind, facts};

/// Why a policy is refused; `None` = the account may do all of it.
///
/// # Errors
/// The cluster does not answer.
pub fn missing(cluster: &Cluster, policy: &Value) -> Result<Option<String>, Failure> {
    for facts in facts(policy) {
        let (objects, verbs): (Vec<&Value>, &[&str]) = match facts.kind {
            WorkKind::Generate => (described(&facts), verbs(&facts)),
            WorkKind::Mutate => {
                (items(facts.written.at(&["mutate", "targets"])).iter().collect(), &["get", "update"])
            }
            // What they generate or change only their expressions say.
            WorkKind::CelGenerate | WorkKind::CelMutate => continue,
        };
        if facts.kind == WorkKind::Generate {
            for object in &objects {
                if let Some(text) = misplaced(cluster, object)? {
                    return Ok(Some(format!("rule {}: {text}", facts.rule)));
                }
            }
        }
        let is_target = facts.kind == WorkKind::Mutate;
        let mut lacking = Vec::new();
        for object in objects {
            if let Some(text) = of_object(cluster, object, verbs, is_target)? {
                lacking.push(format!("{} {text}", cluster.user_name()?));
            }
            // Of targets all are named that it may not change, of generated objects the first.
            if !is_target && !lacking.is_empty() {
                break;
            }
        }
        if !lacking.is_empty() {
            let (place, lacking) = (place(policy, &facts), lacking.join("; "));
            return Ok(Some(match is_target {
                true => format!(
                    "{place}auth check fails, additional privileges are required for the service account '{}': {lacking}",
                    cluster.user_name()?
                ),
                false => format!("{place}{lacking}"),
            }));
        }
    }
    Ok(None)
}

/// Where a rule says what its work is, as Kyverno writes it before what is wrong there.
fn place(policy: &Value, facts: &RuleFacts) -> String {
    let rules = items(policy.at(&["spec", "rules"]));
    let at = rules.iter().position(|rule| rule.text_at(&["name"]) == &*facts.rule).unwrap_or_default();
    let loops = !items(facts.written.at(&["generate", "foreach"])).is_empty();
    let part = match facts.kind {
        WorkKind::Mutate | WorkKind::CelMutate => "mutate.targets.",
        WorkKind::Generate | WorkKind::CelGenerate if loops => "generate.foreach.",
        WorkKind::Generate | WorkKind::CelGenerate => "generate..",
    };
    format!("path: spec.rules[{at}].{part}: ")
}

fn verbs(facts: &RuleFacts) -> &'static [&'static str] {
    if facts.synchronize { &["get", "create", "update", "delete"] } else { &["get", "create"] }
}

/// What a rule generates.
fn described(facts: &RuleFacts) -> Vec<&Value> {
    let Some(generate) = facts.written.get("generate") else { return Vec::new() };
    match items(generate.get("foreach")) {
        [] => vec![generate],
        loops => loops.iter().collect(),
    }
}

/// What is wrong with the namespace of an object that a rule generates, as the cluster serves its
/// kind.
fn misplaced(cluster: &Cluster, object: &Value) -> Result<Option<&'static str>, Failure> {
    let written = object.text_at(&["apiVersion"]);
    let (group, version) = written.split_once('/').unwrap_or(("", written));
    let kind = object.text_at(&["kind"]);
    let mut kinds = cluster.kinds()?;
    if kinds.kind(group, version, kind).is_none() && !variables::is_variable(kind) {
        // Its definition may be as new as the policy.
        cluster.renew_kinds()?;
        kinds = cluster.kinds()?;
    }
    let is_empty = object.text_at(&["namespace"]).is_empty();
    Ok(match kinds.kind(group, version, kind) {
        Some(resource) if resource.namespaced && is_empty => {
            Some("target namespace must be set for a namespaced resource")
        }
        Some(resource) if !resource.namespaced && !is_empty => {
            Some("target namespace must not be set for a cluster-wide resource")
        }
        _ => None,
    })
}

/// What rights are missing for an object. `by_name`: a right to an object of its name is enough, if
/// that is written.
fn of_object(
    cluster: &Cluster,
    object: &Value,
    verbs: &[&str],
    by_name: bool,
) -> Result<Option<String>, Failure> {
    let first = texts(object, &["cloneList", "kinds"]).next().and_then(|kind| kind.rsplit_once('/'));
    let (written, kind) = first.unwrap_or((object.text_at(&["apiVersion"]), object.text_at(&["kind"])));
    let (kind, part) = kind.split_once('/').unwrap_or((kind, ""));
    let (group, version) = written.split_once('/').unwrap_or(("", written));
    let kinds = cluster.kinds()?;
    let Some(resource) = kinds.kind(group, version, kind) else { return Ok(None) };
    let namespace = object.text_at(&["namespace"]);
    let is_known =
        resource.namespaced && !variables::is_variable(namespace) && !namespace.contains(['*', '?']);
    let namespace = if is_known { namespace } else { "" };
    let name = object.text_at(&["name"]);
    let is_written = !variables::is_variable(name) && !name.contains(['*', '?']);
    let name = if by_name && is_written { name } else { "" };
    let refused = accounts::missing(cluster, resource, part, (namespace, name), verbs)?;
    if refused.is_empty() {
        return Ok(None);
    }
    let within = if namespace.is_empty() { String::new() } else { format!(" in namespace {namespace}") };
    let part = if part.is_empty() { String::new() } else { format!("/{part}") };
    let (verbs, version) = (refused.join(","), api_version(resource));
    Ok(Some(format!("requires permissions {verbs} for resource {version}/{kind}{part}{within}")))
}
