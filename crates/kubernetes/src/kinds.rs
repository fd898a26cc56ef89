//! Kinds and the resources under which an API server serves them.
//!
//! `kinds-R.txt` (R: the release) has a line for each: `group/version Kind plural N|C
//! subresource=group/version/Kind …`; `N` is namespaced, a subresource without `=` has the kind of
//! its parent. Definitions of custom resources add to the table.

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::Arc;

use ephor_value::release::{ByRelease, Release};
use ephor_value::{Str, Value};

const TABLE_1_34: &str = include_str!("kinds-1.34.txt");
const TABLE_1_35: &str = include_str!("kinds-1.35.txt");
const TABLE_1_36: &str = include_str!("kinds-1.36.txt");
const TABLE_1_37: &str = include_str!("kinds-1.37.txt");

/// A version of a kind, or of one of its subresources.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Resource {
    /// API group, empty for the core group.
    pub group: Str,
    /// API version.
    pub version: Str,
    /// The name in paths, `pods`.
    pub plural: Str,
    /// The kind of its objects.
    pub kind: Str,
    /// Whether its objects live in namespaces.
    pub namespaced: bool,
    /// Its subresources.
    pub subresources: Box<[Subresource]>,
}

/// A subresource with the kind of its objects.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Subresource {
    /// Its name, `scale`.
    pub name: Str,
    /// Group, version and kind of what is sent to it.
    pub kind: [Str; 3],
}

impl Resource {
    /// Group, version and kind of what is sent to it or to one of its subresources.
    pub fn kind_of(&self, subresource: &str) -> Option<[Str; 3]> {
        if subresource.is_empty() {
            return Some([self.group.clone(), self.version.clone(), self.kind.clone()]);
        }
        self.subresources.iter().find(|s| *s.name == *subresource).map(|s| s.kind.clone())
    }
}

/// A table of kinds.
#[derive(Clone, Debug, Default)]
pub struct Kinds {
    all: Vec<Resource>,
    by_kind: HashMap<Str, Vec<usize>>,
    by_plural: HashMap<Str, Vec<usize>>,
}

