//! Static manifests: policies and bindings of Kubernetes that an API server reads from a folder.
//!
//! In: the texts of folders, and a release. Out: policies and bindings, all or nothing, or the
//! first mistake with its place. A folder belongs to one admission plugin of the server: it holds
//! what validates or what changes objects, by which its first manifest decides here. Semantics:
//! `docs/semantics/admission.md`, "Static manifests", measured on kube-apiserver 1.37.2.

use std::collections::HashMap;
use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

use ephor_api::admission::errors::UNKNOWN_FIELD;
use ephor_api::admission::{STATIC_SUFFIX, check_static, defaulted};
use ephor_document::locate::{locate, locate_key};
use ephor_document::{Document, Duplicates, LoadError, parse_stream};
use ephor_ir::admission::PolicyBinding;
use ephor_lower::admission::{Judge, Place, binding, offline};
use ephor_sources::files::{SourceText, manifests, reason};
use ephor_value::Value;
use ephor_value::place::{Path, parse};
use ephor_value::release::Release;

use super::served::objects;
use super::{LoadedPolicy, Policies, inner_line, loaded};

const GROUP: &str = "admissionregistration.k8s.io/";
const VERSION: &str = "admissionregistration.k8s.io/v1";

/// What a server read of a folder.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ManifestFolder {
    /// Its path.
    pub path: PathBuf,
    /// The texts of its files, or which file cannot be read and why.
    pub texts: Result<Vec<SourceText>, (PathBuf, String)>,
}

impl ManifestFolder {
    /// Reads a folder.
    pub fn read(path: PathBuf) -> ManifestFolder {
        let texts = manifests(&path).map_err(|(path, e)| (path, reason(&e)));
        ManifestFolder { path, texts }
    }
}

/// Why static manifests are not used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ManifestError {
    /// A folder or file that cannot be read.
    #[error("{}: {why}; static manifests are the .yaml, .yml and .json files of a folder", .path.display())]
    Unreadable {
        /// Its path.
        path: PathBuf,
        /// Why not.
        why: String,
    },
    /// A second folder of a plugin.
    #[error("{}: holds manifests of {plugin}, as {} does; a server has one folder of each", .path.display(), .other.display())]
    SecondFolder {
        /// The folder.
        path: PathBuf,
        /// The folder before it.
        other: PathBuf,
        /// The plugin.
        plugin: Plugin,
    },
    /// A manifest with a mistake.
    #[error("{file}:{line}:{column}: {mistake}")]
    Manifest {
        /// The file.
        file: Arc<str>,
        /// The line in the file, from 1.
        line: usize,
        /// The column, from 1.
        column: usize,
        /// What is wrong.
        mistake: ManifestMistake,
    },
}

