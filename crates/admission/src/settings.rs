//! The settings of operators: the ConfigMap of Kyverno.
//!
//! In: a ConfigMap. Out: which users and resources are excluded from admission, what is added to
//! webhook configurations, which events are written. An invalid value leaves the default of its
//! key. Semantics: `docs/reference/settings.md`.
//!
//! - `keys`: the keys of the ConfigMaps of settings: the tables that they are read by, and
//!   `docs/reference/settings.md` lists
//! - [`metrics`]: the settings of metrics: the ConfigMap `kyverno-metrics` of Kyverno

mod keys;
pub mod metrics;

use ephor_document::json;
use ephor_matching::kinds::{self, KindSelector};
use ephor_value::wildcard::Wildcard;
use ephor_value::{Map, Value};

pub use keys::{KEYS, Key, METRICS_KEYS};

/// See the module page.
#[derive(Clone, Debug, Default)]
pub struct Settings {
    filters: Vec<Filter>,
    users: ExcludedNames,
    groups: ExcludedNames,
    roles: ExcludedNames,
    cluster_roles: ExcludedNames,
    /// Whether events are written for what passed.
    pub success_events: bool,
    /// The actions that such events are written for; empty = all.
    pub success_actions: Vec<String>,
    /// Selectors of namespaces and of objects for webhooks.
    pub selectors: [Option<Value>; 2],
    /// Labels of webhook configurations.
    pub labels: Map,
    /// Their annotations.
    pub annotations: Map,
    /// Match conditions of webhooks whose policies have none.
    pub conditions: Vec<Value>,
    /// The registry of images that name none.
    pub default_registry: Option<String>,
    /// Whether that registry becomes part of their names.
    pub mutate_registry: Option<bool>,
    /// Values that are invalid.
    pub problems: Vec<String>,
}

/// A request as far as settings read it.
#[derive(Clone, Copy, Debug, Default)]
pub struct FilteredRequest<'r> {
    /// Group, version and kind of the resource.
    pub kind: [&'r str; 3],
    /// The subresource; empty = none.
    pub subresource: &'r str,
    /// Its namespace.
    pub namespace: &'r str,
    /// Its name, if the request has one.
    pub name: &'r str,
}

/// The user that sends a request.
#[derive(Clone, Debug, Default)]
pub struct Requester<'r> {
    /// The name.
    pub user: &'r str,
    /// The groups.
    pub groups: Vec<&'r str>,
    /// Roles as `namespace:name`.
    pub roles: Vec<String>,
    /// Cluster roles.
    pub cluster_roles: Vec<String>,
}

/// Names that are excluded, and those that never are.
#[derive(Clone, Debug, Default)]
struct ExcludedNames {
    out: Vec<Wildcard>,
    never: Vec<Wildcard>,
}

impl ExcludedNames {
    fn of(text: &str) -> ExcludedNames {
        let mut names = ExcludedNames::default();
        for word in text.split(',').map(str::trim).filter(|w| !w.is_empty()) {
            match word.strip_prefix('!') {
                Some(word) => names.never.push(Wildcard::new(word)),
                None => names.out.push(Wildcard::new(word)),
            }
        }
        names
    }

    fn is_empty(&self) -> bool {
        self.out.is_empty() && self.never.is_empty()
    }
}

/// Requests that policies are not evaluated for.
#[derive(Clone, Debug)]
struct Filter {
    kind: KindSelector,
    namespace: Wildcard,
    name: Wildcard,
}

impl Filter {
    /// Reads what stands between brackets; more than three parts are no filter.
    fn of(text: &str) -> Option<Filter> {
        let parts: Vec<&str> = text.split(',').collect();
        let part = |at: usize| Wildcard::new(parts.get(at).copied().unwrap_or_default());
        (parts.len() <= 3).then(|| Filter {
            kind: kinds::parse(parts.first().copied().unwrap_or_default()),
            namespace: part(1),
            name: part(2),
        })
    }

    fn covers(&self, of: &FilteredRequest<'_>) -> bool {
        let [group, version, kind] = of.kind;
        self.kind.matches(group, version, kind, of.subresource)
            && ((self.namespace.matches(of.namespace) && self.name.matches(of.name))
                || (of.kind == ["", "v1", "Namespace"] && self.namespace.matches(of.name)))
    }
}

