//! The file `ephor.yaml`.
//!
//! In: a path, or the current folder. Out: a [`Config`], whose keys and types were checked, or an
//! error with file, line, column and a hint. Paths in it are relative to its folder.

use std::path::{Path, PathBuf};

use clap::ValueEnum;
use ephor_document::locate::{locate, locate_key};
use ephor_report::formats::Format;
use ephor_report::run::Severity;
use ephor_value::file_path::normal;
use ephor_value::place::PathPart;
use ephor_value::release::Release;
use ephor_value::suggest::did_you_mean;
use ephor_value::{Map, Value};

/// The name of the file.
pub const NAME: &str = "ephor.yaml";

/// A key of the file.
#[derive(Clone, Copy, Debug)]
pub struct Key {
    /// Its name.
    pub name: &'static str,
    /// What it sets.
    pub about: &'static str,
    kind: SettingKind,
}

/// What a key holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum SettingKind {
    /// Paths, relative to the file, or addresses.
    Paths,
    /// Patterns or other texts.
    Texts,
    Path,
    Bool,
    Release,
    Severity,
    /// Severities by names.
    Severities,
    /// The name of a format.
    Format,
}

/// All keys.
pub const KEYS: [Key; 15] = [
    Key { name: "policies", about: "policies where a command names none", kind: SettingKind::Paths },
    Key { name: "resources", about: "resources where -r names none", kind: SettingKind::Paths },
    Key { name: "recursive", about: "resources of all folders below (-R)", kind: SettingKind::Bool },
    Key {
        name: "exclude",
        about: "patterns of files and folders that are left out",
        kind: SettingKind::Texts,
    },
    Key {
        name: "render",
        about: "charts and kustomizations are rendered (--render)",
        kind: SettingKind::Bool,
    },
    Key { name: "kinds", about: "kinds of the resources that count (--kinds)", kind: SettingKind::Texts },
    Key {
        name: "severities",
        about: "severities of policies by name, in the place of their own",
        kind: SettingKind::Severities,
    },
    Key { name: "kubernetes", about: "release of Kubernetes (--kubernetes)", kind: SettingKind::Release },
    Key { name: "strict", about: "exit code 2 for what cannot be used (--strict)", kind: SettingKind::Bool },
    Key { name: "failOn", about: "least severity that fails a run (--fail-on)", kind: SettingKind::Severity },
    Key { name: "baseline", about: "file with known violations (--baseline)", kind: SettingKind::Path },
    Key { name: "reports", about: "files for reports (--report-file)", kind: SettingKind::Paths },
    Key {
        name: "format",
        about: "format of standard output, for commands that have it (--output-format)",
        kind: SettingKind::Format,
    },
    Key {
        name: "acceptedDifferences",
        about: "file with differences that are accepted (--accepted)",
        kind: SettingKind::Path,
    },
    Key {
        name: "bundleKey",
        about: "public key that must have signed bundles (--bundle-key)",
        kind: SettingKind::Path,
    },
];

/// Why a configuration cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    /// It cannot be read.
    #[error("cannot read the configuration `{path}`: {cause}")]
    Read {
        /// The file.
        path: String,
        /// Why.
        cause: std::io::Error,
    },
    /// It is no YAML.
    #[error("{path}: {cause}")]
    Yaml {
        /// The file.
        path: String,
        /// What is wrong.
        cause: ephor_document::yaml::YamlError,
    },
    /// A part of it is wrong.
    #[error("{place}: {why}\nhelp: {help}")]
    Part {
        /// `FILE:LINE:COLUMN`.
        place: String,
        /// What is wrong.
        why: String,
        /// What to write instead.
        help: String,
    },
}

/// A checked configuration.
#[derive(Debug)]
pub struct Config {
    /// The file as it is named in messages.
    name: String,
    folder: PathBuf,
    text: String,
    values: Value,
}

/// A setting of a file.
#[derive(Debug)]
pub struct Setting {
    /// Its value; paths lead there from the current folder.
    pub value: Value,
    /// The line of its key, from 1.
    pub line: usize,
}

impl Config {
    /// The named file, or the one around the current folder, if there is one.
    ///
    /// # Errors
    /// It cannot be used.
    pub fn find(named: Option<&str>) -> Result<Option<Config>, ConfigError> {
        let path = match named {
            Some(path) => Some(PathBuf::from(path)),
            None => around(),
        };
        path.map(|path| Config::read(&path)).transpose()
    }

    fn read(path: &Path) -> Result<Config, ConfigError> {
        let name = path.display().to_string();
        let text =
            std::fs::read_to_string(path).map_err(|cause| ConfigError::Read { path: name.clone(), cause })?;
        let values = ephor_document::yaml_value(&text)
            .map_err(|cause| ConfigError::Yaml { path: name.clone(), cause })?;
        let folder = path.parent().unwrap_or(Path::new("")).to_path_buf();
        let config = Config { name, folder, text, values };
        config.check()?;
        Ok(config)
    }

