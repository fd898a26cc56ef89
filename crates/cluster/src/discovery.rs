//! What a cluster serves: groups, versions, resources.
//!
//! The preferred version of a group comes first. A group whose server does not answer is skipped.

use ephor_kubernetes::Resource;
use ephor_kubernetes::groups::PolicyNames;
use ephor_kubernetes::kinds::Subresource;
use ephor_value::{Str, Value};

use crate::failure::Failure;

/// All resources, those of the core group first.
pub(crate) fn resources(
    names: PolicyNames,
    get: impl Fn(&str) -> Result<Value, Failure>,
) -> Result<Vec<Resource>, Failure> {
    let core = get("/api")?;
    let groups = get("/apis")?;
    let mut all = Vec::new();
    for version in list(&core, "versions").iter().filter_map(Value::as_str) {
        all.extend(of_version("", version, &get(&format!("/api/{version}"))?));
    }
    for group in list(&groups, "groups") {
        let name = group.text_at(&["name"]);
        let name = match names {
            // What Kyverno stores under its own names is not seen.
            PolicyNames::Own if PolicyNames::Own.of_group(name).is_some() => continue,
            PolicyNames::Own => PolicyNames::Kyverno.of_group(name).unwrap_or(name),
            PolicyNames::Kyverno => name,
        };
        let preferred = group.text_at(&["preferredVersion", "version"]);
        let others =
            list(group, "versions").iter().map(|v| v.text_at(&["version"])).filter(|v| *v != preferred);
        for version in std::iter::once(preferred).chain(others) {
            if let Ok(found) = get(&format!("/apis/{name}/{version}")) {
                all.extend(of_version(name, version, &found));
            }
        }
    }
    Ok(all)
}

fn list<'v>(v: &'v Value, key: &str) -> &'v [Value] {
    v.get(key).and_then(Value::as_list).unwrap_or_default()
}

/// The resources of a version.
pub(crate) fn of_version(group: &str, version: &str, found: &Value) -> Vec<Resource> {
    let all = list(found, "resources");
    let or = |v: &Value, key: &str, other: &str| {
        Str::from(Some(v.text_at(&[key])).filter(|t| !t.is_empty()).unwrap_or(other))
    };
    let own = |v: &Value| [or(v, "group", group), or(v, "version", version), Str::from(v.text_at(&["kind"]))];
    let subresources = |plural: &str| {
        let below = all.iter().filter_map(|r| {
            let (parent, name) = r.text_at(&["name"]).split_once('/')?;
            (parent == plural).then(|| {
                // The group of a subresource is empty when it is that of its parent.
                let kind = [
                    Str::from(if r.get("group").is_some() || r.get("version").is_some() {
                        r.text_at(&["group"])
                    } else {
                        group
                    }),
                    or(r, "version", version),
                    Str::from(r.text_at(&["kind"])),
                ];
                Subresource { name: name.into(), kind }
            })
        });
        below.collect()
    };
    let resource = |r: &Value| {
        let plural = r.text_at(&["name"]);
        let [_, _, kind] = own(r);
        Resource {
            group: group.into(),
            version: version.into(),
            plural: plural.into(),
            kind,
            namespaced: r.get("namespaced").and_then(Value::as_bool) == Some(true),
            subresources: subresources(plural),
        }
    };
    all.iter().filter(|r| !r.text_at(&["name"]).contains('/')).map(resource).collect()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn subresources_belong_to_their_resource_with_kinds_of_their_own() {
        let found = ephor_document::yaml_value(
            "{resources: [{name: deployments, kind: Deployment, namespaced: true}, \
             {name: deployments/scale, group: autoscaling, version: v1, kind: Scale, namespaced: true}, \
             {name: deployments/status, kind: Deployment, namespaced: true}]}",
        )
        .unwrap();
        let all = of_version("apps", "v1", &found);
        let [deployments] = &all[..] else { unreachable!("{all:?}") };
        assert!(deployments.namespaced);
        assert_eq!(
            deployments.kind_of("scale").unwrap().map(|s| s.to_string()),
            ["autoscaling", "v1", "Scale"]
        );
        assert_eq!(
            deployments.kind_of("status").unwrap().map(|s| s.to_string()),
            ["apps", "v1", "Deployment"]
        );
    }
}
