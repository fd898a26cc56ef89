//! Groups of our own with Kyverno's kinds: `ephor.dev` for `kyverno.io`, `policies.ephor.dev` for
//! `policies.kyverno.io`.
//!
//! In: names of groups, objects. Out: the same in the other group. Objects of both are the same
//! policies, with one schema; what reads them sees Kyverno's names alone. They exist because a
//! webhook of Kyverno may refuse writes to its own groups. Semantics: `docs/guides/own-group.md`.

use ephor_value::{Map, Str, Value};

/// Kyverno's groups of policies, each with ours.
const GROUPS: [(&str, &str); 2] =
    [("kyverno.io", "ephor.dev"), ("policies.kyverno.io", "policies.ephor.dev")];
/// The version of each kind in our groups is Kyverno's.
const PREFIX: &str = "/apis/";

/// Which names policies have.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PolicyNames {
    /// Kyverno's.
    #[default]
    Kyverno,
    /// Our own.
    Own,
}

impl PolicyNames {
    /// The other name of a group, which these names replace; `None` = the group is none of
    /// policies, or has this name already.
    pub fn of_group(self, group: &str) -> Option<&'static str> {
        GROUPS.into_iter().find_map(|(kyverno, own)| match self {
            PolicyNames::Kyverno => (group == own).then_some(kyverno),
            PolicyNames::Own => (group == kyverno).then_some(own),
        })
    }

    /// `apiVersion` under these names.
    pub fn of_api_version(self, api_version: &str) -> Option<String> {
        let (group, version) = api_version.split_once('/')?;
        Some(format!("{}/{version}", self.of_group(group)?))
    }

    /// A path of the Kubernetes API under these names.
    pub fn of_path(self, path: &str) -> Option<String> {
        let (group, rest) = path.strip_prefix(PREFIX)?.split_once('/')?;
        Some(format!("{PREFIX}{}/{rest}", self.of_group(group)?))
    }

    /// An object under these names: its own group, and where it names objects or resources of such
    /// a group (`apiVersion`, `group`, `apiGroups`).
    pub fn of_object(self, object: &Value) -> Value {
        match object {
            Value::Map(members) => {
                Value::Map(members.iter().map(|(k, v)| self.member(k, v)).collect::<Map>())
            }
            Value::List(items) => Value::list(items.iter().map(|item| self.of_object(item)).collect()),
            other => other.clone(),
        }
    }

    fn member(self, key: &Str, value: &Value) -> (Str, Value) {
        let renamed = match (&**key, value) {
            ("apiVersion", Value::Str(text)) => self.of_api_version(text).map(Value::from),
            ("group", Value::Str(text)) => self.of_group(text).map(Value::from),
            ("apiGroups", Value::List(groups)) => {
                let renamed = |group: &Value| group.as_str().and_then(|g| self.of_group(g)).map(Value::from);
                Some(Value::list(groups.iter().map(|g| renamed(g).unwrap_or_else(|| g.clone())).collect()))
            }
            _ => None,
        };
        (key.clone(), renamed.unwrap_or_else(|| self.of_object(value)))
    }
}

/// Our own groups.
pub fn own() -> impl Iterator<Item = &'static str> {
    GROUPS.into_iter().map(|(_, own)| own)
}

/// Whether a group is one of policies, under either name.
pub fn is_of_policies(group: &str) -> bool {
    GROUPS.into_iter().any(|(kyverno, own)| group == kyverno || group == own)
}

