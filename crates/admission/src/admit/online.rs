//! Checks of policies that need a cluster.
//!
//! In: a policy whose text has passed the policy check, and the kinds that the cluster serves. Out:
//! why it is refused all the same, and warnings of kinds that the cluster does not serve: their
//! definitions may come later, so the policy is taken. Semantics: sections 5.2, 5.6 and 5.7 of the
//! policy object specification ("online").

use ephor_api::autogen::{Selection, computed_rules};
use ephor_api::read::{Body, filters, has_body, kinds_of, listed, member};
use ephor_kubernetes::{Kinds, Resource};
use ephor_matching::kinds::{KindSelector, parse};
use ephor_value::Value;
use ephor_value::wildcard::matches;

/// What the checks found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Online {
    /// Why the policy is refused.
    pub refusal: Option<String>,
    /// What the author should know.
    pub warnings: Vec<String>,
}

/// Checks a ClusterPolicy or Policy; others pass.
pub fn check(policy: &Value, kinds: &Kinds) -> Online {
    let mut found = Online::default();
    let is_namespaced = match policy.text_at(&["kind"]) {
        "ClusterPolicy" => false,
        "Policy" => true,
        _ => return found,
    };
    if is_namespaced {
        found.refusal = cluster_wide(policy, kinds);
    }
    let background = policy.at(&["spec", "background"]).and_then(Value::as_bool) != Some(false);
    for (i, rule) in computed_rules(policy, Selection::All).iter().enumerate() {
        if found.refusal.is_some() {
            return found;
        }
        let scanned = background && has_body(rule, Body::Validate);
        found.refusal = subresources(rule, i, scanned, kinds, &mut found.warnings);
        let has_conditions = member(rule, "celPreconditions").is_some();
        if found.refusal.is_none() && has_conditions && has_body(rule, Body::Generate) {
            let text = "celPrecondition can only be used with validate.cel";
            found.refusal = Some(format!("path: spec.rules[{i}].generate..: {text}"));
        }
    }
    found
}

/// A Policy selects no kinds without namespace. Kinds are compared as they are written.
fn cluster_wide(policy: &Value, kinds: &Kinds) -> Option<String> {
    let is_wide = |written: &str| {
        kinds.all().iter().filter(|r| !r.namespaced).any(|r| {
            let group = if r.group.is_empty() { String::new() } else { format!("{}/", r.group) };
            *r.kind == *written || format!("{group}{}/{}", r.version, r.kind) == written
        })
    };
    let spec = member(policy, "spec")?;
    listed(spec, "rules").iter().enumerate().find_map(|(i, rule)| {
        ["match", "exclude"].into_iter().find_map(|block| {
            filters(rule.get(block)).into_iter().find_map(|(below, filter)| {
                let (k, kind) = kinds_of(filter).enumerate().find(|(_, kind)| is_wide(kind))?;
                let below = if below.is_empty() { below } else { format!(".{below}") };
                Some(format!(
                    "spec.rules[{i}].{block}{below}.kinds[{k}]: Forbidden: Cluster wide resource '{kind}' not allowed in namespaced policy"
                ))
            })
        })
    })
}

/// Background scans see no subresources; kinds that are not served are warned of.
fn subresources(
    rule: &Value,
    i: usize,
    scanned: bool,
    kinds: &Kinds,
    warnings: &mut Vec<String>,
) -> Option<String> {
    for block in ["match", "exclude"] {
        for (below, filter) in filters(rule.get(block)) {
            let below = if below.is_empty() { below } else { format!(".{below}") };
            for kind in kinds_of(filter).filter(|kind| *kind != "*") {
                let wanted = parse(kind);
                let is_part = !wanted.subresource.is_empty() || is_kind_of_subresource(&wanted, kinds);
                if scanned && is_part {
                    return Some(format!(
                        "path: spec.rules[{i}].{block}{below}.kinds: background scan enabled with subresource {kind}"
                    ));
                }
                if !is_part && wanted.kind != "*" && served(&wanted, kinds).next().is_none() {
                    let text = format!(
                        "the kind defined in the all match resource is invalid: unable to convert GVK to GVR for kinds {kind}, err: resource not found"
                    );
                    warnings.extend((!warnings.contains(&text)).then_some(text));
                }
            }
        }
    }
    None
}

fn served<'k>(wanted: &'k KindSelector, kinds: &'k Kinds) -> impl Iterator<Item = &'k Resource> {
    kinds.all().iter().filter(|r| wanted.matches(&r.group, &r.version, &r.kind, ""))
}

/// Whether a selector names what is sent to subresources alone, such as `Scale`.
fn is_kind_of_subresource(wanted: &KindSelector, kinds: &Kinds) -> bool {
    let fits = |[group, version, kind]: &[ephor_value::Str; 3]| {
        matches(&wanted.group, group) && matches(&wanted.version, version) && matches(&wanted.kind, kind)
    };
    served(wanted, kinds).next().is_none()
        && kinds.all().iter().flat_map(|r| &r.subresources).any(|part| fits(&part.kind))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;
    use ephor_document::yaml_value;

    fn checked(kind: &str, selected: &str, more: &str) -> Online {
        let text = format!(
            "{{apiVersion: kyverno.io/v1, kind: {kind}, metadata: {{name: a}}, spec: {{{more}rules: [{{name: r, match: {{any: [{{resources: {{kinds: ['{selected}']}}}}]}}, validate: {{message: m, deny: {{}}}}}}]}}}}"
        );
        check(&yaml_value(&text).unwrap(), Kinds::built_in())
    }

    #[test]
    fn a_policy_of_a_namespace_selects_no_kinds_of_the_whole_cluster() {
        let refusal = checked("Policy", "Node", "").refusal.unwrap();
        assert_eq!(
            refusal,
            "spec.rules[0].match.any[0].kinds[0]: Forbidden: Cluster wide resource 'Node' not allowed in namespaced policy"
        );
        assert!(checked("Policy", "rbac.authorization.k8s.io/v1/ClusterRole", "").refusal.is_some());
        assert_eq!(checked("Policy", "ConfigMap", ""), Online::default());
        assert_eq!(checked("ClusterPolicy", "Node", ""), Online::default());
    }

    #[test]
    fn background_scans_see_no_subresources() {
        for kind in ["Pod/exec", "Scale", "*/status", "*/*", "Pod/*"] {
            let refusal = checked("ClusterPolicy", kind, "").refusal.unwrap();
            assert!(
                refusal.ends_with(&format!("background scan enabled with subresource {kind}")),
                "{refusal}"
            );
            assert_eq!(checked("ClusterPolicy", kind, "background: false, ").refusal, None, "{kind}");
        }
    }

    #[test]
    fn a_kind_that_the_cluster_does_not_serve_yet_gives_a_warning() {
        let found = checked("ClusterPolicy", "Foo", "");
        assert_eq!(found.refusal, None);
        assert_eq!(
            found.warnings,
            [
                "the kind defined in the all match resource is invalid: unable to convert GVK to GVR for kinds Foo, err: resource not found"
            ]
        );
    }
}
