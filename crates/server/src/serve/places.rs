//! Where a server reads policies, data and settings, and what it reads there.
//!
//! In: files and folders. Out: their texts as they are now, and a fingerprint that shows whether
//! they are others than before: most checks find what was there, and compile nothing then.
//! Semantics: `docs/reference/serve.md`, "Reload".

use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};

use ephor_policies::load::manifests::ManifestFolder;
use ephor_sources::builtin;
use ephor_sources::files::{self, FileCause, Loaded};

/// Where policies and data come from.
#[derive(Clone, Debug, Default)]
pub struct Places {
    /// Files, folders and bundles with policies, exceptions and bindings.
    pub policies: Vec<PathBuf>,
    /// Folders with static manifests.
    pub manifests: Vec<PathBuf>,
    /// Files and folders with objects that rules look up.
    pub data: Vec<PathBuf>,
    /// A file with the settings of operators.
    pub settings: Option<PathBuf>,
    /// A file with their settings of metrics.
    pub metrics: Option<PathBuf>,
    /// How many policies must be usable.
    pub required: usize,
}

impl Places {
    /// All of these files and folders; bundles and sets of the library are none, and stay what they
    /// were when they were first read.
    pub fn all(&self) -> Vec<&Path> {
        let is_file = |path: &&PathBuf| {
            !path.to_str().is_some_and(|path| files::is_bundle(path) || builtin::means_library(path))
        };
        let all = self.policies.iter().filter(is_file).chain(&self.manifests).chain(&self.data);
        let all = all.chain(&self.settings).chain(&self.metrics);
        all.map(PathBuf::as_path).collect()
    }

    /// The first of them that does not exist.
    pub fn missing(&self) -> Option<&Path> {
        self.all().into_iter().find(|path| matches!(path.try_exists(), Ok(false)))
    }
}

/// Each place with what was read of it.
pub type Read = Vec<(String, Loaded)>;

/// The texts of all places.
pub struct Texts {
    /// Policies, exceptions and bindings.
    pub policies: Read,
    /// Static manifests.
    pub manifests: Vec<ManifestFolder>,
    /// Objects that rules look up.
    pub data: Read,
    /// The settings of operators, if a file has them.
    pub settings: Option<Read>,
    /// Their settings of metrics, if a file has them.
    pub metrics: Option<Read>,
}

impl Texts {
    /// Reads them.
    pub fn of(places: &Places) -> Texts {
        let name = |place: &PathBuf| place.display().to_string();
        let policies = places.policies.iter().map(name).map(|place| {
            let loaded = files::served_policies(&[&place]);
            (place, loaded)
        });
        let data = |place: &PathBuf| {
            let place = name(place);
            let mut loaded = files::served_data(&place);
            // A folder may be empty.
            loaded.notices.retain(|n| !matches!(n.cause, FileCause::NoMatch | FileCause::Empty));
            (place, loaded)
        };
        Texts {
            policies: policies.collect(),
            manifests: places.manifests.iter().cloned().map(ManifestFolder::read).collect(),
            data: places.data.iter().map(data).collect(),
            settings: places.settings.as_ref().map(data).map(|one| vec![one]),
            metrics: places.metrics.as_ref().map(data).map(|one| vec![one]),
        }
    }

    /// The same for the same texts and problems, and most likely another one for others.
    pub fn fingerprint(&self) -> u64 {
        let mut hasher = DefaultHasher::new();
        self.manifests.hash(&mut hasher);
        let all = [Some(&self.policies), Some(&self.data), self.settings.as_ref(), self.metrics.as_ref()];
        for read in all {
            read.map(Vec::len).hash(&mut hasher);
            for (place, Loaded { sources, notices, .. }) in read.into_iter().flatten() {
                (place, sources, notices).hash(&mut hasher);
            }
        }
        hasher.finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_have_the_fingerprint_of_before_until_one_changes_comes_or_goes() {
        let dir = tempfile::tempdir().expect("a folder");
        let places = Places { policies: vec![dir.path().to_owned()], ..Places::default() };
        let write = |name: &str, text: &str| std::fs::write(dir.path().join(name), text).expect("a file");
        let now = || Texts::of(&places).fingerprint();
        let mut seen = vec![now()];
        write("a.yaml", "a: 1\n");
        seen.push(now());
        write("a.yaml", "a: 1\n");
        assert_eq!(Some(&now()), seen.last(), "the same text was written again");
        write("a.yaml", "a: 2\n");
        seen.push(now());
        write("b.yaml", "a: 2\n");
        seen.push(now());
        std::fs::remove_file(dir.path().join("a.yaml")).expect("it is there");
        seen.push(now());
        let different = seen.iter().collect::<std::collections::HashSet<_>>();
        assert_eq!(different.len(), seen.len());
    }
}
