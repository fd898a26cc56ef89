//! Files of a repository: those that hold objects, and what is skipped.
//!
//! In: a folder, patterns of what is left out, `.gitignore` and `.ephorignore` files in it and
//! above it (`.gitignore` in a repository of git alone). Out: the YAML files in the order of
//! their names, and each chart and kustomization with the command that makes objects of it, or to
//! be rendered. Where only changed files count, a chart and a kustomization count with all that
//! they are built of.
//! Semantics: `docs/reference/cli.md`, "Repositories as they are".

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use ephor_value::file_path::normal;
use ignore::overrides::OverrideBuilder;
use ignore::{DirEntry, Error, WalkBuilder};

use super::changed::ChangedFiles;
use super::render::Rendered;
use crate::kustomize::{self, Patches};

/// The name of files with patterns of what is left out.
const IGNORE_FILE: &str = ".ephorignore";

/// What is left out of folders.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Ignores {
    /// Patterns of `.gitignore` files, relative to each folder that is read.
    pub exclude: Vec<String>,
    /// Whether ignore files count, and what other programs make objects of is skipped.
    pub is_repository: bool,
    /// Whether charts and kustomizations are rendered instead.
    pub renders: bool,
    /// Only files that changed count.
    pub changed: Option<Arc<ChangedFiles>>,
}

/// What is found in a folder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Found {
    /// A file that is read.
    File(PathBuf),
    /// What is skipped, and why.
    Skipped(PathBuf, String),
    /// A folder that another program makes objects of.
    Rendered(PathBuf, Rendered),
    /// A file that holds no objects, by its name.
    Other(PathBuf),
    /// A folder or file that cannot be read, and why.
    Unreadable(PathBuf, String),
}

/// Why patterns cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{pattern}` is no pattern: {cause}")]
pub struct PatternError {
    /// The pattern.
    pub pattern: String,
    /// What is wrong with it.
    pub cause: String,
}

/// Checks patterns of what is left out.
///
/// # Errors
/// The first one that is none.
pub fn check(exclude: &[String]) -> Result<(), PatternError> {
    for pattern in exclude {
        OverrideBuilder::new(".")
            .add(&format!("!{pattern}"))
            .map(|_| ())
            .map_err(|cause| PatternError { pattern: pattern.clone(), cause: cause.to_string() })?;
    }
    Ok(())
}

/// What a folder holds; with `deep` the folders in it, too.
pub(super) fn files(root: &Path, deep: bool, ignores: &Ignores) -> Vec<Found> {
    let mut out = Vec::new();
    let mut walk = WalkBuilder::new(root);
    let is_on = ignores.is_repository;
    walk.max_depth((!deep).then_some(1)).hidden(deep).follow_links(false).sort_by_file_name(Ord::cmp);
    walk.ignore(false).git_global(false).git_exclude(is_on).git_ignore(is_on).parents(is_on);
    if is_on {
        walk.add_custom_ignore_filename(IGNORE_FILE);
    }
    let mut patterns = OverrideBuilder::new(root);
    for pattern in &ignores.exclude {
        // Checked before.
        let _ = patterns.add(&format!("!{pattern}"));
    }
    if let Ok(patterns) = patterns.build() {
        walk.overrides(patterns);
    }
    let mut skips = Skips {
        ignores,
        chart: None,
        patches: Patches::default(),
        kustomizations: BTreeSet::new(),
        parts: BTreeSet::new(),
    };
    for entry in walk.build() {
        match entry {
            Ok(entry) if ignores.is_repository => skips.take(&entry, &mut out),
            Ok(entry) => out.extend((!is_folder(&entry)).then(|| by_name(entry.path()))),
            Err(error) => out.push(unreadable(root, &error)),
        }
    }
    skips.settle(&mut out);
    out
}

fn is_folder(entry: &DirEntry) -> bool {
    entry.file_type().is_some_and(|kind| kind.is_dir())
}

fn by_name(path: &Path) -> Found {
    match path.extension().and_then(|extension| extension.to_str()) {
        Some("yaml" | "yml") => Found::File(path.to_path_buf()),
        _ => Found::Other(path.to_path_buf()),
    }
}

/// What is known of the folders that were read so far.
struct Skips<'i> {
    ignores: &'i Ignores,
    /// The chart whose files are coming.
    chart: Option<PathBuf>,
    patches: Patches,
    /// The files of kustomizations.
    kustomizations: BTreeSet<PathBuf>,
    /// What rendered kustomizations are built of.
    parts: BTreeSet<PathBuf>,
}

