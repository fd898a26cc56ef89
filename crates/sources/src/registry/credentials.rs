//! Credentials for registries.
//!
//! In: pull secrets of operators and policies, the `config.json` of `docker login` with its
//! credential helpers, and providers. Out: the credentials for a repository, if there are some; a
//! secret or a helper that fails is an error. They are looked for only once a registry wants them.
//! Semantics: `docs/semantics/images.md`, "Registries".

use std::error::Error as StdError;
use std::io::{self, Read, Write};
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::{Arc, mpsc};
use std::time::{Duration, Instant};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use ephor_document::decode_json;
use ephor_functions::encode::base64_text;
use ephor_value::{Map, Value, environment};

use super::Repository;

/// How long a helper may take. A request waits for it; one that takes longer counts as without
/// credentials.
const MAX_TIME: Duration = Duration::from_secs(10);
/// The most that a helper may say.
const MAX_OUTPUT: u64 = 256 * 1024;
/// What Docker Hub is called in configurations.
const DOCKER_HUB: [&str; 3] = ["index.docker.io", "docker.io", "registry-1.docker.io"];

/// Why there may be credentials that cannot be had.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CredentialsError {
    /// A pull secret cannot be used.
    #[error("failed to read pull secret {namespace}/{name}: {cause}")]
    PullSecret {
        /// Its namespace.
        namespace: Box<str>,
        /// Its name.
        name: Box<str>,
        /// Why not.
        #[source]
        cause: SecretError,
    },
    /// A `config.json` is no JSON, in the words of its decoder.
    #[error("{}: {why}", .path.display())]
    Config {
        /// Its path.
        path: PathBuf,
        /// What is wrong with it.
        why: Box<str>,
    },
    /// A provider that is not known.
    #[error("unknown provider of credentials `{0}`")]
    UnknownProvider(Box<str>),
    /// The helper of a provider fails.
    #[error("provider of credentials `{provider}`: {cause}")]
    Provider {
        /// The provider.
        provider: Box<str>,
        /// Why.
        #[source]
        cause: HelperError,
    },
    /// A helper fails.
    #[error(transparent)]
    Helper(#[from] HelperError),
}

/// Why a pull secret cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum SecretError {
    /// There is no cluster to read Secrets from.
    #[error("there is no cluster")]
    NoCluster,
    /// It is not there or may not be read.
    #[error(transparent)]
    Unread(Box<dyn StdError + Send + Sync>),
    /// It is no JSON, in the words of its decoder.
    #[error("{0}")]
    Json(Box<str>),
    /// It has none of the keys of pull secrets.
    #[error("it has no usable .dockerconfigjson")]
    NoKey,
}

/// Why a helper gives no credentials.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum HelperError {
    /// A program whose name is none.
    #[error("`{0}` is no name of a credential helper")]
    Name(Box<str>),
    /// A program that fails.
    #[error("{program}: {cause}")]
    Program {
        /// The program.
        program: Box<str>,
        /// Why.
        #[source]
        cause: HelperCause,
    },
}

/// Why a program gives no credentials.
#[derive(Debug, thiserror::Error)]
pub enum HelperCause {
    /// It cannot be run.
    #[error(transparent)]
    Run(io::Error),
    /// It takes too long.
    #[error("no answer within {} s", MAX_TIME.as_secs())]
    Late,
    /// What the program printed.
    #[error("{0}")]
    Printed(Box<str>),
    /// What is wrong with the JSON that it printed, in the words of the decoder.
    #[error("{0}")]
    Json(Box<str>),
}

/// Who reads Secrets.
pub trait Secrets: Send + Sync {
    /// A Secret.
    ///
    /// # Errors
    /// It is not there or may not be read.
    fn secret(&self, namespace: &str, name: &str) -> Result<Value, Box<dyn StdError + Send + Sync>>;
}

/// What a policy says about credentials.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct ImageRegistryCredentials {
    providers: Vec<String>,
    secrets: Vec<String>,
}

