//! Which files an argument of the command line means, and their texts.
//!
//! Policies: `-` is standard input; a directory is walked in name order, entries that begin with a
//! dot left out; of files only `.yaml` and `.yml` are read; a pattern is expanded when no file has
//! that very name; an address is downloaded; `oci://…` is a bundle in a registry and
//! `builtin://…` a set of the library. Unlike Kyverno, which loads nothing from `.`,
//! the directory one stands in is a directory like any other.
//!
//! Resources: the first entry decides. `-` reads standard input and a directory its direct `.yaml`
//! and `.yml` files; other entries are ignored then. Everything else is a file of any name or an
//! address. [`Reading`] says when all entries count, folders are read with those below them, and
//! patterns are expanded.
//!
//! A server reads regular files up to a size alone ([`served`]), JSON files of directories too.
//!
//! Nothing here ends a run: what could not be read, or was left out, is a [`Notice`], and the
//! caller knows which of them Kyverno takes for fatal. Semantics: `docs/reference/cli.md`, sources.
//!
//! - [`changed`]: the files of a repository that changed since a commit
//! - [`mod@inputs`]: resource files as streams: plain, compressed, or in archives
//! - `render`: charts and kustomizations, rendered by the programs that do so
//! - [`repository`]: files of a repository: those that hold objects, and what is skipped
//! - [`served`]: files that a server reads again and again: reading one never blocks and never
//!   takes unbounded memory

use std::fmt;
use std::fs;
use std::io::{self, IsTerminal, Read};
use std::path::{Path, PathBuf};

use super::builtin;
#[cfg(feature = "bundles")]
use super::bundle;
use super::download::{fetch, is_url};
use ephor_document::split;
use ephor_ir::json;

#[cfg(feature = "streams")]
pub mod changed;
#[cfg(feature = "streams")]
pub mod inputs;
#[cfg(feature = "streams")]
mod render;
#[cfg(feature = "streams")]
pub mod repository;
pub mod served;

#[cfg(all(feature = "streams", feature = "network"))]
use super::download::stream;
#[cfg(feature = "streams")]
use inputs::{Answer, Input, Origin};
#[cfg(feature = "streams")]
use repository::{Found, Ignores};

/// The text of one source.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "network", derive(serde::Deserialize, serde::Serialize))]
pub struct SourceText {
    /// The path as reached from the argument, `-` for standard input, or the address.
    pub name: String,
    /// Its text.
    pub text: String,
}

/// Why an argument, or a part of it, gave nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "network", derive(serde::Deserialize, serde::Serialize))]
pub enum FileCause {
    /// There is no such file.
    Missing,
    /// It cannot be read, downloaded, or is not UTF-8.
    Unreadable,
    /// Other programs make objects of it: a chart, a kustomization.
    Skipped,
    /// Another program should have made objects of it, and did not.
    NotRendered,
    /// Its name has another extension.
    Extension,
    /// It holds no document.
    Empty,
    /// A pattern without match or a directory without file.
    NoMatch,
    /// Another argument stands for all.
    Superseded,
    /// Folders in a folder, which are left alone.
    Unread,
}

/// How many folders directly in a folder have YAML files in them, or in folders below; hidden ones
/// aside.
fn folders_with_yaml(root: &Path) -> usize {
    /// How deep is looked, so that links in a circle end.
    const MAX_DEPTH: usize = 16;
    fn has_yaml(folder: &Path, depth: usize) -> bool {
        let entries = fs::read_dir(folder).into_iter().flatten().flatten();
        let mut shown = entries.filter(|e| !e.file_name().as_encoded_bytes().starts_with(b"."));
        shown.any(|e| match e.file_type() {
            Ok(kind) if kind.is_dir() => depth < MAX_DEPTH && has_yaml(&e.path(), depth + 1),
            _ => e.path().extension().is_some_and(|e| e == "yaml" || e == "yml"),
        })
    }
    let entries = fs::read_dir(root).into_iter().flatten().flatten();
    let folders = entries.filter(|e| e.file_type().is_ok_and(|kind| kind.is_dir()));
    folders.filter(|e| !e.file_name().as_encoded_bytes().starts_with(b".") && has_yaml(&e.path(), 0)).count()
}