/// What is wrong with a manifest.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ManifestMistake {
    /// No YAML.
    #[error("{0}")]
    Yaml(String),
    /// No object, or one without kind.
    #[error("no object with `apiVersion` and `kind`; a document of comments alone is none either")]
    NoKind,
    /// An object of another kind.
    #[error("`{api_version}` `{kind}` is no static manifest; write policies and bindings of {VERSION}")]
    Kind {
        /// Its group and version.
        api_version: String,
        /// Its kind.
        kind: String,
    },
    /// A webhook configuration.
    #[error(
        "`{0}` is a manifest of the webhook plugins, which `serve` does not have; give it the folders of policies only"
    )]
    Webhook(String),
    /// A version that is not read from files.
    #[error("`{0}` is not read from static manifests; write `{VERSION}`")]
    Version(String),
    /// A manifest of the other plugin.
    #[error("`{kind}` is in a folder of {plugin}; each plugin has a folder of its own")]
    OtherPlugin {
        /// Its kind.
        kind: String,
        /// The plugin of the manifests before it.
        plugin: Plugin,
    },
    /// A field that no such object has.
    #[error("unknown field `{0}`; static manifests are read strictly")]
    UnknownField(String),
    /// What the API would refuse, too.
    #[error("{0}")]
    Refused(String),
    /// A name without the suffix.
    #[error("`{0}` is no name of a static manifest; names end in `{STATIC_SUFFIX}`")]
    Name(String),
    /// A name that comes twice.
    #[error("`{name}` is the name of another {kind}, in {file}:{line}; write another name")]
    Twice {
        /// The name.
        name: String,
        /// The kind of both.
        kind: String,
        /// The file of the first.
        file: Arc<str>,
        /// The line on which its document begins.
        line: usize,
    },
    /// Parameters of a policy.
    #[error("`spec.paramKind` is not supported in static manifests; write the values into the expressions")]
    ParamKind,
    /// Parameters of a binding.
    #[error("`spec.paramRef` is not supported in static manifests; leave it out")]
    ParamRef,
    /// A policy of the API.
    #[error("`{0}` is no static policy; a static binding names one that ends in `{STATIC_SUFFIX}`")]
    PolicyOfApi(String),
    /// A policy that is not there.
    #[error("there is no {kind} `{name}` in the folder; a static binding names one of its own folder")]
    NoPolicy {
        /// The kind of the policy.
        kind: &'static str,
        /// Its name.
        name: String,
    },
}

/// An admission plugin that reads policies from a folder.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Plugin {
    /// Of policies that validate.
    Validating,
    /// Of policies that change objects.
    Mutating,
}

impl Plugin {
    /// The kind of its policies, which is its name, too.
    pub const fn policy(self) -> &'static str {
        match self {
            Plugin::Validating => "ValidatingAdmissionPolicy",
            Plugin::Mutating => "MutatingAdmissionPolicy",
        }
    }

    fn of_kind(kind: &str) -> Option<Plugin> {
        let plugins = [Plugin::Validating, Plugin::Mutating];
        plugins.into_iter().find(|p| kind.strip_suffix("Binding").unwrap_or(kind) == p.policy())
    }
}

impl fmt::Display for Plugin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.policy())
    }
}

/// The policies of all folders with their bindings, by name.
///
/// # Errors
/// The first mistake in any of them: a server does not start with it, or stays with what it had.
pub fn of_folders(folders: &[ManifestFolder], release: Release) -> Result<Policies, ManifestError> {
    let mut all = Policies::default();
    let mut before: Vec<(Plugin, &PathBuf)> = Vec::new();
    for folder in folders {
        let texts = folder
            .texts
            .as_ref()
            .map_err(|(path, why)| ManifestError::Unreadable { path: path.clone(), why: why.clone() })?;
        let mut reading = Reading {
            release,
            plugin: None,
            names: HashMap::new(),
            bound: Vec::new(),
            bindings: Vec::new(),
            out: Policies::default(),
        };
        texts.iter().try_for_each(|text| reading.file(text))?;
        let Reading { plugin, .. } = reading;
        if let Some(plugin) = plugin {
            if let Some((_, other)) = before.iter().find(|(known, _)| *known == plugin) {
                let (path, other) = (folder.path.clone(), (*other).clone());
                return Err(ManifestError::SecondFolder { path, other, plugin });
            }
            before.push((plugin, &folder.path));
        }
        all.extend(reading.ended()?);
    }
    Ok(all)
}

/// A folder while it is read.
struct Reading {
    release: Release,
    /// The plugin of its first manifest.
    plugin: Option<Plugin>,
    /// Where each kind and name was first.
    names: HashMap<(String, String), (Arc<str>, usize)>,
    /// The policies that bindings name, and where they do.
    bound: Vec<(String, ManifestError)>,
    bindings: Vec<PolicyBinding>,
    out: Policies,
}

/// An object in a document.
struct Manifest<'d> {
    document: &'d Document,
    prefix: &'d Path,
    value: &'d Value,
}

