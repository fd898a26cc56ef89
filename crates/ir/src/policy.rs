//! Policies: rules and what they have in common.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use ephor_value::{Str, Value};

use super::binding::Binding;
use super::expressions::Source;
use super::facts::{ActionModel, Api, FailurePolicy, NamespaceScope, Report, Stage};
use super::rule::{ActionOverride, Body};
use super::{Conditions, Matcher, Rule};
use ephor_value::wildcard::Wildcard;

/// The annotation of a policy in audit mode that names the one which it may replace, `NAME` or
/// `NAMESPACE/NAME`: servers compare what both decide.
pub const SHADOW_OF: &str = "ephor.dev/shadow-of";

/// A policy, lowered.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Policy {
    /// The API that it was written for, for reports.
    pub api: Api,
    /// The short name of its API (`vpol`), which selects it in paths of webhooks.
    pub short_name: Str,
    /// Its name.
    pub name: Str,
    /// Its namespace; `None` for cluster-wide policies.
    #[serde(default, skip_serializing_if = "super::unset")]
    pub namespace: Option<Str>,
    /// Its annotations.
    pub annotations: ephor_value::Map,
    /// Whether its results go into reports of a cluster.
    #[serde(default, skip_serializing_if = "super::unset")]
    pub reported: bool,
    /// Stop after the first rule that passes or fails.
    #[serde(default, skip_serializing_if = "super::unset")]
    pub apply_one: bool,
    /// Whether it is evaluated in background scans.
    #[serde(default, skip_serializing_if = "super::unset")]
    pub background: bool,
    /// Whether it is evaluated at admission.
    #[serde(default, skip_serializing_if = "super::unset")]
    pub admission: bool,
    /// Failure action of rules that have none, as written.
    pub action: Str,
    /// Overrides of that action by namespace.
    #[serde(default, skip_serializing_if = "super::unset")]
    pub overrides: Box<[ActionOverride]>,
    /// What follows when it cannot be evaluated.
    pub failure_policy: FailurePolicy,
    /// What decides about the consequences of violations.
    pub actions: ActionModel,
    /// On what it is evaluated, and when.
    pub stage: Stage,
    /// Which namespaces it applies to.
    pub scope: NamespaceScope,
    /// How reports name its results.
    pub report: Report,
    /// What must be true of a request, else no rule is evaluated.
    #[serde(default, skip_serializing_if = "super::unset")]
    pub admit: Box<[Source]>,
    /// Rules for kinds that have none of their own in `by_kind`.
    #[serde(default, skip_serializing_if = "super::unset")]
    pub rules: Arc<[Arc<Rule>]>,
    /// Rules for pod controllers, generated ones included.
    #[serde(default, skip_serializing_if = "super::unset")]
    pub by_kind: Vec<KindRules>,
    /// How many rules there are, generated ones included.
    pub rule_count: usize,
    /// Names of all rules, generated ones included.
    #[serde(default, skip_serializing_if = "super::unset")]
    pub rule_names: Box<[Str]>,
}

/// Rules that objects of some kinds have instead of those of all others.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct KindRules {
    /// The kinds.
    pub kinds: Box<[Str]>,
    /// Their rules.
    pub rules: Arc<[Arc<Rule>]>,
}

impl Policy {
    /// `name` or `namespace/name`.
    pub fn key(&self) -> String {
        match &self.namespace {
            Some(ns) => format!("{ns}/{}", self.name),
            None => self.name.to_string(),
        }
    }

    /// Whether it is a static manifest of an API server.
    pub fn is_static(&self) -> bool {
        self.rules.iter().any(|rule| rule.bound.as_ref().is_some_and(|bound| bound.is_static))
    }

    /// Whether it is the policy of a kind with a name, as references of other objects name it.
    pub fn is_named(&self, kind: &str, name: &str) -> bool {
        *self.name == *name && *self.api.kind == *kind
    }

    /// What identifies it: kind, namespace and name.
    pub fn id(&self) -> String {
        format!("{} {}", self.api.kind, self.key())
    }

    /// Whether it validates images, and its results count only when every image was verified by
    /// some policy.
    pub fn verifies_images_together(&self) -> bool {
        matches!(self.rules.first().map(|r| &r.body), Some(Body::ValidateImages(_)))
    }

    /// All rules, also those that several lists have.
    pub fn all_rules(&self) -> impl Iterator<Item = &Arc<Rule>> {
        self.rules.iter().chain(self.by_kind.iter().flat_map(|own| own.rules.iter()))
    }

    /// The rules for objects of a kind.
    pub fn rules_for(&self, kind: &str) -> &[Arc<Rule>] {
        self.own_rules_for(kind).unwrap_or(&self.rules)
    }

    /// The rules that only objects of a kind have.
    pub fn own_rules_for(&self, kind: &str) -> Option<&[Arc<Rule>]> {
        self.by_kind.iter().find(|own| own.kinds.iter().any(|k| **k == *kind)).map(|own| &*own.rules)
    }
}

/// A cleanup policy, lowered: which objects its runs delete.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Cleanup {
    /// What reports say about it; it has no rules.
    pub policy: Arc<Policy>,
    /// Objects it selects.
    pub when: Matcher,
    /// Objects it spares.
    #[serde(default, skip_serializing_if = "super::unset")]
    pub unless: Option<Matcher>,
    /// It has an exclusion that says nothing, which spares every object.
    #[serde(default, skip_serializing_if = "super::unset")]
    pub spares_all: bool,
    /// Data that the conditions may read.
    #[serde(default, skip_serializing_if = "super::unset")]
    pub bindings: Box<[Arc<Binding>]>,
    /// Conditions that must hold, in the order in which they are evaluated.
    #[serde(default, skip_serializing_if = "super::unset")]
    pub admit: Box<[Conditions]>,
    /// When it runs, as written.
    pub schedule: Str,
    /// When it ran last, as written.
    pub last_run: Str,
    /// When it was created, as written.
    pub created: Str,
}

/// An exception from rules.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Exception {
    /// Its name.
    pub name: Str,
    /// `namespace/name`, or the name alone.
    pub key: Str,
    /// What it covers: policy keys with wildcards for rule names.
    #[serde(default, skip_serializing_if = "super::unset")]
    pub covers: Box<[(Str, Box<[Wildcard]>)]>,
    /// Objects it applies to.
    pub when: Matcher,
    /// Conditions that must hold.
    #[serde(default, skip_serializing_if = "super::unset")]
    pub admit: Option<Conditions>,
    /// Pod Security controls it excludes; null = the whole rule.
    pub pod_security: Value,
}

impl Exception {
    /// Whether it covers a rule.
    pub fn covers(&self, policy: &str, rule: &str) -> bool {
        self.covers.iter().any(|(key, rules)| **key == *policy && rules.iter().any(|r| r.matches(rule)))
    }
}
