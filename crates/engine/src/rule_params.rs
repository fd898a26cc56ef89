//! Parameters of `validate.cel` rules.
//!
//! In: the `paramKind` and `paramRef` of a rule, and the cluster. Out: the objects that its
//! expressions are evaluated with, or why the rule fails ([`find`]). Kyverno's command line has a
//! stand-in for a cluster with eight kinds, none in namespaces, and no objects; [`look_up_offline`]
//! gives the texts that come of it. Semantics: `docs/semantics/validate.md`, "Bodies".

use ephor_external::ExternalData;
use ephor_ir::expressions::Params;
use ephor_kubernetes::convert::with_kind;
use ephor_matching::filter::selects;
use ephor_value::{Map, Str, Value};

use super::Request;

/// Why a rule has no parameters; the texts are Kyverno's.
#[derive(Debug, PartialEq, thiserror::Error)]
pub enum ParamsError {
    /// There is no cluster.
    #[error("error in parameterized resource: there is no cluster to look parameters up in")]
    NoCluster,
    /// The cluster does not say which kinds it has; the words are its own.
    #[error("error in parameterized resource: {0}")]
    Kinds(Box<str>),
    /// The version has more than one slash.
    #[error("error in parameterized resource: can't parse the parameter resource group version")]
    Version,
    /// The cluster does not have the kind.
    #[error(
        "error in parameterized resource: failed to check if resource is namespaced or not (no matches for kind \"{kind}\" in version \"{version}\")"
    )]
    NoKind {
        /// The kind.
        kind: Str,
        /// The version, with its group.
        version: Str,
    },
    /// The stand-in cluster does not have the kind.
    #[error("error in parameterized resource: failed to check if resource is namespaced or not (not found)")]
    UnknownKind,
    /// The parameters have a namespace, the object has none.
    #[error(
        "error in parameterized resource: can't use namespaced paramRef to match cluster-scoped resources"
    )]
    NamespacedForClusterScoped,
    /// The parameters have no namespace, but are looked up in one.
    #[error(
        "error in parameterized resource: paramRef.namespace must not be provided for a cluster-scoped `paramKind`"
    )]
    NamespaceOfClusterScoped,
    /// There is no object with the name.
    #[error("error in parameterized resource: {resource} \"{name}\" not found")]
    Missing {
        /// The plural of the kind with its group.
        resource: Box<str>,
        /// The name.
        name: Str,
    },
    /// No object is selected, and one must be.
    #[error("error in parameterized resource: no params found")]
    NoneSelected,
}

/// The kinds that are known, in lower case, and how their objects are called.
const KNOWN: [(&str, &str); 8] = [
    ("configmap", "configmaps"),
    ("daemonset", "daemonsets.apps"),
    ("deployment", "deployments.apps"),
    ("namespace", "namespaces"),
    ("resourcequota", "resourcequotas"),
    ("secret", "secrets"),
    ("serviceaccount", "serviceaccounts"),
    ("statefulset", "statefulsets.apps"),
];