impl ImageRegistryCredentials {
    /// Reads `imageRegistryCredentials`.
    pub fn of(value: &Value) -> ImageRegistryCredentials {
        let list = |key: &str| {
            let all = value.get(key).and_then(Value::as_list).unwrap_or_default();
            all.iter().filter_map(Value::as_str).map(str::to_owned).collect()
        };
        ImageRegistryCredentials { providers: list("providers"), secrets: list("secrets") }
    }
}

/// What a client authenticates with.
#[derive(Clone, PartialEq, Eq)]
pub enum Credentials {
    /// User and password, in base64.
    Basic(String),
    /// Something that a service of tokens takes for them.
    Identity(String),
    /// A token of the registry itself.
    Bearer(String),
}

impl std::fmt::Debug for Credentials {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Credentials")
    }
}

/// Where credentials are.
#[derive(Clone, Default)]
pub struct Keys {
    /// Names of Secrets, with or without their namespace.
    pub pull_secrets: Vec<String>,
    /// The namespace of those without.
    pub namespace: String,
    /// Who reads them.
    pub secrets: Option<Arc<dyn Secrets>>,
    /// The folder of `config.json`; `None` = that of the environment.
    pub config: Option<PathBuf>,
    /// Names of Secrets that a policy names, in that namespace.
    pub policy_secrets: Vec<String>,
    /// The cloud providers whose credential helpers are called for their registries.
    pub providers: Vec<String>,
}

impl Keys {
    #[cfg(any(test, feature = "fuzzing"))]
    pub(super) fn anonymous() -> Keys {
        Keys { config: Some(PathBuf::new()), ..Keys::default() }
    }

    /// The same with what a policy names.
    pub(super) fn with(&self, wanted: &ImageRegistryCredentials) -> Keys {
        let mut keys = self.clone();
        keys.policy_secrets.clone_from(&wanted.secrets);
        keys.providers.clone_from(&wanted.providers);
        keys
    }

    /// The credentials for a repository.
    ///
    /// # Errors
    /// A Secret or a helper that may have some fails.
    pub(super) fn of(&self, at: &Repository) -> Result<Option<Credentials>, CredentialsError> {
        let of_operators = self.pull_secrets.iter().map(|name| match name.split_once('/') {
            Some((namespace, name)) => (namespace, name),
            None => (&*self.namespace, &**name),
        });
        // A policy does not choose the namespace.
        let of_policy = self.policy_secrets.iter().map(|name| (&*self.namespace, &**name));
        for (namespace, name) in of_operators.chain(of_policy) {
            let config = self.secret(namespace, name).map_err(|cause| CredentialsError::PullSecret {
                namespace: namespace.into(),
                name: name.into(),
                cause,
            })?;
            if let Some(found) = of_entries(&config, at) {
                return Ok(Some(found));
            }
        }
        if let Some(found) = self.of_config(at)? {
            return Ok(Some(found));
        }
        for provider in &self.providers {
            if let Some(found) = of_provider(provider, at)? {
                return Ok(Some(found));
            }
        }
        Ok(None)
    }

    /// The entries of a pull secret, by host.
    fn secret(&self, namespace: &str, name: &str) -> Result<Map, SecretError> {
        let Some(secrets) = &self.secrets else { return Err(SecretError::NoCluster) };
        let secret = secrets.secret(namespace, name).map_err(SecretError::Unread)?;
        let text = |key: &str| {
            let coded = secret.at(&["data", key]).and_then(Value::as_str)?;
            STANDARD.decode(coded.trim()).ok().and_then(|bytes| String::from_utf8(bytes).ok())
        };
        let json =
            |text: &str| decode_json(text).map_err(|error| SecretError::Json(error.to_string().into()));
        let entries = match (text(".dockerconfigjson"), text(".dockercfg")) {
            (Some(text), _) => json(&text)?.get("auths").cloned().unwrap_or_default(),
            (None, Some(text)) => json(&text)?,
            (None, None) => return Err(SecretError::NoKey),
        };
        match entries {
            Value::Map(entries) => Ok(entries),
            _ => Ok(Map::new()),
        }
    }