impl Manifest<'_> {
    /// An error at a field, or at the object where it has none.
    fn error(&self, field: &str, mistake: ManifestMistake) -> ManifestError {
        let mut path: Path = self.prefix.iter().cloned().chain(parse(field)).collect();
        let text = &self.document.text;
        let found = loop {
            let place = match mistake {
                ManifestMistake::UnknownField(_) => locate_key(text, &path),
                _ => locate(text, &path),
            };
            if place.is_some() || path.len() <= self.prefix.len() {
                break place;
            }
            path.pop();
        };
        let (line, column) = found.map_or((1, 1), |place| (place.line, place.col));
        let line = self.document.line + line.saturating_sub(1);
        ManifestError::Manifest { file: self.document.source.clone(), line, column, mistake }
    }
}

impl Reading {
    /// Reads a file.
    fn file(&mut self, source: &SourceText) -> Result<(), ManifestError> {
        let at = |line, column, mistake| ManifestError::Manifest {
            file: source.name.as_str().into(),
            line,
            column,
            mistake,
        };
        if let Some(line) = comment_document(&source.text) {
            return Err(at(line, 1, ManifestMistake::NoKind));
        }
        let yaml = |e: LoadError| {
            let line = e.line + inner_line(&e).map_or(0, |line| line.saturating_sub(1));
            at(line, 1, ManifestMistake::Yaml(e.to_string()))
        };
        for document in parse_stream(&source.name, &source.text, Duplicates::Error).map_err(yaml)? {
            self.document(&document.map_err(yaml)?)?;
        }
        Ok(())
    }

    fn document(&mut self, document: &Document) -> Result<(), ManifestError> {
        let whole = Manifest { document, prefix: &Path::new(), value: &document.value };
        if document.value.as_map().is_none() || document.value.text_at(&["kind"]).is_empty() {
            return Err(whole.error("", ManifestMistake::NoKind));
        }
        let items_of = document.value.text_at(&["kind"]).strip_suffix("List").unwrap_or_default();
        for (prefix, value) in objects(&document.value) {
            let typed = typed(&value, document.value.text_at(&["apiVersion"]), items_of);
            self.manifest(&Manifest { document, prefix: &prefix, value: &typed })?;
        }
        Ok(())
    }

    /// Reads an object: its form, then its name, then what only static manifests must not have.
    fn manifest(&mut self, manifest: &Manifest<'_>) -> Result<(), ManifestError> {
        let value = manifest.value;
        let kind = value.text_at(&["kind"]);
        let plugin = self.plugin_of(manifest)?;
        let stored = defaulted(value);
        if let Err(refusal) = check_static(&stored, &mut Judge::new(&stored, self.release)) {
            let cause = refusal.causes.first();
            let field = cause.map(|cause| cause.field.clone()).unwrap_or_default();
            let is_unknown = cause.is_some_and(|cause| cause.reason == UNKNOWN_FIELD);
            let mistake = match is_unknown {
                true => ManifestMistake::UnknownField(field.clone()),
                false => ManifestMistake::Refused(refusal.message),
            };
            return Err(manifest.error(&field, mistake));
        }
        let name = value.text_at(&["metadata", "name"]);
        if !name.ends_with(STATIC_SUFFIX) {
            return Err(manifest.error("metadata.name", ManifestMistake::Name(name.into())));
        }
        let key = (kind.to_string(), name.to_string());
        if let Some((file, line)) = self.names.get(&key).cloned() {
            let (kind, name) = key;
            return Err(manifest.error("metadata.name", ManifestMistake::Twice { name, kind, file, line }));
        }
        self.names.insert(key, (manifest.document.source.clone(), manifest.document.line));
        let has = |field: &str| value.at(&["spec", field]).is_some_and(|value| !value.is_null());
        if kind != plugin.policy() {
            let policy = value.text_at(&["spec", "policyName"]);
            if !policy.ends_with(STATIC_SUFFIX) {
                return Err(manifest.error("spec.policyName", ManifestMistake::PolicyOfApi(policy.into())));
            }
            if has("paramRef") {
                return Err(manifest.error("spec.paramRef", ManifestMistake::ParamRef));
            }
            let missing = ManifestMistake::NoPolicy { kind: plugin.policy(), name: policy.into() };
            self.bound.push((policy.into(), manifest.error("spec.policyName", missing)));
            self.bindings.push(binding(&stored));
            return Ok(());
        }
        if has("paramKind") {
            return Err(manifest.error("spec.paramKind", ManifestMistake::ParamKind));
        }
        let policy = offline::policy(&stored, Place::Server(self.release));
        let loaded = loaded(manifest.document, value, Some(policy));
        self.out.policies.push(LoadedPolicy { prefix: manifest.prefix.clone(), ..loaded });
        Ok(())
    }

