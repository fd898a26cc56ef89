//! Generate bodies: what is generated, from where, and into which scope.
//!
//! Semantics: section 5.5 of the policy object specification. For commands every kind counts as
//! namespaced. The places are those of Kyverno 1.19.1, below the rule and not below its `generate`.

use super::fields::Fields;
use super::subject::{Finding, Scope, Subject};
use crate::read::{Body, has_body, is_unwritten, listed, member};
use ephor_value::variables;
use ephor_value::{Value, print};

/// Checks the generate body of a written rule.
pub fn fields(
    subject: &Subject<'_>,
    index: usize,
    rule: &Value,
    fields: &mut Fields,
    warnings: &mut Vec<Finding>,
) {
    let Some(generate) = member(rule, "generate").filter(|_| has_body(rule, Body::Generate)) else { return };
    let place = format!("spec.rules[{index}]");
    let loops = listed(generate, "foreach");
    let sources = sources(generate) + usize::from(member(generate, "foreach").is_some());
    if sources > 1 {
        let detail = "only one of generate patterns(data, clone, cloneList and foreach) can be specified";
        fields.forbidden(&place, detail);
        return;
    }
    if member(generate, "foreach").is_none() {
        target(subject, generate, &place, fields, warnings);
    }
    for (j, entry) in loops.iter().enumerate() {
        target(subject, entry, &format!("{place}.foreach[{j}]"), fields, warnings);
    }
}

fn sources(body: &Value) -> usize {
    let written =
        ["clone", "cloneList"].iter().filter(|name| body.get(name).is_some_and(|v| !is_unwritten(v)));
    written.count() + usize::from(member(body, "data").is_some())
}

fn target(
    subject: &Subject<'_>,
    body: &Value,
    place: &str,
    fields: &mut Fields,
    warnings: &mut Vec<Finding>,
) {
    let text = |name| body.text_at(&[name]);
    let (api_version, kind, namespace) = (text("apiVersion"), text("kind"), text("namespace"));
    let many = !body.at(&["cloneList", "kinds"]).and_then(Value::as_list).unwrap_or(&[]).is_empty();
    if let Some(own) = subject.namespace {
        let source =
            body.get("clone").filter(|clone| !is_unwritten(clone)).map(|clone| clone.text_at(&["namespace"]));
        let mismatch = match source {
            _ if namespace != own => Some(("generate resources in", namespace)),
            Some(source) if source != own => Some(("clone resources from", source)),
            _ => None,
        };
        if let Some((what, received)) = mismatch {
            let detail = format!(
                "target resource scope mismatched: a namespaced policy cannot {what} other namespaces, \
                 expected: {own}, received: {received} "
            );
            fields.forbidden(&format!("{place}.namespace"), &detail);
        }
    }
    let misplaced = match (subject.checks.scope)(api_version, kind) {
        Scope::Namespaced if namespace.is_empty() => "target namespace must be set for a namespaced resource",
        Scope::Cluster if !namespace.is_empty() => {
            "target namespace must not be set for a cluster-wide resource"
        }
        _ => "",
    };
    if !kind.is_empty() && !misplaced.is_empty() {
        fields.forbidden(&format!("{place}.namespace"), misplaced);
    }
    let sources = ["clone", "cloneList"].map(|name| body.get(name).map(print::json).unwrap_or_default());
    if [kind, api_version].into_iter().chain(sources.iter().map(String::as_str)).any(variables::is_variable) {
        let text =
            format!("variables in {place}.clone/cloneList would lead to incorrect synchronization behavior");
        warnings.push(Finding::at(place, text));
    }
    if many {
        clone_list(subject, body, place, fields);
        return;
    }
    for name in ["kind", "name", "apiVersion"] {
        if text(name).is_empty() {
            fields.forbidden(&format!("{place}.{name}"), &format!("{name} can not be empty"));
        }
    }
}

fn clone_list(subject: &Subject<'_>, body: &Value, place: &str, fields: &mut Fields) {
    let source = body.text_at(&["cloneList", "namespace"]);
    match subject.namespace {
        Some(own) if source != own => {
            let detail = format!(
                "a namespaced policy cannot clone resources from other namespace, expected: {own}, received: {source}"
            );
            fields.forbidden(&format!("{place}.cloneList.namespace"), &detail);
        }
        _ => {}
    }
    let kinds = listed(body.get("cloneList").unwrap_or(&Value::Null), "kinds").iter();
    let scopes: Vec<Scope> = kinds.filter_map(Value::as_str).map(|kind| scope(subject, kind)).collect();
    let has = |scope| scopes.contains(&scope);
    let (below, detail) = match source.is_empty() {
        _ if has(Scope::Namespaced) && has(Scope::Cluster) => {
            ("kinds", "mixed scope of target resources is forbidden")
        }
        true if !has(Scope::Cluster) && !has(Scope::Unknown) => {
            ("namespace", "namespace is required for namespaced target resources")
        }
        false if has(Scope::Cluster) => {
            ("namespace", "namespace is forbidden for cluster-wide target resources")
        }
        _ => return,
    };
    fields.forbidden(&format!("{place}.cloneList.{below}"), detail);
}

/// Where the objects of a kind of a list live: `v1/Secret`, `apps/v1/Deployment`.
fn scope(subject: &Subject<'_>, kind: &str) -> Scope {
    let (api_version, kind) = kind.rsplit_once('/').unwrap_or(("", kind));
    (subject.checks.scope)(api_version, kind)
}

/// The rule's own kind must not be what it generates; only the legacy block is read.
pub fn is_loop(rule: &Value) -> bool {
    let kind = rule.text_at(&["generate", "kind"]);
    !kind.is_empty() && rule.get("match").is_some_and(|m| crate::read::kinds_of(m).any(|k| k == kind))
}