/// Something the user should know about a source.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "network", derive(serde::Deserialize, serde::Serialize))]
pub struct Notice {
    /// The path or address.
    pub place: String,
    /// The kind of cause.
    pub cause: FileCause,
    /// One line, in Kyverno's words where it has some.
    pub text: String,
}

impl fmt::Display for Notice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.place, self.text)
    }
}

/// What the arguments gave.
#[derive(Clone, Debug, Default)]
pub struct Loaded {
    /// The texts in order.
    pub sources: Vec<SourceText>,
    /// What is worth a line on standard error.
    pub notices: Vec<Notice>,
    /// How a server reads: JSON files of directories too, and no file that is not a regular one.
    served: Option<Served>,
    /// Whether JSON files are read like YAML files.
    with_json: bool,
    /// What is read later, instead of `sources`.
    #[cfg(feature = "streams")]
    inputs: Option<Vec<Input>>,
    /// What of folders is left out; `None` = what Kyverno leaves out.
    #[cfg(feature = "streams")]
    ignores: Option<Ignores>,
}

/// What a server knows while it reads.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Served {
    /// The folder being read, without links.
    root: Option<PathBuf>,
}

/// The texts that policy arguments mean.
pub fn policies<S: AsRef<str>>(arguments: &[S]) -> Loaded {
    let mut loaded = Loaded::default();
    for argument in arguments {
        loaded.policy_argument(argument.as_ref());
    }
    loaded
}

/// As [`policies`], with JSON files, which Kyverno's commands do not read.
pub fn policies_with_json<S: AsRef<str>>(arguments: &[S]) -> Loaded {
    let mut loaded = Loaded { with_json: true, ..Loaded::default() };
    arguments.iter().for_each(|argument| loaded.policy_argument(argument.as_ref()));
    loaded
}

/// The texts of policies that a server reads: JSON files of directories too.
pub fn served_policies<S: AsRef<str>>(arguments: &[S]) -> Loaded {
    let mut loaded = Loaded { served: Some(Served::default()), ..Loaded::default() };
    arguments.iter().for_each(|argument| loaded.policy_argument(argument.as_ref()));
    loaded
}

/// The texts of a file, or of the YAML and JSON files of a directory.
pub fn served_data(place: &str) -> Loaded {
    let mut loaded = Loaded { served: Some(Served::default()), ..Loaded::default() };
    match Path::new(place).is_dir() {
        true => loaded.directory(Path::new(place), false),
        false => loaded.resource_argument(place, "stat"),
    }
    loaded
}

/// The texts of the manifests directly in a folder, as an API server reads those of a static
/// configuration: files whose names end in `.yaml`, `.yml` or `.json` in any letter case, hidden
/// ones too, in the order of their names.
///
/// # Errors
/// The folder or one of the files cannot be read; the path says which.
pub fn manifests(folder: &Path) -> Result<Vec<SourceText>, (PathBuf, io::Error)> {
    let of_folder = |e| (folder.to_owned(), e);
    let is_manifest = |path: &PathBuf| {
        let name = path.file_name().map(|name| name.to_string_lossy().to_lowercase()).unwrap_or_default();
        [".yaml", ".yml", ".json"].iter().any(|end| name.ends_with(end))
    };
    let entries: Result<Vec<_>, _> = fs::read_dir(folder).map_err(of_folder)?.collect();
    let paths = entries.map_err(of_folder)?.into_iter().map(|entry| entry.path());
    let mut paths: Vec<PathBuf> = paths.filter(|p| !p.is_dir()).filter(is_manifest).collect();
    paths.sort();
    let text = |path: PathBuf| match fs::read_to_string(&path) {
        Ok(text) => Ok(SourceText { name: path.to_string_lossy().into_owned(), text }),
        Err(e) => Err((path, e)),
    };
    paths.into_iter().map(text).collect()
}