impl Skips<'_> {
    /// Leaves out what is a part of something that is rendered, and what did not change.
    fn settle(&self, out: &mut Vec<Found>) {
        if self.ignores.renders {
            out.retain(|found| match found {
                Found::File(path) | Found::Rendered(path, Rendered::Kustomization) => {
                    !self.parts.contains(&normal(path))
                }
                _ => true,
            });
        }
        let Some(changed) = &self.ignores.changed else { return };
        out.retain(|found| match found {
            Found::File(path) => changed.has(path),
            Found::Rendered(path, Rendered::Kustomization) => changed.has_kustomization(path),
            Found::Rendered(path, Rendered::Chart) => changed.has_below(path),
            // A chart is its folder, a kustomization a file.
            Found::Skipped(path, _) if path.is_dir() => changed.has_below(path),
            Found::Skipped(path, _) => path.parent().is_some_and(|folder| changed.has_kustomization(folder)),
            Found::Other(_) => false,
            Found::Unreadable(..) => true,
        });
    }

    fn take(&mut self, entry: &DirEntry, out: &mut Vec<Found>) {
        let path = entry.path();
        if self.chart.as_ref().is_some_and(|chart| path.starts_with(chart)) {
            return;
        }
        if is_folder(entry) {
            return self.folder(path, out);
        }
        if self.kustomizations.contains(&normal(path)) || self.patches.has(&path.to_string_lossy()) {
            return;
        }
        out.push(by_name(path));
    }

    fn folder(&mut self, path: &Path, out: &mut Vec<Found>) {
        let shown = path.display();
        if path.join("Chart.yaml").is_file() {
            self.chart = Some(path.to_path_buf());
            if self.ignores.renders {
                return out.push(Found::Rendered(path.to_path_buf(), Rendered::Chart));
            }
            let text = format!(
                "a Helm chart; `helm template {shown} | ephor apply … -r -` applies the policies to its objects"
            );
            out.push(Found::Skipped(path.to_path_buf(), text));
            return;
        }
        let own = kustomize::NAMES.iter().map(|name| path.join(name)).find(|file| file.is_file());
        let Some(file) = own else { return };
        if let Ok(text) = std::fs::read_to_string(&file) {
            self.patches.add(path, &text);
            self.parts.extend(kustomize::referred(path, &text));
            // A component is no kustomization of its own.
            let is_component =
                ephor_document::yaml_value(&text).is_ok_and(|v| v.text_at(&["kind"]) == "Component");
            if is_component {
                self.parts.insert(normal(path));
            }
        }
        self.kustomizations.insert(normal(&file));
        if self.ignores.renders {
            return out.push(Found::Rendered(path.to_path_buf(), Rendered::Kustomization));
        }
        let text = format!(
            "a kustomization; `kubectl kustomize {shown} | ephor apply … -r -` applies the policies to what it builds"
        );
        out.push(Found::Skipped(file, text));
    }
}

