//! Policies of git repositories.
//!
//! In: `https://HOST/OWNER/REPOSITORY[/REST]`, where the rest is the branch, or with a branch given
//! apart the directory. Out: the texts of the YAML files of a fresh checkout, which is deleted
//! again. The program `git` does the work, so proxies, certificates and credential helpers are
//! those that the user has set up. Files are named by their path in the repository. Semantics:
//! `docs/reference/cli.md`.

use std::ffi::OsStr;
use std::io;
use std::path::{Component, Path, PathBuf};
use std::process::{Command, Output, Stdio};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use ephor_recording::Question;

use super::download::is_url;
use super::files::{Loaded, reason};
use super::http;

/// Why a repository is not read, in Kyverno's words.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum GitError {
    /// An address of another form; its path.
    #[error(
        "failed to parse URL (invalid URL path /{0} - expected https://<any_git_source_domain>/:owner/:repository/:branch (without --git-branch flag) OR https://<any_git_source_domain>/:owner/:repository/:directory (with --git-branch flag))"
    )]
    Address(Box<str>),
    /// The same for test files.
    #[error(
        "invalid URL path /{0} - expected https://github.com/:owner/:repository/:branch (without --git-branch flag) OR https://github.com/:owner/:repository/:directory (with --git-branch flag)"
    )]
    TestAddress(Box<str>),
    /// There is no checkout.
    #[error("failed to clone repository ({0})")]
    Clone(#[source] CloneError),
    /// The same for test files.
    #[error("error: failed to clone repository \nCause: {0}\n")]
    TestClone(#[source] CloneError),
    /// The directory is not in the repository.
    #[error("failed to list YAMLs in repository (file does not exist)")]
    NoDirectory,
    /// The same for test files.
    #[error("open {0}: file does not exist")]
    NoTestDirectory(Box<str>),
    /// The directory cannot be read.
    #[error("failed to list YAMLs in repository ({})", reason(.0))]
    Directory(#[source] io::Error),
    /// What a recording holds of a failure, or that it holds nothing.
    #[error("{0}")]
    Recorded(Box<str>),
}

/// Why there is no checkout.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CloneError {
    /// There is no folder for it.
    #[error(transparent)]
    Folder(io::Error),
    /// The program `git` cannot be run.
    #[error("git: {}", reason(.0))]
    Program(#[source] io::Error),
    /// The repository does not have the branch.
    #[error("couldn't find remote ref \"refs/heads/{0}\"")]
    NoBranch(Box<str>),
    /// There is no such repository.
    #[error("repository not found: ")]
    NoRepository,
    /// Anything else: the last line that `git` printed.
    #[error("{0}")]
    Git(Box<str>),
}

impl CloneError {
    /// What `git` printed, which has no other form than its text.
    fn of(printed: &str, branch: &str) -> CloneError {
        if printed.contains("Remote branch") && printed.contains("not found") {
            return CloneError::NoBranch(branch.into());
        }
        let last = printed.lines().rfind(|l| !l.trim().is_empty()).unwrap_or("git failed");
        let last = last.trim_start_matches("fatal: ");
        match last.starts_with("repository") && last.ends_with("not found") {
            true => CloneError::NoRepository,
            false => CloneError::Git(last.into()),
        }
    }
}

/// How repositories are read.
#[derive(Clone, Debug, Default)]
pub struct Access {
    /// The branch; empty: the address says it.
    pub branch: String,
    /// The user, together with the password.
    pub username: String,
    /// With the user name.
    pub password: String,
}

impl Access {
    /// Whether an argument means a repository. Kyverno takes every address for one; without a
    /// branch, one that ends as YAML files do is a file to download.
    pub fn means_repository(&self, argument: &str) -> bool {
        let is_file = argument.ends_with(".yaml") || argument.ends_with(".yml");
        is_url(argument) && !(is_file && self.branch.is_empty())
    }

    /// The YAML files at an address.
    ///
    /// # Errors
    /// The address has another form, the clone fails or the directory is missing.
    pub fn policies(&self, address: &str) -> Result<Loaded, GitError> {
        let Some(recording) = &http::client().settings().recording else {
            return self.policies_of_checkout(address);
        };
        let name = format!("{address} {}", self.branch);
        let failed = |text: String| GitError::Recorded(text.into());
        let work = || self.policies_of_checkout(address).map(|loaded| loaded.as_json());
        let text = recording.result(&Question::new("CLONE", name.trim_end()), work, failed)?;
        Loaded::of_json(&text).ok_or_else(|| failed(format!("{address}: the recording holds no files")))
    }

    fn policies_of_checkout(&self, address: &str) -> Result<Loaded, GitError> {
        let place = Place::parse(address, &self.branch)?;
        let folder = tempfile::tempdir().map_err(|e| GitError::Clone(CloneError::Folder(e)))?;
        self.clone_into(&place, folder.path()).map_err(GitError::Clone)?;
        let top = folder.path().join(place.directory);
        let outside = Path::new(place.directory).components().any(|c| !matches!(c, Component::Normal(_)));
        if outside || !top.exists() {
            return Err(GitError::NoDirectory);
        }
        let mut loaded = Loaded::default();
        // A single file is no directory to list: Kyverno reads nothing from it.
        let folders = if top.is_dir() { vec![top] } else { Vec::new() };
        for path in yaml_files(folders).map_err(GitError::Directory)? {
            let name = path.strip_prefix(folder.path()).unwrap_or(&path).to_string_lossy();
            loaded.file_as(&format!("/{name}"), &path);
        }
        Ok(loaded)
    }

    /// A checkout for tests; the folder is that of the address.
    ///
    /// # Errors
    /// The address has another form, the clone fails or the directory leads out of it.
    pub fn tests(&self, address: &str) -> Result<Checkout, GitError> {
        let place = Place::parse(address, &self.branch).map_err(|_| {
            let path =
                address.split_once("://").and_then(|(_, rest)| rest.split_once('/')).map_or("", |(_, p)| p);
            GitError::TestAddress(path.into())
        })?;
        let root = tempfile::tempdir().map_err(|e| GitError::TestClone(CloneError::Folder(e)))?;
        self.clone_into(&place, root.path()).map_err(GitError::TestClone)?;
        let outside = Path::new(place.directory).components().any(|c| !matches!(c, Component::Normal(_)));
        if outside && !place.directory.is_empty() {
            return Err(GitError::NoTestDirectory(place.directory.into()));
        }
        Ok(Checkout { folder: root.path().join(place.directory), root })
    }

    fn clone_into(&self, place: &Place<'_>, folder: &Path) -> Result<(), CloneError> {
        const NOT_SHALLOW: &str = "dumb http transport does not support shallow";
        let printed = |ran: &Output| String::from_utf8_lossy(&ran.stderr).into_owned();
        let mut ran = self.git(place, folder, &["--depth=1"]).map_err(CloneError::Program)?;
        // Servers of plain files cannot give a part of the history.
        if !ran.status.success() && printed(&ran).contains(NOT_SHALLOW) {
            ran = self.git(place, folder, &[]).map_err(CloneError::Program)?;
        }
        match ran.status.success() {
            true => Ok(()),
            false => Err(CloneError::of(&printed(&ran), place.branch)),
        }
    }

    fn git(&self, place: &Place<'_>, folder: &Path, more: &[&str]) -> io::Result<Output> {
        let mut git = Command::new("git");
        // A link in the repository must not lead to files of the machine.
        git.args(["-c", "core.symlinks=false", "-c", "http.lowSpeedLimit=1", "-c", "http.lowSpeedTime=60"])
            .args(["clone", "--quiet", "--single-branch", "--no-tags"])
            .args(more)
            .arg(format!("--branch={}", place.branch))
            .args([OsStr::new("--"), OsStr::new(&place.repository), folder.as_os_str()])
            .env("GIT_TERMINAL_PROMPT", "0")
            .env("LC_ALL", "C")
            .stdin(Stdio::null());
        if !self.username.is_empty() && !self.password.is_empty() {
            // Not as an argument: other users of the machine see those.
            let both = STANDARD.encode(format!("{}:{}", self.username, self.password));
            git.env("GIT_CONFIG_COUNT", "1")
                .env("GIT_CONFIG_KEY_0", "http.extraHeader")
                .env("GIT_CONFIG_VALUE_0", format!("Authorization: Basic {both}"));
        }
        git.output()
    }
}

/// A fresh checkout of a repository; it is deleted with this value.
#[derive(Debug)]
pub struct Checkout {
    /// The folder that the address names.
    pub folder: PathBuf,
    root: tempfile::TempDir,
}

impl Checkout {
    /// The top of the repository.
    pub fn root(&self) -> &Path {
        self.root.path()
    }
}

/// What an address means.
struct Place<'a> {
    repository: String,
    branch: &'a str,
    directory: &'a str,
}

impl<'a> Place<'a> {
    fn parse(address: &'a str, branch: &'a str) -> Result<Self, GitError> {
        let (scheme, rest) = address.split_once("://").unwrap_or(("", address));
        let (host, path) = rest.split_once('/').unwrap_or((rest, ""));
        let mut parts = path.splitn(3, '/');
        let (Some(owner), Some(name)) = (parts.next(), parts.next()) else {
            return Err(GitError::Address(path.into()));
        };
        let repository = format!("{scheme}://{host}/{owner}/{name}");
        let rest = parts.next().unwrap_or("").trim_matches('/');
        Ok(match (branch, rest) {
            ("", "") => Place { repository, branch: "main", directory: "" },
            ("", branch) => Place { repository, branch, directory: "" },
            (branch, directory) => Place { repository, branch, directory },
        })
    }
}

/// The YAML files below folders in name order; those of hidden folders too, as in Kyverno.
fn yaml_files(mut waiting: Vec<PathBuf>) -> std::io::Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    while let Some(path) = waiting.pop() {
        if !std::fs::symlink_metadata(&path)?.is_dir() {
            if path.extension().is_some_and(|e| e == "yaml" || e == "yml") {
                found.push(path);
            }
            continue;
        }
        let entries = std::fs::read_dir(&path)?.collect::<std::io::Result<Vec<_>>>()?;
        let mut inside: Vec<_> =
            entries.iter().filter(|e| e.file_name() != ".git").map(std::fs::DirEntry::path).collect();
        // The next in order is taken from the end.
        inside.sort_by(|a, b| b.file_name().cmp(&a.file_name()));
        waiting.append(&mut inside);
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(address: &str, branch: &str) -> Option<(String, String, String)> {
        let place = Place::parse(address, branch).ok()?;
        Some((place.repository, place.branch.into(), place.directory.into()))
    }

    #[test]
    fn the_rest_of_an_address_is_the_branch_or_the_directory() {
        let all = |a: &str, b: &str, c: &str| Some((a.to_owned(), b.to_owned(), c.to_owned()));
        assert_eq!(parsed("https://h/o/r", ""), all("https://h/o/r", "main", ""));
        assert_eq!(parsed("https://h/o/r/a/b", ""), all("https://h/o/r", "a/b", ""));
        assert_eq!(parsed("https://h/o/r/a/b", "main"), all("https://h/o/r", "main", "a/b"));
        assert_eq!(parsed("https://h/o", ""), None);
    }

    #[test]
    fn the_causes_are_those_of_kyverno_where_it_has_some() {
        let cause = |printed: &str, branch: &str| CloneError::of(printed, branch).to_string();
        let no_branch = "warning: Could not find remote branch x to clone.\nfatal: Remote branch x not found in upstream origin\n";
        assert_eq!(cause(no_branch, "x"), "couldn't find remote ref \"refs/heads/x\"");
        assert_eq!(cause("fatal: repository 'http://h/o/r/' not found\n", "x"), "repository not found: ");
        assert_eq!(cause("fatal: unable to access\n", "x"), "unable to access");
    }

    #[test]
    fn an_address_of_a_file_is_no_repository_unless_a_branch_is_named() {
        let access = |branch: &str| Access { branch: branch.into(), ..Access::default() };
        assert!(access("").means_repository("https://h/o/r"));
        assert!(!access("").means_repository("https://h/o/r/p.yaml"));
        assert!(access("main").means_repository("https://h/o/r/p.yaml"));
        assert!(!access("main").means_repository("p.yaml"));
    }
}
