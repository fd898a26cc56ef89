//! What a user sets.

use ephor_value::release::Release;

/// See the module page.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    /// The release of the clusters that policies and manifests are for.
    pub kubernetes: Release,
    /// Folders and files of the policies that manifests are checked against; empty = all.
    pub policies: Vec<String>,
    /// Whether manifests are checked against the policies.
    pub checks_manifests: bool,
    /// Whether findings are shown that are good to know and no more.
    pub shows_notes: bool,
}

impl Default for Settings {
    fn default() -> Settings {
        Settings {
            kubernetes: Release::default(),
            policies: Vec::new(),
            checks_manifests: true,
            shows_notes: true,
        }
    }
}

impl Settings {
    /// Whether manifests are checked against the policies of a file.
    pub fn applies(&self, file: &str) -> bool {
        let is_below = |folder: &String| {
            let folder = folder.trim_end_matches('/');
            file.strip_prefix(folder).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        };
        self.policies.is_empty() || self.policies.iter().any(is_below)
    }
}
