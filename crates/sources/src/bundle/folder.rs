//! A bundle as files of a folder.
//!
//! In: a [`Bundle`] and a folder. Out: its files there, all of them or none: they are written to a
//! temporary folder in it first and then moved, and moved back where one cannot be. A file with
//! another content is only replaced where that is wanted, and no link in the folder is followed.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use super::error::{BundleError, FolderProblem};
use super::fetched::Bundle;

/// Writes the files; their paths.
///
/// # Errors
/// One of them cannot be written, or is there with another content; then none is.
pub fn write(bundle: &Bundle, folder: &Path, replaces: bool) -> Result<Vec<PathBuf>, BundleError> {
    let wrong = |path: &Path, problem| BundleError::Folder { path: path.display().to_string(), problem };
    let failed = |path: &Path| {
        let path = path.to_path_buf();
        move |cause| wrong(&path, FolderProblem::Write(cause))
    };
    for file in &bundle.files {
        check(folder, &file.name, &file.bytes, replaces).map_err(|(path, problem)| wrong(&path, problem))?;
    }
    fs::create_dir_all(folder).map_err(failed(folder))?;
    let staging = tempfile::Builder::new().prefix(".ephor-").tempdir_in(folder).map_err(failed(folder))?;
    let staged: Vec<PathBuf> =
        (0..bundle.files.len()).map(|at| staging.path().join(at.to_string())).collect();
    for (path, file) in staged.iter().zip(&bundle.files) {
        fs::write(path, &file.bytes).map_err(failed(path))?;
    }
    let written: Vec<PathBuf> = bundle.files.iter().map(|file| folder.join(&file.name)).collect();
    move_all(&staged, &written, staging.path())
        .map_err(|(path, cause)| wrong(&path, FolderProblem::Write(cause)))?;
    Ok(written)
}

/// Moves files to their places; if one cannot be moved, all are as they were before.
fn move_all(from: &[PathBuf], to: &[PathBuf], staging: &Path) -> Result<(), (PathBuf, io::Error)> {
    let former = |at: usize| staging.join(format!("former-{at}"));
    for (at, (staged, place)) in from.iter().zip(to).enumerate() {
        let above = place.parent().map_or(Ok(()), fs::create_dir_all);
        let moved = above.and_then(|()| match fs::rename(place, former(at)) {
            Err(cause) if cause.kind() != io::ErrorKind::NotFound => Err(cause),
            _ => fs::rename(staged, place),
        });
        if let Err(cause) = moved {
            undo(to.get(..at).unwrap_or_default(), former);
            // Of this one only the file before it may have been moved.
            let _ = fs::rename(former(at), place);
            return Err((place.clone(), cause));
        }
    }
    Ok(())
}

/// Puts back what was in places that have new files. What fails here has no better cause than the
/// first error.
fn undo(places: &[PathBuf], former: impl Fn(usize) -> PathBuf) {
    for (at, place) in places.iter().enumerate() {
        let _ = match former(at).exists() {
            true => fs::rename(former(at), place),
            false => fs::remove_file(place),
        };
    }
}

/// Whether a file can be written without leaving the folder or losing another one.
fn check(folder: &Path, name: &str, bytes: &[u8], replaces: bool) -> Result<(), (PathBuf, FolderProblem)> {
    let mut path = folder.to_path_buf();
    let mut steps = name.split('/').peekable();
    while let Some(step) = steps.next() {
        path.push(step);
        let is_last = steps.peek().is_none();
        let found = match fs::symlink_metadata(&path) {
            Ok(found) => found,
            Err(cause) if cause.kind() == io::ErrorKind::NotFound => return Ok(()),
            Err(cause) => return Err((path, FolderProblem::Write(cause))),
        };
        let problem = match (is_last, found.file_type()) {
            (_, kind) if kind.is_symlink() => FolderProblem::Link,
            (false, kind) if !kind.is_dir() => FolderProblem::Occupied,
            (true, kind) if !kind.is_file() => FolderProblem::Occupied,
            (true, _) if !replaces && fs::read(&path).map_or(true, |text| text != bytes) => {
                FolderProblem::Other
            }
            _ => continue,
        };
        return Err((path, problem));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;
    use crate::bundle::{BundleFile, BundleReference};

    fn bundle(names: &[&str]) -> Bundle {
        let file = |name: &&str| BundleFile {
            name: (*name).into(),
            bytes: b"new".to_vec(),
            media_type: String::new(),
            layer: String::new(),
        };
        Bundle {
            reference: BundleReference::parse("oci://localhost/a/b:1").unwrap(),
            digest: String::new(),
            kind: String::new(),
            annotations: Default::default(),
            files: names.iter().map(file).collect(),
            left_out: Vec::new(),
            pinned_by: None,
            signed_by: None,
        }
    }

    fn names(folder: &Path) -> Vec<String> {
        let mut all: Vec<String> =
            fs::read_dir(folder).unwrap().map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
        all.sort();
        all
    }

    #[test]
    fn all_files_are_written_or_none() {
        let root = tempfile::tempdir().unwrap();
        let out = root.path().join("out");
        assert_eq!(write(&bundle(&["a.yaml", "b/c.yaml"]), &out, false).unwrap().len(), 2);
        assert_eq!(names(&out), ["a.yaml", "b"]);
        assert_eq!(fs::read(out.join("b/c.yaml")).unwrap(), b"new");
        // The same content is no loss.
        assert!(write(&bundle(&["a.yaml", "d.yaml"]), &out, false).is_ok());
        fs::write(out.join("a.yaml"), "own").unwrap();
        let refused = write(&bundle(&["0.yaml", "a.yaml"]), &out, false);
        assert!(refused.is_err_and(|e| e.to_string().contains("has another content")));
        assert_eq!(names(&out), ["a.yaml", "b", "d.yaml"]);
        assert!(write(&bundle(&["0.yaml", "a.yaml"]), &out, true).is_ok());
        assert_eq!(fs::read(out.join("a.yaml")).unwrap(), b"new");
    }

    #[test]
    fn files_that_were_moved_before_an_error_are_moved_back() {
        let root = tempfile::tempdir().unwrap();
        let path = |name: &str| root.path().join(name);
        for (name, text) in [("0", "new"), ("1", "new"), ("a.yaml", "old"), ("c.yaml", "old")] {
            fs::write(path(name), text).unwrap();
        }
        fs::create_dir(path("staging")).unwrap();
        let from = ["0", "1", "gone"].map(path);
        let to = ["a.yaml", "b.yaml", "c.yaml"].map(path);
        let failed = move_all(&from, &to, &path("staging"));
        assert_eq!(failed.map_err(|(path, _)| path), Err(path("c.yaml")));
        for name in ["a.yaml", "c.yaml"] {
            assert_eq!(fs::read(path(name)).unwrap(), b"old", "{name}");
        }
        assert!(!path("b.yaml").exists());
    }

    #[cfg(unix)]
    #[test]
    fn no_link_leads_out_of_the_folder() {
        let root = tempfile::tempdir().unwrap();
        let (out, other) = (root.path().join("out"), root.path().join("other"));
        fs::create_dir_all(&out).unwrap();
        fs::create_dir_all(&other).unwrap();
        std::os::unix::fs::symlink(&other, out.join("b")).unwrap();
        for replaces in [false, true] {
            let refused = write(&bundle(&["a.yaml", "b/c.yaml"]), &out, replaces);
            assert!(refused.is_err_and(|e| e.to_string().contains("is a link")));
        }
        assert_eq!(names(&out), ["b"]);
        assert!(names(&other).is_empty());
    }
}
