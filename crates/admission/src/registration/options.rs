//! Where the server is, and what configurations of webhooks have besides what policies need.

use ephor_value::release::Release;
use ephor_value::{Map, Value};

/// Whose names configurations and webhooks have.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum WebhookNames {
    /// Names of our own, next to which another Kyverno keeps its own.
    #[default]
    Ephor,
    /// Kyverno's names, for clusters without Kyverno.
    Kyverno,
}

impl WebhookNames {
    /// The names of the mutating and of the validating configuration.
    pub fn configurations(self) -> [&'static str; 2] {
        match self {
            WebhookNames::Ephor => {
                ["ephor-resource-mutating-webhook-cfg", "ephor-resource-validating-webhook-cfg"]
            }
            WebhookNames::Kyverno => {
                ["kyverno-resource-mutating-webhook-cfg", "kyverno-resource-validating-webhook-cfg"]
            }
        }
    }

    /// The name of a webhook that Kyverno calls `name`.
    pub(super) fn webhook(self, name: &str) -> String {
        match self {
            WebhookNames::Ephor => name.replacen(".kyverno.svc-", ".ephor.svc-", 1),
            WebhookNames::Kyverno => name.into(),
        }
    }
}

/// The kinds of the configurations, the mutating one first.
pub const KINDS: [&str; 2] = ["MutatingWebhookConfiguration", "ValidatingWebhookConfiguration"];

/// The label that says which program owns an object, and its value for ours.
pub const OWNER: (&str, &str) = ("app.kubernetes.io/managed-by", "ephor");

/// Where the server is.
#[derive(Clone, Debug)]
pub enum Address {
    /// A service of the cluster.
    Service {
        /// Its namespace.
        namespace: String,
        /// Its name.
        name: String,
        /// Its port.
        port: u16,
    },
    /// The beginning of all addresses, `https://host:port`.
    Url(String),
}

/// Settings of the configurations that are not part of policies.
#[derive(Clone, Debug)]
pub struct Options {
    /// Whose names configurations and webhooks have.
    pub names: WebhookNames,
    /// Where the server is.
    pub address: Address,
    /// The certificates to trust, base64 of PEM; empty = those of the machine.
    pub ca_bundle: String,
    /// Seconds that calls may take unless a policy wants more.
    pub timeout: i64,
    /// Namespaces whose objects are never sent.
    pub excluded_namespaces: Vec<String>,
    /// Whether failures never block.
    pub ignore_failures: bool,
    /// Whether blocking webhooks exclude nodes and signing requests, so that a cluster can start.
    pub exclude_bootstrap: bool,
    /// Selectors of namespaces and of objects for all webhooks.
    pub selectors: [Option<Value>; 2],
    /// Match conditions of webhooks for policies with rules that have none of their own.
    pub conditions: Vec<Value>,
    /// The release of the API server, which decides over the conditions that it understands.
    pub release: Release,
    /// Labels of the configurations.
    pub labels: Map,
    /// Their annotations.
    pub annotations: Map,
}

impl Options {
    /// Those of a server at an address, with nothing set.
    pub fn of(address: Address) -> Options {
        Options {
            names: WebhookNames::Ephor,
            address,
            ca_bundle: String::new(),
            timeout: 10,
            excluded_namespaces: Vec::new(),
            ignore_failures: false,
            exclude_bootstrap: false,
            selectors: [None, None],
            conditions: Vec::new(),
            release: Release::default(),
            labels: Map::new(),
            annotations: Map::new(),
        }
    }
}