/// How resource arguments are read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Reading {
    /// All arguments count, and of folders all below.
    pub recursive: bool,
    /// A pattern is expanded when no file has that very name.
    pub patterns: bool,
    /// What of folders is left out.
    #[cfg(feature = "streams")]
    pub ignores: Ignores,
}

/// What resource arguments mean, in order, without reading it; what is worth a line on standard
/// error.
#[cfg(feature = "streams")]
pub fn inputs<S: AsRef<str>>(arguments: &[S], reading: &Reading) -> (Vec<Input>, Vec<Notice>) {
    let ignores = Some(&reading.ignores).filter(|ignores| **ignores != Ignores::default()).cloned();
    let mut loaded = Loaded { inputs: Some(Vec::new()), ignores, ..Loaded::default() };
    loaded.resources(arguments, reading);
    (loaded.inputs.unwrap_or_default(), loaded.notices)
}

impl Loaded {
    /// The texts and what is worth a line, as JSON.
    #[cfg(feature = "network")]
    pub(crate) fn as_json(&self) -> String {
        serde_json::json!({ "texts": self.sources, "notices": self.notices }).to_string()
    }

    /// What [`Loaded::as_json`] wrote; `None` for anything else.
    #[cfg(feature = "network")]
    pub(crate) fn of_json(text: &str) -> Option<Loaded> {
        #[derive(serde::Deserialize)]
        struct Written {
            texts: Vec<SourceText>,
            notices: Vec<Notice>,
        }
        let Written { texts, notices } = serde_json::from_str(text).ok()?;
        Some(Loaded { sources: texts, notices, ..Loaded::default() })
    }

    fn note(&mut self, place: &str, cause: FileCause, text: impl Into<String>) {
        self.notices.push(Notice { place: place.to_string(), cause, text: text.into() });
    }

    /// Takes what resource arguments mean.
    #[cfg(feature = "streams")]
    fn resources<S: AsRef<str>>(&mut self, arguments: &[S], reading: &Reading) {
        if reading.recursive {
            for argument in arguments {
                self.any_resources(argument.as_ref());
            }
            return;
        }
        let Some((first, others)) = arguments.split_first() else { return };
        let first = first.as_ref();
        let alone = if first == "-" && !io::stdin().is_terminal() {
            self.stdin();
            true
        } else if Path::new(first).is_dir() {
            self.directory(Path::new(first), false);
            true
        } else if reading.patterns && is_pattern(first) {
            self.pattern(first);
            false
        } else {
            self.resource_argument(first, "stat");
            false
        };
        for other in others {
            if alone {
                self.note(other.as_ref(), FileCause::Superseded, format!("ignored because of `{first}`"));
            } else if reading.patterns && is_pattern(other.as_ref()) {
                self.pattern(other.as_ref());
            } else {
                self.resource_argument(other.as_ref(), "open");
            }
        }
    }

    fn policy_argument(&mut self, argument: &str) {
        let path = Path::new(argument);
        if argument == "-" && !io::stdin().is_terminal() {
            self.stdin();
        } else if is_url(argument) {
            self.download(argument);
        } else if is_bundle(argument) {
            self.bundle(argument);
        } else if builtin::means_library(argument) {
            self.builtin(argument);
        } else if path.is_dir() {
            self.directory(path, true);
        } else if path.exists() {
            self.yaml_file(path);
        } else if argument.contains(['*', '?', '[']) {
            self.pattern(argument);
        } else {
            self.note(argument, FileCause::Missing, format!("stat {argument}: no such file or directory"));
        }
    }