impl Kinds {
    /// The kinds that every API server of the default release has.
    pub fn built_in() -> &'static Arc<Kinds> {
        Kinds::of_release(Release::default())
    }

    /// The kinds that every API server of a release has.
    pub fn of_release(release: Release) -> &'static Arc<Kinds> {
        static KINDS: ByRelease<Arc<Kinds>> = ByRelease::new();
        let table = match release {
            Release::V1_34 => TABLE_1_34,
            Release::V1_35 => TABLE_1_35,
            Release::V1_36 => TABLE_1_36,
            Release::V1_37 | Release::V1_38 => TABLE_1_37,
        };
        KINDS.get(release, || {
            let mut kinds = Kinds::default();
            table.lines().filter_map(line).for_each(|r| kinds.add(r));
            Arc::new(kinds)
        })
    }

    /// The kinds that every API server has and those that the documents define.
    pub fn with<'v>(definitions: impl IntoIterator<Item = &'v Value>) -> Arc<Kinds> {
        Kinds::of_release_with(Release::default(), definitions)
    }

    /// As [`Kinds::with`], for a release of the API server.
    pub fn of_release_with<'v>(
        release: Release,
        definitions: impl IntoIterator<Item = &'v Value>,
    ) -> Arc<Kinds> {
        let mut own = definitions.into_iter().filter(|d| is_definition(d)).peekable();
        if own.peek().is_none() {
            return Kinds::of_release(release).clone();
        }
        let mut kinds = (**Kinds::of_release(release)).clone();
        own.flat_map(defined).for_each(|r| kinds.add(r));
        Arc::new(kinds)
    }

    /// The kinds of a list.
    pub fn of(resources: Vec<Resource>) -> Kinds {
        let mut kinds = Kinds::default();
        resources.into_iter().for_each(|r| kinds.add(r));
        kinds
    }

    /// All of them.
    pub fn all(&self) -> &[Resource] {
        &self.all
    }

    fn add(&mut self, resource: Resource) {
        let at = self.all.len();
        self.by_kind.entry(resource.kind.clone()).or_default().push(at);
        self.by_plural.entry(resource.plural.clone()).or_default().push(at);
        self.all.push(resource);
    }

    fn found<'k>(&'k self, at: Option<&'k Vec<usize>>) -> impl Iterator<Item = &'k Resource> {
        at.into_iter().flatten().filter_map(|i| self.all.get(*i))
    }

    /// The resources of a kind's name, in all groups and versions.
    pub fn named<'k>(&'k self, kind: &str) -> impl Iterator<Item = &'k Resource> {
        self.found(self.by_kind.get(kind))
    }

    /// The resources of a plural, in all groups and versions.
    pub fn plural<'k>(&'k self, plural: &str) -> impl Iterator<Item = &'k Resource> {
        self.found(self.by_plural.get(plural))
    }

    /// The resource of a kind.
    pub fn kind(&self, group: &str, version: &str, kind: &str) -> Option<&Resource> {
        self.named(kind).find(|r| *r.group == *group && *r.version == *version)
    }

    /// The resource of a path.
    pub fn resource(&self, group: &str, version: &str, plural: &str) -> Option<&Resource> {
        self.plural(plural).find(|r| *r.group == *group && *r.version == *version)
    }

    /// The newest version of a kind: stable versions are newer than beta and alpha ones.
    pub fn newest_version(&self, group: &str, kind: &str) -> Option<&Str> {
        let stage = |version: &str| match version {
            _ if version.contains("alpha") => 0,
            _ if version.contains("beta") => 1,
            _ => 2,
        };
        let versions = self.named(kind).filter(|r| *r.group == *group).map(|r| &r.version);
        versions.max_by_key(|version| (stage(version), version.len(), version.to_string()))
    }

    /// The same objects under other groups and versions.
    pub fn equivalents<'k>(&'k self, of: &'k Resource) -> impl Iterator<Item = &'k Resource> {
        self.plural(&of.plural).filter(move |r| {
            *r != of && (r.group == of.group || (is_event_group(&r.group) && is_event_group(&of.group)))
        })
    }

    /// The plural of a kind: of the table, else guessed.
    pub fn plural_of(&self, group: &str, version: &str, kind: &str) -> Cow<'_, str> {
        let known = self.kind(group, version, kind).or_else(|| self.named(kind).find(|r| *r.group == *group));
        match known {
            Some(r) => Cow::Borrowed(&r.plural),
            None => Cow::Owned(guessed_plural(kind)),
        }
    }
}

/// The groups that serve the same events.
fn is_event_group(group: &str) -> bool {
    matches!(group, "" | "events.k8s.io")
}

fn line(text: &str) -> Option<Resource> {
    let mut words = text.split_whitespace();
    let (group, version) = group_version(words.next().filter(|w| !w.starts_with('#'))?);
    let (kind, plural, scope) = (words.next()?, words.next()?, words.next()?);
    let own = [Str::from(group), Str::from(version), Str::from(kind)];
    let subresource = |word: &str| match word.split_once('=') {
        None => Subresource { name: word.into(), kind: own.clone() },
        Some((name, of)) => {
            let (api_version, kind) = of.rsplit_once('/').unwrap_or(("", of));
            let (group, version) = group_version(api_version);
            Subresource { name: name.into(), kind: [group.into(), version.into(), kind.into()] }
        }
    };
    let subresources = words.map(subresource).collect();
    let [group, version, kind] = own;
    Some(Resource { group, version, plural: plural.into(), kind, namespaced: scope == "N", subresources })
}

/// The parts of an `apiVersion`.
fn group_version(text: &str) -> (&str, &str) {
    text.split_once('/').unwrap_or(("", text))
}

fn is_definition(v: &Value) -> bool {
    v.text_at(&["kind"]) == "CustomResourceDefinition"
        && v.text_at(&["apiVersion"]).starts_with("apiextensions.k8s.io/")
}

