//! Files that a command writes.
//!
//! In: paths, what each file is of, and texts. Out: the files, each whole or not there. Two files
//! of one path are an error before any is written, so nothing that a command reports as written is
//! lost. [`Outputs`] is for several files, [`write_whole`] and [`write_with`] for one.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

use ephor_report::formats::WriteError;
use ephor_value::file_path::normal;

use super::CommandError;

/// Files to write, by path.
#[derive(Debug, Default)]
pub struct Outputs {
    /// Absolute paths, without steps up.
    files: BTreeMap<PathBuf, PlannedFile>,
    staging: Option<Staging>,
}

/// One file to write.
#[derive(Debug)]
struct PlannedFile {
    /// The path as the user wrote it.
    path: PathBuf,
    /// What the file is of.
    of: String,
    text: Vec<u8>,
}

/// A temporary folder in the place of another.
#[derive(Debug)]
struct Staging {
    folder: PathBuf,
    temporary: tempfile::TempDir,
}

impl Outputs {
    /// Files below a folder that are read before all are written: a copy of each is in a temporary
    /// folder next to it, at the same depth, so that relative paths to files around the folder lead
    /// to the same ones.
    ///
    /// # Errors
    /// No temporary folder can be created.
    pub fn staged(folder: &Path) -> Result<Self, CommandError> {
        let failed = |cause| CommandError::Write { path: folder.display().to_string(), cause };
        let whole = absolute(folder);
        let sibling = whole.parent().map(|parent| {
            std::fs::create_dir_all(parent)?;
            named_temporary(parent)
        });
        let temporary = match sibling {
            Some(Ok(temporary)) => temporary,
            // Only the folder itself can be written to.
            _ => {
                std::fs::create_dir_all(&whole).map_err(failed)?;
                named_temporary(&whole).map_err(failed)?
            }
        };
        Ok(Self { files: BTreeMap::new(), staging: Some(Staging { folder: whole, temporary }) })
    }

    /// Adds a file; `of` says what it is of, for the error.
    ///
    /// # Errors
    /// There is a file of this path already, or the copy cannot be written.
    pub fn add(&mut self, path: &Path, of: &str, text: impl Into<Vec<u8>>) -> Result<(), CommandError> {
        let output = PlannedFile { path: path.into(), of: of.into(), text: text.into() };
        let whole = absolute(path);
        if let Some(first) = self.files.get(&whole) {
            return Err(CommandError::TwoOutputs {
                path: first.path.clone(),
                first: first.of.clone(),
                second: output.of,
            });
        }
        if self.staging.is_some() {
            write_with_folders(&self.readable(path), &output.text)?;
        }
        self.files.insert(whole, output);
        Ok(())
    }

    /// Whether there is a file of this path.
    pub fn contains(&self, path: &Path) -> bool {
        self.files.contains_key(&absolute(path))
    }

    /// Where a file can be read until all are written.
    pub fn readable(&self, path: &Path) -> PathBuf {
        let staged = self.staging.as_ref().and_then(|staging| {
            let below = absolute(path).strip_prefix(&staging.folder).ok()?.to_path_buf();
            Some(staging.temporary.path().join(below))
        });
        staged.unwrap_or_else(|| path.into())
    }

    /// The files that are there with another text, but for those that were read.
    pub fn replaced(&self, read: &[&Path]) -> Vec<&Path> {
        let is_read = |whole: &PathBuf| read.iter().any(|path| absolute(path) == *whole);
        let is_other = |whole: &PathBuf, output: &PlannedFile| {
            std::fs::read(whole).is_ok_and(|text| text != output.text) && !is_read(whole)
        };
        let all = self.files.iter().filter(|(whole, output)| is_other(whole, output));
        all.map(|(_, output)| &*output.path).collect()
    }

    /// Writes all files, and the folders that they are in.
    ///
    /// # Errors
    /// A file cannot be written.
    pub fn write(self) -> Result<(), CommandError> {
        for output in self.files.values() {
            write_with_folders(&output.path, &output.text)?;
        }
        Ok(())
    }
}

