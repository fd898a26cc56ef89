//! Kinds as filters write them → resources as constraints of the Kubernetes API write them.
//!
//! In: compiled kind selectors (`docs/semantics/policies.md`, "Matching"). Out: [`Resources`]:
//! groups, versions and plurals from the table of kinds. A kind that is in no table is one of a
//! custom resource; its plural is guessed, and a note says so.

use crate::model::unique::add_new;
use ephor_ir::matcher::KindPattern;
use ephor_kubernetes::kinds::guessed_plural;
use ephor_kubernetes::{Kinds, Resource};
use ephor_value::Str;
use ephor_value::wildcard::Wildcard;

/// Resources of one group and version.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Resources {
    /// The API groups.
    pub groups: Vec<String>,
    /// The versions.
    pub versions: Vec<String>,
    /// Plurals, with subresources: `pods`, `pods/exec`.
    pub names: Vec<String>,
}

/// What kinds of a filter select.
#[derive(Clone, Debug, Default)]
pub struct Selected {
    /// The resources.
    pub resources: Vec<Resources>,
    /// Group, version and kind of what is known to be among them.
    pub kinds: Vec<[Str; 3]>,
    /// Kinds whose plural is guessed.
    pub guessed: Vec<String>,
    /// Kinds of what is sent to subresources, which no request has, with the selector of one of
    /// these subresources: `Pod/exec`.
    pub of_subresources: Vec<(String, String)>,
    /// Patterns of kinds that the resources do not express: one of them must match.
    pub wild: Vec<Wildcard>,
    /// Whether objects outside of namespaces may be among them.
    pub has_cluster: bool,
    /// Whether namespaces may be among them.
    pub has_namespaces: bool,
    /// Whether any kind may be among them.
    pub is_open: bool,
}

impl Selected {
    /// Whether they are pods and nothing else.
    pub fn is_pods(&self) -> bool {
        let is_one = |list: &[String], one: &str| matches!(list, [only] if only == one);
        match self.resources.as_slice() {
            [of] => is_one(&of.groups, "") && is_one(&of.versions, "v1") && is_one(&of.names, "pods"),
            _ => false,
        }
    }

    /// Adds what other kinds select.
    pub fn extend(&mut self, other: Selected) {
        other.resources.into_iter().for_each(|of| self.add(of));
        add_new(&mut self.kinds, other.kinds);
        self.guessed.extend(other.guessed);
        self.of_subresources.extend(other.of_subresources);
        self.wild.extend(other.wild);
        self.has_cluster |= other.has_cluster;
        self.has_namespaces |= other.has_namespaces;
        self.is_open |= other.is_open;
    }

    fn add(&mut self, of: Resources) {
        let same = |known: &&mut Resources| known.groups == of.groups && known.versions == of.versions;
        match self.resources.iter_mut().find(same) {
            Some(known) => add_new(&mut known.names, of.names),
            None => self.resources.push(of),
        }
    }
}

/// What kinds select.
pub fn selected(patterns: &[KindPattern], kinds: &Kinds) -> Selected {
    let mut out = Selected::default();
    for pattern in patterns {
        out.extend(one(pattern, kinds));
    }
    out
}

fn one(pattern: &KindPattern, kinds: &Kinds) -> Selected {
    if pattern.kind.is_wild() {
        return by_wildcard(pattern);
    }
    let is_it = |r: &&Resource| pattern.group.matches(&r.group) && pattern.version.matches(&r.version);
    let found: Vec<&Resource> = kinds.named(pattern.kind.pattern()).filter(is_it).collect();
    let mut out = Selected::default();
    if let (true, Some(selector)) = (found.is_empty(), subresource_with(pattern, kinds)) {
        out.of_subresources.push((pattern.kind.pattern().to_string(), selector));
        return out;
    }
    if found.is_empty() {
        let plural = guessed_plural(pattern.kind.pattern());
        out.resources.push(Resources {
            groups: vec![or_all(&pattern.group)],
            versions: vec![or_all(&pattern.version)],
            names: names(&plural, &pattern.subresource),
        });
        let of = |wild: &Wildcard| if wild.is_wild() { Str::from("") } else { wild.pattern().clone() };
        out.kinds.push([of(&pattern.group), of(&pattern.version), pattern.kind.pattern().clone()]);
        out.guessed.push(plural);
        return out;
    }
    // Versions of one resource stand in one rule.
    let mut seen: Vec<(&str, &str)> = Vec::new();
    for resource in &found {
        if seen.contains(&(&*resource.group, &*resource.plural)) {
            continue;
        }
        seen.push((&resource.group, &resource.plural));
        let is_same = |r: &&&Resource| r.group == resource.group && r.plural == resource.plural;
        let served = || found.iter().filter(is_same).map(|r| r.version.to_string()).collect();
        // Versions that are not named do not matter: files have such that are no longer served. The
        // core group has had one version alone.
        let is_any = **pattern.version.pattern() == *"*" && !resource.group.is_empty();
        let versions: Vec<String> = if is_any { vec!["*".into()] } else { served() };
        out.add(Resources {
            groups: vec![resource.group.to_string()],
            versions,
            names: names(&resource.plural, &pattern.subresource),
        });
    }
    for resource in found {
        out.kinds.push([resource.group.clone(), resource.version.clone(), resource.kind.clone()]);
        out.has_cluster |= !resource.namespaced;
        out.has_namespaces |= &*resource.kind == "Namespace";
    }
    out
}