/// The groups in brackets of a text; what stands between them does not count.
fn filters(text: &str) -> Vec<Filter> {
    let ends = text.split(']').map(|piece| piece.rsplit_once('[').map(|(_, inside)| inside));
    // What follows the last bracket is no group.
    let groups = text.matches(']').count();
    ends.take(groups).flatten().filter_map(Filter::of).collect()
}

/// A truth value as Go reads one.
fn truth(text: &str) -> Option<bool> {
    match text {
        "1" | "t" | "T" | "TRUE" | "true" | "True" => Some(true),
        "0" | "f" | "F" | "FALSE" | "false" | "False" => Some(false),
        _ => None,
    }
}

impl Settings {
    /// Reads a ConfigMap.
    pub fn of(config_map: &Value) -> Settings {
        let text = |key: Key| config_map.text_at(&["data", key.name]);
        let mut settings = Settings {
            filters: filters(text(keys::RESOURCE_FILTERS)),
            users: ExcludedNames::of(text(keys::EXCLUDE_USERNAMES)),
            groups: ExcludedNames::of(text(keys::EXCLUDE_GROUPS)),
            roles: ExcludedNames::of(text(keys::EXCLUDE_ROLES)),
            cluster_roles: ExcludedNames::of(text(keys::EXCLUDE_CLUSTER_ROLES)),
            ..Settings::default()
        };
        let mut problems = Vec::new();
        let mut bad = |key: Key, why: &str| problems.push(format!("settings: {}: {why}", key.name));
        let mut flag = |key: Key| match text(key) {
            "" => None,
            written => {
                let read = truth(written);
                if read.is_none() {
                    bad(key, "must be true or false");
                }
                read
            }
        };
        settings.success_events = flag(keys::GENERATE_SUCCESS_EVENTS).unwrap_or(false);
        settings.mutate_registry = flag(keys::ENABLE_DEFAULT_REGISTRY_MUTATION);
        let actions = text(keys::SUCCESS_EVENT_ACTIONS).split(',').map(str::trim).filter(|a| !a.is_empty());
        settings.success_actions = actions.map(String::from).collect();
        let mut decoded = |key: Key| match text(key) {
            "" => Value::Null,
            written => json::parse(written).unwrap_or_else(|e| {
                bad(key, &e.to_string());
                Value::Null
            }),
        };
        let webhooks = decoded(keys::WEBHOOKS);
        let (labels, annotations) = (decoded(keys::WEBHOOK_LABELS), decoded(keys::WEBHOOK_ANNOTATIONS));
        let conditions = decoded(keys::MATCH_CONDITIONS);
        match &webhooks {
            Value::Null | Value::Map(_) => {}
            _ => bad(keys::WEBHOOKS, "must be an object with namespaceSelector and objectSelector"),
        }
        let selector = |key: &str| webhooks.get(key).filter(|s| !s.is_null()).cloned();
        settings.selectors = [selector("namespaceSelector"), selector("objectSelector")];
        settings.labels = labels.as_map().cloned().unwrap_or_default();
        settings.annotations = annotations.as_map().cloned().unwrap_or_default();
        settings.conditions = conditions.as_list().unwrap_or_default().to_vec();
        let registry = text(keys::DEFAULT_REGISTRY);
        let host = registry.split('/').next().unwrap_or_default();
        match host.contains(|c: char| !(c.is_ascii_alphanumeric() || matches!(c, '.' | '-'))) {
            true => bad(keys::DEFAULT_REGISTRY, "its host must be a DNS name"),
            false => settings.default_registry = Some(registry.to_string()).filter(|r| !r.is_empty()),
        }
        settings.problems = problems;
        settings
    }

    /// Whether requests are left out at all.
    pub fn leaves_out(&self) -> bool {
        !self.filters.is_empty() || self.names().iter().any(|n| !n.is_empty())
    }

    /// Whether roles of users have to be known.
    pub fn needs_roles(&self) -> bool {
        !self.roles.is_empty() || !self.cluster_roles.is_empty()
    }

    fn names(&self) -> [&ExcludedNames; 4] {
        [&self.users, &self.groups, &self.roles, &self.cluster_roles]
    }

    /// Whether `resourceFilters` name an object.
    pub fn filters(&self, what: &FilteredRequest<'_>) -> bool {
        self.filters.iter().any(|f| f.covers(what))
    }

    /// The same for an object of the cluster, as it is written.
    pub fn filters_object(&self, object: &Value) -> bool {
        let written = object.text_at(&["apiVersion"]);
        let (group, version) = written.split_once('/').unwrap_or(("", written));
        self.filters(&FilteredRequest {
            kind: [group, version, object.text_at(&["kind"])],
            subresource: "",
            namespace: object.text_at(&["metadata", "namespace"]),
            name: object.text_at(&["metadata", "name"]),
        })
    }