    /// The credentials that `docker login` has stored, or those of the helpers that it names.
    fn of_config(&self, at: &Repository) -> Result<Option<Credentials>, CredentialsError> {
        let home = || environment::HOME.value().map(|home| PathBuf::from(home).join(".docker"));
        let folder = self.config.clone().or_else(|| environment::DOCKER_CONFIG.value().map(PathBuf::from));
        let Some(path) = folder.or_else(home).map(|folder| folder.join("config.json")) else {
            return Ok(None);
        };
        let Ok(text) = std::fs::read_to_string(&path) else { return Ok(None) };
        let config = decode_json(&text);
        let config =
            config.map_err(|e| CredentialsError::Config { path: path.clone(), why: e.to_string().into() })?;
        let helpers = config.get("credHelpers").and_then(Value::as_map);
        let hosts = names(at);
        let own = hosts.iter().find_map(|host| helpers?.get(host.as_str())?.as_str());
        let store = Some(config.text_at(&["credsStore"])).filter(|name| !name.is_empty());
        if let Some(helper) = own.or(store) {
            let server = if DOCKER_HUB.contains(&&*at.registry) {
                "https://index.docker.io/v1/"
            } else {
                &at.registry
            };
            if let Some(found) = of_helper(helper, server)? {
                return Ok(Some(found));
            }
        }
        let auths = config.get("auths").and_then(Value::as_map);
        Ok(auths.and_then(|auths| of_entries(auths, at)))
    }
}

/// The names under which a registry may stand in a configuration.
fn names(at: &Repository) -> Vec<String> {
    match DOCKER_HUB.contains(&&*at.registry) {
        true => DOCKER_HUB.iter().map(ToString::to_string).collect(),
        false => vec![at.registry.clone()],
    }
}

/// The entry for a repository: that of its host with the longest path. As for the kubelet, a part
/// of the host may be `*`.
fn entry<'m>(entries: &'m Map, at: &Repository) -> Option<&'m Value> {
    let hosts = names(at);
    let fits = |key: &str| -> Option<usize> {
        let key = key.split_once("://").map_or(key, |(_, rest)| rest);
        let (host, path) = key.split_once('/').unwrap_or((key, ""));
        let path = path.trim_matches('/');
        let path = if matches!(path, "v1" | "v2") { "" } else { path };
        let below = at
            .path
            .strip_prefix(path)
            .is_some_and(|rest| path.is_empty() || rest.is_empty() || rest.starts_with('/'));
        (below && hosts.iter().any(|own| host_fits(host, own))).then_some(path.len())
    };
    let found = entries.iter().filter_map(|(key, value)| Some((fits(key)?, value)));
    found
        .fold(None, |best: Option<(usize, &Value)>, one| match best {
            Some(best) if best.0 >= one.0 => Some(best),
            _ => Some(one),
        })
        .map(|(_, value)| value)
}

fn host_fits(pattern: &str, host: &str) -> bool {
    if !pattern.contains('*') {
        return pattern.eq_ignore_ascii_case(host);
    }
    let (patterns, parts): (Vec<&str>, Vec<&str>) = (pattern.split('.').collect(), host.split('.').collect());
    let part_fits = |pattern: &str, part: &str| ephor_value::wildcard::Wildcard::new(pattern).matches(part);
    patterns.len() == parts.len()
        && patterns.iter().zip(parts).all(|(pattern, part)| part_fits(pattern, part))
}

/// What the entry for a repository gives.
pub(super) fn of_entries(entries: &Map, at: &Repository) -> Option<Credentials> {
    entry(entries, at).and_then(of_entry)
}