/// Writes a file and the folders that it is in.
///
/// # Errors
/// It cannot be written.
pub fn write_with_folders(path: &Path, text: impl AsRef<[u8]>) -> Result<(), CommandError> {
    if let Some(parent) = path.parent() {
        std::fs::create_dir_all(parent)
            .map_err(|cause| CommandError::Write { path: path.display().to_string(), cause })?;
    }
    write_whole(path, text)
}

/// Writes a file through a temporary one in the same folder, so that it is never half written.
///
/// # Errors
/// It cannot be written.
pub fn write_whole(path: impl AsRef<Path>, text: impl AsRef<[u8]>) -> Result<(), CommandError> {
    write_with(path, |out| Ok(out.write_all(text.as_ref())?))
}

/// The same, of what `write` writes; returns what that returns.
///
/// # Errors
/// It cannot be written.
pub fn write_with<T>(
    path: impl AsRef<Path>,
    write: impl FnOnce(&mut dyn Write) -> Result<T, WriteError>,
) -> Result<T, CommandError> {
    let path = path.as_ref();
    let mut temporary = path.as_os_str().to_owned();
    temporary.push(format!(".{}.tmp", std::process::id()));
    let written = || {
        let mut file = BufWriter::with_capacity(1 << 16, File::create(&temporary)?);
        let done = write(&mut file)?;
        file.into_inner().map_err(std::io::IntoInnerError::into_error)?.sync_all()?;
        std::fs::rename(&temporary, path)?;
        Ok(done)
    };
    written().map_err(|error| {
        let _ = std::fs::remove_file(&temporary);
        CommandError::of_output(&path.display().to_string(), error)
    })
}

/// Refuses two named outputs of one path; each is a flag and its value. Nothing is read or written.
///
/// # Errors
/// Two are of one path.
pub fn distinct<'f>(named: impl IntoIterator<Item = (&'f str, &'f str)>) -> Result<(), CommandError> {
    let mut outputs = Outputs::default();
    named.into_iter().try_for_each(|(flag, path)| outputs.add(Path::new(path), flag, ""))
}

fn named_temporary(parent: &Path) -> std::io::Result<tempfile::TempDir> {
    tempfile::Builder::new().prefix(".writing-").tempdir_in(parent)
}

/// A path from the root, without steps up and links to the current folder. Nothing is read.
pub fn absolute(path: &Path) -> PathBuf {
    normal(&std::path::absolute(path).unwrap_or_else(|_| path.into()))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn two_files_of_one_path_are_refused_before_any_is_written() {
        let folder = tempfile::tempdir().unwrap();
        let mut outputs = Outputs::default();
        outputs.add(&folder.path().join("a.yaml"), "x/a.yaml", "1").unwrap();
        let again = outputs.add(&folder.path().join("b/../a.yaml"), "y/a.yaml", "2").unwrap_err().to_string();
        assert!(again.contains("x/a.yaml") && again.contains("y/a.yaml"), "{again}");
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
    }

    #[test]
    fn a_file_that_cannot_be_written_to_its_end_stays_as_it_was() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("report.json");
        write_whole(&path, "before").unwrap();
        let full = || std::io::Error::from(std::io::ErrorKind::StorageFull);
        let failed = write_with::<()>(&path, |out| {
            out.write_all(b"half")?;
            Err(full().into())
        });
        let error = failed.unwrap_err().to_string();
        assert!(error.contains("report.json") && error.contains(&full().to_string()), "{error}");
        assert_eq!(std::fs::read(&path).unwrap(), b"before");
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
    }

    #[test]
    fn staged_files_can_be_read_at_the_depth_of_their_folder_before_they_are_written() {
        let parent = tempfile::tempdir().unwrap();
        std::fs::write(parent.path().join("neighbour"), "b").unwrap();
        let folder = parent.path().join("out");
        let mut outputs = Outputs::staged(&folder).unwrap();
        let path = folder.join("x/a.yaml");
        outputs.add(&path, "a", "1").unwrap();
        let readable = outputs.readable(&path);
        assert_eq!(std::fs::read(&readable).unwrap(), b"1");
        assert_eq!(std::fs::read(readable.parent().unwrap().join("../../neighbour")).unwrap(), b"b");
        assert!(!folder.exists());
        outputs.write().unwrap();
        assert_eq!(std::fs::read(&path).unwrap(), b"1");
        assert_eq!(std::fs::read_dir(parent.path()).unwrap().count(), 2);
    }
}