    /// Whether policies are not evaluated for a request.
    pub fn excludes(&self, who: &Requester<'_>, what: &FilteredRequest<'_>) -> bool {
        let is_any = |pick: fn(&ExcludedNames) -> &[Wildcard]| {
            let has = |names: &ExcludedNames, held: &[String]| {
                pick(names).iter().any(|n| held.iter().any(|role| n.matches(role)))
            };
            pick(&self.users).iter().any(|n| n.matches(who.user))
                || pick(&self.groups).iter().any(|n| who.groups.iter().any(|g| n.matches(g)))
                || has(&self.roles, &who.roles)
                || has(&self.cluster_roles, &who.cluster_roles)
        };
        let excluded = is_any(|n| &n.out) && !is_any(|n| &n.never);
        excluded || self.filters(what)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;
    use ephor_document::yaml_value;

    fn settings(data: &str) -> Settings {
        Settings::of(&yaml_value(&format!("{{kind: ConfigMap, data: {data}}}")).unwrap())
    }

    fn pod<'r>(namespace: &'r str, name: &'r str) -> FilteredRequest<'r> {
        FilteredRequest { kind: ["", "v1", "Pod"], namespace, name, ..FilteredRequest::default() }
    }

    #[test]
    fn filters_are_groups_in_brackets_with_kind_namespace_and_name() {
        let filters = settings(
            "{resourceFilters: 'x [Event,*,*] [*/*,kube-system,*]\n[Pod,shop,web-*][Node][Pod, lab,*][Pod,a,b,c]'}",
        );
        let anonymous = Requester::default();
        let left_out = |what: FilteredRequest<'_>| filters.excludes(&anonymous, &what);
        assert!(left_out(pod("kube-system", "any")));
        assert!(left_out(pod("shop", "web-1")));
        assert!(!left_out(pod("shop", "db")));
        // Blanks count, and more than three parts are no filter.
        assert!(!left_out(pod("lab", "x")) && !left_out(pod("a", "b")));
        assert!(left_out(FilteredRequest {
            kind: ["", "v1", "Namespace"],
            name: "kube-system",
            ..FilteredRequest::default()
        }));
        assert!(left_out(FilteredRequest { subresource: "exec", ..pod("kube-system", "any") }));
        assert!(!left_out(FilteredRequest { subresource: "exec", ..pod("shop", "web-1") }));
        // One part alone covers what has neither namespace nor name.
        let node = |name| FilteredRequest { kind: ["", "v1", "Node"], name, ..FilteredRequest::default() };
        assert!(left_out(node("")) && !left_out(node("a")));
    }

    #[test]
    fn names_that_are_never_excluded_win() {
        let settings = settings(
            "{excludeGroups: 'system:nodes, devs', excludeUsernames: '!anna', excludeClusterRoles: 'edit*'}",
        );
        let excludes = |user: &'static str, groups: &[&'static str], roles: &[&str]| {
            let cluster_roles = roles.iter().map(|r| r.to_string()).collect();
            let who = Requester { user, groups: groups.to_vec(), cluster_roles, ..Requester::default() };
            settings.excludes(&who, &pod("shop", "a"))
        };
        assert!(excludes("kubelet", &["system:nodes"], &[]));
        assert!(excludes("bert", &[], &["editor"]));
        assert!(!excludes("anna", &["devs"], &["editor"]));
        assert!(!excludes("bert", &["others"], &["view"]));
        assert!(settings.needs_roles());
    }

    #[test]
    fn values_that_cannot_be_used_leave_the_default() {
        let bad = settings(
            "{generateSuccessEvents: 'yes', webhooks: '[]', defaultRegistry: 'a:5000', webhookLabels: '{'}",
        );
        assert!(!bad.success_events && bad.labels.is_empty() && bad.default_registry.is_none());
        assert_eq!(bad.problems.len(), 4, "{:?}", bad.problems);
        let good = settings(
            "{generateSuccessEvents: 'T', webhooks: '{\"objectSelector\": {}}', defaultRegistry: r.test/x}",
        );
        assert!(good.success_events && good.selectors[1].is_some() && good.problems.is_empty());
        assert_eq!(good.default_registry.as_deref(), Some("r.test/x"));
        assert!(!good.leaves_out());
    }
}
