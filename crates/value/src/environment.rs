//! The environment variables that the program reads, those of its flags aside.
//!
//! In: a row of the table. Out: the variable's value. Code reads the environment through these rows
//! only, and `docs/reference/settings.md` lists them.

use std::ffi::OsString;

/// A variable.
#[derive(Clone, Copy, Debug)]
pub struct Variable {
    /// Its name.
    pub name: &'static str,
    /// What it sets.
    pub about: &'static str,
}

impl Variable {
    /// Its value, if it is set.
    pub fn value(&self) -> Option<OsString> {
        std::env::var_os(self.name)
    }

    /// Its value, if it is set and not empty.
    pub fn non_empty(&self) -> Option<OsString> {
        self.value().filter(|value| !value.is_empty())
    }

    /// Its value, if it is set to Unicode text.
    pub fn text(&self) -> Option<String> {
        std::env::var(self.name).ok()
    }

    /// Whether it is set, to whatever value.
    pub fn is_set(&self) -> bool {
        self.value().is_some()
    }
}

/// Whether the variable of a flag is set.
pub fn is_set(name: &str) -> bool {
    std::env::var_os(name).is_some()
}

macro_rules! variables {
    ($($id:ident = $name:literal, $about:literal;)*) => {
        $(#[doc = $about] pub const $id: Variable = Variable { name: $name, about: $about };)*

        /// All of them.
        pub const ALL: &[Variable] = &[$($id),*];
    };
}

variables! {
    NO_COLOR = "NO_COLOR", "output without colours when it is set, to any value";
    FORCE_COLOR = "FORCE_COLOR", "colours also where the output is no terminal, unless it is empty or `0`";
    CLICOLOR_FORCE = "CLICOLOR_FORCE", "as `FORCE_COLOR`";
    TERM = "TERM", "`dumb`: a terminal without colours";
    XDG_STATE_HOME = "XDG_STATE_HOME", "folder of `ephor/jp_history` and `ephor/cel_history`, by default `~/.local/state`";
    HOME = "HOME", "home folder, with `.local/state` and `.docker`";
    KUBECONFIG = "KUBECONFIG", "kubeconfig files without `--kubeconfig`, by default `~/.kube/config`";
    KUBERNETES_SERVICE_HOST = "KUBERNETES_SERVICE_HOST", "set by Kubernetes in a pod, whose service account is used then";
    HOSTNAME = "HOSTNAME", "name of the pod, in events";
    HTTP_PROXY = "HTTP_PROXY", "proxy of `http` addresses; not read where `REQUEST_METHOD` is set, where a client could choose it";
    HTTP_PROXY_SMALL = "http_proxy", "as `HTTP_PROXY`, which takes precedence";
    HTTPS_PROXY = "HTTPS_PROXY", "proxy of `https` addresses";
    HTTPS_PROXY_SMALL = "https_proxy", "as `HTTPS_PROXY`, which takes precedence";
    NO_PROXY = "NO_PROXY", "hosts, domains and networks that are reached without a proxy";
    NO_PROXY_SMALL = "no_proxy", "as `NO_PROXY`, which takes precedence";
    REQUEST_METHOD = "REQUEST_METHOD", "set by CGI servers; no proxy is used then";
    SSL_CERT_FILE = "SSL_CERT_FILE", "file with the trusted certificate authorities instead of the system's";
    SSL_CERT_DIR = "SSL_CERT_DIR", "folders with them";
    DOCKER_CONFIG = "DOCKER_CONFIG", "folder with `config.json`, the credentials of registries, by default `~/.docker`";
    GITHUB_TOKEN = "GITHUB_TOKEN", "credentials of `ghcr.io`, where policies name the provider `github`";
    GITHUB_SHA = "GITHUB_SHA", "commit of a run in GitHub, in pages";
    GITHUB_REF_NAME = "GITHUB_REF_NAME", "its branch or tag";
    CI_COMMIT_SHA = "CI_COMMIT_SHA", "commit of a run in GitLab, in pages";
    CI_COMMIT_REF_NAME = "CI_COMMIT_REF_NAME", "its branch or tag";
    GITHUB_WORKSPACE = "GITHUB_WORKSPACE", "root of the repository for names of files in SARIF, annotations and JUnit, where no folder above has `.git`";
    CI_PROJECT_DIR = "CI_PROJECT_DIR", "as `GITHUB_WORKSPACE`, which takes precedence";
    JOB_COMPLETION_INDEX = "JOB_COMPLETION_INDEX", "set by Kubernetes in the Pods of an Indexed Job: the shard of `--shard job/N`, from 0";
    OTEL_EXPORTER_OTLP_ENDPOINT = "OTEL_EXPORTER_OTLP_ENDPOINT", "URL of the OpenTelemetry collector of `ephor serve`, without `--otlp-endpoint`";
    OTEL_SERVICE_NAME = "OTEL_SERVICE_NAME", "name of the service in its spans, by default `ephor`";
    OTEL_RESOURCE_ATTRIBUTES = "OTEL_RESOURCE_ATTRIBUTES", "further attributes of its spans: `NAME=VALUE,…`";
    OTEL_SDK_DISABLED = "OTEL_SDK_DISABLED", "`true`: no spans";
    CONFORMANCE = "EPHOR_CONFORMANCE", "folder of recorded suites";
    REQUIRE_CONFORMANCE = "EPHOR_REQUIRE_CONFORMANCE", "`1`: a missing suite is an error; otherwise its tests are skipped";
    COMPLETE = "EPHOR_COMPLETE", "set by the scripts of `ephor completion`: the shell whose line is completed";
}
