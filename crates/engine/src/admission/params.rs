//! Parameters: which objects a policy is evaluated with.

use crate::ir::admission::{ParamRef, PolicyBinding};
use crate::matching::filter::selects;
use crate::value::{Map, Value};

use super::convert::with_kind;
use super::{BoundPolicy, ClusterView, Review};

/// The parameters of an evaluation each; none at all means none takes place.
///
/// # Errors
/// What is wrong with the binding.
pub fn params(
    policy: BoundPolicy<'_>,
    binding: &PolicyBinding,
    review: &Review,
    cluster: &ClusterView<'_>,
) -> Result<Vec<Option<Value>>, String> {
    let Some(kind) = policy.param_kind() else { return Ok(vec![None]) };
    let Some(wanted) = &binding.params else { return Ok(vec![Some(Value::Null)]) };
    // Parameters can change without an admission request.
    crate::functions::untracked::note();
    let [group, version, name] = kind;
    let known = cluster.kinds().kind(group, version, name);
    let namespaced = known.is_none_or(|r| r.namespaced);
    let mut namespace = "";
    if namespaced {
        namespace =
            if wanted.namespace.is_empty() { &review.attributes.namespace } else { &wanted.namespace };
        if namespace.is_empty() {
            return Err(
                "cannot use namespaced paramRef in policy binding that matches cluster-scoped resources"
                    .into(),
            );
        }
    } else if !wanted.namespace.is_empty() {
        return Err("paramRef.namespace must not be provided for a cluster-scoped `paramKind`".into());
    }
    match (wanted.name.is_empty(), wanted.selector.is_some()) {
        (false, true) => return Err("paramRef.name and paramRef.selector are mutually exclusive".into()),
        (true, false) => return Err("one of name or selector must be provided".into()),
        _ => {}
    }
    let mut found = cluster.parameters(group, name, namespace);
    found.retain(|o| is_wanted(wanted, o));
    found.sort_by(|a, b| a.text_at(&["metadata", "name"]).cmp(b.text_at(&["metadata", "name"])));
    if found.is_empty() && wanted.must_exist {
        return Err("no params found for policy binding with `Deny` parameterNotFoundAction".into());
    }
    Ok(found.iter().map(|o| Some(with_kind(o, kind))).collect())
}

fn is_wanted(wanted: &ParamRef, object: &Value) -> bool {
    let labels =
        || object.at(&["metadata", "labels"]).and_then(Value::as_map).cloned().unwrap_or_else(Map::new);
    match &wanted.selector {
        Some(selector) => selects(selector, &labels()),
        None => object.text_at(&["metadata", "name"]) == &*wanted.name,
    }
}