    /// The plugin of an object: that of the folder.
    fn plugin_of(&mut self, manifest: &Manifest<'_>) -> Result<Plugin, ManifestError> {
        let api_version = manifest.value.text_at(&["apiVersion"]);
        let kind = manifest.value.text_at(&["kind"]);
        if kind.is_empty() {
            return Err(manifest.error("", ManifestMistake::NoKind));
        }
        let is_webhook = matches!(kind, "ValidatingWebhookConfiguration" | "MutatingWebhookConfiguration");
        let plugin = match Plugin::of_kind(kind).filter(|_| api_version.starts_with(GROUP)) {
            Some(plugin) => plugin,
            None if is_webhook => return Err(manifest.error("kind", ManifestMistake::Webhook(kind.into()))),
            None => {
                let (api_version, kind) = (api_version.into(), kind.into());
                return Err(manifest.error("kind", ManifestMistake::Kind { api_version, kind }));
            }
        };
        if api_version != VERSION {
            return Err(manifest.error("apiVersion", ManifestMistake::Version(api_version.into())));
        }
        match *self.plugin.get_or_insert(plugin) {
            own if own == plugin => Ok(plugin),
            own => {
                let mistake = ManifestMistake::OtherPlugin { kind: kind.into(), plugin: own };
                Err(manifest.error("kind", mistake))
            }
        }
    }

    /// What was read, by name, if every binding has its policy.
    fn ended(mut self) -> Result<Policies, ManifestError> {
        let is_there = |name: &str| self.out.policies.iter().any(|policy| policy.name == name);
        if let Some((_, error)) = self.bound.into_iter().find(|(name, _)| !is_there(name)) {
            return Err(error);
        }
        for loaded in &mut self.out.policies {
            let own = self.bindings.iter().filter(|binding| *binding.policy == *loaded.name);
            let own: Vec<PolicyBinding> = own.cloned().collect();
            loaded.policy = loaded.policy.take().map(|p| Arc::new(offline::bind_static(&p, own)));
        }
        self.out.policies.sort_by(|a, b| a.name.cmp(&b.name));
        Ok(self.out)
    }
}

/// An item of a list, with the kind that the list gives to items without one.
fn typed(value: &Value, api_version: &str, kind: &str) -> Value {
    let mut value = value.clone();
    if let Value::Map(map) = &mut value
        && !kind.is_empty()
        && !map.contains_key("kind")
    {
        map.insert("apiVersion", Value::from(api_version));
        map.insert("kind", Value::from(kind));
    }
    value
}

/// The line on which a document of comments alone begins: the server reads it as an object. A
/// document without any text is none.
fn comment_document(text: &str) -> Option<usize> {
    let (mut begins, mut is_comment) = (1, None);
    for (at, line) in text.lines().enumerate() {
        let shown = line.trim();
        if line.starts_with("---") {
            if is_comment == Some(true) {
                return Some(begins);
            }
            (begins, is_comment) = (at + 2, None);
        } else if !shown.is_empty() {
            is_comment = Some(is_comment.unwrap_or(true) && shown.starts_with('#'));
        }
    }
    (is_comment == Some(true)).then_some(begins)
}

#[cfg(test)]
mod tests;
