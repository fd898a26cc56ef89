//! Facts of policies: what distinguishes the policies of one API from those of another.
//!
//! `lower` sets them from the document. Everything after it reads these fields and never the kind
//! of a policy, which only names it in reports. Semantics: `docs/internals/ir.md`, "Facts of
//! policies".

use serde::{Deserialize, Serialize};

use ephor_value::Str;

/// The API that a policy was written for. It names the policy in reports, events and messages;
/// nothing depends on it.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Api {
    /// The API group.
    pub group: Str,
    /// The kind.
    pub kind: Str,
}

/// How much a violation matters, as the policy says (`policies.kyverno.io/severity`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Severity {
    /// For information.
    Info,
    /// Little.
    Low,
    /// Some.
    Medium,
    /// Much.
    High,
    /// Most.
    Critical,
}

impl Severity {
    /// All, the least grave one first.
    pub const ALL: [Severity; 5] =
        [Severity::Info, Severity::Low, Severity::Medium, Severity::High, Severity::Critical];

    /// The word that policies use.
    pub fn name(self) -> &'static str {
        match self {
            Severity::Info => "info",
            Severity::Low => "low",
            Severity::Medium => "medium",
            Severity::High => "high",
            Severity::Critical => "critical",
        }
    }

    /// The severity of a word.
    pub fn of(word: &str) -> Option<Severity> {
        Severity::ALL.into_iter().find(|severity| severity.name() == word)
    }
}

/// On what a policy is evaluated, and when. A set holds its policies in this order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Stage {
    /// On admission requests, first: mutation, then validation, rule by rule.
    Rules,
    /// On admission requests, after the rules: expressions over the request.
    Expressions,
    /// On data of any form, which is no admission request.
    Payloads,
    /// On admission requests, as an API server evaluates its own policies.
    ApiServer,
    /// On check requests of proxies.
    CheckRequests,
    /// On stored objects, on a schedule.
    Schedule,
}

impl Stage {
    /// Whether it evaluates what a user submits: admission requests, or data of any form.
    pub fn evaluates_resources(self) -> bool {
        match self {
            Stage::Rules | Stage::Expressions | Stage::Payloads | Stage::ApiServer => true,
            Stage::CheckRequests | Stage::Schedule => false,
        }
    }
}

/// What decides whether a violation denies the request, warns its client, or is only reported.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", rename_all_fields = "camelCase", deny_unknown_fields)]
pub enum ActionModel {
    /// `failureAction` of each rule, else of the policy, with overrides by namespace.
    FailureActions {
        /// A violation that does not deny the request warns its client (`emitWarning`).
        #[serde(default, skip_serializing_if = "super::unset")]
        warn: bool,
    },
    /// `validationActions` of the policy.
    ValidationActions {
        /// A violation denies the request.
        #[serde(default, skip_serializing_if = "super::unset")]
        deny: bool,
        /// A violation warns the client.
        #[serde(default, skip_serializing_if = "super::unset")]
        warn: bool,
    },
    /// `validationActions` of the bindings.
    Bindings,
}

impl ActionModel {
    /// Whether each rule has a failure action.
    pub fn is_per_rule(self) -> bool {
        matches!(self, ActionModel::FailureActions { .. })
    }

    /// Whether violations that do not deny the request warn its client.
    pub fn warns(self) -> bool {
        match self {
            ActionModel::FailureActions { warn } | ActionModel::ValidationActions { warn, .. } => warn,
            ActionModel::Bindings => false,
        }
    }

    /// Whether every violation denies the request, whatever the rule.
    pub fn denies(self) -> bool {
        matches!(self, ActionModel::ValidationActions { deny: true, .. })
    }
}

/// What follows when a policy cannot be evaluated (`failurePolicy`).
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum FailurePolicy {
    /// The request is denied.
    Fail,
    /// The request is allowed.
    Ignore,
    /// A value that the API does not have, as written.
    Unrecognised(Str),
}

impl FailurePolicy {
    /// `failurePolicy` as written; the default is `Fail`.
    pub fn of(written: &str) -> FailurePolicy {
        match written {
            "" | "Fail" => FailurePolicy::Fail,
            "Ignore" => FailurePolicy::Ignore,
            other => FailurePolicy::Unrecognised(other.into()),
        }
    }

    /// Whether a request is denied when the policy cannot be evaluated.
    pub fn is_fail(&self) -> bool {
        *self != FailurePolicy::Ignore
    }
}

/// Which namespaces a policy applies to.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum NamespaceScope {
    /// All, and cluster-scoped objects.
    All,
    /// Objects, and former objects, with this `metadata.namespace`.
    Objects(Str),
    /// Requests for this namespace.
    Requests(Str),
}

/// How reports name the results of a policy.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Report {
    /// `source` of the results.
    pub source: Str,
    /// Results name the rule; else the policy has rules without names of their own.
    #[serde(default, skip_serializing_if = "super::unset")]
    pub names_rules: bool,
}
