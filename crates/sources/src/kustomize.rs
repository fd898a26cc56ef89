//! Which files kustomize reads as patches.
//!
//! In: the files that a command reads. Out: those that a kustomization lists as patches, so they
//! are parts of objects. A kustomization names files relative to its folder (`patches[].path`,
//! `patchesStrategicMerge`, `patchesJson6902[].path`); the kustomizations in the folders of the
//! files and in the folders above them are read.

use crate::files::SourceText;
use ephor_value::Value;
use ephor_value::file_path::normal;
use std::collections::{BTreeSet, HashSet};
use std::fs;
use std::path::{Path, PathBuf};

/// The names that kustomize looks for in a folder.
pub(crate) const NAMES: [&str; 3] = ["kustomization.yaml", "kustomization.yml", "Kustomization"];

/// The files that kustomizations list as patches.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Patches(HashSet<PathBuf>);

impl Patches {
    /// Of the kustomizations in the folders of files and above them.
    pub fn around(sources: &[SourceText]) -> Patches {
        let mut folders = BTreeSet::new();
        let files = sources.iter().filter(|s| s.name != "-" && !s.name.contains("://"));
        for file in files {
            for folder in Path::new(&file.name).ancestors().skip(1) {
                if !folders.insert(folder.to_path_buf()) {
                    break;
                }
            }
        }
        let mut patches = Patches::default();
        for folder in &folders {
            // A kustomization that cannot be read lists nothing; kustomize itself reports it.
            let texts = NAMES.iter().filter_map(|name| fs::read_to_string(folder.join(name)).ok());
            texts.for_each(|text| patches.add(folder, &text));
        }
        patches
    }

    /// Adds what a kustomization in a folder lists.
    pub fn add(&mut self, folder: &Path, text: &str) {
        let Ok(kustomization) = ephor_document::yaml_value(text) else { return };
        let items = |key: &str| kustomization.get(key).and_then(Value::as_list).unwrap_or_default();
        for key in ["patches", "patchesStrategicMerge", "patchesJson6902"] {
            // A text with several lines is a patch itself.
            let names =
                items(key).iter().filter_map(|item| item.as_str().or_else(|| item.get("path")?.as_str()));
            let names = names.filter(|name| !name.is_empty() && !name.contains('\n'));
            self.0.extend(names.map(|name| normal(&folder.join(name))));
        }
    }

    /// Whether a file is a patch.
    pub fn has(&self, file: &str) -> bool {
        !self.0.is_empty() && self.0.contains(&normal(Path::new(file)))
    }
}

/// How many kustomizations one may be built of.
#[cfg(feature = "streams")]
const MAX_PARTS: usize = 1000;

/// The files and folders that a kustomization is built of besides its own folder, in all that it
/// refers to.
#[cfg(feature = "streams")]
pub(crate) fn parts(folder: &Path) -> BTreeSet<PathBuf> {
    let mut parts = BTreeSet::new();
    let mut waiting = vec![folder.to_path_buf()];
    while let Some(folder) = waiting.pop().filter(|_| parts.len() < MAX_PARTS) {
        let texts = NAMES.iter().filter_map(|name| fs::read_to_string(folder.join(name)).ok());
        for text in texts {
            let mut patches = Patches::default();
            patches.add(&folder, &text);
            parts.extend(patches.0);
            for part in referred(&folder, &text) {
                if parts.insert(part.clone()) && part.is_dir() {
                    waiting.push(part);
                }
            }
        }
    }
    parts
}

/// The files and folders that a kustomization lists as its resources.
#[cfg(feature = "streams")]
pub(crate) fn referred(folder: &Path, text: &str) -> Vec<PathBuf> {
    let Ok(kustomization) = ephor_document::yaml_value(text) else { return Vec::new() };
    let items = |key: &str| kustomization.get(key).and_then(Value::as_list).unwrap_or_default().to_vec();
    let all = ["resources", "bases", "components"].map(items).concat();
    let names = all.iter().filter_map(|item| item.as_str());
    names
        .filter(|name| !name.contains("://") && !name.is_empty())
        .map(|name| normal(&folder.join(name)))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patches_are_files_relative_to_the_folder_of_the_kustomization() {
        let mut patches = Patches::default();
        let text = "patches:\n- path: p/a.yaml\n- patch: |-\n    kind: A\n    b: c\npatchesStrategicMerge: [../base/b.yaml, 'kind: X\n\n    a: b']\npatchesJson6902: [{path: ./c.yaml}]\n";
        patches.add(Path::new("./overlay/x"), text);
        let listed = ["overlay/x/p/a.yaml", "./overlay/base/b.yaml", "overlay/x/c.yaml", "overlay/b.yaml"];
        assert_eq!(listed.map(|file| patches.has(file)), [true, true, true, false]);
        patches.add(Path::new("."), "patches: {path: d.yaml}\n");
        assert!(!patches.has("d.yaml"));
    }
}