    /// The file as messages name it.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The path of another file of its folder, from the current folder.
    pub fn sibling(&self, name: &str) -> String {
        self.path(name)
    }

    /// What the file sets for a key.
    pub fn setting(&self, key: &str) -> Option<Setting> {
        let kind = KEYS.iter().find(|known| known.name == key)?.kind;
        let value = self.values.get(key)?;
        let line = locate_key(&self.text, &[PathPart::Key(key.into())]).map_or(1, |at| at.line);
        let value = match (kind, value) {
            (SettingKind::Path, Value::Str(path)) => self.path(path).into(),
            (SettingKind::Paths, Value::List(_)) => {
                Value::list(self.texts(key).into_iter().map(Value::from).collect())
            }
            _ => value.clone(),
        };
        Some(Setting { value, line })
    }

    /// The texts of a key, none where it is not set; paths lead there from the current folder.
    pub fn texts(&self, key: &str) -> Vec<String> {
        let are_paths = KEYS.iter().any(|known| known.name == key && known.kind == SettingKind::Paths);
        let texts = self.values.get(key).and_then(Value::as_list).unwrap_or_default();
        let texts = texts.iter().filter_map(Value::as_str);
        texts.map(|text| if are_paths { self.path(text) } else { text.to_string() }).collect()
    }

    /// The severities of policies by name.
    pub fn severities(&self) -> Vec<(String, Severity)> {
        let all = self.values.get("severities").and_then(Value::as_map).into_iter().flat_map(Map::iter);
        all.filter_map(|(name, severity)| Some((name.to_string(), Severity::of(severity.as_str()?)?)))
            .collect()
    }

    /// The text of a key.
    pub fn text(&self, key: &str) -> Option<String> {
        self.setting(key)?.value.as_str().map(String::from)
    }

    /// Whether a key is set to true.
    pub fn is_on(&self, key: &str) -> bool {
        self.values.get(key).and_then(Value::as_bool) == Some(true)
    }

    /// The release of Kubernetes.
    pub fn release(&self) -> Option<Release> {
        Release::choose(&self.text("kubernetes")?).ok().map(|choice| choice.release)
    }

    /// The format of standard output, where the command has it.
    pub fn format<F: ValueEnum>(&self) -> Option<F> {
        F::from_str(&self.text("format")?, false).ok()
    }

    /// A path of the file from the current folder.
    fn path(&self, path: &str) -> String {
        match path == "-" || path.contains("://") || self.folder.as_os_str().is_empty() {
            true => path.to_string(),
            false => {
                let whole = normal(&self.folder.join(path));
                let here = std::env::current_dir().ok();
                let below = here.as_ref().and_then(|here| whole.strip_prefix(here).ok());
                match below {
                    Some(below) if below.as_os_str().is_empty() => ".".to_string(),
                    Some(below) => below.to_string_lossy().into_owned(),
                    None => whole.to_string_lossy().into_owned(),
                }
            }
        }
    }

    fn check(&self) -> Result<(), ConfigError> {
        let names: Vec<&str> = KEYS.iter().map(|key| key.name).collect();
        if self.values.is_null() {
            return Ok(());
        }
        let Some(entries) = self.values.as_map() else {
            let help = format!("write keys and values: {}", names.join(", "));
            return Err(self.wrong(&[], "the configuration is no object".into(), help));
        };
        for (name, value) in entries.iter() {
            let path = [PathPart::Key(name.clone())];
            let Some(key) = KEYS.iter().find(|key| *key.name == **name) else {
                let help = match did_you_mean(name, &names) {
                    Some(meant) => format!("did you mean `{meant}`?"),
                    None => format!("the keys are {}", names.join(", ")),
                };
                return Err(self.wrong(&path, format!("there is no key `{name}`"), help));
            };
            if let Err(help) = fits(key.kind, value) {
                return Err(self.wrong(&path, format!("`{name}` has another type"), help));
            }
        }
        Ok(())
    }

    fn wrong(&self, path: &[PathPart], why: String, help: String) -> ConfigError {
        let at = locate_key(&self.text, path).or_else(|| locate(&self.text, path));
        let place = at.map_or_else(
            || format!("{}:1:1", self.name),
            |at| format!("{}:{}:{}", self.name, at.line, at.col),
        );
        ConfigError::Part { place, why, help }
    }
}