/// The resources that a definition makes, a version each.
fn defined(definition: &Value) -> Vec<Resource> {
    let spec = |path: &[&str]| Str::from(definition.get("spec").map_or("", |s| s.text_at(path)));
    let versions = definition.at(&["spec", "versions"]).and_then(Value::as_list).unwrap_or_default();
    let served = versions.iter().filter(|v| v.get("served").and_then(Value::as_bool) != Some(false));
    let resource = |v: &Value| {
        let own = [spec(&["group"]), Str::from(v.text_at(&["name"])), spec(&["names", "kind"])];
        let has = |name: &str| v.at(&["subresources", name]).is_some_and(|s| !s.is_null());
        let mut subresources = Vec::new();
        if has("status") {
            subresources.push(Subresource { name: "status".into(), kind: own.clone() });
        }
        if has("scale") {
            let kind = ["autoscaling".into(), "v1".into(), "Scale".into()];
            subresources.push(Subresource { name: "scale".into(), kind });
        }
        let [group, version, kind] = own;
        Resource {
            group,
            version,
            plural: spec(&["names", "plural"]),
            kind,
            namespaced: definition.at(&["spec", "scope"]).and_then(Value::as_str) != Some("Cluster"),
            subresources: subresources.into(),
        }
    };
    served.map(resource).collect()
}

/// The resource name that a kind has as a rule.
pub fn guessed_plural(kind: &str) -> String {
    let lower = kind.to_lowercase();
    if lower.ends_with("endpoints") {
        return lower;
    }
    if lower.ends_with('s') {
        return format!("{lower}es");
    }
    match lower.strip_suffix('y') {
        Some(stem) => format!("{stem}ies"),
        None => format!("{lower}s"),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn a_subresource_has_a_kind_of_its_own_or_that_of_its_parent() {
        let kinds = Kinds::built_in();
        let pods = kinds.resource("", "v1", "pods").unwrap();
        assert_eq!(pods.kind_of("exec").unwrap().map(|s| s.to_string()), ["", "v1", "PodExecOptions"]);
        assert_eq!(pods.kind_of("eviction").unwrap().map(|s| s.to_string()), ["policy", "v1", "Eviction"]);
        assert_eq!(pods.kind_of("status").unwrap().map(|s| s.to_string()), ["", "v1", "Pod"]);
        assert_eq!(pods.kind_of("nonsense"), None);
    }

    #[test]
    fn versions_of_a_resource_and_events_of_two_groups_are_equivalent() {
        let kinds = Kinds::built_in();
        let others = |group: &str, version: &str, plural: &str| -> Vec<String> {
            let of = kinds.resource(group, version, plural).unwrap();
            kinds.equivalents(of).map(|r| format!("{}/{}", r.group, r.version)).collect()
        };
        assert_eq!(others("autoscaling", "v1", "horizontalpodautoscalers"), ["autoscaling/v2"]);
        assert_eq!(others("", "v1", "events"), ["events.k8s.io/v1"]);
        assert_eq!(others("apps", "v1", "deployments"), [""; 0]);
    }

    #[test]
    fn the_newest_version_is_a_stable_one_where_there_is_one() {
        let newest = |group: &str, kind: &str| {
            Kinds::built_in().newest_version(group, kind).map(|version| version.to_string())
        };
        assert_eq!(newest("autoscaling", "HorizontalPodAutoscaler").as_deref(), Some("v2"));
        let group = "admissionregistration.k8s.io";
        assert_eq!(newest(group, "MutatingAdmissionPolicy").as_deref(), Some("v1"));
        assert_eq!(newest(group, "Pod"), None);
    }

    #[test]
    fn definitions_add_a_resource_for_each_version_that_is_served() {
        let definition = ephor_document::yaml_value(
            "{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, spec: {group: ex.org, scope: Cluster, \
             names: {kind: Ox, plural: oxen}, versions: [{name: v1, served: true, subresources: {scale: {}}}, {name: v2, served: false}]}}",
        )
        .unwrap();
        let kinds = Kinds::with([&definition]);
        assert_eq!(kinds.plural_of("ex.org", "v1", "Ox"), "oxen");
        assert!(!kinds.resource("ex.org", "v1", "oxen").unwrap().namespaced);
        assert!(kinds.resource("ex.org", "v2", "oxen").is_none());
        assert_eq!(Kinds::built_in().plural_of("ex.org", "v1", "Ox"), "oxs");
    }
}