    fn resource_argument(&mut self, argument: &str, verb: &str) {
        if is_url(argument) {
            self.download(argument);
        } else if Path::new(argument).exists() {
            #[cfg(feature = "streams")]
            if let Some(changed) = self.ignores.as_ref().and_then(|ignores| ignores.changed.as_ref())
                && !changed.has(Path::new(argument))
            {
                return;
            }
            self.file(Path::new(argument));
        } else {
            self.note(argument, FileCause::Missing, format!("{verb} {argument}: no such file or directory"));
        }
    }

    /// An argument with all that is below it.
    #[cfg(feature = "streams")]
    fn any_resources(&mut self, argument: &str) {
        if argument == "-" && !io::stdin().is_terminal() {
            self.stdin();
        } else if Path::new(argument).is_dir() {
            self.directory(Path::new(argument), true);
        } else if is_pattern(argument) {
            self.pattern(argument);
        } else {
            self.resource_argument(argument, "stat");
        }
    }

    fn stdin(&mut self) {
        #[cfg(feature = "streams")]
        if let Some(inputs) = &mut self.inputs {
            return inputs.push(Input { name: "-".into(), origin: Origin::Stdin });
        }
        let mut bytes = Vec::new();
        let read = match &self.served {
            Some(_) => served::bounded(io::stdin().lock()).map(|read| bytes = read),
            None => io::stdin().lock().read_to_end(&mut bytes).map(|_| ()),
        };
        match read {
            Ok(()) => self.text("-", bytes),
            Err(e) => self.note("-", FileCause::Unreadable, reason(&e)),
        }
    }

    fn download(&mut self, url: &str) {
        #[cfg(all(feature = "streams", feature = "network"))]
        if let Some(inputs) = &mut self.inputs {
            return match stream(url) {
                Ok((bytes, size)) => {
                    let origin = Origin::Answer(Answer::new(bytes, size));
                    inputs.push(Input { name: url.into(), origin });
                }
                Err(error) => self.note(url, FileCause::Unreadable, error.to_string()),
            };
        }
        match fetch(url) {
            Ok(bytes) => self.text(url, bytes),
            Err(error) => self.note(url, FileCause::Unreadable, error.to_string()),
        }
    }

    /// The files of a bundle, in the order of their names. One that cannot be used gives nothing.
    #[cfg(feature = "bundles")]
    fn bundle(&mut self, argument: &str) {
        let bundle = match bundle::access::fetch(argument) {
            Ok(bundle) => bundle,
            Err(error) => return self.note(argument, FileCause::Unreadable, error.to_string()),
        };
        for file in bundle.files_of(argument) {
            let name = bundle.name_of(file);
            let with_json = self.with_json || self.served.is_some();
            let is_read = !file.name.ends_with(".json") || with_json || begins_as_ir(&file.bytes);
            match is_read {
                true => self.text(&name, file.bytes.clone()),
                false => self.note(&name, FileCause::Extension, "ignored: not a .yaml or .yml file"),
            }
        }
    }

    /// The files of a set of the library, one a control.
    fn builtin(&mut self, argument: &str) {
        match builtin::read(argument) {
            Ok(sources) => sources.into_iter().for_each(|one| self.text(&one.name, one.text.into())),
            Err(error) => self.note(argument, FileCause::Missing, error.to_string()),
        }
    }

    #[cfg(not(feature = "bundles"))]
    fn bundle(&mut self, argument: &str) {
        self.note(argument, FileCause::Unreadable, "built without the feature `bundles`");
    }

    fn pattern(&mut self, pattern: &str) {
        let options = glob::MatchOptions { require_literal_leading_dot: true, ..Default::default() };
        let found: Vec<PathBuf> =
            glob::glob_with(pattern, options).map(|paths| paths.flatten().collect()).unwrap_or_default();
        if found.is_empty() {
            self.note(pattern, FileCause::NoMatch, "no file matches");
        }
        for path in found {
            if path.is_dir() {
                self.directory(&path, true);
            } else {
                self.yaml_file(&path);
            }
        }
    }