/// The JSON schema of the file.
pub fn schema() -> Value {
    let of = |key: &Key| {
        let texts =
            || Value::map([("type", "array".into()), ("items", Value::map([("type", "string".into())]))]);
        let mut schema = match key.kind {
            SettingKind::Paths | SettingKind::Texts => texts(),
            SettingKind::Bool => Value::map([("type", "boolean".into())]),
            SettingKind::Severity => {
                let names = Severity::ALL.map(|severity| Value::from(severity.name()));
                Value::map([("enum", Value::list(names.to_vec()))])
            }
            SettingKind::Format => {
                let names = Format::ALL.map(|(name, _)| Value::from(name));
                Value::map([("enum", Value::list(names.to_vec()))])
            }
            SettingKind::Severities => {
                let names = Severity::ALL.map(|severity| Value::from(severity.name()));
                let one = Value::map([("enum", Value::list(names.to_vec()))]);
                Value::map([("type", "object".into()), ("additionalProperties", one)])
            }
            SettingKind::Path | SettingKind::Release => Value::map([("type", "string".into())]),
        };
        if let Value::Map(fields) = &mut schema {
            fields.insert("description", Value::from(key.about));
        }
        (key.name, schema)
    };
    Value::map([
        ("$schema", "https://json-schema.org/draft/2020-12/schema".into()),
        ("title", "ephor.yaml".into()),
        ("type", "object".into()),
        ("additionalProperties", Value::Bool(false)),
        ("properties", Value::map(KEYS.each_ref().map(of))),
    ])
}

/// Whether a value fits a key; what to write else.
fn fits(kind: SettingKind, value: &Value) -> Result<(), String> {
    let is_text = |value: &Value| value.as_str().is_some_and(|text| !text.is_empty());
    match kind {
        SettingKind::Paths | SettingKind::Texts => match value.as_list() {
            Some(list) if list.iter().all(is_text) => Ok(()),
            _ => Err("write a list of texts, for example `[a, b]`".into()),
        },
        SettingKind::Path if is_text(value) => Ok(()),
        SettingKind::Path => Err("write the path of a file".into()),
        SettingKind::Bool if value.as_bool().is_some() => Ok(()),
        SettingKind::Bool => Err("write true or false".into()),
        SettingKind::Release => {
            let text = value.as_str().ok_or("write a version in quotes, for example `\"1.36\"`")?;
            Release::choose(text).map(|_| ()).map_err(|error| error.to_string())
        }
        SettingKind::Severities => {
            let is_severity = |value: &Value| value.as_str().is_some_and(|text| Severity::of(text).is_some());
            match value.as_map() {
                Some(all) if all.iter().all(|(_, value)| is_severity(value)) => Ok(()),
                _ => Err(format!(
                    "write names of policies, each with one of {}",
                    Severity::ALL.map(Severity::name).join(", ")
                )),
            }
        }
        SettingKind::Format if value.as_str().is_some_and(|text| Format::of(text).is_some()) => Ok(()),
        SettingKind::Format => Err(format!("write one of {}", Format::ALL.map(|(name, _)| name).join(", "))),
        SettingKind::Severity if value.as_str().is_some_and(|text| Severity::of(text).is_some()) => Ok(()),
        SettingKind::Severity => {
            Err(format!("write one of {}", Severity::ALL.map(Severity::name).join(", ")))
        }
    }
}

/// The nearest file of the name, from the current folder to the root of its repository.
fn around() -> Option<PathBuf> {
    let here = std::env::current_dir().ok()?;
    for (depth, folder) in here.ancestors().enumerate() {
        let path = folder.join(NAME);
        if path.is_file() {
            // In the current folder it has its short name.
            return Some(if depth == 0 { PathBuf::from(NAME) } else { path });
        }
        if folder.join(".git").exists() {
            return None;
        }
    }
    None
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    fn config(text: &str) -> Result<Config, ConfigError> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(NAME);
        std::fs::write(&path, text).unwrap();
        Config::read(&path)
    }

    #[test]
    fn what_is_wrong_is_named_with_its_place_and_what_to_write() {
        for (text, place, help) in [
            ("policies: [a]\npolices: [b]\n", ":2:1: there is no key `polices`", "did you mean `policies`?"),
            ("strict: yes please\n", ":1:1: `strict` has another type", "write true or false"),
            ("resources: a\n", ":1:1: `resources` has another type", "write a list of texts"),
            ("failOn: huge\n", ":1:1: `failOn` has another type", "critical"),
            ("format: xml\n", ":1:1: `format` has another type", "junit"),
            ("kubernetes: 1.36\n", ":1:1: `kubernetes` has another type", "in quotes"),
            ("- a\n", ":1:1: the configuration is no object", "write keys and values"),
        ] {
            let error = config(text).unwrap_err().to_string();
            assert!(error.contains(place) && error.contains(help), "{text}: {error}");
        }
        assert!(config("a: [\n").unwrap_err().to_string().contains(NAME));
    }

    #[test]
    fn paths_lead_from_the_current_folder_and_an_empty_file_sets_nothing() {
        let config =
            config("policies: [p, 'https://example.com/q.yaml']\nbaseline: b.json\nstrict: true\n").unwrap();
        let paths = config.texts("policies");
        assert!(paths[0].ends_with("/p") && Path::new(&paths[0]).is_absolute(), "{paths:?}");
        assert_eq!(paths[1], "https://example.com/q.yaml");
        assert!(config.text("baseline").unwrap().ends_with("/b.json"));
        assert!(config.is_on("strict") && !config.is_on("recursive"));
        assert_eq!(config.setting("baseline").unwrap().line, 2);
        assert!(super::tests::config("").unwrap().setting("strict").is_none());
    }
}