/// A policy, or a list of them, as those that read policies know it: in our own groups only its
/// group has another name.
pub fn read(document: &Value) -> Option<Value> {
    let of_list = |items: &[Value]| {
        let read: Vec<Option<Value>> = items.iter().map(read).collect();
        let or_same = || read.iter().zip(items).map(|(r, i)| r.clone().unwrap_or_else(|| i.clone()));
        read.iter().any(Option::is_some).then(|| Value::list(or_same().collect()))
    };
    let Value::Map(members) = document else {
        return document.as_list().and_then(of_list);
    };
    let version = members.get("apiVersion").and_then(Value::as_str);
    let version = version.and_then(|version| PolicyNames::Kyverno.of_api_version(version));
    let is_list = members.get("kind").and_then(Value::as_str).is_some_and(|kind| kind.ends_with("List"));
    let items = members.get("items").filter(|_| is_list).and_then(Value::as_list).and_then(of_list);
    if version.is_none() && items.is_none() {
        return None;
    }
    let mut members = members.clone();
    version.into_iter().for_each(|version| drop(members.insert("apiVersion", version.into())));
    items.into_iter().for_each(|items| drop(members.insert("items", items)));
    Some(Value::Map(members))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    fn map<const N: usize>(members: [(&str, Value); N]) -> Value {
        Value::map(members)
    }

    #[test]
    fn a_group_has_a_name_of_its_own_and_no_other_group_does() {
        assert_eq!(PolicyNames::Own.of_group("policies.kyverno.io"), Some("policies.ephor.dev"));
        assert_eq!(PolicyNames::Kyverno.of_group("ephor.dev"), Some("kyverno.io"));
        for other in ["reports.kyverno.io", "xkyverno.io", "apps", "", "kyverno.io."] {
            assert_eq!(PolicyNames::Own.of_group(other), None, "{other}");
        }
        assert_eq!(
            PolicyNames::Own.of_api_version("kyverno.io/v2beta1").as_deref(),
            Some("ephor.dev/v2beta1")
        );
        assert_eq!(PolicyNames::Own.of_api_version("v1"), None);
    }

    #[test]
    fn a_path_names_its_group_at_its_beginning_alone() {
        let of = |path| PolicyNames::Own.of_path(path);
        assert_eq!(
            of("/apis/kyverno.io/v1/clusterpolicies/a").as_deref(),
            Some("/apis/ephor.dev/v1/clusterpolicies/a")
        );
        assert_eq!(of("/api/v1/namespaces/kyverno.io"), None);
        assert_eq!(of("/apis/apps/v1/namespaces/kyverno.io/deployments"), None);
        assert_eq!(of("/apis"), None);
    }

    #[test]
    fn an_object_and_what_it_refers_to_are_renamed_and_texts_are_not() {
        let owner = map([("apiVersion", "kyverno.io/v1".into()), ("kind", "ClusterPolicy".into())]);
        let rule = map([("apiGroups", Value::list(vec!["kyverno.io".into(), "apps".into()]))]);
        let object = map([
            ("apiVersion", "admissionregistration.k8s.io/v1".into()),
            ("metadata", map([("ownerReferences", Value::list(vec![owner])), ("name", "kyverno.io".into())])),
            ("rules", Value::list(vec![rule])),
            ("message", "kyverno.io/v1".into()),
        ]);
        let own = PolicyNames::Own.of_object(&object);
        let owners = own.at(&["metadata", "ownerReferences"]).unwrap().as_list().unwrap();
        assert_eq!(owners[0].text_at(&["apiVersion"]), "ephor.dev/v1");
        let groups = own.get("rules").unwrap().as_list().unwrap()[0].get("apiGroups").unwrap();
        assert_eq!(groups, &Value::list(vec!["ephor.dev".into(), "apps".into()]));
        assert_eq!(own.text_at(&["metadata", "name"]), "kyverno.io");
        assert_eq!(own.text_at(&["message"]), "kyverno.io/v1");
        assert_eq!(PolicyNames::Kyverno.of_object(&own), object);
    }

    #[test]
    fn what_reads_policies_sees_kyvernos_names_in_lists_too() {
        let policy = |version: &str| map([("apiVersion", version.into()), ("kind", "Policy".into())]);
        let list = |items| {
            map([("apiVersion", "v1".into()), ("kind", "List".into()), ("items", Value::list(items))])
        };
        assert_eq!(read(&policy("ephor.dev/v1")), Some(policy("kyverno.io/v1")));
        assert_eq!(read(&policy("kyverno.io/v1")), None);
        let (own, other) = (policy("ephor.dev/v1"), policy("example.com/v1"));
        assert_eq!(read(&list(vec![own, other.clone()])), Some(list(vec![policy("kyverno.io/v1"), other])));
    }
}
