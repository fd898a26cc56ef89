//! Reading the folders of a workspace, a few files at a time.

use std::collections::VecDeque;
use std::path::{Path, PathBuf};

use ephor_editor::FileText;

/// Files of a workspace at most: what is not read gives nothing to other files. Large repositories
/// of manifests have some thousands; a larger number costs memory.
const MAX_FILES: usize = 20_000;

/// Bytes of a file at most. Files that people write are smaller; generated ones are not worth the
/// time that each change of a policy would take.
const MAX_BYTES: u64 = 2 << 20;

/// Files that are given at a time, between two messages: some milliseconds.
const CHUNK: usize = 32;

/// Files that are read at a time: it takes less time than to lower their policies.
const READ: usize = 256;

/// What files have that others depend on: policies, tests, definitions, and objects that policies
/// read. They come first, so that manifests that are edited wait for no other manifest.
const FIRST: [&str; 5] =
    ["kyverno.io/", "admissionregistration.k8s.io/", "CustomResourceDefinition", "ConfigMap", "Namespace"];

/// Folders that hold nothing that people wrote.
const SKIPPED: [&str; 4] = [".git", "node_modules", "target", "vendor"];

/// A walk through folders that has not ended.
#[derive(Debug, Default)]
pub(super) struct Scan {
    open: VecDeque<PathBuf>,
    /// Files on which no others depend, which come when there is no other one.
    later: VecDeque<FileText>,
    /// How many files were read.
    pub(super) files: usize,
}

impl Scan {
    /// Adds a folder or a file.
    pub(super) fn add(&mut self, path: impl Into<PathBuf>) {
        self.open.push_back(path.into());
    }

    /// Whether everything was read.
    pub(super) fn is_over(&self) -> bool {
        self.open.is_empty() && self.later.is_empty()
    }

    /// Whether everything was read on which other files depend.
    pub(super) fn has_first(&self) -> bool {
        self.open.is_empty()
    }

    /// Reads some files.
    pub(super) fn next(&mut self) -> Vec<FileText> {
        let mut out = Vec::new();
        for _ in 0..READ {
            if out.len() >= CHUNK || self.files >= MAX_FILES {
                break;
            }
            let Some(path) = self.open.pop_front() else { break };
            if path.is_dir() {
                let mut below: Vec<PathBuf> = entries(&path).collect();
                below.sort();
                // A folder is finished before the next one: depth first, in the order of names.
                below.into_iter().rev().for_each(|path| self.open.push_front(path));
            } else if let Some(text) = read(&path) {
                self.files += 1;
                let is_first = FIRST.iter().any(|mark| text.contains(mark));
                let file = FileText { name: path.to_string_lossy().into_owned(), text };
                if is_first { out.push(file) } else { self.later.push_back(file) }
            }
        }
        if self.files >= MAX_FILES {
            self.open.clear();
        }
        if self.open.is_empty() {
            let count = CHUNK.saturating_sub(out.len()).min(self.later.len());
            out.extend(self.later.drain(..count));
        }
        out
    }
}

/// The folders and files of a folder that are read; links to folders are not followed, for they
/// may lead in circles.
fn entries(folder: &Path) -> impl Iterator<Item = PathBuf> {
    let all = std::fs::read_dir(folder).into_iter().flatten().flatten();
    all.filter_map(|entry| {
        let (path, kind) = (entry.path(), entry.file_type().ok()?);
        let is_wanted = match kind.is_dir() {
            true => !SKIPPED.iter().any(|name| entry.file_name() == *name),
            false => is_yaml(&path) && !path.is_dir(),
        };
        is_wanted.then_some(path)
    })
}

/// Whether files of this name are read.
pub(super) fn is_yaml(path: &Path) -> bool {
    path.extension().is_some_and(|end| end.eq_ignore_ascii_case("yaml") || end.eq_ignore_ascii_case("yml"))
}

/// The text of a file; none of one that is too large or no text.
pub(super) fn read(path: &Path) -> Option<String> {
    let size = std::fs::metadata(path).ok()?.len();
    if size > MAX_BYTES {
        return None;
    }
    String::from_utf8(std::fs::read(path).ok()?).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_that_others_depend_on_come_first_and_other_files_are_left_out() {
        let folder = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| {
            let path = folder.path().join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        };
        (0..CHUNK + 1).for_each(|i| write(&format!("a/{i}.yaml"), "kind: Pod\n"));
        write("b/policy.yml", "apiVersion: kyverno.io/v1\n");
        ["a/y.txt", ".git/z.yaml", "node_modules/z.yaml"].iter().for_each(|name| write(name, "a: b\n"));
        let mut scan = Scan::default();
        scan.add(folder.path());
        let first = scan.next();
        assert!(first[0].name.ends_with("b/policy.yml"));
        assert_eq!((first.len(), scan.has_first(), scan.is_over()), (CHUNK, true, false));
        assert_eq!((scan.next().len(), scan.files, scan.is_over()), (2, CHUNK + 2, true));
    }
}