    /// The YAML files of a directory; with `deep` those of its directories too, without dot files.
    /// Symbolic links to directories are not followed, so that there are no cycles.
    fn directory(&mut self, root: &Path, deep: bool) {
        let (files, notices) = (self.count(), self.notices.len());
        #[cfg(feature = "streams")]
        if let Some(ignores) = self.ignores.clone() {
            repository::files(root, deep, &ignores).into_iter().for_each(|found| self.found(found));
            return self.was_read(root, deep, files, notices);
        }
        if let Some(served) = &mut self.served {
            served.root = fs::canonicalize(root).ok();
        }
        let mut waiting = vec![(root.to_path_buf(), true)];
        while let Some((path, is_dir)) = waiting.pop() {
            if !is_dir {
                self.yaml_file(&path);
                continue;
            }
            let entries = match fs::read_dir(&path) {
                Ok(entries) => entries,
                Err(e) => {
                    let name = path.to_string_lossy();
                    self.note(&name, FileCause::Unreadable, format!("open {name}: {}", reason(&e)));
                    continue;
                }
            };
            let mut inside: Vec<(PathBuf, bool)> = entries
                .flatten()
                .filter(|e| !(deep && e.file_name().as_encoded_bytes().starts_with(b".")))
                .map(|e| (e.path(), e.file_type().is_ok_and(|t| t.is_dir())))
                .filter(|(path, is_dir)| *is_dir || !self.leaves_out(path))
                .filter(|(_, is_dir)| deep || !is_dir)
                .collect();
            // The next in order is taken from the end.
            inside.sort_by(|a, b| b.0.file_name().cmp(&a.0.file_name()));
            waiting.append(&mut inside);
        }
        if let Some(served) = &mut self.served {
            served.root = None;
        }
        self.was_read(root, deep, files, notices);
    }

    /// Takes what a folder of a repository holds.
    #[cfg(feature = "streams")]
    fn found(&mut self, found: Found) {
        let name = |path: &Path| path.to_string_lossy().into_owned();
        match found {
            Found::File(path) => self.file(&path),
            Found::Other(path) => {
                self.note(&name(&path), FileCause::Extension, "ignored: not a .yaml or .yml file");
            }
            Found::Skipped(path, text) => self.note(&name(&path), FileCause::Skipped, text),
            Found::Rendered(path, what) => match what.text(&path) {
                Ok(bytes) => {
                    let size = Some(bytes.len() as u64);
                    let origin = Origin::Answer(Answer::new(io::Cursor::new(bytes), size));
                    self.inputs.get_or_insert_default().push(Input { name: name(&path), origin });
                }
                Err(error) => self.note(&name(&path), FileCause::NotRendered, error.to_string()),
            },
            Found::Unreadable(path, text) => {
                let name = name(&path);
                self.note(&name, FileCause::Unreadable, format!("open {name}: {text}"));
            }
        }
    }

    /// Says what was not read of a folder; `files` and `notices` is how many there were before.
    fn was_read(&mut self, root: &Path, deep: bool, files: usize, notices: usize) {
        let unread = if deep { 0 } else { folders_with_yaml(root) };
        let name = root.to_string_lossy();
        #[cfg(feature = "streams")]
        if self.ignores.as_ref().is_some_and(|ignores| ignores.changed.is_some()) {
            return;
        }
        if self.count() == files && self.notices.len() == notices {
            let hint = if unread > 0 { "; --recursive reads the folders in it" } else { "" };
            self.note(&name, FileCause::NoMatch, format!("directory without .yaml or .yml file{hint}"));
        } else if unread > 0 {
            let text = match unread {
                1 => "1 folder with YAML files is not read; --recursive reads it".to_string(),
                n => format!("{n} folders with YAML files are not read; --recursive reads them"),
            };
            self.note(&name, FileCause::Unread, text);
        }
    }