fn unreadable(root: &Path, error: &Error) -> Found {
    let mut inner = error;
    let mut path = root.to_path_buf();
    loop {
        inner = match inner {
            Error::WithPath { path: at, err } => {
                path = at.clone();
                err
            }
            Error::WithDepth { err, .. } | Error::WithLineNumber { err, .. } => err,
            other => {
                let text = other.io_error().map_or_else(|| other.to_string(), super::reason);
                return Found::Unreadable(path, text);
            }
        };
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    /// A folder with files; those that end with a slash are folders.
    fn folder(files: &[(&str, &str)]) -> tempfile::TempDir {
        let dir = tempfile::tempdir().unwrap();
        for (name, text) in files {
            let path = dir.path().join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            match name.ends_with('/') {
                true => std::fs::create_dir_all(path).unwrap(),
                false => std::fs::write(path, text).unwrap(),
            }
        }
        dir
    }

    /// What is found, by paths from the folder: `+` read, `-` skipped, `?` another file.
    fn found(dir: &Path, deep: bool, ignores: &Ignores) -> Vec<String> {
        let name = |path: PathBuf| path.strip_prefix(dir).unwrap_or(&path).to_string_lossy().into_owned();
        let one = |found| match found {
            Found::File(path) => format!("+{}", name(path)),
            Found::Skipped(path, _) => format!("-{}", name(path)),
            Found::Rendered(path, _) => format!("*{}", name(path)),
            Found::Other(path) => format!("?{}", name(path)),
            Found::Unreadable(path, text) => format!("!{}: {text}", name(path)),
        };
        files(dir, deep, ignores).into_iter().map(one).collect()
    }

    fn repository(exclude: &[&str]) -> Ignores {
        Ignores {
            exclude: exclude.iter().map(ToString::to_string).collect(),
            is_repository: true,
            ..Ignores::default()
        }
    }

    #[test]
    fn files_come_in_the_order_of_their_names_without_those_that_ignore_files_name() {
        let dir = folder(&[
            (".git/", ""),
            (".gitignore", "build/\n*.tmp.yaml\n"),
            (".ephorignore", "drafts\n!drafts/final.yaml\n"),
            ("b.yaml", ""),
            ("a/z.yml", ""),
            ("a/x.tmp.yaml", ""),
            ("a/.hidden.yaml", ""),
            ("build/out.yaml", ""),
            ("drafts/one.yaml", ""),
            ("README.md", ""),
        ]);
        assert_eq!(found(dir.path(), true, &repository(&[])), ["?README.md", "+a/z.yml", "+b.yaml"]);
        let all = Ignores::default();
        let expected =
            ["?README.md", "+a/x.tmp.yaml", "+a/z.yml", "+b.yaml", "+build/out.yaml", "+drafts/one.yaml"];
        assert_eq!(found(dir.path(), true, &all), expected);
        let only = found(dir.path(), true, &repository(&["a/*.yml", "*.md"]));
        assert_eq!(only, ["+b.yaml"]);
    }

    #[test]
    fn an_ignore_file_of_git_counts_in_its_repository_alone() {
        let dir = folder(&[(".gitignore", "*.yaml\n"), ("a.yaml", "")]);
        assert_eq!(found(dir.path(), true, &repository(&[])), ["+a.yaml"]);
        std::fs::create_dir(dir.path().join(".git")).unwrap();
        assert_eq!(found(dir.path(), true, &repository(&[])), [""; 0]);
    }

    #[test]
    fn charts_kustomizations_and_their_patches_are_skipped_each_named_once() {
        let dir = folder(&[
            ("charts/shop/Chart.yaml", ""),
            ("charts/shop/values.yaml", ""),
            ("charts/shop/templates/pod.yaml", "{{ .Values.name }}"),
            ("charts/shop/charts/db/Chart.yaml", ""),
            ("overlays/prod/kustomization.yaml", "patches: [{path: patch.yaml}]\nresources: [extra.yaml]\n"),
            ("overlays/prod/patch.yaml", ""),
            ("overlays/prod/extra.yaml", ""),
            ("pod.yaml", ""),
        ]);
        let expected =
            ["-charts/shop", "-overlays/prod/kustomization.yaml", "+overlays/prod/extra.yaml", "+pod.yaml"];
        assert_eq!(found(dir.path(), true, &repository(&[])), expected);
    }

    #[test]
    fn what_is_rendered_takes_the_files_that_it_is_built_of() {
        let dir = folder(&[
            ("base/kustomization.yaml", "resources: [pod.yaml]\n"),
            ("base/pod.yaml", ""),
            ("charts/shop/Chart.yaml", ""),
            ("charts/shop/templates/pod.yaml", ""),
            ("component/kustomization.yaml", "kind: Component\n"),
            ("overlays/prod/kustomization.yaml", "resources: [../../base, extra.yaml]\n"),
            ("overlays/prod/extra.yaml", ""),
            ("overlays/prod/other.yaml", ""),
        ]);
        let all = Ignores { renders: true, ..repository(&[]) };
        let expected = ["*charts/shop", "*overlays/prod", "+overlays/prod/other.yaml"];
        assert_eq!(found(dir.path(), true, &all), expected);
    }

    #[test]
    fn of_a_folder_alone_the_folders_in_it_are_not_read() {
        let dir = folder(&[("a.yaml", ""), ("sub/b.yaml", "")]);
        assert_eq!(found(dir.path(), false, &repository(&[])), ["+a.yaml"]);
    }

    #[test]
    fn a_pattern_that_is_none_is_named() {
        let error = check(&["a/**".into(), "[".into()]).unwrap_err();
        assert_eq!(error.pattern, "[");
    }
}
