//! Parameters of rules where there is no cluster to look them up in.
//!
//! In: what a rule says of its parameters. Out: that it passes without being asked, or why it fails. The
//! reference's command line stands in for a cluster with one that has eight kinds, none in namespaces, and
//! no objects; the texts are those that come of it.

use crate::ir::expressions::Params;

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

/// What comes of looking for parameters: `Ok` = there are none, and none are needed.
///
/// # Errors
/// Why the rule fails.
pub fn look_up(params: &Params) -> Result<(), String> {
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
    found().map_err(|text| format!("error in parameterized resource: {text}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn params(kind: &str, name: &str, namespace: &str, must_exist: bool) -> Result<(), String> {
        let (api_version, kind) = kind.rsplit_once('/').unwrap_or_default();
        look_up(&Params {
            api_version: api_version.into(),
            kind: kind.into(),
            name: name.into(),
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
