//! Flags of webhook configurations, for `ephor webhook-config` and `ephor serve`.

use clap::ValueHint;

use ephor_admission::registration::{Address, Options, WebhookNames};

use super::flags::{Record, fields, whole};
use crate::cli::arguments::given;
use ephor_value::url;

/// Where the webhooks are served.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Server")]
pub struct ServerOptions {
    /// namespace of the server's service
    #[arg(long, value_name = "NAME", default_value = "ephor")]
    service_namespace: String,
    /// name of the server's service
    #[arg(long, value_name = "NAME", default_value = "ephor")]
    service_name: String,
    /// port of the server's service
    #[arg(long, value_name = "PORT", default_value = "443", value_parser = port)]
    service_port: u16,
    /// base URL of the server, https://HOST:PORT, instead of a service
    #[arg(long, value_name = "URL", value_hint = ValueHint::Url)]
    url: Option<String>,
    /// file with the CA bundle (PEM) that verifies the server's certificate
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub ca_bundle: Option<String>,
}

/// What the webhooks are sent, and when.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Webhooks")]
pub struct WebhookOptions {
    /// timeout of the webhooks in seconds, unless a policy sets a longer one
    #[arg(long, value_name = "SECONDS", default_value = "10", value_parser = whole)]
    webhook_timeout: i64,
    /// namespaces whose objects are never sent, "" for none (default the server's own and
    /// kube-system)
    #[arg(long, value_name = "NAME")]
    exclude_namespace: Vec<Record>,
    /// failurePolicy Ignore for all webhooks, whatever the policies set
    #[arg(long)]
    force_failure_policy_ignore: bool,
    /// exclusion of nodes and signing requests from webhooks with failurePolicy Fail, so that a
    /// cluster can start
    #[arg(long)]
    exclude_bootstrap_resources: bool,
    /// Kyverno's names for configurations and webhooks, for clusters without Kyverno
    #[arg(long)]
    kyverno_names: bool,
}

#[derive(Debug, thiserror::Error)]
#[error("expected 1 to 65535")]
struct PortError;

fn port(text: &str) -> Result<u16, PortError> {
    text.parse().ok().filter(|port| *port > 0).ok_or(PortError)
}

impl ServerOptions {
    /// The names of the server; the last one is that to which API servers connect.
    pub fn names(&self) -> Vec<String> {
        let (service, namespace) = (&self.service_name, &self.service_namespace);
        let host = given(&self.url).and_then(|url| url::split(url).ok()).map(|parts| parts.host_name);
        let of_service =
            [service.clone(), format!("{service}.{namespace}"), format!("{service}.{namespace}.svc")];
        of_service.into_iter().chain(host).collect()
    }

    /// The namespace of the server.
    pub fn namespace(&self) -> &str {
        &self.service_namespace
    }
}

impl WebhookOptions {
    /// Whose names configurations and webhooks have.
    pub fn names(&self) -> WebhookNames {
        if self.kyverno_names { WebhookNames::Kyverno } else { WebhookNames::Ephor }
    }
}

/// What the flags say; certificates and the settings of a ConfigMap are not among it.
pub fn options(server: &ServerOptions, webhooks: &WebhookOptions) -> Options {
    let namespace = &server.service_namespace;
    let address = match given(&server.url) {
        None => Address::Service {
            namespace: namespace.into(),
            name: server.service_name.clone(),
            port: server.service_port,
        },
        Some(url) => Address::Url(url.into()),
    };
    let excluded_namespaces: Vec<String> = match &webhooks.exclude_namespace[..] {
        [] => match &address {
            Address::Service { .. } => vec![namespace.into(), "kube-system".into()],
            Address::Url(_) => vec!["kube-system".into()],
        },
        given => fields(given).into_iter().filter(|n| !n.is_empty()).collect(),
    };
    Options {
        names: webhooks.names(),
        timeout: webhooks.webhook_timeout,
        excluded_namespaces,
        ignore_failures: webhooks.force_failure_policy_ignore,
        exclude_bootstrap: webhooks.exclude_bootstrap_resources,
        ..Options::of(address)
    }
}