fn of_entry(entry: &Value) -> Option<Credentials> {
    let text = |key: &str| Some(entry.text_at(&[key])).filter(|t| !t.is_empty());
    if let Some(token) = text("registrytoken") {
        return Some(Credentials::Bearer(token.into()));
    }
    if let Some(token) = text("identitytoken") {
        return Some(Credentials::Identity(token.into()));
    }
    if let Some(auth) = text("auth") {
        return Some(Credentials::Basic(auth.into()));
    }
    let user = text("username")?;
    Some(basic(user, text("password").unwrap_or_default()))
}

fn basic(user: &str, password: &str) -> Credentials {
    match user {
        "<token>" => Credentials::Identity(password.into()),
        user => Credentials::Basic(base64_text(format!("{user}:{password}").as_bytes())),
    }
}

/// What a provider of clouds knows, by the usual helper programs.
fn of_provider(provider: &str, at: &Repository) -> Result<Option<Credentials>, CredentialsError> {
    let host = &*at.registry;
    let (is_own, helper) = match provider {
        "default" => return Ok(None),
        "github" => {
            let token = environment::GITHUB_TOKEN.text().unwrap_or_default();
            return Ok((host == "ghcr.io" && !token.is_empty()).then(|| basic("unset", &token)));
        }
        "amazon" => (host.ends_with(".amazonaws.com") || host == "public.ecr.aws", "ecr-login"),
        "google" => (host == "gcr.io" || host.ends_with(".gcr.io") || host.ends_with(".pkg.dev"), "gcr"),
        "azure" => (host.ends_with(".azurecr.io"), "acr-env"),
        other => return Err(CredentialsError::UnknownProvider(other.into())),
    };
    if !is_own {
        return Ok(None);
    }
    of_helper(helper, host).map_err(|cause| CredentialsError::Provider { provider: provider.into(), cause })
}

/// Calls `docker-credential-NAME`; it may take [`MAX_TIME`].
fn of_helper(name: &str, server: &str) -> Result<Option<Credentials>, HelperError> {
    let program = format!("docker-credential-{name}");
    let is_name = name.bytes().all(|b| b.is_ascii_alphanumeric() || b"-_.".contains(&b));
    if !is_name || name.is_empty() {
        return Err(HelperError::Name(program.into()));
    }
    printed(&program, server).map_err(|cause| HelperError::Program { program: program.into(), cause })
}

/// The credentials that a program prints.
fn printed(program: &str, server: &str) -> Result<Option<Credentials>, HelperCause> {
    let mut child = Command::new(program)
        .arg("get")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .map_err(HelperCause::Run)?;
    let (stdin, stdout) = (child.stdin.take(), child.stdout.take());
    let (sender, receiver) = mpsc::sync_channel(1);
    let server = server.to_owned();
    std::thread::spawn(move || {
        if let Some(mut stdin) = stdin {
            let _ = stdin.write_all(format!("{server}\n").as_bytes());
        }
        let mut text = String::new();
        let read = stdout.map(|stdout| stdout.take(MAX_OUTPUT).read_to_string(&mut text));
        let _ = sender.send(read.is_some_and(|read| read.is_ok()).then_some(text));
    });
    let ends = Instant::now() + MAX_TIME;
    let answer = receiver.recv_timeout(MAX_TIME);
    let status = loop {
        match child.try_wait().map_err(HelperCause::Run)? {
            Some(status) => break Some(status),
            None if Instant::now() >= ends => {
                let _ = child.kill();
                let _ = child.wait();
                break None;
            }
            None => std::thread::sleep(Duration::from_millis(1)),
        }
    };
    let (Some(status), Ok(text)) = (status, answer) else {
        return Err(HelperCause::Late);
    };
    let text = text.unwrap_or_default();
    if !status.success() {
        let is_unknown = text.contains("credentials not found");
        return if is_unknown { Ok(None) } else { Err(HelperCause::Printed(text.trim().into())) };
    }
    let found = decode_json(&text).map_err(|error| HelperCause::Json(error.to_string().into()))?;
    let (user, secret) = (found.text_at(&["Username"]), found.text_at(&["Secret"]));
    Ok((!user.is_empty() && !secret.is_empty()).then(|| basic(user, secret)))
}