    /// How many sources there are.
    fn count(&self) -> usize {
        #[cfg(feature = "streams")]
        if let Some(inputs) = &self.inputs {
            return inputs.len();
        }
        self.sources.len()
    }

    /// Whether a server cannot read an entry of a folder: a link to another folder. It is named.
    fn leaves_out(&mut self, path: &Path) -> bool {
        let is_hidden = path.file_name().is_some_and(|n| n.as_encoded_bytes().starts_with(b"."));
        let is_one = self.served.is_some() && !is_hidden && path.is_dir();
        if is_one {
            let name = path.to_string_lossy();
            self.note(
                &name,
                FileCause::Unreadable,
                format!("open {name}: links to folders are not followed"),
            );
        }
        is_one
    }

    fn yaml_file(&mut self, path: &Path) {
        let json = self.with_json || self.served.is_some() || is_ir(path);
        if path.extension().is_some_and(|e| e == "yaml" || e == "yml" || (json && e == "json")) {
            self.file(path);
        } else {
            self.note(&path.to_string_lossy(), FileCause::Extension, "ignored: not a .yaml or .yml file");
        }
    }

    fn file(&mut self, path: &Path) {
        self.file_as(&path.to_string_lossy(), path);
    }

    /// Reads a file that is shown under another name.
    pub(super) fn file_as(&mut self, name: &str, path: &Path) {
        #[cfg(feature = "streams")]
        if let Some(inputs) = &mut self.inputs {
            return inputs.push(Input { name: name.into(), origin: Origin::File(path.into()) });
        }
        let read = match &self.served {
            Some(served) => served::read(path, served.root.as_deref()).map_err(|error| error.to_string()),
            None => fs::read(path).map_err(|e| format!("open {name}: {}", reason(&e))),
        };
        match read {
            Ok(bytes) => self.text(name, bytes),
            Err(text) => self.note(name, FileCause::Unreadable, text),
        }
    }

    fn text(&mut self, name: &str, bytes: Vec<u8>) {
        let text = match String::from_utf8(bytes) {
            Ok(text) => text,
            Err(e) => {
                let text = split::utf8(e.as_bytes()).err().map(|e| e.to_string()).unwrap_or_default();
                return self.note(name, FileCause::Unreadable, text);
            }
        };
        if split::split(&text).is_ok_and(|parts| parts.is_empty()) {
            self.note(name, FileCause::Empty, "holds no document");
        }
        self.sources.push(SourceText { name: name.to_string(), text });
    }
}

/// Whether an argument is a pattern and no file of that name.
#[cfg(feature = "streams")]
fn is_pattern(argument: &str) -> bool {
    argument.contains(['*', '?', '[']) && !is_url(argument) && !Path::new(argument).exists()
}

/// Whether a file begins as the IR of policies does, which is JSON.
fn is_ir(path: &Path) -> bool {
    let mut start = Vec::new();
    let read = fs::File::open(path).and_then(|file| file.take(IR_START).read_to_end(&mut start));
    read.is_ok() && begins_as_ir(&start)
}

/// How many bytes say whether a file is the IR of policies.
const IR_START: u64 = 256;

fn begins_as_ir(bytes: &[u8]) -> bool {
    let start = bytes.get(..bytes.len().min(IR_START as usize)).unwrap_or_default();
    json::is_written(&String::from_utf8_lossy(start))
}

/// Whether an argument means a bundle in a registry and not a file.
pub fn is_bundle(argument: &str) -> bool {
    argument.starts_with("oci://")
}

/// An operating system's error in Kyverno's words.
pub fn reason(e: &io::Error) -> String {
    match e.kind() {
        io::ErrorKind::NotFound => "no such file or directory".to_string(),
        io::ErrorKind::PermissionDenied => "permission denied".to_string(),
        io::ErrorKind::IsADirectory => "is a directory".to_string(),
        _ => e.to_string(),
    }
}

#[cfg(test)]
mod tests;
