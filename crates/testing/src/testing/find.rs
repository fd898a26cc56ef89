//! Finding test files.
//!
//! In: folders, patterns and addresses of repositories. Out: the texts of all files of a given
//! name, in the order of their paths. Hidden folders are searched as well. Semantics:
//! `docs/reference/test.md`.

use std::path::Path;

use ephor_sources::files::{SourceText, reason};
use ephor_sources::git::{Access, Checkout};

use super::file::clean;

/// Why test files cannot be found; the texts are Kyverno's.
#[derive(Debug, thiserror::Error)]
pub enum FindError {
    /// A repository cannot be cloned.
    #[error("{0}")]
    Repository(#[source] Box<dyn std::error::Error + Send + Sync>),
    /// What should be a folder is none.
    #[error("open {0}: not a directory")]
    NoFolder(String),
    /// A file or folder cannot be read.
    #[error("open {path}: {}", reason(.cause))]
    Open {
        /// The file or folder.
        path: String,
        /// Why.
        #[source]
        cause: std::io::Error,
    },
    /// A file is no text.
    #[error("{path}: {cause}")]
    NoText {
        /// The file.
        path: String,
        /// Why.
        #[source]
        cause: Box<dyn std::error::Error + Send + Sync>,
    },
}

/// The test files of all arguments.
#[derive(Debug, Default)]
pub struct Found {
    /// The texts.
    pub sources: Vec<SourceText>,
    /// Patterns and folders in which there is none.
    pub empty: Vec<String>,
    /// Checkouts of repositories, which are deleted with this value.
    pub checkouts: Vec<Checkout>,
}

/// Finds test files of a name; the branch is that of repositories.
///
/// # Errors
/// Kyverno's text for a folder that is not there or is none, or for a repository that cannot be
/// cloned.
pub fn find(arguments: &[String], name: &str, branch: &str) -> Result<Found, FindError> {
    let mut found = Found::default();
    for argument in arguments {
        let before = found.sources.len();
        if ephor_sources::download::is_url(argument) {
            let access = Access { branch: branch.into(), ..Access::default() };
            let checkout = access.tests(argument).map_err(|e| FindError::Repository(e.into()))?;
            walk(&checkout.folder, name, &mut found.sources)?;
            found.checkouts.push(checkout);
        } else if Path::new(argument).exists() || !argument.contains(['*', '?', '[']) {
            walk(Path::new(argument), name, &mut found.sources)?;
        } else {
            let paths = glob::glob(argument).map(|paths| paths.flatten().collect::<Vec<_>>());
            for path in paths.unwrap_or_default() {
                if path.is_dir() {
                    walk(&path, name, &mut found.sources)?;
                } else if path.file_name().is_some_and(|n| n == name) {
                    read(&path, &mut found.sources)?;
                }
            }
        }
        if found.sources.len() == before {
            found.empty.push(argument.clone());
        }
    }
    Ok(found)
}

/// Reads the files of a name in a folder and those below it, in order.
fn walk(folder: &Path, name: &str, out: &mut Vec<SourceText>) -> Result<(), FindError> {
    let mut waiting = vec![folder.to_path_buf()];
    while let Some(path) = waiting.pop() {
        if path.file_name().is_some_and(|n| n == name) && path != folder {
            read(&path, out)?;
            continue;
        }
        let entries = match std::fs::read_dir(&path) {
            Ok(entries) => entries,
            Err(e) if path == folder && e.kind() == std::io::ErrorKind::NotADirectory => {
                return Err(FindError::NoFolder(clean(&path)));
            }
            Err(cause) => return Err(FindError::Open { path: clean(&path), cause }),
        };
        let wanted = |e: &std::fs::DirEntry| e.file_name() == name || e.file_type().is_ok_and(|t| t.is_dir());
        let mut inside: Vec<_> = entries.flatten().filter(wanted).map(|e| e.path()).collect();
        // The next in order is taken from the end.
        inside.sort_by(|a, b| b.file_name().cmp(&a.file_name()));
        waiting.append(&mut inside);
    }
    Ok(())
}

fn read(path: &Path, out: &mut Vec<SourceText>) -> Result<(), FindError> {
    let name = clean(path);
    let text = std::fs::read(path).map_err(|cause| FindError::Open { path: name.clone(), cause })?;
    let text = ephor_document::split::utf8(&text);
    let text = text.map_err(|e| FindError::NoText { path: name.clone(), cause: e.into() })?.to_owned();
    out.push(SourceText { name, text });
    Ok(())
}
