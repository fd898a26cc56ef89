//! Parameters: which objects a policy is evaluated with.

use ephor_ir::admission::{ParamRef, PolicyBinding};
use ephor_matching::filter::selects;
use ephor_value::{Map, Value};

use super::bound::BoundPolicy;
use super::cluster_view::ClusterView;
use super::{BindingError, Review};
use ephor_kubernetes::convert::with_kind;
use ephor_kubernetes::release::ServerRules;
use ephor_kubernetes::views::viewed;

/// The parameters of an evaluation each; none at all means none takes place.
///
/// # Errors
/// What is wrong with the binding.
pub fn params(
    policy: BoundPolicy<'_>,
    binding: &PolicyBinding,
    review: &Review,
    cluster: &ClusterView<'_>,
) -> Result<Vec<Option<Value>>, BindingError> {
    let Some(kind) = policy.param_kind() else { return Ok(vec![None]) };
    let Some(wanted) = &binding.params else { return Ok(vec![Some(Value::Null)]) };
    // Parameters can change without an admission request.
    ephor_functions::untracked::note();
    let [group, version, name] = kind;
    let known = cluster.kinds().kind(group, version, name);
    let namespaced = known.is_none_or(|r| r.namespaced);
    let mut namespace = "";
    if namespaced {
        namespace =
            if wanted.namespace.is_empty() { &review.attributes.namespace } else { &wanted.namespace };
        if namespace.is_empty() {
            return Err(BindingError::NamespacedForClusterScoped);
        }
    } else if !wanted.namespace.is_empty() {
        return Err(BindingError::NamespaceOfClusterScoped);
    }
    match (wanted.name.is_empty(), wanted.selector.is_some()) {
        (false, true) => return Err(BindingError::NameAndSelector),
        (true, false) => return Err(BindingError::NeitherNameNorSelector),
        _ => {}
    }
    let mut found = cluster.parameters(group, name, namespace);
    found.retain(|o| is_wanted(wanted, o));
    found.sort_by(|a, b| a.text_at(&["metadata", "name"]).cmp(b.text_at(&["metadata", "name"])));
    if found.is_empty() && wanted.must_exist {
        return Err(BindingError::NoParams);
    }
    let is_custom = cluster.types().of_kind(kind).is_none_or(|def| def.custom);
    let has_kind = is_custom || !policy.mutates();
    let release = cluster.release();
    let seen = |o: &Value| {
        let seen = if has_kind { with_kind(o, kind) } else { without_kind(o) };
        match ServerRules::of(release).has_typed_views {
            true => viewed(&seen, kind, release),
            false => seen,
        }
    };
    Ok(found.iter().map(|o| Some(seen(o))).collect())
}

/// Mutations see parameters of built-in kinds as an API server reads them from its lists: without
/// their kind.
fn without_kind(object: &Value) -> Value {
    let mut m = object.as_map().cloned().unwrap_or_default();
    for key in ["apiVersion", "kind"] {
        m.remove(key);
    }
    Value::Map(m)
}

fn is_wanted(wanted: &ParamRef, object: &Value) -> bool {
    let labels =
        || object.at(&["metadata", "labels"]).and_then(Value::as_map).cloned().unwrap_or_else(Map::new);
    match &wanted.selector {
        Some(selector) => selects(selector, &labels()),
        None => object.text_at(&["metadata", "name"]) == &*wanted.name,
    }
}
