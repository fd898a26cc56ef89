//! The files of a repository that changed since a commit.
//!
//! In: a commit, a branch or a tag. Out: [`ChangedFiles`]: what differs between the working tree,
//! with files that git does not know yet, and the commit where the two lines of history parted.
//! Deleted files are none.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::kustomize;

/// See the module page.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChangedFiles {
    /// The commit as it was named.
    pub since: String,
    /// Their paths, without links.
    files: BTreeSet<PathBuf>,
}

/// Why it is not known what changed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ChangedError {
    /// The program `git` cannot be run.
    #[error("--changed-since needs git: {0}")]
    NoGit(String),
    /// What `git` says.
    #[error("--changed-since {since}: {text}")]
    Git {
        /// The commit as it was named.
        since: String,
        /// The last line that it printed.
        text: String,
    },
}

impl ChangedFiles {
    /// The files that changed, of the repository of the current folder.
    ///
    /// # Errors
    /// There is no git, no repository, or no such commit.
    pub fn since(since: &str) -> Result<ChangedFiles, ChangedError> {
        let lines = |arguments: &[&str]| git(since, arguments);
        let failed = |text: &str| ChangedError::Git { since: since.into(), text: text.into() };
        if since.is_empty() || since.starts_with('-') {
            return Err(failed("a commit, a branch or a tag is wanted"));
        }
        let top = lines(&["rev-parse", "--show-toplevel"])?;
        let top = PathBuf::from(top.first().ok_or_else(|| failed("there is no working tree"))?.trim_end());
        let commit = lines(&["rev-parse", "--verify", "--end-of-options", &format!("{since}^{{commit}}")])?;
        let commit = commit.first().ok_or_else(|| failed("there is no such commit"))?.trim_end().to_owned();
        let base = lines(&["merge-base", &commit, "HEAD"])?;
        let base = base.first().map_or(commit, |base| base.trim_end().to_owned());
        // Paths are relative to the root of the repository.
        let root = top.to_string_lossy().into_owned();
        let mut names =
            lines(&["-C", &root, "diff", "--name-only", "-z", "--no-renames", "--diff-filter=d", &base])?;
        names.extend(lines(&["-C", &root, "ls-files", "--others", "--exclude-standard", "-z"])?);
        let path = |name: String| {
            let path = top.join(name);
            fs::canonicalize(&path).unwrap_or(path)
        };
        let files = names.into_iter().filter(|name| !name.is_empty()).map(path).collect();
        Ok(ChangedFiles { since: since.into(), files })
    }

    /// Whether a file changed, or the one that it is a link to.
    pub fn has(&self, file: &Path) -> bool {
        let own = || {
            let folder = file.parent().filter(|folder| !folder.as_os_str().is_empty());
            let folder = fs::canonicalize(folder.unwrap_or(Path::new("."))).ok()?;
            Some(folder.join(file.file_name()?))
        };
        let is_changed = |path: PathBuf| self.files.contains(&path);
        own().is_some_and(is_changed) || fs::canonicalize(file).is_ok_and(is_changed)
    }

    /// Whether a file in a folder, or below it, changed.
    pub fn has_below(&self, folder: &Path) -> bool {
        let Ok(folder) = fs::canonicalize(folder) else { return false };
        self.files.range(folder.clone()..).next().is_some_and(|file| file.starts_with(&folder))
    }

    /// Whether a file that a kustomization is built of changed.
    pub(crate) fn has_kustomization(&self, folder: &Path) -> bool {
        self.has_below(folder)
            || kustomize::parts(folder).iter().any(|part| match part.is_dir() {
                true => self.has_below(part),
                false => self.has(part),
            })
    }
}

/// What `git` prints, cut at NUL where it prints some, else at lines.
fn git(since: &str, arguments: &[&str]) -> Result<Vec<String>, ChangedError> {
    let ran = Command::new("git")
        .args(arguments)
        .env("LC_ALL", "C")
        .stdin(Stdio::null())
        .output()
        .map_err(|error| ChangedError::NoGit(super::reason(&error)))?;
    if !ran.status.success() {
        let printed = String::from_utf8_lossy(&ran.stderr);
        let last = printed.lines().rfind(|line| !line.trim().is_empty()).unwrap_or("git failed");
        let text = last.trim_start_matches("fatal: ").into();
        return Err(ChangedError::Git { since: since.into(), text });
    }
    let printed = String::from_utf8_lossy(&ran.stdout);
    let end = if arguments.contains(&"-z") { '\0' } else { '\n' };
    Ok(printed.split(end).filter(|name| !name.is_empty()).map(String::from).collect())
}