/// The selector of a subresource to which objects of a kind are sent: requests have the kind of the
/// object that they are about, and a subresource.
fn subresource_with(pattern: &KindPattern, kinds: &Kinds) -> Option<String> {
    let is_it = |[group, version, kind]: &[Str; 3]| {
        pattern.kind.matches(kind) && pattern.group.matches(group) && pattern.version.matches(version)
    };
    let parents = kinds.all().iter().filter(|_| pattern.subresource.pattern().is_empty());
    let mut found =
        parents.flat_map(|r| r.subresources.iter().map(move |s| (r, s))).filter(|(_, s)| is_it(&s.kind));
    found.next().map(|(parent, own)| format!("{}/{}", parent.kind, own.name))
}

/// All kinds, or those of which a pattern is known.
fn by_wildcard(pattern: &KindPattern) -> Selected {
    let subresource = pattern.subresource.pattern();
    let resource = match &**subresource {
        "" => "*".to_string(),
        "*" => "*/*".to_string(),
        one => format!("*/{one}"),
    };
    let of = Resources {
        groups: vec![or_all(&pattern.group)],
        versions: vec![or_all(&pattern.version)],
        names: vec![resource],
    };
    let is_all = &**pattern.kind.pattern() == "*";
    Selected {
        resources: vec![of],
        wild: if is_all { Vec::new() } else { vec![pattern.kind.clone()] },
        has_cluster: true,
        has_namespaces: pattern.kind.matches("Namespace"),
        is_open: true,
        ..Selected::default()
    }
}

fn or_all(wildcard: &Wildcard) -> String {
    if wildcard.is_wild() { "*".into() } else { wildcard.pattern().to_string() }
}

fn names(plural: &str, subresource: &Wildcard) -> Vec<String> {
    match &**subresource.pattern() {
        "" => vec![plural.into()],
        "*" => vec![plural.into(), format!("{plural}/*")],
        one => vec![format!("{plural}/{one}")],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(written: &[&str]) -> Vec<String> {
        let patterns: Vec<KindPattern> = written.iter().map(|k| ephor_lower::matcher::kind(k)).collect();
        let of =
            |r: &Resources| format!("{}/{}/{}", r.groups.join(","), r.versions.join(","), r.names.join(","));
        selected(&patterns, Kinds::built_in()).resources.iter().map(of).collect()
    }

    #[test]
    fn kinds_become_plurals_of_their_group_and_versions() {
        assert_eq!(texts(&["Pod"]), ["/v1/pods"]);
        assert_eq!(
            texts(&["Deployment", "apps/v1/StatefulSet", "Pod"]),
            ["apps/*/deployments", "apps/v1/statefulsets", "/v1/pods"]
        );
        assert_eq!(texts(&["HorizontalPodAutoscaler"]), ["autoscaling/*/horizontalpodautoscalers"]);
        assert_eq!(
            texts(&["autoscaling/v*/HorizontalPodAutoscaler"]),
            ["autoscaling/v1,v2/horizontalpodautoscalers"]
        );
        assert_eq!(texts(&["Pod/exec", "v1/Pod/*"]), ["/v1/pods/exec,pods,pods/*"]);
    }

    #[test]
    fn kinds_of_no_table_are_custom_resources() {
        assert_eq!(
            texts(&["argoproj.io/v1alpha1/Application", "Policy9"]),
            ["argoproj.io/v1alpha1/applications", "*/*/policy9s"]
        );
    }

    #[test]
    fn kinds_of_what_is_sent_to_subresources_select_nothing() {
        let of = |written: &str| {
            selected(&[ephor_lower::matcher::kind(written)], Kinds::built_in()).of_subresources
        };
        assert_eq!(of("PodExecOptions"), [("PodExecOptions".to_string(), "Pod/exec".to_string())]);
        assert_eq!(of("policy/v1/Eviction"), [("Eviction".to_string(), "Pod/eviction".to_string())]);
        assert!(of("corp.io/v1/Scale").is_empty() && of("Pod/exec").is_empty() && of("Binding").is_empty());
        assert_eq!(texts(&["PodExecOptions", "Pod/exec"]), ["/v1/pods/exec"]);
    }

    #[test]
    fn wildcards_select_all_resources() {
        assert_eq!(texts(&["*", "*/*", "*/status"]), ["*/*/*,*/*,*/status"]);
        let patterns = [ephor_lower::matcher::kind("*Set")];
        assert_eq!(selected(&patterns, Kinds::built_in()).wild.len(), 1);
    }
}