/// The parameters that a rule is evaluated with, one after another, in the order of their names;
/// none at all means that the rule passes.
///
/// # Errors
/// Why the rule fails.
pub fn find(
    params: &Params,
    request: &Request,
    external: &dyn ExternalData,
) -> Result<Vec<Value>, ParamsError> {
    let kinds = external.kinds().ok_or(ParamsError::NoCluster)?;
    let kinds = kinds.map_err(|e| ParamsError::Kinds(e.to_string().into()))?;
    let (group, version) = match params.api_version.matches('/').count() {
        0 => ("", &*params.api_version),
        1 => params.api_version.split_once('/').unwrap_or_default(),
        _ => return Err(ParamsError::Version),
    };
    let Some(kind) = kinds.kind(group, version, &params.kind) else {
        let (kind, version) = (params.kind.clone(), params.api_version.clone());
        return Err(ParamsError::NoKind { kind, version });
    };
    let namespace = match (kind.namespaced, &*params.namespace) {
        (true, "") if request.target.namespace.is_empty() || &*request.target.kind == "Namespace" => {
            return Err(ParamsError::NamespacedForClusterScoped);
        }
        (true, "") => &*request.target.namespace,
        (true, own) => own,
        (false, "") => "",
        (false, _) => return Err(ParamsError::NamespaceOfClusterScoped),
    };
    let name = |o: &Value| o.text_at(&["metadata", "name"]).to_owned();
    let none = Map::new();
    let labels =
        |o: &Value| -> Map { o.at(&["metadata", "labels"]).and_then(Value::as_map).unwrap_or(&none).clone() };
    let wanted = |o: &Value| match &params.selector {
        _ if !params.name.is_empty() => o.text_at(&["metadata", "name"]) == &*params.name,
        Some(selector) => selects(selector, &labels(o)),
        None => false,
    };
    let mut found = external.parameters(group, &kind.kind, namespace).ok_or(ParamsError::NoCluster)?;
    found.retain(wanted);
    found.sort_by_key(name);
    if found.is_empty() && !params.name.is_empty() {
        let group = if group.is_empty() { String::new() } else { format!(".{group}") };
        let resource = format!("{}{group}", kind.plural).into();
        return Err(ParamsError::Missing { resource, name: params.name.clone() });
    }
    if found.is_empty() && params.must_exist {
        return Err(ParamsError::NoneSelected);
    }
    let kind = [group.into(), version.into(), kind.kind.clone()];
    Ok(found.iter().map(|o| with_kind(o, &kind)).collect())
}

/// The result of the lookup of parameters in the stand-in cluster of Kyverno's command line: `Ok` =
/// there are none, and none are needed.
///
/// # Errors
/// Why the rule fails.
pub fn look_up_offline(params: &Params) -> Result<(), ParamsError> {
    if params.api_version.matches('/').count() > 1 {
        return Err(ParamsError::Version);
    }
    let kind = params.kind.to_lowercase();
    let Some((_, plural)) = KNOWN.iter().find(|(known, _)| *known == kind) else {
        return Err(ParamsError::UnknownKind);
    };
    if !params.namespace.is_empty() {
        return Err(ParamsError::NamespaceOfClusterScoped);
    }
    match &*params.name {
        "" if params.must_exist => Err(ParamsError::NoneSelected),
        "" => Ok(()),
        _ => Err(ParamsError::Missing { resource: (*plural).into(), name: params.name.clone() }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn params(kind: &str, name: &str, namespace: &str, must_exist: bool) -> Result<(), ParamsError> {
        let (api_version, kind) = kind.rsplit_once('/').unwrap_or_default();
        look_up_offline(&Params {
            api_version: api_version.into(),
            kind: kind.into(),
            name: name.into(),
            selector: None,
            namespace: namespace.into(),
            must_exist,
        })
    }

    fn refused(error: ParamsError, text: &str) -> Result<(), ParamsError> {
        assert_eq!(error.to_string(), format!("error in parameterized resource: {text}"));
        Err(error)
    }

    fn missing(resource: &str) -> ParamsError {
        ParamsError::Missing { resource: resource.into(), name: "pp".into() }
    }

    #[test]
    fn a_named_object_is_never_there() {
        let refused = |kind| refused(missing(kind), &format!("{kind} \"pp\" not found"));
        assert_eq!(params("v1/ConfigMap", "pp", "", false), refused("configmaps"));
        assert_eq!(params("v1/Deployment", "pp", "", true), refused("deployments.apps"));
    }

    #[test]
    fn chosen_objects_may_be_missing_only_if_the_rule_says_so() {
        assert_eq!(params("v1/Secret", "", "", true), refused(ParamsError::NoneSelected, "no params found"));
        assert_eq!(params("v1/Secret", "", "", false), Ok(()));
    }

    #[test]
    fn kinds_are_looked_up_before_objects() {
        let text = "failed to check if resource is namespaced or not (not found)";
        let unknown = refused(ParamsError::UnknownKind, text);
        assert_eq!(params("v1/Pod", "pp", "x", true), unknown);
        let text = "can't parse the parameter resource group version";
        let version = refused(ParamsError::Version, text);
        assert_eq!(params("a/b/c/Pod", "pp", "", true), version);
        let text = "paramRef.namespace must not be provided for a cluster-scoped `paramKind`";
        let namespace = refused(ParamsError::NamespaceOfClusterScoped, text);
        assert_eq!(params("v1/ConfigMap", "", "x", true), namespace);
    }
}
