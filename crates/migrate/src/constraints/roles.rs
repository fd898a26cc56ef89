//! Roles of users → tests in CEL.
//!
//! In: the roles and cluster roles of a filter. Out: an expression that looks them up in the role
//! bindings of the cluster, as the old policy's webhook does: requests name no roles. And the other
//! way round, for comparisons: a policy that wants groups in the place of roles, as no object says
//! who has a role. Semantics: `docs/semantics/policies.md`, "Matching".

use ephor_value::{Map, Str, Value};

use super::cel::literals;
use super::kinds::Selected;

/// Whether a subject of a binding is the user of a request.
const IS_USER: &str = "binding.?subjects.orValue([]).exists(subject, \
     subject.kind == 'User' && subject.name == request.userInfo.username || \
     subject.kind == 'Group' && subject.name in request.userInfo.?groups.orValue([]) || \
     subject.kind == 'ServiceAccount' && \
     'system:serviceaccount:' + subject.namespace + ':' + subject.name == request.userInfo.username)";

fn bindings(resource: &str, namespace: &str) -> String {
    format!("dyn(resource.list('rbac.authorization.k8s.io/v1', '{resource}', {namespace})).items")
}

/// Whether the user has one of some roles, `namespace:name`, wherever the request goes.
pub(crate) fn has_role(roles: &[Str]) -> String {
    format!(
        "{}.exists(binding, binding.roleRef.kind == 'Role' && \
         binding.metadata.namespace + ':' + binding.roleRef.name in {} && {IS_USER})",
        bindings("rolebindings", "''"),
        literals(roles),
    )
}

/// Whether the user has one of some cluster roles, in the cluster or in the namespace of the
/// request.
pub(crate) fn has_cluster_role(roles: &[Str], matched: &Selected) -> String {
    let everywhere = bindings("clusterrolebindings", "''");
    let name = match roles {
        [one] => format!("binding.roleRef.name == {}", super::cel::literal(one)),
        several => format!("binding.roleRef.name in {}", literals(several)),
    };
    let (all, place) = match matched.has_cluster || matched.has_namespaces {
        // Without a namespace those of all namespaces would be listed.
        true => (
            format!("({everywhere} + {})", bindings("rolebindings", "''")),
            " && (!has(binding.metadata.namespace) || binding.metadata.namespace == request.?namespace.orValue(''))",
        ),
        false => (format!("({everywhere} + {})", bindings("rolebindings", "request.namespace")), ""),
    };
    format!("{all}.exists(binding, binding.roleRef.kind == 'ClusterRole' && {name}{place} && {IS_USER})")
}

/// The places of filters in a matcher.
const LISTS: [&str; 2] = ["any", "all"];

/// A policy with groups in the place of the roles that its filters want; `None`: they want none, or
/// other users, too.
pub fn as_groups(policy: &Value) -> Option<Value> {
    let rules = policy.at(&["spec", "rules"])?.as_list()?;
    let mut is_other = false;
    let changed: Option<Vec<Value>> = rules
        .iter()
        .map(|rule| {
            let mut rule = rule.clone();
            for key in ["match", "exclude"] {
                if let Some(matcher) = rule.get(key) {
                    let own = of_matcher(matcher)?;
                    is_other |= own != *matcher;
                    rule = rule.with(key, own);
                }
            }
            Some(rule)
        })
        .collect();
    let spec = policy.get("spec")?.with("rules", Value::list(changed?));
    is_other.then(|| policy.with("spec", spec))
}

fn of_matcher(matcher: &Value) -> Option<Value> {
    let mut out = of_filter(matcher)?;
    for key in LISTS {
        if let Some(filters) = matcher.get(key).and_then(Value::as_list) {
            let filters: Option<Vec<Value>> = filters.iter().map(of_filter).collect();
            out = out.with(key, Value::list(filters?));
        }
    }
    Some(out)
}

fn of_filter(filter: &Value) -> Option<Value> {
    let Value::Map(fields) = filter else { return Some(filter.clone()) };
    let of = |key: &str| filter.get(key).and_then(Value::as_list).filter(|all| !all.is_empty());
    let wanted = match (of("roles"), of("clusterRoles"), of("subjects")) {
        (None, None, _) => return Some(filter.clone()),
        (Some(roles), None, None) | (None, Some(roles), None) => roles,
        _ => return None,
    };
    let subject = |role: &Value| {
        let mut subject = Map::new();
        subject.insert("kind", Value::from("Group"));
        subject.insert("name", Value::from(&*format!("role {}", role.as_str().unwrap_or_default())));
        Value::Map(subject)
    };
    let mut fields = fields.clone();
    for key in ["roles", "clusterRoles"] {
        fields.remove(key);
    }
    fields.insert("subjects", Value::list(wanted.iter().map(subject).collect::<Vec<_>>()));
    Some(Value::Map(fields))
}
