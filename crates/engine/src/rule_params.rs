//! Parameters of `validate.cel` rules.
//!
//! In: the `paramKind` and `paramRef` of a rule, and the cluster. Out: the objects that its expressions are
//! evaluated with, or why the rule fails ([`find`]). Kyverno's command line has a stand-in for a cluster
//! with eight kinds, none in namespaces, and no objects; [`look_up_offline`] gives the texts that come of it.
//! Semantics: `docs/validate.md`, "Bodies".

use crate::external::ExternalData;
use crate::ir::expressions::Params;
use crate::kubernetes::convert::with_kind;
use crate::matching::filter::selects;
use crate::value::{Map, Value};

use super::Request;

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

/// The parameters that a rule is evaluated with, one after another, in the order of their names; none at all
/// means that the rule passes.
///
/// # Errors
/// Why the rule fails.
pub fn find(params: &Params, request: &Request, external: &dyn ExternalData) -> Result<Vec<Value>, String> {
    let found = || {
        const NO_CLUSTER: &str = "there is no cluster to look parameters up in";
        let kinds = external.kinds().ok_or(NO_CLUSTER)??;
        let (group, version) = match params.api_version.matches('/').count() {
            0 => ("", &*params.api_version),
            1 => params.api_version.split_once('/').unwrap_or_default(),
            _ => return Err("can't parse the parameter resource group version".to_owned()),
        };
        let Some(kind) = kinds.kind(group, version, &params.kind) else {
            let (version, kind) = (&params.api_version, &params.kind);
            return Err(format!(
                "failed to check if resource is namespaced or not (no matches for kind \"{kind}\" in version \"{version}\")"
            ));
        };
        let namespace = match (kind.namespaced, &*params.namespace) {
            (true, "") if request.target.namespace.is_empty() || &*request.target.kind == "Namespace" => {
                return Err("can't use namespaced paramRef to match cluster-scoped resources".to_owned());
            }
            (true, "") => &*request.target.namespace,
            (true, own) => own,
            (false, "") => "",
            (false, _) => {
                let text = "paramRef.namespace must not be provided for a cluster-scoped `paramKind`";
                return Err(text.to_owned());
            }
        };
        let name = |o: &Value| o.text_at(&["metadata", "name"]).to_owned();
        let none = Map::new();
        let labels = |o: &Value| -> Map {
            o.at(&["metadata", "labels"]).and_then(Value::as_map).unwrap_or(&none).clone()
        };
        let wanted = |o: &Value| match &params.selector {
            _ if !params.name.is_empty() => o.text_at(&["metadata", "name"]) == &*params.name,
            Some(selector) => selects(selector, &labels(o)),
            None => false,
        };
        let mut found = external.parameters(group, &kind.kind, namespace).ok_or(NO_CLUSTER)?;
        found.retain(wanted);
        found.sort_by_key(name);
        if found.is_empty() && !params.name.is_empty() {
            let group = if group.is_empty() { String::new() } else { format!(".{group}") };
            return Err(format!("{}{group} \"{}\" not found", kind.plural, params.name));
        }
        if found.is_empty() && params.must_exist {
            return Err("no params found".to_owned());
        }
        let kind = [group.into(), version.into(), kind.kind.clone()];
        Ok(found.iter().map(|o| with_kind(o, &kind)).collect())
    };
    found().map_err(failed)
}

fn failed(text: String) -> String {
    format!("error in parameterized resource: {text}")
}

/// What comes of looking for parameters in the stand-in cluster of Kyverno's command line: `Ok` = there
/// are none, and none are needed.
///
/// # Errors
/// Why the rule fails.
pub fn look_up_offline(params: &Params) -> Result<(), String> {
    let found = || {
        if params.api_version.matches('/').count() > 1 {
            return Err("can't parse the parameter resource group version".to_owned());
        }
        let kind = params.kind.to_lowercase();
        let Some((_, plural)) = KNOWN.iter().find(|(known, _)| *known == kind) else {
            return Err("failed to check if resource is namespaced or not (not found)".to_owned());
        };
        if !params.namespace.is_empty() {
            let text = "paramRef.namespace must not be provided for a cluster-scoped `paramKind`";
            return Err(text.to_owned());
        }
        match &*params.name {
            "" if params.must_exist => Err("no params found".to_owned()),
            "" => Ok(()),
            name => Err(format!("{plural} \"{name}\" not found")),
        }
    };
    found().map_err(failed)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn params(kind: &str, name: &str, namespace: &str, must_exist: bool) -> Result<(), String> {
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

    fn refused(text: &str) -> Result<(), String> {
        Err(format!("error in parameterized resource: {text}"))
    }

    #[test]
    fn a_named_object_is_never_there() {
        assert_eq!(params("v1/ConfigMap", "pp", "", false), refused("configmaps \"pp\" not found"));
        assert_eq!(params("v1/Deployment", "pp", "", true), refused("deployments.apps \"pp\" not found"));
    }

    #[test]
    fn chosen_objects_may_be_missing_only_if_the_rule_says_so() {
        assert_eq!(params("v1/Secret", "", "", true), refused("no params found"));
        assert_eq!(params("v1/Secret", "", "", false), Ok(()));
    }

    #[test]
    fn kinds_are_looked_up_before_objects() {
        let unknown = refused("failed to check if resource is namespaced or not (not found)");
        assert_eq!(params("v1/Pod", "pp", "x", true), unknown);
        let version = refused("can't parse the parameter resource group version");
        assert_eq!(params("a/b/c/Pod", "pp", "", true), version);
        let namespace = refused("paramRef.namespace must not be provided for a cluster-scoped `paramKind`");
        assert_eq!(params("v1/ConfigMap", "", "x", true), namespace);
    }
}
