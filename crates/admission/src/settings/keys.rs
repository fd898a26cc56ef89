//! The keys of the ConfigMaps of settings: the tables that they are read by, and
//! `docs/reference/settings.md` lists.

/// A key of a ConfigMap.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Key {
    /// Its name below `data`.
    pub name: &'static str,
    /// The form of its value.
    pub form: &'static str,
    /// What it sets, and what holds without it.
    pub about: &'static str,
}

macro_rules! keys {
    ($(#[$of:meta])* $all:ident: $($id:ident = $name:literal, $form:literal, $about:literal;)*) => {
        $(#[doc = $about] pub const $id: Key = Key { name: $name, form: $form, about: $about };)*

        $(#[$of])*
        pub const $all: &[Key] = &[$($id),*];
    };
}

keys! {
    /// Those of the ConfigMap `kyverno`.
    KEYS:
    RESOURCE_FILTERS = "resourceFilters", "`[KIND,NAMESPACE,NAME]…` with wildcards; blanks count",
        "requests that policies are not evaluated for; without it none";
    EXCLUDE_USERNAMES = "excludeUsernames", "names with wildcards, separated by commas; `!NAME` is never excluded",
        "users whose requests policies are not evaluated for; without it none";
    EXCLUDE_GROUPS = "excludeGroups", "as `excludeUsernames`", "the same by groups of the user";
    EXCLUDE_ROLES = "excludeRoles", "as `excludeUsernames`, each `NAMESPACE:NAME`", "the same by roles of the user";
    EXCLUDE_CLUSTER_ROLES = "excludeClusterRoles", "as `excludeUsernames`", "the same by cluster roles of the user";
    DEFAULT_REGISTRY = "defaultRegistry", "host of a registry, with a path",
        "registry of images that name none, by default `docker.io`";
    ENABLE_DEFAULT_REGISTRY_MUTATION = "enableDefaultRegistryMutation", "`true` or `false`",
        "whether that registry becomes part of their names, by default `true`";
    GENERATE_SUCCESS_EVENTS = "generateSuccessEvents", "`true` or `false`",
        "whether there are events for passed rules, by default `false`";
    SUCCESS_EVENT_ACTIONS = "successEventActions", "actions of events, separated by commas",
        "actions that these events are written for; without it all";
    WEBHOOKS = "webhooks", "JSON: `namespaceSelector`, `objectSelector`",
        "selectors of the webhooks of `ephor webhook-config --config-map`";
    WEBHOOK_LABELS = "webhookLabels", "JSON object", "labels of its webhook configurations";
    WEBHOOK_ANNOTATIONS = "webhookAnnotations", "JSON object", "annotations of its webhook configurations";
    MATCH_CONDITIONS = "matchConditions", "JSON list of `name` and `expression`",
        "match conditions of its webhooks whose policies have none";
}

keys! {
    /// Those of the ConfigMap `kyverno-metrics`.
    METRICS_KEYS:
    METRICS_EXPOSURE = "metricsExposure",
        "JSON: metric → `enabled`, `disabledLabelDimensions`, `bucketBoundaries`; names of counters with or without `_total`",
        "which metrics there are, with which labels and buckets; `enabled: false` disables any metric, labels and buckets can be chosen for those that are marked";
    NAMESPACES = "namespaces", "JSON: `include` and `exclude`, lists of exact names",
        "namespaces that are counted: of objects for reviews, of policies for results and rules; what has no namespace is always counted";
    BUCKET_BOUNDARIES = "bucketBoundaries", "numbers that rise, separated by commas", "bounds of the buckets of histograms";
    METRICS_REFRESH_INTERVAL = "metricsRefreshInterval", "duration such as `24h`",
        "how often the marked metrics are reset, to the half minute; without it never";
}
