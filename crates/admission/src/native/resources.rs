//! Kinds of filters → resources of rules.

use std::cmp::Ordering;

use ephor_api::read::{listed, texts as texts_of};
use ephor_kubernetes::{Kinds, Resource};
use ephor_matching::kinds::parse;
use ephor_value::wildcard::matches;
use ephor_value::{Map, Value};

use super::parts::{map, texts};

/// What a rule without operations is about.
const OPERATIONS: [&str; 4] = ["CREATE", "UPDATE", "CONNECT", "DELETE"];

/// A kind that no resource of the server has, or several have.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("no unique match for kind {0}")]
pub struct UnknownKind(pub Box<str>);

/// A rule under construction.
struct ResourceRule {
    group: String,
    version: String,
    resources: Vec<String>,
    names: Vec<String>,
    operations: Vec<String>,
}

/// The rules of filters.
///
/// # Errors
/// A kind that is none, or several.
pub fn rules<'f>(filters: impl Iterator<Item = &'f Value>, kinds: &Kinds) -> Result<Vec<Value>, UnknownKind> {
    let mut found: Vec<ResourceRule> = Vec::new();
    for resources in filters.filter_map(|f| f.get("resources")) {
        let mut names: Vec<String> = texts_of(resources, &["names"]).map(str::to_owned).collect();
        names.extend(Some(resources.text_at(&["name"]).to_owned()).filter(|n| !n.is_empty()));
        let mut operations: Vec<String> = texts_of(resources, &["operations"]).map(str::to_owned).collect();
        if operations.is_empty() {
            operations = OPERATIONS.map(str::to_owned).into();
        }
        for kind in texts_of(resources, &["kinds"]) {
            let (group, version, own) = resources_of(kind, kinds)?;
            match found.iter_mut().find(|r| r.group == group && r.version == version) {
                Some(known) => {
                    known.resources.extend(own);
                    known.resources.sort();
                    known.resources.dedup();
                }
                None => found.push(ResourceRule {
                    group,
                    version,
                    resources: own,
                    names: names.clone(),
                    operations: operations.clone(),
                }),
            }
        }
        // Namespaces without kinds are the namespaces themselves.
        if listed(resources, "kinds").is_empty() && !listed(resources, "namespaces").is_empty() {
            found.push(ResourceRule {
                group: String::new(),
                version: "v1".into(),
                resources: vec!["namespaces".into()],
                names: texts_of(resources, &["namespaces"]).map(str::to_owned).collect(),
                operations,
            });
        }
    }
    Ok(found.into_iter().map(|r| Value::Map(written(&r))).collect())
}

fn written(rule: &ResourceRule) -> Map {
    let mut out = map([
        ("apiGroups", texts([&rule.group])),
        ("apiVersions", texts([&rule.version])),
        ("operations", texts(&rule.operations)),
    ]);
    if !rule.names.is_empty() {
        out.insert("resourceNames", texts(&rule.names));
    }
    out.insert("resources", texts(&rule.resources));
    out
}

/// Group, version and resources of a kind.
fn resources_of(text: &str, kinds: &Kinds) -> Result<(String, String, Vec<String>), UnknownKind> {
    if text == "*" {
        return Ok(("*".into(), "*".into(), vec!["*".into()]));
    }
    let wanted = parse(text);
    let mut found: Vec<&Resource> = kinds
        .named(&wanted.kind)
        .filter(|r| matches(&wanted.group, &r.group) && matches(&wanted.version, &r.version))
        .filter(|r| wanted.subresource.is_empty() || r.kind_of(&wanted.subresource).is_some())
        .collect();
    // Of the versions of a group the server prefers one.
    found.sort_by(|a, b| a.group.cmp(&b.group).then_with(|| by_stability(&a.version, &b.version)));
    found.dedup_by(|a, b| a.group == b.group);
    let [one] = found.as_slice() else { return Err(UnknownKind(text.into())) };
    let plural = &one.plural;
    let own = match (&*wanted.subresource, &**plural) {
        ("", "pods") => vec!["pods".into(), "pods/ephemeralcontainers".into()],
        ("", plural) => vec![plural.to_owned()],
        (sub, plural) => vec![format!("{plural}/{sub}")],
    };
    Ok((one.group.to_string(), one.version.to_string(), own))
}

/// Stable versions come first, then beta, then alpha; of these the newer ones.
fn by_stability(a: &str, b: &str) -> Ordering {
    let parts = |v: &str| {
        let rest = v.trim_start_matches('v');
        let digits = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
        let (major, stage) = rest.split_at(digits);
        let rank = if stage.is_empty() { 2 } else { u8::from(stage.starts_with("beta")) };
        let minor = stage.trim_start_matches(|c: char| !c.is_ascii_digit()).parse::<u32>().unwrap_or(0);
        (rank, major.parse::<u32>().unwrap_or(0), minor)
    };
    parts(b).cmp(&parts(a))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    fn of(kind: &str) -> Result<String, UnknownKind> {
        resources_of(kind, Kinds::built_in()).map(|(g, v, r)| format!("{g}/{v} {}", r.join(" ")))
    }

    #[test]
    fn a_kind_is_the_resource_of_its_preferred_version() {
        assert_eq!(of("Pod").unwrap(), "/v1 pods pods/ephemeralcontainers");
        assert_eq!(of("HorizontalPodAutoscaler").unwrap(), "autoscaling/v2 horizontalpodautoscalers");
        assert_eq!(
            of("autoscaling/v1/HorizontalPodAutoscaler").unwrap(),
            "autoscaling/v1 horizontalpodautoscalers"
        );
        assert_eq!(of("Deployment/scale").unwrap(), "apps/v1 deployments/scale");
        assert_eq!(of("*").unwrap(), "*/* *");
    }

    #[test]
    fn kinds_of_several_groups_and_of_none_are_refused() {
        for kind in ["Event", "Gadget"] {
            let error = of(kind).unwrap_err();
            assert_eq!(error, UnknownKind(kind.into()));
            assert_eq!(error.to_string(), format!("no unique match for kind {kind}"));
        }
    }
}
